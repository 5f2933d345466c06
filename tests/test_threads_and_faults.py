"""Mechanisms on 64 hosts, with links that fail and slow down: one trajectory on any number of threads."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import tomli_w

import penstock as ps

FABRIC: dict[str, Any] = {
    "simulation": {"duration": "200 us"},
    "topology": {
        "leaf_spine": {
            "leaves": 8,
            "spines": 4,
            "hosts_per_leaf": 8,
            "rate": "10 Gb/s",
            "phy": "none",
            "length": "20 m",
        }
    },
    "flows": [
        {"name": "incast", "from": "h1..h20", "to": "h0", "source": "greedy", "priority": 0},
        {
            "name": "shifted",
            "from": "h21..h60",
            "to": {"permutation": {"shift": 9}},
            "source": "greedy",
            "priority": 3,
        },
    ],
    "faults": [
        {"link": ["leaf0", "spine0"], "at": "60 us", "down": True, "duration": "40 us"},
        {"link": ["h0", "leaf0"], "at": "50 us", "rate": "4 Gb/s"},
        {"link": ["leaf2", "spine1"], "at": "120 us", "rate": "2.5 Gb/s"},
    ],
}
PFC = {"pfc": {"priorities": [0, 3], "accounting": "ingress"}}
CROSSBAR = {"queueing": "crossbar"}


def fecn(**keys: Any) -> dict[str, Any]:
    """FECN at hosts and switches, beside PFC."""
    limiters = {"rate_limiters": {"fecn": {"interval": "20 us"}}}
    point = {"fecn": {"interval": "20 us", **keys}}
    return {"host": limiters, "switch": {"queue_managers": [point]}, "flow_control": PFC}


def tpfc(switch: dict[str, Any], method: str, **keys: Any) -> dict[str, Any]:
    """Targets of PFC at switches."""
    target = {"watermark": "30 frames", "method": method, **keys}
    pauses = {"priorities": [0, 3], "accounting": "egress", "xoff": "40 frames", "xon": "20 frames"}
    return {"switch": switch, "flow_control": {"pfc": {**pauses, "target": target}}}


PATH_RATES = {"rate_limiters": {"per": "path", "prc": {"method": "messages"}}}
SHARED = {"queues": [0, 3], "percent": 60, "drr_awc": {}}
OTHERS = [{"queues": [1, 2], "percent": 40}, {"queues": [4, 5, 6, 7], "strict": True}]
CASES: dict[str, dict[str, Any]] = {
    "fecn by queue": fecn(scope="queue", capacity="measured"),
    "fecn by port": fecn(scope="port", capacity="measured"),
    "fecn by switch": fecn(scope="switch", queue_control="additive"),
    "receivers send messages": {
        "host": {**PATH_RATES, "receive": {"rate": "2 Gb/s", "buffer": "64 KiB"}},
    },
    "red beside path rates, crossbar": {
        "host": PATH_RATES,
        "switch": {
            **CROSSBAR,
            "queue_managers": [{"prc": {"messages": True}}, {"red": {"min": "32 kB", "max": "64 kB"}}],
        },
    },
    "targets by sample, crossbar": tpfc(CROSSBAR, "random_sampling"),
    "targets by share, XON at each dequeue": tpfc({}, "fair_bandwidth", xon_sent="every_dequeue"),
    "limits, crossbar": {"switch": {**CROSSBAR, "buffer": {"queue": "40 frames", "total": "200 frames"}}},
    "adaptive weights in a class": {"switch": {"scheduler": {"ets": {"classes": [SHARED, *OTHERS]}}}},
    "managers by port": {
        "switch": {
            "queue_managers": [
                {"ports": "up", "step": {"threshold": "30 kB"}},
                {"ports": "down", "red": {"min": "32 kB", "max": "64 kB"}},
            ]
        }
    },
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", CASES)
def test_one_trajectory_on_any_number_of_threads(case: str) -> None:
    scenario = ps.Scenario.from_toml(tomli_w.dumps({**copy.deepcopy(FABRIC), **CASES[case]}))
    results = [scenario.run(seed=1, threads=threads) for threads in (1, 2, 3)]
    assert len({result.fingerprint for result in results}) == 1
    assert len({str(result.rows("ports")) for result in results}) == 1
    flows = list(results[0].rows("flows"))
    assert sum(row["frames_delivered"] for row in flows) > 300
    assert all(row["frames_delivered"] + row["frames_dropped"] <= row["frames_sent"] for row in flows)
