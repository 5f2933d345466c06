"""Link-level retry beside flow control, trimming and spraying, on links with bit errors.

With retry no bit error reaches what is above the link: nothing is lost or arrives twice, what takes one path
keeps its order, and a run has one trajectory on any number of threads.
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
RATE = "10 Gb/s"
FABRIC: Keys = {
    "simulation": {"duration": "2 ms"},
    "topology": {
        "leaf_spine": {
            "leaves": 2,
            "spines": 2,
            "hosts_per_leaf": 3,
            "rate": RATE,
            "phy": "none",
            "length": "40 m",
        }
    },
    "link": {"llr": "on"},
}
# Damaged pause frames are lost: pauses are short, so that another follows soon, and the headroom holds what
# comes until then.
PFC: Keys = {
    "accounting": "ingress",
    "xoff": "60 kB",
    "xon": "40 kB",
    "headroom": "300 kB",
    "pause_quanta": 500,
}
CBFC: Keys = {"preset": "cbfc", "buffer": "64 KiB"}
MARKS: Keys = {
    "classes": [0, 3],
    "red": {"min": "30 kB", "max": "120 kB", "max_probability": 0.2, "action": "mark_only"},
}


def streams(*priorities: int) -> Keys:
    """An incast of three hosts to one, and a flow beside it, each of 200 kB."""
    pairs = [("h0", "h5"), ("h1", "h5"), ("h3", "h5"), ("h2", "h4")]
    flows = [
        {
            "name": f"f{n}",
            "from": sender,
            "to": to,
            "priority": priorities[n % len(priorities)],
            "limit": "200 kB",
            "frame": {"uniform": {"min": "64 B", "max": "1500 B"}},
            "source": {"poisson": {"rate": "6 Gb/s"}},
        }
        for n, (sender, to) in enumerate(pairs)
    ]
    return {"flows": flows}


def messages(over: Keys, **keys: Any) -> Keys:
    """Messages of 150 kB from each host to one at the other leaf."""
    entry = {
        "name": "m",
        "from": "h0..h5",
        "to": {"permutation": {"shift": 3}},
        "sizes": "150 kB",
        "arrivals": "once",
        "frame": "1500 B",
        "over": over,
    }
    return {"transfers": [{**entry, **keys}]}


STREAMS: dict[str, Keys] = {
    "alone": streams(0),
    "pfc": {**streams(3), "flow_control": {"pfc": {**PFC, "priorities": [3]}}},
    "cbfc": {**streams(4), "flow_control": {"credit": CBFC}},
    "pfc and cbfc by class": {
        **streams(3, 4),
        "flow_control": {
            "by_class": {"pfc": {**PFC, "priorities": [3]}, "credit": {**CBFC, "priorities": [4]}}
        },
    },
}
SPRAYED: dict[str, Keys] = {
    "uet, oblivious": messages({"uet": {"paths": {"oblivious": {"entropies": 16}}}}),
    "uet, reps, trimming": {
        **messages({"uet": {"paths": {"reps": {"entropies": 16}}}}),
        "switch": {"trimming": {"threshold": "100 kB"}, "queue_managers": [MARKS]},
    },
    "mrc, trimming": {
        **messages({"mrc": {}}),
        "switch": {"trimming": {"threshold": "100 kB"}, "queue_managers": [MARKS]},
    },
    "rdma, sprayed by switches": {
        **messages({"rdma": {"recovery": "reordering", "control": "none"}}),
        "switch": {"path_choice": "spray"},
    },
    "rdma, pfc": {
        **messages({"rdma": {"control": "dcqcn"}}, priority=3),
        "flow_control": {"pfc": {**PFC, "priorities": [3]}},
        "switch": {"queue_managers": [MARKS]},
    },
}


def runs(keys: Keys, rate: float, seed: int) -> ps.Result:
    """A run with wrong bits on all links, which is the same on 1 to 3 threads."""
    faults = [{"link": "all", "bit_error_rate": rate}]
    scenario = ps.Scenario.from_toml(tomli_w.dumps({**FABRIC, **copy.deepcopy(keys), "faults": faults}))
    results = [scenario.run(seed=seed, threads=threads) for threads in (1, 2, 3)]
    assert len({result.fingerprint for result in results}) == 1
    for table in ("flows", "ports", "link_retries"):
        assert len({str(list(result.rows(table))) for result in results}) == 1
    [first, *_] = results
    assert sum(row["replayed_frames"] for row in first.rows("link_retries")) > 0
    assert sum(row["flushed_frames"] for row in first.rows("link_retries")) == 0
    return first


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", STREAMS)
@settings(max_examples=6)
@given(st.sampled_from([1e-6, 3e-6]), st.integers(0, 999))
def test_streams_arrive_once_and_in_order(case: str, rate: float, seed: int) -> None:
    result = runs(STREAMS[case], rate, seed)
    for row in result.rows("flows"):
        assert row["bytes_sent"] >= 198_500
        assert row["frames_delivered"] == row["frames_sent"]
        assert row["bytes_delivered"] == row["bytes_sent"]
        assert (row["frames_dropped"], row["frames_reordered"]) == (0, 0)
    assert not [row for row in result.rows("drops") if row["frames"]]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", SPRAYED)
@settings(max_examples=4)
@given(st.sampled_from([3e-7, 1e-6]), st.integers(0, 999))
def test_messages_arrive_without_a_loss(case: str, rate: float, seed: int) -> None:
    result = runs(SPRAYED[case], rate, seed)
    assert all(row["acknowledged_ns"] is not None for row in result.rows("transfers"))
    assert not [row for row in result.rows("drops") if row["frames"]]
    flows = list(result.rows("flows"))
    assert sum(row["frames_dropped"] for row in flows) == 0
    assert all(row["frames_delivered"] == row["frames_sent"] for row in flows)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", [*STREAMS, *SPRAYED])
def test_without_retry_the_same_bits_lose_frames(case: str) -> None:
    """The errors of the tests above are there: without retry they lose frames, in links without credits."""
    keys = {**STREAMS, **SPRAYED}[case]
    if "cbfc" in case:
        pytest.skip("lost credits come back, which tests of CBFC cover")
    faults = [{"link": "all", "bit_error_rate": 3e-6}]
    text = tomli_w.dumps({**FABRIC, **copy.deepcopy(keys), "faults": faults, "link": {"llr": "off"}})
    result = ps.Scenario.from_toml(text).run(seed=1)
    assert sum(row["frames"] for row in result.rows("drops") if row["cause"] == "bit_error") > 0
