//! The arrival process of a source, together with its link.

use crate::arrivals::{Arrival, Link, Random};
use crate::spec::FrameSizes;
use crate::transfers::Sender;
use crate::{Arrivals, Kind};
use units::{BitRate, Time};

/// The state of an arrival process and its link. The argument `next` of all methods is the length of the next frame.
#[derive(Clone, Debug)]
pub(crate) struct Process {
    link: Link,
    kind: Kind,
}

impl Process {
    /// Creates a process; `sizes` are the lengths of its frames.
    pub(crate) fn new(arrivals: &Arrivals, link: Link, sizes: &FrameSizes) -> Process {
        Process { link, kind: Kind::new(arrivals, link, sizes) }
    }

    pub(crate) fn is_greedy(&self) -> bool {
        matches!(self.kind, Kind::Greedy | Kind::Transfers(_))
    }

    /// Returns the stream of the last frame made, if streams are counted.
    pub(crate) fn stream(&self) -> Option<u32> {
        match &self.kind {
            Kind::Streams(streams) => streams.of_frame(),
            Kind::Video(video) => video.of_frame(),
            _ => None,
        }
    }

    /// Switches the process to these transfers.
    pub(crate) fn send(&mut self, sender: Sender) {
        self.kind = Kind::Transfers(Box::new(sender));
    }
    pub(crate) fn sender(&self) -> Option<&Sender> {
        if let Kind::Transfers(sender) = &self.kind { Some(sender) } else { None }
    }
    pub(crate) fn sender_mut(&mut self) -> Option<&mut Sender> {
        if let Kind::Transfers(sender) = &mut self.kind { Some(sender) } else { None }
    }

    /// Begins the process at `now` and returns its first wake-up time; [`Time::NEVER`] if it has nothing to send.
    pub(crate) fn start(&mut self, now: Time, next: u16, rng: &mut Random) -> Time {
        self.kind.start(self.link, now, next, rng)
    }
    /// Returns true if a frame is due.
    #[inline]
    pub(crate) fn arrives(&mut self, now: Time, rng: &mut Random) -> bool {
        self.kind.arrives(now, rng)
    }
    /// Returns true if a frame is due at the next wake-up.
    pub(crate) fn frame_is_next(&self) -> bool {
        self.kind.frame_is_next()
    }
    /// Returns the next wake-up time after [`Process::arrives`] returned false.
    pub(crate) fn next_wake(&self) -> Time {
        self.kind.next_wake()
    }
    /// Returns the length of the next frame, if the process sets the lengths of frames.
    #[inline(never)]
    pub(crate) fn bytes(&mut self, rng: &mut Random) -> u16 {
        self.kind.bytes(rng)
    }
    /// Accounts for a frame of `sent` bytes sent at `now` and returns the next wake-up time. `late` is true if the
    /// frame was due earlier and was delayed.
    #[inline]
    pub(crate) fn after(&mut self, now: Time, late: bool, sent: u16, next: u16, rng: &mut Random) -> Time {
        // Fast path: most frames come from a constant process.
        if let Kind::Constant(constant) = &mut self.kind {
            return constant.after(self.link, now, late, [sent, next], rng);
        }
        self.after_random(now, late, [sent, next], rng)
    }
    #[inline(never)]
    fn after_random(&mut self, now: Time, late: bool, frames: [u16; 2], rng: &mut Random) -> Time {
        self.kind.after(self.link, now, late, frames, rng)
    }
    /// Adapts to a new rate of the link.
    pub(crate) fn on_link_rate(&mut self, line: BitRate) {
        self.link.line = line;
        self.kind.on_link(self.link);
    }
    /// Sets the rate. The process is silent.
    pub(crate) fn set_rate(&mut self, new: BitRate) {
        self.kind.set_rate(self.link, new);
    }

    /// Changes the rate of an active process and returns the new time of the wake-up that was due at `due`.
    pub(crate) fn change_rate(
        &mut self,
        now: Time,
        due: Time,
        new: BitRate,
        next: u16,
        rng: &mut Random,
    ) -> Time {
        let old = self.kind.rate();
        if old == Some(new) {
            return due;
        }
        self.set_rate(new);
        if new.bps() == 0 {
            return Time::NEVER;
        }
        match old.filter(|old| old.bps() > 0 && due != Time::NEVER) {
            Some(old) => self.kind.rescale(self.link, now, due, (old, new), next, rng),
            None => self.start(now, next, rng),
        }
    }
}
