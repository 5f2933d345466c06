//! Counts of arrivals by flow at a queue where pauses in force begin.

use super::Stage;
use crate::run::state::admitted::AtEgress;
use crate::run::state::port::PortFeatures;
use crate::run::state::world::Fabric;
use units::Time;

pub(super) struct Blamed;

impl Stage for Blamed {
    #[inline(always)]
    fn admitted(fabric: &mut Fabric, at: &AtEgress, _now: Time) {
        // A crossbar has counted it at its input.
        if !fabric.links.ports[at.egress].features.has(PortFeatures::CROSSBAR) {
            fabric.enters_root(at.egress, at.class, &at.frame);
        }
    }
}
