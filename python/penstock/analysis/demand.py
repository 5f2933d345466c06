"""Demands of flows, and fairness between flows with equal demands."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from penstock import arrow
from penstock.measurements import numpy_of, of_result

from .decimate import distinct
from .statistics import jain

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from penstock.measurements import Measurements

HELD_BACK = 0.9
"""Share of its demand below which a source counts as limited by its NIC; above, the difference is noise."""
SAME = 1.1
"""Largest ratio of maximum to minimum at which demands count as equal."""


@dataclass(frozen=True)
class Evenness:
    """Jain's index of the throughput of flows with equal demands in one class, with their name or number."""

    name: str
    flows: int
    jain: float


@dataclass
class _Found:
    """Values computed from a table of flows."""

    flows: pa.Table
    rates_bps: NDArray[np.float64]
    even: list[Evenness] | None = None


_found: WeakKeyDictionary[Measurements, _Found] = WeakKeyDictionary()


@of_result
def demand_rates(result: Measurements) -> NDArray[np.float64]:
    """Returns the demand of each flow in b/s; above the offered rate if the NIC was full.

    The demand of a greedy source is the rate of the links of its host at the start of its paths. The demand
    of connections and transfers is what they sent, because they wait for answers and not for their NIC.
    Computed once per result.

    Returns
    -------
    numpy.ndarray of float
        One value per row of the table ``flows``; read-only; NaN where unknown.
    """
    return _of(result).rates_bps


@of_result
def evenness(result: Measurements) -> list[Evenness]:
    """Fairness between the flows of a class with equal demands, least fair first. Computed once per result.

    Excludes flows without a peer of equal demand, and connections with a limit that have sent everything,
    since these received their full demand. With strict priorities only flows of one class are compared.
    """
    found = _of(result)
    if found.even is None:
        found.even = _evenness(result, found.rates_bps)
    return list(found.even)


def stem(flow: str) -> str:
    """Name of the entry of a flow: ``incast`` for ``incast[h1]``."""
    return flow.partition("[")[0]


def stems(flows: arrow.Column) -> tuple[NDArray[np.int64], list[str]]:
    """Number of the `stem` of each flow, and the stems in order of first appearance."""
    number, names = arrow.codes(arrow.first_word(flows, "["))
    return number, names.to_pylist()


def _of(result: Measurements) -> _Found:
    flows, found = result.table("flows"), _found.get(result)
    if found is None or found.flows is not flows:
        rates_bps = _demand_rates(result)
        rates_bps.flags.writeable = False
        found = _found[result] = _Found(flows, rates_bps)
    return found


def _demand_rates(result: Measurements) -> NDArray[np.float64]:
    taken = numpy_of(result.table("flows")["offered_bps"]).astype(np.float64)
    if "demands" not in result.table_names:
        return taken
    demand = _demand(result)
    with np.errstate(invalid="ignore"):  # a comparison with NaN is false
        return np.where(taken < HELD_BACK * demand, demand, taken)


def _demand(result: Measurements) -> NDArray[np.float64]:
    """Mean demand in b/s of each flow that is not a connection or transfer; NaN for others."""
    names = result.table("flows")["flow"]
    found = np.full(len(names), np.nan)
    begin = float(result.run.get("warmup_s", 0.0)) * 1e9
    end = float(result.run["simulated_s"]) * 1e9
    table = result.table("demands")
    flow = arrow.places(table["flow"], names)
    order = np.argsort(flow, kind="stable")
    order = order[flow[order] >= 0]
    flow = flow[order]
    if end <= begin or not len(flow):
        return found
    columns = ("time_ns", "rate_bps", "limit_bytes", "turn_frames")
    time, rate, limit, turn = (numpy_of(table[name]).astype(np.float64)[order] for name in columns)
    starts = np.flatnonzero(np.append(True, flow[1:] != flow[:-1]))
    stops = np.append(starts[1:], len(flow))
    waits = ((turn != 0) & ~np.isnan(turn)) | (limit < math.inf)
    of_transfer = _of_entries(names, _transfers(result))
    pushes = ~np.logical_or.reduceat(waits, starts) & ~of_transfer[flow[starts]]
    until = np.append(time[1:], end)
    until[stops - 1] = end
    spans = np.maximum(0.0, np.minimum(until, end) - np.maximum(time, begin))
    rates_bps = np.minimum(rate, _line_rates(result)[flow]) * spans
    sums = np.add.reduceat(rates_bps, starts)
    # Two rounded terms have one rounded sum; three and more would depend on their order.
    for at in np.flatnonzero(stops - starts > 2).tolist():
        sums[at] = math.fsum(rates_bps[starts[at] : stops[at]].tolist())
    found[flow[starts[pushes]]] = sums[pushes] / (end - begin)
    return found


def _line_rates(result: Measurements) -> NDArray[np.float64]:
    """Rate in b/s of the links at the start of the paths of each flow.

    If paths were not recorded, the sum over all links of the host.
    """
    flows, ports = result.table("flows"), result.table("ports")
    rates = numpy_of(ports["rate_bps"]).astype(np.float64)
    lines = np.zeros(flows.num_rows)
    if "paths" in result.table_names and len(rates):
        paths = result.table("paths")
        port = arrow.places(arrow.first_word(paths["ports"], " "), ports["port"])
        flow = arrow.places(paths["flow"], flows["flow"])
        known = (port >= 0) & (flow >= 0)
        pairs = distinct(flow[known] * len(rates) + port[known])
        lines = np.bincount(pairs // len(rates), rates[pairs % len(rates)], minlength=flows.num_rows)
    if not lines.all():
        node, hosts = arrow.codes(ports["node"])
        # The last element is for sources without a port.
        of_host = np.append(np.bincount(node, rates, minlength=len(hosts)), 0.0)
        lines = np.where(lines, lines, of_host[arrow.places(flows["source"], hosts)])
    return lines


def _transfers(result: Measurements) -> set[str]:
    """Names of the entries that are transfers."""
    if "transfers" not in result.table_names:
        return set()
    return set(result.table("transfers")["name"].unique().to_pylist())


def _of_entries(flows: arrow.Column, entries: Iterable[str]) -> NDArray[np.bool_]:
    """True for each flow that belongs to one of these entries."""
    number, names = stems(flows)
    wanted = set(entries)
    found: NDArray[np.bool_] = np.array([name in wanted for name in names], dtype=bool)[number]
    return found


def _evenness(result: Measurements, rates_bps: NDArray[np.float64]) -> list[Evenness]:
    flows = result.table("flows")
    names = flows["flow"]
    got = numpy_of(flows["throughput_bps"]).astype(np.float64)
    counts = ~(np.isnan(rates_bps) | (rates_bps == 0.0) | np.isnan(got)) & ~_of_entries(
        names, _transfers(result)
    )
    counts[_ended(result)] = False
    largest = _most(result, rates_bps)
    number, entries = stems(names)
    of_class = numpy_of(flows["class"])
    found = []
    for one in dict.fromkeys(of_class[counts].tolist()):
        own = np.flatnonzero(counts & (of_class == one))
        own = own[np.argsort(largest[own], kind="stable")]
        ordered = largest[own]
        begin = 0
        while begin < len(own):
            end = int(np.searchsorted(ordered, SAME * ordered[begin], side="right"))
            alike = own[begin:end]
            if len(alike) > 1:
                label = _label([entries[n] for n in distinct(number[alike]).tolist()])
                found.append(Evenness(label, len(alike), jain(got[alike].tolist())))
            begin = end
    return sorted(found, key=lambda one: one.jain)


def _label(entries: list[str]) -> str:
    """A name, or two names and the number of others."""
    if len(entries) == 1:
        return entries[0]
    more = f" and {len(entries) - 2} more" if len(entries) > 2 else ""
    return " and ".join(sorted(entries)[:2]) + more


def _ended(result: Measurements) -> NDArray[np.int64]:
    """Rows of flows whose connection has sent everything up to its limit."""
    if "connections" not in result.table_names:
        return np.empty(0, dtype=np.int64)
    connections = result.table("connections")
    completed = numpy_of(connections["completed_ns"].is_valid()) & np.isfinite(
        numpy_of(connections["completed_ns"]).astype(np.float64)
    )
    rows = arrow.places(connections["flow"], result.table("flows")["flow"])
    return rows[completed & (rows >= 0)]


def _most(result: Measurements, rates_bps: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rate of each flow; for a connection, the rate that its window allows."""
    if "demands" not in result.table_names:
        return rates_bps
    demands = result.table("demands")
    turns = numpy_of(demands["turn_frames"]).astype(np.float64)
    rows = arrow.places(demands["flow"], result.table("flows")["flow"])
    own = (turns != 0) & ~np.isnan(turns) & (rows >= 0)
    most = rates_bps.copy()
    # If a flow has several demands, the last one applies.
    most[rows[own]] = numpy_of(demands["rate_bps"]).astype(np.float64)[own]
    return most
