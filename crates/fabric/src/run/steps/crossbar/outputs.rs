//! Outputs of crossbars, and the room that a departing frame leaves there.

use crate::run::state::crossbar::Crossbar;
use crate::run::state::event::{Event, EventQueue, Kind};
use crate::run::state::index::PortIx;
use crate::run::state::world::Fabric;
use frame::{Frame, TrafficClass};
use units::Time;

impl Fabric {
    #[inline(always)]
    pub fn crossbar_mut(&mut self, port: PortIx) -> Option<&mut Crossbar> {
        self.nodes[self.node_of[port]].architecture.crossbar_mut()
    }

    /// A frame has begun to leave the switch, or is lost at its output, which has more room. Nothing, without a crossbar.
    #[inline(always)]
    pub fn output_left(
        &mut self,
        egress: PortIx,
        class: TrafficClass,
        frame: &Frame,
        now: Time,
        events: &mut EventQueue,
    ) {
        let Some(bar) = self.crossbar_mut(egress) else { return };
        let output = bar.nth(egress);
        let more = bar.let_go(output, bar.lane(class, frame), frame.bytes) && bar.is_wanted(output, now)
            || bar.left_over;
        if more && bar.outputs[output].busy_until <= now {
            match_later(bar, now, events);
        }
    }

    /// The crossbars of its switches.
    pub fn crossbars(&self) -> impl Iterator<Item = &Crossbar> {
        self.nodes.iter().filter_map(|node| node.architecture.crossbar())
    }
}

/// Inputs and outputs are matched after all that happens now.
pub(super) fn match_later(bar: &mut Crossbar, now: Time, events: &mut EventQueue) {
    if bar.matching.arm(now) {
        events.push(Event::bare(Kind::Match, now, bar.first_port));
    }
}
