"""Reduces long series to an envelope that looks the same when drawn."""

from __future__ import annotations

from functools import lru_cache
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock import arrow
from penstock.measurements import numpy_of

AnyNumber = TypeVar("AnyNumber", np.int64, np.float64)
Times = npt.NDArray[np.int64]
Values = npt.NDArray[np.float64]
Spans = npt.NDArray[np.float64]
"""Start and end of each span, one per row."""


def envelope(times: npt.ArrayLike, values: npt.ArrayLike, points: int) -> tuple[Times, Values]:
    """Reduces a series to at most `points` points, keeping the minimum and maximum of every bin.

    Parameters
    ----------
    times, values : array_like
        Times in ascending order, and values; same length.
    points : int
        Maximum number of points, at least 2. A shorter series is returned unchanged.

    Raises
    ------
    ValueError
        If `points` is below 2 or the lengths differ.
    """
    t = np.asarray(times, dtype=np.int64)
    v = np.asarray(values, dtype=np.float64)
    if points < 2:
        raise ValueError(f"{points} points; expected at least 2 for an envelope")
    if len(t) != len(v):
        raise ValueError(f"{len(t)} times for {len(v)} values; expected the same number")
    if len(t) <= points:
        return t, v
    places = _places(len(t), points // 2)
    bins = v[places]
    ends = [places[np.arange(len(places)), which(bins, axis=1)] for which in (np.argmin, np.argmax)]
    chosen = distinct(np.concatenate(ends))
    return t[chosen], v[chosen]


@lru_cache(maxsize=4)
def _places(length: int, bins: int) -> npt.NDArray[np.int64]:
    """Indexes in each of `bins` nearly equal bins, one bin per row; shorter bins repeat their last index."""
    edges = np.linspace(0, length, bins + 1).astype(np.int64)
    widest = int(np.diff(edges).max())
    places: npt.NDArray[np.int64] = np.minimum(edges[:-1, None] + np.arange(widest), edges[1:, None] - 1)
    return places


def distinct(values: npt.NDArray[AnyNumber]) -> npt.NDArray[AnyNumber]:
    """Returns the unique values in ascending order. ``numpy.unique`` would import ``numpy.ma``."""
    ordered = np.sort(values, axis=None)
    found: npt.NDArray[AnyNumber] = ordered[np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)]]
    return found


def merge_bins(
    times: npt.ArrayLike, values: npt.ArrayLike, most: int, *, largest: bool = False
) -> tuple[Times, Values]:
    """Merges adjacent bins into at most `most` bins of equal width, by mean or maximum.

    The last bin is narrower; if it would have less than half the width, it is merged into the one before.

    Parameters
    ----------
    times, values : array_like
        Start times of the bins in order, and their values. Not empty.
    most : int
        Maximum number of bins. A shorter series is returned unchanged.
    largest : bool
        Uses the maximum instead of the mean. Default false.
    """
    t = np.asarray(times, dtype=np.int64)
    v = np.asarray(values, dtype=np.float64)
    each = -(-len(v) // most)
    firsts = np.arange(0, len(v), each)
    if len(firsts) > 1 and 2 * (len(v) - firsts[-1]) < each:
        firsts = firsts[:-1]
    if largest:
        return t[firsts], np.maximum.reduceat(v, firsts)
    return t[firsts], np.add.reduceat(v, firsts) / np.diff(np.append(firsts, len(v)))


def rows_by(table: pa.Table, same: list[str]) -> list[npt.NDArray[np.int64]]:
    """Groups row numbers by the values of these columns, in order of first appearance."""
    if table.num_rows == 0:
        return []
    numbers = np.zeros(table.num_rows, dtype=np.int64)
    for name in same:
        of_column, values = arrow.codes(table[name])
        # Compact the codes, since products of several columns leave gaps; null has code -1.
        numbers = np.unique(numbers * (len(values) + 1) + of_column + 1, return_inverse=True)[1]
    order = np.argsort(numbers, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(numbers[order])) + 1)
    return sorted(groups, key=lambda rows: int(rows[0]))


def spans_of(pauses: pa.Table, end_ns: float) -> Spans:
    """Start and end of each row of the table ``pauses``; a pause without an end lasts until `end_ns`."""
    ends = numpy_of(pauses["end_ns"])
    return np.column_stack([numpy_of(pauses["start_ns"]), np.where(np.isnan(ends), end_ns, ends)])


def lasting(spans: Spans, groups: list[npt.NDArray[np.int64]]) -> Values:
    """Total duration of the spans of each group of rows."""
    if not groups:
        return np.empty(0)
    lengths = (spans[:, 1] - spans[:, 0])[np.concatenate(groups)]
    firsts = np.append(0, np.cumsum([len(rows) for rows in groups])[:-1])
    lasted: Values = np.add.reduceat(lengths, firsts)
    return lasted


def merge_spans(spans: Spans, gap: float) -> Spans:
    """Sorts spans and merges those less than `gap` apart; `gap` has the unit of the spans."""
    return merge_groups(spans, np.zeros(len(spans), dtype=np.int64), gap)[0]


def merge_groups(
    spans: Spans, group: npt.NDArray[np.int64], gap: float
) -> tuple[Spans, npt.NDArray[np.int64]]:
    """Merges the spans of each group separately; returns the spans and the group number of each."""
    if len(spans) == 0:
        return spans, group
    order = np.lexsort((spans[:, 1], spans[:, 0], group))
    starts, ends, of = spans[order, 0], spans[order, 1], group[order]
    # Handles all groups in one pass by shifting each group behind the previous one.
    low, high = float(starts.min()), float(ends.max())
    later = of * (2.0 * (high - low) + gap)
    latest = np.maximum.accumulate(ends - low + later)
    apart = starts[1:] - low + later[1:] - latest[:-1] >= gap
    firsts = np.append(0, np.flatnonzero(apart | (of[1:] != of[:-1])) + 1)
    return np.column_stack([starts[firsts], np.maximum.reduceat(ends, firsts)]), of[firsts]
