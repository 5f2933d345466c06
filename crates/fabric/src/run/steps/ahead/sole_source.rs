//! A greedy source that is the only one at its NIC.
//!
//! Its frames leave back to back, and each departure makes space for the next frame. Only a pause or the source itself
//! can change that. A pause takes effect some time after it was sent. A decision of such a port is therefore valid for
//! all frames whose transmission starts before any pause that is not yet known can take effect: several frames are sent
//! by one decision, each at its own time, and none has to be taken back.
//!
//! The builder selects these NICs (`build/ahead/sole_source.rs`). The other end of the link notifies the NIC of each
//! pause that it sends. No other state reads the NIC before the last of these frames has left.

use crate::run::state::ahead::MOST;
use crate::run::state::ahead::sole_source::SoleGreedySource;
use crate::run::state::event::EventQueue;
use crate::run::state::index::{PortIx, SourceIx};
use crate::run::state::view::NodeView;
use crate::run::steps::decision;
use crate::run::steps::selection;
use crate::run::steps::transmission;
use frame::Frame;
use units::Time;

/// Decides the next transmissions of an idle port with a sole source, which is not paused.
#[inline(never)]
pub fn decide_lone_ahead(
    here: &mut NodeView,
    egress: PortIx,
    lone: SoleGreedySource,
    now: Time,
    events: &mut EventQueue,
) {
    let source = &here.hosts.sources[lone.source].source;
    let changes = source.next_wake().unwrap_or(Time::NEVER);
    if changes <= now {
        return selection::send_next(here, egress, now, events);
    }
    let until = lone.undisturbed_until(events.start()).min(here.horizon).min(changes);
    let port = &here.links.ports[egress];
    let queue = port.waiting_queue();
    let mut frame = here.buffers.leave(queue, now, true).frame;
    assert!(
        here.buffers.queues[queue].occupancy.frames == 0,
        "a sole source has several frames queued: this is a bug in the simulator"
    );
    let (mut at, mut sent) = (now, 0);
    let next = loop {
        transmission::put_on_link(here, egress, frame, at, events);
        here.links.passed.count(egress, &frame);
        sent += 1;
        let Some(next) = next_of_lone(here, lone.source, at) else { break None };
        at = here.links.ports[egress].busy_until;
        if at >= until || sent == u32::from(MOST) {
            break Some(next);
        }
        here.buffers.queues[queue].pass(next.bytes, at - next.created);
        frame = next;
    };
    events.count(sent - 1);
    if let Some(next) = next {
        here.buffers.enter(queue, &next, next.created, None, || egress);
        decision::arm(here, egress, at, events);
    } else {
        here.links.ports[egress].waiting = 0;
    }
}

/// Handles the departure of a frame of a sole source. The next frame enters its NIC.
#[inline(always)]
fn next_of_lone(here: &mut NodeView, source: SourceIx, now: Time) -> Option<Frame> {
    let state = &mut here.hosts.sources[source];
    let Some(made) = state.source.take_on() else {
        state.in_nic = state.in_nic.saturating_sub(1);
        return None;
    };
    state.count(made);
    here.ledger.made += 1;
    Some(state.frame(made, &here.routes, now).1)
}
