//! Queues that had frames, with their mean occupancies.

use super::View;
use frame::TrafficClass;

impl View<'_> {
    /// The queues that had any frame, sorted by port and class.
    pub(super) fn used_queues(&self) -> &[UsedQueue] {
        self.used_queues.get_or_init(|| self.look_for_used_queues())
    }

    fn look_for_used_queues(&self) -> Vec<UsedQueue> {
        let mut used = Vec::new();
        for port in 0..self.s.ports() as u32 {
            let classes = &self.s.port(port).classes;
            for (class, queue) in (0..).zip(self.s.port_queues(port)) {
                let (_, frames) = self.s.sent(port, classes.numbers_of(TrafficClass(class)));
                if frames > 0 || queue.occupancy.frames > 0 || queue.drops > 0 {
                    let waiting = self.s.frames_in(port, class).map(|it| (it.since, it.frame.bytes));
                    let mean = queue.sojourns.mean(self.measured, self.end, waiting);
                    used.push(UsedQueue { port, class, frames, mean });
                }
            }
        }
        used
    }
}

/// A queue that had a frame.
pub(super) struct UsedQueue {
    pub port: u32,
    pub class: u8,
    /// Number of frames that left it.
    pub frames: u64,
    /// Mean bytes and frames in it, computed once, because it reads each queued frame.
    pub mean: [f64; 2],
}
