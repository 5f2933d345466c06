"""Compares each job of a scenario with the same job alone on the fabric."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from penstock.analysis.jobs import of_jobs
from penstock.errors import InputError
from penstock.running import run
from penstock.scenario import Scenario

if TYPE_CHECKING:
    from penstock.library import Source
    from penstock.running import Threads

TRAFFIC = ("flows", "transfers", "jobs")


@dataclass(frozen=True)
class Neighboured:
    """Measures of a job together with the other jobs and alone.

    Attributes
    ----------
    job : str
        Name of the job.
    together_ns, alone_ns : float or None
        Mean iteration time; ``None`` if no iteration finished.
    exposed_together_ns, exposed_alone_ns : float or None
        Exposed communication: communication that does not overlap computation.
    bus_together_bps, bus_alone_bps : float or None
        Bus bandwidth; ``None`` for schedules.
    pauses_together, pauses_alone : int
        Pause frames in the whole run.
    marks_together, marks_alone : int
        ECN-marked packets received by the queue pairs of the job.
    retransmitted_together, retransmitted_alone : int
        Retransmitted packets of the queue pairs of the job.
    """

    job: str
    together_ns: float | None
    alone_ns: float | None
    exposed_together_ns: float | None
    exposed_alone_ns: float | None
    bus_together_bps: float | None
    bus_alone_bps: float | None
    pauses_together: int
    pauses_alone: int
    marks_together: int
    marks_alone: int
    retransmitted_together: int
    retransmitted_alone: int

    @property
    def slowdown(self) -> float | None:
        """Iteration time together divided by that alone; ``None`` if either is unknown."""
        if self.together_ns is None or not self.alone_ns:
            return None
        return self.together_ns / self.alone_ns

    def to_dict(self) -> dict[str, Any]:
        """Returns the attributes and `slowdown`."""
        return {**asdict(self), "slowdown": self.slowdown}


def neighbours(source: Source, *, threads: Threads = "auto", seed: int | None = None) -> list[Neighboured]:
    """Runs a scenario, and each of its jobs without any other traffic.

    Parameters
    ----------
    source : Source
        The scenario.
    threads : int or "auto", optional
        Maximum number of threads per run. Default: "auto".
    seed : int, optional
        Seed of all runs. Default: the seed of the scenario.

    Returns
    -------
    list of Neighboured
        One element per job, in the order of the scenario.

    Raises
    ------
    InputError
        If the scenario has no jobs.
    """
    whole = Scenario.from_toml(source.text, file=source.file)
    entries: Sequence[dict[str, Any]] = whole.to_dict().get("jobs", [])
    if not entries:
        raise InputError(f"{source.file} has no jobs; add [[jobs]] (see docs/jobs.md)")
    together = _measures(whole, threads, seed)
    return [_joined(name, together[name], own) for name, own in _each(whole, entries, threads, seed)]


def _each(
    whole: Scenario, entries: Sequence[dict[str, Any]], threads: Threads, seed: int | None
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Runs each job alone; yields it with its measures."""
    for entry in entries:
        one = whole
        for key in TRAFFIC:
            one = one.with_value(key, [entry] if key == "jobs" else None)
        yield entry["name"], _measures(one, threads, seed)[entry["name"]]


def _measures(scenario: Scenario, threads: Threads, seed: int | None) -> dict[str, dict[str, Any]]:
    """Row of each job, with counters of its queue pairs."""
    result = run(scenario, threads=threads, seed=seed)
    pauses = sum(row["pauses_sent"] for row in result.rows("ports"))
    found = {}
    for row in of_jobs(result):
        pairs = [pair for pair in result.rows("queue_pairs") if pair["flow"].startswith(f"{row['job']}[")]
        marks = sum(pair["packets_marked"] for pair in pairs)
        again = sum(pair["packets_sent_again"] for pair in pairs)
        found[row["job"]] = {**row, "pauses": pauses, "marks": marks, "retransmitted": again}
    return found


def _joined(name: str, together: dict[str, Any], alone: dict[str, Any]) -> Neighboured:
    return Neighboured(
        job=name,
        together_ns=together["step_ns"],
        alone_ns=alone["step_ns"],
        exposed_together_ns=together["exposed_ns"],
        exposed_alone_ns=alone["exposed_ns"],
        bus_together_bps=together["bus_bps"],
        bus_alone_bps=alone["bus_bps"],
        pauses_together=together["pauses"],
        pauses_alone=alone["pauses"],
        marks_together=together["marks"],
        marks_alone=alone["marks"],
        retransmitted_together=together["retransmitted"],
        retransmitted_alone=alone["retransmitted"],
    )
