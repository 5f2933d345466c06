//! The Exchange benchmark of MPI: ranks in a ring, each of which sends to both neighbours and receives from both.
//!
//! In each step a rank sends a message to each neighbour and receives one from each. When both have arrived, the next
//! step begins. Neighbours on different hosts have one connection. A message of at most `eager` bytes is sent
//! immediately after an envelope of 64 B. For a longer message the sender announces it with 64 B, the receiver replies
//! with 64 B when it has reached the same step, and then the data follow (rendezvous).
//!
//! A host has one rank, whose two connections wait for each other in each step; or two ranks, each with one
//! connection, which exchange data through memory. In the latter case a rank completes a step when its connection and
//! the copies in both directions have completed.
//!
//! Each step has a record of the rank that opens the connection, with the bytes that the two neighbours exchanged.
//!
//! Source: Intel MPI Benchmarks, User Guide, "Exchange"; Hagen 2012, section 5.6 (eight ranks on four hosts of two
//! cores, messages of 0 to 4 MiB). Open MPI 1.4, transport over TCP: eager up to 64 KiB (`btl_tcp_eager_limit`), then
//! a rendezvous. Envelopes of 64 B and the copy times are our choice.
//!
//! Not modelled: fragmentation of long messages, which makes no difference on a single TCP stream; compute time of
//! ranks; more than two ranks per host, and contention between copies.

use crate::endpoint::{HostEvent, Progress, Protocol, Received, Record, RecordKind, Segment, TransportFacts};
use crate::rdma::{PathFacts, Post};
use crate::transport::{DuplexEnd, TransportSpec, Unit, calls_of_duplex};
use crate::{Duplex, Transport};
use frame::Stamps;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::VecDeque;
use std::sync::Arc;
use units::Time;

/// Bytes of the messages that precede data: an envelope, an announcement, or the reply to an announcement.
const ENVELOPE: u64 = 64;

/// The validated parameters of an exchange.
#[derive(Clone, Debug, PartialEq)]
pub struct MpiExchangeSpec {
    /// Bytes of a message.
    pub message: u64,
    /// Maximum size in bytes of a message that is not announced.
    pub eager: u64,
    /// Number of steps of each rank; `None` if unlimited.
    pub steps: Option<u64>,
    /// Time of a copy from one rank of a host to the other; `None` if a host has one rank.
    pub copy: Option<Time>,
    /// Transport of both directions.
    pub transport: Transport,
}

impl MpiExchangeSpec {
    /// Returns the sizes of the parts that each end sends in a step, in order.
    pub fn parts(&self) -> Vec<u64> {
        if self.message <= self.eager {
            vec![ENVELOPE + self.message]
        } else {
            vec![ENVELOPE, ENVELOPE, self.message]
        }
    }

    /// Validates the description; an error states the accepted values.
    pub fn check(&self) -> Result<(), String> {
        if self.steps == Some(0) {
            return Err("0 steps; expected above 0".to_string());
        }
        if matches!(&self.transport, Transport::Tcp(tcp) if tcp.handshake) {
            return Err("a handshake before the messages; expected none".to_string());
        }
        self.transport.check()
    }

    /// Returns the RDMA operation of a part, if the transport counts messages, and the part's size in the transport's
    /// unit.
    pub(crate) fn post(&self, bytes: u64) -> (Option<Post>, u64) {
        match self.transport.unit() {
            Unit::Bytes(_) => (None, bytes),
            Unit::Messages { operation, .. } => (Some(Post { operation, bytes }), 1),
        }
    }
}

/// One end of a connection between neighbours in the ring.
#[derive(Clone, Debug)]
pub struct MpiExchange {
    spec: Arc<MpiExchangeSpec>,
    parts: Box<[u64]>,
    opens: bool,
    duplex: Duplex,
    /// Number of steps that have begun.
    begun: u64,
    /// Start times of the last step and of the one before.
    began: [Time; 2],
    /// Start time of the next step, if it is determined.
    next: Option<Time>,
    /// Number of parts sent, and of parts received completely.
    parts_sent: u64,
    parts_received: u64,
    /// Progress at which the next part is complete: one past its last byte, or past its message.
    awaited: u64,
    stop: Time,
    /// True if no further step begins.
    ended: bool,
    records: VecDeque<Record>,
}

impl MpiExchange {
    /// Creates one end. Its first step begins at `start`, and none begins from `stop` on. The end that `opens` the
    /// connection records its steps.
    pub fn new(
        spec: &Arc<MpiExchangeSpec>,
        opens: bool,
        (start, stop): (Time, Option<Time>),
        facts: PathFacts,
        rng: Xoshiro256PlusPlus,
    ) -> MpiExchange {
        let parts: Box<[u64]> = spec.parts().into();
        MpiExchange {
            opens,
            duplex: spec.transport.start(opens, facts, rng),
            begun: 0,
            began: [Time::ZERO; 2],
            next: Some(start),
            parts_sent: 0,
            parts_received: 0,
            awaited: spec.post(parts[0]).1,
            parts,
            stop: stop.unwrap_or(Time::NEVER),
            ended: false,
            records: VecDeque::new(),
            spec: spec.clone(),
        }
    }

    /// Returns the number of bytes that arrived in order, or of messages of a queue pair.
    pub fn delivered(&self) -> u64 {
        self.duplex.delivered()
    }
    /// Returns the transport with which this end sends and receives.
    pub(crate) fn duplex(&self) -> &Duplex {
        &self.duplex
    }
    /// Mutable variant of [`MpiExchange::duplex`].
    pub(crate) fn duplex_mut(&mut self) -> &mut Duplex {
        &mut self.duplex
    }

    /// Sends parts in order. Each part waits until the peer's part before it has arrived: an answer follows the
    /// announcement, and data follows the answer.
    fn speak(&mut self, now: Time) {
        let count = self.parts.len() as u64;
        let mut bytes = 0;
        while self.parts_sent < self.begun * count && self.parts_sent <= self.parts_received {
            let part = self.parts[(self.parts_sent % count) as usize];
            bytes += part;
            self.parts_sent += 1;
            self.duplex.post(now, self.spec.post(part).0.as_slice());
        }
        if bytes > 0 {
            self.duplex.write(now, bytes);
        }
    }

    /// Processes the parts that have arrived completely.
    fn listen(&mut self) {
        let count = self.parts.len() as u64;
        while self.duplex.delivered() >= self.awaited {
            self.parts_received += 1;
            let next = self.parts[(self.parts_received % count) as usize];
            self.awaited = self.awaited.saturating_add(self.spec.post(next).1);
        }
    }

    /// Ends a step and begins the next one, if there is one more and the exchange has not stopped by then.
    fn turn(&mut self, now: Time) {
        if self.begun > 0 && self.opens {
            let bytes = 2 * self.spec.message;
            let record = Record { kind: RecordKind::Exchange, start: self.began[0], end: now, bytes };
            self.records.push_back(record);
        }
        self.ended = now >= self.stop || self.spec.steps.is_some_and(|steps| self.begun >= steps);
        if !self.ended {
            self.begun += 1;
            self.began = [now, self.began[0]];
        }
    }
}

impl Protocol for MpiExchange {
    fn handle_frame(&mut self, now: Time, received: &Received) {
        if self.duplex.handle_frame(now, received) {
            self.listen();
            self.speak(now);
        }
    }

    fn handle_timeout(&mut self, now: Time) {
        self.handle_timeout_at(now, &|_, _| false);
    }

    fn handle_timeout_at(&mut self, now: Time, is_queued: &dyn Fn(u32, Option<u32>) -> bool) {
        self.duplex.handle_timeout(now, is_queued);
        if self.next.take_if(|at| *at <= now).is_some() {
            self.turn(now);
        }
        self.speak(now);
    }

    fn poll_timeout(&self) -> Option<Time> {
        [self.next, self.duplex.poll_timeout()].into_iter().flatten().min()
    }

    calls_of_duplex!();

    fn poll_record(&mut self) -> Option<Record> {
        self.records.pop_front().or_else(|| self.duplex.poll_record())
    }
    fn memory_bytes(&self) -> usize {
        size_of::<MpiExchange>()
            + size_of_val(&*self.parts)
            + self.duplex.memory_bytes()
            + self.records.capacity() * size_of::<Record>()
    }

    fn progress(&self) -> Option<Progress> {
        let waits = self.next.is_none() && self.begun > 0 && !self.ended;
        let done = self.parts_received >= self.begun * self.parts.len() as u64;
        Some(Progress { begun: self.begun, began: self.began, done, waits, copy: self.spec.copy })
    }
    fn on_event(&mut self, now: Time, event: &HostEvent<'_>) -> bool {
        match *event {
            HostEvent::Step(at) => self.next = Some(at),
            _ => return self.duplex.on_event(now, event),
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipe::Pipe;
    use crate::tcp_properties::{any_spec, nonsense};
    use crate::testbed::{DELAY, RATE, START, draws, of_kind, rough, tcp};
    use crate::{Delay, LossRecoveryKind, TcpSpec, TransferSpec};
    use proptest::prelude::*;

    const FACTS: PathFacts = PathFacts::new(RATE, Time::from_us(10), 1_000, 0);

    fn tcp_of(end: &Alone) -> &crate::TcpSender {
        match &end.0.duplex {
            Duplex::Tcp(it) => &it.sender,
            other => panic!("{other:?}"),
        }
    }

    /// An end whose steps do not wait for other endpoints.
    struct Alone(MpiExchange);

    impl Alone {
        fn go_on(&mut self, now: Time) {
            while self.0.progress().is_some_and(|it| it.waits && it.done) {
                self.0.on_event(now, &HostEvent::Step(now));
                self.0.handle_timeout(now);
            }
        }
    }

    impl Protocol for Alone {
        fn handle_frame(&mut self, now: Time, received: &Received) {
            self.0.handle_frame(now, received);
            self.go_on(now);
        }
        fn handle_timeout(&mut self, now: Time) {
            self.0.handle_timeout(now);
            self.go_on(now);
        }
        fn poll_timeout(&self) -> Option<Time> {
            self.0.poll_timeout()
        }
        fn has_work(&self) -> bool {
            self.0.has_work()
        }
        fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
            self.0.poll_transmit(now)
        }
        fn poll_record(&mut self) -> Option<Record> {
            self.0.poll_record()
        }
    }

    fn over(tcp: TcpSpec, message: u64, steps: u64) -> Arc<MpiExchangeSpec> {
        let transfers = TransferSpec { size: None, total: Some(0), idle: Delay::default() };
        let tcp = TcpSpec { transfers, reconnect: false, handshake: false, ..tcp };
        let spec = MpiExchangeSpec {
            message,
            eager: 1_500,
            steps: Some(steps),
            copy: None,
            transport: Transport::Tcp(Arc::new(tcp)),
        };
        assert_eq!(spec.check(), Ok(()));
        Arc::new(spec)
    }
    /// Returns a pipe with segments of 1000 B (1058 B with headers) and acknowledgements of 64 B.
    fn pipe(message: u64, steps: u64, stop: Option<Time>) -> Pipe<Alone, Alone> {
        let spec = over(tcp(None, LossRecoveryKind::Sack, 10), message, steps);
        let end = |opens, seed| Alone(MpiExchange::new(&spec, opens, (START, stop), FACTS, draws(seed).1));
        Pipe::new(end(true, 1), end(false, 2), RATE, DELAY)
    }
    fn steps(pipe: &Pipe<Alone, Alone>) -> Vec<(Time, Time)> {
        of_kind(&pipe.records, RecordKind::Exchange).iter().map(|it| (it.start, it.end)).collect()
    }

    #[test]
    fn a_short_message_goes_at_once() {
        let mut pipe = pipe(936, 3, None);
        pipe.run_clean(Time::NEVER);
        // From the second step on, the acknowledgement of the last message is sent first.
        let first = pipe.wire(1_058) + DELAY;
        let other = pipe.wire(64) + first;
        let ends = [START + first, START + first + other, START + first + other * 2];
        assert_eq!(steps(&pipe), [(START, ends[0]), (ends[0], ends[1]), (ends[1], ends[2])]);
        assert_eq!(of_kind(&pipe.records, RecordKind::Exchange)[0].bytes, 2 * 936);
        assert_eq!((pipe.near.poll_timeout(), pipe.far.poll_timeout()), (None, None));
    }

    #[test]
    fn a_long_message_is_announced_and_answered() {
        let mut pipe = pipe(3_000, 1, None);
        pipe.run_clean(Time::NEVER);
        // 64 B of data take 122 B; the same returns behind an acknowledgement; three full segments follow behind
        // another one.
        let (short, small, full) = (pipe.wire(122), pipe.wire(64), pipe.wire(1_058));
        let took = short + DELAY + small + short + DELAY + small + full * 3 + DELAY;
        assert_eq!(steps(&pipe), [(START, START + took)]);
        assert_eq!((pipe.near.0.delivered(), pipe.far.0.delivered()), (3_128, 3_128));
    }

    #[test]
    fn an_announcement_waits_for_a_peer_that_is_late() {
        let spec = over(tcp(None, LossRecoveryKind::Sack, 10), 3_000, 1);
        let end =
            |opens, start, seed| Alone(MpiExchange::new(&spec, opens, (start, None), FACTS, draws(seed).1));
        let late = START + Time::from_us(100);
        let mut pipe = Pipe::new(end(true, START, 1), end(false, late, 2), RATE, DELAY);
        pipe.run_clean(Time::NEVER);
        let answered = pipe.sent_by(1).iter().find(|(_, it)| it.bytes > 64).unwrap().0;
        assert_eq!(answered, late);
        assert!(steps(&pipe)[0].1 > late + DELAY);
    }

    #[test]
    fn a_stop_lets_a_step_end_and_begins_none() {
        let stop = START + Time::from_us(12);
        let mut pipe = pipe(100, 1_000, Some(stop));
        pipe.run_clean(Time::NEVER);
        let steps = steps(&pipe);
        assert!(steps.iter().all(|it| it.0 < stop) && steps.last().unwrap().1 >= stop);
        assert_eq!(steps.len(), 3);
    }

    #[test]
    fn a_step_waits_for_the_others_of_its_host() {
        let us = Time::from_us;
        let at = |begun, began: [u64; 2], done, copy: Option<u64>| Progress {
            begun,
            began: began.map(us),
            done,
            waits: true,
            copy: copy.map(us),
        };
        // One rank per host: both connections have completed the step.
        let own = at(3, [10, 5], true, None);
        assert_eq!(own.after(&at(3, [10, 5], false, None), us(20)), None);
        assert_eq!(own.after(&at(3, [10, 5], true, None), us(20)), Some(us(20)));
        assert_eq!(own.after(&at(4, [20, 10], false, None), us(20)), Some(us(20)));
        // Two ranks per host: a copy from each to the other, whichever began first.
        let own = at(3, [10, 5], true, Some(8));
        assert_eq!(own.after(&at(2, [9, 1], false, Some(8)), us(12)), None);
        assert_eq!(own.after(&at(3, [9, 1], false, Some(8)), us(12)), Some(us(18)));
        assert_eq!(own.after(&at(3, [11, 1], false, Some(8)), us(12)), Some(us(19)));
        assert_eq!(own.after(&at(4, [19, 11], false, Some(8)), us(21)), Some(us(21)));
    }

    #[test]
    fn what_cannot_be_meant() {
        let wrong = |change: fn(&mut MpiExchangeSpec)| {
            let mut spec = Arc::unwrap_or_clone(over(tcp(None, LossRecoveryKind::Sack, 1), 1, 1));
            change(&mut spec);
            spec.check().unwrap_err()
        };
        assert!(wrong(|it| it.steps = Some(0)).contains("0 steps"));
        assert!(
            wrong(|it| it.transport = Transport::Tcp(tcp(Some(9), LossRecoveryKind::Sack, 1).into()))
                .contains("beside the messages")
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        /// Tests that over a wire that loses, marks, reorders and duplicates, every step ends and each byte arrives
        /// once and in order.
        #[test]
        fn every_step_ends(
            tcp in any_spec(),
            message in 0u64..6_000,
            count in 1u64..12,
            loss in 0u32..20,
            seed in any::<u64>(),
        ) {
            let spec = over(tcp, message, count);
            let end = |opens, seed| Alone(MpiExchange::new(&spec, opens, (START, None), FACTS, draws(seed).1));
            let mut pipe = Pipe::new(end(true, seed), end(false, seed ^ 1), RATE, DELAY);
            pipe.run(Time::NEVER, rough(loss, draws(!seed).0));
            let found = steps(&pipe);
            prop_assert_eq!(found.len() as u64, count);
            prop_assert!(found.windows(2).all(|two| two[0].1 == two[1].0));
            let sum = spec.parts().iter().sum::<u64>() * count;
            prop_assert_eq!((pipe.far.0.delivered(), pipe.near.0.delivered()), (sum, sum));
            prop_assert_eq!((pipe.near.poll_timeout(), pipe.far.poll_timeout()), (None, None));
            prop_assert!(!pipe.near.has_work() && !pipe.far.has_work());
        }

        /// Tests that arbitrary input at any time causes neither a panic nor an impossible state.
        #[test]
        fn nonsense_is_survived(
            tcp in any_spec(),
            opens in any::<bool>(),
            calls in prop::collection::vec((0u32..4, any::<u32>(), any::<u16>(), any::<[u8; 8]>()), 1..100),
        ) {
            let spec = over(tcp, 5_000, 1_000);
            let mut end = Alone(MpiExchange::new(&spec, opens, (START, None), FACTS, draws(1).1));
            let mut now = Time::ZERO;
            for (call, word, bytes, salt) in calls {
                now += Time::from_ns(u64::from(bytes));
                let sent = tcp_of(&end).sent();
                match call {
                    0 | 1 => end.handle_frame(now, &nonsense(word, bytes, salt, now, sent)),
                    2 => end.handle_timeout(now),
                    _ => while end.poll_transmit(now).is_some() {},
                }
                while end.poll_record().is_some() {}
                prop_assert!(tcp_of(&end).acknowledged() <= tcp_of(&end).sent());
            }
        }
    }
}
