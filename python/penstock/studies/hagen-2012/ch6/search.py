"""The search for the fair weight: runs of the switch, bisection, and a ledger of what has been run.

The source found its weights "through an iterative process", section 6.2; so do we, with nothing but measured
throughputs. The closed form of `billing` is held against the result and is no part of the search.
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
"""Weights are whole numbers in a scenario: this is 1."""
TOLERANCE = 5e-4
"""Throughputs that differ by less than this part are equal."""
FINEST = 2e-5
"""Weights that differ by less than this part are not told apart."""
WORKERS = 2

Key = TypeVar("Key")
Value = TypeVar("Value")


class Ledger:
    """Throughputs of all runs so far: several experiments ask for the same."""

    def __init__(self) -> None:
        self._known: dict[str, dict[str, dict[str, float]]] = {}

    def throughputs(self, scenario: Scenario) -> dict[str, dict[str, float]]:
        """Throughput of each flow in b/s, by metric; from the ledger if it is there."""
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
        Over that of the large frames.
    ratio : float
        Throughput of the small frames over that of the large ones, with it.
    runs : int
        How many runs it took.
    """

    weight: float
    ratio: float
    runs: int


def weighted(scenario: Scenario, weights: Sequence[float]) -> Scenario:
    """The scenario with these weights of its first classes, the others 1."""
    whole = [round(weight * UNIT) for weight in [*weights, *[1.0] * (CLASSES - len(weights))]]
    return scenario.with_value("switch.scheduler.drr.weights", whole)


def ratio_of(ledger: Ledger, scenario: Scenario, metric: Metric, weight: float) -> float:
    """Throughput of the flow "small" over that of "large" with a weight of the small frames."""
    got = ledger.throughputs(weighted(scenario, [1.0, weight]))
    return got["small"][metric] / got["large"][metric]


def fair_weight(ledger: Ledger, scenario: Scenario, metric: Metric) -> Found:
    """Bisects the weight of the small frames until both streams have the same throughput.

    Raises
    ------
    StudyError
        If no weight between 1/64 and 64 does that.
    """
    tried = 0

    def ratio(weight: float) -> float:
        nonlocal tried
        tried += 1
        return ratio_of(ledger, scenario, metric, weight)

    # A first run tells about where to look; both ends are then made sure of.
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
    """The weights of several small streams at once: each is corrected until all get the same.

    Raises
    ------
    StudyError
        If they do not within 20 steps.
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
    keys: Iterable[Key], work: Callable[[Key], Value], told: Callable[[Key, Value], None]
) -> dict[Key, Value]:
    """What `work` gives for each key, some at a time; `told` hears of each as it comes, in order."""
    wanted = list(keys)
    pool = ThreadPoolExecutor(WORKERS)
    try:
        found = {}
        for key, value in zip(wanted, pool.map(work, wanted), strict=True):
            told(key, value)
            found[key] = value
        return found
    finally:
        pool.shutdown(wait=True, cancel_futures=True)  # Ctrl-C waits for two short runs, not for all
