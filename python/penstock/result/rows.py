"""Rows of a table as dictionaries, or as lines of JSON that are encoded column by column."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from json.encoder import encode_basestring, encode_basestring_ascii
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson
import pyarrow as pa

from penstock import measurements
from penstock.measurements import numpy_of, values_of

if TYPE_CHECKING:
    from penstock.arrow import Column

ROWS_AT_A_TIME = 4_096


@dataclass(frozen=True)
class Rows:
    """The rows of a table with other names for its columns.

    Attributes
    ----------
    table : pyarrow.Table
        Where they are from.
    columns : mapping
        By key of a row its column; keys whose column the table lacks are left out.
    nested : mapping
        By key of a row an object, by key of that its column; where the table lacks the column it is ``None``.
    """

    table: pa.Table
    columns: Mapping[str, str]
    nested: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Each row as a dictionary; numbers that are not known are ``None``."""
        known = self._known()
        for piece in self._pieces():
            for row in measurements.rows(piece):
                own = {key: row[name] for key, name in known.items()}
                yield own | {
                    key: {part: row.get(name) for part, name in parts.items()}
                    for key, parts in self.nested.items()
                }

    def json_lines(self, *, ascii_only: bool) -> Iterator[str]:
        """Each row as a line of JSON, as ``json.dumps`` writes it.

        Parameters
        ----------
        ascii_only : bool
            Whether characters beyond ASCII are written as escapes.
        """
        has = set(self.table.column_names)
        known = self._known()
        names = list(known.values())
        parts = [f"{_key(key)}: %s" for key in known]
        for key, columns in self.nested.items():
            own = ", ".join(
                f"{_key(part)}: {'%s' if name in has else 'null'}" for part, name in columns.items()
            )
            parts.append(f"{_key(key)}: {{{own}}}")
            names += [name for name in columns.values() if name in has]
        template = "{" + ", ".join(parts) + "}"
        for piece in self._pieces():
            cells = [encoded(piece[name], ascii_only=ascii_only) for name in names]
            yield from map(template.__mod__, zip(*cells, strict=True))

    def _known(self) -> dict[str, str]:
        has = set(self.table.column_names)
        return {key: name for key, name in self.columns.items() if name in has}

    def _pieces(self) -> Iterator[pa.Table]:
        """The table in pieces, so that no more than a part of the rows is in memory as Python objects."""
        wanted = {*self.columns.values(), *(name for own in self.nested.values() for name in own.values())}
        table = self.table.select([name for name in self.table.column_names if name in wanted])
        for first in range(0, table.num_rows, ROWS_AT_A_TIME):
            yield table.slice(first, ROWS_AT_A_TIME)


def encoded(column: Column, *, ascii_only: bool) -> Sequence[str]:
    """Each entry as JSON, as ``json.dumps`` writes it; what is not a finite number is ``null``."""
    kind = column.type
    if pa.types.is_string(kind) and not column.null_count:
        return list(map(encode_basestring_ascii if ascii_only else encode_basestring, column.to_pylist()))
    if pa.types.is_floating(kind) or (pa.types.is_integer(kind) and not column.null_count):
        return _numbers(np.ascontiguousarray(numpy_of(column)))
    return [json.dumps(value, ensure_ascii=ascii_only) for value in values_of(column)]


def _numbers(values: np.ndarray[Any, Any]) -> list[str]:
    if not len(values):
        return []
    texts = orjson.dumps(values, option=orjson.OPT_SERIALIZE_NUMPY)[1:-1].decode().split(",")
    if values.dtype.kind == "f":
        # Only here do orjson and repr differ: in where the exponent begins, and in how it is written.
        sizes = np.abs(values)
        apart = np.isfinite(values) & (values != 0) & ((sizes < 1e-3) | (sizes >= 1e15))
        for at in np.flatnonzero(apart).tolist():
            texts[at] = repr(float(values[at]))
    return texts


def _key(name: str) -> str:
    return json.dumps(name).replace("%", "%%")


def mapped(names: Iterable[str]) -> dict[str, str]:
    """Columns that keep their names."""
    return {name: name for name in names}
