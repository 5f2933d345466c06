//! Sending frames ahead of their time changes no result. A fault that never occurs makes every port decide for each
//! frame; all measurements must stay equal.

use crate::common::*;
use fabric::spec::{Forwarding, HostSpec, LimiterSpec, OnLosslessDrop, SwitchSpec};
use fabric::{Simulation, State};
use flow_control::PauseSpec;
use frame::{ClassMap, NodeId};
use proptest::prelude::*;
use queueing::{
    Action, BackwardPointParams, BackwardReactionParams, BufferSpec, CongestionPointParams, Counts,
    LimiterScope, ManagerSpec, Moment, RateControlSpec, RatePointParams, RateReactionParams,
    ReactionPointParams, RedParams, SamplingParams, StepParams,
};
use scheduling::SchedulerSpec;
use std::sync::Arc;
use transport::{Application, ConnectionSpec, ControllerSpec, FixedWindowParams, WindowSpec};
use units::{Amount, BitRate, Bytes, Time};
use workload::{Arrivals, ConstantParams, FrameSizes, PoissonParams, SourceSpec};

/// Random parameters of a fabric: two rows of hosts at two switches.
#[derive(Clone, Debug)]
struct Dice {
    hosts: usize,
    rates: Vec<u64>,
    cuts_through: bool,
    latency: Time,
    fifo: bool,
    /// Limit of each queue of a switch.
    limit: Option<Amount>,
    /// None, QCN, BCN, FECN and E-FECN; RED that drops or marks, step marking at enqueue or dequeue, sampling.
    control: usize,
    flows: Vec<(usize, usize, u8, u64, u16)>,
    warmup: Time,
    seed: u64,
}

fn dice() -> impl Strategy<Value = Dice> {
    let flow = (0usize..8, 1usize..8, 0u8..4, 1u64..9, 64u16..1500);
    (
        2usize..5,
        proptest::collection::vec(
            proptest::sample::select(vec![1_000_000_000u64, 10_000_000_000, 3_333_333_333]),
            9,
        ),
        any::<bool>(),
        proptest::sample::select(vec![Time::ZERO, ns(300)]),
        any::<bool>(),
        proptest::sample::select(vec![
            None,
            Some(Amount::Frames(3)),
            Some(Amount::Bytes(4_000)),
            Some(Amount::Frames(40)),
        ]),
        0usize..12,
        proptest::collection::vec(flow, 1..12),
        proptest::sample::select(vec![Time::ZERO, us(40), ns(50_123)]),
        any::<u64>(),
    )
        .prop_map(|(hosts, rates, cuts_through, latency, fifo, limit, control, flows, warmup, seed)| {
            Dice { hosts, rates, cuts_through, latency, fifo, limit, control, flows, warmup, seed }
        })
}

fn net(dice: &Dice) -> Net {
    let mut net = Net::new(us(150));
    let of_switches = SwitchSpec {
        forwarding: if dice.cuts_through { Forwarding::CutThrough } else { Forwarding::StoreAndForward },
        latency: dice.latency,
        classes: if dice.fifo { ClassMap::SHARED } else { ClassMap::SEPARATE },
        scheduler: if dice.fifo { SchedulerSpec::Fifo } else { SchedulerSpec::StrictPriority },
        buffer: BufferSpec { queue: dice.limit, ..BufferSpec::default() },
        managers: vec![control(dice).map(|(point, _)| point).or(manager(dice)); 8].into(),
        ..switch()
    };
    let limiters = control(dice).map(|(_, control)| LimiterSpec {
        control,
        per: LimiterScope::Flow,
        priorities: 0xFF,
        mark_after: None,
        priority_burst: Bytes::new(0),
    });
    let switches = [net.switch("left", of_switches.clone()), net.switch("right", of_switches)];
    let rate = |at: usize| BitRate::from_bps(dice.rates[at % dice.rates.len()]);
    net.link(switches[0], switches[1], rate(0), us(1));
    let hosts: Vec<NodeId> = (0..2 * dice.hosts)
        .map(|nth| {
            let id = net.host(&format!("h{nth}"), HostSpec { limiters, ..host() });
            net.link(id, switches[nth % 2], rate(nth + 1), us(1));
            id
        })
        .collect();
    for (nth, &(from, apart, kind, gbps, bytes)) in dice.flows.iter().enumerate() {
        let from = from % hosts.len();
        let to = hosts[(from + 1 + apart % (hosts.len() - 1)) % hosts.len()];
        let rate = BitRate::from_bps(gbps * 400_000_000);
        let arrivals = match kind {
            0 => Arrivals::Greedy,
            1 => Arrivals::Poisson(PoissonParams { rate }),
            _ => Arrivals::Constant(ConstantParams { rate, random_phase: true }),
        };
        let sizes = if kind == 3 { FrameSizes::Imix } else { FrameSizes::Fixed(bytes) };
        // With strict priority, one of eight classes is in use.
        let priority = if dice.fifo { nth as u8 % 8 } else { 3 };
        let source = SourceSpec { arrivals, sizes, limit: None, ..one(to, bytes, Time::ZERO) };
        let flow = net.flow(&format!("f{nth}"), hosts[from], priority, source);
        // Only ECN-capable frames are marked.
        if kind == 0 && manager(dice).is_some() {
            flow.transport = Some(window(bytes));
        }
    }
    (net.0.seed, net.0.warmup) = (dice.seed, dice.warmup);
    net
}

/// A manager whose feedback changes no rate.
fn manager(dice: &Dice) -> Option<ManagerSpec> {
    let red = |action| RedParams {
        weight: 0.25,
        min: Amount::Frames(1),
        max: Amount::Frames(8),
        max_probability: 0.5,
        action,
        ..RedParams::default()
    };
    let step =
        |at| StepParams { threshold: Amount::Frames(3), at, counts: Counts::WithFrame, reference_rate: None };
    Some(match dice.control {
        5 => ManagerSpec::Red(red(Action::Drop)),
        6 => ManagerSpec::Red(red(Action::MarkOnly)),
        7 => ManagerSpec::Step(step(Moment::Enqueue)),
        8 => ManagerSpec::Step(step(Moment::Dequeue)),
        9 => ManagerSpec::Sampling(SamplingParams { threshold: Amount::Frames(2), every: 5 }),
        // These managers need no updates for a number of bytes.
        10 => ManagerSpec::Red(RedParams {
            weight: 1.0,
            min: Amount::Bytes(3_000),
            max: Amount::Bytes(12_000),
            ..red(Action::MarkOnly)
        }),
        11 => ManagerSpec::Step(StepParams { threshold: Amount::Bytes(4_000), ..step(Moment::Enqueue) }),
        _ => return None,
    })
}

/// A transfer with a fixed window, whose frames can be marked.
fn window(segment: u16) -> Arc<ConnectionSpec> {
    let application = Application::Window(WindowSpec {
        bytes: None,
        segment,
        controller: ControllerSpec::FixedWindow(FixedWindowParams { size: Amount::Frames(12) }),
        ack_bytes: 64,
        ack_every: 2,
        ack_delay: us(5),
        timeout: Some(us(40)),
        ecn_capable: true,
    });
    Arc::new(ConnectionSpec { start: Time::ZERO, stop: None, application })
}

/// Reaction point and congestion point of a control that acts often. In half of the cases its messages have the
/// priority of the data.
fn control(dice: &Dice) -> Option<(ManagerSpec, RateControlSpec)> {
    let message_priority = if dice.seed.is_multiple_of(2) { 3 } else { 7 };
    let rate_point = RatePointParams {
        interval: us(8),
        severe: Bytes::new(12_000),
        severe_messages: dice.control == 4,
        message_priority,
        ..RatePointParams::default()
    };
    Some(match dice.control {
        0 | 5.. => return None,
        1 => {
            let sample_base = Bytes::new(6_000);
            let point = CongestionPointParams { sample_base, message_priority, ..Default::default() };
            let byte_reset = Bytes::new(4_000);
            let host = ReactionPointParams { byte_reset, time_reset: us(9), ..Default::default() };
            (ManagerSpec::CongestionPoint(point), RateControlSpec::Qcn(host))
        }
        2 => {
            let point = BackwardPointParams { message_priority, ..Default::default() };
            (ManagerSpec::BackwardPoint(point), RateControlSpec::Bcn(BackwardReactionParams::default()))
        }
        _ => {
            let host = RateReactionParams { interval: us(8), message_priority, ..Default::default() };
            (ManagerSpec::RatePoint(rate_point), RateControlSpec::Fecn(host))
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(64), ..ProptestConfig::default() })]

    #[test]
    fn nobody_can_tell(dice in dice(), budget in 1u64..3_000) {
        let ahead = net(&dice);
        let expected = ahead.deciding().run().as_text();
        prop_assert_eq!(&ahead.run().as_text(), &expected);
        prop_assert_eq!(&ahead.run_in_steps(budget).as_text(), &expected);
        for threads in [2, 3] {
            prop_assert_eq!(&ahead.run_on(threads, budget * 10_000).as_text(), &expected);
        }
        // If rates are recorded, every frame enters its limiter, joins the wait queue and is pulled.
        let mut recorded = ahead.clone();
        recorded.0.probes.bin = Some(us(5));
        prop_assert_eq!(recorded.run().fingerprint, ahead.run().fingerprint);
    }
}

/// Eight frames at once, and one that arrives while the eighth is on the link: exact times, and half as many events.
#[test]
fn a_frame_that_waits_takes_one_event() {
    let mut net = Net::new(us(100));
    let sw = net.switch("sw", switch());
    let to = net.host("to", host());
    net.link(sw, to, gbps(1), us(1));
    for nth in 0..8 {
        let from = net.host(&format!("h{nth}"), host());
        net.link(from, sw, gbps(10), us(1));
        net.flow(&format!("f{nth}"), from, 0, one(to, 1230, us(1)));
    }
    let late = net.host("late", host());
    net.link(late, sw, gbps(10), us(1));
    net.flow("late", late, 0, one(to, 1230, us(75)));
    let outcome = net.run();
    // 1250 B with their overhead: 1 us to the switch, 10 us from it.
    let mut arrivals: Vec<Time> = (0..8).map(|nth| outcome.only_latency(&format!("f{nth}"))).collect();
    arrivals.sort();
    assert_eq!(arrivals, (1..9).map(|nth| us(3) + us(10 * nth)).collect::<Vec<_>>());
    // The frame arrives at 77 us, when the link is busy until 83 us.
    assert_eq!(outcome.only_latency("late"), us(83 + 10 + 1 - 75));

    let events = |net: &Net| {
        let mut simulation = Simulation::new(&net.0).unwrap();
        while simulation.advance(u64::MAX).unwrap() != State::Finished {}
        simulation.events()
    };
    // Eight frames are queued; each takes a decision if ports decide.
    assert_eq!(events(&net.deciding()) - events(&net), 8);
}

/// A switch without flow control receives pauses, which it does not obey: they make no frame leave twice.
#[test]
fn a_pause_that_nobody_obeys_changes_nothing() {
    let mut net = Net::new(us(300));
    net.0.on_lossless_drop = OnLosslessDrop::Count;
    let deaf = net.switch("deaf", switch());
    let control = PauseSpec { quanta: 500.into(), ..pfc(0xFF) };
    let pauses = net.switch("pauses", SwitchSpec { flow_control: Some(control.into()), ..switch() });
    net.link(deaf, pauses, gbps(10), us(1));
    let to = net.host("to", host());
    net.link(pauses, to, gbps(1), us(1));
    for nth in 0..2 {
        let from = net.host(&format!("h{nth}"), host());
        net.link(from, deaf, gbps(10), us(1));
        // Few enough frames are queued at a time that all of them are sent ahead.
        let arrivals = Arrivals::Poisson(PoissonParams { rate: BitRate::from_bps(4_500_000_000) });
        net.flow(&format!("f{nth}"), from, 0, SourceSpec { arrivals, ..greedy(to, 1000, Time::ZERO) });
    }
    let outcome = net.run();
    assert!(outcome.count("ports", "deaf.0->pauses", "pauses_received") > 1);
    assert_eq!(outcome.as_text(), net.deciding().run().as_text());
}

/// Tags are returned at a priority that no flow has: two classes are queued at one port, which then decides for each
/// frame.
#[test]
fn returned_tags_are_a_class_of_their_own() {
    let mut net = Net::new(us(400));
    let params = RateReactionParams {
        interval: us(5),
        initial_share: 1.0,
        message_priority: 7,
        tag_every: 1,
        ..RateReactionParams::default()
    };
    let limiters = LimiterSpec {
        control: RateControlSpec::Fecn(params),
        per: LimiterScope::Flow,
        priorities: 0xFF,
        mark_after: None,
        priority_burst: Bytes::new(0),
    };
    let rows = ["left", "right"].map(|name| net.switch(name, switch()));
    net.link(rows[0], rows[1], gbps(10), us(1));
    let hosts: Vec<NodeId> = (0..6)
        .map(|nth| {
            let id = net.host(&format!("h{nth}"), HostSpec { limiters: Some(limiters), ..host() });
            net.link(id, rows[nth % 2], gbps(10), us(1));
            id
        })
        .collect();
    for nth in 0..6 {
        let source = SourceSpec {
            arrivals: Arrivals::Poisson(PoissonParams { rate: gbps(4) }),
            ..greedy(hosts[(nth + 1) % 6], 1000, Time::ZERO)
        };
        net.flow(&format!("f{nth}"), hosts[nth], 3, source);
    }
    let outcome = net.run();
    assert!(outcome.integers("rate_limiters", "tags_returned").iter().all(|&tags| tags > 10));
    assert_eq!(outcome.as_text(), net.deciding().run().as_text());
}

/// Tables read in the middle of a run show the state at that time, and do not change the rest of the run.
#[test]
fn looking_changes_nothing() {
    let dice = Dice {
        hosts: 3,
        rates: vec![1_000_000_000, 10_000_000_000],
        cuts_through: false,
        latency: Time::ZERO,
        fifo: true,
        limit: Some(Amount::Frames(5)),
        control: 0,
        flows: vec![(0, 1, 1, 8, 900), (2, 3, 2, 7, 300), (4, 5, 3, 8, 64), (1, 2, 2, 8, 1200)],
        warmup: Time::ZERO,
        seed: 7,
    };
    let net = net(&dice);
    let mut simulation = Simulation::new(&net.0).unwrap();
    let mut crossed = 0;
    while simulation.advance(50).unwrap() == State::Running {
        let hops = simulation.frame_hops();
        assert!(hops >= crossed, "{hops} after {crossed}");
        crossed = hops;
        simulation.tables();
        assert_eq!(simulation.frame_hops(), hops);
    }
    let outcome = Outcome::of(&mut simulation, None);
    assert_eq!(outcome.as_text(), net.deciding().run().as_text());
}
