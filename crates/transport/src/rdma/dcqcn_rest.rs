//! Where queue pairs of DCQCN come to rest: the share of packets that is marked then.
//!
//! The fluid model of DCQCN has one fixed point, at which all have the same rate. What marks take there in a unit of time, timer
//! and byte counter bring back. A queue that marks at most a lower share than that cannot rest on the slope of its marks: it
//! stands where each packet is marked.
//!
//! Source: Y. Zhu et al., "ECN or Delay: Lessons Learnt from Analysis of DCQCN and TIMELY", CoNEXT 2016, section 3 (the fluid model; its fixed
//! point).
//!
//! Whether the fixed point is stable depends on the delay of the loop, and is not asked here.

use super::DcqcnKeys;
use units::Time;

/// What the fixed point depends on beside the keys of DCQCN.
#[derive(Clone, Copy, Debug)]
pub struct Crowd {
    /// Queue pairs that share a link.
    pub many: u64,
    /// Its rate in bits a second.
    pub bps: f64,
    /// Bytes of a full packet, DA to FCS.
    pub packet: u16,
    /// The least time between two CNPs for a queue pair.
    pub cnp_gap: Time,
}

impl DcqcnKeys {
    /// The share of packets that is marked where so many queue pairs come to rest; `None`: they work otherwise than the model,
    /// whose cuts follow each CNP.
    pub fn marked_at_rest(&self, crowd: &Crowd) -> Option<f64> {
        if self.monitor_period > Time::ZERO || crowd.many < 2 || crowd.cnp_gap == Time::ZERO || self.gd != 11
        {
            return None;
        }
        let packet = f64::from(crowd.packet) * 8.0;
        let rate = crowd.bps / packet / crowd.many as f64;
        let scale = if self.scale_rates { crowd.bps / 25e9 } else { 1.0 };
        let add = self.ai_rate.bps_f64() * scale / packet;
        let seconds = |time: Time| time.as_secs_f64();
        let (gap, period) = (seconds(crowd.cnp_gap), seconds(self.alpha_period));
        let timer = seconds(self.time_reset) * rate;
        let counter =
            self.byte_reset.value().map_or(f64::INFINITY, |bytes| bytes.get() as f64 * 8.0 / packet);
        let stages = self.threshold as f64;
        let gain = |p: f64| {
            let unmarked = |packets: f64| libm::pow(1.0 - p, packets);
            let cut = 1.0 - unmarked(gap * rate);
            let alpha = 1.0 - unmarked(period * rate);
            let often = |n: f64| p / libm::expm1((-n * libm::log1p(-p)).min(700.0));
            let (by_bytes, by_time) = (often(counter), often(timer));
            let adds =
                add * rate * (unmarked(stages * counter) * by_bytes + unmarked(stages * timer) * by_time);
            // The target stands above the rate by what its additions and its resets make of it.
            let above = adds * gap / cut;
            above / 2.0 * rate * (by_bytes + by_time) - rate * alpha / (2.0 * gap) * cut
        };
        let (mut low, mut high) = (1e-9, 0.999);
        for _ in 0..100 {
            let middle = (low + high) / 2.0;
            (low, high) = if gain(middle) > 0.0 { (middle, high) } else { (low, middle) };
        }
        Some(low)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_table() {
        // 40 Gb/s, packets of 1 kB, CNPs in 50 us.
        for (many, share) in
            [(2, 0.00078), (4, 0.00189), (8, 0.00455), (10, 0.00603), (16, 0.01087), (64, 0.059)]
        {
            let crowd = Crowd { many, bps: 40e9, packet: 1_000, cnp_gap: Time::from_us(50) };
            let own = DcqcnKeys::default().marked_at_rest(&crowd).unwrap();
            assert!((own / share - 1.0).abs() < 0.02, "{many}: {own} and {share}");
        }
    }
}
