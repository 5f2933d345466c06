"""Nodes at the ends of links and ports, by index in the topology."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa

from penstock import arrow
from penstock.measurements import Measurements, of_result

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class NodeNumbers:
    """Node names replaced by indexes.

    Attributes
    ----------
    names : list of str
        Names of all nodes.
    links : ndarray of int
        Nodes ``a`` and ``b`` of each link, one row per link. Read-only.
    ports : ndarray of int
        Node and peer of each row of the table ``ports``. Unknown names have the index ``len(names)``.
        Read-only.
    """

    names: list[str]
    links: NDArray[np.int64]
    ports: NDArray[np.int64]


_found: WeakKeyDictionary[Measurements, tuple[pa.Table, NodeNumbers]] = WeakKeyDictionary()


@of_result
def node_numbers(result: Measurements) -> NodeNumbers:
    """Returns the node numbers of a result. Computed once per result."""
    ports, found = _found.get(result, (None, None))
    if found is None or ports is not result.table("ports"):
        found = numbers_of(result.topology, result.table("ports"))
        _found[result] = (result.table("ports"), found)
    return found


def numbers_of(topology: Mapping[str, Any], ports: pa.Table) -> NodeNumbers:
    """Returns the node numbers for a topology and a table of ports."""
    names = [node["name"] for node in topology["nodes"]]
    links = topology["links"]
    number = {name: n for n, name in enumerate(names)}
    ends = map(number.__getitem__, chain.from_iterable(map(itemgetter("a", "b"), links)))
    of_links = np.fromiter(ends, np.int64, 2 * len(links)).reshape(-1, 2)
    known = arrow.strings(names)
    of_ports = np.column_stack([arrow.places(ports[column], known) for column in ("node", "peer")])
    of_ports[of_ports < 0] = len(names)
    for array in (of_links, of_ports):
        array.flags.writeable = False
    return NodeNumbers(names, of_links, of_ports)
