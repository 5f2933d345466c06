//! Ports of flows and transfers.

use super::Context;
use crate::model::PortKeys;
use crate::place::Place;
use frame::Ports;

/// Returns the ports; 0 for one that is not given.
pub fn lower(keys: &PortKeys, at: &Place, context: &mut Context<'_>) -> Ports {
    if (keys.from, keys.to) == (None, None) {
        context.error(at, "ports without from and to", "expected one of them or both, like { to = 4791 }");
    }
    let mut port = |key: &str, port: Option<u64>| {
        let Some(given) = port else { return 0 };
        let fits = u16::try_from(given).ok().filter(|&port| port > 0);
        if fits.is_none() {
            context.error(&at.key(key), format!("port {given}"), "expected 1 to 65535");
        }
        fits.unwrap_or_default()
    };
    Ports { source: port("from", keys.from), destination: port("to", keys.to) }
}
