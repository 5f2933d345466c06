//! Token-bucket and leaky-bucket shapers for queues or for the port, combined with any scheduler.
//!
//! A token bucket is filled at a rate up to its depth. A frame may be sent when the bucket holds its accounted length.
//! A class that was idle can therefore send a burst of the depth of its bucket, and then at its rate. A leaky bucket
//! allows no bursts: after a frame, the next one waits until that frame has drained at the configured rate. Both are
//! exact: levels are integers in units of 10^-12 bit.
//!
//! To the scheduler, a queue whose head waits for a shaper is a queue stopped by flow control. A port shaper stops all
//! queues. A shaped port is not work-conserving: it returns the time of its next poll.
//!
//! Source: Turner, "New directions in communications", IEEE Communications Magazine 24(10), 1986 (leaky bucket); RFC
//! 2697 and IEEE 802.1Q clause 8.6.5 (token bucket arithmetic).
//!
//! Not modelled: policing (frames are delayed, not dropped or marked); buckets with a negative level.

use crate::accounted_length::{accounted, count};
use crate::bucket::{Bucket, LeakyBucket, Shaper, TokenBucket};
use crate::tags::TagHeap;
use crate::{
    AccountedLength, Configuration, Discipline, LatencyRate, PortFacts, PortLength, Scheduler, SchedulerSpec,
    Share,
};
use keys::{Forms, Remark, Remarks, by_form};
use schemars::JsonSchema;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess};
use serde::{Deserialize, Serialize};
use units::{BitRate, Bytes, Time};

/// A shaper: one of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ShaperSpec {
    /// Rate with bursts.
    TokenBucket(TokenBucketKeys),
    /// Rate without bursts.
    LeakyBucket(LeakyBucketKeys),
}

/// Keys of a token bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TokenBucketKeys {
    /// Token rate of the bucket: a rate, above 0 and at most the link's, or {share}. Required.
    pub rate: Share,
    /// Capacity of the bucket. A size, from the accounted length of the longest frame to "1 GiB". Required.
    pub depth: Bytes,
}

/// Keys of a leaky bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LeakyBucketKeys {
    /// Rate at which a frame drains: a rate, above 0 and at most the link's, or {share}. Required.
    pub rate: Share,
}

impl ShaperSpec {
    const LARGEST_DEPTH: u32 = 1 << 30;

    /// Creates a token bucket of `depth` bytes.
    pub fn token_bucket(rate: Share, depth: u32) -> ShaperSpec {
        ShaperSpec::TokenBucket(TokenBucketKeys { rate, depth: Bytes::new(depth.into()) })
    }
    /// Creates a leaky bucket.
    pub fn leaky_bucket(rate: Share) -> ShaperSpec {
        ShaperSpec::LeakyBucket(LeakyBucketKeys { rate })
    }
    fn name(&self) -> &'static str {
        match self {
            ShaperSpec::TokenBucket(_) => "token_bucket",
            ShaperSpec::LeakyBucket(_) => "leaky_bucket",
        }
    }

    pub(crate) fn check(
        &self,
        whose: &str,
        accounted: AccountedLength,
        port: &PortFacts,
    ) -> Result<(), Remark> {
        let (ShaperSpec::TokenBucket(TokenBucketKeys { rate, .. })
        | ShaperSpec::LeakyBucket(LeakyBucketKeys { rate })) = self;
        let what = format!("the rate of the shaper of {whose}");
        rate.check(&what, port.rate).map_err(|why| why.within("rate"))?;
        let ShaperSpec::TokenBucket(TokenBucketKeys { depth, .. }) = *self else { return Ok(()) };
        let (largest, depth) = (port.largest(accounted), count(depth));
        if (largest..=Self::LARGEST_DEPTH).contains(&depth) {
            return Ok(());
        }
        let message = format!("the bucket of {whose} holds {depth} B");
        let most = Self::LARGEST_DEPTH;
        let help = format!(
            "accepted are {largest} B (the accounted length of the largest frame: it would never pass) to {most} B"
        );
        Err(Remark::about("depth", message, help))
    }
    /// Creates the bucket as it is at time zero: a full token bucket, or an empty leaky bucket.
    pub fn start(&self, link: BitRate) -> Shaper {
        match *self {
            ShaperSpec::TokenBucket(TokenBucketKeys { rate, depth }) => {
                Shaper { rate, bucket: Bucket::Token(TokenBucket::new(rate.of(link), count(depth))) }
            }
            ShaperSpec::LeakyBucket(LeakyBucketKeys { rate }) => {
                Shaper { rate, bucket: Bucket::Leaky(LeakyBucket::new(rate.of(link))) }
            }
        }
    }
}

accounted! {
    /// Keys of shaped ports.
    pub struct ShapedParams accounts wire {
        /// Scheduler to which the shapers are applied: a name or a table. Default: "strict_priority".
        pub scheduler: Box<SchedulerSpec> = Box::new(SchedulerSpec::StrictPriority),
        /// Shaper of the whole port: `token_bucket` or `leaky_bucket`. Default: none.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub port: Option<ShaperSpec> = None,
        /// Shapers of individual traffic classes. Default: none.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pub classes: Vec<ClassShaper> = Vec::new(),
    }
}

/// The shaper of a traffic class.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(into = "ClassShaperKeys")]
#[schemars(try_from = "ClassShaperKeys")]
pub struct ClassShaper {
    /// The class.
    pub class: u32,
    /// Its shaper.
    pub shaper: ShaperSpec,
}

/// The shaper of a traffic class.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ClassShaperKeys {
    /// The traffic class. A class number, 0 to 7. Required.
    class: u32,
    /// Rate with bursts; this or `leaky_bucket`. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    token_bucket: Option<TokenBucketKeys>,
    /// Rate without bursts; this or `token_bucket`. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    leaky_bucket: Option<LeakyBucketKeys>,
}

impl Forms for ClassShaper {
    const EXPECTED: &'static str = "a table with class and one of token_bucket and leaky_bucket";
    fn table<'de, A: MapAccess<'de>>(table: A) -> Result<ClassShaper, A::Error> {
        let keys = ClassShaperKeys::deserialize(MapAccessDeserializer::new(table))?;
        let shaper = match (keys.token_bucket, keys.leaky_bucket) {
            (Some(keys), None) => ShaperSpec::TokenBucket(keys),
            (None, Some(keys)) => ShaperSpec::LeakyBucket(keys),
            _ => {
                return Err(A::Error::custom(
                    "a class is shaped in exactly one way; expected one of token_bucket and leaky_bucket",
                ));
            }
        };
        Ok(ClassShaper { class: keys.class, shaper })
    }
}
by_form!(ClassShaper);

impl From<ClassShaper> for ClassShaperKeys {
    fn from(ClassShaper { class, shaper }: ClassShaper) -> ClassShaperKeys {
        let (token_bucket, leaky_bucket) = match shaper {
            ShaperSpec::TokenBucket(keys) => (Some(keys), None),
            ShaperSpec::LeakyBucket(keys) => (None, Some(keys)),
        };
        ClassShaperKeys { class, token_bucket, leaky_bucket }
    }
}

impl ShapedParams {
    const CLASSES: &str = "classes";

    fn shaper(&self, queue: u32) -> Option<ShaperSpec> {
        self.classes.iter().find(|it| it.class == queue).map(|it| it.shaper)
    }
    fn check_classes(&self, port: &PortFacts) -> Result<(), Remark> {
        for (at, ClassShaper { class, shaper }) in self.classes.iter().enumerate() {
            let about =
                |message, help: &str| Remark::about(Self::CLASSES, message, help).entry(at).key("class");
            if *class >= port.queues {
                let help = format!("expected a traffic class, 0 to {}", port.queues - 1);
                return Err(about(format!("class {class}"), &help));
            }
            if self.classes[..at].iter().any(|before| before.class == *class) {
                return Err(about(format!("class {class} has two shapers"), "expected each class once"));
            }
            let found = shaper.check(&format!("class {class}"), self.accounted_length(), port);
            found.map_err(|why| why.within(shaper.name()).within_entry(at).within(Self::CLASSES))?;
        }
        Ok(())
    }
}

impl Configuration for ShapedParams {
    type Machine = Shaped;

    fn complete(&mut self) {
        self.scheduler.complete();
    }
    fn check(&self, port: &PortFacts) -> Remarks {
        self.accounted_length().check()?;
        let behind = |remark: Remark| remark.within("scheduler");
        if matches!(*self.scheduler, SchedulerSpec::Shaped(_)) {
            let message = "a shaped port shapes a scheduler, not another shaped port";
            return Err(behind(Remark::new(message, "expected another scheduler")));
        }
        let warnings = self.scheduler.check(port).map_err(behind)?;
        if self.port.is_none() && self.classes.is_empty() {
            return Err(Remark::new("a shaper that shapes nothing", "expected port, classes or both"));
        }
        if let Some(shaper) = &self.port {
            let found = shaper.check("the port", self.accounted_length(), port);
            found.map_err(|why| why.within(shaper.name()).within("port"))?;
        }
        self.check_classes(port)?;
        Ok(warnings.into_iter().map(behind).collect())
    }
    fn unused(&self, used: u32) -> Vec<Remark> {
        let idle = self.classes.iter().enumerate().filter(|(_, own)| used >> own.class & 1 == 0);
        let remark = |(at, own): (usize, &ClassShaper)| {
            let message = format!("class {} has a shaper, but no frames", own.class);
            Remark::about("class", message, "no flow and no message is in this class")
                .within_entry(at)
                .within(Self::CLASSES)
        };
        idle.map(remark).collect()
    }
    fn start(&self, port: &PortFacts) -> Shaped {
        Shaped {
            scheduler: Box::new(self.scheduler.start(port)),
            length: self.accounted_length().at(port),
            port: self.port.map(|shaper| shaper.start(port.rate)),
            shapers: (0..port.queues)
                .map(|queue| self.shaper(queue).map(|shaper| shaper.start(port.rate)))
                .collect(),
            heads: vec![0; port.queues as usize],
            held: TagHeap::new(port.queues),
        }
    }
    /// Returns the bound of the scheduler, which applies to queues without a shaper.
    fn latency_rate_bound(&self, queue: u32, port: &PortFacts) -> Option<LatencyRate> {
        let free = self.port.is_none() && self.shaper(queue).is_none();
        if free { self.scheduler.latency_rate_bound(queue, port) } else { None }
    }
}

/// The state of the shapers, and the scheduler behind them.
#[derive(Clone, Debug)]
pub struct Shaped {
    scheduler: Box<Scheduler>,
    length: PortLength,
    port: Option<Shaper>,
    shapers: Vec<Option<Shaper>>,
    /// Lengths of the heads in bytes.
    heads: Vec<u32>,
    /// Queues held by their shaper, ordered by the time of their release.
    held: TagHeap<Time>,
}

impl Shaped {
    /// Returns true if the shaper of `queue` allows `head` to be sent; otherwise holds the queue.
    #[inline]
    fn admit(&mut self, queue: u32, head: u32, now: Time) -> bool {
        self.heads[queue as usize] = head;
        let Some(shaper) = &self.shapers[queue as usize] else { return true };
        let accounted = self.length.of(head);
        let allowed = shaper.allows(accounted, now);
        if !allowed {
            self.held.set(queue, shaper.ready_at(accounted));
        }
        allowed
    }
    /// Activates the queues whose tokens have accumulated, each as of the time of its release. At the end of a
    /// transmission, a scheduler whose virtual time advances during the transmission would stamp them too late.
    #[inline]
    fn release(&mut self, now: Time) {
        while let Some((at, queue)) = self.held.peek()
            && at <= now
        {
            self.held.remove(queue);
            self.scheduler.activate(queue, self.heads[queue as usize], at);
        }
    }
}

impl Discipline for Shaped {
    #[inline]
    fn arrive(&mut self, queue: u32, bytes: u32, now: Time) {
        self.release(now);
        Discipline::arrive(&mut *self.scheduler, queue, bytes, now);
    }
    #[inline]
    fn activate(&mut self, queue: u32, head: u32, now: Time) {
        self.release(now);
        if self.admit(queue, head, now) {
            self.scheduler.activate(queue, head, now);
        }
    }
    #[inline]
    fn deactivate(&mut self, queue: u32, now: Time) {
        self.release(now);
        if !self.held.remove(queue) {
            self.scheduler.deactivate(queue, now);
        }
    }
    fn forget(&mut self, queue: u32, now: Time) {
        self.release(now);
        self.scheduler.forget(queue, now);
    }
    #[inline]
    fn pick(&mut self, now: Time) -> Option<u32> {
        self.release(now);
        let queue = Discipline::pick(&mut *self.scheduler, now)?;
        let head = self.length.of(self.heads[queue as usize]);
        self.port.is_none_or(|port| port.allows(head, now)).then_some(queue)
    }
    #[inline]
    fn sent(&mut self, queue: u32, bytes: u32, now: Time) {
        let accounted = self.length.of(bytes);
        if let Some(shaper) = &mut self.shapers[queue as usize] {
            shaper.take(accounted, now);
        }
        if let Some(port) = &mut self.port {
            port.take(accounted, now);
        }
        self.scheduler.sent(queue, bytes, now);
    }
    #[inline]
    fn completed(&mut self, queue: u32, next: Option<u32>, now: Time) {
        self.release(now);
        let next = next.filter(|&head| self.admit(queue, head, now));
        self.scheduler.completed(queue, next, now);
    }
    fn replace_head(&mut self, queue: u32, head: u32, now: Time) {
        self.release(now);
        let held = self.held.remove(queue);
        match (held, self.admit(queue, head, now)) {
            (true, true) => self.scheduler.activate(queue, head, now),
            (false, true) => self.scheduler.replace_head(queue, head, now),
            (false, false) => self.scheduler.deactivate(queue, now),
            (true, false) => {}
        }
    }
    fn on_link_rate(&mut self, rate: BitRate, now: Time) {
        self.release(now);
        for shaper in self.port.iter_mut().chain(self.shapers.iter_mut().flatten()) {
            shaper.on_link_rate(rate, now);
        }
        for queue in 0..self.shapers.len() as u32 {
            if self.held.remove(queue) {
                self.activate(queue, self.heads[queue as usize], now);
            }
        }
        self.scheduler.on_link_rate(rate, now);
    }
    #[inline]
    fn pass(&mut self, queue: u32, bytes: u32, now: Time) -> bool {
        let accounted = self.length.of(bytes);
        let allowed = |shaper: &Option<Shaper>| shaper.is_none_or(|shaper| shaper.allows(accounted, now));
        if !allowed(&self.port)
            || !allowed(&self.shapers[queue as usize])
            || !self.scheduler.pass(queue, bytes, now)
        {
            return false;
        }
        for shaper in [&mut self.port, &mut self.shapers[queue as usize]].into_iter().flatten() {
            shaper.take(accounted, now);
        }
        true
    }
    fn wake(&mut self, now: Time) -> Option<Time> {
        let held = self.held.peek().map(|(at, _)| at);
        let behind = match Discipline::pick(&mut *self.scheduler, now) {
            Some(queue) => self.port.map(|port| port.ready_at(self.length.of(self.heads[queue as usize]))),
            None => self.scheduler.wake(now),
        };
        held.into_iter().chain(behind).min().map(|at| at.max(now))
    }
    #[inline]
    fn idle(&mut self, now: Time) {
        self.scheduler.idle(now);
    }
    fn stall(&mut self, now: Time) {
        self.release(now);
        self.scheduler.stall(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testbed::{finish_times, port};

    fn params(port: Option<ShaperSpec>, classes: &[(u32, ShaperSpec)]) -> ShapedParams {
        let classes = classes.iter().map(|&(class, shaper)| ClassShaper { class, shaper }).collect();
        ShapedParams { port, classes, ..ShapedParams::by(AccountedLength::FRAME) }
    }
    fn gbps(rate: u64) -> Share {
        Share::Rate(BitRate::from_gbps(rate))
    }

    #[test]
    fn a_token_bucket_lets_its_depth_go_at_once() {
        let mut bucket = TokenBucket::new(BitRate::from_gbps(1), 3_000);
        let now = Time::from_us(100);
        assert!(bucket.allows(3_000, now) && !bucket.allows(3_001, now));
        bucket.take(3_000, now);
        assert_eq!(bucket.ready_at(1_000), now + Time::from_us(8));
        assert!(!bucket.allows(1_000, now + Time::from_ps(7_999_999)));
        assert!(bucket.allows(1_000, now + Time::from_us(8)));
        assert!(!bucket.allows(3_001, now + Time::from_ms(1)));
    }

    #[test]
    fn a_leaky_bucket_spaces_frames_evenly() {
        // At 3 Gb/s, 1000 B drain in 2666.67 ns. Each time is rounded up, but the errors do not add up.
        let mut bucket = LeakyBucket::new(BitRate::from_gbps(3));
        let mut at = Time::from_us(5);
        for _ in 0..3_000 {
            assert!(bucket.allows(at));
            bucket.take(1_000, at);
            at = bucket.ready_at();
            assert!(!bucket.allows(at - Time::from_ps(1)));
        }
        assert_eq!(at, Time::from_us(5 + 8_000));
    }

    #[test]
    fn a_shaped_class_leaves_the_link_to_others() {
        let bucket = ShaperSpec::token_bucket(gbps(1), 2_000);
        let facts = port(2);
        let mut shaped = params(None, &[(1, bucket)]).start(&facts);
        let arrivals: Vec<_> = (0..40).map(|n| (Time::ZERO, n % 2, 1_000)).collect();
        let finished = finish_times(&mut shaped, &facts, &arrivals);
        // The high class sends two frames at once, and then one every 8 us unless a frame of the low class occupies the
        // link. The low class takes the rest. A frame takes 0.816 us.
        let high: Vec<u64> = finished.iter().skip(1).step_by(2).map(|at| at.ps() / 1_000).collect();
        assert_eq!(high[..2], [816, 1_632]);
        for (n, &ns) in (1..).zip(&high[2..]) {
            assert!((8_000 * n + 816..=8_000 * n + 1_632).contains(&ns), "{ns} ns");
        }
        assert!(finished[38] < Time::from_us(20));
    }

    #[test]
    fn a_shaped_port_says_when_to_ask_again() {
        let leaky = ShaperSpec::leaky_bucket(gbps(1));
        let mut shaped = params(Some(leaky), &[]).start(&port(2));
        assert!(shaped.pass(0, 1_000, Time::ZERO));
        assert!(!shaped.pass(0, 1_000, Time::from_us(7)));
        shaped.arrive(0, 1_000, Time::from_us(7));
        shaped.activate(0, 1_000, Time::from_us(7));
        assert_eq!(shaped.pick(Time::from_us(7)), None);
        assert_eq!(shaped.wake(Time::from_us(7)), Some(Time::from_us(8)));
        assert_eq!(shaped.pick(Time::from_us(8)), Some(0));
    }

    #[test]
    fn a_queue_whose_tokens_come_during_a_frame_is_stamped_then() {
        // One byte per nanosecond, three queues of equal weight. Queue 1 may send its second frame from 200 ns on: (S,
        // F) = (100, 200). Queue 2 arrives at 600 ns with V = 200: (200, 300). If queue 1 were stamped at the end of
        // the frame of queue 0, it would be second.
        let facts = PortFacts { rate: BitRate::from_gbps(8), overhead: 0, ..port(3) };
        let wf2q = crate::Wf2qPlusParams::by(AccountedLength::FRAME);
        let leaky = ShaperSpec::leaky_bucket(gbps(4));
        let params = ShapedParams {
            scheduler: Box::new(SchedulerSpec::Wf2qPlus(wf2q)),
            ..params(None, &[(1, leaky)])
        };
        let arrivals = [(0, 1, 100), (10, 1, 100), (20, 0, 1000), (600, 2, 100)];
        let arrivals = arrivals.map(|(ns, queue, bytes)| (Time::from_ns(ns), queue, bytes));
        let finished = finish_times(&mut params.start(&facts), &facts, &arrivals);
        assert_eq!(finished, [100, 1200, 1100, 1300].map(Time::from_ns));
    }

    #[test]
    fn a_stopped_queue_does_not_wake_the_port() {
        let leaky = ShaperSpec::leaky_bucket(gbps(1));
        let mut shaped = params(None, &[(0, leaky)]).start(&port(2));
        shaped.pass(0, 1_000, Time::ZERO);
        shaped.activate(0, 1_000, Time::ZERO);
        assert_eq!(shaped.wake(Time::ZERO), Some(Time::from_us(8)));
        shaped.deactivate(0, Time::ZERO);
        assert_eq!((shaped.wake(Time::ZERO), shaped.pick(Time::from_us(9))), (None, None));
    }

    #[test]
    fn what_no_shaper_can_do() {
        let check = |shaper| params(Some(shaper), &[]).check(&port(2)).unwrap_err();
        assert!(check(ShaperSpec::token_bucket(gbps(1), 1_000)).contains("it would never pass"));
        assert!(check(ShaperSpec::leaky_bucket(gbps(0))).contains("is zero"));
        assert!(check(ShaperSpec::leaky_bucket(gbps(40))).contains("more than the link's 10 Gb/s"));
        let leaky = ShaperSpec::leaky_bucket(gbps(1));
        let classes = |list: &[(u32, ShaperSpec)]| params(None, list).check(&port(2)).unwrap_err();
        assert!(classes(&[(2, leaky)]).contains("class 2; expected a traffic class, 0 to 1"));
        assert!(classes(&[(1, leaky), (1, leaky)]).contains("two shapers"));
        assert!(classes(&[]).contains("shapes nothing"));
    }
}
