//! CN-TAGs and the edges of congestion notification domains, applied as frames go to the link.

use frame::{PRIORITIES, Priority};

/// Changes of a port to the frames that it sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PortDomain {
    /// At a host: priorities whose frames get a CN-TAG. Bit n for priority n.
    pub tags: u8,
    /// At a switch: priorities whose frames lose it.
    pub strips: u8,
    /// New priority of each priority where the other end is outside the domain.
    pub becomes: [Priority; PRIORITIES],
}
