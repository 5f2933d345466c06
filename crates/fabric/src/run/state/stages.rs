//! Features of ports, and when each is consulted: a single list, from which every fast path past the stages of a port
//! is derived.
//!
//! A frame bypasses all stages of a port if none of the port's features is consulted at that point. The compiler makes
//! a constant of each column, so that the check is a single comparison. A feature whose line names a type has a stage:
//! a file in `run/steps/stages`, which implements [`Stage`](crate::run::steps::stages::Stage). Stages are consulted in
//! the order of the list.

use crate::run::state::port::PortFeatures;

/// Points at which a feature may be consulted, as bits.
#[derive(Clone, Copy)]
pub(crate) struct When(u8);

impl When {
    /// At no point.
    const NEVER: When = When(0);
    /// A frame arrives while the port is idle, no frame is queued and no class is stopped.
    pub const FREE: When = When(1 << 1 | When::FROM_HOST.0);
    /// A frame of a host arrives while both its NIC and its link are idle.
    pub const FROM_HOST: When = When(1);
    /// A frame arrives while the port is busy.
    pub const BUSY: When = When(1 << 2);
    /// The port is idle and selects a frame to send.
    pub const CHOOSES: When = When(1 << 3);
    /// The port finds no frame that it may send.
    pub const STALLS: When = When(1 << 4);
    /// A queued frame leaves. The frame therefore cannot be sent ahead of time.
    pub const LEAVES: When = When(1 << 5);
}

/// Calls a macro with the list of features: documentation, name, points at which it is consulted, and the type of its
/// stage if it has one.
macro_rules! stages {
    ($with:ident) => {
        $with! {
            /// A pause frame is pending at the transmitter.
            PAUSE_WAITING: FREE | CHOOSES | STALLS;
            /// The link is down or the switch is off: [`ColdPort::down`](crate::run::state::port::ColdPort::down).
            DOWN: BUSY => down::Down;
            /// A watchdog for pause storms is active: [`ColdPort::watch`](crate::run::state::port::ColdPort::watch).
            WATCHED: BUSY | CHOOSES | STALLS | LEAVES => watchdog::Watchdog;
            /// Frames that do not fit are trimmed: [`ColdPort::trimming`](crate::run::state::port::ColdPort::trimming).
            TRIMMING: BUSY => trimming::Trimming;
            /// A limit or a shared memory bounds the occupancy.
            BOUNDED: BUSY => memory::Memory;
            /// The node sends pauses, and counts queued frames by ingress port or by queue.
            INGRESS_ACCOUNTING: LEAVES => accounting::Accounting;
            /// Each egress queue decides about pauses, rather than the counters of ingress ports.
            EGRESS_ACCOUNTING: BUSY | CHOOSES;
            /// Pauses in force begin at one of the port's queues, where arrivals are counted by flow (`culprits`).
            BLAMED: BUSY => blamed::Blamed;
            /// The link has credits. Frames consume them when they leave, and return those of their ingress link.
            CREDITS: FREE | BUSY | CHOOSES | STALLS | LEAVES => credits::Credits;
            /// A queue manager examines the frames.
            MANAGED: FREE | BUSY => queue_manager::QueueManager;
            /// The scheduler observes arrivals and departures. Without this feature, it needs only the set of classes
            /// with frames.
            SCHEDULER: FREE | BUSY | CHOOSES | STALLS | LEAVES => scheduler::Scheduler;
            /// Its switch has a crossbar.
            CROSSBAR: FREE | BUSY | CHOOSES | LEAVES => crossbar::CrossbarOutput;
            /// The link has link-level retry, which may block frames:
            /// [`ColdPort::retry`](crate::run::state::port::ColdPort::retry).
            RETRY: FREE | CHOOSES | LEAVES => retry::Retry;
            /// Frames are sent ahead of their time: see `ahead`.
            AHEAD: CHOOSES;
            /// Scripted faults or losses of the link may affect frames that leave through the port, or these get
            /// another priority or tag:
            /// [`ColdPort::changes_frames`](crate::run::state::port::ColdPort::changes_frames).
            FAULTED: FROM_HOST | CHOOSES | LEAVES;
            /// Departures are recorded over time, or written into packets: see `telemetry`.
            RECORDED: FROM_HOST;
            /// Sources or endpoints may wait for a place in the NIC, which a departing frame frees.
            FEEDS: LEAVES;
            /// The peer is a host that only counts arrivals: see `ahead`.
            COUNTED_AHEAD: NEVER;
        }
    };
}
pub(in crate::run) use stages;

macro_rules! features {
    ($($(#[$doc:meta])* $feature:ident: $($when:ident)|+ $(=> $module:ident::$stage:ident)?;)*) => {
        /// Indices of the features in the list.
        #[expect(non_camel_case_types, clippy::upper_case_acronyms, reason = "the names match the features")]
        enum Place {
            $($feature),*
        }

        impl PortFeatures {
            $($(#[$doc])* pub const $feature: PortFeatures = PortFeatures::nth(Place::$feature as u8);)*
        }

        /// Names of the stages, as used in the causes of losses; empty for a feature without a stage.
        const NAMES: &[&str] = &[$([$(stringify!($module),)? ""][0]),*];

        const LIST: &[(PortFeatures, When)] = &[$((PortFeatures::$feature, When($(When::$when.0)|+))),*];
    };
}
stages!(features);

/// A stage, as its index in the list.
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

/// The features whose stages are consulted at this point.
pub(crate) const fn called_at(when: When) -> PortFeatures {
    let (mut features, mut at) = (PortFeatures::NONE, 0);
    while at < LIST.len() {
        // All bits have to match, because `FREE` includes the bit of `FROM_HOST`.
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
