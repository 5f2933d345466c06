//! Loss inference without trimming (SLEEK): probes of a packet delivery context, and losses that acknowledgements out of order show.

use super::UetSpec;
use super::control::UetFacts;
use units::Time;

/// Packets out of order from which losses are inferred, at least.
const MIN_OUT_OF_ORDER: u64 = 5;
/// Windows out of order from which losses are inferred, at least.
const OUT_OF_ORDER_WINDOWS: f64 = 1.5;

/// When a probe is due, and what one means.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Probing {
    /// Base round trip.
    base: Time,
    /// Queueing delay below which everything that left before an answered probe is lost, if it is not acknowledged.
    target: Time,
    /// When a probe is due, or [`Time::NEVER`].
    pub at: Time,
    /// When the last probe left, which is not answered, or [`Time::NEVER`].
    pub sent: Time,
    /// A probe waits to be sent.
    pub is_due: bool,
    /// Losses before this packet are being repaired.
    pub recovers_until: u64,
}

impl Probing {
    /// Of a context; `None`: it infers no losses.
    pub fn new(spec: &UetSpec, facts: &UetFacts) -> Option<Probing> {
        spec.infers_losses(facts).then_some(Probing {
            base: facts.base_rtt,
            target: facts.delay_target(),
            at: Time::NEVER,
            sent: Time::NEVER,
            is_due: false,
            recovers_until: 0,
        })
    }

    /// A packet has left or an acknowledgement has come, with packets in flight, and, with `idle`, nothing more to send.
    pub fn restart(&mut self, now: Time, in_flight: bool, idle: bool) {
        if !in_flight {
            (self.at, self.is_due) = (Time::NEVER, false);
            return;
        }
        let wait = if idle { self.base + self.target } else { times(self.base, 3) };
        self.at = now.saturating_add(wait);
    }

    /// A probe leaves.
    pub fn leave(&mut self, now: Time) {
        (self.sent, self.is_due) = (now, false);
        self.at = now.saturating_add(times(self.base, 5));
    }

    /// The answer to a probe after this round trip. Returns true if packets that left before it and are not acknowledged are lost.
    pub fn answered(&mut self, round_trip: Time) -> bool {
        self.sent = Time::NEVER;
        round_trip.saturating_sub(self.base) < self.target
    }

    /// Packets out of order that show a loss, with a window of so many bytes.
    pub fn out_of_order_limit(window: u64, facts: &UetFacts) -> u64 {
        let largest = OUT_OF_ORDER_WINDOWS * facts.bdp();
        let bytes = (OUT_OF_ORDER_WINDOWS * window as f64).min(largest);
        ((bytes / f64::from(facts.payload)) as u64).max(MIN_OUT_OF_ORDER)
    }
}

fn times(time: Time, many: u64) -> Time {
    Time::from_ps(time.ps().saturating_mul(many))
}
