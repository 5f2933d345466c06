//! The two ends of a link, which exchange frames until nothing changes.
//!
//! Not modelled: how long a frame takes. Agents exchange frames in seconds, and links carry them in microseconds.

use crate::agent::Agent;
use units::Time;

const SECOND: Time = Time::from_ms(1_000);
/// Maximum time for the two ends to settle: the fast transmissions after a change, five frames at once and one per second, twice over.
const PATIENCE: Time = Time::from_ms(20_000);
/// Ends that have not changed for this long have settled: all fast transmissions are over.
const CALM: Time = Time::from_ms(6_000);

/// Lets two agents that begin at time zero exchange frames through the codec, until the settings in force at both have been unchanged for a
/// while. Returns false if that never happens.
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
