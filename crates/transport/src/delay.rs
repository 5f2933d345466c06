//! How long something takes: always the same, or drawn.

use rand_xoshiro::Xoshiro256PlusPlus;
use units::Time;

/// A time, or a distribution of times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delay {
    /// Always the same.
    Fixed(Time),
    /// Exponential with this mean, rounded down to picoseconds; at most 36.8 times the mean.
    Exponential(Time),
}

impl Delay {
    /// The mean, in seconds.
    pub fn mean_secs(self) -> f64 {
        match self {
            Delay::Fixed(time) | Delay::Exponential(time) => time.as_secs_f64(),
        }
    }
    /// The next one.
    pub fn draw(self, rng: &mut Xoshiro256PlusPlus) -> Time {
        match self {
            Delay::Fixed(time) => time,
            Delay::Exponential(mean) => Time::from_ps((mean.ps() as f64 * workload::exponential(rng)) as u64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    #[test]
    fn a_delay_has_its_mean() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        assert_eq!(Delay::Fixed(Time::from_us(3)).draw(&mut rng), Time::from_us(3));
        let delay = Delay::Exponential(Time::from_us(3));
        let mean = (0..100_000).map(|_| delay.draw(&mut rng).ps() as f64).sum::<f64>() / 100_000.0;
        // Six standard deviations of the mean of 100,000 draws.
        assert!((mean - 3e6).abs() < 6.0 * 3e6 / 316.0, "{mean}");
    }
}
