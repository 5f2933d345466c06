//! Captures: read frame by frame, as one JSON object each; written from complete frames, or from the log of a
//! simulation.

use frame::Ports;
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufReader, BufWriter, Write};
use wire::Frame;
use wire::capture::{CaptureError, Direction, Interface, Reader, Record, Writer};
use wire::ethernet::EthernetView;
use wire::synthesis::{Kind, Notification, Payload, Simulated, Verb};
use wire::{Error, Pcp};

/// Reads a capture frame by frame.
#[pyclass]
pub struct Capture {
    reader: Reader<BufReader<File>>,
    number: u64,
}

fn refused(error: CaptureError) -> PyErr {
    match error {
        CaptureError::Io(error) => PyOSError::new_err(error.to_string()),
        other => PyValueError::new_err(other.to_string()),
    }
}

#[pymethods]
impl Capture {
    /// Opens the file.
    #[new]
    fn open(path: &str) -> PyResult<Capture> {
        let reader = Reader::new(BufReader::new(File::open(path)?)).map_err(refused)?;
        Ok(Capture { reader, number: 0 })
    }

    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__(&mut self) -> PyResult<Option<String>> {
        let Some(record) = self.reader.next_record().map_err(refused)? else { return Ok(None) };
        let mut answer = described(&record);
        self.number += 1;
        answer["number"] = self.number.into();
        let port = self.reader.interfaces().get(record.interface as usize);
        answer["port"] = port.map_or_else(String::new, |port| port.name.clone()).into();
        Ok(Some(answer.to_string()))
    }
}

/// Returns the fields of a frame as JSON; for an invalid frame, the error, and its addresses if it has any.
fn described(record: &Record<'_>) -> Value {
    let mut answer = json!({
        "number": 0,
        "time_ns": record.time_ns,
        "port": "",
        "direction": record.direction,
        "comment": record.comment,
        "bytes": record.len,
    });
    let captured = record.bytes.len();
    let is_cut = (captured as u64) < record.len.into();
    let frame = match &record.other_link {
        Some(link) => Err(format!("of {link}, not Ethernet")),
        None if is_cut => Frame::decode_cut(&record.bytes)
            .map_err(|error| format!("the capture has only its first {captured} B: {error}")),
        None => Frame::decode(&record.bytes).map_err(|error| error.to_string()),
    };
    if is_cut {
        answer["captured_bytes"] = captured.into();
    }
    let view = EthernetView::new(&record.bytes).ok().filter(|_| record.other_link.is_none());
    answer["destination"] = json!(view.map(|view| view.destination()));
    answer["source"] = json!(view.map(|view| view.source()));
    match frame {
        Ok(frame) => {
            answer["service"] = json!(frame.service);
            answer["vlan"] = json!(frame.vlan);
            answer["flow"] = json!(frame.flow);
            let cut = if is_cut { format!("; cut, {captured} of {} B", record.len) } else { String::new() };
            answer["what"] = format!("{}{cut}", frame.contents).into();
            answer["contents"] = json!(frame.contents);
        }
        Err(why) => answer["error"] = why.into(),
    }
    answer
}

/// A frame to write.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Seen {
    port: u32,
    time_ns: u64,
    direction: Option<String>,
    comment: Option<String>,
    frame: Vec<u8>,
}

fn begin(path: &str, ports: Vec<(String, Option<u64>)>) -> PyResult<Writer<BufWriter<File>>> {
    let of = |(name, speed_bps)| Interface { name, speed_bps };
    let interfaces: Vec<Interface> = ports.into_iter().map(of).collect();
    Writer::new(BufWriter::new(File::create(path)?), &interfaces).map_err(refused)
}

/// Writes frames as pcapng.
pub fn write(path: &str, ports: Vec<(String, Option<u64>)>, frames: &[Seen]) -> PyResult<()> {
    let mut writer = begin(path, ports)?;
    for seen in frames {
        let direction = match seen.direction.as_deref() {
            None => None,
            Some("in") => Some(Direction::In),
            Some("out") => Some(Direction::Out),
            Some(other) => {
                return Err(PyValueError::new_err(format!(
                    "direction is {other:?}; accepted are in and out"
                )));
            }
        };
        let comment = seen.comment.as_deref().map(Into::into);
        let record = Record { direction, comment, ..Record::new(seen.port, seen.time_ns, &seen.frame) };
        writer.write(&record).map_err(refused)?;
    }
    Ok(writer.into_inner().flush()?)
}

/// A column of unsigned integers of numpy, with one value per row.
struct Column(Vec<u64>);

impl<'a, 'py> FromPyObject<'a, 'py> for Column {
    type Error = PyErr;

    fn extract(numbers: Borrowed<'a, 'py, PyAny>) -> PyResult<Column> {
        PyBuffer::get(&numbers)?.to_vec(numbers.py()).map(Column)
    }
}

/// Values of the column `protocol`: FCoE, then UET.
const FCOE: u64 = 3;
const UET: u64 = 4;

/// Columns of the table `frames`. Names are given as indices into lists.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Log {
    kinds: Vec<String>,
    comments: Vec<String>,
    time_ps: Column,
    port: Column,
    outward: Column,
    comment: Column,
    kind: Column,
    protocol: Column,
    verb: Column,
    message_bytes: Column,
    flow: Column,
    source_port: Column,
    destination_port: Column,
    source: Column,
    destination: Column,
    priority: Column,
    bytes: Column,
    word: Column,
    ecn: Column,
    dscp: Column,
    cn_tag: Column,
    congestion_point: Column,
    offset: Column,
    delta: Column,
    sampled_kind: Column,
    sampled_priority: Column,
    sampled_bytes: Column,
    sampled_word: Column,
    octets: Column,
}

/// Writes the frames of a simulation as pcapng, with real headers.
pub fn write_log(path: &str, ports: Vec<(String, Option<u64>)>, log: &Log) -> PyResult<()> {
    let wrong = |why: String| PyValueError::new_err(why);
    let unknown = |name: &String| wrong(format!("frames of the kind {name} are not known"));
    let kinds: Vec<Kind> = log
        .kinds
        .iter()
        .map(|name| Kind::named(name).ok_or_else(|| unknown(name)))
        .collect::<PyResult<_>>()?;
    let mut writer = begin(path, ports)?;
    let mut octets = Vec::with_capacity(2_048);
    let mut next = 0;
    while next < log.time_ps.0.len() {
        let row = next;
        let kind = kinds[log.kind.0[row] as usize];
        next = end_of_frame(log, row, kind);
        let others = log.word.0[row + 1..next].iter().map(|&word| word as u32);
        let made = simulated(log, row, kind).and_then(|frame| frame.with_times(others));
        octets.clear();
        made.map_err(|error| wrong(format!("frame {}: {error}", row + 1)))?.encode(&mut octets);
        let comment = log.comments.get(log.comment.0[row] as usize).filter(|text| !text.is_empty());
        let record = Record {
            direction: Some(if log.outward.0[row] == 1 { Direction::Out } else { Direction::In }),
            comment: comment.map(|text| text.into()),
            ..Record::new(log.port.0[row] as u32, log.time_ps.0[row] / 1_000, &octets)
        };
        writer.write(&record).map_err(refused)?;
    }
    Ok(writer.into_inner().flush()?)
}

/// Returns the row after those of a frame: a PFC frame has one row per pause time.
fn end_of_frame(log: &Log, row: usize, kind: Kind) -> usize {
    let of = |row: usize| {
        let columns = [&log.time_ps, &log.port, &log.outward, &log.kind, &log.comment];
        columns.map(|column| column.0.get(row).copied())
    };
    let same = |other: usize| kind == Kind::Pfc && other < log.time_ps.0.len() && of(other) == of(row);
    (row + 1..).find(|&other| !same(other)).unwrap_or(row + 1)
}

/// Returns the frame of a row.
fn simulated(log: &Log, row: usize, kind: Kind) -> Result<Simulated, Error> {
    Ok(Simulated {
        kind,
        payload: payload(log, row),
        flow: log.flow.0[row] as u32,
        ports: Ports {
            source: log.source_port.0[row] as u16,
            destination: log.destination_port.0[row] as u16,
        },
        source: log.source.0[row] as u32,
        destination: log.destination.0[row] as u32,
        priority: Pcp::new(log.priority.0[row] as u8)?,
        bytes: log.bytes.0[row] as u16,
        word: log.word.0[row] as u32,
        ecn: log.ecn.0[row] as u8,
        dscp: log.dscp.0[row] as u8,
        cn_tag: log.cn_tag.0[row].checked_sub(1).map(|flow| flow as u16),
        notification: notification(log, row)?,
    })
}

/// Returns the kind of data in a frame.
fn payload(log: &Log, row: usize) -> Payload {
    let bytes = u32::try_from(log.message_bytes.0[row]).ok().filter(|&bytes| bytes > 0);
    match (log.protocol.0[row], log.verb.0[row]) {
        (FCOE, _) => Payload::FibreChannel,
        (UET, _) => Payload::Uet,
        (_, 1) => Payload::Message(Verb::Send, bytes),
        (_, 2) => Payload::Message(Verb::Write, bytes),
        (_, 3) => Payload::Message(Verb::Read, bytes),
        (_, 4) => Payload::Message(Verb::WriteWithImmediate, bytes),
        (_, 5) => Payload::Message(Verb::ReadRequest, bytes),
        _ => Payload::Stream,
    }
}

/// Returns the contents of a congestion notification message in the log; `None` without a congestion point.
fn notification(log: &Log, row: usize) -> Result<Option<Notification>, Error> {
    let congestion_point = log.congestion_point.0[row];
    let Some(kind) = log.kinds.get(log.sampled_kind.0[row] as usize).and_then(|name| Kind::named(name))
    else {
        return Ok(None);
    };
    Ok((congestion_point != 0).then_some(Notification {
        congestion_point,
        offset: log.offset.0[row] as i16,
        delta: log.delta.0[row] as i16,
        kind,
        priority: Pcp::new(log.sampled_priority.0[row] as u8)?,
        bytes: log.sampled_bytes.0[row] as u16,
        word: log.sampled_word.0[row] as u32,
        octets: log.octets.0[row] as u8,
    }))
}
