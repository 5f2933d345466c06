//! A running source, with one pending time and one frame at a time.
//!
//! The fabric keeps one timer per source, set to [`Source::next_wake`], and calls [`Source::wake`] when it expires.
//! Frames and changes of the script share that timer. Back-pressure means that the fabric does not wake the source. A
//! source that is woken late sends the frame that was due at once, and the next interval starts at that time. Changes
//! that became due in the meantime take effect first, so a source that was stopped while held back sends nothing.
//!
//! With jitter a frame is sent later than it is due. The arrival process is unaffected: it continues from the time at
//! which the frame was due, so that jitter neither adds up nor changes a rate.

use crate::arrivals::Link;
use crate::draw::below;
use crate::process::Process;
use crate::spec::{Change, SourceSpec};
use crate::transfers::Sender;
use crate::{destinations, sizes};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::sync::Arc;
use units::{BitRate, Bytes, ClockOffset, Time};

/// A frame from a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Made {
    /// Length, DA to FCS.
    pub bytes: u16,
    /// Index into [`crate::Destinations::nodes`].
    pub destination: u32,
    /// Number of the frame's transfer among those to the same destination; 0 if the source does not send transfers.
    pub word: u32,
}

/// Result of waking a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// No action is due.
    Nothing,
    /// Send this frame.
    Emit(Made),
    /// The source is greedy: send as many frames as there is room for, see [`Source::take`].
    Fill,
}

/// A source of traffic.
#[derive(Clone, Debug)]
pub struct Source {
    /// Time at which the arrival process is due; [`Time::NEVER`] while it is silent.
    due: Time,
    /// Time at which to wake the source: `due`, or later by the jitter of the frame that is due.
    wake_at: Time,
    jitter: Option<Box<Jitter>>,
    /// Time of the next change; [`Time::NEVER`] after the last.
    next_change: Time,
    active: bool,
    /// Length of the next frame.
    next_bytes: u16,
    /// Destination of the next frame, if it has been drawn in advance.
    next_destination: Option<u32>,
    /// Bytes left to send; an upper limit of the last frame's length.
    remaining: u64,
    /// Bytes by which the last frame is longer than the remainder, because of the minimum frame length.
    padding: u16,
    rng: Xoshiro256PlusPlus,
    process: Process,
    sizes: sizes::Sampler,
    destinations: destinations::Sampler,
    /// Future changes in reverse order: the next one is last.
    changes: Vec<(Time, Change)>,
}

/// Draws the random delay between the due time of a frame and its transmission.
#[derive(Clone, Debug)]
struct Jitter {
    most: Time,
    rng: Xoshiro256PlusPlus,
}

impl Source {
    /// Creates a source on a link of rate `line` with `overhead` bytes around each frame, at a station whose clock is
    /// off by `clock`. No other user should draw from `rng`.
    pub fn new(
        spec: &SourceSpec,
        line: BitRate,
        overhead: u16,
        clock: ClockOffset,
        mut rng: Xoshiro256PlusPlus,
    ) -> Source {
        let link = Link { line, overhead, basis: spec.rate_basis, clock };
        let sizes = if spec.arrivals.cuts_frames() {
            sizes::Sampler::ByProcess
        } else {
            sizes::Sampler::new(&spec.sizes)
        };
        let mut process = Process::new(&spec.arrivals, link, &spec.sizes);
        let (rate, mut changes) = spec.changes();
        if let Some(rate) = rate {
            process.set_rate(rate);
        }
        changes.reverse();
        let next_change = match spec.transfers() {
            // For a source of transfers, the changes are the starts of its transfers.
            Some(list) => {
                let sender = Sender::new(Arc::clone(list), spec.destinations.count());
                let first = sender.next_start();
                process.send(sender);
                first
            }
            None => changes.last().map_or(Time::NEVER, |&(at, _)| at),
        };
        let mut source = Source {
            due: Time::NEVER,
            wake_at: Time::NEVER,
            jitter: None,
            next_change,
            active: false,
            next_bytes: draw_bytes(&sizes, &mut process, &mut rng),
            next_destination: None,
            remaining: spec.limit.map_or(u64::MAX, |limit| limit.get()),
            padding: 0,
            rng,
            process,
            sizes,
            destinations: destinations::Sampler::new(&spec.destinations)
                .in_runs(spec.arrivals.to_one_destination()),
            changes,
        };
        source.meet_limit();
        source
    }

    /// Adds jitter of up to `most`. It has its own random stream, so the due times of frames do not change.
    pub fn with_jitter(mut self, most: Time, rng: Xoshiro256PlusPlus) -> Source {
        self.jitter = (most > Time::ZERO).then(|| Box::new(Jitter { most, rng }));
        self
    }

    /// Adapts to a new rate of the link.
    pub fn on_link_rate(&mut self, line: BitRate) {
        self.process.on_link_rate(line);
    }

    /// Returns the next time at which to wake the source, never before its last wake-up; `None` if the source has
    /// finished.
    #[inline]
    pub fn next_wake(&self) -> Option<Time> {
        let at = self.wake_at.min(self.next_change);
        (at != Time::NEVER).then_some(at)
    }

    /// Runs the source at [`Source::next_wake`] or later. Calls at other times have no effect.
    #[inline]
    pub fn wake(&mut self, now: Time) -> Wake {
        if self.next_change <= now {
            self.apply_changes(now);
        }
        if self.process.is_greedy() {
            return if self.is_active() { Wake::Fill } else { Wake::Nothing };
        }
        if self.wake_at > now {
            return Wake::Nothing;
        }
        let late = self.wake_at < now;
        // Back-pressure delays the arrival process; jitter does not.
        let as_of = if late { now } else { self.due };
        if !self.process.arrives(as_of, &mut self.rng) {
            self.expect(self.process.next_wake(), now);
            return Wake::Nothing;
        }
        let made = self.make();
        if self.active {
            let due = self.process.after(as_of, late, made.bytes, self.next_bytes, &mut self.rng);
            self.expect(due, now);
        }
        Wake::Emit(made)
    }

    /// Schedules the arrival process for `due`. `now` is the last time at which a frame was, or could have been, sent.
    #[inline]
    fn expect(&mut self, due: Time, now: Time) {
        (self.due, self.wake_at) = (due, due);
        if let Some(jitter) = &mut self.jitter {
            let late = if due != Time::NEVER && self.process.frame_is_next() {
                Time::from_ps(below(&mut jitter.rng, jitter.most.ps().saturating_add(1)))
            } else {
                Time::ZERO
            };
            self.wake_at = due.saturating_add(late).max(now);
        }
    }

    /// Returns the next frame of a greedy source; `None` while it is silent, and for all other sources.
    #[inline]
    pub fn take(&mut self, now: Time) -> Option<Made> {
        if self.next_change <= now {
            self.apply_changes(now);
        }
        if let Some(sender) = self.process.sender_mut() {
            return sender.take();
        }
        (self.active && self.process.is_greedy()).then(|| self.make())
    }

    /// Variant of [`Source::take`] for a greedy source without transfers, before [`Source::next_wake`].
    #[inline(always)]
    pub fn take_on(&mut self) -> Option<Made> {
        self.active.then(|| self.make())
    }

    /// Returns the destination of the next frame: an index into [`crate::Destinations::nodes`].
    #[inline]
    pub fn next_destination(&mut self) -> u32 {
        if let Some(sender) = self.process.sender() {
            return sender.next_destination();
        }
        match self.next_destination {
            Some(destination) => destination,
            None => {
                let destination = self.destinations.draw(&mut self.rng);
                self.next_destination = Some(destination);
                destination
            }
        }
    }

    /// Returns true if the source uses the full rate of the link.
    pub fn is_greedy(&self) -> bool {
        self.process.is_greedy()
    }

    /// Returns the stream of the last frame, if streams are counted.
    pub fn stream(&self) -> Option<u32> {
        self.process.stream()
    }

    /// Returns true if the source sends transfers, whose frames must not be lost for lack of space in the NIC.
    pub fn has_transfers(&self) -> bool {
        self.process.sender().is_some()
    }

    /// Begins a waiting transfer of a source of transfers. `row` is its row in the list, `nth` its number among the
    /// transfers to the same destination.
    pub fn release(&mut self, row: usize, nth: u32) {
        if let Some(sender) = self.process.sender_mut() {
            sender.release(row, nth);
        }
    }

    /// Returns true between a start and a stop while bytes are left below the limit. For a source of transfers, returns
    /// true if some have begun and have frames left.
    pub fn is_active(&self) -> bool {
        self.process.sender().map_or(self.active, |sender| sender.is_active())
    }

    /// Returns the bytes of all frames so far, without padding beyond `limit`.
    pub fn bytes_made(&self, limit: Option<Bytes>) -> u64 {
        limit.map_or(u64::MAX, Bytes::get) - self.remaining
    }

    /// Returns the bytes of padding in all frames so far. The last frame before the limit, or of a transfer, is padded
    /// to the minimum frame length.
    pub fn padding(&self) -> u64 {
        match self.process.sender() {
            Some(sender) => sender.padding(),
            None if self.remaining == 0 => self.padding.into(),
            None => 0,
        }
    }

    #[inline(always)]
    fn make(&mut self) -> Made {
        let destination = self.next_destination();
        self.next_destination = None;
        let made = Made { bytes: self.next_bytes, destination, word: 0 };
        self.remaining = self.remaining.saturating_sub(u64::from(made.bytes));
        self.next_bytes = draw_bytes(&self.sizes, &mut self.process, &mut self.rng);
        if u64::from(self.next_bytes) > self.remaining {
            self.meet_limit();
        }
        made
    }

    /// Cuts the next frame to the bytes left and pads it to the smallest frame. The source ends after that frame.
    #[cold]
    fn meet_limit(&mut self) {
        if self.remaining == 0 {
            self.active = false;
            (self.due, self.wake_at) = (Time::NEVER, Time::NEVER);
            self.next_change = Time::NEVER;
            self.changes.clear();
        } else if u64::from(self.next_bytes) > self.remaining {
            // This fits 16 bits because it is less than a frame.
            let left = self.remaining as u16;
            self.next_bytes = left.max(self.next_bytes.min(frame::MIN_FRAME_BYTES));
            self.padding = self.next_bytes - left;
        }
    }

    #[cold]
    fn apply_changes(&mut self, now: Time) {
        if let Some(sender) = self.process.sender_mut() {
            sender.begin(now);
            self.next_change = sender.next_start();
            return;
        }
        while let Some(&(at, change)) = self.changes.last().filter(|&&(at, _)| at <= now) {
            self.changes.pop();
            let (process, rng) = (&mut self.process, &mut self.rng);
            match change {
                Change::Start(Some(rate)) if self.active => {
                    let due = process.change_rate(at, self.due, rate, self.next_bytes, rng);
                    if due != self.due {
                        self.expect(due, at);
                    }
                }
                Change::Start(_) if self.active => {}
                Change::Start(rate) => {
                    if let Some(rate) = rate {
                        process.set_rate(rate);
                    }
                    self.active = true;
                    let due = process.start(at, self.next_bytes, rng);
                    self.expect(due, at);
                }
                Change::Stop => {
                    self.active = false;
                    (self.due, self.wake_at) = (Time::NEVER, Time::NEVER);
                }
            }
        }
        self.next_change = self.changes.last().map_or(Time::NEVER, |&(at, _)| at);
    }
}

/// Draws the length of the next frame.
#[inline(always)]
fn draw_bytes(sizes: &sizes::Sampler, process: &mut Process, rng: &mut Xoshiro256PlusPlus) -> u16 {
    match sizes {
        // Fast path: most flows have frames of one size.
        sizes::Sampler::Fixed(bytes) => *bytes,
        sizes::Sampler::ByProcess => process.bytes(rng),
        drawn => drawn.draw(rng),
    }
}
