//! Steps performed ahead of their time.
//!
//! An event performs a step ahead of its time if no unknown event can change that step, which then needs no event of
//! its own. The step is recorded with the time at which it would have occurred, and no result changes: state is read
//! only after it has been brought up to that time ([`Fabric::settle_all`](crate::run::fabric::Fabric::settle_all)), and
//! no step lies beyond the end of the run window ([`horizon`](crate::run::state::view::NodeView::horizon)). There are
//! three forms; the builder determines where each is used (`build/ahead.rs`):
//!
//! | step performed ahead | where | replaces |
//! |---|---|---|
//! | a queued frame is sent when enqueued (`queues`) | a port where only the clock decides | a decision per frame |
//! | a source sends until a pause can act (`sole_source`) | a NIC with a single, greedy source | a decision per frame |
//! | a frame is counted when it is sent (`arrivals`) | a link to a host that only counts | an arrival per frame |

pub(crate) mod sole_source;

pub(crate) use crate::run::state::ahead::sole_source::SoleGreedySource;

/// Maximum number of frames that a port has sent ahead at any time: each takes a pending event.
pub(crate) const MOST: u8 = 32;
