use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

const MS: Time = Time::from_ms(1);

fn keys(entropies: u64, reserve: u64) -> MrcPathsKeys {
    MrcPathsKeys { entropies, reserve, ..MrcPathsKeys::default() }
}
fn paths(keys: &MrcPathsKeys, planes: u16) -> MrcPaths {
    MrcPaths::new(keys, &PathsFacts { base_rtt: Time::ZERO, seed: 7, planes, trimming: false })
}
fn feed(it: &mut MrcPaths, now: Time, entropy: u16, signal: PathSignal) {
    it.on_feedback(now, PathFeedback { entropy, signal });
}
/// Returns the next `count` values.
fn turns(it: &mut MrcPaths, count: usize) -> Vec<u16> {
    (0..count).map(|_| it.next(Time::ZERO)).collect()
}
/// Sends and answers all probes that are due. Returns their values.
fn probe_all(it: &mut MrcPaths, now: Time) -> Vec<u16> {
    let mut probed = Vec::new();
    while let Some(entropy) = it.due_probe(now) {
        it.on_probe(now);
        feed(it, now, entropy, PathSignal::ProbeAnswered);
        probed.push(entropy);
    }
    probed
}

#[test]
fn planes_carry_equally_many_packets() {
    for planes in [1, 2, 4, 8] {
        let mut it = paths(&keys(128, 128), planes);
        let mut counts = BTreeMap::new();
        for value in turns(&mut it, 256) {
            *counts.entry(value % planes).or_insert(0) += 1;
        }
        assert!(counts.values().all(|&count| count == 256 / usize::from(planes)), "{planes}: {counts:?}");
        // Two rounds use the same active values.
        let (first, second) = (turns(&mut it, 128), turns(&mut it, 128));
        assert_eq!(first, second);
    }
}

#[test]
fn a_mark_costs_one_turn_however_often_it_is_reported() {
    let mut it = paths(&keys(4, 0), 1);
    let round = turns(&mut it, 4);
    for signal in [PathSignal::Marked, PathSignal::Marked, PathSignal::Trimmed] {
        feed(&mut it, Time::ZERO, round[1], signal);
    }
    assert_eq!(turns(&mut it, 3), [round[0], round[2], round[3]]);
    assert_eq!(turns(&mut it, 4), round);
    assert_eq!(it.counts().unwrap().skipped, 1);
    // All values are marked. Each packet restores one value and uses it.
    round.iter().for_each(|&value| feed(&mut it, Time::ZERO, value, PathSignal::Marked));
    assert_eq!(it.next(Time::ZERO), round[0]);
    // The restored value has its turn; then the next one is restored, and its turn passes to the first once more.
    assert_eq!(turns(&mut it, 3), [round[0], round[0], round[1]]);
    // A trim at the last hop (incast) is not attributed to a path.
    feed(&mut it, Time::ZERO, round[3], PathSignal::TrimmedAtLastHop);
    assert_eq!((it.counts().unwrap().skipped, it.counts().unwrap().taken_out), (5, 0));
}

#[test]
fn a_loss_replaces_a_value_by_one_of_its_plane_until_three_probes_are_answered() {
    let mut it = paths(&keys(8, 2), 2);
    let round = turns(&mut it, 8);
    let lost = round[2];
    feed(&mut it, MS, lost, PathSignal::Lost);
    feed(&mut it, MS, lost, PathSignal::TimedOut);
    let other = turns(&mut it, 8);
    assert_eq!((other[2] % 2, round.contains(&other[2])), (lost % 2, false));
    assert_eq!((it.probe_at(), it.due_probe(MS)), (MS + MS, None));
    for nth in 2..5 {
        assert_eq!(it.counts().unwrap().returned, 0);
        assert_eq!(probe_all(&mut it, MS * nth), [lost]);
    }
    let counts = it.counts().unwrap();
    assert_eq!((counts.taken_out, counts.returned, counts.out), (1, 1, 0));
    assert_eq!((counts.probes, counts.probe_answers, it.probe_at()), (3, 3, Time::NEVER));
    // The value is now in the reserve, and replaces the next one that fails on its plane.
    feed(&mut it, MS, other[2], PathSignal::Lost);
    assert_eq!(turns(&mut it, 8)[2], lost);
}

#[test]
fn answers_count_in_a_row() {
    let mut it = paths(&keys(4, 0), 1);
    let lost = turns(&mut it, 1)[0];
    feed(&mut it, Time::ZERO, lost, PathSignal::Lost);
    let answered = [true, true, false, true, true, true];
    for (nth, answered) in (1..).zip(answered) {
        assert_eq!((it.due_probe(MS * nth), it.counts().unwrap().out), (Some(lost), 1), "probe {nth}");
        it.on_probe(MS * nth);
        if answered {
            feed(&mut it, MS * nth, lost, PathSignal::ProbeAnswered);
            // Only the first answer to a probe counts.
            feed(&mut it, MS * nth, lost, PathSignal::ProbeAnswered);
        }
    }
    assert_eq!(it.counts().unwrap().out, 0);
}

#[test]
fn an_answer_may_take_longer_than_an_interval() {
    let keys = MrcPathsKeys { probe_interval: Time::from_us(10), ..keys(4, 0) };
    let base_rtt = Time::from_us(20);
    let mut it = MrcPaths::new(&keys, &PathsFacts { base_rtt, seed: 7, planes: 1, trimming: false });
    let lost = turns(&mut it, 1)[0];
    feed(&mut it, Time::ZERO, lost, PathSignal::Lost);
    let mut at = Time::from_us(10);
    for _ in 0..3 {
        assert_eq!((it.probe_at(), it.due_probe(at), it.counts().unwrap().out), (at, Some(lost), 1));
        it.on_probe(at);
        // The probe stays unanswered for three round trips and 64 us.
        assert_eq!(it.probe_at(), at + Time::from_us(124));
        // The answer arrives after 25 us, when the next probe is already due.
        at += Time::from_us(25);
        feed(&mut it, at, lost, PathSignal::ProbeAnswered);
        assert!(it.probe_at() == Time::NEVER || it.probe_at() == at - Time::from_us(15), "{}", it.probe_at());
        at = it.probe_at().min(at);
    }
    assert_eq!((it.counts().unwrap().returned, it.probe_at()), (1, Time::NEVER));
}

#[test]
fn values_of_a_plane_that_is_down_are_probed_when_it_is_up() {
    let mut it = paths(&keys(8, 0), 2);
    let round = turns(&mut it, 4);
    // One value of each plane. In the plane of the first one, a spine has failed; then the link of the plane fails as
    // well.
    feed(&mut it, Time::ZERO, round[0], PathSignal::Lost);
    feed(&mut it, Time::ZERO, round[1], PathSignal::Lost);
    assert_eq!(it.due_probe(MS), Some(round[0]));
    it.on_probe(MS);
    it.on_planes_down(1 << (round[0] % 2));
    assert_eq!(probe_all(&mut it, MS), [round[1]]);
    assert_eq!(probe_all(&mut it, MS * 2), [round[1]]);
    assert_eq!(probe_all(&mut it, MS * 3), [round[1]]);
    assert_eq!((it.probe_at(), it.counts().unwrap().out), (Time::NEVER, 1));
    // The link recovers before the spine: the probe is not answered.
    it.on_planes_down(0);
    assert_eq!((it.probe_at(), it.due_probe(MS * 4)), (MS * 2, Some(round[0])));
    it.on_probe(MS * 4);
    // The spine recovers: three answers bring the value back.
    (5..8).for_each(|nth| assert_eq!(probe_all(&mut it, MS * nth), [round[0]]));
    let counts = it.counts().unwrap();
    assert_eq!((counts.returned, counts.out, counts.probes, counts.probe_answers), (2, 0, 8, 6));
}

#[test]
fn a_loss_from_before_a_value_came_back_does_not_take_it_out() {
    let mut it = paths(&keys(8, 0), 1);
    let value = turns(&mut it, 1)[0];
    let lost = |it: &mut MrcPaths, now: Time, sent: Time| {
        it.on_lost(now, PathFeedback { entropy: value, signal: PathSignal::TimedOut }, sent);
        it.counts().unwrap().out
    };
    assert_eq!(lost(&mut it, MS, Time::ZERO), 1);
    (2..5).for_each(|nth| assert_eq!(probe_all(&mut it, MS * nth), [value]));
    // Packets sent before the fault was detected expire now. Then a packet expires that was sent after the end of the
    // fault, so there is another fault.
    assert_eq!(lost(&mut it, MS * 5, Time::from_us(500)), 0);
    assert_eq!(lost(&mut it, MS * 5, MS * 4 - Time::from_ps(1)), 0);
    assert_eq!(lost(&mut it, MS * 5, MS * 4), 1);
    assert_eq!((it.counts().unwrap().taken_out, it.probe_at()), (2, MS * 6));
}

#[test]
fn a_quarter_of_the_values_stays_whatever_is_lost() {
    let mut it = paths(&keys(8, 4), 1);
    for _ in 0..100 {
        let value = it.next(Time::ZERO);
        feed(&mut it, Time::ZERO, value, PathSignal::TimedOut);
    }
    let counts = it.counts().unwrap();
    assert_eq!((counts.taken_out, counts.out, counts.kept), (10, 10, 90));
    let mut left = turns(&mut it, 10);
    left.sort_unstable();
    left.dedup();
    assert_eq!(left.len(), 2);
    // All paths are good again, and all values are back, with the active ones in turn.
    (1..4).for_each(|nth| assert_eq!(probe_all(&mut it, MS * nth).len(), 10));
    let mut back = turns(&mut it, 8);
    back.sort_unstable();
    back.dedup();
    assert_eq!((back.len(), it.counts().unwrap().out), (8, 0));
}

#[test]
fn a_plane_whose_link_is_down_has_no_turn_and_loses_no_value() {
    let mut it = paths(&keys(16, 16), 4);
    it.on_planes_down(0b0010);
    let values = turns(&mut it, 64);
    assert!(values.iter().all(|value| value % 4 != 1), "{values:?}");
    feed(&mut it, Time::ZERO, 1, PathSignal::Lost);
    assert_eq!(it.counts().unwrap().taken_out, 0);
    it.on_planes_down(0);
    assert_eq!(turns(&mut it, 16).iter().filter(|&value| value % 4 == 1).count(), 4);
    // If all links are down, the values are used as before.
    it.on_planes_down(0b1111);
    assert_eq!(turns(&mut it, 16).iter().filter(|&value| value % 4 == 1).count(), 4);
}

#[test]
fn keys_have_their_ranges() {
    let wrong = |keys: MrcPathsKeys| keys.check().first().map(|why| why.to_string()).unwrap_or_default();
    assert_eq!(wrong(MrcPathsKeys::default()), "");
    assert_eq!(wrong(keys(1, 0)), "");
    assert!(wrong(keys(0, 1)).contains("entropy values"), "{}", wrong(keys(0, 1)));
    assert!(wrong(keys(1000, 25)).contains("at most 24"), "{}", wrong(keys(1000, 25)));
    let least = MrcPathsKeys { min_active: Some(129), ..MrcPathsKeys::default() };
    assert!(wrong(least).contains("take out"), "{}", wrong(least));
}

proptest! {
    /// Compares the selection with a list of values and their states, written out rule by rule.
    #[test]
    fn states_follow_the_rules(
        steps in prop::collection::vec((0u8..7, 0u16..24), 1..400),
        planes in 1u16..5,
        seed in any::<u64>(),
    ) {
        let keys = keys(16, 8);
        let mut it = MrcPaths::new(&keys, &PathsFacts { base_rtt: Time::ZERO, seed, planes, trimming: false });
        let mut active: Vec<u16> = it.active.to_vec();
        let mut reserve: Vec<Vec<u16>> = it.reserve.iter().map(|own| own.iter().copied().collect()).collect();
        let mut states = ["good"; 24];
        let mut turn = 0;
        for (kind, entropy) in steps {
            let place = active.iter().position(|&value| value == entropy);
            match kind {
                0..=2 => {
                    let mut restored = None;
                    let mut chosen = None;
                    for _ in 0..16 {
                        let value = active[turn];
                        turn = (turn + 1) % 16;
                        let state = &mut states[usize::from(value)];
                        if *state == "good" {
                            chosen = Some(value);
                            break;
                        }
                        if *state == "skip" && restored.is_none() {
                            *state = "good";
                            restored = Some(value);
                        }
                    }
                    prop_assert_eq!(it.next(Time::ZERO), chosen.or(restored).unwrap_or(active[turn]));
                }
                3 | 4 => {
                    feed(&mut it, Time::ZERO, entropy, PathSignal::Marked);
                    if states[usize::from(entropy)] == "good" {
                        states[usize::from(entropy)] = "skip";
                    }
                }
                _ => {
                    feed(&mut it, Time::ZERO, entropy, PathSignal::Lost);
                    let usable = active.iter().filter(|&&value| states[usize::from(value)] != "bad").count();
                    let own = &mut reserve[usize::from(entropy % planes)];
                    let Some(place) = place.filter(|_| states[usize::from(entropy)] != "bad") else { continue };
                    if own.is_empty() && usable <= 4 {
                        continue;
                    }
                    states[usize::from(entropy)] = "bad";
                    if !own.is_empty() {
                        active[place] = own.remove(0);
                    }
                }
            }
            prop_assert_eq!(&*it.active, &active[..]);
        }
        let out = states.iter().filter(|&&state| state == "bad").count() as u64;
        prop_assert_eq!(it.counts().unwrap().out, out);
    }
}
