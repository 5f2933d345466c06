"""Steady state from one run: where the warm-up ends, and how well the mean of what follows is known.

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
"""Law: few batches are long, and therefore nearly independent; with fewer than ten the interval is wide."""
LEAST_VALUES = 40
"""Fewer say nothing of a warm-up: eight batches of five."""


@dataclass(frozen=True)
class Steady:
    """The steady state of a series.

    Attributes
    ----------
    warmup : int
        Values to leave out.
    is_settled : bool
        Whether the warm-up ends in the first half; if not, the series is too short, or has no steady state.
    interval : Interval
        Of the mean of the rest, by batch means.
    correlation : float
        Between batch means that follow each other, -1 to 1; far above 0 the interval is too narrow.
    """

    warmup: int
    is_settled: bool
    interval: Interval
    correlation: float


def steady(values: ArrayLike, *, confidence: float = 0.95) -> Steady:
    """Finds the warm-up of a series by MSER-5, and the mean of the rest with its interval.

    Parameters
    ----------
    values : array of float
        At equal distances in time, at least `LEAST_VALUES`.
    confidence : float
        Two-sided probability of the interval. Default 0.95.

    Raises
    ------
    ArgumentError
        If there are fewer values, or one is not finite.
    """
    series = _series(values)
    warmup = mser5(series)
    rest = series[warmup:]
    interval, correlation = batch_means(rest, confidence=confidence)
    return Steady(warmup, _least(series)[1], interval, correlation)


def mser5(values: ArrayLike) -> int:
    """The number of values to leave out that makes the mean of the rest best known.

    Means of five values each; of all truncations that leave at least half of them, the one whose rest has the
    least ``sum (y - mean)² / n²``.

    Raises
    ------
    ArgumentError
        If there are fewer than `LEAST_VALUES` values, or one is not finite.
    """
    return _least(_series(values))[0] * MSER_BATCH


def batch_means(
    values: ArrayLike, *, batches: int = BATCHES, confidence: float = 0.95
) -> tuple[Interval, float]:
    """The interval of the mean of a correlated series, from the means of consecutive batches.

    Parameters
    ----------
    values : array of float
        Without a warm-up. The first few are left out if the batches do not come out even.
    batches : int
        How many, at least 2. Default 20.
    confidence : float
        Two-sided probability. Default 0.95.

    Returns
    -------
    interval : Interval
        Student's, over the batches.
    correlation : float
        Between batch means that follow each other; NaN if they are all equal.

    Raises
    ------
    ArgumentError
        If there are fewer values than batches, or one is not finite.
    """
    series = np.asarray(values, dtype=np.float64)
    if batches < 2 or len(series) < batches or not np.isfinite(series).all():
        raise ArgumentError(
            f"{len(series)} values in {batches} batches; expected a finite one in each, at least 2"
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
    """The best truncation, in batches of five; true if it is in the first half."""
    batches = len(series) // MSER_BATCH
    means = series[: batches * MSER_BATCH].reshape(batches, MSER_BATCH).mean(axis=1)
    # Sums from the end; less the mean of all, so that their squares do not cancel.
    backwards = (means - means.mean())[::-1]
    count = np.arange(1, batches + 1)
    sums, squares = np.cumsum(backwards), np.cumsum(backwards**2)
    score = ((squares - sums**2 / count) / count**2)[::-1]
    # The last few always agree with each other: White leaves them out of the choice.
    best = int(np.argmin(score[: batches - MSER_BATCH]))
    half = batches // 2
    return int(np.argmin(score[: half + 1])), best <= half


def _correlation(means: Sequence[float] | NDArray[np.float64]) -> float:
    off = np.asarray(means) - np.mean(means)
    total = float(np.sum(off**2))
    return float(np.sum(off[1:] * off[:-1])) / total if total > 0 else math.nan
