//! What a source offers on average, from its description alone.

use crate::arrivals::Link;
use crate::spec::{Arrivals, Change, SourceSpec};
use units::{BitRate, Time};

impl SourceSpec {
    /// The mean rate that is offered between two times, in bits of frames (DA to FCS) a second, at a link
    /// with `line` rate and `overhead` bytes a frame. Starts, stops, script and limit count; back-pressure
    /// does not. `None` for greedy sources, which offer whatever the link takes.
    pub fn offered_bps(&self, line: BitRate, overhead: u16, from: Time, until: Time) -> Option<f64> {
        let link = Link { line, overhead, basis: self.rate_basis };
        let rate = match self.arrivals {
            Arrivals::Greedy => return None,
            Arrivals::Constant { rate, .. } | Arrivals::Bernoulli { rate } | Arrivals::Poisson { rate } => {
                rate
            }
            Arrivals::OnOff { peak, .. } => peak,
        };
        if until <= from {
            return Some(0.0);
        }
        let (first_rate, changes) = self.changes();
        let (mut rate, mut active) = (first_rate.unwrap_or(rate), false);
        // Bits offered since the very beginning, at `from` and at `until`.
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

    /// The long-run rate in bits of frames a second while the source is active at `rate`.
    fn mean_bps(&self, link: Link, rate: BitRate) -> f64 {
        let bps = rate.bps() as f64;
        let mean_bytes = self.sizes.mean_bytes();
        let in_frames = bps * mean_bytes / self.sizes.mean_of(|bytes| link.counted(bytes) as f64);
        match self.arrivals {
            Arrivals::Greedy => f64::NAN,
            Arrivals::Constant { .. } | Arrivals::Poisson { .. } => in_frames,
            // As long as the line can take them the slots keep the rate; beyond, every slot has a frame.
            Arrivals::Bernoulli { .. } if bps > 0.0 && link.line.bps() > 0 => {
                let bits_a_slot = |bytes| link.on_wire(bytes) as f64 / link.slot_probability(rate, bytes);
                link.line.bps() as f64 * mean_bytes / self.sizes.mean_of(bits_a_slot)
            }
            Arrivals::Bernoulli { .. } => 0.0,
            Arrivals::OnOff { on, off, .. } => {
                let on_secs = on.mean_secs();
                if on_secs > 0.0 { in_frames * on_secs / (on_secs + off.mean_secs()) } else { 0.0 }
            }
        }
    }
}
