//! Queue pairs, under DCQCN or without congestion control.

use crate::{Options, change_switches, connection, spec};
use fabric::spec::Spec;
use fabric::topology::{Cable, FatTree, Shape, Star};
use frame::NodeId;
use queueing::{Action, ManagerSpec, RedParams};
use transport::{Application, DcqcnPreset, NoControlKeys, RdmaControlKeys, RdmaKeys};
use units::{Amount, BitRate, Time};

/// Creates the workload `kind`: queue pairs of `size` hosts to one or, if its name ends with `tree`, of each host of a
/// fat-tree of `size` ports to the host N/2 further on. Those of *dcqcn* use DCQCN, those of *rdma* no congestion
/// control.
pub fn fabric(kind: &str, size: u64, options: Options) -> Option<Spec> {
    let tree = kind.ends_with("tree");
    let gbps = if tree { 10 } else { 100 };
    let cable = Cable::new(BitRate::from_gbps(gbps), Time::from_us(1));
    let shape = if tree { FatTree::new(size, cable).graph() } else { Star::new(size + 1, cable).graph() };
    let graph = shape.ok()?;
    let hosts: Vec<NodeId> = graph.hosts().collect();
    let control = if kind.starts_with("dcqcn") {
        RdmaControlKeys::Dcqcn(DcqcnPreset::Paper.keys())
    } else {
        RdmaControlKeys::None(NoControlKeys {})
    };
    let (queue_pair, _) = RdmaKeys { control, ..RdmaKeys::default() }.carrier(None, 1_090).ok()?;
    let application = Application::Rdma(queue_pair);
    let to = |i: usize| if tree { hosts[(i + hosts.len() / 2) % hosts.len()] } else { hosts[0] };
    let senders = if tree { 0..hosts.len() } else { 1..hosts.len() };
    let flows = senders.map(|i| connection(hosts[i], to(i), application.clone()));
    let mut spec = spec(&graph, flows.collect(), options);
    // Kmin and Kmax depend on the rate of the link, as the authors of HPCC set them.
    let red = RedParams {
        weight: 1.0,
        min: Amount::Bytes(4_000 * gbps),
        max: Amount::Bytes(16_000 * gbps),
        max_probability: 0.2,
        action: Action::MarkOnly,
        ..RedParams::default()
    };
    change_switches(&mut spec, |switch| switch.managers = vec![Some(ManagerSpec::Red(red)); 8].into());
    Some(spec)
}
