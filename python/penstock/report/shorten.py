"""Shortens a large result for the report page: keeps the most relevant rows, and totals of the rest.

The Parquet files contain the whole result.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock import arrow
from penstock.analysis.node_numbers import NodeNumbers, numbers_of
from penstock.measurements import numpy_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from penstock.measurements import Curves

MOST_ROWS = 1_000
"""Maximum number of rows of a table."""
MOST_LINKS = 1_500
"""Maximum number of links drawn: the busiest and most paused ones."""
FEWER_LINKS = 500
MOST_SERIES = 48
"""Maximum number of series per metric in a shortened page: those with the largest sums."""

_RANKS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "flows": (
        ("frames_dropped", "descending"),
        ("latency_p99_ns", "descending"),
        ("throughput_bps", "ascending"),
    ),
    "connections": (("segments_sent_again", "descending"), ("round_trip_p99_ns", "descending")),
    "transfers": (("slowdown", "descending"),),
    "queues": (("drops", "descending"), ("queue_bytes_max", "descending")),
    "ports": (("drops", "descending"), ("paused_s", "descending"), ("utilisation", "descending")),
    "drops": (("frames", "descending"),),
}
"""Sort orders of tables. A shortened table has the first rows of each order in turn."""
_TREES = ("congestion", "congestion_flows")


@dataclass
class Page:
    """A shortened result.

    Attributes
    ----------
    tables : dict
        Tables; large ones have fewer rows.
    topology : dict
        Topology; a large one has fewer links, with their nodes.
    totals : dict
        For each shortened table ``rows``, ``sums`` and ``above_zero`` of the whole table; for a shortened
        topology ``hosts``, ``switches`` and ``links``.
    notes : list of str
        One sentence about each omission.
    """

    tables: dict[str, pa.Table]
    topology: Mapping[str, Any]
    totals: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def shorten(
    tables: Mapping[str, pa.Table], topology: Mapping[str, Any], numbers: NodeNumbers | None = None
) -> Page:
    """Shortens a result for a page. Series and pauses are not changed.

    Parameters
    ----------
    tables, topology : mapping
        Tables and topology of the result.
    numbers : NodeNumbers, optional
        Node numbers of the topology and the table of ports, if already computed.
    """
    page = Page(dict(tables), topology)
    ports = _shorten_topology(page, numbers)
    for name, table in tables.items():
        if name in ("series", "pauses", *_TREES) or table.num_rows <= MOST_ROWS:
            continue
        rows = ports if name == "ports" and ports is not None else _first(table, _RANKS.get(name, ()))
        _cut(page, name, arrow.take(table, rows))
    _shorten_trees(page)
    cut = [
        f"{name} {page.tables[name].num_rows:,} of {reported['rows']:,}"
        for name, reported in page.totals.items()
        if name in page.tables
    ]
    if cut:
        page.notes.append(
            f"This page contains only the most relevant rows of its largest tables ({', '.join(cut)}). "
            "All rows are in the .parquet files."
        )
    return page


def largest_series(curves: Curves) -> Curves:
    """The series of each metric with the largest sums, if there are many."""
    found: Curves = {}
    for metric, of in curves.items():
        ranked = sorted(of, key=lambda entity: -float(of[entity][1].sum()))
        kept = set(ranked[:MOST_SERIES])
        found[metric] = {entity: curve for entity, curve in of.items() if entity in kept}
    return found


def _cut(page: Page, name: str, table: pa.Table) -> None:
    full = page.tables[name]
    numbers = [column for column in full.column_names if _is_number(full[column].type)]
    sums = {column: _known(pc.sum(full[column], min_count=0).as_py()) for column in numbers}
    above = {column: pc.sum(arrow.call("greater", full[column], 0)).as_py() or 0 for column in numbers}
    page.totals[name] = {"rows": full.num_rows, "sums": sums, "above_zero": above}
    page.tables[name] = table


def _first(table: pa.Table, ranks: tuple[tuple[str, str], ...], most: int = MOST_ROWS) -> list[int]:
    """Rows of each order in turn up to the limit, in table order."""
    orders = [
        numpy_of(pc.sort_indices(table, sort_keys=[(name, order)]))[:most]
        for name, order in ranks
        if name in table.column_names
    ] or [np.arange(min(most, table.num_rows))]
    found: dict[int, None] = {}
    for rank in zip(*orders, strict=True):
        for row in rank:
            if len(found) < most:
                found[int(row)] = None
    return sorted(found)


def _shorten_topology(page: Page, numbers: NodeNumbers | None) -> list[int] | None:
    """Keeps the busiest and most paused links; returns the rows of the ports at both ends."""
    links, nodes = page.topology.get("links", []), page.topology.get("nodes", [])
    if len(links) <= MOST_LINKS or "ports" not in page.tables:
        return None
    ports = page.tables["ports"]
    numbers = numbers_of(page.topology, ports) if numbers is None else numbers
    ends, joined = numbers.ports, numbers.links
    # Links between the same two nodes share a number in both directions.
    pair, of_links = (both.min(axis=1) * (len(nodes) + 1) + both.max(axis=1) for both in (ends, joined))
    kept = _distinct(pair[_by_rank(ports, _RANKS["ports"])])[:FEWER_LINKS]
    drawn = np.flatnonzero(np.isin(of_links, kept))
    named = np.isin(np.arange(len(nodes)), joined[drawn])
    hosts = sum(node["role"] == "host" for node in nodes)
    page.topology = {
        **page.topology,
        "nodes": [nodes[n] for n in np.flatnonzero(named)],
        "links": [links[n] for n in drawn],
    }
    page.totals["topology"] = {"hosts": hosts, "switches": len(nodes) - hosts, "links": len(links)}
    rows: list[int] = np.flatnonzero(np.isin(pair, kept)).tolist()
    return rows


def _by_rank(table: pa.Table, ranks: tuple[tuple[str, str], ...]) -> NDArray[np.int64]:
    """All rows, taking the next row of each order in turn."""
    orders = [
        numpy_of(pc.sort_indices(table, sort_keys=[key])) for key in ranks if key[0] in table.column_names
    ]
    return _distinct(np.column_stack(orders).ravel())


def _distinct(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Unique values in order of first appearance."""
    return values[np.sort(np.unique(values, return_index=True)[1])]


def _shorten_trees(page: Page) -> None:
    """Keeps complete trees, longest paused time first."""
    edges = page.tables.get("congestion")
    if edges is None or edges.num_rows <= MOST_ROWS:
        return
    trees = arrow.sums_by(edges, ["tree"], "paused_ns")
    kept: list[int] = []
    rows = 0
    for tree in arrow.sort(trees, [("paused_ns_sum", "descending")]).to_pylist():
        rows += tree["rows"]
        if kept and rows > MOST_ROWS:
            break
        kept.append(tree["tree"])
    for name in _TREES:
        table = page.tables.get(name)
        if table is not None:
            own = table.filter(pc.is_in(table["tree"], value_set=arrow.numbers(kept, table["tree"].type)))
            _cut(page, name, own.slice(0, 2 * MOST_ROWS))


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _known(number: float | None) -> float | None:
    return number if number is not None and np.isfinite(number) else None
