"""`Result.path`: listed paths from the table, all others from the scenario."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

import penstock as ps
from penstock.errors import ArgumentError, UnknownNameError


def _fabric() -> ps.Scenario:
    return ps.Scenario(duration="20 us", name="paths").topology.leaf_spine(
        leaves=2, spines=4, hosts_per_leaf=4, rate="10 Gb/s", phy="none", uplink_rate="10 Gb/s"
    )


def test_a_listed_path_is_that_of_the_table() -> None:
    result = _fabric().flow("all", from_="all", to="all", source=ps.constant("1 Gb/s")).run()
    rows = result.rows("paths")
    assert len(rows) == 8 * 7
    for row in rows:
        assert result.path(row["flow"], row["destination"]) == row["ports"].split()


def test_a_path_that_is_not_listed_is_computed(tmp_path: Path) -> None:
    """1,040 hosts have more than a million pairs; the table is empty then."""
    result = (
        ps.Scenario(duration="2 us", name="many")
        .topology.leaf_spine(
            leaves=8, spines=4, hosts_per_leaf=130, rate="10 Gb/s", phy="none", uplink_rate="100 Gb/s"
        )
        .flow("all", from_="all", to="all", source=ps.constant("100 Mb/s"))
        .run()
    )
    assert result.table("paths").num_rows == 0
    found = {result.path("all[h0]", f"h{host}")[1] for host in (130, 260, 390, 520, 650, 780, 910, 1039)}
    assert len(found) > 1, "a hash spreads destinations over the spines"
    path = result.path("all[h0]", "h1039")
    assert (path[0], path[-1], len(path)) == ("h0.0->leaf0", "leaf7.129->h1039", 4)
    assert result.path("all[h0]", "h1") == ["h0.0->leaf0", "leaf0.1->h1"]
    assert pickle.loads(pickle.dumps(result)).path("all[h0]", "h1039") == path
    assert ps.Result.load(result.save(tmp_path / "many", report=False)).path("all[h0]", "h1039") == path
    with pytest.raises(UnknownNameError, match="does not send to 'h0'"):
        result.path("all[h0]", "h0")


def test_names_that_are_wrong() -> None:
    scenario = _fabric().flow("one", from_="h0", to="h7", source="greedy")
    result = scenario.flow("two", from_="h0", to=["h1", "h2"], source=ps.constant("1 Gb/s")).run()
    assert result.path("one") == result.path("one", "h7")
    with pytest.raises(UnknownNameError, match="did you mean one"):
        result.path("onee")
    with pytest.raises(ArgumentError, match="sends to 2 hosts"):
        result.path("two")
    with pytest.raises(UnknownNameError, match="does not send to 'h3'; known names: h1, h2"):
        result.path("two", "h3")
    with pytest.raises(ArgumentError):
        result.path(3)  # type: ignore[arg-type]
