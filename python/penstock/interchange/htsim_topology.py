"""Topologies of htsim: fat trees of two or three tiers, described tier by tier.

Source: `sim/datacenter/fat_tree_topology.cpp` of uet-htsim and the files beside it. Tier 0 consists of the
switches with hosts; keys with `Downlink` describe the links below a tier. Uplinks of a tier have the rate and
delay of the next tier's downlinks. `Bundle` is the number of parallel links to each switch above.

Not imported: `Oversubscribed`, which follows from the numbers of links; different values of `Queue_Up` and
`Queue_Down`, since a scenario has one value per switch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.errors import InputError

from .piece import Document, Note, Piece, explicit, size

HEAD = ("nodes", "tiers", "podsize")
KEYS = {
    "downlink_speed_gbps": 10_000,
    "radix_down": 65_536,
    "radix_up": 65_536,
    "queue_up": 2**40,
    "queue_down": 2**40,
    "oversubscribed": 65_536,
    "bundle": 65_536,
    "switch_latency_ns": 10**9,
    "downlink_latency_ns": 10**12,
}
"""Keys of a tier, and their maximum values."""
NAMES = {2: ("tor", "spine"), 3: ("tor", "agg", "core")}
MOST_HOSTS = 10**6
MOST_LINKS = 4 * 10**6
"""Maximum number of links of a fabric; each link of a bundle counts."""


def recognises(document: Document) -> bool:
    """Returns true if the number of tiers precedes everything except nodes and pods."""
    words = [line.lower().split() for line in document.first_lines(3)]
    return any(one[0] == "tiers" for one in words) and any(
        line.lower().split()[:2] == ["tier", "0"] for _, line in document.lines()
    )


@dataclass
class _Tiers:
    """Values in the file, for the whole fabric and for each tier, with their lines."""

    document: Document
    head: dict[str, tuple[int, int]] = field(default_factory=dict)
    tiers: dict[int, dict[str, tuple[int, int]]] = field(default_factory=dict)

    def of(self, key: str) -> int:
        """Returns a value of the whole fabric."""
        if key not in self.head:
            raise InputError(f"{self.document.file}: has no {key.capitalize()}")
        return self.head[key][0]

    def get(self, tier: int, key: str, default: int | None = None) -> int:
        """Returns a value of a tier."""
        found = self.tiers.get(tier, {}).get(key)
        if found is not None:
            return found[0]
        if default is None:
            raise InputError(f"{self.document.file}: tier {tier} has no {key.capitalize()}")
        return default

    def line(self, tier: int, key: str) -> int:
        """Line of a value of a tier."""
        return self.tiers[tier][key][1] if key in self.tiers.get(tier, {}) else 1

    def divide(self, number: int, by: int, tier: int, key: str, what: str) -> int:
        """Returns a quotient that must be a whole number of switches."""
        if by < 1 or number % by or number < by:
            raise self.document.error(self.line(tier, key), f"{what}: {number} cannot be divided by {by}")
        return number // by


def read(document: Document) -> Piece:
    """A fabric of hosts h0, ... and switches tor0, ..., agg0, ..., core0, ... or, with two tiers, spine0, ...

    Raises
    ------
    InputError
        If the text is something else, or its numbers contradict each other; the message has the line.
    """
    tiers = _read(document)
    count = tiers.of("tiers")
    if count not in NAMES:
        raise document.error(tiers.head["tiers"][1], f"Tiers is {count}; expected 2 or 3")
    for tier in range(count):
        if tier not in tiers.tiers:
            raise InputError(f"{document.file}: has {count} tiers, and no Tier {tier}")
    for tier in range(1, count):
        rate = tiers.get(tier, "downlink_speed_gbps")
        if rate < 1:
            raise document.error(tiers.line(tier, "downlink_speed_gbps"), "the rate is 0")
    hosts = tiers.of("nodes")
    if not 1 <= hosts <= MOST_HOSTS:
        raise document.error(tiers.head["nodes"][1], f"Nodes is {hosts}; expected 1 to {MOST_HOSTS}")
    numbers, links = _links(tiers, count, hosts)
    names = [
        f"{name}{one}" for name, number in zip(NAMES[count], numbers, strict=True) for one in range(number)
    ]
    own = {number: f"h{number}" for number in range(hosts)}
    keys = explicit(list(own.values()), names, links)
    remarks = _settings(tiers, keys, numbers)
    notes = [Note(line, f"{key} {value}") for key, (value, line) in tiers.head.items()]
    notes += [
        Note(line, f"tier {tier}: {key} {value}")
        for tier, attributes in tiers.tiers.items()
        for key, (value, line) in attributes.items()
    ]
    return Piece(keys, numbers=own, notes=notes, remarks=remarks)


def _read(document: Document) -> _Tiers:
    tiers = _Tiers(document)
    current: int | None = None
    for line, text in document.lines():
        words = text.partition("#")[0].split()
        if len(words) != 2:
            raise document.error(line, f"{len(words)} words; expected a name and a number")
        name = words[0].lower()
        if name == "tier":
            current = document.whole(line, "Tier", words[1], most=2)
            if current in tiers.tiers:
                raise document.error(line, f"Tier {current} appears twice")
            tiers.tiers[current] = {}
            continue
        known = HEAD if current is None else (*KEYS,)
        if name not in known:
            expected = ", ".join(one.capitalize() for one in known)
            raise document.error(line, f"{words[0]} is not a known key; expected {expected}")
        into = tiers.head if current is None else tiers.tiers[current]
        if name in into:
            raise document.error(line, f"{words[0]} appears twice")
        into[name] = (document.whole(line, words[0], words[1], most=KEYS.get(name, 10**9)), line)
    return tiers


def _links(tiers: _Tiers, count: int, hosts: int) -> tuple[list[int], list[dict[str, Any]]]:
    """Switches of each tier, and all links."""
    pod = tiers.head["podsize"][0] if "podsize" in tiers.head else hosts
    if count == 2:
        pod = hosts
    down, up = tiers.get(0, "radix_down"), tiers.get(0, "radix_up")
    pods = tiers.divide(hosts, pod, 0, "radix_down", "Nodes by Podsize")
    tors = tiers.divide(pod, down, 0, "radix_down", "hosts of a pod by Radix_Down of tier 0")
    bundle = tiers.get(1, "bundle", 1)
    uppers = tiers.divide(up, bundle, 0, "radix_up", "Radix_Up of tier 0 by Bundle of tier 1")
    _expect(tiers, 1, tors * bundle)
    above, of_each = 1, 0
    amounts = [pods * tors, pods * uppers if count == 3 else uppers]
    edges = hosts + pods * tors * uppers * bundle
    if count == 3:
        radix, above = tiers.get(1, "radix_up"), tiers.get(2, "bundle", 1)
        of_each = tiers.divide(radix, above, 1, "radix_up", "Radix_Up of tier 1 by Bundle of tier 2")
        amounts.append(uppers * of_each)
        edges += pods * uppers * of_each * above
    if sum(amounts) > MOST_HOSTS or edges > MOST_LINKS:
        raise tiers.document.error(
            tiers.line(0, "radix_up"),
            f"{sum(amounts)} switches and {edges} links; expected at most {MOST_HOSTS} and {MOST_LINKS}",
        )
    links = [
        _between(f"h{tor * down}..h{tor * down + down - 1}" if down > 1 else f"h{tor}", f"tor{tor}", tiers, 0)
        for tor in range(pods * tors)
    ]
    if count == 2:
        links.append(_between(_range("tor", 0, tors), _range("spine", 0, uppers), tiers, 1, bundle))
        return [tors, uppers], links
    _expect(tiers, 2, pods * above)
    for number in range(pods):
        first, middle = number * tors, number * uppers
        links.append(_between(_range("tor", first, tors), _range("agg", middle, uppers), tiers, 1, bundle))
        links += [
            _between(f"agg{middle + one}", _range("core", one * of_each, of_each), tiers, 2, above)
            for one in range(uppers)
        ]
    return [pods * tors, pods * uppers, uppers * of_each], links


def _expect(tiers: _Tiers, tier: int, needed: int) -> None:
    """Checks that the downlinks of a switch match the links from the tier below."""
    has = tiers.get(tier, "radix_down")
    if has != needed:
        line = tiers.line(tier, "radix_down")
        raise tiers.document.error(
            line, f"Radix_Down of tier {tier} is {has}; the tier below has {needed} links"
        )


def _range(stem: str, first: int, count: int) -> str:
    return f"{stem}{first}" if count == 1 else f"{stem}{first}..{stem}{first + count - 1}"


def _between(lower: str, upper: str, tiers: _Tiers, tier: int, bundle: int = 1) -> dict[str, Any]:
    rate, delay = tiers.get(tier, "downlink_speed_gbps"), tiers.get(tier, "downlink_latency_ns", 0)
    # The latency is that of the whole link.
    cable = {"rate": f"{rate} Gb/s", "delay": f"{delay} ns", "phy": "none"}
    link: dict[str, Any] = {"between": [lower, upper], **cable}
    return link | ({"count": bundle} if bundle > 1 else {})


def _settings(tiers: _Tiers, keys: dict[str, Any], numbers: list[int]) -> list[str]:
    """Latencies and queues of switches, and remarks on settings that are left out."""
    document, remarks = tiers.document, []
    latencies = [tiers.get(tier, "switch_latency_ns", 0) for tier in range(len(numbers))]
    if any(latencies):
        keys["switch"] = {"latency": f"{latencies[0]} ns"}
        for tier, latency in enumerate(latencies):
            if latency != latencies[0]:
                names = [f"{NAMES[len(numbers)][tier]}{one}" for one in range(numbers[tier])]
                keys.setdefault("switches", {}).update({name: {"latency": f"{latency} ns"} for name in names})
    queues: Mapping[tuple[int, str], int] = {
        (tier, key): tiers.get(tier, key)
        for tier in tiers.tiers
        for key in ("queue_up", "queue_down")
        if key in tiers.tiers[tier]
    }
    if len(set(queues.values())) == 1:
        keys.setdefault("switch", {})["buffer"] = {"queue": size(next(iter(queues.values())))}
    elif queues:
        remarks += [
            f"{document.file}:{tiers.line(tier, key)}: {key.capitalize()} {value} of tier {tier}: queues "
            f"of a scenario "
            "have one size for a switch; left out"
            for (tier, key), value in queues.items()
        ]
    return remarks
