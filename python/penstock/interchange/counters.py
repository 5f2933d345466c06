"""Counters of devices: output of `ethtool -S` for a NIC, and PFC counters of switches.

For switches it reads `show pfc counters` of SONiC and `show interface priority-flow-control` of Cisco NX-OS.

Source: Linux kernel, documentation of the counters of mlx5 (`counters.rst`) and of RDMA (`hw_counters`);
drivers bnxt_en and ice for the names of their PFC counters; sonic-utilities, `pfcstat`; Cisco Nexus 9000
Series NX-OS Quality of Service Configuration Guide (RxPPP and TxPPP).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from penstock.errors import InputError

from .piece import Document, brief

_LINE = re.compile(r"([\w.\[\]/ -]{1,80}?)\s*:\s*(-?\d+)", re.ASCII)
_HEAD = ("Port Rx", "Port Tx")
_PFC = re.compile(r"PFC([0-7])")
_NAMES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.ASCII), what)
    for pattern, what in (
        (r"(rx|tx)_prio([0-7])_pause", "pause_frames"),
        (r"(rx|tx)_pfc_ena_frames_pri([0-7])", "pause_frames"),
        (r"(rx|tx)_priority_([0-7])_xoff(?:\.nic)?", "pause_frames"),
        (r"(rx|tx)_prio([0-7])_pause_transition", "pauses"),
        (r"(rx|tx)_prio([0-7])_pause_duration", "pause_us"),
        (r"(tx)_prio([0-7])_bytes", "bytes"),
        (r"(tx)_prio([0-7])_packets", "frames"),
        (r"(rx|tx)_bytes_phy()", "bytes"),
        (r"(rx|tx)_packets_phy()", "frames"),
        (r"(rx|tx)_pause_ctrl_phy()", "pause_frames"),
        (r"(tx)_discards_phy()", "drops"),
        (r"(np_cnp_sent)()", "cnps_sent"),
        (r"(rp_cnp_handled)()", "cnps_received"),
        (r"(np_ecn_marked_roce_packets)()", "packets_marked"),
        (r"(out_of_sequence)()", "packets_out_of_order"),
        (r"(packet_seq_err)()", "naks_received"),
        (r"(local_ack_timeout_err)()", "timeouts"),
        (r"(rnr_nak_retry_err)()", "rnr_naks_received"),
    )
)
"""Counter names with direction and priority, mapped to the corresponding measure of a run."""


@dataclass(frozen=True)
class Counter:
    """A counter of a device.

    Attributes
    ----------
    name : str
        Name of the counter, such as "rx_prio3_pause".
    port : str or None
        Port that the file names; ``None`` if the file is of a single device.
    what : str
        Corresponding measure of a run: "pause_frames", "pauses" (intervals), "pause_us", "bytes",
        "frames", "drops", or a column of the table ``queue_pairs``.
    received : bool
        True if it counts received frames.
    priority : int or None
        Priority that it counts; ``None`` for all.
    value : int
        Value of the counter.
    """

    name: str
    port: str | None
    what: str
    received: bool
    priority: int | None
    value: int


@dataclass(frozen=True)
class Counters:
    """The counters of a file.

    Attributes
    ----------
    known : list of Counter
        Counters with a corresponding measure of a run.
    unknown : int
        Number of other counters.
    """

    known: list[Counter]
    unknown: int


def read(document: Document) -> Counters:
    """Reads the counters of a file.

    Raises
    ------
    InputError
        If it has no known counter; the message names the accepted formats.
    """
    lines = [(number, text.strip()) for number, text in enumerate(document.every_line(), 1)]
    tables = [*_tables(document, lines), *_both_ways(document, lines)]
    if tables:
        return Counters(tables, 0)
    known: list[Counter] = []
    unknown = 0
    for line, text in lines:
        found = _LINE.fullmatch(text)
        if found is None:
            continue
        counter = _counter(found[1].strip(), _value(document, line, found[2]))
        known += [counter] if counter else []
        unknown += counter is None
    if not known:
        expected = "the output of ethtool -S, or PFC counters of a switch (SONiC, Cisco NX-OS)"
        raise InputError(
            f"{document.file}: has no counter that corresponds to a measure of a run; expected {expected}"
        )
    return Counters(known, unknown)


def _value(document: Document, line: int, text: str) -> int:
    return document.whole(line, "the counter", text)


def _counter(name: str, value: int) -> Counter | None:
    """A counter by its name; ``None`` if a run has no corresponding measure."""
    for pattern, what in _NAMES:
        if (found := pattern.fullmatch(name)) is not None:
            priority = int(found[2]) if found[2] else None
            return Counter(name, None, what, found[1] == "rx", priority, value)
    return None


def _tables(document: Document, lines: list[tuple[int, str]]) -> Iterator[Counter]:
    """The two tables of ``show pfc counters``: a row for each port, a column for each priority."""
    priorities: list[int] = []
    received = False
    for line, text in lines:
        if text.startswith(_HEAD):
            words = text.split()[2:]
            columns = [_PFC.fullmatch(word) for word in words]
            if not words or not all(columns):
                raise document.error(line, f"{brief(text)}: expected columns PFC0 to PFC7")
            priorities = [int(one[1]) for one in columns if one]
            received = text.startswith(_HEAD[0])
            continue
        words = text.split()
        if not priorities or not words or set(text) <= {"-", " "}:
            continue
        if len(words) != len(priorities) + 1:
            raise document.error(line, f"{brief(text)}: expected a port and {len(priorities)} counters")
        for priority, word in zip(priorities, words[1:], strict=True):
            if word != "N/A":
                value = _value(document, line, word.replace(",", ""))
                name = f"{'rx' if received else 'tx'} PFC{priority}"
                yield Counter(name, words[0], "pause_frames", received, priority, value)


def _both_ways(document: Document, lines: list[tuple[int, str]]) -> Iterator[Counter]:
    """The table of NX-OS: a row per port; its last two columns are pause frames of all priorities."""
    is_table = False
    for line, text in lines:
        words = text.split()
        if words[-2:] == ["RxPPP", "TxPPP"]:
            is_table = True
        elif is_table and len(words) > 3 and "/" in words[0]:
            for name, word, received in zip(("RxPPP", "TxPPP"), words[-2:], (True, False), strict=True):
                yield Counter(name, words[0], "pause_frames", received, None, _value(document, line, word))
