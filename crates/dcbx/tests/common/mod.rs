//! Settings and links for tests.

use dcbx::{Administered, Agent, Profile};
use units::Time;
use wire::ieee::{Algorithm, EtsTable, PfcTlv};
use wire::{Mac, PrioritySet};

pub const LOWER: Mac = Mac([2, 0, 0, 0, 0, 0x0A]);
pub const HIGHER: Mac = Mac([2, 0, 0, 0, 0, 0x0B]);

pub fn seconds(seconds: u64) -> Time {
    Time::from_ms(1_000) * seconds
}

/// ETS table with priority 3 in class 1 and the other priorities in class 0; both classes share the link.
pub fn table(first: u8) -> EtsTable {
    let algorithms = std::array::from_fn(|class| if class < 2 { Algorithm::Ets } else { Algorithm::Strict });
    EtsTable::new([0, 0, 0, 1, 0, 0, 0, 0], [first, 100 - first, 0, 0, 0, 0, 0, 0], algorithms).unwrap()
}

pub fn pfc(willing: bool, capability: u8, enabled: u8) -> PfcTlv {
    PfcTlv::new(willing, capability, PrioritySet(enabled)).unwrap()
}

/// Settings of a port that is not willing and has no recommendation, with PFC for priority 5.
pub fn settings() -> Administered {
    Administered {
        ets: table(70),
        classes: 8,
        ets_willing: false,
        recommendation: None,
        pfc: pfc(false, 8, 0x20),
        exchanges_pfc: true,
        applications: Vec::new(),
    }
}

#[allow(dead_code, reason = "each test file uses what it needs")]
pub fn agent(mac: Mac, admin: Administered) -> Agent {
    Agent::new(mac, admin, Profile::default(), Time::ZERO).unwrap()
}

/// Runs two agents on a link without delay, from one time to another. Returns the number of changes of the settings in
/// force at each.
#[allow(dead_code, reason = "each test file uses what it needs")]
pub fn talk(agents: &mut [Agent; 2], from: Time, to: Time) -> [usize; 2] {
    let mut changes = [0; 2];
    let mut now = from;
    while now <= to {
        let before = agents.each_ref().map(|agent| (agent.operational().ets, agent.operational().pfc));
        for sender in 0..2 {
            agents[sender].age(now);
            if let Some(frame) = agents[sender].send(now) {
                agents[1 - sender].receive(&frame, now);
            }
        }
        for (place, agent) in agents.iter().enumerate() {
            let after = (agent.operational().ets, agent.operational().pfc);
            changes[place] += usize::from(before[place] != after);
        }
        let next = agents[0].next_time().min(agents[1].next_time());
        now = next.max(now.saturating_add(Time::from_ms(1)));
    }
    changes
}
