//! What a scheduler bills for a frame.
//!
//! A queue is fair in the bytes that are billed, not in those that a user counts. A switch that bills
//! preamble and inter-frame gap gives queues equal time on the wire; a flow of small frames then moves less
//! payload in its time. Hagen 2012 §6.1 measured that on a real switch. So the charge is a parameter of
//! every scheduler that meters bytes: payload, frame or wire, with an optional amount a frame more (an
//! internal header) and an optional rounding up to memory cells.
//!
//! Source: Hagen 2012 §6.1 (line overhead in the deficit); cells of a switch's memory: OC.

use frame::{HEADER_BYTES, LINE_OVERHEAD_BYTES};

/// Which bytes of a frame of length L (DA to FCS) are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// L - 18: without Ethernet header and FCS.
    Payload,
    /// L.
    Frame,
    /// L + 20: with preamble, start delimiter and inter-frame gap.
    Wire,
}

/// The bytes billed for a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Charge {
    /// What is counted of the frame itself.
    pub basis: Basis,
    /// Bytes more for every frame. Range 0 to 65536, default 0.
    pub per_frame: u32,
    /// The sum is rounded up to whole cells of this many bytes; 0 or 1: no rounding. Range 0 to 65536.
    pub cell: u32,
}

impl Charge {
    /// L - 18.
    pub const PAYLOAD: Charge = Charge { basis: Basis::Payload, per_frame: 0, cell: 0 };
    /// L.
    pub const FRAME: Charge = Charge { basis: Basis::Frame, per_frame: 0, cell: 0 };
    /// L + 20: shares are shares of time on the wire.
    pub const WIRE: Charge = Charge { basis: Basis::Wire, per_frame: 0, cell: 0 };
    const LARGEST_PART: u32 = 65_536;

    /// What a frame of `bytes` is billed; never zero, so that no service is free.
    #[inline]
    pub fn of(self, bytes: u32) -> u32 {
        let metered = match self.basis {
            Basis::Payload => bytes.saturating_sub(HEADER_BYTES as u32),
            Basis::Frame => bytes,
            Basis::Wire => bytes + LINE_OVERHEAD_BYTES as u32,
        };
        let whole = metered + self.per_frame;
        let whole = if self.cell > 1 { whole.div_ceil(self.cell) * self.cell } else { whole };
        whole.max(1)
    }

    pub(crate) fn check(&self) -> Result<(), String> {
        for (what, value) in [("the charge a frame", self.per_frame), ("the memory cell", self.cell)] {
            if value > Self::LARGEST_PART {
                return Err(format!("{what} is {value} B; accepted are 0 to {} B", Self::LARGEST_PART));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bases() {
        assert_eq!([Charge::PAYLOAD, Charge::FRAME, Charge::WIRE].map(|charge| charge.of(68)), [50, 68, 88]);
        assert_eq!(Charge::PAYLOAD.of(10), 1);
    }

    #[test]
    fn cells_round_the_sum_up() {
        let charge = Charge { per_frame: 8, cell: 64, ..Charge::FRAME };
        assert_eq!([56, 57, 64, 120, 121].map(|bytes| charge.of(bytes)), [64, 128, 128, 128, 192]);
        // Golden vector 13: credits of 64 B.
        let credits = Charge { cell: 64, ..Charge::FRAME };
        assert_eq!([64, 65, 128, 2176].map(|bytes| credits.of(bytes) / 64), [1, 2, 2, 34]);
    }

    #[test]
    fn absurd_charges_are_refused() {
        assert!(Charge { cell: 1 << 20, ..Charge::FRAME }.check().unwrap_err().contains("accepted are"));
    }
}
