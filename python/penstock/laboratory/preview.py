"""Preview: simulates the jobs of a scenario at flow level, in seconds; and its error relative to a run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock import _core
from penstock.analysis.jobs import of_jobs
from penstock.errors import InputError
from penstock.running import Runnable, engine_errors, source_of
from penstock.running.arguments import seed_of

if TYPE_CHECKING:
    from penstock.result import Result

Row = dict[str, Any]


@dataclass(frozen=True)
class Deviation:
    """Iteration time of a job in the preview and in a packet-level run.

    Attributes
    ----------
    job : str
        Name of the job.
    preview_ns, packets_ns : float or None
        Mean iteration time; ``None`` if no iteration finished.
    """

    job: str
    preview_ns: float | None
    packets_ns: float | None

    @property
    def error(self) -> float | None:
        """Preview time / packet-level time - 1; ``None`` if either is unknown."""
        if self.preview_ns is None or not self.packets_ns:
            return None
        return self.preview_ns / self.packets_ns - 1


@dataclass(frozen=True)
class Preview:
    """Result of a flow-level simulation of the jobs of a scenario.

    Attributes
    ----------
    name : str
        Name of the scenario.
    jobs, collectives, waits : list of dict
        Rows with the columns of the tables ``jobs``, ``collectives`` and ``rank_waits`` of a result.
    left_out : list of str
        Parts of the scenario that the preview does not model.
    warnings : list of str
        Warnings of the scenario.
    simulated_s, wall_s : float
        Simulated time, and wall-clock time, in seconds.
    messages, rate_changes : int
        Delivered messages, and number of rate computations.
    """

    name: str
    jobs: list[Row]
    collectives: list[Row]
    waits: list[Row]
    left_out: list[str]
    warnings: list[str]
    simulated_s: float
    wall_s: float
    messages: int
    rate_changes: int

    def against(self, result: Result) -> list[Deviation]:
        """Compares each job with the same job of a run.

        Raises
        ------
        InputError
            If the run does not have the same jobs.
        """
        packets = {row["job"]: row for row in of_jobs(result)}
        names = [row["job"] for row in self.jobs]
        if sorted(packets) != sorted(names):
            message = f"the result has the jobs {_listed(sorted(packets))}, the preview {_listed(names)}"
            raise InputError(f"{message}; expected a run of the same scenario")
        return [Deviation(row["job"], row["step_ns"], packets[row["job"]]["step_ns"]) for row in self.jobs]

    def to_dict(self) -> dict[str, Any]:
        """Returns the attributes, and ``"preview": true``."""
        return {
            "preview": True,
            "name": self.name,
            "simulated_s": self.simulated_s,
            "wall_s": self.wall_s,
            "messages": self.messages,
            "rate_changes": self.rate_changes,
            "left_out": self.left_out,
            "jobs": self.jobs,
            "collectives": self.collectives,
            "rank_waits": self.waits,
        }


def preview(scenario: Runnable, *, seed: int | None = None) -> Preview:
    """Simulates the jobs of a scenario at flow level instead of packet level.

    Messages are fluid flows with max-min fair rates; each class of a port has the share that its scheduler
    guarantees. Ranks, programs, host costs and paths are the same as in a run. There are no queues, losses,
    pauses or congestion control. A preview takes seconds where a run takes hours.

    Parameters
    ----------
    scenario : Scenario, str or path
        Scenario with jobs, file, or name of a scenario in the package.
    seed : int, optional
        Seed of all random streams, 0 to 2**64 - 1. Default: the seed of the scenario.

    Returns
    -------
    Preview
        Jobs and collectives, and the waits of ranks that have not ended.

    Raises
    ------
    ScenarioError
        If the scenario is invalid.
    InputError
        If it has no jobs, or the file or name does not exist.

    Examples
    --------
    >>> import penstock as ps
    >>> work = {"collective": "all_reduce", "bytes": "1 GB"}
    >>> fabric = ps.Scenario(duration="1 s").topology.star(hosts=4, rate="400 Gb/s")
    >>> fabric = fabric.with_value("jobs", [{"name": "ring", "ranks": "all", "workload": work}])
    >>> [round(row["step_ns"] / 1e6, 1) for row in ps.preview(fabric).jobs]
    [32.5]
    """
    source = source_of(scenario)
    with engine_errors():
        try:
            text = _core.preview(source.text, source.file, allow_files=source.allow_files, seed=seed_of(seed))
        except _core.ScenarioError:
            raise
        except ValueError as error:
            raise InputError(str(error)) from None
    found = json.loads(text)
    tables = found["tables"]
    return Preview(
        name=found["name"],
        jobs=tables["jobs"],
        collectives=tables["collectives"],
        waits=tables["rank_waits"],
        left_out=found["left_out"],
        warnings=found["warnings"],
        simulated_s=found["simulated_s"],
        wall_s=found["wall_s"],
        messages=found["messages"],
        rate_changes=found["rate_changes"],
    )


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"
