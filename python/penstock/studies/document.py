"""The page of a study in Markdown: claims of the source, measurements, and all tables.

The page is written by ``penstock reproduce PAPER/PART --document DIRECTORY`` from the study's description
and its outcomes, so no figure on it can be older than the code that measured it.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path

from penstock import storage
from penstock.errors import InputError

from . import judging, search
from .description import UNDECIDED, VERDICTS
from .reproduce import Outcome, StudyResult, Table

_VERDICTS = {UNDECIDED, *(verdict for both in VERDICTS.values() for verdict in both)}
SEARCHED = "## Search over the open parameters"
_AFTER_SEARCH = r"^## (Departures from the source|Pictures)$"
_SEARCH_NOTES = {
    "search": "The number of the choice is in parentheses. Bold: no choice meets the bound. The best choice "
    "meets the bounds of most experiments and, among equals, has the smallest misses.",
    "search-choices": "Bold: different from the choice of the study.",
}
MOST_CELLS = 40
"""Cells of a table on the page, at most; a larger table is a file beside the page."""


def write(result: StudyResult, directory: Path, *, quick: bool = False) -> Path:
    """Writes ``PAPER-PART.md``, pictures and large tables into ``PAPER-PART/``; returns the page's path."""
    stem = result.study.name.replace("/", "-")
    beside = directory / stem
    beside.mkdir(parents=True, exist_ok=True)
    for name in (*_pictures(result), *(_file(one) for one in result.tables if _is_large(one))):
        shutil.copyfile(result.directory / name, beside / name)
    from penstock.plots.stamp import stamp

    for name in _pictures(result):
        stamp(beside / name, trajectories(result.study.folder))
    page = directory / f"{stem}.md"
    kept = beside / search.FOUND
    found = search.from_json(result.study, json.loads(kept.read_text("utf-8"))) if kept.is_file() else None
    page.write_text(markdown(result, quick=quick, searched=section(found) if found else ""), "utf-8")
    return page


def keep(found: search.Found, directory: Path) -> Path:
    """Stores a search beside the page of its study, and replaces the page's section on the search.

    Raises
    ------
    InputError
        If the study has no page there yet.
    """
    stem = found.search.study.name.replace("/", "-")
    page = directory / f"{stem}.md"
    if not page.is_file():
        raise InputError(
            f"{page}: no such page; penstock reproduce {found.search.study.name} --document writes it"
        )
    (directory / stem).mkdir(exist_ok=True)
    storage.write_json(directory / stem / search.FOUND, search.to_json(found))
    text = page.read_text("utf-8")
    before, _, after = text.partition(f"\n{SEARCHED}\n")
    rest = re.search(r"^## ", after, re.MULTILINE)
    kept = after[rest.start() :] if rest else ""
    if not after and (place := re.search(_AFTER_SEARCH, text, re.MULTILINE)):
        before, kept = text[: place.start()], text[place.start() :]
    parts = (before.rstrip(), section(found), kept.rstrip())
    page.write_text("\n\n".join(part for part in parts if part) + "\n", "utf-8")
    return page


def section(found: search.Found) -> str:
    """The section of a page on a search."""
    described = found.search
    open_ones = sum(len(one.values) > 1 for one in described.parameters)
    failed = sum(bool(one.error) for one in found.choices)
    met = len(found.met(found.best))
    experiments = len({criterion.id for criterion in described.criteria})
    parts = [
        SEARCHED,
        f"`penstock reproduce {described.study.name} --search` tries {len(found.choices)} choices of "
        f"{open_ones} open parameters, all varied together: the choice of the study (0), a Latin hypercube, "
        f"and changes of the best choice so far. The best choice meets the bounds of {met} of {experiments} "
        f"experiments, the choice of the study those of {len(found.met(found.choices[0]))}."
        + (f" {failed} choices cannot be measured." if failed else "")
        + (f" {described.note}" if described.note else ""),
        described.conclusion,
    ]
    for shown in search.tables(found):
        parts += [f"### {shown.title}", table(shown.columns, shown.rows), _SEARCH_NOTES.get(shown.name, "")]
    return "\n\n".join(part for part in parts if part)


def trajectories(folder: Path) -> str:
    """A digest of the pinned fingerprints of a study, which identify the data of its pictures."""
    return hashlib.sha256((folder / "fingerprints.json").read_bytes()).hexdigest()[:16]


def markdown(result: StudyResult, *, quick: bool = False, searched: str = "") -> str:
    """The page as text; pictures are named relative to a folder ``PAPER-PART/`` beside it.

    `searched` is the text of `section` for a search of the study.
    """
    study, stem = result.study, result.study.name.replace("/", "-")
    command = f"penstock reproduce {study.name}" + (" --quick" if quick else "")
    parts = [
        f"# {study.title}",
        f"Source: {study.citation or study.source}",
        study.summary.strip(),
        f"This page was written by `{command} --document docs/studies`. {_counted(result)}.",
    ]
    names = _pictures(result)
    if names:
        parts.append(f"![{Path(names[0]).stem}]({stem}/{names[0]})")
    parts.append("## Experiments")
    first = {outcome.criterion: outcome.id for outcome in reversed(result.outcomes)}
    parts.append(
        table(
            ("", "experiment", "the source reports", "criterion", "measured"),
            (
                (
                    _verdict(result, outcome),
                    " ".join(filter(None, (outcome.id, study.experiment(outcome.id).title))),
                    outcome.reported,
                    outcome.criterion
                    if first[outcome.criterion] == outcome.id
                    else f"as {first[outcome.criterion]}",
                    outcome.measured,
                )
                for outcome in result.outcomes
            ),
        )
    )
    parts += _notes(result)
    parts += _over_seeds(result)
    for shown in result.tables:
        if not _is_large(shown):
            parts += [f"## {shown.title}", table(shown.columns, shown.rows), shown.note]
    parts += _beside(result.tables, stem)
    if study.choices:
        parts.append("## Parameters that the source does not specify")
        rows = ((choice.what, choice.value, choice.why) for choice in study.choices)
        parts.append(table(("parameter", "chosen", "why"), rows))
    parts.append(searched)
    if study.departures:
        parts.append("## Departures from the source")
        parts.append("\n".join(f"- {d.what}" + (f" ({d.why})" if d.why else "") for d in study.departures))
    if len(names) > 1:
        parts.append("## Pictures")
        parts += [f"![{Path(name).stem}]({stem}/{name})" for name in names[1:]]
    return "\n\n".join(part for part in parts if part) + "\n"


def _notes(result: StudyResult) -> Iterator[str]:
    """Notes on experiments, and what was changed after a result had been seen."""
    said: dict[str, list[str]] = {}
    for outcome in result.outcomes:
        said.setdefault(outcome.note, []).append(outcome.id)
    notes = [f"- **{', '.join(alike)}**: {note}" for note, alike in said.items() if note]
    if notes:
        yield "### Notes"
        yield "\n".join(notes)
    revised = [f"- **{one.id}**: {one.revised}" for one in result.study.experiments if one.revised.strip()]
    if revised:
        yield "### Changed after a result was known"
        yield "\n".join(revised)


OVER_SEEDS = (
    "A bound on the mean is met if the whole 95 % confidence interval of the mean (Student t) is within it, "
    "and not met if the whole interval is outside. A bound on every run is met if every seed is within it, "
    "and not met if the 95 % confidence interval (Clopper-Pearson) of the fraction of such runs is below "
    "0.9. Otherwise it is not decided."
)


def _over_seeds(result: StudyResult) -> Iterator[str]:
    """The bounds of criteria that are judged over seeds, with the figures."""
    rows = [
        _figure(outcome.id, found)
        for outcome in result.outcomes
        if outcome.judgement.seeds
        for found in outcome.judgement.findings
    ]
    if rows:
        yield "### Figures over seeds"
        heads = (
            "",
            "figure",
            "bound",
            "seeds",
            "mean",
            "95 % interval",
            "range over seeds",
            "seeds within the bound",
            "",
        )
        yield table(heads, rows)
        yield OVER_SEEDS
    alike = [one.id for one in result.study.experiments if one.deterministic]
    if alike:
        yield f"One run each, without random numbers: {', '.join(alike)}."


def _figure(id: str, found: judging.Finding) -> tuple[str, ...]:
    """A bound of an experiment: the mean with its interval, or the share of runs on which it holds."""
    shown, finite = found.bound.shown.format, math.isfinite(found.mean)
    low, high = found.share
    if found.bound.every or not finite:
        bound, interval = f"{found.bound.text}, every run", f"{low:.0%} to {high:.0%} of runs"
    else:
        bound, interval = found.bound.text, f"{shown(found.low)} to {shown(found.high)}"
    return (
        id,
        found.bound.name,
        bound,
        str(len(found.values)),
        shown(found.mean) if finite else "",
        interval,
        f"{shown(min(found.values))} to {shown(max(found.values))}",
        str(found.holds),
        found.verdict if found.verdict == judging.MET else f"**{found.verdict}**",
    )


def _verdict(result: StudyResult, outcome: Outcome) -> str:
    said = result.verdict(outcome)
    return said if outcome.passed else f"**{said}**"


def _counted(result: StudyResult) -> str:
    """Number of experiments by verdict."""
    kinds = {outcome.id: result.study.experiment(outcome.id).kind for outcome in result.outcomes}
    record = {
        "source": "{} of {} claims of the source are reproduced",
        "formula": "{} of {} formulas agree",
        "own": "{} of {} questions beyond the source have a positive answer",
    }
    parts = []
    for kind, text in record.items():
        of = [outcome.passed for outcome in result.outcomes if kinds[outcome.id] == kind]
        if of:
            parts.append(text.format(sum(of), len(of)))
    return "; ".join(parts)


def _pictures(result: StudyResult) -> list[str]:
    """The pictures, the cover first, then those of the experiments."""
    pictures = (picture for outcome in result.outcomes for picture in outcome.pictures)
    return [name for name in dict.fromkeys((result.cover, *pictures)) if name]


def _beside(tables: Sequence[Table], stem: str) -> Iterator[str]:
    """Links to the large tables, with their notes; notes that several tables share appear once."""
    large = [table for table in tables if _is_large(table)]
    if not large:
        return
    yield "## Tables"
    for note, alike in groupby(large, key=lambda table: table.note):
        links = (f"- [{table.title}]({stem}/{_file(table)})" for table in alike)
        yield "\n".join(links)
        yield note


def _is_large(table: Table) -> bool:
    return len(table.columns) * len(table.rows) > MOST_CELLS


def _file(table: Table) -> str:
    return f"{table.name}.csv"


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""

    def line(cells: Iterable[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"

    return "\n".join([line(columns), "|" + "---|" * len(columns), *(line(row) for row in _once(rows))])


def _once(rows: Iterable[Sequence[str]]) -> Iterator[Sequence[str]]:
    """The rows, with the first cell left blank if it repeats that of the row above; verdicts are kept."""
    above = ""
    for row in rows:
        again = row[0] == above and row[0].strip("*") not in _VERDICTS
        yield ("", *row[1:]) if again else row
        above = row[0]
