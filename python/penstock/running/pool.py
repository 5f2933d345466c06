"""Process pool for parallel runs."""

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
    """Process pool that is shut down at the end of a block."""


def cancel(executor: Executor, futures: Iterable[Future[Any]]) -> None:
    """Cancels tasks that a user's executor has not started.

    The own process pool is terminated instead: in Python 3.11 a broken pool with cancelled futures prints an
    ``InvalidStateError`` from its thread.
    """
    if not isinstance(executor, OwnProcesses):
        for future in futures:
            future.cancel()


@contextlib.contextmanager
def processes(workers: int) -> Iterator[OwnProcesses]:
    """Context with a process pool; an error in the block terminates the processes.

    Parameters
    ----------
    workers : int
        Number of processes, at least 1.
    """
    before = set(multiprocessing.active_children())
    # Spawned: forking a process with threads, such as those of Arrow, can deadlock.
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
    """Ignores Ctrl-C in a worker: the parent handles it, and workers end with the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: multiprocessing.process.BaseProcess) -> None:
    parent.join()
    os._exit(1)
