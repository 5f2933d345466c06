"""Shared fixtures: the command line as a process, small scenarios, a synthetic result."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from penstock.cli import main
from penstock.result import Result
from penstock.validation.bench import flow_text, star

LONG_TESTS = frozenset(
    line for line in Path(__file__).with_name("long.txt").read_text("utf-8").splitlines() if "::" in line
)
"""The tests that `make test` leaves to `make test-all`, by file and function."""


# A background job of a shell inherits an ignored SIGINT, and so would every process that a test starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def cpu_s(process: subprocess.Popen[Any]) -> float:
    """CPU time of a process in seconds; on a system without /proc the time since the first call for it."""
    try:
        fields = Path(f"/proc/{process.pid}/stat").read_text("ascii").rpartition(")")[2].split()
    except OSError:
        began = _ASKED.setdefault(process.pid, time.monotonic())
        return time.monotonic() - began
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


_ASKED: dict[int, float] = {}


def has_worked(process: subprocess.Popen[Any], seconds: float = 1.5) -> None:
    """Waits until a process has used this CPU time, on a busy machine too. A run begins within 0.5 s."""
    while cpu_s(process) < seconds:
        assert process.poll() is None, "it ends too soon to test"
        time.sleep(0.05)


BEGIN_WITH = (
    "test_study_congestion",
    "test_docs",
    "test_validation",
    "test_study_martinez",
    "test_site",
    "test_study_ch7",
    "test_study_jiang",
    "test_mechanism",
    "test_sweep",
)
"""Files that take longest: begun first, no worker is left alone with one of them at the end."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks them, before those are left out that are not asked for; what takes longest comes first."""
    for item in items:
        if item.nodeid.removeprefix("tests/").split("[")[0] in LONG_TESTS:
            item.add_marker("long")
    ranks = {name: rank for rank, name in enumerate(BEGIN_WITH)}
    items.sort(key=lambda item: ranks.get(Path(item.nodeid.split("::")[0]).stem, len(ranks)))


SMALL = (
    """
[simulation]
name = "small"
duration = "200 us"

"""
    + star(3, rate="10 Gb/s", length="20 m")
    + """
[switch.buffer]
queue = "200 frames"

[flow_control.pfc]
accounting = "ingress"
xoff = "20 frames"
xon = "10 frames"
"""
    + flow_text("steady", "h0", "h2", 'source = { poisson = { rate = "4 Gb/s" } }')
    + flow_text("greedy", "h1", "h2", 'source = "greedy"')
)

TWO_GREEDY = "".join(
    flow_text(name, sender, "h2", 'source = "greedy"') for name, sender in (("a", "h0"), ("b", "h1"))
)
"""Two senders that overload the link to h2."""

DYNAMIC = """
[switch.buffer.dynamic_threshold]
alpha = 0.125
minimum = "9 KiB"
headroom = "2 MiB"
resume_offset = "18 KiB"
"""
"""Dynamic thresholds as SONiC has them."""

THREE_CLASSES = """
[switch]
queues = [0, 0, 0, 1, 0, 0, 0, 2]

[switch.scheduler.ets]
classes = [
  { queues = [0], percent = 70 },
  { queues = [1], percent = 30 },
  { queues = [2], strict = true },
]
"""
"""The published example of ``dcb ets set``: 70 %, 30 % and strict."""

LONG = SMALL.replace("200 us", "3000 s").replace(
    "[topology.star]", "[probes]\npauses = false\n[topology.star]"
)
"""Hours of work: for tests that end a run early."""

Command = Callable[..., "subprocess.CompletedProcess[str]"]


def command_line(*words: str | Path) -> list[str]:
    """The process that ``penstock WORDS`` would be, with the interpreter of the tests."""
    return [sys.executable, "-m", "penstock", *map(str, words)]


def long_run(directory: Path, *words: str) -> subprocess.Popen[str]:
    """Starts ``penstock run`` on a scenario of hours in a directory, and returns once it has begun."""
    (directory / "long.toml").write_text(LONG, "utf-8")
    process = subprocess.Popen(
        command_line("run", "long.toml", *words),
        cwd=directory,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    has_worked(process)
    return process


@pytest.fixture
def penstock(tmp_path: Path) -> Command:
    """Runs ``penstock`` in an empty directory."""

    def run(*words: str | Path, timeout: float = 60.0) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command_line(*words), cwd=tmp_path, capture_output=True, text=True, timeout=timeout, check=False
        )

    return run


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A scenario file that runs in milliseconds."""
    file = tmp_path / "small.toml"
    file.write_text(SMALL, "utf-8")
    return file


@pytest.fixture
def refusal(
    small: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., str]:
    """Returns the message with which a command refuses options beside the small scenario."""

    def refused(command: str, *words: str) -> str:
        monkeypatch.chdir(small.parent)
        assert main([command, small.name, *words]) == 2
        return capsys.readouterr().err

    return refused


def table_description(tables: dict[str, pa.Table]) -> dict[str, Any]:
    return {
        name: {"about": name, "columns": [{"name": c, "unit": "", "about": c} for c in table.column_names]}
        for name, table in tables.items()
    }


@pytest.fixture
def made_up() -> Result:
    """A result that no engine made, with values that are hard to write: NaN, null, script tags."""
    tables = {**counters(), **over_time()}
    return Result(
        run={
            "schema": "penstock-result/1",
            "name": "made-up",
            "seed": 7,
            "engine_version": "0.1.0",
            "fingerprint": "00ff",
            "simulated_s": 4e-5,
            "duration_s": 4e-5,
            "wall_s": 0.1,
            "events": 60,
            "frame_hops": 60,
            "complete": True,
            "warnings": [],
        },
        scenario_toml='[simulation]\nduration = "40 us"\n',
        topology={
            "nodes": [
                {"name": "h0", "role": "host", "level": 0},
                {"name": "h1", "role": "host", "level": 0},
                {"name": "sw", "role": "switch", "level": 1},
            ],
            "links": [
                {"a": "h0", "b": "sw", "rate_bps": 1e10, "delay_ns": 100.0},
                {"a": "h1", "b": "sw", "rate_bps": 1e10, "delay_ns": 100.0},
            ],
        },
        description=table_description(tables),
        tables={name: (lambda table=table: table) for name, table in tables.items()},
    )


FLOWS = ["victim", "</script><b>", "never\u2028sent"]


def counters() -> dict[str, pa.Table]:
    """Tables of totals."""
    statistics = {
        f"latency_{name}_ns": [1_000.0, 2_000.0, float("nan")]
        for name in ("mean", "p50", "p90", "p99", "p999", "min", "max")
    }
    return {
        "flows": pa.table(
            {
                "flow": FLOWS,
                "class": pa.array([0, 3, 7], pa.uint8()),
                "source": ["h0", "h1", "h0"],
                "destination": ["h1", "h0", "h1"],
                "offered_bps": [1e9, 2e9, 0.0],
                "throughput_bps": [1e9, 2e9, 0.0],
                "goodput_bps": [0.9e9, 1.9e9, 0.0],
                "frames_sent": [10, 20, 0],
                "frames_delivered": [10, 20, 0],
                "frames_dropped": [0, 0, 0],
                **statistics,
                "jitter_ns": [1.0, 2.0, None],
                "throughput_stddev_bps": [1.0, 2.0, 0.0],
            }
        ),
        "ports": pa.table(
            {
                "port": ["sw.0->h0", "h0.0->sw"],
                "node": ["sw", "h0"],
                "peer": ["h0", "sw"],
                "utilisation": [0.5, 0.25],
                "queue_bytes_mean": [10.0, 0.0],
                "queue_bytes_max": [3_044, 0],
                "drops": [0, 0],
                "pauses_sent": [2, 0],
                "pauses_received": [0, 2],
                "paused_s": [0.0, 1e-5],
            }
        ),
        "queues": pa.table(
            {
                "port": ["sw.0->h0"],
                "class": pa.array([0], pa.uint8()),
                "frames": [10],
                **{f"wait_{name}_ns": [1.0] for name in ("mean", "p50", "p90", "p99", "p999", "max")},
                "queue_bytes_mean": [10.0],
                "queue_bytes_max": [3_044],
                "queue_frames_mean": [0.01],
                "drops": [0],
            }
        ),
    }


def over_time() -> dict[str, pa.Table]:
    """Tables with times."""
    times = [0, 10_000, 20_000, 30_000]
    return {
        "pauses": pa.table(
            {
                "port": ["h0.0->sw", "h0.0->sw"],
                "priority": pa.array([3, 3], pa.uint8()),
                "start_ns": [10_000.0, 30_000.0],
                "end_ns": [15_000.0, None],
                "sent_by": ["sw.0->h0", "sw.0->h0"],
                "reason": ["xoff", "xoff"],
            }
        ),
        "series": pa.table(
            {
                "metric": ["flow_throughput_bps"] * 8 + ["queue_bytes"] * 4,
                "entity": ["victim"] * 4 + [FLOWS[1]] * 4 + ["sw.0->h0#0"] * 4,
                "time_ns": times * 3,
                "value": [1e9, 1e9, 0.0, 1e9, 2e9, 2e9, 2e9, 2e9, 0.0, 1522.0, 3044.0, 0.0],
            }
        ),
        "watermarks": pa.table(
            {"entity": ["sw.0->h0#0"], "watermark": ["xoff"], "value": [2_000.0], "unit": ["B"]}
        ),
    }


def json_of(process: subprocess.CompletedProcess[str]) -> Any:
    """The one JSON object on standard output."""
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout)


def browse(script: str, url: str, directory: Path, timeout_s: float) -> subprocess.CompletedProcess[str]:
    """Runs a script of Playwright with the places of both and an address; skips without a browser."""
    playwright = Path(__file__).parents[1] / "viewer/node_modules/playwright-core/index.mjs"
    node, chromium = shutil.which("node"), shutil.which(os.environ.get("CHROMIUM", "chromium"))
    if node is None or chromium is None or not playwright.exists():
        pytest.skip("needs node, chromium and viewer/node_modules (npm ci in viewer/ makes them)")
    file = directory / "browse.mjs"
    file.write_text(script.format(playwright=playwright, chromium=chromium, url=url))
    return subprocess.run([node, file], capture_output=True, text=True, check=False, timeout=timeout_s)
