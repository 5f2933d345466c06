"""Display filters in a subset of Wireshark's syntax, for the frames that `penstock decode` lists.

A filter compares fields with values, or tests for a protocol. Operators are `==`, `!=`, `<`, `<=`, `>`, `>=`
and `contains`; `and`, `or` and `not` (also `&&`, `||`, `!`); and parentheses. As in Wireshark, a comparison
with a field that is missing from a frame is false.

Source: wireshark-filter(4) for names and semantics. Not supported: slices, sets, functions, regexes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from penstock.errors import InputError
from penstock.library import suggestion

Frame = Mapping[str, Any]
Test = Callable[[Frame], bool]
ECN = {"Not-ECT": 0, "ECT(1)": 1, "ECT(0)": 2, "CE": 3}
"""Codepoints of ECN by name (RFC 3168)."""
ECN_NAMES = {code: name for name, code in ECN.items()}
_UDP, _TCP = 17, 6
_LONGEST = 1_000
_SIGNS = ("==", "!=", "<=", ">=", "&&", "||", "<", ">", "!")
_WORDS = {
    "eq": "==",
    "ne": "!=",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "&&": "and",
    "||": "or",
    "!": "not",
}
_COMPARISONS = ("==", "!=", "<", "<=", ">", ">=", "contains")
_BLANK = " \t\r\n"


def _within(*keys: str) -> Callable[[Frame], Any]:
    def get(frame: Frame) -> Any:
        value: Any = frame
        for key in keys:
            value = value.get(key) if isinstance(value, Mapping) else None
        return value

    return get


def _ip(key: str, protocol: int | None = None) -> Callable[[Frame], Any]:
    def get(frame: Frame) -> Any:
        own = (frame.get("contents") or {}).get("ipv4")
        return own.get(key) if own is not None and protocol in (None, own.get("protocol")) else None

    return get


FIELDS: dict[str, Callable[[Frame], Any]] = {
    "frame.number": _within("number"),
    "frame.len": _within("bytes"),
    "frame.time_epoch": lambda frame: frame["time_ns"] / 1e9,
    "frame.time_relative": lambda frame: frame["relative_ns"] / 1e9,
    "frame.time_delta": lambda frame: frame["delta_ns"] / 1e9,
    "frame.interface_name": _within("port"),
    "frame.direction": _within("direction"),
    "frame.comment": _within("comment"),
    "frame.info": _within("what"),
    "eth.src": _within("source"),
    "eth.dst": _within("destination"),
    "vlan.id": _within("vlan", "vlan"),
    "vlan.priority": _within("vlan", "priority"),
    "vlan.dei": _within("vlan", "drop_eligible"),
    "cn_tag": _within("flow"),
    "ip.src": _ip("source"),
    "ip.dst": _ip("destination"),
    "ip.proto": _ip("protocol"),
    "ip.dsfield.dscp": _ip("dscp"),
    "ip.dsfield.ecn": _ip("ecn"),
    "udp.srcport": _ip("source_port", _UDP),
    "udp.dstport": _ip("destination_port", _UDP),
    "tcp.srcport": _ip("source_port", _TCP),
    "tcp.dstport": _ip("destination_port", _TCP),
    "infiniband.bth.opcode": _within("contents", "ipv4", "roce", "opcode"),
    "infiniband.bth.destqp": _within("contents", "ipv4", "roce", "queue_pair"),
    "infiniband.bth.psn": _within("contents", "ipv4", "roce", "sequence"),
}
"""Fields by their Wireshark names; `frame.direction` and `frame.info` are columns of the list."""
PROTOCOLS: dict[str, Test] = {
    "ip": lambda frame: _ip("source")(frame) is not None,
    "udp": lambda frame: _ip("protocol")(frame) == _UDP,
    "tcp": lambda frame: _ip("protocol")(frame) == _TCP,
    "infiniband": lambda frame: _within("contents", "ipv4", "roce")(frame) is not None,
    "vlan": lambda frame: frame.get("vlan") is not None,
    "pause": lambda frame: _within("contents", "mac_control", "pause")(frame) is not None,
    "pfc": lambda frame: _within("contents", "mac_control", "pfc")(frame) is not None,
    "lldp": lambda frame: _within("contents", "lldp")(frame) is not None,
    "cnm": lambda frame: _within("contents", "cnm")(frame) is not None,
    "malformed": lambda frame: "error" in frame,
}
"""Protocols, and `malformed` for illegal frames."""


def compiled(text: str) -> Test:
    """Compiles a filter to a test of a frame.

    Raises
    ------
    InputError
        If it is not a filter; the message states the position and the accepted tokens.
    """
    if len(text) > _LONGEST:
        raise InputError(f"--filter has {len(text):,} characters; expected at most {_LONGEST:,}")
    parser = _Parser(text)
    test = parser.either()
    parser.expect_end()
    return test


class _Parser:
    """A recursive-descent parser; `not` binds tighter than `and`, and `and` tighter than `or`."""

    def __init__(self, text: str) -> None:
        self.tokens = [*_tokens(text)]
        self.at = 0

    def either(self) -> Test:
        tests = [self.all_of()]
        while self._take("or"):
            tests.append(self.all_of())
        return tests[0] if len(tests) == 1 else lambda frame: any(test(frame) for test in tests)

    def all_of(self) -> Test:
        tests = [self.negated()]
        while self._take("and"):
            tests.append(self.negated())
        return tests[0] if len(tests) == 1 else lambda frame: all(test(frame) for test in tests)

    def negated(self) -> Test:
        count = 0
        while self._take("not"):
            count += 1
        test = self.one()
        return (lambda frame: not test(frame)) if count % 2 else test

    def one(self) -> Test:
        if self._take("("):
            test = self.either()
            if not self._take(")"):
                raise self._error("expected )")
            return test
        name = self._next("expected a field or a protocol")
        sign = self.tokens[self.at][0] if self.at < len(self.tokens) else ""
        if sign not in _COMPARISONS:
            return self._present(name)
        self.at += 1
        if name not in FIELDS:
            raise self._unknown(name)
        return _comparison(name, sign, self._next(f"expected a value after {sign}"))

    def _present(self, name: str) -> Test:
        if name in PROTOCOLS:
            return PROTOCOLS[name]
        if name in FIELDS:
            get = FIELDS[name]
            return lambda frame: get(frame) is not None
        raise self._unknown(name)

    def _unknown(self, name: str) -> InputError:
        self.at -= 1
        known = suggestion(name, [*FIELDS, *PROTOCOLS])
        return self._error(f"unknown field or protocol {name}; {known}")

    def expect_end(self) -> None:
        """Rejects text after a complete filter."""
        if self.at < len(self.tokens):
            raise self._error("expected and, or, or the end")

    def _take(self, word: str) -> bool:
        found = self.at < len(self.tokens) and self.tokens[self.at] == (word, False)
        self.at += found
        return found

    def _next(self, expected: str) -> str:
        if self.at == len(self.tokens) or self.tokens[self.at] in (("(", False), (")", False)):
            raise self._error(expected)
        self.at += 1
        return self.tokens[self.at - 1][0]

    def _error(self, message: str) -> InputError:
        word = f'at "{self.tokens[self.at][0]}"' if self.at < len(self.tokens) else "at the end"
        return InputError(f"--filter, {word}: {message}")


def _tokens(text: str) -> Iterator[tuple[str, bool]]:
    """Words and operators, each with a flag that is true for quoted words."""
    at = 0
    while at < len(text):
        if text[at] in _BLANK:
            at += 1
        elif text[at] in "()":
            yield text[at], False
            at += 1
        elif text[at] == '"':
            end = text.find('"', at + 1)
            if end < 0:
                raise InputError(f"--filter: the quote in {text[at:]} is not closed")
            yield text[at + 1 : end], True
            at = end + 1
        elif sign := next((one for one in _SIGNS if text.startswith(one, at)), ""):
            yield _WORDS.get(sign, sign), False
            at += len(sign)
        else:
            end = at
            while end < len(text) and text[end] not in _BLANK + '"()=!<>&|':
                end += 1
            if text[at:end] == "ECT" and text[end : end + 3] in ("(0)", "(1)"):
                end += 3
            if end == at:
                raise InputError(
                    f'--filter: "{text[at]}" is not an operator; expected one of {" ".join(_SIGNS)}'
                )
            word = text[at:end]
            yield _WORDS.get(word, word), False
            at = end


def _comparison(name: str, sign: str, text: str) -> Test:
    get, number = FIELDS[name], _number(name, text)

    def test(frame: Frame) -> bool:
        value = get(frame)
        if value is None:
            return False
        if sign == "contains":
            return text.lower() in str(value).lower()
        if isinstance(value, int | float):
            return number is not None and _holds(sign, float(value), number)
        return _holds(sign, str(value).lower(), text.lower())

    if name in _NUMBERS and number is None and sign != "contains":
        raise InputError(f"--filter: {name} is compared with {text}; expected a number")
    return test


_NUMBERS = {
    name
    for name in FIELDS
    if name.split(".")[0] in ("vlan", "udp", "tcp", "infiniband", "cn_tag")
    or name in ("frame.number", "frame.len", "ip.proto", "ip.dsfield.dscp", "ip.dsfield.ecn")
    or name.startswith("frame.time")
}
"""Fields with numeric values."""


def _holds(sign: str, a: Any, b: Any) -> bool:
    return bool({"==": a == b, "!=": a != b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[sign])


def _number(name: str, text: str) -> float | None:
    """A value as a number: decimal, hexadecimal, true or false, or the name of an ECN codepoint."""
    if name == "ip.dsfield.ecn" and text.upper() in (
        known := {key.upper(): code for key, code in ECN.items()}
    ):
        return float(known[text.upper()])
    if text.lower() in ("true", "false"):
        return float(text.lower() == "true")
    try:
        return float(int(text, 16)) if text.lower().startswith("0x") else float(text)
    except (ValueError, OverflowError):
        return None
