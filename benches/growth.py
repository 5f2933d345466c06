"""How the cost of a frame-hop grows: ``python benches/growth.py``.

Instructions as in ``benches/instructions.py``, and memory, with more hosts (fat-trees), more flows (a star
of 16 hosts at half load, flows of all pairs) and deeper queues (a hashed fat-tree in which some links get
more than they carry: the later, the more waits).
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from instructions import build, counts

GROWTH = {
    "hosts": {
        "16 (fat-tree k = 4)": ("fat-tree-4", "500 us", "1 ms"),
        "128 (k = 8)": ("fat-tree-8", "200 us", "400 us"),
        "1,024 (k = 16)": ("fat-tree-16", "100 us", "200 us"),
        "8,192 (k = 32)": ("fat-tree-32", "30 us", "60 us"),
    },
    "flows": {
        "16": ("flows-16", "1 ms", "2 ms"),
        "256": ("flows-256", "1 ms", "2 ms"),
        "4,096": ("flows-4096", "4 ms", "5 ms"),
        "65,536": ("flows-65536", "40 ms", "41 ms"),
    },
    "frames waiting, after": {
        "0.2 to 0.4 ms": ("hashed-8", "200 us", "400 us"),
        "2 to 2.2 ms": ("hashed-8", "2 ms", "2200 us"),
        "8 to 8.2 ms": ("hashed-8", "8 ms", "8200 us"),
    },
}


def memory(program: Path, workload: str, duration: str) -> float:
    """Megabytes that the simulation holds at its end."""
    run = subprocess.run([str(program), workload, duration], check=True, capture_output=True, text=True)
    return float(json.loads(run.stdout)["memory_mb"])


def main() -> None:
    """Prints the table."""
    program = build()
    for what, runs in GROWTH.items():
        print(f"| {what} | instructions a frame-hop | memory (MB) |\n|---|---|---|")
        for name, (workload, short, long) in runs.items():
            (before, hops_before), (after, hops) = (counts(program, workload, time) for time in (short, long))
            cost = round((after - before) / (hops - hops_before))
            print(f"| {name} | {cost} | {memory(program, workload, long):.1f} |", flush=True)
        print()


if __name__ == "__main__":
    main()
