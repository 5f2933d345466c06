//! iSER: iSCSI over RDMA. Its commands and responses are SENDs, its data RDMA WRITEs and READs of the target.
//!
//! | | initiator | target |
//! |---|---|---|
//! | `iscsi_read` | SEND: command | WRITE: the data; SEND: response |
//! | `iscsi_write` | SENDs: command with immediate data, unsolicited Data-Out | SEND: response |
//! | ... each burst beyond `first_burst` | response to READ: the data | request of READ, in place of R2T |
//!
//! A PDU in a SEND has an iSER header (28 B) before the iSCSI header (48 B). Data transferred by WRITE or READ has
//! neither, because the target places it at the address in the command. Unsolicited data of a write is sent in PDUs of
//! at most `data_segment`. A target reads the bursts one after another.
//!
//! Source: RFC 7145 (iSER), sections 7.3 (PDUs and their mapping) and 9.2 (header); RFC 7143, section 13 (limits of
//! data).
//!
//! Not modelled: login and iSER Hello; registration and invalidation of memory; concurrent READs of one command.

use crate::messages::IscsiKeys;
use crate::rdma::{Operation, Post};

/// Bytes of the iSER and iSCSI headers; also the total size of a command without data, and of a response.
const HEADERS: u64 = 28 + 48;

fn send(data: u64) -> Post {
    Post { operation: Operation::Send, bytes: HEADERS + data }
}

/// The operations of a command, in both directions.
pub(crate) const OPERATIONS: [Operation; 4] =
    [Operation::Send, Operation::Write, Operation::ReadRequest, Operation::ReadResponse];

/// Returns the messages of a command that reads a block.
pub(crate) fn read(keys: &IscsiKeys) -> Vec<Box<[Post]>> {
    let data = Post { operation: Operation::Write, bytes: keys.block.get() };
    vec![[send(0)].into(), [data, send(0)].into()]
}

/// Returns the messages of a command that writes a block.
pub(crate) fn write(keys: &IscsiKeys) -> Vec<Box<[Post]>> {
    let (block, segment) = (keys.block.get(), keys.data_segment.get());
    let first = block.min(keys.first_burst.get());
    // The first data PDU is the command itself.
    let pdus = (0..first.div_ceil(segment).max(1)).map(|n| send((first - n * segment).min(segment)));
    let mut messages = vec![pdus.collect()];
    let mut left = block - first;
    while left > 0 {
        let burst = left.min(keys.max_burst.get());
        let request = Post { operation: Operation::ReadRequest, bytes: 0 };
        let response = Post { operation: Operation::ReadResponse, bytes: burst };
        messages.extend([[request].into(), [response].into()]);
        left -= burst;
    }
    messages.push([send(0)].into());
    messages
}

#[cfg(test)]
mod tests {
    use super::*;
    use Operation::{ReadRequest, ReadResponse, Send, Write};
    use units::Bytes;

    fn keys(block: u64, segment: u64, first: u64, most: u64) -> IscsiKeys {
        let [block, data_segment, first_burst, max_burst] = [block, segment, first, most].map(Bytes::new);
        IscsiKeys { block, data_segment, first_burst, max_burst }
    }
    fn plain(messages: Vec<Box<[Post]>>) -> Vec<Vec<(Operation, u64)>> {
        let of = |posts: &[Post]| posts.iter().map(|post| (post.operation, post.bytes)).collect();
        messages.iter().map(|posts| of(posts)).collect()
    }

    #[test]
    fn a_block_is_read_by_a_write_of_the_target() {
        let read = plain(read(&keys(10_000, 4_096, 0, 4_096)));
        assert_eq!(read, [vec![(Send, 76)], vec![(Write, 10_000), (Send, 76)]]);
    }

    #[test]
    fn a_block_is_written_by_its_first_burst_and_reads_of_the_target() {
        let all = |block, first| plain(write(&keys(block, 4_096, first, 6_000)));
        assert_eq!(all(100, 4_096), [vec![(Send, 176)], vec![(Send, 76)]]);
        let parts = [(Send, 76 + 4_096), (Send, 76 + 904)];
        let bursts = [
            vec![(ReadRequest, 0)],
            vec![(ReadResponse, 6_000)],
            vec![(ReadRequest, 0)],
            vec![(ReadResponse, 1)],
        ];
        let mut whole = vec![parts.to_vec()];
        whole.extend(bursts.clone());
        whole.push(vec![(Send, 76)]);
        assert_eq!(all(11_001, 5_000), whole);
        // Without unsolicited data, the command is alone.
        assert_eq!(all(6_001, 0), [vec![vec![(Send, 76)]], bursts.to_vec(), vec![vec![(Send, 76)]]].concat());
    }
}
