//! In-band telemetry: values that the egress ports of switches write into packets that request them.

use crate::run::state::headers::Headers;
use frame::{Frame, FrameKind, Stamp};
use units::Time;

/// Telemetry state of a port.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PortTelemetry {
    /// True if it writes stamps: the port of a switch.
    pub(in crate::run) writes: bool,
    /// Bytes sent.
    pub(in crate::run) sent: u64,
    /// Average utilisation of the link as of the last packet with telemetry. The following fields hold its time and the
    /// bytes sent before it.
    pub(in crate::run) utilisation: f64,
    until: Time,
    sent_until: u64,
}

impl PortTelemetry {
    /// Creates the state of a port that has sent nothing.
    pub fn new(writes: bool) -> PortTelemetry {
        PortTelemetry { writes, ..PortTelemetry::default() }
    }

    /// Updates the average utilisation of the link when the packet of this stamp leaves, with the weight that its
    /// sender specifies.
    pub(in crate::run) fn average(&mut self, stamp: &Stamp, over: Time) -> f64 {
        let took = (stamp.at - self.until).as_secs_f64();
        if took > 0.0 {
            let (rate, trip) = (stamp.rate.bps_f64() / 8.0, over.as_secs_f64());
            let sent = (stamp.sent - self.sent_until) as f64 / (rate * took);
            let newest = sent + stamp.queue as f64 / (rate * trip);
            let share = (took / trip).min(1.0);
            self.utilisation += share * (newest - self.utilisation);
            (self.until, self.sent_until) = (stamp.at, stamp.sent);
        }
        self.utilisation
    }
}

/// The stamps with which the packet of an endpoint starts: empty, or those that it returns.
pub(crate) fn begin_stamps(headers: &mut Headers, frame: &Frame, endpoint: &transport::Endpoint, pair: u32) {
    let returns = frame.flags.kind() != FrameKind::Data;
    let returned = returns.then(|| transport::Protocol::stamps(endpoint, pair).copied()).flatten();
    *headers.stamps_mut(frame) = returned.unwrap_or_default();
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::BitRate;

    #[test]
    fn a_port_averages_over_the_round_trip_of_who_asks() {
        let mut port = PortTelemetry::new(true);
        let trip = Time::from_us(10);
        let mut average = |us: u64, sent: u64, queue: u64| {
            let stamp = Stamp { at: Time::from_us(us), sent, queue, rate: BitRate::from_gbps(8) };
            port.average(&stamp, trip)
        };
        // One byte per nanosecond. Anything longer ago than a round trip has no weight.
        assert!((average(100, 50_000, 0) - 0.5).abs() < 1e-12);
        // A second update at the same time has no effect.
        assert!((average(100, 50_000, 9_999) - 0.5).abs() < 1e-12);
        // A quarter of a round trip at full rate, with a queue of half a round trip.
        assert!((average(102, 52_000, 5_000) - (0.5 + 0.2 * (1.5 - 0.5))).abs() < 1e-12);
        assert!((average(200, 52_000, 0) - 0.0).abs() < 1e-12);
    }
}
