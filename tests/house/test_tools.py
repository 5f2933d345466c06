"""A stranger's first command either works or says what is missing."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def machine(directory: Path, **programs: str) -> dict[str, str]:
    """An environment with these programs alone; each prints its text. `awk` is always there."""
    awk = shutil.which("awk")
    assert awk
    (directory / "awk").symlink_to(awk)
    for name, prints in programs.items():
        file = directory / name
        file.write_text(f"#!/bin/sh\necho '{prints}'\n", "utf-8")
        file.chmod(file.stat().st_mode | stat.S_IXUSR)
    return {**{k: v for k, v in os.environ.items() if k != "CC"}, "PATH": str(directory)}


def needs(environment: dict[str, str], python: str = sys.executable) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/sh", ROOT / "tools/needs.sh", python],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_recipes_say_what_the_package_says() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    version = tomllib.loads((ROOT / "Cargo.toml").read_text("utf-8"))["workspace"]["package"]["version"]
    recipe = (ROOT / "recipes/conda.yaml").read_text("utf-8")
    assert f'version: "{version}"' in recipe
    assert f"version: {version}\n" in (ROOT / "CITATION.cff").read_text("utf-8")
    assert f"## [Unreleased]: {version}\n" in (ROOT / "CHANGELOG.md").read_text("utf-8")
    wanted = {line.strip().removeprefix("- ").replace(" ", "") for line in recipe.splitlines()}
    for needed in project["dependencies"]:
        assert needed.replace("matplotlib>", "matplotlib-base>") in wanted, needed


def test_what_takes_long_is_named_and_there() -> None:
    named = [line for line in (ROOT / "tests/long.txt").read_text("utf-8").splitlines() if "::" in line]
    assert named == sorted(set(named))
    for line in named:
        file, function = line.split("::")
        assert f"def {function}(" in (ROOT / "tests" / file).read_text("utf-8"), line


def test_a_machine_with_everything_hears_nothing(tmp_path: Path) -> None:
    done = needs(machine(tmp_path, rustc="rustc 1.88.0 (abc 2025-06-23)", cargo="cargo 2.0.0", cc="cc"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_everything_that_is_missing_is_named_at_once(tmp_path: Path) -> None:
    done = needs(machine(tmp_path), python="python-that-is-not-there")
    assert done.returncode == 1
    for named in ("rustc 1.88", "cargo 1.88", "Python 3.11", "C compiler", "rustup.rs", "apt install"):
        assert named in done.stderr


@pytest.mark.parametrize("version", ["1.87.0", "0.99.9", "1.9.0"])
def test_an_old_rust_is_named_with_its_version(tmp_path: Path, version: str) -> None:
    done = needs(machine(tmp_path, rustc=f"rustc {version} (abc)", cargo="cargo 1.95.0 (abc)", cc="cc"))
    assert done.returncode == 1
    assert f"here is rustc {version}" in done.stderr
    assert "cargo 1.88" not in done.stderr
