//! A fabric at work: its state, part by part, and what happens to a frame.
//!
//! Begin with `world`, the way of a frame. `links`, `buffers`, `node`, `route_table`, `hosts`, `ledger`, `faults` and
//! `probes` are the parts that a fabric is made of.

pub(crate) mod ahead;
pub(crate) mod architecture;
pub(crate) mod blame;
pub(crate) mod buffers;
pub(crate) mod completions;
pub(crate) mod contention;
pub(crate) mod control_frames;
pub(crate) mod credit_waits;
pub(crate) mod credits;
pub(crate) mod crossbar;
pub(crate) mod culprits;
pub(crate) mod egress;
pub(crate) mod endpoint_state;
pub(crate) mod endpoints;
pub(crate) mod event;
pub(crate) mod faults;
pub(crate) mod frame_log;
pub(crate) mod headers;
pub(crate) mod hosts;
pub(crate) mod ingress;
pub(crate) mod ledger;
pub(crate) mod levels;
pub(crate) mod limiter_line;
pub(crate) mod limiter_passing;
pub(crate) mod limiter_places;
pub(crate) mod limiters;
pub(crate) mod link_control;
pub(crate) mod links;
pub(crate) mod losses;
pub(crate) mod managed;
pub(crate) mod node;
pub(crate) mod numbering;
pub(crate) mod outcome;
pub(crate) mod overtaking;
pub(crate) mod path_change;
pub(crate) mod pause_sender;
pub(crate) mod pausing;
pub(crate) mod pool;
pub(crate) mod port;
pub(crate) mod probes;
pub(crate) mod receive;
pub(crate) mod replies;
pub(crate) mod route_table;
pub(crate) mod selection;
pub(crate) mod sharing;
pub(crate) mod sources;
pub(crate) mod spreading;
pub(crate) mod stops;
pub(crate) mod storms;
mod tags;
pub(crate) mod tallies;
pub(crate) mod ties;
pub(crate) mod victims;
pub(crate) mod world;
