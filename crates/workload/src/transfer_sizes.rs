//! How many bytes a transfer has: distributions, also published ones.
//!
//! A distribution function is given by points and is straight between them; a draw is its inverse at a uniform number.
//! The named ones are measured: web searches from DCTCP (Alizadeh et al., SIGCOMM 2010), the Hadoop cluster of Facebook
//! (Roy et al., SIGCOMM 2015), Alibaba's storage of 2019 and Google's RPCs of 2008, as the simulations of HPCC (Li et
//! al., SIGCOMM 2019) use them; data mining from VL2 (Greenberg et al., SIGCOMM 2009) and a Hadoop cluster, as those of
//! ABM (Addanki et al., SIGCOMM 2022) do. Google's 843 points are thinned to 26, which makes the mean 3312 B, not 2892.

use crate::arrivals::{LONGEST, least_share};
use crate::draw::{below, normal, unit};
use rand_xoshiro::Xoshiro256PlusPlus;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// No transfer has more bytes than this: 1 PB.
pub const MOST_BYTES: u64 = 1_000_000_000_000_000;

/// A published distribution of sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PublishedSizes {
    /// Web searches (DCTCP): mean 1,711,250 B, half of the transfers at most 73 kB.
    WebSearch,
    /// A Hadoop cluster of Facebook: mean 120,421 B, half of the transfers at most 700 B.
    FbHadoop,
    /// Storage at Alibaba: mean 40,870 B, half of the transfers at most 6.3 kB.
    AliStorage,
    /// Remote procedure calls at Google: mean 3,312 B, half of the transfers at most 257 B.
    GoogleRpc,
    /// A Hadoop cluster (ABM): mean 3,422,157 B, half of the transfers at most 73 kB.
    Hadoop,
    /// Data mining (VL2): mean 5,036,535 B, half of the transfers at most 970 B.
    DataMining,
}

impl PublishedSizes {
    /// Bytes, and how many percent of the transfers have at most so many.
    fn points(self) -> &'static [(u64, f64)] {
        match self {
            PublishedSizes::WebSearch => &[
                (0, 0.0),
                (10_000, 15.0),
                (20_000, 20.0),
                (30_000, 30.0),
                (50_000, 40.0),
                (80_000, 53.0),
                (200_000, 60.0),
                (1_000_000, 70.0),
                (2_000_000, 80.0),
                (5_000_000, 90.0),
                (10_000_000, 97.0),
                (30_000_000, 100.0),
            ],
            PublishedSizes::FbHadoop => &[
                (0, 0.0),
                (100, 1.0),
                (200, 2.0),
                (300, 5.0),
                (350, 15.0),
                (400, 20.0),
                (500, 30.0),
                (600, 40.0),
                (700, 50.0),
                (1_000, 60.0),
                (2_000, 67.0),
                (7_000, 70.0),
                (30_000, 72.0),
                (50_000, 82.0),
                (80_000, 87.0),
                (120_000, 90.0),
                (300_000, 95.0),
                (1_000_000, 97.5),
                (2_000_000, 99.0),
                (10_000_000, 100.0),
            ],
            PublishedSizes::AliStorage => &[
                (0, 0.0),
                (4_000, 22.93),
                (8_000, 69.21),
                (16_000, 80.61),
                (32_000, 90.47),
                (64_000, 93.53),
                (128_000, 96.77),
                (256_000, 97.53),
                (2_000_000, 100.0),
            ],
            PublishedSizes::GoogleRpc => GOOGLE_RPC,
            PublishedSizes::Hadoop => HADOOP,
            PublishedSizes::DataMining => DATA_MINING,
        }
    }
}

const GOOGLE_RPC: &[(u64, f64)] = &[
    (0, 0.0),
    (3, 6.49),
    (36, 10.89),
    (64, 15.53),
    (85, 25.34),
    (110, 31.89),
    (171, 42.47),
    (256, 49.79),
    (313, 60.23),
    (402, 70.66),
    (512, 78.49),
    (843, 84.64),
    (1_676, 89.87),
    (4_703, 94.25),
    (7_696, 96.24),
    (12_214, 97.77),
    (18_476, 98.60),
    (33_250, 99.05),
    (55_827, 99.28),
    (108_225, 99.63),
    (171_850, 99.78),
    (371_371, 99.9068),
    (526_844, 99.9501),
    (1_008_790, 99.9748),
    (2_627_581, 99.9914),
    (15_158_197, 100.0),
];

const HADOOP: &[(u64, f64)] = &[
    (325, 0.0),
    (1_177, 1.73),
    (4_264, 2.24),
    (15_443, 2.77),
    (28_000, 6.0),
    (37_323, 10.49),
    (51_067, 33.59),
    (74_908, 51.55),
    (93_293, 64.19),
    (141_819, 77.25),
    (237_853, 88.94),
    (573_344, 95.72),
    (2_076_744, 96.56),
    (7_521_945, 96.87),
    (27_244_995, 97.42),
    (98_686_787, 98.39),
    (223_092_956, 100.0),
];

const DATA_MINING: &[(u64, f64)] = &[
    (100, 0.0),
    (180, 8.5),
    (250, 14.0),
    (560, 33.0),
    (900, 47.0),
    (1_100, 55.0),
    (1_870, 65.0),
    (3_160, 70.0),
    (10_000, 80.0),
    (100_001, 87.4),
    (400_000, 90.0),
    (1_850_000, 95.0),
    (10_000_000, 97.0),
    (30_000_000, 98.0),
    (100_000_000, 99.0),
    (250_000_000, 99.5),
    (1_000_000_000, 100.0),
];

/// A distribution of sizes.
#[derive(Clone, Debug, PartialEq)]
pub enum TransferSizes {
    /// All alike.
    Fixed(u64),
    /// Every size from `min` to `max` equally likely.
    Uniform {
        /// The smallest.
        min: u64,
        /// The largest.
        max: u64,
    },
    /// Pareto with this mean and shape (above 1): what would be more than 100 times the mean is 100 times the mean. The
    /// least size is such that the mean holds all the same.
    Pareto {
        /// The mean, truncation included.
        mean: f64,
        /// The shape.
        shape: f64,
    },
    /// Log-normal.
    LogNormal {
        /// The mean.
        mean: f64,
        /// Standard deviation of the natural logarithm.
        sigma: f64,
    },
    /// By points.
    Points(SizePoints),
}

/// A distribution function by points: straight between them.
#[derive(Clone, Debug, PartialEq)]
pub struct SizePoints {
    /// Bytes, and the share of transfers that have at most so many: rising to 1.
    points: Vec<(f64, f64)>,
}

impl SizePoints {
    /// Bytes, and how many of `whole` transfers have at most so many: neither falls, the last is `whole`.
    pub fn new(points: &[(u64, f64)], whole: f64) -> SizePoints {
        SizePoints { points: points.iter().map(|&(bytes, part)| (bytes as f64, part / whole)).collect() }
    }

    fn at(&self, share: f64) -> f64 {
        let above = self.points.partition_point(|&(_, up_to)| up_to < share);
        let Some(&(high, up_to)) = self.points.get(above).or(self.points.last()) else { return 1.0 };
        // Those of the first point have its size.
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
    /// The mean, before rounding to whole bytes.
    pub fn mean(&self) -> f64 {
        match self {
            TransferSizes::Fixed(bytes) => *bytes as f64,
            TransferSizes::Uniform { min, max } => (*min as f64 + *max as f64) / 2.0,
            TransferSizes::Pareto { mean, .. } | TransferSizes::LogNormal { mean, .. } => *mean,
            TransferSizes::Points(points) => points.mean(),
        }
    }

    /// A size: at least one byte, at most [`MOST_BYTES`].
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

/// Reads the columns `bytes,cdf` of a distribution function, up to 1 or to 100; reports the first thing that is wrong:
/// where in the text, what, and what is accepted.
pub fn read_size_points(
    text: &str,
    report: &mut dyn FnMut(std::ops::Range<usize>, String, String),
) -> Option<SizePoints> {
    let mut points: Vec<(u64, f64)> = Vec::new();
    let (mut start, mut header) = (0, true);
    for line in text.trim_start_matches('\u{feff}').split_inclusive('\n') {
        let at = start..start + line.trim_end().len();
        start += line.len();
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let columns: Vec<&str> = line.split(',').map(str::trim).collect();
        if std::mem::take(&mut header) {
            if columns != ["bytes", "cdf"] {
                let message = format!("\"{line}\" is not the header");
                report(at, message, "expected the first line to be bytes,cdf".into());
                return None;
            }
            continue;
        }
        let row = match columns.as_slice() {
            [bytes, share] => bytes.parse::<u64>().ok().zip(share.parse::<f64>().ok()),
            _ => None,
        };
        let before = points.last().copied().unwrap_or((0, 0.0));
        match row.filter(|&(bytes, share)| {
            bytes >= before.0 && share >= before.1 && bytes <= MOST_BYTES && share <= 100.0
        }) {
            Some(row) => points.push(row),
            None => {
                let help = "expected bytes, and the share or the percent of transfers that have at most so many, neither below the line before";
                report(at, format!("\"{line}\" is no point of a distribution"), help.into());
                return None;
            }
        }
    }
    match points.last() {
        Some(&(bytes, whole)) if bytes > 0 && (whole == 1.0 || whole == 100.0) => {
            Some(SizePoints::new(&points, whole))
        }
        _ => {
            let help =
                "expected lines like 30000000,1 below the header bytes,cdf, the last of them with 1 or 100";
            report(start..start, "the distribution does not end at 1 or at 100".into(), help.into());
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    /// Mean and shares of many draws.
    fn draws(sizes: &TransferSizes, count: usize) -> Vec<u64> {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(7);
        (0..count).map(|_| sizes.draw(&mut rng)).collect()
    }

    /// By hand from the points. Of the whole of Google's and ABM's data, of which the points are rounded to hundredths of
    /// a percent, they are 3,318 B and 3,423,728 B.
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
                // Five standard deviations, and what rounds to the size of a small point.
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
