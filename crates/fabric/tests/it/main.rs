//! What the engine does, in one binary: linking takes longer than most of the tests. Those that count memory are alone.

#[path = "../common/mod.rs"]
mod common;

mod ahead;
mod blame;
mod bypass;
mod bypass_waits;
mod channels;
mod clocks;
mod control_frames;
mod copies;
mod credit_forensics;
mod credits;
mod crossbar;
mod endpoints;
mod far_limiters;
mod faults;
mod forensics;
mod headroom;
mod large;
mod limiters;
mod links;
mod lone_sources;
mod pairs;
mod path_rates;
mod pause_lengths;
mod pausing;
mod probes;
mod properties;
mod queue_managers;
mod rdma;
mod receive;
mod reconfiguration;
mod remaps;
mod ring;
mod schedulers;
mod sending;
mod spreading;
mod storms;
mod streams;
mod tcp;
mod timing;
mod transfers;
mod tuples;
mod warmup;
mod weights;
