"""The report page: curves of latency and slowdown, and series of queue pairs, are what the tables have."""

from __future__ import annotations

import math

import numpy as np
import pytest

import penstock as ps
from penstock.report.delays import delays
from penstock.report.page import document

SCENARIO = """
[simulation]
duration = "1 ms"
warmup = "50 us"
[topology.star]
hosts = 4
rate = "10 Gb/s"
delay = "500 ns"
phy = "none"
[probes]
bin = "20 us"
[flow_control.pfc]
priorities = [3]
accounting = "ingress"
xoff = "60 kB"
xon = "30 kB"
[[switch.queue_managers]]
classes = [3]
red = { weight = 1, min = "5 kB", max = "40 kB", max_probability = 0.2, action = "mark_only" }
[[transfers]]
name = "web"
from = "all"
to = "all"
sizes = "google_rpc"
arrivals = { poisson = { load = 0.5 } }
priority = 3
over = { rdma = { control = "dcqcn" } }
[[transfers]]
name = "answers"
from = ["h1", "h2", "h3"]
to = "h0"
sizes = "20 kB"
arrivals = { poisson = { load = 0.4 } }
priority = 3
over = { rdma = { control = "dcqcn" } }
"""


@pytest.fixture(scope="module")
def result() -> ps.Result:
    return ps.Scenario.from_toml(SCENARIO).run()


def test_latencies_are_those_of_the_table(result: ps.Result) -> None:
    found = delays(result)["latency"]
    rows = result.rows("latencies")
    names = {row["flow"] for row in rows}
    assert found["flows"] == len(names) and set(found["above"]) <= names
    assert found["ns"] == sorted({row["to_ns"] for row in rows if row["flow"] in found["above"]})
    for flow, above in found["above"].items():
        own = {row["to_ns"]: row["share_below"] for row in rows if row["flow"] == flow}
        below = 0.0
        for at, ns in enumerate(found["ns"]):
            below = own.get(ns, below)
            assert above[at] == 1.0 - below
        assert above[-1] == 0.0


def test_the_slowest_flows_are_reported() -> None:
    scenario = ps.Scenario("200 us").topology.star(hosts=13, rate="10 Gb/s", length="1 m", phy="none")
    source = {"constant": {"rate": "0.8 Gb/s"}}
    scenario = scenario.flow("alone", from_="h0", to="h1", source=source)
    reported = scenario.flow("crowd", from_="h2..h11", to="h12", source=source).run()
    found = delays(reported)["latency"]
    assert (found["flows"], len(found["above"])) == (11, 8)
    p99 = {row["flow"]: row["latency_p99_ns"] for row in reported.rows("flows")}
    assert min(p99[flow] for flow in found["above"]) >= max(
        slow for flow, slow in p99.items() if flow not in found["above"]
    ) * (1 - 1 / 32)


def test_slowdowns_are_those_of_the_transfers(result: ps.Result) -> None:
    web, answers = delays(result)["slowdown"]
    rows = [row for row in result.rows("transfers") if row["start_ns"] >= 50_000]
    for reported in (web, answers):
        own = [row for row in rows if row["name"] == reported["name"]]
        done = [row for row in own if not math.isnan(row["slowdown"] or math.nan)]
        assert (reported["begun"], reported["complete"]) == (len(own), len(done))
        assert sum(one["transfers"] for one in reported["bins"]) == len(done) > 20
        for one in reported["bins"]:
            values = sorted(
                row["slowdown"] for row in done if one["bytes_min"] <= row["bytes"] <= one["bytes_max"]
            )
            for rank, part in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99)):
                assert one[rank] == values[math.ceil(part * len(values)) - 1]
        assert reported["slowdown"]["max"] == max(row["slowdown"] for row in done)
    assert "steps" not in web and len(web["bins"]) > 5
    values = np.sort([row["slowdown"] for row in rows if row["name"] == "answers" and row["slowdown"]])
    assert answers["steps"]["slowdown"] == values.tolist()
    assert answers["steps"]["share"] == ((np.arange(len(values)) + 1) / len(values)).tolist()


def test_the_page_has_the_series_of_queue_pairs(result: ps.Result) -> None:
    page = document(result)
    assert page["delays"] == delays(result) and not page["thinned"]
    columns = page["tables"]["series"]["columns"]
    metrics, entities = ([c["names"][n] for n in c["of"]] for c in (columns["metric"], columns["entity"]))
    for metric in (
        "queue_pair_rate_bps",
        "queue_pair_in_flight_bytes",
        "queue_pair_alpha",
        "queue_pair_cnps",
    ):
        curves = result.curves()[metric]
        assert curves
        for entity, (_, values) in curves.items():
            at = [n for n, own in enumerate(zip(metrics, entities, strict=True)) if own == (metric, entity)]
            assert [columns["value"][n] for n in at] == values.tolist()


def test_nothing_is_reported_where_nothing_arrived() -> None:
    scenario = ps.Scenario("1 us").topology.star(hosts=2, rate="10 Gb/s", length="1 m", phy="none")
    none = scenario.flow("one", from_="h0", to="h1", source="greedy", start="900 ns").run()
    assert delays(none) == {"latency": {}, "slowdown": []}


def test_alpha_decays_by_its_gain_each_period_without_a_cnp() -> None:
    text = SCENARIO.partition("[[transfers]]")[0].replace("20 us", "110 us").replace("1 ms", "20 ms")
    flow = """
[[flows]]
name = "{}"
from = "{}"
to = "h0"
priority = 3
source = {{ rdma = {{ control = "dcqcn" }} }}
"""
    flows = flow.format("long", "h1") + flow.format("short", "h2") + 'stop = "1 ms"\n'
    curves = ps.Scenario.from_toml(text + flows).run().curves()
    alpha, cnps = (curves[f"queue_pair_{metric}"]["long/0"][1] for metric in ("alpha", "cnps"))
    assert alpha[0] == 1 and alpha.min() > 0 and cnps.sum() > 0
    # The default: g = 1/256, two periods of 55 us a bin; the estimate is looked at when a packet leaves.
    alone = [n for n in range(2, len(alpha) - 1) if not cnps[n - 1 : n + 2].any()]
    assert len(alone) > 50
    for n in alone:
        assert alpha[n + 1] / alpha[n] == pytest.approx((255 / 256) ** 2, rel=1e-6)


def test_a_warning_is_a_sentence_on_the_page() -> None:
    """Lines of the scenario, which a terminal shows, are left out; place and help stay."""
    scenario = ps.Scenario.from_toml(
        """
        [simulation]
        duration = "10 us"
        [topology.star]
        hosts = 2
        rate = "10 Gb/s"
        [[flows]]
        name = "f"
        from = "h0"
        to = "h1"
        source = { rdma = { control = "dcqcn" } }
        """
    )
    [warning] = document(scenario.run())["run"]["warnings"]
    assert warning.startswith('"f" reacts to marks (ECN), and nothing marks frames of priority 0; ')
    assert warning.endswith("(scenario.toml:11:39)")
    assert not set("\n^|") & set(warning)
