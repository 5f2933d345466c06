"""YAML as written by programs: mappings and lists in blocks, plain and quoted scalars, each with its line.

Not supported: anchors, tags, nonempty lists and mappings in braces, block scalars.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from .piece import Document, brief
from .reading import Path

DEEPEST = 32
_NO_SCALAR = ("&", "*", "|", ">", "[", "{", "!", "%", "@", "`")
Value: TypeAlias = "str | list[Node] | dict[str, Node]"


@dataclass(frozen=True)
class Node:
    """A scalar as text, a list, or a mapping, with its first line and the path of keys to it."""

    line: int
    value: Value
    path: Path = ()

    def plain(self) -> Any:
        """Returns the value without lines."""
        if isinstance(self.value, dict):
            return {key: one.plain() for key, one in self.value.items()}
        return [one.plain() for one in self.value] if isinstance(self.value, list) else self.value

    def placed(self, path: Path = ()) -> Node:
        """Returns the node and its children with their paths, for `reading.Ledger`."""
        if isinstance(self.value, dict):
            inside = {key: one.placed((*path, key)) for key, one in self.value.items()}
            return Node(self.line, inside, path)
        if isinstance(self.value, list):
            listed = [one.placed((*path, str(place))) for place, one in enumerate(self.value)]
            return Node(self.line, listed, path)
        return Node(self.line, self.value, path)


@dataclass
class _Lines:
    """Lines with content: number, indentation and text; `at` is the index of the next one."""

    document: Document
    rows: list[tuple[int, int, str]]
    at: int = 0

    def peek(self) -> tuple[int, int, str] | None:
        """The next line."""
        return self.rows[self.at] if self.at < len(self.rows) else None


def parse(document: Document) -> Node:
    """The outermost value of a document.

    Raises
    ------
    InputError
        If it is not YAML of this subset, or nested deeper than 32 levels; the message has the line.
    """
    rows = []
    for number, text in enumerate(document.every_line(), 1):
        stripped = text.strip()
        if not stripped or stripped.startswith("#") or stripped in ("---", "..."):
            continue
        if "\t" in text[: len(text) - len(text.lstrip())]:
            raise document.error(number, "is indented by a tab; expected spaces")
        rows.append((number, len(text) - len(text.lstrip(" ")), stripped))
    lines = _Lines(document, rows)
    if not rows:
        raise document.error(1, "has no lines; expected YAML")
    found = _value(lines, rows[0][1], 0)
    if (more := lines.peek()) is not None:
        raise document.error(more[0], f"{brief(more[2])}: is indented less than the first line")
    return found


def _value(lines: _Lines, indent: int, depth: int) -> Node:
    """The list or mapping whose lines have this indentation."""
    row = lines.peek()
    if row is None:
        raise lines.document.error(lines.rows[-1][0], "the file ends; expected a value")
    if depth > DEEPEST:
        raise lines.document.error(row[0], f"nested deeper than {DEEPEST} levels")
    return (_list if _is_item(row[2]) else _mapping)(lines, indent, depth)


def _is_item(text: str) -> bool:
    return text == "-" or text.startswith("- ")


def _list(lines: _Lines, indent: int, depth: int) -> Node:
    found: list[Node] = []
    first = lines.rows[lines.at][0]
    while (row := lines.peek()) is not None and row[1] == indent and _is_item(row[2]):
        number, _, text = row
        rest = text[1:].lstrip()
        if not rest:
            lines.at += 1
            found.append(_below(lines, number, indent, depth))
        elif _is_item(rest) or _split(rest) is not None:
            # An item that begins a list or mapping: the rest of the line is its first line.
            lines.rows[lines.at] = (number, indent + len(text) - len(rest), rest)
            found.append(_value(lines, indent + len(text) - len(rest), depth + 1))
        else:
            lines.at += 1
            found.append(_scalar(lines, number, indent, rest))
    _check_end(lines, indent)
    return Node(first, found)


def _mapping(lines: _Lines, indent: int, depth: int) -> Node:
    found: dict[str, Node] = {}
    first = lines.rows[lines.at][0]
    while (row := lines.peek()) is not None and row[1] == indent and not _is_item(row[2]):
        number, _, text = row
        pair = _split(text)
        if pair is None:
            raise lines.document.error(
                number, f"{brief(text)}: expected a key and a value, as in name: value"
            )
        key, rest = pair
        if key in found:
            raise lines.document.error(number, f"{brief(key)} appears twice; expected each key once")
        lines.at += 1
        found[key] = _scalar(lines, number, indent, rest) if rest else _below(lines, number, indent, depth)
    _check_end(lines, indent)
    return Node(first, found)


def _below(lines: _Lines, number: int, indent: int, depth: int) -> Node:
    """The value in the lines below a key or dash; an empty text if there are none."""
    row = lines.peek()
    # Items of a list may have the same indentation as its key.
    if row is None or row[1] < indent or (row[1] == indent and not _is_item(row[2])):
        return Node(number, "")
    return _value(lines, row[1], depth + 1)


def _check_end(lines: _Lines, indent: int) -> None:
    row = lines.peek()
    if row is not None and row[1] > indent:
        raise lines.document.error(
            row[0], f"{brief(row[2])}: is indented by {row[1]} spaces; expected {indent}"
        )


def _split(text: str) -> tuple[str, str] | None:
    """Returns the key and the rest of a line; `None` if it has no key."""
    if text[:1] in ("'", '"'):
        end = text.find(text[0], 1)
        key, rest = text[1:end], text[end + 1 :].lstrip()
        return (key, rest[1:].strip()) if end > 0 and rest.startswith(":") else None
    if text.endswith(":") and ": " not in text:
        return text[:-1], ""
    key, colon, rest = text.partition(": ")
    return (key.strip(), rest.strip()) if colon and not key.startswith(_NO_SCALAR) else None


def _scalar(lines: _Lines, number: int, indent: int, text: str) -> Node:
    """Parses a scalar, which may continue in lines that are indented further."""
    if text in ("{}", "[]"):
        return Node(number, {} if text == "{}" else [])
    if text.startswith(_NO_SCALAR):
        expected = "a text, or a list or mapping in the lines below"
        raise lines.document.error(number, f"{brief(text)}: expected {expected}")
    while (row := lines.peek()) is not None and row[1] > indent and not _is_item(row[2]):
        text = f"{text} {row[2]}"
        lines.at += 1
    if text[:1] in ("'", '"'):
        end = text.rfind(text[0], 1)
        if end < 0:
            raise lines.document.error(number, f"{brief(text)}: the quote is not closed")
        return Node(number, text[1:end])
    return Node(number, text.partition(" #")[0].rstrip())
