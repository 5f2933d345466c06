//! The congested station of PAUSE and PFC: conditions for sending XOFF and XON.
//!
//! IEEE 802.1Qbb leaves the conditions to the implementer. These are the usual ones (Hagen 2012 §7.2): XOFF when the
//! occupancy reaches the high watermark, XON when it falls to the low watermark, and a renewal before the pause
//! expires while the occupancy is still above the low watermark. The occupancy of an [`IngressCounter`] is the number
//! of buffered bytes or frames of one priority that arrived through one port.
//!
//! If a switch shares its memory by dynamic thresholds and counts at the ingress, the threshold replaces both
//! watermarks (`penstock explain dynamic_threshold`). If its memory is partitioned into pools (`buffer.memory`), the
//! profile of each priority group sets the threshold, XON level and headroom.
//!
//! Source: IEEE 802.1Qbb (802.1Q clause 36); Hagen 2012 §7.2.
//!
//! Not modelled: watermarks that change during a run.

use crate::pause_settings::described_as_settings;
use crate::{Configuration, Control, Findings, PauseKind, PauseSettings, PauseSpec, Watermarks};
use frame::Occupancy;
use recurrence::Recurs;
use serde::{Deserialize, Serialize};
use units::{Amount, Time};

/// Keys of PFC.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(transparent)]
pub struct PriorityPauses(PauseSettings);

described_as_settings!(PriorityPauses);

impl Configuration for PriorityPauses {
    const FROM_FLOWS: Option<&'static str> = Some("priorities");

    fn or(&self, outer: &PriorityPauses) -> PriorityPauses {
        PriorityPauses(self.0.or(&outer.0))
    }
    fn complete(&mut self, used: &[u32]) {
        self.0.priorities.get_or_insert_with(|| used.to_vec());
        self.0.complete();
    }
    fn check(&self, used: &[u32]) -> Findings {
        self.0.check(true, used)
    }
    fn start(&self, name: &'static str) -> Control {
        Control::Pauses(self.pauses(name))
    }
    fn notes(&self) -> Vec<&'static str> {
        self.0.notes()
    }
}

impl PriorityPauses {
    /// Returns the priorities, if they are given.
    pub(crate) fn priorities(&self) -> Option<&[u32]> {
        self.0.priorities.as_deref()
    }
    /// Returns the specification of the pauses. All defaults have been set.
    pub(crate) fn pauses(&self, name: &'static str) -> PauseSpec {
        let list = self.0.priorities.iter().flatten();
        let set = list.filter(|&&priority| priority <= 7).fold(0u8, |set, &p| set | 1 << p);
        self.0.spec(name, PauseKind::Priorities(set))
    }
    /// Returns PFC with these priorities.
    #[cfg(test)]
    pub(crate) fn of(priorities: &[u32]) -> PriorityPauses {
        PriorityPauses(PauseSettings { priorities: Some(priorities.to_vec()), ..PauseSettings::default() })
    }
}

/// A pause that this station has requested. The time at which it takes effect at the peer is an estimate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Recurs)]
pub struct OutstandingPause {
    /// Time at which the XOFF must be renewed; zero if no XOFF is in force.
    #[recurs(past)]
    renew_at: Time,
}

impl OutstandingPause {
    /// Returns true if XOFF must be sent now because none is in force or the last one is about to expire.
    #[inline]
    pub fn is_due(&self, now: Time) -> bool {
        now >= self.renew_at
    }
    /// Returns true if an XOFF is in force, according to this station's estimate.
    #[inline]
    pub fn in_force(&self) -> bool {
        self.renew_at > Time::ZERO
    }
    /// Records that XOFF is sent, and has to be renewed at `renew_at`.
    #[inline]
    pub fn set(&mut self, renew_at: Time) {
        self.renew_at = renew_at;
    }
    /// Returns the time at which the XOFF must be renewed.
    pub fn renew_at(&self) -> Time {
        self.renew_at
    }
    /// Records that XON is sent or that the pause may expire; no XOFF is in force afterwards. Returns true if one was.
    #[inline]
    pub fn release(&mut self) -> bool {
        std::mem::take(&mut self.renew_at) > Time::ZERO
    }
}

/// The watermarks of one ingress port, as computed numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Levels {
    /// Occupancy at or above which XOFF is sent.
    pub xoff: Amount,
    /// Occupancy at or below which XON is sent.
    pub xon: Amount,
    /// Total capacity: `xoff` plus the headroom above it. Frames beyond it are lost.
    pub capacity: Amount,
}

impl Levels {
    /// Computes the levels from configured watermarks. `headroom` is the number of bytes needed above XOFF if the
    /// watermarks do not specify it. The lengths of the shortest and of the longest frame convert bytes to frames and
    /// vice versa, rounded up.
    pub fn new(marks: &Watermarks, headroom: u64, (min_frame, max_frame): (u16, u16)) -> Levels {
        // All frames may be small. No standard frame is shorter than this.
        let smallest = u64::from(min_frame.clamp(1, frame::MIN_FRAME_BYTES));
        let capacity = match (marks.xoff, marks.headroom) {
            (Amount::Bytes(xoff), Some(Amount::Bytes(room))) => Amount::Bytes(xoff + room),
            (Amount::Bytes(xoff), Some(Amount::Frames(room))) => {
                Amount::Bytes(xoff + room * u64::from(max_frame))
            }
            (Amount::Bytes(xoff), None) => Amount::Bytes(xoff + headroom),
            (Amount::Frames(xoff), Some(Amount::Frames(room))) => Amount::Frames(xoff + room),
            (Amount::Frames(xoff), Some(Amount::Bytes(room))) => {
                Amount::Frames(xoff + room.div_ceil(smallest))
            }
            (Amount::Frames(xoff), None) => Amount::Frames(xoff + headroom.div_ceil(smallest)),
        };
        Levels { xoff: marks.xoff, xon: marks.xon, capacity }
    }

    /// Returns the number of bytes below which a counter neither has to send XOFF nor lacks room; 0 if a watermark is
    /// in frames.
    pub fn calm_below(&self) -> u64 {
        match (self.xoff, self.capacity) {
            (Amount::Bytes(xoff), Amount::Bytes(capacity)) => xoff.min(capacity.saturating_add(1)),
            _ => 0,
        }
    }
}

/// The result of admitting a frame to an [`IngressCounter`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// The frame is counted, if necessary, and no XOFF is due.
    Fits,
    /// The frame is counted, and XOFF is due.
    AtXoff,
    /// The frame does not fit into the room above XOFF. It is not counted and is lost.
    Full,
}

/// The occupancy of the frames that arrived through one port with one priority, and the pause that it has caused.
#[derive(Clone, Copy, Debug, Default, Recurs)]
pub struct IngressCounter {
    /// Occupancy of the frames that wait in the station.
    pub occupancy: Occupancy,
    /// The requested pause.
    pub pause: OutstandingPause,
    /// Time since which the occupancy has been above the low watermark.
    #[recurs(recorded)]
    pub rising_since: Time,
}

impl IngressCounter {
    /// Counts a frame that enters the station. Returns true if XOFF is due.
    #[inline(always)]
    #[must_use]
    pub fn add(&mut self, bytes: u16, levels: &Levels, now: Time) -> bool {
        self.add_calm(bytes, levels.xon, now);
        self.occupancy.reaches(levels.xoff) && self.pause.is_due(now)
    }
    /// Variant of `add` for a frame that leaves the counter below [`Levels::calm_below`], so that no XOFF is due.
    #[inline(always)]
    pub fn add_calm(&mut self, bytes: u16, xon: Amount, now: Time) {
        if self.occupancy.within(xon) {
            self.rising_since = now;
        }
        self.occupancy.add(bytes);
    }
    /// Variant of `add` that checks the capacity first.
    #[inline(always)]
    pub fn admit(&mut self, bytes: u16, levels: &Levels, now: Time) -> Counted {
        if !self.occupancy.has_room(levels.capacity, bytes) {
            Counted::Full
        } else if self.add(bytes, levels, now) {
            Counted::AtXoff
        } else {
            Counted::Fits
        }
    }
    /// Removes a frame. Returns true if a pause is in force, which [`IngressCounter::release`] may end.
    #[inline(always)]
    #[must_use]
    pub fn remove(&mut self, bytes: u16) -> bool {
        self.occupancy.remove(bytes);
        self.pause.in_force()
    }
    /// Ends the pause at or below the low watermark. Returns true if XON is due, provided that the station sends XON at
    /// all.
    #[must_use]
    pub fn release(&mut self, levels: &Levels) -> bool {
        self.occupancy.within(levels.xon) && self.pause.release()
    }
    /// Handles the renewal time. Returns true if XOFF is due again.
    #[must_use]
    pub fn renew(&self, levels: &Levels, now: Time) -> bool {
        self.pause.in_force() && self.pause.is_due(now) && !self.occupancy.within(levels.xon)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEVELS: Levels =
        Levels { xoff: Amount::Frames(3), xon: Amount::Frames(1), capacity: Amount::Frames(5) };

    fn leaves(counter: &mut IngressCounter) -> bool {
        counter.remove(64) && counter.release(&LEVELS)
    }

    #[test]
    fn xoff_at_the_high_mark_xon_at_the_low_mark() {
        let mut counter = IngressCounter::default();
        let now = Time::from_us(1);
        assert!(!counter.add(64, &LEVELS, now));
        assert!(!counter.add(64, &LEVELS, now));
        assert!(counter.add(64, &LEVELS, now));
        counter.pause.set(Time::from_us(100));
        // An XOFF in force is not repeated until it is about to expire.
        assert!(!counter.add(64, &LEVELS, Time::from_us(99)));
        assert!(counter.add(64, &LEVELS, Time::from_us(100)));
        counter.pause.set(Time::from_us(200));
        assert!(!leaves(&mut counter));
        assert!(!leaves(&mut counter));
        assert!(!leaves(&mut counter));
        assert!(!counter.renew(&LEVELS, Time::from_us(199)));
        assert!(counter.renew(&LEVELS, Time::from_us(200)));
        assert!(leaves(&mut counter));
        // XON is sent once.
        assert!(!leaves(&mut counter));
        assert!(!counter.renew(&LEVELS, Time::from_us(300)));
    }

    #[test]
    fn below_the_first_mark_in_bytes_nothing_is_due() {
        let bytes = |xoff, capacity| Levels {
            xoff: Amount::Bytes(xoff),
            xon: Amount::Bytes(0),
            capacity: Amount::Bytes(capacity),
        };
        assert_eq!([bytes(1_000, 9_000), bytes(1_000, 999)].map(|it| it.calm_below()), [1_000, 1_000]);
        assert_eq!((bytes(1_000, 500).calm_below(), LEVELS.calm_below()), (501, 0));
        for (levels, held) in [(bytes(1_000, 9_000), 999), (bytes(1_000, 500), 500)] {
            let mut counter = IngressCounter::default();
            assert_eq!(counter.admit(held, &levels, Time::ZERO), Counted::Fits);
            assert_ne!(counter.admit(1, &levels, Time::ZERO), Counted::Fits);
        }
    }

    #[test]
    fn headroom_comes_on_top() {
        let marks = |xoff, headroom| Watermarks { xoff, xon: Amount::Bytes(0), headroom };
        let capacity = |m: &Watermarks| Levels::new(m, 9_734, (64, 1522)).capacity;
        assert_eq!(capacity(&marks(Amount::Bytes(1000), None)), Amount::Bytes(10_734));
        assert_eq!(capacity(&marks(Amount::Bytes(1000), Some(Amount::Bytes(5)))), Amount::Bytes(1005));
        assert_eq!(capacity(&marks(Amount::Bytes(1000), Some(Amount::Frames(2)))), Amount::Bytes(4044));
        assert_eq!(capacity(&marks(Amount::Frames(9), Some(Amount::Frames(2)))), Amount::Frames(11));
        assert_eq!(capacity(&marks(Amount::Frames(9), None)), Amount::Frames(9 + 153));
        // A model without a minimum frame length: frames of 10 B.
        let tiny = Levels::new(&marks(Amount::Frames(9), None), 9_734, (10, 1522)).capacity;
        assert_eq!(tiny, Amount::Frames(9 + 974));
    }
}
