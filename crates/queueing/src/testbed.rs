//! A queue for tests, and random bits.

use crate::{Color, Fill, FrameFacts, LinkFacts};
use frame::{Occupancy, PointId};
use units::BitRate;

/// 8 Gb/s without overhead: a byte a nanosecond.
pub(crate) const LINK: LinkFacts = LinkFacts { rate: BitRate::from_gbps(8), overhead: 0, point: PointId(0) };

/// A frame that may be marked.
pub(crate) fn capable(bytes: u16) -> FrameFacts {
    FrameFacts { color: Color::Green, bytes, ecn_capable: true, tag: None }
}
/// A queue of so many frames of 1000 B.
pub(crate) fn holding(frames: u64) -> Fill {
    Fill { queue: Occupancy { bytes: 1000 * frames, frames } }
}
/// Random bits (SplitMix64).
pub(crate) fn bits(mut state: u64) -> impl FnMut() -> u64 {
    move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}
