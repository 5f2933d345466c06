"""Paired comparison of two sets of replications.

Runs with the same seed have the same traffic, so paired differences vary less than the runs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.measurements import known

from .statistics import Interval, student_t_interval
from .transfers import measures, totals

if TYPE_CHECKING:
    from penstock.measurements import Measurements

FLOW_METRICS = ("throughput_bps", "frames_dropped", "latency_mean_ns", "latency_p99_ns")


@dataclass(frozen=True)
class Difference:
    """Change of a measure between two sets of replications.

    Attributes
    ----------
    name : str
        Flow, or entry of transfers.
    metric : str
        Name of the measure, such as ``"latency_p99_ns"``.
    first, second : float
        Means over the pairs.
    change : Interval
        Difference ``second - first``, over the pairs.
    """

    name: str
    metric: str
    first: float
    second: float
    change: Interval

    @property
    def is_certain(self) -> bool:
        """True if the interval excludes zero."""
        return self.change.low > 0 or self.change.high < 0


def differences(
    first: Mapping[int, Measurements], second: Mapping[int, Measurements], *, confidence: float = 0.95
) -> list[Difference]:
    """Returns the differences of all flows and transfers with known values in every pair.

    Parameters
    ----------
    first, second : mapping
        Results by seed; seeds in only one set are ignored.
    confidence : float
        Two-sided confidence level of the intervals. Default 0.95.
    """
    seeds = [seed for seed in first if seed in second]
    left = [_measures(first[seed]) for seed in seeds]
    right = [_measures(second[seed]) for seed in seeds]
    keys = dict.fromkeys(key for run in left for key in run)
    found = (_difference(key, left, right, confidence) for key in keys)
    return [one for one in found if one is not None]


Key = tuple[str, str]


def _difference(
    key: Key, left: Sequence[Mapping[Key, float]], right: Sequence[Mapping[Key, float]], confidence: float
) -> Difference | None:
    values = [(a.get(key, math.nan), b.get(key, math.nan)) for a, b in zip(left, right, strict=True)]
    known = [(a, b) for a, b in values if not (math.isnan(a) or math.isnan(b))]
    if not known:
        return None
    n = len(known)
    change = student_t_interval([b - a for a, b in known], confidence)
    return Difference(*key, math.fsum(a for a, _ in known) / n, math.fsum(b for _, b in known) / n, change)


def _measures(result: Measurements) -> dict[Key, float]:
    found: dict[Key, float] = {}
    for row in result.rows("flows"):
        for metric in FLOW_METRICS:
            found[row["flow"], metric] = known(row, metric)
    for entry in totals(result):
        for metric, value in measures(entry).items():
            found[entry.name, metric] = math.nan if value is None else value
    return found
