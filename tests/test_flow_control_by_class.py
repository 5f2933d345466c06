"""PFC for some priorities of a link and credits for others: each behaves as if it were alone there.

Hosts h0 and h1 send over s0 and s1 to h2 and h3. Priority 3 has PFC, priority 4 credits, priority 0 neither.
"""

from __future__ import annotations

from typing import Any

import pytest
import tomli_w
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps

Keys = dict[str, Any]
PFC: Keys = {"priorities": [3], "accounting": "ingress"}
CREDIT: Keys = {"priorities": [4], "buffer": "16 KiB"}
CBFC: Keys = {"priorities": [4], "preset": "cbfc", "buffer": "32 KiB"}
BOTH: Keys = {"by_class": {"pfc": PFC, "credit": CREDIT}}


def flow(name: str, sender: str, to: str, priority: int, source: Any = "greedy") -> Keys:
    return {"name": name, "from": sender, "to": to, "priority": priority, "source": source, "frame": "1 kB"}


def fabric(control: Keys, flows: list[Keys], slow: str = "", **simulation: Any) -> ps.Scenario:
    """The fabric; the link to the host `slow` has a tenth of the rate of the others."""
    usual = {"rate": "10 Gb/s", "length": "50 m", "phy": "none"}
    links = [{"between": [f"h{n}", "s0" if n < 2 else "s1"], **usual} for n in range(4)]
    links = [{**link, "rate": "1 Gb/s"} if link["between"][0] == slow else link for link in links]
    links.append({"between": ["s0", "s1"], **usual})
    keys = {
        "simulation": {"duration": "400 us", **simulation},
        "topology": {"explicit": {"hosts": ["h0..h3"], "switches": ["s0", "s1"], "links": links}},
        "flow_control": control,
        "flows": flows,
    }
    return ps.Scenario.from_toml(tomli_w.dumps(keys))


def tables(result: ps.Result) -> list[Any]:
    """Results of a run for flows, ports and pauses."""
    return [str(list(result.rows(table))) for table in ("flows", "ports", "queues", "pauses")]


def lost(result: ps.Result) -> int:
    """Frames that were lost."""
    return sum(row["frames_dropped"] for row in result.rows("flows"))


@pytest.mark.filterwarnings("ignore")
@settings(max_examples=15)
@given(st.sampled_from(["", "h2"]), st.booleans(), st.integers(100, 1400), st.integers(0, 99))
def test_a_class_alone_behaves_as_with_its_mechanism_alone(
    slow: str, constant: bool, bytes_: int, seed: int
) -> None:
    source = {"constant": {"rate": "7 Gb/s"}} if constant else {"poisson": {"rate": "8 Gb/s"}}
    for priority, alone in ((3, {"pfc": PFC}), (4, {"credit": CREDIT})):
        flows = [flow("a", "h0", "h2", priority, source), flow("b", "h1", "h2", priority, source)]
        flows = [{**one, "frame": f"{bytes_} B"} for one in flows]
        both = fabric(BOTH, flows, slow).run(seed=seed)
        assert tables(both) == tables(fabric(alone, flows, slow).run(seed=seed))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("credit", [CREDIT, CBFC])
@pytest.mark.parametrize(("held", "free"), [(3, 4), (4, 3)])
def test_what_stops_one_class_leaves_the_other_running(credit: Keys, held: int, free: int) -> None:
    """The class to the slow host is held back to 1 Gb/s; the other one has all that it asks for."""
    flows = [
        flow("held", "h0", "h2", held),
        flow("free", "h1", "h3", free, {"constant": {"rate": "6 Gb/s"}}),
    ]
    control = {"by_class": {"pfc": PFC, "credit": credit}}
    result = fabric(control, flows, "h2", duration="1 ms", warmup="200 us").run(seed=1)
    rates = {row["flow"]: row["throughput_bps"] for row in result.rows("flows")}
    assert rates["free"] == pytest.approx(6e9, rel=0.005)
    # A frame of 1,000 B takes 1,020 B of the link.
    assert rates["held"] == pytest.approx(1e9 * 1000 / 1020, rel=0.01)
    assert lost(result) == 0
    pauses = [row for row in result.rows("pauses") if row["port"] == "s0.2->s1"]
    assert {row["priority"] for row in pauses} == {held}
    assert {row["reason"] for row in pauses} == {"xoff" if held == 3 else "credits"}
    assert (
        sum(row["pauses_sent"] for row in result.rows("ports") if row["port"] == "s1.2->s0") > 0 or held == 4
    )


@pytest.mark.filterwarnings("ignore")
def test_headroom_and_credits_are_counted_apart() -> None:
    """Both classes wait for the slow host: neither takes of the room of the other."""
    flows = [flow("p", "h0", "h2", 3), flow("c", "h1", "h2", 4)]
    result = fabric(BOTH, flows, "h2").run(seed=1)
    queues = {row["class"]: row for row in result.rows("queues") if row["port"] == "s1.0->h2"}
    alone = [fabric({"pfc": PFC}, flows[:1], "h2"), fabric({"credit": CREDIT}, flows[1:], "h2")]
    for priority, scenario in zip((3, 4), alone, strict=True):
        [row] = [
            row
            for row in scenario.run(seed=1).rows("queues")
            if row["port"] == "s1.0->h2" and row["class"] == priority
        ]
        # The room is filled as it is alone: credits to the last frame that they admit.
        assert abs(queues[priority]["queue_bytes_max"] - row["queue_bytes_max"]) <= 2 * 1000
    assert 15_000 <= queues[4]["queue_bytes_max"] <= 16_384
    assert lost(result) == 0


@pytest.mark.filterwarnings("ignore")
@settings(max_examples=12)
@given(
    st.lists(st.sampled_from([0, 3, 4]), min_size=4, max_size=4),
    st.sampled_from(["", "h2", "h3"]),
    st.integers(0, 99),
)
def test_nothing_is_lost_on_any_number_of_threads(priorities: list[int], slow: str, seed: int) -> None:
    flows = [
        flow(f"f{n}", f"h{n % 2}", f"h{2 + n // 2}", priority, {"poisson": {"rate": "5 Gb/s"}})
        for n, priority in enumerate(priorities)
    ]
    for credit in (CREDIT, CBFC):
        scenario = fabric({"by_class": {"pfc": PFC, "credit": credit}}, flows, slow)
        results = [scenario.run(seed=seed, threads=threads) for threads in (1, 2, 3)]
        assert len({result.fingerprint for result in results}) == 1
        assert len({str(tables(result)) for result in results}) == 1
        assert lost(results[0]) == 0


@pytest.mark.filterwarnings("ignore")
def test_a_priority_without_credits_takes_none() -> None:
    """Only priority 4 takes credits; what has none fills the queue before the slow host."""
    flows = [flow("free", "h0", "h2", 0, {"constant": {"rate": "3 Gb/s"}}), flow("c", "h1", "h2", 4)]
    result = fabric({"credit": CREDIT}, flows, "h2").run(seed=1)
    longest = {
        row["class"]: row["queue_bytes_max"] for row in result.rows("queues") if row["port"] == "s1.0->h2"
    }
    assert longest[4] <= 16_384 and longest[0] > 50_000


@pytest.mark.parametrize(
    ("control", "message"),
    [
        (
            {"by_class": {"pfc": {"priorities": [3, 4]}, "credit": CREDIT}},
            "priority 4 is in credit.priorities and in pfc.priorities",
        ),
        ({"by_class": {"pfc": {}, "credit": CREDIT}}, "pfc without priorities"),
        ({"by_class": {"pfc": PFC}}, "credit without priorities"),
        (
            {"by_class": {"pfc": PFC, "credit": {**CREDIT, "channels": [0, 1, 2, 5, 3, 4, 6, 7]}}},
            "channel 3 of priority 4 has the number of a priority with PFC",
        ),
        ({"credit": {"priorities": [8]}}, "priority 8"),
        ({"credit": {"priorities": [4, 4]}}, "priority 4 is listed twice"),
        ({"credit": {"priorities": [4], "channels": "all"}}, 'priorities beside channels = "all"'),
    ],
)
def test_lists_that_cannot_be_meant_are_refused(control: Keys, message: str) -> None:
    with pytest.raises(ps.ScenarioError, match=message):
        fabric(control, [flow("a", "h0", "h2", 3), flow("b", "h0", "h2", 4)]).run(seed=1)
