//! The TCP receiver.
//!
//! In-order data is delivered; data beyond a gap is kept until the gap is filled. Every n-th in-order segment is
//! acknowledged immediately and any other after a fixed delay. An out-of-order segment, a duplicate, and a segment
//! that fills a gap or a part of it are acknowledged immediately. The first two get separate acknowledgements, so that
//! the sender can count duplicates. With selective acknowledgements up to three blocks report out-of-order data, the
//! most recent first. With timestamps, an acknowledgement echoes the timestamp of the first segment that it
//! acknowledges.
//!
//! There are two ways to echo CE marks. With RFC 3168, ECE is set from the first mark until the sender signals by CWR
//! that it has reduced its window. With DCTCP the echo is exact: when the CE state changes, the preceding segments are
//! acknowledged immediately.
//!
//! Source: RFC 9293, sections 3.8.6.3 and 3.10.7.4; RFC 5681, section 4.2; RFC 2018, section 4; RFC 7323, section 4.3;
//! RFC 3168, section 6.1.3; RFC 8257, section 3.2.
//!
//! Not modelled: an application that reads more slowly than data arrives (the advertised window is constant); delayed
//! acknowledgements at ticks of a clock; D-SACK (RFC 2883).

use crate::endpoint::{Protocol, Received, Requests, Segment, TransportFacts, Undelivered};
use crate::loss_recoveries::LossRecoveryKind;
use crate::scoreboard::Ranges;
use crate::serial::nearest;
use crate::tcp::{EcnMode, TcpSpec};
use frame::{FrameKind, Header, TcpHeader};
use std::collections::VecDeque;
use std::sync::Arc;
use units::Time;

/// The receiving end of TCP.
#[derive(Clone, Debug)]
pub struct TcpReceiver {
    spec: Arc<TcpSpec>,
    /// Next expected byte (RCV.NXT).
    expected: u64,
    /// Data that arrived after a gap; created with the first such segment.
    beyond: Option<Box<Beyond>>,
    /// Acknowledgement to send next.
    due: Option<Due>,
    /// Acknowledgements queued behind it; created with the first one.
    later: Option<Box<Later>>,
    /// In-order segments not yet acknowledged.
    unanswered: u32,
    /// Deadline for acknowledging them; [`Time::NEVER`] if there are none.
    deadline: Time,
    /// End of the bytes that acknowledgements have covered.
    answered: u64,
    /// Send time of the segment that the next acknowledgement echoes (TS.Recent).
    first_sent: Time,
    /// True if the next acknowledgement echoes a mark.
    ece: bool,
    discarded: u64,
}

/// Data that arrived after a gap, or that was not needed.
#[derive(Clone, Debug, Default)]
struct Beyond {
    ranges: Ranges,
    /// One byte of each of the most recently grown blocks, the newest first.
    latest: [u64; 3],
    /// Data that arrived twice or beyond the window.
    undelivered: Undelivered,
}

/// A queue of acknowledgements.
#[derive(Clone, Debug, Default)]
struct Later(VecDeque<Due>);

/// An acknowledgement to send.
#[derive(Clone, Copy, Debug)]
struct Due {
    number: u64,
    ece: bool,
    syn: bool,
    first_sent: Time,
}

impl Due {
    /// Returns the kind of the segment, and its acknowledgement number.
    #[inline(always)]
    fn kind_and_word(&self) -> (FrameKind, u32) {
        (if self.ece { FrameKind::MarkedAck } else { FrameKind::Ack }, self.number as u32)
    }
}

impl TcpReceiver {
    /// Creates a receiver to which no data has arrived.
    pub fn new(spec: &Arc<TcpSpec>) -> TcpReceiver {
        TcpReceiver {
            spec: spec.clone(),
            expected: 0,
            beyond: None,
            due: None,
            later: None,
            unanswered: 0,
            deadline: Time::NEVER,
            answered: 0,
            first_sent: Time::ZERO,
            ece: false,
            discarded: 0,
        }
    }

    /// Returns the number of bytes that arrived in order.
    pub fn delivered(&self) -> u64 {
        self.expected
    }

    #[inline(always)]
    fn answer(&mut self, syn: bool) {
        let due = Due { number: self.expected, ece: self.ece, syn, first_sent: self.first_sent };
        if self.due.is_none() {
            self.due = Some(due);
        } else {
            self.later.get_or_insert_default().0.push_back(due);
        }
        (self.unanswered, self.deadline, self.answered) = (0, Time::NEVER, self.expected);
    }
    /// Out-of-line variant of `answer`, for rare cases.
    #[inline(never)]
    fn answer_apart(&mut self, syn: bool) {
        self.answer(syn);
    }

    fn see_marks(&mut self, marked: bool, cwr: bool) {
        match self.spec.ecn {
            EcnMode::Off => {}
            // RFC 3168 section 6.1.3: CWR ends the echo, and a mark on the same segment restarts it.
            EcnMode::Rfc3168 => self.ece = marked || self.ece && !cwr,
            // RFC 8257 section 3.2: segments before the change are acknowledged at once.
            EcnMode::Dctcp => {
                if marked != self.ece && self.unanswered > 0 {
                    self.answer_apart(false);
                }
                self.ece = marked;
            }
        }
    }

    #[inline(always)]
    fn take(&mut self, now: Time, received: &Received) {
        let header = received.header.as_ref().and_then(Header::tcp);
        let data = header.and_then(|tcp| tcp.payload).unwrap_or_else(|| self.spec.data_in(received.bytes));
        let from = nearest(header.map_or(received.word, |tcp| tcp.number), self.expected);
        let to = from + u64::from(data);
        // RFC 7323 section 4.3: the first segment not yet acknowledged.
        if from <= self.answered {
            self.first_sent = received.created;
        }
        self.see_marks(received.congestion_experienced, header.is_some_and(|tcp| tcp.cwr));
        if from > self.expected {
            self.keep(from, to, received.bytes);
            self.answer_apart(false);
        } else if to <= self.expected {
            self.discarded += 1;
            self.beyond.get_or_insert_default().undelivered.add(received.bytes);
            self.answer_apart(false);
        } else {
            if from < self.expected {
                self.beyond.get_or_insert_default().undelivered.bytes += self.expected - from;
            }
            self.deliver(now, to);
        }
    }

    /// Keeps a segment that arrived after a gap.
    fn keep(&mut self, from: u64, to: u64, bytes: u16) {
        let beyond = self.beyond.get_or_insert_default();
        // A segment beyond the window, or one already received, is discarded (RFC 9293 section 3.10.7.4).
        if to - self.expected > self.spec.window || beyond.ranges.add(from, to) == 0 {
            self.discarded += 1;
            beyond.undelivered.add(bytes);
            return;
        }
        // RFC 2018 section 4: the block that holds this segment comes first.
        let [first, second, _] = beyond.latest;
        beyond.latest = match beyond.ranges.around(from) {
            Some((start, end)) if (start..end).contains(&first) => [from, second, beyond.latest[2]],
            _ => [from, first, second],
        };
    }

    /// Delivers in-order data up to this byte, plus any buffered data it makes contiguous.
    #[inline(always)]
    fn deliver(&mut self, now: Time, to: u64) {
        self.expected = to;
        let fills = self.beyond.as_ref().is_some_and(|beyond| !beyond.ranges.all().is_empty());
        if fills {
            self.deliver_beyond();
        }
        self.unanswered += 1;
        // RFC 5681 section 4.2: acknowledge at once a segment that fills a gap or a part of it.
        if fills || self.unanswered >= self.spec.ack_every {
            self.answer(false);
        } else {
            self.deadline = self.deadline.min(now.saturating_add(self.spec.ack_delay));
        }
    }

    /// Delivers buffered data that is now in order.
    #[inline(never)]
    fn deliver_beyond(&mut self) {
        let Some(beyond) = &mut self.beyond else { return };
        while let Some(end) = beyond.ranges.take_from(self.expected) {
            self.expected = end;
        }
    }

    /// Returns the segment of an acknowledgement that may carry fields beyond its word.
    #[inline(never)]
    fn wide(&self, due: &Due) -> Segment {
        let (kind, number) = due.kind_and_word();
        let (sacks, count) = self.blocks();
        let ts_ecr = (self.spec.timestamps && !due.syn).then_some(due.first_sent);
        let header = TcpHeader { number, syn: due.syn, ts_ecr, sacks, ..TcpHeader::default() };
        let says_more = due.syn || ts_ecr.is_some() || count > 0;
        let header = says_more.then_some(Header::Tcp(header));
        Segment { header, ..Segment::new(kind, number, self.spec.ack_frame_bytes(count)) }
    }

    /// Returns up to three blocks, the most recently grown first, and their number.
    fn blocks(&self) -> ([(u32, u32); 3], usize) {
        let (mut blocks, mut count) = ([(0, 0); 3], 0);
        let Some(beyond) = self.beyond.as_ref().filter(|_| self.spec.recovery == LossRecoveryKind::Sack)
        else {
            return (blocks, 0);
        };
        let latest = beyond.latest.iter().filter_map(|&byte| beyond.ranges.around(byte));
        for (from, to) in latest.chain(beyond.ranges.all().iter().rev().copied().take(3)) {
            let block = (from as u32, to as u32);
            if count < blocks.len() && !blocks[..count].contains(&block) {
                blocks[count] = block;
                count += 1;
            }
        }
        (blocks, count)
    }
}

impl Protocol for TcpReceiver {
    #[inline(always)]
    fn handle_frame(&mut self, now: Time, received: &Received) {
        let header = received.header.as_ref().and_then(Header::tcp);
        match (received.kind, header.filter(|tcp| tcp.syn)) {
            (FrameKind::Ack, Some(tcp)) => {
                // A connection begins where the last one ended; late segments are acknowledged once more.
                let number = nearest(tcp.number, self.expected);
                if number == self.expected {
                    self.ece = false;
                    self.answer_apart(true);
                } else {
                    self.discarded += 1;
                }
            }
            (FrameKind::Data, None) => self.take(now, received),
            _ => self.discarded += 1,
        }
    }

    fn handle_timeout(&mut self, now: Time) {
        if self.deadline <= now {
            self.answer_apart(false);
        }
    }

    fn poll_timeout(&self) -> Option<Time> {
        Some(self.deadline).filter(|&at| at < Time::NEVER)
    }

    fn has_work(&self) -> bool {
        self.due.is_some()
    }

    fn has_records(&self) -> bool {
        false
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        self.transmit(now).0
    }

    #[inline(always)]
    fn transmit(&mut self, _now: Time) -> (Option<Segment>, Requests) {
        let due = self.due.take();
        if let Some(later) = &mut self.later {
            self.due = later.0.pop_front();
        }
        let requests = self.requests();
        let Some(due) = due else { return (None, requests) };
        let keeps = self.beyond.as_ref().is_some_and(|beyond| !beyond.ranges.all().is_empty());
        if keeps || due.syn || self.spec.timestamps {
            return (Some(self.wide(&due)), requests);
        }
        let (kind, word) = due.kind_and_word();
        let bytes = self.spec.ack_frame_bytes(0);
        (Some(Segment::new(kind, word, bytes)), requests)
    }

    fn memory_bytes(&self) -> usize {
        let (beyond, later) = (self.beyond.as_ref(), self.later.as_ref());
        later.map_or(0, |later| size_of::<Later>() + later.0.capacity() * size_of::<Due>())
            + beyond.map_or(0, |beyond| size_of::<Beyond>() + beyond.ranges.memory_bytes())
    }
    fn facts(&self, _now: Time) -> TransportFacts {
        TransportFacts {
            discarded: self.discarded(),
            undelivered: self.undelivered(),
            ..TransportFacts::default()
        }
    }
}

impl TcpReceiver {
    pub(crate) fn discarded(&self) -> u64 {
        self.discarded
    }
    pub(crate) fn undelivered(&self) -> Undelivered {
        let Some(beyond) = &self.beyond else { return Undelivered::default() };
        let segment = u64::from(self.spec.segment);
        beyond.ranges.all().iter().fold(beyond.undelivered, |mut sum, &(from, to)| {
            let (full, rest) = ((to - from) / segment, ((to - from) % segment) as u16);
            sum.frames += full;
            sum.bytes += full * u64::from(self.spec.frame_bytes(self.spec.segment));
            if rest > 0 {
                sum.add(self.spec.frame_bytes(rest));
            }
            sum
        })
    }
}
