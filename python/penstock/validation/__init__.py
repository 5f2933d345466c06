"""Validation: theory beside measurement, with replications, interval and verdict.

``penstock validate`` runs the cases and writes ``docs/validation.md``. A mechanism adds its own: a function
with the decorator `registry.case` in a module that is named in `MODULES`.
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

MODULES = (
    "queues",
    "buffers",
    "latency",
    "bursts",
    "pauses",
    "faults",
    "lossy_links",
    "receivers",
    "storms",
    "schedulers",
    "loops",
    "messages",
    "managers",
    "paths",
)
"""Where cases are registered, in the order of the document: one line for each further mechanism."""

SCHEMA = "penstock-validation/1"


@dataclass(frozen=True)
class Outcome:
    """A case and the rows that it gave."""

    case: Case
    rows: tuple[Row, ...]

    @property
    def passed(self) -> bool:
        """Whether all rows agree with theory."""
        return all(row.passed for row in self.rows)


def cases(names: Sequence[str] = ()) -> list[Case]:
    """The cases with these names; all of them if none is given.

    Raises
    ------
    InputError
        If there is no such case.
    """
    for module in MODULES:
        import_module(f".{module}", __name__)
    for name in names:
        if name not in CASES:
            raise InputError(f"no validation case {name!r}; there are: {', '.join(CASES)}")
    return [found for found in CASES.values() if not names or found.name in names]


def validate(
    wanted: Iterable[Case], *, quick: bool = False, done: Callable[[Outcome], None] | None = None
) -> list[Outcome]:
    """Runs cases, one after the other, the runs of each on all processors.

    Parameters
    ----------
    wanted : iterable of Case
        See `cases`.
    quick : bool
        Fewer, shorter runs and wider intervals: a look whether something is badly wrong.
    done : callable, optional
        Gets each outcome when it is there.
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
    """All that was found, as JSON knows it."""
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
