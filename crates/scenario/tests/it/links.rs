//! Line codes and slow links: every result is that of the exact data rate.

use fabric::Simulation;
use fabric::spec::FaultSpec;
use scenario::{Scenario, load};
use units::{BitRate, LineCode};

fn loaded(text: &str) -> Scenario {
    let first = load(text, "x.toml", None).unwrap_or_else(|why| panic!("{why}\n{text}"));
    let effective = first.effective_toml();
    let second = load(&effective, "x.toml", None).unwrap_or_else(|why| panic!("{why}\n{effective}"));
    assert_eq!(format!("{:?}", first.spec), format!("{:?}", second.spec), "{effective}");
    assert_eq!(effective, second.effective_toml());
    first
}

/// Flow control, "wire", shares of the link, and sources close to the rate of their link.
const REST: &str = r#"
[flow_control.pfc]
[switch.scheduler.shaper]
port = { token_bucket = { rate = { share = 0.5 }, depth = "3 KiB" } }
[[flows]]
name = "f"
from = "FROM"
to = "TO"
rate_counts = "wire"
source = { bernoulli = { rate = "7 Gb/s" } }
"#;

#[test]
fn a_line_code_leaves_the_rate_of_data_to_everything() {
    let head = "[simulation]\nduration = \"200 us\"\n";
    for (coded, plain, ends) in [
        (
            "[topology.star]\nhosts = 3\nrate = \"12.5 Gb/s\"\nphy = \"none\"\nline_code = \"8b/10b\"\n",
            "[topology.star]\nhosts = 3\nrate = \"10 Gb/s\"\nphy = \"none\"\n",
            ["h0", "h1"],
        ),
        (
            "[topology.star]\nhosts = 3\nrate = \"10.3125 Gb/s\"\nline_code = \"64b/66b\"\nphy = \"10GBASE-R\"\n",
            "[topology.star]\nhosts = 3\nrate = \"10 Gb/s\"\nphy = \"10GBASE-R\"\n",
            ["h0", "h1"],
        ),
        (
            "[topology.dumbbell]\nleft = 1\nright = 1\nrate = \"65 Gb/s\"\nphy = \"none\"\nbottleneck_rate = \"32.5 Gb/s\"\nline_code = \"128b/130b\"\n",
            "[topology.dumbbell]\nleft = 1\nright = 1\nrate = \"64 Gb/s\"\nphy = \"none\"\nbottleneck_rate = \"32 Gb/s\"\n",
            ["l0", "r0"],
        ),
        (
            "[topology.leaf_spine]\nleaves = 2\nspines = 1\nhosts_per_leaf = 1\nrate = \"12.5 Gb/s\"\nphy = \"none\"\nuplink_rate = \"25 Gb/s\"\nline_code = \"8b/10b\"\n",
            "[topology.leaf_spine]\nleaves = 2\nspines = 1\nhosts_per_leaf = 1\nrate = \"10 Gb/s\"\nphy = \"none\"\nuplink_rate = \"20 Gb/s\"\n",
            ["h0", "h1"],
        ),
    ] {
        let rest = REST.replace("FROM", ends[0]).replace("TO", ends[1]);
        let (coded, plain) =
            (loaded(&format!("{head}{coded}{rest}")), loaded(&format!("{head}{plain}{rest}")));
        // Except for the nominal rate in the text, which selects profiles of memories.
        let without_words = |scenario: &Scenario| {
            let mut spec = scenario.spec.clone();
            spec.links.iter_mut().for_each(|link| link.wire_rates = link.rates);
            format!("{spec:?}")
        };
        assert_eq!(without_words(&coded), without_words(&plain));
        let run = |scenario: &Scenario| {
            let mut simulation = Simulation::new(&scenario.spec).unwrap();
            simulation.run().unwrap();
            (simulation.fingerprint(), format!("{:?}", simulation.tables()))
        };
        assert_eq!(run(&coded), run(&plain));
    }
}

#[test]
fn all_topologies_have_line_codes() {
    let eighth = LineCode::OneTwentyEightOneThirty.data_rate(BitRate::from_gbps(8));
    for (shape, ends) in [
        ("star]\nhosts = 2", ["h0", "h1"]),
        ("dumbbell]\nleft = 1\nright = 1", ["l0", "r0"]),
        ("chain]\nswitches = 2\nhosts_per_switch = 1", ["h0.0", "h1.0"]),
        ("ring]\nswitches = 3\nhosts_per_switch = 1", ["h0.0", "h1.0"]),
        ("leaf_spine]\nleaves = 2\nspines = 2\nhosts_per_leaf = 1", ["h0", "h1"]),
        ("fat_tree]\nk = 4", ["h0", "h1"]),
        ("n_tree]\nk = 2\nn = 2", ["h0", "h1"]),
        ("rails]\nsegments = 2\nservers_per_segment = 1\nrails = 1\nspines = 1", ["h0.0", "h1.0"]),
        ("dragonfly]\nhosts_per_switch = 1\nswitches_per_group = 2\nglobal_links = 1", ["h0", "h1"]),
        ("slim_fly]\nq = 3\nhosts_per_switch = 1", ["h0", "h1"]),
        ("torus]\ndimensions = [2, 3]\nhosts_per_switch = 1", ["h0", "h1"]),
    ] {
        let text = format!(
            "[simulation]\nduration = \"1 ms\"\n[topology.{shape}\nrate = \"8 Gb/s\"\nline_code = \"128b/130b\"\n{}",
            REST.replace("FROM", ends[0]).replace("TO", ends[1])
        );
        let links = loaded(&text).spec.links;
        assert!(!links.is_empty() && links.iter().all(|link| link.rates == [eighth; 2]), "{shape}");
    }
}

const MIXED: &str = r#"
[simulation]
duration = "5 ms"
[topology.explicit]
hosts = ["a", "b"]
switches = ["s"]
[[topology.explicit.links]]
between = ["a", "s"]
rate = "8 Gb/s"
phy = "none"
line_code = "128b/130b"
count = 2
[[topology.explicit.links]]
between = ["s", "b"]
rate = "1 Gb/s"
phy = "none"
[[flows]]
name = "f"
from = "a"
to = "b"
source = "greedy"
"#;

#[test]
fn each_link_has_its_own_and_a_new_rate_is_on_the_wire_too() {
    let faults = "[[faults]]\nlink = [\"a\", \"s\"]\nindex = 1\nat = \"1 ms\"\nrate = \"5 Gb/s\"\n[[faults]]\nlink = [\"s\", \"b\"]\nat = \"1 ms\"\nrate = \"5 Gb/s\"\n";
    let spec = loaded(&format!("{MIXED}{faults}")).spec;
    let code = LineCode::OneTwentyEightOneThirty;
    let data = |gbps| code.data_rate(BitRate::from_gbps(gbps));
    let rates: Vec<BitRate> = spec.links.iter().map(|link| link.rates[0]).collect();
    assert_eq!(rates, [data(8), data(8), BitRate::from_gbps(1)]);
    let changed = spec.faults.iter().map(|fault| match fault {
        FaultSpec::LinkRate { link, rate, .. } => (*link, *rate),
        other => panic!("{other:?}"),
    });
    assert_eq!(changed.collect::<Vec<_>>(), [(1, data(5)), (2, BitRate::from_gbps(5))]);
}

#[test]
fn a_source_at_the_rate_on_the_wire_is_too_fast() {
    let text = MIXED.replace("\"greedy\"", "{ constant = { rate = \"7.9 Gb/s\" } }");
    let warnings = loaded(&text).warnings;
    assert!(
        warnings.iter().any(|one| one.message.contains("the link of \"a\" has about 7.876923076 Gb/s")),
        "{warnings:?}"
    );
}

#[test]
fn pauses_at_a_megabit_a_second_lose_nothing() {
    let text = r#"
[simulation]
duration = "20 s"
[topology.star]
hosts = 4
rate = "1 Mb/s"
phy = "none"
[flow_control.pfc]
[[flows]]
name = "f"
from = ["h1", "h2", "h3"]
to = "h0"
source = "greedy"
"#;
    let mut simulation = Simulation::new(&loaded(text).spec).unwrap();
    simulation.run().unwrap();
    let tables = simulation.tables();
    let values = |name: &str, column: &str| {
        let table = tables.iter().find(|table| table.spec.name == name).unwrap();
        table.columns.iter().find(|one| one.spec.name == column).unwrap().values.clone()
    };
    let integers = |name: &str, column: &str| match values(name, column) {
        measure::Values::Integer(values) => values,
        _ => panic!("{column} is a count"),
    };
    assert!(integers("ports", "pauses_sent").iter().sum::<u64>() > 10);
    assert_eq!(integers("flows", "frames_dropped"), [0; 3]);
    // A frame of 1522 B takes 12.336 ms; the first frames reach the switch after one such time.
    let delivered: u64 = integers("flows", "frames_delivered").iter().sum();
    assert_eq!(delivered, (20_000_000 - 12_336) / 12_336);
}
