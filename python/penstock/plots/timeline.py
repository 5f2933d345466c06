"""What happened when: throughput, queues and pauses on one time axis."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from . import decimate
from .style import (
    INK,
    PAUSE_COLOUR,
    QUIET_COLOUR,
    Label,
    Scale,
    colours,
    label_right,
    rate_scale,
    size_scale,
    style,
    time_scale,
)

if TYPE_CHECKING:
    from penstock.result import Result

MAX_LABELLED = 8
"""With more lines than this the extremes get colours and names, the others are grey."""
MAX_LINES = 200
"""Of more lines only every second, third, ... by its mean is drawn; nobody could tell them apart."""
MAX_POINTS = 4_000
"""A line has at most this many points; more would not be seen."""
MAX_PAUSE_ROWS = 24


def timeline(result: Result) -> Figure:
    """Throughput of flows, queues with their watermarks, and pauses as bars, on a shared time axis."""
    with style():
        figure = Figure(figsize=(7.0, 6.6))
        top, middle, bottom = figure.subplots(3, 1, sharex=True, height_ratios=(3, 2.4, 1.6))
        throughput(result, top)
        queues(result, middle)
        pauses(result, bottom)
        top.set_xlabel("")
        middle.set_xlabel("")
        figure.suptitle(_heading(result), x=0.01, ha="left", fontsize=10)
    return figure


def throughput(result: Result, axes: Axes) -> None:
    """Throughput of each flow over time, labelled at the end of its line."""
    axes.set_title("Throughput per flow")
    lines = result.all_series("flow_throughput_bps")
    if not _start(result, axes, bool(lines)):
        return
    scale = rate_scale(max(float(values.max(initial=0.0)) for _, values in lines.values()))
    axes.set_ylabel(f"throughput ({scale.unit})")
    _draw_lines(result, axes, lines, scale, by=np.mean)


def queues(result: Result, axes: Axes) -> None:
    """The fullest queues over time with their watermarks, in frames if the watermarks are."""
    watermarks = result.rows("watermarks")
    in_frames = any(row["unit"].startswith("frame") for row in watermarks)
    metric = "queue_frames" if in_frames else "queue_bytes"
    axes.set_title("Queues: largest in each bin")
    lines = result.all_series(metric)
    peaks = {queue: float(values.max(initial=0.0)) for queue, (_, values) in lines.items()}
    used = sorted((queue for queue in lines if peaks[queue] > 0), key=lambda queue: -peaks[queue])[
        : MAX_LABELLED // 2
    ]
    if not _start(result, axes, bool(used)):
        return
    levels = _levels(watermarks, used, in_frames)
    largest = max([peaks[queue] for queue in used] + [value for _, value in levels])
    scale = Scale(1.0, "frames") if in_frames else size_scale(largest)
    axes.set_ylabel(f"queue ({scale.unit})")
    labels = _draw_lines(result, axes, {queue: lines[queue] for queue in used}, scale, by=np.max, label=False)
    for name, value in levels:
        axes.axhline(value / scale.size, color=INK, linewidth=0.8, linestyle=(0, (4, 3)))
        labels.append(Label(value / scale.size, name, INK))
    label_right(axes, labels, spacing=0.11)


def pauses(result: Result, axes: Axes) -> None:
    """One row a port and priority that had to stop, one bar a pause."""
    axes.set_title("Pauses: which port had to stop")
    spans: dict[tuple[str, int], list[decimate.Span]] = defaultdict(list)
    end_of_run = _end_ns(result)
    for row in result.rows("pauses"):
        end = end_of_run if row["end_ns"] is None else row["end_ns"]
        spans[row["port"], row["priority"]].append((row["start_ns"], end))
    if not _start(result, axes, True):
        return
    if not spans:
        _say(axes, "no pause was sent")
        axes.set_yticks([])
        return
    scale = time_scale(end_of_run)
    longest = sorted(spans, key=lambda key: -sum(end - start for start, end in spans[key]))[:MAX_PAUSE_ROWS]
    rows = sorted(longest)
    for height, key in enumerate(rows):
        bars = decimate.merge_spans(spans[key], gap=end_of_run / MAX_POINTS)
        axes.broken_barh(
            [(start / scale.size, (end - start) / scale.size) for start, end in bars],
            (height - 0.35, 0.7),
            facecolor=PAUSE_COLOUR,
            edgecolor=PAUSE_COLOUR,
            linewidth=0.3,
        )
    several = len({priority for _, priority in rows}) > 1
    axes.set_yticks(range(len(rows)), [f"{port} p{p}" if several else port for port, p in rows], fontsize=7)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.grid(axis="y", visible=False)
    if len(spans) > len(rows):
        axes.set_title(f"Pauses: the {len(rows)} longest-stopped of {len(spans)} ports")


def _start(result: Result, axes: Axes, something: bool) -> bool:
    """Sets up the time axis; false if there is nothing to draw, which is then said."""
    end = _end_ns(result)
    scale = time_scale(end)
    axes.set_xlabel(f"time ({scale.unit})")
    axes.set_xlim(0.0, end / scale.size if end else 1.0)
    if not something:
        _say(axes, "no time series was recorded")
        axes.set_yticks([])
    return something


def _draw_lines(
    result: Result, axes: Axes, lines: dict[str, Any], scale: Scale, *, by: Any, label: bool = True
) -> list[Label]:
    """Draws lines in scaled units; returns the labels of those that are named."""
    horizontal = time_scale(_end_ns(result))
    ranked = sorted(lines, key=lambda name: float(by(lines[name][1])))
    named = set(lines) if len(lines) <= MAX_LABELLED else {*ranked[:3], *ranked[-3:]}
    drawn = named.union(ranked[:: max(1, len(ranked) // MAX_LINES)])
    palette = colours()
    labels: list[Label] = []
    for name, (times, values) in lines.items():
        if name not in drawn:
            continue
        short_times, short_values = decimate.envelope(times, values, MAX_POINTS)
        x, y = short_times / horizontal.size, short_values / scale.size
        if name in named:
            colour = palette[len(labels) % len(palette)]
            labels.append(Label(float(by(y[-max(1, len(y) // 10) :])), name, colour))
            axes.plot(x, y, color=colour, drawstyle="steps-post", zorder=3)
        else:
            axes.plot(x, y, color=QUIET_COLOUR, linewidth=0.5, drawstyle="steps-post", rasterized=True)
    axes.set_ylim(bottom=0.0)
    if label:
        label_right(axes, labels)
    return labels


def _levels(watermarks: list[dict[str, Any]], queues: list[str], in_frames: bool) -> list[tuple[str, float]]:
    """Name and value of the watermarks that belong to these queues, each once.

    Watermarks of an ingress account belong to no drawn queue; then all that differ are shown.
    """
    unit = [row for row in watermarks if row["unit"].startswith("frame") == in_frames]
    own = [row for row in unit if row["entity"] in queues] or unit
    return sorted({(str(row["watermark"]), float(row["value"])) for row in own}, key=lambda level: level[1])[
        :6
    ]


def _end_ns(result: Result) -> float:
    return float(result.run["simulated_s"]) * 1e9


def _heading(result: Result) -> str:
    cut = "" if result.complete else f", cut short at {result.run['simulated_s']} s"
    return f"{result.name}  (seed {result.seed}, fingerprint {result.fingerprint}{cut})"


def _say(axes: Axes, text: str) -> None:
    axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center", va="center", color="#777777")
