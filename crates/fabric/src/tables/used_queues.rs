//! Which queues had frames, and how much waited in each in the mean.

use crate::simulation::Simulation;
use frame::TrafficClass;
use units::Time;

/// The queues that ever had a frame, in the order of ports and classes.
pub(super) fn used_queues(simulation: &Simulation, start: Time, end: Time) -> Vec<UsedQueue> {
    let mut used = Vec::new();
    for port in 0..simulation.ports() as u32 {
        let classes = &simulation.node_at(port).classes;
        for (class, queue) in (0..).zip(simulation.port_queues(port)) {
            let (_, frames) = simulation.sent(port, classes.numbers_of(TrafficClass(class)));
            if frames > 0 || queue.occupancy.frames > 0 || queue.drops > 0 {
                let waiting = simulation.frames_in(port, class);
                let mean = queue.sojourns.mean(start, end, waiting.map(|it| (it.since, it.frame.bytes)));
                used.push(UsedQueue { port, class, frames, mean });
            }
        }
    }
    used
}

/// A queue that had a frame.
pub(super) struct UsedQueue {
    pub port: u32,
    pub class: u8,
    /// Frames that left it.
    pub frames: u64,
    /// Bytes and frames in it, over time. Worked out once: it asks each frame that waits.
    pub mean: [f64; 2],
}
