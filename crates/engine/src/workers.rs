//! Runs a world in several parts, each on a thread of its own where that is faster.
//!
//! Each part has a world of its own with its nodes only; events for nodes of other parts go into mailboxes. All parts
//! run the same windows in the same step. Between two steps they meet: each posts its mail and announces its earliest
//! window with an event, counting mail in transit. If a look-ahead spans several windows, a step is half of one: events
//! sent in a step are due after the next one, so that a part may run a step as soon as the others have finished the
//! step before the previous one. It waits only for a part that is further behind (*lag*). Mailboxes and announcements
//! are kept for several meetings, so that a thread that is ahead does not overwrite data that another one still reads.
//! Data that an event refers to in the world that made it is sent along with the mail.
//!
//! Where rounds are too small for a barrier, or the machine is too busy, one thread runs the parts in turn
//! (`trial.rs`). A node sorts its events itself, so neither the order of mail nor the number of parts or threads
//! affects its behaviour.

use crate::barrier::{Barrier, BreakOnPanic, Broken, Patience};
use crate::trial::{Spent, Trial, Way};
use crate::windows::{NEVER, Outbox};
use crate::{Event, RunStatus, Runner, World};
use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use units::Time;

/// A part of the world, with its pending events.
pub struct Shard<W: World> {
    /// The nodes of this part. [`World::node_of`] returns numbers within the part;
    /// [`Windows::send`](crate::Windows::send) takes the global numbers of `owner_of`.
    pub world: W,
    /// Runs the events of these nodes.
    pub runner: Runner<W>,
}

/// Error of a run in which a part has panicked, which is a defect of the program. The run cannot be continued.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Panicked {
    /// Message of the panic.
    pub message: String,
}

impl fmt::Display for Panicked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Panicked {}

impl From<Box<dyn Any + Send>> for Panicked {
    /// Converts the payload that [`catch_unwind`] or joining a thread returns.
    fn from(payload: Box<dyn Any + Send>) -> Panicked {
        let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let message = text.or_else(|| payload.downcast_ref::<String>().cloned());
        Panicked { message: message.unwrap_or_else(|| "a panic without a message".into()) }
    }
}

/// Duration after which a call of [`Workers::run`] returns, so that runs can be measured and interrupted.
const PIECE: Duration = Duration::from_millis(20);

/// Mail from one part to another.
struct Mail<W: World> {
    events: Vec<W::Event>,
    cargo: Vec<W::Cargo>,
}

/// State shared by the parts.
pub struct Workers<W: World> {
    /// Meetings in use, indexed by [`Stride::kept`].
    meetings: [Meeting<W>; 4],
    parts: usize,
    /// Number of rounds in which each part had a thread of its own.
    rounds_together: u64,
    trial: Trial,
    /// Fixed way to run, which overrides the trial.
    fixed: Option<Way>,
}

/// Mail and announcements that the parts exchange at a meeting.
struct Meeting<W: World> {
    /// Mail by sender and receiver.
    mailboxes: Vec<Mutex<Mail<W>>>,
    /// The earliest window with an event, of each part.
    announced: Vec<AtomicU64>,
    /// True if a world has stopped itself.
    stopped: AtomicBool,
    /// True if the first part has used up the budget or the time of the piece.
    over: AtomicBool,
}

/// Length of a step in windows. Events of a step affect other parts `lag` + 1 steps later.
#[derive(Clone, Copy)]
struct Stride {
    windows: u64,
    lag: u64,
}

/// Condition at which a piece of a run ends.
#[derive(Clone, Copy)]
struct Until {
    limit: Time,
    /// Number of events of the first part.
    events: u64,
    begun: Instant,
}

impl<W: World<Event: Send> + Send> Workers<W> {
    /// Creates workers for these parts. `owner_of` maps each node to the part that runs it. `fixed` is the way to run
    /// the parts; `None` selects the faster way by trial.
    pub fn new(shards: &mut [Shard<W>], owner_of: Arc<[u8]>, fixed: Option<Way>) -> Workers<W> {
        let parts = shards.len();
        for (home, shard) in (0..).zip(shards) {
            let boxes = (0..parts).map(|_| Vec::new()).collect();
            shard.runner.windows.outbox = Some(Outbox { home, owner_of: owner_of.clone(), boxes });
        }
        let meeting = |_| Meeting {
            mailboxes: (0..parts * parts).map(|_| Mutex::new(Mail::default())).collect(),
            announced: (0..parts).map(|_| AtomicU64::new(0)).collect(),
            stopped: AtomicBool::new(false),
            over: AtomicBool::new(false),
        };
        Workers {
            meetings: std::array::from_fn(meeting),
            parts,
            rounds_together: 0,
            trial: Trial::new(Way::Alone),
            fixed,
        }
    }

    /// Delivers the mail between the parts. Called between two runs.
    pub fn deliver(&mut self, shards: &mut [Shard<W>]) {
        deliver(shards);
    }

    /// Lets the trial choose the way to run from now on.
    pub fn choose(&mut self) {
        if let Some(way) = self.fixed.take() {
            self.trial = Trial::new(way);
        }
    }

    /// Number of rounds so far in which each part had a thread of its own; in the others, one thread ran all parts.
    pub fn rounds_together(&self) -> u64 {
        self.rounds_together
    }

    /// Runs all parts, with the arguments of [`Runner::run`]; returns after about 20 ms even if the budget is not used
    /// up.
    ///
    /// # Errors
    /// If a part panics. The others stop at their next meeting.
    pub fn run(&mut self, shards: &mut [Shard<W>], limit: Time, budget: u64) -> Result<RunStatus, Panicked> {
        let spent = |shards: &[Shard<W>]| -> u64 { shards.iter().map(|shard| shard.runner.events()).sum() };
        let (events, rounds) = (spent(shards), shards[0].runner.rounds());
        let share = (budget / self.parts as u64).max(1);
        let until =
            Until { limit, events: shards[0].runner.events().saturating_add(share), begun: Instant::now() };
        let way = self.fixed.unwrap_or(self.trial.way());
        let status = match way {
            Way::Alone => catch_unwind(AssertUnwindSafe(|| run_alone(shards, until)))?,
            Way::Together => self.run_together(shards, until)?,
        };
        let piece = Spent {
            wall: until.begun.elapsed(),
            events: spent(shards) - events,
            rounds: shards[0].runner.rounds() - rounds,
        };
        self.rounds_together += if way == Way::Together { piece.rounds } else { 0 };
        if self.fixed.is_none() {
            self.trial.learn(piece, self.parts);
        }
        Ok(status)
    }

    /// Runs each part on a thread; the first runs on the caller's.
    fn run_together(&mut self, shards: &mut [Shard<W>], until: Until) -> Result<RunStatus, Panicked> {
        for meeting in &mut self.meetings {
            (*meeting.stopped.get_mut(), *meeting.over.get_mut()) = (false, false);
        }
        let barrier = Barrier::new(self.parts);
        let (workers, barrier) = (&*self, &barrier);
        let ends: Vec<_> = std::thread::scope(|scope| {
            let mut parts = (0..).zip(&mut *shards);
            let first = parts.next();
            let others: Vec<_> = parts
                .map(|(me, shard)| scope.spawn(move || workers.work(me, shard, barrier, until)))
                .collect();
            let first = first.map(|(me, shard)| {
                catch_unwind(AssertUnwindSafe(|| workers.work(me, shard, barrier, until)))
            });
            first.into_iter().chain(others.into_iter().map(|other| other.join())).collect()
        });
        let mut status = RunStatus::Stopped;
        for end in ends {
            // A part released by a broken barrier returns no status; another part panicked.
            if let Ok(of_all) = end? {
                status = of_all;
            }
        }
        // Returns the mail of the last meeting to the outboxes.
        for meeting in &mut self.meetings {
            for (place, mail) in meeting.mailboxes.iter_mut().enumerate() {
                if let Ok(mail) = mail.get_mut() {
                    mail.open(&mut shards[place % self.parts]);
                }
            }
        }
        Ok(status)
    }

    fn work(
        &self,
        me: usize,
        shard: &mut Shard<W>,
        barrier: &Barrier,
        until: Until,
    ) -> Result<RunStatus, Broken> {
        let _guard = BreakOnPanic(barrier);
        let mut patience = Patience::default();
        shard.runner.windows.settle();
        let stride = Stride::of(&shard.runner);
        // The earliest window in the mail posted last, which its receivers may not have read yet; and the end of the
        // last step.
        let (mut posted, mut end) = (NEVER, 0);
        for step in 0u64.. {
            let meeting = &self.meetings[stride.kept(step)];
            let mail = meeting.post(me, shard);
            let next = shard.runner.windows.first().min(mail).min(posted);
            meeting.announced[me].store(next, Ordering::Release);
            posted = mail;
            if me == 0 && step > stride.lag && until.is_over(shard) {
                meeting.over.store(true, Ordering::Release);
            }
            barrier.arrive(me, step);
            let Some(read) = step.checked_sub(stride.lag) else { continue };
            barrier.wait(read, &mut patience)?;
            let meeting = &self.meetings[stride.kept(read)];
            meeting.collect(me, shard);
            if meeting.stopped.load(Ordering::Acquire) {
                return Ok(RunStatus::Stopped);
            }
            if meeting.over.load(Ordering::Acquire) {
                return Ok(RunStatus::More);
            }
            // All parts compute the same windows and end together. Announced windows may have run meanwhile. Mail stays
            // for the next run.
            let first = meeting.announced.iter().map(|next| next.load(Ordering::Acquire)).min();
            let first = first.unwrap_or(NEVER).max(end);
            end = stride.end_after(first);
            shard.runner.count_rounds((step % (stride.lag + 1) == 0).into());
            if shard.runner.run_windows(&mut shard.world, first, end, until.limit) {
                break;
            }
        }
        Ok(RunStatus::Done)
    }
}

impl<W: World> Meeting<W> {
    fn parts(&self) -> usize {
        self.announced.len()
    }

    /// Posts mail, and returns the earliest window of its events. The mail is copied in bulk: copying event by event
    /// would wait for memory that another thread has read.
    fn post(&self, me: usize, shard: &mut Shard<W>) -> u64 {
        let windows = &mut shard.runner.windows;
        let mut earliest = Time::NEVER;
        let mut boxes =
            windows.outbox.as_mut().map(|outbox| std::mem::take(&mut outbox.boxes)).unwrap_or_default();
        for (other, mail) in boxes.iter_mut().enumerate().filter(|(_, mail)| !mail.is_empty()) {
            earliest = mail.iter().map(Event::time).fold(earliest, Time::min);
            if let Ok(mut mailbox) = self.mailboxes[me * self.parts() + other].lock() {
                shard.world.pack(mail, &mut mailbox.cargo);
                mailbox.events.extend_from_slice(mail);
                mail.clear();
            }
        }
        if let Some(outbox) = &mut windows.outbox {
            outbox.boxes = boxes;
        }
        if shard.world.stopped() {
            self.stopped.store(true, Ordering::Release);
        }
        if earliest == Time::NEVER { NEVER } else { windows.window_of(earliest) }
    }

    /// Collects the mail from the other parts.
    fn collect(&self, me: usize, shard: &mut Shard<W>) {
        for other in (0..self.parts()).filter(|&other| other != me) {
            if let Ok(mut mailbox) = self.mailboxes[other * self.parts() + me].lock() {
                mailbox.open(shard);
            }
        }
    }
}

impl Stride {
    /// Returns the stride of steps with a thread for each part.
    fn of<W: World>(runner: &Runner<W>) -> Stride {
        let round = runner.windows.round();
        if round > 1 { Stride { windows: round / 2, lag: 1 } } else { Stride { windows: 1, lag: 0 } }
    }

    /// Index of the slot of a meeting. A part arrives at a meeting only after all parts have arrived at the one `lag`
    /// before it. All have then read the slot of `lag` + 1 meetings before that one, which can be reused.
    fn kept(self, meeting: u64) -> usize {
        (meeting % (2 * (self.lag + 1))) as usize
    }

    /// Returns the end of the step that begins with this window, exclusive.
    fn end_after(self, first: u64) -> u64 {
        (first / self.windows).saturating_add(1).saturating_mul(self.windows)
    }
}

impl<W: World> Default for Mail<W> {
    fn default() -> Mail<W> {
        Mail { events: Vec::new(), cargo: Vec::new() }
    }
}

impl<W: World> Mail<W> {
    /// Delivers the mail. The buffers are kept for reuse.
    fn open(&mut self, to: &mut Shard<W>) {
        to.world.unpack(&mut self.events, &mut self.cargo);
        for event in self.events.drain(..) {
            to.runner.windows.push(event);
        }
    }
}

impl Until {
    fn is_over<W: World>(&self, first: &Shard<W>) -> bool {
        first.runner.events() >= self.events || self.begun.elapsed() > PIECE
    }
}

/// Runs all parts on one thread, round by round.
fn run_alone<W: World>(shards: &mut [Shard<W>], until: Until) -> RunStatus {
    for shard in shards.iter_mut() {
        shard.runner.windows.settle();
    }
    for round in 0u64.. {
        deliver(shards);
        if shards.iter().any(|shard| shard.world.stopped()) {
            return RunStatus::Stopped;
        }
        if round > 0 && until.is_over(&shards[0]) {
            return RunStatus::More;
        }
        let first = shards.iter_mut().map(|shard| shard.runner.windows.first()).min().unwrap_or(NEVER);
        let stride = Stride { windows: shards[0].runner.windows.round(), lag: 0 };
        let mut done = false;
        for shard in shards.iter_mut() {
            shard.runner.count_rounds(1);
            done = shard.runner.run_windows(&mut shard.world, first, stride.end_after(first), until.limit);
        }
        if done {
            break;
        }
    }
    RunStatus::Done
}

/// Delivers the mail between the parts.
fn deliver<W: World>(shards: &mut [Shard<W>]) {
    for from in 0..shards.len() {
        for to in 0..shards.len() {
            let Some(outbox) = &mut shards[from].runner.windows.outbox else { continue };
            if outbox.boxes[to].is_empty() {
                continue;
            }
            let mut mail: Mail<W> = Mail { events: std::mem::take(&mut outbox.boxes[to]), ..Mail::default() };
            shards[from].world.pack(&mut mail.events, &mut mail.cargo);
            mail.open(&mut shards[to]);
            // The buffer of the mail is reused.
            if let Some(outbox) = &mut shards[from].runner.windows.outbox {
                outbox.boxes[to] = mail.events;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Windows;

    /// A world with an event every 10 ps, at each of two nodes in turn.
    #[derive(Clone, Copy, Default)]
    struct Tick(u64);
    impl Event for Tick {
        fn time(&self) -> Time {
            Time::from_ps(self.0)
        }
        fn order(&self) -> u32 {
            0
        }
    }
    struct Ticking {
        ticks: u64,
        panics_at: u64,
    }
    impl World for Ticking {
        type Event = Tick;
        type Cargo = ();
        fn nodes(&self) -> usize {
            2
        }
        fn places(&self) -> usize {
            2
        }
        fn node_of(&self, tick: &Tick) -> u32 {
            (tick.0 / 10 % 2) as u32
        }
        fn handle(&mut self, tick: Tick, windows: &mut Windows<Tick>) {
            self.ticks += 1;
            assert!(tick.0 != self.panics_at, "a tick at {} ps", tick.0);
            let next = Tick(tick.0 + 10);
            windows.send(next, || (next.0 / 10 % 2) as u32);
        }
        fn stopped(&self) -> bool {
            false
        }
    }

    fn two(panics_at: u64) -> Vec<Shard<Ticking>> {
        let shard = |_| {
            let world = Ticking { ticks: 0, panics_at };
            let runner = Runner::new(&world, Time::from_ps(10), 2);
            Shard { world, runner }
        };
        let mut shards: Vec<_> = (0..2).map(shard).collect();
        shards[0].runner.windows().push(Tick(0));
        shards
    }

    #[test]
    fn a_panic_in_any_part_ends_the_run_with_its_message() {
        // Even ticks belong to the first part, odd ones to the second.
        for panics_at in [0, 10, 200, 310, 5_000, 5_010] {
            for way in [Way::Alone, Way::Together] {
                let (sender, receiver) = std::sync::mpsc::channel();
                std::thread::spawn(move || {
                    let mut shards = two(panics_at);
                    let mut workers = Workers::new(&mut shards, [0, 1].into(), Some(way));
                    let end = loop {
                        match workers.run(&mut shards, Time::from_us(1), u64::MAX) {
                            Ok(RunStatus::More) => {}
                            end => break end,
                        }
                    };
                    sender.send(end)
                });
                let end = receiver.recv_timeout(Duration::from_secs(60)).expect("no thread waits forever");
                assert_eq!(end, Err(Panicked { message: format!("a tick at {panics_at} ps") }), "{way:?}");
            }
        }
    }

    #[test]
    fn a_piece_ends_by_its_budget_and_by_the_clock() {
        for way in [Way::Alone, Way::Together] {
            // On a busy machine a piece may run out of time before it uses up its budget, but not always.
            let comes_to_its_budget = (0..50).any(|_| {
                let mut shards = two(u64::MAX);
                let mut workers = Workers::new(&mut shards, [0, 1].into(), Some(way));
                assert_eq!(workers.run(&mut shards, Time::NEVER, 20), Ok(RunStatus::More));
                let ticks: u64 = shards.iter().map(|shard| shard.world.ticks).sum();
                assert!(ticks <= 21, "{ticks}");
                assert_eq!(workers.run(&mut shards, Time::NEVER, u64::MAX), Ok(RunStatus::More));
                ticks >= 19
            });
            assert!(comes_to_its_budget);
        }
    }
}
