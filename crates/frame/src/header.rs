//! What does not fit into the word of a frame.
//!
//! Most frames carry nothing or one number. What is wider is a [`Header`]: the frame says that it has one
//! ([`Flags::is_wide`](crate::Flags::is_wide)), and its word says where it lies.

/// What a frame carries beyond one word. A plain value: it moves with its frame from thread to thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Header {
    /// Of a TCP segment.
    Tcp(TcpHeader),
}

/// The fields of a TCP segment that decide what its receiver does (RFC 9293 section 3.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpHeader {
    /// Number of the first byte.
    pub sequence: u32,
    /// The next byte that is expected.
    pub acknowledgement: u32,
    /// Bytes that may follow the acknowledged ones, scaling undone.
    pub window: u32,
    /// TSval and TSecr (RFC 7323 section 3).
    pub timestamps: Option<(u32, u32)>,
    /// Blocks of bytes that have arrived, each from its first to the one behind its last; empty ones end the list
    /// (RFC 2018 section 3).
    pub sacks: [(u32, u32); 4],
}

impl Header {
    /// Its contents, for fingerprints.
    pub fn digest(&self) -> u64 {
        let Header::Tcp(tcp) = self;
        let (value, echo) = tcp.timestamps.unwrap_or_default();
        let first = [tcp.sequence, tcp.acknowledgement, tcp.window, value, echo];
        let words = first.into_iter().chain(tcp.sacks.into_iter().flat_map(|(from, to)| [from, to]));
        words.fold(u64::from(tcp.timestamps.is_some()), |digest, word| {
            (digest.rotate_left(5) ^ u64::from(word)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_is_part_of_the_digest() {
        let plain = TcpHeader::default();
        let with_sack = |at: usize, block| {
            let mut sacks = plain.sacks;
            sacks[at] = block;
            TcpHeader { sacks, ..plain }
        };
        let others = [
            plain,
            TcpHeader { sequence: 1, ..plain },
            TcpHeader { acknowledgement: 1, ..plain },
            TcpHeader { window: 1, ..plain },
            TcpHeader { timestamps: Some((0, 0)), ..plain },
            TcpHeader { timestamps: Some((1, 0)), ..plain },
            TcpHeader { timestamps: Some((0, 1)), ..plain },
            with_sack(0, (1, 0)),
            with_sack(0, (0, 1)),
            with_sack(3, (0, 1)),
        ];
        for (n, one) in others.iter().enumerate() {
            let digest = |tcp: &TcpHeader| Header::Tcp(*tcp).digest();
            assert!(others[..n].iter().all(|other| digest(other) != digest(one)));
        }
    }
}
