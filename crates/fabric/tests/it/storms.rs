//! Pause storms and the watchdog, to the picosecond.
//!
//! src - s0 - s1 - sink: a long frame that originates at s1 holds the link to the sink for 7 388 800 ps. Of the two
//! frames from src, the first is queued behind it: its counter at s1 is full, and s0 is paused with the second in its
//! queue until the long frame has left. With a watermark of one frame:
//!
//! - 1000 B from src arrive at s0 at 816 ns + 100 ns, and at s1 at 1832 ns;
//! - the pause frame of s1 takes 67.2 ns and the cable 100 ns: s0 is paused from 1999.2 ns on;
//! - the second frame, created at 2 us, arrives at s0 at 2916 ns and is stuck there from then on.

use crate::common::*;
use fabric::spec::{HostSpec, SwitchSpec};
use fabric::{Simulation, State};
use flow_control::PauseSpec;
use flow_control::watchdog::{StormAction, WatchdogSpec};
use frame::NodeId;
use scheduling::SchedulerSpec;
use units::Time;

fn net(action: StormAction, detection: Time, restoration: Time, frames: u64) -> Net {
    let control = pfc_at(0xFF, 1, 0);
    let host_with = |control: &PauseSpec| HostSpec { flow_control: Some(control.clone().into()), ..host() };
    let switch_with =
        |control: &PauseSpec| SwitchSpec { flow_control: Some(control.clone().into()), ..switch() };
    let mut net = Net::new(us(60));
    let [src, sink] = ["src", "sink"].map(|name| net.host(name, host_with(&control)));
    let [s0, s1] = ["s0", "s1"].map(|name| net.switch(name, switch_with(&control)));
    net.link(src, s0, gbps(10), ns(100));
    net.link(s0, s1, gbps(10), ns(100));
    net.link(s1, sink, gbps(10), ns(100));
    net.flow("long", s1, 3, one(sink, 9216, Time::ZERO));
    net.flow("flow", src, 3, paced(sink, 1000, frames, Time::ZERO, us(2)));
    net.0.guards.watchdog = Some(WatchdogSpec { detection, restoration, action });
    net
}

const STUCK: f64 = 2916.0;

#[test]
fn a_storm_is_detected_at_the_exact_time() {
    // The pause ends when the long frame has left: 7388.8 ns, XON 67.2 + 100 ns later.
    let outcome = net(StormAction::Report, us(4), us(3), 2).run();
    assert_eq!(outcome.pauses_of("s0.1->s1", 3)[0], (1_999_200, 7_556_000));
    assert_eq!(outcome.texts("storms", "port"), ["s0.1->s1"]);
    assert_eq!(outcome.integers("storms", "class"), [3]);
    assert_eq!(outcome.reals("storms", "began_ns"), [STUCK]);
    assert_eq!(outcome.reals("storms", "detected_ns"), [STUCK + 4000.0]);
    // The second frame is then sent; it is forwarded at once at s1, so the pause is the last one.
    assert_eq!(outcome.delivered("flow"), 2);
    let last = outcome.pauses_of("s0.1->s1", 3).last().unwrap().1 as f64 / 1000.0;
    assert_eq!(outcome.reals("storms", "over_ns"), [last + 3000.0]);
}

#[test]
fn a_pause_that_ends_in_time_is_no_storm() {
    let lasts = 7556.0 - STUCK;
    let outcome = net(StormAction::Drop, exact(lasts), us(3), 2).run();
    assert_eq!(outcome.table("storms").rows(), 0);
    assert_eq!(outcome.delivered("flow"), 2);
    let outcome = net(StormAction::Drop, exact(lasts - 0.001), us(3), 2).run();
    assert_eq!(outcome.table("storms").rows(), 1);
}

#[test]
fn looking_changes_nothing() {
    let with = net(StormAction::Report, us(1), us(1), 5);
    let mut without = with.clone();
    without.0.guards.watchdog = None;
    assert_eq!(with.run().fingerprint, without.run().fingerprint);
}

#[test]
fn drops_what_waits_and_what_comes_until_it_is_over() {
    for scheduler in [SchedulerSpec::StrictPriority, SchedulerSpec::Fifo] {
        // Frames arrive at s0 at 916 ns and every 2 us from then on; the storm is from 4916 to 7556 + 3000 ns.
        let mut net = net(StormAction::Drop, us(2), us(3), 9);
        if scheduler == SchedulerSpec::Fifo {
            for node in &mut net.0.nodes {
                if let fabric::spec::Role::Switch(spec) = &mut node.role {
                    let spec = std::sync::Arc::make_mut(spec);
                    spec.scheduler = SchedulerSpec::Fifo;
                    spec.classes = frame::ClassMap::SHARED;
                }
            }
        }
        let outcome = net.run();
        assert_eq!(outcome.reals("storms", "detected_ns"), [STUCK + 2000.0]);
        assert_eq!(outcome.reals("storms", "over_ns"), [10_556.0]);
        // Created at 2, 4, 6, 8 us; the one at 4916 ns arrives at the time of the watchdog's check, before it.
        assert_eq!(outcome.integers("storms", "frames_dropped"), [4]);
        assert_eq!(outcome.integers("storms", "bytes_dropped"), [4000]);
        assert_eq!(outcome.texts("drops", "cause"), ["watchdog"]);
        assert_eq!(outcome.total("drops", "frames"), 4);
        assert_eq!(outcome.delivered("flow"), 5);
        assert_eq!(outcome.summary("headroom_violations"), 0.0);
    }
}

#[test]
fn drops_a_queue_of_any_length() {
    // All frames of the flow but the first are queued at s0 when the storm is detected, and are dropped by one
    // decision.
    let mut net = net(StormAction::Drop, us(4), us(3), 1);
    net.flow("burst", NodeId(2), 3, burst(NodeId(1), 64, 200_000, ns(2500)));
    let outcome = net.run();
    assert!(outcome.integers("storms", "frames_dropped")[0] >= 199_000);
}

#[test]
fn forwards_what_waits() {
    // The headroom of s1 has to absorb the frames that arrive in spite of the pause.
    let outcome = net(StormAction::Forward, us(2), us(3), 4).run();
    assert_eq!(outcome.reals("storms", "detected_ns"), [STUCK + 2000.0]);
    assert_eq!(outcome.integers("storms", "frames_dropped"), [0]);
    assert_eq!(outcome.delivered("flow"), 4);
    // The second left s0 when the storm was detected: it had arrived at s1 when the long frame had left, and so had the
    // third. The sink's link was therefore never idle, and the third arrives 100 ns after 7388.8 + 3 * 816 ns.
    assert_eq!(outcome.count("queues", "s1.1->sink", "queue_frames_max"), 3);
}

#[test]
fn a_loss_behind_a_watchdog_that_forwards_says_so() {
    let error_of = |action| {
        let mut net = net(action, us(2), us(3), 9);
        for node in &mut net.0.nodes {
            if let fabric::spec::Role::Switch(spec) = &mut node.role
                && node.name == "s1"
            {
                std::sync::Arc::make_mut(spec).buffer.queue = Some(units::Amount::Frames(2));
            }
        }
        net.try_run().error
    };
    let error = error_of(StormAction::Forward).expect("three frames wait at s1 where two have room");
    assert!(error.contains("a frame of a lossless class was lost"), "{error}");
    assert!(error.contains("forwards frames in spite of pauses"), "{error}");
    assert_eq!(error_of(StormAction::Report), None);
}

#[test]
fn storms_do_not_depend_on_threads() {
    let everything = |net: &Net, threads: usize| {
        let mut simulation = Simulation::on_threads(&net.0, threads).unwrap();
        while simulation.advance(1000).unwrap() == State::Running {}
        format!("{:x} {:?}", simulation.fingerprint(), simulation.tables())
    };
    for action in [StormAction::Report, StormAction::Drop, StormAction::Forward] {
        let net = net(action, us(2), us(3), 9);
        assert_eq!(everything(&net, 3), everything(&net, 1));
    }
}
