"""Conversion of Python values to TOML, values by their path, and errors for unknown keywords."""

from __future__ import annotations

import copy
import datetime as dt
import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from penstock.errors import ArgumentError, UnknownNameError
from penstock.library import suggestion, text_of

if TYPE_CHECKING:
    from .builder import Scenario

Table = dict[str, Any]
Call = TypeVar("Call", bound=Callable[..., Any])


def spelled(keys: type) -> Callable[[Call], Call]:
    """Decorator that makes `help` and notebook completion show the keys of a call in place of ``**keys``.

    Type checkers read ``Unpack``; tools that inspect signatures at run time do not.

    Parameters
    ----------
    keys : type
        The typed dictionary that declares the keys.
    """

    def spell(call: Call) -> Call:
        signature = inspect.signature(call)
        *own, _rest = signature.parameters.values()
        shown = [
            _parameter(name, str(getattr(annotation, "__forward_arg__", annotation)))
            for name, annotation in keys.__annotations__.items()
            if name not in signature.parameters
        ]
        call.__signature__ = signature.replace(parameters=[*own, *shown])  # type: ignore[attr-defined]
        return call

    return spell


def given(keys: Mapping[str, Any], place: str = "") -> Table:
    """Returns a copy without the keys whose value is ``None``.

    Raises
    ------
    ArgumentError
        If TOML has no type for a value. The message names the key.
    """
    return {
        str(key): plain(value, f"{place}.{key}".lstrip("."))
        for key, value in keys.items()
        if value is not None
    }


def known(keys: Mapping[str, Any], table: type, call: str) -> Table:
    """Returns `given` with keywords spelled as in the file, for keywords that `table` declares.

    Raises
    ------
    ArgumentError
        If a keyword is not declared, or a value has a wrong type.
    """
    names = table.__annotations__
    for key in keys:
        if key not in names:
            raise ArgumentError(f"{call}() has no keyword {key!r}; {suggestion(key, sorted(names))}")
    return given({key.rstrip("_"): value for key, value in keys.items()}, call)


def table(name: str, value: Any = None, **keys: Any) -> Any:
    """Returns the table ``{name = value}``, or ``{name = {keys}}`` if there are keys or no value."""
    own = {key: one for key, one in keys.items() if one is not None}
    if own and isinstance(value, list | tuple):
        raise ArgumentError(f"{name}() has both a list and {', '.join(own)}; expected one of them")
    return {name: value if value is not None and not own else own}


class _Annotation(str):
    """Returns a type as written in source, without quotes."""

    __slots__ = ()
    __repr__ = str.__str__


def _parameter(name: str, annotation: str) -> inspect.Parameter:
    """Returns the parameter of a keyword; a required one has no default."""
    needed = annotation.startswith("Required[")
    written = annotation.removeprefix("Required[").removesuffix("]") if needed else annotation
    default = inspect.Parameter.empty if needed else None
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=_Annotation(written)
    )


class Chooser:
    """Selects one of several mutually exclusive tables of a scenario."""

    _key: str

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario

    def _choose(self, name: str, keys: Any = None, declared: type | None = None) -> Scenario:
        """Returns the scenario with this choice: a word, or a table with keys."""
        chosen = name if declared is None else {name: known(keys, declared, name)}
        return self._scenario.with_value(self._key, chosen)


def plain(value: Any, place: str) -> Any:
    """Returns a copy that consists of dictionaries, lists, text, numbers, booleans and dates."""
    if isinstance(value, str):
        return text_of(place, value)
    if isinstance(value, bool | int | float):
        return value
    if isinstance(value, Mapping):
        return given(value, place)
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if type(value).__module__ == "numpy":
        return plain(value.tolist(), place)
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return [plain(entry, place) for entry in value]
    if isinstance(value, dt.date | dt.time):
        return value
    raise ArgumentError(f"{place} is {value!r}; expected text, a number, true or false, a list or a table")


def set_value(model: dict[str, Any], key: str, value: Any) -> None:
    """Sets a value of a scenario, or removes it if it is ``None``; tables and lists on the path are copied.

    Raises
    ------
    UnknownNameError
        If the path goes through a list entry that does not exist.
    """
    *path, last = key.split(".")
    table: Any = model
    for number, step in enumerate(path):
        table = _entry(table, step, key, ".".join(path[:number]))
    at: Any = _place(table, last, key, ".".join(path)) if isinstance(table, list) else last
    if value is not None:
        table[at] = plain(value, key)
    elif isinstance(table, list) or at in table:
        del table[at]


def _entry(table: Any, step: str, key: str, within: str) -> Any:
    """Copies the table or list at `step` in place, so that it can be changed."""
    at: Any = _place(table, step, key, within) if isinstance(table, list) else step
    found = table[at] if isinstance(table, list) else table.get(at, {})
    if not isinstance(found, dict | list):
        raise UnknownNameError(f"{key}: {step!r} is a value, not a table")
    table[at] = copy.copy(found)
    return table[at]


def _place(entries: list[Any], step: str, key: str, within: str) -> int:
    """Index of an entry in the list `within`, by its name or number."""
    names = [one.get("name") if isinstance(one, dict) else None for one in entries]
    if step in names:
        return names.index(step)
    if step.isdecimal() and step in map(str, range(len(entries))):
        return int(step)
    known = [str(name) for name in names if name is not None]
    raise UnknownNameError(
        f"{key}: the list {within} has no entry {step!r}; expected a name or a number, "
        f"such as {within}.{known[0] if known else 0}; {suggestion(step, known)}"
    )
