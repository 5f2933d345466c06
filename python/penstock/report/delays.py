"""How late frames and transfers were, as curves: what the page draws that no table has."""

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
"""Entries of transfers that are shown, at most."""
MOST_STEPS = 300
"""Points of a distribution of transfers of one size, at most."""


@of_result
def delays(result: Measurements) -> dict[str, Any]:
    """``latency``, and ``slowdown``, a list of the entries of the scenario with transfers that are complete.

    Of latency: ``flows``, how many have a distribution; ``ns``; and ``above``, by flow the part of its frames
    that took at least as long as each of these times. It is empty if no frame arrived.

    Of an entry: ``name``, ``begun``, ``complete`` and ``slowdown`` as in `Totals`, and ``bins`` of sizes,
    each as `SizeBin`. If all are of one size, ``steps`` is their distribution: ``slowdown``, and ``share``,
    the part that had at most as much.
    """
    return {"latency": _latency(result), "slowdown": _slowdown(result)}


def _latency(result: Measurements) -> dict[str, Any]:
    if "latencies" not in result.table_names or not result.table("latencies").num_rows:
        return {}
    found = tails(result)
    ends = distinct(np.concatenate(list(found.ends_ns.values())))
    above = {}
    for name, own in found.ends_ns.items():
        # Between the ends of its bins the share stays; before the first all frames are to come.
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
