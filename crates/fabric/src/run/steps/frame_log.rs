//! A log of the frames that pass selected ports.

use crate::run::state::frame_log::{End, Happened, PAUSE, Row};
use crate::run::state::headers::Carried;
use crate::run::state::index::PortIx;
use crate::run::state::losses::Cause;
use crate::run::state::view::NodeView;
use flow_control::pause::PauseSignal;
use frame::{CONTROL_FRAME_BYTES, Frame, Heading, Tag};
use units::Time;

/// Placeholder for the port of a row that is not known yet.
const TO_BE_WRITTEN: u32 = u32::MAX;

/// Logs a frame that is sent on the link of a port, which is busy with it from now on.
#[inline(never)]
pub fn log_sent(here: &mut NodeView, egress: PortIx, frame: &Frame, now: Time) {
    let row = row(here, frame, now);
    log_passage(here, egress, row, Happened::Arrived);
}

/// Variant of `log_sent` for a pause frame, which may be lost.
#[inline(never)]
pub fn log_pause(
    here: &mut NodeView,
    egress: PortIx,
    signal: PauseSignal,
    quanta: u16,
    now: Time,
    lost: bool,
) {
    let word = u32::from(signal.xoff) | u32::from(signal.xon) << 8 | u32::from(quanta) << 16;
    let frame = Frame { path: PAUSE, word, bytes: CONTROL_FRAME_BYTES, ..Frame::default() };
    let row = Row {
        time: now,
        port: TO_BE_WRITTEN,
        inward: false,
        happened: Happened::Sent,
        frame,
        back: false,
        connection: 0,
        requested: 0,
        operation: 0,
        cn_tag: None,
        notice: None,
    };
    log_passage(here, egress, row, if lost { Happened::Dropped(None) } else { Happened::Arrived });
}

/// Logs the loss of a frame at a port, at ingress or before egress.
#[cold]
pub fn log_drop(here: &mut NodeView, port: PortIx, inward: bool, frame: &Frame, cause: Cause, now: Time) {
    let row = Row { happened: Happened::Dropped(Some(cause)), inward, ..row(here, frame, now) };
    if let Some(log) = &mut here.probes.frames {
        log.write(port, End::Near, row);
    }
}

/// Arrival time at the other end of the frame in transmission at a port.
pub fn arrives_at_peer(here: &NodeView, egress: PortIx) -> Time {
    here.links.ports[egress].busy_until + here.links.cold[egress].delay
}

/// Logs the departure of a frame from a port, and the resulting event at the other end.
fn log_passage(here: &mut NodeView, egress: PortIx, row: Row, there: Happened) {
    let time = arrives_at_peer(here, egress);
    if let Some(log) = &mut here.probes.frames {
        log.write(egress, End::Near, row);
        log.write(egress, End::Far, Row { time, inward: true, happened: there, ..row });
    }
}

fn row(here: &NodeView, frame: &Frame, now: Time) -> Row {
    let back = match frame.route.heading() {
        Heading::Forward(_) | Heading::Tree(_) => false,
        Heading::Backward(_) => true,
        Heading::Destination(node) => here.routes.source_node(frame.path) == Some(node),
    };
    let (word, connection) = here.headers.word_of(frame);
    let (requested, operation) = match here.headers.of(frame) {
        Some(Carried::Header(header) | Carried::Tagged { header: Some(header), .. }) => {
            (header.requested(), header.operation())
        }
        _ => (0, 0),
    };
    let (cn_tag, notice) = match here.headers.of(frame) {
        Some(Carried::Tagged { tag: Tag::Flow(flow), .. }) => (Some(*flow), None),
        Some(Carried::Notice(notice)) => (notice.sampled.flow, Some(*notice)),
        _ => (None, None),
    };
    let frame = Frame { word, ..*frame };
    Row {
        time: now,
        port: TO_BE_WRITTEN,
        inward: false,
        happened: Happened::Sent,
        frame,
        back,
        connection,
        requested,
        operation,
        cn_tag,
        notice,
    }
}
