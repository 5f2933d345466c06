"""Groups of flows: ``incast[h1]`` and ``incast[h2]`` are drawn as one line ``incast``."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

import pyarrow.compute as pc

from penstock import arrow
from penstock.measurements import of_result

if TYPE_CHECKING:
    from penstock.measurements import Curve, Measurements

MOST_ALONE = 6
"""Maximum number of flows that are drawn individually."""
MOST_GROUPS = 8
"""Maximum number of groups."""


class Group(NamedTuple):
    """Flows with a common name, or a single flow."""

    throughput: Curve
    """Sum over all flows of the group, with or without a series."""
    members: list[Curve]
    """Series of the members; empty for a single flow."""


@of_result
def groups_of(result: Measurements) -> dict[str, Group]:
    """Groups the flows of a result by name; empty if grouping does not reduce their number enough.

    A label contains the number of flows: ``incast, 1,024 flows``.
    """
    curves = result.curves()
    flows, sums = curves.get("flow_throughput_bps", {}), curves.get("group_throughput_bps", {})
    if not sums or result.table("flows").num_rows <= MOST_ALONE:
        return {}
    names = arrow.first_word(result.table("flows")["flow"], "[")
    members: dict[str, list[tuple[str, Curve]]] = defaultdict(list)
    for flow, curve in flows.items():
        members[flow.partition("[")[0]].append((flow, curve))
    groups: dict[str, Group] = {}
    for row in pc.value_counts(names).to_pylist():
        name, own = str(row["values"]), members[str(row["values"])]
        if name in sums:
            groups[f"{name}, {row['counts']:,} flows"] = Group(sums[name], [curve for _, curve in own])
        else:
            groups.update({flow: Group(curve, []) for flow, curve in own})
    return groups if len(groups) <= MOST_GROUPS else {}
