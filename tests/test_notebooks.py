"""The tutorial notebooks run from top to bottom, and their results display themselves."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

import penstock as ps
from penstock.errors import ArgumentError

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "docs/notebooks").glob("*.ipynb"))
PICTURES = {
    "congestion-and-victims": 1,
    "dcqcn-against-hpcc": 2,
    "deadlock": 1,
    "first-fabric": 1,
    "head-of-line-blocking": 1,
    "headroom": 0,
    "qcn": 3,
    "what-should-i-set": 2,
    "step-by-step": 1,
    "who-is-the-victim": 1,
}
"""Of each notebook."""


def small() -> ps.Result:
    fabric = ps.Scenario(duration="20 us").topology.star(hosts=2, rate="10 Gb/s", length="1 m", phy="none")
    return fabric.flow("one", from_="h0", to="h1", source="greedy").run()


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nbformat = pytest.importorskip("nbformat", reason="notebooks need nbformat, which is not installed")
    nbclient = pytest.importorskip("nbclient", reason="notebooks need nbclient, which is not installed")
    pytest.importorskip("ipykernel", reason="notebooks need ipykernel, which is not installed")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    notebook = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": tmp_path}}).execute()
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    shown = [output.get("data", {}) for output in outputs]
    assert sum("image/png" in one for one in shown) == PICTURES[path.stem]
    assert any("<table" in one.get("text/html", "") for one in shown)
    assert not [output for output in outputs if output.get("name") == "stderr"]
    stored = nbformat.read(path, as_version=4)
    assert [numbers(cell) for cell in stored.cells] == [numbers(cell) for cell in notebook.cells]


def numbers(cell: Any) -> list[str]:
    """The numbers that a cell prints; how a library writes them around may differ by its version."""
    texts = [
        str(output.get("text") or output["data"].get("text/plain", ""))
        for output in cell.get("outputs", ())
        if "image/png" not in output.get("data", {})
    ]
    without_addresses = re.sub(r"\bat 0x[0-9a-f]+", "", " ".join(texts))
    return re.findall(r"\d+(?:[.,]\d+)*", without_addresses)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_question_has_a_folded_solution(path: Path) -> None:
    cells = json.loads(path.read_text("utf-8"))["cells"]
    requested = [n for n, cell in enumerate(cells) if "".join(cell["source"]).startswith("**Question.**")]
    tagged = [n for n, cell in enumerate(cells) if "solution" in cell["metadata"].get("tags", ())]
    assert all(n + 1 in tagged for n in requested)
    assert all(cells[n]["metadata"]["jupyter"]["source_hidden"] for n in tagged)


def test_the_report_is_a_widget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("nbformat", "nbclient", "ipykernel", "anywidget"):
        pytest.importorskip(module, reason=f"the widget needs {module}, which is not installed")
    import nbclient
    import nbformat

    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    source = """
import penstock as ps
from penstock.errors import ArgumentError
fabric = ps.Scenario(duration="20 us").topology.star(hosts=2, rate="10 Gb/s", length="1 m")
shown = fabric.flow("one", from_="h0", to="h1", source="greedy").run().view(height=500)
shown
"""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)])
    client = nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": tmp_path}})
    client.execute()
    (output,) = notebook.cells[0].outputs
    model = output["data"]["application/vnd.jupyter.widget-view+json"]["model_id"]
    state = client.widget_state[model]
    assert state["height"] == 500 and state["name"] == "scenario"
    assert state["page"].startswith("<!doctype html>") and '"fingerprint"' in state["page"]
    assert "srcdoc" in state["_esm"]


@pytest.mark.parametrize("height", [0, 4001, True, "800", 1.5])
def test_a_wrong_height(height: Any) -> None:
    result = small()
    with pytest.raises(ArgumentError, match=r"height is .*; expected a whole number from 100 to 4000"):
        result.view(height)


def test_without_anywidget(monkeypatch: pytest.MonkeyPatch) -> None:
    result = small()
    monkeypatch.setitem(sys.modules, "anywidget", None)
    monkeypatch.delitem(sys.modules, "penstock.report.widget", raising=False)
    with pytest.raises(ps.InputError, match=r"pip install \"penstock\[notebook\]\""):
        result.view()


def test_the_pictures_of_each_are_counted() -> None:
    assert {path.stem for path in NOTEBOOKS} == set(PICTURES)
