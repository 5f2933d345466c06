//! Causes of missing credits: the frames that have filled the buffer at the end of a link.
//!
//! A class of a port waits for credits (`credits`), and the cause is at the other end: the buffer of the channel is
//! *filled* while it has no space for another frame of maximum length. The cause of a fill is recorded when it begins,
//! like that of a pause (`pausing`): the egress queue for which most of the data is waiting, and whether the port of
//! that queue has itself waited for credits since the buffer was half empty. If it has, the fill is a consequence of
//! that wait. If not, the queue is a root, and its frames are counted until there is space again (`culprits`). At a
//! switch with a crossbar, the queue is an output, and its frames include those at inputs; if the output has space, the
//! frames wait for the crossbar.
//!
//! After the run, `tables::forensics` matches waits with fills. A wait without a fill is one for credits in transit:
//! the buffer is smaller than a round trip.
//!
//! No fills are recorded unless pauses are.
//!
//! A class waits while none of its frames may leave. If ordered frames may leave, its bypass queue waits separately,
//! for the credits of its own counter (`credits::bypass_waits`).

use crate::run::state::credit_waits::{Fill, Fills};
use crate::run::state::credits::CreditState;
use crate::run::state::index::{PortIx, QueueIx};
use crate::run::state::pool::Waiting;
use crate::run::state::port::PortFeatures;
use crate::run::state::view::NodeView;
use crate::run::steps::blame;
use crate::run::steps::crossbar::held;
use crate::run::steps::culprits;
use flow_control::credit::is_bypass;
use frame::TrafficClass;
use units::Time;

/// Records that the buffer of a channel is filled, after a frame for a queue has left no space for another.
#[inline(never)]
pub fn note_fill(here: &mut NodeView, ingress: PortIx, channel: usize, queue: Option<QueueIx>, now: Time) {
    let Some(credits) = here.links.cold[ingress].control.credits() else { return };
    let Some(fills) = &credits.fills else { return };
    if fills.open[channel].is_some() || credits.receiver.room(channel) >= fills.longest {
        return;
    }
    let (held, since) = (credits.receiver.held(channel), fills.half[channel]);
    let (of_channel, bytes) = (credits.of_channel(channel), credits.bytes(held));
    let (mut queue, mut crossbar, mut inherited) = (queue, false, false);
    if let Some(own) = queue {
        let mut fullest = own;
        if here.links.ports[ingress].features.has(PortFeatures::CROSSBAR) {
            let (wanted, has_room) = held::fills_input(here, ingress, of_channel, queue);
            (fullest, crossbar) = (wanted.unwrap_or(own), has_room);
        } else if here.buffers.queues[own].occupancy.bytes * 2 < bytes {
            fullest =
                blame::fullest(here, ingress, |priority| of_channel >> priority & 1 != 0).unwrap_or(own);
        }
        queue = Some(fullest);
        let (port, class) = here.links.place_of_queue(fullest);
        let next = here.links.cold[port].control.credits();
        let has_waited = |next: &CreditState| {
            next.has_waited(class, since, now)
                || is_bypass(channel) && next.has_bypass_waited(class, since, now)
        };
        inherited = !crossbar && next.is_some_and(has_waited);
    }
    let of_all = queue.map(|queue| here.numbering.queue(queue));
    let (channel_id, start, end) = (channel as u8, now, Time::NEVER);
    let fill = Fill { channel: channel_id, start, end, held, queue: of_all, inherited, crossbar };
    if let Some(fills) = fills_mut(here, ingress) {
        fills.open[channel] = Some(fill);
    }
    if !inherited {
        culprits::root_begins(here, ingress, channel as u8, queue);
    }
}

/// Handles the departure of a frame from the buffer of a channel.
#[inline(never)]
pub fn note_room(here: &mut NodeView, ingress: PortIx, channel: usize, now: Time) {
    let Some(credits) = here.links.cold[ingress].control.credits_mut() else { return };
    let (room, held) = (credits.receiver.room(channel), credits.receiver.held(channel));
    let Some(fills) = &mut credits.fills else { return };
    if held <= room {
        fills.half[channel] = now;
    }
    if room < fills.longest {
        return;
    }
    let Some(fill) = fills.open[channel].take() else { return };
    if now > fill.start {
        fills.ended.push(Fill { end: now, ..fill });
    }
    if !fill.inherited {
        culprits::root_ends(here, ingress, channel as u8, None, now);
    }
}

fn fills_mut(here: &mut NodeView, port: PortIx) -> Option<&mut Fills> {
    here.links.cold[port].control.credits_mut()?.fills.as_deref_mut()
}

/// Returns those frames of a queue that others may pass: frames in bypass queues of ports and of inputs.
pub fn bypassed_for(here: &NodeView, queue: QueueIx) -> impl Iterator<Item = &Waiting> {
    let (port, class) = here.links.place_of_queue(queue);
    let bar = here.nodes[here.node_of[port]].architecture.crossbar();
    let at_inputs =
        bar.into_iter().flat_map(move |bar| bar.bypassed_for(port, TrafficClass(class), &here.buffers.pool));
    here.buffers.bypassed(queue).chain(at_inputs)
}
