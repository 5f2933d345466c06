"""Ranks that execute one list of steps: computations, and collectives of their groups."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from .building import Builder, Op
from .collectives import Ends, Waits, expand
from .parallel import Layout


class Streams:
    """The latest operations of each rank, on which the next operations depend.

    Parameters
    ----------
    builder : Builder
        The program under construction.
    layout : Layout
        Layout of its process groups.
    algorithm : str
        Expansion of collectives: "ring" or "direct".
    """

    def __init__(self, builder: Builder, layout: Layout, algorithm: str) -> None:
        self.builder, self.layout, self.algorithm = builder, layout, algorithm
        self.latest: Ends = {rank: [] for rank in range(layout.ranks)}

    def compute(self, ns: int | Callable[[int], int], ranks: Iterable[int] | None = None) -> None:
        """Adds a computation to some ranks, by default all; 0 ns adds nothing."""
        for rank in self.latest if ranks is None else ranks:
            time = ns if isinstance(ns, int) else ns(rank)
            if time > 0:
                self.latest[rank] = [self.builder.calc(rank, time, self.latest[rank])]

    def collective(self, kind: str, group: str, size: int) -> None:
        """Adds a collective in each group of a kind; the next operations wait for it."""
        self.latest |= self.aside(kind, group, size)

    def aside(
        self, kind: str, group: str, size: int, stage: int | None = None, after: Waits | None = None
    ) -> Ends:
        """Begins a collective in each group, or in those of a stage; the next operations do not wait for it.

        It begins after `after`, or by default after the latest operations of each rank.
        """
        groups = self.layout.groups(group) if stage is None else self.layout.groups_of(group, stage)
        before: Waits = self.latest if after is None else after
        ends: Ends = {}
        for ranks in groups:
            ends |= expand(self.builder, kind, ranks, size, before, self.algorithm)
        return ends

    def wait(self, ends: Ends) -> None:
        """Makes the next operations wait for these operations as well."""
        for rank, own in ends.items():
            self.latest[rank] = self.builder.join(rank, list(dict.fromkeys([*self.latest[rank], *own])))

    def message(
        self, sender: int, receiver: int, size: int, after: Iterable[Op], ready: Iterable[Op] = ()
    ) -> tuple[Op, Op]:
        """Adds a message; returns its send and its receive, which is posted after `ready`."""
        tag = self.builder.tags(1)
        self.builder.reserve(2, "a message")
        return (
            self.builder.send(sender, receiver, size, tag, after),
            self.builder.recv(receiver, sender, size, tag, ready),
        )
