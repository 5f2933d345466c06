"""Finished runs, kept until the work that they are part of is done: what was interrupted goes on from there.

A run is a function of its scenario, the files that this names, the seed and the engine: as long as these are
the same it need not be run again. One file a run: the SHA-256 of the rest, and a zip of its parts. A file
that is not what its hash says counts as not there.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import io
import json
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from penstock import _core
from penstock.library import Source

if TYPE_CHECKING:
    import pyarrow as pa

    from penstock.result import Result

HASH_BYTES = 32


class RunCache:
    """A directory of finished runs.

    Parameters
    ----------
    directory : Path
        Made when the first run is finished.

    Attributes
    ----------
    found : int
        How many runs were there at the beginning.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.found = sum(1 for _ in directory.glob("*.run")) if directory.is_dir() else 0

    def result(self, source: Source, seed: int | None, run: Callable[[], Result]) -> Result:
        """The result of a scenario: the one that is kept, or else that of `run`, which is kept if complete.

        Raises
        ------
        ScenarioError
            If the scenario cannot be run, and whatever `run` raises.
        OSError
            If the result cannot be written.
        """
        key = f"{_core.identity(source.text, source.file, seed=seed)}-{_engine()}"
        file = self.directory / f"{key}.run"
        result = _read(file)
        if result is not None:
            return result
        result = run()
        if result.complete:
            self.directory.mkdir(parents=True, exist_ok=True)
            _write(result, file)
        return result

    def greeting(self) -> str:
        """What a person should know before the work begins; empty if nothing was there."""
        if not self.found:
            return ""
        runs = "1 finished run" if self.found == 1 else f"{self.found} finished runs"
        return f"{runs} of an interrupted attempt in {self.directory} are used again"

    def clear(self) -> None:
        """Forgets all runs: what they were for is done. Files of others stay."""
        with contextlib.suppress(OSError):
            for pattern in ("*.run", ".*.partial"):
                for file in self.directory.glob(pattern):
                    file.unlink()
            self.directory.rmdir()


_in_use: RunCache | None = None


def in_use() -> RunCache | None:
    """Where the runs of the work at hand are kept, if they are."""
    return _in_use


@contextlib.contextmanager
def keeping(directory: Path) -> Iterator[RunCache]:
    """Keeps all runs of the block, on whatever thread they are, and takes over those that are there.

    Parameters
    ----------
    directory : Path
        For the files; nothing else may be in it. Whoever is done clears it.
    """
    global _in_use  # studies run scenarios wherever they like, some of them on threads of their own
    before, kept = _in_use, RunCache(directory)
    _in_use = kept
    try:
        yield kept
    finally:
        _in_use = before


def beside(directory: Path) -> Path:
    """Where the runs are kept that a result is to be made of: a hidden directory beside it."""
    return directory.with_name(f".{directory.name}.runs")


@functools.cache
def _engine() -> str:
    """A hash of the engine: another one may give other results."""
    return hashlib.sha256(Path(str(_core.__file__)).read_bytes()).hexdigest()[:16]


def _write(result: Result, file: Path) -> None:
    import zipfile

    import pyarrow as pa

    from penstock.result import RESULT_FILES

    options = pa.ipc.IpcWriteOptions(compression="lz4")
    texts = (json.dumps(result.run), json.dumps(result.topology), json.dumps(result.description))
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, text in zip(RESULT_FILES, (*texts, result.scenario_toml), strict=True):
            archive.writestr(name, text)
        for name in result.table_names:
            table = result.table(name)
            with (
                archive.open(f"{name}.arrow", "w") as sink,
                pa.ipc.new_stream(sink, table.schema, options=options) as stream,
            ):
                stream.write_table(table)
    partial = file.with_name(f".{secrets.token_hex(6)}.partial")
    try:
        partial.write_bytes(hashlib.sha256(packed.getbuffer()).digest() + packed.getbuffer())
        partial.replace(file)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def _read(file: Path) -> Result | None:
    import zipfile

    from penstock.result import RESULT_FILES, Result

    try:
        data = file.read_bytes()
    except OSError:
        return None
    packed = data[HASH_BYTES:]
    if hashlib.sha256(packed).digest() != data[:HASH_BYTES]:
        return None
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    run, topology, description, scenario = (parts.pop(name).decode() for name in RESULT_FILES)
    return Result(
        run=json.loads(run),
        scenario_toml=scenario,
        topology=json.loads(topology),
        description=json.loads(description),
        tables={Path(name).stem: functools.partial(_table, part) for name, part in parts.items()},
    )


def _table(stream: bytes) -> pa.Table:
    import pyarrow as pa

    return pa.ipc.open_stream(stream).read_all()
