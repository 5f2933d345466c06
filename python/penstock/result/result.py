"""Result of a run: tables stored as Parquet, and the report."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
import pyarrow as pa

from penstock import arrow, storage
from penstock.analysis.verdict import Verdict, verdict
from penstock.errors import ArgumentError, InputError, ResultError, ScenarioError, UnknownNameError
from penstock.library import path_of, suggestion, text_of
from penstock.measurements import Measurements, of_result

from . import checked

if TYPE_CHECKING:
    from penstock import _core
    from penstock.report.widget import ReportWidget

MOST_HEIGHT = 4_000
"""Maximum height of the widget, in pixels."""
RESULT_FILES = ("run.json", "topology.json", "description.json", "scenario.toml")


class Result(Measurements):
    """The measurements of one run, and everything needed to repeat it.

    Created by `penstock.run`, `Scenario.run` or `Result.load`.
    """

    @classmethod
    def from_core(cls, core: _core.Result) -> Result:
        """Wraps a result of the engine; tables are shared, not copied."""
        return cls(
            run=json.loads(core.run),
            scenario_toml=core.scenario_toml,
            topology=orjson.loads(core.topology),
            description=_description(core.description),
            tables={name: _core_reader(core, name) for name in core.table_names},
        )

    @classmethod
    def load(cls, directory: str | PathLike[str]) -> Result:
        """Loads a saved result; tables are read on first use.

        Raises
        ------
        ResultError
            If the directory is not a complete result; the message lists missing or changed files.

        Examples
        --------
        >>> import penstock as ps
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as directory:
        ...     place = ps.run("first-light").save(f"{directory}/saved", report=False)
        ...     print(ps.Result.load(place).name)
        first-light
        """
        path = path_of("directory", directory)
        names = storage.verify(path)
        missing = [name for name in RESULT_FILES if name not in names]
        if missing:
            if "replications.json" in names:
                first = min((path / name for name in names if name.endswith("/run.json")), key=_in_order)
                raise ResultError(
                    f"{path}: contains replications; expected one of them, such as {first.parent}"
                )
            raise ResultError(f"{path}: not the result of a run: {', '.join(missing)} missing")
        parquet = [Path(name).stem for name in names if "/" not in name and name.endswith(".parquet")]
        return cls(
            run=checked.run(path / "run.json"),
            scenario_toml=checked.scenario(path / "scenario.toml"),
            topology=checked.topology(path / "topology.json"),
            description=checked.description(path / "description.json"),
            tables={name: _parquet_reader(path / f"{name}.parquet") for name in parquet},
            directory=path,
        )

    @property
    def verdict(self) -> Verdict:
        """Verdict on the run, as printed by the commands and pages."""
        return verdict(self)

    @of_result
    def path(self, flow: str, to: str | None = None) -> list[str]:
        """Returns the egress ports on the path of a flow to a host, in order.

        Uses the table ``paths``, which contains the routes at the end of the run. If the table is empty
        because there are too many paths, the planned path is computed from the scenario: switches avoid only
        their own links that are down.

        Parameters
        ----------
        flow : str
            Name in the table ``flows``, such as ``"victim"`` or ``"all-to-all[h3]"``.
        to : str, optional
            Receiving host. Default: the only destination of the flow.

        Returns
        -------
        list of str
            Names as in the table ``ports``, starting with the sender's port.

        Raises
        ------
        UnknownNameError
            If there is no such flow, or the host is not one of its destinations.
        ArgumentError
            If `to` is missing and the flow has several destinations.
        ScenarioError
            If the path has to be computed, and a file of the scenario no longer exists.

        Examples
        --------
        >>> import penstock as ps
        >>> result = ps.run("first-light")
        >>> result.path("victim-1")
        ['h0.0->sw', 'sw.3->h3']
        """
        flows = self.table("flows")
        names = flows["flow"].to_pylist()
        if text_of("flow", flow) not in names:
            raise UnknownNameError(f"no flow {flow!r} in this result; {suggestion(flow, names)}")
        listed = self.table("paths").filter(arrow.call("equal", self.table("paths")["flow"], flow))
        if to is None:
            to = flows["destination"].to_pylist()[names.index(flow)]
            if to not in self._nodes():
                raise ArgumentError(f"flow {flow!r} sends to {to}; expected one of them as `to`")
        if listed.num_rows:
            ports = dict(zip(listed["destination"].to_pylist(), listed["ports"].to_pylist(), strict=True))
            found = str(ports[to]).split() if to in ports else None
        else:
            found = _planned_path(self.scenario_toml, flow, text_of("to", to))
        if found is None:
            known = list(ports) if listed.num_rows else [name for name in self._nodes() if name != to]
            raise UnknownNameError(f"flow {flow!r} does not send to {to!r}; {suggestion(to, known)}")
        return found

    def _nodes(self) -> list[str]:
        return [str(node["name"]) for node in self.topology["nodes"]]

    def save(self, directory: str | PathLike[str], *, report: bool = True, pictures: bool = False) -> Path:
        """Saves the run, the scenario, the report, and one Parquet file per table.

        The operation is atomic: on error nothing is left. An earlier result with that name is replaced.

        Parameters
        ----------
        directory : str or path
            New directory, or an earlier result.
        report : bool
            Writes ``report.html``. Default true.
        pictures : bool
            Draws pictures as PNG in ``pictures/``. Default false; `penstock.plots` draws single
            pictures.

        Raises
        ------
        InputError
            If `directory` contains something that is not a result.
        OSError
            If it cannot be written, for example because the disk is full.

        Examples
        --------
        >>> import penstock as ps
        >>> from tempfile import TemporaryDirectory
        >>> result = ps.run("first-light")
        >>> with TemporaryDirectory() as directory:
        ...     place = result.save(f"{directory}/saved", report=False)
        ...     print(ps.Result.load(place).fingerprint == result.fingerprint)
        True
        """
        target = path_of("directory", directory)
        with storage.complete_directory(target) as partial:
            self.write_into(partial, report=report, pictures=pictures)
        return target

    def view(self, height: int = 800) -> ReportWidget:
        """Returns the report page as a notebook widget.

        Parameters
        ----------
        height : int
            Height in pixels, 100 to 4000. Default 800.

        Raises
        ------
        ArgumentError
            If `height` is out of range.
        InputError
            If anywidget is not installed.

        Examples
        --------
        >>> import penstock as ps
        >>> ps.run("pause-storm").view()  # in a notebook  # doctest: +SKIP
        """
        if type(height) is not int or not 100 <= height <= MOST_HEIGHT:
            raise ArgumentError(f"height is {height!r}; expected a whole number from 100 to {MOST_HEIGHT}")
        try:
            from penstock.report.widget import widget
        except ImportError:
            raise InputError('the widget needs anywidget: pip install "penstock[notebook]"') from None
        return widget(self, height)

    def record(self, path: str | PathLike[str], *, seconds: float = 12.0) -> Path:
        """Writes the animation of the report page to a file, for slides.

        Parameters
        ----------
        path : str or PathLike
            ``.gif`` or ``.webp``; ``.mp4`` and ``.webm`` require ffmpeg.
        seconds : float
            Length in seconds, above 0 and at most 120. Default 12.

        Raises
        ------
        InputError
            If the suffix is unsupported, ffmpeg is missing, or the run has no time series of ports.

        Examples
        --------
        >>> import penstock as ps
        >>> ps.run("pause-storm").record("storm.gif")  # doctest: +SKIP
        """
        from penstock.plots.recording import record

        target = path_of("path", path)
        record(self, target, seconds=seconds)
        return target

    @of_result
    def write_into(self, directory: Path, *, report: bool, pictures: bool = False) -> None:
        """Writes the files of the result into an existing directory, without a manifest.

        Examples
        --------
        >>> import penstock as ps
        >>> from pathlib import Path
        >>> directory = Path("out/tables")
        >>> directory.mkdir(parents=True)
        >>> ps.run("first-light").write_into(directory, report=False)
        >>> (directory / "flows.parquet").exists()
        True
        """
        storage.write_json(directory / "run.json", self.run)
        (directory / "topology.json").write_bytes(orjson.dumps(self.topology) + b"\n")  # can be large
        storage.write_json(directory / "description.json", self.description)
        (directory / "scenario.toml").write_text(self.scenario_toml, "utf-8")
        tables = {name: self.table(name) for name in self.table_names}
        # Arrow writes without the GIL, in parallel to the report.
        with ThreadPoolExecutor(2) as threads:
            written = [
                threads.submit(arrow.write_parquet, table, directory / f"{name}.parquet")
                for name, table in tables.items()
            ]
            if report:
                from penstock.report import write_report

                write_report(self, directory / "report.html")
            if pictures:
                from penstock import plots

                plots.save_all(self, directory / "pictures")
        for one in written:
            one.result()


@functools.lru_cache(maxsize=8)
def _description(text: str) -> dict[str, Any]:
    """Parses a description; cached, because most runs have the same one and parsing is slow."""
    described: dict[str, Any] = json.loads(text)
    return described


def _planned_path(scenario_toml: str, flow: str, to: str) -> list[str] | None:
    from penstock import _core

    try:
        return _core.path(scenario_toml, "scenario.toml", flow, to)
    except _core.ScenarioError as error:
        raise ScenarioError(str(error)) from None


def _in_order(path: Path) -> tuple[int, str]:
    """Sort key that places seed-9 before seed-10."""
    return len(str(path)), str(path)


def _core_reader(core: _core.Result, name: str) -> Callable[[], pa.Table]:
    # pa.table() would import pandas to check for its data frames.
    return lambda: pa.RecordBatchReader.from_stream(core.table(name)).read_all()


def _parquet_reader(path: Path) -> Callable[[], pa.Table]:
    return lambda: checked.table(path, storage.parquet_of)
