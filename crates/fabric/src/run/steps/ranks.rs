//! Ranks of jobs: posts their messages on the connections of their host, and handles their timers as events of the
//! host.

use crate::run::state::deferred::Deferred;
use crate::run::state::event::{Event, EventQueue, Kind};
use crate::run::state::index::{PortIx, RankIx};
use crate::run::state::view::NodeView;
use crate::run::steps::endpoints;
use jobs::Post;
use transport::{HostEvent, Protocol};
use units::Time;

/// Calls the ranks of a host whose timer has expired.
#[inline(never)]
pub fn ranks_due(here: &mut NodeView, port: PortIx, now: Time) {
    for rank in here.hosts.ranks.of_port(port) {
        let state = &mut here.hosts.ranks.ranks[rank];
        if state.wakes_at > now {
            continue;
        }
        state.wakes_at = Time::NEVER;
        state.machine.on_time(now);
        if !std::mem::replace(&mut state.deferred, true) {
            here.deferred.push(Deferred::Rank(rank));
        }
    }
}

/// Posts the messages of a rank, and sets its timer.
#[inline(never)]
pub fn run_rank(here: &mut NodeView, rank: RankIx, now: Time, events: &mut EventQueue) {
    here.hosts.ranks.ranks[rank].deferred = false;
    while let Some(Post { to, bytes, tag }) = here.hosts.ranks.ranks[rank].machine.poll_post() {
        let ends = &here.hosts.ranks.ranks[rank].ends;
        let Ok(place) = ends.binary_search_by_key(&to, |&(peer, _)| peer) else { continue };
        let endpoint = ends[place].1;
        here.hosts.endpoints[endpoint].endpoint.on_event(now, &HostEvent::Post { tag, bytes });
        endpoints::update_endpoint(here, endpoint, now, events);
    }
    let ranks = &mut here.hosts.ranks;
    let state = &mut ranks.ranks[rank];
    while let Some(notice) = state.machine.poll_notice() {
        ranks.notices.push((state.job, state.number, notice));
    }
    let at = state.machine.calls_at();
    if at < state.wakes_at {
        state.wakes_at = at;
        events.push(Event::bare(Kind::Rank, at.max(now), state.port));
    }
}
