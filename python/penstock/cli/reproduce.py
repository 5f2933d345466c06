"""``penstock reproduce``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from penstock.studies import reproduce as studies

from . import EXIT_DONE, EXIT_FAILED
from .console import Mark, Table, aside, console, print_json, say


def reproduce(
    study: str | None = None,
    /,
    *,
    quick: Annotated[bool, Parameter(negative=())] = False,
    out: Path = Path("out/reproduce"),
    json: Annotated[bool, Parameter(negative=())] = False,
    document: Path | None = None,
) -> int:
    """Reproduces published experiments, or a study of your own, and compares them with their source.

    After an interruption the same command resumes.

    Parameters
    ----------
    study
        PAPER or PAPER/PART, as "penstock list" prints them, or a folder with studies of your own, such as
        ./my-study. Default: all studies of the package.
    quick
        Fewer replications, for a first look.
    out
        Directory for pictures and outcomes, with a subdirectory for each study.
    json
        Prints one JSON object instead of tables.
    document
        Directory for a Markdown page per study, and its pictures.
    """
    results = []
    for found in studies.find(study):
        say(f"{found.name}: {found.title}")
        with aside():  # what a study prints is no part of the answer
            results.append(studies.reproduce(found, out / found.name, quick=quick, say=_say_inside))
        if document is not None:
            from penstock.studies import document as pages

            say(f"page  {pages.write(results[-1], document, quick=quick)}")
        if not json:
            _show(results[-1])
    if json:
        print_json(studies.to_json(results, study or "all"))
    return EXIT_DONE if all(result.passed for result in results) else EXIT_FAILED


def _say_inside(text: str) -> None:
    say(f"  {text}")


def _show(result: studies.StudyResult) -> None:
    out = console()
    study = result.study
    out.print()
    out.print(study.title, style="bold")
    out.print(study.source, wrap=True)
    shown = Table("", "", "experiment", "criterion", "the source reports", "measured", lines=True)
    for outcome in result.outcomes:
        measured = [*outcome.measured.split("\n"), *([f"({outcome.note})"] if outcome.note else [])]
        known = study.experiment(outcome.id).not_met
        failed = Mark("✗ FAIL,\nas known", "yellow") if known else Mark("✗ FAIL", "red")
        mark = Mark("✓ pass", "green") if outcome.passed else failed
        shown.add_row(mark, outcome.id, outcome.criterion.split("\n"), outcome.reported.split("\n"), measured)
    out.print(shown)
    for figures in result.tables:
        cells = Table(figures.title, *figures.columns)
        for row in figures.rows:
            cells.add_row(*row)
        out.print(cells)
        if figures.note:
            out.print(figures.note, wrap=True)
        out.print(f"table  {result.directory / figures.name}.csv")
    if study.choices:
        out.print("What the source leaves open:")
        for choice in study.choices:
            out.print(f"- {choice.what}: {choice.value} ({choice.why})", wrap=True)
    if study.departures:
        out.print("Departures from the source:")
        for departure in study.departures:
            why = f" ({departure.why})" if departure.why else ""
            out.print(f"- {departure.what}{why}", wrap=True)
    pictures = [picture for outcome in result.outcomes for picture in outcome.pictures]
    for picture in dict.fromkeys([*pictures, *([result.cover] if result.cover else [])]):
        out.print(f"picture  {result.directory / picture}")
    passed = sum(outcome.passed for outcome in result.outcomes)
    out.print(f"{passed} of {len(result.outcomes)} experiments passed")
    for outcome in result.outcomes:
        if not outcome.passed and (reason := study.experiment(outcome.id).not_met):
            out.print(f"{outcome.id} is known not to: {reason}", wrap=True)
