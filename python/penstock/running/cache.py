"""Cache of finished runs, so that interrupted work can resume.

A run depends only on its scenario, the files that it names, the seed and the engine. Each file contains one
run: a SHA-256 followed by a zip archive. A file with a wrong hash or unexpected content is ignored, and the
run is repeated.
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
"""Maximum size of a cached run after decompression, in bytes."""


class RunCache:
    """A directory of cached runs.

    Parameters
    ----------
    directory : Path
        Directory; created when the first run is finished.

    Attributes
    ----------
    found : int
        Number of runs at the start.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.found = sum(1 for _ in directory.glob("*.run")) if directory.is_dir() else 0

    def result(self, source: Source, seed: int | None, run: Callable[[], Result]) -> Result:
        """Returns the cached result of a scenario; otherwise calls `run`, and caches a complete result.

        Raises
        ------
        ScenarioError
            If the scenario is invalid. Errors of `run` are passed on.
        OSError
            If the cache cannot be written.
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
        """Message for the user; empty if the cache was empty."""
        if not self.found:
            return ""
        runs = "1 finished run" if self.found == 1 else f"{self.found} finished runs"
        return f"reusing {runs} of an interrupted attempt in {self.directory}"

    def clear(self) -> None:
        """Removes all runs, and no other files."""
        with contextlib.suppress(OSError):
            for pattern in ("*.run", ".*.partial"):
                for file in self.directory.glob(pattern):
                    file.unlink()
            self.directory.rmdir()


_in_use: RunCache | None = None


def in_use() -> RunCache | None:
    """Returns the active cache, if any."""
    return _in_use


@contextlib.contextmanager
def keeping(directory: Path) -> Iterator[RunCache]:
    """Context in which all runs, on all threads, are cached and reused.

    Parameters
    ----------
    directory : Path
        Directory for the cache only. The caller removes it.
    """
    global _in_use  # studies run scenarios in any module and on their own threads
    before, kept = _in_use, RunCache(directory)
    _in_use = kept
    try:
        yield kept
    finally:
        _in_use = before


def beside(directory: Path) -> Path:
    """Returns the directory of the cache for a result: a hidden sibling."""
    return directory.with_name(f".{directory.name}.runs")


@functools.cache
def engine() -> str:
    """Returns a hash of the engine, which is part of the key of each run."""
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
            archive.writestr(zipfile.ZipInfo(name), text)  # fixed timestamp
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
