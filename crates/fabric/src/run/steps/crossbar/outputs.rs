//! Outputs of crossbars, and the room that a departing frame leaves there.

use crate::run::state::crossbar::Crossbar;
use crate::run::state::event::{Event, EventQueue, Kind};
use crate::run::state::index::PortIx;
use crate::run::state::node::Node;
use crate::run::state::view::NodeView;
use frame::{Frame, TrafficClass};
use units::Time;

#[inline(always)]
pub fn crossbar_mut(here: &mut NodeView, port: PortIx) -> Option<&mut Crossbar> {
    here.nodes[here.node_of[port]].architecture.crossbar_mut()
}

/// Returns the bytes that wait at the inputs of a crossbar for a port, or cross to it; 0 without a crossbar.
pub fn bytes_at_inputs(node: &Node, egress: PortIx) -> u64 {
    node.architecture.crossbar().map_or(0, |bar| bar.bytes_for(bar.nth(egress)))
}

/// Returns the bytes that wait at all inputs of a crossbar, or cross.
pub fn bytes_at_all_inputs(node: &Node) -> u64 {
    let all =
        node.architecture.crossbar().map(|bar| (0..bar.ports).map(|output| bar.bytes_for(output)).sum());
    all.unwrap_or_default()
}

/// Handles a frame that begins to leave the switch, or is dropped at its output, which has more room. Does nothing without a
/// crossbar.
#[inline(always)]
pub fn output_left(
    here: &mut NodeView,
    egress: PortIx,
    class: TrafficClass,
    frame: &Frame,
    now: Time,
    events: &mut EventQueue,
) {
    let Some(bar) = crossbar_mut(here, egress) else { return };
    let output = bar.nth(egress);
    let more = bar.let_go(output, bar.lane(class, frame), frame.bytes) && bar.is_wanted(output, now)
        || bar.left_over;
    if more && bar.outputs[output].busy_until <= now {
        match_later(bar, now, events);
    }
}

/// Inputs and outputs are matched after all events of this time.
pub(super) fn match_later(bar: &mut Crossbar, now: Time, events: &mut EventQueue) {
    if bar.matching.arm(now) {
        events.push(Event::bare(Kind::Match, now, bar.first_port));
    }
}
