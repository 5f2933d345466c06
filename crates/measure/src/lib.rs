//! Counters, histograms, series, fairness, and the described tables of a result.

#![warn(clippy::too_many_lines)]

mod fairness;
mod latency;
mod series;
mod sojourns;
mod table;

pub use fairness::jain;
pub use latency::{Latency, LatencySummary};
pub use series::{BinnedBits, BinnedMax, Carried, Passage};
pub use sojourns::Sojourns;
pub use table::{Column, Table, Values};
