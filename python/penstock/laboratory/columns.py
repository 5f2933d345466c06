"""Columns of result tables in measure expressions, and the functions of these expressions."""

from __future__ import annotations

import fnmatch
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.errors import ArgumentError
from penstock.library import suggestion, toml
from penstock.measurements import OF_DELIVERED, numpy_of

from .expression import Surroundings, described
from .quantity import Quantity, value_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from penstock.measurements import Measurements

    from .measures import Value


class Column:
    """Rows of a table column, or values computed from them.

    Parameters
    ----------
    values : array
        One value per row: float, bool or text.
    about : str
        Name in error messages.
    table : Table
        Table of the column.
    rows : array
        Indexes of the rows in the table.
    """

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, values: NDArray[Any], about: str, table: Table, rows: NDArray[Any]) -> None:
        self.values = values
        self.about = about
        self.table = table
        self.rows = rows

    @property
    def is_text(self) -> bool:
        """True if the values are text."""
        return self.values.dtype.kind not in "bf"

    @property
    def entities(self) -> list[str]:
        """Name of each row; computed on demand."""
        names = self.table.entities()
        return [names[at] for at in self.rows.tolist()]

    def picked(self, rows: object) -> Column:
        """Returns the rows selected by a name, a pattern or a comparison."""
        if isinstance(rows, Column) and rows.values.dtype.kind == "b":
            self._ensure_same_rows(rows)
            chosen = np.flatnonzero(rows.values)
        elif isinstance(rows, str):
            names = self.entities
            here = [at for at, name in enumerate(names) if name == rows or fnmatch.fnmatchcase(name, rows)]
            if not here:
                raise ArgumentError(f'no row "{rows}"; {suggestion(rows, dict.fromkeys(names))}')
            chosen = np.array(here)
        else:
            raise ArgumentError("expected a name or a comparison between [ and ]")
        about = f'{self.about}["{rows}"]' if isinstance(rows, str) else f"{self.about}[...]"
        return Column(self.values[chosen], about, self.table, self.rows[chosen])

    def by_entity(self) -> dict[str, float]:
        """Returns the value of each entity by name.

        Raises
        ------
        ArgumentError
            If a name has several rows.
        """
        names = self.entities
        if len(set(names)) < len(names):
            raise ArgumentError("a name has several rows; expected a function of them, such as mean(...)")
        return dict(zip(names, map(_known, self.values.tolist()), strict=True))

    def known(self) -> NDArray[np.float64]:
        """Finite values."""
        values = self.values.astype(np.float64)
        return values[np.isfinite(values)]

    def _ensure_same_rows(self, other: Column) -> None:
        if other.table.name != self.table.name:
            raise ArgumentError(f"{self.table.name} and {other.table.name} have different rows")
        if not np.array_equal(self.rows, other.rows):
            raise ArgumentError(f"{self.about} and {other.about} select different rows of {self.table.name}")

    def with_values(self, how: Callable[[Any, Any], Any], other: object, *, swapped: bool = False) -> Column:
        """Applies a function to these values and to a column, number or text."""
        if isinstance(other, Column):
            self._ensure_same_rows(other)
            other = other.values
        pair = (other, self.values) if swapped else (self.values, other)
        with np.errstate(all="ignore"):
            return Column(np.asarray(how(*pair)), self.about, self.table, self.rows)

    def __add__(self, other: object) -> Column:
        return self.with_values(np.add, other)

    __radd__ = __add__

    def __sub__(self, other: object) -> Column:
        return self.with_values(_less, other)

    def __rsub__(self, other: object) -> Column:
        return self.with_values(_less, other, swapped=True)

    def __mul__(self, other: object) -> Column:
        return self.with_values(np.multiply, other)

    __rmul__ = __mul__

    def __truediv__(self, other: object) -> Column:
        return self.with_values(_share, other)

    def __rtruediv__(self, other: object) -> Column:
        return self.with_values(_share, other, swapped=True)

    def __neg__(self) -> Column:
        return 0.0 - self

    def __abs__(self) -> Column:
        return Column(np.abs(self.values), self.about, self.table, self.rows)

    def __lt__(self, other: object) -> Column:
        return self.with_values(np.less, other)

    def __le__(self, other: object) -> Column:
        return self.with_values(np.less_equal, other)

    def __gt__(self, other: object) -> Column:
        return self.with_values(np.greater, other)

    def __ge__(self, other: object) -> Column:
        return self.with_values(np.greater_equal, other)

    def __eq__(self, other: object) -> Column:  # type: ignore[override]
        return self.with_values(np.equal, other)

    def __ne__(self, other: object) -> Column:  # type: ignore[override]
        return self.with_values(np.not_equal, other)


def _less(one: Any, other: Any) -> Any:
    """Subtracts; NumPy does not support this for booleans."""
    return np.subtract(one, other, dtype=np.float64)


def _share(one: Any, other: Any) -> Any:
    """Divides; a division by zero gives NaN."""
    return np.where(np.equal(other, 0), math.nan, np.divide(one, other))


class Table:
    """A result table in an expression."""

    def __init__(self, result: Measurements, name: str) -> None:
        self.name = name
        self._table = result.table(name)

    def column(self, column: object) -> Column:
        """Returns a column by name."""
        names = self._table.column_names
        if not isinstance(column, str):
            raise ArgumentError(f'{self.described()} or {self.name}["{names[0]}"]')
        if column not in names:
            raise ArgumentError(f'no column "{column}" in {self.name}; {suggestion(column, names)}')
        values = numpy_of(self._table[column])
        if values.dtype.kind in "iuf":
            values = values.astype(np.float64)
        if column.startswith(OF_DELIVERED) and "frames_delivered" in names:
            values = np.where(numpy_of(self._table["frames_delivered"]) > 0, values, math.nan)
        return Column(values, f"{self.name}.{column}", self, np.arange(len(values)))

    def described(self) -> str:
        """Error message for a table used in place of a column."""
        names = self._table.column_names
        numbers = [name for name in names if numpy_of(self._table[name]).dtype.kind in "iuf"]
        one = next((name for name in numbers if name.endswith("_bps")), (numbers or names)[-1])
        return f"{self.name} is a table; name a column, such as {self.name}.{one}"

    def entities(self) -> list[str]:
        """Names of the rows: the first text column; for queues with the class."""
        names = self._table.column_names
        first: list[str] = self._table[names[0]].to_pylist()
        if names[:2] == ["port", "class"]:
            classes = self._table["class"].to_pylist()
            return [f"{port}#{own}" for port, own in zip(first, classes, strict=True)]
        return [str(name) for name in first]


_NUMBERS_OF = {"scenario": "scenario.switch.buffer.total", "run": "run.frame_hops"}


class OfResult(Surroundings):
    """Names in measure expressions: tables and numbers of a result."""

    def __init__(self, result: Measurements) -> None:
        self.functions = FUNCTIONS
        self._result = result

    def name(self, name: str) -> Any:
        """Returns a table, a column, a key of the scenario or a number of the run."""
        table, _, column = name.partition(".")
        if name in ("scenario", "run"):
            raise ArgumentError(f"{name} is a table; name a number of it, such as {_NUMBERS_OF[name]}")
        if table == "scenario":
            return _key(self._result, column)
        if table == "run":
            value = self._result.run.get(column)
            if isinstance(value, bool) or not isinstance(value, int | float):
                numbers = [key for key, one in self._result.run.items() if isinstance(one, int | float)]
                raise ArgumentError(f"{name} is not a number of the run; {suggestion(column, numbers)}")
            return float(value)
        names = self._result.table_names
        if table not in names:
            from .measures import DEFAULT_MEASURES, Measure

            if name in DEFAULT_MEASURES:
                return Measure(name, DEFAULT_MEASURES[name]).of(self._result)
            known = [*names, *DEFAULT_MEASURES, "run", "scenario"]
            raise ArgumentError(f"no table {table}; {suggestion(table, known)}")
        found = Table(self._result, table)
        return found.column(column) if column else found

    def text(self, text: str) -> Any:
        """Converts an amount with a unit, such as "50 us", to the units of tables; keeps other text."""
        found = Quantity.read(text)
        return text if found is None else found.in_tables()[0]

    def number(self, value: int | float) -> float:
        """Converts to a float; a number beyond the range of floats becomes NaN."""
        return float(value)

    def operand(self, value: Any) -> Any:
        """Checks that the value is a number, a boolean or a column of these."""
        if isinstance(value, Table):
            raise ArgumentError(value.described())
        if isinstance(value, Column) and value.is_text:
            raise ArgumentError(f"{value.about} is text, not numbers")
        return value if isinstance(value, bool | Column) else super().operand(value)

    def compared(self, one: Any, other: Any, *, ordered: bool) -> None:
        """Checks the operands: text can only be compared with text, and only for equality."""
        texts = [
            isinstance(value, str) or (isinstance(value, Column) and value.is_text) for value in (one, other)
        ]
        if ordered or not all(texts):
            super().compared(one, other, ordered=True)

    def divided(self, one: Any, other: Any) -> Any:
        """Divides; a division by zero gives NaN, as in columns."""
        if isinstance(one, Column) or isinstance(other, Column):
            return one / other
        return one / other if other else math.nan

    def entry(self, value: Any, index: Any) -> Any:
        """Returns a column of a table, or rows of a column."""
        if isinstance(value, Table):
            return value.column(index)
        if isinstance(value, Column):
            return value.picked(index)
        raise ArgumentError(f"{described(value)} has no rows to select")

    def outcome(self, value: Any) -> Value:
        """Returns a number, or one number per entity; NaN if unknown."""
        self.operand(value)
        return value.by_entity() if isinstance(value, Column) else _known(value)


def _known(value: Any) -> float:
    """Converts a value of a table to float; NaN for infinity."""
    return float(value) if math.isfinite(value) else math.nan


def _key(result: Measurements, key: str) -> float:
    """Returns a key of the effective scenario as a number, in the units of tables."""
    table: Any = toml(result.scenario_toml)
    for step in key.split("."):
        if not isinstance(table, dict) or step not in table:
            known = table if isinstance(table, dict) else []
            raise ArgumentError(f"no key {step} in scenario.{key}; {suggestion(step, known)}")
        table = table[step]
    value = value_of(table)
    if isinstance(value, Quantity):
        return value.in_tables()[0]
    if isinstance(value, bool) or not isinstance(value, int | float):
        inside = f" with {', '.join(table)}" if isinstance(table, dict) else ""
        raise ArgumentError(f"scenario.{key} is {described(table)}{inside}; expected a number")
    return float(value)


def _quantile(column: Any, share: Any) -> float:
    """Percentile by nearest rank."""
    if isinstance(share, Column) or not 0 < share <= 1:
        reported = share.about if isinstance(share, Column) else share
        raise ArgumentError(f"the quantile {reported}; expected a number above 0 and at most 1")
    values = np.sort(_numbers(column))
    return float(values[math.ceil(share * len(values)) - 1]) if len(values) else math.nan


def _jain(column: Any) -> float:
    from penstock.analysis.statistics import jain

    values = _numbers(column).tolist()
    return jain(values) if values else math.nan


def _count(column: Any) -> float:
    """Number of finite values; for a comparison, of rows where it holds."""
    values = _numbers(column)
    return float(values.sum()) if column.values.dtype.kind == "b" else float(len(values))


def _sum(column: Any) -> float:
    return float(_numbers(column).sum())


def _mean(column: Any) -> float:
    values = _numbers(column)
    return float(values.mean()) if len(values) else math.nan


def _extreme(of: Callable[..., float]) -> Callable[..., float]:
    """Returns the minimum or maximum of a column, or of several numbers."""

    def extreme(first: Any, *others: Any) -> float:
        if columns := [one.about for one in (first, *others) if isinstance(one, Column)]:
            if others:
                raise ArgumentError(f"{columns[0]} is a column; expected it alone, or several numbers")
            values = _numbers(first).tolist()
        else:
            values = (
                [float(one) for one in (first, *others) if math.isfinite(one)] if others else _numbers(first)
            )
        return float(of(values)) if len(values) else math.nan

    return extreme


def _numbers(column: Any) -> NDArray[np.float64]:
    if not isinstance(column, Column):
        raise ArgumentError(f"{described(column)}: expected a column, such as flows.throughput_bps")
    return column.known()


def _absolute(value: Any) -> Any:
    return abs(value)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "sum": _sum,
    "mean": _mean,
    "min": _extreme(min),
    "max": _extreme(max),
    "quantile": _quantile,
    "count": _count,
    "jain": _jain,
    "abs": _absolute,
}
"""Functions of measure expressions."""
