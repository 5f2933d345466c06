"""Converts pools, profiles and groups of CONFIG_DB to the memory of a switch in a scenario.

A lossless group without a profile gets the profile that buffermgrd creates for the speed and the cable of
its port, from a row of `pg_profile_lookup.ini`. If that file is missing, and for pools without a size,
`memory.assume` chooses values and reports them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from penstock.laboratory.quantity import Quantity

from .lossless_profile import Profile
from .pg_profile import COLUMNS, Row, other_rows, row_for
from .piece import Assumed, Document, LinkClass, Note, size
from .sonic_port import PRIORITIES, Assigned, Pool, View, default_exponent, lossless_pool
from .sonic_tables import Tables


class Headrooms:
    """Headroom tables (`pg_profile_lookup.ini`) that accompany a configuration.

    Parameters
    ----------
    tables : sequence
        Documents with their rows. If several have a row for a link, the last one applies.
    """

    def __init__(self, tables: Sequence[tuple[Document, list[Row]]]) -> None:
        self.tables = tables
        self._used: dict[int, tuple[Row, str]] = {}
        """The row that was used and its outcome, by index of the document."""

    def find(self, speed: int | None, cable: str | None) -> tuple[int, Row] | None:
        """The row of a link, with the index of its document."""
        if speed is None or cable is None:
            return None
        metres = int(cable.removesuffix("m"))
        for number, (_, rows) in reversed([*enumerate(self.tables)]):
            if (row := row_for(rows, speed, metres)) is not None:
                return number, row
        return None

    def use(self, number: int, row: Row, outcome: str) -> None:
        """Records the outcome of a row; an empty text means that it was imported."""
        self._used[number] = (row, outcome)

    def name(self, number: int) -> str:
        """The name of a document."""
        return Path(self.tables[number][0].file).name

    def reports(self) -> Iterator[tuple[list[Note], list[str]]]:
        """Notes and remarks of each document."""
        for number, (document, rows) in enumerate(self.tables):
            row, outcome = self._used.get(number, (None, "no lossless group needs a profile for a row"))
            remarks = other_rows(document, rows, row) if row else []
            if outcome:
                where = f"{document.file}:{row.line}" if row else document.file
                remarks.append(f"{where}: not read: {outcome}")
                yield [], remarks
            elif row is not None:
                text = " ".join(f"{name} {getattr(row, name)}" for name in COLUMNS)
                yield [Note(row.line, text)], remarks


class _OfClass(NamedTuple):
    """Links of a class of ports, and the profiles of their groups and queues."""

    link: LinkClass
    groups: Mapping[int, Assigned]
    queues: Mapping[int, Assigned]


def _narrowness(link: LinkClass) -> tuple[bool, int, bool, int]:
    """Sort key that puts specific classes first, since the first matching attachment applies to a link."""
    rate, length = (Quantity.read(text) if text else None for text in (link.rate, link.length))
    return (
        rate is None,
        int(rate.amount) if rate else 0,
        length is None,
        int(length.amount) if length else 0,
    )


class Memory:
    """Converts the pools and profiles of ports to keys of a scenario.

    Parameters
    ----------
    tables : Tables
        The configuration.
    classes : sequence
        Links of each class of ports, and the settings of one of its ports; the largest class first.
    lossless : sequence of int
        Lossless priorities.
    headrooms : Headrooms
        Headroom tables.

    Attributes
    ----------
    assumed : Assumed or None
        Parts that the configuration leaves open.
    """

    def __init__(
        self,
        tables: Tables,
        classes: Sequence[tuple[LinkClass, View]],
        lossless: Sequence[int],
        headrooms: Headrooms,
    ) -> None:
        self.assumed: Assumed | None = None
        self._tables = tables
        self._classes = classes
        self._lossless = lossless
        self._headrooms = headrooms
        self._unsized: list[str] = []

    def keys(self, queues: set[int]) -> dict[str, Any]:
        """Keys of `switch.buffer`; empty if no group and no queue has a profile."""
        found = [
            _OfClass(link, self._groups(port), self._queues(port, queues)) for link, port in self._classes
        ]
        if not any(groups or of_queues for _, groups, of_queues in found):
            if self._tables.has("BUFFER_PG") or self._lossless:
                self._tables.report(
                    "BUFFER_PG", "assumed: lossless groups have no profile: thresholds are computed"
                )
            return {}
        memory = self._memory(found)
        pool = lossless_pool(self._tables)
        chosen = pool.value
        is_open = any(
            self._open(port, groups) for (_, port), (_, groups, _) in zip(self._classes, found, strict=True)
        )
        if chosen is not None and chosen.name not in memory["pools"] and is_open:
            memory["pools"][chosen.name] = self._pool(pool.use() or chosen)
        self.assumed = Assumed(
            tuple(self._unsized), chosen.name if chosen else None, default_exponent(self._tables)
        )
        return {"memory": memory}

    def _open(self, port: View, groups: Mapping[int, Assigned]) -> list[int]:
        """Lossless priorities of a port whose group has no profile."""
        pause_group = port.pause_group.use()
        return [priority for priority in self._lossless if pause_group[priority] not in groups]

    def _queues(self, port: View, queues: set[int]) -> dict[int, Assigned]:
        """Profiles of the queues of a port."""
        return {
            number: found
            for number, one in port.queues.items()
            if number in queues and (found := one.use()) is not None
        }

    def _groups(self, port: View) -> dict[int, Assigned]:
        """Profiles of groups; lossless groups without one get that of the headroom table, if any."""
        tables = self._tables
        pause_group = port.pause_group.use()
        numbers = [pause_group[priority] for priority in self._lossless]
        if len(set(numbers)) < len(numbers):
            message = "lossless priorities share a priority group; expected one for each"
            raise tables.error("TC_TO_PRIORITY_GROUP_MAP", message, "TC_TO_PRIORITY_GROUP_MAP")
        reachable = {*port.group_of.use(), *numbers}
        found = {
            number: own
            for number, one in sorted(port.groups.items())
            if number in reachable and (own := one.use()) is not None
        }
        row = self._headrooms.find(port.speed.use(), port.cable.use())
        if missing := [number for number in numbers if number not in found]:
            made = self._published(row)
            other = next((found[one] for one in numbers if one in found), None)
            if made is None and other is not None:
                named = ", ".join(map(str, missing))
                tables.report(
                    "BUFFER_PG",
                    f"assumed: groups {named} have no profile: they get {other[0].name}, like other "
                    "lossless groups",
                )
                made = other
            if made is not None:
                found |= dict.fromkeys(missing, made)
        elif row is not None and numbers:
            self._compare(row, found[numbers[0]])
        return found

    def _published(self, found: tuple[int, Row] | None) -> Assigned | None:
        """The profile that a switch creates from a row of the headroom table."""
        pool = lossless_pool(self._tables)
        if found is None or pool.value is None:
            return None
        number, row = found
        chosen = pool.use() or pool.value
        profile = replace(row.profile, name=f"pg_lossless_{row.speed}_{row.cable}m_profile")
        is_dynamic = chosen.mode == "dynamic"
        self._headrooms.use(number, row, "")
        self._tables.report(
            "BUFFER_PG",
            f"lossless groups have no profile: {profile.name} is from {self._headrooms.name(number)}, "
            f"line {row.line}",
        )
        return (
            replace(
                profile,
                exponent=row.threshold if is_dynamic else None,
                static=None if is_dynamic else row.threshold,
            ),
            chosen,
        )

    def _compare(self, found: tuple[int, Row], own: Assigned) -> None:
        """Reports a headroom row for a link that also has a profile in CONFIG_DB."""
        number, row = found
        profile, _ = own
        limit = profile.static if profile.exponent is None else profile.exponent
        pairs = {
            "size": (profile.size, row.size),
            "xon": (profile.xon, row.xon),
            "xoff": (profile.xoff, row.xoff),
            "xon_offset": (profile.xon_offset, row.xon_offset),
            "threshold": (limit, row.threshold),
        }
        differ = [f"{name} {a} there and {b} here" for name, (a, b) in pairs.items() if a != b]
        outcome = f"BUFFER_PROFILE|{profile.name} of CONFIG_DB takes precedence"
        if differ:
            outcome += f": {', '.join(differ)}"
        self._headrooms.use(number, row, outcome)

    def _pool(self, pool: Pool) -> dict[str, Any]:
        keys: dict[str, Any] = {"side": pool.side}
        if pool.size is None:
            self._unsized.append(pool.name)
        else:
            keys["size"] = size(pool.size)
        keys["mode"] = pool.mode
        if pool.headroom and pool.side == "ingress":
            keys["headroom"] = size(pool.headroom)
        elif pool.headroom:
            name = pool.name.removesuffix(f" {pool.side}")
            self._tables.drop(("BUFFER_POOL", name, "xoff"), "an egress pool has no headroom")
        return keys

    def _memory(self, classes: Sequence[_OfClass]) -> dict[str, Any]:
        """Pools, profiles, and the links they are attached to."""
        pools: dict[str, Any] = {}
        profiles: dict[str, Any] = {}
        attach: list[dict[str, Any]] = []
        for what in ("groups", "queues"):
            made = [(one.link, self._members(getattr(one, what), what, pools, profiles)) for one in classes]
            if all(members == made[0][1] for _, members in made):
                # Pools are the same for all ports.
                attach += [{"profile": name, what: numbers} for name, numbers in made[0][1].items()]
                continue
            for link, members in sorted(made, key=lambda one: _narrowness(one[0])):
                where = {key: value for key, value in (("rate", link.rate), ("length", link.length)) if value}
                attach += [{"profile": name, what: numbers, **where} for name, numbers in members.items()]
        self._tables.report(
            "BUFFER_POOL",
            "size is taken as the shared part, without headroom and reserves; static templates "
            "of NVIDIA may include them",
        )
        memory: dict[str, Any] = {"pools": pools, "profiles": profiles, "attach": attach}
        if (group_of := self._classes[0][1].group_of.use()) != tuple(PRIORITIES):
            memory["groups"] = [*group_of]
        return memory

    def _members(
        self,
        entries: Mapping[int, Assigned],
        what: str,
        pools: dict[str, Any],
        profiles: dict[str, Any],
    ) -> dict[str, list[int]]:
        """The groups or queues that use each profile; adds the profiles and their pools."""
        members: dict[str, list[int]] = {}
        for number, (profile, pool) in sorted(entries.items()):
            if pool.name not in pools:
                pools[pool.name] = self._pool(pool)
            own, reported = profile.of_pool(pool.name, has_shared_headroom=bool(pool.headroom))
            for line in reported:
                self._tables.report(f"BUFFER_PROFILE|{profile.name}", line)
            if what == "queues":
                own = self._of_queue(profile, own)
            name = profile.name
            if profiles.get(name, own) != own:
                name = f"{name} {what}"
            profiles[name] = own
            members.setdefault(name, []).append(number)
        return members

    def _of_queue(self, profile: Profile, keys: dict[str, Any]) -> dict[str, Any]:
        """A profile of queues, which do not send pauses."""
        left = [name for name in ("headroom", "xon", "xon_offset") if keys.pop(name, None) is not None]
        if left:
            for name in ("xon", "xoff", "xon_offset"):
                self._tables.drop_if_there(("BUFFER_PROFILE", profile.name, name), "a queue sends no pauses")
        return keys
