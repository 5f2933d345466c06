"""MSCCL algorithms in XML: the sends and receives of a collective by thread block.

A thread block sends to at most one rank and receives from at most one. Its steps run in order; a step may
wait for a step of another block of the same rank. The n-th send of a connection (sender, receiver, channel)
matches its n-th receive. Copies and reductions take no time.

Source: `msccl_interpreter` and `parseMSCCLAlgo` of microsoft/msccl.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from xml.parsers import expat

from penstock import _core
from penstock.errors import InputError
from penstock.interchange.piece import brief
from penstock.library import suggestion

from .building import Builder, Op
from .reading import Found, Options

_BYTES = 1 << 20
SENDS = ("s", "rcs", "rrs", "rrcs")
RECEIVES = ("r", "rcs", "rrc", "rrs", "rrcs")
LOCAL = ("cpy", "re", "nop")
TYPES = tuple(dict.fromkeys([*SENDS, *RECEIVES, *LOCAL]))
_MOST_RANKS = 1 << 14
_OWN = {"s": ("src",), "rrs": ("src",), "cpy": ("src", "dst"), "re": ("src", "dst"), "nop": ()}
"""Buffers that a step accesses at its own rank, where it is not only the destination."""
_BUFFERS = {"i": "i_chunks", "o": "o_chunks", "s": "s_chunks"}


@dataclass(frozen=True)
class Step:
    """A step: its type, its chunks, and the step of another block on which it depends."""

    line: int
    type: str
    chunks: int
    waits: tuple[int, int] | None


@dataclass
class Block:
    """A thread block: its peers (-1 for none), channel and steps."""

    line: int
    id: int
    send: int
    recv: int
    channel: int
    steps: list[Step] = field(default_factory=list)


@dataclass
class Algorithm:
    """Contents of a file: attributes of the algorithm, and the thread blocks of each rank."""

    file: str
    name: str
    collective: str
    ranks: int
    chunks: int
    blocks: list[dict[int, Block]]
    limits: tuple[int, int] | None = None
    """Minimum and maximum size in bytes for which the algorithm is intended."""


def read(files: Sequence[tuple[str, bytes]], options: Options) -> Found:
    """One algorithm."""
    if len(files) != 1:
        raise InputError(f"{files[1][0]}: a second algorithm; expected one file")
    file, data = files[0]
    algorithm = parse(file, data)
    steps = [step for rank in algorithm.blocks for block in rank.values() for step in block.steps]
    sends = sum(step.type in SENDS for step in steps)
    contents = [
        f"{algorithm.name}: {algorithm.collective} over {algorithm.ranks} ranks, {algorithm.chunks} chunks",
        f"{sum(map(len, algorithm.blocks))} thread blocks, {len(steps):,} steps, {sends:,} sends",
    ]
    size = options.bytes or _BYTES
    notes = [] if options.bytes else [f"{size:,} B; --bytes names another size"]
    if algorithm.limits and not algorithm.limits[0] <= size <= algorithm.limits[1]:
        notes.append(f"the algorithm is meant for {algorithm.limits[0]} to {algorithm.limits[1]} B")
    return Found("MSCCL algorithm", contents, [], notes, lambda: _Assembly(algorithm, size).program())


class _Parser:
    """Elements of a file, validated as they are parsed."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.algorithm: Algorithm | None = None
        self.rank: int | None = None
        self.block: Block | None = None
        self.rows: dict[str, int] = {}
        self.has_ranks = True
        self.parser = expat.ParserCreate()
        self.parser.StartElementHandler = self.begin
        self.parser.EndElementHandler = self.end
        self.parser.EntityDeclHandler = self.entity

    def parse(self, data: bytes) -> Algorithm:
        """The algorithm."""
        try:
            self.parser.Parse(data, True)
        except expat.ExpatError as error:
            raise InputError(
                f"{self.file}:{error.lineno}: this is no XML: {expat.ErrorString(error.code)}"
            ) from None
        if self.algorithm is None:
            raise InputError(f"{self.file}: has no element algo")
        if not self.has_ranks:
            self._count_ranks(self.algorithm)
        return self.algorithm

    def _count_ranks(self, algorithm: Algorithm) -> None:
        """Infers the number of ranks if the algorithm does not state it, as in older files."""
        count = max((rank + 1 for rank, blocks in enumerate(algorithm.blocks) if blocks), default=0)
        algorithm.ranks, algorithm.blocks = count, algorithm.blocks[:count]
        for block in (block for blocks in algorithm.blocks for block in blocks.values()):
            if max(block.send, block.recv) >= count:
                raise InputError(
                    f"{self.file}:{block.line}: send {block.send} and recv {block.recv}; the file has "
                    f"gpu 0 to {count - 1}"
                )
        if not count:
            raise InputError(f"{self.file}: has no thread blocks")

    def error(self, message: str) -> InputError:
        """Returns the error with file and line."""
        return InputError(f"{self.file}:{self.parser.CurrentLineNumber}: {message}")

    def entity(self, name: str, *_: object) -> None:
        """Rejects entities, since a few bytes could expand to a huge text."""
        raise self.error(f"declares the entity {brief(name)}; expected XML without entities")

    def number(
        self, table: dict[str, str], name: str, least: int, most: int, default: int | None = None
    ) -> int:
        """Returns a whole number from an attribute."""
        text = table.get(name, "" if default is None else str(default)).strip()
        digits = text.removeprefix("-")
        if not (digits.isascii() and digits.isdigit() and len(digits) < 16 and least <= int(text) <= most):
            given = f"is {brief(text)}" if name in table else "is missing"
            raise self.error(f"{name} {given}; expected a whole number from {least} to {most}")
        return int(text)

    def begin(self, tag: str, table: dict[str, str]) -> None:
        """Handles the start of an element."""
        if tag == "algo" and self.algorithm is None:
            self._algorithm(table)
        elif self.algorithm is None:
            raise self.error(f"the first element is {brief(tag)}; expected algo")
        elif tag == "gpu" and self.rank is None:
            self.rank = self.number(table, "id", 0, self.algorithm.ranks - 1)
            if self.algorithm.blocks[self.rank]:
                raise self.error(f"gpu {self.rank} is there twice")
            self.rows = {name: self.number(table, key, 0, 10**6, 0) for name, key in _BUFFERS.items()}
        elif tag == "tb" and self.rank is not None and self.block is None:
            last = self.algorithm.ranks - 1
            send, recv = (self.number(table, name, -1, last) for name in ("send", "recv"))
            self.block = Block(
                self.parser.CurrentLineNumber,
                self.number(table, "id", 0, 10**6),
                send,
                recv,
                self.number(table, "chan", 0, 10**6, 0),
            )
            if self.block.id in self.algorithm.blocks[self.rank]:
                raise self.error(f"thread block {self.block.id} of gpu {self.rank} is there twice")
            self.algorithm.blocks[self.rank][self.block.id] = self.block
        elif tag == "step" and self.block is not None:
            self.block.steps.append(self._step(table, self.block))
        else:
            raise self.error(f"{brief(tag)} is not expected here; expected algo > gpu > tb > step")

    def _algorithm(self, table: dict[str, str]) -> None:
        self.has_ranks = "ngpus" in table
        ranks = self.number(table, "ngpus", 1, _MOST_RANKS, _MOST_RANKS)
        chunks = self.number(table, "nchunksperloop", 1, 10**6)
        limits = None
        if "minBytes" in table or "maxBytes" in table:
            limits = tuple(
                self.number(table, name, 0, 2**48, more)
                for name, more in (("minBytes", 0), ("maxBytes", 2**48))
            )
        name, kind = table.get("name", "unnamed"), table.get("coll", "unknown")
        self.algorithm = Algorithm(
            self.file, brief(name), brief(kind), ranks, chunks, [{} for _ in range(ranks)]
        )
        if limits is not None:
            self.algorithm.limits = (limits[0], limits[1])

    def _step(self, table: dict[str, str], block: Block) -> Step:
        number = self.number(table, "s", 0, 10**6)
        if number != len(block.steps):
            raise self.error(f"step {number} of thread block {block.id}; expected step {len(block.steps)}")
        kind = table.get("type", "")
        if kind not in TYPES:
            raise self.error(f"type is {brief(kind) or 'missing'}; {suggestion(kind, TYPES)}")
        if (kind in SENDS and block.send < 0) or (kind in RECEIVES and block.recv < 0):
            raise self.error(
                f"type {kind} in thread block {block.id}, which has send {block.send} and recv {block.recv}"
            )
        chunks = self.number(table, "cnt", 0 if kind in LOCAL else 1, 10**6, 0 if kind in LOCAL else 1)
        for name in ("src", "dst"):
            buffer, offset = table.get(f"{name}buf", ""), self.number(table, f"{name}off", -1, 10**6, -1)
            if buffer not in ("", *_BUFFERS):
                raise self.error(f"{name}buf is {brief(buffer)}; expected i, o or s")
            declared = self.rows.get(buffer, 0)
            # If the algorithm has no output chunks, the output is the input (in place).
            if name in _OWN.get(kind, ("dst",)) and declared and offset + chunks > declared:
                raise self.error(
                    f"chunks {offset} to {offset + chunks - 1} of buffer {buffer}, which has {declared}"
                )
        waits = None
        if (other := self.number(table, "depid", -1, 10**6, -1)) >= 0:
            waits = (other, self.number(table, "deps", 0, 10**6))
        return Step(self.parser.CurrentLineNumber, kind, chunks, waits)

    def end(self, tag: str) -> None:
        """Handles the end of an element."""
        if tag == "tb":
            self.block = None
        elif tag == "gpu":
            self.rank = None


def parse(file: str, data: bytes) -> Algorithm:
    """Reads an algorithm.

    Raises
    ------
    InputError
        If the text is not an MSCCL algorithm; the message has the line.
    """
    return _Parser(file).parse(data)


class _Assembly:
    """Builds the program of an algorithm for a number of bytes."""

    def __init__(self, algorithm: Algorithm, size: int) -> None:
        if size < 1 or size % algorithm.chunks:
            nearest = max(algorithm.chunks, -(-size // algorithm.chunks) * algorithm.chunks)
            raise InputError(
                f"{algorithm.file}: {size:,} B are no multiple of {algorithm.chunks} chunks; expected "
                f"--bytes {nearest}"
            )
        self.algorithm, self.chunk = algorithm, size // algorithm.chunks
        self.builder = Builder(algorithm.ranks, algorithm.file)
        self.tags: dict[tuple[int, int], int] = {}
        """Operations by channel and by number of the message on its connection."""
        self.sent: dict[tuple[int, int, int], list[tuple[int, int]]] = {}
        self.received: dict[tuple[int, int, int], list[tuple[int, int]]] = {}
        """Line and chunks of each message, by connection."""
        self.owners: dict[tuple[str, int, int, int], int] = {}

    def program(self) -> _core.Program:
        """Returns the program.

        Raises
        ------
        InputError
            If the sends and receives of a connection do not match, or steps wait for each other in a cycle.
        """
        for rank, blocks in enumerate(self.algorithm.blocks):
            first: dict[tuple[int, int], Op] = {}
            last: dict[tuple[int, int], list[Op]] = {}
            for block in blocks.values():
                before: list[Op] = []
                for number, step in enumerate(block.steps):
                    entry, before = self._step(rank, block, step, before)
                    first[block.id, number], last[block.id, number] = entry, before
            for block in blocks.values():
                for number, step in enumerate(block.steps):
                    self._wait(rank, step, first[block.id, number], last)
        self._check_pairs()
        return self.builder.build()

    def _step(self, rank: int, block: Block, step: Step, before: list[Op]) -> tuple[Op, list[Op]]:
        """Adds a step after `before`; returns its first and last operations."""
        if step.type in LOCAL:
            only = self.builder.point(rank, before)
            return only, [only]
        made: list[Op] = []
        if step.type in RECEIVES:
            tag = self._tag("recv", (block.recv, rank, block.channel), step, block, self.received)
            made.append(self.builder.recv(rank, block.recv, step.chunks * self.chunk, tag, before))
        if step.type in SENDS:
            tag = self._tag("send", (rank, block.send, block.channel), step, block, self.sent)
            made.append(self.builder.send(rank, block.send, step.chunks * self.chunk, tag, made or before))
        return made[0], [made[-1]]

    def _tag(
        self,
        way: str,
        connection: tuple[int, int, int],
        step: Step,
        block: Block,
        listed: dict[tuple[int, int, int], list[tuple[int, int]]],
    ) -> int:
        owner = self.owners.setdefault((way, *connection), block.id)
        if owner != block.id:
            sender, receiver, channel = connection
            raise InputError(
                f"{self.algorithm.file}:{step.line}: thread blocks {owner} and {block.id} share the "
                "connection "
                f"{sender} to {receiver}, channel {channel}; expected one of them"
            )
        messages = listed.setdefault(connection, [])
        messages.append((step.line, step.chunks))
        key = (connection[2], len(messages))
        if key not in self.tags:
            self.tags[key] = self.builder.tags(1)
        return self.tags[key]

    def _wait(self, rank: int, step: Step, entry: Op, last: dict[tuple[int, int], list[Op]]) -> None:
        if step.waits is None:
            return
        if step.waits not in last:
            block, number = step.waits
            raise InputError(
                f"{self.algorithm.file}:{step.line}: waits for step {number} of thread block {block}; "
                f"gpu {rank} has "
                "no such step"
            )
        for end in last[step.waits]:
            self.builder.require(entry, end)

    def _check_pairs(self) -> None:
        for connection in sorted({*self.sent, *self.received}):
            sent, received = self.sent.get(connection, []), self.received.get(connection, [])
            sender, receiver, channel = connection
            which = f"connection {sender} to {receiver}, channel {channel}"
            for (line, chunks), (other, more) in zip(sent, received, strict=False):
                if chunks != more:
                    raise InputError(
                        f"{self.algorithm.file}:{line}: {which}: {chunks} chunks are sent and {more} "
                        f"received (line {other})"
                    )
            if len(sent) != len(received):
                longer = sent if len(sent) > len(received) else received
                line = longer[min(len(sent), len(received))][0]
                raise InputError(
                    f"{self.algorithm.file}:{line}: {which}: {len(sent)} sends and {len(received)} "
                    "receives; expected "
                    "as many"
                )
