//! Outputs of crossbars, and the space that departing frames free.

use crate::run::state::crossbar::Crossbar;
use crate::run::state::event::{Event, EventQueue, Kind};
use crate::run::state::index::PortIx;
use crate::run::state::port::PortFeatures;
use crate::run::state::view::NodeView;
use crate::run::steps::pausing;
use frame::{Frame, TrafficClass};
use units::Time;

#[inline(always)]
pub fn crossbar_mut(here: &mut NodeView, port: PortIx) -> Option<&mut Crossbar> {
    here.nodes[here.node_of[port]].architecture.crossbar_mut()
}

/// Handles a frame that starts to leave the switch, or is dropped at its output, and frees space there. Does nothing
/// without a crossbar.
#[inline(always)]
pub fn output_left(
    here: &mut NodeView,
    egress: PortIx,
    class: TrafficClass,
    (frame, ingress): (&Frame, Option<PortIx>),
    now: Time,
    events: &mut EventQueue,
) {
    let Some(bar) = crossbar_mut(here, egress) else { return };
    let before = bar.held_for_mut(egress, class).map(|held| {
        let before = *held;
        held.remove(frame.bytes);
        before
    });
    let output = bar.nth(egress);
    let more = bar.let_go(output, bar.lane(class, frame), frame.bytes) && bar.is_requested(output, now)
        || bar.left_over;
    if more && bar.outputs[output].busy_until <= now {
        match_later(bar, now, events);
    }
    if let Some(before) = before
        && here.links.ports[egress].features.has(PortFeatures::EGRESS_ACCOUNTING)
    {
        pausing::release_egress(here, (egress, class), (ingress, frame.bytes), before, now, events);
    }
}

/// Schedules a match of inputs and outputs after all events of this time.
pub(super) fn match_later(bar: &mut Crossbar, now: Time, events: &mut EventQueue) {
    if bar.matching.arm(now) {
        events.push(Event::bare(Kind::Match, now, bar.first_port));
    }
}
