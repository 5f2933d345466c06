//! Tests of dragonflies, Slim Flies, tori and rails: numbers of nodes and links, and invalid keys.

use super::*;
use std::collections::{BTreeMap, BTreeSet};

const CABLE: Cable = Cable::new(BitRate::from_gbps(400), Time::from_ns(25));

/// Neighbours of each switch among the switches, by name.
fn between_switches(graph: &Graph) -> BTreeMap<&str, BTreeSet<&str>> {
    let node = |id: NodeId| &graph.nodes[id.at()];
    let mut neighbours: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for link in &graph.links {
        let (a, b) = (node(link.a), node(link.b));
        assert_ne!(a.name, b.name);
        if a.role == NodeRole::Switch && b.role == NodeRole::Switch {
            neighbours.entry(&a.name).or_default().insert(&b.name);
            neighbours.entry(&b.name).or_default().insert(&a.name);
        }
    }
    neighbours
}

/// Maximum distance between two switches, in links.
fn diameter(neighbours: &BTreeMap<&str, BTreeSet<&str>>) -> usize {
    let from = |&first: &&str| {
        let (mut seen, mut now, mut hops) = (BTreeSet::from([first]), vec![first], 0);
        while seen.len() < neighbours.len() {
            now = now
                .iter()
                .flat_map(|one| neighbours[one].iter().copied())
                .filter(|&next| seen.insert(next))
                .collect();
            hops += 1;
            assert!(!now.is_empty(), "not connected");
        }
        hops
    };
    neighbours.keys().map(from).max().unwrap_or(0)
}

/// Numbers of hosts, of switches and of all links. Asserts that names are unique.
fn numbers(graph: &Graph) -> (usize, usize, usize) {
    let names: BTreeSet<&str> = graph.nodes.iter().map(|node| node.name.as_str()).collect();
    assert_eq!(names.len(), graph.nodes.len());
    (graph.hosts().count(), graph.switches().count(), graph.links.len())
}

fn refused(graph: Result<Graph, Vec<Remark>>) -> String {
    graph.unwrap_err().iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

#[test]
fn slim_flies_have_the_diameter_and_the_degree_of_their_paper() {
    for q in [3u64, 4, 5, 7, 8, 9, 11, 13] {
        let graph = SlimFly::new(q, 1, CABLE).graph().unwrap();
        let size = SlimFly::new(q, 1, CABLE).size().unwrap();
        let neighbours = between_switches(&graph);
        assert_eq!(graph.links.len() as u64, size.links);
        assert_eq!(graph.nodes.len() as u64, size.nodes);
        let delta = match q % 4 {
            1 => 1,
            3 => -1,
            _ => 0,
        };
        let degree = (3 * q as i64 - delta) / 2;
        assert!(neighbours.values().all(|own| own.len() as i64 == degree), "q = {q}");
        assert_eq!((neighbours.len() as u64, diameter(&neighbours)), (2 * q * q, 2), "q = {q}");
    }
    // The 50 switches of q = 5 form the Hoffman-Singleton graph: 7 links each, and no cycle shorter than 5.
    let graph = SlimFly::new(5, 4, CABLE).graph().unwrap();
    assert_eq!(numbers(&graph), (200, 50, 200 + 175));
    let neighbours = between_switches(&graph);
    for (one, near) in &neighbours {
        let reached: usize =
            near.iter().map(|next| neighbours[next].iter().filter(|far| far != &one).count()).sum();
        let all: BTreeSet<_> = near.iter().flat_map(|next| &neighbours[next]).chain(near).collect();
        assert_eq!((near.len(), reached, all.len()), (7, 42, 50));
    }
}

#[test]
fn a_slim_fly_that_does_not_exist_is_refused() {
    let message = refused(SlimFly::new(6, 1, CABLE).graph());
    assert!(
        message.contains("there is no Slim Fly of q = 6") && message.contains("like 5 or 7"),
        "{message}"
    );
    assert!(refused(SlimFly::new(10, 1, CABLE).graph()).contains("like 9 or 11"));
    assert!(refused(SlimFly::new(2, 1, CABLE).graph()).contains("too small"));
    assert!(refused(SlimFly::new(1_000_003, 1, CABLE).graph()).contains("too large"));
}

#[test]
fn a_balanced_dragonfly_has_a_link_between_each_two_groups() {
    for (p, a, h) in [(2u64, 4u64, 2u64), (3, 6, 3), (4, 8, 4), (1, 1, 3), (1, 3, 1)] {
        let groups = a * h + 1;
        let graph = Dragonfly::new(p, a, h, CABLE).graph().unwrap();
        let expected = (
            groups * a * p,
            groups * a,
            groups * a * p + groups * a * (a - 1) / 2 + groups * (groups - 1) / 2,
        );
        assert_eq!(numbers(&graph), (expected.0 as usize, expected.1 as usize, expected.2 as usize));
        let neighbours = between_switches(&graph);
        assert!(neighbours.values().all(|own| own.len() as u64 == a - 1 + h));
        assert!(diameter(&neighbours) <= 3);
        for link in &graph.links {
            let name = |id: NodeId| graph.nodes[id.at()].name.as_str();
            let place = |name: &str| -> Option<(u64, u64)> {
                let (group, place) = name.strip_prefix("sw")?.split_once('.')?;
                Some((group.parse().ok()?, place.parse().ok()?))
            };
            if let (Some((i, x)), Some((j, y))) = (place(name(link.a)), place(name(link.b)))
                && i != j
            {
                // The arrangement of htsim: global link `steps` - 1 of group i arrives at link groups - steps - 1 of
                // group j.
                let steps = (j + groups - i) % groups;
                assert_eq!((x, y), ((steps - 1) / h, (groups - steps - 1) / h));
            }
        }
    }
}

#[test]
fn fewer_groups_have_more_links_between_them() {
    let graph = Dragonfly { groups: Some(3), ..Dragonfly::new(1, 4, 2, CABLE) }.graph().unwrap();
    // Eight global links per group, four to each other group.
    assert_eq!(numbers(&graph), (12, 12, 12 + 3 * 6 + 3 * 4));
    assert!(between_switches(&graph).values().all(|own| own.len() == 3 + 2));
    let size = |groups| Dragonfly { groups, ..Dragonfly::new(1, 4, 2, CABLE) }.graph();
    assert!(refused(size(Some(10))).contains("expected 2 to 9: 4 switches of a group have 8 global links"));
    assert!(refused(size(Some(1))).contains("groups = 1"));
}

#[test]
fn links_of_groups_and_between_them_differ() {
    let spec = Dragonfly {
        local_rate: Some(BitRate::from_gbps(200)),
        global_length: Some(Length::from_m(100)),
        ..Dragonfly::new(2, 4, 2, CABLE)
    };
    let graph = spec.graph().unwrap();
    let kinds = |rate: u64, ns: u64| {
        let (rate, delay) = (BitRate::from_gbps(rate), Time::from_ns(ns));
        graph.links.iter().filter(|link| (link.rates[0], link.delay) == (rate, delay)).count()
    };
    assert_eq!((kinds(400, 25), kinds(200, 25), kinds(400, 500)), (72, 9 * 6, 36));
}

#[test]
fn tori_are_closed_in_each_dimension() {
    for (dimensions, links, most) in [
        (vec![4], 4, 2),
        (vec![2, 2], 4, 2),
        (vec![4, 4], 32, 4),
        (vec![3, 4, 5], 180, 1 + 2 + 2),
        (vec![2, 3], 3 + 6, 2),
    ] {
        let switches: u64 = dimensions.iter().product();
        let spec = Torus::new(dimensions.clone(), 2, CABLE);
        let graph = spec.graph().unwrap();
        assert_eq!(
            numbers(&graph),
            (2 * switches as usize, switches as usize, 2 * switches as usize + links),
            "{dimensions:?}"
        );
        assert_eq!(spec.size().unwrap().links, graph.links.len() as u64);
        let neighbours = between_switches(&graph);
        let degree: usize = dimensions.iter().map(|&size| if size == 2 { 1 } else { 2 }).sum();
        assert!(neighbours.values().all(|own| own.len() == degree));
        assert_eq!(diameter(&neighbours), most, "{dimensions:?}");
    }
    let graph = Torus::new(vec![3, 4], 1, CABLE).graph().unwrap();
    assert_eq!(between_switches(&graph)["sw0.0"], ["sw0.1", "sw0.3", "sw1.0", "sw2.0"].into());
    assert!(refused(Torus::new(vec![], 1, CABLE).graph()).contains("a torus of 0 dimensions"));
    assert!(refused(Torus::new(vec![1, 4], 1, CABLE).graph()).contains("dimensions = 1 is too small"));
    assert!(refused(Torus::new(vec![1 << 40; 3], 1, CABLE).graph()).contains("too large"));
}

#[test]
fn rails_meet_in_spines_and_planes_in_nics() {
    // Spectrum-X: 4,096 NICs, 64 leaves of 64, 64 spines.
    let graph = Rails::new(8, 64, 8, 64, CABLE).graph().unwrap();
    assert_eq!(numbers(&graph), (4096, 128, 4096 + 64 * 64));
    // HPN 7.0: 15,360 NICs with two links, 120 leaves and 120 spines per plane.
    let hpn = Rails { planes: Some(2), ..Rails::new(15, 128, 8, 120, CABLE) }.graph().unwrap();
    assert_eq!(numbers(&hpn), (15360, 480, 2 * 15360 + 2 * 120 * 120));
    let small = Rails { planes: Some(2), ..Rails::new(2, 2, 2, 1, CABLE) }.graph().unwrap();
    let neighbours = between_switches(&small);
    assert_eq!(neighbours["spine1.0"], ["leaf1.0.0", "leaf1.0.1", "leaf1.1.0", "leaf1.1.1"].into());
    let of_host = |name: &str| -> BTreeSet<&str> {
        let node = |id: NodeId| small.nodes[id.at()].name.as_str();
        small.links.iter().filter(|link| node(link.a) == name).map(|link| node(link.b)).collect()
    };
    assert_eq!(of_host("h3.1"), ["leaf0.1.1", "leaf1.1.1"].into());
    assert!(
        refused(Rails { planes: Some(0), ..Rails::new(1, 1, 1, 1, CABLE) }.graph()).contains("planes = 0")
    );
}
