//! The wait queue of a rate limiter: strict priority, and round-robin between frames of sources and endpoints within a
//! priority.

use crate::run::state::index::EndpointIx;
use crate::run::state::pool::{List, Pool, Waiting};
use frame::{PRIORITIES, PathId, Priority};
use std::collections::VecDeque;

/// Frames pushed by sources, and endpoints that have something to send.
///
/// The first bytes hold the set of non-empty lists.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct LimiterLine {
    /// Set of the non-empty lists of frames, bit n for priority n; the next bit is set if endpoints wait.
    waiting: u16,
    /// True if the last frame came from an endpoint, so that a source has the next turn.
    endpoint_was_last: bool,
    /// Frames by priority.
    frames: [List; PRIORITIES],
    /// The paths of these frames.
    paths: Paths,
    /// Endpoints in descending order of priority, round-robin within a priority.
    endpoints: VecDeque<(Priority, EndpointIx)>,
}

/// The next entry to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// The first frame of this priority.
    Frame(Priority),
    /// This endpoint, whose frames have this priority.
    Endpoint(Priority, EndpointIx),
}

impl Next {
    /// The priority of the frame.
    pub fn priority(self) -> Priority {
        match self {
            Next::Frame(priority) | Next::Endpoint(priority, _) => priority,
        }
    }
}

/// The paths of pushed frames: none, one or several.
#[derive(Clone, Copy, Debug)]
enum Paths {
    /// No path yet.
    None,
    One(PathId),
    /// Several paths.
    Several,
}

/// The bit of endpoints in [`LimiterLine::waiting`].
const ENDPOINTS: u16 = 1 << PRIORITIES;

impl LimiterLine {
    /// Number of leading bytes that are touched if no endpoint waits.
    #[cfg(test)]
    pub const OFTEN_TOUCHED: usize = std::mem::offset_of!(LimiterLine, endpoints);

    pub fn new() -> LimiterLine {
        LimiterLine {
            waiting: 0,
            endpoint_was_last: false,
            endpoints: VecDeque::new(),
            frames: [List::EMPTY; PRIORITIES],
            paths: Paths::None,
        }
    }

    /// Returns true if nothing waits.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    /// Returns the next entry; `None` if nothing waits.
    pub fn next(&self) -> Option<Next> {
        let frame = self.pushed().checked_ilog2().map(|highest| Priority(highest as u8));
        let endpoint = self.endpoints.front().copied();
        match (frame, endpoint) {
            (None, None) => None,
            (Some(priority), None) => Some(Next::Frame(priority)),
            (Some(priority), Some((other, _)))
                if priority > other || priority == other && self.endpoint_was_last =>
            {
                Some(Next::Frame(priority))
            }
            (_, Some((priority, endpoint))) => Some(Next::Endpoint(priority, endpoint)),
        }
    }

    /// Returns the priority of the next frame if frames wait and no endpoint does.
    #[inline(always)]
    pub fn only_pushed(&self) -> Option<Priority> {
        // The bit of endpoints is the highest.
        let highest = self.waiting.checked_ilog2()?;
        (highest < ENDPOINTS.ilog2()).then_some(Priority(highest as u8))
    }

    /// Adds a path whose frames sources push.
    pub fn add_path(&mut self, path: PathId) {
        self.paths = if matches!(self.paths, Paths::None) { Paths::One(path) } else { Paths::Several };
    }

    /// Returns the path of all pushed frames, if there is only one. Avoids reading the first frame, which arrived long
    /// ago and is in no cache.
    #[inline(always)]
    pub fn only_path(&self) -> Option<PathId> {
        if let Paths::One(path) = self.paths { Some(path) } else { None }
    }

    /// The set of non-empty lists of frames.
    fn pushed(&self) -> u16 {
        self.waiting & !ENDPOINTS
    }

    /// Updates the bit of endpoints after some have left.
    fn note_endpoints(&mut self) {
        if self.endpoints.is_empty() {
            self.waiting &= !ENDPOINTS;
        }
    }

    /// Returns the list of a priority, and marks it as non-empty for a frame to be added.
    pub fn push_to(&mut self, priority: Priority) -> &mut List {
        self.waiting |= 1 << priority.0;
        &mut self.frames[usize::from(priority.0)]
    }

    /// The frames of a priority.
    pub fn list(&self, priority: Priority) -> &List {
        &self.frames[usize::from(priority.0)]
    }

    /// All lists of frames.
    pub fn lists(&self) -> &[List] {
        &self.frames
    }

    /// Removes the first frame of this priority.
    #[inline(always)]
    pub fn take(&mut self, priority: Priority, pool: &mut Pool) -> Waiting {
        let list = &mut self.frames[usize::from(priority.0)];
        let taken = pool.pop(list);
        if list.is_empty() {
            self.waiting &= !(1 << priority.0);
        }
        self.endpoint_was_last = false;
        taken
    }

    /// Appends an endpoint after those of its priority.
    pub fn come(&mut self, priority: Priority, endpoint: EndpointIx) {
        let place = self.endpoints.iter().rposition(|&(other, _)| other >= priority).map_or(0, |at| at + 1);
        self.endpoints.insert(place, (priority, endpoint));
        self.waiting |= ENDPOINTS;
    }

    /// Removes the first endpoint, for its turn.
    pub fn take_endpoint(&mut self) {
        self.endpoints.pop_front();
        self.note_endpoints();
        self.endpoint_was_last = true;
    }

    /// Removes an endpoint from the wait queue.
    pub fn leave(&mut self, endpoint: EndpointIx) {
        self.endpoints.retain(|&(_, other)| other != endpoint);
        self.note_endpoints();
    }

    /// Bytes of its table.
    pub fn memory_bytes(&self) -> usize {
        self.endpoints.capacity() * size_of::<(Priority, EndpointIx)>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use frame::Frame;
    use units::Time;

    fn endpoint(priority: u8, nth: u32) -> Next {
        Next::Endpoint(Priority(priority), EndpointIx::new(nth))
    }

    /// Serves the next entry; an endpoint is appended again.
    fn turn(line: &mut LimiterLine) -> Option<Next> {
        let next = line.next();
        if let Some(Next::Endpoint(priority, nth)) = next {
            line.take_endpoint();
            line.come(priority, nth);
        }
        next
    }

    #[test]
    fn the_highest_priority_goes_first_and_turns_are_within_one() {
        let mut line = LimiterLine::new();
        assert_eq!(line.next(), None);
        line.come(Priority(2), EndpointIx::new(20));
        line.come(Priority(5), EndpointIx::new(50));
        line.come(Priority(2), EndpointIx::new(21));
        line.come(Priority(5), EndpointIx::new(51));
        let turns: Vec<_> = (0..4).filter_map(|_| turn(&mut line)).collect();
        assert_eq!(turns, [endpoint(5, 50), endpoint(5, 51), endpoint(5, 50), endpoint(5, 51)]);
        line.leave(EndpointIx::new(50));
        line.leave(EndpointIx::new(51));
        let turns: Vec<_> = (0..3).filter_map(|_| turn(&mut line)).collect();
        assert_eq!(turns, [endpoint(2, 20), endpoint(2, 21), endpoint(2, 20)]);
    }

    #[test]
    fn one_path_is_known_and_several_are_not() {
        let mut line = LimiterLine::new();
        assert_eq!(line.only_path(), None);
        line.add_path(PathId(7));
        assert_eq!(line.only_path(), Some(PathId(7)));
        line.add_path(PathId(8));
        line.add_path(PathId(7));
        assert_eq!(line.only_path(), None);
    }

    #[test]
    fn frames_and_endpoints_of_a_priority_take_turns() {
        let (mut line, mut pool) = (LimiterLine::new(), Pool::new());
        let push = |line: &mut LimiterLine, pool: &mut Pool, priority| {
            pool.push(line.push_to(priority), &Frame::default(), Time::ZERO, None);
        };
        line.come(Priority(2), EndpointIx::new(20));
        push(&mut line, &mut pool, Priority(2));
        assert_eq!(turn(&mut line), Some(endpoint(2, 20)));
        assert_eq!(line.next(), Some(Next::Frame(Priority(2))));
        // A frame of a higher priority is served first, regardless of the turn.
        push(&mut line, &mut pool, Priority(3));
        assert_eq!(line.next(), Some(Next::Frame(Priority(3))));
        line.take(Priority(3), &mut pool);
        assert_eq!(line.next(), Some(endpoint(2, 20)));
    }
}
