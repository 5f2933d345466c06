//! The virtual channel (VC) arbitration table of Advanced Switching: weighted round robin by packets.
//!
//! The scheduler cycles through a table of queue numbers. At an entry whose queue may send, it sends one frame of any
//! size; other entries are skipped. A queue's share of the frames is its share of the entries, and the spacing of its
//! entries determines its latency. Queues with large frames get more than their share of the bytes (Martinez 2006,
//! Figure 1a); the deficit table (`dtable`) corrects this.
//!
//! Source: Martinez 2006 §2 (Advanced Switching core specification).
//!
//! Not modelled: loading a new table while the port is active.

use crate::table::{self, Table};
use crate::{AccountedLength, Configuration, Discipline, LatencyRate, PortFacts};
use keys::Remarks;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitRate, Time};

/// Keys of the arbitration table.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VcTableParams {
    /// Arbitration table: the traffic class of each of its 32, 64, 128, 256, 512 or 1024 entries. Every class must occur. Required.
    pub entries: Vec<u32>,
}

impl Configuration for VcTableParams {
    type Machine = VcTable;

    fn check(&self, port: &PortFacts) -> Remarks {
        table::check(self.entries.iter().copied(), port.queues)?;
        Ok(Vec::new())
    }
    fn start(&self, port: &PortFacts) -> VcTable {
        VcTable { table: Table::new(self.entries.clone(), port.queues), position: 0 }
    }
    /// Returns the bound: own entries send the smallest frames, all others the largest.
    fn latency_rate_bound(&self, queue: u32, port: &PortFacts) -> Option<LatencyRate> {
        let rate = port.slowest_bytes_per_s(AccountedLength::WIRE);
        let (smallest, largest) = (
            f64::from(AccountedLength::WIRE.at(port).of(port.smallest_frame)),
            f64::from(port.largest(AccountedLength::WIRE)),
        );
        let own = self.entries.iter().filter(|&&entry| entry == queue).count() as f64;
        let others = self.entries.len() as f64 - own;
        let certain = rate * own * smallest / (own * smallest + others * largest);
        let latency =
            table::latency(&self.entries, queue, |_| largest, |_| smallest, (largest, 0.0), (certain, rate));
        Some(LatencyRate::new(certain, latency))
    }
}

/// The state of the arbitration table: the entries and the current position.
#[derive(Clone, Debug)]
pub struct VcTable {
    table: Table,
    /// The next entry to check.
    position: u32,
}

impl Discipline for VcTable {
    #[inline]
    fn activate(&mut self, queue: u32, _head: u32, _now: Time) {
        self.table.activate(queue);
    }
    #[inline]
    fn deactivate(&mut self, queue: u32, _now: Time) {
        self.table.deactivate(queue);
    }
    #[inline]
    fn pick(&mut self, _now: Time) -> Option<u32> {
        self.table.next(self.position).map(|entry| self.table.queue(entry))
    }
    #[inline]
    fn sent(&mut self, _queue: u32, _bytes: u32, _now: Time) {
        if let Some(entry) = self.table.next(self.position) {
            self.position = self.table.after(entry);
        }
    }
    #[inline]
    fn completed(&mut self, queue: u32, next: Option<u32>, _now: Time) {
        if next.is_none() {
            self.table.deactivate(queue);
        }
    }
    fn replace_head(&mut self, _queue: u32, _head: u32, _now: Time) {}
    fn on_link_rate(&mut self, _rate: BitRate, _now: Time) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testbed::{Serve, order_of, port};

    fn table(pattern: &[u32]) -> VcTableParams {
        VcTableParams { entries: pattern.iter().copied().cycle().take(32).collect() }
    }

    #[test]
    fn entries_in_turn_whatever_the_size() {
        let queues = [vec![64; 16], vec![2176; 8], vec![500; 8]];
        let order = order_of(&mut table(&[0, 1, 0, 2]).start(&port(3)), &queues);
        assert_eq!(order, [0, 1, 0, 2].repeat(8));
    }

    #[test]
    fn the_position_is_kept_while_nothing_may_send() {
        let mut vcs = table(&[0, 1, 2, 3]).start(&port(4));
        vcs.activate(1, 100, Time::ZERO);
        assert_eq!(vcs.pick(Time::ZERO), Some(1));
        vcs.serve(1, 100, None, Time::ZERO);
        assert_eq!(vcs.pick(Time::ZERO), None);
        (0..4).for_each(|queue| vcs.activate(queue, 100, Time::ZERO));
        assert_eq!(vcs.pick(Time::ZERO), Some(2));
        vcs.deactivate(2, Time::ZERO);
        assert_eq!(vcs.pick(Time::ZERO), Some(3));
    }

    #[test]
    fn what_is_no_table() {
        let check = |entries: Vec<u32>, queues| VcTableParams { entries }.check(&port(queues)).unwrap_err();
        assert!(check(vec![0; 48], 1).contains("accepted are 32, 64"));
        assert!(check(vec![7; 32], 4).contains("entry 0 of the table names queue 7"));
        assert!(check(vec![0; 64], 2).contains("no entry of the table names queue 1"));
        assert!(check((0..512).collect(), 512).contains("eight bits"));
        assert!(table(&[0, 1]).check(&port(2)).is_ok());
    }
}
