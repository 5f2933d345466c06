"""Guarantees of schedulers to traffic classes: strict priority first, then weights."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as Collection
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any

from penstock.library import toml
from penstock.measurements import of_result

if TYPE_CHECKING:
    from penstock.measurements import Measurements

# Eight priorities, followed by the extra channels of links (`channels = "all"`), each with its own queue.
PRIORITIES = 8
_NUMBERS = 20
_EQUAL = [1.0] * _NUMBERS
_BY_FRAMES = ("wrr", "vc_table")
_SHAPED, _SHARING = _NUMBERS**2, 2 * _NUMBERS**2
"""Levels below strict classes: classes with credit-based shapers, then classes that share by weight."""
_UNITS = {"B": 1, "kB": 1_000, "MB": 1_000_000, "KiB": 1 << 10, "MiB": 1 << 20}


@dataclass(frozen=True)
class ClassWeights:
    """Guarantees of a scheduler.

    Each level shares the capacity left by the levels before it: by weight between groups of queues, and
    equally between the queues of a group. Only queues with frames take part. Without groups each queue is a
    group.

    Attributes
    ----------
    weight : list of float
        Weight of the group of each of the eight priorities, followed by the extra channels.
    queue, group : list of int
        Queue of each priority and extra channel, and group of that queue.
    level : list of int
        Level of each priority and extra channel; lower levels go first.
    origin : str
        Source of the weights, as text.
    counts_frames : bool
        True if weights count frames of any length. Default false: they count bytes or time.
    limited : list of bool
        True for each priority or channel whose rate a shaper limits, so that its weight does not determine
        its share. Default: none.
    differ : bool
        True if switches have different guarantees. Default false.
    """

    weight: list[float]
    queue: list[int]
    group: list[int]
    level: list[int]
    origin: str
    counts_frames: bool = False
    limited: list[bool] = field(default_factory=lambda: [False] * _NUMBERS)
    differ: bool = False

    @classmethod
    def equal(cls, origin: str, queue: list[int] | None = None, **more: Any) -> ClassWeights:
        """All on one level, each queue with weight 1. By default each priority has its own queue."""
        queues = list(range(_NUMBERS)) if queue is None else queue
        return cls(_EQUAL, queues, queues, **{"level": [0] * _NUMBERS, "origin": origin, **more})


def class_weights(scenario_toml: str) -> ClassWeights:
    """Returns the weights of the eight priorities in the switches of an effective scenario.

    If switches have different weights, all weights are 1.
    """
    scenario = toml(scenario_toml)
    common = scenario.get("switch", {})
    found = [_of_station({**common, **own}) for own in (scenario.get("switches") or {"": {}}).values()]
    return _together(found)


@dataclass(frozen=True)
class InForce:
    """Guarantees of the schedulers from a time on.

    Attributes
    ----------
    begin : float
        Start, in seconds.
    weights : ClassWeights
        Guarantees at the ports where traffic classes compete.
    """

    begin: float
    weights: ClassWeights


@of_result
def in_force(result: Measurements, meeting: Collection[str]) -> list[InForce]:
    """Returns the guarantees of a run in order of time; the first one starts at 0.

    The schedulers are the configured ones until DCBX or ``[[faults]]`` change them.

    Parameters
    ----------
    result : Result
        Result of the run.
    meeting : collection of str
        Switch ports where classes compete; empty for all ports of switches.
    """
    changes = result.run.get("schedulers") or []
    if not meeting:
        return [InForce(0.0, class_weights(result.scenario_toml))]
    scenario = toml(result.scenario_toml)
    common, own = scenario.get("switch", {}), scenario.get("switches") or {}
    node = dict(zip(*(result.table("ports")[name].to_pylist() for name in ("port", "node")), strict=True))
    stations = {port: {**common, **own.get(node[port], {})} for port in meeting}
    found: list[InForce] = []
    times = sorted({0.0, *(one["at_ns"] for one in changes if not meeting.isdisjoint(one["ports"]))})
    for at in times:
        for one in changes:
            if one["at_ns"] == at:
                new = {"scheduler": one["scheduler"], NEGOTIATED: at == 0}
                stations |= {port: {**stations[port], **new} for port in one["ports"] if port in stations}
        weights = _together([_of_station(station) for station in stations.values()])
        if any(station.get(NEGOTIATED) for station in stations.values()) and not weights.differ:
            weights = replace(weights, origin=f"{weights.origin}, which DCBX negotiated")
        if not found or found[-1].weights != weights:
            found.append(InForce(at / 1e9, weights))
    return found


NEGOTIATED = "negotiated by dcbx"
"""Note next to the settings of a port whose scheduler DCBX has set."""


def _together(found: Sequence[ClassWeights]) -> ClassWeights:
    """Returns the common guarantees of several ports; equal weights if they differ."""
    if any(other != found[0] for other in found):
        return ClassWeights.equal("1 each, because the switches have different weights", differ=True)
    return found[0]


def queue_of_priority(scenario_toml: str, hosts: Collection[str]) -> Callable[[str], list[int]]:
    """Returns a function from the name of a node to the queue of each priority and extra channel."""
    scenario = toml(scenario_toml)

    @cache
    def of_node(name: str) -> list[int]:
        kind, each = ("host", "hosts") if name in hosts else ("switch", "switches")
        return _queues({**scenario.get(kind, {}), **scenario.get(each, {}).get(name, {})})

    return of_node


@of_result
def accounted_length(result: Measurements) -> str | None:
    """Returns the accounted length of the switch schedulers; ``None`` if they have none or differ.

    Includes schedulers that DCBX negotiated and changes during the run.
    """

    def lengths(table: object) -> Iterator[str]:
        if isinstance(table, dict):
            yield from (table[key] for key in ("accounted_length", "bills") if key in table)  # `bills`: older
            for below in table.values():
                yield from lengths(below)

    scenario = toml(result.scenario_toml)
    found = {*lengths(scenario.get("switch")), *lengths(scenario.get("switches"))}
    for one in result.run.get("schedulers") or []:
        found |= set(lengths(one["scheduler"]))
    return found.pop() if len(found) == 1 else None


def _of_station(station: dict[str, Any]) -> ClassWeights:
    scheduler = station.get("scheduler", "strict_priority")
    of_priority = _queues(station)
    if isinstance(scheduler, str):
        level = [-one for one in of_priority] if scheduler == "strict_priority" else [0] * _NUMBERS
        return ClassWeights.equal(f"1 each: {scheduler} has no weights", of_priority, level=level)
    ((name, keys),) = scheduler.items()
    if name == "shaper":
        inner = _of_station({**station, "scheduler": keys.get("scheduler", "strict_priority")})
        return replace(inner, limited=[True] * _NUMBERS)
    by_class = _by_class(name, keys)
    if by_class is None:
        return ClassWeights.equal(f"1 each: {name} has no weights", of_priority)
    weights = [by_class.get(one, 0.0) or 1.0 for one in of_priority]
    group_of, level_of, limited = _groups(name, keys), _levels(name, keys), _limited(name, keys)
    return ClassWeights(
        weights,
        of_priority,
        [group_of.get(one, one) for one in of_priority],
        [level_of.get(one, _SHARING) for one in of_priority],
        f"those of {name}",
        counts_frames=name in _BY_FRAMES,
        limited=[one in limited for one in of_priority],
    )


def _queues(station: dict[str, Any]) -> list[int]:
    queues = station.get("queues", "per_priority")
    classes = {"per_priority": list(range(PRIORITIES)), "shared": [0] * PRIORITIES}
    return [*(queues if isinstance(queues, list) else classes[queues]), *range(PRIORITIES, _NUMBERS)]


def _levels(name: str, keys: dict[str, Any]) -> dict[int, int]:
    """Level of each queue that has one of its own."""
    if name == "min_bw":
        return dict.fromkeys(_management(keys), 0)
    if name != "ets":
        return {}
    found: dict[int, int] = {}
    for at, group in enumerate(reversed(keys["classes"])):
        if group.get("strict"):
            found |= {one: at * _NUMBERS + rank for rank, one in enumerate(sorted(group["queues"])[::-1])}
        elif "idle_slope" in group:
            found |= dict.fromkeys(group["queues"], _SHAPED + at)
        elif group.get("percent") == 0:
            found |= dict.fromkeys(group["queues"], _SHARING + 1)
    return found


def _limited(name: str, keys: dict[str, Any]) -> set[int]:
    """Queues with a rate limit."""
    if name == "min_bw":
        return _management(keys)
    if name != "ets":
        return set()
    return {one for group in keys["classes"] if "idle_slope" in group for one in group["queues"]}


def _management(keys: dict[str, Any]) -> set[int]:
    """Management queue of a minimum-bandwidth scheduler."""
    weights = keys.get("weights")
    if "management" in keys:
        return {keys["management"]}
    return {weights.index(0)} if isinstance(weights, list) and 0 in weights else {PRIORITIES - 1}


def _groups(name: str, keys: dict[str, Any]) -> dict[int, int]:
    """Group of each queue, named by its first queue. A queue without a group is its own group."""
    if name != "ets":
        return {}
    return {one: min(group["queues"]) for group in keys["classes"] for one in group["queues"]}


def _by_class(name: str, keys: dict[str, Any]) -> dict[int, float] | None:
    """Weight of the group of each queue; ``None`` if the scheduler has no weights or they are all "equal"."""
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
            shares |= {one: float(group.get("percent", 0)) for one in group["queues"]}
        return shares
    return dict(enumerate(_EQUAL)) if keys.get("weights") == "equal" else None


def _size(text: str) -> float:
    number, unit = text.replace(",", "").split()
    return float(number) * _UNITS[unit]
