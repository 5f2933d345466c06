"""``penstock validate``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from penstock import validation
from penstock.errors import InputError

from . import EXIT_DONE, EXIT_FAILED
from .console import Mark, Table, console, print_json, say, write_data


def validate(
    *cases: str,
    quick: Annotated[bool, Parameter(negative=())] = False,
    scenario: Annotated[bool, Parameter(negative=())] = False,
    json: Annotated[bool, Parameter(negative=())] = False,
    write: Path | None = None,
) -> int:
    """Compares the simulator with queueing theory and exact arithmetic.

    Parameters
    ----------
    cases
        Names of cases, such as "md1" or "headroom". Default: all cases.
    quick
        Uses short runs, which have wide confidence intervals.
    scenario
        Prints the scenario of the case instead of running it.
    json
        Prints one JSON object instead of tables.
    write
        Markdown page to write. A page per topic is written to a folder of the same name, the picture to
        "images" next to it.
    """
    wanted = validation.cases(cases)
    if scenario:
        if len(cases) != 1:
            raise InputError("--scenario: expected the name of one case")
        write_data(wanted[0].scenario.rstrip() + "\n")
        return EXIT_DONE
    if write is not None and not write.parent.is_dir():
        raise InputError(f"--write {write}: there is no directory {write.parent}")

    def done(outcome: validation.Outcome) -> None:
        agree = sum(row.passed for row in outcome.rows)
        say(f"{outcome.case.name}: {agree} of {len(outcome.rows)} rows agree")

    outcomes = validation.validate(wanted, quick=quick, done=done)
    if write is not None:
        from penstock.validation import document

        document.write(outcomes, write, quick=quick)
        say(f"document  {write}")
    if json:
        print_json(validation.to_json(outcomes, quick=quick))
    else:
        for outcome in outcomes:
            _show(outcome)
    return EXIT_DONE if all(outcome.passed for outcome in outcomes) else EXIT_FAILED


def _show(outcome: validation.Outcome) -> None:
    from penstock.validation import numbers

    shown = Table("", "", "quantity", "theory", "measured", "99 % interval", "difference", "p", numeric=2)
    for row in outcome.rows:
        mark = Mark("✓", "green") if row.passed else Mark("✗", "red")
        quantity = row.quantity if row.passed else (row.quantity, row.verdict)
        shown.add_row(mark, quantity, *numbers.cells(row))
    out = console()
    out.print()
    out.print(outcome.case.title, style="bold")
    out.print(shown)
