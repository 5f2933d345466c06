//! A bulk transfer: a fixed or unlimited number of bytes, divided into segments.
//!
//! All data is available to the application at the start; the transport polls it segment by segment. All segments are
//! full-sized except the last, which is padded to the minimum Ethernet frame.
//!
//! Source: the greedy source of any textbook on transport; RFC 6349, section 3 (bulk transfer capacity).
//!
//! Not modelled: separate headers above Ethernet (a segment of 1024 B is a frame of 1024 B from DA to FCS, all of
//! which counts as application data); a disk or a processor that is slower than the network.

use frame::MIN_FRAME_BYTES;

/// The bytes of a bulk transfer.
#[derive(Clone, Copy, Debug)]
pub struct Bulk {
    segment: u16,
    /// Total bytes; `u64::MAX` if unlimited.
    bytes: u64,
    /// Number of full segments.
    full: u64,
}

impl Bulk {
    /// Creates a transfer of `bytes` (`None`: unlimited) in segments of `segment` bytes, which is above 0.
    pub fn new(bytes: Option<u64>, segment: u16) -> Bulk {
        let bytes = bytes.unwrap_or(u64::MAX);
        Bulk { segment, bytes, full: bytes / u64::from(segment) }
    }

    /// Returns the length of segment `n` as a frame; `None` after the last.
    pub fn frame_bytes(&self, n: u64) -> Option<u16> {
        if n < self.full {
            return Some(self.segment);
        }
        // The last segment is shorter than a full one, so its length fits.
        let bytes = (self.before(n + 1) - self.before(n)) as u16;
        (bytes > 0).then(|| bytes.max(MIN_FRAME_BYTES.min(self.segment)))
    }

    /// Returns the application bytes in the segments before `n`.
    pub fn before(&self, n: u64) -> u64 {
        if n <= self.full { n * u64::from(self.segment) } else { self.bytes }
    }

    /// Returns true if there is no segment `n` or later.
    pub fn ends_at(&self, n: u64) -> bool {
        self.bytes != u64::MAX && self.before(n) == self.bytes
    }

    /// Ends the transfer after the segments before `n`.
    pub fn close(&mut self, n: u64) {
        *self = Bulk::new(Some(self.before(n)), self.segment);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_are_full_but_the_last() {
        let bulk = Bulk::new(Some(2_500), 1_000);
        assert_eq!([0, 1, 2, 3].map(|n| bulk.frame_bytes(n)), [Some(1_000), Some(1_000), Some(500), None]);
        assert_eq!([0, 1, 2, 3, 4].map(|n| bulk.before(n)), [0, 1_000, 2_000, 2_500, 2_500]);
        assert_eq!([2, 3, 4].map(|n| bulk.ends_at(n)), [false, true, true]);
        // A last segment of one byte is padded to the minimum, or to the length of a full segment if that is shorter.
        assert_eq!(Bulk::new(Some(1_001), 1_000).frame_bytes(1), Some(64));
        assert_eq!(Bulk::new(Some(33), 32).frame_bytes(1), Some(32));
    }

    #[test]
    fn without_end_until_closed() {
        let mut bulk = Bulk::new(None, 1_000);
        assert_eq!((bulk.frame_bytes(1 << 40), bulk.ends_at(1 << 40)), (Some(1_000), false));
        bulk.close(3);
        assert_eq!((bulk.frame_bytes(2), bulk.frame_bytes(3), bulk.ends_at(3)), (Some(1_000), None, true));
    }
}
