"""Scenarios found by name, and files that are not text."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

import penstock
from penstock import library
from penstock.errors import InputError


def test_every_named_scenario_is_described_and_can_be_run() -> None:
    names = [entry.name for entry in library.scenarios()]
    assert {"first-light", "incast", "leaf-spine"} <= set(names)
    for entry in library.scenarios():
        assert entry.description
        penstock.check(entry.name)


def test_the_starter_can_be_run() -> None:
    from penstock.cli.scenarios import STARTER

    penstock.check(str(STARTER))


def test_a_file_hides_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("first-light").write_text("mine")
    assert library.read("first-light").text == "mine"


def test_a_miss_names_what_is_near() -> None:
    with pytest.raises(InputError, match="did you mean first-light"):
        library.read("first-ligth")
    with pytest.raises(InputError, match="known names: closed-loops, congestion-notification, credit-fabric"):
        library.read("zzzz")


def test_places_of_bytes_that_are_not_utf8(tmp_path: Path) -> None:
    file = tmp_path / "x.toml"
    file.write_bytes('[simulation]\nname = "é'.encode() + b'\xff"\n')
    with pytest.raises(InputError, match=r"x\.toml:2:10: byte 0xff is not UTF-8"):
        library.read(str(file))


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    file = tmp_path / "huge.toml"
    with file.open("wb") as out:
        out.truncate(100 * 2**20)
    with pytest.raises(
        InputError, match=r"huge\.toml:1:1: the file has 100 MiB; a scenario file has at most 16 MiB"
    ):
        library.read(str(file))


@pytest.mark.parametrize("name", ["", "a\0b", "../scenarios/first-light", "x" * 5_000])
def test_odd_names_are_errors(name: str) -> None:
    with pytest.raises(InputError):
        library.read(name)


def test_a_byte_order_mark_is_left_out(tmp_path: Path) -> None:
    file = tmp_path / "x.toml"
    file.write_bytes(b"\xef\xbb\xbfa = 1\n")
    assert tomllib.loads(library.read(str(file)).text) == {"a": 1}


def test_public_names_exist() -> None:
    for name in [*penstock.__all__, "__version__"]:
        assert getattr(penstock, name)
    assert set(penstock.__all__) <= set(dir(penstock))
    with pytest.raises(AttributeError, match="no attribute"):
        penstock.nothing  # noqa: B018
