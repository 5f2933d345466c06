//! Invariants of decoding any bytes as a frame: they are refused with a reason, or encoded back identically.
//!
//! Shared by the fuzz target and by tests of the crate `wire`, which need no fuzzer.

use wire::ethernet::LEAST;
use wire::lldp::Lldpdu;
use wire::{Contents, Frame};

/// Decodes, describes and encodes; the error names the broken invariant.
pub fn check(bytes: &[u8]) -> Result<(), String> {
    check_received(bytes.get(14..).unwrap_or_default())?;
    let Ok(frame) = Frame::decode(bytes) else { return Ok(()) };
    let written = frame.to_bytes();
    // Reserved bits, and padding behind the end, are dropped; nothing is added but padding and an End TLV.
    if written.len() > (bytes.len() + 2).max(LEAST) {
        return Err(format!("{} octets became {}", bytes.len(), written.len()));
    }
    if frame.contents.to_string().is_empty() {
        return Err("not told in words".into());
    }
    let again = Frame::decode(&written).map_err(|error| format!("not read again: {error}"))?;
    if again.to_bytes() != written {
        return Err(format!("{again:?} is written differently a second time"));
    }
    // A frame of an unknown type keeps its padding.
    if bytes.len() >= LEAST && again != frame {
        return Err(format!("{frame:?} came back as {again:?}"));
    }
    Ok(())
}

/// The part of an LLDPDU that a receiver keeps is legal, and the rest is reported.
fn check_received(bytes: &[u8]) -> Result<(), String> {
    let Ok(received) = Lldpdu::receive(bytes) else { return Ok(()) };
    let frame = Frame::lldp(wire::Mac::default(), received.pdu.clone());
    match Frame::decode(&frame.to_bytes()).map(|frame| frame.contents) {
        Ok(Contents::Lldp(pdu)) if pdu == received.pdu => {}
        other => return Err(format!("{:?} came back as {other:?}", received.pdu)),
    }
    let silent = received.faults.iter().any(|fault| fault.to_string().is_empty());
    if silent { Err("a fault without a reason".into()) } else { Ok(()) }
}
