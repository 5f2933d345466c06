"""Checks docs/compatibility.md: JSON fields and table columns must not be removed.

    python tools/compatibility.py            adds new fields and columns to tests/house/compatibility.json
    python tools/compatibility.py --check    lists missing fields and columns (exit code 1 if there are any)

A field or column may be removed only with a new schema version. Delete the entry of the old version by hand
in that case.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from penstock import _core

ROOT = Path(__file__).parent.parent
LISTED = ROOT / "tests/house/compatibility.json"
SCHEMAS = ROOT / "python/penstock/schemas"

Fields = dict[str, dict[str, str]]


def main() -> int:
    """Adds new fields and columns to the list, or checks that none is missing."""
    listed: Fields = json.loads(LISTED.read_text("utf-8")) if LISTED.exists() else {}
    now = current()
    broken = [
        f"{schema}: {name} ({what}) is {now.get(schema, {}).get(name, 'gone')}"
        for schema, names in listed.items()
        for name, what in names.items()
        if now.get(schema, {}).get(name) != what
    ]
    print("\n".join(broken), end="\n" if broken else "")
    if broken:
        return 1
    if sys.argv[1:] != ["--check"]:
        LISTED.write_text(json.dumps(now, indent=1, sort_keys=True) + "\n", "utf-8")
    return 0


def current() -> Fields:
    """Returns the current state: the type of each field by path, and the unit of each column by table."""
    found: Fields = {}
    for path in sorted(SCHEMAS.glob("*.schema.json")):
        schema = json.loads(path.read_text("utf-8"))
        found[str(schema["properties"]["schema"]["const"])] = dict(_fields(schema, schema, ""))
    found["penstock-result/1"] = {
        f"{table['name']}.{column['name']}": column["unit"] or "-"
        for table in json.loads(_core.tables())
        for column in table["columns"]
    }
    return found


def _fields(schema: dict[str, Any], node: dict[str, Any], within: str) -> Iterator[tuple[str, str]]:
    """Yields the paths of an object's fields with their types; paths of list items contain `[]`."""
    while "$ref" in node:
        at: Any = schema
        for step in node["$ref"].removeprefix("#/").split("/"):
            at = at[step]
        node = at
    for name, field in sorted(node.get("properties", {}).items()):
        yield f"{within}{name}", json.dumps(field.get("type", "any"))
        yield from _fields(schema, field, f"{within}{name}.")
    if isinstance(node.get("items"), dict):
        yield from _fields(schema, node["items"], f"{within}[].")


if __name__ == "__main__":
    sys.exit(main())
