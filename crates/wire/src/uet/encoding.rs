//! Encoding of UET headers.

use super::*;

impl Header {
    /// Appends the header without its first two octets.
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        match *self {
            Header::Request { clear_offset, psn, contexts, congestion, .. } => {
                clear_offset.put(out);
                psn.put(out);
                contexts.put(out);
                if let Some(congestion) = congestion {
                    congestion.put(out);
                }
            }
            Header::Idempotent { id, .. } => {
                0u16.put(out);
                id.put(out);
            }
            Header::Datagram => 0u16.put(out),
            Header::Ack { offset, cumulative, contexts, congestion } => {
                offset.put(out);
                cumulative.put(out);
                contexts.put(out);
                if let Some(congestion) = congestion {
                    congestion.put(out);
                }
            }
            Header::Nack { code, vendor, psn, contexts, value, state } => {
                [code, vendor].put(out);
                psn.put(out);
                contexts.put(out);
                value.put(out);
                if let Some(state) = state {
                    state.put(out);
                }
            }
            Header::Control { opaque, psn, contexts, value } => {
                opaque.put(out);
                psn.put(out);
                contexts.put(out);
                value.put(out);
            }
        }
    }
}

impl Contexts {
    fn put(self, out: &mut Vec<u8>) {
        self.source.put(out);
        self.destination.put(out);
    }
}

impl Congestion {
    fn put(self, out: &mut Vec<u8>) {
        let (kind, state) = self.state.bits();
        [kind << 4 | self.flags & 15, self.range].put(out);
        self.sack_offset.put(out);
        self.sack.put(out);
        state.put(out);
        if let Some(vendor) = self.vendor {
            vendor.put(out);
        }
    }
}
