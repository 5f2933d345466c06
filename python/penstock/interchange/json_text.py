"""JSON as other tools write it: each object with its place, and no key twice."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from penstock.errors import InputError

from .piece import Document


@dataclass(frozen=True)
class Part:
    """An object of a document.

    Attributes
    ----------
    document : Document
        The document.
    table : dict
        The object.
    first, last : int
        Where it begins and ends: offsets in the text.
    """

    document: Document
    table: dict[str, Any]
    first: int
    last: int

    @property
    def line(self) -> int:
        """The line in which it begins."""
        return self.document.line_at(self.first)

    def line_of(self, *keys: str) -> int:
        """The line of a key; of several, each within the one before. The last that is found counts."""
        at = self.first
        for key in keys:
            found = self.document.text.find(json.dumps(key), at, self.last)
            if found < 0:
                found = self.document.text.find(f'"{key}"', at, self.last)
            if found < 0:
                break
            at = found
        return self.document.line_at(at)


def whole(document: Document, expected: str) -> Part:
    """The only object of a document.

    Raises
    ------
    InputError
        As `parts`, or if there are none or several.
    """
    found = [*parts(document, expected)]
    if len(found) != 1:
        line = found[1].line if found else 1
        raise document.error(line, f"{len(found)} objects; expected {expected}, in one")
    return found[0]


def parts(document: Document, expected: str = "an object") -> Iterator[Part]:
    """The objects of a document, one after the other.

    Raises
    ------
    InputError
        If the text is no JSON, if something else than objects stands there, or if an object has a key twice.
    """

    def constant(word: str) -> Any:
        raise InputError(f"{document.file}: {word} is no JSON; expected a number")

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        table = dict(pairs)
        if len(table) < len(pairs):
            names = [key for key, _ in pairs]
            twice = next(key for key in names if names.count(key) > 1)
            line = document.line_at(max(document.text.rfind(json.dumps(twice)), 0))
            raise document.error(line, f'"{twice}" is there twice in one object; expected it once')
        return table

    decoder = json.JSONDecoder(object_pairs_hook=unique, parse_constant=constant)
    text, at = document.text, 0
    while (at := at + len(text[at:]) - len(text[at:].lstrip())) < len(text):
        try:
            table, end = decoder.raw_decode(text, at)
        except json.JSONDecodeError as error:
            raise document.error(error.lineno, f"this is no JSON: {error.msg}") from None
        except RecursionError:
            raise document.error(document.line_at(at), "this is nested too deeply") from None
        except ValueError:
            raise document.error(document.line_at(at), "a number with too many digits") from None
        if not isinstance(table, dict):
            raise document.error(document.line_at(at), f"expected {expected}")
        yield Part(document, table, at, end)
        at = end
