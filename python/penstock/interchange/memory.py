"""The memory of a switch, as far as its size depends on the fabric.

Configurations of switches give the size of the shared part only. `switch.buffer.total` is the whole memory,
which includes the guaranteed minima and the headroom of every port.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import tomli_w

from penstock import _core
from penstock.errors import InputError
from penstock.laboratory.quantity import Quantity
from penstock.library import Source
from penstock.running import run_source
from penstock.units import rate_back

from .piece import Assumed, Document, LinkClass, SharedMemory, plainest, size


def fit(keys: dict[str, Any], document: Document, memory: SharedMemory) -> list[str]:
    """Sets headroom and size of the memory for the switch with the most ports; returns remarks.

    Raises
    ------
    InputError
        If the size of the memory is unknown.
    """
    buffer = keys["switch"]["buffer"]
    if memory.shared_bytes is None and "total" not in buffer:
        message = "has thresholds of a shared memory, but not its size"
        help_ = "name a scenario with switch.buffer.total: --like SCENARIO"
        raise InputError(f"{document.file}: {message}; {help_}")
    ports = _ports(keys["topology"])
    most = max(ports.values())
    used = sorted({flow.get("priority", 0) for flow in keys.get("flows", ())}) or [0]
    lossless = len(keys["flow_control"]["pfc"].get("priorities", used))
    threshold = buffer["dynamic_threshold"]
    entries = []
    if memory.shared_bytes is not None:
        entries += count_losses(keys)
    if memory.headroom_bytes is not None:
        each, room = memory.headroom_bytes, most * lossless * memory.headroom_bytes
        threshold["headroom"] = size(room)
        entries.append(
            f"shared headroom: {most} ports and {lossless} priorities with {size(each)} each, {size(room)}"
        )
    if memory.shared_bytes is not None:
        queues = _queues(most, keys["switch"].get("queues", "per_priority"), lossless)
        reserved = queues * _bytes(threshold["minimum"])
        buffer["total"] = size(memory.shared_bytes + reserved + _bytes(threshold["headroom"]))
        headroom = _bytes(threshold["headroom"])
        entries.append(
            f"switch.buffer.total: {memory.shared_bytes} B that are shared, {headroom} B of headroom, "
            f"{reserved} B reserved by {queues} queues"
        )
        if len(set(ports.values())) > 1:
            entries.append(f"switches with fewer than {most} ports reserve less and share the rest")
    return entries


UNLIMITED_BYTES = 1 << 40
"""Size of an unlimited pool, larger than any run needs."""
COMPUTED = "computed_lossless"
"""Profile of lossless groups without one."""


def assume(keys: dict[str, Any], assumed: Assumed) -> list[str]:
    """Sets the sizes of pools without one, and profiles of lossless groups without one; returns remarks.

    A switch computes both when it starts (buffermgrd). The headroom of a group depends on the rate and the
    cable of its link; here it is the maximum over the links of the fabric.
    """
    buffer = keys["switch"]["buffer"]
    memory = buffer["memory"]
    entries = []
    total = _bytes(buffer.get("total", "unlimited"))
    for name in assumed.unsized:
        memory["pools"][name]["size"] = size(total or UNLIMITED_BYTES)
        reason = (
            f"{size(total)}, switch.buffer.total"
            if total
            else f"{size(UNLIMITED_BYTES)}, effectively unlimited"
        )
        entries.append(f"assumed: pool {name} has no size, because the switch computes it: {reason}")
    return entries + [f"assumed: {line}" for line in _computed_groups(keys, memory, assumed)]


def _computed_groups(keys: Mapping[str, Any], memory: dict[str, Any], assumed: Assumed) -> list[str]:
    """Sets a profile that suits all links of the fabric for lossless groups without one."""
    control = keys.get("flow_control")
    if not isinstance(control, Mapping) or not isinstance(control.get("pfc"), Mapping):
        return []
    used = sorted({flow.get("priority", 0) for flow in keys.get("flows", ())}) or [0]
    group_of = memory.get("groups", range(8))
    attached = {group for one in memory["attach"] for group in one.get("groups", ())}
    lossless = {group_of[one] for one in control["pfc"].get("priorities", used)}
    missing = sorted(lossless - attached)
    if not missing:
        return []
    pool = assumed.pool
    if pool is None or pool not in memory["pools"]:
        pool = "ingress_lossless_pool"
        memory["pools"][pool] = {"side": "ingress", "size": size(UNLIMITED_BYTES), "mode": "dynamic"}
    mtu = keys["switch"].get("mtu", "1522 B")
    room = link_headroom(keys, mtu)
    alpha = 2.0 ** (assumed.exponent or 0)
    memory["profiles"][COMPUTED] = {
        "pool": pool,
        "reserved": "0 B",
        "alpha": alpha,
        "headroom": size(room),
        "xon": "0 B",
        "xon_offset": size(2 * _bytes(mtu)),
    }
    memory["attach"].append({"profile": COMPUTED, "groups": missing})
    named = ", ".join(map(str, missing))
    return [
        f"lossless groups {named} have no profile, because the switch computes it: "
        f"alpha {alpha:g} of pool {pool}, "
        f"{size(room)} of headroom, the maximum over all links, XON two frames below XOFF"
    ]


def attach_rest(keys: Mapping[str, Any], classes: Sequence[LinkClass]) -> list[str]:
    """Attaches the most common profiles to links for which no port is configured; returns remarks.

    Only cable lengths are compared, not interfaces or PHYs, as in attachments.
    """
    attach = keys["switch"]["buffer"]["memory"]["attach"]
    cables = _without_interfaces(keys["topology"])
    entries = []
    for what in ("groups", "queues"):
        own = [one for one in attach if what in one]
        if all("rate" not in one and "length" not in one for one in own):
            continue
        rest = [kind for kind in _links(cables) if not any(_fits(one, *kind) for one in own)]
        if not rest:
            continue
        most = {
            key: value for key, value in (("rate", classes[0].rate), ("length", classes[0].length)) if value
        }
        attach += [
            {"profile": one["profile"], what: one[what]}
            for one in own
            if {key: one[key] for key in ("rate", "length") if key in one} == most
        ]
        entries += [
            f"no port has links of {plainest(rate, 'rate')} and {plainest(delay // PS_PER_MM, 'length')}: "
            f"profiles of {what} are taken from {classes[0]}"
            for rate, delay in rest
        ]
    return entries


PS_PER_MM = 5
"""Propagation delay of fiber in ps per mm, as for lengths in a scenario."""


def _fits(entry: Mapping[str, Any], rate_bps: int, delay_ps: int) -> bool:
    """Returns true if an attachment applies to the ports of a link."""
    rate, length = (Quantity.read(entry[key]) if key in entry else None for key in ("rate", "length"))
    return (rate is None or rate.amount == rate_bps) and (
        length is None or delay_ps <= PS_PER_MM * length.amount
    )


def _without_interfaces(topology: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a fabric whose links have only the delay of their cables."""

    def bare(table: Mapping[str, Any]) -> dict[str, Any]:
        if "links" in table:
            return {**table, "links": [bare(link) for link in table["links"]]}
        left = {key: value for key, value in table.items() if not key.endswith(("phy", "interface_delay"))}
        return left | {"phy": "none"}

    return {kind: bare(table) for kind, table in topology.items()}


def _links(topology: Mapping[str, Any]) -> list[tuple[int, int]]:
    """Distinct pairs of rate in b/s and delay in ps of the links of a fabric."""
    text = tomli_w.dumps({"simulation": {"duration": "1 ns"}, "topology": topology})
    links = run_source(Source(text, "the fabric")).topology["links"]
    return sorted(
        {
            (round(rate), round(link["delay_ns"] * 1_000))
            for link in links
            for rate in (link["rate_bps"], rate_back(link))
        }
    )


def link_headroom(keys: Mapping[str, Any], mtu: str) -> int:
    """Largest headroom that a link of the fabric needs, with the slowest PHY of its rate, in bytes."""
    kinds = _links(_without_interfaces(keys["topology"]))
    latency = keys["switch"].get("latency", "0 s")

    def needed(rate_bps: int, delay_ps: int) -> int:
        link = {"rate": f"{rate_bps} b/s", "delay": f"{delay_ps} ps", "mtu": mtu, "latency": latency}
        rest = dict.fromkeys(("length", "phy", "interface_delay", "response_time", "overhead", "cell"))
        answer: dict[str, Any] = json.loads(_core.headroom({**rest, **link}))
        return int(answer["headroom_bytes"])

    return max(needed(*kind) for kind in kinds)


def count_losses(keys: dict[str, Any]) -> list[str]:
    """Makes a run continue after a lossless drop, unless the scenario sets it; returns remarks."""
    simulation = keys.setdefault("simulation", {})
    if "on_lossless_drop" in simulation:
        return []
    simulation["on_lossless_drop"] = "count"
    return ["simulation.on_lossless_drop is count: shared headroom may be less than all links need at once"]


def shared_bytes(effective: Mapping[str, Any]) -> int:
    """Shared part of the memory of the switch with most ports: the total minus headroom and minima.

    Raises
    ------
    InputError
        If nothing is shared.
    """
    buffer = effective["switch"]["buffer"]
    threshold = buffer["dynamic_threshold"]
    lossless = len(effective["flow_control"]["pfc"]["priorities"])
    queues = _queues(lossless_groups(effective) // lossless, effective["switch"]["queues"], lossless)
    shared = _bytes(buffer["total"]) - _bytes(threshold["headroom"]) - queues * _bytes(threshold["minimum"])
    if shared <= 0:
        raise InputError(f"switch.buffer.total is {buffer['total']}; headroom and minima use all of it")
    return shared


def lossless_groups(effective: Mapping[str, Any]) -> int:
    """Number of ports of the largest switch times the number of lossless priorities."""
    return max(_ports(effective["topology"]).values()) * len(effective["flow_control"]["pfc"]["priorities"])


def _queues(ports: int, queues: object, lossless: int) -> int:
    """Number of queues with a minimum: the traffic classes and lossless priorities of each port."""
    return ports * (_classes(queues) + lossless)


def _ports(topology: Mapping[str, Any]) -> Mapping[str, int]:
    """Number of ports of each switch."""
    text = tomli_w.dumps({"simulation": {"duration": "1 ns"}, "topology": topology})
    built = run_source(Source(text, "the fabric")).topology
    switches = {node["name"] for node in built["nodes"] if node["role"] != "host"}
    ports = Counter(end for link in built["links"] for end in (link["a"], link["b"]))
    return {name: ports[name] for name in switches} or ports


def _classes(queues: object) -> int:
    """Number of traffic classes of a port."""
    if isinstance(queues, list):
        return max(map(int, queues)) + 1
    return 1 if queues == "shared" else 8


def _bytes(text: object) -> int:
    found = Quantity.read(str(text))
    return 0 if found is None else int(found.amount)
