"""Report page of conformance cases: stimulus, expectation, observation and verdict of each trial."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from .registry import Outcome

SHOWN = 12
"""Number of steps of a trial that are shown; the rest is collapsed."""


def page(against: str, outcomes: Sequence[Outcome], captures: Mapping[int, Path]) -> str:
    """Returns a complete HTML page; only the captures are separate files.

    Parameters
    ----------
    against : str
        Name of the device.
    outcomes : sequence of Outcome
        Outcomes in the order of the page.
    captures : mapping of int to Path
        Capture of each failed trial, by index in `outcomes`.
    """
    return "\n".join(_page(against, outcomes, captures))


def counts(outcomes: Sequence[Outcome]) -> str:
    """Number of cases and trials by verdict."""
    verdicts = [one.verdict for one in outcomes]
    entries = (f"{verdicts.count(word)} {word}" for word in ("pass", "fail", "not applicable"))
    numbers = {"case": len({one.case.id for one in outcomes}), "trial": len(outcomes)}
    tried = [f"{number} {what}{'' if number == 1 else 's'}" for what, number in numbers.items()]
    return f"{', '.join(tried)}: {', '.join(entries)}"


def _page(against: str, outcomes: Sequence[Outcome], captures: Mapping[int, Path]) -> Iterator[str]:
    from penstock.report.plain import head  # imported late: devices under test do not need it

    yield from head(f"Conformance: {against}")
    yield f"<main><h1>Conformance: {_text(against)}</h1><p>{counts(outcomes)}.</p>"
    yield '<section class="wide" tabindex="0" role="region" aria-label="Cases"><table>'
    yield "<tr><th>case<th>purpose<th>stimulus<th>expected<th>observed<th>verdict</tr>"
    for place, one in enumerate(outcomes):
        purpose = _text(one.case.purpose) + (f"<br>({_text(one.trial)})" if one.trial else "")
        yield f"<tr><td>{one.case.id}<td>{purpose}"
        if one.verdict == "not applicable":
            yield f'<td colspan="3" class="none">{_text(one.reason)}<td class="none">not applicable</tr>'
            continue
        yield f"<td>{_list(one.stimulus)}<td>{_list(one.expected)}<td>{_list(one.observed)}"
        yield f'<td class="{one.verdict}">{one.verdict}{_evidence(one, captures.get(place))}</tr>'
    yield "</table></section></main></body></html>"


def _evidence(one: Outcome, capture: Path | None) -> str:
    """The capture of a failed trial, and the octets that were sent."""
    if one.verdict != "fail":
        return ""
    link = f'<br><a href="{_text(capture.name)}">capture</a>' if capture else ""
    octets = "".join(f"<br>{time_s:g} s <code>{sent.octets.hex()}</code>" for time_s, sent in one.frames)
    return link + (f"<details><summary>frames sent</summary>{octets}</details>" if octets else "")


def _list(lines: Sequence[str]) -> str:
    first, rest = lines[:SHOWN], lines[SHOWN:]
    more = "<br>".join(map(_text, rest))
    folded = f"<details><summary>{len(rest)} more</summary>{more}</details>" if rest else ""
    return "<br>".join(map(_text, first)) + folded


def _text(text: str) -> str:
    return html.escape(text)
