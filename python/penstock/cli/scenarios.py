"""``penstock check``, ``penstock new`` and ``penstock list``."""

from __future__ import annotations

import shutil
from json import loads
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from penstock import _core, library, running
from penstock.analysis.verdict import of_scenario
from penstock.errors import InputError
from penstock.units import count, duration, size, visible

from . import EXIT_DONE
from .console import (
    Table,
    complain,
    console,
    print_json,
    say,
    say_warnings,
    show_verdict,
    waiting,
    write_data,
)
from .mechanism import new_mechanism
from .options import Threads
from .port_risks import NO_LINKS, Links, configuration, show_risks

STARTER = Path(library.__file__).with_name("starter.toml")
SKELETON = library.STUDIES / "skeleton"


def check(
    scenario: str,
    /,
    *,
    effective: Annotated[bool, Parameter(negative=())] = False,
    estimate: Annotated[bool, Parameter(negative=())] = False,
    thresholds: Annotated[bool, Parameter(negative=())] = False,
    threads: Threads = "auto",
    json: Annotated[bool, Parameter(negative=())] = False,
    links: Links = NO_LINKS,
) -> int:
    """Checks a scenario without running it, or the ports of a switch.

    The exit code is 1 if a lossless class can lose frames, and 2 if the scenario cannot run.

    Parameters
    ----------
    scenario
        A scenario file, or a name that "penstock list" prints; or the configuration of a switch (CONFIG_DB of
        SONiC, running configuration of Cisco NX-OS, Arista EOS or Juniper Junos). For a switch, lists its
        ports by lossless priority with each risk and the command that fixes it.
    effective
        Prints the scenario with all defaults filled in.
    estimate
        Simulates for about a second, and predicts the time and memory of the whole run, without its report.
    thresholds
        Prints the memory thresholds of the switches in bytes: XOFF and XON of each counter, its headroom, the
        bytes in flight on its link, the marking thresholds of queues, and thresholds that cannot be reached.
    threads
        Maximum number of threads of that run, or "auto": the number of processors.
    json
        With --estimate, --thresholds or the configuration of a switch: prints one JSON object instead of
        sentences or a table.
    """
    if (config := configuration(scenario, links)) is not None:
        if effective or estimate or thresholds:
            expected = "a scenario, or no option but --json and those of links"
            raise InputError(f"{scenario}: is the configuration of a switch; expected {expected}")
        return show_risks(config, as_json=json)
    if links != NO_LINKS:
        note = "--rate, --length, --cell and --buffer are for configurations of switches"
        raise InputError(f"{scenario}: is not a configuration of a switch; {note}")
    if json and not (estimate or thresholds):
        raise InputError("--json belongs to --estimate and --thresholds; --effective prints TOML")
    if effective + estimate + thresholds > 1:
        raise InputError("--effective, --estimate and --thresholds exclude each other")
    if threads != "auto" and not 1 <= threads <= running.MAX_THREADS:
        raise InputError(
            f'--threads is {threads}; expected a whole number from 1 to {running.MAX_THREADS}, or "auto"'
        )
    source = library.read(scenario)
    with running.engine_errors(), waiting(f"checking {scenario}"):
        examined = _core.examine(source.text, source.file, allow_files=source.allow_files)
    text, warnings, broken, notes = examined
    judged = of_scenario(broken)
    say_warnings(warnings)
    for note in notes:
        say(note)
    if judged.failed and (estimate or thresholds or effective):
        complain(f"{scenario}: {judged}")
    if estimate:
        _report(source, threads, json)
        return judged.exit_code
    if thresholds:
        with running.engine_errors():
            note = loads(_core.thresholds(source.text, source.file, allow_files=source.allow_files))
        print_json(note) if json else _show_thresholds(note)
    elif effective:
        write_data(text + "\n")
    elif judged.failed:
        show_verdict(console(), judged, f"{scenario}:")
    else:
        remarks = (
            f", with {count(len(warnings))} warning{'' if len(warnings) == 1 else 's'}" if warnings else ""
        )
        console().print(f"{scenario}: ok{remarks}")
    return judged.exit_code


def _report(source: library.Source, threads: running.Threads, json: bool) -> None:
    from penstock.running import estimate, memory

    reported = estimate.estimate(source, threads=threads)
    named = reported.memory_limit
    limit = memory.limit_bytes() if named is None else named
    if limit is not None and reported.memory_bytes > limit:
        origin = "what is free on this machine allows" if named is None else "its memory_limit allows"
        say(
            f"warning: the run will take about {_rough_size(reported.memory_bytes)} of memory, more than the "
            f"{_rough_size(limit)} that {origin}: it will end early"
        )
    if json:
        print_json(reported.to_dict())
        return
    about = "" if reported.exact else "about "
    on = "one thread" if reported.threads == 1 else f"{reported.threads} threads"
    rows = (
        (
            "fabric",
            f"{count(reported.nodes)} nodes, {count(reported.links)} links, {count(reported.flows)} flows",
        ),
        ("work", f"{about}{count(_rounded(reported.frame_hops, reported.exact))} frame-hops"),
        (
            "time",
            f"about {duration(_rounded(reported.wall_s, False) * 1e9)} on {on} of this machine, "
            "excluding the report",
        ),
        ("memory", f"about {_rough_size(reported.memory_bytes)}, excluding the program"),
    )
    for name, what in rows:
        console().print(f"{name:<8} {what}")


def _show_thresholds(found: dict[str, Any]) -> None:
    columns = (
        "port",
        "of",
        "profile, pool",
        "reserved",
        "XOFF",
        "all busy",
        "XON",
        "headroom",
        "in flight",
        "marks",
    )
    shown = Table("", *columns, numeric=3, spare=("reserved", "all busy", "profile, pool", "XON", "marks"))
    for row in found["rows"]:
        more = f" and {len(row['ports']) - 1} more" if len(row["ports"]) > 1 else ""
        profile = f"{row['profile']}, {row['pool']}" if row["profile"] else ""
        marks = " - ".join(dict.fromkeys(_amount(row[key]) for key in ("marks_from", "marks_all_from")))
        amounts = (_amount(row[key]) for key in ("xoff", "xoff_all_busy", "xon", "headroom"))
        in_flight = "" if row["in_flight_bytes"] is None else f"{row['in_flight_bytes']} B"
        shown.add_row(
            row["ports"][0] + more,
            row["what"],
            profile,
            f"{row['reserved_bytes']} B",
            *amounts,
            in_flight,
            marks,
        )
    console().print(shown)
    verdicts: dict[str, list[str]] = {}
    for row in found["rows"]:
        if row["verdict"]:
            verdicts.setdefault(row["verdict"], []).append(f"{row['ports'][0]} {row['what']}")
    for verdict, places in verdicts.items():
        more = f" and {len(places) - 1} more" if len(places) > 1 else ""
        console().print(f"{places[0]}{more}: {verdict}")
    for note in found["notes"]:
        console().print(note)
    circle = found["deadlock_circle"]
    line = "no cycle of queues that can wait for each other"
    if circle:
        line = f"these queues can wait for each other in a cycle: {' -> '.join([*circle, circle[0]])}"
    console().print(line)


def _amount(amount: dict[str, int] | None) -> str:
    if amount is None:
        return ""
    return f"{amount['bytes']} B" if "bytes" in amount else f"{amount['frames']} frames"


def _rounded(number: float, exact: bool) -> float:
    """Rounds an estimate to two significant digits; exact values stay as they are."""
    return number if exact else float(f"{number:.2g}")


def _rough_size(number: int) -> str:
    unit = next((unit for unit in (1 << 30, 1 << 20, 1 << 10) if number >= unit), 1)
    return size(_rounded(number / unit, False) * unit)


def new(
    file: Path = Path("scenario.toml"),
    /,
    *,
    like: str | None = None,
    study: Path | None = None,
    mechanism: str | None = None,
) -> int:
    """Writes a commented scenario, a study, or a mechanism in a checkout of Penstock.

    Parameters
    ----------
    file
        File to write. It must not exist.
    like
        Scenario to copy, by name or file. Default: a short commented scenario.
    study
        Folder of a study to write instead: study.toml, study.py and a scenario. It must not exist. Run the
        study with "penstock reproduce FOLDER".
    mechanism
        Kind of mechanism to write, such as "scheduler", "queue-manager", "control" or "rdma-control"; FILE is
        its name. Writes a source file with tests, and registers the mechanism.
    """
    if mechanism is not None:
        if like is not None or study is not None:
            raise InputError(f"--mechanism {mechanism}: remove --like and --study, which do not apply")
        return new_mechanism(mechanism, str(file))
    if study is not None:
        if file != Path("scenario.toml") or like is not None:
            raise InputError(f"--study {study} writes a folder: remove FILE and --like")
        return _new_study(study)
    text = STARTER.read_text("utf-8") if like is None else library.read(like).text
    try:
        with file.open("x", encoding="utf-8") as out:
            try:
                out.write(text)
                out.flush()
            except OSError:
                file.unlink()  # incomplete; otherwise the next attempt would find an existing file
                raise
    except FileExistsError:
        raise InputError(f"{file}: exists; choose another name") from None
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        raise InputError(f"{file}: there is no directory {file.parent}") from None
    console().print(f"{file} written; run it with: penstock run {file}")
    return EXIT_DONE


def _new_study(folder: Path) -> int:
    """Writes a runnable study, a template and the short scenario, named after the folder."""
    texts = {file: (SKELETON / file).read_text("utf-8") for file in ("study.toml", "study.py")}
    texts["study.toml"] = texts["study.toml"].replace("NAME", _toml_letters(folder.resolve().name))
    texts["scenario.toml"] = STARTER.read_text("utf-8")
    try:
        folder.mkdir()
    except FileExistsError:
        raise InputError(f"{folder}: exists; choose another name") from None
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(f"{folder}: there is no directory {folder.parent}") from None
    try:
        for file, text in texts.items():
            (folder / file).write_text(text, "utf-8")
    except OSError:
        shutil.rmtree(folder)  # incomplete
        raise
    where = folder if folder.is_absolute() or ".." in folder.parts else f"./{folder}"
    console().print(f"{folder} written: {', '.join(texts)}; run it with: penstock reproduce {where}")
    return EXIT_DONE


def _toml_letters(name: str) -> str:
    """Escapes a name for a basic string of TOML."""
    return visible(name).replace("\\", "\\\\").replace('"', '\\"')


def list_(*, json: Annotated[bool, Parameter(negative=())] = False) -> int:
    """Lists the scenarios and studies of the package.

    Parameters
    ----------
    json
        Prints one JSON object instead of tables.
    """
    scenarios, studies = library.scenarios(), library.studies()
    if json:
        print_json(
            {
                "schema": "penstock-list/1",
                "scenarios": [{"name": entry.name, "description": entry.description} for entry in scenarios],
                "studies": [{"name": entry.name, "title": entry.description} for entry in studies],
            }
        )
        return EXIT_DONE
    out = console()
    for title, entries in (
        ("Scenarios: penstock run NAME", scenarios),
        ("Studies: penstock reproduce NAME", studies),
    ):
        if not entries:
            continue
        shown = Table(title, "name", "about")
        for entry in entries:
            shown.add_row(entry.name, entry.description)
        out.print(shown)
    return EXIT_DONE
