"""Printed answers for fabrics with many hosts: groups, worst service first, completion times, fairness."""

from __future__ import annotations

from pathlib import Path

import pytest

import penstock as ps
from conftest import Command
from penstock.analysis.demand import demand_rates, evenness

MANY = """
[simulation]
duration = "200 us"
[topology.leaf_spine]
leaves = 4
spines = 2
hosts_per_leaf = 16
rate = "25 Gb/s"
uplink_rate = "100 Gb/s"
length = "20 m"
phy = "none"
[flow_control.pfc]
priorities = [3]
xoff = "64 KiB"
xon = "32 KiB"
[[flows]]
name = "incast"
from = "h0..h39"
to = "h63"
priority = 3
source = "greedy"
[[flows]]
name = "across"
from = "h40..h50"
to = "h1"
priority = 3
source = { constant = { rate = "2 Gb/s" } }
[[transfers]]
name = "rpc"
from = "all"
to = "all"
priority = 3
sizes = "google_rpc"
arrivals = { poisson = { load = 0.1 } }
"""


@pytest.fixture(scope="module")
def many() -> ps.Result:
    return ps.Scenario.from_toml(MANY).run()


def test_asked_rates_are_what_the_source_asked_for(many: ps.Result) -> None:
    requested = dict(zip(many.table("flows")["flow"].to_pylist(), demand_rates(many), strict=True))
    taken = {row["flow"]: row["offered_bps"] for row in many.rows("flows")}
    assert requested["incast[h0]"] == 25e9 > 2 * taken["incast[h0]"]
    assert requested["across[h40]"] == pytest.approx(2e9, rel=0.05)
    assert requested["rpc[h63]"] == taken["rpc[h63]"]


def test_a_flow_asks_for_no_more_than_the_link_that_its_path_begins_at() -> None:
    """Of a host with two links, one is on the way."""
    link = {"rate": "10 Gb/s", "length": "20 m", "phy": "none"}
    links = [{**link, "between": [end, "s"]} for end in ("a", "a", "b", "c", "d")]
    scenario = (
        ps.Scenario(duration="500 us")
        .topology.explicit(hosts=["a", "b", "c", "d"], switches=["s"], links=links)
        .flow_control.pfc(priorities=[3], xoff="64 KiB", xon="32 KiB")
        .flow("one", from_=["a", "b", "c"], to="d", priority=3, source="greedy")
    )
    result = scenario.run()
    taken = [row["offered_bps"] for row in result.rows("flows")]
    assert demand_rates(result).tolist() == [10e9] * 3
    assert max(taken) < 6e9


def test_only_flows_that_ask_for_the_same_are_judged(many: ps.Result) -> None:
    found = {one.name: one for one in evenness(many)}
    assert set(found) == {"incast", "across"}
    assert found["incast"].flows == 40
    got = [row["throughput_bps"] for row in many.rows("flows") if row["flow"].startswith("incast[")]
    assert found["incast"].jain == pytest.approx(ps.jain(got))


def test_classes_and_connections_that_are_complete_are_not_compared() -> None:
    scenario = (
        ps.Scenario(duration="1 ms")
        .topology.star(hosts=5, rate="10 Gb/s", length="1 m", phy="none")
        .flow("low", from_="h0", to="h4", priority=0, source="greedy")
        .flow("high", from_="h1", to="h4", priority=5, source="greedy")
        .flow("one", from_="h2", to="h3", source=ps.tcp(transfer="10 kB"))
    )
    assert evenness(scenario.run()) == []


def test_who_received_nothing_has_no_delay(penstock: Command, small: Path) -> None:
    late = '[[flows]]\nname = "late"\nfrom = "h0"\nto = "h1"\nstart = "199990 ns"\nsource = "greedy"\n'
    small.write_text(small.read_text() + late)
    shown = penstock("run", str(small), "--no-report", "--out", "a").stdout
    (row,) = [line.split() for line in shown.splitlines() if line.startswith("late ")]
    assert row[-3:] == ["-", "-", "-"]


def test_groups_come_first_and_the_worst_served_flows(penstock: Command, tmp_path: Path) -> None:
    (tmp_path / "many.toml").write_text(MANY)
    shown = penstock("run", "many.toml", "--no-report", "--out", "a").stdout
    assert (
        shown.index("Groups of flows") < shown.index("the 10 worst served of 115") < shown.index("Transfers")
    )
    assert "fairness (Jain)" not in shown, "what the schedulers promise is told"
    assert "weighted max-min" in shown
    (tmp_path / "more.toml").write_text(MANY.replace('xoff = "64 KiB"', 'xoff = "200 KiB"'))
    assert penstock("run", "more.toml", "--no-report", "--out", "b").returncode == 0
    assert penstock("run", "more.toml", "--no-report", "--seed", "2", "--out", "c").returncode == 0
    compared = penstock("compare", "a", "b", "c")
    assert compared.returncode == 0, compared.stderr
    for words in (
        "Groups that differ",
        "Transfers that differ",
        "completion_p99_ns",
        "3       c: more, seed 2",
    ):
        assert words in compared.stdout
    several = penstock("run", "many.toml", "--replications", "2", "--no-report", "--out", "d").stdout
    for words in ("Groups of flows (totals)", "the worst first", "completion p99", "slowdown mean"):
        assert words in several
