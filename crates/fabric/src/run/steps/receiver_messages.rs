//! Messages of a host about its receive buffer (method 2 of path rate control).

use crate::run::state::event::EventQueue;
use crate::run::state::headers::Carried;
use crate::run::state::index::PortIx;
use crate::run::state::view::NodeView;
use crate::run::steps::forward;
use crate::run::steps::managed;
use crate::run::steps::tags;
use frame::{Ecn, Flags, Frame, FrameKind, Notice, Sampled};
use queueing::{Color, Fill, FrameFacts, QueueManager, Verdict};
use rand_xoshiro::rand_core::Rng;
use units::Time;

/// Sends a message to the source of a frame that arrives at a receive buffer, if the congestion point decides to.
/// Messages and returned tags cause none.
#[inline(never)]
pub fn notify_source(
    here: &mut NodeView,
    ingress: PortIx,
    group: usize,
    frame: &Frame,
    now: Time,
    events: &mut EventQueue,
) {
    let Some(receiving) = here.hosts.receiving[ingress].as_deref_mut() else { return };
    let fill = Fill { queue: receiving.occupancy[group], scope: 0 };
    let Some(own) = receiving.point.as_deref_mut() else { return };
    let answers = !matches!(frame.flags.kind(), FrameKind::Cnm | FrameKind::Tag);
    if !answers || own.priorities >> frame.priority().0 & 1 == 0 {
        return;
    }
    let ecn_capable = frame.flags.ecn() != Ecn::NotCapable;
    let facts = FrameFacts { color: Color::Green, bytes: frame.bytes, ecn_capable, tag: None };
    let verdict = own.manager.on_enqueue(now, &fill, facts, &mut || own.random.next_u64());
    let Verdict::Notify(report) = verdict else { return };
    let (point, priority) = (own.point, own.message_priority);
    let sampled = Sampled::default();
    let mut message = Frame {
        path: frame.path,
        bytes: managed::message_bytes(&sampled),
        flags: Flags::new(FrameKind::Cnm, Ecn::NotCapable).at(priority),
        ..Frame::default()
    };
    let notice = Notice { point, feedback: report.feedback, offset: 0, delta: 0, sampled };
    here.headers.attach(&mut message, Carried::Notice(notice));
    let node = here.node_of[ingress];
    match tags::way_back(here, node, frame, message, now) {
        Some((egress, message)) => forward::originate(here, egress, message, now, events),
        None => {
            here.headers.release(&message);
        }
    }
}
