"""Sums of flows of a name, which the page draws first where there are many flows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.plots.groups import groups_of

if TYPE_CHECKING:
    from penstock.measurements import Curves

GROUPS = "group_throughput_bps"
"""A metric of the page alone."""


def with_groups(curves: Curves) -> Curves:
    """The series, with the throughput of each group of flows if there are such.

    Flows whose bins differ in width are not added up.
    """
    flows = curves.get("flow_throughput_bps", {})
    groups = groups_of(flows)
    if not groups or len({len(times) for times, _ in flows.values()}) != 1:
        return curves
    times, _ = next(iter(flows.values()))
    sums = {group: (times, sum(flows[flow][1] for flow in own)) for group, own in groups.items()}
    return {**curves, GROUPS: sums}
