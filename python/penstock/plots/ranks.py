"""Timeline of the ranks of a job, with a row per rank."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from penstock.analysis.jobs import chosen
from penstock.analysis.rank_bars import Bars, bars_of
from penstock.analysis.rank_steps import steps_of
from penstock.errors import InputError
from penstock.measurements import of_result

from .style import FAINT, Margins, stack, style, time_scale

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from penstock.measurements import Measurements

LAYERS = ("computation", "host cost", "send", "receive")
COLORS = ("#0b7a5b", "#8a5a00", "#2f7fc1", "#c9a0c9")
"""Colors of `LAYERS`, as on the page."""
_SPANS = ((0.05, 0.5), (0.05, 0.5), (0.5, 0.75), (0.75, 0.95))
"""Vertical extent of each layer within a row, from the top."""
_MOST_BARS_A_ROW = 64
"""Maximum number of ranks with individual bars; above it a pixel shows the largest layer."""
_COLUMNS = 1_400
_AROUND = Margins(left=0.9, right=0.3, top=0.55, between=0.4, bottom=0.5)


@of_result
def rank_timeline(result: Measurements, job: str | None = None) -> Figure:
    """Draws a row for each rank: computation, sends and receives.

    Parameters
    ----------
    result : Result
        Result of the run.
    job : str, optional
        Name of the job. Default: the first.

    Raises
    ------
    InputError
        If there is no such job, or no iteration was recorded.
    """
    own = chosen(result, job)
    steps = steps_of(result, own["job"])
    if steps is None:
        raise InputError(f"no steps of {own['job']} were recorded; increase timeline_rows of [[jobs]]")
    bars = bars_of(steps)
    ranks = len(steps.hosts)
    with style():
        height = min(max(0.22 * ranks, 1.2), 6.0)
        figure, (axes,) = stack(8.0, [height], _AROUND)
        start, stop = (int(bars.begin.min()), int(bars.end.max())) if len(bars.rank) else (0, 1)
        scale = time_scale((stop - start) / 1e3)
        span = (start / 1e3 / scale.size, stop / 1e3 / scale.size)
        if ranks <= _MOST_BARS_A_ROW:
            _draw_bars(axes, bars, 1e3 * scale.size)
        else:
            picture = _picture(bars, ranks, start, stop)
            axes.imshow(picture, aspect="auto", interpolation="nearest", extent=(*span, ranks, 0))
        axes.set_xlim(*span)
        axes.set_ylim(ranks, 0)
        axes.set_xlabel(f"time ({scale.unit})")
        _name_rows(axes, steps.hosts)
        axes.set_title(str(own["job"]), loc="left")
        used = sorted(set(bars.layer.tolist()))
        axes.legend(
            handles=[Patch(color=COLORS[layer], label=LAYERS[layer]) for layer in used],
            loc="lower right",
            bbox_to_anchor=(1.0, 1.0),
            ncols=len(LAYERS),
            frameon=False,
            fontsize=8,
            labelcolor=FAINT,
        )
        return figure


def _draw_bars(axes: Axes, bars: Bars, unit: float) -> None:
    for layer, (top, bottom) in enumerate(_SPANS):
        own = bars.layer == layer
        if not own.any():
            continue
        left, right, row = bars.begin[own] / unit, bars.end[own] / unit, bars.rank[own]
        corners = np.stack(
            [
                np.stack([left, row + top], axis=1),
                np.stack([right, row + top], axis=1),
                np.stack([right, row + bottom], axis=1),
                np.stack([left, row + bottom], axis=1),
            ],
            axis=1,
        )
        axes.add_collection(PolyCollection(list(corners), facecolors=COLORS[layer], edgecolors="none"))


def _picture(bars: Bars, ranks: int, start: int, stop: int) -> NDArray[Any]:
    """A pixel per rank and interval. Computation has precedence over messages, and messages over waits."""
    width = max((stop - start) / _COLUMNS, 1.0)
    picture = np.ones((ranks, _COLUMNS, 3))
    for layer in reversed(range(len(LAYERS))):
        own = bars.layer == layer
        if not own.any():
            continue
        changes = np.zeros((ranks, _COLUMNS + 1))
        first = np.clip(((bars.begin[own] - start) / width).astype(int), 0, _COLUMNS - 1)
        last = np.clip(np.ceil((bars.end[own] - start) / width).astype(int), first + 1, _COLUMNS)
        np.add.at(changes, (bars.rank[own], first), 1)
        np.add.at(changes, (bars.rank[own], last), -1)
        picture[np.cumsum(changes, axis=1)[:, :-1] > 0] = to_rgb(COLORS[layer])
    return picture


def _name_rows(axes: Axes, hosts: list[str]) -> None:
    if len(hosts) <= _MOST_BARS_A_ROW:
        every = 1 + len(hosts) // 24
        places = range(0, len(hosts), every)
        axes.set_yticks([place + 0.5 for place in places], [f"{place} {hosts[place]}" for place in places])
        axes.tick_params(axis="y", length=0, labelsize=7)
    else:
        axes.yaxis.set_major_locator(MaxNLocator(10, integer=True))
        axes.set_ylabel("rank")
