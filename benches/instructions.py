"""Counts instructions per frame-hop with valgrind: ``python benches/instructions.py [--check]``.

The count is the difference between two lengths of the same run, which excludes building the fabric, divided
by the difference in frame-hops. Counts are repeatable, unlike times. ``--check`` fails if a count exceeds its
budget in ``benches/budget.json`` by more than 3 %; ``--write`` makes the current counts the budget. Counts
depend on the compiler, so the budget records its compiler; with any other, ``--check`` prints a note and
passes. ``--quick`` counts only runs of a few seconds; it is part of ``make test`` if valgrind is installed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
BUDGET = HERE / "budget.json"
# Two simulated times each, long enough for the steady state, and options.
RUNS = {
    "star": ("10 ms", "20 ms"),
    "star pfc": ("10 ms", "20 ms"),
    "fat-tree-4": ("500 us", "1 ms"),
    "fat-tree-8": ("200 us", "400 us"),
    "fat-tree-8 pfc": ("200 us", "400 us"),
    "fat-tree-16": ("100 us", "200 us"),
    "hashed-8": ("200 us", "400 us"),
    "hashed-8 pfc": ("200 us", "400 us"),
    "hashed-8 pfc qcn": ("2 ms", "3 ms"),
    "hashed-4 pfc": ("500 us", "1 ms"),
    "hashed-4 pfc probes": ("500 us", "1 ms"),
    "incast-8 pfc": ("2 ms", "4 ms"),
    "incast-64 pfc": ("2 ms", "4 ms"),
    "incast-8 pfc qcn": ("8 ms", "12 ms"),
    "incast-8 pfc fecn": ("8 ms", "12 ms"),
    "dynamic-threshold-8 pfc": ("2 ms", "4 ms"),
    "pools-8 pfc": ("2 ms", "4 ms"),
    "requests-8": ("200 us", "400 us"),
    "window": ("5 ms", "10 ms"),
    "red": ("5 ms", "10 ms"),
    "qcn": ("10 ms", "20 ms"),
    "qcn-limiters": ("10 ms", "20 ms"),
    "qcn-points": ("10 ms", "20 ms"),
    "fecn-limiters": ("10 ms", "20 ms"),
    "fecn-points": ("10 ms", "20 ms"),
    "fecn": ("10 ms", "20 ms"),
    "spray-8": ("200 us", "400 us"),
    "tcp-8": ("400 us", "800 us"),
    "bottleneck": ("5 s", "10 s"),
    "dcqcn-16 pfc": ("4 ms", "8 ms"),
    "dcqcn-tree-8 pfc": ("500 us", "1 ms"),
    "classes": ("500 us", "1 ms"),
    "classes-credits": ("500 us", "1 ms"),
}
QUICK = ("star", "star pfc", "fat-tree-4", "hashed-4 pfc probes", "incast-8 pfc")
TOLERANCE = 1.03


def build(program: str = "benches") -> Path:
    """Builds the programs to count, and returns the path of one, by default the one with the workloads."""
    if shutil.which("valgrind") is None:
        sys.exit("valgrind is not installed (Debian: apt-get install valgrind)")
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    # Penstock is built with the features of the installed one, so that cargo can reuse its build.
    packages = ["-p", "benches", "-p", "penstock", "--bins"]
    options = ["--release", "--locked", "--quiet", *packages, "--target-dir", str(target)]
    subprocess.run(["cargo", "build", *options], cwd=ROOT, check=True)
    return target / "release" / program


def compiler() -> str:
    """Version of the compiler whose code is counted."""
    return subprocess.run(["rustc", "--version"], check=True, capture_output=True, text=True).stdout.strip()


def counts(program: Path, run: str, duration: str) -> tuple[int, int]:
    """Returns instructions and frame-hops of one run."""
    workload, *options = run.split()
    command = [str(program), workload, duration, *options]
    valgrind = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *command]
    done = subprocess.run(valgrind, check=True, capture_output=True, text=True, timeout=600)
    instructions = re.search(r"Collected : (\d+)", done.stderr)
    if instructions is None:
        raise RuntimeError(f"valgrind printed no counts:\n{done.stderr}")
    return int(instructions[1]), int(json.loads(done.stdout)["frame_hops"])


def a_hop(program: Path, run: str) -> int:
    """Returns instructions per frame-hop in the steady state."""
    short, long = (counts(program, run, duration) for duration in RUNS[run])
    return round((long[0] - short[0]) / (long[1] - short[1]))


def main() -> int:
    """Prints the counts; returns the exit code of the check."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--check", action="store_true", help="fail if a count is more than 3 %% over its budget"
    )
    parser.add_argument("--write", action="store_true", help="make today's counts the budget")
    parser.add_argument("--quick", action="store_true", help="only the short runs")
    options = parser.parse_args()
    program = build()
    document = json.loads(BUDGET.read_text("utf-8")) if BUDGET.exists() else {}
    budget: dict[str, int] = document.get("instructions", {})
    counted = {run: a_hop(program, run) for run in (QUICK if options.quick else RUNS)}
    print("| run | instructions per frame-hop | budget |\n|---|---|---|")
    for run, count in counted.items():
        print(f"| {run} | {count} | {budget.get(run, '-')} |")
    if options.write:
        document = {"compiler": compiler(), "instructions": budget | counted}
        BUDGET.write_text(json.dumps(document, indent=2) + "\n", "utf-8")
    over = [run for run, count in counted.items() if count > budget.get(run, count) * TOLERANCE]
    if options.check and over and compiler() != document["compiler"]:
        print(f"not comparable: the budget was made with {document['compiler']}, this is {compiler()}")
        return 0
    if options.check and over:
        print(f"over budget by more than 3 %: {', '.join(over)}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
