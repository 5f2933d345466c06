"""The keys of each table of a scenario, for the builder and for editors.

Made by `make docs` from the JSON Schema of scenarios; do not edit.

``penstock explain KEY`` says all of a key. A trailing underscore stands for a Python keyword:
``from_`` is ``from``. ``None`` is the same as leaving a key out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, Required, TypedDict

TABLES = (
    "simulation",
    "probes",
    "topology",
    "host",
    "hosts",
    "switch",
    "switches",
    "link",
    "links",
    "flow_control",
    "watchdog",
    "flows",
    "transfers",
    "jobs",
    "faults",
)
"""The tables of a scenario, in the order of the reference."""


class SimulationKeys(TypedDict, total=False):
    """Duration, warm-up, seeds and guards of the simulation."""

    name: str | None
    """Name of the scenario in results. Default: the file name without its extension."""
    description: str | None
    """Description of the scenario, in one sentence. Default: none."""
    warmup: str | None
    """Warm-up time, which totals and statistics exclude. Default: "0 s"."""
    seed: int | None
    """Seed of all random streams. Default: 1."""
    path_seed: PathSeed | None
    """Seed of the hash that selects one of several shortest paths (ECMP). Default: 1."""
    on_lossless_drop: OnLosslessDrop | None
    """Reaction to the loss of a frame of a lossless class: "stop" ends the run with an explanation,
    "count" continues and counts a headroom violation. Default: "stop".
    """
    on_deadlock: OnDeadlock | None
    """Reaction to a deadlock, a cycle of queues that wait for each other: "stop" ends the run and keeps
    the measurements up to that time, "count" continues and counts it. Default: "stop".
    """
    deadlock_interval: str | None
    """Interval between two searches for deadlocks, in simulated time. Default: "100 us"."""
    until: str | None
    """Precision of the mean iteration time at which all jobs end: half-width of its confidence interval
    as a percentage of the mean, and confidence level. Default: none.
    """
    skip: Skip | None
    """Treatment of job iterations that repeat earlier ones exactly, because the state of the whole run
    is the same except for a shift in time: "off" simulates them. Default: "off".
    """
    memory_limit: str | None
    """Maximum memory of the engine, recorded results included. Default: "available"."""


class ProbesKeys(TypedDict, total=False):
    """Recordings of all flows, ports, classes and queues, in addition to the totals."""

    bin: str | None
    """Bin width of all time series. Default: a 500th of `duration`, or the transmission time of twelve
    of the longest frames on the slowest link if that is longer, but at most a 50th of `duration`;
    rounded up to whole nanoseconds.
    """
    pauses: bool | None
    """If true, each pause is recorded as an interval. Default: true."""


class ProbeKeys(TypedDict, total=False):
    """A probe: one quantity, recorded at the selected objects."""

    which: Which | None
    """Selected objects: a name, a pattern with `*`, a range like "h1..h32", a list of these, "all", or
    "the 20 busiest" (those with the most activity). Default: "all".
    """
    every: str | None
    """Bin width of time series and occupancies. Default: the default of `bin` in `[probes]`."""
    max_rows: int | None
    """Maximum number of rows of frames or pauses. Default: 100000 frames, all pauses."""
    one_in: int | None
    """Sampling interval of frames: one frame in this number is recorded, selected by a hash of its
    identity, at all ports on its path. Default: 1.
    """
    start: str | None
    """Time from which frames are recorded. Default: "0 s"."""


class TopologyTable(TypedDict, total=False):
    """Exactly one of these."""

    star: StarKeys
    """One switch `sw` with hosts `h0`, `h1`, ... around it."""
    dumbbell: DumbbellKeys
    """Two switches `left` and `right` with one link between them, hosts `l0`, ... and `r0`, ..."""
    chain: ChainKeys
    """Switches `sw0`, `sw1`, ... in a row."""
    ring: RingKeys
    """Switches `sw0`, `sw1`, ... in a ring."""
    leaf_spine: LeafSpineKeys
    """Two-tier fabric: leaves `leaf0`, ..., each linked to each of the spines `spine0`, ..."""
    fat_tree: FatTreeKeys
    """Three-tier fabric of k-port switches (Al-Fares et al. 2008): `core0`, ..., `agg{pod}.{i}`,
    `edge{pod}.{i}`.
    """
    n_tree: NTreeKeys
    """K-ary n-tree (Petrini and Vanneschi 1997): switches `s{level}.{i}`, k^n hosts `h0`, ..."""
    rails: RailsKeys
    """Rail-optimized fabric (Spectrum-X, HPN 7.0): hosts `h{server}.{rail}`, the NICs of a rail at the
    same leaf.
    """
    dragonfly: DragonflyKeys
    """Groups of fully meshed switches `sw{group}.{i}`, joined by global links (Kim et al. 2008)."""
    slim_fly: SlimFlyKeys
    """Fabric of diameter 2 (Besta and Hoefler 2014): 2q^2 switches `sw{group}.{i}`."""
    torus: TorusKeys
    """Grid of switches `sw{x}.{y}`, ... with wrap-around links."""
    explicit: ExplicitKeys
    """Fabric described link by link: named hosts and switches, and each link."""


class StarKeys(TypedDict, total=False):
    """One switch `sw` with hosts `h0`, `h1`, ... around it."""

    hosts: Required[int]
    """Number of hosts."""
    rate: Required[str]
    """Rate of each link, per direction."""
    line_code: LineCode | None
    """Line code of each link: "8b/10b", "64b/66b" or "128b/130b". Default: none."""
    delay: str | None
    """One-way propagation delay of each cable. Default: computed from `length`."""
    length: str | None
    """Length of each cable. Default: "2 m"."""
    interface_delay: str | None
    """Delay of the two interfaces of a link together, in addition to the delay of the cable. Default:
    the delay of `phy`.
    """
    phy: PhyName | None
    """PHY at both ends of each link: a name such as "25GBASE-R RS-FEC", "slowest" for the PHY of that
    rate with the largest delay, or "none" for no delay. Default: the usual PHY of the rate.
    """
    overhead: str | None
    """Line overhead: bytes around each frame on the wire. Default: "20 B"."""


class DumbbellKeys(TypedDict, total=False):
    """Two switches `left` and `right` with one link between them, hosts `l0`, ... and `r0`, ..."""

    left: Required[int]
    """Number of hosts at the left switch."""
    right: Required[int]
    """Number of hosts at the right switch."""
    bottleneck_rate: str | None
    """Rate of the link between the switches. Default: `rate`."""
    bottleneck_delay: str | None
    """One-way delay of the link between the switches, interfaces included. Default: the delay of the
    other links.
    """
    bottleneck_length: str | None
    """Length of the cable between the switches. Default: the length or delay of the other links."""
    bottleneck_phy: PhyName | None
    """PHY at both ends of the link between the switches, with the same values as `phy`. Default: the PHY
    of the other links, or the default PHY of this rate if they use theirs.
    """
    rate: Required[str]
    """Rate of each link, per direction."""
    line_code: LineCode | None
    """Line code of each link: "8b/10b", "64b/66b" or "128b/130b". Default: none."""
    delay: str | None
    """One-way propagation delay of each cable. Default: computed from `length`."""
    length: str | None
    """Length of each cable. Default: "2 m"."""
    interface_delay: str | None
    """Delay of the two interfaces of a link together, in addition to the delay of the cable. Default:
    the delay of `phy`.
    """
    phy: PhyName | None
    """PHY at both ends of each link: a name such as "25GBASE-R RS-FEC", "slowest" for the PHY of that
    rate with the largest delay, or "none" for no delay. Default: the usual PHY of the rate.
    """
    overhead: str | None
    """Line overhead: bytes around each frame on the wire. Default: "20 B"."""


class ChainKeys(TypedDict, total=False):
    """Switches `sw0`, `sw1`, ... in a row, each linked to the next."""

    switches: Required[int]
    """Number of switches."""
    hosts_per_switch: Required[int]
    """Number of hosts at each switch."""
    rate: Required[str]
    """Rate of each link, per direction."""
    line_code: LineCode | None
    """Line code of each link: "8b/10b", "64b/66b" or "128b/130b". Default: none."""
    delay: str | None
    """One-way propagation delay of each cable. Default: computed from `length`."""
    length: str | None
    """Length of each cable. Default: "2 m"."""
    interface_delay: str | None
    """Delay of the two interfaces of a link together, in addition to the delay of the cable. Default:
    the delay of `phy`.
    """
    phy: PhyName | None
    """PHY at both ends of each link: a name such as "25GBASE-R RS-FEC", "slowest" for the PHY of that
    rate with the largest delay, or "none" for no delay. Default: the usual PHY of the rate.
    """
    overhead: str | None
    """Line overhead: bytes around each frame on the wire. Default: "20 B"."""


class RingKeys(TypedDict, total=False):
    """Switches `sw0`, `sw1`, ... in a ring, each linked to the next and the last to the first."""

    switches: Required[int]
    """Number of switches."""
    hosts_per_switch: Required[int]
    """Number of hosts at each switch."""
    rate: Required[str]
    """Rate of each link, per direction."""
    line_code: LineCode | None
    """Line code of each link: "8b/10b", "64b/66b" or "128b/130b". Default: none."""
    delay: str | None
    """One-way propagation delay of each cable. Default: computed from `length`."""
    length: str | None
    """Length of each cable. Default: "2 m"."""
    interface_delay: str | None
    """Delay of the two interfaces of a link together, in addition to the delay of the cable. Default:
    the delay of `phy`.
    """
    phy: PhyName | None
    """PHY at both ends of each link: a name such as "25GBASE-R RS-FEC", "slowest" for the PHY of that
    rate with the largest delay, or "none" for no delay. Default: the usual PHY of the rate.
    """
    overhead: str | None
    """Line overhead: bytes around each frame on the wire. Default: "20 B"."""


class LeafSpineKeys(TypedDict, total=False):
    """Two-tier fabric: each leaf `leaf0`, ... linked to each spine `spine0`, ..."""

    leaves: Required[int]
    """Number of leaves."""
    spines: Required[int]
    """Number of spines."""
    hosts_per_leaf: Required[int]
    """Number of hosts at each leaf."""
    uplink_rate: str | None
    """Rate of the links between leaves and spines. Default: `rate`."""
    uplink_length: str | None
    """Length of the cables between leaves and spines. Default: the length or delay of the other links."""
    uplink_phy: PhyName | None
    """PHY at both ends of the links between leaves and spines, with the same values as `phy`. Default:
    the PHY of the other links, or the default PHY of this rate if they use theirs.
    """
    rate: Required[str]
    """Rate of each link, per direction."""
    line_code: LineCode | None
    """Line code of each link: "8b/10b", "64b/66b" or "128b/130b". Default: none."""
    delay: str | None
    """One-way propagation delay of each cable. Default: computed from `length`."""
    length: str | None
    """Length of each cable. Default: "2 m"."""
    interface_delay: str | None
    """Delay of the two interfaces of a link together, in addition to the delay of the cable. Default:
    the delay of `phy`.
    """
    phy: PhyName | None
    """PHY at both ends of each link: a name such as "25GBASE-R RS-FEC", "slowest" for the PHY of that
    rate with the largest delay, or "none" for no delay. Default: the usual PHY of the rate.
    """
    overhead: str | None
    """Line overhead: bytes around each frame on the wire. Default: "20 B"."""


class FatTreeKeys(TypedDict, total=False):
    """Three-tier fabric of k-port switches: `core0`, ..., `agg{pod}.{i}` and `edge{pod}.{i}`, such as
    `edge0.1`.
    """

    k: Required[int]
    """Number of ports of each switch."""
    uplink_rate: str | None
    """Rate of the links between switches. Default: `rate`."""
    uplink_length: str | None
    """Length of the cables between switches. Default: the length or delay of the other links."""
    uplink_phy: PhyName | None
    """PHY at both ends of the links between switches, with the same values as `phy`. Default: the PHY of
    the other links, or the default PHY of this rate if they use theirs.
    """
    core_rate: str | None
    """Rate of the links between aggregation and core switches. Default: `uplink_rate`."""
    core_length: str | None
    """Length of the cables between aggregation and core switches. Default: the length or delay of the
    other links between switches.
    """
    core_phy: PhyName | None
    """PHY at both ends of the links between aggregation and core switches, with the same values as
    `phy`. Default: the PHY of the other links between switches, or the default PHY of this rate if
    they use theirs.
    """
    rate: Required[str]
    """Rate of each link, per direction."""
    line_code: LineCode | None
    """Line code of each link: "8b/10b", "64b/66b" or "128b/130b". Default: none."""
    delay: str | None
    """One-way propagation delay of each cable. Default: computed from `length`."""
    length: str | None
    """Length of each cable. Default: "2 m"."""
    interface_delay: str | None
    """Delay of the two interfaces of a link together, in addition to the delay of the cable. Default:
    the delay of `phy`.
    """
    phy: PhyName | None
    """PHY at both ends of each link: a name such as "25GBASE-R RS-FEC", "slowest" for the PHY of that
    rate with the largest delay, or "none" for no delay. Default: the usual PHY of the rate.
    """
    overhead: str | None
    """Line overhead: bytes around each frame on the wire. Default: "20 B"."""


class NTreeKeys(TypedDict, total=False):
    """K-ary n-tree: switches `s{level}.{i}`, hosts `h0`, ..."""

    k: Required[int]
    """Arity of the tree: number of links of each switch to the level below."""
    n: Required[int]
    """Number of levels of switches."""
    uplink_rate: str | None
    """Rate of the links between switches. Default: `rate`."""
    uplink_length: str | None
    """Length of the cables between switches. Default: the length or delay of the other links."""
    uplink_phy: PhyName | None
    """PHY at both ends of the links between switches, with the same values as `phy`. Default: the PHY of
    the other links, or the default PHY of this rate if they use theirs.
    """
    core_rate: str | None
    """Rate of the links to the highest level. Default: `uplink_rate`."""
    core_length: str | None
    """Length of the cables to the highest level. Default: the length or delay of the other links between
    switches.
    """
    core_phy: PhyName | None
    """PHY at both ends of the links to the highest level, with the same values as `phy`. Default: the
    PHY of the other links between switches, or the default PHY of this rate if they use theirs.
    """
    rate: Required[str]
    """Rate of each link, per direction."""
    line_code: LineCode | None
    """Line code of each link: "8b/10b", "64b/66b" or "128b/130b". Default: none."""
    delay: str | None
    """One-way propagation delay of each cable. Default: computed from `length`."""
    length: str | None
    """Length of each cable. Default: "2 m"."""
    interface_delay: str | None
    """Delay of the two interfaces of a link together, in addition to the delay of the cable. Default:
    the delay of `phy`.
    """
    phy: PhyName | None
    """PHY at both ends of each link: a name such as "25GBASE-R RS-FEC", "slowest" for the PHY of that
    rate with the largest delay, or "none" for no delay. Default: the usual PHY of the rate.
    """
    overhead: str | None
    """Line overhead: bytes around each frame on the wire. Default: "20 B"."""


class RailsKeys(TypedDict, total=False):
    """Rail-optimized fabric: hosts `h{server}.{rail}`, one per NIC."""

    segments: Required[int]
    """Number of segments, each with its own leaves."""
    servers_per_segment: Required[int]
    """Number of servers per segment."""
    rails: Required[int]
    """Number of rails: NICs per server, one for each rail."""
    spines: Required[int]
    """Number of spines per plane."""
    planes: int | None
    """Number of planes. Default: 1."""
    uplink_rate: str | None
    """Rate of the links between leaves and spines. Default: `rate`."""
    uplink_length: str | None
    """Length of the cables between leaves and spines. Default: the length or delay of the other links."""
    uplink_phy: PhyName | None
    """PHY at both ends of the links between leaves and spines, with the same values as `phy`. Default:
    the PHY of the other links, or the default PHY of this rate if they use theirs.
    """
    rate: Required[str]
    """Rate of each link, per direction."""
    line_code: LineCode | None
    """Line code of each link: "8b/10b", "64b/66b" or "128b/130b". Default: none."""
    delay: str | None
    """One-way propagation delay of each cable. Default: computed from `length`."""
    length: str | None
    """Length of each cable. Default: "2 m"."""
    interface_delay: str | None
    """Delay of the two interfaces of a link together, in addition to the delay of the cable. Default:
    the delay of `phy`.
    """
    phy: PhyName | None
    """PHY at both ends of each link: a name such as "25GBASE-R RS-FEC", "slowest" for the PHY of that
    rate with the largest delay, or "none" for no delay. Default: the usual PHY of the rate.
    """
    overhead: str | None
    """Line overhead: bytes around each frame on the wire. Default: "20 B"."""


class DragonflyKeys(TypedDict, total=False):
    """Groups of fully meshed switches `sw{group}.{i}`, such as `sw0.1`, joined by global links."""

    hosts_per_switch: Required[int]
    """Number of hosts at each switch (p)."""
    switches_per_group: Required[int]
    """Number of switches per group (a), which form a full mesh."""
    global_links: Required[int]
    """Number of global links per switch (h)."""
    groups: int | None
    """Number of groups. Default: the maximum."""
    local_rate: str | None
    """Rate of the links between the switches of a group. Default: `rate`."""
    local_length: str | None
    """Length of the cables between the switches of a group. Default: the length or delay of the other
    links.
    """
    local_phy: PhyName | None
    """PHY at both ends of the links between the switches of a group, with the same values as `phy`.
    Default: the PHY of the other links, or the default PHY of this rate if they use theirs.
    """
    global_rate: str | None
    """Rate of the links between groups. Default: `rate`."""
    global_length: str | None
    """Length of the cables between groups. Default: the length or delay of the other links."""
    global_phy: PhyName | None
    """PHY at both ends of the links between groups, with the same values as `phy`. Default: the PHY of
    the other links, or the default PHY of this rate if they use theirs.
    """
    rate: Required[str]
    """Rate of each link, per direction."""
    line_code: LineCode | None
    """Line code of each link: "8b/10b", "64b/66b" or "128b/130b". Default: none."""
    delay: str | None
    """One-way propagation delay of each cable. Default: computed from `length`."""
    length: str | None
    """Length of each cable. Default: "2 m"."""
    interface_delay: str | None
    """Delay of the two interfaces of a link together, in addition to the delay of the cable. Default:
    the delay of `phy`.
    """
    phy: PhyName | None
    """PHY at both ends of each link: a name such as "25GBASE-R RS-FEC", "slowest" for the PHY of that
    rate with the largest delay, or "none" for no delay. Default: the usual PHY of the rate.
    """
    overhead: str | None
    """Line overhead: bytes around each frame on the wire. Default: "20 B"."""


class SlimFlyKeys(TypedDict, total=False):
    """Fabric of diameter 2: switches `sw{group}.{i}`, such as `sw0.1`, in 2q groups of q."""

    q: Required[int]
    """Order of the finite field that defines the graph, which has 2q^2 switches."""
    hosts_per_switch: Required[int]
    """Number of hosts at each switch."""
    local_rate: str | None
    """Rate of the links between the switches of a group. Default: `rate`."""
    local_length: str | None
    """Length of the cables between the switches of a group. Default: the length or delay of the other
    links.
    """
    local_phy: PhyName | None
    """PHY at both ends of the links between the switches of a group, with the same values as `phy`.
    Default: the PHY of the other links, or the default PHY of this rate if they use theirs.
    """
    global_rate: str | None
    """Rate of the links between groups. Default: `rate`."""
    global_length: str | None
    """Length of the cables between groups. Default: the length or delay of the other links."""
    global_phy: PhyName | None
    """PHY at both ends of the links between groups, with the same values as `phy`. Default: the PHY of
    the other links, or the default PHY of this rate if they use theirs.
    """
    rate: Required[str]
    """Rate of each link, per direction."""
    line_code: LineCode | None
    """Line code of each link: "8b/10b", "64b/66b" or "128b/130b". Default: none."""
    delay: str | None
    """One-way propagation delay of each cable. Default: computed from `length`."""
    length: str | None
    """Length of each cable. Default: "2 m"."""
    interface_delay: str | None
    """Delay of the two interfaces of a link together, in addition to the delay of the cable. Default:
    the delay of `phy`.
    """
    phy: PhyName | None
    """PHY at both ends of each link: a name such as "25GBASE-R RS-FEC", "slowest" for the PHY of that
    rate with the largest delay, or "none" for no delay. Default: the usual PHY of the rate.
    """
    overhead: str | None
    """Line overhead: bytes around each frame on the wire. Default: "20 B"."""


class TorusKeys(TypedDict, total=False):
    """Grid of switches with wrap-around links: `sw0.0`, `sw0.1`, ..., with one coordinate per dimension."""

    dimensions: Required[Sequence[int]]
    """Number of switches in each dimension."""
    hosts_per_switch: Required[int]
    """Number of hosts at each switch."""
    rate: Required[str]
    """Rate of each link, per direction."""
    line_code: LineCode | None
    """Line code of each link: "8b/10b", "64b/66b" or "128b/130b". Default: none."""
    delay: str | None
    """One-way propagation delay of each cable. Default: computed from `length`."""
    length: str | None
    """Length of each cable. Default: "2 m"."""
    interface_delay: str | None
    """Delay of the two interfaces of a link together, in addition to the delay of the cable. Default:
    the delay of `phy`.
    """
    phy: PhyName | None
    """PHY at both ends of each link: a name such as "25GBASE-R RS-FEC", "slowest" for the PHY of that
    rate with the largest delay, or "none" for no delay. Default: the usual PHY of the rate.
    """
    overhead: str | None
    """Line overhead: bytes around each frame on the wire. Default: "20 B"."""


class ExplicitKeys(TypedDict, total=False):
    """Fabric described link by link: named hosts and switches, and each link."""

    hosts: Required[Sequence[str]]
    """Names of the hosts, all different."""
    switches: Sequence[str] | None
    """Names of the switches, all different and different from those of the hosts. Default: none."""
    links: Required[Sequence[ExplicitLinkKeys]]
    """Links between the nodes."""


class ExplicitLinkKeys(TypedDict, total=False):
    """A link, or several links with the same settings."""

    between: Required[Between]
    """Names of the two ends."""
    count: int | None
    """Number of parallel links. Default: 1."""
    reverse_rate: str | None
    """Rate from the second end to the first, if it differs from `rate`, which then is the rate from the
    first end to the second. Default: `rate`.
    """
    rate: Required[str]
    """Rate of each link, per direction."""
    line_code: LineCode | None
    """Line code of each link: "8b/10b", "64b/66b" or "128b/130b". Default: none."""
    delay: str | None
    """One-way propagation delay of each cable. Default: computed from `length`."""
    length: str | None
    """Length of each cable. Default: "2 m"."""
    interface_delay: str | None
    """Delay of the two interfaces of a link together, in addition to the delay of the cable. Default:
    the delay of `phy`.
    """
    phy: PhyName | None
    """PHY at both ends of each link: a name such as "25GBASE-R RS-FEC", "slowest" for the PHY of that
    rate with the largest delay, or "none" for no delay. Default: the usual PHY of the rate.
    """
    overhead: str | None
    """Line overhead: bytes around each frame on the wire. Default: "20 B"."""


class SchedulerTable(TypedDict, total=False):
    """Exactly one of these."""

    wrr: WrrKeys
    """Weighted round robin by packets."""
    drr: DrrKeys
    """Deficit round robin, weighted or not."""
    drr_awc: DrrAwcKeys
    """Deficit round robin whose weights follow the sizes of the frames."""
    wfq: WfqKeys
    """Weighted fair queueing: packet-by-packet generalised processor sharing."""
    wf2q_plus: Wf2qPlusKeys
    """Worst-case fair weighted fair queueing."""
    scfq: ScfqKeys
    """Self-clocked fair queueing."""
    scfq_ca: ScfqCaKeys
    """Credit-aware self-clocked fair queueing."""
    vc_table: VcTableKeys
    """The virtual channel arbitration table of Advanced Switching."""
    dtable: DTableKeys
    """The deficit table."""
    min_bw: MinBwKeys
    """The minimum-bandwidth scheduler of Advanced Switching."""
    ets: EtsParamsKeys
    """Enhanced transmission selection."""
    shaper: ShapedKeys
    """Any scheduler behind token or leaky buckets."""


class FlowControlTable(TypedDict, total=False):
    """Exactly one of these."""

    pause: PauseKeys
    """PAUSE of IEEE 802.3 Annex 31B: stops the whole link."""
    pfc: PauseKeys
    """Priority-based flow control of IEEE 802.1Qbb: stops single priorities."""
    credit: CreditKeys
    """Credit-based flow control, as in Advanced Switching, PCI Express or InfiniBand: frames wait for
    room at the other end of the link.
    """
    by_class: ByClassKeys
    """PFC for some priorities of a link, and credits for others."""


class HostKeys(TypedDict, total=False):
    """Settings of hosts."""

    queues: Queues | None
    """Queues of a port: "per_priority", "shared" (one queue), or a list of eight classes, 0 to 7, one
    for each priority. Default: "per_priority".
    """
    scheduler: Scheduler | None
    """Scheduler of the egress queues: the name of a scheduler, or a table of that name with its keys.
    Default: "strict_priority".
    """
    queue_limit: str | None
    """Capacity of each queue of the NIC. Default: "unlimited"."""
    when_full: WhenFull | None
    """Reaction of a source to a full queue: "block" (waits. Default: "block"."""
    flow_control: FlowControl | None
    """Link-level flow control of these hosts, which react to it, and send it if `receive` limits them: a
    mechanism by name, or a table of that name with its keys. Default: the `flow_control` of the
    scenario.
    """
    receive: ReceiveKeys | None
    """Receive processing of these hosts. Default: unlimited."""
    send: SendKeys | None
    """Send processing of these hosts, on the cores of `receive`. Default: none."""
    rate_limiters: RateLimitersKeys | None
    """Rate limiters between sources and NIC: the traffic that shares a limiter, and the control that
    sets its rate. Default: none.
    """
    rdma: NicLimitsKeys | None
    """Limits of the NICs of these hosts on outgoing RDMA messages and queue pairs. Default: none."""
    congestion_domain: DomainKeys | None
    """Congestion notification domain (IEEE 802.1Qau): the priorities with congestion notification at
    these stations, and the defence mode of their ports. Default: none.
    """
    dcbx: DcbxKeys | None
    """DCBX at the ports of these stations: settings that both ends of a link exchange before the traffic
    starts. Default: none.
    """
    clock_tolerance: str | None
    """Maximum frequency error of each clock, in either direction. Default: "0 ppm"."""
    mtu: str | None
    """Maximum length of frames that these stations accept, DA to FCS. Default: none."""


class WrrKeys(TypedDict, total=False):
    """Keys of weighted round robin."""

    weights: Weights | None
    """Weights (frames per round, in proportion), one for each traffic class, 1 to 1000000 each, or
    "equal". Default: "equal".
    """
    interleaved: bool | None
    """If true, classes alternate frame by frame instead of sending their whole turn back to back.
    Default: false.
    """


class DrrKeys(TypedDict, total=False):
    """Keys of deficit round robin."""

    weights: Weights | None
    """Weights, one for each traffic class, 1 to 1000000 each, or "equal". Default: "equal"."""
    quantum: str | None
    """Quantum of the smallest weight: accounted bytes that it may send per round. Default: "computed"."""
    quanta: Sequence[str] | None
    """Quanta, one for each traffic class, instead of `weights` and `quantum`. Default: none."""
    accounted_length: Basis | None
    """Accounted length of a frame of length L (DA to FCS): "payload" (L - 18), "frame" (L) or "wire"
    (time on the link: L + the `overhead` of the link, 20 B on Ethernet). Default: "wire".
    """
    per_frame: str | None
    """Bytes added to the accounted length of each frame, such as an internal header. Default: "0 B"."""
    cell: str | None
    """Memory cell to which the accounted length is rounded up. Default: "0 B"."""


class DrrAwcKeys(TypedDict, total=False):
    """Keys of deficit round robin with adaptive weights."""

    formula: Formula | None
    """Formula of the weights: "published" (formulas 6.1 and 6.2 of Hagen 2012), "analytic" (from
    accounted and counted lengths) or "learned" (from the frames sent. Default: "published".
    """
    interval: str | None
    """Interval over which frames are counted before weights change. Default: "1 ms"."""
    mix: Mix | None
    """Weighting of frame sizes: by their "frames" or their "bytes". Default: "frames"."""
    top_bin: TopBin | None
    """Weight of frames above 1024 B, which the paper does not define: "formula" (6.2) or "one". Default:
    "formula".
    """
    representative: Representative | None
    """Size that represents a bin of sizes: its "upper_edge" or its "middle". Default: "upper_edge"."""
    total_weight: TotalWeight | None
    """Type of the sum of weights: "fraction", or "integer", which truncates each sum, as in the listing.
    Default: "fraction".
    """
    metric: Metric | None
    """Quantity that is shared equally: "payload" (L - 18) or "frame" (L). Default: "payload"."""
    weights: Weights | None
    """Target shares, one for each traffic class, 1 to 1000000 each, or "equal". Default: "equal"."""
    accounted_length: Basis | None
    """Accounted length of a frame of length L (DA to FCS): "payload" (L - 18), "frame" (L) or "wire"
    (time on the link: L + the `overhead` of the link, 20 B on Ethernet). Default: "wire".
    """
    per_frame: str | None
    """Bytes added to the accounted length of each frame, such as an internal header. Default: "0 B"."""
    cell: str | None
    """Memory cell to which the accounted length is rounded up. Default: "0 B"."""


class WfqKeys(TypedDict, total=False):
    """Keys of weighted fair queueing."""

    weights: Weights | None
    """Weights, one for each traffic class, 1 to 1000000 each, or "equal". Default: "equal"."""
    accounted_length: Basis | None
    """Accounted length of a frame of length L (DA to FCS): "payload" (L - 18), "frame" (L) or "wire"
    (time on the link: L + the `overhead` of the link, 20 B on Ethernet). Default: "wire".
    """
    per_frame: str | None
    """Bytes added to the accounted length of each frame, such as an internal header. Default: "0 B"."""
    cell: str | None
    """Memory cell to which the accounted length is rounded up. Default: "0 B"."""


class Wf2qPlusKeys(TypedDict, total=False):
    """Keys of worst-case fair weighted fair queueing."""

    weights: Weights | None
    """Weights, one for each traffic class, 1 to 1000000 each, or "equal". Default: "equal"."""
    accounted_length: Basis | None
    """Accounted length of a frame of length L (DA to FCS): "payload" (L - 18), "frame" (L) or "wire"
    (time on the link: L + the `overhead` of the link, 20 B on Ethernet). Default: "frame".
    """
    per_frame: str | None
    """Bytes added to the accounted length of each frame, such as an internal header. Default: "0 B"."""
    cell: str | None
    """Memory cell to which the accounted length is rounded up. Default: "0 B"."""


class ScfqKeys(TypedDict, total=False):
    """Keys of self-clocked fair queueing."""

    weights: Weights | None
    """Weights, one for each traffic class, 1 to 1000000 each, or "equal". Default: "equal"."""
    accounted_length: Basis | None
    """Accounted length of a frame of length L (DA to FCS): "payload" (L - 18), "frame" (L) or "wire"
    (time on the link: L + the `overhead` of the link, 20 B on Ethernet). Default: "frame".
    """
    per_frame: str | None
    """Bytes added to the accounted length of each frame, such as an internal header. Default: "0 B"."""
    cell: str | None
    """Memory cell to which the accounted length is rounded up. Default: "0 B"."""


class ScfqCaKeys(TypedDict, total=False):
    """Keys of credit-aware self-clocked fair queueing."""

    weights: Weights | None
    """Weights, one for each traffic class, 1 to 1000000 each, or "equal". Default: "equal"."""
    accounted_length: Basis | None
    """Accounted length of a frame of length L (DA to FCS): "payload" (L - 18), "frame" (L) or "wire"
    (time on the link: L + the `overhead` of the link, 20 B on Ethernet). Default: "frame".
    """
    per_frame: str | None
    """Bytes added to the accounted length of each frame, such as an internal header. Default: "0 B"."""
    cell: str | None
    """Memory cell to which the accounted length is rounded up. Default: "0 B"."""


class VcTableKeys(TypedDict, total=False):
    """Keys of the arbitration table."""

    entries: Required[Sequence[int]]
    """Arbitration table: the traffic class of each of its 32, 64, 128, 256, 512 or 1024 entries."""


WeightedEntryKeys = TypedDict(
    "WeightedEntryKeys", {"class": "Required[int]", "weight": "Required[int]"}, total=False
)
"""A traffic class with its credits."""


class DTableKeys(TypedDict, total=False):
    """Keys of the deficit table."""

    entries: Required[Sequence[Entry]]
    """Arbitration table: 32, 64, 128, 256, 512 or 1024 entries, each a traffic class or {class, weight}."""
    weight: int | None
    """Weight of entries without `weight`, in credits. Default: 34."""
    credit: str | None
    """Bytes per credit. Default: "64 B"."""
    accounted_length: Basis | None
    """Accounted length of a frame of length L (DA to FCS): "payload" (L - 18), "frame" (L) or "wire"
    (time on the link: L + the `overhead` of the link, 20 B on Ethernet). Default: "frame".
    """
    per_frame: str | None
    """Bytes added to the accounted length of each frame, such as an internal header. Default: "0 B"."""
    cell: str | None
    """Memory cell to which the accounted length is rounded up. Default: "0 B"."""


class ShareOfLinkKeys(TypedDict, total=False):
    """A part of the rate of the link."""

    share: Required[float]
    """Share of the rate of the link, 0.000001 to 1."""


class MinBwKeys(TypedDict, total=False):
    """Keys of the minimum-bandwidth scheduler."""

    management: int | None
    """Traffic class of the fabric management channel, which has priority within its rate. Default: the
    class whose weight is 0, or the highest.
    """
    weights: Weights | None
    """Weights, one for each traffic class, 1 to 1000000 each and 0 for management, or "equal". Default:
    "equal".
    """
    rate: RateOrShare | None
    """Rate of the fabric management channel: a rate, above 0 and at most the link's, or {share}.
    Default: a share of 0.25 of the link.
    """
    depth: str | None
    """Depth of the token bucket: maximum burst of management traffic. Default: "4352 B"."""
    use_idle_link: bool | None
    """If true, management traffic beyond its rate may use an idle link. Default: true."""
    accounted_length: Basis | None
    """Accounted length of a frame of length L (DA to FCS): "payload" (L - 18), "frame" (L) or "wire"
    (time on the link: L + the `overhead` of the link, 20 B on Ethernet). Default: "frame".
    """
    per_frame: str | None
    """Bytes added to the accounted length of each frame, such as an internal header. Default: "0 B"."""
    cell: str | None
    """Memory cell to which the accounted length is rounded up. Default: "0 B"."""


class EtsClassKeys(TypedDict, total=False):
    """A traffic class."""

    queues: Required[Sequence[int]]
    """Queues of the class: class numbers, 0 to 7."""
    percent: int | None
    """ETS class: share of the bandwidth that strict and shaped classes leave, in percent, 0 to 100.
    Default: none.
    """
    strict: bool | None
    """If true, a strict priority class, served before all others, highest first. Default: none."""
    idle_slope: RateOrShare | None
    """Credit-based shaper: guaranteed rate of the class, below the link rate. Default: none."""
    drr_awc: DrrAwcKeys | None
    """Deficit round robin with adaptive weights among the queues of an ETS class with at least two
    queues. Default: none.
    """


class EtsParamsKeys(TypedDict, total=False):
    """Keys of enhanced transmission selection."""

    classes: Required[Sequence[EtsClassKeys]]
    """Classes of transmission selection, lowest first, 1 to 8."""
    accounted_length: Basis | None
    """Accounted length of a frame of length L (DA to FCS): "payload" (L - 18), "frame" (L) or "wire"
    (time on the link: L + the `overhead` of the link, 20 B on Ethernet). Default: "wire".
    """
    per_frame: str | None
    """Bytes added to the accounted length of each frame, such as an internal header. Default: "0 B"."""
    cell: str | None
    """Memory cell to which the accounted length is rounded up. Default: "0 B"."""


class ShaperTable(TypedDict, total=False):
    """Exactly one of these."""

    token_bucket: TokenBucketKeys
    """Rate with bursts."""
    leaky_bucket: LeakyBucketKeys
    """Rate without bursts."""


class TokenBucketKeys(TypedDict, total=False):
    """Keys of a token bucket."""

    rate: Required[RateOrShare]
    """Token rate of the bucket: a rate, above 0 and at most the link's, or {share}."""
    depth: Required[str]
    """Capacity of the bucket."""


class LeakyBucketKeys(TypedDict, total=False):
    """Keys of a leaky bucket."""

    rate: Required[RateOrShare]
    """Rate at which a frame drains: a rate, above 0 and at most the link's, or {share}."""


ClassShaperKeys = TypedDict(
    "ClassShaperKeys",
    {
        "class": "Required[int]",
        "token_bucket": "TokenBucketKeys | None",
        "leaky_bucket": "LeakyBucketKeys | None",
    },
    total=False,
)
"""The shaper of a traffic class."""


class ShapedKeys(TypedDict, total=False):
    """Keys of shaped ports."""

    scheduler: Scheduler | None
    """Scheduler to which the shapers are applied: a name or a table. Default: "strict_priority"."""
    port: Shaper | None
    """Shaper of the whole port: `token_bucket` or `leaky_bucket`. Default: none."""
    classes: Sequence[ClassShaperKeys] | None
    """Shapers of individual traffic classes. Default: none."""
    accounted_length: Basis | None
    """Accounted length of a frame of length L (DA to FCS): "payload" (L - 18), "frame" (L) or "wire"
    (time on the link: L + the `overhead` of the link, 20 B on Ethernet). Default: "wire".
    """
    per_frame: str | None
    """Bytes added to the accounted length of each frame, such as an internal header. Default: "0 B"."""
    cell: str | None
    """Memory cell to which the accounted length is rounded up. Default: "0 B"."""


class PauseKeys(TypedDict, total=False):
    """Settings of PAUSE, PFC and TPFC."""

    priorities: Sequence[int] | None
    """Lossless priorities, 0 to 7 each. Default: all priorities that flows use."""
    accounting: Accounting | None
    """Occupancy that is compared with the watermarks: "ingress" (per ingress port. Default: "ingress"."""
    xoff: str | None
    """High watermark: at or above it, XOFF is sent. Default: "computed" for each port from the headroom
    of its link, so that no frame is lost and no queue underruns.
    """
    xon: str | None
    """Low watermark: at or below it, XON is sent. Default: "computed"."""
    headroom: str | None
    """Memory above `xoff` for the data in flight on the link. Default: "computed"."""
    pause_quanta: PauseQuanta | None
    """Pause time in quanta of 512 bit times of the link, from the end of the reception of the pause
    frame. Default: 65535.
    """
    resume: bool | None
    """If true, XON is sent at the low watermark and ends the pause one response time after its
    reception. Default: true; false if `pause_quanta` is "computed".
    """
    refresh: bool | None
    """If true, a pause is renewed without a gap while the queue stays above the low watermark. Default:
    true.
    """
    response_time: str | None
    """Time from the end of the reception of a pause frame to its effect at this station, for XOFF and
    XON. Default: "standard".
    """
    target: TargetKeys | None
    """Targeted PFC (Hagen 2012, section 7.2): pauses only the link partners that fill the queue.
    Default: none.
    """


class TargetKeys(TypedDict, total=False):
    """Targeted PFC."""

    method: Required[TargetMethod]
    """Method that selects the link partners to pause: "fair_bandwidth" (all with more than a fair share
    of the queue.
    """
    watermark: Required[str]
    """Target watermark: a search for targets starts at or above it."""
    partners: int | None
    """Number of link partners whose data in flight fits between a computed target watermark and `xoff`
    (N of equation 7.1). Default: 1.
    """
    search_time: str | None
    """Search time for each frame examined: all frames of the queue, or the drawn frame with
    "random_sampling". Default: "0 s".
    """
    sampling: Sampling | None
    """Time at which a random sample is drawn: "one_shot" (when the watermark is crossed) or
    "every_enqueue" (at each frame above it). Default: "one_shot".
    """
    xon_sent: XonSent | None
    """Time at which XON is sent: "once", to each paused partner when the queue falls to `xon`. Default:
    "once".
    """


class CreditKeys(TypedDict, total=False):
    """Keys of credit-based flow control."""

    priorities: Sequence[int] | None
    """Priorities with credit-based flow control, 0 to 7 each. Default: all priorities."""
    preset: CreditPreset | None
    """Defaults of the other keys: "advanced_switching", or "cbfc" (Ultra Ethernet: a buffer of 64 KiB,
    credits of 256 B, 8 B per frame, updates of 8 B for each credit, at least 6400 B apart. Default:
    "advanced_switching".
    """
    buffer: str | None
    """Receive buffer of each channel at each port of this station: the granted credits times `unit`.
    Default: "8704 B".
    """
    unit: str | None
    """Bytes per credit. Default: "64 B"."""
    per_frame: str | None
    """Bytes that each frame occupies in the buffer in addition to its length (DA to FCS). Default: "0
    B".
    """
    channels: ChannelList | None
    """Channel of each priority, starting with priority 0. Default: [0, 1, 2, 3, 4, 5, 6, 7."""
    update_after: str | None
    """Owed credits of a channel, in bytes, at which an update is sent. Default: "1088 B"."""
    update_within: str | None
    """Maximum delay of an update for a smaller amount. Default: "1 us"."""
    update_delay: str | None
    """Time from the arrival of an update to its effect. Default: "10 ns"."""
    update_bytes: str | None
    """Length of an update on the link, including line overhead. Default: "0 B"."""
    cf_min_spacing: str | None
    """Minimum spacing of updates on the link, in bytes at its rate (CF_min_spacing). Default: "0 B"."""
    cf_max_spacing: str | None
    """Spacing after which a lost update is repeated (CF_max_spacing). Default: "0 B"."""
    cc_message_timer: str | None
    """Period after which the credits of frames lost on the link are recovered (CC message timer).
    Default: "0 s".
    """
    piggyback: str | None
    """Additional length on the link of a departing frame that carries a pending update. Default: frames
    carry none.
    """


class ByClassKeys(TypedDict, total=False):
    """Keys of PFC and credits by class: both tables, each with its `priorities`."""

    pfc: PauseKeys | None
    """Settings of PFC, including its `priorities`, which are required here."""
    credit: CreditKeys | None
    """Settings of credit-based flow control, including its `priorities`, which are required here."""


class ReceiveKeys(TypedDict, total=False):
    """Receive processing of a host: each frame occupies a core for `time_per_frame + bytes / rate`."""

    time_per_frame: str | None
    """Processing time per frame. Default: "0 s"."""
    rate: str | None
    """Processing rate of the bytes of a frame (DA to FCS), in addition to `time_per_frame`. Default:
    "unlimited".
    """
    buffer: str | None
    """Receive buffer of each port for each priority. Default: "256 KiB"."""
    cores: int | None
    """Number of cores per port. Default: 1."""
    interrupt_delay: str | None
    """Interrupt moderation: time from the arrival of the first frame at an idle core to the interrupt
    that wakes it. Default: "0 s".
    """
    interrupt_frames: int | None
    """Interrupt moderation: number of queued frames at which the interrupt is raised immediately.
    Default: none.
    """
    interrupt_time: str | None
    """Processing time of an interrupt, before the first frame. Default: "0 s"."""
    script: Sequence[ReceiveStepKeys] | None
    """Changes of these settings during the simulation, in order of time. Default: none."""


class ReceiveStepKeys(TypedDict, total=False):
    """Change of receive processing: a stop or a start."""

    at: Required[str]
    """Time of the change."""
    stop: bool | None
    """If true, the host stops processing arrivals after the current frame. Default: false."""
    start: bool | None
    """If true, the host resumes processing, with the new `time_per_frame` and `rate` if given. Default:
    false.
    """
    time_per_frame: str | None
    """New processing time per frame, with `start`. Default: unchanged."""
    rate: str | None
    """New processing rate, with `start`. Default: unchanged."""


class SendKeys(TypedDict, total=False):
    """Send processing of a host: before the NIC, each frame occupies the core that also processes
    arrivals of its flow for `time_per_frame + bytes / rate`.
    """

    time_per_frame: str | None
    """Processing time per frame. Default: "0 s"."""
    rate: str | None
    """Processing rate of the bytes of a frame (DA to FCS), in addition to `time_per_frame`. Default:
    "unlimited".
    """
    script: Sequence[SendStepKeys] | None
    """Changes of these settings during the simulation, in order of time. Default: none."""


class SendStepKeys(TypedDict, total=False):
    """Change of send processing: `time_per_frame`, `rate` or both."""

    at: Required[str]
    """Time of the change."""
    time_per_frame: str | None
    """New processing time per frame. Default: unchanged."""
    rate: str | None
    """New processing rate. Default: unchanged."""


class RateLimitersKeys(TypedDict, total=False):
    """The rate limiters of a host: what shares one, and exactly one control."""

    priorities: Sequence[int] | None
    """Priorities whose frames pass a limiter. Default: all."""
    per: LimiterScope | None
    """Frames that share a limiter: "flow" (frames of one flow), "destination" (frames of one priority to
    one host), "path" (all frames to one host, the highest priority first) or "priority" (all frames
    of one priority). Default: "flow".
    """
    mark_after: str | None
    """Duration of the backlog of a limiter from which on departing frames are marked, if they are ECN-
    capable (McAlpine 2005: PRC_ECN marks where frames enter layer 2). Default: "never".
    """
    priority_burst: str | None
    """With "path", bytes, including line overhead, by which a limiter may be ahead of its rate and still
    send a frame whose priority is above the lowest one with a limiter at this host. Default: "3044
    B".
    """
    qcn: ReactionPointKeys | None
    """The reaction points of quantised congestion notification (QCN, IEEE 802.1Qau)."""
    bcn: BackwardReactionKeys | None
    """The reaction points of backward congestion notification (BCN)."""
    fecn: RateReactionKeys | None
    """The reaction points of forward explicit congestion notification (FECN)."""
    prc: PathReactionKeys | None
    """Path rate control (PRC)."""


class ReactionPointKeys(TypedDict, total=False):
    """Keys of a reaction point of QCN."""

    gain: float | None
    """Fraction by which each unit of feedback, of up to 63, cuts the rate (Gd). Default: 0.0078125."""
    min_decrease_factor: float | None
    """Minimum decrease factor: a cut leaves at least this fraction of the rate. Default: 0.5."""
    byte_reset: str | None
    """Length of a byte counter cycle. Default: "150000 B"."""
    time_reset: str | None
    """Length of a timer cycle. Default: "15 ms"."""
    jitter_share: float | None
    """Jitter of the cycle lengths, in either direction, as a fraction. Default: 0.15."""
    recovery_cycles: int | None
    """Number of cycles of fast recovery (F). Default: 5."""
    active_increase: str | None
    """Increase of the target rate in each cycle of active increase (R_AI). Default: "5 Mb/s"."""
    hyper_active_increase: str | None
    """Increase of the target rate in the first cycle of hyper-active increase (R_HAI). Default: "50
    Mb/s".
    """
    min_rate: str | None
    """Minimum rate: cuts do not go below it. Default: "5 Mb/s"."""
    max_rate: str | None
    """Maximum rate: increases do not go above it. Default: "unlimited"."""
    extra_fast_recovery: bool | None
    """If true, a second cut within the same cycle leaves the target rate unchanged (extra fast
    recovery). Default: true.
    """
    lower_target: bool | None
    """If true, the first cycle after a cut divides the target rate by eight if it is more than ten times
    the current rate. Default: true.
    """


class BackwardReactionKeys(TypedDict, total=False):
    """Keys of a reaction point of BCN."""

    feedback_unit: str | None
    """Bytes per unit of feedback. Default: "1500 B"."""
    decrease_gain: float | None
    """Fraction by which each unit of negative feedback cuts the rate (Gd). Default: 0.0078125."""
    increase_gain: float | None
    """Number of increase units that each unit of positive feedback adds (Gi). Default: 4."""
    increase_unit: str | None
    """Rate increase unit (Ru). Default: "8 Mb/s"."""
    min_decrease_factor: float | None
    """Minimum decrease factor: a cut leaves at least this fraction of the rate. Default: 0.5."""
    min_rate: str | None
    """Minimum rate: cuts do not go below it. Default: "10 Mb/s"."""
    max_stop: str | None
    """Maximum duration of a stop after severe congestion. Default: "100 us"."""
    restart_share: float | None
    """Rate after a stop, as a fraction of the line rate. Default: 0.01."""
    tag_length: str | None
    """Length of the rate limit tag. Default: "12 B"."""


class RateReactionKeys(TypedDict, total=False):
    """Keys of a reaction point of FECN."""

    interval: str | None
    """Time between tagged frames: a frame gets a tag if at least this time has passed since the last
    tag. Default: "1 ms".
    """
    long_interval: str | None
    """Time between tagged frames while two consecutive returned rates are close to each other. Default:
    "never".
    """
    near_share: float | None
    """Maximum difference between two rates that count as close, as a fraction of the earlier one.
    Default: 0.05.
    """
    tag_every: int | None
    """Every n-th frame gets a tag, regardless of time. Default: 0."""
    initial_share: float | None
    """Rate before the first tag returns, as a fraction of the line rate. Default: 0.05."""
    forget_after: str | None
    """Time without a returned tag after which the rate falls back to the initial rate. Default: "10 ms"."""
    min_rate: str | None
    """Minimum rate: lower rates in tags are ignored. Default: "10 Mb/s"."""
    message_priority: int | None
    """Priority of the tags that the host returns. Default: 7."""
    tag_length: str | None
    """Length of a tag. Default: "12 B"."""


class PathReactionKeys(TypedDict, total=False):
    """Keys of path rate control."""

    method: Method | None
    """Method by which levels reach the source: in messages of the receiver ("feedback"), in answers to
    probes ("probes"), as the round-trip time of probes ("round_trip"), or in messages of congestion
    points ("messages"). Default: "feedback".
    """
    interval: str | None
    """Time between two levels of a path. Default: "40 us"."""
    ask_every: int | None
    """With "feedback", the number of receiver messages per request. Default: 8."""
    buffer: str | None
    """Buffer of a port: queue length that corresponds to a level of 100 %. Default: "64 KiB"."""
    target_share: float | None
    """Target level, as a fraction of `buffer`. Default: 0.16."""
    law: Law | None
    """Rate law: gains that depend on the loop time ("scaled"), or constant gains ("fixed"). Default:
    "scaled".
    """
    equal_gain: float | None
    """With "scaled", gain of the convergence to equal rates (s). Default: 0.01."""
    growth_gain: float | None
    """With "scaled", gain for the growth of the queue (a). Default: 0.4."""
    length_gain: float | None
    """With "scaled", gain for the queue length (b). Default: 0.226."""
    initial_share: float | None
    """Initial rate, as a fraction of the line rate. Default: 0.0625."""
    min_rate: str | None
    """Minimum rate of a path. Default: "10 Mb/s"."""
    idle_after: str | None
    """Idle time after which the rate of a path is halved, repeatedly, down to the initial rate. Default:
    "1 ms".
    """
    message_priority: int | None
    """Priority of the requests of the source and of the answers of its host. Default: 7."""


class NicLimitsKeys(TypedDict, total=False):
    """Keys of the NICs of hosts that send over RDMA."""

    message_rate: int | None
    """Maximum number of messages that the NIC starts per second: SENDs, WRITEs and READ responses.
    Default: none.
    """
    contexts: int | None
    """Number of queue pair contexts in the cache of the NIC (least recently used replacement). Default:
    none.
    """
    context_fetch: str | None
    """Time to fetch a context that is not in the cache. Default: "500 ns"."""


class DomainKeys(TypedDict, total=False):
    """Keys of a station in a congestion notification domain."""

    priorities: Required[Sequence[int]]
    """Congestion notification priority values (CNPVs), 0 to 7 each, at most seven of them."""
    alternate_priority: int | None
    """Alternate priority: replaces a CNPV in frames that enter the domain from outside. Default: the
    next lower priority that is no CNPV, else the next higher one.
    """
    defence: Choice | None
    """Defence mode of all ports: "auto" (derived from the announcements of the neighbour), "disabled",
    "edge", "interior" or "interior_ready". Default: "auto".
    """
    ports: Mapping[str, Choice] | None
    """Defence mode of ports to certain neighbours, by the name, range or pattern of the neighbour, like
    `{ h0 = "edge" }`. Default: that of all ports.
    """


class DcbxKeys(TypedDict, total=False):
    """DCBX settings of one port, or of all ports of a station."""

    ets: EtsKeys | None
    """Enhanced transmission selection (ETS): configuration of the port, and recommendation to its peer.
    Default: all keys at their defaults.
    """
    pfc: PfcKeys | None
    """Priority-based flow control (PFC): configuration of the port, and willingness to adopt that of its
    peer. Default: all keys at their defaults.
    """
    applications: Sequence[Entry2Keys] | None
    """Application priorities, at most 168. Default: none."""
    tie_break: TieBreak | None
    """Tie break for PFC if both ends are willing: "lower_adopts" (the end with the lower MAC address
    adopts the settings of the other, as in lldpad) or "lower_wins" (the other end adopts). Default:
    "lower_adopts".
    """
    dialect: Dialect | None
    """DCBX version: "standard" (IEEE 802.1Q), "older" (version 1.01), "oldest" (version 1.00), or
    "either": the standard, and an older version with a peer that supports only that. Default:
    "either".
    """
    uplink: str | None
    """Uplink port: in a scenario the name of a neighbour, for `penstock dcbx run` an interface. Default:
    none.
    """


class EtsKeys(TypedDict, total=False):
    """ETS of a port."""

    willing: bool | None
    """Willing bit of ETS: if true, the port adopts the ETS settings that its peer recommends. Default:
    true.
    """
    traffic_classes: int | None
    """Number of traffic classes of the port. Default: 8."""
    own: TableKeys | None
    """ETS configuration of the port, unless it adopts a recommendation. Default: the configuration of
    its scheduler; without a scenario, priority n in traffic class n, all strict.
    """
    recommended: TableKeys | None
    """ETS recommendation to the peer. Default: none."""


class TableKeys(TypedDict, total=False):
    """ETS table: traffic classes, their bandwidth shares and transmission selection algorithms."""

    classes: Sequence[int] | None
    """Traffic class of each of the eight priorities, 0 to 7. Default: priority n in class n."""
    percent: Sequence[int] | None
    """Bandwidth share of each traffic class, in per cent. Default: none."""
    algorithms: Sequence[TransmissionSelection] | None
    """Transmission selection algorithm of each traffic class: "strict", "credit_based_shaper", "ets" or
    "vendor". Default: none.
    """


class PfcKeys(TypedDict, total=False):
    """PFC of a port."""

    exchanged: bool | None
    """If true, the port sends and accepts the PFC TLV. Default: true."""
    willing: bool | None
    """Willing bit of PFC: if true, the port adopts the PFC priorities of its peer. Default: true."""
    priorities: Sequence[int] | None
    """Priorities with PFC, 0 to 7 each, unless the port adopts others. Default: the priorities of its
    flow control; without a scenario, none.
    """
    capability: int | None
    """PFC capability: number of priorities that can have PFC at the same time. Default: 8."""
    macsec_bypass: bool | None
    """MACsec bypass capability (MBC) bit in the PFC TLV that the port sends. Default: false."""


class Entry2Keys(TypedDict, total=False):
    """Application priority."""

    selector: Required[ApplicationSelector]
    """Field that identifies the application: "ether_type", "stream_port" (TCP, SCTP), "datagram_port"
    (UDP, DCCP), "port" (any of them) or "dscp".
    """
    protocol: Required[int]
    """Value of that field: an EtherType (0: default priority, for traffic that no other entry names), a
    port, or a DSCP, 0 to 63.
    """
    priority: Required[int]
    """Priority of the application."""


class QueueingTable(TypedDict, total=False):
    """Exactly one of these."""

    crossbar: CrossbarKeys
    """Input queueing: frames wait at the inputs until a crossbar transfers them to their output."""


class PathChoiceTable(TypedDict, total=False):
    """Exactly one of these."""

    hash: HashingKeys
    """ECMP: one path per flow, by a hash of its five-tuple and the switch."""
    flowlet: FlowletKeys
    """Flowlet switching: a random port for each burst."""
    adaptive: AdaptiveKeys
    """Adaptive routing: the unpaused port with the shortest queue, in coarse steps."""
    ugal: UgalKeys
    """UGAL-L: through a random third group of a dragonfly if the minimal path has longer queues."""


class SwitchKeys(TypedDict, total=False):
    """Settings of switches."""

    forwarding: Forwarding | None
    """Forwarding mode: "store_and_forward" or "cut_through". Default: "store_and_forward"."""
    latency: str | None
    """Forwarding latency: time from the arrival of a frame (cut-through: of its first 64 B) to its entry
    into the egress queue. Default: "0 s".
    """
    queueing: Queueing | None
    """Queueing architecture: "output", "virtual_output", or `crossbar` with its keys, like `{ crossbar =
    { speedup = 2 } }`. Default: "output".
    """
    path_choice: PathChoice | None
    """Selection among equal-cost paths: "hash", "d_mod_k", "spray", "round_robin", "least_queued",
    "adaptive", "valiant" or "ugal". Default: "hash".
    """
    path_weights: Mapping[str, int] | None
    """Weights of links in the selection among equal-cost paths (weighted ECMP): a table of neighbours,
    by name, range or pattern, each with a whole number, 1 to 65535, like `{ spine0 = 3, spine1 = 1
    }`. Default: 1 for all.
    """
    queues: Queues | None
    """Queues of a port: "per_priority", "shared" (one queue), or a list of eight classes, 0 to 7, one
    for each priority. Default: "per_priority".
    """
    maps: MapKeys | None
    """QoS maps: from DSCP to traffic class and color, and from PFC priorities to queues and priority
    groups. Default: none.
    """
    scheduler: Scheduler | None
    """Scheduler of the egress queues: the name of a scheduler, or a table of that name with its keys.
    Default: "strict_priority".
    """
    buffer: BufferKeys | None
    """Packet buffer of the switch: its limits, dynamic thresholds or pools."""
    queue_managers: Sequence[ManagerEntryKeys] | None
    """Queue managers (AQM): each marks frames, drops them early or notifies sources, for some traffic
    classes. Default: none.
    """
    trimming: TrimmingKeys | None
    """Packet trimming: frames that do not fit into the buffer lose their payload, and their headers
    continue in a separate queue, so that receivers detect the loss. Default: none.
    """
    flow_control: FlowControl | None
    """Link-level flow control of these switches: a mechanism by name, or a table of that name with its
    keys. Default: the `flow_control` of the scenario.
    """
    congestion_domain: DomainKeys | None
    """Congestion notification domain (IEEE 802.1Qau): the priorities with congestion notification at
    these stations, and the defence mode of their ports. Default: none.
    """
    dcbx: DcbxKeys | None
    """DCBX at the ports of these stations: settings that both ends of a link exchange before the traffic
    starts. Default: none.
    """
    clock_tolerance: str | None
    """Maximum frequency error of each clock, in either direction. Default: "0 ppm"."""
    mtu: str | None
    """Maximum length of frames that these stations accept, DA to FCS. Default: none."""


class CrossbarKeys(TypedDict, total=False):
    """Keys of a crossbar."""

    speedup: float | None
    """Speed of the crossbar relative to the fastest link of the switch. Default: 1.5."""
    arbitration: Arbitration | None
    """Arbitration between inputs and outputs: "round_robin" or "islip". Default: "round_robin"."""
    iterations: int | None
    """Maximum number of iterations of "islip". Default: 4."""
    inputs: Inputs | None
    """Queues of an input: "virtual_output" (one per output and class) or "fifo" (one per class, with
    head-of-line blocking). Default: "virtual_output".
    """
    output_buffer: str | None
    """Buffer of each class of an output. Default: "8704 B"."""
    room: Room | None
    """Condition for a transfer to an output buffer that is nearly full: room for the longest frame of
    the fabric ("longest"), or for the frame itself ("frame", in which case short frames pass long
    ones). Default: "longest".
    """


class HashingKeys(TypedDict, total=False):
    """Hash by which a switch selects among equal-cost paths."""

    fields: Sequence[Field] | None
    """Hashed fields: a non-empty list of "source", "destination" (the two hosts), "protocol" (UDP for
    open-loop sources, TCP for closed-loop sources), "source_port" and "destination_port". Default:
    all five.
    """
    seed: int | None
    """Hash seed of the switch, in addition to `path_seed`, which all switches share. Default: a
    different seed for each switch.
    """


class FlowletKeys(TypedDict, total=False):
    """Keys of flowlet switching."""

    gap: Required[str]
    """Flowlet gap: idle time of a flow after which its next frame begins a new burst."""
    entries: int | None
    """Number of entries in the flowlet table of a switch. Default: 65536."""


class AdaptiveKeys(TypedDict, total=False):
    """Keys of adaptive routing."""

    quantum: str | None
    """Step size of the comparison of queue lengths: queues in the same step count as equal. Default:
    "8000 B".
    """
    pause: bool | None
    """If true, a port whose class is paused is selected only if all compared ports are paused. Default:
    true.
    """
    two_choices: bool | None
    """If true, the switch compares two ports drawn at random instead of all ports (power of two
    choices). Default: false.
    """


class UgalKeys(TypedDict, total=False):
    """Keys of UGAL."""

    threshold: str | None
    """Bias towards the minimal path: bytes by which its queue length times its number of links may
    exceed those of the detour. Default: "0 B".
    """


class MapKeys(TypedDict, total=False):
    """QoS maps of a switch."""

    dscp_to_tc: Mapping[str, int] | None
    """Map from DSCP to traffic class: a table of DSCPs, 0 to 63, each with a class, 0 to 7, like `{ 26 =
    3, 48 = 6, other = 1 }`. Default: DSCP / 8.
    """
    dscp_to_color: Mapping[str, Color] | None
    """Map from DSCP to color (drop precedence): a table of DSCPs, 0 to 63, each with "green", "yellow"
    or "red", like `{ 10 = "green", 12 = "yellow", 14 = "red" }`. Default: all are "green".
    """
    pfc_to_queue: Sequence[int] | None
    """Map from PFC priority to queue: the queue that a received pause of each priority stops. Default:
    the queue of the traffic class of the same number.
    """
    pfc_to_group: Sequence[int] | None
    """Map from PFC priority to priority group: the group whose occupancy triggers pauses of each
    priority. Default: the group of the traffic class of the same number.
    """
    remap: Sequence[RemapKeys] | None
    """DSCP rewriting of frames to some neighbours, as at tunnel endpoints: a list of tables of `to` and
    `dscp`. Default: none.
    """


class RemapKeys(TypedDict, total=False):
    """DSCP rewriting of frames to some neighbours."""

    to: Required[Sequence[str]]
    """Neighbours: a list of names, ranges or patterns of hosts and switches."""
    dscp: Required[Mapping[str, int]]
    """Map from old to new DSCP: a table of numbers, 0 to 63, like `{ 3 = 2, 4 = 6 }`."""


BufferKeys = TypedDict(
    "BufferKeys",
    {
        "total": "str | None",
        "port": "str | None",
        "class": "str | None",
        "queue": "str | None",
        "dynamic_threshold": "DynamicThresholdKeys | None",
        "memory": "MemoryKeys | None",
    },
    total=False,
)
"""Packet buffer of a switch."""


class DynamicThresholdKeys(TypedDict, total=False):
    """Dynamic thresholds (Choudhury and Hahne 1998): the `total` of the buffer is one memory that all
    queues share.
    """

    alpha: float | None
    """Threshold of a queue, as a multiple of the free shared memory. Default: 1.0."""
    minimum: str | None
    """Memory reserved for each queue: each traffic class of each egress port and, if flow control counts
    at the ingress, each lossless priority of each ingress port (with PAUSE, all priorities of the
    port together). Default: "0 B".
    """
    headroom: str | None
    """Memory reserved for lossless classes above the threshold, for the data in flight on all links of
    the switch after XOFF. Default: "0 B".
    """
    resume_offset: str | None
    """Distance of the XON level below the threshold of a queue. Default: "0 B"."""


class MemoryKeys(TypedDict, total=False):
    """Pools of the memory of a switch, and the limits of groups and queues in them."""

    pools: Required[Mapping[str, PoolKeys]]
    """Pools by name."""
    profiles: Required[Mapping[str, ProfileKeys]]
    """Profiles by name."""
    attach: Required[Sequence[AttachmentKeys]]
    """Attachments of profiles to the priority groups and queues of ports."""
    groups: Sequence[int] | None
    """The priority group of each priority: eight numbers, 0 to 7. Default: its own number."""


class PoolKeys(TypedDict, total=False):
    """A pool."""

    side: Required[Side]
    """Side on which the pool counts frames: by the port through which they arrived ("ingress") or
    through which they leave ("egress").
    """
    size: Required[str]
    """Memory shared by the queues of the pool, excluding headroom and reserved memory."""
    mode: PoolMode | None
    """Limit of profiles with neither `alpha` nor `threshold`: "dynamic" (alpha of 1) or "static" (the
    size of the pool). Default: "dynamic".
    """
    headroom: str | None
    """Headroom that all groups of an ingress pool share. Default: none."""


class ProfileKeys(TypedDict, total=False):
    """A profile."""

    pool: Required[str]
    """The pool of the profile."""
    reserved: str | None
    """Memory reserved for each group or queue with this profile. Default: "0 B"."""
    alpha: float | None
    """Limit of shared memory, as a multiple of the free memory of the pool. Default: by the mode of the
    pool.
    """
    threshold: str | None
    """The limit in bytes, in place of `alpha`. Default: by the mode of the pool."""
    headroom: str | None
    """Headroom: memory of a group above its limit, for frames that arrive after XOFF. Default: "0 B"."""
    xon: str | None
    """Lowest XON level: a paused group sends XON when its occupancy is at or below this level, or the
    level of `xon_offset` if that is higher. Default: its reserved memory.
    """
    xon_offset: str | None
    """Distance of the XON level below XOFF, if that level is above `xon`. Default: "0 B"."""
    discard_action: DiscardAction | None
    """Action on frames for which a queue with this egress profile has no room: "drop", or "trim", as
    `trimming` of the switch defines. Default: "drop".
    """


class AttachmentKeys(TypedDict, total=False):
    """Assignment of a profile to groups or queues."""

    profile: Required[str]
    """Attached profile."""
    groups: Sequence[int] | None
    """Priority groups, for an ingress profile. Default: all."""
    queues: Sequence[int] | None
    """Queues, for an egress profile. Default: all."""
    ports: PortSet | None
    """Only at these ports: "up" (away from the hosts), "down" (towards the hosts), "hosts" or "switches"
    (by the neighbour), or a list of names, like "leaf0.4->spine0", "*->spine0", or "leaf0" for all of
    a switch. Default: any.
    """
    to: Sequence[str] | None
    """Only at ports to these hosts and switches. Default: any."""
    rate: str | None
    """Only at ports of this rate. Default: any."""
    length: str | None
    """Only at ports whose cable is at most this long. Default: any."""


class ManagerEntryKeys(TypedDict, total=False):
    """A queue manager and the traffic classes whose queues it manages: exactly one of them."""

    classes: Sequence[int] | None
    """Traffic classes, 0 to 7 each. Default: all that no other entry names."""
    ports: PortSet | None
    """Only at these ports: "up" (away from the hosts), "down" (towards the hosts), "hosts" or "switches"
    (by the neighbour), or a list of names, like "leaf0.4->spine0", "*->spine0", or "leaf0" for all of
    a switch. Default: any.
    """
    rate: str | None
    """Only at ports of this rate. Default: any."""
    length: str | None
    """Only at ports whose cable is at most this long. Default: any."""
    red: RedKeys | None
    """Random early detection (Floyd and Jacobson 1993)."""
    step: StepParamsKeys | None
    """Step marking: marks frames while the queue is longer than a threshold."""
    sampling: SamplingParamsKeys | None
    """A sampling notifier: notifies the sources of a long queue."""
    qcn: CongestionPointKeys | None
    """A congestion point of quantised congestion notification (QCN, IEEE 802.1Qau)."""
    bcn: BackwardPointKeys | None
    """A congestion point of backward congestion notification (BCN)."""
    fecn: RatePointKeys | None
    """A congestion point of forward explicit congestion notification (FECN, E-FECN)."""
    prc: PathPointKeys | None
    """A congestion point of layer-2 congestion information (L2CI), for path rate control (PRC)."""


class RedKeys(TypedDict, total=False):
    """Keys of random early detection."""

    weight: float | None
    """Weight of a sample in the moving average of the queue length (w). Default: 0.002."""
    min: str | None
    """Minimum threshold: no frame is selected while the average is below. Default: "5 frames"."""
    max: str | None
    """Maximum threshold: average at which the maximum probability is reached. Default: "15 frames"."""
    max_probability: float | None
    """Probability at the maximum threshold. Default: 0.02."""
    gentle: bool | None
    """If true, the probability rises to 1 between `max` and twice `max`. Default: true."""
    mode: Mode | None
    """Unit to which the probability applies: each "frame", or each "byte", so that long frames are
    selected more often. Default: "frame".
    """
    spacing: Spacing | None
    """Distribution of the gaps between selected frames: "geometric" (each frame independently),
    "uniform" (gaps up to 1/p frames, equally likely) or "wait" (gaps of 1/p to 2/p frames). Default:
    "uniform".
    """
    action: Action | None
    """Action on a selected frame: "drop", "mark" (drops frames that are not ECN-capable) or "mark_only"
    (never drops a frame). Default: "drop".
    """
    mark_above_max: bool | None
    """If true, frames are marked rather than dropped even where every frame is selected. Default: false."""
    mean_frame: str | None
    """Mean frame length, for the idle decay and for byte mode. Default: "500 B"."""
    counts: Counts | None
    """Frames included in the queue length: those that wait ("without_frame"), or also the arriving one
    ("with_frame"). Default: "without_frame".
    """
    idle_exponent: IdleExponent | None
    """Number of decay steps of the average after an idle time in which m mean frames could have been
    sent: "elapsed" (m) or "elapsed_and_arrival" (m + 1, as in ns-2). Default: "elapsed".
    """
    at: Moment | None
    """Time of the decision, based on the queue at that time: when a frame enters ("enqueue") or leaves
    ("dequeue"). Default: "enqueue".
    """
    reference_rate: str | None
    """Port rate for which `min` and `max` are given. Default: none."""
    yellow: ColorKeysKeys | None
    """Settings for frames of yellow flows, where they differ: a table of `min`, `max`, `max_probability`
    and `action`. Default: none.
    """
    red: ColorKeysKeys | None
    """Settings for frames of red flows, where they differ: a table of `min`, `max`, `max_probability`
    and `action`. Default: none.
    """


class ColorKeysKeys(TypedDict, total=False):
    """Settings of RED for frames of one color."""

    min: str | None
    """Minimum threshold for frames of this color. Default: that for green frames."""
    max: str | None
    """Maximum threshold for frames of this color. Default: that for green frames."""
    max_probability: float | None
    """Probability at the maximum threshold. Default: that for green frames."""
    action: Action | None
    """Action on a selected frame of this color: "drop", "mark" or "mark_only". Default: that for green
    frames.
    """


class StepParamsKeys(TypedDict, total=False):
    """Keys of step marking."""

    threshold: Required[str]
    """Marking threshold (K): frames are marked while the queue is longer."""
    at: Moment | None
    """Time at which the queue is measured: when a frame enters ("enqueue") or leaves ("dequeue").
    Default: "enqueue".
    """
    counts: Counts | None
    """Frames included in the queue length: those that wait ("without_frame"), or also the one being
    enqueued or dequeued ("with_frame"). Default: "without_frame".
    """
    reference_rate: str | None
    """Port rate for which `threshold` is given. Default: none."""


class SamplingParamsKeys(TypedDict, total=False):
    """Keys of the sampling notifier."""

    threshold: Required[str]
    """Queue length, including the arriving frame, from which on arriving frames are counted."""
    every: int | None
    """Sampling interval: one in this many counted frames causes a message to its source, starting with
    the first. Default: 100.
    """


class CongestionPointKeys(TypedDict, total=False):
    """Keys of a congestion point of QCN."""

    set_point: str | None
    """Target length of the queue. Default: "26000 B"."""
    weight: float | None
    """Weight of the growth of the queue relative to its length (w). Default: 2."""
    sample_base: str | None
    """Bytes between samples while there is no congestion. Default: "150000 B"."""
    sampling: Samples | None
    """Sampling of frames: "regular" (at an interval in bytes, IEEE 802.1Q) or "random" (each frame
    independently, with the probability frame length / interval. Default: "regular".
    """
    jitter_share: float | None
    """Jitter of the sampling interval, in either direction, as a fraction. Default: 0.15."""
    message_priority: int | None
    """Priority of the congestion messages. Default: 7."""
    header_length: str | None
    """Maximum number of octets of the sampled frame in a message, starting at its EtherType field.
    Default: "0 B".
    """
    answer_untagged: bool | None
    """If true, frames without a CN-TAG cause messages too. Default: true."""
    scope: Scope | None
    """Scope of a congestion point: "queue" (one for each queue, as in IEEE 802.1Q), or "port" (one for
    all queues of a port: it samples frames of every priority, and its queue length is the sum over
    the queues. Default: "queue".
    """
    counts: Counts | None
    """Frames included in the queue length: those that wait ("without_frame"), or also the one being
    enqueued ("with_frame"). Default: "with_frame".
    """


class BackwardPointKeys(TypedDict, total=False):
    """Keys of a congestion point of BCN."""

    set_point: str | None
    """Target length of the queue. Default: "24000 B"."""
    weight: float | None
    """Weight of the growth of the queue relative to its length (w). Default: 2."""
    sample_every: int | None
    """Sampling interval: one in this many frames is sampled. Default: 100."""
    sampling: Samples | None
    """Sampling of frames: every n-th ("regular"), or each with the probability 1/n ("random"). Default:
    "regular".
    """
    severe: str | None
    """Severe threshold: a longer queue stops the sources of sampled frames. Default: "135000 B"."""
    message_priority: int | None
    """Priority of the congestion messages. Default: 7."""


class RatePointKeys(TypedDict, total=False):
    """Keys of a congestion point of FECN."""

    interval: str | None
    """Interval at which the advertised rate is recomputed (T). Default: "1 ms"."""
    long_interval: str | None
    """Length of the next interval after an interval with a load close to 1. Default: "never"."""
    near_share: float | None
    """Maximum deviation from 1 of a load that counts as close to 1, without queue control. Default:
    0.05.
    """
    phase: Phase | None
    """Start of the intervals: at multiples of their length ("aligned"), or at a random time within the
    first ("random"). Default: "aligned".
    """
    expected_sources: float | None
    """Number of sources assumed initially (N0): the first advertised rate is the link rate divided by
    it. Default: 20.
    """
    set_point: str | None
    """Target length of the queue (Qeq). Default: "24000 B"."""
    severe: str | None
    """Severe threshold (Qsc): above it the limit of increases shrinks, and severe messages are sent.
    Default: "72000 B".
    """
    queue_control: QueueControl | None
    """Queue control: the function f is "hyperbolic" or "linear". Default: "hyperbolic"."""
    above_set_point: float | None
    """Steepness of the hyperbola above the set point (a). Default: 1.1."""
    below_set_point: float | None
    """Steepness of the hyperbola below the set point (b). Default: 1.002."""
    slope: float | None
    """Slope of the line, or gain of "additive" (k). Default: 0.1."""
    floor: float | None
    """Lower bound of f, for hyperbola and line. Default: 0.1."""
    average_weight: float | None
    """Weight of the newest rate in the moving average (alpha). Default: 0.5."""
    average_with: AverageWith | None
    """Rate that gets the remaining weight of the average: the last but one ("previous", as printed in
    the paper), or the last ("last"). Default: "previous".
    """
    limit_increase: bool | None
    """If true, increases of the rate are limited. Default: true."""
    min_increase_share: float | None
    """Lower bound of the limit of increases, as a fraction of the link rate. Default: 0.001."""
    max_increase_share: float | None
    """Upper bound of the limit of increases, as a fraction of the link rate. Default: 1."""
    scope: RateScope | None
    """Scope of an advertised rate: a "queue". Default: "queue"."""
    capacity: Capacity | None
    """Capacity with which arrivals are compared (C): the link rate ("link"), bits transmitted divided by
    the busy time of the queue ("measured"), or "computed": measured where a scheduler divides the
    link among classes by weight and each class has its own rate, otherwise the link rate. Default:
    "computed".
    """
    follow_capacity: bool | None
    """If true, the advertised rate falls in proportion when the capacity falls. Default: true."""
    load: Load | None
    """Bytes of an arriving frame that count as load: "wire" (with line overhead) or "frame" (DA to FCS).
    Default: "wire".
    """
    idle: Idle | None
    """Effect of an interval without arrivals on the advertised rate: "hold" (none), or "raise"
    (increases it by the limit of increases). Default: "hold".
    """
    stamp_at: Moment | None
    """Time at which tags are written: when their frame enters ("enqueue") or leaves ("dequeue") the
    queue. Default: "dequeue".
    """
    min_share: float | None
    """Lower bound of the advertised rate, as a fraction of the link rate. Default: 0.001."""
    severe_messages: bool | None
    """If true, frames that arrive above the severe threshold cause a message to their source (E-FECN).
    Default: false.
    """
    severe_every: int | None
    """Number of such frames per message. Default: 1."""
    message_priority: int | None
    """Priority of these messages. Default: 7."""


class PathPointKeys(TypedDict, total=False):
    """Keys of a congestion point of L2CI."""

    buffer: str | None
    """Buffer of a port: queue length, over all classes of the port, that corresponds to a level of 100
    %. Default: "64 KiB".
    """
    messages: bool | None
    """If true, the congestion point sends messages to sources (method 2). Default: false."""
    first_share: float | None
    """Level, as a fraction of `buffer`, above which frames cause messages. Default: 0.16."""
    every_share: float | None
    """Level, as a fraction of `buffer`, above which every frame causes a message. Default: 0.8."""
    spacing: str | None
    """Minimum time between two messages. Default: "10 us"."""
    message_priority: int | None
    """Priority of the congestion messages. Default: 7."""


class TrimmingKeys(TypedDict, total=False):
    """Packet trimming of a switch."""

    preset: TrimmingPreset | None
    """Variant that sets the defaults of the other keys: "sonic" (trims a frame for which there is no
    buffer space, to 128 B), "uec" (trims a frame above `threshold`, to 66 B: 24 B of IP payload) or
    "htsim" (trims a frame above `threshold`, or the last one of its queue, to 64 B). Default:
    "sonic".
    """
    size: str | None
    """Length of a trimmed frame, DA to FCS. Default: by the preset."""
    dscp: int | None
    """DSCP of trimmed frames. Default: 48."""
    dscp_to: Sequence[TrimmingDscpKeys] | None
    """Different DSCPs for frames trimmed at ports to certain neighbours, like SONiC's "from-tc": a list
    of tables of `to` and `dscp`. Default: none.
    """
    queues: Sequence[int] | None
    """Queues whose frames are trimmed. Default: those whose profile has `discard_action` = "trim";
    without `buffer.memory`, all lossy queues except the queue of trimmed frames.
    """
    threshold: str | None
    """Limit of a queue. Default: none with "sonic"."""
    last_hop_threshold: str | None
    """Limit of a queue at a port to a host. Default: `threshold`; with "uec" 1.5 of it."""
    header_limit: str | None
    """Limit of the queue of trimmed frames. Default: none."""
    reference_rate: str | None
    """Port rate for which `threshold`, `last_hop_threshold` and `header_limit` are given. Default: none."""
    victim: Victim | None
    """Frame that is trimmed above `threshold`: the arriving frame ("arriving"), or with equal
    probability the arriving frame or the last frame of the queue ("random"). Default: "arriving";
    with "htsim" "random".
    """
    last_hop: bool | None
    """If true, frames trimmed at ports to hosts carry a separate mark, such as another DSCP. Default:
    false with "sonic", else true.
    """


class TrimmingDscpKeys(TypedDict, total=False):
    """DSCP of frames trimmed at ports to certain neighbours."""

    to: Required[Sequence[str]]
    """The neighbours: a list of names, ranges or patterns of hosts and switches."""
    dscp: Required[int]
    """DSCP of frames trimmed at ports to these neighbours."""


class LinkKeys(TypedDict, total=False):
    """Settings of all links, in both directions."""

    llr: Llr | None
    """Link-level retry (Ultra Ethernet): "on", "off", or a table of its keys. Default: "off"."""


class LlrSettingsKeys(TypedDict, total=False):
    """Keys of link-level retry."""

    outstanding_frames_max: int | None
    """Limit of unacknowledged frames. Default: 2047."""
    outstanding_bytes_max: str | None
    """Limit of unacknowledged bytes, at which no further frame is sent. Default: "1 MiB"."""
    replay_timer_max: str | None
    """Replay timer: time without an acknowledgement after which all outstanding frames are
    retransmitted. Default: "10 us".
    """
    replay_count_max: int | None
    """Maximum number of consecutive replays without progress. Default: 255."""
    pcs_lost_timeout: str | None
    """Outage of the link after which the replay buffer is flushed. Default: "0 s"."""
    data_age_timeout: str | None
    """Time for which a frame may be unacknowledged before the replay buffer is flushed. Default: "0 s"."""
    init_llr_frame_action: FrameAction | None
    """Treatment of frames during initialisation, which takes one round trip of the link: "discard",
    "block" or "best_effort". Default: "best_effort".
    """
    flush_llr_frame_action: FrameAction | None
    """Treatment of frames after a flush: "discard", "block" or "best_effort". Default: "best_effort"."""
    re_init_on_flush: bool | None
    """If true, LLR reinitialises after a flush due to replays or age. Default: true."""
    ctlos_target_spacing: str | None
    """Target spacing of acknowledgements on the link. Default: "2048 B"."""
    priorities: Sequence[int] | None
    """Priorities whose frames are eligible for LLR. Default: all."""


class NamedLinkKeys(TypedDict, total=False):
    """Settings of single links, in both directions."""

    llr: Llr | None
    """Link-level retry (Ultra Ethernet): "on", "off", or a table of its keys. Default: the value in
    `link`.
    """
    delay: str | None
    """One-way delay of the cable, in place of the one in the topology. Default: the delay in the
    topology.
    """


class WatchdogKeys(TypedDict, total=False):
    """Pause-storm watchdog (PFC watchdog): reports a queue that is paused for too long, drops its
    frames, or ignores the pauses.
    """

    detection_time: str | None
    """Detection time: a queue that has been paused for this time without interruption, with frames
    waiting, is in a storm. Default: "200 ms".
    """
    restoration_time: str | None
    """Restoration time: a storm ends when the queue has not been paused for this time. Default: "200
    ms".
    """
    action: StormAction | None
    """Action during a storm: "report" only, "drop" the queued and arriving frames, or "forward", which
    ignores the pauses. Default: "drop".
    """


class ReceiversTable(TypedDict, total=False):
    """Exactly one of these."""

    uniform: Nodes
    """Uniform: each frame to one of these hosts, drawn with equal probability, never to the sender."""
    hot_spot: HotSpotKeys
    """Hot spot: each frame to one host with a given probability, otherwise to any other host."""
    permutation: Permutation
    """Permutation: each sender has its own destination, and each destination one sender."""
    multicast: Nodes
    """Multicast: each frame to all of these hosts, never to the sender."""


class FrameUniformKeys(TypedDict, total=False):
    """Uniform distribution of all lengths from `min` to `max`."""

    min: Required[str]
    """Minimum length."""
    max: Required[str]
    """Maximum length."""


class FrameBimodalKeys(TypedDict, total=False):
    """Two lengths."""

    small: Required[str]
    """Smaller length."""
    large: Required[str]
    """Larger length."""
    small_share: Required[float]
    """Probability of `small`."""


class FrameExponentialKeys(TypedDict, total=False):
    """Exponential distribution, clipped to a range: a length outside is replaced by the nearest limit."""

    mean: Required[str]
    """Mean of the clipped lengths."""
    min: str | None
    """Minimum length. Default: "64 B"."""
    max: str | None
    """Maximum length. Default: "1522 B"."""


class FrameLogNormalKeys(TypedDict, total=False):
    """Log-normal distribution, clipped to a range: a length outside is replaced by the nearest limit."""

    mean: Required[str]
    """Mean of the clipped lengths."""
    sigma: Required[float]
    """Standard deviation of the natural logarithm of the length before clipping."""
    min: str | None
    """Minimum length. Default: "64 B"."""
    max: str | None
    """Maximum length. Default: "1522 B"."""


class FrameBoundedParetoKeys(TypedDict, total=False):
    """Pareto distribution, truncated at the maximum: a greater length is drawn again."""

    shape: Required[float]
    """Shape parameter: the smaller it is, the larger is the share of bytes in a few long frames."""
    min: str | None
    """Minimum length. Default: "64 B"."""
    max: str | None
    """Maximum length. Default: "1522 B"."""


class FrameTable(TypedDict, total=False):
    """Exactly one of these."""

    uniform: FrameUniformKeys
    """Uniform distribution of all lengths from `min` to `max`."""
    bimodal: FrameBimodalKeys
    """Two lengths."""
    exponential: FrameExponentialKeys
    """Exponential distribution, clipped to a range: a length outside is replaced by the nearest limit."""
    log_normal: FrameLogNormalKeys
    """Log-normal distribution, clipped to a range: a length outside is replaced by the nearest limit."""
    bounded_pareto: FrameBoundedParetoKeys
    """Pareto distribution, truncated at the maximum: a greater length is drawn again."""
    empirical: str
    """Empirical distribution: the path of a CSV file with the columns `bytes` and `weight`, relative to
    the scenario.
    """


class SourceTable(TypedDict, total=False):
    """Exactly one of these."""

    constant: ConstantKeys
    """One frame every `bytes * 8 / rate`."""
    bernoulli: BernoulliKeys
    """A frame with a fixed probability in each frame time of the link."""
    poisson: PoissonKeys
    """Exponential gaps between frames."""
    on_off: OnOffKeys
    """Frames at the peak rate during random on periods, none during random off periods."""
    threads: ThreadsKeys
    """Threads that send in a loop, with a delay after a burst."""
    streams: StreamsKeys
    """Many streams at a constant rate, with random phases."""
    bursts: BurstsKeys
    """Bursts of frames at once to one destination, with exponential gaps."""
    video: VideoKeys
    """Video: pictures at a fixed interval, cut into frames."""
    window: WindowKeys
    """A transfer with a window and cumulative acknowledgements."""
    request_response: RequestResponseKeys
    """Requests and responses."""
    tcp: TcpKeys
    """A transfer over TCP, or several."""
    conversation: ConversationKeys
    """Exchanges of messages over TCP or RDMA."""
    mpi_exchange: MpiExchangeKeys
    """Steps of the ranks of MPI in a ring, over TCP or RDMA."""
    fcoe: FcoeKeys
    """Exchanges of Fibre Channel over Ethernet (FCoE)."""
    rdma: RdmaKeys
    """Messages over RDMA (RoCEv2)."""
    uet: UetKeys
    """Messages over Ultra Ethernet Transport (UET)."""


class FlowKeys(TypedDict, total=False):
    """A flow, or one flow per sender if `from` selects several hosts."""

    from_: Required[Nodes]
    """Sender: the name of a host, "all" hosts, a pattern, or a list of these."""
    to: Required[Receivers]
    """Destination of the frames: a host."""
    priority: int | None
    """Priority of all frames (IEEE 802.1Q). Default: 0."""
    dscp: int | None
    """DSCP of all frames (RFC 2474), which the `maps` of switches convert to a traffic class. Default:
    none.
    """
    color: Color | None
    """Color (drop precedence) of all frames, as marked by a meter at the edge: "green", "yellow" or
    "red". Default: color of the DSCP in `switch.maps.dscp_to_color`, otherwise "green".
    """
    channel: str | None
    """Virtual channel of all frames on links with credit-based flow control: a name, or a number as
    text, among the `channels` of `[flow_control.credit]`. Default: the channel of the priority.
    """
    bypassable: bool | None
    """If true, frames that lack credits may be bypassed by other frames of their virtual channel
    (`channels` of credits, "B0" to "B7"). Default: false.
    """
    frame: Frame | None
    """Length of frames, DA to FCS: a size with unit, 1 to 9238 B. Default: "1522 B"."""
    start: str | None
    """Start time of the source. Default: "0 s"."""
    stop: str | None
    """Stop time of the source. Default: the duration of the simulation."""
    source: Required[Source]
    """Traffic source: "greedy", or a table `constant`, `bernoulli`, `poisson`, `on_off`, `threads`,
    `streams`, `bursts` or `video` (open loop).
    """
    rate_counts: RateBasis | None
    """Bits that count towards the rate of the source: "frame" (DA to FCS) or "wire" (with the line
    overhead of the sender's link). Default: "frame".
    """
    limit: str | None
    """Total bytes that each sender sends. Default: "unlimited"."""
    jitter: str | None
    """Maximum random delay of each frame, uniformly distributed from 0. Default: "0 s"."""
    script: Sequence[StepKeys] | None
    """Changes of the source during the simulation, in order of time. Default: none."""
    ports: PortKeys | None
    """UDP ports, or TCP ports of a closed-loop source: a table of `from` and `to`. Default: none."""
    route: Sequence[str] | None
    """Explicit route: names of the nodes to pass in order, from the first switch to the destination.
    Default: a shortest path; among several, a hash of the five-tuple, `path_seed` and the switch
    selects one.
    """


class HotSpotKeys(TypedDict, total=False):
    """Hot spot: a preferred destination."""

    host: Required[str]
    """Preferred host."""
    share: Required[float]
    """Probability that a frame goes to the preferred host."""


class ShiftKeys(TypedDict, total=False):
    """Rotation: the i-th sender sends to the (i + shift)-th."""

    shift: Required[int]
    """Distance of the rotation, in senders."""


class ConstantKeys(TypedDict, total=False):
    """One frame every `bytes * 8 / rate`."""

    rate: Required[str]
    """Rate of the source."""
    random_phase: bool | None
    """If true, the first frame is sent at a random time within the first interval. Default: true."""


class BernoulliKeys(TypedDict, total=False):
    """A frame with a fixed probability in each frame time of the link."""

    rate: Required[str]
    """Mean rate of the source."""


class PoissonKeys(TypedDict, total=False):
    """Exponential gaps between frames."""

    rate: Required[str]
    """Mean rate of the source."""


class PeriodParetoKeys(TypedDict, total=False):
    """Pareto, truncated: no period is longer than 100 times `mean`."""

    mean: Required[str]
    """Mean of the truncated periods: the maximum is 100 times the mean, and the minimum is chosen to
    give this mean.
    """
    shape: Required[float]
    """Shape parameter: the smaller it is, the larger is the share of time in a few long periods."""


class PeriodTable(TypedDict, total=False):
    """Exactly one of these."""

    exponential: str
    """Exponential with this mean."""
    pareto: PeriodParetoKeys
    """Pareto, truncated: no period is longer than 100 times `mean`."""


class OnOffKeys(TypedDict, total=False):
    """Frames at the peak rate during random on periods, none during random off periods."""

    peak: Required[str]
    """Peak rate, during an on period."""
    on: Required[Period]
    """Length of an on period."""
    off: Required[Period]
    """Length of an off period."""


class ThreadsKeys(TypedDict, total=False):
    """Threads that send in a loop."""

    rate: Required[str]
    """Rate of one thread while it is neither blocked nor in a delay."""
    count: int | None
    """Number of threads. Default: 1."""
    burst: int | None
    """Number of frames that a thread sends between two delays. Default: 1."""
    delay: str | None
    """Delay of a thread after a burst. Default: "0 s"."""
    random_phase: bool | None
    """If true, each thread starts at a random time within its first cycle. Default: true."""


class StreamsKeys(TypedDict, total=False):
    """Many streams at a constant rate, with random phases."""

    rate: Required[str]
    """Rate of each stream."""
    count: int | None
    """Number of streams. Default: 1."""
    counted: bool | None
    """If true, the table `streams` lists each stream, by destination. Default: false."""


class BurstsKeys(TypedDict, total=False):
    """Bursts of frames at once to one destination, with exponential gaps."""

    rate: Required[str]
    """Mean rate of the source."""
    frames: int | None
    """Number of frames in a burst. Default: 60."""


class VideoKeys(TypedDict, total=False):
    """Video: pictures at a fixed interval, cut into frames."""

    rate: Required[str]
    """Mean rate of each stream, in bits of frames from DA to FCS, independent of `rate_counts`."""
    count: int | None
    """Number of streams. Default: 1."""
    counted: bool | None
    """If true, the table `streams` lists each stream, by destination. Default: false."""
    interval: str | None
    """Time between two pictures of a stream. Default: "40 ms"."""
    pattern: str | None
    """Sequence of picture types for the generator: letters I, P and B, 1 to 300. Default:
    "IBBPBBPBBPBB".
    """
    trace: str | None
    """Path of a CSV file, relative to the scenario, that replaces the generator. Default: none."""


class WindowKeys(TypedDict, total=False):
    """A transfer with a window and cumulative acknowledgements."""

    size: str | None
    """Size of the window: bytes (DA to FCS) or full segments in flight. Default: "unlimited"."""
    rate: str | None
    """Pacing rate (bits of frames, DA to FCS). Default: "unlimited"."""
    ack: str | None
    """Length of an acknowledgement, DA to FCS. Default: "64 B"."""
    ack_every: int | None
    """Segments per acknowledgement: every n-th segment is acknowledged immediately. Default: 1."""
    ack_delay: str | None
    """Maximum delay of an acknowledgement, if `ack_every` is above 1. Default: "500 us"."""
    timeout: str | None
    """Time without progress after which all data in flight is retransmitted (go-back-N). Default:
    "never".
    """
    ecn: bool | None
    """If true, segments are ECN-capable, and switches may mark them. Default: false."""


class DelayTable(TypedDict, total=False):
    """Exactly one of these."""

    exponential: str
    """Exponential with this mean."""


class RequestResponseKeys(TypedDict, total=False):
    """Requests and responses."""

    request: Required[str]
    """Bytes of a request, divided into segments."""
    response: Required[str]
    """Bytes of a response, divided into segments."""
    outstanding: int | None
    """Number of requests in progress at the same time. Default: 1."""
    think: Delay | None
    """Think time of a slot, from a response to the next request: a time with unit, or a table
    `exponential`. Default: "0 s".
    """
    service: Delay | None
    """Service time, from a request to its response at the server: a time with unit, or a table
    `exponential`. Default: "0 s".
    """
    timeout: str | None
    """Time without progress after which a request is repeated. Default: "never"."""
    ecn: bool | None
    """If true, frames are ECN-capable, and switches may mark them. Default: false."""
    tcp: TcpKeys | None
    """Keys of TCP for both directions of one connection, except `transfer`, `idle` and `reconnect`, and
    with `mpi_exchange` also except `handshake`. Default: where none is given, all those of the preset
    "rfc".
    """
    rdma: RdmaKeys | None
    """Keys of RDMA for both directions, with one queue pair per direction, except `message`,
    `queue_pairs` and `ack_priority`. Default: none.
    """
    uet: UetKeys | None
    """Keys of Ultra Ethernet Transport for both directions, with one packet delivery context per
    direction, except `message` and `ack_priority`. Default: none.
    """


class TcpControllerTable(TypedDict, total=False):
    """Exactly one of these."""

    cubic: CubicKeys
    """A window that is a cubic function of time."""
    dctcp: DctcpKeys
    """Reduces its window by how much is marked."""


class TcpKeys(TypedDict, total=False):
    """A transfer over TCP."""

    preset: TcpPreset | None
    """Preset that sets the defaults of the other keys. Default: "rfc"."""
    controller: TcpController | None
    """Congestion control: "aimd" (slow start and congestion avoidance), "cubic" or "dctcp", or a table
    of one of the last two with its keys. Default: "aimd".
    """
    recovery: LossRecoveryKind | None
    """Loss recovery: "tahoe", "reno", "newreno" or "sack". Default: "sack"."""
    initial_window: str | None
    """Initial window: bytes of data or full segments, at least one. Default: "10 frames"."""
    initial_threshold: str | None
    """Initial slow start threshold (ssthresh). Default: "unlimited"."""
    growth: Growth | None
    """Unit of window growth: "acks" (each acknowledgement, RFC 5681) or "bytes" (the bytes acknowledged,
    RFC 3465). Default: "bytes".
    """
    grows_unused: bool | None
    """If true, the window also grows while less than half of it is in flight. Default: false."""
    receive_window: str | None
    """Receive window: bytes of data, or full segments, that the receiver accepts beyond the acknowledged
    data. Default: "unlimited".
    """
    window_scaling: bool | None
    """If true, windows above 65535 B can be advertised (RFC 7323 section 2). Default: true."""
    send_buffer: str | None
    """Send buffer: bytes of data, or full segments, that the sender keeps until they are acknowledged.
    Default: "unlimited".
    """
    headers: str | None
    """Bytes of headers in a frame, DA to FCS, without options. Default: "62 B"."""
    ack: str | None
    """Minimum length of an acknowledgement, DA to FCS. Default: "64 B"."""
    ack_every: int | None
    """Segments per acknowledgement: every n-th in-order segment is acknowledged immediately. Default: 2."""
    ack_delay: str | None
    """Maximum delay of an acknowledgement. Default: "500 us"."""
    duplicates: int | None
    """Number of duplicate acknowledgements that indicate a loss. Default: 3."""
    limited_transmit: bool | None
    """If true, the first duplicate acknowledgements release new segments (limited transmit, RFC 3042).
    Default: true.
    """
    impatient: bool | None
    """If true, NewReno resets its timer only for the first partial acknowledgement (RFC 6582 section 4).
    Default: true.
    """
    proportional: bool | None
    """If true, recovery sends in proportion to the data delivered (PRR, RFC 6937). Default: false."""
    ecn: EcnMode | None
    """ECN: "off", "rfc3168" (a CE mark is echoed until the sender reduces its window) or "dctcp" (each
    CE mark is echoed). Default: "off".
    """
    timestamps: bool | None
    """If true, segments carry timestamps, 12 B each, and each acknowledgement measures the round-trip
    time (RFC 7323). Default: false.
    """
    min_timeout: str | None
    """Minimum retransmission timeout. Default: "1 s"."""
    initial_timeout: str | None
    """Initial retransmission timeout, before the first round-trip measurement. Default: "1 s"."""
    max_timeout: str | None
    """Maximum retransmission timeout. Default: "60 s"."""
    tick: str | None
    """Timer granularity: length of the ticks in which round-trip times and timeouts are measured, with a
    random phase for each connection. Default: "0 s".
    """
    restart_after_idle: bool | None
    """If true, the window is reset to the initial one after an idle time longer than the timeout (RFC
    5681 section 4.1). Default: true.
    """
    send_jitter: str | None
    """Maximum random delay of the segments that an event releases, uniformly distributed from 0.
    Default: "0 s".
    """
    handshake: bool | None
    """If true, a connection begins with a handshake (SYN). Default: false."""
    transfer: str | None
    """Bytes of each transfer. Default: "unlimited"."""
    idle: Delay | None
    """Idle time from the end of a transfer to the start of the next: a time with unit, or a table
    `exponential`. Default: "0 s".
    """
    reconnect: bool | None
    """If true, each transfer opens a new connection. Default: false."""


class CubicKeys(TypedDict, total=False):
    """Keys of cubic."""

    scaling: float | None
    """Scaling constant C of the cubic function, in segments / s^3. Default: 0.4."""
    beta: float | None
    """Multiplicative decrease factor: fraction of the window that remains after a loss. Default: 0.7."""
    fast_convergence: bool | None
    """If true, a loss before the window reaches W_max again reduces W_max further (fast convergence).
    Default: true.
    """
    friendly: bool | None
    """If true, the window is at least that of a Reno flow with the same mean (Reno-friendly region).
    Default: true.
    """


class DctcpKeys(TypedDict, total=False):
    """Keys of dctcp."""

    gain: float | None
    """Weight g of the newest window in alpha. Default: 0.0625."""
    alpha: float | None
    """Initial value of alpha. Default: 1."""


class RdmaControlTable(TypedDict, total=False):
    """Exactly one of these."""

    dcqcn: DcqcnKeys
    """Rates that CNPs cut, and time and bytes bring back."""
    dctcp: RdmaDctcpKeys
    """A rate that is cut by the share of packets that are marked."""
    timely: TimelyKeys
    """A rate that follows the gradient of the round-trip time."""
    swift: SwiftKeys
    """A window that holds the round trip at a target."""
    hpcc: HpccKeys
    """A window that holds the busiest link of its path at a share of its rate, by telemetry."""
    hpcc_pint: HpccPintKeys
    """A window that holds the busiest link of its path at a share of its rate, by one byte of telemetry."""
    powertcp: PowerTcpKeys
    """A window that follows the power of its path, by telemetry."""
    theta_powertcp: ThetaPowerTcpKeys
    """A window that follows the power of its path, by round trips alone."""


class RdmaRecoveryTable(TypedDict, total=False):
    """Exactly one of these."""

    reordering: ReorderingKeys
    """The receiver places packets that arrive out of order."""


class PathSelectionTable(TypedDict, total=False):
    """Exactly one of these."""

    oblivious: ObliviousKeys
    """All values in turn, in another order each round."""
    random_spray: RandomSprayKeys
    """A random value for each packet (OPS)."""
    bitmap: BitmapKeys
    """All values in turn, but those with a score of marks, trims and timeouts (STrack)."""
    reps: RepsKeys
    """Values that came back unmarked, else random ones (REPS)."""
    mixed: MixedKeys
    """Values that came back unmarked, else those of the bitmap."""
    mrc: MrcPathsKeys
    """Values in rotation."""
    plb: PlbKeys
    """One path, which changes after congested round trips (PLB)."""


class RdmaKeys(TypedDict, total=False):
    """Messages over RDMA (RoCEv2)."""

    control: RdmaControl | None
    """Congestion control of each queue pair: the name of one ("none", "dcqcn", ...), or a table of that
    name with its keys. Default: dcqcn with its preset "paper".
    """
    mtu: str | None
    """Bytes of data in a full packet. Default: "computed"."""
    headers: str | None
    """Bytes of headers in a frame, DA to FCS. Default: "66 B"."""
    verb: RdmaVerb | None
    """RDMA operation of a message: "send", "write" (its first packet is 16 B longer), or "read" (the
    receiver requests the data, and the congestion control of the sender sets the rate). Default:
    "send".
    """
    max_reads: int | None
    """Maximum number of outstanding READs of a queue pair (`max_rd_atomic`). Default: 16."""
    receive_queue: int | None
    """Receive queue entries of a queue pair. Default: none."""
    receive_time: str | None
    """Time in which the receiving application processes a message, one after another, and frees its
    receive queue entry. Default: "0 s".
    """
    rnr_timer: str | None
    """Time from an RNR NAK to the retry of the sender. Default: "640 us"."""
    rnr_retries: int | None
    """Consecutive RNR retries before the queue pair enters the error state (`rnr_retry`). Default: 7."""
    message: str | None
    """Bytes of each message of a flow. Default: "unlimited"."""
    queue_pairs: QueuePairs | None
    """Queue pair of a transfer: "one" (shared by all transfers between the same two hosts on the same
    path, one after another), "free" (an idle one, or a new one) or "each" (a new one). Default:
    "one".
    """
    recovery: RdmaRecovery | None
    """Loss recovery: "go_back_n". Default: "go_back_n"."""
    window: str | None
    """Maximum data in flight, in bytes of frames or in full packets, in addition to the congestion
    control. Default: none, or "bdp" with recovery = "selective".
    """
    base_rtt: str | None
    """Round-trip time of a full packet and its acknowledgement without queues, from which windows are
    computed. Default: "computed".
    """
    ack_every: int | None
    """Packets per acknowledgement: every n-th packet and the last packet of a message are acknowledged.
    Default: 1 if the control uses acknowledgements, there is a window, or recovery is selective; with
    recovery = "reordering" one per 16 KiB of data; otherwise 64.
    """
    ack_priority: int | None
    """Priority of acknowledgements and NAKs. Default: that of the data."""
    nak_gap: str | None
    """Minimum time between two NAKs for the same packet. Default: "500 us"."""
    timeout: str | None
    """Retransmission timeout: time without progress after which the first outstanding packet is
    retransmitted. Default: "67.108864 ms".
    """
    low_timeout: str | None
    """Timeout with at most 3 packets in flight, for which a spurious retransmission costs little.
    Default: that of `timeout`.
    """
    retries: int | None
    """Maximum number of consecutive timeouts (`retry_cnt`). Default: 7."""
    cnp_gap: str | None
    """Minimum time between two congestion notification packets. Default: "50 us"."""
    cnp_scope: CnpScope | None
    """Scope of `cnp_gap`: per "queue_pair", per source "address", or per "port" (the whole NIC).
    Default: "queue_pair".
    """
    cnp_priority: int | None
    """Priority of congestion notification packets. Default: 6."""
    paths: PathSelection | None
    """Selection among equal paths, by an entropy value for each packet that switches hash with the flow:
    "fixed" (one path). Default: "fixed".
    """


class ThetaPowerTcpKeys(TypedDict, total=False):
    """Keys of theta_powertcp."""

    gamma: float | None
    """Weight of the newest window. Default: 0.7."""
    ai_rate: str | None
    """Additive increase of the rate at each update: beta. Default: "computed"."""
    min_rate: str | None
    """Minimum rate. Default: "100 Mb/s"."""


class DcqcnKeys(TypedDict, total=False):
    """Keys of dcqcn."""

    preset: DcqcnPreset | None
    """Preset that sets the defaults of the other keys. Default: "paper"."""
    g: float | None
    """Weight g of the newest observation in alpha (`dce_tcp_g`: 1 - g in units of 1/1024). Default:
    0.00390625.
    """
    initial_alpha: float | None
    """Initial value of alpha, before the first CNP (`initial_alpha_value`). Default: 1."""
    alpha_period: str | None
    """Update period of alpha without CNPs (`dce_tcp_rtt`). Default: "55 us"."""
    monitor_period: str | None
    """Period with at most one cut, which takes place at the beginning of the next period after a CNP
    (`rate_reduce_monitor_period`). Default: "0 s".
    """
    time_reset: str | None
    """Period of the rate increase timer (`rpg_time_reset`). Default: "55 us"."""
    byte_reset: str | None
    """Period of the rate increase byte counter, in bytes sent (DA to FCS) (`rpg_byte_reset`). Default:
    "10000000 B".
    """
    threshold: int | None
    """Number of steps of timer or byte counter in fast recovery (F, `rpg_threshold`). Default: 5."""
    ai_rate: str | None
    """Increase of the target rate in each step of additive increase (`rpg_ai_rate`). Default: "40 Mb/s"."""
    hai_rate: str | None
    """Increase of the target rate in each step of hyper increase (`rpg_hai_rate`). Default: "200 Mb/s"."""
    scale_rates: bool | None
    """If true, `ai_rate` and `hai_rate` apply to 25 Gb/s and scale in proportion to the line rate.
    Default: false.
    """
    gd: int | None
    """Exponent of the decrease: a cut reduces the rate by the fraction 1024 alpha / 2^gd. Default: 11."""
    min_factor: float | None
    """Minimum decrease factor: a cut leaves at least this fraction of the rate (`rpg_min_dec_fac`, there
    in percent). Default: 0.5.
    """
    min_rate: str | None
    """Minimum rate (`rpg_min_rate`). Default: "10 Mb/s"."""
    max_rate: str | None
    """Maximum rate, at which the rate limiter is released (`rpg_max_rate`). Default: "unlimited"."""
    first_factor: float | None
    """Factor by which the first CNP multiplies the rate, before any other step
    (`rate_to_set_on_first_cnp`). Default: 1.
    """
    clamp_target: bool | None
    """If true, each cut sets the target rate to the current one (`clamp_tgt_rate`). Default: true."""
    clamp_target_after_time: bool | None
    """If true, a cut sets the target rate to the current one if the timer has increased the rate since
    the last cut (`clamp_tgt_rate_after_time_inc`). Default: true.
    """


class RdmaDctcpKeys(TypedDict, total=False):
    """Keys of dctcp for RDMA."""

    gain: float | None
    """Weight g of the newest round trip in alpha. Default: 0.0625."""
    ai_rate: str | None
    """Additive increase of the rate after a round trip without a mark. Default: "computed"."""
    min_rate: str | None
    """Minimum rate. Default: "100 Mb/s"."""


class TimelyKeys(TypedDict, total=False):
    """Keys of timely."""

    ewma: float | None
    """Weight of the newest RTT difference in the moving average. Default: 0.875."""
    beta: float | None
    """Multiplicative decrease factor, for an RTT above `t_high` or a positive gradient. Default: 0.8."""
    t_low: str | None
    """Low threshold: RTT below which the rate always increases. Default: "50 us"."""
    t_high: str | None
    """High threshold: RTT above which the rate always decreases. Default: "500 us"."""
    min_rtt: str | None
    """Minimum RTT, by which the gradient is normalized. Default: "20 us"."""
    delta: str | None
    """Additive increase of the rate. Default: "10 Mb/s"."""
    min_rate: str | None
    """Minimum rate. Default: "100 Mb/s"."""
    initial_rate: str | None
    """Initial rate of a queue pair, limited to the line rate. Default: "unlimited"."""
    patched: bool | None
    """If true, patched TIMELY applies between the thresholds. Default: false."""
    patched_beta: float | None
    """Decrease factor for the distance of the RTT from `t_low`. Default: 0.008."""


class SwiftKeys(TypedDict, total=False):
    """Keys of swift."""

    base_target: str | None
    """Base target delay, for a path without switches. Default: "20 us"."""
    hop_delay: str | None
    """Addition to the target delay for each switch on the path. Default: "3.05 us"."""
    fs_range: str | None
    """Maximum addition to the target delay by flow scaling, for the smallest windows. Default: "100 us"."""
    fs_min: float | None
    """Window, in packets, below which flow scaling adds all of `fs_range`. Default: 0.1."""
    fs_max: float | None
    """Window, in packets, above which flow scaling adds nothing. Default: 100."""
    ai: float | None
    """Additive increase of the window, in packets per round trip. Default: 1."""
    beta: float | None
    """Multiplicative decrease factor, for a delay above the target. Default: 0.8."""
    max_mdf: float | None
    """Maximum fraction by which a decrease reduces the window. Default: 0.5."""
    min_window: float | None
    """Minimum window, in packets. Default: 0.01."""


class HpccKeys(TypedDict, total=False):
    """Keys of hpcc."""

    eta: float | None
    """Target utilisation of the most utilised link of a path. Default: 0.95."""
    max_stage: int | None
    """Maximum number of consecutive round trips without congestion in which the window increases
    additively, before it is set from the utilisation again. Default: 0.
    """
    ai_rate: str | None
    """Additive increase of the rate at each update: W_AI / T. Default: "computed"."""
    min_rate: str | None
    """Minimum rate. Default: "100 Mb/s"."""
    int_bytes: str | None
    """Bytes of telemetry in each data packet and acknowledgement: 2 B plus 8 B per hop. Default: "42 B"."""


class HpccPintKeys(TypedDict, total=False):
    """Keys of hpcc_pint."""

    eta: float | None
    """Target utilisation of the most utilised link of a path. Default: 0.95."""
    max_stage: int | None
    """Maximum number of consecutive round trips without congestion in which the window increases
    additively, before it is set from the utilisation again. Default: 0.
    """
    ai_rate: str | None
    """Additive increase of the rate at each update: W_AI / T. Default: "computed"."""
    min_rate: str | None
    """Minimum rate. Default: "100 Mb/s"."""
    base: float | None
    """Base of the logarithmic quantisation: the utilisation is sent as the nearest power of the base.
    Default: 1.05.
    """
    probability: float | None
    """Fraction of packets that carry the utilisation. Default: 1."""
    int_bytes: str | None
    """Bytes of telemetry in each data packet and acknowledgement. Default: "1 B"."""


class PowerTcpKeys(TypedDict, total=False):
    """Keys of powertcp."""

    gamma: float | None
    """Weight of the newest window. Default: 0.9."""
    eta: float | None
    """Target of the normalized power of the hop with the highest power. Default: 0.95."""
    ai_rate: str | None
    """Additive increase of the rate at each update: beta. Default: "computed"."""
    min_rate: str | None
    """Minimum rate. Default: "100 Mb/s"."""
    int_bytes: str | None
    """Bytes of telemetry in each data packet and acknowledgement: 2 B plus 8 B per hop. Default: "42 B"."""


class ReorderingKeys(TypedDict, total=False):
    """Keys of reordering."""

    preset: ReorderingPreset | None
    """Preset that sets the defaults of the other keys. Default: "roce"."""
    window: int | None
    """Reordering window: packets, starting at the next expected one, that the receiver places. Default:
    1024.
    """
    distance: int | None
    """Distance in sequence numbers: a missing packet counts as lost only if a packet at least this far
    after it has arrived. Default: 3.
    """
    time: str | None
    """Minimum age: a missing packet counts as lost only if a later one arrived at least this long ago.
    Default: "computed".
    """
    nak: bool | None
    """If true, the receiver reports losses by NAKs. Default: true."""


class ObliviousKeys(TypedDict, total=False):
    """Keys of oblivious."""

    entropies: int | None
    """Number of entropy values of a connection. Default: 64."""


class RandomSprayKeys(TypedDict, total=False):
    """Keys of random spraying."""

    entropies: int | None
    """Number of entropy values of a connection. Default: 64."""


class BitmapKeys(TypedDict, total=False):
    """Keys of the bitmap."""

    entropies: int | None
    """Number of entropy values of a connection. Default: 64."""


class RepsKeys(TypedDict, total=False):
    """Keys of REPS."""

    entropies: int | None
    """Number of entropy values of a connection. Default: 64."""
    buffer: int | None
    """Number of values in the buffer for reuse. Default: 8."""
    freeze: str | None
    """Time after a timeout for which the buffered entropy values are reused, if switches trim. Default:
    "10 ms".
    """
    explore: int | None
    """Number of packets with random values after `freeze`. Default: 16."""


class MixedKeys(TypedDict, total=False):
    """Keys of mixed."""

    entropies: int | None
    """Number of entropy values of a connection. Default: 64."""


class MrcPathsKeys(TypedDict, total=False):
    """Keys of the path states of MRC."""

    entropies: int | None
    """Number of active entropy values of a connection. Default: 128."""
    reserve: int | None
    """Number of reserve entropy values, which replace failed ones. Default: 128."""
    min_active: int | None
    """Minimum number of active values, which losses do not remove (`ev_min_active`). Default: a quarter
    of `entropies`, at least 1.
    """
    probe_interval: str | None
    """Interval of the probes of a failed value. Default: "1 ms"."""
    probe_answers: int | None
    """Number of consecutive answered probes that make a value good again. Default: 3."""


class PlbKeys(TypedDict, total=False):
    """Keys of PLB."""

    entropies: int | None
    """Number of entropy values from which a connection draws. Default: 64."""
    rounds: int | None
    """Number of consecutive congested rounds after which the path changes. Default: 3."""
    marked_share: float | None
    """Minimum fraction of marked acknowledgements in a congested round. Default: 0.5."""


class UetControlTable(TypedDict, total=False):
    """Exactly one of these."""

    nscc: NsccKeys
    """A window at the sender that follows delay and ECN marks."""
    rccc: RcccKeys
    """Credits of the receiver, with or without a window at the sender."""
    eqds: EqdsKeys
    """Credits of the receiver, packet by packet, without marks."""
    ndp: NdpKeys
    """A pull of the receiver for each packet that arrives, whole or trimmed."""


class UetKeys(TypedDict, total=False):
    """Messages over Ultra Ethernet Transport (UET)."""

    preset: UetPreset | None
    """Header sizes: "uec" (specification, over UDP and IPv4) or "htsim" (uet-htsim, for comparisons).
    Default: "uec".
    """
    mode: UetMode | None
    """Delivery mode: "rud" (reliable, unordered), "rod" (reliable, ordered), "rudi" (reliable, for
    idempotent messages, without context) or "uud" (unreliable, unordered). Default: "rud".
    """
    contexts: int | None
    """Number of packet delivery contexts (PDCs) from one host to another, each with its own window,
    timer and paths. Default: 1.
    """
    ses: UetSes | None
    """SES header of requests: "standard" (44 B), "medium" (32 B) or "small" (20 B). Default: "standard"."""
    control: UetControl | None
    """Congestion control of each packet delivery context: "none", "nscc", "rccc", "eqds", "ndp", or a
    table of that name with its keys. Default: nscc.
    """
    payload: str | None
    """Bytes of payload in a full packet. Default: "computed"."""
    headers: str | None
    """Bytes of headers in a data frame, DA to FCS. Default: "102 B"."""
    ack: str | None
    """Length of an acknowledgement, DA to FCS. Default: "90 B"."""
    message: str | None
    """Bytes of each message of a flow. Default: "unlimited"."""
    ack_every: str | None
    """Received bytes per acknowledgement. Default: "computed"."""
    paths: PathSelection | None
    """Selection among equal paths, by an entropy value for each packet that switches hash with the flow:
    "fixed" (one path). Default: "fixed".
    """
    psn_range: int | None
    """Maximum PSN range (MPR): packets from the oldest unacknowledged one to the newest. Default: 16384."""
    trimming: bool | None
    """If true, switches trim packets instead of dropping them, which sets the target of `nscc`, the
    timeout and `loss_inference`. Default: true if every switch on the path trims the traffic class of
    the data.
    """
    loss_inference: bool | None
    """If true, the sender infers losses where no switch trims (SLEEK): from packets out of order by more
    than 1.5 windows, if a control limits the window, and from probes. Default: true unless switches
    trim.
    """
    base_rtt: str | None
    """Round-trip time of a full packet and its acknowledgement without queues, from which windows are
    computed. Default: "computed".
    """
    timeout: str | None
    """Retransmission timeout of the oldest packet in flight. Default: "computed"."""
    retries: int | None
    """Maximum number of consecutive timeouts. Default: 5."""
    ack_priority: int | None
    """Priority of acknowledgements. Default: that of the data."""


class NdpKeys(TypedDict, total=False):
    """Keys of ndp."""

    window: int | None
    """Initial window in packets. Default: 30."""
    share: float | None
    """Rate of pulls of a NIC, as a fraction of its line rate. Default: 1."""


class NsccKeys(TypedDict, total=False):
    """Keys of nscc."""

    target: str | None
    """Target of the queueing delay. Default: "computed"."""
    alpha: float | None
    """Gain of the proportional increase, in packets of payload per target delay on the reference
    network. Default: 4.
    """
    fair_increase: float | None
    """Fair increase, at or above the target delay, in packets of payload per window on the reference
    network. Default: 5.
    """
    eta: float | None
    """Constant increase per round trip, in packets of payload on the reference network. Default: 0.15."""
    fast_increase: float | None
    """Fast increase per acknowledged byte, after a window without queueing, on the reference network.
    Default: 0.25.
    """
    gamma: float | None
    """Weight of the excess delay in a decrease. Default: 0.8."""
    max_decrease: float | None
    """Minimum factor of a decrease (`max_md_jump`). Default: 0.5."""
    delay_gain: float | None
    """Weight of the newest sample in the average delay. Default: 0.0125."""
    quick_adapt: bool | None
    """If true, the window is set to the bytes that arrived in a period if these are few (quick adapt).
    Default: true.
    """
    qa_gate: int | None
    """Quick adapt requires that fewer bytes arrived than the maximum window divided by 2 to this power.
    Default: 3.
    """
    qa_threshold: str | None
    """Queueing delay above which quick adapt may take place. Default: "computed"."""
    initial_window: str | None
    """Initial window. Default: "computed"."""
    max_window: str | None
    """Maximum window. Default: "computed"."""


class RcccKeys(TypedDict, total=False):
    """Keys of rccc."""

    credit: str | None
    """Initial speculative credit of a context, which is also the maximum credit. Default: "computed"."""
    pull: str | None
    """Bytes per grant. Default: "16 KiB"."""
    share: float | None
    """Rate of grants of a NIC, as a fraction of its line rate. Default: 0.99."""
    slow_pulls: bool | None
    """If true, contexts without outstanding requests are granted up to `credit` in advance while the
    pull queue is empty. Default: true.
    """
    oversubscription: float | None
    """Oversubscription of the core: capacity of the host links divided by that of the core. Default: 1."""
    nscc: NsccKeys | None
    """NSCC in addition to RCCC, so that a packet needs both credit and room in the window: a table with
    its keys. Default: none.
    """


class EqdsKeys(TypedDict, total=False):
    """Keys of eqds."""

    credit: str | None
    """Initial speculative credit of a context, which is also the maximum credit. Default: "computed"."""
    pull: str | None
    """Bytes per grant. Default: "4 KiB"."""
    share: float | None
    """Rate of grants of a NIC, as a fraction of its line rate. Default: 0.99."""
    slow_pulls: bool | None
    """If true, contexts without outstanding requests are granted up to `credit` in advance while the
    pull queue is empty. Default: true.
    """
    pull_order: PullOrder | None
    """Order in which contexts are granted: "round_robin" (a context goes to the end of the queue after
    each grant), or "fifo" (all requests of a context are granted before those of the next). Default:
    "round_robin".
    """


class MessagesTable(TypedDict, total=False):
    """Exactly one of these."""

    iscsi_read: IscsiKeys
    """A command."""
    iscsi_write: IscsiKeys
    """Command and data, further data on request."""
    iwarp_read: IwarpKeys
    """RDMA Read over TCP."""
    iwarp_write: IwarpKeys
    """RDMA Write over TCP, followed by Sends that notify the peer."""
    iwarp_send: IwarpKeys
    """Send over TCP, and one back."""


class ConversationKeys(TypedDict, total=False):
    """Exchanges of messages over one connection of TCP or RDMA."""

    messages: Required[Messages]
    """Messages of an exchange, which the two ends send alternately: a list of sizes, an even number of
    them, or the application "iscsi_read", "iscsi_write", "database_entry", "database_query", "ipc",
    "iwarp_read", "iwarp_write" or "iwarp_send", or a table of one of iSCSI or iWARP with its keys.
    """
    outstanding: int | None
    """Queue depth: number of exchanges in progress at the same time. Default: 1."""
    think: Delay | None
    """Think time of a slot, from the end of an exchange to the next one: a time with unit, or a table
    `exponential`. Default: "0 s".
    """
    service: Delay | None
    """Service time, from the last message of the opener to its answer: a time with unit, or a table
    `exponential`. Default: "0 s".
    """
    tcp: TcpKeys | None
    """Keys of TCP for both directions of one connection, except `transfer`, `idle` and `reconnect`, and
    with `mpi_exchange` also except `handshake`. Default: where none is given, all those of the preset
    "rfc".
    """
    rdma: RdmaKeys | None
    """Keys of RDMA for both directions, with one queue pair per direction, except `message`,
    `queue_pairs` and `ack_priority`. Default: none.
    """
    uet: UetKeys | None
    """Keys of Ultra Ethernet Transport for both directions, with one packet delivery context per
    direction, except `message` and `ack_priority`. Default: none.
    """


class IscsiKeys(TypedDict, total=False):
    """iSCSI: transfer of blocks."""

    block: str | None
    """Bytes of data per command. Default: "1 MiB"."""
    data_segment: str | None
    """Maximum bytes of data in a PDU (MaxRecvDataSegmentLength of the receiver). Default: "8 KiB"."""
    first_burst: str | None
    """Maximum bytes of unsolicited data of a write (FirstBurstLength). Default: "64 KiB"."""
    max_burst: str | None
    """Maximum bytes of data of a write that the target requests by one R2T (MaxBurstLength). Default:
    "256 KiB".
    """


class IwarpKeys(TypedDict, total=False):
    """A message of RDMA over iWARP."""

    message: str | None
    """Bytes of data. Default: "1 MiB"."""
    markers: bool | None
    """If true, both receivers request markers, 4 B in every 512 B of the stream. Default: true."""


class MpiExchangeKeys(TypedDict, total=False):
    """Steps of ranks in a ring, over TCP or RDMA."""

    message: Required[str]
    """Bytes that each rank sends to each neighbour in a step."""
    ranks: int | None
    """Ranks per host: 1, or 2 neighbouring ranks that exchange messages through memory. Default: 1."""
    steps: int | None
    """Number of steps of each rank. Default: no limit."""
    eager: str | None
    """Eager limit: maximum length of a message that is sent without a rendezvous. Default: "64 KiB"."""
    copy_time: str | None
    """Fixed time of a copy from one rank of a host to the other, in addition to the time for its bytes.
    Default: "1 us".
    """
    copy_rate: str | None
    """Rate of a copy through memory. Default: "40 Gb/s"."""
    tcp: TcpKeys | None
    """Keys of TCP for both directions of one connection, except `transfer`, `idle` and `reconnect`, and
    with `mpi_exchange` also except `handshake`. Default: where none is given, all those of the preset
    "rfc".
    """
    rdma: RdmaKeys | None
    """Keys of RDMA for both directions, with one queue pair per direction, except `message`,
    `queue_pairs` and `ack_priority`. Default: none.
    """
    uet: UetKeys | None
    """Keys of Ultra Ethernet Transport for both directions, with one packet delivery context per
    direction, except `message` and `ack_priority`. Default: none.
    """


class FcoeKeys(TypedDict, total=False):
    """Exchanges of Fibre Channel over Ethernet, without TCP: `from` is the initiator, `to` the target."""

    operation: Required[FcpOperation]
    """Operation: "read" or "write"."""
    block: str | None
    """Block size: bytes of data of an exchange (FCP_DL). Default: "1 MiB"."""
    max_burst: str | None
    """Maximum bytes of data of one sequence. Default: "unlimited"."""
    outstanding: int | None
    """Queue depth: number of exchanges in progress at the same time. Default: 1."""
    think: Delay | None
    """Think time of a slot, from the end of an exchange to the next one: a time with unit, or a table
    `exponential`. Default: "0 s".
    """
    service: Delay | None
    """Service time of the target, before the data of a read or the response to a write: a time with
    unit, or a table `exponential`. Default: "0 s".
    """
    ulp_tov: str | None
    """Time after which an unfinished exchange is aborted and repeated (ULP_TOV). Default: "30 s"."""
    requires_lossless: bool | None
    """If true, an end sends only while flow control is in force for its priority at the port of its host
    (T11), which DCBX may negotiate. Default: true.
    """


class StepKeys(TypedDict, total=False):
    """Change of a source: a stop or a start."""

    at: Required[str]
    """Time of the change."""
    stop: bool | None
    """If true, the source stops sending. Default: false."""
    start: bool | None
    """If true, the source resumes sending. Default: false."""
    rate: str | None
    """New rate (the peak rate of an on/off source), with `start`. Default: unchanged."""


PortKeys = TypedDict("PortKeys", {"from": "int | None", "to": "int | None"}, total=False)
"""UDP or TCP ports, which switches hash and captures show."""


class ArrivalsPoissonKeys(TypedDict, total=False):
    """Poisson process: each sender begins transfers with exponential gaps, drawn from its own random
    stream.
    """

    load: float | None
    """Offered load of each sender: mean rate of the bytes of its transfers, without headers, as a
    fraction of the rate of its link.
    """
    gap: str | None
    """Mean time between the starts of two transfers of a sender."""


class ArrivalsIncastKeys(TypedDict, total=False):
    """Incast in rounds: several senders begin a transfer to one receiver at the same time."""

    every: Required[str]
    """Time between the starts of two rounds."""
    senders: int | None
    """Number of senders in each round, drawn at random from `from` for each round. Default: all except
    the receiver.
    """


class ArrivalsTable(TypedDict, total=False):
    """Exactly one of these."""

    poisson: ArrivalsPoissonKeys
    """Poisson process: each sender begins transfers with exponential gaps, drawn from its own random
    stream.
    """
    incast: ArrivalsIncastKeys
    """Incast in rounds: several senders begin a transfer to one receiver at the same time."""
    file: str
    """Path of a CSV or Parquet file, relative to the scenario, with one row per transfer in order of
    time.
    """


class SizesUniformKeys(TypedDict, total=False):
    """Uniform distribution of all sizes from `min` to `max`."""

    min: Required[str]
    """Minimum size."""
    max: Required[str]
    """Maximum size."""


class SizesParetoKeys(TypedDict, total=False):
    """Pareto distribution, truncated: no transfer is larger than 100 times `mean`."""

    mean: Required[str]
    """Mean of the truncated sizes."""
    shape: Required[float]
    """Shape parameter: the smaller it is, the larger is the share of bytes in a few large transfers."""


class SizesLogNormalKeys(TypedDict, total=False):
    """Log-normal distribution."""

    mean: Required[str]
    """Mean size."""
    sigma: Required[float]
    """Standard deviation of the natural logarithm of the size."""


class SizesTable(TypedDict, total=False):
    """Exactly one of these."""

    uniform: SizesUniformKeys
    """Uniform distribution of all sizes from `min` to `max`."""
    pareto: SizesParetoKeys
    """Pareto distribution, truncated: no transfer is larger than 100 times `mean`."""
    log_normal: SizesLogNormalKeys
    """Log-normal distribution."""
    points: str
    """Path of a CSV file with the columns `bytes` and `cdf`, relative to the scenario."""


class CarrierTable(TypedDict, total=False):
    """Exactly one of these."""

    tcp: TcpKeys
    """TCP: a transfer has exclusive use of a connection, free or new."""
    rdma: RdmaKeys
    """RDMA (RoCEv2): a transfer is a message of a queue pair."""
    uet: UetKeys
    """Ultra Ethernet Transport (UET): a transfer is a message of the packet delivery context between its
    two hosts.
    """
    mrc: MrcKeys
    """Multipath Reliable Connection (MRC): a transfer is a message of the connection between its two
    hosts, which spreads its packets over the planes of their NICs.
    """


class TransfersKeys(TypedDict, total=False):
    """Transfers: each has a start time, a sender, a receiver and a size, and is complete when its last
    byte is delivered.
    """

    from_: Nodes | None
    """Senders: a host, "all" hosts, a pattern, or a list of these."""
    to: Receivers | None
    """Destination of the transfers: a host."""
    arrivals: Required[Arrivals]
    """Start times of the transfers: "once", or a table `poisson`, `incast` or `file`."""
    sizes: Sizes | None
    """Sizes of the transfers, without the headers of their frames: a size with unit."""
    priority: int | None
    """Priority of all frames (IEEE 802.1Q). Default: 0."""
    dscp: int | None
    """DSCP of all frames (RFC 2474), which the `maps` of switches convert to a traffic class. Default:
    none.
    """
    color: Color | None
    """Color (drop precedence) of all frames, as marked by a meter at the edge: "green", "yellow" or
    "red". Default: color of the DSCP in `switch.maps.dscp_to_color`, otherwise "green".
    """
    ports: PortKeys | None
    """UDP ports, or TCP ports of transfers over a transport: a table of `from` and `to`. Default: none."""
    frame: str | None
    """Length of full frames, DA to FCS: a size with unit, 1 to 9238 B. Default: "1522 B"."""
    over: Carrier | None
    """Transport of the transfers: "frames" (sent once and never acknowledged), or a table `tcp`, `rdma`,
    `uet` or `mrc`. Default: "frames".
    """
    header: Header | None
    """Bytes of headers in each frame, which are not part of the transfer. Default: "18 B"."""
    order: ServiceOrder | None
    """Order in which a sender serves its transfers: "round_robin" (their frames in turn) or "fifo" (the
    oldest transfer until it is complete). Default: "round_robin".
    """
    start: str | None
    """Earliest start of the first transfer. Default: "0 s"."""
    stop: str | None
    """Time after which no transfer begins. Default: the duration of the simulation."""


class MrcKeys(TypedDict, total=False):
    """Messages over Multipath Reliable Connection (MRC)."""

    control: UetControl | None
    """Congestion control of each connection: "none" or "nscc", also as a table with its keys. Default:
    nscc.
    """
    paths: PathSelection | None
    """Distribution of packets over paths: "mrc", or another selection by name or table, for comparisons.
    Default: mrc.
    """
    payload: str | None
    """Bytes of payload in a full packet. Default: "computed"."""
    headers: str | None
    """Bytes of headers in a data frame, DA to FCS. Default: "106 B"."""
    connections: int | None
    """Number of connections from one host to another, each with its own window, timer and paths.
    Default: 1.
    """
    ack: str | None
    """Length of an acknowledgement, DA to FCS. Default: "118 B"."""
    ack_every: str | None
    """Received bytes per acknowledgement. Default: "computed"."""
    psn_range: int | None
    """Maximum PSN range (MPR): packets from the oldest unacknowledged one to the newest. Default: 1024."""
    trimming: bool | None
    """If true, switches trim packets instead of dropping them, which sets the target of `nscc`. Default:
    true if every switch on the path trims the traffic class of the data.
    """
    base_rtt: str | None
    """Round-trip time of a full packet and its acknowledgement without queues, from which windows are
    computed. Default: "computed".
    """
    reorder_time: str | None
    """Reordering window: time after the acknowledgement of a packet sent later, after which a packet is
    considered lost. Default: "computed".
    """
    timeout: str | None
    """Retransmission timeout of the oldest packet in flight. Default: "computed"."""
    linear_retries: int | None
    """Number of consecutive timeouts of the same length. Default: 3."""
    exponential_retries: int | None
    """Maximum number of further consecutive timeouts, each twice as long as the previous one, before the
    connection fails. Default: 25.
    """
    ack_priority: int | None
    """Priority of acknowledgements and NACKs. Default: that of the data."""


class JobKeys(TypedDict, total=False):
    """A job: ranks on hosts that run a workload together."""

    ranks: Required[Nodes]
    """Hosts of the ranks: a host, "all" hosts, a pattern, or a list of these."""
    placement: Placement | None
    """Placement of consecutive ranks: "linear" (in the order in which `ranks` selects hosts. Default:
    "linear".
    """
    workload: Required[WorkloadKeys]
    """Workload of an iteration: a table with `collective`, `goal`, `messages` or `session`."""
    over: Carrier | None
    """Transport of the messages: a table, as in `over` of transfers, or "frames". Default: queue pairs
    with their defaults.
    """
    start: str | None
    """Start time of the first iteration. Default: "0 s"."""
    iterations: int | None
    """Number of iterations of the workload. Default: 1."""
    compute: ComputeTimes | None
    """Computation time of each rank before each iteration: a time with unit, or a list of times that
    iterations use in turn. Default: "0 s".
    """
    compute_jitter: float | None
    """Mean of the random addition to each computation, as a fraction of its time: exponentially
    distributed, drawn for each rank from the seed, also for computations of a schedule. Default: 0.
    """
    stragglers: StragglerKeys | None
    """Stragglers: ranks that compute more slowly, as a table of `hosts` and `slowdown`. Default: none."""
    overhead: str | None
    """Processor time per message, at its sender and at its receiver (o of LogGOPS). Default: "0 s"."""
    overhead_per_byte: str | None
    """Processor time per byte of a message, in addition to `overhead` (O of LogGOPS). Default: "0 s"."""
    timeline_rows: int | None
    """Maximum number of rows of the table `rank_steps` for this job: the sends, receives and
    computations of as many of the first iterations as fit, each iteration completely or not at all.
    Default: 500000.
    """
    priority: int | None
    """Priority of all frames (IEEE 802.1Q). Default: 0."""
    dscp: int | None
    """DSCP of all frames (RFC 2474), which the `maps` of switches convert to a traffic class. Default:
    none.
    """
    frame: str | None
    """Length of full frames, DA to FCS: a size with unit, 1 to 9238 B. Default: "1522 B"."""
    header: Header | None
    """Bytes of headers in each frame, for `over` "frames". Default: "18 B"."""


class WorkloadKeys(TypedDict, total=False):
    """Workload of a job: a collective operation, a schedule or a list of messages."""

    collective: Collective | None
    """Collective operation: "all_reduce", "reduce_scatter", "all_gather", "all_to_all", "broadcast",
    "reduce", "barrier" or "send_receive" (from each rank to the next).
    """
    goal: str | None
    """GOAL schedule in place of a collective: the path of a text or binary file, relative to the
    scenario. Default: none.
    """
    messages: str | None
    """Message list in place of a collective: the path of a CSV file with the columns start, from, to,
    bytes and compute, relative to the scenario. Default: none.
    """
    session: bool | None
    """If true, a session that drives the run supplies the messages, in place of a collective. Default:
    false.
    """
    pairs: Pairs | None
    """Pairs of ranks that have connections: "used" (those of `messages`) or "all". Default: "used";
    "all" with `session`.
    """
    eager: str | None
    """Eager limit of a schedule: the send of a message up to this length completes when the processor
    has handed it over, that of a longer one when it is acknowledged. Default: "65535 B".
    """
    algorithm: Algorithm | None
    """Algorithm of the operation: "ring", "halving_doubling", "recursive_doubling", "double_tree",
    "hierarchical" or "in_network" (all_reduce). Default: the first one listed for the operation.
    """
    bytes: str | None
    """Bytes of the whole vector (all_reduce, reduce_scatter, broadcast, reduce), of the whole output
    (all_gather), of the send buffer of a rank (all_to_all), or of all data passed from rank to rank
    (send_receive).
    """
    chunks: int | None
    """Number of equal chunks of the data that are processed concurrently, as a pipeline. Default: 1."""
    group: int | None
    """Group size of "hierarchical": number of consecutive ranks in a group, such as the GPUs of a
    server.
    """
    root: int | None
    """Root rank: the source of a broadcast, or the destination of a reduction. Default: 0."""
    skew: float | None
    """Skew of an all_to_all ("shifted" or "burst"): the share of each send buffer that rank d receives
    is proportional to (d + 1)^-skew. Default: 0.
    """
    segment: str | None
    """Segment size of "in_network": bytes that an aggregation unit reduces as a whole. Default: "4 KiB"."""
    outstanding: int | None
    """Number of segments of "in_network" that an aggregation unit holds for the job, and for whose
    results a rank can wait. Default: 128.
    """
    reduction_rate: str | None
    """Rate of an aggregation unit of "in_network": rate at which it exchanges segments with its switch,
    in each direction. Default: the sum of the rates of the links of its switch.
    """
    reduction_latency: str | None
    """Latency of an aggregation unit of "in_network": time from the last bit of an arriving segment to
    the first bit of its result, upwards and downwards. Default: "100 ns".
    """


class StragglerKeys(TypedDict, total=False):
    """Stragglers: ranks whose computations take longer."""

    hosts: Required[Nodes]
    """Hosts of the stragglers: a host, "all" hosts, a pattern, or a list of these."""
    slowdown: Required[float]
    """Factor by which each of their computations is longer, including those of a schedule."""


class FaultKeys(TypedDict, total=False):
    """A fault or a change during the run: exactly one of `down`, `up`, `rate`, `scheduler`,
    `bit_error_rate`, `pause_loss`, `frame_loss`, `control_frame`, `restart` and `mean_time_between`.
    """

    link: FaultLink | None
    """Affected link: the names of its two ends."""
    index: int | None
    """Index of the link among parallel links, in the order of the topology. Default: 0."""
    switch: str | None
    """Name of the switch that restarts."""
    at: str | None
    """Time of the fault."""
    down: bool | None
    """If true, the link goes down in both directions: frames on it are lost, and both ends discard their
    pause state. Default: false.
    """
    up: bool | None
    """If true, the link comes back up. Default: false."""
    rate: str | None
    """New rate of the link from `at` on, in both directions, or only towards the end in `towards`."""
    scheduler: Scheduler | None
    """New settings of a scheduler from `at` on, at the port that sends to `towards`: other weights, or
    another table of the same kind of scheduler.
    """
    bit_error_rate: float | None
    """Bit error rate of the link: probability that a bit of a frame is wrong."""
    pause_loss: float | None
    """Probability that a pause frame is lost or damaged."""
    frame_loss: float | None
    """Probability that a frame of a flow is lost on the link, independently in each direction."""
    control_frame: str | None
    """Injected control frame, which occupies no time on the link: PAUSE, PFC, a congestion message or an
    LLDPDU.
    """
    towards: str | None
    """Direction of the fault, given by the end of the link that receives in it. Default: both
    directions; required with `control_frame` and `scheduler`.
    """
    from_: str | None
    """Time from which `bit_error_rate`, `pause_loss` or `frame_loss` applies. Default: "0 s"."""
    until: str | None
    """Time until which `bit_error_rate`, `pause_loss` or `frame_loss` applies. Default: the duration of
    the simulation.
    """
    restart: str | None
    """Duration of a switch restart."""
    mean_time_between: str | None
    """Mean time from the end of one random outage to the start of the next, exponentially distributed."""
    duration: str | None
    """Duration of each random outage, or of the outage that begins with `down`."""
    reroute: bool | None
    """If true, flows use a shortest path around the failed link or switch, if there is one. Default:
    false.
    """
    after: str | None
    """Convergence time of routing after the start and after the end of an outage. Default: "50 us"."""
    waiting: WaitingFrames | None
    """Fate of frames queued for a link that is down: "lost" (immediately) or "kept" (until the link is
    up again). Default: "lost".
    """


PathSeedWord = Literal["seed"]
"""Seed of the ECMP hash by keyword."""
PathSeed = int | PathSeedWord
"""Seed of the ECMP hash."""
OnLosslessDrop = Literal["stop", "count"]
"""Reaction to the loss of a frame of a lossless class."""
OnDeadlock = Literal["stop", "count"]
"""Reaction to a deadlock."""
Skip = Literal["off", "iterations", "phases", "check"]
"""Treatment of iterations of jobs that repeat earlier ones exactly."""
ProbesText = ProbesKeys | Sequence[ProbeKeys]
"""Recordings in addition to the totals: a table for all time series, or a list of probes."""
Which = str | Sequence[str]
"""Selected objects."""
What = Literal["flow", "port", "class", "queue", "occupancy", "latency", "pauses", "frames"]
"""Recorded quantity."""
Topology = TopologyTable
"""Topology of the fabric: exactly one of these."""
LineCode = Literal["8b/10b", "64b/66b", "128b/130b"]
"""Line code of a link."""
PhyName = Literal[
    "slowest",
    "none",
    "10GBASE-R",
    "10GBASE-X",
    "10GBASE-T",
    "25GBASE-R",
    "25GBASE-R FEC",
    "25GBASE-R RS-FEC",
    "40GBASE-R",
    "40GBASE-R FEC",
    "50GBASE-R",
    "100GBASE-R",
    "100GBASE-R RS-FEC",
    "100GBASE-R FEC",
    "200GBASE-R",
    "400GBASE-R",
    "10GBASE-SR",
    "10GBASE-LR",
    "10GBASE-ER",
    "10GBASE-CX4",
    "10GBASE-LX4",
    "25GBASE-CR-S",
    "25GBASE-KR-S",
    "25GBASE-CR",
    "25GBASE-KR",
    "25GBASE-SR",
    "25GBASE-LR",
    "25GBASE-ER",
    "40GBASE-SR4",
    "40GBASE-LR4",
    "40GBASE-ER4",
    "40GBASE-FR",
    "40GBASE-CR4",
    "40GBASE-KR4",
    "50GBASE-CR",
    "50GBASE-KR",
    "50GBASE-SR",
    "50GBASE-FR",
    "50GBASE-LR",
    "50GBASE-ER",
    "100GBASE-SR10",
    "100GBASE-LR4",
    "100GBASE-ER4",
    "100GBASE-SR4",
    "100GBASE-CR4",
    "100GBASE-KR4",
    "100GBASE-SR2",
    "100GBASE-CR2",
    "100GBASE-KR2",
    "100GBASE-DR",
    "100GBASE-FR1",
    "100GBASE-LR1",
    "100GBASE-CR10",
    "200GBASE-SR4",
    "200GBASE-CR4",
    "200GBASE-KR4",
    "200GBASE-DR4",
    "200GBASE-FR4",
    "200GBASE-LR4",
    "200GBASE-ER4",
    "400GBASE-SR16",
    "400GBASE-SR8",
    "400GBASE-SR4.2",
    "400GBASE-DR4",
    "400GBASE-FR4",
    "400GBASE-FR8",
    "400GBASE-LR4-6",
    "400GBASE-LR8",
    "400GBASE-ER8",
]
"""The PHY at both ends of a link, as far as its delay goes."""
Between = Sequence[str]
"""Names of the two ends of a link."""
QueuesWord = Literal["per_priority", "shared"]
"""Common maps from priorities to queues."""
Queues = QueuesWord | Sequence[int]
"""Map from priorities to queues."""
Scheduler = (
    Literal[
        "fifo",
        "strict_priority",
        "wrr",
        "drr",
        "drr_awc",
        "wfq",
        "wf2q_plus",
        "scfq",
        "scfq_ca",
        "min_bw",
        "shaper",
    ]
    | SchedulerTable
)
"""Scheduler of the egress queues: a name, with its defaults, or a table of that name with its keys."""
WhenFull = Literal["block", "drop"]
"""Reaction of a source to a full queue in the NIC."""
FlowControl = Literal["off", "pause", "pfc", "credit", "by_class"] | FlowControlTable
"""Link-level flow control: one of these."""
Weights = Literal["equal"] | Sequence[int]
"""Weights of the traffic classes."""
Basis = Literal["payload", "frame", "wire"]
"""Which bytes of a frame count."""
Formula = Literal["published", "analytic", "learned"]
"""Formula of the weights."""
Mix = Literal["frames", "bytes"]
"""Weighting of frame sizes."""
TopBin = Literal["formula", "one"]
"""Weight of frames above 1024 B, which the paper does not define."""
Representative = Literal["upper_edge", "middle"]
"""Size that represents a bin."""
TotalWeight = Literal["fraction", "integer"]
"""Type of the sum of weights in Algorithm 1."""
Metric = Literal["payload", "frame"]
"""Bytes of a frame of length L that count as throughput."""
Entry = int | WeightedEntryKeys
"""An entry of the deficit table."""
RateOrShare = str | ShareOfLinkKeys
"""A rate, or a share of the rate of the link."""
Shaper = ShaperTable
"""A shaper: one of these."""
Accounting = Literal["ingress", "egress"]
"""Occupancy that is compared with the watermarks."""
PauseQuanta = Literal["computed"] | int | Sequence[int]
"""Quanta of 512 bit times."""
TargetMethod = Literal["fair_bandwidth", "random_sampling", "max_min"]
"""Method that selects the link partners to pause."""
Sampling = Literal["one_shot", "every_enqueue"]
"""Time at which a random sample is drawn."""
XonSent = Literal["once", "every_dequeue"]
"""Time at which XON is sent."""
CreditPreset = Literal["advanced_switching", "cbfc"]
"""Defaults of the keys by name."""
ChannelKey = int | str
"""A virtual channel by number or by name."""
ChannelList = Literal["all"] | Sequence[ChannelKey]
"""All channels, or that of each priority."""
LimiterScope = Literal["flow", "destination", "path", "priority"]
"""Set of frames that share a limiter."""
Method = Literal["feedback", "probes", "round_trip", "messages"]
"""Method by which levels reach the source."""
Law = Literal["scaled", "fixed"]
"""Rate law."""
Choice = Literal["auto", "disabled", "edge", "interior", "interior_ready"]
"""Defence mode of a port: automatic or fixed."""
TieBreak = Literal["lower_adopts", "lower_wins"]
"""Station that adopts if both are willing."""
Dialect = Literal["either", "standard", "older", "oldest"]
"""DCBX version of an agent."""
TransmissionSelection = Literal["strict", "credit_based_shaper", "ets", "vendor"]
"""Transmission selection algorithm of a traffic class."""
ApplicationSelector = Literal["ether_type", "stream_port", "datagram_port", "port", "dscp"]
"""Field that identifies an application."""
Forwarding = Literal["store_and_forward", "cut_through"]
"""Forwarding mode of a switch."""
Queueing = Literal["output", "virtual_output", "crossbar"] | QueueingTable
"""Queueing architecture of a switch."""
PathChoice = (
    Literal["d_mod_k", "spray", "round_robin", "least_queued", "valiant", "hash", "adaptive", "ugal"]
    | PathChoiceTable
)
"""Selection among equal-cost paths."""
Arbitration = Literal["round_robin", "islip"]
"""Matching of inputs and outputs."""
Inputs = Literal["virtual_output", "fifo"]
"""Queues of an input."""
Room = Literal["longest", "frame"]
"""Condition for a transfer to an output buffer."""
Field = Literal["source", "destination", "protocol", "source_port", "destination_port"]
"""Field of the five-tuple that a switch hashes."""
Color = Literal["green", "yellow", "red"]
"""Color that a meter at the edge has assigned to a flow (RFC 2697)."""
Side = Literal["ingress", "egress"]
"""Side on which a pool counts frames."""
PoolMode = Literal["dynamic", "static"]
"""Limit of the profiles of a pool that do not set one."""
DiscardAction = Literal["drop", "trim"]
"""Action on frames for which their queue has no room: `packet_discard_action` of SONiC."""
PortSet = Literal["up", "down", "hosts", "switches"] | Sequence[str]
"""Role of a port, or a list of ports."""
Mode = Literal["frame", "byte"]
"""Unit to which the probability of RED applies."""
Spacing = Literal["geometric", "uniform", "wait"]
"""Distribution of the gaps between frames selected by RED."""
Action = Literal["drop", "mark", "mark_only"]
"""Action of RED on a selected frame."""
Counts = Literal["without_frame", "with_frame"]
"""Frames included in the length of a queue."""
IdleExponent = Literal["elapsed", "elapsed_and_arrival"]
"""Decay of the average of RED over an idle time in which m mean frames could have been sent."""
Moment = Literal["enqueue", "dequeue"]
"""Time at which the queue is measured."""
Samples = Literal["regular", "random"]
"""Sampling of frames by a congestion point."""
Scope = Literal["queue", "port"]
"""Scope of a congestion point."""
Phase = Literal["aligned", "random"]
"""Start of the intervals."""
QueueControl = Literal["hyperbolic", "linear", "additive", "off"]
"""Queue control."""
AverageWith = Literal["previous", "last"]
"""Rate with which the newest rate is averaged."""
RateScope = Literal["queue", "port", "switch"]
"""Resource to which an advertised rate applies."""
Capacity = Literal["computed", "link", "measured"]
"""Capacity with which arrivals are compared."""
Load = Literal["wire", "frame"]
"""Bytes of an arriving frame that count as load."""
Idle = Literal["hold", "raise"]
"""Effect of an interval without arrivals on the advertised rate."""
TrimmingPreset = Literal["sonic", "uec", "htsim"]
"""Variant that sets the defaults of the keys of trimming."""
Victim = Literal["arriving", "random"]
"""Frame that is trimmed if a queue exceeds its threshold."""
Llr = Literal["on", "off"] | LlrSettingsKeys
"""Link-level retry: "off", "on" with all defaults, or its keys."""
FrameAction = Literal["discard", "block", "best_effort"]
"""Treatment of frames while no replay buffer is in use."""
StormAction = Literal["report", "drop", "forward"]
"""Action of a watchdog during a storm."""
Nodes = str | Sequence[str]
"""One or several nodes: a name, "all", a pattern (`*`, "h1..h32", "leaf0/*"), or a list of these."""
PermutationWord = Literal["random"]
"""Random permutations by keyword."""
Permutation = PermutationWord | ShiftKeys
"""Pairing of senders with destinations."""
Receivers = Nodes | ReceiversTable
"""Destination of frames or transfers."""
FrameWord = Literal["imix"]
"""Named distributions of frame lengths."""
Frame = str | FrameWord | FrameTable
"""Length of frames."""
Source = Literal["greedy", "window", "tcp", "rdma", "uet"] | SourceTable
"""Traffic source."""
RateBasis = Literal["frame", "wire"]
"""Bits of a frame that count towards a rate."""
Period = PeriodTable
"""Random length of an on or off period."""
Delay = str | DelayTable
"""How long something takes."""
TcpPreset = Literal["rfc", "ns2", "linux", "mcalpine-2005", "datacenter"]
"""Preset of a connection: defaults of the keys that a scenario omits."""
TcpController = Literal["aimd", "cubic", "dctcp"] | TcpControllerTable
"""How the window moves: a name, or a table of that name with its keys."""
LossRecoveryKind = Literal["tahoe", "reno", "newreno", "sack"]
"""Detection and repair of losses."""
Growth = Literal["acks", "bytes"]
"""Quantity by which a window grows."""
EcnMode = Literal["off", "rfc3168", "dctcp"]
"""Explicit congestion notification of a connection."""
RdmaControl = (
    Literal["none", "dcqcn", "dctcp", "timely", "swift", "hpcc", "hpcc_pint", "powertcp", "theta_powertcp"]
    | RdmaControlTable
)
"""The congestion control of queue pairs: a name, or a table of that name with its keys."""
RdmaVerb = Literal["send", "write", "read"]
"""RDMA operation of a message."""
QueuePairs = Literal["one", "free", "each"]
"""Queue pair of a transfer."""
RdmaRecovery = Literal["go_back_n", "selective", "reordering"] | RdmaRecoveryTable
"""How lost packets are repaired: a name, or a table of that name with its keys."""
CnpScope = Literal["queue_pair", "address", "port"]
"""Queue pairs that share the minimum interval between CNPs."""
PathSelection = (
    Literal["fixed", "oblivious", "random_spray", "bitmap", "reps", "mixed", "mrc", "plb"]
    | PathSelectionTable
)
"""How a sender chooses paths: a name, or a table of that name with its keys."""
DcqcnPreset = Literal["paper", "mlx", "mlx-2016", "hpcc"]
"""Preset of DCQCN: defaults of the keys that a scenario omits."""
ReorderingPreset = Literal["roce", "cx-ar", "falcon"]
"""Preset of reordering-tolerant recovery: defaults of the keys that a scenario omits."""
UetPreset = Literal["uec", "htsim"]
"""Sizes of headers."""
UetMode = Literal["rud", "rod", "rudi", "uud"]
"""Delivery mode of a packet delivery context."""
UetSes = Literal["standard", "medium", "small"]
"""Header of the semantic sublayer (SES) of requests."""
UetControl = Literal["none", "nscc", "rccc", "eqds", "ndp"] | UetControlTable
"""Congestion control of packet delivery contexts: a name, or a table of that name with its keys."""
PullOrder = Literal["round_robin", "fifo"]
"""Order of a pull queue."""
Messages = (
    Literal[
        "database_entry",
        "database_query",
        "ipc",
        "iscsi_read",
        "iscsi_write",
        "iwarp_read",
        "iwarp_write",
        "iwarp_send",
    ]
    | Sequence[str]
    | MessagesTable
)
"""The messages of an exchange."""
FcpOperation = Literal["read", "write"]
"""Kind of an exchange."""
Arrivals = Literal["once"] | ArrivalsTable
"""Start times of transfers."""
PublishedSizes = Literal["web_search", "fb_hadoop", "ali_storage", "google_rpc", "hadoop", "data_mining"]
"""A published distribution of sizes."""
Sizes = str | PublishedSizes | SizesTable
"""Sizes of transfers."""
Carrier = Literal["frames", "tcp", "rdma", "uet", "mrc"] | CarrierTable
"""Transport of transfers."""
HeaderPreset = Literal["ethernet", "esun", "sue", "sue_afh1", "sue_afh2", "sue_lite"]
"""Link headers by name."""
Header = str | HeaderPreset
"""Bytes of headers in each frame."""
ServiceOrder = Literal["round_robin", "fifo"]
"""Which of a source's transfers sends the next frame."""
Placement = Literal["linear", "packed", "spread", "by_pod", "by_rail", "random"]
"""Placement of the ranks of a job on hosts."""
ComputeTimes = str | Sequence[str]
"""Computation before each iteration: a time, or a list of times that iterations use in turn,
    starting again after the last.
    """
Collective = Literal[
    "all_reduce",
    "reduce_scatter",
    "all_gather",
    "all_to_all",
    "broadcast",
    "reduce",
    "barrier",
    "send_receive",
]
"""A collective operation."""
Pairs = Literal["used", "all"]
"""Pairs of ranks that have connections."""
Algorithm = Literal[
    "ring",
    "halving_doubling",
    "recursive_doubling",
    "double_tree",
    "hierarchical",
    "binomial",
    "shifted",
    "burst",
    "bruck",
    "dissemination",
    "pipeline",
    "in_network",
]
"""Algorithm of a collective operation."""
LinkWord = Literal["any", "all"]
"""Links by keyword."""
FaultLink = LinkWord | Sequence[str]
"""Link of a fault."""
WaitingFrames = Literal["lost", "kept"]
"""Fate of frames queued for a link that is down."""
