"""Pieces of a scenario, put together: files that are imported, and a scenario for what they do not say."""

from __future__ import annotations

import math
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import tomli_w

from penstock.errors import InputError, TomlError
from penstock.library import Source, suggestion
from penstock.running import run_source

from .piece import PS_PER_S, Document, Piece, Transfer, size
from .toml import scenario

TRAFFIC = ("flows", "transfers", "faults")
"""Tables of a scenario that name its hosts or links."""
_SHORTEST = "1 ms"
"""How long a scenario without traffic lasts."""


@dataclass(frozen=True)
class Joined:
    """A scenario, and the list of its transfers.

    Attributes
    ----------
    text : str
        The scenario, as TOML.
    transfers : str
        The file that its transfers are in, as CSV; empty if there are none.
    remarks : list of str
        What was left out or chosen.
    """

    text: str
    transfers: str
    remarks: list[str]


def join(
    read: Sequence[tuple[Document, Piece]],
    out: Path,
    *,
    like: Source | None = None,
    duration: str | None = None,
) -> Joined:
    """One scenario of what was read.

    Parameters
    ----------
    read : sequence
        Documents and what they say.
    out : Path
        The scenario file to be; the list of transfers is beside it.
    like : Source, optional
        A scenario that says what the documents do not. Its traffic and faults are left out if they bring a
        fabric or traffic.
    duration : str, optional
        ``simulation.duration``. Default: twice as long after the last start as the busiest host needs.

    Raises
    ------
    InputError
        If two documents say the same, or there is traffic and no fabric that has its hosts.
    """
    said = _merged(read)
    keys, remarks = _completed(said, like, any(piece.transfers for _, piece in read))
    remarks += [remark for _, piece in read for remark in piece.remarks]
    if "topology" not in keys:
        raise InputError(
            f"{read[0][0].file}: has no fabric; import one with it, or name a scenario: --like SCENARIO"
        )
    for document, piece in read:
        if piece.headroom_bytes is not None:
            remarks.append(_share_headroom(keys, document, piece.headroom_bytes))
    simulation = {"name": out.stem, **keys.get("simulation", {})}
    transfers = ""
    traffic = [(document, piece) for document, piece in read if piece.transfers]
    if traffic:
        fabric = _Fabric.of(
            keys["topology"], dict(number for _, piece in read for number in piece.numbers.items())
        )
        rows = [(document, one) for document, piece in traffic for one in piece.transfers]
        rows.sort(key=lambda row: row[1].start_ps)
        first = rows[0][1].start_ps
        if first:
            remarks.append(f"times are counted from the first transfer, which began at {_seconds(first)}")
        transfers = _listed(rows, first, fabric)
        name = re.sub(r"[\s*\"'\[\]{},]", "-", Path(traffic[0][0].file).stem)
        keys["transfers"] = [{"name": name, "arrivals": {"file": f"{out.stem}.transfers.csv"}}]
        needed = float(rows[-1][1].start_ps - first) + 2 * fabric.busiest(one for _, one in rows)
        simulation["duration"] = _rounded_up(needed)
    simulation["duration"] = duration or simulation.get("duration", _SHORTEST)
    head = "".join(f"# Imported from {Path(document.file).name}.\n" for document, _ in read)
    if traffic and duration is None:
        head += "# The duration is a choice: all starts, and twice what the busiest host takes.\n"
    keys.pop("simulation", None)
    return Joined(head + "\n" + scenario({"simulation": simulation, **keys}), transfers, remarks)


def _merged(read: Sequence[tuple[Document, Piece]]) -> dict[str, Any]:
    """What all documents say."""
    said: dict[str, Any] = {}
    for document, piece in read:
        _add(said, piece.keys, document.file, "")
    return said


def _add(said: dict[str, Any], more: Mapping[str, Any], file: str, within: str) -> None:
    for key, value in more.items():
        both = said.get(key)
        if isinstance(both, dict) and isinstance(value, dict) and within + key != "topology":
            _add(both, value, file, f"{within}{key}.")
        elif both is not None and both != value:
            raise InputError(
                f"{file}: says {within}{key}, which another file says as well; import one of them"
            )
        else:
            said[key] = value


def _completed(
    said: dict[str, Any], like: Source | None, has_traffic: bool
) -> tuple[dict[str, Any], list[str]]:
    """What was read, and whatever else a scenario says."""
    if like is None:
        return said, []
    try:
        base = tomllib.loads(like.text)
    except tomllib.TOMLDecodeError as error:
        raise TomlError(f"{like.file}: {error}") from None
    remarks = []
    if has_traffic or "topology" in said:
        left_out = [key for key in TRAFFIC if base.pop(key, None) is not None]
        remarks += [f"{key} of {like.file} are left out" for key in left_out]
    for key in ("name", "description"):
        base.get("simulation", {}).pop(key, None)
    return _over(base, said), remarks


def _over(base: dict[str, Any], said: Mapping[str, Any], within: str = "") -> dict[str, Any]:
    """The base with what was said in its place."""
    for key, value in said.items():
        own = base.get(key)
        if isinstance(own, dict) and isinstance(value, dict) and within + key != "topology":
            base[key] = _over(own, value, f"{within}{key}.")
        else:
            base[key] = value
    return base


def _share_headroom(keys: dict[str, Any], document: Document, each: int) -> str:
    """Writes how much headroom the largest switch shares. What was chosen."""
    if "total" not in keys["switch"]["buffer"]:
        message = "has thresholds of a shared memory, and not its size"
        help_ = "name a scenario with switch.buffer.total: --like SCENARIO"
        raise InputError(f"{document.file}: {message}; {help_}")
    text = tomli_w.dumps({"simulation": {"duration": "1 ns"}, "topology": keys["topology"]})
    links = run_source(Source(text, "the fabric")).topology["links"]
    ports = Counter(end for link in links for end in (link["a"], link["b"]))
    used = sorted({flow.get("priority", 0) for flow in keys.get("flows", ())}) or [0]
    priorities = keys["flow_control"]["pfc"].get("priorities", used)
    most = max(ports.values())
    room = most * len(priorities) * each
    keys["switch"]["buffer"]["dynamic_threshold"]["headroom"] = size(room)
    return (
        f"shared headroom: {most} ports and {len(priorities)} priorities with {size(each)} each, {size(room)}"
    )


@dataclass(frozen=True)
class _Fabric:
    """The hosts of a fabric with the rates of their links, and those that numbers stand for."""

    rates: dict[str, int]
    numbers: Mapping[int, str]

    @classmethod
    def of(cls, topology: Mapping[str, Any], numbers: Mapping[int, str]) -> _Fabric:
        """The fabric of these keys, as the engine builds it; without `numbers` its hosts count from 0."""
        text = tomli_w.dumps({"simulation": {"duration": "1 ns"}, "topology": topology})
        built = run_source(Source(text, "the imported fabric")).topology
        rates = {node["name"]: 0 for node in built["nodes"] if node["role"] == "host"}
        for link in built["links"]:
            for end in (link["a"], link["b"]):
                if end in rates:
                    rates[end] += link["rate_bps"]
        return cls(rates, numbers or dict(enumerate(rates)))

    def host(self, document: Document, line: int, named: int | str) -> str:
        """The name of a host."""
        if isinstance(named, int):
            if named not in self.numbers:
                raise document.error(
                    line, f"there is no host {named}; the fabric has {len(self.numbers)} hosts"
                )
            return self.numbers[named]
        if named not in self.rates:
            raise document.error(line, f"there is no host {named}; {suggestion(named, self.rates)}")
        return named

    def busiest(self, rows: Iterable[Transfer]) -> float:
        """Picoseconds that the links of the busiest host take for all that it sends or receives."""
        carried: dict[tuple[str, int | str], int] = {}
        for one in rows:
            for end in (("sends", one.sender), ("receives", one.receiver)):
                carried[end] = carried.get(end, 0) + one.bytes
        return max(8 * PS_PER_S * size / self._rate(host) for (_, host), size in carried.items())

    def _rate(self, named: int | str) -> int:
        return self.rates[self.numbers[named] if isinstance(named, int) else named]


def _rounded_up(ps: float) -> str:
    """Whole microseconds, two digits of them."""
    microseconds = math.ceil(ps / 1e6)
    step = 10 ** max(0, len(str(microseconds)) - 2)
    return f"{math.ceil(microseconds / step) * step} us"


def _listed(rows: Iterable[tuple[Document, Transfer]], first: Fraction, fabric: _Fabric) -> str:
    """The transfers as the list that a scenario names."""
    lines = []
    has_priority = False
    for document, one in rows:
        sender, receiver = (fabric.host(document, one.line, name) for name in (one.sender, one.receiver))
        if sender == receiver:
            raise document.error(one.line, f"{sender} sends to itself; expected two different hosts")
        has_priority |= one.priority is not None
        lines.append(f"{round(one.start_ps - first)},{sender},{receiver},{one.bytes},{one.priority or 0}")
    if not has_priority:
        lines = [line.rpartition(",")[0] for line in lines]
    return "\n".join(["time_ps,from,to,bytes" + ",priority" * has_priority, *lines, ""])


def _seconds(ps: Fraction) -> str:
    return f"{float(ps) / 1e12:g} s"
