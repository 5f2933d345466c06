//! Pause time: one value for all priorities, one value per priority, or the drain time of the backlog.
//!
//! Most devices send the maximum pause time and end the pause with an XON. A PFC frame carries a separate pause time
//! for each priority, so that a station can pause its priorities for different times with one frame. A station that
//! measures its backlog and the drain rate can compute the pause time, and does not need XON:
//!
//! > quanta = ⌈ (time until the occupancy falls to the low watermark + response time) / 512 bit times ⌉
//!
//! The response time is added because, with an XON at the low watermark, the pause would end one response time after
//! the XON arrives. The time until the occupancy falls to the low watermark is
//!
//! > (occupancy - low watermark) · (queue / occupancy) / rate
//!
//! where queue is the length in bytes of the egress queue that causes the congestion, and rate is the rate of its
//! port. The second factor, at least 1, applies to the counter of an ingress port whose frames share the queue with
//! those of other ports. The data in flight at that time is not known. Shortly before the pause ends, the station
//! therefore checks the backlog. It renews the pause, for the time that the rest needs, unless the rest is below the
//! high watermark and will have drained by the end of the pause to within two maximum-length frames and a pause frame.
//! A pause is never shorter than the minimum effective one (`penstock explain renewal`). No frame is lost that would
//! not be lost with XON: without renewal the occupancy is below the high watermark, and XOFF is sent as soon as it
//! reaches that level again.
//!
//! Source: IEEE 802.3 Annex 31D and Hagen 2012 §2.1.1 for the times in a frame; Hagen 2012 §7.1, which mentions a
//! computed pause time (Hayasaka et al., BMSB 2010) without a formula. The formula is ours.
//!
//! Not modelled: measured drain rates. A class that shares its port with others, or whose port is paused, drains more
//! slowly than assumed, and its pauses are renewed.

use crate::renewal::Renewal;
use frame::{Occupancy, PRIORITIES, members};
use keys::{Forms, Remark, by_form};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::SeqAccessDeserializer;
use serde::de::{Deserialize, Error, SeqAccess};
use serde::{Serialize, Serializer};
use std::borrow::Cow;
use units::{Amount, BitRate, Time};

use crate::pause::QUANTUM_BITS;

/// The key `pause_quanta`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PauseQuanta {
    /// One length for all priorities.
    One(u32),
    /// One for each priority.
    Each(Vec<u32>),
    /// The time that the queue needs to drain.
    Computed,
}

/// Length of the pauses that a station sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PauseLength {
    /// Fixed, in quanta of 512 bit times per priority; 1 to 65535 each.
    Fixed([u16; PRIORITIES]),
    /// Computed: the time that the queue needs to drain.
    Computed,
}

impl From<u16> for PauseLength {
    fn from(quanta: u16) -> PauseLength {
        PauseLength::Fixed([quanta; PRIORITIES])
    }
}

impl PauseLength {
    /// Returns the shortest pause of these priorities in quanta, or `least` if pauses are computed.
    pub fn shortest(&self, priorities: u8, least: u64) -> u16 {
        match self {
            PauseLength::Fixed(each) => members(priorities).map(|at| each[at]).min().unwrap_or(u16::MAX),
            PauseLength::Computed => u16::try_from(least).unwrap_or(u16::MAX),
        }
    }
    /// Returns true if all pauses have the same length.
    pub fn is_uniform(&self) -> bool {
        matches!(self, PauseLength::Fixed(each) if each.iter().all(|&quanta| quanta == each[0]))
    }
}

/// Bytes that must drain before a pause may end.
#[derive(Clone, Copy, Debug)]
pub struct Drain {
    /// Occupancy of the counter.
    pub held: Occupancy,
    /// High and low watermark of the counter.
    pub marks: (Amount, Amount),
    /// Bytes of the queue that holds the counter's frames, including frames of other counters.
    pub queue: u64,
    /// Drain rate of the queue.
    pub rate: BitRate,
    /// Bytes of overhead around each frame on the wire of that queue's link.
    pub overhead: u16,
}

impl Drain {
    /// Returns the time until the counter reaches its low watermark.
    pub fn time(&self) -> Time {
        let Occupancy { bytes, frames } = self.held;
        if self.held.within(self.marks.1) || frames == 0 {
            return Time::ZERO;
        }
        // Whole frames leave, so the frame that crosses a low watermark in bytes leaves entirely.
        let (over, of) = match self.marks.1 {
            Amount::Bytes(low) => (bytes - low, bytes),
            Amount::Frames(low) => (frames - low, frames),
        };
        let wire = |bytes: u64, frames: u64| (bytes + frames * u64::from(self.overhead)) * 8;
        let queue = self.queue.max(bytes);
        let bits = u128::from(wire(queue, frames * queue / bytes)) * u128::from(over) / u128::from(of);
        self.rate.time_for_bits_ceil(u64::try_from(bits).unwrap_or(u64::MAX))
    }
    /// Returns the length of a pause to send over a link, in quanta.
    pub fn quanta(&self, link: &Renewal) -> u16 {
        let lasts = self.time() + link.response;
        let quanta = link.rates.1.bits_in_ceil(lasts).div_ceil(QUANTUM_BITS);
        u16::try_from(quanta.max(link.least_quanta(true))).unwrap_or(u16::MAX)
    }
    /// Returns true if a pause that is about to end over this link need not be renewed.
    pub fn may_end(&self, link: &Renewal) -> bool {
        !self.held.reaches(self.marks.0) && self.time() + link.response <= link.latest_lead()
    }
}

impl PauseQuanta {
    const COMPUTED: &str = "computed";

    /// Returns the pause length of a station.
    pub(crate) fn length(&self) -> PauseLength {
        let number = |&quanta: &u32| u16::try_from(quanta).unwrap_or(u16::MAX);
        match self {
            PauseQuanta::One(quanta) => PauseLength::from(number(quanta)),
            PauseQuanta::Each(list) => {
                PauseLength::Fixed(std::array::from_fn(|at| list.get(at).map_or(u16::MAX, number)))
            }
            PauseQuanta::Computed => PauseLength::Computed,
        }
    }
    /// Validates the key. `single` is true if it applies to single priorities.
    pub(crate) fn check(&self, single: bool) -> Result<(), Remark> {
        let about = |message: String, help: &str| Remark::about("pause_quanta", message, help);
        let range = |quanta: u32| match quanta {
            0 => Err(about(format!("pause_quanta {quanta} is not a pause: 0 means XON"), RANGE)),
            65_536.. => {
                Err(about(format!("pause_quanta {quanta} does not fit the 16 bits of a pause frame"), RANGE))
            }
            _ => Ok(()),
        };
        match self {
            PauseQuanta::Computed => Ok(()),
            PauseQuanta::One(quanta) => range(*quanta),
            PauseQuanta::Each(_) if !single => Err(about(
                "a list of pause_quanta with pause, whose frames have one time".to_string(),
                "expected one number, or [flow_control.pfc]",
            )),
            PauseQuanta::Each(list) if list.len() != PRIORITIES => Err(about(
                format!("{} entries of pause_quanta", list.len()),
                "expected 8: one for each priority, 0 to 7, also for those that are never paused",
            )),
            PauseQuanta::Each(list) => {
                let wrong = |(at, &quanta): (usize, &u32)| range(quanta).err().map(|remark| remark.entry(at));
                list.iter().enumerate().find_map(wrong).map_or(Ok(()), Err)
            }
        }
    }
}

const RANGE: &str = "expected 1 to 65535 quanta of 512 bit times";

impl Forms for PauseQuanta {
    const EXPECTED: &'static str =
        "a number of quanta, a list of eight, one for each priority, or \"computed\"";
    fn text<E: Error>(text: &str) -> Result<PauseQuanta, E> {
        if text == PauseQuanta::COMPUTED {
            Ok(PauseQuanta::Computed)
        } else {
            Err(E::unknown_variant(text, &[PauseQuanta::COMPUTED]))
        }
    }
    fn number<E: Error>(number: i64) -> Result<PauseQuanta, E> {
        let wrong = |_| E::invalid_value(serde::de::Unexpected::Signed(number), &RANGE);
        u32::try_from(number).map(PauseQuanta::One).map_err(wrong)
    }
    fn list<'de, A: SeqAccess<'de>>(list: A) -> Result<PauseQuanta, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(list)).map(PauseQuanta::Each)
    }
}
by_form!(PauseQuanta);

impl Serialize for PauseQuanta {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            PauseQuanta::One(quanta) => quanta.serialize(serializer),
            PauseQuanta::Each(list) => list.serialize(serializer),
            PauseQuanta::Computed => serializer.serialize_str(PauseQuanta::COMPUTED),
        }
    }
}

impl JsonSchema for PauseQuanta {
    fn schema_name() -> Cow<'static, str> {
        "PauseQuanta".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Quanta of 512 bit times.",
            "anyOf": [
                { "type": "integer", "minimum": 1, "maximum": u16::MAX, "description": "The same for all priorities." },
                {
                    "type": "array",
                    "items": { "type": "integer", "minimum": 1, "maximum": u16::MAX },
                    "minItems": PRIORITIES,
                    "maxItems": PRIORITIES,
                    "description": "One for each priority, 0 to 7."
                },
                { "type": "string", "const": PauseQuanta::COMPUTED, "description": "By what has to drain." }
            ]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARKS: (Amount, Amount) = (Amount::Frames(30), Amount::Frames(10));

    fn link() -> Renewal {
        Renewal::of_link(BitRate::from_gbps(10), Time::from_ns(500))
    }
    fn drain(frames: u64, queue: u64) -> Drain {
        let held = Occupancy { bytes: frames * 1522, frames };
        Drain { held, marks: MARKS, queue: queue * 1522, rate: BitRate::from_gbps(10), overhead: 20 }
    }

    #[test]
    fn twenty_frames_above_the_low_watermark() {
        // 20 · 1542 B at 10 Gb/s, plus 3.072 us (60 quanta) until the paused station obeys.
        assert_eq!(drain(30, 30).time(), Time::from_ps(20 * 1_233_600));
        let bits: u64 = 20 * 1542 * 8 + 60 * 512;
        assert_eq!(drain(30, 30).quanta(&link()), bits.div_ceil(512) as u16);
        // Every second frame of the queue belongs to another counter, which doubles the time.
        assert_eq!(drain(30, 60).time(), Time::from_ps(40 * 1_233_600));
        assert_eq!(drain(10, 60).time(), Time::ZERO);
    }

    #[test]
    fn no_pause_is_too_short_or_too_long_for_its_frame() {
        assert_eq!(u64::from(drain(11, 11).quanta(&link())), link().least_quanta(true));
        assert_eq!(drain(30_000, 30_000).quanta(&link()), u16::MAX);
    }

    #[test]
    fn a_pause_ends_if_the_rest_is_about_to_leave() {
        // Two longest frames and one pause frame are sent between the last check and the end of the pause.
        assert!(drain(12, 12).may_end(&link()));
        assert!(!drain(13, 13).may_end(&link()));
        assert!(!Drain { marks: (Amount::Frames(12), Amount::Frames(10)), ..drain(12, 12) }.may_end(&link()));
    }

    #[test]
    fn wrong_lengths_say_why() {
        let check = |list: &[u32]| PauseQuanta::Each(list.to_vec()).check(true).unwrap_err();
        assert!(check(&[1, 0, 1, 1, 1, 1, 1, 1]).contains("0 means XON"));
        assert!(check(&[1, 1]).contains("expected 8"));
        assert!(PauseQuanta::Each(vec![1; 8]).check(false).unwrap_err().contains("one time"));
        assert_eq!(PauseQuanta::Each(vec![1; 8]).check(true), Ok(()));
        assert!(PauseLength::Fixed([7; 8]).is_uniform() && !PauseLength::Computed.is_uniform());
        assert_eq!(PauseLength::Fixed([9, 5, 7, 1, 1, 1, 1, 1]).shortest(0b101, 3), 7);
    }
}
