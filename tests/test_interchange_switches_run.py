"""Configurations of switches and ports, with options or not, become scenarios that run without losing a
lossless frame."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conftest import Command
from switch_configs import EOS, JUNOS, JUNOS_SET, LLDPTOOL, LLDPTOOL_CEE, NVUE_YAML, NXOS, NXOS_NAMED

LIKE = """\
[simulation]
duration = "300 us"
[topology.star]
hosts = 5
rate = "25 Gb/s"
length = "20 m"
phy = "none"
[[transfers]]
name = "incast"
from = "h1..h4"
to = "h0"
sizes = "50 kB"
arrivals = "once"
priority = 3
over = { rdma = { control = "dcqcn" } }
"""
CONFIGURATIONS = {
    "nxos": (NXOS, ()),
    "nxos-named": (NXOS_NAMED, ()),
    "eos": (EOS, ()),
    "eos-buffer": (EOS, ("--buffer", "32 MiB")),
    "junos": (JUNOS, ()),
    "junos-buffer": (JUNOS, ("--buffer", "160 MiB")),
    "junos-set": (JUNOS_SET, ()),
    "nvue-yaml": (NVUE_YAML, ()),
    "nvue-yaml-buffer": (NVUE_YAML, ("--buffer", "40 MiB")),
    "lldptool": (LLDPTOOL, ()),
    "lldptool-cee": (LLDPTOOL_CEE, ()),
}


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_a_configuration_is_a_scenario_that_runs(name: str, penstock: Command, tmp_path: Path) -> None:
    text, words = CONFIGURATIONS[name]
    (tmp_path / "switch.cfg").write_text(text, "utf-8")
    (tmp_path / "like.toml").write_text(LIKE, "utf-8")
    done = penstock("import", "switch.cfg", "--like", "like.toml", "--out", "out.toml", *words)
    assert done.returncode == 0, done.stderr
    assert "out.toml written; run it with" in done.stdout
    done = penstock("run", "out.toml", "--json", "--no-report")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["verdict"]["state"] == "complete", answer["verdict"]


@pytest.mark.parametrize("name", ["nxos", "eos-buffer", "junos-buffer"])
def test_a_switch_alone_is_a_star_of_its_ports(name: str, penstock: Command, tmp_path: Path) -> None:
    text, words = CONFIGURATIONS[name]
    (tmp_path / "switch.cfg").write_text(text, "utf-8")
    done = penstock("import", "switch.cfg", "--out", "out.toml", *words)
    assert done.returncode == 0, done.stderr
    assert "out.toml written, without traffic; add [[flows]]" in done.stdout
    assert penstock("run", "out.toml", "--no-report").returncode == 0
