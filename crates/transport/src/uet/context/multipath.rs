//! The paths of a packet delivery context: the entropy value of each packet, probes of failed paths, and the time to
//! detect a failure.

use super::{COUNTER_BITS, DeliveryContext, State};
use crate::endpoint::Segment;
use crate::path_selection::{PathCounts, PathFeedback, PathSelection, PathSelector, PathSignal};
use crate::uet::PROBE;
use frame::UetHeader;
use units::Time;

/// Bit of a probe number that marks a probe of a path (QPN 2 of MRC).
const OF_PATH: u32 = 1 << 16;

/// A path selection, and the entropy value of the next packet.
#[derive(Clone, Debug)]
pub(super) struct Multipath {
    selector: PathSelector,
    /// Entropy value of the next packet, if a NIC with several links needed it before the packet is sent.
    staged: Option<u16>,
    /// Maximum and total time from sending a lost packet until its path was taken out.
    detection: (Time, Time),
}

impl Multipath {
    pub fn new(selector: PathSelector) -> Multipath {
        Multipath { selector, staged: None, detection: (Time::ZERO, Time::ZERO) }
    }
    /// Returns the entropy value of a packet that is sent now.
    #[inline]
    pub fn next(&mut self, now: Time) -> u16 {
        self.staged.take().unwrap_or_else(|| self.selector.next(now))
    }
    /// Returns the entropy value of the packet that will be sent next.
    fn peek(&mut self, now: Time) -> u16 {
        let Multipath { selector, staged, .. } = self;
        *staged.get_or_insert_with(|| selector.next(now))
    }
    pub fn on_feedback(&mut self, now: Time, feedback: PathFeedback) {
        self.selector.on_feedback(now, feedback);
    }
    /// Processes the loss of a packet sent at `sent`.
    pub fn on_lost(&mut self, now: Time, feedback: PathFeedback, sent: Time) {
        let before = self.taken_out();
        self.selector.on_lost(now, feedback, sent);
        if self.taken_out() > before {
            let took = now.saturating_sub(sent);
            self.detection = (self.detection.0.max(took), self.detection.1.saturating_add(took));
        }
    }
    fn taken_out(&self) -> u64 {
        self.selector.counts().map_or(0, |counts| counts.taken_out)
    }
    pub fn memory_bytes(&self) -> usize {
        self.selector.memory_bytes()
    }
}

/// Returns true if this is the number of a probe of a path.
pub(crate) fn is_of_path(number: u32) -> bool {
    number & OF_PATH != 0
}

impl DeliveryContext {
    /// Returns the entropy value of the segment that will be sent next.
    pub fn next_entropy(&mut self) -> u16 {
        if let Some(entropy) = self.due_path_probe() {
            return entropy;
        }
        if let Some(probing) = self.probing.as_deref().filter(|probing| probing.is_due) {
            return probing.entropy();
        }
        let now = self.now;
        self.paths.as_mut().map_or(0, |paths| paths.peek(now))
    }
    /// Returns the counters of paths taken out and brought back, and the maximum and total time to take a path out;
    /// `None` if the selection takes none out.
    pub fn path_counts(&self) -> Option<(PathCounts, (Time, Time))> {
        let paths = self.paths.as_deref()?;
        Some((paths.selector.counts()?, paths.detection))
    }

    /// Returns true if there are packets to send or in flight. Paths are probed only in this case.
    fn is_active(&self) -> bool {
        self.flying > 0 || self.lost_packets > 0 || self.next < self.end && !self.closed
    }
    /// Returns the time at which a path is to be probed, or [`Time::NEVER`].
    pub(super) fn path_probe_at(&self) -> Time {
        let at = self.paths.as_ref().map_or(Time::NEVER, |paths| paths.selector.probe_at());
        // The time may have passed while there was nothing to send.
        let is_due = at < Time::NEVER && self.is_active() && !self.probes_path;
        if is_due { at.max(self.now) } else { Time::NEVER }
    }
    /// Requests a path probe if the time of [`DeliveryContext::path_probe_at`] has come.
    pub(super) fn note_path_probe(&mut self, now: Time) {
        self.probes_path |= self.path_probe_at() <= now;
    }
    /// Returns the path to probe now, if any.
    fn due_path_probe(&self) -> Option<u16> {
        let paths = self.paths.as_ref().filter(|_| self.probes_path)?;
        paths.selector.due_probe(self.now)
    }

    /// Returns a probe of a path, if one is due.
    pub(super) fn path_probe(&mut self, now: Time) -> Option<Segment> {
        let entropy = self.due_path_probe();
        self.probes_path = false;
        let entropy = entropy?;
        let paths = self.paths.as_mut()?;
        paths.selector.on_probe(now);
        let number = paths.selector.counts().map_or(0, |counts| counts.probes) as u32 & 0xffff;
        let header = UetHeader { answers: OF_PATH | number, ..UetHeader::default() };
        Some(Segment { entropy, ..self.spec.control_packet(PROBE, self.next - 1, header) })
    }

    /// Records links that are down at the own host or at the receiver.
    pub fn on_links_down(&mut self, own: Option<u16>, far: Option<u16>) {
        let before = self.links_down;
        let [was_own, was_far] = before;
        self.links_down = [own.unwrap_or(was_own), far.unwrap_or(was_far)];
        let changed = self.links_down != before;
        if let Some(paths) = self.paths.as_mut().filter(|_| changed) {
            paths.staged = None;
            paths.selector.on_planes_down(self.links_down[0] | self.links_down[1]);
        }
    }
    /// Records the receiver's links as reported by an acknowledgement, unless a later acknowledgement has arrived
    /// before.
    pub(super) fn note_links(&mut self, header: &UetHeader) {
        let ahead = header.received.wrapping_sub(self.received) & ((1 << COUNTER_BITS) - 1);
        if header.links_down != self.links_down[1] && ahead >> (COUNTER_BITS - 1) == 0 {
            self.on_links_down(None, Some(header.links_down));
        }
    }

    /// Processes the answer to a probe of a path.
    pub(super) fn on_path_probed(&mut self, now: Time, entropy: u16) {
        if let Some(paths) = &mut self.paths {
            paths.on_feedback(now, PathFeedback { entropy, signal: PathSignal::ProbeAnswered });
        }
    }

    /// Records that packets were acknowledged, of which the last one was sent at `sent`. Packets that it has overtaken
    /// count as lost some time later.
    pub(super) fn note_overtaking(&mut self, now: Time, sent: Time) {
        let oldest = if self.overtaking.is_some() { self.oldest_in_flight() } else { None };
        if let Some(overtaking) = &mut self.overtaking {
            overtaking.on_acknowledged(now, sent, oldest.map(|(sent, _)| sent));
        }
    }
    /// Marks packets that were overtaken long ago as lost. Returns true if there may be any.
    pub(super) fn lose_overtaken(&mut self, now: Time) -> bool {
        let Some(before) = self.overtaking.as_mut().and_then(|overtaking| overtaking.expire(now)) else {
            return false;
        };
        while let Some((_, psn)) = self.oldest_in_flight().filter(|&(sent, _)| sent < before) {
            self.counts.inferred +=
                u64::from(self.lose(now, psn, crate::uet::control::UetLossCause::Inferred));
        }
        true
    }
    /// Records the transmission time of a packet that is newly acknowledged.
    pub(super) fn note_acknowledged(&mut self, psn: u64) {
        let place = (psn - self.oldest) as usize;
        let packet = self.packets[place];
        if packet.state == State::InFlight {
            self.latest_acknowledged = self.latest_acknowledged.max(packet.sent);
        }
    }
}
