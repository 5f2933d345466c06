//! Delay variation: deviation of the delay of each frame from the running mean of its flow.
//!
//! Source: G. McAlpine, Congestion control for switched Ethernet, 2005, section 8, Figure 10: "the maximum deviation
//! from a running mean delay", a criterion for video streams. The source does not specify the length of the running
//! mean: here it covers all earlier frames, so that the first frame has no deviation.

use super::View;
use crate::run::state::frame_log::{Happened, Row};
use frame::FrameKind;
use measure::table::{integer, real, text};
use measure::{TableBuilder, TableSpec};
use std::collections::BTreeMap;

/// Columns of `delay_variation`.
pub(super) static DELAY_VARIATION: TableSpec = TableSpec {
    name: "delay_variation",
    about: "One row per flow and destination whose received frames are logged by `[[probes]]` with `what = \"frames\"`. The deviation of a frame is the difference of its delay from the running mean of all frames before it; the table `frames` has it for each frame.",
    columns: &[&[
        text("flow", "Name of the flow."),
        text("destination", "Receiving host."),
        integer("frames", "", "Frames with data that arrived, as far as they are in the log."),
        real(
            "delay_mean_ns",
            "ns",
            "Mean delay, from the creation of a frame to the arrival of its last bit.",
        ),
        real("deviation_mean_ns", "ns", "Mean absolute deviation."),
        real("deviation_max_ns", "ns", "Maximum absolute deviation."),
        real("deviation_max_at_s", "s", "Arrival time of that frame."),
    ]],
};

/// Delays of the frames of a flow that have arrived at one destination.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Delays {
    frames: u64,
    /// Sum of their delays. The following fields are the sum of their deviations, and the maximum deviation with its
    /// time. Delays are in nanoseconds.
    sum_ns: f64,
    off_ns: f64,
    most_ns: f64,
    most_at_ps: u64,
}

impl Delays {
    /// Adds a frame. Returns the deviation of its delay from the mean of the earlier frames.
    fn add(&mut self, delay_ns: f64, at_ps: u64) -> f64 {
        let off = if self.frames == 0 { 0.0 } else { (delay_ns - self.sum_ns / self.frames as f64).abs() };
        self.frames += 1;
        self.sum_ns += delay_ns;
        self.off_ns += off;
        if off > self.most_ns {
            (self.most_ns, self.most_at_ps) = (off, at_ps);
        }
        off
    }
}

/// Delays by flow and destination.
pub(super) type Variations = BTreeMap<(u32, u32), Delays>;

impl View<'_> {
    /// Returns the deviation of each row of the log, and the delays by flow and destination. `ends`: source and
    /// destination of the frame of each row. The deviation is NaN unless the row is a data frame arriving at its
    /// destination.
    pub(super) fn deviations(&self, rows: &[Row], ends: &[[u32; 2]]) -> (Vec<f64>, Variations) {
        let mut variations = Variations::new();
        let off = rows.iter().zip(ends).map(|(row, &[_, to])| {
            let here = row.happened == Happened::Arrived && self.s.wiring.node_of[row.port as usize].0 == to;
            let kind = row.frame.flags.kind();
            if !here || row.is_pause() || !matches!(kind, FrameKind::Raw | FrameKind::Part | FrameKind::Data)
            {
                return f64::NAN;
            }
            let flow = self.s.path_flow[row.frame.path.at()];
            let delay = row.time.saturating_sub(row.frame.created);
            variations.entry((flow, to)).or_default().add(delay.ps() as f64 / 1e3, row.time.ps())
        });
        (off.collect(), variations)
    }

    pub(super) fn delay_variation(&self, variations: &Variations) -> TableBuilder {
        let each = || variations.iter();
        let name = |node: u32| self.s.spec.nodes[node as usize].name.clone();
        DELAY_VARIATION
            .builder()
            .texts("flow", each().map(|((flow, _), _)| self.s.spec.flows[*flow as usize].name.clone()))
            .texts("destination", each().map(|((_, to), _)| name(*to)))
            .integers("frames", each().map(|(_, of)| of.frames))
            .reals("delay_mean_ns", each().map(|(_, of)| of.sum_ns / of.frames as f64))
            .reals("deviation_mean_ns", each().map(|(_, of)| of.off_ns / of.frames as f64))
            .reals("deviation_max_ns", each().map(|(_, of)| of.most_ns))
            .reals("deviation_max_at_s", each().map(|(_, of)| of.most_at_ps as f64 / 1e12))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_compared_with_the_mean_of_those_before_it() {
        let mut delays = Delays::default();
        let off: Vec<f64> =
            [4.0, 4.0, 7.0, 2.0].iter().zip(1..).map(|(&ns, at)| delays.add(ns, at)).collect();
        // Means before each frame: none, 4, 4, 5.
        assert_eq!(off, [0.0, 0.0, 3.0, 3.0]);
        assert_eq!((delays.frames, delays.sum_ns, delays.off_ns), (4, 17.0, 6.0));
        assert_eq!((delays.most_ns, delays.most_at_ps), (3.0, 3));
    }
}
