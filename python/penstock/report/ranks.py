"""The page of a job: times, collectives and critical path, the timeline of its ranks, and their traffic.

One self-contained HTML file. The timeline is drawn on a canvas from packed arrays, so that a thousand ranks
need only a few megabytes and no DOM elements.
"""

from __future__ import annotations

import base64
import html
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.analysis import critical_path
from penstock.analysis.jobs import bandwidth, chosen, sentences, unfinished
from penstock.analysis.rank_bars import bars_of
from penstock.analysis.rank_steps import NEVER, Steps, steps_of
from penstock.analysis.rank_times import rank_times
from penstock.measurements import of_result
from penstock.units import count, duration, share, size

from .page import script_json
from .plain import head

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from penstock.measurements import Measurements

TEMPLATE = Path(__file__).with_name("ranks.html")
PLACEHOLDER = "__PENSTOCK_RANKS__"
_RESOLUTION = 2**31
"""Number of units of the time axis."""
_ROWS_SHOWN = 100
"""Maximum number of rows of a table."""
_CSS = (
    "canvas{width:100%;display:block;border:1px solid var(--line);touch-action:none}"
    ".legend i{display:inline-block;width:.8em;height:.8em;margin:0 .3em 0 1em;border-radius:2px}"
)


@of_result
def write(result: Measurements, path: Path, job: str | None = None) -> None:
    """Writes the page of a job.

    Parameters
    ----------
    result : Result
        Result of the run.
    path : Path
        Output file.
    job : str, optional
        Name of the job. Default: the first one.

    Raises
    ------
    InputError
        If there is no such job.
    OSError
        If the file cannot be written.
    """
    path.write_text("".join(_page(result, chosen(result, job))), "utf-8")


def _page(result: Measurements, own: Mapping[str, Any]) -> Iterator[str]:
    job = own["job"]
    yield from head(f"{job}: {result.name}")
    yield f"<style>{_CSS}</style><main><h1>{_text(job)} of {_text(result.name)}</h1>"
    judged = result.verdict if hasattr(result, "verdict") else None
    if judged is not None:
        yield f'<p class="verdict {judged.tone}">{_text(judged)}</p>'
    yield from _summary(result, own)
    yield from _path(result, job)
    yield from _iterations(result, job)
    steps = steps_of(result, job)
    yield from _ranks(result, own, steps)
    if steps is None or not own["recorded"]:
        yield "<section><h2>Timeline by rank</h2><p>No iteration is recorded: increase "
        yield "<code>timeline_rows</code> of the job.</p></section>"
    else:
        content, note = _content(result, job, steps)
        if note:
            yield f'<p class="none">{_text(note)}</p>'
        yield TEMPLATE.read_text("utf-8").replace(PLACEHOLDER, script_json(content))
    yield "</main></body></html>\n"


def _summary(result: Measurements, own: Mapping[str, Any]) -> Iterator[str]:
    what = " ".join(filter(None, (own["collective"], own["algorithm"])))
    rows = [
        ("ranks", count(own["ranks"])),
        ("collective", what),
        ("bytes", size(own["bytes"]) if own["bytes"] else "-"),
        ("iterations", f"{count(own['finished'])} of {count(own['iterations'])}"),
        ("iteration time", duration(own["step_ns"])),
        ("computation", _of(own["compute_ns"], own["step_ns"])),
        ("exposed communication and waits", _of(own["exposed_ns"], own["step_ns"])),
    ]
    times = rank_times(result, own["job"])
    if times:
        total = sum(one.total for one in times)
        exposed, bubble = (sum(getattr(one, name) for one in times) for name in ("exposed", "bubble"))
        rows.append(("messages in flight (share of the first iteration)", share(exposed / total)))
        rows.append(("bubble (share of the first iteration)", share(bubble / total)))
    if own["bus_bps"]:
        rows.append(("algorithm bandwidth", bandwidth(own["algorithm_bps"])))
        bound = f"{bandwidth(own['bound_bps'])}, {share(own['bus_bps'] / own['bound_bps'])} of it"
        rows.append(("bus bandwidth", f"{bandwidth(own['bus_bps'])} (bound: {bound})"))
    yield "<section><h2>Summary</h2><table>"
    yield from (f"<tr><th>{_text(name)}</th><td>{_text(value)}</td></tr>" for name, value in rows)
    yield "</table></section>"
    for chain in unfinished(result):
        if chain.job == own["job"]:
            yield '<section><h2>Unfinished</h2><p class="failed">'
            yield " ".join(map(_text, sentences(chain)))
            yield "</p></section>"


def _of(part: float | None, whole: float | None) -> str:
    return f"{duration(part)} ({share(part / whole)})" if part is not None and whole else duration(part)


def _path(result: Measurements, job: str) -> Iterator[str]:
    lines = list(critical_path.sentences(result, job))
    if lines:
        yield "<section><h2>Critical path</h2>"
        yield from (f"<p>{_text(line.strip())}</p>" for line in lines)
        yield "</section>"


def _iterations(result: Measurements, job: str) -> Iterator[str]:
    rows = [row for row in result.rows("collectives") if row["job"] == job]
    heads = ("iteration", "begins", "time", "bound", "algorithm", "bus", "straggler", "slowest rank")
    body = [
        (
            count(row["iteration"]),
            duration(row["start_ns"]),
            duration(row["time_ns"]),
            duration(row["bound_ns"]),
            bandwidth(row["algorithm_bps"]),
            bandwidth(row["bus_bps"]),
            share(row["straggler"]),
            row["slowest_rank"],
        )
        for row in rows[:_ROWS_SHOWN]
    ]
    yield from _table("Collectives", heads, body, len(rows), "collectives")


def _ranks(result: Measurements, own: Mapping[str, Any], steps: Steps | None) -> Iterator[str]:
    times = rank_times(result, own["job"]) if steps is not None else []
    if steps is None or not times:
        return
    heads = ("rank", "host", "computation", "messages in flight", "bubble")
    body = [
        (
            count(one.rank),
            steps.hosts[one.rank],
            *(share(part / one.total) for part in (one.computation, one.exposed, one.bubble)),
        )
        for one in sorted(times, key=lambda one: -one.bubble)[:_ROWS_SHOWN]
    ]
    yield from _table("Ranks in the first iteration, largest bubble first", heads, body, len(times), "")


def _table(
    title: str, heads: Sequence[str], body: Sequence[Sequence[str]], total: int, name: str
) -> Iterator[str]:
    yield f'<section><h2>{_text(title)}</h2><div class="wide"><table><tr>'
    yield "".join(f"<th>{_text(head)}</th>" for head in heads) + "</tr>"
    for row in body:
        yield "<tr>" + "".join(f'<td class="number">{_text(cell)}</td>' for cell in row) + "</tr>"
    yield "</table></div>"
    if total > len(body):
        more = f" (table {name} of the result)" if name else ""
        yield f'<p class="none">{count(total - len(body))} more rows{_text(more)}</p>'
    yield "</section>"


def _content(result: Measurements, job: str, steps: Steps) -> tuple[dict[str, Any], str]:
    bars = bars_of(steps)
    start = int(bars.begin.min()) if len(bars.begin) else 0
    stop = int(bars.end.max()) if len(bars.end) else 1
    unit = max((stop - start) / _RESOLUTION, 1.0)
    ranks = len(steps.hosts)
    first = np.searchsorted(bars.rank, np.arange(ranks + 1))
    traffic = [row for row in result.rows("messages") if row["job"] == job]

    def scaled(times: NDArray[Any]) -> NDArray[Any]:
        return np.rint((times - start) / unit)

    def packed(values: NDArray[Any], kind: str) -> str:
        return base64.b64encode(np.ascontiguousarray(values.astype(kind)).tobytes()).decode()

    content = {
        "job": job,
        "hosts": steps.hosts,
        "start_ns": start / 1e3,
        "unit_ns": unit / 1e3,
        "span": (stop - start) / unit,
        "iterations": _windows(steps, start, unit),
        "steps": {
            "rank": packed(bars.rank, "<u4"),
            "kind": packed(bars.layer, "u1"),
            "begin": packed(scaled(bars.begin), "<u4"),
            "end": packed(scaled(bars.end), "<u4"),
            "peer": packed(bars.peer, "<u4"),
            "bytes": packed(bars.size, "<f8"),
            "first": packed(first, "<u4"),
        },
        "traffic": {
            "rank": [row["rank"] for row in traffic],
            "peer": [row["peer"] for row in traffic],
            "bytes": [row["bytes"] for row in traffic],
        },
    }
    note = ""
    if bars.joined:
        note = (
            f"For this page {count(bars.joined)} of {count(len(steps))} steps were merged with others that "
            "nearly touch them; the table rank_steps contains all of them."
        )
    return content, note


def _windows(steps: Steps, start: int, unit: float) -> list[list[float]]:
    """Start and end of each recorded iteration that has ended, in units of the page."""
    found = []
    for iteration in range(min(int(steps.iteration.max()) + 1, 1_000)):
        own = steps.of_iteration(iteration)
        ended = steps.end[own]
        if len(own) and (ended < NEVER).all():
            found.append(
                [(int(steps.requested[own].min()) - start) / unit, (int(ended.max()) - start) / unit]
            )
    return found


def _text(value: object) -> str:
    return html.escape(str(value))
