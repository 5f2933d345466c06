"""Delay variation by hand: one frame in thirty waits for a burst."""

from __future__ import annotations

import pytest

import penstock as ps
from penstock.analysis.variation import variations

FRAME_NS = (1000 + 20) * 0.8
"""On the wire at 10 Gb/s."""


def _streams(which: str) -> ps.Scenario:
    scenario = ps.Scenario(duration="300 us").topology.star(
        hosts=3, rate="10 Gb/s", delay="10 ns", phy="none"
    )
    scenario = scenario.probe("frames", which=[which])
    video = ps.constant("800 Mb/s", random_phase=False)
    return scenario.flow("video", from_="h0", to="h2", frame="1000 B", start="1 us", source=video)


def test_a_frame_that_waits_is_off_the_mean_of_those_before_it() -> None:
    """Frames come 10 us apart; another one is at the switch 400 ns before the eleventh."""
    other_us = 1 + 100 - 0.4
    scenario = _streams("h2").flow(
        "other", from_="h1", to="h2", frame="1000 B", start=f"{other_us} us", limit="1000 B", source="greedy"
    )
    result = scenario.run()
    found = variations(result)[("video", "h2")]
    assert len(found.delay_ns) == 30
    plain, waits = 2 * FRAME_NS + 20, FRAME_NS - 400
    expected = [plain] * 30
    expected[10] += waits
    assert found.delay_ns.tolist() == pytest.approx(expected)
    # The eleventh is off by its wait, the twelfth by what that moved the mean.
    deviation = [0.0] * 10 + [waits] + [waits / (11 + n) for n in range(19)]
    assert found.deviation_ns.tolist() == pytest.approx(deviation)
    table = {row["flow"]: row for row in result.rows("delay_variation")}
    assert sorted(table) == ["other", "video"]
    video = table["video"]
    assert (video["destination"], video["frames"]) == ("h2", 30)
    assert video["delay_mean_ns"] == pytest.approx(sum(expected) / 30)
    assert video["deviation_mean_ns"] == pytest.approx(sum(deviation) / 30)
    assert video["deviation_max_ns"] == pytest.approx(waits)
    assert video["deviation_max_at_s"] == pytest.approx(found.time_ns[10] / 1e9)
    starts, peaks = found.peaks(50_000)
    assert starts.tolist() == [0, 50_000, 100_000, 150_000, 200_000, 250_000]
    assert peaks[:3].tolist() == pytest.approx([0, 0, waits])


def test_only_what_arrives_at_its_end_counts() -> None:
    assert variations(_streams("sw").run()) == {}
    assert variations(_streams("h0").run()) == {}
    plain = ps.Scenario(duration="10 us").topology.star(hosts=2, rate="10 Gb/s", phy="none")
    result = plain.flow("f", from_="h0", to="h1", source="greedy").run()
    assert (variations(result), result.rows("delay_variation")) == ({}, [])
