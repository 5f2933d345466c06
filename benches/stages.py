"""Breaks down the instructions of a frame-hop by stage: ``python benches/stages.py [RUN ...]``.

Instructions are counted by valgrind as the difference between two lengths of a run, as in
``benches/instructions.py``. An instruction is attributed to the source file of this project in which it was
written, even if it was inlined elsewhere. Instructions of the standard library are attributed to their
caller. ``addr2line`` provides the mapping (Debian: ``apt-get install binutils``).
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from instructions import RUNS, build

# The first matching pattern determines the stage.
STAGES = {
    "pending events: windows, order within a node": r"engine/src|fabric/src/run/state/event",
    "latencies, waits, levels of queues, series": r"measure/src",
    "serialisation times": r"wire_clock",
    "flow control": (
        r"flow_control/src"
        r"|fabric/src/run/\w+/(pausing|pause_frames|signals|ingress|stops|blame|pause_sender|link_control)"
    ),
    "sources": r"workload/src|fabric/src/run/\w+/(sources|ahead/sole_source)",
    "choosing what to send": r"scheduling/src|fabric/src/run/steps/(selection|decision)",
    "queues and memory": (
        r"fabric/src/run/\w+/(ahead|egress|pool|port|buffers|architecture)|frame/src/occupancy|queueing/src"
    ),
    "endpoints, and what hosts do for them": r"transport/src|fabric/src/run/\w+/(endpoint|nic)",
    "forwarding, links, counts": r"fabric/src",
}
# A line of callgrind output: an address, absolute or relative to the previous one, the line, the count.
COST = re.compile(r"(0x[0-9a-f]+|[+-]\d+|\*) \S+ (\d+)$")


def by_address(listing: Path) -> Counter[int]:
    """Returns the instructions at each address of the program."""
    counted: Counter[int] = Counter()
    address, of_a_call = 0, False
    for line in listing.read_text("utf-8").splitlines():
        if cost := COST.match(line):
            place = cost[1]
            if place != "*":
                address = int(place, 16) if place.startswith("0x") else address + int(place)
            # The line after "calls=" has counts of another function.
            counted[address] += 0 if of_a_call else int(cost[2])
        of_a_call = line.startswith("calls=")
    return counted


def places(program: Path, addresses: list[int]) -> dict[int, str]:
    """Returns the innermost source line of this project at each address; empty if there is none."""
    command = ["addr2line", "--inlines", "--addresses", f"--exe={program}"]
    lines = "\n".join(hex(address) for address in addresses)
    reported = subprocess.run(command, input=lines, check=True, capture_output=True, text=True).stdout
    found: dict[int, str] = {}
    address = 0
    for line in reported.splitlines():
        if line.startswith("0x"):
            address = int(line, 16)
        elif "crates/" in line and "registry" not in line:
            found.setdefault(address, line)
    return found


def counts(program: Path, run: str, duration: str) -> tuple[Counter[str], int]:
    """Returns the instructions of each stage, and the number of frame-hops."""
    workload, *options = run.split()
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / "callgrind"
        valgrind = ["valgrind", "--tool=callgrind", "--dump-instr=yes", f"--callgrind-out-file={out}"]
        done = subprocess.run(
            [*valgrind, str(program), workload, duration, *options],
            check=True,
            capture_output=True,
            text=True,
        )
        counted = by_address(out)
    place = places(program, sorted(counted))
    stages: Counter[str] = Counter()
    for address, count in counted.items():
        named = (stage for stage, pattern in STAGES.items() if re.search(pattern, place.get(address, "")))
        stages[next(named, "the rest")] += count
    return stages, int(json.loads(done.stdout)["frame_hops"])


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "runs", nargs="*", default=["star", "fat-tree-8", "incast-8 pfc"], help="names as in RUNS"
    )
    options = parser.parse_args()
    if shutil.which("addr2line") is None:
        sys.exit("addr2line is not installed (Debian: apt-get install binutils)")
    program = build()
    table: dict[str, Counter[str]] = {}
    for run in options.runs:
        if run not in RUNS:
            sys.exit(f"no run {run!r}; there are: {', '.join(RUNS)}")
        (short, before), (long, after) = (counts(program, run, duration) for duration in RUNS[run])
        table[run] = Counter(
            {stage: round((long[stage] - short[stage]) / (after - before)) for stage in long}
        )
    print("| stage | " + " | ".join(options.runs) + " |")
    print("|---" * (len(options.runs) + 1) + "|")
    for stage in [*STAGES, "the rest"]:
        print(f"| {stage} | " + " | ".join(str(table[run][stage]) for run in options.runs) + " |")
    print("| total | " + " | ".join(str(sum(table[run].values())) for run in options.runs) + " |")


if __name__ == "__main__":
    main()
