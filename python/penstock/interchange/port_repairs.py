"""Commands that repair port settings: CONFIG_DB patches, and lines of running configurations."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from penstock.laboratory.quantity import Quantity

from .sonic_config import Switch
from .switch_piece import Commands

DETECTION_MS, RESTORATION_MS = 200, 400
"""Times of a watchdog in ms, as set by `config pfcwd start_default` for a few ports."""


class Repairs(Protocol):
    """Repair commands of a configuration; a command is empty if it is not available."""

    def larger(self, profile: str, headroom: int, more: int, /) -> str:
        """Increases the headroom of a profile by `more`."""

    def marks(self, port: str, queue: int, level: int, /) -> str:
        """Makes a queue mark below a level in bytes."""

    def watchdog(self, ports: Sequence[str], others: int, /) -> str:
        """Starts the watchdog at the named ports; `others` is the number of further ports."""

    def mapped(self, key: str, table: str, number: int, value: int, /) -> str:
        """Changes an entry of a map."""

    def pool(self, name: str, headroom: int, /) -> str:
        """Sets the shared headroom of a pool."""

    def shared_headroom(self, name: str) -> int:
        """Shared headroom of a pool in bytes; 0 if it has none."""


def _patch(*changes: tuple[str, str]) -> str:
    """The command that sets fields of CONFIG_DB, given by path."""
    patch = [{"op": "replace", "path": path, "value": value} for path, value in changes]
    return f"echo '{json.dumps(patch)}' | sudo config apply-patch /dev/stdin"


class SonicRepairs:
    """Patches of a CONFIG_DB.

    Parameters
    ----------
    switch : Switch
        The configuration.
    """

    def __init__(self, switch: Switch) -> None:
        self._switch = switch

    def larger(self, profile: str, _: int, more: int, /) -> str:
        """Increases the headroom of a profile."""
        tables = self._switch.tables
        entry = tables.entry("BUFFER_PROFILE", profile)
        if entry is None:
            return ""
        xoff, size = (entry.whole(key, 0, 2**62) or 0 for key in ("xoff", "size"))
        path = f"/BUFFER_PROFILE/{profile}"
        pool = tables.entry("BUFFER_POOL", (entry.text("pool") or "").strip("[]").rpartition("|")[2])
        changes = [(f"{path}/xoff", str(xoff + more))]
        if pool is not None and not pool.whole("xoff", 0, 2**62) and size >= xoff:
            # Without shared headroom, the size includes the group's headroom.
            changes.append((f"{path}/size", str(size + more)))
        return _patch(*changes)

    def marks(self, port: str, queue: int, level: int, /) -> str:
        """Makes a queue mark below a level."""
        for number, entry in self._switch.tables.of_port("QUEUE", port):
            name = (entry.text("wred_profile") or "").strip("[]").rpartition("|")[2]
            if number == queue and name:
                return f"sudo config ecn -profile {name} -gmin {level // 4} -gmax {level // 2}"
        return ""

    def watchdog(self, ports: Sequence[str], others: int, /) -> str:
        """Starts the watchdog."""
        named = " ".join(ports) if others else "all"
        times = f"{DETECTION_MS} --restoration-time {RESTORATION_MS}"
        return f"sudo config pfcwd start --action drop {named} {times}"

    def mapped(self, key: str, table: str, number: int, value: int, /) -> str:
        """Changes an entry of the map that the most ports use."""
        tables, port = self._switch.tables, self._switch.chosen.port
        for name in tables.table("PORT_QOS_MAP"):
            entry = tables.entry("PORT_QOS_MAP", name)
            if entry is not None and port in (one.strip() for one in name.split(",")):
                word = (entry.text(key) or "").strip("[]").rpartition("|")[2]
                return _patch((f"/{table}/{word}/{number}", str(value))) if word else ""
        return ""

    def pool(self, name: str, headroom: int, /) -> str:
        """Sets the shared headroom of a pool."""
        return _patch((f"/BUFFER_POOL/{name}/xoff", str(headroom)))

    def shared_headroom(self, name: str) -> int:
        """Shared headroom of a pool."""
        entry = self._switch.tables.entry("BUFFER_POOL", name)
        return (entry.whole("xoff", 0, 2**62) or 0) if entry else 0


@dataclass(frozen=True)
class TextRepairs:
    """Lines of a running configuration.

    Attributes
    ----------
    commands : Commands
        Commands of the vendor.
    pools : mapping
        Pools of the switch in the form of a scenario.
    """

    commands: Commands
    pools: Mapping[str, Any]

    def larger(self, profile: str, headroom: int, more: int, /) -> str:
        """Increases the headroom of a profile."""
        if profile.startswith("computed"):
            return ""
        return self.commands.headroom.format(
            profile=profile.partition(" group ")[0], headroom=headroom + more
        )

    def marks(self, _: str, queue: int, level: int, /) -> str:
        """Makes a queue mark below a level."""
        return self.commands.marks.format(queue=queue, least=level // 4, most=level // 2)

    def watchdog(self, _: Sequence[str], _others: int, /) -> str:
        """Starts the watchdog."""
        return self.commands.watchdog

    def mapped(self, _: str, _table: str, _number: int, _value: int, /) -> str:
        """Returns an empty command: a map in a running configuration consists of several statements."""
        return ""

    def pool(self, _: str, headroom: int, /) -> str:
        """Sets the shared headroom of a pool."""
        return self.commands.pool.format(headroom=headroom)

    def shared_headroom(self, name: str) -> int:
        """Shared headroom of a pool."""
        found = Quantity.read(str(self.pools.get(name, {}).get("headroom", "0 B")))
        return 0 if found is None else int(found.amount)
