//! What a scheduler knows of its port.

use crate::Charge;
use units::{BitRate, Time};

/// The port that a scheduler serves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PortFacts {
    /// How many queues it has, numbered from 0.
    pub queues: u32,
    /// Rate of the link.
    pub rate: BitRate,
    /// Bytes around each frame on the wire.
    pub overhead: u32,
    /// The shortest frame that passes.
    pub smallest_frame: u32,
    /// The longest frame that passes.
    pub largest_frame: u32,
}

impl PortFacts {
    /// Eight queues, frames of 64 to 1522 B, 20 B around each.
    pub fn ethernet(rate: BitRate) -> PortFacts {
        PortFacts {
            queues: frame::PRIORITIES as u32,
            rate,
            overhead: frame::LINE_OVERHEAD_BYTES as u32,
            smallest_frame: u32::from(frame::MIN_FRAME_BYTES),
            largest_frame: u32::from(frame::MAX_TAGGED_FRAME_BYTES),
        }
    }
    /// What the longest frame is billed.
    pub(crate) fn largest(&self, charge: Charge) -> u32 {
        charge.at(self).of(self.largest_frame)
    }
    /// Billed bytes a second when the link carries what is billed least for its time.
    pub(crate) fn slowest_bytes_per_s(&self, charge: Charge) -> f64 {
        let bill = charge.at(self);
        self.slowest_per_s(|bytes| bill.of(bytes))
    }
    /// What `billed` says of frames, a second, when the link carries what is billed least for its time.
    pub(crate) fn slowest_per_s(&self, billed: impl Fn(u32) -> u32) -> f64 {
        let density = |bytes: u32| f64::from(billed(bytes)) / f64::from(bytes + self.overhead);
        let least = (self.smallest_frame..=self.largest_frame).map(density).fold(f64::INFINITY, f64::min);
        self.rate.bps_f64() / 8.0 * least
    }
    /// How long a frame occupies the link, rounded up.
    pub(crate) fn wire_time(&self, bytes: u32) -> Time {
        self.rate.time_for_bits_ceil(u64::from(bytes + self.overhead) * 8)
    }
}

/// A rate, given as such or as a part of the link's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    /// Bits per second.
    Rate(BitRate),
    /// Millionths of the rate of the link. Range 1 to 1000000.
    PartsPerMillion(u32),
}

impl Share {
    /// The rate at a link; shares in whole bits per second, rounded down.
    pub fn of(self, link: BitRate) -> BitRate {
        match self {
            Share::Rate(rate) => rate,
            Share::PartsPerMillion(parts) => {
                BitRate::from_bps((u128::from(link.bps()) * u128::from(parts) / 1_000_000) as u64)
            }
        }
    }
    pub(crate) fn check(self, what: &str, link: BitRate) -> Result<(), String> {
        let rate = self.of(link);
        if rate.bps() == 0 {
            return Err(format!("{what} is zero: nothing would ever pass"));
        }
        if rate > link {
            return Err(format!("{what} is {rate}, more than the link's {link}"));
        }
        Ok(())
    }
}
