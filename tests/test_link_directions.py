"""Links whose directions have different rates: each direction behaves as on a link with its rate in both.

The fabric is h0 and h1 at s0, h2 at s1, and the link between s0 and s1. Traffic goes one way, and what
mechanisms send back does not cross that link, so that the rate of its other direction must not matter.
"""

from __future__ import annotations

import copy
from typing import Any

import pytest
import tomli_w
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps

Keys = dict[str, Any]
GBPS = 10**9


def switch(**keys: Any) -> Keys:
    return {"switch": keys}


def pauses(kind: str, **keys: Any) -> Keys:
    """Pauses whose levels and response do not go by the rate of the link."""
    if kind == "pfc":
        keys["priorities"] = [0, 3]
    return {
        "flow_control": {kind: {"xoff": "30 kB", "xon": "20 kB", "response_time": "500 ns", **keys}},
    }


def limited(control: Keys, point: Keys) -> Keys:
    """A control of rate limiters, whose messages go from s0 to h0 and h1."""
    return {"host": {"rate_limiters": control}, "switch": {"queue_managers": [point]}}


LIMIT = {"buffer": {"queue": "40 kB"}}
RED = {"weight": 0.1, "min": "8 kB", "max": "24 kB", "max_probability": 0.1}
CASES: dict[str, Keys] = {
    "tail drop": switch(**LIMIT),
    "dynamic threshold": switch(buffer={"total": "60 kB", "dynamic_threshold": {"alpha": 0.5}}),
    "pause": pauses("pause", accounting="ingress"),
    "pfc by ingress": pauses("pfc", accounting="ingress"),
    "pfc by egress": pauses("pfc", accounting="egress"),
    "pfc, computed pauses": pauses("pfc", accounting="ingress", pause_quanta="computed"),
    "tpfc": pauses("pfc", accounting="egress", target={"watermark": "25 kB", "method": "max_min"}),
    "credits": {"flow_control": {"credit": {"buffer": "32 KiB"}}},
    "red": switch(**LIMIT, queue_managers=[{"red": RED}]),
    "red in proportion": switch(**LIMIT, queue_managers=[{"red": {**RED, "reference_rate": "10 Gb/s"}}]),
    "step": switch(**LIMIT, queue_managers=[{"step": {"threshold": "12 kB"}}]),
    "qcn": limited({"qcn": {}}, {"qcn": {"set_point": "16 kB"}}),
    "bcn": limited({"bcn": {}}, {"bcn": {"set_point": "16 kB"}}),
    "path rates": limited({"per": "path", "prc": {"method": "messages"}}, {"prc": {"messages": True}}),
    "trimming": switch(trimming={"threshold": "20 kB"}),
    "trimming in proportion": switch(trimming={"threshold": "20 kB", "reference_rate": "10 Gb/s"}),
    "ets": switch(
        **LIMIT,
        scheduler={
            "ets": {
                "classes": [{"queues": [0], "percent": 30}, {"queues": [1, 2, 3, 4, 5, 6, 7], "percent": 70}]
            }
        },
    ),
    "wfq": switch(**LIMIT, scheduler={"wfq": {}}),
    "wf2q+": switch(**LIMIT, scheduler={"wf2q_plus": {}}),
    "drr": switch(**LIMIT, scheduler={"drr": {}}),
    "shaper": switch(
        **LIMIT, scheduler={"shaper": {"port": {"token_bucket": {"rate": {"share": 0.6}, "depth": "6 kB"}}}}
    ),
    "crossbar": switch(**LIMIT, queueing="crossbar"),
    "cut-through": switch(**LIMIT, forwarding="cut_through"),
}


def fabric(
    case: Keys, rates: tuple[float, float], back: bool = False, phy: str | None = None, **keys: Any
) -> ps.Scenario:
    """The fabric with a link from s0 to s1 of these rates in Gb/s; `back`: its ends are named from s1 on."""
    there, reverse = rates
    ends = ["s1", "s0"] if back else ["s0", "s1"]
    between = {
        "rate": f"{reverse if back else there} Gb/s",
        "reverse_rate": f"{there if back else reverse} Gb/s",
    }
    usual = {"length": "20 m"}
    links = [
        {"between": ["h0..h1", "s0"], "rate": "10 Gb/s", "phy": "none", **usual},
        {"between": ["h2", "s1"], "rate": "10 Gb/s", "phy": "none", **usual},
        {"between": ends, **between, **usual, "phy": phy or "none"},
    ]
    scenario: Keys = {
        "simulation": {"duration": "300 us"},
        "topology": {"explicit": {"hosts": ["h0..h2"], "switches": ["s0", "s1"], "links": links}},
        "flows": [
            flow("a", "h0", 0, {"poisson": {"rate": "6 Gb/s"}}),
            flow("b", "h1", 3, {"constant": {"rate": "5 Gb/s"}}),
        ],
    }
    return ps.Scenario.from_toml(tomli_w.dumps({**scenario, **copy.deepcopy(case), **keys}))


def flow(name: str, sender: str, priority: int, source: Keys) -> Keys:
    return {
        "name": name,
        "from": sender,
        "to": "h2",
        "priority": priority,
        "source": source,
        "start": "2 us",
        "frame": {"uniform": {"min": "64 B", "max": "1500 B"}},
    }


def seen(scenario: ps.Scenario, seed: int) -> str:
    """Results of a run for the flows and for the ports on their paths."""
    result = scenario.run(seed=seed)
    way = {"s0.2->s1", "s1.0->h2", "h0.0->s0", "h1.0->s0"}
    rows: list[Any] = [list(result.rows("flows")), list(result.rows("drops"))]
    rows += [[row for row in result.rows(table) if row["port"] in way] for table in ("ports", "queues")]
    assert sum(row["frames_delivered"] for row in rows[0])
    return str(rows)


ANSWERED = {"path rates"}
"""Receivers answer the messages of this control, over the other direction of the link."""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", sorted(CASES.keys() - ANSWERED))
@settings(max_examples=8)
@given(st.sampled_from([1, 2.5, 4, 7, 10]), st.sampled_from([1, 3, 10]), st.booleans(), st.integers(0, 99))
def test_a_direction_behaves_as_a_link_of_its_rate(
    case: str, rate: float, other: float, back: bool, seed: int
) -> None:
    equal = seen(fabric(CASES[case], (rate, rate)), seed)
    assert seen(fabric(CASES[case], (rate, other), back), seed) == equal


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", CASES)
@settings(max_examples=8)
@given(st.sampled_from([1, 2.5, 4, 7]), st.sampled_from([1, 3, 10]), st.integers(0, 99))
def test_a_direction_that_changes_its_rate_is_as_one_that_had_it(
    case: str, rate: float, other: float, seed: int
) -> None:
    """The rate changes at 1 us, before any frame, to one that another run has from the beginning."""
    fault = {"link": ["s0", "s1"], "towards": "s1", "at": "1 us", "rate": f"{rate} Gb/s"}
    changed = fabric(CASES[case], (10, other), faults=[fault])
    assert seen(changed, seed) == seen(fabric(CASES[case], (rate, other)), seed)


MARKS = switch(buffer={"queue": "60 kB"}, queue_managers=[{"red": {**RED, "action": "mark"}}])
SENDERS: dict[str, tuple[Keys, Keys]] = {
    "greedy": ({}, {}),
    "qcn": ({}, CASES["qcn"]),
    "tcp": ({"tcp": {}}, MARKS),
    "dcqcn": ({"rdma": {"control": "dcqcn"}}, MARKS),
    "timely": ({"rdma": {"control": "timely"}}, MARKS),
}
"""Senders without a window of a bandwidth-delay product, which would be that at the beginning."""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", SENDERS)
@settings(max_examples=8)
@given(st.sampled_from([1, 2.5, 4, 7]), st.integers(0, 99))
def test_the_rate_of_a_direction_reaches_the_host_that_sends(case: str, rate: float, seed: int) -> None:
    source, keys = SENDERS[case]
    flows = [flow("a", "h0", 0, source or "greedy"), flow("b", "h1", 0, {"constant": {"rate": "5 Gb/s"}})]
    flows[0].pop("frame")
    fault = {"link": ["h0", "s0"], "towards": "s0", "at": "1 us", "rate": f"{rate} Gb/s"}
    first = {
        "between": ["h0", "s0"],
        "rate": f"{rate} Gb/s",
        "reverse_rate": "10 Gb/s",
        "length": "20 m",
        "phy": "none",
    }
    usual = fabric(keys, (10, 10), flows=flows).to_dict()["topology"]["explicit"]["links"]
    others = [{"between": ["h1", "s0"], "rate": "10 Gb/s", "phy": "none", "length": "20 m"}, *usual[1:]]
    slow = fabric(keys, (10, 10), flows=flows).with_value("topology.explicit.links", [first, *others])
    assert seen(fabric(keys, (10, 10), flows=flows, faults=[fault]), seed) == seen(slow, seed)


def test_quanta_count_bit_times_of_the_direction_that_is_paused() -> None:
    """1,000 quanta of 512 bit times at 4 Gb/s are 128 us, whatever the rate of the pause frame."""
    lasts = []
    for reverse in (1, 4, 10):
        keys = pauses("pfc", accounting="ingress", pause_quanta=1000, resume=False, refresh=False)
        keys["simulation"] = {"duration": "300 us", "on_lossless_drop": "count"}
        slow = {"between": ["h2", "s1"], "rate": "1 Gb/s", "phy": "none", "length": "20 m"}
        scenario = fabric(keys, (4, reverse))
        links = scenario.to_dict()["topology"]["explicit"]["links"]
        result = scenario.with_value("topology.explicit.links", [links[0], slow, links[2]]).run(seed=1)
        rows = [row for row in result.rows("pauses") if row["port"] == "s0.2->s1" and row["end_ns"] < 299_000]
        lasts.append({round(row["end_ns"] - row["start_ns"] + 500, 3) for row in rows})
    assert lasts == [{128_000.0}] * 3


def test_keys_of_directions_are_checked() -> None:
    with pytest.raises(ps.ScenarioError, match="both phy and reverse_rate are given"):
        fabric({}, (10, 1), phy="slowest").run()
    fault = {"link": ["s0", "s1"], "towards": "h0", "at": "1 us", "rate": "1 Gb/s"}
    with pytest.raises(ps.ScenarioError, match='"h0" is not an end of the link'):
        fabric({}, (4, 1), faults=[fault]).run()
    twice = [{**fault, "towards": "s1"}, {"link": ["s0", "s1"], "at": "1 us", "rate": "2 Gb/s"}]
    with pytest.raises(ps.ScenarioError, match="the link changes its rate twice at 1 us"):
        fabric({}, (4, 1), faults=twice).run()
    with pytest.raises(ps.ScenarioError, match="the rate of a link is 0"):
        fabric({}, (4, 0)).run()
