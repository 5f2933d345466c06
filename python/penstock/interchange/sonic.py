"""Ports of a scenario's switches as CONFIG_DB of SONiC.

Source: the schema of SONiC's CONFIG_DB (tables BUFFER_POOL, BUFFER_PROFILE, BUFFER_PG, PORT_QOS_MAP,
SCHEDULER, QUEUE, PFC_WD) and its YANG models for the ranges. The size of a profile is XON and headroom, as
NVIDIA has it.

Not modelled: egress buffers, WRED, and the mapping of DSCP: the frames of a scenario have priorities of IEEE
802.1Q, so that DOT1P_TO_TC_MAP names them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.errors import InputError
from penstock.laboratory.quantity import Quantity

MAP = "PENSTOCK"
"""Name of all maps."""
POOL = "ingress_lossless_pool"
POLL_MS = 200
EXPONENTS = (-8, 7)
DETECTION_MS, RESTORATION_MS, LEAST_MS = 5_000, 60_000, 100
ACTIONS = {"report": "alert", "drop": "drop", "forward": "forward"}

Database = dict[str, dict[str, Any]]


@dataclass(frozen=True)
class Port:
    """A port of a switch.

    Attributes
    ----------
    interface : str
        Its name, such as "Ethernet0".
    rate, length : str
        Of its link, such as "100 Gb/s" and "40 m".
    class_of : sequence of int
        Traffic class of each priority, 0 to 7.
    algorithms : sequence of str
        Of each traffic class: "strict" or "ets".
    percent : sequence of int
        Share of each traffic class in per cent.
    lossless : sequence of int
        Priorities with PFC.
    headroom_bytes : int
        What its link has in flight after XOFF, in the memory of the switch; if the scenario leaves it to be
        computed.
    """

    interface: str
    rate: str
    length: str
    class_of: Sequence[int]
    algorithms: Sequence[str]
    percent: Sequence[int]
    lossless: Sequence[int]
    headroom_bytes: int


def config_db(effective: Mapping[str, Any], port: Port) -> Database:
    """The tables for one port.

    Parameters
    ----------
    effective : mapping
        The effective scenario.
    port : Port
        The port.

    Raises
    ------
    InputError
        If SONiC has no words for what the scenario has; the message names the key.
    """
    tables = _maps(port) | _schedulers(port)
    if port.lossless:
        tables |= _buffers(effective, port) | _watchdog(effective, port)
    return tables


def _maps(port: Port) -> Database:
    """Priority to traffic class, to priority group, to queue: classes of SONiC are our priorities."""
    priorities = range(8)
    lossy = next((one for one in priorities if one not in port.lossless), 0)
    groups = {str(one): str(one if one in port.lossless else lossy) for one in priorities}
    queues = {str(one): str(port.class_of[one]) for one in priorities}
    maps = {
        "dot1p_to_tc_map": ("DOT1P_TO_TC_MAP", {str(one): str(one) for one in priorities}),
        "tc_to_pg_map": ("TC_TO_PRIORITY_GROUP_MAP", groups),
        "tc_to_queue_map": ("TC_TO_QUEUE_MAP", queues),
        "pfc_to_queue_map": ("MAP_PFC_PRIORITY_TO_QUEUE", queues),
    }
    of_port = dict.fromkeys(maps, MAP)
    if port.lossless:
        of_port["pfc_enable"] = ",".join(map(str, port.lossless))
    tables: Database = {table: {MAP: entries} for table, entries in maps.values()}
    return {**tables, "PORT_QOS_MAP": {port.interface: of_port}}


def _schedulers(port: Port) -> Database:
    schedulers, queues = {}, {}
    for number in sorted(set(port.class_of)):
        name = f"scheduler.{number}"
        shared = port.algorithms[number] == "ets"
        if shared and port.percent[number] == 0:
            raise InputError(
                f"traffic class {number} has a share of 0 %; weights from 1 to 100 can be exported"
            )
        weight = {"type": "DWRR", "weight": str(port.percent[number])}
        schedulers[name] = weight if shared else {"type": "STRICT"}
        queues[f"{port.interface}|{number}"] = {"scheduler": name}
    return {"SCHEDULER": schedulers, "QUEUE": queues}


def _buffers(effective: Mapping[str, Any], port: Port) -> Database:
    buffer = effective["switch"].get("buffer", {})
    total = _bytes("switch.buffer.total", buffer.get("total", "unlimited"))
    pfc = effective["flow_control"]["pfc"]
    pool = {"type": "ingress", "size": str(total)}
    threshold = buffer.get("dynamic_threshold")
    # Dynamic thresholds take the place of the headroom of flow control.
    told = "computed" if threshold else pfc["headroom"]
    room = port.headroom_bytes if told == "computed" else _bytes("flow_control.pfc.headroom", told)
    profile = {"pool": POOL, "xoff": str(room)}
    if threshold:
        pool |= {"mode": "dynamic", "xoff": str(_bytes("headroom", threshold["headroom"]))}
        profile |= {
            "size": str(_bytes("minimum", threshold["minimum"])),
            "xon": "0",
            "xon_offset": str(_bytes("resume_offset", threshold["resume_offset"])),
            "dynamic_th": str(_exponent(threshold["alpha"])),
        }
    else:
        xoff, xon = (_bytes(f"flow_control.pfc.{key}", pfc[key]) for key in ("xoff", "xon"))
        pool |= {"mode": "static"}
        profile |= {"size": str(xon + room), "xon": str(xon), "static_th": str(xoff)}
    cable = _amount("length", port.length, "length", 1_000, "whole metres")
    speed = _amount("rate", port.rate, "rate", 10**6, "whole Mb/s")
    name = f"pg_lossless_{speed}_{cable}m_profile"
    return {
        "CABLE_LENGTH": {"AZURE": {port.interface: f"{cable}m"}},
        "BUFFER_POOL": {POOL: pool},
        "BUFFER_PROFILE": {name: profile},
        "BUFFER_PG": {f"{port.interface}|{one}": {"profile": name} for one in port.lossless},
    }


def _watchdog(effective: Mapping[str, Any], port: Port) -> Database:
    keys = effective.get("watchdog")
    if not isinstance(keys, Mapping):
        return {}
    times = {}
    for key, most in (("detection_time", DETECTION_MS), ("restoration_time", RESTORATION_MS)):
        number = _amount(f"watchdog.{key}", keys[key], "time", 10**9, "whole milliseconds")
        if not LEAST_MS <= number <= most:
            raise InputError(f"watchdog.{key} is {keys[key]}; {LEAST_MS} ms to {most} ms can be exported")
        times[key] = number
    entry = {key: str(number) for key, number in times.items()} | {"action": ACTIONS[keys["action"]]}
    poll = {"POLL_INTERVAL": str(min(POLL_MS, *times.values()))}
    return {"PFC_WD": {"GLOBAL": poll, port.interface: entry}}


def _exponent(alpha: float) -> int:
    """The power of two that a factor is."""
    exponent = math.log2(alpha)
    least, most = EXPONENTS
    if not exponent.is_integer() or not least <= exponent <= most:
        key = "switch.buffer.dynamic_threshold.alpha"
        raise InputError(f"{key} is {alpha:g}; powers of two from 1/256 to 128 can be exported")
    return int(exponent)


def _bytes(key: str, text: object) -> int:
    return _amount(key, text, "size", 1, "sizes in bytes")


def _amount(key: str, text: object, dimension: str, unit: int, accepted: str) -> int:
    """A whole number of a unit, of which the smallest has so many."""
    quantity = Quantity.read(text) if isinstance(text, str) else None
    if quantity is None or quantity.dimension != dimension or quantity.amount % unit:
        raise InputError(f"{key} is {text}; {accepted} can be exported")
    return int(quantity.amount // unit)
