"""The report page of a large result: what matters most, sums of the rest, and a size that opens at once."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import penstock as ps
from penstock import plots
from penstock.measurements import curves_of, numpy_of
from penstock.report.groups import with_groups
from penstock.report.page import columns, document, write_report
from penstock.report.shorten import FEWER_LINKS, MOST_ROWS, MOST_SERIES, largest_series, shorten


def test_the_rows_that_matter_stay_and_sums_are_of_all() -> None:
    count = 5 * MOST_ROWS
    flows = pa.table(
        {
            "flow": [f"f{n}" for n in range(count)],
            "frames_dropped": [1 if n == 4_321 else 0 for n in range(count)],
            "latency_p99_ns": [float(n % 977) for n in range(count)],
            "throughput_bps": [1e9 if n != 77 else 0.0 for n in range(count)],
        }
    )
    few = pa.table({"class": [0]})
    page = shorten({"flows": flows, "classes": few}, {"nodes": [], "links": []})
    kept = set(page.tables["flows"]["flow"].to_pylist())
    assert len(kept) == MOST_ROWS and {"f4321", "f77", "f976"} <= kept
    reported = page.totals["flows"]
    assert (
        reported["rows"],
        reported["sums"]["frames_dropped"],
        reported["above_zero"]["frames_dropped"],
    ) == (
        count,
        1,
        1,
    )
    assert reported["sums"]["throughput_bps"] == (count - 1) * 1e9
    assert page.tables["classes"] is few and set(page.totals) == {"flows"}
    assert "(flows 1,000 of 5,000)" in page.notes[0]


def test_drawn_links_have_the_ports_of_both_their_ends() -> None:
    hosts = [f"h{n}" for n in range(2_000)]
    links = [{"a": host, "b": "sw"} for host in hosts]
    nodes = [{"name": name, "role": "host"} for name in hosts] + [{"name": "sw", "role": "switch"}]
    ports = pa.table(
        {
            "node": [*hosts, *["sw"] * len(hosts)],
            "peer": [*["sw"] * len(hosts), *hosts],
            "drops": [0] * len(hosts) + [7 if n == 1_234 else 0 for n in range(len(hosts))],
            "paused_s": [1.0 if n == 999 else 0.0 for n in range(2 * len(hosts))],
            "utilisation": [n / 4_000 for n in range(2 * len(hosts))],
        }
    )
    page = shorten({"ports": ports}, {"nodes": nodes, "links": links})
    drawn = {link["a"] for link in page.topology["links"]}
    assert len(drawn) == FEWER_LINKS and {"h1234", "h999", "h1999"} <= drawn
    ends = set(zip(*(page.tables["ports"][name].to_pylist() for name in ("node", "peer")), strict=True))
    assert ends == {(host, "sw") for host in drawn} | {("sw", host) for host in drawn}
    assert page.totals["topology"] == {"hosts": 2_000, "switches": 1, "links": 2_000}
    assert page.totals["ports"]["above_zero"]["drops"] == 1


def test_whole_trees_stay() -> None:
    tree = [n // 300 for n in range(3_000)]
    edges = pa.table({"tree": tree, "paused_ns": [float(one == 7) + 0.001 * one for one in tree]})
    flows = pa.table({"tree": tree, "flow": ["f"] * 3_000})
    page = shorten({"congestion": edges, "congestion_flows": flows}, {"nodes": [], "links": []})
    for name in ("congestion", "congestion_flows"):
        kept = page.tables[name]["tree"].to_pylist()
        assert {one: kept.count(one) for one in set(kept)} == {7: 300, 9: 300, 8: 300}


def test_series_with_the_largest_sums_stay() -> None:
    times = np.arange(2.0)
    curves = {
        "m": {f"e{n}": (times, np.full(2, float(n))) for n in range(100)},
        "other": {"e0": (times, times)},
    }
    kept = largest_series(curves)
    assert list(kept["m"]) == [f"e{n}" for n in range(100 - MOST_SERIES, 100)]
    assert kept["other"] == curves["other"]


def incast(senders: int, *, names: int = 1) -> ps.Result:
    """So many hosts send to the last one, in flows of so many names, and it sends to the first."""
    scenario = (
        ps.Scenario("1 ms").topology.star(hosts=senders + 1, rate="10 Gb/s", phy="none").probes(bin="100 us")
    )
    for name in range(names):
        each = {"constant": {"rate": f"{10 / names / senders:.6f} Gb/s"}}
        scenario = scenario.flow(f"incast{name}", from_=f"h0..h{senders - 1}", to=f"h{senders}", source=each)
    return scenario.flow("back", from_=f"h{senders}", to="h0", source={"constant": {"rate": "1 Gb/s"}}).run()


def test_flows_of_a_name_are_added_up_before_series_are_cut() -> None:
    result = incast(300)
    curves = result.curves()
    assert len(curves["flow_throughput_bps"]) == 256
    (name,) = curves["group_throughput_bps"]
    received = curves["port_tx_bps"]["sw.300->h300"][1]
    assert name == "incast0" and received.max() > 9e9
    # In wire bits the link is full; frames are 1,500 B of 1,520 B.
    assert curves["group_throughput_bps"][name][1] == pytest.approx(received, rel=0.02)
    found = with_groups(result)
    assert list(found["group_throughput_bps"]) == ["incast0, 300 flows", "back"]
    assert found["group_throughput_bps"]["back"] is curves["flow_throughput_bps"]["back"]
    assert "the 256 busiest" in plots.timeline(result).axes[0].get_title("left")


def test_few_flows_or_many_names_are_not_drawn_together() -> None:
    few, many = incast(5), incast(4, names=8)
    for result in (few, many):
        assert "group_throughput_bps" in result.curves()
        assert "group_throughput_bps" not in with_groups(result)


def test_curves_are_found_wherever_their_rows_stand() -> None:
    table = pa.table(
        {
            "metric": ["a", "a", "a", "b", "a"],
            "entity": ["x", "x", "y", "y", "x"],
            "time_ns": [0.0, 1.0, 0.0, 0.0, 2.0],
            "value": [1.0, 2.0, 3.0, 4.0, 5.0],
        }
    )
    record = {
        (metric, entity): [column.tolist() for column in curve]
        for metric, of in curves_of(table).items()
        for entity, curve in of.items()
    }
    assert record == {
        ("a", "x"): [[0.0, 1.0, 2.0], [1.0, 2.0, 5.0]],
        ("a", "y"): [[0.0], [3.0]],
        ("b", "y"): [[0.0], [4.0]],
    }
    assert curves_of(table.slice(0, 0)) == {}


def test_columns_as_numpy() -> None:
    cases = (
        (pa.chunked_array([[1, 2], [3]]), [1, 2, 3]),
        (pa.chunked_array([[1.5]]), [1.5]),
        (pa.chunked_array([], pa.int64()), []),
        (pa.chunked_array([["a", "b"]]), ["a", "b"]),
        (pa.chunked_array([[True], [False]]), [True, False]),
        (pa.array([4, 5], pa.uint32()), [4, 5]),
    )
    for column, expected in cases:
        assert numpy_of(column).tolist() == expected
    for column in (pa.chunked_array([[1, None], [3]]), pa.array([1.0, None, 3.0])):
        assert np.array_equal(numpy_of(column), [1.0, np.nan, 3.0], equal_nan=True)


def test_columns_of_numbers_need_no_pandas() -> None:
    """Arrow would load it to ask about each array, in every worker of a sweep."""
    program = (
        "import sys, pyarrow; from penstock import Result, _core; from penstock.library import read;"
        "s = read('first-light'); r = Result.from_core(_core.run(s.text, s.file, threads=1));"
        "from penstock.measurements import numpy_of;"
        "numpy_of(r.table('series')['value']); assert 'pandas' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_names_are_written_once() -> None:
    table = pa.table({"port": ["a", "b"] * 10, "value": [1.0, 2.5] * 10, "few": [str(n) for n in range(20)]})
    found = columns(table)
    assert found["port"] == {"names": ["a", "b"], "of": [0, 1] * 10}
    assert found["value"][:2] == [1, 2.5] and found["few"] == [str(n) for n in range(20)]  # type: ignore[index]
    assert columns(table.slice(0, 0)) == {"port": [], "value": [], "few": []}


@pytest.mark.parametrize(("k", "hosts"), [(6, 54), (16, 1_024)])
def test_a_report_has_at_most_5_mb(tmp_path: Path, k: int, hosts: int) -> None:
    result = (
        ps.Scenario(duration="60 us")
        .topology.fat_tree(k=k, rate="100 Gb/s", phy="none")
        .transfers("t", from_="all", to="all", sizes="fb_hadoop", arrivals=ps.poisson(load=0.6))
        .flow("incast", from_="h*", to="h0", source="greedy", limit="100 kB")
        .flow_control.pfc()
        .run()
    )
    write_report(result, tmp_path / "report.html")
    assert (tmp_path / "report.html").stat().st_size < 5e6
    content: dict[str, Any] = document(result)
    topology = content["totals"].get("topology", {})
    assert topology.get("hosts", hosts) == hosts
    assert all(re.search(r"parquet|json|series", note) for note in content["run"]["warnings"])
