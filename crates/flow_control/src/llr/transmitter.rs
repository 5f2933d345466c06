//! The sending end of a link with link-level retry.

use super::{ENDLESS, FrameAction, LlrSpec, SEQUENCES, after, distance};
use std::collections::VecDeque;
use units::Time;

/// State of the sending end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Waits for the other end to echo its initialisation.
    Init,
    /// Sends new frames, and repeats outstanding ones on request.
    Advance,
    /// Has discarded its replay buffer.
    Flush,
}

/// An outstanding frame.
#[derive(Clone, Copy, Debug)]
pub struct Entry<T> {
    /// Length in bytes, DA to FCS.
    pub bytes: u16,
    /// Time of the frame's first transmission.
    pub sent: Time,
    /// Payload of the entry, for the caller.
    pub item: T,
}

/// The consequence of an acknowledgement or a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing is repeated.
    Nothing,
    /// Outstanding frames are repeated from the oldest on.
    Replay,
    /// The limit of replays or of age is reached, and the replay buffer has to be flushed.
    Flush,
}

/// The sending end, which numbers frames and keeps them until they are acknowledged.
#[derive(Clone, Debug)]
pub struct Transmitter<T> {
    spec: LlrSpec,
    state: State,
    /// Sequence number of the oldest outstanding frame; if there is none, of the next frame.
    first: u32,
    outstanding: VecDeque<Entry<T>>,
    bytes: u64,
    /// Index of the next frame to repeat; `None` outside a replay.
    replay: Option<usize>,
    /// Replays since the last progress.
    replays: u32,
    /// Time of the last progress: an acknowledgement, a replay, or a frame sent while the buffer was empty.
    progress: Time,
}

impl<T> Transmitter<T> {
    /// Creates an empty replay buffer, after both ends have initialised.
    pub fn new(spec: LlrSpec) -> Transmitter<T> {
        Transmitter::numbering_from(spec, 0)
    }
    /// Variant of `new` with this first sequence number, for tests of the wrap-around.
    pub fn numbering_from(spec: LlrSpec, first: u32) -> Transmitter<T> {
        Transmitter {
            spec,
            state: State::Advance,
            first: first % SEQUENCES,
            outstanding: VecDeque::new(),
            bytes: 0,
            replay: None,
            replays: 0,
            progress: Time::ZERO,
        }
    }
    /// Returns the configuration of the link.
    pub fn spec(&self) -> &LlrSpec {
        &self.spec
    }
    /// Iterates over the outstanding frames, the oldest first.
    pub fn outstanding(&self) -> impl DoubleEndedIterator<Item = &Entry<T>> + ExactSizeIterator {
        self.outstanding.iter()
    }
    /// Iterates over the outstanding frames, mutably.
    pub fn outstanding_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut Entry<T>> {
        self.outstanding.iter_mut()
    }
    /// Returns the memory that the replay buffer uses, in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.outstanding.capacity() * size_of::<Entry<T>>()
    }
    /// Returns true if new frames are numbered and kept.
    pub fn is_advancing(&self) -> bool {
        self.state == State::Advance
    }
    /// Returns the treatment of frames while they are not numbered; `None` while they are.
    pub fn action(&self) -> Option<FrameAction> {
        match self.state {
            State::Advance => None,
            State::Init => Some(self.spec.init_llr_frame_action),
            State::Flush => Some(self.spec.flush_llr_frame_action),
        }
    }
    /// Returns true if a limit of outstanding frames or bytes is reached.
    pub fn is_full(&self) -> bool {
        self.outstanding.len() >= self.spec.outstanding_frames_max as usize
            || self.bytes >= self.spec.outstanding_bytes_max
    }
    /// Returns true during a replay.
    pub fn is_replaying(&self) -> bool {
        self.replay.is_some()
    }
    /// Returns true if no new eligible frame may be sent.
    pub fn is_blocked(&self) -> bool {
        match self.action() {
            None => self.is_full() || self.is_replaying(),
            Some(action) => action == FrameAction::Block,
        }
    }
    /// Numbers and keeps a new frame, and returns its sequence number.
    pub fn send(&mut self, bytes: u16, item: T, now: Time) -> u32 {
        debug_assert!(!self.is_blocked(), "a frame is sent while the sending end is blocked");
        if self.outstanding.is_empty() {
            self.progress = now;
        }
        let sequence = after(self.first, self.outstanding.len() as u32);
        self.outstanding.push_back(Entry { bytes, sent: now, item });
        self.bytes += u64::from(bytes);
        sequence
    }
    /// Processes an ACK with this number. Returns the number of frames that it frees; `None` if the sequence number was
    /// not outstanding.
    pub fn acknowledge(&mut self, sequence: u32, now: Time) -> Option<usize> {
        let freed = distance(after(self.first, SEQUENCES - 1), sequence) as usize;
        if self.state != State::Advance || freed > self.outstanding.len() {
            return None;
        }
        if freed > 0 {
            let gone: u64 = self.outstanding.drain(..freed).map(|entry| u64::from(entry.bytes)).sum();
            self.bytes -= gone;
            self.first = after(self.first, freed as u32);
            (self.replays, self.progress) = (0, now);
            self.replay =
                self.replay.map(|at| at.saturating_sub(freed)).filter(|_| !self.outstanding.is_empty());
        }
        Some(freed)
    }
    /// Processes a NACK with the number of the last good frame; returns `None` if that number was not outstanding.
    pub fn refuse(&mut self, sequence: u32, now: Time) -> Option<Outcome> {
        self.acknowledge(sequence, now)?;
        Some(self.repeat(now))
    }
    /// Begins to repeat all outstanding frames, unless a limit has been reached.
    fn repeat(&mut self, now: Time) -> Outcome {
        let Some(oldest) = self.outstanding.front() else { return Outcome::Nothing };
        let age = self.spec.data_age_timeout;
        let is_old = age > Time::ZERO && now >= oldest.sent + age;
        if self.replays >= self.spec.replay_count_max && self.spec.replay_count_max < ENDLESS || is_old {
            return Outcome::Flush;
        }
        self.replays = self.replays.saturating_add(1);
        (self.replay, self.progress) = (Some(0), now);
        Outcome::Replay
    }
    /// Begins the transmission of the next frame to repeat, and returns it with its sequence number.
    pub fn next_replay(&mut self, now: Time) -> Option<(u32, &mut Entry<T>)> {
        let at = self.replay?;
        let sequence = after(self.first, at as u32);
        self.replay = (at + 1 < self.outstanding.len()).then_some(at + 1);
        self.progress = now;
        self.outstanding.get_mut(at).map(|entry| (sequence, entry))
    }
    /// Returns the time at which the replay timer or the age limit expires if nothing happens before; `None` while
    /// neither runs.
    pub fn timer(&self) -> Option<Time> {
        let oldest = self.outstanding.front().filter(|_| self.state == State::Advance)?;
        let (timer, age) = (self.spec.replay_timer_max, self.spec.data_age_timeout);
        let replay = (timer > Time::ZERO && self.replay.is_none()).then(|| self.progress + timer);
        let old = (age > Time::ZERO).then(|| oldest.sent + age);
        replay.into_iter().chain(old).min()
    }
    /// Processes the timers; harmless before the time that [`Transmitter::timer`] returns.
    pub fn expire(&mut self, now: Time) -> Outcome {
        if self.timer().is_some_and(|at| at <= now) { self.repeat(now) } else { Outcome::Nothing }
    }
    /// Empties the replay buffer, and returns the frames that were outstanding.
    pub fn flush(&mut self) -> impl Iterator<Item = Entry<T>> + use<T> {
        self.state = State::Flush;
        (self.bytes, self.replay, self.replays) = (0, None, 0);
        std::mem::take(&mut self.outstanding).into_iter()
    }
    /// Begins to initialise. The replay buffer has been flushed, and sequence numbers start at 0 again.
    pub fn initialise(&mut self) {
        debug_assert!(self.outstanding.is_empty(), "an initialisation with outstanding frames");
        (self.state, self.first) = (State::Init, 0);
    }
    /// Completes the initialisation, which the other end has echoed.
    pub fn initialised(&mut self) {
        if self.state == State::Init {
            self.state = State::Advance;
        }
    }
    /// Returns true while the echo of the other end is outstanding.
    pub fn is_initialising(&self) -> bool {
        self.state == State::Init
    }
    /// Repeats all outstanding frames, as after an outage. This does not count as a replay.
    pub fn resume(&mut self, now: Time) {
        if self.state == State::Advance && !self.outstanding.is_empty() {
            (self.replay, self.progress) = (Some(0), now);
        }
    }
}
