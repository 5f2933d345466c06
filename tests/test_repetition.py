"""Jobs whose iterations repeat exactly, and iterations that are skipped for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import penstock as ps
from penstock.analysis import jobs
from penstock.cli import main

ITERATIONS = 100
ABOUT_SKIPPING = {"skipped", "repeats_from", "repeat_period", "repeat_ns", "recorded"}


def job(skip: str = "off", *, control: str = "none", **keys: Any) -> ps.Scenario:
    """A ring of eight ranks."""
    scenario = ps.Scenario.from_toml(
        f"""
        [simulation]
        duration = "100 ms"
        skip = "{skip}"
        [topology.star]
        hosts = 8
        rate = "400 Gb/s"
        [flow_control.pfc]
        [[jobs]]
        name = "train"
        ranks = "all"
        workload = {{ collective = "all_reduce", bytes = "4 MB" }}
        over = {{ rdma = {{ control = "{control}" }} }}
        priority = 3
        iterations = {ITERATIONS}
        """
    )
    for key, value in keys.items():
        scenario = scenario.with_value(f"jobs.train.{key}", value)
    return scenario


def of_job(result: ps.Result) -> dict[str, Any]:
    return result.rows("jobs")[0]


def test_a_run_that_skips_has_the_times_of_the_whole_run_and_the_frames_of_four_iterations() -> None:
    whole, short = job().run(), job("iterations").run()
    assert short.rows("collectives") == whole.rows("collectives")
    own, other = of_job(short), of_job(whole)
    assert {key for key in own if own[key] != other[key]} <= ABOUT_SKIPPING
    assert (own["finished"], other["skipped"]) == (ITERATIONS, 0)
    assert own["skipped"] >= ITERATIONS - 5
    frames = [sum(row["frames_sent"] for row in run.rows("ports")) for run in (short, whole)]
    assert frames[0] * ITERATIONS == frames[1] * (ITERATIONS - own["skipped"])


def test_what_a_run_says() -> None:
    short, whole = job("iterations").run(), job().run()
    said = jobs.repetitions(short)
    assert len(said) == 1
    assert said[0].startswith("Job train repeats exactly from iteration 1 on, each in ")
    assert "of 100 iterations were skipped. The tables jobs and collectives have all of them" in said[0]
    assert 'skip = "iterations" of [simulation] would simulate few of them.' in jobs.repetitions(whole)[0]
    telemetry = job(control="hpcc", iterations=20).run()
    assert jobs.repetitions(telemetry) == []
    assert of_job(telemetry)["not_repeated"] == "no class yet: hpcc"


def test_checking_simulates_everything(tmp_path: Path) -> None:
    checked, whole = job("check").run(), job().run()
    assert checked.fingerprint == whole.fingerprint
    own, other = of_job(checked), of_job(whole)
    assert {key for key in own if own[key] != other[key]} <= ABOUT_SKIPPING - {"skipped", "recorded"}


@pytest.mark.parametrize(
    ("iterations", "until", "expected"),
    [(3, None, "no job has more than 3 iterations"), (30, "5 % at 95 %", "`skip` beside `until`")],
)
def test_a_skip_without_effect_is_a_warning(
    iterations: int, until: str | None, expected: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scenario = job("iterations", iterations=iterations)
    if until is not None:
        scenario = scenario.with_value("simulation.until", until)
    (tmp_path / "skip.toml").write_text(scenario.to_toml())
    main(["check", str(tmp_path / "skip.toml")])
    printed = capsys.readouterr()
    assert expected in " ".join((printed.out + printed.err).split())
