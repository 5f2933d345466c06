//! The fabric of Martinez 2006, section 6: 64 hosts, 48 switches of eight ports, 2 Gb/s, seven service classes at a
//! load of 0.9.
//!
//! - *classes-credits*: cut-through switches with crossbars, credits of seven channels, MinBW at every egress port.
//! - *classes*: the same links, routes and frames as plain Ethernet: output queues, store-and-forward, strict priority.
//!
//! Each host sends each class to random others. Voice, video and controlled load are Poisson processes here instead of
//! many connections, which does not affect the cost of a hop.

use crate::{FlowSpec, Options, Spec};
use crate::{change_hosts, change_switches, flow, spec};
use fabric::choice::PathChoice;
use fabric::spec::{Forwarding, Queueing};
use fabric::topology::{Cable, NTree, Shape};
use flow_control::{ChannelKey, ChannelList, Control, CreditSettings};
use frame::{ClassMap, NodeId, Priority};
use queueing::CrossbarKeys;
use scheduling::{MinBwParams, SchedulerSpec};
use std::sync::Arc;
use units::{BitRate, Bytes, Time};
use workload::{
    Arrivals, BurstsParams, Destinations, FrameSizes, Others, PoissonParams, SizeShape, SourceSpec,
};

/// Channel, and class, of each priority.
const CHANNELS: [u32; 8] = [1, 0, 0, 2, 3, 4, 5, 6];
/// Weights of channels; network control has none.
const WEIGHTS: [u32; 7] = [1, 2, 5, 12, 12, 16, 0];
/// Length of best-effort frames, the mean in the paper.
const BEST_EFFORT_BYTES: f64 = 182.9;

/// Creates the fabric with credits, or as plain Ethernet.
pub(crate) fn fabric(credits: bool, options: Options) -> Option<Spec> {
    let cable = Cable { overhead: Bytes::new(0), ..Cable::new(BitRate::from_gbps(2), Time::from_ns(20)) };
    let graph = NTree::new(4, 3, cable).graph().ok()?;
    let hosts: Arc<[NodeId]> = graph.hosts().collect();
    let short = FrameSizes::Empirical(SizeShape::Exponential.sizes(BEST_EFFORT_BYTES, 64, 2176)?);
    let mut flows = Vec::new();
    for (priority, mbps, sizes, bursts) in [
        (7, 20, FrameSizes::Fixed(64), true),
        (6, 375, FrameSizes::Fixed(128), false),
        (5, 375, FrameSizes::Fixed(2176), false),
        (4, 375, FrameSizes::Fixed(2176), false),
        (3, 218, short.clone(), true),
        (0, 218, short.clone(), true),
        (1, 219, short, true),
    ] {
        let rate = BitRate::from_bps(mbps * 1_000_000);
        let arrivals = if bursts {
            Arrivals::Bursts(BurstsParams { rate, frames: 60 })
        } else {
            Arrivals::Poisson(PoissonParams { rate })
        };
        flows.extend((0..).zip(hosts.iter()).map(|(nth, &from)| {
            let to = Others { hosts: hosts.clone(), without: Some(nth) };
            let own = flow(from, from, arrivals.clone());
            let source =
                SourceSpec { sizes: sizes.clone(), destinations: Destinations::Others(to), ..own.source };
            let name = format!("{priority} {nth}");
            FlowSpec { name, priority: Priority(priority), source, ..own }
        }));
    }
    let mut spec = spec(&graph, flows, options);
    let classes = ClassMap::new(CHANNELS.map(|channel| channel as u8))?;
    change_hosts(&mut spec, |host| host.classes = classes);
    change_switches(&mut spec, |switch| {
        switch.classes = classes;
        switch.path_choice = PathChoice::DModK;
    });
    if credits {
        with_credits(&mut spec);
    }
    Some(spec)
}

fn with_credits(spec: &mut Spec) {
    let keys = CreditSettings {
        channels: Some(ChannelList::Each(CHANNELS.map(ChannelKey::Number).to_vec())),
        ..CreditSettings::default()
    };
    let control = Some(Control::Credits(keys.spec()));
    let scheduler = SchedulerSpec::MinBw(MinBwParams::new(WEIGHTS.to_vec()));
    change_hosts(spec, |host| {
        host.scheduler = scheduler.clone();
        host.flow_control = control.clone();
    });
    change_switches(spec, |switch| {
        switch.forwarding = Forwarding::CutThrough;
        switch.latency = Time::from_ns(145);
        switch.queueing = Queueing::Crossbar(CrossbarKeys::default());
        switch.scheduler = scheduler.clone();
        switch.flow_control = control.clone();
    });
}
