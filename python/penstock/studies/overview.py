"""The table of all studies: one line each, with its picture and the verdicts on its experiments.

``penstock reproduce --all --document docs/studies`` stores the outcomes in ``outcomes.json`` there and
writes ``index.md`` from it. Documenting a single study again replaces its part of both.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from penstock import library, storage

from . import answer
from .description import UNDECIDED
from .document import table
from .reproduce import StudyResult

STORED, PAGE = "outcomes.json", "index.md"
COMMAND = "penstock reproduce --all --document docs/studies"


def keep(result: StudyResult, directory: Path, *, quick: bool) -> None:
    """Replaces a study's part of the stored outcomes, and writes the page from all of them."""
    path = directory / STORED
    stored = read(path) if path.is_file() else {}
    stored[result.study.name] = {
        "quick": quick,
        "title": result.study.title,
        "cover": Path(result.cover).name,
        "experiments": [answer.experiment(result, outcome) for outcome in result.outcomes],
    }
    known = [entry.name for entry in library.studies()]
    storage.write_json(path, {name: stored[name] for name in known if name in stored})
    (directory / PAGE).write_text(page(read(path)), "utf-8")


def read(path: Path) -> dict[str, Any]:
    """The stored outcomes, by study."""
    stored: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return stored


def page(stored: dict[str, Any]) -> str:
    """The page as text, with one line per study."""
    rows = [one for study in stored.values() for one in study["experiments"]]
    claims = [one for one in rows if one["kind"] == "source"]
    found = answer.verdicts(claims)
    left = found[UNDECIDED]
    undecided = f"; {left} {'is' if left == 1 else 'are'} not decided" if left else ""
    quick = [name for name, study in stored.items() if study["quick"]]
    parts = [
        "# Results of all studies",
        f"Of {len(claims)} claims of the sources, {found['reproduced']} are reproduced and "
        f"{found['not reproduced']} are not{undecided}. A claim is reproduced if the measurements meet the "
        "criterion on the page of its study; the page also states why a criterion is not met. Criteria over "
        "seeds are judged by the confidence interval of the mean, or by every run; a claim whose interval "
        "includes the bound is not decided. Each sentence of Hagen's dissertation is judged separately. "
        f"`{COMMAND}` runs every study and writes this page and its results, [{STORED}]({STORED}); "
        "`penstock reproduce --all --json` prints them. [Coverage of Hagen's dissertation](coverage.md), row "
        "by row.",
    ]
    if quick:
        parts.append(f"With fewer replications (`--quick`): {', '.join(quick)}.")
    parts.append(
        "Claims are results that a source reports. Checks compare the simulator with formulas and computed "
        "figures. Own questions go beyond the source. Calibrations, figures that follow from an input that a "
        "study takes from its source, are not counted."
    )
    heads = ("", "study", "claims reproduced", "checks met", "own met")
    parts.append(table(heads, [_line(name, study) for name, study in stored.items()]))
    return "\n\n".join(parts) + "\n"


def _line(name: str, study: dict[str, Any]) -> tuple[str, ...]:
    """Thumbnail, title and counts of a study; counts are bold if some experiments fail."""
    flat = name.replace("/", "-")
    cover = study.get("cover", "")
    picture = f'<img src="{flat}/{cover}" alt="" width="140">' if cover else ""
    counts = []
    for kind in ("source", "formula", "own"):
        passed = [one["passed"] for one in study["experiments"] if one["kind"] == kind]
        text = f"{sum(passed)} of {len(passed)}" if passed else ""
        counts.append(text if all(passed) else f"**{text}**")
    return (picture, f"[{study['title']}]({flat}.md)", *counts)
