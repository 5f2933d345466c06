"""Columns of all flows at once: the same numbers as from plain Python, one flow after the other."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock.analysis.connections import rows as connection_rows
from penstock.analysis.connections import unfinished
from penstock.analysis.copies import receivers
from penstock.analysis.demand import HELD_BACK, SAME, demand_rates, evenness, stem, stems
from penstock.analysis.latencies import tails
from penstock.analysis.node_numbers import numbers_of
from penstock.cli.flows import _Served, grouped
from penstock.measurements import Measurements, numpy_of

FLOWS = [f"{entry}[h{n}]" for entry in ("a", "b", "moved") for n in range(4)] + ["lone"]
PORTS = [f"h{n}.{port}" for n in range(4) for port in range(3)]
SMALL = st.integers(0, 12)
RATES = st.none() | st.sampled_from([0.0, 1.0, 2.5e9, 9.1e9, 1e10])


@st.composite
def results(draw: st.DrawFn) -> Measurements:
    """Tables of flows, demands, paths, ports, connections and transfers of any numbers."""
    flows = draw(st.lists(st.sampled_from(FLOWS), unique=True))
    ports = draw(st.lists(st.sampled_from(PORTS), unique=True))
    demands = draw(
        st.lists(st.tuples(st.sampled_from([*FLOWS, "gone"]), SMALL, RATES, SMALL, SMALL), max_size=30)
    )
    demands.sort(key=lambda row: row[1])
    paths = draw(st.lists(st.tuples(st.sampled_from(FLOWS), st.sampled_from(PORTS)), max_size=20))
    ended = draw(
        st.lists(st.tuples(st.sampled_from(FLOWS), st.booleans()), max_size=5, unique_by=lambda row: row[0])
    )

    def drawn(values: st.SearchStrategy[Any]) -> list[Any]:
        return [draw(values) for _ in flows]

    tables = {
        "flows": {
            "flow": pa.array(flows, pa.string()),
            "source": pa.array([f"h{draw(st.integers(0, 4))}" for _ in flows], pa.string()),
            "class": pa.array(drawn(st.integers(0, 2)), pa.uint8()),
            "offered_bps": pa.array(drawn(RATES), pa.float64()),
            "throughput_bps": pa.array(drawn(RATES), pa.float64()),
            "goodput_bps": pa.array(drawn(RATES), pa.float64()),
            "frames_dropped": pa.array(drawn(SMALL), pa.uint64()),
            "latency_p99_ns": pa.array(drawn(RATES), pa.float64()),
        },
        "ports": {
            "port": pa.array(ports, pa.string()),
            "node": pa.array([port.partition(".")[0] for port in ports], pa.string()),
            "rate_bps": pa.array([1e9 * (1 + n % 3) for n in range(len(ports))], pa.float64()),
        },
        "demands": {
            "flow": pa.array([row[0] for row in demands], pa.string()),
            "time_ns": pa.array([100.0 * row[1] for row in demands], pa.float64()),
            "rate_bps": pa.array([1e10 if row[2] is None else row[2] for row in demands], pa.float64()),
            "limit_bytes": pa.array([7.0 if row[3] == 1 else math.inf for row in demands], pa.float64()),
            "turn_frames": pa.array([2 if row[4] == 2 else 0 for row in demands], pa.uint32()),
        },
        "paths": {
            "flow": pa.array([row[0] for row in paths], pa.string()),
            "ports": pa.array([f"{row[1]} s.0" for row in paths], pa.string()),
            "share": pa.array([draw(st.sampled_from([0.5, 1.0])) for _ in paths], pa.float64()),
        },
        "connections": {
            "flow": pa.array([row[0] for row in ended], pa.string()),
            "completed_ns": pa.array([5.0 if row[1] else None for row in ended], pa.float64()),
        },
        "transfers": {"name": pa.array(draw(st.sampled_from([[], ["moved"]])), pa.string())},
    }
    left_out = draw(st.sets(st.sampled_from(["demands", "paths", "connections", "transfers"])))
    warmup = draw(st.sampled_from([0.0, 3e-7, 1.2e-6]))
    kept = {name: pa.table(columns) for name, columns in tables.items() if name not in left_out}
    return _of({"simulated_s": 1.2e-6, "warmup_s": warmup}, kept)


def same(found: list[float], expected: list[float | None]) -> bool:
    return len(found) == len(expected) and all(
        (math.isnan(one) if other is None else one == other)
        for one, other in zip(found, expected, strict=True)
    )


def rows(result: Measurements, name: str) -> list[dict[str, Any]]:
    return result.table(name).to_pylist() if name in result.table_names else []


def plain_rates(result: Measurements) -> list[float | None]:
    begin, end = result.run["warmup_s"] * 1e9, result.run["simulated_s"] * 1e9
    ports = {row["port"]: row for row in rows(result, "ports")}
    transfers = {row["name"] for row in rows(result, "transfers")}
    found: list[float | None] = []
    for flow in rows(result, "flows"):
        own = [row for row in rows(result, "demands") if row["flow"] == flow["flow"]]
        first = {row["ports"].split()[0] for row in rows(result, "paths") if row["flow"] == flow["flow"]}
        line = sum(ports[port]["rate_bps"] for port in first if port in ports)
        line = line or sum(port["rate_bps"] for port in ports.values() if port["node"] == flow["source"])
        taken = flow["offered_bps"]
        found.append(taken)
        waits = any(row["turn_frames"] or row["limit_bytes"] < math.inf for row in own)
        if not own or waits or end <= begin or stem(flow["flow"]) in transfers or taken is None:
            continue
        ends = [*(row["time_ns"] for row in own[1:]), end]
        spans = [
            max(0.0, min(until, end) - max(row["time_ns"], begin))
            for row, until in zip(own, ends, strict=True)
        ]
        parts = [min(row["rate_bps"], line) * span for row, span in zip(own, spans, strict=True)]
        requested = math.fsum(parts) / (end - begin)
        if taken < HELD_BACK * requested:
            found[-1] = requested
    return found


@settings(deadline=None)
@given(results())
def test_asked_rates_are_those_of_each_flow(result: Measurements) -> None:
    assert same(demand_rates(result).tolist(), plain_rates(result))
    assert demand_rates(result) is demand_rates(result), "found once"


@settings(deadline=None)
@given(results())
def test_evenness_is_that_of_flows_that_ask_for_the_same(result: Measurements) -> None:
    ended = {row["flow"] for row in rows(result, "connections") if row["completed_ns"] is not None}
    transfers = {row["name"] for row in rows(result, "transfers")}
    most = {row["flow"]: row["rate_bps"] for row in rows(result, "demands") if row["turn_frames"]}
    by_class: dict[int, list[tuple[float, str, float]]] = defaultdict(list)
    for row, requested in zip(rows(result, "flows"), plain_rates(result), strict=True):
        name, got = row["flow"], row["throughput_bps"]
        if name not in ended and stem(name) not in transfers and got is not None and requested:
            by_class[row["class"]].append((most.get(name, requested), name, got))
    expected = []
    for asking in by_class.values():
        asking.sort()
        while asking:
            alike = [one for one in asking if one[0] <= SAME * asking[0][0]]
            asking = asking[len(alike) :]
            if len(alike) > 1:
                names = sorted({stem(name) for _, name, _ in alike})
                label = " and ".join(names[:2]) + (f" and {len(names) - 2} more" if len(names) > 2 else "")
                expected.append((label, len(alike), ps.jain([got for _, _, got in alike])))
    found = [(one.name, one.flows, one.jain) for one in evenness(result)]
    assert found == sorted(expected, key=lambda one: one[2])


@settings(deadline=None)
@given(results())
def test_the_worst_served_and_groups_are_those_of_each_flow(result: Measurements) -> None:
    flows = rows(result, "flows")

    def served(at: int) -> tuple[float, float]:
        requested, got = plain[at], flows[at]["throughput_bps"] or 0.0
        return (got / requested if requested else 2.0, -(flows[at]["latency_p99_ns"] or 0.0))

    plain = plain_rates(result)
    if flows:
        assert _Served(result).order().tolist() == sorted(range(len(flows)), key=served)
    number, names = stems(result.table("flows")["flow"])
    assert [names[n] for n in number] == [stem(row["flow"]) for row in flows]


def test_groups_of_many_flows_are_sums_and_largest() -> None:
    scenario = ps.Scenario(duration="50 us").topology.star(hosts=30, rate="10 Gb/s", phy="none")
    for name, first, last in (("a", 1, 14), ("b", 15, 29)):
        scenario = scenario.flow(name, from_=f"h{first}..h{last}", to="h0", source="greedy")
    result = scenario.run()
    expected: dict[str, dict[str, Any]] = {}
    for row in result.rows("flows"):
        name = stem(row["flow"])
        own = expected.setdefault(
            name, {"group": name, "throughput_bps": 0.0, "frames_dropped": 0, "latency_p99_ns": 0.0}
        )
        own["throughput_bps"] += row["throughput_bps"]
        own["frames_dropped"] += row["frames_dropped"]
        own["latency_p99_ns"] = max(own["latency_p99_ns"], row["latency_p99_ns"] or 0.0)
    assert grouped(result) == list(expected.values())


@settings(deadline=None)
@given(results())
def test_receivers_are_sums_of_shares(result: Measurements) -> None:
    sums: dict[str, float] = defaultdict(float)
    for row in rows(result, "paths"):
        sums[row["flow"]] += row["share"]
    assert receivers(result) == {flow: round(share) for flow, share in sums.items() if share > 1.5}


def test_the_slowest_flows_have_the_longest_tails() -> None:
    random = np.random.default_rng(1)
    names = [f"f{n}" for n in range(20)]
    pieces = {}
    for name in names:
        below = np.unique(np.append(random.random(random.integers(1, 9)), 1.0))
        pieces[name] = (np.cumsum(random.integers(1, 99, len(below))).astype(float), below)
    table = pa.table(
        {
            "flow": [name for name in names for _ in pieces[name][0]],
            "to_ns": np.concatenate([ends for ends, _ in pieces.values()]),
            "share_below": np.concatenate([below for _, below in pieces.values()]),
        }
    )
    found = tails(_of({}, {"latencies": table}), 5)
    at_tail = {name: ends[np.searchsorted(below, 0.99)] for name, (ends, below) in pieces.items()}
    slowest = sorted(names, key=lambda name: -at_tail[name])[:5]
    assert list(found.ends_ns) == [name for name in names if name in slowest]
    for name in slowest:
        assert found.ends_ns[name].tolist() == pieces[name][0].tolist()
        assert found.above[name].tolist() == (1.0 - pieces[name][1]).tolist()


def test_nodes_have_the_numbers_of_the_topology() -> None:
    topology = {"nodes": [{"name": name} for name in ("h1", "s", "h0")], "links": [{"a": "h0", "b": "s"}]}
    ports = pa.table({"node": ["s", "nobody"], "peer": ["h1", "h0"]})
    found = numbers_of(topology, ports)
    assert (found.links.tolist(), found.ports.tolist()) == ([[2, 1]], [[1, 0], [3, 2]])


def test_durations_of_connections_are_unknown_where_nothing_was_timed() -> None:
    result = (
        ps.Scenario(duration="60 ms")
        .topology.star(hosts=3, rate="10 Gb/s", phy="none")
        .flow("done", from_="h0", to="h2", limit="3 kB", source=ps.tcp())
        .flow("long", from_="h1", to="h2", limit="1 GB", source=ps.tcp())
        .flow("late", from_="h1", to="h2", start="59999 us", limit="1 GB", source=ps.tcp())
        .run()
    )
    found = connection_rows(result)
    for row in found:
        for what, number in (("round_trip", "round_trips"), ("exchange", "exchanges")):
            assert (row[f"{what}_mean_ns"] is None) == (row[number] == 0)
    assert [row["round_trips"] > 0 for row in found] == [True, True, False]
    assert unfinished(result) == ["long", "late"]


@pytest.mark.parametrize("values", [[True, False], [], [None, True]])
def test_truth_values_need_no_pandas(values: list[bool | None]) -> None:
    assert numpy_of(pa.array(values, pa.bool_())).tolist() == values


def _of(run: dict[str, Any], tables: dict[str, pa.Table]) -> Measurements:
    return Measurements(
        run=run,
        scenario_toml="",
        topology={},
        description={},
        tables={name: (lambda table=table: table) for name, table in tables.items()},
    )
