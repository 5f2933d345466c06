"""A cache of finished runs, so that interrupted work can resume.

A run depends only on its scenario, the files that it names, the seed and the engine. Each file has one run: a
SHA-256, then a zip. A file whose hash is wrong, or whose contents are no run of this engine, is ignored, and
the run is done again.
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

from penstock import _core, storage
from penstock.errors import ResultError
from penstock.library import Source

if TYPE_CHECKING:
    import pyarrow as pa

    from penstock.result import Result

HASH_BYTES = 32
MOST_BYTES = 8 << 30
"""Bytes of a cached run when it is unpacked."""


class RunCache:
    """A directory of cached runs.

    Parameters
    ----------
    directory : Path
        Made when the first run is finished.

    Attributes
    ----------
    found : int
        How many runs it had at the start.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.found = sum(1 for _ in directory.glob("*.run")) if directory.is_dir() else 0

    def result(self, source: Source, seed: int | None, run: Callable[[], Result]) -> Result:
        """The cached result of a scenario, or that of `run`, which is cached if it is complete.

        Raises
        ------
        ScenarioError
            If the scenario cannot be run, and whatever `run` raises.
        OSError
            If the result cannot be written.
        """
        run_of = _core.identity(
            source.text, source.file, overridden=(seed, source.until), allow_files=source.allow_files
        )
        file = self.directory / f"{run_of}-{engine()}.run"
        result = _read(file)
        if result is not None:
            return result
        result = run()
        if result.complete:
            self.directory.mkdir(parents=True, exist_ok=True)
            _write(result, file)
        return result

    def greeting(self) -> str:
        """A message for the user; empty if the cache was."""
        if not self.found:
            return ""
        runs = "1 finished run" if self.found == 1 else f"{self.found} finished runs"
        return f"{runs} of an interrupted attempt in {self.directory} are used again"

    def clear(self) -> None:
        """Removes all runs, and no other files."""
        with contextlib.suppress(OSError):
            for pattern in ("*.run", ".*.partial"):
                for file in self.directory.glob(pattern):
                    file.unlink()
            self.directory.rmdir()


_in_use: RunCache | None = None


def in_use() -> RunCache | None:
    """The cache in use, if any."""
    return _in_use


@contextlib.contextmanager
def keeping(directory: Path) -> Iterator[RunCache]:
    """Caches all runs of the block, on all threads, and reuses those that are there.

    Parameters
    ----------
    directory : Path
        For the files, and nothing else. The caller clears it.
    """
    global _in_use  # studies run scenarios wherever they like, some of them on threads of their own
    before, kept = _in_use, RunCache(directory)
    _in_use = kept
    try:
        yield kept
    finally:
        _in_use = before


def beside(directory: Path) -> Path:
    """The cache for the runs of a result: a hidden directory beside it."""
    return directory.with_name(f".{directory.name}.runs")


@functools.cache
def engine() -> str:
    """A hash of the engine: a run depends on nothing else but its scenario and seed."""
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
            archive.writestr(zipfile.ZipInfo(name), text)  # without the time of a clock that may be wrong
        for name in result.table_names:
            table = result.table(name)
            with (
                archive.open(zipfile.ZipInfo(f"{name}.arrow"), "w") as sink,
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
    import zlib

    from penstock.result import RESULT_FILES, Result, checked

    try:
        data = file.read_bytes()
    except OSError:
        return None
    packed = data[HASH_BYTES:]
    if hashlib.sha256(packed).digest() != data[:HASH_BYTES]:
        return None
    try:
        with zipfile.ZipFile(io.BytesIO(packed)) as archive:
            if sum(one.file_size for one in archive.infolist()) > MOST_BYTES:
                return None
            parts = {name: archive.read(name) for name in archive.namelist()}
        run, topology, description, scenario = (parts.pop(name) for name in RESULT_FILES)
        tables = {
            Path(name).stem: checked.table(Path(name), lambda path: storage.stream_of(parts[path.name]))
            for name in parts
        }
        if not checked.has_all_tables(tables):
            return None
        return Result(
            run=checked.run(file, run),
            scenario_toml=checked.scenario(file, scenario),
            topology=checked.topology(file, topology),
            description=checked.description(file, description),
            tables={name: functools.partial(_same, table) for name, table in tables.items()},
        )
    except (ResultError, zipfile.BadZipFile, zlib.error, KeyError, ValueError, EOFError, RuntimeError):
        return None


def _same(table: pa.Table) -> pa.Table:
    return table
