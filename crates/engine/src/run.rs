//! The run loop: window by window, node by node, event by event.

use crate::coming::{ByNode, Coming};
use crate::windows::{NONE, ORDER_BITS};
use crate::{Event, Windows, World};
use std::cmp::Reverse;
use std::ops::Range;
use units::Time;

/// Maximum number of a node's events that are sorted by insertion. Lower in tests, whose nodes have few events.
const FEW: usize = if cfg!(test) { 3 } else { 24 };
/// Number of low bits of a sort word that hold the position of the event; the others hold its key.
const PLACE_BITS: u32 = 17;

/// Outcome of a run: how it ended, or why it returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunStatus {
    /// The limit was reached, or no event is pending before it.
    Done,
    /// The budget of events is used up. Call again to continue.
    More,
    /// The world stopped itself.
    Stopped,
    /// The world paused. All events up to [`Runner::now`] have run. Call again to continue.
    Paused,
}

/// Runs a world. Holds the scratch memory and the counters of the loop.
pub struct Runner<W: World> {
    pub(crate) windows: Windows<W::Event>,
    /// First slot of the list of each node's events in this window.
    head: Vec<u32>,
    /// Bit set of the nodes with events in this window.
    touched: Vec<u64>,
    /// This node's events as (key, slot).
    order: Vec<(u64, u32)>,
    /// Scratch memory for sorting them.
    numbers: Vec<u64>,
    sorted: Vec<(u64, u32)>,
    /// Prefetch walk over the next events, if the world is large enough for it.
    coming: Option<Box<Coming>>,
    rounds: u64,
    /// Time limit that the run has reached.
    reached: Time,
}

impl<W: World> Runner<W> {
    /// Creates a runner of `world`, which is one of `parts` parts, from time zero. `look_ahead` as in [`Windows::new`].
    pub fn new(world: &W, look_ahead: Time, parts: usize) -> Runner<W> {
        Runner {
            windows: Windows::new(look_ahead, world.places(), parts),
            head: vec![NONE; world.nodes()],
            touched: vec![0; world.nodes().div_ceil(64)],
            order: Vec::new(),
            numbers: Vec::new(),
            sorted: Vec::new(),
            coming: world.is_far().then(|| Box::new(Coming::new())),
            rounds: 0,
            reached: Time::ZERO,
        }
    }

    /// Returns the pending events. The first events of a run are pushed here.
    pub fn windows(&mut self) -> &mut Windows<W::Event> {
        &mut self.windows
    }
    /// Number of events that have run, including those processed ahead of their time.
    pub fn events(&self) -> u64 {
        self.windows.events()
    }
    /// Number of rounds: look-ahead periods in which at least one event ran, or a few more.
    pub fn rounds(&self) -> u64 {
        self.rounds
    }
    pub(crate) fn count_rounds(&mut self, rounds: u64) {
        self.rounds += rounds;
    }
    /// Progress of the run: the start of the window that ran last, or the limit when done.
    pub fn now(&self) -> Time {
        self.windows.start().max(self.reached)
    }

    /// Memory of pending events and scratch buffers, in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.windows.memory_bytes()
            + self.head.capacity() * size_of::<u32>()
            + self.touched.capacity() * size_of::<u64>()
            + (self.order.capacity() + self.sorted.capacity()) * size_of::<(u64, u32)>()
            + self.numbers.capacity() * size_of::<u64>()
    }

    /// Returns the last window before `limit`, and the event count at which to return; `None` if there is no such
    /// window.
    fn bounds(&mut self, limit: Time, budget: u64) -> Option<(u64, u64)> {
        self.windows.settle();
        Some((self.windows.last_before(limit)?, self.events().saturating_add(budget)))
    }

    /// Runs the events before `limit`; returns after about `budget` of them.
    pub fn run(&mut self, world: &mut W, limit: Time, budget: u64) -> RunStatus {
        let Some((last, stop_at)) = self.bounds(limit, budget) else { return RunStatus::Done };
        while self.events() < stop_at {
            // A single thread has nothing to do between two rounds.
            let first = self.windows.first();
            if first > last {
                self.reached = limit;
                return RunStatus::Done;
            }
            let end = self.windows.begin(first);
            while let Some(slot) = self.windows.open_next(end.min(last)) {
                self.run_window(world, slot);
                if world.stopped() {
                    return RunStatus::Stopped;
                }
                if self.events() >= stop_at {
                    break;
                }
            }
            self.rounds += self.windows.rounds_since(first);
            if end > last && self.events() < stop_at {
                self.run_last(world, last, limit);
                return RunStatus::Done;
            }
        }
        RunStatus::More
    }

    /// Variant of [`Runner::run`] that runs the nodes of a window together in order of time, and returns when the world
    /// pauses. At that point no node is ahead of another, and events may be pushed for any node at [`Runner::now`] or
    /// later.
    pub fn run_in_order(&mut self, world: &mut W, limit: Time, budget: u64) -> RunStatus {
        let Some((last, stop_at)) = self.bounds(limit, budget) else { return RunStatus::Done };
        while self.events() < stop_at {
            let first = self.windows.first();
            if first > last {
                break;
            }
            self.windows.begin(first);
            let Some(slot) = self.windows.open_next(first + 1) else { continue };
            self.run_node::<false, true>(world, slot, limit);
            self.rounds += 1;
            if world.stopped() {
                return RunStatus::Stopped;
            }
            if world.pauses() {
                self.windows.settle();
                return RunStatus::Paused;
            }
            if first == last {
                break;
            }
        }
        if self.events() >= stop_at && self.windows.first() <= last && self.windows.current() < last {
            return RunStatus::More;
        }
        self.reached = limit;
        RunStatus::Done
    }

    /// Runs the windows from `first` to `end`, which is at most a round later. Returns true if the run reached `limit`.
    pub(crate) fn run_windows(&mut self, world: &mut W, first: u64, end: u64, limit: Time) -> bool {
        let Some(last) = self.windows.last_before(limit) else { return true };
        if first > last {
            self.reached = limit;
            return true;
        }
        self.windows.begin(first);
        while let Some(slot) = self.windows.open_next(end.min(last)) {
            self.run_window(world, slot);
        }
        if end > last {
            self.run_last(world, last, limit);
        }
        end > last
    }

    /// Runs the window that contains the limit, and compares the time of each event with it.
    fn run_last(&mut self, world: &mut W, last: u64, limit: Time) {
        if let Some(slot) = self.windows.open_next(last + 1) {
            self.run_nodes::<false>(world, slot, limit);
        }
        self.reached = limit;
    }

    #[inline(always)]
    fn run_window(&mut self, world: &mut W, slot: u32) {
        if self.coming.is_some() {
            self.run_far_window(world, slot);
        } else {
            self.run_events::<false>(world, slot, Time::NEVER);
        }
    }

    /// Runs a window of a world that exceeds the caches, with prefetching. A separate function, so that small fabrics
    /// do not pay for it (2 % of their run time).
    #[inline(never)]
    fn run_far_window(&mut self, world: &mut W, slot: u32) {
        self.run_events::<true>(world, slot, Time::NEVER);
    }

    #[inline(always)]
    fn run_events<const FAR: bool>(&mut self, world: &mut W, slot: u32, limit: Time) {
        if self.windows.slots.next(slot) == NONE {
            self.fetch_ahead::<FAR>(world);
            self.windows.slots.free(slot);
            self.handle(world, *self.windows.slots.event(slot));
            if !self.windows.local.is_empty() {
                self.run_node::<FAR, false>(world, NONE, limit);
            }
        } else {
            self.run_nodes::<FAR>(world, slot, limit);
        }
    }

    /// Runs a window with several events, in a list from `slot` on.
    #[inline(never)]
    fn run_nodes<const FAR: bool>(&mut self, world: &mut W, slot: u32, limit: Time) {
        if FAR && let Some(coming) = &mut self.coming {
            coming.fetch_list(&self.windows);
        }
        let Range { start: lowest, end: highest } = if self.windows.is_crowded() {
            self.hand_out_crowd(world, slot)
        } else {
            self.hand_out(world, slot)
        };
        if FAR && let Some(coming) = &mut self.coming {
            let window = ByNode { touched: &self.touched, head: &self.head };
            coming.begin(world, &self.windows, &window, lowest..highest);
        }
        // In ascending order of nodes, so that large fabrics are traversed in the order of memory.
        for word in lowest..highest {
            let mut nodes = std::mem::take(&mut self.touched[word]);
            while nodes != 0 {
                let node = word * 64 + nodes.trailing_zeros() as usize;
                nodes &= nodes - 1;
                let head = std::mem::replace(&mut self.head[node], NONE);
                // A node with a single event needs no sorting.
                if self.windows.slots.next(head) == NONE && self.windows.slots.event(head).time() < limit {
                    self.fetch_ahead::<FAR>(world);
                    self.dispatch(world, head);
                    if !self.windows.local.is_empty() {
                        self.run_node::<FAR, false>(world, NONE, limit);
                    }
                } else {
                    self.run_node::<FAR, false>(world, head, limit);
                }
            }
        }
    }

    /// Distributes the events of a list to the lists of their nodes. Returns the range of words of [`Runner::touched`]
    /// that contain such nodes.
    #[inline(always)]
    fn hand_out(&mut self, world: &W, mut slot: u32) -> Range<usize> {
        // The event inserted last is the first of its bucket. Reversing the list gives each node its events in order of
        // insertion.
        let (mut lowest, mut highest, mut events) = (usize::MAX, 0, 0);
        while slot != NONE {
            let node = world.node_of(self.windows.slots.event(slot)) as usize;
            let head = std::mem::replace(&mut self.head[node], slot);
            let word = node / 64;
            self.touched[word] |= 1 << (node % 64);
            (lowest, highest, events) = (lowest.min(word), highest.max(word), events + 1);
            slot = self.windows.slots.relink(slot, head);
        }
        self.windows.note_crowd(events);
        lowest..highest + 1
    }

    /// Variant of `hand_out` for a window that contains a large part of all events: it scans the slots in memory order,
    /// which a processor prefetches, instead of following the list.
    #[inline(never)]
    fn hand_out_crowd(&mut self, world: &W, slot: u32) -> Range<usize> {
        debug_assert!(self.windows.holds_what_is_in_slots(slot), "a window's list and its slots differ");
        let mut events = 0;
        for slot in 0..self.windows.slots.len() {
            if !self.windows.is_current(slot) {
                continue;
            }
            let node = world.node_of(self.windows.slots.event(slot)) as usize;
            let head = std::mem::replace(&mut self.head[node], slot);
            self.touched[node / 64] |= 1 << (node % 64);
            self.windows.slots.relink(slot, head);
            events += 1;
        }
        self.windows.note_crowd(events);
        0..self.touched.len()
    }

    /// Advances the prefetch walk. Called for each event that runs.
    #[inline(always)]
    fn fetch_ahead<const FAR: bool>(&mut self, world: &W) {
        if FAR && let Some(coming) = &mut self.coming {
            coming.step(world, &self.windows, &ByNode { touched: &self.touched, head: &self.head });
        }
    }

    /// Runs the events of one node in this window, including those that it schedules for itself meanwhile. With
    /// `PAUSES`, runs the events of all nodes, up to the time at which the world pauses.
    #[inline(never)]
    fn run_node<const FAR: bool, const PAUSES: bool>(&mut self, world: &mut W, head: u32, mut limit: Time) {
        let mut slot = head;
        while slot != NONE {
            self.order.push((self.windows.key(slot), slot));
            slot = self.windows.slots.next(slot);
        }
        self.sort_by_key();
        if FAR && let Some(coming) = &mut self.coming {
            coming.most_of_node = coming.most_of_node.max(self.order.len());
        }
        let mut place = 0;
        let mut given = self.order.first().copied();
        loop {
            let slot = match (given, self.windows.local.peek().copied()) {
                (Some((key, _)), Some(Reverse((made, slot)))) if made < key => {
                    self.windows.local.pop();
                    slot
                }
                (Some((_, slot)), _) => {
                    self.fetch_ahead::<FAR>(world);
                    place += 1;
                    given = self.order.get(place).copied();
                    slot
                }
                (None, Some(Reverse((_, slot)))) => {
                    self.windows.local.pop();
                    slot
                }
                (None, None) => break,
            };
            let now = self.windows.slots.event(slot).time();
            if now < limit {
                self.windows.follows = given.map_or(u64::MAX, |(key, _)| key);
                self.windows.slots.free(slot);
                self.handle_apart(world, slot);
                if PAUSES && world.pauses() {
                    self.reached = now;
                    limit = now + Time::from_ps(1);
                }
            } else {
                self.windows.put_back(slot);
            }
        }
        self.order.clear();
        self.windows.follows = u64::MAX;
    }

    /// Sorts a node's events of a window.
    #[inline(always)]
    fn sort_by_key(&mut self) {
        if self.order.len() <= FEW { insert_in_order(&mut self.order) } else { self.sort_many() }
    }

    /// Sorts many events as single words that hold key and position: a processor sorts words without branches, twice as
    /// fast.
    #[inline(never)]
    fn sort_many(&mut self) {
        let (all, many) = (self.order.iter().fold(0, |all, &(key, _)| all | key), self.order.len() as u64);
        // With a long look-ahead, a time within a window may need more bits than a sort word has.
        if all >> (u64::BITS - PLACE_BITS) != 0 || many >> PLACE_BITS != 0 {
            return self.order.sort_unstable_by_key(|&(key, _)| key);
        }
        let numbers = (0..many).zip(&self.order).map(|(place, &(key, _))| key << PLACE_BITS | place);
        self.numbers.extend(numbers);
        self.numbers.sort_unstable();
        let places = self.numbers.drain(..).map(|number| number as usize & ((1 << PLACE_BITS) - 1));
        self.sorted.extend(places.map(|place| self.order[place]));
        std::mem::swap(&mut self.sorted, &mut self.order);
        self.sorted.clear();
    }

    #[inline(always)]
    fn dispatch(&mut self, world: &mut W, slot: u32) {
        self.windows.slots.free(slot);
        let event = *self.windows.slots.event(slot);
        if world.is_common(&event) {
            self.handle(world, event);
        } else {
            self.handle_apart(world, slot);
        }
    }

    /// Handles the event in a slot that has just been freed: the slot keeps its event until another one is created. A
    /// separate function, so that the loops have the registers for the common case.
    #[inline(never)]
    fn handle_apart(&mut self, world: &mut W, slot: u32) {
        self.handle(world, *self.windows.slots.event(slot));
    }

    #[inline(always)]
    fn handle(&mut self, world: &mut W, event: W::Event) {
        debug_assert!(event.order() < 1 << ORDER_BITS);
        self.windows.count(1);
        world.handle(event, &mut self.windows);
    }
}

/// Sorts by key. A node's list for a window is short and mostly sorted already, because events are usually scheduled in
/// order of time. Insertion is then a single pass of comparisons.
#[inline]
fn insert_in_order(order: &mut [(u64, u32)]) {
    for next in 1..order.len() {
        let entry = order[next];
        let mut at = next;
        while at > 0 && order[at - 1].0 > entry.0 {
            order[at] = order[at - 1];
            at -= 1;
        }
        order[at] = entry;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Shard, Way, Workers};
    use proptest::prelude::*;

    /// A token that hops from node to node and stores its luggage in the part that runs the node. Each node records the
    /// tokens that it handles.
    #[derive(Clone, Copy, Debug, Default)]
    struct Token {
        time: u64,
        node: u32,
        id: u32,
        hops: u32,
        /// Index of its luggage.
        slot: u32,
    }
    impl Event for Token {
        fn time(&self) -> Time {
            Time::from_ps(self.time)
        }
        fn order(&self) -> u32 {
            self.id
        }
    }
    struct Nodes {
        seen: Vec<Vec<(u64, u32, u64)>>,
        luggage: Vec<u64>,
        look_ahead: u64,
        places: usize,
        /// Number of picoseconds in the test's unit of time. With more of them, windows are narrow.
        unit: u64,
        /// Time from which on the first token stops the world.
        stops_at: u64,
        stopped: bool,
    }
    impl World for Nodes {
        type Event = Token;
        type Cargo = u64;
        fn nodes(&self) -> usize {
            self.seen.len()
        }
        fn places(&self) -> usize {
            self.places
        }
        fn node_of(&self, token: &Token) -> u32 {
            token.node
        }
        fn handle(&mut self, token: Token, windows: &mut Windows<Token>) {
            self.stopped |= token.time >= self.stops_at;
            let luggage = &mut self.luggage[token.slot as usize];
            *luggage = luggage.wrapping_mul(31).wrapping_add(token.time);
            self.seen[token.node as usize].push((token.time, token.id, *luggage));
            if token.hops == 0 {
                return;
            }
            let mix = (token.time / self.unit * 31 + u64::from(token.id) * 17 + u64::from(token.hops)) % 97;
            // Every third hop stays at the node, after any delay; the others go to another node after the look-ahead.
            let (node, delay) = if mix.is_multiple_of(3) {
                (token.node, 1 + mix * self.unit)
            } else {
                (
                    (token.node + mix as u32) % self.seen.len() as u32,
                    self.look_ahead + self.unit * if mix.is_multiple_of(2) { mix } else { mix * mix * mix },
                )
            };
            let next = Token { time: token.time + delay, node, hops: token.hops - 1, ..token };
            if node == token.node { windows.push(next) } else { windows.send(next, || node) }
        }
        fn stopped(&self) -> bool {
            self.stopped
        }
        fn is_far(&self) -> bool {
            self.seen.len() % 2 == 1
        }
        fn fetch<const STEP: usize>(&self, _: &Token, found: u32) -> u32 {
            assert_eq!(found as usize, STEP, "steps run in order");
            found + 1
        }
        fn is_common(&self, token: &Token) -> bool {
            token.id.is_multiple_of(2)
        }
        fn pack(&mut self, mail: &mut [Token], cargo: &mut Vec<u64>) {
            cargo.extend(mail.iter().map(|token| std::mem::take(&mut self.luggage[token.slot as usize])));
        }
        fn unpack(&mut self, mail: &mut [Token], cargo: &mut Vec<u64>) {
            assert_eq!(mail.len(), cargo.len());
            for (token, luggage) in mail.iter_mut().zip(cargo.drain(..)) {
                token.slot = self.luggage.len() as u32;
                self.luggage.push(luggage);
            }
        }
    }

    /// Runs a world with one globally sorted list of events.
    fn plain(mut world: Nodes, tokens: &[Token], limit: u64) -> Vec<Vec<(u64, u32, u64)>> {
        let mut pending = tokens.to_vec();
        while let Some(at) = (0..pending.len()).min_by_key(|&i| (pending[i].time, pending[i].id)) {
            let token = pending.swap_remove(at);
            if token.time < limit {
                let mut out = Windows::new(Time::from_ps(2), 1, 1);
                world.handle(token, &mut out);
                pending.extend(out.pending().copied());
            }
        }
        world.seen
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn windows_agree_with_one_sorted_list(
            nodes in 1usize..6,
            look_ahead in 2u64..200,
            starts in proptest::collection::vec((0u64..20_000, 0u32..6, 0u32..40), 1..24),
            limit in 1u64..40_000,
            stops in proptest::collection::vec(0u64..40_000, 0..60),
            budget in 1u64..50,
            places in proptest::sample::select(vec![1, 100_000]),
            unit in proptest::sample::select(vec![1, 3_000, 20_000, 300_000]),
            // Few or many events per window.
            spread in proptest::sample::select(vec![20_000, 200]),
        ) {
            let (look_ahead, limit) = (look_ahead * unit, limit * unit * spread / 20_000);
            let nodes_at_rest = || Nodes {
                seen: vec![Vec::new(); nodes], luggage: (0..starts.len() as u64).collect(), look_ahead, places, unit,
                stops_at: u64::MAX, stopped: false,
            };
            let tokens: Vec<Token> = starts.iter().enumerate()
                .map(|(id, &(time, node, hops))| Token {
                    time: time % spread * unit, node: node % nodes as u32, id: id as u32, hops, slot: id as u32,
                })
                .collect();
            let mut world = nodes_at_rest();
            let mut runner = Runner::new(&world, Time::from_ps(look_ahead), 1);
            for &token in &tokens {
                runner.windows().push(token);
            }
            // Intermediate limits, possibly in the middle of a window.
            let mut stops: Vec<u64> = stops.iter().map(|stop| stop * unit * spread / 20_000).filter(|&stop| stop < limit).collect();
            stops.sort_unstable();
            for stop in stops.into_iter().chain([limit]) {
                while runner.run(&mut world, Time::from_ps(stop), budget) == RunStatus::More {}
            }
            prop_assert_eq!(&world.seen, &plain(nodes_at_rest(), &tokens, limit));
            // Two and three parts: on one thread, on several, and on one and several in turn.
            for parts in 2..4u8 {
                let owner_of: Vec<u8> = (0..nodes).map(|node| node as u8 % parts).collect();
                for ways in [&[Way::Alone][..], &[Way::Together], &[Way::Together, Way::Alone]] {
                    let mut shards: Vec<Shard<Nodes>> = (0..parts).map(|home| {
                        let world = nodes_at_rest();
                        let mut runner = Runner::new(&world, Time::from_ps(look_ahead), parts.into());
                        for &token in tokens.iter().filter(|token| owner_of[token.node as usize] == home) {
                            runner.windows().push(token);
                        }
                        Shard { world, runner }
                    }).collect();
                    let mut ways = ways.iter().cycle();
                    loop {
                        let mut workers = Workers::new(&mut shards, owner_of.clone().into(), ways.next().copied());
                        if workers.run(&mut shards, Time::from_ps(limit), budget) != Ok(RunStatus::More) {
                            break;
                        }
                    }
                    for (node, seen) in world.seen.iter().enumerate() {
                        prop_assert_eq!(seen, &shards[usize::from(owner_of[node])].world.seen[node]);
                    }
                }
            }
            // Events beyond the limit are still pending: a second run continues as if there had been no limit.
            while runner.run(&mut world, Time::from_ps(2 * limit), budget) == RunStatus::More {}
            prop_assert_eq!(&world.seen, &plain(nodes_at_rest(), &tokens, 2 * limit));
        }

        #[test]
        fn a_world_that_stops_has_come_no_further_than_a_look_ahead_on_any_number_of_threads(
            nodes in 1usize..6,
            look_ahead in 2u64..200,
            starts in proptest::collection::vec((0u64..20_000, 0u32..6, 1u32..40), 1..12),
            stops_at in 0u64..30_000,
            budget in 1u64..50,
            unit in proptest::sample::select(vec![1, 3_000, 20_000]),
        ) {
            let nodes_at_rest = |stops_at| Nodes {
                seen: vec![Vec::new(); nodes], luggage: (0..starts.len() as u64).collect(),
                look_ahead: look_ahead * unit, places: 1, unit, stops_at, stopped: false,
            };
            let token = |(id, &(time, node, hops)): (u32, &(u64, u32, u32))| {
                Token { time: time * unit, node: node % nodes as u32, id, hops, slot: id }
            };
            let tokens: Vec<Token> = (0..).zip(&starts).map(token).collect();
            let all = plain(nodes_at_rest(u64::MAX), &tokens, u64::MAX);
            let times = all.iter().flatten().map(|&(time, ..)| time);
            let stop = times.filter(|&time| time >= stops_at * unit).min();
            for parts in 1..4u8 {
                let owner_of: Vec<u8> = (0..nodes).map(|node| node as u8 % parts).collect();
                let mut shards: Vec<Shard<Nodes>> = (0..parts).map(|home| {
                    let world = nodes_at_rest(stops_at * unit);
                    let mut runner = Runner::new(&world, Time::from_ps(look_ahead * unit), parts.into());
                    for &token in tokens.iter().filter(|token| owner_of[token.node as usize] == home) {
                        runner.windows().push(token);
                    }
                    Shard { world, runner }
                }).collect();
                let mut workers = (parts > 1).then(|| Workers::new(&mut shards, owner_of.clone().into(), Some(Way::Together)));
                let mut run = |shards: &mut [Shard<Nodes>], limit| loop {
                    let end = match &mut workers {
                        Some(workers) => workers.run(shards, limit, budget).unwrap(),
                        None => shards[0].runner.run(&mut shards[0].world, limit, budget),
                    };
                    if end != RunStatus::More {
                        break end;
                    }
                };
                let seen = |shards: &[Shard<Nodes>]| -> Vec<_> {
                    (0..nodes).map(|node| shards[usize::from(owner_of[node])].world.seen[node].clone()).collect()
                };
                let end = run(&mut shards, Time::NEVER);
                let Some(stop) = stop else {
                    prop_assert_eq!(end, RunStatus::Done);
                    continue;
                };
                // Every event up to that time has been seen, and none that is more than a look-ahead later.
                let (last, seen_then) = (stop + look_ahead * unit, seen(&shards));
                for (all, seen) in all.iter().zip(&seen_then) {
                    prop_assert!(all.starts_with(seen));
                    prop_assert!(seen.len() >= all.iter().take_while(|&&(time, ..)| time <= stop).count());
                    prop_assert!(seen.iter().all(|&(time, ..)| time <= last), "{} parts: {seen:?} beyond {last}", parts);
                }
                // All parts continue from there to the same time, and no event is lost.
                for Shard { world, .. } in &mut shards {
                    (world.stops_at, world.stopped) = (u64::MAX, false);
                }
                prop_assert_eq!(run(&mut shards, Time::from_ps(last + 1)), RunStatus::Done);
                let until: Vec<Vec<_>> = all.iter()
                    .map(|all| all.iter().copied().take_while(|&(time, ..)| time <= last).collect())
                    .collect();
                prop_assert_eq!(seen(&shards), until);
            }
        }
    }
}
