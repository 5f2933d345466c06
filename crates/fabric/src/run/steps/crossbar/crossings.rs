//! Arrival of frames at a crossbar, matching and crossing.

use crate::run::state::crossbar::Crossbar;
use crate::run::state::event::EventQueue;
use crate::run::state::index::PortIx;
use crate::run::state::losses::Cause;
use crate::run::state::pool::Waiting;
use crate::run::state::port::{HEAD_BYTES, PortFeatures};
use crate::run::state::view::NodeView;
use crate::run::steps::credits;
use crate::run::steps::credits::updates;
use crate::run::steps::crossbar::outputs;
use crate::run::steps::crossbar::outputs::match_later;
use crate::run::steps::egress;
use crate::run::steps::ingress;
use crate::run::steps::losses;
use crate::run::steps::managed;
use crate::run::steps::pausing;
use flow_control::pfc::Counted;
use frame::{Frame, FrameKind, TrafficClass};
use queueing::Crossing;
use units::Time;

/// Handles a frame that arrives at a switch with a crossbar, or originates there.
#[inline(never)]
pub fn enter_crossbar(
    here: &mut NodeView,
    egress: PortIx,
    class: TrafficClass,
    frame: Frame,
    ingress: Option<PortIx>,
    now: Time,
    events: &mut EventQueue,
) {
    if let Err(cause) = count_for_output(here, egress, class, (&frame, ingress), now, events) {
        return losses::lose(here, egress, class, &frame, ingress, cause, now);
    }
    let Some(ingress) = ingress else {
        if let Some(bar) = outputs::crossbar_mut(here, egress) {
            let output = bar.nth(egress);
            bar.hold(output, bar.lane(class, &frame), frame.bytes);
        }
        return egress::enqueue_at_output(here, egress, class, frame, None, now, events);
    };
    if frame.flags.kind() == FrameKind::Tag {
        managed::stamp_returned(here, ingress, &frame);
    }
    let port = &here.links.ports[egress];
    let (features, queue) = (port.features, port.queue(class));
    if features.has(PortFeatures::CREDITS) {
        credits::credits_arrived(here, ingress, &frame, Some(queue), now);
    }
    if !count_for_input(here, egress, class, (&frame, ingress), now, events) {
        return losses::lose(here, egress, class, &frame, Some(ingress), Cause::Headroom, now);
    }
    pausing::note_at_root(here, egress, class, &frame);
    let node = here.node_of[egress];
    let Some(bar) = here.nodes[node].architecture.crossbar_mut() else { return };
    let (input, output) = (bar.nth(ingress), bar.nth(egress));
    // A bypassable frame waits in the ordered list only while other frames do.
    let mut lane = bar.lane(class, &frame);
    if lane != class.at() && !bar.lists[bar.list(input, output, class.at())].is_empty() {
        lane = class.at();
    }
    let list = bar.list(input, output, lane);
    let is_first = bar.lists[list].is_empty();
    if is_first && bar.crosses_at_once(input, output, lane, frame.bytes, now) && events.is_last_of(now) {
        // All other possible pairs have been matched, so the match consists of this frame.
        bar.inputs[input].pass(frame.bytes);
        let crossing = Crossing { input, output, class: lane };
        bar.arbiter.grant_alone(crossing);
        set_off(here, ingress, crossing, &frame, now, now, events);
        #[cfg(debug_assertions)]
        check_matched(here, egress, now);
        return;
    }
    // The ingress port is implied by the list.
    here.buffers.pool.push(&mut bar.lists[list], &frame, now, Some(egress));
    bar.inputs[input].enter(frame.bytes);
    if is_first {
        bar.add_request(input, output, lane as u8);
        let are_free = bar.busy_until(input, output) <= now;
        if !are_free {
            notice_later(bar, input, output, events);
        }
        if are_free && bar.outputs[output].roomy >> lane & 1 != 0 || bar.left_over {
            match_soon(here, egress, now, events);
        }
    }
    #[cfg(debug_assertions)]
    check_matched(here, egress, now);
}

/// Counts an arriving frame for its output, for buffer limits and pauses by queue. Returns the limit that refuses it,
/// if any.
fn count_for_output(
    here: &mut NodeView,
    egress: PortIx,
    class: TrafficClass,
    (frame, ingress): (&Frame, Option<PortIx>),
    now: Time,
    events: &mut EventQueue,
) -> Result<(), Cause> {
    let is_limited = here.nodes[here.node_of[egress]].memory().limited;
    let refusal = |bar: &mut Crossbar| bar.refusal(egress, class, frame.bytes);
    if is_limited && let Some(cause) = outputs::crossbar_mut(here, egress).and_then(refusal) {
        return Err(cause);
    }
    if here.links.ports[egress].features.has(PortFeatures::EGRESS_ACCOUNTING) {
        pausing::count_egress(here, egress, class, (ingress, frame.bytes), now, events);
    }
    let held = outputs::crossbar_mut(here, egress).and_then(|bar| bar.held_for_mut(egress, class));
    if let Some(held) = held {
        held.add(frame.bytes);
    }
    Ok(())
}

/// Counts an arriving frame at its input, for pauses by ingress port. Returns false if it does not fit the headroom.
fn count_for_input(
    here: &mut NodeView,
    egress: PortIx,
    class: TrafficClass,
    (frame, ingress): (&Frame, PortIx),
    now: Time,
    events: &mut EventQueue,
) -> bool {
    let port = &here.links.ports[egress];
    let (features, queue) = (port.features, port.queue(class));
    let by_queue = features.has(PortFeatures::EGRESS_ACCOUNTING);
    if by_queue || !features.has(PortFeatures::INGRESS_ACCOUNTING) {
        return true;
    }
    match ingress::count_in(here, frame, Some(ingress), now) {
        Counted::Fits => {}
        Counted::Full => {
            let held = outputs::crossbar_mut(here, egress).and_then(|bar| bar.held_for_mut(egress, class));
            if let Some(held) = held {
                held.remove(frame.bytes);
            }
            return false;
        }
        Counted::AtXoff => ingress::send_xoff(here, frame, ingress, Some(queue), now, events),
    }
    true
}

/// Checks by an exhaustive search that no possible pair is left unmatched.
#[cfg(debug_assertions)]
fn check_matched(here: &NodeView, port: PortIx, now: Time) {
    let Some(bar) = here.nodes[here.node_of[port]].architecture.crossbar() else {
        return;
    };
    if bar.matching.due() == now || bar.left_over {
        return;
    }
    for (at, list) in bar.lists.iter().enumerate().filter(|it| !it.1.is_empty()) {
        let (input, lane) = (at / (bar.lists.len() / bar.ports), at % bar.lanes);
        let first = here.buffers.pool.first(list);
        let output = bar.output_of(first);
        let needs = match bar.keys.room {
            queueing::Room::Frame => u64::from(first.frame.bytes),
            queueing::Room::Longest => bar.longest,
        };
        assert!(
            bar.lane(bar.class_at(lane), &first.frame) == lane,
            "a bypassable frame is at the head of an ordered list"
        );
        let fits = bar.held[output * bar.lanes + lane] + needs <= bar.keys.output_buffer.get();
        // The event of a crossing that ends now may still be pending.
        assert!(!fits || bar.busy_until(input, output) >= now, "a possible crossing has not been matched");
        let later = bar.busy_until(input, output) > now;
        let noticed = bar.outputs[bar.busy_longer(input, output)].noticed;
        assert!(!later || noticed, "no event is scheduled for the end of the crossing");
    }
}

/// Schedules a match after all events of this time. It is the last step of this event.
fn match_soon(here: &mut NodeView, port: PortIx, now: Time, events: &mut EventQueue) {
    if events.is_last_of(now) {
        match_now(here, port, events, now);
    } else if let Some(bar) = outputs::crossbar_mut(here, port) {
        match_later(bar, now, events);
    }
}

/// Handles a scheduled match.
pub fn match_due(here: &mut NodeView, port: PortIx, now: Time, events: &mut EventQueue) {
    let node = here.node_of[port];
    let Some(bar) = here.nodes[node].architecture.crossbar_mut() else { return };
    if bar.matching.fires(now) {
        match_now(here, port, events, now);
    }
}

/// Matches inputs and outputs.
fn match_now(here: &mut NodeView, port: PortIx, events: &mut EventQueue, now: Time) {
    let node = here.node_of[port];
    let Some(bar) = here.nodes[node].architecture.crossbar_mut() else { return };
    bar.request(&here.buffers.pool, now);
    bar.left_over = false;
    if bar.requests.is_empty() {
        return;
    }
    if let Some(crossing) = bar.arbiter.pick_for_one(&bar.requests) {
        return cross(here, port, crossing, now, events);
    }
    let mut matches = std::mem::take(&mut bar.matches);
    bar.left_over = bar.arbiter.pick(&bar.requests, &mut matches);
    if bar.left_over {
        // The end of any crossing may complete an omitted pair.
        for nth in 0..bar.outputs.len() {
            let port = bar.port(nth);
            if bar.outputs[nth].busy_until > now {
                bar.outputs[nth].notice(port, events);
            }
        }
    }
    for crossing in matches.drain(..) {
        cross(here, port, crossing, now, events);
    }
    if let Some(bar) = outputs::crossbar_mut(here, port) {
        bar.matches = matches;
    }
}

/// Starts the crossing of a frame.
#[inline(always)]
fn cross(here: &mut NodeView, port: PortIx, crossing: Crossing, now: Time, events: &mut EventQueue) {
    let Crossing { input, output, class: lane } = crossing;
    let node = here.node_of[port];
    let Some(bar) = here.nodes[node].architecture.crossbar_mut() else { return };
    let list = bar.list(input, output, lane);
    let waiting = here.buffers.pool.pop(&mut bar.lists[list]);
    bar.inputs[input].leave(waiting.frame.bytes, now - waiting.since);
    let moved = (bar.bypasses >> lane & 1 != 0)
        .then(|| bar.move_bypassable(input, output, lane, &mut here.buffers.pool))
        .flatten();
    let left = &bar.lists[list];
    let next = (!left.is_empty()).then(|| bar.output_of(here.buffers.pool.first(left)));
    if next != Some(output) {
        bar.withdraw(input, output, lane as u8);
        if let Some(next) = next {
            bar.add_request(input, next, lane as u8);
        }
    }
    set_off(here, port, crossing, &waiting.frame, waiting.since, now, events);
    for next in [next, moved].into_iter().flatten().filter(|&next| next != output) {
        if let Some(bar) = outputs::crossbar_mut(here, port) {
            notice_later(bar, input, next, events);
        }
    }
}

/// Removes a frame, which arrived at the given time, from its input.
fn set_off(
    here: &mut NodeView,
    port: PortIx,
    crossing: Crossing,
    frame: &Frame,
    since: Time,
    now: Time,
    events: &mut EventQueue,
) {
    let Crossing { input, output, class: lane } = crossing;
    let node = here.node_of[port];
    let Some(bar) = here.nodes[node].architecture.crossbar_mut() else { return };
    bar.hold(output, lane, frame.bytes);
    let (ingress, egress) = (bar.port(input), bar.port(output));
    let (mut ends, early, class) = (now + bar.takes(frame.bytes), bar.cuts_through, bar.class_at(lane));
    if early {
        // The last bit cannot cross before it has arrived. The crossing of a frame that has arrived as a whole is
        // extended by at most the duration of its arrival.
        let rest = u64::from(frame.bytes - frame.bytes.min(HEAD_BYTES));
        let rest = if here.links.is_faster(egress, ingress) { 0 } else { rest };
        ends = ends.max(since + here.links.cold[ingress].arrives_by.span_floor(rest));
    }
    (bar.inputs[input].busy_until, bar.inputs[input].to) = (ends, output);
    let awaited = bar.is_awaited(input, output);
    let state = &mut bar.outputs[output];
    (state.busy_until, state.from) = (ends, input);
    if !early {
        state.underway = Some((*frame, class));
    }
    if awaited || !early {
        state.notice(egress, events);
    }
    let features = here.links.ports[egress].features;
    if features.has(PortFeatures::CREDITS) {
        updates::credits_free_last(here, ingress, frame, now, events);
    }
    // Counters of queues include the frame until it leaves the output.
    let by_queue = features.has(PortFeatures::EGRESS_ACCOUNTING);
    if features.has(PortFeatures::INGRESS_ACCOUNTING) && !by_queue {
        let mut waiting = Waiting::default();
        (waiting.frame, waiting.since, waiting.across) = (*frame, since, Some(ingress));
        ingress::count_out(here, &waiting, now, events);
    }
    if early {
        egress::enqueue_at_output(here, egress, class, *frame, by_queue.then_some(ingress), now, events);
    }
}

/// Ends the crossing of a frame to a port.
#[inline]
pub fn crossed(here: &mut NodeView, egress: PortIx, now: Time, events: &mut EventQueue) {
    let Some(bar) = outputs::crossbar_mut(here, egress) else { return };
    let output = bar.nth(egress);
    let ingress = bar.port(bar.outputs[output].from);
    let (frame, may_match) = bar.ended(output);
    if let Some((frame, class)) = frame {
        let by_queue = here.links.ports[egress].features.has(PortFeatures::EGRESS_ACCOUNTING);
        egress::enqueue_at_output(here, egress, class, frame, by_queue.then_some(ingress), now, events);
    }
    if may_match {
        match_soon(here, egress, now, events);
    }
    #[cfg(debug_assertions)]
    check_matched(here, egress, now);
}

/// Schedules an event for the end of the longer of the two crossings that occupy an input and an output.
fn notice_later(bar: &mut Crossbar, input: usize, output: usize, events: &mut EventQueue) {
    let longer = bar.busy_longer(input, output);
    let port = bar.port(longer);
    bar.outputs[longer].notice(port, events);
}
