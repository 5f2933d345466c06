//! Arrival of frames at a crossbar, matching and crossing.

use crate::run::state::crossbar::Output;
use crate::run::state::event::{Event, EventQueue, Kind};
use crate::run::state::index::PortIx;

impl Output {
    /// Schedules the end of the crossing to this port as an event.
    #[inline]
    pub(in crate::run) fn notice(&mut self, port: PortIx, events: &mut EventQueue) {
        if !self.noticed {
            self.noticed = true;
            events.push(Event::bare(Kind::Crossed, self.busy_until, port));
        }
    }
}
