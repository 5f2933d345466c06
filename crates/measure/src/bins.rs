//! Log-linear bins: 32 of equal width per octave.
//!
//! Octave 0 holds 0 to 31 one by one; octave k the 32 equal parts of [2^(k+4), 2^(k+5)), so that octaves 0 and 1 have
//! the same width and need no special case. Below 64 every number has a bin of its own.

/// Bins an octave, as a power of two.
const SUB_BITS: u32 = 5;
/// Bins an octave.
pub const SUBS: usize = 1 << SUB_BITS;

/// The bin of a number, all octaves in one row.
#[inline(always)]
pub fn place(value: u64) -> usize {
    let width_bits = (value | SUBS as u64).ilog2() - SUB_BITS;
    ((width_bits as usize) << SUB_BITS) + (value >> width_bits) as usize
}

/// The least number of a bin, and the least of the next one.
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
