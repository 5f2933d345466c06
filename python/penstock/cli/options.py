"""Numeric options that are not rounded."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from cyclopts import Parameter, Token

from penstock.errors import InputError


def _whole(expected: str, words: Sequence[str]) -> Any:
    def convert(_type: Any, tokens: Sequence[Token]) -> int | str:
        token = tokens[0]
        if token.value in words:
            return token.value
        if re.fullmatch(r"[+-]?[0-9]+", token.value) is None:
            given = token.value or "empty"
            raise InputError(f"{token.keyword or 'argument'} is {given}; expected {expected}")
        return int(token.value)

    return convert


Whole = Annotated[int, Parameter(converter=_whole("a whole number", ()))]
"""A whole number."""

Threads = Annotated[
    int | Literal["auto"], Parameter(converter=_whole('a whole number, or "auto"', ("auto",)))
]
"""A number of threads, or "auto"."""
