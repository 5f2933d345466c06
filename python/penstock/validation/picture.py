"""One picture of a validation: measured over theory, row by row."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from . import Outcome

GOOD, BAD, QUIET = "#1b6ca8", "#c0392b", "#8a8f98"


ROUNDING = 1e-5
"""Rows that may differ by less than this differ by rounding alone: they are counted as exact."""


def draw(outcomes: Sequence[Outcome], file: Path) -> None:
    """Draws all rows that chance plays a part in, and counts those that are exact.

    Raises
    ------
    OSError
        If it cannot be written.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    lines: list[tuple[str, float, float, bool] | tuple[str]] = []
    for outcome in outcomes:
        equal = [row for row in outcome.rows if row.rule == "exact" or 0 < row.limit < ROUNDING]
        random = [row for row in outcome.rows if row.rule != "bound" and row not in equal]
        bounds = [row for row in outcome.rows if row.rule == "bound"]
        title = outcome.case.title
        if equal:
            title += f": {sum(row.passed for row in equal)} of {len(equal)} exact rows equal"
        if bounds:
            kept = f"{sum(row.passed for row in bounds)} of {len(bounds)} bounds kept"
            title += f", {kept}" if equal else f": {kept}"
        lines.append((title,))
        for row in random:
            half = row.interval.half_width / row.theory if row.interval.n > 1 else 0.0
            lines.append((row.quantity, row.mean / row.theory, half, row.passed))
    figure = Figure(figsize=(11, 1.2 + 0.185 * len(lines)), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    reach = 1.25 * max([0.01, *(abs(line[1] - 1) + line[2] for line in lines if len(line) == 4)])
    ticks, labels = [], []
    for place, line in enumerate(lines):
        ticks.append(place)
        if len(line) == 1:
            labels.append(line[0])
            axes.axhspan(place - 0.5, place + 0.5, color="#eef1f5", lw=0)
            continue
        name, ratio, half, passed = line
        labels.append(name)
        axes.errorbar(
            ratio, place, xerr=half or None, fmt="o", ms=3.2, lw=1.1, capsize=2, color=GOOD if passed else BAD
        )
    axes.axvline(1.0, color=QUIET, lw=0.9, zorder=0)
    axes.set_yticks(ticks, labels, fontsize=7.2)
    for tick, line in zip(axes.get_yticklabels(), lines, strict=True):
        if len(line) == 1:
            tick.set_fontweight("bold")
    axes.set_ylim(len(lines) - 0.5, -0.5)
    axes.set_xlim(1 - reach, 1 + reach)
    axes.xaxis.set_major_formatter(
        lambda value, _: f"{(value - 1) * 100:+.3g} %" if abs(value - 1) > 1e-9 else "theory"
    )
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color="#e2e5ea", lw=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.set_title("Measured over theory, with 99 % intervals", loc="left", fontsize=10)
    figure.savefig(file, dpi=130, metadata={"Software": None})
