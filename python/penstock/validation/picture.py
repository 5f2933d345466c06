"""Draws the picture of a validation: deviation of each row from theory, one line per topic."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path

GOOD, BAD, QUIET = "#1b6ca8", "#c0392b", "#5f6670"
_LINE_IN = 0.24
_DEVIATIONS = (0.0, 0.1, 1.0, 10.0)
"""Percentages at the ticks; the axis is logarithmic above the first nonzero one."""


def draw(folder: Path, topics: Mapping[str, str], file: Path) -> None:
    """Draws all random and approximate rows, and counts exact rows and bounds.

    Parameters
    ----------
    folder : Path
        Folder with the rows of each topic as CSV.
    topics : mapping of str to str
        Titles by file name without extension, in drawing order.
    file : Path
        Path of the picture.

    Raises
    ------
    OSError
        If a file cannot be read or written.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 0.9 + _LINE_IN * len(topics)), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    for place, topic in enumerate(topics):
        with (folder / f"{topic}.csv").open(encoding="utf-8", newline="") as rows:
            found = list(csv.DictReader(rows))
        drawn = [row for row in found if row["deviation"].endswith("%") and "bound" not in row["judged_by"]]
        counted = [row for row in found if row not in drawn]
        for row in drawn:
            color = GOOD if row["verdict"] == "pass" else BAD
            deviation = float(row["deviation"].removesuffix("%").replace("−", "-"))
            axes.plot(deviation, place, "o", markersize=3.6, alpha=0.6, color=color, markeredgewidth=0)
        passed = sum(row["verdict"] == "pass" for row in counted)
        text = f"{passed} of {len(counted)} equal or within bounds" if counted else ""
        axes.text(
            1.01, place, text, transform=axes.get_yaxis_transform(), fontsize=7, va="center", color=QUIET
        )
    axes.axvline(0.0, color=QUIET, lw=0.9, zorder=0)
    axes.set_yticks(range(len(topics)), list(topics.values()), fontsize=7.5)
    axes.set_ylim(len(topics) - 0.5, -0.5)
    axes.set_xscale("symlog", linthresh=_DEVIATIONS[1])
    ticks = sorted({sign * one for one in _DEVIATIONS for sign in (-1.0, 1.0)})
    axes.set_xticks(ticks, [f"{one:+g} %" if one else "theory" for one in ticks])
    axes.minorticks_off()
    axes.tick_params(axis="y", length=0)
    axes.grid(color="#e2e5ea", lw=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.set_title("Deviation of measurements from theory, one dot per row", loc="left", fontsize=10)
    figure.savefig(file, dpi=130, metadata={"Software": None})
