//! Changes of paths.

use crate::run::state::event::EventQueue;
use crate::run::state::index::{LimiterIx, PortIx};
use crate::run::state::view::NodeView;
use crate::run::steps::endpoints;
use crate::run::steps::limiter_calls;
use crate::run::steps::limiter_places;
use crate::run::steps::limiters;
use crate::run::steps::sources;
use frame::PathId;
use units::Time;

/// Routes the frames of a path along another route from now on.
pub fn change_path(here: &mut NodeView, path: u32, start: u32, now: Time, events: &mut EventQueue) {
    let (old, new) = (here.routes.first_port(path), here.routes.port_at(start));
    here.routes.change_start(path, start);
    let near = here.hosts.endpoints_of_path.get(path as usize).and_then(|ends| ends[0]);
    if let Some(near) = near {
        here.hosts.endpoints[near].way = None;
        endpoints::tell_port(here, near);
    }
    let source = here.routes.path_source[path as usize];
    if old == new {
        return;
    }
    if let Some(limiter) = limiter_calls::limiter_of(here, PathId(path)) {
        move_limiter(here, limiter, old, now, events);
    }
    if let Some(near) = near {
        endpoints::change_line(here, old, near, now, events);
        return;
    }
    // Another port of the host may have space for the waiting source.
    let waited = sources::stop_waiting(here, old, source);
    let state = &mut here.hosts.sources[source];
    if state.source.is_greedy() && (path == state.first_path || state.source.has_transfers()) {
        state.in_nic = 0;
        for _ in 0..here.hosts.sources[source].keeps {
            sources::refill(here, source, now, events);
        }
    } else if waited {
        sources::source_due(here, source, now, events);
    }
}

/// After a path has changed its first port, moves a limiter from the wait queue at `old` to the one where its next
/// frame leaves.
pub fn move_limiter(here: &mut NodeView, nth: LimiterIx, old: PortIx, now: Time, events: &mut EventQueue) {
    limiter_places::take_out_of_lines(here, nth, old);
    limiter_places::limiter_left_line(here, nth);
    limiters::update_limiter(here, nth, now, events);
}
