//! Where a frame goes next, in 32 bits.
//!
//! Most frames follow a path that was found before the run: the route is the index of their next egress port in
//! the table of hops. A reply may follow the same path back. Where a port is chosen for every frame, the route is
//! the destination, and each switch on the way looks it up. A frame for several receivers follows one of the paths to them, and
//! switches copy it where the others leave that.

use crate::NodeId;

/// Where a frame goes next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Route(u32);

/// A [`Route`], told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heading {
    /// Along a path: the index of the next egress port in the table of hops.
    Forward(u32),
    /// Back along a path: the index of the hop that leads here; it is taken the other way round.
    Backward(u32),
    /// To a node, by the forwarding tables of the switches.
    Destination(NodeId),
    /// Along the paths to several receivers, or what is left of one: the index of the next egress port on the first.
    Tree(u32),
}

const DESTINATION: u32 = 1 << 31;
const BACKWARD: u32 = 1 << 30;
const TREE: u32 = DESTINATION | BACKWARD;

impl Route {
    /// Hops that the table of hops may have, and nodes that a destination may be.
    pub const LIMIT: u32 = BACKWARD;

    /// Along a path from this hop on; `hop` is below [`Route::LIMIT`].
    #[inline]
    pub const fn forward(hop: u32) -> Route {
        debug_assert!(hop < Route::LIMIT);
        Route(hop)
    }
    /// Back along a path, beginning with this hop; `hop` is below [`Route::LIMIT`].
    #[inline]
    pub const fn backward(hop: u32) -> Route {
        debug_assert!(hop < Route::LIMIT);
        Route(BACKWARD | hop)
    }
    /// To a node, by the switches' choice.
    #[inline]
    pub const fn to(node: NodeId) -> Route {
        debug_assert!(node.0 < Route::LIMIT);
        Route(DESTINATION | node.0)
    }
    /// Along the paths to several receivers, beginning with this hop of the first; `hop` is below [`Route::LIMIT`].
    #[inline]
    pub const fn tree(hop: u32) -> Route {
        debug_assert!(hop < Route::LIMIT);
        Route(TREE | hop)
    }
    /// Whether switches may copy the frame.
    #[inline]
    pub const fn is_tree(self) -> bool {
        self.0 >= TREE
    }
    /// Which of the four it is.
    #[inline]
    pub const fn heading(self) -> Heading {
        if self.is_tree() {
            Heading::Tree(self.0 & !TREE)
        } else if self.0 & DESTINATION != 0 {
            Heading::Destination(NodeId(self.0 & !DESTINATION))
        } else if self.0 & BACKWARD != 0 {
            Heading::Backward(self.0 & !BACKWARD)
        } else {
            Heading::Forward(self.0)
        }
    }
    /// The bits, for fingerprints.
    #[inline]
    pub const fn bits(self) -> u32 {
        self.0
    }
    /// The next hop along a path: the plain case, as one comparison.
    #[inline]
    pub const fn next_hop(self) -> Option<u32> {
        if self.0 < Route::LIMIT { Some(self.0) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_route_says_what_it_was_made_from() {
        for n in [0, 1, 77, Route::LIMIT - 1] {
            assert_eq!(Route::forward(n).heading(), Heading::Forward(n));
            assert_eq!(Route::forward(n).next_hop(), Some(n));
            assert_eq!(Route::backward(n).heading(), Heading::Backward(n));
            assert_eq!(Route::to(NodeId(n)).heading(), Heading::Destination(NodeId(n)));
            assert_eq!(Route::tree(n).heading(), Heading::Tree(n));
            let others = [Route::backward(n), Route::to(NodeId(n)), Route::tree(n)];
            assert_eq!(others.map(Route::next_hop), [None; 3]);
            assert_eq!(others.map(Route::is_tree), [false, false, true]);
        }
    }
}
