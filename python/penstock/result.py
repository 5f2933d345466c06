"""What a run measured: described tables, in memory as Arrow and on disk as Parquet."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from . import storage
from .errors import ResultError

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from . import _core

RESULT_FILES = ("run.json", "topology.json", "description.json", "scenario.toml")


class Result:
    """The tables of one run and everything needed to repeat it.

    Made by `penstock.run`, `Scenario.run` or `Result.load`.

    Attributes
    ----------
    run : dict
        ``name``, ``seed``, ``fingerprint``, ``engine_version``, ``simulated_s``, ``duration_s``, ``wall_s``,
        ``events``, ``frame_hops``, ``complete``, ``warnings``.
    scenario_toml : str
        The effective scenario: every default written out.
    topology : dict
        ``nodes`` (name, role, level) and ``links`` (a, b, rate_bps, delay_ns).
    description : dict
        What each table and each column means, with its unit.
    """

    def __init__(
        self,
        *,
        run: Mapping[str, Any],
        scenario_toml: str,
        topology: Mapping[str, Any],
        description: Mapping[str, Any],
        tables: Mapping[str, Callable[[], pa.Table]],
    ) -> None:
        self.run = dict(run)
        self.scenario_toml = scenario_toml
        self.topology = dict(topology)
        self.description = dict(description)
        self._readers = dict(tables)
        self._tables: dict[str, pa.Table] = {}

    @classmethod
    def from_core(cls, core: _core.Result) -> Result:
        """The result that the engine handed over; tables are shared with it, not copied."""
        return cls(
            run=json.loads(core.run),
            scenario_toml=core.scenario_toml,
            topology=json.loads(core.topology),
            description=json.loads(core.description),
            tables={name: _core_reader(core, name) for name in core.table_names},
        )

    @classmethod
    def load(cls, directory: str | PathLike[str]) -> Result:
        """Reads a saved result; tables are read on first use.

        Raises
        ------
        ResultError
            If the directory is not a complete result; the message names what is missing or changed.
        """
        path = Path(directory)
        names = storage.verify(path)
        missing = [name for name in RESULT_FILES if name not in names]
        if missing:
            if "replications.json" in names:
                first = min((path / name for name in names if name.endswith("/run.json")), key=_in_order)
                raise ResultError(
                    f"{path}: holds replications, each a result of its own; name one, such as {first.parent}"
                )
            raise ResultError(f"{path}: not the result of a run: {', '.join(missing)} is not among its files")
        parquet = [Path(name).stem for name in names if "/" not in name and name.endswith(".parquet")]
        return cls(
            run=json.loads((path / "run.json").read_text("utf-8")),
            scenario_toml=(path / "scenario.toml").read_text("utf-8"),
            topology=json.loads((path / "topology.json").read_text("utf-8")),
            description=json.loads((path / "description.json").read_text("utf-8")),
            tables={name: _parquet_reader(path / f"{name}.parquet") for name in parquet},
        )

    def __repr__(self) -> str:
        state = "" if self.complete else ", cut short"
        return f"<Result {self.name!r} seed {self.seed}, {self.run.get('simulated_s')} s simulated{state}>"

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
        """Hash over what every node saw; the same scenario and seed give the same one everywhere."""
        return str(self.run["fingerprint"])

    @property
    def complete(self) -> bool:
        """Whether the run reached its end; false if it was cut short."""
        return bool(self.run["complete"])

    @property
    def table_names(self) -> list[str]:
        """Names of the tables."""
        return list(self._readers)

    def table(self, name: str) -> pa.Table:
        """A table as pyarrow.

        Raises
        ------
        KeyError
            If there is no table of this name.
        """
        if name not in self._tables:
            if name not in self._readers:
                raise KeyError(f"no table {name!r}; there are: {', '.join(self._readers)}")
            self._tables[name] = self._readers[name]()
        return self._tables[name]

    def __getitem__(self, name: str) -> pa.Table:
        return self.table(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._readers)

    def to_pandas(self, name: str) -> pd.DataFrame:
        """A table as pandas, on the same Arrow buffers."""
        import pandas as pd

        frame: pd.DataFrame = self.table(name).to_pandas(types_mapper=pd.ArrowDtype)
        return frame

    def to_polars(self, name: str) -> pl.DataFrame:
        """A table as Polars, on the same Arrow buffers."""
        import polars as pl

        return pl.DataFrame(self.table(name))

    def rows(self, name: str) -> list[dict[str, Any]]:
        """A table as one dictionary a row; numbers that are not known are ``None``."""
        rows: list[dict[str, Any]] = self.table(name).to_pylist()
        return [{key: _known(value) for key, value in row.items()} for row in rows]

    def series(self, metric: str, entity: str) -> tuple[Any, Any]:
        """One time series as two NumPy arrays: start of each bin in nanoseconds, and its value.

        Parameters
        ----------
        metric : str
            Such as ``"flow_throughput_bps"``; see ``penstock explain series``.
        entity : str
            The flow, port or queue.
        """
        import pyarrow.compute as pc

        table = self.table("series")
        chosen = table.filter(pc.and_(pc.equal(table["metric"], metric), pc.equal(table["entity"], entity)))
        return chosen["time_ns"].to_numpy(), chosen["value"].to_numpy()

    def all_series(self, metric: str) -> dict[str, tuple[Any, Any]]:
        """`series` of every flow, port or queue that has this metric, in order of first appearance."""
        import pyarrow.compute as pc

        table = self.table("series")
        return split(table.filter(pc.equal(table["metric"], metric)))

    def save(self, directory: str | PathLike[str], *, report: bool = True) -> Path:
        """Writes one Parquet file a table, the run, the scenario, the report and its pictures.

        The directory appears complete or not at all. An earlier result of the same name is replaced.

        Parameters
        ----------
        directory : str or path
            A new name, or an earlier result.
        report : bool
            Whether ``report.html`` and ``pictures/`` are written too. Default true.

        Raises
        ------
        InputError
            If `directory` holds something that is not a result.
        OSError
            If it cannot be written, for example because the disk is full; nothing is left behind.
        """
        target = Path(directory)
        with storage.complete_directory(target) as partial:
            self.write_into(partial, report=report)
        return target

    def write_into(self, directory: Path, *, report: bool) -> None:
        """Writes the files of the result, without manifest, into an existing directory."""
        storage.write_json(directory / "run.json", self.run)
        storage.write_json(directory / "topology.json", self.topology)
        storage.write_json(directory / "description.json", self.description)
        (directory / "scenario.toml").write_text(self.scenario_toml, "utf-8")
        for name in self.table_names:
            pq.write_table(self.table(name), directory / f"{name}.parquet", compression="zstd")
        if report:
            from . import plots
            from .report import write_report

            write_report(self, directory / "report.html")
            plots.save_all(self, directory / "pictures")


def split(table: pa.Table) -> dict[str, tuple[Any, Any]]:
    """Times and values of a series table by entity, in one pass over however many there are."""
    import numpy as np

    if table.num_rows == 0:
        return {}
    coded = table["entity"].combine_chunks().dictionary_encode()
    order = np.argsort(coded.indices.to_numpy(zero_copy_only=False), kind="stable")
    sizes = np.bincount(coded.indices.to_numpy(zero_copy_only=False), minlength=len(coded.dictionary))
    ends = np.cumsum(sizes)
    times, values = table["time_ns"].to_numpy()[order], table["value"].to_numpy()[order]
    return {
        str(name): (times[end - size : end], values[end - size : end])
        for name, size, end in zip(coded.dictionary.to_pylist(), sizes, ends, strict=True)
    }


def _in_order(path: Path) -> tuple[int, str]:
    """Makes seed-9 come before seed-10."""
    return len(str(path)), str(path)


def _known(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _core_reader(core: _core.Result, name: str) -> Callable[[], pa.Table]:
    # Not pa.table(): that would import pandas, if it is there, to ask whether this is one of its frames.
    return lambda: pa.RecordBatchReader.from_stream(core.table(name)).read_all()


def _parquet_reader(path: Path) -> Callable[[], pa.Table]:
    return lambda: pq.read_table(path)
