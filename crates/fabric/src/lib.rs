//! Links, ports, switches, hosts, topologies and routing: the crate that knows how the pieces meet.
//!
//! A [`spec::Spec`] describes a simulation; a [`Simulation`] is built from it, runs, and gives its result as
//! described tables. `world` is the place to begin reading: the way of a frame.

mod advice;
mod ahead;
mod architecture;
mod blame;
mod buffers;
mod build;
pub mod choice;
mod deadlock;
mod dependencies;
mod egress;
mod endpoints;
mod event;
mod fault_plan;
mod faults;
mod forensics;
pub mod forwarding;
mod guarantees;
mod headroom;
mod hosts;
mod ledger;
mod link_control;
mod links;
mod losses;
mod managed;
mod node;
mod numbering;
mod outcome;
mod paths;
mod pause_sender;
mod pausing;
mod pool;
mod port;
mod probes;
mod receive;
mod replies;
mod reroute;
mod route_table;
pub mod routing;
mod selection;
mod shards;
mod sharing;
mod simulation;
mod sources;
pub mod spec;
mod spreading;
mod stops;
mod storms;
mod tables;
mod threads;
mod ties;
pub mod topology;
mod whole;
mod world;

pub use build::{BuildError, MAX_BINS, MAX_SERIES};
pub use dependencies::dependency_cycle;
pub use guarantees::{Guarantee, guarantees};
pub use headroom::{PauseNeeds, frame_bounds, pause_needs};
pub use outcome::SimulationError;
pub use simulation::{Simulation, State};
pub use threads::Threads;
