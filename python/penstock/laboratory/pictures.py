"""Pictures of a sweep: lines over one key, heat maps over two keys, Pareto fronts of two measures."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.plots.style import save
from penstock.plots.sweeps import Axis, Line, Panel, Trade, heat_map, lines, pareto
from penstock.units import short_names

from .front import Front, best_of
from .labels import labels_of
from .outcome import Outcome, unit_of
from .plan import Plan
from .values import Span

MAX_HEAT_MAPS = 8
_NUMBER = re.compile(r"[\d.]")
"""Start of a number or quantity."""


def draw(plan: Plan, outcome: Outcome, front: Front | None = None) -> list[Path]:
    """Writes the pictures of a sweep as PNG and SVG to ``pictures``; returns their paths.

    Parameters
    ----------
    plan : Plan
        Plan of the sweep.
    outcome : Outcome
        Tables of the sweep.
    front : list, optional
        Measures of a Pareto front.
    """
    directory = outcome.directory / "pictures"
    rows = [row for row in outcome.table("summary").to_pylist() if row["mean"] is not None]
    ways = _ways(plan, outcome, rows)
    written: list[Path] = []
    if rows and ways:
        # A numeric key is the axis; keys with text values distinguish lines.
        along = next((way for way in ways if not way.axis.words), ways[0])
        written += save(lines(_panels(plan, rows, along), along.axis), directory, "lines")
    if rows and len(plan.values) == len(ways) == 2 and plan.mode == "grid":
        for name, panel in _rows_of(rows, *ways)[:MAX_HEAT_MAPS]:
            written += save(heat_map(panel, ways[0].axis, ways[1].axis), directory, f"heat-{name}")
    if front is not None:
        written += save(_front(plan, rows, front), directory, "pareto")
    return written


@dataclass(frozen=True)
class _Way:
    """A varied key: the column with its values, its axis, and labels of text values."""

    key: str
    column: str
    axis: Axis
    labels: Mapping[Any, str]

    def at(self, row: Mapping[str, Any]) -> float:
        """Coordinate of a row on the axis."""
        value = row[self.column]
        return float(self.axis.words.index(self.labels[value]) if self.axis.words else value)


def _ways(plan: Plan, outcome: Outcome, rows: list[dict[str, Any]]) -> list[_Way]:
    """Varied keys with more than one value."""
    fields = outcome.table("summary").schema
    short = short_names([*plan.values, *plan.derive])
    labels = labels_of(rows, plan.values)
    found = []
    for key, values in plan.values.items():
        if not isinstance(values, Span) and len(values) < 2:
            continue
        columns = [name for name in fields.names if name == key or name.startswith(f"{key}_")]
        numeric = [name for name in columns if str(fields.field(name).type) in ("double", "int64")]
        if numeric:
            found.append(_Way(key, numeric[0], _axis(rows, numeric[0], short[key]), labels[key]))
        else:
            words = [*labels[key].values()]
            found.append(_Way(key, key, Axis(short[key], words=words), labels[key]))
    return found


def _panels(plan: Plan, rows: list[dict[str, Any]], along: _Way) -> list[Panel]:
    """One panel per measure, with a line for each combination of the other keys and entity."""
    others = [] if plan.mode == "latin" else [key for key in plan.values if key != along.key]
    others = [key for key in others if not _follows(rows, key, along)]
    short, labels = short_names([*plan.values, *plan.derive]), labels_of(rows, others)
    panels: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for row in rows:
        entries = [f"{short[one]} {labels[one][row[one]]}" for one in others]
        label = ", ".join(([row["entity"]] if row["entity"] else []) + entries)
        panels.setdefault(row["metric"], {}).setdefault(label, []).append(row)
    return [
        Panel(name, unit_of(name), [_line(label, along, group) for label, group in groups.items()])
        for name, groups in panels.items()
    ]


def _follows(rows: list[dict[str, Any]], key: str, along: _Way) -> bool:
    """True if a key has one value per coordinate, as with --zip, and therefore needs no label."""
    at = {(row[along.column], row[key]) for row in rows}
    words = any(isinstance(value, str) and not _NUMBER.match(value) for _, value in at)
    return len(at) == len({place for place, _ in at}) and (bool(along.axis.words) or not words)


def _rows_of(rows: list[dict[str, Any]], across: _Way, up: _Way) -> list[tuple[str, Panel]]:
    """One panel per measure or entity, with a file name; each line is a value of `up`."""
    panels: dict[tuple[str, str], dict[float, list[dict[str, Any]]]] = {}
    for row in rows:
        panels.setdefault((row["metric"], row["entity"]), {}).setdefault(up.at(row), []).append(row)
    found = []
    entities = list(dict.fromkeys(entity for _, entity in panels if entity))
    for (name, entity), groups in panels.items():
        file = f"{name}-{entities.index(entity)}" if entity else name  # entities may be no file names
        drawn = [_line(repr(height), across, group) for height, group in groups.items()]
        title = f"{name} of {entity}" if entity else name
        found.append((file.replace("/", "-"), Panel(title, unit_of(name), drawn)))
    return found


def _line(label: str, along: _Way, rows: list[dict[str, Any]]) -> Line:
    ordered = sorted(rows, key=along.at)
    return Line(
        label,
        [along.at(row) for row in ordered],
        [row["mean"] for row in ordered],
        [math.nan if row["half_width"] is None else row["half_width"] for row in ordered],
    )


def _axis(rows: list[dict[str, Any]], column: str, label: str) -> Axis:
    values = sorted({row[column] for row in rows})
    # Logarithmic if the values span more than a factor of twenty.
    log = len(values) > 2 and values[0] > 0 and values[-1] > 20 * values[0] and _is_even_in_ratio(values)
    return Axis(label, unit_of(column), log)


def _is_even_in_ratio(values: list[float]) -> bool:
    """True if the median is closer to the geometric than to the arithmetic mean of the ends."""
    middle = values[len(values) // 2]
    ends = values[0], values[-1]
    return abs(middle - math.sqrt(ends[0] * ends[1])) < abs(middle - sum(ends) / 2)


def _front(plan: Plan, rows: list[dict[str, Any]], wanted: Front) -> Any:
    by_point: dict[int, dict[str, Any]] = {}
    for row in rows:
        if not row["entity"]:
            own = by_point.setdefault(row["point"], {"row": row})
            own[row["metric"]] = row["mean"]
    (x, x_sign), (y, y_sign) = wanted
    known = [one for one in by_point.values() if x in one and y in one]
    labels = labels_of([one["row"] for one in known], plan.values)
    best = best_of([(x_sign * one[x], y_sign * one[y]) for one in known])
    points = [
        Trade(one[x], one[y], ", ".join(labels[key][one["row"][key]] for key in plan.values), is_best)
        for one, is_best in zip(known, best, strict=True)
    ]
    return pareto(points, Axis(x, unit_of(x)), Axis(y, unit_of(y)))
