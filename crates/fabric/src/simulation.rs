//! A simulation from start to end: the value that owns the fabric, its events and its threads.

pub(crate) mod credits;
mod cut_short;
pub(crate) mod deadlock;
pub(crate) mod dependencies;
pub(crate) mod driven;
pub(crate) mod jobs;
mod on_links;
pub(crate) mod precision;
pub(crate) mod preview;
mod progress;
pub(crate) mod recurrence;
mod sources;
pub(crate) mod threads;
mod ties;
pub(crate) mod whole;

use crate::BuildError;
use crate::build::advice::advice;
use crate::build::fault_plan::Note;
use crate::build::shards::Split;
use crate::build::{Built, build, start};
use crate::run::fabric::Fabric;
use crate::run::state::crossbar::Crossbar;
use crate::run::state::event::Kind;
use crate::run::state::outcome::{Failure, SimulationError};
use crate::run::state::pool::Waiting;
use crate::run::steps::probes;
use crate::simulation::deadlock::DeadlockWatch;
use crate::simulation::jobs::JobWatch;
use crate::simulation::recurrence::RecurrenceWatch;
use crate::simulation::threads::{Pilot, Threads};
use crate::spec::routing::Wiring;
use crate::spec::{OnDeadlock, Skip, Spec};
use engine::{Panicked, RunStatus, Runner, Shard, Way, Workers};
use flow_control::watchdog::{StormAction, WatchdogSpec};
use measure::Passage;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;
use units::Time;

/// A fabric, its traffic and its current time.
pub struct Simulation {
    pub(crate) spec: Spec,
    pub(crate) wiring: Wiring,
    pub(crate) path_flow: Arc<[u32]>,
    /// Start of each path in the table of hops, before any change of routes.
    pub(crate) first_starts: Arc<[u32]>,
    pub(crate) notes: Vec<Note>,
    left_out: Vec<String>,
    /// One shard per thread, each with its own nodes.
    pub(crate) shards: Vec<Shard<Fabric>>,
    pub(crate) split: Split,
    /// Worker threads that run the shards; `None` if there is one shard.
    workers: Option<Workers<Fabric>>,
    /// Measurements of a run on one thread, until it is decided whether more threads are faster.
    pilot: Option<Pilot>,
    /// The panic that ended the run.
    panicked: Option<Panicked>,
    /// Maximum time that any part processes ahead, including the look-ahead between threads.
    reach: Time,
    /// Frames sent over links before the end of the warm-up.
    hops_before: u64,
    /// Frames on links at the end of the warm-up.
    pub(crate) in_flight_at_warmup: Vec<(u64, u64)>,
    warmed_up: bool,
    /// End of the run as last passed to the series.
    series_stop: Time,
    pub(crate) watch: DeadlockWatch,
    pub(crate) jobs: JobWatch,
    recurrence: RecurrenceWatch,
    /// True if a session drives the run, on one thread.
    driven: bool,
    /// End of the preview that replaced the run, if any.
    previewed: Option<Time>,
    /// A cycle of queues that may wait for each other (a possible deadlock), as queue numbers.
    dependency_cycle: Option<Vec<u32>>,
}

impl SimulationError {
    /// Returns the error for a panic caught by [`std::panic::catch_unwind`]: a defect of the program.
    pub fn of_panic(payload: Box<dyn Any + Send>) -> SimulationError {
        SimulationError::defect(&Panicked::from(payload))
    }

    fn defect(panicked: &Panicked) -> SimulationError {
        let message = format!(
            "the simulator has failed: {panicked}; this is a bug in the simulator, please report it with the scenario"
        );
        SimulationError { message }
    }
}

/// State of a simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Has not reached its end.
    Running,
    /// Reached its end, or was ended by a deadlock.
    Finished,
}

impl Simulation {
    /// Builds a simulation at time zero, to run on one thread.
    ///
    /// # Errors
    /// If a flow has no path to a destination, if credits can wait for each other in a cycle, or if the fabric is too
    /// large for its numbers.
    pub fn new(spec: &Spec) -> Result<Simulation, BuildError> {
        Simulation::on_threads(spec, 1)
    }

    /// Builds a simulation at time zero, to run on this many threads: a number is [`Threads::Always`]. The result does
    /// not depend on the number.
    ///
    /// # Errors
    /// As for [`Simulation::new`].
    pub fn on_threads(spec: &Spec, threads: impl Into<Threads>) -> Result<Simulation, BuildError> {
        let begun = Instant::now();
        let simulation = match threads.into() {
            Threads::Always(threads) => Simulation::in_parts(spec, threads, Some(Way::Together))?,
            Threads::UpTo(most) => {
                let mut simulation = Simulation::in_parts(spec, 1, None)?;
                let built = begun.elapsed();
                simulation.pilot = (most > 1).then(|| Pilot::new(most, built));
                simulation
            }
        };
        simulation.refuse_circle_of_credits()?;
        Ok(simulation)
    }

    /// Builds a simulation in this many parts, executed in this way; `None`: whichever is faster.
    pub(crate) fn in_parts(spec: &Spec, parts: usize, way: Option<Way>) -> Result<Simulation, BuildError> {
        let spec = &*spec.with_ways();
        let parts = parts.clamp(1, spec.nodes.len().clamp(1, 255));
        let Built { parts, split, wiring, look_ahead, reach, path_flow, starts, notes, left_out } =
            build(spec, parts)?;
        let count = parts.len();
        let shard = |fabric| Shard { runner: Runner::new(&fabric, look_ahead, count), world: fabric };
        let mut shards: Vec<_> = parts.into_iter().map(shard).collect();
        for shard in &mut shards {
            start(&mut shard.world, shard.runner.windows());
        }
        let workers = (count > 1).then(|| Workers::new(&mut shards, split.owner_of.clone(), way));
        let mut simulation = Simulation {
            spec: spec.clone(),
            in_flight_at_warmup: vec![(0, 0); wiring.peer.len()],
            wiring,
            path_flow,
            first_starts: starts,
            notes,
            left_out,
            shards,
            split,
            workers,
            pilot: None,
            panicked: None,
            reach,
            hops_before: 0,
            warmed_up: spec.warmup == Time::ZERO,
            series_stop: Time::NEVER,
            watch: DeadlockWatch {
                next: Time::NEVER,
                interval: spec.guards.deadlock_interval,
                found: Vec::new(),
            },
            driven: false,
            previewed: None,
            jobs: JobWatch::new(!spec.jobs.is_empty(), spec.duration),
            recurrence: RecurrenceWatch::new(spec.jobs.len(), JobWatch::interval(spec.duration)),
            dependency_cycle: None,
        };
        simulation.dependency_cycle = dependencies::cycle(&simulation);
        if simulation.dependency_cycle.is_some() {
            simulation.watch.next = spec.guards.deadlock_interval;
        }
        Ok(simulation)
    }

    /// Advances by about `budget` events; on several threads for some milliseconds at most. A budget of 1 ends after
    /// all events of the next instant. Test builds check the invariants each time: frames, credits, slots of copies.
    ///
    /// # Errors
    /// If an invariant broke: a frame of a lossless class was lost, or frames were not conserved. Also if the program
    /// has a defect and panics; every further call then returns the same error.
    pub fn advance(&mut self, budget: u64) -> Result<State, SimulationError> {
        self.advance_to(Time::NEVER, budget)
    }

    /// Advances like [`Simulation::advance`], up to `until` at most.
    fn advance_to(&mut self, until: Time, budget: u64) -> Result<State, SimulationError> {
        if self.ended_by_deadlock() || self.jobs.over {
            return Ok(State::Finished);
        }
        let end = if self.warmed_up { self.end() } else { self.spec.warmup };
        let limit = self.next_stop();
        self.series_stop_at(limit);
        let step = if budget == 1 { limit.min(self.after_next_event()) } else { limit.min(until) };
        let status = self.run_until(step, budget)?;
        if cfg!(debug_assertions)
            && self.workers.is_none()
            && self.parts().all(|part| part.ledger.failure.is_none())
        {
            self.check_conservation()?;
        }
        let broken = self.parts().filter_map(|part| part.ledger.failure.as_ref());
        if let Some((at, _)) = broken.map(Failure::when).min() {
            self.come_to_rest(at, limit)?;
        }
        if matches!(status, RunStatus::More | RunStatus::Paused) || status == RunStatus::Done && step < limit
        {
            return self.decide_threads();
        }
        self.settle();
        let at_end = status == RunStatus::Done && limit == end;
        if limit == self.recurrence.next && status == RunStatus::Done {
            self.take_digests();
        }
        let over = limit == self.jobs.next && self.look_at_jobs();
        if status == RunStatus::Done && self.watch.next != Time::NEVER {
            self.look_for_deadlock();
            if limit == self.watch.next {
                self.watch.next += self.watch.interval.max(Time::from_ps(1));
            }
            if self.ended_by_deadlock() {
                self.check_conservation()?;
                return Ok(State::Finished);
            }
        }
        if (at_end || over) && self.warmed_up {
            self.check_conservation()?;
            if self.spec.guards.skip == Skip::Check {
                self.check_recurrence()?;
            }
            if cfg!(debug_assertions) {
                self.check_sources();
            }
            return Ok(State::Finished);
        }
        if at_end {
            self.end_warmup();
        }
        self.decide_threads()
    }

    /// The latest time at which the run returns for checks. The check for deadlocks runs at the same simulated times
    /// however the run is split into calls.
    fn next_stop(&self) -> Time {
        let end = if self.warmed_up { self.end() } else { self.spec.warmup };
        end.min(self.watch.next).min(self.jobs.next).min(self.recurrence.next)
    }

    /// Sets the time at which the run may end. Series count the part of a frame on a link that has passed by then.
    fn series_stop_at(&mut self, stop: Time) {
        if std::mem::replace(&mut self.series_stop, stop) != stop {
            self.shards.iter_mut().for_each(|shard| shard.world.probes.stop_at(stop));
        }
    }

    /// The picosecond after the next event.
    fn after_next_event(&mut self) -> Time {
        let pending = self.shards.iter_mut().flat_map(|shard| shard.runner.windows().pending());
        pending.map(engine::Event::time).min().map_or(Time::NEVER, |next| next + Time::from_ps(1))
    }

    /// Processes the events before `limit`, or about `budget` of them.
    fn run_until(&mut self, limit: Time, budget: u64) -> Result<RunStatus, SimulationError> {
        self.shards.iter_mut().for_each(|shard| shard.world.horizon = limit);
        if let Some(panicked) = &self.panicked {
            return Err(SimulationError::defect(panicked));
        }
        let status = if let Some(workers) = &mut self.workers {
            workers.run(&mut self.shards, limit, budget)
        } else {
            let budget = if self.pilot.is_some() { budget.min(Pilot::BUDGET) } else { budget };
            let begun = Instant::now();
            let Shard { world, runner } = &mut self.shards[0];
            let run = catch_unwind(AssertUnwindSafe(|| match self.driven {
                true => runner.run_in_order(world, limit, budget),
                false => runner.run(world, limit, budget),
            }));
            if let Some(pilot) = &mut self.pilot {
                pilot.ran += begun.elapsed();
            }
            run.map_err(Panicked::from)
        };
        status.map_err(|panicked| SimulationError::defect(self.panicked.insert(panicked)))
    }

    /// Returns true if a deadlock ended the run early.
    pub fn ended_by_deadlock(&self) -> bool {
        self.spec.guards.on_deadlock == OnDeadlock::Stop
            && self.watch.found.iter().any(|found| found.ended.is_none())
    }
    /// The shortest cycle of queues that may wait for each other with the present routes, by name; `None` if no
    /// deadlock is possible.
    pub fn dependency_cycle(&self) -> Option<Vec<String>> {
        let name = |&queue: &u32| {
            let queues = self.queues() as u32;
            let (port, class) = self.place_of_queue(queue % queues);
            let which = if queue < queues { "" } else { " (bypass)" };
            format!("{}/{class}{which}", self.port_name(port))
        };
        self.dependency_cycle.as_ref().map(|cycle| cycle.iter().map(name).collect())
    }

    /// Runs to the end.
    ///
    /// # Errors
    /// As for [`Simulation::advance`].
    pub fn run(&mut self) -> Result<(), SimulationError> {
        while self.advance(u64::MAX)? == State::Running {}
        Ok(())
    }

    /// Current simulated time.
    pub fn now(&self) -> Time {
        self.previewed.unwrap_or(self.shards[0].runner.now())
    }
    /// Hash over every event at every node, in its order. Equal for the same scenario and seed, whatever is measured
    /// and on any number of threads.
    pub fn fingerprint(&self) -> u64 {
        let received = self.parts().fold(0, |sum: u64, part| sum.wrapping_add(part.hosts.seen()));
        self.parts()
            .flat_map(|part| part.probes.fingerprints.all(part.whole()))
            .fold(received, |hash: u64, of_node| {
                (hash ^ of_node.hash).rotate_left(23).wrapping_mul(0x9fb2_1c65_1e98_df25)
            })
    }

    /// Bytes that the simulation holds now, in all parts.
    pub fn memory_bytes(&mut self) -> usize {
        let of = |shard: &Shard<Fabric>| shard.world.memory_bytes() + shard.runner.memory_bytes();
        let shared = self.shards[0].world.shared_bytes();
        shared + self.shards.iter().map(of).sum::<usize>()
    }

    /// Bytes of waiting frames: the part of the memory that grows without bound if a queue has no limit.
    pub fn waiting_bytes(&self) -> usize {
        let waits = |part: &Fabric| {
            let at_inputs: u64 = part.crossbars().map(Crossbar::frames_waiting).sum();
            part.hosts.frames_waiting() + part.buffers.frames_waiting() + at_inputs
        };
        self.parts().map(waits).sum::<u64>() as usize * size_of::<Waiting>()
    }

    /// Frames of which the destination has received the first bit but not yet the last, with their paths.
    pub(crate) fn arriving(&mut self) -> Vec<(u32, Passage)> {
        let now = self.now();
        let mut arriving = Vec::new();
        for Shard { world, runner } in &mut self.shards {
            for event in runner.windows().pending().filter(|event| event.kind() == Kind::Frame) {
                let ends = world.nodes[world.node_of[event.place(world.whole())]].is_host;
                let found = probes::arriving(
                    world,
                    event.port(world.whole()),
                    &event.frame(),
                    engine::Event::time(event),
                );
                arriving.extend(found.filter(|(_, passage)| ends && passage.start() < now));
            }
        }
        arriving
    }

    /// Applies the departures up to now of frames that were sent ahead of their time.
    pub(crate) fn settle(&mut self) {
        let Some(before) = self.now().ps().checked_sub(1).map(Time::from_ps) else { return };
        self.shards.iter_mut().for_each(|shard| shard.world.settle_all(before));
    }

    fn check_conservation(&mut self) -> Result<(), SimulationError> {
        let in_flight = self.frames_on_links();
        let waits = |part: &Fabric| {
            let crossing: u64 = part.crossbars().map(Crossbar::frames_inside).sum();
            part.hosts.frames_waiting() + part.buffers.frames_waiting() + crossing
        };
        let waiting = self.parts().map(waits).sum::<u64>();
        self.parts().for_each(Fabric::check);
        self.check_headers();
        if let Some(failure) = self.credits_missing() {
            return Err(self.describe(&failure));
        }
        let ledger = self.ledger();
        let found = ledger.delivered + ledger.lost + waiting;
        if Some(ledger.made + ledger.copied) == found.checked_add_signed(in_flight) {
            return Ok(());
        }
        let (made, copied) = (ledger.made, ledger.copied);
        let (delivered, lost) = (ledger.delivered, ledger.lost);
        Err(self.describe(&Failure::Conservation { made, copied, delivered, lost, waiting, in_flight }))
    }

    /// Asserts that there is one header for each frame that has one.
    fn check_headers(&mut self) {
        for Shard { world, runner } in self.shards.iter_mut().filter(|it| !it.world.headers.is_untouched()) {
            let headers = world.headers.in_use();
            let at_rest = world.frames_at_rest().filter(|frame| frame.flags.is_wide()).count();
            let pending = runner.windows().pending().filter(|event| event.is_wide()).count();
            assert!(
                headers == at_rest + pending,
                "{headers} headers, but {at_rest} frames that wait and {pending} on their way have one: this is a bug in the simulator"
            );
        }
    }

    /// Start of the measurement: the end of the warm-up, or zero until then.
    pub fn measured_from(&self) -> Time {
        if self.warmed_up { self.spec.warmup } else { Time::ZERO }
    }

    /// Starts the measurement: resets all counts to zero and keeps all levels.
    fn end_warmup(&mut self) {
        self.warmed_up = true;
        self.in_flight_at_warmup = self.in_flight();
        let now = self.spec.warmup;
        let mut broken = 0;
        for shard in &mut self.shards {
            let begun = shard.world.restart(now);
            self.hops_before += begun.sent;
            broken += begun.broken;
        }
        self.hops_before -= broken;
    }

    /// Name of a port such as "sw.2->h1": node, number of the port, node at the other end.
    pub(crate) fn port_name(&self, port: u32) -> String {
        self.wiring.port_name(frame::PortId(port), |node| &self.spec.nodes[node.at()].name)
    }

    fn describe(&self, failure: &Failure) -> SimulationError {
        let advice = advice(&self.spec, &self.wiring, failure);
        let channel_name = |port: u32, count: u8| {
            let credits = self.cold(port).control.credits();
            credits.map_or_else(String::new, |credits| credits.name(count.into()))
        };
        let pool_name = |port: u32, pool: u8| {
            let node = self.wiring.node_of[port as usize];
            self.spec.nodes[node.at()].pool_name(pool).to_string()
        };
        let mut error = failure.describe(|port| self.port_name(port), channel_name, pool_name, &advice);
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

#[cfg(test)]
pub(crate) use tests::pairs;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{FlowSpec, HostSpec, LinkSpec, NodeSpec, OnLosslessDrop, ProbeSpec, Role};
    use frame::{NodeId, Priority};
    use std::time::Duration;
    use units::{BitRate, ClockTolerance};
    use workload::{Arrivals, Destinations, FrameSizes, RateBasis, SourceSpec};

    /// Pairs of hosts that send to each other at line rate.
    pub(crate) fn pairs(pairs: u32, duration: Time) -> Spec {
        let host = Arc::new(HostSpec::default());
        let node = |id: u32| NodeSpec {
            name: format!("h{id}"),
            role: Role::Host(host.clone()),
            clock_tolerance: ClockTolerance::EXACT,
            mtu: None,
        };
        let link = |pair: u32| LinkSpec {
            a: NodeId(2 * pair),
            b: NodeId(2 * pair + 1),
            rates: [BitRate::from_gbps(10); 2],
            wire_rates: [BitRate::from_gbps(10); 2],
            delay: Time::from_us(1),
            cable: Time::from_us(1),
            overhead: 20,
            response_time: None,
            cost: 1,
            llr: None,
        };
        let flow = |from: u32| FlowSpec {
            name: from.to_string(),
            from: NodeId(from),
            priority: Priority(0),
            source: SourceSpec {
                arrivals: Arrivals::Greedy,
                rate_basis: RateBasis::Frame,
                sizes: FrameSizes::Fixed(1500),
                destinations: Destinations::Fixed(NodeId(from ^ 1)),
                start: Time::ZERO,
                stop: None,
                script: Vec::new(),
                limit: None,
                jitter: Time::ZERO,
            },
            way: crate::spec::Way::Shortest,
            transport: None,
            ports: None,
            tuples: Vec::new(),
            bypassable: false,
            color: queueing::Color::Green,
        };
        Spec {
            seed: 1,
            path_seed: 1,
            duration,
            warmup: Time::ZERO,
            nodes: (0..2 * pairs).map(node).collect(),
            links: (0..pairs).map(link).collect(),
            flows: (0..2 * pairs).map(flow).collect(),
            probes: ProbeSpec { bin: None, pauses: false, chosen: None },
            on_lossless_drop: OnLosslessDrop::Stop,
            faults: Vec::new(),
            guards: Default::default(),
            negotiated: Vec::new(),
            domains: Vec::new(),
            waits: Vec::new(),
            jobs: Vec::new(),
        }
    }

    #[test]
    fn a_panic_on_any_thread_ends_the_run_as_an_error() {
        for (threads, part) in [(1, 0), (2, 0), (2, 1), (3, 2)] {
            let mut simulation = Simulation::on_threads(&pairs(3, Time::from_ms(1)), threads).unwrap();
            // Corrupts the state: the first frame that a node of this part sends has no source, so that the shard
            // panics.
            simulation.shards[part].world.routes.path_source.clear();
            let (sender, receiver) = std::sync::mpsc::channel();
            std::thread::spawn(move || {
                sender.send([simulation.run(), simulation.run()].map(|end| end.unwrap_err().to_string()))
            });
            let ends = receiver.recv_timeout(Duration::from_secs(60)).expect("all threads end");
            assert!(ends[0].contains("the simulator has failed: index out of bounds"), "{}", ends[0]);
            assert_eq!(ends[0], ends[1]);
        }
    }

    #[test]
    fn threads_come_by_themselves_and_change_nothing() {
        let end = |spec: &Spec, threads: Threads, judged: bool| {
            let mut simulation = Simulation::on_threads(spec, threads).unwrap();
            if let Some(pilot) = &mut simulation.pilot {
                // Decides at once, however fast this machine is; for threads unless they take longer.
                *pilot = Pilot::new(2, Duration::ZERO);
                pilot.ran = if judged { Pilot::LONG_ENOUGH } else { Duration::from_secs(100) };
            }
            simulation.run().unwrap();
            (simulation.threads(), simulation.fingerprint(), simulation.frame_hops(), simulation.tables())
        };
        // About 400 events per round, or about 4.
        for (spec, parts) in [(pairs(100, Time::from_ms(14)), 2), (pairs(1, Time::from_ms(60)), 1)] {
            let alone = end(&spec, Threads::UpTo(1), true);
            for judged in [false, true] {
                let several = end(&spec, Threads::UpTo(2), judged);
                assert!(judged || several.0 == parts);
                assert_eq!((alone.0, alone.1, alone.2), (1, several.1, several.2));
                assert_eq!(format!("{:?}", alone.3), format!("{:?}", several.3));
            }
        }
    }
}
