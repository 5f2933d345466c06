"""Series of any length for a page that zooms: as many points of the visible part as the page can draw.

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
"""Ratio of the points of a level to those of the next coarser one."""
LEAST = 2_000
"""Points of the coarsest level, at least."""
MOST_POINTS = 20_000
"""Points of a series in an answer, at most."""


class Pyramid:
    """A series at several levels: each holds the smallest and largest value of each bin of the level below.

    Parameters
    ----------
    times, values : numpy.ndarray
        The series in order of time.
    """

    def __init__(self, times: Times, values: Values) -> None:
        self.levels = [(times, values)]
        while len(times) > STEP * LEAST:
            times, values = envelope(times, values, len(times) // STEP)
            self.levels.append((times, values))

    def part(self, begin_ns: float, end_ns: float, points: int) -> tuple[Times, Values]:
        """At most this many points of an interval, preceded by the last point before it."""
        level = first = last = len(self.levels)
        while level > 0 and last - first < points:
            level -= 1
            times, values = self.levels[level]
            first = max(int(np.searchsorted(times, begin_ns, "right")) - 1, 0)
            last = int(np.searchsorted(times, end_ns, "right"))
        return envelope(times[first:last], values[first:last], points)


class Levels:
    """The series of a result, read on the first request.

    Parameters
    ----------
    directory : Path
        A saved result.
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
        """The JSON answer to a page: times and values of each entity that has such a series.

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
        with self._lock:  # each request has its own thread
            curve = self._curves.get(metric, {}).get(entity)
            if curve is None:
                return None
            key = metric, entity
            if key not in self._pyramids:
                self._pyramids[key] = Pyramid(*curve)
            return self._pyramids[key]
