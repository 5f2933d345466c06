"""Chapters 4 and 5 of Hagen 2012: one testbed for a whole chapter, criteria in the words of the source."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

from penstock import library
from penstock.scenario import Scenario
from penstock.studies import reproduce

HAGEN = [
    *(f"hagen-2012/ch{chapter}" for chapter in (1, *range(3, 8))),
    "hagen-2012/interoperability",
    "hagen-2012/feedback",
]
BENCHMARK = {4096: 1000, 262_144: 160, 524_288: 80, 1_048_576: 40, 4_194_304: 10}
"""Steps that the Intel MPI benchmarks take of some sizes: 40 MiB of messages, at most a thousand."""


def study(name: str) -> reproduce.Study:
    [found] = reproduce.find(name)
    return found


@pytest.fixture(scope="module")
def mpi() -> ModuleType:
    module: ModuleType = reproduce._module(study("hagen-2012/ch5")).mpi
    return module


@pytest.mark.parametrize("name", HAGEN)
def test_a_claim_is_quoted(name: str) -> None:
    """What the source reports is in its own words, in quotation marks."""
    for experiment in study(name).experiments:
        if experiment.kind == "source":
            assert experiment.reported.count("'") >= 2, experiment.id


def test_one_adapter_and_one_switch_for_all_of_chapter_5() -> None:
    folder = study("hagen-2012/ch5").folder
    texts = [
        tomllib.loads((folder / f"{name}.toml").read_text("utf-8"))
        for name in ("four-hosts", "mpi", "storage")
    ]
    assert len({repr((text["flow_control"], text["switch"])) for text in texts}) == 1
    assert {text["host"]["receive"]["buffer"] for text in texts} == {"64 KiB"}
    assert {text["host"]["receive"]["time_per_frame"] for text in texts} == {"1858.7 ns"}


def test_the_benchmark_takes_its_own_steps_of_all_its_sizes(
    mpi: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(mpi.ALL) == 24
    requested: list[tuple[str, int]] = []

    def noted(scenario: Scenario, seed: int) -> Scenario:
        exchange = scenario.to_dict()["flows"][0]["source"]["mpi_exchange"]
        requested.append((exchange["message"], exchange["steps"]))
        return scenario

    monkeypatch.setattr(Scenario, "run", noted)
    monkeypatch.setattr(Scenario, "rows", lambda *_: [{"exchange_mean_ns": 1.0}], raising=False)
    ring = Scenario.from_file(study("hagen-2012/ch5").folder / "mpi.toml")
    for size in BENCHMARK:
        mpi.steps(ring, size)
    assert dict(requested) == {f"{size} B": steps for size, steps in BENCHMARK.items()}


def test_without_pfc_long_messages_take_longer_and_are_uneven(mpi: ModuleType) -> None:
    """With the benchmark's own steps, not by one timeout over five of them."""
    ring = Scenario.from_file(study("hagen-2012/ch5").folder / "mpi.toml")
    size = 262_144
    on, off = mpi.steps(ring, size), mpi.steps(ring.with_value("flow_control", None), size)
    assert off.mean > 2 * on.mean
    assert off.variation > 0.1 > 5 * on.variation


def test_a_low_stream_loses_a_fifth_to_a_full_one() -> None:
    found = study("hagen-2012/ch5")
    low = reproduce._module(found).low_load
    scenario = Scenario.from_file(found.folder / "four-hosts.toml").with_value("flows.TS1.source", low.LOW)
    assert low.sent(scenario.run(seed=1)) == pytest.approx(200, rel=0.1)


def test_ets_gives_writes_a_greater_share_where_the_link_is_the_bottleneck() -> None:
    found = study("hagen-2012/ch4")
    code = reproduce._module(found)
    adapter = Scenario.from_file(found.folder / "adapter.toml").with_value("simulation.duration", "200 ms")
    four = adapter.with_value("host.receive.cores", 4)
    names = code.MIXES["H4-6"]
    plain = code.share(code.delivered(four, names))
    assert code.share(code.delivered(four.with_value("host.scheduler", code.ETS), names)) > 1.3 * plain


@pytest.mark.parametrize("entry", library.studies(), ids=lambda entry: entry.name)
def test_what_is_ours_is_not_counted_as_a_claim_of_the_source(entry: library.Entry) -> None:
    for experiment in reproduce.Study.load(entry.path).experiments:
        if re.match(r"nothing($|[;:])|\(no figure", experiment.reported):
            assert experiment.kind != "source", experiment.id


def test_pictures_of_chapter_5_are_named_after_its_figures() -> None:
    """Figures 5-3, 5-6, 5-7 and 5-8 have a picture each; 5-2, 5-4 and 5-5 share the cover."""
    folder = study("hagen-2012/ch5").folder
    code = "".join(path.read_text("utf-8") for path in sorted(Path(folder).glob("*.py")))
    for figure in ("figure-5-3", "figure-5-6", "figure-5-7", "figure-5-8"):
        assert f'"{figure}"' in code
