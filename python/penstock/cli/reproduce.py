"""``penstock reproduce``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from penstock.errors import InputError, StudyError
from penstock.studies import answer
from penstock.studies import reproduce as studies

from . import EXIT_DONE, EXIT_FAILED
from .console import Mark, Table, aside, console, print_json, say


def reproduce(
    study: str | None = None,
    /,
    *experiments: str,
    all: Annotated[bool, Parameter(negative=())] = False,
    quick: Annotated[bool, Parameter(negative=())] = False,
    search: Annotated[bool, Parameter(negative=())] = False,
    out: Path = Path("out/reproduce"),
    json: Annotated[bool, Parameter(negative=())] = False,
    document: Path | None = None,
) -> int:
    """Reproduces published experiments or your own study, and compares them with their source.

    After an interruption, repeat the command to resume.

    Parameters
    ----------
    study
        PAPER or PAPER/PART as printed by "penstock list", or a folder with your own studies, such as
        ./my-study. Default: all studies of the package.
    experiments
        Experiments to show and judge, such as H7-8. The whole study runs in any case. Default: all
        experiments of the study.
    all
        Runs every study and prints one table: experiment, claim of the source, outcome, reproduced or not,
        and why.
    quick
        Runs fewer replications, for a first look.
    search
        Varies all parameters that the source leaves open, instead of running the study, and reports how
        closely each criterion can be met. For studies with a list of these parameters (search.toml).
    out
        Directory for pictures and outcomes, with a subdirectory for each study.
    json
        Prints one JSON object instead of tables.
    document
        Directory for a Markdown page with pictures per study, and for the overview table.
    """
    if all and study is not None:
        raise InputError(f"--all runs every study; remove {study!r} or --all")
    if experiments and search:
        raise InputError(f"--search applies to a whole study; remove {' '.join(experiments)}")
    if search:
        return _search(study, out, json=json, document=document)
    results = []
    chosen = studies.find(study)
    if experiments:
        _check(chosen, experiments)
    for found in chosen:
        say(f"{found.name}: {found.title}")
        with aside():  # output of a study is not part of the answer
            made = studies.reproduce(found, out / found.name, quick=quick, say=_say_progress)
            shown = tuple(one for one in made.outcomes if one.id in experiments)
            results.append(replace(made, outcomes=shown) if experiments else made)
        if document is not None:
            from penstock.studies import document as pages
            from penstock.studies import overview

            say(f"page  {pages.write(results[-1], document, quick=quick)}")
            overview.keep(results[-1], document, quick=quick)
        if not (json or all):
            _show(results[-1])
    reported = answer.to_json(results, study or "all")
    if json:
        print_json(reported)
    elif all:
        _show_all(reported)
    return EXIT_DONE if reported["passed"] else EXIT_FAILED


def _check(chosen: Sequence[studies.Study], experiments: Sequence[str]) -> None:
    """Rejects experiments that the study does not contain."""
    if len(chosen) != 1:
        names = ", ".join(one.name for one in chosen[:5])
        raise InputError(f"{' '.join(experiments)}: name the study as well; expected one of {names}")
    try:
        for one in experiments:
            chosen[0].experiment(one)
    except StudyError as error:
        raise InputError(str(error)) from None


def _search(study: str | None, out: Path, *, json: bool, document: Path | None) -> int:
    """Runs the searches of all studies that have one."""
    from penstock.studies import document as pages
    from penstock.studies import search as searches

    chosen = studies.find(study)
    known = [one for one in chosen if (one.folder / searches.DESCRIPTION).is_file()]
    entries = []
    for one in known or chosen[:1]:  # without any, the first one raises the error
        say(f"{one.name}: {one.title}")
        with aside():
            found = searches.search(one, out / f"{one.name}-search", say=_say_progress)
        entries.append(searches.to_json(found))
        if document is not None:
            say(f"page  {pages.keep(found, document)}")
        for shown in [] if json else searches.tables(found):
            cells = Table(shown.title, *shown.columns)
            for row in shown.rows:
                cells.add_row(*(cell.replace("**", "") for cell in row))
            console().print(cells)
    if json:
        print_json({"schema": searches.SCHEMA, "searches": entries})
    return EXIT_DONE


def _say_progress(text: str) -> None:
    say(f"  {text}")


def _show_all(document: Mapping[str, Any]) -> None:
    """Prints one table of all experiments."""
    out = console()
    shown = Table("", "experiment", "source", "result", "", "reason", lines=True)
    for one in document["experiments"]:
        verdict = Mark(one["verdict"], "green" if one["passed"] else "yellow" if one["why"] else "red")
        shown.add_row(
            f"{one['study']} {one['id']}", one["reported"], one["measured"].split("\n"), verdict, one["why"]
        )
    out.print(shown)
    out.print(", ".join(f"{count} {verdict}" for verdict, count in document["verdicts"].items() if count))


def _show(result: studies.StudyResult) -> None:
    out = console()
    study = result.study
    out.print()
    out.print(study.title, style="bold")
    out.print(study.source, wrap=True)
    shown = Table("", "", "experiment", "criterion", "source", "measured", lines=True)
    for outcome in result.outcomes:
        notes = [f"({text})" for text in (outcome.judgement.why, outcome.note) if text]
        measured = [*outcome.measured.split("\n"), *notes]
        described = study.experiment(outcome.id)
        verdict_text = result.verdict(outcome)
        known = described.not_met or not outcome.decided
        failed = Mark(f"{'✗' if outcome.decided else '-'} {verdict_text}", "yellow" if known else "red")
        mark = Mark(f"✓ {verdict_text}", "green") if outcome.passed else failed
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
        out.print("Parameters that the source leaves open:")
        for choice in study.choices:
            reason = "" if result.quick else f" ({choice.why})"
            out.print(f"- {choice.what}: {choice.value}{reason}", wrap=True)
    if study.departures:
        out.print("Departures from the source:")
        for departure in study.departures:
            why = f" ({departure.why})" if departure.why and not result.quick else ""
            out.print(f"- {departure.what}{why}", wrap=True)
    pictures = [picture for outcome in result.outcomes for picture in outcome.pictures]
    for picture in dict.fromkeys([*pictures, *([result.cover] if result.cover else [])]):
        out.print(f"picture  {result.directory / picture}")
    counted = answer.verdicts([answer.experiment(result, outcome) for outcome in result.outcomes])
    out.print(", ".join(f"{count} {verdict}" for verdict, count in counted.items() if count))
    for outcome in result.outcomes:
        if why := result.not_met(outcome):
            out.print(f"{outcome.id}, {result.verdict(outcome)}: {why}", wrap=True)
    if result.quick:
        out.print("Quick run: explanations are omitted, since they quote figures of the full run.")
