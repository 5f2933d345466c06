//! Links, ports, switches, hosts, topologies and routing: the crate that knows how the pieces meet.
//!
//! A [`spec::Spec`] describes a simulation; a [`Simulation`] is built from it, runs, and gives its result as
//! described tables. `world` is the place to begin reading: the way of a frame.

mod blame;
mod build;
mod deadlock;
mod dependencies;
mod egress;
mod event;
mod fault_plan;
mod faults;
mod forensics;
mod guarantees;
mod losses;
mod memory;
mod outcome;
mod paths;
mod paused;
mod pausing;
mod pool;
mod port;
mod receive;
mod reroute;
pub mod routing;
mod selection;
mod shards;
mod simulation;
mod sources;
pub mod spec;
mod station;
mod storms;
mod tables;
mod ties;
pub mod topology;
mod world;

pub use build::{BuildError, MAX_BINS, MAX_SERIES};
pub use dependencies::dependency_cycle;
pub use guarantees::{Guarantee, guarantees};
pub use outcome::SimulationError;
pub use simulation::{Simulation, State};
