//! Tests of one agent with frames of all kinds: the cases of a conformance list, by their numbers in it.

mod common;

use common::{HIGHER, LOWER, agent, pfc, seconds, settings, table};
use dcbx::{Administered, Agent, Because, Condition, NEIGHBOURS_MOST, Origin};
use proptest::collection::vec;
use proptest::prelude::*;
use units::Time;
use wire::ieee::{Algorithm, Application, Applications, EtsConfiguration, EtsTable, PfcTlv, Selector};
use wire::lldp::{Id, Lldpdu};
use wire::tlv::{Organisational, Plain, Tlv};
use wire::{Frame, Mac, Pcp, PrioritySet};

const OTHER: Mac = Mac([2, 0, 0, 0, 0, 0xFD]);
const OWN: PrioritySet = PrioritySet(0x20);

/// Creates an agent that is willing in all features, at a port with the higher address, so that a peer with a lower
/// address adopts.
fn willing() -> Agent {
    let admin = Administered { ets_willing: true, pfc: pfc(true, 8, 0x20), ..settings() };
    agent(HIGHER, admin)
}

fn message(mac: Mac, ttl_s: u16, tlvs: Vec<Tlv>) -> Vec<u8> {
    Frame::lldp(mac, Lldpdu::new(Id::chassis(mac), Id::port(mac), ttl_s, tlvs).unwrap()).to_bytes()
}

fn pfc_tlv(willing: bool, enabled: u8) -> Tlv {
    Tlv::Pfc(PfcTlv::new(willing, 8, PrioritySet(enabled)).unwrap())
}

/// Returns an LLDPDU with this 802.1 TLV and arbitrary contents.
fn raw(subtype: u8, value: &[u8]) -> Vec<u8> {
    let tlv = Organisational::new([0, 0x80, 0xC2], subtype, value.to_vec()).unwrap();
    message(LOWER, 120, vec![Tlv::Organisational(tlv)])
}

/// Returns the agent's PFC priorities and their origin after receiving these frames at one time.
fn after(frames: &[Vec<u8>]) -> (PrioritySet, Origin) {
    let mut agent = willing();
    frames.iter().for_each(|frame| agent.receive(frame, Time::ZERO));
    (agent.operational().pfc, agent.operational().pfc_origin)
}

fn kept(why: Because) -> (PrioritySet, Origin) {
    (OWN, Origin::Administered(why))
}

#[test]
fn dx_02_to_07_who_adopts() {
    let adopted = (PrioritySet(8), Origin::Adopted);
    assert_eq!(after(&[message(LOWER, 120, vec![pfc_tlv(false, 8)])]), adopted);
    // Both ends are willing. First the peer has the lower address and adopts; then the agent has it.
    assert_eq!(after(&[message(LOWER, 120, vec![pfc_tlv(true, 8)])]), kept(Because::Tie));
    assert_eq!(after(&[message(OTHER, 120, vec![pfc_tlv(true, 8)])]), adopted);
    let mut elsewhere = message(LOWER, 120, vec![pfc_tlv(false, 8)]);
    elsewhere[5] = 3;
    assert_eq!(after(&[elsewhere]), kept(Because::NoPeer));
    let mut unwilling = agent(HIGHER, settings());
    unwilling.receive(&message(LOWER, 120, vec![pfc_tlv(false, 8)]), Time::ZERO);
    let now = unwilling.operational();
    assert_eq!(now.pfc_origin, Origin::Administered(Because::NotWilling));
    assert_eq!(now.conditions, [Condition::PfcMismatch { ours: OWN, theirs: PrioritySet(8) }]);
}

#[test]
fn dx_08_to_10_recommendations() {
    let configuration = Tlv::EtsConfiguration(EtsConfiguration::new(true, 8, table(10)).unwrap());
    let recommendation = Tlv::EtsRecommendation(table(40));
    let ets = |tlvs: &[Tlv]| {
        let mut agent = willing();
        agent.receive(&message(LOWER, 120, tlvs.to_vec()), Time::ZERO);
        (agent.operational().ets, agent.operational().ets_origin)
    };
    assert_eq!(ets(&[configuration.clone(), recommendation]), (table(40), Origin::Adopted));
    assert_eq!(ets(&[configuration]), (table(70), Origin::Administered(Because::NotSent)));
}

#[test]
fn dx_11_applications_come_and_go() {
    let entry = |protocol, priority| Application {
        selector: Selector::StreamPort,
        protocol,
        priority: Pcp::new(priority).unwrap(),
    };
    let admin = Administered { applications: vec![entry(3260, 4)], ..settings() };
    let mut agent = agent(HIGHER, admin);
    let list = Applications::new(vec![entry(3260, 6), entry(860, 5)]).unwrap();
    agent.receive(&message(LOWER, 120, vec![Tlv::Applications(list)]), Time::ZERO);
    assert_eq!(agent.operational().applications, [entry(3260, 4), entry(860, 5)]);
    agent.receive(&message(LOWER, 120, vec![pfc_tlv(false, 8)]), seconds(1));
    assert_eq!(agent.operational().applications, [entry(3260, 4)]);
}

#[test]
fn dx_12_to_18_tlvs_with_a_fault_change_nothing() {
    let none = kept(Because::NoPeer);
    for (subtype, value) in [
        (11, &[0x08][..]),
        (11, &[0x08, 0x08, 0]),
        (11, &[0x01, 0xFF]),
        (11, &[0x0F, 0x08]),
        (10, &[0; 11]),
        (9, &[0; 10]),
        (12, &[0, 0x61, 0x89, 0x06, 0x61]),
    ] {
        let mut agent = willing();
        agent.receive(&raw(subtype, value), Time::ZERO);
        assert_eq!(
            (agent.operational().pfc, agent.operational().pfc_origin),
            none,
            "{subtype}: {value:02x?}"
        );
        assert_eq!(agent.operational().ets, table(70));
        assert_eq!((agent.counters().received, agent.counters().faulty_tlvs), (1, 1));
    }
    for share in [40, 60] {
        let mut sums = vec![0, 0, 1, 0, 0, 50, share, 0, 0, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 0, 0];
        sums[1..5].fill(0);
        let mut agent = willing();
        agent.receive(&raw(10, &sums), Time::ZERO);
        assert_eq!((agent.operational().ets, agent.counters().faulty_tlvs), (table(70), 1));
    }
    // The TLV is repeated: inserted before the End TLV, after 14 + 9 + 9 + 4 octets and the first copy.
    let mut twice = message(LOWER, 120, vec![pfc_tlv(false, 8)]);
    let again = twice[36..44].to_vec();
    twice.splice(44..44, again);
    assert_eq!(after(&[twice]), none);
}

#[test]
fn dx_19_to_22_the_frame_as_a_whole() {
    let good = message(LOWER, 120, vec![pfc_tlv(false, 8)]);
    let mut untimed = good.clone();
    untimed.drain(32..36);
    let mut second_chassis = good.clone();
    second_chassis.splice(36..36, good[14..23].to_vec());
    let mut beyond = good.clone();
    beyond[37] = 0xFF;
    for frame in [untimed, second_chassis, beyond] {
        let mut agent = willing();
        agent.receive(&frame, Time::ZERO);
        assert_eq!((agent.operational().pfc, agent.counters().discarded), (OWN, 1));
    }
    let mut ended = good;
    ended.splice(36..36, [0, 0]);
    assert_eq!(after(&[ended]), kept(Because::NoPeer));
    let unknown = vec![
        Tlv::Plain(Plain::new(100, b"zz".to_vec()).unwrap()),
        Tlv::Organisational(Organisational::new([0, 0x80, 0xC2], 0x7E, b"abc".to_vec()).unwrap()),
        pfc_tlv(false, 8),
    ];
    assert_eq!(after(&[message(LOWER, 120, unknown)]), (PrioritySet(8), Origin::Adopted));
}

#[test]
fn dx_23_to_28_neighbours_come_and_go() {
    let mut agent = willing();
    let mut receive = |frame: &[u8], at: u64| {
        agent.receive(frame, seconds(at));
        (agent.operational().pfc, agent.operational().pfc_origin)
    };
    let one = message(LOWER, 120, vec![pfc_tlv(false, 8)]);
    let adopted = |set| (PrioritySet(set), Origin::Adopted);
    assert_eq!(receive(&one, 0), adopted(8));
    assert_eq!(receive(&message(OTHER, 120, vec![pfc_tlv(false, 16)]), 1), kept(Because::SeveralPeers));
    assert_eq!(receive(&message(OTHER, 0, vec![]), 2), adopted(8));
    assert_eq!(receive(&message(LOWER, 120, vec![pfc_tlv(false, 16)]), 3), adopted(16));
    // A neighbour that speaks LLDP but not DCBX is ignored; a TLV that is withdrawn is no longer in force.
    assert_eq!(receive(&message(OTHER, 120, vec![]), 4), adopted(16));
    assert_eq!(
        receive(&message(LOWER, 3, vec![Tlv::EtsRecommendation(table(40))]), 5),
        kept(Because::NotSent)
    );
    assert_eq!(receive(&message(LOWER, 3, vec![pfc_tlv(false, 8)]), 6), adopted(8));
    agent.age(seconds(9));
    assert_eq!(agent.operational().pfc_origin, Origin::Administered(Because::NoPeer));
    agent.receive(&one, seconds(10));
    agent.receive(&message(LOWER, 0, vec![]), seconds(10));
    assert_eq!(agent.operational().pfc_origin, Origin::Administered(Because::NoPeer));
}

#[test]
fn dx_30_another_dialect_is_reported() {
    let baseline = wire::baseline::Baseline::new(wire::baseline::Version::Cee, vec![]).unwrap();
    let mut agent = willing();
    // Without sequence numbers no reply is possible.
    agent.receive(&message(LOWER, 120, vec![Tlv::Baseline(baseline.clone())]), Time::ZERO);
    assert_eq!(agent.operational().conditions, [Condition::OtherDialect]);
    assert_eq!(agent.operational().pfc_origin, Origin::Administered(Because::NoPeer));
    agent.receive(&message(LOWER, 120, vec![Tlv::Baseline(baseline), pfc_tlv(false, 8)]), Time::ZERO);
    assert_eq!(agent.operational().conditions, [Condition::BothDialects]);
    assert_eq!(agent.operational().pfc, PrioritySet(8));
}

#[test]
fn what_a_port_cannot_do_is_not_adopted() {
    let mut agent = agent(HIGHER, Administered { pfc: pfc(true, 1, 0x20), ..settings() });
    agent.receive(&message(LOWER, 120, vec![pfc_tlv(false, 0x18)]), Time::ZERO);
    assert_eq!(agent.operational().pfc_origin, Origin::Administered(Because::BeyondCapability));
    assert!(matches!(agent.operational().conditions[..], [Condition::PfcMismatch { .. }]));
}

#[test]
fn frames_are_sent_in_time_and_never_in_storms() {
    let mut agent = willing();
    assert!(agent.send(Time::ZERO).is_some());
    assert!(agent.send(Time::from_ms(29_999)).is_none());
    assert_eq!(agent.next_time(), seconds(30));
    assert!(agent.send(seconds(30)).is_some());
    // A new neighbour: one frame at once, then three at intervals of one second, then slow transmission again.
    agent.receive(&message(LOWER, 120, vec![]), seconds(31));
    let sent: Vec<u64> = (31..=64).filter(|&at| agent.send(seconds(at)).is_some()).collect();
    assert_eq!(sent, [31, 32, 33, 34, 64]);
    // Continual changes: five frames at once, then one per second.
    let mut frames = 0;
    for at in 0..10_000 {
        let now = seconds(100) + Time::from_ms(at);
        agent.receive(&message(OTHER, 120 * (at % 2) as u16, vec![pfc_tlv(false, 8)]), now);
        frames += usize::from(agent.send(now).is_some());
    }
    assert!((10..=15).contains(&frames), "{frames}");
}

#[test]
fn the_last_frame_takes_all_back() {
    let frame = willing().shut_down().unwrap();
    let Ok(Frame { contents: wire::Contents::Lldp(pdu), .. }) = Frame::decode(&frame) else { panic!() };
    assert_eq!((pdu.ttl_s, pdu.tlvs().len()), (0, 0));
}

#[test]
fn settings_that_do_not_fit_change_nothing() {
    let mut agent = willing();
    let entry = Application { selector: Selector::Port, protocol: 1, priority: Pcp::default() };
    let too_many = Administered { applications: vec![entry; 169], ..settings() };
    assert!(agent.administer(too_many.clone(), Time::ZERO).is_err());
    assert!(agent.administered().applications.is_empty());
    assert!(Agent::new(HIGHER, too_many, dcbx::Profile::default(), Time::ZERO).is_err());
}

/// Checks invariants that hold after any received frames.
fn lawful(agent: &Agent) {
    let (admin, now) = (agent.administered(), agent.operational());
    let speaking = agent.neighbours().iter().filter(|one| one.remote.is_standard()).count();
    assert!(agent.neighbours().len() <= NEIGHBOURS_MOST);
    let own = admin.pfc;
    if !own.willing || speaking != 1 {
        assert_eq!(now.pfc, own.enabled());
    }
    if !admin.ets_willing || speaking != 1 {
        assert_eq!(now.ets, admin.ets);
    }
    assert!(now.pfc.len() <= own.capability());
    let algorithms = now.ets.algorithms();
    let ets = (0..8).filter(|&class| algorithms[class] == Algorithm::Ets);
    let sum: u32 = ets.map(|class| u32::from(now.ets.percent()[class])).sum();
    assert!(sum <= 100);
    assert!(EtsTable::new(now.ets.classes(), now.ets.percent(), algorithms).is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_that_the_rules_forbid_is_adopted(
        steps in vec((0u8..6, any::<u8>(), any::<(u16, u8)>(), 0u64..200), 1..60),
        is_willing: bool,
    ) {
        let admin = Administered { ets_willing: is_willing, pfc: pfc(is_willing, 4, 0x20), ..settings() };
        let mut agent = agent(HIGHER, admin);
        let mut now = Time::ZERO;
        for (kind, value, (at, octet), wait) in steps {
            now = now.saturating_add(Time::from_ms(wait * 100));
            let mac = Mac([2, 0, 0, 0, 0, value % 12]);
            let share = value % 101;
            let mut frame = match kind {
                0 => message(mac, u16::from(octet % 8), vec![pfc_tlv(octet & 1 == 1, value)]),
                1 => message(mac, 20, vec![Tlv::EtsRecommendation(table(share)), pfc_tlv(false, value)]),
                2 => message(mac, 20, vec![pfc_tlv(true, value)]),
                3 => raw(8 + value % 5, &[octet; 21][..usize::from(value % 22)]),
                4 => message(mac, 0, vec![]),
                _ => vec![octet; usize::from(value)],
            };
            if at % 3 == 0 && !frame.is_empty() {
                let place = usize::from(at) % frame.len();
                frame[place] = octet;
            }
            agent.receive(&frame, now);
            lawful(&agent);
            if let Some(sent) = agent.send(now) {
                prop_assert!(Frame::decode(&sent).is_ok());
            }
        }
    }
}
