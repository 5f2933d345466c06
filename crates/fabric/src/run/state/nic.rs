//! A NIC: the wait queues of each class at a port of a host, and the time for which each class was stopped.

use crate::run::state::index::{EndpointIx, LimiterIx, SourceIx};
use frame::{TrafficClass, members};
use recurrence::{Recurs, Walk};
use std::collections::VecDeque;
use units::Time;

/// An entry of a NIC's wait queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InLine {
    Endpoint(EndpointIx),
    Limiter(LimiterIx),
}

impl InLine {
    /// Returns the endpoint, if the entry is one.
    #[inline(always)]
    pub fn endpoint(self) -> Option<EndpointIx> {
        match self {
            InLine::Endpoint(endpoint) => Some(endpoint),
            InLine::Limiter(_) => None,
        }
    }
}

/// The NIC of a port, with wait queues for each class: a class that is full or paused holds back only its own sources.
/// Every frame of the host checks for waiting entries in the bit sets. The state occupies one cache line.
#[derive(Clone, Debug)]
#[repr(align(32))]
pub(crate) struct Nic {
    /// Classes with endpoints or limiters in the wait queue, bit n for class n. `blocked` holds those with sources that
    /// wait for space.
    in_line: u32,
    blocked: u32,
    /// Classes that are stopped by pauses or for other reasons, bit n for class n.
    stopped: u32,
    /// Maximum number of queued frames of endpoints in a class: one for each core that processes frames to be sent,
    /// otherwise one.
    keeps: u32,
    classes: Box<[NicClass]>,
}

#[derive(Clone, Debug, Default)]
struct NicClass {
    /// Number of queued frames of endpoints, including those in the cores of the host.
    pulled: u32,
    /// Endpoints and limiters with frames to send, served round-robin.
    line: VecDeque<InLine>,
    /// Sources that wait for space, in order.
    blocked: VecDeque<SourceIx>,
    /// Time for which the class was stopped until its last change; `changed` is the time of that change.
    stopped_for: Time,
    changed: Time,
}

impl Nic {
    /// Visits the NIC's contribution to a digest of the state. `number_of` returns the number of an endpoint in the
    /// whole fabric.
    pub fn walk(&self, number_of: impl Fn(EndpointIx) -> u32, walk: &mut Walk) {
        let Nic { in_line, blocked, stopped, keeps: _, classes } = self;
        (*in_line, *blocked, *stopped).walk(walk);
        for class in classes {
            let NicClass { pulled, line, blocked, stopped_for: _, changed: _ } = class;
            pulled.walk(walk);
            walk.unless_empty(blocked, "flows beside jobs");
            walk.word(line.len() as u64);
            for one in line {
                match one {
                    InLine::Endpoint(endpoint) => walk.word(number_of(*endpoint).into()),
                    InLine::Limiter(_) => walk.unknown("rate limiters"),
                }
            }
        }
    }

    /// Creates a NIC that queues up to this many frames of endpoints in each class.
    pub fn new(keeps: u32, classes: usize) -> Nic {
        let classes = vec![NicClass::default(); classes].into();
        Nic { in_line: 0, blocked: 0, stopped: 0, keeps, classes }
    }

    /// Returns true if nothing waits in any class.
    #[inline(always)]
    pub fn is_idle(&self) -> bool {
        self.in_line | self.blocked == 0
    }

    /// Returns true if endpoints or limiters are in the wait queue of the class.
    #[inline(always)]
    pub fn has_line(&self, class: TrafficClass) -> bool {
        self.in_line >> class.0 & 1 != 0
    }

    /// Returns true if sources of the class wait for space.
    #[inline(always)]
    pub fn has_blocked(&self, class: TrafficClass) -> bool {
        self.blocked >> class.0 & 1 != 0
    }

    /// Entries of the wait queue, in order.
    pub fn line(&self, class: TrafficClass) -> impl Iterator<Item = InLine> {
        self.classes[class.at()].line.iter().copied()
    }

    /// Appends an endpoint or a limiter to the wait queue.
    pub fn join(&mut self, class: TrafficClass, entry: InLine) {
        self.classes[class.at()].line.push_back(entry);
        self.in_line |= 1 << class.0;
    }

    /// Removes the first entry of the wait queue.
    pub fn next_in_line(&mut self, class: TrafficClass) -> Option<InLine> {
        take_first(&mut self.in_line, class, &mut self.classes[class.at()].line)
    }

    /// Removes an endpoint or a limiter from every wait queue.
    pub fn leave(&mut self, entry: InLine) {
        for class in members(self.in_line) {
            take_out(&mut self.in_line, class, &mut self.classes[class].line, entry);
        }
    }

    /// Empties all wait queues.
    pub fn leave_all(&mut self) -> Vec<InLine> {
        self.in_line = 0;
        self.classes.iter_mut().flat_map(|class| class.line.drain(..)).collect()
    }

    /// Prefetches the state of a class.
    #[inline(always)]
    pub fn fetch_class(&self, class: usize) {
        memory::fetch_all_at(&self.classes, class);
    }
    /// Prefetches the first entry of the wait queue.
    #[inline(always)]
    pub fn fetch_line(&self, class: usize) {
        if let Some(first) = self.classes.get(class).and_then(|own| own.line.front()) {
            memory::fetch(first);
        }
    }
    /// Returns the first entry of the wait queue.
    #[inline(always)]
    pub fn first_in_line(&self, class: usize) -> Option<InLine> {
        self.classes.get(class)?.line.front().copied()
    }

    /// Sources that wait for space, in order.
    pub fn blocked(&self, class: TrafficClass) -> &VecDeque<SourceIx> {
        &self.classes[class.at()].blocked
    }

    /// Appends a source to those that wait for space.
    pub fn block(&mut self, class: TrafficClass, source: SourceIx) {
        self.classes[class.at()].blocked.push_back(source);
        self.blocked |= 1 << class.0;
    }

    /// Puts a source at the front of those that wait for space.
    pub fn block_again(&mut self, class: TrafficClass, source: SourceIx) {
        self.classes[class.at()].blocked.push_front(source);
        self.blocked |= 1 << class.0;
    }

    /// Removes the first source that waits for space.
    pub fn unblock(&mut self, class: TrafficClass) -> Option<SourceIx> {
        take_first(&mut self.blocked, class, &mut self.classes[class.at()].blocked)
    }

    /// Removes a source from those that wait for space. Returns true if it was present.
    pub fn forget(&mut self, source: SourceIx) -> bool {
        let mut found = false;
        for class in members(self.blocked) {
            found |= take_out(&mut self.blocked, class, &mut self.classes[class].blocked, source);
        }
        found
    }

    /// Returns true if an entry of the wait queue may be pulled: the number of queued pulled frames is below the limit
    /// plus `more`.
    #[inline(always)]
    pub fn has_a_turn(&self, class: TrafficClass, more: u32) -> bool {
        self.classes[class.at()].pulled < self.keeps + more
    }

    /// Counts a frame pulled from an entry of the wait queue.
    #[inline(always)]
    pub fn count_pulled(&mut self, class: TrafficClass) {
        self.classes[class.at()].pulled += 1;
    }
    #[inline(always)]
    pub fn pulled_left(&mut self, class: TrafficClass) {
        let pulled = &mut self.classes[class.at()].pulled;
        debug_assert!(*pulled > 0, "a frame that was not pulled leaves the NIC as pulled");
        *pulled = pulled.saturating_sub(1);
    }
    /// Number of queued pulled frames of a class, and their maximum if the port accepts `more` frames.
    pub fn pulled(&self, class: TrafficClass, more: u32) -> (u32, u32) {
        (self.classes[class.at()].pulled, self.keeps + more)
    }

    /// Sets the stopped classes.
    pub fn note_stopped(&mut self, stopped: u32, now: Time) {
        for class in members(self.stopped ^ stopped) {
            // Classes that the NIC does not have are never read.
            if class < self.classes.len() {
                self.classes[class].stopped_for = self.stopped_for(TrafficClass(class as u8), now);
                self.classes[class].changed = now;
            }
        }
        self.stopped = stopped;
    }

    /// Bytes of its tables.
    pub fn memory_bytes(&self) -> usize {
        let lines = self.classes.iter().map(|class| {
            class.line.capacity() * size_of::<InLine>() + class.blocked.capacity() * size_of::<SourceIx>()
        });
        self.classes.len() * size_of::<NicClass>() + lines.sum::<usize>()
    }

    /// Time for which this class was stopped until `now`. At the end of a run, `now` may be just before the last
    /// change.
    pub fn stopped_for(&self, class: TrafficClass, now: Time) -> Time {
        let own = &self.classes[class.at()];
        let is_stopped = self.stopped >> class.0 & 1 != 0;
        own.stopped_for + if is_stopped { now.saturating_sub(own.changed) } else { Time::ZERO }
    }
}

/// Removes the first entry of the wait queue of a class, and updates the set of classes with entries.
fn take_first<T>(set: &mut u32, class: TrafficClass, line: &mut VecDeque<T>) -> Option<T> {
    let first = line.pop_front();
    *set &= !(u32::from(line.is_empty()) << class.0);
    first
}

/// Removes this entry from the wait queue of a class, and updates the set of classes with entries. Returns true if the
/// entry was present.
fn take_out<T: PartialEq>(set: &mut u32, class: usize, line: &mut VecDeque<T>, entry: T) -> bool {
    let before = line.len();
    line.retain(|other| *other != entry);
    *set &= !(u32::from(line.is_empty()) << class);
    line.len() < before
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLASSES: [TrafficClass; 2] = [TrafficClass(0), TrafficClass(2)];

    #[test]
    fn bits_say_who_waits() {
        let mut nic = Nic::new(1, 3);
        let state = |nic: &Nic| {
            let state = CLASSES.map(|class| (nic.has_line(class), nic.has_blocked(class)));
            assert_eq!(nic.is_idle(), state == [(false, false); 2]);
            state
        };
        assert_eq!(state(&nic), [(false, false); 2]);
        let endpoint = |number| InLine::Endpoint(EndpointIx::new(number));
        let limiter = |number| InLine::Limiter(LimiterIx::new(number));
        let source = SourceIx::new;
        nic.join(CLASSES[1], endpoint(7));
        nic.join(CLASSES[1], limiter(7));
        nic.block(CLASSES[0], source(7));
        assert_eq!(state(&nic), [(false, true), (true, false)]);
        assert_eq!(nic.next_in_line(CLASSES[1]), Some(endpoint(7)));
        assert_eq!(state(&nic), [(false, true), (true, false)], "the limiter is still queued");
        nic.leave(limiter(7));
        assert_eq!((state(&nic), nic.next_in_line(CLASSES[1])), ([(false, true), (false, false)], None));
        nic.block(CLASSES[0], source(9));
        nic.block_again(CLASSES[0], source(6));
        assert_eq!(nic.blocked(CLASSES[0]), &[6, 7, 9].map(source));
        assert!(nic.forget(source(7)) && !nic.forget(source(7)));
        assert_eq!([nic.unblock(CLASSES[0]), nic.unblock(CLASSES[0])], [6, 9].map(|nth| Some(source(nth))));
        assert_eq!((state(&nic), nic.unblock(CLASSES[0])), ([(false, false); 2], None));
        nic.join(CLASSES[0], endpoint(1));
        nic.join(CLASSES[1], limiter(2));
        assert_eq!((nic.leave_all(), state(&nic)), (vec![endpoint(1), limiter(2)], [(false, false); 2]));
    }

    #[test]
    fn a_class_is_stopped_for_as_long_as_its_bit_is_set() {
        let mut nic = Nic::new(1, 3);
        let at = Time::from_ns;
        let stopped = |nic: &Nic, now| CLASSES.map(|class| nic.stopped_for(class, at(now)).ps() / 1_000);
        nic.note_stopped(0b001, at(10));
        assert_eq!(nic.stopped_for(TrafficClass(0), at(9)), Time::ZERO);
        nic.note_stopped(0b101, at(30));
        assert_eq!(stopped(&nic, 35), [25, 5]);
        nic.note_stopped(0b100, at(40));
        assert_eq!(stopped(&nic, 50), [30, 20]);
        nic.note_stopped(0b100, at(60));
        nic.note_stopped(0b1000, at(70));
        assert_eq!(stopped(&nic, 99), [30, 40]);
    }
}
