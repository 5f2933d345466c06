//! Queues of egress ports and their memory.

use crate::run::state::index::{PortIx, QueueIx};
use crate::run::state::own::NodeLocal;
use crate::run::state::pool::{List, Pool, Waiting};
use crate::run::state::port::Port;
use frame::{Frame, Occupancy};
use measure::{Latency, Sojourns};
use recurrence::Recurs;
use units::Time;

/// The queues of all ports, and the frames that wait in them and in receivers.
#[derive(Debug)]
pub(crate) struct Buffers {
    /// Queues, ordered by port, then by class.
    pub queues: NodeLocal<QueueIx, Queue>,
    /// The lists of all queues that have several, in the order of the queues.
    pub voqs: Vec<List>,
    pub pool: Pool,
}

/// The queue of a traffic class of a port. It takes three cache lines, which every queued frame touches.
#[derive(Clone, Debug, Recurs)]
#[repr(align(64))]
pub(crate) struct Queue {
    pub occupancy: Occupancy,
    /// The frames of a queue with one list.
    #[recurs(scratch)]
    pub list: List,
    /// Number of lists: one, or one per ingress port (virtual output queues); twice as many with bypass queues.
    #[recurs(constant)]
    pub voqs: u32,
    /// True if the lists are pairs of a bypass queue and an ordered one.
    bypass: bool,
    /// Frames in its bypass queues, and the number that have left these, modulo 2^32.
    bypassed: u32,
    #[recurs(recorded)]
    left_bypass: u32,
    /// Index of the first of several lists. `turn` is the one that holds the head, if any frame is queued.
    #[recurs(constant)]
    first_voq: u32,
    turn: u32,
    /// Number of frames at the head that have been sent ahead of their time.
    pub committed: u8,
    /// Bytes and frames over time.
    #[recurs(measured)]
    pub sojourns: Sojourns,
    /// Waiting times above zero.
    #[recurs(measured)]
    pub waits: Latency,
    #[recurs(measured)]
    pub drops: u64,
}

impl Queue {
    fn new(first_voq: u32, voqs: u32, bypass: bool) -> Queue {
        Queue {
            occupancy: Occupancy::default(),
            list: List::EMPTY,
            voqs,
            bypass,
            bypassed: 0,
            left_bypass: 0,
            first_voq,
            turn: 0,
            committed: 0,
            sojourns: Sojourns::default(),
            waits: Latency::default(),
            drops: 0,
        }
    }

    /// Counts a frame that is enqueued.
    #[inline(always)]
    pub fn add(&mut self, bytes: u16) {
        self.occupancy.add(bytes);
        self.sojourns.enter(self.occupancy.both());
    }
    /// Counts a frame that has waited this long and left; `sent`: to the link, so that its waiting time counts.
    #[inline(always)]
    pub fn leave(&mut self, bytes: u16, waited: Time, sent: bool) {
        self.occupancy.remove(bytes);
        self.sojourns.leave(bytes, waited);
        if sent {
            self.waits.record(waited);
        }
    }

    /// Counts a frame that passes an otherwise empty queue after this wait.
    #[inline(always)]
    pub fn pass(&mut self, bytes: u16, waited: Time) {
        self.sojourns.enter([bytes.into(), 1]);
        self.sojourns.leave(bytes, waited);
        self.waits.record(waited);
    }

    /// Returns which of several lists holds the head.
    fn head_voq(&self) -> usize {
        (self.first_voq + self.turn) as usize
    }

    /// Returns the list of several for a frame that arrived through the node's `ingress`-th port. If the frame, which
    /// has been added, is the only one, that list holds the head.
    fn voq(&mut self, ingress: Option<u32>) -> usize {
        let own = match (ingress, self.bypass) {
            (Some(ingress), false) => ingress,
            (Some(ingress), true) if self.voqs > 2 => 2 * ingress + 1,
            _ => self.voqs - 1,
        };
        if self.occupancy.frames == 1 {
            self.turn = own;
        }
        (self.first_voq + own) as usize
    }

    /// Advances after the head has left one of several lists: the next non-empty list in turn holds the new head. With
    /// bypass queues, this is the first list of a pair until the next call of [`Buffers::bypass`].
    fn next_turn(&mut self, lists: &[List]) {
        if self.bypass {
            let left = u32::from(self.turn.is_multiple_of(2));
            self.bypassed -= left;
            self.left_bypass = self.left_bypass.wrapping_add(left);
            // Skips the second list of the pair.
            self.turn |= 1;
        }
        if self.occupancy.frames == 0 {
            return;
        }
        loop {
            self.turn = (self.turn + 1) % self.voqs;
            if !lists[self.head_voq()].is_empty() {
                return;
            }
        }
    }
}

impl Buffers {
    /// Creates buffers without queues, with capacity for this many.
    pub fn new(queues: usize) -> Buffers {
        Buffers { queues: memory::with_room(queues).into(), voqs: Vec::new(), pool: Pool::new() }
    }

    /// Adds a queue with this many lists.
    pub fn add_queue(&mut self, voqs: u32) {
        self.add(voqs, false);
    }
    /// Adds a queue of `voqs` lists, each with a bypass queue.
    pub fn add_queue_with_bypass(&mut self, voqs: u32) {
        self.add(2 * voqs, true);
    }
    fn add(&mut self, voqs: u32, bypass: bool) {
        self.queues.add(Queue::new(self.voqs.len() as u32, voqs, bypass));
        if voqs > 1 {
            self.voqs.extend(std::iter::repeat_n(List::EMPTY, voqs as usize));
        }
    }

    /// Enqueues a frame. `ingress` is its ingress port; `first_port` is the first port of the node.
    #[inline(always)]
    pub fn enter(
        &mut self,
        queue: QueueIx,
        frame: &Frame,
        now: Time,
        ingress: Option<PortIx>,
        first_port: impl FnOnce() -> PortIx,
    ) {
        let Buffers { queues, voqs, pool } = self;
        let queue = &mut queues[queue];
        queue.add(frame.bytes);
        let list = if queue.voqs == 1 {
            &mut queue.list
        } else {
            &mut voqs[queue.voq(ingress.map(|ingress| ingress.since(first_port())))]
        };
        pool.push(list, frame, now, ingress);
    }

    /// Removes the head of a non-empty queue. `send`: the frame goes to the link, so its waiting time counts.
    #[inline(always)]
    pub fn leave(&mut self, queue: QueueIx, now: Time, send: bool) -> Waiting {
        let Buffers { queues, voqs, pool } = self;
        let queue = &mut queues[queue];
        let several = queue.voqs > 1;
        let list = if several { &mut voqs[queue.head_voq()] } else { &mut queue.list };
        let waiting = pool.pop(list);
        // Prefetches the next frame, which may be far away in memory: saves 7 % of the CPU time of web search over
        // queue pairs, whose queues are long.
        pool.fetch_first(list);
        queue.leave(waiting.frame.bytes, now - waiting.since, send);
        if several {
            queue.next_turn(voqs);
        }
        waiting
    }

    /// Replaces the last frame of a queue with one list, if that frame is at least as long as the new one and not yet
    /// in transmission. Returns the frame that was replaced.
    #[cold]
    pub fn replace_last(
        &mut self,
        queue: QueueIx,
        frame: &Frame,
        ingress: Option<PortIx>,
        now: Time,
    ) -> Option<Waiting> {
        let Buffers { queues, pool, .. } = self;
        let queue = &mut queues[queue];
        if queue.voqs != 1 || queue.occupancy.frames <= u64::from(queue.committed) {
            return None;
        }
        let last = pool.last_mut(&queue.list).filter(|last| last.frame.bytes >= frame.bytes)?;
        let old = *last;
        (last.frame, last.since, last.across) = (*frame, now, ingress);
        queue.leave(old.frame.bytes, now - old.since, false);
        queue.add(frame.bytes);
        Some(old)
    }

    /// Bytes queued at a port.
    pub fn bytes_at(&self, port: &Port) -> u64 {
        port.queues().map(|queue| self.queues[queue].occupancy.bytes).sum()
    }

    /// Returns the occupancy of all queues of a port together.
    pub fn occupancy_at(&self, port: &Port) -> Occupancy {
        let mut all = Occupancy::default();
        for queue in port.queues() {
            all.join(self.queues[queue].occupancy);
        }
        all
    }

    /// The lists of a queue.
    pub fn lists(&self, queue: QueueIx) -> &[List] {
        let queue = &self.queues[queue];
        lists(queue, &self.voqs)
    }

    /// The frames in a queue, list by list.
    pub fn frames(&self, queue: QueueIx) -> impl Iterator<Item = &Waiting> {
        self.lists(queue).iter().flat_map(|list| self.pool.iter(list))
    }

    /// The frames in all queues that are not yet in transmission.
    pub fn all_frames(&self) -> impl Iterator<Item = &Frame> {
        let waiting = |(number, queue): (QueueIx, &Queue)| self.frames(number).skip(queue.committed as usize);
        self.queues.pairs().flat_map(waiting).map(|waiting| &waiting.frame)
    }

    /// The last frame of each list of a queue.
    pub fn last_frames(&self, queue: QueueIx) -> impl Iterator<Item = &Waiting> {
        self.lists(queue).iter().filter_map(|list| self.pool.last(list))
    }

    /// Length of the frame that leaves a queue next.
    #[inline]
    pub fn head_bytes(&self, queue: QueueIx) -> Option<u32> {
        self.head(queue).map(|frame| u32::from(frame.bytes))
    }

    /// The frame that leaves a queue next.
    #[inline]
    pub fn head(&self, queue: QueueIx) -> Option<&Frame> {
        let queue = &self.queues[queue];
        let list = if queue.voqs > 1 { &self.voqs[queue.head_voq()] } else { &queue.list };
        (queue.occupancy.frames > 0).then(|| self.pool.head(list))
    }

    /// Selects the next frame to leave a non-empty queue, by the rules of the bypass (`flow_control::channels`). The
    /// callback returns for a frame whether it lacks credits and whether it may be bypassed. Returns two flags: the
    /// next frame lacks credits, and the next frame has changed.
    ///
    /// With virtual output queues, the list in turn is tried first. Another list is tried only if those before it hold
    /// nothing but bypassed frames without credits: ordered frames are not overtaken.
    pub fn bypass(&mut self, queue: QueueIx, ask: impl Fn(&Frame) -> (bool, bool)) -> (bool, bool) {
        let Buffers { queues, voqs, pool } = self;
        let queue = &mut queues[queue];
        if !queue.bypass {
            let list = if queue.voqs > 1 { &voqs[queue.head_voq()] } else { &queue.list };
            return (ask(pool.head(list)).0, false);
        }
        let before = voqs[queue.head_voq()].head();
        let (pairs, first) = (queue.voqs / 2, queue.turn / 2);
        let (mut short, mut next) = (true, None);
        for nth in 0..pairs {
            let pair = if first + nth < pairs { first + nth } else { first + nth - pairs };
            let at = (queue.first_voq + 2 * pair) as usize;
            let [bypassed, ordered] = &mut voqs[at..at + 2] else { break };
            let (lacks, turn) = next_of_pair((bypassed, &mut queue.bypassed), ordered, pool, &ask);
            let Some(turn) = turn.map(|turn| 2 * pair + turn) else { continue };
            if !lacks || turn % 2 == 1 {
                (short, next) = (lacks, Some(turn));
                break;
            }
            next = next.or(Some(turn));
        }
        queue.turn = next.unwrap_or(queue.turn);
        (short, voqs[queue.head_voq()].head() != before)
    }

    /// Returns the candidates to leave a queue next: its head or, with a bypass queue, the heads of both lists.
    pub fn heads(&self, queue: QueueIx) -> impl Iterator<Item = &Frame> {
        let one = &self.queues[queue];
        let lists = if one.bypass { lists(one, &self.voqs) } else { &[] };
        let both = lists.iter().filter(|list| !list.is_empty()).map(|list| self.pool.head(list));
        both.chain(self.head(queue).filter(|_| !one.bypass))
    }

    /// The bypass queues of a queue: one for each of its ordered lists.
    fn bypass_lists(&self, queue: QueueIx) -> impl Iterator<Item = &List> {
        let one = &self.queues[queue];
        let lists = if one.bypass { lists(one, &self.voqs) } else { &[] };
        lists.iter().step_by(2)
    }

    /// The frames in the bypass queues of a queue.
    pub fn bypassed(&self, queue: QueueIx) -> impl Iterator<Item = &Waiting> {
        self.bypass_lists(queue).flat_map(|list| self.pool.iter(list))
    }

    /// Returns the bypass queue of a queue that has one, the number of frames in it, and the number that have left it,
    /// modulo 2^32.
    pub fn one_bypass(&self, queue: QueueIx) -> Option<(&List, u32, u32)> {
        let one = &self.queues[queue];
        (one.bypass && one.voqs == 2).then(|| (&lists(one, &self.voqs)[0], one.bypassed, one.left_bypass))
    }

    /// Returns the first of the heads of the bypass queues if all of these heads lack credits.
    pub fn held_in_bypass(&self, queue: QueueIx, lacks: impl Fn(&Frame) -> bool) -> Option<&Frame> {
        let filled = self.bypass_lists(queue).filter(|list| !list.is_empty());
        let mut heads = filled.map(|list| self.pool.head(list));
        let first = heads.next().filter(|head| lacks(head))?;
        heads.all(lacks).then_some(first)
    }

    /// Number of frames in all queues.
    pub fn frames_waiting(&self) -> u64 {
        self.queues.each().iter().map(|queue| queue.occupancy.frames).sum()
    }

    /// Restarts measurement at `now`: levels are kept, counts are reset.
    pub fn restart(&mut self, now: Time) {
        let Buffers { queues, voqs, pool } = self;
        for queue in queues.each_mut() {
            let frames = lists(queue, voqs).iter().flat_map(|list| pool.iter(list));
            let waiting: Vec<_> = frames.map(|waiting| (waiting.since, waiting.frame.bytes)).collect();
            queue.sojourns.restart(now, queue.occupancy.both(), waiting.into_iter());
            queue.waits.clear();
            queue.drops = 0;
        }
    }

    /// Checks an invariant between events: the pool holds the frames that the queues count and `in_receivers` others.
    pub fn check(&self, in_receivers: u64) {
        assert!(
            self.pool.used() == self.frames_waiting() + in_receivers,
            "queues count other frames than there are: this is a bug in the simulator"
        );
        #[cfg(debug_assertions)]
        for (number, queue) in self.queues.pairs() {
            let mut held = Occupancy::default();
            self.frames(number).for_each(|waiting| held.add(waiting.frame.bytes));
            assert!(held.both() == queue.occupancy.both(), "the counter of a queue differs from its frames");
        }
    }

    /// Releases the spare memory of tables that have grown.
    pub fn shrink(&mut self) {
        self.queues.each_mut().shrink_to_fit();
        self.voqs.shrink_to_fit();
    }

    /// Bytes of the tables, histograms and waiting frames.
    pub fn memory_bytes(&self) -> usize {
        self.queues.memory_bytes()
            + self.queues.each().iter().map(|queue| queue.waits.memory_bytes()).sum::<usize>()
            + self.voqs.capacity() * size_of::<List>()
            + self.pool.memory_bytes()
    }
}

/// Returns true if the next frame of a pair of lists lacks credits, and the index of its list; `None` if both are
/// empty.
fn next_of_pair(
    (bypassed, count): (&mut List, &mut u32),
    ordered: &mut List,
    pool: &mut Pool,
    ask: &impl Fn(&Frame) -> (bool, bool),
) -> (bool, Option<u32>) {
    loop {
        if !bypassed.is_empty() && !ask(pool.head(bypassed)).0 {
            return (false, Some(0));
        }
        if ordered.is_empty() {
            return (true, (!bypassed.is_empty()).then_some(0));
        }
        let (lacks, may_be_bypassed) = ask(pool.head(ordered));
        if !(may_be_bypassed && (lacks || !bypassed.is_empty())) {
            return (lacks, Some(1));
        }
        pool.move_first(ordered, bypassed);
        *count += 1;
    }
}

/// The lists of a queue. `voqs` holds the lists of queues with several.
fn lists<'a>(queue: &'a Queue, voqs: &'a [List]) -> &'a [List] {
    if queue.voqs > 1 {
        &voqs[queue.first_voq as usize..(queue.first_voq + queue.voqs) as usize]
    } else {
        std::slice::from_ref(&queue.list)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A queue with a bypass queue and frames of distinct lengths; those of odd length may be bypassed.
    fn with_bypass(lengths: &[u16]) -> Buffers {
        let mut buffers = Buffers::new(0);
        buffers.add_queue_with_bypass(1);
        for &bytes in lengths {
            buffers.enter(QueueIx::new(0), &Frame { bytes, ..Frame::default() }, Time::ZERO, None, || {
                PortIx::new(0)
            });
        }
        buffers
    }

    /// Returns the lengths of the frames that leave, with credits for this many bypassable and ordered frames.
    fn leave(buffers: &mut Buffers, mut bypassable: u32, mut ordered: u32) -> Vec<u16> {
        let mut left = Vec::new();
        while buffers.head(QueueIx::new(0)).is_some() {
            let ask = |frame: &Frame| {
                let may = frame.bytes % 2 == 1;
                (if may { bypassable == 0 } else { ordered == 0 }, may)
            };
            if buffers.bypass(QueueIx::new(0), ask).0 {
                break;
            }
            let frame = buffers.leave(QueueIx::new(0), Time::ZERO, true).frame;
            *(if frame.bytes % 2 == 1 { &mut bypassable } else { &mut ordered }) -= 1;
            left.push(frame.bytes);
        }
        buffers.check(0);
        left
    }

    #[test]
    fn frames_without_credits_are_bypassed_and_keep_their_order() {
        let all = [1, 3, 2, 5, 4, 6, 7];
        assert_eq!(leave(&mut with_bypass(&all), 4, 3), all, "with credits, no frame is bypassed");
        let mut buffers = with_bypass(&all);
        assert_eq!(leave(&mut buffers, 1, 3), [1, 2, 4, 6]);
        assert_eq!(leave(&mut buffers, 1, 0), [3], "bypassed frames go first");
        assert_eq!(leave(&mut buffers, 9, 0), [5, 7]);
    }

    #[test]
    fn a_bypassable_frame_passes_no_ordered_one_before_it() {
        let mut buffers = with_bypass(&[2, 1, 4, 3]);
        assert_eq!(leave(&mut buffers, 9, 0), [0; 0]);
        assert_eq!(leave(&mut buffers, 9, 1), [2, 1]);
        assert_eq!(leave(&mut buffers, 0, 1), [4]);
        // Later frames do not pass the one in the bypass queue.
        buffers.enter(QueueIx::new(0), &Frame { bytes: 5, ..Frame::default() }, Time::ZERO, None, || {
            PortIx::new(0)
        });
        assert_eq!(leave(&mut buffers, 2, 0), [3, 5]);
    }

    #[test]
    fn a_queue_is_three_cache_lines() {
        assert_eq!(size_of::<Queue>(), 192);
    }
}
