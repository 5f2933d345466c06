//! Tags and notices: rate limiters add tags to frames, receivers remove them, and congestion points write them and send
//! notices.

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
