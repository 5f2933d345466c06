//! Maps of switches: traffic classes and rewrites of DSCPs.

use fabric::spec::{NodeSpec, SwitchSpec};
use frame::{Priority, TrafficClass};
use scenario::{Scenario, load};

fn loaded(text: &str) -> Scenario {
    let first = load(text, "maps.toml", None).unwrap_or_else(|why| panic!("{why}\n{text}"));
    let effective = first.effective_toml();
    let second = load(&effective, "maps.toml", None).unwrap_or_else(|why| panic!("{why}\n{effective}"));
    assert_eq!(format!("{:?}", first.spec), format!("{:?}", second.spec), "{effective}");
    assert_eq!(effective, second.effective_toml());
    first
}

fn switch<'s>(scenario: &'s Scenario, name: &str) -> &'s SwitchSpec {
    let node = scenario.spec.nodes.iter().find(|node| node.name == name).unwrap();
    node.switch().unwrap()
}

/// Returns two leaves and two spines, with a flow from leaf to leaf.
fn fabric(more: &str, flow: &str) -> String {
    format!(
        r#"
[simulation]
duration = "1 ms"
[topology.leaf_spine]
leaves = 2
spines = 2
hosts_per_leaf = 2
rate = "10 Gb/s"
delay = "1 us"
phy = "none"
{more}
[[flows]]
name = "f"
from = "h0"
to = "h3"
source = "greedy"
{flow}
"#
    )
}

const SONIC: &str = "[switch.maps]\ndscp_to_tc = { 3 = 3, 4 = 4, 46 = 5, 48 = 6, 2 = 2, 6 = 6, other = 1 }\n";

#[test]
fn a_flow_has_the_priority_that_switches_give_its_dscp() {
    for (maps, dscp, class) in [
        (SONIC, 3, 3),
        (SONIC, 48, 6),
        (SONIC, 26, 1),
        ("", 26, 3),
        ("", 63, 7),
        ("[switch.maps]\ndscp_to_tc = { 26 = 3 }\n", 26, 3),
        ("[switch.maps]\ndscp_to_tc = { 26 = 3 }\n", 27, 0),
    ] {
        let scenario = loaded(&fabric(maps, &format!("dscp = {dscp}")));
        assert_eq!(scenario.spec.flows[0].priority, Priority(class), "{maps} {dscp}");
        // Without a map, a DSCP that is not a class selector causes a warning.
        let unmapped = maps.is_empty() && dscp % 8 != 0;
        assert_eq!(scenario.warnings.len(), usize::from(unmapped), "{:?}", scenario.warnings);
    }
    let transfers = "[[transfers]]\nname = \"t\"\nfrom = \"h1\"\nto = \"h2\"\nsizes = \"1 MB\"\narrivals = \"once\"\ndscp = 46\n";
    let scenario = loaded(&fabric(&format!("{SONIC}{transfers}"), "dscp = 3"));
    assert_eq!(scenario.spec.flows[1].priority, Priority(5));
    // By default, pauses apply to the priorities in use, as without maps.
    let scenario = loaded(&fabric(&format!("[flow_control.pfc]\n{SONIC}"), "dscp = 3"));
    assert!(scenario.effective_toml().contains("priorities = [3]"), "{}", scenario.effective_toml());
}

#[test]
fn a_switch_with_other_maps_has_another_queue_for_it() {
    let own = "[switches.\"spine*\".maps]\ndscp_to_tc = { 26 = 5 }\n[switches.\"spine*\"]\nqueues = [0, 1, 2, 3, 4, 6, 6, 7]\n";
    let scenario = loaded(&fabric(own, "dscp = 26"));
    let class = |name: &str, priority| switch(&scenario, name).classes.class(Priority(priority));
    assert_eq!((class("leaf0", 3), class("spine1", 3)), (TrafficClass(3), TrafficClass(6)));
    // Unused priorities keep their queue.
    assert_eq!(class("spine1", 4), TrafficClass(4));
}

const POOLS: &str = r#"
[switch.buffer.memory]
pools.in = { side = "ingress", size = "8 MB" }
profiles.lossless = { pool = "in", headroom = "100 kB", alpha = 0.125 }
profiles.lossy = { pool = "in", alpha = 1 }
attach = [{ profile = "lossless", groups = [3, 4, 2, 6] }, { profile = "lossy" }]
groups = [0, 0, 2, 3, 4, 0, 6, 7]
"#;
const PFC: &str = "[flow_control.pfc]\naccounting = \"ingress\"\npriorities = [3, 4]\n";

#[test]
fn maps_that_lead_lossless_frames_astray_are_found() {
    let errors = |more: &str, flow: &str| {
        let text = fabric(&format!("{PFC}{POOLS}{more}"), flow);
        load(&text, "maps.toml", None).map_or_else(|why| why.to_string(), |_| String::new())
    };
    assert_eq!(errors(SONIC, "dscp = 3"), "");
    // The maps of SONiC in their original form.
    let whole =
        format!("{SONIC}pfc_to_queue = [0, 1, 2, 3, 4, 5, 6, 7]\npfc_to_group = [0, 0, 0, 3, 4, 0, 0, 7]\n");
    assert_eq!(errors(&whole, "dscp = 3"), "");
    let astray = "[switches.spine0.maps]\ndscp_to_tc = { 4 = 4 }\n";
    let message = errors(&format!("{SONIC}{astray}"), "dscp = 3");
    assert!(
        message.contains(
            "frames of DSCP 3 are of traffic class 0, in queue 0, and pauses of priority 3 stop queue 3"
        ),
        "{message}"
    );
    assert!(
        message.contains("in priority group 0, and pauses of priority 3 are sent for group 3"),
        "{message}"
    );
    let message = errors(&format!("{SONIC}pfc_to_queue = [0, 1, 2, 4, 3, 5, 6, 7]\n"), "dscp = 3");
    assert!(message.contains("in queue 3, and pauses of priority 3 stop queue 4"), "{message}");
    let message = errors(&format!("{SONIC}pfc_to_group = [0, 1, 2, 4, 4, 5, 6, 7]\n"), "dscp = 3");
    assert!(
        message.contains("in priority group 3, and pauses of priority 3 are sent for group 4"),
        "{message}"
    );
    // A group with lossy frames is an error even without `pfc_to_group`.
    let shared = POOLS.replace("groups = [0, 0, 2, 3", "groups = [0, 0, 2, 0");
    let text = fabric(
        &format!("{PFC}{shared}{SONIC}"),
        "dscp = 3\n[[flows]]\nname = \"g\"\nfrom = \"h1\"\nto = \"h3\"\nsource = \"greedy\"\n",
    );
    let message = load(&text, "maps.toml", None).map_or_else(|why| why.to_string(), |_| String::new());
    assert!(
        message.contains("lossless priority 3 and priority 0, which is not lossless, in priority group 0"),
        "{message}"
    );
}

#[test]
fn frames_of_one_class_are_not_told_apart() {
    let two =
        "dscp = 26\n[[flows]]\nname = \"g\"\nfrom = \"h1\"\nto = \"h2\"\nsource = \"greedy\"\ndscp = 24\n";
    let apart = "[switches.spine0.maps]\ndscp_to_tc = { 26 = 3, 24 = 1 }\n";
    let message = load(&fabric(apart, two), "maps.toml", None).unwrap_err().to_string();
    assert!(message.contains("DSCP 24 is of traffic class 1 here, and DSCP 26 of 3"), "{message}");
    let plain = two.replace("dscp = 24", "priority = 3");
    let message =
        load(&fabric("[switches.spine0.maps]\ndscp_to_tc = { 26 = 1 }\n", &plain), "maps.toml", None);
    let message = message.unwrap_err().to_string();
    assert!(
        message.contains("DSCP 26 is of traffic class 1 here, and priority 3 without DSCP of 3"),
        "{message}"
    );
}

#[test]
fn a_change_of_dscp_is_one_of_priority() {
    let remap = "[switches.leaf0.maps]\nremap = [{ to = [\"spine*\"], dscp = { 3 = 2, 4 = 6 } }]\n";
    let pfc = PFC.replace("[3, 4]", "[2, 3, 4, 6]");
    let scenario = loaded(&fabric(&format!("{pfc}{POOLS}{SONIC}{remap}"), "dscp = 3"));
    let leaf = scenario.spec.nodes.iter().find(|node| node.name == "leaf0").unwrap();
    let id = |name: &str| scenario.spec.nodes.iter().position(|node| node.name == name).unwrap() as u32;
    let to = |name: &str| leaf.remap_to(frame::NodeId(id(name))).map(|new| new.map(|priority| priority.0));
    // DSCP 4 is not in use, and DSCP 3 is rewritten to 2.
    assert_eq!(to("spine1"), Some([0, 1, 2, 2, 4, 5, 6, 7]));
    assert_eq!(to("h0"), None);
    assert_eq!(leaf.classes_to(frame::NodeId(id("spine0"))).class(Priority(3)), TrafficClass(2));
    assert_eq!(leaf.classes_to(frame::NodeId(id("h0"))).class(Priority(3)), TrafficClass(3));
    assert!(scenario.spec.priorities_in_use() == 0b1100, "{:b}", scenario.spec.priorities_in_use());
    assert!(
        scenario.spec.nodes.iter().filter_map(NodeSpec::switch).filter(|one| !one.remaps.is_empty()).count()
            == 1
    );
    // A rewrite from a lossless class to a lossy one.
    let scenario = loaded(&fabric(&format!("{PFC}{POOLS}{SONIC}{remap}"), "dscp = 3"));
    let warnings: Vec<&str> = scenario.warnings.iter().map(|one| one.message.as_str()).collect();
    let message = "frames of DSCP 3 of lossless priority 3 leave with priority 2, which is not lossless";
    assert!(warnings.contains(&message), "{warnings:?}");
}

#[test]
fn of_several_changes_of_dscp_the_first_that_names_a_neighbour_counts() {
    let pfc = PFC.replace("[3, 4]", "[2, 3, 4, 6]");
    let with = |entries: &str| {
        let remap = format!("[switches.leaf0.maps]\nremap = [{entries}]\n");
        loaded(&fabric(&format!("{pfc}{POOLS}{SONIC}{remap}"), "dscp = 3"))
    };
    let becomes = |scenario: &Scenario, name: &str| {
        let id = scenario.spec.nodes.iter().position(|node| node.name == name).unwrap() as u32;
        let leaf = scenario.spec.nodes.iter().find(|node| node.name == "leaf0").unwrap();
        leaf.remap_to(frame::NodeId(id)).map_or(3, |new| new[3].0)
    };
    let warnings = |scenario: &Scenario, what: &str| {
        scenario.warnings.iter().filter(|warning| warning.message.contains(what)).count()
    };
    // An entry without effect overrides the next one for its neighbour.
    let spared = with("{ to = [\"spine0\"], dscp = { 3 = 3 } }, { to = [\"spine*\"], dscp = { 3 = 2 } }");
    assert_eq!(["spine0", "spine1"].map(|name| becomes(&spared, name)), [3, 2]);
    assert_eq!((warnings(&spared, "no frames of another"), warnings(&spared, "entries before it")), (0, 0));
    let late = with("{ to = [\"spine*\"], dscp = { 3 = 2 } }, { to = [\"spine0\"], dscp = { 3 = 6 } }");
    assert_eq!(["spine0", "spine1"].map(|name| becomes(&late, name)), [2, 2]);
    assert_eq!(warnings(&late, "entries before it name all of these neighbours"), 1);
    let idle = with("{ to = [\"spine0\"], dscp = { 3 = 2 } }, { to = [\"spine1\"], dscp = { 3 = 3 } }");
    assert_eq!(warnings(&idle, "no frames get another traffic class"), 1);
}

#[test]
fn a_flow_has_the_color_that_it_says_or_that_of_its_dscp() {
    use queueing::Color;
    let red = "[switch]\nqueue_managers = [{ red = { yellow = { max = \"10 frames\" }, red = { action = \"mark\" } } }]\n";
    let maps = "[switch.maps]\ndscp_to_color = { 28 = \"yellow\", 30 = \"red\", other = \"green\" }\n";
    let color = |flow: &str| loaded(&fabric(&format!("{red}{maps}"), flow)).spec.flows[0].color;
    assert_eq!(color("dscp = 28"), Color::Yellow);
    assert_eq!(color("dscp = 30\ncolor = \"yellow\""), Color::Yellow);
    assert_eq!(color("dscp = 26"), Color::Green);
    assert_eq!(color("color = \"red\""), Color::Red);
    assert_eq!(color("priority = 2"), Color::Green);
}

#[test]
fn path_weights_name_neighbours() {
    let weights =
        "[switch]\npath_weights = { \"spine*\" = 2, spine1 = 5 }\n[switches.spine0]\nlatency = \"1 us\"\n";
    let scenario = loaded(&fabric(weights, ""));
    assert!(scenario.warnings.is_empty(), "{:?}", scenario.warnings);
    let id = |name: &str| {
        frame::NodeId(scenario.spec.nodes.iter().position(|node| node.name == name).unwrap() as u32)
    };
    let of = |name: &str, to: &str| switch(&scenario, name).weights.to(id(to));
    assert_eq!((of("leaf0", "spine0"), of("leaf1", "spine1"), of("leaf0", "h0")), (2, 5, 1));
    // An entry for all switches is ignored at one without such a neighbour.
    assert!(switch(&scenario, "spine0").weights.are_equal());
    assert!(switch(&loaded(&fabric("", "")), "leaf0").weights.are_equal());
}

/// Returns a dragonfly whose frames change their class on global links: two classes suffice to avoid a cycle.
fn dragonfly(groups: &[&str]) -> String {
    let remaps: String = (0..)
        .zip(groups)
        .map(|(group, to)| {
            format!(
                "[switches.\"sw{group}.*\"]\nmaps = {{ remap = [{{ to = [{to}], dscp = {{ 26 = 34 }} }}] }}\n"
            )
        })
        .collect();
    format!(
        "[simulation]\nduration = \"1 ms\"\n[topology.dragonfly]\nhosts_per_switch = 1\nswitches_per_group = 2\n\
         global_links = 1\nrate = \"10 Gb/s\"\nphy = \"none\"\n[switch]\nqueues = \"per_priority\"\n[switch.maps]\n\
         dscp_to_tc = {{ 26 = 3, 34 = 4, other = 0 }}\n[flow_control.pfc]\npriorities = [3, 4]\n{remaps}\
         [[flows]]\nname = \"f\"\nfrom = \"all\"\nto = \"all\"\nsource = \"greedy\"\ndscp = 26\n"
    )
}

fn warnings(scenario: &Scenario) -> String {
    scenario.warnings.iter().map(|one| format!("{one:?}")).collect()
}

#[test]
fn neighbours_of_switches_by_pattern_may_be_those_of_some() {
    let every = ["\"sw1.*\", \"sw2.*\"", "\"sw0.*\", \"sw2.*\"", "\"sw0.*\", \"sw1.*\""];
    let plain = load(&dragonfly(&[]), "maps.toml", None).unwrap();
    assert!(warnings(&plain).contains("these routes can deadlock"));
    let scenario = load(&dragonfly(&every), "maps.toml", None).unwrap();
    assert!(!warnings(&scenario).contains("deadlock"), "{}", warnings(&scenario));
    // Each switch has one global link.
    assert!(scenario.spec.nodes.iter().filter_map(NodeSpec::switch).all(|one| one.remaps.len() == 1));
    let Err(why) = load(&dragonfly(&["\"sw0.*\", \"sw7.*\""]), "maps.toml", None) else { panic!("accepted") };
    assert!(why.to_string().contains("has a link to \"sw7.*\""), "{why}");
}
