//! Results of a sender: its transfers, its queue pairs, and their counters.

use super::RdmaSender;
use crate::rdma::{MessageTimes, PairCounts, QueuePair};
use crate::transfer_sender::TransferOutcome;
use units::Time;

impl RdmaSender {
    /// Of each transfer that has begun, by their numbers; those between that wait are as if nothing of them had been sent.
    pub fn outcomes(&self) -> Vec<TransferOutcome> {
        let mut outcomes = self.outcomes.clone();
        for (transfer, missing, again, timeouts) in self.pairs.iter().flat_map(QueuePair::left) {
            if let Some(outcome) = outcomes.get_mut(transfer as usize) {
                (outcome.missing, outcome.sent_again, outcome.timeouts) = (missing, again, timeouts);
            }
        }
        outcomes
    }

    /// Times by cause of a transfer; `None` if it is not acknowledged, or a READ: see [`RdmaSender::times_of_read`].
    pub fn times_of(&self, transfer: usize) -> Option<MessageTimes> {
        let outcome = self.outcomes.get(transfer)?;
        (outcome.acknowledged < Time::NEVER).then(|| self.times[transfer])
    }

    /// The queue pair of a transfer, and how many messages were posted there before.
    pub fn place_of(&self, transfer: usize) -> Option<(u32, u32)> {
        Some((self.outcomes.get(transfer)?.connection, *self.ordinals.get(transfer)?))
    }

    /// Returns true if its messages are scheduled transfers.
    pub fn is_scheduled(&self) -> bool {
        !self.due.is_empty()
    }

    /// The rate of its link, in bits a second.
    pub fn line_rate(&self) -> f64 {
        self.facts.rate.bps_f64()
    }

    /// The name of their control.
    pub fn control(&self) -> &'static str {
        self.spec.control.name()
    }

    /// Its queue pairs.
    pub fn queue_pairs(&self) -> impl Iterator<Item = &QueuePair> {
        self.pairs.iter()
    }

    /// Counters, summed over all queue pairs.
    pub fn counts(&self) -> PairCounts {
        self.pairs.iter().fold(PairCounts::default(), |sum, pair| {
            let own = pair.counts;
            PairCounts {
                sent: sum.sent + own.sent,
                retransmitted: sum.retransmitted + own.retransmitted,
                cnps: sum.cnps + own.cnps,
                naks: sum.naks + own.naks,
                marks: sum.marks + own.marks,
                timeouts: sum.timeouts + own.timeouts,
                messages: sum.messages + own.messages,
                bytes: sum.bytes + own.bytes,
                not_ready: sum.not_ready + own.not_ready,
                fetches: sum.fetches + own.fetches,
            }
        })
    }
}
