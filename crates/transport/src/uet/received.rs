//! Counts of a receiver of Ultra Ethernet Transport.

/// Counts of a receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UetReceived {
    /// Packets placed.
    pub packets: u64,
    /// Messages delivered.
    pub messages: u64,
    /// Packets among these before which all were delivered.
    pub in_order: u64,
    /// Packets that arrived with a mark.
    pub marked: u64,
    /// Grants of credit sent.
    pub grants: u64,
    /// Acknowledgements and NACKs sent.
    pub acks: u64,
    /// See `acks`.
    pub nacks: u64,
    /// Packets that arrived while one before them was missing.
    pub out_of_order: u64,
    /// Numbers by which such a packet was ahead of the first missing one, at most.
    pub reorder_distance: u64,
    /// Packets held behind the first missing one, at most.
    pub held: u64,
    /// Packets that arrived trimmed.
    pub trimmed: u64,
    /// Packets that had arrived before.
    pub duplicates: u64,
}
