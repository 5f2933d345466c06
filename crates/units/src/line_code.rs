//! Line codes: the fraction of the bits on the wire that are data.
//!
//! The rate of Ethernet is that of its MAC. It excludes the overhead of the line code: 10 Gb/s Ethernet runs at 10.3125
//! Gb/s on the fibre. PCI Express, InfiniBand, Fibre Channel and Advanced Switching specify the rate on the wire in
//! GT/s or Gbaud, of which a fraction is available for data. A line code expands all bytes equally. It is therefore
//! modelled as a factor of the rate.
//!
//! Source: 8b/10b: Widmer and Franaszek, IBM J. Res. Dev. 27 (1983); PCI Express 1 and 2 (2.5 and 5 GT/s), InfiniBand
//! SDR to QDR, Advanced Switching. 64b/66b: IEEE 802.3 clause 49.2.4; InfiniBand from FDR on. 128b/130b: PCI Express 3
//! to 5 (8 to 32 GT/s).
//!
//! Not modelled: control symbols and ordered sets (of clock compensation, training and alignment), forward error
//! correction and its transcoding, the alignment of frames to block boundaries, and the multiplication of bit errors by
//! decoding.

use crate::BitRate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Line code of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub enum LineCode {
    /// 10 bits on the wire for 8 bits of data: PCI Express 1 and 2, InfiniBand up to QDR, Advanced Switching.
    #[serde(rename = "8b/10b")]
    EightTen,
    /// 66 bits on the wire for 64 bits of data: InfiniBand from FDR on; Ethernet on fibre from 10 Gb/s on.
    #[serde(rename = "64b/66b")]
    SixtyFourSixtySix,
    /// 130 bits on the wire for 128 bits of data: PCI Express 3 to 5.
    #[serde(rename = "128b/130b")]
    OneTwentyEightOneThirty,
}

impl LineCode {
    /// Returns the exact data rate at a signalling rate.
    pub fn data_rate(self, signalling: BitRate) -> BitRate {
        let (data, wire) = match self {
            LineCode::EightTen => (4, 5),
            LineCode::SixtyFourSixtySix => (32, 33),
            LineCode::OneTwentyEightOneThirty => (64, 65),
        };
        signalling.part(data, wire)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::WireClock;

    #[test]
    fn data_rates_of_standards() {
        let mbps = |rate: u64| BitRate::from_bps(rate * 1_000_000);
        let kbps = |rate: u64| BitRate::from_bps(rate * 1_000);
        // PCI Express 1, Advanced Switching and InfiniBand SDR; 10GBASE-R; InfiniBand EDR at four lanes.
        assert_eq!(LineCode::EightTen.data_rate(mbps(2_500)), mbps(2_000));
        assert_eq!(LineCode::SixtyFourSixtySix.data_rate(kbps(10_312_500)), mbps(10_000));
        assert_eq!(LineCode::SixtyFourSixtySix.data_rate(kbps(103_125_000)), mbps(100_000));
        // The data rates of PCI Express 3 and InfiniBand FDR are not whole numbers.
        assert_eq!(
            LineCode::OneTwentyEightOneThirty.data_rate(mbps(8_000)).fraction(),
            (102_400_000_000, 13)
        );
        assert_eq!(LineCode::SixtyFourSixtySix.data_rate(kbps(14_062_500)).fraction(), (150_000_000_000, 11));
    }

    proptest::proptest! {
        #[test]
        fn frames_end_where_the_bits_on_the_wire_do(
            code in proptest::sample::select(vec![(LineCode::EightTen, 8u128, 10u128),
                (LineCode::SixtyFourSixtySix, 64, 66), (LineCode::OneTwentyEightOneThirty, 128, 130)]),
            rate in proptest::sample::select(vec![1_000_000u64, 1_062_500_000, 2_500_000_000, 3_333_333_333, 8_000_000_000,
                14_062_500_000, 25_781_250_000, 106_250_000_000, 1_600_000_000_000]),
            frames in proptest::collection::vec(1u64..100_000, 1..200),
        ) {
            let (code, data, wire) = code;
            let mut clock = WireClock::new(code.data_rate(BitRate::from_bps(rate)));
            let total: u64 = frames.iter().map(|&bytes| clock.advance(bytes).ps()).sum();
            let bytes: u128 = frames.iter().map(|&bytes| u128::from(bytes)).sum();
            // Time of the bits on the wire at the signalling rate, rounded down once.
            proptest::prop_assert_eq!(u128::from(total), bytes * 8 * wire * 1_000_000_000_000 / (data * u128::from(rate)));
        }
    }
}
