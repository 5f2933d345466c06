//! Advice on how the loss of a frame of a lossless class could have been avoided, from the events before the loss.
//!
//! Watermarks are the cause only if pauses arrived, were obeyed, took effect in time and lasted. Each of these is
//! checked before, and named if it is the cause.

use crate::build::headroom::{PauseNeeds, pause_needs};
use crate::run::state::losses::Cause;
use crate::run::state::outcome::Failure;
use crate::run::state::sharing::PoolLimit;
use crate::spec::Spec;
use crate::spec::routing::Wiring;
use flow_control::{Accounting, PauseSpec};
use frame::MIN_FRAME_BYTES;
use units::Amount;

/// Returns advice for a lost frame: sentences without the last full stop.
pub(crate) fn advice(spec: &Spec, wiring: &Wiring, failure: &Failure) -> String {
    let &Failure::LosslessDrop { at, egress, ingress, priority, cause, limit, pauses, .. } = failure else {
        return String::new();
    };
    let way_in = ingress.filter(|_| matches!(cause, Cause::Headroom | Cause::ReceiveBuffer));
    let node = wiring.node_of[way_in.unwrap_or(egress) as usize];
    let name = |id: frame::NodeId| &spec.nodes[id.at()].name;
    let peer_of = |port: u32| wiring.node_of[wiring.peer[port as usize].at()];
    let mut needs = pause_needs(spec);
    needs.retain(|need| {
        need.node == node && way_in.map_or(need.peer != peer_of(egress), |port| need.peer == peer_of(port))
    });
    let control = spec.nodes[node.at()].pauses();
    let (Some(control), Some(first)) = (control, needs.first()) else {
        return "No pauses are sent for it at this node: raise the limit".into();
    };
    if ingress.is_none() {
        return format!(
            "It came in through no port, so that no pause could hold it back: give messages of queue managers, and flows that \
             begin at a switch, a priority other than {priority} that is not lossless"
        );
    }
    if let Some(advice) = of_queues(cause, priority) {
        return advice;
    }
    let (sent, lost) = pauses;
    if lost > 0 {
        return format!(
            "{lost} of {sent} pause frames of \"{}\" were lost on the way, by pause_loss, bit errors or a link that was \
             down: no XOFF watermark makes up for that. Take that fault away",
            name(node)
        );
    }
    let obeys = |need: &&PauseNeeds| need.obeyed >> priority & 1 != 0;
    if let Some(deaf) = needs.iter().find(|need| !obeys(need)) {
        return format!(
            "\"{}\" does not obey pauses of priority {priority}, for which no headroom is enough: give it flow_control",
            name(deaf.peer)
        );
    }
    if let Some(short) = needs.iter().find(|need| u64::from(need.quanta) < need.least_quanta) {
        return format!(
            "A pause ends after {}, and \"{}\" takes {} to obey one: pause_quanta has to be at least {}",
            short.lasts,
            name(short.peer),
            short.response,
            short.least_quanta
        );
    }
    if !control.refresh && needs.iter().any(|need| need.lasts < at) {
        return format!("Pauses end after {} and are not renewed: set refresh = true", first.lasts);
    }
    if let Cause::Pool { limit: of_pool, .. } = cause {
        return of_pools(of_pool, &needs);
    }
    of_watermarks(control, &needs, way_in.is_some(), limit)
}

/// Returns the configuration error if no pause could have prevented the loss.
fn of_queues(cause: Cause, priority: u8) -> Option<String> {
    match cause {
        Cause::Stage(stage) if stage.name() == "queue_manager" => Some(format!(
            "A queue manager dropped it, independent of buffer space: remove priority {priority} from it, or let it mark"
        )),
        Cause::Pool { limit: PoolLimit::Egress, .. } => Some(format!(
            "No pause is sent for an egress queue: give that of priority {priority} a threshold that it cannot reach, such \
             as all that the ingress pools hold"
        )),
        _ => None,
    }
}

/// Advice on the size of a pool.
fn of_pools(limit: PoolLimit, needs: &[PauseNeeds]) -> String {
    let most = needs.iter().map(|need| need.room.get()).max().unwrap_or_default();
    match limit {
        PoolLimit::SharedHeadroom => format!(
            "Groups share that headroom, and a link has up to {most} B in flight after XOFF: raise the headroom of the pool, \
             or let fewer groups pause at once by a lower alpha"
        ),
        _ => format!(
            "A link has up to {most} B in flight after XOFF: raise the headroom of the profile to at least that"
        ),
    }
}

/// Describes the required distance of XOFF from the limit.
fn of_watermarks(control: &PauseSpec, needs: &[PauseNeeds], one_port: bool, limit: Amount) -> String {
    let bytes: u64 = needs.iter().map(|need| need.room.get()).sum();
    let cause =
        format!("The headroom above XOFF must be at least {bytes} B, the data in flight when XOFF is sent");
    // With ingress accounting, each port may fill its share up to XOFF before it sends a pause.
    let parts = if one_port || control.accounting == Accounting::Egress { 1 } else { needs.len() as u64 };
    let (limit, xoff, needed, frames) = match (limit, needs[0].levels.xoff) {
        (Amount::Bytes(limit), Amount::Bytes(xoff)) => (limit, xoff, bytes, false),
        (Amount::Frames(limit), Amount::Frames(xoff)) => {
            (limit, xoff, bytes.div_ceil(MIN_FRAME_BYTES.into()), true)
        }
        _ => {
            return format!(
                "{cause}. State XOFF and the limit in the same unit, and leave that room between them"
            );
        }
    };
    let amount = |value: u64| if frames { Amount::Frames(value).to_string() } else { format!("{value} B") };
    let least = parts.saturating_mul(xoff).saturating_add(needed);
    if least <= limit {
        return format!(
            "There is room for that ({needed} above {parts} times XOFF), but other traffic used it. Raise the limit, or give \
             the lossless class memory of its own"
        );
    }
    let each = if parts > 1 {
        format!(", and each of {parts} ports can fill its part up to XOFF")
    } else {
        String::new()
    };
    let lower = match limit.saturating_sub(needed) / parts {
        0 => String::new(),
        most => format!("lower XOFF to at most {} or ", amount(most)),
    };
    let mut text = format!("{cause}{each}: {lower}raise the limit to at least {}", amount(least));
    if lower.is_empty() {
        text += "; no XOFF is low enough";
    }
    text
}
