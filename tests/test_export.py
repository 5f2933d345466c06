"""Settings of a scenario as commands of Linux."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import Command

BASE = """
[simulation]
name = "x"
duration = "1 us"

[topology.star]
hosts = 2
rate = "10 Gb/s"

[[flows]]
name = "one"
from = "h0"
to = "h1"
priority = 3
source = "greedy"
"""

ETS = """
[switch]
queues = [0, 0, 0, 1, 0, 0, 0, 2]

[switch.scheduler.ets]
classes = [
  { queues = [0], percent = 70 },
  { queues = [1], percent = 30 },
  { queues = [2], strict = true },
]

[flow_control.pfc]
priorities = [3]
"""


def exported(penstock: Command, directory: Path, keys: str, *options: str) -> str:
    (directory / "x.toml").write_text(BASE + keys, "utf-8")
    done = penstock("export", "x.toml", *options)
    return done.stdout if done.returncode == 0 else f"{done.returncode}: {done.stderr}"


def test_ets_and_pfc_for_dcb(penstock: Command, tmp_path: Path) -> None:
    """The published example of `dcb ets set`: priority 3 to class 1, 7 to class 2; 70, 30 and strict."""
    assert exported(penstock, tmp_path, ETS, "--form", "dcb", "--interface", "swp1").splitlines() == [
        "dcb dcbx set dev swp1 host ieee",
        "dcb ets set dev swp1 willing off prio-tc 0:0 1:0 2:0 3:1 4:0 5:0 6:0 7:2 "
        "tc-tsa 0:ets 1:ets 2:strict 3:strict 4:strict 5:strict 6:strict 7:strict "
        "tc-bw 0:70 1:30 2:0 3:0 4:0 5:0 6:0 7:0",
        "dcb pfc set dev swp1 prio-pfc all:off 3:on",
    ]


def test_ets_and_pfc_for_mlnx_qos(penstock: Command, tmp_path: Path) -> None:
    assert exported(penstock, tmp_path, ETS, "--form", "mlnx_qos") == (
        "mlnx_qos -i eth0 --dcbx os --pfc 0,0,0,1,0,0,0,0 --prio_tc 0,0,0,1,0,0,0,2 "
        "--tsa ets,ets,strict,strict,strict,strict,strict,strict --tcbw 70,30,0,0,0,0,0,0\n"
    )


def test_strict_priority_without_pfc(penstock: Command, tmp_path: Path) -> None:
    lines = exported(penstock, tmp_path, "", "--form", "dcb", "--of", "host").splitlines()
    assert "prio-tc 0:0 1:1 2:2 3:3 4:4 5:5 6:6 7:7 tc-tsa 0:strict" in lines[1]
    assert lines[2] == "dcb pfc set dev eth0 prio-pfc all:off"


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ('[switch]\nscheduler = "drr"\n', "switch.scheduler is drr; strict_priority and ets can be exported"),
        ('[switch]\nqueues = "shared"\n', "switch.queues is shared; per_priority"),
        ("[flow_control.pause]\n", "flow_control is pause; only pfc can be exported"),
        (ETS.replace("percent = 30", 'idle_slope = "1 Gb/s"').replace("70", "100"), "credit-based shaper"),
    ],
    ids=["scheduler", "queues", "flow control", "shaper"],
)
def test_what_the_tools_have_no_words_for(keys: str, said: str, penstock: Command, tmp_path: Path) -> None:
    answer = exported(penstock, tmp_path, keys, "--form", "dcb")
    assert answer.startswith("2: ")
    assert "x.toml: " in answer
    assert said in answer


def test_what_is_no_scenario(penstock: Command, tmp_path: Path) -> None:
    answer = exported(penstock, tmp_path, "[switch]\nscheduler = 7\n", "--form", "dcb")
    assert answer.startswith("2: ")
    assert "x.toml" in answer
    assert "Traceback" not in answer


@pytest.mark.parametrize("name", ["", "a b", "eth0;reboot", "x" * 16])
def test_what_is_no_interface(name: str, penstock: Command, tmp_path: Path) -> None:
    answer = exported(penstock, tmp_path, "", "--form", "dcb", "--interface", name)
    assert answer.startswith("2: ")
    assert "--interface" in answer
