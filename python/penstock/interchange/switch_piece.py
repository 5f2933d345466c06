"""Converts a switch's running configuration to a piece of a scenario."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from penstock.laboratory.quantity import Quantity

from .lossless_profile import Profile
from .piece import Assumed, Document, LinkClass, Piece, size
from .port_keys import PortKeys
from .reading import Deferred
from .sonic_links import Chosen, choose, count_others_as_read, star
from .sonic_port import PRIORITIES, Assigned, Pool, Scheduler, View, Wred
from .statements import Statement, Statements
from .switch_classes import Classes


@dataclass(frozen=True)
class PortSet:
    """The settings of a port in a configuration; missing ones are ``None`` or empty.

    Attributes
    ----------
    classes : Deferred of Classes
        Traffic classes and their queues.
    lossless : Deferred of tuple of int
        Priorities with PFC.
    stops : mapping
        Queues that pauses of priorities stop, if they differ from the queues of the priorities.
    schedulers, wred : mapping
        Schedulers and WRED by queue.
    groups, queues : mapping
        Buffer profiles of priorities at the ingress, and of queues.
    speed_mbps, mtu, watchdog : Deferred
        Rate, MTU in bytes (a frame without `port_keys.FRAME_BYTES`), and times of the watchdog in ms with its
        action.
    length_m : Deferred, optional
        Length of the cable in metres.
    """

    classes: Deferred[Classes]
    lossless: Deferred[tuple[int, ...] | None]
    stops: Mapping[int, int] = field(default_factory=dict)
    schedulers: Mapping[int, Deferred[Scheduler | None]] = field(default_factory=dict)
    wred: Mapping[int, Deferred[Wred | None]] = field(default_factory=dict)
    groups: Mapping[int, Deferred[Assigned | None]] = field(default_factory=dict)
    queues: Mapping[int, Deferred[Assigned | None]] = field(default_factory=dict)
    speed_mbps: Deferred[int | None] | None = None
    mtu: Deferred[int | None] | None = None
    watchdog: Deferred[tuple[int, int, str] | None] | None = None
    length_m: Deferred[str | None] | None = None


@dataclass(frozen=True)
class Commands:
    """Lines that repair a configuration, with placeholders for names and bytes; empty if not available.

    Attributes
    ----------
    watchdog : str
        Starts the PFC watchdog.
    headroom : str
        Sets the headroom of a ``{profile}`` to ``{headroom}`` bytes.
    marks : str
        Sets ECN of a ``{queue}`` to ``{least}`` and ``{most}`` bytes.
    pool : str
        Sets the shared headroom of ports to ``{headroom}`` bytes.
    """

    watchdog: str = ""
    headroom: str = ""
    marks: str = ""
    pool: str = ""


@dataclass(frozen=True)
class SwitchText:
    """A configuration of a switch.

    Attributes
    ----------
    statements : Statements
        Lines of the configuration.
    ports : mapping
        Settings of its ports, by name.
    hostname : str
        Name of the switch.
    down : collection of str
        Ports that are shut down.
    Ports that are administratively down.
        The vendor's term for settings of queues, for reports.
    meaning : callable
        Returns the consequence of leaving out a statement.
    pool : Deferred, optional
        The ingress pool of lossless priorities whose profiles the switch computes, and the exponent of two of
        their dynamic threshold.
    commands : Commands
        Lines that repair the configuration.
    """

    statements: Statements
    ports: Mapping[str, PortSet]
    hostname: str
    down: Collection[str]
    words: str
    meaning: Callable[[Statement], str]
    pool: Deferred[tuple[Pool, int] | None] | None = None
    commands: Commands = Commands()


@dataclass(frozen=True)
class Described:
    """A configuration as a piece of a scenario, with all its ports and their representatives."""

    piece: Piece
    views: Mapping[str, View]
    chosen: Chosen


def described(text: SwitchText) -> Described:
    """Converts the settings of the ports; the majority applies where they differ by more than rate and cable.

    Raises
    ------
    InputError
        If there are no ports, or `document.interface` is not one of them.
    """
    statements, document = text.statements, text.statements.document
    if not text.ports:
        raise document.error(1, f"no port has {text.words}; expected an interface with them")
    views = {name: _view(statements, one) for name, one in text.ports.items()}
    chosen = choose(document, views)
    classes = [(one.link, views[one.port]) for one in chosen.classes]
    own = classes[0][1]
    for _, one in classes:
        one.speed.use(), one.cable.use()
    where = dict.fromkeys(("watchdog", "remap", "queue", "scheduler", "wred"), text.words)
    lossless = own.lossless.use()
    written = PortKeys(statements, own, lossless, where)
    memory = _Memory(statements, classes, lossless or (), written.queues)
    if lossless and text.pool is not None and not memory.buffer:
        memory.open_pool(text.pool.use())
    keys = written.keys(memory.buffer)
    if not lossless:
        keys["flow_control"] = "off"
    else:
        keys["flow_control"]["pfc"] |= memory.watermarks
    alone = star(views, text.hostname, text.down)
    count_others_as_read(statements, views, chosen)
    for line in chosen.reported:
        statements.report("ports", line)
    piece = Piece(
        keys=keys,
        remarks=statements.remarks(text.meaning),
        notes=statements.notes(),
        links=[one.link for one in chosen.classes],
        alone=alone,
        assumed=memory.assumed,
    )
    return Described(piece, views, chosen)


def reader_of(switch: Callable[[Document], SwitchText]) -> Callable[[Document], Piece]:
    """Returns a reader for a format that `switch` parses; the settings apply to all switches."""
    return lambda document: described(switch(document)).piece


def lossless_wred(
    statements: Statements, wred: Mapping[int, Wred], read: Deferred[Any], lossless: Collection[int]
) -> dict[int, Deferred[Wred | None]]:
    """WRED of queues; a lossless queue marks without dropping."""
    return {
        queue: statements.joined(replace(one, drops=False) if queue in lossless and one.marks else one, read)
        for queue, one in wred.items()
    }


def _view(statements: Statements, one: PortSet) -> View:
    """The settings of a port; the command line sets missing values of its link."""
    document = statements.document
    nothing: Deferred[Any] = statements.joined(None)
    identity = statements.joined(tuple(PRIORITIES))
    classes = one.classes.value
    stops = tuple(one.stops.get(priority, classes.queue_of[priority]) for priority in PRIORITIES)
    speed: Deferred[int | None] = one.speed_mbps or nothing
    length: Deferred[str | None] = one.length_m or nothing
    if speed.value is None and (mbps := _mbps(document)) is not None:
        speed = statements.joined(mbps, speed)
    if length.value is None and document.length is not None:
        length = statements.joined(document.length.replace(" ", ""), length)
    return View(
        queue_of=statements.joined(classes.queue_of, one.classes),
        lossless=one.lossless,
        group_of=identity,
        speed=speed,
        mtu=one.mtu or nothing,
        cable=length,
        watchdog=one.watchdog or nothing,
        class_of_dscp=statements.joined(classes.class_of_dscp, one.classes),
        new_dscp=statements.joined(()),
        stops=statements.joined(stops, one.classes),
        pause_group=identity,
        schedulers=dict(one.schedulers),
        wred=dict(one.wred),
        groups=dict(one.groups),
        queues=dict(one.queues),
    )


def _mbps(document: Document) -> int | None:
    """Rate of ports without one, from the command line."""
    found = Quantity.read(document.rate) if document.rate else None
    if found is None or found.dimension != "rate" or found.amount % 10**6:
        return None
    return int(found.amount // 10**6)


class _Memory:
    """Buffer profiles as keys of a scenario: thresholds in bytes, or pools that ports share.

    Attributes
    ----------
    watermarks : dict
        Keys of ``flow_control.pfc``.
    buffer : dict
        Keys of ``switch.buffer``.
    assumed : Assumed or None
        Parts that the configuration leaves to the switch.
    """

    def __init__(
        self,
        statements: Statements,
        classes: Sequence[tuple[LinkClass, View]],
        lossless: Sequence[int],
        used: Collection[int],
    ) -> None:
        self.watermarks: dict[str, str] = {}
        self.buffer: dict[str, Any] = {}
        self.assumed: Assumed | None = None
        self._statements = statements
        self._pools: dict[str, Any] = {}
        self._profiles: dict[str, Any] = {}
        made: list[tuple[LinkClass, dict[int, Assigned], dict[int, Assigned]]] = []
        for link, port in classes:
            groups = {one: found for one in lossless if (found := _used(port.groups, one)) is not None}
            made.append((link, groups, {one: found for one in used if (found := _used(port.queues, one))}))
        profiles = [profile for _, groups, _ in made for profile, _ in groups.values()]
        if profiles and all(one.static is not None for one in profiles):
            self.watermarks, reported = profiles[0].watermarks()
            for line in reported:
                statements.report(profiles[0].name, line)
            if len({(one.size, one.xon, one.xoff, one.static) for one in profiles}) > 1:
                statements.report(
                    profiles[0].name, f"its thresholds apply to all of {_names_of(profiles)}, which differ"
                )
            made = [(link, {}, queues) for link, _, queues in made]
        if any(groups or queues for _, groups, queues in made):
            self._share(made)

    def _share(self, made: Sequence[tuple[LinkClass, dict[int, Assigned], dict[int, Assigned]]]) -> None:
        attach: list[dict[str, Any]] = []
        for what, at in (("groups", 1), ("queues", 2)):
            for link, *of_class in made:
                members: dict[str, list[int]] = {}
                for number, (profile, pool) in sorted(of_class[at - 1].items()):
                    members.setdefault(self._profile(profile, pool, what), []).append(number)
                same = all(one[at] == made[0][at] for one in made)
                where = {key: value for key, value in (("rate", link.rate), ("length", link.length)) if value}
                attach += [
                    {"profile": name, what: own, **({} if same else where)} for name, own in members.items()
                ]
                if same:
                    break
        self.buffer = {"memory": {"pools": self._pools, "profiles": self._profiles, "attach": attach}}
        unsized = tuple(name for name, pool in self._pools.items() if "size" not in pool)
        ingress = next((name for name, pool in self._pools.items() if pool["side"] == "ingress"), None)
        self.assumed = Assumed(unsized, ingress, None)

    def open_pool(self, found: tuple[Pool, int] | None) -> None:
        """Adds a pool for lossless priorities whose profiles the switch computes, if there is one."""
        if found is not None:
            pool, exponent = found
            self._pool(pool)
            self.buffer = {"memory": {"pools": self._pools, "profiles": {}, "attach": []}}
            self.assumed = Assumed((), pool.name, exponent)

    def _pool(self, pool: Pool) -> None:
        own: dict[str, Any] = {"side": pool.side, "mode": pool.mode}
        if pool.size is not None:
            own["size"] = size(pool.size)
        if pool.headroom and pool.side == "ingress":
            own["headroom"] = size(pool.headroom)
        self._pools[pool.name] = own

    def _profile(self, profile: Profile, pool: Pool, what: str) -> str:
        """Returns the name of a profile, after adding the profile and its pool."""
        self._pool(pool)
        keys, reported = profile.of_pool(pool.name, has_shared_headroom=bool(pool.headroom))
        for line in reported:
            self._statements.report(profile.name, line)
        if what == "queues":
            keys = {key: one for key, one in keys.items() if key not in ("headroom", "xon", "xon_offset")}
        name = profile.name
        if self._profiles.get(name, keys) != keys:
            name = f"{name} {what}"
        self._profiles[name] = keys
        return name


def _used(entries: Mapping[int, Deferred[Assigned | None]], number: int) -> Assigned | None:
    return entries[number].use() if number in entries else None


def _names_of(profiles: Sequence[Profile]) -> str:
    return ", ".join(dict.fromkeys(one.name for one in profiles))
