//! iWARP: RDMA over TCP, as the headers, padding and markers that it adds to the byte stream of a conversation.
//!
//! | messages | of the opener | of its peer |
//! |---|---|---|
//! | `iwarp_read` | RDMA Read Request | RDMA Read Response |
//! | `iwarp_write` | RDMA Write, then a Send without data that announces it | a Send without data |
//! | `iwarp_send` | Send | a Send without data |
//!
//! The protocol itself does not acknowledge a Write or a Send; the Send in the reverse direction is sent by the
//! application.
//!
//! DDP divides a message into segments. A tagged segment, for data with a specified address at the receiver (Write,
//! Read Response), has a header of 14 B. An untagged segment (Send, and Read Request, whose 28 B specify the
//! addresses) has a header of 18 B. MPA frames each segment as an FPDU: its length (2 B), the segment, padding to a
//! multiple of 4 B, and a CRC (4 B). The maximum segment length (MULPDU) is such that the FPDU fits into a TCP segment
//! with EMSS bytes of data: EMSS - (6 + 4 ⌈EMSS / 512⌉ + EMSS mod 4), or without markers EMSS - (6 + EMSS mod 4). A
//! marker of 4 B is inserted at every 512th byte of each direction, starting at the first byte, independently of FPDU
//! boundaries.
//!
//! Source: RFC 5044 (MPA), sections 4.1 to 4.4; RFC 5041 (DDP), section 4; RFC 5040 (RDMAP), section 4. Hagen 2012,
//! section 2.1.
//!
//! Not modelled: alignment of FPDUs with TCP segments, the frames that open an MPA connection, several outstanding
//! Reads whose responses pass Sends, Terminate. The CRC field is present whether or not it is used.

use keys::Remark;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Bytes;

const TAGGED: u64 = 14;
const UNTAGGED: u64 = 18;
const READ_REQUEST: u64 = 28;
/// Bytes of the length field and of the CRC of an FPDU.
const LENGTH: u64 = 2;
const CRC: u64 = 4;
const MARKER: u64 = 4;
const MARKER_INTERVAL: u64 = 512;
/// Minimum TCP segment in bytes that can hold a useful FPDU: a Read Request has 52 B without markers.
const LEAST_EMSS: u64 = 128;

/// Returns the length of `bytes` bytes of a stream with the markers inserted.
pub(crate) fn with_markers(bytes: u64) -> u64 {
    bytes.saturating_add(MARKER * bytes.div_ceil(MARKER_INTERVAL - MARKER))
}

/// An operation carried by iWARP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IwarpOperation {
    /// RDMA Read.
    Read,
    /// RDMA Write.
    Write,
    /// Send.
    Send,
}

/// A message of RDMA over iWARP.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct IwarpKeys {
    /// Bytes of data. A size with unit, 1 B to 4294967295 B. Default: "1 MiB" (as a block of iSCSI).
    pub message: Bytes,
    /// If true, both receivers request markers, 4 B in every 512 B of the stream. Default: true (RFC 5044 section 4.3; many adapters do not use them).
    pub markers: bool,
}

impl Default for IwarpKeys {
    fn default() -> IwarpKeys {
        IwarpKeys { message: Bytes::new(1 << 20), markers: true }
    }
}

impl IwarpKeys {
    /// Returns the sizes of the messages of an exchange over TCP segments with at most `emss` bytes of data, without
    /// markers.
    pub(crate) fn messages(&self, operation: IwarpOperation, emss: u64) -> Result<Vec<u64>, Remark> {
        if !(Bytes::new(1)..=Bytes::new(u32::MAX.into())).contains(&self.message) {
            let help = format!("expected 1 B to {} B", u32::MAX);
            return Err(Remark::about("message", format!("a message of {}", self.message), help));
        }
        if emss < LEAST_EMSS {
            let help = format!("expected at least {LEAST_EMSS} B: a longer `frame`");
            return Err(Remark::new(format!("iWARP over segments of {emss} B of data"), help));
        }
        let data = self.message.get();
        let send = self.fpdus(0, UNTAGGED, emss);
        Ok(match operation {
            IwarpOperation::Read => {
                vec![self.fpdus(READ_REQUEST, UNTAGGED, emss), self.fpdus(data, TAGGED, emss)]
            }
            IwarpOperation::Write => vec![self.fpdus(data, TAGGED, emss) + send, send],
            IwarpOperation::Send => vec![self.fpdus(data, UNTAGGED, emss), send],
        })
    }

    /// Returns the maximum length of a DDP segment with its header (MULPDU).
    fn mulpdu(&self, emss: u64) -> u64 {
        let markers = if self.markers { MARKER * emss.div_ceil(MARKER_INTERVAL) } else { 0 };
        emss - (LENGTH + CRC + markers + emss % 4)
    }

    /// Returns the bytes of the FPDUs for this much data, in segments with headers of this length. There is at least
    /// one FPDU.
    fn fpdus(&self, data: u64, header: u64, emss: u64) -> u64 {
        let fpdu = |data: u64| (LENGTH + header + data).next_multiple_of(4) + CRC;
        let most = self.mulpdu(emss) - header;
        let rest = data % most;
        let last = if rest > 0 || data == 0 { fpdu(rest) } else { 0 };
        data / most * fpdu(most) + last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(message: u64, markers: bool) -> IwarpKeys {
        IwarpKeys { message: Bytes::new(message), markers }
    }

    #[test]
    fn a_segment_of_ddp_fits_into_one_of_tcp_wherever_markers_fall() {
        for emss in 128..=9_200 {
            for markers in [false, true] {
                let keys = keys(1, markers);
                let fpdu = (LENGTH + keys.mulpdu(emss)).next_multiple_of(4) + CRC;
                // Markers have 4 B and lie at multiples of 512 B. The maximum is the number that can begin within the
                // segment.
                let most = if markers {
                    (fpdu..=emss).find(|all| all - 4 * all.div_ceil(512) >= fpdu)
                } else {
                    Some(fpdu)
                };
                assert!(most.is_some_and(|most| most <= emss), "{emss} {markers}");
            }
        }
        // 1460 B contain at most three markers, and no bytes are left over.
        assert_eq!((keys(1, true).mulpdu(1_460), keys(1, false).mulpdu(1_460)), (1_442, 1_454));
        assert_eq!(keys(1, false).mulpdu(1_448 + 2), 1_442);
    }

    #[test]
    fn messages_are_cut_into_segments_with_their_headers() {
        let of = |keys: IwarpKeys, operation| keys.messages(operation, 1_460).unwrap();
        // A request has 2 + 18 + 28 + 4 B. The first FPDU has 1,428 B of data: 2 + 14 + 1,428 B, no padding, 4 B.
        assert_eq!(of(keys(1_428, true), IwarpOperation::Read), [52, 1_448]);
        // One more byte adds 2 + 14 + 1 B, 3 B of padding, and 4 B.
        assert_eq!(of(keys(1_429, true), IwarpOperation::Read), [52, 1_448 + 24]);
        assert_eq!(of(keys(1_428, true), IwarpOperation::Write), [1_448 + 24, 24]);
        assert_eq!(of(keys(1_424, true), IwarpOperation::Send), [1_448, 24]);
        assert_eq!(of(keys(1, true), IwarpOperation::Send), [28, 24]);
        // 1 MiB without markers: 728 segments of 1,440 B and one of 256 B.
        assert_eq!(of(keys(1 << 20, false), IwarpOperation::Read)[1], 728 * 1_460 + 276);
        assert!(keys(1, true).messages(IwarpOperation::Read, 127).is_err());
        assert!(keys(0, true).messages(IwarpOperation::Send, 1_460).is_err());
    }

    #[test]
    fn markers_stand_at_every_512th_byte() {
        for bytes in 0..5_000 {
            let (mut at, mut left) = (0, bytes);
            while left > 0 {
                // The marker precedes the byte whose position it takes.
                at += if at % 512 == 0 { 4 } else { 0 };
                at += 1;
                left -= 1;
            }
            assert_eq!(with_markers(bytes), at);
        }
    }
}
