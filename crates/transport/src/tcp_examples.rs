//! TCP over a wire: examples drawn by hand, and closed forms.

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

/// The number of a segment of data, in segments.
fn nth(segment: &Segment) -> u32 {
    segment.word / 1_000
}
fn data(pipe: &Wire) -> Vec<u32> {
    pipe.sent_by(0).iter().filter(|(_, it)| it.kind == FrameKind::Data).map(|(_, it)| nth(it)).collect()
}
/// Runs a transfer that loses these segments once each; returns the segments sent, in order.
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
/// Without a threshold before the first loss.
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
    // Window 8, threshold 8, segment 2 is lost; 20 segments in all. Acknowledgements of 0 and 1 release 8 and 9 (the
    // window grows by less than a segment). 3 to 9 cause seven duplicates.
    // Reno: the third duplicate sends 2 again, window 4. Each duplicate inflates by one: 4 + 5 after the fifth is more
    // than the 8 that are out, so 10 goes, 11 after the sixth, 12 after the seventh. SACK: after the fourth the pipe
    // holds 7, 8, 9 and 2: full. Each further duplicate makes room for one: 10, 11, 12 as well.
    // 2 acknowledges up to 10: three are out, the window is 4: 13, then one for each acknowledgement.
    let (before, all) = ((0..10).chain([2]).collect::<Vec<u32>>(), (0..10).chain([2]).chain(10..20));
    for recovery in [LossRecoveryKind::Reno, LossRecoveryKind::NewReno, LossRecoveryKind::Sack] {
        let (pipe, sent) = with_losses(tcp(Some(20_000), recovery, 8), &[2]);
        assert_eq!(sent, all.clone().collect::<Vec<_>>(), "{recovery:?}");
        assert_eq!(around_ack(&pipe, 10), ([&before[..], &[10, 11, 12]].concat(), vec![13]), "{recovery:?}");
        assert_eq!((timeouts(&pipe), pipe.near.retransmitted(), pipe.far.discarded()), (0, 1, 0));
    }
    // Tahoe starts over at 2 with a window of 1: nothing new goes before 2 acknowledges up to 10, then two.
    let (pipe, sent) = with_losses(tcp(Some(20_000), LossRecoveryKind::Tahoe, 8), &[2]);
    assert_eq!(sent, all.collect::<Vec<_>>());
    assert_eq!(around_ack(&pipe, 10), (before, vec![10, 11]));
    assert_eq!(timeouts(&pipe), 0);
}

/// Limited transmit is for new segments: ns-2's Tahoe, too, goes back with one, into a queue that has just overflowed.
#[test]
fn who_starts_over_begins_with_one_segment() {
    // The first two duplicates release 10 and 11, the third restarts from 2.
    let spec = TcpSpec { limited_transmit: true, ..tcp(Some(20_000), LossRecoveryKind::Tahoe, 8) };
    let (pipe, _) = with_losses(spec, &[2]);
    assert_eq!(around_ack(&pipe, 12), ((0..12).chain([2]).collect(), vec![12, 13]));
    assert_eq!((timeouts(&pipe), pipe.near.retransmitted()), (0, 1));
}

/// RFC 5681 equation 4 to the letter: the data in flight at the second loss includes the data released by the first recovery.
#[test]
fn a_second_loss_costs_reno_half_of_what_is_in_flight_then() {
    // The wire holds 17 segments at the third duplicate for 2, and five more leave before the loss of 5 is detected: 5 to 23 are out
    // then, 19. Half of them is 9.5 segments, where half of the halved window would be 4.25. After 5 has closed the gap 24 to 59
    // are acknowledged one by one, each of which adds 1 / window.
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
    // 2 and 5 are lost, ten go out: 3, 4, 6, 7, 8 and 9 cause six duplicates. 6 sends 2 again, window 4.
    let run = |recovery| with_losses(tcp(Some(20_000), recovery, 8), &[2, 5]);
    // NewReno: 8 and 9 release 10 and 11 (4 + 5 and 4 + 6). The partial acknowledgement of 5 sends 5 and deflates by 3 - 1:
    // 8 with 5 to 11 out, so 12 goes. 10 and 11 are duplicates: 13 and 14. 5 acknowledges up to 12: 15.
    let (pipe, sent) = run(LossRecoveryKind::NewReno);
    assert_eq!(sent[10..], [2, 10, 11, 5, 12, 13, 14, 15, 16, 17, 18, 19]);
    assert_eq!((timeouts(&pipe), around_ack(&pipe, 12).1), (0, vec![15]));
    // SACK: 8 is the third above 5, which is lost then: the pipe holds 9 and 2, so 5 and 10 go, and 11 after 9.
    let (pipe, sent) = run(LossRecoveryKind::Sack);
    assert_eq!(sent[10..], [2, 5, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19]);
    assert_eq!((timeouts(&pipe), around_ack(&pipe, 5).1), (0, vec![12]));
    // Reno: the acknowledgement of 5 ends the recovery with a window of 4 and 5 to 11 out. 10 and 11 are two duplicates,
    // no more: it times out and starts slowly.
    let (pipe, sent) = run(LossRecoveryKind::Reno);
    assert_eq!(sent[10..], [2, 10, 11, 5, 12, 13, 14, 15, 16, 17, 18, 19]);
    assert_eq!((timeouts(&pipe), around_ack(&pipe, 5).1, around_ack(&pipe, 12).1), (1, vec![], vec![12, 13]));
}

#[test]
fn a_window_of_which_half_is_in_flight_grows() {
    // The wire is as fast as the path: each acknowledgement releases two segments, the wire takes one, and the rest of the
    // window is never in flight. Slow start goes on all the same, as for a sender that ignores the data in flight.
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
    // Of 64 every second is lost, and NewReno fills a hole a round trip of 200 us. Meanwhile the window of 32 continues to release new
    // segments, round after round, until the timer expires. Half of what is not acknowledged then would be more than
    // was in flight before the losses; half of the window is 16, and above it the window grows by a segment a round trip.
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
    // Six of sixteen are lost. One hole a round trip of 11 us; the timeout is 200 us at least.
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
    // Its acknowledgement measures nothing (Karn): the first measurement is that of segment 1, 11 us.
    let trips = of_kind(&pipe.records, RecordKind::RoundTrip);
    assert_eq!((trips.len(), trips[0].start), (1, pipe.sent_by(0)[5].0));
    assert_eq!((timeouts(&pipe), pipe.near.retransmitted()), (4, 4));
    // The doubling lasts until then: segment 1 would have waited for 16 ms.
    let spec = tcp(Some(2_000), LossRecoveryKind::NewReno, 1);
    let (pipe, _) = with_losses(spec, &[0, 1]);
    let sent = pipe.sent_by(0);
    assert_eq!((sent[3].0 - sent[2].0).ps(), 2_000_000_000);
}

#[test]
fn slow_start_doubles_each_round_trip() {
    let mut pipe = tcp_pipe(in_slow_start(tcp(Some(127_000), LossRecoveryKind::NewReno, 1)));
    pipe.run_clean(NEVER);
    // The round trip is 10.9 us; a window of 8 is sent in 6.8 us, and one of 16 fills the wire.
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
    // A wire that loses the segment that would be the 20th in flight, as a full queue does.
    let spec = over(Application::Tcp(tcp(None, LossRecoveryKind::NewReno, 2).into()));
    let mut pipe = connect(&spec, BitRate::from_gbps(100), DELAY);
    let mut on_the_way = 0;
    let mut windows = vec![];
    for step in 1..=4_000u64 {
        pipe.run(START + Time::from_us(5) * step, |end, _| {
            // Each segment that arrives is acknowledged at once.
            let lost = end == 0 && on_the_way >= 19;
            on_the_way = if end == 1 { on_the_way - 1 } else { on_the_way + i32::from(!lost) };
            Outcome { lost, ..Outcome::default() }
        });
        windows.push(pipe.near.facts(Time::ZERO).congestion.map_or(0, |it| it.window));
    }
    // From half of the peak up to it by a segment a round trip, again and again, without a timeout.
    let falls: Vec<usize> = (2_001..windows.len()).filter(|&n| windows[n] < windows[n - 1] * 2 / 3).collect();
    let peaks: Vec<u64> = falls.iter().map(|&n| windows[n - 1] / 1_000).collect();
    assert!(falls.len() >= 10 && timeouts(&pipe) == 0, "{falls:?}, {}", timeouts(&pipe));
    // 20 segments are on their way, up to four others have arrived and their acknowledgements not (a repair leaves a gap in
    // the burst that a window is), and it grows for a round trip until the loss is detected.
    assert!(peaks.iter().all(|peak| (20..=25).contains(peak)), "{peaks:?}");
    let lengths: Vec<usize> = falls.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let (least, most) = (lengths.iter().min().unwrap(), lengths.iter().max().unwrap());
    assert!(most - least <= 12, "{lengths:?}");
}

#[test]
fn throughput_is_window_over_round_trip() {
    // 1058 B last 846.4 ns, an acknowledgement 51.2 ns.
    let round_trip = Time::from_ps(846_400 + 51_200) + DELAY * 2;
    for segments in 1..=12u64 {
        // What does not fill a segment is of no use.
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
    // A window of 4 that loses its second segment: 2 and 3 cause two duplicates. Without limited transmit that is all,
    // and it times out. With it, 5 and 6 go (after 4, which the acknowledgement of 0 has released): the third and fourth.
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
    // Sixteen in flight, one lost, an acknowledgement every 846 ns. With PRR the third one after the repair has begun releases a segment,
    // without it the sixth, which brings the pipe below half.
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
        // A new connection begins with two segments; an old one keeps its window: 4, in one round trip.
        let trips: Vec<u64> = done.iter().map(|it| (it.end - it.start).ps() / 10_890_000).collect();
        let again = if reconnect { 2 } else { 1 };
        let greet = |n: usize| u64::from(n < greetings);
        assert_eq!(trips[..2], [2 + greet(0), again + greet(1)], "{handshake}, {reconnect}");
    }
    // After an idle time above the timeout the window is the initial one again, if it restarts.
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
        // The initial timeout, then two round trips: 64 B each way, and the data with its acknowledgement.
        assert_eq!(times[..2], [Time::ZERO, Time::from_ms(1)]);
        assert_eq!(times[2], Time::from_ms(1) + Time::from_ps(102_400) + DELAY * 2);
        assert_eq!((times.len(), timeouts(&pipe)), (3, 1));
        assert_eq!(of_kind(&pipe.records, RecordKind::Transfer).len(), 1);
    }
}
