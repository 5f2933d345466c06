//! A set of endpoints that a host treats as one: they take turns at its NIC, one segment each, and share its timer.

use crate::endpoint::Protocol;
use crate::room::Append;
use recurrence::{Growth, Recurs, Walk};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use units::Time;

/// A set of numbered endpoints.
#[derive(Clone, Debug)]
pub struct Members<T> {
    all: Vec<Member<T>>,
    /// Endpoints that have a segment to send, in order of their turns.
    line: VecDeque<u32>,
    /// Scheduled calls of endpoints. If the next call of an endpoint is postponed, its old entry remains and comes too
    /// early.
    looks: BinaryHeap<Reverse<(Time, u32)>>,
    /// Time of the first entry, cached because it is read after each frame.
    next_look: Time,
}

#[derive(Clone, Debug)]
struct Member<T> {
    endpoint: T,
    in_line: bool,
    /// Times of the endpoint's earliest entry, and of the one after that. They keep an endpoint that postpones its
    /// timeout after each call from adding an entry each time.
    looked_at: Time,
    looked_later: Time,
}

/// Excludes scheduled calls from the state: a call that comes too early has no effect, and none comes too late.
impl<T: Recurs> Recurs for Members<T> {
    fn walk(&self, walk: &mut Walk) {
        let Members { all, line, looks: _, next_look: _ } = self;
        line.walk(walk);
        walk.word(all.len() as u64);
        for Member { endpoint, in_line, looked_at: _, looked_later: _ } in all {
            in_line.walk(walk);
            endpoint.walk(walk);
        }
    }
    fn grow(&mut self, growth: &mut Growth) {
        self.all.iter_mut().for_each(|member| member.endpoint.grow(growth));
    }
}

impl<T: Protocol> Members<T> {
    /// Creates an empty set.
    pub fn new() -> Members<T> {
        Members { all: Vec::new(), line: VecDeque::new(), looks: BinaryHeap::new(), next_look: Time::NEVER }
    }
    /// Adds an endpoint; returns its number.
    pub fn add(&mut self, endpoint: T) -> u32 {
        self.all.append_one(Member {
            endpoint,
            in_line: false,
            looked_at: Time::NEVER,
            looked_later: Time::NEVER,
        });
        self.all.len() as u32 - 1
    }
    /// Returns the number of endpoints.
    pub fn len(&self) -> usize {
        self.all.len()
    }
    /// Iterates over all endpoints, by number.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.all.iter().map(|member| &member.endpoint)
    }
    /// Iterates over the endpoints that have a segment to send. Changes must not affect whether they have one.
    pub fn in_line_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.all.iter_mut().filter(|member| member.in_line).map(|member| &mut member.endpoint)
    }
    /// Returns an endpoint, if the number exists. The caller must call [`Members::update`] afterwards.
    pub fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        self.all.get_mut(number as usize).map(|member| &mut member.endpoint)
    }
    /// Updates the queue position and the next call of a member after an event.
    pub fn update(&mut self, number: u32) {
        let Some(member) = self.all.get_mut(number as usize) else { return };
        let has_work = member.endpoint.has_work();
        if has_work && !member.in_line {
            self.line.append_one(number);
        } else if !has_work && member.in_line {
            self.line.retain(|&other| other != number);
        }
        member.in_line = has_work;
        if let Some(at) = member.endpoint.poll_timeout().filter(|&at| at < member.looked_at) {
            member.looked_later = member.looked_later.min(member.looked_at);
            member.looked_at = at;
            self.looks.push(Reverse((at, number)));
            self.next_look = self.next_look.min(at);
        }
    }
    /// Returns an endpoint whose call is due; `None` if there are no more.
    pub fn due(&mut self, now: Time) -> Option<u32> {
        if self.next_look > now {
            return None;
        }
        let due = self.look(now);
        self.next_look = self.looks.peek().map_or(Time::NEVER, |&Reverse((at, _))| at);
        due
    }

    fn look(&mut self, now: Time) -> Option<u32> {
        while let Some(&Reverse((at, number))) = self.looks.peek()
            && at <= now
        {
            self.looks.pop();
            let member = &mut self.all[number as usize];
            // Skips an entry that has become obsolete through an earlier one.
            if member.looked_at != at {
                continue;
            }
            let later = std::mem::replace(&mut member.looked_later, Time::NEVER);
            member.looked_at = if later > now { later } else { Time::NEVER };
            if member.endpoint.poll_timeout().is_some_and(|at| at <= now) {
                return Some(number);
            }
            self.update(number);
        }
        None
    }
    /// Returns the time at which to call [`Members::due`], or [`Time::NEVER`]. The time may be too early.
    pub fn next_look(&self) -> Time {
        self.next_look
    }
    /// Returns true if any endpoint has a segment to send.
    pub fn have_work(&self) -> bool {
        !self.line.is_empty()
    }
    /// Returns the endpoint whose turn it is to send. The caller must call [`Members::end_turn`] afterwards.
    #[inline]
    pub fn take_turn(&self) -> Option<u32> {
        self.line.front().copied()
    }
    /// Ends the turn of an endpoint, which moves to the end of the queue, or leaves the queue if it has nothing to
    /// send. Updates its next call.
    #[inline]
    pub fn end_turn(&mut self, number: u32) {
        let Some(member) = self.all.get_mut(number as usize) else { return };
        // A single endpoint in the queue keeps its place.
        if member.in_line && (self.line.len() > 1 || !member.endpoint.has_work()) {
            member.in_line = false;
            self.line.pop_front();
        }
        self.update(number);
    }
    /// Returns the heap memory in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.all.capacity() * size_of::<Member<T>>()
            + self.line.capacity() * size_of::<u32>()
            + self.looks.capacity() * size_of::<Reverse<(Time, u32)>>()
            + self.iter().map(Protocol::memory_bytes).sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoint::{Received, Segment};

    /// Repeatedly requests a call that is soon, and in between one that is far away.
    struct Paced {
        soon: Option<Time>,
    }

    const FAR: Time = Time::from_ms(1);

    impl Protocol for Paced {
        fn handle_frame(&mut self, _now: Time, _received: &Received) {}
        fn handle_timeout(&mut self, _now: Time) {
            self.soon = None;
        }
        fn poll_timeout(&self) -> Option<Time> {
            Some(self.soon.unwrap_or(FAR))
        }
        fn has_work(&self) -> bool {
            false
        }
        fn poll_transmit(&mut self, _now: Time) -> Option<Segment> {
            None
        }
    }

    /// An endpoint that has this number of segments to send.
    struct Busy(u32);

    impl Protocol for Busy {
        fn handle_frame(&mut self, _now: Time, _received: &Received) {}
        fn handle_timeout(&mut self, _now: Time) {}
        fn poll_timeout(&self) -> Option<Time> {
            None
        }
        fn has_work(&self) -> bool {
            self.0 > 0
        }
        fn poll_transmit(&mut self, _now: Time) -> Option<Segment> {
            self.0 -= 1;
            None
        }
    }

    #[test]
    fn members_take_turns_until_they_have_nothing_to_send() {
        let mut members = Members::new();
        for segments in [2, 0, 1, 3] {
            let number = members.add(Busy(segments));
            members.update(number);
        }
        let mut turns = Vec::new();
        while let Some(number) = members.take_turn() {
            members.get_mut(number).unwrap().poll_transmit(Time::ZERO);
            // An event at an endpoint during its turn does not change its place in the queue.
            members.update(number);
            members.end_turn(number);
            turns.push(number);
        }
        assert_eq!(turns, [0, 2, 3, 0, 3, 3]);
        assert!(!members.have_work());
    }

    #[test]
    fn who_asks_again_for_a_call_far_away_gets_no_entry_more() {
        let mut members = Members::new();
        let number = members.add(Paced { soon: None });
        members.update(number);
        for us in 1..500 {
            members.get_mut(number).unwrap().soon = Some(Time::from_us(us));
            members.update(number);
            assert_eq!(members.next_look(), Time::from_us(us));
            assert_eq!(members.due(Time::from_us(us)), Some(number));
            members.get_mut(number).unwrap().handle_timeout(Time::from_us(us));
            members.update(number);
            assert!(members.looks.len() <= 2, "{} entries", members.looks.len());
        }
        assert_eq!(members.next_look(), FAR);
        assert_eq!(members.due(FAR), Some(number));
    }
}
