"""Sessions: a run that a program drives, and the run that its file gives."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import penstock as ps
from penstock.errors import ArgumentError, SimulationError

DRIVER = """
[[jobs]]
name = "driver"
ranks = "all"
workload = { session = true }
over = OVER
priority = 3
frame = "4200 B"
"""
CARRIERS = [
    '{ rdma = { control = "none" } }',
    '{ rdma = { control = "dcqcn" } }',
    '{ tcp = { preset = "datacenter" } }',
    "{ uet = {} }",
]


def fabric(folder: Path, more: str = "", *, duration: str = "20 ms") -> Path:
    file = folder / "fabric.toml"
    star = '[topology.star]\nhosts = 4\nrate = "100 Gb/s"\nphy = "none"\n[flow_control.pfc]\n'
    text = f'[simulation]\nduration = "{duration}"\n{star}'
    file.write_text(text + more, "utf-8")
    return file


def ring(session: ps.Session, steps: int, size: int) -> list[ps.Event]:
    hosts = session.hosts
    following = dict(zip(hosts, [*hosts[1:], hosts[0]], strict=True))
    left = dict.fromkeys(hosts, steps - 1)
    for host in hosts:
        session.send(host, following[host], size)
    seen = []
    for event in session.events():
        assert event.time_ns == session.now
        seen.append(event)
        if event.kind == "delivered" and left[event.destination]:
            left[event.destination] -= 1
            session.send(event.destination, following[event.destination], size)
    return seen


@pytest.mark.parametrize("carrier", CARRIERS)
def test_a_session_and_its_file_are_one_run(carrier: str, tmp_path: Path) -> None:
    file = fabric(tmp_path, DRIVER.replace("OVER", carrier))
    with ps.Session(file, record=True) as session:
        session.compute("h2", "3 us")
        session.send("h1", "h1", 10, at="2 us")
        seen = ring(session, 5, 40_000)
        again = session.save(tmp_path / "again")
        driven = session.finish()
    assert len(seen) == 4 * 5 * 2 + 1 + 2
    assert [event.time_ns for event in seen] == sorted(event.time_ns for event in seen)
    replayed = ps.run(again)
    assert (driven.fingerprint, driven.run["simulated_s"]) == (
        replayed.fingerprint,
        replayed.run["simulated_s"],
    )
    assert driven.complete
    for table in ("jobs", "messages", "queues", "ports"):
        assert driven.table(table).equals(replayed.table(table)), table


def test_a_driven_ring_is_the_ring_of_a_job(tmp_path: Path) -> None:
    keys = DRIVER.replace("OVER", CARRIERS[0])
    with ps.Session(fabric(tmp_path, keys)) as session:
        last = ring(session, 6, 50_000)[-1]
    collective = keys.replace("session = true", 'collective = "all_reduce", bytes = "200000 B"')
    (job,) = ps.run(fabric(tmp_path, collective)).rows("jobs")
    assert job["end_ns"] == last.time_ns


def test_a_session_beside_other_traffic(tmp_path: Path) -> None:
    flow = '[[flows]]\nname = "beside"\nfrom = "h2"\nto = "h1"\nsource = "greedy"\n'
    times = []
    for more in ("", flow):
        with ps.Session(fabric(tmp_path, more)) as session:
            session.send("h0", "h1", "1 MB")
            times.append([event.time_ns for event in session.events()])
    assert times[1][0] > 1.5 * times[0][0]


def test_times_and_timers(tmp_path: Path) -> None:
    with ps.Session(fabric(tmp_path)) as session:
        assert (session.now, session.duration_ns, session.hosts) == (0.0, 20e6, ("h0", "h1", "h2", "h3"))
        timer, late = session.after("3 us"), session.timer(9000)
        assert session.run_until("2 us") == []
        assert session.now == 2000.0
        assert [(event.id, event.time_ns) for event in session.run_until(4000.5)] == [(timer, 3000.0)]
        assert session.cancel(late)
        assert not session.cancel(late)
        assert (session.under_way, session.step(), session.now) == (0, [], 4000.5)
        # What happens at the very time of run_until is not over.
        session.timer(5000)
        assert session.run_until(5000) == []
        assert [event.kind for event in session.step()] == ["timer"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda s: s.send("h0", "h5", 1),
            '"h5" is not a host of the session: expected h0 to h3; did you mean "h0"?',
        ),
        (lambda s: s.send("h0", "h1", -1), "size is -1; expected a whole number of bytes"),
        (lambda s: s.send("h0", "h1", True), "size is True"),
        (lambda s: s.send("h0", "h1", "1 m"), "1 m"),
        (
            lambda s: s.send("h0", "h1", 1 << 45),
            "a message of 35184372088832 B: expected at most 17592186044416 B",
        ),
        (lambda s: s.send("h0", "h1", 1, at="1 us"), "1 us is past: the session is at 2 us"),
        (lambda s: s.send("h0", "h1", 1, at="20 ms"), "20 ms is not before the end of the run"),
        (lambda s: s.compute("h0", float("nan")), "duration is nan; expected nanoseconds"),
        (lambda s: s.compute(0, "1 us"), "0 is not a host"),
        (lambda s: s.run_until("1 us"), "1 us is past"),
        (lambda s: s.after("soon"), "soon"),
        (lambda s: s.save("x"), "create it with record=True"),
    ],
)
def test_a_wrong_value_is_named(call: Callable[[ps.Session], object], message: str, tmp_path: Path) -> None:
    with ps.Session(fabric(tmp_path)) as session:
        session.run_until("2 us")
        with pytest.raises(ArgumentError) as error:
            call(session)
        assert message in str(error.value)
        assert (session.under_way, session.now) == (0, 2000.0)


def test_a_closed_session_takes_no_calls(tmp_path: Path) -> None:
    with ps.Session(fabric(tmp_path)) as session:
        session.finish()
        for call in (lambda: session.send("h0", "h1", 1), session.step, session.finish, lambda: session.now):
            with pytest.raises(ArgumentError, match="the session is closed"):
                call()
    session.close()


def test_messages_that_cannot_end(tmp_path: Path) -> None:
    with ps.Session(fabric(tmp_path, duration="10 us")) as session:
        session.send("h0", "h1", "1 GB")
        with pytest.raises(SimulationError, match="message 0 of 1000000000 B from h0 to h1, sent at 0 ps"):
            list(session.events())
        with pytest.raises(ArgumentError, match="the run has ended at 10 us"):
            session.send("h0", "h1", 1)
        assert session.finish().run["simulated_s"] == 10e-6


def test_a_scenario_that_cannot_be_driven(tmp_path: Path) -> None:
    job = DRIVER.replace("OVER", CARRIERS[0])
    with pytest.raises(ps.ScenarioError, match="is used twice"):
        ps.Session(fabric(tmp_path, job + job))
    with pytest.raises(ps.ScenarioError, match="2 iterations of messages"):
        ps.Session(fabric(tmp_path, job + "iterations = 2\n"))
    with pytest.raises(ps.ScenarioError, match="`session` beside `goal`"):
        ps.run(fabric(tmp_path, job.replace("session = true", 'session = true, goal = "x"')))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("0 us,h0,h9,1 MB,", '"h9" has no rank of the job'),
        ("0,h0,h1,1 MB,", "expected a time with unit"),
        ("0 us,h0,h1,1,", "expected a size with unit"),
        ("0 us,h0,h1,1 MB,3 us", "beside a computation"),
        ("0 us,h0,h1", "3 values in a line"),
    ],
)
def test_a_wrong_file_of_messages_is_named_with_its_line(line: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text(f"start,from,to,bytes,compute\n{line}\n", "utf-8")
    job = DRIVER.replace("OVER", CARRIERS[0]).replace("session = true", 'messages = "m.csv"')
    with pytest.raises(ps.ScenarioError, match=message) as error:
        ps.run(fabric(tmp_path, job))
    assert "m.csv:2" in str(error.value)


def test_a_signal_interrupts_a_call_and_the_session_goes_on(tmp_path: Path) -> None:
    with ps.Session(fabric(tmp_path, duration="1 s")) as session:
        session.send("h0", "h1", "10 GB")
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        before = signal.signal(signal.SIGALRM, signal.default_int_handler)
        try:
            with pytest.raises(KeyboardInterrupt):
                session.step()
        finally:
            signal.signal(signal.SIGALRM, before)
        now = session.now
        assert 0 < now < 800e6
        assert session.run_until(now + 1000) == []


def test_one_thread_at_a_time(tmp_path: Path) -> None:
    with ps.Session(fabric(tmp_path, duration="1 s")) as session:
        session.send("h0", "h1", "1 GB")
        driver = threading.Thread(target=session.step)
        driver.start()
        busy = 0
        while driver.is_alive():
            try:
                _ = session.now
            except ArgumentError as error:
                assert "another thread runs the session" in str(error)
                busy += 1
        driver.join()
        assert busy
        assert session.now > 79e6
