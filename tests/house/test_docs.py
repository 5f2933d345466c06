"""Law 10: docs are generated from code or executed against it. A stale page fails here."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL.Image import open as open_image

from penstock.glossary import topics
from penstock.plots.stamp import stamp, stamped

ROOT = Path(__file__).parents[2]
WRITTEN = [
    page
    for page in sorted((ROOT / "docs").rglob("*.md"))
    if page.parent.name not in ("mechanisms", "classes")
]
"""Pages of the repository: those of mechanisms are made with the site."""
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *WRITTEN]
FENCE = re.compile(r"^```(?P<language>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:|#)(?P<target>[^)#\s]+)(?:#[^)]*)?\)")
FILE = re.compile(r"# (?P<name>[\w-]+\.\w+)\n")
IN_WORDS = re.compile(r"`(?P<path>(?:crates|python|docs|tests|tools|viewer|benches|studies)/[\w./-]*\w)`")
PLAIN = ("CONTRIBUTING.md", "validation.md", "recording.md")
"""Pages that show no commands with answers."""
SCRIPTS = {"who-paused-whom": "victim (h4 to h1) got"}
"""Guides that are one script, and what it prints among other things."""


def blocks(page: Path, *languages: str) -> Iterator[tuple[str, str]]:
    for fence in FENCE.finditer(page.read_text("utf-8")):
        if fence["language"] in languages:
            yield fence["language"], fence["text"]


EXECUTED = [
    page
    for page in PAGES
    if page.stem not in SCRIPTS and page.name not in PLAIN and any(blocks(page, "console", "python"))
]


@pytest.mark.parametrize("tool", ["reference", "builder", "result_types"])
def test_what_is_generated_is_fresh(tool: str) -> None:
    done = subprocess.run(
        [sys.executable, ROOT / f"tools/{tool}.py", "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_picture_is_older_than_what_it_shows() -> None:
    """Pictures of runs carry the run's fingerprint, those of a study a digest of its pinned ones."""
    words = [sys.executable, ROOT / "tools/pictures.py", "--check"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_picture_of_another_run_is_reported_of(tmp_path: Path) -> None:
    picture = tmp_path / "first-light.png"
    picture.write_bytes((ROOT / "docs/images/first-light.png").read_bytes())
    before = stamped(picture)
    assert before
    assert len(before) == 16
    stamp(picture, "0" * 16)
    assert stamped(picture) == "0" * 16
    with open_image(picture) as one, open_image(ROOT / "docs/images/first-light.png") as other:
        assert one.tobytes() == other.tobytes()


def test_the_reference_says_shared_keys_once() -> None:
    text = "".join(page.read_text("utf-8") for page in (ROOT / "docs/reference/scenario").iterdir())
    rows = re.findall(r"^- (\S+): (.{80,})$", text, re.MULTILINE)
    assert len(rows) > 100
    assert not [row for row, times in Counter(rows).items() if times > 2]
    keys = {topic.name for topic in topics() if topic.kind == "scenario key" and ".NAME" not in topic.name}
    assert not [key for key in keys if not re.search(rf"(`|<code>){key.rpartition('.')[2]}\b", text)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    text = page.read_text("utf-8")
    broken = [link["target"] for link in LINK.finditer(text) if not (page.parent / link["target"]).exists()]
    # Paths in words; what a reader is told to make has a name in capitals or is announced as not there yet.
    entries = [word["path"] for word in IN_WORDS.finditer(text)]
    yet_to_come = {"crates/congestion"}
    broken += [
        path
        for path in entries
        if not any(part.isupper() for part in re.split(r"[/.]", path))
        and path not in yet_to_come
        and not (ROOT / path).exists()
    ]
    assert not broken


@pytest.mark.parametrize("page", EXECUTED, ids=lambda page: page.stem)
def test_a_page_does_what_it_says(page: Path, tmp_path: Path) -> None:
    """Console blocks are typed in order in one directory; every line they show must be printed.

    A block of TOML or text whose first line is the name of a file is that file.
    """
    shell = _shell(tmp_path)
    work = tmp_path / "work"
    work.mkdir()
    missing, shown = [], 0
    for language, text in blocks(page, "console", "python", "toml", "text"):
        if language in ("toml", "text"):
            if file := FILE.match(text):
                (work / file["name"]).write_text(text, "utf-8")
            continue
        if language == "python":
            _run([sys.executable, "-c", text], work, shell)
            continue
        for command, expected in _commands(text):
            printed = {_spaces(line) for line in _run(["bash", "-c", command], work, shell).splitlines()}
            missing += [f"$ {command}: {line}" for line in expected if _spaces(line) not in printed]
            shown += len(expected)
    assert shown or any(blocks(page, "python")), "the page shows nothing"
    assert not missing


@pytest.mark.parametrize("page", SCRIPTS)
def test_a_guide_is_a_script_that_draws_its_picture(page: str, tmp_path: Path) -> None:
    ((_, text),) = blocks(ROOT / f"docs/guide/{page}.md", "python")
    (tmp_path / "script.py").write_text(text, "utf-8")
    output = _run([sys.executable, "script.py"], tmp_path, {**os.environ, "MPLBACKEND": "Agg"})
    assert list(tmp_path.rglob("*.png"))
    assert SCRIPTS[page] in output


def _commands(block: str) -> Iterator[tuple[str, list[str]]]:
    """Each command of a console block with the lines shown below it; `...` stands for others."""
    command, expected = "", []
    for line in block.splitlines():
        if line.startswith("$ "):
            if command:
                yield command, expected
            command, expected = line.removeprefix("$ "), []
        elif line.strip() not in {"", "..."}:
            expected.append(line)
    yield command, expected


def _shell(tmp_path: Path) -> dict[str, str]:
    """An environment in which `penstock` and `python` are those under test."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, words in (("penstock", "-m penstock "), ("python", "")):
        program = programs / name
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" {words}"$@"\n', "utf-8")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "120"}


def _run(words: list[str], directory: Path, environment: dict[str, str]) -> str:
    done = subprocess.run(
        words, cwd=directory, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def _spaces(line: str) -> str:
    return " ".join(line.split())


@pytest.mark.parametrize("page", sorted((ROOT / "docs/guide").glob("*.md")), ids=lambda page: page.stem)
def test_a_guide_is_short(page: Path) -> None:
    """At most thirty lines of code in a block, blank ones and comments not counted."""
    for _, text in blocks(page, "python", "toml", "console"):
        lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
        assert len(lines) <= 30
