//! A running source: one pending time, one frame at a time.
//!
//! The fabric keeps one timer a source, at [`Source::next_wake`], and calls [`Source::wake`] when it is due.
//! Frames and changes of the script share that timer. A source is held back by not waking it: woken late,
//! it sends the frame that was due at once, and the next interval counts from there. Changes that came
//! about in the meantime take effect first: a source that was stopped while held back sends nothing.
//!
//! With jitter a frame is sent later than it is due. The arrival process does not know: it goes on from the time at
//! which the frame was due, so that jitter neither adds up nor changes a rate.

use crate::arrivals::{Link, Process};
use crate::draw::below;
use crate::spec::{Change, SourceSpec};
use crate::transfers::Sender;
use crate::{destinations, sizes};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::sync::Arc;
use units::{BitRate, ClockOffset, Time};

/// A frame, made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Made {
    /// Length, DA to FCS.
    pub bytes: u16,
    /// Index into [`crate::Destinations::nodes`].
    pub destination: u32,
    /// Of which transfer it is, by number among those to the same destination; 0 for other sources.
    pub word: u32,
}

/// What a source does when it is woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// Nothing now.
    Nothing,
    /// Sends this frame.
    Emit(Made),
    /// A greedy source: sends as much as there is room for, see [`Source::take`].
    Fill,
}

/// A source of traffic.
#[derive(Clone, Debug)]
pub struct Source {
    /// When the arrival process is due; [`Time::NEVER`] while it is silent.
    due: Time,
    /// When to wake it: then, or later by the jitter of the frame that is due.
    wake_at: Time,
    jitter: Option<Box<Jitter>>,
    /// When the next change is due; [`Time::NEVER`] after the last.
    next_change: Time,
    active: bool,
    /// Length of the frame that comes next.
    next_bytes: u16,
    /// Where it goes, if that was asked for before it is made.
    next_destination: Option<u32>,
    /// Bytes that may still be sent. The last frame is no longer than what is left of them.
    remaining: u64,
    /// How much longer the last frame is than that, because a frame has a minimum.
    padding: u16,
    rng: Xoshiro256PlusPlus,
    process: Process,
    sizes: sizes::Sampler,
    destinations: destinations::Sampler,
    /// Changes to come, the next one last.
    changes: Vec<(Time, Change)>,
}

/// Random times between the time at which a frame is due and that at which it is sent.
#[derive(Clone, Debug)]
struct Jitter {
    most: Time,
    rng: Xoshiro256PlusPlus,
}

impl Source {
    /// A source at a link with `line` rate and `overhead` bytes around each frame, at a station whose clock is
    /// off by `clock`, with random draws from `rng`, which should be this source's alone.
    pub fn new(
        spec: &SourceSpec,
        line: BitRate,
        overhead: u16,
        clock: ClockOffset,
        mut rng: Xoshiro256PlusPlus,
    ) -> Source {
        let link = Link { line, overhead, basis: spec.rate_basis, clock };
        let sizes = sizes::Sampler::new(&spec.sizes);
        let mut process = Process::new(&spec.arrivals, link, spec.sizes.mean_bytes());
        let (rate, mut changes) = spec.changes();
        if let Some(rate) = rate {
            process.set_rate(rate);
        }
        changes.reverse();
        let next_change = match spec.transfers() {
            // Changes of a source of transfers are their starts.
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
            next_bytes: sizes.draw(&mut rng),
            next_destination: None,
            remaining: spec.limit.map_or(u64::MAX, |limit| limit.get()),
            padding: 0,
            rng,
            process,
            sizes,
            destinations: destinations::Sampler::new(&spec.destinations),
            changes,
        };
        source.meet_limit();
        source
    }

    /// The source with jitter up to `most`, drawn from a stream of its own: frames are due when they were before.
    pub fn with_jitter(mut self, most: Time, rng: Xoshiro256PlusPlus) -> Source {
        self.jitter = (most > Time::ZERO).then(|| Box::new(Jitter { most, rng }));
        self
    }

    /// When to wake the source next, not before the last time it was woken; `None` if it has finished.
    #[inline]
    pub fn next_wake(&self) -> Option<Time> {
        let at = self.wake_at.min(self.next_change);
        (at != Time::NEVER).then_some(at)
    }

    /// Lets the source act at [`Source::next_wake`] or later. Harmless at any other time.
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
        // Jitter is no delay that the process should know of; being held back is.
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

    /// The process is due at `due` next; `now` is the last time that a frame was sent, or could have been.
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

    /// The next frame of a greedy source; `None` while it is silent, and for all other sources.
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

    /// Where the next frame goes: an index into [`crate::Destinations::nodes`].
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

    /// Whether it takes all that the link gives.
    pub fn is_greedy(&self) -> bool {
        self.process.is_greedy()
    }

    /// Whether it sends transfers: no frame of those may be lost for want of room in the NIC.
    pub fn has_transfers(&self) -> bool {
        self.process.sender().is_some()
    }

    /// Whether it is between a start and a stop, with room below its limit; whether transfers have begun and have frames
    /// left.
    pub fn is_active(&self) -> bool {
        self.process.sender().map_or(self.active, |sender| sender.is_active())
    }

    /// Bytes of padding in the frames it has made: those beyond its limit or the end of transfers, because the last
    /// frame would be shorter than a frame may be.
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
        self.next_bytes = self.sizes.draw(&mut self.rng);
        if u64::from(self.next_bytes) > self.remaining {
            self.meet_limit();
        }
        made
    }

    /// The next frame is cut to what may still be sent, and padded to the smallest frame; after it, it is over.
    #[cold]
    fn meet_limit(&mut self) {
        if self.remaining == 0 {
            self.active = false;
            (self.due, self.wake_at) = (Time::NEVER, Time::NEVER);
            self.next_change = Time::NEVER;
            self.changes.clear();
        } else if u64::from(self.next_bytes) > self.remaining {
            // Below a frame that fits 16 bits.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{Arrivals, Destinations, FrameSizes, Period, RateBasis};
    use frame::NodeId;
    use proptest::prelude::*;
    use rand::SeedableRng;
    use units::Bytes;

    const LINE: BitRate = BitRate::from_gbps(10);
    const OVERHEAD: u16 = 20;

    fn spec(arrivals: Arrivals, sizes: FrameSizes) -> SourceSpec {
        SourceSpec {
            arrivals,
            rate_basis: RateBasis::Frame,
            sizes,
            destinations: Destinations::Fixed(NodeId(0)),
            start: Time::ZERO,
            stop: None,
            script: vec![],
            limit: None,
            jitter: Time::ZERO,
        }
    }
    fn constant(rate: BitRate, bytes: u16) -> SourceSpec {
        spec(Arrivals::Constant { rate, random_phase: false }, FrameSizes::Fixed(bytes))
    }
    fn source(spec: &SourceSpec, seed: u64) -> Source {
        Source::new(spec, LINE, OVERHEAD, ClockOffset::NOMINAL, Xoshiro256PlusPlus::seed_from_u64(seed))
            .with_jitter(spec.jitter, Xoshiro256PlusPlus::seed_from_u64(!seed))
    }
    /// All frames before `until`.
    fn run(source: &mut Source, until: Time) -> Vec<(Time, u16)> {
        let (mut frames, mut last) = (Vec::new(), Time::ZERO);
        while let Some(now) = source.next_wake().filter(|&now| now < until) {
            assert!(now >= last, "time runs backward");
            last = now;
            if let Wake::Emit(made) = source.wake(now) {
                frames.push((now, made.bytes));
            }
        }
        frames
    }
    fn run_spec(spec: &SourceSpec, until: Time) -> Vec<(Time, u16)> {
        run(&mut source(spec, 1), until)
    }

    #[test]
    fn constant_rates_carry_remainders() {
        // 1520 B at 1.1875 Gb/s last 10.24 us exactly; 1521 B an odd fraction of a picosecond more.
        for (bps, bytes) in [(1_187_500_000u64, 1521u16), (3_333_333_333, 64), (2_500_000_000, 1522), (7, 1)]
        {
            let interval = |n: u64| u128::from(n) * u128::from(bytes) * 8_000_000_000_000 / u128::from(bps);
            let mut source = source(&constant(BitRate::from_bps(bps), bytes), 1);
            for n in 0..10_000 {
                let now = source.next_wake().unwrap();
                assert_eq!(u128::from(now.ps()), interval(n));
                assert_eq!(source.wake(now), Wake::Emit(Made { bytes, destination: 0, word: 0 }));
            }
        }
    }

    #[test]
    fn the_interval_is_that_of_the_frame_sent() {
        let sizes = FrameSizes::Uniform { min: 64, max: 1522 };
        let mut spec = spec(Arrivals::Constant { rate: BitRate::from_gbps(1), random_phase: false }, sizes);
        for overhead in [0, 20] {
            spec.rate_basis = if overhead == 0 { RateBasis::Frame } else { RateBasis::Wire };
            for pair in run_spec(&spec, Time::from_us(100)).windows(2) {
                assert_eq!((pair[1].0 - pair[0].0).ps(), (u64::from(pair[0].1) + overhead) * 8_000);
            }
        }
    }

    #[test]
    fn the_script_of_hagen_chapter_7() {
        let at = |ms| Time::from_ms(ms);
        let spec = SourceSpec {
            rate_basis: RateBasis::Wire,
            start: at(1),
            stop: Some(at(5)),
            script: vec![(at(3), Change::Stop), (at(4), Change::Start(Some(BitRate::from_gbps(10))))],
            ..constant(BitRate::from_bps(2_500_000_000), 1522)
        };
        let frames = run_spec(&spec, at(10));
        let between =
            |from, to| frames.iter().map(|f| f.0).filter(|&t| t >= from && t < to).collect::<Vec<_>>();
        // 4.9344 us a frame at a quarter of the rate: 405.3 intervals in 2 ms.
        let slow = between(at(1), at(3));
        assert_eq!((slow.len(), slow[0], slow[405]), (406, at(1), at(1) + Time::from_ps(405 * 4_934_400)));
        let fast = between(at(4), at(5));
        assert_eq!((fast.len(), fast[0], fast[1]), (811, at(4), at(4) + Time::from_ps(1_233_600)));
        assert_eq!(frames.len(), slow.len() + fast.len());
        // The mean over [1, 5) ms: 2 ms at a quarter, 1 ms at full rate, in bits without overhead.
        let offered = spec.offered_bps(LINE, OVERHEAD, at(1), at(5)).unwrap();
        assert!((offered - 3.75e9 * 1522.0 / 1542.0).abs() < 1.0, "{offered}");
        assert_eq!(spec.offered_bps(LINE, OVERHEAD, at(3), at(4)), Some(0.0));
        assert_eq!(spec.offered_bps(LINE, OVERHEAD, at(3), at(3)), Some(0.0));
    }

    #[test]
    fn a_new_rate_holds_from_its_time_on() {
        // 1000 B at 1 Gb/s: 8 us. At 12 us half of the second interval has passed; the other half takes
        // 1 us at four times the rate.
        let mut spec = constant(BitRate::from_gbps(1), 1000);
        let rate = |gbps| Change::Start(Some(BitRate::from_gbps(gbps)));
        spec.script =
            vec![(Time::from_us(12), rate(4)), (Time::from_us(13), rate(0)), (Time::from_us(20), rate(8))];
        let times: Vec<u64> = run_spec(&spec, Time::from_us(23)).iter().map(|f| f.0.ps() / 1000).collect();
        // At 13 us the frame due at that time meets the rate of zero; a rate above zero starts anew.
        assert_eq!(times, [0, 8_000, 20_000, 21_000, 22_000]);
        spec.script.remove(1);
        spec.script.insert(1, (Time::from_us(14), Change::Start(None)));
        let times: Vec<u64> = run_spec(&spec, Time::from_us(18)).iter().map(|f| f.0.ps() / 1000).collect();
        assert_eq!(times, [0, 8_000, 13_000, 15_000, 17_000]);
        // A rate set before the start is the rate at the start.
        spec.script = vec![(Time::from_us(1), rate(8)), (Time::from_us(2), Change::Stop)];
        spec.start = Time::from_us(5);
        let times: Vec<u64> = run_spec(&spec, Time::from_us(8)).iter().map(|f| f.0.ps() / 1000).collect();
        assert_eq!(times, [5_000, 6_000, 7_000]);
    }

    #[test]
    fn random_phases_fill_the_first_interval() {
        let mut spec = constant(BitRate::from_gbps(1), 1000);
        spec.arrivals = Arrivals::Constant { rate: BitRate::from_gbps(1), random_phase: true };
        spec.start = Time::from_us(3);
        let phases: Vec<u64> = (0..4000)
            .map(|seed| run(&mut source(&spec, seed), Time::from_us(11))[0].0.ps() - 3_000_000)
            .collect();
        assert!(phases.iter().all(|&phase| phase < 8_000_000));
        let mean = phases.iter().sum::<u64>() as f64 / 4000.0;
        assert!((mean - 4e6).abs() < 5.0 * 8e6 / (12.0f64 * 4000.0).sqrt(), "{mean}");
    }

    #[test]
    fn a_source_that_was_held_back_goes_on_from_there() {
        let mut source = source(&constant(BitRate::from_gbps(1), 1000), 1);
        assert!(matches!(source.wake(Time::ZERO), Wake::Emit(_)));
        assert_eq!(source.wake(Time::from_us(7)), Wake::Nothing);
        assert!(matches!(source.wake(Time::from_us(100)), Wake::Emit(_)));
        assert_eq!(source.next_wake(), Some(Time::from_us(108)));
    }

    #[test]
    fn a_stop_while_held_back_drops_the_frame() {
        let mut spec = constant(BitRate::from_gbps(1), 1000);
        spec.script = vec![(Time::from_us(5), Change::Stop), (Time::from_us(50), Change::Start(None))];
        let mut first = source(&spec, 1);
        assert_eq!(first.next_wake(), Some(Time::ZERO));
        assert_eq!(first.wake(Time::from_us(20)), Wake::Nothing);
        assert_eq!(first.next_wake(), Some(Time::from_us(50)));
        // Held back over stop and start: one frame at once.
        let mut second = source(&spec, 1);
        assert!(matches!(second.wake(Time::from_us(60)), Wake::Emit(_)));
        assert_eq!(second.next_wake(), Some(Time::from_us(68)));
    }

    #[test]
    fn the_last_frame_is_short() {
        let mut spec = constant(BitRate::from_gbps(1), 1000);
        let sent = |spec: &SourceSpec| {
            let mut limited = source(spec, 1);
            let frames = run(&mut limited, Time::from_ms(1));
            assert_eq!((limited.next_wake(), limited.is_active()), (None, false));
            (frames.iter().map(|&(_, bytes)| bytes).collect::<Vec<_>>(), limited.padding())
        };
        for (limit, frames, padding) in [
            (3_999, vec![1000, 1000, 1000, 999], 0),
            (4_000, vec![1000; 4], 0),
            (4_001, vec![1000, 1000, 1000, 1000, 64], 63),
            (999, vec![999], 0),
            (64, vec![64], 0),
            (1, vec![64], 63),
        ] {
            spec.limit = Some(Bytes::new(limit));
            assert_eq!(sent(&spec), (frames, padding), "{limit} B");
            let offered = spec.offered_bps(LINE, OVERHEAD, Time::ZERO, Time::from_us(100)).unwrap();
            assert!((offered - limit as f64 * 8.0 / 100e-6).abs() < 1.0);
        }
        // Frames that are shorter than Ethernet's have no padding.
        spec = SourceSpec { limit: Some(Bytes::new(45)), ..constant(BitRate::from_gbps(1), 20) };
        assert_eq!(sent(&spec), (vec![20, 20, 20], 15));
        // A limit of nothing, which a scenario refuses.
        spec.limit = Some(Bytes::new(0));
        assert_eq!(source(&spec, 1).next_wake(), None);
    }

    #[test]
    fn greedy_sources_give_what_is_asked_between_start_and_stop() {
        let mut spec = spec(Arrivals::Greedy, FrameSizes::Fixed(1522));
        spec.start = Time::from_us(1);
        spec.script = vec![(Time::from_us(3), Change::Stop), (Time::from_us(4), Change::Start(None))];
        spec.limit = Some(Bytes::new(1522 * 4));
        let mut source = source(&spec, 1);
        assert!(source.is_greedy() && source.take(Time::ZERO).is_none());
        assert_eq!(source.next_wake(), Some(Time::from_us(1)));
        assert_eq!(source.wake(Time::from_us(1)), Wake::Fill);
        assert!(source.take(Time::from_us(1)).is_some() && source.take(Time::from_us(2)).is_some());
        assert_eq!(source.next_wake(), Some(Time::from_us(3)));
        // Asked at the time of the stop, before the timer: the stop wins, and the timer finds nothing.
        assert!(source.take(Time::from_us(3)).is_none());
        assert_eq!(source.wake(Time::from_us(3)), Wake::Nothing);
        assert_eq!(source.next_wake(), Some(Time::from_us(4)));
        assert_eq!(source.wake(Time::from_us(4)), Wake::Fill);
        assert!(source.take(Time::from_us(4)).is_some() && source.take(Time::from_us(4)).is_some());
        assert!(source.take(Time::from_us(4)).is_none() && source.next_wake().is_none());
        assert_eq!(spec.offered_bps(LINE, OVERHEAD, Time::ZERO, Time::from_us(9)), None);
    }

    #[test]
    fn bernoulli_frames_come_in_slots() {
        // Golden case of Jiang 2007: half of a 10 Gb/s line in slots of one 1500 B frame, no overhead.
        let spec = spec(Arrivals::Bernoulli { rate: BitRate::from_gbps(5) }, FrameSizes::Fixed(1500));
        let mut source =
            Source::new(&spec, LINE, 0, ClockOffset::NOMINAL, Xoshiro256PlusPlus::seed_from_u64(1));
        let frames = run(&mut source, Time::from_ms(120));
        assert!(frames.iter().all(|(at, _)| at.ps() % 1_200_000 == 0));
        // 100 000 slots, p = 1/2: standard deviation 158.
        assert!((frames.len() as f64 - 50_000.0).abs() < 5.0 * 158.0, "{}", frames.len());
        let back_to_back = frames.windows(2).filter(|w| (w[1].0 - w[0].0).ps() == 1_200_000).count();
        assert!((back_to_back as f64 - 25_000.0).abs() < 5.0 * 158.0, "{back_to_back}");
    }

    #[test]
    fn a_bernoulli_source_cannot_exceed_its_line() {
        let spec = spec(Arrivals::Bernoulli { rate: BitRate::from_gbps(10) }, FrameSizes::Fixed(64));
        let frames = run_spec(&spec, Time::from_us(100));
        assert!(frames.windows(2).all(|w| (w[1].0 - w[0].0).ps() == 67_200));
        let offered = spec.offered_bps(LINE, OVERHEAD, Time::ZERO, Time::from_ms(1)).unwrap();
        assert!((offered - 1e10 * 64.0 / 84.0).abs() < 1.0, "{offered}");
    }

    #[test]
    fn bursts_keep_the_peak_rate() {
        let mean = Time::from_us(100);
        let (on, off) = (Period::Exponential { mean }, Period::Exponential { mean: Time::from_us(300) });
        let spec = spec(Arrivals::OnOff { peak: BitRate::from_gbps(1), on, off }, FrameSizes::Fixed(1000));
        let frames = run_spec(&spec, Time::from_ms(40));
        let gaps: Vec<u64> = frames.windows(2).map(|w| (w[1].0 - w[0].0).ps()).collect();
        assert!(gaps.iter().all(|&gap| gap >= 8_000_000));
        // Silence lies within one in 12.5 intervals: mean 100 us on, 8 us a frame.
        let within = gaps.iter().filter(|&&gap| gap == 8_000_000).count() as f64 / gaps.len() as f64;
        assert!((within - 0.92).abs() < 0.03, "{within}");
        // Never off: a constant rate.
        let off = Period::Exponential { mean: Time::ZERO };
        let steady =
            SourceSpec { arrivals: Arrivals::OnOff { peak: BitRate::from_gbps(1), on, off }, ..spec.clone() };
        assert_eq!(
            run_spec(&steady, Time::from_ms(1)),
            run_spec(&constant(BitRate::from_gbps(1), 1000), Time::from_ms(1))
        );
        // Never on: nothing, and no timer.
        let on = Period::Pareto { mean: Time::ZERO, shape: 1.5 };
        let never = SourceSpec { arrivals: Arrivals::OnOff { peak: BitRate::from_gbps(1), on, off }, ..spec };
        assert_eq!(
            (run_spec(&never, Time::NEVER).len(), never.offered_bps(LINE, 20, Time::ZERO, mean)),
            (0, Some(0.0))
        );
    }

    #[test]
    fn a_fast_clock_makes_every_kind_of_source_fast() {
        let mean = Time::from_us(50);
        let period = Period::Exponential { mean };
        let gbps = BitRate::from_gbps;
        for arrivals in [
            Arrivals::Constant { rate: gbps(1), random_phase: false },
            Arrivals::Constant { rate: gbps(1), random_phase: true },
            Arrivals::Bernoulli { rate: gbps(1) },
            Arrivals::Poisson { rate: gbps(1) },
            Arrivals::OnOff { peak: gbps(1), on: period, off: Period::Exponential { mean: Time::ZERO } },
        ] {
            let spec = spec(arrivals, FrameSizes::Fixed(1000));
            let last_of_1000 = |ppb| {
                let clock = ClockOffset::from_ppb(ppb);
                let mut source =
                    Source::new(&spec, LINE, OVERHEAD, clock, Xoshiro256PlusPlus::seed_from_u64(3));
                let (mut sent, mut at) = (0, Time::ZERO);
                while sent < 1000 {
                    at = source.next_wake().unwrap();
                    sent += u32::from(matches!(source.wake(at), Wake::Emit(_)));
                }
                at.ps() as f64
            };
            // A thousandth fast, so that the same draws end a thousandth earlier.
            let ratio = last_of_1000(0) / last_of_1000(1_000_000);
            assert!((ratio - 1.001).abs() < 1e-6, "{:?}: {ratio}", spec.arrivals);
        }
    }

    #[test]
    fn jitter_is_uniform_and_does_not_add_up() {
        // 8 us a frame; jitter of 3 us leaves gaps, of 20 us lets frames wait for each other.
        for most in [3, 20] {
            let most = Time::from_us(most);
            let spec = SourceSpec { jitter: most, ..constant(BitRate::from_gbps(1), 1000) };
            let frames = run(&mut source(&spec, 5), Time::from_ms(160));
            assert!((frames.len() as i64 - 20_000).abs() <= 3, "{}", frames.len());
            assert!(frames.is_sorted());
            let late: Vec<f64> =
                (0..).zip(&frames).map(|(n, frame)| (frame.0.ps() - n * 8_000_000) as f64 / 1e6).collect();
            let longest = late.iter().copied().fold(0.0, f64::max);
            assert!(longest <= most.ps() as f64 / 1e6 && longest > 0.99 * most.ps() as f64 / 1e6);
            if most < Time::from_us(8) {
                let mean = late.iter().sum::<f64>() / late.len() as f64;
                assert!((mean - 1.5).abs() < 5.0 * 3.0 / (12.0 * 20_000.0f64).sqrt(), "{mean}");
            }
        }
    }

    #[test]
    fn jitter_draws_from_a_stream_of_its_own() {
        // The same lengths in the same order: only the times differ.
        let mut spec = spec(Arrivals::Poisson { rate: BitRate::from_gbps(1) }, FrameSizes::Imix);
        let lengths = |spec: &SourceSpec| {
            run(&mut source(spec, 9), Time::from_us(500))
                .into_iter()
                .take(100)
                .map(|f| f.1)
                .collect::<Vec<_>>()
        };
        let without = lengths(&spec);
        spec.jitter = Time::from_us(1);
        assert_eq!(lengths(&spec), without);
    }

    #[test]
    fn a_source_with_jitter_that_was_held_back_goes_on_from_there() {
        let spec = SourceSpec { jitter: Time::from_us(2), ..constant(BitRate::from_gbps(1), 1000) };
        let mut source = source(&spec, 1);
        assert!(matches!(source.wake(Time::from_us(100)), Wake::Emit(_)));
        let next = source.next_wake().unwrap();
        assert!(next >= Time::from_us(108) && next <= Time::from_us(110), "{next}");
    }

    #[test]
    fn a_source_is_small() {
        assert!(size_of::<Source>() <= 288, "{}", size_of::<Source>());
    }

    fn any_sizes() -> impl Strategy<Value = FrameSizes> {
        prop_oneof![
            Just(FrameSizes::Fixed(1522)),
            Just(FrameSizes::Uniform { min: 64, max: 1522 }),
            Just(FrameSizes::Bimodal { small: 64, large: 1522, small_share: 0.6 }),
            Just(FrameSizes::Imix),
            Just(FrameSizes::Empirical(vec![(64, 5.0), (576, 2.5), (9216, 0.5)])),
        ]
    }
    fn any_arrivals() -> impl Strategy<Value = Arrivals> {
        let rate = (100u64..8_000).prop_map(|mbps| BitRate::from_bps(mbps * 1_000_003));
        let period = |mean: std::ops::Range<u64>| {
            prop_oneof![
                mean.clone().prop_map(|us| Period::Exponential { mean: Time::from_us(us) }),
                mean.prop_map(|us| Period::Pareto { mean: Time::from_us(us), shape: 1.5 }),
            ]
        };
        prop_oneof![
            (rate.clone(), any::<bool>())
                .prop_map(|(rate, random_phase)| Arrivals::Constant { rate, random_phase }),
            rate.clone().prop_map(|rate| Arrivals::Bernoulli { rate }),
            rate.clone().prop_map(|rate| Arrivals::Poisson { rate }),
            (rate, period(1..50), period(1..50)).prop_map(|(peak, on, off)| Arrivals::OnOff {
                peak,
                on,
                off
            }),
        ]
    }

    /// Standard deviation of the bits that a source sends within `secs`, at least.
    fn deviation(spec: &SourceSpec, bps: f64, secs: f64) -> f64 {
        let frame_bits = spec.sizes.mean_bytes() * 8.0;
        let squared = spec.sizes.mean_of(|b| (f64::from(b) * 8.0).powi(2));
        // As if frames were Poisson; constant and Bernoulli sources vary less.
        let frames = bps * secs / frame_bits * squared;
        let Arrivals::OnOff { peak, on, off } = spec.arrivals else { return frames.sqrt() };
        // Each cycle adds the variation of both periods, in bits at the peak rate. Second moments in
        // squared means: 2 of an exponential, 7.8 of a truncated Pareto of shape 1.5.
        let moment = |p: Period| if matches!(p, Period::Pareto { .. }) { 8.0 } else { 2.0 };
        let (m, n) = (on.mean_secs(), off.mean_secs());
        let cycle =
            (moment(on) * m * m * (n / (m + n)).powi(2) + moment(off) * n * n * (m / (m + n)).powi(2)) * 1.1;
        (frames + secs / (m + n) * cycle * (peak.bps() as f64).powi(2)).sqrt()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        #[test]
        fn long_run_rates(arrivals in any_arrivals(), sizes in any_sizes(), wire in any::<bool>(), seed in any::<u64>()) {
            let mut spec = spec(arrivals, sizes);
            spec.rate_basis = if wire { RateBasis::Wire } else { RateBasis::Frame };
            let until = Time::from_ms(20);
            let offered = spec.offered_bps(LINE, OVERHEAD, Time::ZERO, until).unwrap();
            let frames = run(&mut source(&spec, seed), until);
            let bits: f64 = frames.iter().map(|f| f64::from(f.1) * 8.0).sum();
            let expected = offered * until.as_secs_f64();
            let bound = 6.0 * deviation(&spec, offered, until.as_secs_f64()) + 2.0 * 9216.0 * 8.0;
            prop_assert!((bits - expected).abs() < bound, "{bits} bits instead of {expected} ± {bound}");
            if matches!(spec.arrivals, Arrivals::Constant { .. }) && !wire {
                prop_assert!((bits - expected).abs() <= 2.0 * 9216.0 * 8.0);
            }
        }

        #[test]
        fn rate_changes_keep_the_long_run_rate(arrivals in any_arrivals(), sizes in any_sizes(), seed in any::<u64>()) {
            // Up and down every 40 us: what a change loses or adds, it would do 500 times.
            let mut spec = spec(arrivals, sizes);
            spec.script = (1..500)
                .map(|n| (Time::from_us(n * 40), Change::Start(Some(BitRate::from_gbps(1 + n % 2 * 3)))))
                .collect();
            let until = Time::from_ms(20);
            let offered = spec.offered_bps(LINE, OVERHEAD, Time::ZERO, until).unwrap();
            let bits: f64 = run(&mut source(&spec, seed), until).iter().map(|f| f64::from(f.1) * 8.0).sum();
            let expected = offered * until.as_secs_f64();
            let peak = match spec.arrivals {
                Arrivals::OnOff { on, off, .. } => Arrivals::OnOff { peak: BitRate::from_gbps(8), on, off },
                ref other => other.clone(),
            };
            let noisy = SourceSpec { arrivals: peak, ..spec.clone() };
            let mut bound = 6.0 * deviation(&noisy, offered, until.as_secs_f64()) + 2.0 * 9216.0 * 8.0;
            if matches!(spec.arrivals, Arrivals::Bernoulli { .. }) {
                // A new grid of slots begins after each change: at most one slot of the longest frame.
                bound += expected * 0.25;
            }
            prop_assert!((bits - expected).abs() < bound, "{bits} bits instead of {expected} ± {bound}");
        }

        #[test]
        fn bytes_sent_are_the_limit_and_padding(
            arrivals in any_arrivals(), greedy in any::<bool>(), sizes in any_sizes(), limit in 1u64..40_000, seed in any::<u64>(),
        ) {
            let mut spec = spec(if greedy { Arrivals::Greedy } else { arrivals }, sizes);
            spec.limit = Some(Bytes::new(limit));
            let mut source = source(&spec, seed);
            let frames: Vec<u16> = if greedy {
                prop_assert_eq!(source.wake(Time::ZERO), Wake::Fill);
                std::iter::from_fn(|| source.take(Time::ZERO)).map(|made| made.bytes).collect()
            } else {
                run(&mut source, Time::from_ms(1_000)).iter().map(|frame| frame.1).collect()
            };
            let sent: u64 = frames.iter().map(|&bytes| u64::from(bytes)).sum();
            prop_assert_eq!(sent, limit + source.padding(), "{:?}", frames);
            // Only the last frame is cut or padded, and to no more than the smallest one.
            let (least, most) = spec.frame_bounds();
            prop_assert!(frames.iter().all(|&bytes| bytes >= least && bytes <= most));
            let (last, others) = frames.split_last().unwrap();
            prop_assert!(others.iter().all(|&bytes| bytes >= spec.sizes.bounds().0));
            prop_assert!(source.padding() == 0 || *last <= frame::MIN_FRAME_BYTES && source.padding() < u64::from(*last));
        }

        #[test]
        fn the_seed_alone_decides(arrivals in any_arrivals(), sizes in any_sizes(), seed in any::<u64>()) {
            let spec = spec(arrivals, sizes);
            let frames = |seed| run(&mut source(&spec, seed), Time::from_us(500));
            prop_assert_eq!(frames(seed), frames(seed));
        }

        #[test]
        fn nothing_panics_and_scripts_hold(
            rate in any::<u64>(), line in any::<u64>(), kind in 0u8..5, wire in any::<bool>(), overhead in any::<u16>(),
            sizes in (any::<u16>(), any::<u16>()), mean in any::<u64>(), shape in -1.0f64..4.0,
            start in any::<u64>(), stop in proptest::option::of(any::<u64>()),
            mut script in proptest::collection::vec((any::<u64>(), proptest::option::of(any::<u64>())), 0..6),
            limit in proptest::option::of(any::<u64>()), shift in 0u32..64, seed in any::<u64>(),
            jitter in any::<u64>(), ppb in -1_000_000i32..1_000_000,
        ) {
            script.sort_unstable();
            // Shifted, so that small numbers are as likely as large ones.
            let small = |x: u64| x >> shift;
            let rate = BitRate::from_bps(small(rate));
            let mean = Time::from_ps(small(mean));
            let arrivals = match kind {
                0 => Arrivals::Constant { rate, random_phase: wire },
                1 => Arrivals::Bernoulli { rate },
                2 => Arrivals::Poisson { rate },
                3 => Arrivals::OnOff { peak: rate, on: Period::Pareto { mean, shape }, off: Period::Exponential { mean } },
                _ => Arrivals::OnOff { peak: rate, on: Period::Exponential { mean }, off: Period::Pareto { mean, shape } },
            };
            let spec = SourceSpec {
                rate_basis: if wire { RateBasis::Wire } else { RateBasis::Frame },
                start: Time::from_ps(small(start)),
                stop: stop.map(|s| Time::from_ps(small(s))),
                script: script.into_iter().map(|(at, change)| (Time::from_ps(small(at)), match change {
                    Some(rate) if rate % 3 > 0 => Change::Start(Some(BitRate::from_bps(small(rate)))),
                    Some(_) => Change::Start(None),
                    None => Change::Stop,
                })).collect(),
                limit: limit.map(|l| Bytes::new(small(l))),
                jitter: Time::from_ps(small(jitter)),
                ..spec(arrivals, FrameSizes::Uniform { min: sizes.0, max: sizes.1 })
            };
            let (clock, rng) = (ClockOffset::from_ppb(ppb), Xoshiro256PlusPlus::seed_from_u64(seed));
            let mut source = Source::new(&spec, BitRate::from_bps(small(line)), overhead, clock, rng.clone())
                .with_jitter(spec.jitter, rng);
            let (mut last, mut sent) = (Time::ZERO, 0u64);
            for _ in 0..300 {
                let Some(now) = source.next_wake() else { break };
                prop_assert!(now >= last);
                last = now;
                if let Wake::Emit(made) = source.wake(now) {
                    sent += u64::from(made.bytes);
                    prop_assert!(now >= spec.start && spec.stop.is_none_or(|stop| now < stop));
                }
            }
            prop_assert!(spec.limit.is_none_or(|limit| sent <= limit.get() + source.padding()));
            let offered = spec.offered_bps(BitRate::from_bps(small(line)), overhead, Time::ZERO, Time::from_ms(1)).unwrap();
            prop_assert!(offered >= 0.0 && !offered.is_nan(), "{}", offered);
        }
    }
}
