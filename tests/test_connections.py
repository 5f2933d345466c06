"""Connections as a user meets them: in the report of a run, in why, compare and fair."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from conftest import Command
from penstock.analysis import connections, forensics, oracle

SEGMENT, ACK, OVERHEAD = 1522, 64, 20
ROUND_TRIP_S = 2 * ((SEGMENT + ACK + 2 * OVERHEAD) * 8 / 10e9 + 2 * 100e-9)
"""Over one switch, 10 Gb/s and 100 ns a link."""


def star(*, duration: str = "1 ms") -> ps.Scenario:
    return ps.Scenario(duration=duration).topology.star(hosts=4, rate="10 Gb/s", delay="100 ns", phy="none")


def test_a_window_asks_for_itself_once_a_round_trip() -> None:
    scenario = star().flow("bulk", from_="h0", to="h3", source=ps.window("2 frames"))
    (share,) = oracle.assess(scenario.run()).shares
    assert share.demand_bps == pytest.approx(2 * SEGMENT * 8 / ROUND_TRIP_S, rel=1e-9)
    assert share.fair_bps["max_min"] == pytest.approx(share.demand_bps, rel=1e-9)
    assert share.deviation("max_min") == pytest.approx(0, abs=0.005)


def test_what_a_connection_is_not_given_it_does_not_send_later() -> None:
    """Two share the link until 1 ms. A source would then send what it has kept; a window has kept nothing."""
    scenario = star(duration="4 ms").flow(
        "bulk", from_="h0", to="h3", source=ps.window("64 frames"), stop="1 ms"
    )
    scenario = scenario.flow("greedy", from_="h1", to="h3", source="greedy", stop="1 ms").flow_control.pfc()
    bulk, _ = oracle.assess(scenario.run()).shares
    assert bulk.fair_bps["max_min"] == pytest.approx(10e9 * SEGMENT / 1542 / 2 / 4, rel=1e-9)


def test_a_connection_says_what_held_it_back() -> None:
    """A receive window of two segments, 2.9 us a round trip; of 100 Mb/s the wire alone."""
    scenario = star().flow("bulk", from_="h0", to="h3", source=ps.tcp(receive_window="2 frames"))
    result = scenario.run()
    row = connections.of_flow(result, "bulk")
    assert row is not None
    shares = connections.held(row)
    assert list(shares) == list(connections.HELD)
    assert sum(shares.values()) == pytest.approx(1, abs=1e-12)
    assert shares["application"] == shares["pause"] == shares["congestion_control"] == 0
    # The second of the two waits for the first to leave, once: then acknowledgements come as segments went.
    assert shares["receive_window"] > 0.9
    output = "\n".join(forensics.why(result, "bulk"))
    assert (
        f"limited by: receive window or send buffer {shares['receive_window']:.1%}".replace("%", " %")
        in output
    )
    window = star().flow("window", from_="h0", to="h3", source=ps.window("2 frames")).run()
    row = connections.of_flow(window, "window")
    assert row is not None and connections.held(row) == {}


@settings(max_examples=25, deadline=None)
@given(
    preset=st.sampled_from(("ns2", "linux", "mcalpine-2005", "datacenter")),
    window=st.sampled_from(("unlimited", "3 frames", "64 KiB")),
    transfer=st.sampled_from((None, "10 kB", "300 kB")),
    idle=st.sampled_from((None, "20 us")),
    queue=st.integers(min_value=2, max_value=60),
    lossless=st.booleans(),
    seed=st.integers(min_value=1, max_value=99),
)
def test_shares_of_time_add_up(
    preset: str, window: str, transfer: str | None, idle: str | None, queue: int, lossless: bool, seed: int
) -> None:
    """Two connections, and a burst beside them, whatever holds them back."""
    scenario = star(duration="3 ms")
    scenario = (
        scenario.flow_control.pfc() if lossless else scenario.switch(buffer={"queue": f"{queue} frames"})
    )
    tcp = ps.tcp(preset, receive_window=window, window_scaling=True, transfer=transfer, idle=idle)
    scenario = scenario.flow("tcp", from_=["h0", "h1"], to="h3", source=tcp)
    scenario = scenario.flow("burst", from_="h2", to="h3", source="greedy", start="1 ms", stop="2 ms")
    rows = connections.rows(scenario.run(seed=seed))
    assert len(rows) == 2
    for row in rows:
        shares = connections.held(row)
        assert set(shares) == set(connections.HELD)
        assert sum(shares.values()) == pytest.approx(1, abs=1e-9)
        assert all(0 <= share <= 1 for share in shares.values())


def test_a_conversation_is_reported_as_exchanges() -> None:
    talk = ps.conversation("iscsi_write", outstanding=4)
    result = star(duration="5 ms").flow("talk", from_="h0", to="h3", source=talk).run()
    row = connections.of_flow(result, "talk")
    assert row is not None
    what, number, times = connections.timed(row)
    assert (what, number) == ("exchanges", row["exchanges"])
    assert number > 0 and times["min"] is not None
    assert any("depends on its responses" in line for line in forensics.why(result, "talk"))


def test_what_comes_back_loads_the_links_back() -> None:
    """Responses of 64 times their requests share the link to h0 with a greedy flow: half of it each."""
    read = ps.request_response("64 B", "4096 B", outstanding=256)
    scenario = star().flow("read", from_="h0", to="h3", frame="1024 B", source=read)
    scenario = scenario.flow("greedy", from_="h1", to="h0", frame="1024 B", source="greedy")
    result = scenario.flow_control.pfc().run()
    (path,) = [row for row in result.rows("paths") if row["flow"] == "read"]
    assert (path["ports"], path["ports_back"]) == ("h0.0->sw sw.3->h3", "h3.0->sw sw.0->h0")
    read_share, greedy = oracle.assess(result).shares
    wire = 1044 / 1024
    # Rates of requests count their responses, and these alone load the link.
    each = 10e9 / wire / (1 + 64 / 65)
    assert greedy.fair_bps["max_min"] == pytest.approx(each, rel=1e-9)
    assert read_share.fair_bps["max_min"] == pytest.approx(each, rel=1e-9)
    # Exchanges that are complete count; 256 are on their way at the end.
    assert read_share.measured_bps == pytest.approx(each, rel=0.02)
    assert any("The demand of a connection" in note for note in oracle.assess(result).notes)


def test_a_conversation_counts_in_both_directions() -> None:
    """Answers of 64 times their questions share the link to h0 with a greedy flow."""
    talk = ps.conversation(["1 KiB", "64 KiB"], outstanding=8)
    scenario = star(duration="5 ms").flow("talk", from_="h0", to="h3", source=talk)
    result = scenario.flow("greedy", from_="h1", to="h0", source="greedy").flow_control.pfc().run()
    of_talk, greedy = oracle.assess(result).shares
    assert of_talk.fair_bps["max_min"] == pytest.approx(greedy.fair_bps["max_min"], rel=1e-9)
    row = connections.of_flow(result, "talk")
    (there,) = [flow["throughput_bps"] for flow in result.rows("flows") if flow["flow"] == "talk"]
    assert row is not None
    moved = row["application_bytes"] * 8 / result.run["simulated_s"]
    assert of_talk.measured_bps > 30 * there
    # Frames have headers, and what is on its way at the end counts.
    assert moved < of_talk.measured_bps < 1.2 * moved


def test_acknowledgements_take_their_part_of_the_link_back() -> None:
    scenario = star().flow("bulk", from_="h0", to="h3", source=ps.window("64 frames"))
    scenario = scenario.flow("against", from_="h3", to="h0", source="greedy")
    bulk, against = oracle.assess(scenario.run()).shares
    # Both at one rate fill the link from h3: segments of the one, acknowledgements of the other.
    each = 10e9 * SEGMENT / (SEGMENT + OVERHEAD + ACK + OVERHEAD)
    assert bulk.fair_bps["max_min"] == pytest.approx(each, rel=1e-9)
    assert against.fair_bps["max_min"] == pytest.approx(each, rel=1e-9)


def test_a_run_tells_round_trips_and_exchanges(penstock: Command, tmp_path: Path) -> None:
    done = penstock("run", "closed-loops")
    assert done.returncode == 0, done.stderr
    title, rows = done.stdout.partition("Connections")[1:]
    assert title
    assert "exchanges" in rows.split("requests", 1)[1].splitlines()[0]
    assert "round trips" in rows.split("\nbulk", 1)[1].splitlines()[0]
    page = (tmp_path / "out/closed-loops/report.html").read_text("utf-8")
    assert '"round_trip_mean_ns"' in page
    found = json.loads(penstock("run", "closed-loops", "--json").stdout)["connections"]
    assert [row["name"] for row in found] == ["requests", "bulk"]
    assert found[0]["exchange_ns"]["min"] == pytest.approx(55_440, rel=1e-3)
    assert found[0]["round_trip_ns"]["min"] is None
    assert found[1]["completed_ns"] > 7e6


def test_a_scenario_without_connections_has_none(penstock: Command, small: Path) -> None:
    done = penstock("run", small, "--no-report")
    assert "Connections" not in done.stdout
    assert json.loads(penstock("run", small, "--json").stdout)["connections"] == []


def test_series_have_what_connections_delivered() -> None:
    result = ps.run("closed-loops")
    _, bins = result.series("flow_throughput_bps", "bulk")
    (bulk,) = [row for row in result.rows("flows") if row["flow"] == "bulk"]
    assert sum(bins) * 200e-6 / 8 == pytest.approx(bulk["bytes_delivered"], rel=1e-9)


def test_results_that_differ_in_connections_are_compared(penstock: Command, tmp_path: Path) -> None:
    text = (Path(ps.__file__).parent / "scenarios/closed-loops.toml").read_text("utf-8")
    (tmp_path / "small.toml").write_text(text.replace("64 frames", "4 frames"), "utf-8")
    penstock("run", "closed-loops", "--no-report")
    penstock("run", "small.toml", "--no-report")
    reported = penstock("compare", "out/closed-loops", "out/small", "--json").stdout
    metrics = {(row["name"], row["metric"]) for row in json.loads(reported)["connections"]}
    assert {("requests", "exchange_mean_ns"), ("bulk", "round_trip_mean_ns")} <= metrics


def test_why_says_what_a_connection_waited_for() -> None:
    output = "\n".join(forensics.why(ps.run("closed-loops"), "requests"))
    assert "its load depends on its responses" in output
    assert "exchanges: minimum 55.44 us" in output
    assert "The busiest port on its path, left.2->right" in output


def test_why_tells_of_overtaking_and_of_paths_that_switches_choose() -> None:
    scenario = (
        ps.Scenario(duration="500 us")
        .topology.leaf_spine(leaves=2, spines=4, hosts_per_leaf=2, rate="10 Gb/s", phy="none")
        .switch(path_choice="spray")
        .flow("bulk", from_="h0", to="h2", source=ps.window("64 frames"))
        .flow("raw", from_="h1", to="h2", source="greedy")
        .flow_control.pfc()
    )
    result = scenario.run()
    assert any("without a timeout" in str(warning) for warning in result.run["warnings"])
    (bulk,) = connections.rows(result)
    assert bulk["frames_discarded"] > 0
    output = "\n".join(forensics.why(result, "bulk"))
    assert "it has stopped" in output
    assert "planned path" in output
    assert "planned path" in "\n".join(forensics.why(result, "raw"))
    assert any("planned path" in note for note in oracle.assess(result).notes)
    kept = scenario.switch(path_choice="hash").run()
    assert "planned path" not in "\n".join(forensics.why(kept, "raw"))
