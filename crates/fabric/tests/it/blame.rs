//! Culprits and victims: on fabrics with known answers, and compared with an independent model that logs every frame
//! and derives from the log which flows were queued where during which pause.

use crate::common::*;
use fabric::spec::{HostSpec, SwitchSpec};
use flow_control::{Accounting, PauseSpec};
use frame::{ClassMap, NodeId};
use proptest::prelude::*;
use std::collections::{BTreeMap, BinaryHeap};
use units::{BitRate, Time};
use workload::SourceSpec;

/// A row of the table for a flow and a tree: part, frames, share, time held back, and where.
#[derive(Clone, Debug, PartialEq)]
struct Part {
    part: String,
    frames: u64,
    share: f64,
    held: Time,
    at: String,
}

/// Parts by root and flow.
fn parts(outcome: &Outcome) -> BTreeMap<(String, String), Part> {
    let texts = |column| outcome.texts("congestion_flows", column);
    (0..outcome.table("congestion_flows").rows())
        .map(|row| {
            let part = Part {
                part: texts("part")[row].clone(),
                frames: outcome.integers("congestion_flows", "frames")[row],
                share: outcome.reals("congestion_flows", "share")[row],
                held: exact(outcome.reals("congestion_flows", "paused_ns")[row]),
                at: texts("paused_at")[row].clone(),
            };
            ((texts("root")[row].clone(), texts("flow")[row].clone()), part)
        })
        .collect()
}

fn named<'a>(parts: &'a BTreeMap<(String, String), Part>, part: &str) -> Vec<&'a str> {
    parts.iter().filter(|(_, one)| one.part == part).map(|((_, flow), _)| flow.as_str()).collect()
}

/// A star: hosts h0, h1, ... around "sw", 10 Gb/s.
fn star(hosts: usize, control: &PauseSpec, duration: Time) -> (Net, Vec<NodeId>) {
    let mut net = Net::new(duration);
    let control = Some(control.clone().into());
    let sw = net.switch("sw", SwitchSpec { flow_control: control.clone(), ..switch() });
    let nodes = (0..hosts)
        .map(|nth| {
            let spec = HostSpec { flow_control: control.clone(), ..host() };
            let node = net.host(&format!("h{nth}"), spec);
            net.link(node, sw, gbps(10), ns(100));
            node
        })
        .collect();
    (net, nodes)
}

/// A flow that ends before the others start, one that starts after they have ended, and one to the same host in another
/// class: none of them is related to the congestion of "a" and "b", from which "victim" suffers.
#[test]
fn who_was_there_at_another_time_or_in_another_class_is_not_to_blame() {
    for accounting in [Accounting::Ingress, Accounting::Egress] {
        let control = PauseSpec { accounting, ..pfc_at(0b1000, 8, 4) };
        let (mut net, h) = star(5, &control, us(600));
        net.flow("early", h[1], 3, paced(h[0], 1000, 10, Time::ZERO, us(1)));
        net.flow("early elsewhere", h[1], 3, paced(h[4], 1000, 10, Time::ZERO, us(1)));
        for (name, from) in [("a", 1), ("b", 2)] {
            net.flow(name, h[from], 3, burst(h[0], 1000, 60, us(100)));
        }
        net.flow("victim", h[1], 3, paced(h[4], 1000, 60, us(100), us(1)));
        net.flow("other class", h[3], 5, paced(h[0], 1000, 60, us(100), us(2)));
        net.flow("late", h[2], 3, paced(h[0], 1000, 10, us(500), us(1)));
        net.flow("late elsewhere", h[2], 3, paced(h[4], 1000, 10, us(500), us(1)));
        let outcome = net.run();
        let found = parts(&outcome);
        assert_eq!(named(&found, "culprit"), ["a", "b"], "{accounting:?}");
        assert_eq!(named(&found, "victim"), ["victim"]);
        assert_eq!(found.len(), 3, "{found:?}");
        let victim = &found[&("sw.0->h0/3".to_string(), "victim".to_string())];
        assert_eq!((victim.at.as_str(), victim.frames, victim.share), ("h1.0->sw", 0, 0.0));
    }
}

#[test]
fn two_congestions_of_one_port_are_two_times() {
    // The same two hosts send, first "a" and "b", later "c" and "d": one tree, in which each flow has its own share.
    let (mut net, h) = star(3, &pfc_at(0xFF, 8, 4), us(600));
    for (name, from, start) in [("a", 1, 0), ("b", 2, 0), ("c", 1, 300), ("d", 2, 300)] {
        net.flow(name, h[from], 3, burst(h[0], 1000, 40, us(start)));
    }
    let outcome = net.run();
    let found = parts(&outcome);
    assert_eq!(named(&found, "culprit"), ["a", "b", "c", "d"]);
    // No flow was held back for longer than the congestion lasted while the flow existed.
    let spans: Vec<_> = outcome.pauses().iter().map(|pause| (pause.start, pause.end)).collect();
    let within = |from, until| {
        let mine = spans.iter().filter(|span| span.0 >= from && span.1 <= until);
        mine.fold(Time::ZERO, |sum, span| sum + (span.1 - span.0))
    };
    for (key, part) in &found {
        let most = if ["a", "b"].contains(&key.1.as_str()) {
            within(us(0), us(300))
        } else {
            within(us(300), us(600))
        };
        assert!(part.held <= most && part.held > Time::ZERO, "{key:?} {part:?} {most}");
    }
}

#[test]
fn a_slow_receiver_is_fed_by_those_in_its_buffer() {
    use fabric::spec::ReceiveSpec;
    let control = pfc(0xFF);
    let (mut net, h) = star(3, &control, us(900));
    let fabric::spec::Role::Host(spec) = &mut net.0.nodes[h[0].at()].role else { panic!("no host") };
    std::sync::Arc::make_mut(spec).receive =
        Some(ReceiveSpec { rate: Some(gbps(2)), buffer: Some(60_000), ..ReceiveSpec::default() });
    net.flow("early", h[1], 3, paced(h[0], 1000, 5, Time::ZERO, us(10)));
    net.flow("feeds", h[1], 3, paced(h[0], 1000, 150, us(200), us(1)));
    net.flow("held", h[1], 3, paced(h[2], 1000, 150, us(200), us(2)));
    let outcome = net.run();
    assert_eq!(outcome.texts("congestion", "why")[0], "slow_receiver");
    let found = parts(&outcome);
    let at = |flow: &str| found.get(&("sw.0->h0/3".to_string(), flow.to_string()));
    assert_eq!(at("early"), None);
    let feeds = at("feeds").expect("it fills the buffer");
    assert_eq!((feeds.part.as_str(), feeds.share), ("culprit", 1.0));
    assert!(feeds.frames <= 150 && feeds.frames >= 30, "{}", feeds.frames);
}

#[test]
fn a_flow_of_a_class_that_another_priority_pauses_is_a_victim() {
    // The hosts have one queue for all priorities, so a pause of priority 3 stops priority 0 too.
    let (mut net, h) = star(4, &pfc_at(0b1000, 8, 4), us(300));
    for node in &mut net.0.nodes {
        if let fabric::spec::Role::Host(spec) = &mut node.role {
            std::sync::Arc::make_mut(spec).classes = ClassMap::SHARED;
        }
    }
    for (name, from) in [("a", 1), ("b", 2)] {
        net.flow(name, h[from], 3, burst(h[0], 1000, 60, Time::ZERO));
    }
    net.flow("shares the queue", h[1], 0, paced(h[3], 1000, 40, us(1), us(1)));
    let outcome = net.run();
    assert_eq!(named(&parts(&outcome), "victim"), ["shares the queue"]);
}

/// A flow of the model: source host, sink, start, number of frames.
#[derive(Clone, Debug)]
struct Burst {
    host: usize,
    sink: usize,
    start: Time,
    frames: u64,
}

/// A frame's time in a queue: its flow, start and end.
type Stay = (usize, Time, Time);

/// Records of the model.
#[derive(Default)]
struct Log {
    /// Stays in the NIC of each host. `sinks` has those in the queue of each sink.
    nics: Vec<Vec<Stay>>,
    sinks: Vec<Vec<Stay>>,
    /// By host: root sink, times of the decisions for XOFF and XON, and times at which they take effect.
    pauses: Vec<(usize, usize, [Time; 4])>,
}

const FRAME: u64 = 1000;
const SERIALISATION: Time = Time::from_ps((FRAME + 20) * 800);
const PAUSE_FRAME: Time = Time::from_ps(84 * 800);

/// An event of the model; the earliest is first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    SinkFree(usize),
    Paused(usize, bool),
    NicFree(usize),
    Made(usize),
    Arrives { host: usize, flow: usize },
}

/// State of a NIC: entries (flow and start), time until which its link is busy, and true while it is paused.
type Nic = (Vec<(usize, Time)>, Time, bool);
/// State of a sink's queue: entries (host, flow and start), and time until which its link is busy.
type Sink = (Vec<(usize, usize, Time)>, Time);

/// Hosts and sinks around one switch, modelled explicitly: a FIFO in each NIC, a FIFO for each sink, counters by host.
struct Model<'a> {
    flows: &'a [Burst],
    delays: &'a [Time],
    marks: (u64, u64),
    events: BinaryHeap<std::cmp::Reverse<(Time, What)>>,
    nic: Vec<Nic>,
    sink: Vec<Sink>,
    counter: Vec<u64>,
    /// The pause of each host, as an index into the log.
    pause: Vec<Option<usize>>,
    way_back_free: Vec<Time>,
    log: Log,
}

impl Model<'_> {
    fn run(flows: &[Burst], delays: &[Time], sinks: usize, marks: (u64, u64), end: Time) -> Log {
        let hosts = delays.len();
        let mut model = Model {
            flows,
            delays,
            marks,
            events: BinaryHeap::new(),
            nic: vec![(vec![], Time::ZERO, false); hosts],
            sink: vec![(vec![], Time::ZERO); sinks],
            counter: vec![0; hosts],
            pause: vec![None; hosts],
            way_back_free: vec![Time::ZERO; hosts],
            log: Log { nics: vec![vec![]; hosts], sinks: vec![vec![]; sinks], pauses: vec![] },
        };
        (0..flows.len()).for_each(|flow| model.at(flows[flow].start, What::Made(flow)));
        while let Some(std::cmp::Reverse((now, what))) = model.events.pop() {
            if now > end {
                break;
            }
            model.handle(now, what);
        }
        model.finish(end)
    }

    fn at(&mut self, time: Time, what: What) {
        self.events.push(std::cmp::Reverse((time, what)));
    }

    fn handle(&mut self, now: Time, what: What) {
        match what {
            What::Made(flow) => {
                for _ in 0..self.flows[flow].frames {
                    let host = self.flows[flow].host;
                    self.nic[host].0.push((flow, now));
                    self.send(host, now);
                }
            }
            What::NicFree(host) => self.send(host, now),
            What::Paused(host, paused) => {
                self.nic[host].2 = paused;
                self.send(host, now);
            }
            What::Arrives { host, flow } => self.arrive(host, flow, now),
            What::SinkFree(sink) => self.serve(sink, now),
        }
    }

    fn send(&mut self, host: usize, now: Time) {
        let (queue, free, paused) = &mut self.nic[host];
        if *paused || *free > now || queue.is_empty() {
            return;
        }
        let (flow, since) = queue.remove(0);
        *free = now + SERIALISATION;
        let free = *free;
        if since < now {
            self.log.nics[host].push((flow, since, now));
        }
        self.at(free, What::NicFree(host));
        self.at(free + self.delays[host], What::Arrives { host, flow });
    }

    fn arrive(&mut self, host: usize, flow: usize, now: Time) {
        let sink = self.flows[flow].sink;
        let (queue, free) = &mut self.sink[sink];
        if *free <= now && queue.is_empty() {
            *free = now + SERIALISATION;
            let free = *free;
            return self.at(free, What::SinkFree(sink));
        }
        self.counter[host] += 1;
        if self.counter[host] >= self.marks.0 && self.pause[host].is_none() {
            // The frame itself is not in its queue yet.
            let held = |sink: usize| self.sink[sink].0.iter().filter(|one| one.0 == host).count();
            let own = self.sink[sink].0.len() as u64 * 2 >= self.counter[host];
            let most =
                (0..self.sink.len()).rev().max_by_key(|&sink| held(sink)).filter(|&sink| held(sink) > 0);
            let blamed = if own { sink } else { most.unwrap_or(sink) };
            self.pause[host] = Some(self.log.pauses.len());
            let acts = self.tell(host, true, now);
            self.log.pauses.push((host, blamed, [now, Time::NEVER, acts, Time::NEVER]));
        }
        self.sink[sink].0.push((host, flow, now));
    }

    fn serve(&mut self, sink: usize, now: Time) {
        let (queue, free) = &mut self.sink[sink];
        if queue.is_empty() {
            return;
        }
        let (host, flow, since) = queue.remove(0);
        *free = now + SERIALISATION;
        let free = *free;
        self.at(free, What::SinkFree(sink));
        self.log.sinks[sink].push((flow, since, now));
        self.counter[host] -= 1;
        if self.counter[host] <= self.marks.1
            && let Some(pause) = self.pause[host].take()
        {
            let acts = self.tell(host, false, now);
            self.log.pauses[pause].2[1] = now;
            self.log.pauses[pause].2[3] = acts;
        }
    }

    /// Sends a pause frame to a host. Returns the time at which it takes effect.
    fn tell(&mut self, host: usize, pause: bool, now: Time) -> Time {
        let free = &mut self.way_back_free[host];
        *free = (*free).max(now) + PAUSE_FRAME;
        let acts = *free + self.delays[host];
        self.at(acts, What::Paused(host, pause));
        acts
    }

    /// Closes the stays of entries that are still queued at the end.
    fn finish(mut self, end: Time) -> Log {
        for (host, (queue, ..)) in self.nic.iter().enumerate() {
            self.log.nics[host].extend(queue.iter().map(|&(flow, since)| (flow, since, Time::NEVER)));
        }
        for (sink, (queue, _)) in self.sink.iter().enumerate() {
            self.log.sinks[sink].extend(queue.iter().map(|&(_, flow, since)| (flow, since, Time::NEVER)));
        }
        // A pause that has not taken effect by the end does not count; one in force ends with the run.
        self.log.pauses.retain(|(_, _, times)| times[2] < end);
        self.log.pauses.iter_mut().for_each(|(_, _, times)| times[3] = times[3].min(end));
        self.log
    }
}

/// Frames at the root and time held back, by sink and flow, counted frame by frame and pause by pause.
fn brute_force(flows: &[Burst], log: &Log) -> BTreeMap<(usize, usize), (u64, Time)> {
    let mut found: BTreeMap<(usize, usize), (u64, Time)> = BTreeMap::new();
    for (sink, stays) in log.sinks.iter().enumerate() {
        for &(flow, since, left) in stays {
            let stood = |&(_, blamed, [on, off, ..]): &(usize, usize, [Time; 4])| {
                blamed == sink && since <= off && left > on
            };
            if log.pauses.iter().any(stood) {
                found.entry((sink, flow)).or_default().0 += 1;
            }
        }
    }
    for &(host, sink, [_, _, start, end]) in &log.pauses {
        for flow in (0..flows.len()).filter(|&flow| flows[flow].host == host) {
            // The union of its frames' stays, within the pause.
            let mut stays: Vec<(Time, Time)> = log.nics[host]
                .iter()
                .filter(|stay| stay.0 == flow)
                .map(|&(_, since, left)| (since.max(start), left.min(end)))
                .filter(|(since, left)| since < left)
                .collect();
            stays.sort_unstable();
            let mut until = start;
            for (since, left) in stays {
                let more = left.saturating_sub(since.max(until));
                until = until.max(left);
                if more > Time::ZERO {
                    found.entry((sink, flow)).or_default().1 += more;
                }
            }
        }
    }
    found
}

/// A burst of frames that are created at exactly the same time, not a picosecond apart.
fn at_once(to: NodeId, frames: u64, start: Time) -> SourceSpec {
    let source = burst(to, FRAME as u16, frames, start);
    assert!(
        matches!(source.arrivals, workload::Arrivals::Constant(workload::ConstantParams { rate, .. }) if rate >= BitRate::from_gbps(8_000_000))
    );
    source
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(64)))]

    /// Compares the tables with the log of every frame of the model.
    #[test]
    fn tables_are_what_the_log_of_every_frame_says(
        bursts in proptest::collection::vec((0usize..4, 0usize..2, 0u64..120_000_000, 1u64..30), 2..10),
        delays in proptest::collection::vec(100_000u64..900_000, 4),
        xoff in 2u64..8,
        below in 1u64..4,
    ) {
        let delays: Vec<Time> = delays.iter().enumerate().map(|(nth, &delay)| ps(delay * 7 + nth as u64)).collect();
        let marks = (xoff, xoff.saturating_sub(below));
        let flows: Vec<Burst> = bursts
            .iter()
            .map(|&(host, sink, start, frames)| Burst { host, sink, start: ps(start * 3 + 1), frames })
            .collect();
        // Only one flow at a time creates frames: the order of two simultaneous ones is not defined here.
        let starts: std::collections::BTreeSet<_> = flows.iter().map(|flow| flow.start).collect();
        prop_assume!(starts.len() == flows.len());
        let end = us(900);
        let control = pfc_at(0xFF, marks.0, marks.1);
        let mut net = Net::new(end);
        let sw = net.switch("sw", SwitchSpec { flow_control: Some(control.clone().into()), ..switch() });
        let mut nodes = vec![];
        for (nth, &delay) in delays.iter().enumerate() {
            let node = net.host(&format!("h{nth}"), HostSpec { flow_control: Some(control.clone().into()), ..host() });
            net.link(node, sw, gbps(10), delay);
            nodes.push(node);
        }
        let sinks = [0, 1].map(|nth| net.host(&format!("sink{nth}"), host()));
        net.attach(&sinks, sw, gbps(10), ns(100));
        for (nth, flow) in flows.iter().enumerate() {
            net.flow(&format!("f{nth}"), nodes[flow.host], 3, at_once(sinks[flow.sink], flow.frames, flow.start));
        }
        let log = Model::run(&flows, &delays, 2, marks, end);
        let outcome = net.run();
        // The model has the same pauses as the simulator.
        let mut expected: Vec<(String, u64, u64)> = log.pauses.iter()
            .filter(|(_, _, times)| times[3] > times[2])
            .map(|(host, _, times)| (format!("h{host}.0->sw"), times[2].ps(), times[3].ps())).collect();
        expected.sort();
        let mut seen: Vec<(String, u64, u64)> =
            outcome.pauses().into_iter().map(|pause| (pause.port, pause.start.ps(), pause.end.ps())).collect();
        seen.sort();
        prop_assert_eq!(&seen, &expected);
        // The flows queued at each place match, too.
        let found: BTreeMap<(String, String), (u64, u64)> =
            parts(&outcome).into_iter().map(|(key, part)| (key, (part.frames, part.held.ps()))).collect();
        let known: BTreeMap<(String, String), (u64, u64)> = brute_force(&flows, &log).into_iter()
            .map(|((sink, flow), (frames, held))| ((format!("sw.{}->sink{sink}/3", 4 + sink), format!("f{flow}")), (frames, held.ps())))
            .collect();
        prop_assert_eq!(found, known);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(48)))]

    /// Three periods of 400 us with different flows, which end within their period: each flow in a tree has a pause of
    /// the tree in its own period, and the shares at each root add up to one.
    #[test]
    fn nobody_is_in_a_tree_of_another_time(
        flows in proptest::collection::vec((0usize..3, 0usize..6, 0usize..6, 1u64..40, 0u64..4), 3..14),
        xoff in 2u64..9,
        kind in 0usize..4,
        threads in 1usize..4,
    ) {
        let control = match kind {
            0 => pfc_at(0xFF, xoff, xoff - 1),
            1 => PauseSpec { accounting: Accounting::Egress, ..pfc_at(0xFF, xoff, xoff / 2) },
            2 => PauseSpec { kind: flow_control::PauseKind::Link, ..pfc_at(0xFF, xoff, 0) },
            // Short pauses that are renewed repeatedly.
            _ => PauseSpec { quanta: 40.into(), ..pfc_at(0xFF, xoff, xoff - 1) },
        };
        let mut net = Net::new(us(1200));
        net.0.on_lossless_drop = fabric::spec::OnLosslessDrop::Count;
        let spec = SwitchSpec { flow_control: Some(control.clone().into()), ..switch() };
        let switches = [0, 1].map(|nth| net.switch(&format!("s{nth}"), spec.clone()));
        net.link(switches[0], switches[1], gbps(10), ns(300));
        let hosts: Vec<NodeId> = (0..6).map(|nth| {
            let node = net.host(&format!("h{nth}"), HostSpec { flow_control: Some(control.clone().into()), ..host() });
            net.link(node, switches[nth / 3], gbps(10), ns(100 + 37 * nth as u64));
            node
        }).collect();
        let mut times = BTreeMap::new();
        for &(time, from, to, frames, late) in flows.iter().filter(|flow| flow.1 != flow.2) {
            let name = format!("f{}", times.len());
            let start = us(400 * time as u64 + late);
            net.flow(&name, hosts[from], (late % 2) as u8, burst(hosts[to], 700, frames, start));
            times.insert(name, time as u64);
        }
        prop_assume!(!times.is_empty());
        let outcome = net.run_on(threads, 10_000);
        let found = parts(&outcome);
        let trees = outcome.integers("pauses", "tree");
        let mut roots: BTreeMap<u64, String> = BTreeMap::new();
        for (root, tree) in outcome.texts("congestion", "root").iter().zip(outcome.integers("congestion", "tree")) {
            roots.insert(*tree, root.clone());
        }
        for ((root, flow), part) in &found {
            let (from, until) = (us(400 * times[flow]), us(400 * times[flow] + 400));
            let pauses = outcome.pauses();
            let own = pauses.iter().zip(trees).filter(|(_, tree)| roots[tree] == *root).map(|(pause, _)| pause);
            let together = own.filter(|pause| pause.start < until && pause.end > from).count();
            prop_assert!(together > 0, "{} in {}: {:?}", flow, root, part);
            prop_assert!(part.frames > 0 || part.held > Time::ZERO);
            prop_assert_eq!(part.part == "culprit", part.frames > 0);
        }
        for root in roots.values() {
            let shares: f64 = found.iter().filter(|(key, _)| key.0 == *root).map(|(_, part)| part.share).sum();
            prop_assert!((shares - 1.0).abs() < 1e-9, "{} {}", root, shares);
        }
    }
}
