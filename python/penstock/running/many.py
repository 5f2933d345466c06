"""Runs many scenarios in parallel: variants, seeds, sweeps."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import Executor, Future, as_completed
from os import PathLike
from pathlib import Path

from penstock.errors import ArgumentError
from penstock.library import Source
from penstock.result import Result

from . import cache
from .engine import Runnable, engine_errors, run_source, source_of
from .pool import cancel, processes

ManyProgress = Callable[[int, int], object]
"""Called with the number of finished runs and the total."""


def run_many(
    scenarios: Iterable[Runnable],
    *,
    executor: Executor | None = None,
    keep: str | PathLike[str] | None = None,
    progress: ManyProgress | None = None,
) -> list[Result]:
    """Runs scenarios in parallel and returns their results in the same order.

    Parameters
    ----------
    scenarios : iterable
        Scenarios, files or names; variants come from `Scenario.with_value`, such as
        ``[scenario.with_value("simulation.seed", seed) for seed in range(5)]``.
    executor : concurrent.futures.Executor, optional
        Executor; it is not shut down. Default: a process for each processor. Runs release the GIL, so a
        thread pool works as well.
    keep : path, optional
        Directory for finished runs. After an interruption or error, repeating the call reuses them.
        Default: none.
    progress : callable, optional
        Called in this thread as runs end, with the number of finished runs and the total.

    Returns
    -------
    list of Result

    Raises
    ------
    ScenarioError, SimulationError
        As for `penstock.run`; a note names the scenario. Runs that have not started are cancelled.
    InputError
        If a file or name does not exist.

    Examples
    --------
    >>> import penstock as ps
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> scenario = ps.Scenario.from_file("first-light")
    >>> seeds = [scenario.with_value("simulation.seed", seed) for seed in (1, 2)]
    >>> [result.seed for result in ps.run_many(seeds, executor=ThreadPoolExecutor(2))]
    [1, 2]
    """
    if isinstance(scenarios, str | bytes | PathLike) or not isinstance(scenarios, Iterable):
        raise ArgumentError(f"scenarios is {scenarios!r}; expected a list of scenarios")
    sources = [source_of(one) for one in scenarios]
    if executor is not None and not isinstance(executor, Executor):
        raise ArgumentError(f"executor is {executor!r}; expected a concurrent.futures.Executor")
    if progress is not None and not callable(progress):
        raise ArgumentError(f"progress is {progress!r}; expected a function of two numbers")
    directory = None if keep is None else Path(keep).absolute()
    if executor is not None:
        return _all(sources, executor, os.cpu_count() or 1, directory, progress)
    if not sources:
        return []
    workers = min(os.cpu_count() or 1, len(sources))
    with processes(workers) as pool:
        return _all(sources, pool, workers, directory, progress)


def _all(
    sources: list[Source],
    executor: Executor,
    beside: int,
    keep: Path | None,
    progress: ManyProgress | None,
) -> list[Result]:
    futures: dict[Future[Result], int] = {
        executor.submit(_run, source, beside, keep): index for index, source in enumerate(sources)
    }
    results: dict[int, Result] = {}
    try:
        for future in as_completed(futures):
            index = futures[future]
            try:
                results[index] = future.result()
            except Exception as error:
                error.add_note(f"in scenario {index} of {len(sources)}, {sources[index].file}")
                raise
            if progress is not None:
                progress(len(results), len(sources))
    finally:
        cancel(executor, futures)
    return [results[index] for index in range(len(sources))]


def _run(source: Source, beside: int, keep: Path | None) -> Result:
    """Executes one run in a worker."""

    def run() -> Result:
        return run_source(source, threads=1, beside=beside)

    with engine_errors():
        return run() if keep is None else cache.RunCache(keep).result(source, None, run)
