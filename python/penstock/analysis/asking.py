"""What flows asked for, and how evenly those were served that asked for the same."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.measurements import of_result

from .statistics import jain

if TYPE_CHECKING:
    from penstock.measurements import Measurements

HELD_BACK = 0.9
"""A source whose NIC took less than this part of what it asks for was held back; more is chance."""
SAME = 1.1
"""Flows ask for the same if the most is at most so many times the least."""


@dataclass(frozen=True)
class Evenness:
    """Flows of a class that asked for the same: their name or number, and Jain's index of what they got."""

    name: str
    flows: int
    jain: float


@of_result
def asked_rates(result: Measurements) -> list[float | None]:
    """What the source of each flow asked for, in b/s: more than its NIC took where that was full.

    A greedy source asks for what the links of its host carry that its paths begin at. Of connections and
    transfers it is what was sent, because they wait for answers, not for their NIC.
    """
    flows = result.table("flows").select(["flow", "source", "offered_bps"]).to_pylist()
    if "demands" not in result.table_names:
        return [flow["offered_bps"] for flow in flows]
    asked = _asked(result)
    return [_asked_rate(flow, asked.get(flow["flow"])) for flow in flows]


def _asked_rate(flow: dict[str, Any], asked: float | None) -> float | None:
    taken: float | None = flow["offered_bps"]
    return asked if asked is not None and taken is not None and taken < HELD_BACK * asked else taken


def _asked(result: Measurements) -> dict[str, float]:
    """The mean demand of sources that push frames."""
    begin = float(result.run.get("warmup_s", 0.0)) * 1e9
    end = float(result.run["simulated_s"]) * 1e9
    lines = _lines(result)
    changes: dict[str, list[dict[str, Any]]] = defaultdict(list)
    columns = ["flow", "time_ns", "rate_bps", "limit_bytes", "turn_frames"]
    for row in result.table("demands").select(columns).to_pylist():
        changes[row["flow"]].append(row)
    transfers = _transfers(result)
    found = {}
    for flow, rows in changes.items():
        waits = any(row["turn_frames"] or row["limit_bytes"] < math.inf for row in rows)
        if end <= begin or waits or stem(flow) in transfers:
            continue
        ends = [*(row["time_ns"] for row in rows[1:]), end]
        begins = [max(row["time_ns"], begin) for row in rows]
        spans = [max(0.0, min(to, end) - at) for at, to in zip(begins, ends, strict=True)]
        rates = [min(row["rate_bps"], lines[flow]) for row in rows]
        found[flow] = math.fsum(map(math.prod, zip(rates, spans, strict=True))) / (end - begin)
    return found


def _lines(result: Measurements) -> dict[str, float]:
    """By flow, what the links carry that its paths begin at, in b/s; all of its host if none is listed."""
    rates = {
        row["port"]: row for row in result.table("ports").select(["port", "node", "rate_bps"]).to_pylist()
    }
    begins: dict[str, set[str]] = defaultdict(set)
    if "paths" in result.table_names:
        for row in result.table("paths").select(["flow", "ports"]).to_pylist():
            begins[row["flow"]].add(row["ports"].split(" ", 1)[0])
    of_host: dict[str, float] = defaultdict(float)
    for port in rates.values():
        of_host[port["node"]] += port["rate_bps"]
    flows = result.table("flows").select(["flow", "source"]).to_pylist()
    return {
        row["flow"]: math.fsum(rates[port]["rate_bps"] for port in begins[row["flow"]] if port in rates)
        or of_host[row["source"]]
        for row in flows
    }


def stem(flow: str) -> str:
    """What the flows of one entry have in common: ``incast[h1]`` is one of ``incast``."""
    return flow.partition("[")[0]


def _transfers(result: Measurements) -> set[str]:
    """The entries of transfers."""
    if "transfers" not in result.table_names:
        return set()
    return set(result.table("transfers")["name"].unique().to_pylist())


@of_result
def evenness(result: Measurements) -> list[Evenness]:
    """The flows of a class that asked for the same, the most uneven first.

    Left out are flows that are alone in that, and what has an end: a connection that has sent all it had got
    what it asked for, whenever that was. Under strict classes only flows of one class are compared.
    """
    known = result.rows("connections") if "connections" in result.table_names else []
    ended = {row["flow"] for row in known if row["completed_ns"] is not None}
    transfers = _transfers(result)
    rows = result.table("flows").select(["flow", "class", "throughput_bps"]).to_pylist()
    by_class: dict[int, list[tuple[float, str, float]]] = defaultdict(list)
    most = _most(result)
    for row, asked in zip(rows, asked_rates(result), strict=True):
        counts = row["flow"] not in ended and stem(row["flow"]) not in transfers
        if counts and row["throughput_bps"] is not None and asked:
            by_class[row["class"]].append((most.get(row["flow"], asked), row["flow"], row["throughput_bps"]))
    found = []
    for asking in by_class.values():
        asking.sort()
        while asking:
            alike = [one for one in asking if one[0] <= SAME * asking[0][0]]
            asking = asking[len(alike) :]
            if len(alike) > 1:
                names = {stem(name) for _, name, _ in alike}
                label = names.pop() if len(names) == 1 else " and ".join(sorted(names)[:2])
                label += f" and {len(names) - 2} more" if len(names) > 2 else ""
                found.append(Evenness(label, len(alike), jain([got for _, _, got in alike])))
    return sorted(found, key=lambda one: one.jain)


def _most(result: Measurements) -> dict[str, float]:
    """What the windows of connections allow, which is what these ask for."""
    if "demands" not in result.table_names:
        return {}
    rows = result.table("demands").select(["flow", "rate_bps", "turn_frames"]).to_pylist()
    return {row["flow"]: row["rate_bps"] for row in rows if row["turn_frames"]}
