"""Tables of AICB: the communication of a rank in a training step, one operation per line, in sequence.

Source: `log_analyzer` of aliyun/aicb. Sizes are bytes of the full vector. The elapsed time of a line (us) is
used only for computations; the time of a collective is a result of the simulation.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass

from penstock import _core
from penstock.errors import InputError
from penstock.interchange.piece import brief
from penstock.library import suggestion

from .building import Builder
from .collectives import KINDS, operations
from .parallel import NAMES, layout
from .reading import Found, Options, Repairs
from .stream import Streams

_RANKS = re.compile(r"\[rank0 ~ rank(\d{1,9})\]\s*")
_GROUPS = {
    "dp_group": "data",
    "tp_group": "tensor",
    "pp_group": "pipeline",
    "ep_group": "expert",
    "ep_dp_group": "data-expert",
}
_NEEDED = ("comm_type", "comm_group", "msg_size")
_POINT_TO_POINT = ("isend", "irecv", "send", "recv")


@dataclass(frozen=True)
class Row:
    """A line of the table: its kind, its group, bytes and repetitions."""

    line: int
    kind: str
    group: str
    members: int | None
    size: int
    ns: int
    count: int


@dataclass
class Table:
    """All lines, and the number of ranks, if the file states it."""

    file: str
    ranks: int | None
    rows: list[Row]


def read(files: Sequence[tuple[str, bytes]], options: Options) -> Found:
    """One table."""
    if len(files) != 1:
        raise InputError(f"{files[1][0]}: a second table; expected one file")
    file, data = files[0]
    repairs = Repairs()
    table = parse(file, data.decode("utf-8-sig", errors="replace"), repairs)
    kinds: dict[str, int] = {}
    for row in table.rows:
        name = f"{row.kind} ({row.group})" if row.group else row.kind
        kinds[name] = kinds.get(name, 0) + row.count
    total = sum(row.size * row.count for row in table.rows)
    contents = [
        f"{table.ranks or 'an unknown number of'} ranks; {len(table.rows):,} lines, {total:,} B",
        ", ".join(f"{count:,} {kind}" for kind, count in kinds.items()) or "nothing",
    ]
    found = Found("AICB table", contents, repairs.lines(), [], lambda: _core.Program([]))
    found.program = lambda: _program(table, options, found)
    return found


def parse(file: str, text: str, repairs: Repairs) -> Table:
    """Reads a table.

    Raises
    ------
    InputError
        If the text is not a table of AICB; the message has the line.
    """
    lines = text.splitlines()
    ranks, first = None, 0
    if lines and (match := _RANKS.fullmatch(lines[0])):
        ranks, first = int(match[1]) + 1, 1
    reader = csv.reader(io.StringIO("\n".join(lines[first:])))
    table = Table(file, ranks, [])
    header: list[str] = []
    try:
        for cells in reader:
            line = first + reader.line_num
            if not any(cells):
                continue
            if not header:
                header = [one.strip() for one in cells]
                if missing := [one for one in _NEEDED if one not in header]:
                    raise InputError(
                        f"{file}:{line}: the header has no {missing[0]}; expected "
                        "comm_type,comm_group,msg_size"
                    )
                continue
            if len(cells) != len(header):
                raise InputError(f"{file}:{line}: {len(cells)} cells; the header has {len(header)}")
            table.rows.append(_row(f"{file}:{line}", line, dict(zip(header, cells, strict=True)), repairs))
    except csv.Error as error:
        raise InputError(f"{file}:{first + reader.line_num}: {error}") from error
    return table


def _row(place: str, line: int, cells: dict[str, str], repairs: Repairs) -> Row:
    kind = cells["comm_type"].strip().removeprefix("CommType.").replace("_", "-")
    group = cells["comm_group"].strip().removeprefix("CommGroup.")
    known = [*KINDS, *_POINT_TO_POINT, "computation", "epoch-end"]
    if kind not in known:
        raise InputError(f"{place}: comm_type is {brief(cells['comm_type'])}; {suggestion(kind, known)}")
    if group in ("", "None"):
        group = ""
    elif group not in _GROUPS:
        raise InputError(f"{place}: comm_group is {brief(group)}; {suggestion(group, _GROUPS)}")
    is_collective = kind in KINDS
    if is_collective and not group:
        raise InputError(f"{place}: {kind} without a group; expected {', '.join(_GROUPS)}")
    elapsed = cells.get("_elapsed_time", "None").strip()
    ns = 0
    if kind == "computation":
        if elapsed in ("", "None"):
            repairs.count("computations without _elapsed_time: 0 ns", place)
        else:
            ns = _micros(place, elapsed)
    size = _number(place, "msg_size", cells["msg_size"], 0) if is_collective and kind != "barrier" else 0
    if is_collective and size == 0 and kind != "barrier":
        repairs.count("collectives of 0 bytes: no transfer", place)
    members = _number(place, "comm_group_size", cells.get("comm_group_size", ""), 0) or None
    count = _number(place, "count", cells.get("count", ""), 1)
    return Row(line, kind, _GROUPS.get(group, ""), members, size, ns, count)


def _number(place: str, name: str, text: str, default: int) -> int:
    text = text.strip()
    if text in ("", "None"):
        return default
    if not (text.isascii() and text.isdigit() and len(text) < 17):
        raise InputError(f"{place}: {name} is {brief(text)}; expected a whole number")
    return int(text)


def _micros(place: str, text: str) -> int:
    try:
        found = float(text)
    except ValueError:
        found = -1.0
    if not 0 <= found < 1e12:
        raise InputError(f"{place}: _elapsed_time is {brief(text)}; expected microseconds")
    return round(found * 1_000)


def _program(table: Table, options: Options, found: Found) -> _core.Program:
    ranks = options.ranks or table.ranks
    if ranks is None:
        raise InputError(f"{table.file}: does not say the number of ranks; give it with --ranks")
    sizes = _group_sizes(table)
    tensor, pipeline = sizes.get("tensor", 1), sizes.get("pipeline", 1)
    groups = layout(table.file, ranks, tensor, pipeline, sizes.get("expert", 1))
    if sizes.get("data", groups.data) != groups.data:
        raise InputError(
            f"{table.file}: data groups have {sizes['data']} ranks; {ranks} ranks with tensor {tensor} "
            "and pipeline "
            f"{pipeline} make {groups.data}. Expected --ranks {sizes['data'] * tensor * pipeline}"
        )
    found.notes.append(
        f"groups: tensor {tensor}, data {groups.data}, pipeline {pipeline}, expert {groups.expert}"
    )
    streams = Streams(Builder(ranks, table.file), groups, options.algorithm)
    widths = {name: len(groups.groups(name)[0]) for name in NAMES} | {"pipeline": 1}
    total = sum(
        row.count * (operations(row.kind, widths[row.group], ranks) if row.kind in KINDS else ranks)
        for row in table.rows
    )
    streams.builder.reserve(total * options.iterations, f"{ranks:,} ranks with {len(table.rows):,} lines")
    for _ in range(options.iterations):
        for row in table.rows:
            if row.kind in _POINT_TO_POINT or row.group == "pipeline":
                raise InputError(
                    f"{table.file}:{row.line}: {row.kind} of one rank of a pipeline; the table does "
                    "not say what the "
                    "others do. Use the SimAI workload of the same model, or a generated step"
                )
            for _ in range(row.count):
                if row.kind == "computation":
                    streams.compute(row.ns)
                elif row.kind in KINDS:
                    streams.collective(row.kind, row.group, row.size)
    return streams.builder.build()


def _group_sizes(table: Table) -> dict[str, int]:
    """Sizes of the groups, taken from the lines.

    Raises
    ------
    InputError
        If two lines contradict each other.
    """
    sizes: dict[str, tuple[int, int]] = {}
    for row in table.rows:
        if row.members is not None and row.group:
            size, line = sizes.setdefault(row.group, (row.members, row.line))
            if size != row.members:
                raise InputError(
                    f"{table.file}:{row.line}: a {row.group} group of {row.members} ranks; that of "
                    f"line {line} has {size}"
                )
    return {name: size for name, (size, _) in sizes.items()}
