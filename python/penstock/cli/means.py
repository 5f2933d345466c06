"""Prints means over replications."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from penstock.units import duration, plain, rate

from .console import Screen, Table, console, say_rest

if TYPE_CHECKING:
    from penstock.analysis.statistics import Interval
    from penstock.running.replications import Replications

ROWS_SHOWN = 20
"""Maximum number of rows per table."""
Writers = dict[str, Callable[[float | None], str]]
MEANS: tuple[tuple[str, tuple[str, ...], Writers], ...] = (
    (
        "flow",
        ("throughput", "latency mean", "latency p99", "frames lost"),
        {
            "throughput_bps": rate,
            "latency_mean_ns": duration,
            "latency_p99_ns": duration,
            "frames_dropped": plain,
        },
    ),
    (
        "transfer",
        ("unfinished", "completion mean", "completion p99", "slowdown mean", "slowdown p99"),
        {
            "unfinished": plain,
            "completion_mean_ns": duration,
            "completion_p99_ns": duration,
            "slowdown_mean": plain,
            "slowdown_p99": plain,
        },
    ),
    (
        "connection",
        ("complete at", "exchange mean", "exchange p99"),
        {"completed_ns": duration, "exchange_mean_ns": duration, "exchange_p99_ns": duration},
    ),
)
"""Tables of means over replications: entries, column headings and measures."""


def show_intervals(runs: Replications) -> None:
    """Prints the means over replications with their confidence intervals."""
    out = console()
    cells: dict[str, dict[str, Interval]] = {}
    for entry in runs.intervals():
        cells.setdefault(entry.flow, {})[entry.metric] = entry.interval
    _show_group_means(out, runs)
    title = f"Mean ± half-width of the {runs.confidence:.0%} interval over {len(runs.results)} replications"
    for what, heads, metrics in MEANS:
        rows = {name: row for name, row in cells.items() if not metrics.keys().isdisjoint(row)}
        if not rows:
            continue
        order = list(rows)
        if len(rows) > ROWS_SHOWN:
            order.sort(key=lambda name: [-_mean(rows[name], metric) for metric in reversed(metrics)])
        means = Table(
            title + (", the worst first" if len(rows) > ROWS_SHOWN else ""), what, *heads, numeric=1
        )
        for name in order[:ROWS_SHOWN]:
            means.add_row(name, *(_interval(rows[name].get(key), write) for key, write in metrics.items()))
        out.print(means)
        say_rest(out, len(rows), ROWS_SHOWN, what + "s")
    if len(runs.results) < runs.wanted:
        out.print(f"{runs.wanted - len(runs.results)} replications were not started")


def _show_group_means(out: Screen, runs: Replications) -> None:
    from .flows import GROUPED, grouped

    values: dict[str, dict[str, list[float]]] = {}
    for result in runs.results:
        for row in grouped(result):
            own = values.setdefault(row["group"], {key: [] for key in GROUPED})
            for key in GROUPED:
                own[key].append(row[key])
    if not values:
        return
    from penstock.analysis.statistics import student_t_interval

    shown = Table("Groups of flows (totals)", "group", "throughput", "frames lost", "longest p99", numeric=1)
    for name, of in values.items():
        cells = (student_t_interval(of[key], runs.confidence) for key in GROUPED)
        shown.add_row(name, *map(_interval, cells, (rate, plain, duration)))
    out.print(shown)


def _mean(row: dict[str, Interval], metric: str) -> float:
    return row[metric].mean if metric in row and not math.isnan(row[metric].mean) else 0.0


def _interval(found: Interval | None, write: Callable[[float | None], str]) -> str:
    if found is None:
        return "-"
    return f"{write(found.mean)} ± {write(found.half_width) if found.n > 1 else 'unknown'}"
