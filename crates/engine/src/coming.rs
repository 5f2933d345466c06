//! Prefetching: fetches the memory of events before they run.
//!
//! In a window with many events the nodes that run are known, and their order. A walk over their events stays some way
//! ahead of the running one: it fetches the event first, and then calls [`World::fetch`] step by step to fetch
//! the data that the event needs. Each step reads what the previous one has fetched. Where windows hold few events, the walk
//! covers those of the next windows.
//!
//! All of this is a guess: events are made meanwhile, and a list may change under the walk. A useless fetch costs
//! time, nothing else.

use crate::windows::{NONE, Windows};
use crate::{Event, World};
use std::ops::Range;

/// Steps of [`World::fetch`].
const STEPS: usize = 5;
/// Events between two steps of one event, at least and at most.
const APART: std::ops::RangeInclusive<usize> = 10..=40;
/// With fewer events in a window the walk continues in the following windows. Tests have few.
const FEW: u32 = if cfg!(test) { 4 } else { 120 };
/// There the walk stays about this many events ahead, and at most `MOST_WINDOWS` windows.
const MOST_EVENTS: u32 = 120;
const MOST_WINDOWS: u32 = 64;
/// More than the number of events between the first step of an event and the event.
const RING: usize = 256;

/// The walk over the events that run soon.
pub(crate) struct Coming {
    /// Slots of events, and the results of their last step.
    ring: [(u32, u32); RING],
    /// Number of events that the walk has passed.
    passed: usize,
    /// Events between two steps.
    apart: usize,
    /// The maximum number of events of a node in the last window. They run in another order than that of the walk, which
    /// therefore has to be further ahead than that.
    pub most_of_node: usize,
    /// The next slot of the walk, already fetched.
    slot: u32,
    /// The walk is over nodes one after the other, and not over windows.
    by_nodes: bool,
    /// The first event of the next node.
    next_node: u32,
    /// Position of the walk among the nodes of the window: a word of them, its remaining bits, and the last word.
    word: usize,
    nodes: u64,
    end: usize,
    /// The window whose list it is at, or, by nodes, the next one.
    window: u64,
    /// Maximum number of windows ahead.
    reach: u64,
    /// A slot of that window's list, which is read before the window begins.
    later: u32,
    /// Events that the walk has passed there.
    passed_by: Vec<u32>,
}

/// The events of a window by node.
pub(crate) struct ByNode<'a> {
    /// Nodes with events, a bit each.
    pub touched: &'a [u64],
    /// The first event of each.
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

    /// A window is about to begin: fetches at once the events that its list would otherwise fetch one after the other.
    #[inline(never)]
    pub fn fetch_list<E: Event>(&mut self, windows: &Windows<E>) {
        self.passed_by.drain(..).for_each(|slot| windows.slots.fetch(slot));
    }

    /// A window begins with events at the nodes of these words.
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
            // Steps that have begun are abandoned.
            (self.apart, self.ring) = (apart, [(NONE, 0); RING]);
        }
        (self.word, self.nodes, self.end) = (words.start, window.touched[words.start], words.end);
        self.slot = self.enter_node(windows, window);
        self.next_node = self.enter_node(windows, window);
        self.window = windows.current();
        // Where all slots are scanned, the list of the next window is not read.
        self.later = if windows.was_crowded() { NONE } else { self.enter_window(windows) };
        for _ in 0..apart * (STEPS + 1) {
            self.step_by_nodes(world, windows, window);
        }
    }

    /// An event runs: the walk advances by one as well.
    #[inline(never)]
    pub fn step<W: World>(&mut self, world: &W, windows: &Windows<W::Event>, window: &ByNode) {
        if self.by_nodes {
            self.step_by_nodes(world, windows, window);
        } else {
            // By two; otherwise the walk would never get ahead.
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
            // The run has reached the walk, or passed it.
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
        // Each written out: then the processor learns the target of each branch separately.
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

    /// Returns the first event of the next node, which is fetched.
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

    /// Returns the first event of the next window, which is fetched. Only some windows ahead: otherwise the fetched lines are
    /// evicted before they are needed.
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
    /// Records the number of steps for each pending call, and the number of steps that each handled call had.
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

    /// Number of calls per thousand, at this distance, that had all steps before they were handled.
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
        // All in one window; several in each of many; one in each.
        assert_eq!(fetched(0), 1_000);
        for apart in [30_000, 100_000] {
            let fetched = fetched(apart);
            assert!(fetched > 800, "{fetched} of 1,000 calls {apart} ps apart");
        }
    }
}
