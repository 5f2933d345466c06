//! Sources and the network card they send through.

use crate::event::{Event, Kind, Queued};
use crate::pool::NIL;
use crate::world::Fabric;
use frame::{Frame, PathId, Priority};
use units::{Amount, Time};
use workload::{Made, Source, Wake};

/// A source and its place.
#[derive(Debug)]
pub(crate) struct SourceState {
    pub source: Source,
    /// Paths are numbered from here, one a destination.
    pub first_path: u32,
    pub priority: Priority,
    /// The queue that holds the source back, and at which level; `None`: nothing does.
    pub held_back_by: Option<(u32, Amount)>,
    /// How many frames a greedy source keeps in the network card, and how many of its frames are there.
    pub keeps: u32,
    pub in_card: u32,
    pub frames: u64,
    pub bytes: u64,
}

impl Fabric {
    /// The time of a source has come.
    pub fn source_due(&mut self, source: u32, now: Time, windows: &mut Queued) {
        loop {
            let state = &self.sources[source as usize];
            if let Some((queue, limit)) = state.held_back_by
                && !state.source.is_greedy()
                && self.queues[queue as usize].occupancy.reaches(limit)
            {
                let egress = self.hops[self.path_start[state.first_path as usize] as usize];
                self.lines[egress as usize].blocked.push_back(source);
                return;
            }
            match self.sources[source as usize].source.wake(now) {
                Wake::Nothing => {}
                Wake::Emit(made) => self.submit(source, made, now, windows),
                Wake::Fill => {
                    for _ in 0..self.sources[source as usize].keeps {
                        self.refill(source, now, windows);
                    }
                }
            }
            match self.sources[source as usize].source.next_wake() {
                Some(at) if at <= now => {}
                Some(at) => {
                    let place = self.ports.len() as u32 + source;
                    windows.push(Event::bare(Kind::Source, at, place));
                    return;
                }
                None => return,
            }
        }
    }

    /// A source hands a frame to its network card (or, as an ideal injector, to its switch).
    #[inline(always)]
    fn submit(&mut self, source: u32, made: Made, now: Time, windows: &mut Queued) {
        let state = &mut self.sources[source as usize];
        state.frames += 1;
        state.bytes += u64::from(made.bytes);
        self.ledger.made += 1;
        let path = state.first_path + made.destination;
        let start = self.path_start[path as usize];
        let frame = Frame {
            born: now,
            path: PathId(path),
            next_hop: start + 1,
            bytes: made.bytes,
            priority: state.priority,
        };
        self.forward(self.hops[start as usize], frame, NIL, now, windows);
    }

    /// A greedy source keeps a frame or two in the network card.
    #[inline(never)]
    pub fn refill(&mut self, source: u32, now: Time, windows: &mut Queued) {
        let state = &mut self.sources[source as usize];
        if state.in_card < state.keeps
            && let Some(made) = state.source.take(now)
        {
            state.in_card += 1;
            self.submit(source, made, now, windows);
        }
    }

    /// The network card was full and the frame is gone: a greedy source tries again when one has left.
    pub fn card_refused(&mut self, egress: u32, frame: &Frame) {
        let source = self.path_source[frame.path.at()];
        let state = &mut self.sources[source as usize];
        if state.source.is_greedy() {
            state.in_card -= 1;
            self.lines[egress as usize].blocked.push_back(source);
        }
    }

    /// A frame has left a network card: whoever waited for that acts.
    #[inline(always)]
    pub fn feed(&mut self, egress: u32, frame: &Frame, now: Time, windows: &mut Queued) {
        let source = self.path_source[frame.path.at()];
        let state = &mut self.sources[source as usize];
        if state.source.is_greedy() {
            state.in_card = state.in_card.saturating_sub(1);
            self.refill(source, now, windows);
        }
        if !self.lines[egress as usize].blocked.is_empty() {
            self.unblock(egress, true, now, windows);
        }
    }

    /// Lets those act who wait for a card, as long as there is room; greedy sources only if `greedy`.
    pub fn unblock(&mut self, egress: u32, greedy: bool, now: Time, windows: &mut Queued) {
        for _ in 0..self.lines[egress as usize].blocked.len() {
            let Some(&blocked) = self.lines[egress as usize].blocked.front() else { break };
            let state = &self.sources[blocked as usize];
            let (is_greedy, held_back_by) = (state.source.is_greedy(), state.held_back_by);
            if held_back_by.is_some_and(|(queue, limit)| self.queues[queue as usize].occupancy.reaches(limit))
            {
                break;
            }
            self.lines[egress as usize].blocked.pop_front();
            if is_greedy && !greedy {
                self.lines[egress as usize].blocked.push_back(blocked);
            } else if is_greedy {
                self.refill(blocked, now, windows);
            } else {
                self.source_due(blocked, now, windows);
            }
        }
    }
}
