"""``penstock why``."""

from __future__ import annotations

import datetime as dt
import shlex
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from penstock import units
from penstock.errors import InputError

from .console import console, print_json, say, show_verdict

OUT = Path("out")


def why(
    name: str | None = None,
    result: Path | None = None,
    /,
    *,
    clock: str | None = None,
    json: Annotated[bool, Parameter(negative=())] = False,
) -> int:
    """Explains why a port was paused, a flow or RDMA message was slow, or a job did not end.

    The verdict on the run is printed first and determines the exit code.

    Parameters
    ----------
    name
        A port ("h2.0->sw"), a host or switch, a flow, or the common name of flows with several senders. An
        RDMA message: "writes#12" is transfer 12 of the result, of the entry "writes". A job: its time by
        cause on the critical path, or the chain of ranks that wait for each other, down to the root;
        "train#2" is iteration 2 of the job "train". Default: the roots of congestion, their victims, and the
        flows with lost frames.
    result
        Directory of a result. Default: the newest in out/, and the first of a set of replications.
    clock
        Time of the switches' clock at the start of the run, such as "2026-11-28 14:03:00". Default: times are
        relative to the start of the run.
    json
        Prints one JSON object instead of sentences.
    """
    from penstock.analysis import why as reasons
    from penstock.analysis.overview import overview
    from penstock.result import Result

    if name is not None and result is None and (Path(name) / "run.json").is_file():
        result, name = Path(name), None  # only a result was given: report on all of it
    directory = result if result is not None else _newest()
    if result is None:
        again = f"penstock why {shlex.quote(name) if name else ''}".rstrip()
        say(f"result   {directory}, the newest in {OUT}{_of_several(directory)}; for another: {again} RESULT")
    found = Result.load(directory)
    judged = found.verdict
    with units.clock(_zero(clock)):
        lines = overview(found) if name is None else reasons.why(found, name)
    if json:
        path = None if name is None else reasons.path(found, name)
        message = None if name is None or path is not None else reasons.message_named(found, name)
        print_json(
            {
                "schema": "penstock-why/1",
                "run": str(directory),
                "verdict": judged.to_dict(),
                "about": name,
                "because": [line.strip() for line in lines],
                **({} if message is None else {"message": message.to_dict()}),
                **({} if path is None else {"critical_path": path.to_dict()}),
            }
        )
    else:
        show_verdict(console(), judged)
        console().print(*lines)
    return judged.exit_code


def _zero(clock: str | None) -> dt.datetime | None:
    """Clock time at the start of the run."""
    try:
        return None if clock is None else dt.datetime.fromisoformat(clock)
    except ValueError:
        raise InputError(f'--clock {clock}: expected date and time, such as "2026-11-28 14:03:00"') from None


def _newest() -> Path:
    # Hidden directories belong to an interrupted or active run.
    found = [
        path.parent
        for path in OUT.glob("**/run.json")
        if not any(part.startswith(".") for part in path.relative_to(OUT).parts)
    ]
    if not found:
        raise InputError("there is no result in out/; run a scenario first, or name its directory")
    newest = max(found, key=lambda path: ((path / "run.json").stat().st_mtime, str(path)))
    # The order in which replications were written is arbitrary; the first one also has the report.
    return min(_siblings(newest), key=lambda path: (len(path.name), path.name), default=newest)


def _siblings(directory: Path) -> list[Path]:
    """All replications of the same set."""
    among = directory.parent
    return list(among.glob("seed-*")) if (among / "replications.json").is_file() else []


def _of_several(directory: Path) -> str:
    number = len(_siblings(directory))
    return f" (one of {number} replications)" if number else ""
