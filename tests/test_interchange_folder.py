"""A fabric from a folder with the CONFIG_DB of each switch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import InputError
from sonic_folders import change, imported, leaf_spine, pairs_of, switch, written


def ends(keys: dict[str, Any]) -> set[frozenset[str]]:
    return {frozenset(link["between"]) for link in keys["topology"]["explicit"]["links"]}


def test_links_follow_from_neighbors(tmp_path: Path) -> None:
    keys, remarks = imported(written(tmp_path / "fabric", leaf_spine()))
    pairs = [("leaf0", "server0"), ("leaf1", "server1"), ("leaf0", "spine0"), ("leaf1", "spine0")]
    assert ends(keys) == {frozenset(pair) for pair in pairs}
    links = {frozenset(one["between"]): one for one in keys["topology"]["explicit"]["links"]}
    up, down = links[frozenset(("leaf0", "spine0"))], links[frozenset(("leaf0", "server0"))]
    assert (up["rate"], up["length"], down["rate"], down["length"]) == ("400 Gb/s", "40 m", "100 Gb/s", "5 m")
    assert "switches" not in keys and keys["flow_control"]["pfc"]["priorities"] == [3, 4]
    (differ,) = [line for line in remarks if "cable lengths differ" in line]
    assert "leaf0 Ethernet4 5 m and spine0 Ethernet0 40 m, leaf1 Ethernet4 5 m and" in differ


def test_a_switch_that_differs_has_a_table_of_its_own(tmp_path: Path) -> None:
    switches = leaf_spine()
    switches["spine0"]["BUFFER_POOL"]["lossless"]["size"] = "20000000"
    keys, _ = imported(written(tmp_path / "fabric", switches))
    pool = keys["switches"]["spine0"]["buffer"]["memory"]["pools"]["lossless"]
    assert pool["size"] == "20000000 B" and [*keys["switches"]] == ["spine0"]
    assert keys["switch"]["buffer"]["memory"]["pools"]["lossless"]["size"] == "12467 KiB"


def test_lldp_counts_before_the_configuration(tmp_path: Path) -> None:
    switches = leaf_spine()
    switches["leaf0"]["DEVICE_NEIGHBOR"] = {"Ethernet4": {"name": "old", "port": "Ethernet0"}}
    directory = written(tmp_path / "fabric", switches)
    (directory / "leaf0.lldp").write_text(
        "Capability codes: (R) Router, (B) Bridge, (O) Other\n"
        "LocalPort    RemoteDevice    RemotePortID    Capability    RemotePortDescr\n"
        "-----------  --------------  --------------  ------------  -----------------\n"
        "Ethernet0    server0         eth0            O             eth0\n"
        "Ethernet4    spine0          etp0            BR            Ethernet0\n"
        "--------------------------------------------------\n"
        "Total entries displayed:  2\n"
    )
    assert frozenset(("leaf0", "spine0")) in ends(imported(directory)[0])


def test_what_has_no_configuration(tmp_path: Path) -> None:
    switches = leaf_spine()
    del switches["spine0"]
    for one in switches.values():
        one["DEVICE_NEIGHBOR_METADATA"] = {"spine0": {"type": "SpineRouter"}, "server0": {"type": "Server"}}
        del one["DEVICE_NEIGHBOR"]["Ethernet0"]
    keys, remarks = imported(written(tmp_path / "fabric", switches))
    explicit = keys["topology"]["explicit"]
    assert explicit["switches"] == ["leaf0..leaf1", "spine0"]
    assert explicit["hosts"] == ["leaf0-Ethernet0", "leaf1-Ethernet0"]
    assert "no configuration here, so they get the most common settings: spine0" in remarks


@pytest.mark.parametrize(
    ("where", "value", "message"),
    [
        ("leaf0|DEVICE_NEIGHBOR|Ethernet4", {"name": "spine0", "port": "Ethernet8"}, "Ethernet8 of spine0"),
        ("leaf0|DEVICE_NEIGHBOR|Ethernet4", {"name": "spine0", "port": "Ethernet4"}, "to name each other"),
        ("leaf0|DEVICE_NEIGHBOR|Ethernet9", {"name": "spine0", "port": "x"}, "there is no port Ethernet9"),
        ("leaf0|DEVICE_NEIGHBOR|Ethernet4", "spine0", "expected name and port"),
        ("leaf0|PORT|Ethernet4", {"speed": "100000"}, "leaf0 Ethernet4 has 100000 Mb/s and spine0 Ethernet0"),
        ("leaf0|PORT|Ethernet0", {"speed": "fast"}, "speed is fast; expected 1 to 1600000 Mb/s"),
        ("leaf0|PORT|Ethernet0", {}, r"PORT\|Ethernet0: has no speed"),
        ("leaf0|DEVICE_METADATA|localhost", {"hostname": "leaf1"}, "its hostname is leaf1, as"),
    ],
)
def test_what_does_not_fit_is_named(where: str, value: Any, message: str, tmp_path: Path) -> None:
    switches = leaf_spine()
    change(switches, where, value)
    with pytest.raises(InputError, match=message):
        imported(written(tmp_path / "fabric", switches))


def test_a_folder_without_switches(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"has no CONFIG_DB; expected SWITCH\.json"):
        imported(tmp_path)
    directory = written(tmp_path / "fabric", leaf_spine())
    (directory / "notes.txt").write_text("hello")
    with pytest.raises(InputError, match="belongs to no switch"):
        imported(directory)


@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_any_wiring_comes_back(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    count = data.draw(st.integers(2, 5))
    free = {f"s{n}": [f"Ethernet{4 * port}" for port in range(5)] for n in range(count)}
    record: dict[str, dict[str, tuple[str, str]]] = {name: {} for name in free}
    # A chain, so that the fabric is in one piece, and a host at its first switch.
    pairs = [(f"s{n}", f"s{n + 1}") for n in range(count - 1)]
    pairs += [("s0", "h0"), ("s0", "h1")]
    extra = st.lists(st.tuples(*[st.sampled_from(sorted(free))] * 2), max_size=2)
    pairs += [pair for pair in data.draw(extra) if pair[0] != pair[1]]
    expected = []
    for one, other in pairs:
        if not free[one] or (other in free and not free[other]):
            continue
        near = free[one].pop()
        far = free[other].pop() if other in free else "eth0"
        sides = [(one, near, other, far)] + ([(other, far, one, near)] if other in free else [])
        # Either end may be silent, if the other says both ports.
        for name, port, peer, at in sides if data.draw(st.booleans()) else sides[:1]:
            record[name][port] = (peer, at)
        expected.append(sorted((one, other)))
    switches = {}
    for name, left in free.items():
        used = [port for n in range(5) if (port := f"Ethernet{4 * n}") not in left]
        switches[name] = switch(name, dict.fromkeys(used, 100_000), record[name])
    directory = written(tmp_path_factory.mktemp("any") / "fabric", switches)
    assert pairs_of(imported(directory)[0]) == sorted(expected)
