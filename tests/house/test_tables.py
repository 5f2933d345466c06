"""A result table is declared once: schemas, types and the names in Python derive from the declaration."""

from __future__ import annotations

import importlib.util
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa
import pytest

from penstock import _core
from penstock.result import checked
from penstock.result.summary import PARTS

ROOT = Path(__file__).parents[2]
SMALLEST = 'simulation.duration = "1 us"\ntopology.star = { hosts = 2, rate = "10 Gb/s", phy = "none" }\n'
DECLARED: list[dict[str, Any]] = json.loads(_core.tables())
COLUMNS = {table["name"]: [column["name"] for column in table["columns"]] for table in DECLARED}
READ = re.compile(r'\btable\("(?P<table>\w+)"\)\["(?P<column>\w+)"\]')
"""Python type for each kind of column."""
UNITS = {"ns": "ns", "ps": "ps", "s": "s", "bps": "b/s", "bytes": "B"}
"""Units by the last word of a name that has one."""


@pytest.fixture
def result_types() -> ModuleType:
    spec = importlib.util.spec_from_file_location("result_types", ROOT / "tools/result_types.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_run_writes_the_declared_tables() -> None:
    core = _core.run(SMALLEST, "smallest.toml")
    schemas = {name: pa.RecordBatchReader.from_stream(core.table(name)).schema for name in core.table_names}
    assert {name: schema.names for name, schema in schemas.items()} == COLUMNS
    assert core.table_names == list(COLUMNS)
    for table in DECLARED:
        for column, field in zip(table["columns"], schemas[table["name"]], strict=True):
            assert field.metadata == {key.encode(): column[key].encode() for key in ("unit", "about")}
            assert field.nullable or not column["nullable"]
    empty = {name: schema.empty_table() for name, schema in schemas.items()}
    assert checked.has_all_tables(empty)
    assert not checked.has_all_tables({**empty, "flows": empty["flows"].drop_columns(["jitter_ns"])})
    assert json.loads(core.description) == {
        table["name"]: {
            "about": table["about"],
            "columns": [{key: one[key] for key in ("name", "unit", "about")} for one in table["columns"]],
        }
        for table in DECLARED
    }


def test_the_last_word_of_a_name_is_its_unit() -> None:
    for table in DECLARED:
        assert len(set(COLUMNS[table["name"]])) == len(table["columns"]), f"{table['name']}: a name twice"
        for column in table["columns"]:
            named = UNITS.get(column["name"].rpartition("_")[2])
            if "_" in column["name"] and named:
                assert column["unit"] == named, f"{table['name']}.{column['name']}"


def test_columns_that_python_reads_are_declared() -> None:
    read = list(_read())
    assert len(read) > 20
    for place, table, column in read:
        assert column in COLUMNS.get(table, ()), f"{place} reads {table}.{column}, which is not declared"


def _read() -> Iterator[tuple[str, str, str]]:
    for path in sorted((ROOT / "python").rglob("*.py")):
        for found in READ.finditer(path.read_text("utf-8")):
            yield str(path.relative_to(ROOT)), found["table"], found["column"]
    for table, part in PARTS.items():
        statistics = (column for _, _, column in part.statistics())
        for column in (part.name[1], *part.columns, *statistics):
            yield "PARTS", table, column


def test_a_declared_column_reaches_schema_and_page(
    result_types: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = {"name": "jitter_ns", "kind": "real", "nullable": True, "unit": "ns", "about": "Another meaning."}
    more = {"name": "color", "kind": "text", "nullable": False, "unit": "", "about": "Its color."}
    tables = [
        {**table, "columns": [*(c for c in table["columns"] if c["name"] != "jitter_ns"), one, more]}
        if table["name"] == "flows"
        else table
        for table in DECLARED
    ]
    monkeypatch.setattr(result_types, "_core", Declaring(tables))
    files: Mapping[Path, str] = result_types.files()
    flow = json.loads(files[result_types.SCHEMA])["properties"]["flows"]["items"]["properties"]
    assert flow["jitter_ns"] == {
        "type": ["number", "null"],
        "minimum": 0,
        "description": "Another meaning.",
    }
    assert (
        "    jitter_ns: number | null;\n    color: string;\n  };\n  demands: {" in files[result_types.COLUMNS]
    )


class Declaring:
    """An engine that declares these tables."""

    def __init__(self, tables: list[dict[str, Any]]) -> None:
        self._tables = tables

    def tables(self) -> str:
        """The declarations, as `penstock._core.tables` gives them."""
        return json.dumps(self._tables)
