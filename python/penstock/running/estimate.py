"""Estimates the time and memory of a run from its first part."""

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
"""Peak memory per row of tables that grow with simulated time, while they are built."""


@dataclass(frozen=True)
class Estimate:
    """Estimated cost of a run on this machine.

    Attributes
    ----------
    wall_s : float
        Wall-clock time including setup, excluding saving and drawing the result.
    frame_hops : float
        Frames crossing a link, counted at each link.
    memory_bytes : int
        Memory of the engine and the tables of its result, excluding the program.
    memory_limit : int or None
        Limit in the scenario, in bytes.
    threads : int
        Number of threads for this scenario, on which the wall-clock time is based.
    exact : bool
        True if the run was short enough to be completed.
    flows, nodes, links : int
        Size of the scenario.
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
        """Returns the estimate as JSON values."""
        return {"schema": SCHEMA, **asdict(self)}


@engine_errors()
def estimate(source: Source, *, threads: Threads = "auto") -> Estimate:
    """Runs the first part of a scenario for a fraction of a second, and extrapolates.

    Underestimates scenarios with most of their traffic late in the run.

    Parameters
    ----------
    source : Source
        Scenario.
    threads : int or "auto"
        Maximum number of threads for the run, as in `penstock.run`.

    Raises
    ------
    ScenarioError
        If the scenario is invalid.
    SimulationError
        If the first part breaks an invariant.
    """
    before = _peak_bytes()
    report = json.loads(
        _core.estimate(source.text, source.file, allow_files=source.allow_files, threads=threads_of(threads))
    )
    after = _peak_bytes()
    memory = int(report["memory_bytes"])
    if before is not None and after is not None:
        memory = max(memory, after - before)
    # Remaining growth is due to unlimited queues, which grow until the end.
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
    """Peak memory of the process; ``None`` if the system does not report it."""
    try:
        # On Linux, `resource` starts with the peak of the parent process.
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
