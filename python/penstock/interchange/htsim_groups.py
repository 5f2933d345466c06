"""Dragonflies and Slim Flies of htsim: hosts per switch, switches per group, link rates and latencies.

Source: `sim/datacenter/dragonfly_topology.cpp` and `slimfly_topology.cpp` of forks of htsim that read such
files. Links within a group are local, others global. Missing rates default to 200 Gb/s there, missing
latencies to 1000 ns (global), 500 ns (local) and 200 ns (host). `Link_latency_ns i j ns` is the latency of
the link between switches i and j, in both directions; the last line for a link takes effect.

Not imported: the adjacency list beside a Slim Fly, whose graph follows from `q`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import tomli_w

from penstock.errors import InputError
from penstock.library import Source
from penstock.running import run_source

from .piece import Document, Note, Piece

KINDS = ("host", "local", "global")
RATE_GBPS = 200
LATENCY_NS = {"host": 200, "local": 500, "global": 1000}
"""Default latencies of links in ns."""
NUMBERS = {"p": 10_000, "a": 10_000, "h": 10_000, "q": 128}
NS_PER_M = 5
ONE_LINK = "link_latency_ns"
MOST_HOSTS = 10**6


def recognises(document: Document) -> bool:
    """Returns true if the first lines contain `p` and `q`, or `p`, `a` and `h`."""
    words = [line.split() for line in document.first_lines(3)]
    names = {one[0].lower() for one in words if len(one) == 2}
    return {"p", "q"} <= names or {"p", "a", "h"} <= names


@dataclass
class _Parameters:
    """Values in the file, each with its line."""

    document: Document
    values: dict[str, tuple[int, int]]
    single: dict[tuple[int, int], tuple[int, int]]
    """Latency in ns of a link by its two switches, the lower number first, each with its line."""

    def of(self, key: str, default: int | None = None) -> int:
        if key in self.values:
            return self.values[key][0]
        if default is None:
            raise InputError(f"{self.document.file}: has no {key}")
        return default


def read(document: Document) -> Piece:
    """A fabric of hosts h0, ... in the order of the switches sw0.0, ... of htsim.

    Raises
    ------
    InputError
        If the text is something else, or a number is out of range; the message has the line.
    """
    parameters = _read(document)
    topology: dict[str, Any] = {"hosts_per_switch": parameters.of("p")}
    if "q" in parameters.values:
        shape = "slim_fly"
        topology["q"] = parameters.of("q")
    else:
        shape = "dragonfly"
        topology |= {"switches_per_group": parameters.of("a"), "global_links": parameters.of("h")}
    rates = {kind: parameters.of(f"link_speed_{kind}_gbps", RATE_GBPS) for kind in KINDS}
    delays = {kind: parameters.of(f"link_latency_{kind}_ns", LATENCY_NS[kind]) for kind in KINDS}
    topology |= {"rate": f"{rates['host']} Gb/s", "length": _length(delays["host"]), "phy": "none"}
    for kind in KINDS[1:]:
        topology |= {f"{kind}_rate": f"{rates[kind]} Gb/s", f"{kind}_length": _length(delays[kind])}
    keys: dict[str, Any] = {"topology": {shape: topology}}
    if latency := parameters.of("switch_latency_ns", 0):
        keys["switch"] = {"latency": f"{latency} ns"}
    switches = 2 * parameters.of("q") ** 2 if shape == "slim_fly" else _switches(parameters)
    hosts = {number: f"h{number}" for number in range(switches * parameters.of("p"))}
    notes = [Note(line, f"{key} {value}") for key, (value, line) in parameters.values.items()]
    if parameters.single:
        keys["links"] = _single(parameters, keys["topology"])
        notes += [Note(line, f"{ONE_LINK} {a} {b} {ns}") for (a, b), (ns, line) in parameters.single.items()]
    return Piece(keys, numbers=hosts, notes=notes)


def _single(parameters: _Parameters, topology: dict[str, Any]) -> dict[str, Any]:
    """The delays of single links, by the names of their ends.

    Raises
    ------
    InputError
        If there is no such link.
    """
    text = tomli_w.dumps({"simulation": {"duration": "1 ns"}, "topology": topology})
    built = run_source(Source(text, "the fabric")).topology
    there = {frozenset((link["a"], link["b"])) for link in built["links"]}
    width = parameters.of("q") if "q" in parameters.values else parameters.of("a")
    delays = {}
    for numbers, (delay_ns, line) in parameters.single.items():
        a, b = (f"sw{number // width}.{number % width}" for number in numbers)
        if frozenset((a, b)) not in there:
            ends = f"switches {numbers[0]} ({a}) and {numbers[1]} ({b})"
            raise parameters.document.error(line, f"there is no link between {ends}")
        delays[f"{a}<->{b}"] = {"delay": f"{delay_ns} ns"}
    return delays


def _switches(parameters: _Parameters) -> int:
    a, h = parameters.of("a"), parameters.of("h")
    return a * (a * h + 1)


def _length(delay_ns: int) -> str:
    """Cable length with this delay, at 200 mm per ns."""
    metres, rest = divmod(delay_ns, NS_PER_M)
    return f"{metres} m" if not rest else f"{metres}.{rest * 2} m"


def _read(document: Document) -> _Parameters:
    speeds = [f"link_speed_{kind}_gbps" for kind in KINDS]
    latencies = [f"link_latency_{kind}_ns" for kind in KINDS]
    known = [*NUMBERS, "switch_latency_ns", *speeds, *latencies]
    parameters = _Parameters(document, {}, {})
    for line, text in document.lines():
        words = text.partition("#")[0].split()
        name = words[0].lower() if words else ""
        if name == ONE_LINK and len(words) == 4:
            first, second = (document.whole(line, "a switch", word, most=MOST_HOSTS) for word in words[1:3])
            latency = document.whole(line, words[0], words[3], most=10**9)
            parameters.single[min(first, second), max(first, second)] = (latency, line)
            continue
        if len(words) != 2:
            raise document.error(line, f"{len(words)} words; expected a name and a number")
        if name not in known:
            raise document.error(line, f"{words[0]} is not a known key; expected {', '.join(known)}")
        if name in parameters.values:
            raise document.error(line, f"{words[0]} appears twice")
        least = 1 if name in NUMBERS or name in speeds else 0
        most = NUMBERS.get(name, 1_600 if name in speeds else 10**9)
        parameters.values[name] = (document.whole(line, words[0], words[1], least=least, most=most), line)
    _fits(parameters)
    return parameters


def _fits(parameters: _Parameters) -> None:
    """Rejects a mixture of both fabrics' parameters, and fabrics that are too large."""
    other = [key for key in ("a", "h") if key in parameters.values and "q" in parameters.values]
    if other:
        line = parameters.values[other[0]][1]
        raise parameters.document.error(
            line, f"{other[0]} is a key of a dragonfly, but q is a key of a Slim Fly"
        )
    switches = 2 * parameters.of("q") ** 2 if "q" in parameters.values else _switches(parameters)
    if switches * parameters.of("p") > MOST_HOSTS:
        hosts = switches * parameters.of("p")
        line = parameters.values["p"][1]
        raise parameters.document.error(line, f"{hosts} hosts; expected at most {MOST_HOSTS}")
