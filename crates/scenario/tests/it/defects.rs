//! Regression tests: combinations of features that once gave wrong results.

use fabric::Simulation;
use measure::{Table, Values};
use scenario::load;

/// Runs a scenario to its end.
fn run(text: &str) -> Vec<Table> {
    let scenario = load(text, "defect.toml", None).unwrap_or_else(|why| panic!("{why}"));
    let mut simulation = Simulation::new(&scenario.spec).expect("it builds");
    simulation.run().unwrap_or_else(|why| panic!("{why}"));
    simulation.tables()
}

fn column<'a>(tables: &'a [Table], table: &str, column: &str) -> &'a Values {
    let table = tables.iter().find(|one| one.spec.name == table).expect("a table");
    &table.columns.iter().find(|one| one.spec.name == column).expect("a column").values
}

fn reals(values: &Values) -> Vec<f64> {
    match values {
        Values::Integer(all) => all.iter().map(|&one| one as f64).collect(),
        Values::Real(all) => all.clone(),
        Values::Text(_) | Values::Named { .. } => panic!("a column of names"),
    }
}

/// Returns the value of a column of the table `flows` for one flow.
fn flow(tables: &[Table], name: &str, what: &str) -> f64 {
    let Values::Text(names) = column(tables, "flows", "flow") else { panic!("names") };
    let at = names.iter().position(|one| one == name).unwrap_or_else(|| panic!("no {name} in {names:?}"));
    reals(column(tables, "flows", what))[at]
}

/// Returns the maximum of a time series at a node, over all its places and times.
fn largest(tables: &[Table], metric: &str, node: &str) -> f64 {
    let [metrics, entities] = ["metric", "entity"].map(|name| match column(tables, "series", name) {
        Values::Named { names, of } => {
            of.iter().map(|&name| names[name as usize].as_str()).collect::<Vec<_>>()
        }
        other => panic!("{name} is {other:?}"),
    });
    let values = reals(column(tables, "series", "value"));
    let of_node = |at: usize| metrics[at] == metric && entities[at].starts_with(node);
    let all: Vec<f64> = (0..values.len()).filter(|&at| of_node(at)).map(|at| values[at]).collect();
    assert!(!all.is_empty(), "no {metric} of {node} among {entities:?}");
    all.into_iter().fold(0.0, f64::max)
}

/// A pause that expires while the queue is empty is over. Even during the pause, a frame of another priority that need
/// not wait takes no memory, even if the memory is full.
#[test]
fn a_pause_that_is_over_or_of_another_priority_does_not_cost_frames_at_an_idle_port() {
    let scenario = |quanta: u32, burst: &str| {
        format!(
            r#"
[simulation]
duration = "3 ms"
warmup = "500 us"
on_lossless_drop = "count"
[topology.star]
hosts = 6
rate = "10 Gb/s"
phy = "none"
[switch]
buffer = {{ total = "40 frames" }}
[flow_control.pfc]
priorities = [3]
[hosts.h4.flow_control.pfc]
priorities = [3]
resume = false
refresh = false
pause_quanta = {quanta}
[hosts.h4.receive]
rate = "5 Gb/s"
buffer = "40 KiB"
[[flows]]
name = "bg"
from = ["h0", "h1"]
to = "h2"
priority = 0
source = "greedy"
[[flows]]
name = "innocent"
from = "h3"
to = "h4"
priority = 0
source = {{ constant = {{ rate = "1 Gb/s" }} }}
[[flows]]
name = "burst"
from = "h5"
to = "h4"
priority = 3
limit = "{burst}"
source = {{ constant = {{ rate = "10 Gb/s" }} }}
"#
        )
    };
    for (quanta, burst) in [(1000, "66 KiB"), (65_535, "66 KiB"), (65_535, "200 KiB")] {
        for scheduler in ["strict_priority", "drr", "wfq"] {
            let text = scenario(quanta, burst)
                .replace("[switch]\n", &format!("[switch]\nscheduler = \"{scheduler}\"\n"));
            let tables = run(&text);
            assert_eq!(flow(&tables, "innocent", "frames_dropped"), 0.0, "{quanta} {burst} {scheduler}");
            assert!(flow(&tables, "innocent", "frames_delivered") > 200.0);
            // A tie decides which of the two loses frames.
            let lost = flow(&tables, "bg[h0]", "frames_dropped") + flow(&tables, "bg[h1]", "frames_dropped");
            assert!(lost > 100.0, "the memory is full");
        }
    }
}

/// A NIC holds back only a class that is full or paused.
#[test]
fn a_paused_priority_leaves_the_others_of_its_nic_alone() {
    let scenario = |limit: &str, scheduler: &str| {
        format!(
            r#"
[simulation]
duration = "10 ms"
[topology.star]
hosts = 5
rate = "10 Gb/s"
phy = "none"
[hosts.h0]
queue_limit = "{limit}"
scheduler = "{scheduler}"
[flow_control.pfc]
priorities = [3]
[[flows]]
name = "other"
from = "h0"
to = "h1"
priority = 0
source = {{ constant = {{ rate = "10 Gb/s" }} }}
[[flows]]
name = "lossless"
from = "h0"
to = "h2"
priority = 3
source = {{ constant = {{ rate = "10 Gb/s" }} }}
[[flows]]
name = "incast"
from = ["h3", "h4"]
to = "h2"
priority = 3
source = "greedy"
"#
        )
    };
    for limit in ["2 frames", "10 frames", "64 KiB"] {
        for scheduler in ["drr", "strict_priority"] {
            let tables = run(&scenario(limit, scheduler));
            let (other, lossless) =
                (flow(&tables, "other", "throughput_bps"), flow(&tables, "lossless", "throughput_bps"));
            // The link of h0 is saturated: one flow uses the share that the other leaves. The line overhead is 20 B per
            // frame.
            assert!(other + lossless > 9.8e9, "{limit} {scheduler}: {other} + {lossless}");
            assert!((2.5e9..3.5e9).contains(&lossless), "{limit} {scheduler}: {lossless}");
        }
    }
}

/// PAUSE stops all priorities together, so that they share one receive buffer and one counter.
#[test]
fn a_receive_buffer_and_its_counter_agree_also_when_pauses_are_lost() {
    let scenario = |control: &str, again: &str| {
        format!(
            r#"
[simulation]
duration = "4 ms"
on_lossless_drop = "count"
[topology.star]
hosts = 3
rate = "10 Gb/s"
phy = "none"
[flow_control.{control}]
pause_quanta = 5000
[hosts.h2.receive]
rate = "4 Gb/s"
buffer = "60 KiB"
[[flows]]
name = "p0"
from = "h0"
to = "h2"
priority = 0
source = {{ constant = {{ rate = "4 Gb/s" }} }}
script = [{{ at = "400 us", stop = true }}, {{ at = "1 ms", start = true, rate = "{again}" }}]
[[flows]]
name = "p1"
from = "h1"
to = "h2"
priority = 1
source = {{ constant = {{ rate = "4 Gb/s" }} }}
script = [{{ at = "400 us", stop = true }}, {{ at = "1 ms", start = true, rate = "{again}" }}]
[[faults]]
link = ["sw", "h2"]
pause_loss = 1.0
until = "400 us"
"#
        )
    };
    for control in ["pause", "pfc"] {
        for again in ["0.5 Gb/s", "4 Gb/s"] {
            let tables = run(&scenario(control, again));
            let peak = largest(&tables, "queue_bytes", "h2");
            assert!(peak <= 60.0 * 1024.0, "{control} {again}: {peak} B in a buffer of 60 KiB");
            if again == "4 Gb/s" {
                let sent = reals(column(&tables, "ports", "pauses_sent")).into_iter().fold(0.0, f64::max);
                assert!(sent > 0.0, "{control}: the host pauses again once its pauses arrive");
                let drops = |name: &str| flow(&tables, name, "frames_dropped");
                assert!(drops("p0") + drops("p1") > 0.0, "while pauses are lost, frames are");
            }
        }
    }
}

/// The documented maximum works: 65,536 ports at one switch, with each kind of accounting.
#[test]
fn a_switch_may_have_65536_ports() {
    for accounting in ["egress", "ingress"] {
        let tables = run(&format!(
            r#"
[simulation]
duration = "50 us"
on_lossless_drop = "count"
[probes]
bin = "off"
[topology.star]
hosts = 65536
rate = "10 Gb/s"
phy = "none"
[host]
queues = "shared"
[switch]
queues = "shared"
[flow_control.pfc]
accounting = "{accounting}"
xoff = "4 frames"
xon = "2 frames"
[[flows]]
name = "a"
from = ["h0", "h65535"]
to = "h2"
source = "greedy"
"#
        ));
        let pauses = reals(column(&tables, "ports", "pauses_sent")).into_iter().sum::<f64>();
        assert!(pauses > 0.0, "{accounting}");
    }
}

/// A host with two links respects its limit on both, even if one flow has several destinations, and loses nothing.
#[test]
fn a_host_with_two_links_obeys_its_limit_on_both() {
    for to in ["[\"x\", \"y\"]", "\"y\"", "\"x\""] {
        let tables = run(&format!(
            r#"
[simulation]
duration = "2 ms"
[topology.explicit]
hosts = ["a", "x", "y"]
switches = ["s1", "s2"]
links = [
 {{ between = ["a", "s1"], rate = "10 Gb/s", phy = "none" }},
 {{ between = ["a", "s2"], rate = "10 Gb/s", phy = "none" }},
 {{ between = ["s1", "x"], rate = "10 Gb/s", phy = "none" }},
 {{ between = ["s2", "y"], rate = "10 Gb/s", phy = "none" }},
]
[host]
queue_limit = "4 frames"
[[flows]]
name = "f"
from = "a"
to = {to}
source = {{ constant = {{ rate = "40 Gb/s" }} }}
"#
        ));
        let most = reals(column(&tables, "queues", "queue_frames_max")).into_iter().fold(0.0, f64::max);
        assert!((3.0..=4.0).contains(&most), "{to}: {most} frames");
    }
}

/// Returns the reason why a run stopped.
fn stopped(text: &str) -> String {
    let scenario = load(text, "defect.toml", None).unwrap_or_else(|why| panic!("{why}"));
    let mut simulation = Simulation::new(&scenario.spec).expect("it builds");
    simulation.run().expect_err("a frame of a lossless class is lost").to_string()
}

/// Returns the amount after these words, such as "12345 B".
fn amount_after<'a>(text: &'a str, words: &str) -> &'a str {
    let rest = text.split_once(words).unwrap_or_else(|| panic!("no \"{words}\" in: {text}")).1;
    let end = rest.match_indices(' ').nth(1).map_or(rest.len(), |(at, _)| at);
    rest[..end].trim_end_matches([';', '.', ','])
}

/// Returns a star with greedy flows of priority 3, pauses per priority, and special settings.
fn greedy_star(from: &[&str], to: &str, special: &str) -> String {
    format!(
        r#"
[simulation]
duration = "1 ms"
[topology.star]
hosts = {hosts}
rate = "10 Gb/s"
length = "100 m"
phy = "none"
[[flows]]
name = "f"
from = {from:?}
to = "{to}"
priority = 3
source = "greedy"
{special}
"#,
        hosts = from.len() + 1,
    )
}

/// Two ports with ingress accounting fill a queue with a limit. The levels that the message proposes avoid losses.
#[test]
fn advice_on_watermarks_makes_the_run_pass() {
    let scenario = |xoff: &str, limit: &str| {
        let keys = format!(
            "[switch.buffer]\nqueue = \"{limit}\"\n[flow_control.pfc]\nxoff = \"{xoff}\"\nxon = \"6 kB\""
        );
        greedy_star(&["h0", "h1", "h2"], "h3", &keys)
    };
    let why = stopped(&scenario("40 kB", "100 kB"));
    let xoff = amount_after(&why, "lower XOFF to at most ").to_string();
    let limit = amount_after(&why, "raise the limit to at least ").to_string();
    for text in [scenario(&xoff, "100 kB"), scenario("40 kB", &limit)] {
        let tables = run(&text);
        assert_eq!(flow(&tables, "f[h0]", "frames_dropped"), 0.0, "{why}");
        assert!(reals(column(&tables, "ports", "pauses_sent")).into_iter().sum::<f64>() > 0.0);
    }
}

/// If pauses are lost, no watermark helps, and the message proposes none.
#[test]
fn advice_names_lost_pauses_and_not_xoff() {
    let scenario = |fault: &str| greedy_star(&["h0", "h1"], "h2", &format!("[flow_control.pfc]\n{fault}"));
    let why = stopped(&scenario("[[faults]]\nlink = \"all\"\npause_loss = 1.0"));
    assert!(why.contains("pause frames of \"sw\" were lost on the way, by pause_loss"), "{why}");
    assert!(why.contains("Take that fault away") && !why.contains("ower XOFF"), "{why}");
    assert_eq!(flow(&run(&scenario("")), "f[h0]", "frames_dropped"), 0.0);
}

/// The message names a host that does not obey pauses. Once it does, nothing is lost.
#[test]
fn advice_names_a_host_that_does_not_obey() {
    let scenario = |own: &str| greedy_star(&["h0", "h1"], "h2", &format!("[flow_control.pfc]\n{own}"));
    let why = stopped(&scenario("[hosts.h1]\nflow_control = \"off\""));
    assert!(why.contains("\"h1\" does not obey pauses of priority 3"), "{why}");
    assert!(why.contains("give it flow_control") && !why.contains("ower XOFF"), "{why}");
    assert_eq!(flow(&run(&scenario("")), "f[h1]", "frames_dropped"), 0.0);
}

/// If a queue manager drops frames, no watermark helps. Without the manager, nothing is lost.
#[test]
fn advice_names_a_queue_manager_that_drops() {
    let scenario =
        |manager: &str| greedy_star(&["h0", "h1"], "h2", &format!("{manager}\n[flow_control.pfc]"));
    let why = stopped(&scenario(
        "[[switch.queue_managers]]\nclasses = [3]\nred = { min = \"5 kB\", max = \"10 kB\" }",
    ));
    assert!(why.contains("A queue manager dropped it") && !why.contains("ower XOFF"), "{why}");
    assert!(why.contains("remove priority 3 from it"), "{why}");
    assert_eq!(flow(&run(&scenario("")), "f[h0]", "frames_dropped"), 0.0);
}

/// A transfer of any size sends exactly its bytes. The last frame is short, and its padding to 64 B is reported
/// separately.
#[test]
fn a_limit_below_or_between_frames_is_sent_whole() {
    for (limit, frames, sent, padding) in [
        ("1000 B", 1.0, 1_000.0, 0.0),
        ("10 kB", 7.0, 10_000.0, 0.0),
        ("1 B", 1.0, 64.0, 63.0),
        ("1523 B", 2.0, 1_586.0, 63.0),
    ] {
        for source in
            ["\"greedy\"", "{ constant = { rate = \"1 Gb/s\" } }", "{ poisson = { rate = \"1 Gb/s\" } }"]
        {
            let tables = run(&format!(
                "[simulation]\nduration = \"1 ms\"\n[topology.star]\nhosts = 2\nrate = \"10 Gb/s\"\nphy = \"none\"\n\
                 [[flows]]\nname = \"f\"\nfrom = \"h0\"\nto = \"h1\"\nlimit = \"{limit}\"\nsource = {source}\n"
            ));
            let counted =
                ["frames_delivered", "bytes_delivered", "padding_bytes"].map(|what| flow(&tables, "f", what));
            assert_eq!(counted, [frames, sent, padding], "{limit} of {source}");
        }
    }
}

/// Pauses that expire before they are obeyed, or that are not refreshed: the message names the cause, and its proposal
/// suffices.
#[test]
fn advice_names_pauses_that_end_too_early() {
    let scenario = |keys: &str| {
        format!(
            r#"
[simulation]
duration = "1 ms"
on_lossless_drop = "count"
[topology.star]
hosts = 3
rate = "100 Gb/s"
length = "100 m"
phy = "none"
[flow_control.pfc]
{keys}
[host.receive]
rate = "5 Gb/s"
buffer = "200 kB"
[[flows]]
name = "f"
from = ["h1", "h2"]
to = "h0"
priority = 3
source = "greedy"
"#
        )
    };
    // `check` rejects these settings if losses stop the run; a simulation accepts them.
    let stopping = |keys: &str| scenario(keys).replace("\"count\"", "\"stop\"");
    let why = |keys: &str| {
        let mut loaded = load(&scenario(keys), "defect.toml", None).unwrap_or_else(|why| panic!("{why}"));
        loaded.spec.on_lossless_drop = fabric::spec::OnLosslessDrop::Stop;
        let mut simulation = Simulation::new(&loaded.spec).expect("it builds");
        simulation.run().expect_err("a frame of a lossless class is lost").to_string()
    };
    let short = why("pause_quanta = 300");
    let least = short.split_once("pause_quanta has to be at least ").expect("the least").1;
    let least = least.split_once(';').expect("an end").0;
    assert!(!short.contains("ower XOFF"), "{short}");
    run(&stopping(&format!("pause_quanta = {least}")));
    let once = why("pause_quanta = 2000\nrefresh = false");
    assert!(once.contains("are not renewed: set refresh = true") && !once.contains("ower XOFF"), "{once}");
    run(&stopping("pause_quanta = 2000\nrefresh = true"));
}
