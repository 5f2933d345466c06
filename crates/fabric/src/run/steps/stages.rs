//! Stages of an egress port: mechanisms that a frame passes between its arrival at the port and the link.
//!
//! Each is a type in a file of its own, named in the list of [`stages`](crate::run::state::stages), which says when it is consulted and in
//! which order. A port has the stages whose features it has. A frame that finds none of them consulted goes past all.

mod accounting;
mod blamed;
mod credits;
mod crossbar;
mod down;
mod memory;
mod queue_manager;
mod retry;
mod scheduler;
mod trimming;
mod watchdog;

use crate::run::state::admitted::AtEgress;
use crate::run::state::event::EventQueue;
use crate::run::state::losses::Cause;
use crate::run::state::pool::Waiting;
use crate::run::state::port::PortFeatures;
use crate::run::state::stages::stages;
use crate::run::state::view::NodeView;
use crate::run::steps::losses;
use crate::spec::NodeSpec;
use frame::Occupancy;
pub(super) use trimming::{NO_ROOM_TRIMMED, rescues, trim};
use units::Time;

/// Outcome of a stage for a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The frame goes on, perhaps changed: marked, trimmed, with another priority.
    Pass,
    /// The frame goes on, and waits in its queue even if the port is free.
    Wait,
    /// The frame is lost.
    Drop(Cause),
    /// The stage has deferred a message because of the frame, which goes on behind it.
    Notify,
}

/// A mechanism at egress ports. Every hook does nothing by default.
pub(crate) trait Stage {
    /// Returns true if the ports of this node have the stage for the whole run. The default is false: `build` or an event sets the feature.
    fn is_at(_node: &NodeSpec) -> bool {
        false
    }

    /// A frame arrives at its port, before it is determined whether it has to wait.
    fn enter(_here: &mut NodeView, _at: &mut AtEgress, _now: Time, _events: &mut EventQueue) -> Verdict {
        Verdict::Pass
    }

    /// A frame has to wait: takes room for it, or drops it.
    fn take_room(
        _here: &mut NodeView,
        _at: &AtEgress,
        _now: Time,
        _events: &mut EventQueue,
    ) -> Result<(), Cause> {
        Ok(())
    }

    /// All stages have room for a frame, which enters its queue next.
    fn admitted(_here: &mut NodeView, _at: &AtEgress, _now: Time) {}

    /// A frame is about to leave, out of its queue if it has `waited`.
    fn leaves(_here: &mut NodeView, _at: &mut AtEgress, _waited: bool, _now: Time) {}

    /// The transmission of a frame has begun. `waited`: it has waited, in a queue that held this with it.
    fn left(
        _here: &mut NodeView,
        _at: &AtEgress,
        _waited: Option<(&Waiting, Occupancy)>,
        _now: Time,
        _events: &mut EventQueue,
    ) {
    }

    /// A stage has dropped a frame that has come to its port.
    fn dropped(_here: &mut NodeView, _at: &AtEgress, _now: Time, _events: &mut EventQueue) {}
}

macro_rules! chain {
    ($($(#[$doc:meta])* $feature:ident: $($when:ident)|+ $(=> $module:ident::$stage:ident)?;)*) => {
        /// The features of the stages that the ports of a node have for the whole run.
        pub(crate) fn of_node(node: &NodeSpec) -> PortFeatures {
            let mut features = PortFeatures::NONE;
            $($(
                if $module::$stage::is_at(node) {
                    features = features.or(PortFeatures::$feature);
                }
            )?)*
            features
        }

        /// A frame comes to the stages of its port behind the one of feature `behind`, if any. Returns the last verdict, and the
        /// feature of the stage that gave it.
        #[inline(always)]
        pub(super) fn enter_stages(
            here: &mut NodeView,
            at: &mut AtEgress,
            behind: PortFeatures,
            now: Time,
            events: &mut EventQueue,
        ) -> (Verdict, PortFeatures) {
            let features = here.links.ports[at.egress].features.behind(behind);
            let mut waits = Verdict::Pass;
            $($(
                if features.has(PortFeatures::$feature) {
                    match $module::$stage::enter(here, at, now, events) {
                        Verdict::Pass => {}
                        Verdict::Wait => waits = Verdict::Wait,
                        ends => return (ends, PortFeatures::$feature),
                    }
                }
            )?)*
            (waits, PortFeatures::NONE)
        }

        /// Takes room for a frame that has to wait. Returns why it is lost if a stage has none.
        #[inline(always)]
        pub(super) fn take_room(
            here: &mut NodeView,
            at: &AtEgress,
            now: Time,
            events: &mut EventQueue,
        ) -> Result<(), Cause> {
            let features = here.links.ports[at.egress].features;
            $($(
                if features.has(PortFeatures::$feature) {
                    $module::$stage::take_room(here, at, now, events)?;
                }
            )?)*
            let features = here.links.ports[at.egress].features;
            $($(
                if features.has(PortFeatures::$feature) {
                    $module::$stage::admitted(here, at, now);
                }
            )?)*
            Ok(())
        }

        /// A frame is about to leave.
        #[inline(always)]
        pub(super) fn leave_stages(here: &mut NodeView, at: &mut AtEgress, waited: bool, now: Time) {
            let features = here.links.ports[at.egress].features;
            $($(
                if features.has(PortFeatures::$feature) {
                    $module::$stage::leaves(here, at, waited, now);
                }
            )?)*
        }

        /// The transmission of a frame has begun, which could have paused this very port.
        #[inline(always)]
        pub(super) fn has_left_stages(
            here: &mut NodeView,
            at: &AtEgress,
            waited: Option<(&Waiting, Occupancy)>,
            now: Time,
            events: &mut EventQueue,
        ) {
            let features = here.links.ports[at.egress].features;
            $($(
                if features.has(PortFeatures::$feature) {
                    $module::$stage::left(here, at, waited, now, events);
                }
            )?)*
        }

        /// A stage has dropped a frame.
        #[cold]
        pub(super) fn dropped_by_stage(
            here: &mut NodeView,
            at: &AtEgress,
            cause: Cause,
            now: Time,
            events: &mut EventQueue,
        ) {
            losses::lose(here, at.egress, at.class, &at.frame, at.ingress, cause, now);
            let features = here.links.ports[at.egress].features;
            $($(
                if features.has(PortFeatures::$feature) {
                    $module::$stage::dropped(here, at, now, events);
                }
            )?)*
        }
    };
}
stages!(chain);
