"""The search for the fair weight: runs of the switch, bisection, and a cache of finished runs.

The source found its weights "through an iterative process", section 6.2; so do we, using only measured
throughputs. The closed form of `billing` is compared with the result and is not part of the search.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from penstock.errors import StudyError
from penstock.scenario import Scenario

from .billing import Metric

CLASSES = 8
UNIT = 100_000
"""A weight of 1: weights are whole numbers in a scenario."""
TOLERANCE = 5e-4
"""Relative difference below which throughputs count as equal."""
FINEST = 2e-5
"""Relative difference below which weights count as equal."""
WORKERS = 2

Key = TypeVar("Key")
Value = TypeVar("Value")


class Ledger:
    """Cache of the throughputs of all runs, shared by several experiments."""

    def __init__(self) -> None:
        self._known: dict[str, dict[str, dict[str, float]]] = {}

    def throughputs(self, scenario: Scenario) -> dict[str, dict[str, float]]:
        """Throughput of each flow in b/s, by metric; cached if the scenario has been run."""
        text = scenario.to_toml()
        if text not in self._known:
            rows = scenario.run().rows("flows")
            self._known[text] = {
                row["flow"]: {"frame": row["throughput_bps"], "payload": row["goodput_bps"]} for row in rows
            }
        return self._known[text]


@dataclass(frozen=True)
class Found:
    """A fair weight.

    Attributes
    ----------
    weight : float
        Weight relative to that of the large frames.
    ratio : float
        Throughput of the small frames divided by that of the large ones, with this weight.
    runs : int
        Number of runs.
    """

    weight: float
    ratio: float
    runs: int


def weighted(scenario: Scenario, weights: Sequence[float]) -> Scenario:
    """The scenario with these weights for its first classes, and 1 for the others."""
    whole = [round(weight * UNIT) for weight in [*weights, *[1.0] * (CLASSES - len(weights))]]
    return scenario.with_value("switch.scheduler.drr.weights", whole)


def ratio_of(ledger: Ledger, scenario: Scenario, metric: Metric, weight: float) -> float:
    """Throughput of flow "small" divided by that of "large", for a weight of the small frames."""
    got = ledger.throughputs(weighted(scenario, [1.0, weight]))
    return got["small"][metric] / got["large"][metric]


def fair_weight(ledger: Ledger, scenario: Scenario, metric: Metric) -> Found:
    """Bisects the weight of the small frames until both streams have the same throughput.

    Raises
    ------
    StudyError
        If there is no such weight between 1/64 and 64.
    """
    tried = 0

    def ratio(weight: float) -> float:
        nonlocal tried
        tried += 1
        return ratio_of(ledger, scenario, metric, weight)

    # A first run estimates the weight; then both ends of the interval are verified.
    guess = 1.0 / ratio(1.0)
    low, high, step = guess, guess, 1.02
    while ratio(low) > 1.0:
        low, step = low / step, step**2
        if low < 1 / 64:
            raise StudyError("the small frames have more throughput than the large ones with any weight")
    step = 1.02
    while ratio(high) < 1.0:
        high, step = high * step, step**2
        if high > 64:
            raise StudyError("the small frames have less throughput than the large ones with any weight")
    while True:
        middle = (low + high) / 2
        found = ratio(middle)
        if abs(found - 1.0) < TOLERANCE or high - low < FINEST * middle:
            return Found(middle, found, tried)
        low, high = (middle, high) if found < 1.0 else (low, middle)


def fair_weights(ledger: Ledger, scenario: Scenario, flows: Sequence[str], metric: Metric) -> list[float]:
    """The weights of several small streams at once: each is corrected until all throughputs are equal.

    Raises
    ------
    StudyError
        If they are not equal after 20 steps.
    """
    weights = [1.0] * len(flows)
    for _ in range(20):
        got = ledger.throughputs(weighted(scenario, [1.0, *weights]))
        ratios = [got[flow][metric] / got["large"][metric] for flow in flows]
        if all(abs(ratio - 1.0) < TOLERANCE for ratio in ratios):
            return weights
        weights = [weight / ratio for weight, ratio in zip(weights, ratios, strict=True)]
    raise StudyError(f"no weights of {', '.join(flows)} make all throughputs equal; the last were {weights}")


def each(
    keys: Iterable[Key], work: Callable[[Key], Value], report: Callable[[Key, Value], None]
) -> dict[Key, Value]:
    """Runs `work` for each key in parallel; calls `report` with each result, in order."""
    wanted = list(keys)
    pool = ThreadPoolExecutor(WORKERS)
    try:
        found = {}
        for key, value in zip(wanted, pool.map(work, wanted), strict=True):
            report(key, value)
            found[key] = value
        return found
    finally:
        pool.shutdown(wait=True, cancel_futures=True)  # on Ctrl-C, waits only for runs in progress
