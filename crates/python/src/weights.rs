//! The weight controller of DRR-AWC, for callers with counters of their own.

use pyo3::prelude::*;
use scheduling::{
    BINS, Counters, Histogram, Learner, Metric, Mix, Representative, TopBin, TotalWeight, WeightRule,
};

/// Returns the value with a name, or an error that lists the accepted names.
fn choose<T: Copy>(key: &str, value: &str, choices: &[(&str, T)]) -> Result<T, String> {
    choices.iter().find(|choice| choice.0 == value).map(|choice| choice.1).ok_or_else(|| {
        let names: Vec<&str> = choices.iter().map(|choice| choice.0).collect();
        format!("{key}: \"{value}\"; accepted are {}", names.join(", "))
    })
}

fn metric_of(value: &str) -> Result<Metric, String> {
    choose("metric", value, &[("payload", Metric::Payload), ("frame", Metric::Frame)])
}

/// Names of a weight rule's settings.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Rules {
    formula: String,
    mix: String,
    top_bin: String,
    representative: String,
    metric: String,
    largest: u32,
}

/// Converts names to the rule, and to the unit in which bins count.
fn rule(keys: &Rules) -> Result<(WeightRule, Mix), String> {
    let top_bin = choose("top_bin", &keys.top_bin, &[("formula", TopBin::Formula), ("one", TopBin::One)])?;
    let sizes = [("upper_edge", Representative::UpperEdge), ("middle", Representative::Middle)];
    let representative = choose("representative", &keys.representative, &sizes)?;
    let metric = metric_of(&keys.metric)?;
    let rules = [
        ("published", WeightRule::Published { top_bin, representative, total: TotalWeight::Fraction }),
        ("analytic", WeightRule::Analytic { metric }),
    ];
    let mixes = [("frames", Mix::Frames), ("bytes", Mix::Bytes)];
    Ok((choose("formula", &keys.formula, &rules)?, choose("mix", &keys.mix, &mixes)?))
}

/// Computes weights from the frames of each queue, by bins of sizes.
pub fn from_histograms(
    keys: &Rules,
    frames: &[[u64; BINS]],
    bytes: &[[u64; BINS]],
) -> Result<Vec<Option<f64>>, String> {
    let (rule, mix) = rule(keys)?;
    let histograms = frames.iter().zip(bytes).map(|(&frames, &bytes)| Histogram { frames, bytes });
    Ok(histograms.map(|histogram| histogram.weight(rule, mix, keys.largest, ETHERNET)).collect())
}

/// Line overhead of each frame in bytes, on the links of a switch outside the simulator.
const ETHERNET: u32 = frame::LINE_OVERHEAD_BYTES as u32;

/// Counters of a queue: frames and bytes sent, the quantum in force, and true if the queue always had frames to send.
pub type Counted = (u64, u64, f64, bool);

/// Computes weights from the counters of each queue, and the estimated overhead per frame in bytes.
pub fn learned(
    metric: &str,
    per_frame: Option<f64>,
    counted: &[Counted],
) -> Result<(Vec<Option<f64>>, Option<f64>), String> {
    let mut learner = Learner { per_frame };
    let counters: Vec<Counters> = counted
        .iter()
        .map(|&(frames, bytes, quantum, always_active)| Counters { frames, bytes, quantum, always_active })
        .collect();
    let weights = learner.weights(metric_of(metric)?, &counters);
    Ok((weights, learner.per_frame))
}
