//! A path that goes another way from now on.

use crate::run::state::event::EventQueue;
use crate::run::state::index::{LimiterIx, PortIx};
use crate::run::state::world::Fabric;
use frame::PathId;
use units::Time;

impl Fabric {
    /// From now on the frames of a path go another way.
    pub fn change_path(&mut self, path: u32, start: u32, now: Time, events: &mut EventQueue) {
        let (old, new) = (self.routes.first_port(path), self.routes.port_at(start));
        self.routes.change_start(path, start);
        let near = self.hosts.endpoints_of_path.get(path as usize).and_then(|ends| ends[0]);
        if let Some(near) = near {
            self.hosts.endpoints[near].way = None;
            self.tell_port(near);
        }
        let source = self.routes.path_source[path as usize];
        if old == new {
            return;
        }
        if let Some(limiter) = self.limiter_of(PathId(path)) {
            self.move_limiter(limiter, old, now, events);
        }
        if let Some(near) = near {
            self.change_line(old, near, now, events);
            return;
        }
        // Another port of the host: what the source waits for may be there now.
        let waited = self.stop_waiting(old, source);
        let state = &mut self.hosts.sources[source];
        if state.source.is_greedy() && (path == state.first_path || state.source.has_transfers()) {
            state.in_nic = 0;
            for _ in 0..self.hosts.sources[source].keeps {
                self.refill(source, now, events);
            }
        } else if waited {
            self.source_due(source, now, events);
        }
    }

    /// A path that passes a limiter begins at another port than `old` now: the limiter stands in line where its next frame
    /// leaves.
    pub fn move_limiter(&mut self, nth: LimiterIx, old: PortIx, now: Time, events: &mut EventQueue) {
        self.take_out_of_lines(nth, old);
        self.limiter_left_line(nth);
        self.update_limiter(nth, now, events);
    }
}
