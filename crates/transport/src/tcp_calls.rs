//! Unit tests of the two ends of TCP in isolation, call by call.

use crate::endpoint::{Protocol, Received, Segment};
use crate::testbed::{draws, tcp};
use crate::{EcnMode, LossRecoveryKind, TcpReceiver, TcpSender, TcpSpec};
use frame::{FrameKind, Header, TcpHeader, Trim};
use std::sync::Arc;
use units::Time;

fn us(us: u64) -> Time {
    Time::from_us(us)
}
/// Returns a full segment of data with this number, counted in segments.
fn data(nth: u32, marked: bool) -> Received {
    Received {
        kind: FrameKind::Data,
        word: nth * 1_000,
        header: None,
        bytes: 1_058,
        congestion_experienced: marked,
        created: us(u64::from(nth)),
        trim: Trim::Whole,
        entropy: 0,
    }
}
/// Returns an acknowledgement with this number, counted in segments.
fn ack(nth: u32, ece: bool) -> Received {
    Received { kind: if ece { FrameKind::MarkedAck } else { FrameKind::Ack }, ..data(nth, false) }
}
fn header(segment: &Segment) -> TcpHeader {
    segment.header.as_ref().and_then(Header::tcp).copied().unwrap()
}
/// Processes frames and returns the acknowledgements: the number, counted in segments, and true if it echoes a mark.
fn answers(receiver: &mut TcpReceiver, frames: &[Received]) -> Vec<(u32, bool)> {
    let mut answers = vec![];
    for frame in frames {
        receiver.handle_frame(us(1), frame);
        while let Some(answer) = receiver.poll_transmit(us(1)) {
            let number = answer.header.map_or(answer.word, |_| header(&answer).number);
            answers.push((number / 1_000, answer.kind == FrameKind::MarkedAck));
        }
    }
    answers
}
fn receiver(spec: TcpSpec) -> TcpReceiver {
    TcpReceiver::new(&Arc::new(spec))
}
fn sender(spec: TcpSpec) -> TcpSender {
    let mut sender = TcpSender::new(&Arc::new(spec), Time::ZERO, None, draws(1).1);
    sender.handle_timeout(Time::ZERO);
    sender
}
fn sent(sender: &mut TcpSender, now: Time) -> Vec<Segment> {
    std::iter::from_fn(|| sender.poll_transmit(now)).collect()
}

#[test]
fn acknowledgements_are_delayed_but_not_around_gaps() {
    let mut it = receiver(TcpSpec { ack_every: 2, ..tcp(None, LossRecoveryKind::NewReno, 1) });
    let plain = |nth| data(nth, false);
    assert_eq!(answers(&mut it, &[plain(0), plain(1), plain(2)]), [(2, false)]);
    assert_eq!(it.poll_timeout(), Some(us(501)));
    // A gap, a gap within it, a segment that fills part of the gap, one that fills the rest, and a duplicate: each is
    // acknowledged at once.
    let frames = [4, 6, 3, 5, 2].map(plain);
    assert_eq!(answers(&mut it, &frames), [3, 3, 5, 7, 7].map(|number| (number, false)));
    assert_eq!((it.delivered(), it.discarded(), it.poll_timeout()), (7_000, 1, None));
    assert_eq!(answers(&mut it, &[plain(7)]), []);
    it.handle_timeout(us(501));
    assert_eq!(it.poll_transmit(us(501)).unwrap().word, 8_000);
}

#[test]
fn each_duplicate_is_an_acknowledgement_of_its_own() {
    let mut it = receiver(tcp(None, LossRecoveryKind::NewReno, 1));
    // The NIC does not send any acknowledgement before all segments have arrived.
    for nth in [0, 2, 3, 4] {
        it.handle_frame(us(1), &data(nth, false));
    }
    let words: Vec<u32> = std::iter::from_fn(|| it.poll_transmit(us(2))).map(|it| it.word).collect();
    assert_eq!(words, [1_000; 4]);
}

#[test]
fn blocks_tell_what_came_last_first() {
    // RFC 2018 section 4. Segment 1 is missing, then 3, 5 and 7.
    let mut it = receiver(tcp(None, LossRecoveryKind::Sack, 1));
    let mut blocks = |nth| {
        it.handle_frame(us(1), &data(nth, false));
        let ack = it.poll_transmit(us(1)).unwrap();
        let blocks = ack.header.map_or(vec![], |_| header(&ack).sacks.to_vec());
        let sizes: Vec<(u32, u32)> =
            blocks.iter().map(|it| (it.0 / 1_000, it.1 / 1_000)).filter(|it| it.1 > 0).collect();
        (sizes, ack.bytes)
    };
    // 58 B of headers, two of the option and two of padding, and eight per block.
    assert_eq!(blocks(0), (vec![], 64));
    assert_eq!(blocks(2), (vec![(2, 3)], 70));
    assert_eq!(blocks(4), (vec![(4, 5), (2, 3)], 78));
    assert_eq!(blocks(6), (vec![(6, 7), (4, 5), (2, 3)], 86));
    assert_eq!(blocks(8), (vec![(8, 9), (6, 7), (4, 5)], 86));
    assert_eq!(blocks(3), (vec![(2, 5), (8, 9), (6, 7)], 86));
    assert_eq!(blocks(1), (vec![(8, 9), (6, 7)], 78));
}

#[test]
fn an_echo_lasts_until_the_sender_has_reduced() {
    let mut it = receiver(TcpSpec { ecn: EcnMode::Rfc3168, ..tcp(None, LossRecoveryKind::NewReno, 1) });
    let cwr = |nth: u32, marked| Received {
        header: Some(Header::Tcp(TcpHeader { number: nth * 1_000, cwr: true, ..TcpHeader::default() })),
        word: 0,
        ..data(nth, marked)
    };
    let frames = [data(0, false), data(1, true), data(2, false), cwr(3, true), data(4, false), cwr(5, false)];
    assert_eq!(
        answers(&mut it, &frames),
        [(1, false), (2, true), (3, true), (4, true), (5, true), (6, false)]
    );
}

#[test]
fn dctcp_echoes_where_marks_change() {
    // RFC 8257 section 3.2: one acknowledgement per two segments, and at once when the mark changes.
    let mut it =
        receiver(TcpSpec { ecn: EcnMode::Dctcp, ack_every: 2, ..tcp(None, LossRecoveryKind::NewReno, 1) });
    let marks = [false, true, true, true, false, false, false, true];
    let frames: Vec<Received> = (0..).zip(marks).map(|(nth, marked)| data(nth, marked)).collect();
    assert_eq!(answers(&mut it, &frames), [(1, false), (3, true), (4, true), (6, false), (7, false)]);
    it.handle_timeout(us(501));
    let last = it.poll_transmit(us(501)).unwrap();
    assert_eq!((last.word, last.kind), (8_000, FrameKind::MarkedAck));
}

#[test]
fn a_mark_reduces_the_window_once_a_window_and_the_peer_is_told() {
    let mut it = sender(TcpSpec { ecn: EcnMode::Rfc3168, ..tcp(None, LossRecoveryKind::NewReno, 8) });
    assert!(sent(&mut it, us(0)).iter().all(|segment| segment.ecn_capable && segment.header.is_none()));
    let window = |it: &TcpSender| it.congestion().unwrap().window;
    for nth in 1..=8 {
        it.handle_frame(us(10), &ack(nth, true));
        assert_eq!(window(&it), 4_000);
    }
    let segments = sent(&mut it, us(10));
    assert_eq!(
        segments.iter().map(|it| it.header.is_some()).collect::<Vec<_>>(),
        [true, false, false, false]
    );
    assert!(header(&segments[0]).cwr);
    // The first acknowledgement of data sent since the reduction may reduce the window again.
    it.handle_frame(us(20), &ack(9, true));
    assert_eq!((window(&it), it.congestion().unwrap().marks), (2_000, 9));
}

#[test]
fn timestamps_time_the_first_segment_of_each_acknowledgement() {
    // RFC 7323 section 4.3: a delayed acknowledgement echoes the earlier of the two timestamps; beyond a gap, the one
    // before the gap is echoed.
    let mut it =
        receiver(TcpSpec { timestamps: true, ack_every: 2, ..tcp(None, LossRecoveryKind::NewReno, 1) });
    let mut echoes = vec![];
    for nth in [0, 1, 2, 4, 3] {
        it.handle_frame(us(9), &data(nth, false));
        echoes.extend(std::iter::from_fn(|| it.poll_transmit(us(9))).map(|ack| header(&ack).ts_ecr.unwrap()));
    }
    assert_eq!(echoes, [us(0), us(2), us(3)]);
    // The sender measures the echoed time, even for a retransmitted segment.
    let mut it = sender(TcpSpec { timestamps: true, ..tcp(None, LossRecoveryKind::NewReno, 1) });
    sent(&mut it, us(0));
    it.handle_timeout(us(1_000));
    sent(&mut it, us(1_000));
    let header = TcpHeader { number: 1_000, ts_ecr: Some(us(1_000)), ..TcpHeader::default() };
    it.handle_frame(us(1_030), &Received { header: Some(Header::Tcp(header)), ..ack(1, false) });
    assert_eq!(it.congestion().unwrap().round_trip, Some(us(30)));
}

#[test]
fn what_is_padded_says_its_length() {
    let mut it = sender(tcp(Some(1_003), LossRecoveryKind::NewReno, 4));
    let segments = sent(&mut it, us(0));
    assert_eq!(segments.iter().map(|it| it.bytes).collect::<Vec<_>>(), [1_058, 64]);
    assert_eq!(header(&segments[1]), TcpHeader { number: 1_000, payload: Some(3), ..TcpHeader::default() });
    let mut it = receiver(tcp(None, LossRecoveryKind::NewReno, 1));
    for segment in segments {
        it.handle_frame(
            us(1),
            &Received { word: segment.word, header: segment.header, bytes: segment.bytes, ..data(0, false) },
        );
    }
    assert_eq!(it.delivered(), 1_003);
}

#[test]
fn what_may_leave_waits_for_a_random_time() {
    let mut it = sender(TcpSpec { jitter: us(3), ..tcp(None, LossRecoveryKind::NewReno, 2) });
    let until = it.poll_timeout().unwrap();
    assert!(until < us(3) && until > Time::ZERO && !it.has_work());
    it.handle_timeout(until);
    assert_eq!(sent(&mut it, until).len(), 2);
    it.handle_frame(us(10), &ack(1, false));
    assert!(!it.has_work() && it.poll_timeout().unwrap() < us(13));
}
