//! Jobs with in-network reductions: closed forms, trees of fabrics, several jobs, lost messages, scenarios that must be
//! rejected.

use crate::job_frames::{STAR, run, texts};
use crate::jobs::{real, table};
use measure::Table;
use proptest::prelude::*;
use scenario::load;

fn text(fabric: &str, job: &str, rest: &str) -> String {
    format!(
        "[simulation]\nduration = \"50 ms\"\n{fabric}\n{rest}\n[[jobs]]\nname = \"job\"\nranks = \"all\"\n{job}\n"
    )
}

fn star(hosts: u32, job: &str, rest: &str) -> String {
    text(&STAR.replace("HOSTS", &hosts.to_string()), job, rest)
}

fn workload(collective: &str, rest: &str) -> String {
    format!("workload = {{ collective = \"{collective}\", algorithm = \"in_network\"{rest} }}")
}

fn picoseconds(tables: &[Table]) -> u64 {
    (real(tables, "collectives", "time_ns")[0] * 1e3).round() as u64
}

/// Picoseconds for which a full frame of 1,518 B occupies a link of 100 Gb/s.
const WIRE: u64 = (1_518 + 20) * 80;
/// Picoseconds from the start of a segment at its rank to the end of its result there. It crosses both links (500 ns
/// each) and passes the switch twice; the frames of all ranks pass the unit's link one after the other; and the unit
/// adds its latency.
const ROUND: u64 = 4 * WIRE + 2 * 500_000 + 2 * 500_000 + 100_000;

#[test]
fn frames_on_a_star_take_exactly_bytes_over_rate_and_a_round() {
    for n in [2, 4, 8] {
        for (segments, outstanding) in [(1, 128), (400, 128), (40, 1)] {
            let bytes = segments * 1_500;
            let rest = format!(", bytes = \"{bytes} B\", segment = \"1500 B\", outstanding = {outstanding}");
            let job = format!("{}\nover = \"frames\"\nframe = \"1518 B\"", workload("all_reduce", &rest));
            let (_, tables) = run(&star(n, &job, ""), 1);
            // With one outstanding segment, each follows a round after the previous one. The ranks start it one after
            // the other, in the order in which they received the copies of the previous result, so that the frames do
            // not queue again on the link of the unit.
            let each = if outstanding == 1 { ROUND - u64::from(n - 1) * WIRE / u64::from(n) } else { WIRE };
            let expected = ROUND + (segments - 1) * each;
            assert_eq!(picoseconds(&tables), expected, "{segments} segments of {n} ranks");
            // Each rank sends the vector once. The unit, which is numbered after the ranks, sends a copy to each rank.
            let bytes_of = real(&tables, "messages", "bytes");
            assert!(bytes_of.iter().all(|&own| own == bytes as f64), "{bytes_of:?}");
            assert_eq!(bytes_of.len(), 2 * n as usize);
        }
        let (_, tables) = run(&star(n, &format!("{}\nover = \"frames\"", workload("barrier", "")), ""), 1);
        let short = 84 * 80;
        assert_eq!(picoseconds(&tables), 4 * short + ROUND - 4 * WIRE, "barrier of {n}");
    }
}

#[test]
fn queue_pairs_on_a_star_take_bytes_over_rate_and_a_round() {
    for (n, collective) in [(2, "all_reduce"), (8, "all_reduce"), (5, "reduce"), (5, "broadcast")] {
        let rest = ", bytes = \"4 MiB\"";
        let job = format!(
            "{}\nover = {{ rdma = {{ control = \"none\" }} }}\nframe = \"4200 B\"",
            workload(collective, rest)
        );
        let (_, tables) = run(&star(n, &job, ""), 1);
        // Each direction carries data, acknowledgements of the other direction, or both.
        let data = (4_096 + 66 + 20) as f64 * 1_024.0 * 80.0;
        let acks = 84.0 * 1_024.0 * 80.0;
        let expected =
            data + if collective == "all_reduce" { acks } else { 0.0 } + 4.0 * 4_182.0 * 80.0 + 2.1e6;
        let time = picoseconds(&tables) as f64;
        assert!((time / expected - 1.0).abs() < 0.02, "{collective} of {n}: {time} of {expected} ps");
        let bound = real(&tables, "collectives", "bound_ns")[0];
        assert_eq!(bound, (4u64 << 20) as f64 * 0.08, "{collective} of {n}");
        let factor = if collective == "all_reduce" { 2.0 * f64::from(n - 1) / f64::from(n) } else { 1.0 };
        assert!((real(&tables, "jobs", "bound_bps")[0] / (factor * 100e9) - 1.0).abs() < 1e-12);
        assert!(real(&tables, "jobs", "bus_bps")[0] < factor * 100e9);
    }
}

#[test]
fn twice_as_fast_as_a_ring_on_fabrics_of_levels() {
    let leaves = "[topology.leaf_spine]\nphy = \"none\"\nleaves = 4\nspines = 2\nhosts_per_leaf = 4\nrate = \"100 Gb/s\"\nuplink_rate = \"100 Gb/s\"\n";
    let fat = "[topology.fat_tree]\nphy = \"none\"\nk = 4\nrate = \"100 Gb/s\"\n";
    let rails = "[topology.rails]\nphy = \"none\"\nsegments = 2\nservers_per_segment = 4\nrails = 2\nspines = 2\nrate = \"100 Gb/s\"\nuplink_rate = \"100 Gb/s\"\n";
    for (fabric, units) in [(leaves, 5), (fat, 13), (rails, 5)] {
        let of = |algorithm: &str| {
            let job = format!(
                "workload = {{ collective = \"all_reduce\", algorithm = \"{algorithm}\", bytes = \"4 MB\" }}\nframe = \"4200 B\"\npriority = 3"
            );
            run(&text(fabric, &job, "[flow_control.pfc]"), 1).1
        };
        let (ring, reduced) = (of("ring"), of("in_network"));
        let times = [&ring, &reduced].map(|tables| picoseconds(tables));
        let share = times[1] as f64 / times[0] as f64;
        assert!((0.5..0.62).contains(&share), "{fabric}: {times:?}");
        assert_eq!(real(&reduced, "jobs", "ranks"), real(&ring, "jobs", "ranks"), "units are no ranks");
        let mut sources = texts(&reduced, "messages", "source");
        sources.retain(|name| name.ends_with(".reduction"));
        sources.sort();
        sources.dedup();
        assert_eq!(sources.len(), units, "{sources:?}");
    }
}

#[test]
fn any_transport_and_any_number_of_threads() {
    let leaves = "[topology.leaf_spine]\nphy = \"none\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 3\nrate = \"100 Gb/s\"\nuplink_rate = \"100 Gb/s\"\n";
    for over in ["\"frames\"", "{ rdma = {} }", "{ tcp = {} }", "{ uet = {} }"] {
        let job = format!(
            "{}\nover = {over}\npriority = 3\niterations = 2\ncompute = \"3 us\"\noverhead = \"50 ns\"",
            workload("all_reduce", ", bytes = \"200 kB\", outstanding = 16")
        );
        let text = text(leaves, &job, "[flow_control.pfc]\n[switch]\nlatency = \"300 ns\"");
        let alone = run(&text, 1);
        assert_eq!(real(&alone.1, "jobs", "finished"), [2.0], "{over}");
        assert_eq!(table(&alone.1, "rank_waits").rows(), 0, "{over}");
        // 49 segments in each iteration, sent up once by each of six ranks.
        assert_eq!(real(&alone.1, "jobs", "messages"), [2.0 * 6.0 * 49.0], "{over}");
        for threads in [2, 3] {
            assert_eq!(run(&text, threads).0, alone.0, "{over} on {threads} threads");
        }
    }
}

#[test]
fn jobs_share_the_units_of_switches() {
    let own = |name: &str, ranks: &str| {
        format!(
            "[[jobs]]\nname = \"{name}\"\nranks = {ranks}\n{}\n",
            workload("all_reduce", ", bytes = \"1 MB\"")
        )
    };
    let all = format!("{}{}", own("one", "[\"h0\", \"h1\"]"), own("two", "[\"h2\", \"h3\"]"));
    let together = format!("[simulation]\nduration = \"50 ms\"\n{}{all}", STAR.replace("HOSTS", "4"));
    let (_, tables) = run(&together, 1);
    assert_eq!(real(&tables, "jobs", "finished"), [1.0, 1.0]);
    let ports = texts(&tables, "ports", "port");
    assert_eq!(ports.iter().filter(|name| name.ends_with("->sw.reduction")).count(), 1, "{ports:?}");
    // A unit with half of the total rate of the four links is no bottleneck for two jobs at a time, but one with a
    // quarter is.
    let time = |text: &str| real(&run(text, 1).1, "collectives", "time_ns")[0];
    let slower = together.replace("algorithm", "reduction_rate = \"200 Gb/s\", algorithm");
    let (fast, slow) = (time(&together), time(&slower));
    assert!((1.8..2.2).contains(&(slow / fast)), "{fast} and {slow} ns");
}

#[test]
fn a_lost_segment_and_a_slow_rank_are_named() {
    let job = format!("{}\nover = \"frames\"", workload("all_reduce", ", bytes = \"1 MB\""));
    let fault = "[[faults]]\nlink = [\"h2\", \"sw\"]\ndown = true\nat = \"20 us\"\nduration = \"1 us\"\n";
    let (_, tables) = run(&star(4, &job, fault), 1);
    let [hosts, peers, causes] =
        ["host", "peer_host", "cause"].map(|column| texts(&tables, "rank_waits", column));
    let rows: Vec<_> = hosts.iter().zip(&peers).zip(&causes).collect();
    // Segments to and from the host are lost. Every chain of waits ends at one of these.
    assert!(
        rows.iter().any(|((own, peer), cause)| {
            (own.as_str() == "sw.reduction" && peer.as_str() == "h2" || own.as_str() == "h2")
                && *cause == "lost"
        }),
        "{rows:?}"
    );
    let slow = format!("{job}\ncompute = \"20 us\"\nstragglers = {{ hosts = \"h3\", slowdown = 3.0 }}");
    let (_, tables) = run(&star(4, &slow, ""), 1);
    // All ranks wait for the computation of h3, which takes 60 us.
    assert!(real(&tables, "jobs", "step_ns")[0] > 60e3 + 80e3);
}

#[test]
fn what_is_wrong_is_said() {
    let bytes = ", bytes = \"1 MB\"";
    let at = |rest: &str| star(4, &workload("all_reduce", &format!("{bytes}{rest}")), "");
    let (one, two) = (
        workload("all_reduce", bytes),
        workload("reduce", &format!("{bytes}, reduction_latency = \"1 us\"")),
    );
    let several = format!("{}[[jobs]]\nname = \"other\"\nranks = \"all\"\n{two}\n", star(4, &one, ""));
    let direct = "[simulation]\nduration = \"1 ms\"\n[topology.explicit]\nhosts = [\"a\", \"b\"]\nswitches = []\n\
                  links = [{ between = [\"a\", \"b\"], rate = \"10 Gb/s\" }]\n[[jobs]]\nname = \"job\"\nranks = \"all\"\n";
    let named = "[simulation]\nduration = \"1 ms\"\n[topology.explicit]\nhosts = [\"a\", \"s.reduction\"]\nswitches = [\"s\"]\n\
                 links = [{ between = [\"a\", \"s\"], rate = \"10 Gb/s\" }, { between = [\"s.reduction\", \"s\"], rate = \"10 Gb/s\" }]\n\
                 [[jobs]]\nname = \"job\"\nranks = \"all\"\n";
    let flow = "[[flows]]\nname = \"f\"\nfrom = \"h0\"\nto = \"sw.reduction\"\nsource = \"greedy\"\n";
    for (text, expected) in [
        (at(", segment = \"0 B\""), "segments of 0 B"),
        (at(", outstanding = 0"), "0 outstanding segments"),
        (at(", outstanding = 65537"), "65537 outstanding segments"),
        (at(", reduction_rate = \"0 b/s\""), "a unit at 0 b/s"),
        (at(", reduction_latency = \"2 s\""), "a latency of 2 s"),
        (star(4, &workload("all_gather", bytes), ""), "\"in_network\" is not an algorithm of all_gather"),
        (several, "units with a reduction_latency of 1 us, and of 100 ns in the job \"job\""),
        (format!("{direct}{one}"), "\"a\" is not connected to a switch, and switches reduce"),
        (format!("{named}{one}"), "the unit of a switch would be called \"s.reduction\""),
        (star(4, &one, flow), "unknown host \"sw.reduction\""),
    ] {
        let message = load(&text, "reduction.toml", None).map(|_| ()).expect_err(expected).to_string();
        assert!(message.contains(expected), "{message}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]
    #[test]
    fn every_rank_gets_every_segment(
        fabric in prop::sample::select(vec![
            STAR.replace("HOSTS", "9"),
            "[topology.leaf_spine]\nphy = \"none\"\nleaves = 3\nspines = 2\nhosts_per_leaf = 3\nrate = \"100 Gb/s\"\nuplink_rate = \"100 Gb/s\"\n".into(),
            "[topology.fat_tree]\nphy = \"none\"\nk = 4\nrate = \"100 Gb/s\"\n".into(),
        ]),
        chosen in prop::collection::btree_set(0u32..9, 2..9),
        bytes in 1u64..60_000,
        segment in 500u64..9_000,
        outstanding in 1u32..20,
        collective in prop::sample::select(vec!["all_reduce", "reduce", "broadcast"]),
        over in prop::sample::select(vec!["\"frames\"", "{ rdma = {} }"]),
    ) {
        let ranks: Vec<String> = chosen.iter().map(|host| format!("\"h{host}\"")).collect();
        let rest = format!(", bytes = \"{bytes} B\", segment = \"{segment} B\", outstanding = {outstanding}");
        let job = format!("{}\nover = {over}\npriority = 3\niterations = 2", workload(collective, &rest));
        let text = text(&fabric, &job, "[flow_control.pfc]").replace("\"all\"", &format!("[{}]", ranks.join(", ")));
        let alone = run(&text, 1);
        prop_assert_eq!(real(&alone.1, "jobs", "finished"), [2.0]);
        let (n, segments) = (chosen.len() as f64, 2.0 * bytes.div_ceil(segment) as f64);
        prop_assert_eq!(real(&alone.1, "jobs", "messages"), [n * segments]);
        let sent = if collective == "broadcast" { 1.0 } else { n };
        prop_assert_eq!(real(&alone.1, "jobs", "bytes_sent"), [2.0 * sent * bytes as f64]);
        prop_assert_eq!(run(&text, 3).0, alone.0);
    }
}
