//! `[[transfers]]`: transfers of a number of bytes from one host to another.

use super::PortKeys;
use queueing::Color;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use transport::{MrcKeys, RdmaKeys, TcpKeys, UetKeys};
use units::{Bytes, Time};
use workload::{ArrivalsText, Nodes, Receivers, ServiceOrder, SizesText};

fn at_start() -> Time {
    Time::ZERO
}
fn full_frame() -> Bytes {
    Bytes::new(u64::from(frame::MAX_TAGGED_FRAME_BYTES))
}

/// Transfers: each has a start time, a sender, a receiver and a size, and is complete when its last byte is delivered. A sender has many in progress at once, and sends their frames as fast as its NIC accepts them, or over a transport. Each has a five-tuple, with random or given ports, by which switches select its path (ECMP).
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Transfers {
    /// Unique name; the flow of each sender is called `name[sender]`. Required.
    pub name: String,
    /// Senders: a host, "all" hosts, a pattern, or a list of these. Required, unless a file names them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Nodes>,
    /// Destination of the transfers: a host; or several, from which each transfer gets one at random with equal probability, never the sender; or a table `uniform`, `hot_spot` or `permutation`. Required, unless a file names them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Receivers>,
    /// Start times of the transfers: "once", or a table `poisson`, `incast` or `file`. Required.
    pub arrivals: ArrivalsText,
    /// Sizes of the transfers, without the headers of their frames: a size with unit; or a published distribution; or a table `uniform`, `pareto`, `log_normal` or `points`. Required, unless a file names them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sizes: Option<SizesText>,
    /// Priority of all frames (IEEE 802.1Q); a file can set it for each transfer. A whole number, 0 to 7. Default: 0 (best effort).
    #[serde(default)]
    #[schemars(range(min = 0, max = 7))]
    pub priority: u64,
    /// DSCP of all frames (RFC 2474), which the `maps` of switches convert to a traffic class. The class in `switch.maps` is also the priority of the frames, so that `priority` can be omitted. Frames whose priority is set by a file have no DSCP. A whole number, 0 to 63. Default: none (switches use the priority).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 63))]
    pub dscp: Option<u64>,
    /// Color (drop precedence) of all frames, as marked by a meter at the edge: "green", "yellow" or "red"; queue managers can have separate settings for each (`yellow` and `red` of `red`). Default: color of the DSCP in `switch.maps.dscp_to_color`, otherwise "green".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub color: Option<Color>,
    /// UDP ports, or TCP ports of transfers over a transport: a table of `from` and `to`. Switches hash them (`path_choice`), and captures show them. Default: none (the source port is drawn for each transfer, or for each new connection).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ports: Option<PortKeys>,
    /// Length of full frames, DA to FCS: a size with unit, 1 to 9238 B. The last frame of a transfer is as short as its data allow, padded to 64 B. Default: "1522 B" (the largest tagged frame without jumbo support).
    #[serde(default = "full_frame")]
    pub frame: Bytes,
    /// Transport of the transfers: "frames" (sent once and never acknowledged), or a table `tcp`, `rdma`, `uet` or `mrc`. Default: "frames".
    #[serde(default)]
    pub over: CarrierText,
    /// Bytes of headers in each frame, which are not part of the transfer; over a transport, see its key `headers`. A size with unit, below `frame`, or a preset: "ethernet" (18 B), "esun" (22 B), "sue" (50 B), "sue_afh1" or "sue_afh2" (22 B), "sue_lite" (20 B). Default: "18 B" (Ethernet header and FCS).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub header: Option<HeaderText>,
    /// Order in which a sender serves its transfers: "round_robin" (their frames in turn) or "fifo" (the oldest transfer until it is complete). Always "round_robin" over TCP, RDMA and UET. Default: "round_robin" (NICs serve their queue pairs in turn).
    #[serde(default)]
    pub order: ServiceOrder,
    /// Earliest start of the first transfer; times in a file are relative to it. A time with unit. Default: "0 s".
    #[serde(default = "at_start")]
    pub start: Time,
    /// Time after which no transfer begins; transfers in progress continue. A time with unit, after `start`. Default: the duration of the simulation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop: Option<Time>,
}

/// Transport of transfers.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum CarrierText {
    /// Frames without acknowledgements.
    #[default]
    Frames,
    /// TCP: a transfer has exclusive use of a connection, free or new. Of free ones, it uses one with its ports if they are given, otherwise one on the path that its ports select. `transfer` and `idle` have no effect here. With `reconnect`, each transfer begins with a fresh window and, if enabled, a handshake.
    Tcp(Box<TcpKeys>),
    /// RDMA (RoCEv2): a transfer is a message of a queue pair. `message` has no effect here.
    Rdma(Box<RdmaKeys>),
    /// Ultra Ethernet Transport (UET): a transfer is a message of the packet delivery context between its two hosts. `message` has no effect here.
    Uet(Box<UetKeys>),
    /// Multipath Reliable Connection (MRC): a transfer is a message of the connection between its two hosts, which spreads its packets over the planes of their NICs.
    Mrc(Box<MrcKeys>),
}

impl CarrierText {
    /// Returns the default of jobs, whose ranks wait for messages: queue pairs.
    pub fn of_jobs() -> CarrierText {
        CarrierText::Rdma(Box::default())
    }
}

/// Bytes of headers in each frame.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum HeaderText {
    /// A size.
    Size(Bytes),
    /// Size of a standard link header, by name.
    Preset(HeaderPreset),
}

/// Link headers by name. Addresses, types and check sequences are included; the bytes around a frame are the line overhead of its link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HeaderPreset {
    /// Ethernet: addresses (12 B), type (2 B), FCS (4 B).
    Ethernet,
    /// ESUN 1.0: addresses (12 B), type (2 B), header (4 B), FCS (4 B). The sizes are from secondary sources.
    Esun,
    /// Scale-Up Ethernet with Ethernet, IP and UDP headers (50 B), according to one implementation.
    Sue,
    /// Scale-Up Ethernet with the AI fabric header of the first generation (22 B), according to one implementation.
    SueAfh1,
    /// Scale-Up Ethernet with the AI fabric header of the second generation (22 B), according to one implementation.
    SueAfh2,
    /// SUE-Lite: header (12 B), ICRC (4 B), FCS (4 B), without VLAN tag, according to one implementation.
    SueLite,
}

impl HeaderText {
    /// Returns the number of header bytes of a frame.
    pub fn bytes(self) -> Bytes {
        let preset = match self {
            HeaderText::Size(bytes) => return bytes,
            HeaderText::Preset(preset) => preset,
        };
        Bytes::new(match preset {
            HeaderPreset::Ethernet => 18,
            HeaderPreset::Esun | HeaderPreset::SueAfh1 | HeaderPreset::SueAfh2 => 22,
            HeaderPreset::Sue => 50,
            HeaderPreset::SueLite => 20,
        })
    }
}
