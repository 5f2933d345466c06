"""Settings of a switch as commands of NVUE."""

from __future__ import annotations

import re
import tomllib
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import SMALL, Command
from penstock import _core, running
from penstock.cli import export
from penstock.errors import InputError
from penstock.interchange import nvue, nvue_commands
from penstock.interchange.formats import format_of
from penstock.interchange.join import join
from penstock.interchange.piece import Document, Piece
from penstock.library import Source
from test_interchange_round import LIKE

SWITCH = """\
nv set qos mapping M trust both
nv set qos mapping M dscp 24,26 switch-priority 4
nv set qos egress-queue-mapping default-global switch-priority 7 traffic-class 6
nv set qos pfc P switch-priority 3,4
nv set qos pfc P xoff-threshold 40000
nv set qos pfc P xon-threshold 20000
nv set qos pfc P tx enable
nv set qos pfc P cable-length 40
nv set qos congestion-control C traffic-class 3-4 ecn enable
nv set qos congestion-control C traffic-class 3-4 min-threshold 40000
nv set qos congestion-control C traffic-class 3-4 max-threshold 200000
nv set qos congestion-control C traffic-class 3-4 probability 5
nv set qos congestion-control C traffic-class 4 red enable
nv set qos egress-scheduler default-global traffic-class 0-2,5 bw-percent 10
nv set qos egress-scheduler default-global traffic-class 3,4 bw-percent 30
nv set qos egress-scheduler default-global traffic-class 6 mode strict
nv set interface swp1-2,swp4 qos mapping profile M
nv set interface swp1-2,swp4 qos pfc profile P
nv set interface swp1-2,swp4 qos congestion-control profile C
"""


def read(text: str, **others: str) -> Piece:
    document = Document("qos.nv", text, **others)
    found = format_of(document)
    assert found.name == "nvue"
    return found.read(document)


def test_profiles_of_a_port_are_a_switch() -> None:
    piece = read(SWITCH)
    switch = piece.keys["switch"]
    assert switch["queues"] == [0, 1, 2, 3, 4, 5, 6, 6]
    classes = switch["maps"]["dscp_to_tc"]
    assert {code: classes[code] for code in ("24", "25", "26", "63")} == {"24": 4, "25": 3, "26": 4, "63": 7}
    shares = [one.get("percent") for one in switch["scheduler"]["ets"]["classes"]]
    assert shares == [10, 10, 10, 30, 30, 10, None]
    marks, drops = switch["queue_managers"]
    assert (marks["classes"], marks["red"]["action"]) == ([3], "mark_only")
    assert (drops["classes"], drops["red"]["action"]) == ([4], "mark")
    assert (drops["red"]["min"], drops["red"]["max"]) == ("40000 B", "200000 B")
    assert drops["red"]["max_probability"] == 0.05
    assert piece.keys["flow_control"] == {"pfc": {"priorities": [3, 4], "xoff": "40000 B", "xon": "20000 B"}}
    assert piece.links == [(None, "40 m", ("swp1", "swp2", "swp4"))]
    assert not piece.remarks


def test_roce_is_what_it_stands_for() -> None:
    for text in ("nv set qos roce", "nv set qos roce enable on", "nv set qos roce state enabled"):
        piece = read(text)
        assert piece.keys["switch"]["queues"] == [0, 0, 0, 3, 0, 0, 6, 0]
        assert piece.keys["flow_control"] == {"pfc": {"priorities": [3]}}
        assert piece.keys["switch"]["queue_managers"][0]["red"]["max"] == "1500000 B"
    assert read("nv set qos roce mode lossy").keys["flow_control"] == "off"
    off = read("nv set qos roce enable off").keys
    assert off == {"switch": {"queues": "per_priority"}, "flow_control": "off"}


def test_what_is_not_read_is_reported_once_with_its_meaning() -> None:
    text = (
        "nv set system timezone Etc/UTC\nnv set qos traffic-pool roce-lossless memory-percent 50\n"
        "nv set qos traffic-pool default-lossy memory-percent 50\nnv set qos roce\n"
        "nv set qos pfc default-global port-buffer 20000\nnv config apply\n"
    )
    reported = read(text).remarks
    assert sum("qos traffic-pool" in line for line in reported) == 1
    for words in (
        ":1: not read: system",
        ":2: not read: qos traffic-pool: pools are shares of the memory",
        ":5: not read: pfc",
    ):
        assert any(words in line for line in reported), words


def test_ports_that_differ_need_a_name() -> None:
    text = SWITCH + "nv set qos pfc Q switch-priority 5\nnv set interface swp3 qos pfc profile Q\n"
    with pytest.raises(InputError, match=re.escape("qos.nv:21: swp3 has the pfc profile Q, swp1 has P")):
        read(text)
    assert read(text, interface="swp3").keys["flow_control"] == {"pfc": {"priorities": [5]}}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("nv set qos pfc default-global switch-priority 9", "1: switch-priority is 9; expected a whole"),
        ("nv set qos pfc default-global tx disable", "1: tx is disable: PFC of a scenario has both"),
        ("nv set qos pfc default-global tx maybe", "1: tx is maybe; expected enable or disable"),
        ("nv set qos mapping default-global trust port", "1: trust is port: a scenario has no class per"),
        ("nv set qos mapping default-global dscp 64 switch-priority 1", "1: dscp is 64; expected a whole"),
        ("nv set qos roce mode half", "1: qos roce mode is half; expected lossless or lossy"),
        ("nv set qos egress-scheduler default-global traffic-class 1 mode wrr", "1: mode is wrr; expected"),
        (
            "nv set qos egress-scheduler default-global traffic-class 1-4 bw-percent 30",
            "sum to 120; expected",
        ),
        (
            "nv set qos congestion-control default-global traffic-class 0 min-threshold 2000000",
            "1: queue 0: min-threshold 2000000 is not below max-threshold 1500000",
        ),
        ("nv set interface swp1 qos pfc profile nobody", "1: no command defines the pfc profile nobody"),
        ("nv set system hostname leaf1", "1: no command sets qos mapping, pfc"),
        ("nv set qos roce\nhello", "2: hello is not an NVUE command"),
        ("nv set qos egress-scheduler default-global traffic-class 3", "1: qos egress-scheduler"),
        ("nv set qos mapping default-global dscp 5-3 switch-priority 1", "1: dscp is 5-3; expected a whole"),
        (
            "nv set qos congestion-control default-global traffic-class 1 min 3",
            "1: unknown key min; expected",
        ),
        ("nv set qos pfc default-global a b c", "1: qos pfc default-global a b c: expected a key"),
    ],
)
def test_errors_name_the_line(line: str, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        read(line)


def test_import_gives_a_scenario_that_runs(penstock: Command, tmp_path: Path) -> None:
    (tmp_path / "like.toml").write_text(SMALL)
    (tmp_path / "qos.nv").write_text(SWITCH)
    out = tmp_path / "out.toml"
    done = penstock("import", tmp_path / "qos.nv", "--like", tmp_path / "like.toml", "--out", out)
    assert done.returncode == 0, done.stderr
    assert tomllib.loads(out.read_text())["flow_control"]["pfc"]["xoff"] == "40000 B"


def test_a_port_that_no_command_names_is_an_error() -> None:
    with pytest.raises(InputError, match=r"names the port swp99; expected one of swp1, swp2, swp4"):
        read(SWITCH, interface="swp99")


@st.composite
def configurations(draw: st.DrawFn) -> str:
    """Commands with every supported setting: mappings, queues, PFC, shares and marks."""
    lines = []
    for code, own in draw(st.dictionaries(st.integers(0, 63), st.integers(0, 7), max_size=6)).items():
        lines.append(f"mapping default-global dscp {code} switch-priority {own}")
    queues = [draw(st.sampled_from([priority, 0])) for priority in range(8)]
    lines += [
        f"egress-queue-mapping default-global switch-priority {priority} traffic-class {queue}"
        for priority, queue in enumerate(queues)
        if queue != priority or draw(st.booleans())
    ]
    lossless = draw(st.lists(st.integers(0, 7), max_size=3, unique=True))
    lines += [f"pfc default-global switch-priority {one}" for one in lossless]
    if lossless and draw(st.booleans()):
        xon = draw(st.integers(2_000, 50_000))
        lines.append(f"pfc default-global xoff-threshold {xon + draw(st.integers(1, 10**6))}")
        lines.append(f"pfc default-global xon-threshold {xon}")
    if lossless and draw(st.booleans()):
        lines.append(f"pfc default-global cable-length {draw(st.integers(1, 300))}")
    used = sorted(set(queues))
    strict = draw(st.lists(st.sampled_from(used), unique=True, max_size=len(used) - 1))
    shared = [queue for queue in used if queue not in strict]
    cuts = draw(st.lists(st.integers(1, 99), unique=True, min_size=len(shared) - 1, max_size=len(shared) - 1))
    bounds = [0, *sorted(cuts), 100]
    for queue, share in zip(shared, (after - one for one, after in pairwise(bounds)), strict=True):
        lines.append(f"egress-scheduler default-global traffic-class {queue} bw-percent {share}")
    lines += [f"egress-scheduler default-global traffic-class {queue} mode strict" for queue in strict]
    for queue in draw(st.lists(st.sampled_from(used), unique=True, max_size=2)):
        least = draw(st.integers(1, 10**6))
        marks, drops = draw(st.sampled_from([(True, True), (True, False), (False, True)]))
        for key, value in {
            "ecn": "enable" if marks else "disable",
            "red": "enable" if drops else "disable",
            "min-threshold": least,
            "max-threshold": least + draw(st.integers(1, 10**6)),
            "probability": draw(st.integers(1, 100)),
        }.items():
            lines.append(f"congestion-control default-global traffic-class {queue} {key} {value}")
    return "".join(f"nv set qos {line}\n" for line in draw(st.permutations(lines)))


def scenario_of(text: str) -> tuple[str, list[str]]:
    document = Document("qos.nv", text)
    made = join([(document, nvue.read(document))], Path("out.toml"), like=Source(LIKE, "like.toml"))
    return made.text, made.remarks


@given(configurations())
@settings(max_examples=60, deadline=None)
def test_what_is_exported_is_what_was_imported(text: str) -> None:
    first, reported = scenario_of(text)
    assert not [line for line in reported if "not set" in line and "queue" in line], reported
    with running.engine_errors():
        effective = tomllib.loads(str(_core.check(first, "out.toml")))
    own = effective["topology"]["star"].get("length")
    port = nvue_commands.Port(None, own, export.read(effective, "switch"))
    lines, left_out = nvue_commands.commands(effective, port)
    assert left_out in ([], ["switch.maps.dscp_to_tc is that of RFC 2474, which needs no command"])
    second, _ = scenario_of("\n".join(lines))
    assert tomllib.loads(second) == tomllib.loads(first)


def test_what_commands_cannot_say_is_reported_or_refused(penstock: Command, tmp_path: Path) -> None:
    switch = (
        'queues = "per_priority"\nmtu = "9000 B"\n'
        'maps = { dscp_to_tc = { 26 = 3 }, dscp_to_color = { 10 = "yellow" } }\n'
    )
    path = tmp_path / "a.toml"
    in_bytes = SMALL.replace("20 frames", "30 KiB").replace("10 frames", "15 KiB")
    path.write_text(f"{in_bytes}[switch]\n{switch}")
    done = penstock("export", path, "--format", "nvue", "--interface", "swp1-4")
    assert done.returncode == 0, done.stderr
    assert "nv set interface swp1-4 qos mapping profile penstock" in done.stdout
    for reported in (
        "switch.buffer.queue is left out",
        "switch.mtu is",
        "switch.maps.dscp_to_color is left out",
    ):
        assert reported in done.stderr, reported
    path.write_text(in_bytes + '[switch]\nqueue_managers = [{ step = { threshold = "30 KiB" } }]\n')
    done = penstock("export", path, "--format", "nvue")
    assert done.returncode == 2
    assert "switch.queue_managers step: only red can be exported" in done.stderr
    done = penstock("export", path, "--format", "nvue", "--role", "host")
    assert "NVUE runs on switches" in done.stderr


SEVERAL = """[switch]
queues = "per_priority"
queue_managers = [{ classes = [3], red = { weight = 1.0, min = "100 kB", max = "200 kB", \
max_probability = 0.1, action = "mark_only", gentle = false, spacing = "geometric" } }]
scheduler = { ets = { classes = [{ queues = [0, 1, 2], percent = 40 }, { queues = [3, 4], percent = 60 }, \
{ queues = [5, 6, 7], strict = true }] } }
""".replace("\\\n", "")


def test_marks_of_a_queue_are_those_of_its_class(penstock: Command, tmp_path: Path) -> None:
    """Where classes have several queues, numbers of queues are not those of classes."""
    path = tmp_path / "a.toml"
    path.write_text(LIKE + SEVERAL)
    for form, words in (
        ("nvue", "traffic-class 1 min-threshold 100000"),
        ("sonic", '"wred_profile": "wred.0"'),
    ):
        done = penstock("export", path, "--format", form)
        assert done.returncode == 0, done.stderr
        assert words in done.stdout
        assert "red applies to all queues of its class, including queue 4" in done.stderr
    twice = SEVERAL.replace(
        "queue_managers = [", 'queue_managers = [{ classes = [4], red = { min = "9 kB", max = "10 kB" } }, '
    )
    path.write_text(LIKE + twice)
    done = penstock("export", path, "--format", "sonic")
    assert done.returncode == 2
    assert "queues of class 1 have two; only one per class can be exported" in done.stderr


def test_an_option_of_the_link_without_use_is_reported(penstock: Command, tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text(LIKE)
    done = penstock("export", path, "--format", "nvue", "--rate", "25 Gb/s", "--length", "7 m")
    assert "note: --rate has no effect with --format nvue" in done.stderr
    assert "--length" not in done.stderr


def test_ports_are_a_star_by_their_speeds() -> None:
    text = SWITCH + "nv set interface swp1-2 link speed 100G\nnv set system hostname leaf1\n"
    piece = read(text)
    assert [(one.rate, one.length, one.ports) for one in piece.links] == [
        ("100 Gb/s", "40 m", ("swp1", "swp2")),
        (None, "40 m", ("swp4",)),
    ]
    fabric = piece.alone["topology"]["explicit"]
    assert (fabric["hosts"], fabric["switches"]) == (["swp1", "swp2"], ["leaf1"])
    assert read(SWITCH, rate="400 Gb/s").alone["topology"]["explicit"]["hosts"] == ["swp1", "swp2", "swp4"]
    with pytest.raises(InputError, match="speed is fast; expected a speed, such as 100G"):
        read(SWITCH + "nv set interface swp1 link speed fast\n")
