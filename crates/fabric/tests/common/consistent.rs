//! Invariants of the tables of every result, for all fabrics.

use super::{Outcome, exact};
use fabric::spec::{FaultSpec, LinkSpec, NodeSpec, Role, Spec};
use frame::NodeId;
use proptest::prelude::*;
use std::collections::BTreeMap;
use units::Time;

/// Sums a column over the rows of each key.
pub fn by(outcome: &Outcome, table: &str, key: &str, column: &str) -> BTreeMap<String, u64> {
    let mut sums = BTreeMap::new();
    for (key, value) in outcome.texts(table, key).iter().zip(outcome.integers(table, column)) {
        *sums.entry(key.clone()).or_default() += value;
    }
    sums
}

/// Checks that no flow was held back at a port for longer than pauses of the tree lasted there.
fn check_held(spec: &Spec, outcome: &Outcome) -> Result<(), TestCaseError> {
    if spec.probes.chosen.is_some() {
        return Ok(()); // there may have been pauses that the table does not have
    }
    let mut lasted: BTreeMap<(&String, u64), f64> = BTreeMap::new();
    let trees = outcome.texts("pauses", "port").iter().zip(outcome.integers("pauses", "tree"));
    let spans = outcome.reals("pauses", "start_ns").iter().zip(outcome.reals("pauses", "end_ns"));
    for ((port, &tree), (start, end)) in trees.zip(spans) {
        *lasted.entry((port, tree)).or_default() += end - start;
    }
    let held = outcome.texts("congestion_flows", "paused_at").iter();
    let held = held.zip(outcome.integers("congestion_flows", "tree"));
    for ((port, &tree), &held) in held.zip(outcome.reals("congestion_flows", "paused_ns")) {
        let most = lasted.get(&(port, tree)).copied().unwrap_or(0.0);
        prop_assert!(held <= most + 1e-3, "{}: held for {} ns of {} ns", port, held, most);
    }
    Ok(())
}

/// Checks the invariants of every result.
pub fn check_tables(spec: &Spec, outcome: &Outcome) -> Result<(), TestCaseError> {
    check_held(spec, outcome)?;
    let measured = outcome.summary("measured");
    prop_assert!((measured - (outcome.now - spec.warmup.min(outcome.now)).as_secs_f64()).abs() < 1e-15);
    for table in &outcome.tables {
        prop_assert!(
            table.columns.iter().all(|column| column.values.len() == table.rows()),
            "{}",
            table.spec.name
        );
        for column in &table.columns {
            if let measure::Values::Real(values) = &column.values {
                // A greedy flow has an infinite demand.
                let infinite_allowed = table.spec.name == "demands";
                let nan_allowed = column.spec.is_nullable;
                // Columns with the distance of a queue from its equilibrium, and its growth, may be negative.
                let signed = ["offset_bytes", "delta_bytes"];
                prop_assert!(
                    values
                        .iter()
                        .all(|v| v.is_finite() || nan_allowed || infinite_allowed && v.is_infinite()),
                    "{}.{}",
                    table.spec.name,
                    column.spec.name
                );
                prop_assert!(
                    signed.contains(&column.spec.name) || values.iter().all(|v| v.is_nan() || *v >= 0.0),
                    "{}.{}: {values:?}",
                    table.spec.name,
                    column.spec.name
                );
            }
        }
    }
    // The limiting factors of a connection have fractions of its time.
    for flow in outcome.texts("connections", "flow") {
        let share = |by: &str| outcome.real("connections", flow, &format!("held_by_{by}"));
        let all = ["application", "receive_window", "congestion_control", "pause", "host"].map(share);
        let sum: f64 = all.iter().sum();
        prop_assert!((sum - 1.0).abs() < 1e-9 || all.iter().all(|it| it.is_nan()), "{flow}: {all:?}");
    }
    // Sums of flows, classes, ports and the summary.
    for column in ["frames_sent", "frames_delivered", "frames_dropped"] {
        prop_assert_eq!(outcome.total("flows", column), outcome.total("classes", column));
    }
    for column in ["frames_sent", "frames_delivered"] {
        prop_assert_eq!(outcome.total("flows", column) as f64, outcome.summary(column));
    }
    let dropped = outcome.total("drops", "frames");
    prop_assert_eq!(dropped as f64, outcome.summary("frames_dropped"));
    let sent = by(outcome, "drops", "part", "frames").remove("sent").unwrap_or(0);
    prop_assert_eq!(sent, outcome.total("flows", "frames_dropped"));
    if spec.warmup == Time::ZERO {
        let of = |column| outcome.integers("flows", column).iter();
        let ended = of("frames_delivered").zip(of("frames_dropped")).zip(of("frames_trimmed"));
        let ended = ended.map(|((arrived, lost), trimmed)| arrived + lost + trimmed);
        let begun = of("frames_sent").zip(of("frames_copied")).map(|(sent, copied)| sent + copied);
        prop_assert!(ended.zip(begun).all(|(ended, begun)| ended <= begun), "more frames ended than sent");
    }
    prop_assert_eq!(dropped, outcome.total("ports", "drops"));
    // Frames lost by faults and receive buffers are lost at a port, not in a queue.
    if spec.faults.is_empty() {
        let elsewhere = by(outcome, "drops", "cause", "frames").remove("receive_buffer").unwrap_or(0);
        prop_assert_eq!(dropped - elsewhere, outcome.total("queues", "drops"));
    }
    let close = |a: f64, b: f64| (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1.0);
    for (column, name) in [("offered_bps", "offered"), ("throughput_bps", "throughput")] {
        let sum = |table| outcome.reals(table, column).iter().sum::<f64>();
        prop_assert!(close(sum("flows"), sum("classes")) && close(sum("flows"), outcome.summary(name)));
    }
    prop_assert!(outcome.reals("ports", "utilisation").iter().all(|&u| (0.0..=1.0).contains(&u)));
    // The table limits utilisation to 1, so bits are also compared with the rate, at the fastest clock of any node. A
    // frame may have started before the measurement, and another may end after it.
    let rates_stay = !spec.faults.iter().any(|fault| matches!(fault, FaultSpec::LinkRate { .. }));
    let fastest = spec.nodes.iter().map(|node| f64::from(node.clock_tolerance.ppb())).fold(0.0, f64::max);
    for (row, rate) in outcome.reals("ports", "rate_bps").iter().enumerate() {
        let arrives =
            arrival_rate(spec, &outcome.texts("ports", "node")[row], &outcome.texts("ports", "peer")[row]);
        for (column, rate) in [("bytes_sent", *rate), ("bytes_received", arrives)] {
            let bytes = outcome.integers("ports", column)[row] as f64;
            prop_assert!(
                !rates_stay || bytes <= rate * (1.0 + fastest / 1e9) * measured / 8.0 + 2.0 * 1522.0,
                "{} of port {}: {}",
                column,
                row,
                bytes
            );
        }
    }
    prop_assert_eq!(outcome.total("ports", "pauses_sent") as f64, outcome.summary("pauses_sent"));
    let (received, sent) = (outcome.total("ports", "pauses_received"), outcome.total("ports", "pauses_sent"));
    let injected = spec.faults.iter().filter_map(|fault| match fault {
        FaultSpec::ControlFrame { content, .. } => Some(content.times()),
        _ => None,
    });
    prop_assert!(
        received <= sent + pending(spec) + injected.sum::<u64>(),
        "{} pauses received of {}",
        received,
        sent
    );
    prop_assert!(close(outcome.reals("ports", "paused_s").iter().sum(), outcome.summary("paused")));
    // A port receives what its peer has sent.
    let sent = by(outcome, "ports", "port", "frames_sent");
    prop_assert_eq!(
        by(outcome, "queues", "port", "frames").values().sum::<u64>(),
        sent.values().sum::<u64>()
    );
    // The time paused is the union of the pauses.
    let mut unions: BTreeMap<String, (Time, Time)> = BTreeMap::new();
    let mut waits: BTreeMap<String, f64> = BTreeMap::new();
    for (pause, reason) in outcome.pauses().into_iter().zip(outcome.texts("pauses", "reason")) {
        prop_assert!(pause.start <= pause.end && pause.end <= outcome.now, "{:?}", pause);
        let start = pause.start.max(spec.warmup);
        if reason == "credits" {
            *waits.entry(pause.port).or_default() += (pause.end - start).as_secs_f64();
            continue;
        }
        // Its class has not lacked credits in this time.
        if reason == "bypass_credits" {
            continue;
        }
        let (covered_to, total) = unions.entry(pause.port).or_default();
        *total += pause.end.saturating_sub(start.max(*covered_to));
        *covered_to = (*covered_to).max(pause.end);
    }
    for (port, &paused) in outcome.texts("ports", "port").iter().zip(outcome.reals("ports", "paused_s")) {
        let union = unions.get(port).map_or(0.0, |(_, total)| total.as_secs_f64());
        prop_assert!(
            (union - paused).abs() < 1e-14,
            "{}: {} s paused, {} s in intervals",
            port,
            paused,
            union
        );
    }
    // A link that waits for credits lacks them. It may also lack them while it is busy.
    for (port, waited) in waits {
        let rows = outcome.texts("credits", "port").iter().zip(outcome.reals("credits", "waited_s"));
        let lacked: f64 = rows.filter(|row| *row.0 == port).map(|row| row.1).sum();
        prop_assert!(waited <= lacked + 1e-12, "{}: {} s waited, {} s lacked", port, waited, lacked);
    }
    // No frame is faster than its links.
    for (flow, &latency) in spec.flows.iter().zip(outcome.reals("flows", "latency_min_ns")) {
        let frames = outcome.delivered(&flow.name);
        prop_assert!(
            !rates_stay || frames == 0 || exact(latency) >= least_latency(spec, flow),
            "{}: {} ns",
            flow.name,
            latency
        );
    }
    // Counted within one flow and destination, which have one path unless switches choose or routes change. A frame
    // that is too short to be trimmed may still overtake others.
    let chooses = |node: &NodeSpec| match &node.role {
        Role::Switch(switch) => !switch.path_choice.is_static() || switch.trimming.is_some(),
        Role::Host(_) => false,
    };
    let sprays = spec.flows.iter().any(fabric::spec::FlowSpec::gives_entropy);
    if spec.faults.is_empty() && !sprays && !spec.nodes.iter().any(chooses) {
        prop_assert_eq!(outcome.summary("frames_reordered"), 0.0);
    }
    Ok(())
}

/// Checks that two results are equal in every digit.
pub fn same(a: &Outcome, b: &Outcome) -> Result<(), TestCaseError> {
    prop_assert_eq!(a.fingerprint, b.fingerprint);
    prop_assert_eq!((a.now, &a.error), (b.now, &b.error));
    for (a, b) in a.tables.iter().zip(&b.tables) {
        // Compared as text, because NaN represents "not recorded" and is not equal to itself.
        prop_assert!(format!("{a:?}") == format!("{b:?}"), "{}: {:?} and {:?}", a.spec.name, a, b);
    }
    Ok(())
}

/// The maximum rate in bit/s at which frames arrive at a node from a neighbour.
fn arrival_rate(spec: &Spec, node: &str, peer: &str) -> f64 {
    let is = |end: NodeId, name: &str| spec.nodes[end.0 as usize].name == name;
    let links = spec
        .links
        .iter()
        .filter(|link| is(link.a, node) && is(link.b, peer) || is(link.a, peer) && is(link.b, node));
    let rates = links.map(|link| if is(link.a, peer) { link.rates[0] } else { link.rates[1] });
    rates.max().unwrap().bps_f64()
}

/// Maximum number of pause frames in flight at the start of measurement: as many as fit on all links in the time from
/// their end to their effect.
fn pending(spec: &Spec) -> u64 {
    if spec.warmup == Time::ZERO {
        return 0;
    }
    let control = spec.nodes.iter().find_map(|node| node.pauses());
    let Some(control) = control else { return 0 };
    let both_ways = |link: &LinkSpec| {
        let standard = flow_control::headroom::response_time(link.slowest());
        let effect = link.delay + control.response_time.unwrap_or(standard);
        let frame = link.fastest().time_for_bits_ceil(64 * 8);
        2 * (effect.ps() / frame.ps() + 2)
    };
    spec.links.iter().map(both_ways).sum()
}

/// Minimum latency: that of a shortest frame over the nearest of all links of the source and into the destination.
pub fn least_latency(spec: &Spec, flow: &fabric::spec::FlowSpec) -> Time {
    let (least, _) = flow.frame_bounds();
    let at = |node: NodeId| {
        let own = spec.links.iter().filter(move |link| link.a == node || link.b == node);
        own.map(|link| {
            let bits = u64::from(least.min(64)) * 8;
            // A node may be slightly faster than the nominal rate of its link.
            let tolerances = [link.a, link.b].map(|end| spec.nodes[end.0 as usize].clock_tolerance);
            let rate =
                tolerances.map(|tolerance| tolerance.fastest(link.fastest())).into_iter().max().unwrap();
            Time::from_ps((u128::from(bits) * 1_000_000_000_000 / u128::from(rate.bps())) as u64) + link.delay
        })
        .min()
        .unwrap()
    };
    let to = flow.source.destinations.nodes().into_iter().map(at).min().unwrap();
    at(flow.from) + to
}
