//! Credit state of a port, and the credits by which it is overdrawn.

use crate::run::state::credits::CreditState;
use crate::run::state::index::PortIx;
use crate::run::state::outcome::{CreditFault, Failure};
use crate::run::state::world::Fabric;
use flow_control::credit::Overdraft;
use units::Time;

impl Fabric {
    pub fn credits_mut(&mut self, port: PortIx) -> Option<&mut CreditState> {
        self.links.cold[port].control.credits_mut()
    }

    #[cold]
    pub fn overdraft(&mut self, port: u32, why: Overdraft, now: Time) {
        let Overdraft { channel, wanted, had } = why;
        let what = CreditFault::Overdraft { wanted, had };
        self.ledger.fail(Failure::Credits { at: now, port, channel, what });
    }
}
