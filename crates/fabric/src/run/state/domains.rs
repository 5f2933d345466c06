//! CN-TAGs and the edges of congestion notification domains, where frames go to the link.

use frame::{PRIORITIES, Priority};

/// What a port does to the frames that it sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PortDomain {
    /// Of a host: frames of these priorities get a CN-TAG. Bit n for priority n.
    pub tags: u8,
    /// Of a switch: those of these priorities lose it.
    pub strips: u8,
    /// What each priority becomes where the other end keeps it out.
    pub becomes: [Priority; PRIORITIES],
}
