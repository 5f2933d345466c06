"""CONFIG_DB of SONiC, as `config_db.json` has it: settings of a switch, read from one of its ports.

Source: the schema of SONiC's CONFIG_DB. Not taken over: egress buffers, WRED, maps of DSCP, the headroom of
profiles with a dynamic threshold, which scenarios compute, and tables of anything else.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from .piece import Document, Piece, size

PRIORITIES = range(8)
KNOWN = ("PORT_QOS_MAP", "BUFFER_PG", "QUEUE")
ACTIONS = {"alert": "report", "drop": "drop", "forward": "forward"}
MAPS = {"dot1p_to_tc_map": "DOT1P_TO_TC_MAP", "tc_to_queue_map": "TC_TO_QUEUE_MAP"}

Table = Mapping[str, Any]


def recognises(document: Document) -> bool:
    """Whether a text is JSON that has a table of queues, buffers or maps of ports."""
    return document.text.lstrip().startswith("{") and any(f'"{name}"' in document.text for name in KNOWN)


def read(document: Document) -> Piece:
    """The settings of the ports that have lossless priorities; without such ports, of all.

    Raises
    ------
    InputError
        If the text is no CONFIG_DB, has no ports or ports that differ, or says what a scenario cannot. The
        message names the table.
    """
    try:
        tables = json.loads(document.text)
    except json.JSONDecodeError as error:
        raise document.error(error.lineno, f"this is no JSON: {error.msg}") from None
    reader = _Reader(document, tables)
    if not isinstance(tables, dict) or not any(isinstance(tables.get(name), dict) for name in KNOWN):
        raise document.error("CONFIG_DB", f"has none of the tables {', '.join(KNOWN)}")
    return Piece(keys=reader.keys(), remarks=reader.remarks)


@dataclass
class _Reader:
    document: Document
    tables: Table
    remarks: list[str] = field(default_factory=list)

    def keys(self) -> dict[str, Any]:
        """Keys of a scenario."""
        port, maps = self._port()
        queues = self._queues(maps)
        switch: dict[str, Any] = {"queues": "per_priority" if queues == [*PRIORITIES] else queues}
        if scheduler := self._scheduler(port, sorted(set(queues))):
            switch["scheduler"] = scheduler
        keys: dict[str, Any] = {"switch": switch}
        enabled = [one for one in str(maps.get("pfc_enable", "")).split(",") if one]
        lossless = [self.document.whole("PORT_QOS_MAP", "pfc_enable", one, 0, 7) for one in enabled]
        if lossless:
            pfc: dict[str, Any] = {"priorities": sorted(lossless), "accounting": "ingress"}
            buffer = self._buffer(port, lossless, pfc)
            if buffer:
                switch["buffer"] = buffer
            keys["flow_control"] = {"pfc": pfc}
            keys |= self._watchdog(port)
        return keys

    def _port(self) -> tuple[str, Table]:
        """The port to read, and its maps: the first of those with PFC, if all are alike."""
        ports = {
            name: entry
            for name, entry in self._table("PORT_QOS_MAP").items()
            if isinstance(entry, dict) and name != "global"
        }
        chosen = {name: entry for name, entry in ports.items() if entry.get("pfc_enable")} or ports
        if not chosen:
            raise self.document.error("PORT_QOS_MAP", "has no port")
        first = next(iter(chosen))
        for name, entry in chosen.items():
            if entry != chosen[first]:
                raise self.document.error(
                    "PORT_QOS_MAP", f"{name} is set up otherwise than {first}; expected ports that are alike"
                )
        return first, chosen[first]

    def _queues(self, maps: Table) -> list[int]:
        """The queue of each priority."""
        if "dot1p_to_tc_map" not in maps:
            self.remarks.append("no map of 802.1p: priority n is taken as traffic class n")
        by_map = {key: self._map(maps, key, table) for key, table in MAPS.items()}
        classes = by_map["dot1p_to_tc_map"]
        return [by_map["tc_to_queue_map"][classes[priority]] for priority in PRIORITIES]

    def _map(self, maps: Table, key: str, table: str) -> list[int]:
        """What each of eight numbers maps to; itself without a map."""
        name = maps.get(key)
        if name is None:
            return [*PRIORITIES]
        entries = self._entry(table, name)
        return [
            self.document.whole(table, f"{name} {number}", str(entries.get(str(number), number)), 0, 7)
            for number in PRIORITIES
        ]

    def _scheduler(self, port: str, queues: list[int]) -> dict[str, Any] | str | None:
        """ETS of the queues, or strict priority; ``None`` if nothing is said."""
        named = {number: entry.get("scheduler") for number, entry in self._of("QUEUE", port)}
        if not any(named.get(number) for number in queues):
            return None
        without = [number for number in queues if not named.get(number)]
        if without:
            self.remarks.append(f"queues {', '.join(map(str, without))} have no scheduler: taken as strict")
        found = {
            number: self._entry("SCHEDULER", named[number]) for number in queues if number not in without
        }
        kinds = {number: str(entry.get("type")) for number, entry in found.items()}
        for number, kind in kinds.items():
            if kind not in ("DWRR", "STRICT"):
                raise self.document.error("SCHEDULER", f"queue {number} has {kind}; expected DWRR or STRICT")
        weights = {
            number: self.document.whole("SCHEDULER", "weight", str(entry.get("weight", 1)), 1, 100)
            for number, entry in found.items()
            if kinds[number] == "DWRR"
        }
        if not weights:
            return "strict_priority"
        shares = {number: Fraction(100 * weight, sum(weights.values())) for number, weight in weights.items()}
        if any(share.denominator != 1 for share in shares.values()):
            words = ", ".join(map(str, weights.values()))
            raise self.document.error("SCHEDULER", f"weights {words} are no whole shares in per cent")
        return {
            "ets": {
                "classes": [
                    {"queues": [number], "percent": int(shares[number])}
                    if number in shares
                    else {"queues": [number], "strict": True}
                    for number in queues
                ]
            }
        }

    def _buffer(self, port: str, lossless: list[int], pfc: dict[str, Any]) -> dict[str, Any]:
        """The memory of a switch; thresholds of pauses go to `pfc`."""
        groups = {number: entry.get("profile") for number, entry in self._of("BUFFER_PG", port)}
        names = {groups.get(priority) for priority in lossless}
        if names <= {None, "NULL"}:
            self.remarks.append("no profile of the lossless priority groups: thresholds are computed")
            return {}
        if len(names) > 1:
            raise self.document.error("BUFFER_PG", f"{port} has several profiles; expected one for PFC")
        profile = self._entry("BUFFER_PROFILE", names.pop())
        pool = self._entry("BUFFER_POOL", profile.get("pool"))
        buffer: dict[str, Any] = {"total": self._size("BUFFER_POOL", pool, "size")}
        if "static_th" in profile:
            pfc |= {
                "xoff": self._size("BUFFER_PROFILE", profile, "static_th"),
                "xon": self._size("BUFFER_PROFILE", profile, "xon"),
                "headroom": self._size("BUFFER_PROFILE", profile, "xoff"),
            }
            return buffer
        exponent = str(profile.get("dynamic_th"))
        self.document.whole("BUFFER_PROFILE", "dynamic_th", exponent.removeprefix("-"), 0, 8)
        buffer["dynamic_threshold"] = {
            "alpha": 2.0 ** int(exponent),
            "minimum": self._size("BUFFER_PROFILE", profile, "size"),
            "headroom": self._size("BUFFER_POOL", pool, "xoff"),
            "resume_offset": self._size("BUFFER_PROFILE", profile, "xon_offset"),
        }
        return buffer

    def _watchdog(self, port: str) -> dict[str, Any]:
        entry = self._table("PFC_WD").get(port)
        if not isinstance(entry, dict):
            return {}
        if entry.get("action") not in ACTIONS:
            raise self.document.error(
                "PFC_WD", f"action is {entry.get('action')}; expected drop, forward, alert"
            )
        times = {
            key: f"{self.document.whole('PFC_WD', key, str(entry.get(key)), 100, 60_000)} ms"
            for key in ("detection_time", "restoration_time")
        }
        return {"watchdog": {**times, "action": ACTIONS[entry["action"]]}}

    def _size(self, table: str, entry: Table, key: str) -> str:
        """A size in bytes; 0 if nothing is said."""
        return size(self.document.whole(table, key, str(entry.get(key, "0"))))

    def _table(self, name: str) -> Table:
        table = self.tables.get(name, {})
        if not isinstance(table, dict):
            raise self.document.error(name, "is no table")
        return table

    def _entry(self, table: str, name: object) -> Table:
        # Older releases write references as "[TABLE|name]".
        word = str(name).strip("[]").rpartition("|")[2]
        entry = self._table(table).get(word)
        if not isinstance(entry, dict):
            raise self.document.error(table, f"has no entry {word}")
        return entry

    def _of(self, table: str, port: str) -> Iterator[tuple[int, Table]]:
        """The entries of a port by number: keys are "Ethernet0,Ethernet4|3-4"."""
        for key, entry in self._table(table).items():
            ports, _, numbers = key.partition("|")
            if port not in ports.split(",") or not isinstance(entry, dict):
                continue
            first, _, last = numbers.partition("-")
            least = self.document.whole(table, key, first, 0, 63)
            for number in range(least, self.document.whole(table, key, last or first, least, 63) + 1):
                yield number, entry
