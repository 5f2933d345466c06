//! Scripted control frames: pauses and congestion messages, to the picosecond.

use crate::common::*;
use fabric::spec::{ControlContent, FaultSpec, HostSpec, LimiterSpec};
use frame::NodeId;
use queueing::{RateControlSpec, ReactionPointParams};
use units::{Bytes, Time};

/// Length of the frames in these tests: with 20 B of overhead, 1 us at 10 Gb/s.
const FRAME: u16 = 1_230;

/// h - sw - sink at 10 Gb/s without delay.
fn line(h: HostSpec) -> (Net, NodeId, NodeId) {
    let mut net = Net::new(us(200));
    let (h, sw, sink) = (net.host("h", h), net.switch("sw", switch()), net.host("sink", host()));
    net.link(h, sw, gbps(10), Time::ZERO);
    net.link(sw, sink, gbps(10), Time::ZERO);
    (net, h, sink)
}

fn received(at: Time, content: ControlContent) -> FaultSpec {
    FaultSpec::ControlFrame { link: 0, towards: NodeId(0), at, content }
}

fn pfc_for(times: &[(usize, u16)]) -> ControlContent {
    let mut quanta = [0; 8];
    let mut enabled = 0;
    for &(priority, time) in times {
        enabled |= 1 << priority;
        quanta[priority] = time;
    }
    ControlContent::Pfc { enabled, quanta }
}

/// Number of frames of a greedy source of this priority that arrive within 200 us.
fn delivered(priority: u8, faults: Vec<FaultSpec>) -> u64 {
    let (mut net, h, sink) = line(HostSpec { flow_control: Some(pfc(0xFF).into()), ..host() });
    net.flow("f", h, priority, greedy(sink, FRAME, Time::ZERO));
    net.0.faults = faults;
    let outcome = net.run();
    net.assert_threads_agree(&outcome);
    outcome.delivered("f")
}

#[test]
fn each_priority_has_its_own_time() {
    // A frame takes 1 us on each of two links: frames that start from 0 to 197 us arrive before 200 us. A quantum is
    // 51.2 ns, so the pause after the 21 frames from 0 to 20 us ends at 71.2 or 45.6 us, and 127 or 153 frames follow.
    assert_eq!(delivered(3, vec![]), 198);
    let both = || vec![received(us(20), pfc_for(&[(3, 1_000), (4, 500)]))];
    assert_eq!([3, 4, 5].map(|priority| delivered(priority, both())), [148, 174, 198]);
}

#[test]
fn a_time_replaces_and_zero_ends() {
    let two =
        |second| vec![received(us(20), pfc_for(&[(3, 1_000)])), received(us(30), pfc_for(&[(3, second)]))];
    // At 30 us, 100 quanta: until 35.12 us; 2000 quanta: until 132.4 us; none: resumes at 30 us.
    assert_eq!([100, 2_000, 0].map(|second| delivered(3, two(second))), [184, 87, 189]);
}

#[test]
fn only_what_the_station_has_acts() {
    for content in [
        ControlContent::Pause(0xFFFF),
        ControlContent::Nothing,
        ControlContent::Congestion { flow: 0, feedback: 63 },
    ] {
        assert_eq!(delivered(3, vec![received(us(20), content)]), 198);
    }
}

#[test]
fn a_congestion_message_cuts_the_rate_of_its_flow() {
    let lowest = |faults: Vec<FaultSpec>, flow: usize| {
        let control = RateControlSpec::Qcn(ReactionPointParams::default());
        let per = queueing::LimiterScope::Flow;
        let limiters =
            LimiterSpec { control, per, priorities: 0xFF, mark_after: None, priority_burst: Bytes::new(0) };
        let (mut net, h, sink) = line(HostSpec { limiters: Some(limiters), ..host() });
        for name in ["f", "g"] {
            net.flow(name, h, 3, greedy(sink, FRAME, Time::ZERO));
        }
        net.0.faults = faults;
        net.run().reals("rate_limiters", "rate_min_bps")[flow]
    };
    let message = |flow| vec![received(us(20), ControlContent::Congestion { flow, feedback: 32 })];
    // A cut by 32/128, only for the named flow; there is no third flow.
    assert_eq!((lowest(message(1), 0), lowest(message(1), 1)), (10e9, 7.5e9));
    assert_eq!((lowest(message(2), 0), lowest(message(2), 1)), (10e9, 10e9));
}
