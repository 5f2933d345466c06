//! What is done ahead of its time.
//!
//! An event does something ahead if nothing that is not known yet can change it: what it is about is then no event of its own. What
//! was done bears the time at which it would have come to pass, and nobody can tell: a state is looked at after it has been
//! brought up to that time ([`Fabric::settle_all`](crate::run::fabric::Fabric::settle_all)), and nothing is done that lies behind the moment at
//! which the run comes back ([`horizon`](crate::run::state::view::NodeView::horizon)). There are three forms of it, and which places have them is
//! known when the fabric is built (`build/ahead.rs`):
//!
//! | what is done ahead | where | instead of |
//! |---|---|---|
//! | a frame that waits is sent when it begins to wait (`queues`) | a port at which only the clock decides | a decision a frame |
//! | a source sends on until a pause can act (`sole_source`) | a NIC whose one source is greedy | a decision a frame |
//! | a frame is counted when it is sent (`arrivals`) | a link to a host that only counts | an arrival |

pub(crate) mod arrivals;
pub(crate) mod queues;
pub(crate) mod sole_source;
