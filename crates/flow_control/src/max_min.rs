//! Targeted PFC by max-min share: pauses as few link partners as necessary to stop the growth of the queue, heaviest
//! first.
//!
//! This mechanism is Penstock's own. It addresses three failures of fair bandwidth (Hagen 2012, Appendix B) that the
//! study `hagen-2012/ch7` found beyond the scenarios of its source. With several aggressors the queue overshoots to
//! the high watermark and all partners are paused, after which the backlog of the victims makes them look like
//! aggressors. A partner that needs more than an equal share but no more than its max-min share is paused. An
//! aggressor that is alone in the queue is never a target, because it cannot exceed its fair share of one.
//!
//! **Selection.** The frames in the queue arrived within a known interval, which began with the arrival of the oldest
//! one. The bytes that left the queue in that interval are the service of the link. If the unpaused partners delivered
//! more than that, the heaviest of them becomes a target, then the next heaviest, until the rest fits. A partner
//! within its max-min share of the link is therefore never a target: the partners above that share are heavier and are
//! selected first, and without them the rest fits in the link. Paused partners count as zero. Shares are counted in
//! bytes, so small frames do not make a partner an aggressor.
//!
//! **Time of the pause.** After the pause, the data in flight from every target still arrives. The distance between
//! the target watermark and the high watermark has to hold the data in flight from *one* partner. If the search finds
//! `n` targets, they are paused when the queue is `n` times this distance below the high watermark. The number of
//! aggressors for which the watermark leaves room, N of equation 7.1, is thus measured rather than configured.
//!
//! **Release.** A partner that was paused only because of the high watermark resumes as soon as the queue is below the
//! target watermark. Targets are released in order, one at a time, so that they do not all resume together. The next
//! target is released when the queue is at the low watermark and as many bytes as one partner has in flight have left
//! since the last release. Only then does the queue show the effect of that release. An empty queue releases all
//! targets.
//!
//! **No starvation.** If as many bytes as the high watermark have left since the targets last changed, and the queue
//! has not become shorter, the unpaused partners fill the link and would starve the paused ones. In this case the
//! heaviest unpaused partner becomes a target too, so that the queue falls and the next target is released. The pause
//! of a target is not renewed.
//!
//! Source: ours; compared with Hagen 2012 Appendices A and B in the study `hagen-2012/ch7`.
//!
//! Not modelled: the duration of the search. It examines each port once per target; hardware would keep the ports
//! sorted by their counters.

use frame::Occupancy;
use std::cmp::Reverse;
use std::collections::VecDeque;
use units::Amount;

/// State of one ingress port in an egress queue.
#[derive(Clone, Copy, Debug, Default)]
struct Partner {
    /// Bytes from this port in the queue.
    bytes: u64,
    /// True while the port is in `line`, the wait queue of targets.
    target: bool,
    /// Sequence number of the last time the port became a target. Among ports with equal bytes, the one paused longest
    /// ago comes first.
    last_target: u64,
}

/// The watermarks that the rules use.
#[derive(Clone, Copy, Debug)]
pub struct Marks {
    /// High watermark.
    pub xoff: Amount,
    /// Target watermark, in the unit of `xoff` and below it.
    pub target: Amount,
}

impl Marks {
    fn high(&self) -> u64 {
        number(self.xoff)
    }
    /// Returns the amount that one partner may have in flight, in the unit of the watermarks.
    fn in_flight(&self) -> u64 {
        self.high().saturating_sub(number(self.target))
    }
}

fn number(amount: Amount) -> u64 {
    match amount {
        Amount::Bytes(number) | Amount::Frames(number) => number,
    }
}

/// The targets of one egress queue.
#[derive(Clone, Debug)]
pub struct MaxMin {
    partners: Vec<Partner>,
    /// Frames and bytes that have left the queue in total.
    left: Occupancy,
    /// By waiting frame: the bytes that had left when it arrived.
    left_before: VecDeque<u64>,
    /// Targets in the order in which they were paused.
    line: VecDeque<u32>,
    /// Amount that had left at the last release, in the unit of the watermarks.
    released_at: u64,
    /// Amount that had left and the length of the queue when the targets last changed, in the unit of the watermarks.
    changed: (u64, u64),
    /// True if targets wait, a high watermark's worth has left since the last change, and the queue has not
    /// become shorter.
    stands: bool,
    /// Number of targets so far, which numbers them.
    count: u64,
    /// Scratch buffer: bytes, last target number and port of the partners that may send.
    heaviest: Vec<(u64, Reverse<u64>, u32)>,
}

impl MaxMin {
    /// Creates an empty queue in a station with `ports` ports.
    pub fn new(ports: usize) -> MaxMin {
        MaxMin {
            partners: vec![Partner::default(); ports],
            left: Occupancy::default(),
            left_before: VecDeque::new(),
            line: VecDeque::new(),
            released_at: 0,
            changed: (0, 0),
            stands: false,
            count: 0,
            heaviest: Vec::with_capacity(ports),
        }
    }

    /// Adds a frame.
    pub fn add(&mut self, from: Option<u32>, bytes: u16) {
        self.left_before.push_back(self.left.bytes);
        if let Some(from) = from {
            self.partners[from as usize].bytes += u64::from(bytes);
        }
    }

    /// Removes a frame.
    pub fn remove(&mut self, from: Option<u32>, bytes: u16) {
        self.left_before.pop_front();
        self.left.add(bytes);
        if let Some(from) = from {
            self.partners[from as usize].bytes -= u64::from(bytes);
        }
    }

    /// Returns true if `port` is in the wait queue.
    pub fn is_target(&self, port: u32) -> bool {
        self.partners[port as usize].target
    }

    /// Finds the partners to pause before a frame enters the queue, whose occupancy is `before`, and adds them to the
    /// wait queue. `sends` returns true for a port that may send according to the state of this node.
    pub fn search(
        &mut self,
        marks: Marks,
        before: Occupancy,
        sends: impl Fn(u32) -> bool,
        targets: &mut Vec<u32>,
    ) {
        targets.clear();
        let (queue, high, in_flight) = (before.count(marks.xoff), marks.high(), marks.in_flight());
        // There are no more targets than frames, so below this length no pause can be due.
        let stands = std::mem::take(&mut self.stands);
        if !stands && queue + in_flight * before.frames.min(self.partners.len() as u64) < high {
            return;
        }
        let carried = self.left.bytes - self.left_before.front().copied().unwrap_or(self.left.bytes);
        self.heaviest.clear();
        self.heaviest.extend(
            (0u32..)
                .zip(&self.partners)
                .filter(|(port, partner)| partner.bytes > 0 && sends(*port))
                .map(|(port, partner)| (partner.bytes, Reverse(partner.last_target), port)),
        );
        self.heaviest.sort_unstable_by(|a, b| b.cmp(a));
        let mut rest: u64 = self.heaviest.iter().map(|(bytes, ..)| bytes).sum();
        for &(bytes, _, port) in &self.heaviest {
            if rest <= carried && !(stands && targets.is_empty()) {
                break;
            }
            rest -= bytes;
            targets.push(port);
        }
        if !stands && queue + in_flight * (targets.len() as u64) < high {
            targets.clear();
        }
        if !targets.is_empty() {
            self.changed = (self.left.count(marks.xoff), queue);
        }
        for &port in targets.iter() {
            self.count += 1;
            let partner = &mut self.partners[port as usize];
            partner.last_target = self.count;
            if !std::mem::replace(&mut partner.target, true) {
                self.line.push_back(port);
            }
        }
    }

    /// Processes the departure of a frame. `after` is the queue without the frame; `low` is true if the queue was at or
    /// below the low watermark. Returns the ports that may resume.
    pub fn next(&mut self, marks: Marks, after: Occupancy, low: bool) -> Release {
        if after.frames == 0 {
            self.line.clear();
            self.partners.iter_mut().for_each(|partner| partner.target = false);
            return Release { others: true, turn: None };
        }
        let (left, queue) = (self.left.count(marks.xoff), after.count(marks.xoff));
        if left - self.changed.0 >= marks.high() {
            self.stands = !self.line.is_empty() && queue >= self.changed.1;
            self.changed = (left, queue);
        }
        let others = low || !after.reaches(marks.target);
        let turn =
            if low && left - self.released_at >= marks.in_flight() { self.line.pop_front() } else { None };
        if let Some(port) = turn {
            self.partners[port as usize].target = false;
            self.released_at = left;
            self.changed = (left, queue);
        }
        Release { others, turn }
    }
}

/// The ports that may resume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Release {
    /// True if all ports that are not targets may resume.
    pub others: bool,
    /// The target that may resume now; it is no longer a target.
    pub turn: Option<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARKS: Marks = Marks { xoff: Amount::Frames(12), target: Amount::Frames(10) };
    const FRAME: u16 = 1000;

    /// A queue with its counter, filled and drained by the test.
    struct Queue {
        max_min: MaxMin,
        waiting: VecDeque<(u32, u16)>,
        paused: Vec<u32>,
    }

    impl Queue {
        fn new(ports: usize) -> Queue {
            Queue { max_min: MaxMin::new(ports), waiting: VecDeque::new(), paused: Vec::new() }
        }
        fn occupancy(&self) -> Occupancy {
            let bytes = self.waiting.iter().map(|&(_, bytes)| u64::from(bytes)).sum();
            Occupancy { bytes, frames: self.waiting.len() as u64 }
        }
        /// Adds a frame and returns the targets found just before.
        fn comes(&mut self, from: u32, bytes: u16) -> Vec<u32> {
            let mut targets = Vec::new();
            let paused = &self.paused;
            self.max_min.search(MARKS, self.occupancy(), |port| !paused.contains(&port), &mut targets);
            self.paused.extend(&targets);
            self.max_min.add(Some(from), bytes);
            self.waiting.push_back((from, bytes));
            targets
        }
        fn leaves(&mut self, low: u64) -> Release {
            let before = self.occupancy().frames;
            let (from, bytes) = self.waiting.pop_front().unwrap();
            self.max_min.remove(Some(from), bytes);
            let release = self.max_min.next(MARKS, self.occupancy(), before <= low);
            self.paused.retain(|&port| self.max_min.is_target(port));
            release
        }
        /// Adds rounds of frames from these ports, with one departure per round, until a target is found. Returns the
        /// targets.
        fn fill(&mut self, round: &[u32], bytes: u16) -> Vec<u32> {
            for _ in 0..100 {
                for &from in round {
                    let targets = self.comes(from, bytes);
                    if !targets.is_empty() {
                        return targets;
                    }
                }
                self.leaves(0);
            }
            Vec::new()
        }
    }

    #[test]
    fn the_heaviest_is_enough() {
        // Port 2 sends half of the arrivals, which is twice the departure rate.
        let mut queue = Queue::new(4);
        assert_eq!(queue.fill(&[2, 0, 2, 1], FRAME)[0], 2);
        assert!(queue.occupancy().frames <= 10);
    }

    #[test]
    fn who_is_paused_counts_as_nothing() {
        // Port 2 fills the link; port 0 sends at half its rate.
        let mut queue = Queue::new(3);
        let mut targets = Vec::new();
        for step in 0..40 {
            targets.extend(queue.comes(2, FRAME));
            if step % 2 == 0 {
                targets.extend(queue.comes(0, FRAME));
            }
            if !targets.is_empty() {
                break;
            }
            queue.leaves(0);
        }
        assert_eq!(targets, [2]);
        // The frames of port 2 that are in flight lengthen the queue; the traffic of the other port fits the link.
        for _ in 0..2 {
            assert!(queue.comes(2, FRAME).is_empty());
        }
    }

    #[test]
    fn an_aggressor_alone_is_found() {
        // The egress port is paused, so nothing leaves.
        let mut queue = Queue::new(2);
        let found: Vec<Vec<u32>> = (0..11).map(|_| queue.comes(1, FRAME)).collect();
        assert_eq!(found[10], [1]);
        assert!(found[..10].iter().all(Vec::is_empty));
    }

    #[test]
    fn many_at_once_are_paused_earlier() {
        let all: Vec<u32> = (0..8).collect();
        let mut queue = Queue::new(8);
        let targets = queue.fill(&all, FRAME);
        assert!(targets.len() > 1);
        assert!(queue.occupancy().frames + 2 * targets.len() as u64 >= 12);
        assert!(queue.occupancy().frames < 10);
    }

    #[test]
    fn small_frames_make_no_aggressor() {
        // Port 0 has twice the frames of port 1, which has fifteen times the bytes of port 0.
        let mut queue = Queue::new(2);
        let mut targets = Vec::new();
        for step in 0..60 {
            let (from, bytes) = if step % 3 == 2 { (1, 1500) } else { (0, 100) };
            targets = queue.comes(from, bytes);
            if !targets.is_empty() {
                break;
            }
            if step % 2 == 0 {
                queue.leaves(0);
            }
        }
        assert_eq!(targets[0], 1);
    }

    #[test]
    fn targets_go_on_one_at_a_time() {
        let mut queue = Queue::new(4);
        let targets = queue.fill(&[0, 1, 2, 3], FRAME);
        assert!(targets.len() >= 2);
        let mut turns = Vec::new();
        while queue.occupancy().frames > 1 {
            turns.extend(queue.leaves(4).turn);
        }
        // Two frames are in flight per partner, so as the queue drains from four frames to one there is room for two
        // turns.
        assert_eq!(turns, targets[..2]);
        assert_eq!(queue.leaves(4), Release { others: true, turn: None });
        assert!(targets.iter().all(|&port| !queue.max_min.is_target(port)));
    }

    #[test]
    fn others_go_on_below_the_target_watermark() {
        let mut queue = Queue::new(2);
        for _ in 0..11 {
            queue.comes(0, FRAME);
        }
        assert_eq!(queue.leaves(0), Release { others: false, turn: None });
        assert_eq!(queue.leaves(0), Release { others: true, turn: None });
    }

    #[test]
    fn a_queue_that_stands_makes_room_for_those_that_wait() {
        let mut queue = Queue::new(3);
        let mut targets = queue.fill(&[0, 1], FRAME);
        assert_eq!(targets.len(), 1);
        let other = 1 - targets[0];
        // The other port sends at the drain rate. The queue does not become shorter, and the first target would wait
        // forever.
        for _ in 0..40 {
            queue.leaves(0);
            targets.extend(queue.comes(other, FRAME));
        }
        assert_eq!(targets[..2], [1 - other, other]);
    }
}
