"""Weights of traffic classes, as the schedulers of a scenario have them."""

from __future__ import annotations

import tomllib
from collections import Counter
from typing import Any

PRIORITIES = 8
_EQUAL = [1.0] * PRIORITIES
_UNITS = {"B": 1, "kB": 1_000, "MB": 1_000_000, "KiB": 1 << 10, "MiB": 1 << 20}


def class_weights(scenario_toml: str) -> tuple[list[float], str]:
    """The weight of each of the eight priorities, and where it comes from in words.

    Parameters
    ----------
    scenario_toml : str
        An effective scenario. If its switches do not have the same weights, all weights are 1.
    """
    scenario = tomllib.loads(scenario_toml)
    common = scenario.get("switch", {})
    found = [_of_station({**common, **own}) for own in (scenario.get("switches") or {"": {}}).values()]
    if any(other != found[0] for other in found):
        return _EQUAL, "1 each, because the switches have different weights"
    weights, scheduler = found[0]
    if weights is None:
        return _EQUAL, f"1 each: {scheduler} has no weights"
    return weights, f"those of {scheduler}"


def _of_station(station: dict[str, Any]) -> tuple[list[float] | None, str]:
    scheduler = station.get("scheduler", "strict_priority")
    if isinstance(scheduler, str):
        return None, scheduler
    ((name, keys),) = scheduler.items()
    if name == "shaper":
        return _of_station({**station, "scheduler": keys.get("scheduler", "strict_priority")})
    by_class = _by_class(name, keys)
    if by_class is None:
        return None, name
    queues = station.get("queues", "per_priority")
    classes = {"per_priority": list(range(PRIORITIES)), "shared": [0] * PRIORITIES}
    of_priority = queues if isinstance(queues, list) else classes[queues]
    weights = [by_class.get(one, 0.0) for one in of_priority]
    return [weight or 1.0 for weight in weights], name


def _by_class(name: str, keys: dict[str, Any]) -> dict[int, float] | None:
    """Weight by traffic class; ``None`` if the scheduler has none, or all are equal by a word."""
    if isinstance(keys.get("weights"), list):
        return dict(enumerate(map(float, keys["weights"])))
    if "quanta" in keys:
        return dict(enumerate(map(_size, keys["quanta"])))
    if name == "vc_table":
        return {one: float(count) for one, count in Counter(keys["entries"]).items()}
    if name == "dtable":
        sums: dict[int, float] = {}
        for entry in keys["entries"]:
            one, weight = (
                (entry, keys["weight"]) if isinstance(entry, int) else (entry["class"], entry["weight"])
            )
            sums[one] = sums.get(one, 0.0) + weight
        return sums
    if name == "ets":
        shares: dict[int, float] = {}
        for group in keys["classes"]:
            if "percent" not in group:
                return None  # strict or shaped classes come before all shares
            shares |= {one: group["percent"] / len(group["queues"]) for one in group["queues"]}
        return shares
    return dict(enumerate(_EQUAL)) if keys.get("weights") == "equal" else None


def _size(text: str) -> float:
    number, unit = text.replace(",", "").split()
    return float(number) * _UNITS[unit]
