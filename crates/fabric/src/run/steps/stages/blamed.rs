//! Counts of arrivals by flow at a queue where pauses in force begin.

use super::Stage;
use crate::run::state::admitted::AtEgress;
use crate::run::state::port::PortFeatures;
use crate::run::state::view::NodeView;
use crate::run::steps::culprits;
use units::Time;

pub(super) struct Blamed;

impl Stage for Blamed {
    #[inline(always)]
    fn admitted(here: &mut NodeView, at: &AtEgress, _now: Time) {
        // With a crossbar, the frame is counted at its input.
        if !here.links.ports[at.egress].features.has(PortFeatures::CROSSBAR) {
            culprits::enters_root(here, at.egress, at.class, &at.frame);
        }
    }
}
