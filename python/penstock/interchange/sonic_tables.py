"""Tables of CONFIG_DB, from one or more files, read field by field.

The ledgers of the documents record what was read (`reading`); `meaning` returns the consequence of leaving
out any other field.

Source: the schema of sonic-swss (`doc/swss-schema.md`) and the templates of sonic-buildimage, which write
numbers as text, sometimes surrounded by spaces.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Any, TypeVar

from penstock.errors import InputError

from .json_text import Part
from .piece import Document, Note, brief
from .reading import Deferred, Joint, Path

T = TypeVar("T")

IGNORED: dict[tuple[str, str | None], str] = {
    ("PORT_QOS_MAP", "pfcwd_sw_enable"): "PFC_WD defines which ports have a watchdog",
    ("PORT_QOS_MAP", "scheduler"): "ports are not shaped",
    **{
        (table, None): "no imported port uses it"
        for table in ("DSCP_TO_TC_MAP", "TC_TO_DSCP_MAP", "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP")
    },
    ("MPLS_TC_TO_TC_MAP", None): "frames have no MPLS label",
    ("DOT1P_TO_TC_MAP", None): "no imported port uses it",
    ("TC_TO_QUEUE_MAP", None): "no imported port uses it",
    ("TC_TO_PRIORITY_GROUP_MAP", None): "no imported port uses it",
    ("MAP_PFC_PRIORITY_TO_QUEUE", None): "no imported port uses it",
    ("SCHEDULER", "pir"): "a queue has no maximum rate",
    ("SCHEDULER", "cir"): "queues have no guaranteed rate",
    ("SCHEDULER", "meter_type"): "queues have no rate",
    ("QUEUE", None): "its port or queue is not imported",
    ("BUFFER_POOL", "percentage"): "the size of the pool is used",
    ("BUFFER_POOL", None): "no imported priority group or queue uses it",
    ("SWITCH_TRIMMING", None): "only size, dscp_value, tc_value and queue_index are supported",
    ("BUFFER_PROFILE", None): "no imported priority group or queue uses it",
    ("BUFFER_PG", None): "its port or group is not imported",
    ("BUFFER_QUEUE", None): "its port or queue is not imported",
    ("BUFFER_PORT_INGRESS_PROFILE_LIST", None): "ports have no total limit",
    ("BUFFER_PORT_EGRESS_PROFILE_LIST", None): "ports have no total limit",
    ("WRED_PROFILE", None): "no imported queue uses it",
    ("PFC_WD", "POLL_INTERVAL"): "the watchdog detects a storm immediately",
    ("PFC_WD", "pfc_stat_history"): "runs record all statistics",
    ("PORT", None): "only speed and MTU of ports are read",
    ("CABLE_LENGTH", None): "its port is not imported",
    ("DEVICE_NEIGHBOR", None): "links require all switches: import the folder with their files",
    ("DEVICE_NEIGHBOR_METADATA", None): "links require all switches: import the folder with their files",
}
"""Consequence of leaving out a field; ``None`` stands for any other field of the table."""
ELSE = "not part of a scenario"


@dataclass(frozen=True)
class _FlatPart(Part):
    """An object whose keys combine table and entry, "TABLE|entry"."""

    def line_of(self, *keys: str) -> int:
        """The line of a field or entry."""
        return super().line_of("|".join(keys[:2]), *keys[2:])


def nested(part: Part) -> Part:
    """Nests the tables of a flat document, such as a database dump with "TABLE|entry" keys.

    In some dumps, the fields of an entry are below "value".
    """
    if not any("|" in key for key in part.plain):
        return part
    tables: dict[str, Any] = {}
    for name, fields in part.plain.items():
        table, bar, key = name.partition("|")
        if bar and isinstance(fields, Mapping) and isinstance(fields.get("value"), Mapping):
            fields = fields["value"]
        if bar and isinstance(tables.setdefault(table, {}), dict):
            tables[table][key] = fields
        else:
            tables[name] = fields
    restarted = part.document.ledger.restart(tables)
    return _FlatPart(part.document, restarted, part.first, part.last, tables)


def meaning(path: Path) -> str:
    """The consequence of leaving out a field."""
    return IGNORED.get((path[0], path[-1]), IGNORED.get((path[0], None), ELSE))


@dataclass(frozen=True)
class Entry:
    """An entry of a table, with typed access to its fields."""

    tables: Tables
    table: str
    key: str
    fields: Mapping[str, Any]

    def text(self, name: str) -> str | None:
        """A field as text without surrounding spaces; ``None`` if it is missing."""
        value = self.fields.get(name)
        if isinstance(value, list) and all(isinstance(one, str | int) for one in value):
            value = ",".join(map(str, value))
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, str | int):
            raise self.error(name, f"{name} is {brief(value)}; expected text")
        return str(value).strip()

    def whole(self, name: str, least: int, most: int) -> int | None:
        """A whole number, possibly negative; ``None`` if it is missing."""
        text = self.text(name)
        if not text:  # templates write unknown values as ""
            return None
        digits = text.removeprefix("-")
        if not (digits.isascii() and digits.isdigit() and len(digits) < 20 and least <= int(text) <= most):
            limits = f"from {least} to {most}" if most < 2**32 else f"of at least {least}"
            raise self.error(name, f"{name} is {brief(text)}; expected a whole number {limits}")
        return int(text)

    def choice(self, name: str, *known: str) -> str | None:
        """A field that must be one of several words; ``None`` if it is missing."""
        text = self.text(name)
        if text is None or text in known:
            return text
        raise self.error(name, f"{name} is {brief(text)}; expected {', '.join(known)}")

    def drop(self, names: Sequence[str], reason: str) -> None:
        """Reports fields as not read, because they have no effect."""
        for name in names:
            if name in self.fields:
                self.tables.drop((self.table, self.key, name), reason)

    def error(self, name: str, message: str) -> InputError:
        """The error for a field."""
        return self.tables.error(f"{self.table}|{self.key}", message, self.table, self.key, name)


@dataclass
class Tables:
    """The tables of one or more documents; if several set a field, the last document applies.

    Attributes
    ----------
    parts : sequence of Part
        For each document, the object with all its tables.
    reported : list of str
        Differences between the scenario and the documents.
    """

    parts: Sequence[Part]
    reported: list[str] = field(default_factory=list)
    _index: dict[str, dict[str, list[str]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._joint = Joint([(part.document.ledger, part.plain) for part in self.parts])
        files = [FilePath(part.document.file).name for part in self.parts]
        for path, loser, winner in self._joint.conflicts:
            before, after = (self._plain(self.parts[one], path) for one in (loser, winner))
            where = "|".join(path[:-1])
            self.report(
                where,
                f"{path[-1]} is {brief(before)} in {files[loser]} and {brief(after)} in {files[winner]}: "
                f"{files[winner]}, which is named later, takes precedence",
            )
            reason = f"{files[winner]}, which is named later, has another value"
            self.parts[loser].document.ledger.drop(path, reason)

    @staticmethod
    def _plain(part: Part, path: Path) -> object:
        value: Any = part.plain
        for key in path:
            value = value[key]
        return value

    @property
    def document(self) -> Document:
        """The first document."""
        return self.parts[0].document

    def deferred(self, read: Callable[[], T]) -> Deferred[T]:
        """Defers a value: the fields from which it is computed count as read once it is used."""
        return self._joint.deferred(read)

    def was_used(self, one: Deferred[Any]) -> bool:
        """Returns true if the fields of a value count as read."""
        return all(path in self._joint.read for path in one.paths)

    def drop(self, path: Path, reason: str) -> None:
        """Reports a field as not read, because it has no effect."""
        self._joint.drop(path, reason)

    def drop_if_there(self, path: Path, reason: str) -> None:
        """Reports a field as not read, because it has no effect; does nothing if it is missing."""
        if path in self._joint.owner:
            self.drop(path, reason)

    def report(self, where: str, message: str) -> None:
        """Reports a difference between the scenario and the documents, once."""
        if (line := f"{where}: {message}") not in self.reported:
            self.reported.append(line)

    def error(self, where: str, message: str, *keys: str) -> InputError:
        """Returns the error, with the line of the innermost key that is found."""
        part = self._part_of(keys)
        line = f"{part.line_of(*keys)}: " if keys and "\n" in part.document.text.strip() else ""
        return InputError(f"{part.document.file}:{line}{where}: {message}")

    def _part_of(self, keys: tuple[str, ...]) -> Part:
        """The document that has a field or, if the field is missing, its entry or table."""
        for count in range(len(keys), 0, -1):
            if (number := self._joint.owner.get(keys[:count])) is not None:
                return self.parts[number]
        return self.parts[0]

    def has(self, table: str) -> bool:
        """Returns true if the table exists."""
        return isinstance(self._joint.table.get(table), Mapping)

    def table(self, name: str) -> Mapping[str, Any]:
        """A table; empty if it is missing."""
        found = self._joint.table.get(name, {})
        if not isinstance(found, Mapping):
            raise self.error(name, "is not a table", name)
        return found

    def entry(self, table: str, key: str) -> Entry | None:
        """An entry; ``None`` if it is missing."""
        found = self.table(table).get(key)
        if found is None:
            return None
        if not isinstance(found, Mapping):
            raise self.error(f"{table}|{key}", f"is {brief(found)}; expected fields", table, key)
        return Entry(self, table, key, found)

    def named(self, table: str, name: str, by: Entry, field_name: str) -> Entry:
        """The entry that a field refers to."""
        # Older releases write references as "[TABLE|name]".
        word = name.strip("[]").rpartition("|")[2]
        found = self.entry(table, word)
        if found is None:
            raise by.error(field_name, f"{field_name} is {brief(word)}; {table} has no entry {brief(word)}")
        return found

    def of_port(self, table: str, port: str) -> Iterator[tuple[int, Entry]]:
        """The entries of a port by number, from keys "Ethernet0,Ethernet4|3-4" or "host|asic|Ethernet0|3"."""
        seen: dict[int, str] = {}
        for key in self._keys_by_port(table).get(port, ()):
            entry = self.entry(table, key)
            if entry is None:
                continue
            for number in self._numbers(entry, key.rpartition("|")[2]):
                if number in seen:
                    raise entry.error("", f"{seen[number]} also defines {number} of {port}")
                seen[number] = key
                yield number, entry

    def _keys_by_port(self, table: str) -> dict[str, list[str]]:
        if table not in self._index:
            found: dict[str, list[str]] = {}
            for key in self.table(table):
                for one in key.rpartition("|")[0].split(","):
                    found.setdefault(one.rpartition("|")[2].strip(), []).append(key)
            self._index[table] = found
        return self._index[table]

    def _numbers(self, entry: Entry, text: str) -> range:
        first, dash, last = text.partition("-")
        ends = (first, last if dash else first)
        if not all(one.isascii() and one.isdigit() and len(one) < 3 for one in ends):
            raise entry.error("", f"{brief(text)} is not a number; expected, for example, 3 or 3-4")
        least, most = map(int, ends)
        if not least <= most <= 63:
            raise entry.error("", f"{brief(text)} are not numbers from 0 to 63")
        return range(least, most + 1)

    def notes(self, part: Part) -> list[Note]:
        """The settings that were read from a document, one line per entry."""
        entries: dict[tuple[str, ...], list[str]] = {}
        ledger = part.document.ledger
        for path in ledger.read:
            if path not in ledger.dropped and len(path) > 1:
                value = self._plain(part, path)
                shown = ",".join(map(str, value)) if isinstance(value, list) else str(value).strip()
                entries.setdefault(path[:-1], []).append(f"{path[-1]} {brief(shown)}")
        return [
            Note(part.line_of(*path), f"{'|'.join(path)}: {', '.join(fields)}")
            for path, fields in entries.items()
        ]
