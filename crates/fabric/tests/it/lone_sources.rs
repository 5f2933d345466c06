//! Greedy sources that are alone at their NIC decide for several frames at a time, and arrivals at hosts that only
//! count them are counted ahead: neither changes a result. A fault after the end of the run makes every port decide for
//! each frame, and every frame arrive as an event; all measurements must stay equal.

use crate::common::*;
use fabric::choice::{Flowlet, PathChoice};
use fabric::spec::{Forwarding, HostSpec, OnLosslessDrop, SwitchSpec, Way};
use fabric::{Simulation, State};
use flow_control::{Accounting, PauseKind, PauseSpec};
use frame::NodeId;
use proptest::prelude::*;
use proptest::sample::select;
use units::{Bytes, ClockTolerance, Time};
use workload::{Change, Destinations, FrameSizes, SourceSpec};

/// A frame of this length takes a microsecond at 10 Gb/s, so that events at whole microseconds are ties.
const A_MICROSECOND: u16 = 1_230;

/// Behaviour of a source.
#[derive(Clone, Debug)]
struct Sender {
    rate: u64,
    delay: Time,
    bytes: Option<u16>,
    priority: u8,
    start: u64,
    script: Option<(u64, u64)>,
    limit: Option<u64>,
    to_all: bool,
}

/// Random parameters of a fabric: senders and receivers at one switch, or at two with a link between.
#[derive(Clone, Debug)]
struct Dice {
    senders: Vec<Sender>,
    receivers: usize,
    two_switches: bool,
    cuts_through: bool,
    control: Option<PauseSpec>,
    /// Path choice of the switches between the two parallel links.
    choice: Option<PathChoice>,
    /// True if the paths of flows to all receivers are not listed.
    unlisted: bool,
    tolerance: u32,
    warmup: Time,
    seed: u64,
}

fn sender() -> impl Strategy<Value = Sender> {
    let script = prop::option::of((1u64..30, 1u64..30));
    let bytes = prop::option::of(select(vec![A_MICROSECOND, A_MICROSECOND, 64, 1_500]));
    let delay = select(vec![ns(10), ns(500), us(1), ns(3_333), us(20)]);
    let limit = prop::option::weighted(0.3, 100u64..60_000);
    (select(vec![10u64, 10, 25, 1]), delay, bytes, 0u8..3, 0u64..20, script, limit, any::<bool>()).prop_map(
        |(rate, delay, bytes, priority, start, script, limit, to_all)| Sender {
            rate,
            delay,
            bytes,
            priority,
            start,
            script,
            limit,
            to_all,
        },
    )
}

fn control() -> impl Strategy<Value = Option<PauseSpec>> {
    let kind = select(vec![PauseKind::Link, PauseKind::Priorities(0xFF), PauseKind::Priorities(0b101)]);
    let accounting = select(vec![Accounting::Ingress, Accounting::Egress]);
    let response = select(vec![None, Some(Time::ZERO), Some(us(1)), Some(us(7))]);
    let quanta = select(vec![u16::MAX, 2_000, 700]);
    let spec = (kind, accounting, response, quanta, 2u64..30, any::<bool>(), any::<bool>());
    prop::option::weighted(
        0.85,
        spec.prop_map(|(kind, accounting, response_time, quanta, xoff, resume, refresh)| PauseSpec {
            kind,
            accounting,
            response_time,
            quanta: quanta.into(),
            resume,
            refresh,
            ..pfc_at(0, xoff, xoff / 2)
        }),
    )
}

fn choice() -> impl Strategy<Value = Option<PathChoice>> {
    let flowlets = PathChoice::Flowlet(Flowlet { gap: us(3), entries: 64 });
    let choices =
        [PathChoice::HASH, PathChoice::Spray, PathChoice::RoundRobin, PathChoice::LeastQueued, flowlets];
    prop::option::of(select(choices.to_vec()))
}

fn dice() -> impl Strategy<Value = Dice> {
    let senders = prop::collection::vec(sender(), 1..7);
    let warmup = select(vec![Time::ZERO, us(30), ns(41_234)]);
    (
        senders,
        1usize..3,
        any::<bool>(),
        any::<bool>(),
        (control(), choice(), any::<bool>()),
        select(vec![0u32, 0, 100]),
        warmup,
        any::<u64>(),
    )
        .prop_map(
            |(
                senders,
                receivers,
                two_switches,
                cuts_through,
                (control, choice, unlisted),
                tolerance,
                warmup,
                seed,
            )| Dice {
                senders,
                receivers,
                two_switches,
                cuts_through,
                control,
                choice,
                unlisted,
                tolerance,
                warmup,
                seed,
            },
        )
}

fn net(dice: &Dice) -> Net {
    let mut net = Net::new(us(130));
    let flow_control = dice.control.clone().map(Into::into);
    let forwarding = if dice.cuts_through { Forwarding::CutThrough } else { Forwarding::StoreAndForward };
    let path_choice = dice.choice.unwrap_or(PathChoice::HASH);
    let of_switches = SwitchSpec { forwarding, path_choice, flow_control: flow_control.clone(), ..switch() };
    let of_hosts = HostSpec { flow_control, ..host() };
    let mut switches = vec![net.switch("s0", of_switches.clone())];
    if dice.two_switches {
        switches.push(net.switch("s1", of_switches));
        for _ in 0..=u8::from(dice.choice.is_some()) {
            net.link(switches[0], switches[1], gbps(10), us(2));
        }
    }
    let to: Vec<NodeId> = (0..dice.receivers)
        .map(|nth| {
            let id = net.host(&format!("r{nth}"), of_hosts.clone());
            net.link(id, switches[switches.len() - 1], gbps(10), us(1));
            id
        })
        .collect();
    for (nth, own) in dice.senders.iter().enumerate() {
        let from = net.host(&format!("h{nth}"), of_hosts.clone());
        net.link(from, switches[nth % switches.len()], gbps(own.rate), own.delay);
        let destinations = if own.to_all && to.len() > 1 {
            Destinations::Uniform(to.clone())
        } else {
            Destinations::Fixed(to[nth % to.len()])
        };
        let script = own.script.map(|(stop, start)| {
            let stop = us(own.start + stop);
            vec![(stop, Change::Stop), (stop + us(start), Change::Start(None))]
        });
        let sizes = own.bytes.map_or(FrameSizes::Imix, FrameSizes::Fixed);
        let source = SourceSpec {
            sizes,
            destinations,
            script: script.unwrap_or_default(),
            limit: own.limit.map(Bytes::new),
            ..greedy(to[0], 0, us(own.start))
        };
        let flow = net.flow(&format!("f{nth}"), from, own.priority, source);
        if dice.unlisted && own.to_all {
            flow.way = Way::ByDestination;
        }
    }
    for node in &mut net.0.nodes {
        node.clock_tolerance = ClockTolerance::from_ppm(dice.tolerance);
    }
    (net.0.seed, net.0.warmup, net.0.on_lossless_drop) = (dice.seed, dice.warmup, OnLosslessDrop::Count);
    net.0.probes.pauses = true;
    net
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(96), ..ProptestConfig::default() })]

    #[test]
    fn nobody_can_tell(dice in dice(), budget in 1u64..3_000) {
        let ahead = net(&dice);
        let expected = ahead.deciding().try_run().as_text();
        prop_assert_eq!(&ahead.try_run().as_text(), &expected);
        prop_assert_eq!(&ahead.run_in_steps(budget).as_text(), &expected);
        for threads in [2, 3] {
            prop_assert_eq!(&ahead.run_on(threads, budget * 10).as_text(), &expected);
        }
    }

    /// A run that is cut short has the measurements of a run of that length, and can be continued.
    #[test]
    fn a_run_that_is_cut_short_is_a_shorter_run(dice in dice(), budget in 50u64..2_000, threads in 1usize..3) {
        let net = net(&dice);
        let mut simulation = Simulation::on_threads(&net.0, threads).expect("builds");
        if simulation.advance(budget) != Ok(State::Running) {
            return Ok(());
        }
        simulation.cut_short().expect("losses are counted");
        let cut = Outcome::of(&mut simulation, None);
        if cut.now > dice.warmup {
            let mut shorter = net.clone();
            shorter.0.duration = cut.now;
            let mut expected = shorter.run();
            // The fingerprint depends on the duration in the scenario.
            expected.fingerprint = cut.fingerprint;
            prop_assert_eq!(cut.as_text(), expected.as_text());
        }
        let end = loop {
            if simulation.advance(budget).expect("losses are counted") == State::Finished {
                break Outcome::of(&mut simulation, None);
            }
        };
        prop_assert_eq!(end.as_text(), net.run().as_text());
    }
}

/// A violated guarantee stops the run at the same time, with equal tables, on any number of threads, regardless of the
/// steps performed ahead by then.
#[test]
fn a_violated_guarantee_is_the_same_on_threads() {
    let mut net = Net::new(us(400));
    // Insufficient headroom: frames are in flight when XOFF is sent.
    let own = PauseSpec { response_time: Some(us(30)), ..pfc_at(0xFF, 4, 2) };
    let mut own = own;
    own.watermarks = own
        .watermarks
        .map(|marks| flow_control::Watermarks { headroom: Some(units::Amount::Frames(3)), ..marks });
    let sw = net.switch("sw", SwitchSpec { flow_control: Some(own.clone().into()), ..switch() });
    let to = net.host("to", HostSpec { flow_control: Some(own.clone().into()), ..host() });
    net.link(sw, to, gbps(10), us(1));
    for nth in 0..3 {
        let from =
            net.host(&format!("h{nth}"), HostSpec { flow_control: Some(own.clone().into()), ..host() });
        net.link(from, sw, gbps(10), us(1));
        net.flow(&format!("f{nth}"), from, 0, greedy(to, 1_500, us(nth)));
    }
    let alone = net.try_run();
    assert!(alone.error.as_ref().is_some_and(|error| error.contains("lossless")), "{:?}", alone.error);
    assert_eq!(net.run_in_steps(7).as_text(), alone.as_text());
    for threads in [2, 3, 5] {
        assert_eq!(net.run_on(threads, 1_000).as_text(), alone.as_text(), "{threads} threads");
    }
    // The guarantee may be violated while a run is cut short: that call then returns the error.
    let cut = |events| {
        let mut simulation = Simulation::new(&net.0).expect("builds");
        let before = simulation.advance(events).is_ok();
        before.then(|| simulation.cut_short().err().map(|error| error.to_string()))
    };
    let ends: Vec<_> = (1..).map(|nth| cut(5 * nth)).map_while(|end| end).collect();
    assert!(ends.contains(&alone.error), "{ends:?}");
}

/// Decisions ahead change no result for as many senders as in a rack, at two leaves.
#[test]
fn sixty_four_hosts_send_to_one() {
    let mut net = Net::new(us(400));
    let control = || Some(pfc_at(0xFF, 40, 20).into());
    let sw =
        [0, 1].map(|nth| net.switch(&format!("s{nth}"), SwitchSpec { flow_control: control(), ..switch() }));
    net.link(sw[0], sw[1], gbps(100), us(1));
    let of_hosts = HostSpec { flow_control: control(), ..host() };
    let to = net.host("to", of_hosts.clone());
    net.link(to, sw[0], gbps(10), us(1));
    for nth in 0..64 {
        let from = net.host(&format!("h{nth}"), of_hosts.clone());
        net.link(from, sw[nth % 2], gbps(10), us(1));
        net.flow(&format!("f{nth}"), from, 0, greedy(to, A_MICROSECOND, us(nth as u64 % 7)));
    }
    let expected = net.deciding().run();
    assert!(expected.total("ports", "pauses_received") > 64, "all are held back");
    assert_eq!(net.run().as_text(), expected.as_text());
    for threads in [2, 3] {
        assert_eq!(net.run_on(threads, 5_000).as_text(), expected.as_text(), "{threads} threads");
    }
}
