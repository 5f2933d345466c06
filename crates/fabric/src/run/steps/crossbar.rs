//! Steps of a crossbar: arrival, matching and crossing of frames (`crossings`), the frames waiting for an egress queue
//! (`held`), and departures from outputs (`outputs`). The comment of `run/state/crossbar.rs` describes the model.

pub(crate) mod crossings;
pub(crate) mod held;
pub(crate) mod outputs;
