//! Frame lengths with an exponential or log-normal distribution, cut to a range.
//!
//! Shorter values are raised to the minimum of the range and longer ones are reduced to its maximum. The scale is
//! chosen such that the mean holds after this. The result is a list of lengths with weights, so that computations with
//! lengths are exact for these distributions as well.

/// The shape of a distribution, up to its scale.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SizeShape {
    /// Exponential.
    Exponential,
    /// Log-normal.
    LogNormal {
        /// Standard deviation of the natural logarithm, above 0.
        sigma: f64,
    },
}

impl SizeShape {
    /// Returns the probability of at most `x` at a scale of 1.
    fn below(self, x: f64) -> f64 {
        match self {
            _ if x <= 0.0 => 0.0,
            SizeShape::Exponential => -libm::expm1(-x),
            SizeShape::LogNormal { sigma } => {
                libm::erfc(-libm::log(x) / sigma * std::f64::consts::FRAC_1_SQRT_2) / 2.0
            }
        }
    }

    /// Returns all lengths from `min` to `max` with their weights, such that the mean is `mean`; `None` if `mean` is
    /// not between the two.
    pub fn sizes(self, mean: f64, min: u16, max: u16) -> Option<Vec<(u16, f64)>> {
        if !(f64::from(min) < mean && mean < f64::from(max)) {
            return None;
        }
        // The mean grows with the scale. Bisection ends when there is no double between the two ends.
        let (mut low, mut high) = (0.0, 1e9);
        loop {
            let middle = (low + high) / 2.0;
            if middle <= low || middle >= high {
                return Some(self.weights(high, min, max));
            }
            let found: f64 =
                self.weights(middle, min, max).iter().map(|&(size, weight)| f64::from(size) * weight).sum();
            if found < mean { low = middle } else { high = middle }
        }
    }

    /// Returns the weights of all lengths. A length represents the values that round to it; the first and the last
    /// length also represent all values beyond.
    fn weights(self, scale: f64, min: u16, max: u16) -> Vec<(u16, f64)> {
        let mut before = 0.0;
        let weight = |size: u16| {
            let up_to = if size == max { 1.0 } else { self.below((f64::from(size) + 0.5) / scale) };
            let own = up_to - before;
            before = up_to;
            (size, own)
        };
        (min..=max).map(weight).collect()
    }
}

/// Returns all lengths from `min` to `max` with their weights, for a Pareto distribution of this shape with minimum
/// `min` that is truncated at `max` (longer values are drawn again). A length represents the values that round to it.
pub fn bounded_pareto(shape: f64, min: u16, max: u16) -> Vec<(u16, f64)> {
    let least = f64::from(min);
    let above = |x: f64| libm::pow(least / x.clamp(least, f64::from(max)), shape);
    let whole = 1.0 - above(max.into());
    let weight = |size: u16| {
        let middle = f64::from(size);
        let own = above(middle - 0.5) - above(middle + 0.5);
        (size, if whole > 0.0 { own / whole } else { 1.0 })
    };
    (min..=max).map(weight).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(sizes: &[(u16, f64)]) -> f64 {
        sizes.iter().map(|&(size, weight)| f64::from(size) * weight).sum()
    }

    #[test]
    fn means_hold_and_weights_are_a_distribution() {
        let log_normal = |sigma| SizeShape::LogNormal { sigma };
        for shape in [SizeShape::Exponential, log_normal(0.3), log_normal(2.0)] {
            for (wanted, min, max) in
                [(500.0, 64, 1522), (65.0, 64, 1522), (1500.0, 64, 1522), (4000.5, 1, 9238)]
            {
                let sizes = shape.sizes(wanted, min, max).unwrap();
                assert!((mean(&sizes) - wanted).abs() < 1e-6, "{shape:?} {wanted}: {}", mean(&sizes));
                assert!((sizes.iter().map(|one| one.1).sum::<f64>() - 1.0).abs() < 1e-12);
                assert!(
                    sizes.iter().all(|one| one.1 >= 0.0)
                        && (sizes[0].0, sizes[sizes.len() - 1].0) == (min, max)
                );
            }
            assert_eq!(shape.sizes(64.0, 64, 1522), None);
            assert_eq!(shape.sizes(1522.0, 64, 1522), None);
        }
    }

    /// With shape a, minimum L, maximum H and r = L/H the mean is a L (1 - r^(a-1)) / ((a-1) (1 - r^a)): 182.9 B for
    /// the packets of Martinez 2006, which have 64 to 2176 B and shape 1.3.
    #[test]
    fn a_truncated_pareto_distribution_has_its_mean_and_its_tail() {
        for (shape, min, max) in [(1.3, 64u16, 2176u16), (0.5, 64, 1522), (3.0, 100, 9238)] {
            let sizes = bounded_pareto(shape, min, max);
            let r: f64 = f64::from(min) / f64::from(max);
            let closed = shape * f64::from(min) * (1.0 - r.powf(shape - 1.0))
                / ((shape - 1.0) * (1.0 - r.powf(shape)));
            assert!((mean(&sizes) / closed - 1.0).abs() < 1e-3, "{shape}: {} for {closed}", mean(&sizes));
            assert!((sizes.iter().map(|one| one.1).sum::<f64>() - 1.0).abs() < 1e-9);
            let above: f64 = sizes.iter().filter(|one| one.0 > 1000).map(|one| one.1).sum();
            let tail = |x: f64| (f64::from(min) / x).powf(shape);
            let expected = (tail(1000.5) - tail(max.into())) / (1.0 - tail(max.into()));
            assert!((above - expected).abs() < 1e-9, "{above} for {expected}");
        }
        assert!((mean(&bounded_pareto(1.3, 64, 2176)) - 182.9).abs() < 0.1);
        assert_eq!(bounded_pareto(1.3, 80, 80), [(80, 1.0)]);
    }

    #[test]
    fn shapes_are_those_of_their_names() {
        // In an exponential distribution far within its range, a share of 1/e lies above the mean.
        let sizes = SizeShape::Exponential.sizes(500.0, 1, 9000).unwrap();
        let above: f64 = sizes.iter().filter(|one| one.0 > 500).map(|one| one.1).sum();
        assert!((above - (-1f64).exp()).abs() < 1e-3, "{above}");
        // The logarithm of a log-normal distribution's median is that of its mean less half the variance.
        let sizes = SizeShape::LogNormal { sigma: 0.5 }.sizes(1000.0, 1, 9238).unwrap();
        let median = 1000.0 * (-0.125f64).exp();
        let below: f64 = sizes.iter().filter(|one| f64::from(one.0) < median).map(|one| one.1).sum();
        assert!((below - 0.5).abs() < 2e-3, "{below}");
    }
}
