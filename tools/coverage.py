"""Coverage of Hagen's dissertation: writes docs/studies/coverage.md from docs/studies/coverage.csv.

    python tools/coverage.py            writes the page
    python tools/coverage.py --check    checks that it is up to date with its rows (exit code 1: stale)

A row with the status works, partly or differs names its proof: `conform CASE`, `validate CASE`, `reproduce
STUDY [EXPERIMENT]`, `explain TOPIC`, `penstock COMMAND`, or `test FILE::NAME`. The page shows each proof as a
complete command. `tests/house/test_coverage.py` runs the commands, and compares rows that work with
experiments.
"""

from __future__ import annotations

import csv
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from penstock.studies.document import table

ROOT = Path(__file__).parent.parent
ROWS = ROOT / "docs/studies/coverage.csv"
PAGE = ROOT / "docs/studies/coverage.md"
STATUS = {
    "works": "ran, and agrees with the text",
    "partly": "the mechanism is there, not all of it",
    "differs": "runs, but the figure or the order is not that of the source",
    "absent": "not there",
    "n/a": "no system: counts of devices, lists",
}


@dataclass(frozen=True)
class Row:
    """A subject of the dissertation, and the proof of its status."""

    number: int
    chapter: int
    section: str
    item: str
    status: str
    proof: tuple[str, ...]
    remark: str


def rows() -> list[Row]:
    """The rows of the file."""
    with ROWS.open(encoding="utf-8", newline="") as file:
        return [
            Row(
                int(one["row"]),
                int(one["chapter"]),
                one["section"],
                one["item"],
                one["status"],
                tuple(filter(None, one["proof"].split("; "))),
                one["remark"],
            )
            for one in csv.DictReader(file)
        ]


def page(found: list[Row]) -> str:
    """The page as text."""
    counted = Counter(row.status for row in found)
    by_chapter = Counter((row.chapter, row.status) for row in found)
    chapters = sorted({row.chapter for row in found})
    parts = [
        "# Coverage of Hagen's dissertation",
        f"M. Hagen, Fairness in a data center, University of New Hampshire, 2012, in {len(found)} rows: "
        + ", ".join(f"{counted[status]} {status}" for status in STATUS)
        + ". Absent are, among others, the works that chapters 2 and 6 only survey. "
        "[Results of all studies](index.md) lists the result of each experiment. "
        "This page is written by `python tools/coverage.py` from [coverage.csv](coverage.csv).",
        table(("status", "meaning", "rows"), [(s, STATUS[s], str(counted[s])) for s in STATUS]),
        table(
            ("chapter", *STATUS),
            [(str(chapter), *(str(by_chapter[chapter, s]) for s in STATUS)) for chapter in chapters],
        ),
        "## Rows",
        table(
            ("row", "section", "the source", "status", "shown by", "remark"),
            [
                (
                    str(row.number),
                    row.section,
                    row.item,
                    row.status,
                    ", ".join(f"`{shown(proof)}`" for proof in row.proof),
                    row.remark,
                )
                for row in found
            ],
        ),
    ]
    return "\n\n".join(parts) + "\n"


def shown(proof: str) -> str:
    """Returns the complete command of a proof; for a test, its name."""
    kind, _, rest = proof.partition(" ")
    if kind == "conform":
        # DCBX cases run against an agent, all others against a port.
        device = "agent" if rest.startswith("DX-") else "sim"
        return f"penstock conform --against {device} --case {rest}"
    return proof if kind == "penstock" else rest if kind == "test" else f"penstock {kind} {rest}"


def commands(found: list[Row]) -> dict[str, None]:
    """Returns the distinct commands of the page, in row order."""
    return dict.fromkeys(
        shown(proof) for row in found for proof in row.proof if not proof.startswith("test ")
    )


def main() -> int:
    """Writes or checks the page."""
    text = page(rows())
    if sys.argv[1:] == ["--check"]:
        if PAGE.is_file() and PAGE.read_text("utf-8") == text:
            return 0
        print(f"{PAGE.relative_to(ROOT)} is out of date with its rows; run python tools/coverage.py")
        return 1
    PAGE.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
