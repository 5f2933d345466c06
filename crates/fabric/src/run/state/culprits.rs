//! Flows with frames in the queues at which pauses begin.
//!
//! A root is a queue that no pause holds back and that fills a counter up to its watermark (`blame`, `pausing`); at a
//! host that reads too slowly, it is the receive buffer. From the decision to send XOFF until XON is due, the frames of
//! a root are counted by flow, each once: those in the queue at the start of the first of its pauses, and those that
//! arrive until the end of the last. Frames that passed the queue at other times are unrelated to these pauses.
//!
//! Not modelled: a pause that another queue prolongs is attributed to the first one at the port that it stops. Where
//! stations send no XON, the second queue may therefore be a root with culprits but without a pause of its own at that
//! time.
//!
//! No frame is counted while no pause is in force: the port then does not have the feature `BLAMED`.

use crate::run::state::index::{PortIx, QueueIx};
use crate::run::state::pool::Waiting;
use frame::Frame;
use recurrence::{Counts, Growth};
use std::collections::BTreeMap;
use std::sync::Arc;
use units::Time;

/// Maximum number of entries of a log before they are summed.
const LOG: usize = 1024;

/// Bits of a priority, or of the number of a channel.
const PRIORITY_BITS: u32 = 5;

/// Places where pauses begin. After the run, queues and ports are numbered in the whole fabric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum RootPlace<Queue = QueueIx, Port = PortIx> {
    /// An egress queue; `down`: its link was down when the pause was sent.
    Queue { queue: Queue, down: bool },
    /// The receive buffer of a host: the ingress port, and the group of priorities.
    Receiver { port: Port, group: u8 },
}

/// Frames queued at a root while pauses that it caused were in force.
#[derive(Debug, Default)]
pub(in crate::run) struct Root {
    /// Number of pauses in force.
    pub(in crate::run) pauses: u32,
    /// End of the last pause.
    pub(in crate::run) over: Time,
    /// Flow and priority of frames that are not summed yet.
    pub(in crate::run) log: Vec<u64>,
    /// Number of frames by flow and priority.
    pub(in crate::run) frames: Vec<(u64, u64)>,
}

/// All roots of a part of the fabric.
#[derive(Debug, Default)]
pub(crate) struct Culprits {
    /// Flow of each path.
    flows: Arc<[u32]>,
    pub(in crate::run) roots: BTreeMap<RootPlace, Root>,
    /// Pauses in force that begin at a root, sorted: the port through which each was sent, group of priorities or
    /// class, root.
    blames: Vec<(PortIx, u8, RootPlace)>,
    /// Scratch: roots without a pause in force.
    pub(in crate::run) free: Vec<RootPlace>,
}

impl Root {
    fn count(&mut self, flow: u32, priority: u8) {
        if self.log.len() == LOG {
            self.add_up();
        }
        self.log.push(u64::from(flow) << PRIORITY_BITS | u64::from(priority));
    }

    /// Sums the entries of the log and empties it.
    fn add_up(&mut self) {
        self.log.sort_unstable();
        for one in self.log.chunk_by(|a, b| a == b) {
            match self.frames.binary_search_by_key(&one[0], |entry| entry.0) {
                Ok(at) => self.frames[at].1 += one.len() as u64,
                Err(at) => self.frames.insert(at, (one[0], one.len() as u64)),
            }
        }
        self.log.clear();
    }
}

impl Counts for Culprits {
    fn advance(&mut self, growth: &mut Growth) {
        self.roots.values_mut().for_each(Root::add_up);
        let so_far: BTreeMap<_, _> = self.roots.iter().map(|(&at, root)| (at, root.frames.clone())).collect();
        let Some((before, periods)) = growth.kept(&so_far) else { return };
        for (at, root) in &mut self.roots {
            let before: BTreeMap<u64, u64> = before.get(at).into_iter().flatten().copied().collect();
            for (key, frames) in &mut root.frames {
                *frames += (*frames - before.get(key).copied().unwrap_or(0)) * periods;
            }
        }
    }
}

impl Culprits {
    /// Creates the state without roots; `flows` holds the flow of each path.
    pub fn new(flows: Arc<[u32]>) -> Culprits {
        Culprits { flows, ..Culprits::default() }
    }

    /// Counts a frame that has arrived at a place, if that is a root now.
    pub(in crate::run) fn entered(&mut self, place: RootPlace, frame: &Frame) {
        if let Some(root) = self.roots.get_mut(&place).filter(|root| root.pauses > 0) {
            root.count(self.flows[frame.path.at()], frame.priority().0);
        }
    }

    /// Counts the frames queued at a new root that have arrived since it was last one.
    pub(in crate::run) fn stand<'a>(&mut self, place: RootPlace, waiting: impl Iterator<Item = &'a Waiting>) {
        let Some(root) = self.roots.get_mut(&place) else { return };
        let over = root.over;
        for one in waiting.filter(|one| one.since >= over) {
            root.count(self.flows[one.frame.path.at()], one.frame.priority().0);
        }
    }

    /// Adds a pause of a root. Returns true if it is the first.
    pub(in crate::run) fn begin(&mut self, port: PortIx, group: u8, place: RootPlace) -> bool {
        let Err(at) = self.blames.binary_search(&(port, group, place)) else { return false };
        self.blames.insert(at, (port, group, place));
        let root = self.roots.entry(place).or_default();
        root.pauses += 1;
        root.pauses == 1
    }

    /// Ends the pauses sent through a port for a group or class, because of the queue `of` (`None`: of all queues).
    /// Stores the roots that have no pause left in `free`.
    pub(in crate::run) fn end(&mut self, port: PortIx, group: u8, of: Option<QueueIx>, now: Time) {
        self.free.clear();
        let mut at = self.blames.partition_point(|blame| (blame.0, blame.1) < (port, group));
        while let Some(&(of_port, of_group, place)) = self.blames.get(at)
            && (of_port, of_group) == (port, group)
        {
            if let (RootPlace::Queue { queue, .. }, Some(of)) = (place, of)
                && queue != of
            {
                at += 1;
                continue;
            }
            self.blames.remove(at);
            let Some(root) = self.roots.get_mut(&place) else { continue };
            root.pauses -= 1;
            if root.pauses == 0 {
                root.over = now;
                self.free.push(place);
            }
        }
    }

    /// Returns true if pauses of a root are in force.
    pub(in crate::run) fn in_force(&self, place: RootPlace) -> bool {
        self.roots.get(&place).is_some_and(|root| root.pauses > 0)
    }

    /// Number of frames at a root by flow and priority.
    pub fn frames(&self, place: RootPlace) -> BTreeMap<(u32, u8), u64> {
        let mut frames = BTreeMap::new();
        let Some(root) = self.roots.get(&place) else { return frames };
        let logged = root.log.iter().map(|&one| (one, 1));
        for (key, more) in root.frames.iter().copied().chain(logged) {
            *frames
                .entry(((key >> PRIORITY_BITS) as u32, key as u8 & ((1 << PRIORITY_BITS) - 1)))
                .or_default() += more;
        }
        frames
    }

    /// Bytes of heap memory.
    pub fn memory_bytes(&self) -> usize {
        let of = |root: &Root| {
            size_of::<(RootPlace, Root)>()
                + root.log.capacity() * size_of::<u64>()
                + root.frames.capacity() * size_of::<(u64, u64)>()
        };
        self.roots.values().map(of).sum::<usize>()
            + self.blames.capacity() * size_of::<(PortIx, u8, RootPlace)>()
    }
}
