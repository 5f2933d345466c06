"""Conformance cases, and their execution.

A case has trials. A trial starts with a fresh device and applies a list of steps: arriving frames, elapsed
time, changes by the administrator, and expected states.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from penstock.errors import InputError
from penstock.library import suggestion

from .device import Device, Operational, UnfitError
from .frames import Sent

Verdict = Literal["pass", "fail", "not applicable"]
Observe = Callable[[Device, Operational], object]


@dataclass(frozen=True)
class Wait:
    """A step that lets time elapse."""

    seconds: float


@dataclass(frozen=True)
class Administer:
    """A step that changes the administrator's settings."""

    settings: Mapping[str, Any]
    what: str


@dataclass(frozen=True)
class Within:
    """A tolerance: at least `low`, at most `high`."""

    low: float
    high: float
    unit: str = ""

    def __str__(self) -> str:
        return f"{self.low:.6g} to {self.high:.6g} {self.unit}".rstrip()


@dataclass(frozen=True)
class Expect:
    """A step that checks the operational state, or that `observe` returns `value` or a number `Within` it."""

    what: str
    value: object
    observe: Observe


@dataclass(frozen=True)
class Answer:
    """A step that sends a frame derived from the device's own frames."""

    make: Callable[[Device], Sent]


Step = Sent | Answer | Wait | Administer | Expect


@dataclass(frozen=True)
class Trial:
    """A fresh device, and the steps applied to it."""

    name: str
    settings: Mapping[str, Any]
    steps: Sequence[Step]


@dataclass(frozen=True)
class Case:
    """A numbered case.

    Attributes
    ----------
    id : str
        Number of the case, such as "DX-03".
    purpose : str
        Behavior that the case tests.
    trials : sequence of Trial
        Trials, all of which must pass. Empty if the case cannot be run; `reason` explains why.
    reason : str
        Reason why there are no trials.
    """

    id: str
    purpose: str
    trials: Sequence[Trial] = ()
    reason: str = ""


@dataclass
class Outcome:
    """Outcome of one trial.

    Attributes
    ----------
    case : Case
        The case.
    trial : str
        Name of the trial; empty if none was run.
    verdict : str
        "pass", "fail" or "not applicable".
    reason : str
        Reason why the case does not apply.
    stimulus, expected, observed : list of str
        Steps that were taken, the expected state, and the observed state.
    frames : list of Sent
        Frames that were sent by the tester, each with its time in seconds.
    """

    case: Case
    trial: str
    verdict: Verdict = "pass"
    reason: str = ""
    stimulus: list[str] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)
    observed: list[str] = field(default_factory=list)
    frames: list[tuple[float, Sent]] = field(default_factory=list)


def cases(names: Sequence[str] = ()) -> list[Case]:
    """All cases, or the cases with these numbers.

    Raises
    ------
    InputError
        If one of the numbers does not exist.
    """
    from . import dcbx, notification, pauses, shares, trimming

    families = (pauses.CASES, shares.CASES, notification.CASES, trimming.CASES, dcbx.CASES)
    known = {case.id: case for family in families for case in family}
    for name in names:
        if name not in known:
            raise InputError(f"--case {name}: no such case; {suggestion(name, known)}")
    return [case for case in known.values() if not names or case.id in names]


def run(chosen: Sequence[Case], device: Device) -> Iterator[Outcome]:
    """Runs cases, trial by trial."""
    for case in chosen:
        reason = device.lacks(case.id) or case.reason
        if reason:
            yield Outcome(case, "", "not applicable", reason)
            continue
        for trial in case.trials:
            try:
                yield _run(case, trial, device)
            except UnfitError as error:
                yield Outcome(case, trial.name, "not applicable", str(error))


def _run(case: Case, trial: Trial, device: Device) -> Outcome:
    outcome = Outcome(case, trial.name)
    device.start(trial.settings)
    now_s = 0.0
    for step in trial.steps:
        match step:
            case Sent() | Answer():
                frame = step if isinstance(step, Sent) else step.make(device)
                device.send(frame.octets)
                outcome.frames.append((now_s, frame))
                outcome.stimulus.append(frame.what)
            case Wait():
                device.wait(step.seconds)
                now_s += step.seconds
                outcome.stimulus.append(f"{step.seconds:g} s elapse")
            case Administer():
                device.administer(step.settings)
                outcome.stimulus.append(step.what)
            case Expect():
                seen = step.observe(device, device.operational())
                if seen is None:
                    continue  # the device does not report this state
                outcome.expected.append(f"{step.what} {_text(step.value)}")
                outcome.observed.append(f"{step.what} {_text(seen)}")
                if not _holds(seen, step.value):
                    outcome.verdict = "fail"
    return outcome


def _holds(seen: object, value: object) -> bool:
    if isinstance(value, Within):
        return isinstance(seen, int | float) and value.low <= seen <= value.high
    return seen == value


def _text(value: object) -> str:
    """A value as a report shows it."""
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list | tuple):
        return " ".join(map(_text, value)) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)
