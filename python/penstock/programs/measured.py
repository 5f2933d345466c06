"""Reads measurements of messages and collectives: output of nccl-tests and perftest, and tables (csv).

nccl-tests: a GB/s is 10^9 bytes per second, times are in us. Lines may have the prefix of mpirun
(`[1,0]<stdout>:`), with other lines in between. perftest: a MB/s is 2^20 bytes per second, a Gb/s 10^9 bits
per second; latency tests report the one-way time. Tables have the column `bytes` and one of `time_us`,
`busbw_GBps` and `algbw_GBps`.

Source: `common.cu` and PERFORMANCE.md of NVIDIA/nccl-tests; `perftest_resources.c` of linux-rdma/perftest.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.errors import InputError
from penstock.interchange.piece import brief
from penstock.library import suggestion

_PREFIX = re.compile(r"^\[[^\]]{1,40}\]<\w+>:\s?")
_TYPE = re.compile(r"[a-z]\w{2,12}")
_RANK = re.compile(r"^#\s+Rank\s+(\d{1,7})\s")
_PROGRAM = re.compile(r"\b(\w+)_perf\b")
_NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[+-]?\d+)?")
_FIRST_GROUP = {7: 3, 8: 4, 9: 5, 11: 3, 12: 4, 13: 5}
"""Numbers of fields in a row, and of those before the first time; some tests omit reduction and root."""
COLLECTIVES = (
    "all-reduce",
    "all-gather",
    "reduce-scatter",
    "all-to-all",
    "broadcast",
    "reduce",
    "send-receive",
)
_NAMES = {"alltoall": "all-to-all", "sendrecv": "send-receive"}
_MIB = 1 << 20


def bus_factor(collective: str, ranks: int) -> float:
    """Ratio of bus bandwidth to algorithm bandwidth."""
    if collective == "all-reduce":
        return 2 * (ranks - 1) / ranks
    return (ranks - 1) / ranks if collective in ("all-gather", "reduce-scatter", "all-to-all") else 1.0


def steps(collective: str, ranks: int) -> int:
    """Number of messages in sequence, for a ring and for a direct exchange."""
    if collective == "all-reduce":
        return 2 * (ranks - 1)
    return 1 if collective == "send-receive" else ranks - 1


@dataclass
class Measurement:
    """Times by size.

    Attributes
    ----------
    file, source : str
        Name of the file, and the program that wrote it.
    times_us : dict
        Time in us by size in bytes; if a size appears several times, the last one is used.
    collective : str
        One of `COLLECTIVES`; "message" for perftest; empty if the file does not state it.
    ranks : int or None
        Number of ranks, if the file states it.
    is_interval : bool
        True if times are intervals between messages instead of latencies.
    """

    file: str
    source: str
    times_us: dict[int, float] = field(default_factory=dict)
    collective: str = ""
    ranks: int | None = None
    is_interval: bool = False


def read(
    file: str, text: str, *, in_place: bool = False, collective: str = "", ranks: int | None = None
) -> Measurement:
    """Reads a measurement; `collective` and `ranks` complete a file that does not state them.

    Raises
    ------
    InputError
        If it is not a measurement, or has no sizes; the message names the line.
    """
    collective = collective.replace("_", "-")
    if collective and collective not in COLLECTIVES:
        raise InputError(f"--collective {collective}; {suggestion(collective, COLLECTIVES)}")
    lines = [_PREFIX.sub("", line) for line in text.splitlines()]
    if any(line.split()[:1] == ["#bytes"] for line in lines):
        found = _perftest(file, lines)
    elif any(line.split()[:4] == ["#", "size", "count", "type"] for line in lines):
        found = _nccl(file, lines, in_place=in_place)
    elif "bytes" in next((line for line in lines if not line.startswith("#")), "").split(","):
        found = _table(file, lines, collective, ranks)
    else:
        averages = " It has averages alone." if "Avg bus bandwidth" in text else ""
        raise InputError(
            f"{file}: has no rows of nccl-tests or perftest, and no column bytes.{averages} Expected "
            "their output "
            "with a row for each size"
        )
    found.collective = collective or found.collective
    found.ranks = ranks or found.ranks
    if not found.times_us:
        raise InputError(f"{file}: has no sizes of more than 0 bytes")
    return found


def _nccl(file: str, lines: list[str], *, in_place: bool) -> Measurement:
    found = Measurement(file, "nccl-tests")
    ranks: set[str] = set()
    ratios: list[float] = []
    redop = ""
    for number, line in enumerate(lines, 1):
        if rank := _RANK.match(line):
            ranks.add(rank[1])
        if (program := _PROGRAM.search(line)) and not found.collective:
            name = program[1].replace("_", "-")
            name = _NAMES.get(name, name)
            found.collective = name if name in COLLECTIVES else ""
        words = line.split()
        if len(words) < min(_FIRST_GROUP) or not (words[0].isdigit() and words[1].isdigit()):
            continue
        if _TYPE.fullmatch(words[2]) is None:
            continue
        first = _FIRST_GROUP.get(len(words))
        if first is None:
            raise InputError(f"{file}:{number}: a row of {len(words)} fields; expected 7 to 9, or 11 to 13")
        redop = words[3] if first > 3 else redop
        at = first + 4 if in_place and len(words) > 10 else first
        time, algbw, busbw = (_number(file, number, word) for word in words[at : at + 3])
        if int(words[0]) > 0:
            found.times_us[int(words[0])] = time
            if algbw >= 0.5:
                ratios.append(busbw / algbw)
    found.ranks = len(ranks) or None
    if not found.collective and ratios and found.ranks:
        found.collective = _by_ratio(sorted(ratios)[len(ratios) // 2], found.ranks, redop)
    return found


def _by_ratio(ratio: float, ranks: int, redop: str) -> str:
    """Identifies the collective by its ratio of bandwidths, if it is a reduction; empty otherwise."""
    if redop in ("", "none") or ranks < 2:
        return ""
    near = [one for one in ("all-reduce", "reduce-scatter") if abs(ratio / bus_factor(one, ranks) - 1) < 0.02]
    return near[0] if len(near) == 1 else ""


def _perftest(file: str, lines: list[str]) -> Measurement:
    found = Measurement(file, "perftest", collective="message", ranks=2)
    heads: list[str] = []
    for number, line in enumerate(lines, 1):
        if line.split()[:1] == ["#bytes"]:
            heads = re.split(r"\s{2,}|\t+", line.strip())
            heads = [one for head in heads for one in re.split(r"(?<=\])\s+", head)]
            continue
        words = line.split()
        if not heads or not words or not words[0].isdigit():
            continue
        if len(words) < 3:
            raise InputError(f"{file}:{number}: a row of {len(words)} fields; expected those of the header")
        size = int(words[0])
        joined = " ".join(heads)
        if "BW average" in joined:
            found.is_interval = True
            bandwidth = _number(file, number, words[3] if len(words) > 3 else "")
            unit = 1e9 / 8 if "Gb/sec" in joined else _MIB
            if bandwidth <= 0:
                raise InputError(f"{file}:{number}: a bandwidth of {words[3]}; expected more than 0")
            time = size / (bandwidth * unit) * 1e6
        else:
            column = 5 if "t_avg" in joined and len(words) > 5 else 2
            time = _number(file, number, words[column])
        if size > 0:
            found.times_us[size] = time
    return found


def _table(file: str, lines: list[str], collective: str, ranks: int | None) -> Measurement:
    """Reads a table, which may begin with # comments."""
    found = Measurement(file, "table")
    first = next(place for place, line in enumerate(lines) if not line.startswith("#"))
    try:
        rows = list(csv.DictReader(io.StringIO("\n".join(lines[first:]))))
    except csv.Error as error:
        raise InputError(f"{file}: {error}") from error
    for number, row in enumerate(rows, first + 2):
        name = next((one for one in ("time_us", "busbw_GBps", "algbw_GBps") if row.get(one)), None)
        if name is None:
            raise InputError(
                f"{file}:{number}: no time; expected the column time_us, busbw_GBps or algbw_GBps"
            )
        size = row["bytes"] or ""
        if not (size.isascii() and size.isdigit() and 0 < int(size) < 2**53):
            raise InputError(
                f"{file}:{number}: bytes is {brief(size)}; expected a whole number of at least 1"
            )
        value = _number(file, number, row[name] or "")
        if name != "time_us":
            if name == "busbw_GBps" and (not collective or ranks is None):
                raise InputError(f"{file}: has bus bandwidths; expected --collective and --ranks")
            if value <= 0:
                raise InputError(f"{file}:{number}: {name} is {row[name]}; expected more than 0")
            factor = bus_factor(collective, ranks) if name == "busbw_GBps" and ranks else 1.0
            value = int(size) * factor / (value * 1e3)
        found.times_us[int(size)] = value
    return found


def _number(file: str, line: int, text: str) -> float:
    if _NUMBER.fullmatch(text) is None or len(text) > 40:
        raise InputError(f"{file}:{line}: {brief(text) or 'nothing'}; expected a number")
    return float(text)


def check(measurement: Measurement) -> Mapping[str, float]:
    """Bandwidth ratio and number of steps of a measurement with known collective and ranks.

    Raises
    ------
    InputError
        If one of them is unknown.
    """
    if measurement.collective == "message":
        return {"factor": 1.0, "steps": 1}
    if not measurement.collective:
        raise InputError(
            f"{measurement.file}: does not say the collective; expected --collective {', '.join(COLLECTIVES)}"
        )
    if measurement.ranks is None or measurement.ranks < 2:
        raise InputError(
            f"{measurement.file}: does not say the number of ranks; expected --ranks of at least 2"
        )
    own, ranks = measurement.collective, measurement.ranks
    return {"factor": bus_factor(own, ranks), "steps": steps(own, ranks)}
