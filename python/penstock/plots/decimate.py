"""Fewer points that look the same: long series are drawn as the envelope of their bins."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Times = npt.NDArray[np.int64]
Values = npt.NDArray[np.float64]
Span = tuple[float, float]


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
    chosen = np.unique(np.concatenate(ends))
    return t[chosen], v[chosen]


@lru_cache(maxsize=4)
def _places(length: int, bins: int) -> npt.NDArray[np.int64]:
    """The places in each of some bins of nearly equal length, a row a bin; shorter ones repeat their last."""
    edges = np.linspace(0, length, bins + 1).astype(np.int64)
    widest = int(np.diff(edges).max())
    places: npt.NDArray[np.int64] = np.minimum(edges[:-1, None] + np.arange(widest), edges[1:, None] - 1)
    return places


def merge_bins(
    times: npt.ArrayLike, values: npt.ArrayLike, most: int, *, largest: bool = False
) -> tuple[Times, Values]:
    """At most `most` bins, each the mean (or the largest) of equally many bins next to each other.

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
    firsts = np.arange(0, len(v), -(-len(v) // most))
    if largest:
        return t[firsts], np.maximum.reduceat(v, firsts)
    return t[firsts], np.add.reduceat(v, firsts) / np.diff(np.append(firsts, len(v)))


def spans_by(pauses: pa.Table, same: list[str], end_ns: float) -> dict[tuple[Any, ...], list[Span]]:
    """Begin and end of the pauses that have the same values in these columns, in the order of the table.

    Parameters
    ----------
    pauses : pyarrow.Table
        The table ``pauses`` of a result.
    same : list of str
        Names of its columns.
    end_ns : float
        When those end that have no end: with the run.
    """
    ends = pauses["end_ns"].to_numpy()
    ends = np.where(np.isnan(ends), end_ns, ends)
    spans: dict[tuple[Any, ...], list[Span]] = defaultdict(list)
    keys = zip(*(pauses[name].to_pylist() for name in same), strict=True)
    for key, start, end in zip(keys, pauses["start_ns"].to_numpy().tolist(), ends.tolist(), strict=True):
        spans[key].append((start, end))
    return spans


def merge_spans(spans: Iterable[Span], gap: float) -> list[Span]:
    """Spans in order of time, those less than `gap` apart drawn together, in the unit of the spans."""
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start - merged[-1][1] < gap:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged
