"""Expands collectives to sends and receives, along a ring or directly between all pairs of ranks.

Sizes of all-reduce, reduce-scatter and reduce are those of the full vector; of all-gather, the full output;
of broadcast, the message; of all-to-all, the total that each rank sends, including its own part; of gather
and scatter, the full vector at the root. A vector of S bytes over n ranks has chunks of S // n bytes; the
first S % n chunks have one more.

Source: rings as in Thakur, Rabenseifner, Gropp, "Optimization of Collective Communication Operations in
MPICH" (2005); names as in NCCL. Computation time of reductions is not included.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from penstock.errors import InputError
from penstock.library import suggestion

from .building import Builder, Op

Waits = Mapping[int, Sequence[Op]]
"""Operations that precede or end a collective, by rank."""
Ends = dict[int, list[Op]]
Expand = Callable[[Builder, Sequence[int], int, Waits], Ends]

ALGORITHMS = ("ring", "direct")


def chunks(size: int, count: int) -> list[int]:
    """Sizes of the chunks of a vector."""
    return [size // count + (one < size % count) for one in range(count)]


def expand(
    builder: Builder, kind: str, group: Sequence[int], size: int, after: Waits, algorithm: str
) -> Ends:
    """Adds a collective over a group of ranks.

    Parameters
    ----------
    builder : Builder
        The program.
    kind : str
        A key of `KINDS`, such as "all-reduce".
    group : sequence of int
        Ranks in the order of the ring; the first is the root of a broadcast, reduce, gather or scatter.
    size : int
        Size in bytes, as defined by the module.
    after : mapping
        Operations that precede the collective, by rank.
    algorithm : str
        "ring" or "direct". All-to-all, gather and scatter are always direct; a barrier uses dissemination.

    Returns
    -------
    dict
        Operations that end the collective, by rank. For a group of one rank, or 0 bytes, these are the
        operations in `after`, except for a barrier, which has no bytes.

    Raises
    ------
    InputError
        If the collective or the algorithm is unknown, or the program becomes too large.
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
    """Total number of messages of a collective, the same for ring and direct."""
    if kind == "barrier":
        return ranks * (ranks - 1).bit_length()
    if kind in ("broadcast", "reduce", "gather", "scatter"):
        return ranks - 1
    return ranks * (ranks - 1) * (2 if kind == "all-reduce" else 1)


def operations(kind: str, group: int, ranks: int) -> int:
    """Number of operations of a collective in groups of a given size, for `ranks` ranks in total."""
    return 0 if group < 2 else 2 * messages(kind, group) * ranks // group


def _ring_steps(
    builder: Builder, group: Sequence[int], sizes: Sequence[int], after: Waits, first: int
) -> Ends:
    """Steps 0 to n - 2 of a ring; in step s, member i sends chunk i + first - s to its successor.

    In step s + 1, a member forwards the chunk that it received in step s.
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
            # All receives are posted at once; the tag identifies the message.
            received[rank] = [builder.recv(rank, before, size, tag + step, after.get(rank, ()))]
        ready = received
    # A member has finished when its last chunk has arrived and its last send has been handed over.
    return {rank: [*ready[rank], sends[rank][-1]] for rank in group}


def _ring_reduce_scatter(builder: Builder, group: Sequence[int], size: int, after: Waits) -> Ends:
    return _ring_steps(builder, group, chunks(size, len(group)), after, 0)


def _ring_all_gather(builder: Builder, group: Sequence[int], size: int, after: Waits) -> Ends:
    return _ring_steps(builder, group, chunks(size, len(group)), after, 1)


def _ring_all_reduce(builder: Builder, group: Sequence[int], size: int, after: Waits) -> Ends:
    """Reduce-scatter followed by all-gather, which member i begins with the chunk it has reduced, i + 1."""
    return _ring_all_gather(builder, group, size, _ring_reduce_scatter(builder, group, size, after))


def _exchange(
    builder: Builder, group: Sequence[int], size_of: Callable[[int, int], int], after: Waits
) -> Ends:
    """Every member sends to every other one, beginning with its successor; `size_of` takes both members."""
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
    """Reduce-scatter in which chunk j of each member goes to member j."""
    return _direct_reduce_scatter(builder, group, size, after)


def _chain(builder: Builder, order: Sequence[int], size: int, after: Waits) -> Ends:
    """Sends a message from each member to its successor, which forwards it on arrival."""
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
    """Sends a message from the root to each member, or from each member to the root; `sizes` by member."""
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
    """Dissemination barrier: in step s, a member notifies member +2^s and waits for member -2^s."""
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
"""Functions of collectives by name, for ring and direct."""
