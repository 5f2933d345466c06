"""Finds and reads scenarios and studies, which are package data."""

from __future__ import annotations

import contextlib
import difflib
import os
import re
import stat
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from .errors import ArgumentError, InputError, TomlError

_PACKAGE = Path(__file__).parent
SCENARIOS = _PACKAGE / "scenarios"
STUDIES = _PACKAGE / "studies"

MAX_SCENARIO_BYTES = 16 * 1024 * 1024
"""Maximum size of a scenario; a fabric of 100,000 explicit links fits."""

MOST_NESTED = 80
"""Maximum nesting of tables, lists and dotted keys, as in the engine."""

NAMES_SHOWN = 40
"""Maximum number of suggestions for a misspelt name."""


_allow_files = False


@contextlib.contextmanager
def allow_files() -> Iterator[None]:
    """Context in which scenarios may read files outside their folders, as with ``--allow-files``.

    By default a scenario reads only files inside its folder, or inside the current one if it is not a file.
    Errors in a file quote the wrong line, so an untrusted scenario could otherwise display any file.

    Examples
    --------
    >>> import penstock as ps
    >>> with ps.allow_files():
    ...     scenario = ps.Scenario.from_file("first-light")
    """
    global _allow_files
    before, _allow_files = _allow_files, True
    try:
        yield
    finally:
        _allow_files = before


def _files_allowed() -> bool:
    return _allow_files


@dataclass(frozen=True)
class Source:
    """The text of a scenario.

    Attributes
    ----------
    text : str
        The text.
    file : str
        Name in messages. Files in the scenario are relative to its folder.
    allow_files : bool
        True if these files may be outside that folder. Default: true within `allow_files`.
    until : str or None
        Precision at which jobs end, overriding the text. Default: as in the text.
    """

    text: str
    file: str
    allow_files: bool = field(default_factory=_files_allowed)
    until: str | None = None


@dataclass(frozen=True)
class Entry:
    """One line of ``penstock list``."""

    name: str
    description: str
    path: Path


def scenarios() -> list[Entry]:
    """Scenarios of the package by name."""
    return [Entry(path.stem, _description(path), path) for path in sorted(SCENARIOS.glob("*.toml"))]


def studies() -> list[Entry]:
    """Studies of the package, ``PAPER/PART``, by name."""
    found = sorted(STUDIES.glob("*/*/study.toml"))
    return [Entry("/".join(path.parts[-3:-1]), _title(path), path.parent) for path in found]


def read(name_or_path: str) -> Source:
    """Reads a scenario file; if there is no such file, the scenario with that name.

    Raises
    ------
    InputError
        If neither exists, or the file is not UTF-8 text of at most `MAX_SCENARIO_BYTES`.
    """
    path = Path(name_or_path)
    try:
        if path.exists():
            return Source(text_in(path), name_or_path)
    except (OSError, ValueError) as error:
        raise InputError(f"{name_or_path!r} cannot be opened: {_reason(error)}") from error
    named = SCENARIOS / f"{name_or_path}.toml"
    known = [entry.name for entry in scenarios()]
    if name_or_path in known:
        return Source(text_in(named), str(named))
    near = suggestion(name_or_path, known + files_beside(path))
    hint = near if near.startswith("did") else suggestion(name_or_path, known)
    raise InputError(f"{name_or_path}: no such file, and no scenario has this name; {hint}")


MOST_FILES = 1_000
"""Maximum number of files in a folder that are considered for a message."""


def files_beside(path: Path) -> list[str]:
    """Files in the folder of a missing file, in the form that a user would write."""
    try:
        found = [one for one in islice(path.parent.iterdir(), MOST_FILES) if one.is_file()]
    except (OSError, ValueError):
        return []
    return sorted(str(one) for one in found)


def suggestion(wrong: str, known: Iterable[str]) -> str:
    """Returns ``did you mean ...?`` if a known name is similar, otherwise the list of names."""
    names = list(known)
    near = difflib.get_close_matches(wrong, names, n=3, cutoff=0.6)
    if near:
        return "did you mean " + " or ".join(near) + "?"
    if not names:
        return "there are no names yet"
    more = f" and {len(names) - NAMES_SHOWN:,} more" if len(names) > NAMES_SHOWN else ""
    return "known names: " + ", ".join(names[:NAMES_SHOWN]) + more


def text_of(name: str, value: Any) -> str:
    """Validates an argument that is text.

    Raises
    ------
    ArgumentError
        If it is not text, or cannot be encoded as UTF-8. The message names the argument.
    """
    if not isinstance(value, str):
        raise ArgumentError(f"{name} is {value!r}; expected text")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ArgumentError(f"{name} is {value!r}; expected text that can be encoded as UTF-8") from None
    return value


def path_of(name: str, value: Any) -> Path:
    """Validates an argument that is a path.

    Raises
    ------
    ArgumentError
        If it is not a path. The message names the argument.
    """
    if not isinstance(value, str | os.PathLike) or "\0" in os.fspath(value):
        raise ArgumentError(f"{name} is {value!r}; expected a path")
    return Path(value)


def text_in(path: Path, what: str = "scenario") -> str:
    """Returns the text of a file; messages call it a `what`.

    Raises
    ------
    InputError
        If it is not UTF-8 text of at most `MAX_SCENARIO_BYTES`.
    """
    if path.is_dir():
        inside = path / "scenario.toml"
        hint = f"; did you mean {inside}?" if inside.is_file() else ""
        raise InputError(f"{path}: is a directory; expected a {what} file{hint}")
    try:
        data = _bytes(path, what)
    except OSError as error:
        raise InputError(f"{path}: {_reason(error)}") from error
    if len(data) > MAX_SCENARIO_BYTES:
        limit = MAX_SCENARIO_BYTES >> 20
        size = f"{path.stat().st_size / (1 << 20):.0f}" if path.is_file() else f"more than {limit}"
        raise InputError(f"{path}:1:1: the file has {size} MiB; a {what} file has at most {limit} MiB")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        line = before.count(b"\n") + 1
        start_of_line = before.rfind(b"\n") + 1
        column = len(before[start_of_line:].decode("utf-8", "replace")) + 1
        raise InputError(
            f"{path}:{line}:{column}: byte 0x{data[error.start]:02x} is not UTF-8; "
            f"a {what} file is TOML, and TOML is UTF-8 text"
        ) from error


def toml(text: str, file: str | None = None) -> dict[str, Any]:
    """Parses TOML. All TOML that Penstock reads is parsed here.

    Raises
    ------
    TomlError
        If the text is not TOML, is nested too deeply, or has integers beyond 64 bits. The message starts with
        the file name, if given.
    """
    try:
        if _LONG_KEY.search(text):
            raise TomlError(_TOO_DEEP)  # Python's parser takes quadratic time, or longer
        table = tomllib.loads(text)
        _check_toml(table, 0)
        return table
    except RecursionError:
        wrong = _TOO_DEEP
    except (tomllib.TOMLDecodeError, TomlError) as error:
        wrong = str(error)
    except ValueError:  # raised by Python for integers of thousands of digits
        wrong = _TOO_LARGE
    raise TomlError(f"{file}: {wrong}" if file else wrong)


def _check_toml(value: Any, depth: int) -> None:
    """Rejects values that Python can parse but not write."""
    if isinstance(value, dict | list):
        if depth > MOST_NESTED:
            raise TomlError(_TOO_DEEP)
        for below in value.values() if isinstance(value, dict) else value:
            _check_toml(below, depth + 1)
    elif isinstance(value, int) and not -(1 << 63) <= value < 1 << 64:
        raise TomlError(_TOO_LARGE)


_WORD = r"""(?:[\w-]++|"(?:[^"\\\n]++|\\.)*+"|'[^'\n]*+')[ \t]*+"""
_LONG_KEY = re.compile(rf"(?:^|[\[{{,])[ \t]*+{_WORD}(?:\.[ \t]*+{_WORD}){{{MOST_NESTED}}}", re.MULTILINE)
_TOO_DEEP = f"tables, lists or words of a key are nested too deeply; at most {MOST_NESTED} are accepted"
_TOO_LARGE = "an integer is too large; expected one of 64 bits"


def _bytes(path: Path, what: str) -> bytes:
    """Start of a file; empty for a pipe without a writer."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with os.fdopen(handle, "rb") as file:
        is_pipe = stat.S_ISFIFO(os.fstat(handle).st_mode)
        if os.name != "nt":
            os.set_blocking(handle, True)
        data = file.read(MAX_SCENARIO_BYTES + 1)
    if is_pipe and not data:
        raise InputError(f"{path}: is a pipe without a writer; expected a {what} file")
    return data


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)


def _description(path: Path) -> str:
    simulation = toml(path.read_text("utf-8")).get("simulation", {})
    return str(simulation.get("description", ""))


def _title(path: Path) -> str:
    return str(toml(path.read_text("utf-8")).get("title", ""))
