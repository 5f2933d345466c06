"""Exports ports of a scenario's switches as CONFIG_DB of SONiC.

Source: the schema of SONiC's CONFIG_DB (tables BUFFER_POOL, BUFFER_PROFILE, BUFFER_PG, PORT_QOS_MAP,
SCHEDULER, QUEUE, WRED_PROFILE, PFC_WD, PORT, SWITCH_TRIMMING), and its YANG models for the ranges. With a
dynamic threshold, the size of a pool is its shared part, and the size of a profile is its reserve. With a
static threshold, the size of a profile is the sum of XON and headroom, as on NVIDIA switches.

Not written, but reported: colors by DSCP, and a change of DSCP for some neighbors only.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.errors import InputError

from . import sonic_trimming
from .lossless_profile import EXPONENTS
from .memory import lossless_groups, shared_bytes
from .port_settings import PortSettings
from .sonic_port import CODE_POINTS, COLORS
from .wred import OF_WRED, WredLine, class_of_queue, managers, whole_amount, whole_bytes, wred_line

MAP = "PENSTOCK"
"""Name of all exported maps."""
POOL = "ingress_lossless_pool"
POLL_MS = 200
DETECTION_MS, RESTORATION_MS, LEAST_MS = 5_000, 60_000, 100
ACTIONS = {"report": "alert", "drop": "drop", "forward": "forward"}
MTU_BYTES = (68 + 22, 9_216 + 22)
"""Range of frame sizes for port MTUs, which exclude 22 bytes of a frame."""
Database = dict[str, dict[str, Any]]


@dataclass(frozen=True)
class Port:
    """A port of a switch.

    Attributes
    ----------
    interface : str
        Name of the port, such as "Ethernet0".
    rate, length : str
        Rate and length of its link, such as "100 Gb/s" and "40 m".
    settings : PortSettings
        Classes and lossless priorities.
    headroom_bytes : int
        Bytes in flight on its link after XOFF, in the memory of the switch; used if the scenario leaves the
        headroom to be computed.
    """

    interface: str
    rate: str
    length: str
    settings: PortSettings
    headroom_bytes: int


def config_db(effective: Mapping[str, Any], port: Port) -> tuple[Database, list[str]]:
    """Returns the tables for one port, and remarks on settings that they cannot express.

    Parameters
    ----------
    effective : mapping
        The effective scenario.
    port : Port
        The port.

    Raises
    ------
    InputError
        If SONiC cannot express a setting of the scenario; the message names the key.
    """
    entries: list[str] = []
    tables = _maps(effective, port, entries) | _schedulers(port) | _of_link(effective, port)
    _wred(effective, port, tables, entries)
    memory = "memory" in effective["switch"].get("buffer", {})
    if port.settings.lossless or (memory and "trimming" in effective["switch"]):
        tables |= _buffers(effective, port, entries) | _watchdog(effective, port)
    tables |= sonic_trimming.written(effective, entries)
    return tables, entries


def _maps(effective: Mapping[str, Any], port: Port, reported: list[str]) -> Database:
    """Maps of DSCP or priority to traffic class, group and queue; priorities become SONiC's classes."""
    keys = effective["switch"].get("maps", {})
    priorities = range(8)
    lossy = next((one for one in priorities if one not in port.settings.lossless), 0)
    groups = {str(one): str(one if one in port.settings.lossless else lossy) for one in priorities}
    queues = {str(one): str(port.settings.class_of[one]) for one in priorities}
    stops = {str(one): str(queue) for one, queue in enumerate(_stops(effective, port))}
    maps = {
        "dot1p_to_tc_map": ("DOT1P_TO_TC_MAP", {str(one): str(one) for one in priorities}),
        "tc_to_pg_map": ("TC_TO_PRIORITY_GROUP_MAP", groups),
        "tc_to_queue_map": ("TC_TO_QUEUE_MAP", queues),
        "pfc_to_queue_map": ("MAP_PFC_PRIORITY_TO_QUEUE", stops),
    }
    if (found := keys.get("dscp_to_tc")) is not None:
        # A port trusts either DSCP or priority.
        del maps["dot1p_to_tc_map"]
        maps["dscp_to_tc_map"] = ("DSCP_TO_TC_MAP", _code_points(found))
        new = _new_code_points(found, keys.get("remap", ()), reported)
        if new:
            maps["tc_to_dscp_map"] = ("TC_TO_DSCP_MAP", new)
    elif "remap" in keys:
        reported.append("switch.maps.remap is left out: there is no dscp_to_tc")
    if (found := keys.get("pfc_to_group")) is not None:
        of_priorities = {str(one): str(group) for one, group in enumerate(found)}
        maps["pfc_to_pg_map"] = ("PFC_PRIORITY_TO_PRIORITY_GROUP_MAP", of_priorities)
    if "dscp_to_color" in keys:
        reported.append("switch.maps.dscp_to_color is left out: SONiC has no table for it")
    of_port = dict.fromkeys(maps, MAP)
    if port.settings.lossless:
        of_port["pfc_enable"] = ",".join(map(str, port.settings.lossless))
    tables: Database = {table: {MAP: entries} for table, entries in maps.values()}
    return {**tables, "PORT_QOS_MAP": {port.interface: of_port}}


def _stops(effective: Mapping[str, Any], port: Port) -> Sequence[int]:
    """The queue that a pause of each priority stops, by SONiC's queue numbers."""
    switch = effective["switch"]
    found = switch.get("maps", {}).get("pfc_to_queue")
    if found is None:
        return port.settings.class_of
    numbers = class_of_queue(effective, port.settings.class_of)
    return [numbers.get(queue, queue) for queue in found]


def _code_points(named: Mapping[str, int]) -> dict[str, str]:
    """A map of code points in SONiC's form; unmapped code points have class 0."""
    other = named.get("other", 0)
    every = {str(dscp): other for dscp in CODE_POINTS} if other else {}
    found = every | {dscp: one for dscp, one in named.items() if dscp != "other"}
    if not other and "other" in named:
        found = {str(dscp): 0 for dscp in CODE_POINTS} | found
    return {str(dscp): str(found[str(dscp)]) for dscp in CODE_POINTS if str(dscp) in found}


def _new_code_points(
    class_of: Mapping[str, int], remap: Sequence[Mapping[str, Any]], reported: list[str]
) -> dict[str, str]:
    """The code point of each traffic class at the egress; empty, with a remark, if it is not unique."""
    if not remap:
        return {}
    if len(remap) > 1 or "*" not in remap[0]["to"]:
        to = ", ".join(name for entry in remap for name in entry["to"])
        reported.append(
            f"switch.maps.remap is left out: it is for {to}; only a map for all neighbours (*) is exported"
        )
        return {}
    found: dict[int, set[int]] = {}
    for dscp in CODE_POINTS:
        number = class_of.get(str(dscp), class_of.get("other", 0))
        found.setdefault(number, set()).add(remap[0]["dscp"].get(str(dscp), dscp))
    new = {number: points for number, points in found.items() if len(points) == 1}
    code_points = {
        str(dscp) for dscp in CODE_POINTS if class_of.get(str(dscp), class_of.get("other", 0)) in new
    }
    if missed := sorted({*remap[0]["dscp"]} - code_points, key=int):
        reported.append(
            f"switch.maps.remap of DSCP {', '.join(missed)} is left out: SONiC has one new DSCP per class"
        )
    return {str(number): str(*points) for number, points in sorted(new.items())}


def _schedulers(port: Port) -> Database:
    schedulers, queues = {}, {}
    for number in sorted(set(port.settings.class_of)):
        name = f"scheduler.{number}"
        shared = port.settings.algorithms[number] == "ets"
        if shared and not 1 <= port.settings.percent[number] <= 100:
            what = f"traffic class {number} has a share of {port.settings.percent[number]} %"
            raise InputError(f"{what}; weights from 1 to 100 can be exported")
        weight = {"type": "DWRR", "weight": str(port.settings.percent[number])}
        schedulers[name] = weight if shared else {"type": "STRICT"}
        queues[f"{port.interface}|{number}"] = {"scheduler": name}
    return {"SCHEDULER": schedulers, "QUEUE": queues}


def _of_link(effective: Mapping[str, Any], port: Port) -> Database:
    """Speed, MTU and cable of the port."""
    speed = whole_amount("rate", port.rate, "rate", 10**6, "whole Mb/s")
    entry = {"speed": str(speed)}
    if (mtu := effective["switch"].get("mtu")) is not None:
        frame = whole_bytes("switch.mtu", mtu)
        least, most = MTU_BYTES
        if not least <= frame <= most:
            raise InputError(f"switch.mtu is {mtu}; {least} B to {most} B can be exported")
        entry["mtu"] = str(frame - 22)
    tables: Database = {"PORT": {port.interface: entry}}
    if port.settings.lossless:
        cable = whole_amount("length", port.length, "length", 1_000, "whole metres")
        tables["CABLE_LENGTH"] = {"AZURE": {port.interface: f"{cable}m"}}
    return tables


def _wred(effective: Mapping[str, Any], port: Port, tables: Database, reported: list[str]) -> None:
    """Adds WRED to the queues that have a queue manager."""
    for one in managers(effective, port.settings.class_of, reported):
        profile = _profile(one.key, one.kind, one.keys, reported)
        name = f"wred.{one.place}"
        for number in one.classes:
            tables["QUEUE"][f"{port.interface}|{number}"]["wred_profile"] = name
        if one.classes:
            tables.setdefault("WRED_PROFILE", {})[name] = profile


def _profile(key: str, kind: str, keys: Mapping[str, Any], reported: list[str]) -> dict[str, str]:
    if kind == "step":
        threshold = whole_bytes(f"{key}.threshold", keys["threshold"])
        step = WredLine(threshold, threshold, 100, drops=False, marks=True)
        return _colors(dict.fromkeys(COLORS, step))
    if kind != "red":
        raise InputError(f"{key}: only red and step can be exported")
    for name, value in OF_WRED.items():
        if keys[name] != value:
            reported.append(f"{key}.{name} is {keys[name]}: SONiC uses {value}")
    lines = {color: wred_line(key, {**keys, **keys.get(color, {})}) for color in COLORS}
    if any(line.marks for line in lines.values()) and not keys["mark_above_max"]:
        reported.append(f"{key}.mark_above_max is false: ECN of SONiC marks all frames above max")
    return _colors(lines)


def _colors(lines: Mapping[str, WredLine]) -> dict[str, str]:
    """Fields of a WRED profile."""
    profile = {f"wred_{color}_enable": str(line.drops).lower() for color, line in lines.items()}
    marked = [color for color, line in lines.items() if line.marks]
    every = len(marked) == len(COLORS)
    profile["ecn"] = "ecn_all" if every else f"ecn_{'_'.join(marked) or 'none'}"
    for color, line in lines.items():
        profile[f"{color}_min_threshold"] = str(line.least)
        profile[f"{color}_max_threshold"] = str(line.most)
        profile[f"{color}_drop_probability"] = str(line.percent)
    return profile


def _buffers(effective: Mapping[str, Any], port: Port, reported: list[str]) -> Database:
    buffer = effective["switch"].get("buffer", {})
    if memory := buffer.get("memory"):
        return _pools(memory, port, reported)
    pfc = effective["flow_control"]["pfc"]
    threshold = buffer.get("dynamic_threshold")
    computed = "computed" in (pfc["xoff"], pfc["xon"])
    if not threshold and computed and buffer.get("total", "unlimited") == "unlimited":
        reported.append("switch.buffer has no total and thresholds are computed: buffers are not exported")
        return {}
    limits = {name: buffer.get(name, "unlimited") for name in ("port", "class", "queue")}
    reported += [
        f"switch.buffer.{name} is {limit}: egress limits are left out"
        for name, limit in limits.items()
        if limit != "unlimited"
    ]
    total = whole_bytes("switch.buffer.total", buffer.get("total", "unlimited"))
    room = port.headroom_bytes
    if pfc["headroom"] != "computed":
        room = whole_bytes("flow_control.pfc.headroom", pfc["headroom"])
    if threshold:
        # With dynamic thresholds, the watermark only preserves the value of the original configuration.
        xon = None if computed else whole_bytes("flow_control.pfc.xon", pfc["xon"])
        pool, profile = _dynamic(effective, threshold, total, room, xon)
    else:
        xoff, xon = (whole_bytes(f"flow_control.pfc.{key}", pfc[key]) for key in ("xoff", "xon"))
        pool = {"size": str(total), "mode": "static"}
        profile = {"xoff": str(room), "size": str(xon + room), "xon": str(xon), "static_th": str(xoff)}
    speed = whole_amount("rate", port.rate, "rate", 10**6, "whole Mb/s")
    cable = whole_amount("length", port.length, "length", 1_000, "whole metres")
    name = f"pg_lossless_{speed}_{cable}m_profile"
    return {
        "BUFFER_POOL": {POOL: {"type": "ingress", **pool}},
        "BUFFER_PROFILE": {name: {"pool": POOL, **profile}},
        "BUFFER_PG": {f"{port.interface}|{one}": {"profile": name} for one in port.settings.lossless},
    }


def _pools(memory: Mapping[str, Any], port: Port, reported: list[str]) -> Database:
    """Pools and profiles of the scenario."""
    key = "switch.buffer.memory"
    tables: Database = {"BUFFER_POOL": {}, "BUFFER_PROFILE": {}, "BUFFER_PG": {}, "BUFFER_QUEUE": {}}
    for what, table in (("groups", "BUFFER_PG"), ("queues", "BUFFER_QUEUE")):
        for entry in sorted(memory["attach"], key=_breadth):
            name = entry["profile"]
            profile = memory["profiles"][name]
            pool = memory["pools"][profile["pool"]]
            if (pool["side"] == "ingress") != (what == "groups") or not _fits(entry, port, reported):
                continue
            free = [
                number
                for number in entry.get(what, range(8))
                if f"{port.interface}|{number}" not in tables[table]
            ]
            tables[table] |= {f"{port.interface}|{number}": {"profile": name} for number in free}
            if free:
                tables["BUFFER_POOL"][profile["pool"]] = _pool(f"{key}.pools.{profile['pool']}", pool)
                tables["BUFFER_PROFILE"][name] = _buffer_profile(f"{key}.profiles.{name}", profile, pool)
    groups = memory.get("groups", range(8))
    tables["TC_TO_PRIORITY_GROUP_MAP"] = {MAP: {str(one): str(groups[one]) for one in range(8)}}
    return {table: entries for table, entries in tables.items() if entries}


def _breadth(entry: Mapping[str, Any]) -> tuple[int, int]:
    """Sort key by precedence: attachments with more conditions first, then shorter cables."""
    conditions = {"to", "ports", "rate", "length", "groups", "queues"} & entry.keys()
    longest = whole_amount("length", entry["length"], "length", 1, "mm") if "length" in entry else 0
    return -len(conditions), longest


def _fits(entry: Mapping[str, Any], port: Port, reported: list[str]) -> bool:
    """Returns true if an attachment applies to the port."""
    for key, words in (("to", "ports to "), ("ports", "ports ")):
        if key in entry:
            named = [entry[key]] if isinstance(entry[key], str) else entry[key]
            reported.append(
                f"switch.buffer.memory.attach: {entry['profile']} is for {words}{', '.join(named)}: left out"
            )
            return False
    rate = "rate" not in entry or whole_amount("rate", entry["rate"], "rate", 1, "whole b/s") == whole_amount(
        "rate", port.rate, "rate", 1, "whole b/s"
    )
    longest = "length" not in entry or whole_amount(
        "length", entry["length"], "length", 1, "mm"
    ) >= whole_amount("length", port.length, "length", 1, "mm")
    return rate and longest


def _pool(key: str, pool: Mapping[str, Any]) -> dict[str, str]:
    fields = {
        "type": pool["side"],
        "mode": pool["mode"],
        "size": str(whole_bytes(f"{key}.size", pool["size"])),
    }
    if "headroom" in pool:
        fields["xoff"] = str(whole_bytes(f"{key}.headroom", pool["headroom"]))
    return fields


def _buffer_profile(key: str, profile: Mapping[str, Any], pool: Mapping[str, Any]) -> dict[str, str]:
    """A profile; if a group has its own headroom, the size of the profile includes it."""
    reserved, headroom = (whole_bytes(f"{key}.{name}", profile[name]) for name in ("reserved", "headroom"))
    own = headroom if "headroom" not in pool else 0
    fields = {"pool": profile["pool"], "size": str(reserved + own)}
    if "alpha" in profile:
        fields["dynamic_th"] = str(_exponent(profile["alpha"], f"{key}.alpha"))
    elif "threshold" in profile:
        fields["static_th"] = str(whole_bytes(f"{key}.threshold", profile["threshold"]))
    elif pool["mode"] == "static":
        fields["static_th"] = str(whole_bytes("size", pool["size"]))
    else:
        fields["dynamic_th"] = "0"
    if profile.get("discard_action") == "trim":
        fields["packet_discard_action"] = "trim"
    if headroom:
        xon = profile.get("xon", profile["reserved"])
        fields |= {"xoff": str(headroom), "xon": str(whole_bytes(f"{key}.xon", xon))}
        if (offset := profile.get("xon_offset", None if "xon" in profile else "0 B")) is not None:
            fields["xon_offset"] = str(whole_bytes(f"{key}.xon_offset", offset))
    return fields


def _dynamic(
    effective: Mapping[str, Any], threshold: Mapping[str, Any], total: int, room: int, xon: int | None
) -> tuple[dict[str, str], dict[str, str]]:
    """Pool and profile of a dynamic threshold."""
    key = "switch.buffer.dynamic_threshold"
    reserve, headroom, offset = (
        whole_bytes(f"{key}.{name}", threshold[name]) for name in ("minimum", "headroom", "resume_offset")
    )
    xon = reserve if xon is None else xon
    pool = {"size": str(shared_bytes(effective)), "mode": "dynamic"}
    profile = {"xoff": str(room), "size": str(reserve), "xon": str(xon)}
    if headroom == room * lossless_groups(effective) and xon == reserve:
        profile["size"] = str(xon + room)  # each group has its own headroom
    else:
        pool["xoff"] = str(headroom)
    if offset < threshold["alpha"] * total:
        profile["xon_offset"] = str(offset)
    return pool, profile | {"dynamic_th": str(_exponent(threshold["alpha"]))}


def _watchdog(effective: Mapping[str, Any], port: Port) -> Database:
    keys = effective.get("watchdog")
    if not isinstance(keys, Mapping):
        return {}
    times = {}
    for key, most in (("detection_time", DETECTION_MS), ("restoration_time", RESTORATION_MS)):
        number = whole_amount(f"watchdog.{key}", keys[key], "time", 10**9, "whole milliseconds")
        if not LEAST_MS <= number <= most:
            raise InputError(f"watchdog.{key} is {keys[key]}; {LEAST_MS} ms to {most} ms can be exported")
        times[key] = number
    entry = {key: str(number) for key, number in times.items()} | {"action": ACTIONS[keys["action"]]}
    poll = {"POLL_INTERVAL": str(min(POLL_MS, *times.values()))}
    return {"PFC_WD": {"GLOBAL": poll, port.interface: entry}}


def _exponent(alpha: float, key: str = "switch.buffer.dynamic_threshold.alpha") -> int:
    """Exponent of two of a factor."""
    exponent = math.log2(alpha)
    if not exponent.is_integer() or int(exponent) not in EXPONENTS:
        raise InputError(f"{key} is {alpha:g}; powers of two from 1/256 to 128 can be exported")
    return int(exponent)
