"""Measures of a sweep over its keys: lines with bands, heat maps, Pareto fronts."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from penstock.units import short_names

from .style import (
    FAINT,
    MORE_COLORS,
    QUIET_COLOR,
    Margins,
    Scale,
    colors,
    rate_scale,
    size_scale,
    stack,
    style,
    time_scale,
)

MAX_PANELS = 12
MAX_LINES = 8
_WORDS = 0.45
"""Space for short rotated words below an axis, in inches."""
_WORD_LETTERS = 28
"""Maximum number of letters per line in axis words and line names."""
_SIZES = tuple(
    Scale(float(base**power), unit)
    for power, units in ((3, ("GiB", "GB")), (2, ("MiB", "MB")), (1, ("KiB", "kB")), (0, ("B",)))
    for base, unit in zip((1024, 1000), units, strict=False)
)
"""Units of sizes, largest first."""
_FEW_BYTES = 100_000
"""Sizes below this are written in bytes unless a larger unit gives an integer."""
_LETTER, _LETTER_LINE = 0.07, 0.13
"""Width of a letter and height of a line, in inches."""

Look = tuple[str, str]
"""Color and marker."""


@dataclass(frozen=True)
class Line:
    """A measure as a function of one key.

    Attributes
    ----------
    label : str
        Name of the line in the legend.
    x, mean, half_width : list of float
        Points in order of `x`; the half-width is NaN if unknown.
    """

    label: str
    x: list[float]
    mean: list[float]
    half_width: list[float]


@dataclass(frozen=True)
class Panel:
    """Lines of one measure.

    Attributes
    ----------
    measure, unit : str
        Name of the measure, and unit of its values: "ns", "bps", "bytes" or another.
    lines : list of Line
    """

    measure: str
    unit: str
    lines: list[Line]


@dataclass(frozen=True)
class Axis:
    """Axis of a picture: name, unit, and scale (linear or logarithmic)."""

    label: str
    unit: str = ""
    log: bool = False
    words: Sequence[str] = ()
    """Labels at 0, 1, 2, ... for values that are not numbers."""


def lines(panels: Sequence[Panel], axis: Axis) -> Figure:
    """Draws a panel per measure: means joined by lines, with confidence bands.

    Values that are not numbers are points with error bars. A line has the same color in all panels.
    """
    shown = panels[:MAX_PANELS]
    names = list(dict.fromkeys(line.label for panel in shown for line in panel.lines[:MAX_LINES]))
    with style():
        looks = dict(zip(names, _looks(), strict=False))
        columns = min(len(shown), 2)
        figure, places = _grid(len(shown), columns)
        along = key_scale(axis.unit, [x for panel in shown for line in panel.lines for x in line.x])
        for place, panel in zip(places, shown, strict=True):
            _draw_lines(place, panel, along, looks, joined=not axis.words)
            if axis.log:
                place.set_xscale("log")
        for place in places[max(len(shown) - columns, 0) :]:
            place.set_xlabel(_labelled(axis.label, along))
            if axis.words:
                _write_words(place, axis.words)
        _name_lines(figure, looks, columns, axis.words)
        if len(panels) > len(shown):
            text = f"{len(panels) - len(shown)} more measures in the tables"
            figure.text(0.0, 1.0, text, va="bottom", fontsize=8, color=FAINT)
        return figure


def _looks() -> Iterator[Look]:
    """Unique combinations of color and marker."""
    yield from ((color, mark) for mark in "os^Dvp*" for color in (*colors(), *MORE_COLORS))


def _name_lines(figure: Figure, looks: Mapping[str, Look], columns: int, words: Sequence[str]) -> None:
    """Draws a legend below the panels if there are names."""
    named = {name: look for name, look in looks.items() if name}
    if not named:
        return
    handles = [Line2D([], [], color=color, marker=mark, markersize=3) for color, mark in named.values()]
    place = (0.5, -_room_for(words) / figure.get_figheight())
    figure.legend(handles, list(map(_broken, named)), ncols=columns, loc="upper center", bbox_to_anchor=place)


def _broken(word: str) -> str:
    """Breaks a long word into lines."""
    return textwrap.fill(word, _WORD_LETTERS, break_long_words=False)


def _room_for(words: Sequence[str]) -> float:
    """Height of rotated words below an axis, in inches."""
    if not words:
        return 0.0
    lines = [_broken(word).split("\n") for word in words]
    turned = math.radians(_TURNED["rotation"])
    longest = max(len(line) for word in lines for line in word) * _LETTER * math.sin(turned)
    return max(_WORDS, longest + max(map(len, lines)) * _LETTER_LINE * math.cos(turned))


def _write_words(axes: Axes, words: Sequence[str]) -> None:
    """Writes words along an axis, rotated so that they do not overlap."""
    axes.set_xticks(range(len(words)), list(map(_broken, words)), **_TURNED)
    axes.set_xlim(-0.5, len(words) - 0.5)


def _grid(panels: int, columns: int) -> tuple[Figure, list[Axes]]:
    """Figure with a grid of equal panels at fixed positions: see `style.stack`."""
    width, height, room = 4.1, 1.25, 0.4
    rows = math.ceil(panels / columns)
    with mpl.rc_context({"figure.constrained_layout.use": False}):
        figure = Figure(figsize=(width * columns, (height + room) * rows + room))
    up = height / ((height + room) * rows + room)
    places = []
    for panel in range(panels):
        row, column = divmod(panel, columns)
        bottom = up * (1 + room / height) * (rows - row - 1) + up * room / height
        places.append(figure.add_axes(((column + 0.17) / columns, bottom, 0.8 / columns, up)))
        # All panels share the horizontal axis: only the lowest of each column has numbers.
        places[-1].tick_params(labelbottom=panel + columns >= panels)
    return figure, places


def _draw_lines(axes: Axes, panel: Panel, along: Scale, looks: Mapping[str, Look], *, joined: bool) -> None:
    drawn = panel.lines[:MAX_LINES]
    scale = scale_of(panel.unit, [y for line in drawn for y in line.mean])
    for line in drawn:
        color, mark = looks[line.label]
        x = np.asarray(line.x) / along.size
        mean, half = (
            np.asarray(line.mean) / scale.size,
            np.nan_to_num(np.asarray(line.half_width) / scale.size),
        )
        if not joined:
            axes.errorbar(x, mean, yerr=half, fmt=mark, markersize=4, capsize=2.5, color=color)
            continue
        axes.fill_between(x, mean - half, mean + half, color=color, alpha=0.18, linewidth=0)
        axes.plot(x, mean, color=color, marker=mark, markersize=2.5)
    axes.set_title(_without_unit(panel.measure, panel.unit))
    axes.set_ylabel(scale.unit)
    axes.margins(y=0.12)
    # Few ticks: they take most of the drawing time.
    axes.locator_params(nbins=5, axis="both" if joined else "y")
    if not any(y for line in drawn for y in line.mean):
        axes.set_ylim(0.0, 1.0)
    if len(panel.lines) > len(drawn):
        text = f"{len(panel.lines) - len(drawn)} more lines"
        axes.annotate(text, (1.0, 0.0), xycoords="axes fraction", ha="right", fontsize=7, color=FAINT)


def heat_map(panel: Panel, across: Axis, up: Axis) -> Figure:
    """Draws one measure over two keys; each line of the panel is a row at its value on the axis `up`."""
    with style():
        figure, (axes,) = stack(5.6, [3.4], Margins(left=0.9, right=0.3, top=0.4, between=0.0, bottom=0.6))
        axes.set_title(_without_unit(panel.measure, panel.unit))
        rows = sorted(panel.lines, key=lambda line: float(line.label))
        columns = sorted({x for line in rows for x in line.x})
        values = np.full((len(rows), len(columns)), math.nan)
        for at, line in enumerate(rows):
            for x, mean in zip(line.x, line.mean, strict=True):
                values[at, columns.index(x)] = mean
        scale = scale_of(panel.unit, values[~np.isnan(values)].tolist())
        image = axes.imshow(values / scale.size, origin="lower", aspect="auto", cmap="cividis")
        figure.colorbar(image, ax=axes, label=scale.unit or panel.measure)
        heights = [float(line.label) for line in rows]
        across_scale, up_scale = key_scale(across.unit, columns), key_scale(up.unit, heights)
        axes.set_xticks(*_ticks(columns, across_scale, across.words), **_TURNED if across.words else {})
        axes.set_yticks(*_ticks(heights, up_scale, up.words))
        axes.set_xlabel(_labelled(across.label, across_scale))
        axes.set_ylabel(_labelled(up.label, up_scale))
        axes.grid(visible=False)
        return figure


@dataclass(frozen=True)
class Trade:
    """Point of a Pareto picture: two measures, a label, and true if no other point dominates it."""

    x: float
    y: float
    label: str
    is_best: bool


def pareto(points: Sequence[Trade], across: Axis, up: Axis) -> Figure:
    """Draws two measures against each other; points on the Pareto front are labelled and joined."""
    with style():
        figure, (axes,) = stack(6.4, [3.8], Margins(left=0.8, right=0.4, top=0.35, between=0.0, bottom=0.6))
        x_scale = scale_of(across.unit, [point.x for point in points])
        y_scale = scale_of(up.unit, [point.y for point in points])
        others = [point for point in points if not point.is_best]
        best = sorted((point for point in points if point.is_best), key=lambda point: (point.x, point.y))
        for group, color, size in ((others, QUIET_COLOR, 14), (best, colors()[0], 22)):
            at = [(point.x / x_scale.size, point.y / y_scale.size) for point in group]
            axes.scatter([x for x, _ in at], [y for _, y in at], s=size, color=color, zorder=3)
            if group is best:
                axes.plot([x for x, _ in at], [y for _, y in at], color=color, linewidth=0.9)
                for (x, y), point in zip(at[:MAX_LINES], best, strict=False):
                    axes.annotate(
                        point.label, (x, y), (6, -3), textcoords="offset points", va="top", fontsize=7
                    )
        axes.set_xlabel(_labelled(_without_unit(across.label, across.unit), x_scale))
        axes.set_ylabel(_labelled(_without_unit(up.label, up.unit), y_scale))
        axes.set_title("Pareto front")
        return figure


@dataclass(frozen=True)
class Bar:
    """Value of one sensitivity index for a key; the half-width is NaN if unknown."""

    key: str
    index: str
    value: float
    half_width: float


@dataclass(frozen=True)
class Effects:
    """One measure with the indices of its keys, largest effect first."""

    measure: str
    unit: str
    bars: list[Bar]


def effects(panels: Sequence[Effects]) -> Figure:
    """Draws a panel per measure with a row per key and a marker with interval per index."""
    shown = panels[:MAX_PANELS]
    keys = max(len({bar.key for bar in panel.bars}) for panel in shown)
    with style():
        figure = Figure(figsize=(6.6, (0.34 * keys + 0.75) * len(shown) + 0.3))
        for axes, panel in zip(figure.subplots(len(shown), squeeze=False)[:, 0], shown, strict=True):
            _draw_effects(axes, panel)
        figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
        if len(panels) > len(shown):
            figure.suptitle(f"{len(panels) - len(shown)} more measures in the table", fontsize=8)
        return figure


def _draw_effects(axes: Axes, panel: Effects) -> None:
    scale = scale_of(panel.unit, [bar.value for bar in panel.bars])
    keys = list(dict.fromkeys(bar.key for bar in panel.bars))
    indices = list(dict.fromkeys(bar.index for bar in panel.bars))
    for number, (index, color) in enumerate(zip(indices, colors(), strict=False)):
        own = [bar for bar in panel.bars if bar.index == index]
        rows = [keys.index(bar.key) + 0.16 * (2 * number - len(indices) + 1) for bar in own]
        across = [bar.value / scale.size for bar in own]
        half = np.nan_to_num([bar.half_width / scale.size for bar in own])
        axes.errorbar(across, rows, xerr=half, fmt="o", markersize=4, color=color, label=index)
    axes.axvline(0.0, color=FAINT, linewidth=0.6)
    axes.set_yticks(range(len(keys)), list(short_names(keys).values()))
    axes.set_ylim(len(keys) - 0.5, -0.5)
    axes.set_title(_without_unit(panel.measure, panel.unit))
    axes.set_xlabel(scale.unit)


def scale_of(unit: str, values: Sequence[float]) -> Scale:
    """Unit for an axis with these values."""
    largest = max((abs(value) for value in values if math.isfinite(value)), default=0.0)
    if unit == "s":
        scale = time_scale(largest * 1e9)
        return Scale(scale.size / 1e9, scale.unit)
    known = {"ns": time_scale, "bps": rate_scale, "bytes": size_scale}
    return known[unit](largest) if unit in known else Scale(1.0, unit)


def key_scale(unit: str, values: Sequence[float]) -> Scale:
    """Unit for an axis with values of a key; sizes use the largest unit in which they are integers."""
    largest = max(values, default=0.0)
    if unit != "bytes" or largest == 0:
        return scale_of(unit, values)
    fits = (size for size in _SIZES if all(value % size.size == 0 for value in values))
    found = next(fits, None)
    return scale_of(unit, values) if found is None or (found.size == 1 and largest >= _FEW_BYTES) else found


def _without_unit(name: str, unit: str) -> str:
    """Name of a measure without the unit of its axis: "p99" for "p99_ns"."""
    return name.removesuffix(f"_{unit}") or name


def _labelled(label: str, scale: Scale) -> str:
    return f"{label} ({scale.unit})" if scale.unit else label


def _ticks(values: list[float], scale: Scale, words: Sequence[str]) -> tuple[list[int], list[str]]:
    """At most ten tick positions with their labels; words have one each."""
    if words:
        return list(range(len(values))), [words[round(value)] for value in values]
    step = math.ceil(len(values) / 10)
    places = list(range(0, len(values), step))
    return places, [f"{values[at] / scale.size:.4g}" for at in places]


_TURNED: dict[str, Any] = {"rotation": 30, "ha": "right", "rotation_mode": "anchor"}
