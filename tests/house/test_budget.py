"""The counts of instructions that the page for developers shows are those that the budget holds."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from penstock.cli import main

ROOT = Path(__file__).parents[2]
ROW = re.compile(r"^\| [^|]+ \(`(?P<run>[\w -]+)`\) \| (?P<count>[\d,]+) \|$", re.MULTILINE)


def test_instructions_are_those_of_the_budget() -> None:
    page = (ROOT / "docs/engine-speed.md").read_text("utf-8").partition("\n## Where they go")[0]
    shown = {row["run"]: int(row["count"].replace(",", "")) for row in ROW.finditer(page)}
    assert shown == json.loads((ROOT / "benches/budget.json").read_text("utf-8"))["instructions"]


def test_scenarios_of_the_benches_fit(capsys: pytest.CaptureFixture[str]) -> None:
    files = sorted({*(ROOT / "benches").glob("*.toml")} - {ROOT / "benches/Cargo.toml"})
    assert files
    for file in files:
        assert main(["check", str(file)]) == 0, capsys.readouterr().err
        assert "warning" not in capsys.readouterr().out
