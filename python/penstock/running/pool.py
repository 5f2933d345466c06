"""A process for each processor, for runs beside each other."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor


@contextlib.contextmanager
def processes(workers: int) -> Iterator[ProcessPoolExecutor]:
    """Processes for the time of a block; an error in the block ends them at once.

    Parameters
    ----------
    workers : int
        How many, at least 1.
    """
    before = set(multiprocessing.active_children())
    # Spawned: a copy of a process with threads, such as those of Arrow, may wait for ever.
    spawned = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, mp_context=spawned, initializer=_begin)
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
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
