//! A preview: the jobs of a scenario simulated at flow level instead of packet level.
//!
//! The ranks are those of the run, with their programs and host costs. Each pair of ranks has one fluid flow, which
//! sends its messages one after the other at the max-min fair rate of [`Fluid`]. The rates change when a flow starts or
//! ends. A message is delivered when its last bit has left and has crossed the links of an idle path; it is
//! acknowledged after the return delay. Flows whose packets switches spread use their links in equal parts.
//!
//! Not modelled: queues, congestion control, windows, losses, pauses and their effects, acknowledgements on the links,
//! faults, and traffic other than jobs and greedy flows.

pub(crate) mod fluid;

use crate::build::Plan;
use crate::run::state::ranks::RankState;
use crate::simulation::Simulation;
use crate::spec::FlowSpec;
use fluid::{Fluid, Resource, Usage};
use frame::{Priority, TrafficClass};
use jobs::Post;
use scheduling::{Configuration, SchedulerSpec, Selection};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use units::Time;
use workload::{Arrivals, Framing};

/// Bytes of an acknowledgement on a link, including overhead.
const ACKNOWLEDGEMENT: u64 = 84;

/// Totals of a preview.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PreviewCounts {
    /// Number of messages delivered.
    pub messages: u64,
    /// Number of times that rates were recomputed.
    pub rate_changes: u64,
}

/// Messages from one rank to another.
struct Flow {
    /// Job. `ranks` are the numbers of sender and receiver in it.
    job: u32,
    ranks: [u32; 2],
    usage: Usage,
    framing: Framing,
    /// Time from the last bit of a message at the first port to its delivery, and to its acknowledgement. The latter is
    /// 0 without a transport.
    delays: [Time; 2],
    waiting: VecDeque<(u32, u64)>,
    /// Bits of the first waiting message that have not left.
    left: f64,
    rate: f64,
}

/// A pending notice: time, sequence number, flow, label, and true for the delivery of a message.
type Coming = Reverse<(Time, u64, u32, u32, bool)>;

/// A preview in progress.
struct Preview<'a> {
    /// Ranks, sorted by job and number.
    ranks: Vec<&'a mut RankState>,
    /// Index of the first rank of each job.
    first_rank: Vec<u32>,
    /// Calls of ranks, some of which may be outdated. `called` is the time of the latest call of each rank.
    calls: BinaryHeap<Reverse<(Time, u32)>>,
    called: Vec<Time>,
    /// Ranks that may have messages to post, or need another call.
    touched: Vec<u32>,
    fluid: Fluid,
    flows: Vec<Flow>,
    by_ranks: BTreeMap<(u32, u32, u32), u32>,
    /// Flows that send, in ascending order.
    active: Vec<u32>,
    /// Greedy flows of other traffic.
    beside: Vec<Usage>,
    coming: BinaryHeap<Coming>,
    order: u64,
    now: Time,
    counts: PreviewCounts,
}

impl Simulation {
    /// Simulates the jobs at flow level, in place of the run. The tables of jobs, collectives, messages and waits are
    /// then those of the preview; other tables are not available.
    pub fn preview(&mut self) -> PreviewCounts {
        let (fluid, flows, beside) = self.flows_of_preview();
        let duration = self.spec.duration;
        let world = &mut self.shards[0].world;
        let whole = world.whole();
        let mut ranks: Vec<&mut RankState> = world.hosts.ranks.ranks.all_mut(whole).iter_mut().collect();
        ranks.sort_by_key(|state| (state.job, state.number));
        let jobs = 0..self.spec.jobs.len() as u32;
        let first_rank = jobs.map(|job| ranks.partition_point(|state| state.job < job) as u32).collect();
        let by_ranks =
            (0..).zip(&flows).map(|(nth, own)| ((own.job, own.ranks[0], own.ranks[1]), nth)).collect();
        let mut preview = Preview {
            called: vec![Time::NEVER; ranks.len()],
            touched: (0..ranks.len() as u32).collect(),
            calls: BinaryHeap::new(),
            first_rank,
            ranks,
            fluid,
            flows,
            by_ranks,
            active: Vec::new(),
            beside,
            coming: BinaryHeap::new(),
            order: 0,
            now: Time::ZERO,
            counts: PreviewCounts::default(),
        };
        preview.run(duration);
        let (counts, now) = (preview.counts, preview.now);
        self.previewed = Some(now);
        counts
    }

    /// Names of the flows of the scenario that a preview ignores.
    pub fn not_previewed(&self) -> Vec<String> {
        let of_jobs: Vec<u32> =
            self.spec.jobs.iter().flat_map(|job| job.flows.iter().flatten().map(|own| own.0)).collect();
        let others =
            (0..).zip(&self.spec.flows).filter(|(nth, flow)| !of_jobs.contains(nth) && !is_greedy(flow));
        others.map(|(_, flow)| flow.name.clone()).collect()
    }

    fn flows_of_preview(&self) -> (Fluid, Vec<Flow>, Vec<Usage>) {
        let plan = Plan::new(&self.spec, &self.wiring);
        let capacity = (0..self.ports() as u32).map(|port| plan.rate(port).bps_f64()).collect();
        let mut fluid = Fluid::new(capacity);
        let (mut flows, mut of_jobs) = (Vec::new(), vec![false; self.spec.flows.len()]);
        for (number, job) in (0..).zip(&self.spec.jobs) {
            for (rank, own) in (0..).zip(&job.flows) {
                let Some((flow, peers)) = own else { continue };
                of_jobs[*flow as usize] = true;
                let spec = &self.spec.flows[*flow as usize];
                let Some(list) = spec.source.transfers() else { continue };
                let framing = list.framing();
                let first = self.source(*flow as usize).first_path as usize;
                for (nth, &peer) in peers.iter().enumerate() {
                    let (usage, [there, back]) =
                        self.way_of_preview((&plan, &mut fluid), first + nth, spec.priority, framing.frame);
                    let over_frames = spec.transport.as_ref().is_some_and(|own| own.is_frames());
                    let delays = [there, if over_frames { Time::ZERO } else { there + back }];
                    let waiting = VecDeque::new();
                    let ranks = [rank, peer];
                    flows.push(Flow {
                        job: number,
                        ranks,
                        usage,
                        framing,
                        delays,
                        waiting,
                        left: 0.0,
                        rate: 0.0,
                    });
                }
            }
        }
        let beside =
            self.spec.flows.iter().enumerate().filter(|&(nth, flow)| !of_jobs[nth] && is_greedy(flow));
        let beside = beside.map(|(nth, flow)| {
            let path = self.source(nth).first_path as usize;
            self.way_of_preview((&plan, &mut fluid), path, flow.priority, flow.frame_bounds().1).0
        });
        let beside = beside.collect();
        (fluid, flows, beside)
    }

    /// Resources of a path, and the delays of a message and of its acknowledgement on it.
    fn way_of_preview(
        &self,
        (plan, fluid): (&Plan<'_>, &mut Fluid),
        path: usize,
        priority: Priority,
        frame: u16,
    ) -> (Usage, [Time; 2]) {
        let stages = self.equal_ports(path).filter(|stages| !stages.is_empty());
        let stages = stages.unwrap_or_else(|| self.path_of(path).iter().map(|&port| vec![port]).collect());
        let mut usage = BTreeMap::new();
        let mut delays = [Time::ZERO; 2];
        for (hop, ports) in stages.iter().enumerate() {
            for &port in ports {
                let link = plan.link(port);
                let wire = f64::from(frame + link.overhead) / f64::from(frame);
                let resource = resource(plan, fluid, port, self.port(port).classes.class(priority));
                *usage.entry(resource).or_insert(0.0) += wire / ports.len() as f64;
            }
            let (link, rate) = (plan.link(ports[0]), plan.rate(ports[0]));
            let node = plan.node(ports[0]);
            let on_link = |bytes: u64| Time::from_ps((bytes as f64 * 8e12 / rate.bps_f64()).round() as u64);
            // The last frame has already left the first port. A cut-through switch does not wait for the whole frame.
            let waits = hop > 0 && !node.cuts_through();
            let there = if waits { on_link(u64::from(frame + link.overhead)) } else { Time::ZERO };
            delays[0] = delays[0] + there + link.delay + node.latency();
            delays[1] = delays[1] + on_link(ACKNOWLEDGEMENT) + link.delay + node.latency();
        }
        (usage.into_iter().collect(), delays)
    }
}

/// Returns true if a flow sends as much as the links allow, to a single host.
fn is_greedy(flow: &FlowSpec) -> bool {
    let source = &flow.source;
    let greedy =
        matches!(source.arrivals, Arrivals::Greedy) && source.script.is_empty() && source.limit.is_none();
    greedy && flow.transport.is_none() && source.start == Time::ZERO && flow.source.destinations.count() == 1
}

/// Group of queues of a port that share the rate, and weight in it; `None` for strict priority.
fn share(plan: &Plan<'_>, port: u32, queue: u8) -> (u8, Option<f64>) {
    match plan.scheduler(port) {
        SchedulerSpec::Fifo => (0, Some(1.0)),
        SchedulerSpec::StrictPriority => (queue, None),
        SchedulerSpec::Ets(ets) => {
            let class =
                ets.classes.iter().position(|class| class.queues.contains(&queue.into())).unwrap_or(0);
            let weight = match ets.classes[class].selection {
                // A class of 0 % gets what others leave.
                Selection::Percent(percent) => Some(f64::from(percent).max(1e-6)),
                Selection::Strict | Selection::CreditBased { .. } => None,
            };
            (class as u8, weight)
        }
        scheduler => {
            let certain = scheduler.latency_rate_bound(queue.into(), &plan.port_facts(port));
            (queue, Some(certain.map_or(1.0, |bound| bound.rate.bps_f64().max(1.0))))
        }
    }
}

/// Returns the resource of a class of a port.
fn resource(plan: &Plan<'_>, fluid: &mut Fluid, port: u32, TrafficClass(class): TrafficClass) -> u32 {
    let (class, weight) = share(plan, port, class);
    let Fluid { resources, numbers, .. } = fluid;
    *numbers.entry((port, class)).or_insert_with(|| {
        resources.push(Resource { port, weight, class });
        resources.len() as u32 - 1
    })
}

impl Preview<'_> {
    fn run(&mut self, duration: Time) {
        let mut rates = Vec::new();
        loop {
            let changed = self.call_ranks() | self.take_coming();
            if self.post() | changed {
                // Posts and notices may cause further posts at the same time.
                continue;
            }
            if self.begin_flows() {
                let active = self.active.iter().map(|&flow| &self.flows[flow as usize].usage);
                let usages: Vec<&Usage> = active.chain(&self.beside).collect();
                self.fluid.solve(&usages, &mut rates);
                self.counts.rate_changes += 1;
                for (&flow, &rate) in self.active.iter().zip(&rates) {
                    self.flows[flow as usize].rate = rate;
                }
            }
            let called = self.calls.peek().map_or(Time::NEVER, |Reverse((at, _))| *at);
            let comes = self.coming.peek().map_or(Time::NEVER, |Reverse((at, ..))| *at);
            let next = called.min(comes).min(self.next_end());
            if next >= duration {
                self.now = if next == Time::NEVER { self.now } else { duration };
                return;
            }
            self.send_until(next.max(self.now));
        }
    }

    /// Calls the ranks whose time has come. Returns true if there are any.
    fn call_ranks(&mut self) -> bool {
        let mut any = false;
        while let Some(&Reverse((at, rank))) = self.calls.peek()
            && at <= self.now
        {
            self.calls.pop();
            self.called[rank as usize] = Time::NEVER;
            self.ranks[rank as usize].machine.on_time(self.now);
            self.touched.push(rank);
            any = true;
        }
        any
    }

    /// Handles the notices that are due. Returns true if there are any.
    fn take_coming(&mut self) -> bool {
        let mut any = false;
        while let Some(&Reverse((at, _, flow, tag, delivered))) = self.coming.peek()
            && at <= self.now
        {
            self.coming.pop();
            let Flow { job, ranks: [from, to], .. } = self.flows[flow as usize];
            let (own, peer) = if delivered { (to, from) } else { (from, to) };
            let rank = self.first_rank[job as usize] + own;
            let machine = &mut self.ranks[rank as usize].machine;
            match delivered {
                true => machine.on_delivered(peer, tag, self.now),
                false => {
                    machine.on_sent(peer, tag, self.now);
                }
            }
            self.touched.push(rank);
            self.counts.messages += u64::from(delivered);
            any = true;
        }
        any
    }

    /// Assigns the messages that ranks post to their flows. Returns true if there are any.
    fn post(&mut self) -> bool {
        let mut any = false;
        let mut touched = std::mem::take(&mut self.touched);
        touched.sort_unstable();
        touched.dedup();
        for rank in touched.drain(..) {
            let state = &mut *self.ranks[rank as usize];
            while let Some(Post { to, bytes, tag }) = state.machine.poll_post() {
                let Some(&flow) = self.by_ranks.get(&(state.job, state.number, to)) else { continue };
                self.flows[flow as usize].waiting.push_back((tag, bytes));
                if let Err(place) = self.active.binary_search(&flow) {
                    self.active.insert(place, flow);
                }
                any = true;
            }
            let at = state.machine.calls_at();
            if at < self.called[rank as usize] {
                self.called[rank as usize] = at;
                self.calls.push(Reverse((at, rank)));
                any |= at <= self.now;
            }
        }
        self.touched = touched;
        any
    }

    /// Starts the next message of each flow that has none in progress. Returns true if the set of sending flows has
    /// changed.
    fn begin_flows(&mut self) -> bool {
        let before = self.active.len();
        let flows = &mut self.flows;
        self.active.retain(|&flow| !flows[flow as usize].waiting.is_empty());
        let mut changed = self.active.len() < before;
        for &flow in &self.active {
            let own = &mut flows[flow as usize];
            if own.left <= 0.0
                && let Some(&(_, bytes)) = own.waiting.front()
            {
                own.left = own.framing.frame_bytes(bytes.max(1)) as f64 * 8.0;
                // A flow that has a rate keeps it.
                changed |= own.rate == 0.0;
            }
        }
        changed
    }

    /// Time at which the next message will have left; at least a picosecond from now.
    fn next_end(&self) -> Time {
        let sending = self.active.iter().map(|&flow| &self.flows[flow as usize]).filter(|own| own.rate > 0.0);
        let first = sending.map(|own| own.left / own.rate).fold(f64::INFINITY, f64::min);
        if first.is_infinite() {
            Time::NEVER
        } else {
            self.now + Time::from_ps((first * 1e12).ceil().max(1.0) as u64)
        }
    }

    /// Advances the flows to a time, at which messages may have left.
    fn send_until(&mut self, until: Time) {
        let secs = (until - self.now).as_secs_f64();
        self.now = until;
        for &flow in &self.active {
            let own = &mut self.flows[flow as usize];
            own.left -= own.rate * secs;
            // Less than half a bit is a rounding error: times are whole picoseconds.
            if own.left > 0.5 {
                continue;
            }
            own.left = 0.0;
            let Some((tag, _)) = own.waiting.pop_front() else { continue };
            if own.waiting.is_empty() {
                own.rate = 0.0;
            }
            for (delay, is_delivery) in own.delays.into_iter().zip([true, false]) {
                self.coming.push(Reverse((until + delay, self.order, flow, tag, is_delivery)));
                self.order += 1;
            }
        }
    }
}
