//! Counters, histograms, series, fairness, and the described tables of a result.

mod fairness;
mod integral;
mod latency;
mod series;
mod table;

pub use fairness::jain;
pub use integral::Stays;
pub use latency::{Latency, LatencySummary};
pub use series::{BinnedMax, BinnedSum};
pub use table::{Column, Table, Values};
