//! DCBX between the ports of a scenario: the agreement of the ends, its effect on a run, and the reports.

use fabric::Simulation;
use scenario::{Scenario, load};
use scheduling::{EtsClass, EtsParams, SchedulerSpec, Selection};

fn accepted(text: &str) -> Scenario {
    load(text, "dcbx.toml", None).unwrap_or_else(|why| panic!("{why}\n{text}"))
}

/// Returns a star of two hosts and a receiver. The switch is the first station, and therefore has the lowest address.
fn star(more: &str) -> String {
    format!(
        "[simulation]\nduration = \"300 us\"\n\n[topology.star]\nhosts = 3\nrate = \"10 Gb/s\"\ndelay = \"1 us\"\nphy = \"none\"\n\n\
         [flow_control.pfc]\npriorities = [3]\nxoff = \"40 KiB\"\nxon = \"20 KiB\"\n\n{more}\n\
         [[flows]]\nname = \"a\"\nfrom = \"h0\"\nto = \"h2\"\npriority = 3\nsource = \"greedy\"\n\n\
         [[flows]]\nname = \"b\"\nfrom = \"h1\"\nto = \"h2\"\npriority = 3\nsource = \"greedy\"\n"
    )
}

/// Returns the PFC priorities in force at both ends of a link; 0xFF if not negotiated.
fn pfc(scenario: &Scenario, link: usize) -> [u8; 2] {
    let ends = scenario.spec.negotiated[link].each_ref();
    ends.map(|end| end.as_ref().map_or(0xFF, |end| end.pfc))
}

fn column(scenario: &Scenario, table: &str, column: &str) -> Vec<String> {
    let mut simulation = Simulation::new(&scenario.spec).expect("builds");
    simulation.run().unwrap_or_else(|why| panic!("{why}"));
    let tables = simulation.tables();
    let table = tables.iter().find(|one| one.spec.name == table).expect("the table exists");
    let column = table.columns.iter().find(|one| one.spec.name == column).expect("the column exists");
    match &column.values {
        measure::Values::Integer(values) => values.iter().map(u64::to_string).collect(),
        measure::Values::Text(values) => values.iter().map(ToString::to_string).collect(),
        measure::Values::Real(values) => values.iter().map(f64::to_string).collect(),
        measure::Values::Named { .. } => panic!("no names are asked for"),
    }
}

/// Compares with a table that was measured with two lldpad, with the switch as "A": its address is the lower one.
#[test]
fn the_willing_matrix() {
    for ([host, switch], lower_wins, expected) in [
        ([true, true], false, [0x08, 0x08]),
        ([true, true], true, [0x20, 0x20]),
        ([false, true], false, [0x08, 0x08]),
        ([true, false], false, [0x20, 0x20]),
        ([false, false], false, [0x08, 0x20]),
    ] {
        let tie = if lower_wins { "tie_break = \"lower_wins\"\n" } else { "" };
        let of = |station: &str, willing: bool, priority: u8| {
            format!("[{station}.dcbx]\n{tie}pfc = {{ willing = {willing}, priorities = [{priority}] }}\n\n")
        };
        let text = star(&(of("host", host, 3) + &of("switch", switch, 5)));
        let scenario = accepted(&text);
        for link in 0..3 {
            assert_eq!(pfc(&scenario, link), expected, "{host} {switch} {lower_wins}");
        }
        let mismatches: Vec<&str> = scenario
            .warnings
            .iter()
            .map(|one| &*one.message)
            .filter(|text| text.contains("mismatch"))
            .collect();
        if expected[0] == expected[1] {
            assert_eq!(mismatches, Vec::<&str>::new());
        } else {
            assert_eq!(mismatches[0], "DCBX: PFC mismatch: 3 at \"h0\", 5 at \"sw\"");
            assert_eq!(mismatches.len(), 3, "one a link: {mismatches:?}");
        }
    }
}

/// Omitted settings are taken from flow control, and a willing host adopts the recommendation of its switch.
#[test]
fn a_recommendation_is_adopted() {
    let table = "{ classes = [0, 0, 0, 1, 0, 0, 0, 2], percent = [40, 60], algorithms = [\"ets\", \"ets\"] }";
    let scenario =
        accepted(&star(&format!("[host.dcbx]\n[switch.dcbx.ets]\nwilling = false\nrecommended = {table}\n")));
    let percent = |queues: Vec<u32>, percent| EtsClass {
        queues,
        selection: Selection::Percent(percent),
        adaptive: None,
    };
    let expected = SchedulerSpec::Ets(EtsParams::new(vec![
        percent(vec![0, 1, 2, 4, 5, 6], 40),
        percent(vec![3], 60),
        EtsClass { queues: vec![7], selection: Selection::Strict, adaptive: None },
    ]));
    let [host, switch] = scenario.spec.negotiated[0].each_ref().map(|end| end.as_ref().unwrap());
    assert_eq!((host.scheduler.as_ref(), switch.scheduler.as_ref()), (Some(&expected), None));
    assert_eq!([host.pfc, switch.pfc], [0x08, 0x08]);
    let ets = &host.features[1];
    assert_eq!(ets.operational, "0,1,2,4,5,6: 40 %; 3: 60 %; 7: strict");
    assert_eq!((&*ets.remote, &*ets.why), (&*ets.operational, "adopted from the peer"));
    assert_eq!(switch.features[1].why, "ours: not willing");
    assert!(column(&scenario, "dcbx", "port").contains(&"h0.0->sw".to_string()));
}

/// The scheduler of a port is the adopted one: three greedy classes of one host share the link as the switch
/// recommends.
#[test]
fn shares_are_those_recommended() {
    let table = "{ classes = [0, 0, 0, 1, 0, 0, 0, 0], percent = [25, 75], algorithms = [\"ets\", \"ets\"] }";
    let flow = |name: &str, priority: u8| {
        format!(
            "[[flows]]\nname = \"{name}\"\nfrom = \"h0\"\nto = \"h1\"\npriority = {priority}\nsource = \"greedy\"\n\n"
        )
    };
    let scenario = accepted(&format!(
        "[simulation]\nduration = \"2 ms\"\n\n[topology.star]\nhosts = 2\nrate = \"10 Gb/s\"\ndelay = \"1 us\"\nphy = \"none\"\n\n\
         [host.dcbx]\n\n[switch.dcbx.ets]\nrecommended = {table}\n\n{}{}",
        flow("low", 0),
        flow("high", 3)
    ));
    let bytes: Vec<f64> =
        column(&scenario, "flows", "bytes_delivered").iter().map(|text| text.parse().unwrap()).collect();
    let share = bytes[0] / (bytes[0] + bytes[1]);
    assert!((share - 0.25).abs() < 0.005, "{share}");
}

/// A port without PFC receives no pauses and guarantees no lossless class, even if other ports of its switch do.
#[test]
fn pfc_is_that_of_each_port() {
    let text = star(
        "[host.dcbx]\n\n[hosts.h0.dcbx.pfc]\nwilling = false\npriorities = []\n\n[switch.dcbx]\n\n\
         [switch.buffer]\nqueue = \"100 KiB\"\n",
    )
    .replace("\"300 us\"", "\"300 us\"\non_lossless_drop = \"count\"");
    // All hosts but h0 are willing, and the switch adopts the settings of each.
    let scenario = accepted(&text);
    assert_eq!([0, 1, 2].map(|link| pfc(&scenario, link)), [[0, 0], [8, 8], [8, 8]]);
    let ports = column(&scenario, "ports", "port");
    let received = column(&scenario, "ports", "pauses_received");
    let of =
        |name: &str| received[ports.iter().position(|port| port == name).unwrap()].parse::<u64>().unwrap();
    assert!(of("h1.0->sw") > 0);
    assert_eq!(of("h0.0->sw"), 0);
}

/// T11: a port without PFC in force sends no FCoE, regardless of its host's flow control; IEEE 802.1 traffic continues.
#[test]
fn fcoe_is_sent_where_the_agents_left_pfc_in_force() {
    let fcoe = |rule: &str| {
        format!(
            "frame = \"2180 B\"\nsource = {{ fcoe = {{ operation = \"write\", block = \"64 KiB\"{rule} }} }}"
        )
    };
    for (dcbx, rule, withheld, warned) in [
        // Without DCBX, the configured settings are in force.
        ("", "", ["", ""], 0),
        ("[host.dcbx]\n[switch.dcbx]\n", "", ["", ""], 0),
        // The switch has no PFC. The ports of h0 and h1 are willing and adopt this, as does the port of h2.
        (
            "[host.dcbx]\n[switch.dcbx.pfc]\nwilling = false\npriorities = []\n",
            "",
            ["h0.0->sw h2.0->sw", "h1.0->sw h2.0->sw"],
            2,
        ),
        // Only the target has no PFC.
        (
            "[host.dcbx]\n[hosts.h2.dcbx.pfc]\nwilling = false\npriorities = []\n[switch.dcbx]\n",
            "",
            ["h2.0->sw", "h2.0->sw"],
            2,
        ),
        // One end pauses only priority 4.
        (
            "[host.dcbx.pfc]\nwilling = false\npriorities = [4]\n[switch.dcbx.pfc]\nwilling = false\n",
            "",
            ["h0.0->sw h2.0->sw", "h1.0->sw h2.0->sw"],
            2,
        ),
        (
            "[host.dcbx]\n[switch.dcbx.pfc]\nwilling = false\npriorities = []\n",
            ", requires_lossless = false",
            ["", ""],
            0,
        ),
    ] {
        let scenario = accepted(&star(dcbx).replace("source = \"greedy\"", &fcoe(rule)));
        let warnings = scenario.warnings.iter().filter(|one| one.message.contains("sends nothing to \"sw\""));
        assert_eq!(warnings.count(), warned, "{dcbx}");
        assert_eq!(column(&scenario, "connections", "withheld_at"), withheld, "{dcbx}");
        let ended: u64 =
            column(&scenario, "connections", "exchanges").iter().map(|it| it.parse::<u64>().unwrap()).sum();
        assert_eq!(ended > 0, withheld[0].is_empty(), "{dcbx}");
    }
}

/// A host with two ports, of which the second leads to a switch without PFC. With and without failover, the port on the
/// current route counts, and the check names the ports that may be used.
#[test]
fn fcoe_is_sent_through_the_port_in_use() {
    let text = |faults: &str| {
        format!(
            "[simulation]\nduration = \"4 ms\"\n\n[topology.explicit]\nhosts = [\"h\", \"t\"]\nswitches = [\"a\", \"b\", \"c\"]\n\
             links = [\n{}]\n\n[flow_control.pfc]\npriorities = [3]\nxoff = \"40 KiB\"\nxon = \"20 KiB\"\n\n\
             [host.dcbx]\n[switch.dcbx]\n[switches.b.dcbx.pfc]\nwilling = false\npriorities = []\n\n\
             [[flows]]\nname = \"san\"\nfrom = \"h\"\nto = \"t\"\npriority = 3\nframe = \"2180 B\"\n\
             source = {{ fcoe = {{ operation = \"write\", block = \"64 KiB\", ulp_tov = \"200 us\" }} }}\n\n{faults}",
            ["h\", \"a", "h\", \"b", "a\", \"t", "b\", \"c", "c\", \"t"]
                .map(|ends| format!(
                    "{{ between = [\"{ends}\"], rate = \"10 Gb/s\", delay = \"1 us\", phy = \"none\" }},\n"
                ))
                .concat()
        )
    };
    let run = |faults: &str| {
        let scenario = accepted(&text(faults));
        let warnings: Vec<String> = scenario
            .warnings
            .iter()
            .filter(|one| one.message.contains("sends nothing to"))
            .map(|one| one.message.clone())
            .collect();
        let exchanges: u64 = column(&scenario, "connections", "exchanges")[0].parse().unwrap();
        (warnings, column(&scenario, "connections", "withheld_at")[0].clone(), exchanges)
    };
    let (warnings, withheld, all) = run("");
    assert_eq!((warnings.len(), withheld.as_str()), (0, ""), "the way over b is longer");
    let down = |lasts: &str| {
        format!(
            "[[faults]]\nlink = [\"h\", \"a\"]\nat = \"1 ms\"\ndown = true\nreroute = true\nafter = \"10 us\"\n{lasts}"
        )
    };
    // A permanent failure: only the exchanges of the first quarter complete.
    let (warnings, withheld, first) = run(&down(""));
    assert!(warnings.len() == 1 && warnings[0].contains("\"h\" sends nothing to \"b\""), "{warnings:?}");
    assert_eq!(withheld, "h.1->b");
    assert!(first > all / 5 && first < all * 3 / 10, "{first} of {all}");
    // A failure of one millisecond: the exchanges of the last two quarters complete too.
    let (_, withheld, most) = run(&down("duration = \"1 ms\"\n"));
    assert_eq!(withheld, "h.1->b");
    assert!(most > all * 3 / 5 && most < all * 4 / 5, "{most} of {all}");
}

/// The switch has PFC only at the port of h2. Losses at other ports do not violate its lossless class, and the run
/// continues.
#[test]
fn a_promise_is_that_of_a_port() {
    let none = "{ willing = false, priorities = [] }";
    let scenario = accepted(&star(&format!(
        "[host.dcbx]\n\n[hosts.\"h0..h1\".dcbx]\npfc = {none}\n\n[switch.dcbx]\n\n[switch.buffer]\nqueue = \"100 KiB\"\n"
    )));
    assert_eq!([0, 1, 2].map(|link| pfc(&scenario, link)), [[0, 0], [0, 0], [8, 8]]);
    let lost = column(&scenario, "flows", "frames_dropped");
    assert_ne!(lost, ["0", "0"]);
    assert!(column(&scenario, "ports", "headroom_violations").iter().all(|lost| lost == "0"));
}

/// One end sends pauses for priorities that the other does not pause: frames are lost, as the check has reported.
#[test]
fn a_mismatch_costs_frames() {
    let text = star(
        "[host.dcbx.pfc]\nwilling = false\npriorities = [4]\n\n[switch.dcbx.pfc]\nwilling = false\n\n\
         [switch.buffer]\nqueue = \"100 KiB\"\n",
    );
    let scenario = accepted(&text);
    assert!(
        scenario.warnings.iter().any(|one| one.message.contains("PFC mismatch: 4 at \"h0\", 3 at \"sw\""))
    );
    assert!(
        scenario.warnings.iter().any(|one| one.message.contains("does not obey")),
        "{:?}",
        scenario.warnings
    );
    let mut simulation = Simulation::new(&scenario.spec).expect("builds");
    let why = simulation.run().expect_err("a lossless class loses frames").to_string();
    assert!(why.contains("does not obey pauses of priority 3"), "{why}");
}

/// Two ends with the pre-standard version adopt settings. If one end has only the standard version, nothing is adopted,
/// and the check reports it.
#[test]
fn dialects() {
    let both = |host: &str, switch: &str| {
        accepted(&star(&format!(
            "[host.dcbx]\ndialect = \"{host}\"\npfc = {{ priorities = [] }}\n\n\
             [switch.dcbx]\ndialect = \"{switch}\"\npfc = {{ willing = false }}\n"
        )))
    };
    let older = both("older", "older");
    assert_eq!(pfc(&older, 0), [8, 8]);
    assert_eq!(pfc(&both("either", "older"), 0), [8, 8]);
    let apart = both("standard", "older");
    assert_eq!(pfc(&apart, 0), [0, 8]);
    let message = "DCBX: \"h0\" and \"sw\" speak different dialects";
    assert!(apart.warnings.iter().any(|one| one.message == message), "{:?}", apart.warnings);
}

/// A station whose neighbours do not run DCBX keeps its own settings. The effective scenario negotiates the same
/// results.
#[test]
fn effective_scenarios_negotiate_the_same() {
    for more in [
        "[switch.dcbx]\n",
        "[switch.dcbx]\n\n[host.dcbx]\ntie_break = \"lower_wins\"\n",
        "[host.dcbx.ets]\nown = { classes = [0, 0, 0, 1, 0, 0, 0, 0], percent = [40, 60], algorithms = [\"ets\", \"ets\"] }\n\n\
         [[hosts.h1.dcbx.applications]]\nselector = \"datagram_port\"\nprotocol = 4791\npriority = 3\n",
    ] {
        let scenario = accepted(&star(more));
        let text = scenario.effective_toml();
        let again = accepted(&text);
        assert_eq!(again.effective_toml(), text);
        assert_eq!(again.spec.negotiated, scenario.spec.negotiated);
        assert_eq!(again.spec.negotiated.len(), 3);
    }
}

/// Returns two leaves below one spine: one with two hosts, and one whose hosts are remote.
fn tree(more: &str) -> String {
    format!(
        "[simulation]\nduration = \"300 us\"\n\n[topology.leaf_spine]\nleaves = 2\nspines = 1\nhosts_per_leaf = 2\n\
         rate = \"10 Gb/s\"\nuplink_rate = \"10 Gb/s\"\ndelay = \"1 us\"\nphy = \"none\"\n\n\
         [flow_control.pfc]\npriorities = [3]\nxoff = \"40 KiB\"\nxon = \"20 KiB\"\n\n[host.dcbx]\n{more}\n\
         [[flows]]\nname = \"a\"\nfrom = \"h0\"\nto = \"h3\"\npriority = 3\nsource = \"greedy\"\n"
    )
}

/// The hosts of an edge switch do not learn the settings of the core, unless the ports to them inherit the state in
/// force at the uplink.
#[test]
fn hosts_are_told_what_is_in_force_at_the_uplink() {
    let spine = "[switches.spine0.dcbx]\npfc = { willing = false, priorities = [5] }\n[switches.spine0.dcbx.ets]\nwilling = false\n\
                 recommended = { classes = [0, 0, 0, 1, 0, 0, 0, 2], percent = [40, 60], algorithms = [\"ets\", \"ets\"] }\n";
    let leaf = |uplink: &str| format!("[switch.dcbx]\n{uplink}");
    let at = |scenario: &Scenario, of: &str| -> Vec<(u8, bool)> {
        let links = scenario.spec.links.iter().zip(&scenario.spec.negotiated);
        let name = |id: frame::NodeId| scenario.spec.nodes[id.at()].name.clone();
        let ends = links.flat_map(|(link, ends)| [(name(link.a), &ends[0]), (name(link.b), &ends[1])]);
        let own = ends.filter(|(name, _)| name.starts_with(of)).filter_map(|(_, end)| end.as_ref());
        own.map(|end| (end.pfc, matches!(end.scheduler, Some(SchedulerSpec::Ets(_))))).collect()
    };
    let without = accepted(&tree(&(spine.to_string() + &leaf(""))));
    assert_eq!(at(&without, "h"), [(0x08, false); 4]);
    let with = accepted(&tree(&(spine.to_string() + &leaf("uplink = \"spine0\"\n"))));
    assert_eq!(at(&with, "h"), [(0x20, true); 4]);
    assert_eq!(at(&with, "leaf"), [(0x20, true); 6]);
    assert!(with.warnings.iter().all(|one| !one.message.contains("mismatch")));
    assert!(
        load(&with.effective_toml(), "effective.toml", None)
            .is_ok_and(|again| again.spec.negotiated == with.spec.negotiated)
    );
}

#[test]
fn uplinks_that_lead_nowhere_are_refused() {
    let refused = |more: &str| load(&tree(more), "dcbx.toml", None).expect_err("it is refused").to_string();
    let lost = refused("[switch.dcbx]\nuplink = \"spine7\"\n");
    assert!(lost.contains("no station has a link to \"spine7\"") && lost.contains("dcbx.toml:"), "{lost}");
    let silent = accepted(&tree("[switches.leaf0.dcbx]\nuplink = \"spine0\"\n"));
    assert_eq!(
        silent.warnings[0].message,
        "the uplink \"spine0\" has no dcbx: no settings are received from it"
    );
    // Both ends of a link may name it as their uplink; in a ring of four, each would wait for the next one.
    let own = |of: &str, uplink: &str| format!("[switches.{of}.dcbx]\nuplink = \"{uplink}\"\n");
    accepted(&tree(&(own("leaf0", "spine0") + &own("spine0", "leaf0"))));
    let round = [("leaf0", "spine0"), ("spine0", "leaf1"), ("leaf1", "spine1"), ("spine1", "leaf0")];
    let all: String = round.iter().map(|(of, uplink)| own(of, uplink)).collect();
    let round = tree(&all).replace("spines = 1", "spines = 2");
    let circle = load(&round, "dcbx.toml", None).expect_err("it is refused").to_string();
    assert!(circle.contains("form a cycle"), "{circle}");
    // A host that waits for the cycle is not reported as part of it.
    assert!(circle.contains("\"leaf0\"") && !circle.contains("\"h0\""), "{circle}");
}

/// If several links lead to the uplink neighbour, all of them are uplinks: none inherits the state of another.
#[test]
fn two_links_to_an_uplink_agree_by_themselves() {
    let link = |a: &str, b: &str| {
        format!(
            "[[topology.explicit.links]]\nbetween = [\"{a}\", \"{b}\"]\nrate = \"10 Gb/s\"\ndelay = \"1 us\"\nphy = \"none\"\n"
        )
    };
    let links = [("edge", "core"), ("edge", "core"), ("a", "edge"), ("b", "core")].map(|(a, b)| link(a, b));
    let text = format!(
        "[simulation]\nduration = \"300 us\"\n\n[topology.explicit]\nhosts = [\"a\", \"b\"]\nswitches = [\"edge\", \"core\"]\n{}\n\
         [flow_control.pfc]\npriorities = [3]\nxoff = \"40 KiB\"\nxon = \"20 KiB\"\n\n[host.dcbx]\n\
         [switches.edge.dcbx]\nuplink = \"core\"\n[switches.core.dcbx.pfc]\nwilling = false\npriorities = [5]\n\n\
         [[flows]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\npriority = 5\nsource = \"greedy\"\n",
        links.concat()
    );
    let scenario = accepted(&text);
    for link in 0..4 {
        assert_eq!(pfc(&scenario, link), [0x20, 0x20], "link {link}");
    }
    // A run with several threads has the same ports.
    let run = |threads: usize| {
        let mut simulation = Simulation::on_threads(&scenario.spec, threads).expect("builds");
        simulation.run().unwrap_or_else(|why| panic!("{why}"));
        simulation.fingerprint()
    };
    assert_eq!(run(1), run(2));
}
