//! Selective acknowledgements (SACK): the receiver reports the segments that have arrived, and the sender retransmits
//! the others.
//!
//! The receiver reports up to three blocks beyond the first gap, the most recent first. A byte is considered lost if
//! three separate blocks, or more than two segments of SACKed bytes, are above it. Recovery starts at the third
//! duplicate acknowledgement that reports new data, or when the first unacknowledged byte is lost by this rule. The
//! window is then reduced, and the first segment is retransmitted. During recovery the sender estimates the data in
//! flight (the pipe: bytes sent that are neither SACKed nor lost, plus retransmitted bytes), and sends while the pipe
//! is smaller than the window. It sends lost bytes first, then new data, then gaps that are not considered lost, and
//! finally the highest segment once. Recovery ends when all data that had been sent at its start is acknowledged. A
//! timeout clears the blocks; data reported by later acknowledgements is not retransmitted.
//!
//! Source: RFC 2018, sections 3 to 5 and 8; RFC 6675, sections 2 to 5 (IsLost, SetPipe, NextSeg with rules 1 to 4).
//!
//! Not modelled: D-SACK (RFC 2883); receivers that renege on reported blocks.

use crate::loss_recovery::{Chosen, Flight, LossRecovery, OnDuplicate, OnProgress};
use crate::prr::Prr;
use crate::scoreboard::{Blocks, Ranges};

/// SACK-based loss recovery, which retransmits all segments known to be missing.
#[derive(Clone, Debug, Default)]
pub struct Sack {
    duplicates: u32,
    recovering: bool,
    /// True if the last blocks reported new data.
    news: bool,
    /// RecoveryPoint: recovery ends when everything before it is acknowledged.
    recover: u64,
    /// Scoreboard, created with the first block.
    board: Option<Box<Board>>,
}

#[derive(Clone, Debug, Default)]
struct Board {
    /// Bytes that the receiver has reported as received.
    arrived: Ranges,
    /// Bytes first reported by the last blocks.
    newly: u64,
    /// HighRxt: all lost bytes before it have been retransmitted.
    resent: u64,
    /// RescueRxt: the highest segment has been retransmitted, and is not retransmitted again before this byte is
    /// acknowledged.
    rescued: u64,
    prr: Prr,
}

impl Board {
    /// Returns the byte before which bytes that have not arrived are lost (IsLost of RFC 6675 section 4).
    fn lost_before(&self, flight: &Flight) -> u64 {
        let most = u64::from(flight.threshold - 1) * u64::from(flight.segment);
        let (mut blocks, mut bytes) = (0, 0);
        for &(start, end) in self.arrived.all().iter().rev() {
            blocks += 1;
            bytes += end - start;
            if blocks >= flight.threshold || bytes > most {
                return start;
            }
        }
        flight.unacknowledged
    }

    /// SetPipe of RFC 6675 section 4.
    fn pipe(&self, flight: &Flight) -> u64 {
        let missing = |from: u64, to: u64| to.saturating_sub(from) - self.arrived.within(from, to.max(from));
        let first = flight.unacknowledged;
        // (a) bytes neither arrived nor lost, plus (b) bytes retransmitted.
        missing(self.lost_before(flight).max(first), flight.highest) + missing(first, self.resent)
    }

    /// Returns the hole from the first missing byte at or after `from`, at most a segment long.
    fn hole(&self, from: u64, flight: &Flight) -> Option<(u64, u64)> {
        let start = self.arrived.skip(from);
        let end = self.arrived.next_after(start)?;
        Some((start, end.min(start + u64::from(flight.segment))))
    }

    /// NextSeg of RFC 6675 section 4.
    fn next(&self, flight: &Flight, sendable: u64) -> Option<(u64, u64)> {
        let segment = u64::from(flight.segment);
        let hole = self.hole(self.resent.max(flight.unacknowledged), flight);
        // Rule 1: a lost byte.
        if let Some(hole) = hole.filter(|hole| hole.0 < self.lost_before(flight)) {
            return Some(hole);
        }
        // Rule 2: new bytes.
        let end = sendable.min(flight.highest + segment);
        if end > flight.highest {
            return Some((flight.highest, end));
        }
        // Rule 3: a hole below data that has arrived. Rule 4: the highest segment, once.
        hole.or_else(|| {
            let last = (flight.highest - flight.outstanding().min(segment), flight.highest);
            let missing = self.arrived.within(last.0, last.1) == 0 && last.0 < last.1;
            (missing && self.rescued <= flight.unacknowledged && self.resent < last.1).then_some(last)
        })
    }
}

impl LossRecovery for Sack {
    fn on_duplicate(&mut self, flight: &Flight) -> OnDuplicate {
        // RFC 6675 section 2: a duplicate acknowledgement reports new blocks.
        self.duplicates += u32::from(self.news);
        let Some(board) = &mut self.board else { return OnDuplicate::Nothing };
        if self.recovering || flight.unacknowledged < self.recover {
            return OnDuplicate::Nothing;
        }
        // Section 5, steps 1 and 2.
        let lost = board.lost_before(flight) > flight.unacknowledged;
        if !self.news || !lost && self.duplicates < flight.threshold {
            return OnDuplicate::Nothing;
        }
        // Step 4.
        (self.recovering, self.recover) = (true, flight.highest);
        (board.resent, board.rescued) = (flight.unacknowledged, 0);
        board.prr.begin(flight.outstanding());
        OnDuplicate::FastRetransmit
    }

    fn on_progress(&mut self, flight: &Flight, _acknowledged: u64) -> OnProgress {
        self.duplicates = 0;
        if !self.recovering {
            return OnProgress::Open;
        }
        // Section 5, step A.
        if flight.unacknowledged >= self.recover {
            self.recovering = false;
            return OnProgress::Recovered { gently: false };
        }
        OnProgress::Recovering
    }

    fn on_timeout(&mut self, flight: &Flight) {
        // RFC 2018 section 8: the blocks are discarded. RFC 6675 section 5.1: no recovery before the data sent so far is acknowledged.
        let mut board = self.board.take();
        if let Some(board) = &mut board {
            board.arrived.clear();
        }
        *self = Sack { recover: flight.highest, board, ..Sack::default() };
    }

    fn duplicates(&self) -> u32 {
        self.duplicates
    }

    fn is_recovering(&self) -> bool {
        self.recovering
    }

    fn is_quiet(&self) -> bool {
        let has_arrivals = self.board.as_ref().is_some_and(|board| !board.arrived.all().is_empty());
        self.duplicates == 0 && !self.recovering && !has_arrivals
    }

    fn on_blocks(&mut self, flight: &Flight, blocks: &Blocks) {
        self.news = false;
        if blocks.iter().all(|block| block.0 >= block.1) {
            return;
        }
        let board = self.board.get_or_insert_default();
        board.newly = 0;
        for &(from, to) in blocks {
            // Ignores impossible blocks.
            let known = from.max(flight.unacknowledged);
            board.newly += board.arrived.add(known, to.min(flight.highest));
        }
        self.news = board.newly > 0;
    }

    fn on_acknowledged(&mut self, flight: &Flight, acknowledged: u64, window: u64) {
        let Some(board) = &mut self.board else { return };
        if !self.recovering && board.arrived.all().is_empty() {
            return;
        }
        let before = flight.unacknowledged - acknowledged;
        // Acknowledged bytes that blocks had reported before.
        let reported = board.arrived.within(before, flight.unacknowledged);
        board.arrived.forget_before(flight.unacknowledged);
        if self.recovering && flight.proportional {
            let delivered = (acknowledged + board.newly).saturating_sub(reported);
            let pipe = board.pipe(flight);
            board.prr.on_ack(delivered, pipe, window, flight.segment);
        }
        board.newly = 0;
    }

    fn choose(&self, flight: &Flight, sendable: u64, window: u64) -> Chosen {
        let Some(board) = self.board.as_ref().filter(|_| self.recovering) else { return Chosen::BySender };
        let Some((from, to)) = board.next(flight, sendable) else { return Chosen::Nothing };
        let room = if flight.proportional {
            board.prr.allowance()
        } else {
            window.saturating_sub(board.pipe(flight))
        };
        // Section 5, step C: sends if there is room for a segment.
        if room >= to - from { Chosen::Bytes(from, to) } else { Chosen::Nothing }
    }

    fn on_sent(&mut self, flight: &Flight, from: u64, to: u64) {
        let Some(board) = self.board.as_mut().filter(|_| self.recovering) else { return };
        board.prr.on_sent(to - from);
        if from >= flight.highest {
            return;
        }
        // Section 5, steps C.2 and C.3. Rule 4 of NextSeg does not change HighRxt.
        let lies_below = board.arrived.end().is_some_and(|end| to <= end);
        if lies_below || from <= board.resent {
            board.resent = board.resent.max(to);
        } else {
            board.rescued = self.recover;
        }
    }

    fn memory_bytes(&self) -> usize {
        self.board.as_ref().map_or(0, |board| size_of::<Board>() + board.arrived.memory_bytes())
    }

    fn skip(&self, from: u64) -> u64 {
        self.board.as_ref().map_or(from, |board| board.arrived.skip(from))
    }

    fn arrived_before(&self, end: u64) -> u64 {
        self.board.as_ref().map_or(0, |board| board.arrived.within(0, end))
    }
}
