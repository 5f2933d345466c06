//! Cost of encoding and decoding frames: one JSON line for each kind, with frames per second.
//!
//! `wire [FRAMES]` (default 1000000). Decoding is measured with a PFC frame, and with the published LLDP frame of a
//! real agent with four DCBX TLVs. Encoding is measured with a capture in memory of PFC frames with direction and
//! comment. Time is measured in short batches, of which the fastest tenth counts, so that other load on the machine has
//! little effect. The last line is a complete file of FRAMES frames of a connection, with real headers; its seconds are
//! wall-clock time.

use frame::Ports;
use std::fs::File;
use std::hint::black_box;
use std::io::{BufWriter, Write};
use std::time::Instant;
use wire::capture::{Direction, Interface, Record, Writer};
use wire::mac_control::{MacControl, Pfc};
use wire::synthesis::{Kind, Simulated};
use wire::{Frame, Mac, Pcp, PrioritySet};

const BATCH: usize = 1024;

const LLDP: &str = concat!(
    "0180c200000e02000000000a88cc02070402000000000a04070302000000000a06020078",
    "fe190080c209800001010150140000000000000202000000000000",
    "fe190080c20a000001010014500000000000000202000000000000",
    "fe060080c20b8820fe080080c20c00820cbc0000"
);

fn main() -> std::io::Result<()> {
    let frames = std::env::args().nth(1).and_then(|word| word.parse().ok()).unwrap_or(1_000_000);
    let pfc = Pfc { enabled: PrioritySet(8), quanta: [0, 0, 0, 0xFFFF, 0, 0, 0, 0] };
    let pfc = Frame::control(Mac([2, 0, 0, 0, 0, 1]), MacControl::Pfc(pfc)).to_bytes();
    let lldp: Vec<u8> = (0..LLDP.len() / 2)
        .map(|at| u8::from_str_radix(&LLDP[2 * at..2 * at + 2], 16).expect("hexadecimal digits"))
        .collect();
    let mut out = std::io::stdout().lock();
    for (kind, bytes) in [("decode PFC", &pfc), ("decode LLDP", &lldp)] {
        let a_second = best(frames, || {
            for _ in 0..BATCH {
                black_box(Frame::decode(black_box(bytes))).expect("a legal frame");
            }
        });
        writeln!(out, "{{\"kind\": \"{kind}\", \"frames_a_second\": {a_second:.0}}}")?;
    }
    let ports = [Interface { name: "sw.0".into(), speed_bps: None }];
    let a_second = best(frames, || {
        let mut writer = Writer::new(Vec::with_capacity(BATCH * 128), &ports).expect("a capture");
        for time_ns in 0..BATCH as u64 {
            let (direction, comment) = (Some(Direction::In), Some("XOFF".into()));
            let record = Record { direction, comment, ..Record::new(0, time_ns, &pfc) };
            writer.write(&record).expect("a frame");
        }
        black_box(writer.into_inner());
    });
    writeln!(out, "{{\"kind\": \"write capture\", \"frames_a_second\": {a_second:.0}}}")?;
    let begin = Instant::now();
    let written = file(frames)?;
    let seconds = begin.elapsed().as_secs_f64();
    writeln!(
        out,
        "{{\"kind\": \"write a file\", \"frames\": {frames}, \"bytes\": {written}, \"seconds\": {seconds:.3}}}"
    )
}

/// Writes a capture of this number of frames of a connection, as `penstock capture` does. Returns its size.
fn file(frames: usize) -> std::io::Result<u64> {
    let path = std::env::temp_dir().join(format!("penstock-{}.pcapng", std::process::id()));
    let ports = [Interface { name: "sw.0".into(), speed_bps: None }];
    let mut writer = Writer::new(BufWriter::new(File::create(&path)?), &ports).expect("a capture");
    let mut octets = Vec::with_capacity(2_048);
    let there = Ports { source: 49_152, destination: 4_791 };
    for number in 0..frames as u32 {
        let simulated = Simulated {
            kind: if number % 2 == 0 { Kind::Data } else { Kind::Ack },
            payload: wire::synthesis::Payload::Stream,
            flow: number % 1_000,
            source: number % 2,
            destination: 1 - number % 2,
            ports: if number % 2 == 0 {
                there
            } else {
                Ports { source: there.destination, destination: there.source }
            },
            priority: Pcp::new(3).expect("a priority"),
            bytes: if number % 2 == 0 { 1_522 } else { 64 },
            word: number,
            ecn: 2,
            dscp: 26,
            cn_tag: None,
            notification: None,
        };
        octets.clear();
        simulated.frame().expect("a legal frame").encode(&mut octets);
        let record =
            Record { direction: Some(Direction::Out), ..Record::new(0, u64::from(number) * 1_000, &octets) };
        writer.write(&record).expect("a frame");
    }
    writer.into_inner().flush()?;
    let written = std::fs::metadata(&path)?.len();
    std::fs::remove_file(path)?;
    Ok(written)
}

/// Returns the frames per second of the fastest tenth of the batches.
fn best(frames: usize, mut batch: impl FnMut()) -> f64 {
    let mut seconds: Vec<f64> = (0..frames.div_ceil(BATCH).max(10))
        .map(|_| {
            let begin = Instant::now();
            batch();
            begin.elapsed().as_secs_f64()
        })
        .collect();
    seconds.sort_by(f64::total_cmp);
    BATCH as f64 / seconds[seconds.len() / 10]
}
