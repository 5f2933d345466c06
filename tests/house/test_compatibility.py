"""Fields and columns that docs/compatibility.md guarantees still exist."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest

TOOL = Path(__file__).parents[2] / "tools/compatibility.py"


@pytest.fixture
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("compatibility_tool", TOOL)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_no_listed_field_is_missing(
    tool: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["compatibility.py", "--check"])
    assert tool.main() == 0, capsys.readouterr().out


def test_missing_and_changed_fields_are_reported(
    tool: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more = tool.current()
    more["penstock-result/1"] |= {"flows.color": "nm", "flows.latency_p99_ns": "s"}
    monkeypatch.setattr(tool, "LISTED", tmp_path / "compatibility.json")
    tool.LISTED.write_text(json.dumps(more), "utf-8")
    monkeypatch.setattr("sys.argv", ["compatibility.py"])
    assert tool.main() == 1
    reported = capsys.readouterr().out
    assert "penstock-result/1: flows.color (nm) is gone" in reported
    assert "penstock-result/1: flows.latency_p99_ns (s) is ns" in reported
    assert json.loads(tool.LISTED.read_text("utf-8")) == more
