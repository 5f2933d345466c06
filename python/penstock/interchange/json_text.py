"""JSON of other tools: objects with their lines; duplicate keys are rejected, and accesses are recorded."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from penstock.errors import InputError

from .piece import Document
from .reading import Fields, Ledger
from .yaml_blocks import Node, parse

_INDEXED_DEPTH = 3
"""Depth of nested keys whose lines are recorded: table, entry and field of CONFIG_DB."""
_BLANK = " \t\n\r"


@dataclass(frozen=True)
class Part:
    """An object of a document.

    Attributes
    ----------
    document : Document
        The document.
    table : Fields
        The object. Each field counts as read once it is looked up.
    first, last : int
        Offsets of its beginning and end in the text.
    """

    document: Document
    table: Fields
    first: int
    last: int
    plain: Mapping[str, Any] = field(repr=False)
    """The object without access records, for `reading.Joint` only."""

    @property
    def line(self) -> int:
        """The line in which the object begins."""
        return self.document.line_at(self.first)

    def line_of(self, *keys: str) -> int:
        """The line of a key, or of a path of nested keys; if some are missing, that of the last one found."""
        for count in range(min(len(keys), _INDEXED_DEPTH), 0, -1):
            if (at := self._offsets.get(keys[:count])) is not None:
                return self.document.line_at(at)
        return self.line

    @cached_property
    def _offsets(self) -> Mapping[tuple[str, ...], int]:
        return _offsets_of_keys(self.document.text, self.first, self.last)


@dataclass(frozen=True)
class MadePart(Part):
    """An object made from text that is not JSON, such as a command; all its keys have the same line."""

    @classmethod
    def of(cls, document: Document, table: Mapping[str, Any], first: int = 0) -> MadePart:
        """The object of a table whose text begins at an offset."""
        return cls(document, Ledger().fields(table), first, len(document.text), table)

    def line_of(self, *_: str) -> int:
        """The line in which the text of the object begins."""
        return self.line


def whole(document: Document, expected: str) -> Part:
    """The only object of a document.

    Raises
    ------
    InputError
        In the cases of `parts`, or if there is not exactly one object.
    """
    found = [*parts(document, expected)]
    if len(found) != 1:
        line = found[1].line if found else 1
        raise document.error(line, f"{len(found)} objects; expected one: {expected}")
    return found[0]


def parts(document: Document, expected: str = "an object") -> Iterator[Part]:
    """Yields the objects of a document, in order.

    Raises
    ------
    InputError
        If the text is not JSON, contains anything but objects, or an object has a key twice.
    """

    def constant(word: str) -> Any:
        raise InputError(f"{document.file}: {word} is not valid JSON; expected a number")

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        table = dict(pairs)
        if len(table) < len(pairs):
            seen: set[str] = set()
            for key, _ in pairs:
                if key in seen:
                    line = document.line_at(max(text.rfind(json.dumps(key)), 0))
                    raise document.error(line, f'"{key}" appears twice in one object; expected it once')
                seen.add(key)
        return table

    decoder = json.JSONDecoder(object_pairs_hook=unique, parse_constant=constant)
    text, at, number = document.text, 0, 0
    while (at := _past_blanks(text, at)) < len(text):
        try:
            table, end = decoder.raw_decode(text, at)
        except json.JSONDecodeError as error:
            raise document.error(error.lineno, f"not valid JSON: {error.msg}") from None
        except RecursionError:
            raise document.error(document.line_at(at), "nested too deeply") from None
        except ValueError:
            raise document.error(document.line_at(at), "a number with too many digits") from None
        if not isinstance(table, dict):
            raise document.error(document.line_at(at), f"expected {expected}")
        yield Part(document, document.ledger.fields(table, (f"{number}",) if number else ()), at, end, table)
        at, number = end, number + 1


def _past_blanks(text: str, at: int) -> int:
    """The offset of the next character that is not white space."""
    while at < len(text) and text[at] in _BLANK:
        at += 1
    return at


def _offsets_of_keys(text: str, first: int, last: int) -> dict[tuple[str, ...], int]:
    """The first offset of each key in the outer objects of valid JSON, found in one pass."""
    found: dict[tuple[str, ...], int] = {}
    path: list[str] = []
    """Keys of open values, one per open object; empty for a list."""
    at, key_at, word = first, first, ""
    while at < last:
        sign = text[at]
        if sign == '"':
            end = _end_of_string(text, at, last)
            key_at, word = at, text[at + 1 : end]
            at = end
        elif sign in "{[":
            path.append("" if sign == "[" or len(path) >= _INDEXED_DEPTH else "\0")
        elif sign in "}]":
            path.pop()
        elif sign == ":" and path and len(path) <= _INDEXED_DEPTH and all(path):
            path[-1] = json.loads(f'"{word}"') if "\\" in word else word
            path[-1] = path[-1] or "\0"
            found.setdefault(tuple(path), key_at)
        at += 1
    return found


def _end_of_string(text: str, begin: int, last: int) -> int:
    """The offset of the quote that ends a string."""
    at = text.find('"', begin + 1, last)
    while at > 0:
        escapes = at
        while text[escapes - 1] == "\\":
            escapes -= 1
        if (at - escapes) % 2 == 0:
            return at
        at = text.find('"', at + 1, last)
    return last


def nodes(document: Document) -> Node:
    """The values of a document in JSON or YAML; for JSON, each has line 1.

    Raises
    ------
    InputError
        If it is neither JSON nor YAML; the message has the line.
    """
    if not document.text.lstrip().startswith("{"):
        return parse(document)

    def node(value: Any) -> Node:
        if isinstance(value, dict):
            return Node(1, {str(key): node(one) for key, one in value.items()})
        if isinstance(value, list):
            return Node(1, [node(one) for one in value])
        return Node(1, "" if value is None else str(value))

    try:
        return node(json.loads(document.text))
    except (ValueError, RecursionError) as error:
        raise document.error(getattr(error, "lineno", 1), f"not valid JSON: {error}") from None
