"""Predicts the time and memory of a run from its first part."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from penstock import _core
from penstock.library import Source

from .arguments import threads_of
from .engine import Threads, engine_errors

SCHEMA = "penstock-estimate/1"
LOOKS_S = (0.1, 0.7)
"""Wall times of the two runs that memory is judged by: what it grows by between them goes on."""
NOISE_BYTES = 2 << 20
"""Growth below this is the allocator's."""
ROW_BYTES = {"series": 150, "pauses": 330}
"""A row of the tables that grow with simulated time, while they are made, which is when they take most."""


@dataclass(frozen=True)
class Estimate:
    """The cost of a run on this machine.

    Attributes
    ----------
    wall_s : float
        Wall time, with setup, without saving and drawing the result.
    frame_hops : float
        Frames that cross a link, each counted at each link.
    memory_bytes : int
        Of the engine and the tables of its result, without the program itself.
    threads : int
        Used for this scenario; the wall time holds for them.
    exact : bool
        Whether the run was short enough to run to its end.
    flows, nodes, links : int
        Of the scenario.
    """

    wall_s: float
    frame_hops: float
    memory_bytes: int
    threads: int
    exact: bool
    flows: int
    nodes: int
    links: int

    def to_dict(self) -> dict[str, Any]:
        """As JSON knows it."""
        return {"schema": SCHEMA, **asdict(self)}


@engine_errors()
def estimate(source: Source, *, threads: Threads = "auto") -> Estimate:
    """Runs the first part of a scenario three times, for a fraction of a second, and extrapolates.

    Scenarios in which most happens late are underestimated.

    Parameters
    ----------
    source : Source
        The text of the scenario.
    threads : int or "auto"
        The most threads for the run, as in `penstock.run`.

    Raises
    ------
    ScenarioError
        If it cannot be run.
    SimulationError
        If it breaks an invariant at once.
    """
    import_module("pyarrow")  # its own memory is no part of what is measured

    before = _peak_bytes()
    first = _look(source, threads, LOOKS_S[0])
    told = json.loads(_core.estimate(source.text, source.file, threads=threads_of(threads)))
    last = _look(source, threads, LOOKS_S[1])
    memory = int(told["memory_bytes"])
    if before is not None and first.peak_bytes is not None and last.peak_bytes is not None:
        memory = max(memory, last.peak_bytes - before)
        grown = last.peak_bytes - first.peak_bytes - (last.table_bytes - first.table_bytes)
        if grown > NOISE_BYTES and last.simulated_s > first.simulated_s:
            # What still grows then are queues without limit, and those grow to the end.
            rate = grown / (last.simulated_s - first.simulated_s)
            memory += round(rate * max(last.duration_s - last.simulated_s, 0.0))
    still = last.table_bytes * (last.duration_s / last.simulated_s - 1) if last.simulated_s else 0.0
    return Estimate(
        wall_s=told["wall_s"],
        frame_hops=told["frame_hops"],
        memory_bytes=memory + round(still),
        threads=told["threads"],
        exact=bool(told["exact"]),
        flows=told["flows"],
        nodes=told["nodes"],
        links=told["links"],
    )


@dataclass(frozen=True)
class _Look:
    peak_bytes: int | None
    table_bytes: int
    simulated_s: float
    duration_s: float


def _look(source: Source, threads: Threads, wall_s: float) -> _Look:
    """Runs the beginning for about this long."""
    core = _core.run(source.text, source.file, threads=threads_of(threads), progress=_until(wall_s))
    peak = _peak_bytes()
    run = json.loads(core.run)
    tables = sum(_rows(core, table) * size for table, size in ROW_BYTES.items())
    return _Look(peak, tables, run["simulated_s"], run["duration_s"])


def _until(wall_s: float) -> Callable[[str], bool]:
    return lambda report: bool(json.loads(report)["wall_s"] < wall_s)


def _rows(core: _core.Result, table: str) -> int:
    if table not in core.table_names:
        return 0
    import pyarrow as pa

    return int(pa.RecordBatchReader.from_stream(core.table(table)).read_all().num_rows)


def _peak_bytes() -> int | None:
    """The most memory that the process has had; nothing where the system does not tell."""
    try:
        # Linux: what `resource` tells there begins with the memory of whoever started the process.
        status = Path("/proc/self/status").read_text("ascii").splitlines()
        return next((int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM:")), None)
    except OSError:
        pass
    try:
        import resource
    except ImportError:
        return None
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024
