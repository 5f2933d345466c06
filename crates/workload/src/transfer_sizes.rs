//! Distributions of transfer sizes, including published ones.
//!
//! A distribution function is given by points and linear between them; a draw is its inverse at a uniform random
//! number.

use crate::arrivals::LONGEST;
use crate::draw::{below, normal, unit};
use crate::period::least_share;
use crate::published::PublishedSizes;
use crate::two_columns::{Report, rows};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Maximum size of a transfer in bytes: 1 PB.
pub const MOST_BYTES: u64 = 1_000_000_000_000_000;

/// A distribution of sizes.
#[derive(Clone, Debug, PartialEq)]
pub enum TransferSizes {
    /// All transfers have this size.
    Fixed(u64),
    /// Every size from `min` to `max` is equally likely.
    Uniform {
        /// Minimum size.
        min: u64,
        /// Maximum size.
        max: u64,
    },
    /// Pareto. Sizes above 100 times the mean are reduced to 100 times the mean; the minimum size is chosen such that
    /// the mean holds nonetheless.
    Pareto {
        /// Mean after truncation.
        mean: f64,
        /// Shape, above 1.
        shape: f64,
    },
    /// Log-normal.
    LogNormal {
        /// The mean.
        mean: f64,
        /// Standard deviation of the natural logarithm.
        sigma: f64,
    },
    /// A distribution function given by points.
    Points(SizePoints),
}

/// A distribution function given by points and linear between them.
#[derive(Clone, Debug, PartialEq)]
pub struct SizePoints {
    /// Sizes in bytes, each with the share of transfers up to that size, which rises to 1.
    points: Vec<(f64, f64)>,
}

impl SizePoints {
    /// Creates the function from sizes in bytes, each with the number of transfers (of `whole`) of at most that size.
    /// Neither decreases, and the last number is `whole`.
    pub fn new(points: &[(u64, f64)], whole: f64) -> SizePoints {
        SizePoints { points: points.iter().map(|&(bytes, part)| (bytes as f64, part / whole)).collect() }
    }

    fn at(&self, share: f64) -> f64 {
        let above = self.points.partition_point(|&(_, up_to)| up_to < share);
        let Some(&(high, up_to)) = self.points.get(above).or(self.points.last()) else { return 1.0 };
        // Transfers below the first point have the size of that point.
        let Some(&(low, from)) = above.checked_sub(1).and_then(|below| self.points.get(below)) else {
            return high;
        };
        if up_to > from { low + (high - low) * ((share - from) / (up_to - from)).min(1.0) } else { high }
    }

    fn mean(&self) -> f64 {
        let first = self.points.first().map_or(0.0, |&(bytes, share)| bytes * share);
        let between = |pair: &[(f64, f64)]| (pair[0].0 + pair[1].0) / 2.0 * (pair[1].1 - pair[0].1);
        first + self.points.windows(2).map(between).sum::<f64>()
    }
}

impl From<PublishedSizes> for TransferSizes {
    fn from(published: PublishedSizes) -> TransferSizes {
        TransferSizes::Points(SizePoints::new(published.points(), 100.0))
    }
}

impl TransferSizes {
    /// Returns the mean, before sizes are rounded to whole bytes.
    pub fn mean(&self) -> f64 {
        match self {
            TransferSizes::Fixed(bytes) => *bytes as f64,
            TransferSizes::Uniform { min, max } => (*min as f64 + *max as f64) / 2.0,
            TransferSizes::Pareto { mean, .. } | TransferSizes::LogNormal { mean, .. } => *mean,
            TransferSizes::Points(points) => points.mean(),
        }
    }

    /// Draws a size: at least one byte, at most [`MOST_BYTES`].
    pub fn draw(&self, rng: &mut Xoshiro256PlusPlus) -> u64 {
        let real = match self {
            TransferSizes::Fixed(bytes) => return *bytes,
            TransferSizes::Uniform { min, max } => return min + below(rng, max - min + 1),
            TransferSizes::Pareto { mean, shape } => {
                let least = mean * least_share(*shape);
                (least * libm::pow(unit(rng), -1.0 / shape)).min(mean * LONGEST)
            }
            TransferSizes::LogNormal { mean, sigma } => {
                mean * libm::exp(sigma * normal(rng) - sigma * sigma / 2.0)
            }
            TransferSizes::Points(points) => points.at(unit(rng)),
        };
        (real.round() as u64).clamp(1, MOST_BYTES)
    }
}

/// Reads the columns `bytes,cdf` of a distribution function up to 1 or to 100. Reports the first error.
pub fn read_size_points(text: &str, report: Report<'_>) -> Option<SizePoints> {
    let mut points: Vec<(u64, f64)> = Vec::new();
    let wrong = [
        "no point of a distribution",
        "expected bytes, and the share or the percent of transfers that have at most so many, neither below the line before",
    ];
    rows(text, ["bytes", "cdf"], wrong, report, |bytes, share| {
        let (bytes, share) = (bytes.parse().ok()?, share.parse().ok()?);
        let before = points.last().copied().unwrap_or((0, 0.0));
        let rises = bytes >= before.0 && share >= before.1 && bytes <= MOST_BYTES && share <= 100.0;
        rises.then(|| points.push((bytes, share)))
    })?;
    match points.last() {
        Some(&(bytes, whole)) if bytes > 0 && (whole == 1.0 || whole == 100.0) => {
            Some(SizePoints::new(&points, whole))
        }
        _ => {
            let help =
                "expected lines like 30000000,1 below the header bytes,cdf, the last of them with 1 or 100";
            let end = text.len();
            report(end..end, "the distribution does not end at 1 or at 100".into(), help.into());
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    /// Returns `count` draws.
    fn draws(sizes: &TransferSizes, count: usize) -> Vec<u64> {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(7);
        (0..count).map(|_| sizes.draw(&mut rng)).collect()
    }

    /// The means are computed by hand from the points. Those of the complete data of Google and ABM, whose points are
    /// rounded here to hundredths of a percent, are 3,318 B and 3,423,728 B.
    #[test]
    fn published_means() {
        for (sizes, mean) in [
            (PublishedSizes::WebSearch, 1_711_250.0),
            (PublishedSizes::FbHadoop, 120_421.0),
            (PublishedSizes::AliStorage, 40_870.0),
            (PublishedSizes::GoogleRpc, 3_311.6),
            (PublishedSizes::Hadoop, 3_422_156.8),
            (PublishedSizes::DataMining, 5_036_535.0),
        ] {
            let found = TransferSizes::from(sizes).mean();
            assert!((found - mean).abs() < 1.0, "{sizes:?} {found}");
        }
    }

    #[test]
    fn draws_have_the_shares_of_their_points() {
        for published in [PublishedSizes::WebSearch, PublishedSizes::GoogleRpc, PublishedSizes::DataMining] {
            let found = draws(&published.into(), 40_000);
            for &(bytes, percent) in published.points() {
                let below = found.iter().filter(|&&size| size <= bytes).count() as f64 / 400.0;
                // Five standard deviations, and the rounding error of points with a small share.
                assert!(
                    (below - percent).abs() < 1.25 + 150.0 / (bytes as f64 + 10.0),
                    "{published:?} {bytes}: {below}"
                );
            }
        }
    }

    #[test]
    fn draws_have_their_mean() {
        for (sizes, deviation) in [
            (TransferSizes::Uniform { min: 1000, max: 3000 }, 577.0),
            (TransferSizes::LogNormal { mean: 5000.0, sigma: 1.0 }, 5000.0 * 1.311),
            (TransferSizes::Pareto { mean: 5000.0, shape: 2.5 }, 5000.0 * 0.9),
            (TransferSizes::Fixed(77), 0.0),
        ] {
            let found = draws(&sizes, 100_000);
            let mean = found.iter().map(|&size| size as f64).sum::<f64>() / 1e5;
            assert!((mean - sizes.mean()).abs() <= 5.0 * deviation / 316.0, "{sizes:?}: {mean}");
            assert_eq!(found, draws(&sizes, 100_000));
        }
        let logs: Vec<f64> = draws(&TransferSizes::LogNormal { mean: 1e9, sigma: 0.5 }, 20_000)
            .iter()
            .map(|&size| (size as f64).ln())
            .collect();
        let mean = logs.iter().sum::<f64>() / 2e4;
        let spread = (logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / 2e4).sqrt();
        assert!(
            (spread - 0.5).abs() < 0.0125 && (mean - (1e9f64.ln() - 0.125)).abs() < 0.0177,
            "{mean} {spread}"
        );
    }

    #[test]
    fn files_of_points() {
        let read = |text: &str| read_size_points(text, &mut |_, message, _| panic!("{message}")).unwrap();
        let half = read("bytes,cdf\n100,0.5\n300,1\n");
        assert_eq!((half.at(0.3), half.at(0.5), half.at(0.75), half.at(1.0)), (100.0, 100.0, 200.0, 300.0));
        assert_eq!(half.mean(), 150.0);
        assert_eq!(read("\u{feff}# sizes\r\nbytes , cdf\r\n100,50\r\n300,100\r\n"), half);
        let error = |text: &str| {
            let mut found = None;
            assert_eq!(
                read_size_points(text, &mut |span, message, _| found = Some((span.start, message))),
                None
            );
            found.unwrap()
        };
        assert_eq!(error("size,cdf\n").0, 0);
        for bad in ["5,1", "100,0.4", "200,nan", "-1,1", "200", "200,101", "2e2,1"] {
            let (at, message) = error(&format!("bytes,cdf\n100,0.5\n{bad}\n"));
            assert!(at == 18 && message.contains(bad), "{bad}: {at} {message}");
        }
        for short in ["", "bytes,cdf\n", "bytes,cdf\n100,0.5\n", "bytes,cdf\n0,1\n"] {
            assert!(error(short).1.contains("does not end"), "{short}");
        }
    }
}
