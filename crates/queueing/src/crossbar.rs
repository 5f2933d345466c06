//! Crossbar of a switch with input and output buffers: arbitration between inputs and outputs.
//!
//! A frame waits at its input until the crossbar transfers it to the buffer of its output. An input sends one frame at
//! a time, and an output receives one at a time. A transfer takes the transmission time of the frame on the fastest
//! link of the switch, divided by `speedup`. Each input has one queue per output and class (virtual output queues), or
//! one FIFO queue per class. The free inputs and outputs are matched whenever an input or an output becomes free, a
//! frame arrives, or an output buffer gets room. A matching is computed once per instant, after all other events of
//! that instant.
//!
//! - `round_robin`: each output selects the next input, in round-robin order, that has a frame for it. The outputs
//!   select one after another; the one that selects first changes each time.
//! - `islip`: in each iteration every input sends a request to each output for which it has a frame, every output
//!   grants one request, and every input accepts one grant. In the first iteration only, the round-robin pointers
//!   advance past the accepted port. The pointers desynchronise, so that the throughput reaches 100 % under uniform
//!   traffic.
//!
//! Between the classes of an input-output pair the choice is round robin.
//!
//! Source: `round_robin`, a speed-up of 1.5, queues by output and virtual channel: Martinez et al. 2006, section 6.1.
//! `islip`: McKeown, The iSLIP scheduling algorithm for input-queued switches (IEEE/ACM ToN 7(2), 1999, sections 3 and
//! 4). FIFO inputs limit the throughput to 2 - sqrt(2), about 59 %, of the capacity with many ports: Karol, Hluchyj
//! and Morgan, Input versus output queueing on a space-division packet switch (IEEE ToC 35(12), 1987).
//!
//! The sources leave open when a matching is computed and in which order the outputs select (for both see above), the
//! behaviour when an output buffer has no room for the next frame (`room`), and the buffer sizes. The default output
//! buffer, four maximum-length frames of Advanced Switching, is our choice.
//!
//! Buffer limits count the frames at inputs, in transfer and in output buffers, and drop frames that exceed them.
//! Without such limits, credits or PFC, input buffers are unbounded. With ingress accounting, PFC counts a frame at
//! its input until its transfer begins. With egress accounting, the occupancy of an egress queue includes the frames
//! for it at the inputs and in transfer. A queue manager observes only the output buffer, except for path rate control
//! and the port and switch scopes of FECN. When a link is down, frames transferred to its output are either dropped,
//! or kept until the output buffer is full.
//!
//! A crossbar has at most 128 ports.
//!
//! Not modelled: multicast transfers (the copies of a frame are transferred one after another), arbitration delay
//! (include it in the switch latency), and cells. A scenario is rejected if a switch with a crossbar has a shared
//! memory, trimming, or buffer limits together with credits, or if the scenario restarts switches.

use keys::{Remark, Unused};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::borrow::Cow;
use units::Bytes;

/// Keys of a crossbar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CrossbarKeys {
    /// Speed of the crossbar relative to the fastest link of the switch. A number, 1 to 16 in steps of 1/64. Default: 1.5 (Martinez 2006, section 6.1).
    pub speedup: Speedup,
    /// Arbitration between inputs and outputs: "round_robin" or "islip". Default: "round_robin" (Martinez 2006, section 6.1).
    pub arbitration: Arbitration,
    /// Maximum number of iterations of "islip". A count, 1 to 16. Default: 4 (McKeown 1999: about the binary logarithm of the ports).
    #[schemars(range(min = 1, max = 16))]
    pub iterations: u64,
    /// Queues of an input: "virtual_output" (one per output and class) or "fifo" (one per class, with head-of-line blocking). Default: "virtual_output".
    pub inputs: Inputs,
    /// Buffer of each class of an output. A frame occupies it from the start of its transfer until its departure. A size. Default: "8704 B" (four frames of 2176 B).
    pub output_buffer: Bytes,
    /// Condition for a transfer to an output buffer that is nearly full: room for the longest frame of the fabric ("longest"), or for the frame itself ("frame", in which case short frames pass long ones). Default: "longest" (all inputs are treated alike).
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
    /// Each output selects the next input in round-robin order.
    RoundRobin,
    /// Requests, grants and accepts, with pointers that advance past accepted ports.
    Islip,
}

/// Queues of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Inputs {
    /// One queue per output and class.
    VirtualOutput,
    /// One FIFO queue per class.
    Fifo,
}

/// Condition for a transfer to an output buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Room {
    /// Room for the longest frame of the fabric.
    Longest,
    /// Room for the frame itself.
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
