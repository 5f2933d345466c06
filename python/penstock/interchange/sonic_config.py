"""CONFIG_DB of SONiC (`config_db.json`): settings of a switch, taken from its lossless ports.

`sonic_port` reads the settings of a port, `sonic_tables` the tables, and `sonic_memory` converts pools and
profiles. This module converts everything else to keys of a scenario. A scenario has one set of settings for
all ports of a switch; ports that differ are reported. Several files of a switch, such as `buffers.json`,
`qos.json` and `pg_profile_lookup.ini`, are read as one.

Source: the schema of SONiC's CONFIG_DB. The size of a pool is its shared part, which excludes reserves and
the headroom of the pool.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from . import sonic_trimming
from .json_text import whole
from .pg_profile import rows_of
from .piece import Document, LinkClass, Piece
from .port_keys import PortKeys
from .sonic_links import Chosen, choose, count_others_as_read, star
from .sonic_memory import Headrooms, Memory
from .sonic_port import PRIORITIES, View, ports, view
from .sonic_tables import Tables, nested

KNOWN = ("PORT_QOS_MAP", "BUFFER_PG", "BUFFER_POOL", "BUFFER_QUEUE", "QUEUE")
MOST_PORTS = 1_024
"""Maximum number of ports of a switch."""


def recognises(document: Document) -> bool:
    """Returns true if a text is JSON with a table of queues, buffers or port maps."""
    names = [f'"{name}{end}' for name in KNOWN for end in ('"', "|")]
    return document.text.lstrip().startswith("{") and any(name in document.text for name in names)


def read(document: Document) -> Piece:
    """Reads the settings of a switch in one file; see `read_together`."""
    return read_together([document])[0]


def read_together(documents: Sequence[Document], lookups: Sequence[Document] = ()) -> list[Piece]:
    """Reads the settings of the ports with lossless priorities; if there are none, of all ports.

    Ports may differ by speed, cable and buffer profiles. Everything else is taken from the most common
    settings, or from the port `document.interface`.

    Parameters
    ----------
    documents : sequence of Document
        Parts of CONFIG_DB. If several have a field, the last one applies.
    lookups : sequence of Document
        Headroom tables, `pg_profile_lookup.ini`, for lossless groups without a profile.

    Returns
    -------
    list of Piece
        One for each document, in order; the first has the settings.

    Raises
    ------
    InputError
        If a text is not a CONFIG_DB, there are no ports, or a scenario cannot express a setting. The message
        names the table and line.
    """
    switch = ports_of(documents)
    tables, views, chosen, first = switch.tables, switch.views, switch.chosen, documents[0]
    headrooms = Headrooms([(document, rows_of(document)) for document in lookups])
    settings = _Settings(tables, [(one.link, views[one.port]) for one in chosen.classes], headrooms)
    keys = settings.keys()
    links = [one.link for one in chosen.classes]
    alone = star(views, *_name_and_ports_down(tables, views))
    count_others_as_read(tables, views, chosen)
    remarks = [f"{first.file}: {line}" for line in (*chosen.reported, *tables.reported)]
    made = [Piece(notes=tables.notes(part)) for part in tables.parts]
    made[0] = replace(
        made[0], keys=keys, remarks=remarks, links=links, alone=alone, assumed=settings.memory.assumed
    )
    return [*made, *(Piece(notes=notes, remarks=lines) for notes, lines in headrooms.reports())]


def _name_and_ports_down(tables: Tables, views: Mapping[str, View]) -> tuple[str, list[str]]:
    """The name of the switch, and its ports whose `admin_status` is down."""
    own = tables.entry("DEVICE_METADATA", "localhost")
    entries = {name: tables.entry("PORT", name) for name in views}
    down = [
        name for name, one in entries.items() if one and one.choice("admin_status", "up", "down") == "down"
    ]
    return (own.text("hostname") if own else None) or "switch", down


@dataclass(frozen=True)
class Switch:
    """A configuration, the settings of its ports, and the classes of ports that are imported."""

    tables: Tables
    views: Mapping[str, View]
    chosen: Chosen


def ports_of(documents: Sequence[Document]) -> Switch:
    """Reads the ports of a configuration in one or more files.

    Raises
    ------
    InputError
        If a text is not a CONFIG_DB, has no ports, or has more ports than a switch can have.
    """
    parts = [nested(whole(document, "the tables of CONFIG_DB")) for document in documents]
    for document, part in zip(documents, parts, strict=True):
        if not any(isinstance(part.table.get(name), Mapping) for name in KNOWN):
            raise document.error("CONFIG_DB", f"has none of the tables {', '.join(KNOWN)}")
    tables = Tables(parts)
    first = tables.document
    names = ports(tables)
    if len(names) > MOST_PORTS:
        raise first.error("PORT_QOS_MAP", f"has {len(names)} ports; expected at most {MOST_PORTS}")
    views = {port: view(tables, port) for port in names}
    if not views:
        raise first.error("PORT_QOS_MAP", "has no port")
    return Switch(tables, views, choose(first, views))


class _Settings:
    """Converts the settings of a port to keys of a scenario."""

    def __init__(
        self, tables: Tables, classes: Sequence[tuple[LinkClass, View]], headrooms: Headrooms
    ) -> None:
        self.tables = tables
        self.port = port = classes[0][1]
        self.lossless = port.lossless.use()
        if self.lossless is None:
            self.lossless = self._with_headroom()
        for _, one in classes:
            one.speed.use(), one.cable.use()
        self.memory = Memory(tables, classes, self.lossless or (), headrooms)

    def _with_headroom(self) -> tuple[int, ...] | None:
        """Priorities whose groups have headroom, used if the configuration lists no lossless ones."""
        groups = self.port.pause_group.value
        own = self.port.groups
        found = tuple(
            priority
            for priority in PRIORITIES
            if (one := own.get(groups[priority])) is not None and one.value is not None and one.value[0].xoff
        )
        if not found:
            return None
        named = ", ".join(map(str, found))
        self.tables.report(
            "PORT_QOS_MAP",
            f"assumed: no pfc_enable: priorities {named} are lossless, because their groups have xoff",
        )
        return found

    def keys(self) -> dict[str, Any]:
        """All keys."""
        written = PortKeys(self.tables, self.port, self.lossless)
        buffer = self.memory.keys(written.queues)
        keys = written.keys(buffer)
        if (trimming := self._trimming(buffer)) is not None:
            keys["switch"]["trimming"] = trimming
        return keys

    def _trimming(self, buffer: Mapping[str, Any]) -> dict[str, Any] | None:
        """Keys of packet trimming; reports mismatches between the switch settings and its queues."""
        port = self.port
        class_of = dict(port.class_of_dscp.value or ())
        trims = [
            name
            for name, profile in buffer.get("memory", {}).get("profiles", {}).items()
            if profile.get("discard_action") == "trim"
        ]

        def queue_of_dscp(dscp: int) -> int:
            return port.queue_of.value[class_of.get(dscp, 0) if class_of else dscp // 8]

        def new_dscp() -> dict[int, int]:
            return dict(port.new_dscp.use())

        found = sonic_trimming.read(self.tables, new_dscp, queue_of_dscp)
        if found is None and trims:
            self.tables.report(
                "BUFFER_PROFILE",
                f"{', '.join(trims)} trims, but there is no SWITCH_TRIMMING: frames are dropped",
            )
        elif found is not None and not trims:
            self.tables.report(
                sonic_trimming.TABLE,
                "no queue profile has packet_discard_action trim: no frame is trimmed",
            )
        return found
