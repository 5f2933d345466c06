//! Which queue a pause is put down to.

use crate::run::pause_sender::PauseSender;
use crate::run::pool::NIL;
use crate::run::world::Fabric;
use frame::{Occupancy, TrafficClass};

impl Fabric {
    /// The egress queue that fills an ingress counter (port and group), which stands at `counted`: that of the
    /// frame that has just come (`queue`; [`NIL`] if none has), unless it holds less than half of it. Then the one
    /// that holds most.
    pub fn to_blame(
        &self,
        pause_sender: &PauseSender,
        queue: u32,
        counter: (u32, usize),
        counted: Occupancy,
    ) -> u32 {
        let fills = queue != NIL && self.buffers.queues[queue as usize].occupancy.bytes * 2 >= counted.bytes;
        if fills || self.nodes[self.node_of[counter.0 as usize] as usize].is_host {
            return queue;
        }
        self.fullest(pause_sender, counter).unwrap_or(queue)
    }

    /// The egress queue of a switch with most bytes of an ingress counter. Looks at every waiting frame of the
    /// switch: for the rare pause that the queue of the last frame does not explain.
    #[cold]
    fn fullest(&self, pause_sender: &PauseSender, (ingress, group): (u32, usize)) -> Option<u32> {
        let node = &self.nodes[self.node_of[ingress as usize] as usize];
        let ports = pause_sender.first_port..pause_sender.first_port + pause_sender.levels.len() as u32;
        let classes = (0..node.classes.classes() as u8).map(TrafficClass);
        let queues = ports.flat_map(|port| {
            let first = self.links.ports[port as usize].first_queue;
            classes.clone().map(move |class| first + u32::from(class.0))
        });
        let held = |queue: u32| -> u64 {
            let waiting = self.buffers.frames(queue);
            waiting
                .filter(|one| {
                    one.ingress == ingress && pause_sender.group(one.frame.priority.0) == Some(group)
                })
                .map(|one| u64::from(one.frame.bytes))
                .sum()
        };
        let all = queues.filter(|&queue| self.buffers.queues[queue as usize].occupancy.frames > 0);
        all.map(|queue| (held(queue), queue))
            .filter(|&(bytes, _)| bytes > 0)
            .max_by_key(|&(bytes, queue)| (bytes, NIL - queue))
            .map(|(_, queue)| queue)
    }
}
