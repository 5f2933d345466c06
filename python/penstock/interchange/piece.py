"""What a reader of a format takes and gives: a document, and the piece of a scenario that it is."""

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
"""The fastest link of a scenario."""
LATEST_PS = 9_000_000 * PS_PER_S
"""The latest start of a transfer: a little less than 2^63 ps."""
_DECIMAL = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?", re.ASCII)
_UNFIT = re.compile(r"[\s*\"'\[\]{},]|\.\.|[\x00-\x1f\x7f]")
_LONGEST_NAME = 200
HEAD_CHARACTERS = 1 << 20
"""Characters of a document that its format is recognised by."""
_PER_SECOND = re.compile(r"([kMGT]?)bps$")

_BRIEF = 80


def brief(value: object) -> str:
    """A foreign text as a message can hold it: its beginning, in one line."""
    text = str(value)
    shown = text if len(text) <= _BRIEF else f"{text[:_BRIEF]}..."
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in shown)


@lru_cache(maxsize=32)
def _beginnings(texts: tuple[str, ...]) -> re.Pattern[str]:
    """The beginnings of lines, in one pass over the text."""
    return re.compile(rf"^[ \t]*(?:{'|'.join(map(re.escape, texts))})", re.MULTILINE)


Place = int | str
"""A line of a document, counted from 1; or where something stands in what has no lines."""


@dataclass(frozen=True)
class Document:
    """A file to import.

    Attributes
    ----------
    file : str
        Its name, for messages.
    text : str
        What it holds.
    rate, length : str, optional
        Of links of which it says none.
    time_unit : str, optional
        Of times that it has without a unit: "us" or "ps".
    interface : str, optional
        The port to read, where it describes several.
    cell, buffer : str, optional
        Sizes of a cell of a switch's memory and of the memory that ports share, where it has counts of cells
        or shares of the memory.
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
    """The record of what was read; a reader gets a new one."""

    @cached_property
    def _newlines(self) -> list[int]:
        """Offsets of all line feeds."""
        found, at = [], self.text.find("\n")
        while at >= 0:
            found.append(at)
            at = self.text.find("\n", at + 1)
        return found

    def head(self) -> Document:
        """The first `HEAD_CHARACTERS`, whole lines only; the document itself if it is not longer."""
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
        """Returns true if a line begins with one of these texts, behind blanks."""
        return _beginnings(beginnings).search(self.text) is not None

    def lines(self) -> Iterator[tuple[int, str]]:
        """The lines that say something, numbered from 1; those that begin with # do not."""
        for number, line in enumerate(self.text.splitlines(), 1):
            if (words := line.strip()) and not words.startswith("#"):
                self.ledger.lines_read = max(self.ledger.lines_read, number)
                yield number, words

    def every_line(self) -> list[str]:
        """All lines, blank ones and comments too."""
        found = self.text.splitlines()
        self.ledger.lines_read = len(found)
        return found

    def put_back(self, line: int) -> None:
        """Counts a line, and all behind it, as not read."""
        self.ledger.lines_read = line - 1

    def fresh(self) -> Document:
        """The document, of which nothing is read."""
        return replace(self, ledger=Ledger())

    def unread_lines(self) -> list[tuple[int, str]]:
        """The lines behind the last one that `lines` handed out."""
        read = self.ledger.lines_read
        return [one for one in self.fresh().lines() if one[0] > read > 0]

    def error(self, line: Place, message: str) -> InputError:
        """What is wrong in a line."""
        return InputError(f"{self.file}:{line}: {message}")

    def whole(self, line: Place, what: str, text: str, least: int = 0, most: int = 2**63 - 1) -> int:
        """A whole number.

        Raises
        ------
        InputError
            If it is something else, or beyond its limits.
        """
        if not (len(text) < 20 and text.isascii() and text.isdigit() and least <= int(text) <= most):
            limits = f"from {least} to {most}" if most < 2**32 else f"of at least {least}"
            raise self.error(line, f"{what} is {brief(text)}; expected a whole number {limits}")
        return int(text)

    def decimal(self, line: Place, what: str, text: str) -> Fraction:
        """A number of at least 0, exactly as it is written.

        Raises
        ------
        InputError
            If it is something else.
        """
        if len(text) > _LONGEST_NAME or _DECIMAL.fullmatch(text.strip()) is None or Fraction(text) < 0:
            raise self.error(line, f"{what} is {brief(text)}; expected a number of at least 0")
        return Fraction(text)

    def instant(self, line: Place, what: str, text: str, unit_ps: int) -> Fraction:
        """A time in ps, from a number of units.

        Raises
        ------
        InputError
            If it is something else, or beyond what a scenario can have.
        """
        found = self.decimal(line, what, text) * unit_ps
        if found > LATEST_PS:
            raise self.error(line, f"{what} is {brief(text)}; expected at most {LATEST_PS // PS_PER_S} s")
        return found

    def quantity(self, line: Place, what: str, text: str, dimension: str, example: str) -> str:
        """A text with a unit, as scenarios have it.

        Raises
        ------
        InputError
            If it is something else, or no whole number of the smallest unit.
        """
        found = Quantity.read(_PER_SECOND.sub(r"\1b/s", text)) if len(text) < _LONGEST_NAME else None
        if found is None or found.dimension != dimension:
            raise self.error(line, f'{what} is {brief(text)}; expected a {dimension}, such as "{example}"')
        if found.amount.denominator != 1 or found.amount < 0:
            smallest = next(iter(UNITS[dimension]))
            raise self.error(line, f"{what} is {text}, which is no whole number of {smallest}")
        return plainest(found.amount, found.dimension)

    def given_bytes(self, option: str) -> int | None:
        """The size that the command line has for a cell or the buffer; ``None`` without one.

        Raises
        ------
        InputError
            If it is no size.
        """
        text: str | None = getattr(self, option)
        found = Quantity.read(text) if text else None
        if text and (found is None or found.dimension != "size" or found.amount <= 0):
            raise InputError(f'--{option} is {brief(text)}; expected a size, such as "208 B"')
        return None if found is None else int(found.amount)

    def name(self, line: Place, text: str) -> str:
        """A name that a host or switch can have.

        Raises
        ------
        InputError
            If a scenario cannot have it.
        """
        if not text or text == "all" or _UNFIT.search(text) or len(text.encode()) > _LONGEST_NAME:
            expected = 'letters without spaces, "..", *, quotes, brackets, commas or "all"'
            raise self.error(
                line, f'the name "{brief(text)}" cannot be that of a host or switch; expected {expected}'
            )
        return text


class Transfer(NamedTuple):
    """A line of traffic.

    Attributes
    ----------
    line : int
        Where it stands.
    start_ps : Fraction
        When it begins.
    sender, receiver : int or str
        Hosts, by name or by number.
    bytes : int or None
        How much it carries; ``None``: it never ends.
    priority : int or None
        Its priority, 0 to 7; ``None`` if the format has none.
    note : str
        What the line says beside that, such as "port 100"; it stands in a comment.
    after : tuple of int
        The lines of those that it waits for; then `start_ps` has no meaning.
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
    """What was read, and where it stood; a comment of the scenario has it."""

    place: Place
    text: str


@dataclass(frozen=True)
class SharedMemory:
    """A memory that ports share, of which only the fabric tells the sum.

    Attributes
    ----------
    shared_bytes : int, optional
        The part that is free for all: minima of queues and headroom come on top. ``None``: the scenario says
        all.
    headroom_bytes : int, optional
        What each port and lossless priority needs of the headroom that they share. ``None``: that is said.
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
        The ingress pool of lossless groups without a profile; ``None``: there is no ingress pool.
    exponent : int, optional
        Of two, for their dynamic threshold. ``None``: 0, that is, as much as is free.
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
        Their names.
    """

    rate: str | None
    length: str | None
    ports: tuple[str, ...] = ()

    def __str__(self) -> str:
        return " and ".join(one for one in (self.rate, self.length) if one) or "an unknown rate"


def link_classes(link: Mapping[str, str]) -> list[LinkClass]:
    """The class of links of which a document says ``rate`` or ``length``; empty if it says neither."""
    return [LinkClass(link.get("rate"), link.get("length"))] if link else []


@dataclass(frozen=True)
class Piece:
    """What a document says of a scenario.

    Attributes
    ----------
    keys : dict
        Keys of a scenario, nested as in the file.
    transfers : sequence of Transfer
        Traffic, in any order.
    numbers : mapping
        The host of each number, where the format numbers its nodes.
    remarks : sequence of str
        What Penstock has no words for, and was left out.
    notes : sequence of Note
        What was read, with its lines.
    memory : SharedMemory, optional
        Of a switch, where its size depends on the fabric.
    links : sequence of LinkClass
        Rates and lengths of the ports that the document describes; the class with most ports first.
    alone : dict
        The keys of a fabric with these ports, for a scenario that has no other; empty if there is none.
    points : sequence
        Of a distribution of sizes: bytes, and the share up to them as it is written.
    assumed : Assumed, optional
        Parts of a memory in pools that the document leaves open.
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
    """The keys of a fabric that is described link by link."""
    named = {"hosts": list(hosts), "switches": list(switches), "links": [dict(link) for link in links]}
    return {"topology": {"explicit": named}}


def trunk(bps: int) -> dict[str, Any]:
    """The keys of a link of so many b/s: several parallel links where one cannot be as fast."""
    count = -(-bps // MOST_BPS)
    # A part of a rate may have more digits than a link can have: whole kb/s.
    each = bps if count == 1 else round(Fraction(bps, count * 1_000)) * 1_000
    return {"rate": plainest(each, "rate")} | ({"count": count} if count > 1 else {})


def size(number: int) -> str:
    """Bytes as a scenario has them, exactly: `1024` as "1 KiB"."""
    for unit in ("GiB", "MiB", "KiB"):
        if number and number % UNITS["size"][unit] == 0:
            return f"{number // UNITS['size'][unit]} {unit}"
    return f"{number} B"


def plainest(amount: int | Fraction, dimension: str) -> str:
    """An amount of the smallest unit, in the largest unit of which it is at least one, if few digits do."""
    fitting = [unit for unit, size in UNITS[dimension].items() if size <= amount]
    unit = fitting[-1] if fitting else next(iter(UNITS[dimension]))
    return str(Quantity(Fraction(amount), dimension, unit))
