//! Whom pauses hold back: the flows that stand at a port while it is paused.
//!
//! No frame leaves a queue while it is paused. So who stands there when a pause ends, with the time at which each came, is
//! all that the pause has held back: one look at the queue a pause, and nothing for a frame. Endpoints that stand in line
//! at a paused class of a NIC count as well, though their frames are not made yet; of a rate limiter in line, whose frame is
//! the next.
//!
//! A flow that stands at a port from one pause to the next is one entry, not one a pause: [`Held`].
//!
//! Not modelled: what a watchdog drops or sends in spite of a pause does not stand there when it ends.

use crate::run::probes::PauseRecord;
use crate::run::world::Fabric;
use frame::{ClassMap, Priority};
use std::collections::BTreeMap;
use std::sync::Arc;
use units::Time;

/// A flow stood at a port from one of its pauses to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Held {
    pub flow: u32,
    /// The pauses of the port and priority, counted from 0 in the order of time.
    pub first: u32,
    pub last: u32,
    /// When it came, if that was after the first of them had begun.
    pub since: Time,
}

/// A port and a priority that have been paused.
#[derive(Debug, Default)]
pub(crate) struct PausedPlace {
    /// Pauses that have ended.
    pauses: u32,
    /// Those who stood there in the last of them, by flow, and those who had gone before.
    standing: Vec<Held>,
    gone: Vec<Held>,
}

/// When a flow was seen last: in which look, and its place among those present.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    look: u32,
    at: u32,
}

/// All paused ports of a part of the fabric.
#[derive(Debug, Default)]
pub(crate) struct Victims {
    /// By path.
    flows: Arc<[u32]>,
    places: BTreeMap<(u32, u8), PausedPlace>,
    /// Scratch: flows that stand in a queue, and since when; by flow, the look that it was seen by last.
    present: Vec<(u32, Time)>,
    seen: Vec<Seen>,
    looks: u32,
}

impl PausedPlace {
    /// One more pause, that began at `start`, has ended, and these flows stand there, sorted.
    fn ended(&mut self, start: Time, present: &[(u32, Time)]) {
        let number = self.pauses;
        self.pauses += 1;
        let old = std::mem::take(&mut self.standing);
        let mut old = old.into_iter().peekable();
        for &(flow, since) in present {
            while let Some(other) = old.next_if(|held| held.flow < flow) {
                self.gone.push(other);
            }
            let before = old.next_if(|held| held.flow == flow);
            match before {
                Some(held) if since <= start => self.standing.push(Held { last: number, ..held }),
                _ => {
                    self.gone.extend(before);
                    self.standing.push(Held { flow, first: number, last: number, since });
                }
            }
        }
        self.gone.extend(old);
    }

    /// All who have stood there.
    pub fn held(&self) -> impl Iterator<Item = &Held> {
        self.gone.iter().chain(&self.standing)
    }
}

impl Victims {
    /// Nobody is held back yet; `flows` has the flow of each path.
    pub fn new(flows: Arc<[u32]>) -> Victims {
        Victims { flows, ..Victims::default() }
    }

    /// Notes that a flow stands there since then: the earliest counts.
    fn stands(&mut self, path: usize, since: Time) {
        let flow = self.flows[path];
        if self.seen.len() <= flow as usize {
            self.seen.resize(flow as usize + 1, Seen::default());
        }
        let seen = &mut self.seen[flow as usize];
        if seen.look == self.looks {
            let entry = &mut self.present[seen.at as usize];
            entry.1 = entry.1.min(since);
        } else {
            *seen = Seen { look: self.looks, at: self.present.len() as u32 };
            self.present.push((flow, since));
        }
    }

    /// Who has stood at the paused ports of this part.
    pub fn places(&self) -> impl Iterator<Item = ((u32, u8), &PausedPlace)> {
        self.places.iter().map(|(&place, state)| (place, state))
    }

    /// Bytes of all of them.
    pub fn memory_bytes(&self) -> usize {
        let of = |place: &PausedPlace| {
            size_of::<((u32, u8), PausedPlace)>()
                + (place.standing.capacity() + place.gone.capacity()) * size_of::<Held>()
        };
        self.places.values().map(of).sum::<usize>() + self.seen.capacity() * size_of::<Seen>()
    }
}

/// Which priorities a pause holds back: its own, and those of the same class that are not paused themselves, which count
/// for the lowest of the `paused` ones.
fn held_back_by(priority: u8, paused: u8, classes: ClassMap) -> u8 {
    let own = 1 << priority;
    let together = classes.priorities(classes.class(Priority(priority)));
    let lowest = (together & paused).trailing_zeros() == u32::from(priority);
    if lowest { own | together & !paused } else { own }
}

impl Fabric {
    /// The pauses of a port that are recorded from place `first` on have just ended: notes who stood there.
    pub fn note_held(&mut self, port: u32, first: usize, now: Time) {
        let ended = self.probes.pauses.as_ref().map_or(0, Vec::len);
        if first >= ended {
            return;
        }
        let mut paused = self.links.cold[port as usize].control.priorities_in_force();
        let records: Vec<PauseRecord> =
            self.probes.pauses.iter().flat_map(|pauses| &pauses[first..]).copied().collect();
        records.iter().for_each(|record| paused |= 1 << record.priority);
        for record in records {
            let Some(mut victims) = self.probes.victims.take() else { return };
            self.look(&mut victims, port, record.priority, paused, record.end.min(now));
            let Victims { places, present, .. } = &mut *victims;
            places.entry((port, record.priority)).or_default().ended(record.start, present);
            self.probes.victims = Some(victims);
        }
    }

    /// Notes who stands at a port that is still paused, as if its pauses had ended by `end`.
    pub fn standing(&self, port: u32, priority: u8, end: Time) -> Vec<(u32, Time)> {
        let Some(own) = &self.probes.victims else { return Vec::new() };
        let mut victims = Victims::new(own.flows.clone());
        let paused = self.links.cold[port as usize].control.priorities_in_force();
        self.look(&mut victims, port, priority, paused, end);
        victims.present
    }

    /// Looks at who is held back by a pause of a priority that is over at `end`: `present`, by flow.
    fn look(&self, victims: &mut Victims, port: u32, priority: u8, paused: u8, end: Time) {
        victims.looks += 1;
        victims.present.clear();
        let classes = self.nodes[self.node_of[port as usize] as usize].classes;
        let class = classes.class(Priority(priority));
        let held_back = held_back_by(priority, paused, classes);
        let queue = self.links.ports[port as usize].first_queue + u32::from(class.0);
        for one in self.frames_for(queue) {
            if held_back >> one.frame.priority.0 & 1 != 0 && one.since < end {
                victims.stands(one.frame.path.at(), one.since);
            }
        }
        let line = self.links.cold[port as usize].nic.iter().flat_map(|nic| &nic.ready[class.at()]);
        for (path, priority, since) in line.filter_map(|&entry| self.stands_for(entry)) {
            if held_back >> priority.0 & 1 != 0 && since < end {
                victims.stands(path.at(), since);
            }
        }
        victims.present.sort_unstable();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(us: u64) -> Time {
        Time::from_us(us)
    }

    #[test]
    fn one_entry_from_the_first_pause_to_the_last() {
        let mut place = PausedPlace::default();
        // Pauses from 10, 20, 30 and 40 us. Flow 1 stands there all the time, 2 leaves after the second, 3 comes in the
        // third and stays, 4 is away in between.
        place.ended(us(10), &[(1, us(5)), (2, us(9)), (4, us(11))]);
        place.ended(us(20), &[(1, us(5)), (2, us(9))]);
        place.ended(us(30), &[(1, us(29)), (3, us(31)), (4, us(30))]);
        place.ended(us(40), &[(1, us(38)), (3, us(31))]);
        let mut held: Vec<_> = place.held().map(|one| (one.flow, one.first, one.last, one.since)).collect();
        held.sort_unstable();
        let expected =
            [(1, 0, 3, us(5)), (2, 0, 1, us(9)), (3, 2, 3, us(31)), (4, 0, 0, us(11)), (4, 2, 2, us(30))];
        assert_eq!(held, expected);
    }

    #[test]
    fn a_flow_that_went_and_came_back_in_a_pause_begins_anew() {
        let mut place = PausedPlace::default();
        place.ended(us(10), &[(7, us(1))]);
        place.ended(us(20), &[(7, us(22))]);
        let held: Vec<_> = place.held().copied().collect();
        let one = |number, since| Held { flow: 7, first: number, last: number, since };
        assert_eq!(held, [one(0, us(1)), one(1, us(22))]);
    }

    #[test]
    fn a_pause_holds_back_what_shares_its_queue() {
        let separate = ClassMap::SEPARATE;
        assert_eq!(held_back_by(3, 1 << 3, separate), 1 << 3);
        // All in one queue: what is not paused itself is counted once.
        let one = ClassMap::SHARED;
        assert_eq!(held_back_by(3, 0b11000, one), 0b1110_1111);
        assert_eq!(held_back_by(4, 0b11000, one), 0b0001_0000);
        assert_eq!(held_back_by(4, 0xFF, one), 0b0001_0000);
    }
}
