//! The capacity of a queue as measured by FECN: transmitted bits divided by the time in which the queue was not idle.

use units::Time;

/// Measures the bits that a queue has sent in an interval, and the time in which it had nothing to send.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ServiceMeter {
    /// Bits of the frames whose transmission began in this interval, plus the remainder of a frame from the interval
    /// before.
    bits: f64,
    /// Idle time in this interval, in picoseconds.
    idle: f64,
    /// End of the last transmission, or end of the idle time counted so far if that is later.
    idle_since: Time,
}

impl ServiceMeter {
    /// Processes the arrival of a frame in an interval that began at `began`. `is_empty` is true if no other frame
    /// waits.
    pub fn arrived(&mut self, now: Time, began: Time, is_empty: bool) {
        if is_empty {
            self.idle_until(now, began);
        }
    }

    /// Counts the time from the end of the last transmission to `end` as idle, as far as it lies in the interval.
    fn idle_until(&mut self, end: Time, began: Time) {
        let since = self.idle_since.max(began);
        if end > since {
            self.idle += (end - since).ps() as f64;
            self.idle_since = end;
        }
    }

    /// Processes the start of the transmission of a frame of `bits`, on a link of `rate` bits per second.
    pub fn sent(&mut self, now: Time, bits: u64, rate: f64) {
        self.bits += bits as f64;
        self.idle_since = now + Time::from_ps((bits as f64 * 1e12 / rate) as u64);
    }

    /// Ends an interval of this length. Returns the capacity in bits per second; `None` if the queue was idle all the
    /// time.
    pub fn interval_ends(&mut self, ends: Time, length: Time, is_empty: bool, rate: f64) -> Option<f64> {
        let rest = self.idle_since.ps().saturating_sub(ends.ps()) as f64 * rate / 1e12;
        if is_empty {
            self.idle_until(ends, ends - length);
        }
        let busy = length.ps() as f64 - self.idle;
        let sent = self.bits - rest;
        (self.bits, self.idle) = (rest, 0.0);
        (busy > 0.0 && sent > 0.0).then(|| sent * 1e12 / busy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: f64 = 1e9;

    fn capacity(meter: &mut ServiceMeter, ends_us: u64, is_empty: bool) -> Option<f64> {
        meter.interval_ends(Time::from_us(ends_us), Time::from_us(100), is_empty, RATE).map(f64::round)
    }

    #[test]
    fn a_link_of_its_own_is_its_capacity_however_often_it_idles() {
        let mut meter = ServiceMeter::default();
        // Frames of 10 us each, alone in the queue. The last one is in transmission when the interval ends.
        for at in [0, 20, 37, 95] {
            meter.arrived(Time::from_us(at), Time::ZERO, true);
            meter.sent(Time::from_us(at), 10_000, RATE);
        }
        assert_eq!(capacity(&mut meter, 100, true), Some(1e9));
        assert_eq!(capacity(&mut meter, 200, true), Some(1e9), "the 5 us of the last frame");
        assert_eq!(capacity(&mut meter, 300, true), None);
    }

    #[test]
    fn a_share_of_a_link_is_what_left_while_frames_waited() {
        let mut meter = ServiceMeter::default();
        // Frames wait for 60 us; every second frame on the link is from another class.
        for (arrives, leaves) in [(20, 20), (20, 40), (20, 60)] {
            meter.arrived(Time::from_us(arrives), Time::ZERO, leaves == 20);
            meter.sent(Time::from_us(leaves), 10_000, RATE);
        }
        // 20 us to 70 us, of which 30 us are transmission.
        assert_eq!(capacity(&mut meter, 100, true), Some(0.6e9));
        // A queue that is paused for the whole interval is not idle, but its capacity cannot be measured.
        meter.arrived(Time::from_us(100), Time::from_us(100), true);
        assert_eq!(capacity(&mut meter, 200, false), None);
        // Skipped intervals contribute no idle time: 40 us of waiting and transmission from 1000 us on.
        let mut meter = ServiceMeter::default();
        meter.arrived(Time::from_us(1_020), Time::from_us(1_000), true);
        meter.sent(Time::from_us(1_050), 10_000, RATE);
        assert_eq!(capacity(&mut meter, 1_100, true), Some(0.25e9));
    }
}
