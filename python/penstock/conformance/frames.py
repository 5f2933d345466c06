"""Legal and illegal frames for the tester, encoded from the standards without the engine's code.

Source: IEEE 802.1AB clause 8 (LLDPDU), IEEE 802.1Q annex D.2 (TLVs of DCBX), the DCBX base specification
1.01 for the pre-standard version.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

NEAREST_BRIDGE = "01:80:c2:00:00:0e"
DCB = bytes.fromhex("0080c2")
BASELINE = bytes.fromhex("001b21")
ETS_CONFIGURATION, ETS_RECOMMENDATION, PFC, APPLICATIONS = 9, 10, 11, 12
LEAST_BYTES = 60
STRICT, SHARED = 0, 2


@dataclass(frozen=True)
class Part:
    """A TLV as octets, with a description for reports."""

    what: str
    octets: bytes


@dataclass(frozen=True)
class Sent:
    """A frame as octets, with a description for reports."""

    what: str
    octets: bytes


def lldp(
    source: str,
    parts: Sequence[Part],
    *,
    ttl_s: int = 120,
    to: str = NEAREST_BRIDGE,
    ended: bool = True,
) -> Sent:
    """An LLDPDU with its three mandatory TLVs.

    Parameters
    ----------
    Address of the sender, from which the chassis and port IDs are derived.
        Address of the sender, which also names chassis and port.
    parts : sequence of Part
        TLVs after the mandatory ones.
    ttl_s : int, optional
        Time to live in seconds, 0 to 65535; 0 withdraws the information. Default: 120.
    to : str, optional
        Destination. Default: the nearest bridge.
    ended : bool, optional
        Adds an End TLV. Default: true.
    """
    mandatory = [chassis(source), port(source), ttl(ttl_s)]
    return bare(source, [*mandatory, *parts, *([END] if ended else [])], to=to)


def bare(source: str, parts: Sequence[Part], *, to: str = NEAREST_BRIDGE) -> Sent:
    """An LLDP frame that contains exactly these TLVs."""
    octets = mac(to) + mac(source) + b"\x88\xcc" + b"".join(part.octets for part in parts)
    words = ", ".join(part.what for part in parts if part.what)
    where = "" if to == NEAREST_BRIDGE else f" to {to}"
    return Sent(f"{source}{where}: {words}", octets.ljust(LEAST_BYTES, b"\0"))


def mac(text: str) -> bytes:
    """The six octets of a MAC address."""
    return bytes.fromhex(text.replace(":", ""))


def tlv(kind: int, value: bytes, what: str) -> Part:
    """A TLV: 7 bits of type, 9 bits of length, and the value."""
    return Part(what, struct.pack("!H", kind << 9 | len(value)) + value)


def organisational(subtype: int, value: bytes, what: str, *, oui: bytes = DCB) -> Part:
    """An organizationally specific TLV."""
    return tlv(127, oui + bytes([subtype]) + value, what)


END = tlv(0, b"", "")


def chassis(address: str) -> Part:
    """A Chassis ID TLV with a MAC address."""
    return tlv(1, b"\x04" + mac(address), "")


def port(address: str) -> Part:
    """A Port ID TLV with a MAC address."""
    return tlv(2, b"\x03" + mac(address), "")


def ttl(seconds: int) -> Part:
    """A Time To Live TLV."""
    return tlv(3, struct.pack("!H", seconds), "shutdown" if seconds == 0 else f"{seconds} s")


@dataclass(frozen=True)
class Ets:
    """Traffic class of each priority, and percentage and algorithm of each class."""

    classes: tuple[int, ...]
    percent: tuple[int, ...]
    algorithms: tuple[int, ...] = (SHARED, SHARED, 0, 0, 0, 0, 0, 0)

    def octets(self) -> bytes:
        """The octets: nibbles with the high one first, then the two tables."""
        pairs = zip(self.classes[::2], self.classes[1::2], strict=True)
        return bytes([*(high << 4 | low for high, low in pairs), *self.percent, *self.algorithms])


def ets_configuration(table: Ets, *, willing: bool = False) -> Part:
    """ETS Configuration TLV with the sender's settings."""
    head = bytes([willing << 7])
    shares = "/".join(map(str, table.percent[:2]))
    return organisational(
        ETS_CONFIGURATION, head + table.octets(), f"ETS {shares}{' willing' if willing else ''}"
    )


def ets_recommendation(table: Ets) -> Part:
    """ETS Recommendation TLV with the settings recommended to the peer."""
    shares = "/".join(map(str, table.percent[:2]))
    return organisational(ETS_RECOMMENDATION, b"\0" + table.octets(), f"recommends {shares}")


def pfc(priorities: Sequence[int], *, willing: bool = False, capability: int = 8) -> Part:
    """PFC Configuration TLV for these priorities."""
    head = willing << 7 | capability
    bits = sum(1 << priority for priority in priorities)
    words = f"PFC {','.join(map(str, priorities))}{' willing' if willing else ''}"
    if len(priorities) > capability or capability > 8:
        words += f" with capability {capability}"
    return organisational(PFC, bytes([head, bits]), words)


def applications(entries: Sequence[tuple[int, int, int]]) -> Part:
    """Application Priority TLV with these selectors, protocols and priorities."""
    octets = b"".join(struct.pack("!BH", priority << 5 | kind, number) for kind, number, priority in entries)
    words = ", ".join(f"{kind}:{number:#x}>{priority}" for kind, number, priority in entries)
    return organisational(APPLICATIONS, b"\0" + octets, f"applications {words}")


@dataclass(frozen=True)
class Flags:
    """Flags of a feature in the pre-standard version."""

    enabled: bool = True
    willing: bool = False
    error: bool = False

    def octet(self) -> int:
        """The octet with Enable, Willing and Error in its three high bits."""
        return self.enabled << 7 | self.willing << 6 | self.error << 5

    def __str__(self) -> str:
        names = [name for name in ("enabled", "willing", "error") if getattr(self, name)]
        return " ".join(names) or "disabled"


def baseline(
    sequence: int,
    acknowledged: int,
    priorities: Sequence[int],
    flags: Flags = Flags(),
) -> Part:
    """The TLV of version 1.01 with the control sub-TLV and PFC."""
    control = tlv(1, struct.pack("!BBII", 0, 0, sequence, acknowledged), "")
    bits = sum(1 << priority for priority in priorities)
    feature = tlv(3, bytes([0, 0, flags.octet(), 0, bits, 8]), "")
    words = f"1.01: {sequence}, ack {acknowledged}, PFC {','.join(map(str, priorities))} {flags}"
    return organisational(2, control.octets + feature.octets, words, oui=BASELINE)


@dataclass(frozen=True)
class Tlv:
    """A TLV of a received LLDPDU."""

    kind: int
    oui: bytes
    subtype: int
    value: bytes
    length: int


@dataclass(frozen=True)
class Older:
    """Fields of a version 1.01 LLDPDU: sequence numbers, and the error flag of PFC."""

    sequence: int
    acknowledged: int
    pfc_error: bool


def older(frame: bytes) -> Older | None:
    """Parses the version 1.01 fields of a frame; ``None`` if it has none."""
    for one in tlvs(frame):
        if (one.oui, one.subtype) == (BASELINE, 2):
            by_type = {sub.kind: sub.value for sub in _split(one.value)}
            _, _, sequence, acknowledged = struct.unpack("!BBII", by_type[1])
            return Older(sequence, acknowledged, bool(by_type[3][2] & 0x20) if 3 in by_type else False)
    return None


def tlvs(frame: bytes) -> list[Tlv]:
    """The TLVs of an LLDP frame, up to its End TLV."""
    return _split(frame[14:])


def _split(frame: bytes) -> list[Tlv]:
    found, at = [], 0
    while at + 2 <= len(frame):
        (head,) = struct.unpack_from("!H", frame, at)
        kind, length = head >> 9, head & 511
        value = frame[at + 2 : at + 2 + length]
        if kind == 0:
            break
        owned = kind == 127
        found.append(
            Tlv(
                kind,
                value[:3] if owned else b"",
                value[3] if owned and length > 3 else 0,
                value[4:] if owned else value,
                length,
            )
        )
        at += 2 + length
    return found
