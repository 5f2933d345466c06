"""Builds programs of ranks."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from penstock import _core
from penstock.errors import InputError

PS_PER_NS = 1_000
JOIN = 2
"""Resource of 0 ns computations that only join others, so that they never wait for a running computation."""
MOST_OPERATIONS = 10_000_000
"""Maximum number of operations of a program; building that many takes about 4 GB."""
MOST_RANKS = 1 << 20
"""Maximum number of ranks of a program."""
LONGEST_NS = (2**63 - 1) // PS_PER_NS
"""Maximum duration of a computation in ns."""

Operation = tuple[str, int, int, int, int, int]
"""Kind, peer, bytes or ps, tag, cpu, nic."""


class Op(NamedTuple):
    """An operation of a program under construction.

    Attributes
    ----------
    rank, number : int
        The rank, and the number of the operation within the rank.
    """

    rank: int
    number: int


@dataclass
class Rank:
    """Operations and dependencies of a rank that have been added."""

    operations: list[Operation] = field(default_factory=list)
    dependencies: list[tuple[int, int, bool]] = field(default_factory=list)


@contextlib.contextmanager
def without_collection() -> Iterator[None]:
    """Disables the cyclic garbage collector while a program is built, since it creates no reference cycles.

    With the collector enabled, building 10^6 operations takes more than twice as long.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class Builder:
    """A program under construction.

    Parameters
    ----------
    ranks : int
        Number of ranks.
    source : str
        Name of the file or generator, for messages.

    Raises
    ------
    InputError
        If the number of ranks is not from 1 to 2^20.
    """

    def __init__(self, ranks: int, source: str) -> None:
        if not 1 <= ranks <= MOST_RANKS:
            raise InputError(f"{source}: {ranks} ranks; expected 1 to {MOST_RANKS}")
        self.source = source
        self.ranks = [Rank() for _ in range(ranks)]
        self._count = 0
        self._tag = 0

    def calc(self, rank: int, ns: int, after: Iterable[Op] = (), *, cpu: int = 0) -> Op:
        """Adds a computation of `ns` nanoseconds."""
        if not 0 <= ns <= LONGEST_NS:
            raise InputError(f"{self.source}: a computation of {ns} ns; expected 0 to {LONGEST_NS}")
        return self._add(rank, ("calc", 0, ns * PS_PER_NS, 0, cpu, 0), after)

    def send(self, rank: int, to: int, size: int, tag: int, after: Iterable[Op] = ()) -> Op:
        """Adds a message of `size` bytes to another rank."""
        return self._add(rank, ("send", to, size, tag, 0, 0), after)

    def recv(self, rank: int, sender: int, size: int, tag: int, after: Iterable[Op] = ()) -> Op:
        """Adds the receive of a message of `size` bytes from another rank."""
        return self._add(rank, ("recv", sender, size, tag, 0, 0), after)

    def require(self, after: Op, before: Op, *, on_start: bool = False) -> None:
        """Makes `after` depend on the end or the start of `before`; both must belong to the same rank."""
        self.ranks[after.rank].dependencies.append((after.number, before.number, on_start))

    def point(self, rank: int, after: Iterable[Op] = ()) -> Op:
        """Adds a computation of 0 ns that uses no shared resource."""
        return self.calc(rank, 0, after, cpu=JOIN)

    def join(self, rank: int, operations: Sequence[Op]) -> list[Op]:
        """Returns at most two operations that follow all of these; adds a computation of 0 ns if needed."""
        return list(operations) if len(operations) <= 2 else [self.point(rank, operations)]

    def tags(self, count: int) -> int:
        """Reserves consecutive unused tags, and returns the first one.

        Raises
        ------
        InputError
            If more than 2^32 - 2 tags would be used.
        """
        first, self._tag = self._tag, self._tag + count
        if self._tag >= 2**32 - 1:
            raise InputError(f"{self.source}: needs more than 2^32 - 2 tags; expected a smaller program")
        return first

    def reserve(self, operations: int, what: str) -> None:
        """Rejects additions that would exceed the maximum size of a program, before they are built.

        Raises
        ------
        InputError
            If the program would have more operations than `MOST_OPERATIONS`.
        """
        if self._count + operations > MOST_OPERATIONS:
            beside = f" beside {self._count:,}" if self._count else ""
            raise InputError(
                f"{self.source}: {what} needs about {operations:,} operations{beside}; at most "
                f"{MOST_OPERATIONS:,} are accepted. Choose fewer ranks or iterations"
            )

    def build(self) -> _core.Program:
        """Returns the validated program; the builder is empty afterwards.

        Raises
        ------
        InputError
            If a peer is not a rank, or operations wait for each other in a cycle.
        """
        ranks, self.ranks = self.ranks, []
        try:
            return _core.Program([(rank.operations, rank.dependencies) for rank in ranks])
        except ValueError as error:
            raise InputError(f"{self.source}: {error}") from error

    def _add(self, rank: int, operation: Operation, after: Iterable[Op]) -> Op:
        own = self.ranks[rank]
        number = len(own.operations)
        self._count += 1
        if self._count > MOST_OPERATIONS:
            raise InputError(f"{self.source}: more than {MOST_OPERATIONS:,} operations; expected fewer")
        own.operations.append(operation)
        for before in after:
            own.dependencies.append((number, before.number, False))
        return Op(rank, number)
