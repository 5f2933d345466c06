//! Jobs whose messages are frames without a transport: closed forms on a star, any path and flow control, lost frames.

use crate::jobs::{real, table};
use fabric::Simulation;
use measure::{Table, Values};
use proptest::prelude::*;
use scenario::load;

/// Data bytes of a full frame.
const DATA: u64 = 1_500;
/// A star of HOSTS hosts.
pub const STAR: &str = "[topology.star]\nphy = \"none\"\nhosts = HOSTS\nrate = \"100 Gb/s\"\nlength = \"100 m\"\n[switch]\nlatency = \"500 ns\"\n";
const LEAVES: &str = "[topology.leaf_spine]\nphy = \"none\"\nleaves = 2\nspines = 3\nhosts_per_leaf = 4\nrate = \"100 Gb/s\"\nuplink_rate = \"100 Gb/s\"\n";

fn text(fabric: &str, job: &str, rest: &str) -> String {
    format!(
        "[simulation]\nduration = \"20 ms\"\n{fabric}\n{rest}\n[[jobs]]\nname = \"job\"\nranks = \"all\"\nover = \"frames\"\n\
         frame = \"1518 B\"\n{job}\n"
    )
}

fn star(hosts: u32, job: &str, rest: &str) -> String {
    text(&STAR.replace("HOSTS", &hosts.to_string()), job, rest)
}

/// Returns fingerprint and tables of a run.
pub fn run(text: &str, threads: usize) -> (u64, Vec<Table>) {
    let scenario = load(text, "job.toml", None).unwrap_or_else(|wrong| panic!("{wrong}\n{text}"));
    let mut simulation = Simulation::on_threads(&scenario.spec, threads).expect("it builds");
    simulation.run().expect("it runs");
    (simulation.fingerprint(), simulation.tables())
}

pub fn texts(tables: &[Table], name: &str, column: &str) -> Vec<String> {
    match table(tables, name).values(column) {
        Some(Values::Text(values)) => values.iter().map(|own| own.to_string()).collect(),
        other => panic!("{name}.{column} is {other:?}"),
    }
}

/// Returns the picoseconds for which a frame with `data` bytes of data occupies a link: 18 B of header, 20 B of line
/// overhead, 80 ps per byte.
fn wire(data: u64) -> u64 {
    ((data + 18).max(64) + 20) * 80
}

/// Returns the picoseconds for which the frames of a message occupy a link: full ones, and the remainder.
fn serial(bytes: u64) -> u64 {
    bytes / DATA * wire(DATA) + if bytes == 0 || !bytes.is_multiple_of(DATA) { wire(bytes % DATA) } else { 0 }
}

/// Returns the picoseconds from the posting of a message of full frames, or of one frame, to its delivery. After the
/// latency of the switch, the last frame crosses the second link on its own. Each link has a delay of 500 ns.
fn alone(bytes: u64) -> u64 {
    serial(bytes) + wire(bytes.min(DATA)) + 500_000 + 2 * 500_000
}

fn picoseconds(tables: &[Table], name: &str, column: &str) -> Vec<u64> {
    real(tables, name, column).into_iter().map(|ns| (ns * 1e3).round() as u64).collect()
}

#[test]
fn rings_and_direct_exchanges_take_exactly_what_the_frames_take() {
    for n in [2, 3, 5, 8] {
        let part = 40 * DATA;
        let bytes = u64::from(n) * part;
        for (workload, expected) in [
            ("collective = \"all_reduce\", algorithm = \"ring\"", 2 * u64::from(n - 1) * alone(part)),
            ("collective = \"all_gather\", algorithm = \"ring\"", u64::from(n - 1) * alone(part)),
            ("collective = \"all_to_all\", algorithm = \"shifted\"", u64::from(n - 1) * alone(part)),
        ] {
            let (_, tables) =
                run(&star(n, &format!("workload = {{ {workload}, bytes = \"{bytes} B\" }}"), ""), 1);
            assert_eq!(picoseconds(&tables, "collectives", "time_ns"), [expected], "{workload} of {n}");
            // A message has been sent when its last bit has left the NIC, regardless of the duration of its path.
            let times = picoseconds(&tables, "messages", "time_max_ns");
            assert!(times.iter().all(|&time| time == serial(part)), "{workload} of {n}: {times:?}");
        }
        let rounds = u64::from(n.next_power_of_two().ilog2());
        let (_, tables) = run(&star(n, "workload = { collective = \"barrier\" }", ""), 1);
        assert_eq!(picoseconds(&tables, "collectives", "time_ns"), [rounds * alone(0)], "barrier of {n}");
    }
}

#[test]
fn a_pause_of_the_nic_keeps_a_message_from_having_been_sent() {
    // Three senders to one receiver; its switch pauses them.
    let job = "workload = { collective = \"all_to_all\", algorithm = \"burst\", skew = 8.0, bytes = \"3 MB\" }\npriority = 3";
    let (_, tables) = run(&star(4, job, "[flow_control.pfc]"), 1);
    let (times, bytes) =
        (picoseconds(&tables, "messages", "time_max_ns"), real(&tables, "messages", "bytes"));
    let large: Vec<u64> = times.iter().zip(&bytes).filter(|own| *own.1 > 1e6).map(|own| *own.0).collect();
    // All three share the link of rank 0, and the headroom of the switch is much smaller than a message.
    assert_eq!(large.len(), 3);
    assert!(large.iter().all(|&time| time > 2 * serial(2_900_000)), "{large:?}");
    assert_eq!(real(&tables, "jobs", "finished"), [1.0]);
}

#[test]
fn host_costs_and_schedules_are_as_over_a_transport() {
    let folder = std::env::temp_dir().join(format!("penstock-frames-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let goal = "num_ranks 2\nrank 0 {\na: calc 2000\nb: send 150000b to 1 tag 1\nc: recv 64b from -1 tag -1\nb requires a\nc requires b\n}\n\
                rank 1 {\na: recv 150000b from 0 tag 1\nb: send 64b to 0 tag 9\nb requires a\n}\n";
    std::fs::write(folder.join("two.goal"), goal).expect("a file");
    let job = "workload = { goal = \"two.goal\" }\noverhead = \"300 ns\"\noverhead_per_byte = \"10 ps\"";
    let scenario = load(&star(2, job, ""), "job.toml", Some(&folder)).expect("a scenario");
    std::fs::remove_dir_all(&folder).expect("the folder");
    let mut simulation = Simulation::on_threads(&scenario.spec, 1).expect("it builds");
    simulation.run().expect("it runs");
    let cost = |bytes: u64| 300_000 + 10 * bytes;
    let there = 2_000_000 + cost(150_000) + alone(150_000) + cost(150_000);
    let back = cost(64) + alone(64) + cost(64);
    assert_eq!(picoseconds(&simulation.tables(), "jobs", "step_ns"), [there + back]);
}

#[test]
fn frames_take_any_path_under_any_flow_control_on_any_number_of_threads() {
    let job = "placement = \"spread\"\nworkload = { collective = \"all_to_all\", bytes = \"600 kB\" }\npriority = 3\niterations = 2\ncompute = \"3 us\"";
    for paths in ["spray", "round_robin", "least_queued", "adaptive", "hash"] {
        for control in ["[flow_control.pfc]", "[flow_control.credit]", "[flow_control.pause]"] {
            let rest = format!("[switch]\npath_choice = \"{paths}\"\n{control}");
            let text = text(LEAVES, job, &rest);
            let alone = run(&text, 1);
            assert_eq!(real(&alone.1, "jobs", "finished"), [2.0], "{paths}, {control}");
            let received: f64 = real(&alone.1, "messages", "messages").iter().sum();
            assert_eq!(received, 2.0 * 8.0 * 7.0);
            for threads in [2, 3] {
                let several = run(&text, threads);
                assert_eq!(several.0, alone.0, "{paths}, {control} on {threads} threads");
                assert_eq!(format!("{:?}", several.1), format!("{:?}", alone.1), "{paths}, {control}");
            }
        }
    }
}

#[test]
fn a_lost_frame_ends_the_job_and_is_named() {
    let job = "workload = { collective = \"all_reduce\", bytes = \"600 kB\" }\niterations = 3";
    for (fault, cause) in [
        ("down = true\nat = \"20 us\"\nduration = \"1 us\"", "lost"),
        ("down = true\nat = \"20 us\"", "link down"),
        ("frame_loss = 0.5\nfrom = \"20 us\"\nuntil = \"21 us\"", "lost"),
    ] {
        let rest = format!("[[faults]]\nlink = [\"h2\", \"sw\"]\n{fault}\n");
        let text = star(4, job, &rest);
        let (fingerprint, tables) = run(&text, 1);
        let causes = texts(&tables, "rank_waits", "cause");
        let root = causes.iter().position(|own| own == cause);
        assert!(root.is_some(), "{fault}: {causes:?}");
        assert!(causes.iter().all(|own| own == "not posted" || own == cause), "{fault}: {causes:?}");
        assert_eq!(run(&text, 3).0, fingerprint, "{fault}");
    }
}

#[test]
fn a_message_that_nobody_sends_is_not_one_that_is_lost() {
    let folder = std::env::temp_dir().join(format!("penstock-never-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let goal = "num_ranks 2\nrank 0 {\na: send 100b to 1 tag 5\n}\nrank 1 {\na: recv 100b from 0 tag 6\n}\n";
    std::fs::write(folder.join("two.goal"), goal).expect("a file");
    let scenario = load(&star(2, "workload = { goal = \"two.goal\" }", ""), "job.toml", Some(&folder))
        .expect("a scenario");
    std::fs::remove_dir_all(&folder).expect("the folder");
    let mut simulation = Simulation::on_threads(&scenario.spec, 1).expect("it builds");
    simulation.run().expect("it runs");
    assert_eq!(texts(&simulation.tables(), "rank_waits", "cause"), ["peer ended"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn messages_are_counted_whatever_their_lengths(
        hosts in 2u32..7,
        bytes in 1u64..300_000,
        frame in prop::sample::select(vec![64u64, 200, 1518, 9000]),
        header in 1u64..60,
        collective in prop::sample::select(vec!["all_reduce", "all_gather", "reduce_scatter", "all_to_all"]),
        chunks in 1u32..4,
    ) {
        let job = format!(
            "workload = {{ collective = \"{collective}\", bytes = \"{bytes} B\", chunks = {chunks} }}\nheader = \"{header} B\"\niterations = 2"
        );
        let text = star(hosts, &job, "").replace("1518 B", &format!("{frame} B"));
        let (_, tables) = run(&text, 1);
        prop_assert_eq!(real(&tables, "jobs", "finished"), [2.0]);
        let sent: f64 = real(&tables, "messages", "bytes").iter().sum();
        let share = if collective == "all_reduce" { 2.0 } else { 1.0 };
        let whole = 2.0 * share * f64::from(hosts - 1) * bytes as f64;
        // An all-to-all sends n vectors minus the parts of each rank itself, which differ by a byte.
        let near = if collective == "all_to_all" { f64::from(2 * hosts * chunks) } else { 0.0 };
        prop_assert!((sent - whole).abs() <= near, "{} of {}", sent, whole);
        let frames = table(&tables, "flows");
        prop_assert!(frames.rows() > 0);
    }
}
