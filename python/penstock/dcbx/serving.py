"""The agent at an interface: receives and sends frames, and answers queries for its state.

The control socket is an abstract UNIX socket named after the interface. It belongs to the network namespace
of the agent and disappears with it. Each client receives the state as one JSON object.
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

from .inherit import inherited
from .interface import Interface, LinkDownError
from .query import SCHEMA, Question, State, address, request_state, uplinks_of

SECOND_NS = 1_000_000_000
LOOK_S = 5.0
"""Seconds between checks that the interface still exists."""
INHERIT_S = 1.0
"""Seconds between queries of the uplink's agent, and timeout of each query."""
MOST_UPLINKS = 64
"""Maximum number of recorded names in a chain of agents that inherit from each other."""


@dataclass(frozen=True)
class Settings:
    """The administrator's settings as TOML, and their origin.

    Attributes
    ----------
    text, file : str
        The settings, and their name for messages.
    uplink : str or None
        Interface of the agent whose operational parameters this port inherits; ``None`` to use the settings.
    """

    text: str
    file: str
    uplink: str | None = None


def serve(
    name: str, settings: Settings, *, seconds: float | None, show: Callable[[float, State], None]
) -> None:
    """Runs an agent until the process is interrupted. The last frame is a shutdown LLDPDU.

    Parameters
    ----------
    name : str
        The interface.
    settings : Settings
        The administrator's settings.
    seconds : float or None
        Duration in seconds; ``None`` to run until interrupted.
    show : callable
        Called with the seconds since the start and the state, at the start and after each change.

    Raises
    ------
    InputError
        If the interface cannot be used, or an agent already runs there.
    ScenarioError
        If the settings are invalid.
    """
    with contextlib.closing(Interface(name)) as interface:
        agent = start(interface.mac, settings)
        with contextlib.closing(_door(name)) as door:
            station = _Station(interface, agent, settings, door, show)
            try:
                station.run(seconds)
            finally:
                station.end()


def start(mac: bytes, settings: Settings) -> _core.DcbxAgent:
    """Returns an agent for a port with this MAC address.

    Raises
    ------
    ScenarioError
        If the settings are invalid.
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
    """An agent, its interface and its control socket."""

    def __init__(
        self,
        interface: Interface,
        agent: _core.DcbxAgent,
        settings: Settings,
        door: socket.socket,
        show: Callable[[float, State], None],
    ) -> None:
        self._interface = interface
        self._agent = agent
        self._settings = settings
        self._door = door
        self._show = show
        self._start_ns = time.monotonic_ns()
        self._shown: object = None
        self._wanted: object = None
        self._uplinks: list[str] = []
        self._question: Question | None = None
        self._query_at = 0.0

    def run(self, seconds: float | None) -> None:
        """The event loop: sends due frames and passes received ones to the agent."""
        until_ns = None if seconds is None else round(seconds * SECOND_NS)
        with selectors.DefaultSelector() as selector:
            selector.register(self._interface, selectors.EVENT_READ, self._receive)
            selector.register(self._door, selectors.EVENT_READ, self._answer)
            self.begin()
            while until_ns is None or self._now_ns() < until_ns:
                while (frame := self._agent.send(self._now_ns())) is not None:
                    self._interface.send(frame)
                self._interface.check()
                self._query(selector)
                self._show_changes()
                next_ns = self._agent.next_ns()
                next_ns = next_ns if until_ns is None else min(next_ns, until_ns)
                pause_s = (next_ns - self._now_ns()) / SECOND_NS
                look_s = LOOK_S if self._settings.uplink is None else INHERIT_S / 2
                for key, _ in selector.select(min(max(pause_s, 0.0), look_s)):
                    key.data()

    def end(self) -> None:
        """Sends the shutdown LLDPDU."""
        if self._question is not None:
            self._question.close()
        last = self._agent.last()
        with contextlib.suppress(InputError):  # the interface may be gone
            if last is not None:
                self._interface.send(last)

    def _now_ns(self) -> int:
        return time.monotonic_ns() - self._start_ns

    def _state(self) -> State:
        state: State = json.loads(self._agent.state(self._now_ns()))
        running_s = self._now_ns() // SECOND_NS
        known = {"interface": self._interface.name, "running_s": running_s, "uplinks": self._uplinks}
        return {"schema": SCHEMA, **known, **state}

    def _receive(self) -> None:
        try:
            while (frame := self._interface.receive()) is not None:
                self._agent.receive(frame, self._now_ns())
        except LinkDownError:
            # When the link returns, the peer may be another one.
            self._start_ns = time.monotonic_ns()
            self._agent = start(self._interface.mac, self._settings)

    def begin(self) -> None:
        """Inherits the operational parameters of the uplink before the first frame.

        Raises
        ------
        InputError
            If the uplink inherits from this port, directly or indirectly.
        """
        if self._settings.uplink is None:
            return
        self._uplinks = [self._settings.uplink]
        try:
            state = request_state(self._settings.uplink, INHERIT_S)
        except InputError:
            return
        self._take_over(state)
        # Agents between this one and itself in a cycle may not have queried each other yet.
        while self._uplinks[-1] != self._interface.name and len(self._uplinks) < MOST_UPLINKS:
            try:
                further = uplinks_of(request_state(self._uplinks[-1], INHERIT_S))
            except InputError:
                break
            if not further or further[0] in self._uplinks:
                break
            self._uplinks.append(further[0])
        self._refuse_circles(self._uplinks)

    def _query(self, selector: selectors.BaseSelector) -> None:
        """Queries the uplink's agent periodically, without blocking. Until it answers, the settings apply."""
        if (
            self._question is None
            and time.monotonic() >= self._query_at
            and self._settings.uplink is not None
        ):
            self._query_at = time.monotonic() + INHERIT_S
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
        """Adopts the operational parameters of the uplink; ignores an answer without them."""
        uplinks = [*self._uplinks[:1], *uplinks_of(state)][:MOST_UPLINKS]
        self._refuse_circles(uplinks)
        text = self._settings.text
        # The agent reports invalid TOML; any other error is in the answer.
        with contextlib.suppress(
            TomlError, LookupError, TypeError, ValueError, AttributeError, RecursionError
        ):
            text = tomli_w.dumps(inherited(library.toml(text), state))
        self._want(text, uplinks)

    def _refuse_circles(self, uplinks: list[str]) -> None:
        if self._interface.name in uplinks:
            way = " -> ".join([self._interface.name, *uplinks[: uplinks.index(self._interface.name) + 1]])
            raise InputError(
                f"--uplink {uplinks[0]}: its agent inherits from this port ({way}); expected no cycle"
            )

    def _want(self, text: str, uplinks: list[str]) -> None:
        self._uplinks = uplinks
        if text != self._wanted:
            self._wanted = text
            # Settings that exceed the capabilities of this port are not inherited.
            with contextlib.suppress(_core.ScenarioError, ValueError, OverflowError):
                self._agent.administer(text, f"settings of {self._settings.uplink}", self._now_ns())

    def _answer(self) -> None:
        with contextlib.suppress(OSError):
            caller, _ = self._door.accept()
            with caller:
                caller.setblocking(False)
                caller.sendall(json.dumps(self._state()).encode())

    def _show_changes(self) -> None:
        state = self._state()
        stations = [(one["chassis"], one["port"]) for one in state["neighbours"]]
        known = (state["operational"], stations)
        if known != self._shown:
            self._shown = known
            self._show(self._now_ns() / SECOND_NS, state)
