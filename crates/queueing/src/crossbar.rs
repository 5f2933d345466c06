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
//! Not modelled: multicast, the time that arbitration takes (count it in the latency of the switch), cells, limits of the
//! switch's buffer and a memory that its queues share, pauses with egress accounting, path rate control, restarts: they are
//! refused.

use keys::Remark;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::borrow::Cow;
use units::Bytes;

/// How a crossbar is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CrossbarKeys {
    /// How much faster than the fastest link of the switch the crossbar is. A number, 1 to 16 in steps of 1/64. Default: 1.5 (Martinez 2006, section 6.1).
    pub speedup: Speedup,
    /// Who sends to whom: "round_robin" or "islip". Default: "round_robin" (Martinez 2006, section 6.1).
    pub arbitration: Arbitration,
    /// Iterations of "islip" at most. A count, 1 to 16. Default: 4 (McKeown 1999: about the binary logarithm of the ports).
    #[schemars(range(min = 1, max = 16))]
    pub iterations: u64,
    /// Queues of an input: "virtual_output" (one for each output and class) or "fifo" (one a class, whose first frame blocks the others). Default: "virtual_output".
    pub inputs: Inputs,
    /// Room of each class of an output, for frames from the beginning of their crossing until they leave. A size. Default: "8704 B" (four frames of 2176 B).
    pub output_buffer: Bytes,
    /// Which frames may cross when an output buffer is nearly full: "longest" (none, until there is room for the longest frame of the fabric) or "frame" (each for which there is room: short ones pass long ones). Default: "longest" (all inputs are treated alike).
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
    /// What cannot be meant.
    pub fn check(&self) -> Result<(), Remark> {
        if (1..=16).contains(&self.iterations) {
            return Ok(());
        }
        let message = format!("{} iterations", self.iterations);
        Err(Remark::about("iterations", message, "expected a count, 1 to 16"))
    }
}

/// How inputs and outputs are matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Arbitration {
    /// Each output takes the next input in turn.
    RoundRobin,
    /// Requests, grants, and pointers that move past what was accepted.
    Islip,
}

/// How frames wait at an input.
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

/// How much faster than a link a crossbar is, in steps of 1/64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Speedup(u32);

impl Speedup {
    const STEPS: u32 = 64;
    const LARGEST: f64 = 16.0;

    /// From a number, 1 to 16; `None` if it is no multiple of 1/64.
    pub fn new(speedup: f64) -> Option<Speedup> {
        let steps = speedup * f64::from(Speedup::STEPS);
        let fits = (1.0..=Speedup::LARGEST).contains(&speedup) && steps.fract() == 0.0;
        fits.then_some(Speedup(steps as u32))
    }
    /// As a number.
    pub fn get(self) -> f64 {
        f64::from(self.0) / f64::from(Speedup::STEPS)
    }
    /// How long something takes that would take so long on the link; rounded up.
    pub fn of(self, ps: u64) -> u64 {
        (u128::from(ps) * u128::from(Speedup::STEPS)).div_ceil(u128::from(self.0)) as u64
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

/// An input sends a frame of this class to an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crossing {
    /// The input.
    pub input: usize,
    /// The output.
    pub output: usize,
    /// The class.
    pub class: usize,
}

/// The arbiter of a crossbar.
#[derive(Clone, Debug)]
pub struct Arbiter {
    kind: Arbitration,
    iterations: u64,
    ports: usize,
    /// By output, the input that it looks at first; by input, the output.
    grants: Vec<usize>,
    accepts: Vec<usize>,
    /// By input and output, the class that goes first.
    turns: Vec<u32>,
    /// The output that chooses first.
    first: usize,
    /// By input and by output, whether it is matched by now; for each input, who has granted.
    taken: Vec<bool>,
    filled: Vec<bool>,
    granted: Vec<bool>,
}

impl Arbiter {
    /// Of a crossbar with so many inputs and outputs; all pointers are at the first.
    pub fn new(keys: &CrossbarKeys, ports: usize) -> Arbiter {
        Arbiter {
            kind: keys.arbitration,
            iterations: keys.iterations,
            ports,
            grants: vec![0; ports],
            accepts: vec![0; ports],
            turns: vec![0; ports * ports],
            first: 0,
            taken: vec![false; ports],
            filled: vec![false; ports],
            granted: vec![false; ports * ports],
        }
    }

    /// Matches inputs and outputs. `requests`: by input, and for each by output, the classes that may cross, as bits;
    /// none where either is busy. `asked`: by output, whether there are requests for it; those of others are not read.
    pub fn pick(&mut self, requests: &[u32], asked: &[bool], matches: &mut Vec<Crossing>) {
        self.taken.fill(false);
        self.filled.fill(false);
        let before = matches.len();
        match self.kind {
            Arbitration::RoundRobin => self.round_robin(requests, asked, matches),
            Arbitration::Islip => {
                for nth in 0..self.iterations {
                    if !self.iterate(nth == 0, requests, asked, matches) {
                        break;
                    }
                }
            }
        }
        if matches.len() > before {
            self.first = (self.first + 1) % self.ports;
        }
    }

    fn round_robin(&mut self, requests: &[u32], asked: &[bool], matches: &mut Vec<Crossing>) {
        for nth in 0..self.ports {
            let output = (self.first + nth) % self.ports;
            if asked[output]
                && let Some(input) = self.grant(output, requests)
            {
                self.grants[output] = (input + 1) % self.ports;
                self.connect(input, output, requests, matches);
            }
        }
    }

    /// One iteration of iSLIP; false: nothing was added.
    fn iterate(
        &mut self,
        first: bool,
        requests: &[u32],
        asked: &[bool],
        matches: &mut Vec<Crossing>,
    ) -> bool {
        let ports = self.ports;
        self.granted.fill(false);
        for (output, &asked) in asked.iter().enumerate() {
            if asked
                && !self.filled[output]
                && let Some(input) = self.grant(output, requests)
            {
                self.granted[input * ports + output] = true;
            }
        }
        let before = matches.len();
        for input in 0..ports {
            if self.taken[input] {
                continue;
            }
            let from = self.accepts[input];
            let accepted = (0..ports)
                .map(|nth| (from + nth) % ports)
                .find(|&output| self.granted[input * ports + output]);
            let Some(output) = accepted else { continue };
            if first {
                self.grants[output] = (input + 1) % ports;
                self.accepts[input] = (output + 1) % ports;
            }
            self.connect(input, output, requests, matches);
        }
        matches.len() > before
    }

    /// The next input, from the pointer of an output on, that is not matched and asks for it.
    fn grant(&self, output: usize, requests: &[u32]) -> Option<usize> {
        let from = self.grants[output];
        (0..self.ports)
            .map(|nth| (from + nth) % self.ports)
            .find(|&input| !self.taken[input] && requests[input * self.ports + output] != 0)
    }

    fn connect(&mut self, input: usize, output: usize, requests: &[u32], matches: &mut Vec<Crossing>) {
        let pair = input * self.ports + output;
        let asked = requests[pair];
        // The classes from the turn on, or from the first.
        let later = asked & u32::MAX << self.turns[pair];
        let class = if later == 0 { asked } else { later }.trailing_zeros();
        self.turns[pair] = (class + 1) % u32::BITS;
        (self.taken[input], self.filled[output]) = (true, true);
        matches.push(Crossing { input, output, class: class as usize });
    }

    /// Bytes of its tables.
    pub fn memory_bytes(&self) -> usize {
        (self.grants.capacity() + self.accepts.capacity()) * size_of::<usize>()
            + self.turns.capacity() * size_of::<u32>()
            + self.taken.capacity()
            + self.filled.capacity()
            + self.granted.capacity()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn arbiter(arbitration: Arbitration, ports: usize) -> Arbiter {
        Arbiter::new(&CrossbarKeys { arbitration, ..CrossbarKeys::default() }, ports)
    }

    fn pairs(arbiter: &mut Arbiter, requests: &[u32]) -> Vec<(usize, usize)> {
        let mut matches = Vec::new();
        arbiter.pick(requests, &vec![true; arbiter.ports], &mut matches);
        matches.iter().map(|one| (one.input, one.output)).collect()
    }

    #[test]
    fn an_output_grants_the_input_at_its_pointer_and_moves_past_it() {
        for kind in [Arbitration::RoundRobin, Arbitration::Islip] {
            let mut arbiter = arbiter(kind, 3);
            arbiter.grants[0] = 1;
            let all_ask_for_the_first = [1, 0, 0, 1, 0, 0, 1, 0, 0];
            assert_eq!(pairs(&mut arbiter, &all_ask_for_the_first), [(1, 0)]);
            assert_eq!(arbiter.grants[0], 2);
        }
    }

    /// McKeown 1999, section 3.1 and figure 5: under full load the pointers of two outputs part after one slot, and both
    /// are served in each slot from then on.
    #[test]
    fn islip_desynchronises() {
        let mut arbiter = Arbiter::new(
            &CrossbarKeys { arbitration: Arbitration::Islip, iterations: 1, ..CrossbarKeys::default() },
            2,
        );
        let full = [1; 4];
        assert_eq!(pairs(&mut arbiter, &full), [(0, 0)]);
        assert_eq!(pairs(&mut arbiter, &full), [(0, 1), (1, 0)]);
        assert_eq!(pairs(&mut arbiter, &full), [(0, 0), (1, 1)]);
        assert_eq!(pairs(&mut arbiter, &full), [(0, 1), (1, 0)]);
    }

    #[test]
    fn classes_of_a_pair_go_in_turn() {
        let mut arbiter = arbiter(Arbitration::RoundRobin, 1);
        let mut classes = vec![];
        for _ in 0..6 {
            let mut matches = vec![];
            arbiter.pick(&[0b1000_0101], &[true], &mut matches);
            classes.push(matches[0].class);
        }
        assert_eq!(classes, [0, 2, 7, 0, 2, 7]);
    }

    #[test]
    fn a_speedup_is_exact() {
        assert_eq!(Speedup::new(1.5).map(|it| it.of(3_000)), Some(2_000));
        assert_eq!(Speedup::new(1.5).map(|it| it.of(1)), Some(1));
        assert_eq!([0.5, 17.0, 1.01, f64::NAN].map(Speedup::new), [None; 4]);
    }

    /// The saturation of FIFO inputs under uniform traffic, in slots: what each input has first is for a random output.
    /// Karol et al. 1987, table I.
    #[test]
    fn fifo_inputs_saturate_where_karol_says() {
        for (ports, expected) in [(2usize, 0.75), (4, 0.6553), (8, 0.6184)] {
            for kind in [Arbitration::RoundRobin, Arbitration::Islip] {
                let mut arbiter = arbiter(kind, ports);
                let mut state = 1u64;
                let mut draw = || {
                    state =
                        state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    (state >> 33) as usize % ports
                };
                let mut first: Vec<usize> = (0..ports).map(|_| draw()).collect();
                let (slots, mut carried) = (40_000, 0);
                for _ in 0..slots {
                    let mut requests = vec![0; ports * ports];
                    first
                        .iter()
                        .enumerate()
                        .for_each(|(input, &output)| requests[input * ports + output] = 1);
                    let served = pairs(&mut arbiter, &requests);
                    carried += served.len();
                    served.iter().for_each(|&(input, _)| first[input] = draw());
                }
                let load = carried as f64 / (slots * ports) as f64;
                assert!((load - expected).abs() < 0.005, "{kind:?} {ports}: {load}");
            }
        }
    }

    proptest! {
        #[test]
        fn a_match_is_one_to_one_maximal_and_asked_for(
            ports in 1usize..9,
            asked in prop::collection::vec(prop::collection::vec(0u32..4, 64), 1..20),
            islip in any::<bool>(),
        ) {
            let kind = if islip { Arbitration::Islip } else { Arbitration::RoundRobin };
            // As many iterations as ports always find a maximal match.
            let keys = CrossbarKeys { arbitration: kind, iterations: 16, ..CrossbarKeys::default() };
            let mut arbiter = Arbiter::new(&keys, ports);
            for asked in asked {
                let requests = &asked[..ports * ports];
                let mut matches = vec![];
                arbiter.pick(requests, &vec![true; ports], &mut matches);
                let (mut taken, mut filled) = (vec![false; ports], vec![false; ports]);
                for one in &matches {
                    prop_assert!(requests[one.input * ports + one.output] >> one.class & 1 != 0);
                    prop_assert!(!taken[one.input] && !filled[one.output]);
                    (taken[one.input], filled[one.output]) = (true, true);
                }
                for input in 0..ports {
                    for output in 0..ports {
                        let idle = !taken[input] && !filled[output];
                        prop_assert!(!(idle && requests[input * ports + output] != 0));
                    }
                }
            }
        }

        /// Whoever asks all the time is served within as many matches as there are ports, squared.
        #[test]
        fn nobody_starves(ports in 2usize..7, islip in any::<bool>()) {
            let kind = if islip { Arbitration::Islip } else { Arbitration::RoundRobin };
            let mut arbiter = arbiter(kind, ports);
            let mut served = vec![0; ports * ports];
            for _ in 0..ports * ports * 4 {
                for (input, output) in pairs(&mut arbiter, &vec![1; ports * ports]) {
                    served[input * ports + output] += 1;
                }
            }
            prop_assert!(served.iter().all(|&count| count > 0), "{served:?}");
        }
    }
}
