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
    """Measures how much slower each job is beside others than alone on the same fabric.

    The scenario runs once as it is, and once for each job without any other traffic.

    Parameters
    ----------
    scenario
        A scenario file, or a name that "penstock list" prints.
    seed
        Seed of all runs. Default: that of the scenario.
    threads
        Maximum number of threads for one run, or "auto": the number of processors.
    json
        Prints one JSON object instead of tables.
    """
    from penstock.laboratory.alone import neighbours as measure

    found = measure(library.read(scenario), threads=threads, seed=seed)
    if json:
        print_json({"schema": SCHEMA, "jobs": [one.to_dict() for one in found]})
        return EXIT_DONE
    shown = Table(
        "Jobs beside each other (together) and alone; times are of an iteration",
        *(
            "job",
            "together",
            "alone",
            "slowdown",
            "bus together",
            "bus alone",
            "pauses",
            "marks",
            "sent again",
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
