"""Crossbars of BookSim beside Penstock's: ``python benches/peers/booksim.py [PROGRAM]``.

PROGRAM is BookSim 2 (Jiang et al., A detailed and flexible cycle-accurate network-on-chip simulator, ISPASS
2013; ``make`` in its ``src`` makes ``booksim``). It runs a switch whose inputs are FIFOs at saturation, and a
k-ary n-tree under uniform traffic; Penstock runs the validations ``crossbar-saturation`` and
``tree-saturation``, which measure the same. Prints a Markdown table of the loads carried and fails if one
differs by more than 2 %. Without PROGRAM it prints the configurations of BookSim.

What differs: BookSim counts in cycles and flits, and a packet is one flit here, so that a cycle is a slot.
Its single switch is a butterfly of one stage, whose nodes send and receive; Penstock has N senders and N
receivers. Its routers allocate channels and the crossbar speculatively in one cycle, as two in a row would
halve what one channel carries. Its tree chooses ports upwards at random, Penstock's by the digits of the
destination: below saturation the load carried does not depend on it. Its virtual output queues are channels
by the output that a packet takes next (``noq``). Its buffers hold 1,000 flits a channel, Penstock's what
comes.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from penstock import validation

ALLOWED = 0.02
"""Relative."""
COMMON: dict[str, str | int | float] = {
    "traffic": "uniform",
    "injection_process": "bernoulli",
    "packet_size": 1,
    "sim_type": "throughput",
    "warmup_periods": 3,
    "sample_period": 20_000,
    "max_samples": 20,
    "acc_stopping_thres": 0.002,
    "latency_thres": -1.0,
    "routing_delay": 0,
    "vc_alloc_delay": 1,
    "sw_alloc_delay": 1,
    "speculative": 1,
    "vc_allocator": "islip",
    "sw_allocator": "islip",
    "vc_buf_size": 1_000,
    "seed": 1,
}
"""What all runs of BookSim have in common."""


@dataclass(frozen=True)
class Run:
    """A run of BookSim, and the row of a validation that measures the same."""

    case: str
    quantity: str
    keys: dict[str, str | int | float]

    def configuration(self) -> str:
        """The file that BookSim reads."""
        return "".join(f"{key} = {value};\n" for key, value in (COMMON | self.keys).items())


def fifo(ports: int, arbitration: str) -> Run:
    """A switch of so many inputs with one channel each, which are FIFOs, at saturation."""
    keys: dict[str, str | int | float] = {
        "topology": "fly",
        "routing_function": "dest_tag",
        "k": ports,
        "n": 1,
        "num_vcs": 1,
        "alloc_iters": 4 if arbitration == "islip" else 1,
        "injection_rate": 1.0,
    }
    return Run("crossbar-saturation", f"{ports} inputs, {arbitration}: load carried", keys)


def tree(k: int, n: int, load: float) -> Run:
    """A k-ary n-tree with virtual output queues below saturation."""
    keys: dict[str, str | int | float] = {
        "topology": "fattree",
        "routing_function": "nca",
        "k": k,
        "n": n,
        "num_vcs": 2 * k,
        "noq": 1,
        "alloc_iters": 4,
        "injection_rate": load,
    }
    return Run("tree-saturation", f"{k}-ary {n}-tree, iSLIP: load carried of {load:g}", keys)


RUNS = (
    *(fifo(ports, "islip" if ports == 3 else "round_robin") for ports in (2, 3, 4, 8, 16)),
    tree(4, 3, 0.9),
)


def accepted(output: str) -> float:
    """What BookSim says that its network has carried, as a share of the links.

    Raises
    ------
    ValueError
        If the run has not come to its end.
    """
    _, found, overall = output.rpartition("====== Overall Traffic Statistics ======")
    rate = re.search(r"^Accepted flit rate average = (\S+)", overall, re.MULTILINE)
    if not found or rate is None:
        last = next((line for line in reversed(output.splitlines()) if line.strip()), "nothing")
        raise ValueError(f"BookSim has no overall statistics; it ended with: {last}")
    return float(rate[1])


def by_booksim(program: Path, run: Run) -> float:
    """The load carried under BookSim."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "configuration"
        file.write_text(run.configuration(), "utf-8")
        done = subprocess.run([program, file], capture_output=True, text=True, timeout=3600, check=False)
    return accepted(done.stdout)


def by_penstock() -> dict[str, float]:
    """The loads carried under Penstock, by quantity."""
    names = {run.case for run in RUNS}
    cases = [case for case in validation.cases() if case.name in names]
    outcomes = validation.validate(cases, quick=False)
    return {row.quantity: row.mean for outcome in outcomes for row in outcome.rows}


def table(theirs: dict[str, float], ours: dict[str, float]) -> tuple[str, bool]:
    """A Markdown table of these loads, and whether all are near enough."""
    lines = ["| measured | BookSim | Penstock | difference |", "|---" * 4 + "|"]
    agree = True
    for quantity, load in theirs.items():
        difference = ours[quantity] / load - 1 if load else float("inf")
        near = abs(difference) <= ALLOWED
        agree &= near
        text = f"{difference:+.2%}" if near else f"**{difference:+.2%}**"
        lines.append(f"| {quantity} | {load:.4f} | {ours[quantity]:.4f} | {text} |")
    return "\n".join(lines), agree


def main(arguments: list[str] | None = None) -> int:
    """Prints the table, or the configurations; 1 if something differs by more than is allowed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "program", type=Path, nargs="?", help="BookSim; prints its configurations if not given"
    )
    program = parser.parse_args(arguments).program
    if program is None:
        for run in RUNS:
            print(f"// {run.quantity}\n{run.configuration()}")
        return 0
    try:
        theirs = {run.quantity: by_booksim(program, run) for run in RUNS}
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        print(error, file=sys.stderr)
        return 2
    text, agree = table(theirs, by_penstock())
    print(text)
    return int(not agree)


if __name__ == "__main__":
    raise SystemExit(main())
