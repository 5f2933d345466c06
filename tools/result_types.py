"""Writes result types for other languages, from the declarations of the tables.

    python tools/result_types.py            writes both files
    python tools/result_types.py --check    checks that they are up to date (exit code 1: stale)

`viewer/src/columns.ts` contains the columns of each table. In `python/penstock/schemas/run.schema.json`, only
the fields that are columns (`penstock.result.summary.PARTS`) are generated; the rest of the file is written
by hand.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from penstock import _core
from penstock.result.summary import PARTS, Part

ROOT = Path(__file__).parent.parent
SCHEMA = ROOT / "python/penstock/schemas/run.schema.json"
COLUMNS = ROOT / "viewer/src/columns.ts"
JSON_TYPES = {"integer": "integer", "real": "number", "text": "string"}
TYPESCRIPT = {"integer": "number", "real": "number", "text": "string"}

Column = Mapping[str, Any]
Tables = Mapping[str, Mapping[str, Column]]
"""Columns by table and name."""


def main() -> int:
    """Writes or checks both files."""
    stale = [path for path, text in files().items() if path.read_text("utf-8") != text]
    if sys.argv[1:] == ["--check"]:
        if stale:
            print("stale, run `make docs`: " + ", ".join(path.name for path in stale))
        return 1 if stale else 0
    for path, text in files().items():
        path.write_text(text, "utf-8")
    return 0


def files() -> dict[Path, str]:
    """The text of each file."""
    declared = json.loads(_core.tables())
    tables = {table["name"]: {one["name"]: one for one in table["columns"]} for table in declared}
    schema = with_columns(json.loads(SCHEMA.read_text("utf-8")), tables)
    return {
        SCHEMA: json.dumps(schema, indent=2, ensure_ascii=False) + "\n",
        COLUMNS: "\n".join(typescript(declared)) + "\n",
    }


def with_columns(schema: dict[str, Any], tables: Tables) -> dict[str, Any]:
    """Returns the schema of the summary, with fields that are columns generated from the tables."""
    for name, part in PARTS.items():
        item = schema["properties"][name]["items"]
        written = {one for one in item["properties"] if one not in fields_of(part)}
        item["properties"] = {
            **properties(part, tables[name]),
            **{one: item["properties"][one] for one in written},
        }
    return schema


def fields_of(part: Part) -> set[str]:
    """Returns the fields of an object of the summary."""
    return {part.name[0], *part.columns, *part.durations}


def properties(part: Part, columns: Mapping[str, Column]) -> dict[str, Any]:
    """Returns the schemas of these fields."""
    key, column = part.name
    found = {key: value(columns[column])}
    found |= {name: value(columns[name]) for name in part.columns}
    for key, statistic, column in part.statistics():
        place = found.setdefault(
            key, {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
        )
        place["properties"][statistic] = value(columns[column], is_nullable=True)
        place["required"].append(statistic)
    return found


def value(column: Column, *, is_nullable: bool = False) -> dict[str, Any]:
    """Returns the JSON Schema of a column's values."""
    kind = JSON_TYPES[column["kind"]]
    found: dict[str, Any] = {"type": [kind, "null"] if column["nullable"] or is_nullable else kind}
    if column["kind"] != "text":
        found["minimum"] = 0
    return {**found, "description": column["about"]}


def typescript(declared: list[Mapping[str, Any]]) -> Iterator[str]:
    """Yields the module with the columns of each table."""
    yield "/** Columns of the tables of a result. Made by `make docs`; do not edit. */"
    yield "export interface Tables {"
    for table in declared:
        yield f"  {table['name']}: {{"
        for column in table["columns"]:
            null = " | null" if column["nullable"] else ""
            yield f"    {column['name']}: {TYPESCRIPT[column['kind']]}{null};"
        yield "  };"
    yield "}"


if __name__ == "__main__":
    raise SystemExit(main())
