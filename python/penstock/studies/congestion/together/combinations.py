"""Combinations of mechanisms: PFC, TPFC or neither; ETS or strict priority; QCN or none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from penstock.scenario import Scenario

STORAGE, LAN = 3, 0
"""The lossless and the lossy priority."""
LAN_PERCENT = 40
XOFF, XON, WATERMARK = "60 frames", "20 frames", "40 frames"
SHORT_CYCLES: Mapping[str, Any] = {
    "time_reset": "200 us",
    "byte_reset": "30 kB",
    "active_increase": "50 Mb/s",
}
PAUSES = ("none", "PFC", "TPFC")


@dataclass(frozen=True)
class Combination:
    """The enabled mechanisms.

    Attributes
    ----------
    pause : str
        One of `PAUSES`.
    ets, qcn : bool
        True for ETS instead of strict priority; true for QCN.
    xoff, xon, watermark : str
        PFC thresholds.
    point, reaction : Mapping
        Keys of the congestion points and the reaction points.
    """

    pause: str
    ets: bool
    qcn: bool
    xoff: str = XOFF
    xon: str = XON
    watermark: str = WATERMARK
    point: Mapping[str, Any] = field(default_factory=dict)
    reaction: Mapping[str, Any] = field(default_factory=lambda: SHORT_CYCLES)

    @property
    def name(self) -> str:
        """Names of the enabled mechanisms, joined by plus signs."""
        parts = [self.pause] if self.pause != "none" else []
        parts += [name for name, on in (("ETS", self.ets), ("QCN", self.qcn)) if on]
        return " + ".join(parts) or "nothing"

    def over(self, scenario: Scenario) -> Scenario:
        """The scenario with the enabled mechanisms."""
        for key, value in self._changes().items():
            scenario = scenario.with_value(key, value)
        return scenario

    def _changes(self) -> dict[str, Any]:
        changes: dict[str, Any] = {}
        if self.pause == "none":
            changes["switch.buffer"] = {"queue": "100 frames"}
        else:
            pfc: dict[str, Any] = {"priorities": [STORAGE], "xoff": self.xoff, "xon": self.xon}
            if self.pause == "TPFC":
                target = {"method": "fair_bandwidth", "watermark": self.watermark}
                pfc |= {"accounting": "egress", "target": target}
            changes["flow_control"] = {"pfc": pfc}
        if self.ets:
            changes["switch.scheduler"] = {
                "ets": {
                    "classes": [
                        {"queues": [0, 1, 2], "percent": LAN_PERCENT},
                        {"queues": [STORAGE], "percent": 100 - LAN_PERCENT},
                        {"queues": [4, 5, 6, 7], "strict": True},
                    ]
                }
            }
        if self.qcn:
            changes["switch.queue_managers"] = [{"classes": [STORAGE], "qcn": dict(self.point)}]
            changes["host.rate_limiters"] = {"priorities": [STORAGE], "qcn": dict(self.reaction)}
        return changes


ALL = tuple(Combination(pause, ets, qcn) for pause, ets, qcn in product(PAUSES, (False, True), (False, True)))
