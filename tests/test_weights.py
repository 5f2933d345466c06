"""The weight controller of DRR-AWC outside the simulator, and the promises of schedulers."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

import penstock as ps
from penstock import weights
from penstock.analysis.class_weights import class_weights
from penstock.errors import InputError
from penstock.weights import Counters, Learner


def test_examples() -> None:
    failed, tried = doctest.testmod(weights)
    assert (failed, tried > 0) == (0, True)


def test_the_page_on_accounting_does_what_it_says() -> None:
    page = (Path(__file__).parents[1] / "docs" / "accounting.md").read_text("utf-8")
    blocks = [block.partition("```")[0] for block in page.split("```python\n")[1:]]
    assert len(blocks) == 2
    for code in blocks:
        exec(compile(code, "accounting.md", "exec"), {})


def test_golden_vector_of_the_histogram() -> None:
    [weight] = weights.from_sizes([[500, 300, 100, 50, 50, 0]])
    assert weight == pytest.approx(1.45404, abs=1e-5)
    assert weights.from_sizes([[0] * 6]) == [None]


def test_names_and_counts_are_checked() -> None:
    one = [[1, 0, 0, 0, 0, 0]]
    for wrong, message in [
        ({"formula": "learned"}, "accepted are published, analytic"),
        ({"mix": "bytes"}, "needs the bytes"),
        ({"metric": "wire"}, "accepted are payload, frame"),
        ({"largest": 20}, "64 to 16384"),
    ]:
        with pytest.raises(InputError, match=message):
            weights.from_sizes(one, **wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="six counts"):
        weights.from_sizes([[1, 2]])
    with pytest.raises(InputError, match="above 0"):
        Learner().weights([Counters(1, 64, 0.0)])
    with pytest.raises(InputError, match="accepted are payload, frame"):
        Learner("wire")


@pytest.mark.parametrize("per_frame", [0, 20, 44])
def test_any_bill_is_learned_within_some_intervals(per_frame: int) -> None:
    """A switch is played: rounds of quanta that bill more than the frame."""
    sizes, quanta, learner = (68, 594, 1522), [4000.0] * 3, Learner()
    payload = [0.0] * 3
    for _ in range(4):
        frames = [
            int(1000 * quantum / (size + per_frame)) for quantum, size in zip(quanta, sizes, strict=True)
        ]
        counted = [Counters(n, n * size, q) for n, size, q in zip(frames, sizes, quanta, strict=True)]
        payload = [n * (size - 18.0) for n, size in zip(frames, sizes, strict=True)]
        found = learner.weights(counted)
        assert all(weight is not None for weight in found)
        quanta = [4000.0 * (weight or 0.0) for weight in found]
    assert learner.per_frame == pytest.approx(per_frame, abs=0.1)
    assert ps.jain(payload) > 0.99999


def test_a_guarantee_is_that_of_the_literature() -> None:
    """WFQ: a frame at the certain rate and one at the line rate (Stiliadis and Varma 1998)."""
    scenario = (
        ps.Scenario(duration="1 ms")
        .topology.star(hosts=2, rate="10 Gb/s", phy="none")
        .switch(queues=[0, 1, 0, 0, 0, 0, 0, 0], scheduler={"wfq": {"weights": [1, 3]}})
        .flow("a", from_="h0", to="h1", source="greedy")
    )
    found = [one for one in ps.guarantees(scenario) if one.port == "sw.1->h1"]
    assert [one.rate_bps for one in found] == [2.5e9, 7.5e9]
    frame_ns = 1542 * 0.8
    assert found[0].latency_ns == pytest.approx(4 * frame_ns + frame_ns, abs=0.01)
    assert found[0].delay_ns(2.5e9 / 8 * 1e-6) == pytest.approx(5 * frame_ns + 1000, abs=0.01)
    nothing = [one for one in ps.guarantees(scenario) if one.scheduler == "strict_priority"]
    assert nothing[0].delay_ns(0) is None


@pytest.mark.parametrize("disturbance", ["none", "rate", "clock", "updates"])
def test_a_guarantee_counts_on_what_the_port_can_serve(disturbance: str) -> None:
    """The slowest rate of the link, by the clock of the port, beside its credit updates."""
    scenario = ps.Scenario(duration="1 ms").topology.star(hosts=2, rate="10 Gb/s", phy="none")
    tolerance = {"clock_tolerance": "100 ppm"} if disturbance == "clock" else {}
    scenario = scenario.switch(
        queues=[0, 1, 0, 0, 0, 0, 0, 0], scheduler={"wfq": {"weights": [1, 3]}}, **tolerance
    )
    if disturbance == "updates":
        scenario = scenario.flow_control.credit(
            buffer="64 KiB", update_after="1538 B", update_bytes="84 B", update_within="1 s"
        )
    scenario = scenario.flow("a", from_="h0", to="h1", source="greedy")
    if disturbance == "rate":
        scenario = scenario.fault(link=["sw", "h1"], at="500 us", rate="1 Gb/s")
    found = [one.rate_bps for one in ps.guarantees(scenario) if one.port == "sw.1->h1"]
    assert found[0] is not None
    share = found[0] / 2.5e9
    if disturbance == "none":
        assert share == 1
    elif disturbance == "rate":
        assert share == pytest.approx(0.1)
    elif disturbance == "clock":
        assert 1 - 100e-6 <= share <= 1
    else:
        # One update for each 25 credits of 64 B that come, a frame of 1,522 B taking 24.
        assert share == pytest.approx(1 - 84 / 1600, abs=0.001)


def test_strict_groups_of_many_queues_go_one_after_the_other() -> None:
    """With channels there are up to twenty queues, and each level of a group is before all of the next."""
    head = "[switch.scheduler.ets]\nclasses = ["
    for size in range(1, 19):
        first, second = list(range(size)), list(range(size, 19))
        text = head + (
            f"{{ queues = [19], percent = 100 }}, {{ queues = {first}, strict = true }}, "
            f"{{ queues = {second}, strict = true }}]"
        )
        level = class_weights(text).level
        assert max(level[one] for one in second) < min(level[one] for one in first)
        assert max(level[:19]) < level[19]
        assert len(set(level)) == 20
    shaped = head + '{ queues = [0], strict = true }, { queues = [1], idle_slope = "1 Gb/s" }, '
    level = class_weights(shaped + "{ queues = [2, 3], percent = 100 }]").level
    assert level[0] < level[1] < level[2] == level[3]
