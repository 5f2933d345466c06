//! Tags and notices at work: what rate limiters put on frames, receivers take off, and congestion points write and send.
//!
//! A tag lies beside what the frame carries, and makes it longer until its receiver takes it off. A rate-discovery tag
//! then goes back to the limiter as a control frame, along the links of the path, if the host returns tags; other tags have
//! done their work on the way.

use crate::run::event::Queued;
use crate::run::headers::Carried;
use crate::run::world::Fabric;
use frame::{CONTROL_FRAME_BYTES, Ecn, Flags, Frame, FrameKind, Heading, Tag};
use queueing::Told;
use units::Time;

impl Fabric {
    /// A tagged frame has come to its end: the frame without its tag. A rate-discovery tag goes back.
    pub fn take_tag(&mut self, frame: &Frame, now: Time, windows: &mut Queued) -> Frame {
        let (bare, tag) = self.headers.untag(frame);
        if let Some(tag @ Tag::Rate(_)) = tag {
            self.return_tag(frame, tag, now, windows);
        }
        bare
    }

    fn return_tag(&mut self, frame: &Frame, tag: Tag, now: Time, windows: &mut Queued) {
        let Some(node) = self.end_of(frame) else { return };
        let Some(priority) = self.nodes[node as usize].returns_tags else { return };
        let mut back = Frame {
            path: frame.path,
            bytes: CONTROL_FRAME_BYTES,
            priority,
            flags: Flags::new(FrameKind::Tag, Ecn::NotCapable),
            ..Frame::default()
        };
        self.headers.attach(&mut back, Carried::Returned(tag));
        if !self.answer(node, frame, back, now, windows) {
            self.headers.release(&back);
        }
    }

    /// The host at which a frame has come to its end.
    fn end_of(&self, frame: &Frame) -> Option<u32> {
        match frame.route.heading() {
            Heading::Forward(next) => {
                let (port, _) = self.routes.step_back(next.checked_sub(1)?)?;
                Some(self.node_of[port as usize])
            }
            Heading::Destination(to) => Some(to.0 - self.numbering.first_node),
            Heading::Backward(_) => None,
        }
    }

    /// What a congestion message or a returned tag tells; the frame is no more.
    pub fn told_by(&mut self, frame: &Frame) -> Option<Told> {
        match self.headers.release(frame)? {
            Carried::Notice(notice) => Some(Told::Message(notice)),
            Carried::Returned(tag) => Some(Told::Returned(tag)),
            Carried::Header(_) | Carried::Tagged { .. } => None,
        }
    }
}
