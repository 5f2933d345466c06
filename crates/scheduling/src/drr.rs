//! Deficit round robin (DRR), weighted or unweighted.
//!
//! Active queues are visited in turn. At each visit the quantum is added to the deficit counter of the queue, and
//! frames are sent while the counter covers their accounted lengths. The remainder is kept for the next visit. A queue
//! that is empty or stopped by flow control when the transmission of its frame ends loses its deficit, so that it
//! saves up no service. Frames that arrive during that transmission are still part of the visit. With quanta of at
//! least the largest accounted frame every visit sends a frame, and a decision takes constant time. Smaller quanta are
//! allowed, but queues are then skipped in some rounds.
//!
//! Weights w_i give quanta of `quantum` · w_i / min w, so that the smallest weight has exactly this quantum. The
//! ratios are exact even if the quanta are not whole bytes (counters are fractions of a byte). Long-run shares of
//! accounted bytes are proportional to the quanta. A frame is sent if the counter is *at least* its accounted length.
//! The text of Hagen 2012 says "greater", but its worked example requires "at least".
//!
//! Source: Shreedhar and Varghese, "Efficient fair queuing using deficit round-robin", IEEE/ACM Transactions on
//! Networking 4(3), 1996; Hagen 2012 §2.4 (Figure 2-5); memoryless under flow control: Martinez 2006 §3. Delay bound:
//! Boyer, Stea and Sofack, "Deficit round robin with network calculus", VALUETOOLS 2012.
//!
//! Not modelled: the variant that initialises a counter with a quantum before the first visit (Linux); its long-run
//! shares are the same.

use crate::accounted_length::{accounted, count};
use crate::ring::Ring;
use crate::{
    AccountedLength, Configuration, Discipline, LatencyRate, PortFacts, PortLength, Weights, weights,
};
use keys::{Remark, Remarks};
use units::{BitRate, Bytes, Computed, Or, Time};

accounted! {
    /// Keys of deficit round robin.
    pub struct DrrParams accounts wire {
        /// Weights, one for each traffic class, 1 to 1000000 each, or "equal". Default: "equal".
        pub weights: Weights = Weights::Equal,
        /// Quantum of the smallest weight: accounted bytes that it may send per round. A size, "1 B" to "16 MiB", or "computed". Default: "computed" (the accounted length of the longest frame of all flows, the minimum with which no class skips a round; Shreedhar and Varghese 1996).
        pub quantum: Or<Bytes, Computed> = Or::word(),
        /// Quanta, one for each traffic class, instead of `weights` and `quantum`. Sizes, "1 B" to "16 MiB". Default: none (by weights).
        #[serde(skip_serializing_if = "Option::is_none")]
        pub quanta: Option<Vec<Bytes>> = None,
    }
}

impl DrrParams {
    const LARGEST_QUANTUM: u32 = 1 << 24;

    /// Creates DRR with equal quanta of the largest frame.
    pub fn equal(accounted: AccountedLength) -> DrrParams {
        DrrParams::by(accounted)
    }
    /// Creates DRR with quanta in proportion to `weights`.
    pub fn weighted(weights: Vec<u32>, accounted: AccountedLength) -> DrrParams {
        DrrParams { weights: weights.into(), ..DrrParams::by(accounted) }
    }
    /// Creates DRR with these quanta in accounted bytes, one per queue.
    pub fn with_quanta(quanta: &[u32], accounted: AccountedLength) -> DrrParams {
        let quanta = quanta.iter().map(|&quantum| Bytes::new(quantum.into())).collect();
        DrrParams { quanta: Some(quanta), ..DrrParams::by(accounted) }
    }
    /// Returns the quanta in units of 1/scale byte, and the scale.
    fn scaled_quanta(&self, port: &PortFacts) -> (Vec<u64>, u64) {
        if let Some(quanta) = &self.quanta {
            return (quanta.iter().map(|quantum| quantum.get()).collect(), 1);
        }
        let base = self.quantum.value().map_or(port.largest(self.accounted_length()).into(), Bytes::get);
        let weights = self.weights.of(port.queues);
        let least = weights.iter().copied().min().unwrap_or(1);
        (weights.iter().map(|&weight| base * u64::from(weight)).collect(), u64::from(least))
    }
    fn quanta_in_bytes(&self, port: &PortFacts) -> Vec<f64> {
        let (quanta, scale) = self.scaled_quanta(port);
        quanta.iter().map(|&quantum| quantum as f64 / scale as f64).collect()
    }
    /// Returns a warning for each quantum that is smaller than the largest frame.
    fn small_quanta(&self, port: &PortFacts) -> Vec<Remark> {
        let largest = f64::from(port.largest(self.accounted_length()));
        let quanta = self.quanta_in_bytes(port);
        let small = quanta.iter().enumerate().filter(|&(_, &quantum)| quantum < largest);
        let warning = |(queue, &quantum): (usize, &f64)| {
            let rounds = (largest / quantum).ceil();
            let message = format!(
                "the quantum of queue {queue} ({quantum:.0} B) is below the accounted length of the largest frame ({largest:.0} B): the queue \
                 can be skipped for {:.0} of {rounds:.0} rounds, delays grow and a decision is no longer constant in time",
                rounds - 1.0
            );
            match &self.quanta {
                Some(_) => Remark::about("quanta", message, "").entry(queue),
                None => Remark::about("quantum", message, ""),
            }
        };
        small.map(warning).collect()
    }
}

impl Configuration for DrrParams {
    type Machine = Drr;

    fn check(&self, port: &PortFacts) -> Remarks {
        self.accounted_length().check()?;
        self.weights.check(port.queues)?;
        if let Some(quanta) = &self.quanta {
            let quanta: Vec<u32> = quanta.iter().map(|&quantum| count(quantum)).collect();
            weights::check("quanta", "quantum", &quanta, port.queues, Self::LARGEST_QUANTUM)?;
            if self.weights != Weights::Equal || self.quantum.value().is_some() {
                let message = "quanta are given in bytes and by weights";
                return Err(Remark::about("quanta", message, "give one of the two"));
            }
        }
        let base = self.quantum.value().map(Bytes::get);
        if let Some(base) = base.filter(|base| !(1..=Self::LARGEST_QUANTUM.into()).contains(base)) {
            let accepted = format!("accepted are 1 to {} B", Self::LARGEST_QUANTUM);
            return Err(Remark::about("quantum", format!("the base quantum is {base} B"), accepted));
        }
        Ok(self.small_quanta(port))
    }
    fn start(&self, port: &PortFacts) -> Drr {
        let (quanta, scale) = self.scaled_quanta(port);
        Drr { rounds: Rounds::new(quanta, scale), length: self.accounted_length().at(port) }
    }
    fn latency_rate_bound(&self, queue: u32, port: &PortFacts) -> Option<LatencyRate> {
        Some(bound(&self.quanta_in_bytes(port), queue, self.accounted_length(), port))
    }
}

/// Returns the latency-rate bound of DRR with any quanta. Between p visits queue i gets at least p·Q_i - d_i, and each
/// other queue j at most (p + 1)·Q_j + d_j, where d is the largest deficit that can remain: one byte less than the
/// largest frame.
pub(crate) fn bound(quanta: &[f64], queue: u32, accounted: AccountedLength, port: &PortFacts) -> LatencyRate {
    let deficit = f64::from(port.largest(accounted)) - 1.0;
    let own = quanta[queue as usize];
    let all: f64 = quanta.iter().sum();
    let others = (all - own) * (1.0 + deficit / own) + (quanta.len() as f64 - 1.0) * deficit;
    let rate = port.slowest_bytes_per_s(accounted);
    LatencyRate::new(rate * own / all, others / rate)
}

/// The DRR algorithm on accounted lengths, shared by ETS, DRR-AWC and plain DRR.
#[derive(Clone, Debug)]
pub(crate) struct Rounds {
    active: Ring,
    queues: Vec<Slot>,
    /// Deficit counters are in units of 1/scale byte.
    scale: u64,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    quantum: u64,
    deficit: u64,
    head: u64,
    /// True if the quantum of this visit has been added.
    visited: bool,
}

impl Rounds {
    pub fn new(quanta: Vec<u64>, scale: u64) -> Rounds {
        let slot = |quantum: u64| Slot { quantum: quantum.max(1), deficit: 0, head: 0, visited: false };
        let active = Ring::new(quanta.len() as u32);
        Rounds { active, queues: quanta.into_iter().map(slot).collect(), scale }
    }
    pub fn set_quantum(&mut self, queue: u32, quantum: u64) {
        self.queues[queue as usize].quantum = quantum.max(1);
    }
    /// Returns the quantum in units of 1/scale byte.
    pub fn quantum(&self, queue: u32) -> u64 {
        self.queues[queue as usize].quantum
    }
    pub fn is_active(&self, queue: u32) -> bool {
        self.active.contains(queue)
    }
    pub fn is_empty(&self) -> bool {
        self.active.is_empty()
    }
    #[inline]
    pub fn activate(&mut self, queue: u32, accounted: u32) {
        let slot = &mut self.queues[queue as usize];
        (slot.deficit, slot.visited) = (0, false);
        slot.head = u64::from(accounted) * self.scale;
        self.active.push_back(queue);
    }
    /// Replaces the accounted length of the head of an active queue.
    #[inline]
    pub fn set_head(&mut self, queue: u32, accounted: u32) {
        self.queues[queue as usize].head = u64::from(accounted) * self.scale;
    }
    /// Returns the accounted length of the head of an active queue.
    #[inline]
    pub fn head(&self, queue: u32) -> u32 {
        (self.queues[queue as usize].head / self.scale) as u32
    }
    #[inline]
    pub fn deactivate(&mut self, queue: u32) {
        self.active.remove(queue);
    }
    #[inline]
    pub fn pick(&mut self) -> Option<u32> {
        let mut skipped = 0;
        loop {
            let queue = self.active.front()?;
            let slot = &mut self.queues[queue as usize];
            if !slot.visited {
                slot.visited = true;
                slot.deficit += slot.quantum;
            }
            if slot.head <= slot.deficit {
                return Some(queue);
            }
            slot.visited = false;
            self.active.rotate();
            skipped += 1;
            if skipped == self.active.len() {
                self.skip_rounds();
                skipped = 0;
            }
        }
    }
    #[inline]
    pub fn sent(&mut self, queue: u32, accounted: u32) {
        let slot = &mut self.queues[queue as usize];
        slot.deficit = slot.deficit.saturating_sub(u64::from(accounted) * self.scale);
    }
    /// Ends the transmission begun by `sent`. `next` is the head of the queue, if the queue is active.
    #[inline]
    pub fn completed(&mut self, queue: u32, next: Option<u32>) {
        match next {
            Some(accounted) => self.set_head(queue, accounted),
            None => self.deactivate(queue),
        }
    }
    /// Handles a round in which no queue could send: adds the quanta of all further such rounds at once.
    #[cold]
    fn skip_rounds(&mut self) {
        let rounds = self.active.iter().map(|queue| {
            let slot = &self.queues[queue as usize];
            (slot.head - slot.deficit).div_ceil(slot.quantum)
        });
        let idle = rounds.min().map_or(0, |rounds| rounds - 1);
        for queue in self.active.iter() {
            let slot = &mut self.queues[queue as usize];
            slot.deficit += idle * slot.quantum;
        }
    }
}

/// The state of deficit round robin.
#[derive(Clone, Debug)]
pub struct Drr {
    rounds: Rounds,
    length: PortLength,
}

impl Discipline for Drr {
    #[inline]
    fn activate(&mut self, queue: u32, head: u32, _now: Time) {
        self.rounds.activate(queue, self.length.of(head));
    }
    #[inline]
    fn deactivate(&mut self, queue: u32, _now: Time) {
        self.rounds.deactivate(queue);
    }
    #[inline]
    fn pick(&mut self, _now: Time) -> Option<u32> {
        self.rounds.pick()
    }
    #[inline]
    fn sent(&mut self, queue: u32, bytes: u32, _now: Time) {
        self.rounds.sent(queue, self.length.of(bytes));
    }
    #[inline]
    fn completed(&mut self, queue: u32, next: Option<u32>, _now: Time) {
        self.rounds.completed(queue, next.map(|head| self.length.of(head)));
    }
    fn replace_head(&mut self, queue: u32, head: u32, _now: Time) {
        self.rounds.set_head(queue, self.length.of(head));
    }
    fn on_link_rate(&mut self, _rate: BitRate, _now: Time) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testbed::{Serve, order_of, port, saturate};

    #[test]
    fn figure_2_5_frame_by_frame() {
        // Golden vector 6: quantum 2; queues of frames of 1, 2 and 4 units.
        let params = DrrParams::with_quanta(&[2; 3], AccountedLength::FRAME);
        let queues = [vec![1; 8], vec![2; 4], vec![4; 2]];
        let rounds = [vec![0, 0, 1], vec![0, 0, 1, 2], vec![0, 0, 1], vec![0, 0, 1, 2]].concat();
        assert_eq!(order_of(&mut params.start(&port(3)), &queues), rounds);
    }

    #[test]
    fn small_frames_lose_what_the_wire_costs() {
        // Golden vector 7: 68 B against 1522 B frames, equal quanta, L + 20 accounted, 10 Gb/s.
        let mut drr = DrrParams::equal(AccountedLength::WIRE).start(&port(2));
        let sent = saturate(&mut drr, &port(2), &[68, 1522], Time::from_ms(100));
        let per_s = sent.map(|frames| frames * 10);
        assert!(per_s[0].abs_diff(7_102_273) < 400 && per_s[1].abs_diff(405_318) < 40, "{per_s:?}");
        let gbps = |queue: usize, bytes: u64| per_s[queue] as f64 * bytes as f64 * 8e-9;
        let jain = |a: f64, b: f64| (a + b).powi(2) / (2.0 * (a * a + b * b));
        assert!((jain(gbps(0, 68), gbps(1, 1522)) - 0.9854).abs() < 1e-4);
        assert!((jain(gbps(0, 50), gbps(1, 1504)) - 0.9349).abs() < 1e-4);
    }

    #[test]
    fn a_stopped_queue_loses_its_deficit() {
        let params = DrrParams::with_quanta(&[1000; 2], AccountedLength::FRAME);
        let mut drr = params.start(&port(2));
        drr.activate(0, 600, Time::ZERO);
        drr.activate(1, 1000, Time::ZERO);
        assert_eq!(drr.pick(Time::ZERO), Some(0));
        drr.serve(0, 600, Some(600), Time::ZERO); // 400 B are left
        assert_eq!(drr.pick(Time::ZERO), Some(1));
        drr.deactivate(0, Time::ZERO);
        drr.activate(0, 1400, Time::ZERO);
        drr.serve(1, 1000, Some(1000), Time::ZERO);
        // With the old deficit, a frame of 1400 B could leave at this visit.
        assert_eq!(drr.pick(Time::ZERO), Some(1));
        drr.serve(1, 1000, None, Time::ZERO);
        assert_eq!(drr.pick(Time::ZERO), Some(0));
    }

    #[test]
    fn fractions_of_a_byte_keep_the_ratio() {
        // Weights 30 : 37 make quanta of 1542 and 1901.8 B.
        let params = DrrParams::weighted(vec![30, 37], AccountedLength::WIRE);
        assert_eq!(params.scaled_quanta(&port(2)), (vec![1542 * 30, 1542 * 37], 30));
    }

    #[test]
    fn tiny_quanta_skip_rounds_at_once() {
        let slow = DrrParams::with_quanta(&[1, 3], AccountedLength::FRAME);
        let queues = [vec![9000; 4], vec![9000; 12]];
        let order = order_of(&mut slow.start(&port(2)), &queues);
        assert_eq!(order[..8], [1, 1, 0, 1, 1, 1, 0, 1]);
        assert_eq!(order.iter().filter(|&&queue| queue == 0).count(), 4);
    }

    #[test]
    fn the_bound_is_sharper_than_the_first_published() {
        // Latency (3F - 2 quantum) / rate of Stiliadis and Varma 1998, with F the sum of all quanta and frames of at
        // most a quantum.
        let facts = port(4);
        for weights in [vec![1, 1, 1, 1], vec![3, 1, 2, 9]] {
            let params = DrrParams::weighted(weights.clone(), AccountedLength::WIRE);
            for (queue, quantum) in (0..).zip(params.quanta_in_bytes(&facts)) {
                let round = 1542.0 * f64::from(weights.iter().sum::<u32>());
                let first = (3.0 * round - 2.0 * quantum) * 0.8; // ns at 10 Gb/s
                let bound = params.latency_rate_bound(queue, &facts).unwrap();
                assert!(bound.latency.ps() as f64 <= first * 1e3 && bound.latency > facts.wire_time(1522));
            }
        }
    }

    #[test]
    fn a_quantum_below_the_largest_frame_is_warned_of() {
        let params = DrrParams::with_quanta(&[1542, 500], AccountedLength::WIRE);
        let warnings = params.check(&port(2)).unwrap();
        assert_eq!(warnings.len(), 1);
        assert!(warnings[0].contains("queue 1 (500 B)") && warnings[0].contains("skipped for 3 of 4 rounds"));
        assert!(
            DrrParams::with_quanta(&[0, 1], AccountedLength::WIRE)
                .check(&port(2))
                .unwrap_err()
                .contains("is 0")
        );
        assert!(
            DrrParams { weights: vec![1, 2].into(), ..params.clone() }
                .check(&port(2))
                .unwrap_err()
                .contains("one of the two")
        );
        assert!(params.check(&port(3)).unwrap_err().contains("2 entries"));
    }
}
