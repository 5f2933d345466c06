//! Links for which the scenario states neither a PHY nor delays of the interfaces use the default PHY of their rate.

use fabric::{Simulation, pause_needs};
use flow_control::phy::Phy;
use scenario::{Scenario, load};
use std::collections::BTreeSet;
use units::BitRate;

const FLOW: &str = "[[flows]]\nname = \"f\"\nfrom = \"@\"\nto = \"@\"\nsource = \"greedy\"\n";

fn text(topology: &str, ends: [&str; 2]) -> String {
    let flow = FLOW.replacen('@', ends[0], 1).replacen('@', ends[1], 1);
    format!("[simulation]\nduration = \"100 us\"\n{topology}\n{flow}")
}

fn accepted(text: &str) -> Scenario {
    load(text, "phy.toml", None).unwrap_or_else(|why| panic!("{why}\n{text}"))
}

fn star(keys: &str) -> Scenario {
    accepted(&text(&format!("[topology.star]\nhosts = 2\n{keys}"), ["h0", "h1"]))
}

/// Returns rate in Gb/s and delay in ps of the links, each pair once.
fn links(scenario: &Scenario) -> Vec<(u64, u64)> {
    let links = &scenario.spec.links;
    let all: BTreeSet<_> =
        links.iter().map(|link| (link.rates[0].bps() / 1_000_000_000, link.delay.ps())).collect();
    all.into_iter().collect()
}

/// Returns the one-way delay in ps of the default PHY of a rate.
fn usual(gbps: u64) -> u64 {
    Phy::usual_at(BitRate::from_gbps(gbps)).unwrap().interface_delay().ps()
}

/// Returns the one-way delay in ps of the slowest PHY of a rate.
fn slowest(gbps: u64) -> u64 {
    Phy::slowest_at(BitRate::from_gbps(gbps)).unwrap().interface_delay().ps()
}

#[test]
fn each_standard_rate_has_its_usual_phy() {
    for (gbps, name) in [
        (10, "10GBASE-R"),
        (25, "25GBASE-R RS-FEC"),
        (40, "40GBASE-R"),
        (50, "50GBASE-R"),
        (100, "100GBASE-R RS-FEC"),
        (200, "200GBASE-R"),
        (400, "400GBASE-R"),
    ] {
        let scenario = star(&format!("rate = \"{gbps} Gb/s\""));
        assert_eq!(links(&scenario), [(gbps, 10_000 + usual(gbps))]);
        let effective = scenario.effective_toml();
        assert!(effective.contains(&format!("phy = \"{name}\"\n")), "{effective}");
        assert!(!effective.contains("interface_delay"), "{effective}");
        let notes = scenario.phy_notes();
        assert_eq!(notes.len(), 1);
        assert!(
            notes[0].contains(&format!("links of {gbps} Gb/s have the default PHY {name} (")),
            "{notes:?}"
        );
        // If the PHY is stated, there is no note.
        let stated = star(&format!("rate = \"{gbps} Gb/s\"\nphy = \"{name}\""));
        assert_eq!(format!("{:?}", stated.spec), format!("{:?}", scenario.spec));
        assert!(stated.phy_notes().is_empty());
    }
}

#[test]
fn other_rates_and_statements_have_none() {
    for keys in [
        "rate = \"333 Gb/s\"",
        "rate = \"1 Mb/s\"",
        "rate = \"10 Gb/s\"\nphy = \"none\"",
        "rate = \"10 Gb/s\"\ninterface_delay = \"0 s\"",
        "rate = \"10 Gb/s\"\nline_code = \"8b/10b\"",
    ] {
        let scenario = star(keys);
        assert!(scenario.spec.links.iter().all(|link| link.delay.ps() == 10_000), "{keys}");
        assert!(scenario.spec.links.iter().all(|link| link.response_time.is_none()), "{keys}");
        assert!(scenario.phy_notes().is_empty(), "{keys}");
    }
    assert_eq!(links(&star("rate = \"10 Gb/s\"\ninterface_delay = \"1 us\"")), [(10, 1_010_000)]);
    // A stated delay is that of the cable, like a length.
    assert_eq!(links(&star("rate = \"10 Gb/s\"\ndelay = \"1 us\"")), [(10, 1_000_000 + usual(10))]);
    // With a line code, the data rate determines the PHY.
    let coded = star("rate = \"12.5 Gb/s\"\nline_code = \"8b/10b\"");
    assert_eq!(links(&coded), [(10, 10_000 + usual(10))]);
}

#[test]
fn each_tier_has_that_of_its_rate() {
    let tiers = |topology: &str, ends| {
        let scenario = accepted(&text(topology, ends));
        let again = accepted(&scenario.effective_toml());
        assert_eq!(format!("{:?}", again.spec), format!("{:?}", scenario.spec));
        assert_eq!(again.effective_toml(), scenario.effective_toml());
        (links(&scenario), scenario.phy_notes().len())
    };
    let with = |gbps| (gbps, 10_000 + usual(gbps));
    let leaves = "[topology.leaf_spine]\nleaves = 2\nspines = 1\nhosts_per_leaf = 1\n";
    for (keys, expected, notes) in [
        ("rate = \"100 Gb/s\"", vec![with(100)], 1),
        ("rate = \"100 Gb/s\"\nuplink_rate = \"100 Gb/s\"", vec![with(100)], 1),
        ("rate = \"100 Gb/s\"\nuplink_rate = \"400 Gb/s\"", vec![with(100), with(400)], 2),
        ("rate = \"100 Gb/s\"\nuplink_rate = \"333 Gb/s\"", vec![with(100), (333, 10_000)], 1),
        ("rate = \"333 Gb/s\"\nuplink_rate = \"100 Gb/s\"", vec![with(100), (333, 10_000)], 1),
        (
            "rate = \"100 Gb/s\"\nphy = \"none\"\nuplink_rate = \"400 Gb/s\"",
            vec![(100, 10_000), (400, 10_000)],
            0,
        ),
        (
            "rate = \"100 Gb/s\"\nuplink_rate = \"400 Gb/s\"\nuplink_phy = \"none\"",
            vec![with(100), (400, 10_000)],
            1,
        ),
        (
            "rate = \"100 Gb/s\"\nphy = \"slowest\"\nuplink_rate = \"400 Gb/s\"",
            vec![(100, 10_000 + slowest(100)), with(400)],
            0,
        ),
    ] {
        assert_eq!(tiers(&format!("{leaves}{keys}"), ["h0", "h1"]), (expected, notes), "{keys}");
    }
    let tree = "[topology.fat_tree]\nk = 4\nrate = \"10 Gb/s\"\nuplink_rate = \"40 Gb/s\"\n";
    let ends = ["h0", "h1"];
    assert_eq!(tiers(tree, ends), (vec![with(10), with(40)], 2));
    let core = "core_rate = \"100 Gb/s\"\n";
    assert_eq!(tiers(&format!("{tree}{core}"), ends), (vec![with(10), with(40), with(100)], 3));
    // A PHY stated for one tier also applies to the core.
    let none = format!("{tree}{core}uplink_phy = \"none\"\n");
    assert_eq!(tiers(&none, ends), (vec![with(10), (40, 10_000), (100, 10_000)], 1));
    for (topology, expected) in [
        (
            "[topology.n_tree]\nk = 2\nn = 3\nrate = \"10 Gb/s\"\nuplink_rate = \"25 Gb/s\"\ncore_rate = \"50 Gb/s\"\n",
            vec![with(10), with(25), with(50)],
        ),
        (
            "[topology.dragonfly]\nhosts_per_switch = 1\nswitches_per_group = 2\nglobal_links = 1\nrate = \"25 Gb/s\"\nlocal_rate = \"50 Gb/s\"\nglobal_rate = \"200 Gb/s\"\n",
            vec![with(25), with(50), with(200)],
        ),
        (
            "[topology.slim_fly]\nq = 5\nhosts_per_switch = 1\nrate = \"25 Gb/s\"\nlocal_rate = \"50 Gb/s\"\nglobal_rate = \"200 Gb/s\"\n",
            vec![with(25), with(50), with(200)],
        ),
    ] {
        let notes = expected.len();
        assert_eq!(tiers(topology, ends), (expected, notes), "{topology}");
    }
    let rails = "[topology.rails]\nsegments = 1\nservers_per_segment = 2\nrails = 1\nspines = 1\nrate = \"200 Gb/s\"\nuplink_rate = \"400 Gb/s\"\n";
    assert_eq!(tiers(rails, ["h0.0", "h1.0"]), (vec![with(200), with(400)], 2));
}

#[test]
fn a_bottleneck_with_a_delay_has_none() {
    let dumbbell = |keys: &str| {
        let keys = format!("[topology.dumbbell]\nleft = 1\nright = 1\nrate = \"100 Gb/s\"\n{keys}");
        let scenario = accepted(&text(&keys, ["l0", "r0"]));
        let again = accepted(&scenario.effective_toml());
        assert_eq!(format!("{:?}", again.spec), format!("{:?}", scenario.spec));
        links(&scenario)
    };
    let own = (100, 10_000 + usual(100));
    assert_eq!(dumbbell("bottleneck_rate = \"10 Gb/s\""), [(10, 10_000 + usual(10)), own]);
    let delay = "bottleneck_rate = \"10 Gb/s\"\nbottleneck_delay = \"5 us\"";
    assert_eq!(dumbbell(delay), [(10, 5_000_000), own]);
    let stated = (100, 10_000 + slowest(100));
    assert_eq!(dumbbell("phy = \"slowest\"\nbottleneck_delay = \"5 us\""), [stated, (100, 5_000_000)]);
}

#[test]
fn links_one_by_one() {
    let scenario = accepted(&text(
        "[topology.explicit]\nhosts = [\"a\", \"b\", \"c\", \"d\"]\nswitches = [\"s\"]\nlinks = [\n\
         { between = [\"a\", \"s\"], rate = \"400 Gb/s\", length = \"40 m\" },\n\
         { between = [\"b\", \"s\"], rate = \"400 Gb/s\", phy = \"none\" },\n\
         { between = [\"c\", \"s\"], rate = \"25 Gb/s\", reverse_rate = \"10 Gb/s\" },\n\
         { between = [\"d\", \"s\"], rate = \"25 Gb/s\", reverse_rate = \"25 Gb/s\" },\n]\n\
         [links.\"a<->s\"]\ndelay = \"700 ns\"",
        ["a", "b"],
    ));
    let delays: Vec<u64> = scenario.spec.links.iter().map(|link| link.delay.ps()).collect();
    assert_eq!(delays, [700_000 + usual(400), 10_000, 10_000, 10_000 + usual(25)]);
    assert_eq!(scenario.phy_notes().len(), 2);
    let again = accepted(&scenario.effective_toml());
    assert_eq!(format!("{:?}", again.spec), format!("{:?}", scenario.spec));
    assert_eq!(again.identity(), scenario.identity());
    assert!(again.phy_notes().is_empty());
}

#[test]
fn headroom_holds_the_phy_of_400_gigabit() {
    let keys = |more: &str, headroom: &str| {
        format!(
            "[simulation]\nduration = \"200 us\"\n[topology.star]\nhosts = 5\nrate = \"400 Gb/s\"\nlength = \"40 m\"\n\
             {more}\n[flow_control.pfc]\npriorities = [3]\naccounting = \"ingress\"\nxoff = \"60 kB\"\nxon = \"50 kB\"\n{headroom}\n\
             [[flows]]\nname = \"f\"\nfrom = \"h1..h4\"\nto = \"h0\"\npriority = 3\nframe = \"4162 B\"\nsource = \"greedy\"\n"
        )
    };
    let room = |text: &str| pause_needs(&accepted(text).spec).iter().map(|need| need.room.get()).max();
    assert_eq!(room(&keys("phy = \"none\"", "")), Some(90_529));
    assert_eq!(room(&keys("", "")), Some(206_369));
    let why = load(&keys("", "headroom = \"206368 B\""), "phy.toml", None).unwrap_err().to_string();
    assert!(why.contains("expected at least \"206369 B\""), "{why}");
    // Every sender is sending at line rate when its pause begins. More bytes arrive than the headroom would be without
    // a PHY, and nothing is lost.
    let scenario = accepted(&keys("", "headroom = \"206369 B\""));
    let mut simulation = Simulation::new(&scenario.spec).unwrap();
    simulation.run().unwrap();
    let tables = simulation.tables();
    let sum = |table: &str, column: &str| {
        let table = tables.iter().find(|one| one.spec.name == table).unwrap();
        let column = table.columns.iter().find(|one| one.spec.name == column).unwrap();
        match &column.values {
            measure::Values::Integer(values) => values.iter().sum::<u64>(),
            _ => panic!("a count"),
        }
    };
    assert!(sum("ports", "pauses_sent") > 0);
    assert_eq!(sum("flows", "frames_dropped"), 0);
}
