"""What a conformance case is, and how it is run.

A case has trials. A trial begins with a fresh device and is a list of steps: frames that arrive, time that
passes, what the administrator changes, and what must then be in force.
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
    """Time passes."""

    seconds: float


@dataclass(frozen=True)
class Administer:
    """The administrator wants something else."""

    settings: Mapping[str, Any]
    what: str


@dataclass(frozen=True)
class Within:
    """A number with a tolerance: at least `low`, at most `high`."""

    low: float
    high: float
    unit: str = ""

    def __str__(self) -> str:
        return f"{self.low:.6g} to {self.high:.6g} {self.unit}".rstrip()


@dataclass(frozen=True)
class Expect:
    """What must be in force, or what `observe` must then see: `value`, or a number that is `Within` it."""

    what: str
    value: object
    observe: Observe


@dataclass(frozen=True)
class Answer:
    """A frame that depends on what the device has sent."""

    make: Callable[[Device], Sent]


Step = Sent | Answer | Wait | Administer | Expect


@dataclass(frozen=True)
class Trial:
    """A fresh device, and what happens to it."""

    name: str
    settings: Mapping[str, Any]
    steps: Sequence[Step]


@dataclass(frozen=True)
class Case:
    """A numbered case.

    Attributes
    ----------
    id : str
        Its number, such as "DX-03".
    purpose : str
        What it shows.
    trials : sequence of Trial
        Each must pass. None: nothing here can run the case yet, and `reason` says why.
    reason : str
        Why there are no trials.
    """

    id: str
    purpose: str
    trials: Sequence[Trial] = ()
    reason: str = ""


@dataclass
class Outcome:
    """What became of one trial.

    Attributes
    ----------
    case : Case
        The case.
    trial : str
        Name of the trial; empty if none was run.
    verdict : str
        "pass", "fail" or "not applicable".
    reason : str
        Why it does not apply.
    stimulus, expected, observed : list of str
        What was done, what must be, what was.
    frames : list of Sent
        What was sent, with the second of each.
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
    """All cases, or those of these numbers.

    Raises
    ------
    InputError
        If there is no case of a number.
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
                outcome.stimulus.append(f"{step.seconds:g} s pass")
            case Administer():
                device.administer(step.settings)
                outcome.stimulus.append(step.what)
            case Expect():
                seen = step.observe(device, device.operational())
                if seen is None:
                    continue  # the device cannot be asked
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
