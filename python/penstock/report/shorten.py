"""Shortens a large result to a page that opens at once: the rows that matter most, and sums of the rest.

A result of any size has all of it in its Parquet files.
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
"""Rows of a table, at most."""
MOST_LINKS = 1_500
"""Links that are drawn; of more, the busiest and most paused."""
FEWER_LINKS = 500
MOST_SERIES = 48
"""Series of one metric in a page that cannot hold all: those with the largest sums."""

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
"""The rows that a page keeps are the first in these orders, in turn; of other tables the first rows."""
_TREES = ("congestion", "congestion_flows")


@dataclass
class Page:
    """A result cut to what fits.

    Attributes
    ----------
    tables : dict
        With fewer rows where there are many.
    topology : dict
        With fewer links where there are many, and the nodes at their ends.
    totals : dict
        Of each table that was cut its ``rows``, ``sums`` and ``above_zero`` in all; of the topology, if that
        was cut, ``hosts``, ``switches`` and ``links``.
    notes : list of str
        What was left out, a sentence each.
    """

    tables: dict[str, pa.Table]
    topology: Mapping[str, Any]
    totals: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def shorten(
    tables: Mapping[str, pa.Table], topology: Mapping[str, Any], numbers: NodeNumbers | None = None
) -> Page:
    """The result cut to a page. Series and pauses are left as they are.

    Parameters
    ----------
    tables, topology : mapping
        Those of the result.
    numbers : NodeNumbers, optional
        Those of the topology and the table of ports, if they have been found.
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
            f"This page has the most relevant rows of its largest tables ({', '.join(cut)}). "
            "The .parquet files have all of them."
        )
    return page


def largest_series(curves: Curves) -> Curves:
    """The series of each metric that have the largest sums, if there are many."""
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
    """The first rows of each order in turn, until there are enough; in the order of the table."""
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
    """Keeps the busiest and most paused links; returns the rows of their ports, both ends of each."""
    links, nodes = page.topology.get("links", []), page.topology.get("nodes", [])
    if len(links) <= MOST_LINKS or "ports" not in page.tables:
        return None
    ports = page.tables["ports"]
    numbers = numbers_of(page.topology, ports) if numbers is None else numbers
    ends, joined = numbers.ports, numbers.links
    # Both directions of all links between two nodes have one number.
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
    """All rows, the first by each order in turn coming first."""
    orders = [
        numpy_of(pc.sort_indices(table, sort_keys=[key])) for key in ranks if key[0] in table.column_names
    ]
    return _distinct(np.column_stack(orders).ravel())


def _distinct(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Each value once, in the order in which they come first."""
    return values[np.sort(np.unique(values, return_index=True)[1])]


def _shorten_trees(page: Page) -> None:
    """Keeps whole trees, those that stopped ports longest first."""
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
