//! The fuzz targets: their checks, and how their cases are generated.

use crate::edits::{Random, byte, change};
use crate::{agents, exchanges, frames, harness, memory, programs, queue_pairs, readers, segments, waits};
use rand::RngExt;

/// A target.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Name.
    pub name: &'static str,
    /// Generates an input from some valid ones.
    pub draw: fn(&[Vec<u8>], &mut Random) -> Vec<u8>,
    /// Checks the invariants. The error describes the violated one.
    pub check: fn(&[u8]) -> Result<(), String>,
}

/// All targets.
pub const TARGETS: &[Target] = &[
    Target { name: "scenario", draw: scenario, check: |bytes| harness::check(bytes).map(drop) },
    Target { name: "readers", draw: readers::draw, check: readers::check },
    Target { name: "programs", draw: programs::draw, check: programs::check },
    Target { name: "frame", draw: frame, check: frames::check },
    Target { name: "segments", draw: steps, check: segments::check },
    Target { name: "queue_pairs", draw: steps, check: queue_pairs::check },
    Target { name: "fcoe", draw: steps, check: exchanges::fcoe },
    Target { name: "iwarp", draw: steps, check: exchanges::iwarp },
    Target { name: "memory", draw: steps, check: memory::check },
    Target { name: "agents", draw: steps, check: agents::check },
    Target { name: "waits", draw: lists, check: waits::check },
];

fn scenario(valid: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut text = valid[random.random_range(0..valid.len())].clone();
    change(&mut text, random);
    text
}

fn bytes(most: usize, random: &mut Random) -> Vec<u8> {
    let length = random.random_range(0..most);
    (0..length).map(|_| random.random()).collect()
}

/// EtherTypes that the decoder handles: VLAN tags, LLDP, MAC Control, congestion notification messages and tags, IPv4.
const ETHER_TYPES: [[u8; 2]; 7] =
    [[0x81, 0x00], [0x88, 0xa8], [0x88, 0xcc], [0x88, 0x08], [0x22, 0xe7], [0x22, 0xe9], [0x08, 0x00]];

/// Generates a frame of a known kind, with a body of TLVs or of arbitrary bytes.
fn frame(_: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut frame = match random.random_range(0..3) {
        0 => vec![0x01, 0x80, 0xc2, 0x00, 0x00, 0x0e],
        1 => vec![0x01, 0x80, 0xc2, 0x00, 0x00, 0x01],
        _ => vec![0x02, 0xab, 0, 0, 0, random.random()],
    };
    frame.extend([0x02, 0xab, 0, 0, 0, 1]);
    for _ in 0..random.random_range(1..3) {
        frame.extend(ETHER_TYPES[random.random_range(0..ETHER_TYPES.len())]);
        if random.random_range(0..3) == 0 {
            frame.extend(random.random::<[u8; 2]>());
        }
    }
    if random.random() {
        frame.extend(bytes(80, random));
    } else {
        for _ in 0..random.random_range(0..8) {
            let body = bytes(30, random);
            let kind: u8 = if random.random() { 127 } else { random.random_range(0..9) };
            frame.extend([kind << 1, body.len() as u8]);
            frame.extend(body);
        }
        frame.extend([0, 0]);
    }
    byte(&mut frame, random);
    frame
}

fn lists(_: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    bytes(160, random)
}

fn steps(_: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    bytes(1_600, random)
}
