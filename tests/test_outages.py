"""Rates around faults: what was lost while a link was down is missing from what arrived meanwhile."""

from __future__ import annotations

import pytest

from penstock import running
from penstock.analysis.outages import are_of_all, outages
from penstock.library import Source
from penstock.result import Result

RAILS = """
[simulation]
duration = "3 ms"

[topology.rails]
segments = 2
servers_per_segment = 4
rails = 1
spines = 2
planes = 2
rate = "100 Gb/s"
phy = "none"

[[flows]]
name = "all"
from = "h*.0"
to = { permutation = { shift = 4 } }
frame = "1522 B"
source = { constant = { rate = "10 Gb/s" } }
"""
DOWN = """
[[faults]]
link = ["leaf0.0.0", "spine0.0"]
at = "1 ms"
down = true
duration = "500 us"
reroute = true
after = "100 us"
"""


def run(text: str) -> Result:
    return running.run_source(Source(text, "rails.toml"))


def test_what_is_lost_is_missing_while_the_link_is_down() -> None:
    result = run(RAILS + DOWN)
    (only,) = outages(result)
    lost = sum(row["frames"] for row in result.rows("drops"))
    assert lost > 100
    assert (only.what, only.begin_ns, only.end_ns) == ("link_down", 1e6, 1.5e6)
    expected = 80e9 - lost * 1522 * 8 / 500e-6
    assert only.during_bps == pytest.approx(expected, rel=2e-3)
    assert only.before_bps == pytest.approx(80e9, rel=2e-3)
    assert only.after_bps == pytest.approx(80e9, rel=2e-3)
    assert are_of_all(result)


def test_a_slow_link_lasts_until_it_has_its_rate_again() -> None:
    slow = """
[[faults]]
link = ["h0.0", "leaf0.0.0"]
at = "1 ms"
rate = "1 Gb/s"

[[faults]]
link = ["h0.0", "leaf0.0.0"]
at = "2 ms"
rate = "100 Gb/s"
"""
    (only,) = outages(run(RAILS + slow))
    assert (only.what, only.begin_ns, only.end_ns) == ("rate", 1e6, 2e6)


def test_a_fault_that_does_not_end_has_no_rate_after_it() -> None:
    (only,) = outages(run(RAILS + DOWN.replace('duration = "500 us"\n', "")))
    assert (only.end_ns, only.after_bps) == (3e6, None)


def test_without_series_rates_are_unknown() -> None:
    without = RAILS.replace("[topology.rails]", '[probes]\nbin = "off"\n\n[topology.rails]')
    (only,) = outages(run(without + DOWN))
    assert (only.before_bps, only.during_bps, only.after_bps) == (None, None, None)
    assert not outages(run(RAILS))
