"""Why a port was paused, a flow was slow, or a message took long."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.measurements import of_result

from . import critical_path, failures, forensics, jobs, messages

if TYPE_CHECKING:
    from penstock.measurements import Measurements


@of_result
def why(result: Measurements, name: str) -> list[str]:
    """Explains in sentences why a port was paused, a flow or message was slow, or a job did not end.

    Parameters
    ----------
    result : Result
        Result of a run that recorded pauses.
    name : str
        A name as in `forensics.why`; a message: ``"writes#12"`` is row 12 of the table ``transfers``, of the
        entry ``writes``; a job; or an iteration of a job: ``"train#2"``.

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
        return of_job  # no rank sends messages
    failed = failures.of_flows(result, _flows(result, name))
    return [*of_job, *forensics.why(result, name), *([failed] if failed else []), *_slowest(result, name)]


@of_result
def message_named(result: Measurements, name: str) -> messages.Message | None:
    """Returns the named message, or the slowest message of a flow; ``None`` for ports, or without RDMA."""
    return _named(result, name) or messages.slowest(result, _flows(result, name))


@of_result
def path(result: Measurements, name: str) -> critical_path.CriticalPath | None:
    """Returns the critical path of a job or iteration, such as ``"train#2"``; ``None`` for other names."""
    job, separator, number = name.rpartition("#")
    known = {row["job"] for row in jobs.of_jobs(result)}
    if name in known:
        return critical_path.critical_path(result, name)
    if separator and number.isdecimal() and job in known:
        return critical_path.critical_path(result, job, int(number))
    return None


def _named(result: Measurements, name: str) -> messages.Message | None:
    """Returns the named message. A flow with a name of that form takes precedence."""
    return None if _flows(result, name) else messages.named(result, name)


def _slowest(result: Measurements, name: str) -> list[str]:
    """Describes the slowest message of a flow, or of the flows with one name."""
    flows = _flows(result, name)
    slowest = messages.slowest(result, flows) if flows else None
    if slowest is None:
        return []
    first, *others = messages.sentences(result, slowest, paused=name not in flows)
    return [f"Its slowest message: {first}", *(f"  {line}" for line in others)]


def _flows(result: Measurements, name: str) -> set[str]:
    known = (row["flow"] for row in result.rows("flows"))
    return {flow for flow in known if flow == name or flow.startswith(f"{name}[")}
