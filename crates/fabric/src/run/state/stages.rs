//! Which stage of a port is asked when: one table, from which each way past the stages follows.
//!
//! A frame goes past all stages of a port if none of those that the port has is asked at that moment. The compiler makes one
//! constant of each column, so that the question is one comparison. Where a stage is asked, it stands in its place in
//! [`Fabric::enqueue_at_output`](crate::run::state::world::Fabric::enqueue_at_output) or `decide_asking`, and asks for its own hook.

use crate::run::state::port::Hooks;

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
struct Stage(Hooks, When);

const FREE: When = When::FREE.and(When::FROM_HOST);

/// All stages that are asked of a frame at its port.
const STAGES: [Stage; 15] = [
    Stage(Hooks::PAUSE_WAITING, FREE.and(When::CHOOSES).and(When::STALLS)),
    Stage(Hooks::CREDITS, FREE.and(When::BUSY).and(When::CHOOSES).and(When::STALLS).and(When::LEAVES)),
    Stage(Hooks::MANAGED, FREE.and(When::BUSY)),
    Stage(Hooks::DOWN, When::BUSY),
    Stage(Hooks::WATCHED, When::BUSY.and(When::CHOOSES).and(When::STALLS).and(When::LEAVES)),
    Stage(Hooks::BOUNDED, When::BUSY),
    Stage(Hooks::COUNTED, When::LEAVES),
    Stage(Hooks::BY_QUEUE, When::BUSY.and(When::CHOOSES)),
    Stage(Hooks::BLAMED, When::BUSY),
    Stage(Hooks::SCHEDULER, FREE.and(When::BUSY).and(When::CHOOSES).and(When::STALLS).and(When::LEAVES)),
    Stage(Hooks::CROSSBAR, FREE.and(When::BUSY).and(When::CHOOSES).and(When::LEAVES)),
    Stage(Hooks::AHEAD, When::CHOOSES),
    Stage(Hooks::FAULTED, When::FROM_HOST.and(When::CHOOSES).and(When::LEAVES)),
    Stage(Hooks::RECORDED, When::FROM_HOST),
    Stage(Hooks::FEEDS, When::LEAVES),
];

/// The hooks of the stages that are asked then.
pub(crate) const fn asked(when: When) -> Hooks {
    let (mut hooks, mut at) = (Hooks::NONE, 0);
    while at < STAGES.len() {
        if STAGES[at].1.0 & when.0 != 0 {
            hooks = hooks.or(STAGES[at].0);
        }
        at += 1;
    }
    hooks
}
