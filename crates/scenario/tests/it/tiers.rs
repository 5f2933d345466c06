//! Links of tiers: rate, length and PHY of each, from the keys of its own tier, of the tier below, or of all links.

use fabric::topology::{GraphLink, NodeRole, Topology};
use frame::NodeId;
use units::{BitRate, Time};

/// Returns the links between two kinds of nodes, given by the first letters of their names: rate in Gb/s, cable in ns,
/// PHY.
fn links(topology: &str, ends: [char; 2]) -> Vec<(u64, u64, Option<&'static str>)> {
    let topology: Topology = toml::from_str(topology).unwrap();
    let graph = topology.graph().unwrap();
    let first = |node: NodeId| graph.nodes[node.at()].name.chars().next().unwrap();
    let of_tier =
        |link: &&GraphLink| [link.a, link.b].map(first) == ends || [link.b, link.a].map(first) == ends;
    let found = graph.links.iter().filter(of_tier);
    let mut all: Vec<_> = found
        .map(|link| {
            (link.rates[0].bps() / 1_000_000_000, link.cable.ps() / 1000, link.phy.map(|phy| phy.name))
        })
        .collect();
    all.dedup();
    all
}

fn errors(topology: &str) -> Vec<String> {
    let topology: Topology = toml::from_str(topology).unwrap();
    topology.graph().unwrap_err().iter().map(ToString::to_string).collect()
}

const RS: Option<&str> = Some("100GBASE-R RS-FEC");
const FEC_400: Option<&str> = Some("400GBASE-R");

#[test]
fn leaves_and_spines_differ_from_hosts() {
    let text = "[leaf_spine]\nleaves = 2\nspines = 2\nhosts_per_leaf = 2\nrate = \"100 Gb/s\"\nlength = \"3 m\"\nphy = \"100GBASE-SR4\"\n";
    assert!(errors(&format!("{text}uplink_rate = \"400 Gb/s\""))[0].contains("uplink_phy = \"400GBASE-R\""));
    let text = format!("{text}uplink_rate = \"400 Gb/s\"\nuplink_length = \"40 m\"\n");
    let slowest = format!("{text}uplink_phy = \"slowest\"");
    assert_eq!(links(&slowest, ['h', 'l']), [(100, 15, RS)]);
    assert_eq!(links(&slowest, ['l', 's']), [(400, 200, FEC_400)]);
    assert_eq!(links(&format!("{text}uplink_phy = \"none\""), ['l', 's']), [(400, 200, None)]);
}

#[test]
fn three_tiers_of_a_fat_tree() {
    let text = "[fat_tree]\nk = 4\nrate = \"100 Gb/s\"\nlength = \"2 m\"\nuplink_rate = \"400 Gb/s\"\nuplink_length = \"20 m\"\nuplink_phy = \"slowest\"\n";
    assert_eq!(links(text, ['h', 'e']), [(100, 10, None)]);
    assert_eq!(links(text, ['e', 'a']), [(400, 100, FEC_400)]);
    assert_eq!(links(text, ['a', 'c']), [(400, 100, FEC_400)]);
    let own =
        format!("{text}core_rate = \"100 Gb/s\"\ncore_length = \"500 m\"\ncore_phy = \"100GBASE-DR\"\n");
    assert_eq!(links(&own, ['e', 'a']), [(400, 100, FEC_400)]);
    assert_eq!(links(&own, ['a', 'c']), [(100, 2500, RS)]);
    let wrong = text.replace("400", "4000") + "core_length = \"2 m\"";
    assert_eq!(errors(&wrong).len(), 1, "{:?}", errors(&wrong));
}

#[test]
fn levels_of_an_n_tree() {
    let tree = |n: u64, keys: &str| {
        let text = format!("[n_tree]\nk = 2\nn = {n}\nrate = \"100 Gb/s\"\nlength = \"2 m\"\n{keys}");
        let topology: Topology = toml::from_str(&text).unwrap();
        topology.graph().map(|graph| {
            // Links are ordered: hosts first, then level by level.
            let per_tier = graph.links.len() / n as usize;
            graph.links.chunks(per_tier).map(|tier| (tier[0].rates[0], tier[0].cable)).collect::<Vec<_>>()
        })
    };
    let (rate, cable) = (BitRate::from_gbps, Time::from_ns);
    let both = "uplink_rate = \"200 Gb/s\"\nuplink_length = \"10 m\"\ncore_rate = \"400 Gb/s\"";
    assert_eq!(
        tree(4, both).unwrap(),
        [(rate(100), cable(10)), (rate(200), cable(50)), (rate(200), cable(50)), (rate(400), cable(50))]
    );
    let up = "uplink_length = \"10 m\"";
    assert_eq!(tree(2, up).unwrap(), [(rate(100), cable(10)), (rate(100), cable(50))]);
    let core = "core_phy = \"none\"";
    for (n, keys, key) in [(1, up, "uplink_length"), (2, core, "core_phy"), (1, core, "core_phy")] {
        let why = tree(n, keys).unwrap_err();
        assert!(why[0].to_string().contains(&format!("no {key}")), "{why:?}");
    }
}

#[test]
fn groups_of_a_dragonfly_and_a_bottleneck() {
    let text = "[dragonfly]\nhosts_per_switch = 1\nswitches_per_group = 2\nglobal_links = 1\nrate = \"100 Gb/s\"\nlocal_phy = \"100GBASE-R\"\nglobal_phy = \"slowest\"\n";
    let graph = toml::from_str::<Topology>(text).unwrap().graph().unwrap();
    let of_cost = |cost| {
        graph.links.iter().find(|link| {
            link.a.0 > 0 && link.cost == cost && {
                [link.a, link.b].iter().all(|end| graph.nodes[end.at()].role == NodeRole::Switch)
            }
        })
    };
    let name = |cost| of_cost(cost).and_then(|link| link.phy).map(|phy| phy.name);
    assert_eq!((name(1), name(3)), (Some("100GBASE-R"), Some("100GBASE-R FEC")));
    let text = "[dumbbell]\nleft = 1\nright = 1\nrate = \"100 Gb/s\"\nbottleneck_length = \"1 km\"\nbottleneck_phy = \"slowest\"\n";
    assert_eq!(links(text, ['l', 'r']).last(), Some(&(100, 5000, Some("100GBASE-R FEC"))));
    assert!(errors(&format!("{text}bottleneck_delay = \"1 us\""))[0].contains("keep one of them"));
}
