//! Tags and notices: rate limiters put them on frames, receivers remove them, and congestion points write and send them.

use frame::{CONTROL_FRAME_BYTES, Ecn, Flags, Frame, FrameKind, PathId, Route};
use units::Time;

/// Common fields of returned tags and probes.
pub(in crate::run) const CONTROL: Frame = Frame {
    created: Time::ZERO,
    path: PathId(0),
    route: Route::forward(0),
    word: 0,
    bytes: CONTROL_FRAME_BYTES,
    flags: Flags::new(FrameKind::Tag, Ecn::NotCapable),
};
