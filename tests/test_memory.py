"""The memory limit of a run: where it comes from, what warns of it, what is left of a run that reaches it."""

from __future__ import annotations

import json
import shlex
import subprocess
from pathlib import Path

import pytest

from conftest import Command, command_line
from penstock import _core, running
from penstock.library import Source
from penstock.running import Progress, memory

# A tenth more than the link takes waits and stays: there is time for many looks before the limit.
GROWS = """\
[simulation]
duration = "2 s"
{limit}
[probes]
bin = "off"

[topology.dumbbell]
left = 2
right = 1
rate = "100 Gb/s"
phy = "none"
bottleneck_rate = "10 Gb/s"

[[flows]]
name = "f"
from = "l*"
to = "r0"
frame = "64 B"
source = {{ constant = {{ rate = "4.5 Gb/s" }} }}
"""
LIMITED = GROWS.format(limit='memory_limit = "120 MiB"')
UNLIMITED = GROWS.format(limit="")


def test_a_run_that_reaches_its_limit_warns_and_keeps_what_it_measured() -> None:
    warnings: list[str] = []

    def watch(progress: Progress) -> None:
        if progress.warning:
            warnings.append(progress.warning)

    result = running.run_source(Source(LIMITED, "grows.toml"), progress=watch)
    assert not result.complete
    because = result.run["cut_short_by"]
    assert "reached its memory limit" in because
    assert "its limit is 120.0 MiB (memory_limit of the scenario)" in because
    assert 0 < result.run["simulated_s"] < 2
    assert sum(row["frames_delivered"] for row in result.rows("flows")) > 0
    assert len(warnings) == 1
    assert "at the end it would be about" in warnings[0]


def test_the_limit_of_the_machine_holds_where_the_scenario_has_none() -> None:
    run = json.loads(_core.run(UNLIMITED, "grows.toml", memory_limit=16 << 20).run)
    assert "its limit is 16.0 MiB (from what was free on this machine when it began)" in run["cut_short_by"]
    # A fabric that does not fit is told before the first event.
    run = json.loads(_core.run(UNLIMITED, "grows.toml", memory_limit=1000).run)
    assert (run["simulated_s"], run["events"]) == (0, 0)


def test_the_command_line_tells_before_and_after(penstock: Command, tmp_path: Path) -> None:
    file = tmp_path / "grows.toml"
    file.write_text(LIMITED, "utf-8")
    done = penstock("run", file, "--no-report", "--out", tmp_path / "out")
    assert done.returncode == 1
    assert done.stderr.count("warning: at ") == 1
    assert "penstock: stopped early: at " in done.stderr
    assert "the run has reached its memory limit" in done.stderr
    run = json.loads((tmp_path / "out" / "run.json").read_text("utf-8"))
    assert run["complete"] is False
    assert run["ended_by"] is None
    estimated = penstock("check", file, "--estimate")
    assert "more than the 120 MiB that its memory_limit allows" in estimated.stderr


@pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="this system does not tell what a process takes"
)
def test_a_process_limit_ends_a_run_with_a_result_and_no_signal(tmp_path: Path) -> None:
    file = tmp_path / "grows.toml"
    fast = UNLIMITED.replace("10 Gb/s", "10 Mb/s").replace("4.5 Gb/s", "50 Gb/s")
    file.write_text(fast, "utf-8")
    words = " ".join(shlex.quote(str(word)) for word in command_line("run", file, "--json", "--out", "out"))
    done = subprocess.run(
        ["bash", "-c", f"ulimit -v 1200000; exec {words} --no-report"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert "from what was free on this machine when it began" in done.stderr
    assert json.loads(done.stdout)["complete"] is False


def test_a_limit_changes_no_run_that_keeps_within_it(small: Path) -> None:
    text = small.read_text("utf-8")
    roomy = text.replace("[simulation]", '[simulation]\nmemory_limit = "8 GiB"')
    assert roomy != text
    of = [json.loads(_core.run(one, "small.toml").run) for one in (text, roomy)]
    assert of[0]["fingerprint"] == of[1]["fingerprint"]
    assert [run["cut_short_by"] for run in of] == [None, None]
    assert _core.identity(text, "small.toml") == _core.identity(roomy, "small.toml")
    assert 'memory_limit = "available"' in _core.check(text, "small.toml")


def test_what_is_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    proc, groups = tmp_path / "proc", tmp_path / "cgroup"
    (proc / "self").mkdir(parents=True)
    (groups / "memory").mkdir(parents=True)
    monkeypatch.setattr(memory, "_PROC", proc)
    monkeypatch.setattr(memory, "_CGROUP", groups)
    monkeypatch.setattr(memory, "FRESH_S", 1e9)
    (proc / "meminfo").write_text("MemTotal: 9000 kB\nMemAvailable:    5000 kB\n")
    assert memory.free_bytes() == 5000 * 1024
    # Version 2: of 4000 KiB 3000 are in use, 1000 of these for files that can be read again.
    (groups / "memory.max").write_text(f"{4000 * 1024}\n")
    (groups / "memory.current").write_text(f"{3000 * 1024}\n")
    (groups / "memory.stat").write_text(f"anon 7\ninactive_file {1000 * 1024}\n")
    assert memory.free_bytes() == 2000 * 1024
    memory.free_in.cache_clear()
    assert memory.limit_bytes() == 1600 * 1024
    assert memory.limit_bytes(2) == 800 * 1024
    (groups / "memory.max").write_text("max\n")
    assert memory.free_bytes() == 5000 * 1024
    # Version 1.
    (groups / "memory" / "memory.limit_in_bytes").write_text(f"{700 * 1024}")
    (groups / "memory" / "memory.usage_in_bytes").write_text(f"{600 * 1024}")
    assert memory.free_bytes() == 100 * 1024
