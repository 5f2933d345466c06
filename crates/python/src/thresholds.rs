//! Thresholds of switch memories, before a run, as JSON.

use serde_json::{Value, json};
use units::Amount;

/// Returns rows, and notes about them.
pub fn describe(scenario: &scenario::Scenario) -> Result<String, String> {
    let spec = &scenario.spec;
    let (rows, notes) = fabric::thresholds(spec, &fabric::pause_needs(spec));
    let cycle = fabric::dependency_cycle(spec).map_err(|why| why.to_string())?;
    let amount = |amount: Option<Amount>| {
        amount.map(|amount| match amount {
            Amount::Bytes(bytes) => json!({"bytes": bytes}),
            Amount::Frames(frames) => json!({"frames": frames}),
        })
    };
    let row = |row: &fabric::Threshold| {
        json!({
            "switch": row.node,
            "ports": row.ports,
            "what": row.what,
            "profile": row.profile,
            "pool": row.pool,
            "reserved_bytes": row.reserved,
            "xoff": amount(row.xoff),
            "xoff_all_busy": amount(row.xoff_all_busy),
            "xon": amount(row.xon),
            "headroom": amount(row.headroom),
            "in_flight_bytes": row.in_flight,
            "marks_from": amount(row.marks.map(|marks| marks.0)),
            "marks_all_from": amount(row.marks.map(|marks| marks.1)),
            "verdict": row.verdict,
        })
    };
    let rows: Vec<Value> = rows.iter().map(row).collect();
    let answer =
        json!({"schema": "penstock-thresholds/1", "rows": rows, "notes": notes, "deadlock_circle": cycle});
    Ok(answer.to_string())
}
