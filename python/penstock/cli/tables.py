"""``penstock tables``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from penstock.errors import InputError
from penstock.library import suggestion
from penstock.units import count

from . import EXIT_DONE
from .console import Table, console, say, write_data

if TYPE_CHECKING:
    from penstock.result import Result

Format = Literal["csv", "parquet", "openmetrics"]


def tables(
    result: Path,
    /,
    *names: str,
    format: Format | None = None,
    out: Path | None = None,
    stretch: float | None = None,
) -> int:
    """Lists the tables of a result, or writes them in another format.

    Parameters
    ----------
    result
        Directory of a result.
    names
        Tables to write. Default: all.
    format
        csv, parquet, or openmetrics (totals and time series as text for Prometheus). Default: csv if tables
        are named; otherwise the tables are listed.
    out
        Directory for tables, or file for openmetrics. Default: standard output, for a single csv table
        and for openmetrics.
    stretch
        Factor by which openmetrics times are stretched. Default: large enough for a spacing of one
        millisecond, the resolution of Prometheus.
    """
    from penstock.result import Result

    loaded = Result.load(result)
    for name in names:
        if name not in loaded.table_names:
            raise InputError(f"{result}: has no table {name}; {suggestion(name, loaded.table_names)}")
    if stretch is not None and (format != "openmetrics" or not 1 <= stretch <= 1e12):
        raise InputError(
            f"--stretch is {stretch:g}; expected a number from 1 to 1e12, with --format openmetrics"
        )
    if format == "openmetrics":
        return _openmetrics(loaded, names, out, stretch)
    if format is None and not names:
        return _list(loaded)
    return _write(loaded, names or tuple(loaded.table_names), format or "csv", out)


def _list(result: Result) -> int:
    shown = Table("", "table", "rows", "about")
    for name in result.table_names:
        shown.add_row(name, count(result.table(name).num_rows), result.description[name]["about"])
    console().print(shown)
    return EXIT_DONE


def _write(result: Result, names: tuple[str, ...], format: Format, out: Path | None) -> int:
    from penstock.interchange import tables as written

    make = {"csv": written.csv_text, "parquet": written.parquet_bytes}[format]
    if out is None:
        if len(names) > 1 or format == "parquet":
            given = f"{len(names)} as {format}"
            raise InputError(f"one table as csv fits standard output, not {given}; expected --out DIRECTORY")
        write_data(make(result.table(names[0])).decode())
        return EXIT_DONE
    out.mkdir(parents=True, exist_ok=True)
    for name in names:
        file = out / f"{name}.{format}"
        if file.exists():
            raise InputError(f"{file}: exists; choose another directory")
        file.write_bytes(make(result.table(name)))
    console().print(f"{len(names)} tables written to {out}")
    return EXIT_DONE


def _openmetrics(result: Result, names: tuple[str, ...], out: Path | None, stretch: float | None) -> int:
    from penstock.interchange.tables import openmetrics, stretch_of

    if names:
        raise InputError("--format openmetrics writes totals and time series; remove the names of tables")
    factor = stretch_of(result) if stretch is None else stretch
    say(f"note: timestamps are stretched: one simulated second is {factor:,.0f} s")
    text = "".join(f"{line}\n" for line in openmetrics(result, stretch=factor))
    if out is None:
        write_data(text)
        return EXIT_DONE
    try:
        with out.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise InputError(f"{out}: exists; choose another name") from None
    return EXIT_DONE
