//! Invariants of decoding any bytes as a frame: they are rejected with a reason, or encoded identically again.
//!
//! Shared by the fuzz target and by tests of the crate `wire`, which need no fuzzer.

use wire::ethernet::LEAST;
use wire::lldp::Lldpdu;
use wire::{Contents, Frame};

/// Decodes, describes and encodes the bytes. The error describes the violated invariant.
pub fn check(bytes: &[u8]) -> Result<(), String> {
    check_received(bytes.get(14..).unwrap_or_default())?;
    let Ok(frame) = Frame::decode(bytes) else { return Ok(()) };
    let written = frame.to_bytes();
    // Reserved bits, and padding after the end, are dropped. Only padding and an End TLV are added.
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

/// Checks that the part of an LLDPDU that a receiver keeps is valid, and that the rest is reported.
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
