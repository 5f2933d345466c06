"""Only `penstock.arrow` converts plain values to Arrow: pyarrow would import pandas for that."""

from __future__ import annotations

import ast
from pathlib import Path

import pyarrow.compute as pc
import pytest

PACKAGE = Path(__file__).parents[2] / "python" / "penstock"
HELPER = PACKAGE / "arrow.py"
OUTSIDE = (PACKAGE / "studies",)
"""Studies and what they draw load more than the import of pandas takes."""
OF_PYARROW = {"array", "scalar", "table", "chunked_array"}
METHODS = {"to_numpy", "sort_by", "group_by", "combine_chunks", "from_pylist", "from_pydict", "empty_table"}
OF_COLUMNS = {"and_", "if_else", "multiply", "not_equal", "subtract"}
"""Functions of several arguments that are called with columns alone, which converts nothing."""


def files() -> list[Path]:
    return [
        file
        for file in sorted(PACKAGE.rglob("*.py"))
        if file != HELPER and not any(file.is_relative_to(place) for place in OUTSIDE)
    ]


def converting(text: str) -> list[str]:
    """The calls in a source that would import pandas, as line and name."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        name, owner = node.func.attr, node.func.value
        module = owner.id if isinstance(owner, ast.Name) else ""
        several = module == "pc" and _arity(name) > 1
        literal = any(isinstance(argument, ast.Constant) for argument in node.args)
        if (
            (module == "pa" and name in OF_PYARROW)
            or (module in ("pq", "parquet") and name == "read_table")
            or (module not in ("arrow", "np") and name in METHODS)
            or (several and (literal or name not in OF_COLUMNS))
            or (module not in ("arrow", "np", "pc") and name in ("take", "filter") and _is_plain(node))
        ):
            found.append(f"{node.lineno}: {module or '...'}.{name}")
    return found


def _arity(name: str) -> int:
    if name in ("fill_null", "index"):  # written in Python
        return 2 if name == "fill_null" else 1
    reported = getattr(getattr(pc, name, None), "__arrow_compute_function__", None) or {}
    return int(reported.get("arity", 1))


def _is_plain(call: ast.Call) -> bool:
    """True if the argument is a list or a NumPy array."""
    return any(
        isinstance(argument, ast.List | ast.ListComp)
        or (isinstance(argument, ast.Call) and ast.unparse(argument.func).startswith("np."))
        for argument in call.args
    )


@pytest.mark.parametrize(
    "line",
    [
        "pa.array([1])",
        "pc.equal(column, 3)",
        "pc.equal(column, name)",
        "pc.fill_null(column, 0)",
        "pc.if_else(chosen, column, 0.0)",
        "table.sort_by('a')",
        "table['a'].to_numpy()",
        "table.take([0])",
        "table.filter(np.flatnonzero(chosen))",
    ],
)
def test_conversions_are_found(line: str) -> None:
    assert converting(line)


@pytest.mark.parametrize(
    "line", ["pc.subtract(ends, starts)", "pc.is_in(a, value_set=b)", "arrow.take(a, [0])"]
)
def test_what_converts_nothing_is_free(line: str) -> None:
    assert not converting(line)


def test_plain_values_become_arrow_in_one_module() -> None:
    found = {str(file.relative_to(PACKAGE)): converting(file.read_text("utf-8")) for file in files()}
    assert not {file: calls for file, calls in found.items() if calls}, "call penstock.arrow instead"
