//! The crossbar of a switch with buffers at inputs and outputs: which inputs send to which outputs.
//!
//! A frame waits at its input until the crossbar takes it to the buffer of its output. An input sends one frame at a
//! time, and an output takes one; a crossing takes the time of the frame on the fastest link of the switch, divided by
//! `speedup`. Inputs keep a queue for each output and class (virtual output queues), or one a class. Whenever an input
//! or an output becomes free, a frame comes, or an output buffer gets room, those that are free are matched: once an
//! instant, after all that happens in it.
//!
//! - `round_robin`: each output takes the next input in turn that has something for it. Outputs choose one after the
//!   other, beginning with another one each time.
//! - `islip`: in each iteration inputs ask all outputs that they have frames for, each output grants one, each input
//!   accepts one, by pointers that move past what was accepted, in the first iteration alone. Outputs desynchronise, and
//!   uniform traffic fills the switch.
//!
//! Among the classes of a pair the next in turn goes.
//!
//! Source: `round_robin`, a speed-up of 1.5, queues by output and virtual channel: Martinez et al. 2006, section 6.1.
//! `islip`: McKeown, The iSLIP scheduling algorithm for input-queued switches (IEEE/ACM ToN 7(2), 1999, sections 3 and
//! 4). FIFO inputs carry 2 - sqrt(2) of what many links could: Karol, Hluchyj and Morgan, Input versus output queueing
//! on a space-division packet switch (IEEE ToC 35(12), 1987).
//!
//! The sources leave open: when matching happens (see above); the order of outputs (see above); what happens if an output
//! buffer is too full for the next frame (`room`); the sizes of buffers. An output buffer of four of the longest frames of
//! Advanced Switching is our choice.
//!
//! Inputs hold what comes: without credits or PFC nothing bounds them, and no frame is lost there. PFC counts what waits at an
//! input until it begins to cross. A queue manager sees the buffer of its output, without what waits for it at inputs. A
//! link that is down loses what crosses to it, or keeps it, and then its output fills up.
//!
//! A crossbar has at most 128 ports.
//!
//! Not modelled: a frame that crosses to several outputs at once (copies cross one after the other), the time that arbitration takes (count it in the latency of the switch), cells, limits of the
//! switch's buffer and a memory that its queues share, pauses with egress accounting, path rate control, restarts: they are
//! refused.

use keys::{Remark, Unused};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::borrow::Cow;
use units::Bytes;

/// Keys of a crossbar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CrossbarKeys {
    /// The speed of the crossbar relative to the fastest link of the switch. A number, 1 to 16 in steps of 1/64. Default: 1.5 (Martinez 2006, section 6.1).
    pub speedup: Speedup,
    /// Arbitration between inputs and outputs: "round_robin" or "islip". Default: "round_robin" (Martinez 2006, section 6.1).
    pub arbitration: Arbitration,
    /// Iterations of "islip" at most. A count, 1 to 16. Default: 4 (McKeown 1999: about the binary logarithm of the ports).
    #[schemars(range(min = 1, max = 16))]
    pub iterations: u64,
    /// Queues of an input: "virtual_output" (one for each output and class) or "fifo" (one a class, whose first frame blocks the others). Default: "virtual_output".
    pub inputs: Inputs,
    /// Room of each class of an output, for frames from the beginning of their crossing until they leave. A size. Default: "8704 B" (four frames of 2176 B).
    pub output_buffer: Bytes,
    /// Condition for crossing when an output buffer is nearly full: "longest" (none, until there is room for the longest frame of the fabric) or "frame" (each for which there is room: short ones pass long ones). Default: "longest" (all inputs are treated alike).
    pub room: Room,
}

impl Default for CrossbarKeys {
    fn default() -> CrossbarKeys {
        CrossbarKeys {
            speedup: Speedup(96),
            arbitration: Arbitration::RoundRobin,
            iterations: 4,
            inputs: Inputs::VirtualOutput,
            output_buffer: Bytes::new(8_704),
            room: Room::Longest,
        }
    }
}

impl CrossbarKeys {
    /// Returns the first invalid key.
    pub fn check(&self) -> Result<(), Remark> {
        if (1..=16).contains(&self.iterations) {
            return Ok(());
        }
        let message = format!("{} iterations", self.iterations);
        Err(Remark::about("iterations", message, "expected a count, 1 to 16"))
    }
    /// Returns the keys without effect.
    pub fn unused(&self) -> Vec<Remark> {
        Unused::of(self, &CrossbarKeys::default())
            .unless(self.arbitration == Arbitration::Islip, "arbitration = \"islip\"", &["iterations"])
            .remarks()
    }
}

/// Matching of inputs and outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Arbitration {
    /// Each output takes the next input in turn.
    RoundRobin,
    /// Requests, grants, and pointers that move past what was accepted.
    Islip,
}

/// Queues of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Inputs {
    /// A queue for each output and class.
    VirtualOutput,
    /// A queue a class.
    Fifo,
}

/// When an output buffer takes a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Room {
    /// While there is room for the longest frame.
    Longest,
    /// While there is room for that frame.
    Frame,
}

/// The speed of a crossbar relative to a link, in steps of 1/64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Speedup(u32);

impl Speedup {
    const STEPS: u32 = 64;
    const LARGEST: f64 = 16.0;

    /// Converts a number from 1 to 16; `None` if it is not a multiple of 1/64.
    pub fn new(speedup: f64) -> Option<Speedup> {
        let steps = speedup * f64::from(Speedup::STEPS);
        let fits = (1.0..=Speedup::LARGEST).contains(&speedup) && steps.fract() == 0.0;
        fits.then_some(Speedup(steps as u32))
    }
    /// Returns the speedup as a number.
    pub fn get(self) -> f64 {
        f64::from(self.0) / f64::from(Speedup::STEPS)
    }
    /// Returns the time in the crossbar of a transfer that takes `ps` on the link, rounded up.
    pub fn of(self, ps: u64) -> u64 {
        match ps.checked_mul(u64::from(Speedup::STEPS)) {
            Some(steps) => steps.div_ceil(u64::from(self.0)),
            None => (u128::from(ps) * u128::from(Speedup::STEPS)).div_ceil(u128::from(self.0)) as u64,
        }
    }
}

impl Serialize for Speedup {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.get())
    }
}
impl<'de> Deserialize<'de> for Speedup {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Speedup, D::Error> {
        let speedup = f64::deserialize(deserializer)?;
        Speedup::new(speedup).ok_or_else(|| {
            de::Error::custom(format!("speedup is {speedup}; expected 1 to 16 in steps of 1/64, such as 1.5"))
        })
    }
}
impl JsonSchema for Speedup {
    fn schema_name() -> Cow<'static, str> {
        "Speedup".into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "number", "minimum": 1.0, "maximum": Speedup::LARGEST })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_speedup_is_exact() {
        assert_eq!(Speedup::new(1.5).map(|it| it.of(3_000)), Some(2_000));
        assert_eq!(Speedup::new(1.5).map(|it| it.of(1)), Some(1));
        assert_eq!([0.5, 17.0, 1.01, f64::NAN].map(Speedup::new), [None; 4]);
    }
}
