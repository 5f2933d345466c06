//! The estimate of DCTCP, alpha: the share of bytes that were marked, averaged over windows of data or round trips.
//!
//! At the end of each, alpha = (1 - g) alpha + g F, with F the share of bytes acknowledged in it whose packets were marked.
//!
//! Source: RFC 8257, section 3.3; M. Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010, section 3.1.

use recurrence::Recurs;

/// An estimate of the share of marked bytes.
#[derive(Clone, Copy, Debug, Recurs)]
pub(crate) struct MarkedShare {
    gain: f64,
    alpha: f64,
    /// Bytes acknowledged in the current window of data, and the bytes of marked packets among them.
    acked: u64,
    marked: u64,
}

impl MarkedShare {
    /// Creates an estimate with the initial value `alpha`. The newest window of data has the weight `gain`.
    pub fn new(gain: f64, alpha: f64) -> MarkedShare {
        MarkedShare { gain, alpha, acked: 0, marked: 0 }
    }
    /// Returns the estimate, 0 to 1.
    pub fn alpha(&self) -> f64 {
        self.alpha
    }
    /// Counts acknowledged bytes.
    pub fn count(&mut self, bytes: u64, marked: bool) {
        self.acked += bytes;
        self.marked += if marked { bytes } else { 0 };
    }
    /// Ends a window of data. Returns true if any byte of it was marked.
    pub fn end_window(&mut self) -> bool {
        let share = self.marked as f64 / self.acked.max(1) as f64;
        self.alpha = self.alpha * (1.0 - self.gain) + self.gain * share;
        self.acked = 0;
        std::mem::take(&mut self.marked) > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_weigh_a_sixteenth() {
        let mut share = MarkedShare::new(1.0 / 16.0, 1.0);
        share.count(300, true);
        share.count(100, false);
        assert!(share.end_window());
        assert_eq!(share.alpha(), 15.0 / 16.0 + 0.75 / 16.0);
        // A window of data without bytes has no marked bytes.
        assert!(!share.end_window());
        assert_eq!(share.alpha(), (15.0 / 16.0 + 0.75 / 16.0) * 15.0 / 16.0);
    }
}
