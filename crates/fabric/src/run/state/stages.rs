//! Features of ports, and which of them are consulted when: one list, from which each way past the stages of a port follows.
//!
//! A frame goes past all stages of a port if none of those that the port has is consulted at that moment. The compiler makes one constant
//! of each column, so that the question is one comparison. A feature whose line names a type has a stage: a file in `run/steps/stages`,
//! which implements [`Stage`](crate::run::steps::stages::Stage). Stages are consulted in the order of the list.

use crate::run::state::port::PortFeatures;

/// When a feature may be consulted: bits.
#[derive(Clone, Copy)]
pub(crate) struct When(u8);

impl When {
    /// Never at a port.
    const NEVER: When = When(0);
    /// A frame comes, the port is free, nothing waits and nothing is stopped.
    pub const FREE: When = When(1 << 1 | When::FROM_HOST.0);
    /// A frame of a host arrives while both its NIC and its link are idle.
    pub const FROM_HOST: When = When(1);
    /// A frame comes while the port is busy.
    pub const BUSY: When = When(1 << 2);
    /// The port is free and chooses what to send.
    pub const CHOOSES: When = When(1 << 3);
    /// It finds nothing that may go.
    pub const STALLS: When = When(1 << 4);
    /// A frame that waits leaves, so that it cannot be sent ahead of that.
    pub const LEAVES: When = When(1 << 5);
}

/// Calls a macro with the list of features: documentation, name, when it is consulted, and the type of its stage if it has one.
macro_rules! stages {
    ($with:ident) => {
        $with! {
            /// A pause frame waits for the transmitter.
            PAUSE_WAITING: FREE | CHOOSES | STALLS;
            /// The link is down or the switch is off: [`ColdPort::down`](crate::run::state::port::ColdPort::down).
            DOWN: BUSY => down::Down;
            /// A watchdog for pause storms is active: [`ColdPort::watch`](crate::run::state::port::ColdPort::watch).
            WATCHED: BUSY | CHOOSES | STALLS | LEAVES => watchdog::Watchdog;
            /// Frames that find no room are trimmed: [`ColdPort::trimming`](crate::run::state::port::ColdPort::trimming).
            TRIMMING: BUSY => trimming::Trimming;
            /// A limit or a shared memory bounds what waits.
            BOUNDED: BUSY => memory::Memory;
            /// The node sends pauses, and counts what waits by ingress port or by queue.
            INGRESS_ACCOUNTING: LEAVES => accounting::Accounting;
            /// Pauses are decided by each egress queue, not by what came in through each port.
            EGRESS_ACCOUNTING: BUSY | CHOOSES;
            /// Pauses in force begin at one of its queues, where arrivals are counted by flow (`culprits`).
            BLAMED: BUSY => blamed::Blamed;
            /// The link has credits, which frames consume when they leave and return where they came in.
            CREDITS: FREE | BUSY | CHOOSES | STALLS | LEAVES => credits::Credits;
            /// A queue manager examines the frames.
            MANAGED: FREE | BUSY => queue_manager::QueueManager;
            /// The scheduler observes arrivals and departures. Without it, the set of classes with frames is all that it needs.
            SCHEDULER: FREE | BUSY | CHOOSES | STALLS | LEAVES => scheduler::Scheduler;
            /// Its switch has a crossbar.
            CROSSBAR: FREE | BUSY | CHOOSES | LEAVES => crossbar::CrossbarOutput;
            /// The link has link-level retry, which may block frames: [`ColdPort::retry`](crate::run::state::port::ColdPort::retry).
            RETRY: FREE | CHOOSES | LEAVES => retry::Retry;
            /// Frames are sent ahead of their time: see `ahead`.
            AHEAD: CHOOSES;
            /// Faults of the scenario, or losses of the link, may hit what leaves here, or it gets another priority
            /// or tag: [`ColdPort::changes_frames`](crate::run::state::port::ColdPort::changes_frames).
            FAULTED: FROM_HOST | CHOOSES | LEAVES;
            /// Departures are recorded over time, or written into packets: see `telemetry`.
            RECORDED: FROM_HOST;
            /// Sources or endpoints may wait for a place in the NIC, which a departing frame leaves.
            FEEDS: LEAVES;
            /// The peer is a host that only counts what arrives: see `ahead`.
            COUNTED_AHEAD: NEVER;
        }
    };
}
pub(in crate::run) use stages;

macro_rules! features {
    ($($(#[$doc:meta])* $feature:ident: $($when:ident)|+ $(=> $module:ident::$stage:ident)?;)*) => {
        /// Places in the list.
        #[expect(non_camel_case_types, clippy::upper_case_acronyms, reason = "named like the features")]
        enum Place {
            $($feature),*
        }

        impl PortFeatures {
            $($(#[$doc])* pub const $feature: PortFeatures = PortFeatures::nth(Place::$feature as u8);)*
        }

        /// Names of their stages, which losses in results have; empty without a stage.
        const NAMES: &[&str] = &[$([$(stringify!($module),)? ""][0]),*];

        const LIST: &[(PortFeatures, When)] = &[$((PortFeatures::$feature, When($(When::$when.0)|+))),*];
    };
}
stages!(features);

/// A stage, by its place in the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct StageId(u8);

impl StageId {
    /// The stage of a single feature.
    pub const fn of(feature: PortFeatures) -> StageId {
        StageId(feature.place())
    }
    /// Name of its file.
    pub fn name(self) -> &'static str {
        NAMES[usize::from(self.0)]
    }
}

/// The features of the stages that are consulted then.
pub(crate) const fn called_at(when: When) -> PortFeatures {
    let (mut features, mut at) = (PortFeatures::NONE, 0);
    while at < LIST.len() {
        // All bits of it: that a frame comes from a host is a part of that it finds the port free.
        if LIST[at].1.0 & when.0 == when.0 {
            features = features.or(LIST[at].0);
        }
        at += 1;
    }
    features
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_have_room_for_twelve_more() {
        assert!(size_of::<PortFeatures>() * 8 >= LIST.len() + 12);
    }

    #[test]
    fn a_stage_has_the_name_of_its_file() {
        let names = [PortFeatures::MANAGED, PortFeatures::WATCHED, PortFeatures::AHEAD]
            .map(|feature| StageId::of(feature).name());
        assert_eq!(names, ["queue_manager", "watchdog", ""]);
    }

    #[test]
    fn what_a_free_port_consults_it_consults_for_a_host() {
        assert!(called_at(When::FREE).is_within(called_at(When::FROM_HOST)));
        assert_eq!(
            called_at(When::FROM_HOST).without(called_at(When::FREE)),
            PortFeatures::FAULTED.or(PortFeatures::RECORDED)
        );
        assert!(!called_at(When::FREE).has(PortFeatures::BOUNDED.or(PortFeatures::COUNTED_AHEAD)));
    }
}
