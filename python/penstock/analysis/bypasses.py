"""Bypass queues: where frames of a flow may have let others pass."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.measurements import Measurements


def first(result: Measurements, flow: dict[str, Any], ports: Iterable[str]) -> str | None:
    """The first port at which frames of a flow may stand in a bypass queue, if there is one."""
    flows = tomllib.loads(result.scenario_toml).get("flows", [])
    name = flow["flow"].partition("[")[0]
    if "credits" not in result.table_names or not any(
        row["name"] == name and row.get("bypassable") for row in flows
    ):
        return None
    found = {
        row["port"]
        for row in result.rows("credits")
        if row["class"] == flow["class"] and any(one.startswith("B") for one in row["channel"].split())
    }
    return next((port for port in ports if port in found), None)
