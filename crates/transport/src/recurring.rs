//! The contribution of endpoints and headers to a digest of a run's state. Packets are counted from a base: the first
//! unacknowledged packet of the queue pair that sends them.

use crate::{Endpoint, RdmaWord};
use frame::{Header, RdmaHeader, Telemetry};
use recurrence::{Growth, Recurs, Walk};

/// The end of a connection that an endpoint implements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The sending end.
    Sender,
    /// The receiving end.
    Receiver,
}

impl Endpoint {
    /// Returns the first unacknowledged packet; `None` if the endpoint is not a sender whose packets have a base.
    pub fn base(&self) -> Option<u64> {
        let Endpoint::RdmaSender(sender) = self else { return None };
        Some(sender.queue_pairs().next().map_or(0, |pair| pair.first_unacknowledged()))
    }

    /// Visits the endpoint of a connection with this base, and returns which end it is.
    pub fn walk_from(&self, base: u64, walk: &mut Walk) -> End {
        match self {
            Endpoint::RdmaSender(sender) => {
                sender.walk(walk);
                if sender.queue_pairs().count() > 1 {
                    walk.unknown("several queue pairs between two hosts");
                }
                End::Sender
            }
            Endpoint::RdmaReceiver(receiver) => {
                receiver.walk(walk);
                walk.word(receiver.expected(0).wrapping_sub(base));
                End::Receiver
            }
            _ => {
                walk.unknown("transports other than RDMA");
                End::Sender
            }
        }
    }

    /// Visits the counters of the endpoint.
    pub fn grow(&mut self, growth: &mut Growth) {
        match self {
            Endpoint::RdmaSender(sender) => sender.grow(growth),
            Endpoint::RdmaReceiver(receiver) => receiver.grow(growth),
            _ => {}
        }
    }
}

/// Returns the word of a packet with the packet number counted from the base.
pub fn word_from(word: u32, base: u64) -> u32 {
    let own = RdmaWord::of(word);
    RdmaWord { number: own.number.wrapping_sub(base as u32), ..own }.bits()
}

/// Visits the header of a packet.
pub fn walk_header(header: &Header, base: u64, walk: &mut Walk) {
    let Header::Rdma(RdmaHeader { word, pair, echo, arrived, lost, telemetry, requested, immediate }) =
        header
    else {
        return walk.unknown("frames with tags");
    };
    (word_from(*word, base), *pair, *requested).walk(walk);
    echo.get().walk(walk);
    arrived.map(|number| word_from(number, base)).walk(walk);
    lost.walk(walk);
    match *immediate {
        0 | RdmaHeader::OPERATIONS.. => immediate.walk(walk),
        label => walk.label(label),
    }
    if *telemetry != Telemetry::None {
        walk.unknown("in-band telemetry");
    }
}
