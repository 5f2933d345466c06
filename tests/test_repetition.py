"""Jobs whose iterations repeat exactly, and iterations that are skipped for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tomli_w

import penstock as ps
from penstock.analysis import jobs
from penstock.cli import main
from penstock.validation.bench import star

ITERATIONS = 100
ABOUT_SKIPPING = {"skipped", "skipped_phases", "repeats_from", "repeat_period", "repeat_ns", "recorded"}


def job(skip: str = "off", *, control: str = "none", **keys: Any) -> ps.Scenario:
    """A ring of eight ranks."""
    scenario = ps.Scenario.from_toml(
        f"""
        [simulation]
        duration = "100 ms"
        skip = "{skip}"
        {star(8, rate="400 Gb/s")}
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
    assert short.fingerprint == whole.fingerprint
    different = {name for name in whole.table_names if short.rows(name) != whole.rows(name)}
    assert different <= {"jobs", "rank_steps"}
    hops, skipped = (short.run[key] for key in ("frame_hops", "skipped_hops"))
    assert (hops, 0) == (whole.run["frame_hops"], whole.run["skipped_hops"])
    assert (hops - skipped) * ITERATIONS == hops * (ITERATIONS - own["skipped"])
    assert short.run["simulated_s"] == whole.run["simulated_s"]


def test_what_a_run_says() -> None:
    short, whole = job("iterations").run(), job().run()
    output = jobs.repetitions(short)
    assert len(output) == 1
    assert output[0].startswith("Job train repeats exactly from iteration 1 on, each in ")
    assert "of 100 iterations were skipped. The result covers the whole run, but" in output[0]
    assert (
        'Set skip = "iterations" in [simulation] to skip repeated iterations.' in jobs.repetitions(whole)[0]
    )
    telemetry = job(control="hpcc", iterations=20).run()
    assert jobs.repetitions(telemetry) == []
    assert of_job(telemetry)["not_repeated"] == "no class yet: hpcc"


def test_steps_of_a_ring_are_skipped_within_iterations() -> None:
    scenario = job("phases", iterations=3).with_value("jobs.train.workload.bytes", "16 MB")
    short, whole = scenario.run(), scenario.with_value("simulation.skip", "off").run()
    assert short.rows("collectives") == whole.rows("collectives")
    own, other = of_job(short), of_job(whole)
    assert {key for key in own if own[key] != other[key]} <= ABOUT_SKIPPING
    assert own["skipped_phases"] >= 3 * 6
    output = f"{own['skipped_phases']} steps of its ring were skipped"
    assert any(output in text for text in jobs.repetitions(short))


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


def equal_to_the_whole(scenario: ps.Scenario) -> dict[str, Any]:
    """Compares a run that skips with the whole run, and returns its first job."""
    skipping = scenario.with_value("simulation.skip", "iterations").run()
    whole = scenario.with_value("simulation.skip", "off").run()
    for own, other in zip(skipping.rows("jobs"), whole.rows("jobs"), strict=True):
        assert {key for key in own if own[key] != other[key]} <= ABOUT_SKIPPING | {"not_repeated"}
    assert skipping.rows("collectives") == whole.rows("collectives")
    return of_job(skipping)


def two_jobs(sizes: tuple[str, str], managers: list[dict[str, Any]], control: str) -> ps.Scenario:
    """Two jobs in two priorities over the links of a leaf-spine fabric."""
    keys = {"ranks": "all", "iterations": 24, "over": {"rdma": {"control": control}}}
    workload = {"collective": "all_to_all"}
    return ps.Scenario.from_toml(
        tomli_w.dumps(
            {
                "simulation": {"duration": "100 ms"},
                "topology": {
                    "leaf_spine": {
                        "leaves": 2,
                        "spines": 2,
                        "hosts_per_leaf": 2,
                        "rate": "100 Gb/s",
                        "phy": "none",
                    }
                },
                "switch": {"queues": "per_priority", "queue_managers": managers},
                "flow_control": {"pfc": {}},
                "jobs": [
                    {
                        "name": f"j{priority}",
                        "priority": priority,
                        "workload": {**workload, "bytes": size},
                        **keys,
                    }
                    for priority, size in zip((3, 4), sizes, strict=True)
                ],
            }
        )
    )


@pytest.mark.parametrize("sizes", [("64 kB", "64 kB"), ("64 kB", "192 kB"), ("64 kB", "100 kB")])
@pytest.mark.parametrize("control", ["none", "dcqcn"])
def test_two_jobs_over_the_same_links(sizes: tuple[str, str], control: str) -> None:
    """Two priorities at each NIC, whose jobs have equal and unequal periods and end at different times."""
    equal_to_the_whole(two_jobs(sizes, [], control))


def test_marks_that_are_drawn_prevent_a_repetition() -> None:
    red = {"min": "4 kB", "max": "40 kB", "max_probability": 0.5, "action": "mark_only"}
    own = equal_to_the_whole(two_jobs(("256 kB", "256 kB"), [{"classes": [3, 4], "red": red}], "dcqcn"))
    assert own["skipped"] == 0


def test_nothing_is_skipped_where_frames_are_recorded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    probe = {"what": "frames", "which": "h0.0->sw"}
    recorded = job("iterations", iterations=20).with_value("probes", [probe])
    assert of_job(recorded.run())["skipped"] == 0
    (tmp_path / "skip.toml").write_text(recorded.to_toml())
    main(["check", str(tmp_path / "skip.toml")])
    printed = capsys.readouterr()
    assert "`skip` beside recorded frames" in " ".join((printed.out + printed.err).split())
