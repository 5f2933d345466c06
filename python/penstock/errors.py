"""The errors of the package."""

from __future__ import annotations

import contextlib
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

LONGEST_WORD = 300
"""Maximum length of a quoted name or path in messages."""

_LONG_WORD = re.compile(rf"\S{{{LONGEST_WORD + 1},}}")


def shortened(message: str) -> str:
    """Removes the middle of very long words in a message, since user input may have any length."""

    def ends(match: re.Match[str]) -> str:
        word = match[0]
        head, tail = word[: LONGEST_WORD * 2 // 3], word[-LONGEST_WORD // 4 :]
        return f"{head}[{len(word) - len(head) - len(tail):,} letters]{tail}"

    return _LONG_WORD.sub(ends, message)


class PenstockError(Exception):
    """Base of all errors of this package."""

    def __str__(self) -> str:
        """Message with long words shortened."""
        return shortened(super().__str__())


class ScenarioError(PenstockError, ValueError):
    """A scenario that cannot be run.

    Attributes
    ----------
    diagnostics : str
        JSON list of objects with ``file``, ``line``, ``column``, ``message`` and ``help``.
    """

    diagnostics: str = "[]"


class SimulationError(PenstockError, RuntimeError):
    """Raised if a run breaks an invariant, such as by losing a frame of a lossless class.

    Attributes
    ----------
    result : Result or None
        Measurements until then; incomplete.
    """

    result: Any = None


class InputError(PenstockError):
    """A name, file, directory or value that cannot be used."""


class ArgumentError(InputError, ValueError, TypeError):
    """An invalid argument; the message names it."""


class UnknownNameError(InputError, KeyError):
    """A name that does not exist."""

    def __str__(self) -> str:
        return shortened(str(self.args[0]))


class MissingPackageError(InputError, ImportError):
    """An optional package is not installed; the message contains the command that installs it.

    Parameters
    ----------
    call : str
        Function that requires the package.
    package : str
        Name of the package.
    """

    def __init__(self, call: str, package: str) -> None:
        super().__init__(f"{call} needs {package}: pip install {package}")


class TomlError(InputError, tomllib.TOMLDecodeError):
    """Text that is not valid TOML."""


class ResultError(PenstockError):
    """A directory that is not a complete result."""


class StudyError(PenstockError):
    """A study whose description does not match its measurements."""


class ConvergenceError(PenstockError):
    """Raised if a numerical method does not converge."""


@contextlib.contextmanager
def reading(*places: Path, passing: tuple[type[Exception], ...] = ()) -> Iterator[None]:
    """Context that converts errors caused by inconsistent results to a `ResultError` with their directories.

    Parameters
    ----------
    places : Path
        Directories of the results.
    passing : tuple of type, optional
        Other errors that results cannot cause. Default: only errors of the package and the system.

    Raises
    ------
    ResultError
        If any other error is raised in the block.
    """
    known: tuple[type[Exception], ...] = (PenstockError, OSError, *passing)
    try:
        yield
    except known:
        raise
    except Exception as error:
        text = ", ".join(map(str, places))
        raise ResultError(
            f"{text}: inconsistent contents ({type(error).__name__}: {error}); run the "
            "scenario again. If this version of Penstock wrote the result, please report a bug"
        ) from error
