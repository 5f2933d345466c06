"""``penstock trace``: check, convert, train, infer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from penstock import _core
from penstock.errors import InputError
from penstock.programs.inference import Inference
from penstock.programs.training import Training

from . import EXIT_BAD_INPUT, EXIT_DONE
from .console import complain, console, print_json, say
from .options import Whole

if TYPE_CHECKING:
    from penstock.programs.reading import Found

SCHEMA = "penstock-trace/1"
_SHOWN = 5


@Parameter(name="*")
@dataclass(frozen=True)
class Choices:
    """Values that the files do not specify.

    Parameters
    ----------
    format
        Format of the files. Default: detected from the first file.
    ranks
        Number of ranks, for files that do not state it: AICB tables, SimAI workloads, and a single Chakra
        trace for all ranks.
    bytes
        Size of the collective of an MSCCL algorithm. Default: 1 MiB.
    algorithm
        Expansion of collectives into messages: "ring", or "direct" from each rank to every other rank.
    iterations
        Number of repetitions of a SimAI or AICB step.
    ctrl_deps
        Follows control dependencies of Chakra traces in addition to data dependencies.
    chain_streams
        Runs the GPU kernels of each Chakra stream in file order.
    time_unit
        Unit of the start times of a connection matrix. Default: "us".
    groups
        File with Chakra process groups that the traces do not list, in the format of ASTRA-sim: {"0": [0,
        1]}.
    """

    format: str | None = None
    ranks: Whole | None = None
    bytes: Whole | None = None
    algorithm: Literal["ring", "direct"] = "ring"
    iterations: Whole = 1
    ctrl_deps: Annotated[bool, Parameter(negative=())] = False
    chain_streams: Annotated[bool, Parameter(negative=())] = False
    time_unit: Literal["us", "ps"] | None = None
    groups: Path | None = None


def check(
    files: Annotated[tuple[Path, ...], Parameter(negative=())],
    /,
    *,
    choices: Choices = Choices(),
    json: Annotated[bool, Parameter(negative=())] = False,
) -> int:
    """Prints the contents of traces and workloads, repairs that were needed, and errors in rejected files.

    Parameters
    ----------
    files
        Files to check. Chakra traces whose names differ only in the rank (trace.0.et, trace.1.et) are read as
        one trace.
    json
        Prints a JSON list with one object per file instead of text.
    """
    out = console()
    rows = []
    for names in _together(files):
        row = _row(names, choices)
        rows.append({"files": [str(name) for name in names], **row})
        if not json:
            for line in _lines(names, row):
                out.print(line, wrap=True)
    if json:
        print_json({"schema": SCHEMA, "files": rows})
    refused = [row for row in rows if "refused" in row]
    if not json and len(rows) > 1:
        out.print(f"{len(rows) - len(refused)} read, {len(refused)} rejected")
    if refused:
        complain(f"{len(refused)} of {len(rows)} {'file was' if len(rows) == 1 else 'files were'} rejected")
    return EXIT_BAD_INPUT if refused else EXIT_DONE


def convert(
    files: Annotated[tuple[Path, ...], Parameter(negative=())],
    /,
    *,
    out: Annotated[Path, Parameter(alias="-o")],
    choices: Choices = Choices(),
) -> int:
    """Converts traces or a workload to a GOAL schedule.

    Parameters
    ----------
    files
        One file, or the traces of all ranks.
    out
        The schedule to write: text if its name ends in .goal, binary if it ends in .bin. It must not exist.
    """
    _check_out(out)
    found = _read(files, choices)
    _write(out, found.program())
    for line in (*found.repairs, *found.notes):
        say(f"note: {line}")
    return EXIT_DONE


def train(
    *,
    step: Annotated[Training, Parameter(name="*")],
    out: Annotated[Path, Parameter(alias="-o")],
    algorithm: Literal["ring", "direct"] = "ring",
    iterations: Whole = 1,
) -> int:
    """Writes the schedule of one or more training steps, computed from a dozen numbers.

    Parameters
    ----------
    out
        The schedule to write: text if its name ends in .goal, binary if it ends in .bin. It must not exist.
    algorithm
        Expansion of collectives into messages: "ring", or "direct" from each rank to every other rank.
    iterations
        Number of steps.
    """
    from penstock.programs import training

    _check_out(out)
    if iterations < 1:
        raise InputError(f"--iterations is {iterations}; expected at least 1")
    _write(out, training.program(step, algorithm, iterations))
    say(f"note: computation {step.compute_ns / 1e6:,.3f} ms per step, bubble {step.bubble:.1%} of it idle")
    for group, size in training.sent_bytes(step).items():
        if size:
            say(f"note: each rank sends {size:,.0f} B per step, group {group}")
    return EXIT_DONE


def infer(
    *,
    job: Annotated[Inference, Parameter(name="*")],
    out: Annotated[Path, Parameter(alias="-o")],
    algorithm: Literal["ring", "direct"] = "ring",
) -> int:
    """Writes the schedule of an inference job (prefill, KV transfer, decode), computed from a dozen numbers.

    Parameters
    ----------
    out
        The schedule to write: text if its name ends in .goal, binary if it ends in .bin. It must not exist.
    algorithm
        Expansion of collectives into messages: "ring", or "direct" from each rank to every other rank.
    """
    from penstock.programs import inference

    _check_out(out)
    _write(out, inference.program(job, algorithm))
    say(
        f"note: prefill {job.prefill_ns / 1e6:,.3f} ms, {job.token_ns / 1e6:,.3f} ms of computation per token"
    )
    for part, size in inference.sent_bytes(job).items():
        if size:
            say(f"note: each rank sends {size:,.0f} B, {part}")
    return EXIT_DONE


def _check_out(out: Path) -> None:
    if out.suffix not in (".goal", ".bin"):
        raise InputError(f"{out}: expected a name that ends in .goal (text) or .bin (binary)")
    if out.exists():
        raise InputError(f"{out}: exists; choose another name")


def _write(out: Path, program: _core.Program) -> None:
    """Writes a schedule in the form given by the file extension."""
    try:
        data = program.goal_binary() if out.suffix == ".bin" else program.goal_text().encode()
    except ValueError as error:
        raise InputError(f"{out}: {error}") from error
    out.write_bytes(data)
    console().print(
        f"{out} written: {program.ranks:,} ranks, {program.operations:,} operations, {len(data):,} B"
    )


def _read(names: Sequence[Path], choices: Choices) -> Found:
    from penstock.programs import formats
    from penstock.programs.reading import Options

    for name, value in (
        ("ranks", choices.ranks),
        ("bytes", choices.bytes),
        ("iterations", choices.iterations),
    ):
        if value is not None and value < 1:
            raise InputError(f"--{name} is {value}; expected at least 1")
    options = {name: value for name, value in vars(choices).items() if name not in ("format", "groups")}
    if choices.groups is not None:
        from penstock.programs.chakra import communicator_groups

        options["groups"] = communicator_groups(str(choices.groups), formats.contents(choices.groups))
    loaded = [(str(name), formats.contents(name)) for name in names]
    return formats.read(loaded, Options(**options), choices.format)


def _row(names: Sequence[Path], choices: Choices) -> dict[str, Any]:
    """Contents of files that belong together, or the error if they are rejected."""
    try:
        found = _read(names, choices)
    except InputError as error:
        return {"refused": _without_name(names[0], error)}
    about = {
        "format": found.format,
        "contents": found.contents,
        "repairs": found.repairs,
        "notes": found.notes,
    }
    try:
        return about | _described(found.program())
    except InputError as error:
        return about | {"no_program": _without_name(names[0], error)}


def _without_name(name: Path, error: InputError) -> str:
    """Error message without the file name, which is printed above it."""
    message = str(error)
    if message.startswith(f"{name}: "):
        return message.removeprefix(f"{name}: ")
    place = message.removeprefix(f"{name}:")
    return f"line {place}" if place != message else message


def _together(files: Sequence[Path]) -> list[list[Path]]:
    """Groups files that are read as one trace: names that differ only in the number before .et."""
    found: dict[str, list[Path]] = {}
    for name in files:
        stem = (
            name.stem.rpartition(".")[0]
            if name.suffix == ".et" and name.stem.rpartition(".")[2].isdigit()
            else ""
        )
        found.setdefault(f"{name.parent}/{stem}" if stem else str(name), []).append(name)
    return list(found.values())


def _described(program: _core.Program) -> dict[str, Any]:
    totals = program.totals()
    sends, sent, receives, _, computations, ps = (sum(one) for one in zip(*totals, strict=True))
    unmatched = program.unmatched()
    return {
        "program": {
            "ranks": program.ranks,
            "operations": program.operations,
            "dependencies": program.dependencies,
            "messages": sends,
            "bytes": sent,
            "receives": receives,
            "computations": computations,
            "computation_ns": ps // 1_000,
        },
        "unmatched": [
            {"from": sender, "to": to, "tag": tag, "sends_less_receives": count}
            for sender, to, tag, count in unmatched
        ],
    }


def _lines(names: Sequence[Path], row: dict[str, Any]) -> list[str]:
    """Text about a file, or about files that belong together."""
    title = str(names[0]) if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
    if "refused" in row:
        return [f"{title}: rejected", f"  {row['refused']}"]
    lines = [f"{title}: {row['format']}", *(f"  {line}" for line in row["contents"])]
    if "program" in row:
        program = row["program"]
        lines.append(
            f"  program: {program['ranks']:,} ranks, {program['operations']:,} operations, "
            f"{program['messages']:,} messages of {program['bytes']:,} B, "
            f"{program['computation_ns'] / 1e6:,.3f} ms of computation"
        )
    else:
        lines.append(f"  no program: {row['no_program']}")
    lines += [f"  repaired: {line}" for line in row["repairs"]] + [f"  note: {line}" for line in row["notes"]]
    unmatched = row.get("unmatched", [])
    for one in unmatched[:_SHOWN]:
        count = one["sends_less_receives"]
        what = (
            f"{count} sends without a receive"
            if count > 0
            else f"{-count} receives without a send, which never complete"
        )
        lines.append(f"  unmatched: rank {one['from']} to {one['to']}, tag {one['tag']}: {what}")
    if len(unmatched) > _SHOWN:
        lines.append(f"  unmatched: {len(unmatched) - _SHOWN:,} more")
    return lines
