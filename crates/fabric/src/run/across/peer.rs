//! The index of the far end of a link.

use crate::run::state::index::{EventPlace, PlaceIx, PortIx, Seal};

/// The port at the far end of a link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PeerIx(pub(super) PortIx);

impl EventPlace for PeerIx {
    #[inline(always)]
    fn place(self, seal: Seal) -> PlaceIx {
        self.0.place(seal)
    }
}

impl PeerIx {
    /// Wraps a port index of the part that owns the port.
    #[inline(always)]
    pub fn new(port: PortIx) -> PeerIx {
        PeerIx(port)
    }
}
