"""Lost frames in words: how many, where, and why (table ``drops``)."""

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
    "watchdog": "at {port}, to the watchdog, in a pause storm",
    "link_down": "at {port}, whose link was down",
    "restart": "at {port}, because {node} restarted",
}
"""Texts for losses of frames that waited, were about to wait, or had arrived completely, by cause."""

ON_LINKS = {
    "link_down": "on the link from {peer} to {node}, which was down",
    "restart": "on the link from {peer} to {node}, because a switch at its end restarted",
    "bit_error": "on the link from {peer} to {node}, by wrong bits",
    "link_loss": "on the link from {peer} to {node}, which loses frames",
}
"""Losses of frames that were on a link. The table names the port where they arrive."""

UNCLEAR = {
    "link_down": "at {port}, whose link was down, waiting for it or arriving on it",
    "restart": "at {port}, waiting or arriving there, because a switch restarted",
}
"""Losses where the path of the flow does not say which of the two, because it has changed since."""

_NAMED = 5
_FLOWS_NAMED = 3


@dataclass(frozen=True)
class Loss:
    """Frames of one flow, lost in one place for one reason.

    Attributes
    ----------
    flow : str
        Its name.
    ports : tuple of str
        The ports that it concerns: where the frames waited, or both ends of the link that they were on.
    where : str
        Place and reason, in words.
    frames : int
        How many.
    """

    flow: str
    ports: tuple[str, ...]
    where: str
    frames: int


@of_result
def losses(result: Measurements) -> list[Loss]:
    """Every loss of a result, the largest first."""
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
        # Of several links between two nodes names do not say which two ports belong together.
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
    """The egress ports of each flow on all its paths, and for a connection those back.

    Nothing if there were too many to write down.
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
    """Frames that a flow lost, of those that it sent."""
    own = [loss for loss in losses(result) if loss.flow == flow]
    for loss in own[:_NAMED]:
        share = f" ({100 * loss.frames / sent:.2g} % of what it sent)" if sent >= loss.frames else ""
        yield f"It lost {_frames(loss.frames)}{share} {loss.where}."
    yield from _more(own)


def at_ports(result: Measurements, ports: Iterable[str]) -> Iterator[str]:
    """Losses at ports and on their links, in either direction."""
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
        yield f"Elsewhere it lost {_frames(more)}: table drops."


def _frames(number: int) -> str:
    return "one frame" if number == 1 else f"{number:,} frames"
