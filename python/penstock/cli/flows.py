"""Prints the flows of a run: individually if there are few, otherwise groups and the worst served flows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from penstock import arrow
from penstock.analysis.demand import demand_rates, evenness, stems
from penstock.measurements import numpy_of, rows
from penstock.units import count, duration, rate, share

from .console import Screen, Table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from penstock.result import Result

MOST = 20
"""Maximum number of flows that are shown individually."""
WORST = 10
GROUPS = 10
GROUPED: dict[str, np.ufunc] = {
    "throughput_bps": np.add,
    "frames_dropped": np.add,
    "latency_p99_ns": np.maximum,
}
"""Columns of groups of flows, with the functions that combine the values of their flows."""
_NO_DEMAND = 2.0
"""Sort key of flows without demand, in place of their served share: it puts them last."""


def show_flows(out: Screen, result: Result) -> None:
    """Prints all flows if there are few; otherwise groups and the worst served flows."""
    total = result.table("flows").num_rows
    if total <= MOST:
        _show(out, "Flows", _chosen(result, range(total)))
        return
    served = _Served(result)
    _show_groups(out, served)
    worst = _chosen(result, served.order()[:WORST].tolist())
    _show(out, f"Flows: the {WORST} worst served of {total:,} in the result", worst)


def grouped(result: Result) -> list[dict[str, Any]]:
    """Total throughput and longest p99 of each group of many flows; empty if there are few flows."""
    table = result.table("flows")
    if table.num_rows <= MOST:
        return []
    number, names = stems(table["flow"])
    totals = {key: np.zeros(len(names)) for key in GROUPED}
    for key, fold in GROUPED.items():
        fold.at(totals[key], number, _known(table, key))
    columns = {
        key: total.astype(np.int64) if pa.types.is_integer(table[key].type) else total
        for key, total in totals.items()
    }
    values = zip(*(column.tolist() for column in columns.values()), strict=True)
    return [
        {"group": name, **dict(zip(columns, own, strict=True))}
        for name, own in zip(names, values, strict=True)
    ]


def show_evenness(out: Screen, result: Result) -> None:
    """Prints the fairness of flows with equal demand, if there are any."""
    found = evenness(result)[:3]
    if found:
        text = ", ".join(f"{one.jain:.4f} of {one.name} ({count(one.flows)} flows)" for one in found)
        out.print(f"fairness (Jain) among flows with equal demand: {text}")


def show_losses(out: Screen, result: Result) -> None:
    """Prints lost frames by cause, and trimmed frames, if there are any."""
    lost = rows(arrow.sums_by(result.table("drops"), ["cause"], "frames"))
    if lost:
        causes = (f"{count(row['frames_sum'])} {row['cause']}" for row in lost)
        out.print("frames lost: " + ", ".join(causes))
    queues = result.table("queues")
    if "trims" in queues.column_names and (trims := int(numpy_of(queues["trims"]).sum())):
        out.print(f"frames trimmed: {count(trims)}")


def _show(out: Screen, title: str, flows: list[dict[str, Any]]) -> None:
    names = ("class", "demand", "goodput", "received", "sent", "lost", "latency mean", "p99", "max")
    spare = ("received", "demand", "latency mean", "sent", "class", "max")
    shown = Table(title, "flow", *names, numeric=1, spare=spare)
    for flow in flows:
        latency = flow["latency_ns"]
        shown.add_row(
            flow["name"],
            str(flow["class"]),
            rate(flow["demand_bps"]),
            rate(flow["goodput_bps"]),
            rate(flow["throughput_bps"]),
            count(flow["frames_sent"]),
            count(flow["frames_dropped"]),
            # Without a delivered frame the latency is unknown; tables contain 0.
            *(duration(latency[key] or None) for key in ("mean", "p99", "max")),
        )
    out.print(shown)


def _chosen(result: Result, places: Sequence[int]) -> list[dict[str, Any]]:
    """Rows of these flows with their demand; ``None`` if unknown."""
    from penstock.result import summary

    demand = demand_rates(result)
    flows = summary.flows(arrow.take(result.table("flows"), places))
    for flow, at in zip(flows, places, strict=True):
        flow["demand_bps"] = None if math.isnan(demand[at]) else float(demand[at])
    return flows


class _Served:
    """Columns that show how well each flow was served; unknown values are 0."""

    def __init__(self, result: Result) -> None:
        table = result.table("flows")
        self.demand = np.nan_to_num(demand_rates(result), nan=0.0)
        self.goodput, self.received, self.lost, self.p99 = (
            _known(table, name)
            for name in ("goodput_bps", "throughput_bps", "frames_dropped", "latency_p99_ns")
        )
        self.of_class = numpy_of(table["class"]).astype(np.int64)
        self.entry, self.entries = stems(table["flow"])

    def order(self) -> NDArray[np.int64]:
        """Indexes of all flows, worst served first; ties are ordered by descending p99."""
        return np.lexsort((-self.p99, _parts(self.received, self.demand)))


def _known(table: Any, name: str) -> NDArray[np.float64]:
    return np.nan_to_num(numpy_of(table[name]).astype(np.float64), nan=0.0)


def _parts(received: NDArray[np.float64], demand: NDArray[np.float64]) -> NDArray[np.float64]:
    """Received rate divided by demand, as a sort key."""
    has_demand = demand != 0.0
    return np.where(has_demand, received / np.where(has_demand, demand, 1.0), _NO_DEMAND)


def _show_groups(out: Screen, flows: _Served) -> None:
    names = ("class", "flows", "demand", "goodput", "received", "served", "worst", "lost", "worst p99")
    spare = ("received", "demand", "class", "worst")
    title = "Groups of flows, the worst served first"
    shown = Table(title, "group", *names, numeric=1, spare=spare)
    classes = int(flows.of_class.max()) + 1
    keys, first, group = np.unique(
        flows.entry * classes + flows.of_class, return_index=True, return_inverse=True
    )
    demand, goodput, received, lost = (
        np.bincount(group, values, minlength=len(keys)).astype(np.float64)
        for values in (flows.demand, flows.goodput, flows.received, flows.lost)
    )
    members = np.bincount(group, minlength=len(keys))
    p99 = np.zeros(len(keys))
    np.maximum.at(p99, group, flows.p99)
    ranked = flows.order()
    worst = ranked[np.unique(group[ranked], return_index=True)[1]]
    # Ties keep the order of first appearance.
    for n in np.lexsort((first, -p99, _parts(received, demand)))[:GROUPS].tolist():
        shown.add_row(
            flows.entries[keys[n] // classes],
            str(keys[n] % classes),
            count(int(members[n])),
            rate(float(demand[n])),
            rate(float(goodput[n])),
            rate(float(received[n])),
            share(_part(received[n], demand[n])),
            share(_part(flows.received[worst[n]], flows.demand[worst[n]])),
            count(int(lost[n])),
            duration(float(p99[n]) or None),
        )
    out.print(shown)
    if len(keys) > GROUPS:
        out.print(f"{len(keys) - GROUPS} more groups in the result")


def _part(received: float, demand: float) -> float | None:
    return float(received / demand) if demand else None
