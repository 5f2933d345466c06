//! Serial numbers: 32 bits on the wire, 64 bits at the endpoints (RFC 1982).

/// Returns the number nearest to `reference` whose low 32 bits are `word`; of two at the same distance, the higher one.
/// The result is correct if the two differ by less than 2^31.
pub fn nearest(word: u32, reference: u64) -> u64 {
    let ahead = word.wrapping_sub(reference as u32);
    if ahead <= 1 << 31 {
        return reference + u64::from(ahead);
    }
    let behind = u64::from(ahead.wrapping_neg());
    // Numbers below 0 do not exist, so the number is ahead.
    reference.checked_sub(behind).unwrap_or(reference + u64::from(ahead))
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn numbers_near_the_wrap() {
        let wrap = 1u64 << 32;
        for reference in [0, 5, wrap - 1, wrap, wrap + 7, 9 * wrap + 1_000] {
            for offset in [0, 1, 1_000, (1 << 31) - 1] {
                assert_eq!(nearest((reference + offset) as u32, reference), reference + offset);
                if let Some(before) = reference.checked_sub(offset) {
                    assert_eq!(nearest(before as u32, reference), before);
                }
            }
        }
    }
}
