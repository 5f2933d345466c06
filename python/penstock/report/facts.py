"""Facts in the header of the report page that no table contains."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from penstock import arrow
from penstock.analysis.demand import demand_rates, evenness
from penstock.library import toml
from penstock.measurements import of_result

if TYPE_CHECKING:
    from penstock.measurements import Measurements

MOST = 8
"""Maximum number of groups of flows."""
_NAMES = {
    "pfc": "priority flow control (PFC)",
    "pause": "PAUSE flow control",
    "credit": "credit-based flow control",
}
_TARGETED = "targeted priority flow control (TPFC)"


@of_result
def facts(result: Measurements) -> dict[str, Any]:
    """Returns ``flow_control``, a text that follows "carried 3 flows", and ``fairness``."""
    names = dict.fromkeys(_names(toml(result.scenario_toml)))
    control = "under " + " and ".join(names) if names else "without flow control"
    return {"flow_control": control, "fairness": [asdict(one) for one in evenness(result)[:MOST]]}


def _names(scenario: Mapping[str, Any]) -> Iterator[str]:
    """Flow control of the fabric, and of stations with a different one."""
    stations = [scenario, scenario.get("host", {}), scenario.get("switch", {})]
    stations += [*scenario.get("hosts", {}).values(), *scenario.get("switches", {}).values()]
    for station in stations:
        flow_control = station.get("flow_control", {})
        for kind, keys in (
            {flow_control: {}}.items() if isinstance(flow_control, str) else flow_control.items()
        ):
            if kind == "none":
                continue
            yield _TARGETED if kind == "pfc" and "target" in keys else _NAMES.get(kind, kind)


ASKED = {
    "name": "demand_bps",
    "unit": "b/s",
    "about": "Demand of the source, which exceeds the traffic passed to its NIC if that was full. Demand of "
    "a greedy source: the rate of the links of its host; for connections and transfers, the traffic sent.",
}


@of_result
def with_demand(result: Measurements) -> pa.Table:
    """Table of flows with their demands."""
    return result.table("flows").append_column(
        "demand_bps", arrow.numbers(demand_rates(result), null_nan=True)
    )


@of_result
def described(result: Measurements) -> dict[str, Any]:
    """Descriptions of columns, including those that only the page has."""
    found = deepcopy(result.description)
    if "flows" in found:
        found["flows"]["columns"].append(ASKED)
    return found
