"""Commands convert no table of a large fabric to one dictionary a row: that takes seconds at 65,536 hosts."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from penstock import measurements
from penstock.cli import main

LARGE = Path(__file__).parents[1] / "benches" / "report-65536.toml"
MOST_ROWS = 100
"""Fewer than hosts, ports, queues and flows of a fat-tree with 16 ports a switch."""


@pytest.mark.parametrize("options", [(), ("--json",), ("--no-report",)])
def test_large_tables_are_read_by_column(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], options: tuple[str]
) -> None:
    fabric = tmp_path / "fabric.toml"
    fabric.write_text(LARGE.read_text("utf-8").replace("k = 64", "k = 16"), "utf-8")
    assert tomllib.loads(fabric.read_text("utf-8"))["topology"]["fat_tree"]["k"] == 16
    converted = [0]
    rows = measurements.rows

    def noting(table: pa.Table) -> list[dict[str, Any]]:
        converted.append(table.num_rows)
        return rows(table)

    for module in [one for name, one in sys.modules.items() if name.startswith("penstock")]:
        if getattr(module, "rows", None) is rows:
            monkeypatch.setattr(module, "rows", noting)
    monkeypatch.chdir(tmp_path)
    assert main(["run", str(fabric), *options]) in (None, 0)
    assert "frame-hops" in capsys.readouterr().out or options == ("--json",)
    assert max(converted) <= MOST_ROWS
