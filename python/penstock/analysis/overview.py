"""Overview of a run: roots of congestion and their victims."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from penstock.measurements import of_result
from penstock.units import rate

from . import forensics

if TYPE_CHECKING:
    from penstock.measurements import Measurements

TREES_TOLD = 5
"""Number of congestion roots listed, longest paused time first."""
LOSERS_TOLD = 5


@of_result
def overview(result: Measurements) -> list[str]:
    """Describes the congestion roots with their victims, and the flows with most lost frames."""
    return [*_roots(result), *_lost(result)]


def _roots(result: Measurements) -> Iterator[str]:
    trees = forensics.trees(result)
    if not trees:
        yield "No pause delayed any flow." if "pauses" in result.table_names else "No pauses were recorded."
        return
    active = []
    for tree in trees[:TREES_TOLD]:
        yield from forensics.at_root(result, tree)
        active.append(tree.victims[0].flow if tree.victims else forensics.port_of(tree.root))
    if (more := len(trees) - TREES_TOLD) > 0:
        roots = "root" if more == 1 else "roots"
        yield f"{more} more {roots} of pauses, with less paused time."
    yield forensics.SHARES
    yield f"For details name a flow or port, such as {active[0]}."


def _lost(result: Measurements) -> Iterator[str]:
    losers = [row for row in result.rows("flows") if row["frames_dropped"]]
    for row in sorted(losers, key=lambda row: -row["frames_dropped"])[:LOSERS_TOLD]:
        got = rate(row["throughput_bps"] or 0.0)
        sent = f"{row['frames_dropped']:,} of {row['frames_sent']:,} frames"
        yield f"{row['flow']} ({row['source']} to {row['destination']}) lost {sent}, and got {got}."
    if (more := len(losers) - LOSERS_TOLD) > 0:
        yield f"{more} more {'flow' if more == 1 else 'flows'} lost frames."
