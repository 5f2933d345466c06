//! Invariants of a DCBX agent for any received frames: the operational state is valid, the number of neighbours is
//! bounded, and the transmission rate is limited.

use dcbx::{Administered, Agent, Dialect, NEIGHBOURS_MOST, Profile, TieBreak};
use units::Time;
use wire::ieee::{Algorithm, EtsTable, PfcTlv};
use wire::{Mac, PrioritySet};

const STEP: usize = 8;

/// Lets two agents exchange frames, some of which are changed. The first three bytes select their settings, the rest
/// are steps.
///
/// # Errors
/// The violated invariant.
pub fn check(bytes: &[u8]) -> Result<(), String> {
    let Some((&[first, second, third], steps)) = bytes.split_first_chunk() else { return Ok(()) };
    let mut agents = [agent(1, first, third)?, agent(2, second, third >> 4)?];
    let mut now = Time::ZERO;
    let mut last: Vec<u8> = Vec::new();
    let mut sent = [0_u64; 2];
    for step in steps.chunks_exact(STEP) {
        now = now.saturating_add(Time::from_ms(u64::from(u16::from_le_bytes([step[1], step[2]]))));
        let nth = usize::from(step[0] & 1);
        match step[0] >> 1 & 3 {
            0 => {
                if let Some(frame) = agents[nth].send(now) {
                    sent[nth] += 1;
                    last = frame;
                }
            }
            1 => agents[nth].receive(&last, now),
            2 => {
                // Changes some octets, and truncates or extends the frame.
                for change in step[3..].chunks_exact(2) {
                    let at = usize::from(change[0]) % last.len().max(1);
                    if let Some(byte) = last.get_mut(at) {
                        *byte = change[1];
                    }
                }
                if step[7] & 3 == 0 {
                    last.truncate(usize::from(step[6]));
                }
                agents[nth].receive(&last, now);
            }
            _ => agents[nth].age(now),
        }
        holds(&agents[nth])?;
        // Five frames at once, and one per second.
        if sent[nth] > 6 + now.ps() / 1_000_000_000_000 {
            return Err(format!("{} frames in {now}", sent[nth]));
        }
    }
    Ok(())
}

fn agent(number: u8, byte: u8, dialect: u8) -> Result<Agent, String> {
    let mut percent = [0; 8];
    (percent[0], percent[1]) = (100 - byte % 101, byte % 101);
    let algorithms = [
        Algorithm::Ets,
        Algorithm::Ets,
        Algorithm::Strict,
        Algorithm::Strict,
        Algorithm::Strict,
        Algorithm::Strict,
        Algorithm::Strict,
        Algorithm::Strict,
    ];
    let table =
        EtsTable::new([0, 0, 0, 1, 1, 2, 3, 4], percent, algorithms).map_err(|why| why.to_string())?;
    let pfc = PfcTlv::new(byte & 1 != 0, 8, PrioritySet(byte)).map_err(|why| why.to_string())?;
    let admin = Administered {
        ets: table,
        classes: 8,
        ets_willing: byte & 2 != 0,
        recommendation: (byte & 4 != 0).then_some(table),
        pfc,
        exchanges_pfc: byte & 8 == 0,
        applications: Vec::new(),
    };
    let dialects = [Dialect::Either, Dialect::Standard, Dialect::Older, Dialect::Oldest];
    let tie_break = if dialect & 4 == 0 { TieBreak::LowerAdopts } else { TieBreak::LowerWins };
    let profile = Profile { dialect: dialects[usize::from(dialect & 3)], tie_break };
    Agent::new(Mac([2, 0, 0, 0, 0, number]), admin, profile, Time::ZERO).map_err(|why| why.to_string())
}

fn holds(agent: &Agent) -> Result<(), String> {
    let (now, admin) = (agent.operational(), agent.administered());
    if agent.neighbours().len() > NEIGHBOURS_MOST {
        return Err(format!("{} neighbours", agent.neighbours().len()));
    }
    let sum: u32 = now.ets.percent().iter().map(|&share| u32::from(share)).sum();
    let ets = now.ets.algorithms().contains(&Algorithm::Ets);
    if now.ets.classes().iter().any(|&class| class >= 8) || ets && sum < 100 {
        return Err(format!("in force is {:?}", now.ets));
    }
    if now.pfc.len() > admin.pfc.capability() {
        return Err(format!("PFC for {:?}, more than it can have", now.pfc));
    }
    Ok(())
}
