//! Scenarios that must load, and the resulting specifications.

use frame::{NodeId, Priority};
use scenario::{Scenario, load};
use std::collections::BTreeSet;
use std::sync::Arc;
use transport::ApplicationKeys as _;
use units::{Amount, Bytes, Time};
use workload::{Arrivals, Change, Destinations, FrameSizes, OnOffParams, Others, Period, RateBasis};

fn loaded(text: &str) -> Scenario {
    load(text, "first-light.toml", None).unwrap_or_else(|why| panic!("{why}\n{text}"))
}

/// Checks that loading the effective scenario again gives the same specification and the same effective scenario.
fn fixpoint(text: &str) -> Scenario {
    let first = loaded(text);
    let effective = first.effective_toml();
    let second = load(&effective, "other.toml", None).unwrap_or_else(|why| panic!("{why}\n{effective}"));
    assert_eq!(format!("{:?}", first.spec), format!("{:?}", second.spec), "{effective}");
    assert_eq!(effective, second.effective_toml());
    assert_eq!(first.effective, second.effective);
    assert_eq!(first.identity(), second.identity());
    assert_eq!(first.warnings.len(), second.warnings.len());
    let json: serde_json::Value = serde_json::from_str(&first.effective_json()).unwrap();
    assert_eq!(json["simulation"]["name"], first.name);
    first
}

const STAR: &str = r#"
[simulation]
duration = "10 ms"
[topology.star]
hosts = 4
rate = "10 Gb/s"
delay = "1 us"
phy = "none"
[flow_control.pfc]
[[flows]]
name = "incast"
from = "all"
to = "h0"
priority = 3
source = { constant = { rate = "2.5 Gb/s" } }
"#;

/// A scenario with every key of stations and flows at least once.
const EVERYTHING: &str = r#"
[simulation]
name = "every thing"
description = "All \"keys\" of a scenario, with µ and \\."
duration = "10 ms"
warmup = "1 ms"
seed = 42
path_seed = "seed"
on_lossless_drop = "count"
[probes]
bin = "off"
pauses = false
[topology.explicit]
hosts = ["a", "b.0", "c"]
switches = ["s", "t"]
[[topology.explicit.links]]
between = ["a", "s"]
rate = "10 Gb/s"
delay = "1.5 us"
interface_delay = "10 ns"
overhead = "24 B"
[[topology.explicit.links]]
between = ["b.0", "t"]
rate = "25 Gb/s"
length = "300 m"
phy = "none"
[[topology.explicit.links]]
between = ["s", "t"]
rate = "40 Gb/s"
phy = "none"
count = 3
[[topology.explicit.links]]
between = ["c", "t"]
rate = "1.1875 Gb/s"
phy = "none"
[host]
queues = "shared"
queue_limit = "100 frames"
when_full = "drop"
[hosts."b.0"]
queues = [0, 0, 0, 1, 0, 0, 0, 0]
when_full = "block"
flow_control = "off"
[switch]
forwarding = "cut_through"
latency = "250 ns"
queueing = "virtual_output"
queues = "shared"
[switch.buffer]
total = "4 MiB"
port = "1 MB"
class = "unlimited"
queue = "300 frames"
[switches.t]
queues = "per_priority"
forwarding = "store_and_forward"
[switches.t.buffer]
queue = "400 frames"
[switches.t.flow_control.pfc]
pause_quanta = 100
[switches.s.flow_control.pause]
xoff = "40 KiB"
xon = "20 KiB"
headroom = "64 KiB"
[flow_control.pfc]
priorities = [3, 0]
accounting = "egress"
xoff = "66 frames"
xon = "11 frames"
pause_quanta = 65535
resume = false
refresh = false
response_time = "0 s"
[flow_control.pfc.target]
method = "random_sampling"
watermark = "55 frames"
sampling = "every_enqueue"
[[flows]]
name = "one"
from = "a"
to = "b.0"
priority = 3
frame = { uniform = { min = "64 B", max = "1522 B" } }
start = "1 ms"
stop = "3 ms"
source = { on_off = { peak = "5 Gb/s", on = { exponential = "10 us" }, off = { pareto = { mean = "10 ms", shape = 1.5 } } } }
rate_counts = "wire"
limit = "1 MB"
script = [{ at = "2 ms", stop = true }, { at = "2.5 ms", start = true, rate = "7 Gb/s" }]
route = ["s", "t", "b.0"]
[[flows]]
name = "two"
from = ["a", "b*"]
to = { hot_spot = { host = "c", share = 0.2 } }
frame = { bimodal = { small = "64 B", large = "1522 B", small_share = 0.5 } }
source = { poisson = { rate = "1 Gb/s" } }
[[flows]]
name = "three"
from = "all"
to = { permutation = { shift = 1 } }
frame = "imix"
source = { bernoulli = { rate = "1 Gb/s" } }
[[flows]]
name = "four"
from = "all"
to = { uniform = ["a", "c"] }
source = { constant = { rate = "1 Gb/s", random_phase = false } }
[[flows]]
name = "five"
from = "s"
to = "all"
source = { constant = { rate = "1 Gb/s" } }
[[flows]]
name = "seven"
from = "a"
to = "c"
frame = "1024 B"
source = { window = { size = "64 KiB", ack = "84 B", ack_every = 2, ack_delay = "40 us", timeout = "1 ms", ecn = true } }
[[flows]]
name = "eight"
from = "a"
to = "c"
source = { window = { rate = "1 Gb/s" } }
[[flows]]
name = "nine"
from = "a"
to = "c"
source = { request_response = { request = "64 B", response = "4 KiB", outstanding = 4, think = { exponential = "10 us" }, service = "1 us", timeout = "1 ms", ecn = true } }
[[flows]]
name = "ten"
from = "a"
to = "c"
limit = "1 MB"
source = { tcp = { preset = "linux", recovery = "newreno", proportional = false, controller = { cubic = { beta = 0.5 } }, transfer = "10 kB", idle = { exponential = "16 us" }, reconnect = true, handshake = true, send_jitter = "1 us", receive_window = "20 frames", tick = "10 ms" } }
[[flows]]
name = "six"
from = "all"
to = { permutation = "random" }
source = "greedy"
"#;

fn other_topologies() -> Vec<String> {
    let kinds = [
        ("dumbbell", "left = 2\nright = 2\nbottleneck_rate = \"1 Gb/s\"\nbottleneck_delay = \"5 us\""),
        ("dumbbell", "left = 1\nright = 1"),
        ("chain", "switches = 3\nhosts_per_switch = 2"),
        ("ring", "switches = 3\nhosts_per_switch = 2\ninterface_delay = \"1 us\""),
        ("leaf_spine", "leaves = 2\nspines = 2\nhosts_per_leaf = 2\nuplink_rate = \"40 Gb/s\""),
        ("fat_tree", "k = 4\nlength = \"100 m\"\noverhead = \"0 B\""),
        ("n_tree", "k = 2\nn = 3"),
        ("rails", "segments = 2\nservers_per_segment = 2\nrails = 2\nspines = 2\nplanes = 2"),
    ];
    let text = |(kind, keys): (&str, &str)| {
        format!(
            "[simulation]\nduration = \"1 ms\"\n[topology.{kind}]\nrate = \"10 Gb/s\"\n{keys}\n[flow_control.pause]\n\
             [[flows]]\nname = \"all\"\nfrom = \"all\"\nto = \"all\"\nsource = \"greedy\"\n"
        )
    };
    kinds.into_iter().map(text).collect()
}

#[test]
fn effective_scenarios_are_fixpoints() {
    fixpoint(STAR);
    fixpoint(EVERYTHING);
    for text in other_topologies() {
        fixpoint(&text);
    }
    // No flow, no switch, no flow control.
    fixpoint(
        "[simulation]\nduration = \"1 s\"\n[topology.explicit]\nhosts = [\"a\", \"b\"]\n[[topology.explicit.links]]\nbetween = [\"a\", \"b\"]\nrate = \"1 Gb/s\"\nphy = \"none\"\n",
    );
}

#[test]
fn defaults_are_written_out() {
    let scenario = loaded(STAR);
    assert_eq!(scenario.name, "first-light");
    let effective = scenario.effective_toml();
    for line in [
        "name = \"first-light\"",
        "warmup = \"0 s\"",
        "bin = \"20 us\"",
        "seed = 1",
        "overhead = \"20 B\"",
        "[flow_control.pfc]",
        "# xoff and xon are computed for each port",
        "priorities = [3]",
        "pause_quanta = 65535",
        "response_time = \"standard\"",
        "scheduler = \"strict_priority\"",
        "total = \"unlimited\"",
        "frame = \"1522 B\"",
        "stop = \"10 ms\"",
        "source = { constant = { rate = \"2.5 Gb/s\", random_phase = true } }",
    ] {
        assert!(effective.lines().any(|found| found.starts_with(line)), "{line} is not in\n{effective}");
    }
    assert_eq!(scenario.levels, [1, 0, 0, 0, 0]);
    assert_eq!(scenario.spec.probes.bin, Some(Time::from_us(20)));
}

#[test]
fn a_star_becomes_a_spec() {
    let scenario = loaded(STAR);
    let spec = &scenario.spec;
    assert_eq!(
        spec.nodes.iter().map(|n| n.name.as_str()).collect::<Vec<_>>(),
        ["sw", "h0", "h1", "h2", "h3"]
    );
    assert_eq!(spec.links.len(), 4);
    let names: Vec<&str> = spec.flows.iter().map(|flow| flow.name.as_str()).collect();
    assert_eq!(names, ["incast[h1]", "incast[h2]", "incast[h3]"]);
    for flow in &spec.flows {
        assert_eq!(flow.source.destinations, Destinations::Fixed(NodeId(1)));
        assert_eq!((flow.priority, flow.source.stop), (Priority(3), None));
    }
    let fabric::spec::Role::Switch(switch) = &spec.nodes[0].role else { panic!() };
    let pause = switch.pauses().unwrap();
    assert_eq!(pause.kind, flow_control::PauseKind::Priorities(0b1000));
    assert_eq!((pause.watermarks, pause.response_time), (None, None));
}

#[test]
fn everything_becomes_a_spec() {
    let spec = fixpoint(EVERYTHING).spec;
    let role = |name: &str| spec.nodes.iter().find(|node| node.name == name).unwrap().role.clone();
    let fabric::spec::Role::Host(b) = role("b.0") else { panic!() };
    assert_eq!((b.classes.classes(), b.flow_control.is_none()), (2, true));
    assert_eq!(b.scheduler, scheduling::SchedulerSpec::StrictPriority);
    assert_eq!(b.queue_limit, Some(Amount::Frames(100)));
    let fabric::spec::Role::Host(a) = role("a") else { panic!() };
    assert_eq!(
        (a.scheduler.clone(), a.when_full),
        (scheduling::SchedulerSpec::Fifo, fabric::spec::WhenFull::Drop)
    );
    let fabric::spec::Role::Switch(t) = role("t") else { panic!() };
    assert_eq!(
        (t.latency, t.buffer.queue, t.buffer.port),
        (Time::from_ns(250), Some(Amount::Frames(400)), Some(Amount::Bytes(1_000_000)))
    );
    // The quanta are the station's own; all other keys come from the common table.
    let pause = t.pauses().unwrap();
    assert_eq!((pause.quanta, pause.resume, pause.response_time), (100.into(), false, Some(Time::ZERO)));
    assert_eq!(pause.target.unwrap().watermark.value(), Some(Amount::Frames(55)));
    let fabric::spec::Role::Switch(s) = role("s") else { panic!() };
    let pause = s.pauses().unwrap();
    assert_eq!((pause.kind, pause.quanta, pause.resume), (flow_control::PauseKind::Link, 65535.into(), true));
    assert_eq!(spec.links.len(), 6);
    assert_eq!((spec.links[0].delay, spec.links[0].overhead), (Time::from_ns(1510), 24));
    assert_eq!((spec.links[1].delay, spec.links[2].delay), (Time::from_ns(1500), Time::from_ns(10)));

    let flow = |name: &str| spec.flows.iter().find(|flow| flow.name == name).unwrap();
    let one = flow("one");
    assert_eq!(one.way, fabric::spec::Way::Along(vec![NodeId(3), NodeId(4), NodeId(1)]));
    assert_eq!(one.source.sizes, FrameSizes::Uniform { min: 64, max: 1522 });
    assert_eq!((one.source.rate_basis, one.source.stop), (RateBasis::Wire, Some(Time::from_ms(3))));
    let rate = units::BitRate::from_gbps(7);
    assert_eq!(
        one.source.script,
        [(Time::from_ms(2), Change::Stop), (Time::from_us(2500), Change::Start(Some(rate)))]
    );
    assert!(matches!(
        one.source.arrivals,
        Arrivals::OnOff(OnOffParams { off: Period::Pareto { shape: 1.5, .. }, .. })
    ));
    let others = Others { hosts: [NodeId(0), NodeId(1)].into(), without: Some(0) };
    assert_eq!(
        flow("two[a]").source.destinations,
        Destinations::HotSpot { hot: NodeId(2), share: 0.2, others }
    );
    assert_eq!(flow("three[c]").source.destinations, Destinations::Fixed(NodeId(0)));
    assert_eq!(flow("four[b.0]").source.destinations, Destinations::Uniform(vec![NodeId(0), NodeId(2)]));
    assert_eq!(flow("four[a]").source.destinations, Destinations::Fixed(NodeId(2)));
    assert_eq!(flow("five").from, NodeId(3));
    let targets: BTreeSet<NodeId> = ["six[a]", "six[b.0]", "six[c]"]
        .map(|name| match (&flow(name).source.destinations, flow(name).from) {
            (Destinations::Fixed(to), from) if *to != from => *to,
            other => panic!("{other:?}"),
        })
        .into();
    assert_eq!(targets.len(), 3);
}

#[test]
fn each_sender_of_a_group_sends_to_all_others() {
    let text = STAR
        .replace("[flow_control.pfc]", "[flow_control.credit]\nchannels = \"all\"")
        .replace("to = \"h0\"\npriority = 3", "to = { multicast = \"h0..h2\" }\nchannel = \"M1\"");
    fixpoint(&text);
    let flows = loaded(&text).spec.flows;
    // The switch is node 0.
    let others = |without: u32| (1..4).filter(|&node| node != without).map(NodeId).collect();
    assert_eq!(flows.len(), 4);
    for (node, flow) in (1..).zip(&flows) {
        assert_eq!(
            (flow.source.destinations.clone(), flow.priority.0),
            (Destinations::Multicast(others(node)), 17)
        );
    }
}

#[test]
fn another_seed_draws_another_permutation() {
    let text =
        STAR.replace("hosts = 4", "hosts = 64").replace("to = \"h0\"", "to = { permutation = \"random\" }");
    let drawn = |seed| {
        let scenario = scenario::load_seeded(text.as_bytes(), "x.toml", None, seed).unwrap();
        format!("{:?}", scenario.spec.flows)
    };
    assert_eq!(drawn(None), drawn(Some(1)));
    assert_ne!(drawn(None), drawn(Some(2)));
}

/// Returns the base scenario with these settings of its switch, and two flows that saturate a link.
fn scheduled(settings: &str) -> String {
    let flow = |from: &str, priority: u8| {
        format!(
            "[[flows]]\nname = \"{from}\"\nfrom = \"{from}\"\nto = \"h0\"\npriority = {priority}\nsource = \"greedy\"\n"
        )
    };
    format!(
        "[simulation]\nduration = \"2 ms\"\n[topology.star]\nhosts = 3\nrate = \"10 Gb/s\"\nphy = \"none\"\n{settings}\n[switch.buffer]\nqueue = \"100 frames\"\n{}{}",
        flow("h1", 0),
        flow("h2", 7)
    )
}

#[test]
fn every_scheduler_loads_and_runs() {
    let entries = ["0, 1, 2, 3, 4, 5, 6, 7"; 4].join(", ");
    let all: Vec<(&str, String)> = vec![
        ("fifo", "scheduler = \"fifo\"\nqueues = \"shared\"".into()),
        ("strict_priority", "scheduler = \"strict_priority\"".into()),
        ("wrr", "scheduler.wrr = { weights = [1, 2, 1, 1, 1, 1, 1, 3], interleaved = true }".into()),
        ("drr", "scheduler.drr = { weights = [3, 1, 1, 1, 1, 1, 1, 1], quantum = \"1542 B\", accounted_length = \"frame\", per_frame = \"8 B\", cell = \"80 B\" }".into()),
        ("drr", "scheduler.drr.quanta = [\"2 kB\", \"2 kB\", \"2 kB\", \"2 kB\", \"2 kB\", \"2 kB\", \"2 kB\", \"4 kB\"]".into()),
        ("drr_awc", "scheduler.drr_awc = { formula = \"learned\", interval = \"500 us\", mix = \"bytes\", metric = \"frame\" }".into()),
        ("wfq", "scheduler.wfq.weights = \"equal\"".into()),
        ("vc_table", format!("scheduler.vc_table.entries = [{entries}]")),
        ("dtable", format!("scheduler.dtable = {{ entries = [{{ class = 0, weight = 68 }}, {}], credit = \"64 B\" }}", &entries[3..])),
        ("min_bw", "scheduler.min_bw = { management = 0, weights = [0, 1, 1, 1, 1, 1, 1, 2], rate = \"250 Mb/s\" }".into()),
        ("ets", "scheduler.ets.classes = [{ queues = [0, 1, 2, 3, 4], percent = 100 }, { queues = [5], idle_slope = \"1 Gb/s\" }, { queues = [6, 7], strict = true }]".into()),
        ("shaper", "scheduler.shaper = { scheduler = \"drr\", port = { token_bucket = { rate = { share = 0.9 }, depth = \"4 KiB\" } }, classes = [{ class = 7, leaky_bucket = { rate = \"1 Gb/s\" } }] }".into()),
    ];
    // All schedulers without required keys, including those that are registered later.
    let alone =
        scheduling::SchedulerSpec::NAMES.iter().map(|&name| (name, format!("scheduler = \"{name}\"")));
    let alone = alone.filter(|(_, settings)| {
        load(&scheduled(&format!("[switch]\n{settings}")), "alone.toml", None).is_ok()
    });
    let mut names = BTreeSet::new();
    for (name, settings) in all.into_iter().chain(alone) {
        for table in ["switch", "host", "switches.sw", "hosts.h1"] {
            let scenario = fixpoint(&scheduled(&format!("[{table}]\n{settings}")));
            let used = scenario.spec.nodes.iter().any(|node| match &node.role {
                fabric::spec::Role::Host(host) => host.scheduler.name() == name,
                fabric::spec::Role::Switch(switch) => switch.scheduler.name() == name,
            });
            assert!(used, "{name} in [{table}]");
            if table == "switch" {
                delivered(&scenario);
            }
        }
        names.insert(name);
    }
    assert_eq!(names, scheduling::SchedulerSpec::NAMES.iter().copied().collect());
}

/// Returns the number of frames delivered by each flow.
fn delivered(scenario: &Scenario) -> Vec<u64> {
    let mut simulation = fabric::Simulation::new(&scenario.spec).unwrap();
    while simulation.advance(100_000).unwrap() == fabric::State::Running {}
    let tables = simulation.tables();
    let flows = tables.iter().find(|table| table.spec.name == "flows").unwrap();
    let column = flows.columns.iter().find(|column| column.spec.name == "frames_delivered").unwrap();
    match &column.values {
        measure::Values::Integer(values) => values.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn weights_of_a_scenario_share_the_link() {
    let share = |settings: &str| {
        let frames = delivered(&loaded(&scheduled(settings)));
        frames[0] as f64 / (frames[0] + frames[1]) as f64
    };
    let drr = share("[switch.scheduler.drr]\nweights = [3, 1, 1, 1, 1, 1, 1, 1]");
    assert!((drr - 0.75).abs() < 0.02, "{drr}");
    let equal = share("[switch]\nscheduler = \"drr\"");
    assert!((equal - 0.5).abs() < 0.02, "{equal}");
    let strict = share("[switch]\nscheduler = \"strict_priority\"");
    assert!(strict < 0.1, "{strict}");
}

#[test]
fn defaults_of_a_scheduler_are_written_out() {
    let effective = loaded(&scheduled("[switch]\nscheduler = \"drr\"")).effective_toml();
    let table = "[switch.scheduler.drr]\nweights = \"equal\"\nquantum = \"computed\"\naccounted_length = \"wire\"\nper_frame = \"0 B\"\ncell = \"0 B\"\n";
    let sorted = |text: &str| text.lines().map(str::to_string).collect::<BTreeSet<_>>();
    assert!(sorted(&effective).is_superset(&sorted(table)), "{effective}");
}

#[test]
fn connections_become_plain_data() {
    use transport::{Application, ConnectionSpec, ControllerSpec, Delay, FixedWindowParams};
    let connections = |source: &str| -> Vec<ConnectionSpec> {
        let text = format!(
            "[simulation]\nduration = \"1 ms\"\n[topology.star]\nhosts = 4\nrate = \"10 Gb/s\"\nphy = \"none\"\n[[flows]]\nname = \"f\"\n\
             from = \"all\"\nto = {{ permutation = {{ shift = 1 }} }}\nframe = \"1024 B\"\nlimit = \"1000 B\"\n\
             start = \"1 us\"\nstop = \"9 us\"\nsource = {source}\n"
        );
        let scenario = load(&text, "x.toml", None).unwrap();
        let flows = scenario.spec.flows;
        assert!(flows.iter().all(|flow| flow.frame_bounds() == (64, 1024)));
        flows.into_iter().map(|flow| Arc::unwrap_or_clone(flow.transport.unwrap())).collect()
    };
    let all = connections("{ window = { size = \"64 KiB\", ack_every = 2 } }");
    assert_eq!(all.len(), 4);
    assert_eq!((all[0].start, all[0].stop), (Time::from_us(1), Some(Time::from_us(9))));
    let Application::Window(window) = &all[3].application else { panic!("{all:?}") };
    let size = ControllerSpec::FixedWindow(FixedWindowParams { size: Amount::Bytes(65_536) });
    assert_eq!((&window.controller, window.bytes, window.segment), (&size, Some(1_000), 1_024));
    assert_eq!((window.ack_bytes, window.ack_every, window.ack_delay), (64, 2, Time::from_us(500)));
    assert_eq!((window.timeout, window.ecn_capable), (None, false));
    let all = connections(
        "{ request_response = { request = \"64 B\", response = \"4 KiB\", think = { exponential = \"1 us\" } } }",
    );
    let Application::RequestResponse(keys) = &all[0].application else { panic!("{all:?}") };
    assert_eq!((keys.request, keys.response, keys.segment), (64, 4_096, 1_024));
    assert_eq!((keys.outstanding, keys.requests, keys.timeout), (1, Some(15), None));
    assert_eq!((keys.think, keys.service), (Delay::Exponential(Time::from_us(1)), Delay::Fixed(Time::ZERO)));
    assert!(all.iter().all(|connection| connection.check().is_ok()));
}

#[test]
fn conversations_by_name_and_by_size() {
    use transport::{Application, Transport};
    let spec = |messages: &str| {
        let text = format!(
            "[simulation]\nduration = \"1 ms\"\n[topology.star]\nhosts = 2\nrate = \"10 Gb/s\"\nphy = \"none\"\n[[flows]]\nname = \"f\"\n\
             from = \"h0\"\nto = \"h1\"\nlimit = \"10 MB\"\n\
             source = {{ conversation = {{ messages = {messages}, outstanding = 4, service = \"20 us\", \
             tcp = {{ preset = \"linux\" }} }} }}\n"
        );
        match &fixpoint(&text).spec.flows[0].transport.as_ref().unwrap().application {
            Application::Conversation(spec) => spec.as_ref().clone(),
            other => panic!("{other:?}"),
        }
    };
    let read = spec("\"iscsi_read\"");
    assert_eq!((&*read.messages, read.outstanding), ([48, 1_048_576 + 128 * 48].as_slice(), 4));
    // 10 MB hold this many commands of 48 B; writes are limited by their data.
    assert_eq!(
        (read.exchanges, matches!(&read.transport, Transport::Tcp(tcp) if tcp.timestamps)),
        (Some(208_333), true)
    );
    let write = spec("{ iscsi_write = { block = \"64 KiB\", data_segment = \"32 KiB\" } }");
    assert_eq!((&*write.messages, write.exchanges), ([65_536 + 2 * 48, 48].as_slice(), Some(152)));
    assert_eq!(&*spec("[\"1 KiB\", \"64 B\", \"3 B\", \"4 B\"]").messages, [1024, 64, 3, 4]);
    assert_eq!(&*spec("\"database_query\"").messages, [64, 65_536]);
    // Timestamps leave 1,448 B: with markers, 1,416 B of data in an FPDU of 1,436 B; without, 1,428 B in 1,448 B.
    let marked = spec("{ iwarp_read = { message = \"1416 B\" } }");
    assert_eq!((&*marked.messages, marked.markers), ([52, 1_436].as_slice(), true));
    let bare = spec("{ iwarp_write = { message = \"1428 B\", markers = false } }");
    assert_eq!((&*bare.messages, bare.markers), ([1_448 + 24, 24].as_slice(), false));
    assert_eq!(spec("\"iwarp_send\"").messages[1], 24);
}

#[test]
fn frames_of_fcoe_are_as_long_as_the_flow_allows() {
    let spec = |frame: &str, keys: &str| {
        let text = format!(
            "[simulation]\nduration = \"1 ms\"\n[topology.star]\nhosts = 2\nrate = \"10 Gb/s\"\nphy = \"none\"\n[flow_control.pfc]\n\
             [[flows]]\nname = \"f\"\nfrom = \"h0\"\nto = \"h1\"\nlimit = \"10 MiB\"\nframe = \"{frame}\"\n\
             source = {{ fcoe = {{ operation = \"write\", {keys} }} }}\n"
        );
        let found = fixpoint(&text);
        let spec = found.spec.flows[0].transport.as_ref().unwrap().fcoe().unwrap().clone();
        (spec, found.warnings.into_iter().map(|one| one.message).collect::<Vec<_>>())
    };
    let (whole, warned) = spec("2180 B", "outstanding = 16");
    assert_eq!((whole.data_field, whole.burst, whole.exchanges), (2_112, 1 << 20, Some(10)));
    assert_eq!((whole.ulp_tov, whole.requires_lossless), (units::Time::from_ms(30_000), true));
    assert_eq!(warned, Vec::<String>::new());
    // Frames cannot be longer; a data field is a whole number of words.
    assert_eq!(spec("9000 B", "outstanding = 16").0.data_field, 2_112);
    let (short, warned) = spec("1522 B", "max_burst = \"64 KiB\", requires_lossless = false");
    assert_eq!((short.data_field, short.burst, short.requires_lossless), (1_452, 64 << 10, false));
    assert_eq!(warned, ["frames of 1522 B leave 1452 B of data in each"]);
    // The command and 497 frames are 1,082,472 B in each case.
    let at_once = |ulp_tov: &str| spec("2180 B", &format!("outstanding = 2, ulp_tov = \"{ulp_tov}\"")).1;
    assert_eq!(at_once("1732 us"), Vec::<String>::new());
    let [late] = &at_once("1731 us")[..] else { panic!("one warning") };
    assert!(late.starts_with("\"f\": 2 exchanges that begin together take at least 1.731"), "{late}");
    assert!(late.ends_with(", and each is aborted after 1.731 ms"), "{late}");
}

#[test]
fn ranks_share_one_description_and_copy_where_there_are_two() {
    use transport::Application;
    let spec = |keys: &str| {
        let text = format!(
            "[simulation]\nduration = \"1 ms\"\n[topology.star]\nhosts = 4\nrate = \"10 Gb/s\"\nphy = \"none\"\n[[flows]]\nname = \"f\"\n\
             from = \"all\"\nto = {{ permutation = {{ shift = 1 }} }}\nsource = {{ mpi_exchange = {{ {keys} }} }}\n"
        );
        let flows = fixpoint(&text).spec.flows;
        let first = flows[0].transport.clone().unwrap();
        assert!(flows.iter().all(|flow| Arc::ptr_eq(flow.transport.as_ref().unwrap(), &first)));
        let Application::MpiExchange(spec) = &first.application else { panic!("{first:?}") };
        spec.as_ref().clone()
    };
    let one = spec("message = \"0 B\"");
    assert_eq!((one.parts(), one.steps, one.copy, one.eager), (vec![64], None, None, 65_536));
    let two = spec("message = \"100 KiB\", ranks = 2, steps = 7, copy_rate = \"8 Gb/s\"");
    assert_eq!((two.parts(), two.steps), (vec![64, 64, 102_400], Some(7)));
    assert_eq!(two.copy, Some(Time::from_ns(1_000 + 102_400)));
}

#[test]
fn tcp_takes_from_its_preset_what_is_not_written() {
    use transport::{Application, EcnMode, LossRecoveryKind, TcpPreset};
    let specs = |source: &str| {
        let text = format!(
            "[simulation]\nduration = \"1 ms\"\n[topology.star]\nhosts = 2\nrate = \"10 Gb/s\"\nphy = \"none\"\n[[flows]]\nname = \"f\"\n\
             from = \"h0\"\nto = \"h1\"\nlimit = \"1 MB\"\nsource = {{ tcp = {source} }}\n"
        );
        // The effective scenario has every key, and loads to the same specification.
        let scenario = fixpoint(&text);
        let again = loaded(&scenario.effective_toml());
        [scenario, again].map(|one| match &one.spec.flows[0].transport.as_ref().unwrap().application {
            Application::Tcp(spec) => spec.as_ref().clone(),
            other => panic!("{other:?}"),
        })
    };
    for (name, preset) in [("mcalpine-2005", TcpPreset::Mcalpine2005), ("linux", TcpPreset::Linux)] {
        let [spec, again] = specs(&format!("{{ preset = \"{name}\" }}"));
        let (alone, _) = Box::new(preset.keys()).spec(Some(Bytes::new(1_000_000)), 1_522).unwrap();
        assert_eq!(spec, *alone);
        assert_eq!(spec, again);
    }
    let [spec, again] = specs(
        "{ preset = \"datacenter\", recovery = \"newreno\", proportional = false, min_timeout = \"200 ms\", max_timeout = \"2 s\" }",
    );
    assert_eq!(
        (spec.recovery, spec.ecn, spec.timer.min),
        (LossRecoveryKind::NewReno, EcnMode::Dctcp, Time::from_ms(200))
    );
    assert_eq!((spec.timer.initial, &spec), (Time::from_ms(10), &again));
}

#[test]
fn queue_managers_and_shared_memory_become_a_spec() {
    use queueing::{Action, Alpha, Counts, IdleExponent, ManagerSpec, Mode, Moment, RedParams, Spacing};
    use queueing::{SamplingParams, SharedMemorySpec, StepParams};
    let settings = r#"
[switch]
queues = [0, 0, 0, 1, 2, 2, 3, 3]
[switch.buffer]
total = "12 MB"
[switch.buffer.dynamic_threshold]
alpha = 0.125
minimum = "4 KiB"
headroom = "1 MB"
resume_offset = "3 kB"
[[switch.queue_managers]]
classes = [1]
[switch.queue_managers.step]
threshold = "50 kB"
at = "dequeue"
counts = "with_frame"
[[switch.queue_managers]]
classes = [2]
sampling = { threshold = "20 frames", every = 10 }
[[switch.queue_managers]]
classes = [3]
[switch.queue_managers.qcn]
set_point = "33 kB"
weight = 4.0
sample_base = "75 kB"
jitter_share = 0.1
message_priority = 6
counts = "without_frame"
[host.rate_limiters]
priorities = [4, 5]
per = "destination"
[host.rate_limiters.qcn]
gain = 0.01
min_decrease_factor = 0.4
byte_reset = "75 kB"
time_reset = "1 ms"
jitter_share = 0.0
recovery_cycles = 3
active_increase = "10 Mb/s"
hyper_active_increase = "100 Mb/s"
min_rate = "1 Mb/s"
max_rate = "5 Gb/s"
extra_fast_recovery = false
lower_target = false
[[switch.queue_managers]]
[switch.queue_managers.red]
weight = 0.02
min = "12 KiB"
max = "36 KiB"
max_probability = 0.1
gentle = false
mode = "byte"
spacing = "wait"
action = "mark"
mark_above_max = true
mean_frame = "1000 B"
counts = "with_frame"
idle_exponent = "elapsed_and_arrival"
"#;
    let scenario = fixpoint(&STAR.replacen("[[flows]]", &format!("{settings}[[flows]]"), 1));
    let switch = |scenario: &Scenario| {
        let role = scenario.spec.nodes.iter().find_map(|node| match &node.role {
            fabric::spec::Role::Switch(switch) => Some(switch.clone()),
            fabric::spec::Role::Host(_) => None,
        });
        role.unwrap()
    };
    let red = RedParams {
        weight: 0.02,
        min: Amount::Bytes(12 << 10),
        max: Amount::Bytes(36 << 10),
        max_probability: 0.1,
        gentle: false,
        mode: Mode::Byte,
        spacing: Spacing::Wait,
        action: Action::Mark,
        mark_above_max: true,
        mean_frame: units::Bytes::new(1000),
        counts: Counts::WithFrame,
        idle_exponent: IdleExponent::ElapsedAndArrival,
        at: queueing::Moment::Enqueue,
        reference_rate: None,
        yellow: None,
        red: None,
    };
    let step = StepParams {
        threshold: Amount::Bytes(50_000),
        at: Moment::Dequeue,
        counts: Counts::WithFrame,
        reference_rate: None,
    };
    let sampling = SamplingParams { threshold: Amount::Frames(20), every: 10 };
    let point = ManagerSpec::CongestionPoint(queueing::CongestionPointParams {
        set_point: units::Bytes::new(33_000),
        weight: 4.0,
        sample_base: units::Bytes::new(75_000),
        sampling: queueing::Samples::Regular,
        jitter_share: 0.1,
        message_priority: 6,
        header_length: units::Bytes::new(0),
        answer_untagged: true,
        scope: queueing::PointScope::Queue,
        counts: Counts::WithoutFrame,
    });
    let (red, step) = (Some(ManagerSpec::Red(red)), Some(ManagerSpec::Step(step)));
    assert_eq!(
        switch(&scenario).managers.by_class,
        [red, step, Some(ManagerSpec::Sampling(sampling)), Some(point)]
    );
    let memory = SharedMemorySpec {
        total: 12_000_000,
        alpha: Alpha::new(0.125).unwrap(),
        minimum: 4 << 10,
        headroom: 1_000_000,
        resume_offset: 3_000,
    };
    assert_eq!(switch(&scenario).shared_memory, Some(memory));
    // Defaults are those of the mechanisms, and appear in the effective scenario.
    let plain = "[switch]\nqueue_managers = [{ classes = [3], red = {} }]\nbuffer = { total = \"1 MB\", dynamic_threshold = { headroom = \"100 kB\" } }\n";
    let scenario = fixpoint(&STAR.replacen("[[flows]]", &format!("{plain}[[flows]]"), 1));
    let mut expected = vec![None; 8];
    expected[3] = Some(ManagerSpec::Red(RedParams::default()));
    assert_eq!(switch(&scenario).managers.by_class, expected);
    assert_eq!(switch(&scenario).shared_memory.map(|memory| memory.alpha), Some(Alpha::ONE));
    assert!(scenario.effective_toml().contains("idle_exponent = \"elapsed\""));
    // By default, there is neither a manager nor a shared memory.
    let none = switch(&fixpoint(STAR));
    assert_eq!((none.managers.by_class.len(), none.shared_memory), (0, None));
}

#[test]
fn backward_and_forward_congestion_notification_become_a_spec() {
    use queueing::{AverageWith, BackwardPointParams, Idle, Load, ManagerSpec, Moment, Phase, QueueControl};
    use queueing::{BackwardReactionParams, RateControlSpec, RatePointParams, RateReactionParams, Samples};
    use units::{BitRate, Bytes, Or};
    let settings = r#"
[[switch.queue_managers]]
classes = [0]
[switch.queue_managers.bcn]
set_point = "30 kB"
weight = 1.0
sample_every = 50
sampling = "random"
severe = "never"
message_priority = 5
[[switch.queue_managers]]
[switch.queue_managers.fecn]
interval = "2 ms"
long_interval = "8 ms"
near_share = 0.1
phase = "random"
expected_sources = 100.0
set_point = "30 kB"
severe = "90 kB"
queue_control = "linear"
above_set_point = 1.2
below_set_point = 1.01
slope = 0.2
floor = 0.2
average_weight = 1.0
average_with = "last"
limit_increase = false
min_increase_share = 0.01
max_increase_share = 0.5
follow_capacity = false
scope = "port"
capacity = "measured"
load = "frame"
idle = "raise"
stamp_at = "enqueue"
min_share = 0.01
severe_messages = true
severe_every = 10
message_priority = 6
[hosts.h0.rate_limiters.fecn]
[hosts.h1.rate_limiters.fecn]
interval = "2 ms"
long_interval = "8 ms"
near_share = 0.1
tag_every = 10
initial_share = 0.1
forget_after = "never"
min_rate = "1 Mb/s"
message_priority = 6
tag_length = "20 B"
[hosts.h2.rate_limiters]
priorities = [0]
[hosts.h2.rate_limiters.bcn]
feedback_unit = "64 B"
decrease_gain = 0.01
increase_gain = 2.0
increase_unit = "1 Mb/s"
min_decrease_factor = 0.25
min_rate = "1 Mb/s"
max_stop = "10 us"
restart_share = 0.1
tag_length = "16 B"
"#;
    let scenario = fixpoint(&format!("{STAR}{settings}"));
    let nodes = &scenario.spec.nodes;
    let managers = nodes.iter().find_map(|node| node.switch()).map(|switch| switch.managers.clone()).unwrap();
    let backward = BackwardPointParams {
        set_point: Bytes::new(30_000),
        weight: 1.0,
        sample_every: 50,
        sampling: Samples::Random,
        severe: Or::word(),
        message_priority: 5,
    };
    let forward = RatePointParams {
        interval: Time::from_ms(2),
        long_interval: Or::Value(Time::from_ms(8)),
        near_share: 0.1,
        phase: Phase::Random,
        expected_sources: 100.0,
        set_point: Bytes::new(30_000),
        severe: Bytes::new(90_000),
        queue_control: QueueControl::Linear,
        above_set_point: 1.2,
        below_set_point: 1.01,
        slope: 0.2,
        floor: 0.2,
        average_weight: 1.0,
        average_with: AverageWith::Last,
        limit_increase: false,
        min_increase_share: 0.01,
        max_increase_share: 0.5,
        follow_capacity: false,
        scope: queueing::RateScope::Port,
        capacity: queueing::Capacity::Measured,
        load: Load::Frame,
        idle: Idle::Raise,
        stamp_at: Moment::Enqueue,
        min_share: 0.01,
        severe_messages: true,
        severe_every: 10,
        message_priority: 6,
    };
    assert_eq!(managers.by_class[0], Some(ManagerSpec::BackwardPoint(backward)));
    assert!(managers.by_class[1..].iter().all(|manager| *manager == Some(ManagerSpec::RatePoint(forward))));
    let control = |name: &str| {
        let host = nodes.iter().find(|node| node.name == name).and_then(|node| node.host());
        host.and_then(|host| host.limiters.as_ref()).map(|limiters| limiters.control)
    };
    let source = RateReactionParams {
        interval: Time::from_ms(2),
        long_interval: Or::Value(Time::from_ms(8)),
        near_share: 0.1,
        tag_every: 10,
        initial_share: 0.1,
        forget_after: Or::word(),
        min_rate: BitRate::from_bps(1_000_000),
        message_priority: 6,
        tag_length: Bytes::new(20),
    };
    let reaction = BackwardReactionParams {
        feedback_unit: Bytes::new(64),
        decrease_gain: 0.01,
        increase_gain: 2.0,
        increase_unit: BitRate::from_bps(1_000_000),
        min_decrease_factor: 0.25,
        min_rate: BitRate::from_bps(1_000_000),
        max_stop: Time::from_us(10),
        restart_share: 0.1,
        tag_length: Bytes::new(16),
    };
    assert_eq!(control("h0"), Some(RateControlSpec::Fecn(RateReactionParams::default())));
    assert_eq!(control("h1"), Some(RateControlSpec::Fecn(source)));
    assert_eq!(control("h2"), Some(RateControlSpec::Bcn(reaction)));
}

#[test]
fn path_rate_control_becomes_a_spec() {
    use queueing::{
        Law, LimiterScope, ManagerSpec, Method, PathPointParams, PathReactionParams, RateControlSpec,
    };
    use units::{BitRate, Bytes};
    let settings = r#"
[switch.queue_managers.prc]
buffer = "128 KiB"
messages = true
first_share = 0.25
every_share = 0.5
spacing = "5 us"
message_priority = 6
[host.rate_limiters]
per = "destination"
[host.rate_limiters.prc]
method = "messages"
interval = "20 us"
ask_every = 4
buffer = "128 KiB"
target_share = 0.1
law = "fixed"
equal_gain = 0.02
growth_gain = 0.3
length_gain = 0.1
initial_share = 0.5
min_rate = "1 Mb/s"
idle_after = "2 ms"
message_priority = 5
"#
    .replace("[switch.queue_managers.prc]", "[[switch.queue_managers]]\n[switch.queue_managers.prc]");
    let scenario = fixpoint(&format!("{STAR}{settings}"));
    let nodes = &scenario.spec.nodes;
    let point = PathPointParams {
        buffer: Bytes::new(131_072),
        messages: true,
        first_share: 0.25,
        every_share: 0.5,
        spacing: Time::from_us(5),
        message_priority: 6,
        red: None,
    };
    let managers = nodes.iter().find_map(|node| node.switch()).map(|switch| switch.managers.clone()).unwrap();
    assert!(managers.by_class.iter().all(|manager| *manager == Some(ManagerSpec::PathPoint(point))));
    let source = PathReactionParams {
        method: Method::Messages,
        interval: Time::from_us(20),
        ask_every: 4,
        buffer: Bytes::new(131_072),
        target_share: 0.1,
        law: Law::Fixed,
        equal_gain: 0.02,
        growth_gain: 0.3,
        length_gain: 0.1,
        initial_share: 0.5,
        min_rate: BitRate::from_bps(1_000_000),
        idle_after: Time::from_ms(2),
        message_priority: 5,
    };
    let limiters = nodes.iter().find_map(|node| node.host()).and_then(|host| host.limiters).unwrap();
    assert_eq!((limiters.control, limiters.per), (RateControlSpec::Prc(source), LimiterScope::Destination));
}

/// Returns the paths of a leaf's flows in a leaf-spine with four spines, with another seed and another seed of paths.
fn paths_of(seed: Option<u64>, path_seed: &str) -> Vec<String> {
    let text = format!(
        "[simulation]\nduration = \"1 us\"\n{path_seed}\n[topology.leaf_spine]\nleaves = 2\nspines = 4\nhosts_per_leaf = 8\nrate = \"10 Gb/s\"\nphy = \"none\"\nuplink_rate = \"10 Gb/s\"\n[[flows]]\nname = \"f\"\nfrom = \"leaf0/*\"\nto = \"h8\"\nsource = {{ poisson = {{ rate = \"1 Gb/s\" }} }}\n"
    );
    let scenario = scenario::load_seeded(text.as_bytes(), "x.toml", None, seed).unwrap();
    let tables = fabric::Simulation::new(&scenario.spec).unwrap().tables();
    let paths = tables.iter().find(|table| table.spec.name == "paths").unwrap();
    let ports = &paths.columns.iter().find(|column| column.spec.name == "ports").unwrap().values;
    let measure::Values::Text(ports) = ports else { panic!("{ports:?}") };
    ports.clone()
}

#[test]
fn paths_follow_their_own_seed() {
    let plain = paths_of(None, "");
    // Eight flows use more than one of four spines.
    assert!(plain.iter().any(|ports| ports.split(' ').nth(1) != plain[0].split(' ').nth(1)));
    assert_eq!(paths_of(Some(2), ""), plain);
    assert_eq!(paths_of(Some(77), "path_seed = 1"), plain);
    assert_ne!(paths_of(Some(2), "path_seed = 5"), plain);
    assert_eq!(paths_of(Some(2), "path_seed = 5"), paths_of(Some(3), "path_seed = 5"));
    assert_ne!(paths_of(Some(2), "path_seed = \"seed\""), plain);
    assert_eq!(paths_of(Some(1), "path_seed = \"seed\""), plain);
    assert_eq!(paths_of(Some(5), "path_seed = \"seed\""), paths_of(None, "path_seed = 5"));
}

#[test]
fn frames_of_exponential_and_log_normal_length() {
    for table in [
        "exponential = { mean = \"300 B\" }",
        "log_normal = { mean = \"300 B\", sigma = 1, max = \"9000 B\" }",
    ] {
        let frame = format!("priority = 3\nframe = {{ {table} }}");
        let scenario = fixpoint(&STAR.replace("priority = 3", &frame));
        let sizes = &scenario.spec.flows[0].source.sizes;
        assert!((sizes.mean_bytes() - 300.0).abs() < 1e-6, "{table}");
        assert_eq!(sizes.bounds(), (64, if table.contains("9000") { 9000 } else { 1522 }));
    }
}

#[test]
fn paths_of_more_than_a_million_pairs_are_not_listed() {
    use fabric::spec::Way;
    let way = |hosts: u32, from: &str| {
        let text = format!(
            "[simulation]\nduration = \"1 us\"\n[topology.star]\nhosts = {hosts}\nrate = \"10 Gb/s\"\nphy = \"none\"\n\
             [[flows]]\nname = \"f\"\nfrom = {from}\nto = \"all\"\nsource = {{ constant = {{ rate = \"1 Gb/s\" }} }}"
        );
        let spec = load(&text, "large.toml", None).unwrap().spec;
        assert!(spec.flows.iter().all(|flow| flow.way == spec.flows[0].way));
        (spec.flows.len(), spec.flows[0].way.clone())
    };
    // 1,000 times 999 pairs, and 1,001 times 1,000.
    assert_eq!(way(1_000, "\"all\""), (1_000, Way::Shortest));
    assert_eq!(way(1_001, "\"all\""), (1_001, Way::ByDestination));
    // If frames originate at a switch, the first hop is not known.
    assert_eq!(way(1_001, "[\"all\", \"sw\"]"), (1_002, Way::Shortest));
}

/// Returns a fat-tree whose switches have this hash, with a flow with these keys.
fn hashing(switches: &str, flow: &str) -> Scenario {
    let text = format!(
        "[simulation]\nduration = \"1 us\"\n[topology.fat_tree]\nk = 4\nrate = \"10 Gb/s\"\nphy = \"none\"\n{switches}\n[[flows]]\nname = \"f\"\nfrom = \"h0\"\nto = \"h15\"\nsource = {{ poisson = {{ rate = \"1 Gb/s\" }} }}\n{flow}\n"
    );
    load(&text, "hashing.toml", None).unwrap_or_else(|why| panic!("{why}\n{text}"))
}

#[test]
fn equal_seeds_at_successive_tiers_are_a_warning() {
    let loaded = |switches: &str| {
        let scenario = hashing(switches, "");
        scenario.warnings.iter().map(|one| format!("{} {}", one.message, one.help)).collect::<Vec<_>>()
    };
    let all = loaded("[switch]\npath_choice = { hash = { seed = 7 } }");
    assert_eq!(all.len(), 1, "{all:?}");
    assert!(all[0].contains("seed 7 at successive tiers") && all[0].contains("polarisation"), "{all:?}");
    assert!(loaded("").is_empty());
    assert!(loaded("[switch]\npath_choice = { hash = { fields = [\"source_port\"] } }").is_empty());
}

#[test]
fn hashing_is_written_back() {
    let plain = hashing("[switch]\npath_choice = \"hash\"", "");
    assert!(plain.effective_toml().contains("path_choice = \"hash\""));
    let own = "[switch]\npath_choice = { hash = { fields = [\"destination\", \"source\"], seed = 3 } }";
    let text = hashing(own, "ports = { from = 9, to = 4791 }").effective_toml();
    let again = load(&text, "again.toml", None).unwrap_or_else(|why| panic!("{why}\n{text}"));
    assert_eq!(again.effective_toml(), text);
    assert!(text.contains("seed = 3") && text.contains("to = 4791"), "{text}");
}

#[test]
fn flows_with_one_tuple_take_one_path() {
    let path = |flow: &str| {
        let scenario = hashing("", flow);
        scenario.spec.planned_path(&scenario.spec.flows[0], scenario.spec.flows[0].source.destinations.nth(0))
    };
    let ways: BTreeSet<_> =
        (1..40).map(|port| path(&format!("ports = {{ from = {port}, to = 80 }}"))).collect();
    assert_eq!(ways.len(), 4);
    assert_eq!(path("ports = { from = 5, to = 80 }"), path("ports = { from = 5, to = 80 }"));
}
