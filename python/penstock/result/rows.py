"""Rows of a table as dictionaries, or as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from penstock import _core, arrow, measurements
from penstock.measurements import numpy_of, values_of

if TYPE_CHECKING:
    from penstock.arrow import Column

ROWS_AT_A_TIME = 4_096
_CELL = "\0"
"""Placeholder of a cell in the text of a row."""


@dataclass(frozen=True)
class Rows:
    """Rows of a table with renamed columns.

    Attributes
    ----------
    table : pyarrow.Table
        Table with the rows.
    columns : mapping
        Column by key of a row. Keys whose column is missing in the table are omitted.
    nested : mapping
        Keys of a row whose value is an object: column by key of that object. Missing columns are ``None``.
    """

    table: pa.Table
    columns: Mapping[str, str]
    nested: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yields each row as a dictionary; unknown numbers are ``None``."""
        known = self._known()
        for piece in self._pieces():
            for row in measurements.rows(piece):
                own = {key: row[name] for key, name in known.items()}
                yield own | {
                    key: {part: row.get(name) for part, name in parts.items()}
                    for key, parts in self.nested.items()
                }

    def json_blocks(self, *, ascii_only: bool, between: str) -> Iterator[str]:
        """Yields a few thousand rows at a time as JSON, formatted as by ``json.dumps``.

        Parameters
        ----------
        ascii_only : bool
            Escapes non-ASCII characters.
        between : str
            Text between two rows.
        """
        has = set(self.table.column_names)
        known = self._known()
        names = list(known.values())
        parts = [f"{json.dumps(key)}: {_CELL}" for key in known]
        for key, columns in self.nested.items():
            own = ", ".join(
                f"{json.dumps(part)}: {_CELL if name in has else 'null'}" for part, name in columns.items()
            )
            parts.append(f"{json.dumps(key)}: {{{own}}}")
            names += [name for name in columns.values() if name in has]
        texts = ("{" + ", ".join(parts) + "}").split(_CELL)
        for piece in self._pieces():
            values = [cells(piece[name], ascii_only=ascii_only) for name in names]
            yield _core.json_rows(texts, values, ascii_only=ascii_only, between=between)

    def _known(self) -> dict[str, str]:
        has = set(self.table.column_names)
        return {key: name for key, name in self.columns.items() if name in has}

    def _pieces(self) -> Iterator[pa.Table]:
        """Splits the table, so that only part of it is in memory as Python objects."""
        wanted = {*self.columns.values(), *(name for own in self.nested.values() for name in own.values())}
        table = self.table.select([name for name in self.table.column_names if name in wanted])
        for first in range(0, table.num_rows, ROWS_AT_A_TIME):
            yield table.slice(first, ROWS_AT_A_TIME)


def cells(column: Column, *, ascii_only: bool) -> Any:
    """Converts a column as the engine formats it: numbers, parts of an Arrow string array, or JSON."""
    kind = column.type
    if pa.types.is_string(kind) and not column.null_count:
        texts = arrow.in_one(column)
        _, offsets, data = texts.buffers()
        ends = np.frombuffer(offsets, np.int32)[texts.offset :][: len(texts) + 1]
        return ends - ends[0], data.slice(ends[0], ends[-1] - ends[0]).to_pybytes() if data else b""
    if pa.types.is_floating(kind) or (pa.types.is_uint64(kind) and not column.null_count):
        return np.ascontiguousarray(numpy_of(column), np.float64 if pa.types.is_floating(kind) else None)
    return [json.dumps(value, ensure_ascii=ascii_only) for value in values_of(column)]


def mapped(names: Iterable[str]) -> dict[str, str]:
    """Mapping for columns that keep their names."""
    return {name: name for name in names}
