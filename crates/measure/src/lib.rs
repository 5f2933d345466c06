//! Counters, histograms, series, fairness, and tables of results with descriptions.
//!
//! ```
//! use measure::{Grid, Passage, RunningBits};
//! use units::Time;
//!
//! // A frame that passes from 5 to 15 ns has half of its bits in each bin of 10 ns.
//! let mut grid = Grid::new(Time::from_ns(10), Time::from_ns(20));
//! let mut bits = RunningBits::default();
//! bits.pass(Passage { end: Time::from_ns(15), took: Time::from_ns(10), bits: 100 }, &mut grid);
//! assert_eq!(bits.bins(&grid, Time::from_ns(20)), [50, 50]);
//! ```

#![warn(clippy::too_many_lines)]

mod bins;
mod fairness;
mod grid;
mod latency;
mod level_times;
mod passage;
mod sojourns;
pub mod table;
mod tape;

pub use fairness::jain;
pub use grid::{Grid, RunningBits, RunningLevels};
pub use latency::{Latency, LatencyByBatches, LatencySummary, RareLatency};
pub use level_times::LevelTimes;
pub use passage::Passage;
pub use sojourns::Sojourns;
pub use table::{Column, ColumnSpec, Kind, Table, TableBuilder, TableSpec, Values};
