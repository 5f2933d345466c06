"""The look of all pictures, and labels that stand beside what they name."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis, Tick
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.text import Text
from matplotlib.ticker import LogFormatter
from matplotlib.transforms import Bbox, BboxBase
from PIL.Image import fromarray

from penstock.units import visible

from .canvas import Canvas

if TYPE_CHECKING:
    from numpy.typing import NDArray

STYLE_FILE = Path(__file__).with_name("penstock.mplstyle")
PAUSE_COLOUR = "#E08A00"
DROP_COLOUR = "#B3194F"
QUIET_COLOUR = "#B8B8B8"
USE_COLOURS = ("#CCD4DC", "#A3C6DF", "#5FA3D0", "#2179B5", "#0B518A", "#06264A", "#EEEEEE")
"""Of the steps of utilisation, idle to full, and of one that is not known."""
MOST_PIXELS = 2_000_000
"""A PNG that would have more has fewer dots an inch."""
_LETTERS = "".join(map(chr, range(33, 127))).replace("$", "") + "µ×→"
_ROOM = 0.1
"""Inches around what a picture is expected to fill."""
INK = "#333333"
FAINT = "#777777"
MORE_COLOURS = (
    *("#332288", "#882255", "#999933", "#44AA99", "#AA4499", "#117733", "#CC6677", "#BBA94B"),
    *("#661100", "#6699CC", "#AA7744", "#4D6B8A", "#9F7BD1", "#7A7A00", "#00507A", "#B0517B"),
)
"""For lines beside those of the style's cycle, first Tol's muted scheme (2021): none is in both."""


@contextlib.contextmanager
def style() -> Iterator[None]:
    """Pictures made or saved within look the Penstock way; settings outside are left alone."""
    with mpl.rc_context(_settings()):
        yield


@lru_cache
def _settings() -> mpl.RcParams:
    return mpl.rc_params_from_file(STYLE_FILE, use_default_template=False)


def colours() -> list[str]:
    """The colours of lines, in order; distinguishable for colour-blind readers."""
    return ["#" + str(colour).lstrip("#") for colour in mpl.rcParams["axes.prop_cycle"].by_key()["color"]]


@dataclass(frozen=True)
class Scale:
    """A unit for an axis: values are divided by `size`."""

    size: float
    unit: str


def time_scale(span_ns: float) -> Scale:
    """The unit in which a span of time is best read."""
    for size, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")):
        if span_ns >= size:
            return Scale(size, unit)
    return Scale(1.0, "ns")


def rate_scale(largest_bps: float) -> Scale:
    """The unit in which rates up to this one are best read."""
    for size, unit in ((1e12, "Tb/s"), (1e9, "Gb/s"), (1e6, "Mb/s"), (1e3, "kb/s")):
        if largest_bps >= size:
            return Scale(size, unit)
    return Scale(1.0, "b/s")


def size_scale(largest_bytes: float) -> Scale:
    """The unit in which amounts of bytes up to this one are best read."""
    for size, unit in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if largest_bytes >= size:
            return Scale(float(size), unit)
    return Scale(1.0, "B")


@dataclass(frozen=True)
class Label:
    """A text that belongs at height `y` (in data units)."""

    y: float
    text: str
    colour: str


def label_right(axes: Axes, labels: Sequence[Label], *, spacing: float = 0.075) -> None:
    """Writes labels right of the axes at their heights, moved apart by at least `spacing` axes heights."""
    # As the axis has them, which may be logarithmic.
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
            color=label.colour,
            fontsize=8,
            va="center",
            annotation_clip=False,
        )


def spread(positions: Sequence[float], spacing: float) -> list[float]:
    """Rising positions moved as little as needed to be `spacing` apart, within 0 and 1 where possible.

    Groups that would overlap are centred on the mean of their members, as pools of adjacent violators.
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
    """Inches around the panels of a picture, and between them."""

    left: float
    right: float
    top: float
    between: float
    bottom: float


def stack(width: float, heights: Sequence[float], around: Margins) -> tuple[Figure, list[Axes]]:
    """A figure of this width with panels of these heights below each other, all in inches.

    Matplotlib could find the places itself, but takes longer for that than for all of the drawing.
    """
    total = around.top + sum(heights) + around.between * (len(heights) - 1) + around.bottom
    fits = [figure for figure in _blank if len(figure.axes) >= len(heights)]
    figure = min(fits, key=lambda figure: len(figure.axes), default=None) or _panels(len(heights))
    if fits:
        _blank.remove(figure)
    for left_over in figure.axes[len(heights) :]:
        left_over.remove()
    figure.set_size_inches(width, total)
    y = total - around.top
    inner = width - around.left - around.right
    for axes, height in zip(figure.axes, heights, strict=True):
        y -= height
        axes.set_position((around.left / width, y / total, inner / width, height / total))
        y -= around.between
    return figure, figure.axes


def _panels(number: int, ticks: int = 0) -> Figure:
    """A figure with so many panels, and with so many ticks beside each that wait for their places."""
    with mpl.rc_context({"figure.constrained_layout.use": False}):
        figure = Figure()
    for _ in range(number):
        axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        if ticks:
            axes.yaxis.get_major_ticks(ticks)
    return figure


_blank: list[Figure] = []
"""Figures whose panels have been made while there was time: to make them takes as long as to draw on them."""


def save(figure: Figure, directory: str | PathLike[str], name: str, *, svg: bool = True) -> list[Path]:
    """Writes ``NAME.png`` and, unless `svg` is false, ``NAME.svg``; the same figure gives the same bytes."""
    return save_each([(name, figure)], directory, svg=svg)


def save_each(
    figures: Iterable[tuple[str, Figure]], directory: str | PathLike[str], *, svg: bool = True
) -> list[Path]:
    """Saves figures by their names; while one is drawn, those before it are compressed."""
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    compressed: list[Future[None]] = []
    with ThreadPoolExecutor(2) as beside:
        for name, figure in figures:
            png, vector = directory / f"{name}.png", directory / f"{name}.svg"
            _show_all_letters(figure)
            with _laid_out(figure) as canvas:
                compressed.append(beside.submit(_compress, png, *_dots(canvas)))
                if svg:
                    figure.savefig(vector, bbox_inches=_measured(figure), metadata={"Date": None})
            written += [png, vector] if svg else [png]
    for one in compressed:
        one.result()
    return written


def _show_all_letters(figure: Figure) -> None:
    """Takes names literally: "$" begins no formula, and what has no picture is written as escapes."""
    for text in _texts(figure):
        text.set_parse_math(False)
        if not text.get_text().isprintable():
            text.set_text(visible(text.get_text(), keep="\n"))
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            if isinstance(axis.get_major_formatter(), LogFormatter):  # which writes powers as formulas
                for tick in _ticks(axis):
                    tick.label1.set_parse_math(True)


def _texts(artist: Artist) -> Iterator[Text]:
    """The texts of an artist; of axes those of the ticks that are there already, which are slow to make."""
    if isinstance(artist, Text):
        yield artist
    children = artist.get_children()
    if isinstance(artist, Axis):
        children = [artist.label, artist.offsetText]
        children += [label for tick in _ticks(artist) for label in (tick.label1, tick.label2)]
    for child in children:
        yield from _texts(child)


def _ticks(axis: Axis) -> list[Tick]:
    """The ticks that an axis has made so far."""
    made = vars(axis)
    return [*made.get("majorTicks", ()), *made.get("minorTicks", ())]


def warm_up() -> None:
    """Draws something of all that pictures of runs consist of, so that the first one takes no longer."""
    with style():
        figure, panels = stack(7.0, [1.0, 1.0], Margins(0.5, 0.5, 0.5, 0.5, 0.5))
        for axes in panels:
            axes.set_title("Title")
            axes.set_ylabel("label")
            axes.plot([0.0, 1.0], [0.0, 1.0], label="line")
            axes.vlines([0.5], 0, 1)
            axes.scatter([0.5], [0.5])
            axes.imshow(np.zeros((2, 2, 3), dtype=np.uint8), aspect="auto")
            axes.legend()
            axes.annotate(_LETTERS, (0.5, 0.5), xytext=(1, 1), textcoords="offset points", fontsize=7)
        _blank.extend([_panels(1), _panels(3), _panels(7, ticks=8)])
    with _laid_out(figure) as canvas:
        _dots(canvas)


@contextlib.contextmanager
def _laid_out(figure: Figure) -> Iterator[Canvas]:
    """A figure on our canvas, laid out once: savefig would do that for each file, and draw it for nothing."""
    own = figure.canvas
    with style(), mpl.rc_context({"figure.constrained_layout.use": False}):
        canvas = Canvas(figure)
        engine = figure.get_layout_engine()
        if engine is not None:
            engine.execute(figure)
            figure.set_layout_engine("none")
        yield canvas
        if engine is not None:
            figure.set_layout_engine(engine)
    figure.set_canvas(own)


def _compress(file: Path, dots: NDArray[np.uint32], dpi: float) -> None:
    colours = np.ascontiguousarray(dots[:, :, None].view(np.uint8)[:, :, :3])
    # Level 1 takes half the time of the default, and the files are 5 % larger at most.
    fromarray(colours).save(file, compress_level=1, dpi=(dpi, dpi))


def _dots(canvas: Canvas) -> tuple[NDArray[np.uint32], float]:
    """The dots of a figure without its white margins, and how many an inch has.

    It is drawn on more than it is expected to fill, and cut to what it fills: to measure that before takes as
    long as to draw.
    """
    figure = canvas.figure
    expected = _expected(figure)
    most = float(np.sqrt(MOST_PIXELS / (expected.width * expected.height)))
    dpi = min(float(mpl.rcParams["savefig.dpi"]), most)
    whole = Bbox.union([expected, Bbox.from_bounds(0.0, 0.0, *figure.get_size_inches())])
    dots = _drawn(canvas, whole.padded(_ROOM), dpi)
    inked = [np.flatnonzero((dots != dots[0, 0]).any(axis=axis)) for axis in (1, 0)]
    # What is beyond has something that leads there: labels of an axis are behind those of its ticks.
    if any(
        len(at) and (at[0] == 0 or at[-1] == size - 1) for at, size in zip(inked, dots.shape, strict=True)
    ):
        dots = _drawn(canvas, _measured(figure), dpi)
    elif len(inked[0]):
        pad = round(mpl.rcParams["savefig.pad_inches"] * dpi)
        rows, columns = (slice(max(0, at[0] - pad), at[-1] + 1 + pad) for at in inked)
        dots = dots[rows, columns]
    return dots, dpi


def _expected(figure: Figure) -> Bbox:
    """What a figure may fill, in inches: texts, legends, and all of it if it has axes that are drawn."""
    within = [child for axes in figure.axes for child in axes.get_children()]
    named = [
        one
        for one in (*within, *figure.texts)
        if isinstance(one, Text) and one.get_text() and one.get_in_layout()
    ]
    boxes: list[BboxBase] = [one.get_window_extent() for one in (*named, *_legends(figure))]
    if any(axes.axison for axes in figure.axes) or not boxes:
        boxes.append(figure.bbox)
    return Bbox.union(boxes).transformed(figure.dpi_scale_trans.inverted())


def _legends(figure: Figure) -> list[Legend]:
    """All legends of a figure."""
    own = (axes.get_legend() for axes in figure.axes)
    return [*figure.legends, *(legend for legend in own if legend is not None)]


def _measured(figure: Figure) -> Bbox:
    """What a figure fills, in inches."""
    return figure.get_tightbbox().padded(mpl.rcParams["savefig.pad_inches"])


def _drawn(canvas: Canvas, box: Bbox, dpi: float) -> NDArray[np.uint32]:
    """The dots of a part of a figure, by row and column."""
    with open(os.devnull, "wb") as nowhere:  # noqa: PTH123
        canvas.figure.savefig(nowhere, format="rgba", dpi=dpi, bbox_inches=box)
    # Without a copy: memory that is touched for the first time takes longer than much of the drawing.
    dots: NDArray[np.uint32] = canvas.dots().view(np.uint32)[:, :, 0]
    return dots


def _bottom(group: Sequence[float], spacing: float) -> float:
    extent = (len(group) - 1) * spacing
    bottom = sum(group) / len(group) - extent / 2
    return max(0.0, min(bottom, 1.0 - extent)) if extent <= 1.0 else 0.5 - extent / 2


def _top(group: Sequence[float], spacing: float) -> float:
    return _bottom(group, spacing) + (len(group) - 1) * spacing
