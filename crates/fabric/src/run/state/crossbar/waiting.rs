//! Access to the frames that wait in a crossbar, and to their outputs: for tables, forensics and the deadlock detector.

use crate::run::state::crossbar::{Crossbar, of};
use crate::run::state::index::PortIx;
use crate::run::state::pool::{List, Pool, Waiting};
use frame::TrafficClass;
use queueing::Room;
use units::Time;

impl Crossbar {
    /// Returns the start of the wait and the length of each frame at an input.
    pub fn waiting_at<'a>(&'a self, input: usize, pool: &'a Pool) -> impl Iterator<Item = (Time, u16)> + 'a {
        let each = self.lists.len() / self.ports;
        of(pool, &self.lists[input * each..][..each])
    }

    /// Returns the output and class for which most bytes of these classes wait at an input. A frame behind another one
    /// counts for the output of that frame.
    pub fn most_requested(
        &self,
        ingress: PortIx,
        classes: u32,
        pool: &Pool,
    ) -> Option<(PortIx, TrafficClass)> {
        let each = self.lists.len() / self.ports;
        let own = &self.lists[self.nth(ingress) * each..][..each];
        let requested_outputs = own
            .iter()
            .enumerate()
            .filter(|(at, list)| classes >> self.class_at(at % self.lanes).0 & 1 != 0 && !list.is_empty());
        let bytes = |list: &List| pool.iter(list).map(|one| u64::from(one.frame.bytes)).sum::<u64>();
        let most = requested_outputs.max_by_key(|(at, list)| (bytes(list), std::cmp::Reverse(*at)))?;
        Some((pool.first(most.1).across?, self.class_at(most.0 % self.lanes)))
    }

    /// Returns true if the longest frame of a class would fit at an output, in all its lanes.
    pub fn has_room(&self, egress: PortIx, class: TrafficClass) -> bool {
        let output = self.nth(egress);
        let held = |lane: usize| self.held[output * self.lanes + lane];
        self.lanes_of(class).all(|lane| held(lane) + self.longest <= self.keys.output_buffer.get())
    }

    /// Returns the frames that wait at inputs for a class of an output.
    pub fn waiting_for<'a>(
        &'a self,
        egress: PortIx,
        class: TrafficClass,
        pool: &'a Pool,
    ) -> impl Iterator<Item = &'a Waiting> {
        self.waiting_in(egress, self.lanes_of(class), pool)
    }

    /// Returns the frames that wait for a class of an output in the bypass queues at the inputs.
    pub fn bypassed_for<'a>(
        &'a self,
        egress: PortIx,
        class: TrafficClass,
        pool: &'a Pool,
    ) -> impl Iterator<Item = &'a Waiting> {
        self.waiting_in(egress, self.lanes_of(class).skip(1), pool)
    }

    /// Returns the frames that wait at inputs in these lanes for an output.
    fn waiting_in<'a>(
        &'a self,
        egress: PortIx,
        lanes: impl Iterator<Item = usize> + 'a,
        pool: &'a Pool,
    ) -> impl Iterator<Item = &'a Waiting> {
        let output = self.nth(egress);
        let at_inputs = move |lane| (0..self.ports).map(move |input| self.list(input, output, lane));
        let lists = lanes.flat_map(at_inputs).map(|list| &self.lists[list]);
        lists.flat_map(|list| pool.iter(list)).filter(move |one| one.across == Some(egress))
    }

    /// Returns the frames at inputs that wait for an output without space, directly or behind other frames, each with
    /// its ingress port.
    pub fn stuck_behind<'a>(
        &'a self,
        egress: PortIx,
        class: TrafficClass,
        pool: &'a Pool,
    ) -> impl Iterator<Item = (PortIx, &'a Waiting)> {
        let output = self.nth(egress);
        let stuck = move |lane: usize, list: &List| {
            let held = self.held[output * self.lanes + lane];
            let needs = match self.keys.room {
                Room::Frame => u64::from(pool.head(list).bytes),
                Room::Longest => self.longest,
            };
            pool.first(list).across == Some(egress) && held + needs > self.keys.output_buffer.get()
        };
        let lists = self.lanes_of(class).flat_map(move |lane| {
            (0..self.ports).map(move |input| (input, lane, &self.lists[self.list(input, output, lane)]))
        });
        let stuck = lists.filter(move |(_, lane, list)| !list.is_empty() && stuck(*lane, list));
        stuck.flat_map(move |(input, _, list)| pool.iter(list).map(move |one| (self.port(input), one)))
    }
}
