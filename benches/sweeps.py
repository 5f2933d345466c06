"""Measures the overhead of a sweep, and whether it survives killed processes: ``python benches/sweeps.py``.

    python benches/sweeps.py [--runs 2000] [--kills 10] [--executor processes|dask]
    python benches/sweeps.py --cores

Runs of 200 us take less than a millisecond to simulate. The overhead is CPU time, which does not depend on
other load as wall time does: the CPU time of the sweep with all its processes minus that of the same
simulations in sequence, both on one core. Then processes of the same sweep, including the first one, are
killed (SIGKILL) at random times. The tables must equal those of an undisturbed sweep. The exit code is 1 if
they do not, or if the overhead of a run exceeds the budget.

With ``--cores``, the sweep instead runs with all its processes on one core and then on two, and the ratio of
the wall times is reported, which is meaningful only on an otherwise idle machine. Its runs of 50 ms take
about 10 ms to simulate. Start, tables, pictures and page take a second on one core regardless of the number
of cores. The exit code is 1 if the ratio is below the budget. ``--duration`` changes the length of the runs.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from penstock import _core

BUDGET_MS = 3.0
BUDGET_RATIO = 1.9
SAMPLE = 200
SCENARIO = """
simulation.duration = "200 us"
probes.bin = "off"
topology.star = { hosts = 3, rate = "10 Gb/s", phy = "none" }
flow_control.pfc = { xoff = "20 KiB", xon = "10 KiB" }
flows = [
  { name = "steady", from = "h0", to = "h2", source = { poisson = { rate = "4 Gb/s" } } },
  { name = "greedy", from = "h1", to = "h2", source = "greedy" },
]
"""


def words(runs: int, place: str) -> list[str]:
    """Returns the command of the sweep: four values of XOFF, and seeds for the rest."""
    vary = ["flow_control.pfc.xoff=16 KiB, 20 KiB, 24 KiB, 28 KiB", f"simulation.seed=1..{runs // 4}"]
    options = [word for one in vary for word in ("--vary", one)]
    return [sys.executable, "-m", "penstock", "sweep", "short.toml", *options, "--executor", place]


def simulated_s(directory: Path) -> float:
    """Returns the CPU time of one simulation, including the tables that the measures read."""
    text = (directory / "short.toml").read_text("utf-8")
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, [min(allowed)])
    began = time.process_time()
    for seed in range(SAMPLE):
        result = _core.run(text, "short.toml", overridden=(seed, None), threads=1)
        result.table("flows")
    took = time.process_time() - began
    os.sched_setaffinity(0, allowed)
    return took / SAMPLE


def overhead_ms(directory: Path, runs: int, place: str) -> float:
    """Returns the overhead of an undisturbed sweep in milliseconds per run."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    on_cores(directory, runs, place, 1, "peace")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return (cpu / runs - simulated_s(directory)) * 1e3


def on_cores(directory: Path, runs: int, place: str, cores: int, out: str) -> float:
    """Returns the wall time in seconds of a sweep on a number of cores, with one worker per core."""
    chosen = sorted(os.sched_getaffinity(0))[:cores]
    workers = ["--workers", str(cores)] if place == "processes" else []
    began = time.monotonic()
    subprocess.run(
        [*words(runs, place), *workers, "--out", out],
        cwd=directory,
        check=True,
        capture_output=True,
        preexec_fn=lambda: os.sched_setaffinity(0, chosen),
    )
    return time.monotonic() - began


def family(process: int) -> list[int]:
    """Returns a process and all its descendants."""
    tasks = Path(f"/proc/{process}/task")
    try:
        children = [int(one) for task in tasks.iterdir() for one in (task / "children").read_text().split()]
    except OSError:
        return [process]
    return [process, *(one for child in children for one in family(child))]


def killed(directory: Path, runs: int, place: str, kills: int) -> int:
    """Runs the sweep until it ends by itself; returns how often one of its processes was killed."""
    chance = random.Random(1)
    done = 0
    while True:
        begun = subprocess.Popen(
            [*words(runs, place), "--out", "killed"],
            cwd=directory,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        while begun.poll() is None and done < kills:
            time.sleep(chance.uniform(0.5, 4.0))
            # In half of the cases the first process, which ends all others.
            victims = family(begun.pid)
            victim = begun.pid if chance.random() < 0.5 else chance.choice(victims)
            if begun.poll() is None:
                os.kill(victim, signal.SIGKILL)
                done += 1
        if begun.wait() == 0:
            return done


def same_tables(directory: Path) -> bool:
    """Returns true if both sweeps have the same measures; start times of runs are ignored."""
    for name, order in (("metrics", ["run", "metric", "entity"]), ("summary", ["point", "metric", "entity"])):
        one, other = (
            pq.read_table(directory / which / f"{name}.parquet").sort_by(
                [(key, "ascending") for key in order]
            )
            for which in ("peace", "killed")
        )
        if str(one.to_pylist()) != str(other.to_pylist()):  # NaN is not equal to NaN
            return False
    return True


def main() -> int:
    """Measures the overhead, kills processes, and returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--executor", choices=("processes", "dask"), default="processes")
    parser.add_argument("--cores", action="store_true")
    parser.add_argument("--duration", help='of each run; default: "200 us", with --cores "50 ms"')
    options = parser.parse_args()
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        duration = options.duration or ("50 ms" if options.cores else "200 us")
        scenario = SCENARIO.replace("200 us", duration)
        (directory / "short.toml").write_text(scenario, "utf-8")
        if options.cores:
            one, two = (
                on_cores(directory, options.runs, "processes", cores, f"on-{cores}") for cores in (1, 2)
            )
            simulated = simulated_s(directory) * 1e3
            print(
                f"{options.runs} runs of {duration}, {simulated:.1f} ms of CPU time each without the sweep:"
            )
            print(f"{one:.1f} s on one core, {two:.1f} s on two: {one / two:.2f} times")
            print(f"{2 * two - one:.1f} s of that do not depend on the number of cores (Amdahl)")
            return 0 if one / two >= BUDGET_RATIO else 1
        place = "processes"
        if options.executor == "dask":
            from distributed import LocalCluster

            local: Any = LocalCluster
            cluster = stack.enter_context(local(n_workers=2, threads_per_worker=1))
            place = f"dask:{cluster.scheduler_address}"
        cost = overhead_ms(directory, options.runs, place)
        where = ", of the first process alone" if options.executor == "dask" else ""
        print(f"{options.runs} runs on {options.executor}: {cost:.2f} ms per run beyond simulation{where}")
        done = killed(directory, options.runs, place, options.kills)
        same = same_tables(directory)
        print(f"killed {done} times: {'the same tables' if same else 'different tables'}")
    return 0 if same and cost < BUDGET_MS else 1


if __name__ == "__main__":
    sys.exit(main())
