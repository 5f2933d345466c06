//! Queue managers at work: where the state machines of `queueing` meet the queues of a port.
//!
//! A manager hears of every frame that comes to its queue and of every one that leaves it, also of those that find
//! their port free. It is asked before limits are, so that it sees what they refuse.

use crate::run::event::Queued;
use crate::run::losses::Cause;
use crate::run::world::Fabric;
use engine::Stream;
use frame::{CONTROL_FRAME_BYTES, Ecn, Flags, Frame, FrameKind, Priority, TrafficClass};
use queueing::{Configuration, Fill, FrameFacts, LinkFacts, Manager, ManagerSpec, QueueManager, Verdict};
use rand_xoshiro::rand_core::Rng;
use units::Time;

/// The manager of one queue.
#[derive(Debug)]
pub(crate) struct Managed {
    manager: Manager,
    random: Stream,
    /// Priority of its messages; `None`: that of the frame.
    message_priority: Option<Priority>,
    pub counts: ManagedCounts,
}

/// What a manager has done since measuring began.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ManagedCounts {
    pub marks: u64,
    pub messages: u64,
}

impl Managed {
    pub fn new(spec: &ManagerSpec, link: &LinkFacts, random: Stream) -> Managed {
        let (manager, message_priority) = (spec.start(link), spec.message_priority().map(Priority));
        Managed { manager, random, message_priority, counts: ManagedCounts::default() }
    }
}

/// At which end of its queue a frame is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Enters,
    Leaves,
}

impl Fabric {
    /// A frame comes to the queue of a class: marks it and tells its source if the manager says so. False: it is lost.
    #[inline]
    pub fn admitted_by_manager(
        &mut self,
        egress: u32,
        class: TrafficClass,
        frame: &mut Frame,
        ingress: u32,
        now: Time,
        windows: &mut Queued,
    ) -> bool {
        match self.manager_verdict(egress, class, frame, End::Enters, now) {
            Verdict::Drop => {
                self.lose(egress, class, frame, ingress, Cause::QueueManager, now);
                return false;
            }
            Verdict::Notify(feedback) => self.notify_source(egress, class, frame, feedback, now, windows),
            Verdict::Pass | Verdict::Mark => {}
        }
        true
    }

    /// A frame leaves the queue of a class for the link, perhaps with a mark.
    #[inline]
    pub fn manager_on_dequeue(
        &mut self,
        egress: u32,
        class: TrafficClass,
        mut frame: Frame,
        now: Time,
        windows: &mut Queued,
    ) -> Frame {
        if let Verdict::Notify(feedback) = self.manager_verdict(egress, class, &mut frame, End::Leaves, now) {
            self.notify_source(egress, class, &frame, feedback, now, windows);
        }
        frame
    }

    /// What the manager of a queue says of a frame; a mark is made at once.
    #[inline(never)]
    fn manager_verdict(
        &mut self,
        egress: u32,
        class: TrafficClass,
        frame: &mut Frame,
        end: End,
        now: Time,
    ) -> Verdict {
        let queue = self.links.ports[egress as usize].first_queue as usize + class.at();
        let fill = Fill { queue: self.buffers.queues[queue].occupancy };
        let managers = &mut self.links.cold[egress as usize].managers;
        let Some(Managed { manager, random, counts, .. }) =
            managers.get_mut(class.at()).and_then(Option::as_deref_mut)
        else {
            return Verdict::Pass;
        };
        let facts = FrameFacts { bytes: frame.bytes, ecn_capable: frame.flags.ecn() != Ecn::NotCapable };
        let mut draw = || random.next_u64();
        let verdict = match end {
            End::Enters => manager.on_enqueue(now, &fill, facts, &mut draw),
            End::Leaves => manager.on_dequeue(now, &fill, facts, &mut draw),
        };
        match verdict {
            Verdict::Mark => counts.marks += u64::from(frame.flags.mark()),
            Verdict::Notify(_) => counts.messages += 1,
            Verdict::Pass | Verdict::Drop => {}
        }
        verdict
    }

    /// Sends a congestion message with this feedback to the source of a frame. Messages of messages are not sent.
    fn notify_source(
        &mut self,
        egress: u32,
        class: TrafficClass,
        frame: &Frame,
        feedback: u32,
        now: Time,
        windows: &mut Queued,
    ) {
        let managers = &self.links.cold[egress as usize].managers;
        let managed = managers.get(class.at()).and_then(Option::as_deref);
        let priority = managed.and_then(|managed| managed.message_priority);
        let message = Frame {
            path: frame.path,
            word: feedback,
            bytes: CONTROL_FRAME_BYTES,
            priority: priority.unwrap_or(frame.priority),
            flags: Flags::new(FrameKind::Cnm, Ecn::NotCapable),
            ..Frame::default()
        };
        let node = self.node_of[egress as usize];
        let sent = frame.flags.kind() != FrameKind::Cnm && self.answer(node, frame, message, now, windows);
        if !sent && let Some(Some(managed)) = self.links.cold[egress as usize].managers.get_mut(class.at()) {
            managed.counts.messages -= 1;
        }
    }
}
