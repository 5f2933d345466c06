"""How many seeds a point needs: until the interval of a measure is narrow enough.

Source: A. M. Law, "Simulation Modeling and Analysis", 5th ed., section 9.4.1: the sequential procedure for a
relative error. The mean is off by at most the share that is asked for, if the half-width is at most
share / (1 + share) of it. Not modelled: that looking again and again makes the interval cover a little less
than it says.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from penstock.analysis.statistics import student_t_interval
from penstock.errors import ArgumentError

FIRST_RUNS = 10
"""Law: fewer do not know their own spread."""
MOST_RUNS = 1_000
"""For one point; a mean near zero would never be known to a share of itself."""
_TEXT = re.compile(r"\s*(\w+)\s+([0-9.]+)\s*%(?:\s+at\s+([0-9.]+)\s*%)?\s*")


@dataclass(frozen=True)
class Precision:
    """A measure, and how well it shall be known.

    Attributes
    ----------
    measure : str
        Its name.
    share : float
        Largest relative error of the mean, above 0 and below 1.
    confidence : float
        Two-sided, between 0 and 1.
    """

    measure: str
    share: float
    confidence: float

    @classmethod
    def read(cls, text: str, measures: Sequence[str]) -> Precision:
        """From a text such as ``"latency_p99_ns 5 % at 95 %"``; at 95 % if it does not say.

        Raises
        ------
        ArgumentError
            If it is another text, or there is no such measure.
        """
        match = _TEXT.fullmatch(text)
        if match is None:
            raise ArgumentError(f'"{text}": expected a measure and its width, such as "jain 5 % at 95 %"')
        if match[1] not in measures:
            raise ArgumentError(f'"{text}": no measure {match[1]}; there are {", ".join(measures)}')
        try:
            share, confidence = float(match[2]) / 100, float(match[3] or 95) / 100
        except ValueError:
            share = confidence = math.nan
        if not (0 < share < 1 and 0 < confidence < 1):
            raise ArgumentError(f'"{text}": expected shares above 0 % and below 100 %')
        return cls(match[1], share, confidence)

    def more(self, values: Sequence[float]) -> int:
        """How many more runs to make: 0 if the mean is known well enough, or `MOST_RUNS` have been made.

        As many as the spread so far asks for, at most twice as many as there are.
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
