//! Tests of the effect of each field class on a digest.

use recurrence::{Digest, Recurs, Walk};
use std::collections::{BTreeMap, VecDeque};
use units::Time;

#[derive(Clone, Recurs)]
enum Mode {
    Idle,
    Sends(u32),
    #[recurs(unknown = "modes of others")]
    Other,
}

#[derive(Clone, Recurs)]
struct State {
    count: u64,
    share: f64,
    mode: Mode,
    list: Vec<u8>,
    waits: BTreeMap<u32, VecDeque<Time>>,
    at: Time,
    #[recurs(past)]
    busy_until: Time,
    #[recurs(duration)]
    takes: Time,
    #[recurs(from = self.base)]
    packet: u64,
    #[recurs(scratch)]
    base: u64,
    #[recurs(measured)]
    measured: u64,
    #[recurs(unless_empty = "options")]
    option: Option<u8>,
    #[recurs(with = State::walk_pair)]
    pair: (u64, u64),
}

impl State {
    /// Only the order of the two values matters.
    fn walk_pair(&self, walk: &mut Walk) {
        walk.word((self.pair.0 < self.pair.1).into());
    }
}

const US: u64 = 1_000_000;

fn at(us: u64) -> Time {
    Time::from_ps(us * US)
}

/// Creates a state at this time.
fn state(us: u64) -> State {
    State {
        count: 3,
        share: 0.5,
        mode: Mode::Sends(4),
        list: vec![1, 2],
        waits: [(7, VecDeque::from([at(us - 2)]))].into(),
        at: at(us + 9),
        busy_until: at(us - 1),
        takes: at(5),
        packet: 100 + 3 * us,
        base: 90 + 3 * us,
        measured: us,
        option: None,
        pair: (us, us + 1),
    }
}

fn walk(state: &State, us: u64) -> Walk {
    let mut walk = Walk::new(at(us));
    state.walk(&mut walk);
    walk
}

fn digest(change: impl FnOnce(&mut State)) -> Digest {
    let mut own = state(50);
    change(&mut own);
    walk(&own, 50).digest()
}

#[test]
fn a_state_that_is_shifted_is_equal() {
    assert_eq!(walk(&state(50), 50).digest(), walk(&state(1_234), 1_234).digest());
    assert_eq!(walk(&state(50), 50).reason(), None);
    assert_ne!(walk(&state(50), 50).digest(), walk(&state(50), 51).digest());
}

#[test]
fn what_decides_the_future_changes_the_digest() {
    let same = digest(|_| {});
    let changed = [
        digest(|own| own.count = 4),
        digest(|own| own.share = 0.5 + f64::EPSILON),
        digest(|own| own.mode = Mode::Idle),
        digest(|own| own.mode = Mode::Sends(5)),
        digest(|own| own.list = vec![2, 1]),
        digest(|own| own.list.push(0)),
        digest(|own| own.waits.clear()),
        digest(|own| own.waits = [(8, VecDeque::from([at(48)]))].into()),
        digest(|own| own.at = at(58)),
        digest(|own| own.at = Time::NEVER),
        digest(|own| own.busy_until = at(50)),
        digest(|own| own.busy_until = at(51)),
        digest(|own| own.takes = at(6)),
        digest(|own| own.packet += 1),
        digest(|own| own.packet = u64::MAX),
        digest(|own| own.pair = (9, 8)),
    ];
    for (number, one) in changed.iter().enumerate() {
        assert_ne!(*one, same, "change {number}");
        assert!(!changed[..number].contains(one), "change {number} is that of an earlier one");
    }
}

#[test]
fn what_decides_nothing_does_not() {
    let same = digest(|_| {});
    assert_eq!(digest(|own| own.measured = 0), same);
    assert_eq!(digest(|own| own.busy_until = Time::ZERO), same);
    assert_eq!(digest(|own| own.pair = (0, u64::MAX)), same);
    assert_eq!(digest(|own| (own.base, own.packet) = (0, 10)), same);
}

#[test]
fn what_has_no_class_makes_the_state_unknown() {
    let reason = |change: fn(&mut State)| {
        let mut own = state(50);
        change(&mut own);
        walk(&own, 50).reason()
    };
    assert_eq!(reason(|_| {}), None);
    assert_eq!(reason(|own| own.mode = Mode::Other), Some("modes of others"));
    assert_eq!(reason(|own| own.option = Some(1)), Some("options"));
}
