"""A process for each processor, for runs beside each other."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from typing import Any


class OwnProcesses(ProcessPoolExecutor):
    """Processes that end with the block that needs them."""


def cancel(executor: Executor, futures: Iterable[Future[Any]]) -> None:
    """Cancels what a foreign executor has not begun.

    Own processes are terminated instead. In Python 3.11 a pool that breaks with cancelled futures prints an
    ``InvalidStateError`` of its own thread.
    """
    if not isinstance(executor, OwnProcesses):
        for future in futures:
            future.cancel()


@contextlib.contextmanager
def processes(workers: int) -> Iterator[OwnProcesses]:
    """Processes for the time of a block; an error in the block ends them at once.

    Parameters
    ----------
    workers : int
        How many, at least 1.
    """
    before = set(multiprocessing.active_children())
    # Spawned: a copy of a process with threads, such as those of Arrow, may wait for ever.
    spawned = multiprocessing.get_context("spawn")
    pool = OwnProcesses(workers, mp_context=spawned, initializer=_begin)
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False)
        for process in set(multiprocessing.active_children()) - before:
            process.terminate()
        raise
    pool.shutdown()


def _begin() -> None:
    """Ignores Ctrl-C in a worker: the parent handles it, and its death ends the workers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: multiprocessing.process.BaseProcess) -> None:
    parent.join()
    os._exit(1)
