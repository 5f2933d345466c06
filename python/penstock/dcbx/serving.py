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
from collections.abc import Callable
from dataclasses import dataclass

import tomli_w

from penstock import _core, library
from penstock.errors import InputError, ScenarioError, TomlError

from .asking import SCHEMA, Question, State, address, ask, uplinks_of
from .inherit import inherited
from .interface import Interface, LinkDownError

SECOND_NS = 1_000_000_000
LOOK_S = 5.0
"""How often an agent looks whether its interface is still there."""
INHERIT_S = 1.0
"""How often it asks the agent at its uplink, and how long that may take to answer."""
MOST_UPLINKS = 64
"""Agents that inherit from each other in a row, of which it keeps the names."""


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


def _door(name: str) -> socket.socket:
    door = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        door.bind(address(name))
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
        self._wanted: object = None
        self._uplinks: list[str] = []
        self._question: Question | None = None
        self._ask_at = 0.0

    def run(self, seconds: float | None) -> None:
        """The loop: what is due is sent, what is heard goes to the agent."""
        until_ns = None if seconds is None else round(seconds * SECOND_NS)
        with selectors.DefaultSelector() as selector:
            selector.register(self._interface, selectors.EVENT_READ, self._hear)
            selector.register(self._door, selectors.EVENT_READ, self._answer)
            self.begin()
            while until_ns is None or self._now_ns() < until_ns:
                while (frame := self._agent.send(self._now_ns())) is not None:
                    self._interface.send(frame)
                self._interface.check()
                self._ask(selector)
                self._tell_changes()
                next_ns = self._agent.next_ns()
                next_ns = next_ns if until_ns is None else min(next_ns, until_ns)
                pause_s = (next_ns - self._now_ns()) / SECOND_NS
                look_s = LOOK_S if self._settings.uplink is None else INHERIT_S / 2
                for key, _ in selector.select(min(max(pause_s, 0.0), look_s)):
                    key.data()

    def end(self) -> None:
        """Sends the last frame."""
        if self._question is not None:
            self._question.close()
        last = self._agent.last()
        with contextlib.suppress(InputError):  # an interface that is gone needs none
            if last is not None:
                self._interface.send(last)

    def _now_ns(self) -> int:
        return time.monotonic_ns() - self._start_ns

    def _state(self) -> State:
        state: State = json.loads(self._agent.state(self._now_ns()))
        running_s = self._now_ns() // SECOND_NS
        known = {"interface": self._interface.name, "running_s": running_s, "uplinks": self._uplinks}
        return {"schema": SCHEMA, **known, **state}

    def _hear(self) -> None:
        try:
            while (frame := self._interface.receive()) is not None:
                self._agent.receive(frame, self._now_ns())
        except LinkDownError:
            # Who was there may be another one when the link comes back.
            self._start_ns = time.monotonic_ns()
            self._agent = start(self._interface.mac, self._settings)

    def begin(self) -> None:
        """What is in force at the uplink is wanted from the first frame on.

        Raises
        ------
        InputError
            If the uplink inherits from this port, by whatever way.
        """
        if self._settings.uplink is None:
            return
        self._uplinks = [self._settings.uplink]
        try:
            state = ask(self._settings.uplink, INHERIT_S)
        except InputError:
            return
        self._take_over(state)
        # Agents between this one and itself may not have asked each other yet.
        while self._uplinks[-1] != self._interface.name and len(self._uplinks) < MOST_UPLINKS:
            try:
                further = uplinks_of(ask(self._uplinks[-1], INHERIT_S))
            except InputError:
                break
            if not further or further[0] in self._uplinks:
                break
            self._uplinks.append(further[0])
        self._refuse_circles(self._uplinks)

    def _ask(self, selector: selectors.BaseSelector) -> None:
        """Asks the agent at the uplink now and then, without waiting for it; without it the settings hold."""
        if self._question is None and time.monotonic() >= self._ask_at and self._settings.uplink is not None:
            self._ask_at = time.monotonic() + INHERIT_S
            try:
                self._question = Question(self._settings.uplink, INHERIT_S)
            except InputError:
                self._want(self._settings.text, [self._settings.uplink])
                return
            selector.register(self._question, selectors.EVENT_READ, lambda: None)
        if self._question is None:
            return
        try:
            state = self._question.answer()
        except InputError:
            self._want(self._settings.text, self._uplinks[:1])
        else:
            if state is None:
                return
            self._take_over(state)
        selector.unregister(self._question)
        self._question.close()
        self._question = None

    def _take_over(self, state: State) -> None:
        """Wants what is in force at the uplink; an answer that does not say that is none."""
        uplinks = [*self._uplinks[:1], *uplinks_of(state)][:MOST_UPLINKS]
        self._refuse_circles(uplinks)
        text = self._settings.text
        # TOML that is none is told by the agent; what else is wrong is wrong with the answer.
        with contextlib.suppress(
            TomlError, LookupError, TypeError, ValueError, AttributeError, RecursionError
        ):
            text = tomli_w.dumps(inherited(library.toml(text), state))
        self._want(text, uplinks)

    def _refuse_circles(self, uplinks: list[str]) -> None:
        if self._interface.name in uplinks:
            way = " -> ".join([self._interface.name, *uplinks[: uplinks.index(self._interface.name) + 1]])
            raise InputError(
                f"--uplink {uplinks[0]}: its agent inherits from this port ({way}); expected no circle"
            )

    def _want(self, text: str, uplinks: list[str]) -> None:
        self._uplinks = uplinks
        if text != self._wanted:
            self._wanted = text
            # What this port cannot do is not inherited.
            with contextlib.suppress(_core.ScenarioError, ValueError, OverflowError):
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
