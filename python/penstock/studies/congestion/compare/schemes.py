"""Congestion controls, as changes of the scenario of a workload."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Changes = Mapping[str, Any]


@dataclass(frozen=True)
class Scheme:
    """A congestion control.

    Attributes
    ----------
    color : str
        Color in pictures.
    changes : Mapping
        Scenario keys and their values.
    tcp : Mapping
        Keys of TCP connections that replace the greedy sources; empty for none.
    """

    color: str
    changes: Changes = field(default_factory=dict)
    tcp: Changes = field(default_factory=dict)


def _paused(control: Changes, **more: Any) -> Changes:
    """Link-level flow control instead of drops."""
    return {"switch.buffer": None, "flow_control": control, **more}


def _notified(name: str, point: Changes, reaction: Changes, per: str = "flow") -> Changes:
    """Congestion points and rate limiters of a scheme."""
    return {
        "switch.queue_managers": [{name: point}],
        "host.rate_limiters": {"per": per, name: reaction},
    }


def _targeted(method: str) -> Changes:
    watermarks = {"accounting": "egress", "xoff": "60 frames", "xon": "20 frames"}
    target = {"method": method, "watermark": "40 frames"}
    return _paused(
        {"pfc": {"priorities": [3], **watermarks, "target": target}}, **{"switch.queues": "shared"}
    )


_TIMERS = {"min_timeout": "1 ms", "initial_timeout": "1 ms", "send_jitter": "1 us"}
_FAST = {"interval": "100 us"}
SCHEMES = {
    "none": Scheme("#777777"),
    "PAUSE": Scheme("#D55E00", _paused({"pause": {"xoff": "60 frames", "xon": "20 frames"}})),
    "PFC": Scheme("#D55E00", _paused({"pfc": {"priorities": [3], "xoff": "60 frames", "xon": "20 frames"}})),
    "TPFC sampling": Scheme("#E69F00", _targeted("random_sampling")),
    "TPFC fair": Scheme("#E69F00", _targeted("fair_bandwidth")),
    "QCN": Scheme(
        "#0072B2",
        _notified("qcn", {}, {"time_reset": "200 us", "byte_reset": "30 kB", "active_increase": "50 Mb/s"}),
    ),
    "BCN": Scheme("#0072B2", _notified("bcn", {}, {})),
    "FECN": Scheme("#009E73", _notified("fecn", _FAST, _FAST)),
    "E-FECN": Scheme("#009E73", _notified("fecn", {**_FAST, "severe_messages": True}, _FAST)),
    "PRC": Scheme("#CC79A7", _notified("prc", {}, {}, per="destination")),
    "TCP": Scheme("#56B4E9", tcp={"preset": "rfc", **_TIMERS}),
    "DCTCP": Scheme(
        "#56B4E9",
        {"switch.queue_managers": [{"step": {"threshold": "65 frames"}}]},
        {"preset": "datacenter", **_TIMERS},
    ),
}
LOSSLESS = ("PAUSE", "PFC", "TPFC sampling", "TPFC fair")
NOTIFIED = ("QCN", "BCN", "FECN", "E-FECN", "PRC")
