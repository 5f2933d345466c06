"""What can go wrong outside the engine. Messages are written for the person who reads them."""

from __future__ import annotations


class PenstockError(Exception):
    """Base of the errors that this package raises itself."""


class InputError(PenstockError):
    """Something the user gave cannot be used: a name, a file, a directory."""


class ArgumentError(InputError, ValueError, TypeError):
    """An argument of a call is wrong; the message names it."""


class UnknownNameError(InputError, KeyError):
    """There is nothing of this name."""

    def __str__(self) -> str:
        return str(self.args[0])


class ResultError(PenstockError):
    """A directory that is not a complete result."""


class StudyError(PenstockError):
    """A study whose description and measurements do not agree."""


class ConvergenceError(PenstockError):
    """A numerical method that did not come to its end."""
