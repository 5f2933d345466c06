"""Reads GOAL schedules, text and binary, without conversion."""

from __future__ import annotations

from collections.abc import Sequence

from penstock import _core
from penstock.errors import InputError

from .reading import Found, Options

MAGICS = (b"\x7f\x10\0\0", b"\x26\x09\0\0")
"""First bytes of a binary schedule, and of one that LogGOPSim has modified."""


def read(files: Sequence[tuple[str, bytes]], _options: Options) -> Found:
    """One schedule."""
    if len(files) != 1:
        raise InputError(f"{files[1][0]}: a second schedule; expected one file")
    file, data = files[0]
    try:
        program = _core.Program.read_goal(data)
    except ValueError as error:
        raise InputError(f"{file}: {error}") from error
    kind = "binary" if data.startswith(MAGICS) else "text"
    return Found(f"GOAL schedule, {kind}", [], program.repairs, [], lambda: program)
