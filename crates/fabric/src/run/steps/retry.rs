//! Link-level retry at run time: connects its state machines (`flow_control::llr`) with the transmitter of a port.
//!
//! A frame is numbered when it is sent on the link. A damaged frame is stored here, as are the frames after it, which
//! the other end discards. A NACK or the replay timer causes their retransmission, before new eligible frames and after
//! pause frames. A retransmitted frame left its queue long ago: pauses do not stop it, and it consumes no credits
//! again.

use crate::run::state::event::{Event, EventQueue, LossCause, What};
use crate::run::state::index::PortIx;
use crate::run::state::port::PortFeatures;
use crate::run::state::retry::{Held, RetrySignal, RetryState};
use crate::run::state::view::NodeView;
use crate::run::steps::decision;
use crate::run::steps::frame_log;
use crate::run::steps::probes;
use crate::run::steps::stops;
use crate::run::steps::transmission;
use flow_control::llr::{FrameAction, ORDERED_SET_BYTES, Outcome, SEQUENCES};
use frame::Frame;
use units::Time;

/// Time after which an unanswered initialisation is repeated if there is no replay timer.
const INIT_AGAIN: Time = Time::from_us(10);

fn state(here: &mut NodeView, port: PortIx) -> Option<&mut RetryState> {
    here.links.cold[port].retry.as_deref_mut()
}

/// Sends a frame, whose transmission has begun, on the link with this outcome. Returns false if the other end does not
/// accept this transmission.
pub fn send(
    here: &mut NodeView,
    egress: PortIx,
    (frame, back): (Frame, bool),
    outcome: Event,
    now: Time,
    events: &mut EventQueue,
) -> bool {
    let (busy_until, arrives_after) =
        (here.links.ports[egress].busy_until, here.links.ports[egress].timing.arrives_after());
    let peer = here.links.ports[egress].arrives_as.peer();
    let Some(retry) = state(here, egress) else { return true };
    let cause = loss_cause(&outcome);
    let action = retry.transmitter.action();
    if !retry.is_eligible(&frame) || action.is_some() {
        let discards = retry.is_eligible(&frame) && action == Some(FrameAction::Discard);
        let mut outcome = outcome;
        if discards && cause.is_none() {
            retry.counts.flushed += 1;
            outcome = Event::broken(busy_until + arrives_after, peer, frame, LossCause::Retry, back);
        }
        events.send(outcome, || here.links.neighbours[egress]);
        return cause.is_none() && !discards;
    }
    let sequence = retry.transmitter.send(frame.bytes, None, now);
    retry.counts.frames += 1;
    let taken = cause.is_none() && sequence == retry.in_order;
    if taken {
        retry.in_order = (sequence + 1) % SEQUENCES;
    } else if let Some(entry) = retry.transmitter.outstanding_mut().next_back() {
        entry.item = Some(Held { frame, back });
    }
    if taken {
        events.send(outcome, || here.links.neighbours[egress]);
    }
    announce(here, egress, sequence, cause, events);
    arm_watch(here, egress, events);
    taken
}

/// Returns the cause for which a transmission does not arrive intact.
fn loss_cause(outcome: &Event) -> Option<LossCause> {
    match outcome.what() {
        What::Broken(_, cause) => Some(cause),
        _ => None,
    }
}

/// Schedules the check of the sequence number at the other end, at the arrival of the last bit of the current
/// transmission.
fn announce(
    here: &mut NodeView,
    egress: PortIx,
    sequence: u32,
    cause: Option<LossCause>,
    events: &mut EventQueue,
) {
    // The other end does not observe a transmission that does not arrive at all.
    if !matches!(cause, None | Some(LossCause::BitError)) {
        return;
    }
    let at = here.links.ports[egress].busy_until + here.links.cold[egress].delay;
    let signal = RetrySignal::Frame { sequence, good: cause.is_none() };
    let peer = here.links.ports[egress].arrives_as.peer();
    events.send(Event::retry(at, peer, signal), || here.links.neighbours[egress]);
}

/// Returns true if the port has frames to retransmit.
#[inline]
pub fn is_replaying(here: &NodeView, egress: PortIx) -> bool {
    let cold = &here.links.cold[egress];
    cold.down == 0 && cold.retry.as_ref().is_some_and(|retry| retry.transmitter.is_replaying())
}

/// Retransmits the next frame; the transmitter is idle.
#[inline(never)]
pub fn replay(here: &mut NodeView, egress: PortIx, now: Time, events: &mut EventQueue) {
    let Some(retry) = state(here, egress) else { return };
    let Some((sequence, entry)) = retry.transmitter.next_replay(now) else { return };
    let (bytes, first, held) = (entry.bytes, entry.sent, entry.item);
    let expected = sequence == retry.in_order;
    let Held { frame, back } =
        held.unwrap_or(Held { frame: Frame { bytes, ..Frame::default() }, back: false });
    let port = &mut here.links.ports[egress];
    let arrival = port.transmit(frame, now);
    let overhead = u64::from(port.timing.overhead());
    let took = port.busy_until - now;
    let outcome = here.faults.outcome_on_link(egress, port, &here.links.cold[egress], (arrival, back), now);
    let cause = loss_cause(&outcome);
    let taken = held.is_some() && expected && cause.is_none();
    here.links.cold[egress].counts.retry_bytes += u64::from(bytes) + overhead;
    if let Some(retry) = state(here, egress) {
        let (frames, all) = retry.counts.replayed;
        retry.counts.replayed = (frames + 1, all + u64::from(bytes));
        retry.counts.replaying += took;
        if taken {
            retry.in_order = (sequence + 1) % SEQUENCES;
            retry.note_repaired(first, now);
            take_item(retry);
        }
    }
    if taken {
        events.send(outcome, || here.links.neighbours[egress]);
    }
    if held.is_some() {
        record(here, egress, &frame, taken, now);
    }
    announce(here, egress, sequence, cause, events);
    arm_watch(here, egress, events);
    note_blocked(here, egress, now, events);
}

/// Records that the other end accepts the first held frame.
fn take_item(retry: &mut RetryState) {
    let first = retry.transmitter.outstanding_mut().find(|entry| entry.item.is_some());
    if let Some(entry) = first {
        entry.item = None;
    }
}

/// Records a retransmission in time series and in captures.
fn record(here: &mut NodeView, egress: PortIx, frame: &Frame, taken: bool, now: Time) {
    if !here.links.ports[egress].features.has(PortFeatures::RECORDED) {
        return;
    }
    here.probes.breaks = !taken;
    probes::record_passage(here, egress, frame);
    here.probes.breaks = false;
    if here.probes.frames.is_some() {
        frame_log::log_sent(here, egress, frame, now);
    }
    if !taken {
        probes::record_broken(here, egress);
    }
}

/// Updates the port when eligible frames become blocked or unblocked.
pub fn note_blocked(here: &mut NodeView, egress: PortIx, now: Time, events: &mut EventQueue) {
    if !state(here, egress).is_some_and(|retry| retry.note_blocked(now)) {
        return;
    }
    stops::update_stopped(here, egress, now);
    let port = &here.links.ports[egress];
    if port.waiting & !port.stopped != 0 {
        decision::try_transmit(here, egress, now, events);
    }
}

/// Handles a signal that arrives at a port.
#[inline(never)]
pub fn receive(here: &mut NodeView, port: PortIx, signal: RetrySignal, now: Time, events: &mut EventQueue) {
    let Some(retry) = state(here, port) else { return };
    match signal {
        RetrySignal::Frame { sequence, good } => {
            let (arrival, nack) = retry.receiver.receive(sequence, good);
            retry.note_arrival(arrival);
            match nack {
                Some(last) => send_set(here, port, RetrySignal::Nack(last), now, events),
                None => acknowledge(here, port, now, events),
            }
        }
        RetrySignal::Ack(sequence) => {
            retry.counts.sequence_errors += u64::from(retry.transmitter.acknowledge(sequence, now).is_none());
            note_blocked(here, port, now, events);
        }
        RetrySignal::Nack(sequence) => {
            retry.counts.nacks_received += 1;
            let outcome = retry.transmitter.refuse(sequence, now);
            retry.counts.sequence_errors += u64::from(outcome.is_none());
            follow(here, port, outcome.unwrap_or(Outcome::Nothing), now, events);
        }
        RetrySignal::Init => {
            retry.receiver = Default::default();
            retry.ack.cancel();
            send_set(here, port, RetrySignal::InitEcho, now, events);
        }
        RetrySignal::InitEcho => {
            retry.transmitter.initialised();
            note_blocked(here, port, now, events);
        }
    }
}

/// Applies the outcome of an acknowledgement or a timer.
fn follow(here: &mut NodeView, port: PortIx, outcome: Outcome, now: Time, events: &mut EventQueue) {
    match outcome {
        Outcome::Nothing => {}
        Outcome::Replay => {
            if let Some(retry) = state(here, port) {
                retry.counts.replays += 1;
            }
            if here.links.cold[port].down == 0 {
                decision::try_transmit(here, port, now, events);
            }
        }
        Outcome::Flush => {
            flush(here, port, LossCause::Retry, now, events);
            if state(here, port).is_some_and(|retry| retry.transmitter.spec().re_init_on_flush) {
                initialise(here, port, now, events);
            }
        }
    }
    note_blocked(here, port, now, events);
}

/// Sends the acknowledgement that is due, or arms its timer.
fn acknowledge(here: &mut NodeView, port: PortIx, now: Time, events: &mut EventQueue) {
    let clock = &here.links.ports[port].clock;
    let Some(retry) = here.links.cold[port].retry.as_deref_mut() else { return };
    let spacing = clock.span_ceil(retry.transmitter.spec().ctlos_target_spacing);
    let Some(at) = retry.receiver.ack_due(spacing, now) else { return };
    if at > now {
        if retry.ack.arm(at) {
            events.push(Event::retry_due(at, port));
        }
        return;
    }
    if here.links.cold[port].down == 0
        && let Some(retry) = state(here, port)
    {
        let sequence = retry.receiver.acknowledge(now);
        send_set(here, port, RetrySignal::Ack(sequence), now, events);
    }
}

/// Sends a control ordered set on the link, within the frame in transmission or after it.
fn send_set(here: &mut NodeView, egress: PortIx, signal: RetrySignal, now: Time, events: &mut EventQueue) {
    if here.links.cold[egress].down != 0 {
        return;
    }
    let port = &mut here.links.ports[egress];
    if port.busy_until < now {
        port.clock.restart();
    }
    let begins = match signal {
        // Numbering restarts after the frame on the link.
        RetrySignal::Init => now.max(port.busy_until),
        _ => now,
    };
    port.busy_until = port.busy_until.max(now) + port.clock.advance(ORDERED_SET_BYTES);
    let (ends, peer) = (begins + port.clock.span_ceil(ORDERED_SET_BYTES), port.arrives_as.peer());
    let at = ends + here.links.cold[egress].delay;
    here.links.cold[egress].counts.retry_bytes += ORDERED_SET_BYTES;
    let faulted = !here.faults.schedules.is_empty();
    let lost = faulted && transmission::ordered_set_is_lost(here, egress, ORDERED_SET_BYTES, (begins, ends));
    if let Some(retry) = state(here, egress) {
        retry.counts.acks_sent += u64::from(matches!(signal, RetrySignal::Ack(_)));
        retry.counts.nacks_sent += u64::from(matches!(signal, RetrySignal::Nack(_)));
        retry.counts.ordered_sets_lost += u64::from(lost);
    }
    if !lost {
        events.send(Event::retry(at, peer, signal), || here.links.neighbours[egress]);
    }
}

/// Time at which the next event of a port is due, acknowledgements excluded.
fn watched(retry: &RetryState) -> Option<Time> {
    let spec = retry.transmitter.spec();
    if let Some(since) = retry.down_since {
        // An outage of exactly this length loses nothing.
        let longest = since + spec.pcs_lost_timeout;
        return retry.transmitter.is_advancing().then(|| longest + Time::from_ps(1));
    }
    if retry.transmitter.is_initialising() {
        let timer = spec.replay_timer_max;
        return Some(retry.began_init + if timer > Time::ZERO { timer } else { INIT_AGAIN });
    }
    retry.transmitter.timer()
}

/// Arms the timer if an event is due before it expires.
fn arm_watch(here: &mut NodeView, port: PortIx, events: &mut EventQueue) {
    let Some(retry) = state(here, port) else { return };
    if let Some(at) = watched(retry)
        && at < retry.watch.due()
        && retry.watch.arm(at)
    {
        events.push(Event::retry_due(at, port));
    }
}

/// Handles the possible expiry of a timer.
#[inline(never)]
pub fn due(here: &mut NodeView, port: PortIx, now: Time, events: &mut EventQueue) {
    if state(here, port).is_some_and(|retry| retry.ack.fires(now)) {
        acknowledge(here, port, now, events);
    }
    let Some(retry) = state(here, port).filter(|retry| retry.watch.due() == now) else { return };
    retry.watch.cancel();
    if watched(retry).is_some_and(|at| at <= now) {
        if retry.down_since.is_some() {
            flush(here, port, LossCause::LinkDown, now, events);
        } else if retry.transmitter.is_initialising() {
            initialise(here, port, now, events);
        } else {
            let outcome = retry.transmitter.expire(now);
            retry.counts.timeouts += u64::from(outcome != Outcome::Nothing);
            follow(here, port, outcome, now, events);
        }
    }
    arm_watch(here, port, events);
}

/// Flushes the replay buffer: the frames that the other end has not accepted are lost.
fn flush(here: &mut NodeView, port: PortIx, cause: LossCause, now: Time, events: &mut EventQueue) {
    let (peer, delay) = (here.links.ports[port].arrives_as.peer(), here.links.cold[port].delay);
    // No node affects another sooner than the arrival of an ordered set.
    let at = now + here.links.ports[port].clock.span_ceil(ORDERED_SET_BYTES) + delay;
    let neighbour = here.links.neighbours[port];
    let Some(retry) = state(here, port) else { return };
    retry.counts.flushes += 1;
    for Held { frame, back } in retry.transmitter.flush().filter_map(|entry| entry.item) {
        retry.counts.flushed += 1;
        events.send(Event::broken(at, peer, frame, cause, back), || neighbour);
    }
    note_blocked(here, port, now, events);
}

/// Starts to initialise the direction in which this end sends.
fn initialise(here: &mut NodeView, port: PortIx, now: Time, events: &mut EventQueue) {
    let Some(retry) = state(here, port) else { return };
    retry.transmitter.initialise();
    (retry.in_order, retry.began_init) = (0, now);
    send_set(here, port, RetrySignal::Init, now, events);
    note_blocked(here, port, now, events);
    arm_watch(here, port, events);
}

/// Handles a link that has gone down, or a switch that has been turned off.
pub fn link_down(here: &mut NodeView, port: PortIx, cause: LossCause, now: Time, events: &mut EventQueue) {
    let Some(retry) = state(here, port) else { return };
    retry.down_since.get_or_insert(now);
    let keeps = cause == LossCause::LinkDown && retry.transmitter.spec().pcs_lost_timeout > Time::ZERO;
    if !keeps && retry.transmitter.is_advancing() {
        flush(here, port, cause, now, events);
    }
    arm_watch(here, port, events);
}

/// Handles a link that is up again.
pub fn link_up(here: &mut NodeView, port: PortIx, now: Time, events: &mut EventQueue) {
    let Some(retry) = state(here, port) else { return };
    if retry.down_since.take().is_none() {
        return;
    }
    if !retry.transmitter.is_advancing() {
        return initialise(here, port, now, events);
    }
    retry.transmitter.resume(now);
    let repeats = retry.transmitter.is_replaying();
    retry.counts.replays += u64::from(repeats);
    if repeats {
        decision::try_transmit(here, port, now, events);
    }
    acknowledge(here, port, now, events);
    note_blocked(here, port, now, events);
    arm_watch(here, port, events);
}
