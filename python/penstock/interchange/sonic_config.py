"""CONFIG_DB of SONiC, as `config_db.json` has it: settings of a switch, those of its ports with PFC.

`sonic_port` reads the settings of a port, `sonic_tables` the tables; `sonic_memory` writes pools and
profiles. This module writes all else in the words of a scenario, which has one set of settings for all ports
of a switch; ports that differ are reported. Several files that go together, such as `buffers.json`,
`qos.json` and `pg_profile_lookup.ini`, are read as one.

Source: the schema of SONiC's CONFIG_DB. The size of a pool is the part that is shared: reserves and the
headroom of the pool come on top.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .json_text import whole
from .pg_profile import rows_of
from .piece import Document, LinkClass, Piece, size
from .shares import percentages
from .sonic_links import NAMED, Chosen, choose, count_others_as_read, star
from .sonic_memory import Headrooms, Memory
from .sonic_port import ACTIONS, CODE_POINTS, PRIORITIES, View, Wred, ports, view
from .sonic_tables import Tables, nested

KNOWN = ("PORT_QOS_MAP", "BUFFER_PG", "BUFFER_POOL", "BUFFER_QUEUE", "QUEUE")
FRAME_BYTES = 22
"""What the MTU of a port does not count of a frame: addresses, type, VLAN tag and FCS (portsorch)."""
MOST_PORTS = 1_024
"""Ports of a switch."""


def recognises(document: Document) -> bool:
    """Whether a text is JSON that has a table of queues, buffers or maps of ports."""
    names = [f'"{name}{end}' for name in KNOWN for end in ('"', "|")]
    return document.text.lstrip().startswith("{") and any(name in document.text for name in names)


def read(document: Document) -> Piece:
    """The settings of a switch in one file; see `read_together`."""
    return read_together([document])[0]


def read_together(documents: Sequence[Document], lookups: Sequence[Document] = ()) -> list[Piece]:
    """The settings of the ports that have lossless priorities; without such ports, of all.

    Ports may differ by speed, cable and buffer profiles. In anything else, those are taken that most others
    are like, or those like `document.interface`.

    Parameters
    ----------
    documents : sequence of Document
        Parts of CONFIG_DB. Of fields that several have, those of the later ones count.
    lookups : sequence of Document
        Tables of headroom, `pg_profile_lookup.ini`, for lossless groups without a profile.

    Returns
    -------
    list of Piece
        One for each document, in order; the first has the settings.

    Raises
    ------
    InputError
        If a text is no CONFIG_DB, there are no ports, or a scenario cannot express what is set. The message
        names table and line.
    """
    switch = ports_of(documents)
    tables, views, chosen, first = switch.tables, switch.views, switch.chosen, documents[0]
    headrooms = Headrooms([(document, rows_of(document)) for document in lookups])
    settings = _Settings(tables, [(one.link, views[one.port]) for one in chosen.classes], headrooms)
    keys = settings.keys()
    links = [one.link for one in chosen.classes]
    alone = star(tables, views)
    count_others_as_read(tables, views, chosen)
    remarks = [f"{first.file}: {line}" for line in (*chosen.told, *tables.told)]
    made = [Piece(notes=tables.notes(part)) for part in tables.parts]
    made[0] = replace(
        made[0], keys=keys, remarks=remarks, links=links, alone=alone, assumed=settings.memory.assumed
    )
    return [*made, *(Piece(notes=notes, remarks=lines) for notes, lines in headrooms.reports())]


@dataclass(frozen=True)
class Switch:
    """A configuration, the settings of its ports, and the classes of ports that are read."""

    tables: Tables
    views: Mapping[str, View]
    chosen: Chosen


def ports_of(documents: Sequence[Document]) -> Switch:
    """The ports of a configuration in one file or several.

    Raises
    ------
    InputError
        If a text is no CONFIG_DB, or has no ports, or more than a switch can have.
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
    """A port in the words of a scenario."""

    def __init__(
        self, tables: Tables, classes: Sequence[tuple[LinkClass, View]], headrooms: Headrooms
    ) -> None:
        self.tables = tables
        self.port = port = classes[0][1]
        self.lossless = port.lossless.use()
        if self.lossless is None:
            self.lossless = self._with_headroom()
        self.queue_of = port.queue_of.use()
        for _, one in classes:
            one.speed.use(), one.cable.use()
        self.memory = Memory(tables, classes, self.lossless or (), headrooms)

    def _with_headroom(self) -> tuple[int, ...] | None:
        """Priorities whose groups have headroom, for a configuration that does not say which are lossless."""
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
        self.tables.tell(
            "PORT_QOS_MAP",
            f"assumed: no pfc_enable: priorities {named} are lossless, as xoff of groups says",
        )
        return found

    def keys(self) -> dict[str, Any]:
        """All keys."""
        queues = [*self.queue_of]
        every = [*range(max(queues) + 1)]
        switch: dict[str, Any] = {"queues": "per_priority" if queues == [*PRIORITIES] else queues}
        if scheduler := self._scheduler(every, set(queues)):
            switch["scheduler"] = scheduler
        if managers := self._managers(set(queues)):
            switch["queue_managers"] = managers
        if maps := self._maps():
            switch["maps"] = maps
        if (mtu := self.port.mtu.use()) is not None:
            switch["mtu"] = f"{mtu + FRAME_BYTES} B"
        if buffer := self.memory.keys(set(queues)):
            switch["buffer"] = buffer
        keys: dict[str, Any] = {"switch": switch}
        if self.lossless:
            keys["flow_control"] = {"pfc": {"priorities": [*self.lossless], "accounting": "ingress"}}
            if watchdog := self.port.watchdog.use():
                detection, restoration, action = watchdog
                keys["watchdog"] = {
                    "detection_time": f"{detection} ms",
                    "restoration_time": f"{restoration} ms",
                    "action": ACTIONS[action],
                }
        elif self.port.watchdog.value:
            self.tables.tell("PFC_WD", "the port has no priority with PFC: no watchdog")
        return keys

    def _maps(self) -> dict[str, Any]:
        """What DSCPs and pauses stand for, where that is not what it is without maps."""
        maps: dict[str, Any] = {}
        port = self.port
        if (classes := port.class_of_dscp.use()) is not None:
            maps["dscp_to_tc"] = _shortest(dict(classes))
        for key, found, usual in (
            ("pfc_to_queue", port.stops.use(), self.queue_of),
            ("pfc_to_group", port.pause_group.use(), port.group_of.use()),
        ):
            if found != usual:
                maps[key] = [*found]
        if remap := self._remap():
            maps["remap"] = [{"to": ["*"], "dscp": remap}]
        return maps

    def _remap(self) -> dict[str, int]:
        """The new code point of each that changes on the way out."""
        port, where = self.port, "TC_TO_DSCP_MAP"
        classes = port.class_of_dscp.value
        if port.new_dscp.value and classes is None:
            self.tables.tell(where, "the port has no map of DSCP: no frame has one that could change")
            return {}
        class_of = dict.fromkeys(CODE_POINTS, 0) | dict(classes or ())
        new = dict(port.new_dscp.use())
        changed = {dscp: new.get(one, dscp) for dscp, one in class_of.items()}
        changed = {dscp: to for dscp, to in changed.items() if to != dscp}
        elsewhere = [
            dscp
            for dscp, to in changed.items()
            if self.queue_of[class_of[dscp]] != self.queue_of[class_of[to]]
        ]
        if elsewhere:
            named = ", ".join(map(str, elsewhere[:NAMED])) + (", ..." if len(elsewhere) > NAMED else "")
            self.tables.tell(
                where,
                f"frames of DSCP {named} wait in the queue of their old code point, in a scenario in that of "
                "the new one: they keep their DSCP",
            )
        return {str(dscp): to for dscp, to in changed.items() if dscp not in elsewhere}

    def _scheduler(self, queues: list[int], used: set[int]) -> dict[str, Any] | str | None:
        """How queues share the port; ``None`` if nothing is said."""
        own = self.port.schedulers
        named = {
            number: found for number in queues if number in own and (found := own[number].use()) is not None
        }
        if not named:
            self.tables.tell("QUEUE", "queues have no scheduler: that of --like, or strict priority")
            return None
        without = [number for number in queues if number not in named and number in used]
        if without:
            self.tables.tell(
                "QUEUE", f"queues {', '.join(map(str, without))} have no scheduler: taken as strict priority"
            )
        weights = {number: one.weight for number, one in named.items() if one.weight is not None}
        if not weights:
            return "strict_priority"
        shares = percentages(weights)
        exact = all(
            shares[number] * sum(weights.values()) == 100 * weight for number, weight in weights.items()
        )
        if not exact and len(weights) == len(queues):
            return {"drr": {"weights": [weights[number] for number in queues]}}
        if not exact:
            asked = ", ".join(map(str, weights.values()))
            said = ", ".join(map(str, shares.values()))
            self.tables.tell(
                "SCHEDULER", f"weights {asked} beside strict priority: as whole per cent, {said}"
            )
        how: dict[int, dict[str, Any]] = {number: {"percent": shares[number]} for number in weights}
        return {"ets": {"classes": [{"queues": [one], **how.get(one, {"strict": True})} for one in queues]}}

    def _managers(self, queues: set[int]) -> list[dict[str, Any]]:
        """Marks and early drops by queue; queues that are alike are one entry."""
        alike: dict[Wred, list[int]] = {}
        for number, wred in sorted(self.port.wred.items()):
            if number in queues and (found := wred.use()) is not None:
                alike.setdefault(found, []).append(number)
        return [{"classes": numbers, **self._manager(wred)} for wred, numbers in alike.items()]

    def _manager(self, wred: Wred) -> dict[str, Any]:
        if not wred.rises:
            where = "WRED_PROFILE"
            if wred.drops:
                self.tables.tell(where, f"marks above {wred.most} B; frames without ECN pass there")
            self.tables.tell(
                where, f"the probability of {wred.percent} % at {wred.most} B counts for nothing"
            )
            return {"step": {"threshold": size(wred.most)}}
        green = _line(wred)
        keys: dict[str, Any] = {
            "weight": 1.0,
            **green,
            "gentle": False,
            "spacing": "geometric",
            **{color: _other(_line(one), green) for color, one in wred.others},
        }
        if wred.marks or any(one.marks for _, one in wred.others):
            keys["mark_above_max"] = True
        return {"red": keys}


def _line(wred: Wred) -> dict[str, Any]:
    """What frames of a color meet between two thresholds."""
    return {
        "min": size(wred.least),
        "max": size(wred.most),
        "max_probability": wred.percent / 100,
        "action": ("mark" if wred.drops else "mark_only") if wred.marks else "drop",
    }


def _other(keys: Mapping[str, Any], green: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in keys.items() if value != green[key]}


def _shortest(named: Mapping[int, int]) -> dict[str, int]:
    """A map of code points. Of one that names all, the most frequent value is that of the others."""
    if len(named) < len(CODE_POINTS):
        return {str(dscp): one for dscp, one in named.items()}
    counts = Counter(named.values())
    other = max(sorted(counts), key=lambda one: counts[one])
    return {str(dscp): one for dscp, one in named.items() if one != other} | {"other": other}
