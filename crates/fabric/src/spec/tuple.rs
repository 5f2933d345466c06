//! The hash input of switches: the five-tuple of a flow, or some of its fields.
//!
//! The addresses are the numbers of the two hosts. The protocol is TCP for flows with answers, and UDP for pushed
//! frames. The ports are configured, or drawn for each transfer (`ways`). A flow without configured ports has a hash of
//! its name in their place: two such flows between the same hosts have different tuples.
//!
//! Each switch mixes a seed into the hash. By default, the seed is the number of the switch, so that the choices of
//! successive tiers are independent. With equal seeds, switches make correlated choices: each switch of the second tier
//! receives only flows with correlated hashes, and uses only a part of its ports (polarisation).
//!
//! Source: RFC 2992, section 2 (hash of the fields that name a flow); RFC 6438 and RFC 7348, section 5 (the source port
//! as entropy); Zhang et al., Hashing linearity enables relative path control in data centers (USENIX ATC 2021, section
//! 2: seeds and polarisation).
//!
//! Not modelled: the polynomials of chips, which are linear: seeds and fields of other tiers can cancel out in them.

use crate::spec::choice::Chosen;
use crate::spec::routing::{mix, mix_in, scale};
use crate::spec::weights::Weights;
use crate::spec::{FlowSpec, NodeSpec, Spec};
use engine::stream;
use frame::{NodeId, Ports};
use keys::Remark;
use rand_xoshiro::rand_core::Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Field of the five-tuple that a switch hashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Field {
    /// Address of the sender.
    Source,
    /// Address of the receiver.
    Destination,
    /// Protocol: UDP or TCP.
    Protocol,
    /// Source port.
    SourcePort,
    /// Destination port.
    DestinationPort,
}

const FIELDS: [Field; 5] =
    [Field::Source, Field::Destination, Field::Protocol, Field::SourcePort, Field::DestinationPort];

/// A set of fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "Vec<Field>", into = "Vec<Field>")]
pub struct Fields(u8);

impl Fields {
    /// The five-tuple.
    pub const ALL: Fields = Fields((1 << FIELDS.len()) - 1);

    fn has(self, field: Field) -> bool {
        self.0 >> field as u8 & 1 != 0
    }
}

impl TryFrom<Vec<Field>> for Fields {
    type Error = String;
    fn try_from(fields: Vec<Field>) -> Result<Fields, String> {
        let set = fields.iter().fold(0u8, |set, &field| set | 1 << field as u8);
        if set.count_ones() as usize != fields.len() {
            return Err("a field is named twice".into());
        }
        Ok(Fields(set))
    }
}

impl From<Fields> for Vec<Field> {
    fn from(fields: Fields) -> Vec<Field> {
        FIELDS.into_iter().filter(|&field| fields.has(field)).collect()
    }
}

fn all_fields() -> Fields {
    Fields::ALL
}

/// Hash by which a switch selects among equal-cost paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Hashing {
    /// Hashed fields: a non-empty list of "source", "destination" (the two hosts), "protocol" (UDP for open-loop sources, TCP for closed-loop sources), "source_port" and "destination_port". Default: all five (RFC 2992, section 2; RFC 6438).
    #[serde(default = "all_fields")]
    #[schemars(with = "Vec<Field>")]
    pub fields: Fields,
    /// Hash seed of the switch, in addition to `path_seed`, which all switches share. Switches of successive tiers with the same seed make the same choices (polarisation). A whole number, 0 to 9223372036854775807. Default: a different seed for each switch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 9223372036854775807u64))]
    pub seed: Option<u64>,
}

impl Hashing {
    /// The default: the five-tuple, and a different seed for each switch.
    pub const USUAL: Hashing = Hashing { fields: Fields::ALL, seed: None };

    /// Checks the hashed fields.
    ///
    /// # Errors
    /// If there are none.
    pub fn check(&self) -> Result<(), Remark> {
        if self.fields == Fields(0) {
            let help = "expected at least one, like [\"source\", \"destination\"]";
            return Err(Remark::about("fields", "no fields: all flows would take one path", help));
        }
        Ok(())
    }

    /// Returns the hash of a tuple at a node.
    #[inline]
    pub(crate) fn of(&self, tuple: &Tuple, node: NodeId) -> u64 {
        let hash = if self.fields == Fields::ALL { tuple.all } else { tuple.of(self.fields) };
        match self.seed {
            None => mix_in(hash, node),
            Some(seed) => mix(hash ^ mix(seed.wrapping_add(0xD1B5_4A32_D192_ED03))),
        }
    }

    /// Returns the hash of a frame: that of its tuple, with its entropy value in place of the source port, as in RoCEv2
    /// and Ultra Ethernet. The entropy value has no effect at a switch that does not hash source ports.
    #[inline]
    pub(crate) fn of_frame(&self, frame: &Chosen) -> u64 {
        let hash = self.of(&frame.flow, frame.node);
        if frame.entropy == 0 || !self.fields.has(Field::SourcePort) {
            return hash;
        }
        mix(hash ^ mix(u64::from(frame.entropy)))
    }

    /// Returns the index of one of `candidates`, with equal probabilities over tuples.
    #[inline]
    pub(crate) fn choose(&self, candidates: usize, tuple: &Tuple, node: NodeId) -> usize {
        scale(self.of(tuple, node), candidates)
    }
}

/// The hashing of a node, and the weights by which its ports divide the hash range.
#[derive(Clone, Debug, Default)]
pub struct NodeHashing {
    pub(crate) hashing: Hashing,
    /// Weights of neighbours; `None` if all are equal.
    pub(crate) weights: Option<Arc<Weights>>,
}

impl Default for Hashing {
    fn default() -> Hashing {
        Hashing::USUAL
    }
}

/// The five-tuple of a flow to one destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tuple {
    /// The hash of all fields.
    pub(crate) all: u64,
    /// `path_seed`, mixed: the initial value of the hash of some fields.
    salt: u64,
    source: NodeId,
    destination: NodeId,
    /// Ports; `None` if none are configured.
    ports: Option<Ports>,
    is_tcp: bool,
}

/// Creates a tuple of which only the hash is known.
impl From<u64> for Tuple {
    fn from(all: u64) -> Tuple {
        Tuple { all, salt: 0, source: NodeId(0), destination: NodeId(0), ports: None, is_tcp: false }
    }
}

impl Tuple {
    /// The hash of some fields.
    fn of(&self, fields: Fields) -> u64 {
        let port = |which: fn(Ports) -> u16| self.ports.map_or(self.all, |ports| which(ports).into());
        let value = |field: Field| -> u64 {
            match field {
                Field::Source => self.source.0.into(),
                Field::Destination => self.destination.0.into(),
                Field::Protocol if self.is_tcp => 6,
                Field::Protocol => 17,
                Field::SourcePort => port(|ports| ports.source),
                // A service has a well-known port; only the sender's port is drawn.
                Field::DestinationPort => self.ports.unwrap_or_default().or_drawn(0).destination.into(),
            }
        };
        let hashed = FIELDS.into_iter().filter(|&field| fields.has(field));
        hashed.fold(self.salt, |hash, field| mix(hash ^ mix(value(field) | (field as u64 + 1) << 32)))
    }

    /// Returns this tuple with these ports.
    pub(crate) fn with_ports(self, ports: Ports) -> Tuple {
        let known = Tuple { ports: Some(ports), ..self };
        Tuple { all: known.of(Fields::ALL), ..known }
    }

    /// Returns this tuple with another destination, for a flow whose paths are not listed.
    #[inline]
    pub(crate) fn towards(self, node: NodeId) -> Tuple {
        let to = Tuple { destination: node, ..self };
        match self.ports {
            Some(ports) => to.with_ports(ports),
            None => Tuple { all: mix_in(self.all, node), ..to },
        }
    }
}

impl Spec {
    /// Returns the tuple that switches hash for frames to the n-th destination of a flow; `None`: to any destination,
    /// if paths are not listed.
    pub(crate) fn tuple(&self, flow: &FlowSpec, nth: Option<u32>) -> Tuple {
        if let Some(known) = nth.and_then(|nth| flow.tuples.get(nth as usize)) {
            return *known;
        }
        let destination = match nth {
            // A multicast frame follows one path as far as possible.
            Some(_) if flow.source.destinations.are_all_meant() => flow.source.destinations.nth(0),
            Some(nth) => flow.source.destinations.nth(nth),
            None => flow.from,
        };
        let to = &self.nodes[destination.at()].name;
        let drawn = Tuple {
            all: stream(self.path_seed, &format!("route/{}/{to}", flow.name)).next_u64(),
            salt: mix(self.path_seed.wrapping_add(0x2545_F491_4F6C_DD1D)),
            source: flow.from,
            destination,
            ports: None,
            is_tcp: flow.transport.as_ref().is_some_and(|own| !own.is_frames()),
        };
        flow.ports.map_or(drawn, |ports| drawn.with_ports(ports))
    }

    /// Hashing of each node.
    pub(crate) fn hashing(&self) -> Vec<NodeHashing> {
        let of_node = |node: &NodeSpec| {
            let Some(own) = node.switch() else { return NodeHashing::default() };
            let weights = (!own.weights.are_equal()).then(|| Arc::clone(&own.weights));
            NodeHashing { hashing: own.path_choice.hashing(), weights }
        };
        self.nodes.iter().map(of_node).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tuple(source: u16) -> Tuple {
        Tuple { source: NodeId(3), destination: NodeId(8), ..Tuple::from(0) }
            .with_ports(Ports { source, destination: 9 })
    }

    fn chi_square(counts: &[u64]) -> f64 {
        let expected = counts.iter().sum::<u64>() as f64 / counts.len() as f64;
        counts.iter().map(|&count| (count as f64 - expected).powi(2) / expected).sum()
    }

    #[test]
    fn tuples_spread_evenly_over_any_fields_that_differ() {
        // Consecutive ports are the hardest case. With 15 degrees of freedom, 99.9 % of the cases are below 37.7.
        for fields in [Fields::ALL, Fields::try_from(vec![Field::SourcePort]).unwrap()] {
            for seed in [None, Some(0), Some(7)] {
                let hashing = Hashing { fields, seed };
                let mut counts = [0u64; 16];
                for port in 20_000..30_000 {
                    counts[hashing.choose(16, &tuple(port), NodeId(1))] += 1;
                }
                assert!(chi_square(&counts) < 37.7, "{hashing:?}: {counts:?}");
            }
        }
    }

    #[test]
    fn fields_that_are_not_hashed_change_nothing() {
        let hosts = Hashing {
            fields: Fields::try_from(vec![Field::Source, Field::Destination]).unwrap(),
            seed: None,
        };
        let of = |tuple: &Tuple| hosts.of(tuple, NodeId(1));
        assert_eq!(of(&tuple(1)), of(&tuple(2)));
        assert_ne!(of(&tuple(1)), of(&Tuple { destination: NodeId(9), ..tuple(1) }));
        assert_eq!(of(&tuple(1)), of(&Tuple { is_tcp: true, ..tuple(1) }));
        assert_ne!(Hashing::USUAL.of(&tuple(1), NodeId(1)), Hashing::USUAL.of(&tuple(2), NodeId(1)));
    }

    #[test]
    fn one_seed_is_one_choice_at_all_switches() {
        let choices = |seed: [Option<u64>; 2]| {
            let [first, second] = seed.map(|seed| Hashing { seed, ..Hashing::USUAL });
            let agree = |port: &u16| {
                let tuple = tuple(*port);
                first.choose(4, &tuple, NodeId(1)) == second.choose(4, &tuple, NodeId(2))
            };
            (1..=10_000).filter(agree).count()
        };
        assert_eq!(choices([Some(5), Some(5)]), 10_000);
        // One in four; the standard deviation is 43.
        for seeds in [[None, None], [Some(5), Some(6)], [None, Some(5)]] {
            assert!((2_350..2_650).contains(&choices(seeds)), "{seeds:?}");
        }
    }

    #[test]
    fn fields_are_named_once() {
        assert!(Fields::try_from(vec![Field::Source, Field::Source]).is_err());
        assert_eq!(Vec::from(Fields::ALL), FIELDS);
        assert!(Hashing { fields: Fields(0), seed: None }.check().is_err());
    }
}
