"""Records which parts of a document a reader has consumed.

Readers access a document through `Fields` (JSON objects, XML attributes) or `Document.lines`. Both record
each access in the `Ledger` of the document, and `formats.Format.read` reports everything that was never
accessed. A reader therefore cannot drop a field without a line in the report.

A reader that accesses more than it uses, for example to compare ports, reads with `Ledger.deferred`. The
accessed fields then count as read only when the value is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

T = TypeVar("T")
_NAMED = 3
Path = tuple[str, ...]
"""Keys on the path from the outermost object to a field."""


class Fields(Mapping[str, Any]):
    """An object whose fields count as read when their values are looked up.

    Only values are recorded, not names or the number of fields. A value that is an object or a list of
    objects is recorded field by field.

    Parameters
    ----------
    table : mapping
        The plain object.
    Its path in the document.
        Its place in the document.
    ledger : Ledger
        The record.
    """

    __slots__ = ("_ledger", "_path", "_table")

    def __init__(self, table: Mapping[str, Any], path: Path, ledger: Ledger) -> None:
        self._table, self._path, self._ledger = table, path, ledger

    def __getitem__(self, key: str) -> Any:
        return self._ledger.look_up(self._table[key], (*self._path, key))

    def __iter__(self) -> Iterator[str]:
        return iter(self._table)

    def __len__(self) -> int:
        return len(self._table)

    def __contains__(self, key: object) -> bool:
        return key in self._table

    def was_read(self, key: str) -> bool:
        """Returns true if a field, or a field within it, counts as read."""
        own = (*self._path, key)
        return any(path[: len(own)] == own for path in self._ledger.read)

    def __repr__(self) -> str:
        return repr(self._table)


@dataclass(frozen=True)
class Deferred(Generic[T]):
    """A value and the fields from which it was computed; they count as read once the value is used."""

    value: T
    paths: frozenset[Path] = field(compare=False)
    ledger: Ledger = field(compare=False, repr=False)

    def use(self) -> T:
        """The value; marks its fields as read."""
        for path in self.paths:
            self.ledger.record(path)
        return self.value


@dataclass
class Ledger:
    """The fields of a document, and a record of those that were read.

    Attributes
    ----------
    read : dict
        Paths of the fields that were looked up, in that order, as keys; the values have no meaning.
    dropped : dict
        Paths of fields that were looked up and have no effect, with the reason.
    lines_read : int
        Lines of text that were handed out.
    """

    read: dict[Path, None] = field(default_factory=dict)
    dropped: dict[Path, str] = field(default_factory=dict)
    lines_read: int = 0
    _roots: list[tuple[Path, Mapping[str, Any]]] = field(default_factory=list)
    _deferred: set[Path] | None = None

    def fields(self, table: Mapping[str, Any], path: Path = ()) -> Fields:
        """Starts to record an object of the document; `path` is its place if there are several."""
        self._roots.append((path, table))
        return Fields(table, path, self)

    def restart(self, table: Mapping[str, Any]) -> Fields:
        """Replaces the objects of the document by a converted form, in which nothing counts as read."""
        self._roots.clear()
        self.read.clear()
        return self.fields(table)

    def offer(self, path: Path) -> None:
        """Records the existence of a field that the reader leaves out."""
        self._roots.append((path[:-1], {path[-1]: None}))

    def look_up(self, value: Any, path: Path) -> Any:
        """Returns a value; objects are recorded field by field, anything else counts as read."""
        if isinstance(value, Mapping):
            return Fields(value, path, self)
        if _are_objects(value):
            return [Fields(one, (*path, str(place)), self) for place, one in enumerate(value)]
        if self._deferred is not None:
            self._deferred.add(path)
        else:
            self.record(path)
        return value

    def record(self, path: Path) -> None:
        """Records that a field was read."""
        self.read[path] = None

    def deferred(self, read: Callable[[], T]) -> Deferred[T]:
        """Calls a function; the fields that it looks up count as read once the returned value is used."""
        outer, self._deferred = self._deferred, set()
        try:
            value = read()
            return Deferred(value, frozenset(self._deferred), self)
        finally:
            self._deferred = outer

    def drop(self, path: Path, reason: str) -> None:
        """Reports a field as not read: its value has no effect on the scenario."""
        self.dropped.setdefault(path, reason)

    def unread(self) -> Iterator[Path]:
        """Paths of the fields that were not looked up, or were dropped, in document order."""
        for path, table in self._roots:
            for one in _leaves(table, path):
                if one not in self.read or one in self.dropped:
                    yield one

    def report(self, meaning: Callable[[Path], str]) -> list[str]:
        """One line per table and reason, with the names of the fields that were not read.

        Parameters
        ----------
        meaning : callable
            The consequence of leaving out the field of a path.
        """
        known = {path[0] for path in self.read if path not in self.dropped}
        missed: dict[tuple[str, str], dict[str, None]] = {}
        entries: dict[tuple[str, str], dict[str, None]] = {}
        for path in self.unread():
            reason = self.dropped.get(path) or meaning(path)
            is_within = len(path) > 1 and (path[0] in known or path in self.dropped)
            names = missed.setdefault((path[0] if is_within else "", reason), {})
            names[path[-1] if is_within else path[0]] = None
            if is_within and len(path) > 2 and not path[1].isdigit():
                entries.setdefault((path[0], reason), {})[path[1]] = None
        return [
            f"not read: {f'{table} ' if table else ''}{', '.join(names)}: {reason}"
            f"{_of_entries([*entries.get((table, reason), ())])}"
            for (table, reason), names in missed.items()
        ]


class Joint(Ledger):
    """A combined record for objects of several documents; if several have a field, the last one applies.

    Parameters
    ----------
    parts : sequence
        The ledger of each document, and its plain object.
    """

    def __init__(self, parts: Sequence[tuple[Ledger, Mapping[str, Any]]]) -> None:
        super().__init__()
        self.owner: dict[Path, int] = {}
        self.conflicts: list[tuple[Path, int, int]] = []
        """Fields with several values: path, and indexes of the overridden and the applied document."""
        self._ledgers = [ledger for ledger, _ in parts]
        plain: dict[str, Any] = {}
        for number, (_, table) in enumerate(parts):
            self._add(plain, table, (), number)
        self.table = Fields(plain, (), self)

    def _add(self, into: dict[str, Any], more: Mapping[str, Any], path: Path, number: int) -> None:
        for key, value in more.items():
            own, here = (*path, key), into.get(key)
            if isinstance(value, Mapping) and isinstance(here, dict):
                self._add(here, value, own, number)
                continue
            if isinstance(value, Mapping):
                into[key] = {}
                self._add(into[key], value, own, number)
            else:
                if own in self.owner:
                    before = self.owner[own]
                    if str(here).strip() == str(value).strip():
                        self._ledgers[number].record(own)
                        continue
                    self.conflicts.append((own, before, number))
                into[key] = value
            self.owner[own] = number

    def record(self, path: Path) -> None:
        """Records that a field was read, in the document that defines it."""
        super().record(path)
        if path in self.owner:
            self._ledgers[self.owner[path]].record(path)

    def drop(self, path: Path, reason: str) -> None:
        """Reports a field as not read, in the document that defines it."""
        super().drop(path, reason)
        if path in self.owner:
            self._ledgers[self.owner[path]].drop(path, reason)


def _of_entries(names: Sequence[str]) -> str:
    """The entries of a table in parentheses; if there are many, only the first ones."""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f" ({', '.join(names[:_NAMED])}{more})" if names else ""


def _are_objects(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, Mapping) for one in value)


def _leaves(table: Mapping[str, Any], path: Path) -> Iterable[Path]:
    """Paths of all values other than objects, and of objects without fields."""
    for key, value in table.items():
        own = (*path, key)
        if isinstance(value, Mapping) and value:
            yield from _leaves(value, own)
        elif _are_objects(value):
            for place, one in enumerate(value):
                yield from _leaves(one, (*own, str(place)))
        else:
            yield own
