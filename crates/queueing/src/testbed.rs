//! A queue and random bits for tests.

use crate::{Color, Deferred, Fill, FrameFacts, LinkFacts, Moment, QueueManager, Quiet};
use frame::{Occupancy, PointId};
use std::collections::VecDeque;
use units::{BitRate, Time};

/// A link of 8 Gb/s without overhead: one byte per nanosecond.
pub(crate) const LINK: LinkFacts =
    LinkFacts { rate: BitRate::from_gbps(8), overhead: 0, point: PointId(0), shared: false };

/// Returns a frame of an ECN-capable flow.
pub(crate) fn capable(bytes: u16) -> FrameFacts {
    FrameFacts { color: Color::Green, bytes, ecn_capable: true, tag: None }
}
/// Returns the state of a queue of `frames` frames of 1000 B.
pub(crate) fn holding(frames: u64) -> Fill {
    Fill { queue: Occupancy { bytes: 1000 * frames, frames }, ..Fill::default() }
}
/// Returns a generator of random bits (SplitMix64).
pub(crate) fn bits(mut state: u64) -> impl FnMut() -> u64 {
    move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

/// Checks that a manager that is called for each frame and one that is called only when necessary make identical
/// decisions. Frames enter and leave a queue of at most `most` bytes at random.
pub(crate) fn assert_same_picks<M: QueueManager + Clone>(
    manager: &M,
    most: u64,
    below: &mut impl FnMut(u64) -> u64,
    seed: u64,
) {
    let (mut all, mut some) = (manager.clone(), manager.clone());
    let (mut of_all, mut of_some) = (bits(seed), bits(seed));
    let (mut quiet, mut frames, mut observed) = (some.quiet(), 0, 0);
    let mut left = quiet.bytes;
    let (mut queue, mut waiting, mut now) = (VecDeque::new(), Occupancy::default(), Time::ZERO);
    for step in 0..2_000u64 {
        now += Time::from_ns(below(3_000));
        let comes = queue.is_empty() || below(2) == 0 && waiting.bytes < most;
        let frame = if comes { capable(64 + below(1_437) as u16) } else { queue.pop_front().expect("waits") };
        let moment = if comes { Moment::Enqueue } else { Moment::Dequeue };
        if !comes {
            waiting.remove(frame.bytes);
        }
        let fill = Fill { queue: waiting, ..Fill::default() };
        // Some frames, such as tagged ones, need a call even in a quiet period.
        let (bytes, must) = (u64::from(frame.bytes), below(50) == 0);
        let (verdict, _) =
            all.observe(moment, Deferred { frames: 0, left: 0 }, (now, &fill, frame), &mut of_all);
        if !must && now < quiet.until && (!comes || bytes <= left) {
            assert_eq!(
                verdict,
                crate::Verdict::Pass,
                "seed {seed}, step {step}: the call could have been deferred"
            );
            (frames, left) = (frames + u64::from(comes), left - if comes { bytes } else { 0 });
        } else {
            observed += 1;
            let deferred = Deferred { frames, left };
            let facts = (now, &fill, frame);
            let (of_deferred, next) = some.observe(moment, deferred, facts, &mut of_some);
            assert_eq!(verdict, of_deferred, "seed {seed}, step {step}");
            (quiet, frames, left) = (next, 0, next.bytes);
        }
        if comes {
            waiting.add(frame.bytes);
            queue.push_back(frame);
        }
    }
    assert!(observed < 2_000 || quiet == Quiet::NEVER, "the manager was never quiet");
}
