//! Mechanisms in pairs: random fabrics that combine at least two of them, and the invariants of all.
//!
//! `properties.rs` draws flow control, schedulers and traffic. This file combines connections, path choice, queue
//! managers, shared memories, slow receivers, faults, watchdogs, hosts with several links, unequal clocks and
//! cut-through.

use crate::common::consistent::{check_tables, same};
use crate::common::*;
use fabric::choice::{Adaptive, Flowlet, PathChoice};
use fabric::pause_needs;
use fabric::spec::{
    ControlContent, CoreChange, FaultSpec, Forwarding, HostSpec, InterruptSpec, LimiterSpec, LinkSpec,
    NodeSpec, OnLosslessDrop, Pattern, Probe, ProbeSpec, Queueing, Reaction, ReceiveSpec, Role, SendSpec,
    Spec, SwitchSpec, Watched, Way, WhenFull, Which,
};
use fabric::topology::{Cable, FatTree, Graph, GraphLink, LeafSpine, NodeRole, Shape, Star};
use flow_control::watchdog::{StormAction, WatchdogSpec};
use flow_control::{
    Accounting, Control, PauseKind, PauseLength, PauseSpec, Sampling, TargetMethod, TargetSpec, Watermarks,
    XonSent,
};
use flow_control::{ChannelKey, ChannelList, CreditSettings};
use frame::{ClassMap, NodeId, Ports};
use keys::Choice;
use proptest::prelude::*;
use queueing::{
    Action, Alpha, Arbitration, BackwardPointParams, BackwardReactionParams, BufferSpec,
    CongestionPointParams, Counts, CrossbarKeys, Idle, IdleExponent, Inputs, Law, LimiterScope, ManagerSpec,
    Method, Mode, Moment, PathPointParams, PathReactionParams, Phase, PointScope, QueueControl,
    RateControlSpec, RatePointParams, RateReactionParams, ReactionPointParams, RedParams, Room, Samples,
    SamplingParams, SharedMemorySpec, Spacing, Speedup, StepParams, TrimmingSpec, Victim,
};
use scheduling::{AccountedLength, DrrParams, SchedulerSpec, WfqParams};
use std::sync::Arc;
use transport::{
    AimdParams, Application, CnpScope, ConnectionSpec, ControllerSpec, ConversationSpec, CubicKeys,
    CubicParams, DctcpKeys, DctcpParams, Delay, EcnMode, FcoeSpec, FixedRateParams, FixedWindowParams,
    Growth, LossRecoveryKind, MpiExchangeSpec, NicLimits, Post, QueuePairs, RdmaControlKeys, RdmaKeys,
    RdmaRecovery, RdmaVerb, ReorderingKeys, RequestResponseSpec, Scheduled, TcpSpec, TimerSpec, TransferSpec,
    Transport, UetControlKeys, UetKeys, UetMode, UnlimitedParams, WindowSpec,
};
use units::{Amount, BitRate, Bytes, ClockTolerance, Or, Time};
use workload::{
    Arrivals, BurstsParams, ConstantParams, Destinations, FrameSizes, Framing, PoissonParams, ServiceOrder,
    SourceSpec, StreamsParams, ThreadsParams, Transfer, TransferList, VideoParams,
};

/// Mechanisms that are combined, one bit each.
const NAMES: [&str; 26] = [
    "window",
    "requests",
    "path choice",
    "managers",
    "shared memory",
    "receivers",
    "link down",
    "restart",
    "random outages",
    "errors",
    "rate",
    "warm-up",
    "several links",
    "watchdog",
    "cut-through",
    "clocks",
    "limits",
    "schedulers",
    "reroute",
    "limiters",
    "tcp",
    "transfers",
    "probes",
    "by destination",
    "senders",
    "rdma",
];
const WINDOW: u32 = 1;
const REQUESTS: u32 = 1 << 1;
const CHOICE: u32 = 1 << 2;
const MANAGERS: u32 = 1 << 3;
const SHARED: u32 = 1 << 4;
const RECEIVERS: u32 = 1 << 5;
const DOWN: u32 = 1 << 6;
const RESTART: u32 = 1 << 7;
const OUTAGES: u32 = 1 << 8;
const ERRORS: u32 = 1 << 9;
const RATE: u32 = 1 << 10;
const WARMUP: u32 = 1 << 11;
const SEVERAL_LINKS: u32 = 1 << 12;
const WATCHDOG: u32 = 1 << 13;
const CUT_THROUGH: u32 = 1 << 14;
const CLOCKS: u32 = 1 << 15;
const LIMITS: u32 = 1 << 16;
const SCHEDULERS: u32 = 1 << 17;
const REROUTE: u32 = 1 << 18;
const LIMITERS: u32 = 1 << 19;
const TCP: u32 = 1 << 20;
const TRANSFERS: u32 = 1 << 21;
const PROBES: u32 = 1 << 22;
const BY_DESTINATION: u32 = 1 << 23;
const SENDERS: u32 = 1 << 24;
const RDMA: u32 = 1 << 25;
/// Mechanisms that may drop any arriving frame.
const LOSSY: u32 = MANAGERS | SHARED | RECEIVERS | WATCHDOG | LIMITS;
const FAULTS: u32 = DOWN | RESTART | OUTAGES | ERRORS | RATE;

/// Numbers from which one simulation is drawn.
#[derive(Clone)]
struct Draw {
    /// The mechanisms that it combines.
    with: u32,
    /// Flow control; 0: none.
    control: u8,
    shape: u8,
    seed: u64,
}

impl std::fmt::Debug for Draw {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<&str> =
            (0..NAMES.len()).filter(|&bit| self.has(1 << bit)).map(|bit| NAMES[bit]).collect();
        let Draw { with, control, shape, seed } = self;
        write!(
            f,
            "Draw {{ with: {with:#x}, control: {control}, shape: {shape}, seed: {seed} }} /* {names:?} */"
        )
    }
}

impl Draw {
    fn has(&self, what: u32) -> bool {
        self.with & what != 0
    }
    /// Returns true if headroom is computed and nothing takes frames away, so that lossless frames have to arrive.
    fn lossless(&self, spec: &Spec) -> bool {
        let forwards = |action| matches!(action, StormAction::Drop | StormAction::Forward);
        // Messages that originate at a switch have no headroom in its memory: no pause holds them back if it is full.
        let drops = |node: &NodeSpec| match &node.role {
            Role::Switch(switch) => switch
                .managers
                .all()
                .any(|manager| self.has(SHARED) || matches!(manager, ManagerSpec::Red(_))),
            Role::Host(_) => false,
        };
        matches!(self.control, 1 | 2 | 8 | 9)
            && !self.has(FAULTS | LIMITS)
            && !spec.guards.watchdog.is_some_and(|watchdog| forwards(watchdog.action))
            && !spec.nodes.iter().any(drops)
    }
    /// Returns true if the requested work must be complete at the end.
    fn gets_done(&self) -> bool {
        // Pauses by egress queues can close a cycle, and so can paths around a failed link.
        let around = self.has(REROUTE) && self.has(DOWN | RESTART);
        self.control == 0 || matches!(self.control, 1..4 | 8 | 9) && !around
    }
}

fn draws() -> impl Strategy<Value = Draw> {
    let bits = NAMES.len() as u32;
    let with = (0..bits, 0..bits, any::<u32>(), any::<u32>())
        .prop_map(move |(a, b, c, d)| (1 << a | 1 << b | c & d & (c >> 5)) & ((1 << bits) - 1));
    (with, 0u8..12, 0u8..4, any::<u64>()).prop_map(|(with, control, shape, seed)| Draw {
        with,
        control,
        shape,
        seed,
    })
}

/// Random numbers of one draw (xorshift64*).
struct Rolls(u64);

impl Rolls {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % n
    }
    fn coin(&mut self) -> bool {
        self.below(2) == 1
    }
    fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize].clone()
    }
}

fn graph(draw: &Draw, rolls: &mut Rolls) -> Graph {
    let cable = Cable::new(gbps(10), ns(10));
    let leaf_spine = LeafSpine::new(3, 2, 2, None, cable);
    let named = match draw.shape {
        0 => Star::new(4, cable).graph(),
        1 => FatTree::new(4, cable).graph(),
        _ => leaf_spine.graph(),
    };
    let mut graph = named.expect("parameters are in range");
    if draw.has(SEVERAL_LINKS) {
        let edges: Vec<NodeId> = graph
            .links
            .iter()
            .filter_map(|link| match (graph.nodes[link.a.at()].role, graph.nodes[link.b.at()].role) {
                (NodeRole::Host, NodeRole::Switch) => Some(link.b),
                (NodeRole::Switch, NodeRole::Host) => Some(link.a),
                _ => None,
            })
            .collect();
        for host in graph.hosts().collect::<Vec<_>>() {
            if rolls.coin() {
                graph.link(host, rolls.pick(&edges), cable);
            }
        }
    }
    graph
}

fn control(draw: &Draw, rolls: &mut Rolls) -> Option<PauseSpec> {
    let marks =
        |xoff, xon| Some(Watermarks { xoff: Amount::Frames(xoff), xon: Amount::Frames(xon), headroom: None });
    let response_time = if rolls.coin() { None } else { Some(ns(rolls.below(4_000))) };
    let base = PauseSpec { response_time, ..pfc(rolls.pick(&[0xFF, 0x08, 0x09])) };
    let egress = PauseSpec { accounting: Accounting::Egress, watermarks: marks(20, 4), ..base.clone() };
    let target = |method| {
        let watermark = Or::Value(Amount::Frames(10));
        Some(TargetSpec {
            method,
            watermark,
            partners: 1,
            sampling: Sampling::OneShot,
            search_time: Time::ZERO,
            xon_sent: XonSent::Once,
        })
    };
    let searching = |method| target(method).map(|spec| TargetSpec { search_time: ns(20), ..spec });
    let each = PauseLength::Fixed([400, 65_535, 700, 1_000, 2_000, 65_535, 500, 900]);
    let computed = PauseSpec { quanta: PauseLength::Computed, resume: false, ..base.clone() };
    match draw.control {
        0 => None,
        1 => Some(base),
        2 => Some(PauseSpec { kind: PauseKind::Link, ..base }),
        3 => Some(PauseSpec { watermarks: marks(5, 2), ..base }),
        4 => Some(egress),
        5 => Some(PauseSpec { target: target(TargetMethod::FairBandwidth), ..egress }),
        6 => Some(PauseSpec { target: target(TargetMethod::RandomSampling), ..egress }),
        7 => Some(PauseSpec { target: target(TargetMethod::MaxMin), ..egress }),
        8 => Some(PauseSpec { quanta: each, ..base }),
        9 => Some(computed),
        10 => Some(PauseSpec { quanta: PauseLength::Computed, resume: false, ..egress }),
        _ => Some(PauseSpec { target: searching(TargetMethod::FairBandwidth), quanta: each, ..egress }),
    }
}

fn manager(rolls: &mut Rolls) -> ManagerSpec {
    let counts = rolls.pick(&[Counts::WithFrame, Counts::WithoutFrame]);
    let bytes = rolls.coin();
    let amount = |frames: u64| if bytes { Amount::Bytes(600 * frames) } else { Amount::Frames(frames) };
    match rolls.below(3) {
        0 => ManagerSpec::Red(RedParams {
            weight: rolls.pick(&[0.002, 0.5, 1.0]),
            min: amount(2),
            max: amount(6),
            max_probability: rolls.pick(&[0.02, 0.5, 1.0]),
            gentle: rolls.coin(),
            mode: rolls.pick(&[Mode::Byte, Mode::Frame]),
            spacing: rolls.pick(&[Spacing::Geometric, Spacing::Uniform, Spacing::Wait]),
            action: rolls.pick(&[Action::Drop, Action::Mark, Action::MarkOnly]),
            mark_above_max: rolls.coin(),
            mean_frame: units::Bytes::new(500),
            counts,
            idle_exponent: rolls.pick(&[IdleExponent::Elapsed, IdleExponent::ElapsedAndArrival]),
            at: queueing::Moment::Enqueue,
            // No link is slower: scaled by rate, the thresholds hold at least one frame everywhere, and all transfers
            // complete.
            reference_rate: rolls.pick(&[None, Some(gbps(1))]),
            yellow: None,
            red: None,
        }),
        1 => ManagerSpec::Step(StepParams {
            threshold: amount(rolls.below(10)),
            at: rolls.pick(&[Moment::Enqueue, Moment::Dequeue]),
            counts,
            reference_rate: None,
        }),
        _ => ManagerSpec::Sampling(SamplingParams {
            threshold: Amount::Frames(rolls.below(6)),
            every: 1 + rolls.below(20) as u32,
        }),
    }
}

/// A congestion point that samples every few frames, or computes a rate every few microseconds.
fn congestion_point(rolls: &mut Rolls) -> ManagerSpec {
    let (set_point, message_priority) = (Bytes::new(rolls.pick(&[1_000, 5_000])), rolls.pick(&[0, 3, 7]));
    match rolls.below(4) {
        0 => ManagerSpec::CongestionPoint(CongestionPointParams {
            set_point,
            sample_base: Bytes::new(rolls.pick(&[1_000, 20_000])),
            sampling: if rolls.below(3) > 0 { Samples::Regular } else { Samples::Random },
            message_priority,
            scope: rolls.pick(&[PointScope::Queue, PointScope::Port]),
            ..CongestionPointParams::default()
        }),
        1 => ManagerSpec::BackwardPoint(BackwardPointParams {
            set_point,
            sample_every: 1 + rolls.below(5) as u32,
            sampling: rolls.pick(&[Samples::Regular, Samples::Random]),
            severe: if rolls.coin() { Or::Value(Bytes::new(8_000)) } else { Or::word() },
            message_priority,
            ..BackwardPointParams::default()
        }),
        2 => ManagerSpec::PathPoint(PathPointParams {
            buffer: Bytes::new(rolls.pick(&[500, 20_000])),
            messages: rolls.coin(),
            first_share: 0.0,
            spacing: us(1),
            message_priority,
            ..PathPointParams::default()
        }),
        _ => ManagerSpec::RatePoint(RatePointParams {
            interval: rolls.pick(&[us(2), us(7)]),
            long_interval: if rolls.coin() { Or::Value(us(9)) } else { Or::word() },
            phase: rolls.pick(&[Phase::Aligned, Phase::Random]),
            set_point,
            severe: Bytes::new(8_000),
            queue_control: rolls.pick(&[QueueControl::Hyperbolic, QueueControl::Linear, QueueControl::Off]),
            limit_increase: rolls.coin(),
            idle: rolls.pick(&[Idle::Hold, Idle::Raise]),
            stamp_at: rolls.pick(&[Moment::Enqueue, Moment::Dequeue]),
            severe_messages: rolls.coin(),
            message_priority,
            ..RatePointParams::default()
        }),
    }
}

/// Limiters of any scheme, independent of the switches.
fn limiters(rolls: &mut Rolls) -> LimiterSpec {
    let control = match rolls.below(4) {
        0 => RateControlSpec::Qcn(reaction_point(rolls)),
        1 => RateControlSpec::Bcn(BackwardReactionParams {
            min_rate: gbps(1),
            max_stop: rolls.pick(&[Time::ZERO, us(5)]),
            tag_length: Bytes::new(rolls.below(20)),
            ..BackwardReactionParams::default()
        }),
        2 => RateControlSpec::Prc(PathReactionParams {
            method: rolls.pick(&[Method::Feedback, Method::Probes, Method::RoundTrip, Method::Messages]),
            interval: rolls.pick(&[us(1), us(5)]),
            ask_every: rolls.pick(&[1, 4]),
            law: rolls.pick(&[Law::Scaled, Law::Fixed]),
            min_rate: gbps(1),
            idle_after: us(10),
            message_priority: rolls.pick(&[0, 3, 7]),
            ..PathReactionParams::default()
        }),
        _ => RateControlSpec::Fecn(RateReactionParams {
            interval: rolls.pick(&[us(1), us(4)]),
            tag_every: rolls.pick(&[0, 0, 1, 5]),
            initial_share: rolls.pick(&[0.1, 1.0]),
            forget_after: if rolls.coin() { Or::Value(us(10)) } else { Or::word() },
            min_rate: gbps(1),
            message_priority: rolls.pick(&[0, 3, 7]),
            tag_length: Bytes::new(rolls.below(20)),
            ..RateReactionParams::default()
        }),
    };
    LimiterSpec {
        control,
        per: rolls.pick(&[
            LimiterScope::Flow,
            LimiterScope::Destination,
            LimiterScope::Path,
            LimiterScope::Priority,
        ]),
        priorities: rolls.pick(&[0xFF, 0b1001]),
        mark_after: rolls.pick(&[None, Some(us(2))]),
        priority_burst: Bytes::new(rolls.pick(&[0, 3_044, 20_000])),
    }
}

/// A reaction point that recovers within some microseconds.
fn reaction_point(rolls: &mut Rolls) -> ReactionPointParams {
    ReactionPointParams {
        byte_reset: Bytes::new(rolls.pick(&[2_000, 30_000])),
        time_reset: rolls.pick(&[us(3), us(50)]),
        min_rate: rolls.pick(&[gbps(1), gbps(4)]),
        extra_fast_recovery: rolls.coin(),
        lower_target: rolls.coin(),
        ..ReactionPointParams::default()
    }
}

fn scheduler(classes: ClassMap, draw: &Draw, rolls: &mut Rolls) -> SchedulerSpec {
    if classes == ClassMap::SHARED {
        return SchedulerSpec::Fifo;
    }
    let weights: Vec<u32> = (0..classes.classes()).map(|_| 1 + rolls.below(4) as u32).collect();
    match rolls.below(3) {
        0 if draw.has(SCHEDULERS) => SchedulerSpec::Drr(DrrParams::weighted(weights, AccountedLength::WIRE)),
        1 if draw.has(SCHEDULERS) => {
            SchedulerSpec::Wfq(WfqParams { weights: weights.into(), ..WfqParams::by(AccountedLength::WIRE) })
        }
        _ => SchedulerSpec::StrictPriority,
    }
}

fn trimming(rolls: &mut Rolls) -> TrimmingSpec {
    TrimmingSpec {
        size: rolls.pick(&[64, 128, 300]),
        priority: rolls.pick(&[0, 6, 7]),
        priority_to: Vec::new(),
        classes: None,
        thresholds: rolls.pick(&[None, Some([3_000, 4_500]), Some([20_000; 2])]),
        header_limit: rolls.pick(&[None, Some(640)]),
        reference_rate: rolls.pick(&[None, Some(gbps(10))]),
        victim: Victim::Arriving,
        marks_last_hop: rolls.coin(),
    }
}

fn switch_of(draw: &Draw, classes: ClassMap, control: &Option<PauseSpec>, rolls: &mut Rolls) -> SwitchSpec {
    let buffer = BufferSpec {
        queue: Some(Amount::Frames(1 + rolls.below(40))),
        total: rolls.coin().then_some(Amount::Bytes(60_000)),
        ..BufferSpec::default()
    };
    let choices = [
        PathChoice::HASH,
        PathChoice::DModK,
        PathChoice::Spray,
        PathChoice::RoundRobin,
        PathChoice::LeastQueued,
        PathChoice::Flowlet(Flowlet { gap: us(1), entries: 4 }),
        PathChoice::Adaptive(Adaptive::default()),
    ];
    SwitchSpec {
        forwarding: if draw.has(CUT_THROUGH) { Forwarding::CutThrough } else { Forwarding::StoreAndForward },
        latency: ns(rolls.pick(&[0, 0, 300])),
        queueing: rolls.pick(&[Queueing::Output, Queueing::VirtualOutput]),
        path_choice: if draw.has(CHOICE) { rolls.pick(&choices) } else { PathChoice::HASH },
        classes,
        scheduler: scheduler(classes, draw, rolls),
        buffer: if draw.has(LIMITS) { buffer } else { BufferSpec::default() },
        shared_memory: None,
        pools: None,
        managers: if draw.has(LIMITERS) {
            vec![Some(congestion_point(rolls)); classes.classes()]
        } else if draw.has(MANAGERS) {
            (0..classes.classes()).map(|_| rolls.coin().then(|| manager(rolls))).collect()
        } else {
            Vec::new()
        }
        .into(),
        flow_control: control.clone().map(Control::from),
        remaps: Vec::new(),
        trimming: (rolls.below(4) == 0).then(|| trimming(rolls)),
        weights: std::sync::Arc::default(),
    }
}

fn host_of(draw: &Draw, classes: ClassMap, control: &Option<PauseSpec>, rolls: &mut Rolls) -> HostSpec {
    let drops = draw.has(LIMITS) && rolls.coin();
    let script = match rolls.below(3) {
        0 => vec![
            (us(10), CoreChange::Stop),
            (us(20), CoreChange::Start { time_per_frame: None, rate: Some(gbps(8)) }),
        ],
        _ => vec![],
    };
    let receive = ReceiveSpec {
        time_per_frame: ns(rolls.pick(&[0, 200, 1_000])),
        rate: rolls.coin().then(|| gbps(5)),
        // With flow control, `give_rooms` sets the size that the pauses need.
        buffer: (control.is_some() || rolls.coin()).then_some(20_000),
        cores: rolls.pick(&[1, 1, 3]),
        interrupt: InterruptSpec {
            time: ns(rolls.pick(&[0, 0, 500])),
            delay: ns(rolls.pick(&[0, 0, 2_000])),
            frames: rolls.coin().then_some(3),
        },
        script,
    };
    HostSpec {
        classes,
        scheduler: scheduler(classes, draw, rolls),
        queue_limit: rolls.coin().then(|| Amount::Frames(1 + rolls.below(30))),
        when_full: if drops { WhenFull::Drop } else { WhenFull::Block },
        flow_control: control.clone().map(Control::from),
        receive: (draw.has(RECEIVERS) && rolls.coin()).then_some(receive),
        send: (draw.has(SENDERS) && rolls.coin()).then(|| SendSpec {
            time_per_frame: ns(rolls.pick(&[0, 300, 1_500])),
            rate: rolls.coin().then(|| gbps(6)),
            script: (0..rolls.below(3)).map(|n| (us(20 + 30 * n), costlier(rolls))).collect(),
        }),
        limiters: (draw.has(LIMITERS) && rolls.below(4) > 0).then(|| limiters(rolls)),
        nic_limits: (draw.has(RDMA) && rolls.coin()).then(|| NicLimits {
            message_rate: rolls.coin().then(|| 1_000_000 + rolls.below(9_000_000)),
            contexts: rolls.coin().then(|| 1 + rolls.below(3)),
            context_fetch: ns(rolls.below(2_000)),
        }),
    }
}

fn costlier(rolls: &mut Rolls) -> CoreChange {
    CoreChange::Send {
        time_per_frame: rolls.coin().then(|| ns(rolls.pick(&[0, 500, 2_000]))),
        rate: rolls.coin().then(|| gbps(4)),
    }
}

fn source(to: Destinations, rolls: &mut Rolls) -> SourceSpec {
    let rate = gbps(1 + rolls.below(10));
    let arrivals = match rolls.below(7) {
        0 => Arrivals::Greedy,
        3 => Arrivals::Streams(StreamsParams { rate: gbps(1), count: 1 + rolls.below(8), counted: true }),
        4 => Arrivals::Bursts(BurstsParams { rate, frames: 1 + rolls.below(20) }),
        5 => Arrivals::Video(VideoParams {
            interval: us(1 + rolls.below(9)),
            counted: true,
            ..VideoParams::new(gbps(1), 1 + rolls.below(5))
        }),
        1 => Arrivals::Poisson(PoissonParams { rate }),
        2 => Arrivals::Threads(ThreadsParams {
            rate,
            count: 1 + rolls.below(4),
            burst: 1 + rolls.below(5),
            delay: us(rolls.below(10)),
            random_phase: rolls.coin(),
        }),
        _ => Arrivals::Constant(ConstantParams { rate, random_phase: rolls.coin() }),
    };
    let sizes = match rolls.below(3) {
        0 => FrameSizes::Fixed(1522),
        1 => FrameSizes::Imix,
        _ => FrameSizes::Uniform { min: 64, max: 1522 },
    };
    SourceSpec {
        arrivals,
        sizes,
        destinations: to,
        start: us(rolls.below(10)),
        stop: Some(us(40)),
        limit: (rolls.below(4) == 0).then_some(Bytes::new(20_000)),
        jitter: ns(rolls.pick(&[0, 0, 30])),
        ..one(NodeId(0), 64, Time::ZERO)
    }
}

/// Length of segments of transfers, and of requests of a client, all of which complete in the end.
const SEGMENT: u16 = 1000;
const SEGMENTS: u64 = 30;
const ASKED: u64 = 6;

/// A timeout shorter than the round trip through full queues makes a connection retransmit everything again and again,
/// a congestion collapse of its own. In runs whose connections have to complete, it exceeds all round trips. Requests
/// and responses are repeated as a whole: one of several segments never passes a queue that cannot hold them all.
/// `single`: each has one segment.
fn connection(window: bool, patient: bool, single: bool, rolls: &mut Rolls) -> ConnectionSpec {
    let timeout = Some(us(if patient { 20_000 } else { 20 + rolls.below(200) }));
    let application = if window {
        let controllers = [
            ControllerSpec::Unlimited(UnlimitedParams),
            ControllerSpec::FixedWindow(FixedWindowParams { size: Amount::Frames(1 + rolls.below(20)) }),
            ControllerSpec::FixedRate(FixedRateParams {
                rate: BitRate::from_bps(1_000_000_000 + rolls.below(1 << 30)),
            }),
        ];
        Application::Window(WindowSpec {
            bytes: Some(SEGMENTS * u64::from(SEGMENT)),
            segment: SEGMENT,
            controller: rolls.pick(&controllers),
            ack_bytes: rolls.pick(&[40, 64, 200]),
            ack_every: 1 + rolls.below(3) as u32,
            ack_delay: us(rolls.below(5)),
            timeout,
            ecn_capable: rolls.coin(),
        })
    } else {
        let delay = |rolls: &mut Rolls| {
            let time = ns(rolls.below(3_000));
            if rolls.coin() { Delay::Fixed(time) } else { Delay::Exponential(time) }
        };
        let most = if single { u64::from(SEGMENT) } else { u64::MAX };
        Application::RequestResponse(RequestResponseSpec {
            request: rolls.pick(&[1, 64, 3_000]).min(most),
            response: rolls.pick(&[64, 1_000, 10_000]).min(most),
            segment: SEGMENT,
            outstanding: 1 + rolls.below(3) as u16,
            requests: Some(ASKED),
            think: delay(rolls),
            service: delay(rolls),
            timeout,
            ecn_capable: rolls.coin(),
        })
    };
    ConnectionSpec { start: us(rolls.below(10)), stop: None, application }
}

/// Transfers over TCP, of as many bytes as a window sends. If they have to complete, they have time to back off.
fn tcp(patient: bool, rolls: &mut Rolls) -> ConnectionSpec {
    let begin = AimdParams {
        initial: Amount::Frames(1 + rolls.below(12)),
        threshold: rolls.coin().then(|| 1_000 * (1 + rolls.below(20))),
        growth: rolls.pick(&[Growth::Acks, Growth::Bytes]),
        grows_unused: rolls.coin(),
    };
    let controllers = [
        ControllerSpec::Aimd(begin),
        ControllerSpec::Cubic(CubicParams { begin, curve: CubicKeys::default() }),
        ControllerSpec::Dctcp(DctcpParams { begin, estimate: DctcpKeys::default() }),
    ];
    let min = us(if patient { 1_000 } else { 20 + rolls.below(200) });
    let spec = TcpSpec {
        transfers: TransferSpec {
            size: rolls.coin().then(|| 1 + rolls.below(12_000)),
            total: Some(SEGMENTS * u64::from(SEGMENT)),
            idle: rolls.pick(&[Delay::Fixed(us(1)), Delay::Exponential(us(3))]),
        },
        handshake: rolls.coin(),
        reconnect: rolls.coin(),
        segment: SEGMENT,
        headers: rolls.pick(&[40, 62]),
        ack_bytes: rolls.pick(&[40, 64]),
        ack_every: 1 + rolls.below(3) as u32,
        ack_delay: us(rolls.below(5)),
        controller: rolls.pick(&controllers),
        recovery: rolls.pick(LossRecoveryKind::ALL),
        duplicates: 3,
        limited_transmit: rolls.coin(),
        steady: rolls.coin(),
        proportional: rolls.coin(),
        window: rolls.pick(&[u64::MAX, 64_000, 4_000]),
        ecn: rolls.pick(&[EcnMode::Off, EcnMode::Rfc3168, EcnMode::Dctcp]),
        timestamps: rolls.coin(),
        timer: TimerSpec {
            tick: rolls.pick(&[Time::ZERO, us(7)]),
            min,
            initial: min,
            max: us(if patient { 20_000 } else { 5_000 }),
        },
        restart_after_idle: rolls.coin(),
        jitter: rolls.pick(&[Time::ZERO, ns(500)]),
    };
    ConnectionSpec { start: us(rolls.below(10)), stop: None, application: Application::Tcp(spec.into()) }
}

/// Scheduled transfers, some at the same time.
fn scheduled_source(to: Destinations, rolls: &mut Rolls) -> SourceSpec {
    let several = to.count() as u64;
    let mut list = TransferList::new(Framing { frame: SEGMENT + 40, header: 40 }, ServiceOrder::RoundRobin);
    let mut start = Time::ZERO;
    for _ in 0..10 {
        start += us(rolls.pick(&[0, 0, 3, 8]));
        let (destination, bytes) = (rolls.below(several) as u32, 1 + rolls.below(9_000));
        list.push(Transfer { start, destination, bytes, ports: Ports::default() });
    }
    let first = to.nth(0);
    SourceSpec {
        arrivals: Arrivals::Transfers(Arc::new(list)),
        destinations: to,
        ..greedy(first, SEGMENT + 40, Time::ZERO)
    }
}

/// TCP without transfers of its own.
fn bare_tcp(patient: bool, rolls: &mut Rolls) -> TcpSpec {
    let ConnectionSpec { application: Application::Tcp(spec), .. } = tcp(patient, rolls) else {
        unreachable!()
    };
    let transfers = TransferSpec { size: None, total: Some(0), idle: Delay::default() };
    TcpSpec { transfers, ..Arc::unwrap_or_clone(spec) }
}

/// Connections for scheduled transfers over TCP.
fn scheduled_over_tcp(patient: bool, rolls: &mut Rolls) -> ConnectionSpec {
    let spec = TcpSpec { headers: 40, ..bare_tcp(patient, rolls) };
    ConnectionSpec {
        start: Time::ZERO,
        stop: None,
        application: Application::Transfers(Scheduled::Tcp(spec.into())),
    }
}

/// Connections for scheduled transfers over RDMA.
fn scheduled_over_rdma(rolls: &mut Rolls) -> ConnectionSpec {
    let keys = queue_pairs(rolls);
    let (spec, _) = keys.carrier(Some(Bytes::new(0)), SEGMENT + 122).unwrap();
    ConnectionSpec {
        start: Time::ZERO,
        stop: None,
        application: Application::Transfers(Scheduled::Rdma(spec)),
    }
}

/// UET for scheduled transfers.
fn scheduled_over_uet(rolls: &mut Rolls) -> ConnectionSpec {
    let control = rolls.pick(UetControlKeys::NAMES);
    let keys = UetKeys {
        control: <UetControlKeys as keys::Forms>::text::<serde::de::value::Error>(control).unwrap(),
        payload: Or::Value(Bytes::new(SEGMENT.into())),
        headers: Some(Bytes::new(40)),
        ack_every: Or::Value(Bytes::new(1 + rolls.below(16_384))),
        mode: rolls.pick(&[UetMode::Rud, UetMode::Rud, UetMode::Rod, UetMode::Rudi]),
        trimming: Some(control != "none" && rolls.coin()),
        timeout: Or::Value(us(150 + rolls.below(100))),
        retries: 255,
        ack_priority: rolls.pick(&[None, Some(0), Some(7)]),
        ..UetKeys::default()
    };
    let (spec, _) = keys.carrier(Some(Bytes::new(0)), SEGMENT + 122).unwrap();
    ConnectionSpec {
        start: Time::ZERO,
        stop: None,
        application: Application::Transfers(Scheduled::Uet(spec)),
    }
}

/// Queue pairs of any kind.
fn queue_pairs(rolls: &mut Rolls) -> RdmaKeys {
    // With path choice, packets may overtake each other.
    let reordering =
        RdmaRecovery::Reordering(ReorderingKeys { time: Or::Value(us(20)), ..ReorderingKeys::default() });
    let recovery = rolls.pick(&[RdmaRecovery::Selective, reordering, RdmaRecovery::GoBackN]);
    let short = recovery == RdmaRecovery::GoBackN && rolls.coin();
    let control = rolls.pick(RdmaControlKeys::NAMES);
    RdmaKeys {
        control: <RdmaControlKeys as keys::Forms>::text::<serde::de::value::Error>(control).unwrap(),
        mtu: Or::Value(Bytes::new(SEGMENT.into())),
        headers: Bytes::new(40),
        queue_pairs: rolls.pick(&[QueuePairs::One, QueuePairs::Free, QueuePairs::Each]),
        recovery,
        ack_priority: rolls.pick(&[None, Some(0), Some(7)]),
        cnp_priority: rolls.pick(&[3, 6]),
        cnp_gap: us(rolls.below(50)),
        cnp_scope: rolls.pick(&[CnpScope::QueuePair, CnpScope::Address, CnpScope::Port]),
        nak_gap: us(20 + rolls.below(80)),
        timeout: us(150 + rolls.below(100)),
        retries: 255,
        verb: rolls.pick(&[RdmaVerb::Send, RdmaVerb::Write, RdmaVerb::Read]),
        receive_queue: short.then_some(2),
        receive_time: us(rolls.below(5)),
        rnr_timer: us(10 + rolls.below(20)),
        rnr_retries: 7,
        ..RdmaKeys::default()
    }
}

/// Messages in turn over TCP, or over a queue pair in each direction.
fn conversation(patient: bool, over_rdma: bool, rolls: &mut Rolls) -> ConnectionSpec {
    let messages: [&[u64]; 3] = [&[64, 3_000], &[1, 48, 2_500, 48], &[4_000, 1]];
    let (transport, operation) = if over_rdma {
        let verb = rolls.pick(&[RdmaVerb::Send, RdmaVerb::Write]);
        let keys = RdmaKeys { verb, ack_priority: None, ..queue_pairs(rolls) };
        let (spec, _) = keys.carrier(Some(Bytes::new(0)), SEGMENT + 122).unwrap();
        (Transport::Rdma(spec), Some(verb.carrying()))
    } else {
        (Transport::Tcp(TcpSpec { reconnect: false, ..bare_tcp(patient, rolls) }.into()), None)
    };
    let messages = rolls.pick(&messages);
    let post = |operation| messages.iter().map(move |&bytes| Box::from([Post { operation, bytes }]));
    let spec = ConversationSpec {
        messages: messages.into(),
        posts: operation.into_iter().flat_map(post).collect(),
        markers: !over_rdma && rolls.coin(),
        outstanding: 1 + rolls.below(3) as u32,
        exchanges: Some(ASKED),
        think: rolls.pick(&[Delay::Fixed(Time::ZERO), Delay::Exponential(us(2))]),
        service: rolls.pick(&[Delay::Fixed(us(1)), Delay::Exponential(us(2))]),
        transport,
    };
    let application = Application::Conversation(spec.into());
    ConnectionSpec { start: us(rolls.below(10)), stop: None, application }
}

/// Exchanges over FCoE in a lossless or a lossy class. `single`: a unit has one frame.
fn fcoe(patient: bool, single: bool, rolls: &mut Rolls) -> ConnectionSpec {
    let block = if single { 900 } else { rolls.pick(&[1, 900, 5_000]) };
    let spec = FcoeSpec {
        writes: rolls.coin(),
        block,
        burst: rolls.pick(&[2_000, 10_000]).min(block),
        data_field: 928,
        outstanding: 1 + rolls.below(3) as u16,
        exchanges: Some(ASKED),
        think: rolls.pick(&[Delay::Fixed(Time::ZERO), Delay::Exponential(us(2))]),
        service: rolls.pick(&[Delay::Fixed(us(1)), Delay::Exponential(us(2))]),
        ulp_tov: us(if patient { 20_000 } else { 20 + rolls.below(200) }),
        requires_lossless: !patient && rolls.coin(),
    };
    ConnectionSpec { start: us(rolls.below(10)), stop: None, application: Application::Fcoe(spec.into()) }
}

/// MPI ranks among all hosts, one or two each.
fn ring(hosts: &[NodeId], patient: bool, net: &mut Net, rolls: &mut Rolls) {
    let spec = MpiExchangeSpec {
        message: rolls.pick(&[0, 1_000, 5_000]),
        eager: 2_000,
        steps: Some(ASKED),
        copy: rolls.coin().then(|| us(rolls.below(3))),
        transport: Transport::Tcp(
            TcpSpec { reconnect: false, handshake: false, ..bare_tcp(patient, rolls) }.into(),
        ),
    };
    let application = Application::MpiExchange(spec.into());
    let connection = Arc::new(ConnectionSpec { start: us(rolls.below(10)), stop: None, application });
    for (n, &from) in hosts.iter().enumerate() {
        let to = hosts[(n + 1) % hosts.len()];
        let flow = net.flow(&format!("ring{n}"), from, 3, greedy(to, SEGMENT + 40, Time::ZERO));
        flow.transport = Some(connection.clone());
    }
}

fn faults(draw: &Draw, graph: &Graph, rolls: &mut Rolls) -> Vec<FaultSpec> {
    let links = graph.links.len() as u64;
    let (from, until) = (Time::ZERO, us(50));
    let mut faults = vec![];
    let reroute = |rolls: &mut Rolls| draw.has(REROUTE).then(|| us(rolls.below(6)));
    let reaction = |rolls: &mut Rolls| Reaction { keep: rolls.coin(), reroute: reroute(rolls) };
    if draw.has(DOWN) {
        for link in 0..1 + rolls.below(3) {
            let link = (link * 7 + rolls.below(links)) as u32 % links as u32;
            let at = us(5 + rolls.below(20));
            if !faults
                .iter()
                .any(|fault| matches!(fault, FaultSpec::LinkDown { link: other, .. } if *other == link))
            {
                faults.push(FaultSpec::LinkDown { link, at, reaction: reaction(rolls) });
                faults.push(FaultSpec::LinkUp { link, at: at + us(1 + rolls.below(20)) });
            }
        }
    }
    if draw.has(RESTART) {
        let switches: Vec<NodeId> = (0..graph.nodes.len())
            .filter(|&n| graph.nodes[n].role == NodeRole::Switch)
            .map(|n| NodeId(n as u32))
            .collect();
        let (node, lasts) = (rolls.pick(&switches), us(1 + rolls.below(10)));
        faults.push(FaultSpec::Restart { node, at: us(rolls.below(30)), lasts, reroute: reroute(rolls) });
    }
    if draw.has(OUTAGES) {
        let (mean_time_between, lasts) = (us(2 + rolls.below(10)), us(1 + rolls.below(3)));
        let links = (0..links as u32).collect();
        faults.push(FaultSpec::Random { links, mean_time_between, lasts, reaction: reaction(rolls) });
    }
    if draw.has(ERRORS) {
        faults.push(FaultSpec::BitErrors { link: rolls.below(links) as u32, from, until, rate: 1e-5 });
        faults.push(FaultSpec::PauseLoss { link: rolls.below(links) as u32, from, until, probability: 0.2 });
        let link = rolls.below(links) as u32;
        let content = match rolls.below(3) {
            0 => ControlContent::Pause(rolls.below(100) as u16),
            1 => ControlContent::Pfc {
                enabled: rolls.below(256) as u8,
                quanta: [100, 0, 50, 100, 0, 1, 65, 0],
            },
            _ => ControlContent::Congestion { flow: rolls.below(3) as u16, feedback: rolls.below(64) as u8 },
        };
        let end = &graph.links[link as usize];
        let towards = if rolls.coin() { end.a } else { end.b };
        faults.push(FaultSpec::ControlFrame { link, towards, at: us(1 + rolls.below(30)), content });
    }
    if draw.has(RATE) {
        let (link, rate) = (rolls.below(links) as u32, gbps(rolls.pick(&[1, 5, 40])));
        let end = &graph.links[link as usize];
        let towards = rolls.pick(&[None, Some(end.a), Some(end.b)]);
        faults.push(FaultSpec::LinkRate { link, towards, at: us(5 + rolls.below(20)), rate });
    }
    faults
}

/// Maximum duration of any run in this file.
const LONG: Time = us(3_000_000);

fn spec(draw: &Draw, duration: Time) -> Spec {
    let mut rolls = Rolls(draw.seed | 1);
    let rolls = &mut rolls;
    let graph = graph(draw, rolls);
    let equal = rolls.coin();
    let link = |link: &GraphLink, rolls: &mut Rolls| {
        let rate = gbps(if equal { 10 } else { rolls.pick(&[1, 10, 25, 100]) });
        let back = if equal || rolls.coin() { rate } else { gbps(rolls.pick(&[1, 10, 25, 100])) };
        LinkSpec {
            a: link.a,
            b: link.b,
            rates: [rate, back],
            wire_rates: [rate, back],
            delay: ps(rolls.pick(&[0, 10_000, 500_000])),
            cable: ps(0),
            overhead: rolls.pick(&[0, 20, 20]),
            response_time: None,
            cost: 1,
            llr: None,
        }
    };
    let links: Vec<LinkSpec> = graph.links.iter().map(|one| link(one, rolls)).collect();
    let control = control(draw, rolls);
    let classes =
        rolls.pick(&[ClassMap::SEPARATE, ClassMap::SHARED, ClassMap::new([0, 0, 1, 1, 2, 2, 3, 3]).unwrap()]);
    let role = |role, rolls: &mut Rolls| match role {
        NodeRole::Host => Role::Host(Arc::new(host_of(draw, classes, &control, rolls))),
        NodeRole::Switch => Role::Switch(Arc::new(switch_of(draw, classes, &control, rolls))),
    };
    let node = |node: &fabric::topology::GraphNode, rolls: &mut Rolls| NodeSpec {
        name: node.name.clone(),
        role: role(node.role, rolls),
        mtu: None,
        clock_tolerance: ClockTolerance::from_ppm(if draw.has(CLOCKS) {
            rolls.pick(&[0, 100, 1000])
        } else {
            0
        }),
    };
    let nodes: Vec<NodeSpec> = graph.nodes.iter().map(|one| node(one, rolls)).collect();
    let mut net = Net::new(duration);
    let hosts: Vec<NodeId> = graph.hosts().collect();
    for i in 0..8 {
        let from = rolls.pick(&hosts);
        let others: Vec<NodeId> = hosts.iter().copied().filter(|&h| h != from).collect();
        let to = if rolls.coin() { others[0] } else { rolls.pick(&others) };
        let priority = rolls.pick(&[0u8, 3, 3, 7]);
        let over_tcp = draw.has(TCP) && (i % 4 == 2 || i % 2 == 0 && !draw.has(WINDOW));
        let scheduled = draw.has(TRANSFERS) && i % 4 == 3;
        let connects = over_tcp || (i % 2 == 0 && draw.has(WINDOW)) || (i % 4 == 1 && draw.has(REQUESTS));
        let to =
            if connects || rolls.coin() { Destinations::Fixed(to) } else { Destinations::Uniform(others) };
        let patient = duration == LONG;
        let source = if scheduled { scheduled_source(to, rolls) } else { source(to, rolls) };
        let flow = net.flow(&format!("f{i}"), from, priority, source);
        let has_one_link = graph.links.iter().filter(|link| [link.a, link.b].contains(&from)).count() == 1;
        if draw.has(BY_DESTINATION) && has_one_link && !connects && !scheduled {
            flow.way = Way::ByDestination;
        }
        if scheduled && rolls.below(4) > 0 {
            flow.transport = Some(Arc::new(scheduled_over_tcp(patient, rolls)));
        }
        if scheduled && draw.has(RDMA) && rolls.coin() {
            flow.transport = Some(Arc::new(scheduled_over_rdma(rolls)));
        }
        if scheduled && rolls.below(5) == 0 {
            flow.transport = Some(Arc::new(scheduled_over_uet(rolls)));
        }
        if connects {
            let window = i % 2 == 0;
            let single = patient && draw.has(LOSSY);
            let spec = match over_tcp {
                true if i >= 4 => {
                    let over_rdma = draw.has(RDMA) && rolls.coin();
                    conversation(patient, over_rdma, rolls)
                }
                true => tcp(patient, rolls),
                // If a frame is overtaken, FCoE repeats the whole exchange, in which the short frame overtakes again.
                false if i == 5 && !(patient && draw.has(CHOICE)) => fcoe(patient, single, rolls),
                false => connection(window, patient, single, rolls),
            };
            flow.transport = Some(Arc::new(spec));
        }
    }
    if draw.has(TCP) && rolls.below(4) == 0 {
        ring(&hosts, duration == LONG, &mut net, rolls);
    }
    let actions = [StormAction::Report, StormAction::Drop, StormAction::Forward];
    let watchdog = WatchdogSpec { detection: us(10), restoration: us(10), action: rolls.pick(&actions) };
    let mut spec = Spec {
        seed: draw.seed,
        nodes,
        links,
        warmup: if draw.has(WARMUP) { us(12) } else { Time::ZERO },
        probes: ProbeSpec {
            bin: (rolls.coin() && duration < LONG).then_some(us(3)),
            pauses: true,
            chosen: (draw.has(PROBES) && duration < LONG).then(|| probes(rolls)),
        },
        faults: faults(draw, &graph, rolls),
        ..net.0
    };
    spec.guards.watchdog = draw.has(WATCHDOG).then_some(watchdog);
    give_rooms(draw, &mut spec, rolls);
    spec.on_lossless_drop = if draw.lossless(&spec) { OnLosslessDrop::Stop } else { OnLosslessDrop::Count };
    spec
}

/// All probes, or some of them.
fn probes(rolls: &mut Rolls) -> Vec<Probe> {
    let own = rolls.coin().then_some(us(3));
    let all = [Watched::Flow, Watched::Port, Watched::Class, Watched::Queue]
        .map(|what| Probe { every: own, ..probe(what, rolls) });
    let probed = [Watched::Pauses, Watched::Frames, Watched::Occupancy, Watched::Latency];
    let probed =
        probed.map(|what| if what == Watched::Pauses { everything(what) } else { probe(what, rolls) });
    all.into_iter().chain(probed).filter(|one| one.what == Watched::Pauses || rolls.coin()).collect()
}

fn probe(what: Watched, rolls: &mut Rolls) -> Probe {
    let which = match rolls.below(3) {
        0 => Which::Busiest(1 + rolls.below(4) as u32),
        1 => Which::Named(vec![Pattern::new("h*"), Pattern::new("*3*")]),
        _ => Which::All,
    };
    let (most, one_in) = (rolls.pick(&[1, 7, 100, 1_000_000]), rolls.pick(&[1, 3]));
    Probe { which, max_rows: most, one_in, start: us(rolls.pick(&[0, 10])), ..everything(what) }
}

/// Sets receive buffers and shared memories to the size that the pauses need.
fn give_rooms(draw: &Draw, spec: &mut Spec, rolls: &mut Rolls) {
    let needs = pause_needs(spec);
    let longest = u64::from(fabric::frame_bounds(spec).1);
    let mut ports = vec![0u64; spec.nodes.len()];
    for end in spec.links.iter().flat_map(|link| [link.a, link.b]) {
        ports[end.at()] += 1;
    }
    for (id, node) in spec.nodes.iter_mut().enumerate() {
        let own = || needs.iter().filter(|need| need.node.at() == id).map(|need| need.room.get());
        match &mut node.role {
            Role::Host(host) => {
                let host = Arc::make_mut(host);
                if let (Some(receive), Some(most)) = (&mut host.receive, own().max()) {
                    receive.buffer = Some(most + longest);
                }
            }
            Role::Switch(switch) => {
                let switch = Arc::make_mut(switch);
                let groups = match switch.pauses().map(|control| control.kind) {
                    Some(PauseKind::Priorities(set)) => u64::from(set.count_ones()),
                    _ => 1,
                };
                let headroom = own().sum::<u64>() * groups;
                let minimum = rolls.pick(&[0, 0, 3_000]);
                let queues = switch.queues_of_memory(ports[id]);
                let shared = 1_000 + rolls.below(60_000);
                switch.shared_memory = draw.has(SHARED).then_some(SharedMemorySpec {
                    total: shared + headroom + minimum * queues,
                    alpha: Alpha::new(rolls.pick(&[0.125, 1.0, 8.0])).unwrap(),
                    minimum,
                    headroom,
                    resume_offset: rolls.pick(&[0, 0, 2_000]),
                });
            }
        }
    }
}

/// A crossbar that frames of up to this length can cross.
fn crossbar(rolls: &mut Rolls, longest: u64) -> CrossbarKeys {
    CrossbarKeys {
        speedup: Speedup::new(rolls.pick(&[1.0, 1.5, 3.0])).unwrap(),
        arbitration: rolls.pick(&[Arbitration::RoundRobin, Arbitration::Islip]),
        iterations: rolls.pick(&[1, 4]),
        inputs: rolls.pick(&[Inputs::VirtualOutput, Inputs::Fifo]),
        output_buffer: Bytes::new(longest + rolls.below(3 * longest)),
        room: rolls.pick(&[Room::Longest, Room::Frame]),
    }
}

/// Returns true if a switch has no mechanism that a crossbar rejects.
fn may_cross(switch: &SwitchSpec) -> bool {
    let by_egress = switch.pauses().is_some_and(|pauses| pauses.accounting == Accounting::Egress);
    let along_paths = |manager: &ManagerSpec| matches!(manager, ManagerSpec::PathPoint(_));
    let limited = !switch.buffer.is_unlimited() || switch.shared_memory.is_some();
    !by_egress && !limited && !switch.managers.all().any(along_paths)
}

/// The fabric of a draw with crossbars wherever possible, in combination with pauses, managers, outages and watchdogs.
fn with_crossbars(draw: &Draw, duration: Time) -> Spec {
    let draw = Draw { with: draw.with & !(RESTART | LIMITS | SHARED), ..draw.clone() };
    let mut spec = spec(&draw, duration);
    let mut rolls = Rolls(draw.seed.rotate_left(9) | 1);
    let longest = u64::from(fabric::frame_bounds(&spec).1);
    for node in &mut spec.nodes {
        if let Role::Switch(switch) = &mut node.role
            && may_cross(switch)
        {
            let switch = Arc::make_mut(switch);
            switch.queueing = Queueing::Crossbar(crossbar(&mut rolls, longest));
            switch.trimming = None;
        }
    }
    spec
}

/// The fabric of a draw with credits in place of pauses, and without mechanisms that credits exclude.
fn with_credits(draw: &Draw, duration: Time) -> Spec {
    let without = DOWN | RESTART | OUTAGES | ERRORS | REROUTE | LIMITS | SHARED | WATCHDOG;
    let draw = Draw { with: draw.with & !without, control: 0, ..draw.clone() };
    let mut spec = spec(&draw, duration);
    let mut rolls = Rolls(draw.seed.rotate_left(7) | 1);
    let longest = u64::from(fabric::frame_bounds(&spec).1);
    let channels: Option<Vec<ChannelKey>> = match rolls.below(3) {
        0 => None,
        1 => Some([0, 0, 1, 1, 2, 2, 3, 3].map(ChannelKey::Number).to_vec()),
        _ => {
            let names = match draw.seed % 3 {
                0 => ["B0", "B0", "O0", "B1", "B2", "B2", "O1", "B3"],
                _ => ["M0", "B0", "O0", "M1", "M1", "B2", "O1", "M3"],
            };
            Some(names.map(|name| ChannelKey::Name(name.to_string())).to_vec())
        }
    };
    let settings = |rolls: &mut Rolls| CreditSettings {
        buffer: Some(Bytes::new((longest.div_ceil(64) + rolls.below(100)) * 64)),
        update_after: Some(Bytes::new(1 + rolls.below(1_000))),
        update_within: Some(ns(rolls.below(2_000))),
        update_delay: Some(ns(1 + rolls.below(50))),
        update_bytes: Some(Bytes::new(rolls.pick(&[0, 0, 8, 84]))),
        piggyback: rolls.pick(&[None, None, Some(Bytes::new(0)), Some(Bytes::new(8))]),
        channels: channels.clone().map(ChannelList::Each),
        ..CreditSettings::default()
    };
    let (at_hosts, at_switches) = (settings(&mut rolls).spec(), settings(&mut rolls).spec());
    for node in &mut spec.nodes {
        match &mut node.role {
            Role::Host(host) => {
                let host = Arc::make_mut(host);
                host.flow_control = Some(at_hosts.clone().into());
                host.receive.iter_mut().for_each(|receive| receive.buffer = None);
            }
            Role::Switch(switch) => {
                let switch = Arc::make_mut(switch);
                switch.flow_control = Some(at_switches.clone().into());
                switch.trimming = None;
                if may_cross(switch) && rolls.coin() {
                    switch.queueing = Queueing::Crossbar(crossbar(&mut rolls, longest));
                }
            }
        }
    }
    // If its channel has a bypass queue, any switch has this queue in addition to its others.
    spec.flows.iter_mut().for_each(|flow| flow.bypassable = rolls.coin());
    if rolls.coin() {
        let link = rolls.below(spec.links.len() as u64) as u32;
        spec.faults.push(FaultSpec::PauseLoss { link, from: us(5), until: us(30), probability: 0.2 });
    }
    let mut rolls = Rolls(draw.seed.rotate_left(29) | 1);
    (0..spec.flows.len()).for_each(|flow| send_to_several(&mut spec, flow, &mut rolls));
    spec
}

/// Makes a flow multicast to several hosts, unless that is refused.
fn send_to_several(spec: &mut Spec, flow: usize, rolls: &mut Rolls) {
    let from = spec.flows[flow].from;
    let hosts = (0..).map(NodeId).zip(&spec.nodes).filter(|(id, node)| node.host().is_some() && *id != from);
    let hosts: Vec<NodeId> = hosts.map(|(id, _)| id).filter(|_| rolls.below(3) > 0).collect();
    if hosts.len() < 2 {
        return;
    }
    let before = std::mem::replace(&mut spec.flows[flow].source.destinations, Destinations::Multicast(hosts));
    let refused = |finding: &fabric::Finding| finding.subject == fabric::Subject::Flow(flow);
    if fabric::audit(spec, &[], &|_, _| false).iter().any(refused) {
        spec.flows[flow].source.destinations = before;
    }
}

/// The fabric of a draw in which switches get new schedulers of the same kind while frames are queued, in combination
/// with all other mechanisms.
fn with_new_schedulers(draw: &Draw, duration: Time) -> Spec {
    let mut spec = spec(&Draw { with: draw.with | SCHEDULERS, ..draw.clone() }, duration);
    let mut rolls = Rolls(draw.seed.rotate_left(13) | 1);
    for _ in 0..1 + rolls.below(4) {
        let link = rolls.below(spec.links.len() as u64) as u32;
        let LinkSpec { a, b, .. } = spec.links[link as usize];
        let (node, towards) = if rolls.coin() { (a, b) } else { (b, a) };
        if let Role::Switch(switch) = &spec.nodes[node.at()].role {
            let (at, scheduler) = (ns(rolls.below(50_000)), Arc::new(switch.scheduler.clone()));
            spec.faults.push(FaultSpec::Scheduler { link, towards, at, scheduler });
        }
    }
    spec
}

/// Path rate control sends probes as long as there is a path, before all data. At one per microsecond, they take 0.7
/// Gb/s per path: several of them leave no bandwidth of a slow link for connections.
fn ask_seldom(spec: &mut Spec) {
    for node in &mut spec.nodes {
        if let Role::Host(host) = &mut node.role
            && let Some(limiters) = &mut Arc::make_mut(host).limiters
            && let RateControlSpec::Prc(params) = &mut limiters.control
        {
            params.interval = params.interval.max(us(50));
        }
    }
}

/// Checks that a run violates no invariant, that its tables are consistent, and that it gives equal results in steps
/// and on threads.
fn keeps_its_books_everywhere(spec: Spec, budget: u64) -> Result<(), TestCaseError> {
    let net = Net(spec.clone());
    let once = net.try_run();
    prop_assert_eq!(&once.error, &None);
    check_tables(&spec, &once)?;
    same(&once, &net.run_in_steps(budget))?;
    for threads in [2, 3] {
        same(&once, &net.run_on(threads, budget * 100))?;
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(8), ..ProptestConfig::default() })]

    /// Test builds check frames, credits and slots of copies after each step, and a step of one event ends with the
    /// events of that time.
    #[test]
    fn books_are_kept_at_every_event(draw in draws()) {
        for spec in [with_credits(&draw, us(30)), with_crossbars(&draw, us(30))] {
            let net = Net(spec);
            same(&net.run_in_steps(1), &net.try_run())?;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(60), ..ProptestConfig::default() })]

    #[test]
    fn pairs_keep_their_books(draw in draws()) {
        let spec = spec(&draw, us(60));
        let outcome = Net(spec.clone()).try_run();
        prop_assert_eq!(&outcome.error, &None);
        check_tables(&spec, &outcome)?;
    }

    #[test]
    fn crossbars_keep_their_books_on_threads_and_in_steps(draw in draws(), budget in 1u64..2_000) {
        keeps_its_books_everywhere(with_crossbars(&draw, us(60)), budget)?;
    }

    #[test]
    fn new_schedulers_keep_the_books_on_threads_and_in_steps(draw in draws(), budget in 1u64..2_000) {
        keeps_its_books_everywhere(with_new_schedulers(&draw, us(60)), budget)?;
    }

    /// Credits are checked at the end of each run: none may be missing.
    #[test]
    fn credits_keep_their_books_on_threads_and_in_steps(draw in draws(), budget in 1u64..2_000) {
        keeps_its_books_everywhere(with_credits(&draw, us(60)), budget)?;
    }

    #[test]
    fn pairs_run_alike_on_threads_and_in_steps(draw in draws(), budget in 1u64..2_000) {
        let net = Net(spec(&draw, us(45)));
        let once = net.try_run();
        same(&once, &net.run_in_steps(budget))?;
        for threads in [2, 3] {
            same(&once, &net.run_on(threads, u64::MAX))?;
            same(&once, &net.run_on(threads, budget * 100))?;
        }
    }

    /// Frames sent ahead of their time (see `ahead.rs`): a fault after the end makes every port decide for each frame,
    /// without changing a result.
    #[test]
    fn sending_ahead_cannot_be_told(draw in draws(), budget in 1u64..2_000) {
        let control = draw.control % 2 * draw.control;
        let draw = Draw { with: draw.with & !FAULTS, control, ..draw };
        let mut spec = spec(&draw, us(60));
        (spec.probes.bin, spec.probes.chosen) = (None, None);
        // Links that send hardly any frame, switches without the flow control of the others, ideal injectors.
        let mut rolls = Rolls(!draw.seed | 1);
        for link in spec.links.iter_mut().filter(|_| rolls.below(8) == 0) {
            link.rates = [BitRate::from_bps(50_000_000); 2];
        }
        let mut switches = vec![];
        for (id, node) in spec.nodes.iter_mut().enumerate() {
            if let Role::Switch(switch) = &mut node.role {
                switches.push(NodeId(id as u32));
                let switch = Arc::make_mut(switch);
                if rolls.coin() {
                    (switch.flow_control, switch.shared_memory) = (None, None);
                }
                if rolls.coin() {
                    switch.forwarding = Forwarding::CutThrough;
                }
            }
        }
        for flow in spec.flows.iter_mut().filter(|flow| flow.transport.is_none()) {
            if rolls.below(4) == 0 {
                (flow.from, flow.way) = (rolls.pick(&switches), Way::Shortest);
            }
        }
        spec.on_lossless_drop = OnLosslessDrop::Count;
        let ahead = Net(spec);
        let expected = ahead.deciding().try_run().as_text();
        prop_assert_eq!(&ahead.try_run().as_text(), &expected);
        prop_assert_eq!(&ahead.run_in_steps(budget).as_text(), &expected);
        for threads in [2, 3] {
            prop_assert_eq!(&ahead.run_on(threads, budget * 1_000).as_text(), &expected);
        }
    }

    #[test]
    fn connections_get_done_whatever_they_meet(draw in draws()) {
        let any = WINDOW | REQUESTS | TCP | TRANSFERS;
        let with = if draw.has(any) { draw.with } else { draw.with | any };
        // Work done before the end of the warm-up does not count. Random outages continue as long as the run, which is
        // too long here. On several paths, the first frame may arrive last and find the queue full of later ones, and
        // no sender drawn here slows down after a timeout: each retransmission then loses the same segment.
        let choice = if draw.has(LOSSY) { CHOICE } else { 0 };
        let draw = Draw { with: with & !(WARMUP | OUTAGES | choice), control: draw.control % 4, ..draw };
        if !draw.gets_done() {
            return Ok(());
        }
        let mut spec = spec(&draw, LONG);
        ask_seldom(&mut spec);
        let outcome = Net(spec.clone()).try_run();
        prop_assert_eq!(&outcome.error, &None);
        check_tables(&spec, &outcome)?;
        for flow in spec.flows.iter().filter(|flow| flow.transport.is_some()) {
            let count = |column| outcome.count("connections", &flow.name, column);
            match flow.transport.as_ref().map(|connection| &connection.application) {
                Some(Application::Transfers(_)) => {}
                Some(
                    Application::RequestResponse(_)
                    | Application::Conversation(_)
                    | Application::MpiExchange(_)
                    | Application::Fcoe(_),
                ) => {
                    prop_assert_eq!(count("exchanges"), ASKED, "{}", &flow.name);
                }
                _ => {
                    let all = SEGMENTS * u64::from(SEGMENT);
                    prop_assert_eq!(count("application_bytes"), all, "{}", &flow.name);
                    prop_assert!(outcome.real("connections", &flow.name, "completed_ns") > 0.0, "{}", &flow.name);
                }
            }
        }
        let scheduled = spec.flows.iter().filter(|flow| {
            let connection = flow.transport.as_ref().map(|connection| &connection.application);
            matches!(connection, Some(Application::Transfers(_)))
        });
        let acknowledged = outcome.reals("transfers", "acknowledged_ns");
        let delivered = outcome.reals("transfers", "completion_ns");
        prop_assert_eq!(acknowledged.iter().filter(|at| !at.is_nan()).count(), 10 * scheduled.count());
        // Receivers read immediately.
        let reads = |flow: &fabric::spec::FlowSpec| {
            let rdma = flow.transport.as_ref().and_then(|connection| connection.queue_pairs());
            rdma.is_some_and(|rdma| rdma.verb == RdmaVerb::Read)
        };
        let reads = spec.flows.iter().any(reads);
        let late = |known: f64, there: f64| known > there || reads && known == there;
        prop_assert!(acknowledged.iter().zip(delivered).all(|(&known, there)| known.is_nan() || late(known, *there)));
        // No flow waits for ever.
        prop_assert_eq!(outcome.table("deadlocks").rows(), 0);
    }
}
