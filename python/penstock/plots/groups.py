"""Flows of a name: ``incast[h1]`` and ``incast[h2]`` are drawn as ``incast`` where many lines become few."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

MOST_ALONE = 6
"""So many flows are drawn one by one."""
MOST_GROUPS = 8
"""With more groups than this, sums would be as hard to tell apart as flows."""


def groups_of(flows: Iterable[str]) -> dict[str, list[str]]:
    """The flows of each group, named after what they have in common; empty where grouping does not help.

    Examples
    --------
    >>> groups_of([f"incast[h{host}]" for host in range(8)]).keys()
    dict_keys(['incast, 8 flows'])
    >>> groups_of(["a", "b"])
    {}
    """
    members: dict[str, list[str]] = defaultdict(list)
    for flow in flows:
        members[flow.partition("[")[0]].append(flow)
    count = sum(map(len, members.values()))
    if count <= MOST_ALONE or len(members) > MOST_GROUPS or len(members) == count:
        return {}
    return {f"{name}, {len(own)} flows" if len(own) > 1 else name: own for name, own in members.items()}
