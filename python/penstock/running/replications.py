"""Runs a scenario with several seeds and computes confidence intervals."""

from __future__ import annotations

import json
import math
import os
import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from penstock import _core, arrow, storage
from penstock.analysis import connections, transfers
from penstock.analysis.statistics import Interval, student_t_interval
from penstock.analysis.verdict import Verdict, together
from penstock.errors import ResultError, SimulationError
from penstock.library import Source
from penstock.measurements import html_table, known
from penstock.result import Result, checked

from .arguments import MAX_SEED, seed_of, whole
from .engine import Progress, ProgressCallback, Runnable, engine_errors, run_source, source_of

FLOW_METRICS = (
    "offered_bps",
    "throughput_bps",
    "goodput_bps",
    "frames_dropped",
    "latency_mean_ns",
    "latency_p99_ns",
    "latency_max_ns",
    "jitter_ns",
    "throughput_stddev_bps",
)
TIME_METRICS = ("completed_ns", "exchange_mean_ns", "exchange_p99_ns")
"""Measures of connections."""
MAX_REPLICATIONS = 100_000


@dataclass(frozen=True)
class FlowInterval:
    """Mean of a metric of a flow or an entry of transfers over all replications, with its interval."""

    flow: str
    metric: str
    interval: Interval


class Replications:
    """Results of a scenario with the seeds ``base``, ``base + 1``, ...

    Parameters
    ----------
    results : list of Result
        At least one, in order of seed.
    confidence : float
        Two-sided confidence level, between 0 and 1. Default 0.95.
    wanted : int, optional
        Number of requested replications. Default: the number of results.
    """

    def __init__(self, results: list[Result], *, confidence: float = 0.95, wanted: int | None = None) -> None:
        if not results:
            raise ResultError("replications need at least one result")
        self.results = results
        self.confidence = confidence
        self.wanted = len(results) if wanted is None else wanted

    @property
    def complete(self) -> bool:
        """True if all requested replications are complete."""
        return len(self.results) == self.wanted and all(result.complete for result in self.results)

    @property
    def verdict(self) -> Verdict:
        """Combined verdict on all replications."""
        named = [(f"seed {result.seed}", result.verdict) for result in self.results]
        return together(named, "replications")

    def intervals(self) -> list[FlowInterval]:
        """One interval per flow and metric, over the complete replications if there are any.

        Entries of transfers and connections also have intervals of their completion times.
        """
        whole = [result for result in self.results if result.complete] or self.results
        tables = [result.rows("flows") for result in whole]
        found = []
        for index, flow in enumerate(tables[0]):
            for metric in FLOW_METRICS:
                if metric in flow:
                    values = [known(rows[index], metric) for rows in tables]
                    found.append(
                        FlowInterval(flow["flow"], metric, student_t_interval(values, self.confidence))
                    )
        return [*found, *self._of_times(whole)]

    def _of_times(self, whole: list[Result]) -> Iterator[FlowInterval]:
        """Completion times of transfers and connections, over replications in which some completed."""
        values: dict[tuple[str, str], list[float]] = defaultdict(list)
        for result in whole:
            for entry in transfers.totals(result):
                for metric, value in transfers.measures(entry).items():
                    values[entry.name, metric].append(math.nan if value is None else value)
            for row in connections.rows(result):
                for metric in TIME_METRICS:
                    values[row["flow"], metric].append(known(row, metric))
        for (name, metric), every in values.items():
            if entries := [value for value in every if not math.isnan(value)]:
                yield FlowInterval(name, metric, student_t_interval(entries, self.confidence))

    def _repr_html_(self) -> str:
        """HTML for notebooks: means with their intervals."""
        return f"<p>{len(self.results)} replications</p>{html_table(self.table(), 'means')}"

    def table(self) -> pa.Table:
        """`intervals` as a table: flow, metric, mean, half_width, replications, confidence."""
        found = self.intervals()
        return arrow.table(
            {
                "flow": arrow.strings(entry.flow for entry in found),
                "metric": arrow.strings(entry.metric for entry in found),
                "mean": arrow.numbers([entry.interval.mean for entry in found], pa.float64(), null_nan=True),
                "half_width": arrow.numbers(
                    [entry.interval.half_width for entry in found], pa.float64(), null_nan=True
                ),
                "replications": arrow.numbers([entry.interval.n for entry in found], pa.int64()),
                "confidence": arrow.numbers([entry.interval.confidence for entry in found], pa.float64()),
            }
        )

    def summary(self) -> dict[str, Any]:
        """Seeds, fingerprints and intervals as JSON values."""
        return {
            "replications": len(self.results),
            "wanted": self.wanted,
            "confidence": self.confidence,
            "seeds": [result.seed for result in self.results],
            "fingerprints": [result.fingerprint for result in self.results],
            "complete": self.complete,
            "verdict": self.verdict.to_dict(),
            "intervals": self.table()
            .select(["flow", "metric", "mean", "half_width", "replications"])
            .to_pylist(),
        }

    def save(self, directory: str | PathLike[str], *, report: bool = True, pictures: bool = False) -> Path:
        """Writes a directory ``seed-K/`` for each replication, and the intervals. Atomic.

        Only the first replication has a report, and pictures if requested.

        Raises
        ------
        InputError
            If `directory` contains something that is not a result.
        OSError
            If it cannot be written; nothing is left.
        """
        target = Path(directory)
        with storage.complete_directory(target) as partial:
            for index, result in enumerate(self.results):
                own = partial / f"seed-{result.seed}"
                own.mkdir()
                result.write_into(own, report=report and index == 0, pictures=pictures and index == 0)
                storage.seal(own)
            storage.write_json(partial / "replications.json", self.summary())
            pq.write_table(self.table(), partial / "intervals.parquet")
        return target


def load_replications(directory: str | PathLike[str]) -> dict[int, Result] | None:
    """Returns the results of a saved set of replications by seed; ``None`` for a single run.

    Raises
    ------
    ResultError
        If the directory is not a complete result.
    """
    path = Path(directory)
    names = storage.verify(path)
    if "replications.json" not in names:
        return None
    seeds = checked.seeds(path / "replications.json")
    return {seed: Result.load(path / f"seed-{seed}") for seed in seeds}


def replicate(
    scenario: Runnable,
    replications: int,
    *,
    seed: int | None = None,
    confidence: float = 0.95,
    workers: int | None = None,
    progress: ProgressCallback | None = None,
) -> Replications:
    """Runs a scenario with the seeds ``seed``, ``seed + 1``, ...

    Parameters
    ----------
    scenario : Scenario, str or path
        A scenario, a file, or the name of a scenario in the package.
    replications : int
        Number of runs, at least 1.
    seed : int, optional
        First seed. Default: the seed of the scenario.
    confidence : float
        Two-sided confidence level, between 0 and 1. Default 0.95.
    workers : int, optional
        Number of concurrent runs, at least 1. Default: the number of processors.
    progress : callable, optional
        Called with the combined `Progress` of all runs. The runs end early if it returns ``False``.

    Raises
    ------
    ArgumentError
        If a number is not whole or out of range. The last seed is at most 2**64 - 1.
    ScenarioError, SimulationError
        As for `penstock.run`.
    """
    return replicate_source(
        source_of(scenario),
        replications,
        seed=seed,
        confidence=confidence,
        workers=workers,
        progress=progress,
    )


def replicate_source(
    source: Source,
    replications: int,
    *,
    seed: int | None = None,
    confidence: float = 0.95,
    workers: int | None = None,
    progress: ProgressCallback | None = None,
    broken: bool = False,
) -> Replications:
    """Replicates a parsed scenario. With `broken`, a run that breaks an invariant ends early."""
    replications = whole("replications", replications, 1, MAX_REPLICATIONS)
    workers = None if workers is None else whole("workers", workers, 1, MAX_REPLICATIONS)
    seed = seed_of(seed)
    if seed is None:
        with engine_errors():
            seed = int(
                json.loads(_core.effective_json(source.text, source.file, allow_files=source.allow_files))[
                    "simulation"
                ]["seed"]
            )
    whole("the last seed", seed + replications - 1, 0, MAX_SEED)
    together = _Together(replications, progress)
    at_a_time = min(workers or os.cpu_count() or 1, replications)

    def run_one(index: int) -> Result | None:
        if together.stopped:
            return None
        report = together.reporter(index)
        # One thread per run: other processors execute other replications.
        try:
            result = run_source(source, seed=seed + index, threads=1, beside=at_a_time, progress=report)
        except SimulationError as error:
            if not broken or error.result is None:
                raise
            together.stopped = True
            result = error.result
        report(Progress.of(result.run))  # short and cached runs have not reported progress
        return result

    # An invalid scenario is invalid for every seed: the first error cancels the other runs.
    with ThreadPoolExecutor(at_a_time) as pool:
        futures = [pool.submit(run_one, index) for index in range(replications)]
        try:
            results = [future.result() for future in futures]
        except BaseException:
            together.stopped = True
            raise
    done = [result for result in results if result is not None]
    return Replications(done, confidence=confidence, wanted=replications)


class _Together:
    """Sums the progress of runs on several threads; stopping one run stops all."""

    def __init__(self, runs: int, progress: ProgressCallback | None) -> None:
        self.stopped = False
        self._runs = runs
        self._progress = progress
        self._latest: dict[int, Progress] = {}
        self._lock = threading.Lock()

    def reporter(self, index: int) -> ProgressCallback:
        def report(progress: Progress) -> bool:
            with self._lock:
                self._latest[index] = progress
                together = self._sum(self._latest.values(), progress.warning)
                if self._progress is not None and self._progress(together) is False:
                    self.stopped = True
            return not self.stopped

        return report

    def _sum(self, parts: Iterable[Progress], warning: str | None) -> Progress:
        parts = list(parts)
        return Progress(
            simulated_s=sum(part.simulated_s for part in parts),
            duration_s=parts[0].duration_s * self._runs,
            frame_hops=sum(part.frame_hops for part in parts),
            events=sum(part.events for part in parts),
            wall_s=max(part.wall_s for part in parts),
            warning=warning,
        )
