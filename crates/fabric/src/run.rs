//! A fabric at run time.
//!
//! `state` holds the data: structs, with the methods that need only their own fields. `steps` holds the processing of a
//! frame, as functions of the node that processes it; begin with `dispatch`, which dispatches events. State never
//! imports steps. `across` accesses the far end of a link. `fabric` holds all nodes of a part.

pub(crate) mod across;
pub(crate) mod dispatch;
pub(crate) mod fabric;
pub(crate) mod fetching;
pub(crate) mod state;
pub(crate) mod steps;
