"""Totals of groups of flows, which the page draws first if there are many flows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.analysis.groups import groups_of
from penstock.measurements import of_result

if TYPE_CHECKING:
    from penstock.measurements import Curves, Measurements

GROUPS = "group_throughput_bps"


@of_result
def with_groups(result: Measurements) -> Curves:
    """Returns the series with totals of groups of flows; without totals if groups do not help."""
    curves = {metric: of for metric, of in result.curves().items() if metric != GROUPS}
    groups = groups_of(result)
    if groups:
        curves[GROUPS] = {label: group.throughput for label, group in groups.items()}
    return curves
