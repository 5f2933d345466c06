//! Queues and the memory they take: what waits at egress ports.

use crate::run::pool::{List, Pool, Waiting};
use frame::{Frame, Occupancy};
use measure::{Latency, Sojourns};
use units::Time;

/// The queues of all ports, and what waits in them and in receivers.
#[derive(Debug)]
pub(crate) struct Buffers {
    /// Port by port, class by class.
    pub queues: Vec<Queue>,
    /// The lists of all queues, one queue after the other.
    pub voqs: Vec<List>,
    pub pool: Pool,
}

/// One traffic class of one port.
#[derive(Clone, Debug)]
pub(crate) struct Queue {
    pub occupancy: Occupancy,
    /// Its lists: one, or one an ingress port (virtual output queues).
    pub first_voq: u32,
    pub voqs: u32,
    /// The list that holds the head, if any frame waits.
    pub turn: u32,
    /// Frames at its head that have been sent ahead of their time.
    pub committed: u32,
    /// Bytes and frames over time.
    pub sojourns: Sojourns,
    /// Waiting times above zero.
    pub waits: Latency,
    pub drops: u64,
}

impl Queue {
    pub fn new(first_voq: u32, voqs: u32) -> Queue {
        Queue {
            occupancy: Occupancy::default(),
            first_voq,
            voqs,
            turn: 0,
            committed: 0,
            sojourns: Sojourns::default(),
            waits: Latency::default(),
            drops: 0,
        }
    }

    /// A frame begins to wait.
    #[inline(always)]
    pub fn add(&mut self, bytes: u16) {
        self.occupancy.add(bytes);
        self.sojourns.enter(self.occupancy.both());
    }
    /// A frame has waited so long and is gone; `sent`: to the link, so that its waiting time counts.
    #[inline(always)]
    pub fn leave(&mut self, bytes: u16, waited: Time, sent: bool) {
        self.occupancy.remove(bytes);
        self.sojourns.leave(bytes, waited);
        if sent {
            self.waits.record(waited);
        }
    }

    /// The list for a frame that came in through the node's `ingress`-th port.
    #[inline]
    pub fn voq(&self, ingress: Option<u32>) -> usize {
        let own = if self.voqs == 1 { 0 } else { ingress.unwrap_or(self.voqs - 1) };
        (self.first_voq + own) as usize
    }

    /// Its lists of frames.
    pub fn lists(&self) -> std::ops::Range<usize> {
        self.first_voq as usize..(self.first_voq + self.voqs) as usize
    }

    /// The list that holds the head of a queue that is not empty.
    #[inline]
    pub fn head_voq(&self) -> usize {
        (self.first_voq + self.turn) as usize
    }

    /// A frame enters list `voq`: if it is the only one, it is the head.
    #[inline]
    pub fn enter(&mut self, voq: usize) {
        if self.voqs > 1 && self.occupancy.frames == 1 {
            self.turn = voq as u32 - self.first_voq;
        }
    }

    /// The head has left: the next list in turn that has frames holds the new one.
    #[inline]
    pub fn next_turn(&mut self, lists: &[List]) {
        if self.voqs > 1 && self.occupancy.frames > 0 {
            loop {
                self.turn = (self.turn + 1) % self.voqs;
                if !lists[self.head_voq()].is_empty() {
                    break;
                }
            }
        }
    }
}

impl Buffers {
    pub fn new() -> Buffers {
        Buffers { queues: Vec::new(), voqs: Vec::new(), pool: Pool::new() }
    }

    /// Adds a queue with this many lists.
    pub fn add_queue(&mut self, voqs: u32) {
        self.queues.push(Queue::new(self.voqs.len() as u32, voqs));
        self.voqs.extend(std::iter::repeat_n(List::EMPTY, voqs as usize));
    }

    /// The lists of a queue.
    pub fn lists(&self, queue: u32) -> &[List] {
        &self.voqs[self.queues[queue as usize].lists()]
    }

    /// The frames that wait in a queue, list by list.
    pub fn frames(&self, queue: u32) -> impl Iterator<Item = &Waiting> {
        self.lists(queue).iter().flat_map(|list| self.pool.iter(list))
    }

    /// The frames that wait in all queues and are not on their way yet.
    pub fn all_frames(&self) -> impl Iterator<Item = &Frame> {
        let waiting = |(number, queue): (u32, &Queue)| self.frames(number).skip(queue.committed as usize);
        (0..).zip(&self.queues).flat_map(waiting).map(|waiting| &waiting.frame)
    }

    /// The last frame of each list of a queue.
    pub fn last_frames(&self, queue: u32) -> impl Iterator<Item = &Waiting> {
        self.lists(queue).iter().filter_map(|list| self.pool.last(list))
    }

    /// Length of the frame that leaves a queue next.
    pub fn head_bytes(&self, queue: usize) -> Option<u32> {
        self.head(queue).map(|frame| u32::from(frame.bytes))
    }

    /// The frame that leaves a queue next.
    #[inline]
    pub fn head(&self, queue: usize) -> Option<&Frame> {
        let queue = &self.queues[queue];
        (queue.occupancy.frames > 0).then(|| self.pool.head(&self.voqs[queue.head_voq()]))
    }

    /// Frames that wait in all queues.
    pub fn frames_waiting(&self) -> u64 {
        self.queues.iter().map(|queue| queue.occupancy.frames).sum()
    }

    /// Begins measuring `now`: levels as they are, counts at zero.
    pub fn restart(&mut self, now: Time) {
        let Buffers { queues, voqs, pool } = self;
        for queue in queues {
            let frames = voqs[queue.lists()].iter().flat_map(|list| pool.iter(list));
            let waiting = frames.map(|waiting| (waiting.since, waiting.frame.bytes));
            queue.sojourns.restart(now, queue.occupancy.both(), waiting);
            queue.waits.clear();
            queue.drops = 0;
        }
    }

    /// What must hold whenever nothing is running: the pool holds what the queues count, and `in_receivers` frames
    /// besides.
    pub fn check(&self, in_receivers: u64) {
        assert!(
            self.pool.used() == self.frames_waiting() + in_receivers,
            "queues count other frames than there are: this is a fault of the simulator"
        );
        #[cfg(debug_assertions)]
        for (number, queue) in (0..).zip(&self.queues) {
            let mut held = Occupancy::default();
            self.frames(number).for_each(|waiting| held.add(waiting.frame.bytes));
            assert!(held.both() == queue.occupancy.both(), "a queue counts other frames than it holds");
        }
    }

    /// Gives back what the tables took while they grew.
    pub fn shrink(&mut self) {
        self.queues.shrink_to_fit();
        self.voqs.shrink_to_fit();
    }

    /// Bytes of the tables, histograms and waiting frames.
    pub fn memory_bytes(&self) -> usize {
        self.queues.capacity() * size_of::<Queue>()
            + self.queues.iter().map(|queue| queue.waits.memory_bytes()).sum::<usize>()
            + self.voqs.capacity() * size_of::<List>()
            + self.pool.memory_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_idle_queue_is_small() {
        assert!(size_of::<Queue>() <= 256, "{}", size_of::<Queue>());
    }
}
