//! Credits for all nodes of a fabric, and a circle that they can close.

use super::{Net, gbps, greedy, host, switch, us};
use fabric::spec::{Role, Way};
use flow_control::{ChannelList, Channels, CreditSettings, CreditSpec};
use frame::NodeId;
use std::sync::Arc;
use units::{Bytes, Time};

/// So many credits of 64 B; each frame is told, without delay.
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

/// So many credits of these channels.
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

/// Three switches in a ring, and a flow of class 2 from the host of each to that of the second next.
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
