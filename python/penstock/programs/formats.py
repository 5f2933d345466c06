"""Reads programs of ranks in any known format, which is detected from the contents of the files."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from penstock.errors import InputError
from penstock.interchange import formats as fabrics
from penstock.interchange import htsim
from penstock.interchange.piece import Document
from penstock.interchange.strangers import of_text
from penstock.library import files_beside, suggestion

from . import aicb, chakra_program, connections, goal, msccl, protobuf, simai
from .building import without_collection
from .chakra import GZIP
from .reading import Found, Options, Reader

MOST_BYTES = 1 << 30
"""Maximum size of a file in bytes."""
_HEAD = 1 << 16


@dataclass(frozen=True)
class Format:
    """A format.

    Attributes
    ----------
    name, about : str
        Name and description, for options and lists.
    reads : callable
        Function that reads files of the format.
    recognises : callable
        Returns true if the beginning of a file looks like the format.
    """

    name: str
    about: str
    reads: Reader
    recognises: Callable[[bytes, str], bool]


def _first(text: str) -> str:
    """The first line that is neither blank nor a comment."""
    text = re.sub(r"\A(?:\s+|//[^\n]*|/\*.*?\*/|#[^\n]*)+", "", text, flags=re.DOTALL)
    return text[: text.find("\n")] if "\n" in text else text


FORMATS = (
    Format(
        "goal",
        "schedules of LogGOPSim and ATLAHS, text and binary",
        goal.read,
        lambda data, text: data.startswith(goal.MAGICS) or _first(text).startswith("num_ranks"),
    ),
    Format(
        "msccl",
        "algorithms of collectives in XML",
        msccl.read,
        lambda _, text: (
            re.match(r"\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*<algo\b", text, re.DOTALL) is not None
        ),
    ),
    Format(
        "aicb",
        "tables of what a training step communicates (csv)",
        aicb.read,
        lambda _, text: "comm_type," in text[:4096] and re.match(r"(?:\[rank|comm_type)", text) is not None,
    ),
    Format(
        "htsim",
        "connection matrices with triggers (.cm, .tm)",
        connections.read,
        lambda _, text: htsim.recognises(Document("", text)),
    ),
    Format(
        "simai",
        "workloads of SimAI and ASTRA-sim 1",
        simai.read,
        lambda _, text: (text.split(maxsplit=1) or [""])[0] in simai.POLICIES,
    ),
    Format(
        "chakra",
        "execution traces, a file for each rank (.et, JSON, archives)",
        chakra_program.read,
        lambda data, text: data.startswith(GZIP) or '"workload_graph"' in text or _is_trace(data),
    ),
)


def _is_trace(data: bytes) -> bool:
    """Returns true if the first record is Chakra metadata, which has only fields 1 and 2."""
    try:
        offset, first = next(protobuf.records(memoryview(data)))
        return {number for number, _, _ in protobuf.fields(first, offset)} <= {1, 2}
    except protobuf.Malformed:
        return False


def contents(path: Path) -> bytes:
    """Returns the contents of a file.

    Raises
    ------
    InputError
        If it cannot be read, or is larger than 1 GiB.
    """
    try:
        if not path.is_file():
            near = suggestion(str(path), files_beside(path)) if not path.exists() else ""
            hint = f"; {near}" if near.startswith("did") else ""
            raise InputError(f"{path}: is not a file{hint}")
        if path.stat().st_size > MOST_BYTES:
            raise InputError(f"{path}: is larger than {MOST_BYTES >> 20} MiB")
        data = path.read_bytes()
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: {getattr(error, 'strerror', None) or error}") from error
    if not data:
        raise InputError(f"{path}: is empty")
    return data


def format_of(file: str, data: bytes, name: str | None = None) -> Format:
    """Returns the format with a name, or the detected format of a file.

    Raises
    ------
    InputError
        If there is none; the message describes the file if its type is known.
    """
    names = [one.name for one in FORMATS]
    if name is not None:
        if name not in names:
            raise InputError(f"--format {name}: no such format; {suggestion(name, names)}")
        return FORMATS[names.index(name)]
    head = data[:_HEAD].decode("utf-8-sig", errors="replace")
    for one in FORMATS:
        if one.recognises(data, head):
            return one
    known = f"looks like no format of programs; expected {', '.join(names)}"
    raise InputError(f"{file}: {_stranger(file, data) or known}")


def _stranger(file: str, data: bytes) -> str | None:
    """Returns a description of a file without a program; `None` if its type is unknown."""
    text = data.decode("utf-8-sig", errors="replace")
    if re.search(
        r"^(?:\[[^\]]*\]<\w+>:)?#\s+size\s+count\s+type\b|^# nThread |Avg bus bandwidth", text, re.MULTILINE
    ):
        return "holds measurements of nccl-tests, and no program; penstock calibrate reads it"
    if re.search(r"<graphs\b", text[:4096]):
        return "is a graph of NCCL (NCCL_GRAPH_FILE), the choice of its rings and trees, which is not read"
    if "\ufffd" not in text and "\0" not in text:
        document = Document(file, text)
        if stranger := of_text(document):
            return f"is {stranger}"
        for one in fabrics.FORMATS:
            if one.recognises(document.head()):
                return f"holds no program but {one.about}; penstock import --format {one.name} reads it"
    return None


def read(files: Sequence[tuple[str, bytes]], options: Options, name: str | None = None) -> Found:
    """Reads files that belong together; several files are the Chakra traces of as many ranks.

    Parameters
    ----------
    files : sequence of (str, bytes)
        Names, for messages, and contents of the files.
    options : Options
        Choices that the files do not determine.
    name : str, optional
        Name of a format. By default, it is detected from the first file.

    Raises
    ------
    InputError
        If they cannot be read; the message has the file, the place, the value and the accepted values.
    """
    with without_collection():
        found = format_of(*files[0], name).reads(files, options)
    found.program = without_collection()(found.program)
    return found
