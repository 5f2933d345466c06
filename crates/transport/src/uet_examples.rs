//! Packet delivery contexts over a wire: examples computed by hand, closed-form results, and behaviour under loss,
//! marks, reordering and duplication.

mod clean;
mod control_losses;
mod recovery;

use crate::pipe::{Outcome, Pipe, losing};
use crate::testbed::{DELAY, RATE, draws, of_kind};
use crate::uet_sender::header_of;
use crate::{
    NsccKeys, Protocol, RcccKeys, RdmaWord, Received, RecordKind, Segment, UetControlKeys, UetKeys, UetMode,
    UetPreset, UetReceiver, UetSender, UetSpec,
};
use frame::{FrameKind, Header, Ports, Trim, UetHeader, UetPacket};
use keys::Remark;
use proptest::prelude::*;
use std::sync::Arc;
use units::{Bytes, Or, Time};
use workload::Due;

type Wire = Pipe<UetSender, UetReceiver>;

const NEVER: Time = Time::NEVER;

fn us(us: u64) -> Time {
    Time::from_us(us)
}
fn keys() -> UetKeys {
    UetKeys {
        control: UetControlKeys::None(Default::default()),
        payload: Or::Value(Bytes::new(1_000)),
        timeout: Or::Value(us(500)),
        loss_inference: Some(false),
        ack_every: Or::Value(Bytes::new(16 << 10)),
        ..UetKeys::default()
    }
}
fn spec(keys: &UetKeys) -> Arc<UetSpec> {
    let (spec, _) = keys.carrier(Some(Bytes::new(0)), 1_522).unwrap();
    assert_eq!(spec.check(), Ok(()));
    spec
}
fn due(rows: &[(u64, u64)]) -> Arc<[Due]> {
    let row = |&(at, bytes)| Due { start: us(at), bytes, ports: Ports::default(), awaited: false };
    rows.iter().map(row).collect()
}
fn transfers(keys: &UetKeys, rows: &[(u64, u64)]) -> Wire {
    let spec = spec(keys);
    let facts = spec.facts(RATE, DELAY + DELAY, false);
    let receiver = UetReceiver::new(&spec, rows.len(), &facts);
    Pipe::new(UetSender::new(&spec, due(rows), facts, Time::ZERO, None), receiver, RATE, DELAY)
}
fn header(segment: &Segment) -> UetHeader {
    header_of(&Received::from(segment))
}
/// Returns the sequence numbers of the packets sent, in order.
fn packets(pipe: &Wire) -> Vec<u32> {
    pipe.sent_by(0).iter().map(|(_, it)| RdmaWord::of(header(it).word).number).collect()
}
fn acks(pipe: &Wire) -> Vec<(Time, UetHeader)> {
    pipe.sent_by(1).iter().map(|(at, it)| (*at, header(it))).collect()
}
fn delivered(pipe: &Wire, transfer: usize) -> Option<Time> {
    let (context, last) = pipe.near.last_psn(transfer)?;
    pipe.far.delivered(context, last)
}
#[test]
fn sizes_are_those_of_the_headers() {
    let full = |keys: UetKeys, frame| {
        let (spec, _) = keys.carrier(None, frame).unwrap();
        (spec.payload, spec.frame_bytes(spec.payload), spec.ack)
    };
    assert_eq!(full(UetKeys::default(), 4_198), (4_096, 4_198, 90));
    assert_eq!(full(UetKeys::default(), 1_522), (1_024, 1_126, 90));
    let htsim = UetKeys { preset: UetPreset::Htsim, ..UetKeys::default() };
    assert_eq!(
        full(UetKeys { payload: Or::Value(Bytes::new(4_086)), ..htsim.clone() }, 4_150),
        (4_086, 4_150, 64)
    );
    assert_eq!(full(UetKeys { headers: Some(Bytes::new(100)), ..htsim }, 612), (512, 612, 64));
}

#[test]
fn messages_follow_each_other() {
    // One message of three packets, the last of 500 B, and one of a single packet. A packet of 1102 B takes 881.6 ns.
    let mut pipe = transfers(&keys(), &[(0, 2_500), (0, 1_000)]);
    pipe.run_clean(NEVER);
    assert_eq!(packets(&pipe), [1, 2, 3, 4]);
    let wire = |bytes: u64| pipe.wire(bytes);
    let first = wire(1_102) * 2 + wire(602) + DELAY;
    assert_eq!(delivered(&pipe, 0), Some(first));
    assert_eq!(delivered(&pipe, 1), Some(first + wire(1_102)));
    // The first packet is acknowledged, and the last one, which requests it.
    let acks = acks(&pipe);
    let at = [wire(1_102) + DELAY, first + wire(1_102)];
    assert_eq!(acks.iter().map(|ack| ack.0).collect::<Vec<_>>(), at);
    assert_eq!(acks.iter().map(|ack| RdmaWord::of(ack.1.word).number).collect::<Vec<_>>(), [1, 4]);
    // 1102 and 3 * 1102 + 602 B, in units of 256 B, rounded up.
    assert_eq!(acks.iter().map(|ack| ack.1.received).collect::<Vec<_>>(), [5, 16]);
    let outcomes = pipe.near.outcomes();
    let acknowledged = first + wire(1_102) + wire(90) + DELAY;
    assert_eq!((outcomes[0].acknowledged, outcomes[1].acknowledged), (acknowledged, acknowledged));
    assert_eq!((pipe.near.poll_timeout(), pipe.near.context().bytes_in_flight()), (None, 0));
}

#[test]
fn an_ack_leaves_for_16_kib_a_mark_a_request_and_a_duplicate() {
    // Of 40 packets the first is acknowledged, every 15th counted from there (16,530 B exceed 16,384 B), and the last.
    let mut pipe = transfers(&keys(), &[(0, 40_000)]);
    pipe.run_clean(NEVER);
    assert_eq!(acks(&pipe).iter().map(|ack| ack.1.answers).collect::<Vec<_>>(), [1, 16, 31, 40]);
    // A mark is answered at once, and restarts the count.
    let marked = UetKeys { control: UetControlKeys::default(), ..keys() };
    let mut pipe = transfers(&marked, &[(0, 40_000)]);
    let mut sent = 0;
    pipe.run(NEVER, |end, _| {
        sent += usize::from(end == 0);
        Outcome { marked: end == 0 && sent == 7, twice: end == 0 && sent == 12, ..Outcome::default() }
    });
    let answers: Vec<u32> = acks(&pipe).iter().map(|ack| ack.1.answers).collect();
    assert!(answers.starts_with(&[1, 7]) && answers.ends_with(&[40]), "{answers:?}");
    assert_eq!(
        (answers.iter().filter(|&&psn| psn == 12).count(), pipe.far.context(0).unwrap().counts.duplicates),
        (1, 1)
    );
    let kinds: Vec<FrameKind> = pipe.sent_by(1).iter().map(|(_, it)| it.kind).collect();
    assert_eq!(kinds.iter().filter(|&&kind| kind == FrameKind::MarkedAck).count(), 1);
    assert_eq!((kinds[1], pipe.near.context().counts.marks), (FrameKind::MarkedAck, 1));
}

#[test]
fn a_gap_is_in_the_bitmap_and_the_timer_repairs_it() {
    let mut pipe = transfers(&keys(), &[(0, 5_000)]);
    pipe.run(NEVER, losing(&[1]));
    // The last packet requests an acknowledgement. It is cumulative up to 1, and its bitmap from 2 on contains 3, 4 and
    // 5.
    let last = acks(&pipe)[1].1;
    assert_eq!(RdmaWord::of(last.word).number, 1);
    assert_eq!((last.sack_base, last.sack, last.out_of_order, last.received), (2, 0b1110, 3, 18));
    assert_eq!(packets(&pipe), [1, 2, 3, 4, 5, 2]);
    // The lost packet was sent 881.6 ns after the first one, and expires 500 us later.
    let again = pipe.sent_by(0)[5];
    assert_eq!(again.0, pipe.wire(1_102) + us(500));
    assert!(header(&again.1).retransmitted);
    assert_eq!(delivered(&pipe, 0), Some(again.0 + pipe.wire(1_102) + DELAY));
    let counts = pipe.near.context().counts;
    assert_eq!((counts.timeouts, counts.retransmitted, counts.sent), (1, 1, 6));
    assert_eq!((pipe.near.outcomes()[0].sent_again, pipe.near.outcomes()[0].timeouts), (1, 1));
}

#[test]
fn a_message_does_not_wait_for_one_before_it() {
    let mut pipe = transfers(&keys(), &[(0, 3_000), (0, 2_000)]);
    pipe.run(NEVER, losing(&[2]));
    assert!(delivered(&pipe, 1) < delivered(&pipe, 0), "unordered delivery");
    assert_eq!(delivered(&pipe, 1), Some(pipe.wire(1_102) * 5 + DELAY));
    assert_eq!(
        (pipe.far.context(0).unwrap().counts.messages, pipe.far.context(0).unwrap().counts.in_order),
        (2, 2)
    );
}

#[test]
fn a_round_trip_counts_if_it_is_certain_which_packet_it_is_of() {
    // The packet is lost. The acknowledgement identifies the retransmission, and its round trip is measured.
    let mut pipe = transfers(&keys(), &[(0, 1_000)]);
    pipe.run(NEVER, losing(&[0]));
    let trips = of_kind(&pipe.records, RecordKind::RoundTrip);
    assert_eq!(trips.len(), 1);
    assert_eq!(trips[0].end - trips[0].start, pipe.wire(1_102) + pipe.wire(90) + DELAY * 2);
    // The packet is late, not lost. Its acknowledgement arrives after the retransmission and is not measured.
    let mut pipe = transfers(&keys(), &[(0, 1_000)]);
    let mut sent = 0;
    pipe.run(NEVER, |end, _| {
        sent += usize::from(end == 0);
        let late = end == 0 && sent == 1;
        Outcome { extra: if late { us(499) } else { Time::ZERO }, ..Outcome::default() }
    });
    assert_eq!(packets(&pipe), [1, 1]);
    assert_eq!(of_kind(&pipe.records, RecordKind::RoundTrip), []);
    assert_eq!(
        (pipe.far.context(0).unwrap().counts.duplicates, pipe.near.context().bytes_in_flight()),
        (1, 0)
    );
}

#[test]
fn timeouts_double_and_the_context_fails() {
    let mut pipe = transfers(&UetKeys { retries: 3, ..keys() }, &[(0, 1_000)]);
    pipe.run(NEVER, |end, _| Outcome { lost: end == 0, ..Outcome::default() });
    let times: Vec<Time> = pipe.sent_by(0).iter().map(|(at, _)| *at).collect();
    assert_eq!(times, [us(0), us(500), us(1_500), us(3_500)]);
    assert_eq!(pipe.near.context().failed(), Some(us(7_500)));
    assert_eq!((pipe.near.has_work(), pipe.near.poll_timeout()), (false, None));
    assert_eq!(pipe.near.outcomes()[0].missing, 1_000);
}

#[test]
fn a_window_limits_what_is_in_flight() {
    let window = Or::Value(units::Amount::Frames(4));
    let control = NsccKeys { initial_window: window, max_window: window, ..NsccKeys::default() };
    let mut pipe = transfers(&UetKeys { control: UetControlKeys::Nscc(control), ..keys() }, &[(0, 20_000)]);
    pipe.run_clean(NEVER);
    let sent = pipe.sent_by(0);
    // Four packets are sent. The fourth requests an acknowledgement, because no other packet may follow.
    let back = pipe.wire(1_102) * 4 + DELAY + pipe.wire(90) + DELAY;
    // The first packet is acknowledged because it is the first of the context.
    let first = pipe.wire(1_102) + DELAY + pipe.wire(90) + DELAY;
    let after: Vec<Time> = sent.iter().map(|(at, _)| *at).filter(|&at| at > pipe.wire(1_102) * 3).collect();
    assert_eq!(after[0], first);
    assert!(after[1] >= back, "the counter is rounded up by less than a packet");
    assert!(delivered(&pipe, 0).is_some());
}

/// Returns a NACK for a packet.
fn nack(psn: u32, code: u8) -> Received {
    let word = RdmaWord { number: psn, flags: [false; 3], pair: 0 }.bits();
    Received {
        kind: FrameKind::Ack,
        word: 0,
        header: Some(Header::Uet(UetHeader { word, packet: UetPacket::Nack(code), ..UetHeader::default() })),
        bytes: 90,
        congestion_experienced: false,
        created: Time::ZERO,
        trim: Trim::Whole,
        entropy: 0,
    }
}

#[test]
fn a_trimmed_packet_is_sent_again_at_once() {
    let spec = spec(&UetKeys { control: UetControlKeys::default(), ..keys() });
    let facts = spec.facts(RATE, DELAY + DELAY, false);
    let mut sender = UetSender::new(&spec, due(&[(0, 3_000)]), facts, Time::ZERO, None);
    sender.handle_timeout(us(0));
    while sender.poll_transmit(us(0)).is_some() {}
    let in_flight = sender.context().bytes_in_flight();
    assert_eq!(in_flight, 3 * 1_102);
    sender.handle_frame(us(9), &nack(2, 1));
    assert_eq!(sender.context().bytes_in_flight(), 2 * 1_102);
    let segment = sender.poll_transmit(us(9)).unwrap();
    assert_eq!((RdmaWord::of(header(&segment).word).number, header(&segment).retransmitted), (2, true));
    // The same NACK again applies to the new transmission. Another code or an unknown packet has no effect.
    for other in [nack(2, 4), nack(9, 1), nack(0, 1)] {
        sender.handle_frame(us(10), &other);
        assert!(!sender.has_work());
    }
    assert_eq!(sender.context().counts.nacks, 4);
}

#[test]
fn packets_have_entropy_values_that_answers_echo() {
    let mixed = crate::PathSelectionKeys::all().into_iter().find(|keys| keys.name() == "reps").unwrap();
    let own = UetKeys { paths: mixed, ack_every: Or::Value(Bytes::new(1)), ..keys() };
    let spec = spec(&own);
    let facts = spec.facts(RATE, DELAY + DELAY, false);
    let sender = UetSender::new(&spec, due(&[(0, 40_000)]), facts, Time::ZERO, None).seeded(7);
    let mut pipe = Pipe::new(sender, UetReceiver::new(&spec, 1, &facts), RATE, DELAY);
    // One value is always marked, so it is not recycled.
    let bad = std::cell::Cell::new(0);
    pipe.run(NEVER, |end, it| {
        if bad.get() == 0 && end == 0 {
            bad.set(it.entropy);
        }
        Outcome { marked: end == 0 && it.entropy == bad.get(), ..Outcome::default() }
    });
    let values: Vec<u16> = pipe.sent_by(0).iter().map(|(_, it)| it.entropy).collect();
    assert!(values.iter().all(|&value| value > 0));
    assert!(values.iter().collect::<std::collections::BTreeSet<_>>().len() > 8, "{values:?}");
    for (_, ack) in pipe.sent_by(1) {
        let psn = header(&ack).answers as usize;
        assert_eq!(ack.entropy, values[psn - 1]);
        assert_eq!(ack.kind == FrameKind::MarkedAck, ack.entropy == bad.get());
    }
}

#[test]
fn a_packet_that_arrives_trimmed_is_answered_with_a_nack() {
    let spec = spec(&keys());
    let mut receiver = UetReceiver::new(&spec, 1, &spec.facts(RATE, DELAY + DELAY, false));
    let word = |psn| RdmaWord { number: psn, flags: [false, false, psn == 1], pair: 0 }.bits();
    let arrives = |receiver: &mut UetReceiver, psn, trim| {
        let frame =
            Received { kind: FrameKind::Data, word: word(psn), header: None, bytes: 150, trim, ..nack(0, 0) };
        receiver.handle_frame(us(1), &frame);
        receiver.poll_transmit(us(1)).map(|it| header(&it))
    };
    for (trim, code) in [(Trim::Trimmed, 1), (Trim::AtLastHop, 2)] {
        let answer = arrives(&mut receiver, 1, trim).unwrap();
        assert_eq!((answer.packet, RdmaWord::of(answer.word).number), (UetPacket::Nack(code), 1));
    }
    assert_eq!(
        (receiver.context(0).unwrap().counts.packets, receiver.context(0).unwrap().counts.trimmed),
        (0, 2)
    );
    assert_eq!(arrives(&mut receiver, 1, Trim::Whole).unwrap().packet, UetPacket::Ack);
    // A packet that is trimmed after it has already arrived is a duplicate.
    assert_eq!(arrives(&mut receiver, 1, Trim::Trimmed).unwrap().packet, UetPacket::Ack);
    assert_eq!(
        (receiver.context(0).unwrap().counts.packets, receiver.context(0).unwrap().counts.duplicates),
        (1, 1)
    );
}

#[test]
fn a_packet_out_of_the_window_is_answered_with_a_nack() {
    let spec = spec(&UetKeys { psn_range: 8, ..keys() });
    let mut receiver = UetReceiver::new(&spec, 1, &spec.facts(RATE, DELAY + DELAY, false));
    for (psn, nacks) in [(9, 1), (8, 1), (1, 1), (9, 1)] {
        let word = RdmaWord { number: psn, flags: [false, false, psn == 1], pair: 0 }.bits();
        let frame = Received { kind: FrameKind::Data, word, header: None, bytes: 1_102, ..nack(0, 0) };
        receiver.handle_frame(us(1), &frame);
        while receiver.poll_transmit(us(1)).is_some() {}
        assert_eq!(receiver.context(0).unwrap().counts.nacks, nacks);
    }
    assert_eq!(
        (receiver.context(0).unwrap().counts.packets, receiver.context(0).unwrap().counts.out_of_order),
        (3, 2)
    );
}

#[test]
fn wrong_keys() {
    let wrong = |keys: UetKeys| -> Vec<String> {
        let about = |why: &Remark| format!("{:?}", why.path);
        keys.carrier(None, 1_522).unwrap_err().iter().map(about).collect()
    };
    let about = |key: &str| format!("{:?}", Remark::about(key, "", "").path);
    let size = |bytes| Some(Bytes::new(bytes));
    assert_eq!(wrong(UetKeys { headers: size(1_522), ..keys() }), [about("headers")]);
    assert_eq!(wrong(UetKeys { headers: size(0), ..keys() }), [about("headers")]);
    assert_eq!(wrong(UetKeys { payload: Or::Value(Bytes::new(1_421)), ..keys() }), [about("payload")]);
    assert_eq!(wrong(UetKeys { ack: size(0), ..keys() }), [about("ack")]);
    assert_eq!(wrong(UetKeys { psn_range: 0, ..keys() }), [about("psn_range")]);
    assert_eq!(wrong(UetKeys { retries: 256, ..keys() }), [about("retries")]);
    assert_eq!(wrong(UetKeys { timeout: Or::Value(Time::ZERO), ..keys() }), [about("timeout")]);
}

#[test]
fn ordered_delivery_goes_back() {
    let mut pipe = transfers(&UetKeys { mode: UetMode::Rod, ..keys() }, &[(0, 5_000), (0, 1_000)]);
    pipe.run(NEVER, losing(&[1]));
    // The third packet is behind a gap: one NACK is sent, and all packets from the second on are retransmitted.
    assert_eq!(packets(&pipe), [1, 2, 3, 4, 5, 6, 2, 3, 4, 5, 6]);
    let nacks: Vec<UetHeader> =
        acks(&pipe).into_iter().map(|ack| ack.1).filter(|it| it.packet == UetPacket::Nack(13)).collect();
    assert_eq!(nacks.iter().map(|it| RdmaWord::of(it.word).number).collect::<Vec<_>>(), [2]);
    let (sent, received) = (pipe.near.context().counts, pipe.far.context(0).unwrap().counts);
    assert_eq!((sent.timeouts, sent.nacks, sent.retransmitted), (0, 1, 5));
    assert_eq!((received.packets, received.out_of_order, received.held), (6, 4, 0));
    assert!(delivered(&pipe, 0) < delivered(&pipe, 1));
    assert_eq!(pipe.near.context().bytes_in_flight(), 0);
}

#[test]
fn messages_without_a_context_are_answered_packet_by_packet() {
    let mut pipe = transfers(&UetKeys { mode: UetMode::Rudi, ..keys() }, &[(0, 3_000)]);
    pipe.run(NEVER, losing(&[1]));
    assert_eq!(packets(&pipe), [1, 2, 3, 2]);
    assert_eq!(pipe.sent_by(0)[0].1.bytes, 1_098);
    assert!(pipe.sent_by(1).iter().all(|(_, it)| it.bytes == 66));
    assert_eq!(acks(&pipe).iter().map(|ack| ack.1.answers).collect::<Vec<_>>(), [1, 3, 2]);
    assert_eq!((pipe.near.context().counts.timeouts, pipe.near.context().bytes_in_flight()), (1, 0));
    // A response is lost, so the packet is placed twice.
    let mut pipe = transfers(&UetKeys { mode: UetMode::Rudi, ..keys() }, &[(0, 1_000)]);
    let mut answers = 0;
    pipe.run(NEVER, |end, _| {
        answers += usize::from(end == 1);
        Outcome { lost: end == 1 && answers == 1, ..Outcome::default() }
    });
    assert_eq!((packets(&pipe), pipe.far.context(0).unwrap().counts.duplicates), (vec![1, 1], 1));
    assert_eq!(pipe.near.outcomes()[0].missing, 0);
}

#[test]
fn datagrams_are_not_acknowledged() {
    let mut pipe = transfers(&UetKeys { mode: UetMode::Uud, ..keys() }, &[(0, 3_000), (0, 1_000)]);
    pipe.run(NEVER, losing(&[1]));
    assert_eq!((packets(&pipe), pipe.sent_by(1).len()), (vec![1, 2, 3, 4], 0));
    assert_eq!(pipe.sent_by(0)[0].1.bytes, 1_094);
    assert_eq!(
        (pipe.far.context(0).unwrap().counts.packets, pipe.far.context(0).unwrap().counts.messages),
        (3, 1)
    );
    assert!(delivered(&pipe, 0).is_none() && delivered(&pipe, 1).is_some());
    assert_eq!((pipe.near.poll_timeout(), pipe.near.context().outstanding()), (None, 0));
    assert!(pipe.near.outcomes().iter().all(|outcome| outcome.acknowledged == NEVER));
    let missing = |nth: usize, bytes| {
        let (context, last) = pipe.near.last_psn(nth).unwrap();
        pipe.near.missing_of(last, bytes, |range| pipe.far.arrived(context, range))
    };
    assert_eq!((missing(0, 3_000), missing(1, 1_000)), (1_000, 0));
}
