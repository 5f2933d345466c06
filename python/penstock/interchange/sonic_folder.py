"""Assigns the files of a folder to switches.

Source: the schema of SONiC's CONFIG_DB (`DEVICE_METADATA`, `PORT`, `CABLE_LENGTH`, `PORTCHANNEL_MEMBER`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

from penstock.errors import InputError
from penstock.library import suggestion

from . import lldp_table, minigraph
from .json_text import Part, whole
from .minigraph import Minigraph
from .piece import Document, brief
from .sonic_links import MOST_MBPS
from .sonic_tables import nested

CONFIG = "config_db.json"
LOOKUP = "pg_profile_lookup.ini"
MAX_SWITCHES = 1_024
_TABLES = ("PORT", "DEVICE_METADATA", "BUFFER_POOL", "BUFFER_PROFILE", "DEVICE_NEIGHBOR", "PORT_QOS_MAP")
"""Tables, at least one of which is in every CONFIG_DB."""


@dataclass
class Member:
    """A switch of the folder.

    Attributes
    ----------
    name : str
        Hostname of the switch; without one, the name of its file or folder.
    config : Part, optional
        Its CONFIG_DB; ``None`` if there is only a minigraph.
    documents : list of Document
        Its CONFIG_DB, and its headroom table if there is one.
    lldp : Document, optional
        Output of `show lldp table`.
    minigraph : Minigraph, optional
        Its minigraph.
    """

    name: str
    config: Part | None = None
    documents: list[Document] = field(default_factory=list)
    lldp: Document | None = None
    minigraph: Minigraph | None = None

    def table(self, name: str) -> Mapping[str, Any]:
        """A table of CONFIG_DB; empty if there is none.

        Raises
        ------
        InputError
            If it is not a table.
        """
        found = self.config.plain.get(name, {}) if self.config else {}
        if not isinstance(found, Mapping):
            raise InputError(f"{self.place(name)}: is {brief(found)}; expected a table")
        return found

    def place(self, *keys: str) -> str:
        """File, line and name of a table, entry or field, for messages."""
        if self.config is not None:
            return f"{self.config.document.file}:{self.config.line_of(*keys)}: {'|'.join(keys)}"
        return f"{self.file}: {'|'.join(keys)}"

    @property
    def file(self) -> str:
        """The file that describes the switch."""
        described = self.config or self.minigraph
        return described.document.file if described is not None else self.name

    @cached_property
    def ports(self) -> Mapping[str, Mapping[str, Any]]:
        """The fields of each port: from `PORT`, or from the interfaces of the minigraph.

        Raises
        ------
        InputError
            If an entry of `PORT` is not a table.
        """
        if self.config is None and self.minigraph is not None:
            speeds = {link.port: str(link.mbps or "") for link in self.minigraph.links}
            speeds |= {port: speed for port, speed in self.minigraph.speeds.items() if speed}
            return {port: {"speed": speed} for port, speed in speeds.items() if speed}
        for port, entry in self.table("PORT").items():
            if not isinstance(entry, Mapping):
                raise InputError(
                    f"{self.place('PORT', port)}: is {brief(entry)}; expected fields such as speed"
                )
        return self.table("PORT")

    @cached_property
    def by_alias(self) -> Mapping[str, str]:
        """The port of each alias."""
        return {alias: port for port in self.ports if (alias := self.field(port, "alias"))}

    def named(self, label: str) -> list[str]:
        """Ports with this name or alias; there are two if one port's name is another's alias."""
        found = [label] if label in self.ports else []
        alias = self.by_alias.get(label)
        return [*found, alias] if alias is not None and alias not in found else found

    def port_names(self) -> list[str]:
        """Names and aliases of all ports, for suggestions."""
        return [*self.ports, *self.by_alias]

    def field(self, port: str, name: str) -> str:
        """A field of a port; empty if it is missing."""
        return str(self.ports.get(port, {}).get(name, "")).strip()

    def is_down(self, port: str) -> bool:
        """Returns true for a port that is shut down."""
        return self.field(port, "admin_status") == "down"

    def mbps(self, port: str) -> int | None:
        """The speed of a port, in Mb/s; ``None`` if there is none.

        Raises
        ------
        InputError
            If it is not a valid link speed.
        """
        text = self.field(port, "speed")
        if not text:
            links = self.minigraph.links if self.minigraph else []
            return next((link.mbps for link in links if port in self.named(link.port)), None)
        if not (text.isascii() and text.isdigit() and 1 <= int(text) <= MOST_MBPS):
            where = self.place("PORT", port, "speed")
            raise InputError(f"{where}: speed is {brief(text)}; expected 1 to {MOST_MBPS} Mb/s")
        return int(text)

    def metres(self, port: str) -> Fraction:
        """The length of the cable at a port in metres; 0 if it is unknown.

        Raises
        ------
        InputError
            If it is not a valid length.
        """
        for name, entry in self.table("CABLE_LENGTH").items():
            if isinstance(entry, Mapping) and port in entry:
                text = str(entry[port]).strip()
                if re.fullmatch(r"\d{1,6}m", text, re.ASCII) is None:
                    where = self.place("CABLE_LENGTH", name, port)
                    raise InputError(f'{where}: is {brief(text)}; expected whole metres, such as "40m"')
                return Fraction(text[:-1])
        return Fraction(0)

    @cached_property
    def channels(self) -> Mapping[str, list[str]]:
        """The member ports of each port channel.

        Raises
        ------
        InputError
            If a member is not a port, or a member of two port channels.
        """
        found: dict[str, list[str]] = {}
        claims = [
            (*name.partition("|")[::2], self.place("PORTCHANNEL_MEMBER", name))
            for name in self.table("PORTCHANNEL_MEMBER")
        ]
        for name, entry in self.table("PORTCHANNEL").items():
            members = entry.get("members", ()) if isinstance(entry, Mapping) else ()
            claims += [(name, str(member), self.place("PORTCHANNEL", name)) for member in members]
        if self.minigraph is not None and not claims:
            file = self.minigraph.document.file
            claims = [
                (name, port, f"{file}: {name}")
                for name, own in self.minigraph.channels.items()
                for port in own
            ]
        channel_of: dict[str, str] = {}
        for channel, label, where in claims:
            ports = self.named(label)
            if not ports:
                near = suggestion(label, self.port_names())
                raise InputError(f"{where}: there is no port {brief(label) or '(none)'}; {near}")
            if channel_of.setdefault(ports[0], channel) != channel:
                other = f"{ports[0]} is also a member of {channel_of[ports[0]]}"
                raise InputError(f"{where}: {other}; expected one port channel per port")
            if ports[0] not in found.setdefault(channel, []):
                found[channel].append(ports[0])
        return found


def members(directory: Path, read: Callable[[Path], Document]) -> list[Member]:
    """The switches of a folder, by name.

    Raises
    ------
    InputError
        If the folder has neither a CONFIG_DB nor a minigraph, or two switches have the same name.
    """
    found: dict[str, Member] = {}
    for label, paths in _files_of_switches(directory):
        one = _member(label, paths, read)
        if (first := found.get(one.name)) is not None:
            raise InputError(
                f"{one.file}: its hostname is {one.name}, as in {first.file}; expected one switch per file"
            )
        found[one.name] = one
    if not found:
        raise InputError(
            f"{directory}: has no CONFIG_DB; expected SWITCH.json or SWITCH/{CONFIG} for each switch"
        )
    if len(found) > MAX_SWITCHES:
        raise InputError(f"{directory}: has {len(found)} switches; expected at most {MAX_SWITCHES}")
    return [found[name] for name in sorted(found)]


def _member(label: str, paths: list[Path], read: Callable[[Path], Document]) -> Member:
    """Reads the files of a switch.

    Raises
    ------
    InputError
        If a file is not one of those of a switch, or two files are of the same kind.
    """
    one = Member(label)
    for path in paths:
        other = read(path)
        if path.suffix == ".json" and one.config is None:
            one.config = _config(other)
            one.documents.insert(0, other)
        elif path.name.endswith(LOOKUP):
            one.documents.append(other)
        elif minigraph.is_minigraph(other) and one.minigraph is None:
            one.minigraph = minigraph.read(other)
        elif lldp_table.HEAD.search(other.text) and one.lldp is None:
            one.lldp = other
        else:
            raise InputError(
                f"{path}: is not a file of a switch, or the second of its kind; expected one {CONFIG}, "
                f"{LOOKUP}, minigraph.xml and output of show lldp table for each switch"
            )
    metadata = one.table("DEVICE_METADATA").get("localhost", {})
    hostname = str(metadata.get("hostname") or "") if isinstance(metadata, Mapping) else ""
    described = one.minigraph.hostname if one.minigraph is not None else ""
    if hostname and described and hostname.lower() != described.lower():
        raise InputError(
            f"{one.file}: its hostname is {hostname}, but its minigraph describes {described}; "
            "expected the files of one switch"
        )
    one.name = hostname or described or label
    return one


def _config(document: Document) -> Part:
    """The tables of a CONFIG_DB.

    Raises
    ------
    InputError
        If the file has none of its tables.
    """
    part = nested(whole(document.fresh(), "the tables of CONFIG_DB"))
    if not any(name in part.plain for name in _TABLES):
        raise document.error(1, f"has no table of a CONFIG_DB; expected at least one of {', '.join(_TABLES)}")
    return part


def _files_of_switches(directory: Path) -> Iterator[tuple[str, list[Path]]]:
    """Name and files of each switch; the configuration comes first.

    Raises
    ------
    InputError
        If a file cannot be assigned to a switch, or a folder has several configurations.
    """
    entries = sorted(one for one in directory.iterdir() if not one.name.startswith("."))
    files = [one for one in entries if not one.is_dir()]
    heads = [one for one in files if one.suffix == ".json"]
    heads += [one for one in files if one.suffix == ".xml" and _owner(one, heads) is None]
    owners = {one: _owner(one, heads) for one in files if one not in heads}
    for one, owner in owners.items():
        if owner is None:
            raise InputError(
                f"{one}: belongs to no switch; expected NAME.lldp, NAME.xml or NAME.{LOOKUP} beside NAME.json"
            )
    for entry in entries:
        if entry.is_dir():
            yield entry.name, _files_of_folder(entry)
        elif entry in heads:
            yield _stem(entry), [entry, *(one for one, owner in owners.items() if owner == entry)]


def _files_of_folder(folder: Path) -> list[Path]:
    """The files of a switch that has a folder."""
    own = sorted(one for one in folder.iterdir() if one.is_file() and not one.name.startswith("."))
    configs = [one for one in own if one.suffix == ".json"]
    if len(configs) > 1:
        more = ", ".join(one.name for one in configs if one.name != CONFIG)
        raise InputError(
            f"{folder}: has several configurations ({more}); expected {CONFIG} alone. "
            "Import each ASIC of a chassis from its own folder"
        )
    if not configs and not any(one.suffix == ".xml" for one in own):
        raise InputError(f"{folder}: has no {CONFIG} and no minigraph.xml; expected one of them")
    return [*configs, *(one for one in own if one not in configs)]


def _stem(head: Path) -> str:
    return head.name.removesuffix(".xml").removesuffix(".minigraph") if head.suffix == ".xml" else head.stem


def _owner(one: Path, heads: Sequence[Path]) -> Path | None:
    """The configuration whose name is a prefix of a file's name; the longest, if there are several."""
    fitting = [head for head in heads if one.name.startswith(f"{_stem(head)}.")]
    return max(fitting, key=lambda head: len(head.name), default=None)
