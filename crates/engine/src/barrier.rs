//! A barrier for threads that meet often: a waiting thread spins for a bounded time and then parks. A panic in one
//! thread releases all others.
//!
//! Arriving and waiting are two calls (a *fuzzy* or split-phase barrier): a thread may do other work in between, and
//! wait for a meeting that it arrived at some meetings ago. Threads with equal mean times per step, but variation
//! between steps, then seldom wait.
//!
//! Spinning takes a microsecond where parking takes tens, but only while every thread has a core of its own. A thread
//! therefore counts how often its spinning failed, and parks at once while most spins fail.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Maximum time that a thread spins. It is about the time that parking and waking take together, so that a wrong guess
/// costs at most twice the optimum.
const SPIN_FOR: Duration = Duration::from_micros(50);
/// Iterations between two reads of the clock.
const TURNS: u32 = 64;

/// A barrier at which a fixed number of threads meet again and again.
pub(crate) struct Barrier {
    /// Number of meetings that each thread has arrived at.
    arrived: Vec<Arrivals>,
    /// Threads that are parked or about to be.
    parked: AtomicUsize,
    broken: AtomicBool,
    /// Guards only the step from the last check to parking.
    lock: Mutex<()>,
    wake: Condvar,
}

/// Number of arrivals of one thread. Aligned to two cache lines, since processors prefetch lines in pairs.
#[derive(Default)]
#[repr(align(128))]
struct Arrivals(AtomicU64);

/// Error of a wait: another thread has panicked and will not arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Broken;

impl Barrier {
    pub(crate) fn new(threads: usize) -> Barrier {
        Barrier {
            arrived: (0..threads).map(|_| Arrivals::default()).collect(),
            parked: AtomicUsize::new(0),
            broken: AtomicBool::new(false),
            lock: Mutex::new(()),
            wake: Condvar::new(),
        }
    }

    /// Records the arrival of a thread at a meeting. Meetings are numbered from 0, and each thread arrives at all of
    /// them in order.
    pub(crate) fn arrive(&self, thread: usize, meeting: u64) {
        self.arrived[thread].0.store(meeting + 1, Ordering::SeqCst);
        self.wake_all();
    }

    /// Waits until all threads have arrived at a meeting, or until one of them has panicked.
    pub(crate) fn wait(&self, meeting: u64, patience: &mut Patience) -> Result<(), Broken> {
        if !self.is_over(meeting) && (!patience.may_spin() || !patience.learn(self.spin(meeting))) {
            self.park(meeting);
        }
        if self.broken.load(Ordering::SeqCst) { Err(Broken) } else { Ok(()) }
    }

    /// Releases all threads that wait now or later, because one of them will not arrive again.
    pub(crate) fn break_up(&self) {
        self.broken.store(true, Ordering::SeqCst);
        self.wake_all();
    }

    fn is_over(&self, meeting: u64) -> bool {
        let all_came = self.arrived.iter().all(|thread| thread.0.load(Ordering::SeqCst) > meeting);
        all_came || self.broken.load(Ordering::SeqCst)
    }

    /// Returns true if the meeting ended within the bounded time.
    fn spin(&self, meeting: u64) -> bool {
        let begun = Instant::now();
        loop {
            for _ in 0..TURNS {
                if self.is_over(meeting) {
                    return true;
                }
                std::hint::spin_loop();
            }
            if begun.elapsed() > SPIN_FOR {
                return false;
            }
        }
    }

    fn park(&self, meeting: u64) {
        // The last thread to arrive first stores its arrival and then checks for parked threads. This thread first
        // counts itself as parked and then checks the arrivals. At least one of the two sees the store of the other.
        self.parked.fetch_add(1, Ordering::SeqCst);
        let mut guard = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        while !self.is_over(meeting) {
            guard = self.wake.wait(guard).unwrap_or_else(PoisonError::into_inner);
        }
        drop(guard);
        self.parked.fetch_sub(1, Ordering::SeqCst);
    }

    fn wake_all(&self) {
        if self.parked.load(Ordering::SeqCst) > 0 {
            // Taking the lock once ensures that a thread whose check has failed is parked.
            drop(self.lock.lock());
            self.wake.notify_all();
        }
    }
}

/// Statistics of a thread's spinning.
#[derive(Debug, Default)]
pub(crate) struct Patience {
    /// Incremented by two for each failed spin, decremented for each success.
    failures: u32,
    /// Meetings since the last spin.
    skipped: u32,
}

impl Patience {
    /// Upper bound of the failure count.
    const MOST: u32 = 8;
    /// Failure count from which a thread usually parks without spinning.
    const TOO_MANY: u32 = 6;
    /// Number of meetings after which such a thread spins once more, to measure again.
    const TRY_AGAIN: u32 = 32;

    fn may_spin(&mut self) -> bool {
        if self.failures < Patience::TOO_MANY {
            return true;
        }
        self.skipped = (self.skipped + 1) % Patience::TRY_AGAIN;
        self.skipped == 0
    }

    /// Records the result of a spin, and returns it.
    fn learn(&mut self, success: bool) -> bool {
        self.failures = match success {
            true => self.failures.saturating_sub(1),
            false => (self.failures + 2).min(Patience::MOST),
        };
        success
    }
}

/// Breaks a barrier when the thread that holds this value panics.
pub(crate) struct BreakOnPanic<'a>(pub(crate) &'a Barrier);

impl Drop for BreakOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.break_up();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_see_what_was_done_before_a_meeting() {
        for threads in [1usize, 2, 5] {
            let (barrier, sum) = (Barrier::new(threads), AtomicUsize::new(0));
            std::thread::scope(|scope| {
                for thread in 0..threads {
                    let (barrier, sum) = (&barrier, &sum);
                    scope.spawn(move || {
                        let mut patience = Patience::default();
                        let mut meet = |meeting| {
                            barrier.arrive(thread, meeting);
                            assert_eq!(barrier.wait(meeting, &mut patience), Ok(()));
                        };
                        for round in 1..=300 {
                            sum.fetch_add(1, Ordering::Relaxed);
                            meet(2 * round - 2);
                            assert_eq!(sum.load(Ordering::Relaxed), round as usize * threads);
                            meet(2 * round - 1);
                        }
                    });
                }
            });
        }
    }

    #[test]
    fn nobody_is_further_ahead_than_the_meeting_that_it_waits_for() {
        let (barrier, steps) = (Barrier::new(3), [0, 1, 2].map(|_| AtomicU64::new(0)));
        std::thread::scope(|scope| {
            for thread in 0..3 {
                let (barrier, steps) = (&barrier, &steps);
                scope.spawn(move || {
                    let mut patience = Patience::default();
                    for step in 0..300 {
                        steps[thread].store(step, Ordering::Relaxed);
                        barrier.arrive(thread, step);
                        // Waits for the previous meeting: the other threads may be a step behind, or already waiting
                        // for this thread at the next one.
                        assert_eq!(barrier.wait(step.saturating_sub(1), &mut patience), Ok(()));
                        for other in steps.iter().map(|other| other.load(Ordering::Relaxed)) {
                            assert!(other + 1 >= step && other <= step + 2, "{step} and {other}");
                        }
                    }
                });
            }
        });
    }

    #[test]
    fn whoever_waits_is_let_go_when_a_thread_panics() {
        for parked in [false, true] {
            let barrier = Barrier::new(2);
            let met = std::thread::scope(|scope| {
                let waits = scope.spawn(|| {
                    let failures = if parked { Patience::MOST } else { 0 };
                    barrier.arrive(0, 0);
                    barrier.wait(0, &mut Patience { failures, skipped: 0 })
                });
                let panics = scope.spawn(|| {
                    let _guard = BreakOnPanic(&barrier);
                    while barrier.parked.load(Ordering::SeqCst) == 0 {
                        std::thread::yield_now();
                    }
                    std::panic::resume_unwind(Box::new("as the test wants"));
                });
                assert!(panics.join().is_err());
                waits.join().expect("the waiting thread does not panic")
            });
            assert_eq!(met, Err(Broken));
        }
    }

    #[test]
    fn spinning_stops_where_it_fails_and_comes_back_where_it_works() {
        let mut patience = Patience::default();
        for _ in 0..3 {
            assert!(patience.may_spin());
            patience.learn(false);
        }
        let spins = (0..320).filter(|_| patience.may_spin()).count();
        assert_eq!(spins, 10, "one meeting in 32");
        for _ in 0..3 {
            patience.learn(true);
        }
        assert!(patience.may_spin() && patience.may_spin());
    }
}
