"""Figures 5-2 to 5-5, and 5-8."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from penstock.plots.style import style

OURS, THEIRS = "#0072B2", "#E69F00"
LINE_5_2 = {1: 700.0, 4: 835.0, 6: 835.0}
"""Rates by number of threads, from the text of section 5.2: about 700 MB/s, linear up to four threads,
constant at 835 MB/s."""
FULL, LOW = (550.0, 530.0, 350.0), (250.0, 200.0, 240.0)
GAINS = (1.0, 0.25)


def cover(threads: Mapping[int, float], full: Sequence[float], low: Sequence[float]) -> Figure:
    """Throughput by number of threads, and of TS1 in the phases, beside the values of the source."""
    with style():
        figure = Figure(figsize=(9.0, 3.6), layout="constrained")
        left, *others = figure.subplots(1, 3)
        left.plot(list(threads), list(threads.values()), marker="o", color=OURS, label="Penstock")
        left.plot(list(LINE_5_2), list(LINE_5_2.values()), color=THEIRS, label="Hagen")
        left.set_title("H5-2: TS1 by number of threads")
        left.set_xlabel("threads")
        left.set_ylabel("sent (MB/s)")
        left.legend(frameon=False)
        names = ("alone", "with TS2", "CNA 4 slow")
        for axes, of, reported, title in (
            (others[0], full, FULL, "H5-4: TS1, 4 threads"),
            (others[1], low, LOW, "H5-5: TS1, low load"),
        ):
            _pairs(axes, of, reported, names)
            axes.set_title(title)
        others[0].legend(frameon=False)
    return figure


def on_and_off(ours: Sequence[float], theirs: Sequence[float]) -> Figure:
    """Figure 5-3."""
    with style():
        figure = Figure(figsize=(4.6, 3.4), layout="constrained")
        axes = figure.subplots()
        _pairs(axes, ours, theirs, ("PFC on", "PFC off"))
        axes.set_title("TS1 with and without PFC (Figure 5-3)")
        axes.set_ylabel("sent (MB/s)")
        axes.legend(frameon=False)
    return figure


def iscsi(gains: Sequence[float]) -> Figure:
    """Figure 5-8; the text of the source gives only the gain by PFC."""
    with style():
        figure = Figure(figsize=(4.6, 3.4), layout="constrained")
        axes = figure.subplots()
        _pairs(axes, [100 * gain for gain in gains], [100 * gain for gain in GAINS], ("reads", "writes"))
        axes.set_title("Throughput gain of iSCSI by PFC (Figure 5-8)")
        axes.set_ylabel("gain (%)")
        axes.legend(frameon=False)
    return figure


def _pairs(axes: Axes, ours: Sequence[float], theirs: Sequence[float], names: Sequence[str]) -> None:
    places = range(len(names))
    axes.bar([n - 0.2 for n in places], ours, 0.4, color=OURS, label="Penstock")
    axes.bar([n + 0.2 for n in places], theirs, 0.4, color=THEIRS, label="Hagen")
    axes.set_xticks(places, names)
