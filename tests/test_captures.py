"""Captures of other programs: truncated frames, nanoseconds, unterminated options, other link types."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest

from penstock import _core

IPV4_UDP = bytes.fromhex(
    "020000000002020000000001080045000 5dc000040004011 0000 0a000001 0a000002 c000 12b7 05c8 0000".replace(
        " ", ""
    )
)
"""A frame of RoCEv2 in 1514 octets as its sender sees it: the checksum of IPv4 is left to the NIC."""


def pcap(frames: list[tuple[int, bytes]], *, magic: int = 0xA1B2C3D4, snap: int = 96, link: int = 1) -> bytes:
    head = struct.pack("<IHHiIII", magic, 2, 4, 0, 0, snap, link)
    return head + b"".join(struct.pack("<IIII", 1, 5, len(data), length) + data for length, data in frames)


def decoded(path: Path) -> list[dict[str, Any]]:
    return [json.loads(text) for text in _core.Capture(str(path))]


@pytest.mark.parametrize("captured", [14, 20, 34, 42, 54, 96])
def test_cut_frames_are_read_as_far_as_they_go(captured: int, tmp_path: Path) -> None:
    """Addresses from 14 octets on, IPv4 from 34, ports from 42, the packet of RoCEv2 from 54."""
    path = tmp_path / "x.pcap"
    path.write_bytes(pcap([(1_514, (IPV4_UDP + bytes(96))[:captured])]))
    (frame,) = decoded(path)
    assert (frame["source"], frame["bytes"], frame["captured_bytes"]) == (
        "02:00:00:00:00:01",
        1_514,
        captured,
    )
    if captured < 34:
        assert frame["error"].startswith(f"the capture has only its first {captured} B: IPv4")
        return
    ip = frame["contents"]["ipv4"]
    assert (ip["source"], ip["protocol"]) == ("10.0.0.1", 17)
    assert ip.get("destination_port") == (4_791 if captured >= 42 else None)
    assert ("roce" in ip) == (captured >= 54)
    assert frame["what"].endswith(f"; cut, {captured} of 1514 B")


def test_nanoseconds_and_any_snap_length(tmp_path: Path) -> None:
    path = tmp_path / "x.pcap"
    for magic, nanoseconds in ((0xA1B2C3D4, 5_000), (0xA1B23C4D, 5)):
        for snap in (0, 64, 262_144):
            path.write_bytes(pcap([(1_514, bytes(64)), (64, bytes(64))], magic=magic, snap=snap))
            assert [frame["time_ns"] for frame in decoded(path)] == [10**9 + nanoseconds] * 2


def test_other_links_are_named(tmp_path: Path) -> None:
    path = tmp_path / "x.pcap"
    path.write_bytes(pcap([(64, bytes(64))], link=113))
    with pytest.raises(
        ValueError, match=r"the frames of the capture are of LINUX_SLL \(113\); only those of Ethernet"
    ):
        _core.Capture(str(path))


def block(kind: int, body: bytes) -> bytes:
    length = len(body) + 12
    return struct.pack("<II", kind, length) + body + struct.pack("<I", length)


def test_pcapng_of_other_programs(tmp_path: Path) -> None:
    """Options without their end, at a section, an interface and a frame; a frame of another link between
    those of Ethernet."""
    application, name, comment = (
        struct.pack("<HH", code, len(text)) + text
        for code, text in ((4, b"test"), (2, b"eth0"), (1, b"here"))
    )
    section = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1) + application)
    interfaces = block(1, struct.pack("<HHI", 1, 0, 0) + name) + block(1, struct.pack("<HHI", 113, 0, 0))
    frames = b"".join(
        block(6, struct.pack("<IIIII", number, 0, 7, 60, 60) + bytes(60) + comment) for number in (0, 1, 0)
    )
    path = tmp_path / "x.pcapng"
    path.write_bytes(section + interfaces + frames)
    first, other, last = decoded(path)
    assert (first["port"], first["comment"], first["time_ns"]) == ("eth0", "here", 7_000)
    assert other["error"] == "of LINUX_SLL (113), not Ethernet"
    assert last["what"] == "type 0x0000, 46 B"
