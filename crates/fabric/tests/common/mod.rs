//! Builds a fabric in a few lines and reads its tables: helpers shared by all integration tests.

#![allow(dead_code)] // each test file uses its own part

pub mod consistent;
pub mod credits;

use fabric::spec::{
    FaultSpec, FlowSpec, GuardSpec, HostSpec, LinkSpec, NodeSpec, OnLosslessDrop, Probe, ProbeSpec, Role,
    Spec, SwitchSpec, Watched, Way, Which,
};
use fabric::topology::{Cable, FatTree, NodeRole, Shape};
use fabric::{Simulation, State};
use flow_control::{Accounting, PauseKind, PauseSpec, Watermarks};
use frame::{NodeId, Ports, Priority};
use measure::{Table, Values};
use queueing::{Counts, ManagerSpec, Moment, StepParams};
use std::sync::Arc;
use transport::{Application, ConnectionSpec, Scheduled};
use units::{Amount, BitRate, Bytes, ClockTolerance, Time};
use workload::{
    Arrivals, ConstantParams, Destinations, FrameSizes, Framing, RateBasis, ServiceOrder, SourceSpec,
    Transfer, TransferList,
};

pub const fn ns(ns: u64) -> Time {
    Time::from_ns(ns)
}
pub const fn us(us: u64) -> Time {
    Time::from_us(us)
}
pub const fn ps(ps: u64) -> Time {
    Time::from_ps(ps)
}
pub const fn gbps(gbps: u64) -> BitRate {
    BitRate::from_gbps(gbps)
}

/// A host without limits and without flow control.
pub fn host() -> HostSpec {
    HostSpec::default()
}

/// A store-and-forward switch without limits, latency and flow control.
pub fn switch() -> SwitchSpec {
    SwitchSpec::default()
}

/// PFC with ingress accounting, computed watermarks, maximum pause times and no response time.
pub fn pfc(priorities: u8) -> PauseSpec {
    PauseSpec {
        name: "pfc",
        kind: PauseKind::Priorities(priorities),
        accounting: Accounting::Ingress,
        watermarks: None,
        quanta: u16::MAX.into(),
        resume: true,
        refresh: true,
        response_time: Some(Time::ZERO),
        target: None,
    }
}

/// [`pfc`] with watermarks in frames.
pub fn pfc_at(priorities: u8, xoff: u64, xon: u64) -> PauseSpec {
    let marks = Watermarks { xoff: Amount::Frames(xoff), xon: Amount::Frames(xon), headroom: None };
    PauseSpec { watermarks: Some(marks), ..pfc(priorities) }
}

/// A source of `count` frames of one size, at intervals of `every`.
pub fn paced(to: NodeId, bytes: u16, count: u64, start: Time, every: Time) -> SourceSpec {
    // The rate at which such frames have this interval is an integer in all tests that depend on it.
    let rate = (u128::from(bytes) * 8_000_000_000_000 / u128::from(every.ps().max(1))) as u64;
    SourceSpec {
        arrivals: Arrivals::Constant(ConstantParams {
            rate: BitRate::from_bps(rate.max(1)),
            random_phase: false,
        }),
        rate_basis: RateBasis::Frame,
        sizes: FrameSizes::Fixed(bytes),
        destinations: Destinations::Fixed(to),
        start,
        stop: None,
        script: vec![],
        limit: Some(Bytes::new(count * u64::from(bytes))),
        jitter: Time::ZERO,
    }
}

/// One frame at `start`.
pub fn one(to: NodeId, bytes: u16, start: Time) -> SourceSpec {
    paced(to, bytes, 1, start, us(1))
}

/// `count` frames at the same time.
pub fn burst(to: NodeId, bytes: u16, count: u64, start: Time) -> SourceSpec {
    let rate = BitRate::from_bps(8_000_000_000_000_000_000);
    SourceSpec {
        arrivals: Arrivals::Constant(ConstantParams { rate, random_phase: false }),
        ..paced(to, bytes, count, start, us(1))
    }
}

/// As many frames as the link takes, without limit.
pub fn greedy(to: NodeId, bytes: u16, start: Time) -> SourceSpec {
    SourceSpec { arrivals: Arrivals::Greedy, limit: None, ..one(to, bytes, start) }
}

/// Transfers: start, index of the destination, bytes.
pub fn transfers(
    to: &[NodeId],
    framing: Framing,
    order: ServiceOrder,
    rows: &[(Time, u32, u64)],
) -> SourceSpec {
    let mut list = TransferList::new(framing, order);
    for &(start, destination, bytes) in rows {
        list.push(Transfer { start, destination, bytes, ports: Ports::default() });
    }
    SourceSpec {
        arrivals: Arrivals::Transfers(Arc::new(list)),
        destinations: Destinations::Uniform(to.to_vec()),
        ..greedy(to[0], framing.frame, Time::ZERO)
    }
}

/// A switch with this queue manager for each of its queues.
pub fn managed(manager: ManagerSpec) -> SwitchSpec {
    SwitchSpec { managers: vec![Some(manager); 8].into(), ..switch() }
}

/// A switch that marks frames that leave more than this many frames behind them.
pub fn marking(frames: u64) -> SwitchSpec {
    managed(ManagerSpec::Step(StepParams {
        threshold: Amount::Frames(frames),
        counts: Counts::WithoutFrame,
        at: Moment::Dequeue,
        reference_rate: None,
    }))
}

/// Hosts "h0" and so on at a switch, over links of 10 Gb/s and 1 us without overhead.
pub fn star(hosts: usize, duration: Time, spec: SwitchSpec) -> (Net, Vec<NodeId>) {
    let mut net = Net::new(duration);
    let all: Vec<NodeId> = (0..hosts).map(|nth| net.host(&format!("h{nth}"), host())).collect();
    let sw = net.switch("sw", spec);
    all.iter().for_each(|&host| net.link(host, sw, gbps(10), us(1)).overhead = 0);
    (net, all)
}

/// Hosts "h0" and so on at a switch, over links of 10 Gb/s and 1 us: `senders` senders, and a receiver.
pub fn hosts_at(sw: SwitchSpec, senders: usize, duration: Time) -> (Net, Vec<NodeId>) {
    let mut net = Net::new(duration);
    let of_host = HostSpec { flow_control: sw.flow_control.clone(), ..host() };
    let hosts: Vec<NodeId> = (0..=senders).map(|n| net.host(&format!("h{n}"), of_host.clone())).collect();
    let sw = net.switch("sw", sw);
    net.attach(&hosts, sw, gbps(10), us(1));
    (net, hosts)
}

/// Records all objects of a kind.
pub fn everything(what: Watched) -> Probe {
    Probe { what, which: Which::All, every: None, max_rows: 1_000_000, one_in: 1, start: Time::ZERO }
}

/// A specification under construction.
#[derive(Clone)]
pub struct Net(pub Spec);

impl Net {
    pub fn new(duration: Time) -> Net {
        Net(Spec {
            seed: 1,
            path_seed: 1,
            duration,
            warmup: Time::ZERO,
            nodes: vec![],
            links: vec![],
            flows: vec![],
            probes: ProbeSpec { bin: None, pauses: true, chosen: None },
            on_lossless_drop: OnLosslessDrop::Stop,
            faults: vec![],
            guards: GuardSpec::default(),
            negotiated: Vec::new(),
            domains: Vec::new(),
            waits: Vec::new(),
            jobs: Vec::new(),
        })
    }
    fn node(&mut self, name: &str, role: Role) -> NodeId {
        self.0.nodes.push(NodeSpec {
            name: name.to_string(),
            role,
            clock_tolerance: ClockTolerance::EXACT,
            mtu: None,
        });
        NodeId(self.0.nodes.len() as u32 - 1)
    }
    pub fn host(&mut self, name: &str, spec: HostSpec) -> NodeId {
        self.node(name, Role::Host(Arc::new(spec)))
    }
    pub fn switch(&mut self, name: &str, spec: SwitchSpec) -> NodeId {
        self.node(name, Role::Switch(Arc::new(spec)))
    }
    /// Adds a link with the 20 B of Ethernet overhead per frame.
    pub fn link(&mut self, a: NodeId, b: NodeId, rate: BitRate, delay: Time) -> &mut LinkSpec {
        self.0.links.push(LinkSpec {
            a,
            b,
            rates: [rate; 2],
            wire_rates: [rate; 2],
            delay,
            cable: delay,
            overhead: 20,
            response_time: None,
            cost: 1,
            llr: None,
        });
        self.0.links.last_mut().unwrap()
    }
    /// Replaces the settings of all nodes by plain ones under [`pfc`].
    pub fn under_pfc(&mut self, priorities: u8) {
        let flow_control = Some(pfc(priorities).into());
        for node in &mut self.0.nodes {
            let flow_control = flow_control.clone();
            node.role = match &node.role {
                Role::Host(_) => Role::Host(Arc::new(HostSpec { flow_control, ..host() })),
                Role::Switch(_) => Role::Switch(Arc::new(SwitchSpec { flow_control, ..switch() })),
            };
        }
    }
    /// Adds links of this rate and delay from each of these ends to a switch.
    pub fn attach(&mut self, ends: &[NodeId], switch: NodeId, rate: BitRate, delay: Time) {
        for &end in ends {
            self.link(end, switch, rate, delay);
        }
    }
    pub fn flow(&mut self, name: &str, from: NodeId, priority: u8, source: SourceSpec) -> &mut FlowSpec {
        let name = name.to_string();
        self.0.flows.push(FlowSpec {
            name,
            from,
            priority: Priority(priority),
            source,
            way: Way::Shortest,
            transport: None,
            ports: None,
            tuples: Vec::new(),
            bypassable: false,
            color: queueing::Color::Green,
        });
        self.0.flows.last_mut().unwrap()
    }
    /// The fabric with a fault on every link after the end of the run: each port then decides for each frame, and each
    /// frame arrives as an event.
    pub fn deciding(&self) -> Net {
        let (from, until) = (self.0.duration + us(1), self.0.duration + us(2));
        let fault = |link| FaultSpec::FrameLoss { link, towards: None, from, until, probability: 0.5 };
        let mut net = self.clone();
        net.0.faults = (0..net.0.links.len() as u32).map(fault).collect();
        net
    }
    /// Adds transfers of a host in class 3: start, index of the destination, bytes.
    pub fn scheduled(
        &mut self,
        (from, to): (NodeId, &[NodeId]),
        framing: Framing,
        carrier: Scheduled,
        rows: &[(Time, u32, u64)],
    ) {
        let name = format!("t[{}]", self.0.nodes[from.at()].name);
        let application = Application::Transfers(carrier);
        let connection = ConnectionSpec { start: Time::ZERO, stop: None, application };
        let source = transfers(to, framing, ServiceOrder::RoundRobin, rows);
        self.flow(&name, from, 3, source).transport = Some(Arc::new(connection));
    }
    /// Runs to the end.
    pub fn run(&self) -> Outcome {
        let outcome = self.try_run();
        assert_eq!(outcome.error, None);
        outcome
    }
    /// Runs to the end or to the first violated guarantee.
    pub fn try_run(&self) -> Outcome {
        self.run_in_steps(u64::MAX)
    }
    /// Runs to the end, and asserts equal results on several threads.
    pub fn run_on_threads(&self) -> Outcome {
        let outcome = self.try_run_on_threads();
        assert_eq!(outcome.error, None);
        outcome
    }
    /// Runs to the end or to the first violated guarantee, and asserts equal results on several threads.
    pub fn try_run_on_threads(&self) -> Outcome {
        let alone = self.try_run();
        self.assert_threads_agree(&alone);
        alone
    }
    /// Asserts that runs on two and three threads end like `alone`, and without an error have equal results.
    pub fn assert_threads_agree(&self, alone: &Outcome) {
        for threads in [2, 3] {
            let several = self.run_on(threads, 5_000);
            assert_eq!(several.error, alone.error, "{threads} threads");
            if alone.error.is_none() {
                assert_eq!(several.fingerprint, alone.fingerprint, "{threads} threads");
                // Compared as text, because NaN is not equal to itself.
                assert_eq!(
                    format!("{:?}", several.tables),
                    format!("{:?}", alone.tables),
                    "{threads} threads"
                );
            }
        }
    }
    /// Variant of [`Net::try_run`] in steps of `budget` events.
    pub fn run_in_steps(&self, budget: u64) -> Outcome {
        self.run_on(1, budget)
    }
    /// Variant of [`Net::run_in_steps`] on several threads.
    pub fn run_on(&self, threads: usize, budget: u64) -> Outcome {
        let mut simulation = Simulation::on_threads(&self.0, threads).expect("builds");
        let error = loop {
            match simulation.advance(budget) {
                Ok(State::Running) => {}
                Ok(State::Finished) => break None,
                Err(error) => break Some(error.to_string()),
            }
        };
        Outcome::of(&mut simulation, error)
    }
}

/// A fat-tree of 10 Gb/s under [`pfc`] for priority 0, without probes and without traffic, and its hosts.
pub fn fat_tree_under_pfc(k: u64, duration: Time) -> (Net, Vec<NodeId>) {
    let cable = Cable::new(gbps(10), ns(500));
    let graph = FatTree::new(k, cable).graph().expect("an even k");
    let flow_control = Some(pfc(0x01).into());
    let mut net = Net::new(duration);
    net.0.probes = ProbeSpec { bin: None, pauses: false, chosen: None };
    for node in &graph.nodes {
        let flow_control = flow_control.clone();
        match node.role {
            NodeRole::Host => net.host(&node.name, HostSpec { flow_control, ..host() }),
            NodeRole::Switch => net.switch(&node.name, SwitchSpec { flow_control, ..switch() }),
        };
    }
    for link in &graph.links {
        net.link(link.a, link.b, link.rates[0], link.delay);
    }
    let hosts = graph.hosts().collect();
    (net, hosts)
}

/// A result.
#[derive(Debug, PartialEq)]
pub struct Outcome {
    pub fingerprint: u64,
    pub now: Time,
    pub tables: Vec<Table>,
    pub error: Option<String>,
}

/// A pause, as read from the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pause {
    pub port: String,
    pub priority: u8,
    pub start: Time,
    pub end: Time,
}

/// Converts nanoseconds of a table back to whole picoseconds.
pub fn exact(ns: f64) -> Time {
    Time::from_ps((ns * 1000.0).round() as u64)
}

/// Tables in which each row has a name instead of an index into a list of names.
pub fn spelt_out(mut tables: Vec<Table>) -> Vec<Table> {
    for column in tables.iter_mut().flat_map(|table| &mut table.columns) {
        if let Values::Named { names, of } = &column.values {
            column.values = Values::Text(of.iter().map(|&name| names[name as usize].clone()).collect());
        }
    }
    tables
}

impl Outcome {
    /// Measures a simulation.
    pub fn of(simulation: &mut Simulation, error: Option<String>) -> Outcome {
        Outcome {
            fingerprint: simulation.fingerprint(),
            now: simulation.now(),
            tables: spelt_out(simulation.tables()),
            error,
        }
    }
    /// All tables of a run except that of its faults.
    pub fn as_text(&self) -> String {
        let tables: Vec<_> = self.tables.iter().filter(|table| table.spec.name != "faults").collect();
        format!("{:x} {:?} {:?} {tables:?}", self.fingerprint, self.now, self.error)
    }
    pub fn table(&self, name: &str) -> &Table {
        self.tables.iter().find(|table| table.spec.name == name).unwrap_or_else(|| panic!("no table {name}"))
    }
    fn column(&self, table: &str, column: &str) -> &Values {
        let columns = &self.table(table).columns;
        let found = columns.iter().find(|c| c.spec.name == column);
        &found.unwrap_or_else(|| panic!("no column {column} in {table}")).values
    }
    pub fn texts(&self, table: &str, column: &str) -> &[String] {
        match self.column(table, column) {
            Values::Text(values) => values,
            other => panic!("{table}.{column} is {other:?}"),
        }
    }
    pub fn integers(&self, table: &str, column: &str) -> &[u64] {
        match self.column(table, column) {
            Values::Integer(values) => values,
            other => panic!("{table}.{column} is {other:?}"),
        }
    }
    pub fn reals(&self, table: &str, column: &str) -> &[f64] {
        match self.column(table, column) {
            Values::Real(values) => values,
            other => panic!("{table}.{column} is {other:?}"),
        }
    }
    fn row(&self, table: &str, key: &str) -> usize {
        let keys = match &self.table(table).columns[0].values {
            Values::Text(keys) => keys,
            other => panic!("{table} has the keys {other:?}"),
        };
        keys.iter().position(|k| k == key).unwrap_or_else(|| panic!("no {key} in {table}: {keys:?}"))
    }
    /// An integer in the row whose first column is `key`.
    pub fn count(&self, table: &str, key: &str, column: &str) -> u64 {
        self.integers(table, column)[self.row(table, key)]
    }
    /// A real number in the row whose first column is `key`.
    pub fn real(&self, table: &str, key: &str, column: &str) -> f64 {
        self.reals(table, column)[self.row(table, key)]
    }
    /// The shortest and the longest latency of a flow.
    pub fn latency(&self, flow: &str) -> (Time, Time) {
        let of = |column| exact(self.real("flows", flow, column));
        (of("latency_min_ns"), of("latency_max_ns"))
    }
    /// The latency of all frames of a flow; asserts that it is equal for all.
    pub fn only_latency(&self, flow: &str) -> Time {
        let (min, max) = self.latency(flow);
        assert_eq!(min, max, "{flow}");
        max
    }
    pub fn delivered(&self, flow: &str) -> u64 {
        self.count("flows", flow, "frames_delivered")
    }
    pub fn total(&self, table: &str, column: &str) -> u64 {
        self.integers(table, column).iter().sum()
    }
    pub fn summary(&self, name: &str) -> f64 {
        self.real("summary", name, "value")
    }
    pub fn pauses(&self) -> Vec<Pause> {
        let ports = self.texts("pauses", "port").iter();
        let priorities = self.integers("pauses", "priority").iter();
        let starts = self.reals("pauses", "start_ns").iter();
        let ends = self.reals("pauses", "end_ns").iter();
        ports
            .zip(priorities)
            .zip(starts.zip(ends))
            .map(|((port, &priority), (&start, &end))| Pause {
                port: port.clone(),
                priority: priority as u8,
                start: exact(start),
                end: exact(end),
            })
            .collect()
    }
    /// The pauses of one port and priority as (start, end) in picoseconds.
    pub fn pauses_of(&self, port: &str, priority: u8) -> Vec<(u64, u64)> {
        let of = |pause: &Pause| pause.port == port && pause.priority == priority;
        self.pauses().into_iter().filter(of).map(|pause| (pause.start.ps(), pause.end.ps())).collect()
    }
}

/// Number of cases of a property test: `PROPTEST_CASES`, or this default.
pub fn cases(default: u32) -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}
