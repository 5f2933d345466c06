//! The index of the far end of a link.

use crate::run::state::index::{PlaceIx, PortIx};

/// The port at the far end of a link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PeerIx(pub(super) PortIx);

impl From<PeerIx> for PlaceIx {
    #[inline(always)]
    fn from(peer: PeerIx) -> PlaceIx {
        peer.0.into()
    }
}

impl PeerIx {
    /// The port with this number, in the numbering of its own part.
    #[inline(always)]
    pub fn new(number: u32) -> PeerIx {
        PeerIx(PortIx::new(number))
    }
}
