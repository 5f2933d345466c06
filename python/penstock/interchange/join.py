"""Joins pieces of a scenario: imported files, and a base scenario for everything that they do not specify."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

import tomli_w

from penstock.errors import InputError
from penstock.library import Source, suggestion, toml
from penstock.running import run_source
from penstock.units import rate_from

from .fabric_links import fit_links
from .memory import assume, attach_rest, count_losses, fit
from .ns3_config import refuse_without_transfers
from .ns3_switch import fit_switch
from .piece import PS_PER_S, Document, Piece, Transfer, brief, plainest
from .toml import scenario
from .wred import leave_out_colors

TRAFFIC = ("flows", "transfers", "faults")
"""Tables of a scenario that refer to its hosts or links."""
_WHOLE = ("switch.scheduler", "flow_control", "switch.buffer.memory")
"""Tables that are taken from one file as a whole, never merged."""
MOST_NOTES = 500
"""Maximum number of comments in a scenario about one document."""
_LEAST_PS = 1e9
_STEP_PS = 0.5e9
"""Delay from the end of a transfer to the start of one that waits for it: a delayed acknowledgement."""
_SHORTEST = "1 ms"
"""Duration of a scenario without traffic."""


@dataclass(frozen=True)
class Joined:
    """A scenario, and the list of its transfers.

    Attributes
    ----------
    text : str
        The scenario, as TOML.
    transfers : str
        Contents of the file of transfers, as CSV; empty if there are none.
    remarks : list of str
        Remarks on what was left out or chosen.
    sizes : str
        Contents of the file of a size distribution, as CSV; empty if there is none.
    """

    text: str
    transfers: str
    remarks: list[str]
    sizes: str = ""


def join(
    read: Sequence[tuple[Document, Piece]],
    out: Path,
    *,
    like: Source | None = None,
    duration: str | None = None,
) -> Joined:
    """Joins pieces into one scenario.

    Parameters
    ----------
    read : sequence
        Documents and their pieces.
    out : Path
        Path of the scenario file; the list of transfers is written beside it.
    like : Source, optional
        A scenario for everything that the documents do not specify. Its traffic and faults are left out if
        the documents contain a fabric or traffic.
    duration : str, optional
        ``simulation.duration``. Default: the last start plus twice the transmission time of the busiest host.

    Raises
    ------
    InputError
        If two documents set the same key, or there is traffic but no fabric with its hosts.
    """
    merged, twice = _merged(read)
    keys, remarks = _completed(merged, like, any(piece.transfers for _, piece in read))
    remarks += twice
    remarks += [remark for _, piece in read for remark in piece.remarks]
    if "topology" not in keys and (alone := [piece.alone for _, piece in read if piece.alone]):
        keys |= alone[0]
        remarks.append(
            f"{read[0][0].file}: has no fabric: a host at each port; --like names a scenario with one"
        )
    elif "topology" in keys:
        for document, piece in read:
            remarks += fit_links(keys["topology"], document, piece.links)
    if "topology" not in keys:
        raise InputError(
            f"{read[0][0].file}: has no fabric; import one with it, or name a scenario: --like SCENARIO"
        )
    for document, piece in read:
        if piece.memory is not None:
            remarks += fit(keys, document, piece.memory)
    for document, piece in read:
        if piece.assumed is not None and "memory" in keys.get("switch", {}).get("buffer", {}):
            remarks += [f"{document.file}: {line}" for line in assume(keys, piece.assumed)]
            remarks += [f"{document.file}: {line}" for line in attach_rest(keys, piece.links)]
    buffer = keys.get("switch", {}).get("buffer", {})
    if "memory" in buffer:
        remarks += count_losses(keys)
        remarks += [
            f"switch.buffer.{key} is left out: pools define it" for key in [*buffer] if key != "memory"
        ]
        keys["switch"]["buffer"] = {"memory": buffer["memory"]}
    simulation = {"name": out.stem, **keys.get("simulation", {})}
    found = _traffic(read, keys, out)
    if found.rows or found.flows:
        remarks += found.remarks
        keys |= {
            key: entries for key, entries in (("flows", found.flows), ("transfers", found.entry)) if entries
        }
        simulation["duration"] = _rounded_up(found.needed_ps)
    remarks += _simulators(read, keys, {one.priority or 0 for _, one in found.rows})
    if any("queue_managers" in piece.keys.get("switch", {}) for _, piece in read):
        remarks += leave_out_colors(keys)
    sizes = _sizes(read, keys, out)
    simulation["duration"] = duration or simulation.get("duration", _SHORTEST)
    keys.pop("simulation", None)
    head = _head(read, remarks, is_chosen=bool(found.rows) and duration is None)
    return Joined(head + "\n" + scenario({"simulation": simulation, **keys}), found.listed, remarks, sizes)


def _simulators(
    read: Sequence[tuple[Document, Piece]], keys: dict[str, Any], priorities: Collection[int]
) -> list[str]:
    """Applies simulator configurations to transfers and switches; returns remarks on the assumptions."""
    entries: list[str] = []
    for document, piece in read:
        if piece.transfer_keys and not keys.get("transfers"):
            raise refuse_without_transfers(document)
        if piece.transfer_keys:
            keys["transfers"] = [_over(dict(entry), piece.transfer_keys) for entry in keys["transfers"]]
        if piece.simulated is not None:
            used = {*priorities} or {entry.get("priority", 0) for entry in keys.get("transfers", ())} or {0}
            entries += [f"{document.file}: {line}" for line in fit_switch(keys, piece.simulated, used)]
    return entries


def _sizes(read: Sequence[tuple[Document, Piece]], keys: dict[str, Any], out: Path) -> str:
    """Sets the size distribution of the scenario's transfers; returns the list of its points."""
    given = [(document, piece) for document, piece in read if piece.points]
    if not given:
        return ""
    if len(given) > 1:
        raise InputError(f"{given[1][0].file}: a second distribution of sizes; import one of them")
    drawn = [entry for entry in keys.get("transfers", ()) if "sizes" in entry]
    if not drawn:
        message = "is a distribution of sizes, but no transfers use one"
        raise InputError(
            f"{given[0][0].file}: {message}; name a scenario with [[transfers]]: --like SCENARIO"
        )
    for entry in drawn:
        entry["sizes"] = {"points": f"{out.stem}.sizes.csv"}
    return "\n".join(["bytes,cdf", *(f"{size},{share}" for size, share in given[0][1].points), ""])


def _head(read: Sequence[tuple[Document, Piece]], remarks: Iterable[str], *, is_chosen: bool) -> str:
    """Comments at the top of the scenario: the lines that were read, and the settings that were left out."""
    lines = []
    for document, piece in read:
        name = _printable(Path(document.file).name)
        lines.append(f"Imported from {name}.")
        lines += [f"{name}:{place}: {_printable(text)}" for place, text in piece.notes[:MOST_NOTES]]
        if len(piece.notes) > MOST_NOTES:
            lines.append(f"{name}: and {len(piece.notes) - MOST_NOTES} more lines")
    if is_chosen:
        lines.append("The duration is an assumption: the last start plus twice the time of the busiest host.")
    for remark in remarks:
        for document, _ in read:
            remark = remark.replace(document.file, Path(document.file).name)
        lines.append(f"Note: {_printable(remark)}")
    return "".join(f"# {line}\n" for line in lines)


def _printable(text: str) -> str:
    """Returns a foreign text as one line of a comment."""
    return "".join(one if one.isprintable() else "?" for one in text)


@dataclass(frozen=True)
class _Traffic:
    """Transfers as a list, endless flows, and the total duration."""

    rows: Sequence[tuple[Document, Transfer]] = ()
    flows: Sequence[dict[str, Any]] = ()
    entry: Sequence[dict[str, Any]] = ()
    listed: str = ""
    needed_ps: float = 0.0
    remarks: Sequence[str] = ()


def _traffic(read: Sequence[tuple[Document, Piece]], keys: Mapping[str, Any], out: Path) -> _Traffic:
    """Joins the traffic of all documents."""
    everything = [(document, one) for document, piece in read for one in piece.transfers]
    if not everything:
        return _Traffic()
    numbers = dict(number for _, piece in read for number in piece.numbers.items())
    fabric = _Fabric.of(keys["topology"], numbers)
    everything.sort(key=lambda row: (bool(row[1].after), row[1].start_ps))
    timed = [one.start_ps for _, one in everything if not one.after]
    first = timed[0] if timed else Fraction(0)
    rows = [row for row in everything if row[1].bytes is not None]
    remarks = (
        [f"times are counted from the first transfer, which began at {_seconds(first)}"] if first else []
    )
    if with_notes := [one for _, one in rows if one.note]:
        merged = with_notes[0].note
        remarks.append(
            f"{len(with_notes)} transfers have fields that a scenario cannot express, such as {merged}: "
            f"see the comments in their list"
        )
    name = re.sub(r"[\s*\"'\[\]{},]", "-", Path(everything[0][0].file).stem)
    entry: list[dict[str, Any]] = [{"name": name, "arrivals": {"file": f"{out.stem}.transfers.csv"}}]
    known = {(document.file, one.line): one.sender for document, one in rows}
    if any(known[document.file, line] == one.sender for document, one in rows for line in one.after):
        entry[0]["over"] = {"tcp": {}}
        remarks.append("some transfers wait for acknowledgements, so all use TCP; set `over` to change this")
    flows = [
        _endless(f"{name}-{one.line}", document, one, first, fabric)
        for document, one in everything
        if one.bytes is None
    ]
    if flows:
        remarks.append(f"{len(flows)} transfers have no end: they become greedy flows")
    listed = _listed(rows, first, fabric) if rows else ""  # checks that all hosts exist
    takes = max(fabric.busiest(one for _, one in rows), fabric.longest_chain(rows))
    needed = float(max(timed, default=first) - first) + 2 * takes
    return _Traffic(rows, flows, entry if rows else (), listed, needed or _LEAST_PS, remarks)


def _endless(
    name: str, document: Document, one: Transfer, first: Fraction, fabric: _Fabric
) -> dict[str, Any]:
    """An endless transfer as a flow."""
    sender, receiver = _ends(document, one, fabric)
    start = {"start": plainest(round(one.start_ps - first), "time")} if one.start_ps > first else {}
    priority = {"priority": one.priority} if one.priority else {}
    return {"name": name, "from": sender, "to": receiver, **priority, **start, "source": "greedy"}


def _merged(read: Sequence[tuple[Document, Piece]]) -> tuple[dict[str, Any], list[str]]:
    """Merges the keys of all documents, with a remark for each conflict. Only one may have a topology."""
    merged: dict[str, Any] = {}
    entries: list[str] = []
    for document, piece in read:
        _add(merged, piece.keys, document.file, "", entries)
    return merged, entries


def _add(
    merged: dict[str, Any], more: Mapping[str, Any], file: str, within: str, reported: list[str]
) -> None:
    for key, value in more.items():
        both = merged.get(key)
        name = f"{within}{key}"
        if isinstance(both, dict) and isinstance(value, dict) and name not in ("topology", *_WHOLE):
            _add(both, value, file, f"{name}.", reported)
            continue
        if both is not None and both != value:
            if name == "topology":
                raise InputError(
                    f"{file}: sets {name}, which another file sets as well; import only one of them"
                )
            reported.append(
                f"{file}: {name} is {brief(value)} here and {brief(both)} in a file before: this file, which "
                "is named later, takes precedence"
            )
        merged[key] = value


def _completed(
    merged: dict[str, Any], like: Source | None, has_traffic: bool
) -> tuple[dict[str, Any], list[str]]:
    """Completes the keys with those of the base scenario."""
    if like is None:
        return merged, []
    base = toml(like.text, like.file)
    for key in ("simulation", "topology", "switch", "switch.buffer"):
        table: Any = base
        for step in key.split("."):
            table = table.get(step, {})
        if not isinstance(table, dict):
            raise InputError(f"{like.file}: {key} is {table!r}; expected a table")
    remarks = []
    if has_traffic or "topology" in merged:
        left_out = [key for key in TRAFFIC if base.pop(key, None) is not None]
        remarks += [f"{key} of {like.file} are left out" for key in left_out]
    for key in ("name", "description"):
        base.get("simulation", {}).pop(key, None)
    return _over(base, merged), remarks


def _over(base: dict[str, Any], merged: Mapping[str, Any], within: str = "") -> dict[str, Any]:
    """Returns the base with these keys in place of its own."""
    for key, value in merged.items():
        own = base.get(key)
        if isinstance(own, dict) and isinstance(value, dict) and within + key != "topology":
            base[key] = _over(own, value, f"{within}{key}.")
        else:
            base[key] = value
    return base


@dataclass(frozen=True)
class _Fabric:
    """The hosts of a fabric with the rates of their links, and the hosts by number."""

    rates: dict[str, int]
    numbers: Mapping[int, str]

    @classmethod
    def of(cls, topology: Mapping[str, Any], numbers: Mapping[int, str]) -> _Fabric:
        """The fabric of these keys, built by the engine; without `numbers`, its hosts are numbered from 0."""
        text = tomli_w.dumps({"simulation": {"duration": "1 ns"}, "topology": topology})
        built = run_source(Source(text, "the imported fabric")).topology
        rates = {node["name"]: 0 for node in built["nodes"] if node["role"] == "host"}
        for link in built["links"]:
            for end in (link["a"], link["b"]):
                if end in rates:
                    rates[end] += round(rate_from(end, link))
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
        """Picoseconds that the busiest host needs for all bytes that it sends and receives."""
        carried: dict[tuple[str, int | str], int] = {}
        for one in rows:
            if one.bytes is None:
                continue
            for end in (("sends", one.sender), ("receives", one.receiver)):
                carried[end] = carried.get(end, 0) + one.bytes
        return max(
            (8 * PS_PER_S * size / self._rate(host) for (_, host), size in carried.items()), default=0.0
        )

    def longest_chain(self, rows: Iterable[tuple[Document, Transfer]]) -> float:
        """Picoseconds needed by the longest chain of transfers that wait for each other."""
        known = {(document.file, one.line): one for document, one in rows}
        before = {key: [(key[0], line) for line in one.after] for key, one in known.items()}
        ends: dict[tuple[str, int], float] = {}
        for key in TopologicalSorter(before).static_order():
            begins = max((ends[other] + _STEP_PS for other in before[key]), default=0.0)
            ends[key] = begins + 8 * PS_PER_S * (known[key].bytes or 0) / self._rate(known[key].sender)
        return max(ends.values(), default=0.0)

    def _rate(self, named: int | str) -> int:
        return self.rates[self.numbers[named] if isinstance(named, int) else named]


def _rounded_up(ps: float) -> str:
    """Whole microseconds, rounded up to two significant digits."""
    microseconds = math.ceil(ps / 1e6)
    step = 10 ** max(0, len(str(microseconds)) - 2)
    return f"{math.ceil(microseconds / step) * step} us"


def _listed(rows: Sequence[tuple[Document, Transfer]], first: Fraction, fabric: _Fabric) -> str:
    """The transfers as a scenario's list of transfers (CSV)."""
    optional = {
        "priority": any(one.priority is not None for _, one in rows),
        "id": any(one.after for _, one in rows),
        "after": any(one.after for _, one in rows),
    }
    columns = [
        "time_ps",
        "from",
        "to",
        "bytes",
        *(column for column, is_there in optional.items() if is_there),
    ]
    lines = [",".join(columns)]
    files = {document.file: nth for nth, (document, _) in enumerate(rows)}
    for document, one in rows:
        sender, receiver = _ends(document, one, fabric)
        if one.note:
            lines.append(f"# {_printable(Path(document.file).name)}:{one.line}: {one.note}")
        prefix = f"{files[document.file]}." if len(files) > 1 else ""
        values = {
            "time_ps": "" if one.after else round(one.start_ps - first),
            "from": sender,
            "to": receiver,
            "bytes": one.bytes,
            "priority": one.priority or 0,
            "id": f"{prefix}{one.line}",
            "after": " ".join(f"{prefix}{line}" for line in one.after),
        }
        lines.append(",".join(str(values[column]) for column in columns))
    return "\n".join([*lines, ""])


def _ends(document: Document, one: Transfer, fabric: _Fabric) -> tuple[str, str]:
    """Sender and receiver."""
    sender, receiver = (fabric.host(document, one.line, name) for name in (one.sender, one.receiver))
    if sender == receiver:
        raise document.error(one.line, f"{sender} sends to itself; expected two different hosts")
    return sender, receiver


def _seconds(ps: Fraction) -> str:
    return f"{float(ps) / 1e12:g} s"
