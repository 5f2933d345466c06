//! Transmission of a frame on the link of a port, and its counters.

use crate::run::state::event::{EventQueue, Kind};
use crate::run::state::faults::{meets, strikes};
use crate::run::state::index::PortIx;
use crate::run::state::port::PortFeatures;
use crate::run::state::view::NodeView;
use crate::run::steps::ahead::arrivals;
use crate::run::steps::domains;
use crate::run::steps::endpoint_ways;
use crate::run::steps::nic_places;
use crate::run::steps::probes;
use crate::run::steps::retry;
use frame::Frame;
use units::Time;

/// Sends a frame on the link; the transmitter is idle.
#[inline(always)]
pub fn transmit(here: &mut NodeView, egress: PortIx, frame: Frame, now: Time, events: &mut EventQueue) {
    let port = &mut here.links.ports[egress];
    if port.features.has(PortFeatures::FAULTED) {
        return transmit_faulted(here, egress, frame, now, events);
    }
    let features = port.features;
    put_on_link(here, egress, frame, now, events);
    count_sent(here, egress, &frame, features, now);
}

/// Sends a frame on the idle link of a port, without calling the stages that observe departures.
#[inline(always)]
pub fn transmit_unfed(here: &mut NodeView, egress: PortIx, frame: Frame, now: Time, events: &mut EventQueue) {
    put_on_link(here, egress, frame, now, events);
    here.links.passed.count(egress, &frame);
}

/// The rest of [`transmit`] at a port that faults may affect, or where frames get another priority or tag. Frames are
/// counted by the priority of the queue that they leave.
#[cold]
#[inline(never)]
pub(super) fn transmit_faulted(
    here: &mut NodeView,
    egress: PortIx,
    frame: Frame,
    now: Time,
    events: &mut EventQueue,
) {
    let frame = domains::with_cn_tag(here, egress, frame);
    let back = !endpoint_ways::goes_to_far_end(here, &frame);
    let port = &mut here.links.ports[egress];
    let cold = &here.links.cold[egress];
    let on_wire = frame.at(cold.new_priority(frame.priority()));
    let arrival = port.transmit(on_wire, now);
    let arrival = here.faults.outcome_on_link(egress, port, cold, (arrival, back), now);
    let (features, numbered) = (port.features, cold.retry.is_some());
    let broken = if numbered {
        !retry::send(here, egress, (on_wire, back), arrival, now, events)
    } else {
        events.send(arrival, || here.links.neighbours[egress]);
        arrival.kind() == Kind::Broken
    };
    here.probes.breaks = broken;
    count_sent(here, egress, &frame, features, now);
    here.probes.breaks = false;
    if broken {
        probes::record_broken(here, egress);
    }
}

/// Sends a frame on the link of a port. Its transmission starts at `begins`, when the transmitter is idle.
#[inline(always)]
pub fn put_on_link(here: &mut NodeView, egress: PortIx, frame: Frame, begins: Time, events: &mut EventQueue) {
    let port = &mut here.links.ports[egress];
    let arrival = port.transmit(frame, begins);
    if port.features.has(PortFeatures::COUNTED_AHEAD) && here.routes.ends_there(frame.path, frame.route) {
        let Frame { created, path, bytes, flags, .. } = frame;
        if arrivals::count_ahead(here, egress, path, created, arrival.time, (bytes, flags)) {
            return events.count(1);
        }
    }
    events.send(arrival, || here.links.neighbours[egress]);
}

/// Counts a frame whose transmission has started, and defers the refill of its place.
#[inline(always)]
pub fn count_sent(here: &mut NodeView, egress: PortIx, frame: &Frame, features: PortFeatures, now: Time) {
    here.links.passed.count(egress, frame);
    if features.has(PortFeatures::FEEDS.or(PortFeatures::RECORDED)) {
        if features.has(PortFeatures::RECORDED) {
            probes::record_sent(here, egress, frame, now);
        }
        if features.has(PortFeatures::FEEDS) {
            nic_places::feed(here, egress, frame, now);
        }
    }
}

/// Returns true if a control ordered set of this length in bytes, sent from `began` to `ended`, is lost.
#[cold]
pub fn ordered_set_is_lost(
    here: &mut NodeView,
    egress: PortIx,
    bytes: u64,
    (began, ended): (Time, Time),
) -> bool {
    let schedule = here.faults.schedules.get_mut(egress.at()).and_then(Option::as_deref_mut);
    let Some(schedule) = schedule else { return false };
    let delay = here.links.cold[egress].delay;
    schedule.loss_cause(began, ended, delay, ended + delay).is_some()
        || strikes(&schedule.bit_errors, began, bytes * 8, &mut schedule.bits)
}

/// Returns true if a pause frame or a credit update of this length in bytes, sent from `began` on and taking effect at
/// `acts`, is lost.
#[cold]
pub fn pause_is_lost(here: &mut NodeView, egress: PortIx, (began, acts): (Time, Time), bytes: u64) -> bool {
    let schedule = here.faults.schedules.get_mut(egress.at()).and_then(Option::as_deref_mut);
    let Some(schedule) = schedule else { return false };
    let (ended, delay) = (here.links.ports[egress].busy_until, here.links.cold[egress].delay);
    // A pause that has not taken effect when the link goes down is discarded like one in force.
    schedule.loss_cause(began, ended, delay, acts).is_some()
        || meets(&schedule.outages, began, acts)
        || strikes(&schedule.pause_losses, began, 1, &mut schedule.pauses)
        || strikes(&schedule.bit_errors, began, bytes * 8, &mut schedule.bits)
}
