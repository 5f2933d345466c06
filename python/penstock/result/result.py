"""A result: what a run measured, saved as Parquet with its report, and loaded again."""

from __future__ import annotations

import json
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from penstock import storage
from penstock.errors import ResultError
from penstock.library import path_of
from penstock.measurements import Measurements

if TYPE_CHECKING:
    from penstock import _core

RESULT_FILES = ("run.json", "topology.json", "description.json", "scenario.toml")


class Result(Measurements):
    """What one run measured, and everything needed to repeat it.

    Made by `penstock.run`, `Scenario.run` or `Result.load`.
    """

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
        path = path_of("directory", directory)
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

    def save(self, directory: str | PathLike[str], *, report: bool = True) -> Path:
        """Writes one Parquet file a table, the run, the scenario, the report and its pictures.

        The directory is complete or absent. An earlier result of that name is replaced.

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
            If it cannot be written, for example because the disk is full. Nothing is left behind.
        """
        target = path_of("directory", directory)
        with storage.complete_directory(target) as partial:
            self.write_into(partial, report=report)
        return target

    def write_into(self, directory: Path, *, report: bool) -> None:
        """Writes the files of the result, without manifest, into an existing directory."""
        storage.write_json(directory / "run.json", self.run)
        storage.write_json(directory / "topology.json", self.topology, indent=None)
        storage.write_json(directory / "description.json", self.description)
        (directory / "scenario.toml").write_text(self.scenario_toml, "utf-8")
        for name in self.table_names:
            pq.write_table(self.table(name), directory / f"{name}.parquet", compression="zstd")
        if report:
            from penstock import plots
            from penstock.report import write_report

            write_report(self, directory / "report.html")
            plots.save_all(self, directory / "pictures")


def _in_order(path: Path) -> tuple[int, str]:
    """Makes seed-9 come before seed-10."""
    return len(str(path)), str(path)


def _core_reader(core: _core.Result, name: str) -> Callable[[], pa.Table]:
    # Not pa.table(): that would import pandas, if it is there, to ask whether this is one of its frames.
    return lambda: pa.RecordBatchReader.from_stream(core.table(name)).read_all()


def _parquet_reader(path: Path) -> Callable[[], pa.Table]:
    return lambda: pq.read_table(path)
