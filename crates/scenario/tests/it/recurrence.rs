//! Iterations that repeat earlier ones exactly: the runs that have them, that skipping them changes no time, and states
//! that must not be mistaken for recurrences.

use crate::jobs::{real, table};
use fabric::Simulation;
use measure::{Table, Values};
use proptest::prelude::*;
use scenario::load;

const STAR: &str = "[topology.star]\nhosts = 8\nrate = \"100 Gb/s\"\nphy = \"none\"\n";
const LEAF_SPINE: &str = "[topology.leaf_spine]\nleaves = 4\nspines = 2\nhosts_per_leaf = 4\nrate = \"100 Gb/s\"\nphy = \"none\"\n\
                          uplink_rate = \"100 Gb/s\"\n";
const SMALL: &str = "[topology.leaf_spine]\nleaves = 2\nspines = 2\nhosts_per_leaf = 2\nrate = \"100 Gb/s\"\nphy = \"none\"\n\
                     uplink_rate = \"100 Gb/s\"\n";
const PFC: &str = "[flow_control.pfc]\n";

/// Returns a job with this workload over RDMA with a control.
fn job(workload: &str, control: &str, iterations: u32) -> String {
    format!(
        "[[jobs]]\nname = \"train\"\nranks = \"all\"\nworkload = {{ {workload} }}\npriority = 3\n\
         over = {{ rdma = {{ control = \"{control}\" }} }}\niterations = {iterations}\n"
    )
}

fn run(skip: &str, rest: &str, threads: usize) -> Vec<Table> {
    simulate(skip, rest, threads).tables()
}

/// Returns the tables of a run, and the number of frame-hops that were simulated.
fn run_with_hops(skip: &str, rest: &str, threads: usize) -> (Vec<Table>, f64) {
    let mut simulation = simulate(skip, rest, threads);
    (simulation.tables(), (simulation.frame_hops() - simulation.skipped_hops()) as f64)
}

fn simulate(skip: &str, rest: &str, threads: usize) -> Simulation {
    simulate_for("100 ms", skip, rest, threads)
}

fn simulate_for(duration: &str, skip: &str, rest: &str, threads: usize) -> Simulation {
    let text = format!("[simulation]\nduration = \"{duration}\"\nskip = \"{skip}\"\n{rest}");
    let scenario = load(&text, "repeats.toml", None).unwrap_or_else(|wrong| panic!("{wrong}\n{text}"));
    let mut simulation = Simulation::on_threads(&scenario.spec, threads).expect("it builds");
    simulation.run().unwrap_or_else(|wrong| panic!("{wrong}\n{text}"));
    simulation
}

fn texts(tables: &[Table], column: &str) -> Vec<String> {
    match table(tables, "jobs").values(column) {
        Some(Values::Text(texts)) => texts.clone(),
        other => panic!("jobs.{column} is {other:?}"),
    }
}

/// Columns about skipping itself, and about the part of the run with recorded steps.
const ABOUT_SKIPPING: [&str; 7] =
    ["skipped", "skipped_phases", "repeats_from", "repeat_period", "repeat_ns", "not_repeated", "recorded"];

/// Tables that cover only the iterations before the first skipped one.
const OF_EVENTS: [&str; 1] = ["rank_steps"];

/// Returns the values of all tables that count, as text with all bits.
fn counts(tables: &[Table]) -> Vec<String> {
    let counting = tables.iter().filter(|table| !OF_EVENTS.contains(&table.spec.name));
    let columns = counting.flat_map(|table| table.columns.iter().map(|column| (table.spec.name, column)));
    let left = columns.filter(|(_, column)| !ABOUT_SKIPPING.contains(&column.spec.name));
    left.map(|(table, column)| format!("{table}.{} {:?}", column.spec.name, column.values)).collect()
}

fn assert_same(whole: &[Table], short: &[Table], rest: &str) {
    for (one, other) in counts(whole).into_iter().zip(counts(short)) {
        assert_eq!(one, other, "{rest}");
    }
}

/// Runs with and without skipping, compares them, and returns the tables of the run with skipping.
fn check(rest: &str, threads: usize) -> Vec<Table> {
    check_for("100 ms", rest, threads)
}

fn check_for(duration: &str, rest: &str, threads: usize) -> Vec<Table> {
    let mut whole = simulate_for(duration, "check", rest, 1);
    let (fingerprint, tables) = (whole.fingerprint(), whole.tables());
    let [skipping, _] = ["iterations", "phases"].map(|skip| {
        let mut short = simulate_for(duration, skip, rest, threads);
        let own = short.tables();
        assert_same(&tables, &own, &format!("{skip}: {rest}"));
        assert_eq!(fingerprint, short.fingerprint(), "{skip}: {rest}");
        own
    });
    skipping
}

#[test]
fn rings_repeat_and_skipping_changes_no_time() {
    for (fabric, workload) in [
        (STAR, "collective = \"all_reduce\", bytes = \"1 MB\""),
        (STAR, "collective = \"all_to_all\", bytes = \"800 kB\""),
        (LEAF_SPINE, "collective = \"all_reduce\", bytes = \"1 MB\""),
    ] {
        for control in ["none", "dcqcn"] {
            let rest = format!("{fabric}{PFC}{}", job(workload, control, 60));
            let tables = check(&rest, 2);
            let [period, skipped] = ["repeat_period", "skipped"].map(|name| real(&tables, "jobs", name)[0]);
            let why = texts(&tables, "not_repeated");
            assert!(
                period > 0.0 && skipped >= 30.0,
                "{workload} over {control}: {period}, {skipped}, {why:?}"
            );
            assert_eq!(real(&tables, "jobs", "finished"), [60.0]);
        }
    }
}

#[test]
fn a_hundred_iterations_of_a_ring_and_of_an_all_to_all_cost_less_than_five() {
    for collective in ["all_reduce", "all_to_all"] {
        let frames = |skip: &str, iterations: u32| {
            let workload = format!("collective = \"{collective}\", bytes = \"4 MB\"");
            let rest = format!("{STAR}{PFC}{}", job(&workload, "none", iterations));
            let (tables, hops) = run_with_hops(skip, &rest, 1);
            assert_eq!(real(&tables, "jobs", "finished"), [f64::from(iterations)]);
            hops
        };
        let (one, hundred) = (frames("off", 1), frames("iterations", 100));
        assert!(hundred < 5.0 * one, "{collective}: {} iterations", hundred / one);
    }
}

#[test]
fn the_steps_of_a_ring_cost_less_than_six_of_them() {
    for (control, chunks, iterations) in [("none", 1, 1), ("none", 2, 2), ("dcqcn", 1, 1)] {
        let workload = format!("collective = \"all_reduce\", bytes = \"32 MB\", chunks = {chunks}");
        let star = STAR.replace("hosts = 8", "hosts = 64");
        let rest = format!("{star}{PFC}{}frame = \"4200 B\"\n", job(&workload, control, iterations));
        let [(whole, all), (short, few)] = ["off", "phases"].map(|skip| run_with_hops(skip, &rest, 2));
        assert_same(&whole, &short, &rest);
        let frames = [all, few];
        assert!(
            frames[1] < frames[0] * 6.0 / 126.0,
            "{control}: {} of 126 phases",
            126.0 * frames[1] / frames[0]
        );
    }
}

/// Blocks that differ by a byte, links of different lengths, and a second job: no step repeats another one, and no time
/// changes.
#[test]
fn steps_that_differ_are_not_skipped() {
    let ring = "collective = \"all_reduce\", bytes = ";
    let other = job("collective = \"barrier\"", "none", 2).replace("train", "other");
    for rest in [
        format!("{STAR}{PFC}{}", job(&format!("{ring}\"1000001 B\""), "none", 2)),
        format!("{LEAF_SPINE}{PFC}{}", job(&format!("{ring}\"1600 kB\""), "none", 2)),
        format!("{STAR}{PFC}{}{other}", job(&format!("{ring}\"800 kB\""), "none", 2)),
    ] {
        let [whole, short] = ["off", "phases"].map(|skip| run(skip, &rest, 1));
        assert_same(&whole, &short, &rest);
        assert!(real(&short, "jobs", "skipped_phases").iter().all(|own| *own == 0.0), "{rest}");
    }
}

/// A run that ends within a ring ends at the same step, with or without skipping.
#[test]
fn a_run_that_ends_within_a_ring_ends_as_the_whole_one() {
    let workload = "collective = \"all_reduce\", bytes = \"8 MB\"";
    for us in [300, 900, 2_000] {
        let rest = format!("{STAR}{PFC}{}", job(workload, "none", 9));
        let [whole, short] = ["off", "phases"].map(|skip| {
            let text = format!("[simulation]\nduration = \"{us} us\"\nskip = \"{skip}\"\n{rest}");
            let scenario = load(&text, "repeats.toml", None).unwrap_or_else(|wrong| panic!("{wrong}"));
            let mut simulation = Simulation::new(&scenario.spec).expect("it builds");
            simulation.run().unwrap_or_else(|wrong| panic!("{wrong}"));
            simulation.tables()
        });
        assert_same(&whole, &short, &format!("{us} us"));
    }
}

#[test]
fn computations_in_turn_give_the_period() {
    let workload = "collective = \"all_reduce\", bytes = \"400 kB\"";
    let rest =
        format!("{STAR}{PFC}{}compute = [\"20 us\", \"50 us\", \"35 us\"]\n", job(workload, "none", 40));
    assert_eq!(real(&check(&rest, 1), "jobs", "repeat_period"), [3.0]);
}

/// The counters at the beginning of a long period are kept until the period has been confirmed.
#[test]
fn a_period_of_twenty_iterations_is_skipped() {
    let computations: Vec<String> = (10..30).map(|us| format!("\"{us} us\"")).collect();
    let rest = format!(
        "{STAR}{PFC}{}compute = [{}]\n",
        job("collective = \"all_reduce\", bytes = \"40 kB\"", "none", 120),
        computations.join(", ")
    );
    let tables = check(&rest, 1);
    assert_eq!(real(&tables, "jobs", "repeat_period"), [20.0]);
    assert!(real(&tables, "jobs", "skipped")[0] >= 20.0);
}

/// Counters are reset after a warm-up: no period that began before is added to them.
#[test]
fn a_period_that_began_within_the_warm_up_is_not_counted() {
    for us in [150, 400, 650, 1_000] {
        let rest = format!(
            "warmup = \"{us} us\"\n{STAR}{PFC}{}compute = \"20 us\"\n",
            job("collective = \"all_reduce\", bytes = \"400 kB\"", "none", 40)
        );
        assert!(real(&check(&rest, 2), "jobs", "skipped")[0] > 0.0, "{us} us");
    }
}

/// Swift and DCTCP over rings with equal times: their windows and shares still change.
#[test]
fn equal_times_are_no_recurrence() {
    let workload = "collective = \"all_reduce\", bytes = \"1 MB\"";
    let rest = format!("{STAR}{PFC}{}", job(workload, "dctcp", 30));
    let tables = check(&rest, 1);
    let steps = real(&tables, "collectives", "time_ns");
    assert!(steps[10..29].windows(2).all(|pair| pair[0] == pair[1]), "{steps:?}");
    assert_eq!(real(&tables, "jobs", "repeat_period"), [0.0]);
    let why = &texts(&tables, "not_repeated")[0];
    assert!(why.starts_with("8 queue pairs differed at the last of"), "{why}");
}

#[test]
fn what_has_no_class_or_its_own_clock_is_never_skipped() {
    let workload = "collective = \"all_reduce\", bytes = \"400 kB\"";
    let own = job(workload, "none", 30);
    let cases = [
        (
            format!("{STAR}{PFC}{}", own.replace("rdma = { control = \"none\" }", "tcp = {}")),
            "transports other than RDMA",
        ),
        (format!("{STAR}{PFC}{}", own.replace("\"none\"", "\"hpcc\"")), "hpcc"),
        (
            format!(
                "{STAR}{PFC}{own}[[faults]]\nlink = [\"h0\", \"sw\"]\nat = \"600 us\"\ndown = true\nduration = \"100 us\"\n"
            ),
            "faults",
        ),
        (
            format!(
                "{STAR}{PFC}{own}[[flows]]\nname = \"other\"\nfrom = \"h0\"\nto = \"h3\"\nsource = {{ constant = {{ rate = \"1 Gb/s\" }} }}\n"
            ),
            "flows beside jobs",
        ),
    ];
    for (rest, why) in cases {
        let tables = check(&rest, 1);
        assert_eq!(real(&tables, "jobs", "skipped"), [0.0], "{rest}");
        assert!(texts(&tables, "not_repeated")[0].contains(why), "{:?}", texts(&tables, "not_repeated"));
    }
}

/// A run that ends before its jobs is simulated to the end.
#[test]
fn jobs_that_do_not_end_are_not_skipped() {
    let workload = "collective = \"all_reduce\", bytes = \"1 MB\"";
    let rest = format!("{STAR}{PFC}{}", job(workload, "none", 100_000));
    let tables = run("iterations", &rest, 1);
    assert_eq!(real(&tables, "jobs", "skipped"), [0.0]);
    assert!(real(&tables, "jobs", "repeat_period")[0] > 0.0);
}

#[test]
fn the_recurrence_is_the_same_on_any_number_of_threads_and_found_without_skipping() {
    let workload = "collective = \"all_reduce\", bytes = \"4 MB\"";
    let rest = format!("{STAR}{PFC}{}", job(workload, "none", 40));
    let own = |threads: usize| {
        let tables = run("off", &rest, threads);
        ABOUT_SKIPPING.map(|name| format!("{:?}", table(&tables, "jobs").values(name)))
    };
    let alone = own(1);
    assert_eq!(alone, own(2));
    assert_eq!(alone, own(3));
    assert!(alone[3].contains("[1]"), "{alone:?}");
}

/// The iterations of both jobs keep their numbers if some of them were skipped.
#[test]
fn iterations_after_skipped_ones_have_their_numbers() {
    let train = job("collective = \"all_reduce\", bytes = \"12 kB\"", "none", 11);
    let other = job("collective = \"all_to_all\", bytes = \"341 kB\"", "none", 40);
    let other = other.replace("train", "other").replace("priority = 3", "priority = 4");
    let rest = format!("{SMALL}{train}compute = [\"5 us\", \"9 us\"]\n{other}");
    let tables = check(&rest, 1);
    assert_eq!(real(&tables, "jobs", "skipped"), [2.0, 2.0]);
    assert_eq!(texts(&tables, "not_repeated"), ["", ""]);
}

/// Events of a fabric other than forwarding, in skipped iterations, are counted, listed and plotted as in the complete
/// run.
fn check_events(what: &str, rest: &str) {
    let tables = check_for("1 s", &format!("[probes]\nbin = \"137 us\"\npauses = true\n{rest}"), 2);
    assert!(table(&tables, what).rows() > 0, "no {what}");
    assert!(real(&tables, "jobs", "skipped")[0] > 0.0, "{:?}", texts(&tables, "not_repeated"));
}

#[test]
fn pauses_within_skipped_iterations_are_those_of_the_whole_run() {
    for collective in ["\"all_reduce\", algorithm = \"recursive_doubling\"", "\"all_to_all\""] {
        let job = job(&format!("collective = {collective}, bytes = \"400 kB\""), "none", 24);
        check_events("pauses", &format!("{SMALL}{PFC}{job}compute = \"3 ms\"\n"));
    }
}

#[test]
fn losses_within_skipped_iterations_are_those_of_the_whole_run() {
    let shallow = "[switch]\nbuffer = { queue = \"60 kB\" }\n";
    let job = job("collective = \"all_to_all\", bytes = \"400 kB\"", "none", 24);
    check_events("drops", &format!("{SMALL}{shallow}{job}compute = \"1 ms\"\n"));
}

fn any_job() -> impl Strategy<Value = (String, usize)> {
    let workloads = prop::sample::select(vec![
        "collective = \"all_reduce\"",
        "collective = \"all_reduce\", algorithm = \"recursive_doubling\"",
        "collective = \"all_reduce\", algorithm = \"double_tree\", chunks = 4",
        "collective = \"all_reduce\", algorithm = \"in_network\"",
        "collective = \"all_to_all\"",
        "collective = \"all_to_all\", algorithm = \"burst\"",
        "collective = \"broadcast\"",
        "collective = \"send_receive\", chunks = 3",
    ]);
    let controls = prop::sample::select(vec!["none", "dcqcn", "dctcp", "timely", "swift"]);
    let fabrics = prop::sample::select(vec![STAR, SMALL]);
    let compute = prop::sample::select(vec!["", "compute = \"10 us\"\n", "compute = [\"5 us\", \"9 us\"]\n"]);
    // Another job on the same links, which ends earlier or later.
    let other = prop::option::of((10u32..400, 8u32..50)).prop_map(|other| {
        other.map_or(String::new(), |(kb, iterations)| {
            let workload = format!("collective = \"all_to_all\", bytes = \"{kb} kB\"");
            job(&workload, "none", iterations)
                .replace("train", "other")
                .replace("priority = 3", "priority = 4")
        })
    });
    let bins = prop::sample::select(vec!["off", "317 ns", "7 us", "50 us", "3 ms"]);
    let probes = bins.prop_map(|bin| format!("[probes]\nbin = \"{bin}\"\npauses = true\n"));
    let sizes = (10u32..400, 8u32..50);
    (workloads, controls, fabrics, compute, other, probes, sizes, any::<bool>(), 1usize..4).prop_map(
        |(workload, control, fabric, compute, other, probes, (kb, iterations), lossless, threads)| {
            let workload = format!("{workload}, bytes = \"{kb} kB\"");
            let pauses = if lossless { PFC } else { "" };
            let job = job(&workload, control, iterations);
            (format!("{fabric}{pauses}{probes}{job}{compute}{other}"), threads)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn skipping_changes_no_time((rest, threads) in any_job()) {
        check(&rest, threads);
    }
}
