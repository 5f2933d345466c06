"""Cycles of files and recursion of the engine stay below limits, computed from the sources."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "crates/fabric/src"
RUN = SOURCES / "run"

# Lower a limit with every change that allows it; never raise one. The goals are 4, 4, 5 and 60.
MAX_CYCLE_BY_CALLS = 4
MAX_CYCLE_BY_IMPORTS = 4
MAX_RECURSION = 5
MAX_METHODS = 60


@pytest.fixture(scope="module")
def shape() -> ModuleType:
    spec = importlib.util.spec_from_file_location("shape_tool", ROOT / "tools/shape.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_the_engine_is_cut_by_direction(shape: ModuleType) -> None:
    found = shape.measure(SOURCES, RUN)
    assert len(found.functions) > 350
    assert max(map(len, found.cycles_by_calls()), default=0) <= MAX_CYCLE_BY_CALLS, found.cycles_by_calls()
    assert max(map(len, found.cycles_by_imports()), default=0) <= MAX_CYCLE_BY_IMPORTS, (
        found.cycles_by_imports()
    )
    assert max(map(len, found.recursion()), default=0) <= MAX_RECURSION, found.recursion()
    assert len(found.methods) <= MAX_METHODS, found.largest
    for name, file in (("Fabric", "fabric.rs"), ("NodeView", "state/view.rs")):
        assert {method.file for method in found.types[name].values()} == {file}


def test_state_imports_no_step(shape: ModuleType) -> None:
    graph = shape.imports(SOURCES, RUN)
    state = [file for file in graph if file.startswith("run/state/")]
    assert len(state) > 50
    for file in state:
        assert not [used for used in graph[file] if used.startswith("run/steps")], file
    # State does not implement steps under another name either.
    for path in (RUN / "state").rglob("*.rs"):
        code = path.read_text("utf-8")
        assert "\nimpl Fabric" not in code, path
        assert path.name == "view.rs" or "\nimpl NodeView" not in code, path


def write(folder: Path, **files: str) -> Path:
    """A crate with a module ``run`` that consists of these files."""
    run = folder / "run"
    run.mkdir(parents=True)
    (folder / "run.rs").write_text("".join(f"mod {name};\n" for name in files), "utf-8")
    for name, text in files.items():
        (run / f"{name}.rs").write_text(text, "utf-8")
    return run


def test_calls_between_files_are_seen_where_imports_show_nothing(shape: ModuleType, tmp_path: Path) -> None:
    run = write(
        tmp_path,
        world="pub struct Big;\n\nimpl Big {\n    pub fn one(&self) {\n    }\n}\n",
        north="impl Big {\n    pub fn up(&mut self) {\n        self.down();\n    }\n}\n",
        south=(
            "impl Big {\n    /// Calls `self.one()` in a comment only.\n    #[inline]\n"
            "    pub(super) fn down(&mut self) {\n        // self.one()\n"
            "        self\n            .up();\n        self.table.up();\n    }\n}\n"
        ),
    )
    found = shape.measure(tmp_path, run)
    assert found.largest == "Big" and set(found.methods) == {"one", "up", "down"}
    assert found.recursion() == [["down", "up"]]
    assert found.cycles_by_calls() == [["north.rs", "south.rs"]]
    assert found.cycles_by_imports() == []


def test_calls_of_free_functions_are_seen(shape: ModuleType, tmp_path: Path) -> None:
    run = write(
        tmp_path,
        north=(
            "use crate::run::south;\n\npub fn up(here: &mut View) {\n    if true {\n"
            "        south::down(here);\n    }\n}\n"
        ),
        south=(
            "use crate::run::north::up;\n\n/// Calls.\n#[inline]\npub(super) fn down(here: &mut View) {\n"
            "    up(here);\n"
            "    other::up(here);\n}\n\nfn alone(here: &View) {\n    here.down();\n    let up = here.up;\n}\n"
        ),
    )
    found = shape.measure(tmp_path, run)
    assert set(found.functions) == {"north.rs::up", "south.rs::down", "south.rs::alone"}
    assert found.recursion() == [["north.rs::up", "south.rs::down"]]
    assert found.cycles_by_calls() == [["north.rs", "south.rs"]]


def test_imports_are_followed_through_groups_and_parents(shape: ModuleType, tmp_path: Path) -> None:
    run = write(
        tmp_path,
        north="use crate::run::{\n    east::A,\n    south::{B, C},\n};\n",
        south="use super::north::D;\n\n#[cfg(test)]\nmod tests {\n    use crate::run::west::E;\n}\n",
        east="// use crate::run::north::F;\npub struct A;\n",
        west="use super::east::A as G;\nuse std::fmt;\n",
    )
    graph = shape.measure(tmp_path, run).imports
    assert graph["run/north"] == {"run/east", "run/south"}
    assert graph["run/south"] == {"run/north"}
    assert (graph["run/east"], graph["run/west"]) == (set(), {"run/east"})
    assert shape.cycles(graph) == [["run/north", "run/south"]]


@pytest.mark.parametrize(
    ("edges", "expected"),
    [
        ("", []),
        ("ab bc", []),
        ("aa", []),
        ("ab ba", ["ab"]),
        ("ab bc ca cd de ed", ["abc", "de"]),
        ("ab bc cd da ac ef", ["abcd"]),
        ("ab bd ac cd da", ["abcd"]),
        ("xy yx ab bc ca ax", ["abc", "xy"]),
    ],
)
def test_cycles_are_strongly_connected_components(shape: ModuleType, edges: str, expected: list[str]) -> None:
    graph: dict[str, set[str]] = {}
    for start, end in edges.split():
        graph.setdefault(start, set()).add(end)
        graph.setdefault(end, set())
    assert shape.cycles(graph) == [list(group) for group in expected]


def test_a_long_chain_needs_no_recursion(shape: ModuleType) -> None:
    names = [f"{number:05}" for number in range(5_000)]
    graph = {name: {after} for name, after in zip(names, [*names[1:], names[0]], strict=True)}
    assert shape.cycles(graph) == [names]


def test_the_tool_prints_its_figures(shape: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert shape.main([]) == 0
    printed = capsys.readouterr().out
    assert ": " in printed.splitlines()[0] and "\ncycles of files by imports: " in printed
