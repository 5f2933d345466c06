"""The settings of one port in CONFIG_DB: maps, queues, lossless groups, cable and watchdog."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial

from .lossless_profile import Profile
from .reading import Deferred
from .sonic_tables import Entry, Tables

PRIORITIES = range(8)
CLASSES = range(16)
"""Number of traffic classes in SONiC. A scenario has only the first eight."""
ACTIONS = {"alert": "report", "drop": "drop", "forward": "forward"}
ECN = (
    "ecn_none",
    "ecn_green",
    "ecn_yellow",
    "ecn_red",
    "ecn_green_yellow",
    "ecn_green_red",
    "ecn_yellow_red",
    "ecn_all",
)
"""Values of the ECN field with the colors that are marked: "ecn_green_red" marks green and red."""
COLORS = ("green", "yellow", "red")
CODE_POINTS = range(64)
_MAY_LACK = ("DSCP_TO_TC_MAP", "TC_TO_DSCP_MAP", "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP")
"""Tables that may be missing; without one, each number maps to itself."""
LARGEST = 2**62
WEIGHTS = (1, 1_000_000)
LONGEST_MTU = 9_216


@dataclass(frozen=True)
class Scheduler:
    """Scheduling of a queue: its weight, or ``None`` for strict priority."""

    weight: int | None


@dataclass(frozen=True)
class Wred:
    """WRED of frames of one color: thresholds in bytes, percentage at the upper one, and actions.

    Attributes
    ----------
    least, most, percent : int
        Minimum and maximum threshold, and the probability at the maximum.
    drops : bool
        True if frames without ECN are dropped.
    marks : bool
        True if frames with ECN are marked.
    weight : int
        Exponent of the moving average of the queue length, whose newest sample has weight 2^-weight; 0 for
        the current length.
    others : tuple
        Other colors whose settings differ from green, with their WRED; for green only.
    """

    least: int
    most: int
    percent: int
    drops: bool
    marks: bool
    others: tuple[tuple[str, Wred], ...] = ()
    weight: int = 0

    @property
    def rises(self) -> bool:
        """True if the probability rises between the thresholds."""
        return self.least < self.most and self.percent > 0


@dataclass(frozen=True)
class Pool:
    """A pool: its size, and the shared headroom of its groups; ``None`` if the switch computes it."""

    size: int | None
    headroom: int | None
    name: str = "pool"
    side: str = "ingress"
    mode: str = "dynamic"


Assigned = tuple[Profile, Pool]
"""A profile and its pool."""


@dataclass(frozen=True)
class View:
    """The settings of a port; their fields count as read once a value is used.

    Attributes
    ----------
    queue_of : tuple of int
        The queue of each priority.
    lossless : tuple of int, optional
        Priorities with PFC; ``None`` if the port has no `pfc_enable`.
    group_of : tuple of int
        The priority group of each priority.
    speed, mtu : int or None
        Speed in Mb/s, and MTU in bytes.
    cable : str or None
        Length of the cable, such as "40m".
    watchdog : tuple or None
        Detection and restoration in ms, and the action.
    class_of_dscp : tuple of (int, int), optional
        The traffic class of each code point in the port's map; ``None`` if it has no map.
    new_dscp : tuple of (int, int)
        The code point to which frames of each traffic class are rewritten at the egress.
    stops, pause_group : tuple of int
        The queue that a pause of each priority stops, and the priority group for which it is sent.
    schedulers, wred : dict
        Scheduler, or WRED, of each queue that has one.
    groups, queues : dict
        Profiles of priority groups and of queues; ``None`` for one that the switch computes.
    """

    queue_of: Deferred[tuple[int, ...]]
    lossless: Deferred[tuple[int, ...] | None]
    group_of: Deferred[tuple[int, ...]]
    speed: Deferred[int | None]
    mtu: Deferred[int | None]
    cable: Deferred[str | None]
    watchdog: Deferred[tuple[int, int, str] | None]
    class_of_dscp: Deferred[tuple[tuple[int, int], ...] | None]
    new_dscp: Deferred[tuple[tuple[int, int], ...]]
    stops: Deferred[tuple[int, ...]]
    pause_group: Deferred[tuple[int, ...]]
    schedulers: dict[int, Deferred[Scheduler | None]] = field(default_factory=dict)
    wred: dict[int, Deferred[Wred | None]] = field(default_factory=dict)
    groups: dict[int, Deferred[Assigned | None]] = field(default_factory=dict)
    queues: dict[int, Deferred[Assigned | None]] = field(default_factory=dict)


def view(tables: Tables, port: str) -> View:
    """Reads the settings of a port.

    Raises
    ------
    InputError
        If a field is invalid or a reference is undefined; the message names the table, key and line.
    """
    reader = _Reader(tables, port)
    own = tables.entry("PORT", port)
    entries = dict(tables.of_port("QUEUE", port))
    deferred = tables.deferred
    return View(
        queue_of=reader.queue_of,
        lossless=deferred(lambda: _lossless(reader.maps)),
        group_of=reader.group_of,
        speed=deferred(lambda: own.whole("speed", 1, 10**7) if own else None),
        mtu=deferred(lambda: own.whole("mtu", 42, LONGEST_MTU) if own else None),
        cable=deferred(lambda: _cable(tables, port)),
        watchdog=deferred(lambda: _watchdog(tables, port)),
        class_of_dscp=deferred(reader.class_of_dscp),
        new_dscp=deferred(reader.new_dscp),
        stops=deferred(reader.stops),
        pause_group=deferred(reader.pause_group),
        schedulers={number: deferred(partial(_scheduler, tables, one)) for number, one in entries.items()},
        wred={number: deferred(partial(_wred, tables, one)) for number, one in entries.items()},
        groups=reader.profiles("BUFFER_PG", "ingress"),
        queues=reader.profiles("BUFFER_QUEUE", "egress"),
    )


class _Reader:
    """The maps and profiles of a port."""

    def __init__(self, tables: Tables, port: str) -> None:
        self.tables = tables
        self.port = port
        self.maps = _maps_of(tables, port)
        self.trusts_dscp = tables.deferred(self._by_dscp).value is not None
        if self.trusts_dscp and tables.deferred(self._classes).value != [*CLASSES]:
            tables.report("PORT_QOS_MAP", "the port has a DSCP map, so dot1p_to_tc_map has no effect")
        self.queue_of = tables.deferred(lambda: self._of_priorities("queue", *_QUEUES))
        self.group_of = tables.deferred(lambda: self._of_priorities("group", *_GROUPS))

    def _classes(self) -> list[int]:
        return self._map("dot1p_to_tc_map", "DOT1P_TO_TC_MAP", len(CLASSES) - 1)

    def _by_dscp(self) -> dict[int, int] | None:
        classes = len(CLASSES) - 1
        return _named(self.tables, self.maps, "dscp_to_tc_map", "DSCP_TO_TC_MAP", CODE_POINTS, classes)

    def _map(self, key: str, table: str, most: int = 63) -> list[int]:
        """The target of each number, or the number itself if there is no map."""
        named = self._mapped(key, table, CLASSES, most)
        return [named.get(number, number) for number in CLASSES]

    def _mapped(self, key: str, table: str, numbers: range, most: int) -> dict[int, int]:
        return _named(self.tables, self.maps, key, table, numbers, most) or {}

    def _of_priorities(self, what: str, key: str, table: str) -> tuple[int, ...]:
        """The queue or group of each priority, from its traffic class."""
        classes = [*CLASSES] if self.trusts_dscp else self._classes()
        targets = self._map(key, table)
        found = tuple(targets[classes[priority]] for priority in PRIORITIES)
        if self.maps and max(found) > PRIORITIES[-1]:
            message = f"{what} {max(found)} of {self.port}; expected {what}s 0 to 7"
            raise self.maps.error(key, message)
        return found

    def stops(self) -> tuple[int, ...]:
        """The queue that a pause of each priority stops."""
        own = self._mapped("pfc_to_queue_map", "MAP_PFC_PRIORITY_TO_QUEUE", PRIORITIES, 7)
        return tuple(own.get(priority, self.queue_of.value[priority]) for priority in PRIORITIES)

    def pause_group(self) -> tuple[int, ...]:
        """The priority group for which each priority is paused."""
        own = self._mapped("pfc_to_pg_map", "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP", PRIORITIES, 7)
        return tuple(own.get(priority, self.group_of.value[priority]) for priority in PRIORITIES)

    def new_dscp(self) -> tuple[tuple[int, int], ...]:
        """The code point to which frames of each traffic class are rewritten."""
        return tuple(self._mapped("tc_to_dscp_map", "TC_TO_DSCP_MAP", CLASSES, CODE_POINTS[-1]).items())

    def class_of_dscp(self) -> tuple[tuple[int, int], ...] | None:
        """The traffic class of each code point; ``None`` without a map."""
        if (own := self._by_dscp()) is None:
            return None
        queues, groups = self._map(*_QUEUES), self._map(*_GROUPS)
        of_class = {one: _class_like(self.tables, one, queues, groups) for one in {*own.values()}}
        return tuple((dscp, of_class[one]) for dscp, one in own.items())

    def profiles(self, table: str, side: str) -> dict[int, Deferred[Assigned | None]]:
        """The profiles of groups or queues."""
        return {
            number: self.tables.deferred(partial(_profile, self.tables, entry, side=side))
            for number, entry in self.tables.of_port(table, self.port)
        }


_QUEUES = ("tc_to_queue_map", "TC_TO_QUEUE_MAP")
_GROUPS = ("tc_to_pg_map", "TC_TO_PRIORITY_GROUP_MAP")


def ports(tables: Tables) -> list[str]:
    """The ports with maps, in order; if there are none, the ports with buffers, queues or a speed."""
    names = [name.strip() for key in tables.table("PORT_QOS_MAP") for name in key.split(",")]
    found = [name for name in dict.fromkeys(names) if name and name != "global"]
    if found or tables.has("PORT_QOS_MAP"):
        return found
    keys = [
        key.rpartition("|")[0]
        for table in ("BUFFER_PG", "BUFFER_QUEUE", "QUEUE")
        for key in tables.table(table)
    ]
    named = [one.rpartition("|")[2].strip() for key in keys for one in key.split(",")]
    return [name for name in dict.fromkeys([*named, *tables.table("PORT")]) if name]


def _maps_of(tables: Tables, port: str) -> Entry | None:
    for key in tables.table("PORT_QOS_MAP"):
        if port in (name.strip() for name in key.split(",")):
            return tables.entry("PORT_QOS_MAP", key)
    return None


def _named(
    tables: Tables, maps: Entry | None, key: str, table: str, numbers: range, most: int
) -> dict[int, int] | None:
    """The targets of a map, in the order of its numbers; ``None`` if the port has no map."""
    everywhere = tables.entry("PORT_QOS_MAP", "global") if key == "dscp_to_tc_map" else None
    for owner, name in [(owner, owner.text(key)) for owner in (maps, everywhere) if owner]:
        if name:
            if table in _MAY_LACK and not tables.table(table):
                tables.report(table, f"is not in the document: {key} has no effect")
                return None
            entry = tables.named(table, name, owner, key)
            found = {}
            for number in entry.fields:
                if not (number.isascii() and number.isdigit() and int(number[:3]) in numbers):
                    expected = f"expected numbers from 0 to {numbers[-1]}"
                    raise entry.error(number, f"{number} is mapped; {expected}")
                if (target := entry.whole(number, 0, most)) is not None:
                    found[int(number)] = target
            return dict(sorted(found.items()))
    return None


def _class_like(tables: Tables, number: int, queues: list[int], groups: list[int]) -> int:
    """The scenario's traffic class for one of SONiC: itself, or one with the same queue and group."""
    if number in PRIORITIES:
        return number
    table = "TC_TO_QUEUE_MAP"
    alike = [one for one in PRIORITIES if (queues[one], groups[one]) == (queues[number], groups[number])]
    in_queue = [one for one in PRIORITIES if queues[one] == queues[number]]
    if not in_queue:
        message = f"traffic class {number} has queue {queues[number]} to itself; expected classes 0 to 7"
        raise tables.error(table, message, table)
    found = (alike or in_queue)[0]
    what = "queue and group" if alike else "queue"
    tables.report(table, f"traffic class {number} is taken as {found}, which has the same {what}")
    return found


def _lossless(maps: Entry | None) -> tuple[int, ...] | None:
    text = maps.text("pfc_enable") if maps else None
    if text is None:
        return None
    words = [word.strip() for word in text.split(",") if word.strip()]
    if maps and any(word not in map(str, PRIORITIES) for word in words):
        raise maps.error("pfc_enable", f"pfc_enable is {text}; expected priorities from 0 to 7, such as 3,4")
    return tuple(sorted({int(word) for word in words}))


def _scheduler(tables: Tables, queue: Entry) -> Scheduler | None:
    name = queue.text("scheduler")
    if not name:
        return None
    entry = tables.named("SCHEDULER", name, queue, "scheduler")
    kind = entry.choice("type", "DWRR", "WRR", "STRICT")
    if kind is None:
        raise entry.error("type", "has no type; expected DWRR, WRR or STRICT")
    if kind == "STRICT":
        return Scheduler(None)
    if kind == "WRR":
        tables.report(
            f"SCHEDULER|{entry.key}", "WRR counts frames; a scenario counts their bytes, as DWRR does"
        )
    weight = entry.whole("weight", *WEIGHTS)
    return Scheduler(1 if weight is None else weight)


def _wred(tables: Tables, queue: Entry) -> Wred | None:
    name = queue.text("wred_profile")
    if not name:
        return None
    entry = tables.named("WRED_PROFILE", name, queue, "wred_profile")
    ecn = entry.choice("ecn", *ECN) or "ecn_none"
    green = _of_color(entry, ecn, "green", None)
    others = {color: _of_color(entry, ecn, color, green) for color in COLORS[1:]}
    where = f"WRED_PROFILE|{entry.key}"
    if green is None:
        if named := [color for color, one in others.items() if one]:
            tables.report(where, f"applies only to {' and '.join(named)} frames: left out")
        return None
    different = []
    for color, one in others.items():
        if one == green:
            continue
        fields = [name for name in entry.fields if color in name and name != "ecn"]
        if one is None:
            tables.report(where, f"does not apply to {color} frames: they are treated as green")
            entry.drop(fields, f"{color} frames are treated as green")
        elif not (green.rises and one.rises):
            tables.report(
                where,
                f"has {color} settings that a scenario cannot express: {color} is treated as green",
            )
            entry.drop(fields, f"{color} frames are treated as green")
        else:
            different.append((color, one))
    return replace(green, others=tuple(different))


def _of_color(entry: Entry, ecn: str, color: str, green: Wred | None) -> Wred | None:
    """WRED of frames of a color; ``None`` if inactive. A color without thresholds has those of green."""
    drops = (entry.choice(f"wred_{color}_enable", "true", "false") or "false") == "true"
    marks = ecn == "ecn_all" or color in ecn.split("_")
    least, most = (entry.whole(f"{color}_{key}_threshold", 0, LARGEST) for key in ("min", "max"))
    percent = entry.whole(f"{color}_drop_probability", 0, 100)
    if not drops and not marks:
        return None
    if green is not None and (least, most, percent) == (None, None, None):
        least, most, percent = green.least, green.most, green.percent
    if least is None or most is None:
        raise entry.error("", f"has no {color}_min_threshold and {color}_max_threshold; expected both")
    if least > most:
        name = f"{color}_min_threshold"
        raise entry.error(name, f"{name} {least} is above {color}_max_threshold {most}")
    return Wred(least, most, 100 if percent is None else percent, drops, marks)


def _profile(tables: Tables, group: Entry | None, *, side: str = "ingress") -> tuple[Profile, Pool] | None:
    """The profile of a group or queue; ``None`` if the switch computes it."""
    name = group.text("profile") if group else None
    if group is None or name in (None, "NULL", ""):
        return None
    entry = tables.named("BUFFER_PROFILE", name or "", group, "profile")
    reference = entry.text("pool")
    if not reference:
        raise entry.error("pool", "has no pool")
    pool = tables.named("BUFFER_POOL", reference, entry, "pool")
    exponent, static = entry.whole("dynamic_th", -8, 8), entry.whole("static_th", 0, LARGEST)
    if exponent is not None and static is not None:
        raise entry.error("dynamic_th", "has both dynamic_th and static_th; expected one of them")
    found = _pool(tables, pool, side, entry)
    if exponent is None and static is None:
        limit = "the size of the pool" if found.mode == "static" else "the free memory of the pool"
        tables.report(
            f"BUFFER_PROFILE|{entry.key}",
            f"assumed: has neither dynamic_th nor static_th: its limit is {limit}, by the mode of the pool",
        )
    size, xon, xoff = (entry.whole(key, 0, LARGEST) or 0 for key in ("size", "xon", "xoff"))
    offset = entry.whole("xon_offset", 0, LARGEST)
    trims = entry.choice("packet_discard_action", "drop", "trim") == "trim"
    if trims and side == "ingress":
        message = "packet_discard_action is trim in a profile of a priority group"
        raise entry.error("packet_discard_action", f"{message}; expected it in profiles of BUFFER_QUEUE only")
    return Profile(size, xon, xoff, offset, exponent, static, entry.key, trims), found


def _pool(tables: Tables, pool: Entry, side: str, by: Entry | None = None) -> Pool:
    """A pool, for one side; `by` is the profile that names it."""
    kind = pool.choice("type", "ingress", "egress", "both") or side
    if by is not None and kind not in (side, "both"):
        what = "a priority group" if side == "ingress" else "a queue"
        raise by.error("pool", f"is used by {what}, but its pool {pool.key} is of type {kind}")
    if kind == "both":
        tables.report(f"BUFFER_POOL|{pool.key}", f"type is both: taken as a pool for the {side} only")
    # The field of a profile sets its kind of limit; the mode of a pool applies to profiles without one (SAI).
    mode = pool.choice("mode", "dynamic", "static") or "dynamic"
    name = pool.key if kind == side else f"{pool.key} {side}"
    sizes = (pool.whole("size", 0, LARGEST), pool.whole("xoff", 0, LARGEST))
    return Pool(*sizes, name, side, mode)


LOSSLESS_POOL = "ingress_lossless_pool"
"""Pool of the profiles that a switch creates itself (buffermgrd)."""
DEFAULTS = "DEFAULT_LOSSLESS_BUFFER_PARAMETER"


def lossless_pool(tables: Tables) -> Deferred[Pool | None]:
    """The ingress pool of lossless groups: the one with SONiC's name, one with headroom, or the first."""

    def read() -> Pool | None:
        entries = (tables.entry("BUFFER_POOL", key) for key in tables.table("BUFFER_POOL"))
        ingress = [
            one for one in entries if one and one.choice("type", "ingress", "egress", "both") != "egress"
        ]
        ranked = sorted(ingress, key=lambda one: (one.key != LOSSLESS_POOL, "xoff" not in one.fields))
        return _pool(tables, ranked[0], "ingress") if ranked else None

    chosen = tables.deferred(read).value
    own = tables.entry("BUFFER_POOL", chosen.name.removesuffix(" ingress")) if chosen else None
    return tables.deferred(lambda: _pool(tables, own, "ingress") if own else None)


def default_exponent(tables: Tables) -> int | None:
    """The exponent of the profiles that a switch computes, if the configuration sets one."""
    for key in tables.table(DEFAULTS):
        entry = tables.entry(DEFAULTS, key)
        found = entry.whole("default_dynamic_th", -8, 8) if entry else None
        if found is not None:
            return found
    return None


def _cable(tables: Tables, port: str) -> str | None:
    for key in tables.table("CABLE_LENGTH"):
        entry = tables.entry("CABLE_LENGTH", key)
        text = entry.text(port) if entry else None
        if entry and text is not None:
            digits = text.removesuffix("m")
            if digits == text or not (digits.isascii() and digits.isdigit() and len(digits) < 7):
                raise entry.error(port, f"{port} is {text}; expected metres, such as 40m")
            return text
    return None


def _watchdog(tables: Tables, port: str) -> tuple[int, int, str] | None:
    entry = tables.entry("PFC_WD", port)
    if entry is None:
        return None
    action = entry.choice("action", *ACTIONS) or "drop"
    detection, restoration = (
        entry.whole("detection_time", 100, 5_000),
        entry.whole("restoration_time", 100, 60_000),
    )
    if detection is None:
        raise entry.error("detection_time", "has no detection_time; expected 100 to 5000 ms")
    # The default restoration time is twice the detection time (pfcwd).
    return detection, 2 * detection if restoration is None else restoration, action
