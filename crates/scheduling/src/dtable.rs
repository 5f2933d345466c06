//! DTable: the deficit table, an arbitration table that shares bytes instead of packets.
//!
//! Each entry has a queue and a weight in credits. An entry whose queue may send adds its weight to the deficit
//! counter of the queue. Frames are sent while the counter covers them, and the remainder is kept for the next entry
//! of the queue. A queue loses its deficit if it is empty or lacks credits for its head after the transmission of a
//! frame in its visit. A queue that lacks credits between its visits keeps its deficit. If all entries of a queue are
//! adjacent, this is deficit round robin. If they are distributed, their spacing determines the latency.
//!
//! If each weight is at least the largest frame in credits (34 for the 2176 B of Advanced Switching), every entry can
//! send a frame, and one entry may then send up to twice that less one credit.
//!
//! Source: Martinez 2006 §4.
//!
//! Not modelled: the six-bit deficit counters of the paper's memory estimate (counters are wide here).

use crate::accounted_length::{accounted, count};
use crate::table::{self, KEY, Table};
use crate::{Basis, Configuration, Discipline, LatencyRate, PortFacts, PortLength};
use keys::{Forms, Remark, Remarks, by_form};
use schemars::JsonSchema;
use serde::de::value::{I64Deserializer, MapAccessDeserializer};
use serde::de::{Error, MapAccess};
use serde::{Deserialize, Serialize};
use units::{BitRate, Bytes, Time};

/// An entry of the deficit table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Entry {
    /// A traffic class.
    Class(u32),
    /// A traffic class with its own credits.
    Own(WeightedEntry),
}

/// A traffic class with its credits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WeightedEntry {
    /// Traffic class of the entry. A class number, 0 to 7. Required.
    pub class: u32,
    /// Weight of the entry: credits added to the deficit counter. A count, 1 to 65536. Required.
    pub weight: u32,
}

impl Forms for Entry {
    const EXPECTED: &'static str = "a class number, or a table with class and weight";
    fn number<E: Error>(number: i64) -> Result<Entry, E> {
        u32::deserialize(I64Deserializer::new(number)).map(Entry::Class)
    }
    fn table<'de, A: MapAccess<'de>>(table: A) -> Result<Entry, A::Error> {
        WeightedEntry::deserialize(MapAccessDeserializer::new(table)).map(Entry::Own)
    }
}
by_form!(Entry);

impl Entry {
    fn queue(&self) -> u32 {
        match *self {
            Entry::Class(class) | Entry::Own(WeightedEntry { class, .. }) => class,
        }
    }
}

/// Returns 34 credits of 64 B: 2176 B, the largest frame of Advanced Switching.
fn largest_frame() -> u32 {
    34
}
fn credit() -> Bytes {
    Bytes::new(64)
}

accounted! {
    /// Keys of the deficit table.
    pub struct DTableParams accounts frame {
        /// Arbitration table: 32, 64, 128, 256, 512 or 1024 entries, each a traffic class or {class, weight}. Every class must occur. Required.
        pub entries: Vec<Entry>,
        /// Weight of entries without `weight`, in credits. A count, 1 to 65536. Default: 34 (the largest frame of Advanced Switching in credits of 64 B).
        #[serde(default = "largest_frame")]
        #[schemars(range(min = 1, max = 65536))]
        pub weight: u32,
        /// Bytes per credit. A size, "1 B" to "64 KiB". Default: "64 B" (Advanced Switching).
        #[serde(default = "credit")]
        pub credit: Bytes,
    }
}

impl DTableParams {
    const LARGEST_PART: u32 = 65_536;

    /// Creates the table of Advanced Switching: every entry adds `weight` credits (34 for an MTU of 2176 B).
    pub fn uniform(queues: impl IntoIterator<Item = u32>, weight: u32) -> DTableParams {
        DTableParams {
            entries: queues.into_iter().map(Entry::Class).collect(),
            weight,
            credit: credit(),
            accounted_length: Basis::Frame,
            per_frame: Bytes::default(),
            cell: Bytes::default(),
        }
    }
    fn credits(&self, bytes: u32, port: &PortFacts) -> u32 {
        self.accounted_length().at(port).of(bytes).div_ceil(count(self.credit))
    }
    fn weight(&self, entry: &Entry) -> u32 {
        match *entry {
            Entry::Class(_) => self.weight,
            Entry::Own(WeightedEntry { weight, .. }) => weight,
        }
    }
    fn weights(&self) -> Vec<u32> {
        self.entries.iter().map(|entry| self.weight(entry)).collect()
    }
    fn queues(&self) -> Vec<u32> {
        self.entries.iter().map(Entry::queue).collect()
    }
}

impl Configuration for DTableParams {
    type Machine = DTable;

    fn check(&self, port: &PortFacts) -> Remarks {
        self.accounted_length().check()?;
        let most = Self::LARGEST_PART;
        let accepted = 1..=most;
        if !accepted.contains(&count(self.credit)) {
            let message = format!("a credit is {} B", self.credit.get());
            return Err(Remark::about("credit", message, format!("accepted are 1 to {most} B")));
        }
        table::check(self.queues().into_iter(), port.queues)?;
        let weights = self.weights();
        if let Some(at) = weights.iter().position(|weight| !accepted.contains(weight)) {
            let help = format!("accepted are 1 to {most}");
            return Err(match self.entries[at] {
                Entry::Class(_) => {
                    Remark::about("weight", format!("an entry has weight {}", weights[at]), help)
                }
                Entry::Own(WeightedEntry { weight, .. }) => {
                    Remark::about(KEY, format!("entry {at} of the table has weight {weight}"), help).entry(at)
                }
            });
        }
        let largest = self.credits(port.largest_frame, port);
        let small = weights.iter().filter(|&&weight| weight < largest).count();
        let warning = format!(
            "{small} entries of the table have weights below the largest frame ({largest} credits): their queues can be \
             skipped for some cycles, delays grow and a decision is no longer constant in time"
        );
        let shares_weight = self.entries.iter().any(|entry| matches!(entry, Entry::Class(_)));
        let unused = (!shares_weight && self.weight != largest_frame())
            .then(|| keys::unused("weight", "an entry that is only a class"));
        Ok((small > 0).then(|| Remark::new(warning, "")).into_iter().chain(unused).collect())
    }
    fn start(&self, port: &PortFacts) -> DTable {
        let mut slots = vec![Slot { deficit: 0, head: 0, cycle: 0 }; port.queues as usize];
        for entry in &self.entries {
            slots[entry.queue() as usize].cycle += u64::from(self.weight(entry));
        }
        DTable {
            length: self.accounted_length().at(port),
            credit: count(self.credit),
            table: Table::new(self.queues(), port.queues),
            weights: self.weights(),
            queues: slots,
            position: 0,
            visiting: false,
        }
    }
    /// Returns the bound of DRR, with the quantum spread over the entries.
    fn latency_rate_bound(&self, queue: u32, port: &PortFacts) -> Option<LatencyRate> {
        // All amounts are in bytes of whole credits.
        let credit = f64::from(count(self.credit));
        let rate = port.slowest_per_s(|bytes| self.credits(bytes, port)) * credit;
        let (queues, weights) = (self.queues(), self.weights());
        let weight = |at: usize| f64::from(weights[at]) * credit;
        let all: f64 = (0..queues.len()).map(weight).sum();
        let own: f64 = (0..queues.len()).filter(|&at| queues[at] == queue).map(weight).sum();
        let deficit = f64::from(self.credits(port.largest_frame, port) - 1) * credit;
        let certain = rate * own / all;
        let extra = (f64::from(port.queues) - 1.0) * deficit;
        // The entry in progress may belong to another queue, and is counted in full.
        let under_way = (0..queues.len()).filter(|&at| queues[at] != queue).map(weight).fold(0.0, f64::max);
        let latency =
            table::latency(&queues, queue, weight, weight, (extra + under_way, deficit), (certain, rate));
        Some(LatencyRate::new(certain, latency))
    }
}

/// The table, the current position, and the deficits.
#[derive(Clone, Debug)]
pub struct DTable {
    length: PortLength,
    credit: u32,
    table: Table,
    /// Weight of each entry in credits.
    weights: Vec<u32>,
    queues: Vec<Slot>,
    /// The entry being visited, or the next one to check.
    position: u32,
    /// True if the weight of the entry at `position` has been added.
    visiting: bool,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    deficit: u64,
    /// Credits that the head needs.
    head: u64,
    /// Credits of all the queue's entries.
    cycle: u64,
}

impl DTable {
    #[inline]
    fn credits(&self, bytes: u32) -> u64 {
        let accounted = self.length.of(bytes);
        u64::from(if self.credit == 64 { accounted.div_ceil(64) } else { accounted.div_ceil(self.credit) })
    }
    /// Handles whole cycles in which no queue could send: adds the credits of all further such cycles at once.
    #[cold]
    fn skip_cycles(&mut self) {
        let active: Vec<usize> =
            (0..self.queues.len()).filter(|&queue| self.table.is_active(queue as u32)).collect();
        let idle = active.iter().map(|&queue| {
            let slot = &self.queues[queue];
            (slot.head - slot.deficit - 1) / slot.cycle.max(1)
        });
        let idle = idle.min().unwrap_or(0);
        for queue in active {
            let slot = &mut self.queues[queue];
            slot.deficit += idle * slot.cycle;
        }
    }
    /// Returns the deficit of a queue in credits.
    pub fn deficit(&self, queue: u32) -> u64 {
        self.queues[queue as usize].deficit
    }
}

impl Discipline for DTable {
    #[inline]
    fn activate(&mut self, queue: u32, head: u32, _now: Time) {
        let head = self.credits(head);
        self.queues[queue as usize].head = head;
        self.table.activate(queue);
    }
    #[inline]
    fn deactivate(&mut self, queue: u32, _now: Time) {
        if self.table.is_active(queue) {
            self.table.deactivate(queue);
            // The queue is no longer active, so its visit ends.
            if self.visiting && self.table.queue(self.position) == queue {
                self.queues[queue as usize].deficit = 0;
                self.visiting = false;
                self.position = self.table.after(self.position);
            }
        }
    }
    #[inline]
    fn pick(&mut self, _now: Time) -> Option<u32> {
        let mut looked_at = 0;
        loop {
            if !self.visiting {
                self.position = self.table.next(self.position)?;
                let queue = self.table.queue(self.position) as usize;
                self.queues[queue].deficit += u64::from(self.weights[self.position as usize]);
                self.visiting = true;
            }
            let queue = self.table.queue(self.position);
            let slot = &self.queues[queue as usize];
            if slot.head <= slot.deficit {
                return Some(queue);
            }
            self.visiting = false;
            self.position = self.table.after(self.position);
            looked_at += 1;
            if looked_at > self.weights.len() {
                self.skip_cycles();
                looked_at = 0;
            }
        }
    }
    #[inline]
    fn sent(&mut self, queue: u32, _bytes: u32, _now: Time) {
        let slot = &mut self.queues[queue as usize];
        slot.deficit = slot.deficit.saturating_sub(slot.head);
    }
    #[inline]
    fn completed(&mut self, queue: u32, next: Option<u32>, now: Time) {
        match next {
            Some(head) => self.replace_head(queue, head, now),
            None => self.deactivate(queue, now),
        }
    }
    #[inline]
    fn replace_head(&mut self, queue: u32, head: u32, _now: Time) {
        self.queues[queue as usize].head = self.credits(head);
    }
    fn on_link_rate(&mut self, _rate: BitRate, _now: Time) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AccountedLength;
    use crate::testbed::{Serve, order_of, port};

    #[test]
    fn golden_vector_12() {
        let params = DTableParams::uniform([0, 1, 0, 2], 34);
        let mut dtable = params.start(&port(3));
        let heads = [20 * 64, 34 * 64, 5 * 64];
        (0..3).for_each(|queue| dtable.activate(queue, heads[queue as usize], Time::ZERO));
        let mut visits: Vec<(u32, u32, u64)> = Vec::new();
        let mut position = u32::MAX;
        while visits.len() < 9 {
            let queue = dtable.pick(Time::ZERO).unwrap();
            dtable.serve(queue, heads[queue as usize], Some(heads[queue as usize]), Time::ZERO);
            if position != dtable.position {
                visits.push((queue, 0, 0));
                position = dtable.position;
            }
            let visit = visits.last_mut().unwrap();
            *visit = (queue, visit.1 + 1, dtable.deficit(queue));
        }
        let expected =
            [(0, 1, 14), (1, 1, 0), (0, 2, 8), (2, 6, 4), (0, 2, 2), (1, 1, 0), (0, 1, 16), (2, 7, 3)];
        assert_eq!(visits[..8], expected);
    }

    #[test]
    fn consecutive_entries_are_deficit_round_robin() {
        let table = [vec![0; 3], vec![1; 1]].concat();
        let mut dtable = DTableParams::uniform(table, 34).start(&port(2));
        let accounted = AccountedLength { cell: 64, ..AccountedLength::FRAME };
        let drr = crate::DrrParams::with_quanta(&[3 * 34 * 64, 34 * 64], accounted);
        let queues = [vec![1000; 30], vec![2176; 10]];
        let share = |order: &[u32]| order[..20].iter().filter(|&&queue| queue == 0).count();
        let (a, b) = (order_of(&mut dtable, &queues), order_of(&mut drr.start(&port(2)), &queues));
        assert_eq!(share(&a), share(&b));
    }

    #[test]
    fn a_queue_without_credits_loses_its_deficit_and_its_visit() {
        let mut dtable = DTableParams::uniform([0, 1], 34).start(&port(2));
        dtable.activate(0, 64, Time::ZERO);
        dtable.activate(1, 64, Time::ZERO);
        assert_eq!(dtable.pick(Time::ZERO), Some(0));
        dtable.serve(0, 64, None, Time::ZERO);
        assert_eq!(dtable.pick(Time::ZERO), Some(1));
        dtable.activate(0, 64, Time::ZERO);
        assert_eq!(dtable.deficit(0), 0);
        assert_eq!(dtable.pick(Time::ZERO), Some(1));
    }

    #[test]
    fn small_weights_skip_cycles_at_once() {
        let mut params = DTableParams::uniform([0, 1], 1);
        params.entries[1] = Entry::Own(WeightedEntry { class: params.entries[1].queue(), weight: 3 });
        let order = order_of(&mut params.start(&port(2)), &[vec![9000; 4], vec![9000; 12]]);
        assert_eq!(order[..8], [1, 1, 0, 1, 1, 1, 0, 1]);
    }

    #[test]
    fn what_is_no_deficit_table() {
        let params = DTableParams::uniform([0, 1].repeat(16), 34);
        assert_eq!(params.check(&port(2)), Ok(vec![]));
        assert!(
            DTableParams::uniform([0, 1].repeat(16), 0).check(&port(2)).unwrap_err().contains("weight 0")
        );
        assert!(
            DTableParams { credit: Bytes::new(0), ..params }
                .check(&port(2))
                .unwrap_err()
                .contains("a credit is 0 B")
        );
        let warnings = DTableParams::uniform([0, 1].repeat(16), 10).check(&port(2)).unwrap();
        assert!(warnings[0].contains("32 entries") && warnings[0].contains("24 credits"), "{warnings:?}");
    }
}
