"""Frames that switches copy to several hosts, in tables, shares and words."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.analysis import copies, forensics, oracle
from penstock.errors import ScenarioError
from penstock.result import Result
from penstock.scenario import Scenario

CHAIN = """
[simulation]
duration = "4 ms"

[topology.chain]
switches = 2
hosts_per_switch = 2
rate = "10 Gb/s"
delay = "1 us"
phy = "none"
overhead = "0 B"

[flow_control.credit]
buffer = "10240 B"
channels = "all"

[hosts."h1.1".receive]
rate = "1 Gb/s"

[[flows]]
name = "all"
from = "h0.0"
to = { multicast = ["h0.1", "h1.0", "h1.1"] }
channel = "M0"
frame = "1000 B"
source = "greedy"
"""


@pytest.fixture(scope="module")
def result() -> Result:
    """One sender, a host beside it, and two behind a second switch, of which one is slow."""
    return Scenario.from_toml(CHAIN).run()


def test_every_copy_is_counted_where_it_ends(result: Result) -> None:
    (flow,) = result.rows("flows")
    paths = {row["destination"]: row for row in result.rows("paths")}
    assert flow["destination"] == "all of 3 hosts" and [row["share"] for row in paths.values()] == [1, 1, 1]
    assert flow["frames_delivered"] == sum(row["frames_delivered"] for row in paths.values())
    # Each frame that has passed both switches was copied twice; one that waits has been copied once at least.
    assert flow["frames_delivered"] < flow["frames_sent"] + flow["frames_copied"] <= 3 * flow["frames_sent"]
    # Two links of 800 ns and 1 us to the host beside it, three to the others.
    assert [paths[host]["latency_min_ns"] for host in ("h0.1", "h1.0")] == [3600, 5400]
    # One frame each 8 us, which all must wait for.
    assert paths["h1.1"]["frames_delivered"] * 8000 == pytest.approx(4e6, rel=0.01)
    assert 0 < paths["h0.1"]["frames_delivered"] - paths["h1.1"]["frames_delivered"] <= 32


def test_receivers_share_the_links_of_a_frame(result: Result) -> None:
    assert copies.receivers(result) == {"all": 3}
    (reported,) = copies.for_each(result, result.rows("flows"))
    assert 3 * reported["throughput_bps"] == pytest.approx(result.rows("flows")[0]["throughput_bps"])
    # Fair is what the link that all share gives, though three hosts read it.
    (share,) = oracle.assess(result).shares
    assert share.fair_bps["max_min"] == pytest.approx(10e9)


def test_what_holds_the_sender_is_reported(result: Result) -> None:
    output = "\n".join(forensics.why(result, "all"))
    assert (
        "all (h0.0 to all of 3 hosts) got 1.0" in output and "at each of 3 hosts, on average, of " in output
    )
    assert "because sw1." in output and "->h1.1 (on its path) was blocked by a slow receiver" in output


def test_copies_need_a_multicast_channel(tmp_path: Path) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(CHAIN.replace('"M0"', '"O0"'), encoding="utf-8")
    with pytest.raises(ScenarioError, match="frames for several hosts on channel O0"):
        Scenario.from_file(path).run()
