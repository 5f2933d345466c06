"""Valiant and UGAL over the groups of a dragonfly: throughput by algebra, classes without a circle."""

from __future__ import annotations

import pytest

import penstock as ps
from penstock import _core

GROUPS = 9
"""Of 4 switches with 2 hosts and 2 global links each: every two groups share one global link."""
HOSTS = 72
DRAGONFLY = """\
[simulation]
duration = "{duration}"
warmup = "{warmup}"
[topology.dragonfly]
hosts_per_switch = 2
switches_per_group = 4
global_links = 2
rate = "100 Gb/s"
length = "10 m"
phy = "none"
[switch]
path_choice = {choice}
"""
SHARE = 1522 / 1542
"""Of a link for frames of 1522 B: preamble and gap take the rest."""
NEXT_GROUP = "{ permutation = { shift = 8 } }"


def rate(choice: str, to: str, offered: int) -> float:
    """Mean throughput of a host, in Gb/s."""
    text = DRAGONFLY.format(duration="160 us", warmup="60 us", choice=choice)
    text += '[switch.buffer]\nqueue = "200 kB"\n'
    text += f'[[flows]]\nname = "f"\nfrom = "all"\nto = {to}\nframe = "1522 B"\n'
    text += f'source = {{ poisson = {{ rate = "{offered} Gb/s" }} }}\n'
    rows = ps.run(ps.Scenario.from_toml(text)).rows("flows")
    assert len(rows) == HOSTS
    return float(sum(row["throughput_bps"] for row in rows)) / HOSTS / 1e9


def test_adversarial_traffic_gets_a_global_link_or_half_of_all() -> None:
    """All hosts of a group send to the next: eight share one link, or, over third groups, half of eight."""
    minimal = 100 * SHARE / 8
    assert rate('"hash"', NEXT_GROUP, 40) == pytest.approx(minimal, rel=0.06)
    # Two global links for each frame: at most 1/2; below that all of it arrives.
    assert rate('"valiant"', NEXT_GROUP, 36) == pytest.approx(36, rel=0.03)
    assert rate('"valiant"', NEXT_GROUP, 90) <= 50
    # The first switch sees its own queues alone.
    assert rate('"ugal"', NEXT_GROUP, 36) >= 2.4 * minimal


def test_uniform_traffic_costs_valiant_half_and_ugal_nothing() -> None:
    assert rate('"hash"', '"all"', 70) == pytest.approx(70, rel=0.02)
    assert rate('"ugal"', '"all"', 70) == pytest.approx(70, rel=0.02)
    assert rate('"valiant"', '"all"', 70) <= 0.8 * 70
    # A high threshold is minimal routing.
    assert rate('{ ugal = { threshold = "1 GB" } }', NEXT_GROUP, 40) == pytest.approx(
        100 * SHARE / 8, rel=0.06
    )


def lossless(choice: str, classes: int) -> ps.Scenario:
    """With PFC, and a class more behind each of the first global links."""
    text = DRAGONFLY.format(duration="300 us", warmup="0 s", choice=choice)
    text += 'queues = "per_priority"\n[switch.buffer]\ntotal = "2 MiB"\n'
    text += "[switch.maps]\ndscp_to_tc = { 26 = 3, 34 = 4, 42 = 5, other = 0 }\n"
    text += '[flow_control.pfc]\npriorities = [3, 4, 5]\naccounting = "ingress"\n'
    text += 'xoff = "20 KiB"\nxon = "15 KiB"\n'
    text += '[[flows]]\nname = "all"\nfrom = "all"\nto = "all"\ndscp = 26\nsource = "greedy"\n'
    changes = ["26 = 34", "34 = 42"][: classes - 1]
    for group in range(GROUPS if changes else 0):
        others = ", ".join(f'"sw{other}.*"' for other in range(GROUPS) if other != group)
        change = f"{{ to = [{others}], dscp = {{ {', '.join(changes)} }} }}"
        text += f'[switches."sw{group}.*"]\nmaps = {{ remap = [{change}] }}\n'
    return ps.Scenario.from_toml(text)


@pytest.mark.parametrize("choice", ['"valiant"', '"ugal"'])
def test_three_classes_leave_no_circle(choice: str) -> None:
    def has_circle(classes: int) -> bool:
        return any(
            "can deadlock" in output
            for output in _core.warnings(lossless(choice, classes).to_toml(), "t.toml")
        )

    assert [has_circle(classes) for classes in (1, 2, 3)] == [True, True, False]


def test_three_classes_do_not_deadlock_under_overload() -> None:
    result = ps.run(lossless('"valiant"', 3))
    assert not result.verdict.failed
    assert not result.rows("deadlocks")
    assert sum(row["pauses_sent"] for row in result.rows("ports")) > 100


def test_results_do_not_depend_on_threads() -> None:
    text = DRAGONFLY.format(duration="60 us", warmup="0 s", choice='{ ugal = { threshold = "4 kB" } }')
    text += f'[[flows]]\nname = "f"\nfrom = "all"\nto = {NEXT_GROUP}\nsource = "greedy"\n'
    scenario = ps.Scenario.from_toml(text)
    assert len({ps.run(scenario, threads=threads).fingerprint for threads in (1, 2, 3)}) == 1


SMALL = """\
[topology.dragonfly]
hosts_per_switch = 1
switches_per_group = 2
global_links = 1
rate = "10 Gb/s"
phy = "none"
"""


@pytest.mark.parametrize(
    ("topology", "more", "message"),
    [
        ('[topology.star]\nhosts = 4\nrate = "10 Gb/s"\nphy = "none"\n', "", "fabric of 1"),
        (SMALL + "groups = 2\n", "", "3 to"),
        (SMALL, '[switches."sw0.0"]\npath_choice = "hash"\n', "same path_choice"),
    ],
)
def test_bad_fabrics_name_what_is_expected(topology: str, more: str, message: str) -> None:
    text = f'[simulation]\nduration = "1 us"\n{topology}[switch]\npath_choice = "valiant"\n{more}'
    text += '[[flows]]\nname = "f"\nfrom = "h0"\nto = "h1"\nsource = "greedy"\n'
    with pytest.raises(ps.ScenarioError, match=message):
        ps.run(ps.Scenario.from_toml(text))
