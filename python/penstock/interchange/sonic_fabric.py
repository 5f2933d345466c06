"""A fabric from one folder: a CONFIG_DB for each switch, and the links between them.

A folder has, for each switch, `NAME.json` or a folder with `config_db.json`; optionally also its headroom
table, `pg_profile_lookup.ini`, and the output of `show lldp table`. Links are those of `DEVICE_NEIGHBOR` and
of the LLDP table. A neighbor without a configuration is a switch if `DEVICE_NEIGHBOR_METADATA` gives it the
type of one, and a host otherwise. A port that is up and has no neighbor gets a host of its own. The table
`switch` has the most common settings; each switch that differs has a table `switches.NAME`.

Source: the schema of SONiC's CONFIG_DB (`DEVICE_NEIGHBOR`, `DEVICE_NEIGHBOR_METADATA`, `PORT` and
`CABLE_LENGTH`), and `show lldp table` of sonic-utilities.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from penstock.errors import InputError
from penstock.library import Source, suggestion, toml

from .formats import FORMATS, read_all
from .join import Joined, join
from .json_text import whole
from .piece import Document, Note, Piece, brief, explicit
from .sonic_links import MOST_MBPS, PHYS_MBPS
from .sonic_tables import nested

CONFIG = "config_db.json"
LOOKUP = "pg_profile_lookup.ini"
_LLDP_HEAD = re.compile(r"^\s*LocalPort\s{2,}RemoteDevice\s{2,}RemotePortID\b", re.MULTILINE)
_SWITCH_TYPE = re.compile(r"Router$|Fabric|Switch$")
"""Types of neighbors that are switches: ToRRouter, LeafRouter, SpineRouter, ..."""
MAX_SWITCHES = 1_024


@dataclass
class Member:
    """A switch of the folder.

    Attributes
    ----------
    name : str
        Hostname of the switch; without one, the name of its file or folder.
    documents : list of Document
        Its CONFIG_DB, and its headroom table if there is one.
    lldp : Document, optional
        Output of `show lldp table`.
    """

    name: str
    documents: list[Document]
    lldp: Document | None
    plain: Mapping[str, Any]

    @property
    def ports(self) -> Mapping[str, Any]:
        """The table of the switch's ports."""
        found = self.plain.get("PORT", {})
        return found if isinstance(found, Mapping) else {}

    def field(self, port: str, name: str) -> str:
        """A field of a port; empty if it is missing."""
        entry = self.ports.get(port)
        return str(entry.get(name, "")).strip() if isinstance(entry, Mapping) else ""

    def mbps(self, port: str) -> int | None:
        """The speed of a port, in Mb/s; ``None`` if there is none."""
        text = self.field(port, "speed")
        if not text:
            return None
        if not (text.isascii() and text.isdigit() and 1 <= int(text) <= MOST_MBPS):
            where = f"{self.documents[0].file}: PORT|{port}"
            raise InputError(f"{where}: speed is {brief(text)}; expected 1 to {MOST_MBPS} Mb/s")
        return int(text)

    def metres(self, port: str) -> Fraction:
        """The length of the cable at a port in meters; 0 if it is unknown."""
        tables = self.plain.get("CABLE_LENGTH", {})
        for entry in tables.values() if isinstance(tables, Mapping) else ():
            text = str(entry.get(port, "")) if isinstance(entry, Mapping) else ""
            if re.fullmatch(r"\d{1,6}m", text, re.ASCII):
                return Fraction(text[:-1])
        return Fraction(0)


@dataclass(frozen=True)
class End:
    """One end of a link: a switch and its port."""

    switch: str
    port: str

    def __str__(self) -> str:
        return f"{self.switch} {self.port}"


@dataclass
class Neighbor:
    """The far end of a port, as a switch describes it.

    Attributes
    ----------
    name, port : str
        Device and port at the far end; the port may be empty.
    source : str
        Place of the entry, for messages.
    """

    name: str
    port: str
    source: str


@dataclass
class Wiring:
    """The links of a fabric.

    Attributes
    ----------
    hosts, switches : list of str
        Names of hosts and switches.
    links : list of dict
        Links in the form of `topology.explicit.links`.
    remarks : list of str
        Remarks on assumptions.
    ports : list of str
        Names of the ports at both ends of each link, one line per link.
    """

    hosts: list[str] = field(default_factory=list)
    switches: list[str] = field(default_factory=list)
    links: list[dict[str, Any]] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    ports: list[str] = field(default_factory=list)


def members(directory: Path, read: Callable[[Path], Document]) -> list[Member]:
    """The switches of a folder, by name.

    Raises
    ------
    InputError
        If the folder has no CONFIG_DB, or two switches have the same name.
    """
    found: dict[str, Member] = {}
    for label, config, beside in _configurations(directory):
        documents = [read(config)]
        plain = nested(whole(documents[0].fresh(), "the tables of CONFIG_DB")).plain
        metadata = plain.get("DEVICE_METADATA", {})
        own = metadata.get("localhost", {}) if isinstance(metadata, Mapping) else {}
        name = str(own.get("hostname") or label) if isinstance(own, Mapping) else label
        if name in found:
            first = found[name].documents[0].file
            raise InputError(
                f"{config}: its hostname is {name}, as that of {first}; expected one switch a file"
            )
        lldp = None
        for path in beside:
            other = read(path)
            if path.name.endswith(LOOKUP):
                documents.append(other)
            elif _LLDP_HEAD.search(other.text):
                lldp = other
            else:
                raise InputError(f"{path}: is neither {LOOKUP} nor what show lldp table prints")
        found[name] = Member(name, documents, lldp, plain)
    if not found:
        raise InputError(
            f"{directory}: has no CONFIG_DB; expected SWITCH.json or SWITCH/{CONFIG} for each switch"
        )
    if len(found) > MAX_SWITCHES:
        raise InputError(f"{directory}: has {len(found)} switches; expected at most {MAX_SWITCHES}")
    return [found[name] for name in sorted(found)]


def _configurations(directory: Path) -> Iterator[tuple[str, Path, list[Path]]]:
    """Name, CONFIG_DB and other files of each switch."""
    entries = sorted(one for one in directory.iterdir() if not one.name.startswith("."))
    for entry in entries:
        if entry.is_dir():
            own = sorted(one for one in entry.iterdir() if one.is_file() and not one.name.startswith("."))
            configs = [one for one in own if one.suffix == ".json"]
            config = (
                entry / CONFIG if entry / CONFIG in configs else configs[0] if len(configs) == 1 else None
            )
            if config is None:
                raise InputError(
                    f"{entry}: has {len(configs)} .json files and no {CONFIG}; expected {CONFIG}"
                )
            yield entry.name, config, [one for one in own if one.suffix != ".json"]
        elif entry.suffix == ".json":
            beside = [one for one in entries if one.is_file() and one != entry and _belongs(one, entry)]
            yield entry.stem, entry, beside
        elif not any(_belongs(entry, one) for one in entries if one.suffix == ".json"):
            raise InputError(
                f"{entry}: belongs to no switch; expected NAME.lldp or NAME.{LOOKUP} beside NAME.json"
            )


def _belongs(one: Path, config: Path) -> bool:
    return one.suffix != ".json" and one.name.startswith(f"{config.stem}.")


def wiring(all_members: Sequence[Member]) -> Wiring:
    """Derives the links of a fabric from the neighbors of its switches.

    Raises
    ------
    InputError
        If two switches disagree about a link or its speed, or a named port does not exist.
    """
    made = Wiring(switches=[one.name for one in all_members])
    known = {one.name: one for one in all_members}
    types = {name: kind for one in all_members for name, kind in _types(one)}
    record = {End(one.name, port): far for one in all_members for port, far in _neighbors(one)}
    done: set[End] = set()
    for near, far in record.items():
        if near in done:
            continue
        done.add(near)
        if far.name in known:
            other = _far_end(near, far, known, record)
            if other in done:
                raise InputError(
                    f"{far.source}: {near} leads to {other}, as another port does; expected one link"
                )
            done.add(other)
            made.links.append(_link(near, other, known, made))
            made.ports.append(f"{near} to {other}")
            continue
        is_switch = bool(_SWITCH_TYPE.search(types.get(far.name, "")))
        names = made.switches if is_switch else made.hosts
        if far.name not in names:
            names.append(far.name)
            if is_switch:
                made.remarks.append(f"{far.name}: has no configuration here: set up as most switches are")
        made.links.append(_link(near, End(far.name, far.port), known, made))
        made.ports.append(f"{near} to {far.name} {far.port}".rstrip())
    for one in all_members:
        _add_hosts(one, done, known, made)
    if not made.links:
        raise InputError(
            f"{all_members[0].documents[0].file}: no port has a neighbor or a speed; expected links"
        )
    return made


def _add_hosts(one: Member, done: set[End], known: Mapping[str, Member], made: Wiring) -> None:
    """Adds a host for each port of a switch that is up and has no neighbor."""
    alone = [
        port
        for port in one.ports
        if End(one.name, port) not in done and one.field(port, "admin_status") != "down" and one.mbps(port)
    ]
    for port in alone:
        host = f"{one.name}-{port}"
        made.hosts.append(host)
        made.links.append(_link(End(one.name, port), End(host, ""), known, made))
        made.ports.append(f"{one.name} {port} to {host}")
    if alone:
        named = ", ".join(alone[:4]) + (f" and {len(alone) - 4} more" if len(alone) > 4 else "")
        made.remarks.append(f"{one.name}: no neighbor at {named}: a host {one.name}-PORT at each")


def _far_end(near: End, far: Neighbor, known: Mapping[str, Member], told: Mapping[End, Neighbor]) -> End:
    """The port at the other switch; both ends must agree."""
    other = known[far.name]
    port = _port_of(other, far.port)
    if port is None:
        back = [end.port for end, one in told.items() if end.switch == other.name and one.name == near.switch]
        if far.port or len(back) != 1:
            names = [*other.ports, *(other.field(one, "alias") for one in other.ports)]
            named = far.port or "(none)"
            raise InputError(
                f"{far.source}: {near} leads to port {named} of {other.name}; {suggestion(far.port, names)}"
            )
        port = back[0]
    end = End(other.name, port)
    answer = told.get(end)
    if answer is None:
        return end
    is_back = answer.name == near.switch and _port_of(known[near.switch], answer.port) in (near.port, None)
    if not is_back:
        raise InputError(
            f"{far.source}: {near} leads to {end}, and {answer.source} says that {end} leads to "
            f"{answer.name} {answer.port}; expected both to name each other"
        )
    return end


def _port_of(one: Member, named: str) -> str | None:
    """A port by its name or its alias; ``None`` if there is none."""
    if named in one.ports:
        return named
    return next((port for port in one.ports if named and one.field(port, "alias") == named), None)


def _link(near: End, far: End, known: Mapping[str, Member], made: Wiring) -> dict[str, Any]:
    """The keys of a link, with the speed and the cable that its ends have."""
    ends = [end for end in (near, far) if end.switch in known]
    speeds = {end: mbps for end in ends if (mbps := known[end.switch].mbps(end.port)) is not None}
    if not speeds:
        where = f"{known[near.switch].documents[0].file}: PORT|{near.port}"
        raise InputError(f"{where}: has no speed; expected Mb/s, such as 100000")
    if len({*speeds.values()}) > 1:
        both = " and ".join(f"{end} has {mbps} Mb/s" for end, mbps in speeds.items())
        raise InputError(f"{both}; expected the same speed at both ends of a link")
    metres = {end: cable for end in ends if (cable := known[end.switch].metres(end.port))}
    if len({*metres.values()}) > 1:
        both = ", ".join(f"{end} {cable} m" for end, cable in metres.items())
        made.remarks.append(f"cable lengths differ ({both}): the longer one counts")
    mbps = next(iter(speeds.values()))
    rate = f"{Fraction(mbps, 1_000)} Gb/s" if mbps % 1_000 == 0 else f"{mbps} Mb/s"
    length = {"length": f"{max(metres.values())} m"} if metres else {}
    phy = {"phy": "slowest"} if mbps in PHYS_MBPS else {}
    return {"between": [near.switch, far.switch], "rate": rate, **length, **phy}


def _types(one: Member) -> Iterator[tuple[str, str]]:
    table = one.plain.get("DEVICE_NEIGHBOR_METADATA", {})
    for name, entry in table.items() if isinstance(table, Mapping) else ():
        if isinstance(entry, Mapping) and isinstance(entry.get("type"), str):
            yield str(name), entry["type"]


def _neighbors(one: Member) -> list[tuple[str, Neighbor]]:
    """Neighbors by port: from the LLDP table, which was observed, otherwise from DEVICE_NEIGHBOR."""
    found: dict[str, Neighbor] = {}
    file = one.documents[0].file
    table = one.plain.get("DEVICE_NEIGHBOR", {})
    for port, entry in table.items() if isinstance(table, Mapping) else ():
        if not isinstance(entry, Mapping) or not isinstance(entry.get("name"), str):
            raise InputError(f"{file}: DEVICE_NEIGHBOR|{port}: is {brief(entry)}; expected name and port")
        source = f"{file}: DEVICE_NEIGHBOR|{port}"
        found[str(port)] = Neighbor(entry["name"], str(entry.get("port", "")), source)
    if one.lldp is not None:
        for number, words in _rows(one.lldp):
            found[words[0]] = Neighbor(words[1], words[2], f"{one.lldp.file}:{number}")
    for port, far in found.items():
        if port not in one.ports:
            raise InputError(f"{far.source}: there is no port {port}; {suggestion(port, [*one.ports])}")
    return [*found.items()]


def _rows(lldp: Document) -> Iterator[tuple[int, list[str]]]:
    """Rows of the LLDP table with their lines: local port, remote device, remote port, and more."""
    begun = False
    for number, line in enumerate(lldp.text.splitlines(), 1):
        if _LLDP_HEAD.match(line):
            begun = True
        elif begun and line.strip() and not set(line) <= {"-", " "} and not line.startswith("Total"):
            words = re.split(r"\s{2,}", line.strip())
            if len(words) < 3:
                message = f"is {brief(line)}; expected LocalPort, RemoteDevice, RemotePortID"
                raise InputError(f"{lldp.file}:{number}: {message}")
            yield number, words


def read_folder(
    directory: Path,
    read: Callable[[Path], Document],
    out: Path,
    *,
    like: Source | None = None,
    duration: str | None = None,
) -> Joined:
    """Converts a folder with the configurations of switches to a scenario.

    Parameters
    ----------
    directory : Path
        The folder.
    read : callable
        Reads a file.
    out : Path
        Path of the scenario file.
    like : Source, optional
        A scenario for everything that the folder does not specify; its traffic is left out.
    duration : str, optional
        ``simulation.duration``.

    Raises
    ------
    InputError
        If a file is not a CONFIG_DB, or the switches contradict each other.
    """
    found = members(directory, read)
    made = wiring(found)
    texts, remarks = {}, list(made.remarks)
    for one in found:
        scenario, own = _alone(one, made, out)
        texts[one.name] = scenario
        remarks += own
    keys, differ = together(texts)
    keys |= explicit(made.hosts, made.switches, made.links)
    whole_fabric = Document(str(directory), "")
    notes = [Note(number, text) for number, text in enumerate(made.ports, 1)]
    piece = Piece(keys=keys, remarks=[*_grouped(remarks), *differ], notes=notes)
    return join([(whole_fabric, piece)], out, like=like, duration=duration)


def _alone(one: Member, made: Wiring, out: Path) -> tuple[str, list[str]]:
    """The scenario of a switch with its own links, and remarks on settings that were not read."""
    kinds = {kind.name: kind for kind in FORMATS}
    named = [(kinds["sonic" if nth == 0 else "pg-profile"], doc) for nth, doc in enumerate(one.documents)]
    pieces = list(zip(one.documents, read_all(named), strict=True))
    links = [link for link in made.links if one.name in link["between"]]
    others = [name for link in links for name in link["between"] if name != one.name]
    links_alone = Piece(keys=explicit([*dict.fromkeys(others)], [one.name], links))
    joined = join([(Document(one.name, ""), links_alone), *pieces], out)
    ignored = ("DEVICE_NEIGHBOR", "not read: PORT alias", "links of the fabric keep theirs")
    return joined.text, [line for line in joined.remarks if not any(word in line for word in ignored)]


def _grouped(remarks: Sequence[str]) -> list[str]:
    """Remarks, with those that several switches share merged and counted."""
    bare = [re.sub(r"^\S+?\.(?:json|ini)(?::\d+)?: ", "", line) for line in remarks]
    counted = Counter(bare)
    first = dict(zip(reversed(bare), reversed(remarks), strict=True))
    return [first[text] + (f" (at {count} switches)" if count > 1 else "") for text, count in counted.items()]


def together(named: Mapping[str, str]) -> tuple[dict[str, Any], list[str]]:
    """Merges the scenarios of all switches: the most common settings, and the differences of other switches.

    Parameters
    ----------
    named : mapping
        The scenario of each switch, as TOML.

    Returns
    -------
    dict
        The keys.
    list of str
        Remarks on global settings in which switches differ.
    """
    each = {name: toml(text, name) for name, text in named.items()}
    own = {name: _settings(keys) for name, keys in each.items()}
    counted = Counter(json.dumps(one, sort_keys=True) for one in own.values())
    usual = json.loads(counted.most_common(1)[0][0])
    model = next(name for name, one in own.items() if one == usual)
    keys = {key: value for key, value in each[model].items() if key != "simulation"}
    different = {name: one for name, one in own.items() if one != usual}
    if different:
        keys["switches"] = {name: _instead(usual, one) for name, one in different.items()}
    of_fabric = {*keys} - {"switch", "switches", "flow_control", "topology"}
    remarks = [
        f"{name}: {key} is not that of {model}, which holds for the fabric"
        for name, one in each.items()
        for key in sorted({*one, *of_fabric} - {"switch", "flow_control", "topology", "simulation"})
        if one.get(key) != each[model].get(key)
    ]
    return keys, remarks


def _settings(keys: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of a switch in the form of `switches.NAME`."""
    settings = dict(keys.get("switch", {}))
    if "flow_control" in keys:
        settings["flow_control"] = keys["flow_control"]
    return settings


def _instead(usual: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of one switch that differ from the most common ones."""
    gone = {key: "off" for key in usual if key not in own and key == "flow_control"}
    return {**gone, **{key: value for key, value in own.items() if value != usual.get(key)}}
