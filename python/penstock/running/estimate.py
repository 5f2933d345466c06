"""Predicts the time and memory of a run from its first part."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from penstock import _core
from penstock.library import Source

from .arguments import threads_of
from .engine import Threads, engine_errors

SCHEMA = "penstock-estimate/1"
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
    memory_limit : int or None
        What the scenario names, in bytes.
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
    memory_limit: int | None
    threads: int
    exact: bool
    flows: int
    nodes: int
    links: int

    def to_dict(self) -> dict[str, Any]:
        """The estimate as JSON values."""
        return {"schema": SCHEMA, **asdict(self)}


@engine_errors()
def estimate(source: Source, *, threads: Threads = "auto") -> Estimate:
    """Runs the first part of a scenario, for a fraction of a second, and extrapolates.

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
    before = _peak_bytes()
    report = json.loads(
        _core.estimate(source.text, source.file, allow_files=source.allow_files, threads=threads_of(threads))
    )
    after = _peak_bytes()
    memory = int(report["memory_bytes"])
    if before is not None and after is not None:
        memory = max(memory, after - before)
    # What still grows then are queues without limit, and those grow to the end.
    memory += round(report["growth_bytes"])
    tables = sum(report["rows"][table] * size for table, size in ROW_BYTES.items())
    if report["simulated_s"]:
        memory += round(tables * (report["end_s"] / report["simulated_s"] - 1))
    return Estimate(
        wall_s=report["wall_s"],
        frame_hops=report["frame_hops"],
        memory_bytes=memory,
        memory_limit=report["memory_limit"],
        threads=report["threads"],
        exact=bool(report["exact"]),
        flows=report["flows"],
        nodes=report["nodes"],
        links=report["links"],
    )


def _peak_bytes() -> int | None:
    """The peak memory of the process; ``None`` if the system does not report it."""
    try:
        # Linux: `resource` counts from the memory of the parent process there.
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
