"""Why a port was paused, a flow was slow, or a message took long."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.measurements import of_result

from . import critical_path, failures, forensics, jobs, messages

if TYPE_CHECKING:
    from penstock.measurements import Measurements


@of_result
def why(result: Measurements, name: str) -> list[str]:
    """Why a port was paused, a flow was slow, a message took long, or a job does not end, in sentences.

    Parameters
    ----------
    result : Result
        Of a run that recorded pauses.
    name : str
        As `forensics.why`, or a message: ``"writes#12"`` is row 12 of the table ``transfers``, which is of
        the entry ``writes``; or a job; or an iteration of a job: ``"train#2"``.

    Raises
    ------
    InputError
        If the result contains nothing of this name.
    """
    if of_iteration := jobs.iteration_sentences(result, name):
        return of_iteration
    message = _named(result, name)
    if message is not None:
        return list(messages.sentences(result, message))
    of_job = jobs.job_sentences(result, name)
    if of_job and not _flows(result, name):
        return of_job  # no rank sends
    failed = failures.of_flows(result, _flows(result, name))
    return [*of_job, *forensics.why(result, name), *([failed] if failed else []), *_slowest(result, name)]


@of_result
def message_named(result: Measurements, name: str) -> messages.Message | None:
    """The message that is named, or the slowest of a flow; ``None`` of ports, and without RDMA."""
    return _named(result, name) or messages.slowest(result, _flows(result, name))


@of_result
def path(result: Measurements, name: str) -> critical_path.CriticalPath | None:
    """The critical path of a job or of an iteration, such as ``"train#2"``; ``None`` of all else."""
    job, separator, number = name.rpartition("#")
    known = {row["job"] for row in jobs.of_jobs(result)}
    if name in known:
        return critical_path.critical_path(result, name)
    if separator and number.isdecimal() and job in known:
        return critical_path.critical_path(result, job, int(number))
    return None


def _named(result: Measurements, name: str) -> messages.Message | None:
    """The message that is named; flows whose names look like that of a message come first."""
    return None if _flows(result, name) else messages.named(result, name)


def _slowest(result: Measurements, name: str) -> list[str]:
    """The slowest message of a flow, or of flows of one name."""
    flows = _flows(result, name)
    slowest = messages.slowest(result, flows) if flows else None
    if slowest is None:
        return []
    first, *others = messages.sentences(result, slowest, paused=name not in flows)
    return [f"Its slowest message: {first}", *(f"  {line}" for line in others)]


def _flows(result: Measurements, name: str) -> set[str]:
    known = (row["flow"] for row in result.rows("flows"))
    return {flow for flow in known if flow == name or flow.startswith(f"{name}[")}
