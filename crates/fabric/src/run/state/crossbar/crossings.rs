//! Frames that come to a crossbar, are matched and cross.

use crate::run::state::crossbar::Output;
use crate::run::state::event::{Event, Kind, Queued};
use crate::run::state::index::PortIx;

impl Output {
    /// The end of what crosses to this port is an event.
    #[inline]
    pub(in crate::run) fn notice(&mut self, port: PortIx, windows: &mut Queued) {
        if !self.noticed {
            self.noticed = true;
            windows.push(Event::bare(Kind::Crossed, self.busy_until, port));
        }
    }
}
