//! Messages of layer-2 congestion information (L2CI).
//!
//! Source: McAlpine 2005 sections 4 and 5, which list the contents without a layout. The layout, after the local
//! experimental EtherType 0x88B6, is Penstock's own. Its first octet distinguishes it from other uses of that
//! EtherType.

use crate::view::{Field, view};
use crate::{Error, Mac, Pcp};
use serde::Serialize;
use std::fmt;

/// First octet.
pub const L2CI: u8 = 2;

view! {
    /// View of the octets after the EtherType 0x88B6.
    L2ciView("an L2CI message", 26) {
        /// Protocol number, [`L2CI`].
        protocol: u8 = 0,
        /// `version(4) kind(4)`.
        head: u8 = 1,
        /// Sequence number.
        sequence: u16 = 2,
        /// Congestion in thousandths of the receive buffer.
        congestion_permille: u16 = 4,
        /// Number of switches passed.
        hops: u8 = 6,
        /// Octet with the priority in its top three bits.
        priority: u8 = 7,
        /// Rate of the slowest link of the path in Mb/s; initially all ones.
        slowest_mbps: u32 = 8,
        /// Timestamp of the sender.
        stamp_ns: u64 = 12,
        /// Destination that identifies the path.
        path: Mac = 20,
    }
}

/// Purpose of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum L2ciKind {
    /// Discovers the path.
    Discover = 1,
    /// Reply to a discovery.
    DiscoverEcho = 2,
    /// Reports congestion.
    Feedback = 3,
    /// Measures the path.
    Probe = 4,
    /// Reply to a probe.
    ProbeEcho = 5,
}

impl L2ciKind {
    const ALL: [L2ciKind; 5] = [
        L2ciKind::Discover,
        L2ciKind::DiscoverEcho,
        L2ciKind::Feedback,
        L2ciKind::Probe,
        L2ciKind::ProbeEcho,
    ];

    fn of(value: u8) -> Result<L2ciKind, Error> {
        let wrong =
            Error::Value { what: "the kind of an L2CI message", accepted: "1 to 5", got: value.into() };
        Self::ALL.into_iter().find(|kind| *kind as u8 == value).ok_or(wrong)
    }
}

/// A message about a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct L2ci {
    /// Purpose of the message.
    pub kind: L2ciKind,
    /// Sequence number.
    pub sequence: u16,
    /// Congestion in thousandths of the receive buffer, the maximum of all switches passed. May exceed 1000.
    pub congestion_permille: u16,
    /// Number of switches passed so far.
    pub hops: u8,
    /// Priority of the path.
    pub priority: Pcp,
    /// Rate of the slowest link so far, in Mb/s; initially 4294967295.
    pub slowest_mbps: u32,
    /// Timestamp of the sender in ns, echoed unchanged.
    pub stamp_ns: u64,
    /// Destination that identifies the path.
    pub path: Mac,
}

impl L2ci {
    /// Reads the octets after the type.
    pub fn decode(bytes: &[u8]) -> Result<L2ci, Error> {
        let view = L2ciView::new(bytes)?;
        let (protocol, version) = (view.protocol(), view.head() >> 4);
        if (protocol, version) != (L2CI, 0) {
            let what = "protocol and version of an L2CI message";
            let got = u64::from(protocol) << 8 | u64::from(version);
            return Err(Error::Value { what, accepted: "512 (2 and 0)", got });
        }
        Ok(L2ci {
            kind: L2ciKind::of(view.head() & 15)?,
            sequence: view.sequence(),
            congestion_permille: view.congestion_permille(),
            hops: view.hops(),
            priority: Pcp::of_top_bits(view.priority()),
            slowest_mbps: view.slowest_mbps(),
            stamp_ns: view.stamp_ns(),
            path: view.path(),
        })
    }

    /// Appends the octets after the type.
    pub fn encode(&self, out: &mut Vec<u8>) {
        [L2CI, self.kind as u8].put(out);
        self.sequence.put(out);
        self.congestion_permille.put(out);
        [self.hops, self.priority.top_bits()].put(out);
        self.slowest_mbps.put(out);
        self.stamp_ns.put(out);
        self.path.put(out);
    }
}

impl fmt::Display for L2ci {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            L2ciKind::Discover => "discover",
            L2ciKind::DiscoverEcho => "discover echo",
            L2ciKind::Feedback => "feedback",
            L2ciKind::Probe => "probe",
            L2ciKind::ProbeEcho => "probe echo",
        };
        let L2ci { sequence, congestion_permille, hops, path, .. } = self;
        write!(
            f,
            "L2CI {kind} {sequence}, congestion {congestion_permille} permille, {hops} hops, path to {path}"
        )
    }
}
