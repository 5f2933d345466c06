//! Streams that are counted individually, compared with as many separate sources.

use crate::common::*;
use frame::NodeId;
use units::{BitRate, ClockOffset, Time};
use workload::{Arrivals, Destinations, FrameSizes, Source, SourceSpec, StreamsParams, VideoParams, Wake};

const COUNT: u64 = 20;
const COLUMNS: [&str; 3] = ["latency_min_ns", "latency_mean_ns", "latency_max_ns"];

fn streams(to: Destinations, sizes: FrameSizes, counted: bool) -> SourceSpec {
    let arrivals =
        Arrivals::Streams(StreamsParams { rate: BitRate::from_bps(100_000_000), count: COUNT, counted });
    SourceSpec { arrivals, destinations: to, sizes, limit: None, ..one(NodeId(0), 1_000, us(3)) }
}

/// Two senders share a link, whose rate their demand exceeds; PFC holds them back.
fn shared(to: usize) -> (Net, Vec<NodeId>) {
    let mut net = Net::new(us(2_000));
    net.0.warmup = us(200);
    let flow_control = Some(pfc_at(0xFF, 20, 10).into());
    let sw = net.switch("sw", fabric::spec::SwitchSpec { flow_control: flow_control.clone(), ..switch() });
    let h: Vec<NodeId> = (0..2 + to)
        .map(|nth| {
            let spec = fabric::spec::HostSpec { flow_control: flow_control.clone(), ..host() };
            net.host(&format!("h{nth}"), spec)
        })
        .collect();
    h.iter().for_each(|&host| net.link(host, sw, gbps(10), us(1)).overhead = 20);
    net.flow("greedy", h[1], 0, greedy(h[2], 777, Time::ZERO));
    (net, h)
}

/// Start of each stream of the flow "streams", by its number.
fn phases(spec: &SourceSpec) -> Vec<Time> {
    let rng = engine::stream(1, "flow/streams");
    let mut source = Source::new(spec, gbps(10), 20, ClockOffset::default(), rng);
    let mut phases = vec![Time::NEVER; COUNT as usize];
    while phases.contains(&Time::NEVER) {
        let now = source.next_wake().expect("it goes on");
        if matches!(source.wake(now), Wake::Emit(_)) {
            let phase = &mut phases[source.stream().expect("counted") as usize];
            *phase = now.min(*phase);
        }
    }
    phases
}

#[test]
fn each_stream_is_what_a_source_of_its_own_would_be() {
    let (mut net, h) = shared(1);
    let mut alone = net.clone();
    let spec = streams(Destinations::Fixed(h[2]), FrameSizes::Fixed(1_000), true);
    net.flow("streams", h[0], 0, spec.clone());
    for (nth, phase) in phases(&spec).into_iter().enumerate() {
        // A frame every 80 us.
        alone.flow(&format!("stream {nth}"), h[0], 0, paced(h[2], 1_000, 1_000, phase, us(80)));
    }
    let (together, alone) = (net.run(), alone.run());
    assert!(together.total("ports", "pauses_received") > 20, "somebody waits");
    let counts = ["frames_delivered", "bytes_delivered"];
    for column in counts {
        assert_eq!(together.integers("streams", column), &alone.integers("flows", column)[1..], "{column}");
    }
    for column in COLUMNS {
        assert_eq!(together.reals("streams", column), &alone.reals("flows", column)[1..], "{column}");
    }
    assert!(together.integers("streams", "frames_delivered").iter().all(|&frames| frames > 10));
    // Several threads give equal results, and sources without counted streams have no rows.
    net.assert_threads_agree(&together);
    net.0.flows[1].source = streams(Destinations::Fixed(h[2]), FrameSizes::Fixed(1_000), false);
    let uncounted = net.run();
    assert_eq!(uncounted.table("streams").rows(), 0);
    assert_eq!(format!("{:?}", uncounted.table("flows")), format!("{:?}", together.table("flows")));
}

#[test]
fn the_streams_of_a_flow_add_up_to_it_whatever_their_sizes_and_destinations() {
    let video = VideoParams {
        counted: true,
        interval: us(20),
        ..VideoParams::new(BitRate::from_bps(100_000_000), COUNT)
    };
    let shortest = fabric::spec::Way::Shortest;
    for (way, other) in [
        (shortest.clone(), None),
        (fabric::spec::Way::ByDestination, None),
        (shortest, Some((Arrivals::Video(video), FrameSizes::Fixed(200)))),
    ] {
        let (mut net, h) = shared(3);
        let mut spec = streams(Destinations::Uniform(h[2..].to_vec()), FrameSizes::Imix, true);
        if let Some((arrivals, sizes)) = other {
            (spec.arrivals, spec.sizes) = (arrivals, sizes);
        }
        net.flow("streams", h[0], 0, spec).way = way.clone();
        let outcome = net.run();
        let hosts = if way == fabric::spec::Way::Shortest { 3 } else { 1 };
        assert_eq!(outcome.table("streams").rows(), hosts * COUNT as usize);
        let total = |column| outcome.total("streams", column);
        assert_eq!(total("frames_delivered"), outcome.delivered("streams"));
        assert_eq!(total("bytes_delivered"), outcome.count("flows", "streams", "bytes_delivered"));
        let frames = outcome.integers("streams", "frames_delivered");
        let mean = outcome.reals("streams", "latency_mean_ns");
        let sum: f64 =
            frames.iter().zip(mean).filter(|(n, _)| **n > 0).map(|(&n, mean)| n as f64 * mean).sum();
        let of_flow = outcome.real("flows", "streams", "latency_mean_ns");
        assert!((sum / total("frames_delivered") as f64 / of_flow - 1.0).abs() < 1e-9, "{sum} {of_flow}");
        let (min, max) = outcome.latency("streams");
        let of = |column| outcome.reals("streams", column).iter().filter(|&&ns| ns > 0.0).copied();
        assert_eq!(exact(of("latency_min_ns").fold(f64::MAX, f64::min)), min);
        assert_eq!(exact(of("latency_max_ns").fold(0.0, f64::max)), max);
    }
}
