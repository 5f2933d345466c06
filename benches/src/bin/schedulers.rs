//! Cost of a scheduler's decision: one JSON line per scheduler and number of queues.
//!
//! `schedulers [DECISIONS [NAME QUEUES LOAD]]` (default 2000000, all). With a name, only that scheduler runs, or with
//! `none` only the loop without a scheduler, so that instructions can be counted (`benches/schedulers.py`). Two loads:
//! *backlogged*, where every queue always has a frame (arrive, pick, sent, completed with the next head), and *sparse*,
//! where a frame arrives at an empty queue while a few other queues have frames (arrive, activate, pick, sent,
//! completed). Frames have random sizes. Time is measured in short batches, and the result is the mean of the fastest
//! tenth, so that other load on the machine has little effect. The cost of the loop without a scheduler is subtracted.

use scheduling::{
    AccountedLength, ClassShaper, Configuration, DTableParams, Discipline, DrrAwcParams, DrrParams, EtsClass,
    EtsParams, MinBwParams, PortFacts, ScfqCaParams, ScfqParams, SchedulerSpec, Selection, ShapedParams,
    ShaperSpec, Share, VcTableParams, Wf2qPlusParams, WfqParams, WrrParams,
};
use std::io::Write;
use std::time::Instant;
use units::{BitRate, Time};

/// Number of decisions in a batch: a few hundred microseconds at most, so that few batches are interrupted.
const BATCH: usize = 1024;

/// Random sizes and choices, drawn in advance.
struct Draws {
    sizes: Vec<u32>,
    choices: Vec<u32>,
}

const DRAWS: usize = 4096;

impl Draws {
    fn new() -> Draws {
        let mut state = 0x9e37_79b9_7f4a_7c15u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as u32
        };
        Draws {
            sizes: (0..DRAWS).map(|_| 64 + next() % 1459).collect(),
            choices: (0..DRAWS).map(|_| next()).collect(),
        }
    }
}

/// The loop without a scheduler, which serves queues in turn.
struct Nobody {
    queues: u32,
    next: u32,
}

impl Discipline for Nobody {
    fn activate(&mut self, queue: u32, _head: u32, _now: Time) {
        self.next = queue;
    }
    fn deactivate(&mut self, _queue: u32, _now: Time) {}
    fn pick(&mut self, _now: Time) -> Option<u32> {
        Some(self.next)
    }
    fn sent(&mut self, _queue: u32, _bytes: u32, _now: Time) {}
    fn on_link_rate(&mut self, _rate: BitRate, _now: Time) {}
    fn completed(&mut self, _queue: u32, next: Option<u32>, _now: Time) {
        if next.is_some() {
            self.next = if self.next + 1 == self.queues { 0 } else { self.next + 1 };
        }
    }
}

/// Returns the time of a frame at 10 Gb/s, without the exact clock, which is not measured here.
fn span(bytes: u32) -> Time {
    Time::from_ps(u64::from(bytes + 20) * 800)
}

/// Returns the nanoseconds per step: the mean of the fastest tenth of the batches.
fn in_batches(steps: usize, mut step: impl FnMut(usize)) -> f64 {
    let mut batches: Vec<f64> = (0..steps.div_ceil(BATCH))
        .map(|batch| {
            let begun = Instant::now();
            (batch * BATCH..(batch + 1) * BATCH).for_each(&mut step);
            begun.elapsed().as_secs_f64() * 1e9 / BATCH as f64
        })
        .collect();
    batches.sort_by(f64::total_cmp);
    let best = &batches[..batches.len().div_ceil(10)];
    best.iter().sum::<f64>() / best.len() as f64
}

fn backlogged(scheduler: &mut impl Discipline, queues: u32, decisions: usize, draws: &Draws) -> f64 {
    let mut now = Time::ZERO;
    let mut heads: Vec<u32> = (0..queues).map(|queue| draws.sizes[queue as usize % DRAWS]).collect();
    for queue in 0..queues {
        scheduler.arrive(queue, heads[queue as usize], now);
        scheduler.activate(queue, heads[queue as usize], now);
    }
    in_batches(decisions, |n| {
        let Some(queue) = scheduler.pick(now) else { return };
        let (bytes, next) = (heads[queue as usize], draws.sizes[n % DRAWS]);
        heads[queue as usize] = next;
        scheduler.arrive(queue, next, now);
        scheduler.sent(queue, bytes, now);
        now += span(bytes);
        scheduler.completed(queue, Some(next), now);
    })
}

fn sparse(scheduler: &mut impl Discipline, queues: u32, decisions: usize, draws: &Draws) -> f64 {
    let mut now = Time::ZERO;
    let mut heads = vec![0; queues as usize];
    in_batches(decisions, |n| {
        let (queue, bytes) = (draws.choices[n % DRAWS] % queues, draws.sizes[n % DRAWS]);
        if heads[queue as usize] == 0 {
            heads[queue as usize] = bytes;
            scheduler.arrive(queue, bytes, now);
            scheduler.activate(queue, bytes, now);
        }
        // The first few frames wait; then one leaves for each that arrives.
        if n >= 4
            && let Some(queue) = scheduler.pick(now)
        {
            let bytes = std::mem::take(&mut heads[queue as usize]);
            scheduler.sent(queue, bytes, now);
            now += span(bytes);
            scheduler.completed(queue, None, now);
        }
    })
}

/// Returns all schedulers for a number of queues.
fn specs(queues: u32, draws: &Draws) -> Vec<SchedulerSpec> {
    let weights: Vec<u32> = (0..queues).map(|queue| 1 + draws.choices[queue as usize % DRAWS] % 8).collect();
    let accounted = AccountedLength::WIRE;
    let size = (4 * queues).next_power_of_two().clamp(32, 1024);
    let entries: Vec<u32> = (0..size).map(|entry| entry % queues).collect();
    let mut managed = weights.clone();
    managed[queues as usize - 1] = 0;
    let classes = queues.min(8);
    let class = |class: u32| EtsClass {
        queues: (class * queues / classes..(class + 1) * queues / classes).collect(),
        selection: Selection::Percent(100 / classes + u32::from(class < 100 % classes)),
        adaptive: None,
    };
    let drr = SchedulerSpec::Drr(DrrParams::weighted(weights.clone(), accounted));
    let bucket = ShaperSpec::token_bucket(Share::PartsPerMillion(1_000_000), 1 << 20);
    vec![
        SchedulerSpec::StrictPriority,
        SchedulerSpec::Wrr(WrrParams { weights: weights.clone().into(), interleaved: false }),
        drr.clone(),
        SchedulerSpec::DrrAwc(DrrAwcParams { weights: weights.clone().into(), ..DrrAwcParams::default() }),
        SchedulerSpec::VcTable(VcTableParams { entries: entries.clone() }),
        SchedulerSpec::DTable(DTableParams::uniform(entries, 34)),
        SchedulerSpec::Ets(EtsParams::new((0..classes).map(class).collect())),
        SchedulerSpec::Scfq(ScfqParams { weights: weights.clone().into(), ..ScfqParams::by(accounted) }),
        SchedulerSpec::ScfqCa(ScfqCaParams {
            weights: weights.clone().into(),
            ..ScfqCaParams::by(accounted)
        }),
        SchedulerSpec::MinBw(MinBwParams::new(managed)),
        SchedulerSpec::Wf2qPlus(Wf2qPlusParams {
            weights: weights.clone().into(),
            ..Wf2qPlusParams::by(accounted)
        }),
        SchedulerSpec::Wfq(WfqParams { weights: weights.into(), ..WfqParams::by(accounted) }),
        SchedulerSpec::Shaped(ShapedParams {
            scheduler: Box::new(drr),
            port: Some(bucket),
            classes: (0..queues).map(|class| ClassShaper { class, shaper: bucket }).collect(),
            ..ShapedParams::by(accounted)
        }),
    ]
}

type Load = fn(&mut scheduling::Scheduler, u32, usize, &Draws) -> f64;
type Empty = fn(&mut Nobody, u32, usize, &Draws) -> f64;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let decisions: usize = arguments.first().map_or(Ok(2_000_000), |words| words.parse())?;
    let draws = Draws::new();
    if let [_, name, queues, load] = &arguments[..] {
        return one_alone(name, queues.parse()?, load, decisions, &draws);
    }
    for queues in [4, 8, 64, 1024] {
        for (spec, port) in
            ports(queues, &draws).into_iter().filter(|(_, port)| port.queues > 1 || queues == 4)
        {
            for (load, run, empty) in LOADS {
                let all = run(&mut spec.start(&port), port.queues, decisions, &draws);
                let loop_alone =
                    empty(&mut Nobody { queues: port.queues, next: 0 }, port.queues, decisions, &draws);
                writeln!(
                    std::io::stdout(),
                    "{{\"scheduler\": \"{}\", \"queues\": {}, \"load\": \"{load}\", \"ns_per_decision\": {:.1}, \"loop_ns\": {loop_alone:.1}}}",
                    spec.name(),
                    port.queues,
                    (all - loop_alone).max(0.0),
                )?;
            }
        }
    }
    Ok(())
}

const LOADS: [(&str, Load, Empty); 2] = [("backlogged", backlogged, backlogged), ("sparse", sparse, sparse)];

/// Returns all schedulers, each with its port; the port of FIFO has one queue.
fn ports(queues: u32, draws: &Draws) -> Vec<(SchedulerSpec, PortFacts)> {
    let port = PortFacts { queues, ..PortFacts::ethernet(BitRate::from_gbps(10)) };
    let fifo = (SchedulerSpec::Fifo, PortFacts { queues: 1, ..port });
    std::iter::once(fifo).chain(specs(queues, draws).into_iter().map(|spec| (spec, port))).collect()
}

/// Runs one scheduler, or the loop without one, and prints nothing.
fn one_alone(
    name: &str,
    queues: u32,
    load: &str,
    decisions: usize,
    draws: &Draws,
) -> Result<(), Box<dyn std::error::Error>> {
    let (_, run, empty) = LOADS.into_iter().find(|it| it.0 == load).ok_or("no such load")?;
    if name == "none" {
        empty(&mut Nobody { queues, next: 0 }, queues, decisions, draws);
        return Ok(());
    }
    let found = ports(queues, draws).into_iter().find(|(spec, _)| spec.name() == name);
    let (spec, port) = found.ok_or("no such scheduler")?;
    run(&mut spec.start(&port), port.queues, decisions, draws);
    Ok(())
}
