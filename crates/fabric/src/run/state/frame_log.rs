//! A log of the frames that pass selected ports.
//!
//! When a frame leaves a port, its arrival time at the other end is known as well, so the sender writes both rows. Each
//! log keeps the first rows by time, regardless of the writing thread. Sampling uses a hash of the frame's identity, so
//! that a frame is logged at all of its ports or at none.

use crate::run::state::index::PortIx;
use crate::run::state::losses::Cause;
use crate::run::state::own::NodeLocal;
use frame::{Frame, Notice, PathId};
use units::Time;

/// Event in the life of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Happened {
    /// Its last bit has arrived.
    Arrived,
    /// Its first bit is sent.
    Sent,
    /// The frame is lost; a lost pause has no cause.
    Dropped(Option<Cause>),
}

/// A frame at a port.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub time: Time,
    /// Port number in the whole fabric.
    pub port: u32,
    /// True at ingress.
    pub inward: bool,
    pub happened: Happened,
    /// The frame; its word is the payload, even for a wide frame. A pause frame has the path [`PAUSE`], and XOFF, XON
    /// and quanta in its word.
    pub frame: Frame,
    /// True for a frame in the direction of the sender of its flow.
    pub back: bool,
    /// Index of its connection, if several share its path.
    pub connection: u32,
    /// Bytes that a READ requests.
    pub requested: u32,
    /// The label of its operation, see [`frame::Header::operation`].
    pub operation: u8,
    /// The flow number of its CN-TAG.
    pub cn_tag: Option<u16>,
    /// Contents of a congestion message.
    pub notice: Option<Notice>,
}

/// Sort key of rows, arrivals first. Keys of two rows are equal only if nothing distinguishes the frames.
type Key = (Time, bool, u32, Happened, u32, Time, u32, u16);

/// A log: its limits and its rows.
#[derive(Debug)]
pub(crate) struct Log {
    start: Time,
    most: usize,
    one_in: u64,
    rows: Vec<Row>,
    /// Key of the last of the first rows, once there are enough rows.
    last: Option<Key>,
}

/// A logged port: its number in the whole fabric and its log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LoggedPort {
    pub number: u32,
    pub log: Option<u32>,
}

/// Path of pause frames.
pub(in crate::run) const PAUSE: PathId = PathId(u32::MAX);

/// A port, or the port at the other end of its link.
#[derive(Clone, Copy, Debug)]
pub(in crate::run) enum End {
    Near,
    Far,
}

/// The logs of a part.
#[derive(Debug)]
pub(crate) struct FrameLog {
    /// By port, its own log and that of its other end.
    pub ports: NodeLocal<PortIx, [LoggedPort; 2]>,
    pub logs: Vec<Log>,
}

impl Row {
    /// Returns the sort key of the row.
    pub fn key(&self) -> Key {
        let Frame { path, created, word, bytes, .. } = self.frame;
        (self.time, !self.inward, self.port, self.happened, path.0, created, word, bytes)
    }

    /// Returns true for a pause frame.
    pub fn is_pause(&self) -> bool {
        self.frame.path == PAUSE
    }
}

impl Log {
    pub fn new(start: Time, most: usize, one_in: u64) -> Log {
        Log { start, most, one_in, rows: Vec::new(), last: None }
    }

    fn push(&mut self, row: Row) {
        if row.time < self.start || !row.is_pause() && !is_chosen(&row.frame, self.one_in) {
            return;
        }
        if self.rows.len() >= 2 * self.most {
            self.rows.select_nth_unstable_by_key(self.most - 1, Row::key);
            self.rows.truncate(self.most);
            self.last = self.rows.last().map(Row::key);
        }
        if self.last.is_none_or(|last| row.key() <= last) {
            self.rows.push(row);
        }
    }

    /// Merges the first rows of a log from several parts, up to `end`.
    pub fn first_rows<'a>(parts: impl Iterator<Item = &'a Log>, end: Time) -> Vec<Row> {
        let mut most = 0;
        let mut rows: Vec<Row> = Vec::new();
        for part in parts {
            most = part.most;
            rows.extend(part.rows.iter().filter(|row| row.time <= end));
        }
        rows.sort_by_key(Row::key);
        rows.truncate(most);
        rows
    }
}

/// Returns true if a frame is sampled, by a hash of its creation time and path. Hash function: Steele, Lea and Flood
/// 2014, "Fast splittable pseudorandom number generators", figure 19.
fn is_chosen(frame: &Frame, one_in: u64) -> bool {
    let mut hash = frame.created.ps().wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ u64::from(frame.path.0);
    hash = (hash ^ hash >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash = (hash ^ hash >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    (hash ^ hash >> 33).is_multiple_of(one_in)
}

impl FrameLog {
    /// Writes a row at a port, or at its other end.
    pub(in crate::run) fn write(&mut self, port: PortIx, end: End, row: Row) {
        let LoggedPort { number, log } = self.ports[port][end as usize];
        if let Some(log) = log {
            self.logs[log as usize].push(Row { port: number, ..row });
        }
    }

    /// Removes the row of an announced arrival at the other end of a port that does not take place.
    pub fn take_back(&mut self, port: PortIx, arrives: Time) {
        let LoggedPort { number, log } = self.ports[port][End::Far as usize];
        let Some(log) = log else { return };
        let rows = &mut self.logs[log as usize].rows;
        let is_it = |row: &Row| (row.time, row.port, row.happened) == (arrives, number, Happened::Arrived);
        if rows.last().is_some_and(is_it) {
            rows.pop();
        }
    }

    pub fn memory_bytes(&self) -> usize {
        self.ports.memory_bytes()
            + self.logs.iter().map(|log| log.rows.capacity() * size_of::<Row>()).sum::<usize>()
    }
}
