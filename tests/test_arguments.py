"""Nothing is rounded or ignored silently; every error is a PenstockError that names its argument."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as ps
from conftest import SMALL, Command
from penstock import weights
from penstock.analysis.fairness import Problem
from penstock.running.replications import replicate

WRONG: list[tuple[str, Callable[[], Any], str]] = [
    ("seed, not whole", lambda: small().run(seed=1.5), "seed is 1.5"),
    ("seed, negative", lambda: small().run(seed=-1), "seed is -1"),
    ("seed, too large", lambda: small().run(seed=2**64), f"seed is {2**64}"),
    ("seed, a truth value", lambda: small().run(seed=True), "seed is True"),
    ("seed, text", lambda: small().run(seed="1"), "seed is '1'"),
    ("threads, none", lambda: small().run(threads=0), "threads is 0"),
    ("threads, not whole", lambda: small().run(threads=2.0), "threads is 2.0"),
    ("threads, a word", lambda: small().run(threads="all"), "threads is 'all'"),
    ("replications, not whole", lambda: replicate(small(), 2.6), "replications is 2.6"),
    ("replications, none", lambda: replicate(small(), 0), "replications is 0"),
    ("the last seed", lambda: replicate(small(), 2, seed=2**64 - 1), "the last seed"),
    ("workers", lambda: replicate(small(), 2, workers=0), "workers is 0"),
    ("confidence", lambda: replicate(small(), 2, confidence=95).intervals(), "confidence is 95"),
    ("no such flow", lambda: small().run().series("flow_throughput_bps", "stedy"), "did you mean steady?"),
    ("no such metric", lambda: small().run().series("flow_thruput_bps", "steady"), "flow_throughput_bps"),
    ("no such series", lambda: small().run().all_series("flow_thruput_bps"), "flow_throughput_bps"),
    ("no scenario", lambda: ps.run(None), "None is not a scenario"),
    ("no function", lambda: small().run(progress=3), "progress is 3"),
    ("one scenario for many", lambda: ps.run_many("first-light"), "expected a list"),
    ("no executor", lambda: ps.run_many([small()], executor=3), "executor is 3"),
    ("a list and keys", lambda: ps.uniform(["h1"], min="64 B"), "a list and min"),
    ("half a frame", lambda: weights.from_sizes([[1.5, 0, 0, 0, 0, 0]]), "whole numbers"),
    ("half a byte", lambda: weights.from_sizes([[1, 0, 0, 0, 0, 0]], largest=1522.5), "whole numbers"),
    ("an endless quantum", lambda: weights.Learner().weights([weights.Counters(1, 1, math.inf)]), "quantum"),
    ("a burst below 0", lambda: ps.guarantees(small())[0].delay_ns(-1), "burst_bytes is -1"),
    ("no such table", lambda: small().run().table("flow"), "did you mean flows"),
    ("no such scenario", lambda: ps.run("first-lite"), "first-light"),
    ("no such result", lambda: ps.Result.load("nowhere"), "nowhere"),
    ("no TOML", lambda: ps.Scenario.from_toml("[", file="a.toml"), "a.toml: "),
    ("no text for a scenario", lambda: ps.Scenario.from_toml(None), "text is None; expected text"),  # type: ignore[arg-type]
    ("no key", lambda: small().with_value(3, 1), "key is 3; expected text"),  # type: ignore[arg-type]
    ("no name", lambda: small().flow(None, from_="h0", to="h1"), "flow.name is None"),  # type: ignore[arg-type]
    (
        "half a letter",
        lambda: small().with_value("simulation.name", "\udcff"),
        "expected text that can be encoded as UTF-8",
    ),
    ("a list of threads", lambda: small().run(threads=np.array([1, 2])), "threads is array"),  # type: ignore[arg-type]
    ("a number for many", lambda: ps.run_many(3), "expected a list"),  # type: ignore[arg-type]
    ("a number for a directory", lambda: ps.Result.load(3), "directory is 3; expected a path"),  # type: ignore[arg-type]
    ("a number for a place", lambda: small().run().save(3), "directory is 3; expected a path"),  # type: ignore[arg-type]
    ("a number for a table", lambda: small().run().table(3), "table is 3; expected text"),  # type: ignore[arg-type]
    ("a number for a flow", lambda: small().run().series("x", 3), "entity is 3; expected text"),  # type: ignore[arg-type]
    ("no time", lambda: ps.Scenario("1 parsec").check(), "1 parsec"),
    ("no values", lambda: ps.jain([]), "no values"),
    ("weights and flows", lambda: Problem([[1.0]], [1.0], [1.0], [1.0, 1.0]), "2 weights for 1 flows"),
]


def small() -> ps.Scenario:
    return ps.Scenario.from_toml(SMALL)


@pytest.mark.parametrize(
    ("call", "words"), [(call, words) for _, call, words in WRONG], ids=[w[0] for w in WRONG]
)
def test_a_wrong_argument_is_named_and_the_error_survives_a_pool(call: Callable[[], Any], words: str) -> None:
    with pytest.raises(ps.PenstockError) as caught:
        call()
    assert words in str(caught.value)
    sent = pickle.loads(pickle.dumps(caught.value))
    assert (type(sent), str(sent)) == (type(caught.value), str(caught.value))


def test_errors_are_also_those_of_python() -> None:
    with pytest.raises(ValueError, match="confidence"):
        ps.student_t_interval([1.0, 2.0], 2.0)
    with pytest.raises(KeyError):
        small().run()["nothing"]
    with pytest.raises(TypeError):
        small().fault(nothing=1)


def test_what_is_wrong_in_a_scenario_survives_a_pool() -> None:
    with pytest.raises(ps.ScenarioError) as caught:
        ps.Scenario("1 parsec").check()
    assert '"line":2' in caught.value.diagnostics
    assert pickle.loads(pickle.dumps(caught.value)).diagnostics == caught.value.diagnostics
    # Some picklers send it along.
    assert pickle.dumps(caught.value.__context__)


def test_a_broken_invariant_is_an_error_of_the_package() -> None:
    with pytest.raises(ps.SimulationError, match="total_limit") as caught:
        small().switch(buffer={"total": "22 frames"}).run()
    assert isinstance(caught.value, ps.PenstockError)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    assert pickle.dumps(caught.value.__context__)


def test_whole_numbers_of_numpy_are_whole_numbers() -> None:
    assert small().run(seed=np.int64(7), threads=np.int32(1)).seed == 7
    assert len(replicate(small(), np.int64(2)).results) == 2


def run(scenario: ps.Scenario) -> ps.Result:
    return scenario.run(seed=3)


@pytest.mark.parametrize("saved", [False, True])
def test_scenarios_and_results_are_sent_to_processes(saved: bool, tmp_path: Path) -> None:
    with ProcessPoolExecutor(1) as pool:
        came = pool.submit(run, small()).result()
    alone = run(small())
    if saved:
        came.save(tmp_path / "result", report=False)
        came = pickle.loads(pickle.dumps(ps.Result.load(tmp_path / "result")))
        (tmp_path / "result" / "flows.parquet").unlink()
    assert (came.fingerprint, {*came}) == (alone.fingerprint, {*alone})
    for name in alone.table_names:
        assert str(came.rows(name)) == str(alone.rows(name))


def test_a_notebook_shows_a_result_and_escapes_it(made_up: ps.Result) -> None:
    shown = made_up._repr_html_()
    assert "<td>victim</td>" in shown
    assert "</script>" not in shown
    many = small()
    for index in range(12):
        many = many.flow(f"f{index}", from_="h0", to="h2", source=ps.constant("1 Mb/s"))
    assert "and 4 more flows" in many.run()._repr_html_()


@pytest.mark.parametrize(
    "words",
    [
        ("--seed", "1.5"),
        ("--seed", "1e3"),
        ("--seed", "1_000"),
        ("--replications", "2.6"),
        ("--threads", "1.5"),
        ("--threads", "many"),
    ],
)
def test_the_command_line_rounds_nothing(words: tuple[str, str], penstock: Command, small: Path) -> None:
    done = penstock("run", small, *words)
    assert done.returncode == 2
    assert f"{words[0]} is {words[1]}; expected a whole number" in done.stderr


def test_a_weight_is_given_once(penstock: Command, small: Path) -> None:
    done = penstock("fair", small, "--weight", "steady=1", "--weight", "steady=2")
    assert (done.returncode, "steady has the weight 1 already" in done.stderr) == (2, True)
