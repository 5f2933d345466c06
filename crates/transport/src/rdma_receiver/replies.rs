//! Acknowledgements and NAKs that wait to be sent, and what they echo.

use super::RdmaReceiver;
use crate::endpoint::Received;
use crate::room::Append;
use frame::Trim;
use units::Time;

/// An acknowledgement or a NAK that is to be sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reply {
    /// The queue pair.
    pub pair: u32,
    /// A packet out of order that has come, or one that is lost.
    pub arrived: Option<u32>,
    /// Echo of the packet that it answers; `None`: it answers all that have arrived.
    pub echo: Option<Echo>,
}

/// Fields of a packet that its acknowledgement echoes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Echo {
    pub entropy: u16,
    pub marked: bool,
    pub trim: Trim,
    /// When it was sent.
    pub sent: Time,
}

impl Echo {
    pub fn of(received: &Received) -> Echo {
        let &Received { entropy, trim, created: sent, congestion_experienced: marked, .. } = received;
        Echo { entropy, marked, trim, sent }
    }
}

impl RdmaReceiver {
    /// Queues an answer: a NAK for a packet, or an acknowledgement of all that have come.
    pub(super) fn reply(&mut self, number: u32, arrived: Option<u32>) {
        if arrived.is_some() {
            return self.replies.append_one(Reply { pair: number, arrived, echo: None });
        }
        let each = self.spec.echoes_paths();
        let Some(pair) = self.pairs.get_mut(number as usize) else { return };
        // Where the sender chooses paths by what is echoed, each packet has an acknowledgement of its own.
        if each && !pair.nak && !pair.refuses {
            return;
        }
        if !std::mem::replace(&mut pair.in_line, true) {
            self.replies.append_one(Reply { pair: number, arrived: None, echo: None });
        }
    }
}
