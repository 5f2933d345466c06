"""Runs of jobs that end when the time of an iteration is known precisely enough."""

from __future__ import annotations

import math
import statistics
from pathlib import Path
from typing import Any

import pytest

import penstock as ps
from penstock.cli import main
from penstock.validation.bench import star

ITERATIONS = 200
T_95 = 2.262157
"""Quantile of Student's t at 97.5 % with nine degrees of freedom."""


def ring(jitter: float, *, seed: int = 1, until: str | None = "10 % at 95 %", **job: Any) -> ps.Scenario:
    """A ring of four ranks whose computations are exponentially longer."""
    keys = {"iterations": ITERATIONS, "compute": "20 us", "compute_jitter": jitter, **job}
    scenario = ps.Scenario.from_toml(
        f"""
        [simulation]
        duration = "100 ms"
        seed = {seed}
        {star(4, rate="400 Gb/s")}
        [flow_control.pfc]
        [[jobs]]
        name = "train"
        ranks = "all"
        workload = {{ collective = "all_reduce", bytes = "100 kB" }}
        priority = 3
        """
    )
    for key, value in keys.items():
        scenario = scenario.with_value(f"jobs.train.{key}", value)
    return scenario if until is None else scenario.with_value("simulation.until", until)


def steps(result: ps.Result) -> list[float]:
    """Times of the iterations, each from the end of the one before."""
    start = result.rows("jobs")[0]["start_ns"]
    ends = [row["end_ns"] for row in result.rows("collectives")]
    return [end - before for before, end in zip([start, *ends], ends, strict=False)]


def by_hand(times: list[float]) -> tuple[float, float]:
    """Mean and half width by ten batches of consecutive times."""
    size = len(times) // 10
    means = [statistics.fmean(times[at * size : (at + 1) * size]) for at in range(10)]
    return statistics.fmean(means), T_95 * statistics.stdev(means) / math.sqrt(10)


def test_the_interval_is_that_of_batch_means() -> None:
    result = ring(1.0).run()
    row = result.rows("jobs")[0]
    assert 10 <= row["ends_after"] == row["finished"] < row["iterations"] == ITERATIONS
    assert row["until"] == "10 % at 95 %"
    times = steps(result)
    assert row["step_ns"] == pytest.approx(statistics.fmean(times))
    assert row["step_half_width_ns"] == pytest.approx(by_hand(times)[1], rel=1e-6)
    # It ended with the iteration after the first tens of iterations that were precise enough.
    tens = [
        10 * n for n in range(1, len(times) // 10 + 1) if (own := by_hand(times[: 10 * n]))[1] <= 0.1 * own[0]
    ]
    assert tens[0] <= row["ends_after"] <= tens[0] + 2
    assert str(result.verdict) == "complete"


def test_what_recurs_is_known_after_ten_iterations() -> None:
    row = ring(0.0).run().rows("jobs")[0]
    assert row["ends_after"] in (10, 11)
    assert row["step_half_width_ns"] < 0.1 * row["step_ns"]


def test_the_iterations_until_then_are_those_of_the_whole_run() -> None:
    part, whole = ring(1.0).run(), ring(1.0, until=None).run()
    assert steps(whole)[: len(steps(part))] == steps(part)
    own = whole.rows("jobs")[0]
    assert (own["ends_after"], own["until"], own["step_half_width_ns"]) == (ITERATIONS, "", None)


def test_threads_change_nothing() -> None:
    runs = [ring(1.0).run(threads=threads) for threads in (1, 2, 3)]
    assert len({run.run["fingerprint"] for run in runs}) == 1
    assert len({run.rows("jobs")[0]["ends_after"] for run in runs}) == 1


def test_intervals_hold_the_mean_of_the_whole_run_about_as_often_as_they_say() -> None:
    held = 0
    for seed in range(1, 41):
        row = ring(1.0, seed=seed).run().rows("jobs")[0]
        whole = ring(1.0, seed=seed, until=None).run().rows("jobs")[0]
        held += abs(row["step_ns"] - whole["step_ns"]) <= row["step_half_width_ns"]
    # To stop when it looks precise costs some coverage: 95 % are 38 of 40.
    assert held >= 33


def test_all_jobs_go_on_until_the_last_is_known() -> None:
    whole = ring(0.0)
    second = {**whole.to_dict()["jobs"][0], "name": "other", "priority": 4, "compute_jitter": 1.0}
    both = whole.with_value("jobs", [*whole.to_dict()["jobs"], second])
    first, other = both.run().rows("jobs")
    assert first["finished"] > 11
    assert first["step_half_width_ns"] <= 0.1 * first["step_ns"]
    assert other["finished"] < ITERATIONS


@pytest.mark.parametrize("text", ["5 %", "5 at 95", "0 % at 95 %", "5 % at 80 %", "5 %at 95 %"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(ps.ScenarioError, match=r"expected a half width and a confidence of 90, 95 or 99 %"):
        ring(1.0, until=text).check()


def test_a_precision_without_enough_iterations_is_a_warning() -> None:
    found = ring(1.0, iterations=10).run().run["warnings"]
    assert any("no job has more than 10 iterations" in str(one) for one in found)


def test_the_command_says_that_it_is_an_estimate(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "ring.toml"
    file.write_text(ring(1.0, until=None).to_toml())
    assert main(["run", str(file), "--until", "10 % at 95 %", "--out", str(tmp_path / "out")]) == 0
    output = " ".join(capsys.readouterr().out.split())
    assert "of 200 iterations (until 10 % at 95 %): all figures are estimates" in output
    assert main(["run", str(file), "--until", "often"]) == 2
    assert '"often" is not a precision; expected a half width' in capsys.readouterr().err


def test_messages_show_lines_of_the_file_beside_the_option(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "wrong.toml"
    file.write_text('# A comment.\n[simulation]\nduration = "1 ms"\n\n[topology.star]\nhosts = "few"\n')
    assert main(["run", str(file), "--until", "5 % at 95 %", "--out", str(tmp_path / "out")]) == 2
    assert "wrong.toml:6:9" in capsys.readouterr().err
