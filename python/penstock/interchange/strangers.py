"""Files of the field that `penstock import` does not read: what they are."""

from __future__ import annotations

import re

from .piece import Document

BINARY = (
    (b"\x0a\x0d\x0d\x0a", "a capture (pcapng): see penstock decode"),
    (b"\xd4\xc3\xb2\xa1", "a capture (pcap): see penstock decode"),
    (b"\xa1\xb2\xc3\xd4", "a capture (pcap): see penstock decode"),
    (b"\x4d\x3c\xb2\xa1", "a capture (pcap): see penstock decode"),
    (b"\xa1\xb2\x3c\x4d", "a capture (pcap): see penstock decode"),
    (b"\x1f\x8b", "packed by gzip; expected its content"),
    (b"PK\x03\x04", "packed by zip; expected its content"),
    (b"PAR1", "a Parquet file; expected CSV"),
    (b"\x7f\x10\x00\x00\x00\x00\x00\x00", "a schedule of GOAL in binary, which is not imported"),
)
"""First octets, and what begins so."""
TEXTS = (
    (r"\s*\{[%#]|.*\{%-?\s*(set|macro|include|import)\b", "a template of Jinja: expected what it renders"),
    (r"(?m)\A(?:[\s#][^\n]*\n|\s)*num_ranks\s+\d", "a schedule of GOAL, which is not imported"),
    (r"(?s).*\[simulation\]\s", "a scenario of Penstock: run it, or name it by --like"),
    (r"\s*<algo\b", "an algorithm of MSCCL, which is not imported"),
    (
        r"(HYBRID_|MICRO\b|DATA\b|MODEL\b|DISTRIBUTED_)",
        "a workload of SimAI or ASTRA-sim, which is not imported",
    ),
    (r"(?s).*comm_type,\s*comm_group", "a workload of AICB, which is not imported"),
    (r"(?s).*#\s+size\s+count\s+type", "what nccl-tests print, which is not imported"),
    (
        r'(?s)\s*\{.*"(scheduling-policy|all-reduce-implementation)"',
        "a system of ASTRA-sim, which is not imported",
    ),
    (r'(?s)\s*\{.*"logical-dims"', "a logical topology of ASTRA-sim, which is not imported"),
    (r'(?s)\s*\{.*"memory-type"', "a memory of ASTRA-sim, which is not imported"),
    (r'(?s)\s*\{.*"workload_graph"', "a trace of Chakra, which is not imported"),
    (r'\s*syntax\s*=\s*"proto', "a description of protocol buffers"),
    (
        r"(?m).*^(CC_MODE|ENABLE_QCN|PACKET_PAYLOAD_SIZE)\s",
        "a configuration of a simulator, which is not imported",
    ),
)
"""Beginnings of texts, and what begins so."""
_LOOKED_AT = 20_000


def of_octets(data: bytes) -> str | None:
    """What a file that is no text is, if it is known."""
    return next((what for first, what in BINARY if data.startswith(first)), None)


def of_text(document: Document) -> str | None:
    """What a text is that no reader takes, if it is known."""
    beginning = document.text[:_LOOKED_AT]
    return next((what for pattern, what in TEXTS if re.match(pattern, beginning, re.DOTALL)), None)
