"""Verdict on a run, or on a scenario before it runs; used by all commands, pages and files.

A verdict has findings, most severe first. The first finding gives it its name and color. A run without
findings is complete.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from penstock.measurements import of_result
from penstock.units import duration

from . import connections, failures, jobs

if TYPE_CHECKING:
    from penstock.measurements import Measurements

DEADLOCKED = "deadlocked"
HUNG = "hung"
LOST = "lost_lossless"
NOT_LOSSLESS = "not_lossless"
UNFINISHED = "unfinished"
STOPPED = "stopped_early"
COMPLETE = "complete"

STATES: Mapping[str, str] = {
    DEADLOCKED: "deadlocked",
    HUNG: "hung",
    LOST: "lost frames in a lossless class",
    NOT_LOSSLESS: "not lossless",
    UNFINISHED: "unfinished",
    STOPPED: "stopped early",
    COMPLETE: "complete",
}
"""Names of the states, most severe first."""

FAILED = frozenset({DEADLOCKED, HUNG, LOST, NOT_LOSSLESS, STOPPED})
"""States with exit code 1. Unfinished transfers are not a failure: continuous load always leaves some."""

TONES: Mapping[str, str] = {
    DEADLOCKED: "bad",
    HUNG: "bad",
    LOST: "bad",
    NOT_LOSSLESS: "bad",
    UNFINISHED: "warn",
    STOPPED: "warn",
    COMPLETE: "good",
}
"""Colors of the report page: ``bad`` is red, ``warn`` amber, ``good`` green."""

_QUEUES_NAMED = 6


@dataclass(frozen=True)
class Finding:
    """A state that applies to the run.

    Attributes
    ----------
    state : str
        A key of `STATES`.
    text : str
        Numbers and places, without the name of the state.
    """

    state: str
    text: str


@dataclass(frozen=True)
class Unfinished:
    """Transfers that were not complete at the end of a run, including those started in the warm-up.

    Attributes
    ----------
    begun : int
        Number of transfers that started.
    unfinished : int
        Number of these that were not complete.
    waiting : int
        Number of transfers that never started because their dependencies had not completed.
    """

    begun: int
    unfinished: int
    waiting: int

    @property
    def count(self) -> int:
        """Total number of incomplete transfers."""
        return self.unfinished + self.waiting

    @property
    def text(self) -> str:
        """Text such as "18 of 128 transfers"."""
        all_of_them = self.begun + self.waiting
        never = f", {self.waiting:,} of which never started" if self.waiting else ""
        return f"{self.count:,} of {all_of_them:,} transfer{'' if all_of_them == 1 else 's'}{never}"


@dataclass(frozen=True)
class Verdict:
    """The verdict on a run or a scenario.

    Attributes
    ----------
    findings : tuple of Finding
        Most severe first; empty if the run is complete.
    """

    findings: tuple[Finding, ...] = ()

    @property
    def state(self) -> str:
        """Most severe state, a key of `STATES`."""
        return self.findings[0].state if self.findings else COMPLETE

    @property
    def failed(self) -> bool:
        """True if one of the states is a failure."""
        return any(one.state in FAILED for one in self.findings)

    @property
    def exit_code(self) -> int:
        """Exit code for this verdict: 1 if a state is a failure, otherwise 0."""
        return int(self.failed)

    @property
    def tone(self) -> str:
        """Color: ``good``, ``warn`` or ``bad``."""
        return TONES[self.state]

    def __str__(self) -> str:
        return "; ".join(f"{STATES[one.state]}: {one.text}" for one in self.findings) or STATES[COMPLETE]

    def to_dict(self) -> dict[str, Any]:
        """Returns the verdict as a JSON object."""
        return {
            "state": self.state,
            "text": str(self),
            "exit_code": self.exit_code,
            "tone": self.tone,
            "findings": [asdict(one) for one in self.findings],
        }


@of_result
def verdict(result: Measurements) -> Verdict:
    """Returns the verdict on a run.

    Parameters
    ----------
    result : Result
        Result of the run.
    """
    return _ordered(
        [
            *_deadlocked(result),
            *_hung(result),
            *_lost(result),
            *_not_lossless(result.run.get("not_lossless", ())),
            *_unfinished(result),
            *_stopped(result),
        ]
    )


def of_scenario(not_lossless: Sequence[str]) -> Verdict:
    """Returns the verdict on a scenario before it runs, from its warnings about lossless classes."""
    return _ordered(_not_lossless(not_lossless))


def of_text(state: str, text: str) -> Verdict:
    """Returns the verdict for a state and text stored in a table."""
    if state == COMPLETE:
        return Verdict()
    return Verdict((Finding(state, text.removeprefix(f"{STATES[state]}: ")),))


def together(named: Sequence[tuple[str, Verdict]], runs: str = "runs") -> Verdict:
    """Combines the verdicts on several runs: each state that applies to one of them, with the run.

    Parameters
    ----------
    named : list of tuple
        Name and verdict of each run.
    runs : str, optional
        Plural noun for the runs. Default: "runs".
    """
    if len(named) == 1:
        return named[0][1]
    found = []
    for state in STATES:
        own = [(name, one.text) for name, verdict in named for one in verdict.findings if one.state == state]
        if own:
            name, text = own[0]
            first = "" if len(own) == 1 else "the first: "
            found.append(Finding(state, f"{len(own):,} of {len(named):,} {runs}, {first}{name}: {text}"))
    return Verdict(tuple(found))


@of_result
def unfinished(result: Measurements) -> Unfinished:
    """Returns the transfers that were not complete when the run ended."""
    if "transfers" not in result.table_names:
        return Unfinished(0, 0, 0)
    table = result.table("transfers")
    never = result.table("waiting_transfers").num_rows if "waiting_transfers" in result.table_names else 0
    done = pc.sum(pc.is_finite(table["completion_ns"])).as_py() or 0
    return Unfinished(table.num_rows, table.num_rows - int(done), never)


def _ordered(found: Iterable[Finding]) -> Verdict:
    order = list(STATES)
    return Verdict(tuple(sorted(found, key=lambda one: order.index(one.state))))


def _deadlocked(result: Measurements) -> Iterable[Finding]:
    """Deadlocks: cycles of queues, unresolved ones first."""
    from .forensics import deadlocks

    found = sorted(deadlocks(result), key=lambda one: one.ended_ns is not None)
    if not found:
        return
    first = found[0]
    listed = " -> ".join(
        [*first.queues[:_QUEUES_NAMED], *(["..."] if len(first.queues) > _QUEUES_NAMED else [])]
    )
    over = "" if first.ended_ns is None else f" until {duration(first.ended_ns)}"
    more = "" if len(found) == 1 else f"; {len(found) - 1:,} more in the table deadlocks"
    yield Finding(
        DEADLOCKED,
        f"{len(first.queues)} queues wait for each other in a cycle from {duration(first.closed_ns)} "
        f"{over.strip() or 'on'} ({listed}){more}",
    )


def _hung(result: Measurements) -> Iterable[Finding]:
    if waiting := jobs.hung(result):
        yield Finding(HUNG, waiting)


def _lost(result: Measurements) -> Iterable[Finding]:
    """Frames of lossless classes dropped at a limit; losses by injected faults are excluded."""
    ports = result.table("ports")
    if "headroom_violations" not in ports.column_names:
        return
    lost = int(pc.sum(ports["headroom_violations"]).as_py() or 0)
    if lost:
        worst = pc.index(ports["headroom_violations"], pc.max(ports["headroom_violations"])).as_py()
        port = ports["port"][worst].as_py()
        frames = "1 frame" if lost == 1 else f"{lost:,} frames, most"
        yield Finding(LOST, f"{frames} at {port}")


def _not_lossless(messages: Sequence[str]) -> Iterable[Finding]:
    if messages:
        more = f" (and {len(messages) - 1:,} more)" if len(messages) > 1 else ""
        yield Finding(NOT_LOSSLESS, f"{messages[0]}{more}")


def _unfinished(result: Measurements) -> Iterable[Finding]:
    entries = []
    if (found := unfinished(result)).count:
        entries.append(found.text)
    if waiting := jobs.of_run(result):
        entries.append(waiting)
    if never := connections.unfinished(result):
        entries.append(f"{len(never):,} connection{'' if len(never) == 1 else 's'} with an end")
    if failed := failures.of_run(result):
        entries.append(failed)
    if entries:
        yield Finding(UNFINISHED, "; ".join(entries))


def _stopped(result: Measurements) -> Iterable[Finding]:
    if result.complete:
        return
    run = result.run
    reached, planned = (duration(float(run[key]) * 1e9) for key in ("simulated_s", "duration_s"))
    why = run.get("cut_short_by") or ('on_deadlock = "stop"' if run.get("ended_by") else "by request")
    yield Finding(STOPPED, f"at {reached} of {planned}, {why}")
