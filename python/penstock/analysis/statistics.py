"""Statistics: confidence intervals over replications, fairness, dispersion."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from penstock.errors import ArgumentError


@dataclass(frozen=True)
class Interval:
    """A mean with the half-width of its confidence interval, in the unit of the values.

    Attributes
    ----------
    mean : float
        Arithmetic mean.
    half_width : float
        The true mean lies within ``mean`` ± ``half_width`` with probability ``confidence``; NaN for fewer
        than two values.
    n : int
        Number of values.
    confidence : float
        Two-sided, between 0 and 1.
    """

    mean: float
    half_width: float
    n: int
    confidence: float

    @property
    def low(self) -> float:
        """Lower end."""
        return self.mean - self.half_width

    @property
    def high(self) -> float:
        """Upper end."""
        return self.mean + self.half_width


def student_t_interval(values: Iterable[float], confidence: float = 0.95) -> Interval:
    """The Student-t confidence interval of the mean of independent values.

    Parameters
    ----------
    values : iterable of float
        One value per replication. NaN is ignored: a flow that received nothing has no latency.
    confidence : float
        Two-sided probability, between 0 and 1 (both excluded). Default 0.95.

    Raises
    ------
    ArgumentError
        If `confidence` is not between 0 and 1.

    Examples
    --------
    >>> import penstock as ps
    >>> ps.student_t_interval([9.9, 10.0, 10.3])
    Interval(mean=10.066666666666668, half_width=0.5171145012542269, n=3, confidence=0.95)
    """
    if not 0.0 < confidence < 1.0:
        raise ArgumentError(f"confidence is {confidence}; expected a number between 0 and 1, such as 0.95")
    known = [float(value) for value in values if not math.isnan(value)]
    n = len(known)
    if n == 0:
        return Interval(math.nan, math.nan, 0, confidence)
    mean = math.fsum(known) / n
    if n == 1:
        return Interval(mean, math.nan, 1, confidence)
    if min(known) == max(known):  # rounding of the mean would give a variance above 0
        return Interval(known[0], 0.0, n, confidence)
    from scipy.special import stdtrit  # importing scipy.stats would take a second

    sample_variance = math.fsum((value - mean) ** 2 for value in known) / (n - 1)
    t = float(stdtrit(n - 1, (1.0 + confidence) / 2.0))
    return Interval(mean, t * math.sqrt(sample_variance / n), n, confidence)


def clopper_pearson_interval(successes: int, trials: int, confidence: float = 0.95) -> tuple[float, float]:
    """The Clopper-Pearson confidence interval of the share of trials that succeed.

    Parameters
    ----------
    successes : int
        Number of successful trials, from 0 to `trials`.
    trials : int
        Number of independent trials, at least 1.
    confidence : float
        Two-sided probability, between 0 and 1 (both excluded). Default 0.95.

    Raises
    ------
    ArgumentError
        If a number is out of range.

    Examples
    --------
    >>> from penstock.analysis.statistics import clopper_pearson_interval
    >>> [round(end, 3) for end in clopper_pearson_interval(9, 10)]
    [0.555, 0.997]
    """
    if not 0.0 < confidence < 1.0:
        raise ArgumentError(f"confidence is {confidence}; expected a number between 0 and 1, such as 0.95")
    if trials < 1 or not 0 <= successes <= trials:
        raise ArgumentError(
            f"{successes} of {trials} trials; expected at least one trial, and no more successes"
        )
    from scipy.special import betaincinv

    tail = (1.0 - confidence) / 2.0
    low = 0.0 if successes == 0 else float(betaincinv(successes, trials - successes + 1, tail))
    high = 1.0 if successes == trials else float(betaincinv(successes + 1, trials - successes, 1.0 - tail))
    return low, high


def jain(values: Sequence[float]) -> float:
    """Jain's fairness index, from 1/n (one value is non-zero) to 1 (all are equal); 1 if all are zero.

    Raises
    ------
    ArgumentError
        If there are no values, or one is negative.

    Examples
    --------
    >>> import penstock as ps
    >>> ps.jain([1.0, 1.0, 2.0])
    0.8888888888888888
    """
    if len(values) == 0:
        raise ArgumentError("no values; expected at least one for a fairness index")
    if min(values) < 0:
        raise ArgumentError(f"fairness needs values of at least 0, got {min(values)}")
    largest = max(values)
    if largest == 0:
        return 1.0
    scaled = [value / largest for value in values]  # avoids overflow of the squares
    return math.fsum(scaled) ** 2 / (len(scaled) * math.fsum(value * value for value in scaled))


def population_stddev(values: Sequence[float]) -> float:
    """Population standard deviation; NaN without values."""
    if len(values) == 0:
        return math.nan
    mean = math.fsum(values) / len(values)
    return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / len(values))
