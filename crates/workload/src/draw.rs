//! Random draws that depend neither on the version of a library nor on the machine.
//!
//! Uniform integers use Lemire's multiplication with rejection (ACM TOMACS 29(1), 2019, alg. 5: exactly unbiased), and
//! uniform reals 53 random bits. Exponential and Pareto draws use inversion with `libm`; weighted choices use Walker's
//! alias table in Vose's construction (IEEE TSE 17(9), 1991).

use rand::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// Draws an integer from 0 to `n - 1`, all equally likely. Returns 0 for `n = 0`.
#[inline]
pub fn below(rng: &mut Xoshiro256PlusPlus, n: u64) -> u64 {
    let mut product = u128::from(rng.next_u64()) * u128::from(n);
    if (product as u64) < n {
        let threshold = n.wrapping_neg() % n;
        while (product as u64) < threshold {
            product = u128::from(rng.next_u64()) * u128::from(n);
        }
    }
    (product >> 64) as u64
}

/// Draws a real number above 0 and at most 1, a multiple of 2⁻⁵³.
#[inline]
pub fn unit(rng: &mut Xoshiro256PlusPlus) -> f64 {
    ((rng.next_u64() >> 11) + 1) as f64 * (1.0 / (1u64 << 53) as f64)
}

/// Draws from an exponential distribution with mean 1. At most 36.8, the logarithm of 2⁵³.
#[inline]
pub fn exponential(rng: &mut Xoshiro256PlusPlus) -> f64 {
    -libm::log(unit(rng))
}

/// Draws from the standard normal distribution (Box and Muller, Ann. Math. Statist. 29(2), 1958).
pub(crate) fn normal(rng: &mut Xoshiro256PlusPlus) -> f64 {
    let radius = libm::sqrt(2.0 * exponential(rng));
    radius * libm::cos(2.0 * std::f64::consts::PI * unit(rng))
}

/// A random event with a fixed probability.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Coin {
    /// Probability in units of 2⁻⁵³.
    threshold: u64,
}

impl Coin {
    /// Creates an event of probability `p`; below 0 it never occurs, above 1 always.
    pub(crate) fn new(p: f64) -> Coin {
        Coin { threshold: (p.clamp(0.0, 1.0) * (1u64 << 53) as f64) as u64 }
    }
    #[inline]
    pub(crate) fn toss(self, rng: &mut Xoshiro256PlusPlus) -> bool {
        rng.next_u64() >> 11 < self.threshold
    }
}

/// Draws one of several weighted values in constant time.
#[derive(Clone, Debug)]
pub(crate) struct AliasTable {
    cells: Box<[Cell]>,
}

#[derive(Clone, Copy, Debug)]
struct Cell {
    keep: Coin,
    value: u16,
    alias: u16,
}

impl AliasTable {
    /// Creates a table of `weighted`, which must not be empty; see [`positive`].
    pub(crate) fn new(weighted: &[(u16, f64)]) -> AliasTable {
        let n = weighted.len();
        let total: f64 = weighted.iter().map(|&(_, weight)| weight).sum();
        // Share of each value in its cell, in units of a full cell.
        let mut share: Vec<f64> = weighted.iter().map(|&(_, weight)| weight / total * n as f64).collect();
        let mut cells: Vec<Cell> =
            weighted.iter().map(|&(value, _)| Cell { keep: Coin::new(1.0), value, alias: value }).collect();
        let (mut poor, mut rich): (Vec<usize>, Vec<usize>) = (0..n).partition(|&i| share[i] < 1.0);
        while let (Some(small), Some(&large)) = (poor.pop(), rich.last()) {
            cells[small].keep = Coin::new(share[small]);
            cells[small].alias = weighted[large].0;
            share[large] -= 1.0 - share[small];
            if share[large] < 1.0 {
                rich.pop();
                poor.push(large);
            }
        }
        AliasTable { cells: cells.into() }
    }
    #[inline]
    pub(crate) fn draw(&self, rng: &mut Xoshiro256PlusPlus) -> u16 {
        let cell = self.cells[below(rng, self.cells.len() as u64) as usize];
        if cell.keep.toss(rng) { cell.value } else { cell.alias }
    }
}

/// Returns the entries with a finite weight above 0. If there are none, or if the sum of the weights is not finite,
/// returns all entries with equal weights.
pub(crate) fn positive(weighted: &[(u16, f64)]) -> Vec<(u16, f64)> {
    let drawn: Vec<(u16, f64)> =
        weighted.iter().copied().filter(|&(_, weight)| weight > 0.0 && weight.is_finite()).collect();
    let total: f64 = drawn.iter().map(|&(_, weight)| weight).sum();
    if drawn.is_empty() || !total.is_finite() {
        return weighted.iter().map(|&(value, _)| (value, 1.0)).collect();
    }
    drawn
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    fn rng() -> Xoshiro256PlusPlus {
        Xoshiro256PlusPlus::seed_from_u64(42)
    }

    #[test]
    fn integers_are_uniform_and_in_range() {
        let mut rng = rng();
        let mut counts = [0u32; 7];
        for _ in 0..70_000 {
            counts[below(&mut rng, 7) as usize] += 1;
        }
        // Six standard deviations of a binomial count with mean 10 000.
        assert!(counts.iter().all(|&c| (f64::from(c) - 10_000.0).abs() < 6.0 * 92.6), "{counts:?}");
        assert_eq!((below(&mut rng, 0), below(&mut rng, 1)), (0, 0));
        // The range is 3/4 of all 64-bit words. A biased method would favour one half, because 2^63 splits the range
        // 2:1.
        let n = 3u64 << 62;
        let low = (0..30_000).filter(|_| below(&mut rng, n) < 1 << 63).count() as f64;
        assert!((low - 20_000.0).abs() < 6.0 * 81.6, "{low}");
    }

    #[test]
    fn coins_and_reals() {
        let mut rng = rng();
        assert!((0..1000).all(|_| Coin::new(1.0).toss(&mut rng) && !Coin::new(0.0).toss(&mut rng)));
        assert!(!Coin::new(f64::NAN).toss(&mut rng));
        assert!((0..1000).map(|_| unit(&mut rng)).all(|u| u > 0.0 && u <= 1.0));
        let mean = (0..100_000).map(|_| exponential(&mut rng)).sum::<f64>() / 100_000.0;
        assert!((mean - 1.0).abs() < 6.0 / 316.0, "{mean}");
    }

    #[test]
    fn alias_tables_keep_the_weights() {
        let weighted = [(1, 0.5), (2, 8.0), (3, 0.0), (4, 1.5), (5, f64::NAN), (6, -1.0)];
        let table = AliasTable::new(&positive(&weighted));
        let (mut rng, mut counts) = (rng(), [0u32; 7]);
        for _ in 0..100_000 {
            counts[usize::from(table.draw(&mut rng))] += 1;
        }
        for (value, p) in [(1, 0.05), (2, 0.8), (3, 0.0), (4, 0.15), (5, 0.0), (6, 0.0)] {
            let bound = 6.0 * (100_000.0f64 * p * (1.0 - p)).sqrt();
            assert!((f64::from(counts[value]) - 100_000.0 * p).abs() <= bound, "{value}: {counts:?}");
        }
        assert_eq!(positive(&[(9, 0.0), (8, f64::INFINITY)]), [(9, 1.0), (8, 1.0)]);
        assert_eq!(positive(&[(9, f64::MAX), (8, f64::MAX)]), [(9, 1.0), (8, 1.0)]);
    }
}
