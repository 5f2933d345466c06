//! Distributions of occupancies, the frame log, and selected pauses: each checked against the others.

use crate::common::*;
use fabric::spec::{HostSpec, OnLosslessDrop, Pattern, Probe, ReceiveSpec, Role, SwitchSpec, Watched, Which};
use flow_control::Control;
use queueing::{Alpha, SharedMemorySpec};
use std::collections::BTreeMap;
use units::{BitRate, Time};

/// A row of the table `frames`.
#[derive(Clone, Debug, PartialEq)]
struct Row {
    time: u64,
    port: String,
    direction: String,
    event: String,
    cause: String,
    kind: String,
    flow: String,
    ends: [String; 2],
    bytes: u64,
    word: u64,
    created: u64,
}

fn log(outcome: &Outcome) -> Vec<Row> {
    let names = |column| outcome.texts("frames", column);
    let numbers = |column| outcome.integers("frames", column);
    let (port, direction, event, kind) = (names("port"), names("direction"), names("event"), names("kind"));
    let (flow, source, destination) = (names("flow"), names("source"), names("destination"));
    let row = |at: usize| Row {
        time: numbers("time_ps")[at],
        port: port[at].clone(),
        direction: direction[at].clone(),
        event: event[at].clone(),
        cause: outcome.texts("frames", "cause")[at].clone(),
        kind: kind[at].clone(),
        flow: flow[at].clone(),
        ends: [source[at].clone(), destination[at].clone()],
        bytes: numbers("bytes")[at],
        word: numbers("word")[at],
        created: numbers("created_ps")[at],
    };
    (0..outcome.table("frames").rows()).map(row).collect()
}

/// Bins of a distribution, each with its total time in picoseconds.
type Bins = BTreeMap<(u64, u64), u64>;

fn bins(outcome: &Outcome, entity: &str, unit: &str) -> Bins {
    let (entities, units) = (outcome.texts("occupancies", "entity"), outcome.texts("occupancies", "unit"));
    let rows = (0..entities.len()).filter(|&at| entities[at] == entity && units[at] == unit);
    let of = |at: usize| {
        let edge = |column| outcome.integers("occupancies", column)[at];
        ((edge("from"), edge("to")), exact(outcome.reals("occupancies", "time_ns")[at]).ps())
    };
    rows.map(of).collect()
}

/// Four hosts, three of which send frames of two sizes to the fourth for a while, under PFC.
fn incast(duration: Time) -> Net {
    let mut net = Net::new(duration);
    let control = Some(pfc_at(0x08, 12, 6).into());
    let hosts: Vec<_> = (0..4)
        .map(|i| net.host(&format!("h{i}"), HostSpec { flow_control: control.clone(), ..host() }))
        .collect();
    let sw = net.switch("sw", SwitchSpec { flow_control: control, ..switch() });
    net.attach(&hosts, sw, gbps(10), ns(50));
    for (i, bytes) in [(1, 1000), (2, 400), (3, 1000)] {
        let source = paced(hosts[0], bytes, 200, ns(100 * i), ps(u64::from(bytes) * 1600));
        net.flow(&format!("f{i}"), hosts[i as usize], 3, source);
    }
    net.0.probes.chosen = Some([Watched::Frames, Watched::Occupancy, Watched::Pauses].map(everything).into());
    net
}

/// Occupancy of a place over time, computed from the log alone: in a switch without latency, a frame is queued from the
/// arrival of its last bit to the departure of its first.
fn waiting(log: &[Row], end: u64, here: impl Fn(&Row) -> bool, of: impl Fn(&Row) -> u64) -> Bins {
    let mut changes: Vec<(u64, i64)> = Vec::new();
    let at_sw = |event: &'static str| {
        move |row: &&Row| row.event == event && row.port.starts_with("sw") && row.kind == "raw"
    };
    let left: BTreeMap<(&str, u64), u64> =
        log.iter().filter(at_sw("sent")).map(|row| ((row.flow.as_str(), row.created), row.time)).collect();
    for came in log.iter().filter(at_sw("arrived")).filter(|row| here(row)) {
        let left = left.get(&(came.flow.as_str(), came.created)).copied().unwrap_or(end);
        changes.extend([(came.time, of(came) as i64), (left, -(of(came) as i64))]);
    }
    changes.sort_unstable();
    let (mut level, mut since, mut bins) = (0i64, 0, Bins::new());
    for (time, change) in changes.into_iter().chain([(end, 0)]) {
        if time > since {
            *bins.entry(bin(level as u64)).or_default() += time - since;
        }
        (level, since) = (level + change, time);
    }
    bins
}

/// The bin of a level, found by doubling: width 1 below 64, and a 32nd of the octave above.
fn bin(level: u64) -> (u64, u64) {
    let mut width = 1;
    while level >= 64 * width {
        width *= 2;
    }
    (level / width * width, level / width * width + width)
}

#[test]
fn occupancies_are_those_of_the_log() {
    let end = us(200);
    let outcome = incast(end).run();
    let log = log(&outcome);
    assert!(!outcome.pauses().is_empty(), "the queues have to pause");
    let from_h1 = |came: &Row| came.port == "sw.1->h1";
    let bytes = |row: &Row| row.bytes;
    for place in ["sw", "sw/3", "sw.0->h0", "sw.0->h0/3"] {
        assert_eq!(bins(&outcome, place, "B"), waiting(&log, end.ps(), |_| true, bytes), "{place}");
        assert_eq!(bins(&outcome, place, "frames"), waiting(&log, end.ps(), |_| true, |_| 1), "{place}");
    }
    let counter = bins(&outcome, "sw.1->h1 in/3", "B");
    assert_eq!(counter, waiting(&log, end.ps(), from_h1, bytes));
    assert!(counter.len() > 5, "{counter:?}");
    // No frame is ever queued in the reverse direction.
    assert_eq!(bins(&outcome, "sw.1->h1", "B"), Bins::from([((0, 1), end.ps())]));
}

/// Values of a time series in the order of time.
fn series(outcome: &Outcome, metric: &str, entity: &str) -> Vec<f64> {
    let rows = outcome.texts("series", "metric").iter().zip(outcome.texts("series", "entity"));
    let rows = rows.zip(outcome.reals("series", "value"));
    rows.filter(|((of, who), _)| *of == metric && *who == entity).map(|(_, value)| *value).collect()
}

/// An incast into a switch whose queues share 40,000 B.
fn shared(headroom: u64, control: Option<Control>) -> Outcome {
    let memory =
        SharedMemorySpec { total: 40_000, alpha: Alpha::ONE, minimum: 0, headroom, resume_offset: 0 };
    let mut net = incast(us(200));
    for node in &mut net.0.nodes {
        if let Role::Switch(own) = &mut node.role {
            let own = std::sync::Arc::make_mut(own);
            (own.shared_memory, own.flow_control) = (Some(memory), control.clone());
        }
    }
    let probe = |what| Probe { every: Some(us(1)), ..everything(what) };
    net.0.probes.chosen = Some([Watched::Occupancy, Watched::Queue].map(probe).into());
    net.0.on_lossless_drop = OnLosslessDrop::Count;
    let one = net.run();
    let three = net.run_on(3, 5_000);
    assert!(["occupancies", "series"].iter().all(|name| one.table(name) == three.table(name)));
    one
}

#[test]
fn a_shared_memory_without_minima_holds_what_waits() {
    let outcome = shared(0, None);
    let most = |entity: &str| series(&outcome, "occupancy_bytes", entity).into_iter().fold(0.0, f64::max);
    // A queue may hold as much as is left free, plus half of the last frame.
    assert!(most("sw") > 19_000.0 && most("sw") <= 20_500.0, "{}", most("sw"));
    for place in ["sw/3", "sw.0->h0", "sw.0->h0/3", "sw shared"] {
        assert_eq!(bins(&outcome, place, "B"), bins(&outcome, "sw", "B"), "{place}");
        let of = |entity: &str| series(&outcome, "occupancy_bytes", entity);
        assert_eq!(of(place), of("sw"), "{place}");
    }
    assert_eq!(
        series(&outcome, "occupancy_bytes", "sw.0->h0/3"),
        series(&outcome, "queue_bytes", "sw.0->h0/3")
    );
    assert_eq!(bins(&outcome, "sw headroom", "B"), Bins::from([((0, 1), us(200).ps())]));
    assert!(bins(&outcome, "sw shared", "frames").is_empty());
}

#[test]
fn headroom_is_used_once_the_shared_part_is_full() {
    let outcome = shared(16_000, Some(pfc(0x08).into()));
    assert!(!outcome.pauses().is_empty());
    let of = |entity: &str| series(&outcome, "occupancy_bytes", entity);
    let (all, own, room) = (of("sw"), of("sw shared"), of("sw headroom"));
    let most = |values: &[f64]| values.iter().copied().fold(0.0, f64::max);
    assert!(most(&own) <= 24_000.0 && most(&room) <= 16_000.0 && most(&room) > 0.0, "{own:?} {room:?}");
    for at in 0..all.len() {
        let (least, sum) = (own[at].max(room[at]), own[at] + room[at]);
        assert!((least..=sum).contains(&all[at]), "bin {at}: {} of {least} to {sum}", all[at]);
    }
}

#[test]
fn a_warm_up_does_not_count() {
    let mut net = incast(us(200));
    net.0.warmup = us(20);
    let outcome = net.run();
    let frames = bins(&outcome, "sw.0->h0/3", "frames");
    assert_eq!(frames.values().sum::<u64>(), us(180).ps());
    let mean = frames.iter().map(|(bin, ps)| (bin.0 * ps) as f64).sum::<f64>() / us(180).ps() as f64;
    let at = outcome.texts("queues", "port").iter().position(|port| port == "sw.0->h0").unwrap();
    let recorded = outcome.reals("queues", "queue_frames_mean")[at];
    assert!((mean - recorded).abs() < 1e-9 && mean > 1.0, "{mean} for {recorded}");
}

/// A slow receiver: the frames that it has not read are counted at its port.
#[test]
fn a_slow_receiver_holds_what_it_has_not_read() {
    let mut net = Net::new(us(50));
    let receive = ReceiveSpec { rate: Some(BitRate::from_gbps(5)), ..ReceiveSpec::default() };
    let a = net.host("a", host());
    let b = net.host("b", HostSpec { receive: Some(receive), ..host() });
    net.link(a, b, gbps(10), ns(0));
    // 1000 B every 1600 ns, each read in 1600 ns: one frame is always present from the first arrival at 816 ns on.
    net.flow("f", a, 3, paced(b, 1000, 1_000_000, Time::ZERO, ns(1600)));
    net.0.probes.chosen = Some(vec![everything(Watched::Occupancy)]);
    let outcome = net.run();
    let frames = bins(&outcome, "b.0->a in/3", "frames");
    assert_eq!(frames, Bins::from([((0, 1), 816_000), ((1, 2), us(50).ps() - 816_000)]));
}

#[test]
fn a_log_says_what_tables_count() {
    let outcome = incast(us(200)).run();
    let log = log(&outcome);
    assert!(log.is_sorted_by_key(|row| row.time));
    let count = |event: &str, port: &str, pause: bool| {
        let own = log.iter().filter(|row| row.event == event && row.port == port);
        own.filter(|row| (row.kind == "pfc") == pause).count() as u64
    };
    for port in outcome.texts("ports", "port") {
        let counted = |column| outcome.count("ports", port, column);
        assert_eq!(count("sent", port, false), counted("frames_sent"), "{port}");
        assert_eq!(count("arrived", port, false), counted("frames_received"), "{port}");
        assert_eq!(count("sent", port, true), counted("pauses_sent") + counted("resumes_sent"), "{port}");
    }
    // h1 sends its first frame at 100 ns: 1020 B at 800 ps per byte, 50 ns of cable.
    let first: Vec<&Row> = log.iter().filter(|row| row.flow == "f1" && row.created == 100_000).collect();
    let recorded: Vec<(u64, &str, &str, &str)> = first
        .iter()
        .map(|row| (row.time, row.port.as_str(), row.direction.as_str(), row.event.as_str()))
        .collect();
    assert_eq!(recorded[..2], [(100_000, "h1.0->sw", "out", "sent"), (966_000, "sw.1->h1", "in", "arrived")]);
    assert_eq!((recorded.len(), &first[0].ends), (4, &["h1".to_string(), "h0".to_string()]));
    // A pause for priority 3 with the maximum time, and its end.
    let pauses: Vec<&Row> = log.iter().filter(|row| row.kind == "pfc" && row.event == "sent").collect();
    assert_eq!((pauses[0].word, pauses[0].bytes), (0x08 | 0xFFFF << 16, 64));
    assert!(pauses.iter().any(|row| row.word & 0xFFFF == 0x08 << 8));
    assert_eq!((&pauses[0].ends[0], pauses[0].ends[1].starts_with('h')), (&"sw".to_string(), true));
}

#[test]
fn a_log_is_capped_and_sampled_alike_on_all_threads() {
    let all = log(&incast(us(200)).run());
    let chosen = |most, one_in, start, which: &str| {
        let mut net = incast(us(200));
        let which = Which::Named(vec![Pattern::new(which)]);
        net.0.probes.chosen =
            Some(vec![Probe { which, max_rows: most, one_in, start, ..everything(Watched::Frames) }]);
        let once = log(&net.run());
        for threads in [2, 3] {
            assert_eq!(once, log(&net.run_on(threads, u64::MAX)), "{threads} threads");
        }
        once
    };
    let at_sw = |row: &&Row| row.port.starts_with("sw") && row.time >= us(5).ps();
    let expected: Vec<Row> = all.iter().filter(at_sw).take(50).cloned().collect();
    assert_eq!(chosen(50, 1, us(5), "sw"), expected);
    let sampled = chosen(1_000_000, 4, Time::ZERO, "*");
    let frames = |rows: &[Row]| {
        let mut seen: BTreeMap<(String, u64), usize> = BTreeMap::new();
        for row in rows.iter().filter(|row| row.kind == "raw") {
            *seen.entry((row.flow.clone(), row.created)).or_default() += 1;
        }
        seen
    };
    let (whole, part) = (frames(&all), frames(&sampled));
    assert!((60..120).contains(&part.len()) && whole.len() > 300, "{} of {}", part.len(), whole.len());
    // A frame is logged at all of its ports or at none.
    assert!(part.iter().all(|(frame, rows)| whole[frame] == *rows));
    let pauses = |rows: &[Row]| rows.iter().filter(|row| row.kind == "pfc").count();
    assert_eq!(pauses(&sampled), pauses(&all));
}

#[test]
fn lost_frames_are_dropped_where_they_are_lost() {
    let mut net = Net::new(us(20));
    let a = net.host("a", host());
    let b = net.host("b", host());
    let limit = queueing::BufferSpec { queue: Some(units::Amount::Frames(1)), ..Default::default() };
    let sw = net.switch("sw", SwitchSpec { buffer: limit, ..switch() });
    net.link(a, sw, gbps(100), ns(0));
    net.link(sw, b, gbps(10), ns(0));
    net.flow("f", a, 0, burst(b, 1000, 4, Time::ZERO));
    net.0.faults = vec![fabric::spec::FaultSpec::FrameLoss {
        link: 1,
        towards: None,
        from: Time::ZERO,
        until: ns(300),
        probability: 1.0,
    }];
    net.0.probes.chosen = Some(vec![everything(Watched::Frames)]);
    let log = log(&net.run());
    let dropped: Vec<(&str, &str, &str)> = log
        .iter()
        .filter(|row| row.event == "dropped")
        .map(|row| (row.port.as_str(), row.direction.as_str(), row.cause.as_str()))
        .collect();
    // The first is sent and lost on the link, the second is queued, the others are dropped.
    let full = ("sw.1->b", "out", "queue_limit");
    assert_eq!(dropped, [full, full, ("b.0->sw", "in", "link_loss")]);
    let arrived = log.iter().filter(|row| row.event == "arrived" && row.port == "b.0->sw").count();
    assert_eq!(arrived, 1);
}

#[test]
fn pauses_are_chosen() {
    let all = incast(us(200)).run().pauses();
    let chosen = |which, most| {
        let mut net = incast(us(200));
        net.0.probes.chosen = Some(vec![Probe { which, max_rows: most, ..everything(Watched::Pauses) }]);
        net.run()
    };
    let named = |name: &str| Which::Named(vec![Pattern::new(name)]);
    let of_h1: Vec<Pause> = all.iter().filter(|pause| pause.port == "h1.0->sw").cloned().collect();
    assert!(of_h1.len() > 1 && of_h1.len() < all.len());
    for name in ["h1", "h1.0->sw/3", "h1/3"] {
        assert_eq!(chosen(named(name), u64::MAX).pauses(), of_h1, "{name}");
    }
    assert_eq!(chosen(named("h1/2"), u64::MAX).pauses(), []);
    let mut longest = all.clone();
    longest.sort_by_key(|pause| std::cmp::Reverse(pause.end - pause.start));
    let two = chosen(Which::Busiest(2), u64::MAX).pauses();
    assert_eq!(two.len(), 2);
    assert!(two.iter().all(|pause| longest[..2].contains(pause)));
    let mut first = all.clone();
    first.sort_by_key(|pause| pause.start);
    let capped = chosen(Which::All, 3);
    assert!(capped.pauses().len() == 3 && capped.pauses().iter().all(|pause| first[..3].contains(pause)));
    // Totals include all pauses.
    let tree = |outcome: &Outcome| outcome.reals("congestion", "paused_ns").iter().sum::<f64>();
    assert_eq!(tree(&capped), tree(&incast(us(200)).run()));
}
