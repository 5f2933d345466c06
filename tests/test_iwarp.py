"""iWARP against a stream that is written out: FPDUs one after the other, and a marker at every 512th byte."""

from __future__ import annotations

import pytest

import penstock as ps
from penstock.validation.conversations import alone

DURATION, START, THINK = 10_000_000_000, 1_000_000, 3_000_000
"""Picoseconds."""

EMSS, TAGGED, UNTAGGED, REQUEST = 1_460, 14, 18, 28


class Stream:
    """One direction: how much of it was written."""

    def __init__(self, *, markers: bool) -> None:
        self.at = 0
        self.markers = markers

    def write(self, fpdus: list[int]) -> int:
        """The bytes that these FPDUs take, with the markers that fall into them."""
        begin = self.at
        for length in fpdus:
            left = length
            while left:
                if self.markers and self.at % 512 == 0:
                    self.at += 4
                room = 512 - self.at % 512 if self.markers else left
                self.at += min(room, left)
                left -= min(room, left)
        return self.at - begin


def fpdus(data: int, header: int, *, markers: bool) -> list[int]:
    """A message in segments of DDP: the length, a header, data, padding, a CRC."""
    most = EMSS - (6 + (4 * -(-EMSS // 512) if markers else 0) + EMSS % 4) - header
    parts = [min(most, data - at) for at in range(0, data, most)] or [0]
    return [-(-(2 + header + part) // 4) * 4 + 4 for part in parts]


def exchange(operation: str, data: int, *, markers: bool) -> tuple[list[int], list[int]]:
    """The FPDUs there and back."""
    if operation == "read":
        return fpdus(REQUEST, UNTAGGED, markers=markers), fpdus(data, TAGGED, markers=markers)
    sent = fpdus(data, UNTAGGED if operation == "send" else TAGGED, markers=markers)
    reports = fpdus(0, UNTAGGED, markers=markers)
    return sent + (reports if operation == "write" else []), reports


def run(operation: str, data: int, *, markers: bool) -> dict[str, object]:
    text = f"""\
[simulation]
duration = "{DURATION} ps"
[topology.star]
hosts = 2
rate = "10 Gb/s"
length = "20 m"
phy = "none"
[[flows]]
name = "talk"
from = "h0"
to = "h1"
start = "1 us"
[flows.source.conversation]
messages = {{ iwarp_{operation} = {{ message = "{data} B", markers = {str(markers).lower()} }} }}
think = "3 us"
service = "20 us"
tcp = {{ initial_window = "100000 frames", ack_every = 1 }}
"""
    (row,) = ps.run(ps.Scenario.from_toml(text)).rows("connections")
    return row


@pytest.mark.parametrize("markers", [True, False], ids=["markers", "none"])
@pytest.mark.parametrize("data", [1, 700, 1_424, 100_000])
@pytest.mark.parametrize("operation", ["read", "write", "send"])
def test_exchanges_last_as_long_as_their_streams(operation: str, data: int, markers: bool) -> None:
    """Each takes what its bytes take, and these depend on where in the stream they fall."""
    there, back = exchange(operation, data, markers=markers)
    out, home = Stream(markers=markers), Stream(markers=markers)
    now, took = START, []
    while now < DURATION:
        took.append(alone([out.write(there), home.write(back)], 2))
        now += took[-1] + THINK
    if now - THINK >= DURATION:
        took.pop()
    row = run(operation, data, markers=markers)
    assert row["exchanges"] == len(took)
    assert row["application_bytes"] == len(took) * (sum(there) + sum(back))
    assert round(float(row["exchange_min_ns"]) * 1_000) == min(took)
    assert round(float(row["exchange_max_ns"]) * 1_000) == max(took)
    assert (min(took) < max(took)) == markers
