//! Counters, histograms, series, fairness, and the described tables of a result.

#![warn(clippy::too_many_lines)]

mod bins;
mod fairness;
mod latency;
mod level_times;
mod passage;
mod series;
mod sojourns;
mod table;

pub use fairness::jain;
pub use latency::{Latency, LatencyByBatches, LatencySummary};
pub use level_times::LevelTimes;
pub use passage::{Passage, Train};
pub use series::{BinnedBits, BinnedMax, Carried};
pub use sojourns::Sojourns;
pub use table::{Column, Table, Values};
