"""Runs a program of ranks on a network without contention: what is ready starts, in order of time.

A message of b bytes takes b / rate at the egress of its rank, one after the other, and arrives `alpha_ns`
later. A computation takes its time on its resource. Host costs are 0.
"""

from __future__ import annotations

from collections import defaultdict, deque
from heapq import heappop, heappush

from penstock import _core


class Clock:
    """The time at which each operation ends, in ns."""

    def __init__(self, program: _core.Program, alpha_ns: float = 0.0, bytes_per_ns: float = 1.0) -> None:
        self.alpha, self.rate = alpha_ns, bytes_per_ns
        self.ranks = [program.rank(rank) for rank in range(program.ranks)]
        self.waits = [[0] * len(operations) for operations, _ in self.ranks]
        self.after: list[dict[tuple[int, bool], list[int]]] = [defaultdict(list) for _ in self.ranks]
        for rank, (_, dependencies) in enumerate(self.ranks):
            for after, before, on_start in dependencies:
                self.waits[rank][after] += 1
                self.after[rank][before, on_start].append(after)
        self.ends: dict[tuple[int, int], float] = {}
        self.free: dict[tuple[int, str, int], float] = defaultdict(float)
        self.arrived: dict[tuple[int, int, int], deque[float]] = defaultdict(deque)
        self.posted: dict[tuple[int, int, int], deque[tuple[int, float]]] = defaultdict(deque)
        self.events: list[tuple[float, int, int, int]] = []
        for rank, waits in enumerate(self.waits):
            for operation, count in enumerate(waits):
                if count == 0:
                    heappush(self.events, (0.0, 0, rank, operation))
        while self.events:
            now, is_end, rank, operation = heappop(self.events)
            (self._end if is_end else self._start)(now, rank, operation)
        self.left = [
            (rank, operation)
            for rank, (operations, _) in enumerate(self.ranks)
            for operation in range(len(operations))
            if (rank, operation) not in self.ends
        ]

    @property
    def total_ns(self) -> float:
        """When the last operation ends."""
        return max(self.ends.values(), default=0.0)

    def rank_ns(self, rank: int) -> float:
        """When the last operation of a rank ends."""
        return max(end for (own, _), end in self.ends.items() if own == rank)

    def _release(self, now: float, rank: int, operation: int, *, on_start: bool) -> None:
        for following in self.after[rank][operation, on_start]:
            self.waits[rank][following] -= 1
            if self.waits[rank][following] == 0:
                heappush(self.events, (now, 0, rank, following))

    def _start(self, now: float, rank: int, operation: int) -> None:
        kind, peer, amount, tag, cpu, _ = self.ranks[rank][0][operation]
        self._release(now, rank, operation, on_start=True)
        if kind == "calc":
            self._busy(now, (rank, "cpu", cpu), amount / 1_000, rank, operation)
        elif kind == "send":
            end = self._busy(now, (rank, "nic", 0), amount / self.rate, rank, operation)
            key = (peer, rank, tag)
            if self.posted[key]:
                self._receive(self.posted[key].popleft(), end + self.alpha, peer)
            else:
                self.arrived[key].append(end + self.alpha)
        elif self.arrived[key := (rank, peer, tag)]:
            self._receive((operation, now), self.arrived[key].popleft(), rank)
        else:
            self.posted[key].append((operation, now))

    def _busy(
        self, now: float, resource: tuple[int, str, int], lasts: float, rank: int, operation: int
    ) -> float:
        end = self.free[resource] = max(now, self.free[resource]) + lasts
        heappush(self.events, (end, 1, rank, operation))
        return end

    def _receive(self, posted: tuple[int, float], arrives: float, rank: int) -> None:
        heappush(self.events, (max(posted[1], arrives), 1, rank, posted[0]))

    def _end(self, now: float, rank: int, operation: int) -> None:
        self.ends[rank, operation] = now
        self._release(now, rank, operation, on_start=False)
