//! The congestion notification message of QCN (CNM).
//!
//! Source: IEEE 802.1Qau (802.1Q clause 33). Public descriptions differ in the widths of two fields. Those used here, 8
//! octets for the CPID and two for the priority, are from the manuals that agree with the field list of conformance
//! suites. The sender determines the unit (64 octets) and the sign of the two queue fields; the codec does not convert
//! them.

use crate::view::{Field, view};
use crate::{Error, Mac, Pcp};
use serde::Serialize;
use std::fmt;

/// Maximum number of octets of the sampled frame in a message.
pub const MSDU_MOST: usize = 64;

view! {
    /// View of the octets after the EtherType 0x22E7.
    CnmView("a CNM", 24) {
        /// `Version(4) ReservedV(6) QntzFb(6)`.
        head: u16 = 0,
        /// Congestion point identifier (CPID).
        congestion_point: u64 = 2,
        /// cnmQOffset.
        offset: i16 = 10,
        /// cnmQDelta.
        delta: i16 = 12,
        /// Octet with the priority of the sampled frame in its top three bits.
        priority: u8 = 14,
        /// Destination of the sampled frame.
        destination: Mac = 16,
        /// Number of octets of the sampled frame at the end of the message.
        msdu_len: u16 = 22,
    }
}

/// A congestion notification message (CNM), sent by a congestion point to the source of a sampled frame.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cnm {
    feedback: u8,
    /// Congestion point identifier (CPID), unique for each congestion point.
    pub congestion_point: u64,
    /// cnmQOffset: distance of the queue from its set point.
    pub offset: i16,
    /// cnmQDelta: growth of the queue.
    pub delta: i16,
    /// Priority of the sampled frame.
    pub priority: Pcp,
    /// Destination of the sampled frame.
    pub destination: Mac,
    msdu: Vec<u8>,
}

impl Cnm {
    /// Creates a message with quantised feedback from 0 to 63 and the first octets of the sampled frame's data, at most 64.
    pub fn new(feedback: u8, msdu: &[u8]) -> Result<Cnm, Error> {
        if feedback > 63 {
            return Err(Error::Value {
                what: "the quantised feedback",
                accepted: "0 to 63",
                got: feedback.into(),
            });
        }
        if msdu.len() > MSDU_MOST {
            return Err(Error::Long { what: "the encapsulated MSDU", most: MSDU_MOST, got: msdu.len() });
        }
        Ok(Cnm {
            feedback,
            congestion_point: 0,
            offset: 0,
            delta: 0,
            priority: Pcp::default(),
            destination: Mac::default(),
            msdu: msdu.to_vec(),
        })
    }

    /// Returns the quantised feedback (QntzFb), 0 to 63.
    pub fn feedback(&self) -> u8 {
        self.feedback
    }

    /// Returns the first octets of the sampled frame's data.
    pub fn msdu(&self) -> &[u8] {
        &self.msdu
    }

    /// Reads the octets after the type. Reserved bits are ignored.
    pub fn decode(bytes: &[u8]) -> Result<Cnm, Error> {
        let view = CnmView::new(bytes)?;
        let version = view.head() >> 12;
        if version != 0 {
            return Err(Error::Value { what: "the version of a CNM", accepted: "0", got: version.into() });
        }
        let (len, rest) = (usize::from(view.msdu_len()), view.rest());
        if len > MSDU_MOST {
            return Err(Error::Long { what: "the encapsulated MSDU", most: MSDU_MOST, got: len });
        }
        let msdu = rest.get(..len).ok_or(Error::Short {
            what: "the encapsulated MSDU",
            needed: len,
            got: rest.len(),
        })?;
        Ok(Cnm {
            congestion_point: view.congestion_point(),
            offset: view.offset(),
            delta: view.delta(),
            priority: Pcp::of_top_bits(view.priority()),
            destination: view.destination(),
            ..Cnm::new((view.head() & 63) as u8, msdu)?
        })
    }

    /// Appends the octets after the type.
    pub fn encode(&self, out: &mut Vec<u8>) {
        u16::from(self.feedback).put(out);
        self.congestion_point.put(out);
        self.offset.put(out);
        self.delta.put(out);
        [self.priority.top_bits(), 0].put(out);
        self.destination.put(out);
        (self.msdu.len() as u16).put(out);
        out.extend_from_slice(&self.msdu);
    }
}

impl fmt::Display for Cnm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Cnm { feedback, congestion_point, offset, delta, priority, destination, .. } = self;
        write!(
            f,
            "CNM, feedback {feedback}, offset {offset}, delta {delta}, congestion point {congestion_point:016x}, "
        )?;
        write!(f, "for priority {priority} to {destination}")
    }
}
