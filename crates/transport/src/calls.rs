//! Unit tests of single endpoints, call by call, for cases in which frames are later than a simulated wire would
//! deliver them.

use crate::endpoint::{Protocol, Received};
use crate::exchange::Label;
use crate::testbed::{DELAY, Facts as _, START, draws, exchanges, transfer, window};
use crate::{RequestResponseSpec, Requester, Responder, WindowReceiver, WindowSender, WindowSpec};
use frame::{FrameKind, Trim};
use units::Time;

fn data(word: u32, marked: bool) -> Received {
    Received {
        kind: FrameKind::Data,
        word,
        header: None,
        bytes: 64,
        congestion_experienced: marked,
        created: Time::ZERO,
        trim: Trim::Whole,
        entropy: 0,
    }
}
fn label(slot: u8, turn: u8, segment: u16) -> u32 {
    Label { slot, turn, segment }.word()
}

#[test]
fn one_acknowledgement_says_what_came_before_it_left() {
    let spec = WindowSpec { ack_every: 2, ..transfer(None, window(8)) };
    let mut receiver = WindowReceiver::new(&spec);
    for (word, marked) in [(0, true), (1, false), (2, false)] {
        receiver.handle_frame(START, &data(word, marked));
    }
    let ack = receiver.poll_transmit(START).unwrap();
    assert_eq!((ack.kind, ack.word), (FrameKind::MarkedAck, 3));
    assert_eq!((receiver.poll_transmit(START), receiver.poll_timeout()), (None, None));
    // The mark has been echoed; the next lone segment waits for the delay again.
    receiver.handle_frame(DELAY, &data(3, false));
    assert_eq!(receiver.poll_timeout(), Some(DELAY + Time::from_us(500)));
    receiver.handle_timeout(DELAY + Time::from_us(500));
    assert_eq!(receiver.poll_transmit(DELAY).unwrap().kind, FrameKind::Ack);
    // The acknowledgement for the gap already covers this segment.
    receiver.handle_frame(DELAY, &data(6, false));
    receiver.handle_frame(DELAY, &data(4, false));
    assert_eq!(receiver.poll_transmit(DELAY).unwrap().word, 5);
    assert_eq!((receiver.poll_timeout(), receiver.discarded()), (None, 1));
}

#[test]
fn what_arrived_all_the_same_is_not_sent_again() {
    let spec = WindowSpec { timeout: Some(Time::from_us(5)), ..transfer(Some(4_000), window(4)) };
    let mut sender = WindowSender::new(&spec, Time::ZERO, None);
    let ack = |word| Received { kind: FrameKind::Ack, ..data(word, false) };
    sender.handle_timeout(Time::ZERO);
    assert_eq!(std::iter::from_fn(|| sender.poll_transmit(Time::ZERO)).count(), 4);
    sender.handle_timeout(Time::from_us(5));
    assert_eq!((sender.poll_transmit(Time::from_us(5)).unwrap().word, sender.in_flight()), (0, 1_000));
    sender.handle_frame(Time::from_us(6), &ack(3));
    assert_eq!((sender.poll_transmit(Time::from_us(6)).unwrap().word, sender.retransmitted()), (3, 2));
    // An acknowledgement of more than was ever sent is invalid.
    sender.handle_frame(Time::from_us(7), &ack(5));
    assert_eq!((sender.in_flight(), sender.discarded()), (1_000, 1));
    sender.handle_frame(Time::from_us(8), &ack(4));
    assert_eq!((sender.poll_timeout(), sender.has_work()), (None, false));
}

#[test]
fn a_repeated_request_takes_the_place_of_the_one_before() {
    let spec = RequestResponseSpec { request: 2_000, response: 3_000, outstanding: 2, ..exchanges() };
    let mut responder = Responder::new(&spec, draws(1).1);
    let service = Time::from_us(1);
    let request = |responder: &mut Responder, at, turn| {
        responder.handle_frame(at, &data(label(1, turn, 0), false));
        assert_eq!((responder.poll_timeout(), responder.has_work()), (None, false));
        responder.handle_frame(at, &data(label(1, turn, 1), false));
        assert_eq!(responder.poll_timeout(), Some(at + service));
    };
    request(&mut responder, Time::ZERO, 1);
    // The request is repeated while it is served, and again after part of the response has left.
    request(&mut responder, Time::from_ns(500), 2);
    responder.handle_timeout(Time::from_ns(1_500));
    assert_eq!(responder.poll_transmit(DELAY).unwrap().word, label(1, 2, 0));
    request(&mut responder, DELAY, 3);
    responder.handle_timeout(DELAY + service);
    let words: Vec<u32> = std::iter::from_fn(|| responder.poll_transmit(DELAY)).map(|it| it.word).collect();
    assert_eq!(words, [0, 1, 2].map(|segment| label(1, 3, segment)));
    // A late frame, and a frame whose slot does not exist.
    responder.handle_frame(DELAY * 2, &data(label(1, 2, 0), false));
    responder.handle_frame(DELAY * 2, &data(label(2, 1, 0), false));
    assert_eq!((responder.discarded(), responder.poll_timeout()), (2, None));
}

#[test]
fn a_response_to_an_abandoned_request_counts_for_nothing() {
    let spec = RequestResponseSpec { response: 2_000, timeout: Some(DELAY), ..exchanges() };
    let mut requester = Requester::new(&spec, Time::ZERO, None, draws(1).1);
    requester.handle_timeout(Time::ZERO);
    assert_eq!(requester.poll_transmit(Time::ZERO).unwrap().word, label(0, 1, 0));
    requester.handle_timeout(DELAY);
    assert_eq!(requester.poll_transmit(DELAY).unwrap().word, label(0, 2, 0));
    for (turn, segment) in [(1, 0), (1, 1), (2, 0)] {
        requester.handle_frame(DELAY, &data(label(0, turn, segment), false));
    }
    assert_eq!((requester.poll_record(), requester.discarded()), (None, 2));
    requester.handle_frame(DELAY, &data(label(0, 2, 1), false));
    let record = requester.poll_record().unwrap();
    assert_eq!((record.start, record.end, record.bytes), (Time::ZERO, DELAY, 2_064));
}
