//! The queues of an egress port: admission, queueing and departure of frames.

use crate::run::state::admitted::AtEgress;
use crate::run::state::deferred::Deferred;
use crate::run::state::event::EventQueue;
use crate::run::state::index::{PortIx, QueueIx};
use crate::run::state::losses::Cause;
use crate::run::state::pool::Waiting;
use crate::run::state::port::{Port, PortFeatures};
use crate::run::state::view::NodeView;
use crate::run::steps::ahead::queues;
use crate::run::steps::credits;
use crate::run::steps::decision;
use crate::run::steps::ingress;
use crate::run::steps::losses;
use crate::run::steps::managed;
use crate::run::steps::pausing;
use crate::run::steps::sharing;
use crate::run::steps::stages;
use crate::run::steps::stages::Verdict;
use crate::run::steps::stops;
use crate::run::steps::transmission;
use flow_control::pfc::Counted;
use frame::{Frame, Occupancy, TrafficClass};
use queueing::Refusal;
use units::Time;

/// Sends a frame that finds its port idle and has to be observed by a queue manager only, unless the manager drops it.
/// A separate function, which saves a tenth of the instructions of the workload `red`.
#[inline(never)]
pub fn pass_manager(
    here: &mut NodeView,
    egress: PortIx,
    class: TrafficClass,
    frame: Frame,
    ingress: Option<PortIx>,
    now: Time,
    events: &mut EventQueue,
) {
    let mut at = AtEgress::new(frame, egress, class, ingress);
    match managed::enter_manager(here, &mut at, now) {
        Verdict::Pass | Verdict::Wait => {
            let frame = managed::manager_on_dequeue(here, egress, class, at.frame, now);
            transmission::transmit(here, egress, frame, now, events);
        }
        Verdict::Drop(cause) => refused(here, at, cause, now, events),
        Verdict::Notify => managed::defer_behind(here, PortFeatures::MANAGED, &at),
    }
}

/// Handles a frame at a busy port whose only stages are the ingress counter and a queue manager that needs no update. A
/// separate function, because this is the most frequent case in a fabric with PFC: saves 5 % of the CPU time of the
/// workloads `incast-8 pfc` and `star pfc`.
#[inline(always)]
pub fn wait_for_link(
    here: &mut NodeView,
    egress: PortIx,
    class: TrafficClass,
    frame: &Frame,
    ingress: Option<PortIx>,
    now: Time,
    events: &mut EventQueue,
) {
    let port = &here.links.ports[egress];
    if port.features.has(PortFeatures::INGRESS_ACCOUNTING) {
        let queue = port.queue(class);
        match ingress::count_in(here, frame, ingress, now) {
            Counted::Fits => {}
            Counted::AtXoff => {
                ingress::send_xoff_to(here, frame, ingress, queue, now, events);
                // The pause may begin at this queue.
                pausing::note_at_root(here, egress, class, frame);
            }
            Counted::Full => {
                return losses::lose(here, egress, class, frame, ingress, Cause::Headroom, now);
            }
        }
    }
    let at = wait(here, egress, class, frame, ingress, now);
    decision::arm(here, egress, at, events);
}

/// Passes a frame that arrives at the queue of its egress port through the stages in their order. The frame may be
/// refused, or may be sent immediately.
#[inline(never)]
pub fn enqueue_at_output(
    here: &mut NodeView,
    egress: PortIx,
    class: TrafficClass,
    frame: Frame,
    ingress: Option<PortIx>,
    now: Time,
    events: &mut EventQueue,
) {
    enter_behind(here, PortFeatures::NONE, AtEgress::new(frame, egress, class, ingress), now, events);
}

/// Continues with a frame after a stage, once the message that the stage sent because of the frame has left.
#[cold]
pub fn goes_on_behind(
    here: &mut NodeView,
    stage: PortFeatures,
    at: AtEgress,
    now: Time,
    events: &mut EventQueue,
) {
    if here.links.ports[at.egress].features.has(PortFeatures::AHEAD) {
        queues::enqueue_admitted_ahead(here, at, now, events);
    } else {
        enter_behind(here, stage, at, now, events);
    }
}

/// Passes a frame through the stages after one of them; the frame is then sent, queued or lost.
#[inline(always)]
fn enter_behind(
    here: &mut NodeView,
    stage: PortFeatures,
    mut at: AtEgress,
    now: Time,
    events: &mut EventQueue,
) {
    let waits = match stages::enter_stages(here, &mut at, stage, now, events) {
        (Verdict::Pass, _) => false,
        (Verdict::Wait, _) => true,
        (Verdict::Drop(cause), _) => return refused(here, at, cause, now, events),
        (Verdict::Notify, stage) => return managed::defer_behind(here, stage, &at),
    };
    let AtEgress { egress, class, ingress, .. } = at;
    let is_free = here.links.ports[egress].busy_until <= now;
    if is_free && !waits && goes_at_once(here, egress, class, &at.frame, now) {
        stages::leave_stages(here, &mut at, false, now);
        transmission::transmit(here, egress, at.frame, now, events);
        return stages::has_left_stages(here, &at, None, now, events);
    }
    if let Err(cause) = stages::take_room(here, &at, now, events) {
        return refused(here, at, cause, now, events);
    }
    begin_to_wait(here, egress, class, &at.frame, ingress, now, events);
    decision::decide_when_free(here, egress, class, now, events);
    if here.links.ports[egress].stopped >> class.0 & 1 != 0 {
        here.deferred.push(Deferred::Stuck(egress, 1 << class.0));
    }
}

/// Handles a frame that a stage has refused. If its port trims it, the frame passes the stages again in its new class;
/// otherwise it is lost.
#[cold]
#[inline(never)]
fn refused(here: &mut NodeView, mut at: AtEgress, cause: Cause, now: Time, events: &mut EventQueue) {
    if !stages::rescues(here, &at, cause) {
        return stages::dropped_by_stage(here, &at, cause, now, events);
    }
    if stages::trim(here, &mut at) {
        enter_again(here, at, now, events);
    } else {
        stages::dropped_by_stage(here, &at, stages::NO_ROOM_TRIMMED, now, events);
    }
}

/// Passes a trimmed frame through the stages after trimming.
#[inline(never)]
fn enter_again(here: &mut NodeView, at: AtEgress, now: Time, events: &mut EventQueue) {
    enter_behind(here, PortFeatures::TRIMMING, at, now, events);
}

/// Records the level of a queue after one of its frames was replaced.
#[cold]
pub fn note_level(here: &mut NodeView, queue: QueueIx, now: Time) {
    here.probes.queue_holds(queue, now, || here.buffers.queues[queue].occupancy);
}

/// Notifies the scheduler of a frame that is about to be enqueued.
#[inline(always)]
fn notify_scheduler(here: &mut NodeView, egress: PortIx, class: TrafficClass, bytes: u16, now: Time) {
    if here.links.ports[egress].features.has(PortFeatures::SCHEDULER) {
        decision::on_arrival(here, egress, class, bytes, now);
    }
}

/// Adds a frame to its queue, and notifies the scheduler and the credits of the port.
#[inline(always)]
pub fn begin_to_wait(
    here: &mut NodeView,
    egress: PortIx,
    class: TrafficClass,
    frame: &Frame,
    ingress: Option<PortIx>,
    now: Time,
    events: &mut EventQueue,
) {
    notify_scheduler(here, egress, class, frame.bytes, now);
    wait(here, egress, class, frame, ingress, now);
    let Port { features, stopped, .. } = here.links.ports[egress];
    if features.has(PortFeatures::CREDITS) && stopped >> class.0 & 1 != 0 {
        credits::may_be_passed(here, egress, class, now, events);
    }
}

/// Adds a frame to its queue. Returns the time until which the transmitter is busy.
#[inline(always)]
fn wait(
    here: &mut NodeView,
    egress: PortIx,
    class: TrafficClass,
    frame: &Frame,
    ingress: Option<PortIx>,
    now: Time,
) -> Time {
    let port = &mut here.links.ports[egress];
    port.waiting |= 1 << class.0;
    let (queue_id, busy_until) = (port.queue(class), port.busy_until);
    let first_port = || here.nodes[here.node_of[egress]].first_port;
    here.buffers.enter(queue_id, frame, now, ingress, first_port);
    here.probes.queue_holds(queue_id, now, || here.buffers.queues[queue_id].occupancy);
    busy_until
}

/// Returns true if a frame at a port with an idle transmitter need not wait: no pause frame goes first, its class is
/// not stopped, and all classes with queued frames are. The frame then takes no memory, and limits of queues do not
/// apply to it.
#[inline(always)]
fn goes_at_once(here: &mut NodeView, egress: PortIx, class: TrafficClass, frame: &Frame, now: Time) -> bool {
    let port = &here.links.ports[egress];
    if port.features.has(PortFeatures::PAUSE_WAITING) {
        return false;
    }
    if port.stopped != 0 {
        stops::look_at_stops(here, egress, now);
    }
    let port = &here.links.ports[egress];
    let first = port.waiting & !port.stopped == 0 && port.stopped >> class.0 & 1 == 0;
    first
        && (!port.features.has(PortFeatures::SCHEDULER)
            || decision::may_pass(here, egress, class, frame.bytes, now))
}

/// Returns the limit that refuses a frame, if any.
#[inline(never)]
pub fn refusal(here: &mut NodeView, egress: PortIx, class: TrafficClass, frame: &Frame) -> Option<Cause> {
    let node = &here.nodes[here.node_of[egress]];
    if node.memory().limited { admit(here, egress, class, frame.bytes).err() } else { None }
}

/// Checks the limits for a frame.
#[inline(always)]
fn admit(here: &NodeView, egress: PortIx, class: TrafficClass, bytes: u16) -> Result<(), Cause> {
    let node = &here.nodes[here.node_of[egress]];
    let waits = |limit| here.waits_within(limit, egress, class);
    node.memory().buffer.admit(bytes, waits).map_err(|refusal| match refusal {
        Refusal::Queue if node.is_host => Cause::NicFull,
        Refusal::Queue => Cause::Queue,
        Refusal::Port => Cause::Port,
        Refusal::Class => Cause::Class,
        Refusal::Total => Cause::Total,
    })
}

/// Removes the next frame of a class from its queue. Also returns the occupancy of the queue including that frame.
pub fn take(here: &mut NodeView, egress: PortIx, class: TrafficClass, now: Time) -> (Waiting, Occupancy) {
    take_out(here, false, egress, class, now)
}

/// Variant of `take`. With `send`, the frame goes to the link, so its waiting time counts.
#[inline(always)]
pub fn take_out(
    here: &mut NodeView,
    send: bool,
    egress: PortIx,
    class: TrafficClass,
    now: Time,
) -> (Waiting, Occupancy) {
    let port = &mut here.links.ports[egress];
    let queue_id = port.queue(class);
    let before = here.buffers.queues[queue_id].occupancy;
    let waiting = here.buffers.leave(queue_id, now, send);
    here.probes.queue_holds(queue_id, now, || here.buffers.queues[queue_id].occupancy);
    if before.frames == 1 {
        port.waiting &= !(1 << class.0);
    }
    if port.features.has(PortFeatures::BOUNDED) {
        count_leaving(here, egress, class, &waiting, now);
    }
    (waiting, before)
}

/// Updates limits or a shared memory for a frame that has left its queue.
#[inline(never)]
pub fn count_leaving(here: &mut NodeView, egress: PortIx, class: TrafficClass, waiting: &Waiting, now: Time) {
    let node_id = here.node_of[egress];
    let bytes = waiting.frame.bytes;
    if here.nodes[node_id].memory().sharing.is_some() {
        sharing::share_out(here, node_id, egress, class, &waiting.frame, waiting.across, now);
    }
    let memory = here.nodes[node_id].memory_mut();
    if memory.limited {
        memory.remove(class.at(), bytes);
        if memory.buffer.port.is_some() {
            here.links.cold[egress].occupancy.remove(bytes);
        }
    }
}
