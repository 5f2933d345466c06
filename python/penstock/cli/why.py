"""``penstock why``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from penstock.errors import InputError

from . import EXIT_DONE
from .console import console, print_json

OUT = Path("out")


def why(
    name: str,
    /,
    *,
    run: Path | None = None,
    json: Annotated[bool, Parameter(negative=())] = False,
) -> int:
    """Tells why a port had to stop, or what held a flow back.

    Parameters
    ----------
    name
        A port ("h2.0->sw"), a host or switch, or a flow.
    run
        Directory of the result. Default: the newest one in out/.
    json
        Prints one JSON object instead of sentences.
    """
    from penstock import forensics
    from penstock.result import Result

    directory = run if run is not None else _newest()
    lines = forensics.why(Result.load(directory), name)
    if json:
        said = [line.strip() for line in lines]
        print_json({"schema": "penstock-why/1", "run": str(directory), "about": name, "because": said})
    else:
        console().print("\n".join(lines), markup=False, soft_wrap=True)
    return EXIT_DONE


def _newest() -> Path:
    found = [path.parent for path in OUT.glob("**/run.json")] if OUT.is_dir() else []
    if not found:
        raise InputError("there is no result in out/; run a scenario first, or name a result with --run")
    return max(found, key=lambda path: ((path / "run.json").stat().st_mtime, str(path)))
