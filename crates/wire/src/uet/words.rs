//! Textual form of UET packets.

use super::*;
use std::fmt;

/// Returns the name of a NACK code.
fn nack_name(code: u8) -> Option<&'static str> {
    Some(match code {
        1 => "trimmed",
        2 => "trimmed at the last hop",
        3 => "trimmed acknowledgement",
        4 => "no context",
        5 => "no congestion control context",
        6 => "no bitmap",
        7 => "no packet buffer",
        8 => "no guaranteed delivery",
        9 => "no message",
        10 => "no resource",
        11 => "PSN out of the window",
        13 => "out of order",
        14 => "wrong context",
        15 => "header mismatch",
        16 => "closing",
        18 => "packet not received",
        23 => "new start PSN",
        26 => "loss inferred",
        _ => return None,
    })
}

/// Names of control packets.
const CONTROLS: [&str; 10] = [
    "no operation",
    "acknowledgement request",
    "clear",
    "clear request",
    "close",
    "close request",
    "probe",
    "credit",
    "credit request",
    "negotiation",
];

impl fmt::Display for Uet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let again = if self.flags & RETRANSMITTED != 0 { ", retransmitted" } else { "" };
        match self.header {
            Header::Request { ordered, psn, contexts, .. } => {
                let mode = if ordered { "ROD" } else { "RUD" };
                let ack_request = if self.flags & ACK_REQUEST != 0 { ", requests an ACK" } else { "" };
                write!(
                    f,
                    "UET {mode} request to context {}, PSN {psn}{again}{ack_request}",
                    contexts.destination
                )
            }
            Header::Idempotent { response, id } => {
                write!(f, "UET RUDI {} {id}", if response { "response" } else { "request" })
            }
            Header::Datagram => write!(f, "UET UUD datagram"),
            Header::Ack { offset, cumulative, contexts, .. } => {
                let marked = if self.flags & MARKED != 0 { ", marked" } else { "" };
                let psn = cumulative.wrapping_add_signed(offset.into());
                write!(
                    f,
                    "UET ACK to context {}, cumulative PSN {cumulative}, of PSN {psn}{marked}{again}",
                    contexts.destination
                )
            }
            Header::Nack { code, psn, contexts, .. } => {
                write!(f, "UET NACK to context {}, PSN {psn}, ", contexts.destination)?;
                match nack_name(code) {
                    Some(name) => f.write_str(name),
                    None => write!(f, "code {code}"),
                }
            }
            Header::Control { psn, contexts, .. } => match CONTROLS.get(usize::from(self.next)) {
                Some(name) => {
                    write!(f, "UET control ({name}) to context {}, PSN {psn}", contexts.destination)
                }
                None => {
                    write!(f, "UET control {} to context {}, PSN {psn}", self.next, contexts.destination)
                }
            },
        }
    }
}
