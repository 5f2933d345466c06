//! Indices into the tables of a part of the fabric.
//!
//! Each is a type of its own, so that a port cannot be confused with a queue, nor a number in this part with a number
//! in the whole fabric ([`frame::PortId`] and its kin, which [`Numbering`](crate::run::state::numbering::Numbering)
//! converts). The stored number is never zero, so that an `Option` takes no extra space.

use crate::Whole;
use std::fmt;
use std::num::NonZeroU32;

/// Permission to create indices of node-owned tables. Only the state has one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seal(());

impl Seal {
    pub(in crate::run::state) const fn new() -> Seal {
        Seal(())
    }
}

/// An index of a node-owned table.
pub(crate) trait Ix: Copy {
    /// Returns the index for a slice.
    fn at(self) -> usize;
    /// Creates the index with this number.
    fn sealed(number: usize, _: Seal) -> Self;
}

/// Bit set in all indices, so that none is zero at the cost of one instruction.
const HIGHEST: NonZeroU32 = NonZeroU32::new(1 << 31).unwrap();

macro_rules! index {
    ($new:vis, $($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub(crate) struct $name(NonZeroU32);

        impl $name {
            /// Creates the index with this number, below 2^31.
            #[inline(always)]
            $new fn new(number: u32) -> $name {
                debug_assert!(number < HIGHEST.get(), "the number of a place is beyond every table");
                $name(HIGHEST | number)
            }
            /// Returns the number.
            #[inline(always)]
            pub const fn number(self) -> u32 {
                self.0.get() & !HIGHEST.get()
            }
            /// Returns the index for a slice.
            #[inline(always)]
            pub const fn at(self) -> usize {
                self.number() as usize
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

index!(pub(in crate::run::state),
    /// A place of events: a port, or, numbered after all ports, a source, an endpoint or a limiter.
    PlaceIx;
    /// A host or a switch.
    NodeIx;
    /// One end of a link. Ports of a node are consecutive.
    PortIx;
    /// A traffic class of a port. Queues of a port are consecutive.
    QueueIx;
    /// A source of frames.
    SourceIx;
    /// An end of a connection.
    EndpointIx;
    /// A rate limiter.
    LimiterIx;
    /// The part of a node that sends pauses.
    PauseSenderIx;
    /// A rank of a job.
    RankIx;
);

index!(pub,
    /// Endpoints of one host whose steps wait for each other.
    GroupIx;
    /// Index of the counters at the end of a path.
    ReceiverIx;
    /// An occupancy that is recorded over time.
    TallyIx;
    /// A queue manager.
    ManagerIx;
    /// A slot of the pool of waiting frames.
    SlotIx;
);

macro_rules! owned {
    ($($name:ident),*) => {$(
        impl Ix for $name {
            #[inline(always)]
            fn at(self) -> usize {
                self.number() as usize
            }
            #[inline(always)]
            fn sealed(number: usize, _: Seal) -> $name {
                $name::new(number as u32)
            }
        }
    )*};
}

owned!(PlaceIx, NodeIx, PortIx, QueueIx, SourceIx, EndpointIx, LimiterIx, PauseSenderIx, RankIx);

macro_rules! numbered {
    ($($name:ident),*) => {$(
        impl $name {
            /// Creates the index with this number, for code with access to the whole fabric.
            #[inline(always)]
            pub fn of(number: u32, _: Whole) -> $name {
                $name::new(number)
            }
        }
    )*};
}

numbered!(PlaceIx, NodeIx, PortIx, SourceIx, RankIx);

macro_rules! free {
    ($($name:ident),*) => {$(
        impl From<usize> for $name {
            #[inline(always)]
            fn from(number: usize) -> $name {
                $name::new(number as u32)
            }
        }
    )*};
}

free!(GroupIx, ReceiverIx, TallyIx, ManagerIx, SlotIx);

macro_rules! consecutive {
    ($($name:ident),*) => {$(
        impl $name {
            /// Returns the index at this offset.
            #[inline(always)]
            pub(in crate::run::state) fn plus(self, more: u32) -> $name {
                $name::new(self.number() + more)
            }
        }
    )*};
}

consecutive!(PortIx, QueueIx);

impl PortIx {
    /// Returns its index among the ports of its node, whose first port is given.
    #[inline(always)]
    pub const fn since(self, first: PortIx) -> u32 {
        self.0.get() - first.0.get()
    }
}

/// A place where an event can be scheduled.
pub(crate) trait EventPlace {
    /// Returns the index of the place, for an event.
    fn place(self, _: Seal) -> PlaceIx;
}

impl EventPlace for PlaceIx {
    #[inline(always)]
    fn place(self, _: Seal) -> PlaceIx {
        self
    }
}

impl EventPlace for PortIx {
    #[inline(always)]
    fn place(self, _: Seal) -> PlaceIx {
        PlaceIx(self.0)
    }
}

impl PlaceIx {
    /// Returns the port, if the place is one.
    #[inline(always)]
    pub(in crate::run::state) const fn port(self) -> PortIx {
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
