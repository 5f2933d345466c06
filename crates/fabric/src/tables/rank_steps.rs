//! Steps of the ranks of jobs: sends, receives and computations, each with the step after which it started.

use super::View;
use super::transfers::Idle;
use crate::run::state::ranks::RankState;
use crate::spec::JobSpec;
use jobs::{Step, StepKind};
use measure::table::{integer, real, real_or_null, text};
use measure::{TableBuilder, TableSpec};
use std::collections::BTreeMap;
use transport::{MessageTimes, Spent};
use units::Time;

/// Columns of `rank_steps`.
pub(super) static RANK_STEPS: TableSpec = TableSpec {
    name: "rank_steps",
    about: "One row per step of a rank, in the recorded iterations of a job (`timeline_rows`), by job and rank, in the order in which they were requested. Following `after`, and `message` of a receive that waited, leads from the end of a job to its start along its critical path.",
    columns: &[&[
        text("job", "Name of the job."),
        integer("rank", "", "Number of the rank."),
        text("host", "Host of the rank."),
        integer("iteration", "", "Number of the iteration, from 0."),
        text(
            "kind",
            "\"compute\"; \"send_cost\" and \"receive_cost\": the processor posts or accepts a message; \"send\": a message, until it is acknowledged; \"receive\": a wait for a message.",
        ),
        integer(
            "operation",
            "",
            "Number of the operation in the schedule, from 0; for a collective, the lane.",
        ),
        integer("peer", "", "Rank at the other end of the message; the rank itself without one."),
        integer("tag", "", "Tag of the message; 0 without one."),
        integer("bytes", "B", "Bytes of the message; 0 without one."),
        real("requested_ns", "ns", "Time at which it was requested; for a send, posted."),
        real_or_null(
            "begin_ns",
            "ns",
            "Time at which the processor started it; for a send, at which it was posted; for a receive, at which its message was delivered. Null if it has not.",
        ),
        real_or_null("end_ns", "ns", "End of the step; null if it has not ended."),
        integer(
            "after",
            "",
            "Row of this table, from 0, of the step at whose end it began; if it waited for the processor, of the step that occupied it. Its own row if it began with the job.",
        ),
        integer(
            "message",
            "",
            "For a receive that has its message, the row of the send, from 0; otherwise its own row.",
        ),
        real_or_null(
            "ideal_ns",
            "ns",
            "For a send, time until its delivery without other traffic, as for transfers; otherwise null.",
        ),
        real_or_null(
            "behind_ns",
            "ns",
            "For a send over a transport, time in which other messages of its queue pair or packet delivery context were ahead; 0 over TCP, where it has a connection to itself. Null without a transport. The following columns are null as well then; they are defined as in `message_times`.",
        ),
        real_or_null(
            "again_ns",
            "ns",
            "Time of retransmissions, and of waiting for timeouts; over TCP also time without a new segment to send, from the detection of a loss until everything before it is acknowledged.",
        ),
        real_or_null(
            "control_ns",
            "ns",
            "Time in which the rate, the window or missing credits of its control (UET) delayed it, or a handshake (TCP).",
        ),
        real_or_null(
            "receiver_ns",
            "ns",
            "Time of waiting for a receiver that was not ready; over TCP for room in the receive window or the send buffer.",
        ),
        real_or_null(
            "pause_ns",
            "ns",
            "Time in which a pause, a lack of credits or a link that was down stopped its NIC.",
        ),
        real_or_null("nic_ns", "ns", "Time in which its NIC was sending other frames."),
    ]],
};

/// A recorded step.
#[derive(Clone, Copy)]
struct Row<'a> {
    job: u32,
    state: &'a RankState,
    step: &'a Step,
    /// Row number of the first step of its rank.
    first: u64,
    times: Option<MessageTimes>,
    /// Row number of the send that matches a receive, if any.
    message: Option<u64>,
    ideal: Option<Time>,
}

fn name(kind: StepKind) -> &'static str {
    match kind {
        StepKind::Compute => "compute",
        StepKind::SendCost => "send_cost",
        StepKind::ReceiveCost => "receive_cost",
        StepKind::Send => "send",
        StepKind::Receive => "receive",
    }
}

/// Returns all steps of these ranks, in order.
fn rows_of<'a>(ranks: &[&'a RankState]) -> Vec<Row<'a>> {
    let mut rows = Vec::with_capacity(ranks.iter().map(|state| state.machine.steps().len()).sum());
    // From the first iteration of which a part was skipped, steps are recorded at no rank.
    let mut ends: BTreeMap<u32, usize> = BTreeMap::new();
    for state in ranks {
        let whole = state.machine.whole_iterations();
        let end = ends.entry(state.job).or_insert(whole);
        *end = whole.min(*end);
    }
    for &state in ranks {
        let first = rows.len() as u64;
        let mut times: Vec<(u32, MessageTimes)> = state.times.clone();
        times.sort_unstable_by_key(|own| own.0);
        let end = ends.get(&state.job).copied().unwrap_or(usize::MAX) as u32;
        for (number, step) in (0..).zip(state.machine.steps()).take_while(|own| own.1.iteration < end) {
            let known = times.binary_search_by_key(&number, |own| own.0).ok().map(|place| times[place].1);
            rows.push(Row { job: state.job, state, step, first, times: known, message: None, ideal: None });
        }
    }
    rows
}

/// Identifies messages of one label: job, sender, receiver, label.
type Label = (u32, u32, u32, u32);
/// Idle paths of a path in a period of constant rates, and the ideal times of messages by bytes.
type Ways = (Vec<Idle>, BTreeMap<u64, Time>);

/// Finds the send that matches each receive: messages of one label from one rank to another are delivered in order.
fn match_messages(rows: &mut [Row<'_>]) {
    let mut sends: BTreeMap<Label, Vec<u64>> = BTreeMap::new();
    let mut receives: BTreeMap<Label, Vec<(Time, usize)>> = BTreeMap::new();
    for (number, row) in rows.iter().enumerate() {
        let Step { kind, peer, tag, begin, .. } = *row.step;
        let own = row.state.number;
        match kind {
            StepKind::Send => sends.entry((row.job, own, peer, tag)).or_default().push(number as u64),
            StepKind::Receive if begin < Time::NEVER => {
                receives.entry((row.job, peer, own, tag)).or_default().push((begin, number));
            }
            _ => {}
        }
    }
    for (key, mut of) in receives {
        of.sort_unstable();
        let sent = sends.remove(&key).unwrap_or_default();
        of.into_iter().zip(sent).for_each(|((_, number), send)| rows[number].message = Some(send));
    }
}

impl View<'_> {
    fn step_rows(&self) -> Vec<Row<'_>> {
        let mut rows = rows_of(&self.s.ranks());
        match_messages(&mut rows);
        self.find_ideals(&mut rows);
        rows
    }

    /// Computes the ideal duration of each message.
    fn find_ideals(&self, rows: &mut [Row<'_>]) {
        let (starts, periods) = (self.path_starts(), self.rate_periods());
        let mut ways: BTreeMap<(usize, (usize, usize)), Ways> = BTreeMap::new();
        for row in rows.iter_mut().filter(|row| row.step.kind == StepKind::Send) {
            let spec: &JobSpec = &self.s.spec.jobs[row.job as usize];
            let Step { peer, bytes, since, end, .. } = *row.step;
            let Some((flow, peers)) = &spec.flows[row.state.number as usize] else { continue };
            let flow_spec = &self.s.spec.flows[*flow as usize];
            let (Ok(nth), Some(list)) = (peers.binary_search(&peer), flow_spec.source.transfers()) else {
                continue;
            };
            let path = self.s.source(*flow as usize).first_path as usize + nth;
            let span = periods.of(since, end.min(self.end));
            let (idle, known) = ways.entry((path, span)).or_insert_with(|| {
                let starts = starts.get(&(path as u32)).map_or(&[][..], |starts| starts);
                (self.idle_ways(path, flow_spec, starts, &self.link_rates(&periods, span)), BTreeMap::new())
            });
            let ideal = *known.entry(bytes).or_insert_with(|| {
                // A message without data takes one packet.
                idle.iter_mut()
                    .map(|way| way.time(list.framing(), bytes.max(1), true))
                    .min()
                    .unwrap_or_default()
            });
            row.ideal = Some(ideal);
        }
    }

    /// Returns the steps of ranks, with one row each.
    pub fn rank_steps(&self) -> TableBuilder {
        let rows = self.step_rows();
        let ns = |time: Time| if time == Time::NEVER { f64::NAN } else { time.as_ns_f64() };
        let spent = |of: &'static [Spent]| {
            let sum = move |own: MessageTimes| of.iter().map(|&what| f64::from(own.on(what))).sum::<f64>();
            rows.iter().map(move |row| row.times.map_or(f64::NAN, sum))
        };
        let hosts =
            rows.iter().map(|row| self.s.spec.jobs[row.job as usize].hosts[row.state.number as usize]);
        RANK_STEPS
            .builder()
            .named_by("job", rows.iter().map(|row| row.job), |job| {
                self.s.spec.jobs[job as usize].name.clone()
            })
            .integers("rank", rows.iter().map(|row| row.state.number.into()))
            .named_by("host", hosts, |host| self.node_name(host))
            .integers("iteration", rows.iter().map(|row| row.step.iteration.into()))
            .named_by("kind", rows.iter().map(|row| name(row.step.kind)), str::to_string)
            .integers("operation", rows.iter().map(|row| operation(row.step.lane)))
            .integers("peer", rows.iter().map(|row| row.step.peer.into()))
            .integers("tag", rows.iter().map(|row| row.step.tag.into()))
            .integers("bytes", rows.iter().map(|row| row.step.bytes))
            .reals("requested_ns", rows.iter().map(|row| ns(row.step.since)))
            .reals("begin_ns", rows.iter().map(|row| ns(row.step.begin)))
            .reals("end_ns", rows.iter().map(|row| ns(row.step.end)))
            .integers("after", rows.iter().map(|row| row.first + u64::from(row.step.after)))
            .integers("message", (0..).zip(&rows).map(|(number, row)| row.message.unwrap_or(number)))
            .reals("ideal_ns", rows.iter().map(|row| row.ideal.map_or(f64::NAN, ns)))
            .reals("behind_ns", rows.iter().map(|row| row.times.map_or(f64::NAN, |own| own.behind.into())))
            .reals("again_ns", spent(&[Spent::Again]))
            .reals("control_ns", spent(&[Spent::Rate, Spent::Window]))
            .reals("receiver_ns", spent(&[Spent::Receiver]))
            .reals("pause_ns", spent(&[Spent::Pause]))
            .reals("nic_ns", spent(&[Spent::Host]))
    }
}

/// Number of the operation of a lane; 0 for the computation before the operations.
fn operation(lane: u32) -> u64 {
    if lane == u32::MAX { 0 } else { lane.into() }
}
