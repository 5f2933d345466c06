//! Transfers: numbers of bytes from one host to another, each with a start and an end, many at the same time.
//!
//! A source has a list of transfers in columns. It sends those that have begun and have bytes left as fast as its NIC
//! takes frames, either in turn, one frame each, or one transfer after the other. A transfer of N bytes is N bytes
//! without headers: each frame carries a header and as many bytes as fit; the last frame carries the remainder. A list
//! is independent of the transport.

use crate::source::Made;
use frame::Ports;
use rand_xoshiro::rand_core::Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use units::Time;

/// Which of a source's transfers sends the next frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ServiceOrder {
    /// Each in turn, a frame at a time.
    #[default]
    RoundRobin,
    /// The one that began first, to its end.
    Fifo,
}

/// Segmentation of transfers into frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Framing {
    /// Length of a full frame, DA to FCS.
    pub frame: u16,
    /// Bytes of each frame that do not belong to the transfer; below `frame`.
    pub header: u16,
}

impl Framing {
    /// Returns the bytes of a transfer in a full frame.
    pub fn payload(self) -> u16 {
        self.frame - self.header
    }
    /// Returns the number of frames of a transfer of `bytes` bytes.
    pub fn frames(self, bytes: u64) -> u64 {
        bytes.div_ceil(self.payload().into())
    }
    /// Returns the length of a frame with `bytes` bytes of a transfer, at most [`Framing::payload`]. The frame is
    /// padded to the smallest Ethernet frame, unless full frames are shorter.
    pub fn frame_of(self, bytes: u16) -> u16 {
        (self.header + bytes).max(self.frame.min(frame::MIN_FRAME_BYTES))
    }
    /// Returns the length of the last frame of a transfer of `bytes` bytes.
    pub fn last_frame(self, bytes: u64) -> u16 {
        let full = u64::from(self.payload());
        self.frame_of((bytes - (self.frames(bytes) - 1) * full) as u16)
    }
    /// Returns the bytes of all frames of a transfer, DA to FCS.
    pub fn frame_bytes(self, bytes: u64) -> u64 {
        (self.frames(bytes) - 1) * u64::from(self.frame) + u64::from(self.last_frame(bytes))
    }
}

/// A transfer of bytes to one destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Start time; [`Time::NEVER`] if the transfer waits to be released.
    pub start: Time,
    /// Index into [`crate::Destinations::nodes`].
    pub destination: u32,
    /// Bytes to transfer, at least one.
    pub bytes: u64,
    /// Ports of the transfer; ports of 0 are drawn.
    pub ports: Ports,
}

/// A transfer to a known destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Due {
    /// Start time; [`Time::NEVER`] if the transfer waits to be released.
    pub start: Time,
    /// Bytes to transfer, at least one.
    pub bytes: u64,
    /// Ports that the connection has to use; a source port of 0 stands for any port.
    pub ports: Ports,
    /// True if other transfers wait for the end of this one.
    pub awaited: bool,
}

/// The transfers of one source in order of start time, as columns: 24 bytes per transfer. Transfers that wait to be
/// released are last.
#[derive(Clone, PartialEq)]
pub struct TransferList {
    framing: Framing,
    order: ServiceOrder,
    starts: Vec<Time>,
    destinations: Vec<u32>,
    bytes: Vec<u64>,
    ports: Vec<Ports>,
    /// Ids of the transfers in the file, up to the last transfer with an id.
    ids: Vec<Option<Box<str>>>,
    /// True if some source ports are not given and have to be drawn.
    draws: bool,
    frame_bytes: u64,
    /// Lengths of the shortest and of the longest frame.
    bounds: (u16, u16),
}

impl TransferList {
    /// Creates an empty list.
    pub fn new(framing: Framing, order: ServiceOrder) -> TransferList {
        let (starts, destinations, bytes, ports) = Default::default();
        let bounds = (framing.frame, framing.frame_of(1));
        TransferList {
            framing,
            order,
            starts,
            destinations,
            bytes,
            ports,
            ids: Vec::new(),
            draws: false,
            frame_bytes: 0,
            bounds,
        }
    }
    /// Appends a transfer, which must not begin before the last one.
    pub fn push(&mut self, transfer: Transfer) {
        debug_assert!(self.starts.last().is_none_or(|&last| last <= transfer.start) && transfer.bytes > 0);
        self.starts.push(transfer.start);
        self.destinations.push(transfer.destination);
        self.bytes.push(transfer.bytes);
        self.ports.push(transfer.ports);
        self.draws |= transfer.ports.source == 0;
        self.frame_bytes += self.framing.frame_bytes(transfer.bytes);
        let (shortest, longest) = self.bounds;
        let last = self.framing.last_frame(transfer.bytes);
        let most = if transfer.bytes > u64::from(self.framing.payload()) { self.framing.frame } else { last };
        self.bounds = (shortest.min(last), longest.max(most));
    }
    /// Sets the id of the last transfer; an empty id has no effect.
    pub fn name_last(&mut self, id: &str) {
        if !id.is_empty() {
            self.ids.resize(self.len() - 1, None);
            self.ids.push(Some(id.into()));
        }
    }
    /// Returns the id of a transfer; empty if it has none.
    pub fn id(&self, row: usize) -> &str {
        self.ids.get(row).and_then(Option::as_deref).unwrap_or_default()
    }
    /// Replaces each destination n by `numbers[n]`.
    pub fn renumber(&mut self, numbers: &[u32]) {
        self.destinations.iter_mut().for_each(|destination| *destination = numbers[*destination as usize]);
    }
    /// Draws the ports that are not given. There is one draw per transfer, so that giving one port does not change
    /// those of other transfers.
    pub fn draw_ports(&mut self, random: &mut impl Rng) {
        self.ports.iter_mut().for_each(|ports| *ports = ports.or_drawn(random.next_u64()));
    }
    /// Returns true if source ports are drawn.
    pub fn draws_ports(&self) -> bool {
        self.draws
    }
    /// Replaces the destination of each transfer by `number(transfer)`.
    pub fn renumber_each(&mut self, number: impl FnMut(Transfer) -> u32) {
        self.destinations = self.iter().map(number).collect();
    }
    /// Returns the number of transfers.
    pub fn len(&self) -> usize {
        self.starts.len()
    }
    /// Returns true if there are no transfers.
    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }
    /// Returns the transfer in this row.
    pub fn get(&self, row: usize) -> Option<Transfer> {
        let (&start, &destination) = self.starts.get(row).zip(self.destinations.get(row))?;
        Some(Transfer { start, destination, bytes: *self.bytes.get(row)?, ports: *self.ports.get(row)? })
    }
    /// Iterates over all transfers, in order.
    pub fn iter(&self) -> impl Iterator<Item = Transfer> + Clone + '_ {
        (0..self.len()).filter_map(|row| self.get(row))
    }
    /// Groups the transfers by destination, in order.
    pub fn by_destination(&self, destinations: usize) -> Vec<Vec<Due>> {
        let mut counts = vec![0; destinations];
        self.destinations.iter().for_each(|&destination| counts[destination as usize] += 1);
        let mut lists: Vec<Vec<Due>> = counts.into_iter().map(Vec::with_capacity).collect();
        for Transfer { start, destination, bytes, ports } in self.iter() {
            let ports = if self.draws { Ports::default() } else { ports };
            lists[destination as usize].push(Due { start, bytes, ports, awaited: false });
        }
        lists
    }
    /// Returns the segmentation of the transfers into frames.
    pub fn framing(&self) -> Framing {
        self.framing
    }
    /// Returns the bytes of all frames, DA to FCS.
    pub fn frame_bytes(&self) -> u64 {
        self.frame_bytes
    }
    /// Returns the length of the shortest and of the longest frame.
    pub fn frame_bounds(&self) -> (u16, u16) {
        self.bounds
    }
}

/// Prints a short summary with a hash. A scenario may have millions of transfers, and the debug output of scenarios is
/// hashed.
impl fmt::Debug for TransferList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut hash = DefaultHasher::new();
        (&self.starts, &self.destinations, &self.bytes, &self.ports).hash(&mut hash);
        let (framing, order) = (self.framing, self.order);
        write!(f, "{} transfers {framing:?} {order:?} {:016x}", self.len(), hash.finish())
    }
}

/// The state of a source's transfers during a run.
#[derive(Clone, Debug)]
pub(crate) struct Sender {
    list: Arc<TransferList>,
    /// Number of transfers that have begun: the first rows of the list.
    begun: usize,
    /// Transfers that have begun and have bytes left; the next one to send is first.
    active: VecDeque<Active>,
    /// By destination: number of transfers that have begun.
    begun_to: Vec<u32>,
    padding: u64,
}

#[derive(Clone, Copy, Debug)]
struct Active {
    left: u64,
    destination: u32,
    /// Number of the transfer among those to the same destination.
    nth: u32,
}

impl Sender {
    pub(crate) fn new(list: Arc<TransferList>, destinations: usize) -> Sender {
        Sender { list, begun: 0, active: VecDeque::new(), begun_to: vec![0; destinations], padding: 0 }
    }

    /// Returns the start of the next transfer; [`Time::NEVER`] after the last.
    pub(crate) fn next_start(&self) -> Time {
        self.list.starts.get(self.begun).copied().unwrap_or(Time::NEVER)
    }

    /// Begins the transfers that are due.
    pub(crate) fn begin(&mut self, now: Time) {
        let is_due = |next: &Transfer| next.start <= now && next.start < Time::NEVER;
        while let Some(transfer) = self.list.get(self.begun).filter(is_due) {
            self.begun += 1;
            let nth = &mut self.begun_to[transfer.destination as usize];
            let Transfer { destination, bytes: left, .. } = transfer;
            self.active.push_back(Active { left, destination, nth: *nth });
            *nth += 1;
        }
    }

    /// Begins a waiting transfer. `row` is its row in the list, `nth` its number among the transfers to the same
    /// destination.
    pub(crate) fn release(&mut self, row: usize, nth: u32) {
        if let Some(Transfer { destination, bytes: left, .. }) = self.list.get(row) {
            self.active.push_back(Active { left, destination, nth });
        }
    }

    pub(crate) fn is_active(&self) -> bool {
        !self.active.is_empty()
    }

    /// Returns the destination of the next frame.
    pub(crate) fn next_destination(&self) -> u32 {
        self.active.front().map_or(0, |next| next.destination)
    }

    /// Returns the next frame.
    pub(crate) fn take(&mut self) -> Option<Made> {
        let framing = self.list.framing;
        let next = self.active.front_mut()?;
        let part = next.left.min(framing.payload().into()) as u16;
        next.left -= u64::from(part);
        let Active { left, destination, nth } = *next;
        match self.list.order {
            ServiceOrder::Fifo if left > 0 => {}
            ServiceOrder::Fifo => drop(self.active.pop_front()),
            ServiceOrder::RoundRobin if left > 0 => self.active.rotate_left(1),
            ServiceOrder::RoundRobin => drop(self.active.pop_front()),
        }
        let bytes = framing.frame_of(part);
        self.padding += u64::from(bytes - framing.header - part);
        Some(Made { bytes, destination, word: nth })
    }

    /// Returns the bytes of all frames so far that are neither headers nor bytes of transfers.
    pub(crate) fn padding(&self) -> u64 {
        self.padding
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAMING: Framing = Framing { frame: 1018, header: 18 };

    fn list(order: ServiceOrder, rows: &[(u64, u32, u64)]) -> TransferList {
        let mut list = TransferList::new(FRAMING, order);
        for &(us, destination, bytes) in rows {
            list.push(Transfer { start: Time::from_us(us), destination, bytes, ports: Ports::default() });
        }
        list
    }

    #[test]
    fn a_transfer_is_full_frames_and_what_is_left() {
        for (bytes, frames, last, all) in [
            (1, 1, 64, 64),
            (46, 1, 64, 64),
            (47, 1, 65, 65),
            (1000, 1, 1018, 1018),
            (1001, 2, 64, 1082),
            (2000, 2, 1018, 2036),
            (u64::from(u32::MAX), 4_294_968, 313, 4_294_967 * 1018 + 313),
        ] {
            assert_eq!((FRAMING.frames(bytes), FRAMING.last_frame(bytes)), (frames, last), "{bytes}");
            assert_eq!(FRAMING.frame_bytes(bytes), all, "{bytes}");
        }
        // Frames shorter than the Ethernet minimum are not padded.
        assert_eq!(Framing { frame: 32, header: 8 }.last_frame(25), 32);
    }

    #[test]
    fn a_list_knows_its_frames() {
        let one = list(ServiceOrder::Fifo, &[(0, 0, 100)]);
        assert_eq!((one.frame_bounds(), one.frame_bytes()), ((118, 118), 118));
        let two = list(ServiceOrder::Fifo, &[(0, 0, 100), (0, 0, 1010)]);
        assert_eq!((two.frame_bounds(), two.frame_bytes()), ((64, 1018), 118 + 1018 + 64));
        assert_ne!(format!("{one:?}"), format!("{two:?}"));
    }

    /// Returns every frame as (destination, transfer number, bytes).
    fn sent(order: ServiceOrder, rows: &[(u64, u32, u64)]) -> Vec<(u32, u32, u16)> {
        let mut sender = Sender::new(Arc::new(list(order, rows)), 2);
        let mut frames = Vec::new();
        while sender.next_start() != Time::NEVER || sender.is_active() {
            // One frame per microsecond.
            sender.begin(Time::from_us(frames.len() as u64));
            match sender.take() {
                Some(made) => frames.push((made.destination, made.word, made.bytes)),
                None => frames.push((9, 9, 0)),
            }
        }
        frames
    }

    #[test]
    fn in_turn_or_one_after_the_other() {
        let rows = [(0, 0, 2500), (1, 1, 1500), (1, 0, 10), (9, 0, 5)];
        let gap = (9, 9, 0);
        let fifo =
            [(0, 0, 1018), (0, 0, 1018), (0, 0, 518), (1, 0, 1018), (1, 0, 518), (0, 1, 64), gap, gap, gap];
        assert_eq!(sent(ServiceOrder::Fifo, &rows)[..9], fifo);
        // The second and third transfers begin before the first has its second turn.
        let turns =
            [(0, 0, 1018), (0, 0, 1018), (1, 0, 1018), (0, 1, 64), (0, 0, 518), (1, 0, 518), gap, gap, gap];
        assert_eq!(sent(ServiceOrder::RoundRobin, &rows)[..9], turns);
        for order in [ServiceOrder::Fifo, ServiceOrder::RoundRobin] {
            assert_eq!(sent(order, &rows)[9..], [(0, 2, 64)]);
        }
    }

    #[test]
    fn padding_is_counted() {
        let mut sender = Sender::new(Arc::new(list(ServiceOrder::Fifo, &[(0, 0, 1001), (0, 0, 46)])), 1);
        sender.begin(Time::ZERO);
        while sender.take().is_some() {}
        assert_eq!(sender.padding(), 45);
    }
}
