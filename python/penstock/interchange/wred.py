"""WRED of switches, derived from the keys of a queue manager."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from penstock.errors import InputError
from penstock.laboratory.quantity import Quantity

OF_WRED = {
    "weight": 1.0,
    "gentle": False,
    "mode": "frame",
    "spacing": "geometric",
    "counts": "without_frame",
    "at": "enqueue",
}
"""Keys of RED that WRED cannot express, with WRED's fixed values for them. WRED has `min`, `max`,
`max_probability` and `action`."""


@dataclass(frozen=True)
class WredLine:
    """WRED of frames of a color: thresholds in bytes, percentage at the upper one, and actions."""

    least: int
    most: int
    percent: int
    drops: bool
    marks: bool


def wred_line(key: str, keys: Mapping[str, Any]) -> WredLine:
    """Converts the keys of RED to WRED; `key` is their place, for errors."""
    percent = Fraction(repr(keys["max_probability"])) * 100
    if percent.denominator != 1:
        raise InputError(
            f"{key}.max_probability is {keys['max_probability']}; whole per cent can be exported"
        )
    least, most = (whole_bytes(f"{key}.{name}", keys[name]) for name in ("min", "max"))
    action = keys["action"]
    return WredLine(least, most, int(percent), drops=action != "mark_only", marks=action != "drop")


def leave_out_colors(keys: Mapping[str, Any]) -> list[str]:
    """Removes WRED settings for colors that no frame of the scenario has; returns remarks.

    A switch has thresholds for all colors, but without a meter all frames are green. Each unused key would
    cause a warning.
    """
    used = {*_colors([keys.get(key) for key in ("flows", "transfers", "switch", "switches")])}
    left_out = set()
    for entry in keys.get("switch", {}).get("queue_managers", ()):
        red: MutableMapping[str, Any] = entry.get("red", {})
        for color in ("yellow", "red"):
            if color not in used and red.pop(color, None) is not None:
                left_out.add(color)
        if all(one.get("action") != "mark" for one in (red, red.get("yellow", {}), red.get("red", {}))):
            red.pop("mark_above_max", None)
    named = " and ".join(sorted(left_out, reverse=True))
    return [f"WRED of {named} frames is left out: no flow has these colors"] if left_out else []


def _colors(keys: object) -> Iterator[str]:
    """Colors in flows, transfers and maps of DSCP."""
    if isinstance(keys, list):
        for one in keys:
            yield from _colors(one)
    elif isinstance(keys, dict):
        for key, value in keys.items():
            named = [value] if key == "color" else []
            if key == "dscp_to_color" and isinstance(value, dict):
                named = [*value.values()]
            yield from map(str, named)
            yield from _colors(value)


def class_of_queue(effective: Mapping[str, Any], class_of: Sequence[int]) -> dict[int, int]:
    """The traffic class of each queue, derived from the classes of the priorities."""
    queues = effective["switch"]["queues"]
    return dict(zip(queues if isinstance(queues, list) else range(len(class_of)), class_of, strict=True))


@dataclass(frozen=True)
class Managed:
    """A queue manager and the traffic classes of its queues.

    Attributes
    ----------
    place : int
        Index in the list.
    key : str
        Place of the key, for errors.
    kind : str
        Kind of the queue manager, such as "red".
    keys : mapping
        Keys of the queue manager.
    classes : list of int
        Traffic classes in ascending order; empty if its queues are unused.
    """

    place: int
    key: str
    kind: str
    keys: Mapping[str, Any]
    classes: list[int]


def managers(effective: Mapping[str, Any], class_of: Sequence[int], reported: list[str]) -> Iterator[Managed]:
    """The queue managers of switches by traffic class; a port has one queue per class.

    Raises
    ------
    InputError
        If queues of one class have two queue managers.
    """
    numbers = class_of_queue(effective, class_of)
    entries = effective["switch"].get("queue_managers") or []
    named = {queue for entry in entries for queue in entry.get("classes") or ()}
    taken: set[int] = set()
    for place, entry in enumerate(entries):
        kind = next((key for key in entry if key != "classes"), "")
        key = f"switch.queue_managers {kind}"
        own = set(entry.get("classes") or [queue for queue in numbers if queue not in named])
        classes = sorted({numbers[queue] for queue in own if queue in numbers})
        if both := taken.intersection(classes):
            raise InputError(
                f"{key}: queues of class {min(both)} have two; only one per class can be exported"
            )
        taken.update(classes)
        others = [queue for queue, number in numbers.items() if number in classes and queue not in own]
        if others:
            reported.append(f"{key} applies to all queues of its class, including queue {others[0]}")
        yield Managed(place, key, kind, entry[kind], classes)


def whole_bytes(key: str, text: object) -> int:
    """A size in bytes."""
    return whole_amount(key, text, "size", 1, "sizes in bytes")


def whole_amount(key: str, text: object, dimension: str, unit: int, accepted: str) -> int:
    """An amount as a whole number of the unit, given in smallest units."""
    quantity = Quantity.read(text) if isinstance(text, str) else None
    if quantity is None or quantity.dimension != dimension or quantity.amount % unit:
        raise InputError(f"{key} is {text}; {accepted} can be exported")
    return int(quantity.amount // unit)
