//! Acknowledgements and NAKs queued for transmission, and the fields that they echo.

use super::RdmaReceiver;
use crate::endpoint::Received;
use crate::room::Append;
use frame::Trim;
use recurrence::Recurs;
use units::Time;

/// A queued acknowledgement or NAK.
#[derive(Clone, Copy, Debug, Recurs)]
pub(super) struct Reply {
    /// Number of the queue pair.
    pub pair: u32,
    /// Packet that arrived out of order, or first lost packet.
    #[recurs(unless_empty = "packets out of order")]
    pub arrived: Option<u32>,
    /// Fields echoed from the acknowledged packet; `None` if the reply acknowledges all packets that have arrived.
    pub echo: Option<Echo>,
}

/// The fields of a packet that its acknowledgement echoes.
#[derive(Clone, Copy, Debug, Recurs)]
pub(super) struct Echo {
    pub entropy: u16,
    pub marked: bool,
    pub trim: Trim,
    /// Send time of the packet.
    pub sent: Time,
}

impl Echo {
    pub fn of(received: &Received) -> Echo {
        let &Received { entropy, trim, created: sent, congestion_experienced: marked, .. } = received;
        Echo { entropy, marked, trim, sent }
    }
}

impl RdmaReceiver {
    /// Queues a reply: a NAK of a packet, or an acknowledgement of all packets that have arrived.
    pub(super) fn reply(&mut self, number: u32, arrived: Option<u32>) {
        if arrived.is_some() {
            return self.replies.append_one(Reply { pair: number, arrived, echo: None });
        }
        let each = self.spec.echoes_paths();
        let Some(pair) = self.pairs.get_mut(number as usize) else { return };
        // If the sender selects paths by echoed fields, each packet is acknowledged separately.
        if each && !pair.nak && !pair.refuses {
            return;
        }
        if !std::mem::replace(&mut pair.in_line, true) {
            self.replies.append_one(Reply { pair: number, arrived: None, echo: None });
        }
    }
}
