"""A scenario reads files inside its folder alone, unless its user allows others."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

import penstock as ps
from penstock.library import Source
from penstock.running.replications import replicate

TEXT = """
[simulation]
duration = "100 us"
[topology.star]
hosts = 3
rate = "10 Gb/s"
phy = "none"
[[transfers]]
name = "t"
arrivals = {{ file = "{}" }}
"""
LIST = "time_us,from,to,bytes\n0,h0,h1,1000\n"
SECRET = "password of the house: 1234\n"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with a list, beside a list and a secret that are not in it."""
    folder = tmp_path / "folder"
    (folder / "below").mkdir(parents=True)
    for where in (folder / "in.csv", folder / "below" / "in.csv", tmp_path / "out.csv"):
        where.write_text(LIST)
    (tmp_path / "secret").write_text(SECRET)
    (tmp_path / "folder-too").mkdir()
    (tmp_path / "folder-too" / "out.csv").write_text(LIST)
    (folder / "link.csv").symlink_to(tmp_path / "out.csv")
    (folder / "near.csv").symlink_to(folder / "below" / "in.csv")
    (folder / "door").symlink_to(tmp_path, target_is_directory=True)
    return folder


def scenario(place: Path, name: str) -> Path:
    file = place / "s.toml"
    file.write_text(TEXT.format(name))
    return file


@pytest.mark.parametrize(
    "name", ["in.csv", "./in.csv", "below/in.csv", "below/../in.csv", "../folder/in.csv", "near.csv"]
)
def test_files_inside_the_folder_are_read(place: Path, name: str) -> None:
    assert ps.run(scenario(place, name))["transfers"].num_rows == 1


@pytest.mark.parametrize(
    "name",
    ["../out.csv", "below/../../out.csv", "link.csv", "door/out.csv", "../folder-too/out.csv", "/ABSOLUTE"],
)
def test_others_are_read_if_they_are_allowed(place: Path, name: str) -> None:
    file = scenario(place, name.replace("/ABSOLUTE", str(place.parent / "out.csv")))
    with pytest.raises(ps.ScenarioError, match="it lies outside the folder of the scenario") as refused:
        ps.check(file)
    assert "--allow-files" in str(refused.value)
    with ps.allow_files():
        assert ps.run(file)["transfers"].num_rows == 1
        assert len(replicate(file, 2).results) == 2
        source = Source(file.read_text(), str(file))
    with pytest.raises(ps.ScenarioError):
        ps.check(file)
    assert pickle.loads(pickle.dumps(source)).allow_files  # as workers get it


def test_nothing_is_reported_of_what_is_outside(place: Path) -> None:
    """Neither a line of it, nor whether it is there."""
    output = []
    for name in ("../secret", "../nothing", "/etc/passwd", "/etc/nothing"):
        with pytest.raises(ps.ScenarioError) as refused:
            ps.check(scenario(place, name))
        assert "password" not in str(refused.value) and "root:" not in str(refused.value)
        output.append(str(refused.value).replace(name, "NAME"))
    assert [one.count("it lies outside the folder") for one in output] == [1] * len(output)


def test_frames_and_pictures_keep_to_the_rule(place: Path) -> None:
    text = """
[simulation]
duration = "100 us"
[topology.star]
hosts = 2
rate = "10 Gb/s"
phy = "none"
[[flows]]
name = "f"
from = "h0"
to = "h1"
frame = { empirical = "../sizes.csv" }
source = "greedy"
"""
    (place.parent / "sizes.csv").write_text("bytes,weight\n64,1\n")
    (place / "s.toml").write_text(text)
    with pytest.raises(ps.ScenarioError, match="outside the folder"):
        ps.check(place / "s.toml")
    with ps.allow_files():
        ps.check(place / "s.toml")


def test_the_option_is_that_of_every_command(place: Path, penstock) -> None:
    file = scenario(place, "../out.csv")
    refused = penstock("check", file)
    assert refused.returncode == 2 and "--allow-files" in refused.stderr
    assert penstock("check", file, "--allow-files").returncode == 0
    assert penstock("--allow-files", "run", file, "--no-report").returncode == 0
    swept = penstock("sweep", file, "--allow-files", "--vary", "simulation.seed=1,2")
    assert swept.returncode == 0, swept.stderr
