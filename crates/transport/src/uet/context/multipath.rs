//! Paths of a packet delivery context: the entropy value of each packet, probes of failed paths, and the time that a failure took to detect.

use super::{COUNTER_BITS, DeliveryContext, State};
use crate::endpoint::Segment;
use crate::path_selection::{PathCounts, PathFeedback, PathSelection, PathSelector, PathSignal};
use crate::uet::PROBE;
use frame::UetHeader;
use units::Time;

/// Bit of a probe number that is set if the probe is of a path (QPN 2 of MRC).
const OF_PATH: u32 = 1 << 16;

/// A selection, and the value that the next packet has.
#[derive(Clone, Debug)]
pub(super) struct Multipath {
    selector: PathSelector,
    /// The entropy value of the next packet, if a NIC with several links needed it before the packet leaves.
    staged: Option<u16>,
    /// Longest and total time from sending a packet that was lost until its path was taken out.
    detection: (Time, Time),
}

impl Multipath {
    pub fn new(selector: PathSelector) -> Multipath {
        Multipath { selector, staged: None, detection: (Time::ZERO, Time::ZERO) }
    }
    /// The value of a packet that leaves now.
    #[inline]
    pub fn next(&mut self, now: Time) -> u16 {
        self.staged.take().unwrap_or_else(|| self.selector.next(now))
    }
    /// The value of the packet that leaves next.
    fn peek(&mut self, now: Time) -> u16 {
        let Multipath { selector, staged, .. } = self;
        *staged.get_or_insert_with(|| selector.next(now))
    }
    pub fn on_feedback(&mut self, now: Time, feedback: PathFeedback) {
        self.selector.on_feedback(now, feedback);
    }
    /// A packet that was sent at `sent` is lost.
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

/// Returns true if a probe has the number of one of a path.
pub(crate) fn is_of_path(number: u32) -> bool {
    number & OF_PATH != 0
}

impl DeliveryContext {
    /// Entropy value of the segment that leaves next.
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
    /// Paths taken out and brought back, and the longest and the total time that this took; `None`: it takes none out.
    pub fn path_counts(&self) -> Option<(PathCounts, (Time, Time))> {
        let paths = self.paths.as_deref()?;
        Some((paths.selector.counts()?, paths.detection))
    }

    /// Returns true if there is something to send or in flight: only then paths are probed.
    fn is_active(&self) -> bool {
        self.flying > 0 || self.lost_packets > 0 || self.next < self.end && !self.closed
    }
    /// When a path is to be probed, or [`Time::NEVER`].
    pub(super) fn path_probe_at(&self) -> Time {
        let at = self.paths.as_ref().map_or(Time::NEVER, |paths| paths.selector.probe_at());
        // While nothing was to be sent it may have passed.
        let is_due = at < Time::NEVER && self.is_active() && !self.probes_path;
        if is_due { at.max(self.now) } else { Time::NEVER }
    }
    /// The time of [`DeliveryContext::path_probe_at`] may have come.
    pub(super) fn note_path_probe(&mut self, now: Time) {
        self.probes_path |= self.path_probe_at() <= now;
    }
    /// The path that is to be probed now.
    fn due_path_probe(&self) -> Option<u16> {
        let paths = self.paths.as_ref().filter(|_| self.probes_path)?;
        paths.selector.due_probe(self.now)
    }

    /// A probe of a path, if one is due.
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

    /// Links of its own host, or of the receiver, are down.
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
    /// An acknowledgement reports links of the receiver, unless a later one has arrived before.
    pub(super) fn note_links(&mut self, header: &UetHeader) {
        let ahead = header.received.wrapping_sub(self.received) & ((1 << COUNTER_BITS) - 1);
        if header.links_down != self.links_down[1] && ahead >> (COUNTER_BITS - 1) == 0 {
            self.on_links_down(None, Some(header.links_down));
        }
    }

    /// The answer to a probe of a path has come.
    pub(super) fn on_path_probed(&mut self, now: Time, entropy: u16) {
        if let Some(paths) = &mut self.paths {
            paths.on_feedback(now, PathFeedback { entropy, signal: PathSignal::ProbeAnswered });
        }
    }

    /// Packets were acknowledged of which the last one was sent at this time: those that it has overtaken count as lost a while later.
    pub(super) fn note_overtaking(&mut self, now: Time, sent: Time) {
        let oldest = if self.overtaking.is_some() { self.oldest_in_flight() } else { None };
        if let Some(overtaking) = &mut self.overtaking {
            overtaking.on_acknowledged(now, sent, oldest.map(|(sent, _)| sent));
        }
    }
    /// Packets that were overtaken long ago are lost. Returns true if there may be some.
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
    /// Latest transmission of a packet that an acknowledgement newly acknowledges.
    pub(super) fn note_acknowledged(&mut self, psn: u64) {
        let place = (psn - self.oldest) as usize;
        let packet = self.packets[place];
        if packet.state == State::InFlight {
            self.latest_acknowledged = self.latest_acknowledged.max(packet.sent);
        }
    }
}
