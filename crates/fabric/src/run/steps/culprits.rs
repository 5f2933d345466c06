//! Flows with frames in the queues at which pauses begin.

use crate::run::state::culprits::{Culprits, RootPlace};
use crate::run::state::index::{PortIx, QueueIx};
use crate::run::state::pool::Waiting;
use crate::run::state::port::PortFeatures;
use crate::run::state::view::NodeView;
use crate::run::steps::crossbar::held;
use flow_control::credit::channel_of_count;
use frame::{Frame, TrafficClass};
use units::Time;

/// Starts counting the frames of a root: the queue because of which XOFF is sent through a port (`None`: frames that a
/// host has not read), which nothing holds back.
#[inline(never)]
pub fn root_begins(here: &mut NodeView, port: PortIx, group: u8, queue: Option<QueueIx>) {
    let Some(mut culprits) = here.probes.culprits.take() else { return };
    let place = if let Some(queue) = queue {
        let at = here.links.place_of_queue(queue).0;
        let features = &mut here.links.ports[at].features;
        features.set(PortFeatures::BLAMED, true);
        RootPlace::Queue { queue, down: features.has(PortFeatures::DOWN) }
    } else {
        // With credits, the group is one of the counters, of which a channel may have two.
        let credits = here.links.cold[port].control.credits().is_some();
        let group = if credits { channel_of_count(group.into()) as u8 } else { group };
        RootPlace::Receiver { port, group }
    };
    if culprits.begin(port, group, place) {
        stand_at(here, place, &mut culprits);
    }
    here.probes.culprits = Some(culprits);
}

/// Records which flows are queued at the congestion root.
fn stand_at(here: &NodeView, place: RootPlace, culprits: &mut Culprits) {
    match place {
        RootPlace::Queue { queue, .. } => culprits.stand(place, held::frames_for(here, queue)),
        RootPlace::Receiver { port, group } => {
            let receiving = here.hosts.receiving.get(port).and_then(Option::as_deref);
            let Some(receiving) = receiving else { return };
            let of_group = |one: &&Waiting| receiving.group(one.frame.priority()) == usize::from(group);
            culprits.stand(place, receiving.arrived(&here.buffers.pool).filter(of_group));
        }
    }
}

/// Ends the pauses sent through a port for a group or class; `of`: because of one queue only.
#[inline(never)]
pub fn root_ends(here: &mut NodeView, port: PortIx, group: u8, of: Option<QueueIx>, now: Time) {
    let Some(culprits) = &mut here.probes.culprits else { return };
    culprits.end(port, group, of, now);
    for free in &culprits.free {
        let &RootPlace::Queue { queue, .. } = free else { continue };
        let at = here.links.place_of_queue(queue).0;
        let still = here.links.ports[at]
            .queues()
            .flat_map(|queue| [false, true].map(|down| RootPlace::Queue { queue, down }))
            .any(|place| culprits.in_force(place));
        here.links.ports[at].features.set(PortFeatures::BLAMED, still);
    }
}

/// Counts a frame that arrives at a port with a root queue.
#[cold]
#[inline(never)]
pub fn enters_root(here: &mut NodeView, egress: PortIx, class: TrafficClass, frame: &Frame) {
    let queue = here.links.ports[egress].queue(class);
    let Some(culprits) = &mut here.probes.culprits else { return };
    for down in [false, true] {
        culprits.entered(RootPlace::Queue { queue, down }, frame);
    }
}

/// Counts a frame that arrives at a receive buffer, if it is a root.
pub fn notify_receiver(here: &mut NodeView, port: PortIx, group: usize, frame: &Frame) {
    if let Some(culprits) = &mut here.probes.culprits {
        culprits.entered(RootPlace::Receiver { port, group: group as u8 }, frame);
    }
}

/// Restarts measurement: frames queued at a root now count as present in the measured time.
pub fn restart_culprits(here: &mut NodeView) {
    let Some(mut culprits) = here.probes.culprits.take() else { return };
    let places: Vec<RootPlace> = culprits.roots.keys().copied().collect();
    for place in places {
        let Some(root) = culprits.roots.get_mut(&place) else { continue };
        root.log.clear();
        root.frames.clear();
        root.over = Time::ZERO;
        if root.pauses > 0 {
            stand_at(here, place, &mut culprits);
        }
    }
    here.probes.culprits = Some(culprits);
}
