//! Places in the tables of a part of the fabric.
//!
//! Each is a type of its own, so that a port is never taken for a queue, nor a number of this part for one of the whole
//! ([`frame::PortId`] and its like, which [`Numbering`](crate::run::state::numbering::Numbering) makes). None of them is zero inside, so that
//! an `Option` takes no more room: "none" needs no number that means it.

use std::fmt;
use std::num::NonZeroU32;

/// Set in all of them: so that none is zero at the cost of one instruction.
const HIGHEST: NonZeroU32 = NonZeroU32::new(1 << 31).unwrap();

macro_rules! index {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub(crate) struct $name(NonZeroU32);

        impl $name {
            /// The one with this number, below 2^31.
            #[inline(always)]
            pub fn new(number: u32) -> $name {
                debug_assert!(number < HIGHEST.get(), "a place has a number that no table has");
                $name(HIGHEST | number)
            }
            /// Its number.
            #[inline(always)]
            pub const fn number(self) -> u32 {
                self.0.get() & !HIGHEST.get()
            }
            /// Its number, for a slice.
            #[inline(always)]
            pub const fn at(self) -> usize {
                self.number() as usize
            }
        }

        impl From<usize> for $name {
            #[inline(always)]
            fn from(number: usize) -> $name {
                $name::new(number as u32)
            }
        }
        impl From<$name> for usize {
            #[inline(always)]
            fn from(index: $name) -> usize {
                index.at()
            }
        }
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.number())
            }
        }
    )*};
}

index!(
    /// Where events happen: at a port, or, behind all ports, at a source, an endpoint or a limiter.
    PlaceIx;
    /// A host or a switch.
    NodeIx;
    /// One end of a link. Ports of a node are consecutive.
    PortIx;
    /// A traffic class of a port. Queues of a port are consecutive.
    QueueIx;
    /// A source.
    SourceIx;
    /// An end of a connection.
    EndpointIx;
    /// A rate limiter.
    LimiterIx;
    /// Endpoints of one host whose steps wait for each other.
    GroupIx;
    /// Who counts what comes to the end of a path.
    ReceiverIx;
    /// An occupancy that is recorded over time.
    TallyIx;
    /// A manager of queues.
    ManagerIx;
    /// The part of a node that sends pauses.
    PauseSenderIx;
    /// A slot of the pool of waiting frames.
    SlotIx;
);

macro_rules! consecutive {
    ($($name:ident),*) => {$(
        impl $name {
            /// The one that comes so many behind it.
            #[inline(always)]
            pub fn plus(self, more: u32) -> $name {
                $name::new(self.number() + more)
            }
        }
    )*};
}

consecutive!(PlaceIx, PortIx, QueueIx, SourceIx);

impl PortIx {
    /// Its number among the ports of its node, of which the first is known.
    #[inline(always)]
    pub const fn since(self, first: PortIx) -> u32 {
        self.0.get() - first.0.get()
    }
}

impl From<PortIx> for PlaceIx {
    #[inline(always)]
    fn from(port: PortIx) -> PlaceIx {
        PlaceIx(port.0)
    }
}

impl PlaceIx {
    /// The port, if it is one.
    #[inline(always)]
    pub const fn port(self) -> PortIx {
        PortIx(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn none_takes_no_room() {
        assert_eq!(size_of::<Option<PortIx>>(), 4);
        let last = PortIx::new((1 << 31) - 1);
        assert_eq!(
            [last.number(), PortIx::new(0).number(), PortIx::new(2).plus(3).number()],
            [(1 << 31) - 1, 0, 5]
        );
        assert_eq!(PortIx::new(9).since(PortIx::new(4)), 5);
    }
}
