"""Pause forensics: why a port was paused or waited for credits, and why a flow was slow.

A wait for credits counts as a pause. The engine traces every pause to its root queue and records it in
tables.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from penstock import arrow
from penstock.errors import InputError
from penstock.measurements import of_result, rows
from penstock.units import instant, rate

from . import bypasses, connections, copies, limiters, losses

if TYPE_CHECKING:
    from penstock.measurements import Measurements

WHY = {
    "oversubscribed": "was oversubscribed",
    "slow_receiver": "was blocked by a slow receiver",
    "link_down": "was down",
    "crossbar": "was starved by the crossbar",
    "round_trip": "had fewer credits than one round trip needs",
    "unknown": "filled up",
}
"""Descriptions of the causes of a congestion tree. They follow the name of the root."""

SHARES = "Percentages are shares of the frames in the queue between XOFF and XON."
"""Note printed below shares."""

_CULPRITS_NAMED = 3
_MEMBERS_NAMED = 5
_LESS = 0.99
"""Share of the offered load below which a flow counts as slow."""


@dataclass(frozen=True)
class Edge:
    """Pauses of one port and priority caused by one queue, all with the same root.

    Attributes
    ----------
    depth : int
        Distance from the root: 1 if the root queue sent the pauses, 2 if a queue paused by it did, and so on.
    queue : str
        The queue that was full, as PORT/CLASS. Empty if a host sent the pauses or credits were in flight.
    sent_by, port : str
        The port that sent the pauses or credits, and the port that was paused.
    priority, pauses : int
        Priority that was paused, and number of pauses.
    paused_ns, first_ns, last_ns : float
        Total paused time; start of the first pause and end of the last.
    """

    depth: int
    queue: str
    sent_by: str
    port: str
    priority: int
    pauses: int
    paused_ns: float
    first_ns: float
    last_ns: float


@dataclass(frozen=True)
class Part:
    """Relation of a flow to a congestion tree.

    Attributes
    ----------
    flow : str
        Name of the flow.
    part : str
        ``culprit``: frames of the flow were queued at the root while it kept ports paused; ``upstream``: the
        path of the flow includes the root, but no frame of it was queued there; ``victim``: the path does not
        include the root.
    share : float
        Share of the flow in the frames queued at the root while the root kept ports paused.
    paused_ns : float
        Longest time for which the tree paused a port on the path of the flow that held frames of it.
    paused_at : str
        Port with that time.
    """

    flow: str
    part: str
    share: float
    paused_ns: float
    paused_at: str

    @property
    def culprit(self) -> bool:
        """True if frames of the flow were queued at the root."""
        return self.part == "culprit"

    @property
    def passes(self) -> bool:
        """True if the path of the flow passes the root."""
        return self.part != "victim"


@dataclass
class Tree:
    """A congestion tree: all pauses with one root.

    Attributes
    ----------
    number : int
        Rank by paused time, from 1.
    root : str
        Queue in which the congestion began, as PORT/CLASS.
    why : str
        ``oversubscribed``, ``slow_receiver``, ``link_down``, ``crossbar``, ``round_trip`` or ``unknown``.
    edges : list of Edge
        From the root outwards.
    parts : list of Part
        Culprits first, then upstream flows, then victims.
    """

    number: int
    root: str
    why: str
    edges: list[Edge] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)

    @property
    def culprits(self) -> list[Part]:
        """Flows with frames queued at the root, largest share first."""
        return [part for part in self.parts if part.culprit]

    @property
    def victims(self) -> list[Part]:
        """Paused flows whose path does not include the root, longest paused time first."""
        return sorted((p for p in self.parts if not p.passes), key=lambda part: -part.paused_ns)

    @property
    def paused_ns(self) -> float:
        """Total paused time of all edges."""
        return sum(edge.paused_ns for edge in self.edges)

    def parent(self, edge: Edge) -> Edge | None:
        """Returns the edge that paused the port of this edge's queue; ``None`` if that queue is the root."""
        port = port_of(edge.queue)
        above = [other for other in self.edges if other.depth == edge.depth - 1 and other.port == port]
        return max(above, key=lambda other: other.paused_ns, default=None)


@dataclass(frozen=True)
class Deadlock:
    """Queues that wait for each other in a cycle.

    Attributes
    ----------
    number : int
        From 1.
    closed_ns, ended_ns : float or None
        Time at which the cycle closed, and at which it was found to be resolved; ``None`` if it was not.
    queues : list of str
        Queues as PORT/CLASS. Each waits for the next one, the last one for the first.
    frames : list of int
        Number of frames in each queue.
    """

    number: int
    closed_ns: float
    ended_ns: float | None
    queues: tuple[str, ...]
    frames: tuple[int, ...]


def port_of(queue: str) -> str:
    """Returns the port in the name of a queue."""
    return queue.rpartition("/")[0]


_OF_EDGE, _OF_PART = ([one.name for one in fields(kind)] for kind in (Edge, Part))


@of_result
def trees(result: Measurements, most: int | None = None) -> list[Tree]:
    """Returns the congestion trees of a result, at most `most` of them, longest paused time first."""
    if "congestion" not in result.table_names:
        return []
    tables = [result.table("congestion"), result.table("congestion_flows")]
    if most is not None:  # the trees are numbered in this order
        tables = [table.filter(arrow.call("less_equal", table["tree"], most)) for table in tables]
    found: dict[int, Tree] = {}
    for row in rows(tables[0]):
        tree = found.setdefault(row["tree"], Tree(row["tree"], row["root"], row["why"]))
        tree.edges.append(Edge(**{name: row[name] for name in _OF_EDGE}))
    for row in rows(tables[1]):
        found[row["tree"]].parts.append(Part(**{name: row[name] for name in _OF_PART}))
    return list(found.values())


@of_result
def number_of_trees(result: Measurements) -> int:
    """Returns the number of congestion trees."""
    return int(pc.count_distinct(result.table("congestion")["tree"]).as_py())


@of_result
def deadlocks(result: Measurements) -> list[Deadlock]:
    """Returns the deadlocks of a result, in order of detection."""
    if "deadlocks" not in result.table_names:
        return []
    by_number: dict[int, list[dict[str, Any]]] = {}
    for row in result.rows("deadlocks"):
        by_number.setdefault(row["deadlock"], []).append(row)
    return [
        Deadlock(
            number,
            own[0]["closed_ns"],
            own[0]["ended_ns"],
            tuple(f"{row['port']}/{row['class']}" for row in own),
            tuple(row["frames"] for row in own),
        )
        for number, own in by_number.items()
    ]


@of_result
def why(result: Measurements, name: str) -> list[str]:
    """Explains in sentences why a port was paused or a flow was slow.

    Parameters
    ----------
    result : Result
        Result of a run that recorded pauses.
    name : str
        A port (``"h2.0->sw"``), a host or switch (all its ports), a flow, or the common name of flows from
        several senders.

    Raises
    ------
    InputError
        If the result has no port, node or flow of this name.
    """
    ports = [row["port"] for row in result.rows("ports") if name in (row["port"], row["node"])]
    flows = copies.for_each(result, result.rows("flows"))
    own = [row for row in flows if row["flow"] == name]
    group = [row for row in flows if row["flow"].startswith(f"{name}[")]
    if not ports and not own and not group:
        from penstock.library import suggestion

        known = [row["port"] for row in result.rows("ports")] + [row["flow"] for row in flows]
        raise InputError(f"no port, node or flow {name!r} in this result; {suggestion(name, known)}")
    report = [*_ports(result, name, ports)] if ports else []
    for flow in own:
        report += _flow(result, flow)
    if group and not own:
        report += _group(name, group)
    report += [*_circles(result, ports), *_storms(result, ports)]
    return [*report, SHARES] if any("of the frames" in line for line in report) else report


def _ports(result: Measurements, name: str, ports: list[str]) -> Iterable[str]:
    found = trees(result)
    run_ns = _measured_ns(result)
    edges = [(tree, edge) for tree in found for edge in tree.edges if edge.port in ports]
    waiting = _waiting(result)
    if not edges:
        never = "never waited for credits" if waiting.intersection(ports) else "was never paused"
        yield f"{name} {never}." if "pauses" in result.table_names else "No pauses were recorded."
    for port in ports:
        own = [(tree, edge) for tree, edge in edges if edge.port == port]
        if not own:
            continue
        total = sum(edge.paused_ns for _, edge in own)
        times = sum(edge.pauses for _, edge in own)
        stopped = "waited for credits" if port in waiting else "was paused"
        yield f"{port} {stopped} {_times(times)}, {_share(total, run_ns)} of the time."
        for tree, edge in sorted(own, key=lambda one: -one[1].paused_ns):
            yield f"  {_edge(tree, edge, run_ns, 'stopped' if port in waiting else 'paused')}"
    yield from losses.at_ports(result, ports)
    # A port to a host can be the root because the host is a slow receiver.
    towards = {row["port"] for row in result.rows("ports") if row["peer"] == name}
    for tree in found:
        if port_of(tree.root) in {*ports, *towards}:
            yield from at_root(result, tree)


def at_root(result: Measurements, tree: Tree) -> Iterable[str]:
    """Describes the cause at the root of a tree, and the victims."""
    reached = len({edge.port for edge in tree.edges})
    stopped = "waiting for credits" if _waiting(result) else "paused"
    yield f"{tree.root} {WHY[tree.why]}{_by(tree)}; this left {_ports_were(reached)} {stopped}."
    yield from (f"  {line}" for line in _victims(tree, _measured_ns(result)))


def _flow(result: Measurements, flow: dict[str, Any]) -> Iterable[str]:
    run_ns = _measured_ns(result)
    own = [(tree, part) for tree in trees(result) for part in tree.parts if part.flow == flow["flow"]]
    ports = dict(losses.paths_of(result)).get(flow["flow"], [])
    lost = list(losses.of_flow(result, flow["flow"], flow["frames_sent"]))
    paused = any(part.paused_ns for _, part in own)
    yield f"{flow['flow']} ({flow['source']} to {flow['destination']}) got {_got(flow)}."
    connection = connections.of_flow(result, flow["flow"])
    if connection is not None:
        yield from (f"  {line}" for line in connections.sentences(result, connection))
    if len(ports) > 2 and connections.chooses_paths(result):
        yield f"  {connections.PATHS_CHOSEN}"
    yield from (f"  {line}" for line in lost)
    yield from (f"  {line}" for line in _stuck(result, flow["class"], ports))
    yield from (f"  {line}" for line in limiters.of_flow(result, flow))
    if not paused:
        held = "wait for credits" if _waiting(result) else "pause"
        yield f"  No {held} delayed it."
    yield from (f"  {line}" for line in bypasses.passed(result, flow, ports, lambda ns: _share(ns, run_ns)))
    wanted = flow["offered_bps"] if connection is None else connections.most_bps(result, flow["flow"])
    if not paused and not lost and _part(flow, wanted) < _LESS:
        yield from (f"  {line}" for line in _waited(result, flow, ports))
    bypassed = bypasses.of_flow(result, flow) if paused else {}
    for tree, part in sorted(own, key=lambda one: -one[1].paused_ns):
        if part.paused_ns:
            passes = "on its path" if part.passes else "not on its path"
            waits = bypassed.get((part.paused_at, tree.number))
            held = bypasses.held(part.paused_at, part.paused_ns, waits, lambda ns: _share(ns, run_ns))
            root = f"{port_of(tree.root)} ({passes}) {WHY[tree.why]}{_by(tree)}"
            yield f"  It was held back {held} because {root}."
    for tree, part in own:
        if part.culprit:
            victims = ", ".join(victim.flow for victim in tree.victims[:_CULPRITS_NAMED])
            more = len(tree.victims) - _CULPRITS_NAMED
            suffer = f", which delayed {victims}{f' and {more} more' if more > 0 else ''}" if victims else ""
            yield f"  It had {_percent(part.share)} of the frames that filled {tree.root}{suffer}."


def _group(name: str, flows: list[dict[str, Any]]) -> Iterable[str]:
    """The flows with one name, smallest share of the offered load first."""
    total = {key: sum(flow[key] or 0.0 for flow in flows) for key in ("offered_bps", "throughput_bps")}
    number = "one sender" if len(flows) == 1 else f"{len(flows)} senders"
    yield f"{name} has {number} and got {_got(total)}. Flows with the smallest shares:"
    ordered = sorted(
        flows, key=lambda flow: (_part(flow, flow["offered_bps"]), flow["throughput_bps"] or 0.0)
    )
    for flow in ordered[:_MEMBERS_NAMED]:
        lost = f", {flow['frames_dropped']:,} frames lost" if flow["frames_dropped"] else ""
        yield f"  {flow['flow']} ({flow['source']} to {flow['destination']}) got {_got(flow)}{lost}."
    if len(ordered) > _MEMBERS_NAMED:
        yield f"  And {len(ordered) - _MEMBERS_NAMED} more."
    yield f"  To see the causes, name one flow: penstock why {ordered[0]['flow']}"


def _stuck(result: Measurements, priority: int, ports: list[str]) -> Iterable[str]:
    """Deadlocks on the path of a flow."""
    classes: dict[str, set[int]] = {}
    for row in result.rows("queues"):
        classes.setdefault(row["port"], set()).add(row["class"])
    for deadlock in deadlocks(result):
        for queue in deadlock.queues:
            port, number = port_of(queue), int(queue.rpartition("/")[2])
            # If stations have fewer queues than priorities, the class differs from the priority.
            if port in ports and (number == priority or priority not in classes.get(port, ())):
                yield (
                    f"It was stuck in deadlock {deadlock.number}: its queue {queue} is one of "
                    f"{len(deadlock.queues)} queues that wait for each other, {_when(result, deadlock)}."
                )
                break


def _when(result: Measurements, deadlock: Deadlock) -> str:
    since = f"from {instant(deadlock.closed_ns)}"
    if deadlock.ended_ns is not None:
        return f"{since} until {instant(deadlock.ended_ns)}"
    return (
        f"{since} on; the run ended there" if result.run.get("ended_by") else f"{since} to the end of the run"
    )


def _waited(result: Measurements, flow: dict[str, Any], ports: list[str]) -> Iterable[str]:
    """Likely limit of a flow that was not paused and lost no frames: the busiest port on its path."""
    on_path = [row for row in result.rows("ports") if row["port"] in ports]
    if on_path:
        busiest = max(on_path, key=lambda row: row["utilisation"] or 0.0)
        others = sum(busiest["port"] in path for _, path in losses.paths_of(result)) - 1
        shared = (
            f", shared with {'one other flow' if others == 1 else f'{others} other flows'}" if others else ""
        )
        used = _percent(busiest["utilisation"] or 0.0)
        yield f"The busiest port on its path, {busiest['port']}, had a utilisation of {used}{shared}."
    made = flow["frames_sent"] + flow.get("frames_copied", 0)
    if (left := made - flow["frames_delivered"]) > 0:
        were = "One frame was" if left == 1 else f"{left:,} frames were"
        yield f"{were} queued or in flight when the run ended."


def _waiting(result: Measurements) -> set[str]:
    """Ports with credit-based flow control."""
    return {row["port"] for row in result.rows("credits")} if "credits" in result.table_names else set()


def _edge(tree: Tree, edge: Edge, run_ns: float, did: str) -> str:
    """Describes an edge and the chain of queues from it to the root."""
    much = f"{_times(edge.pauses)} ({_share(edge.paused_ns, run_ns)})"
    if tree.why == "round_trip" and edge.depth == 1:
        return f"{much} because it {WHY[tree.why]}."
    if not edge.queue:
        return f"{much} because {edge.sent_by.partition('.')[0]} reads too slowly{_by(tree)}."
    chain = []
    at: Edge | None = edge
    while at is not None and at.depth > 1:
        chain.append(port_of(at.queue))
        at = tree.parent(at)
    if chain and chain[-1] == port_of(tree.root):
        chain.pop()  # the root itself: the slow receiver that paused it is already named
    root = f"{port_of(tree.root)} {WHY[tree.why]}{_by(tree)}"
    through = "".join(f", which {did} {port}" for port in reversed(chain))
    return f"{much} because {root}{through}."


def _circles(result: Measurements, ports: list[str]) -> Iterable[str]:
    for deadlock in deadlocks(result):
        if any(port_of(queue) in ports for queue in deadlock.queues):
            yield describe(deadlock)


def describe(deadlock: Deadlock) -> str:
    """Describes a deadlock in one sentence."""
    circle = " waits for ".join((*deadlock.queues, deadlock.queues[0]))
    over = "" if deadlock.ended_ns is None else f", resolved at {instant(deadlock.ended_ns)}"
    return f"Deadlock {deadlock.number} closed at {instant(deadlock.closed_ns)}{over}: {circle}."


def _storms(result: Measurements, ports: list[str]) -> Iterable[str]:
    if "storms" not in result.table_names:
        return
    done = {"report": "reported only", "drop": "{frames} frames dropped", "forward": "pauses ignored"}
    for row in result.rows("storms"):
        if row["port"] in ports:
            over = "did not end" if row["over_ns"] is None else f"ended at {instant(row['over_ns'])}"
            what = done[row["action"]].format(frames=row["frames_dropped"])
            began = f"A pause storm at {row['port']}/{row['class']} began at {instant(row['began_ns'])}"
            yield f"{began}, was detected at {instant(row['detected_ns'])} and {over}: {what}."


def _by(tree: Tree) -> str:
    culprits = [part for part in tree.culprits if part.share > 0]
    if not culprits:
        return ""
    named = [f"{part.flow} ({_percent(part.share)} of the frames)" for part in culprits[:_CULPRITS_NAMED]]
    more = len(culprits) - len(named)
    if more:
        named.append(f"{more} more")
    listed = " and ".join(filter(None, [", ".join(named[:-1]), named[-1]]))
    return f" by {listed}" if tree.why == "oversubscribed" else f", on the path of {listed}"


def _victims(tree: Tree, run_ns: float) -> Iterable[str]:
    for part in tree.victims[:_CULPRITS_NAMED]:
        held = f"held back at {part.paused_at} for {_share(part.paused_ns, run_ns)} of the time"
        yield f"Victim: {part.flow}, {held}."
    if len(tree.victims) > _CULPRITS_NAMED:
        yield f"And {len(tree.victims) - _CULPRITS_NAMED} more victims."


def _measured_ns(result: Measurements) -> float:
    return max(float(result.run["simulated_s"]) - float(result.run.get("warmup_s", 0.0)), 0.0) * 1e9


def _share(part: float, whole: float) -> str:
    return _percent(part / whole if whole else 0.0)


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %" if share < 0.095 else f"{100 * share:.0f} %"


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number:,} times"


def _ports_were(number: int) -> str:
    return "one port was" if number == 1 else f"{number} ports were"


def _got(flow: dict[str, Any]) -> str:
    number = flow.get("receivers", 1)
    each = f" at each of {number} hosts, on average," if number > 1 else ""
    return f"{rate(flow['throughput_bps'] or 0.0)}{each} of {rate(flow['offered_bps'] or 0.0)} offered"


def _part(flow: dict[str, Any], wanted: float | None) -> float:
    """Returns the throughput of a flow as a fraction of its demand."""
    return (flow["throughput_bps"] or 0.0) / wanted if wanted else 1.0
