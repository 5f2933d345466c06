"""Configurations of Junos as statements, from `set` commands or blocks in braces.

Both forms give the same statements, each with all words from the outermost block. A list in brackets is
replaced by its members. `inactive:` blocks and deactivated statements are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from .piece import Document, brief
from .statements import DEEPEST, Statement, Statements

_SIGN = re.compile(r'"[^"]*"|[{};\[\]]|[^\s{};\[\]"]+|"')
_COMMENT = re.compile(r'"[^"]*"|/\*|#')
_COMMANDS = ("set", "delete", "deactivate", "activate", "protect", "annotate")
MOST_SIGNS = 2_000_000


def is_commands(document: Document) -> bool:
    """Returns true if the first line is a `set` command."""
    return (document.first_lines(1) or [""])[0].split()[:1] in [[one] for one in _COMMANDS]


class Paths(Statements):
    """Statements of Junos, indexed by their first words.

    Parameters
    ----------
    document : Document
        The document.
    found : list of Statement
        All statements.
    """

    def __init__(self, document: Document, found: list[Statement]) -> None:
        super().__init__(document, found)
        self._index: dict[tuple[str, ...], list[Statement]] = {}
        for one in found:
            for count in range(1, min(len(one.words), 5) + 1):
                self._index.setdefault(one.words[:count], []).append(one)

    def at(self, *words: str) -> list[Statement]:
        """The statements that begin with these words (at most five)."""
        return self._index.get(words, [])

    def names(self, *words: str) -> list[str]:
        """The distinct next words of the statements that begin with these words."""
        count = len(words)
        return [*dict.fromkeys(one.words[count] for one in self.at(*words) if len(one.words) > count)]


def statements_of(document: Document) -> Paths:
    """The statements of a configuration.

    Raises
    ------
    InputError
        If a brace or bracket is unmatched, or blocks are nested too deeply; the message names the line.
    """
    return Paths(document, [*(_commands(document) if is_commands(document) else _blocks(document))])


def _commands(document: Document) -> Iterator[Statement]:
    """Commands such as ``set class-of-service ...``; other commands become statements that no reader uses."""
    for number, text in document.lines():
        signs = _SIGN.findall(text)
        if signs.count("[") != signs.count("]") or ("[", "]") in pairwise(signs):
            raise document.error(number, "an unmatched bracket, or an empty list")
        words = tuple(word.strip('"') for word in signs if word not in "[]")
        if not words:
            continue
        yield Statement(number, words[1:] if words[0] == "set" and len(words) > 1 else words)


def _blocks(document: Document) -> Iterator[Statement]:
    """Leaf statements such as ``a { b { c d; } }``, each with all its words."""
    around: list[tuple[str, ...]] = []
    words: list[str] = []
    began, listed, is_comment, is_list = 1, 0, False, False
    for number, text in enumerate(document.every_line(), 1):
        text, is_comment = _without_comments(text, is_comment)
        for sign in _SIGN.findall(text):
            began = began if words else number
            if sign == "{":
                if is_list or not words or len(around) >= DEEPEST:
                    raise document.error(
                        number, f"{{ after {brief(' '.join(words)) or 'nothing'}: not a block"
                    )
                around.append(tuple(words))
                words = []
            elif sign == "}":
                if words or not around:
                    raise document.error(
                        number,
                        f"}} after {brief(' '.join(words))}; expected ;" if words else "} without a {",
                    )
                around.pop()
            elif sign == ";":
                if is_list or not words:
                    raise document.error(number, "; without a statement before it")
                yield Statement(began, (*(word for block in around for word in block), *words))
                words = []
            elif sign in "[]":
                if is_list == (sign == "[") or (is_list and listed == len(words)):
                    raise document.error(number, f"unmatched {sign}, or an empty list")
                is_list, listed = sign == "[", len(words)
            else:
                words.append(sign.strip('"'))
    if words or around or is_list:
        last = around[-1] if around else words
        raise document.error(began, f"{brief(' '.join(last))} is not closed; expected }} or ;")


def _without_comments(text: str, is_comment: bool) -> tuple[str, bool]:
    """The text outside comments (``/* */`` and ``#``), and true if a comment continues on the next line."""
    shown, at = [], 0
    while at < len(text):
        if is_comment:
            end = text.find("*/", at)
            if end < 0:
                break
            is_comment, at = False, end + 2
            continue
        found = _COMMENT.search(text, at)
        shown.append(
            text[at : found.end() if found and found[0][0] == '"' else found.start() if found else None]
        )
        if found is None or found[0] == "#":
            break
        at, is_comment = found.end(), found[0] == "/*"
    return " ".join(shown), is_comment
