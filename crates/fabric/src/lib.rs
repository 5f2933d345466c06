//! Links, ports, switches, hosts, topologies and routing: the crate that connects the mechanisms.
//!
//! A [`spec::Spec`] describes a simulation; a [`Simulation`] is built from it, runs, and returns its result as
//! described tables. Start reading at `run/steps.rs`, which follows the path of a frame.
//!
//! Crate `scenario` reads a specification from a file, and crate `session` drives a run. A topology alone, as nodes and
//! links:
//!
//! ```
//! use fabric::topology::{Cable, FatTree, Shape};
//! use units::{BitRate, Time};
//!
//! let cable = Cable::new(BitRate::from_gbps(100), Time::from_ns(10));
//! let graph = FatTree::new(4, cable).graph().unwrap();
//! assert_eq!((graph.hosts().count(), graph.switches().count(), graph.links.len()), (16, 20, 48));
//! ```

#![warn(clippy::too_many_lines)]

mod audit;
mod build;
mod run;
mod simulation;
pub mod spec;
mod tables;

pub use audit::{
    Bottleneck, Finding, RoundTrips, Subject, Threshold, audit, audit_flows, bottlenecks,
    paused_before_marks, round_trips, thresholds,
};
pub use build::ends::links_at_ends;
pub use build::guarantees::{Guarantee, guarantees};
pub use build::headroom::{PauseNeeds, frame_bounds, pause_needs};
pub use build::port_schedulers::{PortScheduler, port_schedulers};
pub(crate) use build::whole::Whole;
pub use build::{BuildError, MAX_BINS, MAX_SERIES, SERIES_MEMORY, default_bin};
pub use run::state::outcome::SimulationError;
pub use simulation::dependencies::dependency_cycle;
pub use simulation::driven::Step;
pub use simulation::preview::PreviewCounts;
pub use simulation::threads::Threads;
pub use simulation::{Simulation, State};
pub use spec::{choice, forwarding, routing, topology, tuple, weights};
pub use tables::TABLES;
