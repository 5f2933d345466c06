//! MinBW: the minimum-bandwidth egress scheduler of Advanced Switching.
//!
//! The fabric management channel has absolute priority as long as its token bucket covers its next frame. All other
//! queues share the link by weight with SCFQ-CA. Weights are shares of the link; a part of the link may be unassigned,
//! and unused bandwidth is shared by weight.
//!
//! A management frame without tokens may use an otherwise idle link, which costs no tokens. The rate and depth of the
//! bucket are our choice (OC): 25 % of the link, the part that the configuration of Martinez 2006 Table 2 leaves
//! unassigned, and two frames of 2176 B.
//!
//! Source: Martinez 2006 §2, §3, §5.1 (Advanced Switching core specification).
//!
//! Not modelled: schedulers other than SCFQ-CA for the other queues, which the specification leaves open.

use crate::accounted_length::{accounted, count};
use crate::bucket::TokenBucket;
use crate::shaper::{ShaperSpec, TokenBucketKeys};
use crate::{
    Configuration, Discipline, LatencyRate, PortFacts, PortLength, ScfqCa, Share, Weights, scfq, weights,
};
use keys::{Remark, Remarks};
use units::{BitRate, Bytes, Time};

accounted! {
    /// Keys of the minimum-bandwidth scheduler.
    pub struct MinBwParams accounts frame {
        /// Traffic class of the fabric management channel, which has priority within its rate. A class number, 0 to 7. Default: the class whose weight is 0, or the highest (Advanced Switching).
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(range(min = 0, max = 7))]
        pub management: Option<u32> = None,
        /// Weights, one for each traffic class, 1 to 1000000 each and 0 for management, or "equal". Default: "equal".
        pub weights: Weights = Weights::Equal,
        /// Rate of the fabric management channel: a rate, above 0 and at most the link's, or {share}. Default: a share of 0.25 of the link.
        pub rate: Share = Share::PartsPerMillion(250_000),
        /// Depth of the token bucket: maximum burst of management traffic. A size, from the accounted length of the longest frame to "1 GiB". Default: "4352 B" (two largest frames of Advanced Switching).
        pub depth: Bytes = Bytes::new(4_352),
        /// If true, management traffic beyond its rate may use an idle link. Default: true.
        pub use_idle_link: bool = true,
    }
}

impl MinBwParams {
    /// Returns the defaults for a port with these weights; the management channel has weight 0.
    pub fn new(weights: Vec<u32>) -> MinBwParams {
        MinBwParams { weights: weights.into(), ..MinBwParams::default() }
    }
    /// Returns the management queue at a port with `queues` queues.
    pub fn management(&self, queues: u32) -> u32 {
        let without = match &self.weights {
            Weights::Each(list) => list.iter().position(|&weight| weight == 0),
            Weights::Equal => None,
        };
        self.management.unwrap_or(without.map_or(queues - 1, |queue| queue as u32))
    }
    /// Returns the weights of all queues, with 0 for the management queue.
    fn weights(&self, queues: u32) -> Vec<u32> {
        let management = self.management(queues);
        match &self.weights {
            Weights::Each(list) => list.clone(),
            Weights::Equal => (0..queues).map(|queue| u32::from(queue != management)).collect(),
        }
    }
    fn bucket(&self) -> ShaperSpec {
        ShaperSpec::TokenBucket(TokenBucketKeys { rate: self.rate, depth: self.depth })
    }
}

impl Configuration for MinBwParams {
    type Machine = MinBw;

    fn check(&self, port: &PortFacts) -> Remarks {
        self.accounted_length().check()?;
        let (management, mut others) = (self.management(port.queues), self.weights(port.queues));
        if management >= port.queues {
            let help = format!("the port has queues 0 to {}", port.queues - 1);
            let message = format!("the management channel is queue {management}");
            return Err(Remark::about("management", message, help));
        }
        weights::check_length(weights::KEY, "weight", others.len(), port.queues)?;
        if std::mem::replace(&mut others[management as usize], 1) != 0 {
            let message = format!("queue {management} is the management channel and has a weight");
            let remark = Remark::about(weights::KEY, message, "it goes first and has none: give 0");
            return Err(remark.entry(management as usize));
        }
        weights::check(weights::KEY, "weight", &others, port.queues, weights::LARGEST)?;
        self.bucket().check("the management channel", self.accounted_length(), port)?;
        let shaped =
            "management frames without tokens wait while the link is idle: the port is not work-conserving";
        let warning = || Remark::about("use_idle_link", shaped, "");
        Ok(if self.use_idle_link { Vec::new() } else { vec![warning()] })
    }
    fn start(&self, port: &PortFacts) -> MinBw {
        let length = self.accounted_length().at(port);
        MinBw {
            management: self.management(port.queues),
            rate: self.rate,
            bucket: TokenBucket::new(self.rate.of(port.rate), count(self.depth)),
            waiting: None,
            use_idle_link: self.use_idle_link,
            length,
            others: ScfqCa::new(&self.weights(port.queues), length),
        }
    }
    /// Returns the bound. The management channel gets its rate after one frame; the others share the remaining rate by
    /// SCFQ.
    fn latency_rate_bound(&self, queue: u32, port: &PortFacts) -> Option<LatencyRate> {
        let link = port.slowest_bytes_per_s(self.accounted_length());
        let tokens = self.rate.of(port.rate).bps() as f64 / 8.0;
        let largest = f64::from(port.largest(self.accounted_length()));
        if queue == self.management(port.queues) {
            return Some(LatencyRate::new(tokens.min(link), largest / link + largest / tokens));
        }
        let left = link - tokens;
        if left <= 0.0 {
            return None;
        }
        let shared = scfq::bound(&self.weights(port.queues), queue, self.accounted_length(), left, port);
        let first = (f64::from(count(self.depth)) + largest) / left;
        Some(LatencyRate { latency: shared.latency + Time::from_ps((first * 1e12).ceil() as u64), ..shared })
    }
}

/// The state of MinBW: the bucket, and SCFQ-CA for the other queues.
#[derive(Clone, Debug)]
pub struct MinBw {
    management: u32,
    /// Rate of management, as configured.
    rate: Share,
    bucket: TokenBucket,
    /// Accounted bytes of the head of the management channel, if flow control lets it go.
    waiting: Option<u32>,
    use_idle_link: bool,
    length: PortLength,
    others: ScfqCa,
}

impl Discipline for MinBw {
    #[inline]
    fn activate(&mut self, queue: u32, head: u32, now: Time) {
        if queue == self.management {
            self.waiting = Some(self.length.of(head));
        } else {
            self.others.activate(queue, head, now);
        }
    }
    #[inline]
    fn deactivate(&mut self, queue: u32, now: Time) {
        if queue == self.management {
            self.waiting = None;
        } else {
            self.others.deactivate(queue, now);
        }
    }
    #[inline]
    fn pick(&mut self, now: Time) -> Option<u32> {
        let has_tokens = self.waiting.is_some_and(|head| self.bucket.allows(head, now));
        if has_tokens {
            return Some(self.management);
        }
        let idle = self.waiting.is_some() && self.use_idle_link;
        self.others.pick(now).or(idle.then_some(self.management))
    }
    #[inline]
    fn sent(&mut self, queue: u32, bytes: u32, now: Time) {
        if queue != self.management {
            return self.others.sent(queue, bytes, now);
        }
        let accounted = self.length.of(bytes);
        if self.bucket.allows(accounted, now) {
            self.bucket.take(accounted, now);
        }
    }
    #[inline]
    fn completed(&mut self, queue: u32, next: Option<u32>, now: Time) {
        if queue != self.management {
            return self.others.completed(queue, next, now);
        }
        self.waiting = next.map(|head| self.length.of(head));
    }
    #[inline]
    fn pass(&mut self, queue: u32, bytes: u32, now: Time) -> bool {
        if queue == self.management && !self.use_idle_link && !self.bucket.allows(self.length.of(bytes), now)
        {
            return false;
        }
        if queue != self.management {
            return self.others.pass(queue, bytes, now);
        }
        self.activate(queue, bytes, now);
        self.sent(queue, bytes, now);
        true
    }
    fn wake(&mut self, now: Time) -> Option<Time> {
        self.waiting.map(|head| self.bucket.ready_at(head).max(now))
    }
    #[inline]
    fn idle(&mut self, now: Time) {
        self.others.idle(now);
    }
    fn on_link_rate(&mut self, rate: BitRate, now: Time) {
        self.bucket.set_rate(self.rate.of(rate), now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testbed::{finish_times, order_of, port};

    #[test]
    fn management_goes_first_while_tokens_last() {
        // Four frames of 1000 B fit the bucket of 4352 B.
        let queues = [vec![1000; 6], vec![1000; 6]];
        let order = order_of(&mut MinBwParams::new(vec![1, 0]).start(&port(2)), &queues);
        assert_eq!(order, [1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 1, 1]);
    }

    #[test]
    fn management_gets_its_rate_and_no_more() {
        let facts = port(2);
        let mut min_bw = MinBwParams::new(vec![1, 0]).start(&facts);
        let arrivals: Vec<_> = (0..4_000).map(|n| (Time::ZERO, n % 2, 1_000)).collect();
        let finished = finish_times(&mut min_bw, &facts, &arrivals);
        // A quarter of 10 Gb/s is one frame of 1000 B every 3.2 us, in addition to the bucket.
        let by = Time::from_us(1_000);
        let sent = finished.iter().skip(1).step_by(2).filter(|&&at| at <= by).count();
        assert!((312..=318).contains(&sent), "{sent}");
    }

    #[test]
    fn an_idle_link_costs_no_tokens() {
        let mut min_bw = MinBwParams::new(vec![1, 0]).start(&port(2));
        for _ in 0..4 {
            assert!(min_bw.pass(1, 1_088, Time::ZERO));
        }
        assert!(min_bw.pass(1, 1_000, Time::ZERO));
        let strict = MinBwParams { use_idle_link: false, ..MinBwParams::new(vec![1, 0]) };
        let mut strict = strict.start(&port(2));
        for _ in 0..4 {
            assert!(strict.pass(1, 1_088, Time::ZERO));
        }
        assert!(!strict.pass(1, 1_000, Time::ZERO));
        strict.activate(1, 1_000, Time::ZERO);
        assert_eq!(strict.pick(Time::ZERO), None);
        assert_eq!(strict.wake(Time::ZERO), Some(Time::from_ns(3_200)));
    }

    #[test]
    fn what_is_no_configuration() {
        let facts = port(3);
        assert_eq!(MinBwParams::new(vec![4, 3, 0]).check(&facts), Ok(vec![]));
        assert!(
            MinBwParams { management: Some(1), ..MinBwParams::new(vec![4, 3, 0]) }
                .check(&facts)
                .unwrap_err()
                .contains("has a weight")
        );
        assert!(MinBwParams::new(vec![4, 0, 0]).check(&facts).unwrap_err().contains("queue 2 is 0"));
        assert!(
            MinBwParams { depth: Bytes::new(100), ..MinBwParams::new(vec![4, 3, 0]) }
                .check(&facts)
                .unwrap_err()
                .contains("100 B")
        );
        let fast =
            MinBwParams { rate: Share::Rate(BitRate::from_gbps(20)), ..MinBwParams::new(vec![4, 3, 0]) };
        assert!(fast.check(&facts).unwrap_err().contains("more than the link"));
    }
}
