//! Photos, as nobody has measured them.
//!
//! Source: none; this is an example.

/// Bytes, and how many percent of the transfers have at most so many.
pub const POINTS: &[(u64, f64)] = &[(0, 0.0), (50_000, 40.0), (150_000, 90.0), (1_150_000, 100.0)];

#[cfg(test)]
mod tests {
    use crate::{PublishedSizes, TransferSizes};

    /// 0.4 · 25 kB + 0.5 · 100 kB + 0.1 · 650 kB.
    #[test]
    fn the_mean_is_that_of_its_points() {
        let mean = TransferSizes::from(PublishedSizes::Photos).mean();
        assert!((mean - 125_000.0).abs() < 1e-6, "{mean}");
    }
}
