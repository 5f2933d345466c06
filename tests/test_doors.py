"""Files that once lost their contents, hung a reader, or stood for gigabytes; the files are in `doors`."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

import penstock as ps
from penstock.errors import InputError
from penstock.interchange.files import document
from penstock.interchange.formats import FORMATS, format_of, read_all
from penstock.interchange.join import Joined, join
from penstock.interchange.piece import HEAD_CHARACTERS, Document
from penstock.library import Source, toml
from penstock.running import run_source

DOORS = Path(__file__).with_name("doors")
LIKE = Source((DOORS / "d1_like.toml").read_text("utf-8"), "like.toml")
SOON_S = 1.0


def imported(*names: str, **message: str) -> Joined:
    """Imports files that belong together with `penstock import`."""
    documents = [document(DOORS / name, **message) for name in names]
    found = [(format_of(one), one) for one in documents]
    pieces = read_all(found)
    return join(list(zip(documents, pieces, strict=True)), Path("x.toml"), like=LIKE)


def lost(made: Joined) -> int:
    """Frames that the imported scenario loses."""
    result = run_source(Source(made.text, "x.toml"))
    return sum(result.table("flows")["frames_dropped"].to_pylist())


def of(tables: dict[str, Any]) -> Joined:
    """An import of a CONFIG_DB."""
    one = Document("config_db.json", json.dumps(tables, indent=1))
    return join([(one, format_of(one).read(one))], Path("x.toml"), like=LIKE)


def test_a_switch_without_a_lossless_profile_keeps_its_memory() -> None:
    made = imported("d1a_no_lossless_profile.json")
    assert lost(made) == 16_076
    memory = toml(made.text)["switch"]["buffer"]["memory"]
    assert set(memory["pools"]) == {"ingress_lossless_pool", "egress_lossy_pool", "egress_lossless_pool"}
    assert any("assumed: lossless groups 3, 4 have no profile" in line for line in made.remarks)


@pytest.mark.parametrize("profile", ["NULL", "", None])
def test_a_profile_that_the_switch_computes_loses_nothing_else(profile: str | None) -> None:
    tables = json.loads((DOORS / "d1a_no_lossless_profile.json").read_text("utf-8"))
    for port in tables["PORT"]:
        tables["BUFFER_PG"][f"{port}|3-4"] = {} if profile is None else {"profile": profile}
    assert lost(of(tables)) == 16_076


def test_a_pool_without_a_size_keeps_the_others() -> None:
    tables = json.loads((DOORS / "d1a_no_lossless_profile.json").read_text("utf-8"))
    del tables["BUFFER_POOL"]["ingress_lossless_pool"]["size"]
    made = of(tables)
    assert lost(made) == 16_076  # the egress pool is what fills up
    assert any("pool ingress_lossless_pool has no size" in line for line in made.remarks)


@pytest.mark.parametrize("below", [False, True])
def test_a_dump_of_the_database_is_read_as_its_tables(below: bool) -> None:
    """Keys such as "BUFFER_PG|Ethernet0|0", as the tests of sonic-utilities have them."""
    tables = json.loads((DOORS / "d1a_no_lossless_profile.json").read_text("utf-8"))
    flat = {
        f"{table}|{key}": {"type": "hash", "value": fields} if below else fields
        for table, entries in tables.items()
        for key, fields in entries.items()
    }
    made = of(flat)
    assert toml(made.text)["switch"] == toml(of(tables).text)["switch"]
    assert lost(made) == 16_076
    flat["BUFFER_PROFILE|egress_lossy_profile"] = {"pool": "gone", "size": "0", "dynamic_th": "0"}
    with pytest.raises(InputError, match=r"config_db\.json:\d+: BUFFER_PROFILE\|egress_lossy_profile"):
        of(flat)


def test_buffers_alone_say_what_is_lossless() -> None:
    """Without the maps of ports, groups with headroom are those of lossless priorities."""
    made = imported("d9a_buffers.json")
    assert toml(made.text)["flow_control"]["pfc"]["priorities"] == [3, 4]
    assert any("assumed: no pfc_enable: priorities 3, 4 are lossless" in line for line in made.remarks)
    assert lost(made) == 16_076


def test_a_switch_without_pfc_keeps_its_memory() -> None:
    tables = json.loads((DOORS / "d1a_no_lossless_profile.json").read_text("utf-8"))
    for maps in tables["PORT_QOS_MAP"].values():
        maps["pfc_enable"] = ""
    made = of(tables)
    assert "egress_lossy_pool" in toml(made.text)["switch"]["buffer"]["memory"]["pools"]
    assert lost(made) == 16_076


def test_the_table_of_headroom_gives_lossless_groups_their_profile() -> None:
    made = imported("d1a_no_lossless_profile.json", "d1_pg_profile_lookup.ini")
    profile = toml(made.text)["switch"]["buffer"]["memory"]["profiles"]["pg_lossless_100000_40m_profile"]
    assert profile == {
        "pool": "ingress_lossless_pool",
        "reserved": "1248 B",
        "alpha": 1.0,
        "headroom": "177632 B",
        "xon": "2288 B",
        "xon_offset": "2288 B",
    }
    assert lost(made) == 16_076


def test_two_files_of_one_switch_are_one_switch() -> None:
    made = imported("d9a_buffers.json", "d9a_qos.json")
    scenario = toml(made.text)
    assert scenario["flow_control"]["pfc"]["priorities"] == [3, 4]
    assert "pg_lossless_100000_40m_profile" in scenario["switch"]["buffer"]["memory"]["profiles"]
    assert toml(imported("d9a_qos.json", "d9a_buffers.json").text)["switch"] == scenario["switch"]


def test_of_two_values_for_a_field_the_report_names_the_one_that_wins() -> None:
    first = {"PORT": {"Ethernet0": {"mtu": "9100"}}, "PORT_QOS_MAP": {"Ethernet0": {"pfc_enable": "3"}}}
    second = {"PORT": {"Ethernet0": {"mtu": "1500"}}, "QUEUE": {}}
    documents = [Document(f"{name}.json", json.dumps(one)) for name, one in (("a", first), ("b", second))]
    piece = read_all([(format_of(one), one) for one in documents])[0]
    assert piece.keys["switch"]["mtu"] == "1522 B"
    text = "mtu is 9100 in a.json and 1500 in b.json: b.json, which is named later, takes precedence"
    assert any(text in line for line in piece.remarks)


def test_the_profile_of_config_db_wins_over_the_table_of_headroom() -> None:
    made = imported("d9a_buffers.json", "d9a_qos.json", "d10a_pg_profile_lookup.ini")
    assert any("takes precedence: size 1248 there and 19456 here" in line for line in made.remarks)


@pytest.mark.parametrize(
    ("name", "profile", "key", "value"),
    [
        ("d8a_dynamic_th_in_static_pool.json", "egress_lossy_profile", "alpha", 0.5),
        ("d8b_static_th_in_dynamic_pool.json", "egress_lossless_profile", "threshold", None),
    ],
)
def test_the_field_of_a_profile_sets_its_mode(name: str, profile: str, key: str, value: object) -> None:
    found = toml(imported(name).text)["switch"]["buffer"]["memory"]["profiles"]
    assert {"alpha", "threshold"} & set(found[profile]) == {key}
    assert value is None or found[profile][key] == value


def test_fabric_and_flows_of_powertcp() -> None:
    documents = [document(DOORS / f"d2a_powertcp_{name}.txt") for name in ("topology", "flow")]
    read = read_all([(format_of(one), one) for one in documents])
    explicit = read[0].keys["topology"]["explicit"]
    assert [link["rate"] for link in explicit["links"]] == ["25 Gb/s"] * 4 + ["100 Gb/s"]
    assert (explicit["hosts"], explicit["switches"]) == (["h0", "h1", "h2", "h3"], ["s4", "s5"])
    assert [one.bytes for one in read[1].transfers] == [1_000_000, 2_000_000]


def test_mlnx_qos_as_it_prints_by_default() -> None:
    scenario = toml(imported("d5a_mlnx_vendor.txt").text)
    assert scenario["flow_control"] == {"pfc": {"priorities": [3]}}
    assert scenario["switch"] == {"queues": [1, 0, 2, 3, 4, 5, 6, 7]}  # priority 0 is in class 1
    assert scenario["topology"]["star"]["length"] == "7 m"


def test_mlnx_qos_with_other_classes_of_dscp() -> None:
    text = (DOORS / "d5a_mlnx_vendor.txt").read_text("utf-8").replace("prio:3 dscp:31,", "prio:5 dscp:31,")
    one = Document("port.txt", text)
    maps = format_of(one).read(one).keys["switch"]["maps"]["dscp_to_tc"]
    assert (maps["31"], maps["24"], maps["7"]) == (5, 5, 0)
    other = Document("port.txt", text.replace("trust state: dscp", "trust state: pcp"))
    piece = format_of(other).read(other)
    assert "maps" not in piece.keys["switch"]
    assert any("not read: dscp2prio: the port trusts pcp" in line for line in piece.remarks)


@pytest.mark.parametrize("name", ["d6a_ratelimit.sh", "d6b_sudo.sh"])
def test_commands_of_mlnx_qos(name: str) -> None:
    scenario = toml(imported(name).text)
    if name == "d6b_sudo.sh":
        assert scenario["flow_control"] == {"pfc": {"priorities": [3]}}
    else:
        assert scenario["switch"]["queues"] == [0] * 8


def test_rate_limits_alone_are_no_scenario() -> None:
    one = Document("x.sh", "sudo -E /usr/bin/mlnx_qos -i eth0 -r 10,0,0,0,0,0,0,0\n")
    with pytest.raises(InputError, match="no command sets priorities, classes or PFC"):
        format_of(one).read(one)


def test_nvue_without_marks_and_with_an_mtu() -> None:
    made = imported("d7a_ecn_off.nv")
    switch = toml(made.text)["switch"]
    assert switch["mtu"] == "9238 B"
    assert [one["classes"] for one in switch["queue_managers"]] == [[3]]
    assert not any("taken as" in line or "queue 0" in line for line in made.remarks)


def test_the_examples_of_cumulus_for_all_ports() -> None:
    """The commands of NVIDIA's manual as they stand there, with the prompt."""
    prompt = "cumulus@switch:~$ nv set qos"
    text = (
        f"{prompt} congestion-control default-global traffic-class 4,5,7 min-threshold 40000\n"
        f"{prompt} congestion-control default-global traffic-class 4,5,7 max-threshold 200000 \n"
        f"{prompt} congestion-control default-global traffic-class 4,5,7 red enable\n"
        f"{prompt} pfc default-global switch-priority 0 \n{prompt} pfc default-global tx enable \n"
        f"{prompt} pfc default-global rx disable \n{prompt} pfc default-global cable-length 50\n"
        "cumulus@switch:~$ nv config apply\n"
    )
    one = Document("x.nv", text)
    piece = format_of(one).read(one)
    [manager] = piece.keys["switch"]["queue_managers"]
    assert (manager["classes"], manager["red"]["action"]) == ([4, 5, 7], "mark")
    assert piece.keys["flow_control"] == {"pfc": {"priorities": [0]}}
    assert piece.links == [(None, "50 m", ())]
    assert any("assumed: rx is disable" in line for line in piece.remarks)


@pytest.mark.parametrize(
    "name",
    [
        "d10a_pg_profile_lookup.ini",
        "redos_comments.xml",
        "redos_gml.gml",
        "redos_newlines.txt",
        "redos_newlines_real.txt",
        "astra_full.yml",
        "htsim_tiers.topo",
    ],
)
def test_a_message_comes_within_a_second(name: str) -> None:
    began = time.monotonic()
    with pytest.raises(InputError):
        imported(name)
    assert time.monotonic() - began < SOON_S


@pytest.mark.parametrize(
    "unit",
    [
        "\n",
        "# a\n\n",
        " ",
        "<!-- a -->\n",
        'Version "1"\n',
        "a: ",
        '"',
        "{",
        "[",
        "1 ",
        "1" * 50,
        "-",
        "x-1-",
    ],
)
@pytest.mark.parametrize("end", ["hello", "graph [", "<system>", "npus_count", "\n1 2\n"])
def test_recognition_takes_linear_time(unit: str, end: str) -> None:
    """A second of CPU time for a megabyte of whatever is repeated, for all formats together."""
    text = unit * (HEAD_CHARACTERS // len(unit)) + end
    one = Document("x", text)
    began = time.process_time()
    for known in FORMATS:
        known.recognises(one.head())
    assert time.process_time() - began < 6 * SOON_S


def test_recognition_reads_a_bounded_head() -> None:
    one = Document("x", "1 2\n" * HEAD_CHARACTERS)
    assert len(one.head().text) <= HEAD_CHARACTERS


def test_ranges_of_ports_are_counted_before_they_are_listed() -> None:
    ranges = ",".join(f"swp{number}-9999" for number in range(1, 1_000))
    one = Document("x.nv", f"nv set interface {ranges} qos pfc profile p\n")
    began = time.monotonic()
    with pytest.raises(InputError, match="expected at most 1024"):
        format_of(one).read(one)
    assert time.monotonic() - began < SOON_S


@pytest.mark.parametrize(
    "text",
    [
        "{}\n" * 30_000,
        '{"BUFFER_PG": {' + ",".join(f'"E{n}|3": {{"profile": "p"}}' for n in range(20_000)) + "}}",
    ],
)
def test_json_is_scanned_in_linear_time(text: str) -> None:
    one = Document("x.json", text)
    began = time.monotonic()
    for name in ("sonic", "dcb", "node-link"):
        with pytest.raises(InputError):
            format_of(one, name).read(one)
    assert time.monotonic() - began < 10 * SOON_S


def test_entities_of_xml_are_refused() -> None:
    text = '<?xml version="1.0"?><!DOCTYPE graphml [<!ENTITY a "b">]><graphml>&a;</graphml>'
    one = Document("x", text)
    assert format_of(one).name == "graphml"
    with pytest.raises(InputError, match="declares the entity a"):
        format_of(one).read(one)


def test_a_scenario_that_was_imported_is_one(tmp_path: Path) -> None:
    file = tmp_path / "x.toml"
    file.write_text(imported("d1a_no_lossless_profile.json").text, "utf-8")
    assert ps.check(file)


def test_of_two_files_that_set_a_key_the_later_one_wins() -> None:
    """Also where the formats differ; two fabrics are still an error."""
    one = Document(
        "a.nv", "nv set interface swp1 link mtu 9216\nnv set qos pfc default-global switch-priority 3\n"
    )
    other = Document(
        "b.nv", "nv set interface swp1 link mtu 1500\nnv set qos pfc default-global switch-priority 4\n"
    )
    pairs = [(document, format_of(document)) for document in (one, other)]
    made = join([(document, known.read(document)) for document, known in pairs], Path("x.toml"), like=LIKE)
    scenario = toml(made.text)
    assert (scenario["switch"]["mtu"], scenario["flow_control"]["pfc"]["priorities"]) == ("1522 B", [4])
    for key in ("switch.mtu is 1522 B here and 9238 B", "flow_control is"):
        assert any(key in line and "b.nv" in line and "takes precedence" in line for line in made.remarks), (
            made.remarks
        )


def test_commands_with_signs_of_json_in_them() -> None:
    """Places in a text that is no JSON are not searched for as if it were."""
    one = Document("x.sh", "dcb ets set dev } prio-tc 0:0 tc-tsa all:ets tc-bw all:x\n")
    with pytest.raises(InputError, match=r"x\.sh:1: tc-bw is x"):
        format_of(one).read(one)
