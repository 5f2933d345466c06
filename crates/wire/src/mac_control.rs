//! MAC Control: PAUSE and priority-based flow control (PFC).
//!
//! Source: IEEE 802.3 clause 31 and annex 31B (PAUSE), annex 31D with IEEE 802.1Qbb (PFC).

use crate::view::{Field, view};
use crate::{Error, PrioritySet};
use frame::PRIORITIES;
use serde::Serialize;
use std::fmt;

/// Opcode of PAUSE.
pub const PAUSE: u16 = 0x0001;
/// Opcode of PFC.
pub const PFC: u16 = 0x0101;

view! {
    /// View of the octets after the EtherType 0x8808. Such frames have the minimum length of Ethernet, hence 46 octets.
    ControlView("a MAC Control frame behind its type", 46) {
        /// Opcode.
        opcode: u16 = 0,
        /// Pause time in quanta of 512 bit times.
        pause_quanta: u16 = 2,
        /// Priority enable vector of PFC; its high octet is reserved.
        vector: u16 = 2,
        /// Pause times of PFC, priority 0 first, two octets each.
        quanta: [u8; 16] = 4,
    }
}

/// A MAC Control frame, after its EtherType.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MacControl {
    /// Pauses all traffic for this many quanta; 0 resumes it.
    Pause {
        /// Quanta of 512 bit times, 0 to 65535.
        quanta: u16,
    },
    /// Pauses some priorities.
    Pfc(Pfc),
}

/// Pause times of some priorities. A new time replaces the remaining one; a priority without its bit is unaffected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Pfc {
    /// Priority enable vector.
    pub enabled: PrioritySet,
    /// Pause time of each priority in quanta of 512 bit times, 0 to 65535; 0 resumes the priority.
    pub quanta: [u16; PRIORITIES],
}

impl MacControl {
    /// Parses the octets after the EtherType. Ignores the reserved octet of the enable vector, which [`ControlView`]
    /// returns.
    pub fn decode(bytes: &[u8]) -> Result<MacControl, Error> {
        let view = ControlView::new(bytes)?;
        match view.opcode() {
            PAUSE => Ok(MacControl::Pause { quanta: view.pause_quanta() }),
            PFC => {
                let times = view.quanta();
                let quanta = std::array::from_fn(|priority| u16::read(&times[2 * priority..]));
                Ok(MacControl::Pfc(Pfc { enabled: PrioritySet(view.vector() as u8), quanta }))
            }
            opcode => Err(Error::Value {
                what: "the opcode of MAC Control",
                accepted: "1 (PAUSE) and 257 (PFC)",
                got: opcode.into(),
            }),
        }
    }

    /// Appends the octets after the type, up to the padding.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match *self {
            MacControl::Pause { quanta } => {
                PAUSE.put(out);
                quanta.put(out);
            }
            MacControl::Pfc(Pfc { enabled, quanta }) => {
                PFC.put(out);
                u16::from(enabled.0).put(out);
                quanta.into_iter().for_each(|time| time.put(out));
            }
        }
    }
}

impl fmt::Display for MacControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MacControl::Pause { quanta: 0 } => write!(f, "PAUSE, continue"),
            MacControl::Pause { quanta } => write!(f, "PAUSE, {quanta} quanta"),
            MacControl::Pfc(pfc) => {
                write!(f, "PFC")?;
                for priority in frame::members(pfc.enabled.0) {
                    match pfc.quanta[priority] {
                        0 => write!(f, ", {priority} continue")?,
                        quanta => write!(f, ", {priority} {quanta} quanta")?,
                    }
                }
                Ok(())
            }
        }
    }
}
