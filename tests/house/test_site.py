"""The documentation site is built of the pages without a warning, and has all of them."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import penstock
from penstock.scenario import traffic

ROOT = Path(__file__).parents[2]


def test_each_mechanism_has_a_small_run_on_its_page(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip(
        "sphinx", reason="the pages are written by an extension of Sphinx, which is not installed"
    )
    monkeypatch.syspath_prepend(ROOT / "docs" / "site")
    pages = importlib.import_module("mechanisms")
    runs = pages.runs()
    assert list(runs) == [", ".join(one.names) for one in pages.mechanisms()]
    for names, run in runs.items():
        scenario = tmp_path / "scenario.toml"
        scenario.write_text(run.text, "utf-8")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            result = penstock.run(scenario)
        assert sum(result.table("flows")["frames_delivered"].to_pylist()) > 0, names


def test_the_site_is_built_without_a_warning(tmp_path: Path) -> None:
    for module in ("sphinx", "myst_parser", "numpydoc", "furo", "sphinx_copybutton"):
        pytest.importorskip(module, reason=f"the site needs {module}, which is not installed")
    words = ["-m", "sphinx", "--fail-on-warning", "--keep-going", "--quiet", "-c", "docs"]
    words += ["-D", "penstock_runs=0", ".", tmp_path]
    done = subprocess.run([sys.executable, *words], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    reported = re.search(
        r'^\t@echo "build/site/(\S+)"$', (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE
    )
    assert reported, "make site says what it has made"
    home = (tmp_path / reported[1]).read_text("utf-8")
    for page in (ROOT / "docs").rglob("*.md"):
        made = page.relative_to(ROOT).with_suffix(".html")
        assert (tmp_path / made).exists()
        if page.parent.name in ("docs", "guide", "reference") and page.stem != "index":
            assert f'href="{made.relative_to("docs")}"' in home, f"nothing leads to {page}"
    assert "penstock.Plan" in (tmp_path / "docs/reference/python.html").read_text("utf-8")


def test_the_page_of_python_has_every_name() -> None:
    text = (ROOT / "docs/reference/python.md").read_text("utf-8")
    shown = set(re.findall(r":: penstock\.(?:analysis\.)?(\w+)$", text, re.MULTILINE))
    assert set(penstock.__all__) - set(traffic.__all__) - shown == set()
