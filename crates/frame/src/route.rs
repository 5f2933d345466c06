//! The next hop of a frame, in 32 bits.
//!
//! Most frames follow a path that was computed before the run: the route is the index of their next egress port in the
//! table of hops. A reply may follow the same path in reverse. Where switches choose a port for each frame, the route
//! is the destination and the frame's entropy value. Each switch looks up the destination, and hashes the entropy value
//! together with the flow. A multicast frame follows one of the paths to its receivers, and switches copy it where
//! other paths branch off.

use crate::NodeId;
use recurrence::Recurs;

/// Next hop of a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Recurs)]
pub struct Route(u32);

/// The decoded form of a [`Route`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heading {
    /// Forward along a path: index of the next egress port in the table of hops.
    Forward(u32),
    /// Backward along a path: index of the hop that leads to the current node, which is traversed in reverse.
    Backward(u32),
    /// To a node, by the forwarding tables of the switches.
    Destination(NodeId),
    /// Along the paths to several receivers: index of the next egress port on the first path that remains.
    Tree(u32),
}

const DESTINATION: u32 = 1 << 31;
const BACKWARD: u32 = 1 << 30;
const TREE: u32 = DESTINATION | BACKWARD;
/// Number of bits of a destination that hold the node; the entropy is above them.
const NODE_BITS: u32 = 20;
const NODE: u32 = Route::NODES - 1;

impl Route {
    /// Maximum number of hops in the table of hops.
    pub const LIMIT: u32 = BACKWARD;
    /// Maximum number of nodes that a destination can address.
    pub const NODES: u32 = 1 << NODE_BITS;
    /// Number of entropy values that a frame can have.
    pub const ENTROPIES: u16 = (Route::LIMIT >> NODE_BITS) as u16;

    /// Creates a route along a path from this hop on; `hop` is below [`Route::LIMIT`].
    #[inline]
    pub const fn forward(hop: u32) -> Route {
        debug_assert!(hop < Route::LIMIT);
        Route(hop)
    }
    /// Creates a route along a path in reverse, beginning with this hop; `hop` is below [`Route::LIMIT`].
    #[inline]
    pub const fn backward(hop: u32) -> Route {
        debug_assert!(hop < Route::LIMIT);
        Route(BACKWARD | hop)
    }
    /// Creates a route by the forwarding tables of the switches, to a node below [`Route::NODES`].
    #[inline]
    pub const fn to(node: NodeId) -> Route {
        debug_assert!(node.0 < Route::NODES);
        Route(DESTINATION | node.0)
    }
    /// Returns the route with this entropy value, below [`Route::ENTROPIES`]. Returns a route along a computed path
    /// unchanged.
    #[inline]
    #[must_use]
    pub const fn with_entropy(self, entropy: u16) -> Route {
        debug_assert!(entropy < Route::ENTROPIES);
        if self.0 & TREE != DESTINATION {
            return self;
        }
        Route(DESTINATION | (entropy as u32) << NODE_BITS | self.0 & NODE)
    }
    /// Returns the entropy value; 0 for a route along a computed path.
    #[inline]
    pub const fn entropy(self) -> u16 {
        if self.0 >> (32 - 2) == DESTINATION >> (32 - 2) {
            (self.0 >> NODE_BITS) as u16 % Route::ENTROPIES
        } else {
            0
        }
    }
    /// Creates a route along the paths to several receivers, beginning with this hop of the first; `hop` is below
    /// [`Route::LIMIT`].
    #[inline]
    pub const fn tree(hop: u32) -> Route {
        debug_assert!(hop < Route::LIMIT);
        Route(TREE | hop)
    }
    /// Returns true if switches may copy the frame.
    #[inline]
    pub const fn is_tree(self) -> bool {
        self.0 >= TREE
    }
    /// Returns the decoded form.
    #[inline]
    pub const fn heading(self) -> Heading {
        if self.is_tree() {
            Heading::Tree(self.0 & !TREE)
        } else if self.0 & DESTINATION != 0 {
            Heading::Destination(NodeId(self.0 & NODE))
        } else if self.0 & BACKWARD != 0 {
            Heading::Backward(self.0 & !BACKWARD)
        } else {
            Heading::Forward(self.0)
        }
    }
    /// Returns the bits, for fingerprints.
    #[inline]
    pub const fn bits(self) -> u32 {
        self.0
    }
    /// Returns the next hop of a route along a path: the common case, as one comparison.
    #[inline]
    pub const fn next_hop(self) -> Option<u32> {
        if self.0 < Route::LIMIT { Some(self.0) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entropy_lies_beside_the_destination_alone() {
        for node in [0, 1, Route::NODES - 1].map(NodeId) {
            for entropy in [0, 1, 255, Route::ENTROPIES - 1] {
                let route = Route::to(node).with_entropy(entropy);
                assert_eq!((route.heading(), route.entropy()), (Heading::Destination(node), entropy));
                assert_eq!((route.with_entropy(3).entropy(), route.is_tree()), (3, false));
                assert_eq!(route.next_hop(), None);
            }
        }
        for other in [Route::forward(7), Route::backward(Route::LIMIT - 1), Route::tree(Route::LIMIT - 1)] {
            assert_eq!((other.with_entropy(9), other.entropy()), (other, 0));
        }
    }

    #[test]
    fn a_route_says_what_it_was_made_from() {
        for n in [0, 1, 77, Route::NODES - 1, Route::LIMIT - 1] {
            assert_eq!(Route::forward(n).heading(), Heading::Forward(n));
            assert_eq!(Route::forward(n).next_hop(), Some(n));
            assert_eq!(Route::backward(n).heading(), Heading::Backward(n));
            let node = NodeId(n % Route::NODES);
            assert_eq!(Route::to(node).heading(), Heading::Destination(node));
            assert_eq!(Route::tree(n).heading(), Heading::Tree(n));
            let others = [Route::backward(n), Route::to(node), Route::tree(n)];
            assert_eq!(others.map(Route::next_hop), [None; 3]);
            assert_eq!(others.map(Route::is_tree), [false, false, true]);
        }
    }
}
