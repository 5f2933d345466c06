//! ETS: enhanced transmission selection, hierarchical.
//!
//! Traffic classes are served in this order: strict priority classes, highest first; classes with a credit-based
//! shaper whose credit is not negative, highest first; ETS classes, which share the remaining bandwidth by percentages
//! that sum to 100. The unused bandwidth of an ETS class is available to the other ETS classes in proportion to their
//! percentages.
//!
//! ETS classes are served by weighted deficit round robin: quantum_i = pct_i · largest frame / smallest percentage, so
//! that the smallest class sends exactly one largest frame per round and the ratios are exact. A class with 0 % sends
//! only when no other ETS class has frames. A class may contain several queues (a priority group of pre-standard DCB
//! switches). In a strict class the highest queue is served first. In an ETS class the queues are served in
//! round-robin order by bytes, or with the adaptive weights of `drr_awc`.
//!
//! Credit-based shaper: the credit increases at the idle slope while frames wait or the credit is negative. It
//! decreases at (link rate - idle slope) while the class sends. A class that is empty or stopped by flow control loses
//! positive credit.
//!
//! Source: IEEE 802.1Qaz (802.1Q clauses 8.6.8.2 and 37); Hagen 2012 §2.1.2, §3.2.2. The sharing among classes is left
//! to the implementer; deficit round robin is our choice (OC), as is the rule for 0 %.
//!
//! Not modelled: vendor-specific transmission selection (255); frame preemption; the gates of IEEE 802.1Qbv.

use crate::accounted_length::accounted;
use crate::credit::Credit;
use crate::drr::{self, Rounds};
use crate::drr_awc::DrrAwc;
use crate::ets_class::{EtsClass, Selection};
use crate::ready::ReadySet;
use crate::{AccountedLength, Basis, Configuration, Discipline, LatencyRate, PortFacts, PortLength, Share};
use keys::{Remark, Remarks};
use units::{BitRate, Bytes, Time};

accounted! {
    /// Keys of enhanced transmission selection.
    pub struct EtsParams accounts wire {
        /// Classes of transmission selection, lowest first, 1 to 8; each with its queues and one of `percent`, `strict` and `idle_slope`. Every queue must belong to one class. Required.
        pub classes: Vec<EtsClass>,
    }
}

impl EtsParams {
    const MOST_CLASSES: usize = 8;
    const KEY: &str = "classes";

    /// Creates ETS with these classes, accounted by wire length so that they share time on the link.
    pub fn new(classes: Vec<EtsClass>) -> EtsParams {
        let none = Bytes::default();
        EtsParams { classes, accounted_length: Basis::Wire, per_frame: none, cell: none }
    }
    /// Creates ETS with one class per queue, each with a percentage.
    pub fn percentages(percentages: &[u32]) -> EtsParams {
        let class = |(queue, &percent): (u32, &u32)| EtsClass {
            queues: vec![queue],
            selection: Selection::Percent(percent),
            adaptive: None,
        };
        EtsParams::new((0..).zip(percentages).map(class).collect())
    }
    fn percent(&self, class: usize) -> Option<u32> {
        match self.classes[class].selection {
            Selection::Percent(percent) => Some(percent),
            _ => None,
        }
    }
    /// Returns the quanta of all classes in units of 1/(smallest percentage) byte, and that percentage.
    fn quanta(&self, port: &PortFacts) -> (Vec<u64>, u64) {
        let percents = (0..self.classes.len()).map(|class| self.percent(class).unwrap_or(0));
        let least = percents.clone().filter(|&percent| percent > 0).min().unwrap_or(1);
        let largest = u64::from(port.largest(self.accounted_length()));
        (percents.map(|percent| largest * u64::from(percent)).collect(), u64::from(least))
    }
    fn class_of(&self, queue: u32) -> Option<usize> {
        self.classes.iter().position(|class| class.queues.contains(&queue))
    }
    fn check_queues(&self, port: &PortFacts) -> Result<(), Remark> {
        let mut owner: Vec<Option<usize>> = vec![None; port.queues as usize];
        for (at, class) in self.classes.iter().enumerate() {
            if class.queues.is_empty() {
                let message = format!("traffic class {at} has no queue");
                return Err(Remark::about(Self::KEY, message, "expected one at least").entry(at));
            }
            for &queue in &class.queues {
                match owner.get_mut(queue as usize) {
                    None => {
                        let message = format!("traffic class {at} claims queue {queue}");
                        let help = format!("the port has queues 0 to {}", port.queues - 1);
                        return Err(Remark::about(Self::KEY, message, help).entry(at));
                    }
                    Some(Some(other)) => {
                        let message = format!("traffic classes {other} and {at} both claim queue {queue}");
                        return Err(Remark::about(Self::KEY, message, "expected each queue once"));
                    }
                    Some(owner) => *owner = Some(at),
                }
            }
        }
        match owner.iter().position(Option::is_none) {
            Some(queue) => {
                let message = format!("queue {queue} belongs to no traffic class: it would never send");
                Err(Remark::about(Self::KEY, message, "expected every queue in one class"))
            }
            None => Ok(()),
        }
    }
}

impl Configuration for EtsParams {
    type Machine = Ets;

    fn check(&self, port: &PortFacts) -> Remarks {
        self.accounted_length().check()?;
        let classes = self.classes.len();
        let most = Self::MOST_CLASSES.min(port.queues as usize);
        if !(1..=most).contains(&classes) {
            let message = format!("{classes} traffic classes for {} queues", port.queues);
            return Err(Remark::about(Self::KEY, message, format!("accepted are 1 to {most}")));
        }
        self.check_queues(port)?;
        let (mut warnings, mut slopes) = (Vec::new(), 0);
        for (at, class) in self.classes.iter().enumerate() {
            let place = |remark: Remark| remark.within("drr_awc").within_entry(at).within(Self::KEY);
            let found = class.check_adaptive(at, self.accounted_length(), port).map_err(place)?;
            warnings.extend(found.into_iter().map(place));
            match class.selection {
                Selection::CreditBased { idle_slope } => {
                    let what = format!("the idle slope of traffic class {at}");
                    let place =
                        |remark: Remark| remark.within("idle_slope").within_entry(at).within(Self::KEY);
                    idle_slope.check(&what, port.rate).map_err(place)?;
                    slopes += idle_slope.of(port.rate).bps();
                    if class.queues.len() > 1 {
                        let queues = class.queues.len();
                        let message =
                            format!("traffic class {at} has a credit-based shaper and {queues} queues");
                        return Err(Remark::about(Self::KEY, message, "it can have one").entry(at));
                    }
                }
                Selection::Percent(0) => {
                    let message = format!(
                        "traffic class {at} has 0 %: it sends only when no other ETS class has anything to send"
                    );
                    warnings.push(Remark::about(Self::KEY, message, "").entry(at));
                }
                _ => {}
            }
        }
        if slopes >= port.rate.bps() {
            let sum = BitRate::from_bps(slopes);
            let help = format!("they have to stay below the link's {}", port.rate);
            return Err(Remark::about(Self::KEY, format!("the idle slopes sum to {sum}"), help));
        }
        let percents: Vec<u32> = (0..classes).filter_map(|class| self.percent(class)).collect();
        let sum: u64 = percents.iter().map(|&percent| u64::from(percent)).sum();
        if !percents.is_empty() && sum != 100 {
            let message = format!("the percentages of the ETS classes sum to {sum}");
            return Err(Remark::about(Self::KEY, message, "they have to sum to 100"));
        }
        Ok(warnings)
    }
    fn start(&self, port: &PortFacts) -> Ets {
        let classes = self.classes.len() as u32;
        let (quanta, scale) = self.quanta(port);
        let largest = u64::from(port.largest(self.accounted_length()));
        let class = |class: &EtsClass| Class {
            kind: match class.selection {
                Selection::Strict => Kind::Strict,
                Selection::CreditBased { idle_slope } => {
                    Kind::Shaped(idle_slope, Credit::new(idle_slope.of(port.rate), port.rate))
                }
                Selection::Percent(0) => Kind::Leftover,
                Selection::Percent(_) => Kind::Share,
            },
            queues: class.queues.clone(),
            members: if class.queues.len() == 1 {
                Members::One { head: None }
            } else if class.selection == Selection::Strict {
                Members::Highest(ReadySet::new(port.queues))
            } else if let Some(adaptive) = &class.adaptive {
                Members::Adaptive(Box::new(adaptive.start(&class.port(port))))
            } else {
                Members::Round(Rounds::new(vec![largest; class.queues.len()], 1))
            },
        };
        let mut place = vec![(0, 0); port.queues as usize];
        for (at, class) in (0..).zip(&self.classes) {
            for (member, &queue) in (0..).zip(&class.queues) {
                place[queue as usize] = (at, member);
            }
        }
        Ets {
            length: self.accounted_length().at(port),
            port: *port,
            place,
            classes: self.classes.iter().map(class).collect(),
            strict: 0,
            shaped: 0,
            share: Rounds::new(quanta, scale),
            leftover: Rounds::new(vec![largest; classes as usize], 1),
            in_service: None,
            stalled: false,
        }
    }
    /// Returns the bound of a class. The highest strict class waits for at most one frame. ETS classes have a guarantee
    /// only if there is no strict or shaped class.
    fn latency_rate_bound(&self, queue: u32, port: &PortFacts) -> Option<LatencyRate> {
        let class = self.class_of(queue)?;
        if self.classes[class].queues.len() > 1 {
            return None;
        }
        let strict_above = self.classes[class + 1..].iter().any(|class| class.selection == Selection::Strict);
        if self.classes[class].selection == Selection::Strict && !strict_above {
            let rate = port.slowest_bytes_per_s(AccountedLength::WIRE);
            return Some(LatencyRate::new(rate, f64::from(port.largest(AccountedLength::WIRE)) / rate));
        }
        let percents: Option<Vec<u32>> = (0..self.classes.len()).map(|class| self.percent(class)).collect();
        let percents = percents.filter(|percents| percents[class] > 0)?;
        let (quanta, scale) = self.quanta(port);
        let own = percents[..class].iter().filter(|&&percent| percent > 0).count();
        let quanta: Vec<f64> = quanta
            .iter()
            .filter(|&&quantum| quantum > 0)
            .map(|&quantum| quantum as f64 / scale as f64)
            .collect();
        let mut bound = drr::bound(&quanta, own as u32, self.accounted_length(), port);
        if percents.contains(&0) {
            // A frame of a class of 0 % may have begun just before.
            bound.latency += port.wire_time(port.largest_frame);
        }
        Some(bound)
    }
}

#[derive(Clone, Debug)]
struct Class {
    kind: Kind,
    queues: Vec<u32>,
    members: Members,
}

#[derive(Clone, Debug)]
enum Kind {
    Strict,
    /// Credit-based shaper: the idle slope as configured, and the credit.
    Shaped(Share, Credit),
    Share,
    /// ETS class of 0 %, which gets only the bandwidth that all others leave.
    Leftover,
}

/// The active queues of a class.
#[derive(Clone, Debug)]
enum Members {
    /// A single queue: the accounted bytes of its head if it is active.
    One { head: Option<u32> },
    /// Highest queue first; members are queue numbers.
    Highest(ReadySet),
    /// Round robin by bytes; members are indices of the class's list.
    Round(Rounds),
    /// Adaptive weights; members are indices of the class's list.
    Adaptive(Box<DrrAwc>),
}

/// The state of ETS: three levels of selection.
#[derive(Clone, Debug)]
pub struct Ets {
    length: PortLength,
    port: PortFacts,
    /// By queue: its class, and its index in the class's list.
    place: Vec<(u32, u32)>,
    classes: Vec<Class>,
    /// Active strict classes and active shaped classes, bit n for class n.
    strict: u8,
    shaped: u8,
    /// ETS classes with a percentage, and ETS classes of 0 %.
    share: Rounds,
    leftover: Rounds,
    /// Class whose frame is on the wire. Its next queue is determined at the end of that frame.
    in_service: Option<u32>,
    /// True if flow control stops all waiting frames.
    stalled: bool,
}

impl Class {
    /// Returns the next queue of this class. The accounted bytes of its head are 0 where the class does not need them.
    #[inline]
    fn front(&mut self) -> Option<(u32, u32)> {
        match &mut self.members {
            Members::One { head } => head.map(|head| (self.queues[0], head)),
            Members::Highest(ready) => ready.highest().map(|queue| (queue, 0)),
            Members::Round(rounds) => {
                let member = rounds.pick()?;
                Some((self.queues[member as usize], rounds.head(member)))
            }
            Members::Adaptive(adaptive) => {
                let (member, head) = adaptive.front()?;
                Some((self.queues[member as usize], head))
            }
        }
    }
}

impl Ets {
    /// Updates the level above with the class's next queue.
    #[inline]
    fn update(&mut self, class: u32, now: Time) {
        if self.in_service == Some(class) {
            return;
        }
        let state = &mut self.classes[class as usize];
        let front = state.front();
        let bit = 1u8 << class;
        match &mut state.kind {
            Kind::Strict => set_bit(&mut self.strict, bit, front.is_some()),
            Kind::Shaped(_, credit) => {
                credit.set_waiting(front.is_some(), now);
                set_bit(&mut self.shaped, bit, front.is_some());
            }
            Kind::Share => show(&mut self.share, class, front),
            Kind::Leftover => show(&mut self.leftover, class, front),
        }
    }
}

impl Ets {
    /// Records whether frames of active shaped classes wait, which determines how their credit evolves.
    fn let_shaped_wait(&mut self, waiting: bool, now: Time) {
        for class in (0..self.classes.len()).filter(|class| self.shaped >> class & 1 != 0) {
            if let Kind::Shaped(_, credit) = &mut self.classes[class].kind {
                credit.set_waiting(waiting, now);
            }
        }
    }
}

#[inline]
fn set_bit(bits: &mut u8, bit: u8, on: bool) {
    *bits = if on { *bits | bit } else { *bits & !bit };
}

/// Makes a class active or inactive in `rounds`, or changes its head.
#[inline]
fn show(rounds: &mut Rounds, class: u32, front: Option<(u32, u32)>) {
    match front {
        Some((_, head)) if rounds.is_active(class) => rounds.set_head(class, head),
        Some((_, head)) => rounds.activate(class, head),
        None => rounds.deactivate(class),
    }
}

impl Discipline for Ets {
    #[inline]
    fn arrive(&mut self, queue: u32, bytes: u32, now: Time) {
        let (class, member) = self.place[queue as usize];
        if let Members::Adaptive(adaptive) = &mut self.classes[class as usize].members {
            adaptive.arrive(member, bytes, now);
        }
    }
    #[inline]
    fn activate(&mut self, queue: u32, head: u32, now: Time) {
        let (class, member) = self.place[queue as usize];
        let accounted = self.length.of(head);
        match &mut self.classes[class as usize].members {
            Members::One { head } => *head = Some(accounted),
            Members::Highest(ready) => ready.insert(queue),
            Members::Round(rounds) => rounds.activate(member, accounted),
            Members::Adaptive(adaptive) => adaptive.activate(member, head, now),
        }
        self.update(class, now);
    }
    #[inline]
    fn deactivate(&mut self, queue: u32, now: Time) {
        let (class, member) = self.place[queue as usize];
        match &mut self.classes[class as usize].members {
            Members::One { head } => *head = None,
            Members::Highest(ready) => ready.remove(queue),
            Members::Round(rounds) => rounds.deactivate(member),
            Members::Adaptive(adaptive) => adaptive.deactivate(member, now),
        }
        self.update(class, now);
    }
    #[inline]
    fn pick(&mut self, now: Time) -> Option<u32> {
        if std::mem::take(&mut self.stalled) {
            self.let_shaped_wait(true, now);
        }
        let class = if self.strict != 0 {
            self.strict.ilog2()
        } else {
            let mut shaped = self.shaped;
            loop {
                if shaped == 0 {
                    break if self.share.is_empty() { self.leftover.pick()? } else { self.share.pick()? };
                }
                let class = shaped.ilog2();
                if let Kind::Shaped(_, credit) = &mut self.classes[class as usize].kind
                    && credit.allows(now)
                {
                    break class;
                }
                shaped &= !(1 << class);
            }
        };
        self.classes[class as usize].front().map(|(queue, _)| queue)
    }
    #[inline]
    fn sent(&mut self, queue: u32, bytes: u32, now: Time) {
        let (class, member) = self.place[queue as usize];
        let accounted = self.length.of(bytes);
        let state = &mut self.classes[class as usize];
        match &mut state.members {
            Members::Round(rounds) => rounds.sent(member, accounted),
            Members::Adaptive(adaptive) => adaptive.sent(member, bytes, now),
            Members::One { .. } | Members::Highest(_) => {}
        }
        match &mut state.kind {
            Kind::Strict => {}
            Kind::Shaped(_, credit) => credit.sends(self.port.wire_time(bytes), true, now),
            Kind::Share => self.share.sent(class, accounted),
            Kind::Leftover => self.leftover.sent(class, accounted),
        }
        self.in_service = Some(class);
    }
    #[inline]
    fn completed(&mut self, queue: u32, next: Option<u32>, now: Time) {
        let (class, member) = self.place[queue as usize];
        if let Members::Adaptive(adaptive) = &mut self.classes[class as usize].members {
            adaptive.completed(member, next, now);
        }
        let next = next.map(|head| self.length.of(head));
        match (&mut self.classes[class as usize].members, next) {
            (Members::One { head }, _) => *head = next,
            (Members::Highest(ready), Some(_)) => ready.insert(queue),
            (Members::Highest(ready), None) => ready.remove(queue),
            (Members::Round(rounds), _) => rounds.completed(member, next),
            (Members::Adaptive(_), _) => {}
        }
        self.in_service = None;
        self.update(class, now);
    }
    fn replace_head(&mut self, queue: u32, head: u32, now: Time) {
        let (class, member) = self.place[queue as usize];
        let accounted = self.length.of(head);
        match &mut self.classes[class as usize].members {
            Members::One { head } => *head = Some(accounted),
            Members::Highest(_) => {}
            Members::Round(rounds) => rounds.set_head(member, accounted),
            Members::Adaptive(adaptive) => adaptive.replace_head(member, head, now),
        }
        self.update(class, now);
    }
    #[inline]
    fn pass(&mut self, queue: u32, bytes: u32, now: Time) -> bool {
        let (class, _) = self.place[queue as usize];
        if let Kind::Shaped(_, credit) = &mut self.classes[class as usize].kind
            && !credit.allows(now)
        {
            return false;
        }
        self.activate(queue, bytes, now);
        let picked = self.pick(now);
        debug_assert_eq!(picked, Some(queue), "something waits");
        self.sent(queue, bytes, now);
        true
    }
    fn wake(&mut self, now: Time) -> Option<Time> {
        let ready = (0..self.classes.len()).filter(|class| self.shaped >> class & 1 != 0).map(|class| {
            match &self.classes[class].kind {
                Kind::Shaped(_, credit) => credit.ready_at(),
                _ => Time::NEVER,
            }
        });
        ready.min().map(|at| at.max(now))
    }
    /// Stops all classes. A class that flow control stops keeps no positive credit, even if all classes stop.
    fn stall(&mut self, now: Time) {
        self.stalled = true;
        self.let_shaped_wait(false, now);
    }
    fn on_link_rate(&mut self, rate: BitRate, now: Time) {
        self.port.rate = rate;
        for class in &mut self.classes {
            if let Kind::Shaped(slope, credit) = &mut class.kind {
                credit.set_rates(slope.of(rate), rate, now);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testbed::{Serve, finish_times, order_of, port, saturate};

    fn class(queues: &[u32], selection: Selection) -> EtsClass {
        EtsClass { queues: queues.to_vec(), selection, adaptive: None }
    }
    fn ets(classes: Vec<EtsClass>) -> EtsParams {
        EtsParams::new(classes).accounting(AccountedLength::WIRE)
    }
    const PERCENT: fn(u32) -> Selection = Selection::Percent;

    #[test]
    fn a_slope_above_a_slower_link_costs_no_credit() {
        let shaped = Selection::CreditBased { idle_slope: Share::Rate(BitRate::from_gbps(5)) };
        let mut ets = ets(vec![class(&[0], shaped)]).start(&port(1));
        let ms = Time::from_us(1000);
        for (rate, at) in [(1, ms), (10, ms * 2)] {
            ets.on_link_rate(BitRate::from_gbps(rate), at);
            ets.activate(0, 1500, at);
            assert_eq!(ets.pick(at), Some(0));
            ets.sent(0, 1500, at);
        }
        assert!(ets.wake(ms * 2).is_some_and(|ready| ready < ms * 2 + Time::from_us(10)));
    }

    #[test]
    fn quanta_follow_the_rule() {
        // Percentages 30 : 50 : 20 with a largest accounted frame of 1542 B give quanta of 2313, 3855 and 1542 B.
        let (quanta, scale) = EtsParams::percentages(&[30, 50, 20]).quanta(&port(3));
        assert_eq!(quanta, [2313, 3855, 1542].map(|quantum| quantum * scale));
    }

    #[test]
    fn strict_first_then_shares_then_leftover() {
        let params = ets(vec![
            class(&[0], PERCENT(0)),
            class(&[1], PERCENT(50)),
            class(&[2], PERCENT(50)),
            class(&[3], Selection::Strict),
            class(&[4], Selection::Strict),
        ]);
        let queues = vec![vec![1522; 2]; 5];
        assert_eq!(order_of(&mut params.start(&port(5)), &queues), [4, 4, 3, 3, 1, 2, 1, 2, 0, 0]);
    }

    #[test]
    fn all_eight_classes_within_a_percent_under_overload() {
        // Hagen 2012, Figure 3-2 (H3-2): mixed sizes, every queue offered line rate.
        let percents = [5, 10, 10, 15, 20, 20, 12, 8];
        let sizes = [1522, 64, 512, 1522, 256, 1024, 68, 1518];
        let facts = port(8);
        let sent =
            saturate(&mut EtsParams::percentages(&percents).start(&facts), &facts, &sizes, Time::from_ms(50));
        let time: Vec<f64> = sent
            .iter()
            .zip(&sizes)
            .map(|(&frames, &bytes)| (frames * u64::from(bytes + 20)) as f64)
            .collect();
        let all: f64 = time.iter().sum();
        for (queue, &percent) in percents.iter().enumerate() {
            let share = time[queue] / all * 100.0;
            assert!(
                (share / f64::from(percent) - 1.0).abs() < 0.01,
                "class {queue}: {share} % of {percent} %"
            );
        }
    }

    #[test]
    fn an_idle_class_leaves_its_part_by_weight() {
        let facts = port(3);
        let sent = saturate(
            &mut EtsParams::percentages(&[20, 30, 50]).start(&facts),
            &facts,
            &[1000, 1000, 0],
            Time::from_ms(20),
        );
        assert!((sent[1] as f64 / sent[0] as f64 - 1.5).abs() < 0.01 && sent[2] == 0);
    }

    #[test]
    fn groups_share_one_percentage() {
        let params = ets(vec![class(&[0, 1], PERCENT(60)), class(&[2], PERCENT(40))]);
        let facts = port(3);
        let sent = saturate(&mut params.start(&facts), &facts, &[1480, 480, 1480], Time::from_ms(40));
        let time = [sent[0] * 1500, sent[1] * 500, sent[2] * 1500].map(|bytes| bytes as f64);
        let all: f64 = time.iter().sum();
        for (part, share) in time.iter().zip([0.3, 0.3, 0.4]) {
            assert!((part / all - share).abs() < 0.005, "{part} of {all}, {share} expected");
        }
    }

    #[test]
    fn the_credit_of_a_shaped_class() {
        // The idle slope is 2.5 of 10 Gb/s. A frame of 980 B takes 800 ns and uses 6000 bits of credit, which take 2.4
        // us to accumulate.
        let slope = Selection::CreditBased { idle_slope: Share::PartsPerMillion(250_000) };
        let params = ets(vec![class(&[0], PERCENT(100)), class(&[1], slope)]);
        let facts = port(2);
        let mut machine = params.start(&facts);
        machine.activate(1, 980, Time::ZERO);
        assert_eq!(machine.pick(Time::ZERO), Some(1));
        machine.serve(1, 980, Some(980), Time::ZERO);
        assert_eq!(machine.pick(Time::from_ns(800)), None);
        assert_eq!(machine.wake(Time::from_ns(800)), Some(Time::from_ns(3_200)));
        assert_eq!(machine.pick(Time::from_ps(3_199_999)), None);
        assert_eq!(machine.pick(Time::from_ns(3_200)), Some(1));
        // Positive credit is cleared after the last frame.
        machine.serve(1, 980, None, Time::from_us(100));
        machine.activate(1, 980, Time::from_us(200));
        let Kind::Shaped(_, credit) = &machine.classes[1].kind else { panic!("not shaped") };
        assert_eq!(credit.credit, 0);
    }

    #[test]
    fn a_shaped_class_gets_its_slope_and_the_rest_the_rest() {
        let slope = Selection::CreditBased { idle_slope: Share::PartsPerMillion(250_000) };
        let params = ets(vec![class(&[0], PERCENT(100)), class(&[1], slope)]);
        let facts = port(2);
        let arrivals: Vec<_> = (0..20_000).map(|n| (Time::ZERO, n % 2, 980)).collect();
        let finished = finish_times(&mut params.start(&facts), &facts, &arrivals);
        let by = Time::from_ms(5);
        let sent = |queue: usize| finished.iter().skip(queue).step_by(2).filter(|&&at| at <= by).count();
        assert!((1555..=1570).contains(&sent(1)), "{}", sent(1));
        assert_eq!(sent(0) + sent(1), 6250);
    }

    #[test]
    fn what_is_no_configuration() {
        let check = |params: EtsParams, queues| params.check(&port(queues)).unwrap_err();
        assert!(check(EtsParams::percentages(&[30, 50, 30]), 3).contains("sum to 110"));
        assert!(check(EtsParams::percentages(&[50, 50]), 3).contains("queue 2 belongs to no traffic class"));
        assert!(check(EtsParams::percentages(&[10; 10]), 10).contains("accepted are 1 to 8"));
        assert!(check(EtsParams::percentages(&[50, 25, 25]), 2).contains("3 traffic classes for 2 queues"));
        let twice = ets(vec![class(&[0], PERCENT(50)), class(&[0, 1], PERCENT(50))]);
        assert!(check(twice, 2).contains("classes 0 and 1 both claim queue 0"));
        let steep = Selection::CreditBased { idle_slope: Share::PartsPerMillion(600_000) };
        assert!(
            check(ets(vec![class(&[0], steep), class(&[1], steep)]), 2)
                .contains("idle slopes sum to 12 Gb/s")
        );
        let zero = EtsParams::percentages(&[100, 0]).check(&port(2)).unwrap();
        assert!(zero[0].contains("class 1 has 0 %"));
    }
}
