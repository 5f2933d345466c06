"""The wheel in a bare environment, which takes minutes and the network: ``pytest -m slow``."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import venv
from pathlib import Path

import pytest

import penstock

ROOT = Path(__file__).parents[1]
MOST_S = 60.0


@pytest.mark.slow
def test_the_wheel_shows_its_picture_within_a_minute(tmp_path: Path) -> None:
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    subprocess.run([*pip, "wheel", "--no-deps", "-w", tmp_path, ROOT], check=True)
    (wheel,) = tmp_path.glob("*.whl")
    assert "-cp311-abi3-" in wheel.name  # one for every Python from 3.11 on
    venv.create(tmp_path / "bare", with_pip=True)
    programs = tmp_path / "bare" / ("Scripts" if os.name == "nt" else "bin")
    bare = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    subprocess.run([programs / "python", *pip[1:], "install", wheel], check=True, env=bare)
    output = subprocess.run(
        [programs / "penstock", "--version"], capture_output=True, text=True, check=True, env=bare
    )
    assert output.stdout.strip() == penstock.__version__
    began = time.monotonic()
    demo = subprocess.run(
        [programs / "penstock", "demo"], cwd=tmp_path, capture_output=True, text=True, check=False, env=bare
    )
    took = time.monotonic() - began
    assert demo.returncode == 0, demo.stderr
    picture = tmp_path / "out/demo/hagen-2012/ch7/ch7.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert took < MOST_S
