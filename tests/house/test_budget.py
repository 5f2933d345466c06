"""The counts of instructions that the page for developers shows are those that the budget holds."""

from __future__ import annotations

import json
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
ROW = re.compile(r"^\| [^|]+ \(`(?P<run>[\w -]+)`\) \| (?P<count>[\d,]+) \|$", re.MULTILINE)


def test_instructions_are_those_of_the_budget() -> None:
    page = (ROOT / "docs/engine-speed.md").read_text("utf-8").partition("\n## Where they go")[0]
    shown = {row["run"]: int(row["count"].replace(",", "")) for row in ROW.finditer(page)}
    assert shown == json.loads((ROOT / "benches/budget.json").read_text("utf-8"))["instructions"]
