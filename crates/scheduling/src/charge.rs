//! What a scheduler bills for a frame.
//!
//! A queue is fair in the bytes that are billed, not in those that a user counts. A switch that bills
//! preamble and inter-frame gap gives queues equal time on the wire; a flow of small frames then moves less
//! payload in its time. Hagen 2012 §6.1 measured that on a real switch. So the charge is a parameter of
//! every scheduler that meters bytes: payload, frame or wire, with an optional amount a frame more (an
//! internal header) and an optional rounding up to memory cells. What is around a frame on the wire is a property of
//! the link, so that a charge becomes bytes at a port ([`Bill`]).
//!
//! Source: Hagen 2012 §6.1 (line overhead in the deficit); cells of a switch's memory: OC.

use crate::PortFacts;
use frame::HEADER_BYTES;
use keys::Remark;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Bytes;

/// Which bytes of a frame are billed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// L - 18: without Ethernet header and FCS.
    Payload,
    /// L: DA to FCS.
    Frame,
    /// L + the overhead of the link: on Ethernet 20 B of preamble, start delimiter and inter-frame gap.
    Wire,
}

impl Basis {
    pub(crate) const fn frame() -> Basis {
        Basis::Frame
    }
    pub(crate) const fn wire() -> Basis {
        Basis::Wire
    }
}

/// Declares the parameters of a scheduler that meters bytes: its own keys, and those of what a frame is billed. Keys
/// that say `= VALUE` have that default; a scheduler with a key that has none says `#[serde(default)]` at the others.
macro_rules! billed {
    ($(#[$doc:meta])* pub struct $name:ident bills $basis:ident {
        $($(#[$about:meta])* pub $key:ident: $type:ty = $default:expr,)*
    }) => {
        $crate::charge::billed! {
            @keys $basis $(#[$doc])* #[serde(default)] pub struct $name { $($(#[$about])* pub $key: $type,)* }
        }
        impl Default for $name {
            fn default() -> $name {
                $name {
                    $($key: $default,)*
                    bills: $crate::Basis::$basis(),
                    per_frame: ::units::Bytes::new(0),
                    cell: ::units::Bytes::new(0),
                }
            }
        }
        impl $name {
            /// The defaults, but for what a frame is billed.
            pub fn by(charge: $crate::Charge) -> $name {
                $name::default().billing(charge)
            }
        }
    };
    ($(#[$doc:meta])* pub struct $name:ident bills $basis:ident { $($(#[$about:meta])* pub $key:ident: $type:ty,)* }) => {
        $crate::charge::billed! { @keys $basis $(#[$doc])* pub struct $name { $($(#[$about])* pub $key: $type,)* } }
    };
    (@keys wire $($rest:tt)*) => { $crate::charge::billed! { @struct "crate::Basis::wire" "wire" $($rest)* } };
    (@keys frame $($rest:tt)*) => { $crate::charge::billed! { @struct "crate::Basis::frame" "frame" $($rest)* } };
    (@struct $basis:tt $word:tt $(#[$doc:meta])* pub struct $name:ident {
        $($(#[$about:meta])* pub $key:ident: $type:ty,)*
    }) => {
        #[derive(Clone, Debug, PartialEq, ::serde::Deserialize, ::serde::Serialize, ::schemars::JsonSchema)]
        #[serde(deny_unknown_fields)]
        $(#[$doc])*
        pub struct $name {
            $($(#[$about])* pub $key: $type,)*
            #[doc = concat!(
                "What a frame of length L (DA to FCS) is billed: \"payload\" (L - 18), \"frame\" (L) or \"wire\" (time on the \
                 link: L + the `overhead` of the link, 20 B on Ethernet). Default: \"", $word, "\"."
            )]
            #[serde(default = $basis)]
            pub bills: $crate::Basis,
            /// Bytes billed more for every frame, such as an internal header. A size, "0 B" to "64 KiB". Default: "0 B".
            #[serde(default)]
            pub per_frame: ::units::Bytes,
            /// Memory cell that the bill is rounded up to. A size, "0 B" (no rounding) to "64 KiB". Default: "0 B".
            #[serde(default)]
            pub cell: ::units::Bytes,
        }

        impl $name {
            /// What a frame is billed.
            pub fn charge(&self) -> $crate::Charge {
                $crate::Charge::of(self.bills, self.per_frame, self.cell)
            }
            /// The same with another bill.
            #[must_use]
            pub fn billing(self, charge: $crate::Charge) -> $name {
                $name {
                    bills: charge.basis,
                    per_frame: ::units::Bytes::new(charge.per_frame.into()),
                    cell: ::units::Bytes::new(charge.cell.into()),
                    ..self
                }
            }
        }
    };
}
pub(crate) use billed;

/// What is billed for a frame, at any port.
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
    /// L + the overhead of the link: shares are shares of time on the wire.
    pub const WIRE: Charge = Charge { basis: Basis::Wire, per_frame: 0, cell: 0 };
    const LARGEST_PART: u32 = 65_536;

    /// From the keys of a scheduler; more bytes than fit are more than are accepted.
    pub fn of(basis: Basis, per_frame: Bytes, cell: Bytes) -> Charge {
        Charge { basis, per_frame: count(per_frame), cell: count(cell) }
    }
    /// The bill of a port.
    pub fn at(self, port: &PortFacts) -> Bill {
        let (less, around) = match self.basis {
            Basis::Payload => (u32::from(HEADER_BYTES), 0),
            Basis::Frame => (0, 0),
            Basis::Wire => (0, port.overhead),
        };
        Bill { less, more: around.saturating_add(self.per_frame), cell: self.cell }
    }

    pub(crate) fn check(&self) -> Result<(), Remark> {
        let parts =
            [("per_frame", "the charge a frame", self.per_frame), ("cell", "the memory cell", self.cell)];
        match parts.into_iter().find(|&(.., value)| value > Self::LARGEST_PART) {
            Some((key, what, value)) => {
                let accepted = format!("accepted are 0 to {} B", Self::LARGEST_PART);
                Err(Remark::about(key, format!("{what} is {value} B"), accepted))
            }
            None => Ok(()),
        }
    }
}

/// Bytes that are few wherever they are accepted.
pub(crate) fn count(bytes: Bytes) -> u32 {
    u32::try_from(bytes.get()).unwrap_or(u32::MAX)
}

/// What is billed for a frame at one port: a [`Charge`] that knows the overhead of its link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bill {
    /// Bytes of the frame that are not counted.
    less: u32,
    /// Bytes counted beside it.
    more: u32,
    cell: u32,
}

impl Bill {
    /// What a frame of `bytes` is billed; never zero, so that no service is free.
    #[inline]
    pub fn of(self, bytes: u32) -> u32 {
        let whole = bytes.saturating_sub(self.less) + self.more;
        let whole = if self.cell > 1 { whole.div_ceil(self.cell) * self.cell } else { whole };
        whole.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testbed::port;

    #[test]
    fn bases() {
        let all = [Charge::PAYLOAD, Charge::FRAME, Charge::WIRE];
        assert_eq!(all.map(|charge| charge.at(&port(1)).of(68)), [50, 68, 88]);
        assert_eq!(Charge::PAYLOAD.at(&port(1)).of(10), 1);
    }

    #[test]
    fn the_wire_is_that_of_the_link() {
        let wire = |overhead| Charge::WIRE.at(&PortFacts { overhead, ..port(1) }).of(64);
        assert_eq!([0, 8, 20, 65_535].map(wire), [64, 72, 84, 65_599]);
        let frame = |overhead| Charge::FRAME.at(&PortFacts { overhead, ..port(1) }).of(64);
        assert_eq!([0, 20].map(frame), [64, 64]);
    }

    #[test]
    fn cells_round_the_sum_up() {
        let charge = Charge { per_frame: 8, cell: 64, ..Charge::FRAME };
        assert_eq!(
            [56, 57, 64, 120, 121].map(|bytes| charge.at(&port(1)).of(bytes)),
            [64, 128, 128, 128, 192]
        );
        // Golden vector 13: credits of 64 B.
        let credits = Charge { cell: 64, ..Charge::FRAME };
        assert_eq!([64, 65, 128, 2176].map(|bytes| credits.at(&port(1)).of(bytes) / 64), [1, 2, 2, 34]);
    }

    #[test]
    fn absurd_charges_are_refused() {
        assert!(Charge { cell: 1 << 20, ..Charge::FRAME }.check().unwrap_err().contains("accepted are"));
    }
}
