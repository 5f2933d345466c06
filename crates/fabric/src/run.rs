//! A fabric at run time.
//!
//! `state` holds its data: structs, with the methods that need only their own fields. `steps` holds the stages that a frame passes;
//! begin with `steps::world`, which dispatches events. State never imports steps. `across` is the far end of a link.

pub(crate) mod across;
pub(crate) mod state;
pub(crate) mod steps;
