"""Columns of result tables in the expressions of measures, and the functions of them."""

from __future__ import annotations

import fnmatch
import math
import tomllib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.errors import ArgumentError
from penstock.library import suggestion
from penstock.measurements import OF_DELIVERED, numpy_of

from .quantity import Quantity, value_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from penstock.measurements import Measurements

    from .measures import Value


class Column:
    """A column of a table, with the name that each of its rows belongs to."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, values: NDArray[Any], named: Callable[[], list[str]]) -> None:
        self.values = values
        self._named = named

    @property
    def entities(self) -> list[str]:
        """The name of each row; most expressions never ask."""
        return self._named()

    def __getitem__(self, rows: object) -> Column:
        names = self.entities
        if isinstance(rows, Column) and rows.values.dtype.kind == "b":
            chosen = np.flatnonzero(rows.values).tolist()
        elif isinstance(rows, str):
            chosen = [at for at, name in enumerate(names) if name == rows or fnmatch.fnmatchcase(name, rows)]
            if not chosen:
                raise ArgumentError(f'no row "{rows}"; {suggestion(rows, dict.fromkeys(names))}')
        else:
            raise ArgumentError("expected a name or a comparison between [ and ]")
        return Column(self.values[chosen], lambda: [names[at] for at in chosen])

    def by_entity(self) -> dict[str, float]:
        """One number for each name.

        Raises
        ------
        ArgumentError
            If a name has several rows.
        """
        names = self.entities
        if len(set(names)) < len(names):
            raise ArgumentError("a name has several rows; expected a function of them, such as mean(...)")
        return dict(zip(names, self.values.astype(float).tolist(), strict=True))

    def known(self) -> NDArray[np.float64]:
        """The numbers that are known."""
        if self.values.dtype.kind not in "biuf":
            raise ArgumentError("a column of text has no numbers")
        values = self.values.astype(np.float64)
        return values[~np.isnan(values)]

    def _with(self, other: object, how: Callable[[Any, Any], Any]) -> Column:
        if isinstance(other, Column):
            if len(other.values) != len(self.values):
                raise ArgumentError("the columns have different rows")
            other = other.values
        with np.errstate(all="ignore"):
            return Column(np.asarray(how(self.values, other)), self._named)

    def __add__(self, other: object) -> Column:
        return self._with(other, np.add)

    def __radd__(self, other: object) -> Column:
        return self._with(other, np.add)

    def __sub__(self, other: object) -> Column:
        return self._with(other, lambda a, b: np.subtract(a, b, dtype=np.float64))

    def __rsub__(self, other: object) -> Column:
        return self._with(other, lambda a, b: np.subtract(b, a, dtype=np.float64))

    def __mul__(self, other: object) -> Column:
        return self._with(other, np.multiply)

    def __rmul__(self, other: object) -> Column:
        return self._with(other, np.multiply)

    def __truediv__(self, other: object) -> Column:
        return self._with(other, np.divide)

    def __rtruediv__(self, other: object) -> Column:
        return self._with(other, lambda a, b: np.divide(b, a))

    def __neg__(self) -> Column:
        return 0.0 - self

    def __lt__(self, other: object) -> Column:
        return self._with(other, np.less)

    def __le__(self, other: object) -> Column:
        return self._with(other, np.less_equal)

    def __gt__(self, other: object) -> Column:
        return self._with(other, np.greater)

    def __ge__(self, other: object) -> Column:
        return self._with(other, np.greater_equal)

    def __eq__(self, other: object) -> Column:  # type: ignore[override]
        return self._with(other, np.equal)

    def __ne__(self, other: object) -> Column:  # type: ignore[override]
        return self._with(other, np.not_equal)


class _Table:
    """A table in an expression: its columns by index."""

    def __init__(self, result: Measurements, name: str) -> None:
        self._table = result.table(name)
        self._name = name

    def __getitem__(self, column: str) -> Column:
        names = self._table.column_names
        if column not in names:
            raise ArgumentError(f'no column "{column}" in {self._name}; {suggestion(str(column), names)}')
        values = numpy_of(self._table[column])
        if str(column).startswith(OF_DELIVERED) and "frames_delivered" in names:
            values = np.where(numpy_of(self._table["frames_delivered"]) > 0, values, math.nan)
        return Column(values, self._entities)

    def _entities(self) -> list[str]:
        """The names of the rows: the first column of text; of queues also the class."""
        names = self._table.column_names
        first: list[str] = self._table[names[0]].to_pylist()
        if names[:2] == ["port", "class"]:
            classes = self._table["class"].to_pylist()
            return [f"{port}#{own}" for port, own in zip(first, classes, strict=True)]
        return [str(name) for name in first]


def plain(value: Any) -> Value | None:
    """What an expression gave as numbers; ``None`` if it is something else."""
    if isinstance(value, Column) and value.values.dtype.kind in "biuf":
        return value.by_entity()
    return float(value) if isinstance(value, bool | int | float | np.number | np.bool_) else None


def named(result: Measurements, name: str) -> Any:
    """What a name of an expression means for a result.

    Raises
    ------
    ArgumentError
        If the result has nothing of that name.
    """
    table, _, column = name.partition(".")
    if table == "scenario":
        return _key(result, column)
    if table == "run":
        value = result.run.get(column)
        if not isinstance(value, int | float):
            numbers = [key for key, one in result.run.items() if isinstance(one, int | float)]
            raise ArgumentError(f'the run has no number "{column}"; {suggestion(column, numbers)}')
        return value
    if table not in result.table_names:
        raise ArgumentError(
            f"no table {table}; {suggestion(table, [*result.table_names, 'run', 'scenario'])}"
        )
    return _Table(result, table)[column] if column else _Table(result, table)


def _key(result: Measurements, key: str) -> float:
    """A key of the effective scenario as a number, in the units of tables."""
    table: Any = tomllib.loads(result.scenario_toml)
    for step in key.split("."):
        if not isinstance(table, dict) or step not in table:
            known = table if isinstance(table, dict) else []
            raise ArgumentError(f"no key {step} in scenario.{key}; {suggestion(step, known)}")
        table = table[step]
    value = value_of(table)
    if isinstance(value, Quantity):
        return value.in_tables()[0]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ArgumentError(f"scenario.{key} is {table}, no number")
    return float(value)


def _quantile(column: Column, share: float) -> float:
    """As a nearest rank."""
    if not 0 < share <= 1:
        raise ArgumentError(f"the quantile {share}; expected a number above 0, at most 1")
    values = np.sort(_numbers(column))
    return float(values[math.ceil(share * len(values)) - 1]) if len(values) else math.nan


def _jain(column: Column) -> float:
    from penstock.analysis.statistics import jain

    values = _numbers(column).tolist()
    return jain(values) if values else math.nan


def _count(column: Column) -> int:
    """Known numbers; of a comparison those rows where it holds."""
    values = column.known()
    return int(values.sum()) if column.values.dtype.kind == "b" else len(values)


def _sum(column: Column) -> float:
    return float(_numbers(column).sum())


def _mean(column: Column) -> float:
    values = _numbers(column)
    return float(values.mean()) if len(values) else math.nan


def _extreme(of: Callable[..., float]) -> Callable[..., float]:
    """`min` or `max` of a column, or of several numbers."""

    def extreme(first: Any, *others: Any) -> float:
        values = [float(one) for one in (first, *others)] if others else _numbers(first)
        return float(of(values)) if len(values) else math.nan

    return extreme


def _numbers(column: Any) -> NDArray[np.float64]:
    if not isinstance(column, Column):
        raise ArgumentError("expected a column, such as flows.throughput_bps")
    return column.known()


def _absolute(value: Any) -> Any:
    return Column(np.abs(value.values), lambda: value.entities) if isinstance(value, Column) else abs(value)


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
"""What an expression may call."""
