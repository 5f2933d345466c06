//! Contents of RDMA frames, which are packed into the frame's word or, if they do not fit, into a header.

use super::psn::{WIDE_FROM, Word};
use crate::endpoint::Received;
use frame::{Header, RdmaHeader, Telemetry};

/// Returns the contents of an RDMA frame, unpacked from its word or its header.
pub fn header_of(received: &Received) -> RdmaHeader {
    match received.header {
        Some(Header::Rdma(header)) => header,
        _ => {
            let (word, pair) = (received.word, Word::of(received.word).pair);
            RdmaHeader { word, pair, ..RdmaHeader::default() }
        }
    }
}

/// Returns the word and the header of a frame. There is no header if the word holds all fields.
pub fn labelled(header: RdmaHeader) -> (u32, Option<Header>) {
    let narrow = header.pair < WIDE_FROM
        && header.echo.get().is_none()
        && header.arrived.is_none()
        && header.telemetry == Telemetry::None
        && header.requested == 0
        && header.immediate == 0;
    (header.word, (!narrow).then_some(Header::Rdma(header)))
}
