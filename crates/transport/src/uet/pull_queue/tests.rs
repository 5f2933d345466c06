use super::*;
use crate::uet::{EqdsKeys, NdpKeys, PullOrder, RcccKeys};
use proptest::prelude::*;
use units::Bytes;

/// Time of 64 units at 0.99 of 100 Gb/s in ps: 64 * 2048 bit / 99 Gb/s = 1.3240 us.
const PULL: u64 = 1_323_959;

fn facts() -> UetFacts {
    UetFacts {
        planes: 1,
        overhead: 20,
        rate: BitRate::from_gbps(100),
        base_rtt: Time::from_us(12),
        packet: 4150,
        payload: 4086,
        trimming: true,
    }
}
fn rules(keys: &RcccKeys) -> CreditRules {
    crate::uet::UetControlKeys::Rccc(keys.clone()).credits().unwrap()
}
fn without_slow_pulls() -> RcccKeys {
    RcccKeys { slow_pulls: false, ..RcccKeys::default() }
}
fn contexts(many: usize, rules: &CreditRules) -> Vec<Grants> {
    let pacer = PullPacer::default();
    let mut all: Vec<Grants> = (0..many).map(|_| Grants::new(rules, &facts())).collect();
    all.iter_mut().for_each(|it| it.attach(&pacer));
    all
}
fn arrive(it: &mut Grants, target: u32, now: Time) {
    it.on_packet(target, now, Arrival::default(), false);
}
/// Returns the grants (context, time, cumulative units) until no context waits.
fn turns(all: &mut [Grants]) -> Vec<(usize, u64, u32)> {
    turns_until(all, u64::MAX - 1)
}
/// Returns the grants up to a time in picoseconds.
fn turns_until(all: &mut [Grants], end: u64) -> Vec<(usize, u64, u32)> {
    let mut turns = Vec::new();
    while let Some((place, at)) =
        (0..all.len()).map(|n| (n, all[n].turn)).min_by_key(|turn| turn.1).filter(|it| it.1.ps() <= end)
    {
        if let Some(granted) = all[place].grant(at) {
            turns.push((place, at.ps(), granted));
        }
    }
    turns
}

#[test]
fn contexts_of_a_nic_take_turns_at_the_rate_of_its_link() {
    let mut all = contexts(3, &rules(&without_slow_pulls()));
    // The third context requests one grant, the others two.
    for (it, target) in all.iter_mut().zip([128, 128, 64]) {
        arrive(it, target, Time::ZERO);
    }
    let found = turns(&mut all);
    let order = [(0, 64), (1, 64), (2, 64), (0, 128), (1, 128)];
    let expected: Vec<_> = order.iter().zip(0..).map(|(&(at, to), n)| (at, n * PULL, to)).collect();
    assert_eq!(found, expected);
    // An idle pacer grants at once.
    arrive(&mut all[2], 65, Time::from_us(50));
    assert_eq!(all[2].turn, Time::from_us(50));
}

#[test]
fn a_context_has_all_its_turns_first_in_first_out() {
    let keys = EqdsKeys {
        pull_order: PullOrder::Fifo,
        pull: Bytes::new(16 << 10),
        slow_pulls: false,
        ..EqdsKeys::default()
    };
    let mut all = contexts(3, &crate::uet::UetControlKeys::Eqds(keys).credits().unwrap());
    for (it, target) in all.iter_mut().zip([128, 128, 64]) {
        arrive(it, target, Time::ZERO);
    }
    let order = [(0, 64), (0, 128), (1, 64), (1, 128), (2, 64)];
    let expected: Vec<_> = order.iter().zip(0..).map(|(&(at, to), n)| (at, n * PULL, to)).collect();
    assert_eq!(turns(&mut all), expected);
}

#[test]
fn a_grant_is_what_was_asked_for_and_takes_its_time() {
    let mut all = contexts(2, &rules(&without_slow_pulls()));
    arrive(&mut all[0], 16, Time::ZERO);
    arrive(&mut all[1], 64, Time::ZERO);
    assert_eq!(turns(&mut all), [(0, 0, 16), (1, PULL / 4, 64)]);
    // A trimmed packet that requests no more credit gets the last number again, which takes the time of 4 units.
    let trimmed = Arrival { trimmed: true, ..Arrival::default() };
    let now = Time::from_us(10);
    all[0].on_packet(16, now, trimmed, false);
    arrive(&mut all[1], 128, now);
    assert_eq!(turns(&mut all), [(0, now.ps(), 16), (1, now.ps() + PULL / 16, 128)]);
}

#[test]
fn what_is_asked_for_while_it_waits_counts_at_its_turn() {
    let mut all = contexts(2, &rules(&without_slow_pulls()));
    arrive(&mut all[0], 16, Time::ZERO);
    arrive(&mut all[0], 64, Time::ZERO);
    assert_eq!(turns(&mut all[..1]), [(0, 0, 64)]);
    // The next turn waits for the whole grant.
    arrive(&mut all[1], 64, Time::ZERO);
    assert_eq!(all[1].turn, Time::from_ps(PULL));
}

#[test]
fn idle_contexts_are_granted_the_largest_credit_in_advance() {
    let mut all = contexts(2, &rules(&RcccKeys::default()));
    arrive(&mut all[0], 64, Time::ZERO);
    arrive(&mut all[1], 64, Time::ZERO);
    // 225,000 B are 878 units or 13.7 grants, so the 14th grant is the last.
    let found = turns(&mut all);
    assert_eq!(found.len(), 2 * 15);
    assert!(found.iter().zip(0..).all(|(turn, n)| turn.1 == n * PULL), "{found:?}");
    assert_eq!((all[0].granted, all[1].granted), (15 * 64, 15 * 64));
    assert!(found.iter().zip(0..).all(|(turn, n)| turn.0 == n % 2), "in turn: {found:?}");
    // A context that repeats its request is served before idle contexts.
    arrive(&mut all[0], 64 + 128, Time::from_us(100));
    assert_eq!(all[0].turn, Time::NEVER, "more has been granted than is requested");
    arrive(&mut all[0], 16 * 64, Time::from_us(100));
    assert_eq!(all[0].grant(Time::from_us(100)), Some(16 * 64));
    assert!(all[0].turn > Time::from_us(101));
    arrive(&mut all[1], 17 * 64, Time::from_us(101));
    assert_eq!(all[1].turn, Time::from_us(100) + Time::from_ps(PULL));
}

#[test]
fn cumulative_numbers_wrap() {
    let mut it = Grants::new(&rules(&without_slow_pulls()), &facts());
    (it.target, it.granted) = ((1 << 24) - 10, (1 << 24) - 10);
    arrive(&mut it, 54, Time::ZERO);
    assert_eq!((it.target, it.turn), ((1 << 24) + 54, Time::ZERO));
    assert_eq!(it.grant(Time::ZERO), Some(54));
    arrive(&mut it, (1 << 24) - 5, Time::ZERO);
    assert_eq!(it.target, (1 << 24) + 54, "an older one");
}

#[test]
fn with_ndp_each_packet_that_arrives_pulls_one() {
    let rules = crate::uet::UetControlKeys::Ndp(NdpKeys::default()).credits().unwrap();
    let mut it = Grants::new(&rules, &facts());
    let trimmed = Arrival { trimmed: true, ..Arrival::default() };
    it.on_packet(9, Time::ZERO, Arrival::default(), false);
    it.on_packet(8, Time::ZERO, trimmed, false);
    it.on_packet(8, Time::ZERO, trimmed, false);
    // One grant per 4150 B at 100 Gb/s.
    let mut all = [it];
    assert_eq!(turns(&mut all), [(0, 0, 1), (0, 332_000, 2), (0, 664_000, 3)]);
    // Nothing is left to send or missing, so the waiting grants are withdrawn.
    let [mut it] = all;
    it.on_packet(1, Time::from_us(9), Arrival::default(), false);
    it.on_packet(0, Time::from_us(9), Arrival::default(), true);
    assert_eq!((it.turn, it.grant(Time::from_us(9))), (Time::NEVER, None));
}

#[test]
fn an_oversubscribed_core_slows_grants_by_its_trims_and_marks() {
    let keys = RcccKeys { oversubscription: 4.0, ..without_slow_pulls() };
    let mut it = Grants::new(&rules(&keys), &facts());
    let rate = |it: &Grants| it.pacer.nic().core.as_ref().map_or(0.0, |core| core.rate);
    let mut now = Time::ZERO;
    let mut period = |it: &mut Grants, arrivals: [Arrival; 4]| {
        let now_end = now + Time::from_us(30);
        arrivals.into_iter().for_each(|arrival| it.on_packet(0, now, arrival, false));
        now = now_end;
    };
    let whole = Arrival::default();
    let within = Arrival { trimmed: true, within: true, ..whole };
    let last = Arrival { trimmed: true, ..whole };
    let marked = Arrival { marked: true, ..whole };
    period(&mut it, [whole; 4]);
    assert_eq!(rate(&it), 1.0);
    // The first packet of a period ends the one before. In that one, half of the packets were trimmed within the core.
    period(&mut it, [whole, within, within, whole]);
    period(&mut it, [whole; 4]);
    assert!((rate(&it) - (0.5 + 0.02)).abs() < 1e-12, "{}", rate(&it));
    // Trims at the last hop are caused by incast, which grants limit anyway.
    period(&mut it, [whole, last, last, last]);
    let before = rate(&it);
    period(&mut it, [whole; 4]);
    assert!(rate(&it) > before);
    // The average share of marks rises to 0.5 and 0.75. The rate falls by half of the excess over 0.3, down to 0.9 of
    // the fair share.
    period(&mut it, [whole, marked, marked, marked]);
    period(&mut it, [marked; 4]);
    let before = rate(&it);
    period(&mut it, [marked; 4]);
    assert!(rate(&it) < before, "{} {before}", rate(&it));
    (0..200).for_each(|_| period(&mut it, [marked; 4]));
    assert_eq!(rate(&it), 0.9 / 4.0);
    assert_eq!(it.gap(64, &it.pacer.nic()), Time::from_ps((64.0 * it.unit_time / 0.225) as u64));
}

proptest! {
    /// Tests any requests at any times: grants are sent one after the other at the rate of the link and in the order of
    /// the requests, and each context gets the amount that it requested. The model is a list of waiting contexts.
    #[test]
    fn grants_are_those_of_a_queue(
        steps in prop::collection::vec((0usize..6, 1u32..200, 0u64..3_000_000), 1..100),
    ) {
        let mut all = contexts(6, &rules(&without_slow_pulls()));
        let unit = all[0].unit_time;
        let mut requested = [0u32; 6];
        let arrivals: Vec<(u64, usize, u32)> = steps.iter().scan(0, |now, &(place, more, wait)| {
            *now += wait;
            requested[place] += more;
            Some((*now, place, requested[place]))
        }).collect();
        let mut found = Vec::new();
        for &(now, place, target) in &arrivals {
            found.extend(turns_until(&mut all, now.saturating_sub(1)));
            arrive(&mut all[place], target, Time::from_ps(now));
        }
        found.extend(turns(&mut all));
        let (mut queue, mut free) = (std::collections::VecDeque::<usize>::new(), 0u64);
        let (mut target, mut granted) = ([0u32; 6], [0u32; 6]);
        let mut expected = Vec::new();
        let mut arrivals = arrivals.into_iter().peekable();
        loop {
            let next = arrivals.peek().map_or(u64::MAX, |it| it.0);
            if queue.is_empty() || next <= free {
                let Some((now, place, to)) = arrivals.next() else { break };
                target[place] = to;
                free = if queue.is_empty() { free.max(now) } else { free };
                if !queue.contains(&place) {
                    queue.push_back(place);
                }
                continue;
            }
            let place = queue.pop_front().unwrap();
            let units = (target[place] - granted[place]).min(64);
            granted[place] += units;
            expected.push((place, free, granted[place]));
            free += (f64::from(units) * unit) as u64;
            if target[place] > granted[place] {
                queue.push_back(place);
            }
        }
        prop_assert_eq!(found, expected);
    }
}
