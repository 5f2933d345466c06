"""Starvation: bins compared with frames, strict priority, round robin, and pauses before each turn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import penstock as ps
from conftest import Command, json_of
from penstock.analysis.starvation import Service, Span, starvation
from penstock.errors import ArgumentError
from penstock.result import Result

DRR = {"drr": {"weights": [1] * 8}}
ETS = {
    "ets": {
        "classes": [
            {"queues": [3], "percent": 60},
            {"queues": [0], "percent": 30},
            {"queues": [1, 2, 4, 5, 6, 7], "percent": 10},
        ]
    }
}
FRAME_NS = 1233.6
"""A frame of 1522 B with 20 B around it at 10 Gb/s."""


def scenario(scheduler: object, frame: str = "1522 B") -> ps.Scenario:
    """Two priorities from as many hosts to one port that carries half of what they send."""
    return (
        ps.Scenario(duration="500 us", name="starving")
        .topology.star(hosts=4, rate="10 Gb/s", length="10 m", phy="none")
        .switch(scheduler=scheduler, buffer={"queue": "100 frames"})
        .flow("storage", from_="h1", to="h0", priority=3, source="greedy")
        .flow("backup", from_="h2", to="h0", priority=0, frame=frame, source="greedy")
    )


def binned(scheduler: object, frame: str = "1522 B") -> ps.Scenario:
    """Starvation with bins shorter than a frame."""
    return scenario(scheduler, frame).probes(bin="1 us")


def service(result: Result, traffic_class: int, bound_ns: float | None = None) -> Service:
    found = starvation(result, bound_ns).classes
    (one,) = [one for one in found if (one.port, one.traffic_class) == ("sw.0->h0", traffic_class)]
    return one


def test_a_class_below_a_greedy_strict_one_starves_until_the_end() -> None:
    result = binned("strict_priority").run()
    low, high = service(result, 0, 50e3), service(result, 3, 50e3)
    assert (low.weakly, low.strongly, low.waits_still) == ("starves", "starves", True)
    assert low.weak.least_ns > 490e3
    assert (high.weakly, high.strongly, high.waits_still) == ("fair", "fair", False)
    assert high.weak.most_ns < 2 * FRAME_NS


def test_strict_priority_promises_nothing_below_the_highest_class_that_is_used() -> None:
    result = binned("strict_priority").run()
    assert service(result, 0).bound_ns is None and service(result, 0).weakly == "no bound"
    assert service(result, 3).bound_ns == pytest.approx(2 * FRAME_NS)


@pytest.mark.parametrize(
    "scheduler", [DRR, ETS, {"wrr": {"weights": [1] * 8}}], ids=lambda one: next(iter(one))
)
def test_rounds_keep_what_they_promise(scheduler: object) -> None:
    result = binned(scheduler).run()
    for one in (service(result, 0), service(result, 3)):
        assert one.bound_ns is not None and one.weak.most_ns <= one.bound_ns < 60e3
        assert (one.weakly, one.strongly, one.waits_still) == ("fair", "fair", False)


def test_a_flow_is_reported_where_its_class_waited_and_how_long_it_was_silent() -> None:
    first = starvation(binned("strict_priority").run()).flows[0]
    assert (first.flow, first.worst.port, first.worst.traffic_class) == ("backup", "sw.0->h0", 0)
    assert first.silent_ns is not None and first.silent_ns > 490e3


def _pauses(count: int, period_ns: float, quanta: int) -> list[dict[str, Any]]:
    octets = f"0180c2000001 020000000009 8808 0101 0008 {'0000' * 3}{quanta:04x}{'0000' * 4}"
    frame = octets + "00" * (60 - len(octets.replace(" ", "")) // 2)
    return [
        {
            "link": ["sw", "h0"],
            "at": f"{20_000 + at * period_ns:.1f} ns",
            "towards": "sw",
            "control_frame": frame,
        }
        for at in range(count)
    ]


def test_a_class_that_is_stopped_before_each_of_its_turns_is_served_weakly_fairly_alone() -> None:
    """Each time it may send, a long frame is under way: never for long, but again and again."""
    period, quanta, response = 2 * 9020 * 0.8, 272, 3_072
    paused = binned(DRR, frame="9000 B").flow_control.pfc(priorities=[3])
    for entry in _pauses(32, period, quanta):
        paused = paused.fault(**entry)
    one = service(paused.run(), 3, 20e3)
    free = period + response - quanta * 51.2
    assert one.weakly == "fair" and free < one.weak.most_ns < 9020
    assert one.strongly == "starves" and one.breaks == 30
    assert one.strong.least_ns == pytest.approx(one.breaks * free, rel=0.05)


def test_bins_are_true_to_frames() -> None:
    """The longest time between frames that a log has lies between what the bins allow."""
    result = (
        scenario({"drr": {"quanta": ["1542 B", *["1542 B"] * 2, "30000 B", *["1542 B"] * 4]}})
        .probe("queue", every="1 us")
        .probe("class", every="1 us")
        .probe("frames", which="sw.0->h0")
        .run()
    )
    sent = [row for row in result.rows("frames") if row["event"] == "sent" and row["priority"] == 0]
    gaps = np.diff([row["time_ps"] / 1e3 for row in sent]) - (FRAME_NS - 16)  # with what is around the frame
    one, longest = service(result, 0), gaps.max()
    assert one.weak.least_ns <= longest <= one.weak.most_ns + 1e-3
    assert one.weak.least_ns > 0.8 * longest


def test_what_is_not_recorded_is_not_known() -> None:
    found = starvation(scenario(DRR).probe("queue", every="2 us").probe("class", every="1 us").run())
    assert "sw.0->h0/0" in found.unknown and found.classes == []
    assert starvation(scenario(DRR).probe("flow").run()).classes == []


def test_a_bound_between_what_is_certain_and_what_is_possible_is_undecided() -> None:
    span = Span(1_000.0, 3_000.0)
    judged = [span.judge(bound) for bound in (500.0, 2_000.0, 3_000.0, None)]
    assert judged == ["starves", "undecided", "fair", "no bound"]
    with pytest.raises(ArgumentError, match="expected a time above 0"):
        starvation(scenario(DRR).run(), 0.0)


def test_the_command_tells_who_starves(penstock: Command, tmp_path: Any) -> None:
    path = tmp_path / "starving.toml"
    scenario("strict_priority").save(path)
    done = penstock("fair", path, "--starvation", "--bound", "50 us")
    assert "weakly fair: 3 fair, 1 starves" in done.stdout
    reported = json_of(penstock("fair", path, "--starvation", "--json"))
    assert reported["classes"][0]["class"] == 0 and reported["classes"][0]["waits_still"]
    assert reported["classes"][0]["weak"]["judgement"] == "no bound"
    for words, expected in (
        (("--bound", "1 us"), "expected --starvation"),
        (("--starvation", "--bound", "soon"), "expected"),
        (("--starvation", "--by", "node"), "which do not apply"),
    ):
        assert expected in penstock("fair", path, *words).stderr
