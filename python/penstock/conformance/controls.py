"""Legal and illegal control frames for the tester, encoded from the standards without the engine's code.

Source: IEEE 802.3 annexes 31B (PAUSE) and 31D (PFC), IEEE 802.1Q clause 33 (CNM).
"""

from __future__ import annotations

import struct
from collections.abc import Mapping

from .frames import LEAST_BYTES, Sent, mac

CONTROL = "01:80:c2:00:00:01"
TESTER = "02:00:00:00:ff:01"
STATION = "02:00:00:00:00:02"
"""Address of the first host of a star; the first station is the switch."""
MAC_CONTROL, VLAN, CN_TAG, CNM = b"\x88\x08", b"\x81\x00", b"\x22\xe9", b"\x22\xe7"
PAUSE_OPCODE, PFC_OPCODE = 0x0001, 0x0101


def control(
    opcode: int,
    fields: bytes,
    what: str,
    *,
    to: str = CONTROL,
    tag: bytes = b"",
    length: int = LEAST_BYTES,
) -> Sent:
    """A MAC Control frame, truncated or padded to a length without FCS."""
    octets = mac(to) + mac(TESTER) + tag + MAC_CONTROL + struct.pack("!H", opcode) + fields
    return Sent(what, octets.ljust(length, b"\0")[:length])


def pause(quanta: int) -> Sent:
    """A PAUSE frame."""
    return control(PAUSE_OPCODE, struct.pack("!H", quanta), f"PAUSE {quanta}")


def vector(enabled: int, times: Mapping[int, int]) -> bytes:
    """Enable vector, which may have reserved bits set, and times of all priorities, enabled or not."""
    return struct.pack("!H8H", enabled, *(times.get(priority, 0) for priority in range(8)))


def pfc(times: Mapping[int, int], *, enabled: int | None = None, opcode: int = PFC_OPCODE, to: str = CONTROL,
        tag: bytes = b"", length: int = LEAST_BYTES, what: str = "") -> Sent:  # fmt: skip
    """PFC with times in quanta by priority.

    Parameters
    ----------
    times : mapping of int to int
        Quanta of each priority.
    enabled : int, optional
        The enable vector. Default: a bit for each of `times`.
    Fields that may be invalid: opcode, destination, octets before the type, and length without FCS.
        Fields that may be wrong: opcode, destination, octets before the type, and length without FCS.
    what : str, optional
        Description of the error for a report.
    """
    bits = sum(1 << priority for priority in times) if enabled is None else enabled
    quanta_of = ", ".join(f"{priority}: {quanta}" for priority, quanta in times.items())
    words = f"PFC {quanta_of}" + (f" ({what})" if what else "")
    return control(opcode, vector(bits, times), words, to=to, tag=tag, length=length)


def cnm(
    feedback: int,
    *,
    flow: int | None = 0,
    version: int = 0,
    reserved: int = 0,
    declared_length: int | None = None,
    octets: int | None = None,
    to: str = STATION,
) -> Sent:
    """A congestion notification message with 8 octets of the sampled frame.

    Parameters
    ----------
    feedback : int
        QntzFb, 0 to 63.
    flow : int or None, optional
        Flow of its CN-TAG; ``None``: no tag. Default: 0.
    version, reserved : int, optional
        Version, 0 to 15, and reserved bits, 0 to 63. Default: 0.
    said_length : int, optional
        Value of the field for the length of the sampled octets. Default: 8, the correct value.
    octets : int, optional
        Length to which its PDU is truncated. Default: not truncated.
    to : str, optional
        Destination. Default: the first host of a star.
    """
    sampled = b"\x08\x00" + bytes(6)
    length = len(sampled) if declared_length is None else declared_length
    head = struct.pack("!HQhh", version << 12 | reserved << 6 | feedback, 0x0200_0000_00FF_0001, -100, 10)
    pdu = head + bytes([3 << 5, 0]) + mac(TESTER) + struct.pack("!H", length) + sampled
    tag = b"" if flow is None else CN_TAG + struct.pack("!H", flow)
    whole = mac(to) + mac(TESTER) + VLAN + struct.pack("!H", 6 << 13) + tag + CNM + pdu[:octets]
    words = [f"CNM {feedback}"]
    words += [f"flow {flow}"] if flow is not None else ["no CN-TAG"]
    words += [f"{name} {value}" for name, value in (("version", version), ("reserved", reserved)) if value]
    words += [f"to {to}"] if to != STATION else []
    words += [f"length {declared_length}"] if declared_length is not None else []
    words += [f"{octets} octets"] if octets is not None else []
    # A truncated frame is not padded; it ends with the truncated PDU.
    return Sent(", ".join(words), whole if octets is not None else whole.ljust(LEAST_BYTES, b"\0"))
