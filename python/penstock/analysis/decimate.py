"""Fewer points that look the same: long series are drawn as the envelope of their bins."""

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
"""Begins and ends, a row each."""


def envelope(times: npt.ArrayLike, values: npt.ArrayLike, points: int) -> tuple[Times, Values]:
    """At most `points` points that keep every bin's smallest and largest value at their own times.

    Parameters
    ----------
    times, values : array_like
        A series in order of time, of the same length.
    points : int
        The most points wanted, at least 2. A shorter series is returned as it is.

    Raises
    ------
    ValueError
        If `points` is below 2 or the lengths differ.
    """
    t = np.asarray(times, dtype=np.int64)
    v = np.asarray(values, dtype=np.float64)
    if points < 2:
        raise ValueError(f"an envelope needs at least 2 points, got {points}")
    if len(t) != len(v):
        raise ValueError(f"{len(t)} times but {len(v)} values")
    if len(t) <= points:
        return t, v
    places = _places(len(t), points // 2)
    bins = v[places]
    ends = [places[np.arange(len(places)), which(bins, axis=1)] for which in (np.argmin, np.argmax)]
    chosen = distinct(np.concatenate(ends))
    return t[chosen], v[chosen]


@lru_cache(maxsize=4)
def _places(length: int, bins: int) -> npt.NDArray[np.int64]:
    """The places in each of some bins of nearly equal length, a row a bin; shorter ones repeat their last."""
    edges = np.linspace(0, length, bins + 1).astype(np.int64)
    widest = int(np.diff(edges).max())
    places: npt.NDArray[np.int64] = np.minimum(edges[:-1, None] + np.arange(widest), edges[1:, None] - 1)
    return places


def distinct(values: npt.NDArray[AnyNumber]) -> npt.NDArray[AnyNumber]:
    """Each number once, in ascending order. ``numpy.unique`` would import ``numpy.ma`` for this."""
    ordered = np.sort(values, axis=None)
    found: npt.NDArray[AnyNumber] = ordered[np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)]]
    return found


def merge_bins(
    times: npt.ArrayLike, values: npt.ArrayLike, most: int, *, largest: bool = False
) -> tuple[Times, Values]:
    """At most `most` bins, each the mean (or the largest) of equally many bins next to each other.

    The last one has fewer, or more if less than half of a bin would be left.

    Parameters
    ----------
    times, values : array_like
        Starts of the bins, in order, and their values. Not empty.
    most : int
        The most bins wanted. A shorter series is returned as it is.
    largest : bool
        Whether a merged bin has the largest value instead of the mean. Default false.
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
    """The rows that have the same values in these columns, in order; in the order of the first of each."""
    if table.num_rows == 0:
        return []
    numbers = np.zeros(table.num_rows, dtype=np.int64)
    for name in same:
        of_column, values = arrow.codes(table[name])
        # Without the gaps that products of several columns would have; what is null has the number -1.
        numbers = np.unique(numbers * (len(values) + 1) + of_column + 1, return_inverse=True)[1]
    order = np.argsort(numbers, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(numbers[order])) + 1)
    return sorted(groups, key=lambda rows: int(rows[0]))


def spans_of(pauses: pa.Table, end_ns: float) -> Spans:
    """Begin and end of each pause of a table ``pauses``; one without an end lasts until `end_ns`."""
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
    """Spans in order of time, those less than `gap` apart drawn together, in the unit of the spans."""
    return merge_groups(spans, np.zeros(len(spans), dtype=np.int64), gap)[0]


def merge_groups(
    spans: Spans, group: npt.NDArray[np.int64], gap: float
) -> tuple[Spans, npt.NDArray[np.int64]]:
    """The spans of each of some groups, numbered from 0, merged for themselves; and of which it is."""
    if len(spans) == 0:
        return spans, group
    order = np.lexsort((spans[:, 1], spans[:, 0], group))
    starts, ends, of = spans[order, 0], spans[order, 1], group[order]
    # All groups at once, as if each were later than those before it.
    low, high = float(starts.min()), float(ends.max())
    later = of * (2.0 * (high - low) + gap)
    latest = np.maximum.accumulate(ends - low + later)
    apart = starts[1:] - low + later[1:] - latest[:-1] >= gap
    firsts = np.append(0, np.flatnonzero(apart | (of[1:] != of[:-1])) + 1)
    return np.column_stack([starts[firsts], np.maximum.reduceat(ends, firsts)]), of[firsts]
