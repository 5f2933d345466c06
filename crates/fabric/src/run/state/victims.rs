//! Victims of pauses: the flows with frames queued at a port while it is paused.
//!
//! No frame leaves a queue while it is paused. The flows in the queue when a pause ends, with their arrival times, are
//! therefore all that the pause has held back. This requires reading the queue once per pause, and no work for frames
//! that arrive or leave. A reading covers only the entries added since the previous one, however long the queue is:
//! [`Line`]. Endpoints in the wait queue of a paused class of a NIC count as well, although their frames are not
//! created yet; for a rate limiter in the wait queue, the flow of its next frame counts.
//!
//! A flow that is queued at a port from one pause to the next has a single entry: [`BlockedFlow`].
//!
//! A wait of a bypass queue holds back the frames in that queue, and the entries of a NIC's wait queues whose frames
//! would join it. A frame counts from its arrival at the queue of its class, in which it may first have waited behind
//! ordered ones.
//!
//! Not modelled: frames that a watchdog drops or sends in spite of a pause are no longer present when it ends.

use crate::run::state::index::SlotIx;
use crate::run::state::pool::{List, Pool};
use crate::run::state::probes::Stopped;
use frame::{CHANNELS, Priority};
use recurrence::{Counts, Growth};
use std::collections::BTreeMap;
use std::sync::Arc;
use units::Time;

/// A flow that had frames queued at a port in consecutive pauses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockedFlow {
    pub flow: u32,
    /// First pause of the port and priority, counted from 0 in the order of time. `last` is the last one.
    pub first: u32,
    pub last: u32,
    /// Arrival time of the flow in the whole run, if it arrived after the start of the first pause.
    pub since: Time,
}

/// A port and a priority that have been paused.
#[derive(Debug, Default)]
pub(crate) struct PausedPlace {
    /// Number of pauses that have ended.
    pub(in crate::run) pauses: u32,
    /// Flows queued in the last pause, sorted by flow. `gone` holds the flows that had left before.
    pub(in crate::run) standing: Vec<BlockedFlow>,
    gone: Vec<BlockedFlow>,
    pub(in crate::run) line: Line,
}

/// A queue with a single list, as of its last reading. Frames leave it in order, so departed frames are counted without
/// being read. Frames are numbered in the order of reading.
#[derive(Debug)]
pub(in crate::run) struct Line {
    /// Number of the first frame that was present. `next` is the number of the next frame to be read.
    pub(in crate::run) first: u64,
    next: u64,
    /// Slot of the last frame that was read. `since` is the start of its wait.
    pub(in crate::run) last: Option<SlotIx>,
    pub(in crate::run) since: Time,
    /// For a bypass queue, the number of frames up to that one that were in it or had left it, modulo 2^32.
    passed: u32,
    pub(in crate::run) flows: Vec<InLine>,
}

/// The present state of a list, for a reading.
pub(in crate::run) struct Found<'a> {
    pub(in crate::run) list: &'a List,
    pub(in crate::run) frames: u64,
    /// For a bypass queue, the number of frames that have left it, modulo 2^32.
    pub(in crate::run) left: Option<u32>,
}

/// A flow in the queue.
#[derive(Clone, Copy, Debug)]
pub(in crate::run) struct InLine {
    pub(in crate::run) flow: u32,
    pub(in crate::run) priority: Priority,
    /// Arrival of its first frame, or of an earlier one since which the flow has been queued at every reading.
    pub(in crate::run) since: Time,
    /// Arrival of its first frame in this reading.
    fresh: Time,
    /// Number of its last frame before this reading. `last` includes this reading.
    before: u64,
    pub(in crate::run) last: u64,
}

/// Index of the entries found in the current reading.
#[derive(Debug, Default)]
pub(in crate::run) struct Seen {
    pub(in crate::run) look: u32,
    /// By number, the last reading that found it, and its index in that reading.
    pub(in crate::run) last: Vec<(u32, u32)>,
}

/// All paused ports of a part of the fabric.
#[derive(Debug, Default)]
pub(crate) struct Victims {
    /// Flow of each path.
    pub(in crate::run) flows: Arc<[u32]>,
    pub(in crate::run) places: BTreeMap<Stopped, PausedPlace>,
    /// Scratch: flows with frames in a queue, with the start of their wait. `seen` indexes entries by flow, `in_line`
    /// by flow and priority in the queue.
    pub(in crate::run) present: Vec<(u32, Time)>,
    pub(in crate::run) seen: Seen,
    pub(in crate::run) in_line: Seen,
}

impl Seen {
    pub(in crate::run) fn begin(&mut self) {
        self.look += 1;
    }

    /// Returns the index of a number in this reading; `next` if it is new.
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
    /// Records the flows that have joined a list of this many frames until `end`, and those that have left; `flows`
    /// holds the flow of each path.
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
                    // Frames that arrived after the last reading are later than all frames that it read.
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

    /// Reads the next frame, which belongs to this flow, the `at`-th in the queue.
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

/// The index of a flow with a priority at which it sends.
pub(in crate::run) fn number(flow: u32, priority: Priority) -> usize {
    flow as usize * CHANNELS + usize::from(priority.0)
}

impl PausedPlace {
    /// Records another ended pause, which began at `start`, with the flows then queued, sorted. `left_out`: total time
    /// of the periods skipped before.
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

    /// Number of pauses and flows so far, recorded at the start of a period.
    fn so_far(&self) -> (u32, usize) {
        (self.pauses, self.gone.len())
    }

    /// Repeats the pauses and flows since then for each skipped period.
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
            // A flow that was queued throughout the period is queued throughout all of them.
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

    /// Records that a flow has been queued since this time; the earliest time counts.
    pub(in crate::run) fn stands(&mut self, flow: u32, since: Time) {
        let at = self.seen.place(flow as usize, self.present.len());
        if at == self.present.len() {
            self.present.push((flow, since));
        }
        self.present[at].1 = self.present[at].1.min(since);
    }

    /// The paused ports of this part, with the flows that were queued there.
    pub fn places(&self) -> impl Iterator<Item = (Stopped, &PausedPlace)> {
        self.places.iter().map(|(&place, state)| (place, state))
    }

    /// Bytes of heap memory.
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
