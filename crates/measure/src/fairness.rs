//! Fairness of an allocation.

/// Returns Jain's index (Hagen 2012 eq. 6.3): (Σx)² / (n·Σx²), from 1/n (a single nonzero share) to 1 (equal shares).
/// Returns 1 if all shares are zero, since they are equal.
pub fn jain(shares: &[f64]) -> f64 {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|x| x * x).sum();
    if squares == 0.0 { 1.0 } else { sum * sum / (shares.len() as f64 * squares) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_vector_21() {
        assert!((jain(&[1.0, 0.7829]) - 0.9854).abs() < 5e-5);
        assert_eq!(jain(&[1.0, 0.0, 0.0, 0.0]), 0.25);
        assert_eq!(jain(&[]), 1.0);
    }
}
