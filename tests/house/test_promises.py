"""Fields and columns that were promised are still there: docs/compatibility.md."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest

TOOL = Path(__file__).parents[2] / "tools/promises.py"


@pytest.fixture
def promises() -> ModuleType:
    spec = importlib.util.spec_from_file_location("promises_tool", TOOL)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_what_was_promised_is_kept(
    promises: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["promises.py", "--check"])
    assert promises.main() == 0, capsys.readouterr().out


def test_what_is_gone_or_different_is_reported(
    promises: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more = promises.current()
    more["penstock-result/1"] |= {"flows.color": "nm", "flows.latency_p99_ns": "s"}
    monkeypatch.setattr(promises, "PROMISED", tmp_path / "promised.json")
    promises.PROMISED.write_text(json.dumps(more), "utf-8")
    monkeypatch.setattr("sys.argv", ["promises.py"])
    assert promises.main() == 1
    reported = capsys.readouterr().out
    assert "penstock-result/1: flows.color (nm) is gone" in reported
    assert "penstock-result/1: flows.latency_p99_ns (s) is ns" in reported
    assert json.loads(promises.PROMISED.read_text("utf-8")) == more
