"""Where the instructions of a frame-hop go, by stage: ``python benches/stages.py [RUN ...]``.

Counted by valgrind as the difference of two lengths of a run, like ``benches/instructions.py``. An instruction belongs
to the source file that it was written in, also where the compiler has put it elsewhere; those of the standard library
belong to the function that uses them.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from instructions import RUNS, build

# The first pattern that is found names the stage.
STAGES = {
    "pending events: windows, order within a node": r"engine/src|engine::|binary_heap|event\.rs",
    "latencies, waits, levels of queues, series": r"measure/src|measure::",
    "serialisation times": r"wire_clock",
    "flow control": r"flow_control|pausing|paused|blame|station",
    "sources": r"workload|sources",
    "choosing what to send": r"scheduling|selection|::decide",
    "queues and memory": r"pool\.rs|port\.rs|occupancy|queueing|::enqueue|::refusal|::admit",
    "forwarding, links, counts": r"fabric",
}


def counts(program: Path, run: str, duration: str) -> tuple[Counter[str], int]:
    """Instructions of each stage, and frame-hops."""
    workload, *options = run.split()
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / "callgrind"
        valgrind = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}"]
        done = subprocess.run(
            [*valgrind, str(program), workload, duration, *options], check=True, capture_output=True, text=True
        )
        annotate = ["callgrind_annotate", "--auto=no", "--threshold=100", str(out)]
        listing = subprocess.run(annotate, check=True, capture_output=True, text=True).stdout
    stages: Counter[str] = Counter()
    for line in listing.splitlines():
        row = re.match(r"\s*([\d,]+) \(\s*[\d.]+%\)\s+([^:\s]+):(.*)", line)
        if row is None:
            continue
        place = row[2] if "crates/" in row[2] and "registry" not in row[2] else row[3]
        named = (stage for stage, pattern in STAGES.items() if re.search(pattern, place))
        stages[next(named, "the rest")] += int(row[1].replace(",", ""))
    return stages, int(json.loads(done.stdout)["frame_hops"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="*", default=["star", "fat-tree-8", "incast-8 pfc"], help="names as in RUNS")
    options = parser.parse_args()
    program = build()
    table: dict[str, Counter[str]] = {}
    for run in options.runs:
        if run not in RUNS:
            sys.exit(f"no run {run!r}; there are: {', '.join(RUNS)}")
        (short, before), (long, after) = (counts(program, run, duration) for duration in RUNS[run])
        table[run] = Counter({stage: round((long[stage] - short[stage]) / (after - before)) for stage in long})
    print("| stage | " + " | ".join(options.runs) + " |")
    print("|---" * (len(options.runs) + 1) + "|")
    for stage in [*STAGES, "the rest"]:
        print(f"| {stage} | " + " | ".join(str(table[run][stage]) for run in options.runs) + " |")
    print("| together | " + " | ".join(str(sum(table[run].values())) for run in options.runs) + " |")


if __name__ == "__main__":
    main()
