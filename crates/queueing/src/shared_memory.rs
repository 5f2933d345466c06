//! The memory of a switch: its pools, and the limits of each queue in one of them.
//!
//! A queue has rules: its reserved bytes, its limit in the shared part of a pool (a multiple of the free part, or a
//! number of bytes), and its maximum headroom. As long as the queue stays within its limit, a frame is charged to
//! reserved and shared memory; beyond the limit, to the headroom. If there is no headroom either, the frame is refused,
//! with the reason. Departures release headroom first, then shared memory, then reserved memory.
//!
//! A queue whose sender can be paused requests a pause when its next byte would exceed its limit or when it uses
//! headroom. It lets the sender resume when it uses no headroom and holds at most its XON: an absolute level, or an
//! offset below the limit if that is higher.
//!
//! The headroom of a pool is a single number that all of its queues share, each up to its own maximum. If each queue
//! has its own headroom, the pool's headroom is their sum, so that it is never exhausted before theirs.

use crate::dynamic_threshold::{Alpha, SharedMemorySpec};
use recurrence::Recurs;

/// The bytes that one queue holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Recurs)]
pub struct Holding {
    /// Bytes in reserved and shared memory.
    pub own: u64,
    /// Bytes in the headroom.
    pub headroom: u64,
}

/// The part of the memory to which a frame is charged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The queue's reserved memory, and shared memory.
    Own,
    /// The headroom.
    Headroom,
}

/// The reason for refusing a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Refused {
    /// The queue is at its limit, or the pool is full.
    Limit,
    /// The headroom of the queue is used up.
    Headroom,
    /// The shared headroom is used up, although the queue's own maximum would have allowed more.
    SharedHeadroom,
}

/// The limit of a queue in the shared part of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// A multiple of the free shared memory.
    Dynamic(Alpha),
    /// A number of bytes.
    Static(u64),
}

/// The memory rules of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Index of the queue's pool.
    pub pool: u8,
    /// Bytes reserved for the queue, outside the pool.
    pub reserved: u64,
    /// Limit in the shared part of the pool.
    pub limit: Limit,
    /// Maximum headroom in bytes.
    pub headroom: u64,
    /// XON is sent at or below this level, in bytes.
    pub xon: u64,
    /// Distance of XON below the limit, if the result is above `xon`; `u64::MAX` if unused.
    pub xon_offset: u64,
}

/// A pool of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Recurs)]
pub struct Pool {
    /// Size of the shared part in bytes.
    #[recurs(constant)]
    size: u64,
    /// Headroom that all queues may use together, in bytes.
    #[recurs(constant)]
    headroom: u64,
    used: u64,
    headroom_used: u64,
}

impl Pool {
    /// Creates an empty pool.
    pub fn new(size: u64, headroom: u64) -> Pool {
        Pool { size, headroom, used: 0, headroom_used: 0 }
    }
    /// Returns the free bytes of the shared part.
    #[inline]
    pub fn free(&self) -> u64 {
        self.size - self.used
    }
    /// Returns the used bytes of the shared part.
    pub fn used(&self) -> u64 {
        self.used
    }
    /// Returns the headroom and the used part of it, in bytes.
    pub fn headroom(&self) -> (u64, u64) {
        (self.headroom, self.headroom_used)
    }
    /// Returns the current limit of a queue beyond its reserved bytes.
    #[inline]
    fn limit(&self, limit: Limit) -> u64 {
        match limit {
            Limit::Dynamic(alpha) => alpha.of(self.free()),
            Limit::Static(bytes) => bytes,
        }
    }
}

impl Rules {
    /// Returns the part of a queue's bytes that is in shared memory.
    #[inline]
    fn beyond(&self, own: u64) -> u64 {
        own.saturating_sub(self.reserved)
    }
}

/// The memory of one switch.
#[derive(Clone, Debug, Recurs)]
pub struct SharedMemory {
    pools: Vec<Pool>,
    #[recurs(constant)]
    rules: Vec<Rules>,
}

impl SharedMemory {
    /// Index of the rules of an egress queue, if the memory is one pool.
    pub const LOSSY: u16 = 0;
    /// Index of the rules of a lossless queue, if the memory is one pool.
    pub const LOSSLESS: u16 = 1;

    /// Creates an empty memory. The pools in `rules` exist.
    pub fn new(pools: Vec<Pool>, rules: Vec<Rules>) -> SharedMemory {
        debug_assert!(rules.iter().all(|own| usize::from(own.pool) < pools.len()));
        SharedMemory { pools, rules }
    }
    /// Creates a memory of one pool for `queues` queues; `None` if minima and headroom exceed the total.
    pub fn of_one_pool(spec: SharedMemorySpec, queues: u64) -> Option<SharedMemory> {
        let pool = Pool::new(spec.shared(queues)?, spec.headroom);
        let lossy = Rules {
            pool: 0,
            reserved: spec.minimum,
            limit: Limit::Dynamic(spec.alpha),
            headroom: 0,
            xon: spec.minimum,
            xon_offset: spec.resume_offset,
        };
        Some(SharedMemory::new(vec![pool], vec![lossy, Rules { headroom: spec.headroom, ..lossy }]))
    }
    /// Returns the pools.
    pub fn pools(&self) -> &[Pool] {
        &self.pools
    }
    /// Returns the rules of a queue, and its pool.
    #[inline]
    pub fn of(&self, rules: u16) -> (&Rules, &Pool) {
        let rules = &self.rules[usize::from(rules)];
        (rules, &self.pools[usize::from(rules.pool)])
    }
    /// Returns XOFF: the number of bytes that a queue may hold now before it uses headroom.
    pub fn threshold(&self, rules: u16) -> u64 {
        let (own, pool) = self.of(rules);
        own.reserved.saturating_add(pool.limit(own.limit))
    }

    /// Returns the part to which a frame is to be charged.
    ///
    /// # Errors
    /// The reason for refusing the frame, if there is no space.
    #[inline]
    pub fn admit(&self, rules: u16, queue: &Holding, bytes: u16) -> Result<Part, Refused> {
        let (own, pool) = self.of(rules);
        let bytes = u64::from(bytes);
        let beyond = own.beyond(queue.own + bytes);
        let grows_by = beyond - own.beyond(queue.own);
        if grows_by == 0 || (beyond <= pool.limit(own.limit) && grows_by <= pool.free()) {
            return Ok(Part::Own);
        }
        if queue.headroom + bytes > own.headroom {
            return Err(if own.headroom == 0 { Refused::Limit } else { Refused::Headroom });
        }
        if pool.headroom_used + bytes > pool.headroom {
            return Err(Refused::SharedHeadroom);
        }
        Ok(Part::Headroom)
    }
    /// Charges a frame that enters.
    #[inline]
    pub fn add(&mut self, rules: u16, queue: &mut Holding, bytes: u16, part: Part) {
        let own = &self.rules[usize::from(rules)];
        let pool = &mut self.pools[usize::from(own.pool)];
        let bytes = u64::from(bytes);
        match part {
            Part::Own => {
                pool.used += own.beyond(queue.own + bytes) - own.beyond(queue.own);
                queue.own += bytes;
            }
            Part::Headroom => {
                queue.headroom += bytes;
                pool.headroom_used += bytes;
            }
        }
    }
    /// Releases a frame that leaves, from the headroom first. Returns `false`, without changes, if the queue held less
    /// than the frame, which violates an invariant.
    #[inline]
    #[must_use]
    pub fn remove(&mut self, rules: u16, queue: &mut Holding, bytes: u16) -> bool {
        let own = &self.rules[usize::from(rules)];
        let pool = &mut self.pools[usize::from(own.pool)];
        let bytes = u64::from(bytes);
        if bytes > queue.own + queue.headroom {
            return false;
        }
        let headroom = bytes.min(queue.headroom);
        queue.headroom -= headroom;
        pool.headroom_used -= headroom;
        let before = own.beyond(queue.own);
        queue.own -= bytes - headroom;
        pool.used -= before - own.beyond(queue.own);
        true
    }

    /// Returns true if a lossless queue has to be paused because it uses headroom, or its next byte would.
    #[inline]
    pub fn must_pause(&self, rules: u16, queue: &Holding) -> bool {
        let (own, pool) = self.of(rules);
        queue.headroom > 0 || (queue.own >= own.reserved && own.beyond(queue.own) >= pool.limit(own.limit))
    }
    /// Returns true if a paused queue may resume.
    #[inline]
    pub fn may_resume(&self, rules: u16, queue: &Holding) -> bool {
        queue.headroom == 0 && queue.own <= self.resume_at(rules)
    }
    /// Returns XON: the maximum number of bytes in a paused queue that may resume.
    #[inline]
    pub fn resume_at(&self, rules: u16) -> u64 {
        let (own, pool) = self.of(rules);
        let below = own.reserved.saturating_add(pool.limit(own.limit)).saturating_sub(own.xon_offset);
        own.xon.max(below)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dynamic_threshold::Alpha;
    use proptest::prelude::*;

    const FRAME: u16 = 100;
    const LOSSY: u16 = SharedMemory::LOSSY;
    const LOSSLESS: u16 = SharedMemory::LOSSLESS;

    fn spec(total: u64, alpha: f64) -> SharedMemorySpec {
        let alpha = Alpha::new(alpha).unwrap();
        SharedMemorySpec { total, alpha, minimum: 0, headroom: 0, resume_offset: 0 }
    }
    /// Adds frames to the queues in turn until none accepts another.
    fn fill(memory: &mut SharedMemory, queues: &mut [Holding], rules: u16) {
        let mut refused = 0;
        for at in (0..queues.len()).cycle() {
            match memory.admit(rules, &queues[at], FRAME) {
                Ok(part) => {
                    memory.add(rules, &mut queues[at], FRAME, part);
                    refused = 0;
                }
                Err(_) => refused += 1,
            }
            if refused == queues.len() {
                return;
            }
        }
    }

    #[test]
    fn busy_queues_settle_at_alpha_over_one_plus_n_alpha() {
        // Golden vector 15 (alpha 1), and other values of alpha.
        let total = 10_000_000;
        for alpha in [1.0 / 128.0, 0.25, 0.5, 1.0, 2.0, 8.0] {
            for n in [1, 2, 4, 8, 32] {
                let mut memory = SharedMemory::of_one_pool(spec(total, alpha), n).unwrap();
                let mut queues = vec![Holding::default(); n as usize];
                fill(&mut memory, &mut queues, LOSSY);
                let each = alpha * total as f64 / (1.0 + n as f64 * alpha);
                // A frame that would cross T is refused. Each queue is therefore below T by less than a frame, which
                // leaves more memory for the others.
                let slack = f64::from(FRAME) * (1.0 + n as f64 * alpha);
                for queue in &queues {
                    assert!(
                        (queue.own as f64 - each).abs() <= slack,
                        "{alpha} {n}: {} for {each}",
                        queue.own
                    );
                }
                let free = total as f64 / (1.0 + n as f64 * alpha);
                assert!(
                    (memory.pools[0].free() as f64 - free).abs() <= slack * n as f64,
                    "{}",
                    memory.pools[0].free()
                );
            }
        }
    }

    #[test]
    fn a_queue_that_wakes_finds_room_and_the_others_shrink() {
        let mut memory = SharedMemory::of_one_pool(spec(1_000_000, 1.0), 2).unwrap();
        let mut queues = [Holding::default(); 2];
        fill(&mut memory, &mut queues[..1], LOSSY);
        assert_eq!(queues[0].own, 500_000);
        fill(&mut memory, &mut queues[1..], LOSSY);
        assert_eq!(queues[1].own, 250_000);
        // The first queue is now above T, and gets no memory until it has drained below T.
        assert_eq!(
            (memory.threshold(LOSSY), memory.admit(LOSSY, &queues[0], FRAME)),
            (250_000, Err(Refused::Limit))
        );
        while memory.admit(LOSSY, &queues[0], FRAME).is_err() {
            assert!(memory.remove(LOSSY, &mut queues[0], FRAME));
        }
        assert_eq!((queues[0].own, memory.threshold(LOSSY)), (374_900, 375_100));
    }

    #[test]
    fn a_minimum_is_there_when_all_else_is_taken() {
        let spec = SharedMemorySpec { minimum: 1_000, ..spec(102_000, 64.0) };
        let mut memory = SharedMemory::of_one_pool(spec, 2).unwrap();
        assert_eq!(memory.pools[0].free(), 100_000);
        let (mut first, mut second) = (Holding::default(), Holding::default());
        fill(&mut memory, std::slice::from_mut(&mut first), LOSSY);
        // With 1600 B free, T is 102,400 B, so one more frame enters and leaves 1500 B free. T is then 96,000 B.
        assert_eq!((first.own, memory.pools[0].free()), (99_500, 1_500));
        memory.pools[0].used = memory.pools[0].size;
        for _ in 0..10 {
            assert_eq!(memory.admit(LOSSY, &second, FRAME), Ok(Part::Own));
            memory.add(LOSSY, &mut second, FRAME, Part::Own);
        }
        assert_eq!((second.own, memory.admit(LOSSY, &second, FRAME)), (1_000, Err(Refused::Limit)));
        assert_eq!(
            SharedMemory::of_one_pool(SharedMemorySpec { headroom: 100_001, ..spec }, 2)
                .map(|m| m.pools[0].free()),
            None
        );
    }

    #[test]
    fn lossless_queues_are_paused_at_the_threshold_and_lose_nothing_in_the_headroom() {
        let spec = SharedMemorySpec { headroom: 1_000, resume_offset: 5_000, ..spec(101_000, 1.0) };
        let mut memory = SharedMemory::of_one_pool(spec, 2).unwrap();
        let (mut lossless, mut lossy) = (Holding::default(), Holding::default());
        while !memory.must_pause(LOSSLESS, &lossless) {
            assert_eq!(memory.admit(LOSSLESS, &lossless, FRAME), Ok(Part::Own));
            memory.add(LOSSLESS, &mut lossless, FRAME, Part::Own);
        }
        assert_eq!(lossless.own, 50_000);
        // The headroom holds ten frames in flight; lossy frames never use it.
        for _ in 0..10 {
            assert_eq!(memory.admit(LOSSLESS, &lossless, FRAME), Ok(Part::Headroom));
            memory.add(LOSSLESS, &mut lossless, FRAME, Part::Headroom);
        }
        assert_eq!(memory.admit(LOSSLESS, &lossless, FRAME), Err(Refused::Headroom));
        fill(&mut memory, std::slice::from_mut(&mut lossy), LOSSY);
        assert_eq!((lossy.own, lossy.headroom, memory.pools[0].headroom_used), (25_000, 0, 1_000));
        // The headroom empties first. Then the lossless queue has to drain to T less the offset: x <= 75,000 - x -
        // 5,000.
        let mut left = 0;
        while !memory.may_resume(LOSSLESS, &lossless) {
            assert!(memory.remove(LOSSLESS, &mut lossless, FRAME));
            left += 1;
            assert_eq!(lossless.headroom, 1_000u64.saturating_sub(100 * left));
        }
        assert_eq!(lossless.own, 35_000);
    }

    proptest! {
        #[test]
        fn nothing_is_held_twice_or_lost(
            alpha in prop::sample::select(vec![0.0078125, 0.5, 1.0, 8.0]),
            minimum in 0u64..3_000,
            headroom in 0u64..20_000,
            steps in prop::collection::vec((0usize..6, 64u16..9_216, any::<bool>()), 0..400),
        ) {
            let spec = SharedMemorySpec { minimum, headroom, ..spec(120_000, alpha) };
            let mut memory = SharedMemory::of_one_pool(spec, 6).unwrap();
            let mut queues = [Holding::default(); 6];
            let mut frames: Vec<Vec<u16>> = vec![Vec::new(); 6];
            for (at, bytes, leave) in steps {
                let (queue, rules) = (&mut queues[at], u16::from(at < 3));
                if leave {
                    if let Some(bytes) = (!frames[at].is_empty()).then(|| frames[at].remove(0)) {
                        prop_assert!(memory.remove(rules, queue, bytes));
                    }
                } else if let Ok(part) = memory.admit(rules, queue, bytes) {
                    prop_assert!(part == Part::Own || at < 3);
                    memory.add(rules, queue, bytes, part);
                    frames[at].push(bytes);
                }
                let beyond: u64 = queues.iter().map(|queue| queue.own.saturating_sub(minimum)).sum();
                prop_assert_eq!(memory.pools[0].used, beyond);
                prop_assert_eq!(memory.pools[0].headroom_used, queues.iter().map(|queue| queue.headroom).sum::<u64>());
                prop_assert!(memory.pools[0].used <= memory.pools[0].size && memory.pools[0].headroom_used <= headroom);
                for (queue, frames) in queues.iter().zip(&frames) {
                    let held: u64 = frames.iter().map(|&bytes| u64::from(bytes)).sum();
                    prop_assert_eq!(queue.own + queue.headroom, held);
                }
            }
            let before = (memory.clone(), queues[0]);
            let more = u16::try_from(queues[0].own + queues[0].headroom + 1).unwrap_or(u16::MAX);
            if u64::from(more) > queues[0].own + queues[0].headroom {
                prop_assert!(!memory.remove(LOSSLESS, &mut queues[0], more));
                prop_assert_eq!((memory.pools[0].used, queues[0]), (before.0.pools[0].used, before.1));
            }
        }
    }
}
