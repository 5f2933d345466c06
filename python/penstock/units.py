"""Formats numbers, names and tables for people, and reads the rates of links."""

from __future__ import annotations

import contextlib
import datetime as dt
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

UNKNOWN = "-"

_RATES = ((1e12, "Tb/s"), (1e9, "Gb/s"), (1e6, "Mb/s"), (1e3, "kb/s"), (1.0, "b/s"))
_TIMES = ((1e9, "s"), (1e6, "ms"), (1e3, "us"), (1.0, "ns"))
_SIZES = ((float(1 << 30), "GiB"), (float(1 << 20), "MiB"), (float(1 << 10), "KiB"), (1.0, "B"))


def rate(bps: float | None) -> str:
    """Formats ``2.5e9`` as ``2.5 Gb/s``."""
    return _scaled(bps, _RATES)


def duration(ns: float | None) -> str:
    """Formats ``1500`` nanoseconds as ``1.5 us``."""
    return _scaled(ns, _TIMES)


_ZERO: ContextVar[dt.datetime | None] = ContextVar("zero", default=None)


@contextlib.contextmanager
def clock(zero: dt.datetime | None) -> Iterator[None]:
    """Context in which `instant` formats clock times; the clock is `zero` at the start of the run."""
    token = _ZERO.set(zero)
    try:
        yield
    finally:
        _ZERO.reset(token)


def instant(ns: float) -> str:
    """Formats a time of the run: ``1500`` nanoseconds as ``1.5 us``, or as clock time (see `clock`)."""
    if (zero := _ZERO.get()) is None:
        for size, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "us")):
            if ns >= size:
                return f"{ns / size:.6g} {unit}"
        return f"{ns:.6g} ns"
    whole, rest = divmod(zero.microsecond * 1_000 + round(ns), 10**9)
    return f"{zero.replace(microsecond=0) + dt.timedelta(seconds=whole):%Y-%m-%d %H:%M:%S}.{rest:09d}"


def size(number: float | None) -> str:
    """Formats ``65536`` bytes as ``64 KiB``."""
    return _scaled(number, _SIZES)


def count(number: float | None) -> str:
    """Formats ``1234567`` as ``1,234,567``."""
    return UNKNOWN if number is None else f"{number:,.0f}"


def plain(number: float | None) -> str:
    """Formats a number with four digits."""
    return UNKNOWN if number is None else f"{number:.4g}"


def share(number: float | None) -> str:
    """Formats ``0.5`` as ``50.0 %``."""
    return UNKNOWN if number is None else f"{100 * number:.1f} %"


_WRITERS = {"bps": rate, "b/s": rate, "ns": duration, "bytes": size, "B": size}


def written(value: float | None, unit: str) -> str:
    """Formats a value with its unit.

    Parameters
    ----------
    value : float or None
        Value; ``None`` and NaN are unknown.
    unit : str
        Unit of a column: ``"bps"``, ``"b/s"``, ``"ns"``, ``"s"``, ``"bytes"``, ``"B"``, or any other.
    """
    if value is None or math.isnan(value):
        return UNKNOWN
    if unit == "s":
        return duration(value * 1e9)
    return _WRITERS[unit](value) if unit in _WRITERS else f"{plain(value)} {unit}".rstrip()


def visible(text: str, keep: str = "") -> str:
    r"""Escapes invisible characters, and characters that control terminals or pictures, in untrusted text.

    Control characters, bidirectional marks and other unprintable characters are escaped as in Python:
    ``\x1b``, ``\u202e``.

    Parameters
    ----------
    text : str
        The text.
    keep : str, optional
        Characters to keep, such as line feeds. Default: none.
    """
    if text.isprintable():
        return text
    return "".join(
        one if one.isprintable() or one in keep else one.encode("unicode_escape").decode("ascii")
        for one in text
    )


def short_names(keys: Sequence[str]) -> dict[str, str]:
    """Shortest unambiguous suffix of each key: ``xoff``, ``host.queues``."""
    short = {}
    for key in keys:
        words = key.split(".")
        tails = (".".join(words[-count:]) for count in range(1, len(words)))
        alone = (tail for tail in tails if not any(one.endswith("." + tail) for one in keys if one != key))
        short[key] = next((tail for tail in alone if tail not in keys), key)
    return short


def _scaled(number: float | None, units: Sequence[tuple[float, str]]) -> str:
    if number is None or not math.isfinite(number):
        return UNKNOWN
    scale, unit = next(((s, u) for s, u in units if abs(number) >= s), units[-1])
    return f"{number / scale:.4g} {unit}" if abs(number / scale) < 1e4 else f"{number / scale:,.0f} {unit}"


ROWS_SHOWN = 10


def html_of(first: Sequence[Mapping[str, Any]], columns: Sequence[str], total: int, what: str) -> str:
    """HTML of the first rows of a table with units, and the number of remaining `what`."""

    def row(cells: Iterable[str], tag: str = "td") -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(visible(cell))}</{tag}>" for cell in cells) + "</tr>"

    more = f"<p>and {total - len(first):,} more {what}</p>" if total > len(first) else ""
    heads = [_head(name) for name in columns]
    body = "".join(row(_cell(name, value, one) for name, value in one.items()) for one in first)
    return f"<table>{row(heads, 'th')}{body}</table>{more}"


_IN_NAMES = {"bps": "bps", "ns": "ns", "s": "s", "bytes": "bytes"}
"""Suffixes of columns that are units."""
_OF_METRICS = ("mean", "half_width", "value")
"""Columns whose unit is in another column of the row, or in the name of its metric."""


def _head(column: str) -> str:
    """Name of a column without its unit, which the values show."""
    words = column.split("_")
    return " ".join(words[:-1] if len(words) > 1 and words[-1] in _IN_NAMES else words)


def _cell(column: str, value: Any, row: Mapping[str, Any]) -> str:
    """Formats a value of a row."""
    if value is None or isinstance(value, bool) or not isinstance(value, int | float):
        return "-" if value is None else str(value)
    unit = column.rpartition("_")[2]
    if column in _OF_METRICS:
        unit = str(row.get("unit") or str(row.get("metric", row.get("name", ""))).rpartition("_")[2])
    elif unit == column:
        unit = ""  # a single word is the name
    if unit in _IN_NAMES or row.get("unit"):
        return written(value, unit)
    return count(value) if isinstance(value, int) else plain(value)


@dataclass(frozen=True, repr=False)
class Shown:
    """First rows of a table, formatted as text in a terminal and as a table in a notebook.

    Attributes
    ----------
    name : str
        Name of the table.
    table : pyarrow.Table
        The whole table, unformatted.
    first : sequence of dict
        First rows, at most `ROWS_SHOWN`.
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


def rate_back(link: Mapping[str, Any]) -> float:
    """The rate of a link of a topology from its second end to the first, in bits a second."""
    return float(link.get("reverse_rate_bps", link["rate_bps"]))


def rate_from(end: str, link: Mapping[str, Any]) -> float:
    """The rate at which an end of a link of a topology sends, in bits a second."""
    return float(link["rate_bps"]) if end == link["a"] else rate_back(link)
