//! Estimates the accounted length of frames from a switch's queue counters, for the "learned" weights of DRR-AWC.

use crate::Metric;

/// The counters of one queue over an interval, as a switch reports them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Counters {
    /// Frames sent.
    pub frames: u64,
    /// Bytes sent, DA to FCS.
    pub bytes: u64,
    /// Quantum in force during the interval, in any unit.
    pub quantum: f64,
    /// True if the queue had an eligible frame during the whole interval.
    pub always_active: bool,
}

/// Estimates the accounted length of frames, and the weights that equalise throughput.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Learner {
    /// Mean bytes accounted in addition to the frame's own; `None` before the first estimate.
    pub per_frame: Option<f64>,
}

impl Learner {
    /// Threshold of the determinant, relative to its largest value. Below it the queues' frames are too similar for an
    /// estimate.
    const ALIKE: f64 = 1e-6;

    /// Returns the weights computed from the counters of an interval; `None` for a queue that sent nothing.
    pub fn weights(&mut self, metric: Metric, counters: &[Counters]) -> Vec<Option<f64>> {
        let usable = |it: &&Counters| it.always_active && it.frames > 0 && it.quantum > 0.0;
        let busy: Vec<&Counters> = counters.iter().filter(usable).collect();
        if let Some(found) = fit(&busy) {
            // The edges of an interval cut rounds. Averaging with the previous estimate reduces that error.
            self.per_frame = Some(self.per_frame.map_or(found, |before| (before + found) / 2.0));
        }
        let per_frame = self.per_frame.unwrap_or(0.0);
        let accounted = |it: &Counters| it.bytes as f64 + per_frame * it.frames as f64;
        let quanta: f64 = busy.iter().map(|it| it.quantum).sum();
        let rounds = busy.iter().map(|it| accounted(it)).sum::<f64>() / quanta;
        let weight = |it: &Counters| {
            let counted = metric.of(it.frames as f64, it.bytes as f64).max(1.0);
            let accounted = if usable(&it) && busy.len() > 1 { rounds * it.quantum } else { accounted(it) };
            (it.frames > 0).then_some(accounted / counted)
        };
        counters.iter().map(weight).collect()
    }
}

/// Solves bytes + x · frames = r · quantum over all queues for x, the additional bytes per frame, and the number of
/// rounds r, by least squares of the relative error. Returns `None` if the queues are too similar for an estimate.
fn fit(busy: &[&Counters]) -> Option<f64> {
    let (mut aa, mut ab, mut bb, mut a_sum, mut b_sum) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for it in busy {
        let (a, b) = (it.frames as f64 / it.bytes as f64, -it.quantum / it.bytes as f64);
        aa += a * a;
        ab += a * b;
        bb += b * b;
        a_sum += a;
        b_sum += b;
    }
    let determinant = aa * bb - ab * ab;
    let found = (ab * b_sum - bb * a_sum) / determinant;
    (determinant > Learner::ALIKE * aa * bb && found.is_finite()).then_some(found)
}
