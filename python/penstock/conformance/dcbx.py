"""Cases of DCBX, DX-01 to DX-34.

Source: IEEE 802.1Q clause 38 and annex D.2, IEEE 802.1AB clause 9, Hagen 2012 section 3.2.4. The numbering
is our own. The cases cover the same ground as the DCBX test suite of UNH-IOL; no text is taken from it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .device import MAC, Device, Operational
from .frames import (
    APPLICATIONS,
    END,
    ETS_CONFIGURATION,
    ETS_RECOMMENDATION,
    NEAREST_BRIDGE,
    PFC,
    Ets,
    Flags,
    Part,
    Sent,
    applications,
    bare,
    baseline,
    chassis,
    ets_configuration,
    ets_recommendation,
    lldp,
    mac,
    older,
    organisational,
    pfc,
    port,
    tlv,
    tlvs,
    ttl,
)
from .registry import Administer, Answer, Case, Expect, Step, Trial, Wait

LOWER, HIGHER, OTHER = "02:00:00:00:00:01", "02:00:00:00:00:fe", "02:00:00:00:00:fd"
CLASSES = (0, 0, 0, 1, 0, 0, 0, 0)
OWN_PFC, THEIR_PFC = (5,), (3,)
SHARES = {"own": (70, 30, 0, 0, 0, 0, 0, 0), "theirs": (40, 60, 0, 0, 0, 0, 0, 0)}
THEIRS = Ets(CLASSES, SHARES["theirs"])
AWAKE = ets_configuration(THEIRS)
"""First LLDPDU of the peer: it announces DCBX without anything for the device to adopt."""


def settings(
    *, pfc_willing: bool = True, ets_willing: bool = True, exchanged: bool = True, recommends: bool = True
) -> dict[str, Any]:
    """Administrator's settings of the device: PFC for priority 5, shares of 70 and 30 %."""
    own = {"classes": list(CLASSES), "percent": list(SHARES["own"][:2]), "algorithms": ["ets", "ets"]}
    ets = {"willing": ets_willing, "own": own} | ({"recommended": own} if recommends else {})
    return {
        "ets": ets,
        "pfc": {"willing": pfc_willing, "priorities": list(OWN_PFC), "exchanged": exchanged},
    }


def has_pfc(priorities: tuple[int, ...]) -> Expect:
    """Expects PFC to be enabled for these priorities."""
    return Expect("PFC", priorities, lambda _, now: now.pfc)


def has_shares(shares: tuple[int, ...]) -> Expect:
    """Expects the traffic classes to have these shares."""
    return Expect("shares", shares, lambda _, now: now.shares)


def has_applications(*entries: tuple[int, int, int]) -> Expect:
    """Expects the device to have these application priorities."""

    def texts(all_: Iterable[tuple[int, int, int]]) -> list[str]:
        return [f"{kind}:{number:#x}>{priority}" for kind, number, priority in sorted(all_)]

    return Expect("applications", texts(entries), lambda _, now: texts(now.applications))


def reports(word: str) -> Expect:
    """Expects the device to report a condition that contains this word."""

    def observe(_: Device, now: Operational) -> bool | None:
        if now.conditions is None:
            return None
        return any(word in condition for condition in now.conditions)

    return Expect(f"reports {word!r}", True, observe)


def trial(
    name: str, *steps: Step | Part, peer: str = HIGHER, admin: Mapping[str, Any] | None = None
) -> Trial:
    """A trial that begins with a DCBX peer. Each `Part` among the steps is sent in an LLDPDU of the peer."""
    frames = [lldp(peer, [step]) if isinstance(step, Part) else step for step in steps]
    return Trial(name, settings() if admin is None else admin, (lldp(peer, [AWAKE]), Wait(1), *frames))


def wrong(case: str, name: str, *parts: Part) -> Case:
    """A case with TLVs that must have no effect."""
    ignored = (has_pfc(OWN_PFC), has_shares(SHARES["own"]))
    return Case(case, name, [trial("", lldp(HIGHER, parts), *ignored)])


def _malformed(device: Device, _: Operational) -> list[str]:
    """Errors in the frames that the device sends."""
    frames = [frame for frame in device.sent() if frame[12:14] == b"\x88\xcc"]
    problems = [] if frames else ["no LLDPDU is sent"]
    for frame in frames:
        if frame[:6] != mac(NEAREST_BRIDGE):
            problems.append("not sent to the nearest bridge")
        own = [one for one in tlvs(frame) if one.oui == bytes.fromhex("0080c2")]
        by_subtype = {one.subtype: one for one in own}
        if len(by_subtype) < len(own):
            problems.append("a TLV occurs twice")
        for subtype, length, reserved in (
            (ETS_CONFIGURATION, 25, 0x38),
            (ETS_RECOMMENDATION, 25, 0xFF),
            (PFC, 6, 0x30),
        ):
            one = by_subtype.get(subtype)
            if one is None or one.length != length:
                problems.append(
                    f"subtype {subtype} is {'missing' if one is None else f'{one.length} octets'}"
                )
            elif one.value[0] & reserved:
                problems.append(f"subtype {subtype} has reserved bits set")
            elif subtype != PFC and sum(one.value[5:13]) != 100:
                problems.append(f"shares of subtype {subtype} sum to {sum(one.value[5:13])}")
    return sorted(set(problems))


def _sent_pfc(device: Device, _: Operational) -> bool:
    """Returns true if the last LLDPDU has a PFC TLV."""
    frames = [frame for frame in device.sent() if frame[12:14] == b"\x88\xcc"]
    return any(one.subtype == PFC and one.oui for one in tlvs(frames[-1]))


def _transmission() -> list[Case]:
    return [
        Case(
            "DX-01",
            "LLDPDUs sent are well-formed",
            [trial("", Wait(3), Expect("wrong", [], _malformed))],
        ),
        Case(
            "DX-02",
            "LLDPDUs to other destinations are ignored",
            [
                trial(to, lldp(HIGHER, [pfc(THEIR_PFC)], to=to), has_pfc(OWN_PFC))
                for to in ("01:80:c2:00:00:03", MAC)
            ],
        ),
    ]


def _willing() -> list[Case]:
    unwilling = settings(pfc_willing=False, ets_willing=False)
    return [
        Case(
            "DX-03",
            "a willing device adopts PFC",
            [trial("", pfc(THEIR_PFC), has_pfc(THEIR_PFC))],
        ),
        Case(
            "DX-04",
            "a device that is not willing keeps its own",
            [
                trial(
                    f"peer {'' if willing else 'not '}willing",
                    pfc(THEIR_PFC, willing=willing),
                    has_pfc(OWN_PFC),
                    admin=unwilling,
                )
                for willing in (False, True)
            ],
        ),
        Case(
            "DX-05",
            "both are willing: the end with the lower address adopts",
            [
                trial("peer lower", pfc(THEIR_PFC, willing=True), has_pfc(OWN_PFC), peer=LOWER),
                trial("peer higher", pfc(THEIR_PFC, willing=True), has_pfc(THEIR_PFC)),
            ],
        ),
        Case(
            "DX-06",
            "neither is willing: both keep their own, and the mismatch is reported",
            [trial("", pfc(THEIR_PFC), has_pfc(OWN_PFC), reports("mismatch"), admin=unwilling)],
        ),
        Case(
            "DX-07",
            "both are willing with equal settings: nothing changes",
            [
                trial(
                    "",
                    *(pfc(OWN_PFC, willing=True), has_pfc(OWN_PFC), Wait(2)),
                    *(pfc(OWN_PFC, willing=True), has_pfc(OWN_PFC)),
                )
            ],
        ),
    ]


def _recommended() -> list[Case]:
    recommends = ets_recommendation(THEIRS)
    return [
        Case(
            "DX-08",
            "a willing device adopts the recommendation",
            [
                trial(
                    "",
                    lldp(HIGHER, [ets_configuration(Ets(CLASSES, (10, 90, 0, 0, 0, 0, 0, 0))), recommends]),
                    has_shares(SHARES["theirs"]),
                )
            ],
        ),
        Case(
            "DX-09",
            "the peer's ETS configuration is not a recommendation",
            [trial("", ets_configuration(THEIRS, willing=True), has_shares(SHARES["own"]))],
        ),
        Case(
            "DX-10",
            "a device that is not willing keeps its ETS",
            [
                trial(
                    f"peer {'' if willing else 'not '}willing",
                    lldp(HIGHER, [ets_configuration(THEIRS, willing=willing), recommends]),
                    has_shares(SHARES["own"]),
                    admin=settings(ets_willing=False),
                )
                for willing in (False, True)
            ],
        ),
        _applications(),
    ]


def _applications() -> Case:
    fcoe, moved, default = (1, 0x8906, 3), (1, 0x8906, 4), (1, 0, 2)
    return Case(
        "DX-11",
        "application priorities are added, changed and removed",
        [
            trial("come", applications([fcoe]), has_applications(fcoe)),
            trial("change", applications([fcoe]), Wait(1.2), applications([moved]), has_applications(moved)),
            trial("go", applications([fcoe]), Wait(1.2), AWAKE, has_applications()),
            trial("default entry", applications([default]), has_applications(default)),
        ],
    )


def _faulty_tlvs() -> list[Case]:
    short = organisational(ETS_RECOMMENDATION, bytes([0, 0, 1, 0, 0, 10, 90, 0, 0, 0]), "ETS, 14 octets")
    sums = [ets_recommendation(Ets(CLASSES, (40, share, 0, 0, 0, 0, 0, 0))) for share in (50, 70)]
    own = has_shares(SHARES["own"])
    return [
        Case(
            "DX-12",
            "a short ETS TLV is ignored, the rest is used",
            [trial("", lldp(HIGHER, [short, pfc(THEIR_PFC)]), own, has_pfc(THEIR_PFC))],
        ),
        Case(
            "DX-13",
            "shares that do not sum to 100 are ignored",
            [trial(f"sum {sum_}", part, own) for sum_, part in zip((90, 110), sums, strict=True)],
        ),
        wrong(
            "DX-14",
            "an ETS TLV that occurs twice is ignored",
            ets_recommendation(THEIRS),
            ets_recommendation(Ets(CLASSES, (20, 80, 0, 0, 0, 0, 0, 0))),
        ),
        wrong("DX-15", "a short PFC TLV is ignored", organisational(PFC, b"\x08", "PFC, 5 octets")),
        wrong("DX-16", "a long PFC TLV is ignored", organisational(PFC, b"\x08\x08\0", "PFC, 7 octets")),
        wrong("DX-17", "a PFC TLV that occurs twice is ignored", pfc(THEIR_PFC), pfc((4,))),
        Case(
            "DX-18",
            "PFC beyond the peer's capability is ignored",
            [
                trial("capability 1", pfc(range(8), capability=1), has_pfc(OWN_PFC)),
                trial("capability 15", pfc(THEIR_PFC, capability=15), has_pfc(OWN_PFC)),
            ],
        ),
    ]


def _faulty_pdus() -> list[Case]:
    theirs, keeps = pfc(THEIR_PFC), has_pfc(OWN_PFC)
    ids = [chassis(HIGHER), port(HIGHER)]
    cut = Part("a TLV past the end", b"\xfe\x40\x00\x80\xc2\x0b")
    odd = organisational(APPLICATIONS, b"\0\x61\x89\x06\x61", "applications, ragged")
    uses = [
        ("type 100", tlv(100, b"zz", "type 100")),
        ("subtype 0x7E", organisational(0x7E, b"abc", "subtype 0x7E")),
        ("ragged applications", odd),
    ]
    return [
        Case(
            "DX-19",
            "an LLDPDU without a Time To Live TLV is dropped",
            [trial("", bare(HIGHER, [*ids, theirs, END]), keeps)],
        ),
        Case(
            "DX-20",
            "an LLDPDU with mandatory TLVs out of order is dropped",
            [
                trial("port first", bare(HIGHER, [*reversed(ids), ttl(120), theirs, END]), keeps),
                trial("second chassis", bare(HIGHER, [*ids, ttl(120), ids[0], theirs, END]), keeps),
            ],
        ),
        Case(
            "DX-21",
            "lengths",
            [
                trial("past the frame", lldp(HIGHER, [theirs, cut], ended=False), keeps),
                trial("after End", bare(HIGHER, [*ids, ttl(120), END, theirs]), keeps),
            ],
        ),
        Case(
            "DX-22",
            "unknown TLVs are skipped",
            [trial(name, lldp(HIGHER, [part, theirs]), has_pfc(THEIR_PFC)) for name, part in uses],
        ),
    ]


def _neighbours() -> list[Case]:
    theirs, keeps, adopts = pfc(THEIR_PFC), has_pfc(OWN_PFC), has_pfc(THEIR_PFC)
    second = lldp(OTHER, [pfc((4,))])
    gone = [trial(f"peer {word}willing", pfc(THEIR_PFC, willing=willing), Wait(1.2), AWAKE, keeps)
            for word, willing in (("not ", False), ("", True))]  # fmt: skip
    return [
        Case(
            "DX-23",
            "with two neighbours, neither is used",
            [trial("", theirs, second, keeps, reports("stations"))],
        ),
        Case(
            "DX-24",
            "the remaining neighbour is used",
            [trial("", theirs, second, Wait(1.2), lldp(OTHER, [], ttl_s=0), theirs, Wait(1), adopts)],
        ),
        Case("DX-25", "new values are adopted", [trial("", theirs, Wait(1.2), pfc((4,)), has_pfc((4,)))]),
        Case(
            "DX-26",
            "a shutdown restores the administrator's settings",
            [trial("", theirs, Wait(1.2), adopts, lldp(HIGHER, [], ttl_s=0), keeps)],
        ),
        Case(
            "DX-27",
            "expiry of the TTL restores the administrator's settings",
            [trial("", lldp(HIGHER, [theirs], ttl_s=3), adopts, Wait(5.5), keeps)],
        ),
        Case("DX-28", "a withdrawn TLV has no further effect", gone),
        Case(
            "DX-29",
            "a disabled feature is not sent, so that the peer falls back",
            [
                trial(
                    "",
                    *(theirs, Wait(1.2), Administer(settings(exchanged=False), "PFC is not exchanged")),
                    *(Wait(3), Expect("a PFC TLV is sent", False, _sent_pfc)),
                )
            ],
        ),
    ]


def _dialects() -> list[Case]:
    old = baseline(1, 0, THEIR_PFC, Flags(willing=False))
    both = lldp(HIGHER, [old, pfc((4,))])
    adopts = Expect("adopts PFC", False, lambda _, now: now.pfc == THEIR_PFC)
    only = Trial("only before", settings(), (lldp(HIGHER, [old]), Wait(1), adopts, reports("before")))
    return [
        Case(
            "DX-30",
            "the standard version of DCBX takes precedence",
            [only, trial("both", both, has_pfc((4,)), reports("both"))],
        ),
        *_older(),
        Case("DX-34", "a chain of core, edge and host", _chain()),
    ]


def _chain() -> list[Trial]:
    """A core that is not willing, next to an edge switch that is willing only towards the core."""
    core = lldp(HIGHER, [ets_configuration(THEIRS), ets_recommendation(THEIRS), pfc(THEIR_PFC)])
    trials = []
    for inherits, name, priorities, shares in (
        (False, "the edge uses its own settings", OWN_PFC, SHARES["own"]),
        (True, "the edge inherits from the core", THEIR_PFC, SHARES["theirs"]),
    ):
        uplink = {"settings": {}, "inherits": inherits}
        admin = {**settings(pfc_willing=False, ets_willing=False), "uplink": uplink}
        reported = Expect("the host receives PFC and shares", (priorities, shares), _received)
        trials.append(Trial(name, admin, (core, Wait(3), reported)))
    return trials


def _received(device: Device, _: Operational) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Priorities with PFC, and shares, from the last LLDPDU."""
    frame = [frame for frame in device.sent() if frame[12:14] == b"\x88\xcc"][-1]
    values = {one.subtype: one.value for one in tlvs(frame) if one.oui}
    enabled = values[PFC][-1]
    return tuple(priority for priority in range(8) if enabled >> priority & 1), tuple(
        values[ETS_CONFIGURATION][5:13]
    )


def answer(priorities: tuple[int, ...], flags: Flags) -> Answer:
    """Acknowledges the last sequence number of the device, as a peer of the pre-standard version."""

    def make(device: Device) -> Sent:
        received = [one for frame in device.sent() if (one := older(frame)) is not None]
        number = received[-1].sequence if received else 0
        return lldp(HIGHER, [baseline(1, number, priorities, flags)])

    return Answer(make)


def older_trial(
    name: str, flags: Flags, *last: Step, willing: bool = True, priorities: tuple[int, ...] = THEIR_PFC
) -> Trial:
    """A handshake until both ends are synchronized; the device may increment its number on an error."""
    admin = {**settings(pfc_willing=willing), "dialect": "older"}
    greeting = lldp(HIGHER, [baseline(1, 0, priorities, flags)])
    acknowledged = answer(priorities, flags)
    return Trial(name, admin, (greeting, Wait(1), acknowledged, Wait(1), acknowledged, Wait(1), *last))


def has_error(value: bool) -> Expect:
    """Expects the last LLDPDU of the device to report, or not to report, an error of PFC."""

    def observe(device: Device, _: Operational) -> bool:
        received = [one for frame in device.sent() if (one := older(frame)) is not None]
        return bool(received) and received[-1].pfc_error

    return Expect("says error", value, observe)


def _older() -> list[Case]:
    matrix = []
    for ours, theirs in ((False, False), (False, True), (True, False), (True, True)):
        for priorities in (OWN_PFC, THEIR_PFC):
            wrong_ = ours == theirs and priorities != OWN_PFC
            in_force = () if wrong_ else priorities if ours and not theirs else OWN_PFC
            words = f"{'' if ours else 'not '}willing, peer {'' if theirs else 'not '}willing, "
            words += "equal" if priorities == OWN_PFC else "different"
            flags = Flags(willing=theirs)
            ends = (has_pfc(in_force), has_error(wrong_))
            matrix.append(older_trial(words, flags, *ends, willing=ours, priorities=priorities))
    unheard = lldp(HIGHER, [baseline(1, 0, THEIR_PFC)])
    admin = {**settings(), "dialect": "older"}
    handshake = (unheard, Wait(1), has_pfc(OWN_PFC), answer(THEIR_PFC, Flags()), has_pfc(THEIR_PFC))
    return [
        Case(
            "DX-31",
            "pre-standard: settings are adopted once acknowledged",
            [Trial("", admin, handshake)],
        ),
        Case("DX-32", "pre-standard: the willing matrix and its errors", matrix),
        Case(
            "DX-33",
            "pre-standard: disabled features and features in error are off",
            [
                older_trial("disabled", Flags(enabled=False), has_pfc(())),
                older_trial("in error", Flags(error=True), has_pfc(())),
            ],
        ),
    ]


CASES = [
    *_transmission(),
    *_willing(),
    *_recommended(),
    *_faulty_tlvs(),
    *_faulty_pdus(),
    *_neighbours(),
    *_dialects(),
]
"""The 34 cases, in numerical order."""
