"""Law 5: same scenario and seed, same trajectory; and no trajectory changes without a word.

Every scenario that comes with Penstock runs for a short while in several ways, those of studies also in full.
What that gave when the study was written is kept in ``fingerprints.json`` beside it; CHANGELOG.md names the
digest of each of these files: results that change need a line there.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from functools import cache
from pathlib import Path

import pytest

from penstock import library
from penstock.scenario import Scenario

CHANGELOG = Path(__file__).parents[1] / "CHANGELOG.md"
SHORT_NS = 5_000_000
"""Simulated time of the short runs: long enough for the aggressors of chapter 7, who begin at 4 ms."""
LEAST_NS = 2_000
"""Long enough for a frame to arrive over 100 m, with the delay of PHYs."""
LINKS = 10
"""Fabrics with more links than this run for less."""


def is_scenario(path: Path) -> bool:
    return "simulation" in tomllib.loads(path.read_text("utf-8"))


def of_study(folder: Path) -> list[Path]:
    """The scenarios of a study, also those in folders of their own."""
    return [path for path in sorted(folder.rglob("*.toml")) if is_scenario(path)]


STUDIES = library.studies()
PINNED = [(study, path) for study in STUDIES for path in of_study(study.path)]
FILES = [path for _, path in PINNED] + [entry.path for entry in library.scenarios()]


def named(path: Path) -> str:
    return "/".join(path.with_suffix("").parts[-3:])


def test_there_is_something_to_run() -> None:
    assert len(STUDIES) >= 4
    assert len(FILES) >= 20


@cache
def short(path: Path) -> Scenario:
    """The scenario cut to a short while, without a warm-up (a fingerprint counts from the beginning)."""
    scenario = Scenario.from_file(path)
    instant = scenario.with_value("simulation.duration", "1 us").with_value("simulation.warmup", "0 s")
    links = len(instant.run().topology["links"])
    lasts = max(LEAST_NS, SHORT_NS * LINKS // max(links, LINKS))
    full = scenario.to_dict()["simulation"]["duration"]
    cut = min(lasts, nanoseconds(full))
    for number, flow in enumerate(scenario.to_dict().get("flows", [])):
        if nanoseconds(flow.get("start", "0 s")) >= cut:
            scenario = scenario.with_value(f"flows.{number}.start", None)
    return scenario.with_value("simulation.duration", f"{cut} ns").with_value("simulation.warmup", "0 s")


def nanoseconds(text: str) -> int:
    """A time as scenarios write it."""
    number, unit = text.split()
    return round(float(number) * {"s": 1e9, "ms": 1e6, "us": 1e3, "ns": 1.0}[unit])


@cache
def fingerprint(path: Path) -> str:
    """That of the short run."""
    once = short(path).run()
    assert once.run["frame_hops"] > 0, "nothing moved: nothing would be compared"
    return once.fingerprint


@pytest.mark.parametrize("path", FILES, ids=named)
def test_every_way_to_run_gives_one_trajectory(path: Path) -> None:
    """On one thread and on two, with all probes and with none."""
    scenario = short(path)
    once = fingerprint(path)
    ways = {
        "two threads": scenario.run(threads=2),
        "no probes": scenario.probes(bin="off", pauses=False).run(),
        "all probes": scenario.probes(bin="1 us", pauses=True).run(),
    }
    other = {way: result.fingerprint for way, result in ways.items() if result.fingerprint != once}
    assert not other, f"{once} when run first"


def test_fingerprints_tell_seeds_apart() -> None:
    """The test above could not fail if every run had the same fingerprint."""
    seen = {fingerprint(path) for path in FILES}
    assert len(seen) >= len(FILES) // 2
    one = short(library.SCENARIOS / "first-light.toml")  # random phases
    assert one.run(seed=1).fingerprint != one.run(seed=2).fingerprint


@pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.name)
def test_every_study_pins_its_trajectories(study: library.Entry) -> None:
    """A fingerprint a scenario, and none of a scenario that is gone."""
    pins = study.path / "fingerprints.json"
    assert pins.is_file(), f"{study.name} has no fingerprints.json"
    assert set(pinned(study)) == {key(study, path) for path in of_study(study.path)}


@pytest.mark.parametrize(("study", "path"), PINNED, ids=[named(path) for _, path in PINNED])
def test_trajectories_are_pinned(study: library.Entry, path: Path) -> None:
    """A changed fingerprint means changed results."""
    assert Scenario.from_file(path).run().fingerprint == pinned(study)[key(study, path)]


@pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.name)
def test_changes_of_results_are_in_the_changelog(study: library.Entry) -> None:
    """CHANGELOG.md names the digest of all pinned fingerprints of a study."""
    line = f"- `{study.name}`: `{digest(study)}`"
    section = CHANGELOG.read_text("utf-8").partition("### Pinned trajectories\n")[2].partition("\n#")[0]
    entries = [entry for entry in section.splitlines() if entry.startswith(f"- `{study.name}`:")]
    assert entries == [line], (
        f"the results of {study.name} have changed: say in CHANGELOG.md why, and give below "
        f'"Pinned trajectories" the line\n{line}'
    )


def key(study: library.Entry, path: Path) -> str:
    return path.relative_to(study.path).with_suffix("").as_posix()


def pinned(study: library.Entry) -> dict[str, str]:
    return json.loads((study.path / "fingerprints.json").read_text("utf-8"))


def digest(study: library.Entry) -> str:
    """Over names and fingerprints, whatever their layout."""
    lines = "".join(f"{name} {value}\n" for name, value in sorted(pinned(study).items()))
    return hashlib.sha256(lines.encode()).hexdigest()[:12]
