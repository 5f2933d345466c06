//! The rate discovery tag of FECN.
//!
//! Source: Jiang 2007, which lists the contents without a layout. The layout, after the local experimental EtherType
//! 0x88B5, is Penstock's own. Its first octet distinguishes it from other uses of that EtherType.

use crate::Error;
use crate::view::{Field, view};
use serde::Serialize;
use std::fmt;

/// First octet.
pub const FECN: u8 = 1;

view! {
    /// View of the octets after the EtherType 0x88B5.
    FecnView("a rate discovery tag", 10) {
        /// Protocol number, [`FECN`].
        protocol: u8 = 0,
        /// `version(4) returning(1) reserved(3)`.
        head: u8 = 1,
        /// Number of the rate limiting queue.
        queue: u16 = 2,
        /// Rate in kb/s; all ones for no limit.
        rate_kbps: u32 = 4,
        /// EtherType of the contents; 0 if there are none.
        next: u16 = 8,
    }
}

/// A rate discovery tag, and the contents of the frame after it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fecn {
    /// True if the tag is on its way back to the source.
    pub returning: bool,
    /// Number of the source's rate limiting queue.
    pub queue: u16,
    /// Lowest rate that a switch has written, in kb/s; 4294967295 if none has.
    pub rate_kbps: u32,
    /// EtherType of the payload; 0 if there is none.
    pub next: u16,
    /// Octets after the tag, including padding.
    pub payload: Vec<u8>,
}

impl Fecn {
    /// Initial rate, written by the source: no limit.
    pub const UNLIMITED: u32 = u32::MAX;

    /// Reads the octets after the type.
    pub fn decode(bytes: &[u8]) -> Result<Fecn, Error> {
        let view = FecnView::new(bytes)?;
        let (protocol, version) = (view.protocol(), view.head() >> 4);
        if (protocol, version) != (FECN, 0) {
            let what = "protocol and version of a rate discovery tag";
            let got = u64::from(protocol) << 8 | u64::from(version);
            return Err(Error::Value { what, accepted: "256 (1 and 0)", got });
        }
        let next = view.next();
        let payload = if next == 0 { Vec::new() } else { view.rest().to_vec() };
        let returning = view.head() >> 3 & 1 == 1;
        Ok(Fecn { returning, queue: view.queue(), rate_kbps: view.rate_kbps(), next, payload })
    }

    /// Appends the octets after the type.
    pub fn encode(&self, out: &mut Vec<u8>) {
        [FECN, u8::from(self.returning) << 3].put(out);
        self.queue.put(out);
        self.rate_kbps.put(out);
        self.next.put(out);
        out.extend_from_slice(&self.payload);
    }
}

impl fmt::Display for Fecn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let way = if self.returning { "returning" } else { "forward" };
        write!(f, "FECN {way}, queue {}, ", self.queue)?;
        match self.rate_kbps {
            Fecn::UNLIMITED => write!(f, "no limit"),
            rate => write!(f, "{rate} kb/s"),
        }
    }
}
