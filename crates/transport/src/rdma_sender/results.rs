//! The results of a sender: its transfers, its queue pairs, and their counters.

use super::RdmaSender;
use crate::rdma::{PairCounts, QueuePair};
use crate::time_spent::MessageTimes;
use crate::transfer_sender::TransferOutcome;
use units::Time;

impl RdmaSender {
    /// Returns the outcomes by transfer number, up to the last transfer that has begun. Those among them that wait have
    /// all their bytes missing.
    pub fn outcomes(&self) -> Vec<TransferOutcome> {
        let mut outcomes = self.outcomes.clone();
        for (transfer, missing, again, timeouts) in self.pairs.iter().flat_map(QueuePair::left) {
            if let Some(outcome) = outcomes.get_mut(transfer as usize) {
                (outcome.missing, outcome.sent_again, outcome.timeouts) = (missing, again, timeouts);
            }
        }
        outcomes
    }

    /// Returns the times by activity of a transfer; `None` if it has not been acknowledged or is a READ, see
    /// [`RdmaSender::times_of_read`].
    pub fn times_of(&self, transfer: usize) -> Option<MessageTimes> {
        let outcome = self.outcomes.get(transfer)?;
        (outcome.acknowledged < Time::NEVER).then(|| self.times[transfer])
    }

    /// Returns the queue pair of a transfer, and the number of messages posted there before it.
    pub fn place_of(&self, transfer: usize) -> Option<(u32, u32)> {
        Some((self.outcomes.get(transfer)?.connection, *self.ordinals.get(transfer)?))
    }

    /// Returns true if the messages are scheduled transfers.
    pub fn is_scheduled(&self) -> bool {
        !self.due.is_empty()
    }

    /// Returns the rate of the link in bits per second.
    pub fn line_rate(&self) -> f64 {
        self.facts.rate.bps_f64()
    }

    /// Returns the name of the queue pairs' congestion control.
    pub fn control(&self) -> &'static str {
        self.spec.control.name()
    }

    /// Iterates over the queue pairs.
    pub fn queue_pairs(&self) -> impl Iterator<Item = &QueuePair> {
        self.pairs.iter()
    }

    /// Returns the sums of all queue pairs' counters.
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
