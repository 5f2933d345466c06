"""The flows of a run on a screen: a few as they are; of many their groups, and the worst served."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from penstock.analysis.asking import asked_rates, evenness, stem
from penstock.units import count, duration, rate, share

from .console import Screen, Table

if TYPE_CHECKING:
    from penstock.result import Result

MOST = 20
"""Flows that are shown one by one."""
WORST = 10
GROUPS = 10
GROUPED: dict[str, Callable[[Iterable[float]], float]] = {
    "throughput_bps": sum,
    "frames_dropped": sum,
    "latency_p99_ns": max,
}


def show_flows(out: Screen, result: Result) -> None:
    """All flows if they are few; otherwise groups, and the worst served flows."""
    from penstock.result import summary

    flows = summary.flows(result.table("flows"))
    for flow, asked in zip(flows, asked_rates(result), strict=True):
        flow["asked_bps"] = asked
    if len(flows) <= MOST:
        _show(out, "Flows", flows)
        return
    _show_groups(out, flows)
    worst = sorted(flows, key=_served)[:WORST]
    _show(out, f"Flows, the {WORST} worst served of {len(flows):,}; all of them are in the result", worst)


def grouped(result: Result) -> list[dict[str, Any]]:
    """What groups of many flows got together, and their longest p99; none for a few flows."""
    table = result.table("flows")
    if table.num_rows <= MOST:
        return []
    groups: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in table.select(["flow", *GROUPED]).to_pylist():
        groups[stem(row["flow"])].append(row)
    return [
        {"group": name, **{key: total(row[key] or 0 for row in rows) for key, total in GROUPED.items()}}
        for name, rows in groups.items()
    ]


def show_evenness(out: Screen, result: Result) -> None:
    """How evenly flows were served that asked for the same; nothing where none did."""
    found = evenness(result)[:3]
    if found:
        told = ", ".join(f"{one.jain:.4f} of {one.name} ({count(one.flows)} flows)" for one in found)
        out.print(f"fairness (Jain) among flows that ask for the same: {told}")


def _show(out: Screen, title: str, flows: list[dict[str, Any]]) -> None:
    names = ("class", "asked", "goodput", "received", "sent", "lost", "latency mean", "p99", "max")
    shown = Table(title, "flow", *names, numeric=1)
    for flow in flows:
        latency = flow["latency_ns"]
        shown.add_row(
            flow["name"],
            str(flow["class"]),
            rate(flow["asked_bps"]),
            rate(flow["goodput_bps"]),
            rate(flow["throughput_bps"]),
            count(flow["frames_sent"]),
            count(flow["frames_dropped"]),
            # Where nothing was delivered there is no delay, and tables have 0.
            *(duration(latency[key] or None) for key in ("mean", "p99", "max")),
        )
    out.print(shown)


def _show_groups(out: Screen, flows: list[dict[str, Any]]) -> None:
    groups: dict[tuple[str, int], list[dict[str, Any]]] = defaultdict(list)
    for flow in flows:
        groups[stem(flow["name"]), flow["class"]].append(flow)
    names = ("class", "flows", "asked", "goodput", "received", "served", "worst", "lost", "worst p99")
    shown = Table("Groups of flows, the worst served first", "group", *names, numeric=1)
    ordered = sorted(groups.items(), key=lambda one: _served(_sum(one[1])))
    for (name, of), members in ordered[:GROUPS]:
        total = _sum(members)
        shown.add_row(
            name,
            str(of),
            count(len(members)),
            rate(total["asked_bps"]),
            rate(total["goodput_bps"]),
            rate(total["throughput_bps"]),
            share(_part(total)),
            share(_part(min(members, key=_served))),
            count(total["frames_dropped"]),
            duration(max((one["latency_ns"]["p99"] or 0.0 for one in members), default=0.0) or None),
        )
    out.print(shown)
    if len(groups) > GROUPS:
        out.print(f"and {len(groups) - GROUPS} more groups")


def _sum(flows: list[dict[str, Any]]) -> dict[str, Any]:
    keys = ("asked_bps", "goodput_bps", "throughput_bps", "frames_dropped")
    total = {key: sum(flow[key] or 0 for flow in flows) for key in keys}
    worst = max((flow["latency_ns"]["p99"] or 0.0 for flow in flows), default=0.0)
    return {**total, "latency_ns": {"p99": worst}}


def _part(flow: dict[str, Any]) -> float | None:
    """Which part of what it asked for a flow got."""
    return (flow["throughput_bps"] or 0.0) / flow["asked_bps"] if flow["asked_bps"] else None


def _served(flow: dict[str, Any]) -> tuple[float, float]:
    """In this order the worst served come first."""
    part = _part(flow)
    return (2.0 if part is None else part, -(flow["latency_ns"]["p99"] or 0.0))
