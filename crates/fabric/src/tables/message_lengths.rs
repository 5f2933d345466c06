//! Lengths of the messages whose first packets are in the frame log: the length in the header of a WRITE, which
//! simulated frames do not carry.
//!
//! The length is known if the log has all packets of the message, at any port. The bytes of the last packet are known
//! if its frame is longer than the minimum.

use super::View;
use crate::run::state::frame_log::Row;
use frame::{FrameKind, MIN_FRAME_BYTES};
use std::collections::BTreeMap;
use transport::{Operation, QueuePairSpec, QueuePairWord};

/// The octets of a CN-TAG.
const CN_TAG: u16 = 4;

/// A queue pair: its path, its number on the path, and true if it sends from the far end.
type Pair = (u32, u32, bool);

/// Packets of queue pairs, by packet number.
#[derive(Default)]
pub(super) struct MessageLengths {
    packets: BTreeMap<Pair, BTreeMap<u32, Packet>>,
}

#[derive(Clone, Copy)]
struct Packet {
    first: bool,
    /// For the last packet of a message, its bytes of data, or 0 if unknown.
    last: Option<u16>,
}

impl MessageLengths {
    /// Collects the packets of WRITEs in the log.
    pub fn of(view: &View<'_>, rows: &[Row]) -> MessageLengths {
        let mut found = MessageLengths::default();
        for row in rows {
            let Some((pairs, operation)) = write_of(view, row) else { continue };
            let QueuePairWord { number, flags: [last, _, first], .. } = QueuePairWord::of(row.frame.word);
            let last = last.then(|| data_of(row, pairs.headers + operation.extended(first, true)));
            found.packets.entry(pair_of(row)).or_default().insert(number, Packet { first, last });
        }
        found
    }

    /// Returns the length of the message that a row carries in its header; 0 if it carries none, or if the length is
    /// unknown.
    pub fn bytes(&self, view: &View<'_>, row: &Row) -> u64 {
        if view.operation_of(row).is_none() {
            return 0;
        }
        let QueuePairWord { number, flags: [_, ack_request, first], .. } = QueuePairWord::of(row.frame.word);
        if ack_request && row.requested > 0 {
            return row.requested.into();
        }
        let Some((pairs, _)) = write_of(view, row).filter(|_| first) else { return 0 };
        self.packets.get(&pair_of(row)).and_then(|own| bytes_from(own, number, pairs)).unwrap_or(0)
    }
}

/// Returns the length of the message that starts with a packet, if all of its packets are known.
fn bytes_from(packets: &BTreeMap<u32, Packet>, first: u32, pairs: &QueuePairSpec) -> Option<u64> {
    let mut before = 0u64;
    loop {
        let packet = packets.get(&QueuePairWord::of(first.wrapping_add(before as u32)).number)?;
        if packet.first != (before == 0) {
            return None;
        }
        match packet.last {
            Some(0) => return None,
            Some(data) => return Some(before * u64::from(pairs.mtu) + u64::from(data)),
            None => before += 1,
        }
    }
}

/// Returns the queue pair of a data packet of a WRITE, and the operation.
fn write_of<'a>(view: &'a View<'_>, row: &Row) -> Option<(&'a QueuePairSpec, Operation)> {
    let operation = view.operation_of(row)?;
    let is_write = matches!(operation, Operation::Write | Operation::WriteWithImmediate);
    let pairs = view.connection_of(row)?.queue_pairs()?;
    (is_write && row.frame.flags.kind() == FrameKind::Data).then_some((pairs, operation))
}

fn pair_of(row: &Row) -> Pair {
    let word = QueuePairWord::of(row.frame.word);
    (row.frame.path.0, if word.has_pair() { word.pair } else { row.connection }, row.back)
}

/// Returns the bytes of data in a packet with `headers` bytes of headers; 0 if the frame was padded.
fn data_of(row: &Row, headers: u16) -> u16 {
    let bytes = row.frame.bytes - if row.cn_tag.is_some() { CN_TAG } else { 0 };
    if bytes <= MIN_FRAME_BYTES {
        return 0;
    }
    bytes.saturating_sub(headers)
}
