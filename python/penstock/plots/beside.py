"""Several results in one picture: distributions, tails, and slowdown by size."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from penstock.analysis.transfers import size_bins
from penstock.errors import ArgumentError, InputError
from penstock.library import suggestion
from penstock.units import size

from .style import colors, style
from .sweeps import scale_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from penstock.measurements import Measurements

WIDTHS = {"column": 3.4, "page": 7.0}
"""Widths of one column and of a page in a two-column paper, in inches."""
SUFFIXES = (".png", ".pdf", ".svg")
PERCENTILES = ("p50", "p95", "p99", "mean", "max")
MAX_STEPS = 4_000
"""Maximum number of steps of a curve; longer curves are thinned."""
_DASHES = ("-", "--", "-.", ":")


def cdf(
    results: Mapping[str, Measurements],
    what: str = "slowdown",
    of: str | None = None,
    *,
    tail: bool = False,
    width: str = "column",
) -> Figure:
    """Draws the distribution of a measure in each of several results.

    Parameters
    ----------
    results : mapping of labels to results
        Results in the order of the legend.
    what : str, default "slowdown"
        A distribution of `Result.cdf`.
    of : str, optional
        Flow, entry of transfers or queue. Default: the only one that all results have.
    tail : bool, default False
        Draws the complementary distribution (share above each value) on logarithmic axes.
    width : {"column", "page"}
        Width of the picture: 3.4 or 7 inches.

    Raises
    ------
    ArgumentError
        If there are no results, or `of` is missing and ambiguous.
    UnknownNameError
        If a result has no such distribution.
    """
    _at_least_one(results)
    of = of or _only(results, what)
    curves = {label: result.cdf(what, of) for label, result in results.items()}
    known = [values[np.isfinite(values)] for values, _ in curves.values()]
    unit = what.rpartition("_")[2]
    scale = scale_of(unit if unit in ("ns", "bytes") else "", [float(one.max(initial=0.0)) for one in known])
    figure, axes = _empty(width)
    with style():
        for nth, (label, (values, shares)) in enumerate(curves.items()):
            x, y = _thinned(values / scale.size, 1.0 - shares if tail else shares, tail=tail)
            axes.step(x, y, where="post", label=label, color=_color(nth), linestyle=_dashes(nth))
        if tail:
            axes.set_yscale("log")
        if tail or _is_wide(known):
            axes.set_xscale("log")
            _plain_ticks(axes)
        else:
            axes.set_ylim(0.0, 1.02)
        axes.set_ylabel("share above" if tail else "cumulative share")
        text = f" ({scale.unit})" if scale.unit else ""
        axes.set_xlabel(f"{what.rpartition('_')[0] or what} of {of}{text}")
        axes.legend(loc="upper right" if tail else "lower right")
    return figure


def sizes(
    results: Mapping[str, Measurements],
    of: str | None = None,
    *,
    percentile: str = "p99",
    width: str = "column",
) -> Figure:
    """Draws the slowdown of transfers by size in each of several results.

    Parameters
    ----------
    results : mapping of labels to results
        Results in the order of the legend.
    of : str, optional
        Entry of the scenario. Default: all transfers.
    percentile : {"p50", "p95", "p99", "mean", "max"}
        Statistic of each size bin, which has a twentieth of the transfers.
    width : {"column", "page"}
        Width of the picture: 3.4 or 7 inches.

    Raises
    ------
    ArgumentError
        If there are no results, `percentile` is unknown, or a result has no complete transfer.
    """
    _at_least_one(results)
    if percentile not in PERCENTILES:
        raise ArgumentError(f"percentile is {percentile!r}; {suggestion(percentile, PERCENTILES)}")
    figure, axes = _empty(width)
    with style():
        for nth, (label, result) in enumerate(results.items()):
            bins = size_bins(result, name=of) if "transfers" in result.table_names else []
            if not bins:
                raise ArgumentError(f"{label}: no complete transfer{f' of {of}' if of else ''}")
            axes.plot(
                [one.bytes_max for one in bins],
                [getattr(one, percentile) for one in bins],
                label=label,
                color=_color(nth),
                linestyle=_dashes(nth),
                marker="o",
                markersize=2.5,
            )
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.xaxis.set_major_locator(LogLocator(base=2, numticks=6))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: size(value)))
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.yaxis.set_minor_formatter(NullFormatter())
        axes.set_ylim(bottom=1.0)
        axes.set_xlabel(f"transfer size{f' ({of})' if of else ''}")
        axes.set_ylabel(f"slowdown, {percentile}")
        axes.legend(loc="best")
    return figure


def save_as(figure: Figure, path: str | PathLike[str]) -> Path:
    """Writes a picture in the format of its suffix. Output is deterministic.

    Raises
    ------
    InputError
        If the suffix is not ``.png``, ``.pdf`` or ``.svg``.
    """
    path = Path(path)
    if path.suffix.lower() not in SUFFIXES:
        raise InputError(f"{path}: expected a file that ends in {', '.join(SUFFIXES)}")
    path.parent.mkdir(parents=True, exist_ok=True)
    dated = {".png": {"Software": None}, ".pdf": {"CreationDate": None}, ".svg": {"Date": None}}
    with style(), mpl.rc_context({"savefig.dpi": 300}):
        figure.savefig(path, metadata=dated[path.suffix.lower()])
    return path


def _at_least_one(results: Mapping[str, Measurements]) -> None:
    if not results:
        raise ArgumentError("results is empty; expected at least one result")


def _only(results: Mapping[str, Measurements], what: str) -> str:
    """Returns the only flow or entry of transfers that all results have."""
    table, column = ("flows", "flow") if what == "latency_ns" else ("transfers", "name")
    names: list[str] | None = None
    for label, result in results.items():
        if table not in result.table_names:
            raise ArgumentError(f"{label}: has no table {table}, which the distribution of {what!r} needs")
        own = list(dict.fromkeys(result.table(table)[column].to_pylist()))
        names = own if names is None else [name for name in names if name in own]
    if names is None or len(names) != 1:
        if not names:
            raise ArgumentError(f"{what}: the results have no name in common")
        raise ArgumentError(f"{what}: `of` is missing; expected one of {', '.join(names[:12])}")
    return names[0]


def _empty(width: str) -> tuple[Figure, Axes]:
    if width not in WIDTHS:
        raise ArgumentError(f"width is {width!r}; {suggestion(width, list(WIDTHS))}")
    with style():
        figure = Figure(figsize=(WIDTHS[width], 2.4 if width == "column" else 3.4))
        return figure, figure.subplots()


def _color(nth: int) -> str:
    with style():
        palette = colors()
    return palette[nth % len(palette)]


def _dashes(nth: int) -> str:
    """Dash pattern, so that lines differ without color."""
    return _DASHES[nth % len(_DASHES)]


def _thinned(
    x: NDArray[np.float64], y: NDArray[np.float64], *, tail: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Removes infinite values and values without a logarithm, and thins long curves."""
    kept = np.isfinite(x) & (y > 0) if tail else np.isfinite(x)
    x, y = x[kept], y[kept]
    every = max(1, len(x) // MAX_STEPS)
    chosen = np.union1d(np.arange(0, len(x), every), [len(x) - 1]) if len(x) else np.arange(0)
    return x[chosen], y[chosen]


def _is_wide(known: list[NDArray[np.float64]]) -> bool:
    """True if values span more than a factor of 30."""
    low = min((float(one.min()) for one in known if len(one)), default=0.0)
    high = max((float(one.max()) for one in known if len(one)), default=0.0)
    return low > 0 and high > 30 * low


def _plain_ticks(axes: Axes) -> None:
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0), numticks=7))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
