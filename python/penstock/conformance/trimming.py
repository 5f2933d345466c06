"""Cases of packet trimming, TR-01 to TR-13, in the order of SONiC's test plan.

Source: sonic-mgmt, `docs/testplan/Packet_Trimming_Testplan.md`, test cases 1 to 13: sizes of 256 and 4084
bytes, DSCP 48 and queue 6, DSCPs 10 and 20 at two ports, dynamic thresholds of 3 for a data queue and of -7
for the queue of trimmed frames. Lengths in a scenario are from DA to FCS, within 4 bytes of the plan's. Two
hosts overload the port to a third one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from penstock.errors import InputError

from .device import Device, Operational
from .registry import Case, Expect, Step, Trial, Within
from .testbed import Table, flow, lost, of, star, us

DATA, TRIMMED = 0, 6
"""Priorities of untrimmed and of trimmed frames."""
PORT = "sw.2->h2"
RUN_US = 400
SENDERS = (("h0", "h1"), ("h4", "h5"))
"""The hosts that overload each port."""
SOME = Within(1, float("inf"))
ACTIONS = ("trim", "drop")


def memory(
    action: str, queues: Sequence[int] = (DATA,), *, static: bool = False, headers: float = 4.0
) -> Table:
    """An egress pool shared by the queues that trim and the queue of trimmed frames."""
    limit: Table = {"threshold": "20 kB"} if static else {"alpha": 8.0}
    return {
        "pools": {"lossy": {"side": "egress", "size": "60 kB", "mode": "static" if static else "dynamic"}},
        "profiles": {
            "data": {"pool": "lossy", **limit, "discard_action": action},
            "trimmed": {"pool": "lossy", "alpha": headers},
        },
        "attach": [
            {"profile": "data", "queues": [*queues]},
            {"profile": "trimmed", "queues": [TRIMMED]},
        ],
    }


def device(
    *,
    frame: int = 1_500,
    action: str = "trim",
    data: Sequence[int] = (DATA,),
    ends: Sequence[int] = (2,),
    trimming: Mapping[str, Any] | None = None,
    flows: Sequence[Table] = (),
    **keys: Any,
) -> Table:
    """A switch on which two hosts overload each of several ports, the first of which is the device."""
    sent = [
        flow(f"{sender}-{priority}-to-h{end}", priority, "9 Gb/s", sender=sender, to=f"h{end}", frame=frame)
        for nth, end in enumerate(ends)
        for sender in SENDERS[nth]
        for priority in data
    ]
    own = {"trimming": {"size": "256 B", "dscp": 48, **(trimming or {})}}
    own["buffer"] = keys.pop("buffer", None) or {"memory": keys.pop("memory", memory(action, data))}
    scenario = star(
        [*sent, *flows], hosts=4 * len(ends), priorities=keys.pop("priorities", ()), switch=own, **keys
    )
    ports = [f"sw.{end}->h{end}" for end in ends]
    end = f"h{ends[0]}"
    return {
        "scenario": scenario,
        "port": ports[0],
        "link": (end, "sw"),
        "station": "sw",
        "watched": ports[1:],
    }


def lengths(priority: int, value: Sequence[int], port: str | None = None) -> Expect:
    """Expects frames of a priority to have these lengths at a port."""

    def observe(_: Device, now: Operational) -> list[int]:
        return sorted({one.bytes for one in of(now).data(port) if one.priority == priority})

    return Expect(f"lengths of frames of priority {priority} at {port or 'the port'}:", [*value], observe)


def sent(priority: int, count: Within | int, *, from_us: float = 0, until_us: float = RUN_US) -> Expect:
    """Expects this number of frames of a priority to begin within a time."""

    def observe(_: Device, now: Operational) -> int:
        frames = of(now).data()
        return sum(one.priority == priority and from_us <= one.begins_us < until_us for one in frames)

    return Expect(f"frames of priority {priority} from {from_us:g} to {until_us:g} us:", count, observe)


def total(column: str, count: Within | int, **row: Any) -> Expect:
    """Expects a sum of a counter over the queues of the switch, or over the queues with these values."""

    def observe(_: Device, now: Operational) -> int:
        rows = of(now).result.rows("queues")
        own = [one for one in rows if one["port"].startswith("sw.")]
        return sum(one[column] for one in own if all(one[name] == value for name, value in row.items()))

    return Expect(f"{column}{f' of {row}' if row else ''}:", count, observe)


def refused(what: str, attempts: Mapping[str, Callable[[], object]], allowed: Sequence[str]) -> Expect:
    """Expects these settings to be accepted or rejected."""

    def observe(*_: object) -> list[str]:
        taken = []
        for name, attempt in attempts.items():
            try:
                attempt()
            except InputError:
                continue
            taken.append(name)
        return taken

    return Expect(f"{what} that are accepted:", [*allowed], observe)


def _read(**fields: str) -> Callable[[], object]:
    """Reads a configuration with this `SWITCH_TRIMMING|GLOBAL`."""
    import json

    from penstock.interchange import sonic_config
    from penstock.interchange.piece import Document

    tables = {
        "PORT_QOS_MAP": {"Ethernet0": {"tc_to_dscp_map": "host"}},
        "TC_TO_DSCP_MAP": {"host": {"5": "10"}},
        "SWITCH_TRIMMING": {"GLOBAL": fields},
    }
    return lambda: sonic_config.read(Document("config_db.json", json.dumps(tables)))


def _configuration() -> list[Trial]:
    values = {
        "size 256": _read(size="256", dscp_value="48", queue_index="6"),
        "from-tc": _read(size="256", dscp_value="from-tc", tc_value="5", queue_index="6"),
        "size 32": _read(size="32"),
        "size 5000": _read(size="5000"),
        "dscp 0": _read(dscp_value="0"),
        "dscp 63": _read(dscp_value="63"),
        "dscp 64": _read(dscp_value="64"),
        "queue 99": _read(queue_index="99"),
        "from-tc without tc_value": _read(dscp_value="from-tc"),
        "a class without a DSCP": _read(dscp_value="from-tc", tc_value="4"),
        "nothing": _read(),
    }
    allowed = ["size 256", "from-tc", "dscp 0", "dscp 63"]
    trimmed = (us(RUN_US), refused("values", values, allowed), sent(TRIMMED, SOME))
    return [Trial("", device(), trimmed)]


def _sizes() -> list[Trial]:
    return [
        Trial(
            f"{frame} B to {size} B",
            device(frame=frame, trimming={"size": f"{size} B"}),
            (us(RUN_US), sent(TRIMMED, SOME), lengths(TRIMMED, [size]), lengths(DATA, [frame])),
        )
        for frame, size in ((1_500, 256), (5_000, 4_084))
    ]


def _code_points() -> list[Trial]:
    aside = flow("aside", 4, "1 Gb/s", sender="h0", to="h2")
    by_port = {"dscp": 20, "dscp_to": [{"to": ["h2"], "dscp": 10}]}
    two = device(ends=(2, 3), trimming=by_port, flows=[aside])
    # DSCP 10 is in traffic class 1, DSCP 20 in class 2; untrimmed frames keep their DSCP.
    ends = (
        lengths(1, [256]),
        lengths(2, [256], "sw.3->h3"),
        lengths(2, []),
        lengths(1, [], "sw.3->h3"),
        lengths(4, [1_000]),
    )
    short = (us(RUN_US), sent(TRIMMED, SOME), lengths(TRIMMED, [100]))
    return [
        Trial("symmetric", device(flows=[aside]), (us(RUN_US), lengths(TRIMMED, [256]), lengths(4, [1_000]))),
        Trial("shorter than the size", device(frame=100), short),
        Trial("asymmetric", two, (us(RUN_US), *ends)),
    ]


def _models() -> list[Trial]:
    return [
        Trial(name, device(memory=memory("trim", static=static)), _works())
        for name, static in (("static", True), ("dynamic", False))
    ]


def _works() -> tuple[Step, ...]:
    return (us(RUN_US), sent(TRIMMED, SOME), lengths(TRIMMED, [256]), total("trims", SOME, **{"class": DATA}))


def _of_links() -> list[Trial]:
    hosts = ["h0", "h1", "h2", "h3", "end"]
    cable = {"rate": "10 Gb/s", "length": "10 m", "phy": "none"}
    links: list[Table] = [{"between": [name, "s0"], **cable} for name in hosts[:4]]
    links += [{"between": ["s0", "s1"], "count": 2, **cable}, {"between": ["s1", "end"], **cable}]
    one = device()["scenario"]["switch"]
    flows = [
        flow(f"{name}-{nth}", DATA, "4 Gb/s", sender=name, to="end") for name in hosts[:4] for nth in (0, 1)
    ]
    scenario = {
        "topology": {"explicit": {"hosts": hosts, "switches": ["s0", "s1"], "links": links}},
        "switch": one,
        "flows": flows,
    }
    group = {
        "scenario": scenario,
        "port": "s0.4->s1",
        "link": ("s1", "s0"),
        "station": "s0",
        "watched": ["s0.5->s1"],
    }

    def trimmed(_: Device, now: Operational) -> int:
        return sum(one.priority == TRIMMED for port in ("s0.4->s1", "s0.5->s1") for one in of(now).data(port))

    return [
        Trial("physical port", device(), _works()),
        Trial(
            "group of two links", group, (us(RUN_US), Expect("trimmed frames on both links:", SOME, trimmed))
        ),
    ]


def _lossless() -> list[Trial]:
    lossless = device(trimming={"dscp": 32, "queues": [DATA]}, priorities=[4], buffer={"queue": "20 kB"})
    ends = (sent(4, SOME), lengths(4, [256]), lost(0))
    return [Trial("", lossless, (us(RUN_US), *ends))]


def _restarted() -> list[Trial]:
    again = device(faults=[{"switch": "sw", "at": "200 us", "restart": "50 us"}])
    ends = (sent(TRIMMED, SOME, until_us=200), sent(TRIMMED, SOME, from_us=260, until_us=500))
    return [Trial("", again, (us(500), *ends, lengths(TRIMMED, [256])))]


TOGGLES = 10
EVERY_US = 200


def _toggled() -> list[Trial]:
    faults = [
        {
            "link": ["h2", "sw"],
            "at": f"{(2 * nth + 1) * EVERY_US} us",
            "down": True,
            "duration": f"{EVERY_US} us",
        }
        for nth in range(TOGGLES)
    ]
    up = [
        sent(TRIMMED, SOME, from_us=2 * nth * EVERY_US, until_us=(2 * nth + 1) * EVERY_US)
        for nth in range(TOGGLES)
    ]
    dropped = (us(RUN_US), sent(TRIMMED, 0), total("trims", 0), lost(SOME))
    return [
        Trial(
            "ten toggles", device(faults=faults), (us(2 * TOGGLES * EVERY_US), *up, lengths(TRIMMED, [256]))
        ),
        Trial("action drop", device(action="drop"), dropped),
    ]


def _actions() -> list[Trial]:
    trials = []
    for nth in range(TOGGLES):
        action = ACTIONS[nth % 2]
        trims = SOME if action == "trim" else 0
        steps = (us(RUN_US), sent(TRIMMED, trims), total("trims", trims, **{"class": DATA}))
        trials.append(Trial(f"{nth + 1}: {action}", device(action=action), steps))
    return trials


def _patched() -> list[Trial]:
    from penstock.interchange import sonic_trimming

    def written(**keys: Any) -> list[str]:
        switch = {"trimming": keys} if keys else {}
        tables = sonic_trimming.written({"switch": {**switch, "buffer": {"memory": {}}}}, [])
        entry = tables.get("SWITCH_TRIMMING", {}).get("GLOBAL", {})
        return [f"{name} {value}" for name, value in entry.items()]

    added = Expect(
        "added:",
        ["size 256", "dscp_value 48", "queue_index dynamic"],
        lambda *_: written(size="256 B", dscp=48),
    )
    updated = Expect(
        "updated:",
        ["size 4084", "dscp_value 10", "queue_index dynamic"],
        lambda *_: written(size="4084 B", dscp=10),
    )
    removed = Expect("removed:", [], lambda *_: written())
    wrong = refused("invalid values", {"size 1": _read(size="1"), "dscp x": _read(dscp_value="x")}, [])
    return [Trial("", device(), (us(RUN_US), added, updated, removed, wrong))]


def _counters() -> list[Trial]:
    def balance(_: Device, now: Operational) -> int:
        rows = [one for one in of(now).result.rows("queues") if one["port"] == PORT]
        count = {name: sum(one[name] for one in rows) for name in ("trims", "trim_drops")}
        waiting = 1 + max((one["queue_frames_max"] for one in rows if one["class"] == TRIMMED), default=0)
        gone = sum(one["frames"] for one in rows if one["class"] == TRIMMED)
        return int(max(0, abs(count["trims"] - count["trim_drops"] - gone) - waiting))

    sent_are = Expect("trimmed frames neither sent, dropped nor queued:", 0, balance)
    each = [total("trims", SOME, **{"class": queue}) for queue in (1, 2)]
    none = total("trim_drops", 0)
    two_ports = device(data=(1,), ends=(2, 3))
    of_ports = [total("trims", SOME, port=port) for port in (PORT, "sw.3->h3")]
    blocked = device(data=(1,), memory=memory("trim", (1,), headers=2**-7))
    return [
        Trial("two queues", device(data=(1, 2)), (us(RUN_US), *each, none, sent_are)),
        Trial("two ports", two_ports, (us(RUN_US), *of_ports, none, sent_are)),
        Trial(
            "a full queue of trimmed frames",
            blocked,
            (us(RUN_US), total("trim_drops", SOME), sent_are),
        ),
    ]


CASES = [
    Case("TR-01", "valid settings are accepted, and values out of range rejected", _configuration()),
    Case("TR-02", "trimmed frames have the configured length", _sizes()),
    Case("TR-03", "trimmed frames have the configured DSCP, even if they keep their length", _code_points()),
    Case("TR-04", "static and dynamic buffer limits cause trimming", _models()),
    Case("TR-05", "single ports and link groups trim", _of_links()),
    Case("TR-06", "trimmed frames may wait in a lossless queue", _lossless()),
    Case("TR-07", "access lists disable trimming", reason="switches of a scenario have no access lists"),
    Case("TR-08", "trimming continues after a restart", _restarted()),
    Case("TR-09", "trimming continues after the egress port goes down and up", _toggled()),
    Case("TR-10", "the discard action of a profile changes ten times", _actions()),
    Case("TR-11", "SRv6 frames are trimmed", reason="frames of a scenario have no SRv6 header"),
    Case("TR-12", "a configuration is added, updated and removed", _patched()),
    Case("TR-13", "counters of queues and ports agree", _counters()),
]
"""The 13 cases, in numerical order."""
