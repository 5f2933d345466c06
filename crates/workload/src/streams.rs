//! Arrivals of many streams, each at a constant rate: the calls between two hosts as one source.
//!
//! A stream sends a frame every `bytes * 8 / rate`, exact in the long run, and starts at a random time within its
//! first interval. The frames are those of as many `constant` sources with random phases. Statistics cover all streams
//! together, unless `counted` adds the table `streams` with separate counts for each stream. These are exact: the
//! source schedules each stream separately, and each frame carries the number of its stream until it is delivered. The
//! behaviour of the fabric is the same in both cases. The fingerprint is not, because it covers the stream numbers.
//!
//! Source: the connections of Martinez 2006, section 6.2 and table 2 (voice: 64 kb/s in frames of 128 B; controlled
//! load: 750 kb/s in frames of 2176 B).
//!
//! Not modelled: histograms of each stream (use a `constant` source for each), silence in a call.

use crate::arrivals::{Arrival, Configuration, Link, MOST_STREAMS, Random, no_rate, one, outside};
use crate::draw::below;
use crate::pace::{Pace, rescaled};
use crate::spec::FrameSizes;
use keys::Remark;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use units::{BitRate, Time};

/// Many streams at a constant rate, with random phases.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StreamsParams {
    /// Rate of each stream. A rate with unit, above 0. Required.
    pub rate: BitRate,
    /// Number of streams. A count, 1 to 65536. Default: 1.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 65_536))]
    pub count: u64,
    /// If true, the table `streams` lists each stream, by destination. A boolean. Default: false.
    #[serde(default)]
    pub counted: bool,
}

impl Configuration for StreamsParams {
    /// Boxed because it is larger than the other processes.
    type Machine = Box<Streams>;

    fn check(&self) -> Vec<Remark> {
        no_rate("rate", self.rate).into_iter().chain(outside("count", self.count, MOST_STREAMS)).collect()
    }
    fn rate(&self) -> (&'static str, BitRate) {
        ("rate", self.rate)
    }
    fn at_rate(self, rate: BitRate) -> StreamsParams {
        StreamsParams { rate, ..self }
    }
    fn sources(&self) -> u64 {
        self.count
    }
    fn mean_bps(&self, rate: BitRate, sizes: &FrameSizes, link: Link) -> f64 {
        self.count as f64 * link.in_frames(rate, sizes)
    }
    fn start(&self, link: Link, _sizes: &FrameSizes) -> Box<Streams> {
        let stream = |nth| Reverse(Stream { due: Time::NEVER, nth, rest: 0 });
        let streams = (0..self.count as u32).map(stream).collect();
        let of_frame = self.counted.then_some(0);
        Box::new(Streams { pace: Pace::at_station(self.rate, link.clock), streams, of_frame })
    }
}

/// The state of the streams.
#[derive(Clone, Debug)]
pub struct Streams {
    /// Pace of each stream; `None` at a rate of zero.
    pace: Option<Pace>,
    /// Streams by due time; the next one is at the top.
    streams: BinaryHeap<Reverse<Stream>>,
    /// Stream of the last frame that was due; `None` if streams are not counted.
    of_frame: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Stream {
    due: Time,
    /// Tie-break between streams that are due at the same time.
    nth: u32,
    /// Remainder of the stream's last interval.
    rest: u64,
}

impl Streams {
    /// Returns the stream of the last frame that was due, if streams are counted.
    pub(crate) fn of_frame(&self) -> Option<u32> {
        self.of_frame
    }

    fn next_due(&self) -> Time {
        self.streams.peek().map_or(Time::NEVER, |next| next.0.due)
    }

    fn change(&mut self, change: impl FnMut(&mut Stream)) {
        let mut streams: Vec<Stream> = self.streams.drain().map(|Reverse(stream)| stream).collect();
        streams.sort_unstable_by_key(|stream| stream.nth);
        streams.iter_mut().for_each(change);
        self.streams = streams.into_iter().map(Reverse).collect();
    }
}

impl Arrival for Box<Streams> {
    fn start(&mut self, link: Link, now: Time, next: u16, rng: &mut Random) -> Time {
        let Some(pace) = &mut self.pace else { return Time::NEVER };
        pace.restart();
        let interval = pace.span(link.counted(next)).ps();
        self.change(|stream| {
            *stream =
                Stream { due: now.saturating_add(Time::from_ps(below(rng, interval))), rest: 0, ..*stream };
        });
        self.next_due()
    }
    fn arrives(&mut self, _now: Time, _rng: &mut Random) -> bool {
        if let (Some(of_frame), Some(next)) = (&mut self.of_frame, self.streams.peek()) {
            *of_frame = next.0.nth;
        }
        true
    }
    #[inline(never)]
    fn after(&mut self, link: Link, now: Time, late: bool, [sent, _]: [u16; 2], _rng: &mut Random) -> Time {
        let Some(pace) = &mut self.pace else { return Time::NEVER };
        if let Some(mut top) = self.streams.peek_mut() {
            let stream = &mut top.0;
            if late {
                stream.rest = 0;
            }
            stream.due = now.saturating_add(pace.span_of(&mut stream.rest, link.counted(sent)));
        }
        // Frames that were held back in the meantime follow at once.
        self.next_due().max(now)
    }
    fn rate(&self) -> Option<BitRate> {
        self.pace.map(|pace| pace.rate)
    }
    fn set_rate(&mut self, link: Link, new: BitRate) {
        self.pace = Pace::at_station(new, link.clock);
        self.change(|stream| stream.rest = 0);
    }
    fn rescale(
        &mut self,
        _link: Link,
        now: Time,
        _due: Time,
        (old, new): (BitRate, BitRate),
        _next: u16,
        _rng: &mut Random,
    ) -> Time {
        self.change(|stream| {
            if stream.due > now {
                stream.due = now.saturating_add(rescaled(stream.due - now, old, new));
            }
        });
        self.next_due()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testbed::{LINE, constant, run, run_spec, source, spec};
    use crate::{Arrivals, Change, SourceSpec, Wake};

    fn streams(rate: BitRate, count: u64, bytes: u16) -> SourceSpec {
        spec(Arrivals::Streams(StreamsParams { rate, count, counted: false }), FrameSizes::Fixed(bytes))
    }

    /// Tests table 2 of Martinez 2006: each of 93 calls of 64 kb/s in frames of 128 B sends one frame every 16 ms.
    #[test]
    fn every_interval_has_one_frame_of_each_stream_at_its_phase() {
        let voice = streams(BitRate::from_bps(64_000), 93, 128);
        let frames = run_spec(&voice, Time::from_ms(64));
        assert_eq!(frames.len(), 4 * 93);
        for (early, late) in frames.iter().zip(&frames[93..]) {
            assert_eq!(late.0 - early.0, Time::from_ms(16));
        }
        // Phases are uniform: their mean is 8 ms and the standard deviation of one phase is 4.6 ms.
        let mean = frames[..93].iter().map(|frame| frame.0.as_secs_f64()).sum::<f64>() / 93.0;
        assert!((mean - 8e-3).abs() < 5.0 * 4.62e-3 / 93f64.sqrt(), "{mean}");
        let offered = voice.offered_bps(LINE, 20, Time::ZERO, Time::from_ms(64)).unwrap();
        assert!((offered - 93.0 * 64_000.0).abs() < 1e-3);
    }

    #[test]
    fn one_stream_is_a_constant_source_and_carries_remainders() {
        // 1521 B at 3,333,333,333 b/s do not last a whole number of picoseconds.
        let rate = BitRate::from_bps(3_333_333_333);
        let (mut one, mut alone) = (source(&streams(rate, 1, 1521), 3), source(&constant(rate, 1521), 3));
        // The source begins and waits for its phase.
        assert_eq!(one.wake(Time::ZERO), Wake::Nothing);
        let first = one.next_wake().unwrap();
        for _ in 0..10_000 {
            let (now, expected) = (one.next_wake().unwrap(), alone.next_wake().unwrap());
            assert_eq!(now - first, expected);
            assert!(matches!((one.wake(now), alone.wake(expected)), (Wake::Emit(_), Wake::Emit(_))));
        }
    }

    #[test]
    fn streams_that_are_held_back_send_at_once_and_go_on_from_there() {
        let mut source = source(&streams(BitRate::from_gbps(1), 2, 1000), 1);
        let us = Time::from_us;
        for _ in 0..2 {
            assert!(source.next_wake().unwrap() <= us(20));
            assert!(matches!(source.wake(us(20)), Wake::Emit(_)));
        }
        assert_eq!(source.next_wake(), Some(us(28)));
    }

    #[test]
    fn a_new_rate_scales_what_is_left_of_each_interval() {
        let mut spec = streams(BitRate::from_gbps(1), 20, 1000);
        spec.script = vec![(Time::from_us(40), Change::Start(Some(BitRate::from_gbps(2))))];
        let frames = run(&mut source(&spec, 1), Time::from_us(80));
        // Five intervals of 8 us, then ten of 4 us.
        assert_eq!(frames.len(), 20 * (5 + 10));
    }
}
