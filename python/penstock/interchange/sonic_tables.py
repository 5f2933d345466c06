"""Tables of CONFIG_DB, read field by field: what nobody has asked for is told in the end.

Every value passes `Entry`, which keeps what was read. `ignored` says of everything else what it means to
leave it out, once for each field of a table.

Source: the schema of sonic-swss (`doc/swss-schema.md`) and the templates of sonic-buildimage, which write
numbers as text, sometimes with blanks around them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from penstock.errors import InputError

from .json_text import Part
from .piece import Document, Note, brief

IGNORED: dict[tuple[str, str | None], str] = {
    ("PORT_QOS_MAP", "pfcwd_sw_enable"): "PFC_WD says which ports have a watchdog",
    ("PORT_QOS_MAP", "scheduler"): "a port is not shaped",
    **{
        (table, None): "no port that is read uses it"
        for table in ("DSCP_TO_TC_MAP", "TC_TO_DSCP_MAP", "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP")
    },
    ("MPLS_TC_TO_TC_MAP", None): "frames have no label",
    ("DOT1P_TO_TC_MAP", None): "no port that is read uses it",
    ("TC_TO_QUEUE_MAP", None): "no port that is read uses it",
    ("TC_TO_PRIORITY_GROUP_MAP", None): "no port that is read uses it",
    ("MAP_PFC_PRIORITY_TO_QUEUE", None): "no port that is read uses it",
    ("SCHEDULER", "pir"): "a queue has no highest rate",
    ("SCHEDULER", "cir"): "a queue has no rate that it is certain of",
    ("SCHEDULER", "meter_type"): "a queue has no rate",
    ("QUEUE", None): "of a port or queue that is not read",
    ("BUFFER_POOL", "percentage"): "the size is that of the pool",
    ("BUFFER_POOL", None): "no priority group or queue that is read uses it",
    ("BUFFER_PROFILE", "packet_discard_action"): "what is refused is dropped, not trimmed",
    ("BUFFER_PROFILE", None): "no priority group or queue that is read uses it",
    ("BUFFER_PG", None): "of a port or group that is not read",
    ("BUFFER_QUEUE", None): "of a port or queue that is not read",
    ("BUFFER_PORT_INGRESS_PROFILE_LIST", None): "a port as a whole has no limit",
    ("BUFFER_PORT_EGRESS_PROFILE_LIST", None): "a port as a whole has no limit",
    ("WRED_PROFILE", None): "no queue that is read uses it",
    ("PFC_WD", "POLL_INTERVAL"): "a watchdog sees a storm at once",
    ("PFC_WD", "pfc_stat_history"): "a run has all statistics",
    ("PORT", None): "of a port, its speed and MTU are read",
    ("CABLE_LENGTH", None): "of a port that is not read",
}
"""What it means to leave a field out; ``None``: any other field of the table."""
ELSE = "no part of a scenario"


@dataclass(frozen=True)
class Entry:
    """An entry of a table, whose fields are kept when they are read."""

    tables: Tables
    table: str
    key: str
    fields: dict[str, Any]

    def text(self, name: str) -> str | None:
        """A field as text without blanks around it; ``None`` if it is not there."""
        value = self.fields.get(name)
        if isinstance(value, list) and all(isinstance(one, str | int) for one in value):
            value = ",".join(map(str, value))
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, str | int):
            raise self.error(name, f"{name} is {brief(value)}; expected text")
        found = str(value).strip()
        self.tables.keep(self, name, found)
        return found

    def whole(self, name: str, least: int, most: int) -> int | None:
        """A whole number, maybe negative; ``None`` if it is not there."""
        text = self.text(name)
        if not text:  # templates write what they do not know as ""
            return None
        digits = text.removeprefix("-")
        if not (digits.isascii() and digits.isdigit() and len(digits) < 20 and least <= int(text) <= most):
            limits = f"from {least} to {most}" if most < 2**32 else f"of at least {least}"
            raise self.error(name, f"{name} is {brief(text)}; expected a whole number {limits}")
        return int(text)

    def choice(self, name: str, *known: str) -> str | None:
        """One of several words; ``None`` if it is not there."""
        text = self.text(name)
        if text is None or text in known:
            return text
        raise self.error(name, f"{name} is {brief(text)}; expected {', '.join(known)}")

    def error(self, name: str, message: str) -> InputError:
        """What is wrong in a field."""
        return self.tables.error(f"{self.table}|{self.key}", message, self.table, self.key, name)


@dataclass
class Tables:
    """The tables of a document.

    Attributes
    ----------
    part : Part
        The object with all tables.
    read : dict
        The fields that were read, by table, key and name, with their values.
    told : list of str
        What the scenario does not say as the document does.
    """

    part: Part
    read: dict[tuple[str, str, str], str] = field(default_factory=dict)
    told: list[str] = field(default_factory=list)
    _index: dict[str, dict[str, list[str]]] = field(default_factory=dict)

    @property
    def document(self) -> Document:
        """Where the tables stand."""
        return self.part.document

    def keep(self, entry: Entry, name: str, value: str) -> None:
        """Remembers a field that was read."""
        self.read[(entry.table, entry.key, name)] = value

    def tell(self, where: str, message: str) -> None:
        """Tells once what a scenario cannot say as it stands here."""
        if (line := f"{where}: {message}") not in self.told:
            self.told.append(line)

    def error(self, where: str, message: str, *keys: str) -> InputError:
        """What is wrong, with the line of the innermost key that is found."""
        line = f"{self.part.line_of(*keys)}: " if keys and "\n" in self.document.text.strip() else ""
        return InputError(f"{self.document.file}:{line}{where}: {message}")

    def table(self, name: str) -> dict[str, Any]:
        """A table; empty if it is not there."""
        found = self.part.table.get(name, {})
        if not isinstance(found, dict):
            raise self.error(name, "is no table", name)
        return found

    def entry(self, table: str, key: str) -> Entry | None:
        """An entry; ``None`` if it is not there."""
        found = self.table(table).get(key)
        if found is None:
            return None
        if not isinstance(found, dict):
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
        """The entries of a port by number: keys are "Ethernet0,Ethernet4|3-4", or "host|asic|Ethernet0|3"."""
        seen: dict[int, str] = {}
        for key in self._keys_by_port(table).get(port, ()):
            entry = self.entry(table, key)
            if entry is None:
                continue
            for number in self._numbers(entry, key.rpartition("|")[2]):
                if number in seen:
                    raise entry.error("", f"{seen[number]} says {number} of {port} as well")
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
            raise entry.error("", f"{brief(text)} is no number; expected such as 3 or 3-4")
        least, most = map(int, ends)
        if not least <= most <= 63:
            raise entry.error("", f"{brief(text)} are no numbers from 0 to 63")
        return range(least, most + 1)

    def notes(self) -> list[Note]:
        """What was read, a line for each entry."""
        entries: dict[tuple[str, str], list[str]] = {}
        for (table, key, name), value in self.read.items():
            entries.setdefault((table, key), []).append(f"{name} {value}")
        return [
            Note(self.part.line_of(table, key), f"{table}|{key}: {', '.join(fields)}")
            for (table, key), fields in entries.items()
        ]

    def ignored(self) -> list[str]:
        """Each field that was not read, once, with what that means; whole tables where nothing was read."""
        known = {table for table, _, _ in self.read}
        missed: dict[tuple[str, str], list[str]] = {}
        for table, entries in self.part.table.items():
            if table not in known or not isinstance(entries, dict):
                missed.setdefault(("", IGNORED.get((table, None), ELSE)), []).append(table)
                continue
            for key, fields in entries.items():
                for name in fields if isinstance(fields, dict) else ():
                    if (table, key, name) not in self.read:
                        meaning = IGNORED.get((table, name), IGNORED.get((table, None), ELSE))
                        missed.setdefault((table, meaning), []).append(name)
        return [
            f"{self.document.file}: not read: "
            f"{f'{table} ' if table else ''}{', '.join(dict.fromkeys(names))}: {meaning}"
            for (table, meaning), names in missed.items()
        ]
