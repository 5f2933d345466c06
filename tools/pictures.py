"""Draws the pictures in docs/images, and checks each picture against its data.

    python tools/pictures.py            draws the pictures of runs
    python tools/pictures.py --check    lists pictures that are older than their data (exit code 1: some)

A picture of a run contains the run's fingerprint. Pictures of a study contain a digest of all fingerprints in
its ``fingerprints.json``; ``penstock reproduce PAPER/PART --document docs/studies`` writes them. The picture
of the validation contains a digest of its rows; ``penstock validate --write docs/validation.md`` writes it.
"""

from __future__ import annotations

import contextlib
import runpy
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import penstock as ps
from penstock import library
from penstock.plots.stamp import stamp, stamped
from penstock.studies.document import trajectories
from penstock.validation.document import rows_of

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
IMAGES = DOCS / "images"
RUNS = {"first-light": "timeline", "pause-storm": "congestion"}
"""Scenarios whose runs are drawn, with the kind of picture."""
GALLERY = DOCS / "gallery"
"""Scripts that draw one picture each; script and picture have the same name."""


def main() -> int:
    """Draws or checks the pictures."""
    if sys.argv[1:] == ["--check"]:
        old = list(stale())
        for text in old:
            print(text)
        return 1 if old else 0
    draw()
    return 0


def draw() -> None:
    """Writes all pictures in docs/images except the one of the validation."""
    for name, picture in RUNS.items():
        result = ps.run(name)
        with tempfile.TemporaryDirectory() as directory:
            result.save(Path(directory) / "out", pictures=True)
            shutil.copyfile(Path(directory) / f"out/pictures/{picture}.png", IMAGES / f"{name}.png")
        stamp(IMAGES / f"{name}.png", result.fingerprint)
    for script in GALLERY.glob("*.py"):
        with tempfile.TemporaryDirectory() as directory, contextlib.chdir(directory):
            fingerprint = _runs_of(script)
            shutil.copyfile(f"{script.stem}.png", IMAGES / f"{script.stem}.png")
        stamp(IMAGES / f"{script.stem}.png", fingerprint)


def _runs_of(script: Path) -> str:
    """Runs a script of the gallery, and returns the runs in its picture."""
    return "-".join(result.fingerprint for result in runpy.run_path(str(script))["results"].values())


def stale() -> Iterator[str]:
    """Yields a message for each picture that is older than its data."""
    known = {IMAGES / "validation.png": rows_of(DOCS / "validation")}
    known |= {IMAGES / f"{name}.png": ps.run(name).fingerprint for name in RUNS}
    with tempfile.TemporaryDirectory() as directory, contextlib.chdir(directory):
        known |= {IMAGES / f"{script.stem}.png": _runs_of(script) for script in GALLERY.glob("*.py")}
    for entry in library.studies():
        stem = entry.name.replace("/", "-")
        known |= dict.fromkeys((DOCS / "studies" / stem).glob("*.png"), trajectories(entry.path))
    for file in sorted([*IMAGES.glob("*.png"), *(DOCS / "studies").rglob("*.png")]):
        found, expected = stamped(file), known.get(file)
        if expected is None:
            yield f"{file.relative_to(ROOT)}: its data is unknown"
        elif found != expected:
            yield f"{file.relative_to(ROOT)}: drawn from {found or 'unknown data'}, now {expected}"


if __name__ == "__main__":
    sys.exit(main())
