//! The event loop of a fabric: its state, and the dispatch of events to steps.
//!
//! The path of a frame has one file per step, in this order: `sources` and `nics` at its host; `forward` at each port,
//! directly to the link if the port is idle and nothing is queued; `egress`, its queue; `selection`, when the port is
//! idle again; `transmission`, onto the link; `arrival`, at the next node; `delivery`, at the end.
//!
//! A frame-hop takes one event: an idle port sends at once and needs no event for the end of the transmission. A
//! decision is scheduled only while frames are queued.
//!
//! A frame waits from its entry into an egress queue to the start of its transmission, and occupies memory only in this
//! time. Line overhead precedes the frame: the last bit of the frame is the last that the link carries of it.

use crate::Whole;
use crate::run::state::admitted::AtEgress;
use crate::run::state::deferred::Deferred;
use crate::run::state::event::{Event, EventQueue, Kind, What};
use crate::run::state::port::PortFeatures;
use crate::run::state::view::NodeView;
use crate::run::steps::arrival;
use crate::run::steps::credits::{leaks, updates};
use crate::run::steps::crossbar::crossings;
use crate::run::steps::egress;
use crate::run::steps::endpoints;
use crate::run::steps::faults;
use crate::run::steps::fingerprints;
use crate::run::steps::forward;
use crate::run::steps::limiters;
use crate::run::steps::nics;
use crate::run::steps::pause_frames;
use crate::run::steps::pausing;
use crate::run::steps::ranks;
use crate::run::steps::receive;
use crate::run::steps::retry;
use crate::run::steps::selection;
use crate::run::steps::sources;
use crate::run::steps::storms;
use crate::run::steps::tags;
use units::Time;

/// Dispatches an event at its node.
#[inline(always)]
pub fn dispatch(here: &mut NodeView, event: Event, whole: Whole, events: &mut EventQueue) {
    if event.is(Kind::Frame) {
        arrival::arrive(here, event.port(whole), event, events);
    } else if event.is_decision() {
        // Decisions and polls for credits are not part of the fingerprint: a lazy port omits some decisions, and a poll
        // changes nothing. Arrivals and timers cover everything observable.
        let port = event.port(whole);
        if here.links.ports[port].decision.fires(event.time) {
            here.deciding = true;
            selection::decide(here, port, event.time, events);
        }
    } else if event.is(Kind::Source) {
        let (place, now) = (event.place(whole), event.time);
        let source = here.source_at(place);
        let flow = here.hosts.sources[source].flow;
        // Separate code, since there is no frame to hash.
        let number = here.numbering.source(flow);
        fingerprints::note(
            here,
            here.node_of[place],
            &Event::bare(Kind::Source, now, place),
            Kind::Source,
            number,
        );
        sources::source_due(here, source, now, events);
    } else if event.is(Kind::Limiter) {
        limiters::limiter_called(here, event.called_limiter(), event.time, events);
    } else {
        dispatch_slow(here, event, whole, events);
    }
}

/// Runs deferred steps, and the steps that these defer, depth first.
#[inline(never)]
pub fn run_deferred(here: &mut NodeView, now: Time, events: &mut EventQueue) {
    while let Some(step) = here.deferred.next() {
        match step {
            Deferred::Decide(port) => selection::decide(here, port, now, events),
            Deferred::Refill { egress, class, has_wait_queue, pushed } => {
                if has_wait_queue {
                    nics::pull(here, egress, class, now, events);
                }
                sources::feed_sources(here, (egress, class), pushed, now, events);
            }
            Deferred::Originate(port, frame) => {
                let own = here.deferred.frame(frame);
                forward::originate(here, port, own, now, events);
            }
            Deferred::Behind { stage, egress, class, ingress, frame } => {
                let at = AtEgress::new(here.deferred.frame(frame), egress, class, ingress);
                egress::goes_on_behind(here, PortFeatures::nth(stage), at, now, events);
            }
            Deferred::Rank(rank) => ranks::run_rank(here, rank, now, events),
            Deferred::Endpoint(nth) => endpoints::update_endpoint(here, nth, now, events),
            Deferred::Stuck(port, classes) => storms::note_still_stuck(here, port, classes, now, events),
        }
        if here.deferred.have_run() {
            return;
        }
    }
}

/// Dispatches the less frequent kinds, compiled separately from the code that every frame needs.
#[inline(never)]
fn dispatch_slow(here: &mut NodeView, event: Event, whole: Whole, events: &mut EventQueue) {
    let (place, port, now) = (event.place(whole), event.port(whole), event.time);
    // Like decisions, these timers are not part of the fingerprint, but their effects are. A rescheduled timer still
    // fires at its first time, without effect.
    match event.what() {
        What::Crossed => return crossings::crossed(here, port, now, events),
        What::Match => return crossings::match_due(here, port, now, events),
        What::LookForCredits => return updates::look_for_credits(here, port, now, events),
        What::Credits(freed) => return updates::receive_credits(here, port, freed, now, events),
        What::UpdateDue => return updates::update_due(here, port, now, events),
        What::CreditsConsumed => return leaks::restore(here, port, now, events),
        What::Retry(signal) => return retry::receive(here, port, signal, now, events),
        What::RetryDue => return retry::due(here, port, now, events),
        What::Watchdog => return storms::watch_due(here, port, now, events),
        What::Renew => return pausing::renew_pauses(here, port, now, events),
        What::Rank if !here.hosts.ranks.call_is_noted(port, now) => return ranks::ranks_due(here, port, now),
        What::Timeout => {
            let endpoint = here.endpoint_at(place);
            return endpoints::endpoint_due(here, endpoint, now, events);
        }
        _ => {
            let number = here.number_of_place(place);
            fingerprints::note(here, here.node_of[place], &event, event.kind(), number)
        }
    }
    match event.what() {
        What::Head(frame) => arrival::head_arrives(here, port, frame, now, events),
        What::Pause(pause) => pause_frames::receive_pause(here, port, pause, now, events),
        What::Broken(frame, cause) => faults::broken(here, port, &frame, cause, now, events),
        What::Served => receive::served(here, port, now, events),
        What::Fault(actions) => faults::fault(here, port, actions, now, events),
        What::News(news) => tags::news_due(here, port, news, now, events),
        What::Rank => ranks::ranks_due(here, port, now),
        _ => unreachable!("handled before"),
    }
}
