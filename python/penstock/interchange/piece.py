"""Input and output of format readers: a document, and a piece of a scenario."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from penstock.errors import InputError
from penstock.laboratory.quantity import UNITS, Quantity

from .reading import Ledger

if TYPE_CHECKING:
    from .ns3_switch import SimulatedSwitch

PS_PER_S = UNITS["time"]["s"]
MOST_BPS = 1_600 * 10**9
"""Maximum rate of a link in a scenario."""
LATEST_PS = 9_000_000 * PS_PER_S
"""Latest start of a transfer: a little less than 2^63 ps."""
_DECIMAL = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?", re.ASCII)
_UNFIT = re.compile(r"[\s*\"'\[\]{},]|\.\.|[\x00-\x1f\x7f]")
_LONGEST_NAME = 200
HEAD_CHARACTERS = 1 << 20
"""Number of characters at the beginning of a document that are used to detect its format."""
_PER_SECOND = re.compile(r"([kMGT]?)bps$")

_BRIEF = 80


def brief(value: object) -> str:
    """Returns the beginning of a foreign text on one line, for a message."""
    text = str(value)
    shown = text if len(text) <= _BRIEF else f"{text[:_BRIEF]}..."
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in shown)


@lru_cache(maxsize=32)
def _beginnings(texts: tuple[str, ...]) -> re.Pattern[str]:
    """Pattern that matches the beginnings of lines in one pass over the text."""
    return re.compile(rf"^[ \t]*(?:{'|'.join(map(re.escape, texts))})", re.MULTILINE)


Place = int | str
"""A line number of a document, from 1, or the name of a place in a document without lines."""


@dataclass(frozen=True)
class Document:
    """A file to import.

    Attributes
    ----------
    file : str
        Name of the file, for messages.
    text : str
        Contents of the file.
    rate, length : str, optional
        Rate and length of links for which the file has none.
    time_unit : str, optional
        Unit of times without one: "us" or "ps".
    interface : str, optional
        The port to read, if the file describes several.
    cell, buffer : str, optional
        Size of a memory cell of a switch, and of its shared memory, for files with sizes in cells or in
        shares of the memory.
    """

    file: str
    text: str
    rate: str | None = None
    length: str | None = None
    time_unit: str | None = None
    interface: str | None = None
    cell: str | None = None
    buffer: str | None = None
    ledger: Ledger = field(default_factory=Ledger, compare=False, repr=False)
    """The record of what was read; each reader gets a new one."""

    @cached_property
    def _newlines(self) -> list[int]:
        """Offsets of all line feeds in the text."""
        found, at = [], self.text.find("\n")
        while at >= 0:
            found.append(at)
            at = self.text.find("\n", at + 1)
        return found

    def head(self) -> Document:
        """The first `HEAD_CHARACTERS`, cut to whole lines; the document itself if it is not longer."""
        if len(self.text) <= HEAD_CHARACTERS:
            return self
        begin = self.text[:HEAD_CHARACTERS]
        return replace(self, text=begin[: begin.rfind("\n") + 1] or begin)

    def line_at(self, offset: int) -> int:
        """The line of an offset in the text."""
        return bisect_left(self._newlines, offset) + 1

    def first_lines(self, count: int) -> list[str]:
        """The first lines that are neither blank nor comments, at most `count` of them."""
        return [line for _, (_, line) in zip(range(count), self.lines(), strict=False)]

    def has_line(self, *beginnings: str) -> bool:
        """Returns true if a line begins with one of these texts, after white space."""
        return _beginnings(beginnings).search(self.text) is not None

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yields the lines with content and their numbers; skips blank lines and lines that begin with #."""
        for number, line in enumerate(self.text.splitlines(), 1):
            if (words := line.strip()) and not words.startswith("#"):
                self.ledger.lines_read = max(self.ledger.lines_read, number)
                yield number, words

    def every_line(self) -> list[str]:
        """All lines, including blank ones and comments."""
        found = self.text.splitlines()
        self.ledger.lines_read = len(found)
        return found

    def put_back(self, line: int) -> None:
        """Marks a line and all following lines as not read."""
        self.ledger.lines_read = line - 1

    def fresh(self) -> Document:
        """Returns the document with a new ledger, in which nothing counts as read."""
        return replace(self, ledger=Ledger())

    def unread_lines(self) -> list[tuple[int, str]]:
        """Returns the lines after the last one that `lines` yielded."""
        read = self.ledger.lines_read
        return [one for one in self.fresh().lines() if one[0] > read > 0]

    def error(self, line: Place, message: str) -> InputError:
        """Returns the error for a line."""
        return InputError(f"{self.file}:{line}: {message}")

    def whole(self, line: Place, what: str, text: str, least: int = 0, most: int = 2**63 - 1) -> int:
        """Converts text to a whole number.

        Raises
        ------
        InputError
            If it is something else, or out of range.
        """
        if not (len(text) < 20 and text.isascii() and text.isdigit() and least <= int(text) <= most):
            limits = f"from {least} to {most}" if most < 2**32 else f"of at least {least}"
            raise self.error(line, f"{what} is {brief(text)}; expected a whole number {limits}")
        return int(text)

    def decimal(self, line: Place, what: str, text: str) -> Fraction:
        """Converts text to an exact number of at least 0.

        Raises
        ------
        InputError
            If it is something else.
        """
        if len(text) > _LONGEST_NAME or _DECIMAL.fullmatch(text.strip()) is None or Fraction(text) < 0:
            raise self.error(line, f"{what} is {brief(text)}; expected a number of at least 0")
        return Fraction(text)

    def instant(self, line: Place, what: str, text: str, unit_ps: int) -> Fraction:
        """Converts a number of units to a time in ps.

        Raises
        ------
        InputError
            If it is something else, or too large for a scenario.
        """
        found = self.decimal(line, what, text) * unit_ps
        if found > LATEST_PS:
            raise self.error(line, f"{what} is {brief(text)}; expected at most {LATEST_PS // PS_PER_S} s")
        return found

    def quantity(self, line: Place, what: str, text: str, dimension: str, example: str) -> str:
        """Converts a quantity with a unit to the form of scenarios.

        Raises
        ------
        InputError
            If it is something else, or not a whole number of the smallest unit.
        """
        found = Quantity.read(_PER_SECOND.sub(r"\1b/s", text)) if len(text) < _LONGEST_NAME else None
        if found is None or found.dimension != dimension:
            raise self.error(line, f'{what} is {brief(text)}; expected a {dimension}, such as "{example}"')
        if found.amount.denominator != 1 or found.amount < 0:
            smallest = next(iter(UNITS[dimension]))
            raise self.error(line, f"{what} is {text}, which is not a whole number of {smallest}")
        return plainest(found.amount, found.dimension)

    def given_bytes(self, option: str) -> int | None:
        """Returns the size of a cell or the buffer from the command line; ``None`` if it is not set.

        Raises
        ------
        InputError
            If it is not a size.
        """
        text: str | None = getattr(self, option)
        found = Quantity.read(text) if text else None
        if text and (found is None or found.dimension != "size" or found.amount <= 0):
            raise InputError(f'--{option} is {brief(text)}; expected a size, such as "208 B"')
        return None if found is None else int(found.amount)

    def name(self, line: Place, text: str) -> str:
        """Checks that text is a valid name of a host or switch, and returns it.

        Raises
        ------
        InputError
            If a scenario does not accept it.
        """
        if not text or text == "all" or _UNFIT.search(text) or len(text.encode()) > _LONGEST_NAME:
            expected = 'letters without spaces, "..", *, quotes, brackets, commas or "all"'
            raise self.error(
                line, f'the name "{brief(text)}" is not valid for a host or switch; expected {expected}'
            )
        return text


class Transfer(NamedTuple):
    """A transfer in a line of a document.

    Attributes
    ----------
    line : int
        Line of the transfer.
    start_ps : Fraction
        Start time.
    sender, receiver : int or str
        Hosts, by name or by number.
    bytes : int or None
        Size in bytes; ``None`` for an endless transfer.
    priority : int or None
        Priority, 0 to 7; ``None`` if the format has none.
    note : str
        Other content of the line, such as "port 100", which becomes a comment.
    after : tuple of int
        Lines of the transfers that it waits for; then `start_ps` has no effect.
    """

    line: int
    start_ps: Fraction
    sender: int | str
    receiver: int | str
    bytes: int | None
    priority: int | None = None
    note: str = ""
    after: tuple[int, ...] = ()


class Note(NamedTuple):
    """A setting that was read, and its place; it becomes a comment of the scenario."""

    place: Place
    text: str


@dataclass(frozen=True)
class SharedMemory:
    """A memory that ports share; its total size depends on the fabric.

    Attributes
    ----------
    shared_bytes : int, optional
        The shared part, without minima of queues and headroom. ``None`` if the scenario sets the total.
    headroom_bytes : int, optional
        Shared headroom that each port and lossless priority needs. ``None`` if the scenario sets it.
    """

    shared_bytes: int | None = None
    headroom_bytes: int | None = None


@dataclass(frozen=True)
class Assumed:
    """Parts of a memory in pools that a configuration leaves to the switch; `memory.assume` fills them in.

    Attributes
    ----------
    unsized : sequence of str
        Pools without a size.
    pool : str, optional
        The ingress pool of lossless groups without a profile; ``None`` if there is no ingress pool.
    exponent : int, optional
        Exponent of two for their dynamic threshold. ``None`` for 0, that is, a threshold equal to the free
        memory.
    """

    unsized: Sequence[str] = ()
    pool: str | None = None
    exponent: int | None = None


class LinkClass(NamedTuple):
    """Ports of a switch with the same rate and cable.

    Attributes
    ----------
    rate : str or None
        Rate of their links, such as "100 Gb/s"; ``None`` if the document does not have it.
    length : str or None
        Length of their cables, such as "40 m"; ``None`` if the document does not have it.
    ports : tuple of str
        Names of the ports.
    """

    rate: str | None
    length: str | None
    ports: tuple[str, ...] = ()

    def __str__(self) -> str:
        return " and ".join(one for one in (self.rate, self.length) if one) or "an unknown rate"


def link_classes(link: Mapping[str, str]) -> list[LinkClass]:
    """The link class whose ``rate`` or ``length`` a document sets; empty if it sets neither."""
    return [LinkClass(link.get("rate"), link.get("length"))] if link else []


@dataclass(frozen=True)
class Piece:
    """The part of a scenario that a document describes.

    Attributes
    ----------
    keys : dict
        Keys of a scenario, nested as in the file.
    transfers : sequence of Transfer
        Traffic, in any order.
    numbers : mapping
        Host of each number, if the format numbers its nodes.
    remarks : sequence of str
        Settings that Penstock cannot express, which were left out.
    notes : sequence of Note
        Settings that were read, with their lines.
    memory : SharedMemory, optional
        Memory of a switch, where its size depends on the fabric.
    links : sequence of LinkClass
        Rates and lengths of the ports in the document; the class with the most ports first.
    alone : dict
        The keys of a fabric with these ports, for a scenario without another one; empty if there is none.
    points : sequence
        Points of a size distribution: bytes, and the cumulative share as it is written.
    assumed : Assumed, optional
        Parts of a memory in pools that the document does not specify.
    transfer_keys : dict
        Keys of all transfers of the scenario.
    simulated : object, optional
        Settings of switches that depend on the fabric (`ns3_switch.SimulatedSwitch`).
    """

    keys: dict[str, Any] = field(default_factory=dict)
    transfers: Sequence[Transfer] = ()
    numbers: Mapping[int, str] = field(default_factory=dict)
    remarks: Sequence[str] = ()
    notes: Sequence[Note] = ()
    memory: SharedMemory | None = None
    links: Sequence[LinkClass] = ()
    alone: dict[str, Any] = field(default_factory=dict)
    points: Sequence[tuple[int, str]] = ()
    assumed: Assumed | None = None
    transfer_keys: dict[str, Any] = field(default_factory=dict)
    simulated: SimulatedSwitch | None = None


def explicit(
    hosts: Sequence[str], switches: Sequence[str], links: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Returns the keys of a fabric that is described link by link."""
    named = {"hosts": list(hosts), "switches": list(switches), "links": [dict(link) for link in links]}
    return {"topology": {"explicit": named}}


def trunk(bps: int) -> dict[str, Any]:
    """Keys of a link of `bps` b/s; several parallel links if one cannot have this rate."""
    count = -(-bps // MOST_BPS)
    # A rate may have more digits than a link accepts once it is divided, so it is rounded to kb/s.
    each = bps if count == 1 else round(Fraction(bps, count * 1_000)) * 1_000
    return {"rate": plainest(each, "rate")} | ({"count": count} if count > 1 else {})


def size(number: int) -> str:
    """Formats bytes exactly in the form of scenarios, such as 1024 as "1 KiB"."""
    for unit in ("GiB", "MiB", "KiB"):
        if number and number % UNITS["size"][unit] == 0:
            return f"{number // UNITS['size'][unit]} {unit}"
    return f"{number} B"


def plainest(amount: int | Fraction, dimension: str) -> str:
    """Formats an amount in the largest unit that gives at least 1, if that needs few digits."""
    fitting = [unit for unit, size in UNITS[dimension].items() if size <= amount]
    unit = fitting[-1] if fitting else next(iter(UNITS[dimension]))
    return str(Quantity(Fraction(amount), dimension, unit))
