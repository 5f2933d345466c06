"""Which pictures show a sweep: lines over one key, heat maps over two, a Pareto front of two measures."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from penstock.plots.style import save
from penstock.plots.sweeps import Axis, Line, Panel, Trade, heat_map, lines, pareto

from .front import Front, best_of
from .outcome import Outcome, unit_of
from .plan import Plan
from .values import Span

MAX_HEAT_MAPS = 8


def draw(plan: Plan, outcome: Outcome, front: Front | None = None) -> list[Path]:
    """Writes the pictures of a sweep as PNG and SVG below ``pictures``; their paths.

    Parameters
    ----------
    plan : Plan
        The sweep.
    outcome : Outcome
        Its tables.
    front : list, optional
        The measures of a Pareto front.
    """
    directory = outcome.directory / "pictures"
    rows = [row for row in outcome.table("summary").to_pylist() if not math.isnan(row["mean"])]
    keys = _numeric_keys(plan, outcome)
    written: list[Path] = []
    if rows and keys:
        written += save(
            lines(_panels(plan, rows, keys[0], list(plan.values)), _axis(rows, keys[0])), directory, "lines"
        )
    if rows and len(plan.values) == len(keys) == 2 and plan.mode == "grid":
        for panel in _rows_of(rows, *keys)[:MAX_HEAT_MAPS]:
            name = f"heat-{panel.measure}".replace("/", "-")
            written += save(heat_map(panel, _axis(rows, keys[0]), _axis(rows, keys[1])), directory, name)
    if front is not None:
        written += save(_front(plan, rows, front), directory, "pareto")
    return written


def _numeric_keys(plan: Plan, outcome: Outcome) -> list[str]:
    """The columns with numbers of the varied keys that have more than one value."""
    fields = outcome.table("summary").schema
    found = []
    for key in plan.values:
        columns = [name for name in fields.names if name == key or name.startswith(f"{key}_")]
        numeric = [name for name in columns if str(fields.field(name).type) == "double"]
        values = plan.values[key]
        if numeric and (isinstance(values, Span) or len(values) > 1):
            found.append(numeric[0])
    return found


def _panels(plan: Plan, rows: list[dict[str, Any]], key: str, keys: list[str]) -> list[Panel]:
    """A panel for each measure: a line for each setting of the other keys, and entity."""
    sampled = plan.mode == "latin"
    panels: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for row in rows:
        others = [] if sampled else [f"{_last(one)} {row[one]}" for one in keys if not key.startswith(one)]
        label = ", ".join(([row["entity"]] if row["entity"] else []) + others)
        panels.setdefault(row["metric"], {}).setdefault(label, []).append(row)
    return [
        Panel(name, unit_of(name), [_line(label, key, group) for label, group in groups.items()])
        for name, groups in panels.items()
    ]


def _rows_of(rows: list[dict[str, Any]], across: str, up: str) -> list[Panel]:
    """A panel for each measure of the whole run, a line for each value of the second key."""
    panels: dict[str, dict[float, list[dict[str, Any]]]] = {}
    for row in rows:
        if not row["entity"]:
            panels.setdefault(row["metric"], {}).setdefault(row[up], []).append(row)
    return [
        Panel(name, unit_of(name), [_line(repr(height), across, group) for height, group in groups.items()])
        for name, groups in panels.items()
    ]


def _line(label: str, key: str, rows: list[dict[str, Any]]) -> Line:
    ordered = sorted(rows, key=lambda row: row[key])
    return Line(
        label,
        [row[key] for row in ordered],
        [row["mean"] for row in ordered],
        [row["half_width"] for row in ordered],
    )


def _axis(rows: list[dict[str, Any]], column: str) -> Axis:
    values = sorted({row[column] for row in rows})
    # Equal ratios, if they span more than a factor of twenty.
    log = len(values) > 2 and values[0] > 0 and values[-1] > 20 * values[0] and _is_even_in_ratio(values)
    unit = unit_of(column)
    return Axis(_last(column.removesuffix(f"_{unit}") if unit else column), unit, log)


def _is_even_in_ratio(values: list[float]) -> bool:
    """Whether the median lies nearer to the geometric mean of the ends than to the arithmetic one."""
    middle = values[len(values) // 2]
    ends = values[0], values[-1]
    return abs(middle - math.sqrt(ends[0] * ends[1])) < abs(middle - sum(ends) / 2)


def _last(key: str) -> str:
    return key.rpartition(".")[2]


def _front(plan: Plan, rows: list[dict[str, Any]], wanted: Front) -> Any:
    by_point: dict[int, dict[str, Any]] = {}
    for row in rows:
        if not row["entity"]:
            own = by_point.setdefault(row["point"], {"row": row})
            own[row["metric"]] = row["mean"]
    (x, x_sign), (y, y_sign) = wanted
    known = [one for one in by_point.values() if x in one and y in one]
    best = best_of([(x_sign * one[x], y_sign * one[y]) for one in known])
    points = [
        Trade(one[x], one[y], ", ".join(str(one["row"][key]) for key in plan.values), is_best)
        for one, is_best in zip(known, best, strict=True)
    ]
    return pareto(points, Axis(x, unit_of(x)), Axis(y, unit_of(y)))
