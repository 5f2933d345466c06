"""Applies rates and cable lengths of a switch's ports to the links of a fabric."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from penstock.laboratory.quantity import Quantity

from .piece import Document, LinkClass

TIERS = {"leaf_spine": ("", "uplink_"), "fat_tree": ("", "uplink_", "core_")}
"""Prefixes of link keys by tier, from the hosts upwards, in fabrics whose tiers may differ."""


def fit_links(topology: dict[str, Any], document: Document, classes: Sequence[LinkClass]) -> list[str]:
    """Sets rates and lengths of a regular fabric's links from the ports; returns remarks on the changes.

    Links whose rate is that of some ports get the length of those ports. If no link has such a rate, links
    of hosts get the most common rate of the ports, and links between switches the rate of the fastest ports.
    Links of an explicit fabric are not changed.
    """
    kind = next(iter(topology))
    if not classes:
        return []
    if kind == "explicit":
        statements = [
            f"{key} of ports is {value}" for one in classes for key, value in _statements(one).items()
        ]
        return [
            f"{document.file}: {line}; links of the fabric keep theirs" for line in dict.fromkeys(statements)
        ]
    keys, reported = topology[kind], []
    chosen, own_rate, own_length = classes[0], keys.get("rate"), keys.get("length")
    for prefix in TIERS.get(kind, ("",)):
        own_rate = keys.get(f"{prefix}rate", own_rate)
        own_length = keys.get(f"{prefix}length", own_length)
        alike = [one for one in classes if same(one.rate, own_rate)]
        others = [chosen] if prefix == "core_" else [max(classes, key=_bps)] if prefix else [classes[0]]
        chosen = (alike or others)[0]
        ends = {"": "links", "uplink_": "links between switches", "core_": "links to the core"}[prefix]
        for key, own in (("rate", own_rate), ("length", own_length)):
            value = getattr(chosen, key)
            if value is None or same(value, own):
                continue
            ports = f"{document.file}: {key} of ports is {value}"
            if key == "length" and not prefix and "delay" in keys:
                reported.append(f"{ports}; links of the fabric keep their delay")
                continue
            keys[f"{prefix}{key}"] = value
            reported.append(f"{ports}: that of the {ends}" + (f", in place of {own}" if own else ""))
        own_rate, own_length = (
            keys.get(f"{prefix}{key}", own) for key, own in (("rate", own_rate), ("length", own_length))
        )
    return reported


def _statements(one: LinkClass) -> Mapping[str, str]:
    return {key: value for key, value in (("rate", one.rate), ("length", one.length)) if value}


def _bps(one: LinkClass) -> int:
    found = Quantity.read(one.rate) if one.rate else None
    return 0 if found is None else int(found.amount)


def same(one: str | None, other: object) -> bool:
    """Returns true if two texts are the same quantity."""
    first, second = (Quantity.read(str(text)) for text in (one, other))
    return first is not None and second is not None and first.amount == second.amount
