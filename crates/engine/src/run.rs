//! The run loop: window by window, node by node, event by event.

use crate::windows::{Keyed, NONE, ORDER_BITS};
use crate::{Event, Windows, World};
use units::Time;

/// How a run ended or why it came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// The end was reached, or nothing is left to happen before it.
    Done,
    /// The budget of events is used up; call again.
    More,
    /// The world stopped itself.
    Stopped,
}

/// Runs a world. Holds the scratch memory of the loop and counts.
pub struct Runner<W: World> {
    pub(crate) windows: Windows<W::Event>,
    /// Head of the list of this window's events, a node.
    head: Vec<u32>,
    /// Nodes with events in this window, in order of first appearance.
    touched: Vec<u32>,
    /// This node's events as (key, slot).
    order: Vec<(u64, u32)>,
    events: u64,
    pub(crate) now: Time,
}

impl<W: World> Runner<W> {
    /// A run of `world` from time zero; `look_ahead` as in [`Windows::new`].
    pub fn new(world: &W, look_ahead: Time) -> Runner<W> {
        Runner {
            windows: Windows::new(look_ahead),
            head: vec![NONE; world.nodes()],
            touched: Vec::new(),
            order: Vec::new(),
            events: 0,
            now: Time::ZERO,
        }
    }

    /// Pending events; also the place to push the first ones.
    pub fn windows(&mut self) -> &mut Windows<W::Event> {
        &mut self.windows
    }
    /// Events that happened.
    pub fn events(&self) -> u64 {
        self.events
    }
    /// How far the run has come: the start of the window that ran last, or the limit when done.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Bytes of pending events and scratch memory.
    pub fn memory_bytes(&self) -> usize {
        let places = self.head.capacity() + self.touched.capacity();
        self.windows.memory_bytes()
            + places * size_of::<u32>()
            + self.order.capacity() * size_of::<(u64, u32)>()
    }

    /// Lets happen what lies before `limit`, and comes back after about `budget` events.
    pub fn run(&mut self, world: &mut W, limit: Time, budget: u64) -> Pace {
        let stop_at = self.events.saturating_add(budget);
        self.settle();
        while self.events < stop_at {
            let Some(next) = self.windows.next().filter(|&next| self.windows.start_of(next) < limit) else {
                self.now = limit;
                return Pace::Done;
            };
            self.run_window(world, next, limit);
            if world.stopped() {
                return Pace::Stopped;
            }
            if self.windows.end() >= limit {
                self.now = limit;
                return Pace::Done;
            }
        }
        Pace::More
    }

    /// Before the first window, events at time zero are "within the running window".
    pub(crate) fn settle(&mut self) {
        while let Some(Keyed { event, .. }) = self.windows.local.pop() {
            self.windows.put_back(event);
        }
    }

    /// Runs a window, counted from the running one.
    pub(crate) fn run_window(&mut self, world: &mut W, next: u64, limit: Time) {
        let mut slot = self.windows.advance(next);
        if slot == NONE {
            return;
        }
        if self.windows.slots.next(slot) == NONE {
            let event = self.windows.slots.take(slot);
            self.happen(world, event, limit);
            self.finish_node(world, limit);
            self.now = event.time();
            return;
        }
        // The last event made is the first of its bucket; turned round, each node's come in the order of making.
        self.now = self.windows.slots.event(slot).time();
        while slot != NONE {
            slot = self.windows.slots.relink(slot, |event| {
                let node = world.node_of(event);
                let head = std::mem::replace(&mut self.head[node as usize], slot);
                if head == NONE {
                    self.touched.push(node);
                }
                head
            });
        }
        for place in 0..self.touched.len() {
            let head = std::mem::replace(&mut self.head[self.touched[place] as usize], NONE);
            self.run_node(world, head, limit);
        }
        self.touched.clear();
    }

    /// One node's events of this window, those included that it makes for itself on the way.
    #[inline]
    fn run_node(&mut self, world: &mut W, head: u32, limit: Time) {
        if self.windows.slots.next(head) == NONE {
            // A node with a single event needs no sorting.
            let event = self.windows.slots.take(head);
            self.happen(world, event, limit);
        } else {
            let mut slot = head;
            while slot != NONE {
                self.order.push((self.windows.key(self.windows.slots.event(slot)), slot));
                slot = self.windows.slots.next(slot);
            }
            earliest_first(&mut self.order);
            for place in 0..self.order.len() {
                let (key, slot) = self.order[place];
                while let Some(earlier) = self.windows.local.peek()
                    && earlier.key < key
                {
                    self.pop_local(world, limit);
                }
                let event = self.windows.slots.take(slot);
                self.happen(world, event, limit);
            }
            self.order.clear();
        }
        self.finish_node(world, limit);
    }

    /// What the node has made for itself within the window and is still to come.
    #[inline]
    fn finish_node(&mut self, world: &mut W, limit: Time) {
        while !self.windows.local.is_empty() {
            self.pop_local(world, limit);
        }
    }

    #[inline]
    fn pop_local(&mut self, world: &mut W, limit: Time) {
        if let Some(Keyed { event, .. }) = self.windows.local.pop() {
            self.happen(world, event, limit);
        }
    }

    #[inline]
    fn happen(&mut self, world: &mut W, event: W::Event, limit: Time) {
        debug_assert!(event.order() < 1 << ORDER_BITS);
        if event.time() < limit {
            self.events += 1;
            world.handle(event, &mut self.windows);
        } else {
            self.windows.put_back(event);
        }
    }
}

/// Sorts by key. A node's list of a window is short and mostly in order, because events are made in order of time
/// as a rule: then insertion is a single pass of comparisons.
#[inline]
fn earliest_first(order: &mut [(u64, u32)]) {
    if order.len() > 24 {
        order.sort_unstable_by_key(|&(key, _)| key);
        return;
    }
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
    use crate::{Crew, Shard};
    use proptest::prelude::*;

    /// A token that hops from node to node; each node hashes what it sees.
    #[derive(Clone, Copy, Debug)]
    struct Token {
        time: u64,
        node: u32,
        id: u32,
        hops: u32,
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
        seen: Vec<Vec<(u64, u32)>>,
        look_ahead: u64,
    }
    impl World for Nodes {
        type Event = Token;
        fn nodes(&self) -> usize {
            self.seen.len()
        }
        fn node_of(&self, token: &Token) -> u32 {
            token.node
        }
        fn handle(&mut self, token: Token, windows: &mut Windows<Token>) {
            self.seen[token.node as usize].push((token.time, token.id));
            if token.hops == 0 {
                return;
            }
            let mix = (token.time * 31 + u64::from(token.id) * 17 + u64::from(token.hops)) % 97;
            // Every third hop stays at the node, at any delay; the others go on after the look-ahead.
            let (node, delay) = if mix.is_multiple_of(3) {
                (token.node, 1 + mix)
            } else {
                (
                    (token.node + mix as u32) % self.seen.len() as u32,
                    self.look_ahead + if mix.is_multiple_of(2) { mix } else { mix * mix * mix },
                )
            };
            let next = Token { time: token.time + delay, node, hops: token.hops - 1, ..token };
            if node == token.node { windows.push(next) } else { windows.send(next, || node) }
        }
        fn stopped(&self) -> bool {
            false
        }
    }

    /// The same world on one globally sorted list.
    fn plain(nodes: usize, look_ahead: u64, tokens: &[Token], limit: u64) -> Vec<Vec<(u64, u32)>> {
        let mut world = Nodes { seen: vec![Vec::new(); nodes], look_ahead };
        let mut pending = tokens.to_vec();
        while let Some(at) = (0..pending.len()).min_by_key(|&i| (pending[i].time, pending[i].id)) {
            let token = pending.swap_remove(at);
            if token.time < limit {
                let mut out = Windows::new(Time::from_ps(2));
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
            starts in proptest::collection::vec((0u64..20_000, 0u32..6, 0u32..40), 1..12),
            limit in 1u64..40_000,
            budget in 1u64..50,
        ) {
            let tokens: Vec<Token> = starts.iter().enumerate()
                .map(|(id, &(time, node, hops))| Token { time, node: node % nodes as u32, id: id as u32, hops })
                .collect();
            let mut world = Nodes { seen: vec![Vec::new(); nodes], look_ahead };
            let mut runner = Runner::new(&world, Time::from_ps(look_ahead));
            for &token in &tokens {
                runner.windows().push(token);
            }
            while runner.run(&mut world, Time::from_ps(limit), budget) == Pace::More {}
            prop_assert_eq!(&world.seen, &plain(nodes, look_ahead, &tokens, limit));
            // On two and three threads.
            for threads in 2..4u8 {
                let owner_of: Vec<u8> = (0..nodes).map(|node| node as u8 % threads).collect();
                let mut shards: Vec<Shard<Nodes>> = (0..threads).map(|home| {
                    let world = Nodes { seen: vec![Vec::new(); nodes], look_ahead };
                    let mut runner = Runner::new(&world, Time::from_ps(look_ahead));
                    for &token in tokens.iter().filter(|token| owner_of[token.node as usize] == home) {
                        runner.windows().push(token);
                    }
                    Shard { world, runner }
                }).collect();
                let mut crew = Crew::new(&mut shards, owner_of.clone().into());
                while crew.run(&mut shards, Time::from_ps(limit), budget) == Pace::More {}
                for (node, seen) in world.seen.iter().enumerate() {
                    prop_assert_eq!(seen, &shards[usize::from(owner_of[node])].world.seen[node]);
                }
            }
            // What lies beyond the limit is still there: a second run goes on as if there had been none.
            while runner.run(&mut world, Time::from_ps(2 * limit), budget) == Pace::More {}
            prop_assert_eq!(&world.seen, &plain(nodes, look_ahead, &tokens, 2 * limit));
        }
    }
}
