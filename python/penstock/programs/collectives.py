"""Collectives as sends and receives: by ring, or directly from each rank to each other.

Sizes: all-reduce, reduce-scatter and reduce count the full vector; all-gather counts its full output;
broadcast the message; all-to-all what each rank sends in total, its own part included; gather and scatter the
full vector at the root. Chunks of a vector of S bytes over n ranks have S // n bytes, the first S % n of them
one more.

Source: rings as in Thakur, Rabenseifner, Gropp, "Optimization of Collective Communication Operations in
MPICH" (2005); names as in NCCL. The time of a reduction is not counted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from penstock.errors import InputError
from penstock.library import suggestion

from .building import Builder, Op

Waits = Mapping[int, Sequence[Op]]
"""By rank, what comes before a collective there, or what ends it."""
Ends = dict[int, list[Op]]
Expand = Callable[[Builder, Sequence[int], int, Waits], Ends]

ALGORITHMS = ("ring", "direct")


def chunks(size: int, count: int) -> list[int]:
    """Sizes of the chunks of a vector."""
    return [size // count + (one < size % count) for one in range(count)]


def expand(
    builder: Builder, kind: str, group: Sequence[int], size: int, after: Waits, algorithm: str
) -> Ends:
    """Adds a collective over a group.

    Parameters
    ----------
    builder : Builder
        The program.
    kind : str
        A key of `KINDS`, such as "all-reduce".
    group : sequence of int
        Ranks in the order of the ring; the first is the root of a broadcast, reduce, gather or scatter.
    size : int
        Bytes, as the module says.
    after : mapping
        By rank, operations that come before.
    algorithm : str
        "ring" or "direct". All-to-all, gather and scatter are direct, and a barrier has its own.

    Returns
    -------
    dict
        By rank, the operations that end it. Of a group of one rank, or of 0 bytes, what came before; a
        barrier has no bytes.

    Raises
    ------
    InputError
        If there is no such collective or algorithm, or the program becomes too large.
    """
    if kind not in KINDS:
        raise InputError(f"{builder.source}: collective {kind}; {suggestion(kind, KINDS)}")
    if algorithm not in ALGORITHMS:
        raise InputError(f'{builder.source}: algorithm {algorithm}; expected "ring" or "direct"')
    ends = {rank: list(after.get(rank, ())) for rank in group}
    if len(group) < 2 or (size == 0 and kind != "barrier"):
        return ends
    builder.reserve(operations(kind, len(group), len(group)), f"{kind} over {len(group)} ranks")
    ring, direct = KINDS[kind]
    return (ring if algorithm == "ring" else direct)(builder, group, size, after)


def messages(kind: str, ranks: int) -> int:
    """Messages of a collective of all ranks together, which ring and direct exchange share."""
    if kind == "barrier":
        return ranks * (ranks - 1).bit_length()
    if kind in ("broadcast", "reduce", "gather", "scatter"):
        return ranks - 1
    return ranks * (ranks - 1) * (2 if kind == "all-reduce" else 1)


def operations(kind: str, group: int, ranks: int) -> int:
    """Operations of a collective in each group of so many ranks, of `ranks` in all."""
    return 0 if group < 2 else 2 * messages(kind, group) * ranks // group


def _ring_steps(
    builder: Builder, group: Sequence[int], sizes: Sequence[int], after: Waits, first: int
) -> Ends:
    """Steps 0 to n - 2 of a ring: in step s, member i sends chunk i + first - s to its successor.

    A member forwards in step s + 1 what it received in step s.
    """
    count = len(group)
    tag = builder.tags(count - 1)
    ready: Ends = {rank: list(after.get(rank, ())) for rank in group}
    sends: Ends = {rank: [] for rank in group}
    for step in range(count - 1):
        received: Ends = {}
        for place, rank in enumerate(group):
            following, before = group[(place + 1) % count], group[place - 1]
            size = sizes[(place + first - step) % count]
            sends[rank].append(builder.send(rank, following, size, tag + step, ready[rank]))
            size = sizes[(place - 1 + first - step) % count]
            # Posted at once: what it is received for is decided by the tag.
            received[rank] = [builder.recv(rank, before, size, tag + step, after.get(rank, ()))]
        ready = received
    # A member has finished when its last chunk has arrived and its last send was handed over.
    return {rank: [*ready[rank], sends[rank][-1]] for rank in group}


def _ring_reduce_scatter(builder: Builder, group: Sequence[int], size: int, after: Waits) -> Ends:
    return _ring_steps(builder, group, chunks(size, len(group)), after, 0)


def _ring_all_gather(builder: Builder, group: Sequence[int], size: int, after: Waits) -> Ends:
    return _ring_steps(builder, group, chunks(size, len(group)), after, 1)


def _ring_all_reduce(builder: Builder, group: Sequence[int], size: int, after: Waits) -> Ends:
    """Reduce-scatter, then all-gather, which member i begins with chunk i + 1: the one it has reduced."""
    return _ring_all_gather(builder, group, size, _ring_reduce_scatter(builder, group, size, after))


def _exchange(
    builder: Builder, group: Sequence[int], size_of: Callable[[int, int], int], after: Waits
) -> Ends:
    """Each member sends to each other, beginning with its successor; `size_of` has sender and receiver."""
    count = len(group)
    tag = builder.tags(1)
    ends: Ends = {}
    for place, rank in enumerate(group):
        before, own = after.get(rank, ()), []
        for step in range(1, count):
            to, sender = (place + step) % count, (place - step) % count
            own.append(builder.send(rank, group[to], size_of(place, to), tag, before))
            own.append(builder.recv(rank, group[sender], size_of(sender, place), tag, before))
        ends[rank] = builder.join(rank, own)
    return ends


def _direct_reduce_scatter(builder: Builder, group: Sequence[int], size: int, after: Waits) -> Ends:
    sizes = chunks(size, len(group))
    return _exchange(builder, group, lambda _, to: sizes[to], after)


def _direct_all_gather(builder: Builder, group: Sequence[int], size: int, after: Waits) -> Ends:
    sizes = chunks(size, len(group))
    return _exchange(builder, group, lambda sender, _: sizes[sender], after)


def _direct_all_reduce(builder: Builder, group: Sequence[int], size: int, after: Waits) -> Ends:
    return _direct_all_gather(builder, group, size, _direct_reduce_scatter(builder, group, size, after))


def _all_to_all(builder: Builder, group: Sequence[int], size: int, after: Waits) -> Ends:
    """Chunk j of each member goes to member j."""
    return _direct_reduce_scatter(builder, group, size, after)


def _chain(builder: Builder, order: Sequence[int], size: int, after: Waits) -> Ends:
    """A message from each member to the next, which forwards it once it has arrived."""
    tag = builder.tags(1)
    ends: Ends = {}
    for place, rank in enumerate(order):
        ready, own = list(after.get(rank, ())), []
        if place > 0:
            own = ready = [builder.recv(rank, order[place - 1], size, tag, ready)]
        if place + 1 < len(order):
            own = [*own, builder.send(rank, order[place + 1], size, tag, ready)]
        ends[rank] = own
    return ends


def _broadcast_ring(builder: Builder, group: Sequence[int], size: int, after: Waits) -> Ends:
    return _chain(builder, group, size, after)


def _reduce_ring(builder: Builder, group: Sequence[int], size: int, after: Waits) -> Ends:
    return _chain(builder, [*group[1:], group[0]], size, after)


def _fan(builder: Builder, group: Sequence[int], sizes: Sequence[int], after: Waits, outward: bool) -> Ends:
    """A message from the root to each other member, or from each to the root; `sizes` are by member."""
    tag, root = builder.tags(1), group[0]
    ends: Ends = {root: []}
    for rank, size in zip(group[1:], sizes[1:], strict=True):
        sender, receiver = (root, rank) if outward else (rank, root)
        sent = builder.send(sender, receiver, size, tag, after.get(sender, ()))
        got = builder.recv(receiver, sender, size, tag, after.get(receiver, ()))
        ends[root].append(sent if outward else got)
        ends[rank] = [got if outward else sent]
    ends[root] = builder.join(root, ends[root])
    return ends


def _broadcast(builder: Builder, group: Sequence[int], size: int, after: Waits) -> Ends:
    return _fan(builder, group, [size] * len(group), after, outward=True)


def _reduce(builder: Builder, group: Sequence[int], size: int, after: Waits) -> Ends:
    return _fan(builder, group, [size] * len(group), after, outward=False)


def _scatter(builder: Builder, group: Sequence[int], size: int, after: Waits) -> Ends:
    return _fan(builder, group, chunks(size, len(group)), after, outward=True)


def _gather(builder: Builder, group: Sequence[int], size: int, after: Waits) -> Ends:
    return _fan(builder, group, chunks(size, len(group)), after, outward=False)


def _barrier(builder: Builder, group: Sequence[int], _size: int, after: Waits) -> Ends:
    """Dissemination: in step s a member notifies the one 2^s further on, and waits for the one 2^s before."""
    count = len(group)
    ends: Ends = {rank: list(after.get(rank, ())) for rank in group}
    for step in range((count - 1).bit_length()):
        tag = builder.tags(1)
        following: Ends = {}
        for place, rank in enumerate(group):
            to, sender = group[(place + (1 << step)) % count], group[(place - (1 << step)) % count]
            sent = builder.send(rank, to, 0, tag, ends[rank])
            following[rank] = [sent, builder.recv(rank, sender, 0, tag, ends[rank])]
        ends = following
    return ends


KINDS: Mapping[str, tuple[Expand, Expand]] = {
    "all-reduce": (_ring_all_reduce, _direct_all_reduce),
    "all-gather": (_ring_all_gather, _direct_all_gather),
    "reduce-scatter": (_ring_reduce_scatter, _direct_reduce_scatter),
    "all-to-all": (_all_to_all, _all_to_all),
    "broadcast": (_broadcast_ring, _broadcast),
    "reduce": (_reduce_ring, _reduce),
    "gather": (_gather, _gather),
    "scatter": (_scatter, _scatter),
    "barrier": (_barrier, _barrier),
}
"""Collectives by name: by ring, and direct."""
