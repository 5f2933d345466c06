"""Every reader of other formats, with random input, within limits of time and memory.

The examples are mutations of small files, files that repeat a piece many times, and files of pieces that
formats have in common. PENSTOCK_FUZZ_EXAMPLES is how many there are of each format and kind.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from penstock.errors import InputError
from penstock.interchange.formats import FORMATS, format_of
from penstock.interchange.piece import Document
from penstock.interchange.strangers import of_text
from test_interchange_mutated import SEEDS

EXAMPLES = int(os.environ.get("PENSTOCK_FUZZ_EXAMPLES", "120"))
LONGEST_S = 5
MOST_BYTES = 1 << 30
"""Address space that reading may add."""
SIGNS = [
    "\n",
    " ",
    "\t",
    "#",
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    '"',
    "<",
    ">",
    "/",
    "->",
    "-",
    "=",
    "|",
    "\\",
    "\0",
]
NUMBERS = ["0", "1", "65536", "4294967296", "1e999", "1e-999", "0.5", "nan", "\u0663", "\u2028", "9" * 5_000]
OF_GRAPHS = ["<!-- a -->", "<?xml?>", "<graphml>", "<system>", '<!ENTITY a "aa">', "graph [", "node [ id 1 ]"]
OF_FABRICS = ["npus_count: [ 65536 ]", "topology: [ Ring ]", "Nodes 4", "Tiers 3", "Tier 0", "Radix_Up 65536"]
OF_SWITCHES = ['{"PORT_QOS_MAP": {}}', '"tc_tsa": []', "nv set qos pfc p", "swp1-9999", "100000 40m 1 1 1 1"]
OTHERS = [
    "mlnx_qos -i a",
    "sudo",
    "tc: 0",
    "src,dst,bytes,start_us",
    "0->1",
    "barrier count 1000000000",
    "Gbps",
]
PIECES = st.sampled_from([*SIGNS, *NUMBERS, *OF_GRAPHS, *OF_FABRICS, *OF_SWITCHES, *OTHERS, "x" * 300])
LONGEST = 1 << 20


def repeated(piece: str, times: int, end: str) -> str:
    return piece * min(times, LONGEST // len(piece)) + end


KINDS = {
    "pieces": st.lists(PIECES, max_size=40).map("".join),
    "repeated": st.tuples(PIECES, st.integers(1, 20_000), PIECES).map(lambda one: repeated(*one)),
    "lines": st.lists(PIECES, max_size=20).map("\n".join),
}


class TooLong(BaseException):
    """A reader took longer than it may; no reader catches this."""


@contextmanager
def limits() -> Iterator[None]:
    """Ends a block that takes too long; what needs too much memory fails."""

    def late(_: int, frame: FrameType | None) -> None:
        raise TooLong(f"more than {LONGEST_S} s, at {frame}")

    before = signal.signal(signal.SIGALRM, late)
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MOST_BYTES, hard))
    signal.setitimer(signal.ITIMER_REAL, LONGEST_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        signal.signal(signal.SIGALRM, before)


def tried(name: str, text: str) -> None:
    """Reads a text as one format; it is read or refused."""
    document = Document("file", text, rate="100 Gb/s", length="40 m", buffer="160 MiB")
    known = next(one for one in FORMATS if one.name == name)
    with limits():
        of_text(document)
        known.recognises(document.head())
        try:
            known.read(document)
        except InputError as error:
            assert len(str(error)) < 20_000


needs_linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits are those of Linux")
quietly = settings(
    max_examples=EXAMPLES,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink],  # to explain takes tracing
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
)


@needs_linux
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", SEEDS)
def test_any_text_is_read_or_refused(name: str, kind: str) -> None:
    @quietly
    @given(text=KINDS[kind])
    def try_one(text: str) -> None:
        tried(name, text)

    try_one()


@needs_linux
@pytest.mark.parametrize("name", SEEDS)
def test_a_file_with_pieces_in_it_is_read_or_refused(name: str) -> None:
    seed = SEEDS[name]

    @quietly
    @given(at=st.integers(0, len(seed)), cut=st.integers(0, 40), piece=PIECES, times=st.integers(1, 3_000))
    def try_one(at: int, cut: int, piece: str, times: int) -> None:
        tried(name, seed[:at] + piece * times + seed[at + cut :])

    try_one()


@needs_linux
@pytest.mark.parametrize("name", SEEDS)
def test_a_file_with_lines_many_times_is_read_or_refused(name: str) -> None:
    lines = SEEDS[name].splitlines(keepends=True)

    @quietly
    @given(at=st.integers(0, len(lines) - 1), times=st.sampled_from([2, 100, 5_000]))
    def try_one(at: int, times: int) -> None:
        tried(name, "".join([*lines[:at], lines[at] * times, *lines[at + 1 :]]))

    try_one()


@needs_linux
def test_a_refusal_of_all_formats_is_as_quick() -> None:
    """A text that is of no format goes through every reader, which says where it stops."""

    @settings(quietly, max_examples=EXAMPLES // 2)
    @given(text=KINDS["repeated"])
    def try_one(text: str) -> None:
        with limits():
            try:
                format_of(Document("file", text)).name  # noqa: B018
            except InputError as error:
                assert len(str(error)) < 50_000

    try_one()


@needs_linux
def test_the_limits_bite() -> None:
    with pytest.raises(TooLong), limits():
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        while True:
            pass
    with pytest.raises(MemoryError), limits():
        bytearray(2 * MOST_BYTES)
