//! What schedulers promise, as JSON.

use serde_json::{Value, json};

/// One object a queue: port, class, scheduler, and rate and latency, or null.
pub fn describe(scenario: &scenario::Scenario) -> String {
    let queue = |it: &fabric::Guarantee| {
        json!({
            "port": it.port,
            "class": it.class,
            "scheduler": it.scheduler,
            "rate_bps": it.bound.map(|bound| bound.rate.bps()),
            "latency_ps": it.bound.map(|bound| bound.latency.ps()),
        })
    };
    Value::Array(fabric::guarantees(&scenario.spec).iter().map(queue).collect()).to_string()
}
