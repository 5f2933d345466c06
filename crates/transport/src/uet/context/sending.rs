//! Selects the next packet of a packet delivery context: lost packets, new packets, probes, and credit requests.

use super::{CREDIT_REQUEST, DeliveryContext, PROBE, Packet, State};
use crate::endpoint::Segment;
use crate::rdma::RdmaWord;
use crate::rdma::psn::on_wire;
use crate::uet::control::UetControl;
use crate::uet::{Credits, UetMode};
use frame::{FrameKind, Header, UetHeader};
use units::Time;

impl DeliveryContext {
    /// Returns the next packet to send: a lost one, or a new one if the range of sequence numbers allows it.
    pub(super) fn candidate(&mut self) -> Option<(u64, u16)> {
        while let Some(&psn) = self.lost.front() {
            let packet = psn.checked_sub(self.oldest).map(|place| self.packets[place as usize]);
            if let Some(packet) = packet.filter(|packet| packet.state == State::Lost) {
                return Some((psn, packet.bytes));
            }
            self.lost.pop_front();
        }
        let fits = self.next < self.end && !self.closed && self.next - self.oldest < self.spec.psn_range;
        fits.then(|| (self.next, self.new_bytes()))
    }
    pub(super) fn new_bytes(&self) -> u16 {
        let payload = self.spec.payload;
        let message = &self.messages[self.at];
        self.spec.frame_bytes(message.payload_of(self.next, payload.into()) as u16)
    }
    pub(super) fn fits_window(&self, bytes: u16) -> bool {
        let after = self.in_flight + i64::from(bytes);
        // The counter may lag behind, because a NACK does not carry it.
        self.flying == 0 || u64::try_from(after).is_ok_and(|after| after <= self.control.window())
    }
    /// Returns true if a packet may be sent now.
    pub fn has_work(&self) -> bool {
        if self.failed < Time::NEVER {
            return false;
        }
        if self.requests_credit
            || self.probes
            || self.probes_path
            || self.probing.as_ref().is_some_and(|probing| probing.is_due)
        {
            return true;
        }
        self.has_data()
    }
    /// Returns true if a data packet may be sent now.
    pub(super) fn has_data(&self) -> bool {
        if self.credits.as_ref().is_some_and(|credits| !credits.allows()) {
            return false;
        }
        // For the window, a lost packet counts as a full one.
        if self.lost_packets > 0 {
            return self.fits_window(self.facts.packet);
        }
        let fits = self.next < self.end && !self.closed && self.next - self.oldest < self.spec.psn_range;
        fits && self.fits_window(self.new_bytes())
    }

    /// Sends the next packet.
    pub fn transmit(&mut self, now: Time) -> Option<Segment> {
        self.now = now;
        if !self.has_work() {
            return None;
        }
        if let Some(probing) = self.probing.as_deref_mut().filter(|probing| probing.is_due) {
            let entropy = probing.entropy();
            probing.leave(now);
            return Some(Segment { entropy, ..self.probe() });
        }
        if std::mem::take(&mut self.requests_credit) {
            self.credit_request_at = now.saturating_add(self.timeout);
            return Some(self.credit_request());
        }
        if self.probes {
            return Some(self.probe());
        }
        if self.probes_path
            && let Some(probe) = self.path_probe(now)
        {
            return Some(probe);
        }
        if !self.has_data() {
            return None;
        }
        let (psn, bytes) = self.candidate()?;
        let again = psn < self.next;
        let number = self.note_sent(now, psn, bytes);
        self.charge(number, (psn, bytes, again), now);
        let message = self.messages[number];
        let entropy = self.packets[(psn - self.oldest) as usize].entropy;
        let (first, last) = (psn == message.first, psn + 1 == message.end());
        let awaited = if last && message.awaited { message.transfer + 1 } else { 0 };
        if self.spec.mode == UetMode::Uud {
            // The packet will not be acknowledged.
            self.acknowledge(psn);
            self.in_flight -= i64::from(bytes);
            self.forget();
            self.set_timer(now);
        }
        let ack_request = again || !self.has_data();
        self.unrequested = !ack_request;
        if ack_request {
            self.requested = psn;
        }
        self.restart_probing(now);
        let word = RdmaWord { number: on_wire(psn), flags: [last, ack_request, first], pair: 0 }.bits();
        let header = (again || awaited > 0 || self.credits.is_some()).then(|| {
            let credit = self.credit_target();
            let message = awaited;
            Header::Uet(UetHeader { word, retransmitted: again, message, credit, ..UetHeader::default() })
        });
        self.count_at_nic();
        self.note_time(now);
        Some(Segment {
            kind: FrameKind::Data,
            word: if header.is_some() { 0 } else { word },
            header,
            bytes,
            ecn_capable: self.spec.understands_marks(),
            entropy,
        })
    }

    /// Updates the host's count of contexts that have packets to send, among which credit is shared.
    pub(super) fn count_at_nic(&mut self) {
        if self.credits.is_none() {
            return;
        }
        let sends = self.failed == Time::NEVER && self.has_data();
        if std::mem::replace(&mut self.is_counted, sends) != sends {
            self.nic.count_sender(sends);
        }
    }

    /// Records that a packet is sent. Returns the index of its message.
    fn note_sent(&mut self, now: Time, psn: u64, bytes: u16) -> usize {
        let again = psn < self.next;
        let number = if again { self.message_of(psn) } else { self.at };
        let entropy = self.paths.as_mut().map_or(0, |paths| paths.next(now));
        if again {
            self.lost.pop_front();
            self.lost_packets -= 1;
            let packet = &mut self.packets[(psn - self.oldest) as usize];
            *packet = Packet {
                sent: now,
                entropy,
                tries: packet.tries.saturating_add(1),
                state: State::InFlight,
                ..*packet
            };
            self.messages[number].retransmitted += 1;
            self.counts.retransmitted += 1;
        } else {
            self.packets.push_back(Packet { sent: now, bytes, entropy, tries: 1, state: State::InFlight });
            self.next += 1;
            self.at += usize::from(self.messages[number].end() == self.next);
        }
        self.counts.sent += 1;
        self.flying += 1;
        self.in_flight += i64::from(bytes);
        if let Some(credits) = &mut self.credits {
            credits.spend(bytes);
            (self.spent_at, self.credit_request_at) = (now, now.saturating_add(self.request_wait()));
        }
        self.transmissions.push_back((now, psn));
        if self.deadline == Time::NEVER {
            self.set_timer(now);
        }
        number
    }

    /// Returns the number of bytes of frames that wait to be sent.
    pub(super) fn backlog(&self) -> u64 {
        let posted = if self.closed { 0 } else { self.end - self.next };
        (posted + self.lost_packets).saturating_mul(self.facts.packet.into())
    }
    pub(super) fn credit_target(&self) -> u32 {
        let target = |credits: &Credits| {
            let senders = self.nic.senders();
            credits.target(self.backlog(), self.control.window(), self.facts.packet, senders)
        };
        self.credits.as_deref().map_or(0, target)
    }

    /// Returns a credit request without data.
    pub(super) fn credit_request(&mut self) -> Segment {
        self.counts.credit_requests += 1;
        let header = UetHeader { credit: self.credit_target(), ..UetHeader::default() };
        self.spec.control_packet(CREDIT_REQUEST, self.next - 1, header)
    }

    /// Returns the number of the last probe, which its answer repeats (probe opaque).
    pub(super) fn probe_number(&self) -> u32 {
        self.counts.probes as u32 & 0xFFFF
    }
    /// Returns a probe, which names the last packet sent.
    pub(super) fn probe(&mut self) -> Segment {
        self.counts.probes += 1;
        (self.unrequested, self.probes) = (false, false);
        let header = UetHeader { answers: self.probe_number(), ..UetHeader::default() };
        self.spec.control_packet(PROBE, self.next - 1, header)
    }
}
