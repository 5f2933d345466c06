//! The READs that a sender serves.

use super::{RdmaSender, Served};
use crate::rdma::{QueuePair, QueuePairs};
use crate::room::Append;
use crate::time_spent::MessageTimes;
use frame::RdmaHeader;
use units::Time;

impl RdmaSender {
    /// Returns the number of retransmitted packets in `many` READs of a queue pair, from `first` on.
    pub fn served_again(&self, pair: u32, first: u32, many: u32) -> u32 {
        let all = self.served.get(pair as usize).map_or(&[][..], Vec::as_slice);
        let left = self.pairs.iter().nth(pair as usize).into_iter().flat_map(QueuePair::left);
        let is_its = |nth: u32| (first..first + many).contains(&nth);
        let done: u32 = (0..).zip(all).filter(|(nth, _)| is_its(*nth)).map(|(_, served)| served.again).sum();
        done + left.filter(|one| is_its(one.0)).map(|one| one.2).sum::<u32>()
    }

    /// Returns the times of a message that consisted of `many` READs of a queue pair and was complete at `whole`: the
    /// arrival of the first request, and the times by activity since then.
    pub fn times_of_read(
        &self,
        (pair, first, many): (u32, u32, u32),
        whole: Time,
    ) -> Option<(Time, MessageTimes)> {
        let left = self.pairs.iter().nth(pair as usize)?.times_of_left(whole);
        let left: Vec<_> = left.filter(|one| (first..first + many).contains(&one.0)).collect();
        let all = self.served.get(pair as usize)?.get(first as usize..(first + many) as usize)?;
        let times = (first..).zip(all).map(|(nth, served)| {
            served.times.or_else(|| left.iter().find(|one| one.0 == nth).map(|one| one.1))
        });
        let came = all.first()?.came;
        Some((came, MessageTimes::of_read(&times.collect::<Option<Vec<_>>>()?, came, whole)?))
    }

    /// Handles a READ request.
    pub(super) fn on_request(&mut self, now: Time, header: &RdmaHeader) {
        let most = if self.spec.queue_pairs == QueuePairs::One { 1 } else { self.due.len().max(1) };
        if header.pair as usize >= most || header.requested == 0 {
            self.discarded += 1;
            return;
        }
        while self.pairs.len() <= header.pair as usize {
            self.open();
        }
        let nth = self.posted[header.pair as usize];
        let Some(pair) = self.pairs.get_mut(header.pair) else { return };
        if pair.on_request(now, header, nth) {
            self.posted[header.pair as usize] += 1;
            self.served[header.pair as usize].append_one(Served { came: now, again: 0, times: None });
        }
    }
}
