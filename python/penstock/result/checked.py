"""Validation of the files of a result, which may come from another user or version.

Checks the structure of each file and the columns of each table. Inconsistencies between tables are not
checked here; `reading` converts the errors that they cause in analyses to an error with the name of the
directory.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from penstock.errors import ResultError, TomlError
from penstock.library import toml

if TYPE_CHECKING:
    import pyarrow as pa

LONGEST_S = 1e9
"""Maximum simulated time in seconds; the engine counts picoseconds in 64 bits."""
MOST_SEED = 2**64 - 1
Test = Callable[[Any], bool]


def text(path: Path, data: bytes | None = None) -> str:
    """Returns a file as text; `data` is its content if it has already been read.

    Raises
    ------
    ResultError
        If the file is not UTF-8 text.
    """
    try:
        return (path.read_bytes() if data is None else data).decode("utf-8")
    except UnicodeDecodeError as error:
        raise ResultError(f"{path}: is not UTF-8 text ({error.reason})") from None


def run(path: Path, data: bytes | None = None) -> dict[str, Any]:
    """``run.json``."""
    found = _object(path, data)
    _check(path, found, _RUN)
    _check(path, found, _RUN_SOMETIMES, required=False)
    return found


def topology(path: Path, data: bytes | None = None) -> dict[str, Any]:
    """``topology.json``."""
    found = _object(path, data)
    _check(path, found, {"nodes": _is_list, "links": _is_list})
    for kind, tests in (("nodes", _NODE), ("links", _LINK)):
        for number, one in enumerate(found[kind]):
            _check(path, one, tests, f"{kind}[{number}].")
            if kind == "links":
                _check(path, one, _LINK_SOMETIMES, f"{kind}[{number}].", required=False)
    names = {node["name"] for node in found["nodes"]}
    for number, link in enumerate(found["links"]):
        if lacking := {link["a"], link["b"]} - names:
            raise ResultError(f"{path}: links[{number}] ends at {sorted(lacking)[0]}, which is not a node")
    return found


def description(path: Path, data: bytes | None = None) -> dict[str, Any]:
    """``description.json``."""
    found = _object(path, data)
    for name, table in found.items():
        _check(path, table, {"about": _is_text, "columns": _is_list}, f"{name}.")
        for number, column in enumerate(table["columns"]):
            _check(path, column, _COLUMN, f"{name}.columns[{number}].")
    return found


def scenario(path: Path, data: bytes | None = None) -> str:
    """``scenario.toml``."""
    found = text(path, data)
    try:
        toml(found)
    except TomlError as error:
        raise ResultError(f"{path}: is not TOML ({error})") from None
    return found


def seeds(path: Path) -> list[int]:
    """Returns the seeds in ``replications.json``."""
    found = _object(path, None)
    _check(path, found, {"seeds": lambda one: _is_list(one) and bool(one) and all(map(_is_whole, one))})
    listed: list[int] = found["seeds"]
    return listed


def table(path: Path, read: Callable[[Path], pa.Table]) -> pa.Table:
    """Reads a table and checks its columns and types against those of the engine.

    Raises
    ------
    ResultError
        If columns or types differ, or the file cannot be read.
    """
    import pyarrow as pa

    try:
        found = read(path)
        found.validate(full=True)
    except (pa.ArrowException, ValueError, OSError) as error:  # OSError: the stream is truncated
        raise ResultError(f"{path}: cannot be read ({error})") from None
    for column, kind in _columns().get(path.stem, {}).items():
        if column not in found.column_names:
            continue  # written by an older version; reported when the column is needed
        if not _is_alike(is_one := found.schema.field(column).type, kind):
            raise ResultError(f"{path}: column {column} has type {is_one}; expected {kind}")
    return found


def has_all_tables(tables: Mapping[str, pa.Table]) -> bool:
    """True if these are the tables of this engine, with all columns and their types."""
    expected = _columns()
    return set(tables) == set(expected) and all(
        {field.name: field.type for field in tables[name].schema} == dict(columns)
        for name, columns in expected.items()
    )


def record(data: bytes) -> dict[str, Any] | None:
    """Returns the record of a run of a sweep; ``None`` if the data are not one."""
    try:
        found = _object(Path("record"), data)
        _check(Path("record"), found, _RECORD)
        needed = _ACCOUNT if not found["error"] else {"seed": _may_be_none(_is_whole)}
        _check(Path("record"), found["facts"], needed, "facts.")
        _check(Path("record"), found["facts"], _ACCOUNT_OF_FAILURES, "facts.", required=False)
    except ResultError:
        return None
    return found if set(found) == set(_RECORD) else None


def _is_alike(one: pa.DataType, other: pa.DataType) -> bool:
    """True if both types are numeric or equal; widths may differ between versions."""
    import pyarrow as pa

    def is_number(kind: pa.DataType) -> bool:
        return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))

    return bool(one == other) or (is_number(one) and is_number(other))


@functools.cache
def _columns() -> Mapping[str, Mapping[str, pa.DataType]]:
    """Columns and types of all tables, as declared by this engine."""
    import pyarrow as pa

    from penstock import _core

    types = {"integer": pa.uint64(), "real": pa.float64(), "text": pa.string()}
    return {
        table["name"]: {column["name"]: types[column["kind"]] for column in table["columns"]}
        for table in json.loads(_core.tables())
    }


def _object(path: Path, data: bytes | None) -> dict[str, Any]:
    data = path.read_bytes() if data is None else data
    try:
        found = orjson.loads(data)
    except ValueError:
        # Python's parser accepts integers of any length, and NaN.
        try:
            found = json.loads(text(path, data))
        except (ValueError, RecursionError) as error:
            raise ResultError(f"{path}: is not JSON ({error})") from None
    if not isinstance(found, dict):
        raise ResultError(f"{path}: expected a JSON object, found {_called(found)}")
    return found


def _check(
    path: Path, found: Any, tests: Mapping[str, Test], where: str = "", *, required: bool = True
) -> None:
    if not isinstance(found, dict):
        raise ResultError(f"{path}: {where.rstrip('.')} is {_called(found)}; expected an object")
    for key, test in tests.items():
        if key not in found:
            if required:
                raise ResultError(f"{path}: has no {where}{key}; run the scenario again with this version")
        elif not test(found[key]):
            raise ResultError(f"{path}: {where}{key} is {_called(found[key])}, which is not valid")


def _called(value: object) -> str:
    reported = repr(value)
    return reported if len(reported) <= 60 else f"{reported[:57]}..."


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_list(value: object) -> bool:
    return isinstance(value, list)


def _is_truth(value: object) -> bool:
    return isinstance(value, bool)


def _is_amount(value: object) -> bool:
    return _is_whole(value) or (isinstance(value, float) and math.isfinite(value) and value >= 0)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_SEED


def _is_time(value: object) -> bool:
    return _is_amount(value) and float(value) <= LONGEST_S  # type: ignore[arg-type]


def _may_be_none(test: Test) -> Test:
    return lambda value: value is None or test(value)


def _is_finding(value: object) -> bool:
    """True if the value has the form of a `Finding`."""
    from penstock.analysis.verdict import STATES

    return (
        isinstance(value, dict)
        and set(value) == {"state", "text"}
        and _is_text(value["state"])
        and value["state"] in STATES
        and _is_text(value["text"])
    )


def _is_warning(value: object) -> bool:
    return _is_text(value) or (isinstance(value, dict) and _is_text(value.get("message")))


_RUN: Mapping[str, Test] = {
    "name": _is_text,
    "seed": _is_whole,
    "engine_version": _is_text,
    "fingerprint": _is_text,
    "simulated_s": _is_time,
    "duration_s": _is_time,
    "wall_s": _is_amount,
    "events": _is_whole,
    "frame_hops": _is_whole,
    "complete": _is_truth,
    "warnings": lambda value: _is_list(value) and all(map(_is_warning, value)),
}
_RUN_SOMETIMES: Mapping[str, Test] = {
    "load_s": _is_amount,
    "build_s": _is_amount,
    "warmup_s": _is_time,
    "skipped_s": _is_time,
    "skipped_hops": _is_whole,
    "threads": _is_whole,
    "look_ahead_ns": _may_be_none(_is_amount),
    "not_lossless": lambda value: _is_list(value) and all(map(_is_text, value)),
    "ended_by": _may_be_none(_is_text),
    "cut_short_by": _may_be_none(_is_text),
}
_NODE: Mapping[str, Test] = {
    "name": _is_text,
    "role": lambda value: value in ("host", "switch"),
    "level": lambda value: _is_whole(value) and value < 1_000,
}
_LINK: Mapping[str, Test] = {"a": _is_text, "b": _is_text, "rate_bps": _is_amount, "delay_ns": _is_amount}
_LINK_SOMETIMES: Mapping[str, Test] = {"reverse_rate_bps": _is_amount}
_COLUMN: Mapping[str, Test] = {"name": _is_text, "unit": _is_text, "about": _is_text}


def _is_measure(value: object) -> bool:
    return value is None or (
        isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    )


def _are_measures(value: object) -> bool:
    if not isinstance(value, dict):
        return False
    rows = [one for one in value.values() if isinstance(one, dict)]
    plain = [one for one in value.values() if not isinstance(one, dict)]
    return all(map(_is_measure, plain)) and all(_is_measure(one) for row in rows for one in row.values())


_RECORD: Mapping[str, Test] = {
    "run": _is_text,
    "scenario": _is_text,
    "facts": lambda value: isinstance(value, dict),
    "measures": _are_measures,
    "error": _is_text,
}
_ACCOUNT: Mapping[str, Test] = {
    "seed": _is_whole,
    "fingerprint": _is_text,
    "simulated_s": _is_time,
    "frame_hops": _is_whole,
    "wall_s": _is_amount,
}
_ACCOUNT_OF_FAILURES: Mapping[str, Test] = {
    **{key: _may_be_none(test) for key, test in _ACCOUNT.items()},
    "verdict": _may_be_none(lambda value: _is_list(value) and all(map(_is_finding, value))),
    "unfinished": _may_be_none(_is_whole),
    "transfers": _may_be_none(_is_whole),
}
