"""Fair shares: closed forms, properties that define them, and runs held against them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

import penstock as ps
from conftest import Command, json_of
from penstock import oracle
from penstock.analysis.class_weights import class_weights
from penstock.analysis.fairness import Problem, max_min, proportionally_fair
from penstock.analysis.hierarchy import Hierarchy
from penstock.analysis.strict import Strict
from penstock.errors import ConvergenceError, InputError
from penstock.result import summary

INF = float("inf")


def problem(usage: object, capacity: object, demand: object = None, weight: object = None) -> Problem:
    flows = np.asarray(usage).shape[1]
    return Problem(
        np.asarray(usage, float),
        np.asarray(capacity, float),
        np.full(flows, INF) if demand is None else np.asarray(demand, float),
        np.ones(flows) if weight is None else np.asarray(weight, float),
    )


def parking_lot(links: int) -> Problem:
    """One flow over all links, and one over each."""
    return problem(np.hstack([np.ones((links, 1)), np.eye(links)]), np.ones(links))


def test_one_link() -> None:
    shared = [[1, 1, 1]]
    for allocate in (max_min, proportionally_fair):
        assert allocate(problem(shared, [9])) == pytest.approx([3, 3, 3])
        assert allocate(problem(shared, [10], weight=[1, 1, 3])) == pytest.approx([2, 2, 6])
        assert allocate(problem(shared, [10], demand=[1, INF, INF])) == pytest.approx([1, 4.5, 4.5])
        assert allocate(problem(shared, [10], demand=[1, 2, 3])) == pytest.approx([1, 2, 3])
        assert allocate(problem(shared, [10], demand=[0, INF, 3])) == pytest.approx([0, 7, 3])
        assert allocate(problem(shared, [10], demand=[0, 0, 0])) == pytest.approx([0, 0, 0])


@pytest.mark.parametrize("links", [1, 2, 5, 20])
def test_parking_lot(links: int) -> None:
    assert max_min(parking_lot(links)) == pytest.approx([0.5] * (links + 1))
    short = links / (links + 1)
    assert proportionally_fair(parking_lot(links)) == pytest.approx([1 - short] + [short] * links)


def test_weights_of_the_parking_lot() -> None:
    weighted = problem([[1, 1, 0], [1, 0, 1]], [1, 1], weight=[2, 1, 1])
    assert max_min(weighted) == pytest.approx([2 / 3, 1 / 3, 1 / 3])
    assert proportionally_fair(weighted) == pytest.approx([0.5, 0.5, 0.5])


def test_a_bottleneck_leaves_more_for_others_elsewhere() -> None:
    rates = max_min(problem([[1, 1, 0], [0, 1, 1]], [1, 10]))
    assert rates == pytest.approx([0.5, 0.5, 9.5])


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (((np.ones((2, 2)), [1], [1, 1], [1, 1])), "expected links x flows, 1 x 2"),
        (((np.ones((1, 2)), [0], [1, 1], [1, 1])), "capacity"),
        (((np.ones((1, 2)), [1], [-1, 1], [1, 1])), "demand"),
        (((np.ones((1, 2)), [1], [1, 1], [1, 0])), "weight"),
        (((np.ones((1, 2)), [1], [1, 1], [1])), "1 weights for 2 flows"),
        (((-np.ones((1, 2)), [1], [1, 1], [1, 1])), "usage"),
        (((np.zeros((1, 1)), [1], [INF], [1])), "unbounded"),
    ],
)
def test_wrong_problems(wrong: tuple[object, ...], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        Problem(*(np.asarray(one, float) for one in wrong))


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    links, flows = draw(st.integers(1, 6)), draw(st.integers(1, 8))
    positive = st.floats(0.01, 100.0)
    usage = np.zeros((links, flows))
    for flow in range(flows):
        for link in draw(st.sets(st.integers(0, links - 1), min_size=1)):
            usage[link, flow] = draw(st.sampled_from([1.0, 0.5, 1.3]))
    demand = [draw(st.one_of(st.just(INF), positive, st.just(0.0))) for _ in range(flows)]
    weight = [draw(st.floats(0.1, 10.0)) for _ in range(flows)]
    return problem(usage, [draw(positive) for _ in range(links)], demand, weight)


def feasible(found: Problem, rates: np.ndarray) -> None:
    assert (rates >= 0).all()
    assert (rates <= found.demand * (1 + 1e-9)).all()
    assert (found.usage @ rates <= found.capacity * (1 + 1e-9)).all()


@settings(max_examples=80, deadline=None)
@given(problems())
def test_max_min_is_feasible_and_every_flow_has_a_bottleneck(found: Problem) -> None:
    """Bertsekas and Gallager 1992, §6.5.2: that is what makes it max-min fair."""
    rates = max_min(found)
    feasible(found, rates)
    full = found.usage @ rates >= found.capacity * (1 - 1e-9)
    level = rates / found.weight
    for flow, rate in enumerate(rates):
        sated = rate >= found.demand[flow] * (1 - 1e-9)
        ways = np.flatnonzero(full & (found.usage[:, flow] > 0))
        largest = [level[flow] >= level[found.usage[link] > 0].max() * (1 - 1e-9) for link in ways]
        assert sated or any(largest)


@settings(max_examples=80, deadline=None)
@given(problems())
def test_proportional_fairness_is_feasible_and_a_maximum(found: Problem) -> None:
    """Kelly 1998: no feasible change raises the weighted sum of relative changes."""
    rates = proportionally_fair(found)
    feasible(found, rates)
    asking = found.demand > 0
    for other in (
        max_min(found),
        max_min(Problem(found.usage, found.capacity, found.demand, 1 / found.weight)),
    ):
        gain = (found.weight * (other - rates))[asking] / rates[asking]
        assert gain.sum() <= 1e-5 * found.weight.sum()


@settings(max_examples=25, deadline=None)
@given(problems())
def test_proportional_fairness_agrees_with_a_general_solver(found: Problem) -> None:
    asking = found.demand > 0
    if not asking.any():
        return
    usage, weight = found.usage[:, asking], found.weight[asking]
    start = 0.5 * max_min(found)[asking]
    answer = minimize(
        lambda x: -(weight * np.log(x * start)).sum(),
        np.ones_like(start),
        jac=lambda x: -weight / x,
        bounds=[(1e-6, d / s) for d, s in zip(found.demand[asking], start, strict=True)],
        constraints={
            "type": "ineq",
            "fun": lambda x: 1 - usage @ (x * start) / found.capacity,
            "jac": lambda _: -usage * start / found.capacity[:, None],
        },
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 500},
    )
    ours = (weight * np.log(proportionally_fair(found)[asking])).sum()
    assert ours >= -answer.fun - 1e-6 * weight.sum()


@settings(max_examples=50, deadline=None)
@given(problems(), st.sampled_from([1e-6, 8.0, 1e10]))
def test_shares_know_no_unit(found: Problem, factor: float) -> None:
    scaled = Problem(found.usage, found.capacity * factor, found.demand * factor, found.weight * 3)
    assert max_min(scaled) == pytest.approx(max_min(found) * factor, rel=1e-9)
    assert proportionally_fair(scaled) == pytest.approx(proportionally_fair(found) * factor, rel=1e-4)


def star(*, duration: str = "1 ms") -> ps.Scenario:
    return ps.Scenario(duration=duration).topology.star(hosts=4, rate="10 Gb/s", length="2 m", phy="none")


def test_a_link_carries_frames_with_their_overhead() -> None:
    """Small and large frames: equal frame bits take a part of the wire that depends on the frame."""
    scenario = star().flow("small", from_="h0", to="h3", frame="68 B", source="greedy")
    scenario = scenario.flow("large", from_="h1", to="h3", frame="1522 B", source="greedy")
    result = scenario.flow_control.pfc().run()
    each = 10e9 / (88 / 68 + 1542 / 1522)
    for share in oracle.assess(result).shares:
        assert share.fair_bps["max_min"] == pytest.approx(each, rel=1e-9)
        assert share.fair_bps["proportional"] == pytest.approx(10e9 / 2 / share_of_wire(share.flow), rel=1e-6)
    payload = 10e9 / (88 / 50 + 1542 / 1504)
    for share in oracle.assess(result, counts="payload").shares:
        assert share.fair_bps["max_min"] == pytest.approx(payload, rel=1e-9)
    for share in oracle.assess(result, counts="wire").shares:
        assert share.fair_bps["max_min"] == pytest.approx(5e9, rel=1e-9)


def share_of_wire(flow: str) -> float:
    return {"small": 88 / 68, "large": 1542 / 1522}[flow]


def test_a_flow_alone_gets_what_it_asks_for() -> None:
    result = star().flow("a", from_="h0", to="h3", source=ps.constant("2 Gb/s")).run()
    (share,) = oracle.assess(result).shares
    assert share.demand_bps == pytest.approx(2e9)
    assert share.fair_bps["max_min"] == pytest.approx(2e9)
    assert share.deviation("max_min") == pytest.approx(0, abs=0.01)


def test_what_is_not_given_waits_and_is_sent_later() -> None:
    """Two ask for the link until 1 ms; then one is silent and the other sends what it has kept."""
    wanted = ps.constant("9.8 Gb/s")
    scenario = star(duration="4 ms").flow("kept", from_="h0", to="h3", source=wanted, stop="1 ms")
    scenario = scenario.flow("greedy", from_="h1", to="h3", source="greedy", stop="1 ms")
    shares = {share.flow: share for share in oracle.assess(scenario.flow_control.pfc().run()).shares}
    assert shares["kept"].fair_bps["max_min"] == pytest.approx(9.8e9 / 4, rel=1e-9)
    assert shares["greedy"].fair_bps["max_min"] == pytest.approx(10e9 * 1522 / 1542 / 2 / 4, rel=1e-9)
    assert shares["kept"].deviation("max_min") == pytest.approx(0, abs=0.01)


def test_a_small_card_keeps_little() -> None:
    scenario = star(duration="4 ms").host(queue_limit="10 frames").flow_control.pfc()
    scenario = scenario.flow("kept", from_="h0", to="h3", source=ps.constant("9.8 Gb/s"), stop="1 ms")
    scenario = scenario.flow("greedy", from_="h1", to="h3", source="greedy", stop="1 ms")
    (kept, _) = oracle.assess(scenario.run()).shares
    during = 10e9 * 1522 / 1542 / 2 * 1e-3
    assert kept.fair_bps["max_min"] * 4e-3 == pytest.approx(during + 10 * 1522 * 8, rel=1e-9)


def test_limits_end_flows_and_free_the_link() -> None:
    scenario = star(duration="2 ms").flow("short", from_="h0", to="h3", source="greedy", limit="100 kB")
    result = scenario.flow("long", from_="h1", to="h3", source="greedy").flow_control.pfc().run()
    short, long = oracle.assess(result).shares
    frames = 1522 / 1542
    assert short.demand_bps == pytest.approx(100e3 * 8 / 2e-3)
    assert short.fair_bps["max_min"] * 2e-3 == pytest.approx(100e3 * 8, rel=1e-9)
    assert long.fair_bps["max_min"] * 2e-3 == pytest.approx(10e9 * frames * 2e-3 - 100e3 * 8, rel=1e-9)
    assert long.deviation("max_min") == pytest.approx(0, abs=0.01)


def test_a_flow_to_many_loads_each_way_by_its_share() -> None:
    """h0 sends half of its frames to h2, where h1 wants all."""
    scenario = star().flow("both", from_="h0", to=["h2", "h3"], source="greedy")
    result = scenario.flow("one", from_="h1", to="h2", source="greedy").flow_control.pfc().run()
    both, one = oracle.assess(result).shares
    link = 10e9 * 1522 / 1542
    # Equal rates x: x/2 + x fills the way to h2.
    assert both.fair_bps["max_min"] == pytest.approx(link / 1.5, rel=1e-9)
    assert one.fair_bps["max_min"] == pytest.approx(link / 1.5, rel=1e-9)


def test_schedulers_give_weights_and_users_others() -> None:
    keys = {"drr": {"weights": [1, 1, 1, 3, 1, 1, 1, 1]}}
    scenario = star(duration="2 ms").switch(scheduler=keys).flow_control.pfc()
    scenario = scenario.flow("light", from_="h0", to="h3", priority=0, source="greedy")
    result = scenario.flow("heavy", from_="h1", to="h3", priority=3, source="greedy").run()
    found = oracle.assess(result)
    assert found.weights_from == "those of drr"
    assert [share.weight for share in found.shares] == [1, 3]
    assert all(abs(share.deviation("max_min") or 0) < 0.01 for share in found.shares)
    equal = oracle.assess(result, weights={"light": 1, "heavy": 1})
    assert equal.shares[1].deviation("max_min") == pytest.approx(0.5, abs=0.01)
    verdict = equal.verdict()
    assert verdict is not None
    assert verdict.jain == pytest.approx(ps.jain([0.5, 1.5]), abs=0.01)
    for wrong in ({"light": 0.0}, {"light": -1.0}, {"nobody": 1.0}):
        with pytest.raises(InputError):
            oracle.assess(result, weights=wrong)


def test_weights_of_schedulers() -> None:
    def weights(text: str) -> list[float]:
        return class_weights(text).weight[:8]

    assert weights("[switch]\nscheduler='fifo'") == [1.0] * 8
    quanta = ["1,542 B"] * 7 + ["3 KiB"]
    assert weights(f"[switch.scheduler.drr]\nquanta={quanta}")[-2:] == [1542, 3072]
    assert weights("[switch]\nqueues=[0,0,1,1,1,1,1,1]\n[switch.scheduler.wfq]\nweights=[2,5]")[:3] == [
        2,
        2,
        5,
    ]
    ets = "[[switch.scheduler.ets.classes]]\nqueues=[0,1]\npercent=40\n"
    assert weights(ets + "[[switch.scheduler.ets.classes]]\nqueues=[2]\npercent=60")[:3] == [40, 40, 60]
    assert class_weights(ets + "[[switch.scheduler.ets.classes]]\nqueues=[2]\npercent=60").group[:3] == [
        0,
        0,
        2,
    ]
    strict = class_weights(ets + "[[switch.scheduler.ets.classes]]\nqueues=[2]\nstrict=true")
    assert strict.weight[:3] == [40, 40, 1] and strict.level[2] < strict.level[0] == strict.level[1]
    assert np.argsort(class_weights("[switch]\nscheduler='strict_priority'").level)[-8:].tolist() == [
        *range(7, -1, -1)
    ]
    assert weights("[switch.scheduler.dtable]\nentries=[0,1,{class=1,weight=6}]\nweight=34")[:2] == [34, 40]
    assert weights("[switch.scheduler.vc_table]\nentries=[0,1,1,1]")[:2] == [1, 3]
    different = "[switches.a.scheduler.drr]\nweights=[1,2]\n[switches.b.scheduler.drr]\nweights=[2,1]"
    assert set(class_weights(different).weight) == {1.0}
    assert class_weights(different).origin == "1 each, because the switches have different weights"
    shaped = "[switch.scheduler.shaper.scheduler.wrr]\nweights=[1,2,1,1,1,1,1,1]"
    assert weights(shaped)[:2] == [1, 2]


GROUPS = {
    "ets": {"classes": [{"queues": [0, 1, 2, 4, 5, 6, 7], "percent": 40}, {"queues": [3], "percent": 60}]}
}


def test_the_weight_of_a_group_is_not_divided_over_idle_queues() -> None:
    """A port that keeps 39.5 : 59.2 for 40 : 60 is fair, however many queues of a group are idle."""
    scenario = star(duration="2 ms").switch(scheduler=GROUPS).flow_control.pfc(priorities=[0, 1, 3])
    scenario = scenario.flow("lossy", from_="h0", to="h3", source="greedy")
    scenario = scenario.flow("roce", from_="h1", to="h3", priority=3, source="greedy")
    found = oracle.assess(scenario.run())
    assert [share.weight for share in found.shares] == [40, 60]
    link = 10e9 * 1522 / 1542
    for definition in ("max_min", "proportional"):
        assert [share.fair_bps[definition] / link for share in found.shares] == pytest.approx(
            [0.4, 0.6], rel=1e-6
        )
        assert all(abs(share.deviation(definition) or 0) < 0.015 for share in found.shares)
    # A second queue of the group takes half of the group's part, and nothing of the other group's.
    found = oracle.assess(scenario.flow("too", from_="h2", to="h3", priority=1, source="greedy").run())
    assert [share.weight for share in found.shares] == [20, 60, 20]
    assert all(abs(share.deviation("max_min") or 0) < 0.03 for share in found.shares)


def test_groups_that_are_idle_in_turn_leave_the_link_to_the_other() -> None:
    """0 to 1 ms the group of two queues alone, then both groups, then the other alone."""
    scenario = star(duration="3 ms").switch(scheduler=GROUPS).flow_control.pfc(priorities=[0, 1, 3])
    scenario = scenario.flow("a", from_="h0", to="h3", source="greedy", stop="2 ms")
    scenario = scenario.flow("b", from_="h1", to="h3", priority=1, source="greedy", stop="1 ms")
    scenario = scenario.flow("c", from_="h2", to="h3", priority=3, source="greedy", start="1 ms")
    scenario = scenario.host(queue_limit="2 frames")
    found = oracle.assess(scenario.run())
    link = 10e9 * 1522 / 1542
    due = [(0.5 + 0.4) / 3, 0.5 / 3, (0.6 + 1) / 3]
    assert [share.fair_bps["max_min"] / link for share in found.shares] == pytest.approx(due, rel=1e-9)
    assert all(abs(share.deviation("max_min") or 0) < 0.03 for share in found.shares)


def one_level(found: Problem) -> Hierarchy:
    alone = np.arange(found.demand.size)
    return Hierarchy(found.weight, alone, alone)


@settings(deadline=None)
@given(problems())
def test_groups_of_one_queue_are_weights(found: Problem) -> None:
    """On one link; on several the weights count per link, and so for one link of each problem at a time."""
    for link in range(found.capacity.size):
        rows = found.usage[link : link + 1]
        demand = np.where(rows[0] > 0, found.demand, np.minimum(found.demand, 1.0))
        alone = Problem(rows, found.capacity[link : link + 1], demand, found.weight)
        assert one_level(alone).max_min(alone) == pytest.approx(max_min(alone), rel=1e-6)
    assert one_level(found).max_min(found) == pytest.approx(max_min(found), rel=1e-6)


@settings(deadline=None)
@given(problems(), st.data())
def test_groups_share_feasibly_and_leave_nothing(found: Problem, data: st.DataObject) -> None:
    count = found.demand.size
    queue = np.array(data.draw(st.lists(st.integers(0, 7), min_size=count, max_size=count)), dtype=int)
    group = queue % 3
    weight = np.array([1.0, 2.0, 5.0])[group]
    rates = Hierarchy(weight, queue, group).max_min(found)
    feasible(found, rates)
    full = found.usage @ rates >= found.capacity * (1 - 1e-6)
    held = (found.usage[full] > 0).any(axis=0)
    assert (held | (rates >= found.demand * (1 - 1e-6))).all()


def test_rates_found_in_doubt_are_taken_from_what_other_links_give() -> None:
    """No bottleneck is without doubt here; one link gave more than it had, by 0.2 %."""
    usage = np.array(
        [
            [1.0, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0],
            [1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0],
            [1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0],
            [0.5, 0.0, 1.0, 1.0, 0.0, 1.0, 0.0],
            [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        ]
    )
    found = problem(usage, [5.0, 3.0, 3.0, 4.0, 2.0])
    queue = np.array([2, 2, 0, 2, 1, 0, 2])
    feasible(found, Hierarchy(np.array([1.0, 2.0, 5.0])[queue % 3], queue, queue % 3).max_min(found))


def promised(*classes: dict[str, object], rate: str = "10 Gb/s") -> ps.Scenario:
    return star(duration="2 ms").switch(scheduler={"ets": {"classes": list(classes)}})


def test_strict_classes_go_first_and_the_others_share_what_they_leave() -> None:
    """ETS 40 : 60 beside a strict class of 1 Gb/s: 3.6 and 5.4 of 9, told as fair to a per cent."""
    found = promised(
        {"queues": [0, 1, 2], "percent": 40},
        {"queues": [3, 4, 5], "percent": 60},
        {"queues": [6, 7], "strict": True},
    ).flow_control.pfc(priorities=[0, 3])
    found = found.flow("web", from_="h0", to="h3", source="greedy")
    found = found.flow("storage", from_="h1", to="h3", priority=3, source="greedy")
    found = found.flow("control", from_="h2", to="h3", priority=7, source={"constant": {"rate": "1 Gb/s"}})
    result = found.run()
    shares = {share.flow: share for share in oracle.assess(result).shares}
    left = 10e9 * 1522 / 1542 - 1e9
    for definition in ("max_min", "proportional"):
        due = [shares[flow].fair_bps[definition] for flow in ("web", "storage", "control")]
        assert due == pytest.approx([0.4 * left, 0.6 * left, 1e9], rel=1e-6)
    against = summary.against_max_min(result)
    assert against is not None and abs(against["largest_deviation"]) < 0.02


def test_what_goes_first_may_leave_nothing() -> None:
    """Three strict classes, all greedy: the highest has all, and nothing is due to the others."""
    found = star(duration="1 ms").switch(scheduler="strict_priority").flow_control.pfc(priorities=[1, 4, 6])
    for host, priority in (("h0", 1), ("h1", 4), ("h2", 6)):
        found = found.flow(host, from_=host, to="h3", priority=priority, source="greedy")
    assessed = oracle.assess(found.run())
    link = 10e9 * 1522 / 1542
    assert [share.fair_bps["max_min"] for share in assessed.shares] == pytest.approx([0.0, 0.0, link])
    assert [share.deviation("max_min") for share in assessed.shares][:2] == [None, None]
    verdict = assessed.verdict()
    assert verdict is not None and verdict.flow == "h2" and abs(verdict.largest_deviation) < 0.02


def test_a_class_shares_its_part_over_its_flows() -> None:
    """Two flows of the class of 40 % have 20 % each."""
    found = promised({"queues": [0, 1, 2, 4, 5, 6, 7], "percent": 40}, {"queues": [3], "percent": 60})
    found = found.flow_control.pfc(priorities=[0, 3]).flow("a", from_="h0", to="h3", source="greedy")
    found = found.flow("b", from_="h1", to="h3", source="greedy")
    result = found.flow("c", from_="h2", to="h3", priority=3, source="greedy").run()
    shares = oracle.assess(result).shares
    link = 10e9 * 1522 / 1542
    assert [one.fair_bps["max_min"] / link for one in shares] == pytest.approx([0.2, 0.2, 0.6], rel=1e-6)
    against = summary.against_max_min(result)
    assert against is not None and abs(against["largest_deviation"]) < 0.03


def test_frames_are_shared_where_weights_count_frames() -> None:
    """Weighted round robin 1 : 1 with 500 B and 1,500 B: a quarter and three quarters of the bytes."""
    found = star(duration="2 ms").switch(
        queues=[0, 1, 1, 1, 1, 1, 1, 1], scheduler={"wrr": {"weights": [1, 1]}}
    )
    found = found.flow("small", from_="h0", to="h3", frame="500 B", source="greedy")
    result = found.flow("large", from_="h1", to="h3", priority=1, frame="1500 B", source="greedy").run()
    against = summary.against_max_min(result)
    assert against is not None and abs(against["largest_deviation"]) < 0.02


@pytest.mark.parametrize("kind", ["connections", "shaper", "slope", "fault"])
def test_what_no_scheduler_promises_is_not_reported(kind: str) -> None:
    """A percentage of something else than its due would only mislead."""
    found = star(duration="1 ms")
    if kind == "connections":
        found = found.flow("a", from_="h0", to="h3", source={"window": {}})
    else:
        found = found.flow("a", from_="h0", to="h3", source="greedy")
    found = found.flow("b", from_="h1", to="h3", priority=3, source="greedy")
    if kind == "shaper":
        port = {"token_bucket": {"rate": "5 Gb/s", "depth": "10 KiB"}}
        found = found.switch(scheduler={"shaper": {"scheduler": "strict_priority", "port": port}})
    if kind == "slope":
        classes = [{"queues": [0, 1, 2, 4, 5, 6, 7], "percent": 100}, {"queues": [3], "idle_slope": "1 Gb/s"}]
        found = found.switch(scheduler={"ets": {"classes": classes}})
    if kind == "fault":
        found = found.fault(at="0.5 ms", link=["sw", "h3"], down=True)
    assert summary.against_max_min(found.run()) is None


@settings(deadline=None)
@given(problems(), st.data())
def test_no_rate_depends_on_those_that_go_later(found: Problem, data: st.DataObject) -> None:
    """Each level has what it would have without those below, and all together fit."""
    count = found.demand.size
    level = np.array(data.draw(st.lists(st.integers(0, 2), min_size=count, max_size=count)), dtype=int)
    rates = Strict(level, None).max_min(found)
    feasible(found, rates)
    without = replace(found, demand=np.where(level == 2, 0.0, found.demand))
    assert rates[level < 2] == pytest.approx(Strict(level, None).max_min(without)[level < 2], rel=1e-6)
    first = replace(found, demand=np.where(level == 0, found.demand, 0.0))
    assert rates[level == 0] == pytest.approx(max_min(first)[level == 0], rel=1e-6)


def test_what_a_queue_leaves_stays_in_its_group() -> None:
    """Group 0 (50): a queue that asks for 10 and one that takes all; group 1 (50): one that takes all."""
    found = Problem([[1, 1, 1]], [100], [10, np.inf, np.inf], [1, 1, 1])
    tree = Hierarchy(np.array([50.0, 50.0, 50.0]), np.array([0, 1, 2]), np.array([0, 0, 2]))
    assert tree.max_min(found) == pytest.approx([10, 40, 50])
    # Idle queues of a group leave its part to the others of the group; idle groups to other groups.
    assert tree.max_min(replace(found, demand=np.array([0.0, np.inf, np.inf]))) == pytest.approx([0, 50, 50])
    assert tree.max_min(replace(found, demand=np.array([np.inf, np.inf, 0.0]))) == pytest.approx([50, 50, 0])


def test_a_queue_counts_what_it_counts_at_its_bottleneck() -> None:
    """The first link has room for two queues of a group; on the second, one of them meets another group."""
    found = Problem([[1, 1, 0], [1, 0, 1]], [1000, 100], [np.inf] * 3, [1, 1, 1])
    tree = Hierarchy(np.array([40.0, 40.0, 60.0]), np.array([0, 1, 3]), np.array([0, 0, 3]))
    assert tree.max_min(found) == pytest.approx([40, 960, 60])


def test_shares_are_reported_by_run_and_by_fair(penstock: Command, small: Path) -> None:
    reported = penstock("run", small, "--out", "out", "--no-report")
    assert "of weighted max-min (Jain), largest deviation" in reported.stdout
    against = json_of(penstock("run", small, "--json"))["fairness"]["max_min"]
    assert set(against) == {"jain", "largest_deviation", "flow"}
    document = json_of(penstock("fair", "out", "--json"))
    assert document["verdicts"]["max_min"] == pytest.approx(against)
    assert [flow["demand_bps"] for flow in document["flows"]] == [pytest.approx(4e9), None]
    assert document == {**json_of(penstock("fair", small, "--json")), "run": "out"}
    table = penstock("fair", "out", "--counts", "payload", "--weight", "greedy=2").stdout
    assert "counted in payload" in table
    assert "weights  given" in table
    assert "counts   payload (18 B a frame less); for others --counts frame or --counts wire" in table


def test_what_the_scheduler_divides_is_reported(penstock: Command, tmp_path: Path) -> None:
    """Frames of 64 B and 1522 B that share the wire 60 to 40 do not share bytes of frames so."""
    (tmp_path / "mixed.toml").write_text(
        """
[simulation]
duration = "2 ms"
[topology.star]
hosts = 3
rate = "10 Gb/s"
phy = "none"
[flow_control.pfc]
[switch.scheduler.drr]
weights = [3, 2, 1, 1, 1, 1, 1, 1]
accounted_length = "wire"
[[flows]]
name = "small"
from = "h0"
to = "h2"
priority = 0
source = "greedy"
frame = "64 B"
[[flows]]
name = "large"
from = "h1"
to = "h2"
priority = 1
source = "greedy"
frame = "1522 B"
""",
        "utf-8",
    )
    assert penstock("run", "mixed.toml", "--out", "mixed", "--no-report").returncode == 0
    hint = "the scheduler of the switches divides wire time (with line overhead): see --counts wire"
    assert hint in penstock("fair", "mixed").stdout
    fits = penstock("fair", "mixed", "--counts", "wire").stdout
    assert "weighted max-min: 1.0000 (Jain)" in fits
    assert hint not in fits


@pytest.mark.parametrize(
    "weight", ["greedy", "=2", "greedy=", "greedy=two", "greedy=0", "greedy=nan", "who=1"]
)
def test_wrong_weights_are_reported(penstock: Command, small: Path, weight: str) -> None:
    output = penstock("fair", small, "--weight", weight)
    assert output.returncode == 2
    assert "expected" in output.stderr or "no flow" in output.stderr
    assert "Traceback" not in output.stderr


def test_a_result_without_paths_says_what_to_do(made_up: ps.Result) -> None:
    with pytest.raises(InputError, match='no table "paths"; run the scenario again'):
        oracle.assess(made_up)


def test_paths_say_where_frames_went_and_demands_what_was_asked_for() -> None:
    text = """
[simulation]
duration = "500 us"
[topology.leaf_spine]
leaves = 2
spines = 2
hosts_per_leaf = 2
rate = "10 Gb/s"
phy = "none"
[host]
queue_limit = "3 frames"
[[flows]]
name = "hot"
from = "h0"
to = { hot_spot = { host = "h3", share = 0.5 } }
frame = "1000 B"
start = "100 us"
limit = "40 kB"
source = { poisson = { rate = "4 Gb/s" } }
"""
    result = ps.Scenario.from_toml(text).run()
    paths = {row["destination"]: row for row in result.rows("paths")}
    assert {name: row["share"] for name, row in paths.items()} == {"h1": 0.25, "h2": 0.25, "h3": 0.5}
    assert paths["h1"]["ports"].split()[0] == "h0.0->leaf0"
    assert [len(paths[name]["ports"].split()) for name in ("h1", "h3")] == [2, 4]
    assert paths["h3"]["ports"].endswith("->h3")
    (flow,) = result.rows("flows")
    assert sum(row["bytes_delivered"] for row in paths.values()) == flow["bytes_delivered"] == 40_000
    (requested,) = result.table("demands").to_pylist()
    assert requested == {
        "flow": "hot",
        "time_ns": 100_000.0,
        "rate_bps": 4e9,
        "limit_bytes": 40_000.0,
        "room_bytes": 3_000.0,
        "frame_bytes_mean": 1_000.0,
        "turn_frames": 0,
        "back_share": 0.0,
        "back_frame_bytes_mean": 0.0,
    }
    assert {row["ports_back"] for row in result.rows("paths")} == {""}


def test_run_does_not_wait_for_shares_that_change_all_the_time(penstock: Command, tmp_path: Path) -> None:
    script = ", ".join(f'{{at = "{i + 1} us", start = true, rate = "{1 + i % 7} Gb/s"}}' for i in range(150))
    flow = f'[[flows]]\nname = "%s"\nfrom = "%s"\nto = "h2"\nscript = [{script}]\n'
    text = '[simulation]\nduration = "200 us"\n[topology.star]\nhosts = 3\nrate = "10 Gb/s"\nphy = "none"\n'
    source = 'source = { constant = { rate = "1 Gb/s" } }\n'
    file = tmp_path / "busy.toml"
    file.write_text(text + flow % ("a", "h0") + source + flow % ("b", "h1") + source, "utf-8")
    assert json_of(penstock("run", file, "--json"))["fairness"]["max_min"] is None
    assert json_of(penstock("fair", file, "--json"))["verdicts"]["max_min"]["jain"] > 0.9


@pytest.mark.filterwarnings("error")
def test_weights_beyond_all_measure_are_an_error_and_no_crash() -> None:
    with pytest.raises(ConvergenceError):
        proportionally_fair(problem([[1, 1], [1, 0]], [1e10, 1e10], [1e10, 2.5e9], [1e-308, 1]))
    assert max_min(problem([[1, 1]], [1], demand=[1, 1], weight=[1e-308, 1])) == pytest.approx([0, 1])


def test_nodes_share_whatever_the_number_of_their_flows(penstock: Command, tmp_path: Path) -> None:
    """Three flows of h0 are due a sixth each by nodes and a quarter by flows; a FIFO divides by links."""
    scenario = star(duration="2 ms").flow_control.pfc(priorities=[0])
    for nth in range(3):
        scenario = scenario.flow(f"many{nth}", from_="h0", to="h3", source="greedy")
    scenario = scenario.flow("one", from_="h1", to="h3", source="greedy")
    result = scenario.run()
    link = 10e9 * 1522 / 1542
    by_flow = oracle.assess(result, proportional=False)
    assert [share.fair_bps["max_min"] / link for share in by_flow.shares] == pytest.approx([0.25] * 4)
    by_node = oracle.assess(result, by="node")
    assert [share.flow for share in by_node.shares] == ["h0", "h1"]
    for definition in ("max_min", "proportional"):
        fair = [share.fair_bps[definition] / link for share in by_node.shares]
        assert fair == pytest.approx([0.5, 0.5], rel=1e-6)
    assert all(abs(share.deviation("max_min") or 0) < 0.02 for share in by_node.shares)
    assert sum(share.measured_bps for share in by_node.shares) == sum(
        share.measured_bps for share in by_flow.shares
    )
    with pytest.raises(InputError, match="weights apply to flows"):
        oracle.assess(result, by="node", weights={"one": 2.0})
    result.save(tmp_path / "out")
    done = penstock("fair", tmp_path / "out", "--by", "node", "--json")
    document = json_of(done)
    assert document["by"] == "node"
    assert [row["name"] for row in document["flows"]] == ["h0", "h1"]
    assert "(node h" in penstock("fair", tmp_path / "out", "--by", "node").stdout
    assert penstock("fair", tmp_path / "out", "--by", "node", "--weight", "one=2").returncode == 2


def test_a_node_that_asks_for_less_leaves_the_rest() -> None:
    """h0 asks for 2 of 10 Gb/s in two flows; h1, with one, gets what is left, and h2 the same, with two."""
    scenario = star(duration="2 ms").flow_control.pfc(priorities=[0])
    for nth in range(2):
        scenario = scenario.flow(f"a{nth}", from_="h0", to="h3", source={"constant": {"rate": "1 Gb/s"}})
    scenario = scenario.flow("b", from_="h1", to="h3", source="greedy")
    for nth in range(2):
        scenario = scenario.flow(f"c{nth}", from_="h2", to="h3", source="greedy")
    found = oracle.assess(scenario.run(), by="node", proportional=False)
    link = 10e9 * 1522 / 1542
    due = [2e9, (link - 2e9) / 2, (link - 2e9) / 2]
    assert [share.fair_bps["max_min"] for share in found.shares] == pytest.approx(due, rel=1e-3)
