"""Writes the pages of a validation: ``docs/validation.md``, and a page and a table per topic."""

from __future__ import annotations

import csv
import hashlib
import math
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

from . import TOPICS, Outcome, numbers
from .bench import QUICK_COARSER, QUICK_REPLICATIONS, QUICK_SHORTER, REPLICATIONS
from .registry import FALSE_ALARM, ROWS, Row

PICTURE = "validation.png"
WIDTH = 110
MADE_BY = "<!-- Made by `penstock validate --write docs/validation.md`; do not edit. -->"
JUDGED = "judging.md"
KINDS = {"exact": "equal", "interval": "by interval", "tolerance": "within a tolerance", "bound": "by bound"}


def write(outcomes: Sequence[Outcome], document: Path, *, quick: bool) -> None:
    """Writes the index, a folder of topic pages with the same name, and a picture in the folder ``images``.

    Raises
    ------
    OSError
        If a file cannot be written.
    """
    from penstock.plots.stamp import stamp

    from .picture import draw

    images, folder = document.parent / "images", document.with_suffix("")
    for directory in (images, folder):
        directory.mkdir(parents=True, exist_ok=True)
    pages = {JUDGED: _judging(outcomes, quick=quick)}
    for topic, own in by_topic(outcomes).items():
        pages[f"{topic}.md"] = _topic(topic, own, document.name)
        with (folder / f"{topic}.csv").open("w", encoding="utf-8", newline="") as file:
            rows = _table(own)
            table = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
            table.writeheader()
            table.writerows(rows)
    draw(folder, {topic: TOPICS[topic] for topic in by_topic(outcomes)}, images / PICTURE)
    stamp(images / PICTURE, rows_of(folder))
    for name, lines in pages.items():
        (folder / name).write_text("\n".join(lines) + "\n", "utf-8")
    document.write_text("\n".join(_index(outcomes, folder.name, quick=quick)) + "\n", "utf-8")


def rows_of(folder: Path) -> str:
    """Returns a digest of the rows of all topics, which are the content of the picture."""
    rows = b"".join(path.read_bytes() for path in sorted(folder.glob("*.csv")))
    return hashlib.sha256(rows).hexdigest()[:16]


def by_topic(outcomes: Sequence[Outcome]) -> dict[str, list[Outcome]]:
    """Returns the outcomes of each topic, in the order of `TOPICS`."""
    found = {topic: [one for one in outcomes if one.case.topic == topic] for topic in TOPICS}
    return {topic: own for topic, own in found.items() if own}


def _index(outcomes: Sequence[Outcome], folder: str, *, quick: bool) -> Iterator[str]:
    rows = [row for outcome in outcomes for row in outcome.rows]
    yield from ("# Validation", "", MADE_BY, "")
    yield from _wrapped(
        f"**{sum(row.passed for row in rows)} of {len(rows)} measurements agree** with queueing theory, "
        "exact arithmetic, or the delay accounting of the standards."
    )
    if quick:
        yield from ("", "**This is the quick form.**")
    yield from ("", "```sh")
    yield "penstock validate                   # everything: about two minutes on two cores"
    yield "penstock validate md1 headroom      # some cases"
    yield "penstock validate md1 --scenario    # prints the scenario of a case"
    yield "penstock validate --quick           # short runs and wide intervals, as in the tests"
    yield "penstock validate --write docs/validation.md"
    yield from ("```", "")
    yield "| topic | cases | rows | agree | largest deviation |"
    yield "|---|---|--:|--:|--:|"
    for topic, own in by_topic(outcomes).items():
        of_topic = [row for outcome in own for row in outcome.rows]
        agree = sum(row.passed for row in of_topic)
        cases = ", ".join(f"`{outcome.case.name}`" for outcome in own)
        cells = (f"[{TOPICS[topic]}]({folder}/{topic}.md)", cases, len(of_topic), agree, _largest(of_topic))
        yield f"| {' | '.join(map(str, cells))} |"
    yield ""
    yield from _wrapped(
        "*equal* means that every row is equal to the picosecond, byte or frame. Other rows are random, "
        "approximate theory, or are bounds. "
        f"[How a row is judged]({folder}/{JUDGED}). [All deviations in one picture](images/{PICTURE})."
    )
    yield from ("", "Not compared yet:", "")
    yield from _bullet("Random outages and restarts of switches: the engine's tests count their losses.")


def _largest(rows: Sequence[Row]) -> str:
    """Returns the largest deviation from theory among rows that have one."""
    found = [abs(row.difference) for row in rows if row.rule in ("interval", "tolerance")]
    known = [difference for difference in found if math.isfinite(difference)]
    return f"{100 * max(known):.2f} %" if known else "equal"


def _judging(outcomes: Sequence[Outcome], *, quick: bool) -> Iterator[str]:
    random = [row for outcome in outcomes for row in outcome.rows if row.rule == "interval"]
    outside = sum(row.probability < FALSE_ALARM for row in random)
    yield from ("# How a row is judged", "", MADE_BY, "")
    yield from _bullet("*equal*: the measurement equals theory to the picosecond, byte or frame.")
    replications = QUICK_REPLICATIONS if quick else REPLICATIONS
    yield from _bullet(
        f"*interval*: theory lies within the Student-t interval of {replications} replications with fixed "
        f"seeds. Each row is tested at {100 * FALSE_ALARM:g} % / {ROWS} (Bonferroni), so that a correct "
        f"simulator fails any row of the document with a probability of at most {100 * FALSE_ALARM:g} %. "
        "The half-width of the 99 % interval must not exceed the stated limit; p is the "
        "probability that a correct simulator deviates at least as much."
    )
    yield from _bullet("*within*: theory is approximate; the mean lies within the stated share of it.")
    yield from _bullet(
        "*bound*: theory is a limit. The worst case measured does not exceed it, and reaches the stated "
        "share of it, so that the limit was tested."
    )
    yield ""
    yield from _wrapped(
        f"{outside} of {len(random)} random rows {'has' if outside == 1 else 'have'} p below "
        f"{FALSE_ALARM:g}; {FALSE_ALARM * len(random):.1f} are expected. Rows of one run are not independent."
    )
    yield ""
    yield from _wrapped(
        f"The quick form runs {QUICK_REPLICATIONS} replications of {100 / QUICK_SHORTER:g} % of the length "
        f"and accepts intervals {QUICK_COARSER:g} times as wide."
    )


def _topic(topic: str, outcomes: Sequence[Outcome], index: str) -> Iterator[str]:
    yield from (f"# {TOPICS[topic]}", "", MADE_BY, "")
    yield f"[All rows]({topic}.csv), [how they are judged]({JUDGED}), [other topics](../{index})."
    for outcome in outcomes:
        yield from _section(outcome)


def _section(outcome: Outcome) -> Iterator[str]:
    case = outcome.case
    yield from ("", f'<a id="{case.name}"></a>', "", f"## {case.title}", "")
    yield from _wrapped(case.compared)
    yield ""
    yield from _wrapped(f"**Theory.** {case.formula}")
    yield ""
    yield from _wrapped("**Source.** " + "; ".join(case.sources) + ".")
    yield ""
    yield from _wrapped("**Limits.** " + " ".join(case.ends))
    yield ""
    yield from _wrapped(_found(outcome.rows))
    for row in outcome.rows:
        if not row.passed:
            theory, measured, *_ = numbers.cells(row)
            yield from (
                "",
                *_bullet(f"✗ {row.quantity}: theory {theory}, measured {measured}; {row.verdict}."),
            )


def _found(rows: Sequence[Row]) -> str:
    """Returns the number of rows by rule, and the largest deviation."""
    kinds = (f"{len(alike)} {kind}" for kind, alike in _by_kind(rows) if alike)
    reasons = dict.fromkeys(row.reason for row in rows if row.reason)
    summary = f"**Rows.** {', '.join(kinds)}; largest deviation: {_largest(rows)}."
    return summary + (f" Not exact: {'; '.join(reasons)}." if reasons else "")


def _by_kind(rows: Sequence[Row]) -> Iterator[tuple[str, list[Row]]]:
    for rule, kind in KINDS.items():
        yield kind, [row for row in rows if row.rule == rule]


def _table(outcomes: Sequence[Outcome]) -> list[dict[str, str]]:
    """Returns all rows of a topic, for a CSV file."""
    return [
        {
            "case": outcome.case.name,
            "quantity": row.quantity,
            "theory": theory,
            "measured": measured,
            "deviation": deviation,
            "interval_99": interval,
            "p": chance,
            "judged_by": numbers.rule(row),
            "verdict": row.verdict,
        }
        for outcome in outcomes
        for row in outcome.rows
        for theory, measured, interval, deviation, chance in (numbers.cells(row),)
    ]


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, break_long_words=False, break_on_hyphens=False)


def _bullet(text: str) -> list[str]:
    first, *rest = _wrapped(text)
    return [f"- {first}", *(f"  {line}" for line in rest)]
