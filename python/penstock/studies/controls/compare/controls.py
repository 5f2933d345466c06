"""Congestion controls, as changes of the scenario of a workload."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.studies.marks import red_marks

Changes = Mapping[str, Any]


@dataclass(frozen=True)
class Control:
    """A congestion control above PFC.

    Attributes
    ----------
    color : str
        Color in pictures, by kind of congestion signal.
    rdma : Mapping
        RDMA keys of the queue pairs.
    changes : Mapping
        Other scenario keys and their values.
    """

    color: str
    rdma: Changes = field(default_factory=lambda: {"control": "none"})
    changes: Changes = field(default_factory=dict)


def _notified(name: str, point: Changes, reaction: Changes, per: str = "flow") -> Control:
    """Layer-2 congestion points and rate limiters, below queue pairs without congestion control."""
    changes = {
        "switch.queue_managers": [{name: point}],
        "host.rate_limiters": {"per": per, name: reaction},
    }
    return Control("#0072B2", changes=changes)


_MARKS = {"switch.queue_managers": [red_marks("100 kB", "400 kB", 0.2)]}
_STEP = {"switch.queue_managers": [{"step": {"threshold": "100 kB", "at": "dequeue"}}]}
_CNP = {"cnp_gap": "4 us"}
_DCQCN = {"dcqcn": {"preset": "hpcc"}}

CONTROLS = {
    "PFC alone": Control("#777777"),
    "QCN": _notified(
        "qcn",
        {"set_point": "100 kB"},
        {"time_reset": "100 us", "byte_reset": "300 kB", "active_increase": "500 Mb/s"},
    ),
    "FECN": _notified("fecn", {"interval": "100 us"}, {"interval": "100 us"}),
    "PRC": _notified("prc", {"buffer": "640 kB"}, {"buffer": "640 kB"}, per="destination"),
    "DCTCP": Control("#E69F00", {"control": "dctcp"}, _STEP),
    "DCQCN": Control("#E69F00", {"control": _DCQCN, **_CNP}, _MARKS),
    "DCQCN + window": Control("#E69F00", {"control": _DCQCN, "window": "bdp", **_CNP}, _MARKS),
    "TIMELY, patched": Control(
        "#009E73",
        {"control": {"timely": {"patched": True, "t_low": "10 us", "t_high": "100 us", "delta": "100 Mb/s"}}},
    ),
    "Swift": Control("#009E73", {"control": "swift"}),
    "theta-PowerTCP": Control("#009E73", {"control": "theta_powertcp"}),
    "HPCC": Control("#CC79A7", {"control": "hpcc"}),
    "HPCC-PINT": Control("#CC79A7", {"control": "hpcc_pint"}),
    "PowerTCP": Control("#CC79A7", {"control": "powertcp"}),
}
SIGNALS = {
    "none": "#777777",
    "layer-2 messages": "#0072B2",
    "ECN marks": "#E69F00",
    "round-trip time": "#009E73",
    "telemetry": "#CC79A7",
}
TELEMETRY = ("HPCC", "HPCC-PINT", "PowerTCP")
