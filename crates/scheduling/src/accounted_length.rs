//! The accounted length of a frame: how many bytes a scheduler counts for it.
//!
//! A scheduler is fair in accounted lengths, not in what a user counts. A switch that accounts preamble and inter-frame
//! gap gives queues equal time on the wire, and a flow of small frames then moves less payload: Hagen 2012 §6.1 measured
//! that on a real switch. So every scheduler that meters bytes has these keys: payload, frame or wire, an amount more for
//! each frame (an internal header), and memory cells to which the sum is rounded up. What is around a frame on the wire
//! depends on the link: [`PortLength`].
//!
//! Source: Hagen 2012 §6.1 (line overhead in the deficit); cells of a switch's memory: OC.

use crate::PortFacts;
use frame::HEADER_BYTES;
use keys::Remark;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Bytes;

/// Which bytes of a frame count.
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

/// Declares the parameters of a scheduler that meters bytes: the scheduler's own keys, followed by those of the
/// accounted length. A key written with `= VALUE` has that default. A scheduler that has a key without a default marks
/// its other keys with `#[serde(default)]`.
macro_rules! accounted {
    ($(#[$doc:meta])* pub struct $name:ident accounts $basis:ident {
        $($(#[$about:meta])* pub $key:ident: $type:ty = $default:expr,)*
    }) => {
        $crate::accounted_length::accounted! {
            @keys $basis $(#[$doc])* #[serde(default)] pub struct $name { $($(#[$about])* pub $key: $type,)* }
        }
        impl Default for $name {
            fn default() -> $name {
                $name {
                    $($key: $default,)*
                    accounted_length: $crate::Basis::$basis(),
                    per_frame: ::units::Bytes::new(0),
                    cell: ::units::Bytes::new(0),
                }
            }
        }
        impl $name {
            /// Returns the default parameters with this accounted length.
            pub fn by(accounted: $crate::AccountedLength) -> $name {
                $name::default().accounting(accounted)
            }
        }
    };
    ($(#[$doc:meta])* pub struct $name:ident accounts $basis:ident { $($(#[$about:meta])* pub $key:ident: $type:ty,)* }) => {
        $crate::accounted_length::accounted! { @keys $basis $(#[$doc])* pub struct $name { $($(#[$about])* pub $key: $type,)* } }
    };
    (@keys wire $($rest:tt)*) => { $crate::accounted_length::accounted! { @struct "crate::Basis::wire" "wire" $($rest)* } };
    (@keys frame $($rest:tt)*) => { $crate::accounted_length::accounted! { @struct "crate::Basis::frame" "frame" $($rest)* } };
    (@struct $basis:tt $word:tt $(#[$doc:meta])* pub struct $name:ident {
        $($(#[$about:meta])* pub $key:ident: $type:ty,)*
    }) => {
        #[derive(Clone, Debug, PartialEq, ::serde::Deserialize, ::serde::Serialize, ::schemars::JsonSchema)]
        #[serde(deny_unknown_fields)]
        $(#[$doc])*
        pub struct $name {
            $($(#[$about])* pub $key: $type,)*
            #[doc = concat!(
                "Accounted length of a frame of length L (DA to FCS): \"payload\" (L - 18), \"frame\" (L) or \"wire\" (time on the \
                 link: L + the `overhead` of the link, 20 B on Ethernet). Default: \"", $word, "\"."
            )]
            #[serde(default = $basis)]
            pub accounted_length: $crate::Basis,
            /// Bytes added to the accounted length of each frame, such as an internal header. A size, "0 B" to "64 KiB". Default: "0 B".
            #[serde(default)]
            pub per_frame: ::units::Bytes,
            /// Memory cell to which the accounted length is rounded up. A size, "0 B" (no rounding) to "64 KiB". Default: "0 B".
            #[serde(default)]
            pub cell: ::units::Bytes,
        }

        impl $name {
            /// The accounted length of frames.
            pub fn accounted_length(&self) -> $crate::AccountedLength {
                $crate::AccountedLength::of(self.accounted_length, self.per_frame, self.cell)
            }
            /// Replaces the accounted length.
            #[must_use]
            pub fn accounting(self, accounted: $crate::AccountedLength) -> $name {
                $name {
                    accounted_length: accounted.basis,
                    per_frame: ::units::Bytes::new(accounted.per_frame.into()),
                    cell: ::units::Bytes::new(accounted.cell.into()),
                    ..self
                }
            }
        }
    };
}
pub(crate) use accounted;

/// The accounted length of frames, at any port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccountedLength {
    /// The counted part of the frame itself.
    pub basis: Basis,
    /// Additional bytes per frame. Range 0 to 65536, default 0.
    pub per_frame: u32,
    /// The sum is rounded up to whole cells of this many bytes; 0 or 1: no rounding. Range 0 to 65536.
    pub cell: u32,
}

impl AccountedLength {
    /// Accounts the frame minus 18 B: the payload of an Ethernet frame.
    pub const PAYLOAD: AccountedLength = AccountedLength { basis: Basis::Payload, per_frame: 0, cell: 0 };
    /// Accounts the frame from DA to FCS.
    pub const FRAME: AccountedLength = AccountedLength { basis: Basis::Frame, per_frame: 0, cell: 0 };
    /// Accounts the frame plus the overhead of the link, so that shares are shares of time on the wire.
    pub const WIRE: AccountedLength = AccountedLength { basis: Basis::Wire, per_frame: 0, cell: 0 };
    const LARGEST_PART: u32 = 65_536;

    /// Builds the accounted length from a scheduler's keys. Values that do not fit saturate, which leaves them outside
    /// the accepted range.
    pub fn of(basis: Basis, per_frame: Bytes, cell: Bytes) -> AccountedLength {
        AccountedLength { basis, per_frame: count(per_frame), cell: count(cell) }
    }
    /// Returns the accounted length at this port.
    pub fn at(self, port: &PortFacts) -> PortLength {
        let (less, around) = match self.basis {
            Basis::Payload => (u32::from(HEADER_BYTES), 0),
            Basis::Frame => (0, 0),
            Basis::Wire => (0, port.overhead),
        };
        PortLength { less, more: around.saturating_add(self.per_frame), cell: self.cell }
    }

    pub(crate) fn check(&self) -> Result<(), Remark> {
        let parts = [
            ("per_frame", "the addition to each frame", self.per_frame),
            ("cell", "the memory cell", self.cell),
        ];
        match parts.into_iter().find(|&(.., value)| value > Self::LARGEST_PART) {
            Some((key, what, value)) => {
                let accepted = format!("accepted are 0 to {} B", Self::LARGEST_PART);
                Err(Remark::about(key, format!("{what} is {value} B"), accepted))
            }
            None => Ok(()),
        }
    }
}

/// Converts a size to bytes. Every accepted value fits.
pub(crate) fn count(bytes: Bytes) -> u32 {
    u32::try_from(bytes.get()).unwrap_or(u32::MAX)
}

/// The accounted length of frames at one port, including the overhead of its link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortLength {
    /// Bytes of the frame that are not accounted.
    less: u32,
    /// Bytes accounted in addition to the frame.
    more: u32,
    cell: u32,
}

impl PortLength {
    /// Returns the accounted length of a frame of `bytes`. It is at least 1, so that no service is free.
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
        let all = [AccountedLength::PAYLOAD, AccountedLength::FRAME, AccountedLength::WIRE];
        assert_eq!(all.map(|accounted| accounted.at(&port(1)).of(68)), [50, 68, 88]);
        assert_eq!(AccountedLength::PAYLOAD.at(&port(1)).of(10), 1);
    }

    #[test]
    fn the_wire_is_that_of_the_link() {
        let wire = |overhead| AccountedLength::WIRE.at(&PortFacts { overhead, ..port(1) }).of(64);
        assert_eq!([0, 8, 20, 65_535].map(wire), [64, 72, 84, 65_599]);
        let frame = |overhead| AccountedLength::FRAME.at(&PortFacts { overhead, ..port(1) }).of(64);
        assert_eq!([0, 20].map(frame), [64, 64]);
    }

    #[test]
    fn cells_round_the_sum_up() {
        let accounted = AccountedLength { per_frame: 8, cell: 64, ..AccountedLength::FRAME };
        assert_eq!(
            [56, 57, 64, 120, 121].map(|bytes| accounted.at(&port(1)).of(bytes)),
            [64, 128, 128, 128, 192]
        );
        // Golden vector 13: credits of 64 B.
        let credits = AccountedLength { cell: 64, ..AccountedLength::FRAME };
        assert_eq!([64, 65, 128, 2176].map(|bytes| credits.at(&port(1)).of(bytes) / 64), [1, 2, 2, 34]);
    }

    #[test]
    fn absurd_lengths_are_refused() {
        assert!(
            AccountedLength { cell: 1 << 20, ..AccountedLength::FRAME }
                .check()
                .unwrap_err()
                .contains("accepted are")
        );
    }
}
