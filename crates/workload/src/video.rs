//! Video arrivals: a picture at each interval, divided into frames that are generated at one time.
//!
//! A picture that exceeds the longest frame of the flow (`frame`) is divided into full frames and a last frame of the
//! remaining bytes, padded to at least 64 B. The padding is subtracted from the next pictures of the stream, so that
//! the rate is exact. For the same reason the mean picture size must be at least 64 B. Several streams have
//! independent phases, uniformly distributed over the interval, and start at random positions in the sequence of
//! pictures. The latency of a picture is that of its last frame. Statistics cover all streams together, or with
//! `counted` each stream separately in the table `streams`, as for `streams`.
//!
//! Picture sizes come from a generator or from a file:
//!
//! - Generator: the picture types repeat as in `pattern`. The mean sizes of I, P and B pictures have the ratio 5 : 2 :
//!   1, scaled to the configured rate. Sizes are log-normal with coefficients of variation of 0.3, 0.5 and 0.5, and
//!   independent of each other.
//! - `trace`: the pictures of the file in order, repeated cyclically, scaled by one factor to the configured rate.
//!
//! Source: Martinez 2006, section 6.2 (a frame of an MPEG-4 trace every 40 ms, 750 kb/s, split if it is larger than
//! the MTU). The trace is not published; the pattern of twelve is the usual one of MPEG-4, and the ratios and
//! variations are our choice.
//!
//! Not modelled: correlation between pictures (scenes) other than that of the pattern or the trace; clock drift.

use crate::arrivals::{Arrival, Configuration, Link, MOST_STREAMS, Random, no_rate, one, outside};
use crate::draw::{below, normal};
use crate::spec::FrameSizes;
use crate::two_columns::{Report, rows};
use keys::Remark;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use units::{BitRate, Time};

/// Maximum interval between pictures; the constant below is the maximum length of a pattern.
const LONGEST_INTERVAL: Time = Time::from_ms(1_000_000);
const LONGEST_PATTERN: usize = 300;
/// Minimum of the mean picture size in bytes: the length of the shortest frame.
const SMALLEST: u16 = frame::MIN_FRAME_BYTES;

/// Video: pictures at a fixed interval, cut into frames.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VideoParams {
    /// Mean rate of each stream, in bits of frames from DA to FCS, independent of `rate_counts`. A rate with unit, above 0. Required.
    pub rate: BitRate,
    /// Number of streams. A count, 1 to 65536. Default: 1.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 65_536))]
    pub count: u64,
    /// If true, the table `streams` lists each stream, by destination. A boolean. Default: false.
    #[serde(default)]
    pub counted: bool,
    /// Time between two pictures of a stream. A time with unit, at most 1000 s, in which `rate` yields at least 64 B. Default: "40 ms" (Martinez 2006, section 6.2).
    #[serde(default = "forty_ms")]
    pub interval: Time,
    /// Sequence of picture types for the generator: letters I, P and B, 1 to 300. Default: "IBBPBBPBBPBB" (usual in MPEG-4).
    #[serde(default = "usual_pattern")]
    pub pattern: String,
    /// Path of a CSV file, relative to the scenario, that replaces the generator. Its columns are `kind` (a word, ignored) and `bytes`. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
    /// Picture sizes in bytes, as read from the file.
    #[serde(skip)]
    pub sizes: Arc<[u32]>,
}

fn forty_ms() -> Time {
    Time::from_ms(40)
}
fn usual_pattern() -> String {
    "IBBPBBPBBPBB".to_string()
}

impl VideoParams {
    /// Creates streams of the generator with the usual pattern and interval.
    pub fn new(rate: BitRate, count: u64) -> VideoParams {
        VideoParams {
            rate,
            count,
            counted: false,
            interval: forty_ms(),
            pattern: usual_pattern(),
            trace: None,
            sizes: Arc::new([]),
        }
    }

    /// Returns the interval at which the rate gives pictures of the smallest size.
    fn shortest_interval(&self) -> Time {
        let bits = u128::from(SMALLEST) * 8 * 1_000_000_000_000;
        Time::from_ps(bits.div_ceil(u128::from(self.rate.bps().max(1))) as u64).min(LONGEST_INTERVAL)
    }

    /// Returns the sequence of pictures: their mean sizes at the mean rate, and the variation of each.
    fn pictures(&self) -> Arc<[Picture]> {
        let raw: Vec<(f64, f64)> = if self.sizes.is_empty() {
            self.pattern.bytes().filter_map(kind).collect()
        } else {
            self.sizes.iter().map(|&bytes| (bytes.into(), 0.0)).collect()
        };
        let all: f64 = raw.iter().map(|one| one.0).sum();
        let each = self.rate.bps() as f64 * self.interval.as_secs_f64() / 8.0;
        let scale = each * raw.len() as f64 / all;
        raw.iter()
            .map(|&(share, variation)| {
                let variance = libm::log1p(variation * variation);
                Picture { median: share * scale * libm::exp(-variance / 2.0), sigma: libm::sqrt(variance) }
            })
            .collect()
    }
}

/// Returns the relative mean size of a kind of picture, and its coefficient of variation.
fn kind(letter: u8) -> Option<(f64, f64)> {
    match letter {
        b'I' => Some((5.0, 0.3)),
        b'P' => Some((2.0, 0.5)),
        b'B' => Some((1.0, 0.5)),
        _ => None,
    }
}

/// Reads the columns `kind,bytes` of a file of pictures. Reports the first error.
pub fn read_pictures(text: &str, report: Report<'_>) -> Option<Arc<[u32]>> {
    let mut sizes = Vec::new();
    let wrong = ["not a kind and a size", "expected a kind and 1 to 100000000 bytes, like I,11842"];
    rows(text, ["kind", "bytes"], wrong, report, |_, bytes| {
        let bytes: u32 = bytes.parse().ok()?;
        (1..=100_000_000).contains(&bytes).then(|| sizes.push(bytes))
    })?;
    if sizes.is_empty() {
        let help = "expected at least one line like I,11842 below the header kind,bytes";
        report(0..0, "no pictures".into(), help.into());
        return None;
    }
    Some(sizes.into())
}

impl Configuration for VideoParams {
    type Machine = Box<Video>;

    const CUTS_FRAMES: bool = true;
    const RATE_COUNTS: bool = false;

    fn check(&self) -> Vec<Remark> {
        let shortest = self.shortest_interval();
        let interval = (self.interval < shortest || self.interval > LONGEST_INTERVAL).then(|| {
            let message = format!("a picture every {} at {}", self.interval, self.rate);
            let help = format!(
                "expected \"{shortest}\" to \"{LONGEST_INTERVAL}\", like \"40 ms\": a picture is a frame of {SMALLEST} B at least"
            );
            Remark::about("interval", message, help)
        });
        let fits = (1..=LONGEST_PATTERN).contains(&self.pattern.len());
        let pattern = (!fits || !self.pattern.bytes().all(|letter| kind(letter).is_some())).then(|| {
            let help = format!("expected 1 to {LONGEST_PATTERN} letters I, P and B, like \"IBBPBBPBBPBB\"");
            Remark::about("pattern", format!("the pattern \"{}\"", self.pattern), help)
        });
        no_rate("rate", self.rate)
            .into_iter()
            .chain(outside("count", self.count, MOST_STREAMS))
            .chain(interval)
            .chain(pattern)
            .collect()
    }
    fn unused(&self) -> Vec<Remark> {
        let has_trace = self.trace.is_some() && self.pattern != usual_pattern();
        has_trace.then(|| keys::unused("pattern", "the generator: there is a `trace`")).into_iter().collect()
    }
    fn rate(&self) -> (&'static str, BitRate) {
        ("rate", self.rate)
    }
    fn at_rate(self, rate: BitRate) -> VideoParams {
        VideoParams { rate, ..self }
    }
    fn sources(&self) -> u64 {
        self.count
    }
    fn mean_bps(&self, rate: BitRate, _sizes: &FrameSizes, _link: Link) -> f64 {
        self.count as f64 * rate.bps() as f64
    }
    fn start(&self, _link: Link, sizes: &FrameSizes) -> Box<Video> {
        Box::new(Video {
            pictures: self.pictures(),
            longest: sizes.bounds().1.max(1),
            interval: self.interval,
            mean: self.rate,
            rate: self.rate,
            phases: vec![Time::ZERO; self.count as usize].into(),
            places: Box::default(),
            padded: Box::default(),
            begun: Time::ZERO,
            pictures_begun: 0,
            drawn: 0,
            left: 0,
            is_first: [false; 2],
            streams: [0; 2],
            counted: self.counted,
        })
    }
}

/// A picture of the sequence: its size is log-normal with this median.
#[derive(Clone, Copy, Debug)]
struct Picture {
    median: f64,
    sigma: f64,
}

/// The state of the video streams. Pictures are drawn in order of the phases, which is the same in each interval.
#[derive(Clone, Debug)]
pub struct Video {
    pictures: Arc<[Picture]>,
    /// Length of the longest frame.
    longest: u16,
    interval: Time,
    /// Mean rate of the sequence of pictures, and current rate.
    mean: BitRate,
    rate: BitRate,
    /// Phases of the streams within an interval, in ascending order.
    phases: Box<[Time]>,
    /// Position of each stream in the sequence; empty until the first draw.
    places: Box<[usize]>,
    /// By stream: bytes of padding that later pictures have not yet compensated. Empty until the first draw.
    padded: Box<[u64]>,
    /// Start of the transmission, and the number of pictures begun since then.
    begun: Time,
    pictures_begun: u64,
    /// Total number of pictures drawn.
    drawn: u64,
    /// Bytes of the current picture that follow the next frame.
    left: u32,
    /// True if the last frame made, and the next one, are the first of their pictures.
    is_first: [bool; 2],
    /// Streams of the last frame made and of the next one.
    streams: [u32; 2],
    /// True if frames are counted per stream.
    counted: bool,
}

impl Video {
    /// Returns the stream of the last frame made, if streams are counted.
    pub(crate) fn of_frame(&self) -> Option<u32> {
        self.counted.then_some(self.streams[0])
    }

    /// Draws the size of the next picture, with the padding of its last frame.
    fn draw(&mut self, rng: &mut Random) -> u32 {
        let (streams, count) = (self.phases.len() as u64, self.pictures.len() as u64);
        if self.places.is_empty() {
            self.places = (0..streams).map(|_| below(rng, count) as usize).collect();
            self.padded = vec![0; streams as usize].into();
        }
        let stream = (self.drawn % streams) as usize;
        let place = &mut self.places[stream];
        self.drawn += 1;
        let Picture { median, sigma } = self.pictures[*place];
        *place = (*place + 1) % self.pictures.len();
        let varied = if sigma > 0.0 { libm::exp(sigma * normal(rng)) } else { 1.0 };
        let now = self.rate.bps() as f64 / self.mean.bps().max(1) as f64;
        let drawn = (libm::round(median * now * varied)).clamp(0.0, f64::from(u32::MAX)) as u64;
        let owed = self.padded[stream];
        let own = self.with_padding(drawn.saturating_sub(owed));
        self.padded[stream] = (owed + own).saturating_sub(drawn);
        own.min(u32::MAX.into()) as u32
    }

    /// Returns `bytes` plus the padding of the last frame that carries them.
    fn with_padding(&self, bytes: u64) -> u64 {
        let (longest, shortest) = (u64::from(self.longest), u64::from(self.longest.min(SMALLEST)));
        let last = bytes % longest;
        match bytes {
            0 => shortest,
            _ if last == 0 => bytes,
            _ => bytes - last + last.max(shortest),
        }
    }

    /// Returns the due time of the next picture.
    fn due(&self) -> Time {
        let streams = self.phases.len() as u64;
        let round = self.interval.ps().checked_mul(self.pictures_begun / streams);
        let phase = self.phases[(self.pictures_begun % streams) as usize];
        round.map_or(Time::NEVER, |round| {
            self.begun.saturating_add(Time::from_ps(round)).saturating_add(phase)
        })
    }

    /// Returns the due time of the next frame, at or after `now`.
    fn next_due(&self, now: Time) -> Time {
        match (self.rate.bps(), self.is_first[1]) {
            (0, _) => Time::NEVER,
            (_, true) => self.due().max(now),
            (_, false) => now,
        }
    }
}

impl Arrival for Box<Video> {
    fn start(&mut self, _link: Link, now: Time, _next: u16, rng: &mut Random) -> Time {
        let interval = self.interval.ps();
        self.phases.iter_mut().for_each(|phase| *phase = Time::from_ps(below(rng, interval)));
        self.phases.sort_unstable();
        (self.begun, self.pictures_begun) = (now, 0);
        self.next_due(now)
    }
    fn bytes(&mut self, rng: &mut Random) -> u16 {
        let is_first = self.left == 0;
        if is_first {
            self.left = self.draw(rng);
        }
        self.is_first = [self.is_first[1], is_first];
        let stream = (self.drawn - 1) % self.phases.len() as u64;
        self.streams = [self.streams[1], stream as u32];
        let own = self.left.min(self.longest.into()) as u16;
        self.left -= u32::from(own);
        own
    }
    fn after(&mut self, _link: Link, now: Time, _late: bool, _: [u16; 2], _rng: &mut Random) -> Time {
        self.pictures_begun += u64::from(self.is_first[0]);
        self.next_due(now)
    }
    fn rate(&self) -> Option<BitRate> {
        Some(self.rate)
    }
    fn set_rate(&mut self, _link: Link, new: BitRate) {
        self.rate = new;
    }
    /// Changes the rate. Due times of pictures are unchanged; sizes change with the next picture.
    fn rescale(
        &mut self,
        _link: Link,
        _now: Time,
        due: Time,
        _: (BitRate, BitRate),
        _next: u16,
        _rng: &mut Random,
    ) -> Time {
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testbed::{run_spec, spec};
    use crate::{Arrivals, SourceSpec};

    const RATE: BitRate = BitRate::from_bps(750_000);

    fn video(params: VideoParams) -> SourceSpec {
        spec(Arrivals::Video(params), FrameSizes::Fixed(2176))
    }

    /// Returns time, bytes and frames of each picture; the bytes include padding.
    fn pictures(spec: &SourceSpec, until: Time) -> Vec<(Time, u64, usize)> {
        let mut found: Vec<(Time, u64, usize)> = Vec::new();
        for (at, bytes) in run_spec(spec, until) {
            match found.last_mut().filter(|last| last.0 == at) {
                Some(last) => (last.1, last.2) = (last.1 + u64::from(bytes), last.2 + 1),
                None => found.push((at, bytes.into(), 1)),
            }
        }
        found
    }

    /// Tests the statistics of the generator. At 750 kb/s, pictures every 40 ms have 3750 B on average: I 11,842 B, P
    /// 4737 B, B 2368 B.
    #[test]
    fn the_generator_has_the_statistics_of_its_description() {
        let found = pictures(&video(VideoParams::new(RATE, 1)), Time::from_ms(40 * 120_000));
        assert!(found.windows(2).all(|two| two[1].0 - two[0].0 == Time::from_ms(40)));
        let mean_of = |sizes: &[f64]| sizes.iter().sum::<f64>() / sizes.len() as f64;
        let bytes: Vec<f64> = found.iter().map(|one| one.1 as f64).collect();
        // Means of the twelve positions in the pattern, the I picture first.
        let mut means: Vec<(f64, f64)> = (0..12)
            .map(|place| {
                let own: Vec<f64> = bytes.iter().skip(place).step_by(12).copied().collect();
                let mean = mean_of(&own);
                let squares = mean_of(&own.iter().map(|size| (size - mean).powi(2)).collect::<Vec<_>>());
                (mean, squares.sqrt() / mean)
            })
            .collect();
        let largest = (0..12).max_by(|&a, &b| means[a].0.total_cmp(&means[b].0)).unwrap();
        means.rotate_left(largest);
        let unit = 3750.0 * 12.0 / 19.0;
        for (place, &(mean, variation)) in means.iter().enumerate() {
            let (ratio, expected) =
                if place == 0 { (5.0, 0.3) } else { (if place % 3 == 0 { 2.0 } else { 1.0 }, 0.5) };
            // Padding adds up to 63 B to one picture in thirty.
            assert!((mean / (ratio * unit) - 1.0).abs() < 5.0 * expected / 100.0, "{place}: {mean}");
            assert!((variation / expected - 1.0).abs() < 0.08, "{place}: {variation}");
        }
        assert!((mean_of(&bytes) / 3750.0 - 1.0).abs() < 0.01, "{}", mean_of(&bytes));
        // No picture has more frames than it needs.
        assert!(found.iter().all(|&(_, bytes, frames)| frames as u64 == bytes.div_ceil(2176)));
    }

    /// Tests that each frame carries the number of its stream, whose pictures come once per interval and include all
    /// frames of that time.
    #[test]
    fn streams_are_told_apart() {
        let spec = video(VideoParams { counted: true, ..VideoParams::new(RATE, 7) });
        let mut source = crate::testbed::source(&spec, 3);
        let mut seen: [Vec<Time>; 7] = Default::default();
        let mut bytes = [0; 7];
        while let Some(now) = source.next_wake().filter(|&now| now < Time::from_ms(40 * 1000)) {
            if let crate::Wake::Emit(made) = source.wake(now) {
                let stream = source.stream().expect("counted") as usize;
                bytes[stream] += u64::from(made.bytes);
                if seen[stream].last() != Some(&now) {
                    seen[stream].push(now);
                }
            }
        }
        for (own, bytes) in seen.iter().zip(bytes) {
            assert_eq!(own.len(), 1000);
            assert!(own.windows(2).all(|two| two[1] - two[0] == Time::from_ms(40)));
            assert!((bytes as f64 / 3_750_000.0 - 1.0).abs() < 0.1, "{bytes}");
        }
        let mut source = crate::testbed::source(&video(VideoParams::new(RATE, 7)), 3);
        source.wake(source.next_wake().unwrap());
        assert_eq!(source.stream(), None);
    }

    /// Tests that padding is compensated. The rate holds for pictures of 64 B on average, most of which are drawn
    /// smaller, and for a trace with pictures of one byte.
    #[test]
    fn small_pictures_keep_the_rate() {
        let rate = BitRate::from_bps(100_000_000);
        let least = VideoParams { interval: Time::from_ns(5_120), ..VideoParams::new(rate, 1) };
        assert_eq!(least.check(), vec![]);
        let trace = VideoParams { sizes: [1, 1, 1, 300, 1].into(), ..least.clone() };
        let split = VideoParams { interval: Time::from_us(200), ..VideoParams::new(rate, 3) };
        for params in [least.clone(), trace, split] {
            let (streams, until) = (params.count as f64, Time::from_ms(400));
            let spec = spec(Arrivals::Video(params), FrameSizes::Fixed(1000));
            let bytes: u64 = run_spec(&spec, until).iter().map(|frame| u64::from(frame.1)).sum();
            let expected = streams * rate.bps_f64() * until.as_secs_f64() / 8.0;
            assert!((bytes as f64 / expected - 1.0).abs() < 0.02, "{bytes} B, not {expected}");
        }
        let shorter = VideoParams { interval: Time::from_ns(5_119), ..least.clone() };
        assert_eq!(shorter.check().len(), 1);
        // The rate of each step of the script must also suffice for the pictures.
        let slower = Arrivals::Video(least).at_rate(BitRate::from_bps(99_000_000)).check();
        assert_eq!(slower.len(), 1, "{slower:?}");
    }

    #[test]
    fn streams_keep_their_phases_and_each_begins_somewhere_in_the_sequence() {
        let trace = VideoParams { sizes: [100, 3000, 2176, 6800].into(), ..VideoParams::new(RATE, 5) };
        let found = pictures(&video(trace), Time::from_ms(400));
        assert_eq!(found.len(), 50);
        for (early, late) in found.iter().zip(&found[5..]) {
            assert_eq!(late.0 - early.0, Time::from_ms(40));
        }
        // The mean of the trace is 3019 B; all sizes are multiplied by 1.2422.
        let next = |bytes| match bytes {
            124 => 3726,
            3726 => 2703,
            2703 => 8447,
            8447 => 124,
            other => panic!("{other} B are no picture of the trace"),
        };
        assert!(found.iter().zip(&found[5..]).all(|(early, late)| late.1 == next(early.1)));
        let first: std::collections::BTreeSet<u64> = found[..5].iter().map(|one| one.1).collect();
        assert!(first.len() > 1, "{first:?}");
    }

    #[test]
    fn files_of_pictures() {
        let sizes = read_pictures("kind,bytes\nI, 11842\n# scene\nP,4737\n", &mut |_, m, _| panic!("{m}"));
        assert_eq!(sizes.as_deref(), Some(&[11_842, 4737][..]));
        let wrong = |text: &str| {
            let mut found = None;
            assert!(
                read_pictures(text, &mut |span, message, _| found = Some((span.start, message))).is_none()
            );
            found.unwrap()
        };
        assert_eq!(wrong("kind,bytes\nI,0\n").0, 11);
        assert!(wrong("bytes\n1\n").1.contains("not the header"));
        assert!(wrong("kind,bytes\n").1.contains("no pictures"));
    }
}
