//! Prefetching: fetches the memory of events before they run.
//!
//! In a window with many events the nodes that run are known, and their order. A walk over their events stays some
//! events ahead of the running one. For each event it first prefetches the event itself and then, by calls of
//! [`World::fetch`], the data that the event needs. Each call reads the memory that the previous one has prefetched.
//! Where windows hold few events, the walk covers those of the next windows.
//!
//! Prefetching is a guess, because new events may be scheduled, and lists may change during the walk. A useless
//! prefetch costs time but does not change results.

use crate::windows::{NONE, Windows};
use crate::{Event, World};
use std::ops::Range;

/// Number of steps of [`World::fetch`].
const STEPS: usize = 5;
/// Range of the number of events between two steps of one event.
const APART: std::ops::RangeInclusive<usize> = 10..=40;
/// With fewer events than this in a window, the walk continues in the following windows. Lower in tests, whose windows
/// hold few events.
const FEW: u32 = if cfg!(test) { 4 } else { 120 };
/// When the walk covers several windows, it stays about this many events ahead, and at most `MOST_WINDOWS` windows.
const MOST_EVENTS: u32 = 120;
const MOST_WINDOWS: u32 = 64;
/// Size of the ring. It exceeds the number of events between the first step of an event and its execution.
const RING: usize = 256;

/// Prefetch walk over the next events.
pub(crate) struct Coming {
    /// Slot of each event, and the result of its last step.
    ring: [(u32, u32); RING],
    /// Number of events that the walk has passed.
    passed: usize,
    /// Number of events between two steps.
    apart: usize,
    /// Maximum number of events of one node in the last window. A node's events run in another order than that of the
    /// walk, which therefore has to be ahead by more than this number.
    pub most_of_node: usize,
    /// The next slot of the walk, already prefetched.
    slot: u32,
    /// True if the walk goes from node to node within a window; false if it goes from window to window.
    by_nodes: bool,
    /// The first event of the next node.
    next_node: u32,
    /// Position of the walk among the nodes of the window: the index of the word, the remaining bits of that word, and
    /// the last word.
    word: usize,
    nodes: u64,
    end: usize,
    /// The window whose list the walk has reached or, when it goes by nodes, the next window.
    window: u64,
    /// Maximum number of windows ahead.
    reach: u64,
    /// Next slot of that window's list, which is read before the window begins.
    later: u32,
    /// Slots of that list that have been read so far. [`Coming::fetch_list`] prefetches them again.
    passed_by: Vec<u32>,
}

/// The events of a window by node.
pub(crate) struct ByNode<'a> {
    /// Bit set of the nodes with events.
    pub touched: &'a [u64],
    /// First event of each node.
    pub head: &'a [u32],
}

impl Coming {
    pub fn new() -> Coming {
        Coming {
            ring: [(NONE, 0); RING],
            passed: 0,
            apart: *APART.start(),
            most_of_node: 0,
            slot: NONE,
            by_nodes: false,
            next_node: NONE,
            word: 0,
            nodes: 0,
            end: 0,
            window: 0,
            reach: MOST_WINDOWS.into(),
            later: NONE,
            passed_by: Vec::new(),
        }
    }

    /// Prefetches all events of the next window at once, before it begins. Following its list would fetch them one
    /// after the other.
    #[inline(never)]
    pub fn fetch_list<E: Event>(&mut self, windows: &Windows<E>) {
        self.passed_by.drain(..).for_each(|slot| windows.slots.fetch(slot));
    }

    /// Starts the walk for a window whose events are at the nodes in these words.
    #[inline(never)]
    pub fn begin<W: World>(
        &mut self,
        world: &W,
        windows: &Windows<W::Event>,
        window: &ByNode,
        words: Range<usize>,
    ) {
        let events = windows.last_crowd();
        self.reach = u64::from((MOST_EVENTS / events.max(1)).min(MOST_WINDOWS)) + 1;
        self.by_nodes = events >= FEW;
        if !self.by_nodes {
            return;
        }
        let apart = (std::mem::take(&mut self.most_of_node) / 4).clamp(*APART.start(), *APART.end());
        if apart != self.apart {
            // Discards the pending steps of earlier events.
            (self.apart, self.ring) = (apart, [(NONE, 0); RING]);
        }
        (self.word, self.nodes, self.end) = (words.start, window.touched[words.start], words.end);
        self.slot = self.enter_node(windows, window);
        self.next_node = self.enter_node(windows, window);
        self.window = windows.current();
        // A window that is run by scanning all slots does not read the list of the next window.
        self.later = if windows.was_crowded() { NONE } else { self.enter_window(windows) };
        for _ in 0..apart * (STEPS + 1) {
            self.step_by_nodes(world, windows, window);
        }
    }

    /// Advances the walk by one event. Called for each event that runs.
    #[inline(never)]
    pub fn step<W: World>(&mut self, world: &W, windows: &Windows<W::Event>, window: &ByNode) {
        if self.by_nodes {
            self.step_by_nodes(world, windows, window);
        } else {
            // Two events per step; otherwise the walk would never get ahead.
            self.step_by_windows(world, windows);
            self.step_by_windows(world, windows);
        }
    }

    #[inline(always)]
    fn step_by_nodes<W: World>(&mut self, world: &W, windows: &Windows<W::Event>, window: &ByNode) {
        let slot = self.slot;
        if slot != NONE {
            self.slot = windows.slots.next(slot);
            if self.slot == NONE {
                self.slot = self.next_node;
                self.next_node = self.enter_node(windows, window);
            } else {
                windows.slots.fetch(self.slot);
            }
        }
        if self.later != NONE {
            self.passed_by.push(self.later);
            self.later = windows.slots.next(self.later);
            windows.slots.fetch(self.later);
        }
        self.take_steps(world, windows, slot);
    }

    #[inline(always)]
    fn step_by_windows<W: World>(&mut self, world: &W, windows: &Windows<W::Event>) {
        if self.window <= windows.current() {
            // The run has reached or passed the walk.
            self.window = windows.current();
            self.slot = NONE;
        }
        let slot = self.slot;
        self.slot = if slot == NONE { NONE } else { windows.slots.next(slot) };
        if self.slot == NONE {
            self.slot = self.enter_window(windows);
        } else {
            windows.slots.fetch(self.slot);
        }
        self.take_steps(world, windows, slot);
    }

    #[inline(always)]
    fn take_steps<W: World>(&mut self, world: &W, windows: &Windows<W::Event>, slot: u32) {
        self.ring[self.passed % RING] = (slot, 0);
        // The calls are written out, so that the processor predicts the target of each branch separately.
        self.take::<0, W>(world, windows);
        self.take::<1, W>(world, windows);
        self.take::<2, W>(world, windows);
        self.take::<3, W>(world, windows);
        self.take::<4, W>(world, windows);
        self.passed = self.passed.wrapping_add(1);
    }

    #[inline(always)]
    fn take<const STEP: usize, W: World>(&mut self, world: &W, windows: &Windows<W::Event>) {
        let (slot, found) = &mut self.ring[self.passed.wrapping_sub(STEP * self.apart) % RING];
        if *slot != NONE {
            *found = world.fetch::<STEP>(windows.slots.event(*slot), *found);
        }
    }

    /// Returns the first event of the next node, and prefetches it.
    #[inline(always)]
    fn enter_node<E: Event>(&mut self, windows: &Windows<E>, window: &ByNode) -> u32 {
        while self.nodes == 0 {
            self.word += 1;
            if self.word >= self.end {
                return NONE;
            }
            self.nodes = window.touched[self.word];
        }
        let node = self.word * 64 + self.nodes.trailing_zeros() as usize;
        self.nodes &= self.nodes - 1;
        windows.slots.fetch(window.head[node]);
        window.head[node]
    }

    /// Returns the first event of the next window, and prefetches it. Looks only a few windows ahead, because lines
    /// that are fetched earlier are evicted before they are needed.
    #[inline(always)]
    fn enter_window<E: Event>(&mut self, windows: &Windows<E>) -> u32 {
        let slot = windows.first_after(&mut self.window, self.reach);
        windows.slots.fetch(slot);
        slot
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{RunStatus, Runner};
    use std::cell::RefCell;
    use std::collections::BTreeMap;
    use units::Time;

    #[derive(Clone, Copy, Debug, Default)]
    struct Call {
        at: u64,
        nth: u32,
    }
    impl Event for Call {
        fn time(&self) -> Time {
            Time::from_ps(self.at)
        }
        fn order(&self) -> u32 {
            self.nth
        }
    }
    /// Records the number of steps for each pending call, and the number of steps that had run when a call was handled.
    #[derive(Default)]
    struct Calls {
        steps: RefCell<BTreeMap<u32, usize>>,
        found: Vec<usize>,
    }
    impl World for Calls {
        type Event = Call;
        type Cargo = ();
        fn nodes(&self) -> usize {
            100
        }
        fn places(&self) -> usize {
            1
        }
        fn node_of(&self, call: &Call) -> u32 {
            call.nth % 100
        }
        fn handle(&mut self, call: Call, _: &mut Windows<Call>) {
            self.found.push(self.steps.borrow_mut().remove(&call.nth).unwrap_or(0));
        }
        fn is_far(&self) -> bool {
            true
        }
        fn fetch<const STEP: usize>(&self, call: &Call, _: u32) -> u32 {
            self.steps.borrow_mut().insert(call.nth, STEP + 1);
            0
        }
        fn stopped(&self) -> bool {
            false
        }
    }

    /// Number of calls per thousand for which all steps had run before they were handled, with events `apart` from each
    /// other.
    fn fetched(apart: u64) -> usize {
        let mut world = Calls::default();
        let mut runner = Runner::new(&world, Time::from_us(1), 1);
        (0..1_000).for_each(|nth| runner.windows().push(Call { at: 1 + u64::from(nth) * apart, nth }));
        assert_eq!(runner.run(&mut world, Time::from_us(100_000), u64::MAX), RunStatus::Done);
        assert_eq!(world.found.len(), 1_000);
        world.found.iter().filter(|&&steps| steps == STEPS).count()
    }

    #[test]
    fn what_comes_is_fetched_before() {
        // All events in one window; several in each of many windows; one in each.
        assert_eq!(fetched(0), 1_000);
        for apart in [30_000, 100_000] {
            let fetched = fetched(apart);
            assert!(fetched > 800, "{fetched} of 1,000 calls {apart} ps apart");
        }
    }
}
