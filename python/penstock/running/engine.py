"""Checks and runs scenarios."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, Protocol

from penstock import _core, library
from penstock.errors import ArgumentError, ScenarioError, SimulationError

from . import cache, memory
from .arguments import seed_of, threads_of

if TYPE_CHECKING:
    from penstock.result import Result


class Described(Protocol):
    """Object with the text of a scenario file, such as `penstock.Scenario`."""

    def source(self) -> library.Source:
        """Returns text and file name."""


Runnable = Described | str | PathLike[str]
"""A scenario, a file, or the name of a scenario in the package."""

Threads = int | Literal["auto"]
"""Maximum number of threads for one run."""


@dataclass(frozen=True)
class Progress:
    """The progress of a run.

    Attributes
    ----------
    simulated_s, duration_s : float
        Simulated time reached, and simulated time at the end, in seconds.
    frame_hops : int
        Number of frames that have crossed a link, counted at each link.
    events : int
        Number of processed events.
    wall_s : float
        Wall-clock time since the start of the run, in seconds.
    warning : str or None
        Set once, when the run is about to exceed its memory limit.
    """

    simulated_s: float
    duration_s: float
    frame_hops: int
    events: int
    wall_s: float
    warning: str | None = None

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Progress:
        """Creates a progress from a report of the engine or ``Result.run``; ignores other keys."""
        return cls(**{entry.name: values[entry.name] for entry in fields(cls) if entry.name in values})


ProgressCallback = Callable[[Progress], bool | None]
"""Callback about every 0.1 s. Returning ``False`` ends the run with the measurements so far."""


def check(scenario: Runnable) -> str:
    """Checks a scenario, and returns it as TOML with all defaults.

    Parameters
    ----------
    scenario : Scenario, str or path
        A scenario, a file, or the name of a scenario in the package.

    Raises
    ------
    ScenarioError
        If the scenario is invalid; the message contains file, line, column, value and accepted values.
    InputError
        If the file or name does not exist.

    Examples
    --------
    >>> import penstock as ps
    >>> ps.check("first-light").splitlines()[0]
    '[simulation]'
    """
    return check_source(source_of(scenario))


def check_source(source: library.Source) -> str:
    """Checks the text of a scenario; see `check`."""
    with engine_errors():
        return _core.check(source.text, source.file, allow_files=source.allow_files)


@dataclass(frozen=True)
class Guarantee:
    """Service guarantee of a scheduler to a queue, as a latency-rate server.

    A queue that has been busy since time s has received at least ``rate_bps * (t - s - latency)`` bits by
    time t, independent of other queues. Bits are counted in the accounted length of the scheduler.

    Attributes
    ----------
    port : str
        Port as in the table ``ports``, such as ``"sw.3->h3"``.
    traffic_class : int
        Class of the queue, 0 to 7.
    scheduler : str
        Scheduler as in a scenario, such as ``"drr"``.
    rate_bps, latency_ns : float or None
        Guaranteed rate and latency; ``None`` without a guarantee.
    """

    port: str
    traffic_class: int
    scheduler: str
    rate_bps: float | None
    latency_ns: float | None

    def delay_ns(self, burst_bytes: float) -> float | None:
        """Returns the maximum time of a frame in queue and transmission.

        The flow must conform to a token bucket of ``burst_bytes`` (accounted) and the guaranteed rate.

        Returns
        -------
        float or None
            Nanoseconds; ``None`` without a guarantee.
        """
        if not 0 <= burst_bytes < math.inf:
            raise ArgumentError(f"burst_bytes is {burst_bytes!r}; expected a number of at least 0")
        if self.rate_bps is None or self.latency_ns is None:
            return None
        return self.latency_ns + burst_bytes * 8e9 / self.rate_bps


def guarantees(scenario: Runnable) -> list[Guarantee]:
    """Returns the guarantees of the schedulers to each egress queue, assuming no pauses.

    Parameters
    ----------
    scenario : Scenario, str or path
        A scenario, a file, or the name of a scenario in the package.

    Returns
    -------
    list of Guarantee
        In order of ports and classes.

    Raises
    ------
    ScenarioError
        If the scenario is invalid.
    InputError
        If the file or name does not exist.

    Examples
    --------
    >>> import penstock as ps
    >>> scenario = ps.Scenario(duration="1 ms").topology.star(hosts=2, rate="10 Gb/s")
    >>> scenario = scenario.flow("one", from_="h0", to="h1", source="greedy")
    >>> guarantee = ps.guarantees(scenario.with_value("switch.scheduler", "drr"))[0]
    >>> guarantee.port, guarantee.rate_bps
    ('sw.0->h0', 1250000000)
    """
    source = source_of(scenario)
    with engine_errors():
        found = json.loads(_core.guarantees(source.text, source.file, allow_files=source.allow_files))
    return [
        Guarantee(
            queue["port"],
            queue["class"],
            queue["scheduler"],
            queue["rate_bps"],
            None if queue["latency_ps"] is None else queue["latency_ps"] / 1e3,
        )
        for queue in found
    ]


def run(
    scenario: Runnable,
    *,
    seed: int | None = None,
    threads: Threads = "auto",
    progress: ProgressCallback | None = None,
) -> Result:
    """Runs a scenario and returns its result.

    A run that exceeds its memory limit (``memory_limit`` of the scenario, or a share of the free memory) ends
    early: ``result.complete`` is false, and ``result.run["cut_short_by"]`` contains the reason.

    Parameters
    ----------
    scenario : Scenario, str or path
        A scenario, a file, or the name of a scenario in the package.
    seed : int, optional
        Seed of all random streams, 0 to 2**64 - 1. Default: the seed of the scenario.
    threads : int or "auto"
        Maximum number of threads for this run, 1 to `MAX_THREADS`, or "auto" (default): the number of
        processors. Several threads are used only if that is faster. The result does not depend on them.
    progress : callable, optional
        Called with a `Progress` about every 0.1 s. The run ends early if it returns ``False``.

    Raises
    ------
    ScenarioError
        If the scenario is invalid.
    SimulationError
        If the run broke an invariant, such as a lost frame in a lossless class.
    InputError
        If the file or name does not exist.
    ArgumentError
        If `seed` or `threads` is out of range or not a whole number.

    Examples
    --------
    >>> import penstock as ps
    >>> result = ps.run("first-light")
    >>> result.fingerprint
    '4f8fe65a47ef9ef5'
    >>> print(result.verdict)
    complete
    """
    return run_source(source_of(scenario), seed=seed, threads=threads, progress=progress)


def run_source(
    source: library.Source,
    *,
    seed: int | None = None,
    threads: Threads = "auto",
    beside: int = 1,
    progress: ProgressCallback | None = None,
) -> Result:
    """Runs a parsed scenario; `beside` is the number of runs that share the memory."""
    seed, most = seed_of(seed), threads_of(threads)
    if progress is not None and not callable(progress):
        raise ArgumentError(f"progress is {progress!r}; expected a function")

    def simulate() -> Result:
        core = _core.run(
            source.text,
            source.file,
            allow_files=source.allow_files,
            overridden=(seed, source.until),
            threads=most,
            memory_limit=memory.limit_bytes(beside),
            progress=_adapter(progress or _go_on),
        )
        from penstock.result import (
            Result,  # imported after the run: importing pyarrow takes longer than a small run
        )

        return Result.from_core(core)

    runs = cache.in_use()
    with engine_errors():
        return simulate() if runs is None else runs.result(source, seed, simulate)


@contextlib.contextmanager
def engine_errors() -> Iterator[None]:
    """Context that converts errors of the engine to picklable errors of the package."""
    try:
        yield
    except _core.ScenarioError as error:
        wrong = ScenarioError(str(error))
        wrong.diagnostics = error.diagnostics
        raise wrong from None
    except _core.SimulationError as error:
        broken = SimulationError(str(error))
        if measured := getattr(error, "result", None):
            from penstock.result import Result

            broken.result = Result.from_core(measured)
            # Some picklers include the context of an error, which cannot be pickled here.
            del error.result
        raise broken from None


def source_of(scenario: Runnable) -> library.Source:
    """Returns text and file name of a scenario in any accepted form."""
    if isinstance(scenario, str | PathLike):
        return library.read(str(scenario))
    if not hasattr(scenario, "source"):
        raise ArgumentError(f"{scenario!r} is not a scenario; expected a Scenario, a file or a name")
    return scenario.source()


def _go_on(_: Progress) -> None:
    """Callback that lets Python handle Ctrl-C."""


def _adapter(progress: ProgressCallback) -> Callable[[str], bool]:
    def report(text: str) -> bool:
        return progress(Progress.of(json.loads(text))) is not False

    return report
