//! Ties: decisions between frames of different sources that come to a queue in the same picosecond.
//!
//! In real fabrics no two frames come at the same time. Here they do, when sources have clocks that are equal to
//! the picosecond and send in step: then the order in which ports are handled decides which of them is lost, and
//! it decides the same way each time. That is no property of the mechanisms. So such decisions are counted, and a
//! result says how many of its losses are of this kind.
//!
//! Counted are a frame that a limit refuses while one of another source has entered the same memory in this
//! picosecond, and a pause with targets under the same condition. Not counted are frames that are refused
//! together, as none of them would have been taken in another order.

use crate::losses::Cause;
use crate::simulation::Simulation;
use crate::world::Fabric;
use frame::{Frame, TrafficClass};
use units::Time;

/// One decision in so many that falls in a tie is no chance.
const WORTH_TELLING: u64 = 100;

impl Fabric {
    /// A limit has refused a frame: was it a tie?
    #[cold]
    pub fn note_tied_loss(
        &mut self,
        egress: u32,
        class: TrafficClass,
        frame: &Frame,
        cause: Cause,
        now: Time,
    ) {
        let node = &self.nodes[self.node_of[egress as usize] as usize];
        if node.memory().last_entry != now {
            return;
        }
        let class_of_port = |port: u32| self.links.ports[port as usize].first_queue + u32::from(class.0);
        let all_of_port = |port: u32| {
            let first = self.links.ports[port as usize].first_queue;
            first..first + node.classes.classes() as u32
        };
        let ports = || self.ports_beside(egress);
        let own = |queue: u32| self.other_came(queue, frame, now);
        let tied = match cause {
            Cause::Queue | Cause::NicFull => own(class_of_port(egress)),
            Cause::Port => all_of_port(egress).any(own),
            Cause::Class => ports().map(class_of_port).any(own),
            Cause::Total => ports().flat_map(all_of_port).any(own),
            _ => false,
        };
        self.links.cold[egress as usize].counts.ties += u64::from(tied);
    }

    /// A queue that a frame comes to pauses targets: was it a tie?
    pub fn note_tied_pause(&mut self, egress: u32, class: TrafficClass, ingress: u32, now: Time) {
        let queue = self.links.ports[egress as usize].first_queue + u32::from(class.0);
        let tied = self.buffers.last_frames(queue).any(|last| last.since == now && last.ingress != ingress);
        self.links.cold[egress as usize].counts.ties += u64::from(tied);
    }

    /// Whether a frame of another source began to wait in a queue now.
    fn other_came(&self, queue: u32, frame: &Frame, now: Time) -> bool {
        let source = |frame: &Frame| self.routes.path_source[frame.path.at()];
        self.buffers.last_frames(queue).any(|last| last.since == now && source(&last.frame) != source(frame))
    }
}

impl Simulation {
    /// That the outcome hangs on ties, in a sentence; `None` if it does not.
    pub fn ties(&self) -> Option<String> {
        let counts = || self.cold_ports().map(|(port, cold)| (port, cold.counts));
        let ties: u64 = counts().map(|(_, counts)| counts.ties).sum();
        let lost: u64 = counts().map(|(_, counts)| counts.drops).sum();
        let (most, _) = counts().max_by_key(|&(port, counts)| (counts.ties, std::cmp::Reverse(port)))?;
        (ties > 0 && ties >= lost / WORTH_TELLING).then(|| {
            format!(
                "the outcome hangs on ties: {ties} times ({lost} frames were lost, most ties at {}) it was decided \
                 between frames that came in the same picosecond, always by the same order. Real clocks are not equal: \
                 set clock_tolerance = \"100 ppm\" for hosts, or the jitter of flows",
                self.port_name(most)
            )
        })
    }
}
