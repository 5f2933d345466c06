"""Finished runs of a sweep, one file per run, so that no run is repeated.

The file name is a hash of the canonical scenario, the seed and the engine. The first line is the SHA-256 of
the rest, which is JSON; a file that does not match is damaged, and its run is repeated. Files are renamed
into place when complete, so a killed process leaves no partial file.
"""

from __future__ import annotations

import hashlib
import json
import math
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock import _core
from penstock.analysis.verdict import Finding, Verdict
from penstock.errors import ArgumentError
from penstock.library import Source
from penstock.result import checked
from penstock.running import engine_errors
from penstock.running.cache import engine

from .measures import Measure, Value

if TYPE_CHECKING:
    from .plan import Run

_SUFFIX = ".json"


@dataclass(frozen=True)
class Record:
    """The stored record of a run.

    Attributes
    ----------
    run : str
        Name of the run.
    scenario : str
        Text of the scenario; its own seed is ignored.
    facts : dict
        ``seed``, ``fingerprint``, ``simulated_s``, ``frame_hops``, ``wall_s``, ``verdict`` (its findings),
        ``unfinished`` and ``transfers`` of the result. For a run that failed before it started only ``seed``,
        which is ``None`` for the seed of the scenario.
    measures : dict
        Values by expression.
    error : str
        Error message; empty if the run did not fail.
    """

    run: str
    scenario: str
    facts: dict[str, Any]
    measures: dict[str, Value]
    error: str = ""


@dataclass(frozen=True)
class Finished:
    """A run of a plan with its record."""

    run: Run
    record: Record

    @property
    def verdict(self) -> Verdict | None:
        """Verdict on the run; ``None`` if it failed before it started."""
        findings = self.record.facts.get("verdict")
        return None if findings is None else Verdict(tuple(Finding(**one) for one in findings))

    @property
    def unfinished(self) -> int:
        """Number of incomplete transfers at the end of the run."""
        return int(self.record.facts.get("unfinished") or 0)

    def value(self, text: str) -> float:
        """Returns the value of an expression for the whole run; NaN if the run failed.

        Raises
        ------
        ArgumentError
            If it has one value per row.
        """
        value = self.record.measures.get(text)
        if isinstance(value, dict):
            raise ArgumentError(
                f'"{text}" has one value per row; expected a function of it, such as max(...)'
            )
        return math.nan if value is None else float(value)


def name_of(source: Source, seed: int | None = None) -> str:
    """Returns the name of a run.

    Raises
    ------
    ScenarioError
        If the scenario is invalid.
    """
    with engine_errors():
        run = _core.identity(
            source.text, source.file, overridden=(seed, source.until), allow_files=source.allow_files
        )
    return f"{run}-{engine()}"


class Store:
    """A directory of finished runs.

    Parameters
    ----------
    directory : Path
        Created when the first run is written.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._is_made = False

    def find(self, run: str, measures: Iterable[Measure]) -> Record | None:
        """Returns the record of a run if it is intact and contains all `measures`."""
        try:
            digest, _, text = (self.directory / f"{run}{_SUFFIX}").read_bytes().partition(b"\n")
            if hashlib.sha256(text).hexdigest().encode() != digest:
                return None
        except OSError:
            return None
        if (found := checked.record(text)) is None or found["run"] != run:
            return None
        record = Record(**found)
        if not record.error and any(measure.text not in record.measures for measure in measures):
            return None
        return record

    def write(self, record: Record) -> None:
        """Saves a record.

        Raises
        ------
        OSError
            If it cannot be written.
        """
        text = json.dumps(vars(record) | {"measures": _known(record.measures)}, allow_nan=False).encode()
        digest = hashlib.sha256(text).hexdigest().encode()
        if not self._is_made:
            self.directory.mkdir(parents=True, exist_ok=True)
            self._is_made = True
        partial = self.directory / f".{secrets.token_hex(6)}.partial"
        try:
            partial.write_bytes(digest + b"\n" + text)
            partial.replace(self.directory / f"{record.run}{_SUFFIX}")
        except BaseException:
            partial.unlink(missing_ok=True)
            raise

    def sweep_up(self) -> None:
        """Removes temporary files of killed processes."""
        for partial in self.directory.glob(".*.partial"):
            partial.unlink(missing_ok=True)


def _known(measures: dict[str, Value]) -> dict[str, Any]:
    """Replaces NaN with ``None``, since JSON has no NaN."""
    return {
        text: {name: _number(one) for name, one in value.items()}
        if isinstance(value, dict)
        else _number(value)
        for text, value in measures.items()
    }


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None
