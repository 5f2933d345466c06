"""Arrow arrays without pandas: the same as pyarrow's own, and no command imports pandas."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock import _core, arrow
from penstock.analysis.decimate import distinct
from penstock.measurements import numpy_of
from penstock.result.rows import Rows, cells

TEXTS = st.lists(st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=6), max_size=40)
FLOATS = st.lists(st.floats(width=64), max_size=40)


@settings(deadline=None)
@given(TEXTS)
def test_strings_are_those_of_pyarrow(values: list[str | None]) -> None:
    found = arrow.strings(values)
    found.validate(full=True)
    assert found.equals(pa.array(values, pa.string()))


@settings(deadline=None)
@given(st.lists(st.booleans(), max_size=40))
def test_booleans_are_those_of_pyarrow(values: list[bool]) -> None:
    assert arrow.booleans(values).equals(pa.array(values, pa.bool_()))
    assert numpy_of(arrow.booleans(values)).tolist() == values


@settings(deadline=None)
@given(st.lists(st.none() | st.integers(-(2**63), 2**63 - 1), max_size=40))
def test_integers_are_those_of_pyarrow(values: list[int | None]) -> None:
    found = arrow.numbers(values, pa.int64())
    found.validate(full=True)
    assert found.equals(pa.array(values, pa.int64()))


@settings(deadline=None)
@given(FLOATS)
def test_nan_is_null_where_that_is_asked_for(values: list[float]) -> None:
    null = arrow.numbers(np.array(values, dtype=np.float64), null_nan=True)
    assert null.equals(pa.array(values, pa.float64(), from_pandas=True))
    assert arrow.numbers(values, pa.float64()).null_count == 0


def test_a_number_that_does_not_fit_its_type_is_refused() -> None:
    with pytest.raises(OverflowError):
        arrow.numbers(np.array([300]), pa.uint8())


@pytest.mark.parametrize("value", ["", "µ", True, False, 0, -1, 2**63 - 1, 0.5, math.inf])
def test_scalars_have_the_types_of_pyarrow(value: arrow.Plain) -> None:
    assert arrow.scalar(value).equals(pa.scalar(value))


def test_compute_functions_take_plain_values() -> None:
    column = pa.chunked_array([[1, 2], [3]])
    assert arrow.call("greater", column, 1).to_pylist() == [False, True, True]
    assert arrow.call("equal", pa.array(["a", "b"]).dictionary_encode(), "b").to_pylist() == [False, True]
    assert arrow.call("fill_null", pa.array([1.0, None]), 7.0).to_pylist() == [1.0, 7.0]


def test_codes_and_places_of_any_chunks() -> None:
    for names in (pa.chunked_array([["b", "a"], [], ["b", None]]), pa.array(["b", "a", "b", None])):
        number, values = arrow.codes(names)
        assert (number.tolist(), values.to_pylist()) == ([0, 1, 0, -1], ["b", "a"])
        assert arrow.places(names, arrow.strings(["a"])).tolist()[:3] == [-1, 0, -1]
    empty = pa.chunked_array([], pa.string())
    assert arrow.codes(empty)[0].tolist() == arrow.places(empty, arrow.strings(["a"])).tolist() == []


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(["x", "y", None]), st.integers(0, 3), st.none() | st.integers(0, 9)))
)
def test_sums_are_those_of_a_dictionary(rows: list[tuple[str | None, int, int | None]]) -> None:
    table = pa.table(
        {
            "name": pa.array([row[0] for row in rows], pa.string()),
            "kind": pa.array([row[1] for row in rows], pa.int64()),
            "ns": pa.array([row[2] for row in rows], pa.int64()),
        }
    )
    expected: dict[tuple[str | None, int], list[int]] = {}
    for name, kind, ns in rows:
        own = expected.setdefault((name, kind), [0, 0])
        own[0] += ns or 0
        own[1] += 1
    found = arrow.sums_by(table, ["name", "kind"], "ns").to_pylist()
    assert [tuple(row.values()) for row in found] == [(*key, *own) for key, own in expected.items()]


@pytest.mark.parametrize("public", [False, True])
def test_parquet_files_are_those_of_pyarrow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, public: bool
) -> None:
    if public:
        monkeypatch.setitem(sys.modules, "pyarrow._parquet", None)
    for at, table in enumerate(
        (
            pa.table({"a": ["x", None, "x"], "b": [1.0, math.nan, None]}),
            pa.schema([pa.field("a", pa.int64(), metadata={"unit": "ns"})]).empty_table(),
        )
    ):
        pq.write_table(table, tmp_path / "theirs", compression="zstd")
        arrow.write_parquet(table, tmp_path / f"ours{at}")
        assert (tmp_path / f"ours{at}").read_bytes() == (tmp_path / "theirs").read_bytes()


@settings(deadline=None)
@given(st.lists(st.integers(-5, 5) | st.integers()))
def test_distinct_values_are_those_of_a_set(values: list[int]) -> None:
    known = [one for one in values if abs(one) < 2**62]
    assert distinct(np.array(known, dtype=np.int64)).tolist() == sorted(set(known))


def test_first_words() -> None:
    assert arrow.first_word(pa.array(["a[1][2]", "b", ""]), "[").to_pylist() == ["a", "b", ""]


@settings(deadline=None)
@given(FLOATS, st.booleans())
def test_numbers_are_written_as_json_writes_them(values: list[float], ascii_only: bool) -> None:
    found = encoded(pa.array(values, pa.float64()), ascii_only=ascii_only)
    assert list(found) == [json.dumps(value if math.isfinite(value) else None) for value in values]


def test_exponents_are_written_as_json_writes_them() -> None:
    digits = ("1", "9.999999999999999", "-1.25")
    values = [float(f"{one}e{power}") for power in range(-320, 309) for one in digits]
    assert list(encoded(pa.array(values), ascii_only=True)) == list(map(json.dumps, map(_finite, values)))


def encoded(column: pa.Array, *, ascii_only: bool) -> list[str]:
    """Each entry of a column as the engine writes it."""
    own = [cells(column, ascii_only=ascii_only)]
    written = _core.json_rows(["", ""], own, ascii_only=ascii_only, between="\n")
    return written.split("\n") if len(column) else []


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


@settings(deadline=None)
@given(TEXTS, st.booleans())
def test_rows_of_any_text_are_written_as_json_writes_them(values: list[str | None], ascii_only: bool) -> None:
    table = pa.table({"a": pa.array(values, pa.string()), "n": pa.array(range(len(values)), pa.int64())})
    table = table.append_column(
        "maybe", pa.array([n if n % 2 else None for n in range(len(values))], pa.int64())
    )
    rows = Rows(table, {"100 %": "a", "gone": "none"}, {"in": {"n": "n", "maybe": "maybe", "gone": "none"}})
    expected: list[dict[str, Any]] = [
        {"100 %": value, "in": {"n": n, "maybe": n if n % 2 else None, "gone": None}}
        for n, value in enumerate(values)
    ]
    assert list(rows) == expected
    written = [json.dumps(row, ensure_ascii=ascii_only) for row in expected]
    assert "\n".join(rows.json_blocks(ascii_only=ascii_only, between="\n")) == "\n".join(written)


FOUR = """
simulation.duration = "100 us"
topology.star = { hosts = 4, rate = "10 Gb/s", phy = "none" }
[[flows]]
name = "incast"
from = ["h1", "h2", "h3"]
to = "h0"
source = "greedy"
"""
TRANSFERS = """
simulation.duration = "300 us"
topology.leaf_spine = { leaves = 2, spines = 2, hosts_per_leaf = 2, rate = "10 Gb/s", phy = "none" }
flow_control.pfc.priorities = [3]
[[flows]]
name = "tcp"
from = "h0"
to = "h2"
limit = "20 kB"
source = { tcp = { } }
[[transfers]]
name = "writes"
from = ["h1", "h2", "h3"]
to = "h0"
arrivals = "once"
sizes = "8 kB"
priority = 3
over = { rdma = { control = "dcqcn" } }
"""
NO_PANDAS = """
import sys
from penstock.cli import main
sys.argv[0] = "penstock"
code = main(sys.argv[1:])
assert "pandas" not in sys.modules, "pandas was imported"
sys.exit(code)
"""


@pytest.mark.parametrize("text", [FOUR, TRANSFERS], ids=["four hosts", "transfers and RDMA"])
@pytest.mark.parametrize(
    "command", [["run", "--out", "out"], ["run", "--json"], ["check"]], ids=["run", "json", "check"]
)
def test_no_command_imports_pandas(tmp_path: Path, command: list[str], text: str) -> None:
    file = tmp_path / "scenario.toml"
    file.write_text(text, "utf-8")
    entries = [sys.executable, "-c", NO_PANDAS, command[0], str(file), *command[1:]]
    done = subprocess.run(entries, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout
