"""Multi-resolution time series for zooming: as many points of the visible part as the page can draw.

A page holds about ten thousand points in all. ``penstock view`` returns the points of the visible part of
the run, from the coarsest level that has enough of them.
"""

from __future__ import annotations

import functools
import math
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from penstock.analysis.decimate import Times, Values, envelope
from penstock.report.groups import with_groups
from penstock.result import Result

STEP = 8
"""Ratio of the numbers of points in adjacent levels."""
LEAST = 2_000
"""Minimum number of points of the coarsest level."""
MOST_POINTS = 20_000
"""Maximum number of points of a series per response."""


class Pyramid:
    """A series at several resolutions; each bin of a level has the minimum and maximum of the level below.

    Parameters
    ----------
    times, values : numpy.ndarray
        Series in order of time.
    """

    def __init__(self, times: Times, values: Values) -> None:
        self.levels = [(times, values)]
        while len(times) > STEP * LEAST:
            times, values = envelope(times, values, len(times) // STEP)
            self.levels.append((times, values))

    def part(self, begin_ns: float, end_ns: float, points: int) -> tuple[Times, Values]:
        """Returns at most this many points of an interval, preceded by the last point before it."""
        level = first = last = len(self.levels)
        while level > 0 and last - first < points:
            level -= 1
            times, values = self.levels[level]
            first = max(int(np.searchsorted(times, begin_ns, "right")) - 1, 0)
            last = int(np.searchsorted(times, end_ns, "right"))
        return envelope(times[first:last], values[first:last], points)


class Levels:
    """Series of a result, read on the first request.

    Parameters
    ----------
    directory : Path
        Directory of a saved result.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._pyramids: dict[tuple[str, str], Pyramid] = {}
        self._lock = threading.Lock()

    @functools.cached_property
    def _curves(self) -> Any:
        return with_groups(Result.load(self._directory))

    def answer(
        self, metric: str, entities: Sequence[str], begin_ns: float, end_ns: float, points: int
    ) -> dict[str, Any]:
        """Returns the JSON response to a page: times and values of each entity with such a series.

        Raises
        ------
        ResultError
            If the result is not complete.
        """
        found: dict[str, Any] = {}
        for entity in entities:
            pyramid = self._pyramid(metric, entity)
            if pyramid is not None:
                times, values = pyramid.part(begin_ns, end_ns, min(max(points, 2), MOST_POINTS))
                known = [value if math.isfinite(value) else None for value in values.tolist()]
                found[entity] = {"time_ns": times.tolist(), "value": known}
        return {"metric": metric, "series": found}

    def _pyramid(self, metric: str, entity: str) -> Pyramid | None:
        with self._lock:  # requests are handled by separate threads
            curve = self._curves.get(metric, {}).get(entity)
            if curve is None:
                return None
            key = metric, entity
            if key not in self._pyramids:
                self._pyramids[key] = Pyramid(*curve)
            return self._pyramids[key]
