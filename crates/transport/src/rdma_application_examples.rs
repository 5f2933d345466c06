//! Applications over RDMA on a wire: closed-form results, and invariants under loss, marks, reordering and duplication.

use crate::application::ApplicationKeys;
use crate::pipe::{Outcome, Pipe, connect};
use crate::rdma_examples::{NEVER, dcqcn, keys};
use crate::testbed::{DELAY, RATE, START, draws, of_kind, over};
use crate::{
    Application, ConnectionSpec, ConversationKeys, Delay, Endpoint, HpccKeys, IscsiKeys, IwarpKeys,
    IwarpOperation, Messages, MpiExchangeKeys, Operation, Protocol, RdmaControlKeys, RdmaKeys, RdmaRecovery,
    RdmaVerb, Record, RecordKind, RequestResponseKeys, Talk, TcpKeys,
};
use frame::{FrameKind, Header};
use proptest::prelude::*;
use serde::de::DeserializeOwned;
use serde::de::value::{Error, MapDeserializer};
use units::{Bytes, Time};

const FRAME: u16 = 1_522;

fn sizes(sizes: &[u64]) -> Messages {
    Messages::Sizes(sizes.iter().copied().map(Bytes::new).collect())
}
fn reads(block: u64) -> Messages {
    Messages::Of(Talk::IscsiRead(IscsiKeys { block: Bytes::new(block), ..IscsiKeys::default() }))
}
/// Returns iSCSI writes with PDUs of 512 B.
fn writes(block: u64, first_burst: u64, max_burst: u64) -> Messages {
    let [block, data_segment, first_burst, max_burst] = [block, 512, first_burst, max_burst].map(Bytes::new);
    Messages::Of(Talk::IscsiWrite(IscsiKeys { block, data_segment, first_burst, max_burst }))
}

/// Returns the keys with these values, given by name.
fn given<T: DeserializeOwned>(keys: &[(&str, &str)]) -> T {
    T::deserialize(MapDeserializer::<_, Error>::new(keys.iter().copied())).expect("keys")
}
fn talking(rdma: RdmaKeys, messages: Messages) -> ConversationKeys {
    let mut keys: ConversationKeys = given(&[("messages", "ipc")]);
    (keys.messages, keys.rdma) = (messages, Some(Box::new(rdma)));
    keys
}

fn conversation(rdma: RdmaKeys, messages: Messages, outstanding: u64, exchanges: u64) -> ConnectionSpec {
    let mut keys = talking(rdma, messages);
    (keys.outstanding, keys.service) = (outstanding, Delay::Fixed(Time::from_us(1)));
    let (spec, _) = Box::new(keys.clone()).spec(None, FRAME).expect("a conversation");
    // The limit in bytes corresponds to this number of exchanges, whatever the messages.
    let own = spec.messages.iter().step_by(2).sum::<u64>();
    let (spec, _) = Box::new(keys).spec(Some(Bytes::new(own * exchanges)), FRAME).expect("a conversation");
    over(Application::Conversation(spec))
}

fn run(connection: &ConnectionSpec) -> Pipe<Endpoint, Endpoint> {
    let mut pipe = connect(connection, RATE, DELAY);
    pipe.run_clean(NEVER);
    pipe
}

fn exchanges(pipe: &Pipe<Endpoint, Endpoint>) -> Vec<Record> {
    of_kind(&pipe.records, RecordKind::Exchange)
}

/// Returns the operation of each data packet of an end, from its header.
fn operations(pipe: &Pipe<Endpoint, Endpoint>, end: usize, verb: RdmaVerb) -> Vec<(Operation, u16)> {
    let sent = pipe.sent_by(end);
    let data = sent.iter().filter(|(_, segment)| segment.kind == FrameKind::Data);
    data.map(|(_, segment)| {
        let label = segment.header.as_ref().map_or(0, Header::operation);
        (Operation::labelled(label, verb), segment.bytes)
    })
    .collect()
}

#[test]
fn a_request_is_served_and_answered() {
    let sizes = [("request", "100 B"), ("response", "2200 B"), ("think", "3 us"), ("service", "1 us")];
    let mut request: RequestResponseKeys = given(&sizes);
    request.rdma = Some(Box::new(keys()));
    let spec = |keys: RequestResponseKeys| Box::new(keys).spec(Some(Bytes::new(300)), FRAME).unwrap().0;
    let pipe = run(&over(spec(request.clone())));
    // Headers have 58 B. There are packets of 1,000 B and a last one of 200 B. The acknowledgement of the request is
    // sent during the service.
    let took = pipe.wire(158) + DELAY + Time::from_us(1) + pipe.wire(1_058) * 2 + pipe.wire(258) + DELAY;
    // The acknowledgement of the response is sent when the response arrives. It has left the host when the next request
    // is due, 3 us later.
    let starts = [0, 1, 2].map(|n| START + (took + Time::from_us(3)) * n);
    let record = |start| Record { kind: RecordKind::Exchange, start, end: start + took, bytes: 2_300 };
    assert_eq!(exchanges(&pipe), starts.map(record));
    assert!(pipe.records.iter().all(|one| one.kind != RecordKind::Transfer));
    // Over TCP with the same headers and segments the duration is the same, because a window does not limit three
    // segments.
    let tcp =
        TcpKeys { headers: Bytes::new(58), initial_window: units::Amount::Frames(10), ..TcpKeys::default() };
    let over_tcp = RequestResponseKeys { rdma: None, tcp: Some(Box::new(tcp)), ..request };
    let (Application::Conversation(spec), _) = Box::new(over_tcp).spec(Some(Bytes::new(300)), 1_058).unwrap()
    else {
        panic!("a conversation")
    };
    assert_eq!(exchanges(&run(&over(Application::Conversation(spec)))), exchanges(&pipe));
}

#[test]
fn a_write_has_immediate_data_in_its_last_packet() {
    let write = RdmaKeys { verb: RdmaVerb::Write, ..keys() };
    let pipe = run(&conversation(write, sizes(&[1_500, 10]), 1, 1));
    // 16 B in the first packet contain the address of the data; 4 B in the last one notify its completion.
    let there = [(Operation::Write, 1_074), (Operation::WriteWithImmediate, 562)];
    assert_eq!(operations(&pipe, 0, RdmaVerb::Write), there);
    assert_eq!(operations(&pipe, 1, RdmaVerb::Write), [(Operation::WriteWithImmediate, 88)]);
    assert_eq!(exchanges(&pipe).len(), 1);
}

#[test]
fn a_block_of_iser_is_written_by_the_target() {
    let pipe = run(&conversation(keys(), reads(2_500), 1, 1));
    assert_eq!(operations(&pipe, 0, RdmaVerb::Send), [(Operation::Send, 134)]);
    let data = [1_074, 1_058, 558].map(|bytes| (Operation::Write, bytes));
    assert_eq!(operations(&pipe, 1, RdmaVerb::Send), [&data[..], &[(Operation::Send, 134)]].concat());
    // A command, the service time, then the data and the response. The acknowledgement of the command was sent during
    // the service.
    let back = [1_074, 1_058, 558, 134]
        .map(|bytes| pipe.wire(bytes))
        .into_iter()
        .fold(Time::ZERO, |sum, it| sum + it);
    let took = pipe.wire(134) + DELAY + Time::from_us(1) + back + DELAY;
    let record =
        Record { kind: RecordKind::Exchange, start: START, end: START + took, bytes: 76 + 2_500 + 76 };
    assert_eq!(exchanges(&pipe), [record]);
}

#[test]
fn a_block_of_iser_is_read_by_the_target() {
    let messages = writes(2_500, 600, 1_024);
    let pipe = run(&conversation(keys(), messages, 1, 1));
    let (send, response) = (Operation::Send, Operation::ReadResponse);
    // 512 B and 88 B are unsolicited, 1,024 B take two packets and 876 B one. The first and the last packet have 4 B
    // more.
    let there = [(send, 646), (send, 222), (response, 1_062), (response, 86), (response, 938)];
    assert_eq!(operations(&pipe, 0, RdmaVerb::Send), there);
    let request = (Operation::ReadRequest, 74);
    assert_eq!(operations(&pipe, 1, RdmaVerb::Send), [request, request, (send, 134)]);
    assert_eq!(exchanges(&pipe).len(), 1);
}

#[test]
fn steps_of_mpi_take_what_their_packets_take() {
    let mut ranks: MpiExchangeKeys = given(&[("message", "936 B"), ("eager", "1500 B")]);
    (ranks.steps, ranks.rdma) = (Some(1), Some(Box::new(keys())));
    let (spec, warnings) = Box::new(ranks).spec(None, FRAME).unwrap();
    assert_eq!(warnings, []);
    let pipe = run(&over(Application::MpiExchange(spec)));
    let step = Record {
        kind: RecordKind::Exchange,
        start: START,
        end: START + pipe.wire(1_058) + DELAY,
        bytes: 2 * 936,
    };
    // A step of an end that is alone at its host does not wait, and here nothing begins the next step.
    assert_eq!(exchanges(&pipe), []);
    let Endpoint::MpiExchange(near) = &pipe.near else { panic!("{:?}", pipe.near) };
    let progress = near.progress().unwrap();
    assert_eq!(
        (progress.began[0], progress.done, progress.waits, near.delivered()),
        (step.start, true, true, 1)
    );
    assert_eq!(pipe.arrived.iter().find(|one| one.0 == 0).map(|one| one.1), Some(step.end));
}

#[test]
fn what_cannot_be_meant_says_why() {
    let wrong = |rdma: RdmaKeys, messages: Messages| {
        let found = Box::new(talking(rdma, messages)).spec(None, FRAME).unwrap_err();
        found.into_iter().map(|why| format!("{}; {}", why.message, why.help)).collect::<Vec<_>>().join("\n")
    };
    let list = || sizes(&[1_024, 64]);
    let read = wrong(RdmaKeys { verb: RdmaVerb::Read, ..keys() }, list());
    assert!(read.starts_with("verb = \"read\" in a conversation; the application whose memory"), "{read}");
    let write = wrong(RdmaKeys { verb: RdmaVerb::Write, ..keys() }, reads(1));
    assert!(write.starts_with("verb = \"write\" with messages of iSCSI; iSER"), "{write}");
    assert!(
        wrong(keys(), Messages::Of(Talk::Iwarp(IwarpOperation::Read, IwarpKeys::default())))
            .starts_with("iwarp over rdma: iWARP is RDMA")
    );
    assert!(wrong(RdmaKeys { ack_priority: Some(3), ..keys() }, list()).starts_with("ack_priority in a"));
}

/// Generates keys with every recovery and with controls of all kinds.
fn any_keys() -> impl Strategy<Value = RdmaKeys> {
    let control = RdmaControlKeys::Hpcc(HpccKeys::default());
    let controls = [RdmaControlKeys::None(Default::default()), dcqcn(), control];
    (prop::sample::select(controls.to_vec()), any::<bool>(), any::<bool>(), 1u64..4).prop_map(
        |(control, selective, write, every)| {
            let recovery = if selective { RdmaRecovery::Selective } else { RdmaRecovery::GoBackN };
            let verb = if write { RdmaVerb::Write } else { RdmaVerb::Send };
            RdmaKeys { control, recovery, verb, ack_every: Some(every), retries: 255, ..keys() }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Tests that over a wire that loses, marks, reorders and duplicates, every exchange ends and each message arrives
    /// once and in order.
    #[test]
    fn every_exchange_ends(
        rdma in any_keys(),
        application in 0usize..3,
        outstanding in 1u64..5,
        count in 1u64..8,
        loss in 0u32..20,
        seed in any::<u64>(),
    ) {
        let messages = [sizes(&[700, 3_500, 1, 1_001]), reads(5_000), writes(5_000, 900, 1_500)];
        let verb = if application == 0 { rdma.verb } else { RdmaVerb::Send };
        let connection = conversation(RdmaKeys { verb, ..rdma }, messages[application].clone(), outstanding, count);
        let Application::Conversation(spec) = &connection.application else { panic!("a conversation") };
        let count = spec.exchanges.unwrap();
        let mut pipe = connect(&connection, RATE, DELAY);
        let mut draw = draws(seed).0;
        pipe.run(NEVER, |_, _| Outcome {
            lost: draw(100) < loss.into(),
            trimmed: draw(100) < loss.into(),
            marked: draw(100) < 20,
            twice: draw(100) < 10,
            extra: Time::from_ns(draw(3_000)),
        });
        let found = exchanges(&pipe);
        prop_assert_eq!(found.len() as u64, count);
        prop_assert!(found.is_sorted_by_key(|it| it.end));
        let sum = |opens: usize| spec.posts.iter().skip(opens).step_by(2).map(|it| it.len() as u64).sum::<u64>() * count;
        let delivered = |end: &Endpoint| match end {
            Endpoint::Conversation(it) => it.delivered(),
            other => panic!("{other:?}"),
        };
        prop_assert_eq!((delivered(&pipe.far), delivered(&pipe.near)), (sum(0), sum(1)));
        prop_assert_eq!((pipe.near.poll_timeout(), pipe.far.poll_timeout()), (None, None));
        prop_assert!(!pipe.near.has_work() && !pipe.far.has_work());
    }
}
