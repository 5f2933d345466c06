//! The average load that a source offers, computed from its specification for an exact clock.

use crate::arrivals::Link;
use crate::spec::{Change, SourceSpec};
use crate::{Arrivals, BurstsParams, OnOffParams, ThreadsParams, VideoParams};
use units::{BitRate, ClockOffset, Time};

impl SourceSpec {
    /// Returns the mean offered rate between two times, in bits of frames (DA to FCS) per second, on a link of rate
    /// `line` with `overhead` bytes per frame. Takes account of the start, the stop, the script and the limit, but not
    /// of back-pressure. Returns `None` for greedy sources, which offer the full rate of the link.
    pub fn offered_bps(&self, line: BitRate, overhead: u16, from: Time, until: Time) -> Option<f64> {
        let link = Link { line, overhead, basis: self.rate_basis, clock: ClockOffset::NOMINAL };
        if let Some(list) = self.transfers() {
            let within = list.iter().filter(|transfer| (from..until).contains(&transfer.start));
            let bytes: u64 = within.map(|transfer| list.framing().frame_bytes(transfer.bytes)).sum();
            return Some(mean_bps(bytes, from, until));
        }
        let rate = self.configured_rate()?;
        if until <= from {
            return Some(0.0);
        }
        let (first_rate, changes) = self.changes();
        let (mut rate, mut active) = (first_rate.unwrap_or(rate), false);
        // Bits offered between time zero and `from`, and between time zero and `until`.
        let (mut before, mut bits, mut at) = (0.0, 0.0, Time::ZERO);
        let limit = self.limit.map_or(f64::INFINITY, |limit| limit.get() as f64 * 8.0);
        for (time, change) in changes.into_iter().chain([(Time::NEVER, Change::Stop)]) {
            let end = time.min(until);
            if active && end > at {
                let mean = self.mean_bps(link, rate);
                before += mean * end.min(from).saturating_sub(at).as_secs_f64();
                bits += mean * (end - at).as_secs_f64();
            }
            at = end.max(at);
            match change {
                Change::Start(new) => (active, rate) = (true, new.unwrap_or(rate)),
                Change::Stop => active = false,
            }
        }
        Some((bits.min(limit) - before.min(limit)) / (until - from).as_secs_f64())
    }

    /// Returns the demand of the source as steps: the time of each change, and the mean rate from then on in bits of
    /// frames (DA to FCS) per second, infinite for a greedy source. Takes account of the start, the stop and the
    /// script, but not of the limit. Transfers demand their mean rate while they arrive, that is, until the stop.
    pub fn demand(&self, line: BitRate, overhead: u16) -> Vec<(Time, f64)> {
        if let (Some(list), Some(stop)) = (self.transfers(), self.stop) {
            return vec![(self.start, mean_bps(list.frame_bytes(), self.start, stop)), (stop, 0.0)];
        }
        let link = Link { line, overhead, basis: self.rate_basis, clock: ClockOffset::NOMINAL };
        let (first_rate, changes) = self.changes();
        let mut rate = first_rate.or(self.configured_rate());
        let mut demand = Vec::with_capacity(changes.len());
        for (at, change) in changes {
            let bps = match change {
                Change::Stop => 0.0,
                Change::Start(new) => {
                    rate = rate.map(|rate| new.unwrap_or(rate));
                    rate.map_or(f64::INFINITY, |rate| self.mean_bps(link, rate))
                }
            };
            demand.push((at, bps));
        }
        demand
    }

    /// Returns an upper bound of the bits of frames that the source sends by this time, at a station whose clock is off
    /// by `clock`. The bound is the offered bits and a margin that chance exceeds once in 10^12 runs. Returns `None` if
    /// the link or a list determines the bits.
    pub fn most_bits(&self, line: BitRate, overhead: u16, clock: ClockOffset, until: Time) -> Option<f64> {
        if self.transfers().is_some() {
            return None;
        }
        let configured = self.configured_rate()?;
        let secs = until.as_secs_f64() * clock.factor();
        let offered = self.offered_bps(line, overhead, Time::ZERO, until)? * secs;
        let rates = self.script.iter().filter_map(|&(_, change)| match change {
            Change::Start(rate) => rate,
            Change::Stop => None,
        });
        let peak = rates.fold(configured, BitRate::max);
        let (_, longest) = self.sizes.bounds();
        let frame = f64::from(longest.max(frame::MIN_FRAME_BYTES)) * 8.0;
        // Frames that are due at once at the start or at a change of the rate.
        let at_once = match &self.arrivals {
            Arrivals::Bursts(BurstsParams { frames, .. }) => frame * *frames as f64,
            Arrivals::Threads(ThreadsParams { count, burst, .. }) => frame * (count * burst) as f64,
            Arrivals::Video(video) => {
                let picture = peak.bps_f64() * video.interval.as_secs_f64();
                (frame + 12.0 * picture) * video.count as f64
            }
            other => frame * other.sources() as f64,
        };
        let begins = 2 + self.script.len();
        Some(offered + 8.0 * self.deviation_bits(peak, offered / secs, secs) + at_once * begins as f64)
    }

    /// Returns an upper estimate of the standard deviation of the bits sent in `secs` at `bps`, for a source whose rate
    /// never exceeds `rate`.
    pub(crate) fn deviation_bits(&self, rate: BitRate, bps: f64, secs: f64) -> f64 {
        let frame_bits = self.sizes.mean_bytes() * 8.0;
        let squared = self.sizes.mean_of(|bytes| (f64::from(bytes) * 8.0).powi(2));
        // Frames are counted as a Poisson process; constant and Bernoulli sources vary less.
        let frames = bps * secs / frame_bits * squared;
        match &self.arrivals {
            Arrivals::Bursts(BurstsParams { frames: each, .. }) => (frames * *each as f64).sqrt(),
            Arrivals::Video(VideoParams { interval, count, .. }) => {
                // The coefficient of variation of picture sizes is below 1.2. All pictures of a stream begin together.
                let of_one = bps * interval.as_secs_f64() / *count as f64;
                (1.5 * secs / interval.as_secs_f64() * *count as f64).sqrt() * of_one + 12.0 * of_one
            }
            Arrivals::OnOff(OnOffParams { on, off, .. }) => {
                // Each cycle contributes the variation of both periods, in bits at the peak rate.
                let (m, n) = (on.mean_secs(), off.mean_secs());
                let of_on = on.second_moment() * m * m * (n / (m + n)).powi(2);
                let of_off = off.second_moment() * n * n * (m / (m + n)).powi(2);
                let cycle = (of_on + of_off) * 1.1;
                (frames + secs / (m + n) * cycle * rate.bps_f64().powi(2)).sqrt()
            }
            _ => frames.sqrt(),
        }
    }

    /// Returns the rate in the scenario (for on/off sources the peak rate); `None` if the source is greedy.
    fn configured_rate(&self) -> Option<BitRate> {
        self.arrivals.rate().map(|(_, rate)| rate)
    }

    /// Returns the long-run rate in bits of frames per second while the source is active at `rate`.
    fn mean_bps(&self, link: Link, rate: BitRate) -> f64 {
        self.arrivals.mean_bps(rate, &self.sizes, link)
    }
}

/// Returns the mean rate in bits per second of these bytes between two times.
fn mean_bps(bytes: u64, from: Time, until: Time) -> f64 {
    let seconds = until.saturating_sub(from).as_secs_f64();
    if seconds > 0.0 { bytes as f64 * 8.0 / seconds } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{Destinations, FrameSizes, RateBasis};
    use crate::{Arrivals, ConstantParams, OnOffParams, Period};

    const LINE: BitRate = BitRate::from_gbps(10);

    fn spec(arrivals: Arrivals) -> SourceSpec {
        SourceSpec {
            arrivals,
            rate_basis: RateBasis::Frame,
            sizes: FrameSizes::Fixed(1000),
            destinations: Destinations::Fixed(frame::NodeId(0)),
            start: Time::from_us(1),
            stop: Some(Time::from_us(9)),
            script: vec![],
            limit: None,
            jitter: Time::ZERO,
        }
    }

    #[test]
    fn demand_changes_with_start_script_and_stop() {
        let rate = BitRate::from_gbps(2);
        let at = Time::from_us;
        let changes = vec![
            (at(3), Change::Stop),
            (at(4), Change::Start(Some(BitRate::from_gbps(1)))),
            (at(5), Change::Stop),
            (at(6), Change::Start(None)),
        ];
        let constant = SourceSpec {
            script: changes,
            ..spec(Arrivals::Constant(ConstantParams { rate, random_phase: false }))
        };
        let expected = [(1, 2e9), (3, 0.0), (4, 1e9), (5, 0.0), (6, 1e9), (9, 0.0)];
        assert_eq!(constant.demand(LINE, 20), expected.map(|(us, bps)| (at(us), bps)));
        // The total offered is the integral of the demand.
        let offered = constant.offered_bps(LINE, 20, Time::ZERO, at(10)).unwrap();
        assert!((offered - (2.0 * 2e9 + 1e9 + 3e9) / 10.0).abs() < 1.0, "{offered}");
    }

    #[test]
    fn demand_counts_frames_on_average_and_greedy_ones_without_end() {
        assert_eq!(spec(Arrivals::Greedy).demand(LINE, 20)[0].1, f64::INFINITY);
        assert_eq!(spec(Arrivals::Greedy).demand(LINE, 20)[1].1, 0.0);
        let period = Period::Exponential(Time::from_us(1));
        let peak = BitRate::from_gbps(4);
        let half = SourceSpec {
            rate_basis: RateBasis::Wire,
            ..spec(Arrivals::OnOff(OnOffParams { peak, on: period, off: period }))
        };
        assert!((half.demand(LINE, 20)[0].1 - 2e9 * 1000.0 / 1020.0).abs() < 1.0);
    }
}
