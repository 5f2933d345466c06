//! Keys for the starts and sizes of transfers, and their checks.

use crate::PublishedSizes;
use crate::transfer_sizes::{MOST_BYTES, TransferSizes};
use keys::{Forms, Remark, Remarks, by_form};
use schemars::JsonSchema;
use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{self, MapAccess};
use serde::{Deserialize, Serialize};
use units::{BitRate, Bytes, Time};

/// Start times of transfers.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ArrivalsText {
    /// Each sender begins one transfer, at `start`.
    Once,
    /// Poisson process: each sender begins transfers with exponential gaps, drawn from its own random stream. Exactly one of `load` and `gap`.
    Poisson {
        /// Offered load of each sender: mean rate of the bytes of its transfers, without headers, as a fraction of the rate of its link. A number above 0.
        #[serde(skip_serializing_if = "Option::is_none")]
        load: Option<f64>,
        /// Mean time between the starts of two transfers of a sender. A time with unit, above 0.
        #[serde(skip_serializing_if = "Option::is_none")]
        gap: Option<Time>,
    },
    /// Incast in rounds: several senders begin a transfer to one receiver at the same time.
    Incast {
        /// Time between the starts of two rounds; the first round starts at `start`. A time with unit, above 0. Required.
        every: Time,
        /// Number of senders in each round, drawn at random from `from` for each round. A count, at least 1. Default: all except the receiver.
        #[serde(skip_serializing_if = "Option::is_none")]
        senders: Option<u64>,
    },
    /// Path of a CSV or Parquet file, relative to the scenario, with one row per transfer in order of time. Its columns are `time_us` (or `time_s`, `time_ms`, `time_ns`, `time_ps`, or `time` with a unit in each value), `from`, `to`, `bytes` and optionally `priority`, `from_port` and `to_port`. A transfer that depends on others has no time, but their names in `after`, separated by spaces; the column `id` has the names. It begins when all of them have ended, as observed at its host: transfers that the host sends are acknowledged (over TCP or RDMA), and transfers to it have arrived.
    File(String),
}

/// Sizes of transfers.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum SizesText {
    /// Fixed size. A size with unit, at least 1 B.
    Fixed(Bytes),
    /// A published distribution.
    Published(PublishedSizes),
    /// A distribution.
    Table(SizesTable),
}

/// Distributions of sizes that need a table.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum SizesTable {
    /// Uniform distribution of all sizes from `min` to `max`.
    Uniform {
        /// Minimum size. A size with unit, at least 1 B. Required.
        min: Bytes,
        /// Maximum size. A size with unit, not below `min`. Required.
        max: Bytes,
    },
    /// Pareto distribution, truncated: no transfer is larger than 100 times `mean`.
    Pareto {
        /// Mean of the truncated sizes; the minimum size is chosen to give this mean. A size with unit, at least 1 B. Required.
        mean: Bytes,
        /// Shape parameter: the smaller it is, the larger is the share of bytes in a few large transfers. A number above 1 (below, there is no mean). Required.
        shape: f64,
    },
    /// Log-normal distribution.
    LogNormal {
        /// Mean size. A size with unit, at least 1 B. Required.
        mean: Bytes,
        /// Standard deviation of the natural logarithm of the size. A number, 0 to 5. Required.
        #[schemars(range(min = 0.0, max = 5.0))]
        sigma: f64,
    },
    /// Path of a CSV file with the columns `bytes` and `cdf`, relative to the scenario. `cdf` is the share of transfers with at most this many bytes, and rises to 1 or to 100; it is interpolated linearly between rows.
    Points(String),
}

by_form!(SizesText);

impl Forms for SizesText {
    const EXPECTED: &'static str = "a size like \"1 MB\", the name of a published distribution like \"web_search\", or a table with uniform, pareto, log_normal or points";
    fn text<E: de::Error>(text: &str) -> Result<Self, E> {
        // A size begins with a digit, a name does not.
        if text.starts_with(|c: char| c.is_ascii_lowercase()) {
            return PublishedSizes::deserialize(StrDeserializer::new(text)).map(SizesText::Published);
        }
        text.parse().map(SizesText::Fixed).map_err(|why| {
            E::custom(format!("{why}; a published distribution like \"web_search\" is accepted too"))
        })
    }
    fn table<'de, A: MapAccess<'de>>(table: A) -> Result<Self, A::Error> {
        SizesTable::deserialize(MapAccessDeserializer::new(table)).map(SizesText::Table)
    }
}

impl ArrivalsText {
    /// Returns warnings, with paths relative to the arrivals.
    ///
    /// # Errors
    /// A time of 0, an invalid load, or not exactly one of two keys.
    pub fn check(&self) -> Remarks {
        match self {
            ArrivalsText::Once | ArrivalsText::File(_) => Ok(Vec::new()),
            ArrivalsText::Poisson { load, gap } => check_poisson(*load, *gap)
                .map(|warning| warning.into_iter().map(|why| why.within("poisson")).collect())
                .map_err(|why| why.within("poisson")),
            ArrivalsText::Incast { every, senders } => {
                let about = |key, message, help| Err(Remark::about(key, message, help).within("incast"));
                if *every == Time::ZERO {
                    return about(
                        "every",
                        "rounds without time between",
                        "expected a time above 0, like \"1 ms\"",
                    );
                }
                if *senders == Some(0) {
                    return about("senders", "no senders", "expected a count, at least 1");
                }
                Ok(Vec::new())
            }
        }
    }

    /// Returns the mean gap in picoseconds for a sender with this link, if transfers of this mean size have random
    /// gaps.
    pub fn gap_ps(&self, mean_bytes: f64, link: Option<BitRate>) -> Option<f64> {
        let ArrivalsText::Poisson { load, gap } = self else { return None };
        let rate = link.map_or(0.0, |rate| rate.bps_f64());
        match (load, gap) {
            (Some(load), _) => Some(mean_bytes * 8.0 / (load * rate) * 1e12),
            (None, gap) => gap.map(|gap| gap.ps() as f64),
        }
    }
}

fn check_poisson(load: Option<f64>, gap: Option<Time>) -> Result<Option<Remark>, Remark> {
    match (load, gap) {
        (Some(load), None) if load.is_finite() && load > 0.0 => {
            // The value may be meant as a percentage. The rounding hides additional digits of the division by 100.
            let meant = match load {
                2.0..=100.0 => format!("did you mean {}?", (load * 1e6).round() / 1e8),
                _ => "transfers will wait in their senders".to_string(),
            };
            let message = format!("load {load} is more than the links of the senders take");
            Ok((load > 1.0).then(|| Remark::about("load", message, meant)))
        }
        (Some(load), None) => {
            Err(Remark::about("load", format!("load {load}"), "expected a number above 0, like 0.3"))
        }
        (None, Some(gap)) if gap > Time::ZERO => Ok(None),
        (None, Some(_)) => Err(Remark::about("gap", "a gap of 0", "expected a time above 0, like \"10 us\"")),
        (both, _) => {
            let what = if both.is_some() { "load and gap at once" } else { "neither load nor gap" };
            Err(Remark::new(what, "expected one of them, like load = 0.3"))
        }
    }
}

impl SizesText {
    /// Returns the key that names a file of the distribution, and the file, if there is one.
    pub fn file(&self) -> Option<(&'static str, &str)> {
        match self {
            SizesText::Table(SizesTable::Points(path)) => Some(("points", path)),
            _ => None,
        }
    }

    /// Returns the distribution, if it is not in a file.
    ///
    /// # Errors
    /// Values outside their ranges, with paths relative to the sizes.
    pub fn spec(&self) -> Result<TransferSizes, Vec<Remark>> {
        match self {
            SizesText::Fixed(size) => bytes(*size).map(TransferSizes::Fixed).map_err(|why| vec![why]),
            SizesText::Published(published) => Ok((*published).into()),
            SizesText::Table(table) => {
                let (name, found) = table.spec();
                found.map_err(|wrong| wrong.into_iter().map(|why| why.within(name)).collect())
            }
        }
    }
}

/// Checks the size of a transfer.
fn bytes(bytes: Bytes) -> Result<u64, Remark> {
    if (1..=MOST_BYTES).contains(&bytes.get()) {
        return Ok(bytes.get());
    }
    Err(Remark::new(format!("a transfer of {bytes}"), format!("expected 1 B to {}", Bytes::new(MOST_BYTES))))
}

/// Checks the value of a key. The remark states the accepted values.
fn number(key: &str, value: f64, fits: bool, accepted: &str) -> Result<f64, Remark> {
    let wrong = || Remark::about(key, format!("{key} {value}"), format!("expected a number {accepted}"));
    if fits { Ok(value) } else { Err(wrong()) }
}

/// Returns both values, or all remarks.
fn both<A, B>(a: Result<A, Remark>, b: Result<B, Remark>) -> Result<(A, B), Vec<Remark>> {
    match (a, b) {
        (Ok(a), Ok(b)) => Ok((a, b)),
        (a, b) => Err(a.err().into_iter().chain(b.err()).collect()),
    }
}

impl SizesTable {
    fn spec(&self) -> (&'static str, Result<TransferSizes, Vec<Remark>>) {
        let of = |key: &str, value: Bytes| bytes(value).map_err(|why| why.within(key));
        match *self {
            SizesTable::Uniform { min, max } => {
                let ordered = both(of("min", min), of("max", max)).and_then(|(min, max)| {
                    let message = format!("min {min} B is above max {max} B");
                    let wrong = || vec![Remark::about("min", message, "expected min <= max")];
                    if min <= max { Ok(TransferSizes::Uniform { min, max }) } else { Err(wrong()) }
                });
                ("uniform", ordered)
            }
            SizesTable::Pareto { mean, shape } => {
                let fits = shape.is_finite() && shape > 1.0;
                let found = both(of("mean", mean), number("shape", shape, fits, "above 1, like 1.5"));
                ("pareto", found.map(|(mean, shape)| TransferSizes::Pareto { mean: mean as f64, shape }))
            }
            SizesTable::LogNormal { mean, sigma } => {
                let fits = (0.0..=5.0).contains(&sigma);
                let found = both(of("mean", mean), number("sigma", sigma, fits, "from 0 to 5, like 1"));
                (
                    "log_normal",
                    found.map(|(mean, sigma)| TransferSizes::LogNormal { mean: mean as f64, sigma }),
                )
            }
            SizesTable::Points(_) => {
                ("points", Err(vec![Remark::new("sizes of a file", "expected the file to be read")]))
            }
        }
    }
}
