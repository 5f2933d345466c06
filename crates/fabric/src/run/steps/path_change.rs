//! A path that goes another way from now on.

use crate::run::state::event::Queued;
use crate::run::state::world::Fabric;
use frame::PathId;
use units::Time;

impl Fabric {
    /// From now on the frames of a path go another way.
    pub fn change_path(&mut self, path: u32, start: u32, now: Time, windows: &mut Queued) {
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
            self.move_limiter(limiter, old, now, windows);
        }
        if let Some(near) = near {
            self.change_line(old, near, now, windows);
            return;
        }
        // Another port of the host: what the source waits for may be there now.
        let waited = self.stop_waiting(old, source);
        let state = &mut self.hosts.sources[source];
        if state.source.is_greedy() && (path == state.first_path || state.source.has_transfers()) {
            state.in_nic = 0;
            for _ in 0..self.hosts.sources[source].keeps {
                self.refill(source, now, windows);
            }
        } else if waited {
            self.source_due(source, now, windows);
        }
    }
}
