//! Invariants of connections over a wire: closed-form results without loss, and delivery with loss.

use crate::pipe::{Outcome, Pipe, connect};
use crate::testbed::{
    DELAY, Facts as _, RATE, START, asking, bulk, draws, exchanges, of_kind, over, transfer, window,
};
use crate::{
    Ack, Application, CongestionControl, ConnectionSpec, ControllerSpec, Delay, Endpoint, FixedRateParams,
    Loss, Protocol, Record, RecordKind, RequestResponseSpec, TcpSender, UnlimitedParams, WindowReceiver,
    WindowSender, WindowSpec,
};
use frame::FrameKind;
use proptest::prelude::*;
use units::{BitRate, Time};

const NEVER: Time = Time::NEVER;

#[test]
fn throughput_is_window_over_round_trip_until_the_link_is_full() {
    // 1000 B take 800 ns and an acknowledgement 51.2 ns, so the round trip is 10.8512 us, or 13.6 segments.
    let round_trip = Time::from_ps(800_000 + 51_200) + DELAY * 2;
    for segments in 1..=20usize {
        let mut pipe = bulk(transfer(None, window(segments as u64)));
        pipe.run_clean(Time::from_ms(1));
        let times: Vec<Time> = pipe.sent_by(0).into_iter().map(|(at, _)| at).collect();
        assert_eq!(times[0], START);
        if segments <= 13 {
            for pair in times.windows(segments + 1) {
                assert_eq!(pair[segments] - pair[0], round_trip);
            }
            let trips = (Time::from_ms(1) - START).ps() / round_trip.ps();
            let sent = times.len() as u64;
            assert!(sent >= trips * segments as u64 && sent <= (trips + 1) * segments as u64);
        } else {
            for pair in times.windows(2) {
                assert_eq!(pair[1] - pair[0], Time::from_ns(800));
            }
        }
        for record in of_kind(&pipe.records, RecordKind::RoundTrip) {
            assert_eq!((record.end - record.start, record.bytes), (round_trip, 1_000));
        }
    }
}

#[test]
fn a_transfer_ends_with_its_last_acknowledgement() {
    // 2500 B are two full segments and a half, all sent at once.
    let mut pipe = bulk(transfer(Some(2_500), ControllerSpec::Unlimited(UnlimitedParams)));
    pipe.run_clean(NEVER);
    let end = START + Time::from_ps(2_500 * 800 + 51_200) + DELAY * 2;
    let record = Record { kind: RecordKind::Transfer, start: START, end, bytes: 2_500 };
    assert_eq!(of_kind(&pipe.records, RecordKind::Transfer), [record]);
    assert_eq!(pipe.sent_by(0).iter().map(|(_, it)| it.bytes).collect::<Vec<_>>(), [1_000, 1_000, 500]);
    assert_eq!((pipe.near.retransmitted(), pipe.near.discarded(), pipe.far.discarded()), (0, 0, 0));
    assert_eq!((pipe.near.poll_timeout(), pipe.far.poll_timeout()), (None, None));
}

#[test]
fn every_second_segment_is_acknowledged_and_a_lone_one_after_the_delay() {
    let spec = WindowSpec { ack_every: 2, ..transfer(Some(5_000), window(8)) };
    let mut pipe = bulk(spec);
    pipe.run_clean(NEVER);
    let acks: Vec<(Time, u32)> = pipe.sent_by(1).iter().map(|(at, it)| (*at, it.word)).collect();
    let arrives = |segments: u64| START + Time::from_ns(800) * segments + DELAY;
    assert_eq!(acks, [(arrives(2), 2), (arrives(4), 4), (arrives(5) + Time::from_us(500), 5)]);
}

#[test]
fn a_stop_ends_what_is_new_and_finishes_what_has_begun() {
    let stop = START + Time::from_us(30);
    let spec = ConnectionSpec { stop: Some(stop), ..over(Application::Window(transfer(None, window(4)))) };
    let mut pipe = connect(&spec, RATE, DELAY);
    pipe.run_clean(NEVER);
    // Three windows begin at 0, 10.85 and 21.70 us.
    assert_eq!(pipe.sent_by(0).len(), 12);
    assert!(pipe.sent_by(0).iter().all(|&(at, _)| at < stop));
    let transfers = of_kind(&pipe.records, RecordKind::Transfer);
    assert_eq!(transfers.iter().map(|record| record.bytes).collect::<Vec<_>>(), [12_000]);
}

#[test]
fn pacing_keeps_the_distance_to_the_picosecond() {
    let rate = BitRate::from_bps(3_333_333_333);
    let mut pipe = bulk(transfer(Some(100_000), ControllerSpec::FixedRate(FixedRateParams { rate })));
    pipe.run_clean(NEVER);
    for (n, (at, _)) in pipe.sent_by(0).into_iter().enumerate() {
        let due = n as u128 * 8_000 * 1_000_000_000_000 / u128::from(rate.bps());
        assert_eq!(u128::from((at - START).ps()), due);
    }
    assert_eq!(pipe.sent_by(0).len(), 100);
}

#[test]
fn without_a_timeout_a_loss_ends_the_transfer_and_with_one_it_goes_on() {
    for timeout in [None, Some(Time::from_us(100))] {
        let mut pipe = bulk(WindowSpec { timeout, ..transfer(Some(10_000), window(4)) });
        let mut lost = false;
        pipe.run(NEVER, |end, segment| {
            let outcome = Outcome { lost: end == 0 && segment.word == 5 && !lost, ..Outcome::default() };
            lost |= outcome.lost;
            outcome
        });
        assert_eq!(of_kind(&pipe.records, RecordKind::Transfer).len(), usize::from(timeout.is_some()));
        if timeout.is_some() {
            // Segments 6, 7 and 8 arrived after the gap, and are retransmitted together with 5. The timeout runs from
            // the last progress: the acknowledgement of 4, which was sent a round trip after the first window.
            let words: Vec<u32> = pipe.sent_by(0).iter().map(|(_, it)| it.word).collect();
            assert_eq!(words, [0, 1, 2, 3, 4, 5, 6, 7, 8, 5, 6, 7, 8, 9]);
            let progress = pipe.arrived.iter().find(|it| it.0 == 0 && it.2.word == 5).unwrap().1;
            assert_eq!(pipe.sent_by(0)[9].0, progress + Time::from_us(100));
            assert_eq!((pipe.near.retransmitted(), pipe.far.discarded()), (4, 3));
        }
    }
}

/// A controller that records its calls.
#[derive(Default)]
struct Witness {
    acked: u64,
    marks: u32,
    losses: u32,
    echoes: u32,
    round_trips: Vec<Time>,
}

impl CongestionControl for Witness {
    fn on_ack(&mut self, _now: Time, ack: &Ack) {
        self.acked += ack.bytes;
        self.echoes += u32::from(ack.ece);
        assert!(ack.in_flight <= 3_000);
        self.round_trips.extend(ack.round_trip);
    }
    fn on_loss(&mut self, _now: Time, _loss: &Loss) {
        self.losses += 1;
    }
    fn on_mark(&mut self, _now: Time) {
        self.marks += 1;
    }
    fn window(&self) -> u64 {
        4_000
    }
}

#[test]
fn a_controller_hears_of_marks_losses_and_round_trips() {
    let spec = WindowSpec {
        ecn_capable: true,
        timeout: Some(Time::from_us(100)),
        ..transfer(Some(10_000), window(4))
    };
    let sender = WindowSender::with_controller(&spec, SharedWitness::default(), START, None);
    let seen = sender_witness(&sender);
    let mut pipe = Pipe::new(sender, WindowReceiver::new(&spec), RATE, DELAY);
    let mut nth = 0;
    pipe.run(NEVER, |end, segment| {
        if end == 1 {
            assert!(!segment.ecn_capable, "RFC 3168, section 6.1.4: no marks on pure acknowledgements");
            return Outcome::default();
        }
        assert!(segment.ecn_capable);
        nth += 1;
        Outcome { marked: [2, 7].contains(&segment.word), lost: nth == 6, ..Outcome::default() }
    });
    let seen = seen.borrow();
    assert_eq!((seen.acked, seen.losses), (10_000, 1));
    // Segment 7 arrived marked after the gap of 5, and once more when retransmitted; its first ECN-Echo is on a
    // duplicate acknowledgement.
    assert_eq!((seen.marks, seen.echoes), (3, 2));
    let echoes = pipe.sent_by(1).iter().filter(|(_, it)| it.kind == FrameKind::MarkedAck).count();
    assert_eq!(echoes, 3);
    assert!(seen.round_trips.iter().all(|&it| it == Time::from_ps(851_200) + DELAY * 2));
    assert!(seen.round_trips.len() >= 2);
}

/// A witness that tests can read while the sender owns it.
#[derive(Clone, Default)]
struct SharedWitness(std::rc::Rc<std::cell::RefCell<Witness>>);

fn sender_witness(sender: &WindowSender<SharedWitness>) -> std::rc::Rc<std::cell::RefCell<Witness>> {
    sender.controller().0.clone()
}

impl CongestionControl for SharedWitness {
    fn on_ack(&mut self, now: Time, ack: &Ack) {
        self.0.borrow_mut().on_ack(now, ack);
    }
    fn on_loss(&mut self, now: Time, loss: &Loss) {
        self.0.borrow_mut().on_loss(now, loss);
    }
    fn on_mark(&mut self, now: Time) {
        self.0.borrow_mut().on_mark(now);
    }
    fn window(&self) -> u64 {
        self.0.borrow().window()
    }
}

#[test]
fn an_exchange_lasts_as_long_as_arithmetic_says() {
    // 64 B take 51.2 ns and 1024 B 819.2 ns. The requester waits for the think time after each response.
    let one = |spec: &RequestResponseSpec| {
        let Delay::Fixed(service) = spec.service else { unreachable!() };
        RATE.time_for_bits_ceil((spec.request + spec.response) * 8) + DELAY * 2 + service
    };
    for (request, response, think) in
        [(64, 64, Time::ZERO), (64, 4_096, Time::from_us(7)), (10_240, 64, Time::ZERO), (2_000, 3_000, DELAY)]
    {
        let spec = RequestResponseSpec { request, response, think: Delay::Fixed(think), ..exchanges() };
        let mut pipe = asking(spec.clone());
        pipe.run_clean(NEVER);
        let records = of_kind(&pipe.records, RecordKind::Exchange);
        assert_eq!(records.len(), 10);
        let mut start = START;
        for record in records {
            assert_eq!((record.start, record.end), (start, start + one(&spec)));
            assert_eq!(record.bytes, request + response);
            start = record.end + think;
        }
        assert_eq!((pipe.near.discarded(), pipe.far.discarded()), (0, 0));
        assert_eq!((pipe.near.poll_timeout(), pipe.far.poll_timeout()), (None, None));
    }
}

#[test]
fn requests_at_the_same_time_wait_for_the_wire_one_after_the_other() {
    let spec = RequestResponseSpec { outstanding: 3, requests: Some(3), ..exchanges() };
    let mut pipe = asking(spec);
    pipe.run_clean(NEVER);
    // Requests arrive 51.2 ns apart, which is less than the duration of a response, so responses follow back to back.
    let first = START + Time::from_ps(51_200) + DELAY * 2 + Time::from_us(1);
    let response = Time::from_ps(4 * 819_200);
    let ends: Vec<Time> = pipe.records.iter().map(|record| record.end).collect();
    assert_eq!(ends, [1, 2, 3].map(|n| first + response * n));
    assert!(pipe.records.iter().all(|record| record.start == START));
}

#[test]
fn a_stop_lets_exchanges_finish_and_begins_none() {
    let application = Application::RequestResponse(RequestResponseSpec { requests: None, ..exchanges() });
    // An exchange takes 14.328 us.
    let stop = START + Time::from_us(40);
    let mut pipe = connect(&ConnectionSpec { stop: Some(stop), ..over(application) }, RATE, DELAY);
    pipe.run_clean(NEVER);
    assert_eq!(pipe.records.len(), 3);
    assert!(pipe.records[2].end > stop && pipe.records[2].start < stop);
}

#[test]
fn a_lost_frame_costs_a_timeout_and_a_repetition() {
    for (lost_end, kept) in [(0, 0), (1, 2)] {
        let spec = RequestResponseSpec { timeout: Some(Time::from_us(50)), requests: Some(1), ..exchanges() };
        let mut pipe = asking(spec);
        let mut nth = 0;
        pipe.run(NEVER, |end, _| {
            nth += u32::from(end == lost_end);
            Outcome { lost: end == lost_end && nth == kept + 1, ..Outcome::default() }
        });
        assert_eq!(pipe.records.len(), 1);
        assert_eq!((pipe.near.retransmitted(), pipe.sent_by(0).len()), (1, 2));
        // Progress of the first exchange: none, or three of the four segments.
        let first = pipe.sent_by(0)[0].0;
        let progress = if lost_end == 0 {
            first
        } else {
            first + Time::from_ps(51_200 + 4 * 819_200) + DELAY * 2 + Time::from_us(1)
        };
        assert_eq!(pipe.sent_by(0)[1].0, progress + Time::from_us(50));
    }
}

#[test]
fn idle_endpoints_have_no_timer_and_no_work() {
    let spec = ConnectionSpec {
        application: Application::RequestResponse(RequestResponseSpec { requests: Some(0), ..exchanges() }),
        ..over(Application::Window(transfer(None, window(1))))
    };
    let pipe = connect(&spec, RATE, DELAY);
    assert_eq!((pipe.near.poll_timeout(), pipe.far.poll_timeout()), (None, None));
    assert!(!pipe.near.has_work() && !pipe.far.has_work());
    // A hundred thousand endpoints are at most 15 MB.
    assert!(size_of::<Endpoint>() <= 104, "{}", size_of::<Endpoint>());
    assert!(size_of::<TcpSender>() <= 560, "{}", size_of::<TcpSender>());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Tests that over a wire that loses and reorders, everything arrives once and in order, and the window is
    /// respected.
    #[test]
    fn transfers_arrive_whole(
        bytes in 1u64..60_000,
        segments in 1u64..20,
        ack_every in 1u32..4,
        loss in 0u32..30,
        jitter in 0u64..20_000,
        // From far less than a round trip to more than the delay of an acknowledgement.
        timeout in 3u64..700,
        seed in 0u64..1_000,
    ) {
        let timeout = Some(Time::from_us(timeout));
        let spec = WindowSpec { ack_every, timeout, ..transfer(Some(bytes), window(segments)) };
        let mut pipe = bulk(spec);
        let mut draw = draws(seed).0;
        pipe.run(Time::from_ms(1_000), |_, _| Outcome {
            lost: draw(100) < u64::from(loss),
            extra: Time::from_ns(draw(jitter + 1)),
            ..Outcome::default()
        });
        let transfers = of_kind(&pipe.records, RecordKind::Transfer);
        prop_assert_eq!(transfers.iter().map(|record| record.bytes).collect::<Vec<_>>(), [bytes]);
        let total = bytes.div_ceil(1_000) as u32;
        // Segments that the receiver accepts: each arriving segment that is the next in order.
        let mut expected = 0;
        for (_, _, received) in pipe.arrived.iter().filter(|it| it.0 == 1) {
            expected += u32::from(received.word == expected);
        }
        prop_assert_eq!(expected, total);
        let Endpoint::WindowReceiver(receiver) = &pipe.far else { unreachable!() };
        prop_assert_eq!(receiver.delivered(), u64::from(total));
        // Data that was acknowledged when a segment was sent, and data in flight including the segment.
        let mut arrivals = pipe.arrived.iter().filter(|it| it.0 == 0).peekable();
        let (mut acknowledged, mut highest) = (0, 0);
        for (at, segment) in pipe.sent_by(0) {
            while let Some((_, _, ack)) = arrivals.next_if(|it| it.1 <= at) {
                acknowledged = acknowledged.max(ack.word);
            }
            highest = highest.max(segment.word + 1);
            prop_assert!(u64::from(highest - acknowledged) <= segments, "{highest} {acknowledged}");
        }
    }

    /// Tests that over a wire that loses and reorders, every exchange completes once, and never more exchanges are
    /// outstanding than allowed.
    #[test]
    fn exchanges_are_completed(
        request in 1u64..5_000,
        response in 1u64..5_000,
        outstanding in 1u16..6,
        requests in 1u64..400,
        loss in 0u32..20,
        jitter in 0u64..20_000,
        seed in 0u64..1_000,
    ) {
        let spec = RequestResponseSpec {
            request,
            response,
            outstanding,
            requests: Some(requests),
            think: Delay::Exponential(Time::from_us(4)),
            service: Delay::Exponential(Time::from_us(2)),
            timeout: Some(Time::from_us(400)),
            ..exchanges()
        };
        let mut pipe = asking(spec);
        let mut draw = draws(seed).0;
        pipe.run(Time::from_ms(10_000), |_, _| Outcome {
            lost: draw(100) < u64::from(loss),
            extra: Time::from_ns(draw(jitter + 1)),
            ..Outcome::default()
        });
        prop_assert_eq!(pipe.records.len() as u64, requests);
        let open_at = |at: Time| pipe.records.iter().filter(|it| it.start <= at && at < it.end).count();
        for record in &pipe.records {
            prop_assert!(open_at(record.start) <= usize::from(outstanding));
        }
        if loss == 0 && jitter == 0 {
            prop_assert_eq!((pipe.near.retransmitted(), pipe.near.discarded(), pipe.far.discarded()), (0, 0, 0));
        }
    }
}
