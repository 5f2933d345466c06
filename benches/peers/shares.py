"""Deficit round robin of ns-2 beside Penstock's: ``python benches/peers/shares.py [--seconds S]``.

Both get the same senders at one port of 10 Gb/s, the same quantum, and bill the bytes of the frame alone
(ns-2 knows no line overhead; Penstock's links have none here). Prints a Markdown table of shares and fails
if one differs by more than 1 %. ns-2 has to be installed (Debian: ``apt-get install ns2``), Penstock too
(``pip install .``).

ns-2 has two more queues of this kind, which are not compared: SFQ takes turns by frames and shares one
limit, so that it measures something else, and FQ of Debian's package stops with an error before the first
frame.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from pathlib import Path

import penstock as ps

HERE = Path(__file__).resolve().parent
QUANTUM = 1522
# Size of frames in bytes and rate in Gb/s of each sender.
CASES: dict[str, list[tuple[int, float]]] = {
    "three sizes, all greedy": [(68, 9), (512, 9), (1522, 9)],
    "smallest and largest": [(64, 9), (1522, 9)],
    "one size, five senders": [(1000, 9)] * 5,
    "two want less than their share": [(68, 1), (512, 1.5), (1522, 9), (300, 9)],
    "eight senders": [(64, 4), (128, 4), (256, 4), (512, 4), (1024, 4), (1522, 4), (800, 4), (200, 4)],
}


def by_ns2(senders: list[tuple[int, float]], seconds: float) -> list[float]:
    """Shares of the bytes received under ns-2."""
    words = [f"{size}:{rate * 1e9:.0f}" for size, rate in senders]
    command = ["ns", str(HERE / "shares.tcl"), "DRR", str(seconds), *words]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=600)
    return shares(json.loads(done.stdout.strip().splitlines()[-1]))


def by_penstock(senders: list[tuple[int, float]], seconds: float) -> list[float]:
    """Shares of the bytes received under Penstock."""
    scenario = (
        ps.Scenario(duration=f"{seconds * 1e6:.0f} us", warmup=f"{seconds * 2e5:.0f} us")
        .topology.star(hosts=len(senders) + 1, rate="10 Gb/s", delay="1 us", phy="none", overhead="0 B")
        .probes(bin="off")
        .switch(
            scheduler={"drr": {"quantum": f"{QUANTUM} B", "accounted_length": "frame"}},
            buffer={"queue": "250 kB"},
        )
    )
    for priority, (size, rate) in enumerate(senders):
        scenario = scenario.flow(
            f"s{priority}",
            from_=f"h{priority}",
            to=f"h{len(senders)}",
            priority=priority,
            frame=f"{size} B",
            source=ps.constant(f"{rate:g} Gb/s"),
        )
    return shares([row["bytes_delivered"] for row in scenario.run().rows("flows")])


def shares(amounts: list[float]) -> list[float]:
    """Parts of the sum."""
    return [amount / sum(amounts) for amount in amounts]


def main() -> int:
    """Prints the table; 1 if a share differs by more than 1 %."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=0.05, help="simulated time (default 0.05)")
    options = parser.parse_args()
    if shutil.which("ns") is None:
        print("ns-2 is not installed (Debian: apt-get install ns2)", file=sys.stderr)
        return 2
    worst = 0.0
    print("| case | frame (B) | offered (Gb/s) | ns-2 DRR | Penstock drr | difference |\n" + "|---" * 6 + "|")
    for name, senders in CASES.items():
        found = zip(
            senders, by_ns2(senders, options.seconds), by_penstock(senders, options.seconds), strict=True
        )
        for (size, rate), theirs, ours in found:
            worst = max(worst, abs(ours / theirs - 1))
            print(f"| {name} | {size} | {rate:g} | {theirs:.3%} | {ours:.3%} | {ours / theirs - 1:+.3%} |")
    print(f"\nLargest difference: {worst:.3%}.")
    return int(worst > 0.01)


if __name__ == "__main__":
    raise SystemExit(main())
