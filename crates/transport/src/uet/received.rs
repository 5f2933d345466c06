//! The counters of a receiver of Ultra Ethernet Transport.

/// The counters of a receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UetReceived {
    /// Packets placed.
    pub packets: u64,
    /// Messages delivered.
    pub messages: u64,
    /// Packets that arrived in order, after all packets before them had been placed.
    pub in_order: u64,
    /// Packets that arrived with a mark.
    pub marked: u64,
    /// Grants of credit sent.
    pub grants: u64,
    /// Acknowledgements and NACKs sent.
    pub acks: u64,
    /// See `acks`.
    pub nacks: u64,
    /// Packets that arrived while an earlier one was missing.
    pub out_of_order: u64,
    /// Maximum distance of such a packet from the first missing one, in packet numbers.
    pub reorder_distance: u64,
    /// Maximum number of packets held behind the first missing one.
    pub held: u64,
    /// Packets that arrived trimmed.
    pub trimmed: u64,
    /// Packets that had arrived before.
    pub duplicates: u64,
}
