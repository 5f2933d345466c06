//! Steps done ahead of their time.
//!
//! An event does a step ahead of its time if no unknown event can change it: the step is then no event of its own. It is
//! recorded with the time at which it would have occurred, and no result changes: a state is read after it has been brought
//! up to that time ([`Fabric::settle_all`](crate::run::fabric::Fabric::settle_all)), and no step is done beyond the end of
//! the run window ([`horizon`](crate::run::state::view::NodeView::horizon)). There are three forms, and the places that use
//! them are known when the fabric is built (`build/ahead.rs`):
//!
//! | what is done ahead | where | instead of |
//! |---|---|---|
//! | a frame that waits is sent when it begins to wait (`queues`) | a port at which only the clock decides | a decision a frame |
//! | a source sends on until a pause can act (`sole_source`) | a NIC whose one source is greedy | a decision a frame |
//! | a frame is counted when it is sent (`arrivals`) | a link to a host that only counts | an arrival |

pub(crate) mod sole_source;

pub(crate) use crate::run::state::ahead::sole_source::SoleGreedySource;

/// Maximum number of frames of a port sent ahead at a time: each takes a pending event.
pub(crate) const MOST: u8 = 32;
