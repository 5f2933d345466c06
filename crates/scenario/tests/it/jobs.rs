//! Jobs: collectives on a star compared with closed forms, runs on several threads, and jobs that must be rejected.

use fabric::Simulation;
use measure::{Table, Values};
use scenario::load;

const RATE: f64 = 100e9;
const FRAME: u64 = 4_200;
/// Data bytes of a full frame, the largest MTU that fits.
const DATA: u64 = 4_096;
/// Bytes of each frame other than data: tagged Ethernet, IPv4, UDP, BTH, ICRC.
const HEADERS: u64 = 66;
/// Bytes of preamble and inter-frame gap.
const AROUND: u64 = 20;

fn text(hosts: u32, job: &str, rest: &str) -> String {
    format!(
        "[simulation]\nduration = \"1 s\"\n[topology.star]\nhosts = {hosts}\nrate = \"100 Gb/s\"\nlength = \"100 m\"\nphy = \"none\"\n\
         [switch]\nlatency = \"500 ns\"\n[[jobs]]\nname = \"job\"\nranks = \"all\"\nframe = \"{FRAME} B\"\n{job}\n{rest}"
    )
}

fn simulation(text: &str, threads: usize) -> Simulation {
    let scenario = load(text, "jobs.toml", None).unwrap_or_else(|wrong| panic!("{wrong}\n{text}"));
    let mut simulation = Simulation::on_threads(&scenario.spec, threads).expect("it builds");
    simulation.run().expect("it runs");
    simulation
}

pub fn table<'t>(tables: &'t [Table], name: &str) -> &'t Table {
    tables.iter().find(|table| table.spec.name == name).expect("a table of each name")
}

pub fn real(tables: &[Table], name: &str, column: &str) -> Vec<f64> {
    match table(tables, name).values(column) {
        Some(Values::Real(values)) => values.clone(),
        Some(Values::Integer(values)) => values.iter().map(|&value| value as f64).collect(),
        other => panic!("{name}.{column} is {other:?}"),
    }
}

/// Returns the seconds for which a frame with `data` bytes of data occupies a link.
fn wire(data: u64) -> f64 {
    ((data + HEADERS).max(64) + AROUND) as f64 * 8.0 / RATE
}

/// Returns the seconds for which a message occupies a link.
fn serial(bytes: u64) -> f64 {
    let (full, last) = (bytes / DATA, bytes % DATA);
    full as f64 * wire(DATA) + if last > 0 || full == 0 { wire(last) } else { 0.0 }
}

/// Returns the seconds from the posting of a message to the delivery of its last byte, over a host's link and the
/// switch.
fn alone(bytes: u64) -> f64 {
    // The switch stores each frame. A short last frame waits there until the full one before it has left.
    serial(bytes) + wire(bytes.min(DATA)) + 500e-9 + 2.0 * 500e-9
}

fn log2(n: u32) -> u32 {
    n.next_power_of_two().ilog2()
}

/// Returns the time of the only iteration in seconds.
fn time(n: u32, workload: &str) -> f64 {
    let job = format!("workload = {{ {workload} }}\nover = {{ rdma = {{}} }}");
    let tables = simulation(&text(n, &job, ""), 1).tables();
    assert_eq!(real(&tables, "jobs", "finished"), [1.0], "{workload} of {n}");
    assert_eq!(table(&tables, "rank_waits").rows(), 0);
    real(&tables, "collectives", "time_ns")[0] * 1e-9
}

fn check(n: u32, workload: &str, expected: f64) {
    let time = time(n, workload);
    // The last message is acknowledged before its rank ends.
    let expected = expected + alone(0);
    let off = time / expected - 1.0;
    assert!(off.abs() < 0.02, "{workload} of {n}: {time:e} s, not {expected:e} s: {:.1} %", 100.0 * off);
}

#[test]
fn collectives_take_what_the_algebra_says() {
    for n in [2, 3, 4, 5, 8, 16] {
        let s = u64::from(n) * 200_000;
        let steps = |count: u32, bytes: u64| f64::from(count) * alone(bytes);
        let of = |collective: &str, algorithm: &str| {
            format!("collective = \"{collective}\", algorithm = \"{algorithm}\", bytes = \"{s} B\"")
        };
        check(n, &of("all_reduce", "ring"), steps(2 * (n - 1), s / u64::from(n)));
        check(n, &of("reduce_scatter", "ring"), steps(n - 1, s / u64::from(n)));
        check(n, &of("all_gather", "ring"), steps(n - 1, s / u64::from(n)));
        // A rank also waits for the acknowledgement of its own message.
        let sendrecv = alone(s / u64::from(n)) + alone(0);
        check(n, &of("all_to_all", "shifted"), f64::from(n - 1) * sendrecv - alone(0));
        if n.is_power_of_two() {
            let halves: f64 = (1..=n.ilog2()).map(|k| alone(s >> k)).sum();
            check(n, &of("all_reduce", "halving_doubling"), 2.0 * halves);
            check(n, &of("reduce_scatter", "halving_doubling"), halves);
            check(n, &of("all_gather", "halving_doubling"), halves);
            check(n, &of("all_reduce", "recursive_doubling"), steps(n.ilog2(), s));
            check(n, &of("all_to_all", "bruck"), steps(n.ilog2(), s / 2));
            check(n, &of("reduce", "binomial"), steps(log2(n), s));
        } else {
            // Two more steps for the ranks beyond the power of two. Ranks that need not wait for them send at once, so
            // that messages of two steps share a link: at most one vector in each direction.
            let folded = time(n, &of("all_reduce", "recursive_doubling")) / steps(n.ilog2() + 2, s);
            let shared = 2.0 * serial(s) / steps(n.ilog2() + 2, s);
            assert!((0.98..1.02 + shared).contains(&folded), "{n}: {folded} of the formula");
        }
        let pieces = format!("{}, chunks = 64", of("broadcast", "ring"));
        let piece = s / 64;
        check(n, &pieces, alone(piece) * f64::from(n - 1) + 63.0 * serial(piece));
    }
}

#[test]
fn a_burst_is_no_faster_than_the_nic_of_a_receiver() {
    for n in [3, 8] {
        let s = u64::from(n) * 200_000;
        let workload = format!("collective = \"all_to_all\", algorithm = \"burst\", bytes = \"{s} B\"");
        let time = time(n, &workload);
        let wire = (u64::from(n - 1) * 200_000) as f64 * 8.0 / RATE;
        assert!(time >= wire && time < 1.1 * wire + 2.0 * alone(0), "{n}: {time:e} of {wire:e} s");
    }
}

#[test]
fn trees_take_between_their_bounds() {
    for n in [2, 3, 5, 8, 16] {
        let s = 4_000_000;
        let tree = format!(
            "collective = \"all_reduce\", algorithm = \"double_tree\", bytes = \"{s} B\", chunks = 32"
        );
        let time = time(n, &tree);
        let least = 2.0 * (s as f64 * 8.0 / RATE) * f64::from(n - 1) / f64::from(n);
        let most = 2.0 * f64::from(log2(n)) * 2.1 * alone(s / 64) + 2.1 * alone(s);
        assert!(time > least && time < most, "{n}: {time:e} s is not from {least:e} to {most:e} s");
    }
}

#[test]
fn a_fixed_cost_per_message_is_a_rate_whatever_the_network() {
    for rate in ["200 Gb/s", "400 Gb/s", "800 Gb/s"] {
        let job = "workload = { collective = \"send_receive\", bytes = \"32 MiB\", chunks = 256 }\noverhead = \"10 us\"";
        let text = text(2, job, "").replace("100 Gb/s", rate);
        let tables = simulation(&text, 1).tables();
        // 128 KiB in 10 us, and once the receiver's cost and the path of the last message.
        let seconds = real(&tables, "collectives", "time_ns")[0] * 1e-9;
        let expected = 256.0 * 10e-6 + 10e-6 + (128 << 10) as f64 * 8.0 / 200e9;
        assert!((seconds / expected - 1.0).abs() < 0.01, "{rate}: {seconds:e} s, not {expected:e} s");
        let bandwidth = (32 << 20) as f64 / seconds / 1e9;
        assert!((bandwidth / 13.1 - 1.0).abs() < 0.01, "{rate}: {bandwidth} GB/s");
    }
}

#[test]
fn a_barrier_takes_a_message_a_round() {
    for n in [2, 3, 5, 16] {
        check(n, "collective = \"barrier\"", f64::from(log2(n)) * alone(0));
    }
}

#[test]
fn the_run_is_the_same_on_any_number_of_threads() {
    let rings = "workload = { collective = \"all_reduce\", bytes = \"400 kB\", chunks = 2 }\niterations = 3\ncompute = \"7 us\"\noverhead = \"300 ns\"";
    let beside = "[[jobs]]\nname = \"other\"\nranks = [\"h1\", \"h4\", \"h2\"]\nplacement = \"random\"\n\
                  workload = { collective = \"all_to_all\", algorithm = \"burst\", bytes = \"300 kB\" }\n\
                  over = { tcp = {} }\niterations = 2\n";
    let text = text(6, rings, beside);
    let of = |threads: usize| {
        let mut simulation = simulation(&text, threads);
        let tables = simulation.tables();
        assert_eq!(real(&tables, "jobs", "finished"), [3.0, 2.0]);
        (simulation.fingerprint(), format!("{tables:?}"))
    };
    let alone = of(1);
    for threads in [2, 3] {
        let several = of(threads);
        assert_eq!(several.0, alone.0, "{threads} threads");
        assert!(several.1 == alone.1, "tables differ on {threads} threads");
    }
}

#[test]
fn bytes_between_ranks_are_those_of_the_algorithm() {
    for over in ["rdma = {}", "tcp = {}"] {
        let job = format!(
            "workload = {{ collective = \"all_reduce\", bytes = \"1000003 B\", chunks = 3 }}\niterations = 2\nover = {{ {over} }}"
        );
        let tables = simulation(&text(5, &job, ""), 1).tables();
        let bytes: f64 = real(&tables, "messages", "bytes").iter().sum();
        assert_eq!(bytes, 2.0 * 2.0 * 4.0 * 1_000_003.0, "{over}");
        assert_eq!(real(&tables, "messages", "messages"), [2.0 * 3.0 * 8.0; 5], "{over}");
        assert_eq!(real(&tables, "messages", "unacknowledged"), [0.0; 5]);
        let (bus, bound) = (real(&tables, "jobs", "bus_bps")[0], real(&tables, "jobs", "bound_bps")[0]);
        assert!(bound == RATE && bus < bound, "{over}: {bus:e} of {bound:e}");
    }
}

fn refused(job: &str) -> String {
    load(&text(4, job, ""), "jobs.toml", None).map(|_| ()).expect_err(job).to_string()
}

#[test]
fn what_is_wrong_is_said() {
    let ring = "workload = { collective = \"all_reduce\", bytes = \"1 MB\" }";
    for (job, expected) in [
        ("workload = { collective = \"all_reduce\" }", "no bytes of all_reduce"),
        (
            "workload = { collective = \"all_reduce\", algorithm = \"bruck\", bytes = \"1 MB\" }",
            "\"bruck\" is not an algorithm of all_reduce",
        ),
        ("workload = { collective = \"all_reduze\", bytes = \"1 MB\" }", "all_reduce"),
        (
            "workload = { collective = \"all_reduce\", algorithm = \"hierarchical\", bytes = \"1 MB\" }",
            "hierarchical without a group",
        ),
        (
            "workload = { collective = \"all_reduce\", algorithm = \"hierarchical\", group = 3, bytes = \"1 MB\" }",
            "groups of 3 among 4 ranks",
        ),
        ("workload = { collective = \"broadcast\", root = 4, bytes = \"1 MB\" }", "root 4 of 4 ranks"),
        ("workload = { collective = \"all_to_all\", skew = -1.0, bytes = \"1 MB\" }", "a skew of -1"),
        ("workload = { collective = \"all_reduce\", chunks = 0, bytes = \"1 MB\" }", "0 chunks"),
        (&format!("{ring}\niterations = 0"), "0 iterations"),
        (&format!("{ring}\npriority = 8"), "priority 8"),
        (&format!("{ring}\nover = {{ rdma = {{ verb = \"read\" }} }}"), "a job that reads"),
        (&format!("{ring}\nover = {{ rdma = {{ queue_pairs = \"each\" }} }}"), "queue_pairs of a job"),
    ] {
        let message = refused(job);
        assert!(message.contains(expected), "{job}\n{message}");
    }
    let one = text(4, ring, "").replace("ranks = \"all\"", "ranks = \"h1\"");
    let message = load(&one, "jobs.toml", None).map(|_| ()).expect_err("one rank").to_string();
    assert!(message.contains("a job of one rank"), "{message}");
}

#[test]
fn keys_without_effect_are_warnings() {
    for (workload, key) in [
        ("collective = \"barrier\", bytes = \"1 B\"", "bytes"),
        ("collective = \"all_reduce\", bytes = \"1 MB\", root = 1", "root"),
        ("collective = \"all_reduce\", bytes = \"1 MB\", group = 2", "group"),
        ("collective = \"all_reduce\", bytes = \"1 MB\", skew = 1.0", "skew"),
    ] {
        let scenario =
            load(&text(4, &format!("workload = {{ {workload} }}"), ""), "jobs.toml", None).expect(workload);
        let warnings: Vec<String> = scenario.warnings.iter().map(|one| one.message.clone()).collect();
        assert!(
            warnings.iter().any(|one| one.starts_with(&format!("`{key}` has no effect"))),
            "{workload}: {warnings:?}"
        );
    }
}

#[test]
fn a_schedule_runs_as_its_operations_say() {
    let folder = std::env::temp_dir().join(format!("penstock-schedule-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    // A message to the rank itself, a computation of 5 us, a message of 200,000 B, a reply from any sender, and a
    // parallel computation that starts with the receive.
    let goal = "num_ranks 2\nrank 0 {\na: send 8b to 0 tag 3\nb: recv 8b from 0 tag 3\nc: calc 5000\nd: send 200000b to 1 tag 1\n\
                e: recv 64b from -1 tag -1\nc requires b\nd requires c\ne requires d\n}\nrank 1 {\nl1: recv 200000b from 0 tag 1\n\
                l2: send 64b to 0 tag 9\nl3: calc 3000 cpu 1\nl2 requires l1\nl3 irequires l1\n}\n";
    std::fs::write(folder.join("two.goal"), goal).expect("a file");
    let job = "workload = { goal = \"two.goal\" }\niterations = 2";
    let text = text(2, job, "");
    let scenario = load(&text, "jobs.toml", Some(&folder)).expect("a scenario");
    std::fs::remove_dir_all(&folder).expect("the folder");
    let mut simulation = Simulation::on_threads(&scenario.spec, 1).expect("it builds");
    simulation.run().expect("it runs");
    let tables = simulation.tables();
    assert_eq!(real(&tables, "jobs", "finished"), [2.0]);
    // The send of 200,000 B exceeds the eager limit, so that it ends with its acknowledgement. The reply may arrive
    // before that.
    let one = 5e-6 + alone(200_000) + alone(64);
    let took = real(&tables, "jobs", "step_ns")[0] * 1e-9;
    assert!((took - one).abs() < alone(0) && took > one * 0.98, "{took:e} s, not {one:e} s");
    // The mean of 5 us of rank 0 and 3 us of rank 1.
    assert_eq!(real(&tables, "jobs", "compute_ns"), [4000.0]);
    assert_eq!(real(&tables, "messages", "bytes"), [400_000.0, 128.0]);
}
