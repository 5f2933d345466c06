//! CN-TAGs and the edges of congestion notification domains, applied as frames are sent to the link.

use crate::run::state::index::PortIx;
use crate::run::state::view::NodeView;
use crate::run::steps::endpoint_ways;
use frame::{Frame, FrameKind, PRIORITIES, Tag};
use queueing::CN_TAG_BYTES;

/// Returns a frame that goes to the link, with the CN-TAG that it leaves with, if any.
#[cold]
#[inline(never)]
pub fn with_cn_tag(here: &mut NodeView, egress: PortIx, mut frame: Frame) -> Frame {
    let Some(domain) = here.links.cold[egress].domain.as_deref() else { return frame };
    let among = |set: u8| usize::from(frame.priority().0) < PRIORITIES && set >> frame.priority().0 & 1 != 0;
    if among(domain.strips) && here.headers.tag_of(&frame).is_some_and(|tag| matches!(tag, Tag::Flow(_))) {
        return here.headers.untag(&frame).0;
    }
    // Messages carry the tag of the sampled frame in their payload. Multicast copies use their word for the slot.
    let is_data = !matches!(frame.flags.kind(), FrameKind::Cnm | FrameKind::Tag);
    if among(domain.tags) && is_data && !frame.flags.is_tagged() && !frame.route.is_tree() {
        let far = !endpoint_ways::goes_to_far_end(here, &frame);
        let flow = here.hosts.flow_numbers.get(frame.path.at()).map_or(0, |ends| ends[usize::from(far)]);
        here.headers.tag(&mut frame, Tag::Flow(flow), CN_TAG_BYTES);
    }
    frame
}
