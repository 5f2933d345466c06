"""Throughput of contending classes compared with scheduler guarantees: table, figures, picture, page."""

from __future__ import annotations

import pytest

import penstock as ps
from penstock import plots
from penstock.analysis.contention import splits
from penstock.result import Result

ETS = {"ets": {"classes": [{"queues": [3], "percent": 60}, {"queues": [0, 1, 2, 4, 5, 6, 7], "percent": 40}]}}


def _run(scheduler: object, background: object = "greedy", third: int | None = None) -> Result:
    """Two or three priorities from as many hosts to one."""
    scenario = (
        ps.Scenario(duration="500 us", warmup="50 us", name="shares")
        .topology.star(hosts=4, rate="10 Gb/s", length="10 m", phy="none")
        .switch(scheduler=scheduler, buffer={"queue": "100 frames"})
        .flow("first", from_="h1", to="h0", priority=3, source="greedy")
        .flow("second", from_="h2", to="h0", priority=0, source=background)
    )
    if third is not None:
        scenario = scenario.flow("third", from_="h3", to="h0", priority=third, source="greedy")
    return scenario.run()


def test_two_classes_that_always_wait_keep_what_ets_promises() -> None:
    (split,) = splits(_run(ETS))
    assert (split.port, split.classes) == ("sw.0->h0", (0, 3))
    assert split.guaranteed == pytest.approx((0.4, 0.6))
    assert split.kept == pytest.approx((0.4, 0.6), abs=0.01)


def test_queues_of_a_group_share_what_the_group_has() -> None:
    (split,) = splits(_run(ETS, third=5))
    assert split.classes == (0, 3, 5)
    assert split.guaranteed == pytest.approx((0.2, 0.6, 0.2))
    assert split.kept == pytest.approx((0.2, 0.6, 0.2), abs=0.01)


def test_weights_of_frames_promise_no_bytes_and_strict_priority_divides_nothing() -> None:
    (split,) = splits(_run({"wrr": {"weights": [1, 1, 1, 2, 1, 1, 1, 1]}}))
    assert split.guaranteed is None and split.kept == pytest.approx((1 / 3, 2 / 3), abs=0.01)
    assert splits(_run("strict_priority")) == []


def test_the_timeline_shows_the_split_beside_the_promise() -> None:
    result = _run(ETS)
    axes = plots.timeline(result).axes[-1]
    assert axes.get_title("left") == "Shares of competing classes (dashed: configured)"
    assert axes.get_xlim() == (0.0, 100.0)
    assert [float(line.get_xdata()[0]) for line in axes.lines] == pytest.approx([60.0])
    (split,) = splits(result)
    widths = [bar.get_width() for bar in axes.patches]
    assert widths == pytest.approx([100 * split.kept[1], 100 * split.kept[0]])
    times = [panel for panel in plots.timeline(result).axes if panel.get_xlabel().startswith("time")]
    assert len(times) == 1 and times[0] is not axes


def test_a_class_that_asks_for_less_seldom_waits() -> None:
    """It has its fifth, and the port divides 80:20: no fault of the scheduler, and the picture says so."""
    result = _run(ETS, ps.poisson("2 Gb/s"))
    sent = {row["class"]: row["frames"] for row in result.rows("queues") if row["port"] == "sw.0->h0"}
    assert sent[3] > 3 * sent[0]
    panels = plots.timeline(result).axes
    assert not any(panel.get_title("left").startswith("Split") for panel in panels)
    (shares,) = [panel for panel in panels if panel.get_title("left") == "Classes at sw.0->h0"]
    assert {text.get_text() for text in shares.texts} == {"class 0\nrarely queued", "class 3"}
