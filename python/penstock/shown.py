"""Tables as people read them: text in a terminal, a table in a notebook."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import pyarrow as pa

from .units import count, plain, visible, written

ROWS_SHOWN = 10


def html_of(first: Sequence[Mapping[str, Any]], columns: Sequence[str], total: int, what: str) -> str:
    """The first rows of a table as HTML, with units, and how many more of `what` there are."""

    def row(cells: Iterable[str], tag: str = "td") -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(visible(cell))}</{tag}>" for cell in cells) + "</tr>"

    more = f"<p>and {total - len(first):,} more {what}</p>" if total > len(first) else ""
    heads = [_head(name) for name in columns]
    body = "".join(row(_cell(name, value, one) for name, value in one.items()) for one in first)
    return f"<table>{row(heads, 'th')}{body}</table>{more}"


_IN_NAMES = {"bps": "bps", "ns": "ns", "s": "s", "bytes": "bytes"}
"""Last words of columns that are units."""
_OF_METRICS = ("mean", "half_width", "value")
"""Columns whose unit another column of the row has, or the name of its metric."""


def _head(column: str) -> str:
    """The name of a column without its unit, which its values have."""
    words = column.split("_")
    return " ".join(words[:-1] if len(words) > 1 and words[-1] in _IN_NAMES else words)


def _cell(column: str, value: Any, row: Mapping[str, Any]) -> str:
    """A value as people read it."""
    if value is None or isinstance(value, bool) or not isinstance(value, int | float):
        return "-" if value is None else str(value)
    unit = column.rpartition("_")[2]
    if column in _OF_METRICS:
        unit = str(row.get("unit") or str(row.get("metric", row.get("name", ""))).rpartition("_")[2])
    elif unit == column:
        unit = ""  # a name of one word is a name
    if unit in _IN_NAMES or row.get("unit"):
        return written(value, unit)
    return count(value) if isinstance(value, int) else plain(value)


@dataclass(frozen=True, repr=False)
class Shown:
    """The first rows of a table, as people read them: text in a terminal, a table in a notebook.

    Attributes
    ----------
    name : str
        Of the table.
    table : pyarrow.Table
        All of it, as numbers.
    first : sequence of dict
        Its first rows, at most `ROWS_SHOWN`.
    """

    name: str
    table: pa.Table
    first: Sequence[Mapping[str, Any]]

    def __repr__(self) -> str:
        lines = [[_head(name) for name in self.table.column_names]]
        lines += [[visible(_cell(name, value, row)) for name, value in row.items()] for row in self.first]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        more = self.table.num_rows - len(self.first)
        return "\n".join(
            ["  ".join(map(str.ljust, line, widths)).rstrip() for line in lines]
            + ([f"and {more:,} more rows"] if more else [])
        )

    def _repr_html_(self) -> str:
        return html_of(self.first, self.table.column_names, self.table.num_rows, f"rows of {self.name}")
