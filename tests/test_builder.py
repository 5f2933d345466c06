"""The Python builder says what the scenario file says, and editors hear of a typo before a run does."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import penstock as ps
from penstock import Scenario, _core
from penstock.scenario import keys

TYPED = """
import penstock as ps

scenario = ps.Scenario("1 ms").topology.star(hosts=3, rate="10 Gb/s")
scenario.flow("a", from_="h0", to=ps.uniform(["h1", "h2"]), source=ps.constant("1 Gb/s"), frame="imix")
scenario.switch(scheduler={"shaper": {"classes": [{"class": 1}]}}, buffer={"queue": "9 frames"})
scenario.switch(scheduler="dr")  # wrong
scenario.switch(scheduler={"drr": {"weigths": "equal"}})  # wrong
scenario.topology.star(host=3, rate="1 Gb/s")  # wrong
scenario.topology.star(hosts="3", rate="1 Gb/s")  # wrong
scenario.flow("b", from_="h0", to="h1")  # wrong
scenario.flow_control.pfc(xof="1 frame")  # wrong
scenario.watchdog(action="dorp")  # wrong
scenario.fault(link=("h0", "sw"), at="1 ms", down="yes")  # wrong
ps.window(ack_evry=2)  # wrong
"""


def test_type_checkers_know_the_keys(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(TYPED, "utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--no-error-summary", script],
        capture_output=True,
        text=True,
        check=False,
    )
    wrong = {number for number, line in enumerate(TYPED.splitlines(), 1) if line.endswith("# wrong")}
    assert {int(number) for number in re.findall(r"script\.py:(\d+): error", done.stdout)} == wrong, (
        done.stdout
    )


def test_every_table_of_a_scenario_has_a_call() -> None:
    calls = {
        "simulation": "__init__",
        "hosts": "host",
        "switches": "switch",
        "links": "link",
        "flows": "flow",
        "faults": "fault",
        "jobs": "job",
    }
    assert not [table for table in keys.TABLES if not hasattr(Scenario, calls.get(table, table))]


def test_calls_write_what_the_file_says() -> None:
    scenario = (
        ps.Scenario("1 ms", name="all")
        .topology.star(hosts=4, rate="10 Gb/s", length=None, phy="none")
        .switch(scheduler={"drr": {"weights": [1] * 8}})
        .watchdog(action="report", detection_time="1 ms")
        .flow_control.pfc(accounting="ingress")
        .flow("a", from_="all", to=ps.permutation(shift=1), source=ps.window("2 frames", ecn=True))
        .flow(
            "b",
            from_=["h1", "h2"],
            to=ps.permutation(),
            source="greedy",
            frame=ps.uniform(min="64 B", max="1 kB"),
        )
        .fault(link=("h0", "sw"), from_="1 us", until="2 us", frame_loss=0.5)
    )
    assert scenario.to_dict() == {
        "simulation": {"duration": "1 ms", "name": "all"},
        "topology": {"star": {"hosts": 4, "rate": "10 Gb/s", "phy": "none"}},
        "switch": {"scheduler": {"drr": {"weights": [1] * 8}}},
        "watchdog": {"action": "report", "detection_time": "1 ms"},
        "flow_control": {"pfc": {"accounting": "ingress"}},
        "flows": [
            {
                "name": "a",
                "from": "all",
                "to": {"permutation": {"shift": 1}},
                "source": {"window": {"size": "2 frames", "ecn": True}},
            },
            {
                "name": "b",
                "from": ["h1", "h2"],
                "to": {"permutation": "random"},
                "source": "greedy",
                "frame": {"uniform": {"min": "64 B", "max": "1 kB"}},
            },
        ],
        "faults": [{"link": ["h0", "sw"], "from": "1 us", "until": "2 us", "frame_loss": 0.5}],
    }
    assert 'action = "report"' in _core.check(scenario.to_toml(), "all.toml")
    assert scenario.topology.ring(switches=3, hosts_per_switch=1, rate="1 Gb/s", phy="none").to_dict()[
        "topology"
    ] == {"ring": {"switches": 3, "hosts_per_switch": 1, "rate": "1 Gb/s", "phy": "none"}}
    assert scenario.flow_control.off().to_dict()["flow_control"] == "off"
