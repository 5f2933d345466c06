"""XML of other tools: the name of its root, and a parser that rejects entities."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from xml.parsers import expat

from .piece import Document
from .reading import Fields

_SCHEMA = ("schemaLocation", "noNamespaceSchemaLocation")
"""Attributes that locate a schema and do not affect the content."""


class _RootFound(Exception):  # noqa: N818 (ends the parser, and is no error)
    """Raised to stop the parser at the first element."""


def root_of(document: Document) -> str:
    """The name of the first element, without its namespace; empty if the text does not begin as XML."""
    found = ""

    def begin(tag: str, _: dict[str, str]) -> None:
        nonlocal found
        found = tag.rpartition(":")[2]
        raise _RootFound

    if not document.text.lstrip().startswith("<"):
        return ""
    parser = expat.ParserCreate()
    parser.StartElementHandler = begin
    with contextlib.suppress(_RootFound, expat.ExpatError):
        parser.Parse(document.text.lstrip(), False)
    return found


def parse(
    document: Document,
    begin: Callable[[str, Fields, int], None],
    end: Callable[[str], None],
    characters: Callable[[str, int], bool],
) -> None:
    """Parses XML: calls `begin` and `end` per element with name, attributes and line, `characters` for text.

    Attributes that are never looked up are reported as not read, and text for which `characters` returns
    false.

    Raises
    ------
    InputError
        If the text is not XML, or declares an entity.
    """
    parser = expat.ParserCreate(namespace_separator=" ")
    open_elements: list[str] = []
    count = 0

    def opened(tag: str, attributes: dict[str, str]) -> None:
        nonlocal count
        count += 1
        name = tag.rpartition(" ")[2]
        open_elements.append(name)
        stated = {key: value for key, value in attributes.items() if key.rpartition(" ")[2] not in _SCHEMA}
        begin(name, document.ledger.fields(stated, (name, str(count))), parser.CurrentLineNumber)

    def closed(tag: str) -> None:
        open_elements.pop()
        end(tag.rpartition(" ")[2])

    def text(found: str) -> None:
        if not characters(found, parser.CurrentLineNumber) and found.strip():
            document.ledger.offer((open_elements[-1], "text"))

    def entity(name: str, *_: object) -> None:
        # With entities, a few bytes could expand to a huge text.
        message = f"declares the entity {name}; expected XML without entities"
        raise document.error(parser.CurrentLineNumber, message)

    parser.EntityDeclHandler = entity
    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = opened, closed, text
    try:
        parser.Parse(document.text, True)
    except expat.ExpatError as error:
        raise document.error(error.lineno, f"not valid XML: {expat.ErrorString(error.code)}") from None
