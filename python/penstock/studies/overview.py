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
        "# What was reproduced, and what was not",
        f"Of {len(claims)} claims of the sources {found['reproduced']} are "
        f"reproduced and {found['not reproduced']} are not{undecided}. A claim is reproduced if what was "
        "measured meets the criterion that the page of its study names, which also has the reason if it is "
        "not. Where that page names seeds, the interval of the mean over them has to meet it, or each run; "
        "a claim whose interval includes the bound is not decided. "
        f"Sentences of Hagen's dissertation are judged one by one. `{COMMAND}` runs every study and writes "
        f"this page; its results are in [{STORED}]({STORED}), and `penstock reproduce --all --json` prints "
        "them. "
        "[What of Hagen's dissertation works](coverage.md), row by row.",
    ]
    if quick:
        parts.append(f"With fewer replications (`--quick`): {', '.join(quick)}.")
    parts.append(
        "Claims: what a source reports. Checks: formulas and computed figures, which try the simulator. Own: "
        "questions beyond the source. Figures that follow from an input that a study takes from its source "
        "are calibrations, and not counted."
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
