"""Lines of a switch's running configuration, with a record of those that were read.

A line is a statement; nested statements are indented further, or are in braces. Readers access the words of
a statement through `Statements.read`, which records its line in the ledger of the document. All other lines
are reported by number.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, TypeVar

from penstock.errors import InputError

from .piece import Document, Note, brief
from .reading import Deferred

K = TypeVar("K")
T = TypeVar("T")
DEEPEST = 24
"""Maximum nesting depth of statements."""
MOST_PORTS = 1_024
"""Maximum number of ports of a switch."""
_NAMED = 4
_BYTES = {"bytes": 1, "kbytes": 1_000, "mbytes": 1_000_000, "gbytes": 1_000_000_000}
_NO_STATEMENT: tuple[tuple[str, ...], ...] = (("end",), ("exit",))


@dataclass
class Statement:
    """A line of a configuration.

    Attributes
    ----------
    line : int
        Number of the line, from 1.
    words : tuple of str
        Words of the statement.
    within : Statement or None
        The enclosing statement.
    children : list of Statement
        The nested statements.
    """

    line: int
    words: tuple[str, ...]
    within: Statement | None = None
    children: list[Statement] = field(default_factory=list, repr=False)

    @property
    def text(self) -> str:
        """The words of the statement, joined to a line."""
        return " ".join(self.words)

    def begins(self, *words: str) -> bool:
        """Returns true if the statement begins with these words."""
        return self.words[: len(words)] == words

    def after(self, *words: str) -> str | None:
        """Returns the word after this sequence of words, or ``None``."""
        count = len(words)
        for at in range(len(self.words) - count):
            if self.words[at : at + count] == words:
                return self.words[at + count]
        return None

    @property
    def outermost(self) -> Statement:
        """The outermost enclosing statement."""
        found = self
        while found.within is not None:
            found = found.within
        return found


class Statements:
    """The statements of a document.

    Parameters
    ----------
    document : Document
        The document, with a ledger in which nothing counts as read.
    roots : list of Statement
        Top-level statements.

    Attributes
    ----------
    reported : list of str
        Differences between the scenario and the document.
    """

    def __init__(self, document: Document, roots: list[Statement]) -> None:
        self.document = document
        self.roots = roots
        self.reported: list[str] = []

    def every(self) -> Iterator[Statement]:
        """All statements, in document order."""
        waiting = self.roots[::-1]
        while waiting:
            one = waiting.pop()
            yield one
            waiting += one.children[::-1]

    def read(self, statement: Statement) -> tuple[str, ...]:
        """Returns the words of a statement; it and its enclosing statements then count as read."""
        around: Statement | None = statement
        while around is not None:
            self.document.ledger.look_up(around.words, _path(around))
            around = around.within
        return statement.words

    def deferred(self, read: Callable[[], T]) -> Deferred[T]:
        """Defers a value: the statements from which it is computed count as read once it is used."""
        return self.document.ledger.deferred(read)

    def joined(self, value: T, *parts: Deferred[Any] | None) -> Deferred[T]:
        """Returns a deferred value that depends on other deferred values."""
        paths = (part.paths for part in parts if part is not None)
        return Deferred(value, frozenset().union(*paths), self.document.ledger)

    def has_read(self, statement: Statement) -> bool:
        """Returns true if a statement counts as read."""
        return _path(statement) in self.document.ledger.read

    def was_used(self, one: Deferred[Any]) -> bool:
        """Returns true if the statements of a value count as read."""
        return all(path in self.document.ledger.read for path in one.paths)

    def drop(self, statement: Statement, reason: str) -> None:
        """Reports a statement as not read, with the reason."""
        self.document.ledger.drop(_path(statement), reason)

    def report(self, where: str, message: str) -> None:
        """Reports a difference between the scenario and the document, once."""
        if (line := f"{where}: {message}") not in self.reported:
            self.reported.append(line)

    def put_once(self, found: dict[K, Statement], key: K, one: Statement, what: str) -> None:
        """Adds a statement to a dictionary under a key.

        Raises
        ------
        InputError
            If the key exists; `what` names the thing that is expected once, such as "each policy".
        """
        if key in found:
            raise self.error(one, f"{brief(one.text)} appears twice; expected {what} once")
        found[key] = one

    def error(self, statement: Statement, message: str) -> InputError:
        """Returns the error for a statement, with its line."""
        return self.document.error(statement.line, message)

    def whole(self, statement: Statement, what: str, text: str | None, least: int, most: int) -> int:
        """Parses a whole number within limits.

        Raises
        ------
        InputError
            If it is missing, something else, or out of range.
        """
        if text is None:
            raise self.error(statement, f"{brief(statement.text)}: {what} is missing")
        return self.document.whole(statement.line, what, text, least, most)

    def numbers(self, statement: Statement, what: str, words: Iterable[str], most: int) -> list[int]:
        """Parses whole numbers from 0, such as ``3,5 8-15``.

        Raises
        ------
        InputError
            If there are none, or one is something else or above the limit.
        """
        found: list[int] = []
        for one in ",".join(words).replace(" ", "").split(","):
            first, dash, last = one.partition("-")
            least = self.whole(statement, what, first, 0, most)
            found += range(least, self.whole(statement, what, last if dash else first, least, most) + 1)
        return found

    def amount(self, statement: Statement, what: str, number: str | None, unit: str | None) -> int:
        """Parses a size in bytes from a number and its unit.

        Raises
        ------
        InputError
            If it is not a size, or its unit is not a unit of bytes.
        """
        if number is None or unit not in _BYTES:
            given = brief(f"{number or ''} {unit or ''}".strip())
            expected = f"a number with {', '.join(_BYTES)}"
            raise self.error(statement, f"{what} is {given or 'missing'}; expected {expected}")
        bytes_ = self.document.decimal(statement.line, what, number) * _BYTES[unit]
        if bytes_ > 2**62:
            raise self.error(statement, f"{what} is {brief(number)} {unit}; expected at most 2^62 B")
        if unit != "bytes":
            self.report(f"{statement.line}", "assumed: kbytes are 1,000 B and mbytes 1,000,000 B")
        return round(Fraction(bytes_))

    def cell_bytes(self) -> int | None:
        """Size of a memory cell in bytes, if given on the command line."""
        return self.document.given_bytes("cell")

    def buffer_bytes(self) -> int | None:
        """Size of the shared memory in bytes, if given on the command line."""
        return self.document.given_bytes("buffer")

    def notes(self) -> list[Note]:
        """The statements that were read."""
        ledger = self.document.ledger
        return [
            Note(one.line, brief(one.text))
            for one in self.every()
            if _path(one) in ledger.read and _path(one) not in ledger.dropped
        ]

    def remarks(self, meaning: Callable[[Statement], str]) -> list[str]:
        """Returns the differences, and one line for each reason why statements were not read.

        Parameters
        ----------
        meaning : callable
            Returns the consequence of leaving out a statement that was not read.
        """
        ledger = self.document.ledger
        missed: dict[str, list[Statement]] = {}
        for one in self.every():
            if _path(one) not in ledger.read or _path(one) in ledger.dropped:
                missed.setdefault(ledger.dropped.get(_path(one)) or meaning(one), []).append(one)
        file = self.document.file
        entries = [f"{file}:{line}" if line[:1].isdigit() else f"{file}: {line}" for line in self.reported]
        return entries + [
            f"{file}:{found[0].line}: not read: {_names(found)}: {reason}{_lines(found)}"
            for reason, found in missed.items()
        ]


def _path(statement: Statement) -> tuple[str, ...]:
    return ("line", str(statement.line), statement.text)


def _names(found: Collection[Statement]) -> str:
    """The first statements, or their first words if there are many."""
    few = len(found) <= _NAMED
    named = dict.fromkeys(brief(one.text if few else " ".join(one.words[:2])) for one in found)
    more = f" and {len(named) - _NAMED} more" if len(named) > _NAMED else ""
    return f"{', '.join([*named][:_NAMED])}{more}"


def _lines(found: Collection[Statement]) -> str:
    """The lines of several statements, as ranges."""
    if len(found) < 2:
        return ""
    runs: list[list[int]] = []
    for line in sorted({one.line for one in found}):
        if runs and line == runs[-1][-1] + 1:
            runs[-1].append(line)
        else:
            runs.append([line])
    shown = (f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)
    return f" (lines {', '.join(shown)})"


def indented(document: Document, belongs: Mapping[str, Collection[str]]) -> Statements:
    """Parses a configuration with indented blocks, in which ``!`` starts a comment.

    Parameters
    ----------
    document : Document
        The document.
    belongs : mapping
        First words of statements, mapped to the first words of the statements that enclose them even without
        further indentation.

    Raises
    ------
    InputError
        If statements are nested too deeply.
    """
    roots: list[Statement] = []
    around: list[tuple[int, Statement]] = []
    for number, text in enumerate(document.every_line(), 1):
        words = tuple(text.split())
        if "!" in words:  # the rest is a comment
            words = words[: words.index("!")]
        if not words or words[0].startswith(("!", "#")) or words in _NO_STATEMENT:
            continue
        depth = len(text.expandtabs()) - len(text.expandtabs().lstrip())
        first = words[words[0] == "no"] if len(words) > 1 else words[0]
        while around and not _holds(around[-1], depth, belongs.get(first, ())):
            around.pop()
        if len(around) >= DEEPEST:
            raise document.error(number, f"nested deeper than {DEEPEST} levels")
        one = Statement(number, words, around[-1][1] if around else None)
        (around[-1][1].children if around else roots).append(one)
        around.append((depth, one))
    return Statements(document, roots)


def _holds(block: tuple[int, Statement], depth: int, owners: Collection[str]) -> bool:
    """Returns true if a line with this indentation is within a block."""
    return block[0] < depth or (block[0] == depth and block[1].words[0] in owners)


def port_names(statements: Statements, statement: Statement, text: str) -> list[str]:
    """Ports such as ``Ethernet1/1``, or ranges such as ``Ethernet1/1-4,Ethernet1/6``.

    Raises
    ------
    InputError
        If there are more ports than a switch can have.
    """
    found: list[str] = []
    for one in text.split(","):
        front, dash, last = one.rpartition("-")
        stem = front.rstrip("0123456789")
        first = front[len(stem) :]
        last = last.removeprefix(stem)
        is_range = dash and first and last.isascii() and last.isdigit() and len(first + last) < 10
        if not is_range or int(first) > int(last):
            found.append(one)
        elif int(last) - int(first) >= MOST_PORTS:
            found += [""] * (MOST_PORTS + 1)  # rejected below
        else:
            found += (f"{stem}{number}" for number in range(int(first), int(last) + 1))
        if len(found) > MOST_PORTS:
            raise statements.error(statement, f"{brief(text)}: expected at most {MOST_PORTS} ports")
    return found
