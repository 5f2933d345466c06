"""Expressions of users: arithmetic, comparisons, calls of known functions; nothing else is carried out.

A text is parsed by Python's grammar and walked here, so that no name reaches the interpreter.
"""

from __future__ import annotations

import ast
import inspect
import math
import operator
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from penstock.errors import ArgumentError, PenstockError
from penstock.library import suggestion, text_of

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


class Surroundings:
    """The names an expression may use, and rules to combine values; each method may raise `ArgumentError`.

    No operator and no function meets a value that was not asked for here, so that what is wrong is told in
    words of ours.

    Attributes
    ----------
    functions : mapping
        Functions by name.
    """

    functions: Mapping[str, Callable[..., Any]] = {}

    def name(self, name: str) -> Any:
        """The value of a name, dots included, such as ``"flow_control.pfc.xoff"``."""
        raise ArgumentError(f"no name {name}")

    def text(self, text: str) -> Any:
        """The value of a text in quotes outside of an index."""
        return text

    def number(self, value: int | float) -> Any:
        """The value of a number."""
        return value

    def operand(self, value: Any) -> Any:
        """A value that may be calculated with, and be given to functions."""
        if isinstance(value, bool) or not isinstance(value, int | float | Fraction):
            raise ArgumentError(f"{described(value)} is not a number")
        return value

    def compared(self, one: Any, other: Any, *, ordered: bool) -> None:
        """Refuses two values that cannot be compared, or not by which is larger."""
        if ordered or not (isinstance(one, str) and isinstance(other, str)):
            self.operand(one)
            self.operand(other)

    def divided(self, one: Any, other: Any) -> Any:
        """One operand by another."""
        try:
            return one / other
        except ZeroDivisionError:
            raise ArgumentError("a division by zero") from None

    def outcome(self, value: Any) -> Any:
        """The value of the whole expression, for the caller."""
        return value

    def entry(self, value: Any, index: Any) -> Any:
        """The index between [ and ] of a value."""
        if isinstance(value, Mapping) and isinstance(index, str) and index in value:
            return value[index]
        raise ArgumentError(f"{described(value)} has no such entry")


def described(value: Any) -> str:
    """A short description of a value."""
    if isinstance(value, str):
        return f'the text "{value}"'
    kinds = {dict: "a table", list: "a list", bool: "true or false"}
    return kinds.get(type(value)) or f"the value {value}"


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
        self.text = text_of(about, text)
        self.about = about
        self.names: set[str] = set()
        """Names that it uses, dots included."""
        self.calls: set[str] = set()
        """Functions that it calls."""
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
        """The value of the expression.

        Raises
        ------
        ArgumentError
            If a name or function is not known, or values do not go together.
        """
        try:
            return given.outcome(self._value(self._tree, given))
        except PenstockError as error:
            raise ArgumentError(f'{self.about} "{self.text}": {error}') from None
        except (ArithmeticError, ValueError):  # Python's, of numbers beyond floats and of thousands of digits
            raise ArgumentError(f'{self.about} "{self.text}" comes to a number that is too large') from None
        except RecursionError:
            raise ArgumentError(f'{self.about} "{self.text}" is nested too deeply') from None

    def _check(self, node: ast.expr) -> None:
        """Refuses what `_value` does not know, before anything runs."""
        constant = _constant(node)
        if constant is not None and not math.isfinite(constant):
            raise ArgumentError(f'{self.about} "{self.text}" has "{ast.unparse(node)}", no finite number')
        if isinstance(node, ast.Constant) and type(node.value) in (int, float, str, bool):
            return
        name = dotted(node)
        if name is not None:
            self.names.add(name)
            return
        parts: list[ast.expr]
        if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
            parts = [node.left, node.right]
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
            parts = [node.operand]
        elif isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _COMPARE:
            parts = [node.left, *node.comparators]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
            self.calls.add(node.func.id)
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
                first = given.operand(self._value(one, given))
                second = given.operand(self._value(other, given))
                divides = isinstance(by, ast.Div)
                return given.divided(first, second) if divides else _BINARY[type(by)](first, second)
            case ast.UnaryOp(op=sign, operand=one):
                value = given.operand(self._value(one, given))
                return -value if isinstance(sign, ast.USub) else value
            case ast.Compare(left=one, ops=[how], comparators=[other]):
                first, second = self._value(one, given), self._value(other, given)
                given.compared(first, second, ordered=not isinstance(how, ast.Eq | ast.NotEq))
                return _COMPARE[type(how)](first, second)
            case ast.Subscript(value=one, slice=ast.Constant(value=key)):
                return given.entry(self._value(one, given), key)
            case ast.Subscript(value=one, slice=other):
                return given.entry(self._value(one, given), self._value(other, given))
            case ast.Call(func=ast.Name(id=function), args=arguments):
                if function not in given.functions:
                    raise ArgumentError(f"no function {function}; {suggestion(function, given.functions)}")
                return _called(function, given, [self._value(one, given) for one in arguments])
        raise ArgumentError(f"{ast.unparse(node)} has no value")


def _called(function: str, given: Surroundings, values: list[Any]) -> Any:
    """The result of a function, if it takes this number of arguments."""
    known = given.functions[function]
    signature = inspect.signature(known)
    try:
        signature.bind(*values)
    except TypeError:
        reported = {0: "nothing", 1: "one value"}.get(len(values), f"{len(values)} values")
        usage = f"{function}({', '.join(signature.parameters)})"
        raise ArgumentError(f"{function}() cannot take {reported}; expected {usage}") from None
    return known(*map(given.operand, values))


def _constant(node: ast.expr) -> float | None:
    """The number that arithmetic with numbers alone comes to; ``None`` for anything else."""
    try:
        match node:
            case ast.Constant(value=int(number) | float(number)):
                return float(number)
            case ast.UnaryOp(op=sign, operand=one):
                value = _constant(one)
                return -value if value is not None and isinstance(sign, ast.USub) else value
            case ast.BinOp(left=one, op=by, right=other) if type(by) in _BINARY:
                first, second = _constant(one), _constant(other)
                return None if first is None or second is None else _BINARY[type(by)](first, second)
    except (OverflowError, ZeroDivisionError):
        return math.inf
    return None


def dotted(node: ast.expr) -> str | None:
    """``a.b.c`` as a text; ``None`` for anything else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        before = dotted(node.value)
        return None if before is None else f"{before}.{node.attr}"
    return None
