//! Properties of `fuzz/src/segments.rs`, tested without a fuzzer.

#[path = "../../../fuzz/src/segments.rs"]
mod segments;

use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn any_segments_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..1_600)) {
        prop_assert_eq!(segments::check(&bytes), Ok(()));
    }
}
