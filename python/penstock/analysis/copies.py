"""Multicast flows: switches copy their frames to several hosts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock import arrow
from penstock.measurements import numpy_of, of_result

if TYPE_CHECKING:
    from penstock.measurements import Measurements


@of_result
def receivers(result: Measurements) -> dict[str, int]:
    """Number of destinations per frame, for flows with more than one."""
    if "paths" not in result.table_names:
        return {}
    flow, names = arrow.codes(result.table("paths")["flow"])
    meant = np.bincount(flow, numpy_of(result.table("paths")["share"]), minlength=len(names))
    several = np.flatnonzero(meant > 1.5)
    found = zip(arrow.take(names, several).to_pylist(), meant[several].tolist(), strict=True)
    return {name: round(number) for name, number in found}


def ports_of(paths: Iterable[Mapping[str, Any]], copied: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yields flow and egress port of frames that are copied, once per copy.

    Up to the switch where their paths diverge, receivers share one copy.
    """
    crossed = set()
    for row in paths:
        if row["flow"] not in copied:
            continue
        ports = row["ports"].split()
        for place, port in enumerate(ports):
            begun = (row["flow"], *ports[: place + 1])
            if begun not in crossed:
                crossed.add(begun)
                yield row["flow"], port


@of_result
def for_each(result: Measurements, flows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns rows of the table ``flows`` with the mean throughput per receiver, and the number of receivers.

    The throughput per receiver can be compared with the offered load and with a fair share.
    """
    several = receivers(result)
    rates = ("throughput_bps", "goodput_bps")
    entries = []
    for row in flows:
        number = several.get(row["flow"], 1)
        own = {key: row[key] / number for key in rates if row.get(key)} if number > 1 else {}
        entries.append({**row, **own, "receivers": number})
    return entries
