//! Access to the credit state of a port, and the failure of an overdrawn counter.

use crate::run::state::credits::CreditState;
use crate::run::state::index::PortIx;
use crate::run::state::outcome::{CreditFault, Failure};
use crate::run::state::view::NodeView;
use flow_control::credit::Overdraft;
use units::Time;

pub fn credits_mut(here: &mut NodeView, port: PortIx) -> Option<&mut CreditState> {
    here.links.cold[port].control.credits_mut()
}

#[cold]
pub fn overdraft(here: &mut NodeView, port: u32, why: Overdraft, now: Time) {
    let Overdraft { channel, wanted, had } = why;
    let what = CreditFault::Overdraft { wanted, had };
    here.ledger.fail(Failure::Credits { at: now, port, channel, what });
}
