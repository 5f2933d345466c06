"""Fair shares go by what is in force: what DCBX negotiated, and what changed during the run."""

from __future__ import annotations

import pytest

import penstock as ps
from penstock.analysis import oracle
from penstock.result import summary

TRAFFIC = """
[simulation]
duration = "6 ms"
[topology.star]
hosts = 3
rate = "10 Gb/s"
phy = "none"
[[flows]]
name = "storage"
from = "h0"
to = "h2"
priority = 3
source = "greedy"
[[flows]]
name = "lan"
from = "h1"
to = "h2"
priority = 0
source = "greedy"
"""
OURS = """
[switch.dcbx.ets]
willing = false
own = { classes = [0,0,0,1,0,0,0,0], percent = [40,60], algorithms = ["ets","ets"] }
"""
THEIRS = """
[switch.dcbx.ets]
willing = true
[host.dcbx.ets]
willing = false
own = { classes = [0,0,0,1,0,0,0,0], percent = [25,75], algorithms = ["ets","ets"] }
recommended = { classes = [0,0,0,1,0,0,0,0], percent = [25,75], algorithms = ["ets","ets"] }
"""
RATE = """
[[faults]]
link = ["h2", "sw"]
at = "2 ms"
rate = "1 Gb/s"
[[faults]]
link = ["sw", "h2"]
at = "4 ms"
rate = "5 Gb/s"
"""
DRR = "[switch.scheduler.drr]\nweights = [1,1,1,3,1,1,1,1]\n"
CHANGES = "".join(
    f"""
[[faults]]
link = ["sw", "h2"]
towards = "h2"
at = "{at}"
scheduler = {{ drr = {{ weights = [{lan},1,1,{storage},1,1,1,1] }} }}
"""
    for at, lan, storage in (("2 ms", 3, 1), ("5 ms", 1, 1))
)
CASES = {
    "own settings of DCBX": (OURS, [0.6, 0.4], "those of ets, which DCBX negotiated"),
    "settings of the peer": (THEIRS, [0.75, 0.25], "those of ets, which DCBX negotiated"),
    "rates that change": (DRR + RATE, None, "those of drr"),
    "weights that change": (
        DRR + CHANGES,
        [(2 * 3 + 3 * 1 + 1 * 2) / 24, (2 * 1 + 3 * 3 + 1 * 2) / 24],
        "those of drr; from 2 ms on those of drr; from 5 ms on those of drr",
    ),
    "both": (
        DRR + RATE + CHANGES,
        None,
        "those of drr; from 2 ms on those of drr; from 5 ms on those of drr",
    ),
    "both with DCBX": (OURS + RATE, None, "those of ets, which DCBX negotiated"),
}


@pytest.mark.parametrize("case", CASES)
def test_flows_that_keep_their_shares_do_not_deviate(case: str) -> None:
    settings, parts, origin = CASES[case]
    result = ps.Scenario.from_toml(TRAFFIC + settings).run()
    found = oracle.assess(result)
    assert found.weights_from == origin
    assert found.is_guaranteed
    link = 10e9 * 1522 / 1542
    for share, part in zip(found.shares, parts or [None, None], strict=True):
        assert abs(share.deviation("max_min") or 1) < 0.005, (share, found.notes)
        assert abs(share.deviation("proportional") or 1) < 0.005
        if part is not None:
            assert share.fair_bps["max_min"] == pytest.approx(part * link, rel=0.001)
    reported = summary.against_max_min(result)
    assert reported is not None and abs(reported["largest_deviation"]) < 0.005


def test_a_class_that_is_starved_is_due_nothing() -> None:
    """No percentage of next to nothing."""
    text = TRAFFIC.replace('to = "h2"\npriority = 0', 'to = "h2"\npriority = 0\nstart = "1 us"')
    found = oracle.assess(ps.Scenario.from_toml(text).run())
    assert {share.flow: share.deviation("max_min") for share in found.shares}["lan"] is None


def test_switches_that_differ_where_no_classes_meet_promise_the_same() -> None:
    text = """
[simulation]
duration = "5 ms"
[topology.chain]
switches = 2
hosts_per_switch = 2
rate = "10 Gb/s"
phy = "none"
[switch.scheduler.drr]
weights = [1,1,1,3,1,1,1,1]
[switches.sw0.scheduler.drr]
weights = [1,1,1,1,1,1,1,1]
[[flows]]
name = "a"
from = "h0.0"
to = "h1.0"
priority = 3
source = "greedy"
[[flows]]
name = "b"
from = "h1.1"
to = "h1.0"
source = "greedy"
"""
    result = ps.Scenario.from_toml(text).run()
    found = oracle.assess(result)
    assert (found.weights_from, found.is_guaranteed) == ("those of drr", True)
    assert all(abs(share.deviation("max_min") or 1) < 0.01 for share in found.shares)
