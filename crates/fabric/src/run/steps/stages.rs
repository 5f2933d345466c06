//! Stages of an egress port: mechanisms that a frame passes between its arrival at the port and the link.
//!
//! Each stage is a type in a file of its own, named in the list of [`stages`](crate::run::state::stages), which
//! determines the order of stages and when each is consulted. A port has the stages whose features it has. A frame for
//! which no stage is consulted bypasses all of them.

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
    /// The frame continues, possibly changed: marked, trimmed, or with another priority.
    Pass,
    /// The frame continues, and is queued even if the port is idle.
    Wait,
    /// The frame is lost.
    Drop(Cause),
    /// The stage has deferred a message because of the frame, which continues after it.
    Notify,
}

/// A mechanism at egress ports. Every hook does nothing by default.
pub(crate) trait Stage {
    /// Returns true if the ports of this node have the stage for the whole run. The default is false: `build` or an
    /// event sets the feature.
    fn is_at(_node: &NodeSpec) -> bool {
        false
    }

    /// Called when a frame arrives at its port, before it is determined whether the frame has to wait.
    fn enter(_here: &mut NodeView, _at: &mut AtEgress, _now: Time, _events: &mut EventQueue) -> Verdict {
        Verdict::Pass
    }

    /// Called when a frame has to wait. Reserves space for the frame, or drops it.
    fn take_room(
        _here: &mut NodeView,
        _at: &AtEgress,
        _now: Time,
        _events: &mut EventQueue,
    ) -> Result<(), Cause> {
        Ok(())
    }

    /// Called when all stages have space for a frame, just before it enters its queue.
    fn admitted(_here: &mut NodeView, _at: &AtEgress, _now: Time) {}

    /// Called when a frame is about to leave; `waited`: out of its queue.
    fn leaves(_here: &mut NodeView, _at: &mut AtEgress, _waited: bool, _now: Time) {}

    /// Called when the transmission of a frame has started. `waited`: the frame, if it was queued, and the occupancy of
    /// its queue including it.
    fn left(
        _here: &mut NodeView,
        _at: &AtEgress,
        _waited: Option<(&Waiting, Occupancy)>,
        _now: Time,
        _events: &mut EventQueue,
    ) {
    }

    /// Called when this or another stage has dropped a frame that arrived at its port.
    fn dropped(_here: &mut NodeView, _at: &AtEgress, _now: Time, _events: &mut EventQueue) {}
}

macro_rules! chain {
    ($($(#[$doc:meta])* $feature:ident: $($when:ident)|+ $(=> $module:ident::$stage:ident)?;)*) => {
        /// Returns the features of the stages that the ports of a node have for the whole run.
        pub(crate) fn of_node(node: &NodeSpec) -> PortFeatures {
            let mut features = PortFeatures::NONE;
            $($(
                if $module::$stage::is_at(node) {
                    features = features.or(PortFeatures::$feature);
                }
            )?)*
            features
        }

        /// Passes a frame through the stages of its port after that of feature `behind`, or through all of them.
        /// Returns the last verdict, and the feature of the stage that returned it.
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

        /// Reserves space for a frame that has to wait. Returns the cause of its loss if a stage has no space.
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

        /// Notifies the stages of a frame that is about to leave.
        #[inline(always)]
        pub(super) fn leave_stages(here: &mut NodeView, at: &mut AtEgress, waited: bool, now: Time) {
            let features = here.links.ports[at.egress].features;
            $($(
                if features.has(PortFeatures::$feature) {
                    $module::$stage::leaves(here, at, waited, now);
                }
            )?)*
        }

        /// Notifies the stages of a frame whose transmission has started. They may pause this port.
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

        /// Notifies the stages of a frame that one of them has dropped.
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
