//! A greedy source that is alone at its NIC.
//!
//! Its frames leave back to back, and each that leaves makes room for the next: only a pause can change that, and what the
//! source itself is going to do. A pause acts some time after it was sent. So a decision of such a port is good for all
//! frames whose transmission begins before a pause can act that is not known yet: several of them go at one decision, each
//! as of its own time, and nothing has to be taken back.
//!
//! Which NICs these are is known when the fabric is built (`build/ahead/lone_source.rs`). The other end of the link tells of each
//! pause that it sends. Nobody else looks at the NIC before the last of these frames has left.

use crate::run::state::ahead::MOST;
use crate::run::state::ahead::lone_source::LoneSource;
use crate::run::state::event::Queued;
use crate::run::state::index::{PortIx, SourceIx};
use crate::run::state::world::Fabric;
use frame::Frame;
use units::Time;

impl Fabric {
    /// The port of a lone source chooses what to send next, and what after that. It is free, and not paused.
    #[inline(never)]
    pub fn decide_lone_ahead(&mut self, egress: PortIx, lone: LoneSource, now: Time, windows: &mut Queued) {
        let source = &self.hosts.sources[lone.source].source;
        let changes = source.next_wake().unwrap_or(Time::NEVER);
        if changes <= now {
            return self.send_next(egress, now, windows);
        }
        let until = lone.undisturbed_until(windows.start()).min(self.comes_back_at).min(changes);
        let port = &self.links.ports[egress];
        let queue = port.waiting_queue();
        let mut frame = self.buffers.leave(queue, now, true).frame;
        assert!(
            self.buffers.queues[queue].occupancy.frames == 0,
            "of a lone source more than a frame waits: this is a fault of the simulator"
        );
        let (mut at, mut sent) = (now, 0);
        let next = loop {
            self.put_on_link(egress, frame, at, windows);
            self.links.passed.count(egress, &frame);
            sent += 1;
            let Some(next) = self.next_of_lone(lone.source, at) else { break None };
            at = self.links.ports[egress].busy_until;
            if at >= until || sent == u32::from(MOST) {
                break Some(next);
            }
            self.buffers.queues[queue].pass(next.bytes, at - next.created);
            frame = next;
        };
        windows.count(sent - 1);
        if let Some(next) = next {
            self.buffers.enter(queue, &next, next.created, None, || PortIx::new(0));
            self.arm(egress, at, windows);
        } else {
            self.links.ports[egress].waiting = 0;
        }
    }

    /// A frame of a lone source has left, and the next one comes to its NIC.
    #[inline(always)]
    fn next_of_lone(&mut self, source: SourceIx, now: Time) -> Option<Frame> {
        let state = &mut self.hosts.sources[source];
        let Some(made) = state.source.take_on() else {
            state.in_nic = state.in_nic.saturating_sub(1);
            return None;
        };
        state.count(made);
        self.ledger.made += 1;
        Some(state.frame(made, &self.routes, now).1)
    }
}
