//! Which stage of a port is asked when: one table, from which each way past the stages follows.
//!
//! A frame goes past all stages of a port if none of those that the port has is asked at that moment. The compiler makes one
//! constant of each column, so that the question is one comparison. Where a stage is asked, it stands in its place in
//! [`Fabric::enqueue_at_output`](crate::run::state::world::Fabric::enqueue_at_output) or `decide_asking`, and asks for its own hook.

use crate::run::state::port::PortFeatures;

/// When a stage may be asked: bits.
#[derive(Clone, Copy)]
pub(crate) struct When(u8);

impl When {
    /// A frame comes, the port is free, nothing waits and nothing is stopped.
    pub const FREE: When = When(1);
    /// So comes a frame of a host, whose NIC and link are looked at together.
    pub const FROM_HOST: When = When(1 << 1);
    /// A frame comes while the port is busy.
    pub const BUSY: When = When(1 << 2);
    /// The port is free and chooses what to send.
    pub const CHOOSES: When = When(1 << 3);
    /// It finds nothing that may go.
    pub const STALLS: When = When(1 << 4);
    /// A frame that waits leaves, so that it cannot be sent ahead of that.
    pub const LEAVES: When = When(1 << 5);

    const fn and(self, other: When) -> When {
        When(self.0 | other.0)
    }
}

/// A stage, by its hook, and when it is asked.
struct Stage(PortFeatures, When);

const FREE: When = When::FREE.and(When::FROM_HOST);

/// All stages that are asked of a frame at its port.
const STAGES: [Stage; 15] = [
    Stage(PortFeatures::PAUSE_WAITING, FREE.and(When::CHOOSES).and(When::STALLS)),
    Stage(PortFeatures::CREDITS, FREE.and(When::BUSY).and(When::CHOOSES).and(When::STALLS).and(When::LEAVES)),
    Stage(PortFeatures::MANAGED, FREE.and(When::BUSY)),
    Stage(PortFeatures::DOWN, When::BUSY),
    Stage(PortFeatures::WATCHED, When::BUSY.and(When::CHOOSES).and(When::STALLS).and(When::LEAVES)),
    Stage(PortFeatures::BOUNDED, When::BUSY),
    Stage(PortFeatures::INGRESS_ACCOUNTING, When::LEAVES),
    Stage(PortFeatures::EGRESS_ACCOUNTING, When::BUSY.and(When::CHOOSES)),
    Stage(PortFeatures::BLAMED, When::BUSY),
    Stage(
        PortFeatures::SCHEDULER,
        FREE.and(When::BUSY).and(When::CHOOSES).and(When::STALLS).and(When::LEAVES),
    ),
    Stage(PortFeatures::CROSSBAR, FREE.and(When::BUSY).and(When::CHOOSES).and(When::LEAVES)),
    Stage(PortFeatures::AHEAD, When::CHOOSES),
    Stage(PortFeatures::FAULTED, When::FROM_HOST.and(When::CHOOSES).and(When::LEAVES)),
    Stage(PortFeatures::RECORDED, When::FROM_HOST),
    Stage(PortFeatures::FEEDS, When::LEAVES),
];

/// The features of the stages that are asked then.
pub(crate) const fn asked(when: When) -> PortFeatures {
    let (mut features, mut at) = (PortFeatures::NONE, 0);
    while at < STAGES.len() {
        if STAGES[at].1.0 & when.0 != 0 {
            features = features.or(STAGES[at].0);
        }
        at += 1;
    }
    features
}
