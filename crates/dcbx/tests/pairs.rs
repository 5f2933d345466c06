//! Tests of two agents in all small configurations: they agree or report the mismatch, and their settings become
//! stable.

mod common;

use common::{HIGHER, LOWER, agent, pfc, seconds, settings, table, talk};
use dcbx::{Administered, Agent, Because, Condition, Origin, Profile, TieBreak};
use units::Time;
use wire::PrioritySet;
use wire::ieee::PfcTlv;

/// Returns the administered settings to test at each end.
fn choices() -> Vec<Administered> {
    let mut all = Vec::new();
    for willing in [false, true] {
        for (capability, enabled) in [(8, 0x08), (8, 0x20), (8, 0), (1, 0x08), (2, 0x60)] {
            for (ets_willing, recommendation) in
                [(false, None), (true, None), (false, Some(table(40))), (true, Some(table(20)))]
            {
                all.extend([true, false].map(|exchanges_pfc| Administered {
                    pfc: pfc(willing, capability, enabled),
                    exchanges_pfc,
                    ets_willing,
                    recommendation,
                    ..settings()
                }));
            }
        }
    }
    all
}

/// Returns the PFC priorities that the standard requires, derived from its text and not from the code.
fn expected_pfc(own: &PfcTlv, peer: Option<&PfcTlv>, adopts_tie: bool) -> PrioritySet {
    let Some(peer) = peer else { return own.enabled() };
    let adopts = match (own.willing, peer.willing) {
        (false, _) => false,
        (true, false) => true,
        (true, true) => adopts_tie,
    };
    // If the peer adopts, its priorities become ours; otherwise they are its own.
    if adopts && peer.enabled().len() <= own.capability() { peer.enabled() } else { own.enabled() }
}

fn check_end(agents: &[Agent; 2], admins: [&Administered; 2], adopts_tie: [bool; 2]) {
    for (place, agent) in agents.iter().enumerate() {
        let (own, peer) = (admins[place], admins[1 - place]);
        let now = agent.operational();
        if own.exchanges_pfc {
            let theirs = peer.exchanges_pfc.then_some(&peer.pfc);
            assert_eq!(now.pfc, expected_pfc(&own.pfc, theirs, adopts_tie[place]), "{admins:?}");
        } else {
            assert_eq!(now.pfc_origin, Origin::Administered(Because::Off));
            assert_eq!(now.pfc, own.pfc.enabled());
        }
        let expected = if own.ets_willing { peer.recommendation } else { None };
        assert_eq!(now.ets, expected.unwrap_or(own.ets), "{admins:?}");
    }
    let [one, other] = agents.each_ref().map(Agent::operational);
    let exchanged = admins.iter().all(|admin| admin.exchanges_pfc);
    if exchanged && one.pfc != other.pfc {
        for (ours, theirs) in [(one, other), (other, one)] {
            let report = Condition::PfcMismatch { ours: ours.pfc, theirs: theirs.pfc };
            assert!(ours.conditions.contains(&report), "{admins:?}: {:?}", ours.conditions);
        }
    } else {
        assert!(one.conditions.is_empty() && other.conditions.is_empty(), "{admins:?}");
    }
}

#[test]
fn two_agents_agree_or_report_and_never_flap() {
    let choices = choices();
    for tie_break in [TieBreak::LowerAdopts, TieBreak::LowerWins] {
        let profile = Profile { tie_break, ..Profile::default() };
        let lower_adopts = tie_break == TieBreak::LowerAdopts;
        for one in &choices {
            for other in &choices {
                let begin =
                    |mac, admin: &Administered| Agent::new(mac, admin.clone(), profile, Time::ZERO).unwrap();
                let mut agents = [begin(LOWER, one), begin(HIGHER, other)];
                // ETS and PFC change at most once each: from the administrator's setting to the peer's.
                let changes = talk(&mut agents, Time::ZERO, seconds(5));
                assert!(changes.iter().all(|&times| times <= 2), "{one:?} {other:?}: {changes:?}");
                check_end(&agents, [one, other], [lower_adopts, !lower_adopts]);
                assert_eq!(talk(&mut agents, seconds(6), seconds(100)), [0, 0], "{one:?} {other:?}");
                check_end(&agents, [one, other], [lower_adopts, !lower_adopts]);
            }
        }
    }
}

/// Result measured with two lldpad back to back: ...0a has priority 3, ...0b priority 5.
#[test]
fn as_two_real_agents() {
    for (willing, expected) in [
        ([true, true], [0x20, 0x20]),
        ([false, true], [0x08, 0x08]),
        ([true, false], [0x20, 0x20]),
        ([false, false], [0x08, 0x20]),
    ] {
        let admin = |willing, enabled| Administered { pfc: pfc(willing, 8, enabled), ..settings() };
        let mut agents = [agent(LOWER, admin(willing[0], 0x08)), agent(HIGHER, admin(willing[1], 0x20))];
        talk(&mut agents, Time::ZERO, seconds(5));
        assert_eq!(agents.map(|agent| agent.operational().pfc), expected.map(PrioritySet), "{willing:?}");
    }
}

/// Each agent adopts the recommendation of the other: A uses 60/40 from B, B uses 20/80 from A.
#[test]
fn recommendations_cross() {
    let admin = |first| Administered { ets_willing: true, recommendation: Some(table(first)), ..settings() };
    let mut agents = [agent(LOWER, admin(20)), agent(HIGHER, admin(60))];
    talk(&mut agents, Time::ZERO, seconds(5));
    assert_eq!(agents.each_ref().map(|agent| agent.operational().ets), [table(60), table(20)]);
    // Each agent announces the settings in force, and is still willing.
    let seen = agents[0].neighbours()[0].remote.ets.unwrap();
    assert!(seen.willing);
    assert_eq!(seen.table, table(20));
}

#[test]
fn a_change_during_the_exchange() {
    let willing = Administered { pfc: pfc(true, 8, 0x08), ..settings() };
    let mut agents = [agent(LOWER, willing), agent(HIGHER, settings())];
    talk(&mut agents, Time::ZERO, seconds(50));
    assert_eq!(agents[0].operational().pfc, PrioritySet(0x20));
    agents[1].administer(Administered { pfc: pfc(false, 8, 0x40), ..settings() }, seconds(50)).unwrap();
    talk(&mut agents, seconds(50), seconds(51));
    assert_eq!(agents[0].operational().pfc, PrioritySet(0x40));
    // PFC is removed from the exchange: the other end returns to its own priorities.
    agents[1].administer(Administered { exchanges_pfc: false, ..settings() }, seconds(52)).unwrap();
    talk(&mut agents, seconds(52), seconds(53));
    let now = agents[0].operational();
    assert_eq!((now.pfc, now.pfc_origin), (PrioritySet(0x08), Origin::Administered(Because::NotSent)));
}
