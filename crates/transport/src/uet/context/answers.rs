//! Processes the acknowledgements, NACKs and grants that a packet delivery context receives.

use super::multipath::is_of_path;
use super::{
    COUNTER_BITS, COUNTER_UNIT, CREDIT, DeliveryContext, Done, Message, NACK_OUT_OF_ORDER, NACK_TRIMMED,
    NACK_TRIMMED_LAST_HOP, Packet, SMOOTHING, State,
};
use crate::path_selection::{PathFeedback, PathSignal};
use crate::rdma::RdmaWord;
use crate::rdma::psn::nearest;
use crate::room::Append;
use crate::uet::UetMode;
use crate::uet::control::{UetAck, UetControl, UetLossCause};
use frame::{UetHeader, UetPacket};
use units::Time;

impl DeliveryContext {
    /// Processes an acknowledgement or a NACK.
    pub fn on_answer(&mut self, now: Time, header: &UetHeader, (marked, entropy): (bool, u16)) {
        if self.failed < Time::NEVER {
            self.discarded += 1;
            return;
        }
        self.now = now;
        if let Some(credits) = &mut self.credits {
            credits.end_speculation();
            self.unanswered = 0;
            if header.packet == UetPacket::Control(CREDIT) {
                self.on_grant(now, header.credit);
            } else if self.credit_request_at == Time::NEVER {
                self.credit_request_at = now.saturating_add(self.request_wait());
            }
        }
        self.observe_path(now, header.packet, marked, entropy);
        if header.packet == UetPacket::ProbeAck && is_of_path(header.answers) {
            self.on_path_probed(now, entropy);
        }
        match header.packet {
            UetPacket::Control(CREDIT) if self.credits.is_some() => {}
            UetPacket::Ack if self.spec.mode == UetMode::Rudi => self.on_response(now, header),
            UetPacket::Ack | UetPacket::ProbeAck => self.on_ack(now, header, marked),
            UetPacket::Nack(code) => self.on_nack(now, header, code),
            UetPacket::Request | UetPacket::Control(_) => self.discarded += 1,
        }
        self.request_ack(now);
        self.count_at_nic();
        self.note_time(now);
    }

    /// Processes a grant of credit.
    fn on_grant(&mut self, now: Time, units: u32) {
        self.counts.grants += 1;
        let backlog = self.backlog();
        let Some(credits) = &mut self.credits else { return };
        let had_none = !credits.allows();
        if credits.on_grant(units, backlog) > 0 {
            self.credit_requests = 0;
            if had_none {
                self.granted_after = now.saturating_sub(self.spent_at);
            }
        }
        self.credit_request_at = now.saturating_add(self.request_wait());
    }

    /// Passes the outcome of the packet with the echoed entropy value to the path selection.
    fn observe_path(&mut self, now: Time, packet: UetPacket, marked: bool, entropy: u16) {
        let Some(paths) = &mut self.paths else { return };
        let signal = match packet {
            UetPacket::Ack if marked => PathSignal::Marked,
            UetPacket::Ack => PathSignal::Acknowledged,
            UetPacket::Nack(NACK_TRIMMED) => PathSignal::Trimmed,
            UetPacket::Nack(NACK_TRIMMED_LAST_HOP) => PathSignal::TrimmedAtLastHop,
            _ => return,
        };
        paths.on_feedback(now, PathFeedback { entropy, signal });
    }

    pub(super) fn on_ack(&mut self, now: Time, header: &UetHeader, marked: bool) {
        let until = nearest(RdmaWord::of(header.word).number, self.oldest) + 1;
        if until > self.next {
            self.discarded += 1;
            return;
        }
        self.counts.acks += 1;
        self.counts.marks += u64::from(marked);
        let is_probe = header.packet == UetPacket::ProbeAck;
        let latest = self.latest_acknowledged;
        let measured = if is_probe { None } else { self.round_trip_of(now, header) };
        let (round_trip, full) = measured.map_or((None, false), |(time, full)| (Some(time), full));
        self.note_links(header);
        let mut progress = self.take_sack(header);
        progress |= self.take_cumulative(until);
        let newly = self.newly_received(header.received);
        self.in_flight -= newly as i64;
        if progress {
            self.retry = 0;
        }
        let in_flight = self.bytes_in_flight();
        self.control.on_ack(now, &UetAck { newly, in_flight, marked, round_trip, full });
        self.infer_losses(now, header, is_probe);
        if self.latest_acknowledged > latest || progress && self.overtaking.is_some() {
            self.note_overtaking(now, self.latest_acknowledged);
        }
        self.set_timer(now);
    }

    /// Processes the response to a packet that needs no context (RUDI).
    pub(super) fn on_response(&mut self, now: Time, header: &UetHeader) {
        let psn = nearest(header.answers, self.oldest);
        self.counts.acks += 1;
        self.round_trip_of(now, header);
        let packet = psn.checked_sub(self.oldest).and_then(|place| self.packets.get(place as usize));
        if let Some(&Packet { bytes, state, .. }) = packet {
            // `acknowledge` adds the bytes of a lost packet, as the receiver's counter would.
            if state != State::Acknowledged {
                self.in_flight -= i64::from(bytes);
            }
            if self.acknowledge(psn) {
                self.retry = 0;
            }
            self.forget();
        }
        self.set_timer(now);
    }

    /// Returns the round-trip time of the packet that an acknowledgement answers, and true if the packet is a full one.
    /// Returns `None` if it is not certain which transmission was answered.
    pub(super) fn round_trip_of(&mut self, now: Time, header: &UetHeader) -> Option<(Time, bool)> {
        let psn = nearest(header.answers, self.oldest);
        let packet = self.packets.get(psn.checked_sub(self.oldest)? as usize)?;
        let full = packet.bytes >= self.facts.packet;
        let tries = if header.retransmitted { 2 } else { 1 };
        if packet.tries != tries {
            return None;
        }
        let round_trip = now.saturating_sub(packet.sent).saturating_sub(header.service);
        self.round_trip = (now.saturating_sub(round_trip), now);
        if let Some(probing) = self.probing.as_deref_mut() {
            probing.measure(round_trip);
        }
        let gain = if self.smoothed > 0.0 { SMOOTHING } else { 1.0 };
        self.smoothed += gain * (round_trip.ps() as f64 - self.smoothed);
        Some((round_trip, full))
    }

    /// Returns the bytes that have arrived since the last acknowledgement, according to the receiver's counter.
    pub(super) fn newly_received(&mut self, counter: u32) -> u64 {
        let mask = (1 << COUNTER_BITS) - 1;
        let ahead = counter.wrapping_sub(self.received) & mask;
        // The acknowledgement was overtaken by a later one.
        if ahead > mask / 2 {
            return 0;
        }
        self.received = counter;
        u64::from(ahead) * COUNTER_UNIT
    }

    /// Processes the selective acknowledgement. Returns true if it acknowledges new packets.
    pub(super) fn take_sack(&mut self, header: &UetHeader) -> bool {
        if header.sack == 0 {
            return false;
        }
        let base = nearest(header.sack_base, self.oldest);
        let mut bits = header.sack;
        let mut progress = false;
        while bits != 0 {
            let psn = base + u64::from(bits.trailing_zeros());
            bits &= bits - 1;
            if psn >= self.oldest && psn < self.next {
                progress |= self.acknowledge(psn);
            }
        }
        progress
    }

    pub(super) fn take_cumulative(&mut self, until: u64) -> bool {
        if until <= self.oldest {
            return false;
        }
        for psn in self.oldest..until {
            self.acknowledge(psn);
        }
        self.forget();
        true
    }

    /// Removes acknowledged packets before the oldest unacknowledged one, and the messages before it.
    pub(super) fn forget(&mut self) {
        while self.packets.front().is_some_and(|packet| packet.state == State::Acknowledged) {
            self.packets.pop_front();
            self.oldest += 1;
        }
        while self.messages.front().is_some_and(|message| message.end() <= self.oldest) {
            self.messages.pop_front();
            self.forget_clock();
            self.at -= 1;
        }
    }

    /// Marks a packet as acknowledged. Returns true if it was not acknowledged before.
    pub(super) fn acknowledge(&mut self, psn: u64) -> bool {
        if self.overtaking.is_some() {
            self.note_acknowledged(psn);
        }
        let packet = &mut self.packets[(psn - self.oldest) as usize];
        if let Some(probing) = self.probing.as_deref_mut().filter(|_| packet.state == State::InFlight) {
            probing.arrive(packet.entropy, packet.sent);
        }
        let before = std::mem::replace(&mut packet.state, State::Acknowledged);
        if before == State::Acknowledged {
            return false;
        }
        self.flying -= u64::from(before == State::InFlight);
        if before == State::Lost {
            // The lost packet had arrived after all; the receiver's counter includes its bytes.
            self.lost_packets -= 1;
            self.in_flight += i64::from(packet.bytes);
        }
        let number = if self.messages.len() == 1 { 0 } else { self.message_of(psn) };
        let message = &mut self.messages[number];
        message.missing -= 1;
        if message.missing == 0 {
            let Message { transfer, start, bytes, retransmitted, timeouts, .. } = *message;
            self.counts.messages += 1;
            self.counts.bytes += bytes;
            let times = self.times_of(number, self.now);
            self.done.append_one(Done { transfer, start, bytes, retransmitted, timeouts, times });
        }
        true
    }

    pub(super) fn on_nack(&mut self, now: Time, header: &UetHeader, code: u8) {
        let psn = nearest(RdmaWord::of(header.word).number, self.oldest);
        self.counts.nacks += 1;
        let cause = match code {
            NACK_TRIMMED => UetLossCause::Trimmed { last_hop: false },
            NACK_TRIMMED_LAST_HOP => UetLossCause::Trimmed { last_hop: true },
            NACK_OUT_OF_ORDER if self.spec.mode == UetMode::Rod => UetLossCause::Inferred,
            _ => {
                self.discarded += 1;
                return;
            }
        };
        if psn >= self.next {
            self.discarded += 1;
            return;
        }
        self.unrequested |= psn == self.requested;
        if code == NACK_OUT_OF_ORDER {
            // All packets before this one have arrived.
            self.take_cumulative(psn);
        }
        if self.lose(now, psn, cause) && self.spec.mode == UetMode::Rod {
            self.rewind(psn + 1);
        }
        self.set_timer(now);
    }
}
