"""The command line ``penstock``.

Exit codes: 0 success; 1 failure (a failed experiment, a full disk, or a failing verdict); 2 bad input;
130 interrupted by Ctrl-C, 143 by SIGTERM. For ``check``, ``run``, ``why``, ``compare`` and ``sweep`` the
verdict determines the code (`penstock.analysis.verdict`): deadlocked, hung, lost frames in a lossless class,
not lossless and stopped early are failures; unfinished and complete are not. Results go to standard output,
all other messages to standard error.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import FrameType

from cyclopts import App, CycloptsError, UnusedCliTokensError

from penstock import _core
from penstock.errors import InputError, PenstockError, ResultError, ScenarioError
from penstock.library import allow_files

from .console import Terminated, complain, say, write_plainly

EXIT_DONE = 0
EXIT_FAILED = 1
EXIT_BAD_INPUT = 2
EXIT_INTERRUPTED = 130
EXIT_TERMINATED = Terminated.exit_code

ASCII = "--ascii"
"""Option of every command: prints only ASCII, for terminals that support nothing else."""

ALLOW_FILES = "--allow-files"
"""Option of every command: scenarios may read files outside their folders."""

COMMANDS = (
    ("demo", "demo:demo", "Reproduce a published result in about a minute."),
    ("run", "run:run", "Run a scenario."),
    ("sweep", "sweep:sweep", "Run a scenario with many values of its keys."),
    ("optimise", "optimise:optimise", "Search for the best values of keys of a scenario."),
    ("sensitivity", "sensitivity:sensitivity", "Find which keys of a scenario matter."),
    ("neighbours", "neighbours:neighbours", "Compare each job of a scenario with the same job alone."),
    ("preview", "preview:preview", "Run the jobs of a scenario at flow level, in seconds."),
    ("check", "scenarios:check", "Check a scenario without running it."),
    ("new", "scenarios:new", "Write a commented scenario or a study as a starting point."),
    ("import", "import_:import_", "Convert files of other tools into a scenario."),
    ("list", "scenarios:list_", "List the scenarios and studies of the package."),
    (
        "explain",
        "explain:explain",
        "Explain a mechanism, a table, a column or a key; without a name, list what can be explained.",
    ),
    ("steady", "steady:steady", "Find the warm-up of a run, and the confidence intervals of its means."),
    ("view", "view:view", "Show reports in a browser, side by side if there are several."),
    ("why", "why:why", "Explain why a port was paused, or a flow or a job was slow."),
    ("timeline", "timeline:timeline", "Write the timeline of the ranks of a job (page, picture or trace)."),
    ("fair", "fair:fair", "Compare the throughput of each flow with its fair share."),
    ("fit", "fit:fit", "Fit the lines of DRR-AWC to measured fair weights."),
    ("headroom", "headroom:headroom", "Compute the headroom of a lossless queue."),
    ("capture", "capture:capture", "Write the frames of a run as pcapng."),
    ("decode", "decode:decode", "List the frames of a capture."),
    ("export", "export:export", "Print the settings of a scenario as commands for a real port."),
    ("tables", "tables:tables", "List the tables of a result, or write them as CSV or for Prometheus."),
    ("trace check", "trace:check", "Show what traces and workloads of training clusters contain."),
    ("trace convert", "trace:convert", "Write a trace or workload as a GOAL schedule."),
    ("trace train", "trace:train", "Write the program of a training step from a dozen numbers."),
    ("trace infer", "trace:infer", "Write the program of an inference job from a dozen numbers."),
    ("calibrate", "calibrate:calibrate", "Fit latency and bandwidth to nccl-tests or perftest."),
    ("dcbx run", "dcbx:run", "Run a DCBX agent at an interface."),
    ("dcbx show", "dcbx:show", "Show what a DCBX agent has negotiated, and why."),
    ("conform", "conform:conform", "Check a data-center bridging device against conformance cases."),
    ("dissector", "decode:dissector", "Print a dissector for Wireshark."),
    ("validate", "validate:validate", "Compare the simulator with theory."),
    ("reproduce", "reproduce:reproduce", "Reproduce published experiments or your own study."),
    ("compare", "compare:compare", "Compare two results."),
    ("counters", "counters:counters", "Compare the counters of a device with those of a run."),
    ("completion", "completion:completion", "Print a completion script for a shell."),
)
"""Name, function and one line of help. The module is imported when the command is called."""

READ_RESULTS = ("capture", "compare", "counters", "fair", "steady", "tables", "timeline", "view", "why")
"""Commands that read the result directories given as arguments."""

RENAMED = {
    "optimise": {"--least": "--minimize", "--most": "--maximize", "--on": "--executor"},
    "sweep": {"--on": "--executor"},
    "sensitivity": {"--on": "--executor"},
    "import": {"--form": "--format"},
    "tables": {"--form": "--format"},
    "export": {"--form": "--format", "--of": "--role"},
    "dcbx": {"--of": "--role"},
    "why": {"--run": "RESULT, a second argument without an option name"},
}
"""Renamed options of Penstock 0.1, by command."""

GROUPS = {
    "dcbx": "Run DCBX at an interface, with real peers.",
    "trace": "Read traces and workloads of training clusters, or generate them.",
}
"""Help texts for the first word of two-word commands."""


def application() -> App:
    """Creates the command-line application."""
    app = App(
        name="penstock",
        help="A simulator of lossless data-center fabrics.\n\nStart with: penstock run first-light\n\n"
        "--ascii makes every command print only ASCII. --allow-files lets scenarios read files outside their "
        "folders: use it for scenarios that you trust.",
        version=_core.engine_version,
        help_format="plaintext",
        suppress_keyboard_interrupt=False,
    )
    groups: dict[str, App] = {}
    for order, (command, home, about) in enumerate(COMMANDS):
        first, _, second = command.partition(" ")
        if second and first not in groups:
            groups[first] = App(name=first, help=GROUPS[first], help_format="plaintext", sort_key=order)
            app.command(groups[first])
        within = groups[first] if second else app
        within.command(f"{__name__}.{home}", name=second or first, help=about, sort_key=order)
    return app


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns the exit code.

    Parameters
    ----------
    arguments : sequence of str, optional
        Arguments after ``penstock``. Default: those of the process.
    """
    # A stream that the parent process closed is None.
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        _end_by_sigterm()
        write_plainly(ascii_only=ASCII in words)
        files = allow_files() if ALLOW_FILES in words else nullcontext()
        words = [word for word in words if word not in (ASCII, ALLOW_FILES)]
        with files, _reading(words):
            code = application()(words, exit_on_error=False, print_error=False, result_action="return_value")
        sys.stdout.flush()
        return code if isinstance(code, int) else EXIT_DONE
    except CycloptsError as error:
        reported = _renamed(words) or _message_of(error)
        complain(f"{reported}{_dashed(words)}\nTry: penstock {_command(words)}--help")
        return EXIT_BAD_INPUT
    except ScenarioError as error:
        say(str(error).rstrip())  # diagnostics with their places, already formatted
        return EXIT_BAD_INPUT
    except (InputError, ResultError) as error:
        complain(str(error))
        return EXIT_BAD_INPUT
    except PenstockError as error:
        complain(str(error))
        return EXIT_FAILED
    except BrokenPipeError:
        # The reader of the output has closed it. This is not an error; the remaining output is discarded.
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_FAILED
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        complain(f"{place}{error.strerror or error}")
        return EXIT_FAILED
    except KeyboardInterrupt as stopped:
        complain("stopped")
        return getattr(stopped, "exit_code", EXIT_INTERRUPTED)
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # raised by the engine; the type cannot be imported
            raise
        complain(f"the engine has failed: {error}; this is a bug in Penstock")
        return EXIT_FAILED


def _reading(words: Sequence[str]) -> AbstractContextManager[None]:
    """Context that rejects a result with inconsistent parts, if the command reads one."""
    named = [Path(word.rpartition("=")[2] or ".") for word in words[1:] if "\0" not in word]
    places = [place for place in named if os.path.isdir(place)]  # noqa: PTH112 - accepts long names
    if not words or words[0] not in READ_RESULTS or not (places or words[0] == "why"):
        return nullcontext()
    from penstock.errors import reading

    return reading(*(places or [Path("out")]), passing=(CycloptsError,))


def _end_by_sigterm() -> None:
    """Makes SIGTERM end a command like Ctrl-C, so that partial output is removed."""

    def terminated(_number: int, _frame: FrameType | None) -> None:
        raise Terminated

    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, terminated)


def _message_of(error: CycloptsError) -> str:
    if not isinstance(error, UnusedCliTokensError):
        return str(error)
    return f"unexpected {', '.join(map(repr, error.unused_tokens or ()))}"


def _renamed(words: Sequence[str]) -> str:
    """Lists the new names of options given by their old names; empty if there are none."""
    known = RENAMED.get(words[0], {}) if words else {}
    found = {option: known[option] for word in words[1:] if (option := word.partition("=")[0]) in known}
    return "; ".join(f"{old} is now {new}" for old, new in found.items())


def _dashed(words: Sequence[str]) -> str:
    """Hint for names that start with a dash, if the command accepts a name."""
    first = words[1] if len(words) > 1 else ""
    is_name = first.startswith("-") and not first.startswith("--")
    return f"\nPut a name that begins with - after --: penstock {words[0]} -- {first}" if is_name else ""


def _command(words: Sequence[str]) -> str:
    return f"{words[0]} " if words and not words[0].startswith("-") else ""
