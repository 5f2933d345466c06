"""Tables on terminals of several widths, and files whose names were mistyped."""

from __future__ import annotations

import os
import pty
import re
from pathlib import Path

import pytest

from conftest import Command, command_line

CODES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def on_terminal(columns: int, folder: Path, *words: str) -> list[str]:
    """The lines that a command prints on a terminal of so many columns."""
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(folder)
        line = [str(word) for word in command_line(*words)]
        os.execvpe(line[0], line, {**os.environ, "COLUMNS": str(columns), "LINES": "60"})
    parts = []
    while True:
        try:
            part = os.read(terminal, 1 << 16)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        parts.append(part)
    os.waitpid(child, 0)
    text = CODES.sub("", b"".join(parts).decode())
    return [line.rpartition("\r")[2] for line in text.replace("\r\n", "\n").split("\n")]


@pytest.mark.parametrize("name", ["pause-storm", "dcqcn-incast", "tcp-incast"])
def test_tables_fit_eighty_columns(name: str, tmp_path: Path) -> None:
    lines = on_terminal(80, tmp_path, "run", name, "--no-report")
    rules = [at for at, line in enumerate(lines) if line.strip() and set(line.strip()) == {"─"}]
    assert rules
    for at in rules:
        # A table of one row may be the last one before the totals.
        shown = [line for line in lines[at - 1 : at + 3] if not line.startswith("simulated")]
        assert all(len(line) <= 80 for line in shown), shown
    assert any(line.startswith("not shown in 80 columns: ") for line in lines)


def test_a_wide_terminal_has_all_columns(tmp_path: Path) -> None:
    lines = on_terminal(160, tmp_path, "run", "pause-storm", "--no-report")
    assert not [line for line in lines if line.startswith("not shown")]
    assert any("demand" in line and "latency mean" in line for line in lines)


def test_a_file_that_is_nearly_there_is_named(small: Path, penstock: Command, tmp_path: Path) -> None:
    (tmp_path / "config_db.json").write_text("{}")
    for words, meant in (
        (("run", "smal.toml"), f"did you mean {small.name}?"),
        (("check", "small.tml"), f"did you mean {small.name}?"),
        (("import", "config_dp.json"), "did you mean config_db.json?"),
        (("run", "leafspine"), "did you mean leaf-spine?"),
    ):
        done = penstock(*words)
        assert (done.returncode, meant in done.stderr) == (2, True), done.stderr
