"""Measurements of a run: Arrow tables with descriptions, used by analysis, pictures and the report."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Iterator, Mapping
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

import pyarrow as pa

from . import arrow
from .errors import MissingPackageError, UnknownNameError
from .library import suggestion, text_of
from .units import ROWS_SHOWN, Shown, html_of

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    from numpy.typing import NDArray


P = ParamSpec("P")
R = TypeVar("R")
_SHOWN = (
    "flow",
    "class",
    "throughput_bps",
    "frames_sent",
    "frames_dropped",
    "latency_mean_ns",
    "latency_p99_ns",
)

Curve = tuple[Any, Any]
"""Times and values of a series."""
Curves = dict[str, dict[str, Curve]]
"""Series by metric and entity."""


_DISTRIBUTIONS = {
    "latency_ns": ("latencies", "flow", ""),
    "completion_ns": ("transfers", "name", ""),
    "slowdown": ("transfers", "name", ""),
    "occupancy_bytes": ("occupancies", "entity", "B"),
    "occupancy_frames": ("occupancies", "entity", "frames"),
}
"""For each distribution: table, column with the entity, and unit if the table has several."""


def of_result(function: Callable[Concatenate[Any, P], R]) -> Callable[Concatenate[Any, P], R]:
    """Decorator: errors caused by an inconsistent stored result become a `ResultError` with its directory.

    The first argument is the result. The files of a stored result may have been modified.
    """

    @functools.wraps(function)
    def call(result: Any, /, *arguments: P.args, **options: P.kwargs) -> R:
        place = getattr(result, "directory", None)
        if place is None:
            return function(result, *arguments, **options)
        from penstock.errors import reading

        with reading(place):
            return function(result, *arguments, **options)

    return call


def html_table(table: pa.Table, what: str) -> str:
    """HTML of the first rows of a table with units, and the number of remaining `what`, for notebooks."""
    return html_of(rows(table.slice(0, ROWS_SHOWN)), table.column_names, table.num_rows, what)


class Measurements:
    """Tables of a run, and the scenario and seed to repeat it.

    `penstock.Result` adds saving and loading.

    Attributes
    ----------
    run : dict
        ``name``, ``seed``, ``fingerprint``, ``engine_version``, ``simulated_s``, ``duration_s``, ``wall_s``,
        ``events``, ``frame_hops``, ``complete``, ``warnings``; ``skipped_s`` and ``skipped_hops``, what
        `skip` left out of ``simulated_s`` and ``frame_hops``. Wall times in seconds: ``load_s``, of reading
        and checking the scenario; ``build_s``, of building the fabric; and ``wall_s``, of building it and
        handling events.
    scenario_toml : str
        Effective scenario with all defaults.
    topology : dict
        ``nodes`` (name, role, level) and ``links`` (a, b, rate_bps, delay_ns; and
        reverse_rate_bps, from b to a, if that differs).
    description : dict
        Description and unit of each table and column.
    directory : Path or None
        Directory from which it was loaded; ``None`` for a new result.
    """

    def __init__(
        self,
        *,
        run: Mapping[str, Any],
        scenario_toml: str,
        topology: Mapping[str, Any],
        description: Mapping[str, Any],
        tables: Mapping[str, Callable[[], pa.Table]],
        directory: Path | None = None,
    ) -> None:
        self.run = dict(run)
        self.scenario_toml = scenario_toml
        self.topology = dict(topology)
        self.description = dict(description)
        self.directory = directory
        self._readers = dict(tables)
        self._tables: dict[str, pa.Table] = {}
        self._curves: tuple[pa.Table, Curves] | None = None

    def __getstate__(self) -> dict[str, Any]:
        # A copy has its own tables: the originals may belong to the engine or be in a file.
        own = {"_readers": dict.fromkeys(self._readers), "_tables": self._all(), "_curves": None}
        return {**self.__dict__, **own}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__dict__.update(state)

    def _all(self) -> dict[str, pa.Table]:
        return {name: self.table(name) for name in self._readers}

    def __repr__(self) -> str:
        state = "" if self.complete else ", cut short"
        return f"<Result {self.name!r} seed {self.seed}, {self.run.get('simulated_s')} s simulated{state}>"

    @of_result
    def _repr_html_(self) -> str:
        """Name, fingerprint and the first flows, for notebooks."""
        flows = self.table("flows") if "flows" in self._readers else arrow.table({})
        shown = [name for name in _SHOWN if name in flows.column_names]
        return (
            f"<p><b>{escape(self.name)}</b>, seed {self.seed}, fingerprint {escape(self.fingerprint)}"
            f"{'' if self.complete else ', cut short'}</p>{html_table(flows.select(shown), 'flows')}"
            f"<p>tables: {escape(', '.join(self._readers))}</p>"
        )

    @property
    def name(self) -> str:
        """Name of the scenario."""
        return str(self.run["name"])

    @property
    def seed(self) -> int:
        """Seed of the random streams."""
        return int(self.run["seed"])

    @property
    def fingerprint(self) -> str:
        """Hash of the trajectory; depends only on the scenario and the seed, not on the machine."""
        return str(self.run["fingerprint"])

    @property
    def complete(self) -> bool:
        """True if the run reached its end, false if it was cut short."""
        return bool(self.run["complete"])

    @property
    def table_names(self) -> list[str]:
        """Names of the tables."""
        return list(self._readers)

    def table(self, name: str) -> pa.Table:
        """Returns a table as a pyarrow table.

        Raises
        ------
        UnknownNameError
            If there is no such table.

        Examples
        --------
        >>> import penstock as ps
        >>> result = ps.run("first-light")
        >>> result.table("flows").select(["flow", "throughput_bps"]).to_pylist()[0]
        {'flow': 'victim-1', 'throughput_bps': 2498515200.0}
        """
        if text_of("table", name) not in self._tables:
            if name not in self._readers:
                raise UnknownNameError(f"no table {name!r}; {suggestion(name, self._readers)}")
            self._tables[name] = self._readers[name]()
        return self._tables[name]

    def __getitem__(self, name: str) -> pa.Table:
        return self.table(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._readers)

    @of_result
    def show(self, name: str) -> Shown:
        """Formats the first rows of a table with units; notebooks show them as HTML.

        Raises
        ------
        UnknownNameError
            If there is no such table.

        Examples
        --------
        >>> import penstock as ps
        >>> ps.run("first-light").show("flows")
        flow ... throughput ...
        victim-1 ... 2.499 Gb/s ...
        """
        table = self.table(name)
        return Shown(name, table, rows(table.slice(0, ROWS_SHOWN)))

    @of_result
    def to_pandas(self, name: str) -> pd.DataFrame:
        """Returns a table as a pandas data frame; zero-copy where possible.

        Raises
        ------
        UnknownNameError
            If there is no such table.
        MissingPackageError
            If pandas is not installed.

        Examples
        --------
        >>> import penstock as ps
        >>> result = ps.run("first-light")
        >>> flows = result.to_pandas("flows").set_index("flow")
        >>> int(flows.loc["aggressor", "frames_sent"])
        2569
        """
        try:
            import pandas as pd
        except ImportError:
            raise MissingPackageError("to_pandas", "pandas") from None

        frame: pd.DataFrame = self.table(name).to_pandas(types_mapper=pd.ArrowDtype)
        return frame

    @of_result
    def to_polars(self, name: str) -> pl.DataFrame:
        """Returns a table as a Polars data frame; zero-copy.

        Raises
        ------
        UnknownNameError
            If there is no such table.
        MissingPackageError
            If Polars is not installed.

        Examples
        --------
        >>> import penstock as ps
        >>> flows = ps.run("first-light").to_polars("flows")  # doctest: +SKIP
        """
        try:
            import polars as pl
        except ImportError:
            raise MissingPackageError("to_polars", "polars") from None

        return pl.DataFrame(self.table(name))

    def rows(self, name: str) -> list[dict[str, Any]]:
        """Returns a table as one dictionary per row; unknown numbers are ``None``.

        Examples
        --------
        >>> import penstock as ps
        >>> result = ps.run("first-light")
        >>> [row["port"] for row in result.rows("ports") if row["pauses_received"]]
        ['h2.0->sw']
        """
        return rows(self.table(name))

    @of_result
    def series(self, metric: str, entity: str) -> tuple[Any, Any]:
        """Returns a time series as two NumPy arrays: start of each bin in nanoseconds, and values.

        Parameters
        ----------
        metric : str
            Name of the metric, such as ``"flow_throughput_bps"``; see ``penstock explain series``.
        entity : str
            Flow, port or queue.

        Raises
        ------
        UnknownNameError
            If there is no such series.

        Examples
        --------
        >>> import penstock as ps
        >>> result = ps.run("first-light")
        >>> times, values = result.series("flow_throughput_bps", "aggressor")
        >>> len(times), float(values.max())
        (100, 6582880000.0)
        """
        text_of("metric", metric), text_of("entity", entity)
        found = self.curves()
        if metric not in found:
            raise UnknownNameError(f"no series of {metric!r}; {suggestion(metric, list(found))}")
        if entity not in found[metric]:
            known = list(found[metric])
            raise UnknownNameError(f"no series {metric!r} of {entity!r}; {suggestion(entity, known)}")
        times, values = found[metric][entity]
        return times.copy(), values.copy()

    @of_result
    def all_series(self, metric: str) -> dict[str, tuple[Any, Any]]:
        """Returns the `series` of every flow, port or queue with this metric, in order of first appearance.

        Raises
        ------
        UnknownNameError
            If there is no such metric. A metric without recorded values has no series.

        Examples
        --------
        >>> import penstock as ps
        >>> result = ps.run("first-light")
        >>> sorted(result.all_series("flow_throughput_bps"))
        ['aggressor', 'victim-1', 'victim-2']
        """
        text_of("metric", metric)
        found = self.curves().get(metric, {})
        if not found:
            known = self._metrics()
            if known and metric not in known:
                raise UnknownNameError(f"no series of {metric!r}; {suggestion(metric, known)}")
        return {entity: (times.copy(), values.copy()) for entity, (times, values) in found.items()}

    def curves(self) -> Curves:
        """Returns all time series by metric and entity, as pairs of read-only NumPy arrays.

        Examples
        --------
        >>> import penstock as ps
        >>> result = ps.run("first-light")
        >>> sorted(result.curves())
        ['class_tx_bps', 'flow_throughput_bps', 'port_rx_bps', 'port_tx_bps', 'queue_bytes', 'queue_frames']
        """
        table = self.table("series")
        if self._curves is None or self._curves[0] is not table:
            self._curves = (table, curves_of(table))
        return self._curves[1]

    @of_result
    def cdf(self, what: str, of: str) -> tuple[Any, Any]:
        """Returns a cumulative distribution as two NumPy arrays: values, and share of at most each value.

        Parameters
        ----------
        what : str
            ``"latency_ns"`` of the frames of a flow; ``"completion_ns"`` or ``"slowdown"`` of transfers,
            where incomplete transfers count as infinite; ``"occupancy_bytes"`` or ``"occupancy_frames"``,
            weighted by time, of entities recorded by a probe ``"occupancy"``.
        of : str
            Flow; entry of the scenario with the transfers; or queue, port, class, memory or
            counter.

        Returns
        -------
        tuple of numpy.ndarray
            Values in ascending order, in ns, bytes or frames (a slowdown has no unit), and shares in [0, 1].
            Values of histograms are the upper edges of bins, a 32nd of an octave wide; those of transfers are
            exact.

        Raises
        ------
        UnknownNameError
            If there is no such distribution.

        Examples
        --------
        >>> import penstock as ps
        >>> result = ps.run("first-light")
        >>> values, shares = result.cdf("latency_ns", "victim-1")
        >>> float(values[shares >= 0.5][0])
        73400.32
        """
        import numpy as np
        import pyarrow.compute as pc

        if what not in _DISTRIBUTIONS:
            raise UnknownNameError(f"no distribution {what!r}; {suggestion(what, _DISTRIBUTIONS)}")
        name, column, unit = _DISTRIBUTIONS[what]
        table = self.table(name)
        if unit:
            table = table.filter(arrow.call("equal", table["unit"], unit))
        chosen = table.filter(arrow.call("equal", table[column], of))
        if chosen.num_rows == 0:
            known = [str(entity) for entity in pc.unique(table[column]).to_pylist()]
            reported = suggestion(of, known) if known else f"the table {name!r} is empty"
            raise UnknownNameError(f"no {what!r} of {of!r}; {reported}")
        if name == "transfers":
            values = np.sort(numpy_of(chosen[what]))  # NaN is sorted last
            known_values = values[np.isfinite(values)]
            return known_values, np.arange(1, len(known_values) + 1) / len(values)
        if name == "occupancies":
            return numpy_of(chosen["to"]) - 1, numpy_of(chosen["share_below"])
        return numpy_of(chosen["to_ns"]), numpy_of(chosen["share_below"])

    def _metrics(self) -> list[str]:
        """Metrics in the description of the table."""
        columns = self.description.get("series", {}).get("columns", ())
        about = next((column["about"] for column in columns if column["name"] == "metric"), "")
        return re.findall(r"\b[a-z]+_[a-z_]+\b", about)


def curves_of(table: pa.Table) -> Curves:
    """Times and values of a series table by metric and entity; zero-copy for contiguous series."""
    import numpy as np
    import pyarrow.compute as pc

    if table.num_rows == 0:
        return {}
    named = [arrow.in_one(table[name]) for name in ("metric", "entity")]
    times, values = numpy_of(table["time_ns"]), numpy_of(table["value"])
    changes = [numpy_of(pc.not_equal(of.slice(1), of.slice(0, len(of) - 1)).cast(pa.uint8())) for of in named]
    starts = np.append(0, np.flatnonzero(changes[0] | changes[1]) + 1)
    names = [arrow.take(of, starts).to_pylist() for of in named]
    pieces: dict[tuple[str, str], list[slice]] = {}
    for key, (start, end) in zip(
        zip(*names, strict=True), pairwise([*starts.tolist(), table.num_rows]), strict=True
    ):
        pieces.setdefault(key, []).append(slice(start, end))
    found: Curves = {}
    for (metric, entity), own in pieces.items():
        curve = [
            column[own[0]] if len(own) == 1 else np.concatenate([column[one] for one in own])
            for column in (times, values)
        ]
        found.setdefault(metric, {})[entity] = (curve[0], curve[1])
    return found


def rows(table: pa.Table) -> list[dict[str, Any]]:
    """One dictionary per row; unknown numbers are ``None``."""
    columns = [values_of(column) for column in table.columns]
    return [dict(zip(table.column_names, row, strict=True)) for row in zip(*columns, strict=True)]


def values_of(column: pa.ChunkedArray) -> list[Any]:
    """Converts a column to a list; unknown numbers are ``None``."""
    import pyarrow.compute as pc

    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_finite(column), column, pa.NULL)
    if pa.types.is_primitive(column.type) and not column.null_count:
        # Many times faster than converting Arrow scalars one by one.
        values: list[Any] = numpy_of(column).tolist()
        return values
    return list(column.to_pylist())


OF_DELIVERED = ("latency_", "jitter_")
"""Prefixes of columns that are unknown if nothing was delivered; tables contain 0."""


def known(row: Mapping[str, Any], column: str) -> float:
    """Returns a number of a row; NaN if unknown."""
    if row[column] is None or (column.startswith(OF_DELIVERED) and row.get("frames_delivered") == 0):
        return math.nan
    return float(row[column])


def numpy_of(column: pa.Array | pa.ChunkedArray) -> NDArray[Any]:
    """Converts a column to NumPy, zero-copy where possible; unknown numbers are NaN.

    ``to_numpy`` of pyarrow would import pandas (see `arrow`).
    """
    import numpy as np

    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        return _objects(column)
    if column.null_count:
        column = arrow.call("fill_null", column.cast(pa.float64(), safe=False), math.nan)
    chunks = [column] if isinstance(column, pa.Array) else column.chunks
    pieces = [np.from_dlpack(chunk) for chunk in chunks]
    if len(pieces) == 1:
        return pieces[0]
    return np.concatenate(pieces) if pieces else np.empty(0, column.type.to_pandas_dtype())


def _objects(column: pa.Array | pa.ChunkedArray) -> NDArray[Any]:
    """Booleans as a boolean array, other values as objects."""
    import numpy as np

    if pa.types.is_boolean(column.type) and not column.null_count:
        return numpy_of(column.cast(pa.uint8())).astype(bool)
    found = np.empty(len(column), dtype=object)
    found[:] = column.to_pylist()
    return found
