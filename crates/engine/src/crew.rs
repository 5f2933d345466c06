//! One run on several threads.
//!
//! Each thread has a world of its own in which only its nodes live; events for the nodes of others go into
//! letter boxes. All threads run the same round at the same time: as many windows as one look-ahead spans. Then,
//! at one barrier, letters change hands and the first window of the next round is agreed on: the earliest that
//! anyone has an event in, letters on their way included. Letters and announcements are kept twice, for even and
//! odd rounds, so that a thread that is already in the next round does not disturb one that still reads.
//!
//! A node sorts its events itself, so neither the order of letters nor the number of threads can be seen in
//! what it does.

use crate::windows::{NEVER, Outbox};
use crate::{Event, Pace, Runner, World};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use units::Time;

/// A thread's part of the world.
pub struct Shard<W: World> {
    /// All nodes; only those that this thread owns are run.
    pub world: W,
    /// Their events.
    pub runner: Runner<W>,
}

/// What the threads share.
pub struct Crew<E> {
    /// Letters: round parity, sender, receiver.
    letters: [Vec<Mutex<Vec<E>>>; 2],
    /// The next window of each thread: round parity, thread.
    announced: [Vec<AtomicU64>; 2],
    stopped: [AtomicBool; 2],
    threads: usize,
    /// Parity of the next round.
    parity: usize,
}

impl<E: Event + Send> Crew<E> {
    /// A crew for these parts; `owner_of` tells the part that runs each node.
    pub fn new<W: World<Event = E>>(shards: &mut [Shard<W>], owner_of: Arc<[u8]>) -> Crew<E> {
        let threads = shards.len();
        for (home, shard) in (0..).zip(shards) {
            let boxes = (0..threads).map(|_| Vec::new()).collect();
            shard.runner.windows.outbox = Some(Outbox { home, owner_of: owner_of.clone(), boxes });
        }
        let letters = || (0..threads * threads).map(|_| Mutex::new(Vec::new())).collect();
        let announced = || (0..threads).map(|_| AtomicU64::new(0)).collect();
        Crew {
            letters: [letters(), letters()],
            announced: [announced(), announced()],
            stopped: [AtomicBool::new(false), AtomicBool::new(false)],
            threads,
            parity: 0,
        }
    }

    /// As [`Runner::run`], on all threads; `budget` counts rounds.
    pub fn run<W: World<Event = E> + Send>(
        &mut self,
        shards: &mut [Shard<W>],
        limit: Time,
        budget: u64,
    ) -> Pace {
        let barrier = Barrier::new(self.threads);
        let crew = &*self;
        let ends: Vec<(Pace, usize)> = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..)
                .zip(shards.iter_mut())
                .map(|(me, shard)| {
                    scope.spawn({
                        let barrier = &barrier;
                        move || crew.work(me, shard, barrier, limit, budget)
                    })
                })
                .collect();
            workers.into_iter().map(|worker| worker.join().unwrap_or((Pace::Stopped, 0))).collect()
        });
        let (pace, parity) = ends[0];
        self.parity = parity;
        pace
    }

    fn work<W: World<Event = E>>(
        &self,
        me: usize,
        shard: &mut Shard<W>,
        barrier: &Barrier,
        limit: Time,
        budget: u64,
    ) -> (Pace, usize) {
        let mut parity = self.parity;
        shard.runner.windows.settle();
        for round in 0.. {
            self.post(me, shard, parity);
            barrier.wait();
            self.collect(me, shard, parity);
            let first = self.announced[parity].iter().map(|next| next.load(Ordering::Acquire)).min();
            let stopped = self.stopped[parity].load(Ordering::Acquire);
            parity ^= 1;
            if stopped {
                return (Pace::Stopped, parity);
            }
            if round == budget {
                return (Pace::More, parity);
            }
            // The same round for all: each comes to the same end. Letters stay for the next run.
            if shard.runner.run_round(&mut shard.world, first.unwrap_or(NEVER), limit) {
                return (Pace::Done, parity);
            }
        }
        (Pace::More, parity)
    }

    /// Hands letters over and announces the next window that holds anything.
    fn post<W: World<Event = E>>(&self, me: usize, shard: &mut Shard<W>, parity: usize) {
        let windows = &mut shard.runner.windows;
        let mut next = windows.first();
        let mut boxes =
            windows.outbox.as_mut().map(|outbox| std::mem::take(&mut outbox.boxes)).unwrap_or_default();
        for (other, letters) in boxes.iter_mut().enumerate().filter(|(_, letters)| !letters.is_empty()) {
            let earliest = letters.iter().map(Event::time).min();
            next = next.min(earliest.map_or(NEVER, |time| windows.window_of(time)));
            if let Ok(mut slot) = self.letters[parity][me * self.threads + other].lock() {
                std::mem::swap(&mut *slot, letters);
            }
        }
        if let Some(outbox) = &mut windows.outbox {
            outbox.boxes = boxes;
        }
        self.announced[parity][me].store(next, Ordering::Release);
        if shard.world.stopped() {
            self.stopped[parity].store(true, Ordering::Release);
        }
    }

    /// Takes the letters of the others. The emptied vectors go back to their senders at the next swap.
    fn collect<W: World<Event = E>>(&self, me: usize, shard: &mut Shard<W>, parity: usize) {
        for other in 0..self.threads {
            if let Ok(mut letters) = self.letters[parity][other * self.threads + me].lock() {
                for letter in letters.drain(..) {
                    shard.runner.windows.push(letter);
                }
            }
        }
    }
}
