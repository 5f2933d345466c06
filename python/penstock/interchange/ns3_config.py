"""Configurations of the HPCC fork of ns-3 and of related simulators: `config.txt`, `SimAI.conf`.

They set the congestion control of NICs, and the thresholds and buffer of switches. They must be imported
together with a fabric and its flows, or with a scenario that has transfers.

Source: `scratch/third.cc` and `src/point-to-point/model` (`rdma-hw.cc`, `switch-mmu.cc`) of the HPCC fork,
and those of ns-3-alibabacloud. CC_MODE 1 is DCQCN, 3 HPCC, 7 TIMELY, 8 DCTCP, 10 HPCC-PINT. KMIN_MAP and
KMAX_MAP are counts, then pairs of a rate in b/s and kilobytes of 1,000 B; BUFFER_SIZE is in MiB. Dynamic
thresholds of PFC are an eighth of the free memory, with 4 KiB reserved and 3 KiB of hysteresis for each
queue. RP_TIMER and intervals are in us.

Not imported, but reported by line: result files, tracing, the stop time, and parameters of mechanisms that
Penstock does not model. The headroom of these simulators, three times the delay of a link, ignores frames in
transmission; here it is computed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from penstock.errors import InputError

from .ns3_switch import Marks, SimulatedSwitch
from .piece import Document, Note, Piece, brief, plainest

_SIGNS = ("CC_MODE", "ENABLE_QCN", "KMAX_MAP", "PACKET_PAYLOAD_SIZE")
CONTROLS = {1: "dcqcn", 3: "hpcc", 7: "timely", 8: "dctcp", 10: "hpcc_pint"}
HEADER_BYTES = 66
"""Bytes of packet headers, as for RDMA in a scenario; in-band telemetry is added."""
INT_BYTES = {"hpcc": 42, "hpcc_pint": 1}
LONGEST_PAYLOAD = 9_238 - HEADER_BYTES - 42
MOST_RATES = 64
MEANINGS = {
    "SIMULATOR_STOP_TIME": "the duration follows from the traffic, or is set by --duration",
    "L2_CHUNK_SIZE": "go-back-N restarts at the missing packet",
    "L2_BACK_TO_ZERO": "go-back-N restarts at the missing packet",
    "CLAMP_TARGET_RATE": "applies to DCQCN only",
    "GLOBAL_T": "each path has its own base round trip",
    "RATE_BOUND": "a control sets a rate, or a window and the matching rate",
    "VAR_WIN": "a window of a scenario does not follow the rate",
    "FAST_REACT": "each acknowledgement is processed",
    "MULTI_RATE": "a window follows the busiest link",
    "SAMPLE_FEEDBACK": "each packet carries telemetry",
    "INT_MULTI": "telemetry is exact",
    "ERROR_RATE_PER_LINK": "bit errors are faults of the scenario",
    "LINK_DOWN": "failures are faults of the scenario",
}
_ELSE = "a scenario has no such setting"
Reader = Callable[[str], Any]


def recognises(document: Document) -> bool:
    """Returns true if a line sets one of the keys that these simulators have in common."""
    return document.has_line(*(f"{key} " for key in _SIGNS), *(f"{key}\t" for key in _SIGNS))


@dataclass
class _Config:
    """Keys with their words and lines, and the keys that were used."""

    document: Document
    words: dict[str, tuple[int, list[str]]] = field(default_factory=dict)
    used: dict[str, None] = field(default_factory=dict)

    def one(self, key: str) -> tuple[int, str] | None:
        """The line and the value of a key, which then counts as used; ``None`` if it is missing."""
        if key not in self.words:
            return None
        line, words = self.words[key]
        if len(words) != 1:
            raise self.document.error(line, f"{key} has {len(words)} words; expected one")
        self.used[key] = None
        return line, words[0]

    def whole(self, key: str, most: int = 2**53) -> int | None:
        """A whole number."""
        found = self.one(key)
        return None if found is None else self.document.whole(found[0], key, found[1], 0, most)

    def number(self, key: str, most: int = 1) -> float | None:
        """A number of at least 0."""
        found = self.one(key)
        if found is None:
            return None
        number = self.document.decimal(found[0], key, found[1])
        if number > most:
            raise self.document.error(found[0], f"{key} is {brief(found[1])}; expected at most {most}")
        return float(number)

    def rate(self, key: str) -> str | None:
        """A rate such as ``50Mb/s``."""
        found = self.one(key)
        return None if found is None else self.document.quantity(found[0], key, found[1], "rate", "50Mb/s")

    def microseconds(self, key: str) -> str | None:
        """A time in us."""
        found = self.one(key)
        if found is None:
            return None
        number = self.document.decimal(found[0], key, found[1])
        if number > 10**9 or (number * 10**6).denominator != 1:
            raise self.document.error(found[0], f"{key} is {brief(found[1])}; expected us, at most 10^9")
        return plainest(number * 10**6, "time")

    def truth(self, key: str) -> bool | None:
        """A flag, 0 or 1, as a bool."""
        found = self.one(key)
        return None if found is None else bool(self.document.whole(found[0], key, found[1], 0, 1))

    def mapped(self, key: str) -> dict[int, Fraction]:
        """A map: a count, then pairs of a rate in b/s and a number."""
        if key not in self.words:
            return {}
        line, words = self.words[key]
        count = self.document.whole(line, f"the count of {key}", words[0] if words else "", 0, MOST_RATES)
        if len(words) != 1 + 2 * count:
            raise self.document.error(line, f"{key} has {len(words) - 1} numbers; expected {count} pairs")
        self.used[key] = None
        found: dict[int, Fraction] = {}
        for rate, value in zip(words[1::2], words[2::2], strict=True):
            bps = self.document.whole(line, f"a rate of {key}", rate, 1)
            if bps in found:
                raise self.document.error(line, f"{key} has {bps} b/s twice; expected each rate once")
            found[bps] = self.document.decimal(line, key, value)
        return found

    def line(self, key: str) -> int:
        """The line of a key."""
        return self.words[key][0]


def read(document: Document) -> Piece:
    """Reads the congestion control of a scenario's transfers, and the settings of its switches.

    Raises
    ------
    InputError
        If a key appears twice, or its value is wrong; the message names the line.
    """
    config = _Config(document)
    for line, text in document.lines():
        key, *words = text.split()
        if key in config.words:
            raise document.error(
                line, f"{brief(key)} is already in line {config.line(key)}; expected it once"
            )
        config.words[key] = (line, words)
    entries: list[str] = []
    transfers = _transfers(config, entries)
    keys: dict[str, Any] = {}
    if config.truth("ENABLE_PFC") is False:
        keys["flow_control"] = "off"
    switch = _switch(config)
    if not config.used:
        raise document.error(1, f"has none of the keys {', '.join(_SIGNS)} that can be imported")
    return Piece(
        keys=keys,
        transfer_keys=transfers,
        simulated=switch,
        remarks=[*(f"{document.file}:{line}" for line in entries), *_unread(config)],
        notes=[
            Note(config.line(key), brief(f"{key} {' '.join(config.words[key][1])}")) for key in config.used
        ],
    )


def _unread(config: _Config) -> list[str]:
    """Returns one line for each reason why keys were not read."""
    missed: dict[str, list[str]] = {}
    for key in config.words:
        if key not in config.used:
            missed.setdefault(MEANINGS.get(key, _ELSE), []).append(key)
    return [
        f"{config.document.file}:{config.line(keys[0])}: not read: "
        f"{', '.join(brief(f'{key} {chr(32).join(config.words[key][1])}'.strip()) for key in keys[:4])}"
        f"{f' and {len(keys) - 4} more' if len(keys) > 4 else ''}: {reason}"
        + (f" (lines {', '.join(str(config.line(key)) for key in keys)})" if len(keys) > 1 else "")
        for reason, keys in missed.items()
    ]


def _given(keys: Mapping[str, Any]) -> dict[str, Any]:
    """The keys that have a value."""
    return {key: value for key, value in keys.items() if value is not None}


def _transfers(config: _Config, reported: list[str]) -> dict[str, Any]:
    """Keys of transfers: the transport and the frame length."""
    mode = config.whole("CC_MODE", 1_000)
    name = None
    if mode is not None:
        name = CONTROLS.get(mode)
        if name is None:
            known = ", ".join(f"{number} ({one})" for number, one in CONTROLS.items())
            raise config.document.error(config.line("CC_MODE"), f"CC_MODE is {mode}; expected one of {known}")
    rdma: dict[str, Any] = {}
    qcn = config.truth("ENABLE_QCN")
    if name == "dcqcn" and qcn is False:
        rdma["control"] = "none"
        reported.append(f"{config.line('ENABLE_QCN')}: ENABLE_QCN is 0: no CNPs, so no congestion control")
    elif name is not None:
        rdma["control"] = {name: _control(config, name)}
        if name == "dcqcn":
            rdma["cnp_gap"] = "0 s"
            reported.append(
                f"{config.line('CC_MODE')}: a CNP is sent with each acknowledgement of a mark: cnp_gap is 0 s"
            )
    if config.truth("HAS_WIN") and name in (None, "dcqcn", "timely"):
        rdma["window"] = "bdp"
    if config.truth("ENABLE_IRN"):
        rdma["recovery"] = "selective"
    found: dict[str, Any] = {}
    payload = config.whole("PACKET_PAYLOAD_SIZE", LONGEST_PAYLOAD)
    if payload == 0:
        raise config.document.error(
            config.line("PACKET_PAYLOAD_SIZE"), "PACKET_PAYLOAD_SIZE is 0; expected bytes"
        )
    if payload is not None:
        telemetry = INT_BYTES.get(name or "", 0)
        found["frame"] = f"{payload + HEADER_BYTES + telemetry} B"
        rdma["mtu"] = f"{payload} B"
    acks = config.whole("L2_ACK_INTERVAL")
    if acks:
        rdma["ack_every"] = min(max(-(-acks // (payload or 1_000)), 1), 1_024)
    if config.truth("ACK_HIGH_PRIO"):
        rdma["ack_priority"] = 7
    if rdma:
        found["over"] = {"rdma": rdma}
    return found


def _control(config: _Config, name: str) -> dict[str, Any]:
    """Parameters of a congestion control; the simulators' defaults are those of the preset hpcc."""
    if name == "dcqcn":
        ai, hai = config.rate("RATE_AI"), config.rate("RATE_HAI")
        clamp = config.truth("CLAMP_TARGET_RATE")
        return {
            "preset": "hpcc",
            **_given(
                {
                    "g": config.number("EWMA_GAIN"),
                    "alpha_period": config.microseconds("ALPHA_RESUME_INTERVAL"),
                    "monitor_period": config.microseconds("RATE_DECREASE_INTERVAL"),
                    "time_reset": config.microseconds("RP_TIMER"),
                    "threshold": config.whole("FAST_RECOVERY_TIMES", 1_000),
                    "ai_rate": ai,
                    "hai_rate": hai,
                    "scale_rates": None if ai is None and hai is None else False,
                    "clamp_target": clamp,
                    "clamp_target_after_time": None if clamp is None else True,
                    "min_rate": config.rate("MIN_RATE"),
                }
            ),
        }
    if name == "dctcp":
        own = {"gain": config.number("EWMA_GAIN"), "ai_rate": config.rate("DCTCP_RATE_AI")}
    elif name == "timely":
        own = {"delta": config.rate("RATE_AI")}
    else:
        own = {
            "eta": config.number("U_TARGET", 10),
            "max_stage": config.whole("MI_THRESH", 1_000),
            "ai_rate": config.rate("RATE_AI"),
        }
    if name == "hpcc_pint":
        own |= {"base": config.number("PINT_LOG_BASE", 2), "probability": config.number("PINT_PROB")}
    return _given({**own, "min_rate": config.rate("MIN_RATE")})


def _switch(config: _Config) -> SimulatedSwitch | None:
    """Thresholds and buffer of switches, which depend on link rates."""
    least, most, chance = (config.mapped(key) for key in ("KMIN_MAP", "KMAX_MAP", "PMAX_MAP"))
    if not least.keys() == most.keys() == chance.keys():
        key = next(one for one in ("KMIN_MAP", "KMAX_MAP", "PMAX_MAP") if one in config.words)
        raise config.document.error(
            config.line(key),
            "KMIN_MAP, KMAX_MAP and PMAX_MAP have different rates; expected the same rates in each",
        )
    marks: dict[int, Marks] = {}
    for bps in least:
        own = Marks(int(least[bps] * 1_000), int(most[bps] * 1_000), float(chance[bps]))
        if own.least > own.most or own.most == 0 or not 0 < own.probability <= 1:
            raise config.document.error(
                config.line("KMIN_MAP"),
                f"of {bps} b/s Kmin is {own.least} B, Kmax {own.most} B and Pmax {own.probability}; expected "
                "Kmin up to Kmax, and Pmax above 0 up to 1",
            )
        marks[bps] = own
    if config.truth("ENABLE_QCN") is False:
        marks = {}
    buffer = config.whole("BUFFER_SIZE", 2**20)
    is_dynamic = config.truth("USE_DYNAMIC_PFC_THRESHOLD")
    if not marks and not buffer:
        return None
    return SimulatedSwitch(marks, (buffer or 0) * 1024**2, bool(is_dynamic))


def refuse_without_transfers(document: Document) -> InputError:
    """The error for a configuration without traffic that it could apply to."""
    message = "is a configuration of congestion control, but there are no transfers"
    return InputError(
        f"{document.file}: {message}; import the flows as well, or name a scenario: --like SCENARIO"
    )
