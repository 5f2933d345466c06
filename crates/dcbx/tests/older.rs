//! Tests of versions of DCBX before the standard: one handshake by hand, and all small configurations of two ends.

mod common;

use common::{HIGHER, LOWER, pfc, seconds, settings, table, talk};
use dcbx::{Administered, Agent, Because, Condition, Dialect, Origin, Profile};
use proptest::collection::vec;
use proptest::prelude::*;
use units::Time;
use wire::baseline::{Baseline, BaselinePfc, Control, Feature, SubTlv, Version};
use wire::ieee::{Algorithm, Application, EtsTable, Selector};
use wire::lldp::Id;
use wire::lldp::Lldpdu;
use wire::tlv::Tlv;
use wire::{Contents, Frame, Pcp, PrioritySet};

fn begin(mac: wire::Mac, admin: &Administered, dialect: Dialect) -> Agent {
    let profile = Profile { dialect, ..Profile::default() };
    Agent::new(mac, admin.clone(), profile, Time::ZERO).unwrap()
}

fn willing(pfc_willing: bool, enabled: u8) -> Administered {
    Administered { pfc: pfc(pfc_willing, 8, enabled), ets_willing: pfc_willing, ..settings() }
}

fn sent(agent: &mut Agent, at_s: u64) -> Option<Lldpdu> {
    match Frame::decode(&agent.send(seconds(at_s))?).unwrap().contents {
        Contents::Lldp(pdu) => Some(pdu),
        other => panic!("{other}"),
    }
}

fn baseline(pdu: &Lldpdu) -> Option<&Baseline> {
    pdu.tlvs().iter().find_map(|tlv| if let Tlv::Baseline(one) = tlv { Some(one) } else { None })
}

fn numbers(pdu: &Lldpdu) -> Option<(u32, u32)> {
    let control = baseline(pdu)?.sub_tlvs().iter().find_map(|one| match one {
        SubTlv::Control(control) => Some((control.sequence, control.acknowledged)),
        _ => None,
    });
    Some(control.unwrap())
}

/// Checks the sequence numbers of both ends step by step; the expected ones were computed by hand.
#[test]
fn a_handshake() {
    let mut ours = begin(LOWER, &willing(true, 0x08), Dialect::Older);
    let mut theirs = begin(HIGHER, &willing(false, 0x20), Dialect::Older);
    let first = sent(&mut ours, 0).unwrap();
    assert_eq!(numbers(&first), Some((1, 0)));
    theirs.receive(&Frame::lldp(LOWER, first).to_bytes(), Time::ZERO);
    let answer = sent(&mut theirs, 0).unwrap();
    assert_eq!(numbers(&answer), Some((1, 1)));
    // The peer has acknowledged our number, so its setting is adopted and its number acknowledged.
    assert_eq!(ours.operational().pfc, PrioritySet(0x08));
    ours.receive(&Frame::lldp(HIGHER, answer).to_bytes(), Time::ZERO);
    assert_eq!((ours.operational().pfc, ours.operational().pfc_origin), (PrioritySet(0x20), Origin::Adopted));
    assert_eq!(theirs.operational().pfc_origin, Origin::Administered(Because::NotSynchronised));
    let third = sent(&mut ours, 0).unwrap();
    assert_eq!(numbers(&third), Some((1, 1)));
    theirs.receive(&Frame::lldp(LOWER, third).to_bytes(), Time::ZERO);
    assert_eq!(theirs.operational().pfc_origin, Origin::Administered(Because::NotWilling));
    // A change of settings increments the number.
    theirs.administer(willing(false, 0x40), Time::ZERO).unwrap();
    let change = sent(&mut theirs, 0).unwrap();
    assert_eq!(numbers(&change), Some((2, 1)));
    ours.receive(&Frame::lldp(HIGHER, change).to_bytes(), Time::ZERO);
    assert_eq!(ours.operational().pfc, PrioritySet(0x40));
}

/// Returns the administered settings to test at each end.
fn choices() -> Vec<Administered> {
    let mut all = Vec::new();
    for willing in [false, true] {
        for (capability, enabled) in [(8, 0x08), (8, 0x20), (8, 0), (1, 0x08), (2, 0x60)] {
            for (ets_willing, ets) in [(false, table(70)), (true, table(70)), (true, table(20))] {
                for exchanges_pfc in [true, false] {
                    let pfc = pfc(willing, capability, enabled);
                    all.push(Administered { pfc, exchanges_pfc, ets_willing, ets, ..settings() });
                }
            }
        }
    }
    all
}

/// Returns the PFC priorities that must be in force at one end, derived from the specification and not from the code.
fn expected_pfc(own: &Administered, peer: &Administered) -> u8 {
    let (ours, theirs) = (own.pfc.enabled().0, peer.pfc.enabled().0);
    if !own.exchanges_pfc || !peer.exchanges_pfc {
        return ours;
    }
    match (own.pfc.willing, peer.pfc.willing) {
        (true, false) if theirs.count_ones() <= own.pfc.capability().into() => theirs,
        (true, false) | (false, true) => ours,
        _ if ours == theirs => ours,
        _ => 0,
    }
}

fn check_end(now: &dcbx::Operational, own: &Administered, peer: &Administered) {
    assert_eq!(now.pfc.0, expected_pfc(own, peer), "{own:?} {peer:?}");
    let adopts = own.ets_willing && !peer.ets_willing;
    assert_eq!(now.ets, if adopts { peer.ets } else { own.ets }, "{own:?} {peer:?}");
    let both = own.exchanges_pfc && peer.exchanges_pfc;
    let alike = own.pfc.willing == peer.pfc.willing && own.pfc.enabled() != peer.pfc.enabled();
    let beyond = own.pfc.willing && !peer.pfc.willing && now.pfc != peer.pfc.enabled();
    let mismatch = now.conditions.iter().any(|one| matches!(one, Condition::PfcMismatch { .. }));
    assert_eq!(mismatch, both && (alike || beyond), "{own:?} {peer:?}");
}

#[test]
fn two_ends_agree_or_report_and_never_flap() {
    let choices = choices();
    let pairs = [
        [Dialect::Older; 2],
        [Dialect::Either, Dialect::Older],
        [Dialect::Oldest; 2],
        [Dialect::Either, Dialect::Oldest],
    ];
    for dialects in pairs {
        for one in &choices {
            for other in &choices {
                let mut agents = [begin(LOWER, one, dialects[0]), begin(HIGHER, other, dialects[1])];
                let changes = talk(&mut agents, Time::ZERO, seconds(5));
                assert!(changes.iter().all(|&times| times <= 2), "{one:?} {other:?}: {changes:?}");
                check_end(agents[0].operational(), one, other);
                check_end(agents[1].operational(), other, one);
                let frames = agents.each_ref().map(|agent| agent.counters().sent);
                assert_eq!(talk(&mut agents, seconds(6), seconds(100)), [0, 0], "{one:?} {other:?}");
                let more = agents.each_ref().map(|agent| agent.counters().sent);
                // Four frames at intervals of one second after the last change, then one every 30 s.
                assert!(
                    frames.iter().zip(more).all(|(before, after)| after - before <= 8),
                    "{one:?} {other:?}"
                );
            }
        }
    }
}

/// If both ends support the standard, neither uses the older version. An end limited to one version reports a peer that
/// speaks another.
#[test]
fn who_falls_back() {
    let admin = willing(true, 0x08);
    for (dialects, fell_back, reported) in [
        ([Dialect::Either, Dialect::Either], false, false),
        ([Dialect::Either, Dialect::Standard], false, false),
        ([Dialect::Either, Dialect::Older], true, false),
        ([Dialect::Standard, Dialect::Older], false, true),
        ([Dialect::Either, Dialect::Oldest], true, false),
        ([Dialect::Standard, Dialect::Oldest], false, true),
        ([Dialect::Older, Dialect::Oldest], false, true),
    ] {
        let mut agents = [begin(LOWER, &admin, dialects[0]), begin(HIGHER, &admin, dialects[1])];
        talk(&mut agents, Time::ZERO, seconds(50));
        for agent in &agents {
            let conditions = &agent.operational().conditions;
            assert_eq!(conditions.contains(&Condition::FellBack), fell_back, "{dialects:?}");
            assert_eq!(conditions.contains(&Condition::OtherDialect), reported, "{dialects:?}");
        }
        let last = (50..90).filter_map(|at| sent(&mut agents[0], at)).last().unwrap();
        let speaks_only_before = dialects[0] == Dialect::Older;
        assert_eq!(baseline(&last).is_some(), fell_back || speaks_only_before, "{dialects:?}");
        assert_ne!(last.tlvs().iter().any(|tlv| matches!(tlv, Tlv::Pfc(_))), speaks_only_before);
    }
}

/// Strict classes have no limit in this version, and are decoded as one strict class.
#[test]
fn strict_classes_are_adopted() {
    let algorithms = std::array::from_fn(|class| if class < 2 { Algorithm::Ets } else { Algorithm::Strict });
    let ets = EtsTable::new([0, 0, 0, 1, 0, 0, 5, 5], [60, 40, 0, 0, 0, 0, 0, 0], algorithms).unwrap();
    let admin = Administered { ets, ..settings() };
    let mut agents = [begin(LOWER, &willing(true, 0), Dialect::Older), begin(HIGHER, &admin, Dialect::Older)];
    talk(&mut agents, Time::ZERO, seconds(5));
    let adopted = agents[0].operational().ets;
    assert_eq!(adopted.classes(), [0, 0, 0, 1, 0, 0, 7, 7]);
    assert_eq!((adopted.percent(), adopted.algorithms()), (ets.percent(), algorithms));
}

fn application(selector: Selector, protocol: u16, priority: u8) -> Application {
    Application { selector, protocol, priority: Pcp::new(priority).unwrap() }
}

/// A willing end adopts the applications of one that is not willing. Version 1.01 does not distinguish transports, and
/// 1.00 has only FCoE.
#[test]
fn applications_are_adopted() {
    let summary = vec![
        application(Selector::EtherType, 0x8906, 3),
        application(Selector::StreamPort, 3260, 4),
        application(Selector::Dscp, 46, 5),
    ];
    let theirs = Administered { applications: summary, ..willing(false, 0x08) };
    for (dialect, expected) in [
        (
            Dialect::Older,
            vec![application(Selector::EtherType, 0x8906, 3), application(Selector::Port, 3260, 4)],
        ),
        (Dialect::Oldest, vec![application(Selector::EtherType, 0x8906, 3)]),
    ] {
        let mut agents = [begin(LOWER, &willing(true, 0), Dialect::Either), begin(HIGHER, &theirs, dialect)];
        talk(&mut agents, Time::ZERO, seconds(5));
        assert_eq!(agents[0].operational().applications, expected, "{dialect:?}");
        assert_eq!(agents[1].operational().applications, theirs.applications);
        assert_eq!(agents[0].operational().pfc, PrioritySet(0x08));
    }
}

/// Both ends are willing: applications without conflicts are unchanged, those with a conflict are disabled.
#[test]
fn applications_that_contradict_each_other() {
    for (priority, expected) in [(3, 1), (4, 0)] {
        let admin = |priority| Administered {
            applications: vec![application(Selector::EtherType, 0x8906, priority)],
            ..willing(true, 0x08)
        };
        let mut agents =
            [begin(LOWER, &admin(3), Dialect::Older), begin(HIGHER, &admin(priority), Dialect::Older)];
        talk(&mut agents, Time::ZERO, seconds(5));
        for agent in &agents {
            assert_eq!(agent.operational().applications.len(), expected, "{priority}");
        }
    }
}

/// Priority groups of version 1.00 list the share of each priority; the shares of a group sum to 100.
#[test]
fn groups_of_version_1_00() {
    let mut agent = begin(LOWER, &willing(false, 0x08), Dialect::Oldest);
    let pdu = sent(&mut agent, 0).unwrap();
    let groups = baseline(&pdu).unwrap().sub_tlvs().iter().find_map(|one| match one {
        SubTlv::CinGroups(groups) => Some(groups.value),
        _ => None,
    });
    let groups = groups.unwrap();
    assert_eq!(groups.percent()[..3], [70, 30, 0]);
    let parts = groups.priorities();
    assert_eq!(parts.map(|one| one.group()), [0, 0, 0, 1, 0, 0, 0, 0]);
    assert_eq!(parts.map(|one| one.percent), [16, 14, 14, 100, 14, 14, 14, 14]);
}

/// Encodes the announcement of a peer with its sequence numbers, and PFC with flags.
fn message(sequence: u32, acknowledged: u32, bits: u8, priorities: u8) -> Vec<u8> {
    let value = BaselinePfc { priorities: PrioritySet(priorities), traffic_classes: Some(8) };
    let pfc = Feature { enabled: bits & 1 == 1, error: bits & 2 == 2, ..Feature::new(bits & 4 == 4, value) };
    let control = Control { sequence, acknowledged, ..Control::default() };
    let tlv = Baseline::new(Version::Cee, vec![SubTlv::Control(control), SubTlv::Pfc(pfc)]).unwrap();
    let pdu = Lldpdu::new(Id::chassis(HIGHER), Id::port(HIGHER), 20, vec![Tlv::Baseline(tlv)]).unwrap();
    Frame::lldp(HIGHER, pdu).to_bytes()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// For any announcements of a peer, valid or not: only permitted values are adopted, and only after its
    /// acknowledgement.
    #[test]
    fn nothing_that_the_rules_forbid_is_adopted(
        steps in vec((0u32..4, 0u32..4, any::<u8>(), any::<u8>(), any::<(u16, u8)>()), 1..60),
        is_willing: bool,
        is_older: bool,
    ) {
        let admin = Administered { pfc: pfc(is_willing, 4, 0x20), ..settings() };
        let mut agent = begin(LOWER, &admin, if is_older { Dialect::Older } else { Dialect::Either });
        let (mut summary, mut acknowledged) = (1, false);
        for (step, (sequence, number, bits, priorities, (at, octet))) in steps.into_iter().enumerate() {
            let now = Time::from_ms(700) * step as u64;
            let mut frame = message(sequence, number, bits, priorities);
            let broken = at % 3 == 0;
            if broken {
                let place = usize::from(at) % frame.len();
                frame[place] = octet;
            }
            agent.receive(&frame, now);
            acknowledged |= broken || (1..=summary + 1).contains(&number);
            if let Some(sent) = agent.send(now) {
                let Contents::Lldp(pdu) = Frame::decode(&sent).unwrap().contents else { panic!() };
                summary = numbers(&pdu).map_or(summary, |(sequence, _)| sequence);
            }
            let now = agent.operational();
            prop_assert!(now.pfc.len() <= 4);
            if now.pfc_origin == Origin::Adopted {
                prop_assert!(is_willing && acknowledged);
            } else {
                prop_assert!(now.pfc == admin.pfc.enabled() || now.pfc.is_empty());
            }
            prop_assert!(EtsTable::new(now.ets.classes(), now.ets.percent(), now.ets.algorithms()).is_ok());
        }
    }
}
