"""Prints the jobs of a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from penstock.analysis import jobs
from penstock.units import count, duration, share

from .console import Screen, Table

if TYPE_CHECKING:
    from penstock.result import Result

MOST = 20
"""Maximum number of jobs shown."""


def head_of(row: Mapping[str, Any]) -> tuple[str, ...]:
    """First cells of a row: job, ranks, collective, iterations and step time."""
    return (
        row["job"],
        count(row["ranks"]),
        " ".join(filter(None, (row["collective"], row["algorithm"]))),
        f"{count(row['finished'])} of {count(row['iterations'])}",
        duration(row["step_ns"]),
    )


def show_jobs(out: Screen, result: Result) -> None:
    """Prints jobs with iteration time and bandwidth, and the wait chain of each unfinished job."""
    found = jobs.of_jobs(result)
    if not found:
        return
    columns = ("iterations", "step", "computation", "exposed", "algorithm", "bus", "of the link")
    shown = Table(
        "Jobs (times per iteration, means over ranks)",
        *("job", "ranks", "collective", *columns),
        numeric=3,
        spare=("algorithm", "computation", "of the link"),
    )
    for row in found[:MOST]:
        has_bus = row["bus_bps"] is not None and row["bus_bps"] > 0
        shown.add_row(
            *head_of(row),
            duration(row["compute_ns"]),
            duration(row["exposed_ns"]),
            jobs.bandwidth(row["algorithm_bps"] if has_bus else None),
            jobs.bandwidth(row["bus_bps"] if has_bus else None),
            share(row["bus_bps"] / row["bound_bps"]) if has_bus else "-",
        )
    out.print(shown)
    if (more := len(found) - MOST) > 0:
        out.print(f"{count(more)} more jobs in the result")
    for line in [*jobs.estimates(result), *jobs.repetitions(result)]:
        out.print(line)
    for chain in jobs.unfinished(result):
        out.print(f"{chain.job} has not ended:", *jobs.sentences(chain))
