"""The errors of the package."""

from __future__ import annotations

import contextlib
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

LONGEST_WORD = 300
"""Characters of a quoted name or path; longer ones are cut."""

_LONG_WORD = re.compile(rf"\S{{{LONGEST_WORD + 1},}}")


def shortened(message: str) -> str:
    """A message without the middle of its longest words: what users write may be of any length."""

    def ends(match: re.Match[str]) -> str:
        word = match[0]
        head, tail = word[: LONGEST_WORD * 2 // 3], word[-LONGEST_WORD // 4 :]
        return f"{head}[{len(word) - len(head) - len(tail):,} letters]{tail}"

    return _LONG_WORD.sub(ends, message)


class PenstockError(Exception):
    """Base of all errors of this package."""

    def __str__(self) -> str:
        """The message, in which no word is longer than anybody reads."""
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
    """A run that broke one of its invariants, such as a lost frame in a lossless class.

    Attributes
    ----------
    result : Result or None
        What was measured until then; it is not complete.
    """

    result: Any = None


class InputError(PenstockError):
    """A name, file, directory or value that cannot be used."""


class ArgumentError(InputError, ValueError, TypeError):
    """An argument of a call is wrong; the message names it."""


class UnknownNameError(InputError, KeyError):
    """A name that does not exist."""

    def __str__(self) -> str:
        return shortened(str(self.args[0]))


class MissingPackageError(InputError, ImportError):
    """A package that is not needed otherwise is not installed; the message says how to install it.

    Parameters
    ----------
    call : str
        What needs it.
    package : str
        Its name.
    """

    def __init__(self, call: str, package: str) -> None:
        super().__init__(f"{call} needs {package}: pip install {package}")


class TomlError(InputError, tomllib.TOMLDecodeError):
    """A text that is not TOML."""


class ResultError(PenstockError):
    """A directory that is not a complete result."""


class StudyError(PenstockError):
    """A study whose description and measurements do not agree."""


class ConvergenceError(PenstockError):
    """A numerical method that did not converge."""


@contextlib.contextmanager
def reading(*places: Path, passing: tuple[type[Exception], ...] = ()) -> Iterator[None]:
    """A block that works with results; what they hold that makes no sense is refused by their names.

    Parameters
    ----------
    places : Path
        Directories of the results.
    passing : tuple of type, optional
        Errors that say nothing of results. Default: those of the package and of the system alone.

    Raises
    ------
    ResultError
        If anything fails that is no error of the package or of the system.
    """
    known: tuple[type[Exception], ...] = (PenstockError, OSError, *passing)
    try:
        yield
    except known:
        raise
    except Exception as error:
        text = ", ".join(map(str, places))
        raise ResultError(
            f"{text}: what it holds does not fit together ({type(error).__name__}: {error}); run the "
            "scenario again. If this version of Penstock wrote it so, that is a bug"
        ) from error
