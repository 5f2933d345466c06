//! Service guarantees of schedulers, as JSON.

use serde_json::{Value, json};

/// Returns a list with one object per queue: port, class, scheduler, rate and latency or null, and the longest frame on
/// its link.
pub fn describe(scenario: &scenario::Scenario) -> String {
    let queue = |it: &fabric::Guarantee| {
        json!({
            "port": it.port,
            "class": it.class,
            "scheduler": it.scheduler,
            "rate_bps": it.bound.map(|bound| bound.rate.bps()),
            "latency_ps": it.bound.map(|bound| bound.latency.ps()),
            "longest_frame_bytes": it.longest_frame.get(),
        })
    };
    Value::Array(fabric::guarantees(&scenario.spec).iter().map(queue).collect()).to_string()
}
