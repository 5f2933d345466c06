"""Atomic creation of directories.

Files are written to a hidden sibling directory. The manifest, with the size and SHA-256 of every file, is
written last; then the directory is renamed. A killed process leaves at most a hidden ``.NAME.*.partial``
directory, which the next writer of NAME removes. A writer holds a lock on it.
"""

from __future__ import annotations

import contextlib
import glob
import hashlib
import json
import os
import secrets
import shutil
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from os import PathLike
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from . import library
from .errors import InputError, ResultError

if TYPE_CHECKING:
    import pyarrow as pa

MANIFEST = "manifest.json"
FRESH_S = 10.0
_TOGETHER = 8
"""Maximum number of concurrent fsync calls."""
MANIFEST_SCHEMA = "penstock-manifest/1"


def ensure_replaceable(directory: Path) -> None:
    """Rejects a target that contains anything but an earlier result, before any work is done.

    Raises
    ------
    InputError
        If `directory` is a file, a non-empty directory without a manifest, or in a location that is not
        writable.
    """
    if directory.name in ("", ".."):
        raise InputError(f"{directory}: expected the name of a new directory")
    _ensure_writable(next(parent for parent in directory.absolute().parents if parent.exists()), directory)
    if directory.is_symlink():
        raise InputError(f"{directory}: is a symbolic link, which is not replaced; name the directory itself")
    if not directory.exists():
        return
    if not directory.is_dir():
        raise InputError(f"{directory}: exists and is not a directory")
    found = {path.relative_to(directory).as_posix() for path in directory.rglob("*") if not path.is_dir()}
    if not found:
        return
    try:
        listed = {name for name, _, _ in _listed(directory)}
    except (OSError, ResultError):
        raise InputError(
            f"{directory}: exists and is not a Penstock result, so it is not replaced; "
            "choose another directory"
        ) from None
    if foreign := sorted(found - listed - {MANIFEST, ".DS_Store"}):
        raise InputError(
            f"{directory}: contains {foreign[0]}, which is not part of a result, so it is not replaced; "
            "choose another directory"
        )


@contextlib.contextmanager
def complete_directory(target: Path) -> Iterator[Path]:
    """Context with a directory to write to; it becomes `target` if the block ends without an error.

    An earlier result with that name is replaced when the new one is complete.

    Raises
    ------
    InputError
        If `target` may not be replaced.
    OSError
        If it cannot be written; nothing is left.
    """
    target = target.absolute()
    ensure_replaceable(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    _remove_leftovers(target)
    partial = target.with_name(f".{target.name}.{secrets.token_hex(6)}.partial")
    partial.mkdir()
    with _locked(partial):
        try:
            yield partial
            seal(partial)
            _replace(partial, target)
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            raise


@contextlib.contextmanager
def _locked(directory: Path) -> Iterator[bool]:
    """Context with a lock on a directory, released when the process ends; false if it is already locked."""
    if os.name == "nt":  # directories cannot be opened on Windows
        yield True
        return
    import fcntl

    handle = os.open(directory, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:  # locked by another process, or not supported by the file system
            yield False
        else:
            yield True
    finally:
        os.close(handle)


def _remove_leftovers(target: Path) -> None:
    """Removes leftovers of killed processes; restores an earlier result that was moved aside."""
    if os.name == "nt":
        return
    name = glob.escape(target.name)
    for kind in ("partial", "replaced", "probe"):
        for found in target.parent.glob(f".{name}.{'[0-9a-f]' * 12}.{kind}"):
            with contextlib.suppress(OSError), _locked(found) as ours:
                ours &= time.time() - found.stat().st_mtime > FRESH_S  # not locked yet
                if ours and kind == "replaced" and not target.exists():
                    found.rename(target)
                elif ours:
                    shutil.rmtree(found, ignore_errors=True)


def seal(directory: Path) -> None:
    """Flushes every file below `directory` to disk, and writes the manifest."""
    files = sorted(path for path in directory.rglob("*") if path.is_file())
    with ThreadPoolExecutor(_TOGETHER) as threads:  # limited by the latency of the disk
        listed = list(threads.map(lambda path: _sealed(path, directory), files))
    with (directory / MANIFEST).open("w", encoding="utf-8") as file:
        json.dump({"schema": MANIFEST_SCHEMA, "files": listed}, file, indent=1)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())
    for folder in [path for path in directory.rglob("*") if path.is_dir()] + [directory]:
        _sync_directory(folder)


def _sealed(path: Path, directory: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        os.fsync(file.fileno())
    name = path.relative_to(directory).as_posix()
    return {"name": name, "bytes": path.stat().st_size, "sha256": digest}


def made_by(directory: Path) -> str:
    """Hint with the command that creates a result, if a scenario was given in place of a directory."""
    file = directory if directory.suffix == ".toml" else library.SCENARIOS / f"{directory}.toml"
    return f"; penstock run {directory} makes one, in out/{file.stem}" if file.is_file() else ""


def verify(directory: Path) -> list[str]:
    """Verifies a complete directory; returns the names of its files.

    Raises
    ------
    ResultError
        If the directory, its manifest or a listed file is missing or modified. The message lists every
        affected file.
    """
    if not directory.is_dir():
        raise ResultError(f"{directory}: no such result directory{made_by(directory)}")
    listed = _listed(directory)
    faults = [
        fault for name, size, digest in listed if (fault := _fault(directory / name, name, size, digest))
    ]
    if faults:
        raise ResultError(f"{directory}: not a complete result: " + "; ".join(faults))
    return [name for name, _, _ in listed]


def _listed(directory: Path) -> list[tuple[str, int, str]]:
    """Name, size and SHA-256 of each file in the manifest."""
    try:
        manifest: dict[str, Any] = json.loads((directory / MANIFEST).read_text("utf-8"))
        if manifest["schema"] != MANIFEST_SCHEMA:
            raise ResultError(
                f"{directory}: its manifest has schema {manifest['schema']!r}, expected {MANIFEST_SCHEMA!r}"
            )
        return [(str(f["name"]), int(f["bytes"]), str(f["sha256"])) for f in manifest["files"]]
    except FileNotFoundError:
        raise ResultError(f"{directory}: not a complete result: {MANIFEST} is missing") from None
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise ResultError(
            f"{directory}: not a complete result: {MANIFEST} cannot be read ({error})"
        ) from error


def write_json(path: Path, document: object) -> None:
    """Writes readable JSON; rejects NaN, which JSON does not have.

    Each object in a list is written on a line of its own.
    """
    path.write_text(_json_text(document, "\n") + "\n", "utf-8")


def _json_text(value: object, line: str) -> str:
    """JSON text of a value; `line` is a line feed followed by the indentation."""
    inner = line + " "
    if isinstance(value, dict) and value:
        names = (key if isinstance(key, str) else _json_line(key) for key in value)
        texts = (_json_text(one, inner) for one in value.values())
        fields = (f"{_json_line(name)}: {text}" for name, text in zip(names, texts, strict=True))
        return f"{{{inner}{f',{inner}'.join(fields)}{line}}}"
    if isinstance(value, (list, tuple)) and value:
        rows = (_json_line(one) if isinstance(one, dict) else _json_text(one, inner) for one in value)
        return f"[{inner}{f',{inner}'.join(rows)}{line}]"
    return _json_line(value)


def _json_line(value: object) -> str:
    return json.dumps(value, allow_nan=False, ensure_ascii=False)


def _ensure_writable(parent: Path, directory: Path) -> None:
    """Creates and removes a directory, because permissions do not show whether a location is writable."""
    probe = parent / f".{directory.name[:64]}.{secrets.token_hex(6)}.probe"
    try:
        probe.mkdir()
        probe.rmdir()
    except OSError as error:
        raise InputError(f"{directory}: cannot write to {parent}: {error.strerror}") from error


def _fault(path: Path, name: str, size: int, digest: str) -> str | None:
    if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts or "\0" in name:
        return f"{name!r} is not a name of a file within it"
    try:
        if path.is_symlink():
            return f"{name} is a symbolic link"
    except OSError as error:  # a name that is too long
        return f"{name[:60]}: {error.strerror}"
    if not path.is_file():
        return f"{name} is missing"
    found = path.stat().st_size
    if found != size:
        return f"{name} has {found} bytes instead of {size}"
    with path.open("rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != digest:
            return f"{name} was changed after it was written"
    return None


def _replace(partial: Path, target: Path) -> None:
    """Renames `partial`. An earlier result is moved aside first, and restored on error."""
    aside = None
    if target.exists():
        aside = partial.with_suffix(".replaced")
        target.rename(aside)
    try:
        partial.rename(target)
    except OSError:
        if aside is not None:
            aside.rename(target)
        raise
    _sync_directory(target.parent)
    if aside is not None:
        shutil.rmtree(aside, ignore_errors=True)


def _sync_directory(directory: Path) -> None:
    if os.name == "nt":  # Windows has no such operation
        return
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


MOST_ROWS = 50_000_000
MOST_LISTED = 10_000_000
"""Maximum number of rows of a list in a scenario, such as arrivals."""
MOST_CELLS = 400_000_000
"""Maximum number of rows of a table, and of values in all columns: some GiB of memory."""


def parquet_of(path: Path) -> pa.Table:
    """Reads a table from a Parquet file, after checking its size in the metadata.

    Raises
    ------
    ValueError
        If it is too large. A small file can contain any number of equal values.
    pyarrow.ArrowException
        If it is not a Parquet file.
    """
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        _bound(file.metadata.num_rows, file.metadata.num_columns)
        return file.read()


def _bound(rows: int, columns: int) -> None:
    """Rejects a table that is too large, before reading it."""
    if rows > MOST_ROWS or rows * columns > MOST_CELLS:
        raise ValueError(
            f"it has {rows:,} rows of {columns:,} columns; expected at most {MOST_ROWS:,} rows and "
            f"{MOST_CELLS:,} values"
        )


def stream_of(data: bytes) -> pa.Table:
    """Reads a table from an Arrow stream, within the limits of `parquet_of`.

    Raises
    ------
    ValueError
        If it is too large.
    pyarrow.ArrowException
        If it is not an Arrow stream.
    """
    import pyarrow as pa

    batches, rows = [], 0
    with pa.ipc.open_stream(data) as stream:
        for batch in stream:
            rows += batch.num_rows
            _bound(rows, batch.num_columns)
            batches.append(batch)
        return pa.Table.from_batches(batches, stream.schema)


def csv_of_parquet(path: str | PathLike[str]) -> Iterator[bytes]:
    """Yields the rows of a Parquet file as CSV text, a few thousand at a time.

    Raises
    ------
    ValueError
        If it has more rows than a list of a scenario may have.
    pyarrow.ArrowException
        If it is not a Parquet file.
    """
    from io import BytesIO

    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.csv as pacsv
    import pyarrow.parquet as pq

    from . import arrow

    with pq.ParquetFile(path) as file:
        if (rows := file.metadata.num_rows) > MOST_LISTED:
            raise ValueError(f"it has {rows:,} rows; expected at most {MOST_LISTED:,}")
        header = True
        for batch in file.iter_batches(batch_size=65_536):
            columns = [
                pc.cast(column, pa.string()) if pa.types.is_dictionary(column.type) else column
                for column in batch.columns
            ]
            text = BytesIO()
            table = arrow.table(dict(zip(batch.schema.names, columns, strict=True)))
            pacsv.write_csv(table, text, pacsv.WriteOptions(include_header=header))
            header = False
            yield text.getvalue()
        if header:
            yield (",".join(file.schema_arrow.names) + "\n").encode()
