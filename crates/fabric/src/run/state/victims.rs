//! Victims of pauses: the flows with frames queued at a port while it is paused.
//!
//! No frame leaves a queue while it is paused. So the flows that are in the queue when a pause ends, with their arrival
//! times, are all that the pause has held back. This takes one reading of the queue per pause, and nothing for frames that
//! come or go. A reading covers the entries added since the last one, however long the queue: [`Line`]. Endpoints in the
//! wait queue of a paused class of a NIC count as well, though their frames are not made yet; for a rate limiter in the wait
//! queue, the flow of its next frame counts.
//!
//! A flow that is queued at a port from one pause to the next is one entry in total: [`BlockedFlow`].
//!
//! A wait of a bypass queue holds back the frames in that queue, and the entries of a NIC's wait queues whose frames would
//! join it. A frame counts from its arrival at the queue of its class, in which it may have waited behind ordered ones
//! first.
//!
//! Not modelled: frames that a watchdog drops or sends in spite of a pause are no longer there when it ends.

use crate::run::state::index::SlotIx;
use crate::run::state::pool::{List, Pool};
use crate::run::state::probes::Stopped;
use frame::{CHANNELS, Priority};
use recurrence::{Counts, Growth};
use std::collections::BTreeMap;
use std::sync::Arc;
use units::Time;

/// A flow with frames queued at a port from one of its pauses to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockedFlow {
    pub flow: u32,
    /// The pauses of the port and priority, counted from 0 in the order of time.
    pub first: u32,
    pub last: u32,
    /// Arrival of the flow, in the time of the whole run, if that was after the first of them had begun.
    pub since: Time,
}

/// A port and a priority that have been paused.
#[derive(Debug, Default)]
pub(crate) struct PausedPlace {
    /// Pauses that have ended.
    pub(in crate::run) pauses: u32,
    /// Flows that were queued there in the last of them, by flow, and those that had gone before.
    pub(in crate::run) standing: Vec<BlockedFlow>,
    gone: Vec<BlockedFlow>,
    pub(in crate::run) line: Line,
}

/// A queue that is one list, as of its last reading. Frames leave it in order, so that departed ones are counted, not read.
/// Frames are numbered in the order in which they were read.
#[derive(Debug)]
pub(in crate::run) struct Line {
    /// Numbers of the first frame that was there, and of the next one to be read.
    pub(in crate::run) first: u64,
    next: u64,
    /// The last frame that was read: its slot, and since when it waits.
    pub(in crate::run) last: Option<SlotIx>,
    pub(in crate::run) since: Time,
    /// For a bypass queue, the number of frames that had left it, or were in it up to that frame, modulo 2^32.
    passed: u32,
    pub(in crate::run) flows: Vec<InLine>,
}

/// A list as a reading finds it.
pub(in crate::run) struct Found<'a> {
    pub(in crate::run) list: &'a List,
    pub(in crate::run) frames: u64,
    /// For a bypass queue, the number of frames that have left it, modulo 2^32.
    pub(in crate::run) left: Option<u32>,
}

/// A flow in a line.
#[derive(Clone, Copy, Debug)]
pub(in crate::run) struct InLine {
    pub(in crate::run) flow: u32,
    pub(in crate::run) priority: Priority,
    /// When the first of its frames arrived, or an earlier one that was queued from reading to reading.
    pub(in crate::run) since: Time,
    /// When the first frame of this reading arrived.
    fresh: Time,
    /// Its last frame before this reading, and with it.
    before: u64,
    pub(in crate::run) last: u64,
}

/// Entries found in this reading, and their order.
#[derive(Debug, Default)]
pub(in crate::run) struct Seen {
    pub(in crate::run) look: u32,
    /// By number, the last reading with it, and its place in that reading.
    pub(in crate::run) last: Vec<(u32, u32)>,
}

/// All paused ports of a part of the fabric.
#[derive(Debug, Default)]
pub(crate) struct Victims {
    /// By path.
    pub(in crate::run) flows: Arc<[u32]>,
    pub(in crate::run) places: BTreeMap<Stopped, PausedPlace>,
    /// Scratch: flows with frames in a queue, and since when. Entries found, by flow, and by flow and priority in a line.
    pub(in crate::run) present: Vec<(u32, Time)>,
    pub(in crate::run) seen: Seen,
    pub(in crate::run) in_line: Seen,
}

impl Seen {
    pub(in crate::run) fn begin(&mut self) {
        self.look += 1;
    }

    /// Returns the place of a number in this reading; `next` if it is new.
    pub(in crate::run) fn place(&mut self, number: usize, next: usize) -> usize {
        if self.last.len() <= number {
            self.last.resize(number + 1, (0, 0));
        }
        let last = &mut self.last[number];
        if last.0 != self.look {
            *last = (self.look, next as u32);
        }
        last.1 as usize
    }
}

impl Default for Line {
    fn default() -> Line {
        Line { first: 0, next: 0, last: None, since: Time::ZERO, passed: 0, flows: Vec::new() }
    }
}

impl Line {
    /// Records the flows that have joined a list of this many frames, until `end`, and those that have left; `flows` has the
    /// flow of each path.
    pub(in crate::run) fn advance(
        &mut self,
        Found { list, frames, left }: Found<'_>,
        pool: &Pool,
        end: Time,
        flows: &[u32],
        seen: &mut Seen,
    ) {
        seen.begin();
        for (at, one) in self.flows.iter_mut().enumerate() {
            (one.before, one.fresh) = (one.last, Time::NEVER);
            seen.place(number(one.flow, one.priority), at);
        }
        let stands = self.last.filter(|_| {
            !list.is_empty()
                && match left {
                    // Frames that arrived after the last reading are later than all that it read.
                    None => pool.first(list).since <= self.since,
                    // Two frames that arrived at the same time may have entered the bypass queue one after the other.
                    Some(left) => (left.wrapping_sub(self.passed) as i32) < 0,
                }
        });
        let (unread, mut behind, mut read) = (self.next, 0, 0);
        let next = match stands {
            Some(last) => pool.behind(last),
            None => list.head(),
        };
        for (slot, one) in pool.from(next) {
            behind += 1;
            if one.since < end {
                let (flow, priority) = (flows[one.frame.path.at()], one.frame.priority());
                self.read(flow, priority, one.since, seen.place(number(flow, priority), self.flows.len()));
                (self.last, self.since) = (Some(slot), one.since);
                read = behind;
            }
        }
        if let Some(left) = left
            && read > 0
        {
            self.passed = left.wrapping_add((frames - behind + read) as u32);
        }
        self.first = unread - (frames - behind);
        let first = self.first;
        self.flows.retain_mut(|one| {
            if one.before < first {
                one.since = one.fresh;
            }
            one.last >= first
        });
    }

    /// The next frame is of this flow, which is the `at`-th in the line.
    fn read(&mut self, flow: u32, priority: Priority, since: Time, at: usize) {
        let last = self.next;
        self.next += 1;
        if at == self.flows.len() {
            self.flows.push(InLine { flow, priority, since, fresh: since, before: last, last });
        }
        let one = &mut self.flows[at];
        (one.fresh, one.last) = (one.fresh.min(since), last);
    }
}

/// The number of a flow and a priority that it sends at.
pub(in crate::run) fn number(flow: u32, priority: Priority) -> usize {
    flow as usize * CHANNELS + usize::from(priority.0)
}

impl PausedPlace {
    /// Records another ended pause, which began at `start`, with the flows then queued, sorted. `left_out`: time of the periods that were
    /// left out before.
    pub(in crate::run) fn ended(&mut self, start: Time, present: &[(u32, Time)], left_out: Time) {
        let number = self.pauses;
        self.pauses += 1;
        let old = std::mem::take(&mut self.standing);
        let mut old = old.into_iter().peekable();
        for &(flow, since) in present {
            while let Some(other) = old.next_if(|held| held.flow < flow) {
                self.gone.push(other);
            }
            let before = old.next_if(|held| held.flow == flow);
            match before {
                Some(held) if since <= start => self.standing.push(BlockedFlow { last: number, ..held }),
                _ => {
                    self.gone.extend(before);
                    let since = since + left_out;
                    self.standing.push(BlockedFlow { flow, first: number, last: number, since });
                }
            }
        }
        self.gone.extend(old);
    }

    /// The pauses and flows so far, as of the beginning of a period.
    fn so_far(&self) -> (u32, usize) {
        (self.pauses, self.gone.len())
    }

    /// Adds the pauses and flows since then as often as there are periods.
    fn repeat(&mut self, (pauses, gone): (u32, usize), periods: u64, period: Time) {
        let each = self.pauses - pauses;
        let later = |own: &BlockedFlow, nth: u64| {
            let more = each * nth as u32;
            BlockedFlow {
                first: own.first + more,
                last: own.last + more,
                since: own.since + period * nth,
                ..*own
            }
        };
        let own = self.gone[gone..].to_vec();
        self.gone.extend((1..=periods).flat_map(|nth| own.iter().map(move |one| later(one, nth))));
        for one in &mut self.standing {
            let shifted = later(one, periods);
            // A flow that was queued all the time is so in all periods.
            *one = if one.first < pauses { BlockedFlow { last: shifted.last, ..*one } } else { shifted };
        }
        self.pauses += each * periods as u32;
    }

    /// All flows that have been held back.
    pub fn held(&self) -> impl Iterator<Item = &BlockedFlow> {
        self.gone.iter().chain(&self.standing)
    }
}

impl Counts for Victims {
    fn advance(&mut self, growth: &mut Growth) {
        let so_far: BTreeMap<_, _> = self.places.iter().map(|(&at, own)| (at, own.so_far())).collect();
        let Some((before, periods)) = growth.kept(&so_far) else { return };
        for (at, own) in &mut self.places {
            own.repeat(before.get(at).copied().unwrap_or_default(), periods, growth.period());
        }
    }
}

impl Victims {
    /// Creates the state without victims; `flows` has the flow of each path.
    pub fn new(flows: Arc<[u32]>) -> Victims {
        Victims { flows, ..Victims::default() }
    }

    /// Starts with no flows queued.
    pub(in crate::run) fn begin(&mut self) {
        self.seen.begin();
        self.present.clear();
    }

    /// Records that a flow is queued there since then; the earliest time counts.
    pub(in crate::run) fn stands(&mut self, flow: u32, since: Time) {
        let at = self.seen.place(flow as usize, self.present.len());
        if at == self.present.len() {
            self.present.push((flow, since));
        }
        self.present[at].1 = self.present[at].1.min(since);
    }

    /// Flows that were queued at the paused ports of this part.
    pub fn places(&self) -> impl Iterator<Item = (Stopped, &PausedPlace)> {
        self.places.iter().map(|(&place, state)| (place, state))
    }

    /// Bytes of all of them.
    pub fn memory_bytes(&self) -> usize {
        let of = |place: &PausedPlace| {
            size_of::<(Stopped, PausedPlace)>()
                + (place.standing.capacity() + place.gone.capacity()) * size_of::<BlockedFlow>()
                + place.line.flows.capacity() * size_of::<InLine>()
        };
        let seen = self.seen.last.capacity() + self.in_line.last.capacity();
        self.places.values().map(of).sum::<usize>() + seen * size_of::<(u32, u32)>()
    }
}
