//! Log-linear bins: 32 of equal width per octave.
//!
//! Octave 0 covers 0 to 31, with one number per bin. Octave k covers [2^(k+4), 2^(k+5)) with 32 equal bins, so that
//! octaves 0 and 1 have bins of the same width and need no special case. Below 64, every number has a bin of its own.

/// Binary logarithm of the number of bins per octave.
const SUB_BITS: u32 = 5;
/// Number of bins per octave.
pub const SUBS: usize = 1 << SUB_BITS;

/// Returns the index of a number's bin, counted over all octaves.
#[inline(always)]
pub fn place(value: u64) -> usize {
    let width_bits = (value | SUBS as u64).ilog2() - SUB_BITS;
    ((width_bits as usize) << SUB_BITS) + (value >> width_bits) as usize
}

/// Returns the smallest number of a bin, and that of the next bin.
pub fn edges(place: usize) -> (u64, u64) {
    let (octave, sub) = (place / SUBS, place % SUBS);
    if octave == 0 {
        return (sub as u64, sub as u64 + 1);
    }
    let from = ((SUBS + sub) as u64) << (octave - 1);
    (from, from.saturating_add(1 << (octave - 1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_lies_between_the_edges_of_its_bin() {
        let octaves = (0..64).flat_map(|bit| [(1u64 << bit) - 1, 1 << bit, (1 << bit) + (1 << bit) / 3]);
        for value in octaves.chain(0..5000).chain([u64::MAX]) {
            let (from, to) = edges(place(value));
            assert!(from <= value && (value < to || to == u64::MAX), "{value}: {from} to {to}");
        }
        assert!((0..1900).all(|bin| edges(bin).1 == edges(bin + 1).0));
        assert_eq!((edges(63), edges(64)), ((63, 64), (64, 66)));
    }
}
