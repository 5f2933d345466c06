//! Steps performed ahead of their time: queued frames (`queues`), frames of sole sources (`sole_source`) and arrivals
//! that are only counted (`arrivals`). The comment of `run/state/ahead.rs` describes the three forms and the ports that
//! use them.

pub(crate) mod arrivals;
pub(crate) mod queues;
pub(crate) mod sole_source;
