//! Names of several nodes: ranges, patterns, and the hosts of switches.

use fabric::spec::{HostSpec, Role};
use scenario::{Diagnostics, Scenario, load};

const LEAVES: &str = "[topology.leaf_spine]\nleaves = 3\nspines = 2\nhosts_per_leaf = 4\nrate = \"10 Gb/s\"\nuplink_rate = \"40 Gb/s\"\n";

fn text(topology: &str, more: &str) -> String {
    format!("[simulation]\nduration = \"1 ms\"\n{topology}{more}")
}
fn flow(from: &str, to: &str) -> String {
    format!(
        "[[flows]]\nname = \"f\"\nfrom = {from}\nto = {to}\nsource = {{ poisson = {{ rate = \"1 Gb/s\" }} }}\n"
    )
}
fn loaded(text: &str) -> Scenario {
    let scenario = load(text, "n.toml", None).unwrap_or_else(|why| panic!("{why}\n{text}"));
    let again = load(&scenario.effective_toml(), "n.toml", None).unwrap_or_else(|why| panic!("{why}"));
    assert_eq!(format!("{:?}", scenario.spec), format!("{:?}", again.spec));
    scenario
}
fn refused(text: &str) -> Diagnostics {
    load(text, "n.toml", None).err().unwrap_or_else(|| panic!("loads:\n{text}"))
}
fn senders(from: &str) -> Vec<String> {
    let scenario = loaded(&text(LEAVES, &flow(from, "\"h0\"")));
    scenario.spec.flows.iter().map(|flow| scenario.spec.nodes[flow.from.at()].name.clone()).collect()
}

#[test]
fn senders_by_range_and_by_switch() {
    assert_eq!(senders("\"h1..h3\""), ["h1", "h2", "h3"]);
    assert_eq!(senders("[\"h9..h11\", \"h1\"]"), ["h9", "h10", "h11", "h1"]);
    assert_eq!(senders("\"leaf1/*\""), ["h4", "h5", "h6", "h7"]);
    assert_eq!(senders("\"leaf1..leaf2/h*1\""), ["h11"]);
    assert_eq!(senders("\"leaf*/h3..h4\""), ["h3", "h4"]);
    assert_eq!(senders("[\"leaf2/*\", \"h8\"]"), ["h8", "h9", "h10", "h11"]);
    // A range is a pattern: the receiver is omitted from the senders without a warning.
    assert_eq!(senders("\"h0..h2\""), ["h1", "h2"]);
}

#[test]
fn ranges_that_name_nothing_are_refused() {
    for (from, message, help) in [
        ("\"h10..h12\"", "contains \"h12\", which is not a host", "did you mean \"h10..h11\"?"),
        ("\"h3..h1\"", "is not a range", "did you mean \"h1..h3\"?"),
        ("\"h11..h99\"", "contains \"h12\"", "did you mean \"h11\"?"),
        ("\"h1..12\"", "is not a range", "h0"),
        ("\"leaf0..leaf2\"", "contains \"leaf0\", which is not a host", "h0"),
        ("\"leaf9/*\"", "no host matches", "h0"),
        ("\"spine0/*\"", "no host matches", "h0"),
        ("\"leaf0/x*\"", "no host matches", "h0"),
    ] {
        let why = refused(&text(LEAVES, &flow(from, "\"h0\"")));
        let one = why.errors().next().unwrap();
        assert!(one.message.contains(message) && one.help.contains(help), "{from}: {one:?}");
        assert_eq!(one.line, 11, "{from}");
    }
}

fn host<'s>(scenario: &'s Scenario, name: &str) -> &'s HostSpec {
    match &scenario.spec.nodes.iter().find(|node| node.name == name).unwrap().role {
        Role::Host(host) => host,
        Role::Switch(_) => panic!("{name} is a switch"),
    }
}

#[test]
fn settings_by_range_and_pattern() {
    let settings = "[hosts.\"h0..h3\"]\nqueue_limit = \"3 frames\"\n[hosts.h2]\nqueue_limit = \"9 frames\"\n[hosts.\"leaf2/*\"]\nqueue_limit = \"5 frames\"\n[switches.\"leaf*\"]\nlatency = \"7 us\"\n";
    let scenario = loaded(&text(LEAVES, &format!("{settings}{}", flow("\"all\"", "\"h0\""))));
    let limit = |name: &str| host(&scenario, name).queue_limit.map(|limit| limit.to_string());
    let three = Some("3 frames".to_string());
    assert_eq!([limit("h0"), limit("h1"), limit("h3")], [three.clone(), three.clone(), three]);
    assert_eq!(
        (limit("h2"), limit("h4"), limit("h8")),
        (Some("9 frames".into()), None, Some("5 frames".into()))
    );
    let latencies: Vec<u64> = scenario
        .spec
        .nodes
        .iter()
        .filter_map(|node| match &node.role {
            Role::Switch(switch) => Some(switch.latency.ps() / 1_000_000),
            Role::Host(_) => None,
        })
        .collect();
    assert_eq!(latencies.iter().filter(|&&us| us == 7).count(), 3);
    assert_eq!(latencies.iter().filter(|&&us| us == 0).count(), 2);
}

#[test]
fn settings_that_contradict_or_are_wrong_stand_at_their_pattern() {
    let with = |settings: &str| text(LEAVES, &format!("{settings}{}", flow("\"all\"", "\"h0\"")));
    let both = refused(&with(
        "[hosts.\"h0..h3\"]\nwhen_full = \"drop\"\n[hosts.\"leaf0/*\"]\nwhen_full = \"block\"\n",
    ));
    let one = both.errors().next().unwrap();
    assert!(one.message.contains("both name \"h0\""), "{one:?}");
    // An invalid value for a station selected by a pattern is reported at the pattern.
    let wrong = refused(&with("[hosts.\"h0..h3\"]\nqueue_limit = \"0 frames\"\n"));
    let one = wrong.errors().next().unwrap();
    assert_eq!((one.line, one.message.contains("a limit of 0")), (10, true), "{one:?}");
    let unknown = refused(&with("[hosts.\"h0..h33\"]\nwhen_full = \"drop\"\n"));
    assert!(unknown.errors().next().unwrap().message.contains("\"h12\""), "{unknown}");
    let none = refused(&with("[switches.\"leef*\"]\nlatency = \"1 us\"\n"));
    assert!(none.errors().next().unwrap().message.contains("no switch matches \"leef*\""), "{none}");
}

const RANGES: &str = "[topology.explicit]\nhosts = [\"a\", \"h08..h11\"]\nswitches = [\"s0..s1\"]\nlinks = [\n{ between = [\"h08..h11\", \"s0\"], rate = \"10 Gb/s\" },\n{ between = [\"s0..s1\", \"a\"], rate = \"10 Gb/s\", count = 2 },\n]\n";

#[test]
fn explicit_topologies_by_range() {
    let scenario = loaded(&text(RANGES, &flow("\"h08..h10\"", "\"a\"")));
    let names: Vec<&str> = scenario.spec.nodes.iter().map(|node| node.name.as_str()).collect();
    assert_eq!(names, ["a", "h08", "h09", "h10", "h11", "s0", "s1"]);
    let ends: Vec<(&str, &str)> =
        scenario.spec.links.iter().map(|link| (names[link.a.at()], names[link.b.at()])).collect();
    let hosts = [("h08", "s0"), ("h09", "s0"), ("h10", "s0"), ("h11", "s0")];
    assert_eq!(ends[..4], hosts);
    assert_eq!(ends[4..], [("s0", "a"), ("s0", "a"), ("s1", "a"), ("s1", "a")]);
    // An error in a name of a range is reported at the line of the range.
    let unknown = refused(&text(&RANGES.replace("\"h08..h11\", \"s0\"", "\"h08..h12\", \"s0\""), ""));
    let one = unknown.errors().next().unwrap();
    assert_eq!((one.line, one.message.as_str()), (7, "unknown node \"h12\""), "{one:?}");
    let alone = refused(&text(&RANGES.replace("[\"s0..s1\", \"a\"]", "[\"s0\", \"a\"]"), ""));
    let one = alone.errors().next().unwrap();
    assert_eq!((one.line, one.message.as_str()), (5, "\"s1\" is not connected"), "{one:?}");
}

#[test]
fn a_node_that_is_called_like_a_pattern_is_meant_itself() {
    let odd = "[topology.explicit]\nhosts = [\"r/a\", \"b\"]\nswitches = [\"s\"]\nlinks = [\n{ between = [\"r/a\", \"s\"], rate = \"10 Gb/s\" },\n{ between = [\"b\", \"s\"], rate = \"10 Gb/s\" },\n]\n";
    let scenario = loaded(&text(odd, &flow("\"r/a\"", "\"b\"")));
    assert_eq!((scenario.spec.flows.len(), scenario.spec.flows[0].name.as_str()), (1, "f"));
}

#[test]
fn a_link_has_two_ends() {
    for names in ["[\"h08\", \"s0\", \"s1\"]", "[\"h08\"]", "[]"] {
        let why = refused(&text(&RANGES.replace("[\"h08..h11\", \"s0\"]", names), ""));
        let one = why.errors().next().unwrap();
        let count = names.matches("\",").count() + usize::from(names != "[]");
        assert!(one.message.contains(&format!("{count} names")), "{one:?}");
        assert!(one.help.contains("the names of the two ends") && one.line == 7, "{one:?}");
    }
}
