"""Sequential stopping: adds seeds to a point until the confidence interval of a measure is narrow enough.

Source: A. M. Law, "Simulation Modeling and Analysis", 5th ed., section 9.4.1: the sequential procedure for a
relative error. The relative error of the mean is at most ``share`` if the half-width is at most
share / (1 + share) of the mean. Not modelled: repeated tests reduce the coverage of the interval slightly
below its confidence level.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from penstock.analysis.statistics import student_t_interval
from penstock.errors import ArgumentError

FIRST_RUNS = 10
"""Initial number of runs; with fewer, the variance estimate is unreliable (Law)."""
MOST_RUNS = 1_000
"""Maximum number of runs per point; a mean near zero never reaches a relative precision."""
_TEXT = re.compile(r"\s*(\w+)\s+([0-9.]+)\s*%(?:\s+at\s+([0-9.]+)\s*%)?\s*")


@dataclass(frozen=True)
class Precision:
    """A measure and its required precision.

    Attributes
    ----------
    measure : str
        Name of the measure.
    share : float
        Largest relative error of the mean, above 0 and below 1.
    confidence : float
        Two-sided confidence level, between 0 and 1.
    """

    measure: str
    share: float
    confidence: float

    @classmethod
    def read(cls, text: str, measures: Sequence[str]) -> Precision:
        """Parses text such as ``"latency_p99_ns 5 % at 95 %"``. Default confidence: 95 %.

        Raises
        ------
        ArgumentError
            If the text has another form, or there is no such measure.
        """
        match = _TEXT.fullmatch(text)
        if match is None:
            raise ArgumentError(f'"{text}": expected a measure and its precision, such as "jain 5 % at 95 %"')
        if match[1] not in measures:
            raise ArgumentError(f'"{text}": no measure {match[1]}; expected one of {", ".join(measures)}')
        try:
            share, confidence = float(match[2]) / 100, float(match[3] or 95) / 100
        except ValueError:
            share = confidence = math.nan
        if not (0 < share < 1 and 0 < confidence < 1):
            raise ArgumentError(f'"{text}": expected shares above 0 % and below 100 %')
        return cls(match[1], share, confidence)

    def more(self, values: Sequence[float]) -> int:
        """Returns the number of runs to add; 0 if the precision or `MOST_RUNS` is reached.

        Estimated from the variance so far, and at most twice the number of existing runs.
        """
        interval = student_t_interval(values, self.confidence)
        wanted = self.share / (1 + self.share) * abs(interval.mean)
        if interval.n >= 2 and interval.half_width <= wanted:
            return 0
        runs = len(values)
        needed = 2 * runs
        if wanted > 0 and math.isfinite(interval.half_width):
            needed = min(needed, math.ceil(runs * (interval.half_width / wanted) ** 2))
        return min(max(needed, runs + 1), MOST_RUNS) - runs if runs < MOST_RUNS else 0
