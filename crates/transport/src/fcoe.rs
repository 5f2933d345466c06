//! Fibre Channel over Ethernet (FCoE): an initiator reads or writes blocks of a target; no lower layer recovers lost
//! frames.
//!
//! Each block is one FCP exchange, whose information units the two ends send alternately:
//!
//! | operation | units |
//! |---|---|
//! | read | FCP_CMND (32 B); FCP_DATA of the target, for each burst; FCP_RSP (24 B) |
//! | write | FCP_CMND; for each burst FCP_XFER_RDY (12 B) and FCP_DATA of the initiator; FCP_RSP |
//!
//! An information unit is a sequence of Fibre Channel frames. Each is encapsulated in one Ethernet frame, which is 68
//! B longer than its data field, padded to a multiple of 4 B: Ethernet header 14, VLAN tag 4, FCoE header with SOF 14,
//! Fibre Channel header 24, Fibre Channel CRC 4, EOF and reserved 4, FCS 4. The data field has at most 2,112 B, so the
//! longest frame has 2,180 B (a mini-jumbo frame). Each end sends its sequences one exchange after another, in the
//! order in which they are ready.
//!
//! Service is class 3, without acknowledgements. A frame is accepted only if it is the next one of its exchange
//! (SEQ_CNT), so an exchange with a lost or reordered frame never completes. The initiator detects this only by its
//! timer: an exchange that has not completed within `ulp_tov` of its start (ULP_TOV, which includes waiting in the
//! NIC) is aborted. ABTS is sent ahead of all sequences. The target discards the exchange and replies with BA_ACC,
//! after which the whole exchange is repeated. An unanswered ABTS is sent again after `ulp_tov`. Each exchange has a
//! record, from the time at which it was due until the FCP_RSP of the successful attempt.
//!
//! T11 specifies FCoE for lossless Ethernet only. With `requires_lossless` an end is inactive while no flow control
//! (PFC, PAUSE, or credits) is in force for its priority at the host port that its route currently uses. It starts no
//! exchanges, sends nothing and accepts nothing. Its timers continue, so that pending exchanges are repeated once a
//! route uses a lossless port again. If DCBX is enabled, the negotiated flow control counts. The column `withheld_at`
//! of the table `connections` lists the ports where this happened. IEEE 802.1 has no such rule; with
//! `requires_lossless = false` an end always sends.
//!
//! Source: INCITS FC-BB-5, clause 7 (encapsulation, EtherType 0x8906, lossless Ethernet: PAUSE or PFC), FC-FS-3
//! (frames, class 3, ABTS and BA_ACC), FCP-4 (information units; ULP_TOV is left to the upper level). Hagen 2012,
//! section 3.3 (T11 and IEEE).
//!
//! Not modelled: FIP, logins, and buffer-to-buffer credits, which PFC replaces; recovery of single sequences (REC,
//! SRR), and detection of a gap before the timer expires; a limit of repetitions, R_A_TOV, and the logout that ends
//! unanswered exchanges; the rule of T11 for responses of a target whose link is down, if switches select paths (the
//! responses are sent through any port that is up); first bursts without FCP_XFER_RDY; a target with few processors or
//! disks, at which commands queue.

use crate::endpoint::{Protocol, Received, Record, RecordKind, Segment, TransportFacts, Undelivered};
use crate::exchange::{Label, is_later};
use crate::fcoe_spec::{ABTS, BA_ACC, FcoeSpec, of_data};
use frame::FrameKind;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::VecDeque;
use std::sync::Arc;
use units::Time;

/// Flag in a label's slot number that marks ABTS and BA_ACC.
const LINK_SERVICE: u8 = 0x80;

/// An FCoE initiator or target.
#[derive(Clone, Debug)]
pub struct Fcoe {
    spec: Arc<FcoeSpec>,
    initiates: bool,
    withheld: bool,
    /// Ports at which the endpoint was withheld, by their numbers in the fabric.
    withheld_at: Vec<u32>,
    stop: Time,
    rng: Xoshiro256PlusPlus,
    places: Box<[Place]>,
    /// Places that send a sequence, in the order in which they became ready.
    sending: VecDeque<u8>,
    /// Exchanges for which ABTS or BA_ACC is to be sent.
    link_services: VecDeque<Label>,
    /// Number of exchanges that may still begin.
    remaining: u64,
    /// Earliest timeout of any place.
    next_timeout: Time,
    aborted: u64,
    retransmitted: u64,
    discarded: u64,
    undelivered: Undelivered,
    records: VecDeque<Record>,
}

/// One of the exchanges that may be outstanding.
#[derive(Clone, Copy, Debug)]
struct Place {
    turn: u8,
    /// At the initiator: time at which the exchange is or was due.
    due: Time,
    phase: Phase,
    /// Number of the current unit, number of its frames that have passed, and number of frames of the whole exchange
    /// that have passed.
    unit: u64,
    passed: u64,
    number: u64,
    /// Frames that this end has sent in the exchange.
    sent: u64,
    /// Frames of the other end that have arrived in the exchange.
    taken: Undelivered,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The initiator waits until [`Place::due`] before it begins the exchange.
    Thinking,
    /// An exchange is in progress. At the initiator its timer expires at `deadline`.
    Open { deadline: Time },
    /// The target serves the command until this time.
    Serving { until: Time },
    /// The initiator waits for BA_ACC, and repeats ABTS at `deadline`.
    Aborting { deadline: Time },
    /// The last exchange has ended, and no other will follow.
    Done,
}

impl Fcoe {
    /// Creates the initiator. It begins at `start`, and begins no exchange from `stop` on. No other user may draw from
    /// `rng`.
    pub fn initiator(spec: &Arc<FcoeSpec>, start: Time, stop: Option<Time>, rng: Xoshiro256PlusPlus) -> Fcoe {
        let mut initiator = Fcoe::new(spec, true, rng);
        initiator.stop = stop.unwrap_or(Time::NEVER);
        (0..initiator.places.len()).for_each(|place| initiator.think_until(place, start));
        initiator.schedule();
        initiator
    }

    /// Creates the target. No other user may draw from `rng`.
    pub fn target(spec: &Arc<FcoeSpec>, rng: Xoshiro256PlusPlus) -> Fcoe {
        Fcoe::new(spec, false, rng)
    }

    fn new(spec: &Arc<FcoeSpec>, initiates: bool, rng: Xoshiro256PlusPlus) -> Fcoe {
        // The first exchange of a place has turn 1, because `begin` increments it.
        let place = Place {
            turn: 0,
            due: Time::NEVER,
            phase: Phase::Done,
            unit: 0,
            passed: 0,
            number: 0,
            sent: 0,
            taken: Undelivered::default(),
        };
        Fcoe {
            initiates,
            withheld: false,
            withheld_at: vec![],
            stop: Time::NEVER,
            rng,
            places: vec![place; usize::from(spec.outstanding)].into(),
            sending: VecDeque::new(),
            link_services: VecDeque::new(),
            remaining: spec.exchanges.unwrap_or(u64::MAX),
            next_timeout: Time::NEVER,
            aborted: 0,
            retransmitted: 0,
            discarded: 0,
            undelivered: Undelivered::default(),
            records: VecDeque::new(),
            spec: spec.clone(),
        }
    }

    /// Sets the port through which the route of this end leads, and whether the port is lossless for its priority.
    pub fn moved_to(&mut self, port: u32, is_lossless: bool) {
        self.withheld = self.spec.requires_lossless && !is_lossless;
        if self.withheld && !self.withheld_at.contains(&port) {
            self.withheld_at.push(port);
        }
        self.schedule();
    }
    /// Returns the ports at which this end was withheld, in order of first occurrence.
    pub fn withheld_at(&self) -> &[u32] {
        &self.withheld_at
    }
    /// Returns the number of exchanges that this end aborted.
    pub fn aborted(&self) -> u64 {
        self.aborted
    }

    /// Schedules the next exchange of a place, unless the initiator has stopped.
    fn think_until(&mut self, place: usize, due: Time) {
        let phase = if due < self.stop && self.remaining > 0 { Phase::Thinking } else { Phase::Done };
        (self.places[place].due, self.places[place].phase) = (due, phase);
    }

    fn begin_due(&mut self, place: usize, now: Time) {
        if self.places[place].due > now {
            return;
        }
        if self.remaining == 0 {
            self.places[place].phase = Phase::Done;
            return;
        }
        self.remaining -= 1;
        self.begin(place, self.places[place].turn.wrapping_add(1), now);
    }

    /// Begins an exchange at either end, for the first time or repeated.
    fn begin(&mut self, place: usize, turn: u8, now: Time) {
        let wait = if self.initiates { self.spec.ulp_tov } else { Time::NEVER };
        let phase = Phase::Open { deadline: now.saturating_add(wait) };
        let due = self.places[place].due;
        self.sending.retain(|&other| usize::from(other) != place);
        self.places[place] =
            Place { turn, due, phase, unit: 0, passed: 0, number: 0, sent: 0, taken: Undelivered::default() };
        if self.initiates {
            self.sending.push_back(place as u8);
        }
    }

    /// Accepts the next frame of the peer's current unit. Returns true for the last frame of the unit.
    fn takes(&mut self, place: usize, bytes: u16) -> bool {
        self.places[place].taken.add(bytes);
        self.pass(place)
    }

    /// Counts a frame of the current unit that was sent or has arrived. Returns true for the last frame of
    /// the unit.
    fn pass(&mut self, place: usize) -> bool {
        let frames = self.spec.unit(self.places[place].unit).map_or(0, |unit| self.spec.frames(unit));
        let place = &mut self.places[place];
        place.number += 1;
        place.passed += 1;
        let ended = place.passed >= frames;
        if ended {
            (place.unit, place.passed) = (place.unit + 1, 0);
        }
        ended
    }

    /// Returns true if this end sends the current unit; `None` if the exchange is over.
    fn is_own(&self, place: usize) -> Option<bool> {
        self.spec.unit(self.places[place].unit).map(|unit| unit.by_initiator == self.initiates)
    }

    /// Continues with the next unit, or ends the exchange.
    fn go_on(&mut self, place: usize, now: Time) {
        match self.is_own(place) {
            None if self.initiates => self.complete(place, now),
            None => self.places[place].phase = Phase::Done,
            Some(false) => {}
            Some(true) => {
                let is_served = self.places[place].unit == self.spec.served();
                let wait = if is_served { self.spec.service.draw(&mut self.rng) } else { Time::ZERO };
                if wait > Time::ZERO {
                    self.places[place].phase = Phase::Serving { until: now.saturating_add(wait) };
                } else {
                    self.sending.push_back(place as u8);
                }
            }
        }
    }

    fn complete(&mut self, place: usize, now: Time) {
        let start = self.places[place].due;
        self.records.push_back(Record {
            kind: RecordKind::Exchange,
            start,
            end: now,
            bytes: self.spec.block,
        });
        let think = self.spec.think.draw(&mut self.rng);
        self.think_until(place, now.saturating_add(think));
        if think == Time::ZERO && self.places[place].phase == Phase::Thinking {
            self.begin_due(place, now);
        }
    }

    /// Stops sending the exchange in this place; the frames already sent will be retransmitted.
    fn forget(&mut self, place: usize) {
        self.retransmitted += std::mem::take(&mut self.places[place].sent);
        self.sending.retain(|&other| usize::from(other) != place);
    }

    /// Handles the expiry of an exchange's timer: queues ABTS.
    fn abort(&mut self, place: usize, now: Time) {
        let label = Label { slot: place as u8 | LINK_SERVICE, turn: self.places[place].turn, segment: 0 };
        let deadline = now.saturating_add(self.spec.ulp_tov);
        self.places[place].phase = Phase::Aborting { deadline };
        // A NIC that is paused for a long time may still hold the previous ABTS.
        if !self.link_services.contains(&label) {
            self.link_services.push_back(label);
        }
    }

    fn on_link_service(&mut self, label: Label, now: Time) {
        let place = usize::from(label.slot & !LINK_SERVICE);
        let own = &mut self.places[place];
        if self.initiates {
            if own.turn == label.turn && matches!(own.phase, Phase::Aborting { .. }) {
                self.begin(place, label.turn.wrapping_add(1), now);
            } else {
                self.discarded += 1;
            }
            return;
        }
        if is_later(label.turn, own.turn) {
            // No frame of this exchange has arrived.
            (own.turn, own.sent) = (label.turn, 0);
        }
        if own.turn == label.turn {
            if own.phase != Phase::Done {
                // The exchange is abandoned; the initiator restarts it from the beginning.
                self.undelivered = self.undelivered.and(own.taken);
                own.taken = Undelivered::default();
            }
            own.phase = Phase::Done;
            self.forget(place);
        }
        self.link_services.push_back(label);
    }

    fn on_frame(&mut self, label: Label, bytes: u16, now: Time) {
        let at = usize::from(label.slot);
        if !self.initiates && label.segment == 0 && is_later(label.turn, self.places[at].turn) {
            self.begin(at, label.turn, now);
        }
        let place = &self.places[at];
        let open = matches!(place.phase, Phase::Open { .. });
        let is_next = open && place.turn == label.turn && place.number as u16 == label.segment;
        if !is_next || self.is_own(at) != Some(false) {
            self.discarded += 1;
            self.undelivered.add(bytes);
        } else if self.takes(at, bytes) {
            self.go_on(at, now);
            self.schedule();
        }
    }

    fn schedule(&mut self) {
        let waits_for = |place: &Place| match place.phase {
            Phase::Thinking if self.withheld => Time::NEVER,
            Phase::Thinking => place.due,
            Phase::Open { deadline } | Phase::Aborting { deadline } => deadline,
            Phase::Serving { until } => until,
            Phase::Done => Time::NEVER,
        };
        self.next_timeout = self.places.iter().map(waits_for).min().unwrap_or(Time::NEVER);
    }
}

impl Protocol for Fcoe {
    fn handle_frame(&mut self, now: Time, received: &Received) {
        let label = Label::from_word(received.word);
        let known = usize::from(label.slot & !LINK_SERVICE) < self.places.len();
        if self.withheld || !known || received.kind != FrameKind::Data {
            self.discarded += 1;
        } else if label.slot & LINK_SERVICE != 0 {
            self.undelivered.add(received.bytes);
            self.on_link_service(label, now);
            self.schedule();
        } else {
            self.on_frame(label, received.bytes, now);
        }
    }

    fn handle_timeout(&mut self, now: Time) {
        for place in 0..self.places.len() {
            match self.places[place].phase {
                Phase::Thinking if !self.withheld => self.begin_due(place, now),
                Phase::Open { deadline } if deadline <= now => {
                    self.aborted += 1;
                    self.forget(place);
                    self.abort(place, now);
                }
                Phase::Aborting { deadline } if deadline <= now => self.abort(place, now),
                Phase::Serving { until } if until <= now => {
                    self.places[place].phase = Phase::Open { deadline: Time::NEVER };
                    self.sending.push_back(place as u8);
                }
                _ => {}
            }
        }
        self.schedule();
    }

    fn poll_timeout(&self) -> Option<Time> {
        (self.next_timeout < Time::NEVER).then_some(self.next_timeout)
    }

    fn has_work(&self) -> bool {
        !self.withheld && (!self.link_services.is_empty() || !self.sending.is_empty())
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        if self.withheld {
            return None;
        }
        let (label, bytes) = if let Some(label) = self.link_services.pop_front() {
            (label, of_data(if self.initiates { ABTS } else { BA_ACC }))
        } else {
            let first = *self.sending.front()?;
            let at = usize::from(first);
            let place = &mut self.places[at];
            let unit = self.spec.unit(place.unit)?;
            let bytes = self.spec.frame_bytes(unit, place.passed);
            let label = Label { slot: first, turn: place.turn, segment: place.number as u16 };
            place.sent += 1;
            // Consecutive units of one end are sent as one.
            if self.pass(at) && self.is_own(at) != Some(true) {
                self.sending.pop_front();
                self.go_on(at, now);
                self.schedule();
            }
            (label, bytes)
        };
        Some(Segment::new(FrameKind::Data, label.word(), bytes))
    }

    fn poll_record(&mut self) -> Option<Record> {
        self.records.pop_front()
    }
    fn memory_bytes(&self) -> usize {
        size_of::<Fcoe>()
            + size_of_val(&*self.places)
            + self.sending.capacity()
            + self.withheld_at.capacity() * size_of::<u32>()
            + self.link_services.capacity() * size_of::<Label>()
            + self.records.capacity() * size_of::<Record>()
    }
    fn facts(&self, _now: Time) -> TransportFacts {
        TransportFacts {
            retransmitted: self.retransmitted,
            discarded: self.discarded,
            undelivered: self.undelivered,
            ..TransportFacts::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fcoe_spec::LARGEST_DATA_FIELD;
    use crate::pipe::{Outcome, Pipe, connect};
    use crate::testbed::{DELAY, Facts as _, RATE, START, draws, of_kind, over};
    use crate::{Application, ConnectionSpec, Delay, Endpoint};
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    const NEVER: Time = Time::NEVER;
    const SERVICE: Time = Time::from_us(20);

    fn spec(writes: bool, block: u64, burst: u64) -> FcoeSpec {
        FcoeSpec {
            writes,
            block,
            burst: burst.min(block),
            data_field: LARGEST_DATA_FIELD,
            outstanding: 1,
            exchanges: Some(1),
            think: Delay::default(),
            service: Delay::Fixed(SERVICE),
            ulp_tov: Time::from_ms(2),
            requires_lossless: true,
        }
    }
    fn pipe(spec: FcoeSpec) -> Pipe<Endpoint, Endpoint> {
        connect(&over(Application::Fcoe(spec.into())), RATE, DELAY)
    }
    fn exchanges<A: Protocol, B: Protocol>(pipe: &Pipe<A, B>) -> Vec<Record> {
        of_kind(&pipe.records, RecordKind::Exchange)
    }
    /// Splits this many bytes of data into frames.
    fn cut(mut bytes: u64, field: u64) -> Vec<u16> {
        let mut frames = vec![];
        while bytes > 0 {
            let data = bytes.min(field);
            frames.push((68 + data.div_ceil(4) * 4) as u16);
            bytes -= data;
        }
        frames
    }
    /// Lists the frames of an exchange by sender (true: the initiator), one unit after the other.
    fn listed(spec: &FcoeSpec) -> Vec<(bool, Vec<u16>)> {
        let mut units = vec![(true, vec![100])];
        let mut left = spec.block;
        while left > 0 {
            let burst = left.min(spec.burst);
            if spec.writes {
                units.push((false, vec![80]));
            }
            units.push((spec.writes, cut(burst, spec.data_field.into())));
            left -= burst;
        }
        units.push((false, vec![92]));
        units
    }

    #[test]
    fn the_longest_frame_is_a_mini_jumbo() {
        assert_eq!(spec(true, 1, 1).lengths(), (68, 2_180));
        // 1 MiB is 496 full frames and one of 1,024 B.
        let train = spec(false, 1 << 20, 1 << 20).train(false);
        assert_eq!((train.frames, train.full, train.last), (496 + 1 + 1, 2_180, 92));
        assert_eq!(train.bytes, (1 << 20) + 497 * 68 + 92);
    }

    #[test]
    fn the_frames_of_an_exchange_are_those_listed() {
        for writes in [false, true] {
            for (block, burst) in [(1, 1), (2_112, 2_112), (2_113, 512), (10_000, 10_000), (10_001, 4_096)] {
                let spec = FcoeSpec { data_field: 2_048, ..spec(writes, block, burst) };
                let mut pipe = pipe(spec.clone());
                pipe.run_clean(NEVER);
                for end in [0, 1] {
                    let listed = listed(&spec).into_iter().filter(|unit| unit.0 == (end == 0));
                    let listed: Vec<u16> = listed.flat_map(|unit| unit.1).collect();
                    let sent: Vec<u16> = pipe.sent_by(end).iter().map(|sent| sent.1.bytes).collect();
                    assert_eq!(sent, listed, "{writes} {block} {burst}");
                    let train = spec.train(end == 0);
                    let bytes: u64 = listed.iter().copied().map(u64::from).sum();
                    assert_eq!((train.frames as usize, train.bytes), (listed.len(), bytes));
                    assert_eq!(
                        (train.full, Some(&train.last)),
                        (*listed.iter().max().unwrap(), listed.last())
                    );
                }
            }
        }
    }

    #[test]
    fn an_idle_link_is_filled_with_data_between_command_and_response() {
        for writes in [false, true] {
            for (block, burst) in [(1, 1), (2_112, 2_112), (1 << 20, 1 << 20), (1 << 20, 256 << 10)] {
                let spec = FcoeSpec { exchanges: Some(3), ..spec(writes, block, burst) };
                let mut pipe = pipe(spec.clone());
                pipe.run_clean(NEVER);
                let bytes = listed(&spec).iter().flat_map(|unit| &unit.1).copied().map(u64::from).sum();
                // A write changes direction for each burst, and once before and after all bursts.
                let one_way = if writes { 2 * block.div_ceil(burst) + 2 } else { 2 };
                let took = pipe.wire(bytes) + DELAY * one_way + SERVICE;
                let starts = [0, 1, 2].map(|n| START + took * n);
                let record =
                    |start| Record { kind: RecordKind::Exchange, start, end: start + took, bytes: block };
                assert_eq!(exchanges(&pipe), starts.map(record), "{writes} {block} {burst}");
                assert_eq!((pipe.near.poll_timeout(), pipe.far.poll_timeout()), (None, None));
                assert_eq!(
                    (pipe.near.discarded(), pipe.far.discarded(), pipe.near.retransmitted()),
                    (0, 0, 0)
                );
            }
        }
    }

    /// Tests that with enough outstanding exchanges the wire of the data is never idle: 2,112 B of data in 2,180 B.
    #[test]
    fn goodput_is_the_share_of_data_in_frames() {
        let block = 100 * 2_112;
        let mut pipe = pipe(FcoeSpec { outstanding: 4, exchanges: Some(40), ..spec(false, block, block) });
        pipe.run_clean(NEVER);
        let found = exchanges(&pipe);
        let wire = pipe.wire(100 * 2_180 + 92);
        for pair in found[4..].windows(2) {
            assert_eq!(pair[1].end - pair[0].end, wire);
        }
    }

    #[test]
    fn one_lost_frame_costs_the_exchange_and_the_timeout() {
        // Loses the command, a frame of the data, or the response; of a write also FCP_XFER_RDY.
        for (writes, lost_end, nth) in [
            (false, 0, 0),
            (false, 1, 3),
            (false, 1, 10),
            (true, 0, 0),
            (true, 1, 0),
            (true, 0, 5),
            (true, 1, 1),
        ] {
            let block = 10 * 2_112;
            let spec = spec(writes, block, block);
            let mut pipe = pipe(spec.clone());
            let mut seen = 0;
            pipe.run(NEVER, |end, _| {
                seen += u32::from(end == lost_end);
                Outcome { lost: end == lost_end && seen == nth + 1, ..Outcome::default() }
            });
            let mut clean = self::pipe(spec.clone());
            clean.run_clean(NEVER);
            let took = exchanges(&clean)[0].end - START;
            // The timer, ABTS and BA_ACC, then the whole exchange again.
            let aborted = spec.ulp_tov + pipe.wire(68) + DELAY + pipe.wire(80) + DELAY;
            let found = exchanges(&pipe);
            assert_eq!((found.len(), found[0].start, found[0].end), (1, START, START + aborted + took));
            let Endpoint::Fcoe(near) = &pipe.near else { panic!("{:?}", pipe.near) };
            assert_eq!(near.aborted(), 1);
        }
    }

    #[test]
    fn an_abts_that_is_lost_is_sent_again() {
        let spec = spec(false, 5_000, 5_000);
        let mut pipe = pipe(spec.clone());
        let mut lost = 0;
        // Loses the command, the first ABTS and the first BA_ACC.
        pipe.run(NEVER, |end, segment| {
            let wanted = [(0, 100), (0, 68), (1, 80)].get(lost).is_some_and(|it| *it == (end, segment.bytes));
            lost += usize::from(wanted);
            Outcome { lost: wanted, ..Outcome::default() }
        });
        let abts: Vec<Time> =
            pipe.sent_by(0).iter().filter(|sent| sent.1.bytes == 68).map(|sent| sent.0).collect();
        assert_eq!(abts, [1, 2, 3].map(|n| START + spec.ulp_tov * n));
        assert_eq!(exchanges(&pipe).len(), 1);
        let Endpoint::Fcoe(near) = &pipe.near else { panic!("{:?}", pipe.near) };
        assert_eq!((near.aborted(), near.retransmitted()), (1, 1));
    }

    #[test]
    fn who_must_not_send_does_not() {
        let spec = Arc::new(spec(true, 5_000, 5_000));
        let ends = || (Fcoe::initiator(&spec, START, None, draws(1).1), Fcoe::target(&spec, draws(2).1));
        let (mut near, far) = ends();
        near.moved_to(7, false);
        let mut pipe = Pipe::new(near, far, RATE, DELAY);
        pipe.run_clean(Time::from_ms(10));
        assert_eq!((pipe.sent.len(), pipe.near.poll_timeout()), (0, None));
        // The target must not send. It receives a command, and an ABTS each time the initiator's timer expires.
        let (near, mut far) = ends();
        far.moved_to(7, false);
        let mut pipe = Pipe::new(near, far, RATE, DELAY);
        pipe.run_clean(Time::from_ms(9));
        let lengths: Vec<u16> = pipe.sent.iter().map(|sent| sent.segment.bytes).collect();
        assert_eq!((lengths, pipe.far.discarded()), (vec![100, 68, 68, 68, 68], 5));
        assert_eq!((pipe.near.withheld_at(), pipe.far.withheld_at()), (&[][..], &[7][..]));
    }

    /// Tests an initiator that is withheld in the middle of its data. It cannot send its ABTS, which is sent first when
    /// it may send again. Exchanges that became due meanwhile begin late.
    #[test]
    fn who_may_send_again_does() {
        let spec = Arc::new(FcoeSpec { exchanges: None, ..spec(true, 5_000, 5_000) });
        let near = Fcoe::initiator(&spec, START, None, draws(1).1);
        let mut pipe = Pipe::new(near, Fcoe::target(&spec, draws(2).1), RATE, DELAY);
        pipe.run_clean(START + Time::from_us(1));
        assert!(!pipe.sent.is_empty());
        let sent = pipe.sent_by(0).len();
        pipe.near.moved_to(3, false);
        pipe.run_clean(Time::from_ms(9));
        let near = &mut pipe.near;
        assert_eq!((near.has_work(), near.aborted(), near.withheld_at()), (false, 1, &[3][..]));
        near.moved_to(2, true);
        assert!(near.has_work());
        // The pipe polls the endpoint when its timer has expired.
        pipe.run_clean(Time::from_ms(12));
        let after: Vec<u16> = pipe.sent_by(0).iter().skip(sent).map(|sent| sent.1.bytes).collect();
        assert_eq!((after[0], after[1]), (68, 100), "ABTS, then the repeated command");
        assert!(exchanges(&pipe).len() > 1);
        assert_eq!(exchanges(&pipe)[0].start, START);
    }

    #[test]
    fn a_stop_lets_an_exchange_end_and_begins_none() {
        let application = Application::Fcoe(FcoeSpec { exchanges: None, ..spec(false, 100, 100) }.into());
        // An exchange lasts 30.3 us.
        let stop = START + Time::from_us(40);
        let mut pipe = connect(&ConnectionSpec { stop: Some(stop), ..over(application) }, RATE, DELAY);
        pipe.run_clean(NEVER);
        assert_eq!(exchanges(&pipe).len(), 2);
        assert!(exchanges(&pipe)[1].end > stop);
    }

    #[test]
    fn what_cannot_be_meant() {
        let wrong = |change: fn(&mut FcoeSpec)| {
            let mut spec = spec(true, 1, 1);
            change(&mut spec);
            spec.check().unwrap_err()
        };
        assert!(wrong(|it| it.data_field = 2_116).contains("a data field of 2116 B"));
        assert!(wrong(|it| it.data_field = 1_454).contains("a data field of 1454 B"));
        assert!(wrong(|it| it.block = 0).contains("a block of 0 B"));
        assert!(wrong(|it| it.block = 1 << 32).contains("a block of 4294967296 B"));
        assert!(wrong(|it| it.ulp_tov = Time::ZERO).contains("a timeout of 0"));
        assert!(wrong(|it| it.outstanding = 129).contains("129 outstanding"));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        /// Tests that over a wire that loses and reorders, every exchange ends once. An aborted exchange is repeated as
        /// a whole, and no other is repeated.
        #[test]
        fn every_exchange_ends_once(
            writes in any::<bool>(),
            // Exchanges have few frames, because an exchange of many frames hardly ever succeeds on this wire.
            block in 1u64..8_000,
            burst in 2_000u64..20_000,
            data_field in 128u16..=528,
            outstanding in 1u16..6,
            count in 0u64..12,
            delays in (0u64..20, 0u64..20),
            loss in 0u32..8,
            jitter in prop::sample::select(vec![0u64, 0, 3_000]),
            seed in any::<u64>(),
        ) {
            let spec = FcoeSpec {
                data_field: data_field * 4,
                outstanding,
                exchanges: Some(count),
                think: Delay::Exponential(Time::from_us(delays.0 + 1)),
                service: Delay::Exponential(Time::from_us(delays.1 + 1)),
                ..spec(writes, block, burst)
            };
            prop_assert_eq!(spec.check(), Ok(()));
            let spec = Arc::new(spec);
            let near = Fcoe::initiator(&spec, START, None, draws(seed).1);
            let mut pipe = Pipe::new(near, Fcoe::target(&spec, draws(seed ^ 1).1), RATE, DELAY);
            let mut draw = draws(!seed).0;
            // An exchange whose frames overtake each other rarely succeeds, so impairments are rare and small.
            pipe.run(Time::from_ms(100_000), |_, _| Outcome {
                lost: draw(100) < loss.into(),
                extra: Time::from_ns(if draw(20) == 0 { draw(jitter + 1) } else { 0 }),
                ..Outcome::default()
            });
            let found = exchanges(&pipe);
            prop_assert_eq!(found.len() as u64, count);
            prop_assert_eq!(found.iter().map(|it| it.bytes).sum::<u64>(), count * block);
            prop_assert_eq!((pipe.near.poll_timeout(), pipe.far.poll_timeout()), (None, None));
            prop_assert!(!pipe.near.has_work() && !pipe.far.has_work());
            // Frames of each attempt by number: sender (true: the initiator) and length.
            let mut attempts: BTreeMap<(u8, u8), BTreeMap<u16, (bool, u16)>> = BTreeMap::new();
            let mut sent = 0;
            for frame in &pipe.sent {
                let label = Label::from_word(frame.segment.word);
                if label.slot & LINK_SERVICE == 0 {
                    sent += 1;
                    let attempt = attempts.entry((label.slot, label.turn)).or_default();
                    let again = attempt.insert(label.segment, (frame.end == 0, frame.segment.bytes));
                    prop_assert!(again.is_none(), "a frame was sent twice in one attempt");
                }
            }
            let whole: Vec<(bool, u16)> =
                listed(&spec).into_iter().flat_map(|(end, all)| all.into_iter().map(move |it| (end, it))).collect();
            for attempt in attempts.values() {
                let frames: Vec<(bool, u16)> = attempt.values().copied().collect();
                prop_assert!(whole.starts_with(&frames));
            }
            // The timer can abort an exchange before its first frame has left.
            prop_assert!(attempts.len() as u64 <= count + pipe.near.aborted());
            let again = pipe.near.retransmitted() + pipe.far.retransmitted();
            prop_assert_eq!(sent, count * whole.len() as u64 + again);
            if loss == 0 && jitter == 0 {
                prop_assert_eq!((pipe.near.aborted(), again), (0, 0));
            }
        }

        /// Tests that an end that receives arbitrary frames at any time does not panic, and ends no more exchanges than
        /// it began.
        #[test]
        fn nonsense_is_survived(
            writes in any::<bool>(),
            initiates in any::<bool>(),
            steps in prop::collection::vec((0u32..4, 0u8..4, 0u8..4, 0u16..6, 0u64..1_000), 1..200),
        ) {
            let spec = FcoeSpec { outstanding: 3, exchanges: Some(5), ulp_tov: Time::from_us(2), ..spec(writes, 5_000, 2_112) };
            let spec = Arc::new(spec);
            let mut end = match initiates {
                true => Fcoe::initiator(&spec, Time::ZERO, None, draws(1).1),
                false => Fcoe::target(&spec, draws(1).1),
            };
            let (mut now, mut ended, most) = (Time::ZERO, 0, if initiates { 5 } else { 0 });
            for (step, slot, turn, segment, wait) in steps {
                now += Time::from_ns(wait);
                let slot = if step == 0 { slot | LINK_SERVICE } else { slot };
                let word = Label { slot, turn, segment }.word();
                match step {
                    0 | 1 => end.handle_frame(now, &Received {
                        kind: FrameKind::Data,
                        word,
                        header: None,
                        bytes: 100,
                        congestion_experienced: false,
                        created: now,
                        trim: frame::Trim::Whole,
                        entropy: 0,
                    }),
                    2 => end.handle_timeout(now),
                    _ => {
                        let had = end.has_work();
                        prop_assert_eq!(end.poll_transmit(now).is_some(), had);
                    }
                }
                ended += std::iter::from_fn(|| end.poll_record()).count();
                prop_assert!(ended <= most);
            }
        }
    }
}
