"""Switches of the HPCC fork of ns-3: marking thresholds by link rate, and a shared buffer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import tomli_w

from penstock.library import Source
from penstock.running import run_source
from penstock.units import rate_from

from .memory import link_headroom
from .piece import plainest, size

RESERVED_BYTES, OFFSET_BYTES = 4 * 1024, 3 * 1024
ALPHA = 0.125
"""Factor of the dynamic threshold: `pfc_a_shift` is 3."""
UNMARKED = 0
"""Queue of acknowledgements, which never marks."""


@dataclass(frozen=True)
class Marks:
    """Kmin and Kmax in bytes, and Pmax."""

    least: int
    most: int
    probability: float


@dataclass(frozen=True)
class SimulatedSwitch:
    """Thresholds by rate in b/s, buffer size in bytes (0 for none), and true for dynamic PFC thresholds."""

    marks: Mapping[int, Marks]
    buffer_bytes: int
    is_dynamic: bool


def fit_switch(keys: dict[str, Any], own: SimulatedSwitch, priorities: Collection[int]) -> list[str]:
    """Writes the settings of a fabric's switches for traffic of some priorities; returns remarks.

    A scenario has one queue manager per class, so the thresholds for the most common rate of switch ports
    apply.
    """
    text = tomli_w.dumps({"simulation": {"duration": "1 ns"}, "topology": keys["topology"]})
    built = run_source(Source(text, "the fabric")).topology
    switches = {node["name"] for node in built["nodes"] if node["role"] != "host"}
    ends = [(end, link) for link in built["links"] for end in (link["a"], link["b"]) if end in switches]
    entries: list[str] = []
    if own.marks and ends:
        marked = sorted({*priorities} - {UNMARKED})
        _marks(keys, own, Counter(round(rate_from(end, link)) for end, link in ends), marked, entries)
    if own.buffer_bytes:
        buffer = keys.setdefault("switch", {}).setdefault("buffer", {})
        buffer["total"] = size(own.buffer_bytes)
    if own.buffer_bytes and own.is_dynamic and keys.get("flow_control") != "off":
        _thresholds(keys, Counter(name for name, _ in ends), sorted(priorities), entries)
    return entries


def _marks(
    keys: dict[str, Any], own: SimulatedSwitch, rates: Counter[int], marked: list[int], reported: list[str]
) -> None:
    if not marked:
        reported.append(f"no marks: all traffic has priority {UNMARKED}, whose queue never marks")
        return
    usual = rates.most_common(1)[0][0]
    known = usual if usual in own.marks else min(own.marks, key=lambda one: abs(one - usual))
    if known != usual:
        reported.append(
            f"assumed: no thresholds for {plainest(usual, 'rate')}: taken from {plainest(known, 'rate')}"
        )
    if others := [
        one for one in rates if one != usual and own.marks.get(one) not in (None, own.marks[known])
    ]:
        named = ", ".join(plainest(one, "rate") for one in others)
        reported.append(
            f"not read: thresholds of links of {named}: all use those of {plainest(known, 'rate')}"
        )
    found = own.marks[known]
    red = {
        "weight": 1.0,
        "min": f"{found.least} B",
        "max": f"{found.most} B",
        "max_probability": found.probability,
        "action": "mark_only",
        "gentle": False,
        "spacing": "geometric",
    }
    manager: dict[str, Any] = {"red": red}
    if found.least == found.most:
        manager = {"step": {"threshold": f"{found.most} B"}}
    keys.setdefault("switch", {})["queue_managers"] = [{"classes": marked, **manager}]


def _thresholds(keys: dict[str, Any], ports: Counter[str], lossless: list[int], reported: list[str]) -> None:
    """Dynamic thresholds, with headroom for all ports of the largest switch."""
    frames = [int(str(one.get("frame", "1522 B")).partition(" ")[0]) for one in keys.get("transfers", ())]
    each = link_headroom(keys, f"{max(frames, default=1522)} B")
    headroom = each * max(ports.values(), default=0) * len(lossless)
    keys["switch"]["buffer"]["dynamic_threshold"] = {
        "alpha": ALPHA,
        "minimum": size(RESERVED_BYTES),
        "headroom": size(headroom),
        "resume_offset": size(OFFSET_BYTES),
    }
    keys["flow_control"] = {"pfc": {"priorities": lossless, "accounting": "ingress"}}
    reported.append(
        f"dynamic thresholds of PFC: alpha 1/8 for priorities {', '.join(map(str, lossless))}, {headroom} B "
        "of headroom for the bytes in flight on all links"
    )
