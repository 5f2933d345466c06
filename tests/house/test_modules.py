"""Rooms: arrows go one way, in Python as in Rust, and a command of the checkout draws them."""

from __future__ import annotations

import ast
import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
TOOL = ROOT / "tools" / "modules.py"


@pytest.fixture
def modules() -> ModuleType:
    spec = importlib.util.spec_from_file_location("modules_tool", TOOL)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_no_circle_crosses_a_room(tmp_path: Path) -> None:
    drawing = tmp_path / "rooms.svg"
    done = subprocess.run(
        [sys.executable, TOOL, "--draw", drawing], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    for room in ("scenario", "result", "analysis", "studies", "validation", "plots", "report", "cli"):
        assert f"\n  {room} " in done.stdout
    assert drawing.read_text("utf-8").count("<g id=") > 50


@pytest.mark.parametrize(
    "line",
    [
        "from penstock.report import write_report",
        "def late() -> None:\n    from ..report import page",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import penstock.report.page",
    ],
    ids=["plainly", "within a function", "for type checkers"],
)
def test_a_circle_is_found_however_it_is_imported(line: str, modules: ModuleType, tmp_path: Path) -> None:
    package = tmp_path / "penstock"
    shutil.copytree(
        ROOT / "python/penstock", package, ignore=shutil.ignore_patterns("*.so", "*.html", "hagen*")
    )
    graph = modules.rooms(modules.imports(package))
    assert modules.circle(graph) is None
    (package / "analysis" / "decimate.py").write_text(line + "\n", "utf-8")
    graph = modules.rooms(modules.imports(package))
    assert set(modules.circle(graph)) == {"analysis", "report"}
    assert modules.problems(package, {"Python": graph})


MOST_LINES = 60
MOST_ARGUMENTS = 7


def test_functions_are_short_and_take_few_arguments() -> None:
    """Docstrings aside. What has more falls apart along its seams."""
    found = []
    for path in [*ROOT.glob("python/**/*.py"), *ROOT.glob("tools/*.py"), *ROOT.glob("tests/**/*.py")]:
        text = path.read_text("utf-8")
        for node in ast.walk(ast.parse(text)):
            if not isinstance(node, ast.FunctionDef) or "Made by `make docs`" in text:
                continue
            arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            taken = [one for one in arguments if one.arg not in ("self", "cls")]
            lines = (node.end_lineno or 0) - node.lineno + 1
            if ast.get_docstring(node) is not None:
                lines -= (node.body[0].end_lineno or 0) - node.body[0].lineno + 1
            if lines > MOST_LINES or len(taken) > MOST_ARGUMENTS:
                found.append(f"{path.relative_to(ROOT)}: {node.name}: {lines} lines, {len(taken)} arguments")
    assert not found


def test_the_top_of_the_package_stays_small(modules: ModuleType, tmp_path: Path) -> None:
    for number in range(modules.MOST_AT_THE_TOP):
        (tmp_path / f"m{number}.py").touch()
    assert not modules.problems(tmp_path, {})
    (tmp_path / "one_more.pyi").touch()
    assert modules.problems(tmp_path, {})
