//! Reads a file of frame sizes and their weights.

use crate::two_columns::{Report, rows};

/// Reads the columns `bytes,weight` of frames of up to `largest` bytes. Reports the first error.
pub fn read_sizes(text: &str, largest: u64, report: Report<'_>) -> Option<Vec<(u16, f64)>> {
    let mut sizes: Vec<(u16, f64)> = Vec::new();
    let help = format!("expected 1 to {largest} bytes and a weight of 0 or more, like 1522,0.25");
    rows(text, ["bytes", "weight"], ["not a size and a weight", &help], report, |bytes, weight| {
        let (bytes, weight): (u16, f64) = (bytes.parse().ok()?, weight.parse().ok()?);
        let fits = (1..=largest).contains(&u64::from(bytes)) && weight.is_finite() && weight >= 0.0;
        fits.then(|| sizes.push((bytes, weight)))
    })?;
    let total: f64 = sizes.iter().map(|&(_, weight)| weight).sum();
    if total > 0.0 && total.is_finite() {
        return Some(sizes);
    }
    report(
        0..0,
        "no size has a weight".into(),
        "expected at least one line like 1522,1 below the header bytes,weight".into(),
    );
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> (usize, String) {
        let mut found = None;
        assert!(
            read_sizes(text, 9238, &mut |span, message, _| found = Some((span.start, message))).is_none()
        );
        found.unwrap()
    }

    #[test]
    fn files_of_sizes() {
        let sizes =
            read_sizes("# sizes\nbytes, weight\n64, 0.5\n\n1522,1.5\r\n", 9238, &mut |_, m, _| panic!("{m}"));
        assert_eq!(sizes, Some(vec![(64, 0.5), (1522, 1.5)]));
        assert_eq!(error("size,weight\n").0, 0);
        assert_eq!(error("bytes,weight\n64,1\n0,1\n").0, 18);
        assert!(error("bytes,weight\n64;1\n").1.contains("64;1"));
        assert!(error("bytes,weight\n64,-1\n").1.contains("not a size and a weight"));
        assert!(error("bytes,weight\n64,0\n").1.contains("no size has a weight"));
        assert!(error("").1.contains("no size"));
    }
}
