"""User expressions: arithmetic, comparisons and calls of known functions.

Python's parser reads the text, and this module evaluates the tree. No name reaches the interpreter.
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
    """Names in an expression, and rules for combining values; every method may raise `ArgumentError`.

    All operands and arguments are checked here before they are used, so that errors have messages of this
    module and not of Python.

    Attributes
    ----------
    functions : mapping
        Functions by name.
    """

    functions: Mapping[str, Callable[..., Any]] = {}

    def name(self, name: str) -> Any:
        """Returns the value of a name, which may contain dots, such as ``"flow_control.pfc.xoff"``."""
        raise ArgumentError(f"unknown name {name}")

    def text(self, text: str) -> Any:
        """Returns the value of quoted text outside an index."""
        return text

    def number(self, value: int | float) -> Any:
        """Returns the value of a number."""
        return value

    def operand(self, value: Any) -> Any:
        """Checks that a value can be used in arithmetic and as an argument."""
        if isinstance(value, bool) or not isinstance(value, int | float | Fraction):
            raise ArgumentError(f"{described(value)} is not a number")
        return value

    def compared(self, one: Any, other: Any, *, ordered: bool) -> None:
        """Raises an error if two values cannot be compared, or, if `ordered`, have no order."""
        if ordered or not (isinstance(one, str) and isinstance(other, str)):
            self.operand(one)
            self.operand(other)

    def divided(self, one: Any, other: Any) -> Any:
        """Divides one operand by another."""
        try:
            return one / other
        except ZeroDivisionError:
            raise ArgumentError("division by zero") from None

    def outcome(self, value: Any) -> Any:
        """Converts the value of the whole expression for the caller."""
        return value

    def entry(self, value: Any, index: Any) -> Any:
        """Returns the element of a value at the index in brackets."""
        if isinstance(value, Mapping) and isinstance(index, str) and index in value:
            return value[index]
        raise ArgumentError(f"{described(value)} has no such entry")


def described(value: Any) -> str:
    """Describes a value for error messages."""
    if isinstance(value, str):
        return f'the text "{value}"'
    kinds = {dict: "a table", list: "a list", bool: "true or false"}
    return kinds.get(type(value)) or f"the value {value}"


class Expression:
    """A parsed expression.

    Parameters
    ----------
    text : str
        Expression, such as ``"xoff / 2"``.
    about : str
        Description for error messages.

    Raises
    ------
    ArgumentError
        If it cannot be parsed, or contains unsupported syntax.
    """

    def __init__(self, text: str, about: str = "the expression") -> None:
        self.text = text_of(about, text)
        self.about = about
        self.names: set[str] = set()
        """Names used in the expression, with dots."""
        self.calls: set[str] = set()
        """Functions called in the expression."""
        if len(text) > MOST_CHARACTERS:
            raise ArgumentError(f"{about} has {len(text)} characters; expected at most {MOST_CHARACTERS}")
        try:
            self._tree = ast.parse(text.strip(), mode="eval").body
            self._check(self._tree)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            if isinstance(error, ArgumentError):
                raise
            where = f", near column {error.offset}" if isinstance(error, SyntaxError) and error.offset else ""
            raise ArgumentError(f'{about} "{text}" is not a valid expression{where}') from None

    def value(self, given: Surroundings) -> Any:
        """Evaluates the expression.

        Raises
        ------
        ArgumentError
            If a name or function is unknown, or values cannot be combined.
        """
        try:
            return given.outcome(self._value(self._tree, given))
        except PenstockError as error:
            raise ArgumentError(f'{self.about} "{self.text}": {error}') from None
        except (ArithmeticError, ValueError):  # numbers beyond floats, or with too many digits
            raise ArgumentError(f'{self.about} "{self.text}" has a value that is too large') from None
        except RecursionError:
            raise ArgumentError(f'{self.about} "{self.text}" is nested too deeply') from None

    def _check(self, node: ast.expr) -> None:
        """Rejects syntax that `_value` does not support, before evaluation."""
        constant = _constant(node)
        if constant is not None and not math.isfinite(constant):
            raise ArgumentError(f'{self.about} "{self.text}" contains "{ast.unparse(node)}", not finite')
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
                f'{self.about} "{self.text}" contains "{ast.unparse(node)}"; expected numbers, names, text, '
                "+ - * /, one comparison, indexes and calls"
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
    """Calls a function; raises an error for a wrong number of arguments."""
    known = given.functions[function]
    signature = inspect.signature(known)
    try:
        signature.bind(*values)
    except TypeError:
        reported = {0: "nothing", 1: "one value"}.get(len(values), f"{len(values)} values")
        usage = f"{function}({', '.join(signature.parameters)})"
        raise ArgumentError(f"{function}() does not accept {reported}; expected {usage}") from None
    return known(*map(given.operand, values))


def _constant(node: ast.expr) -> float | None:
    """Value of constant arithmetic; ``None`` for other expressions."""
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
    """Text of ``a.b.c``; ``None`` for other expressions."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        before = dotted(node.value)
        return None if before is None else f"{before}.{node.attr}"
    return None
