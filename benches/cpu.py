"""Measures CPU time and cache misses of large fabrics too: ``chrt -f 1 python benches/cpu.py [--base REV]``.

Instruction counts (``benches/instructions.py``) hide memory latency: a large fabric takes up to fifteen times
longer for the same count. This script measures user and system CPU time of a whole process, including
building.

``--base REV`` builds that revision in a separate worktree and runs both in turn, so that drift of the
machine's speed affects both equally. Other load only ever slows a run down, so the table has the fastest run
of each, and the median, lowest and highest ratio of the rounds. A ratio above 1 means that this tree is
faster. Both must compute the same trajectory; otherwise the row is marked. A workload that the other revision
does not have has no ratio. REV may also be the path of a program.

``--misses`` counts cache misses per frame-hop with cachegrind instead of time, for workloads that are short
enough. The first cache has 48 KiB and 12 ways, the last 8 MiB and 16 ways, with lines of 64 B. Cachegrind
models neither prefetching nor huge pages, so the counts are accessed lines rather than costs.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

from instructions import ROOT, build

# Simulated times that take about a second of CPU time or a few.
WORKLOADS = {
    "star": "15 s",
    "fat-tree-8": "80 ms",
    "incast-8 pfc": "9 s",
    "hashed-8 pfc": "30 ms",
    "hashed-32": "600 us",
    "hashed-64": "100 us",
    "transfers-16": "500 us",
    "transfers-32": "100 us",
    "flows-65536": "200 ms",
    "bottleneck": "1000 s",
    "classes-credits": "5 ms",
    "dcqcn-16 pfc": "200 ms",
    "dcqcn-tree-8 pfc": "10 ms",
}
# Two simulated times each, as in `instructions`.
COUNTED = {
    "star": ("10 ms", "20 ms"),
    "hashed-8 pfc": ("200 us", "400 us"),
    "hashed-32": ("30 us", "60 us"),
    "transfers-16": ("100 us", "150 us"),
    "flows-65536": ("40 ms", "41 ms"),
}
CACHES = ["--D1=49152,12,64", "--LL=8388608,16,64"]


class Run(NamedTuple):
    """CPU time of a run, and its trajectory."""

    cpu_s: float
    fingerprint: str


def run(program: Path, workload: str) -> Run | None:
    """Runs a workload in a separate process; returns `None` if the program does not have it."""
    name, *options = workload.split()
    before = os.times()
    done = subprocess.run(
        [str(program), name, WORKLOADS[workload], *options], check=False, capture_output=True, text=True
    )
    after = os.times()
    if done.returncode:
        if "DURATION" in done.stderr:
            return None
        raise RuntimeError(f"{program} {workload}: {done.stderr}")
    took = after.children_user - before.children_user + after.children_system - before.children_system
    return Run(took, json.loads(done.stdout)["fingerprint"])


def pair(here: Path, base: Path, workload: str, runs: int) -> str:
    """Returns a row with the fastest run of both, and the ratios of the rounds."""
    own: list[Run] = []
    other: list[Run] = []
    for turn in range(runs):
        # The two programs start a round equally often.
        for program in (here, base) if turn % 2 else (base, here):
            found = run(program, workload)
            if found is not None:
                (own if program == here else other).append(found)
    fastest = min(one.cpu_s for one in own)
    if not other:
        return f"| `{workload}` | {WORKLOADS[workload]} | {fastest:.2f} | - | - | - |"
    ratios = [theirs.cpu_s / ours.cpu_s for ours, theirs in zip(own, other, strict=True)]
    cells = [
        f"`{workload}`",
        WORKLOADS[workload],
        f"{fastest:.2f}",
        f"{min(one.cpu_s for one in other):.2f}",
        f"{min(one.cpu_s for one in other) / fastest:.2f}",
        f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})",
    ]
    same = len({one.fingerprint for one in own + other}) == 1
    return f"| {' | '.join(cells)} |" + ("" if same else " different trajectory!")


def alone(here: Path, workload: str, runs: int) -> str:
    """Returns a row with the fastest and the median run."""
    took = [found.cpu_s for _ in range(runs) if (found := run(here, workload))]
    return f"| `{workload}` | {WORKLOADS[workload]} | {min(took):.2f} | {statistics.median(took):.2f} |"


def misses(program: Path, workload: str) -> tuple[float, float]:
    """Returns data misses of the first and the last cache per frame-hop in the steady state."""

    def counts(duration: str) -> tuple[int, int, int]:
        name, *options = workload.split()
        command = [str(program), name, duration, *options]
        valgrind = ["valgrind", "--tool=cachegrind", "--cache-sim=yes", "--cachegrind-out-file=/dev/null"]
        done = subprocess.run([*valgrind, *CACHES, *command], check=True, capture_output=True, text=True)
        first, last = (re.search(rf"{which} +misses: +([\d,]+)", done.stderr) for which in ("D1", "LLd"))
        if first is None or last is None:
            raise RuntimeError(f"valgrind printed no counts:\n{done.stderr}")
        found = (int(one[1].replace(",", "")) for one in (first, last))
        return (*found, int(json.loads(done.stdout)["frame_hops"]))  # type: ignore[return-value]

    short, long = (counts(duration) for duration in COUNTED[workload])
    hops = long[2] - short[2]
    return (long[0] - short[0]) / hops, (long[1] - short[1]) / hops


def build_base(revision: str, folder: Path) -> Path:
    """Returns the program of another revision, built in a separate worktree."""
    tree = folder / "tree"
    subprocess.run(
        ["git", "worktree", "add", "--quiet", "--detach", str(tree), revision], cwd=ROOT, check=True
    )
    try:
        options = ["--release", "--locked", "--quiet", "-p", "benches", "--bin", "benches"]
        target = folder / "target"
        subprocess.run(["cargo", "build", *options, "--target-dir", str(target)], cwd=tree, check=True)
    finally:
        subprocess.run(["git", "worktree", "remove", "--force", str(tree)], cwd=ROOT, check=True)
    return target / "release" / "benches"


def main() -> None:
    """Prints a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--base", metavar="REV", help="another revision to build, or the path of its program")
    parser.add_argument("--runs", type=int, default=9, help="rounds (default 9)")
    parser.add_argument("--misses", action="store_true", help="count cache misses instead of time")
    parser.add_argument("--only", action="append", choices=WORKLOADS, help="this workload; may be repeated")
    options = parser.parse_args()
    program = build()
    wanted = options.only or list(WORKLOADS)
    with tempfile.TemporaryDirectory() as folder:
        base = options.base and Path(options.base)
        if base and not base.is_file():
            base = build_base(options.base, Path(folder))
        if options.misses:
            print("| workload | first cache | last cache | both of the base |\n|---|---|---|---|")
            for workload in (name for name in wanted if name in COUNTED):
                own = "{:.2f} | {:.2f}".format(*misses(program, workload))
                other = "{:.2f}, {:.2f}".format(*misses(base, workload)) if base else "-"
                print(f"| `{workload}` | {own} | {other} |", flush=True)
        elif base:
            print("| workload | simulated | CPU time (s) | base | fastest | median round |")
            print("|---|---|---|---|---|---|")
            for workload in wanted:
                print(pair(program, base, workload, options.runs), flush=True)
        else:
            print("| workload | simulated | fastest (s) | median (s) |\n|---|---|---|---|")
            for workload in wanted:
                print(alone(program, workload, options.runs), flush=True)


if __name__ == "__main__":
    main()
