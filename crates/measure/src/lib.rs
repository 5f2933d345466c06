//! Counters, histograms, series, fairness, and the described tables of a result.
//!
//! ```
//! use measure::{BinnedBits, Passage};
//! use units::Time;
//!
//! // A frame that passes from 5 to 15 ns has half of its bits in each bin of 10 ns.
//! let mut bits = BinnedBits::new(Time::from_ns(10), Time::from_ns(20));
//! bits.add(Passage { end: Time::from_ns(15), took: Time::from_ns(10), bits: 100 });
//! assert_eq!(bits.finish(Time::from_ns(20)), [50, 50]);
//! ```

#![warn(clippy::too_many_lines)]

mod bins;
mod fairness;
mod grid;
mod latency;
mod level_times;
mod passage;
mod series;
mod sojourns;
pub mod table;

pub use fairness::jain;
pub use grid::{Grid, RunningBits, RunningLevels};
pub use latency::{Latency, LatencyByBatches, LatencySummary, RareLatency};
pub use level_times::LevelTimes;
pub use passage::Passage;
pub use series::{BinnedBits, BinnedMax};
pub use sojourns::Sojourns;
pub use table::{Column, ColumnSpec, Kind, Table, TableBuilder, TableSpec, Values};
