"""``penstock run``."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from penstock import library, running, storage
from penstock.errors import InputError, SimulationError
from penstock.running import cache
from penstock.units import count, duration, plain, rate, share, size

from . import EXIT_INTERRUPTED, EXIT_TERMINATED
from .console import Screen, Table, complain, console, print_json, say, say_rest, say_warnings, show_verdict
from .means import ROWS_SHOWN, show_intervals
from .options import Threads, Whole
from .progress import LAST, Watcher, Wish, stop_on_interrupt, watching

if TYPE_CHECKING:
    from penstock.analysis.verdict import Verdict
    from penstock.result import Result
    from penstock.running.replications import Replications


@Parameter(name="*")
@dataclass(frozen=True)
class Wanted:
    """Files written in addition to the tables.

    Parameters
    ----------
    report
        Writes report.html. Default: true.
    pictures
        Draws the timeline, the fabric and more as PNG files in pictures/.
    """

    report: bool = True
    pictures: Annotated[bool, Parameter(negative=())] = False


AS_USUAL = Wanted()


@Parameter(name="*")
@dataclass(frozen=True)
class Extent:
    """Extent of a run.

    Parameters
    ----------
    replications
        Number of runs with different seeds; prints means with 95 % confidence intervals. After an
        interruption, repeat the command to resume.
    until
        Ends all jobs when the mean iteration time has this precision, such as "5 % at 95 %": half-width of
        the confidence interval, and confidence level (90, 95 or 99 %). All figures are then estimates.
        Default: the setting of the scenario.
    """

    replications: Whole | None = None
    until: str | None = None


ONCE = Extent()


MAX_SEED = 2**64 - 1
PORTS_SHOWN = 10


def run(
    scenario: str,
    /,
    *,
    seed: Whole | None = None,
    extent: Extent = ONCE,
    out: Path | None = None,
    json: Annotated[bool, Parameter(negative=())] = False,
    threads: Threads = "auto",
    wanted: Wanted = AS_USUAL,
) -> int:
    """Runs a scenario.

    Parameters
    ----------
    scenario
        Scenario file, or a name printed by "penstock list".
    seed
        Seed of all random streams. Default: the seed of the scenario. Replication i uses seed + i.
    extent
        Extent of the run.
    out
        Directory for tables and report; replaces an earlier result. Default: out/NAME, or none with --json.
    json
        Prints one JSON object instead of tables.
    threads
        Maximum number of threads per run, or "auto": the number of processors. Several threads are used only
        if that is faster; the result is the same. Each replication uses one thread.
    wanted
        Files written in addition to the tables.
    """
    replications = extent.replications
    _within("--seed", seed, 0, MAX_SEED)
    _within("--replications", replications, 1, 100_000)
    _within("--threads", None if threads == "auto" else threads, 1, running.MAX_THREADS)
    if seed is not None and replications is not None:
        _within("the last seed", seed + replications - 1, 0, MAX_SEED)
    source = library.read(scenario)
    if extent.until is not None:
        source = replace(source, until=running.precision_of(extent.until))
    directory = out if out is not None or json else Path("out") / Path(scenario).stem
    if directory is not None:
        storage.ensure_replaceable(directory)
    if wanted.pictures and (directory is None or not wanted.report):
        raise InputError("--pictures: expected --out, and no --no-report")
    if replications is None:
        return _single(source, seed, threads, directory, json, wanted)
    return _several(source, seed, replications, directory, json, wanted)


def _single(
    source: library.Source,
    seed: int | None,
    threads: running.Threads,
    directory: Path | None,
    json: bool,
    wanted: Wanted,
) -> int:
    with stop_on_interrupt() as wish:
        with watching(wish) as watch:
            result = _measured(source, seed, threads, watch)
        saved = _save(result, directory, wanted, wish)
    return _show_result(result, directory, saved, json, wish)


def _show_result(
    result: Result, directory: Path | None, saved: bool | OSError, json: bool, wish: Wish
) -> int:
    found = result.run.get("warnings", [])
    say_warnings([str(one["message"] if isinstance(one, dict) else one) for one in found])
    if json:
        from penstock.result.summary import in_rows

        print_json(in_rows(result))
    else:
        _show(result)
        _show_where(directory, directory, saved)
    if isinstance(saved, OSError):
        raise saved
    return _end(result.verdict, wish, result.complete)


def _measured(source: library.Source, seed: int | None, threads: running.Threads, watch: Watcher) -> Result:
    """Runs the scenario and returns the measurements up to its end, or to the first violated invariant."""
    try:
        return running.run_source(source, seed=seed, threads=threads, progress=watch)
    except SimulationError as error:
        if error.result is None:
            raise
        found: Result = error.result
        return found


def _several(
    source: library.Source,
    seed: int | None,
    replications: int,
    directory: Path | None,
    json: bool,
    wanted: Wanted,
) -> int:
    from penstock.result.summary import summarise
    from penstock.running.replications import replicate_source

    with stop_on_interrupt() as wish, _keeping(directory) as finished:
        with watching(wish) as watch:
            runs = replicate_source(source, replications, seed=seed, progress=watch, broken=True)
        saved = _save(runs, directory, wanted, wish)
        if finished is not None and runs.complete:
            finished.clear()
    judged = runs.verdict
    if json:
        first = {**summarise(runs.results[0]), "verdict": judged.to_dict(), "complete": runs.complete}
        print_json({**first, "replications": runs.summary()})
    else:
        show_verdict(console(), judged)
        show_intervals(runs)
        _show_where(directory, directory and directory / f"seed-{runs.results[0].seed}", saved)
    if isinstance(saved, OSError):
        raise saved
    if directory is not None and not runs.complete:
        say("finished replications are saved; repeat the command to resume")
    return _end(judged, wish, runs.complete)


@contextlib.contextmanager
def _keeping(directory: Path | None) -> Iterator[cache.RunCache | None]:
    """Saves replications as they finish, if there is a result directory."""
    if directory is None:
        yield None
        return
    with cache.keeping(cache.beside(directory)) as finished:
        if greeting := finished.greeting():
            say(greeting)
        yield finished


def _save(
    result: Result | Replications, directory: Path | None, wanted: Wanted, wish: Wish
) -> bool | OSError:
    """Writes the measurements. Returns true if a report was written, or the error if nothing was written.

    After Ctrl-C the tables are saved first; another Ctrl-C skips the report.
    """
    if directory is None:
        return False
    try:
        if wish.stop or not wanted.report:
            result.save(directory, report=False)
        if not wanted.report:
            return False
        try:
            with wish.leaves_out():
                if wish.requested > 1:
                    return False
                if wish.stop:
                    say("the measurements are saved; drawing the report (press Ctrl-C to skip it)")
                result.save(directory, pictures=wanted.pictures)
        except KeyboardInterrupt:
            if wish.requested > LAST:
                raise
            result.save(directory, report=False)
            return False
    except OSError as error:
        return error
    return True


def _end(judged: Verdict, wish: Wish, complete: bool) -> int:
    """Prints problems of the run to standard error, and returns the exit code."""
    if judged.failed:
        complain(str(judged))
    if not complete:
        say('the measurements until then are marked "complete": false')
        if wish.stop:
            return EXIT_TERMINATED if wish.terminated else EXIT_INTERRUPTED
    return judged.exit_code


def _show(result: Result) -> None:
    from .flows import show_flows
    from .jobs import show_jobs

    out = console()
    show_verdict(out, result.verdict)
    show_jobs(out, result)
    show_flows(out, result)
    _show_connections(out, result)
    _show_transfers(out, result)
    _show_ports(out, result)
    _show_outages(out, result)
    _show_totals(out, result)


def _show_ports(out: Screen, result: Result) -> None:
    from penstock import arrow
    from penstock.result import summary

    found = result.table("ports")
    order = [(name, "descending") for name in ("drops", "paused_s", "utilisation")]
    first = arrow.sort(found, order).slice(0, PORTS_SHOWN)
    ports = Table(
        "Ports, ordered by drops, time paused and utilisation",
        "port",
        "used",
        "queued mean",
        "longest queue",
        "drops",
        "pauses sent",
        "received",
        "paused",
        numeric=1,
        spare=("queued mean", "received", "pauses sent", "used"),
    )
    for port in summary.ports(first):
        ports.add_row(
            port["name"],
            share(port["utilisation"]),
            size(port["queue_bytes_mean"]),
            size(port["queue_bytes_max"]),
            count(port["drops"]),
            count(port["pauses_sent"]),
            count(port["pauses_received"]),
            duration((port["paused_s"] or 0.0) * 1e9),
        )
    out.print(ports)
    say_rest(out, found.num_rows, PORTS_SHOWN, "ports")


def _show_outages(out: Screen, result: Result) -> None:
    from penstock.analysis.outages import are_of_all, outages

    if not (found := outages(result)):
        return
    columns = ("fault", "at", "from", "for", "before", "during", "after")
    title = "Faults, with total throughput before, during and after"
    if not are_of_all(result):
        title += " (flows with a series)"
    shown = Table(title, *columns, numeric=2, spare=("before",))
    for one in found[:ROWS_SHOWN]:
        rates = map(rate, (one.before_bps, one.during_bps, one.after_bps))
        shown.add_row(one.what, one.where, *map(duration, (one.begin_ns, one.end_ns - one.begin_ns)), *rates)
    out.print(shown)
    say_rest(out, len(found), ROWS_SHOWN, "faults")


def _show_totals(out: Screen, result: Result) -> None:
    from penstock.analysis import failures
    from penstock.result.summary import against_max_min

    from .flows import show_evenness, show_losses

    show_losses(out, result)
    if failed := failures.of_run(result):
        out.print(failed)
    run = result.run
    # Results of earlier versions do not divide these times.
    load, build = (float(run.get(key, 0.0)) for key in ("load_s", "build_s"))
    events = max(run["wall_s"] - build, 0.0)
    skipped = run.get("skipped_hops", 0)
    speed = (run["frame_hops"] - skipped) / events / 1e6 if events else 0.0
    left_out = f", {count(skipped)} of them skipped" if skipped else ""
    out.print(
        f"simulated {_time(run['simulated_s'])} in {_time(events)}   "
        f"{count(run['frame_hops'])} frame-hops{left_out}, {speed:.1f} M/s   "
        f"loading took {_time(load)}, building {_time(build)}"
    )
    against = against_max_min(result)
    if against is None:
        show_evenness(out, result)
    else:
        from .fair import percent

        out.print(
            f"fairness: {against['jain']:.4f} of weighted max-min (Jain), "
            f"largest deviation {percent(against['largest_deviation'])} (flow {against['flow']})",
        )
    out.print(f"seed {result.seed}   fingerprint {result.fingerprint}")


def _show_connections(out: Screen, result: Result) -> None:
    from penstock.analysis import connections
    from penstock.measurements import rows

    if "connections" not in result.table_names:
        return
    found = connections.table(result)
    if not found.num_rows:
        return
    columns = ("connection", "timed", "number", "shortest", "mean", "p99", "longest")
    last = ("carried", "complete at", "retransmitted", "discarded")
    spare = ("carried", "shortest", "mean", "discarded", "number", "complete at")
    shown = Table("Connections", *columns, *last, numeric=2, spare=spare)
    for row in rows(found.slice(0, ROWS_SHOWN)):
        what, number, times = connections.timed(row)
        shown.add_row(
            row["flow"],
            what,
            count(number),
            *(duration(times[name]) for name in connections.DURATIONS),
            size(row["application_bytes"] or None),
            duration(row["completed_ns"]),
            count(row["segments_sent_again"]),
            count(row["frames_discarded"]),
        )
    out.print(shown)
    say_rest(out, found.num_rows, ROWS_SHOWN, "connections")


def _show_transfers(out: Screen, result: Result) -> None:
    from penstock.analysis import transfers

    found = transfers.totals(result)
    if not found:
        return
    times = ("completion mean", "p99", "slowdown mean", "p50", "p99", "max")
    title = "Transfers (statistics of complete transfers)"
    heads = ("entry", "begun", "complete", "unfinished", "bytes", *times)
    shown = Table(
        title, *heads, numeric=1, spare=("slowdown mean", "p50", "bytes", "completion mean", "begun")
    )
    for entry in found[:ROWS_SHOWN]:
        took, slowdown = entry.completion_ns, entry.slowdown
        shown.add_row(
            entry.name,
            count(entry.begun),
            count(entry.complete),
            count(entry.unfinished + entry.never_began),
            size(entry.bytes),
            duration(took["mean"]),
            duration(took["p99"]),
            *(plain(slowdown[key]) for key in ("mean", "p50", "p99", "max")),
        )
    out.print(shown)
    say_rest(out, len(found), ROWS_SHOWN, "entries")
    if waiting := result.table("waiting_transfers").num_rows:
        never = "1 transfer" if waiting == 1 else f"{count(waiting)} transfers"
        out.print(
            f"{never} never started: {'its' if waiting == 1 else 'their'} dependencies had not completed "
            "(table waiting_transfers)"
        )


def _show_where(directory: Path | None, with_report: Path | None, report: bool | OSError) -> None:
    if directory is None or with_report is None or isinstance(report, OSError):
        return
    out = console()
    out.print(f"result   {directory}")
    if report:
        out.print(f"report   {with_report / 'report.html'}")
        if (drawn := with_report / "pictures").is_dir():
            out.print(f"pictures {drawn}")


def _time(seconds: float) -> str:
    return duration(seconds * 1e9)


def _within(option: str, value: int | None, low: int, high: int) -> None:
    if value is not None and not low <= value <= high:
        raise InputError(f"{option} is {value}; expected a whole number from {low} to {high}")
