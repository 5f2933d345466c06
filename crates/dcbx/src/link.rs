//! The two ends of a link, which exchange frames until their settings are stable.
//!
//! Not modelled: the delay of a frame. Agents send frames at intervals of seconds, and links deliver them within
//! microseconds.

use crate::agent::Agent;
use units::Time;

const SECOND: Time = Time::from_ms(1_000);
/// Maximum time for the two ends to settle: twice the duration of the fast transmissions after a change (five frames at
/// once, and one per second).
const PATIENCE: Time = Time::from_ms(20_000);
/// Duration without changes after which the ends have settled: all fast transmissions are over.
const CALM: Time = Time::from_ms(6_000);

/// Passes frames between two agents that start at time zero, encoded and decoded, until the settings in force at both
/// have been stable for a while. Returns false if they do not become stable.
pub fn settle(agents: &mut [Agent; 2]) -> bool {
    let (mut now, mut changed) = (Time::ZERO, Time::ZERO);
    while now <= changed.saturating_add(CALM) {
        if now > PATIENCE {
            return false;
        }
        let before = agents.each_ref().map(|agent| agent.operational().clone());
        for sender in 0..2 {
            agents[sender].age(now);
            if let Some(frame) = agents[sender].send(now) {
                agents[1 - sender].receive(&frame, now);
            }
        }
        if agents.each_ref().map(Agent::operational) != before.each_ref() {
            changed = now;
        }
        let next = agents[0].next_time().min(agents[1].next_time());
        now = next.clamp(now.saturating_add(Time::from_ms(1)), now.saturating_add(SECOND));
    }
    true
}
