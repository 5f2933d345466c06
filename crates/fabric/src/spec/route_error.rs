//! Why an explicit route is refused.

use frame::NodeId;
use std::fmt;

/// Why an explicit route is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RouteError {
    /// It names no node beside the source.
    Empty,
    /// A node that is not there.
    UnknownNode(NodeId),
    /// No link between two consecutive nodes.
    NotAdjacent(NodeId, NodeId),
    /// A host before the end: hosts do not forward.
    HostInTheMiddle(NodeId),
    /// The last node is a switch.
    EndsAtSwitch(NodeId),
}

impl fmt::Display for RouteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RouteError::Empty => write!(f, "the route is empty: it has to end at a host"),
            RouteError::UnknownNode(node) => write!(f, "there is no node {}", node.0),
            RouteError::NotAdjacent(a, b) => write!(f, "there is no link between nodes {} and {}", a.0, b.0),
            RouteError::HostInTheMiddle(node) => {
                write!(f, "node {} is a host in the middle of the route: hosts do not forward", node.0)
            }
            RouteError::EndsAtSwitch(node) => {
                write!(f, "node {} is a switch: a route ends at a host", node.0)
            }
        }
    }
}
impl std::error::Error for RouteError {}
