//! Arrival ties between hosts with inexact clocks.

use super::frame_bounds;
use crate::spec::Spec;
use units::Time;

/// Maximum offset that clocks alone cause between two frames that would otherwise arrive at the same time. Two clocks
/// differ by up to twice their tolerance, over the time in which a frame and the one before it travel to the slowest
/// link. Zero if all clocks are exact.
pub(crate) fn apart(spec: &Spec) -> Time {
    let ppb = spec.nodes.iter().map(|node| node.clock_tolerance.ppb()).max().unwrap_or_default();
    if ppb == 0 {
        return Time::ZERO;
    }
    let longest = u64::from(frame_bounds(spec).1);
    let on_wire = |overhead: u16| (longest + u64::from(overhead)) * 8;
    let frames = spec.links.iter().map(|link| link.slowest().time_for_bits_ceil(on_wire(link.overhead)));
    let frame = frames.max().unwrap_or_default();
    Time::from_ps((u128::from(frame.ps()) * 4 * u128::from(ppb)).div_ceil(1_000_000_000) as u64)
}
