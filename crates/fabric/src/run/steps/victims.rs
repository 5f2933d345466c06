//! Victims of pauses: the flows with frames queued at a port while it is paused.

use crate::run::state::index::{PortIx, QueueIx};
use crate::run::state::probes::{PauseRecord, Stopped};
use crate::run::state::victims::{Found, Line, Victims};
use crate::run::state::view::NodeView;
use crate::run::steps::credit_waits;
use crate::run::steps::crossbar::held;
use crate::run::steps::endpoint_ways;
use crate::run::steps::limiter_places;
use frame::{ClassMap, Priority, TrafficClass};
use units::Time;

/// Returns the priorities that a pause holds back: its own, and those of the same class that are not paused themselves.
/// The latter count for the lowest of the `paused` priorities.
fn held_back_by(priority: u8, paused: u32, classes: ClassMap) -> u32 {
    let own = 1 << priority;
    let together = classes.numbers_of(classes.class(Priority(priority)));
    let lowest = (together & paused).trailing_zeros() == u32::from(priority);
    if lowest { own | together & !paused } else { own }
}

/// Records the flows held back by pauses of a port that have just ended: those recorded from index `first` on.
pub fn note_held(here: &mut NodeView, port: PortIx, first: usize, now: Time) {
    let ended = here.probes.pauses.as_ref().map_or(0, Vec::len);
    if first >= ended {
        return;
    }
    let mut paused = here.links.cold[port].control.priorities_in_force();
    let records: Vec<PauseRecord> =
        here.probes.pauses.iter().flat_map(|pauses| &pauses[first..]).copied().collect();
    records.iter().for_each(|record| paused |= 1 << record.priority);
    let left_out = here.probes.left_out;
    for record in records {
        let Some(mut victims) = here.probes.victims.take() else { return };
        let stopped = record.stopped();
        let mut place = victims.places.remove(&stopped).unwrap_or_default();
        look(here, &mut victims, &mut place.line, stopped, paused, (record.end - left_out).min(now));
        place.ended(record.start - left_out, &victims.present, left_out);
        victims.places.insert(stopped, place);
        here.probes.victims = Some(victims);
    }
}

/// Returns the flows queued at a port that is still paused, as if its pauses had ended by `end`.
pub fn standing(here: &NodeView, stopped: Stopped, end: Time) -> Vec<(u32, Time)> {
    let Some(own) = &here.probes.victims else { return Vec::new() };
    let mut victims = Victims::new(own.flows.clone());
    let paused = here.links.cold[stopped.port].control.priorities_in_force();
    look(here, &mut victims, &mut Line::default(), stopped, paused, end);
    victims.present
}

/// Reads the flows held back by a pause of a priority that ends at `end` into `present`, sorted by flow.
fn look(here: &NodeView, victims: &mut Victims, line: &mut Line, stopped: Stopped, paused: u32, end: Time) {
    let Stopped { port, priority, bypass } = stopped;
    victims.begin();
    let classes = here.links.ports[port].classes;
    let class = classes.class(Priority(priority));
    let queue = here.links.ports[port].queue(class);
    if bypass {
        return look_at_bypassed(here, victims, line, (port, class), queue, end);
    }
    let held_back = held_back_by(priority, paused, classes);
    let is_held_back = |priority: Priority| held_back >> priority.0 & 1 != 0;
    if let Some(list) = in_one_list(here, queue) {
        let flows = victims.flows.clone();
        line.advance(list, &here.buffers.pool, end, &flows, &mut victims.in_line);
        for one in line.flows.iter().filter(|one| is_held_back(one.priority)) {
            victims.stands(one.flow, one.since);
        }
    } else {
        for one in
            held::frames_for(here, queue).filter(|one| is_held_back(one.frame.priority()) && one.since < end)
        {
            victims.stands(victims.flows[one.frame.path.at()], one.since);
        }
    }
    let ready = here.links.nics[port].iter().flat_map(|nic| nic.line(class));
    for (path, priority, since) in ready.filter_map(|entry| limiter_places::stands_for(here, entry)) {
        if is_held_back(priority) && since < end {
            victims.stands(victims.flows[path.at()], since);
        }
    }
    victims.present.sort_unstable();
}

/// Variant of `look` for a wait of the bypass queues of a class.
fn look_at_bypassed(
    here: &NodeView,
    victims: &mut Victims,
    line: &mut Line,
    (port, class): (PortIx, TrafficClass),
    queue: QueueIx,
    end: Time,
) {
    if let Some(found) = in_one_bypass(here, queue) {
        let flows = victims.flows.clone();
        line.advance(found, &here.buffers.pool, end, &flows, &mut victims.in_line);
        line.flows.iter().for_each(|one| victims.stands(one.flow, one.since));
    } else {
        for one in credit_waits::bypassed_for(here, queue).filter(|one| one.since < end) {
            victims.stands(victims.flows[one.frame.path.at()], one.since);
        }
    }
    let ready = here.links.nics[port].iter().flat_map(|nic| nic.line(class));
    for entry in ready.filter(|&entry| endpoint_ways::may_be_bypassed(here, entry)) {
        if let Some((path, _, since)) = limiter_places::stands_for(here, entry).filter(|one| one.2 < end) {
            victims.stands(victims.flows[path.at()], since);
        }
    }
    victims.present.sort_unstable();
}

/// Returns the list that holds all frames for a queue and their number, if there is a single list.
fn in_one_list(here: &NodeView, queue: QueueIx) -> Option<Found<'_>> {
    let node = &here.nodes[here.node_of[here.links.place_of_queue(queue).0]];
    let [list] = here.buffers.lists(queue) else { return None };
    let frames = here.buffers.queues[queue].occupancy.frames;
    node.architecture.crossbar().is_none().then_some(Found { list, frames, left: None })
}

/// Returns the bypass queue of a class, if it is a single list.
fn in_one_bypass(here: &NodeView, queue: QueueIx) -> Option<Found<'_>> {
    let node = &here.nodes[here.node_of[here.links.place_of_queue(queue).0]];
    let (list, frames, left) = here.buffers.one_bypass(queue)?;
    let found = Found { list, frames: frames.into(), left: Some(left) };
    node.architecture.crossbar().is_none().then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::state::pool::{List, Pool};
    use crate::run::state::victims::{BlockedFlow, PausedPlace, Seen};
    use frame::{Frame, PathId};
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn us(us: u64) -> Time {
        Time::from_us(us)
    }

    #[test]
    fn one_entry_from_the_first_pause_to_the_last() {
        let mut place = PausedPlace::default();
        // Pauses from 10, 20, 30 and 40 us. Flow 1 is queued throughout, flow 2 leaves after the second pause, flow 3
        // arrives in the third and stays, flow 4 is absent in between.
        place.ended(us(10), &[(1, us(5)), (2, us(9)), (4, us(11))], Time::ZERO);
        place.ended(us(20), &[(1, us(5)), (2, us(9))], Time::ZERO);
        place.ended(us(30), &[(1, us(29)), (3, us(31)), (4, us(30))], Time::ZERO);
        place.ended(us(40), &[(1, us(38)), (3, us(31))], Time::ZERO);
        let mut held: Vec<_> = place.held().map(|one| (one.flow, one.first, one.last, one.since)).collect();
        held.sort_unstable();
        let expected =
            [(1, 0, 3, us(5)), (2, 0, 1, us(9)), (3, 2, 3, us(31)), (4, 0, 0, us(11)), (4, 2, 2, us(30))];
        assert_eq!(held, expected);
    }

    #[test]
    fn a_flow_that_went_and_came_back_in_a_pause_begins_anew() {
        let mut place = PausedPlace::default();
        place.ended(us(10), &[(7, us(1))], Time::ZERO);
        place.ended(us(20), &[(7, us(22))], Time::ZERO);
        let held: Vec<_> = place.held().copied().collect();
        let one = |number, since| BlockedFlow { flow: 7, first: number, last: number, since };
        assert_eq!(held, [one(0, us(1)), one(1, us(22))]);
    }

    proptest! {
        /// Reading only new entries finds the queued flows, and the arrival times of those that arrived since the last
        /// reading.
        #[test]
        fn a_line_knows_what_reading_the_whole_queue_would(
            steps in prop::collection::vec((0u8..4, 0u32..5, 0u8..2, 0u64..3), 1..200), counts: bool,
        ) {
            let flows: Vec<u32> = (0..5).collect();
            let (mut pool, mut list, mut line, mut seen) = (Pool::new(), List::EMPTY, Line::default(), Seen::default());
            let (mut now, mut frames, mut left, mut looked) = (Time::ZERO, 0, u32::MAX - 9, Time::ZERO);
            for (what, flow, priority, later) in steps {
                now += Time::from_ps(later);
                match what {
                    0 | 1 => {
                        let frame = Frame { path: PathId(flow), ..Frame::default() }.at(Priority(priority));
                        pool.push(&mut list, &frame, now, None);
                        frames += 1;
                    }
                    2 if frames > 0 => {
                        pool.pop(&mut list);
                        frames -= 1;
                        left = left.wrapping_add(1);
                    }
                    _ => {
                        let found = Found { list: &list, frames, left: counts.then_some(left) };
                        line.advance(found, &pool, now, &flows, &mut seen);
                        let mut found: Vec<_> =
                            line.flows.iter().map(|one| (one.flow, one.priority.0, one.since.max(looked))).collect();
                        found.sort_unstable();
                        let mut all: BTreeMap<(u32, u8), Time> = BTreeMap::new();
                        for one in pool.iter(&list).filter(|one| one.since < now) {
                            all.entry((one.frame.path.0, one.frame.priority().0)).or_insert(one.since.max(looked));
                        }
                        let expected: Vec<_> = all.into_iter().map(|((flow, of), since)| (flow, of, since)).collect();
                        prop_assert_eq!(found, expected);
                        looked = now;
                    }
                }
            }
        }
    }

    #[test]
    fn frames_of_one_time_may_get_to_a_bypass_queue_one_after_the_other() {
        let (mut pool, mut list, mut line, mut seen) =
            (Pool::new(), List::EMPTY, Line::default(), Seen::default());
        let mut look = |list: &List, pool: &Pool, left| {
            let found = Found { list, frames: 1, left: Some(left) };
            line.advance(found, pool, us(9), &[0, 1], &mut seen);
            line.flows.iter().map(|one| one.flow).collect::<Vec<_>>()
        };
        let frame = |path| Frame { path: PathId(path), ..Frame::default() };
        pool.push(&mut list, &frame(0), us(5), None);
        assert_eq!(look(&list, &pool, 3), [0]);
        assert_eq!(look(&list, &pool, 3), [0], "the flow is still queued");
        pool.pop(&mut list);
        pool.push(&mut list, &frame(1), us(5), None);
        assert_eq!(look(&list, &pool, 4), [1]);
    }

    #[test]
    fn a_pause_holds_back_what_shares_its_queue() {
        let separate = ClassMap::SEPARATE;
        assert_eq!(held_back_by(3, 1 << 3, separate), 1 << 3);
        // With all priorities in one queue, a priority that is not paused itself is counted once.
        let one = ClassMap::SHARED;
        assert_eq!(held_back_by(3, 0b11000, one), 0b1110_1111);
        assert_eq!(held_back_by(4, 0b11000, one), 0b0001_0000);
        assert_eq!(held_back_by(4, 0xFF, one), 0b0001_0000);
    }
}
