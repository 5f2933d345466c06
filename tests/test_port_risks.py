"""``penstock check CONFIG_DB``: ports of a switch at risk, and commands that repair them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from conftest import SMALL, Command
from switch_configs import EOS, JUNOS, NVUE_YAML, NXOS, NXOS_NAMED
from test_export_changes import applied, leaf
from test_interchange_links import switch


def message(tables: dict[str, Any], penstock: Command, folder: Path) -> tuple[int, dict[str, Any]]:
    """The exit code, and the risks as JSON."""
    (folder / "config_db.json").write_text(json.dumps(tables, indent=1))
    done = penstock("check", "config_db.json", "--json")
    assert done.returncode in (0, 1), done.stderr
    return done.returncode, json.loads(done.stdout)


def findings(found: dict[str, Any], severity: str) -> dict[str, str]:
    return {
        f"{' '.join(one['ports'])} {one['what']}".strip(): one["text"]
        for one in found["findings"]
        if one["severity"] == severity
    }


def repaired(tables: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    """The configuration after the patches of all red findings."""
    for one in found["findings"]:
        if one["severity"] == "red" and "apply-patch" in one["repair"]:
            patch = re.fullmatch(r"echo '(.*)' \| sudo config apply-patch /dev/stdin", one["repair"])
            assert patch is not None
            tables = applied(tables, json.loads(patch[1]))
    return tables


def test_short_headroom_is_red_until_it_is_repaired(penstock: Command, tmp_path: Path) -> None:
    """`penstock headroom` says what 400 Gb/s over 40 m need with frames of the MTU."""
    tables = leaf()
    code, found = message(tables, penstock, tmp_path)
    assert code == 1
    requested = penstock("headroom", "--rate", "400 Gb/s", "--length", "40 m", "--mtu", "9122 B", "--json")
    needed = json.loads(requested.stdout)["headroom_bytes"]
    uplinks = next(one for one in found["classes"] if "400" in one["link"])
    assert (uplinks["ports"], uplinks["rows"][0]["needed_bytes"]) == (["Ethernet8", "Ethernet16"], needed)
    assert uplinks["rows"][0]["headroom_bytes"] == 120_000
    red = findings(found, "red")
    assert list(red) == ["Ethernet0 Ethernet4 priority 3", "Ethernet8 Ethernet16 priority 3"]
    assert f"{needed - 120_000} B short of the {needed} B" in red["Ethernet8 Ethernet16 priority 3"]
    code, found = message(repaired(tables, found), penstock, tmp_path)
    assert (code, findings(found, "red")) == (0, {})


def test_times_marks_code_points_and_watchdogs(penstock: Command, tmp_path: Path) -> None:
    _, found = message(leaf(), penstock, tmp_path)
    (row,) = found["classes"][0]["rows"]
    assert (row["marks_from_bytes"], row["marks_all_from_bytes"]) == (250_000, 1_048_576)
    assert row["xoff_ns"] == pytest.approx(row["xoff_bytes"] * 8 / 100)
    assert (row["dscp"], row["watchdog"]) == ([3, 26], "drop after 200 ms")
    bare = switch(uplink_xoff=300_000)
    _, found = message(bare, penstock, tmp_path)
    yellow = [one for one in found["findings"] if one["severity"] == "yellow"]
    assert {one["text"].split(":")[0] for one in yellow} == {"no ECN marking", "no PFC watchdog"}
    commands = {one["repair"] for one in yellow if "watchdog" in one["text"]}
    assert "sudo config pfcwd start --action drop Ethernet0 Ethernet4 200 --restoration-time 400" in commands


@pytest.mark.parametrize(
    ("table", "key", "text"),
    [
        ("TC_TO_QUEUE_MAP", "tc_to_queue_map", "waits in lossless queue 3, but fills group 1"),
        ("TC_TO_PRIORITY_GROUP_MAP", "tc_to_pg_map", "fills lossless group 3, but waits in queue 1"),
    ],
)
def test_code_points_in_the_wrong_queue(
    table: str, key: str, text: str, penstock: Command, tmp_path: Path
) -> None:
    """Both maps are there; one of them leads class 1 to where class 3 is."""
    tables = leaf()
    maps = {"TC_TO_QUEUE_MAP": "tc_to_queue_map", "TC_TO_PRIORITY_GROUP_MAP": "tc_to_pg_map"}
    for name, field in maps.items():
        tables[name] = {"AZURE": {str(one): str(one) for one in range(8)}}
        for entry in tables["PORT_QOS_MAP"].values():
            entry[field] = "AZURE"
    tables[table]["AZURE"]["1"] = "3"
    code, found = message(tables, penstock, tmp_path)
    red = findings(found, "red")
    (wrong,) = (one for one in red if one.startswith("DSCP"))
    assert code == 1 and wrong == "DSCP 0-2, 4-25, 27-63" and red[wrong].startswith(text), key
    code, found = message(repaired(tables, found), penstock, tmp_path)
    assert not [one for one in findings(found, "red") if one.startswith("DSCP")]


def test_shared_headroom_that_is_over_subscribed(penstock: Command, tmp_path: Path) -> None:
    tables = leaf()
    for name in ("pg_lossless_100000_5m_profile", "pg_lossless_400000_40m_profile"):
        tables["BUFFER_PROFILE"][name]["xoff"] = "300000"
    tables["BUFFER_POOL"]["ingress_lossless_pool"]["xoff"] = "500000"
    code, found = message(tables, penstock, tmp_path)
    assert (code, findings(found, "red")) == (0, {})
    text = findings(found, "yellow")["pool ingress_lossless_pool"]
    assert text.startswith("shares 500000 B of headroom, over-subscribed 2.4 times: enough for 2 groups")
    tables["BUFFER_POOL"]["ingress_lossless_pool"]["xoff"] = "200000"
    code, found = message(tables, penstock, tmp_path)
    assert code == 1 and "pool ingress_lossless_pool" in findings(found, "red")
    code, found = message(repaired(tables, found), penstock, tmp_path)
    assert (code, findings(found, "red")) == (0, {})


def test_marks_that_never_come(penstock: Command, tmp_path: Path) -> None:
    tables = leaf()
    for name in ("pg_lossless_100000_5m_profile", "pg_lossless_400000_40m_profile"):
        tables["BUFFER_PROFILE"][name]["xoff"] = "300000"
    tables["BUFFER_POOL"]["ingress_lossless_pool"] |= {"size": "400000", "xoff": "8388608"}
    tables["WRED_PROFILE"]["AZURE_LOSSLESS"] |= {
        "green_min_threshold": "90000000",
        "green_max_threshold": "99000000",
    }
    _, found = message(tables, penstock, tmp_path)
    red = [one for one in found["findings"] if one["what"] == "queue 3"]
    assert red and all(one["severity"] == "red" and "marks never" in one["text"] for one in red)
    assert all(one["repair"].startswith("sudo config ecn -profile AZURE_LOSSLESS -gmin ") for one in red)


def test_the_table(penstock: Command, tmp_path: Path) -> None:
    (tmp_path / "config_db.json").write_text(json.dumps(leaf()))
    done = penstock("check", "config_db.json")
    assert done.returncode == 1
    assert "Ethernet8, Ethernet16: 400 Gb/s and 40 m" in done.stdout
    assert "2 at risk, 0 to consider" in done.stdout
    assert "sudo config apply-patch" in done.stdout
    for option in ("--effective", "--estimate", "--thresholds"):
        done = penstock("check", "config_db.json", option)
        assert (done.returncode, "is the configuration of a switch" in done.stderr) == (2, True)


def test_a_switch_without_lossless_priorities(penstock: Command, tmp_path: Path) -> None:
    tables = switch()
    for entry in tables["PORT_QOS_MAP"].values():
        del entry["pfc_enable"]
    del tables["BUFFER_PG"], tables["BUFFER_PROFILE"], tables["BUFFER_QUEUE"]
    code, found = message(tables, penstock, tmp_path)
    assert (code, findings(found, "yellow")) == (
        0,
        {"PFC": "no port has a lossless priority, so no pauses are sent"},
    )


def of_text(text: str, *words: str, penstock: Command, folder: Path) -> dict[str, Any]:
    """The risks of a running configuration."""
    (folder / "leaf.cfg").write_text(text, "utf-8")
    done = penstock("check", "leaf.cfg", "--json", *words)
    assert done.returncode in (0, 1), done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    assert (done.returncode == 1) == any(one["severity"] == "red" for one in found["findings"])
    return found


def test_running_configurations_are_listed_by_port(penstock: Command, tmp_path: Path) -> None:
    found = of_text(EOS, "--length", "40 m", "--buffer", "32 MiB", penstock=penstock, folder=tmp_path)
    uplink = next(one for one in found["classes"] if "400" in one["link"])
    requested = penstock("headroom", "--rate", "400 Gb/s", "--length", "40 m", "--mtu", "9236 B", "--json")
    needed = json.loads(requested.stdout)["headroom_bytes"]
    assert (uplink["ports"], uplink["rows"][0]["needed_bytes"]) == (["Ethernet3/1"], needed)
    (red,) = [one for one in found["findings"] if one["severity"] == "red"]
    assert red["repair"] == f"platform trident mmu queue profile ROCE: ingress headroom bytes {needed}"
    repaired = EOS.replace("headroom bytes 180000", f"headroom bytes {needed}")
    found = of_text(repaired, "--length", "40 m", "--buffer", "32 MiB", penstock=penstock, folder=tmp_path)
    assert findings(found, "red") == {}


def test_watchdogs_and_marks_of_running_configurations(penstock: Command, tmp_path: Path) -> None:
    found = of_text(NXOS_NAMED, penstock=penstock, folder=tmp_path)
    repairs = {one["what"]: one["repair"] for one in found["findings"]}
    assert repairs["priority 3"] == "priority-flow-control watch-dog-interval on"
    assert "random-detect minimum-threshold 11700 bytes maximum-threshold 23400 bytes" in repairs["queue 3"]
    found = of_text(JUNOS, "--buffer", "160 MiB", penstock=penstock, folder=tmp_path)
    assert [row["queue"] for one in found["classes"] for row in one["rows"]] == [4, 4]


def test_ports_without_a_speed_need_the_rate(penstock: Command, tmp_path: Path) -> None:
    text = re.sub(r"  speed \d+\n", "", NXOS)
    (tmp_path / "leaf.cfg").write_text(text, "utf-8")
    done = penstock("check", "leaf.cfg")
    assert (done.returncode, "no port has a speed; expected one, or --rate" in done.stderr) == (2, True)
    found = of_text(text, "--rate", "100 Gb/s", penstock=penstock, folder=tmp_path)
    assert [one["link"] for one in found["classes"]] == ["100 Gb/s"]
    done = penstock("check", "first-light", "--rate", "100 Gb/s")
    assert (done.returncode, "first-light: is not a configuration of a switch" in done.stderr) == (2, True)


def test_other_formats_are_imported_first(penstock: Command, tmp_path: Path) -> None:
    (tmp_path / "startup.yaml").write_text(NVUE_YAML, "utf-8")
    done = penstock("check", "startup.yaml")
    assert done.returncode == 2
    assert "startup.yaml: has the format nvue-yaml" in done.stderr
    assert "penstock import startup.yaml" in done.stderr
    (tmp_path / "small.txt").write_text(SMALL, "utf-8")
    assert penstock("check", "small.txt").returncode == 0, "a scenario by another name"


def test_thresholds_that_a_switch_computes_are_no_finding(penstock: Command, tmp_path: Path) -> None:
    """A policy of Nexus without pause buffers marks at 300 kB, above the least lossless XOFF of 25 Gb/s."""
    text = re.sub(r"\n    pause buffer-size .*", "", NXOS_NAMED)
    (tmp_path / "leaf.cfg").write_text(text, "utf-8")
    done = penstock("check", "leaf.cfg")
    assert done.returncode == 0, done.stdout
    assert "marks" not in done.stdout.partition("to consider")[2]
    assert "assumed: the switch computes XOFF, XON and headroom" in done.stderr
