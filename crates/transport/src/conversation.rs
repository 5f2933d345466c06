//! Two applications that send messages alternately over one TCP or RDMA connection.
//!
//! An exchange is a list of messages. The host that opens the connection (the opener) sends the first message, its
//! peer the second, and so on; the last message is sent by the peer. Each message is sent as soon as the previous one
//! has arrived completely; the answer to the last message of the opener follows after a service time. Each of the
//! `outstanding` slots runs one exchange at a time, and starts the next one after a think time. Each exchange has a
//! record, from the time at which its first message is written until its last message arrives.
//!
//! Messages are ordered, like the commands of a session: the first messages of all slots precede all second messages,
//! and so on. Both ends can therefore assign each byte of the stream to a message, and the stream needs no framing. A
//! limit of exchanges may take effect in the middle of a round of slots; a stop time lets the current round finish.
//!
//! Each direction has its own sender and receiver, with its own window and acknowledgements. Over RDMA a message is
//! one or more messages of a queue pair: a SEND, a WRITE with immediate data, or the operations to which iSER maps it.
//!
//! Source: RFC 7143, sections 4.2.2 and 11 (commands in order, data on request, the status at the end); E. D. Lazowska
//! et al., "Quantitative System Performance", chapter 4 (think and service times: a closed class); `tcp_sender`,
//! `tcp_receiver`, `rdma_sender` and `rdma_receiver` for the transport of the messages.
//!
//! Not modelled: acknowledgements piggybacked on data; answers that overtake each other; a server with few processors,
//! at which requests queue; a receive window that closes because an application reads slowly.

use crate::endpoint::{HostEvent, Protocol, Received, Record, RecordKind, Segment, TransportFacts};
use crate::iwarp::with_markers;
use crate::load::Train;
use crate::rdma::{PathFacts, Post};
use crate::transport::{DuplexEnd, TransportSpec, Unit, calls_of_duplex};
use crate::{Delay, TcpSender};
use crate::{Duplex, Transport};
use frame::Stamps;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::VecDeque;
use std::sync::Arc;
use units::Time;

/// The validated description of a conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct ConversationSpec {
    /// Bytes of each message of an exchange, above 0. The number of messages is even, and the opener sends the first.
    pub messages: Arc<[u64]>,
    /// RDMA operations of each message; empty over TCP.
    pub posts: Arc<[Box<[Post]>]>,
    /// True if MPA inserts markers in both directions.
    pub markers: bool,
    /// Maximum number of outstanding exchanges, above 0.
    pub outstanding: u32,
    /// Total number of exchanges; `None` if unlimited.
    pub exchanges: Option<u64>,
    /// Time from the end of an exchange to the next one in its place.
    pub think: Delay,
    /// Time from the last message of the opener to the message that answers it.
    pub service: Delay,
    /// Transport of both directions.
    pub transport: Transport,
}

impl ConversationSpec {
    /// Returns the sizes of the messages that one end sends in an exchange.
    pub fn of_end(&self, opens: bool) -> impl Iterator<Item = u64> {
        self.messages.iter().skip(usize::from(!opens)).step_by(2).copied()
    }

    /// Returns the bytes that this many message bytes occupy in the stream.
    pub fn on_stream(&self, bytes: u64) -> u64 {
        if self.markers { with_markers(bytes) } else { bytes }
    }

    /// Validates the description; an error states the accepted values.
    pub fn check(&self) -> Result<(), String> {
        let count = self.messages.len();
        if count == 0 || !count.is_multiple_of(2) {
            return Err(format!("{count} messages; expected an even number above 0"));
        }
        let is_stream = matches!(self.transport.unit(), Unit::Bytes(_));
        let is_empty = if is_stream {
            self.messages.contains(&0)
        } else {
            self.posts.iter().any(|posts| posts.is_empty())
        };
        if is_empty {
            return Err("a message of 0 B; expected above 0".to_string());
        }
        if self.posts.len() != if is_stream { 0 } else { count } {
            return Err(format!("{} lists of posts for {count} messages", self.posts.len()));
        }
        if self.outstanding == 0 {
            return Err("0 outstanding exchanges; expected above 0".to_string());
        }
        self.transport.check()
    }

    /// Returns the RDMA operations of a message.
    fn posts(&self, step: usize) -> &[Post] {
        self.posts.get(step).map_or(&[], |posts| posts)
    }

    /// Returns the size of a message in the receiver's unit: bytes, or number of queue pair messages.
    fn counts(&self, step: usize) -> u64 {
        if self.posts.is_empty() { self.messages[step] } else { self.posts(step).len() as u64 }
    }

    /// Returns the frames of one end in an exchange.
    pub(crate) fn train(&self, opens: bool) -> Train {
        let steps = (usize::from(!opens)..self.messages.len()).step_by(2);
        self.transport.train(&mut steps.map(|step| (self.on_stream(self.messages[step]), self.posts(step))))
    }
}

/// One end of a conversation.
#[derive(Clone, Debug)]
pub struct Conversation {
    spec: Arc<ConversationSpec>,
    duplex: Duplex,
    /// Position of the next message to write.
    own: Course,
    /// Position of the next message to arrive.
    peers: Course,
    /// Progress at which the next message is complete: bytes of the stream up to the end of the message, or messages of
    /// a queue pair.
    awaited: u64,
    awaited_at: u64,
    /// Bytes of the messages written so far.
    written: u64,
    /// Messages to write, in order: the time at which each is ready, and its number within its exchange.
    ready: VecDeque<(Time, usize)>,
    /// Time at which the last message was ready.
    last_ready: Time,
    /// At the opener: start times of the outstanding exchanges.
    began: VecDeque<Time>,
    stop: Time,
    rng: Xoshiro256PlusPlus,
    records: VecDeque<Record>,
}

/// The position in the sequence of one end's messages. A round has one exchange per place; the first message of every
/// place is followed by the second message of every place, and so on.
#[derive(Clone, Copy, Debug)]
struct Course {
    outstanding: u32,
    /// Number of the next message within its exchange.
    step: usize,
    place: u32,
    /// Exchanges that have not ended, including those of this round.
    left: u64,
}

impl Course {
    fn new(spec: &ConversationSpec, opens: bool) -> Course {
        let left = spec.exchanges.unwrap_or(u64::MAX);
        Course { outstanding: spec.outstanding, step: usize::from(!opens), place: 0, left }
    }
    /// Returns the number of the next message within its exchange; `None` if there are no more messages.
    fn next(&self) -> Option<usize> {
        (self.left > 0).then_some(self.step)
    }
    /// Advances to the next message. An exchange has `messages` messages.
    fn advance(&mut self, messages: usize) {
        let places = self.left.min(self.outstanding.into());
        self.place += 1;
        if u64::from(self.place) < places {
            return;
        }
        (self.place, self.step) = (0, self.step + 2);
        if self.step >= messages {
            self.step %= 2;
            // An unlimited conversation always has full rounds.
            self.left -= if self.left == u64::MAX { 0 } else { places };
        }
    }
    /// Returns true at the start of a round.
    fn begins_round(&self) -> bool {
        self.place == 0 && self.step == 0
    }
}

impl Conversation {
    /// Creates the end that opens the conversation. It begins at `start`, and begins no round from `stop` on. No other
    /// user should draw from `rng`.
    pub fn opener(
        spec: &Arc<ConversationSpec>,
        (start, stop): (Time, Option<Time>),
        facts: PathFacts,
        rng: Xoshiro256PlusPlus,
    ) -> Conversation {
        let mut opener = Conversation::new(spec, true, facts, rng);
        opener.stop = stop.unwrap_or(Time::NEVER);
        for _ in 0..opener.own.left.min(spec.outstanding.into()) {
            opener.begin(start);
        }
        opener
    }

    /// Creates the other end. Its direction of the connection opens together with the opener's.
    pub fn answerer(spec: &Arc<ConversationSpec>, facts: PathFacts, rng: Xoshiro256PlusPlus) -> Conversation {
        Conversation::new(spec, false, facts, rng)
    }

    fn new(
        spec: &Arc<ConversationSpec>,
        opens: bool,
        facts: PathFacts,
        mut rng: Xoshiro256PlusPlus,
    ) -> Conversation {
        let senders = rng.clone();
        // Jumps far ahead, so that the draws do not overlap with those of the sender.
        rng.jump();
        let awaited = spec.counts(usize::from(opens));
        Conversation {
            duplex: spec.transport.start(opens, facts, senders),
            own: Course::new(spec, opens),
            peers: Course::new(spec, !opens),
            awaited,
            awaited_at: spec.on_stream(awaited),
            written: 0,
            ready: VecDeque::new(),
            last_ready: Time::ZERO,
            began: VecDeque::new(),
            stop: Time::NEVER,
            rng,
            records: VecDeque::new(),
            spec: spec.clone(),
        }
    }

    /// Returns the number of bytes that arrived in order, or of messages of a queue pair.
    pub fn delivered(&self) -> u64 {
        self.duplex.delivered()
    }
    /// Returns the TCP sender; `None` if the transport is not TCP.
    pub fn tcp_sender(&self) -> Option<&TcpSender> {
        match &self.duplex {
            Duplex::Tcp(it) => Some(&it.sender),
            _ => None,
        }
    }
    /// Returns the transport with which this end sends and receives.
    pub(crate) fn duplex(&self) -> &Duplex {
        &self.duplex
    }
    /// Mutable variant of [`Conversation::duplex`].
    pub(crate) fn duplex_mut(&mut self) -> &mut Duplex {
        &mut self.duplex
    }

    /// Begins an exchange at `due`, if there is one more and the conversation has not stopped by then.
    fn begin(&mut self, due: Time) {
        if self.own.begins_round() && due >= self.stop {
            self.own.left = 0;
        }
        if self.own.next().is_some() {
            self.say(due);
            self.began.push_back(self.last_ready);
        }
    }

    /// Schedules the next message for `at`, but not before the previous one.
    fn say(&mut self, at: Time) {
        let Some(step) = self.own.next() else { return };
        self.last_ready = self.last_ready.max(at);
        self.ready.push_back((self.last_ready, step));
        self.own.advance(self.spec.messages.len());
    }

    /// Processes the messages that have arrived completely.
    fn listen(&mut self, now: Time) {
        while self.duplex.delivered() >= self.awaited_at
            && let Some(step) = self.peers.next()
        {
            let last = self.spec.messages.len() - 1;
            self.peers.advance(last + 1);
            if step == last {
                self.end_exchange(now);
            } else {
                let served = step + 1 == last;
                let wait = if served { self.spec.service.draw(&mut self.rng) } else { Time::ZERO };
                self.say(now.saturating_add(wait));
            }
            let next = self.peers.next().map_or(u64::MAX, |step| self.spec.counts(step));
            self.awaited = self.awaited.saturating_add(next);
            self.awaited_at = self.spec.on_stream(self.awaited);
        }
    }

    fn end_exchange(&mut self, now: Time) {
        if let Some(start) = self.began.pop_front() {
            let bytes = self.spec.messages.iter().sum();
            self.records.push_back(Record { kind: RecordKind::Exchange, start, end: now, bytes });
        }
        let think = self.spec.think.draw(&mut self.rng);
        self.begin(now.saturating_add(think));
    }

    /// Writes the messages that are ready.
    fn write(&mut self, now: Time) {
        let before = self.spec.on_stream(self.written);
        while let Some(&(_, step)) = self.ready.front().filter(|&&(at, _)| at <= now) {
            self.written += self.spec.messages[step];
            self.ready.pop_front();
            self.duplex.post(now, self.spec.posts(step));
        }
        let bytes = self.spec.on_stream(self.written) - before;
        if bytes > 0 {
            self.duplex.write(now, bytes);
        }
    }
}

impl Protocol for Conversation {
    fn handle_frame(&mut self, now: Time, received: &Received) {
        if self.duplex.handle_frame(now, received) {
            self.listen(now);
            self.write(now);
        }
    }

    fn handle_timeout(&mut self, now: Time) {
        self.handle_timeout_at(now, &|_, _| false);
    }

    fn handle_timeout_at(&mut self, now: Time, is_queued: &dyn Fn(u32, Option<u32>) -> bool) {
        self.duplex.handle_timeout(now, is_queued);
        self.write(now);
    }

    fn poll_timeout(&self) -> Option<Time> {
        let ready = self.ready.front().map(|&(at, _)| at);
        [ready, self.duplex.poll_timeout()].into_iter().flatten().min()
    }

    calls_of_duplex!();

    fn on_event(&mut self, now: Time, event: &HostEvent<'_>) -> bool {
        self.duplex.on_event(now, event)
    }

    fn poll_record(&mut self) -> Option<Record> {
        self.records.pop_front().or_else(|| self.duplex.poll_record())
    }
    fn memory_bytes(&self) -> usize {
        size_of::<Conversation>()
            + self.duplex.memory_bytes()
            + self.ready.capacity() * size_of::<(Time, usize)>()
            + self.began.capacity() * size_of::<Time>()
            + self.records.capacity() * size_of::<Record>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipe::{Pipe, connect};
    use crate::tcp_properties::{any_spec, nonsense};
    use crate::testbed::{DELAY, RATE, START, draws, over, rough, tcp};
    use crate::{Application, ConnectionSpec, Endpoint, LossRecoveryKind, TcpSpec, TransferSpec};
    use proptest::prelude::*;

    const NEVER: Time = Time::NEVER;
    const FACTS: PathFacts = PathFacts::new(RATE, Time::from_us(10), 1_000, 0);

    fn tcp_of(end: &Conversation) -> &crate::TcpSender {
        end.tcp_sender().expect("over TCP")
    }

    fn carried_over(tcp: TcpSpec, messages: &[u64], outstanding: u32, exchanges: u64) -> ConversationSpec {
        let transfers = TransferSpec { size: None, total: Some(0), idle: Delay::default() };
        ConversationSpec {
            messages: messages.into(),
            markers: false,
            outstanding,
            exchanges: Some(exchanges),
            think: Delay::Fixed(Time::ZERO),
            service: Delay::Fixed(Time::from_us(1)),
            posts: [].into(),
            transport: Transport::Tcp(Arc::new(TcpSpec { transfers, reconnect: false, ..tcp })),
        }
    }
    /// Returns a conversation in segments of 1000 B (1058 B with headers) with acknowledgements of 64 B.
    fn spec(messages: &[u64], outstanding: u32, exchanges: u64) -> ConversationSpec {
        carried_over(tcp(None, LossRecoveryKind::Sack, 10), messages, outstanding, exchanges)
    }
    fn pipe(spec: ConversationSpec) -> Pipe<Endpoint, Endpoint> {
        connect(&over(Application::Conversation(spec.into())), RATE, DELAY)
    }
    fn exchanges<A: Protocol, B: Protocol>(pipe: &Pipe<A, B>) -> Vec<Record> {
        crate::testbed::of_kind(&pipe.records, RecordKind::Exchange)
    }

    #[test]
    fn a_question_is_served_and_answered() {
        let spec = ConversationSpec { think: Delay::Fixed(Time::from_us(3)), ..spec(&[100, 2_200], 1, 3) };
        let mut pipe = pipe(spec);
        pipe.run_clean(NEVER);
        // The answer takes three segments, the last of 200 B. The acknowledgement of the request is sent meanwhile.
        let one_way = pipe.wire(158) + DELAY;
        let took = one_way + Time::from_us(1) + pipe.wire(1_058) * 2 + pipe.wire(258) + DELAY;
        let starts = [0, 1, 2].map(|n| START + (took + Time::from_us(3)) * n);
        let record = |start| Record { kind: RecordKind::Exchange, start, end: start + took, bytes: 2_300 };
        assert_eq!(exchanges(&pipe), starts.map(record));
        assert_eq!((pipe.near.poll_timeout(), pipe.far.poll_timeout()), (None, None));
    }

    #[test]
    fn a_handshake_comes_first() {
        let handshake = TcpSpec { handshake: true, ..tcp(None, LossRecoveryKind::Sack, 10) };
        let spec = carried_over(handshake, &[100, 100], 1, 1);
        let mut pipe = pipe(spec);
        pipe.run_clean(NEVER);
        let greeting = (pipe.wire(64) + DELAY) * 2;
        let end = START + greeting + (pipe.wire(158) + DELAY) * 2 + Time::from_us(1);
        assert_eq!(exchanges(&pipe).iter().map(|it| it.end).collect::<Vec<_>>(), [end]);
    }

    #[test]
    fn two_writes_take_turns_in_order() {
        // A command, a request for data, three segments of data, and the status; two exchanges at a time, without
        // service time.
        let spec = ConversationSpec { service: Delay::default(), ..spec(&[100, 48, 3_000, 48], 2, 2) };
        let mut pipe = pipe(spec);
        pipe.run_clean(NEVER);
        // Commands and requests that are ready at the same time share a segment. An acknowledgement precedes it.
        let (wire, ack) = (|bytes| pipe.wire(bytes), pipe.wire(64));
        let requested = START + wire(258) + DELAY + ack + wire(154) + DELAY;
        let data = |segments| requested + ack + wire(1_058) * segments + DELAY;
        let ends = [3, 6].map(|segments| data(segments) + ack + wire(106) + DELAY);
        let found: Vec<_> = exchanges(&pipe).iter().map(|it| (it.start, it.end, it.bytes)).collect();
        assert_eq!(found, ends.map(|end| (START, end, 3_196)));
    }

    #[test]
    fn a_round_that_is_not_full_ends_all() {
        let mut pipe = pipe(spec(&[10, 20, 30, 40], 4, 10));
        pipe.run_clean(NEVER);
        assert_eq!(exchanges(&pipe).len(), 10);
        let Endpoint::Conversation(far) = &pipe.far else { panic!("{:?}", pipe.far) };
        assert_eq!((far.delivered(), tcp_of(far).acknowledged()), (10 * 40, 10 * 60));
    }

    #[test]
    fn a_stop_lets_a_round_end_and_begins_none() {
        let application =
            Application::Conversation(ConversationSpec { exchanges: None, ..spec(&[100, 100], 3, 1) }.into());
        // An exchange lasts more than 11 us, so three rounds begin before the stop.
        let stop = START + Time::from_us(30);
        let mut pipe = connect(&ConnectionSpec { stop: Some(stop), ..over(application) }, RATE, DELAY);
        pipe.run_clean(NEVER);
        assert_eq!(exchanges(&pipe).len(), 9);
        assert!(exchanges(&pipe).iter().all(|it| it.start < stop));
        assert!(exchanges(&pipe)[8].end > stop);
    }

    #[test]
    fn what_cannot_be_meant() {
        let wrong = |change: fn(&mut ConversationSpec)| {
            let mut spec = spec(&[1, 2], 1, 1);
            change(&mut spec);
            spec.check().unwrap_err()
        };
        assert!(wrong(|it| it.messages = [].into()).contains("0 messages"));
        assert!(wrong(|it| it.messages = [1, 2, 3].into()).contains("3 messages"));
        assert!(wrong(|it| it.messages = [1, 0].into()).contains("a message of 0 B"));
        assert!(wrong(|it| it.outstanding = 0).contains("0 outstanding"));
        assert!(
            wrong(|it| it.transport = Transport::Tcp(tcp(Some(9), LossRecoveryKind::Sack, 1).into()))
                .contains("beside the messages")
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        /// Tests that over a wire that loses, marks, reorders and duplicates, every exchange ends and each byte arrives
        /// once and in order.
        #[test]
        fn everything_is_said_and_heard(
            tcp in any_spec(),
            pairs in prop::collection::vec((1u64..4_000, 1u64..4_000), 1..4),
            outstanding in 1u32..5,
            count in 0u64..12,
            delays in (0u64..20, 0u64..20),
            loss in 0u32..20,
            markers in any::<bool>(),
            seed in any::<u64>(),
        ) {
            let messages: Vec<u64> = pairs.iter().flat_map(|&(there, back)| [there, back]).collect();
            let spec = ConversationSpec {
                think: Delay::Exponential(Time::from_us(delays.0 + 1)),
                service: Delay::Exponential(Time::from_us(delays.1 + 1)),
                markers,
                ..carried_over(tcp, &messages, outstanding, count)
            };
            prop_assert_eq!(spec.check(), Ok(()));
            let spec = Arc::new(spec);
            let near = Conversation::opener(&spec, (START, None), FACTS, draws(seed).1);
            let far = Conversation::answerer(&spec, FACTS, draws(seed ^ 1).1);
            let mut pipe = Pipe::new(near, far, RATE, DELAY);
            pipe.run(NEVER, rough(loss, draws(!seed).0));
            let found = exchanges(&pipe);
            prop_assert_eq!(found.len() as u64, count);
            prop_assert!(found.is_sorted_by_key(|it| it.end));
            let sum = |opens| spec.on_stream(spec.of_end(opens).sum::<u64>() * count);
            prop_assert_eq!((pipe.far.delivered(), pipe.near.delivered()), (sum(true), sum(false)));
            prop_assert_eq!((pipe.near.poll_timeout(), pipe.far.poll_timeout()), (None, None));
            prop_assert!(!pipe.near.has_work() && !pipe.far.has_work());
        }

        /// Tests that arbitrary input at any time causes neither a panic nor an impossible state.
        #[test]
        fn nonsense_is_survived(
            tcp in any_spec(),
            opens in any::<bool>(),
            steps in prop::collection::vec((0u32..4, any::<u32>(), any::<u16>(), any::<[u8; 8]>()), 1..100),
        ) {
            let spec = Arc::new(carried_over(tcp, &[1, 5_000, 300, 20], 3, 1_000));
            let mut end = match opens {
                true => Conversation::opener(&spec, (START, Some(Time::from_ms(2))), FACTS, draws(1).1),
                false => Conversation::answerer(&spec, FACTS, draws(1).1),
            };
            let mut now = Time::ZERO;
            for (step, word, bytes, salt) in steps {
                now += Time::from_ns(u64::from(bytes));
                match step {
                    0 | 1 => end.handle_frame(now, &nonsense(word, bytes, salt, now, tcp_of(&end).sent())),
                    2 => end.handle_timeout(now),
                    _ => while end.poll_transmit(now).is_some() {},
                }
                while end.poll_record().is_some() {}
                prop_assert!(tcp_of(&end).acknowledged() <= tcp_of(&end).sent());
            }
        }
    }
}
