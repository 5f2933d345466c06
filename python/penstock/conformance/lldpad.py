"""The open-source agent lldpad as a device, at one end of a veth pair.

The agent runs in its own network namespace; the tester uses the other end. Virtual interfaces have no DCB
support in the kernel, and without it lldpad does not run DCBX. A small preloaded library, compiled here,
handles these calls instead and logs the settings. That log is the operational state.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from penstock.dcbx.interface import Interface
from penstock.errors import InputError

from .device import MAC, SELECTORS, Operational

PROGRAMS = ("ip", "lldpad", "lldptool", "cc", "mount")
SETTLING_S = 1.4
"""Seconds that lldpad needs to process a frame."""
START_S = 8.0
STOP_S = 10.0
TLVS = {"pfc": "0080c20b", "ets": "0080c209", "recommended": "0080c20a"}


def missing() -> str:
    """Reason why lldpad cannot run here; empty if it can."""
    lacking = [program for program in PROGRAMS if shutil.which(program) is None]
    if lacking:
        return f"{', '.join(lacking)} not installed (apt-get install lldpad iproute2 gcc)"
    if os.geteuid() != 0:
        return "namespaces and raw sockets need root"
    name = f"penstock-{os.getpid()}-try"
    if _run("ip", "netns", "add", name).returncode != 0:
        return "network namespaces are not permitted here"
    _run("ip", "netns", "del", name)
    return ""


class Lldpad:
    """The open-source agent lldpad as a device.

    Raises
    ------
    InputError
        If it cannot run here; the message says why.
    """

    name = "lldpad"

    def __init__(self) -> None:
        if why := missing():
            raise InputError(f"lldpad: {why}")
        self._namespace = f"penstock-{os.getpid()}"
        self.own, self._theirs = f"pst{os.getpid()}", "dcb0"
        self._folder = Path(tempfile.mkdtemp(prefix="penstock-lldpad"))
        self._shim, self._log = self._folder / "dcbshim.so", self._folder / "set.log"
        self._agent: subprocess.Popen[bytes] | None = None
        self._interface: Interface | None = None
        self._sent: list[bytes] = []
        try:
            self._build()
        except BaseException:
            self.close()
            raise

    def start(self, settings: Mapping[str, Any]) -> None:
        """Restarts the agent."""
        self.stop()
        configuration = self._folder / "lldpad.conf"
        configuration.write_text(_configuration(self._theirs, settings), "utf-8")
        self._log.write_text("", "utf-8")
        # The agent keeps its state in a file with a fixed name; a private directory is mounted over it.
        line = (
            f"mount -t tmpfs tmpfs /dev/shm && exec env DCBSHIM_LOG={self._log} LD_PRELOAD={self._shim} "
            f"lldpad -p -f {configuration}"
        )
        self._agent = subprocess.Popen(  # noqa: S603 - our own words
            self._within("sh", "-c", line), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self._until(lambda: "adminStatus=rxtx" in self._tool("-l", "adminStatus"), "lldpad does not start")
        for one in settings.get("applications", []):
            number = SELECTORS[one["selector"]]
            self._tool("-T", "-V", "APP", f"app={one['priority']},{number},{one['protocol']}")
        self._receive()
        self._sent.clear()
        time.sleep(0.4)

    def administer(self, settings: Mapping[str, Any]) -> None:
        """Changes only PFC: transmission of its TLV, willingness and priorities."""
        pfc = settings["pfc"]
        self._tool("-T", "-V", "PFC", f"willing={_yes(pfc.get('willing', True))}")
        self._tool("-T", "-V", "PFC", f"enabled={','.join(map(str, pfc['priorities'])) or 'none'}")
        self._tool("-T", "-V", "PFC", f"enableTx={_yes(pfc.get('exchanged', True))}")

    def send(self, frame: bytes) -> None:
        """Delivers a frame, and waits until lldpad has read it."""
        self._tester().send(frame)
        time.sleep(0.4)

    def wait(self, seconds: float) -> None:
        """Lets time pass."""
        time.sleep(seconds)

    def operational(self) -> Operational:
        """The settings that lldpad has applied, once they are stable."""
        time.sleep(SETTLING_S)
        return read_log(self._log.read_text("utf-8"))

    def sent(self) -> list[bytes]:
        """Frames that lldpad has sent."""
        self._receive()
        return list(self._sent)

    def lacks(self, case: str) -> str:
        """Rejects cases of pauses, shares and congestion, which need a device that forwards frames."""
        if case in ("DX-31", "DX-32", "DX-33"):
            return "Debian's lldpad receives the pre-standard version, but does not send it"
        if case == "DX-34":
            return "lldpad does not inherit settings between ports"
        return "" if case.startswith("DX-") else "lldpad forwards no frames"

    def leave(self) -> None:
        """Disables LLDP at the port, which sends a shutdown LLDPDU."""
        self._tool("-L", "adminStatus=disabled")

    def close(self) -> None:
        """Ends the agent and removes the namespace and interfaces."""
        self.stop()
        if self._interface is not None:
            self._interface.close()
            self._interface = None
        _run("ip", "link", "del", self.own)
        _run("ip", "netns", "del", self._namespace)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _build(self) -> None:
        with as_file(files("penstock").joinpath("conformance/dcbshim.c")) as source:
            built = _run("cc", "-shared", "-fPIC", "-O2", "-o", str(self._shim), str(source), "-ldl")
        if built.returncode != 0:
            raise InputError(f"lldpad: the preloaded library cannot be compiled: {built.stderr.strip()}")
        pair = ("type", "veth", "peer", "name", self._theirs, "netns", self._namespace)
        for words in (
            ("netns", "add", self._namespace),
            ("link", "add", self.own, *pair),
            ("link", "set", self.own, "address", "02:00:00:00:00:0a", "up"),
            ("-n", self._namespace, "link", "set", self._theirs, "address", MAC, "up"),
        ):
            done = _run("ip", *words)
            if done.returncode != 0:
                raise InputError(f"lldpad: ip {' '.join(words)}: {done.stderr.strip()}")
        self._interface = Interface(self.own)

    def stop(self) -> None:
        """Stops the agent, which may exit without a shutdown LLDPDU."""
        if self._agent is None:
            return
        self._agent.send_signal(signal.SIGTERM)
        try:
            self._agent.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._agent.kill()
            self._agent.wait()
        self._agent = None

    def _receive(self) -> None:
        while (frame := self._tester().receive()) is not None:
            self._sent.append(frame)

    def _tester(self) -> Interface:
        if self._interface is None:
            raise InputError("lldpad: the tester's interface is closed")
        return self._interface

    def _within(self, *words: str) -> list[str]:
        return ["ip", "netns", "exec", self._namespace, *words]

    def _tool(self, action: str, *words: str) -> str:
        done = _run(*self._within("lldptool", action, "-i", self._theirs, *words))
        return done.stdout + done.stderr

    def _until(self, holds: Callable[[], bool], message: str) -> None:
        end = time.monotonic() + START_S
        while not holds():
            if time.monotonic() > end:
                raise InputError(f"lldpad: {message}")
            time.sleep(0.2)


def read_log(text: str) -> Operational:
    """Derives the operational state from a log of settings."""
    pfc, shares, classes = 0, (0,) * 8, (0,) * 8
    entries: set[tuple[int, int, int]] = set()
    for line in text.splitlines():
        with contextlib.suppress(ValueError):  # the last line may be incomplete
            one = json.loads(line)
            pfc = one.get("pfc_en", pfc)
            shares = tuple(one.get("tc_tx_bw", shares))
            classes = tuple(one.get("prio_tc", classes))
            entries |= {tuple(entry) for entry in one.get("app_set", [])}
            entries -= {tuple(entry) for entry in one.get("app_del", [])}
    enabled = tuple(priority for priority in range(8) if pfc >> priority & 1)
    return Operational(enabled, shares, classes, frozenset(entries))


def _configuration(interface: str, settings: Mapping[str, Any]) -> str:
    """The settings in lldpad's configuration format."""
    ets, pfc = settings["ets"], settings["pfc"]
    bits = sum(1 << priority for priority in pfc["priorities"])
    lines = [
        f"tlvid{TLVS['ets']} : {{ enableTx = true; willing = {int(ets['willing'])}; {_table(ets['own'])} }};",
        f"tlvid{TLVS['pfc']} : {{ enableTx = {str(pfc.get('exchanged', True)).lower()}; "
        f"willing = {int(pfc['willing'])}; enabled = {bits}; }};",
        "tlvid0080c20c : { enableTx = true; };",
    ]
    if "recommended" in ets:
        lines.append(f"tlvid{TLVS['recommended']} : {{ enableTx = true; {_table(ets['recommended'])} }};")
    inside = "\n".join(lines)
    return (
        'dcbx : { version = "1.0"; dcbx_version = 2; };\n'
        f"lldp : {{ {interface} : {{ adminStatus = 3;\n{inside}\n}}; }};\n"
    )


def _table(table: Mapping[str, Any]) -> str:
    percent = [*table["percent"], *[0] * 8][:8]
    classes = ",".join(f"{priority}:{number}" for priority, number in enumerate(table["classes"]))
    algorithms = ",".join(f"{number}:{name}" for number, name in enumerate(table["algorithms"]))
    return f'tcbw = "{",".join(map(str, percent))}"; tsa = "{algorithms}"; up2tc = "{classes}";'


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, capture_output=True, text=True, check=False)  # noqa: S603 - our own words
