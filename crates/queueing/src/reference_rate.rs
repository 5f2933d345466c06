//! Thresholds that apply at a reference rate and scale with the rate of a port.

use keys::Remark;
use units::{Amount, BitRate};

/// Returns a count scaled to the rate of a port, rounded down. Without a reference rate, returns the count itself.
pub fn at_rate(count: u64, reference: Option<BitRate>, rate: BitRate) -> u64 {
    let Some(reference) = reference else { return count };
    let scaled = u128::from(count) * u128::from(rate.bps()) / u128::from(reference.bps().max(1));
    u64::try_from(scaled).unwrap_or(u64::MAX)
}

/// Returns a threshold scaled to the rate of a port.
pub(crate) fn amount_at_rate(threshold: Amount, reference: Option<BitRate>, rate: BitRate) -> Amount {
    match threshold {
        Amount::Bytes(bytes) => Amount::Bytes(at_rate(bytes, reference, rate)),
        Amount::Frames(frames) => Amount::Frames(at_rate(frames, reference, rate)),
    }
}

/// Checks a reference rate.
pub(crate) fn check(reference: Option<BitRate>) -> Result<(), Remark> {
    match reference {
        Some(rate) if rate.bps() == 0 => {
            let message = "a reference rate of 0".to_string();
            let help = "expected the rate of a port at which the thresholds hold, like \"100 Gb/s\"";
            Err(Remark::about("reference_rate", message, help))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quarter_of_the_rate_has_a_quarter_of_the_threshold() {
        let [slow, fast] = [25, 100].map(BitRate::from_gbps);
        assert_eq!(at_rate(178_450, Some(fast), slow), 44_612);
        assert_eq!(at_rate(178_450, None, slow), 178_450);
        assert_eq!(at_rate(5, Some(slow), fast), 20);
        assert_eq!(amount_at_rate(Amount::Frames(7), Some(fast), slow), Amount::Frames(1));
        assert!(check(Some(BitRate::from_bps(0))).is_err() && check(Some(slow)).is_ok());
    }
}
