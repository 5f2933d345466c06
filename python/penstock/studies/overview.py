"""The table of all studies: experiment, the source's words, what came out, reproduced or not, and why.

``penstock reproduce --all --document docs/studies`` keeps what came out in ``outcomes.json`` there and writes
``index.md`` from it; a single study that is documented again replaces its own part of both.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from penstock import library, storage

from . import answer
from .document import table
from .reproduce import StudyResult

STORED, PAGE = "outcomes.json", "index.md"
COMMAND = "penstock reproduce --all --document docs/studies"
SECTIONS = {
    "source": ("What the sources report", "the source's words"),
    "formula": (
        "Formulas and computed figures: a check of the simulator, no reproduction",
        "what is computed",
    ),
    "own": ("Beyond the sources", "what was asked"),
}


def keep(result: StudyResult, directory: Path, *, quick: bool) -> None:
    """Replaces a study's part of the stored outcomes, and writes the page from all of them."""
    path = directory / STORED
    stored = read(path) if path.is_file() else {}
    stored[result.study.name] = {
        "quick": quick,
        "title": result.study.title,
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
    """The page as text."""
    rows = [one for study in stored.values() for one in study["experiments"]]
    found = answer.verdicts(rows)
    quick = [name for name, study in stored.items() if study["quick"]]
    parts = [
        "# What was reproduced, and what was not",
        f"Of {found['reproduced'] + found['not reproduced']} claims of the sources {found['reproduced']} are "
        f"reproduced and {found['not reproduced']} are not. A claim is reproduced if what was measured "
        "meets the criterion that the page of its study names; sentences of Hagen's dissertation are judged "
        f"one by one. `{COMMAND}` runs every study and writes this page, "
        f"its results are in [{STORED}]({STORED}), and "
        "`penstock reproduce --all --json` prints them. "
        "[What of Hagen's dissertation works](coverage.md), row by row.",
    ]
    if quick:
        parts.append(f"With fewer replications (`--quick`): {', '.join(quick)}.")
    for kind, (title, words) in SECTIONS.items():
        shown = [one for one in rows if one["kind"] == kind]
        parts += [f"## {title}", table(("experiment", words, "what came out", "", "why not"), _cells(shown))]
    return "\n\n".join(parts) + "\n"


def _cells(rows: Sequence[dict[str, Any]]) -> list[tuple[str, ...]]:
    return [
        (
            f"[{one['id']}]({one['study'].replace('/', '-')}.md) {one['title']}".strip(),
            one["criterion"] if one["kind"] == "own" else one["reported"],
            one["measured"],
            one["verdict"] if one["passed"] else f"**{one['verdict']}**",
            one["why"],
        )
        for one in rows
    ]
