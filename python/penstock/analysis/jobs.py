"""Jobs of a run: time of their iterations, and what an unfinished job waits for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.errors import InputError
from penstock.library import suggestion
from penstock.measurements import of_result
from penstock.units import count, duration, share, size

from . import critical_path

if TYPE_CHECKING:
    from penstock.measurements import Measurements

_DEAD = frozenset({"peer ended", "never sent", "connection failed", "lost"})
"""Causes at a root that a job cannot recover from."""
_STALLED = 1 / 8
"""Share of the duration without a delivered frame after which an unfinished job counts as hung."""
_CAUSES: Mapping[str, str] = {
    "peer ended": "rank {peer} ({peer_host}) has ended without sending it",
    "never sent": "no rank sends a matching message",
    "connection failed": "its connection entered the error state after the last retry",
    "link down": "held at {port} (link down)",
    "paused": "held at {port} (class paused)",
    "no credits": "held at {port} (no credits for its class)",
    "receiver not ready": "receiver not ready",
    "retransmitting": "its packets are lost repeatedly",
    "in flight": "in flight",
    "lost": "a frame of it was lost and not retransmitted",
    "not posted": "rank {peer} ({peer_host}) has not sent it yet",
}
_STRAGGLES = 0.01
"""Share above the median rank at which a rank is reported as slow."""
_CHAIN_SHOWN = 12
"""Maximum number of ranks shown, from the start of a chain; the root is always shown."""


@dataclass(frozen=True)
class Chain:
    """Ranks of a job, each waiting for the next one.

    Attributes
    ----------
    job : str
        Name of the job.
    waits : tuple of dict
        Rows of the table ``rank_waits``, the root last.
    is_circle : bool
        True if the last rank waits for another rank of the chain, so that there is no root.
    waiting : int
        Number of ranks of the job that have not ended.
    """

    job: str
    waits: tuple[dict[str, Any], ...]
    is_circle: bool
    waiting: int

    @property
    def root(self) -> dict[str, Any]:
        """Last row of the chain."""
        return self.waits[-1]


@of_result
def of_jobs(result: Measurements) -> list[dict[str, Any]]:
    """Returns the rows of the table ``jobs``; empty for results of versions without that table."""
    return list(result.rows("jobs")) if "jobs" in result.table_names else []


@of_result
def chosen(result: Measurements, job: str | None) -> dict[str, Any]:
    """Returns the row of a job; without a name, of the first job.

    Raises
    ------
    InputError
        If there is no such job.
    """
    rows = of_jobs(result)
    if not rows:
        raise InputError(f"{result.name}: a result without jobs; expected [[jobs]] in its scenario")
    names = [row["job"] for row in rows]
    if job is not None and job not in names:
        raise InputError(f"no job {job!r} in this result; {suggestion(job, names)}")
    return rows[0 if job is None else names.index(job)]


@of_result
def unfinished(result: Measurements) -> list[Chain]:
    """Returns the longest wait chain of each unfinished job."""
    if "rank_waits" not in result.table_names:
        return []
    by_job: dict[str, dict[int, dict[str, Any]]] = {}
    for row in result.rows("rank_waits"):
        by_job.setdefault(row["job"], {})[row["rank"]] = row
    return [_longest(job, waits) for job, waits in by_job.items()]


def _longest(job: str, waits: Mapping[int, dict[str, Any]]) -> Chain:
    """Returns the longest chain to a root; if several have that length, the one from the lowest rank."""
    depth: dict[int, int] = {}
    for first in waits:
        path: list[int] = []
        at = first
        while at not in depth and at not in path:
            path.append(at)
            follows = waits[at]["peer"]
            if waits[at]["cause"] != "not posted" or follows not in waits:
                break
            at = follows
        known = depth.get(at, 0) if at not in path else 0
        for steps, rank in enumerate(reversed(path), start=1):
            depth[rank] = known + steps
    at = min(waits, key=lambda rank: (-depth[rank], rank))
    chain: list[int] = []
    while at not in chain:
        chain.append(at)
        if waits[at]["cause"] != "not posted" or waits[at]["peer"] not in waits:
            return Chain(job, tuple(waits[rank] for rank in chain), False, len(waits))
        at = waits[at]["peer"]
    return Chain(job, tuple(waits[rank] for rank in chain), True, len(waits))


def _wait(row: Mapping[str, Any]) -> str:
    """Describes the wait of a rank, without a final period."""
    who = f"rank {row['rank']} ({row['host']})"
    if row["waits_for"] == "start":
        return f"{who} has not started"
    if row["waits_for"] == "computation":
        return f"{who} has been computing since {duration(row['since_ns'])}"
    peer = f"rank {row['peer']} ({row['peer_host']})"
    message = f"{size(row['bytes'])} with tag {row['tag']}"
    why = _CAUSES[row["cause"]].format(**row)
    since = f"since {duration(row['since_ns'])}"
    if row["waits_for"] == "acknowledgement":
        return f"{who} has waited {since} for the acknowledgement of {message} to {peer}: {why}"
    if row["waits_for"] == "departure":
        return f"{who} has waited {since} for {message} to {peer} to leave its NIC: {why}"
    origin = "" if row["cause"] == "never sent" else f" from {peer}"
    return f"{who} has waited {since} for {message}{origin}: {why}"


def sentences(chain: Chain) -> Iterator[str]:
    """Describes a chain from its start to its root."""
    rows: Sequence[dict[str, Any]] = chain.waits
    left_out = len(rows) - _CHAIN_SHOWN
    shown = rows if left_out <= 0 else (*rows[: _CHAIN_SHOWN - 1], rows[-1])
    for place, row in enumerate(shown):
        if left_out > 0 and place == len(shown) - 1:
            yield f"({count(left_out)} more ranks of the chain are in the table rank_waits.)"
        root = " This is the root." if place == len(shown) - 1 and not chain.is_circle else ""
        yield f"{_sentence(_wait(row))}{root}"
    if chain.is_circle:
        yield f"That rank waits for rank {rows[-1]['peer']}: these ranks wait for each other in a cycle."
    if (others := chain.waiting - len(rows)) > 0:
        ranks = "rank waits" if others == 1 else "ranks wait"
        yield f"{count(others)} more {ranks} (table rank_waits)."


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


@of_result
def hangs(result: Measurements, chain: Chain) -> bool:
    """True if an unfinished job cannot continue, or made no progress for an eighth of the duration.

    A rank that computes or has not started does not count as hung.
    """
    root = chain.root
    if chain.is_circle or root["cause"] in _DEAD:
        return True
    if root["waits_for"] in ("computation", "start"):
        return False
    run = result.run
    if result.complete and float(run["simulated_s"]) < float(run["duration_s"]):
        return True  # the engine ends a run that has only jobs when none of them can continue
    own = next(row for row in of_jobs(result) if row["job"] == chain.job)
    return float(own.get("stalled_ns") or 0.0) >= _STALLED * float(run["duration_s"]) * 1e9


@of_result
def hung(result: Measurements) -> str | None:
    """Describes the jobs that hang, with the root of the first one; ``None`` if there are none."""
    return _of_chains(result, [chain for chain in unfinished(result) if hangs(result, chain)])


@of_result
def of_run(result: Measurements) -> str | None:
    """Describes the unfinished jobs that do not hang, with the root of the first one; ``None`` if none."""
    return _of_chains(result, [chain for chain in unfinished(result) if not hangs(result, chain)])


def _of_chains(result: Measurements, chains: Sequence[Chain]) -> str | None:
    if not chains:
        return None
    first = chains[0]
    own = next(row for row in of_jobs(result) if row["job"] == first.job)
    done = f"{count(own['finished'])} of {count(own['iterations'])} iterations"
    more = "" if len(chains) == 1 else f"; {len(chains) - 1:,} more in the table jobs"
    why = "ranks wait for each other in a cycle" if first.is_circle else _wait(first.root)
    return f"job {first.job} completed {done}: {why}{more}"


@of_result
def job_sentences(result: Measurements, name: str) -> list[str]:
    """Describes the time of a job, or what it waits for; empty if there is no such job."""
    own = next((row for row in of_jobs(result) if row["job"] == name), None)
    if own is None:
        return []
    chain = next((chain for chain in unfinished(result) if chain.job == name), None)
    lines = [
        f"Job {name} completed {count(own['finished'])} of {count(own['iterations'])} iterations "
        f"on {count(own['ranks'])} ranks."
    ]
    if own["step_ns"] is not None:
        lines.append(
            f"An iteration took {duration(own['step_ns'])} on average: {duration(own['compute_ns'])} of "
            f"computation per rank and {duration(own['exposed_ns'])} of exposed communication."
        )
    if own["bus_bps"] is not None and own["bus_bps"] > 0:
        part = own["bus_bps"] / own["bound_bps"]
        bound = "what" if own["algorithm"] == "in_network" else "the rate of"
        allows = " allows" if own["algorithm"] == "in_network" else ""
        lines.append(
            f"Its bus bandwidth is {bandwidth(own['bus_bps'])}, {share(part)} of {bound} the slowest "
            f"link{allows}."
        )
    lines.extend(estimates(result, name))
    lines.extend(repetitions(result, name))
    if own.get("not_repeated"):
        lines.append(f"No repetition was found: {own['not_repeated']}.")
    lines.extend(_slowest(result, name))
    lines.extend(critical_path.sentences(result, name))
    if (own.get("recorded") or 0) < own["iterations"]:
        lines.append(_not_recorded(own))
    return lines if chain is None else [*lines, *sentences(chain)]


@of_result
def estimates(result: Measurements, name: str | None = None) -> list[str]:
    """Describes the jobs that `until` ended before their last iteration, one sentence each."""
    ended = (row for row in of_jobs(result) if row.get("ends_after", row["iterations"]) < row["iterations"])
    return [
        f"Job {row['job']} ended after {count(row['ends_after'])} of {count(row['iterations'])} iterations "
        f"(until {row['until']}): all figures are estimates, the time of an iteration is "
        f"{duration(row['step_ns'])} within {share(row['step_half_width_ns'] / row['step_ns'])} at "
        f"{row['until'].rpartition(' at ')[2]}."
        for row in ended
        if name is None or row["job"] == name
    ]


@of_result
def repetitions(result: Measurements, name: str | None = None) -> list[str]:
    """Describes the jobs with exact repetitions (of iterations or ring steps), one sentence each."""
    rows = [row for row in of_jobs(result) if name is None or row["job"] == name]
    return [sentence for row in rows for sentence in (*_repeats(row), *_skipped_steps(row))]


WHOLE = "The result covers the whole run, but steps of ranks are recorded only up to the first skipped"
"""Start of a sentence; the name of the skipped item ends it."""


def _skipped_steps(row: Mapping[str, Any]) -> list[str]:
    """The steps of a ring that were skipped."""
    if not row.get("skipped_phases"):
        return []
    return [
        f"Job {row['job']}: {count(row['skipped_phases'])} steps of its ring were skipped, because each "
        f"repeats the step before it exactly. {WHOLE} step."
    ]


def _repeats(row: Mapping[str, Any]) -> list[str]:
    """Describes the repetition of a job, and the iterations that were or could be skipped."""
    if not row.get("repeat_period"):
        return []
    period, first = row["repeat_period"], count(row["repeats_from"])
    every = "each" if period == 1 else f"every {count(period)}"
    repeats = (
        f"Job {row['job']} repeats exactly from iteration {first} on, {every} in {duration(row['repeat_ns'])}"
    )
    if not row["skipped"] and row.get("until"):
        return [f"{repeats}."]
    if not row["skipped"]:
        return [f'{repeats}. Set skip = "iterations" in [simulation] to skip repeated iterations.']
    return [
        f"{repeats}: {count(row['skipped'])} of {count(row['iterations'])} iterations were skipped. {WHOLE} "
        "iteration."
    ]


def _not_recorded(own: Mapping[str, Any]) -> str:
    """Advice on recording the steps of more iterations."""
    recorded = own.get("recorded") or 0
    which = f"The first {count(recorded)} of" if recorded else "None of"
    if own.get("skipped") or own.get("skipped_phases"):
        return f"{which} {count(own['iterations'])} iterations are recorded: those before the first skip."
    return (
        f"{which} {count(own['iterations'])} iterations are recorded. Increase `timeline_rows` of the job to "
        "record more."
    )


@of_result
def iteration_sentences(result: Measurements, name: str) -> list[str]:
    """Explains the time of an iteration: ``"train#2"`` is iteration 2 of job train. Empty for other names.

    Raises
    ------
    InputError
        If the job has no such iteration, or it is not recorded.
    """
    job, separator, number = name.rpartition("#")
    if not separator or not number.isdecimal() or not any(row["job"] == job for row in of_jobs(result)):
        return []
    iterations = [row for row in result.rows("collectives") if row["job"] == job]
    own = next((row for row in iterations if row["iteration"] == int(number)), None)
    path = list(critical_path.sentences(result, job, int(number)))
    lines = [] if own is None else [_iteration(own)]
    return [*lines, *path]


def _iteration(own: Mapping[str, Any]) -> str:
    """Describes an iteration in one sentence."""
    beside = f", a bus bandwidth of {bandwidth(own['bus_bps'])}" if own["bus_bps"] else ""
    what = " ".join(filter(None, (own["collective"], own["algorithm"])))
    return (
        f"Iteration {own['iteration']} of {own['job']} ({what}) started at {duration(own['start_ns'])} and "
        f"took {duration(own['time_ns'])}{beside}; its slowest rank was at {own['slowest_rank']}, "
        f"{share(own['straggler'])} above the median rank."
    )


def _slowest(result: Measurements, name: str) -> Iterator[str]:
    """The rank that most often ended an iteration last, and the pair with the slowest message."""
    iterations = [row for row in result.rows("collectives") if row["job"] == name]
    ended = [row["slowest_rank"] for row in iterations if row["straggler"] > _STRAGGLES]
    if ended:
        often = max(dict.fromkeys(ended), key=ended.count)
        times = f"{count(ended.count(often))} of {count(len(iterations))} iterations"
        yield f"{often} was the slowest rank in {times}."
    pairs = [row for row in result.rows("messages") if row["job"] == name and row["messages"]]
    if pairs:
        worst = max(pairs, key=lambda row: row["time_max_ns"])
        yield (
            f"The slowest message took {duration(worst['time_max_ns'])}, from rank {worst['rank']} "
            f"({worst['source']}) to rank {worst['peer']} ({worst['destination']}); the mean of this pair is "
            f"{duration(worst['time_mean_ns'])}."
        )


def bandwidth(bps: float | None) -> str:
    """Formats bits per second as gigabytes per second, as collective benchmarks do; "-" for ``None``."""
    return "-" if bps is None else f"{bps / 8e9:.3f} GB/s"
