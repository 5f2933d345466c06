"""Converts changes of a scenario to changes of its original CONFIG_DB.

For one port of each class, the imported scenario and the changed scenario are exported. Fields that differ
are changed in the entries that the ports refer to. Names, and everything that a scenario cannot express, are
kept. An entry that other ports or queues also refer to is copied instead of changed.

The result is a JSON patch (RFC 6902) for `config apply-patch`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .piece import LinkClass
from .sonic_config import Switch

Database = dict[str, dict[str, Any]]
Change = dict[str, str | None]
"""New values of fields; ``None`` removes the field."""
Slot = tuple[str, int]
"""A port and a queue or group number, or -1 for the port as a whole."""
WHOLE = -1
MAPS = {
    "dscp_to_tc_map": ("DSCP_TO_TC_MAP", "class_of_dscp"),
    "dot1p_to_tc_map": ("DOT1P_TO_TC_MAP", "queue_of"),
    "tc_to_queue_map": ("TC_TO_QUEUE_MAP", "queue_of"),
    "tc_to_pg_map": ("TC_TO_PRIORITY_GROUP_MAP", "group_of"),
    "pfc_to_queue_map": ("MAP_PFC_PRIORITY_TO_QUEUE", "stops"),
    "pfc_to_pg_map": ("PFC_PRIORITY_TO_PRIORITY_GROUP_MAP", "pause_group"),
    "tc_to_dscp_map": ("TC_TO_DSCP_MAP", "new_dscp"),
}
"""Fields of PORT_QOS_MAP that refer to a map, with the map's table and the port setting it determines."""
Export = Callable[[str, LinkClass], Database]
"""Function that returns the tables for a port by name, with the links of its class."""


@dataclass(frozen=True)
class Patched:
    """A configuration with the changes of a scenario.

    Attributes
    ----------
    tables : dict
        All tables.
    operations : list of dict
        The JSON patch from the previous configuration to these tables.
    reported : list of str
        Remarks on changes that were not made, or were made only at some ports.
    """

    tables: Database
    operations: list[dict[str, Any]]
    reported: list[str]


def patched(switch: Switch, before: Export, after: Export) -> Patched:
    """Applies the changes of a scenario to a configuration.

    Parameters
    ----------
    switch : Switch
        The configuration.
    before, after : callable
        Export of the imported scenario, and of the changed scenario.
    """
    raw = {table: dict(entries) for table, entries in switch.tables.parts[0].plain.items()}
    editor = _Editor(switch, copy.deepcopy(raw))
    for nth, one in enumerate(switch.chosen.classes):
        old, new = (export(one.port, one.link) for export in (before, after))
        editor.profiles(one.port, one.names, old, new)
        if nth == 0:
            editor.of_switch(one.port, old, new)
    return Patched(editor.db, [*operations(raw, editor.db)], editor.reported)


class _Editor:
    """The tables of a configuration while they are changed."""

    def __init__(self, switch: Switch, db: Database) -> None:
        self.switch = switch
        self.db = db
        self.reported: list[str] = []

    def of_switch(self, port: str, old: Database, new: Database) -> None:
        """Applies the settings that all ports share."""
        for table in ("PORT", "PFC_WD"):
            setting = {"PORT": "mtu", "PFC_WD": "watchdog"}[table]
            change = _change(old.get(table, {}).get(port, {}), new.get(table, {}).get(port, {}))
            self._set_fields(table, self._alike(port, setting), change)
        for table in ("PFC_WD", "SWITCH_TRIMMING"):
            if change := _change(*(one.get(table, {}).get("GLOBAL", {}) for one in (old, new))):
                self._set_fields(table, ["GLOBAL"], change)
        for field, table, setting in (
            ("scheduler", "SCHEDULER", "schedulers"),
            ("wred_profile", "WRED_PROFILE", "wred"),
        ):
            kinds = [_resolved(one, "QUEUE", port, field, table) for one in (old, new)]
            if table == "SCHEDULER":
                kinds = self._weighted(port, *kinds)
            self._refer("QUEUE", field, table, self._alike(port, setting), *kinds)
        maps = [one.get("PORT_QOS_MAP", {}).get(port, {}) for one in (old, new)]
        self._set_port_maps(
            self._alike(port, "lossless"), _change(*({"pfc_enable": one.get("pfc_enable")} for one in maps))
        )
        for field, (table, setting) in MAPS.items():
            kinds = [
                {WHOLE: db[table][own[field]]} if field in own else {}
                for db, own in zip((old, new), maps, strict=True)
            ]
            self._refer("PORT_QOS_MAP", field, table, self._alike(port, setting), *kinds)

    def profiles(self, port: str, names: Iterable[str], old: Database, new: Database) -> None:
        """Applies pools and profiles, and their assignment to groups and queues in a class of ports."""
        for table in ("BUFFER_POOL", "BUFFER_PROFILE"):
            for name in {**old.get(table, {}), **new.get(table, {})}:
                change = _change(old.get(table, {}).get(name, {}), new.get(table, {}).get(name, {}))
                own = self._own_name(table, name)
                if not change or name not in new.get(table, {}):
                    continue
                if own not in self.db.get(table, {}):
                    change = dict(new[table][name])
                elif "size" in change and table == "BUFFER_POOL" and "size" not in self.db[table][own]:
                    # If the switch computes the size of a pool, the imported size is an assumption.
                    del change["size"]
                if "pool" in change and change["pool"] is not None:
                    change["pool"] = self._own_name("BUFFER_POOL", change["pool"])
                self._set_fields(table, [own], change)
        for table, setting in (("BUFFER_PG", "groups"), ("BUFFER_QUEUE", "queues")):
            alike = set(self._alike(port, setting))
            members = [name for name in names if name in alike]
            was, now = (
                {number: one["profile"] for number, one in _of_port(db, table, port).items()}
                for db in (old, new)
            )
            for number in sorted({*was, *now}):
                profile = now.get(number)
                slots = {(member, number) for member in members}
                if profile is None:
                    self._set_reference(table, slots, "profile", None)
                elif (
                    was.get(number) != profile
                    or old["BUFFER_PROFILE"][profile] != new["BUFFER_PROFILE"][profile]
                ):
                    self._set_reference(table, slots, "profile", self._own_name("BUFFER_PROFILE", profile))

    def _own_name(self, table: str, name: str) -> str:
        """The name of an entry in the configuration; the scenario may have one per side."""
        for side in (" ingress", " egress", " groups", " queues"):
            if name not in self.db.get(table, {}) and name.endswith(side):
                return name.removesuffix(side)
        return name

    def _alike(self, port: str, setting: str) -> list[str]:
        """Ports that have the same setting as a port; other ports keep theirs."""
        views = self.switch.views
        return [name for name, one in views.items() if getattr(one, setting) == getattr(views[port], setting)]

    def _weighted(
        self, port: str, old: dict[int, dict[str, Any]], new: dict[int, dict[str, Any]]
    ) -> list[dict[int, dict[str, Any]]]:
        """Weights on the scale of the configuration; the scenario may have them as percentages."""
        own = self.switch.views[port].schedulers
        raw = {
            number: one.value.weight
            for number, one in own.items()
            if one.value is not None and one.value.weight is not None
        }
        old, new = copy.deepcopy(old), copy.deepcopy(new)
        if old == new:
            return [old, new]
        shares = {number: int(one["weight"]) for number, one in old.items() if "weight" in one}
        scales = {weight / shares[number] for number, weight in raw.items() if number in shares}
        scaled = {
            number: int(one["weight"]) * next(iter(scales)) if len(scales) == 1 else None
            for number, one in new.items()
            if "weight" in one
        }
        if any(one is None or one != int(one) for one in scaled.values()):
            self.reported.append(
                "SCHEDULER: weights are now in per cent: the previous scale cannot express them as integers"
            )
            for number in shares:
                old[number]["weight"] = str(raw.get(number, ""))
            return [old, new]
        for number, one in scaled.items():
            new[number]["weight"] = str(int(one or 0))
        for number in shares:
            old[number]["weight"] = str(raw.get(number, old[number]["weight"]))
        return [old, new]

    def _refer(
        self,
        table: str,
        field: str,
        to: str,
        ports: Iterable[str],
        old: Mapping[int, Mapping[str, Any]],
        new: Mapping[int, Mapping[str, Any]],
    ) -> None:
        """Changes the entries of queues or ports; shared entries are copied first."""
        changes = {number: _change(old.get(number, {}), new.get(number, {})) for number in {*old, *new}}
        changes = {number: change for number, change in sorted(changes.items()) if change}
        if not changes:
            return
        users = self._users(table, field)
        of_slot = {slot: name for name, slots in users.items() for slot in slots}
        groups: dict[tuple[str | None, str], tuple[dict[str, Any], set[Slot]]] = {}
        for number, change in changes.items():
            for port in ports:
                slot = (port, number)
                name = of_slot.get(slot)
                if number not in new:
                    self._set_reference(table, {slot}, field, None)
                    continue
                fields = change if name is not None else dict(new[number])
                if name is None and number == WHOLE and all(key == value for key, value in fields.items()):
                    # Without a map, a number maps to itself.
                    continue
                groups.setdefault((name, repr(fields)), (fields, set()))[1].add(slot)
        for (name, _), (fields, slots) in groups.items():
            if name is not None and slots == users[name]:
                self._set_fields(to, [name], fields)
                continue
            entry = {**(self.db[to][name] if name is not None else {})}
            fresh = self._fresh_name(to, name, slots)
            self.db.setdefault(to, {})[fresh] = entry
            self._set_fields(to, [fresh], fields)
            self._set_reference(table, slots, field, fresh)

    def _fresh_name(self, table: str, name: str | None, slots: set[Slot]) -> str:
        number = min(number for _, number in slots)
        stem = (name or table.lower().replace("_map", "").replace("_", "-")) + (
            f".{number}" if number != WHOLE else ".penstock"
        )
        taken = self.db.get(table, {})
        names = [stem, *(f"{stem}.{nth}" for nth in range(2, len(taken) + 3))]
        return next(one for one in names if one not in taken)

    def _users(self, table: str, field: str) -> dict[str, set[Slot]]:
        """The slots that refer to each entry."""
        users: dict[str, set[Slot]] = {}
        for key, entry in self.db.get(table, {}).items():
            reference = entry.get(field)
            if reference:
                name = str(reference).strip("[]").rpartition("|")[2]
                users.setdefault(name, set()).update(self._slots(table, key))
        return users

    def _slots(self, table: str, key: str) -> set[Slot]:
        """The ports and numbers of a key, such as "Ethernet0,Ethernet4|3-4"."""
        if table == "PORT_QOS_MAP":
            ports = [*self.switch.views] if key == "global" else key.split(",")
            return {(port.strip(), WHOLE) for port in ports}
        named, _, numbers = key.rpartition("|")
        first, dash, last = numbers.partition("-")
        names = [one.rpartition("|")[2].strip() for one in named.split(",")]
        return {
            (port, number) for port in names for number in range(int(first), int(last if dash else first) + 1)
        }

    def _set_reference(self, table: str, slots: set[Slot], field: str, name: str | None) -> None:
        """Makes slots refer to an entry; keys that also cover other slots are split."""
        missing = set(slots)
        for key in [*self.db.get(table, {})]:
            covered = self._slots(table, key)
            own = covered & slots
            if not own or key == "global":
                continue
            missing -= own
            entry = self.db[table][key]
            if own == covered:
                self._set_fields(table, [key], {field: name})
                continue
            del self.db[table][key]
            prefix = key.rpartition("|")[0].split(",")[0].rpartition("|")[0]
            for slot in sorted(covered):
                new_key = self._key(table, slot, prefix)
                self.db[table][new_key] = dict(entry)
                if slot in own:
                    self._set_fields(table, [new_key], {field: name})
        for slot in sorted(missing) if name is not None else ():
            self._set_fields(table, [self._key(table, slot, "")], {field: name})

    def _key(self, table: str, slot: Slot, prefix: str) -> str:
        port, number = slot
        whole = f"{prefix}|{port}" if prefix else port
        return whole if table == "PORT_QOS_MAP" else f"{whole}|{number}"

    def _set_port_maps(self, ports: list[str], change: Change) -> None:
        """Changes fields of ports in PORT_QOS_MAP, whose keys may cover several ports."""
        for field, value in change.items():
            self._set_reference("PORT_QOS_MAP", {(port, WHOLE) for port in ports}, field, value)

    def _set_fields(self, table: str, keys: Iterable[str], change: Change) -> None:
        """Sets fields, and removes entries that become empty."""
        for key in keys if change else ():
            entry = self.db.setdefault(table, {}).setdefault(key, {})
            for field, value in change.items():
                if value is None:
                    entry.pop(field, None)
                else:
                    entry[field] = value
            if not entry:
                del self.db[table][key]
        if not self.db.get(table, {"": None}):
            del self.db[table]


def _change(old: Mapping[str, Any], new: Mapping[str, Any]) -> Change:
    """The fields that differ, with their new values."""
    return {name: new.get(name) for name in {**old, **new} if old.get(name) != new.get(name)}


def _of_port(db: Database, table: str, port: str) -> dict[int, dict[str, Any]]:
    """The exported entries of a port, by number."""
    return {
        int(key.rpartition("|")[2]): entry
        for key, entry in db.get(table, {}).items()
        if key.rpartition("|")[0] == port
    }


def _resolved(db: Database, table: str, port: str, field: str, to: str) -> dict[int, dict[str, Any]]:
    """The entry that each queue of a port refers to."""
    return {
        number: db[to][entry[field]] for number, entry in _of_port(db, table, port).items() if field in entry
    }


def operations(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The JSON patch between tables: whole tables and entries if they are new, fields otherwise."""

    def path(*keys: str) -> str:
        return "".join("/" + key.replace("~", "~0").replace("/", "~1") for key in keys)

    def between(old: Mapping[str, Any], new: Mapping[str, Any], *keys: str) -> Iterator[dict[str, Any]]:
        for key, value in new.items():
            if key not in old:
                yield {"op": "add", "path": path(*keys, key), "value": value}
            elif isinstance(old[key], Mapping) and isinstance(value, Mapping):
                yield from between(old[key], value, *keys, key)
            elif old[key] != value:
                yield {"op": "replace", "path": path(*keys, key), "value": value}
        for key in old:
            if key not in new:
                yield {"op": "remove", "path": path(*keys, key)}

    yield from between(before, after)
