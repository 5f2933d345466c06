"""Engines that execute the runs of a sweep: processes of this machine, or a Dask cluster.

Every worker of a cluster needs the same version of Penstock. A common file system is needed only to keep
results: workers return measures to the client, which writes them.
"""

from __future__ import annotations

import contextlib
import logging
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import CancelledError, Executor
from dataclasses import dataclass
from typing import Any

from penstock.errors import InputError

DASK = "dask:"
PATIENCE_S = 5


@dataclass(frozen=True)
class Engine:
    """Executor of tasks, with its limits.

    Attributes
    ----------
    executor : Executor or None
        ``None``: processes of this machine.
    workers : int or None
        Number of concurrent tasks; ``None``: the number of processors.
    beside : int or None
        Number of tasks that share the memory of a machine; ``None``: `workers`.
    """

    executor: Executor | None = None
    workers: int | None = None
    beside: int | None = None


@contextlib.contextmanager
def _closing(client: Any, address: str) -> Iterator[None]:
    """Closes the connection to a cluster; ignores one that is lost."""
    before = logging.root.manager.disable
    logging.disable()  # errors are reported in one line by the caller
    try:
        yield
    except (OSError, TimeoutError, CancelledError) as error:
        raise InputError(
            f"lost the connection to the Dask scheduler at {address}: {error or type(error).__name__}"
        ) from error
    finally:
        with contextlib.suppress(Exception):
            client.close(timeout=1)
        logging.disable(before)


@contextlib.contextmanager
def engine(place: str, workers: int | None = None) -> Iterator[Engine]:
    """Context with the engine for an ``--executor`` option.

    Parameters
    ----------
    place : str
        ``"processes"``, or ``"dask:"`` and the address of a scheduler, such as
        ``"dask:tcp://10.0.0.1:8786"``.
    workers : int, optional
        Number of concurrent processes. Default: the number of processors. Not for clusters.

    Raises
    ------
    InputError
        If there is no such engine, Dask is not installed, or the scheduler does not respond.
    """
    if place == "processes":
        yield Engine(workers=workers)
        return
    address = place.removeprefix(DASK)
    if address == place or not address:
        raise InputError(
            f'--executor is {place}; expected "processes", or "dask:" and the address of a scheduler, '
            "such as dask:tcp://127.0.0.1:8786"
        )
    if workers is not None:
        raise InputError("--workers applies to processes of this machine; remove it for a cluster")
    try:
        from distributed import Client
    except ImportError:
        raise InputError(f'--executor {place} needs Dask: pip install "penstock[dask]"') from None
    try:
        client: Any = Client(  # type: ignore[no-untyped-call]
            address, timeout=PATIENCE_S, set_as_default=False
        )
    except (OSError, ValueError) as error:
        raise InputError(f"no Dask scheduler responds at {address}: {error}") from None
    with _closing(client, address):
        slots = client.nthreads()
        if not slots:
            raise InputError(f"the scheduler at {address} has no workers")
        machines: Counter[str] = Counter()
        for worker, threads in slots.items():
            machines[worker.rpartition(":")[0]] += threads
        yield Engine(client.get_executor(), sum(slots.values()), max(machines.values()))
