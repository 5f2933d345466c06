"""Expressions of users: arithmetic, comparisons, calls of known functions; nothing else is carried out.

A text is parsed by Python's grammar and walked here, so that no name reaches the interpreter.
"""

from __future__ import annotations

import ast
import inspect
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from penstock.errors import ArgumentError, PenstockError
from penstock.library import suggestion

_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
MOST_CHARACTERS = 2_000


@dataclass(frozen=True)
class Surroundings:
    """What an expression may use.

    Attributes
    ----------
    name : callable
        The value of a name, dots included, such as ``"flow_control.pfc.xoff"``; raises `ArgumentError` if
        there is none.
    functions : mapping
        Functions by name.
    text : callable
        The value of a text in quotes outside of an index. Default: the text itself.
    number : callable
        The value of a number. Default: the number itself.
    """

    name: Callable[[str], Any]
    functions: Mapping[str, Callable[..., Any]]
    text: Callable[[str], Any] = str
    number: Callable[[int | float], Any] = lambda value: value


class Expression:
    """An expression that has been read.

    Parameters
    ----------
    text : str
        Such as ``"xoff / 2"``.
    about : str
        What it is, for messages.

    Raises
    ------
    ArgumentError
        If it cannot be read, or contains what an expression may not have.
    """

    def __init__(self, text: str, about: str = "the expression") -> None:
        self.text = text
        self.about = about
        if len(text) > MOST_CHARACTERS:
            raise ArgumentError(f"{about} has {len(text)} characters; at most {MOST_CHARACTERS} are accepted")
        try:
            self._tree = ast.parse(text.strip(), mode="eval").body
            self._check(self._tree)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            if isinstance(error, ArgumentError):
                raise
            where = f", near column {error.offset}" if isinstance(error, SyntaxError) and error.offset else ""
            raise ArgumentError(f'{about} "{text}" cannot be read{where}') from None

    def value(self, given: Surroundings) -> Any:
        """What the expression comes to.

        Raises
        ------
        ArgumentError
            If a name or function is not known, or values do not go together.
        """
        try:
            return self._value(self._tree, given)
        except (PenstockError, TypeError, ValueError, ArithmeticError, LookupError) as error:
            raise ArgumentError(f'{self.about} "{self.text}": {error}') from None

    def _check(self, node: ast.expr) -> None:
        """Refuses what `_value` does not know, before anything runs."""
        if isinstance(node, ast.Constant) and type(node.value) in (int, float, str, bool):
            return
        if dotted(node) is not None:
            return
        parts: list[ast.expr]
        if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
            parts = [node.left, node.right]
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
            parts = [node.operand]
        elif isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _COMPARE:
            parts = [node.left, *node.comparators]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
            parts = list(node.args)
        elif isinstance(node, ast.Subscript):
            parts = [node.value, node.slice]
        else:
            raise ArgumentError(
                f'{self.about} "{self.text}" has "{ast.unparse(node)}"; accepted are numbers, names, text, '
                "+ - * /, one comparison, indices and calls"
            )
        for part in parts:
            self._check(part)

    def _value(self, node: ast.expr, given: Surroundings) -> Any:
        name = dotted(node)
        if name is not None:
            return given.name(name)
        match node:
            case ast.Constant(value=str(text)):
                return given.text(text)
            case ast.Constant(value=bool(truth)):
                return truth
            case ast.Constant(value=int(constant) | float(constant)):
                return given.number(constant)
            case ast.BinOp(left=one, op=by, right=other):
                return _BINARY[type(by)](*_numbers(self._value(one, given), self._value(other, given)))
            case ast.UnaryOp(op=sign, operand=one):
                (value,) = _numbers(self._value(one, given))
                return -value if isinstance(sign, ast.USub) else value
            case ast.Compare(left=one, ops=[how], comparators=[other]):
                return _COMPARE[type(how)](self._value(one, given), self._value(other, given))
            case ast.Subscript(value=one, slice=ast.Constant(value=key)):
                return self._value(one, given)[key]
            case ast.Subscript(value=one, slice=other):
                return self._value(one, given)[self._value(other, given)]
            case ast.Call(func=ast.Name(id=function), args=arguments):
                if function not in given.functions:
                    raise ArgumentError(f"no function {function}; {suggestion(function, given.functions)}")
                return _called(function, given, [self._value(one, given) for one in arguments])
        raise ArgumentError(f"{ast.unparse(node)} has no value")


def _called(function: str, given: Surroundings, values: list[Any]) -> Any:
    """What a function makes of values; those that it cannot take are told in words of ours."""
    known = given.functions[function]
    try:
        return known(*values)
    except PenstockError:
        raise  # of ours, which are of this kind too
    except TypeError:
        try:
            takes = [one.name for one in inspect.signature(known).parameters.values()]
        except ValueError:
            takes = ["first", "others"]  # a function of Python, such as min
        told = {0: "nothing", 1: "one value"}.get(len(values), f"{len(values)} values")
        usage = f"{function}({', '.join(takes)})"
        raise ArgumentError(f"{function}() cannot take {told}; expected {usage}") from None


def _numbers(*values: Any) -> tuple[Any, ...]:
    """Values that are no text: text times a number would be a long text."""
    for value in values:
        if isinstance(value, str):
            raise ArgumentError(f'"{value}" is text, not a number')
    return values


def dotted(node: ast.expr) -> str | None:
    """``a.b.c`` as a text; ``None`` for anything else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        before = dotted(node.value)
        return None if before is None else f"{before}.{node.attr}"
    return None
