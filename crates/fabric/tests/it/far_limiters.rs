//! Rate limiters of responders: frames from the far ends of connections pass the limiter of their host, which receives
//! the feedback for them.

use crate::common::{Net, gbps, host, managed, ns, switch, us};
use fabric::spec::{HostSpec, LimiterSpec, ReceiveSpec, SwitchSpec};
use frame::NodeId;
use queueing::{
    BackwardPointParams, BackwardReactionParams, CongestionPointParams, LimiterScope, ManagerSpec, Method,
    PathPointParams, PathReactionParams, RateControlSpec, RatePointParams, RateReactionParams,
    ReactionPointParams,
};
use std::sync::Arc;
use transport::{Application, ConnectionSpec, Delay, RequestResponseSpec};
use units::{BitRate, Bytes, Or, Time};

const FRAME: u16 = 1230;

/// Small requests with responses of `response` bytes, one after the other.
fn request_response(response: u64) -> Arc<ConnectionSpec> {
    let application = Application::RequestResponse(RequestResponseSpec {
        request: 64,
        response,
        segment: FRAME,
        outstanding: 1,
        requests: None,
        think: Delay::Fixed(Time::ZERO),
        service: Delay::Fixed(Time::ZERO),
        timeout: None,
        ecn_capable: false,
    });
    Arc::new(ConnectionSpec { start: Time::ZERO, stop: None, application })
}

/// Hosts at a switch, of which the first requests long responses from all others.
fn star(names: &[&str], station: impl Fn(&str) -> HostSpec, switch: SwitchSpec, length: Time) -> Net {
    let mut net = Net::new(length);
    let hosts: Vec<NodeId> = names.iter().map(|name| net.host(name, station(name))).collect();
    let sw = net.switch("sw", switch);
    net.attach(&hosts, sw, gbps(10), ns(100));
    for (&from, name) in hosts[1..].iter().zip(&names[1..]) {
        let source = crate::common::greedy(from, 64, Time::ZERO);
        net.flow(name, hosts[0], 3, source).transport = Some(request_response(10_000_000));
    }
    net
}

fn limited(control: RateControlSpec, per: LimiterScope) -> HostSpec {
    HostSpec {
        limiters: Some(LimiterSpec {
            control,
            per,
            priorities: 0xFF,
            mark_after: None,
            priority_burst: Bytes::new(0),
        }),
        ..host()
    }
}

#[test]
fn answers_pass_the_limiter_of_their_host() {
    let most = Or::Value(BitRate::from_gbps(2));
    let control =
        RateControlSpec::Qcn(ReactionPointParams { max_rate: most, ..ReactionPointParams::default() });
    for (per, name) in [
        (LimiterScope::Flow, "answers of b"),
        (LimiterScope::Destination, "to a, priority 3"),
        (LimiterScope::Path, "to a"),
        (LimiterScope::Priority, "priority 3"),
    ] {
        let station = |host: &str| if host == "b" { limited(control, per) } else { crate::common::host() };
        let outcome = star(&["a", "b"], station, switch(), us(1_000)).run();
        assert_eq!(outcome.texts("rate_limiters", "limiter"), [name]);
        assert_eq!(outcome.texts("rate_limiters", "host"), ["b"]);
        // Frames of 1250 B on the wire at 2 Gb/s: one every 5 us from the request on.
        assert_eq!(outcome.integers("rate_limiters", "frames_sent"), [200]);
    }
}

#[test]
fn answers_that_meet_are_slowed_down_by_every_control() {
    let short = us(100);
    let rates = RateReactionParams { interval: short, initial_share: 1.0, ..RateReactionParams::default() };
    let paths = |method| PathReactionParams { method, initial_share: 1.0, ..PathReactionParams::default() };
    let point = PathPointParams::default();
    for (manager, control) in [
        (
            ManagerSpec::CongestionPoint(CongestionPointParams::default()),
            RateControlSpec::Qcn(ReactionPointParams::default()),
        ),
        (
            ManagerSpec::BackwardPoint(BackwardPointParams::default()),
            RateControlSpec::Bcn(BackwardReactionParams::default()),
        ),
        (
            ManagerSpec::RatePoint(RatePointParams { interval: short, ..RatePointParams::default() }),
            RateControlSpec::Fecn(rates),
        ),
        (ManagerSpec::PathPoint(point), RateControlSpec::Prc(paths(Method::Feedback))),
        (ManagerSpec::PathPoint(point), RateControlSpec::Prc(paths(Method::Probes))),
        (
            ManagerSpec::PathPoint(PathPointParams { messages: true, ..point }),
            RateControlSpec::Prc(paths(Method::Messages)),
        ),
    ] {
        let net =
            star(&["a", "b", "c"], |_| limited(control, LimiterScope::Flow), managed(manager), us(5_000));
        let outcome = net.run();
        let names = ["b", "answers of b", "c", "answers of c"];
        assert_eq!(outcome.texts("rate_limiters", "limiter"), names);
        let lowest = outcome.reals("rate_limiters", "rate_min_bps");
        for answers in [1, 3] {
            assert!(lowest[answers] < 6e9, "{} left {lowest:?}", control.name());
        }
        let slowed = outcome.texts("slowdowns", "limiter").iter().zip(outcome.texts("slowdowns", "port"));
        let by_the_way_to_a = slowed.filter(|(of, port)| of.starts_with("answers") && *port == "sw.0->a");
        assert_eq!(by_the_way_to_a.count(), 2, "{}", control.name());
        net.assert_threads_agree(&outcome);
    }
}

/// The tags of BCN and FECN lengthen frames only in flight: series and totals count the same bytes.
#[test]
fn the_throughput_over_time_is_that_of_frames_without_tags() {
    let short = us(100);
    let rates = RateReactionParams {
        interval: short,
        tag_every: 1,
        initial_share: 1.0,
        ..RateReactionParams::default()
    };
    for (manager, control) in [
        (
            ManagerSpec::BackwardPoint(BackwardPointParams::default()),
            RateControlSpec::Bcn(BackwardReactionParams::default()),
        ),
        (
            ManagerSpec::RatePoint(RatePointParams { interval: short, ..RatePointParams::default() }),
            RateControlSpec::Fecn(rates),
        ),
    ] {
        for receive in [None, Some(ReceiveSpec::default())] {
            let end = us(2_000);
            let mut net = Net::new(end);
            let station = || HostSpec { receive: receive.clone(), ..limited(control, LimiterScope::Flow) };
            let [a, b, c] = ["a", "b", "c"].map(|name| net.host(name, station()));
            let sw = net.switch("sw", managed(manager));
            net.attach(&[a, b, c], sw, gbps(10), ns(100));
            net.flow("f", a, 0, crate::common::greedy(c, 64, Time::ZERO));
            net.flow("g", b, 0, crate::common::greedy(c, 64, Time::ZERO));
            net.0.probes.bin = Some(us(100));
            let outcome = net.run();
            assert!(outcome.total("rate_limiters", "tags_sent") > 500, "{}", control.name());
            for metric in ["flow_throughput_bps", "flow_read_bps"] {
                let names = outcome.texts("series", "metric");
                let bins: Vec<f64> = (names.iter().zip(outcome.reals("series", "value")))
                    .filter(|(name, _)| *name == metric)
                    .map(|(_, rate)| rate * 1e-4 / 8.0)
                    .collect();
                if metric == "flow_read_bps" && receive.is_none() {
                    assert!(bins.is_empty());
                    continue;
                }
                let delivered = outcome.total("flows", "bytes_delivered") as f64;
                // A frame arriving at the end counts partially, and a bin may be off by a bit.
                let over = bins.iter().sum::<f64>() - delivered;
                assert!((-8.0..=128.0).contains(&over), "{} {metric}: {over} B too many", control.name());
            }
        }
    }
}
