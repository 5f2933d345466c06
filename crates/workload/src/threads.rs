//! Arrivals from threads that send in a loop: a burst of frames, then a delay. This models Hagen's blaster and the
//! UDP_STREAM test of netperf.
//!
//! A thread needs time to send each frame, according to `rate`. A thread that finds the queue full waits, and
//! continues when there is room. A host with a `queue_limit` and `when_full = "block"` has blocking senders; with
//! "drop" frames that do not fit are lost. If all threads are blocked, the one that has waited longest is served
//! first.
//!
//! Source: Hagen 2012, section 5.1 (threads, delay between frames, 1000 B); netperf's UDP_STREAM is one thread without
//! delay. The burst is our addition: 16 threads with a delay of 1 ms sent 250 MB/s there (section 5.5), whereas one
//! frame per delay would be 16 MB/s.
//!
//! Not modelled: contention of threads for a processor. The processing time of a frame at a host is `send` of the
//! host.

use crate::arrivals::{Arrival, Configuration, Link, Random, no_rate, one, outside};
use crate::draw::below;
use crate::pace::{Pace, rescaled};
use crate::spec::FrameSizes;
use keys::Remark;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitRate, ClockOffset, Time};

/// Maximum number of threads of a source.
const MOST_THREADS: u64 = 1024;
/// Maximum number of frames per burst.
const MOST_FRAMES: u64 = 1_000_000;
/// Maximum delay.
const LONGEST_DELAY: Time = Time::from_ms(1_000_000);

/// Threads that send in a loop.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ThreadsParams {
    /// Rate of one thread while it is neither blocked nor in a delay. A rate with unit, above 0. Required.
    pub rate: BitRate,
    /// Number of threads. A count, 1 to 1024. Default: 1.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 1024))]
    pub count: u64,
    /// Number of frames that a thread sends between two delays. A count, 1 to 1000000. Default: 1.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub burst: u64,
    /// Delay of a thread after a burst. A time with unit, at most 1000 s. Default: "0 s".
    #[serde(default)]
    pub delay: Time,
    /// If true, each thread starts at a random time within its first cycle; if false, all start at once. Default: true.
    #[serde(default = "yes")]
    pub random_phase: bool,
}

fn yes() -> bool {
    true
}

impl Configuration for ThreadsParams {
    type Machine = Box<Threads>;

    const NEEDS_HOST: Option<&'static str> =
        Some("threads run on a host, which holds them back; expected a source with a rate of its own");

    fn check(&self) -> Vec<Remark> {
        let delay = (self.delay > LONGEST_DELAY).then(|| {
            let message = format!("a delay of {} is too long", self.delay);
            Remark::about("delay", message, format!("expected at most \"{LONGEST_DELAY}\""))
        });
        let counts = [outside("count", self.count, MOST_THREADS), outside("burst", self.burst, MOST_FRAMES)];
        no_rate("rate", self.rate).into_iter().chain(counts.into_iter().flatten()).chain(delay).collect()
    }
    fn unused(&self) -> Vec<Remark> {
        let idle = self.burst > 1 && self.delay == Time::ZERO;
        idle.then(|| keys::unused("burst", "a `delay` between bursts")).into_iter().collect()
    }
    fn rate(&self) -> (&'static str, BitRate) {
        ("rate", self.rate)
    }
    fn at_rate(self, rate: BitRate) -> ThreadsParams {
        ThreadsParams { rate, ..self }
    }
    fn mean_bps(&self, rate: BitRate, sizes: &FrameSizes, link: Link) -> f64 {
        if rate.bps() == 0 {
            return 0.0;
        }
        let counted = sizes.mean_of(|bytes| link.counted(bytes) as f64);
        let round_secs = self.burst as f64 * counted * 8.0 / rate.bps_f64() + self.delay.as_secs_f64();
        (self.count * self.burst) as f64 * sizes.mean_bytes() * 8.0 / round_secs
    }
    fn start(&self, link: Link, _sizes: &FrameSizes) -> Box<Threads> {
        Box::new(Threads::new(self, link.clock))
    }
}

/// The state of the threads.
#[derive(Clone, Debug)]
pub struct Threads {
    params: ThreadsParams,
    /// Rate of each thread; `None` at a rate of zero.
    rate: Option<BitRate>,
    threads: Box<[Thread]>,
}

#[derive(Clone, Copy, Debug)]
struct Thread {
    pace: Option<Pace>,
    /// Due time of the thread's next frame.
    due: Time,
    /// Time until which the last frame keeps the thread busy. If that frame was the last of a burst, a pause follows.
    busy_until: Time,
    /// Frames left to send in the burst.
    left: u64,
}

impl Threads {
    fn new(params: &ThreadsParams, clock: ClockOffset) -> Threads {
        let pace = Pace::at_station(params.rate, clock);
        let thread = Thread { pace, due: Time::NEVER, busy_until: Time::ZERO, left: params.burst };
        let threads = vec![thread; params.count as usize].into();
        Threads { params: *params, rate: Some(params.rate).filter(|_| pace.is_some()), threads }
    }

    fn next_due(&self) -> Time {
        self.threads.iter().map(|thread| thread.due).min().unwrap_or(Time::NEVER)
    }
}

impl Thread {
    /// Accounts for a sent frame; `bytes` are the bytes that the rate counts.
    fn sent(&mut self, now: Time, late: bool, bytes: u64, params: &ThreadsParams) {
        let Some(pace) = &mut self.pace else { return };
        if late {
            pace.restart();
        }
        self.busy_until = now.saturating_add(pace.span(bytes));
        self.left -= 1;
        let pause = if self.left > 0 { Time::ZERO } else { params.delay };
        if self.left == 0 {
            self.left = params.burst;
        }
        self.due = self.busy_until.saturating_add(pause);
    }
}

impl Arrival for Box<Threads> {
    fn start(&mut self, link: Link, now: Time, next: u16, rng: &mut Random) -> Time {
        let params = self.params;
        for thread in &mut self.threads {
            (thread.due, thread.busy_until, thread.left) = (Time::NEVER, now, params.burst);
            let Some(pace) = &mut thread.pace else { continue };
            pace.restart();
            let round = pace.span_wide(u128::from(link.counted(next)) * u128::from(params.burst));
            pace.restart();
            let round = round.saturating_add(params.delay).ps();
            let phase = if params.random_phase { below(rng, round) } else { 0 };
            thread.due = now.saturating_add(Time::from_ps(phase));
        }
        self.next_due()
    }
    fn after(&mut self, link: Link, now: Time, late: bool, [sent, _]: [u16; 2], _rng: &mut Random) -> Time {
        let params = self.params;
        if let Some(thread) = self.threads.iter_mut().min_by_key(|thread| thread.due) {
            thread.sent(now, late, link.counted(sent), &params);
        }
        self.next_due()
    }
    fn rate(&self) -> Option<BitRate> {
        self.rate
    }
    fn set_rate(&mut self, link: Link, new: BitRate) {
        let pace = Pace::at_station(new, link.clock);
        self.rate = pace.map(|_| new);
        for thread in &mut self.threads {
            thread.pace = pace;
        }
    }
    /// Scales the remaining time of a frame to the new rate; a pause keeps its length.
    fn rescale(
        &mut self,
        _link: Link,
        now: Time,
        _due: Time,
        (old, new): (BitRate, BitRate),
        _next: u16,
        _rng: &mut Random,
    ) -> Time {
        for thread in self.threads.iter_mut().filter(|thread| thread.busy_until > now) {
            let pause = thread.due - thread.busy_until;
            thread.busy_until = now.saturating_add(rescaled(thread.busy_until - now, old, new));
            thread.due = thread.busy_until.saturating_add(pause);
        }
        self.next_due()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testbed::{LINE, constant, run, run_spec, source, spec};
    use crate::{Arrivals, Change, SourceSpec, Wake};

    fn threads(params: ThreadsParams) -> SourceSpec {
        spec(Arrivals::Threads(params), FrameSizes::Fixed(1000))
    }
    /// Returns parameters with which a thread takes 8 us for a frame of 1000 B.
    fn params(count: u64, burst: u64, delay: Time) -> ThreadsParams {
        ThreadsParams { rate: BitRate::from_gbps(1), count, burst, delay, random_phase: false }
    }
    fn times(frames: &[(Time, u16)]) -> Vec<u64> {
        frames.iter().map(|&(at, _)| at.ps() / 1_000_000).collect()
    }

    #[test]
    fn one_thread_without_delay_has_a_constant_rate() {
        assert_eq!(
            run_spec(&threads(params(1, 1, Time::ZERO)), Time::from_ms(1)),
            run_spec(&constant(BitRate::from_gbps(1), 1000), Time::from_ms(1))
        );
    }

    #[test]
    fn a_thread_pauses_after_a_burst() {
        let frames = run_spec(&threads(params(1, 3, Time::from_us(10))), Time::from_us(80));
        // Three frames of 8 us and a pause of 10 us make a round of 34 us.
        assert_eq!(times(&frames), [0, 8, 16, 34, 42, 50, 68, 76]);
        let frames = run_spec(&threads(params(2, 2, Time::from_us(10))), Time::from_us(30));
        assert_eq!(times(&frames), [0, 0, 8, 8, 26, 26]);
    }

    #[test]
    fn the_long_run_rate_is_that_of_the_formula() {
        let mean = |params: ThreadsParams| {
            threads(params).offered_bps(LINE, 20, Time::ZERO, Time::from_ms(100)).unwrap()
        };
        // Hagen's low load: 16 threads, bursts of 16 frames (0.128 ms of work), delays of 1 ms.
        let low = ThreadsParams { random_phase: true, ..params(16, 16, Time::from_ms(1)) };
        let formula = 16.0 * 16.0 * 8_000.0 / 1.128e-3;
        assert!((mean(low) / formula - 1.0).abs() < 1e-12);
        let frames = run_spec(&threads(low), Time::from_ms(1128)).len() as f64;
        assert!((frames * 8_000.0 / 1.128 / formula - 1.0).abs() < 2e-3);
    }

    #[test]
    fn threads_that_are_held_back_go_on_from_there() {
        let mut source = source(&threads(params(2, 1, Time::from_us(4))), 1);
        let us = Time::from_us;
        // Both threads are due at 0; one sends at 5 us, the other at 6 us.
        assert!(matches!(source.wake(us(5)), Wake::Emit(_)));
        assert_eq!(source.next_wake(), Some(us(0)));
        assert!(matches!(source.wake(us(6)), Wake::Emit(_)));
        assert_eq!(source.next_wake(), Some(us(17)));
        assert!(matches!(source.wake(us(17)), Wake::Emit(_)));
        assert_eq!(source.next_wake(), Some(us(18)));
    }

    #[test]
    fn a_new_rate_changes_the_work_and_not_the_pause() {
        let mut spec = threads(params(1, 1, Time::from_us(10)));
        spec.script = vec![(Time::from_us(4), Change::Start(Some(BitRate::from_gbps(2))))];
        // The 4 us of work that were left take 2 us at the new rate; each later frame takes 4 us.
        assert_eq!(times(&run(&mut source(&spec, 1), Time::from_us(50))), [0, 16, 30, 44]);
        spec.script = vec![(Time::from_us(9), Change::Start(Some(BitRate::from_gbps(2))))];
        assert_eq!(times(&run(&mut source(&spec, 1), Time::from_us(50))), [0, 18, 32, 46]);
    }
}
