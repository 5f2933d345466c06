"""Measures the cost of scheduling decisions: ``python benches/schedulers.py [--write FILE] [--load LOAD]``.

Instructions are counted by valgrind as the difference between two numbers of decisions, which excludes the
start, minus the instructions of the same loop without a scheduler. They are repeatable. Nanoseconds are
measured by the program ``schedulers`` on this machine. Prints a Markdown table. ``--write`` saves the figures
as JSON, from which the study scheduling/latency-fairness fills its cost column.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
from pathlib import Path

from instructions import build

QUEUES = (4, 8, 64, 1024)
SHORT, LONG = 20_480, 122_880
"""Numbers of decisions, in whole batches of the program."""


def instructions(program: Path, name: str, queues: int, load: str, decisions: int) -> int:
    """Returns the instructions of one run."""
    command = [str(program), str(decisions), name, str(queues), load]
    valgrind = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *command]
    done = subprocess.run(valgrind, check=True, capture_output=True, text=True, timeout=600)
    counted = re.search(r"Collected : (\d+)", done.stderr)
    if counted is None:
        raise RuntimeError(f"valgrind printed no counts:\n{done.stderr}")
    return int(counted[1])


def a_decision(program: Path, name: str, queues: int, load: str) -> float:
    """Returns instructions per decision, including the loop."""
    short, long = (instructions(program, name, queues, load, count) for count in (SHORT, LONG))
    return (long - short) / (LONG - SHORT)


def main() -> int:
    """Prints the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", type=Path, help="save the figures to this file")
    parser.add_argument("--load", choices=("backlogged", "sparse"), default="backlogged")
    options = parser.parse_args()
    program = build("schedulers")
    timed = subprocess.run([str(program)], check=True, capture_output=True, text=True, timeout=600).stdout
    rows = [row for row in map(json.loads, timed.splitlines()) if row["load"] == options.load]
    loop = {queues: a_decision(program, "none", queues, options.load) for queues in (1, *QUEUES)}
    costs: dict[str, dict[str, dict[str, float]]] = {}
    for row in rows:
        name, queues = row["scheduler"], row["queues"]
        counted = a_decision(program, name, queues, options.load) - loop[queues]
        costs.setdefault(name, {})[str(queues)] = {
            "instructions": round(counted),
            "ns": row["ns_per_decision"],
        }
    print("| scheduler | " + " | ".join(f"{queues} queues" for queues in QUEUES) + " |")
    print("|---" * (len(QUEUES) + 1) + "|")
    for name, by_queues in costs.items():
        cells = by_queues.values() if len(by_queues) > 1 else [*by_queues.values()] * len(QUEUES)
        print(f"| {name} | " + " | ".join(f"{c['instructions']}/{c['ns']:.0f}" for c in cells) + " |")
    if options.write:
        kept = {"command": "python benches/schedulers.py --write FILE", "load": options.load, "costs": costs}
        options.write.write_text(json.dumps(kept, indent=1) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
