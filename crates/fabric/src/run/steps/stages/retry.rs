//! Link-level retry: a departing frame may fill the replay buffer.

use super::Stage;
use crate::run::state::admitted::AtEgress;
use crate::run::state::event::EventQueue;
use crate::run::state::pool::Waiting;
use crate::run::state::view::NodeView;
use crate::run::steps::retry;
use frame::Occupancy;
use units::Time;

pub(super) struct Retry;

impl Stage for Retry {
    #[inline(always)]
    fn left(
        here: &mut NodeView,
        at: &AtEgress,
        _waited: Option<(&Waiting, Occupancy)>,
        now: Time,
        events: &mut EventQueue,
    ) {
        retry::note_blocked(here, at.egress, now, events);
    }
}
