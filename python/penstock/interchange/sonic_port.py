"""What CONFIG_DB says of one port: maps, queues, lossless groups, cable and watchdog."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from .lossless_profile import Profile
from .sonic_tables import Entry, Tables

PRIORITIES = range(8)
CLASSES = range(16)
"""Traffic classes of SONiC; a scenario has the first eight."""
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
"""Of which colors frames are marked, by name: "ecn_green_red" of green and red ones."""
COLORS = ("green", "yellow", "red")
CODE_POINTS = range(64)
_MAY_LACK = ("DSCP_TO_TC_MAP", "TC_TO_DSCP_MAP", "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP")
"""Tables that a part of a configuration may leave out: what they map is something without them, too."""
LARGEST = 2**62
WEIGHTS = (1, 1_000_000)
LONGEST_MTU = 9_216


@dataclass(frozen=True)
class Scheduler:
    """How a queue is served: its weight, or ``None`` with strict priority."""

    weight: int | None


@dataclass(frozen=True)
class Wred:
    """WRED of frames of one color: thresholds in bytes, per cent at the upper one, and what happens.

    Attributes
    ----------
    least, most, percent : int
        Minimum and maximum threshold, and the probability at the maximum.
    drops : bool
        Whether frames without ECN are dropped.
    marks : bool
        Whether those with ECN are marked.
    others : tuple
        Colors beside green for which something is other, with their WRED; of green frames only.
    """

    least: int
    most: int
    percent: int
    drops: bool
    marks: bool
    others: tuple[tuple[str, Wred], ...] = ()

    @property
    def rises(self) -> bool:
        """Whether there is a line between the thresholds."""
        return self.least < self.most and self.percent > 0


@dataclass(frozen=True)
class Pool:
    """A pool: its size, and the headroom that groups share; ``None`` where the switch computes it."""

    size: int | None
    headroom: int | None
    name: str = "pool"
    side: str = "ingress"
    mode: str = "dynamic"


@dataclass(frozen=True)
class View:
    """A port as a scenario can see it.

    Attributes
    ----------
    queue_of : tuple of int
        The queue of each priority.
    lossless : tuple of int
        Priorities with PFC.
    schedulers : dict
        Of each queue that has one.
    wred : dict
        Of each queue that has it.
    groups : dict
        The profile of each lossless priority and its pool; ``None`` where the switch computes it.
    group_of : tuple of int
        The priority group of each priority.
    of_groups, of_queues : dict
        The profiles of other priority groups, and of queues, with their pools.
    speed, mtu : int or None
        In Mb/s and bytes.
    cable : str or None
        Its length, such as "40m".
    watchdog : tuple or None
        Detection and restoration in ms, and the action.
    class_of_dscp : tuple of (int, int), optional
        The traffic class of each code point that the map of the port names; ``None``: it has no map.
    new_dscp : tuple of (int, int)
        The code point that frames of each traffic class get as they leave.
    stops, pause_group : tuple of int
        The queue that a pause of each priority stops, and the priority group for which it is sent.
    """

    queue_of: tuple[int, ...]
    lossless: tuple[int, ...]
    schedulers: dict[int, Scheduler] = field(default_factory=dict)
    wred: dict[int, Wred] = field(default_factory=dict)
    groups: dict[int, tuple[Profile, Pool] | None] = field(default_factory=dict)
    group_of: tuple[int, ...] = tuple(PRIORITIES)
    of_groups: dict[int, tuple[Profile, Pool]] = field(default_factory=dict)
    of_queues: dict[int, tuple[Profile, Pool]] = field(default_factory=dict)
    speed: int | None = None
    mtu: int | None = None
    cable: str | None = None
    watchdog: tuple[int, int, str] | None = None
    class_of_dscp: tuple[tuple[int, int], ...] | None = None
    new_dscp: tuple[tuple[int, int], ...] = ()
    stops: tuple[int, ...] = tuple(PRIORITIES)
    pause_group: tuple[int, ...] = tuple(PRIORITIES)


def view(tables: Tables, port: str) -> View:
    """Everything that is known of a port.

    Raises
    ------
    InputError
        If a field is wrong, or a reference leads nowhere; the message names table, key and line.
    """
    maps = _maps_of(tables, port)
    by_dscp = _named(tables, maps, "dscp_to_tc_map", "DSCP_TO_TC_MAP", CODE_POINTS, len(CLASSES) - 1)
    classes = _map(tables, maps, "dot1p_to_tc_map", "DOT1P_TO_TC_MAP", len(CLASSES) - 1)
    if by_dscp is not None and classes != [*CLASSES]:
        tables.tell("PORT_QOS_MAP", "the port has a map of DSCP: dot1p_to_tc_map counts for nothing")
        classes = [*CLASSES]
    queues = _map(tables, maps, "tc_to_queue_map", "TC_TO_QUEUE_MAP", 63)
    groups = _map(tables, maps, "tc_to_pg_map", "TC_TO_PRIORITY_GROUP_MAP", 63)
    queue_of = tuple(queues[classes[priority]] for priority in PRIORITIES)
    if maps and max(queue_of) > PRIORITIES[-1]:
        raise maps.error("tc_to_queue_map", f"queue {max(queue_of)} of {port}; expected queues 0 to 7")
    stops = _named(tables, maps, "pfc_to_queue_map", "MAP_PFC_PRIORITY_TO_QUEUE", PRIORITIES, 7) or {}
    lossless = _lossless(maps)
    group_of = tuple(groups[classes[priority]] for priority in PRIORITIES)
    if maps and max(group_of) > PRIORITIES[-1]:
        raise maps.error("tc_to_pg_map", f"group {max(group_of)} of {port}; expected groups 0 to 7")
    pauses = _named(tables, maps, "pfc_to_pg_map", "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP", PRIORITIES, 7) or {}
    pause_group = tuple(pauses.get(priority, group_of[priority]) for priority in PRIORITIES)
    new = _named(tables, maps, "tc_to_dscp_map", "TC_TO_DSCP_MAP", CLASSES, CODE_POINTS[-1]) or {}
    class_of_dscp = None
    if by_dscp is not None:
        of_class = {one: _class_like(tables, one, queues, groups) for one in {*by_dscp.values()}}
        class_of_dscp = tuple((dscp, of_class[one]) for dscp, one in by_dscp.items())
    entries = dict(tables.of_port("QUEUE", port))
    schedulers = {number: one for number, entry in entries.items() if (one := _scheduler(tables, entry))}
    wred = {number: found for number, entry in entries.items() if (found := _wred(tables, entry))}
    profiles = dict(tables.of_port("BUFFER_PG", port))
    own = tables.entry("PORT", port)
    return View(
        queue_of,
        lossless,
        schedulers,
        wred,
        {priority: _profile(tables, profiles.get(pause_group[priority])) for priority in lossless},
        group_of,
        {
            number: own_profile
            for number, entry in profiles.items()
            if number in set(group_of) - {pause_group[priority] for priority in lossless}
            and (own_profile := _profile(tables, entry))
        },
        {
            number: own_profile
            for number, entry in tables.of_port("BUFFER_QUEUE", port)
            if number in queue_of and (own_profile := _profile(tables, entry, side="egress"))
        },
        own.whole("speed", 1, 10**7) if own else None,
        own.whole("mtu", 42, LONGEST_MTU) if own else None,
        _cable(tables, port),
        _watchdog(tables, port),
        class_of_dscp,
        tuple(new.items()),
        tuple(stops.get(priority, queue_of[priority]) for priority in PRIORITIES),
        pause_group,
    )


def ports(tables: Tables) -> list[str]:
    """The ports with maps, in their order."""
    names = [name.strip() for key in tables.table("PORT_QOS_MAP") for name in key.split(",")]
    return [name for name in dict.fromkeys(names) if name and name != "global"]


def _maps_of(tables: Tables, port: str) -> Entry | None:
    for key in tables.table("PORT_QOS_MAP"):
        if port in (name.strip() for name in key.split(",")):
            return tables.entry("PORT_QOS_MAP", key)
    return None


def _named(
    tables: Tables, maps: Entry | None, key: str, table: str, numbers: range, most: int
) -> dict[int, int] | None:
    """What a map names, in the order of its numbers; ``None`` if the port has none."""
    everywhere = tables.entry("PORT_QOS_MAP", "global") if key == "dscp_to_tc_map" else None
    for owner, name in [(owner, owner.text(key)) for owner in (maps, everywhere) if owner]:
        if name:
            if table in _MAY_LACK and not tables.table(table):
                tables.tell(table, f"is not in the document: {key} counts for nothing")
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


def _map(tables: Tables, maps: Entry | None, key: str, table: str, most: int) -> list[int]:
    """What each number maps to; itself without a map."""
    named = _named(tables, maps, key, table, CLASSES, most) or {}
    return [named.get(number, number) for number in CLASSES]


def _class_like(tables: Tables, number: int, queues: list[int], groups: list[int]) -> int:
    """A traffic class of a scenario for one of SONiC: itself, or one with the same queue and group."""
    if number in PRIORITIES:
        return number
    table = "TC_TO_QUEUE_MAP"
    alike = [one for one in PRIORITIES if (queues[one], groups[one]) == (queues[number], groups[number])]
    in_queue = [one for one in PRIORITIES if queues[one] == queues[number]]
    if not in_queue:
        message = f"traffic class {number} has queue {queues[number]}, as no other; expected classes 0 to 7"
        raise tables.error(table, message, table)
    found = (alike or in_queue)[0]
    what = "queue and group" if alike else "queue"
    tables.tell(table, f"traffic class {number} is taken as {found}, which has the same {what}")
    return found


def _lossless(maps: Entry | None) -> tuple[int, ...]:
    text = (maps.text("pfc_enable") if maps else None) or ""
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
        tables.tell(
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
            tables.tell(where, f"is of {' and '.join(named)} frames alone: left out")
        return None
    different = []
    for color, one in others.items():
        if one == green:
            continue
        if one is None:
            tables.tell(where, f"spares {color} frames: they are taken as green")
        elif not (green.rises and one.rises):
            tables.tell(
                where, f"is other for {color} frames, and not a line for all: they are taken as green"
            )
        else:
            different.append((color, one))
    return replace(green, others=tuple(different))


def _of_color(entry: Entry, ecn: str, color: str, green: Wred | None) -> Wred | None:
    """What frames of a color meet; ``None``: nothing. A color without numbers has those of green frames."""
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
    if (exponent is None) == (static is None):
        both = "both" if static is not None else "neither"
        raise entry.error("dynamic_th", f"has {both} of dynamic_th and static_th; expected one of them")
    kind = pool.choice("type", "ingress", "egress", "both") or side
    if kind not in (side, "both"):
        what = "a priority group" if side == "ingress" else "a queue"
        raise entry.error("pool", f"is of {what}, and its pool {pool.key} of the {kind}")
    if kind == "both":
        tables.tell(f"BUFFER_POOL|{pool.key}", f"type is both: its {side} counts here, the other side apart")
    mode = pool.choice("mode", "dynamic", "static")
    if exponent is not None and mode == "static":
        raise entry.error("dynamic_th", f"has a dynamic_th, and {pool.key} is static; expected a static_th")
    size, xon, xoff = (entry.whole(key, 0, LARGEST) or 0 for key in ("size", "xon", "xoff"))
    offset = entry.whole("xon_offset", 0, LARGEST)
    profile = Profile(size, xon, xoff, offset, exponent, static, entry.key)
    name = pool.key if kind == side else f"{pool.key} {side}"
    found = Pool(
        pool.whole("size", 0, LARGEST), pool.whole("xoff", 0, LARGEST), name, side, mode or "dynamic"
    )
    return profile, found


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
    # Without a time of restoration it is twice that of detection (pfcwd).
    return detection, 2 * detection if restoration is None else restoration, action
