//! A scheduler that observes which frames leave their queues.

use super::Stage;
use crate::run::state::admitted::AtEgress;
use crate::run::state::world::Fabric;
use units::Time;

pub(super) struct Scheduler;

impl Stage for Scheduler {
    #[inline(always)]
    fn leaves(fabric: &mut Fabric, at: &mut AtEgress, waited: bool, now: Time) {
        if waited {
            fabric.on_sent(at.egress, at.class, at.frame.bytes, now);
        }
    }
}
