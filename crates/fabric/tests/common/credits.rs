//! Credits for all nodes of a fabric, and a cycle of buffers in which they can deadlock.

use super::{Net, gbps, greedy, host, switch, us};
use fabric::spec::{HostSpec, Queueing, Role, SwitchSpec, Way};
use flow_control::{ChannelList, Channels, CreditSettings, CreditSpec};
use frame::{ClassMap, NodeId};
use scheduling::{AccountedLength, DrrParams, SchedulerSpec};
use std::sync::Arc;
use units::{Bytes, Time};

/// `credits` credits of 64 B each; each frame causes an update, without delay.
pub fn credits(credits: u64) -> CreditSpec {
    let settings = CreditSettings {
        buffer: Some(Bytes::new(credits * 64)),
        update_after: Some(Bytes::new(1)),
        update_delay: Some(Time::ZERO),
        ..CreditSettings::default()
    };
    settings.check().expect("settings are in range");
    settings.spec()
}

/// `count` credits for each of these channels.
pub fn with_channels(count: u64, list: &ChannelList) -> CreditSpec {
    let names = Channels::new(list).expect("channels that there are");
    CreditSpec { channels: names.map(), bypassable: names.bypassable(), names, ..credits(count) }
}

/// Gives every node these credits.
pub fn with_credits(mut net: Net, spec: &CreditSpec) -> Net {
    for node in &mut net.0.nodes {
        match &mut node.role {
            Role::Host(host) => Arc::make_mut(host).flow_control = Some(spec.clone().into()),
            Role::Switch(switch) => Arc::make_mut(switch).flow_control = Some(spec.clone().into()),
        }
    }
    net
}

/// Round-robin with one queue per channel.
pub fn by_turns() -> SchedulerSpec {
    SchedulerSpec::Drr(DrrParams::by(AccountedLength::FRAME))
}

/// Two stages of two switches in either direction, as a small BMIN: four hosts, of which the first two send to the
/// others.
pub fn small_bmin(queueing: Queueing, micros: u64) -> (Net, Vec<NodeId>) {
    let mut net = Net::new(us(micros));
    let wide = ClassMap::CHANNELS;
    let hosts: Vec<NodeId> = (0..4)
        .map(|nth| net.host(&format!("h{nth}"), HostSpec { classes: wide, scheduler: by_turns(), ..host() }))
        .collect();
    let own = SwitchSpec { classes: wide, scheduler: by_turns(), queueing, ..switch() };
    let switches: Vec<NodeId> = (0..4).map(|nth| net.switch(&format!("s{nth}"), own.clone())).collect();
    for (nth, &host) in hosts.iter().enumerate() {
        net.link(host, switches[nth / 2], gbps(10), us(1)).overhead = 0;
    }
    for (down, up) in [(0, 2), (0, 3), (1, 2), (1, 3)] {
        net.link(switches[down], switches[up], gbps(10), us(1)).overhead = 0;
    }
    (net, hosts)
}

/// Three switches in a ring, and a flow of class 2 from each host to the host two switches further.
pub fn ring(duration: Time) -> Net {
    let mut net = Net::new(duration);
    let ring: Vec<NodeId> = (0..3).map(|nth| net.switch(&format!("s{nth}"), switch())).collect();
    let hosts: Vec<NodeId> = (0..3).map(|nth| net.host(&format!("h{nth}"), host())).collect();
    for nth in 0..3 {
        net.link(ring[nth], ring[(nth + 1) % 3], gbps(10), us(1));
        net.link(hosts[nth], ring[nth], gbps(10), us(1));
    }
    for nth in 0..3 {
        let route = [0, 1, 2].map(|hop| ring[(nth + hop) % 3]);
        let to = hosts[(nth + 2) % 3];
        let flow = net.flow(&format!("f{nth}"), hosts[nth], 2, greedy(to, 1_000, Time::ZERO));
        flow.way = Way::Along(route.into_iter().chain([to]).collect());
    }
    net
}
