//! A scheduler that observes which frames leave their queues.

use super::Stage;
use crate::run::state::admitted::AtEgress;
use crate::run::state::view::NodeView;
use crate::run::steps::decision;
use units::Time;

pub(super) struct Scheduler;

impl Stage for Scheduler {
    #[inline(always)]
    fn leaves(here: &mut NodeView, at: &mut AtEgress, waited: bool, now: Time) {
        if waited {
            decision::on_sent(here, at.egress, at.class, at.frame.bytes, now);
        }
    }
}
