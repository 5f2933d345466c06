//! Errors of explicit routes.

use frame::NodeId;
use std::fmt;

/// Reason why an explicit route is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RouteError {
    /// The route names no node other than the source.
    Empty,
    /// A node does not exist.
    UnknownNode(NodeId),
    /// Two consecutive nodes have no link.
    NotAdjacent(NodeId, NodeId),
    /// A host is not the last node: hosts do not forward.
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
