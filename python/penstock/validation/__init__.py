"""Validation: compares simulation results with theory, using replications, confidence intervals and verdicts.

``penstock validate`` runs the cases and writes ``docs/validation.md`` with a page for each topic. A topic is
a module of this package, named in `TOPICS`; a case is a function there with the decorator `registry.case`.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from penstock import _core
from penstock.errors import InputError

from .bench import Bench, workers
from .registry import CASES, FALSE_ALARM, ROWS, Case, Row

TOPICS = {
    "queues": "Queues",
    "buffers": "Buffers",
    "latency": "Latency",
    "bursts": "Sources and bursts",
    "pauses": "PAUSE and PFC",
    "credits": "Credits",
    "crossbars": "Crossbars",
    "faults": "Link faults",
    "lossy_links": "Lossy links",
    "receivers": "Slow receivers",
    "senders": "Sending hosts",
    "storms": "Pause storms",
    "schedulers": "Schedulers and shapers",
    "disturbances": "Disturbed ports",
    "loops": "Requests and windows",
    "tcp": "TCP",
    "windows": "TCP windows and synchronized senders",
    "conversations": "Applications over TCP",
    "messages": "Congestion messages",
    "managers": "Queue managers",
    "qcn": "Congestion notification",
    "bcn": "Backward congestion notification",
    "fecn": "Forward congestion notification",
    "prc": "Path rate control",
    "rdma": "RDMA",
    "paths": "Path choice",
}
"""Modules that register cases, in document order, mapped to the titles of their pages."""

SCHEMA = "penstock-validation/1"


@dataclass(frozen=True)
class Outcome:
    """A case and the rows of its run."""

    case: Case
    rows: tuple[Row, ...]

    @property
    def passed(self) -> bool:
        """True if all rows agree with theory."""
        return all(row.passed for row in self.rows)


def cases(names: Sequence[str] = ()) -> list[Case]:
    """The cases with these names; without names, all cases.

    Raises
    ------
    InputError
        If there is no such case.
    """
    for module in TOPICS:
        import_module(f".{module}", __name__)
    for name in names:
        if name not in CASES:
            raise InputError(f"no validation case {name!r}; there are: {', '.join(CASES)}")
    return [found for found in CASES.values() if not names or found.name in names]


def validate(
    wanted: Iterable[Case], *, quick: bool = False, done: Callable[[Outcome], None] | None = None
) -> list[Outcome]:
    """Runs the cases one after the other; the runs of a case are spread over all processors.

    Parameters
    ----------
    wanted : iterable of Case
        See `cases`.
    quick : bool
        Makes fewer, shorter runs and accepts wider intervals, as a smoke test.
    done : callable, optional
        Called with each outcome as soon as it is available.
    """
    outcomes = []
    with tempfile.TemporaryDirectory() as directory, ThreadPoolExecutor(workers()) as pool:
        for case in wanted:
            bench = Bench(case.name, quick=quick, pool=pool, directory=Path(directory))
            outcomes.append(Outcome(case, tuple(case.rows(bench))))
            if done is not None:
                done(outcomes[-1])
    return outcomes


def to_json(outcomes: Sequence[Outcome], *, quick: bool) -> dict[str, Any]:
    """All outcomes as plain values for JSON."""
    return {
        "schema": SCHEMA,
        "engine_version": _core.engine_version(),
        "quick": quick,
        "passed": all(outcome.passed for outcome in outcomes),
        "false_alarm": FALSE_ALARM,
        "rows_divided_by": ROWS,
        "cases": [
            {
                "name": outcome.case.name,
                "title": outcome.case.title,
                "sources": list(outcome.case.sources),
                "passed": outcome.passed,
                "rows": [row.to_dict() for row in outcome.rows],
            }
            for outcome in outcomes
        ],
    }
