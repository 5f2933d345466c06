"""The page of a sweep: pictures, summary, and a table of runs with links."""

from __future__ import annotations

import html
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from penstock.report.plain import head
from penstock.units import written

from .labels import labels_of
from .outcome import Outcome, replace_file
from .plan import Plan

MAX_SUMMARY_ROWS = 2_000


def write_page(plan: Plan, outcome: Outcome, pictures: Sequence[Path]) -> Path:
    """Writes ``report.html`` next to the tables of a sweep; returns its path."""
    target = outcome.directory / "report.html"
    text = "\n".join(_page(plan, outcome, [path for path in pictures if path.suffix == ".svg"]))
    replace_file(target, lambda path: path.write_text(text, "utf-8"))
    return target


def _page(plan: Plan, outcome: Outcome, pictures: Sequence[Path]) -> Iterable[str]:
    name = str(plan.base.to_dict().get("simulation", {}).get("name", "scenario"))
    runs = outcome.table("runs").to_pylist()
    failed = len(outcome.failures())
    yield from head(f"{name}: a sweep")
    yield f"<main><h1>{_text(name)}: {len(plan.settings)} points, {len(runs)} runs</h1>"
    judged = outcome.verdict
    yield f'<p class="verdict {judged.tone}">{_text(judged)}</p>'
    if outcome.unfinished_differ:
        yield '<p class="verdict warn">Points left different shares of their transfers unfinished: '
        yield "statistics exclude these, so they compare different sets of transfers.</p>"
    if failed:
        yield f'<p class="failed">{failed} runs failed: see the table of runs for the errors.</p>'
    yield '<p>The plan is <a href="sweep.toml">sweep.toml</a>, the tables are '
    yield '<a href="runs.parquet">runs</a>, <a href="metrics.parquet">metrics</a> and '
    yield '<a href="summary.parquet">summary</a>.</p>'
    for picture in pictures:
        source = quote(os.path.relpath(picture, outcome.directory).replace(os.sep, "/"))
        yield f'<section><img src="{source}" alt="{_text(picture.stem)}"></section>'
    yield from _summary(plan, outcome)
    yield from _runs(plan, outcome, runs)
    yield "</main></body></html>"


def _summary(plan: Plan, outcome: Outcome) -> Iterable[str]:
    rows = outcome.table("summary").to_pylist()
    keys = [*plan.values, *plan.derive]
    labels = labels_of(rows, keys)
    yield "<section><h2>Means over the seeds, with 95 % intervals</h2>"
    if len(rows) > MAX_SUMMARY_ROWS:
        yield f"<p>First {MAX_SUMMARY_ROWS:,} of {len(rows):,} rows; all are in summary.parquet.</p>"
    body = (
        [_cell(row["point"])]
        + [_cell(_value(row[key], labels[key])) for key in keys]
        + [_cell(row["metric"]), _cell(row["entity"]), _cell(row["unfinished"], number=True)]
        + [_cell(written(row["mean"], row["unit"]), number=True), _cell(_band(row), number=True)]
        for row in rows[:MAX_SUMMARY_ROWS]
    )
    yield from _table(["point", *keys, "measure", "of", "unfinished", "mean", "±"], body)


def _runs(plan: Plan, outcome: Outcome, runs: Sequence[dict[str, Any]]) -> Iterable[str]:
    keys = [*plan.values, *plan.derive]
    labels = labels_of(runs, keys)
    kept = {path.name for path in (outcome.directory / "runs").glob("*")}
    yield "<section><h2>Runs</h2>"
    body = (
        [_cell(row["point"]), _cell(row["seed"])]
        + [_cell(_value(row[key], labels[key])) for key in keys]
        + [
            f"<td>{_link(row, kept)}</td>",
            _cell(row["verdict_text"]),
            f'<td class="failed">{_text(_first(row["error"]))}</td>',
        ]
        for row in runs
    )
    yield from _table(["point", "seed", *keys, "run", "verdict", "error"], body)


def _link(row: dict[str, Any], kept: set[str]) -> str:
    """Link to the report of a run, or to its record; for a failed run, to its scenario."""
    run = str(row["run"])
    place = f"runs/{run}/report.html" if run in kept else f"runs/{run}.json"
    if row["error"]:
        place = f"failed/{run}.toml"
    return f'<a href="{quote(place)}">{_text(run[:16])}</a>'


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterable[str]:
    yield (
        '<div class="wide" tabindex="0" role="region" aria-label="Table"><table><tr>'
        + "".join(f"<th>{_text(one)}</th>" for one in head)
        + "</tr>"
    )
    for row in rows:
        yield "<tr>" + "".join(row) + "</tr>"
    yield "</table></div></section>"


def _cell(value: Any, *, number: bool = False) -> str:
    shown = "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
    return f"<td{' class=number' if number else ''}>{_text(shown)}</td>"


def _value(value: Any, labels: Mapping[Any, str]) -> Any:
    """Label of a value, or the value if it has none."""
    return labels[value] if isinstance(value, str) else value


def _band(row: dict[str, Any]) -> str:
    return written(row["half_width"], row["unit"])


def _first(text: str) -> str:
    """First line of an error."""
    return text.strip().partition("\n")[0]


def _text(value: object) -> str:
    return html.escape(str(value))
