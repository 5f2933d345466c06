"""Queries the state of the agent at another interface; answers are validated.

Any process may bind an abstract socket name. Only answers from root and from the user of this process are
accepted, and the answer is limited in time and size.
"""

from __future__ import annotations

import json
import os
import select
import socket
import struct
import time
from typing import Any

from penstock.errors import InputError

SCHEMA = "penstock-dcbx/1"
ANSWER_S = 5.0
"""Seconds that an agent may take to answer."""
MOST_BYTES = 1 << 20
"""Maximum size of an answer in bytes, far above the answer of an agent with the maximum number of LLDP
neighbors."""
_ROOT = 0
_CREDENTIALS = struct.Struct("3i")
_PIECE = 1 << 16

State = dict[str, Any]


class AnswerError(InputError):
    """Raised if an agent does not answer, or its answer cannot be trusted."""


def address(name: str) -> bytes:
    """Address of the control socket of an interface's agent."""
    return b"\0penstock-dcbx/" + name.encode("utf-8", "surrogateescape")


class Question:
    """A query in progress; its methods do not block.

    Parameters
    ----------
    name : str
        The interface of the agent to query.
    patience_s : float
        Seconds for the whole answer.

    Raises
    ------
    AnswerError
        If the agent belongs to another user.
    InputError
        If no agent runs there.
    """

    def __init__(self, name: str, patience_s: float) -> None:
        self.name = name
        self._until = time.monotonic() + patience_s
        self._received = bytearray()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._socket.setblocking(False)
            try:
                self._socket.connect(address(name))
            except BlockingIOError as error:  # too many queries are pending
                raise self._no("does not answer") from error
            except (OSError, ValueError) as error:
                start = f"start one with: penstock dcbx run --interface {name}"
                raise InputError(f"--interface {name}: no agent runs there; {start}") from error
            credentials = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
            _, user, _ = _CREDENTIALS.unpack(credentials)
            if user not in (_ROOT, os.geteuid()):
                raise self._no(
                    f"is rejected: its user is {user}; expected {os.geteuid()}, the caller, or root"
                )
        except BaseException:
            self.close()
            raise

    def fileno(self) -> int:
        """File descriptor, for `select`."""
        return self._socket.fileno()

    def close(self) -> None:
        """Closes the socket."""
        self._socket.close()

    @property
    def left_s(self) -> float:
        """Seconds that remain for the answer."""
        return max(self._until - time.monotonic(), 0.0)

    def answer(self) -> State | None:
        """Returns the state once all of it has arrived.

        Raises
        ------
        AnswerError
            If the answer is late or invalid.
        """
        try:
            while piece := self._socket.recv(_PIECE):
                self._received += piece
                if len(self._received) > MOST_BYTES:
                    raise self._no("sends an oversized answer")
        except BlockingIOError:
            if self.left_s <= 0.0:
                raise self._no("does not answer") from None
            return None
        except OSError as error:  # the agent ended during the query
            raise self._no("does not answer") from error
        try:
            state = json.loads(self._received)
        except (ValueError, RecursionError) as error:
            raise self._no("does not answer") from error
        if not isinstance(state, dict) or state.get("schema") != SCHEMA:
            raise self._no(f"does not answer in {SCHEMA}; is it another version?")
        return state

    def _no(self, what: str) -> AnswerError:
        return AnswerError(f"--interface {self.name}: the agent there {what}")


def request_state(name: str, patience_s: float = ANSWER_S) -> State:
    """Queries the state of the agent at an interface.

    Parameters
    ----------
    name : str
        The interface.
    patience_s : float, optional
        Seconds that the answer may take. Default: 5.

    Raises
    ------
    InputError
        If no agent runs there, it belongs to another user, or it does not answer.
    """
    if not hasattr(socket, "AF_PACKET"):
        raise InputError(f"--interface {name}: agents require Linux")
    question = Question(name, patience_s)
    try:
        while (state := question.answer()) is None:
            select.select([question], [], [], question.left_s)
    finally:
        question.close()
    return state


def uplinks_of(state: State) -> list[str]:
    """The interfaces that an agent inherits from, nearest first; empty if the state has no valid list."""
    reported = state.get("uplinks")
    return [one for one in reported if isinstance(one, str)] if isinstance(reported, list) else []
