"""Common style of all pictures, and labels next to lines."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from os import PathLike
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import LogFormatter

from penstock.units import visible

STYLE_FILE = Path(__file__).with_name("penstock.mplstyle")
PAUSE_COLOR = "#E08A00"
DROP_COLOR = "#B3194F"
QUEUE_COLOR = "#D1495B"
QUIET_COLOR = "#B8B8B8"
USE_COLORS = ("#CCD4DC", "#A3C6DF", "#5FA3D0", "#2179B5", "#0B518A", "#06264A", "#EEEEEE")
"""Colors of the utilisation levels, idle to full, and of unknown utilisation."""
MOST_PIXELS = 2_000_000
"""Maximum size of a PNG in pixels; larger figures use a lower resolution."""
INK = "#333333"
FAINT = "#777777"
MORE_COLORS = (
    *("#332288", "#882255", "#999933", "#44AA99", "#AA4499", "#117733", "#CC6677", "#BBA94B"),
    *("#661100", "#6699CC", "#AA7744", "#4D6B8A", "#9F7BD1", "#7A7A00", "#00507A", "#B0517B"),
)
"""Additional line colors that differ from the style's cycle; the first are Tol's muted scheme (2021)."""


@contextlib.contextmanager
def style() -> Iterator[None]:
    """Context with the style for pictures that are drawn or saved in it; global settings are restored."""
    with mpl.rc_context(_settings()):
        yield


@lru_cache
def _settings() -> mpl.RcParams:
    return mpl.rc_params_from_file(STYLE_FILE, use_default_template=False)


def colors() -> list[str]:
    """Line colors in order; distinguishable for color-blind readers."""
    return ["#" + str(color).lstrip("#") for color in mpl.rcParams["axes.prop_cycle"].by_key()["color"]]


@dataclass(frozen=True)
class Scale:
    """Unit of an axis; values are divided by `size`."""

    size: float
    unit: str


def time_scale(span_ns: float) -> Scale:
    """Unit for times up to this one."""
    for size, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")):
        if span_ns >= size:
            return Scale(size, unit)
    return Scale(1.0, "ns")


def rate_scale(largest_bps: float) -> Scale:
    """Unit for rates up to this one."""
    for size, unit in ((1e12, "Tb/s"), (1e9, "Gb/s"), (1e6, "Mb/s"), (1e3, "kb/s")):
        if largest_bps >= size:
            return Scale(size, unit)
    return Scale(1.0, "b/s")


def size_scale(largest_bytes: float) -> Scale:
    """Unit for amounts of bytes up to this one."""
    for size, unit in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if largest_bytes >= size:
            return Scale(float(size), unit)
    return Scale(1.0, "B")


@dataclass(frozen=True)
class Label:
    """Text at height `y` (in data units)."""

    y: float
    text: str
    color: str


def label_right(axes: Axes, labels: Sequence[Label], *, spacing: float = 0.075) -> None:
    """Writes labels to the right of the axes, at least `spacing` axes heights apart."""
    # In axis coordinates, since the axis may be logarithmic.
    scaled = axes.yaxis.get_transform().transform
    low, high = scaled(np.array(axes.get_ylim()))
    ordered = sorted(labels, key=lambda label: label.y)
    at = scaled(np.array([label.y for label in ordered]))
    heights = spread([float(height) for height in (at - low) / (high - low or 1.0)], spacing)
    for label, height in zip(ordered, heights, strict=True):
        axes.annotate(
            label.text,
            xy=(1.01, height),
            xycoords="axes fraction",
            color=label.color,
            fontsize=8,
            va="center",
            annotation_clip=False,
        )


def spread(positions: Sequence[float], spacing: float) -> list[float]:
    """Moves ascending positions as little as needed to be `spacing` apart, within 0 to 1 where possible.

    Overlapping groups are centred on their mean (pool adjacent violators).
    """
    groups: list[list[float]] = []
    for position in positions:
        groups.append([min(max(position, 0.0), 1.0)])
        while len(groups) > 1 and _bottom(groups[-1], spacing) < _top(groups[-2], spacing) + spacing:
            last = groups.pop()
            groups[-1].extend(last)
    return [_bottom(group, spacing) + i * spacing for group in groups for i in range(len(group))]


@dataclass(frozen=True)
class Margins:
    """Margins around and between panels, in inches."""

    left: float
    right: float
    top: float
    between: float
    bottom: float


def stack(width: float, heights: Sequence[float], around: Margins) -> tuple[Figure, list[Axes]]:
    """Creates a figure with stacked panels; width and heights in inches.

    Positions are computed here, because Matplotlib's layout engine takes longer than the whole drawing.
    """
    total = around.top + sum(heights) + around.between * (len(heights) - 1) + around.bottom
    with mpl.rc_context({"figure.constrained_layout.use": False}):
        figure = Figure(figsize=(width, total))
    y = total - around.top
    inner = width - around.left - around.right
    for height in heights:
        y -= height
        figure.add_axes((around.left / width, y / total, inner / width, height / total))
        y -= around.between
    return figure, figure.axes


def save(figure: Figure, directory: str | PathLike[str], name: str, *, svg: bool = True) -> list[Path]:
    """Writes ``NAME.png`` and, unless `svg` is false, ``NAME.svg``. Output is deterministic."""
    return save_each([(name, figure)], directory, svg=svg)


def save_each(
    figures: Iterable[tuple[str, Figure]], directory: str | PathLike[str], *, svg: bool = True
) -> list[Path]:
    """Saves figures under their names."""
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    for name, figure in figures:
        _show_all_letters(figure)
        # A figure without a layout would get one for the saved region.
        with style(), mpl.rc_context({"figure.constrained_layout.use": False}):
            most = float(np.sqrt(MOST_PIXELS / np.prod(figure.get_size_inches())))
            dpi = min(float(mpl.rcParams["savefig.dpi"]), most)
            png = directory / f"{name}.png"
            # Level 1 takes half the time of the default; files are at most 5 % larger.
            figure.savefig(png, dpi=dpi, pil_kwargs={"compress_level": 1}, metadata={"Software": None})
            written.append(png)
            if svg:
                figure.savefig(png.with_suffix(".svg"), metadata={"Date": None})
                written.append(png.with_suffix(".svg"))
    return written


def _show_all_letters(figure: Figure) -> None:
    """Disables formulas ("$") in text, and writes unprintable characters as escapes."""
    powers = {
        id(label)
        for axes in figure.axes
        for axis in (axes.xaxis, axes.yaxis)
        if isinstance(axis.get_major_formatter(), LogFormatter)  # formats powers as formulas
        for label in axis.get_ticklabels(which="both")
    }
    for text in figure.findobj(Text):
        if id(text) not in powers:
            text.set_parse_math(False)
            if not text.get_text().isprintable():
                text.set_text(visible(text.get_text(), keep="\n"))


def _bottom(group: Sequence[float], spacing: float) -> float:
    extent = (len(group) - 1) * spacing
    bottom = sum(group) / len(group) - extent / 2
    return max(0.0, min(bottom, 1.0 - extent)) if extent <= 1.0 else 0.5 - extent / 2


def _top(group: Sequence[float], spacing: float) -> float:
    return _bottom(group, spacing) + (len(group) - 1) * spacing
