//! TCP over a wire: examples computed by hand, and closed-form results.

use crate::pipe::{Outcome, Pipe, connect};
use crate::testbed::{DELAY, Facts as _, START, of_kind, over, tcp, tcp_pipe};
use crate::{
    AimdParams, Application, ControllerSpec, Delay, Endpoint, LossRecoveryKind, Protocol, RecordKind,
    Segment, TcpSpec, TimerSpec, TransferSpec,
};
use frame::{FrameKind, Header};
use units::{BitRate, Time};

const NEVER: Time = Time::NEVER;
type Wire = Pipe<Endpoint, Endpoint>;

/// Returns the number of a data segment, counted in segments.
fn nth(segment: &Segment) -> u32 {
    segment.word / 1_000
}
fn data(pipe: &Wire) -> Vec<u32> {
    pipe.sent_by(0).iter().filter(|(_, it)| it.kind == FrameKind::Data).map(|(_, it)| nth(it)).collect()
}
/// Runs a transfer in which these segments are lost once each. Returns the segments sent, in order.
fn with_losses(spec: TcpSpec, lost: &[u32]) -> (Wire, Vec<u32>) {
    let bytes = spec.transfers.total;
    let mut pipe = tcp_pipe(spec);
    let mut lost = lost.to_vec();
    pipe.run(NEVER, |end, segment| {
        let at = lost.iter().position(|&it| end == 0 && it == nth(segment));
        Outcome { lost: at.map(|at| lost.remove(at)).is_some(), ..Outcome::default() }
    });
    assert!(lost.is_empty());
    let transfers = of_kind(&pipe.records, RecordKind::Transfer);
    assert_eq!(transfers.iter().map(|it| it.bytes).collect::<Vec<_>>(), Vec::from_iter(bytes));
    assert_eq!((pipe.near.poll_timeout(), pipe.far.poll_timeout()), (None, None));
    let sent = data(&pipe);
    (pipe, sent)
}
/// Returns the specification without a slow start threshold before the first loss.
fn in_slow_start(spec: TcpSpec) -> TcpSpec {
    let ControllerSpec::Aimd(aimd) = spec.controller.clone() else { unreachable!() };
    TcpSpec { controller: ControllerSpec::Aimd(AimdParams { threshold: None, ..aimd }), ..spec }
}
fn timeouts(pipe: &Wire) -> u64 {
    pipe.near.facts(Time::ZERO).congestion.map_or(0, |it| it.timeouts)
}

/// Returns the segments sent before this acknowledgement, and those sent before the next one.
fn around_ack(pipe: &Wire, number: u32) -> (Vec<u32>, Vec<u32>) {
    let mut acks = pipe.arrived.iter().filter(|it| it.0 == 0).skip_while(|it| ack_number(&it.2) != number);
    let [at, next] = [(); 2].map(|()| acks.next().unwrap().1);
    let sent = |from: Time, to: Time| {
        pipe.sent_by(0).iter().filter(|it| from <= it.0 && it.0 < to).map(|it| nth(&it.1)).collect()
    };
    (sent(Time::ZERO, at), sent(at, next))
}
fn ack_number(received: &crate::Received) -> u32 {
    received.header.as_ref().and_then(Header::tcp).map_or(received.word, |tcp| tcp.number) / 1_000
}

#[test]
fn one_loss_is_repaired_by_every_variant_as_drawn() {
    // The window and the threshold are 8 segments; segment 2 of 20 is lost. The acknowledgements of 0 and 1 release 8
    // and 9 (the window grows by less than a segment). Segments 3 to 9 cause seven duplicates. Reno: the third
    // duplicate retransmits 2; the window is 4. Each duplicate inflates the window by one. After the fifth it is 4 + 5,
    // more than the 8 segments in flight, so 10 is sent; 11 is sent after the sixth and 12 after the seventh. SACK:
    // after the fourth duplicate the pipe contains 7, 8, 9 and 2, and is full. Each further duplicate makes room for
    // one segment: 10, 11 and 12 again. The acknowledgement of 2 covers all before 10. Three segments are in flight and
    // the window is 4, so 13 is sent, and then one segment for each acknowledgement.
    let (before, all) = ((0..10).chain([2]).collect::<Vec<u32>>(), (0..10).chain([2]).chain(10..20));
    for recovery in [LossRecoveryKind::Reno, LossRecoveryKind::NewReno, LossRecoveryKind::Sack] {
        let (pipe, sent) = with_losses(tcp(Some(20_000), recovery, 8), &[2]);
        assert_eq!(sent, all.clone().collect::<Vec<_>>(), "{recovery:?}");
        assert_eq!(around_ack(&pipe, 10), ([&before[..], &[10, 11, 12]].concat(), vec![13]), "{recovery:?}");
        assert_eq!((timeouts(&pipe), pipe.near.retransmitted(), pipe.far.discarded()), (0, 1, 0));
    }
    // Tahoe restarts at 2 with a window of 1. No new segment is sent before the acknowledgement of 2 covers all before
    // 10; then two are sent.
    let (pipe, sent) = with_losses(tcp(Some(20_000), LossRecoveryKind::Tahoe, 8), &[2]);
    assert_eq!(sent, all.collect::<Vec<_>>());
    assert_eq!(around_ack(&pipe, 10), (before, vec![10, 11]));
    assert_eq!(timeouts(&pipe), 0);
}

/// Tests that limited transmit applies to new segments only: Tahoe, as in ns-2, restarts with one segment, into a queue
/// that has just overflowed.
#[test]
fn who_starts_over_begins_with_one_segment() {
    // The first two duplicates release 10 and 11; the third restarts from 2.
    let spec = TcpSpec { limited_transmit: true, ..tcp(Some(20_000), LossRecoveryKind::Tahoe, 8) };
    let (pipe, _) = with_losses(spec, &[2]);
    assert_eq!(around_ack(&pipe, 12), ((0..12).chain([2]).collect(), vec![12, 13]));
    assert_eq!((timeouts(&pipe), pipe.near.retransmitted()), (0, 1));
}

/// Tests RFC 5681 equation 4 to the letter: the data in flight at the second loss includes the data released by the
/// first recovery.
#[test]
fn a_second_loss_costs_reno_half_of_what_is_in_flight_then() {
    // The wire holds 17 segments at the third duplicate for 2, and five more are sent before the loss of 5 is detected.
    // Segments 5 to 23 are then in flight, 19 in total. Half of them is 9.5 segments; half of the halved window would
    // be 4.25. After 5 has closed the gap, 24 to 59 are acknowledged one by one, and each acknowledgement adds 1 /
    // window.
    let (pipe, sent) = with_losses(tcp(Some(60_000), LossRecoveryKind::Reno, 40), &[2, 5]);
    assert_eq!((timeouts(&pipe), pipe.near.retransmitted()), (0, 2));
    let again = sent.iter().rposition(|&number| number == 5).unwrap();
    assert_eq!(sent[..again].iter().max(), Some(&23));
    let grown = (24..60).fold(9_500.0, |window, _| window + 1e6 / window);
    let window = pipe.near.facts(Time::ZERO).congestion.unwrap().window as f64;
    assert!((window - grown).abs() < 0.01 * grown, "{window} for {grown}");
}

#[test]
fn of_two_losses_in_a_window_reno_times_out_and_newreno_and_sack_do_not() {
    // Segments 2 and 5 of the first ten are lost: 3, 4, 6, 7, 8 and 9 cause six duplicates. The third, 6, causes the
    // retransmission of 2; the window is 4.
    let run = |recovery| with_losses(tcp(Some(20_000), recovery, 8), &[2, 5]);
    // NewReno: 8 and 9 release 10 and 11 (windows of 4 + 5 and 4 + 6). The partial acknowledgement of 5 causes the
    // retransmission of 5 and deflates the window by 3 - 1. The window is 8 with 5 to 11 in flight, so 12 is sent. 10
    // and 11 cause duplicates, which release 13 and 14. The acknowledgement of 5 covers all before 12 and releases 15.
    let (pipe, sent) = run(LossRecoveryKind::NewReno);
    assert_eq!(sent[10..], [2, 10, 11, 5, 12, 13, 14, 15, 16, 17, 18, 19]);
    assert_eq!((timeouts(&pipe), around_ack(&pipe, 12).1), (0, vec![15]));
    // SACK: 8 is the third segment above 5, which therefore counts as lost. The pipe contains 9 and 2, so 5 and 10 are
    // sent, and 11 after 9.
    let (pipe, sent) = run(LossRecoveryKind::Sack);
    assert_eq!(sent[10..], [2, 5, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19]);
    assert_eq!((timeouts(&pipe), around_ack(&pipe, 5).1), (0, vec![12]));
    // Reno: the acknowledgement of 5 ends the recovery with a window of 4 and with 5 to 11 in flight. 10 and 11 cause
    // only two duplicates, so the timer expires and slow start begins.
    let (pipe, sent) = run(LossRecoveryKind::Reno);
    assert_eq!(sent[10..], [2, 10, 11, 5, 12, 13, 14, 15, 16, 17, 18, 19]);
    assert_eq!((timeouts(&pipe), around_ack(&pipe, 5).1, around_ack(&pipe, 12).1), (1, vec![], vec![12, 13]));
}

#[test]
fn a_window_of_which_half_is_in_flight_grows() {
    // The wire is as fast as the path: each acknowledgement releases two segments, the wire takes one, and the rest of
    // the window is never in flight. Slow start continues regardless, as in a sender that ignores the data in flight.
    let ends = [false, true].map(|grows_unused| {
        let spec = tcp(Some(60_000), LossRecoveryKind::Sack, 2);
        let ControllerSpec::Aimd(aimd) = spec.controller.clone() else { unreachable!() };
        let controller = ControllerSpec::Aimd(AimdParams { threshold: None, grows_unused, ..aimd });
        let (pipe, _) = with_losses(TcpSpec { controller, ..spec }, &[]);
        of_kind(&pipe.records, RecordKind::Transfer)[0].end
    });
    assert_eq!(ends[0], ends[1]);
}

#[test]
fn a_timeout_in_a_long_repair_halves_what_the_window_allowed() {
    // Every second one of 64 segments is lost, and NewReno fills one hole per round trip of 200 us. Meanwhile the
    // window of 32 releases new segments, round after round, until the timer expires. Half of the data unacknowledged
    // by then would be more than was in flight before the losses. Half of the window is 16, above which the window
    // grows by one segment per round trip.
    let spec = tcp(Some(2_000_000), LossRecoveryKind::NewReno, 64);
    let timer = TimerSpec { min: Time::from_ms(2), initial: Time::from_ms(2), ..spec.timer };
    let mut pipe = tcp_pipe(TcpSpec { timer, ..spec });
    pipe.delay = Time::from_us(100);
    let mut lost: Vec<u32> = (0..32).map(|nth| 2 * nth + 1).collect();
    let mut run = |pipe: &mut Wire, until: Time| {
        pipe.run(until, |end, segment| {
            let at = lost.iter().position(|&it| end == 0 && it == nth(segment));
            Outcome { lost: at.map(|at| lost.remove(at)).is_some(), ..Outcome::default() }
        });
    };
    let out = (1..10_000).map(Time::from_us).find(|&until| {
        run(&mut pipe, until);
        timeouts(&pipe) > 0
    });
    let out = out.unwrap();
    assert!(data(&pipe).iter().max() > Some(&110));
    run(&mut pipe, out + Time::from_ms(2));
    let window = pipe.near.facts(Time::ZERO).congestion.unwrap().window / 1_000;
    assert!((16..28).contains(&window), "{window} segments");
}

#[test]
fn newreno_fills_a_hole_a_round_trip_patiently_or_not() {
    // Six of sixteen segments are lost. One hole is filled per round trip of 11 us; the minimum timeout is 200 us.
    let lost = [3, 5, 7, 9, 11, 13];
    for (min, steady, expected) in [(200, false, 0), (200, true, 0), (40, false, 1), (40, true, 0)] {
        let spec = tcp(Some(40_000), LossRecoveryKind::NewReno, 16);
        let timer = TimerSpec { min: Time::from_us(min), ..spec.timer };
        let (pipe, sent) = with_losses(TcpSpec { steady, timer, ..spec }, &lost);
        assert_eq!(timeouts(&pipe), expected, "{min} us, steady: {steady}");
        if expected == 0 {
            assert_eq!(pipe.near.retransmitted(), 6);
            let again: Vec<Time> =
                pipe.sent_by(0).iter().filter(|it| lost.contains(&nth(&it.1))).map(|it| it.0).collect();
            let trips: Vec<u64> =
                again[6..].windows(2).map(|pair| (pair[1] - pair[0]).ps() / 1_000_000).collect();
            assert_eq!(trips, [10; 5], "{sent:?}");
        }
    }
    // SACK retransmits all known holes in two round trips.
    let (pipe, _) = with_losses(tcp(Some(40_000), LossRecoveryKind::Sack, 16), &lost);
    let again: Vec<Time> =
        pipe.sent_by(0).iter().filter(|it| lost.contains(&nth(&it.1))).map(|it| it.0).collect();
    assert!(again[11] - again[6] < Time::from_us(22));
    assert_eq!((timeouts(&pipe), pipe.near.retransmitted()), (0, 6));
}

#[test]
fn the_timeout_doubles_and_what_was_sent_twice_is_not_timed() {
    // The first segment is lost four times. The initial timeout is 1 ms.
    let (pipe, _) = with_losses(tcp(Some(3_000), LossRecoveryKind::NewReno, 1), &[0, 0, 0, 0]);
    let times: Vec<u64> = pipe.sent_by(0)[..5].iter().map(|it| (it.0 - START).ps() / 1_000_000).collect();
    assert_eq!(times, [0, 1_000, 3_000, 7_000, 15_000]);
    // The acknowledgement of segment 0 measures nothing (Karn). The first measurement is that of segment 1, 11 us.
    let trips = of_kind(&pipe.records, RecordKind::RoundTrip);
    assert_eq!((trips.len(), trips[0].start), (1, pipe.sent_by(0)[5].0));
    assert_eq!((timeouts(&pipe), pipe.near.retransmitted()), (4, 4));
    // The timeout stays doubled until then: segment 1 would have waited for 16 ms.
    let spec = tcp(Some(2_000), LossRecoveryKind::NewReno, 1);
    let (pipe, _) = with_losses(spec, &[0, 1]);
    let sent = pipe.sent_by(0);
    assert_eq!((sent[3].0 - sent[2].0).ps(), 2_000_000_000);
}

#[test]
fn slow_start_doubles_each_round_trip() {
    let mut pipe = tcp_pipe(in_slow_start(tcp(Some(127_000), LossRecoveryKind::NewReno, 1)));
    pipe.run_clean(NEVER);
    // The round trip is 10.9 us. A window of 8 is sent in 6.8 us, and a window of 16 fills the wire.
    let mut rounds = vec![0; 4];
    for (at, _) in pipe.sent_by(0) {
        let round = ((at - START).ps() / 10_890_000) as usize;
        if let Some(count) = rounds.get_mut(round) {
            *count += 1;
        }
    }
    assert_eq!(rounds, [1, 2, 4, 8]);
}

#[test]
fn renos_window_is_a_sawtooth() {
    // The wire loses any segment that would be the 20th in flight, as a full queue does.
    let spec = over(Application::Tcp(tcp(None, LossRecoveryKind::NewReno, 2).into()));
    let mut pipe = connect(&spec, BitRate::from_gbps(100), DELAY);
    let mut on_the_way = 0;
    let mut windows = vec![];
    for step in 1..=4_000u64 {
        pipe.run(START + Time::from_us(5) * step, |end, _| {
            // Each arriving segment is acknowledged at once.
            let lost = end == 0 && on_the_way >= 19;
            on_the_way = if end == 1 { on_the_way - 1 } else { on_the_way + i32::from(!lost) };
            Outcome { lost, ..Outcome::default() }
        });
        windows.push(pipe.near.facts(Time::ZERO).congestion.map_or(0, |it| it.window));
    }
    // The window rises by one segment per round trip from half of the peak to the peak, again and again, without a
    // timeout.
    let falls: Vec<usize> = (2_001..windows.len()).filter(|&n| windows[n] < windows[n - 1] * 2 / 3).collect();
    let peaks: Vec<u64> = falls.iter().map(|&n| windows[n - 1] / 1_000).collect();
    assert!(falls.len() >= 10 && timeouts(&pipe) == 0, "{falls:?}, {}", timeouts(&pipe));
    // 20 segments are in flight, and up to four others have arrived but their acknowledgements have not (a repair
    // leaves a gap in the burst of a window). The window also grows for a round trip until the loss is detected.
    assert!(peaks.iter().all(|peak| (20..=25).contains(peak)), "{peaks:?}");
    let lengths: Vec<usize> = falls.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let (least, most) = (lengths.iter().min().unwrap(), lengths.iter().max().unwrap());
    assert!(most - least <= 12, "{lengths:?}");
}

#[test]
fn throughput_is_window_over_round_trip() {
    // 1058 B take 846.4 ns and an acknowledgement 51.2 ns.
    let round_trip = Time::from_ps(846_400 + 51_200) + DELAY * 2;
    for segments in 1..=12u64 {
        // Bytes of the window that do not hold a full segment are not used.
        let spec = TcpSpec { window: segments * 1_000 + 999, ..tcp(None, LossRecoveryKind::Sack, 2) };
        let mut pipe = tcp_pipe(spec);
        pipe.run_clean(Time::from_ms(3));
        let times: Vec<Time> =
            pipe.sent_by(0).into_iter().map(|it| it.0).filter(|&at| at > Time::from_ms(1)).collect();
        for pair in times.windows(segments as usize + 1) {
            assert_eq!(pair[segments as usize] - pair[0], round_trip);
        }
    }
}

#[test]
fn the_first_duplicates_let_new_segments_go_if_they_may() {
    // A window of 4 loses its second segment; 2 and 3 cause two duplicates. Without limited transmit there are no more,
    // and the timer expires. With it, 5 and 6 are sent (after 4, which the acknowledgement of 0 has released) and cause
    // the third and the fourth duplicate.
    for recovery in
        [LossRecoveryKind::Tahoe, LossRecoveryKind::Reno, LossRecoveryKind::NewReno, LossRecoveryKind::Sack]
    {
        for (limited_transmit, expected) in [(false, 1), (true, 0)] {
            let spec = TcpSpec { limited_transmit, ..tcp(Some(10_000), recovery, 3) };
            let (pipe, sent) = with_losses(spec, &[1]);
            assert_eq!(timeouts(&pipe), expected, "{recovery:?}, {limited_transmit}: {sent:?}");
        }
    }
}

#[test]
fn a_reduction_in_proportion_keeps_the_clock() {
    // One of sixteen segments in flight is lost; an acknowledgement arrives every 846 ns. With PRR, the third duplicate
    // after the retransmission releases a segment; without it the sixth, which reduces the pipe to less than half.
    let silence = |proportional| {
        let (pipe, _) =
            with_losses(TcpSpec { proportional, ..tcp(Some(60_000), LossRecoveryKind::Sack, 16) }, &[2]);
        assert_eq!((timeouts(&pipe), pipe.near.retransmitted()), (0, 1));
        let sent = pipe.sent_by(0);
        let again = sent.iter().rposition(|it| nth(&it.1) == 2).unwrap();
        sent[again + 1].0 - sent[again].0
    };
    assert!(silence(true) < Time::from_ns(4 * 846), "{}", silence(true));
    assert!(silence(false) > Time::from_ns(6 * 846), "{}", silence(false));
}

#[test]
fn transfers_follow_each_other_over_one_connection_or_several() {
    let us = Time::from_us;
    let transfers = TransferSpec { size: Some(4_000), total: Some(10_500), idle: Delay::Fixed(us(100)) };
    for (handshake, reconnect, greetings) in
        [(false, false, 0), (true, false, 1), (true, true, 3), (false, true, 0)]
    {
        let spec = TcpSpec {
            transfers,
            handshake,
            reconnect,
            ..in_slow_start(tcp(None, LossRecoveryKind::NewReno, 2))
        };
        let mut pipe = tcp_pipe(spec);
        pipe.run_clean(NEVER);
        let done = of_kind(&pipe.records, RecordKind::Transfer);
        assert_eq!(done.iter().map(|it| it.bytes).collect::<Vec<_>>(), [4_000, 4_000, 2_500]);
        for pair in done.windows(2) {
            assert_eq!(pair[1].start, pair[0].end + us(100));
        }
        let syns = pipe.sent_by(0).iter().filter(|it| it.1.kind == FrameKind::Ack).count();
        assert_eq!(syns, greetings);
        // A new connection begins with two segments. A reused one keeps its window, so four segments take one round
        // trip.
        let trips: Vec<u64> = done.iter().map(|it| (it.end - it.start).ps() / 10_890_000).collect();
        let again = if reconnect { 2 } else { 1 };
        let greet = |n: usize| u64::from(n < greetings);
        assert_eq!(trips[..2], [2 + greet(0), again + greet(1)], "{handshake}, {reconnect}");
    }
    // After an idle time longer than the timeout, the window is the initial one if the sender resets it.
    for (restart_after_idle, trips) in [(true, 2), (false, 1)] {
        let transfers = TransferSpec { idle: Delay::Fixed(us(1_000)), ..transfers };
        let spec = TcpSpec {
            transfers,
            restart_after_idle,
            ..in_slow_start(tcp(None, LossRecoveryKind::NewReno, 2))
        };
        let mut pipe = tcp_pipe(spec);
        pipe.run_clean(NEVER);
        let done = of_kind(&pipe.records, RecordKind::Transfer);
        assert_eq!((done[1].end - done[1].start).ps() / 10_890_000, trips);
    }
}

#[test]
fn a_lost_greeting_is_sent_again() {
    for lost_by in [0, 1] {
        let mut pipe = tcp_pipe(TcpSpec { handshake: true, ..tcp(Some(1_000), LossRecoveryKind::Sack, 2) });
        let mut lost = false;
        pipe.run(NEVER, |end, segment| {
            let syn = segment.header.as_ref().and_then(Header::tcp).is_some_and(|tcp| tcp.syn);
            let outcome = Outcome { lost: end == lost_by && syn && !lost, ..Outcome::default() };
            lost |= outcome.lost;
            outcome
        });
        let times: Vec<Time> = pipe.sent_by(0).iter().map(|it| it.0 - START).collect();
        // The initial timeout, followed by two round trips: 64 B each way, and the data with its acknowledgement.
        assert_eq!(times[..2], [Time::ZERO, Time::from_ms(1)]);
        assert_eq!(times[2], Time::from_ms(1) + Time::from_ps(102_400) + DELAY * 2);
        assert_eq!((times.len(), timeouts(&pipe)), (3, 1));
        assert_eq!(of_kind(&pipe.records, RecordKind::Transfer).len(), 1);
    }
}
