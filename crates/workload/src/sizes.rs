//! Lengths of frames.

use crate::draw::{AliasTable, Coin, below, positive};
use crate::spec::FrameSizes;
use rand_xoshiro::Xoshiro256PlusPlus;

/// The simple Internet mix of RFC 6985 §4: 64, 594 and 1518 B in the ratio 7:4:1.
const IMIX: [(u16, u64); 3] = [(64, 7), (594, 4), (1518, 1)];
const IMIX_TOTAL: u64 = 12;

/// Draws frame sizes. A frame has at least one byte, so that time passes.
#[derive(Clone, Debug)]
pub(crate) enum Sampler {
    Fixed(u16),
    Uniform {
        min: u16,
        sizes: u32,
    },
    Bimodal {
        small: u16,
        large: u16,
        is_small: Coin,
    },
    Imix,
    Empirical(AliasTable),
    /// Sizes are set by the arrival process.
    ByProcess,
}

impl Sampler {
    pub(crate) fn new(sizes: &FrameSizes) -> Sampler {
        match *sizes {
            FrameSizes::Fixed(bytes) => Sampler::Fixed(bytes.max(1)),
            FrameSizes::Uniform { min, max } => {
                let (min, max) = (min.min(max), min.max(max));
                Sampler::Uniform { min, sizes: u32::from(max - min) + 1 }
            }
            FrameSizes::Bimodal { small, large, small_share } => {
                Sampler::Bimodal { small, large, is_small: Coin::new(small_share) }
            }
            FrameSizes::Imix => Sampler::Imix,
            FrameSizes::Empirical(ref weighted) if weighted.is_empty() => {
                Sampler::Fixed(frame::MIN_FRAME_BYTES)
            }
            FrameSizes::Empirical(ref weighted) => Sampler::Empirical(AliasTable::new(&positive(weighted))),
        }
    }

    pub(crate) fn draw(&self, rng: &mut Xoshiro256PlusPlus) -> u16 {
        let bytes = match *self {
            Sampler::Fixed(bytes) => bytes,
            Sampler::Uniform { min, sizes } => min + below(rng, sizes.into()) as u16,
            Sampler::Bimodal { small, large, is_small } => {
                if is_small.toss(rng) {
                    small
                } else {
                    large
                }
            }
            Sampler::Imix => match below(rng, IMIX_TOTAL) {
                0..7 => IMIX[0].0,
                7..11 => IMIX[1].0,
                _ => IMIX[2].0,
            },
            Sampler::Empirical(ref table) => table.draw(rng),
            Sampler::ByProcess => frame::MIN_FRAME_BYTES,
        };
        bytes.max(1)
    }
}

impl FrameSizes {
    /// Returns the mean of `value` over the frame sizes.
    pub(crate) fn mean_of(&self, value: impl Fn(u16) -> f64) -> f64 {
        let value = |bytes: u16| value(bytes.max(1));
        let weighted_mean = |weighted: &[(u16, f64)]| {
            let total: f64 = weighted.iter().map(|&(_, weight)| weight).sum();
            weighted.iter().map(|&(bytes, weight)| value(bytes) * weight / total).sum()
        };
        match *self {
            FrameSizes::Fixed(bytes) => value(bytes),
            FrameSizes::Uniform { min, max } => {
                let sizes = min.min(max)..=min.max(max);
                let count = f64::from(min.abs_diff(max)) + 1.0;
                sizes.map(value).sum::<f64>() / count
            }
            FrameSizes::Bimodal { small, large, small_share } => {
                let share = if small_share.is_nan() { 0.0 } else { small_share.clamp(0.0, 1.0) };
                weighted_mean(&[(small, share), (large, 1.0 - share)])
            }
            FrameSizes::Imix => weighted_mean(&IMIX.map(|(bytes, weight)| (bytes, weight as f64))),
            FrameSizes::Empirical(ref weighted) if weighted.is_empty() => value(frame::MIN_FRAME_BYTES),
            FrameSizes::Empirical(ref weighted) => weighted_mean(&positive(weighted)),
        }
    }

    /// Returns the length of the shortest and of the longest frame in bytes.
    pub fn bounds(&self) -> (u16, u16) {
        match self {
            FrameSizes::Fixed(bytes) => (*bytes, *bytes),
            FrameSizes::Uniform { min, max } => (*min, *max),
            FrameSizes::Bimodal { small, large, .. } => (*small.min(large), *small.max(large)),
            FrameSizes::Imix => (64, 1518),
            FrameSizes::Empirical(sizes) => {
                let bytes = || sizes.iter().map(|&(bytes, _)| bytes);
                (bytes().min().unwrap_or(64), bytes().max().unwrap_or(64))
            }
        }
    }

    /// Returns the mean length of a frame in bytes.
    pub fn mean_bytes(&self) -> f64 {
        self.mean_of(f64::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    #[test]
    fn draws_have_the_mean_of_their_description() {
        for sizes in [
            FrameSizes::Fixed(1522),
            FrameSizes::Uniform { min: 64, max: 1522 },
            FrameSizes::Uniform { min: 0, max: u16::MAX },
            FrameSizes::Bimodal { small: 64, large: 1522, small_share: 0.3 },
            FrameSizes::Imix,
            FrameSizes::Empirical(vec![(64, 3.0), (9216, 1.0), (576, 0.5)]),
        ] {
            let sampler = Sampler::new(&sizes);
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(7);
            let mean = sizes.mean_bytes();
            let deviation = (sizes.mean_of(|b| f64::from(b).powi(2)) - mean * mean).max(0.0).sqrt();
            let drawn = (0..100_000).map(|_| f64::from(sampler.draw(&mut rng))).sum::<f64>() / 100_000.0;
            assert!((drawn - mean).abs() <= 5.0 * deviation / 316.0 + 1e-6, "{sizes:?}: {drawn} for {mean}");
        }
    }

    #[test]
    fn edges() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(7);
        let mut draw = |sizes: FrameSizes| Sampler::new(&sizes).draw(&mut rng);
        assert_eq!(draw(FrameSizes::Fixed(0)), 1);
        assert_eq!(draw(FrameSizes::Empirical(vec![])), 64);
        assert_eq!(draw(FrameSizes::Empirical(vec![(100, 0.0)])), 100);
        assert_eq!(draw(FrameSizes::Uniform { min: 80, max: 80 }), 80);
        assert!((70..=80).contains(&draw(FrameSizes::Uniform { min: 80, max: 70 })));
        assert_eq!(FrameSizes::Imix.mean_bytes().round(), 362.0);
    }
}
