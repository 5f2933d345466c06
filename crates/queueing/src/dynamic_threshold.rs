//! Dynamic thresholds: queues share one memory, and each may hold a multiple of what is free.
//!
//! The memory of a switch is divided once into minima (one for each queue, its own), a pool of headroom, and the rest,
//! which is shared. A frame is charged to the first part that takes it whole: to the queue itself as long as what it
//! holds beyond its minimum is at most T = α · (free part of the shared memory); then, if its class is lossless, to the
//! headroom; else it is refused. What leaves empties the headroom first, then the shared part, then the minimum.
//!
//! So n busy queues settle where each holds α / (1 + n α) of the shared memory, and 1 / (1 + n α) of it stays free
//! for queues that wake.
//!
//! Lossy queues are egress queues. Lossless ones are what a pause can hold back: a port and class that frames came in
//! through. Such a queue asks for a pause when its next byte would be above T or when it uses headroom, and lets go
//! when it holds no headroom and its shared part is at most T less an offset. Both kinds compete for the same free
//! memory.
//!
//! Source: Choudhury and Hahne, "Dynamic queue length thresholds for shared-memory packet switches", IEEE/ACM
//! Transactions on Networking 6(2), 1998; minima, headroom and the order of release are those of merchant switches as
//! public RDMA simulators have them.
//!
//! Not modelled: memory cells (a frame takes its own length); a frame that is charged to two parts at once, but for the
//! minimum and the shared part of one queue.

use keys::{Remark, Unused};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::borrow::Cow;
use units::{Amount, Bytes};

/// Dynamic thresholds (Choudhury and Hahne 1998): the `total` of the buffer is one memory that all queues share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DynamicThreshold {
    /// What a queue may hold, as a multiple of the free shared memory. A number, 1/1024 to 1024, in steps of 1/1024. Default: 1.0.
    pub alpha: Alpha,
    /// Memory that belongs to each queue: each traffic class of each port, and each lossless priority that comes in through it (with PAUSE: all together) if flow control counts at the ingress. A size. Default: "0 B".
    pub minimum: Bytes,
    /// Memory reserved for lossless classes, above the threshold: for what all links of the switch together have in flight after XOFF. A size. Default: "0 B".
    pub headroom: Bytes,
    /// How far below its threshold a paused queue resumes its senders. A size. Default: "0 B".
    pub resume_offset: Bytes,
}

impl Default for DynamicThreshold {
    fn default() -> DynamicThreshold {
        let none = Bytes::new(0);
        DynamicThreshold { alpha: Alpha::ONE, minimum: none, headroom: none, resume_offset: none }
    }
}

impl DynamicThreshold {
    /// The rules of the memory of a switch with this limit, and what to beware of. `lossless`: classes of it are counted
    /// where they come in.
    ///
    /// # Errors
    /// A memory that is not counted in bytes.
    pub fn spec(
        &self,
        total: Option<Amount>,
        lossless: bool,
    ) -> Result<(SharedMemorySpec, Vec<Remark>), Remark> {
        let Some(Amount::Bytes(bytes)) = total else {
            let given = total.map_or("unlimited".to_string(), |total| total.to_string());
            let message = format!("a dynamic threshold without a shared memory: total is {given}");
            let help =
                "expected a total of the same buffer in bytes, like total = \"12 MB\": what queues share";
            return Err(Remark::new(message, help));
        };
        let unused = Unused::of(self, &DynamicThreshold::default())
            .unless(lossless, "flow control that counts at the ingress", &["headroom", "resume_offset"])
            .remarks();
        Ok((self.of(bytes), unused))
    }
    /// The rules of a memory of so many bytes.
    pub fn of(&self, total: u64) -> SharedMemorySpec {
        SharedMemorySpec {
            total,
            alpha: self.alpha,
            minimum: self.minimum.get(),
            headroom: self.headroom.get(),
            resume_offset: self.resume_offset.get(),
        }
    }
}

/// The rules of a shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedMemorySpec {
    /// All memory in bytes.
    pub total: u64,
    /// What a queue may hold of the free memory. Default 1.
    pub alpha: Alpha,
    /// Bytes that belong to each queue, egress or lossless. Default 0.
    pub minimum: u64,
    /// Bytes that lossless classes alone may use, above the threshold. Default 0.
    pub headroom: u64,
    /// How far below the threshold a lossless queue lets go, in bytes. Default 0.
    pub resume_offset: u64,
}

impl SharedMemorySpec {
    /// What is shared when there are so many queues; `None` if minima and headroom take more than there is.
    pub fn shared(&self, queues: u64) -> Option<u64> {
        self.total.checked_sub(self.headroom)?.checked_sub(self.minimum.checked_mul(queues)?)
    }
}

/// A multiple of the free memory, in steps of 1/1024.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alpha(u32);

impl Alpha {
    /// As much as is free.
    pub const ONE: Alpha = Alpha(1 << Alpha::FRACTION_BITS);
    const FRACTION_BITS: u32 = 10;
    const LARGEST: f64 = 1024.0;

    /// From a number, 1/1024 to 1024; `None` if it is no multiple of 1/1024.
    pub fn new(alpha: f64) -> Option<Alpha> {
        let steps = alpha * f64::from(1 << Alpha::FRACTION_BITS);
        let fits = steps >= 1.0 && alpha <= Alpha::LARGEST && steps.fract() == 0.0;
        fits.then_some(Alpha(steps as u32))
    }
    /// As a number.
    pub fn get(self) -> f64 {
        f64::from(self.0) / f64::from(1 << Alpha::FRACTION_BITS)
    }
    fn of(self, bytes: u64) -> u64 {
        ((u128::from(bytes) * u128::from(self.0)) >> Alpha::FRACTION_BITS) as u64
    }
}

impl Serialize for Alpha {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.get())
    }
}
impl<'de> Deserialize<'de> for Alpha {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Alpha, D::Error> {
        let alpha = f64::deserialize(deserializer)?;
        Alpha::new(alpha).ok_or_else(|| {
            let step = f64::from(Alpha::ONE.0);
            let nearest = ((alpha * step).round() / step).clamp(1.0 / step, Alpha::LARGEST);
            let nearest = if nearest.is_nan() { 1.0 } else { nearest };
            de::Error::custom(format!(
                "alpha is {alpha}; expected 1/1024 to 1024 in steps of 1/1024, such as {nearest}"
            ))
        })
    }
}
impl JsonSchema for Alpha {
    fn schema_name() -> Cow<'static, str> {
        "Alpha".into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "number", "minimum": 1.0 / 1024.0, "maximum": Alpha::LARGEST })
    }
}

/// What one queue holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Holding {
    /// Bytes in its minimum and in the shared memory.
    pub own: u64,
    /// Bytes in the headroom.
    pub headroom: u64,
}

/// The part of the memory that takes a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The minimum of its queue and the shared memory.
    Own,
    /// The headroom.
    Headroom,
}

/// The memory of one switch.
#[derive(Clone, Debug)]
pub struct SharedMemory {
    spec: SharedMemorySpec,
    /// Size of the shared part.
    shared: u64,
    shared_used: u64,
    headroom_used: u64,
}

impl SharedMemory {
    /// An empty memory for so many queues; `None` if minima and headroom take more than there is.
    pub fn new(spec: SharedMemorySpec, queues: u64) -> Option<SharedMemory> {
        Some(SharedMemory { spec, shared: spec.shared(queues)?, shared_used: 0, headroom_used: 0 })
    }
    /// Its rules.
    pub fn spec(&self) -> &SharedMemorySpec {
        &self.spec
    }
    /// Bytes of the shared part that are free.
    pub fn free(&self) -> u64 {
        self.shared - self.shared_used
    }
    /// Bytes of it in use.
    pub fn shared_used(&self) -> u64 {
        self.shared_used
    }
    /// Bytes in use in the headroom.
    pub fn headroom_used(&self) -> u64 {
        self.headroom_used
    }
    /// What a queue may hold beyond its minimum now: T.
    #[inline]
    pub fn threshold(&self) -> u64 {
        self.spec.alpha.of(self.free())
    }

    /// The part that takes a frame; `None`: it is refused.
    #[inline]
    pub fn admit(&self, queue: &Holding, bytes: u16, lossless: bool) -> Option<Part> {
        let bytes = u64::from(bytes);
        let beyond = self.beyond(queue.own + bytes);
        let grows_by = beyond - self.beyond(queue.own);
        if grows_by == 0 || (beyond <= self.threshold() && grows_by <= self.free()) {
            Some(Part::Own)
        } else if lossless && self.headroom_used + bytes <= self.spec.headroom {
            Some(Part::Headroom)
        } else {
            None
        }
    }
    /// A frame enters.
    #[inline]
    pub fn add(&mut self, queue: &mut Holding, bytes: u16, part: Part) {
        let bytes = u64::from(bytes);
        match part {
            Part::Own => {
                self.shared_used += self.beyond(queue.own + bytes) - self.beyond(queue.own);
                queue.own += bytes;
            }
            Part::Headroom => {
                queue.headroom += bytes;
                self.headroom_used += bytes;
            }
        }
    }
    /// A frame leaves: out of the headroom as far as there is any. `false` if the queue held less than the frame, which
    /// is a broken invariant; then nothing changes.
    #[inline]
    #[must_use]
    pub fn remove(&mut self, queue: &mut Holding, bytes: u16) -> bool {
        let bytes = u64::from(bytes);
        if bytes > queue.own + queue.headroom {
            return false;
        }
        let headroom = bytes.min(queue.headroom);
        queue.headroom -= headroom;
        self.headroom_used -= headroom;
        let before = self.beyond(queue.own);
        queue.own -= bytes - headroom;
        self.shared_used -= before - self.beyond(queue.own);
        true
    }

    /// Whether a lossless queue has to be paused: it uses headroom, or its next byte would.
    #[inline]
    pub fn must_pause(&self, queue: &Holding) -> bool {
        queue.headroom > 0 || (queue.own >= self.spec.minimum && self.beyond(queue.own) >= self.threshold())
    }
    /// Whether a paused queue may go on.
    #[inline]
    pub fn may_resume(&self, queue: &Holding) -> bool {
        let shared = self.beyond(queue.own);
        queue.headroom == 0
            && (queue.own < self.spec.minimum
                || shared == 0
                || shared + self.spec.resume_offset <= self.threshold())
    }

    /// The part of what a queue holds that lies in the shared memory.
    #[inline]
    fn beyond(&self, own: u64) -> u64 {
        own.saturating_sub(self.spec.minimum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const FRAME: u16 = 100;

    fn spec(total: u64, alpha: f64) -> SharedMemorySpec {
        let alpha = Alpha::new(alpha).unwrap();
        SharedMemorySpec { total, alpha, minimum: 0, headroom: 0, resume_offset: 0 }
    }
    /// Queues that get a frame in turn until none takes one more.
    fn fill(memory: &mut SharedMemory, queues: &mut [Holding], lossless: bool) {
        let mut refused = 0;
        for at in (0..queues.len()).cycle() {
            match memory.admit(&queues[at], FRAME, lossless) {
                Some(part) => {
                    memory.add(&mut queues[at], FRAME, part);
                    refused = 0;
                }
                None => refused += 1,
            }
            if refused == queues.len() {
                return;
            }
        }
    }

    #[test]
    fn busy_queues_settle_at_alpha_over_one_plus_n_alpha() {
        // Golden vector 15 (alpha 1), and others.
        let total = 10_000_000;
        for alpha in [1.0 / 128.0, 0.25, 0.5, 1.0, 2.0, 8.0] {
            for n in [1, 2, 4, 8, 32] {
                let mut memory = SharedMemory::new(spec(total, alpha), n).unwrap();
                let mut queues = vec![Holding::default(); n as usize];
                fill(&mut memory, &mut queues, false);
                let each = alpha * total as f64 / (1.0 + n as f64 * alpha);
                // A frame that would cross T is refused: each queue is short of T by less than a frame, which leaves
                // the others more.
                let slack = f64::from(FRAME) * (1.0 + n as f64 * alpha);
                for queue in &queues {
                    assert!(
                        (queue.own as f64 - each).abs() <= slack,
                        "{alpha} {n}: {} for {each}",
                        queue.own
                    );
                }
                let free = total as f64 / (1.0 + n as f64 * alpha);
                assert!((memory.free() as f64 - free).abs() <= slack * n as f64, "{}", memory.free());
            }
        }
    }

    #[test]
    fn a_queue_that_wakes_finds_room_and_the_others_shrink() {
        let mut memory = SharedMemory::new(spec(1_000_000, 1.0), 2).unwrap();
        let mut queues = [Holding::default(); 2];
        fill(&mut memory, &mut queues[..1], false);
        assert_eq!(queues[0].own, 500_000);
        fill(&mut memory, &mut queues[1..], false);
        assert_eq!(queues[1].own, 250_000);
        // The first is above T now: it gets nothing until it has fallen below.
        assert_eq!((memory.threshold(), memory.admit(&queues[0], FRAME, false)), (250_000, None));
        while memory.admit(&queues[0], FRAME, false).is_none() {
            assert!(memory.remove(&mut queues[0], FRAME));
        }
        assert_eq!((queues[0].own, memory.threshold()), (374_900, 375_100));
    }

    #[test]
    fn a_minimum_is_there_when_all_else_is_taken() {
        let spec = SharedMemorySpec { minimum: 1_000, ..spec(102_000, 64.0) };
        let mut memory = SharedMemory::new(spec, 2).unwrap();
        assert_eq!(memory.free(), 100_000);
        let (mut first, mut second) = (Holding::default(), Holding::default());
        fill(&mut memory, std::slice::from_mut(&mut first), false);
        // T of 1600 free bytes is 102,400 B, so that a frame enters and leaves 1500; theirs is 96,000 B.
        assert_eq!((first.own, memory.free()), (99_500, 1_500));
        memory.shared_used = memory.shared;
        for _ in 0..10 {
            assert_eq!(memory.admit(&second, FRAME, false), Some(Part::Own));
            memory.add(&mut second, FRAME, Part::Own);
        }
        assert_eq!((second.own, memory.admit(&second, FRAME, false)), (1_000, None));
        assert_eq!(
            SharedMemory::new(SharedMemorySpec { headroom: 100_001, ..spec }, 2).map(|m| m.free()),
            None
        );
    }

    #[test]
    fn lossless_queues_are_paused_at_the_threshold_and_lose_nothing_in_the_headroom() {
        let spec = SharedMemorySpec { headroom: 1_000, resume_offset: 5_000, ..spec(101_000, 1.0) };
        let mut memory = SharedMemory::new(spec, 2).unwrap();
        let (mut lossless, mut lossy) = (Holding::default(), Holding::default());
        while !memory.must_pause(&lossless) {
            assert_eq!(memory.admit(&lossless, FRAME, true), Some(Part::Own));
            memory.add(&mut lossless, FRAME, Part::Own);
        }
        assert_eq!(lossless.own, 50_000);
        // Ten frames in flight fit; lossy ones never go there.
        for _ in 0..10 {
            assert_eq!(memory.admit(&lossless, FRAME, true), Some(Part::Headroom));
            memory.add(&mut lossless, FRAME, Part::Headroom);
        }
        assert_eq!(memory.admit(&lossless, FRAME, true), None);
        fill(&mut memory, std::slice::from_mut(&mut lossy), false);
        assert_eq!((lossy.own, lossy.headroom, memory.headroom_used()), (25_000, 0, 1_000));
        // The headroom empties first. Then the lossless queue has to fall to T less the offset: x <= 75,000 - x - 5,000.
        let mut left = 0;
        while !memory.may_resume(&lossless) {
            assert!(memory.remove(&mut lossless, FRAME));
            left += 1;
            assert_eq!(lossless.headroom, 1_000u64.saturating_sub(100 * left));
        }
        assert_eq!(lossless.own, 35_000);
    }

    #[test]
    fn multiples_of_the_free_memory() {
        assert_eq!(Alpha::new(0.0078125).map(Alpha::get), Some(1.0 / 128.0));
        assert_eq!([0.0, -1.0, 0.1, 2_000.0, f64::NAN, f64::INFINITY].map(Alpha::new), [None; 6]);
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
            let mut memory = SharedMemory::new(spec, 6).unwrap();
            let mut queues = [Holding::default(); 6];
            let mut frames: Vec<Vec<u16>> = vec![Vec::new(); 6];
            for (at, bytes, leave) in steps {
                let queue = &mut queues[at];
                if leave {
                    if let Some(bytes) = (!frames[at].is_empty()).then(|| frames[at].remove(0)) {
                        prop_assert!(memory.remove(queue, bytes));
                    }
                } else if let Some(part) = memory.admit(queue, bytes, at < 3) {
                    prop_assert!(part == Part::Own || at < 3);
                    memory.add(queue, bytes, part);
                    frames[at].push(bytes);
                }
                let beyond: u64 = queues.iter().map(|queue| queue.own.saturating_sub(minimum)).sum();
                prop_assert_eq!(memory.shared_used, beyond);
                prop_assert_eq!(memory.headroom_used, queues.iter().map(|queue| queue.headroom).sum::<u64>());
                prop_assert!(memory.shared_used <= memory.shared && memory.headroom_used <= headroom);
                for (queue, frames) in queues.iter().zip(&frames) {
                    let held: u64 = frames.iter().map(|&bytes| u64::from(bytes)).sum();
                    prop_assert_eq!(queue.own + queue.headroom, held);
                }
            }
            let before = (memory.clone(), queues[0]);
            let more = u16::try_from(queues[0].own + queues[0].headroom + 1).unwrap_or(u16::MAX);
            if u64::from(more) > queues[0].own + queues[0].headroom {
                prop_assert!(!memory.remove(&mut queues[0], more));
                prop_assert_eq!((memory.shared_used, queues[0]), (before.0.shared_used, before.1));
            }
        }
    }
}
