"""Identifies known file types that `penstock import` cannot read."""

from __future__ import annotations

from collections.abc import Callable

from .piece import Document

BINARY = (
    (b"\x0a\x0d\x0d\x0a", "a capture (pcapng): see penstock decode"),
    (b"\xd4\xc3\xb2\xa1", "a capture (pcap): see penstock decode"),
    (b"\xa1\xb2\xc3\xd4", "a capture (pcap): see penstock decode"),
    (b"\x4d\x3c\xb2\xa1", "a capture (pcap): see penstock decode"),
    (b"\xa1\xb2\x3c\x4d", "a capture (pcap): see penstock decode"),
    (b"\x1f\x8b", "compressed with gzip; unpack it first"),
    (b"PK\x03\x04", "compressed with zip; unpack it first"),
    (b"PAR1", "a Parquet file; expected CSV"),
    (b"\x7f\x10\x00\x00\x00\x00\x00\x00", "a binary GOAL schedule, which is not imported"),
)
"""First octets of binary file types, with descriptions."""
_CHARACTERS = 20_000
"""Number of characters at the beginning that are examined."""


class _Beginning:
    """The beginning of a text: the stripped text, its lines, and its first line with content."""

    def __init__(self, text: str) -> None:
        self.text = text[:_CHARACTERS].strip()
        self.lines = [line.split() for line in self.text.splitlines()]
        self.first: list[str] = next((words for words in self.lines if words and words[0][0] != "#"), [])

    def has_json_key(self, *names: str) -> bool:
        """Returns true if the text begins as a JSON object and contains one of these keys."""
        return self.text.startswith("{") and any(f'"{name}"' in self.text for name in names)

    def has_line(self, *words: str) -> bool:
        """Returns true if a line begins with these words, possibly after the prefix of an MPI job."""
        wanted = [*words]
        return any(
            line[: len(words)] == wanted
            or (line[:1] != [] and [line[0].rpartition(":")[2], *line[1 : len(words)]] == wanted)
            for line in self.lines
        )

    def is_template(self) -> bool:
        """Returns true if the text contains a Jinja statement."""
        statements = (piece[:40].lstrip("-").split(maxsplit=1) for piece in self.text.split("{%")[1:])
        words = {piece[0] for piece in statements if piece}
        return self.text.startswith(("{%", "{#")) or bool(words & {"set", "macro", "include", "import"})

    def is_workload(self) -> bool:
        """Returns true if the text begins with a parallelism policy of ASTRA-sim 1."""
        word = (self.lines or [[]])[0][:1]
        policy = word[0].rstrip(":") if word else ""
        return policy.startswith(("HYBRID_", "DISTRIBUTED_")) or policy in ("MICRO", "DATA", "MODEL")


TEXTS: tuple[tuple[Callable[[_Beginning], bool], str], ...] = (
    (_Beginning.is_template, "a Jinja template: import its rendered output"),
    (
        lambda one: one.first[:1] == ["num_ranks"] and one.first[1:2] != [],
        "a GOAL schedule: penstock trace check reads it",
    ),
    (lambda one: one.has_line("[simulation]"), "a scenario of Penstock: run it, or name it with --like"),
    (
        lambda one: one.text.startswith(("<algo ", "<algo>")),
        "an algorithm of MSCCL: penstock trace check reads it",
    ),
    (_Beginning.is_workload, "a workload of SimAI or ASTRA-sim: penstock trace check reads it"),
    (
        lambda one: any("comm_type,comm_group" in "".join(line) for line in one.lines),
        "a workload of AICB: penstock trace check reads it",
    ),
    (
        lambda one: one.has_line("#", "size", "count", "type"),
        "output of nccl-tests: penstock calibrate reads it",
    ),
    (
        lambda one: one.has_json_key("scheduling-policy", "all-reduce-implementation"),
        "a system of ASTRA-sim, which is not imported",
    ),
    (
        lambda one: one.has_json_key("logical-dims"),
        "a logical topology of ASTRA-sim, which is not imported",
    ),
    (lambda one: one.has_json_key("memory-type"), "a memory of ASTRA-sim, which is not imported"),
    (lambda one: one.has_json_key("workload_graph"), "a trace of Chakra: penstock trace check reads it"),
    (
        lambda one: "".join(one.first).startswith('syntax="proto'),
        "a description of protocol buffers",
    ),
    (
        lambda one: "time_gpu_avg:" in one.text,
        "a list of computation times of AICB, which is not imported",
    ),
    (
        lambda one: one.has_line("TP:") or one.text.startswith("Size,1 Node"),
        "a table of measured bandwidths of SimAI, which is not imported",
    ),
)
"""Tests of the beginning of a text, with descriptions of the file types."""


def of_octets(data: bytes) -> str | None:
    """Description of a binary file, if its type is known."""
    return next((what for first, what in BINARY if data.startswith(first)), None)


def of_text(document: Document) -> str | None:
    """Description of a text that no reader accepts, if its type is known."""
    beginning = _Beginning(document.text)
    return next((what for test, what in TEXTS if test(beginning)), None)
