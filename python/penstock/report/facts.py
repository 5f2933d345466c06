"""What the head of the page says that no table has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from penstock.library import toml
from penstock.result.summary import overall_jain

if TYPE_CHECKING:
    from penstock.measurements import Measurements

_NAMES = {
    "pfc": "priority flow control (PFC)",
    "pause": "PAUSE flow control",
    "credit": "credit-based flow control",
}
_TARGETED = "targeted priority flow control (TPFC)"


def facts(result: Measurements) -> dict[str, Any]:
    """``flow_control``, in words that follow "carried 3 flows", and ``jain`` of all flows."""
    names = dict.fromkeys(_names(toml(result.scenario_toml)))
    control = "under " + " and ".join(names) if names else "without flow control"
    return {"flow_control": control, "jain": overall_jain(result)}


def _names(scenario: Mapping[str, Any]) -> Iterator[str]:
    """The flow control of the fabric, and those of stations that have their own."""
    stations = [scenario, scenario.get("host", {}), scenario.get("switch", {})]
    stations += [*scenario.get("hosts", {}).values(), *scenario.get("switches", {}).values()]
    for station in stations:
        said = station.get("flow_control", {})
        for kind, keys in {said: {}}.items() if isinstance(said, str) else said.items():
            if kind == "none":
                continue
            yield _TARGETED if kind == "pfc" and "target" in keys else _NAMES.get(kind, kind)
