"""Session: a run controlled by a program, which sends messages and receives events in order of time."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Literal, NamedTuple, Self

from penstock import _core
from penstock.errors import ArgumentError

from .arguments import seed_of
from .engine import Runnable, engine_errors, source_of

if TYPE_CHECKING:
    from penstock.result import Result

Moment = str | float
"""A time: text with a unit, such as ``"1.5 us"``, or nanoseconds."""


class Event(NamedTuple):
    """Completion of a message, computation or timer.

    Attributes
    ----------
    time_ns : float
        Time in nanoseconds.
    kind : str
        ``"delivered"`` (the receiver has the last byte of a message), ``"sent"`` (the sender has the
        acknowledgement), ``"computed"`` or ``"timer"``.
    id : int
        Id returned by `Session.send`, `Session.compute`, `Session.timer` or `Session.after`.
    source, destination : str
        Hosts of the message; host of the computation; empty for a timer.
    size : int
        Size of the message in bytes; 0 for other events.
    """

    time_ns: float
    kind: Literal["delivered", "sent", "computed", "timer"]
    id: int
    source: str
    destination: str
    size: int


class Session:
    """A run that a program controls step by step.

    Messages are sent between the hosts of the job with ``workload = { session = true }``; a scenario without
    one gets a job of all hosts over queue pairs. The run stops at the time of each event, so that a message
    sent in response starts at that time. The run depends only on the scenario and the calls: the same calls
    give the same fingerprint.

    Not thread-safe. The GIL is released while the run advances.

    Parameters
    ----------
    scenario : Scenario, str or path
        A scenario, a file, or the name of a scenario in the package. Its duration ends the run.
    seed : int, optional
        Seed of all random streams, 0 to 2**64 - 1. Default: the seed of the scenario.
    record : bool
        Records all requests for `save`. Default: false.

    Raises
    ------
    ScenarioError
        If the scenario is invalid.
    InputError
        If the file or name does not exist.

    Examples
    --------
    Respond to a message:

    >>> import penstock as ps
    >>> fabric = ps.Scenario(duration="1 ms").topology.star(hosts=2, rate="100 Gb/s")
    >>> with ps.Session(fabric) as session:
    ...     ping = session.send("h0", "h1", "1 MB")
    ...     for event in session.events():
    ...         if event.kind == "delivered" and event.id == ping:
    ...             pong = session.send("h1", "h0", 1000)
    ...     result = session.finish()
    >>> result.complete
    True
    """

    def __init__(self, scenario: Runnable, *, seed: int | None = None, record: bool = False) -> None:
        source = source_of(scenario)
        with _session_errors():
            self._core = _core.Session(
                source.text, source.file, allow_files=source.allow_files, seed=seed_of(seed), record=record
            )
            self._hosts = tuple(self._core.hosts)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def hosts(self) -> tuple[str, ...]:
        """Hosts that can send and receive."""
        return self._hosts

    @property
    def now(self) -> float:
        """Current time of the run, in nanoseconds."""
        with _session_errors():
            return self._core.times_ps[0] / 1e3

    @property
    def duration_ns(self) -> float:
        """Duration of the scenario in nanoseconds; the run ends at that time."""
        with _session_errors():
            return self._core.times_ps[1] / 1e3

    @property
    def under_way(self) -> int:
        """Number of messages, computations and timers in progress."""
        with _session_errors():
            return self._core.under_way

    def send(self, source: str, destination: str, size: int | str, *, at: Moment | None = None) -> int:
        """Sends a message.

        Parameters
        ----------
        source, destination : str
            Hosts. A message from a host to itself takes no time.
        size : int or str
            Bytes, or a size with a unit such as ``"1 MB"``; 0 B to 16 TiB.
        at : str or float, optional
            Start: a time with a unit, or nanoseconds; not before `now`. Default: now.

        Returns
        -------
        int
            Id of the message, as in its two events.

        Raises
        ------
        ArgumentError
            If a host does not exist, the size is invalid, the time is past or after the end, or the session
            is closed.
        """
        with _session_errors():
            return self._core.send(_host(source), _host(destination), _size(size), _moment_or_none(at, "at"))

    def compute(self, host: str, duration: Moment, *, at: Moment | None = None) -> int:
        """Starts a computation on the processor of a host, after its earlier work.

        Messages use the processor only if they have a host cost (``overhead`` of the job).

        Parameters
        ----------
        host : str
            Name of the host.
        duration : str or float
            A time with a unit, or nanoseconds.
        at : str or float, optional
            Time of the request; not before `now`. Default: now.

        Returns
        -------
        int
            Id of the computation, as in its event.

        Raises
        ------
        ArgumentError
            If the host does not exist, a time is invalid, or the session is closed.
        """
        with _session_errors():
            moment = _moment(duration, "duration")
            return self._core.compute(_host(host), moment, _moment_or_none(at, "at"))

    def timer(self, at: Moment) -> int:
        """Starts a timer that expires at a time; returns the id in its event."""
        with _session_errors():
            return self._core.timer(_moment(at, "at"), False)

    def after(self, delay: Moment) -> int:
        """Starts a timer that expires after a delay; returns the id in its event."""
        with _session_errors():
            return self._core.timer(_moment(delay, "delay"), True)

    def cancel(self, timer: int) -> bool:
        """Cancels a timer. Returns ``False`` if it has expired or does not exist."""
        with _session_errors():
            return self._core.cancel(timer)

    def step(self) -> list[Event]:
        """Advances to the next events and returns them; all have the time `now`.

        Returns
        -------
        list of Event
            Empty if nothing is in progress.

        Raises
        ------
        SimulationError
            If messages in progress cannot complete (the error names the first one and its cause), the
            duration is over, or the run broke an invariant.
        """
        with _session_errors():
            self._core.run(None)
            return self._taken()

    def events(self) -> Iterator[Event]:
        """Advances from event to event until nothing is in progress.

        Requests made in the loop start at the time of the event. Raises the same errors as `step`.
        """
        while events := self.step():
            yield from events

    def run_until(self, time: Moment) -> list[Event]:
        """Advances to a time, or to the end of the run if that is earlier.

        Parameters
        ----------
        time : str or float
            A time with a unit, or nanoseconds; not before `now`.

        Returns
        -------
        list of Event
            All events before that time, in order; excludes events at that time.

        Raises
        ------
        ArgumentError
            If the time is past, or the session is closed.
        SimulationError
            If the run broke an invariant.
        """
        events: list[Event] = []
        with _session_errors():
            until = _moment(time, "time")
            while self._core.run(until) == "events":
                events += self._taken()
        return events

    def save(self, directory: str | Path) -> Path:
        """Writes a scenario that repeats the session so far: ``scenario.toml`` and ``messages.csv``.

        Its run has the fingerprint of this session if `finish` is called at the end of the last message.

        Returns
        -------
        Path
            Path of the scenario.

        Raises
        ------
        ArgumentError
            If the session does not record, or is closed.
        """
        with _session_errors():
            messages, scenario = self._core.recorded()
        if messages is None:
            raise ArgumentError("the session does not record requests; create it with record=True")
        folder = Path(directory)
        folder.mkdir(parents=True, exist_ok=True)
        folder.joinpath("messages.csv").write_text(messages, encoding="utf-8")
        path = folder / "scenario.toml"
        replayed = scenario.replace("session = true", 'messages = "messages.csv"', 1)
        path.write_text(replayed, encoding="utf-8")
        return path

    def finish(self) -> Result:
        """Advances until all messages are complete, closes the session, and returns the result.

        Raises
        ------
        ArgumentError
            If the session is closed.
        SimulationError
            If the run broke an invariant.
        """
        with _session_errors():
            core = self._core.finish()
        from penstock.result import Result

        return Result.from_core(core)

    def close(self) -> None:
        """Closes the session without a result. Further calls, except `close`, raise an error."""
        with _session_errors():
            self._core.close()

    def _taken(self) -> list[Event]:
        names = self._hosts
        return [
            Event(
                time / 1e3,
                kind,
                number,
                "" if kind == "timer" else names[sender],
                "" if kind == "timer" else names[receiver],
                size,
            )
            for time, kind, number, sender, receiver, size in self._core.take_events()
        ]


@contextlib.contextmanager
def _session_errors() -> Iterator[None]:
    """Context that converts errors of the engine; an invalid value becomes an `ArgumentError`."""
    with engine_errors():
        try:
            yield
        except _core.ScenarioError:
            raise
        except ValueError as error:
            if isinstance(error, ArgumentError):
                raise
            raise ArgumentError(str(error)) from None


def _host(name: str) -> str:
    if not isinstance(name, str):
        raise ArgumentError(f"{name!r} is not a host; expected a name such as 'h0'")
    return name


def _size(size: int | str) -> str:
    if isinstance(size, str):
        return size
    if isinstance(size, bool) or not isinstance(size, int) or size < 0:
        raise ArgumentError(f"size is {size!r}; expected a whole number of bytes, or a size such as '1 MB'")
    return f"{size} B"


def _moment(time: Moment, name: str) -> str:
    if isinstance(time, str):
        return time
    if isinstance(time, bool) or not isinstance(time, int | float) or not 0 <= time < math.inf:
        raise ArgumentError(
            f"{name} is {time!r}; expected nanoseconds of at least 0, or a time such as '1.5 us'"
        )
    return f"{round(time * 1000)} ps"


def _moment_or_none(time: Moment | None, name: str) -> str | None:
    return None if time is None else _moment(time, name)
