//! Path choice: the selection among equal paths for a frame, made at each switch.
//!
//! - `hash`: a hash of the five-tuple and a seed; all frames of a flow take one path (ECMP). `tuple` describes fields
//!   and seeds.
//! - `d_mod_k`: the port of a digit of the destination; all frames to a host take one path (`digits.rs`).
//! - `spray`: for each frame, a port drawn at random (random packet spraying).
//! - `round_robin`: the ports in turn, separately for each list of equal ports. Each list starts at a random port: if
//!   all switches started with their first port, the first frames of all hosts would go to one core.
//! - `least_queued`: the port with the fewest bytes queued. Ties are broken at random, since otherwise the first port
//!   would carry all of a light load.
//! - `adaptive`: among the ports that are not paused, those with the shortest queue, in steps of `quantum`; ties are
//!   broken at random. With `two_choices`, two random ports are compared instead of all.
//! - `valiant` and `ugal`: over a third group of a dragonfly, always or only if that has shorter queues (`detours.rs`).
//! - `flowlet`: like `spray`, but a flow draws again only after a pause of `gap`. If the gap exceeds the spread of
//!   delays between paths, frames stay in order: the first frame of a new burst leaves at least a gap after the last
//!   frame of the previous one.
//!
//! A flowlet table is an array without tags, as in switches: a hash of flow and node selects the entry, which holds a
//! port and the time of the last frame. Flows that share an entry share a flowlet: they stay on its port while any of
//! them sends, and are not reordered by that. A flow can be moved within the gap only if flows of one entry have
//! different candidates. With n active flows, a flow shares its entry with probability 1 - (1 - 1/entries)^(n - 1).
//!
//! Ports may have weights (`weights.rs`), by which `hash` divides flows, `spray` frames and `flowlet` bursts.
//!
//! A switch uses only its own ports and its own named random stream. With a single candidate, nothing is drawn.
//!
//! With `hash` and `d_mod_k`, a path is known before its first frame, and a frame carries it: source routing. In
//! Advanced Switching, a header contains the path as a turn pool, the number of ports by which a frame turns in each
//! switch (a test in `digits.rs` shows that these lead there and back).
//!
//! Source: `hash`: RFC 2992 §2. `spray`: Dixit, Prakash, Hu and Kompella, On the impact of packet spraying in data
//! center networks (INFOCOM 2013). `round_robin`: Cao, Xia, Yang, Guo, Lu, Yuan, Xiong, Lin, Xia and Xu, Per-packet
//! load-balanced, low-latency routing for Clos-based data center networks (CoNEXT 2013, §3), here in each switch
//! instead of each source. `least_queued`: Ghorbani, Yang, Godfrey, Ganjali and Firoozshahian, DRILL (SIGCOMM 2017,
//! §3), with all ports sampled and no memory. `adaptive`: uet-htsim, `fat_tree_switch.cpp` (quantised queues and
//! pauses, two choices). `flowlet`: Sinha, Kandula and Katabi, Harnessing TCP's burstiness with flowlet switching
//! (HotNets 2004); uniform draws from Vanini, Pan, Alizadeh, Taheri and Edsall, Let it flow (NSDI 2017, §3); the
//! untagged table and its 65,536 entries from Alizadeh et al., CONGA (SIGCOMM 2014, §3.4).
//!
//! Not modelled: hashing of short packets with adaptive routing; utilisation as a further metric; the age bits of
//! CONGA, which measure a gap only to a factor of two (here it is exact); congestion of the path beyond the next link;
//! delayed queue lengths; the bits of a turn pool.

pub use crate::spec::detours::Ugal;
use crate::spec::digits::Digits;
use crate::spec::forwarding::Candidates;
use crate::spec::routing::{mix_in, scale};
use crate::spec::tuple::{Hashing, Tuple};
use crate::spec::weights::PortWeights;
use engine::Stream;
use frame::{NodeId, PortId};
use keys::{Choice, Keyed, Remark, by_form};
use rand_xoshiro::rand_core::Rng;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::sync::Arc;
use units::{Bytes, Time};

/// Selection among equal-cost paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathChoice {
    /// ECMP: one path per flow, by a hash of its five-tuple and the switch.
    Hash(Hashing),
    /// D-mod-k: one path per destination, by the digits of its number.
    DModK,
    /// Packet spraying: a random port for each frame.
    Spray,
    /// Ports in round-robin order, frame by frame.
    RoundRobin,
    /// The port with the fewest bytes queued; ties are broken at random.
    LeastQueued,
    /// Flowlet switching: a random port for each burst.
    Flowlet(Flowlet),
    /// Adaptive routing: the unpaused port with the shortest queue, in coarse steps.
    Adaptive(Adaptive),
    /// Valiant routing: through a random third group of a dragonfly (`detours.rs`).
    Valiant,
    /// UGAL-L: through a random third group of a dragonfly if the minimal path has longer queues (`detours.rs`).
    Ugal(Ugal),
}

/// Keys of adaptive routing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Adaptive {
    /// Step size of the comparison of queue lengths: queues in the same step count as equal. A size in bytes, at least "1 B". Default: "8000 B".
    pub quantum: Bytes,
    /// If true, a port whose class is paused is selected only if all compared ports are paused. Default: true.
    pub pause: bool,
    /// If true, the switch compares two ports drawn at random instead of all ports (power of two choices). Default: false.
    pub two_choices: bool,
}

impl Default for Adaptive {
    fn default() -> Adaptive {
        Adaptive { quantum: Bytes::new(8_000), pause: true, two_choices: false }
    }
}

/// Keys of flowlet switching.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Flowlet {
    /// Flowlet gap: idle time of a flow after which its next frame begins a new burst. A time with unit, above 0; frames stay in order if it exceeds the difference in delay between the paths. Required.
    pub gap: Time,
    /// Number of entries in the flowlet table of a switch; flows that share an entry share their bursts. A power of two, 1 to 1048576. Default: 65536 (CONGA, SIGCOMM 2014, section 3.4).
    #[serde(default = "usual_entries")]
    #[schemars(range(min = 1, max = MOST_ENTRIES))]
    pub entries: u64,
}

/// Serializes as the name, or as a table with the keys that differ from their defaults.
impl Serialize for PathChoice {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            PathChoice::Hash(own) if *own != Hashing::USUAL => {
                to.serialize_newtype_variant("PathChoice", 0, "hash", own)
            }
            PathChoice::Flowlet(own) => to.serialize_newtype_variant("PathChoice", 1, "flowlet", own),
            PathChoice::Adaptive(own) => to.serialize_newtype_variant("PathChoice", 2, "adaptive", own),
            PathChoice::Ugal(own) => to.serialize_newtype_variant("PathChoice", 3, "ugal", own),
            plain => {
                let known = PLAIN.into_iter().find(|(choice, _, _)| choice == plain);
                to.serialize_str(known.map_or("hash", |(_, name, _)| name))
            }
        }
    }
}

/// Choices without keys, with their names and descriptions.
const PLAIN: [(PathChoice, &str, &str); 5] = [
    (PathChoice::DModK, "d_mod_k", "D-mod-k: one path per destination, by the digits of its number."),
    (PathChoice::Spray, "spray", "Packet spraying: a random port for each frame."),
    (PathChoice::RoundRobin, "round_robin", "Ports in round-robin order, frame by frame."),
    (
        PathChoice::LeastQueued,
        "least_queued",
        "The port with the fewest bytes queued; ties are broken at random.",
    ),
    (PathChoice::Valiant, "valiant", "Valiant routing: through a random third group of a dragonfly."),
];

impl Choice for PathChoice {
    const EXPECTED: &'static str =
        "the name of a path choice, or a table hash, flowlet, adaptive or ugal with its keys";
    const NAMES: &'static [&'static str] = &[
        "hash",
        "d_mod_k",
        "spray",
        "round_robin",
        "least_queued",
        "flowlet",
        "adaptive",
        "valiant",
        "ugal",
    ];
    const WITH_KEYS: &'static [&'static str] = &["hash", "flowlet", "adaptive", "ugal"];
    const TABLE: &'static str = "switch.path_choice";

    fn plain(name: &str) -> Option<PathChoice> {
        PLAIN.into_iter().find(|(_, known, _)| *known == name).map(|(choice, _, _)| choice)
    }
    fn keyed<'de, D: Deserializer<'de>>(name: &str, table: D) -> Result<PathChoice, D::Error> {
        match name {
            "hash" => Hashing::deserialize(table).map(PathChoice::Hash),
            "adaptive" => Adaptive::deserialize(table).map(PathChoice::Adaptive),
            "ugal" => Ugal::deserialize(table).map(PathChoice::Ugal),
            _ => Flowlet::deserialize(table).map(PathChoice::Flowlet),
        }
    }
}

by_form!(PathChoice);

impl JsonSchema for PathChoice {
    fn schema_name() -> Cow<'static, str> {
        "PathChoice".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let plain = PLAIN.map(|(_, name, about)| (name, about));
        let hash = "ECMP: one path per flow, by a hash of its five-tuple and the switch.";
        let keyed = vec![
            Keyed::new::<Hashing>("hash", hash, generator),
            Keyed::new::<Flowlet>("flowlet", "Flowlet switching: a random port for each burst.", generator),
            Keyed::new::<Adaptive>(
                "adaptive",
                "Adaptive routing: the unpaused port with the shortest queue, in coarse steps.",
                generator,
            ),
            Keyed::new::<Ugal>(
                "ugal",
                "UGAL-L: through a random third group of a dragonfly if the minimal path has longer queues.",
                generator,
            ),
        ];
        keys::schema("Selection among equal-cost paths.", &plain, keyed)
    }
}

impl Default for PathChoice {
    fn default() -> PathChoice {
        PathChoice::HASH
    }
}

fn usual_entries() -> u64 {
    1 << 16
}
/// Maximum number of entries; an entry takes 12 bytes once it is used.
const MOST_ENTRIES: u64 = 1 << 20;

impl PathChoice {
    /// Default ECMP.
    pub const HASH: PathChoice = PathChoice::Hash(Hashing::USUAL);

    /// Hashing of this choice; the default if the choice does not hash.
    pub fn hashing(self) -> Hashing {
        if let PathChoice::Hash(own) = self { own } else { Hashing::USUAL }
    }

    /// Returns true if flows that differ only in their ports may take different paths.
    pub(crate) fn sees_tuples(self) -> bool {
        matches!(self, PathChoice::Hash(_) | PathChoice::Flowlet(_))
    }

    /// Returns true if frames may go over a third group.
    pub fn takes_detours(self) -> bool {
        matches!(self, PathChoice::Valiant | PathChoice::Ugal(_))
    }

    /// Returns true if the path of a flow to a destination is known before the run.
    pub fn is_static(self) -> bool {
        matches!(self, PathChoice::Hash(_) | PathChoice::DModK)
    }

    /// Validates the keys; paths in remarks begin at the name of the choice.
    pub fn check(&self) -> Result<(), Remark> {
        let Flowlet { gap, entries } = match self {
            PathChoice::Hash(own) => return own.check().map_err(|why| why.within("hash")),
            PathChoice::Flowlet(own) => *own,
            PathChoice::Adaptive(own) if own.quantum == Bytes::new(0) => {
                let help = "expected at least \"1 B\", which compares exact queue lengths";
                return Err(Remark::about("quantum", "a quantum of 0 B", help).within("adaptive"));
            }
            _ => return Ok(()),
        };
        if gap == Time::ZERO {
            let help = "expected a time above 0, like \"50 us\"; path_choice = \"spray\" draws a port for each frame";
            let message = "gap is 0: every frame would be a burst of its own";
            return Err(Remark::about("gap", message, help).within("flowlet"));
        }
        if !entries.is_power_of_two() || entries > MOST_ENTRIES {
            let nearest = entries.clamp(1, MOST_ENTRIES).next_power_of_two();
            let help = format!("expected a power of two, 1 to {MOST_ENTRIES}, like {nearest}");
            let message = format!("a flowlet table of {entries} entries");
            return Err(Remark::about("entries", message, help).within("flowlet"));
        }
        Ok(())
    }
}

/// Inputs of a choice other than the candidate ports.
#[derive(Clone, Copy, Debug)]
pub struct Chosen {
    /// The node that chooses.
    pub node: NodeId,
    /// The five-tuple of the flow; the switch hashes some or all of its fields.
    pub flow: Tuple,
    /// The entropy value of the frame; 0 if its sender sets none.
    pub entropy: u16,
    /// The destination of the frame.
    pub destination: NodeId,
    /// The current time.
    pub now: Time,
}

/// Load of a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Bytes queued, plus the rest of the frame in transmission.
    pub bytes: u64,
    /// True if paused frames are queued.
    pub paused: bool,
}

/// The state of a [`PathChoice`] in one node.
#[derive(Clone, Debug)]
pub enum Chooser {
    /// See [`PathChoice::Hash`].
    Hash(Hashing),
    /// See [`PathChoice::Hash`]; with weighted ports.
    WeightedHash(Box<(Hashing, PortWeights)>),
    /// See [`PathChoice::DModK`].
    DModK(Arc<Digits>),
    /// See [`PathChoice::Spray`].
    Spray(Stream),
    /// See [`PathChoice::Spray`]; with weighted ports.
    WeightedSpray(Box<(Stream, PortWeights)>),
    /// See [`PathChoice::RoundRobin`].
    RoundRobin(Turns),
    /// See [`PathChoice::LeastQueued`].
    LeastQueued(Stream),
    /// See [`PathChoice::Flowlet`].
    Flowlet(Box<Flowlets>),
    /// See [`PathChoice::Adaptive`].
    Adaptive(Box<(Adaptive, Stream)>),
    /// See [`PathChoice::Valiant`] and, with its keys, [`PathChoice::Ugal`].
    Detour(Box<(Option<Ugal>, Stream)>),
}

impl Chooser {
    /// Creates the chooser of a node with `lists` lists of candidates, which has its own random stream. `digits` are
    /// those of the fabric's topology, if it has any.
    ///
    /// # Panics
    /// If the number of entries of a flowlet table is not a power of two.
    pub fn new(choice: PathChoice, lists: usize, random: Stream, digits: Option<&Arc<Digits>>) -> Chooser {
        match choice {
            PathChoice::Hash(own) => Chooser::Hash(own),
            PathChoice::DModK => {
                digits.map_or(Chooser::Hash(Hashing::USUAL), |digits| Chooser::DModK(Arc::clone(digits)))
            }
            PathChoice::Spray => Chooser::Spray(random),
            PathChoice::RoundRobin => Chooser::RoundRobin(Turns::new(lists, random)),
            PathChoice::LeastQueued => Chooser::LeastQueued(random),
            PathChoice::Flowlet(spec) => Chooser::Flowlet(Box::new(Flowlets::new(spec, random))),
            PathChoice::Adaptive(own) => Chooser::Adaptive(Box::new((own, random))),
            PathChoice::Valiant => Chooser::Detour(Box::new((None, random))),
            PathChoice::Ugal(own) => Chooser::Detour(Box::new((Some(own), random))),
        }
    }

    /// Adds the weights of the node's ports, if the choice uses them.
    pub(crate) fn weighted(self, weights: Option<PortWeights>) -> Chooser {
        match (self, weights) {
            (Chooser::Hash(own), Some(weights)) => Chooser::WeightedHash(Box::new((own, weights))),
            (Chooser::Spray(random), Some(weights)) => Chooser::WeightedSpray(Box::new((random, weights))),
            (Chooser::Flowlet(own), weights) => Chooser::Flowlet(Box::new(Flowlets { weights, ..*own })),
            (own, _) => own,
        }
    }

    /// Selects one of the candidates; `None` if there is none. `backlog` returns the load of a port.
    #[inline]
    pub fn pick(
        &mut self,
        from: Candidates,
        frame: Chosen,
        backlog: impl Fn(PortId) -> Backlog,
    ) -> Option<PortId> {
        let ports = from.ports;
        if ports.len() < 2 {
            return ports.first().copied();
        }
        Some(match self {
            Chooser::Hash(own) => ports[scale(own.of_frame(&frame), ports.len())],
            Chooser::WeightedHash(own) => own.1.choose(ports, own.0.of_frame(&frame)),
            Chooser::DModK(digits) => {
                ports[digits.place(frame.node, frame.destination, ports.len()).unwrap_or(0)]
            }
            Chooser::Spray(random) => draw(ports, random),
            Chooser::WeightedSpray(own) => own.1.choose(ports, own.0.next_u64()),
            Chooser::RoundRobin(turns) => turns.next(from),
            Chooser::LeastQueued(random) => least(ports, random, |port| backlog(port).bytes),
            Chooser::Flowlet(flowlets) => flowlets.pick(ports, frame),
            Chooser::Adaptive(own) => own.0.pick(ports, &mut own.1, backlog),
            Chooser::Detour(own) if own.0.is_none() => draw(ports, &mut own.1),
            Chooser::Detour(own) => least(ports, &mut own.1, |port| backlog(port).bytes),
        })
    }

    /// Bytes of heap memory.
    pub fn memory_bytes(&self) -> usize {
        match self {
            Chooser::RoundRobin(turns) => turns.next.capacity() * size_of::<u32>(),
            Chooser::Flowlet(flowlets) => {
                let entry = size_of::<u64>() + size_of::<u32>();
                let weights = flowlets.weights.as_ref().map_or(0, PortWeights::memory_bytes);
                size_of::<Flowlets>() + flowlets.seen_at.capacity() * entry + weights
            }
            Chooser::WeightedHash(own) => size_of::<Hashing>() + own.1.memory_bytes(),
            Chooser::WeightedSpray(own) => size_of::<Stream>() + own.1.memory_bytes(),
            Chooser::Adaptive(_) => size_of::<(Adaptive, Stream)>(),
            Chooser::Detour(_) => size_of::<(Option<Ugal>, Stream)>(),
            Chooser::Hash(_) | Chooser::DModK(_) | Chooser::Spray(_) | Chooser::LeastQueued(_) => 0,
        }
    }
}

/// Draws a port at random. Since ports are few, the draw is uniform to within 2^-48.
#[inline]
fn draw(ports: &[PortId], random: &mut Stream) -> PortId {
    ports[scale(random.next_u64(), ports.len())]
}

impl Adaptive {
    fn pick(&self, ports: &[PortId], random: &mut Stream, backlog: impl Fn(PortId) -> Backlog) -> PortId {
        // A paused port counts as longer than any other.
        let length = |port: PortId| {
            let Backlog { bytes, paused } = backlog(port);
            (bytes / self.quantum.get()) | (u64::from(self.pause && paused) << 63)
        };
        if !self.two_choices {
            return least(ports, random, length);
        }
        let first = scale(random.next_u64(), ports.len());
        let other = (first + 1 + scale(random.next_u64(), ports.len() - 1)) % ports.len();
        let [first, other] = [ports[first], ports[other]];
        if length(other) < length(first) { other } else { first }
    }
}

/// Returns the port with the minimum backlog, drawn at random among equal ones.
fn least(ports: &[PortId], random: &mut Stream, backlog: impl Fn(PortId) -> u64) -> PortId {
    let (mut least, mut equals, mut first) = (u64::MAX, 0, ports[0]);
    for &port in ports {
        let bytes = backlog(port);
        if bytes < least || equals == 0 {
            (least, equals, first) = (bytes, 1, port);
        } else if bytes == least {
            equals += 1;
        }
    }
    if equals == 1 {
        return first;
    }
    let drawn = scale(random.next_u64(), equals);
    ports.iter().copied().filter(|&port| backlog(port) == least).nth(drawn).unwrap_or(first)
}

/// Round-robin state: for each list of a node, the index of the next port.
#[derive(Clone, Debug)]
pub struct Turns {
    next: Vec<u32>,
}

impl Turns {
    /// Draws the starts. A start beyond the end of its list is reduced when the list is first used.
    fn new(lists: usize, mut random: Stream) -> Turns {
        Turns { next: (0..lists).map(|_| (random.next_u64() >> 32) as u32).collect() }
    }

    #[inline]
    fn next(&mut self, from: Candidates) -> PortId {
        let count = from.ports.len() as u32;
        let next = &mut self.next[from.list];
        if *next >= count {
            *next %= count;
        }
        let port = from.ports[*next as usize];
        *next = if *next + 1 == count { 0 } else { *next + 1 };
        port
    }
}

/// A flowlet table. Its memory is allocated zeroed, and the system provides pages as entries are used.
#[derive(Clone, Debug)]
pub struct Flowlets {
    gap: Time,
    random: Stream,
    /// Number of high bits of the hash that form the index.
    index_bits: u32,
    /// By entry, time of the last frame in picoseconds.
    seen_at: Vec<u64>,
    /// By entry, the port of the flowlet plus 1; 0 if unused.
    port: Vec<u32>,
    /// Weights of the ports; `None` if all are equally likely.
    weights: Option<PortWeights>,
}

impl Flowlets {
    fn new(spec: Flowlet, random: Stream) -> Flowlets {
        assert!(spec.entries.is_power_of_two(), "{} entries are not a power of two", spec.entries);
        let entries = spec.entries as usize;
        let index_bits = spec.entries.trailing_zeros();
        let (seen_at, port) = (vec![0; entries], vec![0; entries]);
        Flowlets { gap: spec.gap, random, index_bits, seen_at, port, weights: None }
    }

    #[inline]
    fn pick(&mut self, ports: &[PortId], frame: Chosen) -> PortId {
        let hash = mix_in(frame.flow.all, frame.node);
        let entry = hash.checked_shr(u64::BITS - self.index_bits).unwrap_or(0) as usize;
        let since = frame.now.ps() - self.seen_at[entry];
        let last = PortId(self.port[entry].wrapping_sub(1));
        let goes_on = since < self.gap.ps() && ports.contains(&last);
        let port = match &self.weights {
            _ if goes_on => last,
            None => draw(ports, &mut self.random),
            Some(weights) => weights.choose(ports, self.random.next_u64()),
        };
        self.seen_at[entry] = frame.now.ps();
        self.port[entry] = port.0 + 1;
        port
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::forwarding::ForwardingTable;
    use crate::spec::routing::{Routes, Wiring};
    use crate::spec::topology::{Cable, LeafSpine, NodeRole, Shape};
    use engine::stream;
    use proptest::prelude::*;
    use units::BitRate;

    const SPREADING: [PathChoice; 6] = [
        PathChoice::Spray,
        PathChoice::RoundRobin,
        PathChoice::LeastQueued,
        flowlet(Time::from_us(1), 64),
        adaptive(true, false),
        adaptive(false, true),
    ];

    const fn adaptive(pause: bool, two_choices: bool) -> PathChoice {
        PathChoice::Adaptive(Adaptive { quantum: Bytes::new(1_000), pause, two_choices })
    }

    /// Ports whose queues are in one step are equally likely, and a paused port is the last resort.
    #[test]
    fn adaptive_routing_compares_steps_and_pauses() {
        let list = ports(0, 4);
        let from = Candidates { ports: &list, list: 0 };
        let of = |bytes: [u64; 4], paused: [bool; 4]| {
            move |port: PortId| Backlog { bytes: bytes[port.at()], paused: paused[port.at()] }
        };
        let none = [false; 4];
        let picks = |choice: PathChoice, bytes: [u64; 4], paused: [bool; 4]| -> [u32; 4] {
            let (mut chooser, mut counts) = (chooser(choice), [0; 4]);
            (0..4_000)
                .for_each(|n| counts[chooser.pick(from, at(n, 1), of(bytes, paused)).unwrap().at()] += 1);
            counts
        };
        let all = picks(adaptive(true, false), [999, 0, 1_000, 5_000], none);
        assert!(all[0] > 1_800 && all[1] > 1_800 && all[2..] == [0, 0], "{all:?}");
        // With the shortest queue paused.
        let paused = picks(adaptive(true, false), [9_000, 0, 9_500, 20_000], [false, true, false, false]);
        assert!(paused[0] > 1_800 && paused[2] > 1_800 && paused[1] == 0, "{paused:?}");
        let ignoring_pauses =
            picks(adaptive(false, false), [9_000, 0, 9_500, 20_000], [false, true, false, false]);
        assert_eq!(ignoring_pauses, [0, 4_000, 0, 0]);
        // Of two choices, the longest queue is never selected, since it is always compared with another one.
        let two = picks(adaptive(true, true), [0, 10_000, 20_000, 30_000], none);
        assert!(two[0] > two[1] && two[1] > two[2] && two[3] == 0, "{two:?}");
    }

    const fn flowlet(gap: Time, entries: u64) -> PathChoice {
        PathChoice::Flowlet(Flowlet { gap, entries })
    }

    fn chooser(choice: PathChoice) -> Chooser {
        Chooser::new(choice, 2, stream(7, "node/s/path_choice"), None)
    }

    fn at(us: u64, flow: u64) -> Chosen {
        Chosen {
            node: NodeId(3),
            flow: flow.into(),
            entropy: 0,
            destination: NodeId(0),
            now: Time::from_us(us),
        }
    }

    fn ports(first: u32, count: u32) -> Vec<PortId> {
        (first..first + count).map(PortId).collect()
    }

    /// Pearson's statistic of counts that should be equal.
    fn chi_square(counts: &[u64]) -> f64 {
        let expected = counts.iter().sum::<u64>() as f64 / counts.len() as f64;
        counts.iter().map(|&count| (count as f64 - expected).powi(2) / expected).sum()
    }

    /// The 99.9 % quantile for 7 degrees of freedom.
    const CHI_SQUARE_7: f64 = 24.32;

    #[test]
    fn a_hash_chooses_as_paths_do() {
        let eight = ports(40, 8);
        let mut chooser = chooser(PathChoice::HASH);
        for flow in 0..1_000 {
            let from = Candidates { ports: &eight, list: 0 };
            let port = chooser.pick(from, at(flow, flow), |_| Backlog::default()).unwrap();
            assert_eq!(port, eight[Hashing::USUAL.choose(8, &flow.into(), NodeId(3))]);
        }
    }

    #[test]
    fn loads_are_equal() {
        let eight = ports(40, 8);
        for choice in SPREADING {
            let (mut chooser, mut sent) = (chooser(choice), [0u64; 8]);
            // A single flow with pauses longer than the gap, on ports that are always empty.
            for frame in 0..80_000 {
                let from = Candidates { ports: &eight, list: 1 };
                let port = chooser.pick(from, at(2 * frame, 5), |_| Backlog::default()).unwrap();
                sent[port.at() - 40] += 1;
            }
            assert!(chi_square(&sent) < CHI_SQUARE_7, "{choice:?}: {sent:?}");
            // Counts that are too equal would be wrong for random draws: 99.9 % of the cases are above 0.6.
            if choice == PathChoice::RoundRobin {
                assert_eq!(sent, [10_000; 8]);
            } else {
                assert!(chi_square(&sent) > 0.6, "{choice:?}: {sent:?}");
            }
        }
    }

    #[test]
    fn least_queued_keeps_the_queues_level() {
        let eight = ports(0, 8);
        let mut chooser = chooser(PathChoice::LeastQueued);
        let (mut bytes, mut lengths) = ([0u64; 8], stream(7, "lengths"));
        for frame in 0..10_000 {
            let from = Candidates { ports: &eight, list: 0 };
            let port = chooser
                .pick(from, at(frame, frame), |port| Backlog { bytes: bytes[port.at()], paused: false })
                .unwrap();
            assert_eq!(bytes[port.at()], *bytes.iter().min().unwrap());
            bytes[port.at()] += 64 + lengths.next_u64() % 1459;
        }
        assert!(bytes.iter().max().unwrap() - bytes.iter().min().unwrap() <= 1522, "{bytes:?}");
        // Ports with a backlog of `u64::MAX` are selected like others.
        let from = Candidates { ports: &eight, list: 0 };
        assert!(chooser.pick(from, at(0, 0), |_| Backlog { bytes: u64::MAX, paused: false }).is_some());
    }

    #[test]
    fn each_list_has_its_own_turn() {
        let (low, high) = (ports(0, 2), ports(1, 3));
        let mut chooser = chooser(PathChoice::RoundRobin);
        let mut sent = [[0u64; 4]; 2];
        for frame in 0..600 {
            for (list, ports) in [&low, &high].into_iter().enumerate() {
                let port =
                    chooser.pick(Candidates { ports, list }, at(frame, 1), |_| Backlog::default()).unwrap();
                sent[list][port.at()] += 1;
            }
        }
        assert_eq!(sent, [[300, 300, 0, 0], [0, 200, 200, 200]]);
    }

    #[test]
    fn nodes_begin_their_turns_apart() {
        let eight = ports(0, 8);
        let mut first = [0u64; 8];
        for node in 0..8_000 {
            let random = stream(1, &format!("node/s{node}/path_choice"));
            let mut chooser = Chooser::new(PathChoice::RoundRobin, 1, random, None);
            let from = Candidates { ports: &eight, list: 0 };
            first[chooser.pick(from, at(0, 1), |_| Backlog::default()).unwrap().at()] += 1;
        }
        assert!(chi_square(&first) < CHI_SQUARE_7, "{first:?}");
    }

    #[test]
    fn without_a_choice_nothing_is_drawn() {
        let (one, eight) = (ports(9, 1), ports(40, 8));
        for choice in SPREADING {
            let (mut plain, mut disturbed) = (chooser(choice), chooser(choice));
            for frame in 0..100 {
                let alone = Candidates { ports: &one, list: 0 };
                assert_eq!(
                    disturbed.pick(alone, at(10 * frame + 5, 1), |_| Backlog::default()),
                    Some(PortId(9))
                );
                let nothing = Candidates { ports: &[], list: 0 };
                assert_eq!(disturbed.pick(nothing, at(10 * frame + 5, 1), |_| Backlog::default()), None);
                let from = Candidates { ports: &eight, list: 1 };
                let (a, b) = (at(10 * frame + 9, 1), at(10 * frame + 9, 1));
                assert_eq!(
                    plain.pick(from, a, |_| Backlog::default()),
                    disturbed.pick(from, b, |_| Backlog::default())
                );
            }
        }
    }

    #[test]
    fn a_flowlet_ends_with_its_gap_and_not_before() {
        let eight = ports(40, 8);
        let gap = Time::from_us(10);
        let mut chooser = chooser(flowlet(gap, 1 << 10));
        let mut pick = |now: Time| {
            let frame = Chosen { node: NodeId(3), flow: 99.into(), entropy: 0, destination: NodeId(0), now };
            chooser.pick(Candidates { ports: &eight, list: 0 }, frame, |_| Backlog::default()).unwrap()
        };
        let mut now = Time::ZERO;
        let first = pick(now);
        for _ in 0..1_000 {
            now += gap - Time::from_ps(1);
            assert_eq!(pick(now), first);
        }
        let mut moved = 0;
        let mut last = first;
        for _ in 0..8_000 {
            now += gap;
            let port = pick(now);
            moved += u64::from(port != last);
            last = port;
        }
        // Seven of eight draws change the port; the standard deviation is 30.
        assert!((6_880..=7_120).contains(&moved), "{moved}");
    }

    #[test]
    fn flows_share_entries_as_often_as_documented() {
        // 400 flows in 4,096 entries: each shares its entry with probability 1 - (1 - 1/4096)^399, 9.3 %.
        let mut shared = 0;
        for node in 0..50 {
            let entry = |flow: u64| mix_in(flow, NodeId(node)) >> (64 - 12);
            let mut used: Vec<u64> = (0..400).map(entry).collect();
            used.sort_unstable();
            shared +=
                used.chunk_by(|a, b| a == b).filter(|same| same.len() > 1).map(<[u64]>::len).sum::<usize>();
        }
        let expected = 50.0 * 400.0 * (1.0 - (1.0 - 1.0 / 4096.0f64).powi(399));
        // Sharing comes in pairs, so the standard deviation is about that of 930 pairs, twice 30.
        assert!((shared as f64 - expected).abs() < 4.0 * 61.0, "{shared} instead of {expected:.0}");
    }

    #[test]
    #[should_panic(expected = "48 entries are not a power of two")]
    fn entries_are_a_power_of_two() {
        chooser(flowlet(Time::from_us(1), 48));
    }

    #[test]
    fn spraying_over_eight_spines_loads_them_equally() {
        let cable = Cable::new(BitRate::from_gbps(10), Time::from_us(1));
        let leaf_spine = LeafSpine::new(2, 8, 4, None, cable);
        let graph = leaf_spine.graph().unwrap();
        let ends: Vec<(NodeId, NodeId)> = graph.links.iter().map(|link| (link.a, link.b)).collect();
        let wiring = Wiring::new(graph.nodes.len(), &ends);
        let routes = Routes::new(&wiring, |node| graph.nodes[node.at()].role == NodeRole::Host);
        let table = ForwardingTable::new(&routes, graph.hosts());
        let hosts: Vec<NodeId> = graph.hosts().collect();
        for choice in SPREADING {
            let mut choosers: Vec<Chooser> = (0..graph.nodes.len() as u32)
                .map(|node| {
                    let random = stream(3, &graph.nodes[node as usize].name);
                    Chooser::new(choice, table.lists(NodeId(node)), random, None)
                })
                .collect();
            let mut passed = vec![0u64; graph.nodes.len()];
            for frame in 0..40_000u64 {
                let (from, to) = (hosts[(frame % 4) as usize], hosts[4 + (frame / 4 % 4) as usize]);
                let mut node = from;
                while node != to {
                    passed[node.at()] += 1;
                    let (flow, destination) = (frame % 16, NodeId(0));
                    let chosen = Chosen {
                        node,
                        flow: flow.into(),
                        entropy: 0,
                        destination,
                        now: Time::from_us(frame),
                    };
                    let chooser = &mut choosers[node.at()];
                    let port = chooser.pick(table.lookup(node, to), chosen, |_| Backlog::default()).unwrap();
                    node = wiring.neighbour(port);
                }
            }
            let spines = graph.switches().filter(|spine| {
                !wiring
                    .ports(*spine)
                    .any(|port| graph.nodes[wiring.neighbour(port).at()].role == NodeRole::Host)
            });
            let loads: Vec<u64> = spines.map(|spine| passed[spine.at()]).collect();
            assert_eq!((loads.len(), loads.iter().sum()), (8, 40_000));
            assert!(chi_square(&loads) < CHI_SQUARE_7, "{choice:?}: {loads:?}");
        }
    }

    /// Returns true if frames of each flow arrive in the order of sending, over ports with these delays. Each frame is
    /// a time since the previous one in nanoseconds, and a flow.
    fn in_order(gap: Time, entries: u32, delays: &[u64], frames: &[(u64, u64)]) -> bool {
        let list = ports(0, delays.len() as u32);
        let mut chooser = chooser(flowlet(gap, entries.into()));
        let (mut now, mut latest) = (Time::ZERO, [Time::ZERO; 4]);
        frames.iter().all(|&(since, flow)| {
            now += Time::from_ns(since);
            let frame =
                Chosen { node: NodeId(3), flow: flow.into(), entropy: 0, destination: NodeId(0), now };
            let port =
                chooser.pick(Candidates { ports: &list, list: 0 }, frame, |_| Backlog::default()).unwrap();
            let arrives = now + Time::from_ns(delays[port.at()]);
            let in_order = arrives >= latest[flow as usize];
            latest[flow as usize] = arrives;
            in_order
        })
    }

    #[test]
    fn a_gap_below_the_spread_gets_frames_out_of_order() {
        let frames: Vec<(u64, u64)> = (0..100).map(|_| (50, 0)).collect();
        assert!(!in_order(Time::from_ns(40), 64, &[0, 1_000], &frames));
        assert!(in_order(Time::from_ns(1_001), 64, &[0, 1_000], &frames));
    }

    proptest! {
        /// Holds for any arrivals, even if flows share entries of the table.
        #[test]
        fn flowlets_keep_order_if_the_gap_exceeds_the_spread(
            delays in proptest::collection::vec(0u64..2_000, 2..9),
            frames in proptest::collection::vec((0u64..3_000, 0u64..4), 1..400),
            index_bits in 0u32..7,
        ) {
            let spread = delays.iter().max().unwrap() - delays.iter().min().unwrap();
            prop_assert!(in_order(Time::from_ns(spread + 1), 1 << index_bits, &delays, &frames));
        }

        #[test]
        fn what_is_picked_is_a_candidate(
            lists in proptest::collection::vec(proptest::collection::btree_set(0u32..50, 0..9), 2..3),
            frames in proptest::collection::vec((0u64..5, 0u64..9, 0usize..2, any::<u32>()), 0..200),
        ) {
            let lists: Vec<Vec<PortId>> =
                lists.iter().map(|list| list.iter().map(|&port| PortId(port)).collect()).collect();
            for choice in SPREADING.into_iter().chain([PathChoice::HASH]) {
                let (mut first, mut second) = (chooser(choice), chooser(choice));
                let mut now = 0;
                for &(since, flow, list, load) in &frames {
                    now += since;
                    let from = Candidates { ports: &lists[list], list };
                    let backlog = |port: PortId| Backlog {
                        bytes: u64::from(load >> (port.0 % 32) & 3),
                        paused: load >> (port.0 % 29) & 1 != 0,
                    };
                    let port = first.pick(from, at(now, flow), backlog);
                    prop_assert_eq!(port, second.pick(from, at(now, flow), backlog));
                    prop_assert_eq!(port.is_none(), lists[list].is_empty());
                    prop_assert!(port.is_none_or(|port| lists[list].contains(&port)));
                }
            }
        }
    }
}
