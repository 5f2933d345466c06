//! Tests of the critical path, from the end of a job back over its steps: it has no gaps, and crosses messages that
//! match.

use crate::algebra::every;
use crate::replay::{Ideal, Outcome, run_with};
use crate::{Algorithm, Computation, JobCosts, Step, StepKind};
use std::collections::BTreeMap;
use units::Time;

/// Numbers of send steps by sender, receiver and label, in order of posting.
type Sends = BTreeMap<(u32, u32, u32), Vec<u32>>;

fn sends(outcome: &Outcome) -> Sends {
    let mut sends = Sends::new();
    for (rank, own) in (0..).zip(&outcome.ranks) {
        for (number, step) in (0..).zip(own.steps()).filter(|(_, step)| step.kind == StepKind::Send) {
            sends.entry((rank, step.peer, step.tag)).or_default().push(number);
        }
    }
    sends
}

/// Returns the send that matches a receive: that with the receive's position, by delivery time, among the messages with
/// its label.
fn send_of(outcome: &Outcome, sends: &Sends, (rank, number): (u32, u32)) -> u32 {
    let steps = outcome.ranks[rank as usize].steps();
    let own = &steps[number as usize];
    let before = |step: &Step| (step.kind, step.peer, step.tag) == (own.kind, own.peer, own.tag);
    let nth = steps[..number as usize].iter().filter(|step| before(step)).count();
    sends[&(own.peer, rank, own.tag)][nth]
}

/// Walks from the end of a job back to its beginning, and returns the total time of the path.
fn walk(outcome: &Outcome) -> Time {
    let sends = sends(outcome);
    let (rank, own) = (0..)
        .zip(&outcome.ranks)
        .max_by_key(|(_, own)| own.times().last().map(|it| it.ended))
        .expect("a rank");
    let mut at = own.times().last().expect("an iteration").ended;
    let last = own.steps().iter().rposition(|step| step.end == at).expect("a step that ends with the job");
    let (mut rank, mut number, mut sum) = (rank, last as u32, Time::ZERO);
    loop {
        let step = outcome.ranks[rank as usize].steps()[number as usize];
        let (begin, before) = match step.kind {
            StepKind::Receive if step.begin >= step.since => {
                let sender = send_of(outcome, &sends, (rank, number));
                let sent = outcome.ranks[step.peer as usize].steps()[sender as usize];
                (sent.since, (step.peer, sent.after))
            }
            StepKind::Receive | StepKind::Send => (step.since, (rank, step.after)),
            _ => (step.begin, (rank, step.after)),
        };
        assert!(begin <= at, "{step:?} begins after {at}");
        sum += at - begin;
        at = begin;
        let is_first =
            before == (rank, number) || outcome.ranks[before.0 as usize].steps()[before.1 as usize].end > at;
        if is_first {
            assert_eq!(at, Time::ZERO, "{step:?} has nothing before it");
            return sum;
        }
        (rank, number) = before;
        assert_eq!(outcome.ranks[rank as usize].steps()[number as usize].end, at, "a gap before {step:?}");
    }
}

#[test]
fn the_critical_path_of_each_collective_is_as_long_as_the_job() {
    let fabric = Ideal { ps_per_byte: 20, latency: Time::from_us(1) };
    let costly = JobCosts { overhead: Time::from_ns(700), overhead_per_byte: Time::from_ps(3) };
    let computes = Computation::new([Time::from_us(30), Time::from_us(20)].into(), [1.0, 0.5, 1.75]);
    let none = (JobCosts::default(), Computation::each(Time::ZERO));
    for own in every() {
        for n in [2, 3, 4, 6, 8, 13] {
            if own.algorithm == Algorithm::Hierarchical && (n % 2 != 0 || n < 4) {
                continue;
            }
            for costs in [none.clone(), (costly, computes.clone())] {
                let outcome = run_with(&own, n, costs.clone(), 3, &fabric);
                assert_eq!(walk(&outcome), outcome.end, "{own:?} of {n} ranks, {costs:?}");
            }
        }
    }
}
