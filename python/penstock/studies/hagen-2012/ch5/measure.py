"""Changed scenarios, and the rates of streams."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.result import Result
from penstock.scenario import Scenario

BLOCK = 1 << 20

Changes = Mapping[str, Any]
NO_PFC: Changes = {"flow_control": None}
SLOWED: Changes = {"hosts.cna4.receive.time_per_frame": "2857 ns"}


def changed(scenario: Scenario, changes: Changes) -> Scenario:
    """The scenario with other values."""
    for key, value in changes.items():
        scenario = scenario.with_value(key, value)
    return scenario


def flow(result: Result, name: str = "TS1") -> Mapping[str, Any]:
    """A row of the table of flows."""
    return next(row for row in result.rows("flows") if row["flow"] == name)


def sent(result: Result, name: str = "TS1") -> float:
    """MB/s sent by a stream's sender, as netstat counts there."""
    return float(flow(result, name)["offered_bps"]) / 8e6
