"""Congestion controls on random fabrics: rates keep their bounds, all control frames are accounted for."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock.scenario import Scenario

LINE_BPS = 1e10
CONTROL_CLASS = 7
"""Messages and returned tags have the highest priority by default; no flow here has it."""
FAST = {"interval": "50 us"}
SCHEMES: dict[str, tuple[dict[str, Any], dict[str, Any], float]] = {
    "qcn": ({"qcn": {"sample_base": "30 kB"}}, {"qcn": {}}, 5e6),
    "bcn": ({"bcn": {"sample_every": 20}}, {"bcn": {}}, 10e6),
    "fecn": ({"fecn": FAST}, {"fecn": FAST}, 10e6),
    "e-fecn": ({"fecn": {**FAST, "severe_messages": True}}, {"fecn": FAST}, 10e6),
    "prc by messages": ({"prc": {"messages": True}}, {"prc": {"method": "messages"}}, 10e6),
    "prc by feedback": ({"prc": {}}, {"prc": {"method": "feedback"}}, 10e6),
    "prc by probes": ({"prc": {}}, {"prc": {"method": "probes"}}, 10e6),
    "prc by round trips": ({"prc": {}}, {"prc": {"method": "round_trip"}}, 10e6),
}
"""Keys of switches and hosts, and the lowest rate by default."""
ANSWERED = ("fecn", "e-fecn", "prc by probes", "prc by round trips")
"""Each tag comes back."""
TOPOLOGIES = {
    "star": ("h", {"hosts": 7}),
    "dumbbell": ("l", {"left": 7, "right": 1, "bottleneck_rate": "5 Gb/s"}),
    "leaf_spine": ("h", {"leaves": 3, "spines": 2, "hosts_per_leaf": 3}),
}
FABRICS = st.fixed_dictionaries(
    {
        "scheme": st.sampled_from(sorted(SCHEMES)),
        "topology": st.sampled_from(sorted(TOPOLOGIES)),
        "per": st.sampled_from(["flow", "destination", "path", "priority"]),
        "senders": st.integers(2, 5),
        "gbps": st.integers(1, 9),
        "pauses": st.booleans(),
        "damaged": st.booleans(),
        "seed": st.integers(1, 1000),
    }
)


@settings(max_examples=40, deadline=None)
@given(drawn=FABRICS)
def test_rates_have_bounds_and_every_control_frame_is_accounted_for(drawn: dict[str, Any]) -> None:
    """Senders stop, and everything on its way arrives before the end."""
    result = fabric(drawn).run(seed=drawn["seed"])
    limiters = result.rows("rate_limiters")
    floor = SCHEMES[drawn["scheme"]][2]
    assert all(floor <= row["rate_min_bps"] <= LINE_BPS for row in limiters)
    assert all(values.max() <= LINE_BPS for _, values in result.all_series("limiter_rate_bps").values())

    lost = sum(row["frames"] for row in result.rows("drops") if row["class"] == CONTROL_CLASS)
    sent = sum(row["messages"] for row in result.rows("queues"))
    received = sum(row["messages"] for row in limiters)
    assert sent - lost <= received <= sent
    if not drawn["damaged"]:
        assert received == sent
        tags, returned = (sum(row[name] for row in limiters) for name in ("tags_sent", "tags_returned"))
        assert drawn["scheme"] not in ANSWERED or returned == tags


def test_the_property_is_not_empty() -> None:
    """Messages and tags there are, and some are lost where bits flip."""
    still = {"topology": "star", "per": "flow", "senders": 5, "gbps": 9, "pauses": False, "seed": 1}
    record = {
        (scheme, damaged): fabric({**still, "scheme": scheme, "damaged": damaged}).run(seed=1)
        for scheme in ("qcn", "fecn")
        for damaged in (False, True)
    }
    received = {key: sum(row["messages"] for row in of.rows("rate_limiters")) for key, of in record.items()}
    tags = {key: sum(row["tags_returned"] for row in of.rows("rate_limiters")) for key, of in record.items()}
    assert received["qcn", False] > 20 and tags["fecn", False] > 20
    sent = sum(row["messages"] for row in record["qcn", True].rows("queues"))
    assert received["qcn", True] < sent
    assert tags["fecn", True] < sum(row["tags_sent"] for row in record["fecn", True].rows("rate_limiters"))


def fabric(drawn: dict[str, Any]) -> Scenario:
    """Senders at 1 to 9 Gb/s into one port for a millisecond, and a long silence."""
    host, keys = TOPOLOGIES[drawn["topology"]]
    names = [f"{host}{number}" for number in range(1, drawn["senders"] + 1)]
    receiver = "r0" if drawn["topology"] == "dumbbell" else f"{host}0"
    point, reaction, _ = SCHEMES[drawn["scheme"]]
    scenario = Scenario("30 ms").probes(bin="50 us")
    scenario = getattr(scenario.topology, drawn["topology"])(
        **keys, rate="10 Gb/s", delay="500 ns", phy="none"
    )
    scenario = scenario.switch(queue_managers=[point]).host(rate_limiters={"per": drawn["per"], **reaction})
    if drawn["pauses"]:
        scenario = scenario.flow_control.pfc(priorities=[3])
    scenario = scenario.flow(
        "f",
        from_=names,
        to=receiver,
        priority=3,
        frame="1500 B",
        stop="1 ms",
        source=ps.constant(f"{drawn['gbps']} Gb/s"),
    )
    if drawn["damaged"]:
        scenario = scenario.with_value("faults", [{"link": "all", "bit_error_rate": 1e-4}])
        scenario = scenario.with_value("simulation.on_lossless_drop", "count")
    return scenario
