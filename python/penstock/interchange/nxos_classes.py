"""Class maps and policies of type qos of Cisco NX-OS: the queue of each CoS and code point.

The qos-group of a class is its queue. System classes have it in their names, such as ``c-out-8q-q3`` and
``c-8q-nq3``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from .piece import brief
from .sonic_port import CODE_POINTS, PRIORITIES
from .statements import Statement, Statements
from .switch_classes import NAMES

DEFAULT = "class-default"
_SYSTEM = {
    "queuing": re.compile(r"c-(?:in|out)(?:-8q)?-q(?:(\d)|-default)"),
    "network-qos": re.compile(r"c-(?:8q-)?nq(?:(\d)|-default)"),
}
"""Names of system classes, mapped to their qos-groups."""


@dataclass(frozen=True)
class Marks:
    """Queues by CoS and DSCP of frames.

    Attributes
    ----------
    cos, dscp : dict
        Queue of each CoS, and of each code point, that a class matches.
    default : int
        The queue of all other frames.
    """

    cos: dict[int, int]
    dscp: dict[int, int]
    default: int = 0


class NamedClasses:
    """The class maps of a configuration.

    Parameters
    ----------
    statements : Statements
        The configuration.
    """

    def __init__(self, statements: Statements) -> None:
        self._statements = statements
        self._maps: dict[tuple[str, str], Statement] = {}

    def take(self, one: Statement) -> None:
        """Handles a statement such as ``class-map type qos match-any RDMA``."""
        if len(one.words) < 4:
            raise self._statements.error(
                one, f"{brief(one.text)}: expected class-map type, its type and a name"
            )
        self._statements.put_once(self._maps, (one.words[2], one.words[-1]), one, "each class")

    def matches(self, of: Statement, kind: str) -> Iterator[Statement]:
        """Returns the statements of the class map that a policy refers to.

        Raises
        ------
        InputError
            If there is no class map of that name.
        """
        name = of.words[-1]
        if name == DEFAULT:
            return
        if (kind, name) not in self._maps:
            known = ", ".join(one for own, one in self._maps if own == kind) or "none"
            message = f"no class-map of type {kind} is named {brief(name)}; there are: {brief(known)}"
            raise self._statements.error(of, message)
        yield from self._maps[kind, name].children

    def is_all(self, of: Statement) -> bool:
        """Returns true if frames must match all statements of a class."""
        own = self._maps.get(("qos", of.words[-1]))
        return own is not None and "match-any" not in own.words

    def group(self, of: Statement, kind: str) -> int:
        """The qos-group of a class of a queuing or network-qos policy.

        Raises
        ------
        InputError
            If the class is unknown, or matches no qos-group.
        """
        name = of.words[-1]
        if name == DEFAULT:
            return 0
        if (kind, name) not in self._maps and (found := _SYSTEM[kind].fullmatch(name)) is not None:
            return self._statements.whole(of, "the queue", found[1] or "0", 0, PRIORITIES[-1])
        groups = [
            self._statements.whole(one, "qos-group", self._statements.read(one)[2], 0, PRIORITIES[-1])
            for one in self.matches(of, kind)
            if one.begins("match", "qos-group") and len(one.words) == 3
        ]
        if len(groups) != 1:
            raise self._statements.error(
                of, f"class {brief(name)} matches {len(groups)} qos-groups; expected one"
            )
        return groups[0]


def classification(statements: Statements, classes: NamedClasses, policy: Statement) -> Marks:
    """Reads the queues of a policy of type qos; if several classes match a frame, the first one applies."""
    marks, default = Marks({}, {}), 0
    for one in policy.children:
        group = _group_of(statements, one)
        if one.words[-1] == DEFAULT:
            statements.read(one)
            default = group or 0
            continue
        if not one.begins("class") or group is None:
            continue
        kinds: set[str] = set()
        for match in classes.matches(one, "qos"):
            kind, numbers = _matched(statements, match)
            kinds.add(kind)
            own = marks.cos if kind == "cos" else marks.dscp
            for number in numbers:
                own.setdefault(number, group)
        if kinds == {"cos", "dscp"} and classes.is_all(one):
            statements.report(
                f"{one.line}",
                f"class {one.words[-1]} requires both CoS and DSCP to match; here either is enough",
            )
    return Marks(marks.cos, marks.dscp, default)


def _group_of(statements: Statements, one: Statement) -> int | None:
    for line in one.children:
        if line.begins("set", "qos-group"):
            statements.read(line)
            return statements.whole(line, "qos-group", line.after("qos-group"), 0, PRIORITIES[-1])
    return None


def _matched(statements: Statements, match: Statement) -> tuple[str, list[int]]:
    """The field, "cos" or "dscp", and the numbers that a statement matches; empty for any other field."""
    words = [word for word in match.words[1:] if word != "ip"]
    if len(words) < 2 or words[0] not in ("cos", "dscp", "precedence"):
        return "", []
    statements.read(match)
    if words[0] == "dscp":
        numbers = statements.numbers(match, "dscp", _as_numbers(words[1:]), CODE_POINTS[-1])
        return "dscp", numbers
    found = statements.numbers(match, words[0], words[1:], PRIORITIES[-1])
    if words[0] == "cos":
        return "cos", found
    return "dscp", [8 * one + low for one in found for low in range(8)]


def _as_numbers(words: list[str]) -> list[str]:
    """Replaces the names of code points by their numbers."""
    every = ",".join(words).split(",")
    return [str(NAMES.get(one.lower(), one)) for one in every]
