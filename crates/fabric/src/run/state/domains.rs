//! CN-TAGs and the edges of congestion notification domains, applied as frames are sent to the link.

use frame::{PRIORITIES, Priority};

/// Changes of a port to the frames that it sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PortDomain {
    /// At a host, priorities whose frames get a CN-TAG: bit n for priority n.
    pub tags: u8,
    /// At a switch, priorities whose frames lose the CN-TAG: bit n for priority n.
    pub strips: u8,
    /// New priority of each priority, assigned for the edge port at the other end.
    pub becomes: [Priority; PRIORITIES],
}
