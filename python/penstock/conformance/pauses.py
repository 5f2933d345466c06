"""Cases of PFC, PF-01 to PF-27: how a port reacts to pauses and sends them.

Source: IEEE 802.3 annexes 31B and 31D, IEEE 802.1Q clause 36 (PFC), Hagen 2012 section 3.2.1. All links
run at 10 Gb/s, where a quantum of 512 bit times takes 51.2 ns. The limit of the reaction time is 67 quanta
(annex 31B.3.7).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from . import cells
from .controls import VLAN, control, pause, pfc, vector
from .device import Device, Operational
from .frames import Sent
from .registry import Case, Expect, Step, Trial, Within
from .testbed import (
    ALL,
    AT_US,
    DEVICES,
    FOREVER,
    FRAME,
    ROUNDING_US,
    Table,
    begins,
    flow,
    ignored,
    lost,
    of,
    paused,
    star,
    switch,
    us,
)

QUANTUM_US = 0.0512
REACTION_US = 67 * QUANTUM_US
FRAME_US = (FRAME + 20) * 8e-4
"""Transmission time of a frame in microseconds, including preamble and inter-packet gap."""
PFC_ADDRESS, PFC_TYPE = bytes.fromhex("0180c2000001"), bytes.fromhex("88080101")


def sends(priority: int, from_us: float, until_us: float, count: Within | int) -> Expect:
    """Expects this number of frames of a priority to begin within a time."""

    def observe(_: Device, now: Operational) -> int:
        return begins([one for one in of(now).data() if one.priority == priority], from_us, until_us)

    return Expect(f"frames of {priority} from {from_us:g} to {until_us:g} us:", count, observe)


def resumes(priority: int, from_us: float, at_us: float, tolerance_us: float) -> Expect:
    """Expects the first frame of a priority after `from_us` at `at_us`, or up to a tolerance later."""

    def observe(_: Device, now: Operational) -> float:
        times = [one.begins_us for one in of(now).data() if one.priority == priority]
        return min((time for time in times if time >= from_us - ROUNDING_US), default=-1.0)

    within = Within(at_us - ROUNDING_US, at_us + tolerance_us, "us")
    return Expect(f"first frame of {priority} after {from_us:g} us:", within, observe)


def _eight(rate: str) -> list[Table]:
    return [flow(f"p{priority}", priority, rate) for priority in ALL]


def _alone() -> list[Trial]:
    """Pauses one of eight priorities; in a millisecond, each of the others sends 125 frames, at 1 Gb/s."""
    trials = []
    end_us = AT_US + 1_000
    for name, device in DEVICES.items():
        for priority in ALL:
            others = [sends(other, AT_US, end_us, Within(123, 127)) for other in ALL if other != priority]
            stops = sends(priority, AT_US + REACTION_US, end_us, 0)
            trials.append(
                Trial(
                    f"{name}, priority {priority}",
                    device(star(_eight("1 Gb/s"))),
                    paused(pfc({priority: FOREVER}), us(1_000), stops, *others),
                )
            )
    return trials


EVERY_US, LASTS = 200.0, 1_000
"""Microseconds between successive enable vectors, and quanta of each pause."""


def _subsets() -> list[Trial]:
    """Sends all enable vectors in succession; each unpaused priority sends a frame every 20 us."""
    steps: list[Step] = [us(AT_US)]
    for bits in range(256):
        times = {priority: LASTS for priority in ALL if bits >> priority & 1}
        steps += [pfc(times), us(EVERY_US)]

    def wrong(_: Device, now: Operational) -> list[str]:
        frames, found = of(now).data(), []
        for bits in range(256):
            at_us = AT_US + bits * EVERY_US
            window = (at_us + REACTION_US, at_us + LASTS * QUANTUM_US)
            sent = {one.priority for one in frames if window[0] <= one.begins_us < window[1]}
            if sent != {priority for priority in ALL if not bits >> priority & 1}:
                found.append(f"{bits:#04x}")
        return found

    return [
        Trial(name, device(star(_eight("0.4 Gb/s"))), (*steps, Expect("vectors not obeyed:", [], wrong)))
        for name, device in DEVICES.items()
    ]


def _one(
    steps: Sequence[Step], name: str, *, priority: int = 3, frame: int = FRAME, **keys: Any
) -> list[Trial]:
    """Trials of a host and a switch that send frames of one priority at line rate."""
    return [
        Trial(
            f"{kind}, {name}" if name else kind,
            device(star([flow("f", priority, frame=frame)], **keys)),
            steps,
        )
        for kind, device in DEVICES.items()
    ]


def _durations() -> list[Trial]:
    trials = []
    for quanta in (1, 2, 100, 1_000, FOREVER):
        lasts_us = quanta * QUANTUM_US
        # A frame may still begin within the port's reaction time.
        steps = paused(
            pfc({3: quanta}),
            us(lasts_us + 50),
            resumes(3, AT_US + lasts_us, AT_US + lasts_us, FRAME_US + REACTION_US),
        )
        silent = sends(3, AT_US + REACTION_US, AT_US + lasts_us, 0)
        trials += _one((*steps, silent) if lasts_us > REACTION_US else steps, f"{quanta} quanta")
    return trials


def _timers() -> list[Case]:
    long_us, half_us = 1_000 * QUANTUM_US, 500 * QUANTUM_US
    replaced = [
        trial
        for quanta in (2_000, 100)
        for trial in _one(
            paused(
                *(pfc({3: 1_000}), us(half_us), pfc({3: quanta}), us(300)),
                resumes(3, AT_US + REACTION_US, AT_US + half_us + quanta * QUANTUM_US, FRAME_US),
            ),
            f"then {quanta}",
        )
    ]
    left = [
        trial
        for time in (0, 5_000)
        for trial in _one(
            paused(
                *(pfc({3: 1_000}), us(10), pfc({3: time, 4: 100}, enabled=0x10), us(300)),
                resumes(3, AT_US + REACTION_US, AT_US + long_us, FRAME_US),
            ),
            f"time {time} without its bit",
        )
    ]
    again = paused(
        *(pfc({3: FOREVER}), us(50), sends(3, AT_US + REACTION_US, AT_US + 50, 0)),
        *(pfc({3: 0}), us(50), resumes(3, AT_US + 50, AT_US + 50, REACTION_US)),
    )
    return [
        Case("PF-04", "time 0 resumes a priority within the reaction time", _one(again, "")),
        Case("PF-05", "a new time replaces the running one", replaced),
        Case("PF-06", "a priority without its enable bit is not affected", left),
    ]


def _in_progress() -> list[Trial]:
    """Sends frames of 9216 B (7.39 us): one begins before the pause takes effect and must arrive whole."""

    def whole(_: Device, now: Operational) -> bool:
        sent = begins(of(now).data(), 0, AT_US + REACTION_US)
        return bool(of(now).flow("f")["frames_delivered"] == sent)

    complete = Expect("all frames that began arrive:", True, whole)
    none = sends(3, AT_US + REACTION_US, AT_US + 500, 0)
    return _one(paused(pfc({3: FOREVER}), us(500), none, complete), "", frame=9_216)


def _reactions() -> list[Trial]:
    trials = []
    for profile, limit_us in (("pause31b", REACTION_US), ("qbb614", 0.6144)):
        for eighth in range(8):
            at_us = AT_US + eighth * FRAME_US / 8
            steps = (us(at_us), pfc({3: FOREVER}), us(300), sends(3, at_us + limit_us, at_us + 300, 0))
            keys: Table = {"pfc": {"response_time": "614.4 ns"}} if profile == "qbb614" else {}
            trials += _one(steps, f"{profile}, {eighth}/8 of a frame", **keys)
    return trials


def _control_passes() -> list[Trial]:
    """Pauses all priorities to h1 while h0 and h1 overload the port to h2; h1 must still receive XOFF."""
    flows = [flow("a", 3, to="h2"), flow("b", 3, sender="h1", to="h2"), flow("c", 3, to="h1")]
    watched = star(flows, hosts=3, pfc={"xoff": "20 frames", "xon": "10 frames"})

    def sends_pauses(_: Device, now: Operational) -> bool:
        return begins(of(now).pauses(), AT_US + REACTION_US, AT_US + 500) > 0

    steps = paused(
        *(pfc(dict.fromkeys(ALL, FOREVER)), us(500)),
        *(
            Expect("pause frames are sent:", True, sends_pauses),
            sends(3, AT_US + REACTION_US, AT_US + 500, 0),
        ),
    )
    return [Trial("switch", switch(watched), steps)]


def _refused() -> list[Case]:
    goes_on = sends(3, AT_US, AT_US + 400, Within(400 / FRAME_US - 2, 400 / FRAME_US + 2))
    counted = (us(400), goes_on, ignored(1))

    def refused(frame: Sent, name: str, **keys: Any) -> list[Trial]:
        return _one(paused(frame, *counted), name, **keys)

    tag = VLAN + b"\x60\x00"
    for_three = {3: FOREVER}
    return [
        Case(
            "PF-10",
            "a priority without PFC is not paused",
            _one(paused(pfc(for_three), us(400), goes_on), "", priorities=[4]),
        ),
        Case("PF-11", "PAUSE has no effect if PFC is enabled", refused(pause(FOREVER), "")),
        Case(
            "PF-12",
            "unknown opcodes are ignored",
            [
                trial
                for opcode in (0x0100, 0x0102)
                for trial in refused(
                    control(opcode, vector(8, for_three), f"opcode {opcode:#06x}"), f"{opcode:#06x}"
                )
            ],
        ),
        Case(
            "PF-13",
            "PFC to other addresses is ignored",
            [
                trial
                for to in ("02:00:00:00:00:01", "02:00:00:00:00:77", "ff:ff:ff:ff:ff:ff")
                for trial in refused(pfc(for_three, to=to, what=f"to {to}"), to)
            ],
        ),
        Case(
            "PF-14",
            "the reserved octet of the vector has no effect",
            _one(
                paused(
                    pfc(for_three, enabled=0x0108, what="vector 0x0108"),
                    *(us(400), sends(3, AT_US + REACTION_US, AT_US + 400, 0)),
                ),
                "",
            ),
        ),
        Case(
            "PF-15",
            "short and tagged frames are ignored",
            [
                *refused(pfc(for_three, length=59, what="63 octets with FCS"), "short"),
                *refused(pfc(for_three, tag=tag, length=64, what="tagged"), "tagged"),
            ],
        ),
    ]


def _obeyed() -> list[Case]:
    zero = paused(pfc({0: FOREVER}), us(400), sends(0, AT_US + REACTION_US, AT_US + 400, 0))

    def elsewhere(_: Device, now: Operational) -> int:
        return sum(len(of(now).pauses(port)) for port in ("sw.1->h1", "sw.2->h2"))

    stays = switch(star([flow("f", 3, "1 Gb/s", to="h2")], hosts=3), 0, watched=["sw.1->h1", "sw.2->h2"])
    passes = (us(AT_US), pfc({3: FOREVER}), us(400), Expect("pause frames at other ports:", 0, elsewhere))
    return [
        Case("PF-01", "each priority is paused alone", _alone()),
        Case("PF-02", "any set of priorities is paused", _subsets()),
        Case("PF-03", "a pause lasts for its pause time", _durations()),
        *_timers(),
        Case("PF-07", "the frame on the wire is completed, and no further frame begins", _in_progress()),
        Case("PF-08", "no frame begins after the reaction time limit", _reactions()),
        Case("PF-09", "a paused port sends its own pause frames", _control_passes()),
        *_refused(),
        Case("PF-16", "untagged frames have priority 0", _one(zero, "", priority=0)),
        Case("PF-17", "a pause frame is not forwarded", [Trial("switch", stays, passes)]),
    ]


def _layout(priority: int) -> Expect:
    """Errors in the octets of the pause frames that the port sends."""

    def wrong(_: Device, now: Operational) -> list[str]:
        frames = [octets for octets in of(now).octets() if octets[12:14] == b"\x88\x08"]
        problems = set() if frames else {"none is sent"}
        for octets in frames:
            allowed = 1 << priority
            problems |= {
                name
                for name, holds in (
                    ("length", len(octets) == 60),
                    ("destination", octets[:6] == PFC_ADDRESS),
                    ("source", octets[6] & 1 == 0),
                    ("type or opcode", octets[12:16] == PFC_TYPE),
                    ("vector", octets[16:18] == bytes([0, allowed])),
                    (
                        "times of other priorities",
                        not any(octets[18 + 2 * n : 20 + 2 * n] != b"\0\0" for n in ALL if n != priority),
                    ),
                    ("padding", not any(octets[34:])),
                )
                if not holds
            }
        return sorted(problems)

    return Expect("errors in PFC frames:", [], wrong)


def _overload(used: Sequence[int], **keys: Any) -> Table:
    """h0 and h1 send to h2 at line rate; the device is the switch port towards h0."""
    flows = [
        flow(f"{sender}-{priority}", priority, sender=sender, to="h2")
        for sender in ("h0", "h1")
        for priority in used
    ]
    return switch(star(flows, hosts=3, **keys), 0)


def has_bits(bits: int, name: str = "") -> Expect:
    """Expects the XOFF frames of the port, taken together, to pause these priorities."""

    def named(_: Device, now: Operational) -> str:
        found = 0
        for one in of(now).pauses():
            found |= one.word & 0xFF
        return f"{found:#04x}"

    return Expect(name or "priorities with XOFF:", f"{bits:#04x}", named)


def _no_loss() -> list[Trial]:
    """Tests the computed headroom with XOFF at any time and frames of maximum length in both directions."""
    trials = []
    for metres in (5, 100, 300):
        flows = [flow(f"{one}", 3, sender=one, to="h2", frame=9_216) for one in ("h0", "h1")]
        back = [flow("back", 0, sender="h2", to="h0", frame=9_216)]
        scenario = star([*flows, *back], hosts=3, length=f"{metres} m", priorities=[3])
        trials.append(Trial(f"{metres} m", switch(scenario, 0), (us(3_000), has_bits(0x08), lost(0))))
    return trials


def _refreshed() -> list[Trial]:
    """Congestion that outlasts the pause time: each XOFF must be refreshed before it expires."""
    quanta = 1_000
    scenario = _overload([3], pfc={"pause_quanta": quanta})
    scenario["scenario"]["hosts"] = {"h2": {"receive": {"rate": "0.5 Gb/s", "buffer": "64 KiB"}}}

    def gap(_: Device, now: Operational) -> float:
        longest, since, held = 0.0, None, False
        for one in of(now).pauses():
            xoff = one.word & 0xFF != 0
            if xoff and held and since is not None:
                longest = max(longest, one.begins_us - since)
            since, held = one.begins_us, xoff
        return longest

    most = quanta * QUANTUM_US - REACTION_US - 0.05
    return [
        Trial(
            "switch",
            scenario,
            (us(3_000), Expect("longest time to the next XOFF:", Within(1, most, "us"), gap)),
        )
    ]


def _released() -> list[Trial]:
    """An overload that ends long before the pauses expire, so that XON must end them."""

    def balance(_: Device, now: Operational) -> bool:
        """Returns true if XON follows XOFF exactly once."""
        stops = [one.word & 0xFF != 0 for one in of(now).pauses()]
        return bool(stops) and stops[0] and not stops[-1] and all(a != b for a, b in pairwise(stops))

    scenario = _overload([3], pfc={"xoff": "40 frames", "xon": "20 frames"})
    for one in scenario["scenario"]["flows"]:
        one["stop"] = "500 us"
    return [Trial("switch", scenario, (us(1_000), Expect("XOFF and XON alternate:", True, balance)))]


def _together() -> list[Trial]:
    drr = {"switch": {"scheduler": "drr"}, "host": {"scheduler": "drr"}}
    alone = [
        Trial(f"priority {priority}", _overload([priority]), (us(500), has_bits(1 << priority), lost(0)))
        for priority in ALL
    ]
    return [*alone, Trial("together", _overload(ALL, **drr), (us(5_000), has_bits(0xFF), lost(0)))]


def _isolated() -> list[Trial]:
    buffer = {"switch": {"buffer": {"queue": "100 frames"}, "scheduler": "drr"}, "host": {"scheduler": "drr"}}
    marks = {"xoff": "40 frames", "xon": "20 frames"}
    steps = (us(2_000), has_bits(0x08), lost(Within(1, float("inf"))))
    return [Trial("switch", _overload([3, 0], priorities=[3], pfc=marks, **buffer), steps)]


def _cascade() -> list[Trial]:
    """A - s0 - s1 - s2 - b, where b pauses s2 permanently: pauses must propagate hop by hop to a."""
    names = ["a", "s0", "s1", "s2", "b"]
    links = [
        {"between": list(pair), "rate": "10 Gb/s", "phy": "none", "length": "10 m"}
        for pair in pairwise(names)
    ]
    back = ["s2.0->s1", "s1.0->s0", "s0.0->a"]
    scenario = {
        "topology": {"explicit": {"hosts": ["a", "b"], "switches": names[1:4], "links": links}},
        "flow_control": {"pfc": {"priorities": [3]}},
        "flows": [flow("f", 3, "8 Gb/s", sender="a", to="b")],
    }
    device = {"scenario": scenario, "port": "s2.1->b", "link": ("s2", "b"), "station": "s2", "watched": back}

    def order(_: Device, now: Operational) -> list[str]:
        first = {port: of(now).pauses(port)[0].begins_us for port in back if of(now).pauses(port)}
        return sorted(first, key=lambda port: first[port])

    steps = paused(pfc({3: FOREVER}), us(1_000), Expect("order of the first pauses:", back, order), lost(0))
    return [Trial("three switches", device, steps)]


def _watchdog() -> list[Trial]:
    """The peer pauses priority 3 repeatedly for 20 ms; the watchdog must detect it after 5 ms."""
    trials = []
    for action in ("drop", "forward", "report"):
        scenario = star([flow("f", 3, "1 Gb/s")], priorities=[3])
        scenario["watchdog"] = {"detection_time": "5 ms", "restoration_time": "5 ms", "action": action}
        held = tuple(step for _ in range(10) for step in (pfc({3: FOREVER}), us(2_000)))

        def storms(_: Device, now: Operational) -> list[str]:
            return [row["action"] for row in of(now).result.rows("storms")]

        def after_ms(column: str, since_ms: float) -> Any:
            def observe(_: Device, now: Operational) -> float:
                rows = of(now).result.rows("storms")
                return (rows[0][column] or float("nan")) / 1e6 - since_ms if rows else -1.0

            return observe

        steps = (
            *(us(AT_US), *held, us(15_000), Expect("storms:", [action], storms)),
            Expect("detected after:", Within(5, 5.1, "ms"), after_ms("detected_ns", AT_US / 1e3)),
            # The last of the ten pauses begins at 18 ms and lasts 3.36 ms.
            Expect("over after:", Within(26.3, 26.5, "ms"), after_ms("over_ns", AT_US / 1e3)),
        )
        trials.append(Trial(action, switch(scenario), steps))
    return trials


def _sent() -> list[Case]:
    off = _overload([3], priorities=[], switch={"buffer": {"queue": "100 frames"}})
    none = Expect("pause frames:", 0, lambda _, now: len(of(now).pauses()))
    return [
        Case(
            "PF-18", "a pause frame is well-formed", [Trial("switch", _overload([3]), (us(500), _layout(3)))]
        ),
        Case("PF-19", "no frame is lost with the computed headroom", _no_loss()),
        Case(
            "PF-20",
            "no small frame is lost in a memory of cells",
            [Trial(name, device, (us(500), has_bits(0x08), lost(0))) for name, device in cells.devices()],
        ),
        Case("PF-21", "a pause is refreshed before it expires", _refreshed()),
        Case("PF-22", "a pause is ended by exactly one XON", _released()),
        Case("PF-23", "a lossy priority is not paused, and loses frames", _isolated()),
        Case("PF-24", "eight priorities are independent", _together()),
        Case("PF-25", "without PFC no pause is sent", [Trial("switch", off, (us(1_000), none))]),
        Case("PF-26", "pauses propagate hop by hop, and no frame is lost", _cascade()),
        Case("PF-27", "a pause storm is detected, acted on, and ended", _watchdog()),
    ]


CASES = [*_obeyed(), *_sent()]
"""The 27 cases, in numerical order."""
