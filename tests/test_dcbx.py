"""The agent of DCBX at real interfaces: two of ours, ours with lldpad, and what cannot be."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from conftest import Command, command_line
from penstock import _core
from penstock.cli import main
from penstock.conformance import frames
from penstock.conformance.lldpad import Lldpad, missing
from penstock.dcbx.inherit import inherited
from penstock.dcbx.query import request_state
from penstock.dcbx.serving import Settings, _Station, start
from penstock.errors import InputError

SWITCH = """
[ets]
willing = false
own = { classes = [0, 0, 0, 1, 0, 0, 0, 0], percent = [40, 60], algorithms = ["ets", "ets"] }
recommended = { classes = [0, 0, 0, 1, 0, 0, 0, 0], percent = [40, 60], algorithms = ["ets", "ets"] }

[pfc]
willing = false
priorities = [3, 4]

[[applications]]
selector = "stream_port"
protocol = 3260
priority = 4
"""
PATIENCE_S = 90.0
OTHER: dict[str, Any] = {
    "classes": [0, 0, 0, 1, 0, 0, 0, 0],
    "percent": [70, 30],
    "algorithms": ["ets", "ets"],
}
THEIRS = {**OTHER, "percent": [40, 60]}

State = dict[str, Any]


def no_interfaces() -> str:
    """Why there can be no virtual interfaces here; empty if there can."""
    if shutil.which("ip") is None:
        return "ip is not installed (apt-get install iproute2)"
    name = f"pstt{os.getpid()}"
    made = subprocess.run(
        ["ip", "link", "add", name, "type", "veth", "peer", "name", f"{name}p"],
        capture_output=True,
        text=True,
        check=False,
    )
    subprocess.run(["ip", "link", "del", name], capture_output=True, check=False)
    return "" if made.returncode == 0 else f"no virtual interfaces: {made.stderr.strip()}"


NO_INTERFACES = no_interfaces()
NO_LLDPAD = missing()
virtual = pytest.mark.skipif(bool(NO_INTERFACES), reason=NO_INTERFACES)
real_agent = pytest.mark.skipif(bool(NO_LLDPAD), reason=f"lldpad: {NO_LLDPAD}")


@pytest.fixture
def pair() -> Iterator[tuple[str, str]]:
    """Two virtual interfaces with a link between them."""
    names = f"psta{os.getpid()}", f"pstb{os.getpid()}"
    lines = [["ip", "link", "add", names[0], "type", "veth", "peer", "name", names[1]]]
    lines += [["ip", "link", "set", name, "up"] for name in names]
    for line in lines:
        subprocess.run(line, check=True)
    yield names
    subprocess.run(["ip", "link", "del", names[0]], check=False)


@contextlib.contextmanager
def running(interface: str, *words: str | Path) -> Iterator[subprocess.Popen[str]]:
    """`penstock dcbx run` until the end of the block, where it gets Ctrl-C."""
    line = command_line("dcbx", "run", "--interface", interface, *words)
    process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE_S)


def shown(interface: str) -> State:
    done = subprocess.run(
        command_line("dcbx", "show", "--interface", interface, "--json"),
        capture_output=True,
        text=True,
        check=False,
    )
    state: State = json.loads(done.stdout) if done.returncode == 0 else {}
    return state


def wait_until(holds: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < end, what
        time.sleep(0.2)


def pfc_of(state: State) -> list[int]:
    priorities: list[int] = state["operational"]["pfc"]["enabled"] if state else []
    return priorities


@virtual
def test_two_agents_agree_and_the_one_that_ends_is_forgotten(pair: tuple[str, str], tmp_path: Path) -> None:
    (tmp_path / "switch.toml").write_text(SWITCH, "utf-8")
    with running(pair[1]):
        with running(pair[0], "--settings", tmp_path / "switch.toml") as switch:
            wait_until(lambda: pfc_of(shown(pair[1])) == [3, 4], "PFC is not adopted")
            state = shown(pair[1])
            assert state["schema"] == "penstock-dcbx/1"
            assert state["operational"]["ets"]["table"]["percent"][:2] == [40, 60]
            assert state["operational"]["ets"]["why"] == "adopted from the peer"
            assert state["operational"]["applications"][0]["protocol"] == 3260
            table = subprocess.run(
                command_line("dcbx", "show", "--interface", pair[1]),
                capture_output=True,
                text=True,
                check=True,
            ).stdout
            assert "adopted from the peer" in table
            assert "stream port 3260: 4" in table
            second = subprocess.run(
                command_line("dcbx", "run", "--interface", pair[0]),
                capture_output=True,
                text=True,
                check=False,
            )
            assert (second.returncode, "an agent runs there already" in second.stderr) == (2, True)
        assert switch.returncode == 130
        wait_until(lambda: shown(pair[1])["neighbours"] == [], "the shutdown is not heard")
        assert pfc_of(shown(pair[1])) == []


@virtual
def test_a_link_that_goes_down_takes_the_peer_along(pair: tuple[str, str], tmp_path: Path) -> None:
    (tmp_path / "switch.toml").write_text(SWITCH, "utf-8")
    with running(pair[0], "--settings", tmp_path / "switch.toml"), running(pair[1]) as host:
        wait_until(lambda: pfc_of(shown(pair[1])) == [3, 4], "PFC is not adopted")
        subprocess.run(["ip", "link", "set", pair[1], "down"], check=True)
        wait_until(lambda: pfc_of(shown(pair[1])) == [], "a link that is down has a peer")
        subprocess.run(["ip", "link", "set", pair[1], "up"], check=True)
        wait_until(lambda: pfc_of(shown(pair[1])) == [3, 4], "PFC is not adopted again")
        subprocess.run(["ip", "link", "del", pair[1]], check=True)
        assert host.wait(PATIENCE_S) == 2
        assert host.stderr is not None
        assert "the interface is gone" in host.stderr.read()


@virtual
def test_a_peer_that_falls_silent_is_forgotten(pair: tuple[str, str]) -> None:
    """Settings with a time to live of six seconds are adopted, and expire after it."""
    part = frames.pfc((3,))
    output = frames.lldp("02:00:00:00:00:0f", [part], ttl_s=6)
    with running(pair[1]), socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as wire:
        wait_until(lambda: shown(pair[1]) != {}, "the agent does not run")
        wire.bind((pair[0], 0))
        wire.send(output.octets)
        wait_until(lambda: pfc_of(shown(pair[1])) == [3], "PFC is not adopted")
        assert shown(pair[1])["neighbours"][0]["remaining_s"] <= 6
        wait_until(lambda: shown(pair[1])["neighbours"] == [], "the peer is not forgotten")
        assert pfc_of(shown(pair[1])) == []


@virtual
def test_settings_of_a_scenario(pair: tuple[str, str], tmp_path: Path) -> None:
    scenario = tmp_path / "x.toml"
    assert main(["new", str(scenario), "--like", "leaf-spine"]) == 0
    with running(pair[0], "--like", scenario):
        wait_until(lambda: pfc_of(shown(pair[0])) == [3], "PFC of the scenario")
        assert shown(pair[0])["administered"]["pfc"]["willing"] is False


def chain(*, inherits: bool) -> tuple[list[int], list[int]]:
    """PFC and shares of a host behind an edge switch behind a core, in memory, after some seconds."""
    unwilling: State = {
        "ets": {"willing": False, "own": THEIRS, "recommended": THEIRS},
        "pfc": {"willing": False},
    }
    edge_down: State = {
        "ets": {"willing": False, "own": OTHER, "recommended": OTHER},
        "pfc": {"willing": False},
    }
    edge_down["pfc"]["priorities"] = [5]
    unwilling["pfc"]["priorities"] = [3]
    core, up, down, host = (
        _core.DcbxAgent(bytes([2, 0, 0, 0, 0, number]), tomli_w.dumps(keys), "settings")
        for number, keys in enumerate([unwilling, {}, edge_down, {}], 1)
    )
    for second in range(10):
        now_ns = second * 10**9
        for one, other in ((core, up), (up, core), (down, host), (host, down)):
            while (frame := one.send(now_ns)) is not None:
                other.receive(frame, now_ns)
        if inherits:
            reported = inherited(edge_down, json.loads(up.state(now_ns)))
            down.administer(tomli_w.dumps(reported), "settings", now_ns)
    now = json.loads(host.state(now_ns))["operational"]
    return now["pfc"]["enabled"], now["ets"]["table"]["percent"][:2]


def test_a_chain_of_core_edge_and_host() -> None:
    """Case DX-34: without a rule hosts get what the edge switch is administered to have, else the core's."""
    assert chain(inherits=False) == ([5], [70, 30])
    assert chain(inherits=True) == ([3], [40, 60])


@virtual
def test_a_port_inherits_from_its_uplink(pair: tuple[str, str], tmp_path: Path) -> None:
    """The uplink has PFC for 3 and 4; its agent ends, and the port has its own again."""
    (tmp_path / "up.toml").write_text(SWITCH, "utf-8")
    (tmp_path / "down.toml").write_text("[pfc]\nwilling = false\npriorities = [5]\n", "utf-8")
    with running(pair[1], "--settings", tmp_path / "down.toml", "--uplink", pair[0]):
        wait_until(lambda: pfc_of(shown(pair[1])) == [5], "the port has its own without its uplink")
        with running(pair[0], "--settings", tmp_path / "up.toml"):
            wait_until(lambda: pfc_of(shown(pair[1])) == [3, 4], "PFC of the uplink is not inherited")
            assert shown(pair[1])["administered"]["recommendation"]["percent"][:2] == [40, 60]
        wait_until(lambda: pfc_of(shown(pair[1])) == [5], "the port does not go back to its own")


@pytest.mark.parametrize("output", [b"", b'{"schema": "pen'])
def test_an_agent_that_ends_while_it_is_asked_is_one_that_does_not_answer(output: bytes) -> None:
    """It was a traceback, and ended the agent that asked its uplink."""
    name = f"ends{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as door:
        door.bind(b"\0penstock-dcbx/" + name.encode())
        door.listen()

        def end() -> None:
            caller, _ = door.accept()
            with caller:
                caller.sendall(output)

        thread = threading.Thread(target=end)
        thread.start()
        with pytest.raises(InputError, match="does not answer"):
            request_state(name)
        thread.join()


@contextlib.contextmanager
def answering(name: str, say: Callable[[socket.socket], None]) -> Iterator[None]:
    """A process that holds an agent's socket and sends each client an invalid answer."""
    over = threading.Event()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as door:
        door.bind(b"\0penstock-dcbx/" + name.encode())
        door.listen()
        door.settimeout(0.1)

        def serve() -> None:
            while not over.is_set():
                with contextlib.suppress(OSError):
                    caller, _ = door.accept()
                    with caller:
                        say(caller)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()


def trickle(caller: socket.socket) -> None:
    """A byte now and then, and never an end."""
    for _ in range(600):
        caller.sendall(b" ")
        time.sleep(0.1)


def endless(caller: socket.socket) -> None:
    while True:
        caller.sendall(b"[" * 65_536)


STATE = {"schema": "penstock-dcbx/1", "interface": "x", "uplinks": []}
ANSWERS = {
    "nothing": b"",
    "half": b'{"schema": "penstock-dc',
    "no text": b"\xff\xfe\x00",
    "deep": b"[" * 100_000,
    "a list": b"[]",
    "a number": b"1e999",
    "another schema": b'{"schema": "x"}',
}


@pytest.mark.parametrize("output", ANSWERS.values(), ids=ANSWERS)
def test_what_is_no_answer_is_reported(output: bytes) -> None:
    name = f"odd{os.getpid()}"
    with (
        answering(name, lambda caller: caller.sendall(output)),
        pytest.raises(InputError, match="the agent there"),
    ):
        request_state(name)


@pytest.mark.parametrize("say", [trickle, endless])
def test_an_answer_without_end_is_given_up(say: Callable[[socket.socket], None]) -> None:
    """The time is that of the whole answer, not of each of its bytes."""
    name, began = f"slow{os.getpid()}", time.monotonic()
    with contextlib.ExitStack() as stack:
        stack.enter_context(answering(name, say))
        with pytest.raises(InputError, match="the agent there"):
            request_state(name, 0.5)
        assert time.monotonic() - began < 30  # of the 60 s that the first takes, and the other has no end


LEAVES: list[object] = [
    None,
    [],
    {},
    10**30,
    -1,
    "x",
    True,
    1e308,
    [[]],
    {"x": 1},
    [None] * 8,
    ["x"] * 8,
    [10**30] * 8,
]


@pytest.mark.parametrize(
    "place",
    [
        "operational",
        "operational.ets",
        "operational.ets.table",
        "operational.ets.table.percent",
        "operational.ets.table.algorithms",
        "operational.pfc.enabled",
        "operational.applications",
        "neighbours",
        "uplinks",
    ],
)
def test_no_state_does_harm(place: str, capsys: pytest.CaptureFixture[str]) -> None:
    """State with an invalid part: what is shown and inherited."""
    agent = start(bytes(6), Settings("", "settings"))
    states = []
    for wrong in LEAVES:
        state = {**STATE, **json.loads(agent.state(0)), "running_s": 1}
        *way, last = place.split(".")
        within = state
        for word in way:
            within = within[word]
        within[last] = wrong
        states.append(state)
        station = _Station(Interfaceless(), agent, Settings("", "settings", "up"), None, lambda *_: None)  # type: ignore[arg-type]
        station._take_over(state)
    name, output = f"wrong{os.getpid()}", iter(states)
    with answering(name, lambda caller: caller.sendall(json.dumps(next(output)).encode())):
        for _ in LEAVES:
            assert main(["dcbx", "show", "--interface", name]) in (0, 2)
            assert "Traceback" not in capsys.readouterr().err


class Interfaceless:
    name = "here"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
def test_another_user_is_not_believed() -> None:
    name = f"other{os.getpid()}"
    script = f"""
import os, socket, json
os.setgid(65534); os.setuid(65534)
door = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
door.bind(b"\\0penstock-dcbx/{name}")
door.listen()
print("there", flush=True)
while True:
    caller, _ = door.accept()
    caller.sendall(json.dumps({STATE!r}).encode())
    caller.close()
"""
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None and other.stdout.readline() == "there\n"
        try:
            with pytest.raises(InputError, match="is rejected: its user is 65534; expected 0"):
                request_state(name)
        finally:
            other.kill()


@virtual
def test_an_uplink_that_says_nonsense_or_nothing_is_none(pair: tuple[str, str], tmp_path: Path) -> None:
    """The port keeps its own settings, and answers within its time, whatever its uplink does."""
    (tmp_path / "own.toml").write_text("[pfc]\nwilling = false\npriorities = [5]\n", "utf-8")
    for number, say in enumerate((trickle, endless)):
        name = f"bad{os.getpid()}{number}"
        with contextlib.ExitStack() as stack:
            stack.enter_context(answering(name, say))
            stack.enter_context(running(pair[0], "--settings", tmp_path / "own.toml", "--uplink", name))
            wait_until(lambda: pfc_of(shown(pair[0])) == [5], "the port does not keep its own settings")
            took = []
            for _ in range(10):
                began = time.monotonic()
                request_state(pair[0], PATIENCE_S)
                took.append(time.monotonic() - began)
                time.sleep(0.1)
            assert min(took) < 0.5, "it waits for its uplink"


@virtual
def test_a_circle_of_uplinks_is_refused(pair: tuple[str, str]) -> None:
    with running(pair[0], "--uplink", pair[1]):
        wait_until(
            lambda: shown(pair[0]).get("uplinks") == [pair[1]], "the agent does not say whence it inherits"
        )
        done = subprocess.run(
            command_line("dcbx", "run", "--interface", pair[1], "--uplink", pair[0], "--seconds", "20"),
            capture_output=True,
            text=True,
            check=False,
            timeout=30,
        )
        assert done.returncode == 2
        assert f"({pair[1]} -> {pair[0]} -> {pair[1]}); expected no cycle" in done.stderr


@pytest.fixture(scope="module")
def lldpad() -> Iterator[Lldpad]:
    with contextlib.closing(Lldpad()) as device:
        yield device


ISCSI = {"selector": "stream_port", "protocol": 860, "priority": 5}


def settings_of_lldpad(*, willing: bool) -> State:
    """PFC for priority 5 and shares of 70 and 30 %."""
    return {
        "ets": {"willing": willing, "own": OTHER, "recommended": OTHER},
        "pfc": {"willing": willing, "priorities": [5]},
        "applications": [ISCSI],
    }


MATRIX = [
    *((ours, theirs, True) for ours in (False, True) for theirs in (False, True)),
    (True, True, False),
]
"""Combinations of our willingness, lldpad's willingness, and the order of addresses."""


@real_agent
@pytest.mark.parametrize(("ours", "theirs", "lower"), MATRIX)
def test_lldpad_and_our_agent_agree(
    ours: bool, theirs: bool, lower: bool, lldpad: Lldpad, tmp_path: Path
) -> None:
    """The willing matrix, and both orders of addresses: two programs decide alike who adopts."""
    address = "02:00:00:00:00:0a" if lower else "02:00:00:00:00:0c"
    subprocess.run(["ip", "link", "set", lldpad.own, "address", address], check=True)
    lldpad.start(settings_of_lldpad(willing=theirs))
    file = tmp_path / "port.toml"
    file.write_text(SWITCH.replace("willing = false", f"willing = {str(ours).lower()}"), "utf-8")
    our_pfc, their_pfc = (3, 4), (5,)
    both = our_pfc if not lower else their_pfc
    expected = {
        (False, False): (our_pfc, their_pfc),
        (False, True): (our_pfc, our_pfc),
        (True, False): (their_pfc, their_pfc),
        (True, True): (both, both),
    }[ours, theirs]
    with running(lldpad.own, "--settings", file):
        wait_until(lambda: len(shown(lldpad.own).get("neighbours", [])) == 1, "lldpad is not heard")

        def both_are() -> bool:
            return (tuple(pfc_of(shown(lldpad.own))), lldpad.operational().pfc) == expected

        wait_until(both_are, f"PFC is not {expected}")
        state, now = shown(lldpad.own), lldpad.operational()
        assert state["operational"]["ets"]["table"]["percent"][:2] == ([70, 30] if ours else [40, 60])
        assert now.shares[:2] == ((40, 60) if theirs else (70, 30))
        assert (2, 3260, 4) in now.applications
        assert ISCSI in state["operational"]["applications"]
        mismatch = [line for line in state["operational"]["conditions"] if "mismatch" in line]
        assert bool(mismatch) == (expected[0] != expected[1])
    # Our last frame takes everything back.
    wait_until(lambda: lldpad.operational().pfc == their_pfc, "lldpad has not heard the shutdown")


@real_agent
def test_lldpad_leaves_and_is_forgotten(lldpad: Lldpad) -> None:
    lldpad.start(settings_of_lldpad(willing=False))
    with running(lldpad.own):
        wait_until(lambda: pfc_of(shown(lldpad.own)) == [5], "PFC of lldpad is not adopted")
        lldpad.leave()
        wait_until(lambda: pfc_of(shown(lldpad.own)) == [], "the shutdown is not heard")


WRONG = [
    ("[ets]\nwiling = true\n", "did you mean willing?"),
    ("[ets]\ntraffic_classes = 9\n", "expected 1 to 8"),
    ("[ets]\ntraffic_classes = 2\n", "those below traffic_classes"),
    ('[ets]\nown = { percent = [50, 40], algorithms = ["ets", "ets"] }\n', "expected 100"),
    ("[ets]\nown = { percent = [50, 50] }\n", 'is not "ets"'),
    ("[ets]\nown = { percent = [1, 2, 3, 4, 5, 6, 7, 8, 9] }\n", "at most 8"),
    ("[ets]\nown = { classes = [0, 1, 2] }\n", "length 8"),
    ("[ets]\nown = { classes = [0, 1, 2, 3, 4, 5, 6, 8] }\n", "expected 0 to 7"),
    ("[pfc]\npriorities = [8]\n", "expected 0 to 7"),
    ("[pfc]\npriorities = [3, 3]\n", "occurs twice"),
    ("[pfc]\npriorities = [3, 4]\ncapability = 1\n", "at most as many"),
    ("[pfc]\ncapability = 9\n", "expected 0 to 8"),
    ('[pfc]\nwilling = "yes"\n', "expected true or false"),
    ('tie_break = "lower"\n', '"lower_adopts"'),
    ('[[applications]]\nselector = "dscp"\nprotocol = 64\npriority = 1\n', "0 to 63"),
    ('[[applications]]\nselector = "ether_type"\nprotocol = 5\npriority = 1\n', "EtherType from 0x600"),
    ('[[applications]]\nselector = "port"\nprotocol = 65536\npriority = 1\n', "65536"),
    ('[[applications]]\nselector = "port"\nprotocol = 1\n', "priority"),
    ("x = \n", "not TOML"),
    (
        "".join(
            f'[[applications]]\nselector = "port"\nprotocol = {port}\npriority = 1\n'
            for port in range(1, 170)
        ),
        "at most 504",
    ),
]


@virtual
@pytest.mark.parametrize(("text", "message"), WRONG, ids=[message for _, message in WRONG])
def test_settings_that_are_wrong(
    text: str, message: str, pair: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "wrong.toml"
    file.write_text(text, "utf-8")
    code = main(["dcbx", "run", "--interface", pair[0], "--settings", str(file), "--seconds", "0"])
    reported = capsys.readouterr().err
    assert code == 2
    assert message in reported
    assert "wrong.toml" in reported


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run", "--interface", "nowhere0"], "no such interface"),
        (["run", "--interface", "lo"], "Ethernet"),
        (["run", "--interface", ""], "no such interface"),
        (["run", "--interface", "a\0b"], "no such interface"),
        (["run", "--interface", "lo", "--seconds", "-1"], "expected 0 to"),
        (["run", "--interface", "lo", "--seconds", "nan"], "expected 0 to"),
        (["run", "--interface", "lo", "--settings", "no.toml"], "no.toml"),
        (["run", "--interface", "lo", "--settings", "a", "--like", "b"], "expected only one of them"),
        (["run", "--interface", "lo", "--like", "no-such"], "no-such"),
        (["run", "--interface", "lo", "--uplink", "lo"], "an interface other than"),
        (["run"], "--interface"),
        (["show", "--interface", "nowhere0"], "no agent runs there"),
        (["shw"], "run, show"),
    ],
)
def test_what_cannot_be(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    if words[:3] == ["run", "--interface", "lo"] and len(words) == 3 and os.geteuid() != 0:
        message = "CAP_NET_RAW"
    assert main(["dcbx", *words]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give privilege away")
def test_without_privilege(penstock: Command) -> None:
    line = ["setpriv", "--reuid=65534", "--clear-groups", *command_line("dcbx", "run", "--interface", "lo")]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    if "Permission denied" in done.stderr or shutil.which("setpriv") is None:
        pytest.skip("another user cannot run this Python")
    assert done.returncode == 2
    assert "CAP_NET_RAW" in done.stderr
