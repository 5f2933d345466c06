"""``penstock export --from``: changes of a scenario as changes of the CONFIG_DB that it was imported from."""

from __future__ import annotations

import copy
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from conftest import Command
from test_interchange_links import LEAF_SPINE, switch
from test_interchange_sonic import REAL

REFERENCES = {
    "QUEUE": {"scheduler": "SCHEDULER", "wred_profile": "WRED_PROFILE"},
    "BUFFER_PG": {"profile": "BUFFER_PROFILE"},
    "BUFFER_QUEUE": {"profile": "BUFFER_PROFILE"},
    "BUFFER_PROFILE": {"pool": "BUFFER_POOL"},
    "PORT_QOS_MAP": {
        "dscp_to_tc_map": "DSCP_TO_TC_MAP",
        "tc_to_queue_map": "TC_TO_QUEUE_MAP",
        "tc_to_pg_map": "TC_TO_PRIORITY_GROUP_MAP",
        "pfc_to_queue_map": "MAP_PFC_PRIORITY_TO_QUEUE",
    },
}


def leaf() -> dict[str, Any]:
    """A switch with keys for several ports, shared schedulers, and ports without PFC."""
    tables = switch(uplink_xoff=120_000)
    ports = [*tables["PORT"]]
    every = ",".join(ports)
    tables["SCHEDULER"] = {
        "scheduler.0": {"type": "DWRR", "weight": "10"},
        "scheduler.1": {"type": "DWRR", "weight": "30"},
        "scheduler.2": {"type": "STRICT"},
    }
    tables["QUEUE"] = {
        f"{every}|0-2": {"scheduler": "scheduler.0"},
        f"{every}|3-4": {"scheduler": "scheduler.1", "wred_profile": "AZURE_LOSSLESS"},
        f"{every}|5": {"scheduler": "scheduler.0"},
        f"{every}|6-7": {"scheduler": "scheduler.2"},
        "Ethernet32|0-7": {"scheduler": "scheduler.2"},
    }
    tables["WRED_PROFILE"] = {
        "AZURE_LOSSLESS": {
            "ecn": "ecn_all",
            "wred_green_enable": "true",
            "green_min_threshold": "250000",
            "green_max_threshold": "1048576",
            "green_drop_probability": "5",
        }
    }
    tables["DSCP_TO_TC_MAP"] = {"AZURE": {str(dscp): "3" if dscp in (3, 26) else "1" for dscp in range(64)}}
    tables["PORT_QOS_MAP"] = {
        every: {"pfc_enable": "3", "pfcwd_sw_enable": "3", "dscp_to_tc_map": "AZURE"},
        "Ethernet32": {"dscp_to_tc_map": "AZURE"},
    }
    tables["PFC_WD"] = {
        "GLOBAL": {"POLL_INTERVAL": "200"},
        **{
            name: {"action": "drop", "detection_time": "200", "restoration_time": "400"}
            for name in tables["PORT"]
        },
    }
    tables["PORT"]["Ethernet32"] = {"speed": "10000", "lanes": "33", "alias": "mgmt"}
    tables["VLAN"] = {"Vlan10": {"vlanid": "10", "description": "a/b~c"}}
    return tables


class Edited:
    """A configuration in an empty folder, and the scenario that is imported from it."""

    def __init__(
        self, tables: dict[str, Any], penstock: Command, folder: Path, like: str = LEAF_SPINE
    ) -> None:
        self.tables, self.penstock, self.file = tables, penstock, folder / "s.toml"
        (folder / "config_db.json").write_text(json.dumps(tables, indent=1))
        (folder / "like.toml").write_text(like)
        done = penstock("import", "config_db.json", "--like", "like.toml", "--out", "s.toml")
        assert done.returncode == 0, done.stderr

    def replace(self, old: str, new: str) -> Edited:
        text = self.file.read_text()
        assert text.count(old) == 1, text
        self.file.write_text(text.replace(old, new))
        return self

    def append(self, text: str) -> Edited:
        self.file.write_text(self.file.read_text() + text)
        return self

    def patch(self) -> list[dict[str, Any]]:
        """The patch, which makes of the configuration the one that `--whole` prints."""
        words = ("export", "s.toml", "--format", "sonic", "--from", "config_db.json")
        done, whole = self.penstock(*words), self.penstock(*words, "--whole")
        assert done.returncode == whole.returncode == 0, done.stderr
        patch: list[dict[str, Any]] = json.loads(done.stdout)
        after = applied(self.tables, patch)
        assert after == json.loads(whole.stdout)
        check(after)
        return patch


def applied(tables: dict[str, Any], patch: list[dict[str, Any]]) -> dict[str, Any]:
    """RFC 6902, as far as it is needed: add, replace and remove members of objects."""
    made = copy.deepcopy(tables)
    for one in patch:
        *path, last = [key.replace("~1", "/").replace("~0", "~") for key in one["path"].split("/")[1:]]
        table = made
        for key in path:
            table = table[key]
        if one["op"] == "remove":
            del table[last]
        else:
            assert (last in table) == (one["op"] == "replace")
            table[last] = one["value"]
    return made


def check(tables: dict[str, Any]) -> None:
    """The generic configuration updater refuses empty tables, dangling references and numbers."""
    assert all(tables.values()), "no table is empty"
    for table, fields in REFERENCES.items():
        for key, entry in tables.get(table, {}).items():
            for field, to in fields.items():
                is_there = field in entry and to in tables
                assert not is_there or entry[field].strip("[]").rpartition("|")[2] in tables[to], key
            assert all(isinstance(value, str) for value in entry.values())
    for table in ("QUEUE", "BUFFER_PG", "BUFFER_QUEUE"):
        slots = Counter(
            (port, number)
            for key in tables.get(table, {})
            for port in key.rpartition("|")[0].split(",")
            for number in range(int(key.rpartition("|")[2][0]), int(key[-1]) + 1)
        )
        assert set(slots.values()) <= {1}, slots


@pytest.mark.parametrize("tables", [leaf(), switch(), REAL], ids=["leaf", "switch", "usual"])
def test_without_a_change_there_is_no_difference(
    tables: dict[str, Any], penstock: Command, tmp_path: Path
) -> None:
    assert Edited(tables, penstock, tmp_path).patch() == []


def test_one_line_is_one_operation(penstock: Command, tmp_path: Path) -> None:
    edited = Edited(leaf(), penstock, tmp_path)
    profile = "/BUFFER_PROFILE/pg_lossless_400000_40m_profile"
    edited.replace('headroom = "120000 B"', 'headroom = "200000 B"')
    assert edited.patch() == [{"op": "replace", "path": f"{profile}/xoff", "value": "200000"}]
    edited.replace('size = "32 MiB"', 'size = "16 MiB"')
    assert edited.patch()[0] == {
        "op": "replace",
        "path": "/BUFFER_POOL/ingress_lossless_pool/size",
        "value": str(16 << 20),
    }


def test_an_entry_of_all_its_users_is_changed_in_place(penstock: Command, tmp_path: Path) -> None:
    edited = Edited(leaf(), penstock, tmp_path)
    edited.replace('max = "1 MiB"', 'max = "2 MiB"')
    path = "/WRED_PROFILE/AZURE_LOSSLESS/green_max_threshold"
    assert {"op": "replace", "path": path, "value": str(2 << 20)} in edited.patch()
    assert all(one["path"].startswith("/WRED_PROFILE/AZURE_LOSSLESS/") for one in edited.patch())


def test_queues_that_share_a_scheduler_part(penstock: Command, tmp_path: Path) -> None:
    edited = Edited(leaf(), penstock, tmp_path)
    text = edited.file.read_text()
    three, four = (f"queues = [\n    {one},\n]\npercent = 30" for one in (3, 4))
    edited.file.write_text(text.replace(three, three[:-2] + "40").replace(four, four[:-2] + "20"))
    patch = edited.patch()
    made = applied(edited.tables, patch)
    for port in switch()["PORT"]:
        names = {number: made["QUEUE"][f"{port}|{number}"]["scheduler"] for number in (3, 4)}
        assert [made["SCHEDULER"][names[number]]["weight"] for number in (3, 4)] == ["40", "20"]
        assert all(made["QUEUE"][f"{port}|{number}"]["wred_profile"] == "AZURE_LOSSLESS" for number in (3, 4))
    # Queues of other weights, and a port that is strict, keep what they have.
    assert made["SCHEDULER"]["scheduler.0"] == {"type": "DWRR", "weight": "10"}
    assert made["QUEUE"]["Ethernet32|0-7"] == {"scheduler": "scheduler.2"}
    assert all(one["path"].split("/")[1] in ("SCHEDULER", "QUEUE") for one in patch)


def test_maps_watchdogs_and_frames(penstock: Command, tmp_path: Path) -> None:
    edited = Edited(leaf(), penstock, tmp_path)
    edited.replace('detection_time = "200 ms"', 'detection_time = "300 ms"')
    edited.replace('mtu = "9122 B"', 'mtu = "5022 B"')
    edited.replace("[switch.maps.dscp_to_tc]\n", "[switch.maps.dscp_to_tc]\n10 = 3\n")
    ports = [*switch()["PORT"]]
    assert edited.patch() == [
        *({"op": "replace", "path": f"/PORT/{port}/mtu", "value": "5000"} for port in ports),
        {"op": "replace", "path": "/DSCP_TO_TC_MAP/AZURE/10", "value": "3"},
        *({"op": "replace", "path": f"/PFC_WD/{port}/detection_time", "value": "300"} for port in ports),
    ]


def test_a_second_lossless_priority(penstock: Command, tmp_path: Path) -> None:
    edited = Edited(leaf(), penstock, tmp_path)
    text = edited.file.read_text()
    text = text.replace("groups = [\n    3,\n]", "groups = [\n    3,\n    4,\n]")
    text = text.replace("priorities = [\n    3,\n]", "priorities = [\n    3,\n    4,\n]")
    edited.file.write_text(text)
    patch = edited.patch()
    made = applied(edited.tables, patch)
    for port, own in leaf()["PORT"].items():
        if own["speed"] == "10000":
            continue
        kind = "100000_5m" if own["speed"] == "100000" else "400000_40m"
        assert made["BUFFER_PG"][f"{port}|4"] == {"profile": f"pg_lossless_{kind}_profile"}
    assert {one["pfc_enable"] for one in made["PORT_QOS_MAP"].values() if "pfc_enable" in one} == {"3,4"}
    assert {one["path"].split("/")[1] for one in patch} == {"BUFFER_PG", "PORT_QOS_MAP"}


def test_a_watchdog_that_is_new(penstock: Command, tmp_path: Path) -> None:
    edited = Edited(switch(), penstock, tmp_path)
    edited.append('\n[watchdog]\ndetection_time = "400 ms"\nrestoration_time = "300 ms"\naction = "report"\n')
    (one,) = edited.patch()
    assert (one["op"], one["path"], set(one["value"])) == ("add", "/PFC_WD", {"GLOBAL", *switch()["PORT"]})


def test_what_cannot_be_patched(penstock: Command, tmp_path: Path) -> None:
    Edited(switch(), penstock, tmp_path)
    done = penstock("export", "s.toml", "--format", "dcb", "--from", "config_db.json")
    assert (done.returncode, "expected --format sonic" in done.stderr) == (2, True), done.stderr
    done = penstock("export", "s.toml", "--format", "sonic", "--from", "s.toml")
    assert (done.returncode, "expected a CONFIG_DB" in done.stderr) == (2, True), done.stderr
    done = penstock("export", "s.toml", "--format", "sonic", "--whole")
    assert (done.returncode, "expected --from" in done.stderr) == (2, True), done.stderr
