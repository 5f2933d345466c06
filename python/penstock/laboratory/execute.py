"""Runs tasks on an executor, and continues if its processes are killed.

A killed process breaks the whole pool, and any task in the pool may be the cause. These tasks run again at
the end, one at a time. A task whose process is killed `MOST_ATTEMPTS` times is abandoned.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, wait
from concurrent.futures.process import BrokenProcessPool
from itertools import chain, islice
from typing import TypeVar

from penstock.errors import PenstockError
from penstock.running.pool import cancel, processes

MOST_ATTEMPTS = 3
_WAITING = 4
"""Number of tasks submitted per worker, so that workers never wait for a task."""

_LOST = "the executor has ended, or lost its connection; repeat the command to resume"

T = TypeVar("T")
R = TypeVar("R")


class LostError(PenstockError):
    """Raised for a task whose process ended without a result."""


def each(
    function: Callable[[T], R], tasks: Iterable[T], *, executor: Executor | None, workers: int | None = None
) -> Iterator[tuple[T, R | Exception]]:
    """Yields each task with its result or error, in order of completion.

    Parameters
    ----------
    function : callable
        Must be defined at the top level of a module, so that other processes can import it.
    tasks : iterable
        Consumed as workers become free.
    executor : concurrent.futures.Executor or None
        Executor; it is not shut down. ``None``: processes of this machine.
    workers : int, optional
        Number of concurrent tasks. Default: the number of processors.

    Raises
    ------
    LostError
        If `executor` breaks. The own process pool is replaced instead.
    """
    most = workers or os.cpu_count() or 1
    waiting = iter(tasks)
    suspects: list[T] = []
    if executor is not None:
        yield from _on(executor, function, waiting, suspects, most * _WAITING)
        yield from ((task, LostError("its process was killed")) for task in suspects)
        if next(waiting, None) is not None:
            raise LostError("the executor is broken: one of its processes was killed")
        return
    for task in waiting:
        with processes(most) as pool:
            yield from _on(pool, function, chain([task], waiting), suspects, most * _WAITING)
    for task in suspects:
        yield task, _alone(function, task)


def _on(
    pool: Executor, function: Callable[[T], R], tasks: Iterator[T], suspects: list[T], most: int
) -> Iterator[tuple[T, R | Exception]]:
    """Runs tasks until there are none left or the pool breaks; `suspects` receives the tasks in the pool."""
    here: dict[Future[R], T] = {}
    broken = False
    try:
        while True:
            for task in islice(tasks, 0 if broken else most - len(here)):
                try:
                    here[pool.submit(function, task)] = task
                except BrokenProcessPool:
                    suspects.append(task)
                    broken = True
                    break
                except (RuntimeError, OSError, CancelledError) as gone:
                    raise LostError(f"{_LOST}: {gone or type(gone).__name__}") from gone
            if not here:
                return
            done, _ = wait(here, return_when=FIRST_COMPLETED)
            for future in done:
                task = here.pop(future)
                if future.cancelled():  # only the executor cancels futures
                    raise LostError(_LOST)
                error = future.exception()
                if error is None:
                    yield task, future.result()
                elif _is_lost(error):
                    suspects.append(task)
                    broken |= isinstance(error, BrokenProcessPool)
                elif isinstance(error, Exception):
                    yield task, error
                else:
                    raise error
    finally:
        cancel(pool, here)


def _alone(function: Callable[[T], R], task: T) -> R | Exception:
    """Runs a task in a process pool of its own."""
    for _ in range(MOST_ATTEMPTS):
        suspects: list[T] = []
        with processes(1) as pool:
            for _, answer in _on(pool, function, iter([task]), suspects, 1):
                return answer
    return LostError(f"its process was killed {MOST_ATTEMPTS} times")


def _is_lost(error: BaseException) -> bool:
    """True if the process ended, not the task: in a process pool or in Dask."""
    return isinstance(error, BrokenProcessPool) or type(error).__name__ == "KilledWorker"
