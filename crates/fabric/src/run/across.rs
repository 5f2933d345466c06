//! The far end of a link.
//!
//! A node changes its own state; it affects another node only through an event on a link. A
//! [`PortIx`](crate::run::state::index::PortIx) that indexes a table is therefore a port of the node whose event runs.
//! The far end of a link is a [`PeerIx`](peer::PeerIx), which indexes no table, so code that would change another
//! node's state does not compile. Only this module can read the number inside.

pub(crate) mod ahead;
pub(crate) mod peer;
