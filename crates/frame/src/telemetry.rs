//! In-band telemetry: fields that switches on the path write into a packet, and that its receiver returns to the
//! sender.

use crate::header::mixed;
use units::{BitRate, Time};

/// Maximum number of hops whose stamps a packet can carry.
pub const MOST_STAMPS: usize = 8;

/// Telemetry that a packet requests from the switches on its path, or that an acknowledgement returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Telemetry {
    /// Nothing.
    #[default]
    None,
    /// One [`Stamp`] for each hop, up to this number of hops, at most [`MOST_STAMPS`]. The stamps are in [`Stamps`].
    Hops(u8),
    /// The highest utilisation of a port on the path.
    Worst {
        /// Utilisation in millionths.
        utilisation: u32,
        /// Averaging time of the ports.
        over: Time,
    },
}

impl Telemetry {
    /// Returns true if the packet also has [`Stamps`].
    #[inline(always)]
    pub const fn has_stamps(self) -> bool {
        matches!(self, Telemetry::Hops(_))
    }

    /// Returns a digest of the contents, for fingerprints: 0 for none.
    pub(crate) fn digest(self) -> u64 {
        match self {
            Telemetry::None => 0,
            Telemetry::Hops(most) => 1 + u64::from(most),
            Telemetry::Worst { utilisation, over } => mixed(1 << 32 | u64::from(utilisation), over.ps()),
        }
    }
}

/// State of a switch's egress port at the start of a packet's transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Time at which the transmission started.
    pub at: Time,
    /// Bytes that the port had sent before the packet, including preambles and inter-frame gaps.
    pub sent: u64,
    /// Bytes of the frames queued behind the packet.
    pub queue: u64,
    /// The rate of the link.
    pub rate: BitRate,
}

/// Stamps of a packet, in the order of its hops.
#[derive(Clone, Copy, Debug)]
pub struct Stamps {
    path: u32,
    len: u8,
    hops: [Stamp; MOST_STAMPS],
}

const NOTHING: Stamp = Stamp { at: Time::ZERO, sent: 0, queue: 0, rate: BitRate::from_bps(0) };

impl Default for Stamps {
    fn default() -> Stamps {
        Stamps { path: 0, len: 0, hops: [NOTHING; MOST_STAMPS] }
    }
}

impl Stamps {
    /// Adds the stamp of a hop through this port, unless there are `most` stamps already.
    pub fn push(&mut self, port: u32, stamp: Stamp, most: u8) {
        let at = usize::from(self.len);
        if at < usize::from(most).min(MOST_STAMPS) {
            self.hops[at] = stamp;
            self.len += 1;
            self.path = (self.path ^ port.wrapping_add(1)).wrapping_mul(0x9E37_79B1).rotate_left(13);
        }
    }
    /// Returns the stamps.
    #[inline]
    pub fn hops(&self) -> &[Stamp] {
        &self.hops[..usize::from(self.len)]
    }
    /// Returns a hash of the path's ports, 32 bits.
    #[inline]
    pub const fn path(&self) -> u32 {
        self.path
    }
    /// Creates a copy of these stamps for a packet on a path with hash `path`.
    #[must_use]
    pub fn again(path: u32, hops: impl IntoIterator<Item = Stamp>) -> Stamps {
        let mut all = Stamps::default();
        for stamp in hops {
            all.push(0, stamp, u8::MAX);
        }
        Stamps { path, ..all }
    }
    /// Returns a digest of the contents, for fingerprints.
    pub fn digest(&self) -> u64 {
        let words = |hop: &Stamp| [hop.at.ps(), hop.sent, hop.queue, hop.rate.bps()];
        self.hops().iter().flat_map(words).fold(u64::from(self.path), mixed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(n: u64) -> Stamp {
        Stamp { at: Time::from_ns(n), sent: n, queue: 2 * n, rate: BitRate::from_gbps(n) }
    }
    fn stamps(ports: &[u32]) -> Stamps {
        let mut all = Stamps::default();
        ports.iter().for_each(|&port| all.push(port, stamp(port.into()), 8));
        all
    }

    #[test]
    fn stamps_are_in_order_and_end_where_there_is_no_more_room() {
        let mut all = Stamps::default();
        (0..7).for_each(|n| all.push(n, stamp(n.into()), 5));
        assert_eq!(all.hops(), [0, 1, 2, 3, 4].map(stamp));
        (0..20).for_each(|n| all.push(n, stamp(n.into()), u8::MAX));
        assert_eq!(all.hops().len(), MOST_STAMPS);
        let again = Stamps::again(all.path(), all.hops().iter().copied());
        assert_eq!((again.digest(), again.hops()), (all.digest(), all.hops()));
    }

    #[test]
    fn paths_and_digests_tell_ports_and_values_apart() {
        let ways = [&[][..], &[0], &[1], &[0, 1], &[1, 0], &[0, 1, 2], &[0, 2, 1]].map(stamps);
        for (n, one) in ways.iter().enumerate() {
            for other in &ways[..n] {
                assert!(one.path() != other.path() && one.digest() != other.digest());
            }
        }
        let plain = stamp(3);
        let others = [
            plain,
            Stamp { at: Time::ZERO, ..plain },
            Stamp { sent: 0, ..plain },
            Stamp { queue: 0, ..plain },
            Stamp { rate: BitRate::from_gbps(1), ..plain },
        ];
        let digests = others.map(|one| Stamps::again(7, [one]).digest());
        assert!((0..others.len()).all(|n| !digests[..n].contains(&digests[n])));
    }
}
