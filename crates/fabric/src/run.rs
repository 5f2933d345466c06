//! A fabric at run time.
//!
//! `state` holds its data: structs, with the methods that need only their own fields. `steps` holds what happens to a frame, as functions of
//! the node at which it happens; begin with `dispatch`, which dispatches events. State never imports steps. `across` is the far end
//! of a link. `fabric` is all nodes of a part at once.

pub(crate) mod across;
pub(crate) mod dispatch;
pub(crate) mod fabric;
pub(crate) mod fetching;
pub(crate) mod state;
pub(crate) mod steps;
