"""Settings of a switch as NVUE YAML (Cumulus Linux): `startup.yaml`, and the output of `nv config show`.

Each value is converted to an `nv set` command, which `nvue` reads. The YAML subset is that of NVUE's
output: block mappings and block lists, plain and quoted scalars, and ``{}``.

Source: NVIDIA Cumulus Linux User Guide, "NVUE CLI" and "Quality of Service".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from .nvue import Commands
from .piece import Document, Piece, brief

DEEPEST = 32
_TEXTS = ("|", "|-", "|+", ">", ">-", ">+")
_SIGNS = ("- set:", "- header:", "nvue-api-version:")
_QOS = ("qos:", "roce:", "traffic-class:", "switch-priority:", "egress-scheduler:", "congestion-control:")
_NO_SCALAR = ("&", "*", "|", ">", "[", "!", "%", "@", "`")


def recognises(document: Document) -> bool:
    """Returns true if a text is YAML with settings of NVUE."""
    is_first = (document.first_lines(1) or [""])[0] in ("---", "set:")
    return (is_first or document.has_line(*_SIGNS)) and document.has_line(*_QOS)


def read(document: Document) -> Piece:
    """Reads the settings of a switch; they apply to all switches of the scenario.

    Raises
    ------
    InputError
        If the text is not NVUE, or a scenario cannot express a setting; the message names the line.
    """
    commands = Commands(document)
    for line, words in leaves(document):
        if words[0] == "set":
            words = words[1:]
        if not words:
            commands.leave(line, "set", "it is empty")
        elif words[0] == "header":
            commands.leave(line, " ".join(words), "no setting")
        else:
            commands.setting(line, words)
    return commands.piece()


@dataclass
class _Block:
    """A key whose value is in the lines below it."""

    depth: int
    word: str
    line: int
    is_empty: bool = True
    keys: set[str] = field(default_factory=set)


@dataclass
class _Reader:
    """The keys of the enclosing blocks of a line."""

    document: Document
    around: list[_Block] = field(default_factory=list)
    keys: set[str] = field(default_factory=set)
    """The top-level keys."""
    text_within: int | None = None
    """Indentation of a key whose value is a block scalar, which is skipped."""

    def path(self) -> list[str]:
        """Returns the keys of the enclosing blocks of a line."""
        return [one.word for one in self.around if one.word]


def leaves(document: Document) -> Iterator[tuple[int, list[str]]]:
    """Yields the path of each value, the value, and its line; the value of an empty mapping is empty.

    Raises
    ------
    InputError
        If a line is not YAML as written by NVUE, or nested too deeply.
    """
    reader = _Reader(document)
    for number, text in enumerate(document.every_line(), 1):
        words = text.strip()
        if not words or words.startswith("#") or words in ("---", "..."):
            continue
        if "\t" in text[: len(text) - len(text.lstrip())]:
            raise document.error(number, "is indented by a tab; expected spaces")
        depth = len(text) - len(text.lstrip(" "))
        if reader.text_within is not None and depth > reader.text_within:
            continue
        reader.text_within = None
        yield from _closed(reader, depth, is_item=words.startswith("- "))
        while words.startswith("- "):
            _open(reader, _Block(depth, "", number, is_empty=False), number)
            rest = words[2:].lstrip()
            depth, words = depth + len(words) - len(rest), rest
        key, value = _pair(document, number, words)
        if reader.around:
            reader.around[-1].is_empty = False
        known = reader.around[-1].keys if reader.around else reader.keys
        if key in known and key:
            raise document.error(number, f"{brief(key)} appears twice; expected each key once")
        known.add(key)
        if value == "":
            _open(reader, _Block(depth, key, number), number)
        elif value == "{}":
            yield number, [*reader.path(), key]
        elif key and value in _TEXTS:
            reader.text_within = depth
            yield number, [*reader.path(), key, value]
        else:
            scalar = _scalar(document, number, value)
            yield number, [*reader.path(), *([key] if key else []), scalar]
    yield from _closed(reader, -1, is_item=False)


def _closed(reader: _Reader, depth: int, *, is_item: bool) -> Iterator[tuple[int, list[str]]]:
    """Closes the blocks that do not contain a line; a key without a value is an empty mapping."""
    while reader.around:
        last = reader.around[-1]
        # Items of a list may have the same indentation as its key.
        if last.depth < depth or (is_item and last.depth == depth and last.word):
            return
        if last.is_empty:
            yield last.line, reader.path()
        reader.around.pop()


def _open(reader: _Reader, block: _Block, line: int) -> None:
    if len(reader.around) >= DEEPEST:
        raise reader.document.error(line, f"nested deeper than {DEEPEST} levels")
    if reader.around:
        reader.around[-1].is_empty = False
    reader.around.append(block)


def _pair(document: Document, line: int, text: str) -> tuple[str, str]:
    """The key and the value of a line; an item of a list that is a scalar has no key."""
    if text[:1] in ("'", '"'):
        key, end, rest = text[1:].partition(text[0])
        if end and key and rest.startswith(":"):
            return key, _without_comment(rest[1:].strip())
        if end and not rest.strip():
            return "", text
        raise document.error(line, f"{brief(text)}: expected a key with a colon")
    key, colon, rest = text.partition(": ")
    if colon and key:
        return key, _without_comment(rest.strip())
    if text.endswith(":") and text != ":":
        return text[:-1], ""
    if text.startswith(("{", "[")) or " " in text:
        raise document.error(line, f"{brief(text)}: expected a key with a colon")
    return "", text


def _without_comment(text: str) -> str:
    if text[:1] in ("'", '"'):
        return text
    return text.partition(" #")[0].strip()


def _scalar(document: Document, line: int, text: str) -> str:
    """Returns a value without its quotes."""
    if text[:1] in ("'", '"'):
        value, end, rest = text[1:].partition(text[0])
        if not end or (rest.strip() and not rest.strip().startswith("#")):
            raise document.error(line, f"{brief(text)}: an unmatched quote")
        return value
    if text.startswith((*_NO_SCALAR, "{")):
        raise document.error(line, f"{brief(text)}: expected a plain or quoted value, as NVUE writes it")
    return text
