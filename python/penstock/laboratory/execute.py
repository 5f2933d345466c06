"""Runs tasks on any executor, and goes on when processes of it are killed.

A process that is killed breaks a pool of processes. Any of the tasks that the pool had may be the reason, so
these run again at the end, one at a time; one that ends its process `MOST_ATTEMPTS` times alone is given up.
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
"""Tasks that an executor has for each worker, so that none is without one."""

_LOST = "the executor has ended, or lost its connection; the same command goes on"

T = TypeVar("T")
R = TypeVar("R")


class LostError(PenstockError):
    """A task whose process ended without an answer."""


def each(
    function: Callable[[T], R], tasks: Iterable[T], *, executor: Executor | None, workers: int | None = None
) -> Iterator[tuple[T, R | Exception]]:
    """Each task with what `function` made of it, or with its error, as they end.

    Parameters
    ----------
    function : callable
        At the top of a module, so that another process finds it.
    tasks : iterable
        Taken as there is room for them.
    executor : concurrent.futures.Executor or None
        Where they run; it stays open. ``None``: processes of this machine.
    workers : int, optional
        Tasks at a time. Default: a process for each processor.

    Raises
    ------
    LostError
        If an `executor` breaks. Own processes are replaced.
    """
    most = workers or os.cpu_count() or 1
    waiting = iter(tasks)
    suspects: list[T] = []
    if executor is not None:
        yield from _on(executor, function, waiting, suspects, most * _WAITING)
        yield from ((task, LostError("the process that ran it was killed")) for task in suspects)
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
    """Until there are no tasks, or the pool is broken; `suspects` gets those that it had then."""
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
                if future.cancelled():  # by the executor: nothing else cancels
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
    """One task in processes of its own."""
    for _ in range(MOST_ATTEMPTS):
        suspects: list[T] = []
        with processes(1) as pool:
            for _, answer in _on(pool, function, iter([task]), suspects, 1):
                return answer
    return LostError(f"the process that ran it was killed {MOST_ATTEMPTS} times")


def _is_lost(error: BaseException) -> bool:
    """Returns true if the process ended, not the task: in a pool of processes, or in Dask."""
    return isinstance(error, BrokenProcessPool) or type(error).__name__ == "KilledWorker"
