"""``penstock preview``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from penstock.analysis.jobs import bandwidth
from penstock.units import count, duration

from . import EXIT_DONE
from .console import Screen, Table, console, print_json
from .jobs import head_of
from .options import Whole

SCHEMA = "penstock-preview/1"
MOST = 20
"""Maximum number of jobs and waits shown."""


def preview(
    scenario: str,
    /,
    *,
    against: Path | None = None,
    seed: Whole | None = None,
    json: Annotated[bool, Parameter(negative=())] = False,
) -> int:
    """Runs the jobs of a scenario at flow level, in seconds: no packets, queues, losses or pauses.

    Parameters
    ----------
    scenario
        Scenario file with jobs, or a name printed by "penstock list".
    against
        Directory of a run of the same scenario. Shows the error of the preview.
    seed
        Seed of all random streams. Default: the seed of the scenario.
    json
        Prints one JSON object instead of tables.
    """
    from penstock.laboratory.preview import preview as measure
    from penstock.result import Result

    found = measure(scenario, seed=seed)
    deviations = [] if against is None else found.against(Result.load(against))
    if json:
        errors = {own.job: {"packets_ns": own.packets_ns, "error": own.error} for own in deviations}
        print_json({"schema": SCHEMA, **found.to_dict(), **({"against": errors} if deviations else {})})
        return EXIT_DONE
    out = console()
    beside = {own.job: own for own in deviations}
    shown = Table(
        "Preview at flow level (times per iteration)",
        *("job", "ranks", "collective", "iterations", "step", "bus"),
        *(("packets", "error") if beside else ()),
        numeric=3,
    )
    for row in found.jobs[:MOST]:
        own = beside.get(row["job"])
        more = () if own is None else (duration(own.packets_ns), _error(own.error))
        shown.add_row(
            *head_of(row),
            bandwidth(row["bus_bps"]),
            *more,
        )
    out.print(shown)
    if (more_jobs := len(found.jobs) - MOST) > 0:
        out.print(f"{count(more_jobs)} more jobs with --json")
    _say(out, found.left_out, found.waits)
    return EXIT_DONE


def _error(error: float | None) -> str:
    return "-" if error is None else f"{error:+.2%}".replace("%", " %")


def _say(out: Screen, left_out: list[str], waits: list[dict[str, object]]) -> None:
    """Prints the parts of the scenario that the preview does not model, and ranks that have not ended."""
    if left_out:
        named = ", ".join(left_out[:MOST]) + (", ..." if len(left_out) > MOST else "")
        out.print(f"not modelled: {named}")
    for row in waits[:MOST]:
        what = f"{row['waits_for']} ({row['cause']})"
        out.print(f"job {row['job']} has not ended: rank {row['rank']} ({row['host']}) waits for {what}")
