//! A simulation from start to end: the one value that owns everything.

use crate::build::{Built, Plan, build, start};
use crate::deadlock::Watch;
use crate::event::{Event, Kind};
use crate::fault_plan::Note;
use crate::outcome::{Failure, SimulationError};
use crate::pool::Waiting;
use crate::port::LineCounts;
use crate::routing::Wiring;
use crate::spec::{OnDeadlock, Spec};
use crate::world::{DELIVER, Fabric};
use crate::{BuildError, dependencies, shards, tables};
use engine::{Crew, Pace, Runner, Shard};
use flow_control::watchdog::{StormAction, WatchdogSpec};
use measure::{Sojourns, Table};
use units::Time;

/// A fabric, its traffic and its time.
pub struct Simulation {
    pub(crate) spec: Spec,
    pub(crate) wiring: Wiring,
    pub(crate) path_flow: Vec<u32>,
    pub(crate) notes: Vec<Note>,
    left_out: Vec<String>,
    /// One a thread, each with the whole fabric, of which it runs its own nodes. Between two calls all
    /// state is with the first.
    shards: Vec<Shard<Fabric>>,
    owner_of: Vec<u8>,
    /// What binds the threads; `None` if there is one.
    crew: Option<Crew<Event>>,
    /// Frames sent over links before the warm-up ended.
    hops_before: u64,
    /// Frames on links when it did.
    pub(crate) in_flight_at_warmup: Vec<(u64, u64)>,
    warmed_up: bool,
    pub(crate) watch: Watch,
    /// The cycle of queues that may come to wait for each other, as queue numbers.
    dependency_cycle: Option<Vec<u32>>,
}

/// What a look-ahead holds at least if it is worth more than one thread, roughly.
const EVENTS_A_ROUND: u64 = 100;

/// Where a simulation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Not at its end.
    Running,
    /// At its end, or ended by a deadlock.
    Finished,
}

impl Simulation {
    /// A simulation at time zero, to run on one thread.
    ///
    /// # Errors
    /// If a flow has no way to a destination, or the fabric is larger than can be numbered.
    pub fn new(spec: &Spec) -> Result<Simulation, BuildError> {
        Simulation::on_threads(spec, 1)
    }

    /// A simulation at time zero, to run on this many threads (1 to 255, at most one a node). The result is
    /// the same on any number.
    ///
    /// # Errors
    /// As [`Simulation::new`].
    pub fn on_threads(spec: &Spec, threads: usize) -> Result<Simulation, BuildError> {
        let threads = threads.clamp(1, spec.nodes.len().clamp(1, 255));
        let built = build(spec)?;
        let dependency_cycle = dependencies::cycle(&built, |flow| spec.flows[flow as usize].priority);
        let Built { fabric, wiring, look_ahead, path_flow, notes, left_out } = built;
        let ports = fabric.ports.len();
        let owner_of = shards::split(&wiring, &path_flow, &fabric, threads);
        let mut shards = vec![Shard { runner: Runner::new(&fabric, look_ahead), world: fabric }];
        for _ in 1..threads {
            let fabric = build(spec)?.fabric;
            shards.push(Shard { runner: Runner::new(&fabric, look_ahead), world: fabric });
        }
        for (home, shard) in (0..).zip(&mut shards) {
            start(&mut shard.world, shard.runner.windows(), |node| owner_of[node as usize] == home);
        }
        let crew = (threads > 1).then(|| Crew::new(&mut shards, owner_of.clone().into()));
        Ok(Simulation {
            spec: spec.clone(),
            wiring,
            path_flow,
            notes,
            left_out,
            shards,
            owner_of,
            crew,
            hops_before: 0,
            in_flight_at_warmup: vec![(0, 0); ports],
            warmed_up: spec.warmup == Time::ZERO,
            watch: Watch {
                next: if dependency_cycle.is_some() { spec.guards.deadlock_interval } else { Time::NEVER },
                interval: spec.guards.deadlock_interval,
                found: Vec::new(),
            },
            dependency_cycle,
        })
    }

    /// Goes on for about `budget` events; on several threads for more, as each call costs them something.
    ///
    /// # Errors
    /// If an invariant broke: a frame of a lossless class was lost, or frames were not conserved.
    pub fn advance(&mut self, budget: u64) -> Result<State, SimulationError> {
        if self.ended_by_deadlock() {
            return Ok(State::Finished);
        }
        let end = if self.warmed_up { self.spec.duration } else { self.spec.warmup };
        // The state is looked at for deadlocks at the same simulated times however the run is cut.
        let limit = end.min(self.watch.next);
        let pace = match &mut self.crew {
            None => {
                let Shard { world, runner } = &mut self.shards[0];
                runner.run(world, limit, budget)
            }
            Some(crew) => {
                let budget = (budget / EVENTS_A_ROUND).max(1);
                shards::exchange(&mut self.shards, &self.owner_of, &self.wiring, &self.path_flow);
                let pace = crew.run(&mut self.shards, limit, budget);
                shards::exchange(&mut self.shards, &self.owner_of, &self.wiring, &self.path_flow);
                shards::gather_counts(&mut self.shards);
                pace
            }
        };
        if let Some(failure) = &self.fabric().failure {
            return Err(self.describe(failure));
        }
        let at_end = pace == Pace::Done && limit == end;
        if pace == Pace::Done && self.watch.next != Time::NEVER {
            self.look_for_deadlock();
            if limit == self.watch.next {
                self.watch.next += self.watch.interval.max(Time::from_ps(1));
            }
            if self.ended_by_deadlock() {
                self.check_conservation()?;
                return Ok(State::Finished);
            }
        }
        match pace {
            Pace::Done if !at_end => Ok(State::Running),
            Pace::Done if self.warmed_up => {
                self.check_conservation()?;
                Ok(State::Finished)
            }
            Pace::Done => {
                self.end_warmup();
                Ok(State::Running)
            }
            Pace::More | Pace::Stopped => Ok(State::Running),
        }
    }

    /// Whether a deadlock has ended the run before its time.
    pub fn ended_by_deadlock(&self) -> bool {
        self.spec.guards.on_deadlock == OnDeadlock::Stop
            && self.watch.found.iter().any(|found| found.ended.is_none())
    }
    /// The shortest circle of queues that may come to wait for each other with these routes, by name; `None` if
    /// no deadlock can occur.
    pub fn dependency_cycle(&self) -> Option<Vec<String>> {
        let name = |&queue: &u32| {
            let (port, class) = self.fabric().place_of_queue(queue);
            format!("{}/{class}", self.port_name(port))
        };
        self.dependency_cycle.as_ref().map(|cycle| cycle.iter().map(name).collect())
    }

    /// Runs to the end.
    ///
    /// # Errors
    /// As [`Simulation::advance`].
    pub fn run(&mut self) -> Result<(), SimulationError> {
        while self.advance(u64::MAX)? == State::Running {}
        Ok(())
    }

    /// How far simulated time has come.
    pub fn now(&self) -> Time {
        self.shards[0].runner.now()
    }
    /// Events so far.
    pub fn events(&self) -> u64 {
        self.shards.iter().map(|shard| shard.runner.events()).sum()
    }
    /// Frames that have crossed a link completely, so far.
    pub fn frame_hops(&mut self) -> u64 {
        let sent: u64 = self.fabric().sent.iter().map(|sent| sent.frames.iter().sum::<u64>()).sum();
        let broken: u64 = self.fabric().lines.iter().map(|line| line.counts.broken.0).sum();
        self.hops_before + sent - broken - self.arrivals_pending()
    }
    /// The look-ahead of the run: the least time after which one node can affect another.
    pub fn look_ahead(&mut self) -> Time {
        self.shards[0].runner.windows().look_ahead()
    }
    /// Time series that are too many to record, a sentence each.
    pub fn left_out(&self) -> &[String] {
        &self.left_out
    }
    /// Hash over all that every node saw, in its order. The same for the same scenario and seed, whatever is
    /// measured and however it is run.
    pub fn fingerprint(&self) -> u64 {
        self.fabric().nodes.iter().fold(0, |hash, node| {
            (hash ^ node.fingerprint).rotate_left(23).wrapping_mul(0x9fb2_1c65_1e98_df25)
        })
    }
    /// All state, while no thread runs.
    pub(crate) fn fabric(&self) -> &Fabric {
        &self.shards[0].world
    }
    /// The result up to now, as tables.
    pub fn tables(&mut self) -> Vec<Table> {
        tables::tables(self)
    }

    /// Bytes that the simulation holds now, on all threads.
    pub fn memory_bytes(&mut self) -> usize {
        let of = |shard: &mut Shard<Fabric>| shard.world.memory_bytes() + shard.runner.memory_bytes();
        self.shards.iter_mut().map(of).sum()
    }

    /// Frames on the link towards each port: how many, how many bytes.
    pub(crate) fn in_flight(&mut self) -> Vec<(u64, u64)> {
        let mut in_flight = vec![(0, 0); self.fabric().ports.len()];
        for event in self.shards.iter_mut().flat_map(|shard| shard.runner.windows().pending()) {
            if matches!(event.kind(), Kind::Frame | Kind::Head | Kind::Broken) {
                let (frames, bytes) = &mut in_flight[event.place() as usize];
                *frames += 1;
                *bytes += u64::from(event.frame.bytes);
            }
        }
        in_flight
    }

    fn arrivals_pending(&mut self) -> u64 {
        let is_frame = |event: &&Event| matches!(event.kind(), Kind::Frame | Kind::Head | Kind::Broken);
        self.shards.iter_mut().flat_map(|shard| shard.runner.windows().pending()).filter(is_frame).count()
            as u64
    }

    fn check_conservation(&mut self) -> Result<(), SimulationError> {
        let in_flight = self.arrivals_pending();
        // What waits to be taken in is with the part that runs the host.
        let receiving = self.shards.iter().flat_map(|shard| shard.world.receiving.iter().flatten());
        let receiving: u64 = receiving.map(|receiving| receiving.frames()).sum();
        let waiting =
            receiving + self.fabric().queues.iter().map(|queue| queue.occupancy.frames).sum::<u64>();
        let ledger = self.fabric().ledger;
        if ledger.made == ledger.delivered + ledger.lost + waiting + in_flight {
            return Ok(());
        }
        let (made, delivered, lost) = (ledger.made, ledger.delivered, ledger.lost);
        Err(self.describe(&Failure::Conservation { made, delivered, lost, waiting, in_flight }))
    }

    /// Begins measuring: all counts at zero, all levels as they are.
    fn end_warmup(&mut self) {
        self.warmed_up = true;
        self.in_flight_at_warmup = self.in_flight();
        let now = self.spec.warmup;
        let restarted = |(port, queue): (u32, u32)| {
            let mut sojourns = Sojourns::default();
            let waiting = self.frames_in(port, queue).map(|waiting| (waiting.since, waiting.frame.bytes));
            sojourns.restart(now, self.fabric().queues[queue as usize].occupancy.both(), waiting);
            sojourns
        };
        let sojourns: Vec<Sojourns> = self.fabric().places_of_queues().map(restarted).collect();
        let fabric = &mut self.shards[0].world;
        for sent in &mut fabric.sent {
            self.hops_before += sent.frames.iter().sum::<u64>();
            *sent = Default::default();
        }
        self.hops_before -= fabric.lines.iter().map(|line| line.counts.broken.0).sum::<u64>();
        for (line, port) in fabric.lines.iter_mut().zip(&fabric.ports) {
            line.settle_paused(now);
            line.paused_since = line.paused_since.max(now);
            let begun_before = port.busy_until.saturating_sub(now);
            line.counts = LineCounts { begun_before, ..LineCounts::default() };
        }
        for (queue, sojourns) in fabric.queues.iter_mut().zip(sojourns) {
            queue.sojourns = sojourns;
            queue.waits.clear();
            queue.drops = 0;
        }
        for receiver in &mut fabric.receivers {
            receiver.latency.clear();
            receiver.frames = 0;
            receiver.bytes = 0;
            receiver.reordered = 0;
        }
        for source in &mut fabric.sources {
            source.frames = 0;
            source.bytes = 0;
        }
        fabric.endpoints.iter_mut().for_each(|state| state.measured.clear());
        fabric.drops.clear();
        // Pauses stay: those that last on may be consequences of those that are over.
    }

    /// The egress ports of a path, as it goes now. Where it begins is known to the part that owns its source.
    pub(crate) fn way_of(&self, path: usize) -> impl Iterator<Item = &u32> {
        let fabric = self.fabric();
        let source = fabric.ports.len() + fabric.path_source[path] as usize;
        let there = &self.shards[usize::from(self.owner_of[fabric.node_of[source] as usize])].world;
        let hops = there.hops[there.path_start[path] as usize..].iter();
        hops.take_while(|&&port| port != DELIVER)
    }

    /// The frames that wait in a queue of a port. What waits lies with the part that owns the node.
    pub(crate) fn frames_in(&self, port: u32, queue: u32) -> impl Iterator<Item = &Waiting> {
        let fabric = self.fabric();
        let there = &self.shards[usize::from(self.owner_of[fabric.node_of[port as usize] as usize])].world;
        let queue = &fabric.queues[queue as usize];
        let lanes = queue.lists();
        there.lanes[lanes].iter().flat_map(|lane| there.pool.iter(lane))
    }

    /// "sw.2->h1": node, number of the port, node at the other end.
    pub(crate) fn port_name(&self, port: u32) -> String {
        self.wiring.port_name(frame::PortId(port), |node| &self.spec.nodes[node.at()].name)
    }

    fn describe(&self, failure: &Failure) -> SimulationError {
        let plan = Plan::new(&self.spec, &self.wiring);
        let headroom = |egress: u32, ingress: Option<u32>| match ingress {
            Some(port) => plan.room(port),
            None => {
                let node = self.wiring.node_of[egress as usize];
                let others = self.wiring.ports(node).filter(|port| port.0 != egress);
                others.map(|port| plan.room(port.0)).sum()
            }
        };
        let mut error = failure.describe(|port| self.port_name(port), headroom);
        let forwards = |watchdog: &WatchdogSpec| watchdog.action == StormAction::Forward;
        if matches!(failure, Failure::LosslessDrop { .. })
            && self.spec.guards.watchdog.as_ref().is_some_and(forwards)
        {
            error.message += ". The watchdog of this scenario forwards frames in spite of pauses: if a storm is on, no room \
                              is enough, and such losses are to be counted";
        }
        error
    }
}
