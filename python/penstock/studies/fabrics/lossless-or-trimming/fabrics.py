"""Fabrics, as changes of the scenario of a workload, and their transports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock.studies.marks import red_marks

Changes = Mapping[str, Any]


@dataclass(frozen=True)
class Fabric:
    """Switches and transport.

    Attributes
    ----------
    color : str
        Color in pictures, by reaction to a full queue.
    over : Mapping
        Transport of the transfers.
    changes : Mapping
        Other scenario keys and their values.
    """

    color: str
    over: Changes
    changes: Changes


KINDS = {
    "drops": "#777777",
    "PFC": "#E69F00",
    "trimming": "#0072B2",
    "credits, trimming": "#CC79A7",
}
_SHARED = {"total": "16 MiB"}
_DROPS: Changes = {"switch.buffer": {**_SHARED, "queue": "1 MB"}}
_PFC: Changes = {
    "switch.buffer": _SHARED,
    "flow_control.pfc": {"priorities": [3], "xoff": "200 kB", "xon": "180 kB"},
}
_TRIMS: Changes = {
    # Bytes in flight on a path: 12.3 us at 100 Gb/s.
    "switch.trimming": {"preset": "uec", "threshold": "154 kB"},
    "switch.buffer": _SHARED,
    "switch.queue_managers": [red_marks("31 kB", "123 kB", 1.0)],
}
_CONTROL = {"ack_priority": 6}
"""Acknowledgements, NACKs and credits use the class of trimmed packets."""
_SEVERAL = 16
"""UET contexts and MRC connections between two hosts. With RoCE each message has a queue pair."""
_MARKS: Changes = {"switch.queue_managers": [red_marks("100 kB", "400 kB", 0.2)]}
_DCQCN = {"control": {"dcqcn": {"preset": "hpcc"}}, "cnp_gap": "4 us", "queue_pairs": "each"}
_ROCE = {**_DCQCN, "timeout": "1 ms"}


def _rdma(color: str, keys: Changes, *changes: Changes) -> Fabric:
    merged: dict[str, Any] = {}
    for some in (_MARKS, *changes):
        merged.update(some)
    return Fabric(color, {"rdma": {**_ROCE, **keys}}, merged)


FABRICS = {
    "DCQCN, drops": _rdma(KINDS["drops"], {"recovery": "selective"}, _DROPS),
    "DCQCN, PFC": _rdma(KINDS["PFC"], {}, _PFC),
    "DCQCN, PFC, sprayed": _rdma(
        KINDS["PFC"], {"recovery": "reordering"}, _PFC, {"switch.path_choice": "spray"}
    ),
    "DCQCN, PFC, adaptive": _rdma(
        KINDS["PFC"], {"recovery": "reordering"}, _PFC, {"switch.path_choice": {"adaptive": {}}}
    ),
    "MRC": Fabric(
        KINDS["trimming"], {"mrc": {"trimming": True, "connections": _SEVERAL, **_CONTROL}}, _TRIMS
    ),
    "NSCC, sprayed": Fabric(
        KINDS["trimming"],
        {"uet": {"trimming": True, "contexts": _SEVERAL, "paths": "oblivious", **_CONTROL}},
        _TRIMS,
    ),
    "RCCC, sprayed": Fabric(
        KINDS["credits, trimming"],
        {
            "uet": {
                "trimming": True,
                "contexts": _SEVERAL,
                "paths": "oblivious",
                "control": "rccc",
                **_CONTROL,
            }
        },
        _TRIMS,
    ),
}
