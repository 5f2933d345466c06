"""Admission control: a bandwidth broker that tracks the remaining bandwidth of every link.

A connection keeps its path. It is accepted if every link on its path has enough bandwidth left for its class,
and refused otherwise. Network control and best effort need no admission (give them no limit)::

    from penstock.qos.admission import Broker, Refused

    broker = Broker({"sw.3->h3": 2e9, "h0.0->sw": 2e9}, {6: 0.1875, 5: 0.1875})
    answer = broker.request("call", ["h0.0->sw", "sw.3->h3"], 6, 64_000)
    if isinstance(answer, Refused):
        print(answer.port, answer.lacks_bps)
    broker.release("call")

`ports_of` and `rates_of` read paths and rates from a result. `Broker.weights` and `Broker.table` compute the
scheduler settings of a port for the accepted connections; they change after each `request` or `release`.
`timetable` processes calls that start and end at given times, and returns the scheduler changes of a run
at each of these times.

Source: Martinez 2006, section 5 (the centralized form; requests are for average bandwidth). Not modelled:
the delay of a request, and connections that exceed their bandwidth.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.errors import InputError
from penstock.library import suggestion
from penstock.measurements import Measurements
from penstock.qos.arbitration import Need, fill, need


@dataclass(frozen=True)
class Accepted:
    """A connection whose bandwidth is reserved.

    Attributes
    ----------
    ports : tuple of str
        Egress ports of its path, in order.
    traffic_class : int
        Traffic class.
    rate_bps : int
        Reserved bandwidth in bits per second.
    """

    ports: tuple[str, ...]
    traffic_class: int
    rate_bps: int


@dataclass(frozen=True)
class Refused:
    """A connection that was refused.

    Attributes
    ----------
    port : str
        Port on its path with the largest shortfall.
    lacks_bps : int
        The shortfall in bits per second; above 0.
    limit : int, optional
        Class whose limit is exceeded. Default: the common limit of all classes.
    """

    port: str
    lacks_bps: int
    limit: int | None = None

    def __str__(self) -> str:
        """Sentence such as "h0.0->sw lacks 40,000 b/s of what class 6 may have"."""
        whose = "all classes together" if self.limit is None else f"class {self.limit}"
        return f"{self.port} lacks {self.lacks_bps:,} b/s of what {whose} may have"


class Broker:
    """A bandwidth broker.

    Parameters
    ----------
    rates_bps : mapping
        Rate of each egress port of the fabric, including those of hosts, in bits per second.
    limits : mapping
        Maximum share of a port for each class with admission control, above 0 and at most 1. The sum is at
        most 1 unless `together` is given. Classes without a limit are always accepted.
    together : float, optional
        Maximum total share of a port for all classes with limits, above 0 and at most 1. The sum of the
        individual limits may exceed it, a single limit may not. Default: only individual limits apply.
    enabled : bool
        Refuses connections beyond the limits. If false, accepts all, for comparison. Default: true.

    Raises
    ------
    InputError
        If a rate or a share is outside of its range.
    """

    def __init__(
        self,
        rates_bps: Mapping[str, float],
        limits: Mapping[int, float],
        *,
        together: float | None = None,
        enabled: bool = True,
    ) -> None:
        for port, rate in rates_bps.items():
            if not rate >= 1:
                raise InputError(f"port {port} has a rate of {rate} b/s: expected at least 1")
        if together is not None and not 0 < together <= 1:
            raise InputError(f"together is {together}: expected above 0 and at most 1")
        most = 1 if together is None else together
        for traffic_class, share in limits.items():
            if not 0 < share <= most:
                raise InputError(
                    f"limit of class {traffic_class} is {share}: expected above 0 and at most {most}"
                )
        total = sum(limits.values())
        if together is None and total > 1 + 1e-9:
            raise InputError(f"the limits sum to {total:g}: expected at most 1, or `together`")
        self._rates = {port: int(rate) for port, rate in rates_bps.items()}
        self._limits = dict(limits)
        self._together = together
        self._enabled = enabled
        self._used: dict[tuple[str, int], int] = {}
        self._connections: dict[str, Accepted] = {}

    @property
    def connections(self) -> Mapping[str, Accepted]:
        """Accepted connections by name."""
        return dict(self._connections)

    def left_bps(self, port: str, traffic_class: int) -> int | None:
        """Returns the remaining bandwidth of a class at a port in b/s; `None` without a limit.

        The minimum of its own limit and the common limit of all classes.

        Raises
        ------
        InputError
            If there is no such port.
        """
        left = self._left(port, traffic_class)
        return min((own for own, _ in left), default=None)

    def request(
        self, name: str, ports: Sequence[str], traffic_class: int, rate_bps: float
    ) -> Accepted | Refused:
        """Requests a connection.

        Parameters
        ----------
        name : str
            Name of the connection; no accepted connection may have it.
        ports : sequence of str
            Egress ports of its path; see `ports_of`.
        traffic_class : int
            Traffic class.
        rate_bps : float
            Average bandwidth in bits per second, above 0; rounded up to whole bits.

        Raises
        ------
        InputError
            If the name is taken, the path is empty, a port is unknown or the rate is not above 0.
        """
        if name in self._connections:
            raise InputError(
                f"connection {name!r} already exists: expected another name, or release it first"
            )
        if not ports:
            raise InputError(f"connection {name!r} has no path: expected at least one egress port")
        if not rate_bps > 0:
            raise InputError(f"connection {name!r} requests {rate_bps} b/s: expected a rate above 0")
        wanted = -int(-rate_bps // 1)
        lacks = [
            Refused(port, wanted - left, limit)
            for port in ports
            for left, limit in self._left(port, traffic_class)
            if left < wanted
        ]
        if lacks and self._enabled:
            return max(lacks, key=lambda refused: refused.lacks_bps)
        accepted = Accepted(tuple(ports), traffic_class, wanted)
        self._connections[name] = accepted
        self._add(accepted, wanted)
        return accepted

    def release(self, name: str) -> None:
        """Releases the bandwidth of a connection.

        Raises
        ------
        InputError
            If there is no such connection.
        """
        if name not in self._connections:
            raise InputError(f"no connection {name!r}: {suggestion(name, self._connections)}")
        connection = self._connections.pop(name)
        self._add(connection, -connection.rate_bps)

    def shares(self, port: str) -> dict[int, float]:
        """Returns the reserved share of a port for each class with connections.

        Raises
        ------
        InputError
            If there is no such port.
        """
        rate = self._rate(port)
        used = {key: bps for (at, key), bps in sorted(self._used.items()) if at == port and bps}
        return {traffic_class: bps / rate for traffic_class, bps in used.items()}

    def weights(self, port: str, classes: int, *, rest: int = 1) -> list[int]:
        """Returns weights for a scheduler such as ``min_bw``, in thousandths of the port.

        Parameters
        ----------
        port : str
            The port.
        classes : int
            Number of its classes, 1 to 8.
        rest : int
            Weight of classes without connections. Default: 1.

        Raises
        ------
        InputError
            If there is no such port, or the class of a connection is out of range.
        """
        shares = self.shares(port)
        if any(traffic_class >= classes for traffic_class in shares):
            raise InputError(f"class {max(shares)} has connections, and {port} has {classes} classes")
        return [max(rest, -int(-1000 * shares[at] // 1)) if at in shares else rest for at in range(classes)]

    def table(
        self, port: str, size: int, distances: Mapping[int, int] | None = None, *, rest: Sequence[int] = ()
    ) -> tuple[int, ...]:
        """Returns a table for ``dtable`` or ``vc_table`` with entries for the accepted connections.

        Parameters
        ----------
        port : str
            Name of the port.
        size : int
            Entries of the table, one of `penstock.qos.arbitration.SIZES`.
        distances : mapping, optional
            Maximum distance between consecutive entries of each class with connections. Default: the length
            of the table.
        rest : sequence of int
            Classes that need an entry even without connections, such as best effort. Default: none.

        Returns
        -------
        tuple of int
            The class of each entry.

        Raises
        ------
        InputError
            If there is no such port, no class needs an entry, or no table fits all entries; the message names
            the class and its shortfall.
        """
        distances = distances or {}
        needs = {
            key: need(size, min(share, 1.0), distances.get(key)) for key, share in self.shares(port).items()
        }
        needs = {**{key: Need(1) for key in rest}, **needs}
        if not needs:
            raise InputError(f"{port} has no connections: expected one, or a class in `rest`")
        return fill(size, needs)

    def _left(self, port: str, traffic_class: int) -> list[tuple[int, int | None]]:
        """Remaining bandwidth of a port under the limit of a class, and under the common limit."""
        rate = self._rate(port)
        if traffic_class not in self._limits:
            return []
        own = int(self._limits[traffic_class] * rate) - self._used.get((port, traffic_class), 0)
        left: list[tuple[int, int | None]] = [(own, traffic_class)]
        if self._together is not None:
            used = sum(self._used.get((port, key), 0) for key in self._limits)
            left.append((int(self._together * rate) - used, None))
        return left

    def _rate(self, port: str) -> int:
        if port not in self._rates:
            raise InputError(f"no port {port!r}: {suggestion(port, self._rates)}")
        return self._rates[port]

    def _add(self, connection: Accepted, rate_bps: int) -> None:
        for port in connection.ports:
            key = (port, connection.traffic_class)
            self._used[key] = self._used.get(key, 0) + rate_bps


@dataclass(frozen=True)
class Call:
    """A connection that is requested at one time and released at another.

    Attributes
    ----------
    name : str
        Name of the connection.
    ports : sequence of str
        Egress ports of its path; see `ports_of`.
    traffic_class : int
        Traffic class.
    rate_bps : float
        Average bandwidth in bits per second.
    start_ns : int
        Time of the request, in nanoseconds of the simulation.
    stop_ns : int, optional
        Time of the release, after `start_ns`. Default: never.
    """

    name: str
    ports: Sequence[str]
    traffic_class: int
    rate_bps: float
    start_ns: int
    stop_ns: int | None = None


def timetable(
    broker: Broker, calls: Sequence[Call], scheduler: Callable[[Broker, str], Mapping[str, Any]]
) -> tuple[dict[str, Accepted | Refused], list[dict[str, Any]]]:
    """Processes calls in order of time, and returns the scheduler changes for a simulation.

    At equal times, releases precede requests. A refused call is not retried.

    Parameters
    ----------
    broker : Broker
        Broker; keeps the connections that are never released.
    calls : sequence of Call
        The calls.
    scheduler : callable
        Returns the scheduler of a port for the accepted connections, as a scenario table. Called with broker
        and port for each port on the path of an accepted or released call, such as ``lambda
        broker, port: {"scfq_ca": {"weights": broker.weights(port, 8)}}``.

    Returns
    -------
    dict, list
        Answer to each call by name; and entries for ``[[faults]]`` of the scenario, one for each port
        and time at which the scheduler changes.

    Raises
    ------
    InputError
        If a call ends before it starts. Also raises the errors of `Broker.request`.
    """
    events: list[tuple[int, bool, int]] = []
    for nth, call in enumerate(calls):
        if call.stop_ns is not None and call.stop_ns <= call.start_ns:
            raise InputError(
                f"call {call.name!r} ends at {call.stop_ns} ns: expected after {call.start_ns} ns"
            )
        events.append((call.start_ns, True, nth))
        events += [(call.stop_ns, False, nth)] if call.stop_ns is not None else []
    answers: dict[str, Accepted | Refused] = {}
    changes: dict[tuple[int, str], Mapping[str, Any]] = {}
    for now, begins, nth in sorted(events):
        call = calls[nth]
        if begins:
            answers[call.name] = broker.request(call.name, call.ports, call.traffic_class, call.rate_bps)
        if isinstance(answers[call.name], Refused):
            continue
        if not begins:
            broker.release(call.name)
        for port in call.ports:
            changes[now, port] = scheduler(broker, port)
    return answers, [_change(now, port, table) for (now, port), table in changes.items()]


def _change(now_ns: int, port: str, scheduler: Mapping[str, Any]) -> dict[str, Any]:
    """An entry of ``[[faults]]`` that changes the scheduler of a port."""
    own, _, peer = port.partition("->")
    node = own.rpartition(".")[0] or own
    return {"link": [node, peer], "towards": peer, "at": f"{now_ns} ns", "scheduler": dict(scheduler)}


def rates_of(result: Measurements) -> dict[str, float]:
    """Rate of every port of a result in bits per second: the first argument of `Broker`."""
    return {row["port"]: row["rate_bps"] for row in result.rows("ports")}


def ports_of(result: Measurements) -> dict[tuple[str, str], list[str]]:
    """Egress ports on the path of each flow and destination of a result, for `Broker.request`."""
    return {(row["flow"], row["destination"]): row["ports"].split() for row in result.rows("paths")}
