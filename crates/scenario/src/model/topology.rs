//! `[topology.KIND]`: the shape of the fabric and its links.

use flow_control::phy::PhyName;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitRate, Bytes, Length, LineCode, Time};

/// The line overhead of Ethernet: preamble and start delimiter (8 B), shortest gap (12 B).
fn ethernet_overhead() -> Bytes {
    Bytes::new(frame::LINE_OVERHEAD_BYTES)
}
fn no_time() -> Time {
    Time::ZERO
}
fn one_link() -> u64 {
    1
}
/// The cable of a rack.
pub(crate) const DEFAULT_LENGTH: Length = Length::from_m(2);

/// The shape of the fabric: exactly one of these.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Topology {
    /// One switch `sw` with hosts `h0`, `h1`, ... around it.
    Star(Star),
    /// Two switches `left` and `right` with one link between them, hosts `l0`, ... and `r0`, ...
    Dumbbell(Dumbbell),
    /// Switches `sw0`, `sw1`, ... in a row; hosts `h{switch}.{i}`.
    Chain(Chain),
    /// Switches `sw0`, `sw1`, ... in a ring; hosts `h{switch}.{i}`.
    Ring(Ring),
    /// Leaves `leaf0`, ..., each linked to each of the spines `spine0`, ...; hosts `h0`, ... numbered across the leaves.
    LeafSpine(LeafSpine),
    /// The three-level fat tree of k-port switches (Al-Fares et al. 2008): `core0`, ..., `agg{pod}.{i}`, `edge{pod}.{i}`; hosts `h0`, ... in order.
    FatTree(FatTree),
    /// The k-ary n-tree (Petrini and Vanneschi 1997): switches `s{level}.{i}`, k^n hosts `h0`, ...
    NTree(NTree),
    /// Named hosts and switches, and each link.
    Explicit(Explicit),
}

impl Topology {
    /// What all links of a named topology are.
    pub(crate) fn link(&self) -> Option<LinkText> {
        match self {
            Topology::Star(it) => Some(it.link()),
            Topology::Dumbbell(it) => Some(it.link()),
            Topology::Chain(it) => Some(it.link()),
            Topology::Ring(it) => Some(it.link()),
            Topology::LeafSpine(it) => Some(it.link()),
            Topology::FatTree(it) => Some(it.link()),
            Topology::NTree(it) => Some(it.link()),
            Topology::Explicit(_) => None,
        }
    }
    /// The line code of each of so many links.
    pub(crate) fn line_codes(&self, links: usize) -> Vec<Option<LineCode>> {
        let row = |link: &ExplicitLink| {
            std::iter::repeat_n(link.line_code, usize::try_from(link.count).unwrap_or(0))
        };
        match self {
            Topology::Explicit(it) => it.links.iter().flat_map(row).collect(),
            named => vec![named.link().and_then(|link| link.line_code); links],
        }
    }
}

/// What a rate that is written down leaves for data.
pub(crate) fn data_rate(rate: BitRate, line_code: Option<LineCode>) -> BitRate {
    line_code.map_or(rate, |code| code.data_rate(rate))
}

/// Rate, delay and overhead of links, as written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkText {
    /// Rate in each direction.
    pub rate: BitRate,
    /// What makes it a signalling rate.
    pub line_code: Option<LineCode>,
    /// One-way delay of the cable.
    pub delay: Option<Time>,
    /// Length of the cable.
    pub length: Option<Length>,
    /// Delay of the two interfaces together.
    pub interface_delay: Time,
    /// What gives that delay otherwise.
    pub phy: Option<PhyName>,
    /// Bytes around each frame.
    pub overhead: Bytes,
}

macro_rules! topology {
    ($(#[$doc:meta])* $name:ident { $($(#[$key_doc:meta])* $key:ident: $type:ty,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            $($(#[$key_doc])* pub $key: $type,)*
            /// Rate of every link in each direction. A rate with unit, 1 Mb/s to 1.6 Tb/s. Required.
            pub rate: BitRate,
            /// The line code of every link; then rates of links are those on the wire, before decoding, as PCI Express (GT/s), InfiniBand and Advanced Switching name them, and data get 8/10, 64/66 or 128/130 of that. "8b/10b", "64b/66b" or "128b/130b". Default: none, a rate is that of data, as Ethernet names it.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub line_code: Option<LineCode>,
            /// One-way delay of every cable. A time with unit. Default: what `length` gives. Not together with `length`.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub delay: Option<Time>,
            /// Length of every cable, fibre at 5 ns/m (the figure vendors size PFC buffers with). A length with unit. Default: "2 m" (a cable in a rack).
            #[serde(skip_serializing_if = "Option::is_none")]
            pub length: Option<Length>,
            /// Delay of the two interfaces of a link together, added to that of the cable. A time with unit. Default: "0 s", or what `phy` gives. Not together with `phy`.
            #[serde(default = "no_time")]
            pub interface_delay: Time,
            /// The PHY at both ends, which adds what IEEE 802.3 allows its sublayers to the delay of the cable (`penstock explain phy`) and sets the "standard" response to pauses: a name such as "25GBASE-R RS-FEC", or "slowest" for that of the rate of each link which may take longest. Default: none, no delay.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub phy: Option<PhyName>,
            /// Bytes around each frame on the wire. A size with unit, 0 to 65535 B. Default: "20 B" (IEEE 802.3: preamble 7, start delimiter 1, gap 12).
            #[serde(default = "ethernet_overhead")]
            pub overhead: Bytes,
        }
        impl $name {
            pub(crate) fn link(&self) -> LinkText {
                LinkText {
                    rate: self.rate,
                    line_code: self.line_code,
                    delay: self.delay,
                    length: self.length,
                    interface_delay: self.interface_delay,
                    phy: self.phy,
                    overhead: self.overhead,
                }
            }
            pub(crate) fn fill(&mut self) {
                if self.delay.is_none() && self.length.is_none() {
                    self.length = Some(DEFAULT_LENGTH);
                }
            }
        }
    };
}

topology! {
    /// One switch `sw` with hosts `h0`, `h1`, ... around it.
    Star {
        /// Number of hosts. A count, 1 to 65536 (the ports of one switch). Required.
        hosts: u64,
    }
}
topology! {
    /// Two switches `left` and `right` with one link between them, hosts `l0`, ... and `r0`, ...
    Dumbbell {
        /// Number of hosts at the left switch. A count, 0 to 65535. Required.
        left: u64,
        /// Number of hosts at the right switch. A count, 0 to 65535. Required.
        right: u64,
        /// Rate of the link between the switches. A rate with unit, 1 Mb/s to 1.6 Tb/s. Default: `rate`.
        #[serde(skip_serializing_if = "Option::is_none")]
        bottleneck_rate: Option<BitRate>,
        /// One-way delay of the link between the switches, interfaces included. A time with unit. Default: that of the other links.
        #[serde(skip_serializing_if = "Option::is_none")]
        bottleneck_delay: Option<Time>,
    }
}
topology! {
    /// Switches `sw0`, `sw1`, ... in a row, each linked to the next; hosts `h{switch}.{i}`, such as `h0.0`.
    Chain {
        /// Number of switches. A count, at least 1. Required.
        switches: u64,
        /// Number of hosts at each switch. A count. Required.
        hosts_per_switch: u64,
    }
}
topology! {
    /// Switches `sw0`, `sw1`, ... in a ring, each linked to the next and the last to the first; hosts `h{switch}.{i}`, such as `h0.0`.
    Ring {
        /// Number of switches. A count, at least 3. Required.
        switches: u64,
        /// Number of hosts at each switch. A count. Required.
        hosts_per_switch: u64,
    }
}
topology! {
    /// Two levels of switches: each leaf `leaf0`, ... linked to each spine `spine0`, ...; hosts `h0`, ... numbered across the leaves.
    LeafSpine {
        /// Number of leaves. A count, at least 1. Required.
        leaves: u64,
        /// Number of spines. A count, at least 1. Required.
        spines: u64,
        /// Number of hosts at each leaf. A count, at least 1. Required.
        hosts_per_leaf: u64,
        /// Rate of the links between leaves and spines. A rate with unit, 1 Mb/s to 1.6 Tb/s. Default: `rate`.
        #[serde(skip_serializing_if = "Option::is_none")]
        uplink_rate: Option<BitRate>,
    }
}
topology! {
    /// The three-level fat tree of k-port switches: `core0`, ..., `agg{pod}.{i}` and `edge{pod}.{i}`, such as `edge0.1`; hosts `h0`, ... in order.
    FatTree {
        /// Ports of each switch. An even count, at least 2; k^3/4 hosts. Required.
        k: u64,
    }
}
topology! {
    /// The k-ary n-tree: switches `s{level}.{i}`, hosts `h0`, ...
    NTree {
        /// Links of a switch downwards. A count, at least 2; k^n hosts. Required.
        k: u64,
        /// Number of levels of switches. A count, at least 1. Required.
        n: u64,
    }
}

/// Named hosts and switches, and each link.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Explicit {
    /// Names of the hosts, all different; a range like "h0..h31" stands for its names. Required.
    pub hosts: Vec<String>,
    /// Names of the switches, all different and different from the hosts; also ranges. Default: none.
    #[serde(default)]
    pub switches: Vec<String>,
    /// The links. Required.
    pub links: Vec<ExplicitLink>,
}

/// Two names.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Between(pub String, pub String);

impl Between {
    /// Both.
    pub fn ends(&self) -> [&str; 2] {
        [&self.0, &self.1]
    }
}

/// One link, or several alike.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExplicitLink {
    /// The names of the two ends. A range like "h0..h31" stands for its names: then there is a link for each pair of ends. Required.
    pub between: Between,
    /// Rate in each direction. A rate with unit, 1 Mb/s to 1.6 Tb/s. Required.
    pub rate: BitRate,
    /// The line code of the link; then its rate is that on the wire, before decoding, as PCI Express (GT/s), InfiniBand and Advanced Switching name them, and data get 8/10, 64/66 or 128/130 of that. "8b/10b", "64b/66b" or "128b/130b". Default: none, the rate is that of data, as Ethernet names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line_code: Option<LineCode>,
    /// One-way delay of the cable. A time with unit. Default: what `length` gives. Not together with `length`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<Time>,
    /// Length of the cable, fibre at 5 ns/m (the figure vendors size PFC buffers with). A length with unit. Default: "2 m" (a cable in a rack).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub length: Option<Length>,
    /// Delay of the two interfaces together, added to that of the cable. A time with unit. Default: "0 s", or what `phy` gives. Not together with `phy`.
    #[serde(default = "no_time")]
    pub interface_delay: Time,
    /// The PHY at both ends, which adds what IEEE 802.3 allows its sublayers to the delay of the cable (`penstock explain phy`) and sets the "standard" response to pauses: a name such as "25GBASE-R RS-FEC", or "slowest" for that of the rate which may take longest. Default: none, no delay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phy: Option<PhyName>,
    /// Bytes around each frame on the wire. A size with unit, 0 to 65535 B. Default: "20 B" (IEEE 802.3: preamble 7, start delimiter 1, gap 12).
    #[serde(default = "ethernet_overhead")]
    pub overhead: Bytes,
    /// Number of parallel links. A count, 1 to 65536. Default: 1.
    #[serde(default = "one_link")]
    pub count: u64,
}

impl ExplicitLink {
    pub(crate) fn link(&self) -> LinkText {
        LinkText {
            rate: self.rate,
            line_code: self.line_code,
            delay: self.delay,
            length: self.length,
            interface_delay: self.interface_delay,
            phy: self.phy,
            overhead: self.overhead,
        }
    }
    pub(crate) fn fill(&mut self) {
        if self.delay.is_none() && self.length.is_none() {
            self.length = Some(DEFAULT_LENGTH);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_phy_has_its_name_here() {
        for phy in flow_control::phy::PHYS {
            let name: PhyName = serde_json::from_value(phy.name.into()).unwrap();
            assert_eq!(name.at(phy.rate), Some(phy));
            assert_eq!(name.at(BitRate::from_gbps(1)), None);
        }
    }
}
