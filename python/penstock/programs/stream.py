"""Ranks that work through one list of steps: computations, and collectives of their groups."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from .building import Builder, Op
from .collectives import Ends, Waits, expand
from .parallel import Layout


class Streams:
    """The latest operations of each rank, which what follows waits for.

    Parameters
    ----------
    builder : Builder
        The program.
    layout : Layout
        Its groups.
    algorithm : str
        Expansion of collectives: "ring" or "direct".
    """

    def __init__(self, builder: Builder, layout: Layout, algorithm: str) -> None:
        self.builder, self.layout, self.algorithm = builder, layout, algorithm
        self.latest: Ends = {rank: [] for rank in range(layout.ranks)}

    def compute(self, ns: int | Callable[[int], int], ranks: Iterable[int] | None = None) -> None:
        """Lets ranks compute, by default all; a computation of 0 ns is none."""
        for rank in self.latest if ranks is None else ranks:
            time = ns if isinstance(ns, int) else ns(rank)
            if time > 0:
                self.latest[rank] = [self.builder.calc(rank, time, self.latest[rank])]

    def collective(self, kind: str, group: str, size: int) -> None:
        """Lets each group of a kind perform a collective; what follows waits for it."""
        self.latest |= self.aside(kind, group, size)

    def aside(
        self, kind: str, group: str, size: int, stage: int | None = None, after: Waits | None = None
    ) -> Ends:
        """Begins a collective in each group, of one stage only if it is given; what follows does not wait.

        It begins after `after`, by default after the latest operations of each rank.
        """
        groups = self.layout.groups(group) if stage is None else self.layout.groups_of(group, stage)
        before: Waits = self.latest if after is None else after
        ends: Ends = {}
        for ranks in groups:
            ends |= expand(self.builder, kind, ranks, size, before, self.algorithm)
        return ends

    def wait(self, ends: Ends) -> None:
        """Lets what follows wait for these operations too."""
        for rank, own in ends.items():
            self.latest[rank] = self.builder.join(rank, list(dict.fromkeys([*self.latest[rank], *own])))

    def message(
        self, sender: int, receiver: int, size: int, after: Iterable[Op], ready: Iterable[Op] = ()
    ) -> tuple[Op, Op]:
        """Adds a message; returns its send and its receipt, which is posted after `ready`."""
        tag = self.builder.tags(1)
        self.builder.reserve(2, "a message")
        return (
            self.builder.send(sender, receiver, size, tag, after),
            self.builder.recv(receiver, sender, size, tag, ready),
        )
