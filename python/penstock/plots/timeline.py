"""Throughput, queues and pauses on one time axis, with faults as vertical lines."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
import pyarrow as pa
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.figure import Figure
from matplotlib.path import Path
from matplotlib.transforms import Affine2D

from penstock import arrow
from penstock.analysis import decimate
from penstock.analysis.groups import groups_of
from penstock.measurements import of_result

from .lines import MAX_BINS, Series, end_ns, steps, width
from .queues import QUEUES, draw_queues, fullest, is_counter, roots
from .splits import draw_splits, fullest_splits, waiting_classes
from .style import (
    FAINT,
    MORE_COLORS,
    PAUSE_COLOR,
    QUIET_COLOR,
    Label,
    Margins,
    Scale,
    colors,
    label_right,
    rate_scale,
    spread,
    stack,
    style,
    time_scale,
)

if TYPE_CHECKING:
    from penstock.measurements import Curve, Measurements

Pauses = dict[tuple[Any, ...], decimate.Spans]

MAX_LABELLED = 8
"""Maximum number of colored lines; above it only extremes are colored and named, others are grey."""
MAX_LINES = 200
"""Maximum number of grey lines; above it only every second, third, ... by mean is drawn."""
MAX_GAPS = 1_500
"""Pauses with gaps below this fraction of the axis are drawn as one."""
LEAST_BINS = 24
"""Minimum number of bins. Bins are merged while lines oscillate between them."""
_JUMP = 0.15
"""Mean step between bins, as a fraction of the highest bin, above which bins are merged."""
MAX_PAUSE_ROWS = 24
MAX_MARKS = 8
"""Maximum number of faults with names."""
_SHARE = 0.01
"""Share of the bytes of a port below which a class does not count as sharing it."""
_THROUGHPUT, _SHARES, _HOSTS, _PAUSE_ROW, _PAUSES = 2.5, 1.5, 1.3, 0.155, 0.5
_SPLIT_ROW = 0.26
"""Heights in inches: panels, a row of pauses, few rows, a row of shares."""
_LEAST_BAR = 0.004
"""Minimum width of a pause, in inches."""
_LETTER = 0.03
"""Additional height per letter of a mark's name, in inches; names are rotated."""
_AROUND = Margins(left=1.1, right=1.1, top=0.5, between=0.42, bottom=0.45)


@of_result
def timeline(result: Measurements) -> Figure:
    """Draws throughput of flows, classes of a port, queues with watermarks, and pauses on one time axis.

    Below, on a separate axis: shares of competing classes.

    Empty panels are omitted and named in the heading.
    """
    flows, (filled, hosts, unit) = result.curves().get("flow_throughput_bps", {}), fullest(result)
    spans, paused = _spans(result)
    others = iter(MORE_COLORS)  # lines that are not flows have colors of their own
    port, classes = _shared_port(result, filled)
    of_class = {_class_of(name): next(others) for name in sorted(classes)}
    missing: list[str] = []
    panels: list[tuple[float, Callable[[Axes], None]]] = []
    if flows:
        panels.append((_THROUGHPUT, lambda axes: _throughput(result, axes, flows)))
    else:
        missing.append("no time series of flows was recorded")
    if classes:
        panels.append((_SHARES, lambda axes: _shares(result, axes, port, classes, of_class)))
    queues = {name: line for name, line in filled.items() if not is_counter(name)}
    counters = {name: line for name, line in filled.items() if is_counter(name)}
    for title, lines, high in (
        ("Longest queues", queues, QUEUES),
        ("Ingress counters", counters, QUEUES),
        ("Host queues", hosts, _HOSTS),
    ):
        if lines:
            panels.append((high, partial(draw_queues, result, title, lines, unit, others)))
    if not filled and not hosts:
        missing.append("no time series of a filled queue was recorded")
    if spans:
        high = max(_PAUSES, len(spans) * _PAUSE_ROW)
        panels.append((high, lambda axes: _pauses(result, axes, spans, paused)))
    else:
        missing.append("no pause was sent")
    timed, splits = len(panels), fullest_splits(result)
    if splits:
        panels.append((0.02, Axes.set_axis_off))  # space for the label of the time axis
        panels.append((len(splits) * _SPLIT_ROW, lambda axes: draw_splits(axes, splits, of_class, others)))
    marks = _marks(result)
    if len(marks) > MAX_MARKS:
        missing.append(f"{len(marks)} faults shown as grey lines without names")
    with style():
        names = _LETTER * max(len(text) for _, text in marks) if 0 < len(marks) <= MAX_MARKS else 0.0
        top = _AROUND.top + (0.2 if missing else 0.0) + names
        figure, column = stack(7.0, [height for height, _ in panels] or [0.01], replace(_AROUND, top=top))
        figure.text(0.01, 1.0, _heading(result), va="top", fontsize=10)
        if missing:
            text = "\n" + "; ".join(missing)
            figure.text(0.01, 1.0, text, va="top", fontsize=8, color=FAINT, linespacing=1.9)
        end = end_ns(result)
        scale = time_scale(end)
        for axes, (_, draw) in zip(column, panels, strict=False):
            axes.set_xlim(0.0, end / scale.size if end else 1.0)
            axes.yaxis.set_label_coords(-0.085, 0.5)
            draw(axes)
        if panels:
            if timed:
                column[timed - 1].set_xlabel(f"time ({scale.unit})")
                _draw_grid(column[:timed])
            _draw_marks(column[:timed], marks, end)
            column[0].set_title(column[0].get_title("left"), pad=6 + 72 * names)
        else:
            column[0].set_axis_off()
    return figure


def _throughput(result: Measurements, axes: Axes, flows: Series) -> None:
    """Draws the throughput of each flow, labelled at its end; with many flows, the total per name."""
    axes.set_title("Throughput per flow")
    groups = groups_of(result)
    members: dict[str, list[Curve]] = {}
    if groups:
        flows = {label: group.throughput for label, group in groups.items()}
        members = {label: group.members for label, group in groups.items()}
        drawn, all_flows = len(result.curves()["flow_throughput_bps"]), result.table("flows").num_rows
        which = "each" if drawn == all_flows else f"the {drawn:,} busiest"
        axes.set_title(f"Throughput, total per flow name (thin: {which})")
    bins = _calm([*flows.values(), *(line for lines in members.values() for line in lines)])
    lines = {name: decimate.merge_bins(*line, bins) for name, line in flows.items()}
    scale = rate_scale(max(float(values.max(initial=0.0)) for _, values in lines.values()))
    axes.set_ylabel(f"throughput ({scale.unit})\nmean per {width(result, lines)}")
    ranked = sorted(lines, key=lambda name: float(np.mean(lines[name][1])))
    named = lines if len(lines) <= MAX_LABELLED else {*ranked[:3], *ranked[-3:]}
    palette = colors()
    labels: list[Label] = []
    for name in (name for name in lines if name in named):
        color = palette[len(labels) % len(palette)]
        thin = [decimate.merge_bins(*line, bins) for line in members.get(name, ())]
        _draw_thin(result, axes, thin, scale, color)
        x, y = steps(result, lines[name], scale)
        axes.plot(x, y, color=color, zorder=3)
        labels.append(Label(float(np.mean(y[-max(1, len(y) // 10) :])), name, color))
    others = [lines[name] for name in ranked if name not in named]
    if others:
        _draw_thin(result, axes, others, scale, QUIET_COLOR)
        axes.set_title(f"Throughput per flow ({len(named)} of {len(lines)} named)")
    axes.autoscale_view(scalex=False)
    axes.set_ylim(bottom=0.0)
    label_right(axes, labels, spacing=0.06)


def _draw_thin(result: Measurements, axes: Axes, lines: Sequence[Curve], scale: Scale, color: str) -> None:
    """Draws thin background lines; if there are many, a subset."""
    drawn = lines[:: max(1, len(lines) // MAX_LINES)]
    if drawn:
        ways = [np.column_stack(steps(result, line, scale)) for line in drawn]
        faint = 1.0 if color == QUIET_COLOR else 0.35
        axes.add_collection(LineCollection(ways, colors=color, linewidths=0.5, alpha=faint, rasterized=True))


def _calm(lines: Sequence[Curve]) -> int:
    """Maximum number of bins at which lines do not oscillate between bins because of pauses."""
    most = MAX_BINS
    while most > LEAST_BINS:
        merged = [decimate.merge_bins(*line, most)[1] for line in lines[:MAX_LINES]]
        jumps = [float(np.mean(np.abs(np.diff(v)))) / (float(v.max()) or 1.0) for v in merged if len(v) > 1]
        if float(np.mean(jumps or [0.0])) < _JUMP:
            break
        most = max(LEAST_BINS, most // 2)
    return most


def _shared_port(result: Measurements, filled: Series) -> tuple[str, Series]:
    """Returns a port that several classes share, with their rates: a root of congestion, or the fullest port.

    At least one of its classes is backlogged.
    """
    sent, waiting = result.curves().get("class_tx_bps", {}), waiting_classes(result)
    for queue in [*roots(result), *filled]:
        port = queue.rpartition("/")[0]
        own = {name: line for name, line in sent.items() if name.rpartition("/")[0] == port}
        total = sum(float(values.mean()) for _, values in own.values())
        sharing = {name: line for name, line in own.items() if float(line[1].mean()) > _SHARE * total}
        if len(sharing) > 1 and any((port, _class_of(name)) in waiting for name in sharing):
            return port, sharing
    return "", {}


def _class_of(queue: str) -> int:
    return int(queue.rpartition("/")[2])


def _shares(
    result: Measurements, axes: Axes, port: str, classes: Series, of_class: Mapping[int, str]
) -> None:
    """Draws the throughput of each class of a port."""
    axes.set_title(f"Classes at {port}")
    lines = {name: decimate.merge_bins(*line, MAX_BINS) for name, line in classes.items()}
    scale = rate_scale(max(float(values.max(initial=0.0)) for _, values in lines.values()))
    axes.set_ylabel(f"sent ({scale.unit})\nmean per {width(result, lines)}")
    labels: list[Label] = []
    waiting = waiting_classes(result)
    for name in sorted(lines):
        color = of_class[_class_of(name)]
        x, y = steps(result, lines[name], scale)
        axes.plot(x, y, color=color, zorder=3)
        height = float(np.mean(y[-max(1, len(y) // 10) :]))
        seldom = "" if (port, _class_of(name)) in waiting else "\nrarely queued"
        labels.append(Label(height, f"class {_class_of(name)}{seldom}", color))
    axes.set_ylim(bottom=0.0)
    label_right(axes, labels, spacing=0.1)


def _pauses(result: Measurements, axes: Axes, spans: Pauses, paused: int) -> None:
    """Draws a row per paused port and priority, with a bar per pause."""
    end = end_ns(result)
    scale = time_scale(end)
    rows = sorted(spans, key=by_number)
    # Minimum width for visibility; outlines would double the drawing time.
    least = _LEAST_BAR * end / (axes.bbox.width / axes.figure.dpi)
    bars = [
        _bars(decimate.merge_spans(spans[key], gap=end / MAX_GAPS), least, height)
        for height, key in enumerate(rows)
    ]
    in_unit = Affine2D().scale(1 / scale.size, 1.0) + axes.transData
    drawn = PathCollection(bars, facecolors=PAUSE_COLOR, linewidths=0.0, transform=in_unit)
    drawn.set_snap(False)  # keeps the shortest gaps visible
    axes.add_collection(drawn, autolim=False)
    several = len({priority for _, priority in rows}) > 1
    axes.set_yticks([])
    for height, (port, priority) in enumerate(rows):
        axes.annotate(
            f"{port} p{priority}" if several else port,
            (-0.008, height),
            xycoords=axes.get_yaxis_transform(),
            ha="right",
            va="center_baseline",
            fontsize=7,
            annotation_clip=False,
        )
    axes.set_ylim(len(rows) - 0.4, -0.6)
    more = paused > len(rows)
    what = "priorities of ports" if several else "ports"
    axes.set_title(f"Pauses: {len(rows)} of {paused:,} {what}, longest paused" if more else "Pauses by port")


def by_number(row: tuple[Any, ...]) -> list[tuple[int, str]]:
    """Sort key of a port and priority: ``h2.0`` before ``h10.0``."""
    return [
        (int(part), "") if part.isdigit() else (0, part) for part in re.split(r"(\d+)", f"{row[0]} {row[1]}")
    ]


def _bars(spans: decimate.Spans, least: float, height: float) -> Path:
    """One shape with a bar per span, each at least `least` wide."""
    starts, ends = spans[:, 0], np.maximum(spans[:, 1], spans[:, 0] + least)
    corners = np.empty((len(spans), 5, 2))
    corners[:, :, 0] = np.column_stack([starts, ends, ends, starts, starts])
    corners[:, :, 1] = height + 0.35 * np.array([-1, -1, 1, 1, -1])
    codes = [Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY]
    return Path(corners.reshape(-1, 2), np.tile(np.array(codes, dtype=np.uint8), len(spans)))


def _spans(result: Measurements) -> tuple[Pauses, int]:
    """Pauses of the ports and priorities with the longest paused time, and the number of all paused ones."""
    pauses = result.table("pauses")
    spans = decimate.spans_of(pauses, end_ns(result))
    groups = decimate.rows_by(pauses, ["port", "priority"])
    longest = np.argsort(-decimate.lasting(spans, groups), kind="stable")[:MAX_PAUSE_ROWS]
    firsts = pauses.select(["port", "priority"]).take(
        arrow.numbers([groups[n][0] for n in longest], pa.int64())
    )
    keys = [tuple(row.values()) for row in firsts.to_pylist()]
    return {key: spans[groups[n]] for key, n in zip(keys, longest, strict=True)}, len(groups)


def _marks(result: Measurements) -> list[tuple[float, str]]:
    """Times of the end of the warm-up and of the starts and ends of faults; simultaneous ones are merged."""
    marks: dict[float, list[str]] = defaultdict(list)
    warmup_ns = float(result.run.get("warmup_s", 0.0)) * 1e9
    if warmup_ns > 0:
        marks[warmup_ns].append("warmup ends")
    for row in result.rows("faults") if "faults" in result.table_names else []:
        if row["time_ns"] > 0:  # faults from the start of the run have no mark
            what = str(row["what"]).removeprefix("link_").replace("_", " ")
            marks[row["time_ns"]].append(f"{row['where']} {what}")
    return [
        (when, texts[0] if len(texts) == 1 else f"{texts[0]} and {len(texts) - 1} more")
        for when, texts in sorted(marks.items())
    ]


def _draw_grid(column: list[Axes]) -> None:
    """Draws grid lines in the upper panels at the ticks of the lowest panel.

    Ticks in each panel would take far longer to draw.
    """
    times = column[-1].xaxis.get_majorticklocs()
    first, last = column[-1].get_xlim()
    times = times[(times >= first) & (times <= last)]
    color, width = mpl.rcParams["grid.color"], mpl.rcParams["grid.linewidth"]
    for axes in column[:-1]:
        axes.set_xticks([])
        whole = axes.get_xaxis_transform()
        axes.vlines(times, 0, 1, colors=color, linewidths=width, transform=whole, zorder=0.5)


def _draw_marks(column: list[Axes], marks: list[tuple[float, str]], end_ns: float) -> None:
    """Draws a thin line through all panels for each mark, with its name at the top."""
    scale = time_scale(end_ns)
    for axes in column:
        times = [when / scale.size for when, _ in marks]
        whole = axes.get_xaxis_transform()
        axes.vlines(times, 0, 1, colors=FAINT, linewidths=0.7, linestyles=":", transform=whole)
    if len(marks) > MAX_MARKS:
        return
    places = spread([when / end_ns for when, _ in marks], 0.045)
    for place, (_, text) in zip(places, marks, strict=True):
        column[0].annotate(
            text,
            (place, 1.01),
            xycoords="axes fraction",
            rotation=30,
            rotation_mode="anchor",
            fontsize=6.5,
            color=FAINT,
        )


def _heading(result: Measurements) -> str:
    cut = "" if result.complete else f", cut short at {result.run['simulated_s']} s"
    return f"{result.name}  (seed {result.seed}, fingerprint {result.fingerprint}{cut})"
