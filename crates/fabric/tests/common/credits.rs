//! Credits for all nodes of a fabric.

use super::Net;
use fabric::spec::Role;
use flow_control::{CreditSettings, CreditSpec};
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
