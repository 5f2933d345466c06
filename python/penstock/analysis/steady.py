"""Steady state of a single run: end of the warm-up, and precision of the mean after it.

Source: K. P. White, M. J. Cobb, S. C. Spratt, "A comparison of five steady-state truncation heuristics for
simulation", WSC 2000 (MSER-5); A. M. Law, "Simulation Modeling and Analysis", 5th ed., section 9.5.3 (batch
means). Not modelled: series whose bins have different lengths; cycles longer than the series.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from penstock.errors import ArgumentError

from .statistics import Interval, student_t_interval

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

MSER_BATCH = 5
BATCHES = 20
"""Law: a few long batches are nearly independent; with fewer than ten the interval is wide."""
LEAST_VALUES = 40
"""Minimum length of a series: eight batches of five."""


@dataclass(frozen=True)
class Steady:
    """The steady state of a series.

    Attributes
    ----------
    warmup : int
        Number of values to discard.
    is_settled : bool
        True if the warm-up ends in the first half. Otherwise the series is too short or has no steady state.
    interval : Interval
        Confidence interval of the mean of the remaining values, by batch means.
    correlation : float
        Correlation of consecutive batch means, -1 to 1; if far above 0, the interval is too narrow.
    """

    warmup: int
    is_settled: bool
    interval: Interval
    correlation: float


def steady(values: ArrayLike, *, confidence: float = 0.95) -> Steady:
    """Finds the warm-up of a series by MSER-5, and the mean of the rest with its confidence interval.

    Parameters
    ----------
    values : array of float
        Equidistant in time, at least `LEAST_VALUES`.
    confidence : float
        Two-sided confidence level. Default 0.95.

    Raises
    ------
    ArgumentError
        If there are too few values, or one is not finite.
    """
    series = _series(values)
    warmup = mser5(series)
    rest = series[warmup:]
    interval, correlation = batch_means(rest, confidence=confidence)
    return Steady(warmup, _least(series)[1], interval, correlation)


def mser5(values: ArrayLike) -> int:
    """Returns the number of values to discard by the MSER-5 rule.

    Averages batches of five values. Among all truncations that keep at least half of the batches, selects the
    one with the minimum of ``sum (y - mean)² / n²`` over the rest.

    Raises
    ------
    ArgumentError
        If there are fewer than `LEAST_VALUES` values, or one is not finite.
    """
    return _least(_series(values))[0] * MSER_BATCH


def batch_means(
    values: ArrayLike, *, batches: int = BATCHES, confidence: float = 0.95
) -> tuple[Interval, float]:
    """Confidence interval of the mean of a correlated series, from means of consecutive batches.

    Parameters
    ----------
    values : array of float
        Values after the warm-up. If batches do not divide them evenly, the first few are discarded.
    batches : int
        Number of batches, at least 2. Default 20.
    confidence : float
        Two-sided confidence level. Default 0.95.

    Returns
    -------
    interval : Interval
        Student's t interval over the batch means.
    correlation : float
        Correlation of consecutive batch means; NaN if they are all equal.

    Raises
    ------
    ArgumentError
        If there are fewer values than batches, or one is not finite.
    """
    series = np.asarray(values, dtype=np.float64)
    if batches < 2 or len(series) < batches or not np.isfinite(series).all():
        raise ArgumentError(
            f"{len(series)} values in {batches} batches; expected at least 2, with a finite value each"
        )
    size = len(series) // batches
    means = series[len(series) - size * batches :].reshape(batches, size).mean(axis=1)
    return student_t_interval(means.tolist(), confidence), _correlation(means)


def _series(values: ArrayLike) -> NDArray[np.float64]:
    series = np.asarray(values, dtype=np.float64)
    if len(series) < LEAST_VALUES or not np.isfinite(series).all():
        raise ArgumentError(f"a series of {len(series)} values; expected at least {LEAST_VALUES}, all finite")
    return series


def _least(series: NDArray[np.float64]) -> tuple[int, bool]:
    """Best truncation, in batches of five, and true if it is in the first half."""
    batches = len(series) // MSER_BATCH
    means = series[: batches * MSER_BATCH].reshape(batches, MSER_BATCH).mean(axis=1)
    # Cumulative sums from the end. The mean is subtracted to avoid cancellation of the squares.
    backwards = (means - means.mean())[::-1]
    count = np.arange(1, batches + 1)
    sums, squares = np.cumsum(backwards), np.cumsum(backwards**2)
    score = ((squares - sums**2 / count) / count**2)[::-1]
    # The last few values always have a small spread, so White excludes them.
    best = int(np.argmin(score[: batches - MSER_BATCH]))
    half = batches // 2
    return int(np.argmin(score[: half + 1])), best <= half


def _correlation(means: Sequence[float] | NDArray[np.float64]) -> float:
    off = np.asarray(means) - np.mean(means)
    total = float(np.sum(off**2))
    return float(np.sum(off[1:] * off[:-1])) / total if total > 0 else math.nan
