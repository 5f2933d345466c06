//! The result of a simulation as described tables.

mod congestion_flows;
mod connections;
mod contention;
mod credits;
mod crossbars;
mod dcbx;
mod deadlocks;
mod delay_variation;
mod delivery_contexts;
mod demands;
mod domains;
mod durations;
mod flows;
mod forensics;
mod frames;
mod idle;
mod idle_connection;
mod idle_message;
mod jobs;
mod latencies;
mod limiters;
mod link_rates;
mod losses;
mod message_lengths;
mod message_times;
mod occupancies;
mod path_states;
mod pauses;
mod port_counts;
mod ports;
mod profiles;
mod queue_pairs;
mod queues;
mod rank_steps;
mod rank_waits;
mod retries;
mod series;
mod storms;
mod streams;
mod summary;
mod transfers;
mod used_queues;
mod watermarks;

use self::flows::FlowRow;
use self::forensics::Forensics;
use self::series::{Series, series_table};
use self::used_queues::UsedQueue;
use crate::simulation::Simulation;
use measure::{Passage, Table, TableBuilder, TableSpec};
use std::panic::resume_unwind;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{iter, ptr, thread};
use units::Time;

/// All tables of a result, in the order of documentation.
pub static TABLES: [&TableSpec; 43] = [
    &flows::FLOWS,
    &demands::DEMANDS,
    &demands::PATHS,
    &connections::CONNECTIONS,
    &queue_pairs::QUEUE_PAIRS,
    &delivery_contexts::DELIVERY_CONTEXTS,
    &path_states::PATH_STATES,
    &limiters::RATE_LIMITERS,
    &limiters::SLOWDOWNS,
    &transfers::TRANSFERS,
    &message_times::MESSAGE_TIMES,
    &transfers::WAITING_TRANSFERS,
    &jobs::JOBS,
    &jobs::COLLECTIVES,
    &jobs::MESSAGES,
    &rank_waits::RANK_WAITS,
    &rank_steps::RANK_STEPS,
    &streams::STREAMS,
    &flows::CLASSES,
    &latencies::LATENCIES,
    &port_counts::PORTS,
    &queues::QUEUES,
    &contention::CONTENTION,
    &occupancies::OCCUPANCIES,
    &pauses::PAUSES,
    &forensics::CONGESTION,
    &congestion_flows::CONGESTION_FLOWS,
    &deadlocks::DEADLOCKS,
    &storms::STORMS,
    &credits::CREDITS,
    &retries::LINK_RETRIES,
    &crossbars::CROSSBARS,
    &dcbx::DCBX,
    &domains::CONGESTION_DOMAINS,
    &losses::DROPS,
    &losses::FAULTS,
    &watermarks::WATERMARKS,
    &profiles::PROFILES,
    &series::SERIES,
    &frames::FRAMES,
    &frames::CONGESTION_MESSAGES,
    &delay_variation::DELAY_VARIATION,
    &summary::SUMMARY,
];

impl Simulation {
    /// Returns the result so far, as tables. During a run, call [`Simulation::cut_short`] first for a result at one
    /// point in time: otherwise frames that were sent ahead of their time count before they have passed.
    pub fn tables(&mut self) -> Vec<Table> {
        self.settle();
        tables(self)
    }
}

/// Builds all tables, in the order of documentation.
fn tables(simulation: &mut Simulation) -> Vec<Table> {
    let end = simulation.now();
    let in_flight = simulation.in_flight();
    let arriving = simulation.arriving();
    let long = simulation.frame_hops() >= LEAST_HOPS;
    let view = View {
        start: simulation.measured_from(),
        measured: end - simulation.measured_from() + simulation.skipped_time(),
        end,
        in_flight,
        arriving,
        used_queues: OnceLock::new(),
        flow_rows: OnceLock::new(),
        series: OnceLock::new(),
        forensics: OnceLock::new(),
        s: simulation,
    };
    let next = AtomicUsize::new(0);
    let work = || {
        let jobs = iter::from_fn(|| BEGUN.get(next.fetch_add(1, Ordering::Relaxed)));
        jobs.flat_map(|make| make(&view)).map(TableBuilder::build).collect::<Vec<_>>()
    };
    // Most of these tables read data that is in no cache, so two threads take half the time.
    let mut found = thread::scope(|scope| {
        let beside = long.then(|| scope.spawn(work));
        let mut found = work();
        if let Some(beside) = beside {
            found.extend(beside.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        found
    });
    found.sort_by_key(|table| TABLES.iter().position(|spec| ptr::eq(*spec, table.spec)));
    debug_assert!(found.iter().map(|table| table.spec).eq(TABLES), "each declared table is made once");
    found
}

/// Number of frame-hops above which the tables take longer to make than a thread to start.
const LEAST_HOPS: u64 = 100_000;

/// A function that makes tables, or intermediate data that several tables use.
type Make = fn(&View<'_>) -> Vec<TableBuilder>;

/// All functions, in the order of execution: shared intermediate data first; the tables that use it come last.
const BEGUN: [Make; 42] = [
    |view| none(view.forensics()),
    |view| none(view.series()),
    |view| vec![view.congestion_flows()],
    |view| vec![view.ports()],
    |view| vec![view.queues()],
    |view| vec![view.watermarks()],
    |view| vec![view.profiles()],
    |view| vec![view.flows()],
    |view| vec![view.demands()],
    |view| vec![view.paths()],
    |view| vec![view.connections()],
    |view| vec![view.queue_pairs()],
    |view| vec![view.delivery_contexts()],
    |view| vec![view.path_states()],
    |view| vec![view.rate_limiters()],
    |view| vec![view.slowdowns()],
    |view| view.transfers(),
    |view| vec![view.waiting_transfers()],
    |view| vec![view.jobs()],
    |view| vec![view.collectives()],
    |view| vec![view.messages()],
    |view| vec![view.rank_waits()],
    |view| vec![view.rank_steps()],
    |view| vec![view.streams()],
    |view| vec![view.classes()],
    |view| vec![view.latencies()],
    |view| vec![view.contention()],
    |view| vec![view.occupancies()],
    |view| vec![view.deadlocks()],
    |view| vec![view.storms()],
    |view| vec![view.credits()],
    |view| vec![view.link_retries()],
    |view| vec![view.crossbars()],
    |view| vec![view.dcbx()],
    |view| vec![view.congestion_domains()],
    |view| vec![view.drops()],
    |view| vec![view.faults()],
    |view| view.frames().into(),
    |view| vec![view.summary()],
    |view| vec![series_table(view.series())],
    |view| vec![view.pauses()],
    |view| vec![view.congestion()],
];

const fn none<T: ?Sized>(_made_for_later: &T) -> Vec<TableBuilder> {
    Vec::new()
}

pub(crate) struct View<'a> {
    pub s: &'a Simulation,
    pub start: Time,
    pub end: Time,
    /// Time over which counters have counted, including periods that were left out.
    measured: Time,
    in_flight: Vec<(u64, u64)>,
    /// Frames of which a part has arrived at the destination, with their paths.
    arriving: Vec<(u32, Passage)>,
    used_queues: OnceLock<Vec<UsedQueue>>,
    flow_rows: OnceLock<Vec<FlowRow>>,
    series: OnceLock<Vec<Series>>,
    forensics: OnceLock<Forensics>,
}

impl View<'_> {
    /// The end as a time of the whole run, including periods that were left out.
    fn whole_end(&self) -> Time {
        self.s.whole_time(self.end)
    }
    fn seconds(&self) -> f64 {
        self.measured.as_secs_f64()
    }
    fn bps(&self, bytes: u64) -> f64 {
        let seconds = self.seconds();
        if seconds > 0.0 { bytes as f64 * 8.0 / seconds } else { 0.0 }
    }
    /// Name of a queue such as "sw.2->h1/3": port and class.
    pub fn queue_name(&self, port: u32, class: u8) -> String {
        format!("{}/{class}", self.s.port_name(port))
    }
    fn node_name(&self, id: frame::NodeId) -> String {
        self.s.spec.nodes[id.at()].name.clone()
    }
}
