"""Weights of traffic classes, as the schedulers of a scenario have them."""

from __future__ import annotations

import tomllib
from collections import Counter
from dataclasses import dataclass
from typing import Any

# Priorities; behind them the channels that links have beyond these (`channels = "all"`), each with its queue.
PRIORITIES = 8
_NUMBERS = 20
_EQUAL = [1.0] * _NUMBERS
_UNITS = {"B": 1, "kB": 1_000, "MB": 1_000_000, "KiB": 1 << 10, "MiB": 1 << 20}


@dataclass(frozen=True)
class ClassWeights:
    """What a scheduler divides a link by: first over groups of queues, then equally over the queues of each.

    Only queues that have something to send take part. A scheduler without groups has one queue in each.

    Attributes
    ----------
    weight : list of float
        Weight of the group of each of the eight priorities, and of the channels beyond.
    queue, group : list of int
        Queue of each of these, and the group of that queue.
    origin : str
        Where the weights come from, in words.
    """

    weight: list[float]
    queue: list[int]
    group: list[int]
    origin: str

    @classmethod
    def equal(cls, origin: str) -> ClassWeights:
        """Each priority by itself with the weight 1."""
        return cls(_EQUAL, list(range(_NUMBERS)), list(range(_NUMBERS)), origin)


def class_weights(scenario_toml: str) -> ClassWeights:
    """The weights of the eight priorities in the switches of an effective scenario.

    If the switches do not have the same weights, all weights are 1.
    """
    scenario = tomllib.loads(scenario_toml)
    common = scenario.get("switch", {})
    found = [_of_station({**common, **own}) for own in (scenario.get("switches") or {"": {}}).values()]
    if any(other != found[0] for other in found):
        return ClassWeights.equal("1 each, because the switches have different weights")
    return found[0]


def _of_station(station: dict[str, Any]) -> ClassWeights:
    scheduler = station.get("scheduler", "strict_priority")
    if isinstance(scheduler, str):
        return ClassWeights.equal(f"1 each: {scheduler} has no weights")
    ((name, keys),) = scheduler.items()
    if name == "shaper":
        return _of_station({**station, "scheduler": keys.get("scheduler", "strict_priority")})
    by_class = _by_class(name, keys)
    if by_class is None:
        return ClassWeights.equal(f"1 each: {name} has no weights")
    queues = station.get("queues", "per_priority")
    classes = {"per_priority": list(range(PRIORITIES)), "shared": [0] * PRIORITIES}
    of_priority = [*(queues if isinstance(queues, list) else classes[queues]), *range(PRIORITIES, _NUMBERS)]
    weights = [by_class.get(one, 0.0) or 1.0 for one in of_priority]
    group_of = _groups(name, keys)
    groups = [group_of.get(one, one) for one in of_priority]
    return ClassWeights(weights, of_priority, groups, f"those of {name}")


def _groups(name: str, keys: dict[str, Any]) -> dict[int, int]:
    """Group by queue, named by its first queue; queues that are not there are alone."""
    if name != "ets":
        return {}
    return {one: min(group["queues"]) for group in keys["classes"] for one in group["queues"]}


def _by_class(name: str, keys: dict[str, Any]) -> dict[int, float] | None:
    """Weight of the group of each queue; ``None`` if the scheduler has none, or all are equal by a word."""
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
            shares |= {one: float(group["percent"]) for one in group["queues"]}
        return shares
    return dict(enumerate(_EQUAL)) if keys.get("weights") == "equal" else None


def _size(text: str) -> float:
    number, unit = text.replace(",", "").split()
    return float(number) * _UNITS[unit]
