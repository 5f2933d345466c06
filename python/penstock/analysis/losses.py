"""Lost frames: number, place and cause (table ``drops``), described in sentences."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.measurements import of_result

if TYPE_CHECKING:
    from penstock.measurements import Measurements

AT_PORTS = {
    "queue_limit": "at {port}, where their queue was full",
    "port_limit": "at {port}, whose queues had reached the limit of the port",
    "class_limit": "at {port}, because their class had reached its limit in {node}",
    "total_limit": "at {port}, because the memory of {node} was full",
    "nic_full": "at {port}, because the NIC of {node} was full",
    "headroom": "at {port}, because the headroom of {node} was used up",
    "receive_buffer": "in {node}, whose receive buffer was full",
    "watchdog": "at {port}, by the PFC watchdog during a pause storm",
    "link_down": "at {port}, whose link was down",
    "restart": "at {port}, because {node} restarted",
}
"""Texts for frames lost in a queue, before a queue, or after complete reception, by cause."""

ON_LINKS = {
    "link_down": "on the link from {peer} to {node}, which was down",
    "restart": "on the link from {peer} to {node}, because a switch at its end restarted",
    "bit_error": "on the link from {peer} to {node}, because of bit errors",
    "link_loss": "on the link from {peer} to {node}, by random loss of the link",
}
"""Texts for frames lost on a link. The table names the receiving port."""

UNCLEAR = {
    "link_down": "at {port}, queued for or arriving from a link that was down",
    "restart": "at {port}, queued or arriving, because a switch restarted",
}
"""Texts for cases that a changed path leaves ambiguous."""

_NAMED = 5
_FLOWS_NAMED = 3


@dataclass(frozen=True)
class Loss:
    """Frames of one flow that were lost in one place for one cause.

    Attributes
    ----------
    flow : str
        Name of the flow.
    ports : tuple of str
        The port where the frames were queued, or both ends of the link they were on.
    where : str
        Place and cause, as text.
    frames : int
        Number of frames.
    """

    flow: str
    ports: tuple[str, ...]
    where: str
    frames: int


@of_result
def losses(result: Measurements) -> list[Loss]:
    """Returns all losses of a result, most frames first."""
    if "drops" not in result.table_names or not (rows := result.rows("drops")):
        return []
    ends = {row["port"]: (row["node"], row["peer"]) for row in result.rows("ports")}
    back: dict[tuple[str, str], list[str]] = defaultdict(list)
    for port, (node, peer) in ends.items():
        back[peer, node].append(port)
    paths = {flow: set(ports) for flow, ports in paths_of(result)}
    found: dict[tuple[str, tuple[str, ...], str], int] = defaultdict(int)
    for row in rows:
        port, cause = row["port"], row["cause"]
        node, peer = ends[port]
        # With parallel links, node names do not identify the pair of ports.
        other = tuple(back[node, peer]) if len(back[node, peer]) == 1 else ()
        path = paths.get(row["flow"], set())
        if cause not in ON_LINKS or port in path:
            words, ports = AT_PORTS, (port,)
        elif cause not in UNCLEAR or path.intersection(back[node, peer]):
            words, ports = ON_LINKS, (port, *other)
        else:
            words, ports = UNCLEAR, (port, *other)
        place = words.get(cause, "at {port}")
        where = f"{place.format(port=port, node=node, peer=peer)} ({cause})"
        found[row["flow"], ports, where] += row["frames"]
    made = [Loss(flow, ports, where, frames) for (flow, ports, where), frames in found.items()]
    return sorted(made, key=lambda loss: -loss.frames)


def paths_of(result: Measurements) -> Iterator[tuple[str, list[str]]]:
    """Yields each flow with the egress ports of all its paths; for a connection, including the return path.

    Empty if there were too many paths to record.
    """
    found: dict[str, dict[str, None]] = defaultdict(dict)
    if "paths" in result.table_names:
        for row in result.rows("paths"):
            found[row["flow"]].update(
                dict.fromkeys([*row["ports"].split(), *row.get("ports_back", "").split()])
            )
    for flow, ports in found.items():
        yield flow, list(ports)


def of_flow(result: Measurements, flow: str, sent: int) -> Iterator[str]:
    """Describes the frames that a flow lost."""
    own = [loss for loss in losses(result) if loss.flow == flow]
    for loss in own[:_NAMED]:
        share = f" ({100 * loss.frames / sent:.2g} % of its frames)" if sent >= loss.frames else ""
        yield f"It lost {_frames(loss.frames)}{share} {loss.where}."
    yield from _more(own)


def at_ports(result: Measurements, ports: Iterable[str]) -> Iterator[str]:
    """Describes losses at ports and on their links, in either direction."""
    wanted = set(ports)
    places: dict[str, list[Loss]] = defaultdict(list)
    for loss in losses(result):
        if wanted.intersection(loss.ports):
            places[loss.where].append(loss)
    summed = [Loss(_flows(own), (), where, sum(loss.frames for loss in own)) for where, own in places.items()]
    summed.sort(key=lambda loss: -loss.frames)
    for loss in summed[:_NAMED]:
        were = "was" if loss.frames == 1 else "were"
        place = f"{_frames(loss.frames)} {were} lost {loss.where}: {loss.flow}."
        yield place[0].upper() + place[1:]
    yield from _more(summed)


def _flows(own: list[Loss]) -> str:
    if len(own) == 1:
        return own[0].flow
    named = [f"{loss.flow} ({loss.frames:,})" for loss in own[:_FLOWS_NAMED]]
    more = [f"{len(own) - len(named)} more flows"] if len(own) > len(named) else []
    return ", ".join([*named, *more])


def _more(found: list[Loss]) -> Iterator[str]:
    if left := found[_NAMED:]:
        more = sum(loss.frames for loss in left)
        yield f"It lost {_frames(more)} elsewhere: see table drops."


def _frames(number: int) -> str:
    return "one frame" if number == 1 else f"{number:,} frames"
