//! Loss inference without trimming (SLEEK): probes of a packet delivery context, and losses inferred from
//! acknowledgements out of order.
//!
//! With several links of a NIC, only a packet or probe that used the same link indicates a loss (our choice), and
//! probes use the links in turn.
//!
//! A probe experiences the queues of its own path. If switches or entropy values spread packets, a packet sent before
//! the probe may wait in a longer queue of another path. A probe therefore indicates only the loss of packets sent at
//! least one and a half of the longest recent round-trip times before the probe's answer arrives (our choice). With
//! each measurement that is shorter, the longest recent round-trip time moves towards it by an eighth.

use super::UetSpec;
use super::control::UetFacts;
use units::Time;

/// Minimum number of packets out of order from which losses are inferred.
const MIN_OUT_OF_ORDER: u64 = 5;
/// Number of windows out of order from which losses are inferred.
const OUT_OF_ORDER_WINDOWS: f64 = 1.5;

/// The schedule of probes, and the conclusions from their answers.
#[derive(Clone, Debug)]
pub(crate) struct Probing {
    /// Base round-trip time.
    base: Time,
    /// Queueing delay of a probe below which unacknowledged packets sent before it count as lost.
    target: Time,
    /// Time at which a probe is due, or [`Time::NEVER`].
    pub at: Time,
    /// Time at which the last probe was sent, if it is unanswered, or [`Time::NEVER`].
    pub sent: Time,
    /// True if a probe waits to be sent.
    pub is_due: bool,
    /// Losses before this packet are being repaired.
    pub recovers_until: u64,
    /// Longest recent round-trip time of a packet.
    slowest: Time,
    /// By link of the NIC: the latest transmission time of a packet that has arrived.
    arrived: Box<[Time]>,
    /// Link of the last probe.
    plane: u16,
}

impl Probing {
    /// Creates the state of a context; `None` if it does not infer losses.
    pub fn new(spec: &UetSpec, facts: &UetFacts) -> Option<Probing> {
        spec.infers_losses(facts).then_some(Probing {
            base: facts.base_rtt,
            target: facts.delay_target(),
            at: Time::NEVER,
            sent: Time::NEVER,
            is_due: false,
            recovers_until: 0,
            slowest: facts.base_rtt,
            arrived: vec![Time::ZERO; facts.planes.max(1).into()].into(),
            plane: 0,
        })
    }

    /// Restarts the schedule after a packet was sent or an acknowledgement has arrived. `in_flight` is true if packets
    /// are in flight, and `idle` if there is nothing more to send.
    pub fn restart(&mut self, now: Time, in_flight: bool, idle: bool) {
        if !in_flight {
            (self.at, self.is_due) = (Time::NEVER, false);
            return;
        }
        let wait = if idle { self.base + self.target } else { times(self.base, 3) };
        self.at = now.saturating_add(wait);
    }

    /// Returns the entropy value of the next probe. Probes use the links of a NIC in turn; with a single link the value
    /// is 0, the path of the flow.
    pub fn entropy(&self) -> u16 {
        let planes = self.arrived.len() as u16;
        if planes > 1 { planes + (self.plane + 1) % planes } else { 0 }
    }
    /// Adds a measured round-trip time.
    pub fn measure(&mut self, round_trip: Time) {
        let fallen =
            self.slowest.saturating_sub(Time::from_ps(self.slowest.saturating_sub(round_trip).ps() / 8));
        self.slowest = fallen.max(round_trip);
    }
    /// Returns the time before which unacknowledged packets must have been sent to count as lost, if the answer to a
    /// probe arrives now.
    pub fn lost_before(&self, now: Time) -> Time {
        now.saturating_sub(self.reordering_time())
    }
    /// Returns one and a half of the longest recent round-trip times.
    fn reordering_time(&self) -> Time {
        Time::from_ps(self.slowest.max(self.base).ps() / 2 * 3)
    }
    /// Records the arrival of a packet that was sent with this entropy value.
    pub fn arrive(&mut self, entropy: u16, sent: Time) {
        let planes = self.arrived.len();
        if let Some(latest) = self.arrived.get_mut(usize::from(entropy) % planes) {
            *latest = sent.max(*latest);
        }
    }
    /// Returns true if a packet that was sent over the same link at least one and a half of the longest recent
    /// round-trip times later has arrived, or if the last probe used that link. In that time as many windows are sent.
    /// Packets over different links, or over different paths behind one link, overtake each other as long as the queues
    /// differ.
    pub fn is_overtaken(&self, entropy: u16, sent: Time, by_probe: bool) -> bool {
        let plane = usize::from(entropy) % self.arrived.len();
        let after = sent + self.reordering_time();
        self.arrived.get(plane).is_some_and(|&latest| after <= latest)
            || by_probe && plane == usize::from(self.plane)
    }

    /// Records that a probe is sent.
    pub fn leave(&mut self, now: Time) {
        (self.sent, self.is_due) = (now, false);
        self.plane = self.entropy().checked_rem(self.arrived.len() as u16).unwrap_or(0);
        self.at = now.saturating_add(times(self.base, 5));
    }

    /// Processes the answer to a probe, which has this round-trip time. Returns true if unacknowledged packets sent
    /// before the probe are lost.
    pub fn answered(&mut self, round_trip: Time) -> bool {
        self.sent = Time::NEVER;
        round_trip.saturating_sub(self.base) < self.target
    }

    /// Returns the number of packets out of order that indicates a loss, with a window of this number of bytes.
    pub fn out_of_order_limit(window: u64, facts: &UetFacts) -> u64 {
        let largest = OUT_OF_ORDER_WINDOWS * facts.bdp();
        let bytes = (OUT_OF_ORDER_WINDOWS * window as f64).min(largest);
        ((bytes / f64::from(facts.payload)) as u64).max(MIN_OUT_OF_ORDER)
    }
}

fn times(time: Time, many: u64) -> Time {
    Time::from_ps(time.ps().saturating_mul(many))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::uet::UetKeys;
    use units::BitRate;

    #[test]
    fn a_probe_shows_losses_of_packets_that_left_long_before() {
        let us = Time::from_us;
        let (spec, _) =
            UetKeys { loss_inference: Some(true), ..UetKeys::default() }.carrier(None, 4_198).unwrap();
        let facts = spec.facts(BitRate::from_gbps(100), us(12), false);
        let mut it = Probing::new(&spec, &facts).unwrap();
        assert_eq!(it.lost_before(us(100)), us(82));
        it.measure(us(40));
        assert_eq!(it.lost_before(us(100)), us(40));
        // The value falls by an eighth of 16 us, then of 30 us.
        it.measure(us(24));
        assert_eq!(it.lost_before(us(100)), us(43));
        it.measure(us(8));
        assert_eq!(it.slowest, us(38) - Time::from_ps(3_750_000));
        (0..100).for_each(|_| it.measure(us(13)));
        assert!(it.slowest < us(14) && it.lost_before(us(10)) == Time::ZERO);
    }

    #[test]
    fn a_packet_is_overtaken_on_its_own_link() {
        let us = Time::from_us;
        let keys = UetKeys { loss_inference: Some(true), ..UetKeys::default() };
        let (spec, _) = keys.carrier(None, 4_198).unwrap();
        let facts = |planes| UetFacts { planes, ..spec.facts(BitRate::from_gbps(100), us(12), false) };
        let mut it = Probing::new(&spec, &facts(3)).unwrap();
        it.arrive(4, us(100));
        // Value 7 uses the same link as 4, and value 5 another one. One and a half round-trip times are 18 us.
        assert!(it.is_overtaken(7, us(82), false) && !it.is_overtaken(7, us(83), false));
        it.measure(us(20));
        assert!(!it.is_overtaken(7, us(82), false) && it.is_overtaken(7, us(70), false));
        assert!(!it.is_overtaken(5, us(1), false));
        // Probes use links 1, 2 and 0 in turn.
        let mut links = Vec::new();
        for _ in 0..3 {
            links.push(it.entropy() % 3);
            assert!(it.entropy() > 0);
            it.leave(us(110));
            let shown: Vec<bool> = (3..6).map(|value| it.is_overtaken(value, us(99), true)).collect();
            assert_eq!(shown.iter().position(|&shown| shown), links.last().map(|&link| link.into()));
            assert_eq!(shown.iter().filter(|&&shown| shown).count(), 1);
        }
        assert_eq!(links, [1, 2, 0]);
        // With a single link, all packets use the same one.
        let mut one = Probing::new(&spec, &facts(1)).unwrap();
        assert!(one.is_overtaken(5, us(1), true) && !one.is_overtaken(5, us(1), false));
        one.arrive(3, us(19));
        assert!(one.is_overtaken(5, us(1), false) && !one.is_overtaken(5, us(2), false));
        assert_eq!(one.entropy(), 0);
    }
}
