//! Control packets of the packet delivery sublayer: probes, credit requests, and grants.

use super::{CREDIT, CREDIT_REQUEST, UetSpec};
use crate::endpoint::Segment;
use crate::rdma::RdmaWord;
use crate::rdma::psn::on_wire;
use frame::{FrameKind, Header, UetHeader, UetPacket};

impl UetSpec {
    /// Returns a control packet of type `control` that names `psn` and has the other fields of `header`.
    pub(super) fn control_packet(&self, control: u8, psn: u64, header: UetHeader) -> Segment {
        let flags = [control == CREDIT_REQUEST, true, control == CREDIT];
        let word = RdmaWord { number: on_wire(psn), flags, pair: 0 }.bits();
        let packet = UetPacket::Control(control);
        let header = Some(Header::Uet(UetHeader { word, packet, ..header }));
        Segment { header, ..Segment::new(FrameKind::Ack, 0, self.probe_bytes()) }
    }
}
