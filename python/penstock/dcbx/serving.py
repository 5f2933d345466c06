"""The agent at an interface: frames in, frames out, and an answer for whoever asks for its state.

The door is an abstract UNIX socket, named by the interface: it is in the network namespace of the agent, and
goes with it. Whoever connects gets the state as one JSON object.
"""

from __future__ import annotations

import contextlib
import errno
import json
import selectors
import socket
import time
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import tomli_w

from penstock import _core
from penstock.errors import InputError, ScenarioError

from .inherit import inherited
from .interface import Interface, LinkDownError

SCHEMA = "penstock-dcbx/1"
SECOND_NS = 1_000_000_000
ANSWER_S = 5.0
"""How long an agent may take to answer."""
LOOK_S = 5.0
"""How often an agent looks whether its interface is still there."""
INHERIT_S = 1.0
"""How often it asks the agent at its uplink."""

State = dict[str, Any]


@dataclass(frozen=True)
class Settings:
    """What the administrator wants, as TOML, and where it stands.

    Attributes
    ----------
    text, file : str
        The settings, and what messages call them.
    uplink : str or None
        The interface whose agent tells what is to be wanted here; ``None``: the settings do.
    """

    text: str
    file: str
    uplink: str | None = None


def serve(
    name: str, settings: Settings, *, seconds: float | None, tell: Callable[[float, State], None]
) -> None:
    """Runs an agent until the process is interrupted; the last frame tells the peer to forget the port.

    Parameters
    ----------
    name : str
        The interface.
    settings : Settings
        What the administrator wants.
    seconds : float or None
        Ends after so many seconds; ``None``: never.
    tell : callable
        Called with the seconds since the start and the state, at the start and whenever it has changed.

    Raises
    ------
    InputError
        If the interface cannot be used, or if an agent runs there already.
    ScenarioError
        If the settings are wrong.
    """
    with contextlib.closing(Interface(name)) as interface:
        agent = start(interface.mac, settings)
        with contextlib.closing(_door(name)) as door:
            station = _Station(interface, agent, settings, door, tell)
            try:
                station.run(seconds)
            finally:
                station.end()


def start(mac: bytes, settings: Settings) -> _core.DcbxAgent:
    """An agent of the port with this address.

    Raises
    ------
    ScenarioError
        If the settings are wrong.
    """
    try:
        return _core.DcbxAgent(mac, settings.text, settings.file)
    except _core.ScenarioError as error:
        raise ScenarioError(str(error)) from None
    except ValueError as error:
        raise InputError(str(error)) from None


def ask(name: str, patience_s: float = ANSWER_S) -> State:
    """The state of the agent that runs at an interface.

    Parameters
    ----------
    name : str
        The interface.
    patience_s : float, optional
        How long it may take to answer. Default: 5.

    Raises
    ------
    InputError
        If none runs there, or it does not answer.
    """
    if not hasattr(socket, "AF_PACKET"):
        raise InputError(f"--interface {name}: agents run on Linux")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as caller:
        caller.settimeout(patience_s)
        try:
            caller.connect(_address(name))
        except (OSError, ValueError) as error:
            start = f"start one with: penstock dcbx run --interface {name}"
            raise InputError(f"--interface {name}: no agent runs there; {start}") from error
        try:
            state: State = json.loads(b"".join(iter(lambda: caller.recv(1 << 16), b"")))
        except (OSError, ValueError) as error:
            # It ended when it was asked, or is busy with something else.
            raise InputError(f"--interface {name}: the agent there does not answer") from error
        return state


def _address(name: str) -> bytes:
    return b"\0penstock-dcbx/" + name.encode("utf-8", "surrogateescape")


def _door(name: str) -> socket.socket:
    door = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        door.bind(_address(name))
        door.listen()
        door.setblocking(False)
    except OSError as error:
        door.close()
        if error.errno == errno.EADDRINUSE:
            raise InputError(f"--interface {name}: an agent runs there already") from error
        raise
    return door


class _Station:
    """An agent, its interface and its door."""

    def __init__(
        self,
        interface: Interface,
        agent: _core.DcbxAgent,
        settings: Settings,
        door: socket.socket,
        tell: Callable[[float, State], None],
    ) -> None:
        self._interface = interface
        self._agent = agent
        self._settings = settings
        self._door = door
        self._tell = tell
        self._start_ns = time.monotonic_ns()
        self._told: object = None
        self._uplink: object = None

    def run(self, seconds: float | None) -> None:
        """The loop: what is due is sent, what is heard goes to the agent."""
        until_ns = None if seconds is None else round(seconds * SECOND_NS)
        with selectors.DefaultSelector() as selector:
            selector.register(self._interface, selectors.EVENT_READ, self._hear)
            selector.register(self._door, selectors.EVENT_READ, self._answer)
            while until_ns is None or self._now_ns() < until_ns:
                while (frame := self._agent.send(self._now_ns())) is not None:
                    self._interface.send(frame)
                self._interface.check()
                self._inherit()
                self._tell_changes()
                next_ns = self._agent.next_ns()
                next_ns = next_ns if until_ns is None else min(next_ns, until_ns)
                pause_s = (next_ns - self._now_ns()) / SECOND_NS
                look_s = LOOK_S if self._settings.uplink is None else INHERIT_S
                for key, _ in selector.select(min(max(pause_s, 0.0), look_s)):
                    key.data()

    def end(self) -> None:
        """Sends the last frame."""
        last = self._agent.last()
        with contextlib.suppress(InputError):  # an interface that is gone needs none
            if last is not None:
                self._interface.send(last)

    def _now_ns(self) -> int:
        return time.monotonic_ns() - self._start_ns

    def _state(self) -> State:
        state: State = json.loads(self._agent.state(self._now_ns()))
        running_s = self._now_ns() // SECOND_NS
        return {"schema": SCHEMA, "interface": self._interface.name, "running_s": running_s, **state}

    def _hear(self) -> None:
        try:
            while (frame := self._interface.receive()) is not None:
                self._agent.receive(frame, self._now_ns())
        except LinkDownError:
            # Who was there may be another one when the link comes back.
            self._start_ns = time.monotonic_ns()
            self._agent = start(self._interface.mac, self._settings)

    def _inherit(self) -> None:
        """Takes over what is in force at the uplink; without its agent the settings hold."""
        if self._settings.uplink is None:
            return
        text = self._settings.text
        with contextlib.suppress(InputError, OSError):
            told = inherited(tomllib.loads(text), ask(self._settings.uplink, INHERIT_S))
            text = tomli_w.dumps(told)
        if text != self._uplink:
            self._uplink = text
            # What this port cannot do is not inherited.
            with contextlib.suppress(_core.ScenarioError, ValueError):
                self._agent.administer(text, f"settings of {self._settings.uplink}", self._now_ns())

    def _answer(self) -> None:
        with contextlib.suppress(OSError):
            caller, _ = self._door.accept()
            with caller:
                caller.setblocking(False)
                caller.sendall(json.dumps(self._state()).encode())

    def _tell_changes(self) -> None:
        state = self._state()
        stations = [(one["chassis"], one["port"]) for one in state["neighbours"]]
        known = (state["operational"], stations)
        if known != self._told:
            self._told = known
            self._tell(self._now_ns() / SECOND_NS, state)
