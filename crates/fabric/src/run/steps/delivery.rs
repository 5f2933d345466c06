//! Delivery of a frame at the end of its path, by its kind.

use crate::run::state::event::EventQueue;
use crate::run::state::releases::End;
use crate::run::state::view::NodeView;
use crate::run::steps::ahead::arrivals;
use crate::run::steps::endpoints;
use crate::run::steps::releases;
use crate::run::steps::tags;
use frame::{Frame, FrameKind};
use units::Time;

#[inline(always)]
pub fn deliver(here: &mut NodeView, frame: &Frame, now: Time, events: &mut EventQueue) {
    if !frame.flags.is_plain() {
        // A local copy, which can stay in registers: a frame passed by reference would have to be in memory.
        let frame = *frame;
        return deliver_slow(here, &frame, now, events);
    }
    here.hosts.receiver(frame.path).count(frame, now);
    here.ledger.delivered += 1;
}

/// Delivers a frame that its receiver has to process.
#[inline(never)]
pub(super) fn deliver_slow(here: &mut NodeView, frame: &Frame, now: Time, events: &mut EventQueue) {
    if frame.flags.is_of_endpoint() {
        endpoints::deliver_to_endpoint(here, frame, now, events);
    } else {
        deliver_special(here, frame, now, events);
    }
}

/// Delivers a frame of a kind that is not exchanged between endpoints.
#[inline(never)]
pub(super) fn deliver_special(here: &mut NodeView, frame: &Frame, now: Time, events: &mut EventQueue) {
    if frame.flags.is_tagged() {
        return deliver_tagged(here, frame, now, events);
    }
    if frame.flags.is_trimmed() && frame.flags.is_pushed() {
        return discard_trimmed(here, frame);
    }
    if frame.flags.kind() == FrameKind::Part {
        return deliver_part(here, frame, now, events);
    }
    endpoints::deliver_message(here, frame, now, events);
}

/// Delivers a frame with a tag, which its host removes.
#[inline(never)]
pub(super) fn deliver_tagged(here: &mut NodeView, frame: &Frame, now: Time, events: &mut EventQueue) {
    // At this point, a planned route is past the end of its path.
    if here.routes.has_one_receiver(frame.path, frame.route) {
        arrivals::is_here(here, frame);
    }
    match tags::take_tag(here, frame, now, events) {
        Some(untagged) => deliver(here, &untagged, now, events),
        None => here.ledger.delivered += 1,
    }
}

/// Discards a pushed frame that was trimmed, at its host.
#[cold]
fn discard_trimmed(here: &mut NodeView, frame: &Frame) {
    here.ledger.delivered += 1;
    here.ledger.count_trimmed(frame);
}

/// Delivers a part of a transfer or of a stream.
#[inline(never)]
pub(super) fn deliver_part(here: &mut NodeView, frame: &Frame, now: Time, events: &mut EventQueue) {
    let receiver = here.hosts.receiver_of(frame.path);
    here.hosts.receivers[receiver].count(frame, now);
    here.ledger.delivered += 1;
    let is_last = !here.hosts.stream_counts.arrived(receiver, frame, now)
        && here.hosts.completions.arrived(receiver, frame.word, now);
    if is_last && !here.hosts.releases.is_empty() {
        releases::transfer_ended(here, End::Receiver(receiver, frame.word), now, events);
    }
}
