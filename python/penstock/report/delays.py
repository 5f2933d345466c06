"""Latency and slowdown distributions for the report page; no table contains them."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.analysis.decimate import distinct
from penstock.analysis.latencies import tails
from penstock.analysis.transfers import distribution, size_bins, totals
from penstock.measurements import of_result

if TYPE_CHECKING:
    from penstock.measurements import Measurements

MOST_ENTRIES = 6
"""Maximum number of entries of transfers."""
MOST_STEPS = 300
"""Maximum number of points of the distribution for transfers of one size."""


@of_result
def delays(result: Measurements) -> dict[str, Any]:
    """Returns ``latency`` and ``slowdown``.

    ``latency``: ``flows``, the number of flows with a distribution; ``ns``, latencies; and ``above``, by flow
    the share of frames with at least each latency. Empty if no frame arrived.

    ``slowdown``: a list of the entries with complete transfers: ``name``, ``begun``, ``complete`` and
    ``slowdown`` as in `Totals`, and ``bins``, a list of `SizeBin`. If all transfers have one size, ``steps``
    is their cumulative distribution: ``slowdown``, and ``share`` of transfers with at most that slowdown.
    """
    return {"latency": _latency(result), "slowdown": _slowdown(result)}


def _latency(result: Measurements) -> dict[str, Any]:
    if "latencies" not in result.table_names or not result.table("latencies").num_rows:
        return {}
    found = tails(result)
    ends = distinct(np.concatenate(list(found.ends_ns.values())))
    above = {}
    for name, own in found.ends_ns.items():
        # The share is constant between the ends of its bins, and 1 before the first.
        held = np.append(1.0, found.above[name])[np.searchsorted(own, ends, side="right")]
        above[name] = held.tolist()
    return {"flows": found.flows, "ns": ends.tolist(), "above": above}


def _slowdown(result: Measurements) -> list[dict[str, Any]]:
    found = []
    for entry in [one for one in totals(result) if one.complete][:MOST_ENTRIES]:
        bins = size_bins(result, name=entry.name)
        record: dict[str, Any] = {"name": entry.name, "begun": entry.begun, "complete": entry.complete}
        record |= {"slowdown": entry.slowdown, "bins": [asdict(one) for one in bins]}
        if len(bins) == 1:
            slowdown, share = distribution(result, entry.name, MOST_STEPS)
            record["steps"] = {"slowdown": slowdown.tolist(), "share": share.tolist()}
        found.append(record)
    return found
