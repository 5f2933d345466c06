"""Previews: jobs at flow level, and how far they are from packets."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

import penstock as ps
from penstock import cli
from penstock.errors import InputError

STAR = '[topology.star]\nhosts = HOSTS\nrate = "100 Gb/s"\nphy = "none"\n[flow_control.pfc]\n'
LEAVES = (
    '[topology.leaf_spine]\nleaves = 2\nspines = 1\nhosts_per_leaf = 2\nrate = "100 Gb/s"\nphy = "none"\n'
    'uplink_rate = "100 Gb/s"\n[flow_control.pfc]\n'
)
OVERSUBSCRIBED = (
    '[topology.leaf_spine]\nleaves = 2\nspines = 2\nhosts_per_leaf = 8\nrate = "100 Gb/s"\nphy = "none"\n'
    'uplink_rate = "200 Gb/s"\n[flow_control.pfc]\n'
)
ETS = (
    "[switch.scheduler.ets]\nclasses = [{ queues = [0, 1, 2], percent = 25 }, "
    "{ queues = [3, 4, 5, 6, 7], percent = 75 }]\n"
)


def job(workload: str, *, name: str = "job", ranks: str = '"all"', more: str = "") -> str:
    return (
        f'[[jobs]]\nname = "{name}"\nranks = {ranks}\nworkload = {{ {workload} }}\nframe = "4200 B"\n'
        f'over = {{ rdma = {{ control = "none" }} }}\n{more}\n'
    )


def scenario(folder: Path, fabric: str, *jobs: str, duration: str = "100 ms", hosts: int = 8) -> Path:
    file = folder / "fabric.toml"
    text = f'[simulation]\nduration = "{duration}"\n{fabric.replace("HOSTS", str(hosts))}{"".join(jobs)}'
    file.write_text(text, "utf-8")
    return file


TWO = (
    job('collective = "all_reduce", bytes = "4 MB"', name="one", ranks='["h0", "h2"]', more="priority = 3"),
    job('collective = "all_reduce", bytes = "4 MB"', name="two", ranks='["h1", "h3"]', more="priority = 3"),
)
CLASSES = (
    job(
        'collective = "send_receive", bytes = "12 MB"', name="gold", ranks='["h0", "h2"]', more="priority = 3"
    ),
    job(
        'collective = "send_receive", bytes = "4 MB"', name="iron", ranks='["h1", "h3"]', more="priority = 1"
    ),
)
CASES = {
    "ring": (STAR, (job('collective = "all_reduce", bytes = "16 MB"', more='compute = "200 us"'),), 0.01),
    "tree": (STAR, (job('collective = "broadcast", bytes = "4 MB", chunks = 8'),), 0.01),
    "all-to-all": (STAR, (job('collective = "all_to_all", bytes = "8 MB"'),), 0.01),
    "neighbours": (LEAVES, TWO, 0.01),
    "oversubscribed": (OVERSUBSCRIBED, (job('collective = "all_to_all", bytes = "8 MB"'),), 0.06),
    "strict classes": (LEAVES, CLASSES, 0.01),
    "shares of classes": (LEAVES + ETS, CLASSES, 0.01),
}
"""Fabric, jobs, and the largest error of the time of an iteration."""


@pytest.mark.parametrize("name", CASES)
def test_the_error_against_packets_is_as_stated(name: str, tmp_path: Path) -> None:
    fabric, jobs, limit = CASES[name]
    file = scenario(tmp_path, fabric, *jobs)
    preview = ps.preview(file)
    errors = preview.against(ps.run(file))
    assert len(errors) == len(jobs)
    assert not preview.waits
    assert all(own.error is not None and abs(own.error) <= limit for own in errors), errors


def test_a_ring_is_the_algebra_of_rings(tmp_path: Path) -> None:
    file = scenario(
        tmp_path, STAR, job('collective = "all_reduce", bytes = "1 GB"'), duration="1 s", hosts=64
    )
    before = time.process_time()
    (row,) = ps.preview(file).jobs
    # The payload of 4,200 B frames on a wire of 100 Gb/s, and the latency of 126 steps.
    payload = 4200 / (4200 - 70)
    assert row["step_ns"] == pytest.approx(2 * 63 / 64 * 1e9 * 8 / 100 * payload, rel=0.02)
    assert time.process_time() - before < 10


def test_classes_share_by_their_weights(tmp_path: Path) -> None:
    strict, shared = (
        {row["job"]: row["step_ns"] for row in ps.preview(scenario(tmp_path, LEAVES + ets, *CLASSES)).jobs}
        for ets in ("", ETS)
    )
    # Strict: gold has the whole link, and iron comes after it. Shared as their bytes are, both end together.
    assert strict["gold"] == pytest.approx(0.75 * strict["iron"], rel=0.01)
    assert shared["gold"] == pytest.approx(shared["iron"], rel=0.01)
    assert shared["gold"] == pytest.approx(strict["iron"], rel=0.01)


def test_what_a_preview_does_not_have_is_named(tmp_path: Path) -> None:
    work = job('collective = "all_reduce", bytes = "1 MB"')
    flow = '[[flows]]\nname = "NAME"\nfrom = "h0"\nto = "h1"\nsource = SOURCE\n'
    greedy = flow.replace("NAME", "greedy").replace("SOURCE", '"greedy"')
    poisson = flow.replace("NAME", "random").replace("SOURCE", '{ poisson = { rate = "1 Gb/s" } }')
    alone, beside, random = (
        ps.preview(scenario(tmp_path, STAR, work, other)) for other in ("", greedy, poisson)
    )
    assert (alone.left_out, beside.left_out, random.left_out) == ([], [], ["random"])
    assert beside.jobs[0]["step_ns"] > 1.8 * alone.jobs[0]["step_ns"]
    assert random.jobs == alone.jobs
    with pytest.raises(InputError, match="the scenario has no jobs"):
        ps.preview(scenario(tmp_path, STAR, greedy))
    result = ps.run(scenario(tmp_path, STAR, job('collective = "barrier"', name="other")))
    with pytest.raises(InputError, match="the result has the jobs other, the preview job"):
        alone.against(result)


def test_a_job_that_does_not_end_says_so(tmp_path: Path) -> None:
    (tmp_path / "two.goal").write_text(
        "num_ranks 2\nrank 0 {\nrecv 8b from 1 tag 5\n}\nrank 1 {\n}\n", "utf-8"
    )
    preview = ps.preview(scenario(tmp_path, STAR, job('goal = "two.goal"'), hosts=2))
    assert [(row["rank"], row["cause"]) for row in preview.waits] == [(0, "peer ended")]
    late = ps.preview(
        scenario(tmp_path, STAR, job('collective = "all_reduce", bytes = "1 GB"'), duration="1 ms")
    )
    assert late.jobs[0]["finished"] == 0
    assert late.simulated_s == 1e-3


def test_the_command_marks_what_it_prints(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fabric, jobs, _ = CASES["ring"]
    file = scenario(tmp_path, fabric, *jobs)
    result = tmp_path / "out"
    ps.run(file).save(result)
    assert cli.main(["preview", str(file), "--against", str(result)]) == 0
    printed = capsys.readouterr().out
    assert "Preview at flow level" in printed
    assert "packets" in printed
    assert "error" in printed
    assert cli.main(["preview", str(file), "--json", "--against", str(result)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["schema"], found["preview"]) == ("penstock-preview/1", True)
    assert abs(found["against"]["job"]["error"]) < 0.01
