//! Warnings about guarantees of a scenario that a run will violate, and no warnings if it will not.

use scenario::load;

/// Returns the warnings of a scenario that loads, and those among them about a violated guarantee.
fn found(text: &str) -> (Vec<String>, Vec<String>) {
    let scenario = load(text, "t.toml", None).unwrap_or_else(|why| panic!("{why}\nin\n{text}"));
    let warnings = scenario.warnings.iter().map(|one| one.message.clone()).collect();
    (warnings, scenario.not_lossless())
}

fn warns(text: &str, words: &str) {
    let (warnings, _) = found(text);
    assert!(warnings.iter().any(|one| one.contains(words)), "no \"{words}\" in {warnings:#?}");
}

fn is_quiet(text: &str) {
    assert_eq!(found(text).0, [] as [String; 0], "in\n{text}");
}

#[test]
fn short_headroom_breaks_a_promise() {
    let text = |levels: &str| {
        format!(
            "simulation = {{ duration = \"1 ms\", on_lossless_drop = \"count\" }}\n\
             topology.star = {{ hosts = 3, rate = \"10 Gb/s\", length = \"100 m\", phy = \"none\" }}\n\
             flow_control.pfc = {{ accounting = \"ingress\", {levels} }}\n\
             [[flows]]\nname = \"f\"\nfrom = \"h0\"\nto = \"h2\"\nsource = \"greedy\"\n"
        )
    };
    let short = text("xoff = \"20 kB\", xon = \"10 kB\", headroom = \"1 kB\"");
    let (warnings, broken) = found(&short);
    assert_eq!((warnings.len(), &warnings), (1, &broken));
    assert!(broken[0].contains("headroom 1000 B is less than the bytes in flight on a link of \"sw\""));
    let enough = text("xoff = \"20 kB\", xon = \"10 kB\", headroom = \"20 kB\"");
    assert_eq!(found(&enough), (Vec::new(), Vec::new()));
    // A scenario that stops at the first loss is rejected.
    assert!(load(&short.replace("\"count\"", "\"stop\""), "t.toml", None).is_err());
}

#[test]
fn hosts_send_pauses_too() {
    let text = |receive: &str| {
        format!(
            "simulation = {{ duration = \"2 ms\" }}\nflow_control.pause = {{}}\n{receive}\n\
             topology.explicit = {{ hosts = [\"tx\", \"rx\"], links = [ {{ between = [\"tx\", \"rx\"], rate = \"400 Gb/s\", length = \"3 m\", phy = \"none\" }} ] }}\n\
             [[flows]]\nname = \"f\"\nfrom = \"tx\"\nto = \"rx\"\nsource = \"greedy\"\n"
        )
    };
    is_quiet(&text("hosts.rx.receive = { rate = \"300 Gb/s\", buffer = \"512 KiB\" }"));
    warns(&text(""), "flow control, but no station sends pauses");
}

/// Returns a scenario with transfers over RDMA between the hosts of two leaves.
fn over(rdma: &str, frame: &str, switch: &str) -> String {
    format!(
        "simulation = {{ duration = \"1 ms\" }}\n{switch}\n\
         topology.leaf_spine = {{ leaves = 2, spines = 2, hosts_per_leaf = 2, rate = \"100 Gb/s\", length = \"20 m\", phy = \"none\" }}\n\
         flow_control.pfc.priorities = [3]\n\
         [[transfers]]\nname = \"t\"\nfrom = \"h0\"\nto = \"h2\"\nsizes = \"4 MB\"\narrivals = \"once\"\npriority = 3\n\
         frame = \"{frame}\"\nover = {{ rdma = {{ {rdma} }} }}\n"
    )
}

#[test]
fn selective_repeat_where_packets_overtake() {
    let selective = "control = \"none\", recovery = \"selective\"";
    for choice in ["spray", "round_robin", "least_queued"] {
        let switch = format!("switch.path_choice = \"{choice}\"");
        warns(&over(selective, "4200 B", &switch), "chooses a path for each frame: a reordered packet");
    }
    is_quiet(&over(selective, "4200 B", "switch.path_choice = \"hash\""));
    for choice in ["spray", "round_robin", "least_queued"] {
        let switch = format!("switch.path_choice = \"{choice}\"");
        for recovery in ["\"reordering\"", "{ reordering = { preset = \"falcon\" } }"] {
            is_quiet(&over(&format!("control = \"none\", recovery = {recovery}"), "4200 B", &switch));
        }
    }
}

#[test]
fn headers_that_halve_the_mtu() {
    let hpcc = "control = \"hpcc\", queue_pairs = \"each\"";
    warns(&over(hpcc, "1090 B", ""), "the MTU falls from 1024 B to 512 B");
    is_quiet(&over(hpcc, "1132 B", ""));
    is_quiet(&over("control = \"hpcc\", mtu = \"982 B\"", "1090 B", ""));
    warns(&over("control = \"none\", verb = \"write\"", "4162 B", ""), "the MTU falls from 4096 B to 2048 B");
    is_quiet(&over("control = \"none\", verb = \"write\"", "4178 B", ""));
    is_quiet(&over("control = \"none\"", "4162 B", ""));
}

#[test]
fn targets_below_the_round_trip() {
    let text = |control: &str, delay: &str| {
        format!(
            "simulation = {{ duration = \"1 ms\" }}\n\
             topology.star = {{ hosts = 2, rate = \"10 Gb/s\", delay = \"{delay}\", phy = \"none\" }}\n\
             [[transfers]]\nname = \"t\"\nfrom = \"h0\"\nto = \"h1\"\nsizes = \"64 B\"\narrivals = \"once\"\n\
             over = {{ rdma = {{ control = {control}, recovery = \"selective\" }} }}\n"
        )
    };
    warns(&text("\"swift\"", "100 us"), "the target of \"t\" is a round trip of");
    is_quiet(&text("\"swift\"", "1 us"));
    is_quiet(&text("{ swift = { base_target = \"500 us\" } }", "100 us"));
    warns(
        &text("{ timely = { t_high = \"300 us\" } }", "100 us"),
        "the target of \"t\" is a round trip of 300.0 us",
    );
    is_quiet(&text("\"timely\"", "100 us"));
}

#[test]
fn code_points_that_no_map_knows() {
    let text = |maps: &str, dscp: u64| {
        format!(
            "simulation = {{ duration = \"1 ms\" }}\nswitch.queues = \"per_priority\"\n{maps}\n\
             topology.star = {{ hosts = 2, rate = \"10 Gb/s\", phy = \"none\" }}\n\
             [[flows]]\nname = \"f\"\nfrom = \"h0\"\nto = \"h1\"\ndscp = {dscp}\nsource = \"greedy\"\n"
        )
    };
    warns(&text("", 26), "DSCP 26, and no switch has a map of DSCP: its class is 3");
    is_quiet(&text("", 24));
    is_quiet(&text("switch.maps.dscp_to_tc = { 26 = 3, other = 0 }", 26));
}
