"""``penstock neighbours``."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from penstock import library
from penstock.analysis.jobs import bandwidth
from penstock.units import count, duration, plain

from . import EXIT_DONE
from .console import Table, console, print_json
from .options import Threads, Whole

SCHEMA = "penstock-neighbours/1"


def neighbours(
    scenario: str,
    /,
    *,
    seed: Whole | None = None,
    threads: Threads = "auto",
    json: Annotated[bool, Parameter(negative=())] = False,
) -> int:
    """Measures the slowdown of each job due to the other jobs on the same fabric.

    Runs the scenario once as it is, and once for each job without any other traffic.

    Parameters
    ----------
    scenario
        Scenario file, or a name printed by "penstock list".
    seed
        Seed of all runs. Default: the seed of the scenario.
    threads
        Maximum number of threads per run, or "auto": the number of processors.
    json
        Prints one JSON object instead of tables.
    """
    from penstock.laboratory.alone import neighbours as measure

    found = measure(library.read(scenario), threads=threads, seed=seed)
    if json:
        print_json({"schema": SCHEMA, "jobs": [one.to_dict() for one in found]})
        return EXIT_DONE
    shown = Table(
        "Jobs together and alone (times per iteration)",
        *(
            "job",
            "together",
            "alone",
            "slowdown",
            "bus together",
            "bus alone",
            "pauses",
            "marks",
            "retransmitted",
        ),
        numeric=1,
        spare=("bus alone", "bus together"),
    )
    for one in found:
        shown.add_row(
            one.job,
            duration(one.together_ns),
            duration(one.alone_ns),
            plain(one.slowdown),
            bandwidth(one.bus_together_bps),
            bandwidth(one.bus_alone_bps),
            *(
                f"{count(together)} / {count(alone)}"
                for together, alone in (
                    (one.pauses_together, one.pauses_alone),
                    (one.marks_together, one.marks_alone),
                    (one.retransmitted_together, one.retransmitted_alone),
                )
            ),
        )
    console().print(shown)
    return EXIT_DONE
