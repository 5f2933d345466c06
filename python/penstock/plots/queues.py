"""Panels with queues and ingress counters over time, with their watermarks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow.compute as pc
from matplotlib.axes import Axes

from penstock import arrow
from penstock.analysis import decimate
from penstock.measurements import of_result, rows

from .lines import MAX_BINS, Series, steps, width
from .style import INK, Label, Scale, label_right, size_scale

if TYPE_CHECKING:
    from penstock.measurements import Measurements

MAX_QUEUES = 4
MAX_HOST_QUEUES = 3
_BACKLOG = 0.1
"""Host queues are drawn if one reaches this share of the fullest switch queue."""
_SEEN = 0.01
"""Queues that never reach this share of the fullest queue are omitted."""
_IN_VIEW = 1.5
"""Maximum ratio of a watermark to the highest line for it to be drawn."""
QUEUES = 1.7
"""Height of a panel of switch queues, in inches."""
_TITLE_LETTER, _LEGEND_LETTER, _LEGEND_LINE = 0.083, 0.058, 0.34
"""Width in inches of a title letter, of a 7-point legend letter, and of a legend line."""


@dataclass
class Level:
    """A watermark: its name, and the queues that it applies to."""

    value: float
    names: list[str]
    queues: set[str]


@of_result
def draw_queues(
    result: Measurements, title: str, lines: Series, in_frames: bool, palette: Iterator[str], axes: Axes
) -> None:
    """Draws queues over time, each watermark at its queues."""
    axes.set_title(title)
    lines = {name: decimate.merge_bins(*line, MAX_BINS, largest=True) for name, line in lines.items()}
    peak = max(float(values.max()) for _, values in lines.values())
    scale = Scale(1.0, "frames") if in_frames else size_scale(peak)
    axes.set_ylabel(f"occupancy ({scale.unit})\nmaximum per {width(result, lines)}")
    of_queue = {name: next(palette) for name in lines}
    for name, line in lines.items():
        axes.plot(*steps(result, line, scale), color=of_queue[name], label=name, zorder=3)
    levels = _levels(result, list(lines), in_frames, largest=_IN_VIEW * peak)
    axes.set_ylim(0.0, 1.06 * max([peak, *(level.value for level in levels)]) / scale.size)
    labels: list[Label] = []
    for level in levels:
        alone = len(level.queues) == 1 < len(lines)
        level_color = of_queue[next(iter(level.queues))] if alone else INK
        height = level.value / scale.size
        axes.axhline(height, color=level_color, linewidth=0.8, linestyle=(0, (4, 3)))
        labels.append(Label(height, ", ".join(level.names), level_color))
    label_right(axes, labels, spacing=0.075 * QUEUES / (axes.bbox.height / axes.figure.dpi))
    _name_queues(axes, title, list(lines))


def _name_queues(axes: Axes, title: str, names: list[str]) -> None:
    """Draws a legend next to the title, in a font size that fits."""
    room = axes.bbox.width / axes.figure.dpi - _TITLE_LETTER * len(title) - 0.1
    columns = 2 if len(names) > 1 else 1
    wanted = columns * (_LEGEND_LINE + _LEGEND_LETTER * max(map(len, names)))
    axes.legend(
        loc="lower right",
        bbox_to_anchor=(1.0, 1.0),
        ncols=columns,
        fontsize=max(5.0, 7.0 * min(1.0, room / wanted)),
        borderpad=0.0,
        borderaxespad=0.2,
        handlelength=1.4,
        columnspacing=1.2,
        labelspacing=0.25,
    )


@of_result
def fullest(result: Measurements) -> tuple[Series, Series, bool]:
    """Returns the fullest switch queues and counters, the fullest host queues, and true if all are in frames.

    With counters, half of the switch entries are counters. Host queues are unlimited; they are omitted if
    they are short.
    """
    # XOFF explains the pauses in the picture, so its unit is used.
    in_frames = "frames" in (_units(result, "xoff") or _units(result, "limit"))
    lines = result.curves().get("queue_frames" if in_frames else "queue_bytes", {})
    peaks = {name: float(values.max(initial=0.0)) for name, (_, values) in lines.items()}
    used = sorted((name for name in lines if peaks[name] > 0), key=lambda name: -peaks[name])
    nodes = {node["name"] for node in result.topology["nodes"] if node["role"] == "host"}
    hosts = [name for name in used if _node(name) in nodes and not is_counter(name)][:MAX_HOST_QUEUES]
    used = [name for name in used if _node(name) not in nodes]
    used = [name for name in used if peaks[name] >= _SEEN * peaks[used[0]]]
    if hosts and used and peaks[hosts[0]] < _BACKLOG * peaks[used[0]]:
        hosts = []
    # The queue where pauses start is first.
    first = roots(result)
    used.sort(key=lambda name: first.index(name) if name in first else len(first))
    counters = [name for name in used if is_counter(name)][: MAX_QUEUES // 2]
    queues = [name for name in used if not is_counter(name)][: MAX_QUEUES - len(counters)]
    shown = [name for name in used if name in {*queues, *counters}]
    return {name: lines[name] for name in shown}, {name: lines[name] for name in hosts}, in_frames


def _units(result: Measurements, watermark: str) -> list[str]:
    """Units in which a watermark is configured."""
    table = result.table("watermarks")
    found: list[str] = pc.unique(
        table["unit"].filter(arrow.call("equal", table["watermark"], watermark))
    ).to_pylist()
    return found


def _node(name: str) -> str:
    """Node of a port or queue: ``edge0.1`` for ``edge0.1.3->h5/0``."""
    return name.partition("->")[0].rpartition(".")[0]


@of_result
def roots(result: Measurements) -> list[str]:
    """Root queues of congestion trees, longest paused time first."""
    if "congestion" not in result.table_names:
        return []
    found: list[str] = pc.unique(result.table("congestion")["root"]).to_pylist()
    return found[: MAX_QUEUES // 2]


def is_counter(name: str) -> bool:
    """True for an ingress counter, false for a queue."""
    return " in/" in name


def _levels(result: Measurements, queues: list[str], in_frames: bool, *, largest: float) -> list[Level]:
    """Watermarks of these queues up to the largest value, ascending; equal ones are merged.

    `headroom_needed` is an amount above XOFF and not a level, so it is not drawn.
    """
    held: dict[tuple[float, str], set[str]] = defaultdict(set)
    table = result.table("watermarks")
    for row in rows(table.filter(pc.is_in(table["entity"], value_set=arrow.strings(queues)))):
        fits = (row["unit"] == "frames") == in_frames and row["value"] <= largest
        if fits and row["watermark"] != "headroom_needed":
            held[float(row["value"]), str(row["watermark"])].add(str(row["entity"]))
    levels: list[Level] = []
    for (value, name), by in sorted(held.items()):
        last = levels[-1] if levels else None
        if last and last.queues == by and value - last.value <= 0.005 * largest:
            last.names.append(name)
        else:
            levels.append(Level(value, [name], by))
    return levels
