"""Converts Chakra execution traces to programs.

Data dependencies are always used. Control dependencies are optional, because traces converted from profiles
contain control dependencies on missing nodes, on the node itself, and in cycles. A node of type COMM_COLL
moves bytes if it has `comm_size`. Without it, the node is the framework's call and takes its recorded
duration. As in ASTRA-sim, `comm_size` is one rank's part for an all-gather, and the whole vector for all
other collectives.

Members of a process group match their collectives in the order in which each member issues them. Ready nodes
are issued by ascending id.

Not modelled: the roofline of ASTRA-sim (`num_ops`, `tensor_size`), its limit of one send or collective per
rank at a time, and logical topology dimensions (`involved_dim` must include all of them).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush

from penstock import _core
from penstock.errors import InputError

from . import chakra
from .building import Builder, Op
from .chakra import Node, Trace
from .collectives import expand
from .reading import Found, Options, Repairs

_NUMBERED = re.compile(r"(?P<prefix>.*?)\.?(?P<rank>\d+)\.(?:et|json)$")
CPU, GPU = 0, 1
"""Resources of a rank, which runs one CPU operation and one GPU kernel at a time."""


def read(files: Sequence[tuple[str, bytes]], options: Options) -> Found:
    """The traces of all ranks: one file each, or one file for all ranks with `options.ranks`."""
    traces = [trace for file, data in files for trace in chakra.read(file, data)]
    traces = _in_order(traces)
    repairs = Repairs()
    ranks = [_Rank(number, trace, _edges(trace, options, repairs)) for number, trace in enumerate(traces)]
    kinds: dict[str, int] = {}
    for node in (node for trace in traces for node in trace.nodes):
        kinds[_kind(node)] = kinds.get(_kind(node), 0) + 1
    counted = ", ".join(f"{count:,} {kind}" for kind, count in sorted(kinds.items())) or "no nodes"
    versions = sorted({trace.version or "none" for trace in traces})
    contents = [
        f"{len(traces)} traces, version {', '.join(versions)}: {counted}",
        f"{sum(len(edges) for rank in ranks for edges in rank.before.values()):,} dependencies in force",
    ]
    found = Found("Chakra execution trace", contents, [], [], lambda: _core.Program([]))
    notes = found.notes
    notes.append(
        "control dependencies are followed"
        if options.ctrl_deps
        else "data dependencies alone (--ctrl-deps: both)"
    )
    if options.chain_streams:
        notes.append("GPU kernels of one stream run in the order of the file")
    _check_order(ranks)
    found.repairs += repairs.lines()
    found.program = lambda: _Assembly(ranks, options, found).program()
    return found


def _in_order(traces: Sequence[Trace]) -> list[Trace]:
    """Traces by rank, which precedes .et in the name of the file.

    Raises
    ------
    InputError
        If a rank is missing or appears twice.
    """
    if len(traces) == 1:
        return list(traces)
    by_rank: dict[int, Trace] = {}
    for trace in traces:
        match = _NUMBERED.match(trace.file.rpartition("/")[2])
        if match is None:
            raise InputError(
                f"{trace.file}: expected a name with the rank, such as trace.0.et, beside other traces"
            )
        if (rank := int(match["rank"])) in by_rank:
            raise InputError(f"{trace.file}: rank {rank} is that of {by_rank[rank].file} too")
        by_rank[rank] = trace
    missing = [rank for rank in range(len(traces)) if rank not in by_rank]
    if missing:
        listed = ", ".join(map(str, missing[:5])) + (" and more" if len(missing) > 5 else "")
        raise InputError(
            f"{traces[0].file}: {len(traces)} traces, and none of rank {listed}; expected ranks 0 to "
            f"{len(traces) - 1}"
        )
    return [by_rank[rank] for rank in range(len(traces))]


@dataclass
class _Rank:
    """A trace, with the nodes that each of its nodes waits for."""

    number: int
    trace: Trace
    before: dict[int, list[int]]
    order: list[Node] = field(default_factory=list)
    """Nodes in the order of issue if all of them take no time."""


def _kind(node: Node) -> str:
    if node.type == "COMM_COLL":
        return (
            f"COMM_COLL {_collective(node)}" if "comm_size" in node.attributes else "COMM_COLL without size"
        )
    return node.type


def _collective(node: Node) -> str:
    kind = node.attributes.get("comm_type", -1)
    is_known = isinstance(kind, int) and 0 <= kind < len(chakra.COLLECTIVES)
    return chakra.COLLECTIVES[int(kind)] if is_known and isinstance(kind, int) else "unknown"


def _edges(trace: Trace, options: Options, repairs: Repairs) -> dict[int, list[int]]:
    """Dependencies of each node, without unknown nodes, duplicates and the node itself."""
    known = {node.id for node in trace.nodes}
    found: dict[int, list[int]] = {}
    for node in trace.nodes:
        own: dict[int, None] = {}
        sources = [("data", node.data)] + ([("control", node.control)] if options.ctrl_deps else [])
        for name, parents in sources:
            for parent in parents:
                place = f"{trace.file}, node {node.id}"
                if parent == node.id:
                    repairs.count(f"{name} dependencies of nodes on themselves: dropped", place)
                elif parent not in known:
                    repairs.count(f"{name} dependencies on nodes that are not in the file: dropped", place)
                else:
                    own[parent] = None
        found[node.id] = list(own)
    if options.chain_streams:
        last: dict[object, int] = {}
        for node in trace.nodes:
            stream = node.attributes.get("tid")
            if stream is None or node.attributes.get("is_cpu_op", True):
                continue
            if not isinstance(stream, list) and stream in last and last[stream] not in found[node.id]:
                found[node.id].append(last[stream])
            last[str(stream) if isinstance(stream, list) else stream] = node.id
    return found


def _check_order(ranks: Sequence[_Rank]) -> None:
    """Puts the nodes of each rank in the order of issue.

    Raises
    ------
    InputError
        If nodes wait for each other in a cycle; the message has the three smallest ids.
    """
    for rank in ranks:
        nodes = {node.id: node for node in rank.trace.nodes}
        waits = {own: len(before) for own, before in rank.before.items()}
        after: dict[int, list[int]] = {}
        for own, before in rank.before.items():
            for parent in before:
                after.setdefault(parent, []).append(own)
        ready = [own for own, count in waits.items() if count == 0]
        heapify(ready)
        while ready:
            own = heappop(ready)
            rank.order.append(nodes[own])
            del waits[own]
            for following in after.get(own, ()):
                waits[following] -= 1
                if waits[following] == 0:
                    heappush(ready, following)
        if waits:
            blocked = sorted(waits)
            named = "; ".join(
                f"{own} for {', '.join(str(one) for one in sorted(rank.before[own]) if one in waits)[:60]}"
                for own in blocked[:3]
            )
            raise InputError(
                f"{rank.trace.file}: {len(blocked):,} of {len(nodes):,} nodes can never run, because "
                "dependencies "
                f"are cyclic; the smallest wait: {named}. Leave out --ctrl-deps or --chain-streams"
            )


@dataclass
class _Placed:
    """Operations of a node: the first one, and those that end it."""

    entry: Op
    ends: list[Op]


@dataclass
class _Call:
    """One rank's call of a collective."""

    rank: int
    node: Node
    placed: _Placed


class _Assembly:
    """Builds the program of all ranks."""

    def __init__(self, ranks: Sequence[_Rank], options: Options, found: Found) -> None:
        self.options, self.found = options, found
        self.repairs = Repairs()
        self.ranks = list(ranks)
        if options.ranks is not None and options.ranks != len(ranks):
            self.ranks = self._copies(options.ranks)
        self.builder = Builder(len(self.ranks), ranks[0].trace.file)
        self.calls: dict[tuple[str, tuple[int, ...]], list[list[_Call]]] = {}
        """Calls of each member, by name and ranks of the group."""
        self.memberships: dict[tuple[int, str], tuple[list[list[_Call]], int]] = {}
        tags = {
            int(tag)
            for rank in self.ranks
            for node in rank.trace.nodes
            if (tag := _tag(rank, node)) is not None
        }
        first = self.builder.tags(len(tags))
        self.tags = {tag: first + place for place, tag in enumerate(sorted(tags))}

    def _copies(self, count: int) -> list[_Rank]:
        (only, *others) = self.ranks
        if others:
            raise InputError(
                f"{only.trace.file}: --ranks {count} beside {len(self.ranks)} traces; expected one "
                "trace that all "
                "ranks run, or no --ranks"
            )
        if any(node.type in ("COMM_SEND", "COMM_RECV") for node in only.trace.nodes):
            raise InputError(f"{only.trace.file}: has sends or receives; they cannot be those of all ranks")
        self.found.notes.append(f"{count} ranks run the same trace")
        return [_Rank(number, only.trace, only.before, only.order) for number in range(count)]

    def program(self) -> _core.Program:
        """Returns the program.

        Raises
        ------
        InputError
            If collectives do not match, or peers are missing.
        """
        total = sum(len(rank.order) for rank in self.ranks)
        self.builder.reserve(total, f"{total:,} nodes")
        placed = [{node.id: self._place(rank, node) for node in rank.order} for rank in self.ranks]
        for (name, group), members in self.calls.items():
            self._expand(name, group, members)
        for rank, own in zip(self.ranks, placed, strict=True):
            for node, before in rank.before.items():
                for parent in before:
                    for end in own[parent].ends:
                        self.builder.require(own[node].entry, end)
        self.found.repairs += self.repairs.lines()
        return self.builder.build()

    def _place(self, rank: _Rank, node: Node) -> _Placed:
        """First operation of a node; the rest of a collective is added once all ranks have been processed."""
        place = f"{rank.trace.file}, node {node.id}"
        if node.type in ("COMM_SEND", "COMM_RECV"):
            return self._message(rank, node, place)
        if node.type == "COMM_COLL" and "comm_size" in node.attributes:
            dimensions = node.attributes.get("involved_dim", [])
            if isinstance(dimensions, list) and not all(dimensions):
                raise InputError(
                    f"{place}: involved_dim leaves out dimensions of a logical topology, which a trace "
                    "does not "
                    "describe; expected a process group (pg_name)"
                )
            placed = _Placed(self.builder.point(rank.number), [])
            name = str(node.attributes.get("pg_name", ""))
            members, own = self._membership(rank, name, place)
            members[own].append(_Call(rank.number, node, placed))
            return placed
        if node.type == "COMM_COLL":
            self.repairs.count("collectives without comm_size: computations of their duration", place)
        ns = node.micros * 1_000
        if node.type == "COMP" and ns == 0:
            self.repairs.count("computations without a duration: 1 ns, as in ASTRA-sim", place)
            ns = 1
        if node.type in ("INVALID", "METADATA"):
            ns = 0
        cpu = CPU if node.attributes.get("is_cpu_op", False) else GPU
        only = self.builder.calc(rank.number, ns, cpu=cpu)
        return _Placed(only, [only])

    def _message(self, rank: _Rank, node: Node, place: str) -> _Placed:
        is_send = node.type == "COMM_SEND"
        peer = self._number(node, "comm_dst" if is_send else "comm_src", place, len(self.ranks) - 1)
        size = self._number(node, "comm_size", place, 2**63 - 1)
        tag = _tag(rank, node)
        if tag == -1:
            raise InputError(
                f"{place}: comm_tag is -1; expected one, because any tag would match collectives too"
            )
        make = self.builder.send if is_send else self.builder.recv
        only = make(rank.number, peer, size, self.tags[tag or 0])
        return _Placed(only, [only])

    def _number(self, node: Node, name: str, place: str, most: int) -> int:
        value = node.attributes.get(name)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
            shown = "missing" if value is None else str(value)[:40]
            raise InputError(f"{place}: {name} is {shown}; expected a whole number from 0 to {most}")
        return value

    def _membership(self, rank: _Rank, name: str, place: str) -> tuple[list[list[_Call]], int]:
        """Calls of each member of a process group, and the index of this rank in it."""
        if (key := (rank.number, name)) not in self.memberships:
            group = self._group(rank, name, place)
            members = self.calls.setdefault((name, group), [[] for _ in group])
            self.memberships[key] = members, group.index(rank.number)
        return self.memberships[key]

    def _group(self, rank: _Rank, name: str, place: str) -> tuple[int, ...]:
        """Ranks of a process group; all ranks if the trace does not list the group, or the list is empty."""
        every = range(len(self.ranks))
        listed = rank.trace.groups.get(name) or self.options.groups.get(name)
        if not listed:
            if name and name not in rank.trace.groups:
                self.repairs.count("process groups that no node lists, by rank: all ranks", place)
            return tuple(every)
        if self.options.ranks is not None and sorted(listed) == list(range(len(listed))) != list(every):
            self.repairs.count("process groups of all ranks of the profile, by rank: all of --ranks", place)
            return tuple(every)
        outside = [one for one in listed if one not in every]
        if outside or rank.number not in listed or len(set(listed)) < len(listed):
            raise InputError(
                f"{place}: process group {name} has ranks {_shown(listed)}; expected rank "
                f"{rank.number} and others "
                f"of {len(every)} ranks. Name the traces of all ranks, or use --ranks {max(listed) + 1}"
            )
        return tuple(listed)

    def _expand(self, name: str, group: tuple[int, ...], members: list[list[_Call]]) -> None:
        """Adds the collectives of a group, matching the n-th call of each member."""
        counts = [len(calls) for calls in members]
        if min(counts) < max(counts):
            few, many = group[counts.index(min(counts))], group[counts.index(max(counts))]
            raise InputError(
                f"{self.builder.source}: process group {name or 'of all ranks'}: rank {many} has "
                f"{max(counts)} "
                f"collectives and rank {few} has {min(counts)}; expected equal numbers"
            )
        for calls in zip(*members, strict=True):
            first = calls[0]
            kind, size = self._meaning(first)
            for call in calls[1:]:
                if self._meaning(call) != (kind, size):
                    other, more = self._meaning(call)
                    raise InputError(
                        f"{self.builder.source}: process group {name or 'of all ranks'}: rank "
                        f"{first.rank} node "
                        f"{first.node.id} is {kind} of {size} B, and rank {call.rank} node "
                        f"{call.node.id} is {other} "
                        f"of {more} B; expected the same"
                    )
            total = size * len(group) if kind == "all-gather" else size
            entries = {call.rank: [call.placed.entry] for call in calls}
            ends = expand(self.builder, kind, group, total, entries, self.options.algorithm)
            for call in calls:
                call.placed.ends += ends[call.rank]

    def _meaning(self, call: _Call) -> tuple[str, int]:
        place = f"{self.ranks[call.rank].trace.file}, node {call.node.id}"
        kind = _collective(call.node)
        if kind == "unknown":
            given = call.node.attributes.get("comm_type", "missing")
            raise InputError(
                f"{place}: comm_type is {str(given)[:40]}; expected 0 to {len(chakra.COLLECTIVES) - 1}"
            )
        return kind, self._number(call.node, "comm_size", place, 2**53)


def _tag(rank: _Rank, node: Node) -> int | None:
    """Tag of a send or receive; `None` for other nodes."""
    if node.type not in ("COMM_SEND", "COMM_RECV"):
        return None
    tag = node.attributes.get("comm_tag", 0)
    if isinstance(tag, bool) or not isinstance(tag, int):
        raise InputError(
            f"{rank.trace.file}, node {node.id}: comm_tag is {str(tag)[:40]}; expected a whole number"
        )
    return tag


def _shown(ranks: Sequence[int]) -> str:
    return ", ".join(map(str, ranks[:8])) + (" and more" if len(ranks) > 8 else "")
