"""Settings of a port from the output of `mlnx_qos -i PORT`: a PFC table, and lines for each traffic class.

Source: the output of `mlnx_qos` (mlnx-tools). `tsa: vendor` is its default: the NIC decides how classes share
the link. The DSCP map applies if the port trusts DSCP.

Not imported, but reported: rate limits, buffers, and the owner of DCBX.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from .json_text import MadePart, Part
from .piece import Document, brief

EIGHT = 8
CODE_POINTS = 64
_LEFT_OUT = ("Receive buffer", "DCBX mode", "buffer", "total")
_HEADS = ("PFC configuration:", "priority ", "dscp2prio", "default priority:")


@dataclass
class _Output:
    """State of the parser."""

    document: Document
    remarks: list[str]
    pfc: list[str] | None = None
    classes: list[int | None] = field(default_factory=lambda: [None] * EIGHT)
    shares: list[int] = field(default_factory=lambda: [0] * EIGHT)
    names: list[str] = field(default_factory=lambda: ["strict"] * EIGHT)
    current: int | None = None
    """Traffic class whose priorities follow."""
    trust: str = ""
    codes: dict[int, int] = field(default_factory=dict)
    """Priorities by DSCP."""
    codes_line: int = 1
    length: str = ""

    def take(self, line: int, text: str) -> None:
        """Handles a line."""
        head, _, rest = text.partition(":")
        if head == "tc":
            self._class(line, text)
        elif head == "priority" and self.current is not None:
            self._priorities(line, rest)
        elif head == "prio":
            self._code_points(line, rest)
        elif text.startswith("enabled"):
            words = text.split()[1:]
            if len(words) != EIGHT or not set(words) <= {"0", "1"}:
                raise self.document.error(line, f"{brief(text)}: expected eight digits 0 or 1")
            self.pfc = ["on" if word == "1" else "off" for word in words]
        elif head == "Priority trust state":
            self.trust = rest.strip()
        elif head == "Cable len":
            metres = self.document.whole(line, "Cable len", rest.strip(), 0, 100_000)
            self.length = f"{metres} m" if metres else ""
        elif text.startswith(_LEFT_OUT):
            self.remarks.append(f"{self.document.file}:{line}: not read: {brief(text)}")
        elif not text.startswith(_HEADS):
            raise self.document.error(line, f"{brief(text)}: not a line of mlnx_qos output")

    def _class(self, line: int, text: str) -> None:
        """Handles a line such as ``tc: 0 ratelimit: unlimited, tsa: ets, bw: 30%``."""
        columns = dict(_pairs(text.replace(",", " ").split()))
        if "tc" not in columns or "tsa" not in columns:
            raise self.document.error(line, f"{brief(text)}: not a line of mlnx_qos output")
        self.current = self.document.whole(line, "tc", columns["tc"], 0, EIGHT - 1)
        self.names[self.current] = columns["tsa"]
        share = columns.get("bw", "0").removesuffix("%")
        self.shares[self.current] = self.document.whole(line, "bw", share, 0, 100)
        if (limit := columns.get("ratelimit", "unlimited")) != "unlimited":
            self.remarks.append(f"{self.document.file}:{line}: not read: ratelimit {brief(limit)}")

    def _priorities(self, line: int, text: str) -> None:
        for word in text.split():
            priority = self.document.whole(line, "priority", word, 0, EIGHT - 1)
            known = self.classes[priority]
            if known not in (None, self.current):
                raise self.document.error(line, f"priority {priority} is already in class {known}")
            self.classes[priority] = self.current

    def _code_points(self, line: int, text: str) -> None:
        """Handles a line such as ``prio:0 dscp:07,06,05,``."""
        priority, _, codes = text.strip().partition(" dscp:")
        number = self.document.whole(line, "prio", priority.strip(), 0, EIGHT - 1)
        self.codes_line = line
        for code in codes.replace(",", " ").split():
            self.codes[self.document.whole(line, "dscp", code, 0, CODE_POINTS - 1)] = number

    def table(self) -> dict[str, object]:
        """The settings in the form of `dcb -j`, and the DSCP map."""
        found: dict[str, object] = {} if self.pfc is None else {"prio_pfc": self.pfc}
        if any(one is not None for one in self.classes):
            if missing := [str(priority) for priority, one in enumerate(self.classes) if one is None]:
                message = f"priorities {', '.join(missing)} are in no class; expected all eight"
                raise self.document.error(1, message)
            found |= {"prio_tc": self.classes, "tc_tsa": self.names, "tc_bw": self.shares}
        usual = {code: code // EIGHT for code in range(CODE_POINTS)}
        if self.codes and self.trust != "dscp":
            self.remarks.append(
                f"{self.document.file}:{self.codes_line}: not read: dscp2prio: the port trusts "
                f"{brief(self.trust) or 'no DSCP'}"
            )
        elif self.codes not in ({}, usual):
            found["dscp_to_tc"] = self.codes
        return found


def output(document: Document, remarks: list[str], links: dict[str, str]) -> Iterator[Part]:
    """The settings as one object; sets the cable length in `links`."""
    found = _Output(document, remarks)
    for line, text in document.lines():
        found.take(line, text)
    if found.length:
        links["length"] = found.length
    table: Mapping[str, object] = found.table()
    yield MadePart.of(document, table)


def _pairs(words: list[str]) -> Iterator[tuple[str, str]]:
    """Splits text into words that end with a colon, each with the words after it."""
    at = 0
    while at < len(words):
        key, at, values = words[at].rstrip(":"), at + 1, []
        while at < len(words) and not words[at].endswith(":"):
            values.append(words[at])
            at += 1
        yield key, " ".join(values)
