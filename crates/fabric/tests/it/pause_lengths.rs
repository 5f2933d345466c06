//! Duration of pauses, and of a search for targets.

use crate::common::*;
use fabric::spec::{HostSpec, SwitchSpec};
use flow_control::{
    Accounting, PauseLength, PauseSpec, Sampling, TargetMethod, TargetSpec, Watermarks, XonSent,
};
use frame::NodeId;
use units::{Amount, Or, Time};

/// Time of a pause frame: 84 B at 10 Gb/s.
const P: u64 = 67_200;
/// Time of a frame of 1522 B at 10 Gb/s.
const F: u64 = 1_233_600;

/// Two hosts - sw at 10 Gb/s and 100 ns of cable, sw - sink at 1 Gb/s.
fn bench(control: &PauseSpec, duration: Time) -> (Net, [NodeId; 4]) {
    let with = || HostSpec { flow_control: Some(control.clone().into()), ..host() };
    let mut net = Net::new(duration);
    let (g, h) = (net.host("g", with()), net.host("h", with()));
    let sw = net.switch("sw", SwitchSpec { flow_control: Some(control.clone().into()), ..switch() });
    let sink = net.host("sink", host());
    net.link(g, sw, gbps(10), ns(100));
    net.link(h, sw, gbps(10), ns(100));
    net.link(sw, sink, gbps(1), Time::ZERO);
    (net, [g, h, sw, sink])
}

#[test]
fn one_frame_stops_two_priorities_for_different_times() {
    let mut each = [u16::MAX; 8];
    (each[2], each[6]) = (30, 100);
    let quanta = PauseLength::Fixed(each);
    let control = PauseSpec { quanta, resume: false, refresh: false, ..pfc_at(0xFF, 1, 0) };
    let (mut net, [_, h, sw, sink]) = bench(&control, us(50));
    net.flow("long", sw, 7, one(sink, 9216, Time::ZERO));
    net.flow("a", h, 2, one(sink, 200, Time::ZERO));
    net.flow("b", h, 6, one(sink, 200, Time::ZERO));
    // The frame on the wire to h delays the pause frame until both have reached XOFF.
    net.flow("back", sw, 7, one(h, 1522, Time::ZERO));
    let outcome = net.run();
    let start = F + P + 100_000;
    assert_eq!(outcome.pauses_of("h.0->sw", 2), [(start, start + 30 * 51_200)]);
    assert_eq!(outcome.pauses_of("h.0->sw", 6), [(start, start + 100 * 51_200)]);
    assert_eq!(outcome.count("ports", "sw.1->h", "pauses_sent"), 1);
    assert_eq!(outcome.count("ports", "h.0->sw", "pauses_received"), 1);
    let causes = outcome.texts("pauses", "counter");
    assert_eq!(causes, ["sw.1->h in/2", "sw.1->h in/6"]);
}

#[test]
fn each_time_is_renewed_by_itself() {
    // Both priorities have to stop for the time of the frame of 9216 B, 73.888 us: 800 quanta need one renewal, 400
    // quanta two.
    let mut each = [800; 8];
    each[6] = 400;
    let control = PauseSpec { quanta: PauseLength::Fixed(each), ..pfc_at(0xFF, 1, 0) };
    let (mut net, [_, h, sw, sink]) = bench(&control, us(150));
    net.flow("long", sw, 7, one(sink, 9216, Time::ZERO));
    net.flow("a", h, 2, one(sink, 200, Time::ZERO));
    net.flow("b", h, 6, one(sink, 200, Time::ZERO));
    let outcome = net.run();
    let (two, six) = (outcome.pauses_of("h.0->sw", 2), outcome.pauses_of("h.0->sw", 6));
    assert_eq!((two.len(), six.len()), (1, 1), "{two:?} {six:?}");
    assert_eq!(six[0].1, 73_888_000 + P + 100_000);
    // They are renewed two round trips, a frame and a microsecond before they end: every 32.2 us, twice, and every 11.7
    // us, six times.
    assert_eq!(outcome.count("ports", "sw.1->h", "pauses_sent"), (1 + 2) + (1 + 6));
}

#[test]
fn a_pause_as_long_as_what_waits_takes_to_drain() {
    for accounting in [Accounting::Ingress, Accounting::Egress] {
        let control =
            PauseSpec { accounting, quanta: PauseLength::Computed, resume: false, ..pfc_at(0x08, 4, 1) };
        let (mut net, [_, h, _, sink]) = bench(&control, us(150));
        // The first is sent on, four are queued: the fourth reaches XOFF; with egress accounting, the next frame does.
        // Three of them, or four, are 37.008 us or 49.344 us at 1 Gb/s: 722.8 or 963.8 quanta of 51.2 ns.
        let (frames, quanta) = if accounting == Accounting::Ingress { (5, 723) } else { (6, 964) };
        net.flow("f", h, 3, burst(sink, 1522, frames, Time::ZERO));
        let outcome = net.run();
        // The pause is sent when the last frame has arrived.
        let start = frames * F + 100_000 + P + 100_000;
        assert_eq!(
            outcome.pauses_of("h.0->sw", 3)[..1],
            [(start, start + quanta * 51_200)],
            "{accounting:?}"
        );
        assert_eq!(outcome.count("ports", "sw.1->h", "resumes_sent"), 0);
        assert_eq!(outcome.count("ports", "sw.1->h", "pauses_sent"), 1);
    }
}

#[test]
fn computed_pauses_lose_nothing_and_leave_no_gap() {
    for accounting in [Accounting::Ingress, Accounting::Egress] {
        let run = |quanta: PauseLength| {
            let base = pfc_at(0x08, 60, 20);
            let resume = quanta != PauseLength::Computed;
            let control = PauseSpec { accounting, quanta, resume, ..base };
            let (mut net, [g, h, _, sink]) = bench(&control, us(20_000));
            for (name, from) in [("f", g), ("e", h)] {
                net.flow(name, from, 3, paced(sink, 1522, 1 << 40, Time::ZERO, ps(F)));
            }
            let outcome = net.run();
            let sent = |what| outcome.count("ports", "sw.1->h", what);
            (outcome.delivered("f") + outcome.delivered("e"), sent("pauses_sent"), sent("resumes_sent"))
        };
        let (with_xon, _, resumes) = run(u16::MAX.into());
        let (computed, pauses, none) = run(PauseLength::Computed);
        // 1 Gb/s carries 1621 frames in 20 ms; the first arrives after 1.3 us.
        assert_eq!((with_xon, computed), (1621, 1621), "{accounting:?}");
        assert!(resumes > 0 && none == 0 && pauses > 0, "{accounting:?}: {resumes} {none} {pauses}");
    }
}

fn targeted(method: TargetMethod, search_time: Time) -> PauseSpec {
    let marks = Watermarks { xoff: Amount::Frames(30), xon: Amount::Frames(1), headroom: None };
    let watermark = Or::Value(Amount::Frames(4));
    let target = TargetSpec {
        method,
        watermark,
        partners: 1,
        sampling: Sampling::OneShot,
        search_time,
        xon_sent: XonSent::Once,
    };
    PauseSpec { accounting: Accounting::Egress, watermarks: Some(marks), target: Some(target), ..pfc(0x08) }
}

#[test]
fn a_search_takes_its_time() {
    let first = |method, search_time| {
        let (mut net, [g, h, _, sink]) = bench(&targeted(method, search_time), us(200));
        net.flow("small", g, 3, one(sink, 1522, ns(100)));
        net.flow("f", h, 3, burst(sink, 1522, 8, Time::ZERO));
        let outcome = net.run();
        outcome.pauses_of("h.0->sw", 3).first().map(|pause| pause.0)
    };
    let at_once = first(TargetMethod::FairBandwidth, Time::ZERO).unwrap();
    // Four frames are queued. The search checks each of them, a random draw only one.
    assert_eq!(first(TargetMethod::FairBandwidth, ns(100)), Some(at_once + 400_000));
    let drawn = first(TargetMethod::RandomSampling, Time::ZERO);
    assert_eq!(first(TargetMethod::RandomSampling, ns(100)), drawn.map(|at| at + 100_000));
    // By then, all frames have left.
    assert_eq!(first(TargetMethod::FairBandwidth, us(30)), None);
}

#[test]
fn a_target_watermark_is_computed_from_the_links() {
    // In flight to a port at 10 Gb/s, 100 ns in each direction: two frames of 1542 B, a pause frame of 84 B and 250 B
    // of cable. Together with the frame that crosses XOFF, this is less than four full-size frames.
    let mut control = targeted(TargetMethod::FairBandwidth, Time::ZERO);
    control.response_time = Some(Time::ZERO);
    let target = TargetSpec { watermark: Or::word(), partners: 2, ..control.target.unwrap() };
    let control = PauseSpec { target: Some(target), ..control };
    let (mut net, [_, h, _, sink]) = bench(&control, us(20));
    net.flow("f", h, 3, burst(sink, 1522, 8, Time::ZERO));
    let outcome = net.run();
    let marks = outcome.texts("watermarks", "watermark");
    let values = outcome.integers("watermarks", "value");
    let target = marks.iter().position(|mark| mark == "target").unwrap();
    let room = fabric::pause_needs(&net.0).iter().map(|need| need.room.get()).max().unwrap();
    assert_eq!(values[target], 30 - 2 * room.div_ceil(1522));
}
